/*
 * store_judge.c - compare a store, at rest, with what its writers were told.
 *
 * WHY  Each rule below is one that a reader of the store relies on. Rows name
 *      their deed, so most rules compare rows with rows; the oracles say which
 *      deeds must be there, may be there, and must not.
 *
 * RULES, cited below
 *   J1  The turns of a session are one line: each stands behind the one that
 *       its writer had seen, has both entries, and is there once. A writer's
 *       own turns come in its order.
 *   J2  The revision is the number of turns; an acknowledged one has the place
 *       that its writer was told.
 *   J3  Slots, properties, frame, journal and stream are those of the turns
 *       that the line says; completions are those of all deeds that are there.
 *   J4  The inbox holds what was added and not settled, nothing else.
 *   J5  In the line and in the journal, fences never go back. No fence was
 *       given twice. Who wrote under a fence was told the same one.
 *   J6  What was acknowledged is there, unless its session was removed. A
 *       removed epoch does not come back.
 *   J7  Of a deed with several parts, all are there or none.
 *   J8  The head counted at least the commits that were acknowledged, and at
 *       most those and the open ones.
 */
#include "store_judge.h"

#include <inttypes.h>

#define MAX_COMPLAINTS 12
#define MAX_WRITERS    64

struct trial {
    struct judgement *out;
    const struct view *view;
    struct oracle *oracles;
    size_t count;
    size_t complaints;
    unsigned session; /* under judgement */
    const struct view_session *now;
    unsigned char *gone; /* for each epoch: was it removed? */
    uint64_t epochs;     /* room in `gone` */
};

enum { NOT_GONE, MAY_BE_GONE, IS_GONE };

size_t judgement_sum(const struct judgement *judgement)
{
    return judgement->lost + judgement->doubled + judgement->forked +
           judgement->half + judgement->ghosts;
}

static void complain(struct trial *trial, size_t *count, deed_id id,
                     const char *what)
{
    const struct judgement *out = trial->out;
    char name[DEED_TEXT];

    *count += 1;
    if (trial->complaints++ >= MAX_COMPLAINTS)
        return;
    fprintf(stderr, "%s: s%u, deed %s: %s\n",
            count == &out->lost      ? "lost"
            : count == &out->doubled ? "doubled"
            : count == &out->forked  ? "forked"
            : count == &out->half    ? "half"
                                     : "ghost",
            trial->session, deed_text(name, id), what);
}

/* --- deeds -----------------------------------------------------------------
 */

static struct deed *find_deed(const struct trial *trial, deed_id id)
{
    for (size_t i = 0; i < trial->count; i++)
        if (trial->oracles[i].writer == deed_writer(id))
            return deed_n(id) >= 1 && deed_n(id) <= trial->oracles[i].count
                       ? &trial->oracles[i].deeds[deed_n(id) - 1]
                       : NULL;
    return NULL;
}

static bool is_certain(const struct deed *deed)
{
    return deed->state == DEED_DONE || deed->state == DEED_FOUND;
}

/* Does the part belong to the session as it is now? A part that was to make it
 * has no epoch yet. */
static bool is_now(const struct deed_part *part, const struct view_session *now)
{
    return now->is_there && (part->epoch == now->epoch || part->epoch == 0);
}

/* The part of a deed that a row of this session names; NULL with a complaint if
 * no such row may be here. */
static struct deed_part *find_part(struct trial *trial, deed_id id)
{
    struct deed *deed = find_deed(trial, id);
    struct deed_part *part = NULL;

    if (deed != NULL)
        part = deed_part_in(deed, trial->session);
    if (part == NULL)
        complain(trial, &trial->out->ghosts, id, "nobody asked for it here");
    else if (deed->state == DEED_REFUSED)
        complain(trial, &trial->out->ghosts, id, "refused, and it is there");
    else if (!is_now(part, trial->now))
        complain(trial, &trial->out->doubled, id, "it is of another epoch");
    else
        return part;
    return NULL;
}

/* For each part of each deed. */
static void each_part(struct trial *trial,
                      void (*fn)(struct trial *trial, struct deed *deed,
                                 struct deed_part *part))
{
    for (size_t i = 0; i < trial->count; i++)
        for (size_t k = 0; k < trial->oracles[i].count; k++) {
            struct deed *deed = &trial->oracles[i].deeds[k];
            for (size_t p = 0; p < deed->part_count; p++) {
                trial->session = deed->parts[p].session;
                trial->now = &trial->view->sessions[trial->session];
                fn(trial, deed, &deed->parts[p]);
            }
        }
}

static void clear_part(struct trial *trial, struct deed *deed,
                       struct deed_part *part)
{
    (void)deed;
    memset(&part->seen, 0, sizeof(part->seen));
    if (part->epoch >= trial->epochs)
        trial->epochs = part->epoch + 1;
}

static void mark_removed(struct trial *trial, struct deed *deed,
                         struct deed_part *part)
{
    if (deed->kind != DEED_REMOVE || deed->state == DEED_REFUSED)
        return;
    trial->gone[part->epoch] = deed->state == DEED_DONE ? IS_GONE : MAY_BE_GONE;
}

/* --- the line (J1, J2, J5) --------------------------------------------------
 */

/* What a walk along the line knows so far. */
struct line {
    deed_id last;
    size_t turns;
    uint64_t fence;
    unsigned of_writer[MAX_WRITERS]; /* its last number in the line */
};

static void judge_turn(struct trial *trial, struct line *line,
                       const struct view_row *row)
{
    struct judgement *out = trial->out;
    const struct note *note = &row->note;
    struct deed_part *part = find_part(trial, note->id);
    const struct deed *deed = find_deed(trial, note->id);
    unsigned writer = deed_writer(note->id) % MAX_WRITERS;

    if (note->after != line->last)
        complain(trial, &out->forked, note->id,
                 "it does not stand behind what its writer saw");
    line->turns++;
    line->last = note->id;
    if (note->fence > 0 && note->fence < line->fence)
        complain(trial, &out->forked, note->id, "its lease was lost before");
    if (note->fence > 0)
        line->fence = note->fence;
    if (part == NULL)
        return;
    if (part->seen.line > 0)
        complain(trial, &out->doubled, note->id, "it stands twice in the line");
    else if (deed_n(note->id) <= line->of_writer[writer])
        complain(trial, &out->forked, note->id, "before an earlier deed");
    line->of_writer[writer] = deed_n(note->id);
    part->seen.line = line->turns;
    part->seen.queued = note->inbox > 0;
    if (deed->state == DEED_DONE &&
        (part->revision != line->turns || part->first_seq != row->n))
        complain(trial, &out->forked, note->id,
                 "it has another place than its writer was told");
}

/* The two entries of each turn stand side by side. */
static void judge_line(struct trial *trial, struct line *line)
{
    const struct view_rows *entries = &trial->now->entries;
    size_t i = 0;

    while (i < entries->count) {
        const struct view_row *row = &entries->rows[i];
        if (row->note.part != 0) {
            complain(trial, &trial->out->half, row->note.id,
                     "a response without its request");
            i++;
            continue;
        }
        judge_turn(trial, line, row);
        if (i + 1 == entries->count || row[1].note.id != row->note.id ||
            row[1].note.part != 1 || row[1].n != row->n + 1) {
            complain(trial, &trial->out->half, row->note.id,
                     "a request without its response");
            i++;
            continue;
        }
        i += 2;
    }
    if (line->turns != trial->now->revision ||
        (entries->count > 0 &&
         trial->now->next_seq != entries->rows[entries->count - 1].n + 1))
        complain(trial, &trial->out->forked, line->last,
                 "the head has another revision or end than the line");
}

/* --- what goes with a turn (J3) ---------------------------------------------
 */

static const struct note *last_note(const struct trial *trial)
{
    const struct view_rows *entries = &trial->now->entries;

    return entries->count > 0 ? &entries->rows[entries->count - 1].note : NULL;
}

/* Slots and properties: one of the last turn, one of each writer's last. */
static void judge_named(struct trial *trial, const struct line *line,
                        const struct view_rows *rows)
{
    size_t writers = 0;

    for (size_t i = 0; i < MAX_WRITERS; i++)
        writers += line->of_writer[i] > 0;
    if (rows->count != writers + 1)
        complain(trial, &trial->out->half, line->last,
                 "slots or properties of another number");
    for (size_t i = 0; i < rows->count; i++) {
        const struct view_row *row = &rows->rows[i];
        deed_id wanted = line->last;
        if (row->key != 0)
            wanted = deed_id_of((unsigned)row->key,
                                line->of_writer[row->key % MAX_WRITERS]);
        if (row->note.id != wanted)
            complain(trial, &trial->out->half, row->note.id,
                     "a slot or property of another turn than the last");
    }
}

static void judge_stream(struct trial *trial)
{
    const struct view_rows *rows = &trial->now->stream;
    const struct note *last = last_note(trial);

    if (last == NULL)
        return;
    if (rows->count != last->stream)
        complain(trial, &trial->out->half, last->id,
                 "another number of stream rows than the last turn added");
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].note.id != last->id || rows->rows[i].note.part != i)
            complain(trial, &trial->out->half, rows->rows[i].note.id,
                     "a stream row of another turn than the last");
}

static void judge_journal_row(struct trial *trial, const struct view_row *row)
{
    const struct deed_part *part = find_part(trial, row->note.id);
    const struct deed *deed = find_deed(trial, row->note.id);

    if (part == NULL)
        return;
    if (deed->state == DEED_DONE && part->journal_n + row->note.part != row->n)
        complain(trial, &trial->out->forked, row->note.id,
                 "a journal row has another number than was told");
    if (deed->kind == DEED_TURN && part->seen.line == 0)
        complain(trial, &trial->out->half, row->note.id,
                 "a journal row without its turn");
}

static void judge_journal(struct trial *trial)
{
    const struct view_session *now = trial->now;
    const struct note *last = last_note(trial);
    uint64_t fence = 0;
    size_t of_last = 0;

    if (last == NULL)
        return;
    if (now->journal_first != last->through + 1 ||
        now->journal_next != now->journal_first + now->journal.count)
        complain(trial, &trial->out->half, last->id,
                 "the last turn and the journal do not fit");
    for (size_t i = 0; i < now->journal.count; i++) {
        const struct view_row *row = &now->journal.rows[i];
        judge_journal_row(trial, row);
        of_last += row->note.id == last->id;
        if (row->n != now->journal_first + i)
            complain(trial, &trial->out->lost, row->note.id,
                     "a journal row before it is missing");
        if (row->note.fence > 0 && row->note.fence < fence)
            complain(trial, &trial->out->forked, row->note.id,
                     "its lease was lost before");
        if (row->note.fence > 0)
            fence = row->note.fence;
    }
    if (of_last != last->journal)
        complain(trial, &trial->out->half, last->id,
                 "another number of journal rows than the last turn added");
}

static void judge_completion(struct trial *trial, const struct view_row *row)
{
    struct deed_part *part = find_part(trial, row->key);
    const struct deed *deed = find_deed(trial, row->key);
    const struct view_rows *entries = &trial->now->entries;

    if (part == NULL)
        return;
    part->seen.completions++;
    if (deed->kind == DEED_ENQUEUE)
        part->seen.queued = true;
    if (row->ended != (deed->kind == DEED_TURN))
        complain(trial, &trial->out->half, row->key, "an odd completion");
    if (deed->kind != DEED_TURN)
        return;
    for (size_t i = 0; i < entries->count; i++)
        if (entries->rows[i].n == row->n && row->last == row->n + 1 &&
            entries->rows[i].note.id == row->key)
            return;
    complain(trial, &trial->out->half, row->key,
             "a completion that does not point at its turn");
}

/* --- the inbox (J4) ----------------------------------------------------------
 */

static void judge_inbox(struct trial *trial)
{
    const struct view_session *now = trial->now;

    for (size_t i = 0; i < now->inbox.count; i++) {
        const struct view_row *row = &now->inbox.rows[i];
        struct deed_part *part = find_part(trial, row->note.id);
        const struct deed *deed = find_deed(trial, row->note.id);
        if (part == NULL)
            continue;
        part->seen.inbox++;
        if (deed->state == DEED_DONE && part->inbox_n != row->n)
            complain(trial, &trial->out->forked, row->note.id,
                     "an inbox row has another number than was told");
    }
    for (size_t i = 0; i < now->entries.count; i++) {
        const struct note *note = &now->entries.rows[i].note;
        struct deed_part *part = NULL;
        if (note->part != 0 || note->settles == 0)
            continue;
        part = find_part(trial, note->settles);
        if (part != NULL)
            part->seen.settled++;
    }
}

/* --- leases (J5)
 * -------------------------------------------------------------- */

/* The deed that took the lease of the session as it is now, if a writer was
 * told of it; and whether it was, or may have been, given back. */
struct holder {
    const struct deed *taken;
    uint64_t highest; /* fence that a writer was told of */
    bool released, may_be_released;
};

static void find_holder(struct trial *trial, struct holder *out,
                        const struct deed *deed, const struct deed_part *part)
{
    if (part->session != trial->session || part->epoch != trial->now->epoch)
        return;
    if (deed->kind == DEED_TAKE && deed->state == DEED_DONE) {
        if (part->fence > out->highest)
            out->highest = part->fence;
        if (part->fence == trial->now->fence)
            out->taken = deed;
    }
    if (deed->kind == DEED_RELEASE && part->asked == trial->now->fence) {
        out->released |= deed->state == DEED_DONE;
        out->may_be_released |= deed->state == DEED_OPEN;
    }
}

static void judge_lease(struct trial *trial)
{
    const struct view_session *now = trial->now;
    struct holder holder = {0};

    for (size_t i = 0; i < trial->count; i++)
        for (size_t k = 0; k < trial->oracles[i].count; k++) {
            const struct deed *deed = &trial->oracles[i].deeds[k];
            for (size_t p = 0; p < deed->part_count; p++)
                find_holder(trial, &holder, deed, &deed->parts[p]);
        }
    if (now->fence < holder.highest)
        complain(trial, &trial->out->lost, now->owner,
                 "the fence is lower than one that was given");
    if (now->owner != 0 && find_part(trial, now->owner) == NULL)
        return;
    if (now->owner != 0 && holder.released)
        complain(trial, &trial->out->lost, now->owner,
                 "a lease that was given back is held");
    if (holder.taken == NULL || holder.released)
        return;
    if (now->owner == 0 && !holder.may_be_released)
        complain(trial, &trial->out->lost, holder.taken->id,
                 "a lease that was taken is free");
    if (now->owner != 0 && now->owner != holder.taken->id)
        complain(trial, &trial->out->forked, now->owner,
                 "one fence, and two who took it");
}

static void judge_asked(struct trial *trial, struct deed *deed,
                        struct deed_part *part)
{
    if (deed->state == DEED_DONE && deed->kind != DEED_RELEASE &&
        part->asked != 0 && part->fence != part->asked)
        complain(trial, &trial->out->forked, deed->id,
                 "acknowledged to a writer that had lost the lease");
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* No fence was given twice, over the whole store. */
static void judge_fences(struct trial *trial)
{
    uint64_t *fences = NULL;
    size_t count = 0, cap = 0;

    for (size_t i = 0; i < trial->count; i++)
        cap += trial->oracles[i].count;
    fences = calloc(cap + 1, sizeof(*fences));
    ASSERT(fences != NULL);
    for (size_t i = 0; i < trial->count; i++)
        for (size_t k = 0; k < trial->oracles[i].count; k++) {
            const struct deed *deed = &trial->oracles[i].deeds[k];
            if (deed->kind == DEED_TAKE && deed->state == DEED_DONE)
                fences[count++] = deed->parts[0].fence;
        }
    qsort(fences, count, sizeof(*fences), by_number);
    for (size_t i = 1; i < count; i++)
        if (fences[i] == fences[i - 1])
            complain(trial, &trial->out->forked, 0, "a fence was given twice");
    free(fences);
}

/* --- all
 * ---------------------------------------------------------------------- */

static void judge_session(struct trial *trial)
{
    const struct view_session *now = trial->now;
    struct line line = {0};

    if (!now->is_there)
        return;
    if (now->epoch < trial->epochs && trial->gone[now->epoch] == IS_GONE)
        complain(trial, &trial->out->lost, 0, "a removal: it is there again");
    judge_line(trial, &line);
    if (now->entries.count > 0 && now->frame != now->entries.rows[0].note.id)
        complain(trial, &trial->out->half, now->frame, "another's frame");
    judge_named(trial, &line, &now->slots);
    judge_named(trial, &line, &now->properties);
    judge_stream(trial);
    for (size_t i = 0; i < now->completions.count; i++)
        judge_completion(trial, &now->completions.rows[i]);
    judge_journal(trial);
    judge_inbox(trial);
    judge_lease(trial);
}

static bool has_completion(const struct deed *deed)
{
    return deed->kind == DEED_TURN || deed->kind == DEED_ENQUEUE ||
           deed->kind == DEED_STEP;
}

/* Is the journal row of a step there, unless a turn removed it? */
static bool has_step(const struct view_session *now, uint64_t n, deed_id id)
{
    if (n < now->journal_first)
        return true;
    return n - now->journal_first < now->journal.count &&
           now->journal.rows[n - now->journal_first].note.id == id;
}

static bool is_in_a_line(const struct deed *deed)
{
    for (size_t i = 0; i < deed->part_count; i++)
        if (deed->parts[i].seen.line > 0)
            return true;
    return false;
}

/* Is what was acknowledged there (J6), and in all its parts (J7)? */
static void judge_part(struct trial *trial, struct deed *deed,
                       struct deed_part *part)
{
    struct judgement *out = trial->out;
    bool is_removed = part->epoch != 0 && trial->gone[part->epoch] != NOT_GONE;

    if (!is_certain(deed) || deed->kind == DEED_REMOVE)
        return;
    if (!is_now(part, trial->now)) {
        if (!is_removed)
            complain(trial, &out->lost, deed->id, "with its session");
        return;
    }
    if (deed->kind == DEED_TURN && part->seen.line == 0)
        complain(trial, is_in_a_line(deed) ? &out->half : &out->lost, deed->id,
                 "it was acknowledged");
    else if (has_completion(deed) && part->seen.completions == 0)
        complain(trial, &out->lost, deed->id, "its completion");
    if (deed->kind == DEED_STEP && deed->state == DEED_DONE &&
        !has_step(trial->now, part->journal_n, deed->id))
        complain(trial, &out->lost, deed->id, "its journal row");
}

/* Rows of the deed that are there without each other (J3, J4). */
static void judge_rows(struct trial *trial, struct deed *deed,
                       struct deed_part *part)
{
    struct judgement *out = trial->out;

    if (!is_now(part, trial->now) || deed->state == DEED_REFUSED)
        return;
    if (deed->kind == DEED_TURN &&
        (part->seen.line > 0) != (part->seen.completions > 0))
        complain(trial, &out->half, deed->id, "its turn or its completion");
    if (part->seen.completions > 1 || part->seen.inbox > 1 ||
        part->seen.settled > 1)
        complain(trial, &out->doubled, deed->id, "a row of it");
    if (part->seen.inbox + part->seen.settled != (part->seen.queued ? 1u : 0u))
        complain(trial, part->seen.queued ? &out->lost : &out->half, deed->id,
                 "its inbox row");
}

/* An open deed of several parts: all that can be there, or none (J7). */
static void judge_open(struct trial *trial, struct deed *deed)
{
    size_t there = 0, alive = 0;

    for (size_t i = 0; i < deed->part_count; i++) {
        const struct deed_part *part = &deed->parts[i];
        if (!is_now(part, &trial->view->sessions[part->session]))
            continue;
        alive++;
        there += part->seen.line > 0;
    }
    if (there != 0 && there != alive)
        complain(trial, &trial->out->half, deed->id,
                 "not in all of its sessions");
}

static void count_commits(struct trial *trial, size_t *sure, size_t *open)
{
    for (size_t i = 0; i < trial->count; i++)
        for (size_t k = 0; k < trial->oracles[i].count; k++) {
            struct deed *deed = &trial->oracles[i].deeds[k];
            const struct deed_part *part = deed_part_in(deed, trial->session);
            if (part == NULL || !is_now(part, trial->now))
                continue;
            *sure += is_certain(deed) && deed->kind != DEED_REMOVE;
            *open += deed->state == DEED_OPEN;
        }
}

/* J8 */
static void judge_commits(struct trial *trial)
{
    size_t sure = 0, open = 0;

    if (!trial->now->is_there)
        return;
    count_commits(trial, &sure, &open);
    if (trial->now->commits < sure)
        complain(trial, &trial->out->lost, 0, "the head counted fewer commits");
    else if (trial->now->commits > sure + open)
        complain(trial, &trial->out->ghosts, 0,
                 "the head counted more commits");
}

void store_judge(struct judgement *out, const struct view *view,
                 struct oracle *oracles, size_t count)
{
    struct trial trial = {
        .out = out, .view = view, .oracles = oracles, .count = count};

    memset(out, 0, sizeof(*out));
    each_part(&trial, clear_part);
    trial.gone = calloc(trial.epochs + 1, 1);
    ASSERT(trial.gone != NULL);
    each_part(&trial, mark_removed);
    for (unsigned i = 0; i < DEED_SESSIONS; i++) {
        trial.session = i;
        trial.now = &view->sessions[i];
        judge_session(&trial);
        judge_commits(&trial);
    }
    each_part(&trial, judge_asked);
    each_part(&trial, judge_part);
    each_part(&trial, judge_rows);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < oracles[i].count; k++)
            if (oracles[i].deeds[k].state == DEED_OPEN)
                judge_open(&trial, &oracles[i].deeds[k]);
    judge_fences(&trial);
    free(trial.gone);
}
