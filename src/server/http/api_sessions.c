/*
 * api_sessions.c - /api/v1/sessions: which there are, what they are, and the
 * document that each of them is.
 *
 *      ETag "v7-3"   epoch 7, revision 3: it changes with whatever these routes
 *                    show, and two documents never have the same one
 *
 * A change is bound to the revision that its precondition was compared with. If
 * another writer came between, both are done again: then the precondition
 * fails, or there was none.
 */
#include <inttypes.h>
#include <stdio.h>

#include <perdure/archive.h>
#include <perdure/json.h>

#include "http.h"

#include "core.h"

#define MAX_TRIES 20 /* of what other writers came between */

pdr_ref pdr__api_ref(const struct pdr__exchange *x)
{
    return (pdr_ref){x->tenant, x->args[0]};
}

pdr_store *pdr__api_store(const struct pdr__exchange *x)
{
    return pdr_service_store(x->server->service);
}

pdr_rc pdr__head_read(pdr_page **out, struct pdr__exchange *x,
                      const pdr_ref *ref, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = *ref};

    return pdr_store_read(out, pdr__api_store(x), &query, err);
}

pdr_rc pdr__api_path(pdr_buf *out, pdr_str id, pdr_str run, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, PDR_LIT("/api/v1/sessions/"), err));
    PDR_TRY(pdr__percent_encode(out, id, err));
    if (run.ptr != NULL) {
        PDR_TRY(pdr_buf_append(out, PDR_LIT("/runs/"), err));
        PDR_TRY(pdr__percent_encode(out, run, err));
    }
done:
    return rc;
}

/* --- preconditions ---------------------------------------------------------
 */

#define ETAG_ROOM 48

static void etag_write(char room[ETAG_ROOM], uint64_t epoch, uint64_t revision)
{
    (void)snprintf(room, ETAG_ROOM, "\"v%" PRIu64 "-%" PRIu64 "\"", epoch,
                   revision);
}

void pdr__etag_put(struct pdr__exchange *x, uint64_t epoch, uint64_t revision)
{
    char etag[ETAG_ROOM];

    etag_write(etag, epoch, revision);
    pdr__reply_header(x, "ETag", pdr_str_c(etag));
}

bool pdr__etags_have(pdr_str list, const char *etag, bool takes_weak)
{
    while (list.len > 0) {
        const char *end = memchr(list.ptr, ',', list.len);
        size_t len = end != NULL ? (size_t)(end - list.ptr) : list.len;
        pdr_str one = pdr__text_trim(pdr_str_n(list.ptr, len));

        if (takes_weak && one.len > 2 && memcmp(one.ptr, "W/", 2) == 0)
            one = pdr_str_n(one.ptr + 2, one.len - 2);
        if (pdr_str_equal(one, PDR_LIT("*")) ||
            pdr_str_equal(one, pdr_str_c(etag)))
            return true;
        len += end != NULL;
        list = pdr_str_n(list.ptr + len, list.len - len);
    }
    return false;
}

bool pdr__precondition(struct pdr__exchange *x, const pdr_head *head)
{
    const pdr_str match = pdr__header(x, "If-Match");
    const pdr_str none = pdr__header(x, "If-None-Match");
    const bool reads = x->verb == PDR_VERB_GET;
    char etag[ETAG_ROOM] = "";
    bool is_excluded = false;

    if (head != NULL)
        etag_write(etag, head->epoch, head->revision);
    is_excluded = head != NULL && pdr__etags_have(none, etag, true);
    if (match.ptr != NULL &&
        (head == NULL || !pdr__etags_have(match, etag, false)))
        pdr__reply_problem(x, 412, NULL,
                           "the session is not the one that If-Match names");
    else if (is_excluded && reads)
        pdr__reply_begin(x, 304, NULL);
    else if (is_excluded)
        pdr__reply_problem(x, 412, NULL,
                           "there is one that If-None-Match excludes");
    else if (match.ptr == NULL && none.ptr == NULL && !reads &&
             x->verb != PDR_VERB_POST && x->server->opts.preconditions)
        pdr__reply_problem(x, 428, NULL,
                           "this server wants If-Match, or If-None-Match, with "
                           "each change");
    if (x->reply.status != 0 && head != NULL)
        pdr__etag_put(x, head->epoch, head->revision);
    return x->reply.status == 0;
}

/* Is a run at work? Then a reply says so: it is not cut off. */
static bool is_running(struct pdr__exchange *x, const pdr_head *head)
{
    if (head->state == PDR_SESSION_RUNNING)
        pdr__reply_problem(x, 409, "session-busy",
                           "a run is at work; cancel it, or wait for its end");
    return head->state == PDR_SESSION_RUNNING;
}

/* --- changing --------------------------------------------------------------
 */

struct change {
    struct pdr__exchange *x;
    pdr_stored_fn fn;
    void *arg;
};

/* A pdr_stored_fn: another head than the one that was asked for is none that
 * one can wait for. */
static pdr_rc on_change(pdr_stored *stored, pdr_err *err, void *arg)
{
    const struct change *change = arg;

    if (!pdr__precondition(change->x, pdr_stored_head(stored)))
        return PDR_FAIL(err, BAD_REF, "%s", "the reply says why");
    return change->fn(stored, err, change->arg);
}

pdr_rc pdr__api_change(struct pdr__exchange *x, bool rows_only, pdr_err *err,
                       pdr_stored_fn fn, void *arg)
{
    const pdr_ref ref = pdr__api_ref(x);
    const pdr_stored_opts opts = {.rows_only = rows_only};
    const pdr_commit_options now = {.now_ms = pdr__wall_ms()};
    struct change change = {x, fn, arg};
    pdr_stored *stored = NULL;
    const pdr_head *head = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_stored_open(&stored, pdr__api_store(x), &ref, &opts, err));
    rc = pdr_stored_update(stored, &now, err, on_change, &change);
    if (x->reply.status != 0) {
        rc = PDR_OK;
        goto done;
    }
    PDR_TRY(rc);
    head = pdr_stored_head(stored);
    pdr__reply_begin(x, 204, NULL);
    pdr__etag_put(x, head->epoch, head->revision);
done:
    pdr_stored_close(stored);
    return rc;
}

/* --- what a session is -----------------------------------------------------
 */

static const char *const state_words[] = {"idle", "running", "waiting",
                                          "expired"};

const char *pdr__state_word(pdr_session_state state)
{
    return state_words[state];
}

void pdr__put_head(struct pdr__json *j, const pdr_head *head)
{
    char etag[ETAG_ROOM];

    etag_write(etag, head->epoch, head->revision);
    pdr__json_begin(j, NULL, '{');
    pdr__json_text(j, "id", head->ref.id);
    pdr__json_text(j, "agent", head->agent);
    pdr__json_text(j, "kind", head->kind);
    pdr__json_text(j, "schemaVersion", head->schema_version);
    pdr__json_text(j, "state", pdr_str_c(pdr__state_word(head->state)));
    pdr__json_number(j, "revision", head->revision);
    pdr__json_number(j, "epoch", head->epoch);
    pdr__json_text(j, "etag", pdr_str_c(etag));
    pdr__json_time(j, "created", head->created_ms);
    pdr__json_time(j, "changed", head->changed_ms);
    pdr__json_time(j, "expires", head->expiry_ms);
    pdr__json_number(j, "entries", head->next_seq - head->first_seq);
    pdr__json_number(j, "lastSeq", head->next_seq - 1);
    pdr__json_number(j, "slots", head->slots);
    pdr__json_begin(j, "events", '{');
    pdr__json_number(j, "first", head->stream_first);
    pdr__json_number(j, "next", head->stream_next);
    pdr__json_end(j, '}');
    pdr__json_number(j, "queued", head->inbox);
}

/* The session with its properties, all of one revision. */
static pdr_rc session_reply(struct pdr__exchange *x, const pdr_ref *ref,
                            unsigned status, pdr_err *err)
{
    const pdr_stored_opts opts = {.rows_only = true};
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_stored *stored = NULL;
    pdr_value *properties = NULL;
    const pdr_head *head = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_stored_open(&stored, pdr__api_store(x), ref, &opts, err));
    rc = pdr_stored_properties(&properties, stored, &why);
    for (int i = 0; rc == PDR_ECONFLICT && i < MAX_TRIES; i++) {
        PDR_TRY(pdr_stored_reload(stored, err));
        rc = pdr_stored_properties(&properties, stored, &why);
    }
    if (rc != PDR_OK) {
        (void)pdr__err_pass(err, &why);
        goto done;
    }
    head = pdr_stored_head(stored);
    if (!pdr__precondition(x, head))
        goto done;
    pdr__put_head(&j, head);
    pdr__json_value(&j, "properties", properties);
    pdr__json_end(&j, '}');
    PDR_TRY(pdr__json_send(&j, x, status));
    pdr__etag_put(x, head->epoch, head->revision);
done:
    pdr_stored_close(stored);
    pdr_value_free(properties);
    return rc;
}

pdr_rc pdr__api_session_show(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);

    return session_reply(x, &ref, 200, err);
}

/* --- which there are -------------------------------------------------------
 */

/* "KEY=VALUE"; a value that is no number, boolean or JSON string is a text. */
static pdr_rc property_ask(pdr_query *query, struct pdr__exchange *x,
                           pdr_buf *match, pdr_err *err)
{
    const pdr_str text = pdr__query_get(x, "property");
    const char *equals =
        text.ptr != NULL ? memchr(text.ptr, '=', text.len) : NULL;
    pdr_value *value = NULL;
    pdr_kind kind = PDR_NULL;
    pdr_str sought = {NULL, 0};
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (text.ptr == NULL)
        return PDR_OK;
    if (equals == NULL || equals == text.ptr) {
        pdr__reply_refuse(x, 400, "'property' is KEY=VALUE");
        return PDR_OK;
    }
    query->filter.property = pdr_str_n(text.ptr, (size_t)(equals - text.ptr));
    sought = pdr_str_n(equals + 1, text.len - query->filter.property.len - 1);
    if (pdr_json_read(&value, sought, NULL, NULL) == PDR_OK)
        kind = pdr_value_kind(value);
    if (kind != PDR_NUMBER && kind != PDR_BOOL && kind != PDR_STRING) {
        pdr_value_free(value);
        PDR_TRY(pdr_value_new_string(&value, sought, err));
    }
    PDR_TRY(pdr_property_match(match, &found, value, err));
    query->filter.match = match->len > 0 ? pdr_buf_str(match) : PDR_LIT("");
    if (!found)
        pdr__reply_refuse(x, 400, "no list finds a session by such a value");
done:
    pdr_value_free(value);
    return rc;
}

static pdr_rc filter_ask(pdr_query *query, struct pdr__exchange *x,
                         pdr_err *err)
{
    const pdr_str state = pdr__query_get(x, "state");
    const pdr_str from = pdr__query_get(x, "changedFrom");
    const pdr_str to = pdr__query_get(x, "changedTo");
    pdr_filter *filter = &query->filter;
    pdr_rc rc = PDR_OK;

    filter->agent = pdr__query_get(x, "agent");
    filter->id_prefix = pdr__query_get(x, "idPrefix");
    for (size_t i = 0; i < PDR_COUNT(state_words); i++) {
        if (!pdr_str_equal(state, pdr_str_c(state_words[i])))
            continue;
        filter->by_state = true;
        filter->state = (pdr_session_state)i;
    }
    if (state.ptr != NULL && !filter->by_state)
        pdr__reply_refuse(x, 400,
                          "'state' is idle, running, waiting or expired");
    if (from.ptr == NULL && to.ptr == NULL)
        return PDR_OK;
    filter->changed_from_ms = INT64_MIN;
    filter->changed_to_ms = PDR_NEVER;
    if (from.ptr != NULL)
        PDR_TRY(pdr__ms_read(&filter->changed_from_ms, from, err));
    if (to.ptr != NULL)
        PDR_TRY(pdr__ms_read(&filter->changed_to_ms, to, err));
    if (filter->changed_from_ms >= filter->changed_to_ms)
        pdr__reply_refuse(x, 400, "'changedFrom' comes before 'changedTo'");
done:
    return rc;
}

#define MOST_PASSED 1000 /* heads of other kinds, for a page */

/* Those of a kind; without one, all. No index knows the kind: a page that has
 * passed over many others ends before it is full. */
static pdr_rc list_reply(struct pdr__exchange *x, pdr_str kind, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_SESSIONS, .ref = {.tenant = x->tenant}};
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_buf match = PDR_BUF_INIT(SIZE_MAX);
    pdr_page *page = NULL, *before = NULL;
    size_t passed = 0;
    pdr_rc rc = PDR_OK;

    if (!pdr__list_ask(&query, x))
        return PDR_OK;
    PDR_TRY(filter_ask(&query, x, err));
    if (x->reply.status == 0)
        PDR_TRY(property_ask(&query, x, &match, err));
    if (x->reply.status != 0)
        goto done;
    pdr__list_begin(&j, x);
    do {
        PDR_TRY(pdr_store_read(&page, pdr__api_store(x), &query, err));
        pdr_page_free(before); /* its cursor was asked for */
        before = page;
        for (size_t i = 0; i < page->count; i++) {
            if (kind.ptr != NULL &&
                !pdr_str_equal(page->sessions[i].kind, kind)) {
                passed++;
                continue;
            }
            pdr__put_head(&j, &page->sessions[i]);
            pdr__list_item_end(&j);
            query.limit--;
        }
        query.after = page->next;
    } while (query.after.ptr != NULL && query.limit > 0 && kind.ptr != NULL &&
             passed < MOST_PASSED);
    PDR_TRY(pdr__list_send(&j, x, page->next));
done:
    pdr_page_free(before);
    pdr_buf_dispose(&match);
    return rc;
}

pdr_rc pdr__api_sessions_list(struct pdr__exchange *x, pdr_err *err)
{
    return list_reply(x, pdr_str_n(NULL, 0), err);
}

pdr_rc pdr__api_chats_list(struct pdr__exchange *x, pdr_err *err)
{
    return list_reply(x, PDR_LIT("chat"), err);
}

/* --- making and deleting ---------------------------------------------------
 */

pdr_rc pdr__id_choose(pdr_str *io, struct pdr__exchange *x, pdr_str agent,
                      pdr_err *err)
{
    pdr_buf made = PDR_BUF_INIT(PDR_MAX_ID_BYTES + 1);
    char text[PDR_UUID_TEXT];
    struct pdr__uuid uuid;
    pdr_rc rc = PDR_OK;

    if (io->ptr != NULL)
        return PDR_OK;
    if (agent.ptr != NULL &&
        pdr_service_find(x->server->service, agent) != NULL) {
        PDR_TRY(pdr_durable_id_write(&made, agent, pdr_str_n(NULL, 0), err));
    } else {
        PDR_TRY(
            pdr__uuid_v7(&uuid, pdr__rand_system(), pdr__clock_system(), err));
        pdr__uuid_write(text, &uuid);
        PDR_TRY(pdr_buf_append(&made, pdr_str_c(text), err));
    }
    *io = pdr_buf_str(&made);
    PDR_TRY(pdr__arena_keep(io, &x->memory, err));
done:
    pdr_buf_dispose(&made);
    return rc;
}

pdr_rc pdr__api_session_create(struct pdr__exchange *x, pdr_err *err)
{
    static const char *const known[] = {"id", "agent", "expires", "properties",
                                        NULL};
    const pdr_commit_options now = {.now_ms = pdr__wall_ms()};
    pdr_stored_opts opts = {.create = true};
    pdr_ref ref = {.tenant = x->tenant};
    pdr_str expires = {NULL, 0};
    pdr_value *body = NULL;
    pdr_stored *stored = NULL;
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__body_read(&body, x, known, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(pdr__body_text(&ref.id, x, body, "id", err));
    PDR_TRY(pdr__body_text(&opts.agent, x, body, "agent", err));
    PDR_TRY(pdr__body_text(&expires, x, body, "expires", err));
    if (expires.ptr != NULL)
        PDR_TRY(pdr__ms_read(&opts.expiry_ms, expires, err));
    opts.properties = pdr_value_get_c(body, "properties");
    PDR_TRY(pdr__id_choose(&ref.id, x, opts.agent, err));
    PDR_TRY(pdr_stored_open(&stored, pdr__api_store(x), &ref, &opts, err));
    if (pdr_stored_head(stored)->revision != 0) {
        pdr__reply_problem(x, 409, "already-exists",
                           "there is a session with this id");
        goto done;
    }
    PDR_TRY(pdr_stored_commit(stored, &now, err));
    PDR_TRY(pdr__api_path(&path, ref.id, pdr_str_n(NULL, 0), err));
    PDR_TRY(session_reply(x, &ref, 201, err));
    pdr__reply_header(x, "Location", pdr_buf_str(&path));
done:
    pdr_stored_close(stored);
    pdr_value_free(body);
    pdr_buf_dispose(&path);
    return rc;
}

/* One try, on the revision that it has now. */
static pdr_rc delete_once(struct pdr__exchange *x, const pdr_ref *ref,
                          pdr_err *err)
{
    const pdr_commit_options now = {.now_ms = pdr__wall_ms()};
    pdr_edit edit = {.ref = *ref, .remove = true};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__head_read(&page, x, ref, err));
    if (!pdr__precondition(x, &page->head))
        goto done;
    if (is_running(x, &page->head))
        goto done;
    edit.revision = page->head.revision;
    edit.epoch = page->head.epoch;
    PDR_TRY(pdr_store_commit(NULL, pdr__api_store(x), &edit, 1, &now, err));
    pdr__reply_begin(x, 204, NULL);
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr__api_session_delete(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    for (int i = 0; i < MAX_TRIES; i++) {
        rc = delete_once(x, &ref, &why);
        if (rc != PDR_ECONFLICT)
            break;
    }
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

/* --- properties ------------------------------------------------------------
 */

/* RFC 7396: what is null goes, objects are merged, all else is replaced. `io`
 * is owned; its old value may be NULL. */
static pdr_rc merge_patch(pdr_value **io, const pdr_value *patch, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(patch) != PDR_OBJECT) {
        pdr_value_free(*io);
        *io = pdr_value_ref(patch);
        return PDR_OK;
    }
    if (*io == NULL || pdr_value_kind(*io) != PDR_OBJECT) {
        pdr_value_free(*io);
        *io = pdr_value_new_object();
    }
    pdr_iter_init(&it, patch);
    while (pdr_iter_next(&it)) {
        const pdr_value *old = NULL;
        pdr_value *made = NULL;
        pdr_str name = {NULL, 0};

        PDR_TRY(pdr_value_text(&name, it.name, &scratch, err));
        old = pdr_value_get(*io, name);
        if (pdr_value_kind(it.value) == PDR_NULL) {
            if (old != NULL)
                PDR_TRY(pdr_value_remove(io, name, err));
            continue;
        }
        made = old != NULL ? pdr_value_ref(old) : NULL;
        rc = merge_patch(&made, it.value, err);
        if (rc == PDR_OK)
            rc = pdr_value_set(io, name, made, err);
        pdr_value_free(made);
        PDR_TRY(rc);
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* A pdr_stored_fn; `arg` is the patch of the properties. */
static pdr_rc on_patch(pdr_stored *stored, pdr_err *err, void *arg)
{
    const pdr_value *patch = arg;
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *now = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_stored_properties(&now, stored, err));
    PDR_TRY(merge_patch(&now, patch, err));
    pdr_iter_init(&it, patch);
    while (pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};

        PDR_TRY(pdr_value_text(&name, it.name, &scratch, err));
        PDR_TRY(pdr_stored_set_property(stored, name, pdr_value_get(now, name),
                                        err));
    }
done:
    pdr_buf_dispose(&scratch);
    pdr_value_free(now);
    return rc;
}

pdr_rc pdr__api_session_patch(struct pdr__exchange *x, pdr_err *err)
{
    static const char *const known[] = {"properties", NULL};
    pdr_value *body = NULL;
    const pdr_value *patch = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__body_read(&body, x, known, err));
    if (x->reply.status != 0)
        goto done;
    patch = pdr_value_get_c(body, "properties");
    if (patch == NULL || pdr_value_kind(patch) != PDR_OBJECT) {
        pdr__reply_refuse(x, 400, "'properties' has to be an object");
        goto done;
    }
    PDR_TRY(pdr__api_change(x, true, err, on_patch, (void *)(uintptr_t)patch));
done:
    pdr_value_free(body);
    return rc;
}

/* --- the document ----------------------------------------------------------
 */

/* May its document be given? A pdr_export_head_fn. */
static pdr_rc on_state_head(const pdr_head *head, pdr_err *err, void *arg)
{
    struct pdr__exchange *x = arg;

    if (pdr__precondition(x, head) &&
        pdr_str_equal(head->kind, PDR_LIT("chat")))
        pdr__reply_problem(x, 422, NULL,
                           "this session is a chat: GET "
                           "/api/v1/chats/{id}/saved gives its document");
    return x->reply.status == 0
               ? PDR_OK
               : PDR_FAIL(err, BAD_REF, "%s", "the reply says why");
}

pdr_rc pdr__api_state_get(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);
    pdr_export_report report = {.revision = 0};
    pdr_rc rc =
        pdr__document_read(&report, &x->reply.body, x->server->documents,
                           pdr__api_store(x), &ref, err, on_state_head, x);

    if (x->reply.status != 0)
        return PDR_OK;
    if (rc != PDR_OK)
        return rc;
    pdr__reply_begin(x, 200, PDR_TYPE_JSON);
    pdr__etag_put(x, report.epoch, report.revision);
    return PDR_OK;
}

/* One try: replace the session at the revision that it has now, or make it. */
static pdr_rc put_once(pdr_import_report *out, bool *is_new,
                       struct pdr__exchange *x, const pdr_ref *ref,
                       pdr_err *err)
{
    pdr_import_opts opts = {
        .ref = *ref, .replace = true, .now_ms = pdr__wall_ms()};
    pdr_str text = pdr_buf_str(&x->body);
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr__head_read(&page, x, ref, &why);

    *is_new = rc == PDR_ENOTFOUND;
    if (rc != PDR_OK && !*is_new)
        return pdr__err_pass(err, &why);
    rc = PDR_OK;
    if (!pdr__precondition(x, page != NULL ? &page->head : NULL) ||
        (page != NULL && is_running(x, &page->head)))
        goto done;
    opts.replace = page != NULL;
    if (page != NULL) {
        opts.revision = page->head.revision;
        opts.epoch = page->head.epoch;
    }
    PDR_TRY(
        pdr_import(out, pdr__api_store(x), &opts, err, pdr_read_str, &text));
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr__api_state_put(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_import_report report = {.revision = 0};
    pdr_err why = PDR_ERR_INIT;
    bool is_new = false;
    pdr_rc rc = PDR_OK;

    for (int i = 0; i < MAX_TRIES; i++) {
        rc = put_once(&report, &is_new, x, &ref, &why);
        if (rc != PDR_ECONFLICT && rc != PDR_EEXISTS)
            break;
    }
    if (rc != PDR_OK)
        return pdr__err_pass(err, &why);
    if (x->reply.status != 0)
        return PDR_OK;
    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "id", ref.id);
    pdr__json_number(&j, "revision", report.revision);
    pdr__json_number(&j, "epoch", report.epoch);
    pdr__json_number(&j, "entries", report.entries);
    pdr__json_number(&j, "slots", report.slots);
    pdr__json_end(&j, '}');
    PDR_TRY(pdr__json_send(&j, x, is_new ? 201 : 200));
    pdr__etag_put(x, report.epoch, report.revision);
done:
    return rc;
}
