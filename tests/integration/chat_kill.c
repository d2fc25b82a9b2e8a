/*
 * Chats in processes that are killed: before and after each of their commits,
 * and inside of a tool. Another process goes on with what they left. Then two
 * processes that share a chat.
 *
 * Three agents take part: a model with a tool, one that takes notes, and one
 * whose thread is at a service, which is a file. What happens is written down
 * at once, so that a kill loses nothing: rows that are durable, what a listener
 * heard, what a model was asked, which tool was called.
 */
#include <unistd.h>

#include <perdure/chat_store.h>

#include "chat_stage.h"
#include "point_store.h"
#include "processes.h"
#include "room.h"

#define LEASE_MS    100
#define LONGEST_S   120 /* then a process has hung */
#define MOST_POINTS 60  /* more than there are */
#define ROUNDS      2   /* of all three agents, in the first process */

/* --- a process -------------------------------------------------------------
 */

struct part {
    pdr_client base; /* first */
    const char *folder, *name;
    pdr_store *store;
    pdr_chat *chat;
    struct chat_notes notes;
    pdr_agent *agents[3];
    pdr_remote remote;
    unsigned said, calls;
};

static const char *const names[] = {"a", "n", "r"};

static void file_add(const struct part *p, const char *file, const char *line)
{
    char path[400];
    FILE *out = NULL;

    (void)snprintf(path, sizeof(path), "%s/%s", p->folder, file);
    out = fopen(path, "a");
    if (out == NULL || fprintf(out, "%s\n", line) < 0 || fclose(out) != 0)
        _exit(2);
}

static void note(const struct part *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(const struct part *p, const char *format, ...)
{
    char line[8000];
    va_list args;
    int len = snprintf(line, sizeof(line), "%s ", p->name);

    va_start(args, format);
    (void)vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
    va_end(args);
    file_add(p, "events", line);
}

/* Messages as words: "u1", "call", "=c1-1". */
static void words_add(pdr_buf *out, const pdr_value *message, pdr_shape shape)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, shape));
    while (pdr_iter_next(&it)) {
        pdr_content_kind kind = pdr_content_kind_of(it.value, shape);
        const bool is_text = kind == PDR_CONTENT_TEXT;
        const pdr_value *value =
            pdr_content_get(it.value, shape,
                            is_text                      ? PDR_FIELD_TEXT
                            : kind == PDR_CONTENT_RESULT ? PDR_FIELD_RESULT
                                                         : PDR_FIELD_CALL_ID);
        pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
        pdr_str text = {NULL, 0};

        if (value == NULL ||
            pdr_value_text(&text, value, &scratch, NULL) != PDR_OK ||
            pdr_buf_printf(out, NULL, " %s%.*s",
                           is_text                      ? ""
                           : kind == PDR_CONTENT_RESULT ? "="
                                                        : "!",
                           text.len > 8 ? 8 : (int)text.len,
                           text.ptr) != PDR_OK)
            _exit(2);
        pdr_buf_dispose(&scratch);
    }
}

static void words_end(pdr_buf *words)
{
    if (pdr_buf_append(words, pdr_str_n("", 1), NULL) != PDR_OK)
        _exit(2);
}

/* It calls its tool once, and says something then. */
static pdr_rc model_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct part *p = (struct part *)self;
    const pdr_request_message *last =
        request->count > 0 ? &request->messages[request->count - 1] : NULL;
    pdr_buf words = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *content = NULL;
    pdr_update update = {.content_count = 1,
                         .contents = (const pdr_value *const *)&content};
    const char *equals = NULL;
    char text[24];
    pdr_rc rc = PDR_OK;

    if (last != NULL)
        words_add(&words, last->value, last->shape);
    words_end(&words);
    equals = strstr(words.ptr, " =c");
    if (request->tool_count == 0 || equals != NULL) {
        (void)snprintf(text, sizeof(text), "s%s-%u", p->name, ++p->said);
        rc = pdr_content_new_text(&content, request->shape, S(text), err);
    } else {
        pdr_buf_clear(&words);
        for (size_t i = 0; i < request->count; i++)
            words_add(&words, request->messages[i].value,
                      request->messages[i].shape);
        words_end(&words);
        note(p, "asked a%s", words.ptr);
        (void)snprintf(text, sizeof(text), "c%s-%u", p->name, ++p->calls);
        rc = pdr_content_new_call(&content, request->shape, S(text), S("look"),
                                  S("{}"), err);
    }
    if (rc == PDR_OK)
        rc = fn(&update, err, arg);
    pdr_value_free(content);
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
    const struct part *p = arg;

    note(p, "tool %.*s", (int)call->call_id.len, call->call_id.ptr);
    point_reach(POINT_TOOL);
    return pdr_value_new_string(out, call->call_id, err);
}

/* --- the service: a file with a line "TOKEN WORD" each ---------------------
 */

/* Whoever creates a thread knows of no other one. */
static pdr_rc service_create(pdr_buf *thread, pdr_cancel *cancel, pdr_err *err,
                             void *self)
{
    const struct part *p = self;
    char path[400];

    (void)cancel;
    (void)snprintf(path, sizeof(path), "%s/thread", p->folder);
    (void)unlink(path);
    return pdr_buf_append(thread, S("t"), err);
}

static pdr_rc service_check(pdr_str thread, pdr_err *err, void *self)
{
    (void)thread;
    (void)err;
    (void)self;
    return PDR_OK;
}

static pdr_rc service_append(pdr_str thread, const pdr_remote_message *message,
                             pdr_cancel *cancel, pdr_err *err, void *self)
{
    const struct part *p = self;
    const pdr_value *text =
        pdr_value_get_c(pdr_value_at(message->parts, 0), "text");
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str word = {NULL, 0};
    char line[300];

    (void)thread;
    (void)cancel;
    if (pdr_value_text(&word, text, &scratch, err) != PDR_OK)
        return PDR_EINVALID;
    (void)snprintf(line, sizeof(line), "%.*s %.*s", (int)message->token.len,
                   message->token.ptr, (int)word.len, word.ptr);
    file_add(p, "thread", line);
    pdr_buf_dispose(&scratch);
    return PDR_OK;
}

static pdr_rc service_find(bool *found, pdr_str thread, pdr_str token,
                           pdr_err *err, void *self)
{
    const struct part *p = self;
    char path[400], line[300];
    FILE *in = NULL;

    (void)thread;
    (void)err;
    *found = false;
    (void)snprintf(path, sizeof(path), "%s/thread", p->folder);
    in = fopen(path, "r");
    while (in != NULL && fgets(line, sizeof(line), in) != NULL)
        *found |=
            strncmp(line, token.ptr, token.len) == 0 && line[token.len] == ' ';
    if (in != NULL)
        (void)fclose(in);
    return PDR_OK;
}

static pdr_rc service_run(pdr_str thread, const pdr_agent *agent,
                          pdr_chat_link *link, pdr_err *err, void *self)
{
    struct part *p = self;
    pdr_value *message = NULL;
    char text[24], line[32];
    pdr_rc rc = PDR_OK;

    (void)thread;
    (void)agent;
    note(p, "asked r");
    for (int i = 0; rc == PDR_OK && i < 2; i++) {
        (void)snprintf(text, sizeof(text), "s%s-%u", p->name, ++p->said);
        (void)snprintf(line, sizeof(line), "own %s", text);
        rc = pdr_message_new_text(&message, PDR_SHAPE_SK, S("assistant"),
                                  S(text), err);
        if (rc == PDR_OK)
            file_add(p, "thread", line);
        if (rc == PDR_OK)
            rc = pdr_chat_link_say(link, message, err);
        pdr_value_free(message);
        message = NULL;
    }
    return rc;
}

static pdr_rc service_read(pdr_str thread, pdr_err *err, void *self,
                           pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                        void *arg),
                           void *arg)
{
    (void)thread;
    (void)err;
    (void)self;
    (void)fn;
    (void)arg;
    return PDR_OK;
}

static pdr_rc service_remove(pdr_str thread, pdr_cancel *cancel, pdr_err *err,
                             void *self)
{
    (void)thread;
    (void)cancel;
    (void)err;
    (void)self;
    return PDR_OK;
}

static const pdr_remote_ops service_ops = {.version = PDR_REMOTE_OPS_VERSION,
                                           .create = service_create,
                                           .check = service_check,
                                           .append = service_append,
                                           .find = service_find,
                                           .run = service_run,
                                           .read = service_read,
                                           .remove = service_remove};

/* --- its chat --------------------------------------------------------------
 */

/* A point_fn: what is durable. */
static void rows_note(const pdr_edit *edit, void *arg)
{
    const struct part *p = arg;

    for (size_t i = 0; i < edit->entry_count; i++) {
        const pdr_entry *row = &edit->entries[i];
        const char *agent = NULL;

        if (row->kind != PDR_ROW_RECORD)
            continue;
        agent = memmem(row->body.ptr, row->body.len, "\"agent\":\"", 9);
        if (agent != NULL)
            note(p, "open %c", agent[9]);
        else
            note(p, "closed");
    }
}

static bool failed(const struct part *p, const char *what, const pdr_err *err)
{
    fprintf(stderr, "part %s, %s: %s (%s)\n", p->name, what, err->message,
            err->reason != NULL ? err->reason : "");
    return false;
}

static bool chat_make(struct part *p)
{
    static const pdr_channel_kind *const kinds[] = {&chat_notes_kind, NULL};
    const pdr_chat_opts opts = {.kinds = kinds, .max_turns = 1};
    const pdr_tool tool = {.name = "look", .fn = tool_work, .arg = p};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_chat_new(&p->chat, &opts, &err) != PDR_OK)
        return failed(p, "chat", &err);
    for (size_t i = 0; i < 3; i++) {
        const pdr_agent_parts parts = {.id = S(names[i]),
                                       .name = S(names[i]),
                                       .client = &p->base,
                                       .tools = &tool,
                                       .tool_count = i == 0};
        const pdr_chat_joining joinings[] = {
            {.kind = NULL},
            {.kind = &chat_notes_kind, .arg = &p->notes},
            {.kind = pdr_channel_remote(), .arg = &p->remote}};
        pdr_chat_joining joining = joinings[i];

        if (p->agents[i] == NULL &&
            pdr_agent_new(&p->agents[i], &parts, &err) != PDR_OK)
            return failed(p, "agent", &err);
        joining.agent = p->agents[i];
        if (pdr_chat_join(p->chat, &joining, &err) != PDR_OK)
            return failed(p, "join", &err);
    }
    return true;
}

static void log_note(const struct part *p)
{
    pdr_buf words = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_message message;

    for (uint64_t seq = 1; pdr_chat_message_at(&message, p->chat, seq); seq++)
        words_add(&words, message.value, PDR_SHAPE_SK);
    words_end(&words);
    note(p, "log%s", words.ptr);
    pdr_buf_dispose(&words);
}

/* A chat of its own on what is stored, when nobody is at work on it. */
static bool attach(struct part *p)
{
    const pdr_chat_home home = {.store = p->store,
                                .ref = {.id = S("c")},
                                .create = true,
                                .lease_ms = LEASE_MS};
    pdr_chat_report *report = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_EBUSY;

    pdr_chat_free(p->chat);
    p->chat = NULL;
    while (rc == PDR_EBUSY || rc == PDR_ECONFLICT) {
        pdr_chat_free(p->chat);
        if (!chat_make(p))
            return false;
        rc = pdr_chat_attach(&report, p->chat, &home, NULL, &err);
        if (rc != PDR_OK)
            sleep_us(2000);
    }
    if (rc != PDR_OK)
        return failed(p, "attach", &err);
    for (size_t i = 0; report != NULL && i < report->count; i++) {
        if (report->rows[i].what == PDR_CHAT_OPEN_TURN)
            note(p, "reported %.*s", (int)report->rows[i].key.len,
                 report->rows[i].key.ptr);
        if (report->rows[i].what == PDR_CHAT_DANGLING_CALL)
            note(p, "dangling %.*s", (int)report->rows[i].key.len,
                 report->rows[i].key.ptr);
    }
    pdr_chat_report_free(report);
    return true;
}

/* A pdr_chat_call fn. */
static pdr_rc hear(const pdr_chat_event *event, pdr_err *err, void *arg)
{
    const struct part *p = arg;
    pdr_buf words = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    if (event->message == NULL)
        return PDR_OK;
    words_add(&words, event->message->value, PDR_SHAPE_SK);
    words_end(&words);
    note(p, "told%s", words.ptr);
    pdr_buf_dispose(&words);
    return PDR_OK;
}

static bool add(struct part *p, const char *word)
{
    pdr_err err = PDR_ERR_INIT;

    if (pdr_chat_add_text(p->chat, S(word), pdr_str_n(NULL, 0), &err) != PDR_OK)
        return failed(p, "add", &err);
    note(p, "told %s", word);
    return true;
}

/* A lease of the dead that has just lapsed may not have for the next clock. */
static bool run(struct part *p)
{
    const pdr_chat_call call = {.fn = hear, .arg = p};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_EBUSY;

    while (rc == PDR_EBUSY)
        rc = pdr_chat_run(p->chat, &call, &err);
    return rc == PDR_OK || failed(p, "run", &err);
}

static bool part_begin(struct part *p, char **argv,
                       const struct point_plan *point)
{
    char uri[400];
    pdr_err err = PDR_ERR_INIT;

    (void)alarm(LONGEST_S);
    p->folder = argv[0];
    p->name = argv[1];
    p->remote = (pdr_remote){
        .ops = &service_ops, .self = p, .service = "https://r.example"};
    (void)snprintf(uri, sizeof(uri), "point:sqlite:%s/c.db", p->folder);
    return (point_store_register(point, rows_note, p, &err) == PDR_OK &&
            pdr_store_open(&p->store, uri, &err) == PDR_OK &&
            pdr_client_init(&p->base, &model_ops, &err) == PDR_OK) ||
           failed(p, "begin", &err);
}

static void part_end(struct part *p)
{
    pdr_chat_free(p->chat);
    for (size_t i = 0; i < 3; i++)
        pdr_agent_free(p->agents[i]);
    pdr_store_close(p->store);
}

/* What the agent that takes notes was given. */
static bool seen_note(const struct part *p)
{
    pdr_buf words = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_iter it;

    if (pdr_chat_read_as(&list, p->chat, S("n"), true, NULL, &err) != PDR_OK)
        return failed(p, "read", &err);
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it))
        words_add(&words, it.value, PDR_SHAPE_SK);
    words_end(&words);
    note(p, "seen%s", words.ptr);
    pdr_buf_dispose(&words);
    pdr_value_free(list);
    return true;
}

/* "FOLDER NAME KIND NTH AFTER": the first one talks, and dies; who comes after
 * it goes on. */
TEST_ROLE(talk)
{
    struct part p = {.said = 0};
    struct point_plan point;
    pdr_err err = PDR_ERR_INIT;
    bool good = argc == 5;

    if (!good)
        return 2;
    point = (struct point_plan){(enum point_kind)strtol(argv[2], NULL, 10),
                                (size_t)strtol(argv[3], NULL, 10),
                                strcmp(argv[4], "1") == 0};
    good = part_begin(&p, argv, &point) && attach(&p);
    if (good)
        log_note(&p);
    if (good && p.name[0] != '1')
        good = run(&p); /* whoever is next */
    for (int i = 0; good && i < ROUNDS; i++) {
        char word[16];

        (void)snprintf(word, sizeof(word), "u%s-%d", p.name, i + 1);
        good = add(&p, word);
        for (int k = 0; good && k < 3; k++)
            good = run(&p);
    }
    if (good && pdr_chat_sync(p.chat, NULL, &err) != PDR_OK)
        good = failed(&p, "sync", &err);
    if (good) {
        log_note(&p);
        good = seen_note(&p);
    }
    part_end(&p);
    return good ? 0 : 1;
}

/* --- what they wrote down --------------------------------------------------
 */

/* The words after the n-th line that begins so; owned: release with free().
 * NULL: there are not so many. */
static char *line_get(const char *events, const char *begin, int n)
{
    size_t len = strlen(begin);

    for (const char *at = events; *at != '\0'; at += strcspn(at, "\n") + 1)
        if (strncmp(at, begin, len) == 0 && --n == 0)
            return strndup(at + len, strcspn(at + len, "\n"));
    return NULL;
}

static size_t lines_of(const char *events, const char *begin)
{
    size_t count = 0;

    for (const char *at = events; *at != '\0'; at += strcspn(at, "\n") + 1)
        count += strncmp(at, begin, strlen(begin)) == 0;
    return count;
}

/* How often is " WORD" in the words? */
static size_t word_count(const char *words, const char *word, size_t len)
{
    size_t count = 0;

    for (const char *at = words; (at = strchr(at, ' ')) != NULL;) {
        at++;
        count += strcspn(at, " ") == len && strncmp(at, word, len) == 0;
    }
    return count;
}

struct verdict {
    size_t killed, open, dangling, resent;
    size_t lost, doubled, forked, wrong, failures;
};

/* No word is there twice, and each that somebody was told of is there. */
static void log_check(struct verdict *v, const char *events, const char *log)
{
    for (const char *at = log; (at = strchr(at, ' ')) != NULL;) {
        at++;
        v->doubled += word_count(log, at, strcspn(at, " ")) != 1;
    }
    for (const char *at = events; *at != '\0'; at += strcspn(at, "\n") + 1) {
        if (strncmp(at + 1, " told ", 6) == 0)
            v->lost += word_count(log, at + 7, strcspn(at + 7, "\n")) != 1;
    }
}

/* What the thread has must be the log without calls. What was said in it and
 * was not committed is in no log. */
static void thread_check(struct verdict *v, const struct room *room,
                         const char *log)
{
    size_t len = 0, expected = 0, found = 0;
    char *thread = room_get(room, "thread", &len);

    for (const char *at = log; (at = strchr(at, ' ')) != NULL;) {
        size_t place = 0, size = 0;
        const char *word = at[1] == '=' ? at + 2 : at + 1;

        if (*++at == '!')
            continue;
        expected++;
        size = strcspn(word, " ");
        for (const char *line = thread; line != NULL && *line != '\0';
             line += strcspn(line, "\n") + 1) {
            const char *said = line + strcspn(line, " ") + 1;

            if (strcspn(said, "\n") != size || strncmp(said, word, size) != 0)
                continue;
            v->doubled += place++ > 0;
            found++;
        }
        v->lost += place == 0;
    }
    v->wrong += expected != found;
    free(thread);
}

/* The turn that was open is reported, and its agent is next. */
static void turn_check(struct verdict *v, const char *events)
{
    size_t opened = lines_of(events, "1 open ");
    char *agent = line_get(events, "1 open ", (int)opened);
    char *reported = line_get(events, "2 reported ", 1);
    char *first = line_get(events, "2 open ", 1);
    bool is_open = opened > lines_of(events, "1 closed");

    v->open += is_open;
    v->wrong += is_open != (reported != NULL);
    if (is_open)
        v->wrong += reported == NULL || first == NULL ||
                    strcmp(agent, reported) != 0 || strcmp(agent, first) != 0;
    free(agent);
    free(reported);
    free(first);
}

/* A call without result is reported, its agent hears of it, and no tool is
 * called twice. */
static void call_check(struct verdict *v, const char *events, const char *log)
{
    const char *last = strrchr(log, ' ');
    bool is_dangling = last != NULL && last[1] == '!';
    char *dangling = line_get(events, "2 dangling ", 1);
    char *asked = line_get(events, "2 asked a", 1);

    v->dangling += is_dangling;
    v->wrong += is_dangling != (dangling != NULL);
    if (is_dangling)
        v->wrong += asked == NULL || strstr(asked, "=Error: T") == NULL;
    for (const char *at = events; *at != '\0'; at += strcspn(at, "\n") + 1) {
        char *line = strndup(at, strcspn(at, "\n"));

        if (strncmp(line + 1, " tool ", 6) == 0)
            v->doubled += lines_of(events, line) != 1;
        free(line);
    }
    free(dangling);
    free(asked);
}

/* --- kills -----------------------------------------------------------------
 */

static pid_t play(const struct room *room, const char *name,
                  const struct point_plan *point)
{
    char numbers[3][24];

    (void)snprintf(numbers[0], sizeof(numbers[0]), "%d", (int)point->kind);
    (void)snprintf(numbers[1], sizeof(numbers[1]), "%zu", point->nth);
    (void)snprintf(numbers[2], sizeof(numbers[2]), "%d", point->after);
    return process_start("talk",
                         (const char *const[]){room->path, name, numbers[0],
                                               numbers[1], numbers[2], NULL});
}

/* One process dies at the point, another one goes on; false: it did not die. */
static bool kill_at(struct verdict *v, const struct point_plan *point,
                    const char *reference)
{
    const struct point_plan none = {.nth = 0};
    struct verdict before = *v;
    struct room room;
    char *events = NULL, *then = NULL, *end = NULL, *seen = NULL;
    size_t len = 0;
    enum process_end first, second;

    room_enter(&room);
    first = process_end(play(&room, "1", point), true);
    second = process_end(play(&room, "2", &none), true);
    v->killed += first == PROCESS_KILLED;
    v->failures += first == PROCESS_FAILED || second != PROCESS_DONE;
    events = room_get(&room, "events", &len);
    ASSERT(events != NULL);
    then = line_get(events, "2 log", 1);
    end = line_get(events, "2 log", 2);
    seen = line_get(events, "2 seen", 1);
    v->wrong += seen == NULL || end == NULL || strcmp(seen, end) != 0;
    if (then != NULL && end != NULL) {
        v->forked += strncmp(reference, then, strlen(then)) != 0 ||
                     strncmp(end, then, strlen(then)) != 0;
        log_check(v, events, end);
        thread_check(v, &room, end);
        turn_check(v, events);
        call_check(v, events, then);
    }
    if (v->lost + v->doubled + v->forked + v->wrong + v->failures >
        before.lost + before.doubled + before.forked + before.wrong +
            before.failures)
        print_error("%s %s %zu:\n%s\n", point->after ? "after" : "before",
                    point_kind_word(point->kind), point->nth, events);
    free(events);
    free(then);
    free(end);
    free(seen);
    room_leave(&room);
    return first == PROCESS_KILLED;
}

/* What the first process says if nobody kills it. */
static char *reference_make(void)
{
    const struct point_plan none = {.nth = 0};
    struct room room;
    char *events = NULL, *log = NULL;
    size_t len = 0;

    room_enter(&room);
    ASSERT(process_end(play(&room, "1", &none), true) == PROCESS_DONE);
    events = room_get(&room, "events", &len);
    log = line_get(events, "1 log", 2);
    ASSERT(log != NULL);
    free(events);
    room_leave(&room);
    return log;
}

static void kill_everywhere(struct verdict *v, enum point_kind kind)
{
    char *reference = reference_make();
    bool was_killed = true;

    memset(v, 0, sizeof(*v));
    for (size_t nth = 1; was_killed && nth < MOST_POINTS; nth++) {
        for (int after = 0; was_killed && after <= (kind != POINT_TOOL);
             after++) {
            const struct point_plan point = {kind, nth, after == 1};

            was_killed = kill_at(v, &point, reference);
        }
    }
    free(reference);
    print_message("%zu kills at a %s: %zu open turns, %zu calls without "
                  "result; lost %zu, doubled %zu, forked %zu, wrong %zu, "
                  "failed %zu\n",
                  v->killed, point_kind_word(kind), v->open, v->dangling,
                  v->lost, v->doubled, v->forked, v->wrong, v->failures);
    ASSERT_SIZE(0, v->lost + v->doubled + v->forked + v->wrong + v->failures);
}

TEST(chat_kill, before_and_after_each_commit_at_which_a_lease_is_taken_or_given)
{
    struct verdict verdict;

    COVERS("C-103");
    COVERS("C-104");
    COVERS("C-105");
    kill_everywhere(&verdict, POINT_STEP);
    ASSERT(verdict.killed >= 30 && verdict.open >= 12);
}

/* Those inside of a turn: a call, a result, what a listener hears of. */
TEST(chat_kill, before_and_after_each_commit_that_holds_the_lease)
{
    struct verdict verdict;

    COVERS("C-103");
    COVERS("C-104");
    COVERS("C-105");
    kill_everywhere(&verdict, POINT_HELD);
    ASSERT(verdict.killed >= 12 && verdict.open >= 12 && verdict.dangling >= 4);
}

TEST(chat_kill, inside_of_a_tool)
{
    struct verdict verdict;

    COVERS("C-105");
    kill_everywhere(&verdict, POINT_TOOL);
    ASSERT_SIZE(ROUNDS, verdict.killed);
    ASSERT_SIZE(ROUNDS, verdict.dangling);
}

/* --- two processes, one chat -------------------------------------------------
 */

/* "FOLDER NAME TIMES": add so many messages, and let an agent speak after each.
 * Whoever is late begins anew. */
TEST_ROLE(share)
{
    const struct point_plan none = {.nth = 0};
    struct part p = {.said = 0};
    long times = 0, late = 0;
    bool good = argc == 3;

    if (!good)
        return 2;
    times = strtol(argv[2], NULL, 10);
    good = part_begin(&p, argv, &none) && attach(&p);
    for (long done = 0; good && done < 2 * times;) {
        const pdr_chat_call call = {.fn = hear, .arg = &p};
        pdr_err err = PDR_ERR_INIT;
        char word[24];
        pdr_rc rc = PDR_OK;

        (void)snprintf(word, sizeof(word), "u%s-%ld", p.name, done);
        if (done % 2 == 0)
            rc = pdr_chat_add_text(p.chat, S(word), pdr_str_n(NULL, 0), &err);
        else
            rc = pdr_chat_run(p.chat, &call, &err);
        if (rc == PDR_OK && done % 2 == 0)
            note(&p, "told %s", word);
        done += rc == PDR_OK;
        late += rc != PDR_OK;
        if (rc == PDR_ECONFLICT || rc == PDR_EBUSY)
            good = attach(&p);
        else if (rc != PDR_OK)
            good = failed(&p, "share", &err);
    }
    note(&p, "late %ld", late);
    part_end(&p);
    return good ? 0 : 1;
}

TEST(chat_share, loses_and_doubles_nothing)
{
    COVERS("C-107");
    const struct point_plan none = {.nth = 0};
    struct verdict v = {.killed = 0};
    struct room room;
    char times[24], *events = NULL, *log = NULL;
    size_t len = 0, late = 0;
    pid_t pids[2];

    room_enter(&room);
    (void)snprintf(times, sizeof(times), "%zu", test_times(60, 20));
    for (size_t i = 0; i < 2; i++)
        pids[i] = process_start(
            "share",
            (const char *const[]){room.path, i == 0 ? "3" : "4", times, NULL});
    for (size_t i = 0; i < 2; i++)
        v.failures += process_end(pids[i], true) != PROCESS_DONE;
    v.failures += process_end(play(&room, "2", &none), true) != PROCESS_DONE;
    events = room_get(&room, "events", &len);
    ASSERT(events != NULL);
    log = line_get(events, "2 log", 2);
    ASSERT(log != NULL);
    log_check(&v, events, log);
    for (int i = 0; i < 2; i++) {
        char *line = line_get(events, i == 0 ? "3 late " : "4 late ", 1);

        late += line != NULL ? strtoul(line, NULL, 10) : 0;
        free(line);
    }
    print_message("2 processes: %zu messages told of, %zu times late; lost "
                  "%zu, doubled %zu, failed %zu\n",
                  lines_of(events, "3 told") + lines_of(events, "4 told"), late,
                  v.lost, v.doubled, v.failures);
    ASSERT_SIZE(0, v.lost + v.doubled + v.failures);
    ASSERT(late > 0);
    free(events);
    free(log);
    room_leave(&room);
}
