/*
 * chat_sim_agent.c - those who take part: models with a tool, channels that
 * take notes, a service. Each notes what it was given, and fails as the seed
 * has it.
 */
#include "chat_sim.h"

#include "chat.h"

#define MOST_CALLS 2 /* answers with calls in a turn */
#define MOST_SAID  3 /* messages of an agent that is no model, in a turn */

const char *const csim_agents[CSIM_AGENTS] = {"a0", "n0", "r0", "b0",
                                              "a1", "n1", "p0", "s0"};

static pdr_rc let_fail(pdr_err *err)
{
    return pdr_err_set(err, PDR_EIO, "toy_failed", "by the seed");
}

static void cancel_perhaps(struct csim_process *p)
{
    if (p->cancel != NULL && csim_fault(p, CSIM_CANCELLED))
        pdr_cancel_set(p->cancel);
}

/* --- what an agent is given -----------------------------------------------
 */

/* What the agent of a model must be given: the log, and after calls that have
 * no result that they were interrupted. */
static void model_expected(struct csim *w, struct csim_words *out)
{
    const struct csim_words *log = &w->truth.log;
    size_t end = 0;

    for (size_t i = 0; i < log->count; i = end) {
        bool begins = true;

        for (end = i; end < log->count && (end == i || !log->at[end].begins);
             end++)
            csim_word_add(w, out, log->at[end].text, log->at[end].begins);
        for (size_t k = i; k < end; k++) {
            char word[8];

            if (log->at[k].text[0] != 'c')
                continue;
            (void)snprintf(word, sizeof(word), "r%s", log->at[k].text + 1);
            if (csim_word_has(log, word))
                continue;
            word[0] = 'i';
            csim_word_add(w, out, word, begins);
            csim_count(w, CSIM_INTERRUPTED);
            begins = false;
        }
    }
}

static size_t messages_in(const struct csim_words *words, size_t first)
{
    size_t count = 0;

    for (size_t i = first; i < words->count; i++)
        count += words->at[i].begins;
    return count;
}

/* A reducer leaves out the beginning. */
static void expected_cut(struct csim *w, struct csim_words *expected,
                         const struct csim_words *seen)
{
    size_t gone = expected->count - seen->count;

    if (seen->count >= expected->count)
        return;
    if (messages_in(expected, gone) < CSIM_TARGET ||
        messages_in(expected, 0) <= CSIM_TARGET + CSIM_THRESHOLD)
        csim_mistake(w, "an agent is given %zu messages of %zu",
                     messages_in(expected, gone), messages_in(expected, 0));
    memmove(expected->at, &expected->at[gone],
            seen->count * sizeof(*expected->at));
    expected->count = seen->count;
    csim_count(w, CSIM_REDUCED_VIEW);
}

/* An agent begins to speak: is it its turn? */
static void turn_note(struct csim_process *p, const char *name)
{
    struct csim *w = p->world;
    size_t due = 0;

    csim_said_all(p); /* of the turn before */
    csim_trace(w, "p%u: %s speaks", p->number, name);
    csim_count(w, CSIM_TURN);
    w->result->turns++;
    if (p->store != NULL &&
        (!w->truth.has_open || strcmp(w->truth.open, name) != 0))
        csim_mistake(w, "%s speaks, and its turn is not in the store", name);
    p->boundary = w->truth;
    p->boundary.selection = p->next;
    p->spoken++;
    if (p->doing != CSIM_RUN)
        return;
    if (p->next.has_selected)
        due = (csim_place(p, p->next.last) + 1) % p->member_count;
    if (csim_place(p, name) != due)
        csim_mistake(w, "%s speaks, %s is next", name, p->members[due].name);
    p->next.has_selected = true;
    (void)snprintf(p->next.last, sizeof(p->next.last), "%s", name);
}

/* --- models ---------------------------------------------------------------
 */

static void request_note(struct csim_member *m,
                         const pdr_client_request *request)
{
    struct csim_process *p = m->process;
    struct csim *w = p->world;
    struct csim_words seen = {.count = 0}, expected = {.count = 0};

    for (size_t i = 0; i < request->count; i++)
        csim_words_of(w, &seen, request->messages[i].value,
                      request->messages[i].shape);
    if (!m->is_asked)
        turn_note(p, m->name);
    m->is_asked = true;
    csim_said_all(p);
    model_expected(w, &expected);
    if (m->name[0] == 'b')
        expected_cut(w, &expected, &seen);
    csim_words_check(w, &expected, &seen, m->name);
}

static pdr_rc text_give(struct csim_member *m, pdr_shape shape, bool breaks,
                        pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct csim_process *p = m->process;
    struct csim *w = p->world;
    struct csim_words words = {.count = 0};
    pdr_update update = {.content_count = 1};
    pdr_value *content = NULL;
    char word[8];
    pdr_rc rc = PDR_OK;

    m->is_asked = false; /* the next question is one of another turn */
    m->calls = 0;
    csim_word_new(w, word, 'm');
    rc = pdr_content_new_text(&content, shape, pdr_str_c(word), err);
    update.contents = (const pdr_value *const *)&content;
    if (rc == PDR_OK)
        rc = fn(&update, err, arg);
    pdr_value_free(content);
    if (rc != PDR_OK)
        return rc;
    if (breaks)
        return let_fail(err);
    csim_word_add(w, &words, word, true);
    csim_said(p, &words);
    update = (pdr_update){.finish_reason = pdr_str_c("stop")};
    return fn(&update, err, arg);
}

static pdr_rc calls_give(struct csim_process *p, pdr_shape shape, pdr_err *err,
                         pdr_update_fn fn, void *arg)
{
    struct csim *w = p->world;
    struct csim_words words = {.count = 0};
    pdr_value *calls[2] = {NULL};
    size_t count = 1 + csim_random(w, 2);
    const pdr_update update = {.contents = (const pdr_value *const *)calls,
                               .content_count = count,
                               .finish_reason = pdr_str_c("tool_calls")};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < count; i++) {
        char word[8];

        csim_word_new(w, word, 'c');
        csim_word_add(w, &words, word, i == 0);
        rc = pdr_content_new_call(&calls[i], shape, pdr_str_c(word),
                                  pdr_str_c("look"), pdr_str_c("{}"), err);
    }
    csim_said(p, &words);
    if (rc == PDR_OK)
        rc = fn(&update, err, arg);
    for (size_t i = 0; i < count; i++)
        pdr_value_free(calls[i]);
    return rc;
}

/* What is going on is kept, for a chat that goes on from there. */
static void save_inside(struct csim_process *p)
{
    struct csim *w = p->world;
    pdr_err err = PDR_ERR_INIT;

    if (p->store != NULL || !csim_chance(w, 8))
        return;
    pdr_buf_clear(&w->saved);
    if (pdr_chat_save(p->chat, NULL, &err, pdr_write_buf, &w->saved) != PDR_OK)
        csim_mistake(w, "no save inside of a turn: %s", err.message);
    w->saved_truth = p->boundary;
    w->is_saved_inside = true;
}

static pdr_rc model_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct csim_member *m = (struct csim_member *)self;
    struct csim_process *p = m->process;
    struct csim *w = p->world;

    if (p->is_cut)
        return let_fail(err);
    request_note(m, request);
    save_inside(p);
    csim_meanwhile(p);
    cancel_perhaps(p);
    if (p->store != NULL && csim_fault(p, CSIM_CRASH_IN_MODEL))
        csim_cut(p, CSIM_EVENT_COUNT);
    if (p->is_cut ||
        csim_fault(p, m->calls > 0 ? CSIM_MODEL_FAILS_LATE : CSIM_MODEL_FAILS))
        return let_fail(err);
    if (m->calls < MOST_CALLS && csim_chance(w, 3)) {
        m->calls++;
        return calls_give(p, request->shape, err, fn, arg);
    }
    return text_give(m, request->shape, csim_fault(p, CSIM_MODEL_BREAKS_OFF),
                     err, fn, arg);
}

static void model_free(pdr_client *self)
{
    (void)self;
}

static const pdr_client_ops model_ops = {PDR_CLIENT_OPS_VERSION, "csim",
                                         model_send, model_free};

/* A pdr_tool_fn. */
static pdr_rc tool_work(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    struct csim_process *p = arg;
    struct csim *w = p->world;
    struct csim_words words = {.count = 0};
    char word[8];

    *out = NULL;
    if (p->is_cut)
        return let_fail(err);
    (void)snprintf(word, sizeof(word), "%.*s", (int)call->call_id.len,
                   call->call_id.ptr);
    csim_word_add(w, &words, word, true);
    csim_must_have(p, &words, "a tool that is called");
    if (csim_word_has(&w->called, word))
        csim_mistake(w, "call %s is made again", word);
    csim_word_add(w, &w->called, word, true);
    csim_count(w, CSIM_TOOL);
    csim_meanwhile(p);
    cancel_perhaps(p);
    if (p->store != NULL && csim_fault(p, CSIM_CRASH_IN_TOOL))
        csim_cut(p, CSIM_EVENT_COUNT);
    if (p->is_cut)
        return let_fail(err);
    word[0] = words.at[0].text[0] = 'r';
    csim_said(p, &words);
    return pdr_value_new_string(out, pdr_str_c(word), err);
}

/* --- agents that are no models --------------------------------------------
 * Their channel has what they are given, and they say a few words.
 */

/* Say one thing, and note it where the agent keeps what it said. */
static pdr_rc word_say(struct csim_process *p, struct csim_words *kept,
                       pdr_chat_link *link, pdr_err *err)
{
    struct csim_words words = {.count = 0};
    uint64_t end = pdr_chat_link_end(link);
    pdr_value *message = NULL;
    char word[8];
    pdr_rc rc = PDR_OK;

    csim_word_new(p->world, word, 'm');
    csim_word_add(p->world, &words, word, true);
    PDR_TRY(pdr_message_new_text(&message, PDR_SHAPE_SK, pdr_str_c("assistant"),
                                 pdr_str_c(word), err));
    rc = pdr_chat_link_say(link, message, err);
    if (pdr_chat_link_end(link) > end) { /* else the log does not have it */
        csim_word_add(p->world, kept, word, true);
        csim_said(p, &words);
    }
done:
    pdr_value_free(message);
    return rc;
}

static pdr_rc words_say(struct csim_process *p, struct csim_words *kept,
                        pdr_chat_link *link, pdr_err *err)
{
    struct csim *w = p->world;
    unsigned count = 1 + csim_random(w, MOST_SAID);
    pdr_rc rc = PDR_OK;

    csim_meanwhile(p);
    if (count > 1)
        csim_count(w, CSIM_SEVERAL);
    for (unsigned i = 0; i < count; i++) {
        cancel_perhaps(p);
        if (p->store != NULL && csim_fault(p, CSIM_CRASH_IN_SERVICE))
            csim_cut(p, CSIM_EVENT_COUNT);
        if (p->is_cut || csim_fault(p, CSIM_INVOKE_FAILS))
            return let_fail(err);
        PDR_TRY(word_say(p, kept, link, err));
    }
done:
    return rc;
}

static const char *name_of(struct csim_process *p, const pdr_agent *agent)
{
    for (size_t i = 0; i < p->member_count; i++) {
        if (p->members[i].agent == agent)
            return p->members[i].name;
    }
    return "nobody";
}

/* --- a channel that takes notes -------------------------------------------
 */

struct notes {
    struct csim_process *process;
    struct csim_words words;
    uint64_t refused; /* number of a message that was not taken */
};

static pdr_rc notes_key(pdr_buf *out, const pdr_chat_agent *agent, pdr_err *err)
{
    const char letter[] = {pdr_agent_name(agent->agent).ptr[0], '\0'};

    return pdr_buf_append(out, pdr_str_n(letter, 2), err);
}

static pdr_rc notes_new(struct notes **out, const pdr_chat_agent *agent,
                        pdr_err *err)
{
    *out = pdr__calloc(1, sizeof(**out));
    if (*out == NULL)
        return pdr__nomem(err);
    (*out)->process = agent->arg;
    return PDR_OK;
}

static pdr_rc notes_create(void **self, const pdr_chat_agent *agent,
                           pdr_cancel *cancel, pdr_err *err)
{
    struct csim_process *p = agent->arg;
    struct notes *n = NULL;
    pdr_rc rc = PDR_OK;

    (void)cancel;
    if (p->is_cut || csim_fault(p, CSIM_CREATE_FAILS))
        return let_fail(err);
    PDR_TRY(notes_new(&n, agent, err));
    *self = n;
done:
    return rc;
}

static void notes_release(void *self)
{
    pdr__free(self);
}

static pdr_rc notes_restore(void **self, const pdr_chat_agent *agent,
                            const pdr_chat_link *link, uint32_t state_version,
                            bool is_exchange, const pdr_value *state,
                            pdr_err *err)
{
    struct csim_process *p = agent->arg;
    struct notes *n = NULL;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *read = NULL;
    pdr_str text = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    (void)link;
    (void)state_version;
    if (csim_fault(p, CSIM_RESTORE_FAILS))
        return let_fail(err);
    if (is_exchange && pdr_value_kind(state) == PDR_STRING) {
        PDR_TRY(pdr_value_text(&text, state, &scratch, err));
        PDR_TRY(pdr_json_read(&read, text, NULL, err));
        state = read;
    }
    PDR_TRY(notes_new(&n, agent, err));
    pdr_iter_init(&it, state);
    while (pdr_iter_next(&it)) {
        char word[8];

        PDR_TRY(pdr_value_text(&text, it.value, &scratch, err));
        (void)snprintf(word, sizeof(word), "%.*s", (int)text.len, text.ptr);
        csim_word_add(p->world, &n->words, word, true);
    }
    *self = n;
    n = NULL;
done:
    pdr__free(n);
    pdr_value_free(read);
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc notes_receive(void *self, const pdr_chat_message *message,
                            pdr_cancel *cancel, pdr_err *err)
{
    struct notes *n = self;
    struct csim_process *p = n->process;

    (void)cancel;
    cancel_perhaps(p);
    if (p->world->skips && n->refused == message->seq)
        return PDR_OK;
    if (p->is_cut || csim_fault(p, CSIM_RECEIVE_FAILS)) {
        n->refused = message->seq;
        return let_fail(err);
    }
    csim_words_of(p->world, &n->words, message->value, PDR_SHAPE_SK);
    if (p->store != NULL && csim_fault(p, CSIM_CRASH_IN_RECEIVE))
        csim_cut(p, CSIM_EVENT_COUNT);
    return PDR_OK;
}

static pdr_rc notes_invoke(void *self, const pdr_chat_agent *agent,
                           pdr_chat_link *link, pdr_err *err)
{
    struct notes *n = self;
    struct csim_process *p = n->process;
    const char *name = name_of(p, agent->agent);

    if (p->is_cut)
        return let_fail(err);
    turn_note(p, name);
    csim_words_check(p->world, &p->world->truth.log, &n->words, name);
    save_inside(p);
    return words_say(p, &n->words, link, err);
}

/* A text that has the words. */
static pdr_rc word_message(const struct csim_word *word, pdr_err *err,
                           pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                        void *arg),
                           void *arg)
{
    pdr_value *message = NULL;
    pdr_rc rc = pdr_message_new_text(&message, PDR_SHAPE_SK, pdr_str_c("user"),
                                     pdr_str_c(word->text), err);

    if (rc == PDR_OK)
        rc = fn(message, err, arg);
    pdr_value_free(message);
    return rc;
}

static pdr_rc words_read(const struct csim_words *words, pdr_err *err,
                         pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                      void *arg),
                         void *arg)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < words->count; i++)
        rc = word_message(&words->at[i], err, fn, arg);
    return rc;
}

static pdr_rc notes_read(void *self, const pdr_chat_link *link, pdr_err *err,
                         pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                      void *arg),
                         void *arg)
{
    const struct notes *n = self;

    (void)link;
    return words_read(&n->words, err, fn, arg);
}

static pdr_rc notes_save(pdr_value **out, void *self, const pdr_chat_link *link,
                         pdr_err *err)
{
    const struct notes *n = self;
    pdr_value *list = pdr_value_new_array(), *text = NULL;
    pdr_rc rc = PDR_OK;

    (void)link;
    for (size_t i = 0; i < n->words.count; i++) {
        PDR_TRY(
            pdr_value_new_string(&text, pdr_str_c(n->words.at[i].text), err));
        PDR_TRY(pdr_value_append(&list, text, err));
        pdr_value_free(text);
        text = NULL;
    }
    *out = list;
    list = NULL;
done:
    pdr_value_free(text);
    pdr_value_free(list);
    return rc;
}

static pdr_rc notes_reset(void *self, pdr_cancel *cancel, pdr_err *err)
{
    (void)self;
    (void)cancel;
    (void)err;
    return PDR_OK;
}

static const pdr_channel_kind notes_kind = {
    .version = PDR_CHANNEL_KIND_VERSION,
    .id = "x-test.words",
    .state_version = 1,
    .key = notes_key,
    .exchange_key = notes_key,
    .agent_type = "Example.WordsAgent",
    .channel_type = "Example.WordsChannel",
    .create = notes_create,
    .restore = notes_restore,
    .receive = notes_receive,
    .invoke = notes_invoke,
    .read = notes_read,
    .save = notes_save,
    .reset = notes_reset,
    .release = notes_release,
};

const pdr_channel_kind *const csim_kinds[] = {&notes_kind, NULL};

/* --- the service ----------------------------------------------------------
 */

static struct csim_thread *thread_find(struct csim *w, pdr_str id)
{
    char name[8];

    (void)snprintf(name, sizeof(name), "%.*s", (int)id.len, id.ptr);
    return w->threads[strtoul(name + 1, NULL, 10)];
}

static pdr_rc thread_lacks(struct csim_process *p, pdr_err *err)
{
    p->is_excused = true;
    return pdr_err_set(err, PDR_ENOTFOUND, "toy_failed", "the thread is gone");
}

static pdr_rc service_create(pdr_buf *thread, pdr_cancel *cancel, pdr_err *err,
                             void *self)
{
    struct csim_process *p = self;
    struct csim *w = p->world;

    (void)cancel;
    if (p->is_cut || csim_fault(p, CSIM_CREATE_FAILS))
        return let_fail(err);
    if (w->thread_count == CSIM_THREADS)
        csim_mistake(w, "there are more threads than there should be");
    w->threads[w->thread_count] = calloc(1, sizeof(struct csim_thread));
    if (w->threads[w->thread_count] == NULL)
        abort();
    return pdr_buf_printf(thread, err, "T%zu", w->thread_count++);
}

static pdr_rc service_check(pdr_str thread, pdr_err *err, void *self)
{
    struct csim_process *p = self;
    struct csim_thread *t = thread_find(p->world, thread);

    if (csim_fault(p, CSIM_RESTORE_FAILS))
        return let_fail(err);
    for (int i = 0; i < 4 && !t->is_gone; i++) /* it is rare enough */
        t->is_gone = csim_fault(p, CSIM_THREAD_GONE);
    return t->is_gone ? thread_lacks(p, err) : PDR_OK;
}

/* The word of a message on its way to a thread. */
static void part_word(struct csim *w, char out[8], const pdr_value *parts)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    const pdr_value *part = pdr_value_at(parts, 0);

    if (pdr_value_count(parts) != 1 || pdr_value_get_c(part, "text") == NULL ||
        pdr_value_text(&text, pdr_value_get_c(part, "text"), &scratch, NULL) !=
            PDR_OK)
        csim_mistake(w, "a thread is sent something else than a word");
    (void)snprintf(out, 8, "%.*s", (int)text.len, text.ptr);
    pdr_buf_dispose(&scratch);
}

static pdr_rc service_append(pdr_str thread, const pdr_remote_message *message,
                             pdr_cancel *cancel, pdr_err *err, void *self)
{
    struct csim_process *p = self;
    struct csim *w = p->world;
    struct csim_thread *t = thread_find(w, thread);
    char word[8];

    (void)cancel;
    cancel_perhaps(p);
    if (p->is_cut || csim_fault(p, CSIM_RECEIVE_FAILS))
        return let_fail(err);
    if (t->is_gone)
        return thread_lacks(p, err);
    part_word(w, word, message->parts);
    csim_word_add(w, &t->words, word, true);
    (void)snprintf(t->tokens[t->token_count++], sizeof(t->tokens[0]), "%.*s",
                   (int)message->token.len, message->token.ptr);
    if (p->store != NULL && csim_fault(p, CSIM_CRASH_IN_RECEIVE))
        csim_cut(p, CSIM_EVENT_COUNT);
    return csim_fault(p, CSIM_SENT_UNSURE)
               ? pdr_err_set(err, PDR_ETIMEOUT, "toy_failed", "no answer")
               : PDR_OK;
}

static pdr_rc service_find(bool *found, pdr_str thread, pdr_str token,
                           pdr_err *err, void *self)
{
    struct csim_process *p = self;
    const struct csim_thread *t = thread_find(p->world, thread);

    *found = false;
    if (p->is_cut || csim_fault(p, CSIM_RECEIVE_FAILS))
        return let_fail(err);
    for (size_t i = 0; i < t->token_count; i++)
        *found |= pdr_str_equal(token, pdr_str_c(t->tokens[i]));
    if (*found)
        csim_count(p->world, CSIM_SENT_FOUND);
    return PDR_OK;
}

/* What a thread must have, and what it has. It takes no calls; what was said in
 * it and is in no log any more, since a process crashed or an older document
 * was restored, may still be there. */
static void thread_check(struct csim *w, const struct csim_thread *t,
                         const char *name)
{
    struct csim_words expected = {.count = 0}, actual = {.count = 0};
    const struct csim_words *log = &w->truth.log;

    for (size_t i = 0; i < log->count; i++) {
        if (log->at[i].text[0] != 'c')
            csim_word_add(w, &expected, log->at[i].text, true);
    }
    for (size_t i = 0; i < t->words.count; i++) {
        if (csim_word_has(log, t->words.at[i].text))
            csim_word_add(w, &actual, t->words.at[i].text, true);
    }
    csim_words_check(w, &expected, &actual, name);
}

static pdr_rc service_run(pdr_str thread, const pdr_agent *agent,
                          pdr_chat_link *link, pdr_err *err, void *self)
{
    struct csim_process *p = self;
    struct csim_thread *t = thread_find(p->world, thread);
    const char *name = name_of(p, agent);

    if (p->is_cut)
        return let_fail(err);
    turn_note(p, name);
    if (t->is_gone)
        return thread_lacks(p, err);
    thread_check(p->world, t, name);
    return words_say(p, &t->words, link, err);
}

static pdr_rc service_read(pdr_str thread, pdr_err *err, void *self,
                           pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                        void *arg),
                           void *arg)
{
    struct csim_process *p = self;
    struct csim_thread *t = thread_find(p->world, thread);

    if (p->is_cut)
        return let_fail(err);
    return t->is_gone ? thread_lacks(p, err)
                      : words_read(&t->words, err, fn, arg);
}

static pdr_rc service_remove(pdr_str thread, pdr_cancel *cancel, pdr_err *err,
                             void *self)
{
    struct csim_process *p = self;

    (void)cancel;
    if (p->is_cut || csim_fault(p, CSIM_RESET_LEAVES))
        return let_fail(err);
    thread_find(p->world, thread)->is_gone = true;
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

/* --- joining --------------------------------------------------------------
 */

void csim_member_begin(struct csim_process *p, const char *name)
{
    struct csim_member *m = &p->members[p->member_count++];
    const bool is_model = name[0] == 'a' || name[0] == 'b';
    const bool is_remote = name[0] == 'r' || name[0] == 's';
    pdr_agent_parts parts = {.id = pdr_str_c(name),
                             .name = pdr_str_c(name),
                             .client = &m->base,
                             .tools = &p->tool,
                             .tool_count = is_model};
    pdr_chat_joining joining = {.arg = p};
    pdr_err err = PDR_ERR_INIT;

    *m = (struct csim_member){
        .process = p,
        .name = name,
        .remote = {.ops = &service_ops,
                   .self = p,
                   .service = name[0] == 'r' ? "https://r.example"
                                             : "https://s.example/"}};
    p->tool = (pdr_tool){.name = "look", .fn = tool_work, .arg = p};
    if (pdr_client_init(&m->base, &model_ops, &err) != PDR_OK ||
        pdr_agent_new(&m->agent, &parts, &err) != PDR_OK)
        csim_mistake(p->world, "no agent: %s", err.message);
    joining.agent = m->agent;
    if (is_remote) {
        joining.kind = pdr_channel_remote();
        joining.arg = &m->remote;
    } else if (!is_model) {
        joining.kind = &notes_kind;
    } else if (name[0] == 'b') {
        joining.reduction =
            (pdr_reduction){.target = CSIM_TARGET, .threshold = CSIM_THRESHOLD};
    }
    if (pdr_chat_join(p->chat, &joining, &err) != PDR_OK)
        csim_mistake(p->world, "%s does not join: %s", name, err.message);
}

void csim_members_end(struct csim_process *p)
{
    for (size_t i = 0; i < p->member_count; i++)
        pdr_agent_free(p->members[i].agent);
    p->member_count = 0;
}

pdr_rc csim_hear(const pdr_chat_event *event, pdr_err *err, void *arg)
{
    struct csim_process *p = arg;
    struct csim *w = p->world;
    struct csim_words words = {.count = 0};

    if (p->is_cut)
        return PDR_OK;
    cancel_perhaps(p);
    if (event->message == NULL)
        return PDR_OK;
    csim_words_of(w, &words, event->message->value, PDR_SHAPE_SK);
    csim_must_have(p, &words, "a listener that heard of it");
    if (csim_word_has(&w->heard, words.at[0].text))
        csim_mistake(w, "a listener hears '%s' again", words.at[0].text);
    csim_word_add(w, &w->heard, words.at[0].text, true);
    csim_meanwhile(p);
    if (!csim_fault(p, CSIM_LISTENER_STOPS))
        return PDR_OK;
    p->has_stopped = true;
    return pdr_err_set(err, PDR_ECANCELLED, "toy_failed", "enough");
}
