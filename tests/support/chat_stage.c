/* chat_stage.c - see chat_stage.h. */
#include "chat_stage.h"

#include <perdure/json.h>

#include "base.h"

/* --- a channel that takes notes --------------------------------------------
 */

struct notes {
    struct chat_notes *all;
    pdr_value *list; /* owned; the messages that it has */
};

static struct chat_notes *notes_of(const pdr_chat_agent *agent)
{
    return agent->arg;
}

static pdr_rc notes_step(const struct chat_notes *all, pdr_cancel *cancel,
                         pdr_err *err)
{
    pdr_rc rc = all->hook != NULL ? all->hook(all->hook_arg, cancel) : PDR_OK;

    if (rc == PDR_OK && pdr_cancel_is_set(cancel))
        rc = PDR_ECANCELLED;
    return rc != PDR_OK ? pdr_err_set(err, rc, "toy_failed", "not today")
                        : PDR_OK;
}

static pdr_rc notes_key(pdr_buf *out, const pdr_chat_agent *agent, pdr_err *err)
{
    pdr_str name = pdr_agent_name(agent->agent);

    while (name.len > 0 && name.ptr[name.len - 1] >= '0' &&
           name.ptr[name.len - 1] <= '9')
        name.len--;
    if (pdr_buf_append(out, name, err) != PDR_OK)
        return PDR_ENOMEM;
    return pdr_buf_append(out, pdr_str_n("", 1), err);
}

static pdr_rc notes_sk_key(pdr_buf *out, const pdr_chat_agent *agent,
                           pdr_err *err)
{
    pdr_rc rc =
        pdr_buf_append(out, pdr_str_n("Example.Chat.HandleChannel", 27), err);

    return rc == PDR_OK ? notes_key(out, agent, err) : rc;
}

static pdr_rc notes_new(void **self, struct chat_notes *all, pdr_err *err)
{
    struct notes *n = pdr__calloc(1, sizeof(*n));

    if (n == NULL)
        return pdr__nomem(err);
    n->all = all;
    n->list = pdr_value_new_array();
    all->created++;
    *self = n;
    return PDR_OK;
}

static pdr_rc notes_create(void **self, const pdr_chat_agent *agent,
                           pdr_cancel *cancel, pdr_err *err)
{
    struct chat_notes *all = notes_of(agent);
    pdr_rc rc = notes_step(all, cancel, err);

    if (rc != PDR_OK)
        return rc;
    if (all->fail_create > 0) {
        all->fail_create--;
        return pdr_err_set(err, PDR_EIO, "toy_failed", "no channel today");
    }
    return notes_new(self, all, err);
}

static void notes_release(void *self)
{
    struct notes *n = self;

    n->all->released++;
    pdr_value_free(n->list);
    pdr__free(n);
}

static pdr_rc notes_restore(void **self, const pdr_chat_agent *agent,
                            const pdr_chat_link *link, uint32_t state_version,
                            bool is_exchange, const pdr_value *state,
                            pdr_err *err)
{
    struct chat_notes *all = notes_of(agent);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *read = NULL;
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    (void)link;
    (void)state_version;
    if (all->fail_restore > 0) {
        all->fail_restore--;
        return pdr_err_set(err, PDR_EIO, "toy_failed", "the thread is gone");
    }
    if (is_exchange && pdr_value_kind(state) == PDR_STRING) {
        rc = pdr_value_text(&text, state, &scratch, err);
        if (rc == PDR_OK)
            rc = pdr_json_read(&read, text, NULL, err);
        if (rc != PDR_OK)
            goto done;
        state = read;
    }
    if (pdr_value_kind(state) != PDR_ARRAY)
        rc = pdr_err_set(err, PDR_EINVALID, "bad_channel_state", "no notes");
    if (rc == PDR_OK)
        rc = notes_new(self, all, err);
    if (rc == PDR_OK) {
        pdr_value_free(((struct notes *)*self)->list);
        ((struct notes *)*self)->list = pdr_value_ref(state);
    }
done:
    pdr_value_free(read);
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc notes_receive(void *self, const pdr_chat_message *message,
                            pdr_cancel *cancel, pdr_err *err)
{
    struct notes *n = self;
    struct chat_notes *all = n->all;
    pdr_rc rc = PDR_OK;

    all->tried++;
    rc = notes_step(all, cancel, err);
    if (rc != PDR_OK)
        return rc;
    if (all->fail_at == (int)message->seq && all->fail_left != 0) {
        all->fail_left -= all->fail_left > 0;
        if (all->keeps_failed)
            ASSERT_RC(PDR_OK, pdr_value_append(&n->list, message->value, err));
        return pdr_err_set(err, PDR_EIO, "toy_failed", "not this one");
    }
    rc = pdr_value_append(&n->list, message->value, err);
    all->received += rc == PDR_OK;
    return rc;
}

/* "name:what", of a message in the shape of chats. */
void chat_describe(pdr_buf *out, const pdr_value *message)
{
    const pdr_value *author = pdr_message_author(message, PDR_SHAPE_SK);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str name = {NULL, 0};
    const char *what = NULL;

    stage_describe(&text, message, PDR_SHAPE_SK);
    what = memchr(text.ptr, ':', text.len);
    if (author != NULL &&
        pdr_value_text(&name, author, &scratch, NULL) == PDR_OK)
        ASSERT_RC(PDR_OK, pdr_buf_append(out, name, NULL));
    else
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(out,
                                 pdr_str_n(text.ptr, (size_t)(what - text.ptr)),
                                 NULL));
    ASSERT_RC(
        PDR_OK,
        pdr_buf_append(
            out, pdr_str_n(what, (size_t)(text.ptr + text.len - what)), NULL));
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&text);
}

static pdr_rc notes_invoke(void *self, const pdr_chat_agent *agent,
                           pdr_chat_link *link, pdr_err *err)
{
    struct notes *n = self;
    const pdr_run run = {.text = S("go on"),
                         .cancel = pdr_chat_link_cancel(link),
                         .now_ms = pdr_chat_link_now(link)};
    pdr_response *response = NULL;
    pdr_value *message = NULL;
    pdr_buf seen = PDR_BUF_INIT(SIZE_MAX);
    size_t len = strlen(n->all->asked);
    pdr_rc rc = pdr_agent_run(&response, agent->agent, &run, err),
           said = PDR_OK;
    pdr_iter it;

    pdr_iter_init(&it, n->list);
    while (pdr_iter_next(&it)) {
        if (it.index > 0)
            ASSERT_RC(PDR_OK, pdr_buf_append(&seen, S(" | "), NULL));
        chat_describe(&seen, it.value);
    }
    snprintf(n->all->asked + len, sizeof(n->all->asked) - len, "%.*s\n",
             (int)seen.len, seen.ptr);
    for (size_t i = 0;
         response != NULL && said == PDR_OK && i < pdr_response_count(response);
         i++) {
        said = pdr_message_convert(&message, pdr_response_message(response, i),
                                   pdr_response_shape(response), PDR_SHAPE_SK,
                                   err);
        if (said == PDR_OK)
            said = pdr_value_append(&n->list, message, err);
        if (said == PDR_OK)
            said = pdr_chat_link_say(link, message, err);
        pdr_value_free(message);
        message = NULL;
    }
    pdr_buf_dispose(&seen);
    pdr_response_free(response);
    return rc != PDR_OK ? rc : said;
}

static pdr_rc notes_read(void *self, const pdr_chat_link *link, pdr_err *err,
                         pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                      void *arg),
                         void *arg)
{
    const struct notes *n = self;
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    (void)link;
    pdr_iter_init(&it, n->list);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = fn(it.value, err, arg);
    return rc;
}

static pdr_rc notes_save(pdr_value **out, void *self, const pdr_chat_link *link,
                         pdr_err *err)
{
    const struct notes *n = self;

    (void)link;
    (void)err;
    *out = pdr_value_ref(n->list);
    return PDR_OK;
}

static pdr_rc notes_reset(void *self, pdr_cancel *cancel, pdr_err *err)
{
    struct notes *n = self;

    (void)cancel;
    if (n->all->fail_reset > 0) {
        n->all->fail_reset--;
        return pdr_err_set(err, PDR_EIO, "toy_failed", "thread t1 stays");
    }
    return PDR_OK;
}

const pdr_channel_kind chat_notes_kind = {
    .version = PDR_CHANNEL_KIND_VERSION,
    .id = "x-test.notes",
    .state_version = 1,
    .key = notes_key,
    .exchange_key = notes_sk_key,
    .agent_type = "Example.Chat.HandleAgent",
    .channel_type = "Example.Chat.HandleChannel",
    .create = notes_create,
    .restore = notes_restore,
    .receive = notes_receive,
    .invoke = notes_invoke,
    .read = notes_read,
    .save = notes_save,
    .reset = notes_reset,
    .release = notes_release,
};

/* --- the chat ---------------------------------------------------------------
 */

void chat_steps(struct chat_stage *stage, size_t place,
                const char *const *steps)
{
    stage->members[place].steps = steps;
}

static pdr_rc member_join(pdr_chat *chat, struct chat_stage *stage,
                          struct chat_member *m, pdr_err *err)
{
    const pdr_chat_joining joining = {.agent = m->agent,
                                      .kind = m->takes_notes ? &chat_notes_kind
                                                             : NULL,
                                      .arg = &stage->notes,
                                      .reduction = m->reduction,
                                      .adapter = m->adapter};
    const pdr_chat_joining group = {
        .agent = m->agent, .kind = pdr_channel_aggregate(), .arg = &m->inside};

    return pdr_chat_join(chat, m->inside.make != NULL ? &group : &joining, err);
}

/* The chat inside of an aggregate, with one agent that has its model. */
static pdr_rc inside_make(pdr_chat **out, pdr_err *err, void *arg)
{
    struct chat_member *m = arg;
    const pdr_agent_parts parts = {
        .id = S("in"), .name = S("in"), .client = &m->model.base};
    pdr_chat_joining joining = {.agent = NULL};
    pdr_rc rc = pdr_chat_new(out, NULL, err);

    if (rc == PDR_OK)
        rc = pdr_agent_new(&joining.agent, &parts, err);
    if (rc == PDR_OK)
        rc = pdr_chat_join(*out, &joining, err);
    pdr_agent_free(joining.agent);
    return rc;
}

pdr_rc chat_join_all(pdr_chat *chat, struct chat_stage *stage, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < stage->count; i++)
        rc = member_join(chat, stage, &stage->members[i], err);
    return rc;
}

static void member_begin(struct chat_stage *stage, pdr_str name)
{
    struct chat_member *m = &stage->members[stage->count];
    pdr_agent_parts parts = {.client = &m->model.base};
    const pdr_tool tool = {
        .name = "look", .fn = stage_tool, .arg = &stage->looked};
    char *target = NULL;

    m->takes_notes = name.ptr[0] == '@';
    m->inside = (pdr_aggregate){.mode = PDR_AGGREGATE_NESTED, .arg = m};
    if (name.ptr[0] == '+')
        m->inside.make = inside_make;
    if (m->takes_notes || m->inside.make != NULL)
        name = pdr_str_n(name.ptr + 1, name.len - 1);
    snprintf(m->name, sizeof(m->name), "%.*s", (int)name.len, name.ptr);
    target = strchr(m->name, ':');
    if (target != NULL) {
        m->reduction.target = (unsigned)strtoul(target + 1, NULL, 10);
        *target = '\0';
    }
    for (size_t i = 0; i < 4; i++) {
        snprintf(m->texts[i], sizeof(m->texts[0]), "say %s %zu", m->name,
                 i + 1);
        m->own[i] = m->texts[i];
    }
    stage_model_init(&m->model, m->steps != NULL ? m->steps : m->own);
    parts.id = parts.name = S(m->name);
    parts.tools = &tool;
    parts.tool_count = m->takes_notes ? 0 : 1;
    ASSERT_RC(PDR_OK, pdr_agent_new(&m->agent, &parts, NULL));
    ASSERT_RC(PDR_OK, member_join(stage->chat, stage, m, NULL));
    stage->count++;
}

void chat_begin(struct chat_stage *stage, const char *names)
{
    static const pdr_channel_kind *const kinds[] = {&chat_notes_kind, NULL};
    pdr_err err = PDR_ERR_INIT;

    if (stage->opts.kinds == NULL)
        stage->opts.kinds = kinds;
    if (pdr_chat_new(&stage->chat, &stage->opts, &err) != PDR_OK)
        fail_msg("no chat: %s", err.message);
    stage->count = 0;
    while (*names != '\0') {
        size_t len = strcspn(names, " ");

        member_begin(stage, pdr_str_n(names, len));
        names += len + (names[len] == ' ');
    }
}

void chat_end(struct chat_stage *stage)
{
    pdr_chat_free(stage->chat);
    for (size_t i = 0; i < stage->count; i++) {
        pdr_agent_free(stage->members[i].agent);
        stage_model_free(&stage->members[i].model);
    }
    stage->chat = NULL;
    stage->count = 0;
    ASSERT_INT(stage->notes.created, stage->notes.released);
}

static pdr_rc hear(const pdr_chat_event *event, pdr_err *err, void *arg)
{
    struct chat_stage *stage = arg;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    size_t len = strlen(stage->heard);

    if (event->update != NULL) {
        stage->pieces++;
        if (stage->on_piece != NULL)
            stage->on_piece(stage);
        return PDR_OK;
    }
    chat_describe(&text, event->message->value);
    snprintf(stage->heard + len, sizeof(stage->heard) - len, "%s%.*s",
             len > 0 ? " | " : "", (int)text.len, text.ptr);
    pdr_buf_dispose(&text);
    if (stage->on_event != NULL)
        stage->on_event(stage);
    return stage->stops != PDR_OK
               ? pdr_err_set(err, stage->stops, "toy_failed", "enough")
               : PDR_OK;
}

static pdr_chat_call call_of(struct chat_stage *stage)
{
    return (pdr_chat_call){
        .cancel = stage->cancel, .now_ms = STAGE_NOW, .fn = hear, .arg = stage};
}

void chat_says(struct chat_stage *stage, const char *text)
{
    ASSERT_RC(PDR_OK, pdr_chat_add_text(stage->chat, S(text),
                                        pdr_str_n(NULL, 0), NULL));
}

pdr_rc chat_invoke(struct chat_stage *stage, const char *name, pdr_err *err)
{
    const pdr_chat_call call = call_of(stage);

    return pdr_chat_invoke(stage->chat, S(name), &call, err);
}

pdr_rc chat_run(struct chat_stage *stage, pdr_err *err)
{
    const pdr_chat_call call = call_of(stage);

    return pdr_chat_run(stage->chat, &call, err);
}

void chat_invokes(struct chat_stage *stage, const char *name)
{
    pdr_err err = PDR_ERR_INIT;

    if (chat_invoke(stage, name, &err) != PDR_OK)
        fail_msg("%s: %s", name, err.message);
}

void chat_runs(struct chat_stage *stage)
{
    pdr_err err = PDR_ERR_INIT;

    if (chat_run(stage, &err) != PDR_OK)
        fail_msg("%s", err.message);
}

void chat_is(const char *expected, struct chat_stage *stage)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_message message;

    for (uint64_t seq = 1; pdr_chat_message_at(&message, stage->chat, seq);
         seq++) {
        if (seq > 1)
            ASSERT_RC(PDR_OK, pdr_buf_append(&text, S(" | "), NULL));
        if (!message.is_visible)
            ASSERT_RC(PDR_OK, pdr_buf_append(&text, S("("), NULL));
        chat_describe(&text, message.value);
        if (!message.is_visible)
            ASSERT_RC(PDR_OK, pdr_buf_append(&text, S(")"), NULL));
    }
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    ASSERT(!pdr_chat_is_active(stage->chat));
}

void chat_sees(const char *expected, struct chat_stage *stage, const char *name)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_iter it;

    if (pdr_chat_read_as(&list, stage->chat, S(name), true, NULL, &err) !=
        PDR_OK)
        fail_msg("%s: %s", name, err.message);
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        if (it.index > 0)
            ASSERT_RC(PDR_OK, pdr_buf_append(&text, S(" | "), NULL));
        chat_describe(&text, it.value);
    }
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_value_free(list);
}

void chat_agrees(struct chat_stage *stage)
{
    pdr_buf log = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_message message;

    for (uint64_t seq = 1; pdr_chat_message_at(&message, stage->chat, seq);
         seq++) {
        if (seq > 1)
            ASSERT_RC(PDR_OK, pdr_buf_append(&log, S(" | "), NULL));
        chat_describe(&log, message.value);
    }
    ASSERT_RC(PDR_OK, pdr_buf_append(&log, pdr_str_n("", 1), NULL));
    for (size_t i = 0; i < stage->count; i++) {
        pdr_value *list = NULL;

        ASSERT_RC(PDR_OK, pdr_chat_read_as(&list, stage->chat,
                                           S(stage->members[i].name), true,
                                           NULL, NULL));
        if (pdr_value_count(list) > 0)
            chat_sees(log.ptr, stage, stage->members[i].name);
        pdr_value_free(list);
    }
    pdr_buf_dispose(&log);
}

/* --- documents ---------------------------------------------------------------
 */

void chat_save(pdr_buf *out, struct chat_stage *stage, pdr_chat_form form)
{
    const pdr_chat_save_opts opts = {.form = form};
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(out);
    if (pdr_chat_save(stage->chat, &opts, &err, pdr_write_buf, out) != PDR_OK)
        fail_msg("not saved: %s", err.message);
}

void chat_replace(pdr_buf *io, const char *old, const char *fresh)
{
    pdr_buf made = PDR_BUF_INIT(SIZE_MAX);
    char *found = NULL;

    ASSERT_RC(PDR_OK, pdr_buf_append(io, pdr_str_n("", 1), NULL));
    found = strstr(io->ptr, old);
    ASSERT(found != NULL);
    ASSERT_RC(PDR_OK,
              pdr_buf_printf(&made, NULL, "%.*s%s%s", (int)(found - io->ptr),
                             io->ptr, fresh, found + strlen(old)));
    pdr_buf_dispose(io);
    *io = made;
}

void chat_report(pdr_buf *out, const pdr_chat_report *report)
{
    static const char *const cases[] = {"", "equivalent", "enhanced", "reduced",
                                        "mixed"};
    static const char *const words[] = {
        "restored", "by kind",   "to create", "parked",   "rebuilt",
        "out",      "shortened", "dangling",  "no agent", "open"};

    pdr_buf_clear(out);
    if (report == NULL)
        return;
    ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%s:", cases[report->which]));
    for (size_t i = 0; i < report->count; i++) {
        const pdr_chat_report_row *row = &report->rows[i];
        pdr_str name = row->kind.ptr != NULL ? row->kind : row->key;

        size_t levels = row->inside.len > 0;

        for (size_t k = 0; k < row->inside.len; k++)
            levels += row->inside.ptr[k] == ' ';
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(out, NULL, "%s %.*s%s %.*s", i > 0 ? " |" : "",
                                 (int)levels, ">>>>", words[row->what],
                                 (int)name.len, name.ptr));
    }
}

pdr_rc chat_restore(pdr_buf *report, struct chat_stage *stage, pdr_str text,
                    const pdr_chat_apply_opts *opts, pdr_err *err)
{
    pdr_chat_state *state = NULL;
    pdr_chat_report *told = NULL;
    pdr_rc rc = pdr_chat_open(&state, NULL, err, pdr_read_str, &text);

    if (rc == PDR_OK)
        rc = pdr_chat_apply(&told, stage->chat, state, opts, err);
    if (rc == PDR_OK && report != NULL)
        chat_report(report, told);
    pdr_chat_report_free(told);
    pdr_chat_state_free(state);
    return rc;
}
