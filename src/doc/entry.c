/*
 * entry.c - one entry of a conversation: reading and making.
 *
 * WHY  Entries come from three kinds of programs. Reading is by look-up, so an
 *      entry with anything in it can be read; making follows the strictest
 *      reader there is, so an entry of ours can be read by everybody.
 *
 * The strictest reader is .NET: "$type" first and no other "$" name, every
 * list there, no null where it has no null. tests/conformance/doc holds us to
 * it with the check for that reader.
 */
#include "doc.h"

#define MAX_ID 1024 /* bytes; as for every id of a session */

/* --- reading ------------------------------------------------------------- */

/* The string that says what an entry is, or NULL. */
static const pdr_value *entry_type(const pdr_value *entry)
{
    const pdr_value *type = pdr_value_get_c(entry, "$type");

    if (pdr__is_nothing(type) || pdr_value_text_is(type, PDR_LIT("")))
        type = pdr_value_get_c(entry, "json_type");
    return type;
}

pdr_entry_kind pdr_entry_kind_of(const pdr_value *entry)
{
    const pdr_value *type = entry_type(entry);

    if (pdr_value_text_is(type, PDR_LIT("request")))
        return PDR_ENTRY_REQUEST;
    if (pdr_value_text_is(type, PDR_LIT("response")))
        return PDR_ENTRY_RESPONSE;
    return PDR_ENTRY_OTHER;
}

const pdr_value *pdr_entry_correlation_id(const pdr_value *entry)
{
    return pdr__member(entry, "correlationId", PDR_STRING);
}

const pdr_value *pdr_entry_messages(const pdr_value *entry)
{
    return pdr__member(entry, "messages", PDR_ARRAY);
}

bool pdr_entry_created_at(pdr_datetime *out, const pdr_value *entry)
{
    return pdr__member_datetime(out, entry, "createdAt");
}

/* A member that only one kind of entry has. */
static const pdr_value *member_of(const pdr_value *entry, pdr_entry_kind kind,
                                  const char *name, pdr_kind json)
{
    return pdr_entry_kind_of(entry) == kind ? pdr__member(entry, name, json)
                                            : NULL;
}

const pdr_value *pdr_entry_orchestration_id(const pdr_value *entry)
{
    return member_of(entry, PDR_ENTRY_REQUEST, "orchestrationId", PDR_STRING);
}

const pdr_value *pdr_entry_response_type(const pdr_value *entry)
{
    return member_of(entry, PDR_ENTRY_REQUEST, "responseType", PDR_STRING);
}

const pdr_value *pdr_entry_response_schema(const pdr_value *entry)
{
    return member_of(entry, PDR_ENTRY_REQUEST, "responseSchema", PDR_OBJECT);
}

const pdr_value *pdr_entry_usage(const pdr_value *entry)
{
    return member_of(entry, PDR_ENTRY_RESPONSE, "usage", PDR_OBJECT);
}

/* Are there contents, and all of them errors? */
static bool only_errors(const pdr_value *entry)
{
    pdr_iter message, content;
    size_t errors = 0;

    pdr_iter_init(&message, pdr_entry_messages(entry));
    while (pdr_iter_next(&message)) {
        pdr_iter_init(&content,
                      pdr_message_contents(message.value, PDR_SHAPE_STATE));
        while (pdr_iter_next(&content)) {
            if (pdr_content_kind_of(content.value, PDR_SHAPE_STATE) !=
                PDR_CONTENT_ERROR)
                return false;
            errors++;
        }
    }
    return errors > 0;
}

bool pdr_entry_is_error(const pdr_value *entry)
{
    const pdr_value *said = NULL;
    bool truth = false;

    if (pdr_entry_kind_of(entry) != PDR_ENTRY_RESPONSE)
        return false;
    said = pdr__member(entry, "isError", PDR_BOOL);
    if (said != NULL && pdr_value_bool(&truth, said, NULL) == PDR_OK && truth)
        return true;
    return only_errors(entry);
}

/* --- making -------------------------------------------------------------- */

static pdr_rc wrong_part(const char *part, const pdr_value *value,
                         const char *wanted, pdr_err *err)
{
    return PDR_FAIL(err, WRONG_KIND, "%s of an entry: %s, where %s must stand",
                    part, pdr__kind_phrase(value), wanted);
}

/* Which parts may be there, for each kind of entry. */
static pdr_rc check_kind(const pdr_entry_parts *parts, pdr_err *err)
{
    bool request = parts->kind == PDR_ENTRY_REQUEST;
    bool of_request = parts->orchestration_id.len > 0 ||
                      parts->response_type.len > 0 ||
                      parts->response_schema != NULL;
    bool of_response = parts->usage != NULL || parts->is_error;

    if (!request && parts->kind != PDR_ENTRY_RESPONSE)
        return PDR_FAIL(err, NO_SUCH_KIND, "%s",
                        "an entry that we make is a request or a response");
    if (request ? of_response : of_request)
        return PDR_FAIL(err, NO_SUCH_FIELD, "%s",
                        request ? "a request has no usage and is no error"
                                : "a response has no orchestration id, "
                                  "response type or response schema");
    return PDR_OK;
}

static pdr_rc check_parts(const pdr_entry_parts *parts, pdr_err *err)
{
    pdr_rc rc = check_kind(parts, err);

    if (rc != PDR_OK)
        return rc;
    if (parts->correlation_id.len == 0)
        return PDR_FAIL(err, FIELD_MISSING, "%s",
                        "an entry needs a correlation id");
    if (parts->created_at == 0)
        return PDR_FAIL(err, FIELD_MISSING, "%s",
                        "an entry needs the time at which it was made");
    if (parts->response_type.len > 0 &&
        !pdr_str_equal(parts->response_type, PDR_LIT("text")) &&
        !pdr_str_equal(parts->response_type, PDR_LIT("json")))
        return PDR_FAIL(err, NO_SUCH_KIND, "%s",
                        "a response type is \"text\" or \"json\"");
    if (parts->correlation_id.len > MAX_ID)
        return PDR_FAIL(err, BAD_ID,
                        "a correlation id has at most %d bytes, this one %zu",
                        MAX_ID, parts->correlation_id.len);
    if (parts->messages != NULL && pdr_value_kind(parts->messages) != PDR_ARRAY)
        return wrong_part("messages", parts->messages, "an array", err);
    if (parts->response_schema != NULL &&
        pdr_value_kind(parts->response_schema) != PDR_OBJECT)
        return wrong_part("response schema", parts->response_schema,
                          "an object", err);
    if (parts->usage != NULL && pdr_value_kind(parts->usage) != PDR_OBJECT)
        return wrong_part("usage", parts->usage, "an object", err);
    return PDR_OK;
}

static void put_text(pdr_builder *to, const char *name, pdr_str text)
{
    if (text.len == 0)
        return;
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, text);
}

static void put_value(pdr_builder *to, const char *name, const pdr_value *value)
{
    if (value == NULL)
        return;
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_value(to, value);
}

/* All members, in the order of .NET; those that .NET does not know come last.
 */
static void put_members(pdr_builder *to, const pdr_entry_parts *parts,
                        pdr_str created_at)
{
    bool request = parts->kind == PDR_ENTRY_REQUEST;

    put_text(to, "$type", request ? PDR_LIT("request") : PDR_LIT("response"));
    put_text(to, "orchestrationId", parts->orchestration_id);
    put_text(to, "responseType", parts->response_type);
    put_value(to, "responseSchema", parts->response_schema);
    put_value(to, "usage", parts->usage);
    put_text(to, "correlationId", parts->correlation_id);
    put_text(to, "createdAt", created_at);
    pdr_builder_name(to, PDR_LIT("messages"));
    if (parts->messages != NULL) {
        pdr_builder_value(to, parts->messages);
    } else {
        pdr_builder_array(to);
        pdr_builder_end(to);
    }
    if (parts->is_error) {
        pdr_builder_name(to, PDR_LIT("isError"));
        pdr_builder_bool(to, true);
    }
}

pdr_rc pdr_entry_new(pdr_value **out, const pdr_entry_parts *parts,
                     pdr_err *err)
{
    pdr_datetime at;
    pdr_buf date = PDR_BUF_INIT(64);
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && parts != NULL);
    *out = NULL;
    rc = check_parts(parts, err);
    if (rc != PDR_OK)
        return rc;
    at = pdr_datetime_utc(parts->created_at);
    rc = pdr_datetime_write(&date, &at, PDR_DATETIME_OURS, err);
    if (rc == PDR_OK)
        rc = pdr_builder_new(&to, err);
    if (rc == PDR_OK) {
        pdr_builder_object(to);
        put_members(to, parts, pdr_buf_str(&date));
        pdr_builder_end(to);
        rc = pdr_builder_finish(out, to, err);
    }
    pdr_builder_free(to);
    pdr_buf_dispose(&date);
    return rc;
}
