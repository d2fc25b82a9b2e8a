/*
 * api_store.c - what is not about one session: the agents that are here, and
 * all sessions of the tenant, to be checked, written and read.
 *
 *      {"id":"...","agent":"...","document":{...}}     a line of an export
 *
 * An import takes such lines, and documents that say their id themselves. It
 * tells of each one what became of it; what is there already, just so, is left
 * alone, so that it may be sent again.
 */
#include <perdure/archive.h>
#include <perdure/json.h>

#include "http.h"

#include "core.h"

#define PAGE_ROWS 200

/* --- agents ----------------------------------------------------------------
 */

/* Its object stays open. */
static void put_agent(struct pdr__json *j, const pdr_service_agent *agent)
{
    pdr__json_begin(j, NULL, '{');
    pdr__json_text(j, "name", pdr_agent_name(agent->durable.agent));
    pdr__json_text(j, "description",
                   pdr_agent_description(agent->durable.agent));
    pdr__json_text(j, "type",
                   pdr_str_c(agent->type != NULL ? agent->type : "agent"));
    if (agent->metadata != NULL)
        pdr__json_value(j, "metadata", agent->metadata);
    else
        pdr__json_raw(j, "metadata", PDR_LIT("{}"));
}

pdr_rc pdr__api_agents(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_service *service = x->server->service;
    struct pdr__json j = {.out = &x->reply.body, .err = err};

    pdr__list_begin(&j, x);
    for (size_t i = 0; i < pdr_service_count(service); i++) {
        put_agent(&j, pdr_service_at(service, i));
        pdr__list_item_end(&j);
    }
    return pdr__list_send(&j, x, pdr_str_n(NULL, 0));
}

pdr_rc pdr__api_agent(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_service_agent *agent =
        pdr_service_find(x->server->service, x->args[0]);
    struct pdr__json j = {.out = &x->reply.body, .err = err};

    if (agent == NULL) {
        pdr__reply_refuse(x, 404, "there is no such agent here");
        return PDR_OK;
    }
    put_agent(&j, agent);
    pdr__json_end(&j, '}');
    return pdr__json_send(&j, x, 200);
}

/* --- all sessions of a tenant ----------------------------------------------
 */

/* A walk over the heads of a tenant, in order of their ids, which no commit
 * disturbs. It ends when the server stops. */
struct walk {
    struct pdr__live *live;
    pdr_store *store;
    pdr_str tenant;
    pdr_page *page; /* owned */
    size_t next;    /* of its heads */
    bool is_over;
};

/* The next session, valid until the next call; NULL: there are no more. */
static pdr_rc walk_next(const pdr_head **out, struct walk *w, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_SESSIONS,
                       .ref = {.tenant = w->tenant},
                       .limit = PAGE_ROWS,
                       .filter = {.id_prefix = PDR_LIT("")}};
    pdr_rc rc = PDR_OK;

    *out = NULL;
    PDR_TRY(pdr__live_check(w->live, err));
    while (*out == NULL && !w->is_over) {
        pdr_page *before = w->page;

        if (before != NULL && w->next < before->count) {
            *out = &before->sessions[w->next++];
            continue;
        }
        w->is_over = before != NULL && before->next.ptr == NULL;
        if (w->is_over)
            break;
        if (before != NULL)
            query.after = before->next;
        w->page = NULL;
        w->next = 0;
        rc = pdr_store_read(&w->page, w->store, &query, err);
        pdr_page_free(before);
        if (rc != PDR_OK)
            break;
    }
done:
    return rc;
}

/* --- verifying -------------------------------------------------------------
 */

#define MAX_FINDINGS 100 /* that are told */

struct verifying {
    struct pdr__json *j;
    uint64_t told;
};

/* A pdr_verify_fn. */
static void on_finding(void *arg, const char *table, const char *row,
                       const char *what)
{
    struct verifying *v = arg;

    if (v->told++ >= MAX_FINDINGS)
        return;
    pdr__json_begin(v->j, NULL, '{');
    pdr__json_text(v->j, "table", pdr_str_c(table));
    pdr__json_text(v->j, "row", pdr_str_c(row));
    pdr__json_text(v->j, "what", pdr_str_c(what));
    pdr__json_end(v->j, '}');
}

static pdr_rc verify_one(pdr_verify_report *sum, struct verifying *v,
                         pdr_store *store, const pdr_ref *ref, pdr_err *err)
{
    pdr_verify_report report = {.sessions = 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_verify(&report, store, ref, &why, on_finding, v);

    sum->sessions += report.sessions;
    sum->entries += report.entries;
    sum->rows += report.rows;
    sum->bad += report.bad;
    return rc == PDR_OK || report.bad > 0 ? PDR_OK : pdr__err_pass(err, &why);
}

pdr_rc pdr__api_verify(struct pdr__exchange *x, pdr_err *err)
{
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    struct verifying v = {.j = &j};
    struct walk walk = {.live = x->server->live,
                        .store = pdr__api_store(x),
                        .tenant = x->tenant};
    const pdr_ref one = {x->tenant, pdr__query_get(x, "session")};
    pdr_verify_report sum = {.sessions = 0};
    const pdr_head *head = NULL;
    pdr_rc rc = PDR_OK;

    pdr__json_begin(&j, NULL, '{');
    pdr__json_begin(&j, "findings", '[');
    if (one.id.ptr != NULL)
        PDR_TRY(verify_one(&sum, &v, walk.store, &one, err));
    else
        PDR_TRY(walk_next(&head, &walk, err));
    while (head != NULL) {
        pdr_err why = PDR_ERR_INIT;

        rc = verify_one(&sum, &v, walk.store, &head->ref, &why);
        if (rc != PDR_OK && rc != PDR_ENOTFOUND) { /* deleted meanwhile */
            (void)pdr__err_pass(err, &why);
            goto done;
        }
        PDR_TRY(walk_next(&head, &walk, err));
    }
    pdr__json_end(&j, ']');
    pdr__json_bool(&j, "ok", sum.bad == 0);
    pdr__json_number(&j, "sessions", sum.sessions);
    pdr__json_number(&j, "entries", sum.entries);
    pdr__json_number(&j, "rows", sum.rows);
    pdr__json_number(&j, "bad", sum.bad);
    pdr__json_end(&j, '}');
    PDR_TRY(pdr__json_send(&j, x, 200));
done:
    pdr_page_free(walk.page);
    return rc;
}

/* --- export ----------------------------------------------------------------
 * A line is made by the pool when the one before has been sent.
 */

#define MAX_EXPORTS 16 /* at once: each has a whole document in memory */

/* The document of a session on one line, with its properties, appended. */
static pdr_rc document_write(pdr_buf *out, pdr_store *store, const pdr_ref *ref,
                             pdr_err *err)
{
    const pdr_export_opts opts = {.ref = *ref};
    const size_t from = out->len;
    pdr_rc rc = pdr_export(NULL, store, &opts, err, pdr_write_buf, out);

    for (size_t i = from; i < out->len; i++) {
        if (out->ptr[i] == '\n' || out->ptr[i] == '\r')
            out->ptr[i] = ' ';
    }
    if (rc != PDR_OK)
        out->len = from;
    return rc;
}

struct exporting {
    struct walk walk;
    atomic_uint *among; /* of the server: exports that are under way */
    pdr_buf out;        /* to be sent: a line */
    size_t sent;        /* of it */
    bool is_over;
};

static void exporting_free(void *state)
{
    struct exporting *e = state;

    atomic_fetch_sub(e->among, 1);
    pdr_page_free(e->walk.page);
    pdr_buf_dispose(&e->out);
    pdr__free(e);
}

/* The next line; none: it is over. Chats are no documents. */
static pdr_rc line_make(struct exporting *e, pdr_err *err)
{
    struct pdr__json j = {.out = &e->out, .err = err, .is_lines = true};
    pdr_buf document = PDR_BUF_INIT(SIZE_MAX);
    const pdr_head *head = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    do {
        PDR_TRY(walk_next(&head, &e->walk, err));
        if (head == NULL)
            goto done;
        rc = PDR_ENOTFOUND;
        if (!pdr_str_equal(head->kind, PDR_LIT("chat")))
            rc = document_write(&document, e->walk.store, &head->ref, &why);
        if (rc == PDR_ECONFLICT) /* it was replaced meanwhile */
            rc = document_write(&document, e->walk.store, &head->ref, &why);
    } while (rc == PDR_ENOTFOUND);
    if (rc != PDR_OK) {
        (void)pdr__err_pass(err, &why);
        goto done;
    }
    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "id", head->ref.id);
    if (head->agent.ptr != NULL)
        pdr__json_text(&j, "agent", head->agent);
    pdr__json_raw(&j, "document", pdr_buf_str(&document));
    pdr__list_item_end(&j);
    rc = j.rc;
done:
    pdr_buf_dispose(&document);
    return rc;
}

static void put_error(struct pdr__json *j, const pdr_err *why)
{
    pdr__json_begin(j, "error", '{');
    pdr__json_text(j, "code", pdr_str_c(why->reason));
    pdr__json_text(j, "message", pdr_str_c(why->message));
    pdr__json_end(j, '}');
}

/* A pdr__fill_fn. */
static bool export_fill(struct pdr__exchange *x)
{
    struct exporting *e = x->state;
    struct pdr__json j = {.out = &e->out, .is_lines = true};
    pdr_err why = PDR_ERR_INIT;

    e->sent = 0;
    pdr_buf_clear(&e->out);
    if (line_make(e, &why) != PDR_OK) {
        e->walk.is_over = true;
        pdr_buf_clear(&e->out);
        pdr__json_begin(&j, NULL, '{');
        put_error(&j, &why);
        pdr__list_item_end(&j);
    }
    e->is_over = e->out.len == 0;
    return true;
}

/* A pdr__pull_fn. */
static ssize_t export_pull(struct pdr__exchange *x, char *out, size_t room)
{
    struct exporting *e = x->state;
    size_t count = e->out.len - e->sent;

    if (e->is_over)
        return -1;
    count = count < room ? count : room;
    if (count > 0)
        memcpy(out, e->out.ptr + e->sent, count);
    e->sent += count;
    return (ssize_t)count;
}

pdr_rc pdr__api_export(struct pdr__exchange *x, pdr_err *err)
{
    struct exporting *e = pdr__calloc(1, sizeof(*e));

    if (e == NULL)
        return pdr__nomem(err);
    e->walk = (struct walk){.live = x->server->live,
                            .store = pdr__api_store(x),
                            .tenant = x->tenant};
    e->out = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    e->among = &x->server->exports;
    x->state = e;
    x->state_free = exporting_free;
    if (atomic_fetch_add(e->among, 1) >= MAX_EXPORTS) {
        pdr__reply_refuse(x, 429, "too many exports are under way");
        return PDR_OK;
    }
    pdr__reply_begin(x, 200, PDR_TYPE_NDJSON);
    x->reply.pull = export_pull;
    x->reply.fill = export_fill;
    return PDR_OK;
}

/* --- import ----------------------------------------------------------------
 */

/* A document that came, and where it goes. */
struct parcel {
    pdr_str id, agent; /* in arena; absent: nobody says */
    pdr_str text;      /* of the document; borrowed */
};

/* The id that a document has of its own; absent. */
static pdr_rc own_id(pdr_str *out, struct pdr__exchange *x,
                     const pdr_value *document, pdr_err *err)
{
    const pdr_value *inner = pdr_value_get_c(document, "session");
    pdr_session *session = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_session_from_value(&session, inner != NULL ? inner : document,
                               NULL) == PDR_OK &&
        pdr_session_id(session).len > 0) {
        *out = pdr_session_id(session);
        rc = pdr__arena_keep(out, &x->memory, err);
    }
    pdr_session_free(session);
    return rc;
}

static pdr_rc parcel_open(struct parcel *out, struct pdr__exchange *x,
                          const pdr_value *value, pdr_err *err)
{
    const pdr_value *document = pdr_value_get_c(value, "document");
    pdr_rc rc = PDR_OK;

    *out = (struct parcel){.text = {NULL, 0}};
    if (document != NULL && pdr_value_get_c(value, "id") != NULL) {
        PDR_TRY(pdr__body_text(&out->id, x, value, "id", err));
        PDR_TRY(pdr__body_text(&out->agent, x, value, "agent", err));
        value = document;
    } else {
        PDR_TRY(own_id(&out->id, x, value, err));
    }
    (void)pdr_value_raw(&out->text, value); /* it was just read */
done:
    return rc;
}

/* Is it there, just so? Line ends of a document do not count. */
static bool is_same(struct pdr__exchange *x, const pdr_ref *ref, pdr_str text)
{
    pdr_buf there = PDR_BUF_INIT(SIZE_MAX);
    bool same =
        document_write(&there, pdr__api_store(x), ref, NULL) == PDR_OK &&
        there.len == text.len;

    for (size_t i = 0; same && i < text.len; i++) {
        char c = text.ptr[i];

        same = there.ptr[i] == (c == '\n' || c == '\r' ? ' ' : c);
    }
    pdr_buf_dispose(&there);
    return same;
}

/* Import one; `*status` says what became of it. */
static pdr_rc parcel_store(const char **status, pdr_str *id,
                           pdr_import_report *report, struct pdr__exchange *x,
                           const pdr_value *value, pdr_err *err)
{
    pdr_import_opts opts = {.ref.tenant = x->tenant,
                            .replace = pdr__query_is_set(x, "replace"),
                            .now_ms = pdr__wall_ms()};
    struct parcel parcel;
    pdr_str rest = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(parcel_open(&parcel, x, value, err));
    opts.ref.id = *id = parcel.id;
    opts.agent = parcel.agent;
    if (parcel.id.ptr != NULL && is_same(x, &opts.ref, parcel.text)) {
        *status = "unchanged";
        return PDR_OK;
    }
    rest = parcel.text;
    PDR_TRY(
        pdr_import(report, pdr__api_store(x), &opts, err, pdr_read_str, &rest));
    *id = report->ref.id;
    *status = report->revision > 1 ? "replaced" : "created";
done:
    return rc;
}

/* One line of the reply. */
static void import_one(struct pdr__json *j, struct pdr__exchange *x,
                       uint64_t index, const pdr_value *value)
{
    pdr_import_report report = {.revision = 0};
    const char *status = "failed";
    pdr_str id = {NULL, 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = parcel_store(&status, &id, &report, x, value, &why);

    pdr__json_begin(j, NULL, '{');
    pdr__json_number(j, "index", index);
    pdr__json_text(j, "id", id);
    pdr__json_text(j, "status", pdr_str_c(status));
    if (report.revision > 0)
        pdr__json_number(j, "revision", report.revision);
    if (rc != PDR_OK) {
        pdr__exchange_failed(x, rc, &why);
        put_error(j, &why);
    }
    pdr__list_item_end(j);
}

pdr_rc pdr__api_import(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_read_opts opts = {.flags = PDR_SEQUENCE};
    struct pdr__json j = {.out = &x->reply.body, .err = err, .is_lines = true};
    pdr_str rest = pdr_buf_str(&x->body);
    pdr_walk *walk = NULL;
    pdr_value *value = NULL;
    pdr_event event = PDR_END_OF_INPUT;
    pdr_err why = PDR_ERR_INIT;
    uint64_t count = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        pdr_walk_new(&walk, pdr_json_codec(), &opts, err, pdr_read_str, &rest));
    while (true) {
        rc = pdr_walk_next(&event, walk, &why);
        if (rc == PDR_OK && event == PDR_END_OF_INPUT)
            break;
        if (rc == PDR_OK && (event == PDR_END || (event == PDR_BEGIN_ARRAY &&
                                                  pdr_walk_depth(walk) == 1)))
            continue; /* a list of them: its elements count */
        if (rc == PDR_OK)
            rc = pdr__live_check(x->server->live, &why);
        if (rc == PDR_OK)
            rc = pdr_walk_take(&value, walk, &why);
        if (rc != PDR_OK)
            break;
        import_one(&j, x, count++, value);
        pdr_value_free(value);
        value = NULL;
    }
    if (rc != PDR_OK && count == 0) { /* nothing was stored */
        (void)pdr__err_pass(err, &why);
        goto done;
    }
    if (rc != PDR_OK) { /* what came before it is */
        pdr__json_begin(&j, NULL, '{');
        put_error(&j, &why);
        pdr__list_item_end(&j);
    }
    rc = j.rc;
    pdr__reply_begin(x, 200, PDR_TYPE_NDJSON);
done:
    pdr_walk_free(walk);
    return rc;
}
