/*
 * turn.c - makes the benchmark turn out of a seed. See turn.h.
 *
 * INVARIANTS
 *   I1  A text has exactly the size that is asked for, and is JSON.
 *   I2  Nothing here depends on the store: what a turn settles and removes is
 *       known from what the commit before it gave back.
 */
#include "turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <perdure/sys/store.h>

#include "bench.h"

#define WORDS       "the session keeps what both of them said, in order, and "
#define WORDS_BYTES (sizeof(WORDS) - 1)
#define MAX_BATCH   128u

/* --- random --------------------------------------------------------------- */

/* splitmix64 */
uint64_t turn_random(struct turn_random *random)
{
    uint64_t x = random->state += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

size_t turn_random_between(struct turn_random *random, size_t low, size_t high)
{
    return low + (size_t)(turn_random(random) % (high - low + 1));
}

void turn_shuffle(size_t *order, size_t count, uint64_t seed)
{
    struct turn_random random = {seed};

    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t k = turn_random_between(&random, 0, i - 1);
        size_t kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
}

/* --- texts ---------------------------------------------------------------- */

/* `len` bytes of JSON: a head, words from a random place, a tail. */
static pdr_str text_fill(char *out, size_t len, const char *head,
                         const char *tail, struct turn_random *random)
{
    size_t head_len = strlen(head), tail_len = strlen(tail);
    size_t from = turn_random(random) % WORDS_BYTES;

    if (len < head_len + tail_len)
        bench_fail("a text of %zu bytes is too short", len);
    memcpy(out, head, head_len);
    for (size_t at = head_len; at < len - tail_len;) {
        size_t left = len - tail_len - at, take = WORDS_BYTES - from;
        take = take < left ? take : left;
        memcpy(out + at, &WORDS[from], take);
        at += take;
        from = 0;
    }
    memcpy(out + len - tail_len, tail, tail_len);
    return (pdr_str){out, len};
}

static void hex_fill(char *out, size_t len, struct turn_random *random)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;

    for (size_t i = 0; i < len; i++, bits >>= 4) {
        if (i % 16 == 0)
            bits = turn_random(random);
        out[i] = digits[bits & 15];
    }
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + (int64_t)now.tv_nsec / 1000000;
}

/* --- edits ---------------------------------------------------------------- */

void turn_session_init(struct turn_session *session, size_t number)
{
    struct turn_random random = {(uint64_t)number * 7919 + 17};

    memset(session, 0, sizeof(*session));
    session->number = number;
    memcpy(session->id, "session-", 8);
    hex_fill(session->id + 8, TURN_ID_BYTES - 8, &random);
    session->random.state = turn_random(&random);
}

static pdr_work work(const char *kind, pdr_str body, int64_t due_ms)
{
    return (pdr_work){.kind = pdr_str_c(kind), .body = body, .due_ms = due_ms};
}

/* What a turn and the making of a session have in common: slot, inbox, journal
 * and stream rows, the expiry. */
static void add_work(struct turn *turn, struct turn_session *session)
{
    struct turn_random *random = &session->random;
    int64_t now = now_ms();
    int64_t due = now + 30000 + (int64_t)turn_random_between(random, 0, 5000);

    turn->options.now_ms = now;
    turn->slot.key = pdr_str_c("UserPreferences");
    turn->slot.value =
        text_fill(turn->slot_text, TURN_SLOT, "{\"summary\":\"", "\"}", random);
    turn->inbox = work("run",
                       text_fill(turn->inbox_text, TURN_INBOX,
                                 "{\"message\":\"", "\"}", random),
                       due);
    turn->stream = work("delta",
                        text_fill(turn->stream_text, TURN_STREAM,
                                  "{\"delta\":\"", "\"}", random),
                        PDR_NEVER);
    for (size_t i = 0; i < TURN_JOURNAL_ROWS; i++)
        turn->journal[i] = work("step",
                                text_fill(turn->journal_text[i], TURN_JOURNAL,
                                          "{\"step\":\"", "\"}", random),
                                PDR_NEVER);
    pdr_edit *edit = &turn->edit;
    edit->ref = (pdr_ref){pdr_str_c(TURN_TENANT), pdr_str_c(session->id)};
    edit->expiry = PDR_EXPIRY_SET;
    edit->expiry_ms = now + TURN_EXPIRY_MS;
    edit->slots = &turn->slot;
    edit->slot_count = 1;
    edit->inbox = &turn->inbox;
    edit->inbox_count = 1;
    edit->stream = &turn->stream;
    edit->stream_count = 1;
    edit->journal = turn->journal;
    edit->journal_count = TURN_JOURNAL_ROWS;
}

static void add_properties(struct turn *turn, size_t number)
{
    static const struct {
        const char *key;
        size_t values; /* how many different ones there are */
    } kinds[TURN_PROPERTIES] = {
        {"user", 3000}, {"channel", 50}, {"topic", 200}};

    for (size_t i = 0; i < TURN_PROPERTIES; i++) {
        char *text = turn->property_text[i];
        int len = snprintf(text, TURN_PROPERTY_ROOM, "\"%s-%zu\"", kinds[i].key,
                           number % kinds[i].values);
        pdr_str value = {text, (size_t)len};
        turn->properties[i] = (pdr_property){
            .key = pdr_str_c(kinds[i].key), .value = value, .match = value};
    }
    turn->edit.properties = turn->properties;
    turn->edit.property_count = TURN_PROPERTIES;
}

void turn_first(struct turn *turn, struct turn_session *session)
{
    memset(turn, 0, offsetof(struct turn, correlation_id));
    add_work(turn, session);
    add_properties(turn, session->number);
    snprintf(turn->agent, sizeof(turn->agent), "agent-%zu",
             session->number % 10);
    turn->edit.agent = pdr_str_c(turn->agent);
    turn->edit.kind = pdr_str_c("durable");
    turn->edit.schema_version = pdr_str_c("1.1.0");
    turn->edit.lease.verb = PDR_LEASE_TAKE;
    turn->edit.lease.owner = pdr_str_c("worker-0123456789");
    turn->edit.lease.until_ms = turn->options.now_ms + TURN_LEASE_MS;
}

static void add_entries(struct turn *turn, struct turn_session *session)
{
    struct turn_random *random = &session->random;
    size_t request =
        turn_random_between(random, TURN_REQUEST_MIN, TURN_REQUEST_MAX);
    size_t response =
        turn_random_between(random, TURN_RESPONSE_MIN, TURN_RESPONSE_MAX);
    pdr_str id = {turn->correlation_id, sizeof(turn->correlation_id)};

    hex_fill(turn->correlation_id, sizeof(turn->correlation_id), random);
    turn->entries[0] = (pdr_entry){
        .kind = PDR_ROW_REQUEST,
        .created_ms = turn->options.now_ms,
        .correlation_id = id,
        .body = text_fill(turn->request, request,
                          "{\"$type\":\"request\",\"messages\":[{\"role\":"
                          "\"user\",\"contents\":[{\"text\":\"",
                          "\"}]}]}", random)};
    turn->entries[1] = (pdr_entry){
        .kind = PDR_ROW_RESPONSE,
        .created_ms = turn->options.now_ms,
        .correlation_id = id,
        .body = text_fill(turn->response, response,
                          "{\"$type\":\"response\",\"messages\":[{\"role\":"
                          "\"assistant\",\"contents\":[{\"text\":\"",
                          "\"}]}]}", random)};
    turn->completion = (pdr_completion){
        .correlation_id = id,
        .outcome =
            text_fill(turn->completion_text, TURN_COMPLETION,
                      "{\"outcome\":\"completed\",\"note\":\"", "\"}", random)};
    turn->edit.entries = turn->entries;
    turn->edit.entry_count = 2;
    turn->edit.completions = &turn->completion;
    turn->edit.completion_count = 1;
    turn->entry_bytes = request + response;
    turn->payload = turn->entry_bytes + TURN_SLOT;
}

void turn_next(struct turn *turn, struct turn_session *session)
{
    memset(turn, 0, offsetof(struct turn, correlation_id));
    add_work(turn, session);
    add_entries(turn, session);
    turn->edit.revision = session->revision;
    turn->edit.epoch = session->epoch;
    turn->edit.lease.fence = session->fence;
    turn->edit.journal_through = session->journal_last;
    turn->edit.stream_through = session->stream_last;
    turn->settle = session->inbox_n;
    turn->edit.settle = &turn->settle;
    turn->edit.settle_count = 1;
}

void turn_done(struct turn_session *session, const struct turn *turn,
               const pdr_committed *committed)
{
    session->revision = committed->revision;
    session->epoch = committed->epoch;
    session->fence = committed->fence;
    session->journal_last = committed->journal_n + TURN_JOURNAL_ROWS - 1;
    session->stream_last = committed->stream_n;
    session->inbox_n = committed->inbox_n;
    session->turns += turn->edit.entry_count > 0;
}

void turn_commit(struct turn_session *session, struct turn *turn,
                 pdr_store *store)
{
    pdr_committed committed;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_commit(&committed, store, &turn->edit, 1, &turn->options,
                         &err) != PDR_OK)
        bench_fail("a turn was refused: %s", err.message);
    turn_done(session, turn, &committed);
}

void turn_commit_all(struct turn_session *const *sessions, struct turn *turns,
                     size_t count, pdr_store *store)
{
    static pdr_request requests[MAX_BATCH];
    pdr_committed committed[MAX_BATCH];

    if (count > MAX_BATCH)
        bench_fail("%zu turns are too many for one call", count);
    for (size_t i = 0; i < count; i++)
        requests[i] = (pdr_request){.edits = &turns[i].edit,
                                    .count = 1,
                                    .options = turns[i].options,
                                    .committed = &committed[i]};
    pdr_store_commit_all(store, requests, count);
    for (size_t i = 0; i < count; i++) {
        if (requests[i].rc != PDR_OK)
            bench_fail("a turn was refused: %s", requests[i].err.message);
        turn_done(sessions[i], &turns[i], &committed[i]);
    }
}
