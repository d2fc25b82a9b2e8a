/*
 * A chat that takes part in another one as one agent, in processes that are
 * killed: before and after each of their commits, and inside of a tool of an
 * inner agent. Another process makes what is left of the turn: no answer of a
 * model and no call of a tool that had ended is made again.
 *
 * Inside are a model with a tool and one without. Which was asked and which
 * tool was called is written down at once, in a file, so that a kill loses
 * nothing.
 */
#include <unistd.h>

#include <perdure/chat_store.h>
#include <perdure/sys/channel.h>

#include "agent_stage.h"
#include "point_store.h"
#include "processes.h"
#include "room.h"

#define S           pdr_str_c
#define LEASE_MS    60000 /* nobody renews it by the clock */
#define LONGEST_S   60    /* then a process has hung */
#define MOST_POINTS 30    /* more than there are */

/* --- a process -------------------------------------------------------------
 */

struct part;

struct model {
    pdr_client base; /* first */
    const struct part *part;
    const char *name;
};

struct part {
    const char *folder, *process;
    struct model models[3];
    pdr_agent *agents[3]; /* inside: "a", "b"; outside: "g" */
    pdr_aggregate inside;
    pdr_store *store;
    pdr_chat *chat;
};

static void note(const struct part *p, const char *what, const char *words)
{
    char path[400];
    FILE *out = NULL;

    (void)snprintf(path, sizeof(path), "%s/events", p->folder);
    out = fopen(path, "a");
    if (out == NULL || fprintf(out, "%s %s%s\n", p->process, what, words) < 0 ||
        fclose(out) != 0)
        _exit(2);
}

static bool failed(const struct part *p, const char *what, const pdr_err *err)
{
    fprintf(stderr, "process %s, %s: %s (%s)\n", p->process, what, err->message,
            err->reason != NULL ? err->reason : "");
    return false;
}

/* What is in a message, as words: "u", "!call", "=result". */
static void words_add(pdr_buf *out, const pdr_value *message, pdr_shape shape)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, shape));
    while (pdr_iter_next(&it)) {
        pdr_content_kind kind = pdr_content_kind_of(it.value, shape);
        const pdr_value *text =
            pdr_content_get(it.value, shape, PDR_FIELD_TEXT);
        pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
        pdr_str word = kind == PDR_CONTENT_CALL     ? S("!call")
                       : kind == PDR_CONTENT_RESULT ? S("=result")
                                                    : S("?");

        if ((kind == PDR_CONTENT_TEXT &&
             pdr_value_text(&word, text, &scratch, NULL) != PDR_OK) ||
            pdr_buf_printf(out, NULL, " %.*s", (int)word.len, word.ptr) !=
                PDR_OK)
            _exit(2);
        pdr_buf_dispose(&scratch);
    }
}

static const char *words_end(pdr_buf *words)
{
    if (pdr_buf_append(words, pdr_str_n("", 1), NULL) != PDR_OK)
        _exit(2);
    return words->ptr;
}

/* It calls its tool twice, if it has one, unless there is a result. */
static pdr_rc model_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    const struct model *m = (const struct model *)self;
    pdr_buf words = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *contents[2] = {NULL, NULL};
    pdr_update update = {.content_count = 1,
                         .contents = (const pdr_value *const *)contents};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < request->count; i++)
        words_add(&words, request->messages[i].value,
                  request->messages[i].shape);
    note(m->part, "asked ", m->name);
    if (request->tool_count > 0 &&
        strstr(words_end(&words), " =result") == NULL)
        update.content_count = 2;
    for (size_t i = 0; update.content_count == 2 && rc == PDR_OK && i < 2; i++)
        rc = pdr_content_new_call(&contents[i], request->shape,
                                  S(i == 0 ? "c1" : "c2"), S("look"), S("{}"),
                                  err);
    if (update.content_count == 1)
        rc =
            pdr_content_new_text(&contents[0], request->shape, S(m->name), err);
    if (rc == PDR_OK)
        rc = fn(&update, err, arg);
    pdr_value_free(contents[0]);
    pdr_value_free(contents[1]);
    pdr_buf_dispose(&words);
    return rc;
}

static void model_free(pdr_client *self)
{
    (void)self;
}

static const pdr_client_ops model_ops = {PDR_CLIENT_OPS_VERSION, "kill",
                                         model_send, model_free};

static pdr_rc tool_work(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    char id[24];

    (void)snprintf(id, sizeof(id), "%.*s", (int)call->call_id.len,
                   call->call_id.ptr);
    note(arg, "tool ", id);
    point_reach(POINT_TOOL);
    return pdr_value_new_string(out, call->call_id, err);
}

static pdr_rc inside_make(pdr_chat **out, pdr_err *err, void *arg)
{
    const struct part *p = arg;
    const pdr_chat_opts opts = {.max_turns = 2};
    pdr_rc rc = pdr_chat_new(out, &opts, err);

    for (size_t i = 0; rc == PDR_OK && i < 2; i++) {
        const pdr_chat_joining joining = {.agent = p->agents[i]};

        rc = pdr_chat_join(*out, &joining, err);
    }
    return rc;
}

/* The second process lives when the lease of the first one has lapsed. */
static int64_t now_of(const struct part *p)
{
    return wall_ms() + (p->process[0] == '2' ? 2 * LEASE_MS : 0);
}

/* A chat of its own on what is stored. Gives whether a turn was cut off. */
static bool attach(bool *is_open, struct part *p)
{
    const pdr_chat_home home = {.store = p->store,
                                .ref = {.id = S("c")},
                                .create = true,
                                .lease_ms = LEASE_MS};
    const pdr_chat_joining joining = {.agent = p->agents[2],
                                      .kind = pdr_channel_aggregate(),
                                      .arg = &p->inside};
    const pdr_chat_apply_opts opts = {.now_ms = now_of(p)};
    pdr_chat_report *report = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_chat_new(&p->chat, NULL, &err) != PDR_OK ||
        pdr_chat_join(p->chat, &joining, &err) != PDR_OK ||
        pdr_chat_attach(&report, p->chat, &home, &opts, &err) != PDR_OK)
        return failed(p, "attach", &err);
    for (size_t i = 0; report != NULL && i < report->count; i++)
        *is_open |= report->rows[i].what == PDR_CHAT_OPEN_TURN;
    pdr_chat_report_free(report);
    return true;
}

/* What is outside and inside. */
static bool logs_note(const struct part *p)
{
    const pdr_chat_call call = {.now_ms = now_of(p)};
    pdr_buf words = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_message message;
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_iter it;

    for (uint64_t seq = 1; pdr_chat_message_at(&message, p->chat, seq); seq++)
        words_add(&words, message.value, PDR_SHAPE_SK);
    note(p, "outside", words_end(&words));
    pdr_buf_clear(&words);
    if (pdr_chat_read_as(&list, p->chat, S("g"), true, &call, &err) != PDR_OK)
        return failed(p, "read", &err);
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it))
        words_add(&words, it.value, PDR_SHAPE_SK);
    note(p, "inside", words_end(&words));
    pdr_value_free(list);
    pdr_buf_dispose(&words);
    return true;
}

/* A pdr_chat_call fn. */
static pdr_rc hear(const pdr_chat_event *event, pdr_err *err, void *arg)
{
    pdr_buf words = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    if (event->message != NULL) {
        words_add(&words, event->message->value, PDR_SHAPE_SK);
        note(arg, "told", words_end(&words));
    }
    pdr_buf_dispose(&words);
    return PDR_OK;
}

static bool agents_make(struct part *p)
{
    static const char *const names[] = {"a", "b", "g"};
    const pdr_tool tool = {.name = "look", .fn = tool_work, .arg = p};
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < 3; i++) {
        const pdr_agent_parts parts = {.id = S(names[i]),
                                       .name = S(names[i]),
                                       .client = &p->models[i].base,
                                       .tools = &tool,
                                       .tool_count = i == 0};

        p->models[i].part = p;
        p->models[i].name = names[i];
        if (pdr_client_init(&p->models[i].base, &model_ops, &err) != PDR_OK ||
            pdr_agent_new(&p->agents[i], &parts, &err) != PDR_OK)
            return failed(p, "agent", &err);
    }
    return true;
}

/* "FOLDER NAME MODE KIND NTH AFTER": say something and let the group speak, or
 * go on where somebody else was killed in that. */
TEST_ROLE(talk)
{
    struct part p = {.folder = argv[0], .process = argv[1]};
    struct point_plan point;
    pdr_chat_call call = {.fn = hear, .arg = &p};
    char uri[400];
    pdr_err err = PDR_ERR_INIT;
    bool is_open = false, good = argc == 6;

    if (!good)
        return 2;
    call.now_ms = now_of(&p);
    (void)alarm(LONGEST_S);
    p.inside = (pdr_aggregate){.make = inside_make,
                               .arg = &p,
                               .mode = argv[2][0] == 'n' ? PDR_AGGREGATE_NESTED
                                                         : PDR_AGGREGATE_FLAT};
    point = (struct point_plan){(enum point_kind)strtol(argv[3], NULL, 10),
                                (size_t)strtol(argv[4], NULL, 10),
                                strcmp(argv[5], "1") == 0};
    (void)snprintf(uri, sizeof(uri), "point:sqlite:%s/c.db", p.folder);
    if (point_store_register(&point, NULL, NULL, &err) != PDR_OK ||
        pdr_store_open(&p.store, uri, &err) != PDR_OK)
        good = failed(&p, "store", &err);
    good = good && agents_make(&p) && attach(&is_open, &p) && logs_note(&p);
    if (good && pdr_chat_message_count(p.chat) == 0 &&
        pdr_chat_add_text(p.chat, S("u"), pdr_str_n(NULL, 0), &err) != PDR_OK)
        good = failed(&p, "add", &err);
    if (good && (is_open || pdr_chat_message_count(p.chat) == 1))
        good = pdr_chat_run(p.chat, &call, &err) == PDR_OK ||
               failed(&p, "run", &err);
    good = good && logs_note(&p);
    pdr_chat_free(p.chat);
    for (size_t i = 0; i < 3; i++)
        pdr_agent_free(p.agents[i]);
    pdr_store_close(p.store);
    return good ? 0 : 1;
}

/* --- what they wrote down --------------------------------------------------
 */

static size_t lines_of(const char *events, const char *begin)
{
    size_t count = 0;

    for (const char *at = events; *at != '\0'; at += strcspn(at, "\n") + 1)
        count += strncmp(at, begin, strlen(begin)) == 0;
    return count;
}

static size_t words_count(const char *words, const char *word)
{
    size_t count = 0;

    for (const char *at = words; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

/* The words after the n-th line that begins so; owned: release with free(). */
static char *line_get(const char *events, const char *begin, int n)
{
    for (const char *at = events; *at != '\0'; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, begin, strlen(begin)) == 0 && --n == 0)
            return strndup(at + strlen(begin),
                           strcspn(at, "\n") - strlen(begin));
    }
    fail_msg("no %s:\n%s", begin, events);
    return NULL;
}

/* What the second process found decides what it does. Both calls are in one
 * message, and each result is in one of its own. */
static void events_check(size_t *one_result, const char *events, bool is_nested)
{
    static const char *const ends[] = {
        " u !call !call a b", /* what came of them is unknown */
        " u !call !call =result a b", " u !call !call =result =result a b"};
    static const char *const ids[] = {"1 tool c1", "1 tool c2", "2 tool c1",
                                      "2 tool c2"};
    char *found = line_get(events, "2 inside", 1);
    char *outside = line_get(events, "2 outside", 2);
    char *inside = line_get(events, "2 inside", 2);
    const bool has_call = strstr(found, " !call") != NULL;
    const bool has_a = strstr(found, " a") != NULL;
    const bool has_b = strstr(found, " b") != NULL;
    const size_t results = words_count(has_call ? found : inside, " =result");

    ASSERT_STR(is_nested ? " u b" : " u a b", outside);
    ASSERT(results <= 2);
    ASSERT_STR(ends[results], inside);
    *one_result += has_call && results == 1;
    for (size_t i = 0; i < 2; i++)
        ASSERT(lines_of(events, ids[i]) + lines_of(events, ids[i + 2]) <= 1);
    ASSERT_SIZE(has_call ? 0 : 2, lines_of(events, "2 tool"));
    ASSERT_SIZE(has_a ? 0 : has_call ? 1 : 2, lines_of(events, "2 asked a"));
    ASSERT_SIZE(has_b ? 0 : 1, lines_of(events, "2 asked b"));
    ASSERT(lines_of(events, "1 told") + lines_of(events, "2 told") <=
           (is_nested ? 1u : 2u));
    free(found);
    free(outside);
    free(inside);
}

static pid_t play(const struct room *room, const char *process, bool is_nested,
                  const struct point_plan *point)
{
    char numbers[3][24];

    (void)snprintf(numbers[0], sizeof(numbers[0]), "%d", (int)point->kind);
    (void)snprintf(numbers[1], sizeof(numbers[1]), "%zu", point->nth);
    (void)snprintf(numbers[2], sizeof(numbers[2]), "%d", point->after);
    return process_start(
        "talk", (const char *const[]){room->path, process,
                                      is_nested ? "nested" : "flat", numbers[0],
                                      numbers[1], numbers[2], NULL});
}

/* One process dies at the point, another one goes on; false: it did not die. */
static bool kill_at(size_t *one_result, const struct point_plan *point,
                    bool is_nested)
{
    const struct point_plan none = {.nth = 0};
    struct room room;
    char *events = NULL;
    size_t len = 0;
    bool was_killed = false;

    room_enter(&room);
    was_killed =
        process_end(play(&room, "1", is_nested, point), true) == PROCESS_KILLED;
    ASSERT(process_end(play(&room, "2", is_nested, &none), true) ==
           PROCESS_DONE);
    events = room_get(&room, "events", &len);
    ASSERT(events != NULL);
    events_check(one_result, events, is_nested);
    free(events);
    room_leave(&room);
    return was_killed;
}

/* `*one_result`: of so many kills one result was stored, and one was not. */
static size_t kill_everywhere(size_t *one_result, enum point_kind kind,
                              bool is_nested)
{
    size_t killed = 0;
    bool was_killed = true;

    for (size_t nth = 1; was_killed && nth < MOST_POINTS; nth++) {
        for (int after = 0; was_killed && after <= (kind != POINT_TOOL);
             after++) {
            const struct point_plan point = {kind, nth, after == 1};

            was_killed = kill_at(one_result, &point, is_nested);
            killed += was_killed;
        }
    }
    return killed;
}

TEST(chat_group_kill, makes_nothing_again_that_had_ended)
{
    COVERS("C-103");
    COVERS("C-105");

    for (int is_nested = 0; is_nested < 2; is_nested++) {
        size_t one_result = 0;
        size_t steps = kill_everywhere(&one_result, POINT_STEP, is_nested == 1);
        size_t held = kill_everywhere(&one_result, POINT_HELD, is_nested == 1);

        print_message("%s: %zu kills at the ends of turns, %zu inside, %zu "
                      "between two results\n",
                      is_nested ? "nested" : "flat", steps, held, one_result);
        ASSERT(steps >= 8 && held >= 10 && one_result == 2);
    }
}

TEST(chat_group_kill, inside_of_a_tool)
{
    COVERS("C-105");
    size_t one_result = 0;

    for (int is_nested = 0; is_nested < 2; is_nested++)
        ASSERT_SIZE(2,
                    kill_everywhere(&one_result, POINT_TOOL, is_nested == 1));
    ASSERT_SIZE(2, one_result);
}
