/*
 * byte_damage.c - one changed byte, and everything that can be asked.
 *
 * WHY  A disk, a cable or a bit of memory changes a byte, and nobody is told.
 *      What was acknowledged must come back as it was, or not at all. So one
 *      byte at a time is changed in a page that holds rows or index entries,
 *      and each question is asked whose answer is known from before.
 */
#include "byte_damage.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "room.h"
#include "store_work.h"

#define SESSIONS  16u
#define TURNS     8u
#define PAGE      4096u
#define BEGIN_MS  INT64_C(1700000000000)
#define QUESTIONS 300u
#define MAX_PAGES 1000u

struct question {
    pdr_query query;
    char ids[2][24]; /* what the query points to */
    char *answer;    /* owned; NULL: there is no such thing */
};

struct sample {
    struct room room;
    char uri[700];
    char *bytes; /* owned: the file as it was */
    size_t len;
    uint32_t pages[MAX_PAGES]; /* that hold rows or index entries */
    size_t page_count;
    struct question questions[QUESTIONS];
    size_t question_count;
    uint64_t random;
};

static uint64_t next_random(struct sample *sample)
{
    sample->random ^= sample->random << 13;
    sample->random ^= sample->random >> 7;
    sample->random ^= sample->random << 17;
    return sample->random;
}

/* --- a store with rows of every kind -------------------------------------- */

static pdr_str repeat(char *out, size_t len)
{
    out[0] = '"';
    memset(out + 1, 'x', len - 2);
    out[len - 1] = '"';
    return pdr_str_n(out, len);
}

/* One turn of session `s`; the last ones have entries of several pages. */
static void commit_turn(pdr_store *store, unsigned s, unsigned turn)
{
    static char body[20000], text[400];
    char name[24], id[24], key[24];

    snprintf(name, sizeof(name), "session-%u", s);
    snprintf(id, sizeof(id), "turn-%u", turn);
    snprintf(key, sizeof(key), "slot-%u", turn % 3);
    const pdr_str bodies[] = {
        pdr_str_c("{\"text\":\"a question\"}"),
        repeat(body, 300 + 90 * s + (turn == 5 ? 9000u : 0u))};
    pdr_entry entries[2] = {{.kind = PDR_ROW_REQUEST, .body = bodies[0]},
                            {.kind = PDR_ROW_RESPONSE, .body = bodies[1]}};
    pdr_slot slot = {.key = pdr_str_c(key), .value = repeat(text, 350)};
    pdr_property property = {.key = pdr_str_c(turn % 2 == 0 ? "even" : "odd"),
                             .value = pdr_str_c("true"),
                             .match = pdr_str_c("btrue")};
    pdr_completion completion = {.correlation_id = pdr_str_c(id),
                                 .outcome = pdr_str_c("\"done\"")};
    pdr_work work = {.due_ms = BEGIN_MS + turn,
                     .kind = pdr_str_c("run"),
                     .body = pdr_str_c("{\"work\":1}")};
    pdr_edit edit = {.ref.id = pdr_str_c(name),
                     .revision = turn,
                     .agent = pdr_str_c(s % 2 == 0 ? "anna" : "bert"),
                     .set_state = true,
                     .state = (pdr_session_state)(s % 4),
                     .expiry = PDR_EXPIRY_SET,
                     .expiry_ms = BEGIN_MS + s,
                     .entries = entries,
                     .entry_count = 2,
                     .slots = &slot,
                     .slot_count = 1,
                     .properties = &property,
                     .property_count = 1,
                     .completions = &completion,
                     .completion_count = 1,
                     .journal = &work,
                     .journal_count = 1,
                     .stream = &work,
                     .stream_count = 1,
                     .inbox = &work,
                     .inbox_count = 1};
    pdr_commit_options options = {.now_ms = BEGIN_MS + 10 * turn + s};

    entries[0].correlation_id = entries[1].correlation_id = pdr_str_c(id);
    if (turn == 1)
        edit.frame = pdr_str_c("{\"frame\":1}");
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

static void fill(const char *uri)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned s = 0; s < SESSIONS; s++)
            commit_turn(store, s, turn);
    pdr_store_close(store);
}

/* --- questions ------------------------------------------------------------ */

static struct question *add(struct sample *sample, pdr_read_what what)
{
    struct question *question = &sample->questions[sample->question_count++];

    ASSERT(sample->question_count <= QUESTIONS);
    question->query.what = what;
    return question;
}

static void ask_about(struct sample *sample, unsigned s)
{
    static const pdr_read_what all[] = {
        PDR_READ_HEAD, PDR_READ_ENTRIES, PDR_READ_SLOTS, PDR_READ_FRAME,
        PDR_READ_PROPERTIES, PDR_READ_COMPLETIONS, PDR_READ_STREAM,
        PDR_READ_JOURNAL, PDR_READ_INBOX,
        /* and these by a key */
        PDR_READ_SLOTS, PDR_READ_COMPLETIONS, PDR_READ_ENTRIES};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct question *question = add(sample, all[i]);

        snprintf(question->ids[0], sizeof(question->ids[0]), "session-%u", s);
        question->query.ref.id = pdr_str_c(question->ids[0]);
        if (i < 9)
            continue;
        snprintf(question->ids[1], sizeof(question->ids[1]), "%s-%u",
                 i == 9 ? "slot" : "turn", s % 3);
        question->query.key = pdr_str_c(question->ids[1]);
    }
}

static void ask_for_lists(struct sample *sample)
{
    add(sample, PDR_READ_ALL);
    add(sample, PDR_READ_SESSIONS);
    add(sample, PDR_READ_SESSIONS)->query.filter.agent = pdr_str_c("anna");
    add(sample, PDR_READ_EXPIRED)->query.now_ms = BEGIN_MS + 7;
    add(sample, PDR_READ_DUE)->query.now_ms = BEGIN_MS + 3;
    for (int state = 0; state < 4; state++) {
        pdr_filter *filter = &add(sample, PDR_READ_SESSIONS)->query.filter;

        filter->by_state = true;
        filter->state = (pdr_session_state)state;
    }
    pdr_filter *changed = &add(sample, PDR_READ_SESSIONS)->query.filter;
    changed->changed_from_ms = BEGIN_MS + 10 * (TURNS - 1) + 3;
    changed->changed_to_ms = changed->changed_from_ms + 9;
    pdr_filter *property = &add(sample, PDR_READ_SESSIONS)->query.filter;
    property->property = pdr_str_c("odd");
    property->match = pdr_str_c("btrue");
}

static void ask_all(struct sample *sample)
{
    pdr_store *store = NULL;

    for (unsigned s = 0; s < SESSIONS; s++)
        ask_about(sample, s);
    ask_for_lists(sample);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, sample->uri, NULL));
    for (size_t i = 0; i < sample->question_count; i++) {
        struct question *question = &sample->questions[i];

        question->answer = work_query_text(store, &question->query, NULL);
        ASSERT(question->answer != NULL);
    }
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
}

/* --- the file ------------------------------------------------------------- */

static void find_pages(struct sample *sample)
{
    static const char sql[] =
        "SELECT pageno FROM dbstat WHERE ncell > 0 OR pagetype = 'overflow'";
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(&sample->room, "a.db"), &db));
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("dbstat: %s", sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        ASSERT(sample->page_count < MAX_PAGES);
        sample->pages[sample->page_count++] =
            (uint32_t)sqlite3_column_int64(stmt, 0);
    }
    ASSERT_INT(SQLITE_OK, sqlite3_finalize(stmt));
    ASSERT_INT(SQLITE_OK, sqlite3_close(db));
}

static void make(struct sample *sample, uint64_t seed)
{
    memset(sample, 0, sizeof(*sample));
    sample->random = seed;
    work_room(&sample->room);
    snprintf(sample->uri, sizeof(sample->uri), "sqlite:%s",
             room_path(&sample->room, "a.db"));
    fill(sample->uri);
    ask_all(sample);
    find_pages(sample);
    sample->bytes = room_get(&sample->room, "a.db", &sample->len);
    ASSERT(sample->bytes != NULL && sample->page_count > 0);
}

static void leave(struct sample *sample)
{
    for (size_t i = 0; i < sample->question_count; i++)
        free(sample->questions[i].answer);
    free(sample->bytes);
    room_leave(&sample->room);
}

/* --- one byte ------------------------------------------------------------- */

static void remember(struct byte_report *out, size_t at, const char *what,
                     size_t question)
{
    if (out->first[0] == '\0')
        snprintf(out->first, sizeof(out->first),
                 "byte %zu (page %zu, %zu), question %zu: %.150s", at,
                 at / PAGE + 1, at % PAGE, question, what);
}

static void ask(struct byte_report *out, const struct sample *sample,
                pdr_store *store, size_t at)
{
    for (size_t i = 0; i < sample->question_count; i++) {
        const struct question *question = &sample->questions[i];
        pdr_err err = PDR_ERR_INIT;
        char *text = work_query_text(store, &question->query, &err);

        if (text != NULL && strcmp(text, question->answer) == 0)
            out->same++;
        else if (text == NULL && err.code == PDR_ENOTFOUND)
            out->not_found++;
        else if (text == NULL && err.code == PDR_ECORRUPT)
            out->failed++;
        else if (out->wrong++ == 0)
            remember(out, at, text != NULL ? "other rows" : err.message, i);
        free(text);
    }
}

static void try_byte(struct byte_report *out, const struct sample *sample,
                     size_t at, uint8_t change)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    sample->bytes[at] = (char)((uint8_t)sample->bytes[at] ^ change);
    room_put(&sample->room, "a.db", pdr_str_n(sample->bytes, sample->len));
    out->tried++;
    if (pdr_store_open(&store, sample->uri, &err) == PDR_OK) {
        ask(out, sample, store, at);
        if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) !=
            PDR_ECORRUPT) {
            out->missed++;
            remember(out, at, "verify found nothing", 0);
        }
    } else {
        out->refused++;
    }
    pdr_store_close(store);
    sample->bytes[at] = (char)((uint8_t)sample->bytes[at] ^ change);
}

void damage_bytes(struct byte_report *out, size_t count, uint64_t seed)
{
    struct sample sample;

    memset(out, 0, sizeof(*out));
    make(&sample, seed);
    out->pages = sample.page_count;
    out->questions = sample.question_count;
    for (size_t i = 0; i < count; i++) {
        size_t page = sample.pages[next_random(&sample) % sample.page_count];
        size_t at = (page - 1) * PAGE + next_random(&sample) % PAGE;

        try_byte(out, &sample, at, (uint8_t)(1 + next_random(&sample) % 255));
    }
    leave(&sample);
}
