/*
 * Chats and threads: one operation at a time, and readers beside it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "chat_stage.h"

#include "base.h"

#define THREADS 4
#define TRIES   50

struct racer {
    pdr_chat *chat;
    atomic_int *added;
    int kind; /* adds, speaks, saves, reads */
    pthread_t thread;
};

static void *race(void *arg)
{
    struct racer *r = arg;

    for (int i = 0; i < TRIES; i++) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_chat_message message;
        pdr_rc rc = PDR_OK;

        if (r->kind == 0) {
            rc = pdr_chat_add_text(r->chat, S("x"), S("me"), NULL);
            atomic_fetch_add(r->added, rc == PDR_OK);
        } else if (r->kind == 1) {
            rc = pdr_chat_run(r->chat, NULL, NULL);
            atomic_fetch_add(r->added, rc == PDR_OK);
        } else if (r->kind == 2) {
            const pdr_chat_save_opts sk = {.form = i % 2 == 0 ? PDR_CHAT_NATIVE
                                                              : PDR_CHAT_SK};

            ASSERT_RC(PDR_OK,
                      pdr_chat_save(r->chat, &sk, NULL, pdr_write_buf, &text));
        } else {
            uint64_t count = pdr_chat_message_count(r->chat);

            if (count > 0) {
                ASSERT(pdr_chat_message_at(&message, r->chat, count));
                ASSERT(pdr_value_kind(message.value) == PDR_OBJECT);
            }
            (void)pdr_chat_is_complete(r->chat);
        }
        ASSERT(rc == PDR_OK || rc == PDR_EBUSY);
        pdr_buf_dispose(&text);
    }
    return NULL;
}

/* --- all at once ------------------------------------------------------------
 */

#define MANY   8
#define ROUNDS 25

struct crowd {
    pdr_chat *chat;
    pthread_barrier_t start;
    atomic_int inside, refused, won;
};

/* The model answers when everybody is in or was refused. */
static pdr_rc crowd_wait(void *arg)
{
    struct crowd *c = arg;

    atomic_fetch_add(&c->inside, 1);
    while (atomic_load(&c->inside) + atomic_load(&c->refused) < MANY)
        (void)sched_yield();
    return PDR_OK;
}

static void *crowd_push(void *arg)
{
    struct crowd *c = arg;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    (void)pthread_barrier_wait(&c->start);
    rc = pdr_chat_run(c->chat, NULL, &err);
    if (rc == PDR_EBUSY && strcmp(err.reason, "chat_busy") == 0)
        atomic_fetch_add(&c->refused, 1);
    else if (rc == PDR_OK)
        atomic_fetch_add(&c->won, 1);
    return NULL;
}

TEST(chat, lets_one_in_when_all_come_at_once)
{
    COVERS("C-9");
    struct chat_stage stage = {.opts = {.max_turns = 1}};
    struct crowd c = {.chat = NULL};

    chat_begin(&stage, "A");
    c.chat = stage.chat;
    stage.members[0].model.is_deaf = true;
    stage.members[0].model.hook = crowd_wait;
    stage.members[0].model.hook_arg = &c;
    ASSERT_INT(0, pthread_barrier_init(&c.start, NULL, MANY));
    for (int round = 1; round <= ROUNDS; round++) {
        pthread_t threads[MANY];

        atomic_store(&c.inside, 0);
        atomic_store(&c.refused, 0);
        atomic_store(&c.won, 0);
        for (int i = 0; i < MANY; i++)
            ASSERT_INT(0, pthread_create(&threads[i], NULL, crowd_push, &c));
        for (int i = 0; i < MANY; i++)
            (void)pthread_join(threads[i], NULL);
        ASSERT_INT(1, atomic_load(&c.won));
        ASSERT_INT(MANY - 1, atomic_load(&c.refused));
        ASSERT_INT(round, pdr_chat_message_count(stage.chat));
        ASSERT(!pdr_chat_is_active(stage.chat));
    }
    (void)pthread_barrier_destroy(&c.start);
    chat_end(&stage);
}

TEST(chat, lets_one_of_many_in)
{
    struct racer racers[THREADS];
    struct chat_stage stage = {.count = 0};
    atomic_int added = 0;
    pdr_chat_message message;

    chat_begin(&stage, "A @n");
    stage.members[0].model.is_deaf = stage.members[1].model.is_deaf = true;
    for (int i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){stage.chat, &added, i, 0};
        ASSERT_INT(0,
                   pthread_create(&racers[i].thread, NULL, race, &racers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(racers[i].thread, NULL);
    ASSERT_INT(atomic_load(&added), pdr_chat_message_count(stage.chat));
    ASSERT(atomic_load(&added) >= TRIES / 10);
    for (uint64_t seq = 1; pdr_chat_message_at(&message, stage.chat, seq);
         seq++)
        ASSERT_INT(seq, message.seq);
    ASSERT(!pdr_chat_is_active(stage.chat));
    chat_end(&stage);
}
