/*
 * engine_rows.c - the rows of a durable turn, committed by hand.
 *
 * WHY  What an engine costs is what it does beside its commits. To see it, the
 *      same commits are made without it: recorded below the library, where a
 *      store gets them, so that nothing is forgotten when the engine changes.
 */
#include "engine_rows.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <perdure/sys/store.h>

#include "bench.h"

#define ID_BYTES 32 /* of a correlation id that an engine makes */
#define LEASE_MS 30000
#define BATCH    64u
#define EVENTS   8u     /* of a turn, at most */
#define KEPT     10000u /* events; with more the next claim removes all */

/* --- recording ------------------------------------------------------------ */

static struct {
    struct rows *rows; /* NULL: nothing is recorded */
    const pdr_store_ops *below;
    pdr_store_ops ops;
} recorder;

static pdr_str keep(pdr_str text)
{
    if (text.ptr == NULL)
        return text;
    char *copy = bench_reserve(text.len + 1);
    memcpy(copy, text.ptr, text.len);
    return pdr_str_n(copy, text.len);
}

static const void *keep_array(const void *array, size_t bytes)
{
    return bytes > 0 ? keep(pdr_str_n(array, bytes)).ptr : NULL;
}

static pdr_work *keep_work(const pdr_work *rows, size_t count)
{
    pdr_work *copy =
        (pdr_work *)(uintptr_t)keep_array(rows, count * sizeof(*rows));

    for (size_t i = 0; i < count; i++) {
        copy[i].kind = keep(copy[i].kind);
        copy[i].body = keep(copy[i].body);
    }
    return copy;
}

/* All texts of an edit. */
static pdr_edit keep_edit(const pdr_edit *edit)
{
    pdr_edit own = *edit;
    pdr_entry *entries = (pdr_entry *)(uintptr_t)keep_array(
        edit->entries, edit->entry_count * sizeof(*entries));
    pdr_completion *completions = (pdr_completion *)(uintptr_t)keep_array(
        edit->completions, edit->completion_count * sizeof(*completions));

    if (edit->slot_count + edit->property_count + edit->drop_count > 0 ||
        edit->settle_count > 1 || edit->stream_count > EVENTS)
        bench_fail("a turn writes rows that are not looked at here");
    for (size_t i = 0; i < edit->entry_count; i++)
        entries[i].body = keep(entries[i].body);
    for (size_t i = 0; i < edit->completion_count; i++) {
        completions[i].fingerprint = keep(completions[i].fingerprint);
        completions[i].outcome = keep(completions[i].outcome);
    }
    own.entries = entries;
    own.completions = completions;
    own.inbox = keep_work(edit->inbox, edit->inbox_count);
    own.journal = keep_work(edit->journal, edit->journal_count);
    own.stream = keep_work(edit->stream, edit->stream_count);
    own.agent = keep(edit->agent);
    own.kind = keep(edit->kind);
    own.lease.owner = keep(edit->lease.owner);
    return own;
}

static void record(pdr_store *store, pdr_write *const *writes, size_t count)
{
    struct rows *rows = recorder.rows;

    if (count != 1 || writes[0]->count != 1)
        bench_fail("a turn is not one edit after the other");
    rows->edits[rows->count++ % ROWS_COMMITS] =
        keep_edit(writes[0]->plans[0].edit);
    recorder.below->commit(store, writes, count);
}

void rows_record(struct rows *rows, pdr_store *store)
{
    *rows = (struct rows){.count = 0};
    recorder.rows = rows;
    recorder.below = store->ops;
    recorder.ops = *store->ops;
    recorder.ops.commit = record;
    store->ops = &recorder.ops;
}

bool rows_recorded(const struct rows *rows, pdr_store *store)
{
    const pdr_edit *claim = &rows->edits[0], *finish = &rows->edits[1];

    store->ops = recorder.below;
    if (rows->count != ROWS_COMMITS)
        return false;
    if (claim->lease.verb != PDR_LEASE_TAKE || claim->journal_count != 1 ||
        claim->inbox_count != 1 || finish->lease.verb != PDR_LEASE_RELEASE ||
        finish->journal_through == 0 || finish->settle_count != 1 ||
        finish->inbox_count + finish->journal_count > 0 ||
        finish->completion_count != 1)
        bench_fail("a turn is not a claim and a finish any more");
    return true;
}

/* --- committing ----------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One edit for a session, and what it borrows. */
struct draft {
    pdr_edit edit;
    char id[HOST_ID_ROOM], correlation_id[ID_BYTES + 8];
    pdr_entry entries[2];
    pdr_completion completion;
    pdr_work inbox, journal, stream[EVENTS];
};

static void draft_init(struct draft *draft, const pdr_edit *like,
                       const struct rows_session *session)
{
    draft->edit = *like;
    snprintf(draft->correlation_id, sizeof(draft->correlation_id),
             "%08zx%024llx", session->number * 2654435761u & 0xFFFFFFFFu,
             (unsigned long long)session->turns);
    const pdr_str correlation = pdr_str_n(draft->correlation_id, ID_BYTES);
    pdr_edit *edit = &draft->edit;
    edit->ref = (pdr_ref){.id = pdr_str_c(host_id(draft->id, session->number))};
    if (edit->revision != PDR_ANY_REVISION)
        edit->revision = session->revision;
    edit->epoch = session->epoch;
    if (edit->commits != 0)
        edit->commits = session->commits;
    for (size_t i = 0; i < edit->entry_count; i++) {
        draft->entries[i] = edit->entries[i];
        if (draft->entries[i].correlation_id.ptr != NULL)
            draft->entries[i].correlation_id = correlation;
    }
    edit->entries = draft->entries;
    if (edit->completion_count > 0) {
        draft->completion = edit->completions[0];
        draft->completion.correlation_id = correlation;
        edit->completions = &draft->completion;
    }
    if (edit->journal_count > 0) {
        draft->journal = edit->journal[0];
        draft->journal.correlation_id = correlation;
        edit->journal = &draft->journal;
    }
    for (size_t i = 0; i < edit->stream_count; i++) {
        draft->stream[i] = edit->stream[i];
        draft->stream[i].correlation_id = correlation;
    }
    edit->stream = draft->stream;
    if (edit->inbox_count > 0) {
        draft->inbox = edit->inbox[0];
        draft->inbox.correlation_id = correlation;
        edit->inbox = &draft->inbox;
    }
    if (edit->settle_count > 0)
        edit->settle = &session->inbox_n;
}

static void draft_claim(struct draft *draft, const struct rows *rows,
                        const struct rows_session *session, int64_t until_ms)
{
    draft_init(draft, &rows->edits[0], session);
    draft->edit.lease.until_ms = draft->inbox.due_ms = until_ms;
    draft->edit.stream_through =
        session->stream_last - session->stream_first > KEPT
            ? session->stream_last
            : 0;
}

static void claimed(struct rows_session *session, const pdr_committed *done)
{
    if (done->revision > 0)
        session->revision = done->revision;
    session->epoch = done->epoch;
    session->commits = done->head.commits;
    session->fence = done->fence;
    session->inbox_n = done->inbox_n;
    session->journal_n = done->journal_n;
}

void rows_turn(const struct rows *rows, struct rows_session *session,
               pdr_store *store)
{
    const pdr_commit_options options = {.now_ms = now_ms()};
    pdr_committed done = {.revision = 0};
    pdr_err err = PDR_ERR_INIT;
    struct draft draft;

    draft_claim(&draft, rows, session, options.now_ms + LEASE_MS);
    talk_must(pdr_store_commit(&done, store, &draft.edit, 1, &options, &err),
              &err);
    claimed(session, &done);
    if (draft.edit.stream_through > 0)
        session->stream_first = session->stream_last;
    draft_init(&draft, &rows->edits[1], session);
    draft.edit.lease.fence = session->fence;
    draft.edit.journal_through = session->journal_n;
    talk_must(pdr_store_commit(&done, store, &draft.edit, 1, &options, &err),
              &err);
    session->revision = done.revision;
    session->commits = done.head.commits;
    if (draft.edit.stream_count > 0)
        session->stream_last = done.stream_n + draft.edit.stream_count - 1;
    session->turns++;
}

void rows_leave(const struct rows *rows, struct rows_session *sessions,
                size_t count, pdr_store *store)
{
    static struct draft drafts[BATCH];
    static pdr_request requests[BATCH];
    static pdr_committed done[BATCH];
    const pdr_commit_options options = {.now_ms = now_ms()};

    for (size_t at = 0; at < count; at += BATCH) {
        size_t now = count - at < BATCH ? count - at : BATCH;
        for (size_t i = 0; i < now; i++) {
            draft_claim(&drafts[i], rows, &sessions[at + i], options.now_ms);
            requests[i] = (pdr_request){.edits = &drafts[i].edit,
                                        .count = 1,
                                        .options = options,
                                        .committed = &done[i],
                                        .err = PDR_ERR_INIT};
        }
        pdr_store_commit_all(store, requests, now);
        for (size_t i = 0; i < now; i++) {
            talk_must(requests[i].rc, &requests[i].err);
            claimed(&sessions[at + i], &done[i]);
        }
    }
}

/* --- comparing ------------------------------------------------------------ */

static pdr_page *read_session(pdr_store *store, const char *id,
                              pdr_read_what what)
{
    const pdr_query query = {
        .what = what, .ref = {.id = pdr_str_c(id)}, .limit = 100};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    talk_must(pdr_store_read(&page, store, &query, &err), &err);
    return page;
}

/* Times are written with as many digits as they need. */
static bool is_near(size_t a, size_t b)
{
    return a <= b + 8 && b <= a + 8;
}

void rows_compare(size_t number, pdr_store *ours, pdr_store *theirs)
{
    char id[HOST_ID_ROOM];
    (void)host_id(id, number);
    pdr_page *a = read_session(ours, id, PDR_READ_ENTRIES);
    pdr_page *b = read_session(theirs, id, PDR_READ_ENTRIES);
    const pdr_head *x = &a->head, *y = &b->head;

    if (a->count != b->count || x->revision != y->revision ||
        x->commits != y->commits || x->state != y->state ||
        x->inbox != y->inbox || x->journal_next != y->journal_next ||
        x->journal_first != y->journal_first || x->slots != y->slots ||
        x->stream_first != y->stream_first ||
        x->stream_next != y->stream_next || x->next_seq != y->next_seq)
        bench_fail("session '%s' is not the same on both sides", id);
    for (size_t i = 0; i < a->count; i++)
        if (a->entries[i].kind != b->entries[i].kind ||
            !is_near(a->entries[i].body.len, b->entries[i].body.len))
            bench_fail("entry %zu of '%s' is not the same on both sides", i,
                       id);
    pdr_page_free(a);
    pdr_page_free(b);
}
