/* durable_crash.c - see durable_crash.h. */
#include "durable_crash.h"

#include <unistd.h>

#include "durable_actor.h"
#include "processes.h"
#include "room.h"

#define LEASE_MS    150
#define POLL_MS     20
#define RENEWALS    3
#define LONGEST_S   180 /* then a process has hung */
#define SESSION_KEY "k"
#define SESSION_ID  "@dafx-" ACTOR_AGENT "@" SESSION_KEY
#define MAX_CALLS   8
#define AT_ONCE     8      /* crashes; even */
#define LAST        "last" /* one more operation: the session goes on */

#define UNKNOWN                                                             \
    "Error: The outcome of this call is unknown: the process that made it " \
    "ended before the tool did. Find out what happened before you call it " \
    "again."

/* --- the processes ---------------------------------------------------------
 */

struct part {
    struct crash_scene scene;
    bool is_waiting; /* a tool is; atomic */
    bool is_sent;    /* the second operation is; atomic */
};

/* Has the engine been told to stop? It says so to whoever asks. */
static bool is_stopping(struct actor *actor)
{
    struct actor_room room;
    pdr_operation operation = actor_operation(&room, SESSION_KEY, "nobody", "");

    return pdr_engine_cancel(actor->engine, &operation.session,
                             operation.correlation_id, NULL) == PDR_EMISUSE;
}

/* May the tool `wait` end? */
static bool goes_on(struct actor *actor)
{
    struct part *part = actor->arg;

    __atomic_store_n(&part->is_waiting, true, __ATOMIC_SEQ_CST);
    switch (part->scene.way) {
    case CRASH_ONE_BY_ONE:
        return true;
    case CRASH_QUEUED:
        return __atomic_load_n(&part->is_sent, __ATOMIC_SEQ_CST);
    case CRASH_HANDED_BACK:
        return is_stopping(actor);
    case CRASH_RENEWED:
        return point_count(POINT_RENEWAL) >= RENEWALS;
    case CRASH_STREAMED:
        return point_count(POINT_STREAM) >= 1;
    }
    return true;
}

static bool failed(const struct actor *actor, const char *what,
                   const pdr_err *err)
{
    fprintf(stderr, "part %s, %s: %s\n", actor->opts.part, what, err->message);
    return false;
}

static bool op_send(struct actor *actor, const struct crash_operation *op)
{
    struct actor_room room;
    pdr_operation operation =
        actor_operation(&room, SESSION_KEY, op->id, op->text);
    pdr_err err = PDR_ERR_INIT;
    pdr_sent sent;

    if (pdr_engine_send(&sent, actor->engine, &operation, &err) != PDR_OK)
        return failed(actor, op->id, &err);
    actor_note(actor, "sent %s %s", op->id,
               sent.is_repeated ? "again" : "first");
    return true;
}

static bool op_wait(struct actor *actor, const struct crash_operation *op)
{
    struct actor_room room;
    pdr_operation operation =
        actor_operation(&room, SESSION_KEY, op->id, op->text);
    pdr_err err = PDR_ERR_INIT;
    pdr_ending *ending = NULL;

    if (pdr_engine_wait(&ending, actor->engine, &operation.session,
                        operation.correlation_id, ACTOR_WAIT_MS,
                        &err) != PDR_OK)
        return failed(actor, op->id, &err);
    actor_note(actor, "ended %s %d", op->id, (int)ending->state);
    pdr_ending_free(ending);
    return true;
}

/* All of them, and then those who wait for them. */
static bool do_at_once(struct actor *actor, const struct crash_operation *ops)
{
    struct part *part = actor->arg;
    bool good = true;

    for (size_t i = 0; good && i < CRASH_OPS && ops[i].id != NULL; i++)
        good = op_send(actor, &ops[i]);
    __atomic_store_n(&part->is_sent, true, __ATOMIC_SEQ_CST);
    for (size_t i = 0; good && i < CRASH_OPS && ops[i].id != NULL; i++)
        good = op_wait(actor, &ops[i]);
    return good;
}

/* Whoever waits for a run hears of its end a moment before the session is at
 * rest for the engine. */
static void rest(struct actor *actor)
{
    int64_t end = monotonic_us() + ACTOR_WAIT_MS * INT64_C(1000);
    pdr_engine_counts counts;

    do
        pdr_engine_counts_get(&counts, actor->engine);
    while (counts.at_work > 0 && monotonic_us() < end);
}

static bool do_one_by_one(struct actor *actor,
                          const struct crash_operation *ops)
{
    bool good = true;

    for (size_t i = 0; good && i < CRASH_OPS && ops[i].id != NULL; i++) {
        good = op_send(actor, &ops[i]) && op_wait(actor, &ops[i]);
        rest(actor);
    }
    return good;
}

/* Send it, and stop when it is in a tool. */
static bool do_hand_back(struct actor *actor, const struct crash_operation *ops)
{
    struct part *part = actor->arg;
    int64_t end = monotonic_us() + ACTOR_WAIT_MS * INT64_C(1000);
    pdr_err err = PDR_ERR_INIT;

    if (!op_send(actor, &ops[0]))
        return false;
    while (!__atomic_load_n(&part->is_waiting, __ATOMIC_SEQ_CST) &&
           monotonic_us() < end)
        sleep_us(1000);
    return pdr_engine_stop(actor->engine, PDR_STOP_HAND_BACK, 0, &err) ==
               PDR_OK ||
           failed(actor, "stop", &err);
}

/* The one that goes on: it does not know what the first one did, so it sends
 * everything again. Then the session must take one more. */
static bool do_again(struct actor *actor, const struct crash_operation *ops)
{
    const struct crash_operation last = {LAST, "-"};

    return do_at_once(actor, ops) && op_send(actor, &last) &&
           op_wait(actor, &last);
}

static bool part_play(struct actor *actor)
{
    const struct part *part = actor->arg;
    const struct crash_operation *ops = part->scene.operations;

    if (actor->opts.part[0] != '1')
        return do_again(actor, ops);
    switch (part->scene.way) {
    case CRASH_QUEUED:
        return do_at_once(actor, ops);
    case CRASH_HANDED_BACK:
        return do_hand_back(actor, ops);
    case CRASH_ONE_BY_ONE:
    case CRASH_RENEWED:
    case CRASH_STREAMED:
        break;
    }
    return do_one_by_one(actor, ops);
}

/* crash FOLDER PART WAY PARALLEL KIND NTH AFTER ID TEXT ... */
TEST_ROLE(crash)
{
    static struct actor actor;
    static struct part part;
    struct actor_opts opts = {
        .workers = 4, .lease_ms = LEASE_MS, .poll_ms = POLL_MS};
    bool good = false;

    if (argc < 7 || argc > 7 + 2 * CRASH_OPS || argc % 2 == 0)
        return 2;
    (void)alarm(LONGEST_S);
    opts.folder = argv[0];
    opts.part = argv[1];
    part.scene.way = (enum crash_way)strtol(argv[2], NULL, 10);
    opts.parallel = (unsigned)strtol(argv[3], NULL, 10);
    opts.point = (struct point_plan){(enum point_kind)strtol(argv[4], NULL, 10),
                                     (size_t)strtol(argv[5], NULL, 10),
                                     strcmp(argv[6], "1") == 0};
    for (int i = 0; 7 + 2 * i < argc; i++)
        part.scene.operations[i] = (struct crash_operation){
            argv[7 + 2 * i],
            strcmp(argv[8 + 2 * i], "reset") != 0 ? argv[8 + 2 * i] : NULL};
    if (argv[1][0] == '1')
        opts.goes_on = goes_on;
    good = actor_begin(&actor, &opts);
    actor.arg = &part;
    good = good && part_play(&actor);
    if (good)
        actor_note(&actor, "commits %zu", point_count(POINT_STEP));
    actor_end(&actor);
    return good ? 0 : 1;
}

/* --- what they wrote down --------------------------------------------------
 */

/* Lines that are exactly this one. */
static size_t lines(const char *events, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static size_t lines(const char *events, const char *format, ...)
{
    char line[400];
    size_t count = 0, len = 0;
    va_list args;

    va_start(args, format);
    len = (size_t)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (const char *at = events; *at != '\0'; at += strcspn(at, "\n") + 1)
        count += strncmp(at, line, len) == 0 && at[len] == '\n';
    return count;
}

static size_t commits_of(const char *events)
{
    const char *at = strstr(events, "1 commits ");

    return at != NULL ? (size_t)strtol(at + 10, NULL, 10) : 0;
}

/* --- what they had to do ---------------------------------------------------
 */

struct crash {
    const struct crash_scene *scene;
    struct crash_result *out;
    struct point_plan point;
    enum process_end first, second; /* processes */
    struct room room;
    char *events;          /* owned */
    const char *reference; /* the history without a crash; NULL: this is
                              the run that makes it */
    char *history;         /* owned */
    bool is_unknown[CRASH_OPS][MAX_CALLS]; /* results that nobody knows */
};

static void complain(const struct crash *c, size_t *counter, const char *what,
                     const char *id, size_t n)
{
    (*counter)++;
    print_error("%s, %s %s %zu: %s, operation %s, %zu\n", c->scene->name,
                c->point.after ? "after" : "before",
                point_kind_word(c->point.kind), c->point.nth, what, id, n);
}

/* An answer that is in the journal is not asked for again, and each other one
 * once. */
static void check_model(struct crash *c, const struct crash_operation *op,
                        bool was_done)
{
    size_t answers = lines(c->events, "1 answer %s", op->id);

    for (size_t step = 0; step <= actor_steps(op->text); step++) {
        size_t first = lines(c->events, "1 asked %s %zu", op->text, step);
        size_t second = lines(c->events, "2 asked %s %zu", op->text, step);
        size_t wanted = was_done || step < answers ? 0 : 1;

        if (first > 1 || second > wanted)
            complain(c, &c->out->asked, "asked again", op->id, step);
        if (second < wanted)
            complain(c, &c->out->lost, "not asked", op->id, step);
        if (first > 0 && lines(c->events, "1 known %s", op->id) == 0)
            complain(c, &c->out->hasty, "asked too early", op->id, step);
    }
}

/* A call that has ended is not made again, one that was started only if it may
 * be, each other one once. */
static void check_call(struct crash *c, size_t i, size_t n, bool was_done)
{
    const struct crash_operation *op = &c->scene->operations[i];
    char name[16];
    bool can_repeat = actor_is_repeatable(actor_call(name, op->text, n));
    bool started = lines(c->events, "1 started %s %zu", op->id, n) > 0;
    bool ended = lines(c->events, "1 result %s %zu", op->id, n) > 0;
    size_t first =
        lines(c->events, "1 begin " SESSION_ID "/%s/c%zu", op->id, n);
    size_t second =
        lines(c->events, "2 begin " SESSION_ID "/%s/c%zu", op->id, n);
    size_t wanted = was_done || ended || (started && !can_repeat) ? 0 : 1;

    if (first > 1 || second > wanted || (first + second > 1 && !can_repeat))
        complain(c, &c->out->doubled, "called again", op->id, n);
    if (second < wanted)
        complain(c, &c->out->lost, "not called", op->id, n);
    if (first > 0 && !started)
        complain(c, &c->out->hasty, "called too early", op->id, n);
    if (was_done || ended || !started)
        return;
    c->is_unknown[i][n] = !can_repeat;
    c->out->unknown += !can_repeat;
    c->out->repeated += can_repeat && first > 0;
}

/* It is found if it is there, and ends. */
static void check_operation(struct crash *c, size_t i)
{
    const struct crash_operation *op = &c->scene->operations[i];
    bool was_known = lines(c->events, "1 known %s", op->id) > 0;
    bool was_done = lines(c->events, "1 done %s", op->id) > 0;

    was_known |= was_done; /* one commit did both */
    c->out->known += was_known;
    c->out->resumed += !was_done && lines(c->events, "1 answer %s", op->id) > 0;
    if (lines(c->events, "2 sent %s %s", op->id,
              was_known ? "again" : "first") != 1)
        complain(c, &c->out->lost, "not found, or found", op->id, was_known);
    if (lines(c->events, "2 ended %s %d", op->id, PDR_OPERATION_COMPLETED) != 1)
        complain(c, &c->out->lost, "not completed", op->id, 0);
    if (lines(c->events, "1 done %s", op->id) +
            lines(c->events, "2 done %s", op->id) !=
        1)
        complain(c, &c->out->doubled, "ended twice, or never", op->id, 0);
    if (op->text == NULL)
        return;
    check_model(c, op, was_done);
    for (size_t n = 0; n < actor_calls_before(op->text, SIZE_MAX); n++)
        check_call(c, i, n, was_done);
}

/* --- what is stored --------------------------------------------------------
 */

/* Write a body without the times in it. */
static void put_timeless(FILE *out, pdr_str body)
{
    const char *word = "\"createdAt\":\"", *at = body.ptr;
    const char *end = body.ptr + body.len;

    while (at < end) {
        const char *next = memmem(at, (size_t)(end - at), word, strlen(word));
        size_t len = (size_t)((next != NULL ? next : end) - at);

        fwrite(at, 1, len, out);
        at += len;
        if (next == NULL)
            break;
        at += strlen(word);
        while (at < end && *at != '"')
            at++;
        fputs("\"createdAt\":\"then", out);
    }
    fputc('\n', out);
}

static void read_history(struct crash *c, pdr_store *store, const pdr_ref *ref)
{
    pdr_query query = {.what = PDR_READ_ENTRIES, .ref = *ref, .limit = 200};
    pdr_page *page = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&c->history, &len);

    ASSERT(out != NULL);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    for (size_t i = 0; i < page->count; i++)
        put_timeless(out, page->entries[i].body);
    if (page->head.inbox > 0 || page->head.lease.owner.ptr != NULL ||
        page->head.state != PDR_SESSION_IDLE ||
        page->head.journal_first != page->head.journal_next)
        complain(c, &c->out->lost, "work is left", "of all", 0);
    pdr_page_free(page);
    ASSERT_INT(0, fclose(out));
}

/* The history without a crash, with the results that nobody knows in it. */
static char *expected_history(const struct crash *c)
{
    char *text = NULL, *at = NULL, token[200];
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    ASSERT(out != NULL);
    fputs(c->reference, out);
    ASSERT_INT(0, fclose(out));
    for (size_t i = 0; i < CRASH_OPS; i++) {
        for (size_t n = 0; n < MAX_CALLS; n++) {
            char *old = text;

            (void)snprintf(token, sizeof(token), "did " SESSION_ID "/%s/c%zu\"",
                           c->scene->operations[i].id, n);
            if (!c->is_unknown[i][n] || (at = strstr(text, token)) == NULL)
                continue;
            text = NULL;
            out = open_memstream(&text, &len);
            ASSERT(out != NULL);
            fprintf(out, "%.*s" UNKNOWN "%s", (int)(at - old), old,
                    at + strlen(token) - 1);
            ASSERT_INT(0, fclose(out));
            free(old);
        }
    }
    return text;
}

static void check_store(struct crash *c)
{
    const pdr_ref ref = {.id = pdr_str_c(SESSION_ID)};
    pdr_store *store = NULL;
    char uri[400], *expected = NULL;

    (void)snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&c->room, "a.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    if (pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL) != PDR_OK)
        complain(c, &c->out->unsound, "not sound", "of all", 0);
    read_history(c, store, &ref);
    pdr_store_close(store);
    if (c->reference == NULL)
        return;
    expected = expected_history(c);
    if (strcmp(expected, c->history) != 0) {
        complain(c, &c->out->wrong, "another history", "of all", 0);
        print_error("expected:\n%sactual:\n%s", expected, c->history);
    }
    free(expected);
}

/* --- crashes ---------------------------------------------------------------
 */

static pid_t play(const struct crash *c, const char *part,
                  const struct point_plan *point)
{
    const struct crash_scene *scene = c->scene;
    char numbers[4][24];
    const char *args[8 + 2 * CRASH_OPS] = {c->room.path, part};
    size_t count = 2;

    (void)snprintf(numbers[0], sizeof(numbers[0]), "%d", (int)scene->way);
    (void)snprintf(numbers[1], sizeof(numbers[1]), "%u", scene->parallel);
    (void)snprintf(numbers[2], sizeof(numbers[2]), "%d", (int)point->kind);
    (void)snprintf(numbers[3], sizeof(numbers[3]), "%zu", point->nth);
    for (size_t i = 0; i < 4; i++)
        args[count++] = numbers[i];
    args[count++] = point->after ? "1" : "0";
    for (size_t i = 0; i < CRASH_OPS && scene->operations[i].id != NULL; i++) {
        const char *text = scene->operations[i].text;

        args[count++] = scene->operations[i].id;
        args[count++] = text != NULL ? text : "reset";
    }
    args[count] = NULL;
    return process_start("crash", args);
}

static void crash_check(struct crash *c)
{
    size_t len = 0;

    if (c->first == PROCESS_FAILED)
        complain(c, &c->out->failures, "the first process failed", "of all", 0);
    if (c->second != PROCESS_DONE)
        complain(c, &c->out->failures, "the second process failed", "of all",
                 0);
    c->events = room_get(&c->room, "events", &len);
    ASSERT(c->events != NULL);
    for (size_t i = 0; i < CRASH_OPS; i++)
        if (c->scene->operations[i].id != NULL)
            check_operation(c, i);
    if (c->second == PROCESS_DONE)
        check_store(c);
    if (c->first == PROCESS_DONE && c->out->commits == 0)
        c->out->commits = commits_of(c->events);
    c->out->runs++;
    c->out->killed += c->first == PROCESS_KILLED;
    free(c->events);
}

/* Each in its room, with two processes; all at the same time, since they wait
 * for leases more than they do anything. */
static void crash_all(struct crash *crashes, size_t count)
{
    const struct point_plan none = {.nth = 0};
    pid_t processes[AT_ONCE];

    for (size_t i = 0; i < count; i++) {
        room_enter(&crashes[i].room);
        processes[i] = play(&crashes[i], "1", &crashes[i].point);
    }
    for (size_t i = 0; i < count; i++) {
        crashes[i].first = process_end(processes[i], true);
        processes[i] = play(&crashes[i], "2", &none);
    }
    for (size_t i = 0; i < count; i++) {
        crashes[i].second = process_end(processes[i], true);
        crash_check(&crashes[i]);
        room_leave(&crashes[i].room);
    }
}

void crash_everywhere(struct crash_result *out, const struct crash_scene *scene,
                      enum point_kind kind, size_t most)
{
    struct crash start = {.scene = scene, .out = out, .point = {.kind = kind}};
    bool was_killed = true;

    memset(out, 0, sizeof(*out));
    crash_all(&start, 1);
    for (size_t nth = 1; was_killed && nth <= most;) {
        struct crash crashes[AT_ONCE];
        size_t count = 0;

        for (; count < AT_ONCE && nth <= most; count++) {
            crashes[count] =
                (struct crash){.scene = scene,
                               .out = out,
                               .reference = start.history,
                               .point = {kind, nth, count % 2 == 1}};
            nth += kind == POINT_TOOL || count % 2 == 1;
        }
        crash_all(crashes, count);
        was_killed = crashes[count - 1].first == PROCESS_KILLED;
        for (size_t i = 0; i < count; i++)
            free(crashes[i].history);
    }
    free(start.history);
}

/* --- results ---------------------------------------------------------------
 */

void crash_result_add(struct crash_result *sum, const struct crash_result *one)
{
    sum->runs += one->runs;
    sum->killed += one->killed;
    sum->commits += one->commits;
    sum->known += one->known;
    sum->resumed += one->resumed;
    sum->repeated += one->repeated;
    sum->unknown += one->unknown;
    sum->failures += one->failures;
    sum->asked += one->asked;
    sum->doubled += one->doubled;
    sum->hasty += one->hasty;
    sum->lost += one->lost;
    sum->wrong += one->wrong;
    sum->unsound += one->unsound;
}

void crash_result_print(const char *name, const struct crash_result *r)
{
    print_message("%s: %zu kills, %zu commits without one; found again %zu, "
                  "gone on with %zu; calls repeated %zu, unknown %zu\n",
                  name, r->killed, r->commits, r->known, r->resumed,
                  r->repeated, r->unknown);
    print_message("    lost %zu, doubled %zu, asked again %zu, too early %zu, "
                  "wrong %zu, unsound %zu, failed %zu\n",
                  r->lost, r->doubled, r->asked, r->hasty, r->wrong, r->unsound,
                  r->failures);
}

size_t crash_result_bad(const struct crash_result *r)
{
    return r->failures + r->asked + r->doubled + r->hasty + r->lost + r->wrong +
           r->unsound;
}
