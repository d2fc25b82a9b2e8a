/*
 * stream.c - what runs say, sent while they say it.
 *
 *      the session changes, or a ping is due
 *        ─► the pool reads events ─► frames ─► client
 *                 └─ none: it waits   ─► all sent: it waits
 *
 * Three forms, by Accept: server-sent events, lines of JSON, plain text. On the
 * routes of durable agents the data of a message is its text, as the samples of
 * both editions send it; any event may go on in any form and at any server,
 * with the number of the last one ("cursor", "Last-Event-ID").
 *
 * On native routes the data of each event is one line of JSON, with the run
 * that it belongs to. A reader is never refused for its number: if events after
 * it are gone, it is told so ("reset") and gets the oldest one that is kept; if
 * it is not there yet, the stream waits.
 */
#include <inttypes.h>
#include <stdio.h>

#include <perdure/json.h>

#include "http.h"

#include "agent.h"
#include "core.h"

enum form { FORM_SSE, FORM_LINES, FORM_TEXT };

struct streaming {
    pdr_stream *stream; /* owned */
    enum form form;
    bool is_narrow;   /* only message, done and error */
    bool is_native;   /* of native routes: see there */
    bool ends;        /* with the end of a run */
    bool is_over;     /* what is in `out` is the last */
    bool waits;       /* there was nothing more when it was filled */
    bool is_left;     /* the client has gone */
    bool has_counted; /* it is one of those that are open */
    struct pdr__metrics *metrics;
    pdr_ref ref;             /* in arena of the exchange */
    pdr_str correlation;     /* the same; absent: all runs */
    uint64_t after;          /* number of the last event that the client has */
    uint64_t epoch, commits; /* native: of the head that was seen last */
    int64_t first_due_ms; /* monotonic; until then the session may come; 0: it
                             has to be there */
    int64_t ping_due_ms;
    pdr_buf out; /* to be sent */
    size_t sent; /* of it */
};

static int64_t now_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

static void streaming_free(void *state)
{
    struct streaming *s = state;

    if (s->has_counted)
        pdr__metrics_stream(s->metrics, -1);
    pdr_stream_close(s->stream);
    pdr_buf_dispose(&s->out);
    pdr__free(s);
}

/* --- frames ----------------------------------------------------------------
 */

/* Lines of an event: whatever ends a line there, ends one here. */
static pdr_rc put_data(pdr_buf *out, pdr_str text, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (;;) {
        size_t len = 0;

        while (len < text.len && text.ptr[len] != '\n' && text.ptr[len] != '\r')
            len++;
        PDR_TRY(pdr_buf_append(out, PDR_LIT("data: "), err));
        PDR_TRY(pdr_buf_append(out, pdr_str_n(text.ptr, len), err));
        PDR_TRY(pdr_buf_append(out, PDR_LIT("\n"), err));
        if (len == text.len)
            return PDR_OK;
        if (text.ptr[len] == '\r' && len + 1 < text.len &&
            text.ptr[len + 1] == '\n')
            len++;
        text = pdr_str_n(text.ptr + len + 1, text.len - len - 1);
    }
done:
    return rc;
}

/* What a person reads of an event: the text of a message, "[DONE]", the text of
 * an error; of others their JSON. */
static pdr_rc event_text(pdr_buf *out, const pdr_stream_event *event,
                         pdr_err *err)
{
    pdr_value *data = NULL;
    const pdr_value *text = NULL;
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str said = event->data;
    pdr_rc rc = PDR_OK;

    if (pdr_str_equal(event->kind, PDR_LIT("done")))
        return pdr_buf_append(out, PDR_LIT("[DONE]"), err);
    PDR_TRY(pdr_json_read(&data, event->data, NULL, err));
    if (pdr_value_kind(data) == PDR_OBJECT &&
        (pdr_str_equal(event->kind, PDR_LIT("message")) ||
         pdr_str_equal(event->kind, PDR_LIT("reasoning"))))
        text = pdr_value_get_c(data, "text");
    else if (pdr_value_kind(data) == PDR_OBJECT &&
             pdr_str_equal(event->kind, PDR_LIT("error")))
        text = pdr_value_get_c(data, "message");
    if (text != NULL && pdr_value_kind(text) == PDR_STRING)
        PDR_TRY(pdr__value_sound_text(&said, text, &scratch, err));
    PDR_TRY(pdr_buf_append(out, said, err));
done:
    pdr_buf_dispose(&scratch);
    pdr_value_free(data);
    return rc;
}

static bool event_is(const pdr_stream_event *event, const char *kind)
{
    return pdr_str_equal(event->kind, pdr_str_c(kind));
}

static bool kind_ends(pdr_str kind)
{
    return pdr_str_equal(kind, PDR_LIT("done")) ||
           pdr_str_equal(kind, PDR_LIT("error"));
}

/* The data of an event, an object, with its run in front. */
static pdr_rc put_native(pdr_buf *out, const pdr_stream_event *event,
                         pdr_err *err)
{
    struct pdr__json j = {.out = out, .err = err};
    pdr_str rest = event->data;

    pdr__json_begin(&j, NULL, '{');
    if (event->correlation_id.ptr != NULL)
        pdr__json_text(&j, "run", event->correlation_id);
    if (rest.len > 2 && rest.ptr[0] == '{') /* without its brackets */
        pdr__json_raw(&j, NULL, pdr_str_n(rest.ptr + 1, rest.len - 2));
    pdr__json_end(&j, '}');
    return j.rc;
}

static pdr_rc frame_sse(struct streaming *s, const pdr_stream_event *event,
                        pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    if (event->n != 0)
        PDR_TRY(pdr_buf_printf(&s->out, err, "id: %" PRIu64 "\n", event->n));
    PDR_TRY(pdr_buf_printf(&s->out, err, "event: %.*s\n", (int)event->kind.len,
                           event->kind.ptr));
    PDR_TRY((s->is_native ? put_native : event_text)(&text, event, err));
    PDR_TRY(put_data(&s->out, pdr_buf_str(&text), err));
    PDR_TRY(pdr_buf_append(&s->out, PDR_LIT("\n"), err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc frame_line(struct streaming *s, const pdr_stream_event *event,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(&s->out, PDR_LIT("{"), err));
    if (event->n != 0)
        PDR_TRY(pdr_buf_printf(&s->out, err, "\"id\":%" PRIu64 ",", event->n));
    PDR_TRY(pdr_buf_printf(&s->out, err, "\"event\":\"%.*s\"",
                           (int)event->kind.len, event->kind.ptr));
    if (event->correlation_id.ptr != NULL) {
        PDR_TRY(pdr_buf_append(&s->out, PDR_LIT(",\"correlationId\":\""), err));
        PDR_TRY(pdr__text_encode(&s->out, event->correlation_id, err));
        PDR_TRY(pdr_buf_append(&s->out, PDR_LIT("\""), err));
    }
    PDR_TRY(pdr_buf_append(&s->out, PDR_LIT(",\"data\":"), err));
    PDR_TRY(pdr_buf_append(&s->out, event->data, err));
    PDR_TRY(pdr_buf_append(&s->out, PDR_LIT("}\n"), err));
done:
    return rc;
}

static pdr_rc frame_text(struct streaming *s, const pdr_stream_event *event,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (event_is(event, "message")) {
        PDR_TRY(event_text(&s->out, event, err));
    } else if (event_is(event, "done")) {
        PDR_TRY(pdr_buf_append(&s->out, PDR_LIT("\n"), err));
    } else if (event_is(event, "error")) {
        PDR_TRY(pdr_buf_append(&s->out, PDR_LIT("\n[Error: "), err));
        PDR_TRY(event_text(&s->out, event, err));
        PDR_TRY(pdr_buf_append(&s->out, PDR_LIT("]\n"), err));
    }
done:
    return rc;
}

static pdr_rc frame_put(struct streaming *s, const pdr_stream_event *event,
                        pdr_err *err)
{
    const bool ends = kind_ends(event->kind);
    pdr_rc rc = PDR_OK;

    if (s->is_narrow && !ends && !event_is(event, "message"))
        return PDR_OK;
    if (s->form == FORM_SSE)
        rc = frame_sse(s, event, err);
    else if (s->form == FORM_LINES)
        rc = frame_line(s, event, err);
    else
        rc = frame_text(s, event, err);
    if (event->n != 0)
        s->after = event->n;
    s->is_over |= ends && s->ends;
    return rc;
}

/* --- sending ---------------------------------------------------------------
 */

#define GATHER_BYTES 16384 /* events are read as long as there is less */

/* What went wrong after the stream had begun. */
static void broken_put(struct streaming *s, const pdr_err *why)
{
    pdr_stream_event event = {.kind = PDR_LIT("error")};
    pdr_buf data = PDR_BUF_INIT(1024);

    s->is_over = true;
    (void)!pdr_buf_printf(&data, NULL, "{\"code\":\"%s\",\"message\":\"",
                          why->reason != NULL ? why->reason : "");
    (void)!pdr__text_encode(&data, pdr_str_c(why->message), NULL);
    (void)!pdr_buf_append(&data, PDR_LIT("\"}"), NULL);
    event.data = pdr_buf_str(&data);
    if (frame_put(s, &event, NULL) != PDR_OK)
        pdr_buf_clear(&s->out);
    pdr_buf_dispose(&data);
}

static pdr_rc stream_begin(struct streaming *s, const struct pdr__exchange *x,
                           uint64_t after, pdr_err *err)
{
    const pdr_stream_opts opts = {
        .session = s->ref, .correlation_id = s->correlation, .after = after};
    pdr_rc rc = pdr_stream_open(
        &s->stream, pdr_service_store(x->server->service), &opts, err);

    if (rc == PDR_OK && (s->is_narrow || s->form == FORM_TEXT))
        pdr__stream_skip_void(s->stream); /* "attempt" is not told there */
    return rc;
}

/* Open the stream of a native route where the client is. There is none yet if
 * it is ahead of the session. `*is_reset`: it is not where it was. */
static pdr_rc native_begin(bool *is_reset, struct streaming *s,
                           struct pdr__exchange *x, pdr_err *err)
{
    pdr_stream_event event = {.kind = PDR_LIT("reset")};
    pdr_page *page = NULL;
    const pdr_head *head = NULL;
    char data[40];
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__head_read(&page, x, &s->ref, err));
    head = &page->head;
    s->epoch = head->epoch;
    s->commits = head->commits;
    if (s->after >= head->stream_next)
        goto done;
    if (s->after != 0 && s->after + 1 < head->stream_first) {
        s->after = head->stream_first - 1;
        *is_reset = true;
        (void)snprintf(data, sizeof(data), "{\"oldest\":%" PRIu64 "}",
                       head->stream_first);
        event.n = s->after;
        event.data = pdr_str_c(data);
        PDR_TRY(frame_put(s, &event, err));
    }
    /* Whoever missed some begins with what there is. */
    PDR_TRY(stream_begin(s, x, *is_reset ? 0 : s->after, err));
done:
    pdr_page_free(page);
    return rc;
}

/* Begin anew where events are kept: so for a reader that was too slow, or that
 * waits for an event. */
static pdr_rc native_again(struct streaming *s, struct pdr__exchange *x,
                           pdr_err *err)
{
    bool is_reset = false;

    pdr_stream_close(s->stream);
    s->stream = NULL;
    return native_begin(&is_reset, s, x, err);
}

/* Read what there is. `*waits`: there is nothing more now. */
static void events_gather(bool *waits, struct streaming *s,
                          struct pdr__exchange *x)
{
    pdr_stream_event event;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    *waits = false;
    while (!s->is_over && s->out.len < GATHER_BYTES) {
        rc = s->stream == NULL ? native_again(s, x, &why) : PDR_OK;
        if (rc == PDR_OK && s->stream == NULL)
            rc = PDR_ETIMEOUT;
        if (rc == PDR_OK)
            rc = pdr_stream_next(&event, s->stream, 0, &why);
        if (rc == PDR_ETIMEOUT) {
            *waits = true;
            return;
        }
        if (s->is_native && pdr__err_is(&why, PDR_R_CURSOR_GONE)) {
            why = (pdr_err)PDR_ERR_INIT;
            rc = native_again(s, x, &why);
            if (rc == PDR_OK)
                continue;
        }
        if (rc == PDR_OK && event.kind.ptr == NULL) {
            s->is_over = true;
            return;
        }
        if (event.n == 0 && kind_ends(event.kind))
            event.n =
                pdr__stream_at(s->stream); /* come back with it: no more */
        if (rc == PDR_OK)
            rc = frame_put(s, &event, &why);
        if (rc != PDR_OK) {
            broken_put(s, &why);
            return;
        }
    }
}

/* Until there is more, or for a sign of life. */
static void stream_wait(struct pdr__exchange *x, struct streaming *s)
{
    pdr_buf_dispose(&s->out); /* an idle stream has no memory for events */
    s->out = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    s->sent = 0;
    if (s->stream != NULL)
        pdr__stream_seen(&s->epoch, &s->commits, s->stream);
    pdr__wait_for(x, &s->ref, s->epoch, s->commits,
                  now_ms() + x->server->opts.ping_ms);
}

/* A pdr__fill_fn. */
static bool stream_fill(struct pdr__exchange *x)
{
    struct streaming *s = x->state;
    const bool is_due = x->wait.is_due;

    x->wait.is_due = false;
    pdr_buf_clear(&s->out);
    s->sent = 0;
    events_gather(&s->waits, s, x);
    s->is_over |= s->out.len == 0 && pdr__live_is_stopping(x->server->live);
    if (s->out.len > 0 || s->is_over)
        return true;
    if (!is_due) {
        stream_wait(x, s);
        return false;
    }
    /* Nothing can be sent in a text that is not part of it. */
    s->is_left = s->form == FORM_TEXT && pdr__glue_has_left(x);
    if (s->form != FORM_TEXT)
        (void)!pdr_buf_append(
            &s->out,
            s->form == FORM_SSE ? PDR_LIT(": ping\n\n") : PDR_LIT("\n"), NULL);
    return true; /* also to see whether the key still holds */
}

/* A pdr__pull_fn. */
static ssize_t stream_pull(struct pdr__exchange *x, char *out, size_t room)
{
    struct streaming *s = x->state;
    size_t count = s->out.len - s->sent;

    if (s->is_left)
        return -2;
    if (count == 0 && s->is_over)
        return -1;
    if (count == 0) {
        if (s->waits)
            stream_wait(x, s);
        return 0;
    }
    count = count < room ? count : room;
    memcpy(out, s->out.ptr + s->sent, count);
    s->sent += count;
    return (ssize_t)count;
}

static void stream_reply(struct pdr__exchange *x, struct streaming *s)
{
    static const char *const types[] = {PDR_TYPE_SSE, PDR_TYPE_NDJSON,
                                        PDR_TYPE_TEXT};

    pdr__reply_begin(x, 200, types[s->form]);
    pdr__reply_header(x, "Cache-Control", PDR_LIT("no-store"));
    pdr__reply_header(x, "X-Accel-Buffering", PDR_LIT("no"));
    pdr__reply_header(x, "x-conversation-id", s->ref.id);
    x->reply.pull = stream_pull;
    x->reply.fill = stream_fill;
    pdr__metrics_stream(s->metrics, 1);
    s->has_counted = true;
}

/* --- requests --------------------------------------------------------------
 */

static struct streaming *streaming_new(struct pdr__exchange *x, bool is_native)
{
    struct streaming *s = pdr__calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->metrics = x->server->metrics;
    s->out = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    s->is_native = is_native;
    s->form =
        pdr__accepts(x, "text/plain") && !is_native ? FORM_TEXT : FORM_SSE;
    if (pdr__accepts(x, "application/x-ndjson") ||
        pdr__accepts(x, "application/jsonl"))
        s->form = FORM_LINES;
    if (s->form == FORM_SSE)
        (void)!pdr_buf_append(&s->out, PDR_LIT("retry: 2000\n\n"), NULL);
    x->state = s;
    x->state_free = streaming_free;
    return s;
}

/* The number of the last event that the client has. */
static void cursor_read(uint64_t *out, struct pdr__exchange *x,
                        const char *name)
{
    pdr_str text = pdr__query_get(x, name);

    *out = 0;
    if (text.ptr == NULL)
        text = pdr__header(x, "Last-Event-ID");
    if (text.ptr != NULL && !pdr__number_read(out, text))
        pdr__reply_refuse(x, 400,
                          "a cursor is the id of an event, a decimal number");
}

/* How long it may wait for the session to be there: "?wait=" seconds; with 0 as
 * without it. */
static void first_wait_read(struct pdr__exchange *x, struct streaming *s)
{
    uint64_t seconds = 0;
    pdr_str text = pdr__query_get(x, "wait");

    if (text.ptr == NULL)
        return;
    if (!pdr__number_read(&seconds, text))
        pdr__reply_refuse(x, 400, "'wait' is a number of seconds");
    else if (seconds > 0)
        s->first_due_ms =
            now_ms() + (int64_t)(seconds < 300 ? seconds : 300) * 1000;
}

/* Does this row say which run is meant? */
static bool row_tells(const struct streaming *s, pdr_read_what what,
                      const pdr_work *row)
{
    struct pdr__opbody body;

    if (what == PDR_READ_STREAM)
        return row->n > s->after || !kind_ends(row->kind);
    return pdr_str_equal(row->kind, PDR_LIT(PDR_WORK_OPERATION)) &&
           pdr__opbody_read(&body, row->body, NULL) == PDR_OK &&
           pdr_str_equal(body.name, PDR_LIT("run"));
}

/* The first run of some rows, into `s->correlation`. */
static pdr_rc run_look(struct pdr__exchange *x, struct streaming *s,
                       pdr_read_what what, pdr_err *err)
{
    pdr_query query = PDR_INBOX_QUERY(s->ref);
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    query.what = what;
    query.backwards =
        what == PDR_READ_ENTRIES || (what == PDR_READ_INBOX && s->after == 0);
    if (what == PDR_READ_STREAM) /* the event that it has, and the next */
        query.from = s->after;
    if (what != PDR_READ_INBOX) /* a journal begins with its operation */
        query.limit = what == PDR_READ_STREAM ? 2 : 1;
    rc = pdr_store_read(&page, pdr_service_store(x->server->service), &query,
                        &why);
    if (rc != PDR_OK)
        return rc == PDR_ENOTFOUND ? PDR_OK /* said when it is opened */
                                   : pdr__err_pass(err, &why);
    for (size_t i = 0; i < page->count && s->correlation.ptr == NULL; i++) {
        if (what == PDR_READ_ENTRIES)
            s->correlation = page->entries[i].correlation_id;
        else if (row_tells(s, what, &page->work[i]))
            s->correlation = page->work[i].correlation_id;
    }
    rc = pdr__arena_keep(&s->correlation, &x->memory, err);
    pdr_page_free(page);
    return rc;
}

/* A reader that names no run means the one that was sent last; with a cursor,
 * the one that it is in, or else the next. */
static pdr_rc run_find(struct pdr__exchange *x, struct streaming *s,
                       pdr_err *err)
{
    static const pdr_read_what places[2][4] = {
        {PDR_READ_INBOX, PDR_READ_JOURNAL, PDR_READ_ENTRIES},
        {PDR_READ_STREAM, PDR_READ_JOURNAL, PDR_READ_INBOX, PDR_READ_ENTRIES}};
    const pdr_read_what *place = places[s->after > 0];
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < 4 && place[i] != PDR_READ_HEAD; i++) {
        if (s->correlation.ptr == NULL)
            PDR_TRY(run_look(x, s, place[i], err));
    }
done:
    return rc;
}

/* Reply to a reader that comes back: 204 if it already has the end of its run,
 * else the rest of the stream. */
static pdr_rc rest_reply(struct pdr__exchange *x, struct streaming *s,
                         pdr_err *err)
{
    pdr_stream_event event;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_stream_next(&event, s->stream, 0, &why);

    if (rc == PDR_OK && event.n == 0) { /* made up: all were given */
        pdr__reply_begin(x, 204, NULL);
        return PDR_OK;
    }
    if (rc == PDR_OK)
        rc = frame_put(s, &event, &why);
    if (rc != PDR_OK && rc != PDR_ETIMEOUT)
        return pdr__err_pass(err, &why);
    stream_reply(x, s);
    return PDR_OK;
}

/* Open the stream, or wait for its session or run to be there. */
static pdr_rc stream_step(struct pdr__exchange *x, struct streaming *s,
                          pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = s->ref};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    cursor_read(&s->after, x, "cursor");
    if (x->reply.status != 0)
        goto done;
    if (s->first_due_ms > 0) { /* before it looks, so that nothing is missed */
        rc = pdr_store_read(&page, pdr_service_store(x->server->service),
                            &query, &why);
        if (rc != PDR_OK && rc != PDR_ENOTFOUND) {
            (void)pdr__err_pass(err, &why);
            goto done;
        }
    }
    if (s->is_narrow && s->correlation.ptr == NULL)
        PDR_TRY(run_find(x, s, err));
    rc = stream_begin(s, x, s->after, &why);
    if (rc == PDR_OK && s->correlation.ptr != NULL && s->after > 0) {
        rc = rest_reply(x, s, err);
        goto done;
    }
    if (rc == PDR_OK) {
        stream_reply(x, s);
        goto done;
    }
    if (pdr__err_is(&why, PDR_R_BAD_CURSOR)) { /* of a session that is gone */
        pdr__reply_refuse(x, 410,
                          "there is no event with this id: begin without a "
                          "cursor");
        rc = PDR_OK;
        goto done;
    }
    if (rc != PDR_ENOTFOUND || pdr__err_is(&why, PDR_R_CURSOR_GONE) ||
        s->first_due_ms == 0) {
        (void)pdr__err_pass(err, &why);
        goto done;
    }
    if (x->wait.is_due || pdr__live_is_stopping(x->server->live)) {
        broken_put(s, &why); /* who waits for a stream gets one */
        stream_reply(x, s);
        rc = PDR_OK;
        goto done;
    }
    rc = PDR_OK;
    pdr__wait_for(x, &s->ref, page != NULL ? page->head.epoch : 0,
                  page != NULL ? page->head.commits : 0, s->first_due_ms);
done:
    pdr_page_free(page);
    return rc;
}

/* The id of a session of an agent, in arena. */
static pdr_rc session_ref(pdr_ref *out, struct pdr__exchange *x,
                          const pdr_service_agent *agent, pdr_str key,
                          pdr_err *err)
{
    pdr_buf made = PDR_BUF_INIT(PDR_MAX_ID_BYTES + 1);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_durable_id_write(&made, pdr_agent_name(agent->durable.agent),
                                 key, err));
    *out = (pdr_ref){x->tenant, pdr_buf_str(&made)};
    PDR_TRY(pdr__arena_keep(&out->id, &x->memory, err));
done:
    pdr_buf_dispose(&made);
    return rc;
}

void pdr__session_headers(struct pdr__exchange *x, pdr_str key)
{
    pdr__reply_header(x, "x-ms-thread-id", key);
    pdr__reply_header(x, "x-ms-session-id", key);
}

pdr_rc pdr__entity_write(pdr_buf *out, const pdr_agent *agent, pdr_err *err)
{
    pdr_buf id = PDR_BUF_INIT(PDR_MAX_ID_BYTES + 1);
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        pdr_durable_id_write(&id, pdr_agent_name(agent), PDR_LIT("-"), err));
    PDR_TRY(pdr_buf_append(
        out, pdr_str_n(id.ptr + 1, id.len - sizeof("@@-") + 1), err));
done:
    pdr_buf_dispose(&id);
    return rc;
}

pdr_rc pdr__agent_session(pdr_ref *out, struct pdr__exchange *x, pdr_str name,
                          pdr_str key, pdr_err *err)
{
    const pdr_service_agent *agent = pdr_service_find(x->server->service, name);

    if (agent == NULL || key.len == 0) {
        pdr__reply_refuse(
            x, 404, agent == NULL ? "Agent not found" : "Session not found");
        return PDR_OK;
    }
    pdr__session_headers(x, key);
    return session_ref(out, x, agent, key, err);
}

pdr_rc pdr__handle_session_stream(struct pdr__exchange *x, pdr_err *err)
{
    struct streaming *s = x->state;
    pdr_rc rc = PDR_OK;

    if (s == NULL) {
        s = streaming_new(x, false);
        if (s == NULL)
            return pdr__nomem(err);
        first_wait_read(x, s);
        s->correlation = pdr__query_get(x, "correlationId");
        if (s->correlation.ptr == NULL)
            s->correlation = pdr__query_get(x, "correlation_id");
        s->ends = s->correlation.ptr != NULL;
        if (x->reply.status == 0)
            PDR_TRY(
                pdr__agent_session(&s->ref, x, x->args[0], x->args[1], err));
        pdr__reply_header(x, "x-ms-correlation-id", s->correlation);
    }
    if (x->reply.status == 0)
        PDR_TRY(stream_step(x, s, err));
done:
    return rc;
}

/* Of the samples: "{id}" is a whole id, or a key of the agent that is meant
 * where none is named. */
pdr_rc pdr__handle_agent_stream(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_service_agent *first = pdr_service_first(x->server->service);
    struct streaming *s = x->state;
    pdr_str agent = {NULL, 0}, key = x->args[0];
    bool is_full = false;
    pdr_rc rc = PDR_OK;

    if (s == NULL) {
        s = streaming_new(x, false);
        if (s == NULL)
            return pdr__nomem(err);
        s->is_narrow = true;
        s->ends = true;
        first_wait_read(x, s);
        if (pdr_durable_id_read(&agent, &key, &is_full, x->args[0], NULL) !=
                PDR_OK ||
            !is_full) {
            key = x->args[0];
            agent = first != NULL ? pdr_agent_name(first->durable.agent)
                                  : pdr_str_n(NULL, 0);
        }
        if (x->reply.status == 0)
            PDR_TRY(pdr__agent_session(&s->ref, x, agent, key, err));
    }
    if (x->reply.status == 0)
        PDR_TRY(stream_step(x, s, err));
done:
    return rc;
}

pdr_rc pdr__stream_of(struct pdr__exchange *x, const pdr_ref *ref,
                      pdr_str correlation, pdr_err *err)
{
    struct streaming *s = streaming_new(x, false);

    if (s == NULL)
        return pdr__nomem(err);
    s->ref = *ref;
    s->correlation = correlation;
    s->is_narrow = s->ends = true;
    return stream_step(x, s, err);
}

/* /api/v1/sessions/{id}/events. With ?run= it ends with that run; a client that
 * comes back with the number of its end is told that there is no more. */
pdr_rc pdr__api_events(struct pdr__exchange *x, pdr_err *err)
{
    struct streaming *s = streaming_new(x, true);
    bool is_reset = false;
    pdr_rc rc = PDR_OK;

    if (s == NULL)
        return pdr__nomem(err);
    s->ref = pdr__api_ref(x);
    s->correlation = pdr__query_get(x, "run");
    s->ends = s->correlation.ptr != NULL;
    cursor_read(&s->after, x, "after");
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(native_begin(&is_reset, s, x, err));
    if (s->ends && s->after > 0 && !is_reset && s->stream != NULL)
        rc = rest_reply(x, s, err);
    else
        stream_reply(x, s);
done:
    return rc;
}
