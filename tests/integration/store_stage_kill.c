/*
 * Writers that stage, show, cut and remove sessions, and are killed at any
 * moment: readers see the old session or the new one, whole, and what was cut
 * off can be cleared.
 *
 * Each writer has a session of its own and makes one generation of it after the
 * other. Every row says of which generation it is, and how many entries that
 * has. Beside the store it keeps a file with one line for each thing that was
 * acknowledged, and one before each removal:
 *
 *     S 7   generation 7 was shown      r 7   it is going to be removed
 *     C 7   its first half was cut      R 7   it was removed
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <perdure/sys/store.h>
#include <signal.h>
#include <unistd.h>

#include "processes.h"
#include "room.h"

#define WRITERS   4u
#define KILLS     90u
#define BETWEEN   15u    /* kills between two judgements */
#define PAUSE_US  150000 /* between two kills, at most */
#define SHORT     40u    /* entries of a generation */
#define LONG      1200u  /* and of one that is removed in steps */
#define KEPT_MS   60000
#define PATH_ROOM 700

/* --- one session ---------------------------------------------------------- */

/* What is in the store, or in the file of its writer. */
struct session {
    bool is_there;
    unsigned generation, entries;
    bool is_cut;
    uint64_t revision;
};

static void name_session(char out[16], unsigned writer)
{
    (void)snprintf(out, 16, "g%u", writer);
}

static const char *file_of(char out[PATH_ROOM], const char *folder,
                           unsigned writer)
{
    (void)snprintf(out, PATH_ROOM, "%s/told-%u", folder, writer);
    return out;
}

static pdr_store *open_store(const char *folder)
{
    char uri[PATH_ROOM];
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;

    (void)snprintf(uri, sizeof(uri), "sqlite:%s/store", folder);
    if (pdr_store_open(&store, uri, &err) != PDR_OK)
        fprintf(stderr, "cannot open the store: %s\n", err.message);
    return store;
}

/* The generation that a text speaks of, and how many entries it has. */
static bool read_body(pdr_str body, unsigned *generation, unsigned *i,
                      unsigned *of)
{
    char text[64];

    if (body.len >= sizeof(text))
        return false;
    memcpy(text, body.ptr, body.len);
    text[body.len] = '\0';
    return sscanf(text, "{\"g\":%u,\"i\":%u,\"of\":%u}", generation, i, of) ==
           3;
}

/* One page of entries: all of one generation, each in its place. */
static bool look_at_page(struct session *out, const pdr_page *page)
{
    for (size_t k = 0; k < page->count; k++) {
        unsigned generation = 0, i = 0, of = 0;

        if (!read_body(page->entries[k].body, &generation, &i, &of) ||
            i != page->entries[k].seq || of + 1 != page->head.next_seq ||
            (out->generation != 0 && generation != out->generation)) {
            fprintf(stderr, "a page with entry %u of %u, generation %u\n", i,
                    of, generation);
            return false;
        }
        out->generation = generation;
        out->entries = of;
    }
    return true;
}

/* What a reader sees of a session: its first page, or, if nobody writes, all.
 * False with a complaint on stderr. */
static bool look(struct session *out, pdr_store *store, unsigned writer,
                 bool all)
{
    char id[16];
    pdr_query query = {.what = PDR_READ_ENTRIES, .limit = 200};
    pdr_page *page = NULL, *before = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    bool is_fine = true;

    memset(out, 0, sizeof(*out));
    name_session(id, writer);
    query.ref.id = pdr_str_c(id);
    do {
        rc = pdr_store_read(&page, store, &query, &err);
        pdr_page_free(before);
        before = page;
        if (rc != PDR_OK)
            break;
        is_fine = look_at_page(out, page);
        out->is_there = true;
        out->revision = page->head.revision;
        out->is_cut = page->head.first_seq > 1;
        query.after = page->next;
    } while (all && is_fine && query.after.ptr != NULL);
    pdr_page_free(before);
    if (rc == PDR_OK || rc == PDR_ENOTFOUND)
        return is_fine;
    fprintf(stderr, "session %s: %s\n", id, err.message);
    return false;
}

/* --- the writer ----------------------------------------------------------- */

struct writer {
    pdr_store *store;
    unsigned number;
    uint64_t random;
    int fd;
    char id[16];
    struct session now;
    char texts[LONG][48];
    pdr_entry entries[LONG];
};

static void fail_writer(const struct writer *w, const char *what,
                        const pdr_err *err)
{
    fprintf(stderr, "writer %u: %s: %s (%s)\n", w->number, what,
            err != NULL ? err->message : "", err != NULL ? err->reason : "");
    _exit(4);
}

static void tell(const struct writer *w, char what)
{
    char line[32];
    int len = snprintf(line, sizeof(line), "%c %u\n", what, w->now.generation);

    if (write(w->fd, line, (size_t)len) != len ||
        (what != 'r' && fdatasync(w->fd) != 0))
        fail_writer(w, "cannot write its file", NULL);
}

static pdr_committed commit(const struct writer *w, pdr_edit *edit)
{
    pdr_commit_options options = {.now_ms = wall_ms()};
    pdr_committed done;
    pdr_err err = PDR_ERR_INIT;

    edit->ref.id = pdr_str_c(w->id);
    if (pdr_store_commit(&done, w->store, edit, 1, &options, &err) != PDR_OK)
        fail_writer(w, "a commit failed", &err);
    return done;
}

/* Rows of what comes next; the last ones show it. */
static pdr_committed stage_rows(const struct writer *w, pdr_stage *stage,
                                const pdr_rows *rows, bool shows)
{
    const pdr_commit_options options = {.now_ms = wall_ms()};
    const pdr_show_opts show = {.revision = w->now.revision};
    pdr_committed done;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    stage->ref.id = pdr_str_c(w->id);
    stage->until_ms = options.now_ms + KEPT_MS;
    if (shows)
        rc =
            pdr_stage_show(&done, w->store, stage, rows, &show, &options, &err);
    else if (stage->epoch == 0)
        rc = pdr_stage_begin(&done, w->store, stage, rows, &options, &err);
    else
        rc = pdr_stage_add(&done, w->store, stage, rows, &options, &err);
    if (rc != PDR_OK)
        fail_writer(w, "a commit failed", &err);
    return done;
}

static void abandon(const struct writer *w, pdr_stage *stage)
{
    const pdr_commit_options options = {.now_ms = wall_ms()};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_stage_abandon(w->store, stage, &options, &err) != PDR_OK)
        fail_writer(w, "a stage was not given up", &err);
}

/* The next generation, in three commits and the one that shows it; now and then
 * it was begun before, and given up. */
static void replace(struct writer *w)
{
    unsigned count = random_below(&w->random, 4) == 0 ? LONG : SHORT;
    unsigned generation = w->now.generation + 1, part = count / 4;
    pdr_slot slot = {.key = pdr_str_c("g")};
    pdr_property property = {.key = pdr_str_c("g")};
    pdr_stage stage = {.epoch = 0};
    bool gave_up = false;

    for (unsigned i = 0; i < count; i++) {
        int len =
            snprintf(w->texts[i], sizeof(w->texts[i]),
                     "{\"g\":%u,\"i\":%u,\"of\":%u}", generation, i + 1, count);

        memset(&w->entries[i], 0, sizeof(w->entries[i]));
        w->entries[i].body = pdr_str_n(w->texts[i], (size_t)len);
    }
    slot.value = property.value = property.match = w->entries[0].body;
    for (unsigned k = 0; k < 4; k++) {
        pdr_rows rows = {.entries = &w->entries[k * part], .entry_count = part};
        pdr_committed done;

        if (k == 0) {
            rows.slots = &slot;
            rows.properties = &property;
            rows.slot_count = rows.property_count = 1;
        }
        done = stage_rows(w, &stage, &rows, k == 3);
        if (k == 1 && !gave_up && random_below(&w->random, 4) == 0) {
            abandon(w, &stage);
            gave_up = true;
            k = UINT_MAX; /* from the beginning */
        }
        if (k == 3)
            w->now.revision = done.revision;
    }
    w->now.is_there = true;
    w->now.generation = generation;
    w->now.entries = count;
    w->now.is_cut = false;
    tell(w, 'S');
}

static void cut(struct writer *w)
{
    pdr_edit edit = {.revision = w->now.revision};

    edit.entries_through = w->now.entries / 2;
    w->now.revision = commit(w, &edit).revision;
    w->now.is_cut = true;
    tell(w, 'C');
}

static void take_away(struct writer *w)
{
    pdr_edit edit = {.revision = w->now.revision, .remove = true};

    tell(w, 'r');
    (void)commit(w, &edit);
    w->now.is_there = false;
    w->now.revision = 0;
    tell(w, 'R');
}

/* The last line of its file: what, and of which generation. */
static char last_line(unsigned *generation, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[32], what = '-';

    *generation = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strchr(line, '\n') == NULL)
            break; /* cut off: it does not count */
        what = line[0];
        *generation = (unsigned)strtoul(line + 2, NULL, 10);
    }
    if (file != NULL)
        (void)fclose(file);
    return what;
}

/* Go on with what is there; say what a kill kept from being said. */
static void take_up(struct writer *w, const char *path)
{
    unsigned generation = 0;
    char what = last_line(&generation, path);

    if (!look(&w->now, w->store, w->number, true))
        fail_writer(w, "it is not whole", NULL);
    if (!w->now.is_there) {
        w->now.generation = generation;
        if (what == 'r')
            tell(w, 'R');
    } else if (w->now.generation != generation || what == 'r') {
        tell(w, 'S'); /* shown, or a removal that did not happen */
    }
    if (w->now.is_there && w->now.is_cut)
        tell(w, 'C');
}

TEST_ROLE(stager)
{
    static struct writer w;
    char path[PATH_ROOM];

    if (argc != 3)
        return 2;
    w.number = (unsigned)strtoul(argv[1], NULL, 10);
    w.random = strtoull(argv[2], NULL, 10);
    name_session(w.id, w.number);
    w.store = open_store(argv[0]);
    (void)file_of(path, argv[0], w.number);
    w.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (w.store == NULL || w.fd < 0)
        return 3;
    take_up(&w, path);
    for (;;) {
        unsigned dice = random_below(&w.random, 10);

        replace(&w);
        if (dice < 3)
            cut(&w);
        if (dice == 0 || dice == 9)
            take_away(&w);
    }
}

/* --- the judge ------------------------------------------------------------ */

struct trial {
    struct room room;
    pid_t crew[WRITERS];
    uint64_t random;
    size_t kills, failures, judgements, pages;
    size_t shown, cut, removed;   /* that were acknowledged */
    size_t unseen, cleared, rows; /* that kills left behind */
    size_t wrong;
};

static void start(struct trial *t, unsigned i)
{
    char number[16], seed[32];
    const char *args[] = {t->room.path, number, seed, NULL};

    (void)snprintf(number, sizeof(number), "%u", i);
    (void)snprintf(seed, sizeof(seed), "%" PRIu64, next_random(&t->random));
    t->crew[i] = process_start("stager", args);
}

static void kill_one(struct trial *t, unsigned i)
{
    enum process_end end = process_kill(t->crew[i]);

    t->kills += end == PROCESS_KILLED;
    t->failures += end != PROCESS_KILLED;
}

static void complain(struct trial *t, unsigned i, const struct session *found,
                     char what, unsigned generation)
{
    t->wrong++;
    fprintf(stderr, "session %u: generation %u%s%s, told: %c %u\n", i,
            found->generation, found->is_there ? "" : ", not there",
            found->is_cut ? ", cut" : "", what, generation);
}

/* What is there is what was told last, or what came behind it. */
static void judge_session(struct trial *t, pdr_store *store, unsigned i)
{
    char path[PATH_ROOM];
    struct session found;
    unsigned told = 0;
    char what = last_line(&told, file_of(path, t->room.path, i));
    bool is_fine = look(&found, store, i, true);

    if (is_fine && !found.is_there)
        is_fine = what == 'r' || what == 'R' || what == '-';
    else if (is_fine && found.generation == told)
        is_fine = what == 'S' || what == 'r' || (what == 'C' && found.is_cut);
    else if (is_fine)
        is_fine = found.generation == told + 1 && !found.is_cut && what != 'r';
    if (!is_fine)
        complain(t, i, &found, what, told);
}

/* Lists by the property show those sessions, and no generation twice. */
static void judge_lists(struct trial *t, pdr_store *store)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        struct session found;
        char match[64];
        pdr_query query = {.what = PDR_READ_SESSIONS};
        pdr_page *page = NULL;

        if (!look(&found, store, i, true) || !found.is_there)
            continue;
        (void)snprintf(match, sizeof(match), "{\"g\":%u,\"i\":1,\"of\":%u}",
                       found.generation, found.entries);
        query.filter.property = pdr_str_c("g");
        query.filter.match = pdr_str_c(match);
        ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
        t->wrong += page->count < 1 || page->count > WRITERS;
        pdr_page_free(page);
    }
}

static void tell_finding(void *arg, const char *table, const char *row,
                         const char *what)
{
    struct trial *t = arg;

    t->wrong++;
    fprintf(stderr, "verify: %s, %s: %s\n", table, row, what);
}

static void verify(struct trial *t, pdr_store *store)
{
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_verify(NULL, store, NULL, &err, tell_finding, t) != PDR_OK) {
        t->wrong++;
        fprintf(stderr, "verify: %s\n", err.message);
    }
}

/* With nobody at work. Sweeps every second time, so that writers meet what was
 * left, too. */
static void judge(struct trial *t)
{
    pdr_store *store = open_store(t->room.path);
    pdr_sweep_report report = {0, 0, 0};
    pdr_store_info info = {.unseen = 0};

    ASSERT(store != NULL);
    verify(t, store);
    for (unsigned i = 0; i < WRITERS; i++)
        judge_session(t, store, i);
    judge_lists(t, store);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    t->unseen += info.unseen;
    if (t->judgements++ % 2 == 0) {
        ASSERT_RC(PDR_OK, pdr_store_sweep(&report, store, PDR_NEVER, NULL));
        ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
        t->wrong += info.unseen != 0;
        t->cleared += report.sessions;
        t->rows += report.rows;
        verify(t, store);
        for (unsigned i = 0; i < WRITERS; i++)
            judge_session(t, store, i);
    }
    pdr_store_close(store);
}

/* Readers beside the writers see whole pages of one generation. */
static void read_along(struct trial *t, pdr_store *store)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        struct session found;

        t->wrong += !look(&found, store, i, false);
        t->pages += found.is_there;
    }
}

static void count_told(struct trial *t)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        char path[PATH_ROOM];
        FILE *file = fopen(file_of(path, t->room.path, i), "r");
        int c = 0;

        ASSERT(file != NULL);
        while ((c = fgetc(file)) != EOF) {
            t->shown += c == 'S';
            t->cut += c == 'C';
            t->removed += c == 'R';
        }
        (void)fclose(file);
    }
}

/* Kill some, with the store open beside them. */
static void run_round(struct trial *t)
{
    pdr_store *store = open_store(t->room.path);
    size_t until = t->kills + BETWEEN;

    ASSERT(store != NULL);
    for (unsigned i = 0; i < WRITERS; i++)
        start(t, i);
    while (t->kills < until && t->failures == 0 && t->wrong == 0) {
        unsigned victim = random_below(&t->random, WRITERS);

        sleep_us(random_below(&t->random, PAUSE_US));
        read_along(t, store);
        kill_one(t, victim);
        start(t, victim);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        kill_one(t, i);
    pdr_store_close(store);
}

TEST(killed_stagers, leave_the_old_session_or_the_new_one)
{
    size_t kills = test_times(KILLS, BETWEEN);
    struct trial t = {.random = 7};

    room_enter(&t.room);
    while (t.kills < kills && t.wrong == 0 && t.failures == 0) {
        run_round(&t);
        judge(&t);
    }
    count_told(&t);
    print_message("%zu kills, %zu judgements, %zu pages read beside; %zu "
                  "shown, %zu cut, %zu removed; %zu unseen left behind, %zu "
                  "cleared with %zu rows; wrong %zu, failed %zu\n",
                  t.kills, t.judgements, t.pages, t.shown, t.cut, t.removed,
                  t.unseen, t.cleared, t.rows, t.wrong, t.failures);
    ASSERT_SIZE(0, t.wrong);
    ASSERT_SIZE(0, t.failures);
    /* What met nothing shows nothing. */
    ASSERT(t.pages > 0 && t.shown > 0 && t.cut > 0 && t.removed > 0);
    ASSERT(t.unseen > 0 && t.cleared > 0 && t.rows > 0);
    room_leave(&t.room);
}
