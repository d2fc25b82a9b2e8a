/*
 * run.c - POST agents/{agent}/run: say something to a durable agent.
 *
 *      read ─► send ─┬─► 202, if nobody waits
 *                    └─► look ─► over? ─► its reply
 *                         ▲       │ no
 *                         └─ wait ┘        until the time is over
 *
 * WHY  Callers of the hosts of both editions send what they always sent. So the
 *      request is read as either host would read it, and the reply has the
 *      shape of one of them, which the server is told ("profile").
 */
#include <perdure/doc.h>
#include <perdure/json.h>

#include "http.h"

#include "core.h"
#include "stored.h"

#define MAX_CHARS        255 /* of an idempotency key */
#define MAX_CHARS_AGENTS 256 /* the same on routes of durable agents */

/* A run that somebody asked for. All texts are in the arena of its exchange. */
struct run {
    const pdr_service_agent *agent;
    pdr_value *body; /* owned; of a JSON request, else NULL */
    pdr_str message;
    pdr_str key; /* of the session */
    pdr_ref ref;
    pdr_str correlation;
    bool wants_json; /* the reply */
    bool waits;
    bool is_sent;
    bool is_known; /* it was sent before: it may have ended */
    struct pdr__ending_wait wait;
    int64_t due_ms; /* monotonic: then it does not wait any more */
};

static void run_free(void *state)
{
    struct run *run = state;

    pdr__ending_leave(&run->wait);
    pdr_value_free(run->body);
    pdr__free(run);
}

static pdr_profile profile_of(const struct pdr__exchange *x)
{
    return x->server->opts.profile;
}

/* --- reading the request ---------------------------------------------------
 */

/* Refused with this text; 0 bytes of it would be no text. */
static pdr_rc refuse(struct pdr__exchange *x, unsigned status, const char *text)
{
    pdr__reply_refuse(x, status, text);
    return PDR_OK;
}

static bool text_ends(pdr_str text, pdr_str end)
{
    return text.len >= end.len &&
           memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
}

/* What a body has under one of these names, as text; a number as it is written.
 * Absent if it has none, or nothing but blanks. */
static pdr_rc body_text(pdr_str *out, struct pdr__exchange *x,
                        const struct run *run, const char *const *names,
                        pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    *out = pdr_str_n(NULL, 0);
    for (; run->body != NULL && *names != NULL; names++) {
        const pdr_value *value = pdr_value_get_c(run->body, *names);

        if (value == NULL)
            continue;
        if (pdr_value_kind(value) == PDR_STRING)
            PDR_TRY(pdr__value_sound_text(out, value, &scratch, err));
        else if (!pdr_value_raw(out, value) ||
                 pdr_value_kind(value) == PDR_NULL)
            *out = pdr_str_n(NULL, 0);
        PDR_TRY(pdr__arena_keep(out, &x->memory, err));
        if (!pdr__is_blank_text(*out))
            break;
        *out = pdr_str_n(NULL, 0);
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* true, false, or neither. */
enum truth { TRUTH_NONE, TRUTH_NO, TRUTH_YES };

static enum truth truth_read(pdr_str text)
{
    static const char *const words[] = {"0", "false", "n",   "no", "off",
                                        "1", "true",  "yes", "y",  "on"};
    char small[8];
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ' ' || text.ptr[i] == '\t')
            continue;
        if (len == sizeof(small))
            return TRUTH_NONE;
        small[len++] = pdr__ascii_lower(text.ptr[i]);
    }
    for (size_t i = 0; i < PDR_COUNT(words); i++) {
        if (pdr_str_equal(pdr_str_n(small, len), pdr_str_c(words[i])))
            return i < PDR_COUNT(words) / 2 ? TRUTH_NO : TRUTH_YES;
    }
    return TRUTH_NONE;
}

/* Does the caller wait? The first place that says so counts. */
static pdr_rc wait_read(struct pdr__exchange *x, struct run *run, pdr_err *err)
{
    static const char *const names[] = {"wait_for_response", "waitForResponse",
                                        NULL};
    pdr_str places[4] = {pdr__header(x, "x-ms-wait-for-response"),
                         pdr__query_get(x, names[0]),
                         pdr__query_get(x, names[1])};
    pdr_rc rc = body_text(&places[3], x, run, names, err);

    run->waits = true;
    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(places); i++) {
        enum truth truth = truth_read(places[i]);

        if (truth == TRUTH_NONE)
            continue;
        run->waits = truth == TRUTH_YES;
        break;
    }
    return rc;
}

/* A request with an idempotency key and no session has one that follows from
 * the key, so that the same request finds it again. */
static pdr_rc key_make(struct pdr__exchange *x, struct run *run, pdr_err *err)
{
    uint8_t digest[PDR_SHA256_BYTES];
    struct pdr__uuid uuid;
    char made[PDR_UUID_TEXT];
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__run_key(&text, x, text, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(pdr__sha256(digest, text, err));
    memcpy(uuid.bytes, digest, sizeof(uuid.bytes));
    pdr__uuid_write(made, &uuid);
    run->key = pdr_str_c(made);
    PDR_TRY(pdr__arena_keep(&run->key, &x->memory, err));
done:
    return rc;
}

/* The key of the session: whoever names it twice has to name the same one. */
static pdr_rc key_read(struct pdr__exchange *x, struct run *run, pdr_err *err)
{
    static const char *const names[] = {"session_id", "thread_id", "sessionId",
                                        NULL};
    const pdr_str name = pdr_agent_name(run->agent->durable.agent);
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    pdr_buf made = PDR_BUF_INIT(PDR_MAX_ID_BYTES + 1);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; names[i] != NULL; i++) {
        const char *const one[] = {names[i], NULL};
        pdr_str found[2] = {pdr__query_get(x, names[i])};

        PDR_TRY(body_text(&found[1], x, run, one, err));
        for (size_t k = 0; k < 2; k++) {
            if (pdr__is_blank_text(found[k]))
                continue;
            if (run->key.ptr != NULL && !pdr_str_equal(run->key, found[k]))
                return refuse(x, 400,
                              profile_of(x) == PDR_PROFILE_DOTNET
                                  ? "thread_id specified in both query string "
                                    "and request body must match."
                                  : "Conflicting session identifiers "
                                    "supplied: name the session once, or the "
                                    "same one everywhere");
            run->key = found[k];
        }
    }
    if (run->key.ptr == NULL && pdr__header(x, "Idempotency-Key").ptr != NULL)
        PDR_TRY(key_make(x, run, err));
    if (x->reply.status != 0)
        goto done;
    if (run->key.len > 0 && run->key.ptr[0] == '@') {
        bool is_full = false;

        if (pdr_durable_id_read(&agent, &key, &is_full, run->key, NULL) ==
                PDR_OK &&
            is_full) {
            if (pdr_service_find(x->server->service, agent) != run->agent)
                return refuse(x, 400, "the session belongs to another agent");
            run->key = key;
        }
    }
    rc = pdr_durable_id_write(&made, name, run->key, err);
    if (rc == PDR_EINVALID)
        return refuse(x, 400, "this is not the key of a session");
    if (rc != PDR_OK)
        goto done;
    run->ref = (pdr_ref){x->tenant, pdr_buf_str(&made)};
    PDR_TRY(pdr__arena_keep(&run->ref.id, &x->memory, err));
    PDR_TRY(pdr_durable_id_read(&agent, &run->key, NULL, run->ref.id, err));
done:
    pdr_buf_dispose(&made);
    return rc;
}

pdr_rc pdr__run_key(pdr_str *out, struct pdr__exchange *x, pdr_str said,
                    pdr_err *err)
{
    pdr_str text = pdr__header(x, "Idempotency-Key");
    struct pdr__uuid uuid;
    char made[PDR_UUID_TEXT];
    const size_t most =
        x->route->family == PDR_FAMILY_AGENTS ? MAX_CHARS_AGENTS : MAX_CHARS;
    size_t chars = 0;
    bool is_sound = true;
    pdr_rc rc = PDR_OK;

    if (text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"')
        text = pdr_str_n(text.ptr + 1, text.len - 2);
    if (text.ptr == NULL)
        text = said;
    if (text.ptr == NULL) {
        PDR_TRY(pdr__uuid_v4(&uuid, pdr__rand_system(), err));
        pdr__uuid_write(made, &uuid);
        text = pdr_str_c(made);
    }
    for (size_t i = 0; i < text.len; i++) {
        is_sound &= (unsigned char)text.ptr[i] >= 0x20 && text.ptr[i] != 0x7F;
        chars += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    }
    if (!is_sound || chars == 0 || chars > most ||
        pdr__utf8_valid_len(text) != text.len)
        return refuse(x, 400,
                      most == MAX_CHARS
                          ? "an idempotency key has 1 to 255 characters, in "
                            "UTF-8, and no control characters"
                          : "a correlation id, or idempotency key, has 1 to "
                            "256 characters, in UTF-8, and no control "
                            "characters");
    *out = text;
    PDR_TRY(pdr__arena_keep(out, &x->memory, err));
done:
    return rc;
}

static pdr_rc correlation_read(struct pdr__exchange *x, struct run *run,
                               pdr_err *err)
{
    static const char *const names[] = {"correlation_id", "correlationId",
                                        NULL};
    pdr_str said = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(body_text(&said, x, run, names, err));
    PDR_TRY(pdr__run_key(&run->correlation, x, said, err));
done:
    return rc;
}

/* The bytes as UTF-8; what is not becomes U+FFFD. */
static pdr_rc utf8_mend(pdr_buf *out, pdr_str text, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    while (text.len > 0) {
        size_t good = pdr__utf8_valid_len(text);

        PDR_TRY(pdr_buf_append(out, pdr_str_n(text.ptr, good), err));
        text = pdr_str_n(text.ptr + good, text.len - good);
        if (text.len == 0)
            break;
        PDR_TRY(pdr_buf_append(out, PDR_LIT("\xEF\xBF\xBD"), err));
        text = pdr_str_n(text.ptr + 1, text.len - 1);
    }
done:
    return rc;
}

/* The whole body is what the user says. */
static pdr_rc plain_read(struct pdr__exchange *x, struct run *run, pdr_err *err)
{
    pdr_str text = pdr_buf_str(&x->body);
    pdr_buf sound = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    PDR_TRY(utf8_mend(&sound, text, err));
    run->message = pdr_buf_str(&sound);
    if (profile_of(x) == PDR_PROFILE_PYTHON || pdr__is_blank_text(run->message))
        run->message = pdr__text_trim(run->message);
    PDR_TRY(pdr__arena_keep(&run->message, &x->memory, err));
done:
    pdr_buf_dispose(&sound);
    return rc;
}

static pdr_rc json_read(struct pdr__exchange *x, struct run *run, pdr_err *err)
{
    const pdr_value *message = NULL;
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = pdr_json_read(&run->body, pdr_buf_str(&x->body), NULL, NULL);

    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    if (rc != PDR_OK)
        return refuse(x, 400, "Invalid JSON");
    if (pdr_value_kind(run->body) != PDR_OBJECT)
        return refuse(x, 400, "Invalid JSON payload. Expected an object.");
    message = pdr_value_get_c(run->body, "message");
    if (message == NULL)
        return PDR_OK;
    if (pdr_value_kind(message) != PDR_STRING)
        return refuse(x, 400, "Message must be a string");
    PDR_TRY(pdr__value_sound_text(&run->message, message, &scratch, err));
    PDR_TRY(pdr__arena_keep(&run->message, &x->memory, err));
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Headers that name the session, and the run. */
static void run_headers(struct pdr__exchange *x, const struct run *run)
{
    if (run->key.ptr == NULL)
        return;
    pdr__session_headers(x, run->key);
    pdr__reply_header(x, "x-ms-correlation-id", run->correlation);
}

/* A request; a reply says what is wrong with it. */
static pdr_rc run_read(struct pdr__exchange *x, struct run *run, pdr_err *err)
{
    pdr_str type = {NULL, 0};
    bool is_json = false, is_empty = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__media_type(&type, x, err));
    is_json = pdr_str_equal(type, PDR_LIT("application/json")) ||
              text_ends(type, PDR_LIT("+json"));
    run->wants_json = pdr__accepts(x, "application/json") ||
                      (profile_of(x) == PDR_PROFILE_PYTHON && is_json);
    x->wants_text = !run->wants_json;
    run->agent = pdr_service_find(x->server->service, x->args[0]);
    if (run->agent == NULL)
        return refuse(x, 404, "Agent not found");
    PDR_TRY((is_json ? json_read : plain_read)(x, run, err));
    if (x->reply.status == 0)
        PDR_TRY(key_read(x, run, err));
    if (x->reply.status == 0)
        PDR_TRY(correlation_read(x, run, err));
    if (x->reply.status == 0)
        PDR_TRY(wait_read(x, run, err));
    is_empty = profile_of(x) == PDR_PROFILE_DOTNET || !is_json
                   ? pdr__is_blank_text(run->message)
                   : run->message.len == 0;
    if (x->reply.status == 0 && is_empty)
        PDR_TRY(refuse(x, 400,
                       profile_of(x) == PDR_PROFILE_DOTNET
                           ? "Run request cannot be empty."
                           : "Message is required"));
    run_headers(x, run);
done:
    return rc;
}

/* --- sending ---------------------------------------------------------------
 */

/* What the agent is asked, as its sessions take it. */
static pdr_rc input_make(pdr_buf *out, const struct run *run, pdr_err *err)
{
    static const char *const passed[] = {"role",
                                         "response_format",
                                         "responseFormat",
                                         "enable_tool_calls",
                                         "enableToolCalls",
                                         "enable_tool_names",
                                         "enableToolNames",
                                         NULL};
    pdr_builder *to = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("message"));
    pdr_builder_string(to, run->message);
    pdr_builder_name(to, PDR_LIT("correlationId"));
    pdr_builder_string(to, run->correlation);
    for (size_t i = 0; run->body != NULL && passed[i] != NULL; i++) {
        const pdr_value *member = pdr_value_get_c(run->body, passed[i]);

        if (member == NULL || pdr_value_kind(member) == PDR_NULL)
            continue;
        pdr_builder_name(to, pdr_str_c(passed[i]));
        pdr_builder_value(to, member);
    }
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(&value, to, err));
    PDR_TRY(pdr_json_write(out, value, NULL, err));
done:
    pdr_value_free(value);
    pdr_builder_free(to);
    return rc;
}

static pdr_rc run_send(struct pdr__exchange *x, struct run *run, pdr_err *err)
{
    pdr_sent sent;
    pdr_buf input = PDR_BUF_INIT(SIZE_MAX);
    pdr_operation operation = {.session = run->ref,
                               .name = PDR_LIT("run"),
                               .correlation_id = run->correlation};
    pdr_rc rc = PDR_OK;

    PDR_TRY(input_make(&input, run, err));
    operation.input = pdr_buf_str(&input);
    if (run->waits)
        PDR_TRY(
            pdr__ending_join(&run->wait, x, &run->ref, run->correlation, err));
    PDR_TRY(pdr_engine_send(&sent, pdr_service_engine(x->server->service),
                            &operation, err));
    run->is_sent = true;
    run->is_known = sent.is_repeated;
    run->due_ms = pdr__monotonic_ms(pdr__clock_system()) +
                  (int64_t)x->server->opts.wait_ms;
done:
    pdr_buf_dispose(&input);
    return rc;
}

/* --- replies ---------------------------------------------------------------
 */

static void put_text(pdr_builder *to, const char *name, pdr_str text)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, text);
}

/* Members of the Python edition, whatever became of the run. */
static void put_python(pdr_builder *to, const struct run *run,
                       const char *status, pdr_str response, bool has_response)
{ /* who asks for an answer of before does not say what was asked */
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("response"));
    if (has_response)
        pdr_builder_string(to, response);
    else
        pdr_builder_null(to);
    if (run->message.ptr != NULL)
        put_text(to, "message", run->message);
    put_text(to, "session_id", run->key);
    put_text(to, "thread_id", run->key);
    put_text(to, "status", pdr_str_c(status));
    put_text(to, "correlation_id", run->correlation);
}

static void put_dotnet(pdr_builder *to, const struct run *run, unsigned status)
{
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("status"));
    pdr_builder_int64(to, status);
    put_text(to, "thread_id", run->key);
}

static pdr_rc built_send(struct pdr__exchange *x, unsigned status,
                         pdr_builder *to, pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(&value, to, err));
    pdr_buf_clear(&x->reply.body);
    PDR_TRY(pdr_json_write(&x->reply.body, value, NULL, err));
    pdr__reply_begin(x, status, PDR_TYPE_JSON);
done:
    pdr_value_free(value);
    pdr_builder_free(to);
    return rc;
}

static pdr_rc accepted_reply(struct pdr__exchange *x, const struct run *run,
                             pdr_err *err)
{
    const bool is_dotnet = profile_of(x) == PDR_PROFILE_DOTNET;
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    if (!run->wants_json) {
        pdr__reply_text(x, 202, PDR_TYPE_TEXT,
                        is_dotnet ? PDR_LIT("Request accepted.")
                                  : PDR_LIT("Agent request accepted"));
        return PDR_OK;
    }
    PDR_TRY(pdr_builder_new(&to, err));
    if (is_dotnet)
        put_dotnet(to, run, 202);
    else
        put_python(to, run, "accepted", PDR_LIT("Agent request accepted"),
                   true);
    rc = built_send(x, 202, to, err);
done:
    return rc;
}

/* The time is over; the run goes on. */
static pdr_rc late_reply(struct pdr__exchange *x, const struct run *run,
                         pdr_err *err)
{
    static const char text[] = "Agent is still processing or timed out...";
    pdr_buf place = PDR_BUF_INIT(SIZE_MAX);
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    if (profile_of(x) == PDR_PROFILE_DOTNET) {
        PDR_TRY(pdr__response_path(&place, x, run->agent, run->key,
                                   run->correlation, err));
        pdr__reply_header(x, "Location", pdr_buf_str(&place));
        PDR_TRY(accepted_reply(x, run, err));
    } else if (!run->wants_json) {
        pdr__reply_text(x, 500, PDR_TYPE_TEXT, pdr_str_c(text));
    } else {
        PDR_TRY(pdr_builder_new(&to, err));
        put_python(to, run, "timeout", pdr_str_c(text), true);
        rc = built_send(x, 500, to, err);
    }
done:
    pdr_buf_dispose(&place);
    return rc;
}

/* It failed, or was cancelled. */
static pdr_rc failed_reply(struct pdr__exchange *x, const struct run *run,
                           const pdr_ending *ending, pdr_err *err)
{
    pdr_value *outcome = NULL;
    pdr_buf scratch[2] = {PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                          PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)};
    pdr_str text = PDR_LIT("the run was cancelled");
    pdr_str code = PDR_LIT("run_cancelled");
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__outcome_read(&outcome, ending, err));
    PDR_TRY(pdr__outcome_text(&text, outcome, "message", &scratch[0], err));
    PDR_TRY(pdr__outcome_text(&code, outcome, "code", &scratch[1], err));
    if (!run->wants_json) {
        pdr__reply_text(x, 500, PDR_TYPE_TEXT, text);
        goto done;
    }
    PDR_TRY(pdr_builder_new(&to, err));
    if (profile_of(x) == PDR_PROFILE_DOTNET) {
        put_dotnet(to, run, 500);
        put_text(to, "error", text);
    } else {
        put_python(to, run, "error", text, false);
        put_text(to, "error", text);
        put_text(to, "error_code", code);
    }
    rc = built_send(x, 500, to, err);
done:
    pdr_value_free(outcome);
    pdr_buf_dispose(&scratch[0]);
    pdr_buf_dispose(&scratch[1]);
    return rc;
}

static pdr_rc done_reply(struct pdr__exchange *x, const struct run *run,
                         const pdr_ending *ending, uint64_t entries,
                         pdr_err *err)
{
    pdr_value *answer = NULL;
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    if (ending->answer.ptr != NULL)
        PDR_TRY(
            pdr_json_read(&answer, ending->answer, &pdr__stored_reading, err));
    PDR_TRY(pdr__answer_text(&text, answer, err));
    if (!run->wants_json) {
        pdr__reply_text(x, 200, PDR_TYPE_TEXT, pdr_buf_str(&text));
        goto done;
    }
    PDR_TRY(pdr_builder_new(&to, err));
    if (profile_of(x) == PDR_PROFILE_DOTNET) {
        put_dotnet(to, run, 200);
        pdr_builder_name(to, PDR_LIT("response"));
        rc = pdr__put_pascal(to, answer, err);
    } else {
        put_python(to, run, "success", pdr_buf_str(&text), true);
        pdr_builder_name(to, PDR_LIT("message_count"));
        pdr_builder_uint64(to, entries);
    }
    if (rc == PDR_OK)
        rc = built_send(x, 200, to, err);
    else
        pdr_builder_free(to);
done:
    pdr_buf_dispose(&text);
    pdr_value_free(answer);
    return rc;
}

/* --- waiting ---------------------------------------------------------------
 */

/* Called with the lock of the engine held. */
static void on_woken(void *arg)
{
    struct pdr__exchange *x = arg;

    pdr__live_wake(x->server->live, x);
}

pdr_rc pdr__ending_join(struct pdr__ending_wait *w, struct pdr__exchange *x,
                        const pdr_ref *ref, pdr_str correlation, pdr_err *err)
{
    pdr_engine *engine = pdr_service_engine(x->server->service);
    pdr_rc rc = PDR_OK;

    w->key = pdr__session_key(w->session, ref);
    w->waiter = (struct pdr__waiter){
        .correlation_id = correlation, .fn = on_woken, .arg = x};
    PDR_TRY(pdr__waiter_join(engine, &w->waiter, w->key, err));
    w->engine = engine;
done:
    return rc;
}

void pdr__ending_leave(struct pdr__ending_wait *w)
{
    if (w->engine != NULL)
        pdr__waiter_leave(w->engine, &w->waiter, w->key);
}

pdr_rc pdr__ending_look(pdr_ending **out, struct pdr__exchange *x,
                        struct pdr__ending_wait *w, const pdr_ref *ref,
                        int64_t due_ms, pdr_err *err)
{
    const bool is_stopping = pdr__live_is_stopping(x->server->live);
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr__waiter_look(out, w->engine, &w->waiter, ref, &why);

    /* An engine that is about to stop lets runs end. */
    if (rc != PDR_OK &&
        (!pdr__err_is(&why, PDR_R_ENGINE_STOPPED) || is_stopping))
        return pdr__err_pass(err, &why);
    if (*out == NULL && !x->wait.is_due && !is_stopping)
        pdr__wait_until(x, due_ms);
    return PDR_OK;
}

/* Has it ended? Then the reply is made. */
static pdr_rc run_look(struct pdr__exchange *x, struct run *run, pdr_err *err)
{
    pdr_ending *ending = NULL;
    pdr_rc rc =
        pdr__ending_look(&ending, x, &run->wait, &run->ref, run->due_ms, err);

    if (rc != PDR_OK || x->wait.is_set)
        return rc;
    if (ending == NULL)
        rc = late_reply(x, run, err);
    else if (ending->is_gone)
        rc = refuse(x, 410, "the answer was removed from the session");
    else if (ending->state == PDR_OPERATION_COMPLETED)
        rc = done_reply(x, run, ending, ending->entries, err);
    else
        rc = failed_reply(x, run, ending, err);
    pdr_ending_free(ending);
    return rc;
}

pdr_rc pdr__handle_run(struct pdr__exchange *x, pdr_err *err)
{
    struct run *run = x->state;
    pdr_rc rc = PDR_OK;

    if (run == NULL) {
        run = pdr__calloc(1, sizeof(*run));
        if (run == NULL)
            return pdr__nomem(err);
        x->state = run;
        x->state_free = run_free;
        PDR_TRY(run_read(x, run, err));
        if (x->reply.status != 0)
            goto done;
    }
    if (!run->is_sent) {
        PDR_TRY(run_send(x, run, err));
        if (!run->waits) {
            rc = accepted_reply(x, run, err);
            goto done;
        }
        if (!run->is_known) { /* what comes of it is told */
            pdr__wait_until(x, run->due_ms);
            goto done;
        }
    }
    PDR_TRY(run_look(x, run, err));
done:
    return rc;
}

/* What came of a run that was sent before. */
pdr_rc pdr__handle_response(struct pdr__exchange *x, pdr_err *err)
{
    struct run *run = x->state;
    pdr_str wait = pdr__query_get(x, "wait");
    uint64_t seconds = 0;
    pdr_rc rc = PDR_OK;

    if (run == NULL) {
        run = pdr__calloc(1, sizeof(*run));
        if (run == NULL)
            return pdr__nomem(err);
        x->state = run;
        x->state_free = run_free;
        if (wait.ptr != NULL && !pdr__number_read(&seconds, wait))
            return refuse(x, 400, "'wait' is a number of seconds");
        PDR_TRY(pdr__agent_session(&run->ref, x, x->args[0], x->args[1], err));
        if (x->reply.status != 0)
            goto done;
        run->agent = pdr_service_find(x->server->service, x->args[0]);
        run->key = x->args[1];
        run->correlation = x->args[2];
        run->wants_json = true;
        run->is_sent = run->waits = true;
        run->due_ms = pdr__monotonic_ms(pdr__clock_system()) +
                      (int64_t)(seconds < 300 ? seconds : 300) * 1000;
        x->wait.is_due = seconds == 0;
        pdr__reply_header(x, "x-ms-correlation-id", run->correlation);
        PDR_TRY(
            pdr__ending_join(&run->wait, x, &run->ref, run->correlation, err));
    }
    PDR_TRY(run_look(x, run, err));
done:
    return rc;
}

/* A new session of the agent that is meant where none is named: its prompt is
 * sent, and what comes is streamed. */
pdr_rc pdr__handle_create(struct pdr__exchange *x, pdr_err *err)
{
    struct run run = {.agent = pdr_service_first(x->server->service)};
    pdr_rc rc = PDR_OK;

    x->wants_text = true;
    if (run.agent == NULL)
        return refuse(x, 404, "Agent not found");
    PDR_TRY(plain_read(x, &run, err));
    if (pdr__is_blank_text(run.message))
        return refuse(x, 400, "Request body must contain a prompt.");
    PDR_TRY(key_read(x, &run, err));
    if (x->reply.status == 0)
        PDR_TRY(correlation_read(x, &run, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(run_send(x, &run, err));
    run_headers(x, &run);
    PDR_TRY(pdr__stream_of(x, &run.ref, run.correlation, err));
done:
    return rc;
}
