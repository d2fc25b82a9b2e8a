/*
 * write.c - the rows of one commit, inside a transaction.
 *
 * WHY  A group holds commits of many callers, and one of them may be refused.
 *      To undo it alone would cost every commit a savepoint. So everything that
 *      can refuse is asked first, for all sessions of the commit; what is left
 *      to refuse after the first row is rare, and then the whole group runs
 *      again without the offender (run.c).
 *
 *          look ──► heads, completions (look.c): refused? nothing done
 *          rows ──► inbox first, which can refuse, then the others
 *          log  ──► entries and new completions wait (pack.c)
 *          head ──► last, with the counts; one that is shown takes the place
 *                   of who stood there
 *
 * INVARIANTS, cited below as I1, I2
 *   I1  No statement is left running: each is reset in the function that runs
 *       it. Nothing is copied that the caller holds until the commit has ended.
 *   I2  `number` moves only with a write that is carried out.
 */
#include "write.h"

/* --- statements ---------------------------------------------------------- */

/* With static memory none of these allocates; lengths and indexes are ours. */
void pdr__bind_int(sqlite3_stmt *stmt, int at, int64_t number)
{
    (void)sqlite3_bind_int64(stmt, at, number);
}

void pdr__bind_time(sqlite3_stmt *stmt, int at, int64_t ms)
{
    if (ms == PDR_NEVER)
        (void)sqlite3_bind_null(stmt, at);
    else
        (void)sqlite3_bind_int64(stmt, at, ms);
}

void pdr__bind_text(sqlite3_stmt *stmt, int at, pdr_str text)
{
    (void)sqlite3_bind_text(stmt, at, text.ptr, (int)text.len, SQLITE_STATIC);
}

void pdr__bind_blob(sqlite3_stmt *stmt, int at, const void *bytes, size_t len)
{
    (void)sqlite3_bind_blob(stmt, at, bytes, (int)len, SQLITE_STATIC);
}

static void bind_digest(sqlite3_stmt *stmt, int at, const pdr_digest digest)
{
    pdr__bind_blob(stmt, at, digest, PDR_DIGEST_BYTES);
}

int pdr__writer_step(const struct pdr__writer *writer,
                     enum pdr__sqlite_sql which)
{
    int code = sqlite3_step(writer->stmt[which]);

    (void)sqlite3_reset(writer->stmt[which]); /* I1 */
    return code;
}

pdr_rc pdr__job_failed(struct pdr__job *job, int code)
{
    job->code = code;
    return pdr__sqlite_fail(&job->write->err, job->writer->db, code,
                            "writing a commit");
}

/* The number of a session, which every row of it has. */
static int64_t number_of(const pdr_plan *plan)
{
    return (int64_t)plan->next.epoch;
}

/* Run a statement that changes rows. */
static pdr_rc change(struct pdr__job *job, enum pdr__sqlite_sql which)
{
    int code = SQLITE_OK;

    *job->dirty = true;
    code = pdr__writer_step(job->writer, which);
    return code == SQLITE_DONE ? PDR_OK : pdr__job_failed(job, code);
}

/* --- work ---------------------------------------------------------------- */

/* Rows of one list that go, and those that come. */
struct exchange {
    pdr_part part;
    const uint64_t *settle; /* inbox: numbers of those that go */
    uint64_t first;         /* others: number of the first that goes */
    size_t gone;
    const pdr_work *rows; /* that come */
    const pdr_digest *digests;
    size_t count;
    uint64_t n; /* of the first that comes */
};

static void bind_work(sqlite3_stmt *stmt, const pdr_plan *plan,
                      const struct exchange *list, size_t i)
{
    const pdr_work *row = &list->rows[i];

    pdr__bind_int(stmt, 1, number_of(plan));
    pdr__bind_int(stmt, 2, list->part);
    pdr__bind_int(stmt, 3, (int64_t)(list->n + i));
    pdr__bind_time(stmt, 4,
                   list->part == PDR_PART_INBOX ? row->due_ms : PDR_NEVER);
    pdr__bind_text(stmt, 5, row->kind);
    pdr__bind_text(stmt, 6, row->correlation_id);
    bind_digest(stmt, 7, list->digests[i]);
    pdr__bind_text(stmt, 8, row->body);
}

static uint64_t gone_at(const struct exchange *list, size_t i)
{
    return list->settle != NULL ? list->settle[i] : list->first + i;
}

/* The row must have been there: the inbox may have lost it to somebody else,
 * the other lists have no gaps. */
static pdr_rc check_gone(struct pdr__job *job, const pdr_plan *plan,
                         const struct exchange *list, uint64_t n,
                         bool was_dirty)
{
    if (sqlite3_changes(job->writer->db) == 1)
        return PDR_OK;
    if (list->part != PDR_PART_INBOX)
        return PDR_FAIL(&job->write->err, WRONG_COUNT, "%s",
                        "a row of work is missing that the head counts; verify "
                        "the store and restore a backup");
    *job->dirty = was_dirty; /* nothing changed */
    return pdr_plan_not_in_inbox(plan, n, &job->write->err);
}

/* One goes, and the next takes its cell: to remove first and add later makes
 * SQLite move the rows of whole pages twice. */
static pdr_rc move_one(struct pdr__job *job, const pdr_plan *plan,
                       const struct exchange *list, size_t i)
{
    enum pdr__sqlite_sql which =
        list->part == PDR_PART_INBOX ? PDR_SQL_MOVE_INBOX : PDR_SQL_MOVE_WORK;
    sqlite3_stmt *stmt = job->writer->stmt[which];
    bool was_dirty = *job->dirty;
    pdr_rc rc = PDR_OK;

    bind_work(stmt, plan, list, i);
    pdr__bind_int(stmt, 9, (int64_t)gone_at(list, i));
    rc = change(job, which);
    return rc == PDR_OK
               ? check_gone(job, plan, list, gone_at(list, i), was_dirty)
               : rc;
}

static pdr_rc add_one(struct pdr__job *job, const pdr_plan *plan,
                      const struct exchange *list, size_t i)
{
    bind_work(job->writer->stmt[PDR_SQL_ADD_WORK], plan, list, i);
    return change(job, PDR_SQL_ADD_WORK);
}

static pdr_rc remove_one(struct pdr__job *job, const pdr_plan *plan,
                         const struct exchange *list, size_t i)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_REMOVE_PART];
    bool was_dirty = *job->dirty;
    pdr_rc rc = PDR_OK;

    pdr__bind_int(stmt, 1, number_of(plan));
    pdr__bind_int(stmt, 2, list->part);
    pdr__bind_int(stmt, 3, (int64_t)gone_at(list, i));
    rc = change(job, PDR_SQL_REMOVE_PART);
    return rc == PDR_OK
               ? check_gone(job, plan, list, gone_at(list, i), was_dirty)
               : rc;
}

/* Many at once. */
static pdr_rc cut(struct pdr__job *job, const pdr_plan *plan,
                  const struct exchange *list, size_t from)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_CUT_WORK];

    pdr__bind_int(stmt, 1, number_of(plan));
    pdr__bind_int(stmt, 2, list->part);
    pdr__bind_int(stmt, 3, (int64_t)gone_at(list, from));
    pdr__bind_int(stmt, 4, (int64_t)gone_at(list, list->gone - 1));
    return change(job, PDR_SQL_CUT_WORK);
}

static pdr_rc exchange(struct pdr__job *job, const pdr_plan *plan,
                       const struct exchange *list)
{
    size_t i = 0;
    pdr_rc rc = PDR_OK;

    for (; i < list->gone && i < list->count && rc == PDR_OK; i++)
        rc = move_one(job, plan, list, i);
    for (; i < list->count && rc == PDR_OK; i++)
        rc = add_one(job, plan, list, i);
    if (rc == PDR_OK && i < list->gone && list->settle == NULL)
        return cut(job, plan, list, i);
    for (; i < list->gone && rc == PDR_OK; i++)
        rc = remove_one(job, plan, list, i);
    return rc;
}

/* How many of [first, next) have numbers up to `through`. */
static size_t gone_through(uint64_t first, uint64_t next, uint64_t through)
{
    if (through < first)
        return 0;
    return (size_t)((through < next ? through + 1 : next) - first);
}

/* The inbox comes first: it alone can refuse, and then nothing was written. */
static pdr_rc write_work(struct pdr__job *job, const pdr_plan *plan)
{
    const pdr_edit *edit = plan->edit;
    const pdr_head *now = &plan->now;
    const struct exchange lists[] = {
        {.part = PDR_PART_INBOX,
         .settle = edit->settle,
         .gone = edit->settle_count,
         .rows = edit->inbox,
         .digests = (const pdr_digest *)plan->inbox,
         .count = edit->inbox_count,
         .n = now->inbox_next},
        {.part = PDR_PART_JOURNAL,
         .first = now->journal_first,
         .gone = gone_through(now->journal_first, now->journal_next,
                              edit->journal_through),
         .rows = edit->journal,
         .digests = (const pdr_digest *)plan->journal,
         .count = edit->journal_count,
         .n = now->journal_next},
        {.part = PDR_PART_STREAM,
         .first = now->stream_first,
         .gone = gone_through(now->stream_first, now->stream_next,
                              edit->stream_through),
         .rows = edit->stream,
         .digests = (const pdr_digest *)plan->stream,
         .count = edit->stream_count,
         .n = now->stream_next}};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < PDR_COUNT(lists) && rc == PDR_OK; i++)
        rc = exchange(job, plan, &lists[i]);
    return rc;
}

/* --- what the session is ------------------------------------------------- */

/* Set or remove one row; `moved` counts those that came minus those that went.
 * Arguments of the three statements are bound already. */
static pdr_rc set_or_remove(struct pdr__job *job, bool removes,
                            enum pdr__sqlite_sql set, enum pdr__sqlite_sql add,
                            enum pdr__sqlite_sql remove, int64_t *moved)
{
    pdr_rc rc = change(job, removes ? remove : set);

    if (rc != PDR_OK)
        return rc;
    if (removes) {
        *moved -= sqlite3_changes(job->writer->db);
    } else if (sqlite3_changes(job->writer->db) == 0) {
        *moved += 1;
        rc = change(job, add);
    }
    return rc;
}

static void bind_part(sqlite3_stmt *stmt, const pdr_plan *plan, int part,
                      pdr_str key)
{
    pdr__bind_int(stmt, 1, number_of(plan));
    pdr__bind_int(stmt, 2, part);
    pdr__bind_text(stmt, 3, key);
}

/* A slot or the frame; without a body it goes. */
static pdr_rc write_part(struct pdr__job *job, const pdr_plan *plan, int part,
                         pdr_str key, pdr_str body, const pdr_digest digest,
                         int64_t *moved)
{
    static const enum pdr__sqlite_sql both[] = {PDR_SQL_SET_PART,
                                                PDR_SQL_ADD_PART};
    sqlite3_stmt *const *stmt = job->writer->stmt;

    bind_part(stmt[PDR_SQL_REMOVE_PART], plan, part, key);
    for (size_t i = 0; i < PDR_COUNT(both); i++) {
        bind_part(stmt[both[i]], plan, part, key);
        bind_digest(stmt[both[i]], 4, digest);
        pdr__bind_text(stmt[both[i]], 5, body);
    }
    return set_or_remove(job, body.ptr == NULL, PDR_SQL_SET_PART,
                         PDR_SQL_ADD_PART, PDR_SQL_REMOVE_PART, moved);
}

static pdr_rc write_slots(struct pdr__job *job, const pdr_plan *plan,
                          int64_t *moved)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < plan->edit->slot_count && rc == PDR_OK; i++) {
        const pdr_slot *slot = &plan->edit->slots[i];

        rc = write_part(job, plan, PDR_SQLITE_SLOTS, slot->key, slot->value,
                        plan->seals->slots[i], moved);
    }
    return rc;
}

static pdr_rc write_frame(struct pdr__job *job, const pdr_plan *plan)
{
    int64_t moved = 0;

    if (plan->edit->frame.ptr == NULL)
        return PDR_OK;
    return write_part(job, plan, PDR_SQLITE_FRAME, PDR_LIT(""),
                      plan->edit->frame, plan->seals->frame, &moved);
}

static void bind_property(sqlite3_stmt *stmt, int64_t no,
                          const pdr_property *row, const pdr_digest digest)
{
    pdr__bind_int(stmt, 1, no);
    pdr__bind_text(stmt, 2, row->key);
    pdr__bind_text(stmt, 3, row->value);
    pdr__bind_text(stmt, 4, row->match);
    bind_digest(stmt, 5, digest);
}

static pdr_rc write_properties(struct pdr__job *job, const pdr_plan *plan,
                               int64_t *moved)
{
    sqlite3_stmt *const *stmt = job->writer->stmt;
    int64_t no = number_of(plan);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < plan->edit->property_count && rc == PDR_OK; i++) {
        const pdr_property *row = &plan->edit->properties[i];
        bool removes = row->value.ptr == NULL;

        if (removes) {
            pdr__bind_int(stmt[PDR_SQL_REMOVE_PROPERTY], 1, no);
            pdr__bind_text(stmt[PDR_SQL_REMOVE_PROPERTY], 2, row->key);
        } else {
            bind_property(stmt[PDR_SQL_SET_PROPERTY], no, row,
                          plan->seals->properties[i]);
            bind_property(stmt[PDR_SQL_ADD_PROPERTY], no, row,
                          plan->seals->properties[i]);
            pdr__bind_text(stmt[PDR_SQL_ADD_PROPERTY], 6, plan->ref.tenant);
            pdr__bind_text(stmt[PDR_SQL_ADD_PROPERTY], 7, plan->ref.id);
        }
        rc =
            set_or_remove(job, removes, PDR_SQL_SET_PROPERTY,
                          PDR_SQL_ADD_PROPERTY, PDR_SQL_REMOVE_PROPERTY, moved);
    }
    return rc;
}

/* --- the log ------------------------------------------------------------- */

static pdr_rc append(struct pdr__job *job, const pdr_plan *plan, size_t i,
                     bool is_completion)
{
    int code = SQLITE_OK;

    *job->dirty = true;
    code = pdr__pack_add(job->writer, plan, i, is_completion);
    return code == SQLITE_OK ? PDR_OK : pdr__job_failed(job, code);
}

static pdr_rc set_completion(struct pdr__job *job, const pdr_completion *row,
                             int64_t n)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_SET_COMPLETION];

    pdr__bind_int(stmt, 1, n);
    pdr__bind_int(stmt, 3, row->at_ms);
    pdr__bind_int(stmt, 4, (int64_t)row->first_seq);
    pdr__bind_int(stmt, 5, (int64_t)row->last_seq);
    pdr__bind_blob(stmt, 6, row->fingerprint.ptr, row->fingerprint.len);
    bind_digest(stmt, 7, row->digest);
    pdr__bind_text(stmt, 8, row->outcome);
    return change(job, PDR_SQL_SET_COMPLETION);
}

/* Entries from the beginning, and completions that were found. */
static pdr_rc cut_log(struct pdr__job *job, const pdr_plan *plan,
                      const struct pdr__found *found)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_CUT_LOG];
    uint64_t through = plan->edit->entries_through;
    pdr_rc rc = PDR_OK;

    for (size_t k = 0; k < plan->edit->drop_count && rc == PDR_OK; k++) {
        pdr__bind_int(job->writer->stmt[PDR_SQL_DROP_LOG], 1, found->drop[k]);
        rc = change(job, PDR_SQL_DROP_LOG);
    }
    if (rc != PDR_OK || !plan->cuts)
        return rc;
    pdr__bind_int(stmt, 1, number_of(plan));
    pdr__bind_int(stmt, 2, (int64_t)plan->now.first_seq);
    pdr__bind_int(stmt, 3, (int64_t)through);
    rc = change(job, PDR_SQL_CUT_LOG);
    if (rc == PDR_OK && (uint64_t)sqlite3_changes(job->writer->db) !=
                            through + 1 - plan->now.first_seq)
        rc = PDR_FAIL(&job->write->err, WRONG_COUNT, "%s",
                      "an entry is missing that the head counts; verify the "
                      "store and restore a backup");
    return rc;
}

static pdr_rc write_log(struct pdr__job *job, const pdr_plan *plan,
                        const struct pdr__found *found)
{
    pdr_rc rc = PDR_OK;

    for (size_t k = 0; k < plan->completion_count && rc == PDR_OK; k++) {
        int64_t n = found->completions[k];

        rc = n == 0 ? append(job, plan, k, true)
                    : set_completion(job, &plan->completions[k], n);
    }
    for (size_t i = 0; i < plan->edit->entry_count && rc == PDR_OK; i++)
        rc = append(job, plan, i, false);
    return rc;
}

/* --- the head ------------------------------------------------------------ */

static void bind_lists(sqlite3_stmt *stmt, const pdr_head *head)
{
    pdr__bind_int(stmt, 13, (int64_t)head->first_seq);
    pdr__bind_int(stmt, 14, (int64_t)head->next_seq);
    pdr__bind_int(stmt, 15, (int64_t)head->slots);
    pdr__bind_int(stmt, 16, (int64_t)head->properties);
    pdr__bind_int(stmt, 17, (int64_t)head->completions);
    pdr__bind_int(stmt, 18, (int64_t)head->journal_first);
    pdr__bind_int(stmt, 19, (int64_t)head->journal_next);
    pdr__bind_int(stmt, 20, (int64_t)head->stream_first);
    pdr__bind_int(stmt, 21, (int64_t)head->stream_next);
    pdr__bind_int(stmt, 22, (int64_t)head->inbox);
    pdr__bind_int(stmt, 23, (int64_t)head->inbox_next);
    pdr__bind_int(stmt, 24, (int64_t)pdr__head_flags(head));
}

static void bind_head(sqlite3_stmt *stmt, const pdr_head *head)
{
    pdr__bind_int(stmt, 1, (int64_t)head->epoch);
    pdr__bind_text(stmt, 2, head->ref.tenant);
    pdr__bind_text(stmt, 3, head->ref.id);
    pdr__bind_text(stmt, 4, head->agent);
    pdr__bind_text(stmt, 5, head->kind);
    pdr__bind_text(stmt, 6, head->schema_version);
    pdr__bind_text(stmt, 7, pdr_str_c(pdr__session_state_word(head->state)));
    pdr__bind_int(stmt, 8, (int64_t)head->revision);
    pdr__bind_int(stmt, 9, (int64_t)head->commits);
    pdr__bind_int(stmt, 10, head->created_ms);
    pdr__bind_int(stmt, 11, head->changed_ms);
    pdr__bind_time(stmt, 12, head->expiry_ms);
    bind_lists(stmt, head);
    pdr__bind_text(stmt, 25, head->lease.owner);
    pdr__bind_int(stmt, 26, (int64_t)head->lease.fence);
    pdr__bind_int(stmt, 27, head->lease.until_ms);
    bind_digest(stmt, 28, head->anchor);
    bind_digest(stmt, 29, head->chain);
    bind_digest(stmt, 30, head->digest);
}

/* The statement that names no indexed column in vain. */
static enum pdr__sqlite_sql head_statement(const pdr_plan *plan)
{
    if (plan->unseen)
        return PDR_SQL_PUT_UNSEEN;
    if (plan->creates || plan->shows)
        return PDR_SQL_ADD_HEAD;
    if (!pdr__edit_moves(plan->edit))
        return PDR_SQL_SET_HEAD_LIGHT;
    return plan->now.expiry_ms == plan->next.expiry_ms
               ? PDR_SQL_SET_HEAD
               : PDR_SQL_SET_HEAD_EXPIRY;
}

static pdr_rc write_head(struct pdr__job *job, const pdr_plan *plan)
{
    enum pdr__sqlite_sql which = head_statement(plan);

    if (!plan->changes_head)
        return PDR_OK;
    bind_head(job->writer->stmt[which], &plan->next);
    return change(job, which);
}

/* --- sessions that go ---------------------------------------------------- */

static pdr_rc run_for(struct pdr__job *job, enum pdr__sqlite_sql which,
                      uint64_t epoch)
{
    pdr__bind_int(job->writer->stmt[which], 1, (int64_t)epoch);
    return change(job, which);
}

/* All rows of a session, or as many as there is time for in this transaction: a
 * commit may remove many sessions. */
static int remove_rows(bool *is_empty, struct pdr__writer *writer,
                       uint64_t epoch)
{
    int64_t began_ms = pdr__monotonic_ms(pdr__clock_system());
    int64_t left_ms = PDR_SWEEP_MS - writer->removing_ms;
    uint64_t rows = 0;
    int code = pdr__sweep_rows(&rows, is_empty, writer, epoch, UINT64_MAX,
                               began_ms + left_ms);

    writer->removing_ms += pdr__monotonic_ms(pdr__clock_system()) - began_ms;
    return code;
}

/* All rows now; or the head to the unseen ones and the rows later (sweep.c), if
 * they are many or take long. */
static pdr_rc let_go(struct pdr__job *job, pdr_plan *plan, uint64_t epoch)
{
    int code = pdr__pack_flush(job->writer); /* may have rows of it */
    bool is_empty = false;
    pdr_rc rc = PDR_OK;

    if (code == SQLITE_OK && !plan->hides) {
        code = remove_rows(&is_empty, job->writer, epoch);
        plan->hides = !is_empty;
    }
    rc = code == SQLITE_OK ? PDR_OK : pdr__job_failed(job, code);
    if (rc == PDR_OK)
        rc = run_for(job, PDR_SQL_REMOVE_HEAD, epoch);
    if (rc == PDR_OK && plan->hides) {
        bind_head(job->writer->stmt[PDR_SQL_PUT_UNSEEN], &plan->gone);
        rc = change(job, PDR_SQL_PUT_UNSEEN);
    }
    return rc;
}

/* Operations that wait go over to the new one. */
static pdr_rc move_waiting(struct pdr__job *job, const pdr_plan *plan)
{
    sqlite3_stmt *stmt = job->writer->stmt[PDR_SQL_MOVE_WAITING];
    pdr_rc rc = PDR_OK;

    pdr__bind_int(stmt, 1, number_of(plan));
    pdr__bind_int(stmt, 2, (int64_t)plan->replaced.epoch);
    rc = change(job, PDR_SQL_MOVE_WAITING);
    if (rc == PDR_OK &&
        (uint64_t)sqlite3_changes(job->writer->db) != plan->replaced.inbox)
        rc = PDR_FAIL(&job->write->err, WRONG_COUNT, "%s",
                      "the inbox has not the rows that the head counts; verify "
                      "the store and restore a backup");
    return rc;
}

/* The new one has the number that it was staged under. */
static pdr_rc take_place(struct pdr__job *job, pdr_plan *plan)
{
    pdr_rc rc = run_for(job, PDR_SQL_REMOVE_UNSEEN, plan->next.epoch);

    if (rc == PDR_OK && plan->inherits)
        rc = move_waiting(job, plan);
    if (rc == PDR_OK && plan->replaces)
        rc = let_go(job, plan, plan->replaced.epoch);
    return rc;
}

/* --- one session --------------------------------------------------------- */

static pdr_rc remove_session(struct pdr__job *job, pdr_plan *plan)
{
    pdr_rc rc = pdr_plan_finish(plan, job->write, 0, 0, &job->write->err);

    return rc == PDR_OK ? let_go(job, plan, plan->now.epoch) : rc;
}

static pdr_rc write_session(struct pdr__job *job, pdr_plan *plan,
                            const struct pdr__found *found)
{
    int64_t slots = 0, properties = 0;
    pdr_rc rc = write_work(job, plan);

    if (rc == PDR_OK)
        rc = write_slots(job, plan, &slots);
    if (rc == PDR_OK)
        rc = write_properties(job, plan, &properties);
    if (rc == PDR_OK)
        rc = write_frame(job, plan);
    if (rc == PDR_OK)
        rc = cut_log(job, plan, found);
    if (rc == PDR_OK)
        rc = write_log(job, plan, found);
    if (rc == PDR_OK)
        rc = pdr_plan_finish(plan, job->write, slots, properties,
                             &job->write->err);
    if (rc == PDR_OK && plan->shows)
        rc = take_place(job, plan);
    return rc == PDR_OK ? write_head(job, plan) : rc;
}

/* --- one write ----------------------------------------------------------- */

static pdr_rc look_at_all(struct pdr__job *job, struct pdr__found **out)
{
    void *memory = NULL;
    size_t bytes = job->write->count * sizeof(**out);
    pdr_rc rc = pdr__arena_alloc(&memory, &job->writer->memory, bytes,
                                 &job->write->err);

    if (rc != PDR_OK)
        return rc;
    memset(memory, 0, bytes);
    *out = memory;
    for (size_t i = 0; i < job->write->count && rc == PDR_OK; i++)
        rc = pdr__look(job, &job->write->plans[i], &(*out)[i]);
    return rc;
}

pdr_rc pdr__write_rows(struct pdr__sqlite *store, pdr_write *write, bool *dirty,
                       int *code)
{
    struct pdr__job job = {store, &store->writer, write, dirty, SQLITE_OK};
    uint64_t number = store->writer.row.number;
    struct pdr__found *found = NULL;
    pdr_rc rc = look_at_all(&job, &found);

    for (size_t i = 0; i < write->count && rc == PDR_OK; i++) {
        pdr_plan *plan = &write->plans[i];

        rc = plan->removes ? remove_session(&job, plan)
                           : write_session(&job, plan, &found[i]);
    }
    if (rc != PDR_OK)
        store->writer.row.number = number; /* I2 */
    *code = job.code;
    return rc;
}
