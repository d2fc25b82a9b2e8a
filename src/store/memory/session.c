/*
 * session.c - versions of a session, and how a plan makes the next one.
 *
 * WHY  The plan has decided; this file carries out. It works on a version of
 *      its own, which nobody sees until the whole write has come through.
 *
 * INVARIANTS
 *   V1  A version that was published does not change any more, but for one
 *       that nobody sees: its rows are taken out when it is cleared.
 *   V2  Each table of a new version has room for all that the edit adds before
 *       the first row is put into it.
 *
 * NOT HERE  Revisions, fences, numbers, digests: the plan has them.
 */
#include "memory_core.h"

void pdr__session_free(struct session *session)
{
    if (session == NULL)
        return;
    pdr__row_drop(session->head);
    pdr__row_drop(session->frame);
    for (size_t t = 0; t < TABLE_COUNT; t++)
        pdr__rows_dispose(&session->tables[t]);
    pdr__free(session);
}

/* Where the rows of a table of the next version come from: the inbox may be
 * that of the session which stood there. */
static const struct rows *rows_before(const struct before *before,
                                      const pdr_plan *plan, enum table table)
{
    static const struct session empty = {0};
    const struct session *session = before->session;

    if (table == TABLE_INBOX && plan->inherits)
        session = before->replaced;
    return session != NULL ? &session->tables[table] : &empty.tables[table];
}

/* A copy of what was before, with room for what `plan` adds. It has no head
 * yet. */
static pdr_rc copy(struct session **out, const struct before *before,
                   const pdr_plan *plan, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    const size_t extra[TABLE_COUNT] = {
        [TABLE_ENTRIES] = edit->entry_count,
        [TABLE_SLOTS] = edit->slot_count,
        [TABLE_PROPERTIES] = edit->property_count,
        [TABLE_COMPLETIONS] = plan->completion_count,
        [TABLE_JOURNAL] = edit->journal_count,
        [TABLE_STREAM] = edit->stream_count,
        [TABLE_INBOX] = edit->inbox_count,
    };
    struct session *session = pdr__calloc(1, sizeof(*session));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (session == NULL)
        return pdr__nomem(err);
    session->frame = before->session != NULL ? before->session->frame : NULL;
    if (session->frame != NULL)
        session->frame->users++;
    for (size_t t = 0; t < TABLE_COUNT && rc == PDR_OK; t++)
        rc = pdr__rows_copy(&session->tables[t],
                            rows_before(before, plan, (enum table)t), extra[t],
                            err);
    if (rc != PDR_OK) {
        pdr__session_free(session);
        return rc;
    }
    *out = session;
    return PDR_OK;
}

/* Put a new row of `cells` into `rows`. Adds 1 to `added` if it is one more. */
static pdr_rc put(struct rows *rows, int64_t *added, const union cells *cells,
                  enum cells_kind kind, pdr_err *err)
{
    struct row *row = NULL;
    pdr_rc rc = pdr__row_new(&row, cells, kind, err);

    if (rc == PDR_OK && pdr__rows_put(rows, row))
        (*added)++;
    return rc;
}

/* Entries up to the cut, and completions that are dropped. */
static void remove_rows(struct session *session, const pdr_plan *plan)
{
    const pdr_edit *edit = plan->edit;

    if (plan->cuts)
        pdr__rows_remove_through(&session->tables[TABLE_ENTRIES],
                                 edit->entries_through);
    for (size_t k = 0; k < edit->drop_count; k++)
        (void)pdr__rows_remove(&session->tables[TABLE_COMPLETIONS], 0,
                               edit->drop[k].correlation_id);
}

static pdr_rc put_entries(struct session *session, const pdr_plan *plan,
                          pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    uint64_t first = plan->next.next_seq - edit->entry_count;
    int64_t added = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < edit->entry_count && rc == PDR_OK; i++) {
        union cells cells = {.entry = edit->entries[i]};
        cells.entry.seq = first + i;
        memcpy(cells.entry.digest, plan->entries[i], PDR_DIGEST_BYTES);
        rc = put(&session->tables[TABLE_ENTRIES], &added, &cells, CELLS_ENTRY,
                 err);
    }
    return rc;
}

static pdr_rc put_slots(struct session *session, int64_t *added,
                        const pdr_plan *plan, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    struct rows *rows = &session->tables[TABLE_SLOTS];
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < edit->slot_count && rc == PDR_OK; i++) {
        union cells cells = {.slot = edit->slots[i]};
        if (cells.slot.value.ptr == NULL) {
            if (pdr__rows_remove(rows, 0, cells.slot.key))
                (*added)--;
            continue;
        }
        memcpy(cells.slot.digest, plan->seals->slots[i], PDR_DIGEST_BYTES);
        rc = put(rows, added, &cells, CELLS_SLOT, err);
    }
    return rc;
}

static pdr_rc put_properties(struct session *session, int64_t *added,
                             const pdr_plan *plan, pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    struct rows *rows = &session->tables[TABLE_PROPERTIES];
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < edit->property_count && rc == PDR_OK; i++) {
        union cells cells = {.property = edit->properties[i]};
        if (cells.property.value.ptr == NULL) {
            if (pdr__rows_remove(rows, 0, cells.property.key))
                (*added)--;
            continue;
        }
        memcpy(cells.property.digest, plan->seals->properties[i],
               PDR_DIGEST_BYTES);
        rc = put(rows, added, &cells, CELLS_PROPERTY, err);
    }
    return rc;
}

static pdr_rc put_completions(struct session *session, const pdr_plan *plan,
                              pdr_err *err)
{
    int64_t added = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < plan->completion_count && rc == PDR_OK; i++) {
        union cells cells = {.completion = plan->completions[i]};
        rc = put(&session->tables[TABLE_COMPLETIONS], &added, &cells,
                 CELLS_COMPLETION, err);
    }
    return rc;
}

static pdr_rc put_frame(struct session *session, const pdr_plan *plan,
                        pdr_err *err)
{
    union cells cells = {.frame = {.text = plan->edit->frame}};
    struct row *row = NULL;

    if (cells.frame.text.ptr == NULL)
        return PDR_OK;
    memcpy(cells.frame.digest, plan->seals->frame, PDR_DIGEST_BYTES);
    pdr_rc rc = pdr__row_new(&row, &cells, CELLS_FRAME, err);
    if (rc != PDR_OK)
        return rc;
    pdr__row_drop(session->frame);
    session->frame = row;
    return PDR_OK;
}

/* Add work; the last row gets the number before `next`. */
static pdr_rc put_work(struct rows *rows, const pdr_work *work, size_t count,
                       uint64_t next, pdr_digest *digests, bool has_time,
                       pdr_err *err)
{
    int64_t added = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        union cells cells = {.work = work[i]};
        cells.work.session = (pdr_ref){0};
        cells.work.n = next - count + i;
        if (!has_time)
            cells.work.due_ms = PDR_NEVER;
        memcpy(cells.work.digest, digests[i], PDR_DIGEST_BYTES);
        rc = put(rows, &added, &cells, CELLS_WORK, err);
    }
    return rc;
}

static pdr_rc change_work(struct session *session, const pdr_plan *plan,
                          pdr_err *err)
{
    const pdr_edit *edit = plan->edit;
    struct rows *journal = &session->tables[TABLE_JOURNAL];
    struct rows *stream = &session->tables[TABLE_STREAM];
    struct rows *inbox = &session->tables[TABLE_INBOX];

    pdr__rows_remove_through(journal, edit->journal_through);
    pdr__rows_remove_through(stream, edit->stream_through);
    for (size_t i = 0; i < edit->settle_count; i++) {
        if (!pdr__rows_remove(inbox, edit->settle[i], (pdr_str){0}))
            return pdr_plan_not_in_inbox(plan, edit->settle[i], err);
    }
    pdr_rc rc = put_work(journal, edit->journal, edit->journal_count,
                         plan->next.journal_next, plan->journal, false, err);
    if (rc == PDR_OK)
        rc = put_work(stream, edit->stream, edit->stream_count,
                      plan->next.stream_next, plan->stream, false, err);
    if (rc == PDR_OK)
        rc = put_work(inbox, edit->inbox, edit->inbox_count,
                      plan->next.inbox_next, plan->inbox, true, err);
    return rc;
}

static pdr_rc put_rows(struct session *session, int64_t *slots,
                       int64_t *properties, const pdr_plan *plan, pdr_err *err)
{
    pdr_rc rc = put_entries(session, plan, err);

    if (rc == PDR_OK)
        rc = put_slots(session, slots, plan, err);
    if (rc == PDR_OK)
        rc = put_properties(session, properties, plan, err);
    if (rc == PDR_OK)
        rc = put_completions(session, plan, err);
    if (rc == PDR_OK)
        rc = put_frame(session, plan, err);
    if (rc == PDR_OK)
        rc = change_work(session, plan, err);
    return rc;
}

static pdr_rc put_head(struct session *session, const struct session *before,
                       const pdr_plan *plan, pdr_err *err)
{
    union cells cells = {.head = plan->next};

    if (plan->changes_head)
        return pdr__row_new(&session->head, &cells, CELLS_HEAD, err);
    session->head = before->head;
    session->head->users++;
    return PDR_OK;
}

/* All rows of `before` but an inbox that went over, under the head that a plan
 * made for it while they are cleared. */
static pdr_rc make_gone(struct session **out, const struct session *before,
                        const pdr_plan *plan, pdr_err *err)
{
    union cells cells = {.head = plan->gone};
    struct session *session = pdr__calloc(1, sizeof(*session));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (session == NULL)
        return pdr__nomem(err);
    session->frame = before->frame;
    if (session->frame != NULL)
        session->frame->users++;
    for (size_t t = 0; t < TABLE_COUNT && rc == PDR_OK; t++) {
        if (t != TABLE_INBOX || !plan->inherits)
            rc =
                pdr__rows_copy(&session->tables[t], &before->tables[t], 0, err);
    }
    if (rc == PDR_OK)
        rc = pdr__row_new(&session->head, &cells, CELLS_HEAD, err);
    if (rc == PDR_OK)
        *out = session;
    else
        pdr__session_free(session);
    return rc;
}

/* The version that stays. */
static pdr_rc make_next(struct session **out, const struct before *before,
                        pdr_plan *plan, const pdr_write *write, pdr_err *err)
{
    struct session *session = NULL;
    int64_t slots = 0, properties = 0;
    pdr_rc rc = copy(&session, before, plan, err);

    *out = NULL;
    if (rc != PDR_OK)
        return rc;
    remove_rows(session, plan);
    rc = put_rows(session, &slots, &properties, plan, err);
    if (rc == PDR_OK)
        rc = pdr_plan_finish(plan, write, slots, properties, err);
    if (rc == PDR_OK)
        rc = put_head(session, before->session, plan, err);
    if (rc == PDR_OK)
        *out = session;
    else
        pdr__session_free(session);
    return rc;
}

pdr_rc pdr__session_next(struct after *out, const struct before *before,
                         pdr_plan *plan, const pdr_write *write, pdr_err *err)
{
    const struct session *goes =
        plan->replaces ? before->replaced : before->session;
    pdr_rc rc = PDR_OK;

    *out = (struct after){NULL, NULL};
    if (plan->removes)
        rc = pdr_plan_finish(plan, write, 0, 0, err);
    else
        rc = make_next(&out->session, before, plan, write, err);
    if (rc == PDR_OK && plan->hides)
        rc = make_gone(&out->gone, goes, plan, err);
    if (rc != PDR_OK) {
        pdr__session_free(out->session);
        out->session = NULL;
    }
    return rc;
}

size_t pdr__session_shorten(struct session *session, size_t most)
{
    size_t count = 0;

    session->is_cleared = true;
    for (size_t t = 0; t < TABLE_COUNT && count < most; t++)
        count += pdr__rows_shorten(&session->tables[t], most - count);
    if (count < most && session->frame != NULL) {
        pdr__row_drop(session->frame);
        session->frame = NULL;
        count++;
    }
    return count;
}
