/* store_writer.c - a process that writes to a store until somebody kills it. */
#include "store_writer.h"

#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

#include "store_view.h"

#define MAX_TRIES 8
#define MAX_ROWS  3     /* of one kind in a turn */
#define MAX_PAD   30000 /* letters; makes the log grow */

const char *writer_uri(char out[WRITER_PATH], const char *folder,
                       const char *options)
{
    snprintf(out, WRITER_PATH, "sqlite:%s/store%s", folder, options);
    return out;
}

const char *writer_oracle(char out[WRITER_PATH], const char *folder,
                          unsigned writer)
{
    snprintf(out, WRITER_PATH, "%s/oracle-%u", folder, writer);
    return out;
}

pid_t writer_start(const struct writer_job *job)
{
    char numbers[5][24];
    const char *args[] = {job->folder, numbers[0], numbers[1], numbers[2],
                          numbers[3],  numbers[4], NULL};

    snprintf(numbers[0], sizeof(numbers[0]), "%u", job->first);
    snprintf(numbers[1], sizeof(numbers[1]), "%u", job->threads);
    snprintf(numbers[2], sizeof(numbers[2]), "%u", job->sessions);
    snprintf(numbers[3], sizeof(numbers[3]), "%u", job->deeds);
    snprintf(numbers[4], sizeof(numbers[4]), "%" PRIu64, job->seed);
    return process_start("store_writer", args);
}

/* --- in the child -----------------------------------------------------------
 */

/* One session of a deed on its way to the store. */
struct part {
    struct note note;
    char id[DEED_TEXT], correlation_id[DEED_TEXT], own[DEED_TEXT];
    uint64_t settle;
    pdr_entry entries[2];
    pdr_slot slots[2];
    pdr_property properties[2];
    pdr_completion completion;
    pdr_work journal[MAX_ROWS], stream[MAX_ROWS], inbox;
    char texts[MAX_ROWS][NOTE_TEXT + MAX_PAD]; /* of rows 0, 1, 2 */
    pdr_str bodies[MAX_ROWS];
};

struct writer {
    const struct writer_job *job;
    pdr_store *store;
    unsigned number;
    uint64_t random;
    struct oracle_file file;
    struct deed deed; /* at hand */
    struct part parts[DEED_PARTS];
    pdr_edit edits[DEED_PARTS];
    struct { /* that it holds, as far as it knows */
        bool is_held;
        unsigned session;
        uint64_t epoch, fence;
    } lease;
};

/* What it sees of a session before a deed. */
struct sight {
    bool is_there;
    uint64_t revision, epoch, entries, journal_next, stream_next;
    deed_id last;     /* turn */
    uint64_t inbox_n; /* of the first row of the inbox; 0: none */
    deed_id inbox_of;
};

/* The harness hears of it by the status. */
static void give_up(const struct writer *writer, const char *what,
                    const pdr_err *err)
{
    char name[DEED_TEXT];

    fprintf(stderr, "writer %u, deed %s: %s: %s (%s)\n", writer->number,
            deed_text(name, writer->deed.id), what,
            err != NULL ? err->message : "", err != NULL ? err->reason : "");
    _exit(4);
}

static bool chance(struct writer *writer, unsigned percent)
{
    return random_below(&writer->random, 100) < percent;
}

/* --- looking -----------------------------------------------------------------
 */

/* One page with at most one row; NULL if there is no such session. */
static pdr_page *peek(struct writer *writer, unsigned session,
                      pdr_read_what what)
{
    char id[DEED_TEXT];
    pdr_query query = {.what = what, .limit = 1};
    pdr_err err = PDR_ERR_INIT;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    query.ref.id = pdr_str_c(session_name(id, session));
    query.backwards = what == PDR_READ_ENTRIES;
    rc = pdr_store_read(&page, writer->store, &query, &err);
    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        give_up(writer, "cannot read", &err);
    return page;
}

static void see_head(struct writer *writer, struct sight *out,
                     const pdr_page *page)
{
    struct note note = {0};

    out->is_there = true;
    out->revision = page->head.revision;
    out->epoch = page->head.epoch;
    out->entries = page->head.next_seq - page->head.first_seq;
    out->journal_next = page->head.journal_next;
    out->stream_next = page->head.stream_next;
    if (page->count > 0 && !note_read(&note, page->entries[0].body))
        give_up(writer, "an entry is not as it was written", NULL);
    out->last = note.id;
}

/* Last entry and first inbox row, both of the same revision. */
static void look(struct writer *writer, struct sight *out, unsigned session)
{
    bool is_one_moment = false;

    while (!is_one_moment) {
        pdr_page *entries = peek(writer, session, PDR_READ_ENTRIES);
        pdr_page *inbox = NULL;
        struct note note = {0};
        memset(out, 0, sizeof(*out));
        if (entries == NULL)
            return;
        see_head(writer, out, entries);
        pdr_page_free(entries);
        inbox = peek(writer, session, PDR_READ_INBOX);
        is_one_moment = inbox != NULL && inbox->head.epoch == out->epoch &&
                        inbox->head.revision == out->revision;
        if (is_one_moment && inbox->count > 0) {
            if (!note_read(&note, inbox->work[0].body))
                give_up(writer, "an inbox row is not as it was written", NULL);
            out->inbox_n = inbox->work[0].n;
            out->inbox_of = note.id;
        }
        pdr_page_free(inbox);
    }
}

/* --- edits -------------------------------------------------------------------
 */

static pdr_edit *begin_edit(struct writer *writer, size_t k)
{
    struct part *part = &writer->parts[k];
    pdr_edit *edit = &writer->edits[k];

    memset(part, 0, offsetof(struct part, texts));
    memset(edit, 0, sizeof(*edit));
    part->note.id = writer->deed.id;
    deed_text(part->correlation_id, writer->deed.id);
    edit->ref.id =
        pdr_str_c(session_name(part->id, writer->deed.parts[k].session));
    edit->epoch = writer->deed.parts[k].epoch;
    edit->lease.fence = part->note.fence = writer->deed.parts[k].asked;
    edit->revision = PDR_ANY_REVISION;
    return edit;
}

static void write_bodies(struct writer *writer, size_t k)
{
    struct part *part = &writer->parts[k];

    for (unsigned i = 0; i < MAX_ROWS; i++) {
        size_t pad =
            random_below(&writer->random, chance(writer, 5) ? MAX_PAD : 1000);
        part->note.part = i;
        part->bodies[i] = pdr_str_n(
            part->texts[i], note_write(part->texts[i], &part->note, pad));
    }
}

static void fill_work(struct part *part, pdr_work *row, unsigned i)
{
    row->kind = pdr_str_c("step");
    row->due_ms = PDR_NEVER;
    row->correlation_id = pdr_str_c(part->correlation_id);
    row->body = part->bodies[i];
}

static void add_inbox(struct part *part, pdr_edit *edit)
{
    fill_work(part, &part->inbox, 0);
    part->inbox.due_ms = wall_ms();
    edit->inbox = &part->inbox;
    edit->inbox_count = 1;
}

static void add_completion(struct part *part, pdr_edit *edit, bool is_ended)
{
    part->completion.correlation_id = pdr_str_c(part->correlation_id);
    part->completion.fingerprint = pdr_str_c("f");
    if (is_ended)
        part->completion.outcome = part->bodies[0];
    edit->completions = &part->completion;
    edit->completion_count = 1;
}

/* "last", and one of the writer's own. */
static void add_named(struct writer *writer, struct part *part, pdr_edit *edit)
{
    snprintf(part->own, sizeof(part->own), "w%u", writer->number);
    for (int i = 0; i < 2; i++) {
        pdr_str key = pdr_str_c(i == 0 ? "last" : part->own);
        part->slots[i].key = part->properties[i].key = key;
        part->slots[i].value = part->properties[i].value = part->bodies[0];
        part->properties[i].match = pdr_str_c(part->correlation_id);
    }
    edit->slots = part->slots;
    edit->properties = part->properties;
    edit->slot_count = edit->property_count = 2;
}

static void add_entries(struct part *part, pdr_edit *edit)
{
    for (unsigned i = 0; i < 2; i++) {
        part->entries[i].kind = i == 0 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE;
        part->entries[i].created_ms = wall_ms();
        part->entries[i].correlation_id = pdr_str_c(part->correlation_id);
        part->entries[i].body = part->bodies[i];
    }
    edit->entries = part->entries;
    edit->entry_count = 2;
}

static void add_progress(struct part *part, pdr_edit *edit,
                         const struct sight *sight)
{
    for (unsigned i = 0; i < MAX_ROWS; i++) {
        fill_work(part, &part->journal[i], i);
        fill_work(part, &part->stream[i], i);
    }
    edit->journal = part->journal;
    edit->journal_count = part->note.journal;
    edit->stream = part->stream;
    edit->stream_count = part->note.stream;
    if (sight->is_there) {
        edit->journal_through = sight->journal_next - 1;
        edit->stream_through = sight->stream_next - 1;
    }
    if (part->note.inbox > 0)
        add_inbox(part, edit);
    part->settle = sight->inbox_n;
    edit->settle = &part->settle;
    edit->settle_count = sight->inbox_n > 0;
}

static void decide_turn(struct writer *writer, struct part *part,
                        const struct sight *sight)
{
    struct note *note = &part->note;

    note->after = sight->last;
    note->settles = sight->inbox_of;
    note->through = sight->is_there ? sight->journal_next - 1 : 0;
    note->journal = random_below(&writer->random, MAX_ROWS + 1);
    note->stream = random_below(&writer->random, MAX_ROWS + 1);
    note->inbox = random_below(&writer->random, 2);
}

/* One session of a turn. False if it cannot be done as it was asked for. */
static bool plan_turn(struct writer *writer, size_t k)
{
    struct deed_part *wanted = &writer->deed.parts[k];
    struct part *part = &writer->parts[k];
    struct sight sight;
    pdr_edit *edit = NULL;

    look(writer, &sight, wanted->session);
    if (writer->deed.part_count > 1 && !sight.is_there)
        return false;
    /* Asked for again, and the session is another one: it may have been carried
     * out on the one before. */
    if (writer->deed.cut_off && wanted->epoch != 0 &&
        wanted->epoch != sight.epoch)
        return false;
    wanted->epoch = sight.epoch;
    edit = begin_edit(writer, k);
    decide_turn(writer, part, &sight);
    write_bodies(writer, k);
    edit->revision = sight.revision;
    if (!sight.is_there)
        edit->frame = part->bodies[0];
    edit->set_state = true;
    edit->state = (pdr_session_state)random_below(&writer->random, 3);
    edit->expiry = PDR_EXPIRY_SET;
    edit->expiry_ms = wall_ms() + 1000;
    add_entries(part, edit);
    add_named(writer, part, edit);
    add_completion(part, edit, true);
    add_progress(part, edit, &sight);
    return true;
}

static bool plan_lease(struct writer *writer, pdr_edit *edit)
{
    edit->lease.verb = writer->deed.kind == DEED_TAKE    ? PDR_LEASE_TAKE
                       : writer->deed.kind == DEED_RENEW ? PDR_LEASE_RENEW
                                                         : PDR_LEASE_RELEASE;
    if (edit->lease.verb == PDR_LEASE_TAKE)
        edit->lease.owner = pdr_str_c(writer->parts[0].correlation_id);
    if (edit->lease.verb != PDR_LEASE_RELEASE)
        edit->lease.until_ms =
            wall_ms() + 3 + random_below(&writer->random, 30);
    return true;
}

/* A deed that is no turn, on one session that is there. */
static bool plan_other(struct writer *writer)
{
    struct deed *deed = &writer->deed;
    struct sight sight;
    pdr_edit *edit = NULL;

    if (deed->parts[0].epoch == 0) {
        look(writer, &sight, deed->parts[0].session);
        if (!sight.is_there)
            return false;
        deed->parts[0].epoch = sight.epoch;
        deed->parts[0].revision = sight.revision;
    }
    edit = begin_edit(writer, 0);
    write_bodies(writer, 0);
    if (deed->kind == DEED_ENQUEUE)
        add_inbox(&writer->parts[0], edit);
    if (deed->kind == DEED_STEP) {
        fill_work(&writer->parts[0], &writer->parts[0].journal[0], 0);
        edit->journal = writer->parts[0].journal;
        edit->journal_count = 1;
    }
    if (deed->kind == DEED_ENQUEUE || deed->kind == DEED_STEP)
        add_completion(&writer->parts[0], edit, false);
    else if (deed->kind != DEED_REMOVE)
        return plan_lease(writer, edit);
    if (deed->kind == DEED_REMOVE) {
        edit->remove = true;
        edit->revision = deed->parts[0].revision;
    }
    return true;
}

static bool plan(struct writer *writer)
{
    if (writer->deed.kind != DEED_TURN)
        return plan_other(writer);
    for (size_t k = 0; k < writer->deed.part_count; k++)
        if (!plan_turn(writer, k))
            return false;
    return true;
}

/* --- deeds
 * -------------------------------------------------------------------- */

static void note(struct writer *writer, char what)
{
    if (!oracle_note(&writer->file, what, &writer->deed))
        give_up(writer, "cannot write the oracle", NULL);
}

static void acknowledge(struct writer *writer, const pdr_committed *told)
{
    struct deed *deed = &writer->deed;

    for (size_t k = 0; k < deed->part_count; k++) {
        struct deed_part *part = &deed->parts[k];
        if (deed->kind != DEED_REMOVE)
            part->epoch = told[k].epoch;
        part->revision = told[k].revision;
        part->first_seq = told[k].first_seq;
        part->journal_n = told[k].journal_n;
        part->inbox_n = told[k].inbox_n;
        part->fence = told[k].fence;
    }
    note(writer, 'A');
    if (deed->kind == DEED_TAKE) {
        writer->lease.is_held = true;
        writer->lease.session = deed->parts[0].session;
        writer->lease.epoch = deed->parts[0].epoch;
        writer->lease.fence = deed->parts[0].fence;
    }
}

/* Is it worth another try? Somebody else moved, removed or made the session. */
static bool is_late(const struct writer *writer, pdr_rc rc, const pdr_err *err)
{
    if (writer->deed.kind != DEED_TURN)
        return false;
    return rc == PDR_ECONFLICT || rc == PDR_ENOTFOUND ||
           (rc == PDR_EEXISTS && strcmp(err->reason, "session_exists") == 0);
}

static bool is_refusal(pdr_rc rc, const pdr_err *err)
{
    return rc == PDR_ECONFLICT || rc == PDR_EFENCED || rc == PDR_ENOTFOUND ||
           (rc == PDR_EBUSY && strcmp(err->reason, "lease_held") == 0);
}

/* One try. True if the deed has ended. */
static bool try_deed(struct writer *writer)
{
    struct deed *deed = &writer->deed;
    pdr_commit_options options = {.now_ms = wall_ms()};
    pdr_committed told[DEED_PARTS];
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    note(writer, 'I');
    rc = pdr_store_commit(told, writer->store, writer->edits, deed->part_count,
                          &options, &err);
    if (rc == PDR_OK) {
        acknowledge(writer, told);
        return true;
    }
    if (rc == PDR_EEXISTS && deed->cut_off &&
        strcmp(err.reason, "completion_exists") == 0) {
        note(writer, 'E');
        return true;
    }
    if (is_late(writer, rc, &err)) {
        note(writer, 'C');
        return false;
    }
    if (!is_refusal(rc, &err))
        give_up(writer, "a commit failed", &err);
    if (deed->parts[0].asked != 0)
        writer->lease.is_held = false;
    note(writer, deed->cut_off ? 'U' : 'R');
    return true;
}

/* Until it has ended. `is_known`: the oracle has it already. */
static void do_deed(struct writer *writer, bool is_known)
{
    struct deed *deed = &writer->deed;

    for (int tries = 0; tries < MAX_TRIES && plan(writer); tries++) {
        if (try_deed(writer)) {
            writer->file.next = deed_n(deed->id) + 1;
            return;
        }
        is_known = true;
        deed->parts[0].asked = 0;
    }
    if (is_known) {
        note(writer, deed->cut_off ? 'U' : 'R');
        writer->file.next = deed_n(deed->id) + 1;
    }
}

/* --- choosing
 * ------------------------------------------------------------------ */

static void choose_sessions(struct writer *writer, size_t count)
{
    struct deed *deed = &writer->deed;
    unsigned first = random_below(&writer->random, writer->job->sessions);

    /* Some are in everybody's way. */
    if (chance(writer, 40))
        first %= 2;
    deed->part_count = count;
    for (size_t k = 0; k < count; k++)
        deed->parts[k].session = (first + (unsigned)k) % writer->job->sessions;
}

static void hold_lease(struct writer *writer, enum deed_kind kind)
{
    struct deed *deed = &writer->deed;

    deed->kind = kind;
    deed->part_count = 1;
    deed->parts[0].session = writer->lease.session;
    deed->parts[0].epoch = kind == DEED_TURN ? 0 : writer->lease.epoch;
    deed->parts[0].asked = writer->lease.fence;
}

static void choose_with_lease(struct writer *writer)
{
    unsigned dice = random_below(&writer->random, 100);

    if (dice < 50)
        hold_lease(writer, DEED_STEP);
    else if (dice < 70)
        hold_lease(writer, DEED_TURN);
    else if (dice < 85)
        hold_lease(writer, DEED_RENEW);
    else {
        hold_lease(writer, DEED_RELEASE);
        writer->lease.is_held = false;
    }
    /* Long enough for somebody else to take it. */
    if (chance(writer, 25))
        sleep_us(1000 * (5 + (int64_t)random_below(&writer->random, 30)));
}

static void choose_freely(struct writer *writer)
{
    struct deed *deed = &writer->deed;
    unsigned dice = random_below(&writer->random, 100);
    struct sight sight;

    choose_sessions(writer, dice < 15 ? DEED_PARTS : dice < 25 ? 2 : 1);
    look(writer, &sight, deed->parts[0].session);
    if (sight.entries > 60 && chance(writer, 20))
        deed->kind = DEED_REMOVE;
    else if (sight.is_there && dice >= 85)
        deed->kind = DEED_TAKE;
    else if (sight.is_there && dice >= 70)
        deed->kind = DEED_ENQUEUE;
    if (deed->kind != DEED_TURN || !sight.is_there)
        deed->part_count = 1;
}

static void choose(struct writer *writer)
{
    memset(&writer->deed, 0, sizeof(writer->deed));
    writer->deed.id = deed_id_of(writer->number, writer->file.next);
    if (writer->lease.is_held && chance(writer, 80))
        choose_with_lease(writer);
    else
        choose_freely(writer);
}

/* The deed that a kill left open: ask again, or leave it open for ever where
 * asking twice could do it twice. */
static void take_up(struct writer *writer, const struct deed *open)
{
    writer->deed = *open;
    writer->deed.cut_off |= open->trying;
    if (open->kind == DEED_TURN)
        writer->deed.parts[0].asked = 0; /* the lease went with the process */
    if (open->kind == DEED_TURN || open->kind == DEED_ENQUEUE ||
        open->kind == DEED_STEP)
        do_deed(writer, true);
    else {
        note(writer, writer->deed.cut_off ? 'U' : 'R');
        writer->file.next = deed_n(open->id) + 1;
    }
}

static void *write_on(void *arg)
{
    struct writer *writer = arg;
    char path[WRITER_PATH];
    struct oracle oracle;

    writer_oracle(path, writer->job->folder, writer->number);
    oracle_init(&oracle, writer->number);
    if (!oracle_read(&oracle, path) ||
        !oracle_file_open(&writer->file, &oracle, path))
        give_up(writer, "cannot open the oracle", NULL);
    if (oracle_open_deed(&oracle) != NULL)
        take_up(writer, oracle_open_deed(&oracle));
    oracle_dispose(&oracle);
    for (unsigned i = 0; i < writer->job->deeds; i++) {
        choose(writer);
        do_deed(writer, false);
    }
    oracle_file_close(&writer->file);
    return NULL;
}

void writers_run(pdr_store *store, const struct writer_job *job)
{
    static struct writer writers[WRITER_MAX_THREADS];
    pthread_t threads[WRITER_MAX_THREADS];

    for (unsigned i = 0; i < job->threads; i++) {
        struct writer *writer = &writers[i];
        memset(writer, 0, sizeof(*writer));
        writer->job = job;
        writer->store = store;
        writer->number = job->first + i;
        writer->random = job->seed * 31 + i;
        if (pthread_create(&threads[i], NULL, write_on, writer) != 0)
            give_up(writer, "no thread", NULL);
    }
    for (unsigned i = 0; i < job->threads; i++)
        (void)pthread_join(threads[i], NULL);
}

static int write_all(const struct writer_job *job)
{
    char uri[WRITER_PATH];
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;

    if (pdr_store_open(&store, writer_uri(uri, job->folder, ""), &err) !=
        PDR_OK) {
        fprintf(stderr, "cannot open the store: %s (%s)\n", err.message,
                err.reason);
        return 3;
    }
    writers_run(store, job);
    pdr_store_close(store);
    return 0;
}

TEST_ROLE(store_writer)
{
    struct writer_job job = {0};

    if (argc != 6)
        return 2;
    job.folder = argv[0];
    job.first = (unsigned)strtoul(argv[1], NULL, 10);
    job.threads = (unsigned)strtoul(argv[2], NULL, 10);
    job.sessions = (unsigned)strtoul(argv[3], NULL, 10);
    job.deeds = (unsigned)strtoul(argv[4], NULL, 10);
    job.seed = strtoull(argv[5], NULL, 10);
    if (job.threads > WRITER_MAX_THREADS || job.sessions > DEED_SESSIONS)
        return 2;
    return write_all(&job);
}
