/*
 * reply.c - what is sent back, and what a failure is called in HTTP.
 */
#include <stdio.h>

#include "http.h"

#include "core.h"

/* --- statuses --------------------------------------------------------------
 */

static const struct {
    unsigned status;
    const char *name; /* as people read it */
    const char *slug; /* of a problem */
} statuses[] = {
    {200, "OK", ""},
    {201, "Created", ""},
    {202, "Accepted", ""},
    {204, "No Content", ""},
    {304, "Not Modified", ""},
    {308, "Permanent Redirect", ""},
    {400, "Bad Request", "bad-request"},
    {401, "Unauthorized", "unauthorized"},
    {403, "Forbidden", "forbidden"},
    {404, "Not Found", "not-found"},
    {405, "Method Not Allowed", "method-not-allowed"},
    {409, "Conflict", "conflict"},
    {410, "Gone", "gone"},
    {412, "Precondition Failed", "version-conflict"},
    {413, "Content Too Large", "too-large"},
    {421, "Misdirected Request", "misdirected"},
    {422, "Unprocessable Content", "invalid-state"},
    {428, "Precondition Required", "precondition-required"},
    {429, "Too Many Requests", "quota"},
    {500, "Internal Server Error", "internal"},
    {502, "Bad Gateway", "upstream"},
    {503, "Service Unavailable", "unavailable"},
    {504, "Gateway Timeout", "timeout"},
};

static size_t status_find(unsigned status)
{
    for (size_t i = 0; i < PDR_COUNT(statuses); i++) {
        if (statuses[i].status == status)
            return i;
    }
    return status_find(500);
}

_Static_assert(PDR_COUNT(statuses) == PDR_STATUSES, "of all statuses");

unsigned pdr__status_at(size_t index)
{
    return index < PDR_STATUSES ? statuses[index].status : 0;
}

size_t pdr__status_index(unsigned status)
{
    return status_find(status);
}

const char *pdr__status_name(unsigned status)
{
    return statuses[status_find(status)].name;
}

unsigned pdr__status_of(const pdr_err *why)
{
    if (pdr__err_is(why, PDR_R_CURSOR_GONE))
        return 410;
    if (pdr__err_is(why, PDR_R_INBOX_FULL))
        return 429;
    switch (why->code) {
    case PDR_OK:
        return 200;
    case PDR_EINVALID:
    case PDR_EVERSION:
        return 400;
    case PDR_ELIMIT:
        return 413;
    case PDR_ENOTFOUND:
        return 404;
    case PDR_EEXISTS:
    case PDR_ECONFLICT:
    case PDR_EFENCED:
        return 409;
    case PDR_EBUSY:
    case PDR_ECANCELLED:
        return 503;
    case PDR_ETIMEOUT:
        return 504;
    case PDR_EDENIED:
        return 403;
    case PDR_EMODEL:
        return 502;
    case PDR_EUNSUPPORTED:
        return 422;
    case PDR_ENOMEM:
    case PDR_ECORRUPT:
    case PDR_EIO:
    case PDR_EUNKNOWN:
    case PDR_EMISUSE:
        return pdr__err_is(why, PDR_R_ENGINE_STOPPED) ? 503 : 500;
    }
    return 500;
}

/* Failures that native routes tell more exactly than by their code. What is no
 * JSON, or no number, is a bad request; what is, and is still not a session, an
 * invalid state. */
static const struct problem {
    enum pdr__reason reason;
    unsigned status;
    const char *slug;
} problems[] = {
    {PDR_R_REVISION_CHANGED, 412, "version-conflict"},
    {PDR_R_EPOCH_CHANGED, 412, "version-conflict"},
    {PDR_R_SESSION_EXISTS, 409, "already-exists"},
    {PDR_R_LEASE_HELD, 409, "session-busy"},
    {PDR_R_CORRELATION_REUSED, 422, "idempotency-mismatch"},
    {PDR_R_RUN_CANCELLED, 409, "run-cancelled"},
    {PDR_R_SCHEMA_VERSION_UNSUPPORTED, 422, "schema-incompatible"},
    {PDR_R_SESSION_VERSION, 422, "schema-incompatible"},
    {PDR_R_SCHEMA_VERSION_MISSING, 422, "invalid-state"},
    {PDR_R_SCHEMA_VERSION_INVALID, 422, "invalid-state"},
    {PDR_R_DATA_MISSING, 422, "invalid-state"},
    {PDR_R_DATA_INVALID, 422, "invalid-state"},
    {PDR_R_SESSION_UNKNOWN_SHAPE, 422, "invalid-state"},
    {PDR_R_SESSION_NOT_OBJECT, 422, "invalid-state"},
    {PDR_R_SESSION_MEMBER, 422, "invalid-state"},
    {PDR_R_SESSION_KIND, 422, "invalid-state"},
    {PDR_R_BAG_NOT_OBJECT, 422, "invalid-state"},
    {PDR_R_BAG_SEALED, 422, "invalid-state"},
    {PDR_R_HISTORY_SHAPE, 422, "invalid-state"},
    {PDR_R_HISTORY_SLOT, 422, "invalid-state"},
    {PDR_R_WRONG_KIND, 422, "invalid-state"},
    {PDR_R_NO_ENTITY, 422, "invalid-state"},
    {PDR_R_CANNOT_EXPORT, 422, "invalid-state"},
    {PDR_R_CHAT_BUSY, 409, "session-busy"},
    {PDR_R_CHAT_CHANGED, 409, "conflict"},
    {PDR_R_CHAT_COMPLETE, 409, "chat-complete"},
    {PDR_R_CHAT_VERSION, 422, "schema-incompatible"},
    {PDR_R_BAD_CHAT, 422, "invalid-state"},
    {PDR_R_BAD_MAC, 422, "invalid-state"},
    {PDR_R_BAD_CHAIN, 422, "invalid-state"},
    {PDR_R_BAD_CHANNEL_STATE, 422, "invalid-state"},
    {PDR_R_CANNOT_CARRY, 422, "invalid-state"},
    {PDR_R_SYSTEM_MESSAGE, 422, "invalid-state"},
    {PDR_R_NO_AGENT, 422, "invalid-state"},
    {PDR_R_NO_AGENTS, 422, "invalid-state"},
};

static const struct problem *problem_find(const pdr_err *why)
{
    for (size_t i = 0; i < PDR_COUNT(problems); i++) {
        if (pdr__err_is(why, problems[i].reason))
            return &problems[i];
    }
    return NULL;
}

/* --- replies ---------------------------------------------------------------
 */

void pdr__reply_begin(struct pdr__exchange *x, unsigned status,
                      const char *type)
{
    x->reply.status = status;
    x->reply.type = type;
}

void pdr__reply_header(struct pdr__exchange *x, const char *name, pdr_str value)
{
    size_t before = x->reply.headers.len;

    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.ptr[i] < 0x20 || value.ptr[i] == 0x7F)
            return;
    }
    if (value.ptr != NULL &&
        pdr_buf_printf(&x->reply.headers, NULL, "%s%c%.*s%c", name, 0,
                       (int)value.len, value.ptr, 0) != PDR_OK)
        x->reply.headers.len = before;
}

void pdr__reply_text(struct pdr__exchange *x, unsigned status, const char *type,
                     pdr_str text)
{
    pdr__reply_begin(x, status, type);
    pdr_buf_clear(&x->reply.body);
    (void)!pdr_buf_append(&x->reply.body, text, NULL);
}

/* {"error":"..."}, as hosts of durable agents say it. */
static pdr_rc agents_error(struct pdr__exchange *x, unsigned status,
                           pdr_str text)
{
    pdr_buf *out = &x->reply.body;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, PDR_LIT("{"), NULL));
    if (x->server->opts.profile == PDR_PROFILE_DOTNET)
        PDR_TRY(pdr_buf_printf(out, NULL, "\"status\":%u,", status));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("\"error\":\""), NULL));
    PDR_TRY(pdr__text_encode(out, text, NULL));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("\"}"), NULL));
done:
    return rc;
}

/* RFC 9457. `why` may be NULL. */
static pdr_rc problem_write(struct pdr__exchange *x, unsigned status,
                            const char *slug, pdr_str text, const pdr_err *why)
{
    const size_t row = status_find(status);
    struct pdr__json j = {.out = &x->reply.body};
    char type[64], number[24];

    (void)snprintf(type, sizeof(type), "/problems/%s",
                   slug != NULL ? slug : statuses[row].slug);
    (void)snprintf(number, sizeof(number), "%llu",
                   (unsigned long long)x->number);
    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "type", pdr_str_c(type));
    pdr__json_text(&j, "title", pdr_str_c(statuses[row].name));
    pdr__json_number(&j, "status", status);
    pdr__json_text(&j, "detail", text);
    if (why != NULL && why->reason != NULL)
        pdr__json_text(&j, "code", pdr_str_c(why->reason));
    pdr__json_text(&j, "requestId", pdr_str_c(number));
    if (why != NULL && why->path[0] != '\0') {
        pdr__json_begin(&j, "errors", '[');
        pdr__json_begin(&j, NULL, '{');
        pdr__json_escaped(&j, "pointer", pdr_str_c(why->path));
        pdr__json_text(&j, "detail", text);
        pdr__json_end(&j, '}');
        pdr__json_end(&j, ']');
    }
    pdr__json_end(&j, '}');
    return j.rc;
}

static void error_write(struct pdr__exchange *x, unsigned status,
                        const char *slug, pdr_str text, const pdr_err *why)
{
    const enum pdr__family family =
        x->route != NULL ? x->route->family : PDR_FAMILY_NATIVE;
    pdr_rc rc = PDR_OK;

    x->reply.pull = NULL;
    pdr_buf_clear(&x->reply.body);
    if (status == 429 || status == 503)
        pdr__reply_header(x, "Retry-After", PDR_LIT("1"));
    if (family == PDR_FAMILY_PLAIN || x->wants_text) {
        pdr__reply_begin(x, status, PDR_TYPE_TEXT);
        rc = pdr_buf_append(&x->reply.body, text, NULL);
    } else if (family == PDR_FAMILY_AGENTS) {
        pdr__reply_begin(x, status, PDR_TYPE_JSON);
        rc = agents_error(x, status, text);
    } else {
        pdr__reply_begin(x, status, PDR_TYPE_PROBLEM);
        rc = problem_write(x, status, slug, text, why);
    }
    if (rc != PDR_OK) /* no memory: the status has to do */
        pdr_buf_clear(&x->reply.body);
}

void pdr__reply_refuse(struct pdr__exchange *x, unsigned status,
                       const char *text)
{
    error_write(x, status, NULL, pdr_str_c(text), NULL);
}

void pdr__reply_problem(struct pdr__exchange *x, unsigned status,
                        const char *slug, const char *text)
{
    error_write(x, status, slug, pdr_str_c(text), NULL);
}

void pdr__reply_error(struct pdr__exchange *x, const pdr_err *why)
{
    const bool is_native =
        x->route == NULL || x->route->family == PDR_FAMILY_NATIVE;
    const struct problem *row = is_native ? problem_find(why) : NULL;

    error_write(x, row != NULL ? row->status : pdr__status_of(why),
                row != NULL ? row->slug : NULL, pdr_str_c(why->message), why);
}
