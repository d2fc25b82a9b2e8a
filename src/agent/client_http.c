/*
 * client_http.c - a client for Chat Completions servers, over libcurl.
 *
 * WHY  pdr_client_send() blocks and is called from many threads, so a request
 *      has a multi handle of its own, used by one thread. These handles keep
 *      connections; a pool hands them from request to request.
 *
 *      take a handle ─► transfer ─► answer ─► give it back
 *                 ▲        │ failed, nothing handed over, worth it
 *                 └─ wait ─┘
 *
 * INVARIANTS
 *   H1  The key and the values of headers are in headers and nowhere else.
 *       Texts of a server are searched for them before they get into a message.
 *   H2  A request is repeated only while the caller has got no content.
 *   H3  Every wait ends at once when the run is cancelled.
 *
 * NOT HERE  What is sent (openai_request.c), what comes (openai_answer.c).
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <strings.h>

#include <curl/curl.h>

#include "agent.h"
#include "net.h"

#define ERROR_BODY_BYTES 8192u /* of a failed request, kept for its message */
#define MAX_IDLE_HANDLES 16u   /* connections that are kept open */
#define MAX_RETRY_AFTER                             \
    60000 /* ms; a server that asks for more is not \
             asked again */
#define BACKOFF_FIRST_MS 500u
#define BACKOFF_STEPS    4u   /* of doubling: 8 s at most */
#define DONE_LINGER_MS   1000 /* for a server that does not hang up */
#define MIN_SECRET_LEN   4u   /* bytes of a word in a header to hide it */

struct http_client {
    pdr_client base;
    char *url, *model, *key; /* owned; key NULL: none */
    struct curl_slist *headers;
    struct pdr__secrets secrets; /* in `key` and `headers` */
    uint32_t connect_ms, first_byte_ms, idle_ms, retry_ms;
    unsigned max_retries;
    struct pdr__openai_profile profile;
    pthread_mutex_t lock;
    unsigned lacks; /* guarded by lock; of the profile, and found out */
    CURLM *idle[MAX_IDLE_HANDLES]; /* guarded by lock; owned */
    size_t idle_count;             /* guarded by lock */
};

enum body_kind { BODY_NONE, BODY_STREAM, BODY_JSON, BODY_FAILED };

/* One try. */
struct transfer {
    struct http_client *client;
    CURLM *multi;
    CURL *handle;
    const pdr_client_request *request;
    pdr_update_fn fn;
    void *arg;
    struct pdr__openai_answer answer;
    struct pdr__sse sse;
    enum body_kind kind;
    pdr_buf body;               /* of JSON, or of a failure */
    size_t received;            /* bytes of the body */
    int64_t started, last;      /* ms; `last`: of the last byte */
    int64_t retry_after_ms;     /* -1: the server does not say */
    int should_retry;           /* 1, 0; -1: the server does not say */
    long status;                /* of HTTP; 0: none yet */
    bool is_cancelled, is_late; /* ended by transfer_perform() */
    bool is_refused;            /* ended by the caller's function */
    pdr_rc rc;                  /* of the callbacks */
    pdr_err err;
};

/* --- handles ---------------------------------------------------------------
 */

static void curl_start(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static CURLM *handle_take(struct http_client *c)
{
    CURLM *multi = NULL;

    pthread_mutex_lock(&c->lock);
    if (c->idle_count > 0)
        multi = c->idle[--c->idle_count];
    pthread_mutex_unlock(&c->lock);
    return multi != NULL ? multi : curl_multi_init();
}

static void handle_give(struct http_client *c, CURLM *multi)
{
    pthread_mutex_lock(&c->lock);
    if (c->idle_count < MAX_IDLE_HANDLES) {
        c->idle[c->idle_count++] = multi;
        multi = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (multi != NULL)
        (void)curl_multi_cleanup(multi);
}

/* --- what comes ------------------------------------------------------------
 */

static int64_t now_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

/* A pdr_update_fn between the answer and the caller. */
static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    struct transfer *t = arg;
    pdr_rc rc = t->fn(update, err, t->arg);

    t->is_refused = rc != PDR_OK;
    return rc;
}

static pdr_rc on_event(const struct pdr__sse_event *event, pdr_err *err,
                       void *arg)
{
    struct transfer *t = arg;

    if (event->is_keepalive)
        return PDR_OK;
    return pdr__openai_chunk(&t->answer, event->data, event->is_cut, err);
}

/* Is it the header `name`? Its value, without space around it. */
static bool header_is(pdr_str *value, pdr_str line, const char *name)
{
    size_t len = strlen(name);

    if (line.len <= len || line.ptr[len] != ':' ||
        strncasecmp(line.ptr, name, len) != 0)
        return false;
    *value = pdr_str_n(line.ptr + len + 1, line.len - len - 1);
    while (value->len > 0 && strchr(" \t", value->ptr[0]) != NULL)
        *value = pdr_str_n(value->ptr + 1, value->len - 1);
    while (value->len > 0 && strchr(" \t\r\n", value->ptr[value->len - 1]))
        value->len--;
    return true;
}

int64_t pdr__retry_delay(pdr_str value, int64_t unit,
                         const struct pdr__clock *clock)
{
    int64_t whole = 0, part = 0, scale = 1, now = 0;
    char date[64];
    size_t i = 0;
    time_t at = 0;

    for (; i < value.len && value.ptr[i] >= '0' && value.ptr[i] <= '9'; i++)
        if (whole < 1000000000)
            whole = whole * 10 + (value.ptr[i] - '0');
    if (i > 0 && i < value.len && value.ptr[i] == '.')
        for (i++; i < value.len && value.ptr[i] >= '0' && value.ptr[i] <= '9';
             i++)
            if (scale < 1000) {
                part = part * 10 + (value.ptr[i] - '0');
                scale *= 10;
            }
    if (i > 0 && i == value.len)
        return whole * unit + part * unit / scale;
    if (value.len == 0 || value.len >= sizeof(date))
        return -1;
    memcpy(date, value.ptr, value.len);
    date[value.len] = '\0';
    at = curl_getdate(date, NULL);
    if (at < 0)
        return -1;
    now = (pdr__now_ticks(clock) - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    return at * INT64_C(1000) > now ? at * INT64_C(1000) - now : 0;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    pdr_str line = pdr_str_n(bytes, size * count), value = {NULL, 0};

    t->last = now_ms();
    if (line.len >= 5 && memcmp(line.ptr, "HTTP/", 5) == 0) {
        t->retry_after_ms = -1; /* what came before was "100 Continue" */
        t->should_retry = -1;
    } else if (header_is(&value, line, "retry-after-ms")) {
        t->retry_after_ms = pdr__retry_delay(value, 1, pdr__clock_system());
    } else if (header_is(&value, line, "retry-after")) {
        if (t->retry_after_ms < 0)
            t->retry_after_ms =
                pdr__retry_delay(value, 1000, pdr__clock_system());
    } else if (header_is(&value, line, "x-should-retry")) {
        t->should_retry = pdr_str_equal(value, PDR_LIT("true"))    ? 1
                          : pdr_str_equal(value, PDR_LIT("false")) ? 0
                                                                   : -1;
    }
    return size * count;
}

static bool type_is(const char *type, const char *wanted)
{
    size_t len = strlen(wanted);

    return type != NULL && strncasecmp(type, wanted, len) == 0 &&
           strchr("; \t", type[len]) != NULL; /* or its end */
}

/* What the body is. What was asked for says nothing: servers answer a wish for
 * a stream with JSON. */
static pdr_rc body_begin(struct transfer *t)
{
    const char *type = NULL;

    (void)curl_easy_getinfo(t->handle, CURLINFO_RESPONSE_CODE, &t->status);
    (void)curl_easy_getinfo(t->handle, CURLINFO_CONTENT_TYPE, &type);
    if (t->status < 200 || t->status > 299)
        t->kind = BODY_FAILED;
    else if (type_is(type, "text/event-stream"))
        t->kind = BODY_STREAM;
    else if (type_is(type, "application/json"))
        t->kind = BODY_JSON;
    else
        return PDR_FAIL(&t->err, MODEL_PROTOCOL,
                        "the model server answers with '%s', expected JSON or "
                        "an event stream",
                        pdr__openai_shown((char[PDR_SERVER_TEXT]){0},
                                          pdr_str_c(type != NULL ? type : ""),
                                          &t->client->secrets)); /* H1 */
    return PDR_OK;
}

static pdr_rc body_take(struct transfer *t, pdr_str bytes)
{
    pdr_rc rc = PDR_OK;

    if (t->kind == BODY_NONE)
        PDR_TRY(body_begin(t));
    t->received += bytes.len;
    if (t->kind == BODY_FAILED) {
        if (bytes.len > ERROR_BODY_BYTES - t->body.len)
            bytes.len = ERROR_BODY_BYTES - t->body.len;
        return pdr_buf_append(&t->body, bytes, &t->err);
    }
    if (t->received > PDR_MAX_ANSWER_BYTES)
        return PDR_FAIL(&t->err, MODEL_PROTOCOL,
                        "the answer of the model has more than %zu bytes",
                        PDR_MAX_ANSWER_BYTES);
    if (t->kind == BODY_JSON)
        return pdr_buf_append(&t->body, bytes, &t->err);
    rc = pdr__sse_feed(&t->sse, bytes, &t->err);
    if (rc == PDR_ELIMIT && !t->is_refused) {
        const pdr_err why = t->err;

        rc = PDR_FAIL(&t->err, MODEL_PROTOCOL, "%s", why.message);
    }
done:
    return rc;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;

    t->last = now_ms();
    t->rc = body_take(t, pdr_str_n(bytes, size * count));
    return t->rc == PDR_OK ? size * count : 0; /* 0 ends the transfer */
}

/* --- one try ---------------------------------------------------------------
 */

static bool transfer_setup(struct transfer *t, const pdr_buf *body)
{
    const struct http_client *c = t->client;
    CURL *h = t->handle;
    unsigned bad = 0;

#define SET(option, value) bad |= curl_easy_setopt(h, (option), (value))
    SET(CURLOPT_URL, c->url);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, body->ptr);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
    SET(CURLOPT_HTTPHEADER, c->headers);
    SET(CURLOPT_USERAGENT, "perdure");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, t);
#undef SET
    return bad == CURLE_OK;
}

static void wake_multi(void *arg)
{
    (void)curl_multi_wakeup(arg);
}

/* Milliseconds until the server is late. */
static int64_t transfer_left(const struct transfer *t)
{
    const struct http_client *c = t->client;
    int64_t left = 0;

    if (t->last == 0)
        left = t->started + c->first_byte_ms - now_ms();
    else
        left = t->last +
               (t->answer.is_done ? DONE_LINGER_MS : (int64_t)c->idle_ms) -
               now_ms();
    return left < INT_MAX ? left : INT_MAX;
}

/* Send and receive until the transfer is over, late or cancelled (H3). */
static CURLcode transfer_perform(struct transfer *t)
{
    pdr_cancel *cancel = t->request->cancel;
    struct pdr__cancel_watch watch = {wake_multi, t->multi, NULL};
    CURLMcode state = curl_multi_add_handle(t->multi, t->handle);
    CURLcode code = CURLE_OPERATION_TIMEDOUT;
    const CURLMsg *message = NULL;
    int running = 1, count = 0;

    pdr__cancel_watch(cancel, &watch);
    while (state == CURLM_OK) {
        int64_t left = 0;

        state = curl_multi_perform(t->multi, &running);
        if (state != CURLM_OK || running == 0)
            break;
        left = transfer_left(t);
        t->is_cancelled = pdr_cancel_is_set(cancel);
        t->is_late = left <= 0;
        if (t->is_cancelled || t->is_late)
            break;
        left = pdr__cancel_left_ms(cancel, left);
        state = curl_multi_poll(t->multi, NULL, 0, (int)left, NULL);
    }
    pdr__cancel_unwatch(cancel, &watch);
    message = curl_multi_info_read(t->multi, &count);
    if (message != NULL)
        code = message->data.result;
    else if (state != CURLM_OK)
        code = CURLE_OUT_OF_MEMORY;
    (void)curl_multi_remove_handle(t->multi, t->handle);
    return code;
}

/* What became of a transfer that nobody ended. */
static pdr_rc transfer_end(struct transfer *t, CURLcode code)
{
    bool is_whole = code == CURLE_OK || t->answer.is_done;
    pdr_rc rc = PDR_OK;

    (void)curl_easy_getinfo(t->handle, CURLINFO_RESPONSE_CODE, &t->status);
    if (code == CURLE_OUT_OF_MEMORY)
        return pdr__nomem(&t->err);
    if (t->status >= 300 || t->kind == BODY_FAILED) /* also with half a body */
        return pdr__openai_fail((int)t->status, pdr_buf_str(&t->body),
                                &t->client->secrets, &t->err);
    if (!is_whole && t->received == 0)
        return PDR_FAIL(&t->err, MODEL_NETWORK,
                        "the model server cannot be "
                        "reached, or gives no answer: %s",
                        t->is_late ? "it took too long"
                                   : curl_easy_strerror(code));
    if (!is_whole)
        return PDR_FAIL(&t->err, MODEL_TRUNCATED,
                        "the answer of the model ends in the middle: %s",
                        t->is_late ? "nothing came for too long"
                                   : curl_easy_strerror(code));
    if (t->kind == BODY_STREAM) {
        PDR_TRY(pdr__sse_end(&t->sse, &t->err));
    } else if (t->kind == BODY_JSON) {
        PDR_TRY(pdr__openai_chunk(&t->answer, pdr_buf_str(&t->body), false,
                                  &t->err));
        t->answer.is_done = true;
    }
    rc = pdr__openai_end(&t->answer, &t->err);
done:
    return rc;
}

static pdr_rc transfer_run(struct transfer *t, const pdr_buf *body)
{
    CURLcode code = CURLE_OUT_OF_MEMORY;

    t->started = now_ms();
    t->multi = handle_take(t->client);
    t->handle = curl_easy_init();
    if (t->multi != NULL && t->handle != NULL && transfer_setup(t, body))
        code = transfer_perform(t);
    if (t->is_cancelled)
        t->rc = PDR_FAIL(&t->err, RUN_CANCELLED, "%s", "the run was cancelled");
    if (t->rc == PDR_OK)
        t->rc = transfer_end(t, code);
    curl_easy_cleanup(t->handle);
    if (t->multi != NULL)
        handle_give(t->client, t->multi);
    return t->rc;
}

/* --- several ---------------------------------------------------------------
 */

/* Is another try worth it? (H2) */
static bool transfer_may_retry(const struct transfer *t, unsigned tries)
{
    const enum pdr__reason usual[] = {
        PDR_R_MODEL_RATE_LIMIT, PDR_R_MODEL_TRANSIENT, PDR_R_MODEL_SERVER,
        PDR_R_MODEL_NETWORK, PDR_R_MODEL_TRUNCATED};

    if (t->rc != PDR_EMODEL || t->is_refused || t->answer.has_given ||
        tries >= t->client->max_retries || t->retry_after_ms > MAX_RETRY_AFTER)
        return false;
    if (t->kind == BODY_FAILED && t->should_retry >= 0)
        return t->should_retry == 1;
    for (size_t i = 0; i < PDR_COUNT(usual); i++)
        if (pdr__err_is(&t->err, usual[i]))
            return true;
    return pdr__err_is(&t->err, PDR_R_MODEL_PROTOCOL) && tries == 0;
}

/* How long to wait before another try: as the server says, else anything up to
 * a ceiling that doubles, so that clients do not come back together. */
static uint32_t retry_delay(const struct transfer *t, unsigned tries)
{
    uint32_t most = BACKOFF_FIRST_MS
                    << (tries < BACKOFF_STEPS ? tries : BACKOFF_STEPS);
    uint32_t random = most; /* if there is none */

    if (t->retry_after_ms >= 0)
        return (uint32_t)t->retry_after_ms;
    (void)!pdr__rand_fill(&random, pdr__rand_system(), sizeof(random), NULL);
    return random % (most + 1);
}

/* Does the server refuse the wish for usage in a stream? */
static bool transfer_lacks_usage(const struct transfer *t)
{
    static const char name[] = "stream_options";

    return t->status == 400 && t->body.len > 0 &&
           memmem(t->body.ptr, t->body.len, name, sizeof(name) - 1) != NULL;
}

/* What the server does not take, as far as it is known; `more` is news. */
static unsigned client_lacks(struct http_client *c, unsigned more)
{
    unsigned lacks = 0;

    pthread_mutex_lock(&c->lock);
    lacks = c->lacks |= more;
    pthread_mutex_unlock(&c->lock);
    return lacks;
}

/* Try once. `*delay_ms`: how long to wait before another try, -1: no more.
 * `*tries` counts; one that found out what the server lacks does not count. */
static pdr_rc try_once(int64_t *delay_ms, unsigned *tries,
                       struct http_client *c, const pdr_client_request *request,
                       pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct transfer t = {.client = c,
                         .request = request,
                         .fn = fn,
                         .arg = arg,
                         .body = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES),
                         .retry_after_ms = -1,
                         .should_retry = -1,
                         .err = PDR_ERR_INIT};
    struct pdr__openai_profile profile = c->profile;
    pdr_buf body = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    *delay_ms = -1;
    profile.lacks = client_lacks(c, 0);
    pdr__openai_answer_init(&t.answer, request, &c->secrets, on_update, &t);
    pdr__sse_init(&t.sse, on_event, &t);
    PDR_TRY(pdr__openai_request(&body, request, pdr_str_c(c->model), &profile,
                                &t.err));
    PDR_TRY(transfer_run(&t, &body));
done:
    if (rc == PDR_EMODEL && transfer_lacks_usage(&t) &&
        !(profile.lacks & PDR_OPENAI_NO_STREAM_OPTIONS)) {
        (void)client_lacks(c, PDR_OPENAI_NO_STREAM_OPTIONS);
        *delay_ms = 0;
    } else if (rc != PDR_OK && transfer_may_retry(&t, *tries)) {
        *delay_ms = retry_delay(&t, (*tries)++);
    }
    *err = t.err;
    pdr_buf_dispose(&body);
    pdr_buf_dispose(&t.body);
    pdr__sse_dispose(&t.sse);
    pdr__openai_answer_dispose(&t.answer);
    return rc;
}

static pdr_rc http_send(pdr_client *self, const pdr_client_request *request,
                        pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct http_client *c = (struct http_client *)self;
    int64_t until = now_ms() + c->retry_ms, delay = 0;
    unsigned tries = 0;

    for (;;) {
        pdr_err why = PDR_ERR_INIT;
        pdr_rc rc = try_once(&delay, &tries, c, request, &why, fn, arg);

        if (rc == PDR_OK || delay < 0 || now_ms() + delay > until) {
            if (why.code != PDR_OK) /* the caller may say no more */
                (void)pdr__err_pass(err, &why);
            return rc;
        }
        pdr__event_request_retried(request->log, delay, &why);
        if (pdr_cancel_wait(request->cancel, (uint32_t)delay))
            return PDR_FAIL(err, RUN_CANCELLED, "%s", "the run was cancelled");
    }
}

/* --- making ----------------------------------------------------------------
 */

static void http_free(pdr_client *self)
{
    struct http_client *c = (struct http_client *)self;

    for (size_t i = 0; i < c->idle_count; i++)
        (void)curl_multi_cleanup(c->idle[i]);
    curl_slist_free_all(c->headers);
    pthread_mutex_destroy(&c->lock);
    pdr__free(c->url);
    pdr__free(c->model);
    pdr__free(c->key);
    pdr__free(c->secrets.texts);
    pdr__free(c);
}

static const pdr_client_ops http_ops = {PDR_CLIENT_OPS_VERSION, "openai",
                                        http_send, http_free};

static pdr_rc add_header(struct http_client *c, const char *line, pdr_err *err)
{
    struct curl_slist *more = curl_slist_append(c->headers, line);

    if (more == NULL)
        return pdr__nomem(err);
    c->headers = more;
    return PDR_OK;
}

static pdr_rc add_secret(struct http_client *c, pdr_str text, pdr_err *err)
{
    struct pdr__secrets *s = &c->secrets;
    pdr_rc rc = pdr__grow((void **)&s->texts, &s->cap, s->count + 1,
                          sizeof(*s->texts), err);

    if (rc == PDR_OK)
        s->texts[s->count++] = text;
    return rc;
}

/* A header of the caller. Each word of its value is a secret: a server may
 * repeat the token of "Bearer TOKEN" alone. */
static pdr_rc add_own_header(struct http_client *c, const char *line,
                             pdr_err *err)
{
    const struct curl_slist *last = NULL;
    const char *at = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(add_header(c, line, err));
    for (last = c->headers; last->next != NULL; last = last->next)
        ;
    for (at = strchr(last->data, ':') + 1; *at != '\0';) {
        size_t len = strcspn(at, " ");

        if (len >= MIN_SECRET_LEN)
            PDR_TRY(add_secret(c, pdr_str_n(at, len), err));
        at += len + (at[len] == ' ');
    }
done:
    return rc;
}

/* Printable ASCII only: what ends a header must not get into one. */
static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

/* "Name: value", and none that the client sets itself. */
static bool header_is_fine(const char *line, bool has_key)
{
    static const char *const ours[] = {
        "content-type", "content-length",    "accept",
        "expect",       "transfer-encoding", "authorization"};
    pdr_str value = PDR_LIT("");
    size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz-_"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

    for (size_t i = 0; i < PDR_COUNT(ours) - !has_key; i++)
        if (header_is(&value, pdr_str_c(line), ours[i]))
            return false;
    if (name == 0 || line[name] != ':')
        return false;
    line += name + 1;
    if (line[strspn(line, " ")] == '\0')
        return false;
    for (; *line != '\0'; line++)
        if (*line < ' ' || *line > '~')
            return false;
    return true;
}

static pdr_rc opts_check(const pdr_openai_opts *opts, pdr_err *err)
{
    const char *rest = NULL;

    if (strncasecmp(opts->base_url, "http://", 7) == 0)
        rest = opts->base_url + 7;
    else if (strncasecmp(opts->base_url, "https://", 8) == 0)
        rest = opts->base_url + 8;
    if (rest == NULL || rest[0] == '\0' || !is_plain(rest) ||
        strpbrk(rest, "?#@") != NULL)
        return PDR_FAIL(err, BAD_CLIENT, "%s",
                        "the address of the model server must be "
                        "http://HOST/PATH or https://HOST/PATH, without user, "
                        "query and fragment");
    if (opts->model[0] == '\0' ||
        pdr__utf8_check(pdr_str_c(opts->model), NULL) != PDR_OK)
        return PDR_FAIL(err, BAD_CLIENT, "%s",
                        "the name of the model must be some text in UTF-8");
    if (opts->api_key != NULL &&
        (opts->api_key[0] == '\0' || !is_plain(opts->api_key)))
        return PDR_FAIL(err, BAD_CLIENT, "%s",
                        "the key must be printable ASCII without space");
    for (size_t i = 0; opts->headers != NULL && opts->headers[i] != NULL; i++)
        if (!header_is_fine(opts->headers[i], opts->api_key != NULL))
            return PDR_FAIL(err, BAD_CLIENT,
                            "header %zu must be 'Name: value' in printable "
                            "ASCII, and not one that the client sets",
                            i);
    return PDR_OK;
}

pdr_rc pdr_client_openai(pdr_client **out, const pdr_openai_opts *opts,
                         pdr_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const char *const usual[] = {
        "Content-Type: application/json",
        "Accept: text/event-stream, application/json",
        "Expect:", /* no round trip before the body */
    };
    struct pdr__openai_profile profile;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct http_client *c = NULL;
    size_t len = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && opts != NULL && opts->base_url != NULL &&
                opts->model != NULL);
    *out = NULL;
    rc = opts_check(opts, err);
    if (rc == PDR_OK)
        rc = pdr__openai_profile_init(&profile, opts, err);
    if (rc != PDR_OK)
        return rc;
    (void)pthread_once(&once, curl_start);
    c = pdr__calloc(1, sizeof(*c));
    if (c == NULL)
        return pdr__nomem(err);
    (void)pthread_mutex_init(&c->lock, NULL);
    c->profile = profile;
    c->lacks = profile.lacks;
    c->connect_ms =
        opts->connect_timeout_ms > 0 ? opts->connect_timeout_ms : 10000;
    c->first_byte_ms =
        opts->first_byte_timeout_ms > 0 ? opts->first_byte_timeout_ms : 600000;
    c->idle_ms = opts->idle_timeout_ms > 0 ? opts->idle_timeout_ms : 120000;
    c->retry_ms = opts->retry_budget_ms > 0 ? opts->retry_budget_ms : 300000;
    c->max_retries = opts->max_retries == 0  ? 2
                     : opts->max_retries < 0 ? 0
                                             : (unsigned)opts->max_retries;
    (void)!pdr_client_init(&c->base, &http_ops, err); /* the table is whole */
    for (len = strlen(opts->base_url); opts->base_url[len - 1] == '/'; len--)
        ;
    PDR_TRY(pdr_buf_printf(&text, err, "%.*s/chat/completions", (int)len,
                           opts->base_url));
    c->url = pdr__strndup(pdr_buf_str(&text));
    c->model = pdr__strdup(opts->model);
    if (opts->api_key != NULL)
        c->key = pdr__strdup(opts->api_key);
    if (c->url == NULL || c->model == NULL ||
        (opts->api_key != NULL && c->key == NULL)) {
        rc = pdr__nomem(err);
        goto done;
    }
    for (size_t i = 0; i < PDR_COUNT(usual); i++)
        PDR_TRY(add_header(c, usual[i], err));
    if (c->key != NULL) {
        pdr_buf_clear(&text);
        PDR_TRY(pdr_buf_printf(&text, err, "Authorization: Bearer %s%c", c->key,
                               '\0'));
        PDR_TRY(add_header(c, text.ptr, err));
        PDR_TRY(add_secret(c, pdr_str_c(c->key), err));
    }
    for (size_t i = 0; opts->headers != NULL && opts->headers[i] != NULL; i++)
        PDR_TRY(add_own_header(c, opts->headers[i], err));
    *out = &c->base;
    c = NULL;
done:
    pdr_buf_dispose(&text);
    if (c != NULL)
        http_free(&c->base);
    return rc;
}
