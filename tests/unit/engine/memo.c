/*
 * What a run keeps for the next one of its session, and when it is forgotten.
 */
#include "toy_engine.h"

/* A run that keeps the head as the store has it after the run. */
struct kept {
    pdr_head head;
    unsigned n;
};

static atomic_int live;         /* kept, and not forgotten */
static atomic_uint made;        /* so far */
static atomic_uint found;       /* number of the one that the last run had; 0:
                                   none */
static atomic_size_t weight;    /* of the next ones */
static atomic_bool gives_again; /* the run finds it, and does not take it */

static void kept_forget(void *memo)
{
    pdr__free(memo);
    atomic_fetch_sub(&live, 1);
}

/* Finish as toy_answer() does, and keep something. */
static pdr_rc run_keeps(struct toy *p, pdr_task *task, pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(task);
    const pdr_entry response = {.kind = PDR_ROW_RESPONSE,
                                .correlation_id = info->correlation_id,
                                .body = S("{}")};
    const pdr_edit edit = {.revision = info->head.revision,
                           .entries = &response,
                           .entry_count = 1};
    struct kept *old = NULL, *kept = NULL;
    pdr_committed done;
    pdr_rc rc = PDR_OK;

    atomic_store(&found, 0);
    if (!atomic_load(&gives_again))
        old = pdr_task_take_kept(task);
    if (old != NULL) {
        atomic_store(&found, old->n);
        ASSERT_INT(old->head.revision + 1, info->head.revision);
        ASSERT_INT(old->head.next_seq + 1, info->head.next_seq);
        ASSERT(pdr_task_take_kept(task) == NULL); /* it was taken */
        kept_forget(old);
    }
    rc = pdr_task_finish(&done, task, &edit, PDR_OPERATION_COMPLETED,
                         pdr_str_n(NULL, 0), err);
    if (rc != PDR_OK)
        return rc;
    kept = pdr__calloc(1, sizeof(*kept));
    if (kept == NULL)
        return PDR_OK;
    kept->head = done.head;
    kept->n = atomic_fetch_add(&made, 1) + 1;
    atomic_fetch_add(&live, 1);
    atomic_fetch_sub(&p->at_work, 1);
    pdr_task_keep(task, kept, &kept->head, atomic_load(&weight));
    return PDR_OK;
}

static struct toy *stage_begin(pdr_store **store, size_t keep_bytes)
{
    struct toy *p = NULL;

    *store = toys_begin("memory:");
    p = toy_new();
    p->run = run_keeps;
    p->forget = kept_forget;
    p->opts.keep_bytes = keep_bytes;
    atomic_store(&live, 0);
    atomic_store(&made, 0);
    atomic_store(&weight, 100);
    atomic_store(&gives_again, false);
    return p;
}

/* Run, and find what run `expected` kept; 0: nothing. */
static void finds(unsigned expected, struct toy *p, const char *session)
{
    static unsigned ids;
    char id[20];

    snprintf(id, sizeof(id), "c%u", ++ids);
    sends(p, session, "answer", id);
    ends(PDR_OPERATION_COMPLETED, NULL, p, session, id);
    if (atomic_load(&found) != expected)
        fail_msg("%s: found %u, not %u", id, atomic_load(&found), expected);
}

TEST(engine_memo, is_what_the_run_before_left)
{
    pdr_store *store = NULL;
    struct toy *p = stage_begin(&store, 0);

    toy_begin(p, store);
    finds(0, p, "toy-1");
    finds(1, p, "toy-1");
    finds(0, p, "toy-2"); /* not that of another session */
    finds(0, p, "other/toy-1");
    finds(2, p, "toy-1");
    ASSERT_INT(3, atomic_load(&live));
    toys_end();
    ASSERT_INT(0, atomic_load(&live));
}

TEST(engine_memo, is_forgotten_when_the_session_has_changed)
{
    pdr_store *store = NULL;
    struct toy *p = stage_begin(&store, 0), *q = toy_new();
    pdr_ending *ending = NULL;
    const pdr_operation peek = op_of("toy-1", "peek", "peek");

    q->run = run_keeps;
    q->forget = kept_forget;
    toy_begin(p, store);
    finds(0, p, "toy-1");
    session_touch(store, "toy-1");
    finds(0, p, "toy-1");
    finds(2, p, "toy-1");
    session_delete(store, "toy-1"); /* and it comes again, as it was */
    finds(0, p, "toy-1");
    finds(4, p, "toy-1");
    toy_begin(q, store); /* another process has a turn */
    finds(0, q, "toy-1");
    finds(0, p, "toy-1");
    finds(0, q, "toy-1");
    finds(8, q, "toy-1");
    ASSERT_RC(PDR_OK, pdr_engine_call(&ending, NULL, q->engine, &peek,
                                      TOYS_LONG, NULL));
    pdr_ending_free(ending);
    finds(0, q, "toy-1"); /* what is done at once may change it */
    toys_end();
    ASSERT_INT(0, atomic_load(&live));
}

/* One that waited in the inbox: what is kept is as good for it. */
TEST(engine_memo, is_for_what_waited_too)
{
    pdr_store *store = NULL;
    struct toy *p = stage_begin(&store, 0);
    pdr_sent sent;
    pdr_operation later = op_of("toy-1", "answer", "later");

    toy_begin(p, store);
    finds(0, p, "toy-1");
    atomic_store(&p->is_shy, true); /* nobody claims it at once */
    ASSERT_RC(PDR_OK, pdr_engine_send(&sent, p->engine, &later, NULL));
    atomic_store(&p->is_shy, false);
    ends(PDR_OPERATION_COMPLETED, NULL, p, "toy-1", "later");
    ASSERT_INT(1, atomic_load(&found));
    toys_end();
    ASSERT_INT(0, atomic_load(&live));
}

TEST(engine_memo, takes_as_much_memory_as_it_may)
{
    static const struct {
        size_t weight;
        int live; /* after five sessions */
    } cases[] = {
        {100, 5},   /* all */
        {20000, 4}, /* the oldest goes */

        {25000, 0}, /* more than a quarter: no */
        {SIZE_MAX / 4, 0},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_store *store = NULL;
        struct toy *p = stage_begin(&store, 100000);
        char session[20];

        toy_begin(p, store);
        atomic_store(&weight, cases[i].weight);
        for (int k = 0; k < 5; k++) {
            snprintf(session, sizeof(session), "toy-%d", k);
            finds(0, p, session);
        }
        AWAIT(atomic_load(&live) == cases[i].live);
        toys_end();
        ASSERT_INT(0, atomic_load(&live));
    }
}

/* What the run does not take is forgotten; so is what a run leaves when the
 * engine has stopped. */
TEST(engine_memo, is_nobodys_for_long)
{
    pdr_store *store = NULL;
    struct toy *p = stage_begin(&store, 0);

    toy_begin(p, store);
    finds(0, p, "toy-1");
    atomic_store(&gives_again, true);
    finds(0, p, "toy-1");
    AWAIT(atomic_load(&live) == 1);
    atomic_store(&gives_again, false);
    finds(2, p, "toy-1");
    toy_stop(p, PDR_STOP_FINISH);
    toys_end();
    ASSERT_INT(0, atomic_load(&live));
}
