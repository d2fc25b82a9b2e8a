/*
 * store_peers.c - how many times cheaper than in the stores of other agent
 * libraries is a turn?
 *
 * peer/NAME is one turn of a session, in the last 20 of 500. Both sides wait
 * for one sync a turn, and have the same texts: theirs as two messages, ours as
 * two entries, the head and a completion.
 *
 * peer/NAME/own is the same, when the other library syncs as it does by itself.
 *
 * peer/NAME/first is the first turn of each block: it also waits for what the
 * other side left in the caches and in the journal of the file system.
 *
 * peer/NAME/read is the last 20 messages of that session, peer/NAME/bytes what
 * it takes on disk, divided by its turns.
 *
 * peer/NAME/64 is turns a second of 64 sessions at once, each with 20 turns and
 * more; threads or tasks, as the library wants it. With one sync a turn. Where
 * this has a bar, it is called peer/NAME-64.
 *
 * The library runs in a process of its own and times itself: see peers/serve.py
 * and peers/peers.py. All cores are used, by both sides. A block is five turns,
 * all of which count; several sessions grow, so that there are twelve blocks or
 * more.
 */
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "count_vfs.h"
#include "peer.h"
#include "store_fill.h"

#define TURNS       500u
#define LAST_TURNS  20u
#define BLOCK_TURNS 5u
#define BLOCKS      (LAST_TURNS / BLOCK_TURNS)
#define READS       20u
#define READ_LAST   20u /* messages */
#define SESSIONS    64u /* at once */
#define MANY_GROWN  20u /* turns of each before the clock runs */
#define MANY_TURNS  4u  /* of each in a block */
#define MANY_BLOCKS 10u
#define QUICK_TURNS 30u
#define NAME_ROOM   64u
#define LINE_ROOM   160u

struct contender {
    const char *name;
    double wanted;
    double wanted_many; /* 0: its figure of 64 sessions is reported only */
    bool always_syncs;  /* once a turn, by itself */
    size_t times;       /* sessions that grow; more where sides are close */
};

static const struct contender contenders[] = {
    {"langgraph", 50, 0, false, 3},
    {"langgraph-delta", 25, 0, false, 3},
    {"agent-framework", 60, 0, false, 3},
    {"agent-framework-history", 35, 0, false, 3},
    {"adk", 8, 0, false, 8},
    {"openai", 1.1, 4, true, 8},
};

static size_t turns_of_run(void)
{
    return bench_is_quick() ? QUICK_TURNS : TURNS;
}

static size_t blocks_of_run(size_t blocks)
{
    return bench_is_quick() ? 2 : blocks;
}

/* --- our side ------------------------------------------------------------- */

/* What the others store of a turn: the entries, the head, the completion. */
static void next_turn(struct turn *turn, struct turn_session *session)
{
    turn_next(turn, session);
    pdr_edit *edit = &turn->edit;
    edit->lease.fence = 0;
    edit->expiry = PDR_EXPIRY_KEEP;
    edit->slot_count = 0;
    edit->inbox_count = edit->stream_count = edit->journal_count = 0;
    edit->journal_through = edit->stream_through = 0;
    edit->settle_count = 0;
}

static double our_turn_us(struct turn_session *session, pdr_store *store)
{
    static struct turn turn;

    next_turn(&turn, session);
    uint64_t begin = bench_now_ns();
    turn_commit(session, &turn, store);
    return (double)(bench_now_ns() - begin) / 1e3;
}

/* The bytes of the text in an entry of the benchmark turn. */
static size_t text_bytes(pdr_str body)
{
    static const char begin[] = "\"text\":\"", end[] = "\"}]}]}";

    for (size_t at = 0; at + sizeof(begin) + sizeof(end) <= body.len; at++)
        if (memcmp(body.ptr + at, begin, sizeof(begin) - 1) == 0)
            return body.len - at - (sizeof(begin) - 1) - (sizeof(end) - 1);
    bench_fail("an entry without a text");
}

/* Read up to `limit` entries, the last ones first, from `seq` back if it is not
 * 0; adds to the text bytes, gives the number of the entry before them. */
static uint64_t read_back(size_t *bytes, size_t *count, pdr_store *store,
                          const char *id, uint64_t seq, size_t limit)
{
    pdr_query query = {.what = PDR_READ_ENTRIES,
                       .ref = {pdr_str_c(TURN_TENANT), pdr_str_c(id)},
                       .limit = limit,
                       .from = seq,
                       .backwards = true};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_read(&page, store, &query, &err) != PDR_OK)
        bench_fail("cannot read '%s': %s", id, err.message);
    for (size_t i = 0; i < page->count; i++)
        *bytes += text_bytes(page->entries[i].body);
    *count += page->count;
    uint64_t before =
        page->count > 0 ? page->entries[page->count - 1].seq - 1 : 0;
    pdr_page_free(page);
    return before;
}

static double our_read_us(size_t *bytes, pdr_store *store, const char *id)
{
    size_t count = 0;
    uint64_t begin = bench_now_ns();

    *bytes = 0;
    (void)read_back(bytes, &count, store, id, 0, READ_LAST);
    uint64_t taken = bench_now_ns() - begin;
    if (count != READ_LAST)
        bench_fail("read %zu entries", count);
    return (double)taken / 1e3;
}

/* 64 threads with a session each; between two blocks all wait at the gate. */
struct gang {
    pdr_store *store;
    pthread_barrier_t gate;
    bool over; /* written while all wait */
    pthread_t threads[SESSIONS];
    struct member {
        struct gang *gang;
        struct turn_session *session;
        struct turn turn;
    } members[SESSIONS];
};

static void *member_run(void *arg)
{
    struct member *member = arg;

    for (;;) {
        pthread_barrier_wait(&member->gang->gate);
        if (member->gang->over)
            return NULL;
        for (size_t i = 0; i < MANY_TURNS; i++) {
            next_turn(&member->turn, member->session);
            turn_commit(member->session, &member->turn, member->gang->store);
        }
        pthread_barrier_wait(&member->gang->gate);
    }
}

static void gang_start(struct gang *gang, struct fill *fill, pdr_store *store)
{
    gang->store = store;
    gang->over = false;
    if (pthread_barrier_init(&gang->gate, NULL, SESSIONS + 1) != 0)
        bench_fail("cannot make a barrier");
    for (size_t i = 0; i < SESSIONS; i++) {
        gang->members[i].gang = gang;
        gang->members[i].session = &fill->sessions[i];
        if (pthread_create(&gang->threads[i], NULL, member_run,
                           &gang->members[i]) != 0)
            bench_fail("cannot start thread %zu", i);
    }
}

static double gang_block_ns(struct gang *gang)
{
    uint64_t begin = bench_now_ns();
    pthread_barrier_wait(&gang->gate);
    pthread_barrier_wait(&gang->gate);
    return (double)(bench_now_ns() - begin);
}

static void gang_end(struct gang *gang)
{
    gang->over = true;
    pthread_barrier_wait(&gang->gate);
    for (size_t i = 0; i < SESSIONS; i++)
        pthread_join(gang->threads[i], NULL);
    pthread_barrier_destroy(&gang->gate);
}

static pdr_store *open_with(struct fill *fill, size_t sessions)
{
    fill_place(fill, "store-peers.db", sessions);
    for (size_t i = 0; i < sessions; i++)
        turn_session_init(&fill->sessions[i], i);
    return fill_open(fill);
}

/* --- the other side ------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *info, int kind,
                      struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* A folder of the data folder, with everything in it. */
static void remove_folder(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 &&
        errno != ENOENT)
        bench_fail("%s: cannot be removed: %s", path, strerror(errno));
}

struct other {
    struct peer process;
    char folder[512];
    char version[LINE_ROOM], settings[LINE_ROOM];
};

static void other_open(struct other *other, const char *name, const char *mode)
{
    char place[NAME_ROOM], texts[512];

    snprintf(place, sizeof(place), "store-peers-%s", mode);
    bench_path(other->folder, sizeof(other->folder), place);
    bench_path(texts, sizeof(texts), "store-peers.texts");
    remove_folder(other->folder);
    const char *words[] = {name, other->folder, mode, texts, NULL};
    peer_start_words(&other->process, BENCH_SCRIPT, words);
    peer_hear(&other->process, other->version, sizeof(other->version));
    peer_hear(&other->process, other->settings, sizeof(other->settings));
}

/* Let it do some work; the first number that it answers. */
static double other_ask(struct other *other, const char *work)
{
    char line[LINE_ROOM], *end = NULL;

    peer_ask(&other->process, work, line, sizeof(line));
    if (strcmp(line, "done") == 0)
        return 0;
    double number = strtod(line, &end);
    if (end == line)
        bench_fail("the other side answers '%s'", line);
    return number;
}

static void other_grow(struct other *other, size_t sessions, size_t turns)
{
    char work[NAME_ROOM];

    snprintf(work, sizeof(work), "grow %zu %zu", sessions, turns);
    (void)other_ask(other, work);
}

/* Close its store; bytes that are left on disk. */
static double other_close(struct other *other)
{
    double bytes = other_ask(other, "close");

    peer_stop(&other->process);
    remove_folder(other->folder);
    return bytes;
}

/* --- one session ---------------------------------------------------------- */

static void case_name(char *out, const struct contender *who, const char *what)
{
    snprintf(out, NAME_ROOM, "peer/%s%s", who->name, what);
}

static void note_other(const struct other *other)
{
    bench_note("baseline_version", other->version);
    bench_note("baseline_settings", other->settings);
}

/* Both hold the same number of messages and bytes of text. */
static void compare(struct other *other, pdr_store *store, const char *id)
{
    size_t bytes = 0, count = 0;
    char ours[LINE_ROOM], theirs[LINE_ROOM];

    for (uint64_t seq = 0; count == 0 || seq > 0;)
        seq = read_back(&bytes, &count, store, id, seq, 200);
    snprintf(ours, sizeof(ours), "%zu %zu", count, bytes);
    peer_ask(&other->process, "count", theirs, sizeof(theirs));
    if (strcmp(ours, theirs) != 0)
        bench_fail("%s: ours has %s messages and bytes of text, theirs %s",
                   other->version, ours, theirs);
}

/* A session on each side that has grown to its last turns. */
struct pair {
    struct fill fill;
    pdr_store *store;
    struct turn_session *session;
    struct other other;
};

static void pair_open(struct pair *pair, const char *name, const char *mode)
{
    size_t before = turns_of_run() - LAST_TURNS;

    pair->store = open_with(&pair->fill, 1);
    pair->session = &pair->fill.sessions[0];
    other_open(&pair->other, name, mode);
    other_grow(&pair->other, 1, before);
    for (size_t i = 0; i < before; i++)
        (void)our_turn_us(pair->session, pair->store);
}

static void pair_close(struct pair *pair)
{
    pdr_store_close(pair->store);
    fill_remove(&pair->fill);
    (void)other_close(&pair->other);
}

/* What came out of the turns, over all sessions that grew. */
struct turns {
    struct bench_blocks synced, own, first;
    char names[3][NAME_ROOM];
};

static void turns_init(struct turns *turns, const struct contender *who)
{
    struct bench_blocks same = {.unit = "us", .baseline = who->name};

    case_name(turns->names[0], who, "");
    case_name(turns->names[1], who, "/own");
    case_name(turns->names[2], who, "/first");
    turns->synced = turns->own = turns->first = same;
    turns->synced.name = turns->names[0];
    turns->synced.wanted = who->wanted;
    turns->own.name = turns->names[1];
    turns->first.name = turns->names[2];
}

static double their_turn_us(struct other *other)
{
    return other_ask(other, "turn") / 1e3;
}

/* The last turns, block by block; `first` may be NULL. */
static void measure_turns(struct bench_blocks *all, struct bench_blocks *first,
                          struct pair *pair)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        double our_first = our_turn_us(pair->session, pair->store);
        double ours = our_first;
        for (size_t k = 1; k < BLOCK_TURNS; k++)
            ours += our_turn_us(pair->session, pair->store);
        double their_first = their_turn_us(&pair->other);
        double theirs = their_first;
        for (size_t k = 1; k < BLOCK_TURNS; k++)
            theirs += their_turn_us(&pair->other);
        bench_blocks_add(all, ours / BLOCK_TURNS, theirs / BLOCK_TURNS);
        if (first != NULL)
            bench_blocks_add(first, our_first, their_first);
    }
}

static void measure_reads(const struct contender *who, struct other *other,
                          const char *id, pdr_store *store)
{
    char name[NAME_ROOM], line[LINE_ROOM];
    struct bench_blocks blocks = {
        .name = name, .unit = "us", .baseline = who->name};

    case_name(name, who, "/read");
    for (size_t i = 0; i < blocks_of_run(READS); i++) {
        size_t bytes = 0;
        double ours = our_read_us(&bytes, store, id);
        unsigned long long ns = 0, their_bytes = 0;
        peer_ask(&other->process, "read", line, sizeof(line));
        if (sscanf(line, "%llu %llu", &ns, &their_bytes) != 2 ||
            their_bytes != bytes)
            bench_fail("%s: read %zu bytes of text, theirs: %s", name, bytes,
                       line);
        bench_blocks_add(&blocks, ours, (double)ns / 1e3);
    }
    note_other(other);
    bench_blocks_report(&blocks);
}

/* Close both, and say what they left on disk. */
static void report_bytes(const struct contender *who, struct fill *fill,
                         pdr_store *store, struct other *synced)
{
    char name[NAME_ROOM];
    double turns = (double)turns_of_run();

    pdr_store_close(store);
    fill_verify(fill);
    case_name(name, who, "/bytes");
    bench_report(
        &(struct bench_figure){.name = name,
                               .value = (double)fill_bytes(fill) / turns,
                               .unit = "bytes/turn",
                               .baseline = who->name,
                               .baseline_value = other_close(synced) / turns});
    fill_remove(fill);
}

/* Grow sessions and measure their last turns; the last one stays open. */
static void measure_sessions(struct pair *pair, const struct contender *who,
                             const char *mode, struct bench_blocks *all,
                             struct bench_blocks *first)
{
    size_t times = bench_is_quick() ? 1 : who->times;

    for (size_t i = 1; i <= times; i++) {
        pair_open(pair, who->name, mode);
        measure_turns(all, first, pair);
        compare(&pair->other, pair->store, pair->session->id);
        if (i < times)
            pair_close(pair);
    }
}

/* Its own durability; not beside the other, because what it leaves to be
 * written would be waited for by whoever syncs. */
static void measure_own(const struct contender *who, struct turns *turns)
{
    static struct pair pair;

    measure_sessions(&pair, who, "own", &turns->own, NULL);
    note_other(&pair.other);
    bench_blocks_report(&turns->own);
    pair_close(&pair);
}

static void measure_one(const struct contender *who)
{
    static struct turns turns;
    static struct pair pair;

    turns_init(&turns, who);
    bench_note_number("turns", (double)turns_of_run());
    bench_note_number("block_turns", BLOCK_TURNS);
    bench_note_number("sessions", 1);
    if (!who->always_syncs)
        measure_own(who, &turns);
    measure_sessions(&pair, who, "synced", &turns.synced, &turns.first);
    note_other(&pair.other);
    bench_blocks_report(&turns.synced);
    bench_blocks_report(&turns.first);
    measure_reads(who, &pair.other, pair.session->id, pair.store);
    report_bytes(who, &pair.fill, pair.store, &pair.other);
}

/* --- many sessions -------------------------------------------------------- */

static void measure_many(const struct contender *who)
{
    static struct gang gang;
    static struct other synced;
    struct fill fill;
    char name[NAME_ROOM], work[NAME_ROOM];
    struct bench_blocks blocks = {.name = name,
                                  .unit = "turns/s",
                                  .baseline = who->name,
                                  .more_is_better = true,
                                  .wanted = who->wanted_many};
    const double turns = SESSIONS * MANY_TURNS;
    pdr_store *store = open_with(&fill, SESSIONS);

    case_name(name, who, who->wanted_many > 0 ? "-64" : "/64");
    snprintf(work, sizeof(work), "many %u %u", SESSIONS, MANY_TURNS);
    other_open(&synced, who->name, "synced");
    other_grow(&synced, SESSIONS, MANY_GROWN);
    for (size_t i = 0; i < SESSIONS * MANY_GROWN; i++)
        (void)our_turn_us(&fill.sessions[i % SESSIONS], store);
    gang_start(&gang, &fill, store);
    for (size_t i = 0; i <= blocks_of_run(MANY_BLOCKS); i++) {
        double ours = gang_block_ns(&gang);
        double theirs = other_ask(&synced, work);
        if (i > 0) /* the first one warms up */
            bench_blocks_add(&blocks, turns * 1e9 / ours, turns * 1e9 / theirs);
    }
    gang_end(&gang);
    pdr_store_close(store);
    fill_verify(&fill);
    fill_remove(&fill);
    note_other(&synced);
    bench_note_number("turns", MANY_GROWN);
    bench_note_number("sessions", SESSIONS);
    bench_blocks_report(&blocks);
    (void)other_close(&synced);
}

/* --- the run -------------------------------------------------------------- */

/* The entries of the session that all of them write, a line each. */
static void write_texts(void)
{
    static struct turn turn;
    struct turn_session session;
    char path[512];

    bench_path(path, sizeof(path), "store-peers.texts");
    FILE *file = fopen(path, "w");
    if (file == NULL)
        bench_fail("%s: %s", path, strerror(errno));
    turn_session_init(&session, 0);
    for (size_t i = 0; i < TURNS; i++) {
        next_turn(&turn, &session);
        for (size_t k = 0; k < 2; k++)
            fprintf(file, "%.*s\n", (int)turn.entries[k].body.len,
                    turn.entries[k].body.ptr);
    }
    if (fclose(file) != 0)
        bench_fail("%s: %s", path, strerror(errno));
}

static bool wants_one(const struct contender *who)
{
    static const char *const ends[] = {"", "/own", "/first", "/read", "/bytes"};
    char name[NAME_ROOM];

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        case_name(name, who, ends[i]);
        if (bench_wants(name))
            return true;
    }
    return false;
}

static bool wants_many(const struct contender *who)
{
    char name[NAME_ROOM];

    case_name(name, who, who->wanted_many > 0 ? "-64" : "/64");
    return bench_wants(name);
}

int main(int argc, char **argv)
{
    char path[512];

    bench_start_threads(argc, argv, "store");
    count_vfs_register();
    bench_note("clock", "wall");
    bench_note_number("cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
    write_texts();
    for (size_t i = 0; i < sizeof(contenders) / sizeof(contenders[0]); i++) {
        if (wants_one(&contenders[i]))
            measure_one(&contenders[i]);
        if (wants_many(&contenders[i]))
            measure_many(&contenders[i]);
    }
    bench_path(path, sizeof(path), "store-peers.texts");
    (void)remove(path);
    return 0;
}
