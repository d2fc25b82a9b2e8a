/*
 * repair_dotnet.c - what .NET needs of a document, where that can be had
 * without changing what the document says.
 *
 * WHY  .NET is the strictest reader: "$type" must come first, lists and most
 *      members must be there, a count is digits only, a date has one of few
 *      forms. What an absent member means is known (an empty list, an empty
 *      text, no arguments), so it can be written. What has to be made up (an
 *      id, a role, a date that nobody can read) is not touched here; the check
 *      at the end of the repair refuses it with its path.
 */
#include <stdio.h>

#include "compat.h"
#include "repair.h"

/* --- "$type" ------------------------------------------------------------- */

/* "$type" members of an object; *first says whether the first member is one. */
static size_t count_types(bool *first, const pdr_value *object)
{
    size_t count = 0;
    pdr_iter it;

    *first = false;
    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (!pdr_value_text_is(it.name, PDR_LIT("$type")))
            continue;
        *first = *first || it.index == 0;
        count++;
    }
    return count;
}

/* The object with `type` as its first member, and no other of that name. All
 * others are shared, with the spelling of their names. */
static pdr_rc put_type_first(pdr_value **object, const pdr_value *type,
                             pdr_err *err)
{
    pdr_value *made = pdr_value_new_object();
    pdr_iter it;
    pdr_rc rc = pdr_value_set(&made, PDR_LIT("$type"), type, err);

    pdr_iter_init(&it, *object);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!pdr_value_text_is(it.name, PDR_LIT("$type")))
            rc = pdr__value_add_member(&made, it.name, it.value, err);
    }
    if (rc == PDR_OK) {
        pdr_value_free(*object);
        *object = made;
        made = NULL;
    }
    pdr_value_free(made);
    return rc;
}

static pdr_rc fix_type(struct repair *r, pdr_value **object)
{
    bool first = false;
    size_t count = count_types(&first, *object);
    pdr_rc rc = PDR_OK;

    if (count == 0 || (count == 1 && first))
        return PDR_OK;
    rc = pdr__fix_tell(r, REPAIR_TYPE_FIRST, "");
    if (rc == PDR_OK)
        rc = put_type_first(object, pdr_value_get_c(*object, "$type"), r->err);
    return rc;
}

/* An older entry says in "json_type" what it is. */
static pdr_rc fill_type(struct repair *r, pdr_value **entry)
{
    const pdr_value *type = pdr_value_get_c(*entry, "$type");
    pdr_rc rc = PDR_OK;

    if (!pdr__is_nothing(type) && !pdr_value_text_is(type, PDR_LIT("")))
        return fix_type(r, entry);
    rc = pdr__fix_tell(r, REPAIR_TYPE_FILLED, "");
    if (rc == PDR_OK)
        rc =
            put_type_first(entry, pdr_value_get_c(*entry, "json_type"), r->err);
    return rc;
}

/* --- dates and counts ---------------------------------------------------- */

/* The date in member `name`, if it is there and .NET does not take it as it is:
 * for a deadline also if it does not end in Z. */
static pdr_rc fix_date(struct repair *r, pdr_value **object, const char *name,
                       bool deadline)
{
    const pdr_value *date = pdr__member(*object, name, PDR_STRING);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    bool good = false;
    pdr_rc rc = PDR_OK;

    if (date == NULL)
        return PDR_OK;
    rc = pdr__value_name_bytes(&text, date, &scratch, r->err);
    good = rc == PDR_OK && text.len > 0 && pdr__dotnet_date(text) &&
           (!deadline || text.ptr[text.len - 1] == 'Z');
    pdr_buf_dispose(&scratch);
    if (rc != PDR_OK || good)
        return rc;
    return pdr__fix_date(r, object, name,
                         deadline ? PDR_DATETIME_DOTNET_UTC
                                  : PDR_DATETIME_DOTNET_OFFSET);
}

static bool is_plain_integer(const pdr_value *number)
{
    pdr_str raw = {NULL, 0};
    size_t at = 0;

    if (!pdr_value_raw(&raw, number))
        return false;
    if (raw.len > 0 && raw.ptr[0] == '-')
        at++;
    while (at < raw.len && raw.ptr[at] >= '0' && raw.ptr[at] <= '9')
        at++;
    return at == raw.len;
}

static pdr_rc fix_count(struct repair *r, pdr_value **usage, const char *name)
{
    const pdr_value *count = pdr__member(*usage, name, PDR_NUMBER);
    pdr_value *plain = NULL;
    char below[64];
    int64_t number = 0;
    pdr_rc rc = PDR_OK;

    if (count == NULL || is_plain_integer(count) ||
        pdr_value_int64(&number, count, NULL) != PDR_OK)
        return PDR_OK;
    (void)snprintf(below, sizeof(below), "usage/%s", name);
    rc = pdr__fix_tell(r, REPAIR_COUNTS, below);
    if (rc == PDR_OK)
        rc = pdr_value_new_int64(&plain, number, r->err);
    if (rc == PDR_OK)
        rc = pdr_value_set(usage, pdr_str_c(name), plain, r->err);
    pdr_value_free(plain);
    return rc;
}

/* The counts in the member "usage". */
static pdr_rc fix_usage(struct repair *r, pdr_value **object)
{
    static const char *const names[] = {"inputTokenCount", "outputTokenCount",
                                        "totalTokenCount"};
    const pdr_value *before = pdr__member(*object, "usage", PDR_OBJECT);
    pdr_value *usage = pdr_value_ref(before);
    pdr_rc rc = PDR_OK;

    if (usage == NULL)
        return PDR_OK;
    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(names); i++)
        rc = fix_count(r, &usage, names[i]);
    if (rc == PDR_OK && usage != before)
        rc = pdr_value_set(object, PDR_LIT("usage"), usage, r->err);
    pdr_value_free(usage);
    return rc;
}

/* --- contents ------------------------------------------------------------ */

static pdr_rc fix_text(struct repair *r, pdr_value **content)
{
    pdr_value *empty = NULL;
    pdr_rc rc = pdr_value_new_string(&empty, PDR_LIT(""), r->err);

    if (rc == PDR_OK)
        rc = pdr__fix_member(r, content, "text", empty);
    pdr_value_free(empty);
    return rc;
}

/* Keep `value` beside itself, under `name`. */
static pdr_rc keep_beside(struct repair *r, pdr_value **content,
                          const char *name, const pdr_value *value)
{
    pdr_rc rc = pdr__fix_tell(r, REPAIR_KEPT_ADDED, name);

    return rc == PDR_OK ? pdr_value_set(content, pdr_str_c(name), value, r->err)
                        : rc;
}

/* A string is its own text, anything else has that of its compact JSON. */
static pdr_rc text_of(pdr_value **out, const pdr_value *value, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (pdr_value_kind(value) == PDR_STRING) {
        *out = pdr_value_ref(value);
        return PDR_OK;
    }
    rc = pdr_json_write(&text, value, NULL, err);
    if (rc == PDR_OK)
        rc = pdr_value_new_string(out, pdr_buf_str(&text), err);
    pdr_buf_dispose(&text);
    return rc;
}

/* Arguments are an object; anything else is kept as text. */
static pdr_rc fix_arguments(struct repair *r, pdr_value **content)
{
    const pdr_value *arguments = pdr_value_get_c(*content, "arguments");
    pdr_value *empty = pdr_value_new_object(), *text = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr__is_nothing(arguments)) {
        rc = pdr__fix_member(r, content, "arguments", empty);
    } else if (pdr_value_kind(arguments) != PDR_OBJECT &&
               pdr_value_get_c(*content, "argumentsText") == NULL) {
        rc = text_of(&text, arguments, r->err);
        if (rc == PDR_OK)
            rc = pdr__fix_tell(r, REPAIR_ARGUMENTS, "arguments");
        if (rc == PDR_OK)
            rc = pdr_value_set(content, PDR_LIT("arguments"), empty, r->err);
        if (rc == PDR_OK)
            rc = keep_beside(r, content, "argumentsText", text);
    }
    pdr_value_free(text);
    pdr_value_free(empty);
    return rc;
}

/* Details are a text; anything else is kept beside its text. */
static pdr_rc fix_details(struct repair *r, pdr_value **content)
{
    pdr_value *details = pdr_value_ref(pdr_value_get_c(*content, "details"));
    pdr_value *text = NULL;
    pdr_rc rc = PDR_OK;

    if (!pdr__is_nothing(details) && pdr_value_kind(details) != PDR_STRING &&
        pdr_value_get_c(*content, "detailsJson") == NULL) {
        rc = text_of(&text, details, r->err);
        if (rc == PDR_OK)
            rc = pdr__fix_tell(r, REPAIR_DETAILS, "details");
        if (rc == PDR_OK)
            rc = pdr_value_set(content, PDR_LIT("details"), text, r->err);
        if (rc == PDR_OK)
            rc = keep_beside(r, content, "detailsJson", details);
    }
    pdr_value_free(text);
    pdr_value_free(details);
    return rc;
}

/* A usage item without counts. */
static pdr_rc fill_usage(struct repair *r, pdr_value **content)
{
    pdr_value *none = pdr_value_new_object();
    pdr_rc rc = pdr__fix_member(r, content, "usage", none);

    pdr_value_free(none);
    return rc;
}

/* .NET wants the member, and takes null for it. */
static pdr_rc add_null(struct repair *r, pdr_value **object, const char *name)
{
    pdr_value *null = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_get_c(*object, name) != NULL)
        return PDR_OK;
    null = pdr_value_new_null();
    rc = pdr__fix_member(r, object, name, null);
    pdr_value_free(null);
    return rc;
}

static pdr_rc fix_kind(struct repair *r, pdr_value **content)
{
    pdr_content_kind kind = pdr_content_kind_of(*content, PDR_SHAPE_STATE);
    pdr_rc rc = PDR_OK;

    if (kind == PDR_CONTENT_TEXT)
        return fix_text(r, content);
    if (kind == PDR_CONTENT_CALL)
        return fix_arguments(r, content);
    if (kind == PDR_CONTENT_ERROR)
        return fix_details(r, content);
    if (kind == PDR_CONTENT_URI)
        return add_null(r, content, "mediaType");
    if (kind != PDR_CONTENT_USAGE)
        return PDR_OK;
    rc = fill_usage(r, content);
    return rc == PDR_OK ? fix_usage(r, content) : rc;
}

static pdr_rc fix_content(struct repair *r, pdr_value **content)
{
    pdr_rc rc = PDR_OK;

    if (pdr_content_kind_of(*content, PDR_SHAPE_STATE) != PDR_CONTENT_OTHER)
        rc = fix_type(r, content);
    if (rc == PDR_OK)
        rc = pdr__fix_unknown(r, content);
    return rc == PDR_OK ? fix_kind(r, content) : rc;
}

/* --- what is around them ------------------------------------------------- */

static pdr_rc fix_message(struct repair *r, pdr_value **message)
{
    pdr_rc rc = fix_date(r, message, "createdAt", false);

    return rc == PDR_OK ? pdr__fix_list(r, message, "contents", true) : rc;
}

static pdr_rc fix_entry(struct repair *r, pdr_value **entry)
{
    bool response = pdr_entry_kind_of(*entry) == PDR_ENTRY_RESPONSE;
    pdr_rc rc = fill_type(r, entry);

    if (rc == PDR_OK)
        rc = add_null(r, entry, "correlationId");
    if (rc == PDR_OK)
        rc = fix_date(r, entry, "createdAt", false);
    if (rc == PDR_OK && response)
        rc = fix_usage(r, entry);
    return rc == PDR_OK ? pdr__fix_list(r, entry, "messages", true) : rc;
}

static pdr_rc fix_data(struct repair *r, pdr_value **data)
{
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(*data) != PDR_OBJECT)
        return PDR_OK; /* null is an empty conversation for .NET too */
    rc = pdr__fix_list(r, data, "conversationHistory", true);
    return rc == PDR_OK ? fix_date(r, data, "expirationTimeUtc", true) : rc;
}

const struct fixes pdr__fixes_dotnet = {fix_data, fix_entry, fix_message,
                                        fix_content, true};
