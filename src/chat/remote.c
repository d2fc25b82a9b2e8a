/*
 * remote.c - the channel of agents whose conversation is a thread at a service.
 *
 *      state {"thread":"...","unsure":N,"run":"...","turn":N}
 *
 * WHY  A service may take a message and fail to say so. Sent again, it is in
 *      the thread twice. So each message has a token, the channel remembers
 *      which one is unsure, also when it is saved, and asks for that one before
 *      it sends it again. A process that dies remembers nothing: so a channel
 *      that is restored asks for what waits, until there is something that the
 *      thread does not have. What its own agents said, they said there.
 *
 *      A service may be at work on a run whose process died. Its id is stored
 *      when it begins, and the service is asked to settle it: before its agent
 *      speaks again, it may end and be the turn; before anything else is said
 * in the thread, it is cancelled.
 *
 *      A thread knows users and assistants, texts and pictures. What else a
 *      message has is left out on the way, and only there: the log keeps it.
 */
#include "chat.h"

#include <perdure/json.h>

#define PICTURE_RESULT "tool result is an image; not supported by this channel"

struct remote {
    const pdr_remote *service;
    pdr_buf thread;
    pdr_buf own;     /* key of the channel, if it is restored */
    uint64_t unsure; /* number of a message that may be there; 0: none */
    bool asks;       /* any of them may be */
    pdr_buf run;     /* id of one that has not ended well; empty: none */
    uint64_t turn;   /* of that run */
};

static void remote_release(void *self)
{
    struct remote *r = self;

    pdr_buf_dispose(&r->thread);
    pdr_buf_dispose(&r->own);
    pdr_buf_dispose(&r->run);
    pdr__free(r);
}

static pdr_rc remote_new(struct remote **out, const pdr_chat_agent *agent,
                         pdr_err *err)
{
    const pdr_remote *service = agent->arg;
    struct remote *r = NULL;

    if (service == NULL || service->ops == NULL || service->ops->version == 0 ||
        service->ops->version > PDR_REMOTE_OPS_VERSION)
        return PDR_FAIL(err, TABLE_VERSION, "%s",
                        "a channel to a service needs a table of functions "
                        "that this library knows");
    if (service->ops->create == NULL || service->ops->check == NULL ||
        service->ops->append == NULL || service->ops->run == NULL ||
        service->ops->read == NULL || service->ops->remove == NULL)
        return PDR_FAIL(err, MISSING_SLOT, "%s",
                        "the table of a service lacks a required function");
    r = pdr__calloc(1, sizeof(*r));
    if (r == NULL)
        return pdr__nomem(err);
    r->service = service;
    r->thread = (pdr_buf)PDR_BUF_INIT(PDR_MAX_ID_BYTES);
    r->own = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    r->run = (pdr_buf)PDR_BUF_INIT(PDR_MAX_ID_BYTES);
    *out = r;
    return PDR_OK;
}

/* --- keys -----------------------------------------------------------------
 */

/* Addresses that mean the same are the same: no final "/". */
static pdr_rc remote_key(pdr_buf *out, const pdr_chat_agent *agent,
                         pdr_err *err)
{
    const pdr_remote *service = agent->arg;
    pdr_str texts[2];
    pdr_rc rc = PDR_OK;

    if (service == NULL || service->service == NULL)
        return PDR_FAIL(err, MISSING_SLOT, "%s",
                        "a channel to a service needs its address");
    texts[0] = pdr_str_c(service->service);
    while (texts[0].len > 0 && texts[0].ptr[texts[0].len - 1] == '/')
        texts[0].len--;
    texts[1] = pdr_str_c(service->account != NULL ? service->account : "");
    for (size_t i = 0; i < 2; i++) {
        PDR_TRY(pdr_buf_append(out, texts[i], err));
        PDR_TRY(pdr_buf_append(out, pdr_str_n("", 1), err));
    }
done:
    return rc;
}

static pdr_rc own_key(struct remote *r, const pdr_chat_agent *agent,
                      pdr_err *err)
{
    const char *kind = pdr_channel_remote()->id;
    pdr_buf parts = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(&parts, pdr_str_n(kind, strlen(kind) + 1), err));
    PDR_TRY(remote_key(&parts, agent, err));
    PDR_TRY(pdr__channel_key(&r->own, pdr_buf_str(&parts), err));
done:
    pdr_buf_dispose(&parts);
    return rc;
}

/* --- what a thread takes --------------------------------------------------
 */

/* {"type":TYPE,TYPE:VALUE}, or with a member name around the value. */
static pdr_rc part_add(pdr_value **io, const char *type, const char *member,
                       const pdr_value *value, pdr_err *err)
{
    pdr_value *part = pdr_value_new_object(), *inner = pdr_value_new_object();
    pdr_value *name = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_value_new_string(&name, pdr_str_c(type), err));
    PDR_TRY(pdr_value_set(&part, PDR_LIT("type"), name, err));
    if (member != NULL) {
        PDR_TRY(pdr_value_set(&inner, pdr_str_c(member), value, err));
        value = inner;
    }
    PDR_TRY(pdr_value_set(&part, pdr_str_c(type), value, err));
    PDR_TRY(pdr_value_append(io, part, err));
done:
    pdr_value_free(name);
    pdr_value_free(inner);
    pdr_value_free(part);
    return rc;
}

/* The result of a tool as a text: a text as it is, else its JSON. */
static pdr_rc result_add(pdr_value **io, const pdr_value *result, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(result) == PDR_STRING) {
        rc = part_add(io, "text", NULL, result, err);
        goto done;
    }
    if (pdr__is_picture(result, PDR_SHAPE_SK)) {
        PDR_TRY(pdr_buf_append(&text, PDR_LIT(PICTURE_RESULT), err));
    } else {
        PDR_TRY(pdr_json_write(&text, result, NULL, err));
    }
    PDR_TRY(pdr_value_new_string(&made, pdr_buf_str(&text), err));
    PDR_TRY(part_add(io, "text", NULL, made, err));
done:
    pdr_value_free(made);
    pdr_buf_dispose(&text);
    return rc;
}

/* The parts of a message; none: it is not for threads. */
static pdr_rc parts_make(pdr_value **out, const pdr_value *message,
                         pdr_err *err)
{
    pdr_value *plain = NULL, *parts = pdr_value_new_array();
    bool has_text = false, has_call = false;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_message_convert(&plain, message, PDR_SHAPE_SK, PDR_SHAPE_DOTNET,
                                err));
    pdr_iter_init(&it, pdr_message_contents(plain, PDR_SHAPE_DOTNET));
    while (pdr_iter_next(&it)) {
        pdr_content_kind kind = pdr_content_kind_of(it.value, PDR_SHAPE_DOTNET);

        has_text |= kind == PDR_CONTENT_TEXT;
        has_call |= kind == PDR_CONTENT_CALL;
    }
    pdr_iter_init(
        &it, has_call ? NULL : pdr_message_contents(plain, PDR_SHAPE_DOTNET));
    while (pdr_iter_next(&it)) {
        const pdr_shape shape = PDR_SHAPE_DOTNET;
        pdr_content_kind kind = pdr_content_kind_of(it.value, shape);
        const pdr_value *text =
            pdr_content_get(it.value, shape, PDR_FIELD_TEXT);
        const pdr_value *uri = pdr_content_get(it.value, shape, PDR_FIELD_URI);
        const pdr_value *file =
            pdr_content_get(it.value, shape, PDR_FIELD_FILE_ID);
        const pdr_value *result =
            pdr_content_get(it.value, shape, PDR_FIELD_RESULT);

        if (kind == PDR_CONTENT_TEXT && text != NULL &&
            !pdr__text_is_blank(text))
            PDR_TRY(part_add(&parts, "text", NULL, text, err));
        else if (uri != NULL && pdr__is_picture(it.value, shape))
            PDR_TRY(part_add(&parts, "image_url", "url", uri, err));
        else if (kind == PDR_CONTENT_FILE && file != NULL)
            PDR_TRY(part_add(&parts, "image_file", "file_id", file, err));
        else if (kind == PDR_CONTENT_RESULT && result != NULL && !has_text)
            PDR_TRY(result_add(&parts, result, err));
    }
    *out = parts;
    parts = NULL;
done:
    pdr_value_free(parts);
    pdr_value_free(plain);
    return rc;
}

/* Metadata as texts: null is an empty one. */
static pdr_rc metadata_make(pdr_value **out, const pdr_value *message,
                            pdr_err *err)
{
    const pdr_value *properties = pdr_message_properties(message, PDR_SHAPE_SK);
    pdr_value *made = pdr_value_new_object(), *text = NULL;
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    pdr_iter_init(&it, properties);
    while (pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};

        pdr_buf_clear(&bytes);
        PDR_TRY(pdr__value_sound_text(&name, it.name, &scratch, err));
        if (pdr_value_kind(it.value) == PDR_STRING) {
            text = pdr_value_ref(it.value);
        } else {
            if (pdr_value_kind(it.value) != PDR_NULL)
                PDR_TRY(pdr_json_write(&bytes, it.value, NULL, err));
            PDR_TRY(pdr_value_new_string(&text, pdr_buf_str(&bytes), err));
        }
        PDR_TRY(pdr_value_set(&made, name, text, err));
        pdr_value_free(text);
        text = NULL;
    }
    if (pdr_value_count(made) > 0) {
        *out = made;
        made = NULL;
    }
done:
    pdr_value_free(text);
    pdr_value_free(made);
    pdr_buf_dispose(&bytes);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Thread, number, and what it says: after an older document was restored, the
 * same number is another message. */
static pdr_rc token_make(pdr_buf *out, const struct remote *r,
                         const pdr_chat_message *message,
                         const pdr_value *parts, pdr_err *err)
{
    uint8_t digest[PDR_SHA256_BYTES];
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_json_write(&text, parts, NULL, err));
    PDR_TRY(pdr__sha256(digest, pdr_buf_str(&text), err));
    PDR_TRY(pdr_buf_printf(out, err, "%.*s/%llu/", (int)r->thread.len,
                           r->thread.ptr, (unsigned long long)message->seq));
    for (size_t i = 0; i < 8; i++)
        PDR_TRY(pdr_buf_printf(out, err, "%02x", digest[i]));
done:
    pdr_buf_dispose(&text);
    return rc;
}

/* --- the table ------------------------------------------------------------
 */

static pdr_rc remote_create(void **self, const pdr_chat_agent *agent,
                            pdr_cancel *cancel, pdr_err *err)
{
    struct remote *r = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(remote_new(&r, agent, err));
    PDR_TRY(r->service->ops->create(&r->thread, cancel, err, r->service->self));
    *self = r;
    r = NULL;
done:
    if (r != NULL)
        remote_release(r);
    return rc;
}

static pdr_rc remote_restore(void **self, const pdr_chat_agent *agent,
                             const pdr_chat_link *link, uint32_t state_version,
                             bool is_exchange, const pdr_value *state,
                             pdr_err *err)
{
    struct remote *r = NULL;
    const pdr_value *thread = state, *unsure = NULL, *run = NULL, *turn = NULL;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    (void)link;
    (void)state_version;
    PDR_TRY(remote_new(&r, agent, err));
    if (!is_exchange && pdr_value_kind(state) == PDR_OBJECT) {
        thread = pdr_value_get_c(state, "thread");
        unsure = pdr_value_get_c(state, "unsure");
        run = pdr_value_get_c(state, "run");
        turn = pdr_value_get_c(state, "turn");
    }
    if (thread == NULL || pdr_value_kind(thread) != PDR_STRING ||
        pdr_value_text_is(thread, PDR_LIT("")) ||
        (unsure != NULL &&
         pdr_value_uint64(&r->unsure, unsure, NULL) != PDR_OK) ||
        (run != NULL && (pdr_value_kind(run) != PDR_STRING || turn == NULL ||
                         pdr_value_uint64(&r->turn, turn, NULL) != PDR_OK)))
        PDR_TRY(PDR_FAIL(err, BAD_CHANNEL_STATE, "%s",
                         "the state of a thread is its id, and this is not"));
    PDR_TRY(pdr_value_text(&text, thread, &scratch, err));
    PDR_TRY(pdr_buf_append(&r->thread, text, err));
    PDR_TRY(own_key(r, agent, err));
    if (run != NULL) {
        PDR_TRY(pdr_value_text(&text, run, &scratch, err));
        PDR_TRY(pdr_buf_append(&r->run, text, err));
    }
    PDR_TRY(
        r->service->ops->check(pdr_buf_str(&r->thread), err, r->service->self));
    r->asks = true;
    *self = r;
    r = NULL;
done:
    if (r != NULL)
        remote_release(r);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- runs whose end nobody saw --------------------------------------------
 */

pdr_rc pdr_remote_began(pdr_chat_link *link, pdr_str run, pdr_err *err)
{
    struct remote *r = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(link != NULL && link->chat != NULL && run.len > 0 &&
                link->channel->kind == pdr_channel_remote());
    r = link->channel->self;
    pdr_buf_clear(&r->run);
    PDR_TRY(pdr_buf_append(&r->run, run, err));
    r->turn = link->chat->turn;
    PDR_TRY(pdr__home_keep(link->chat, err));
done:
    return rc;
}

/* `link`: of the turn that it may become; NULL: it is to make room. */
static pdr_rc run_settle(bool *adopted, struct remote *r, pdr_chat_link *link,
                         pdr_err *err)
{
    const pdr_remote_ops *ops = r->service->ops;
    uint64_t said = 0;
    pdr_rc rc = PDR_OK;

    *adopted = false;
    if (r->run.len == 0)
        return PDR_OK;
    for (uint64_t seq = 1; link != NULL && seq < link->end; seq++)
        said += link->log[seq - 1].turn == r->turn &&
                pdr_str_equal(link->log[seq - 1].origin, link->channel->key);
    if (ops->settle != NULL)
        PDR_TRY(ops->settle(adopted, pdr_buf_str(&r->thread),
                            pdr_buf_str(&r->run), said, link, err,
                            r->service->self));
    pdr_buf_clear(&r->run);
done:
    return rc;
}

static pdr_rc remote_receive(void *self, const pdr_chat_message *message,
                             pdr_cancel *cancel, pdr_err *err)
{
    struct remote *r = self;
    const pdr_remote_ops *ops = r->service->ops;
    pdr_remote_message sent = {
        .is_user = pdr__is_folded(
            pdr_message_role(message->value, PDR_SHAPE_SK), PDR_LIT("user"))};
    pdr_value *parts = NULL, *metadata = NULL;
    pdr_buf token = PDR_BUF_INIT(SIZE_MAX);
    bool is_there = false, adopted = false;
    pdr_rc rc = PDR_OK;

    if (r->own.len > 0 && pdr_str_equal(message->origin, pdr_buf_str(&r->own)))
        return PDR_OK;
    PDR_TRY(parts_make(&parts, message->value, err));
    if (pdr_value_count(parts) == 0)
        goto done;
    PDR_TRY(run_settle(&adopted, r, NULL, err));
    PDR_TRY(metadata_make(&metadata, message->value, err));
    PDR_TRY(token_make(&token, r, message, parts, err));
    sent.parts = parts;
    sent.metadata = metadata;
    sent.token = pdr_buf_str(&token);
    if ((r->asks || r->unsure == message->seq) && ops->find != NULL)
        PDR_TRY(ops->find(&is_there, pdr_buf_str(&r->thread), sent.token, err,
                          r->service->self));
    if (!is_there) {
        r->asks = false;
        r->unsure = message->seq;
        PDR_TRY(ops->append(pdr_buf_str(&r->thread), &sent, cancel, err,
                            r->service->self));
    }
    r->unsure = 0;
done:
    pdr_buf_dispose(&token);
    pdr_value_free(metadata);
    pdr_value_free(parts);
    return rc;
}

static pdr_rc remote_invoke(void *self, const pdr_chat_agent *agent,
                            pdr_chat_link *link, pdr_err *err)
{
    struct remote *r = self;
    bool adopted = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(run_settle(&adopted, r, link, err));
    if (!adopted)
        PDR_TRY(r->service->ops->run(pdr_buf_str(&r->thread), agent->agent,
                                     link, err, r->service->self));
    pdr_buf_clear(&r->run);
done:
    return rc;
}

static pdr_rc remote_read(void *self, const pdr_chat_link *link, pdr_err *err,
                          pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                       void *arg),
                          void *arg)
{
    struct remote *r = self;

    (void)link;
    return r->service->ops->read(pdr_buf_str(&r->thread), err, r->service->self,
                                 fn, arg);
}

static pdr_rc remote_save(pdr_value **out, void *self,
                          const pdr_chat_link *link, pdr_err *err)
{
    const struct remote *r = self;
    pdr_value *state = pdr_value_new_object(), *thread = NULL, *unsure = NULL;
    pdr_value *run = NULL, *turn = NULL;
    pdr_rc rc = PDR_OK;

    (void)link;
    PDR_TRY(pdr_value_new_string(&thread, pdr_buf_str(&r->thread), err));
    PDR_TRY(pdr_value_set(&state, PDR_LIT("thread"), thread, err));
    if (r->unsure > 0) {
        PDR_TRY(pdr_value_new_int64(&unsure, (int64_t)r->unsure, err));
        PDR_TRY(pdr_value_set(&state, PDR_LIT("unsure"), unsure, err));
    }
    if (r->run.len > 0) {
        PDR_TRY(pdr_value_new_string(&run, pdr_buf_str(&r->run), err));
        PDR_TRY(pdr_value_set(&state, PDR_LIT("run"), run, err));
        PDR_TRY(pdr_value_new_int64(&turn, (int64_t)r->turn, err));
        PDR_TRY(pdr_value_set(&state, PDR_LIT("turn"), turn, err));
    }
    *out = state;
    state = NULL;
done:
    pdr_value_free(turn);
    pdr_value_free(run);
    pdr_value_free(unsure);
    pdr_value_free(thread);
    pdr_value_free(state);
    return rc;
}

/* The id alone. */
static pdr_rc remote_exchange(pdr_value **out, const pdr_value *state,
                              const pdr_chat_link *link, pdr_err *err)
{
    (void)link;
    (void)err;
    *out = pdr_value_ref(pdr_value_get_c(state, "thread"));
    return PDR_OK;
}

static pdr_rc remote_reset(void *self, pdr_cancel *cancel, pdr_err *err)
{
    struct remote *r = self;

    return r->service->ops->remove(pdr_buf_str(&r->thread), cancel, err,
                                   r->service->self);
}

const pdr_channel_kind *pdr_channel_remote(void)
{
    static const pdr_channel_kind kind = {
        .version = PDR_CHANNEL_KIND_VERSION,
        .id = "remote-thread",
        .state_version = 1,
        .key = remote_key,
        .agent_type =
            "Microsoft.SemanticKernel.Agents.OpenAI.OpenAIAssistantAgent",
        .channel_type =
            "Microsoft.SemanticKernel.Agents.OpenAI.OpenAIAssistantChannel",
        .create = remote_create,
        .restore = remote_restore,
        .receive = remote_receive,
        .invoke = remote_invoke,
        .read = remote_read,
        .save = remote_save,
        .exchange = remote_exchange,
        .reset = remote_reset,
        .release = remote_release,
    };

    return &kind;
}
