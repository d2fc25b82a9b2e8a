/*
 * agents.c - the routes of durable agents beside "run": who there is, what a
 * session holds, what came of a run.
 */
#include <perdure/archive.h>
#include <perdure/json.h>

#include "http.h"

/* --- who there is ----------------------------------------------------------
 */

pdr_rc pdr__handle_health(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_service *service = x->server->service;
    pdr_builder *to = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("status"));
    pdr_builder_string(to, PDR_LIT("healthy"));
    pdr_builder_name(to, PDR_LIT("agents"));
    pdr_builder_array(to);
    for (size_t i = 0; i < pdr_service_count(service); i++) {
        const pdr_service_agent *agent = pdr_service_at(service, i);

        pdr_builder_object(to);
        pdr_builder_name(to, PDR_LIT("name"));
        pdr_builder_string(to, pdr_agent_name(agent->durable.agent));
        pdr_builder_name(to, PDR_LIT("type"));
        pdr_builder_string(to, pdr_str_c(agent->type));
        pdr_builder_name(to, PDR_LIT("http_endpoint_enabled"));
        pdr_builder_bool(to, true);
        pdr_builder_name(to, PDR_LIT("mcp_tool_enabled"));
        pdr_builder_bool(to, false);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    pdr_builder_name(to, PDR_LIT("agent_count"));
    pdr_builder_uint64(to, pdr_service_count(service));
    pdr_builder_name(to, PDR_LIT("version"));
    pdr_builder_string(to, pdr_str_c(pdr_version()));
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(&value, to, err));
    PDR_TRY(pdr_json_write(&x->reply.body, value, NULL, err));
    pdr__reply_begin(x, 200, PDR_TYPE_JSON);
done:
    pdr_value_free(value);
    pdr_builder_free(to);
    return rc;
}

/* --- sessions --------------------------------------------------------------
 */

pdr_rc pdr__handle_document(struct pdr__exchange *x, pdr_err *err)
{
    pdr_export_report report = {.revision = 0};
    pdr_ref ref = {.id = {NULL, 0}};
    pdr_rc rc = pdr__agent_session(&ref, x, x->args[0], x->args[1], err);

    if (rc != PDR_OK || x->reply.status != 0)
        return rc;
    PDR_TRY(pdr__document_read(&report, &x->reply.body, x->server->documents,
                               pdr_service_store(x->server->service), &ref, err,
                               NULL, NULL));
    pdr__reply_begin(x, 200, PDR_TYPE_JSON);
    pdr__reply_header(x, "Cache-Control", PDR_LIT("no-store"));
done:
    return rc;
}

#define DELETE_MS 30000 /* then it is deleted later */

struct deleting {
    pdr_ref ref; /* in arena of the exchange */
    int64_t due_ms;
};

static void deleting_free(void *state)
{
    pdr__free(state);
}

/* Is it gone? */
static pdr_rc delete_look(struct pdr__exchange *x, const struct deleting *d,
                          pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = d->ref};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(&page, pdr_service_store(x->server->service),
                               &query, &why);

    if (rc == PDR_ENOTFOUND)
        pdr__reply_begin(x, 204, NULL);
    else if (rc != PDR_OK)
        return pdr__err_pass(err, &why);
    else if (x->wait.is_due || pdr__live_is_stopping(x->server->live))
        pdr__reply_begin(x, 202, NULL);
    else
        pdr__wait_for(x, &d->ref, page->head.epoch, page->head.commits,
                      d->due_ms);
    pdr_page_free(page);
    return PDR_OK;
}

/* Behind what is under way in the session. */
pdr_rc pdr__handle_delete(struct pdr__exchange *x, pdr_err *err)
{
    struct deleting *d = x->state;
    pdr_operation operation = {.name = PDR_LIT("delete")};
    pdr_query query = {.what = PDR_READ_HEAD};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (d == NULL) {
        d = pdr__calloc(1, sizeof(*d));
        if (d == NULL)
            return pdr__nomem(err);
        x->state = d;
        x->state_free = deleting_free;
        PDR_TRY(pdr__agent_session(&d->ref, x, x->args[0], x->args[1], err));
        if (x->reply.status != 0)
            goto done;
        query.ref = operation.session = d->ref;
        PDR_TRY(pdr_store_read(&page, pdr_service_store(x->server->service),
                               &query, err));
        PDR_TRY(pdr_engine_send(NULL, pdr_service_engine(x->server->service),
                                &operation, err));
        d->due_ms = pdr__monotonic_ms(pdr__clock_system()) + DELETE_MS;
    }
    PDR_TRY(delete_look(x, d, err));
done:
    pdr_page_free(page);
    return rc;
}
