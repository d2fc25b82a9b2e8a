/*
 * session_new.c - sessions that begin here.
 *
 * WHY  A new session is written the way its edition would write it, member for
 *      member, so that a program of that edition cannot tell. It is made as a
 *      document and then read like any other, so there is one meaning of each
 *      member.
 */
#include <strings.h>

#include "compat.h"
#include "session_core.h"

#define DURABLE_KEY_BYTES 16 /* 32 hex digits, as both editions make them */
#define DURABLE_MAX       (sizeof("@dafx-@") + PDR_MAX_AGENT_BYTES + PDR_MAX_ID_BYTES)

/* Texts that were given or made up. */
struct texts {
    char id[PDR_UUID_TEXT];
    char key[2 * DURABLE_KEY_BYTES + 1];
    char durable[DURABLE_MAX];
    pdr_str id_text;      /* of the session */
    pdr_str durable_text; /* "@dafx-agent@key" or "@agent@key" */
};

/* --- checks -------------------------------------------------------------- */

static pdr_rc check_kind(const pdr_session_parts *parts, pdr_err *err)
{
    bool durable = parts->kind == PDR_SESSION_KIND_DURABLE;
    bool fits = false;

    switch (parts->shape) {
    case PDR_SESSION_NATIVE:
    case PDR_SESSION_DOTNET:
        fits = parts->kind < PDR_SESSION_KIND_CHAT &&
               parts->kind != PDR_SESSION_KIND_PYTHON;
        break;
    case PDR_SESSION_PYTHON:
        fits = parts->kind == PDR_SESSION_KIND_UNSTATED ||
               parts->kind == PDR_SESSION_KIND_PYTHON || durable;
        break;
    case PDR_SESSION_PYTHON_OLD:
    case PDR_SESSION_DOTNET_THREAD:
    case PDR_SESSION_PYTHON_THREAD:
        break;
    }
    if (!fits)
        return PDR_FAIL(err, SESSION_KIND,
                        "a new session of shape %s cannot be of kind %s",
                        pdr_session_shape_name(parts->shape),
                        pdr_session_kind_name(parts->kind));
    if (parts->shape == PDR_SESSION_DOTNET && parts->id.len > 0)
        return PDR_FAIL(err, SESSION_KIND, "%s",
                        "the .NET shape has no place for the id of a session");
    if (!durable && (parts->agent.len > 0 || parts->key.len > 0))
        return PDR_FAIL(err, SESSION_KIND, "%s",
                        "only a durable session has an agent and a key");
    return PDR_OK;
}

static pdr_rc check_service(const pdr_session_parts *parts, pdr_err *err)
{
    bool python = parts->shape == PDR_SESSION_PYTHON;

    if (pdr__dotnet_blank(parts->service_id))
        return PDR_OK; /* none */
    if (!python && pdr__kind_service_member(parts->kind) == NULL)
        return PDR_FAIL(err, SESSION_KIND,
                        "a session of kind %s has no id at a service",
                        pdr_session_kind_name(parts->kind));
    if (pdr__is_sentinel(parts->service_id))
        return PDR_FAIL(err, BAD_ID, "%s",
                        "this text says that the history is local; it is no "
                        "id that a service knows");
    return pdr__utf8_check(parts->service_id, err);
}

static pdr_rc check_id(pdr_str id, pdr_err *err)
{
    if (id.len > PDR_MAX_ID_BYTES || pdr__dotnet_blank(id) || id.ptr[0] == '@')
        return PDR_FAIL(err, BAD_ID,
                        "the id of a session has 1 to %u bytes, is not blank "
                        "and does not begin with '@'",
                        PDR_MAX_ID_BYTES);
    return pdr__utf8_check(id, err);
}

static pdr_rc check_agent(pdr_str agent, pdr_err *err)
{
    if (agent.len == 0 || agent.len > PDR_MAX_AGENT_BYTES ||
        pdr__dotnet_blank(agent) || memchr(agent.ptr, '@', agent.len) != NULL ||
        (agent.len >= 5 && strncasecmp(agent.ptr, "dafx-", 5) == 0))
        return PDR_FAIL(err, BAD_ID,
                        "the name of a durable agent has 1 to %u bytes, no "
                        "'@', and does not begin with \"dafx-\"",
                        PDR_MAX_AGENT_BYTES);
    return pdr__utf8_check(agent, err);
}

static pdr_rc check_key(pdr_str key, pdr_err *err)
{
    if (key.len > PDR_MAX_ID_BYTES)
        return PDR_FAIL(err, BAD_ID,
                        "the key of a durable session has at most %u bytes",
                        PDR_MAX_ID_BYTES);
    return pdr__utf8_check(key, err);
}

/* --- ids ----------------------------------------------------------------- */

static pdr_rc choose_id(struct texts *texts, const pdr_session_parts *parts,
                        const struct pdr__rand *source, pdr_err *err)
{
    struct pdr__uuid uuid;
    pdr_rc rc = PDR_OK;

    if (parts->shape == PDR_SESSION_DOTNET)
        return PDR_OK;
    if (parts->id.len > 0) {
        texts->id_text = parts->id;
        return check_id(parts->id, err);
    }
    rc = pdr__uuid_v4(&uuid, source, err);
    if (rc != PDR_OK)
        return rc;
    pdr__uuid_write(texts->id, &uuid);
    texts->id_text = pdr_str_c(texts->id);
    return PDR_OK;
}

/* A name as .NET has it in an id: ASCII letters in lower case. */
static void append_name(char **at, pdr_str name, bool dotnet)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        *(*at)++ = dotnet ? pdr__ascii_lower(c) : c;
    }
}

static pdr_rc choose_durable(struct texts *texts,
                             const pdr_session_parts *parts,
                             const struct pdr__rand *source, pdr_err *err)
{
    bool dotnet = parts->shape != PDR_SESSION_PYTHON;
    uint8_t bytes[DURABLE_KEY_BYTES];
    pdr_str key = parts->key;
    char *at = texts->durable;
    pdr_rc rc = PDR_OK;

    if (parts->kind != PDR_SESSION_KIND_DURABLE)
        return PDR_OK;
    rc = check_agent(parts->agent, err);
    if (rc == PDR_OK)
        rc = check_key(parts->key, err);
    if (rc == PDR_OK && key.len == 0) {
        rc = pdr__rand_fill(bytes, source, sizeof(bytes), err);
        if (rc == PDR_OK)
            pdr__hex(texts->key, bytes, sizeof(bytes));
        key = pdr_str_n(texts->key, sizeof(texts->key) - 1);
    }
    if (rc != PDR_OK)
        return rc;
    append_name(&at, dotnet ? PDR_LIT("@dafx-") : PDR_LIT("@"), false);
    append_name(&at, parts->agent, dotnet);
    append_name(&at, PDR_LIT("@"), false);
    append_name(&at, key, false);
    texts->durable_text =
        pdr_str_n(texts->durable, (size_t)(at - texts->durable));
    return PDR_OK;
}

pdr_rc pdr_durable_id_write(pdr_buf *out, pdr_str agent, pdr_str key,
                            pdr_err *err)
{
    const pdr_session_parts parts = {
        .kind = PDR_SESSION_KIND_DURABLE, .agent = agent, .key = key};
    struct texts texts;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    PDR_TRY(choose_durable(&texts, &parts, pdr__rand_system(), err));
    PDR_TRY(pdr_buf_append(out, texts.durable_text, err));
done:
    return rc;
}

/* --- documents ----------------------------------------------------------- */

static void put_text(pdr_builder *to, const char *name, pdr_str text)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, text);
}

static void put_bag(pdr_builder *to, const char *name)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_object(to);
    pdr_builder_end(to);
}

static void build_python(pdr_builder *to, const pdr_session_parts *parts,
                         const struct texts *texts)
{
    put_text(to, "type", PDR_LIT("session"));
    put_text(to, "session_id", texts->id_text);
    if (pdr__dotnet_blank(parts->service_id)) {
        pdr_builder_name(to, PDR_LIT("service_session_id"));
        pdr_builder_null(to);
    } else {
        put_text(to, "service_session_id", parts->service_id);
    }
    put_bag(to, "state");
    if (texts->durable_text.len > 0)
        put_text(to, "durable_session_id", texts->durable_text);
}

static void build_dotnet(pdr_builder *to, const pdr_session_parts *parts,
                         pdr_session_kind kind, const struct texts *texts)
{
    if (parts->shape == PDR_SESSION_NATIVE) {
        pdr_builder_name(to, PDR_LIT("perdure"));
        pdr_builder_object(to);
        put_text(to, "version", PDR_LIT(PDR_SESSION_VERSION));
        put_text(to, "kind", pdr_str_c(pdr_session_kind_name(kind)));
        put_text(to, "id", texts->id_text);
        pdr_builder_end(to);
    }
    if (texts->durable_text.len > 0)
        put_text(to, "sessionId", texts->durable_text);
    else if (!pdr__dotnet_blank(parts->service_id))
        put_text(to, pdr__kind_service_member(kind), parts->service_id);
    put_bag(to, "stateBag");
}

static pdr_rc build(pdr_value **out, const pdr_session_parts *parts,
                    pdr_session_kind kind, const struct texts *texts,
                    pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_rc rc = pdr_builder_new(&to, err);

    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    if (parts->shape == PDR_SESSION_PYTHON)
        build_python(to, parts, texts);
    else
        build_dotnet(to, parts, kind, texts);
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

/* The kind that a session begins with. */
static pdr_session_kind first_kind(const pdr_session_parts *parts)
{
    if (parts->kind != PDR_SESSION_KIND_UNSTATED)
        return parts->kind;
    if (parts->shape == PDR_SESSION_PYTHON)
        return PDR_SESSION_KIND_PYTHON;
    return pdr__dotnet_blank(parts->service_id) ? PDR_SESSION_KIND_UNSTATED
                                                : PDR_SESSION_KIND_CLIENT;
}

pdr_rc pdr__session_new(pdr_session **out, const pdr_session_parts *parts,
                        const struct pdr__rand *source, pdr_err *err)
{
    struct texts texts = {{0}, {0}, {0}, {NULL, 0}, {NULL, 0}};
    pdr_value *value = NULL;
    pdr_rc rc = check_kind(parts, err);

    if (rc == PDR_OK)
        rc = check_service(parts, err);
    if (rc == PDR_OK)
        rc = choose_id(&texts, parts, source, err);
    if (rc == PDR_OK)
        rc = choose_durable(&texts, parts, source, err);
    if (rc == PDR_OK)
        rc = build(&value, parts, first_kind(parts), &texts, err);
    if (rc == PDR_OK)
        rc =
            pdr__session_open(out, value, parts->shape, first_kind(parts), err);
    pdr_value_free(value);
    if (rc == PDR_OK)
        (*out)->is_made = true;
    return rc;
}

pdr_rc pdr_session_new(pdr_session **out, const pdr_session_parts *parts,
                       pdr_err *err)
{
    static const pdr_session_parts defaults = {0};

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    return pdr__session_new(out, parts != NULL ? parts : &defaults,
                            pdr__rand_system(), err);
}
