/*
 * store_work.c - commits of every kind, and what must be there afterwards.
 *
 * Steps are made from what the oracle holds, so that one that is made again
 * after a failure is the same. All stores give the same numbers (revisions,
 * epochs, fences) for the same commits, so the same edits fit both.
 */
#include "store_work.h"

#include <inttypes.h>
#include <unistd.h>

#include "room.h"
#include "store_step.h"

#define MEMORY    ((size_t)256 * 1024)
#define BEGIN_MS  INT64_C(1700000000000)
#define BIG_BYTES 20000u

/* Sessions at work. */
#define ANNA "anna"
#define BERT "@dafx-bert@7"
#define CARL "carl"
#define DORA "dora"
#define EMIL "emil" /* comes in several commits */

/* Rows that a commit does not remove: more than PDR_REMOVE_ROWS. */
#define LONG_ROWS 1001u

enum kind {
    MAKE,        /* a session with properties */
    TURN,        /* the usual one */
    BIG_TURN,    /* one that fills several pages */
    FENCED_TURN, /* under the lease */
    WORK,        /* rows of work */
    SETTLE,      /* and away with them */
    FRAME,       /* a frame, a state, an expiry */
    UNSET,       /* slot and property removed, expiry cleared */
    TAKE,        /* the lease */
    RENEW,
    RELEASE,
    LATE,      /* of a writer that read an old revision: refused */
    OLD_FENCE, /* of a writer whose lease was taken: refused */
    AGAIN,     /* a correlation id that has ended: refused */
    REMOVE,
    STAGE,      /* a session that no reader sees */
    STAGE_MORE, /* more of it */
    SHOW,       /* and there it is, in the place of the one before */
    SHOW_LATE,  /* over a session that has changed: refused */
    ABANDON,    /* nobody will show it */
    CUT,        /* a turn, and the first ones go */
    LONG,       /* so many rows that they are removed in steps */
    PAIR,       /* one commit on two sessions */
    GROUP,      /* several commits at once, one of them late, one fenced */
    REOPEN,     /* a turn behind a close */
    COPIED      /* a turn behind a checkpoint */
};

static const struct {
    enum kind kind;
    const char *id;
} plan[] = {
    {MAKE, ANNA},     {TURN, ANNA},        {MAKE, BERT},
    {WORK, BERT},     {TURN, BERT},        {SETTLE, BERT},
    {LATE, ANNA},     {TAKE, ANNA},        {MAKE, CARL},
    {GROUP, ANNA},    {FENCED_TURN, ANNA}, {REOPEN, ANNA},
    {BIG_TURN, CARL}, {RENEW, ANNA},       {FRAME, CARL},
    {MAKE, DORA},     {PAIR, BERT},        {AGAIN, ANNA},
    {COPIED, DORA},   {REMOVE, DORA},      {GROUP, BERT},
    {TAKE, ANNA},     {OLD_FENCE, ANNA},   {MAKE, DORA},
    {WORK, CARL},     {REOPEN, CARL},      {UNSET, ANNA},
    {RELEASE, ANNA},  {SETTLE, CARL},      {COPIED, DORA},
    {BIG_TURN, DORA}, {GROUP, CARL},       {REMOVE, BERT},
    {PAIR, ANNA},     {REOPEN, DORA},      {TURN, CARL},
    {STAGE, EMIL},    {STAGE_MORE, EMIL},  {REOPEN, CARL},
    {SHOW, EMIL},     {WORK, EMIL},        {CUT, ANNA},
    {STAGE, EMIL},    {SHOW_LATE, EMIL},   {STAGE_MORE, EMIL},
    {COPIED, CARL},   {SHOW, EMIL},        {LONG, EMIL},
    {STAGE, EMIL},    {SHOW, EMIL},        {TURN, EMIL},
    {LONG, EMIL},     {REMOVE, EMIL},      {TURN, CARL},
    {STAGE, EMIL},    {ABANDON, EMIL},     {STAGE, EMIL},
    {REOPEN, ANNA},
};

size_t work_steps(void)
{
    return sizeof(plan) / sizeof(plan[0]);
}

/* --- a step's memory -----------------------------------------------------
 */

static void *step_memory(struct work_step *step, size_t size)
{
    void *memory = step->memory + step->used;

    step->used += (size + 15) / 16 * 16;
    ASSERT(step->used <= MEMORY);
    return memory;
}

__attribute__((format(printf, 2, 3))) static pdr_str step_text(
    struct work_step *step, const char *format, ...)
{
    char *text = step->memory + step->used;
    va_list args;
    int len = 0;

    va_start(args, format);
    len = vsnprintf(text, MEMORY - step->used, format, args);
    va_end(args);
    ASSERT(len >= 0);
    return pdr_str_n(step_memory(step, (size_t)len + 1), (size_t)len);
}

static pdr_edit *step_edit(struct work_step *step, size_t count,
                           pdr_rc expected)
{
    pdr_request *request = &step->requests[step->count];
    pdr_edit *edits = step_memory(step, count * sizeof(*edits));

    request->edits = edits;
    request->count = count;
    request->options.now_ms = BEGIN_MS + (int64_t)step->n * 1000;
    request->committed = step_memory(step, count * sizeof(*request->committed));
    step->expected[step->count++] = expected;
    return edits;
}

/* --- edits -----------------------------------------------------------------
 */

/* The head as the oracle has it; without a revision if there is none. */
static pdr_head head_of(const struct work *work, const char *id)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref.id = pdr_str_c(id)};
    pdr_page *page = NULL;
    pdr_head head;

    memset(&head, 0, sizeof(head));
    if (pdr_store_read(&page, work->oracle, &query, NULL) == PDR_OK)
        head = page->head;
    pdr_page_free(page);
    head.ref.id = pdr_str_c(id); /* what the page had is gone */
    return head;
}

static void set_base(pdr_edit *edit, const pdr_head *head)
{
    edit->ref.id = head->ref.id;
    edit->revision = head->revision;
    edit->epoch = head->epoch;
}

static void set_new(struct work_step *step, pdr_edit *edit,
                    const pdr_head *head)
{
    pdr_property *properties = step_memory(step, 2 * sizeof(*properties));

    set_base(edit, head);
    edit->agent = pdr_str_c("writer");
    edit->kind = pdr_str_c("client");
    edit->schema_version = pdr_str_c("1.1.0");
    properties[0].key = pdr_str_c("colour");
    properties[0].value = step_text(step, "\"blue %zu\"", step->n);
    properties[0].match = step_text(step, "blue %zu", step->n);
    properties[1].key = pdr_str_c("plain");
    properties[1].value = pdr_str_c("[1,2]");
    edit->properties = properties;
    edit->property_count = 2;
}

/* Request and response, a slot, an expiry, a completion with its outcome. */
static void set_turn(struct work_step *step, pdr_edit *edit,
                     const pdr_head *head, size_t bytes)
{
    pdr_entry *entries = step_memory(step, 2 * sizeof(*entries));
    pdr_slot *slot = step_memory(step, sizeof(*slot));
    pdr_completion *completion = step_memory(step, sizeof(*completion));

    set_base(edit, head);
    for (size_t i = 0; i < 2; i++) {
        entries[i].kind = i == 0 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE;
        entries[i].created_ms = BEGIN_MS + (int64_t)(step->n * 10 + i);
        entries[i].correlation_id = step_text(step, "turn-%zu", step->n);
        entries[i].body = step_text(step, "{\"step\":%zu,\"text\":\"%0*zu\"}",
                                    step->n, (int)bytes, step->n * 7 + i);
    }
    slot->key = pdr_str_c("memory");
    slot->value = step_text(step, "{\"n\":\"%0300zu\"}", step->n);
    completion->correlation_id = entries[0].correlation_id;
    completion->fingerprint = step_text(step, "%032zu", step->n);
    completion->outcome = step_text(step, "{\"ended\":%zu}", step->n);
    edit->entries = entries;
    edit->entry_count = 2;
    edit->slots = slot;
    edit->slot_count = 1;
    edit->completions = completion;
    edit->completion_count = 1;
    edit->expiry = PDR_EXPIRY_SET;
    edit->expiry_ms = BEGIN_MS + (int64_t)(1000000 + step->n);
}

static const pdr_work *some_work(struct work_step *step, const char *kind,
                                 size_t count, int64_t due_ms)
{
    pdr_work *rows = step_memory(step, count * sizeof(*rows));

    for (size_t i = 0; i < count; i++) {
        rows[i].kind = pdr_str_c(kind);
        rows[i].due_ms = due_ms;
        rows[i].body = step_text(step, "{\"%s\":\"%0200zu\"}", kind, i);
    }
    rows[0].correlation_id = step_text(step, "work-%zu", step->n);
    return rows;
}

static void set_work(struct work_step *step, pdr_edit *edit,
                     const pdr_head *head)
{
    set_base(edit, head);
    edit->revision = PDR_ANY_REVISION;
    edit->journal = some_work(step, "model", 3, PDR_NEVER);
    edit->journal_count = 3;
    edit->stream = some_work(step, "delta", 2, PDR_NEVER);
    edit->stream_count = 2;
    edit->inbox = some_work(step, "run", 2, BEGIN_MS + 5);
    edit->inbox_count = 2;
}

static void set_settled(struct work_step *step, pdr_edit *edit,
                        const pdr_head *head)
{
    uint64_t *settle = step_memory(step, sizeof(*settle));

    set_turn(step, edit, head, 300);
    *settle = head->inbox_next - 1;
    edit->settle = settle;
    edit->settle_count = 1;
    edit->journal_through = head->journal_next - 1;
    edit->stream_through = head->stream_next - 2;
    edit->journal = some_work(step, "tool", 2, PDR_NEVER);
    edit->journal_count = 2;
}

static void set_frame(struct work_step *step, pdr_edit *edit,
                      const pdr_head *head)
{
    set_base(edit, head);
    edit->frame = step_text(step, "{\"frame\":%zu}", step->n);
    edit->schema_version = step_text(step, "1.%zu.0", step->n);
    edit->set_state = edit->set_ttl = true;
    edit->state = PDR_SESSION_WAITING;
}

static void set_unset(struct work_step *step, pdr_edit *edit,
                      const pdr_head *head)
{
    pdr_slot *slot = step_memory(step, sizeof(*slot));
    pdr_property *property = step_memory(step, sizeof(*property));

    set_base(edit, head);
    slot->key = pdr_str_c("memory");
    property->key = pdr_str_c("colour");
    edit->slots = slot;
    edit->slot_count = 1;
    edit->properties = property;
    edit->property_count = 1;
    edit->expiry = PDR_EXPIRY_CLEAR;
}

static void set_lease(struct work_step *step, pdr_edit *edit,
                      const pdr_head *head, pdr_lease_verb verb)
{
    set_base(edit, head);
    edit->revision = PDR_ANY_REVISION;
    edit->lease.verb = verb;
    if (verb != PDR_LEASE_TAKE)
        edit->lease.fence = head->lease.fence;
    if (verb == PDR_LEASE_TAKE)
        edit->lease.owner = step_text(step, "worker %zu", step->n);
    /* Lapses at once, so that the next one may take it. */
    if (verb != PDR_LEASE_RELEASE)
        edit->lease.until_ms = BEGIN_MS + (int64_t)step->n * 1000 + 1;
}

/* Rows of a turn for what is staged. */
static void set_stage(struct work_step *step, pdr_edit *edit,
                      const pdr_head *head, const struct work *work,
                      pdr_stage_verb verb, bool late)
{
    struct store_step *staged = step_memory(step, sizeof(*staged));
    pdr_request *request = &step->requests[step->count - 1];

    set_turn(step, edit, head, 300);
    if (verb == PDR_STAGE_BEGIN)
        set_new(step, edit, head);
    *staged = (struct store_step){
        .stage = {.ref = edit->ref,
                  .epoch = verb == PDR_STAGE_BEGIN ? 0 : work->stage.epoch,
                  .until_ms = BEGIN_MS + 1000000000,
                  .agent = edit->agent,
                  .kind = edit->kind,
                  .schema_version = edit->schema_version},
        .rows = rows_of_edit(edit),
        .show = {.revision = head->revision,
                 .expiry = edit->expiry,
                 .expiry_ms = edit->expiry_ms}};
    request->count = 0; /* the edit stays, to be looked at */
    request->verb = verb;
    request->stage = &staged->stage;
    request->rows = &staged->rows;
    request->show = &staged->show;
    if (late)
        staged->show.revision++;
}

/* The completions of entries up to `through`. */
static void set_drop(struct work_step *step, pdr_edit *edit,
                     const struct work *work, uint64_t through)
{
    pdr_query query = {.what = PDR_READ_COMPLETIONS, .ref = edit->ref};
    pdr_page *page = NULL;
    pdr_completion *drop = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, work->oracle, &query, NULL));
    drop = step_memory(step, page->count * sizeof(*drop));
    for (size_t i = 0; i < page->count; i++) {
        const pdr_completion *row = &page->completions[i];

        if (row->last_seq > through)
            continue;
        drop[edit->drop_count].correlation_id =
            step_text(step, "%.*s", (int)row->correlation_id.len,
                      row->correlation_id.ptr);
        drop[edit->drop_count++].at_ms = row->at_ms;
    }
    edit->drop = drop;
    pdr_page_free(page);
}

static void set_cut(struct work_step *step, pdr_edit *edit,
                    const pdr_head *head, const struct work *work)
{
    set_turn(step, edit, head, 300);
    ASSERT(head->next_seq > head->first_seq + 4);
    edit->entries_through = head->next_seq - 3;
    set_drop(step, edit, work, edit->entries_through);
    ASSERT(edit->drop_count > 0);
}

static void set_long(struct work_step *step, pdr_edit *edit,
                     const pdr_head *head)
{
    pdr_work *rows = step_memory(step, LONG_ROWS * sizeof(*rows));

    set_base(edit, head);
    for (size_t i = 0; i < LONG_ROWS; i++) {
        rows[i].kind = pdr_str_c("m");
        rows[i].body = pdr_str_c("1");
    }
    edit->journal = rows;
    edit->journal_count = LONG_ROWS;
}

/* --- steps -----------------------------------------------------------------
 */

static void make_simple(struct work_step *step, const struct work *work,
                        const char *id, enum kind kind)
{
    pdr_head head = head_of(work, id);
    pdr_edit *edit = step_edit(step, 1, PDR_OK);

    if (kind == MAKE)
        set_new(step, edit, &head);
    else if (kind == WORK)
        set_work(step, edit, &head);
    else if (kind == SETTLE)
        set_settled(step, edit, &head);
    else if (kind == FRAME)
        set_frame(step, edit, &head);
    else if (kind == UNSET)
        set_unset(step, edit, &head);
    else if (kind == TAKE)
        set_lease(step, edit, &head, PDR_LEASE_TAKE);
    else if (kind == RENEW)
        set_lease(step, edit, &head, PDR_LEASE_RENEW);
    else if (kind == RELEASE)
        set_lease(step, edit, &head, PDR_LEASE_RELEASE);
    else
        set_turn(step, edit, &head, kind == BIG_TURN ? BIG_BYTES : 300);
    if (kind == FENCED_TURN)
        edit->lease.fence = head.lease.fence;
    step->is_turn = kind == TURN || kind == BIG_TURN || kind == FENCED_TURN ||
                    kind == SETTLE || kind == REOPEN || kind == COPIED;
    step->reopens = kind == REOPEN;
    step->copies = kind == COPIED;
}

static void make_other(struct work_step *step, const struct work *work,
                       const char *id, enum kind kind)
{
    pdr_head head = head_of(work, id);
    pdr_edit *edit =
        step_edit(step, 1, kind == SHOW_LATE ? PDR_ECONFLICT : PDR_OK);

    if (kind == STAGE)
        set_stage(step, edit, &head, work, PDR_STAGE_BEGIN, false);
    else if (kind == STAGE_MORE)
        set_stage(step, edit, &head, work, PDR_STAGE_ADD, false);
    else if (kind == SHOW || kind == SHOW_LATE)
        set_stage(step, edit, &head, work, PDR_STAGE_SHOW, kind == SHOW_LATE);
    else if (kind == ABANDON)
        set_stage(step, edit, &head, work, PDR_STAGE_ABANDON, false);
    else if (kind == CUT)
        set_cut(step, edit, &head, work);
    else
        set_long(step, edit, &head);
    step->is_turn = kind == CUT;
}

/* A turn that must be refused. */
static void add_refused(struct work_step *step, const pdr_head *head,
                        enum kind kind)
{
    pdr_edit *edit = step_edit(step, 1,
                               kind == LATE    ? PDR_ECONFLICT
                               : kind == AGAIN ? PDR_EEXISTS
                                               : PDR_EFENCED);
    pdr_completion *completion = step_memory(step, sizeof(*completion));

    set_turn(step, edit, head, 300);
    if (kind == LATE)
        edit->revision--;
    else if (kind == OLD_FENCE)
        edit->lease.fence =
            head->lease.fence > 1 ? head->lease.fence - 1 : UINT64_MAX;
    if (kind != AGAIN)
        return;
    *completion = edit->completions[0];
    completion->correlation_id = pdr_str_c("turn-1");
    edit->completions = completion;
}

static void make_refused(struct work_step *step, const struct work *work,
                         const char *id, enum kind kind)
{
    pdr_head head = head_of(work, id);

    add_refused(step, &head, kind);
}

static void make_removal(struct work_step *step, const struct work *work,
                         const char *id)
{
    pdr_head head = head_of(work, id);
    pdr_edit *edit = step_edit(step, 1, PDR_OK);

    set_base(edit, &head);
    edit->remove = true;
}

static const char *next_to(const char *id)
{
    static const char *const ids[] = {ANNA, BERT, CARL, ANNA, BERT};
    size_t i = 0;

    while (strcmp(ids[i], id) != 0)
        i++;
    return ids[i + 1];
}

/* Two sessions in one commit: both or none. */
static void make_pair(struct work_step *step, const struct work *work,
                      const char *id)
{
    const char *other = strcmp(id, ANNA) == 0 ? CARL : next_to(id);
    pdr_head first = head_of(work, id), second = head_of(work, other);
    pdr_edit *edits = step_edit(step, 2, PDR_OK);

    set_turn(step, &edits[0], &first, 300);
    set_frame(step, &edits[1], &second);
}

/* Each stands alone: what is refused in the middle does not touch the rest. */
static void make_group(struct work_step *step, const struct work *work,
                       const char *id)
{
    const char *other = next_to(id), *third = next_to(other);
    pdr_head heads[3] = {head_of(work, id), head_of(work, other),
                         head_of(work, third)};

    set_turn(step, step_edit(step, 1, PDR_OK), &heads[0], 400);
    add_refused(step, &heads[1], LATE);
    set_turn(step, step_edit(step, 1, PDR_OK), &heads[1], 100);
    add_refused(step, &heads[2], OLD_FENCE);
    set_frame(step, step_edit(step, 1, PDR_OK), &heads[2]);
}

void work_make(struct work_step *out, struct work *work)
{
    const char *id = plan[work->next].id;
    enum kind kind = plan[work->next].kind;

    memset(out, 0, sizeof(*out));
    out->n = work->next;
    out->memory = calloc(1, MEMORY);
    ASSERT(out->memory != NULL);
    if (kind == GROUP)
        make_group(out, work, id);
    else if (kind == PAIR)
        make_pair(out, work, id);
    else if (kind == REMOVE)
        make_removal(out, work, id);
    else if (kind >= STAGE && kind <= LONG)
        make_other(out, work, id, kind);
    else if (kind == LATE || kind == OLD_FENCE || kind == AGAIN)
        make_refused(out, work, id, kind);
    else
        make_simple(out, work, id, kind);
}

size_t work_possible(const struct work_step *step)
{
    size_t count = 0;

    for (size_t i = 0; i < step->count; i++)
        count += !step->done[i] && step->expected[i] == PDR_OK;
    return count;
}

/* --- trying ----------------------------------------------------------------
 */

static void add_state(struct work *work)
{
    pdr_err err = PDR_ERR_INIT;
    char *text = NULL;

    if (work->without_states)
        return;
    text = work_text(work->oracle, &err);
    if (text == NULL)
        fail_msg("the oracle cannot be read: %s", err.message);
    work->states =
        realloc(work->states, (work->commits + 1) * sizeof(*work->states));
    ASSERT(work->states != NULL);
    work->states[work->commits] = text;
    work->stages =
        realloc(work->stages, (work->commits + 1) * sizeof(*work->stages));
    ASSERT(work->stages != NULL);
    work->stages[work->commits] = work->stage;
}

/* What is staged after a commit. */
static void move_stage(struct work *work, const pdr_request *request,
                       const pdr_committed *done)
{
    if (request->verb == PDR_STAGE_SHOW || request->verb == PDR_STAGE_ABANDON)
        work->stage = (struct work_stage){0, 0};
    else if (request->verb != PDR_STAGE_NONE)
        work->stage = (struct work_stage){
            done->epoch, done->first_seq + request->rows->entry_count};
}

void work_accept(struct work *work, struct work_step *step, size_t i)
{
    const pdr_request *request = &step->requests[i];
    pdr_committed done[2];
    pdr_err err = PDR_ERR_INIT;

    ASSERT(request->count <= 2);
    if (commit_request(done, work->oracle, request, &err) != PDR_OK)
        fail_msg("step %zu: the oracle refuses it: %s", step->n, err.message);
    work->commits++;
    move_stage(work, request, &done[0]);
    add_state(work);
    step->done[i] = true;
}

/* Those that are not done, in one go. */
static void commit_rest(struct work_step *step, pdr_store *store)
{
    pdr_request rest[WORK_REQUESTS];
    size_t count = 0, k = 0;

    for (size_t i = 0; i < step->count; i++)
        if (!step->done[i])
            rest[count++] = step->requests[i];
    if (count == 0)
        return;
    if (step->count == 1)
        rest[0].rc =
            commit_request(rest[0].committed, store, &rest[0], &rest[0].err);
    else
        pdr_store_commit_all(store, rest, count);
    for (size_t i = 0; i < step->count; i++)
        if (!step->done[i])
            step->requests[i] = rest[k++];
}

static void count_refused(struct work *work, pdr_rc rc)
{
    if (rc == PDR_ECONFLICT || rc == PDR_EFENCED)
        work->conflicts++;
    else
        work->refusals++;
}

bool work_try(struct work *work, struct work_step *step, pdr_store *store)
{
    bool good = true;

    commit_rest(step, store);
    for (size_t i = 0; i < step->count; i++) {
        if (step->done[i])
            continue;
        if (step->requests[i].rc != step->expected[i]) {
            good = false;
        } else if (step->expected[i] == PDR_OK) {
            work_accept(work, step, i);
        } else {
            step->done[i] = true;
            count_refused(work, step->expected[i]);
        }
    }
    return good;
}

void work_end(struct work *work, struct work_step *step)
{
    free(step->memory);
    step->memory = NULL;
    work->next++;
}

void work_explain(const struct work_step *step)
{
    for (size_t i = 0; i < step->count; i++)
        if (!step->done[i])
            fail_msg("step %zu, commit %zu: expected %s, got %s: %s", step->n,
                     i, pdr_rc_name(step->expected[i]),
                     pdr_rc_name(step->requests[i].rc),
                     step->requests[i].err.message);
}

void work_all(struct work *work)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    while (work->next < work_steps()) {
        struct work_step step;
        work_make(&step, work);
        if (!work_try(work, &step, store))
            work_explain(&step);
        work_end(work, &step);
    }
    pdr_store_close(store);
}

/* So many commits have touched the session; 0: there is none. */
static bool commits_of(uint64_t *out, uint64_t *epoch, pdr_store *store,
                       pdr_str id, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref.id = id};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, err);

    *out = *epoch = 0;
    if (rc == PDR_OK) {
        *out = page->head.commits;
        *epoch = page->head.epoch;
    }
    pdr_page_free(page);
    return rc == PDR_OK || rc == PDR_ENOTFOUND;
}

/* --- what no read gives ----------------------------------------------------
 */

/* The number of the next entry of what is staged; 0: nothing is. */
static uint64_t staged_next(pdr_store *store, uint64_t epoch)
{
    const struct store_step step =
        step_of(EMIL, PDR_STAGE_ADD, epoch, BEGIN_MS + 1000000000);
    pdr_committed done;

    return commit_step(&done, store, &step, BEGIN_MS, NULL) == PDR_OK
               ? done.first_seq
               : 0;
}

bool work_is_staged(const struct work *work, size_t commits, pdr_store *store)
{
    const struct work_stage *stage = &work->stages[commits];

    return stage->epoch == 0 ||
           staged_next(store, stage->epoch) == stage->next_seq;
}

/* Sessions that no reader sees, but for those that are being cleared. */
static uint64_t unseen(pdr_store *store)
{
    pdr_store_info info;

    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, INT64_MIN, NULL));
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    return info.unseen;
}

static bool is_stage_there(const struct work *work, const pdr_request *request,
                           pdr_store *store)
{
    if (request->verb == PDR_STAGE_BEGIN)
        return unseen(store) != unseen(work->oracle);
    return staged_next(store, request->stage->epoch) != work->stage.next_seq;
}

bool work_is_there(const struct work *work, const struct work_step *step,
                   size_t i, pdr_store *store, pdr_err *err)
{
    const pdr_request *request = &step->requests[i];
    pdr_str id = request->edits[0].ref.id;
    uint64_t wanted = 0, found = 0, wanted_epoch = 0, found_epoch = 0;

    if (request->verb != PDR_STAGE_NONE && request->verb != PDR_STAGE_SHOW)
        return is_stage_there(work, request, store);
    return commits_of(&wanted, &wanted_epoch, work->oracle, id, err) &&
           commits_of(&found, &found_epoch, store, id, err) &&
           (wanted != found || wanted_epoch != found_epoch);
}

void work_init(struct work *work, bool states)
{
    memset(work, 0, sizeof(*work));
    work->without_states = !states;
    ASSERT_RC(PDR_OK, pdr_store_open(&work->oracle, "memory:", NULL));
    add_state(work);
}

void work_dispose(struct work *work)
{
    for (size_t i = 0; work->states != NULL && i <= work->commits; i++)
        free(work->states[i]);
    free(work->states);
    free(work->stages);
    pdr_store_close(work->oracle);
}

void work_room(struct room *room)
{
    static const char *const memory = "/dev/shm";

    if (getenv("TMPDIR") != NULL || access(memory, W_OK) != 0) {
        room_enter(room);
        return;
    }
    snprintf(room->path, sizeof(room->path), "%s/perdure-test.XXXXXX", memory);
    ASSERT(mkdtemp(room->path) != NULL);
}
