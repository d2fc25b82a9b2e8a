/*
 * compat_dotnet.c - what .NET does with a document.
 *
 * WHY  Microsoft.Agents.AI.DurableTask reads a document into typed objects with
 *      System.Text.Json: kinds must fit, $type must come first, and what passes
 *      the reader can still stop every run, because messages are made of the
 *      whole history each time. The facts, and the versions they were seen
 *      with, are in docs/formats/readers.md.
 *
 * Unknown members below the root are kept by .NET as JSON, so nothing in them
 * can fail the load, but what cannot be written fails every write. Of several
 * members with one name each is read, so each can fail the load.
 */
#include "compat.h"

#define DOTNET_FRACTION 7 /* digits of a fraction of a second */

/* --- texts --------------------------------------------------------------- */

static void look_text(struct compat *walk, const pdr_value *value)
{
    if (pdr_value_has_lone_surrogate(value))
        pdr__compat_tell(walk, DN_SURROGATE_TYPED, NULL);
}

/* A text that must not be blank in a run. */
static void look_solid(struct compat *walk, const pdr_value *value)
{
    look_text(walk, value);
    if (pdr__dotnet_blank(pdr__compat_text(walk, value)))
        pdr__compat_tell(walk, DN_BLANK_MEMBER, NULL);
}

/* Digits behind the point of a date. */
static size_t fraction_digits(pdr_str text)
{
    const char *point = text.len > 0 ? memchr(text.ptr, '.', text.len) : NULL;
    size_t count = 0;

    if (point == NULL)
        return 0;
    for (point++; point < text.ptr + text.len; point++, count++) {
        if (*point < '0' || *point > '9')
            break;
    }
    return count;
}

/* A date that .NET can read? Tells if not, and what it would cut. */
static bool look_any_date(struct compat *walk, const pdr_value *value,
                          pdr_datetime *date)
{
    pdr_str text = pdr__compat_text(walk, value);

    if (!pdr__dotnet_date(text) || walk->rc != PDR_OK) {
        pdr__compat_tell(walk, DN_BAD_DATE, NULL);
        return false;
    }
    if (fraction_digits(text) > DOTNET_FRACTION)
        pdr__compat_tell(walk, DN_FRACTION, NULL);
    return pdr_datetime_read(date, text, NULL) == PDR_OK;
}

static void look_date(struct compat *walk, const pdr_value *value)
{
    pdr_datetime date;

    if (!look_any_date(walk, value, &date))
        return;
    if (!date.has_offset)
        pdr__compat_tell(walk, DN_DATE_LOCAL, NULL);
    else
        pdr__compat_spelling(walk, pdr__compat_text(walk, value),
                             PDR_DATETIME_DOTNET_OFFSET, DN_DATE_RESPELLED);
}

static void look_deadline(struct compat *walk, const pdr_value *value)
{
    pdr_datetime date;
    pdr_str text;

    if (!look_any_date(walk, value, &date))
        return;
    text = pdr__compat_text(walk, value);
    if (!date.has_offset)
        pdr__compat_tell(walk, DN_DEADLINE_LOCAL, NULL);
    else if (text.ptr[text.len - 1] != 'Z')
        pdr__compat_tell(walk, DN_DEADLINE_OFFSET, NULL);
    else
        pdr__compat_spelling(walk, text, PDR_DATETIME_DOTNET_UTC,
                             DN_DATE_RESPELLED);
}

static void look_media_type(struct compat *walk, const pdr_value *value)
{
    look_text(walk, value);
    if (!pdr__dotnet_media_type(pdr__compat_text(walk, value)))
        pdr__compat_tell(walk, DN_MEDIA_TYPE, NULL);
}

static void look_data_uri(struct compat *walk, const pdr_value *value)
{
    look_text(walk, value);
    if (!pdr__dotnet_data_uri(pdr__compat_text(walk, value)))
        pdr__compat_tell(walk, DN_DATA_URI, NULL);
}

static void look_uri(struct compat *walk, const pdr_value *value)
{
    look_text(walk, value);
    if (!pdr__dotnet_uri(pdr__compat_text(walk, value)))
        pdr__compat_tell(walk, DN_BAD_URI, NULL);
}

/* --- usage --------------------------------------------------------------- */

/* Plain digits of a signed integer of 64 bits: no point, no exponent. */
static void look_count(struct compat *walk, const pdr_value *value)
{
    pdr_str raw = {NULL, 0};
    int64_t count = 0;

    if (!pdr_value_raw(&raw, value) || memchr(raw.ptr, '.', raw.len) != NULL ||
        memchr(raw.ptr, 'e', raw.len) != NULL ||
        memchr(raw.ptr, 'E', raw.len) != NULL ||
        pdr_value_int64(&count, value, NULL) != PDR_OK)
        pdr__compat_tell(walk, DN_BAD_COUNT, NULL);
    else if (pdr_str_equal(raw, PDR_LIT("-0")))
        pdr__compat_tell(walk, DN_COUNT_RESPELLED, NULL);
}

#define COUNT_ROW(name)                                               \
    {                                                                 \
        name, COMPAT_NUMBER, DN_NONE, DN_NULL_DROPPED, DN_WRONG_KIND, \
            look_count                                                \
    }

static const struct compat_member usage_members[] = {
    COUNT_ROW("inputTokenCount"),
    COUNT_ROW("outputTokenCount"),
    COUNT_ROW("totalTokenCount"),
};
static const struct compat_table usage_table = {
    usage_members, PDR_COUNT(usage_members), pdr__compat_opaque, true, false};

static void look_usage(struct compat *walk, const pdr_value *value)
{
    pdr__compat_members(walk, value, &usage_table);
}

/* --- contents ------------------------------------------------------------ */

/* Names of arguments are decoded, their values are not. */
static const struct compat_table arguments_table = {NULL, 0, pdr__compat_opaque,
                                                    true, false};

static void look_arguments(struct compat *walk, const pdr_value *value)
{
    pdr__compat_members(walk, value, &arguments_table);
}

/* The $type itself is looked at before the members. */
#define TYPE_ROW                                                     \
    {                                                                \
        "$type", COMPAT_ANY, DN_NONE, DN_NONE, DN_NONE, look_nothing \
    }
/* A text that must be there; null and perhaps blank texts stop runs. */
#define NEEDED_ROW(name, look)                                                 \
    {                                                                          \
        name, COMPAT_STRING, DN_MEMBER_MISSING, DN_NULL_MEMBER, DN_WRONG_KIND, \
            look                                                               \
    }
/* A text that may be absent or null. */
#define FREE_ROW(name, look)                                               \
    {                                                                      \
        name, COMPAT_STRING, DN_NONE, DN_NULL_DROPPED, DN_WRONG_KIND, look \
    }

static void look_nothing(struct compat *walk, const pdr_value *value)
{
    (void)walk;
    (void)value;
}

static const struct compat_member text_members[] = {
    TYPE_ROW,
    {"text", COMPAT_STRING, DN_MEMBER_MISSING, DN_TEXT_NULL, DN_WRONG_KIND,
     look_text}};
static const struct compat_member reasoning_members[] = {
    TYPE_ROW, FREE_ROW("text", look_text)};
static const struct compat_member data_members[] = {
    TYPE_ROW, NEEDED_ROW("uri", look_data_uri),
    FREE_ROW("mediaType", look_media_type)};
static const struct compat_member uri_members[] = {
    TYPE_ROW,
    NEEDED_ROW("uri", look_uri),
    {"mediaType", COMPAT_STRING, DN_MEMBER_MISSING, DN_NONE, DN_WRONG_KIND,
     look_media_type}};
static const struct compat_member error_members[] = {
    TYPE_ROW, FREE_ROW("message", look_text), FREE_ROW("errorCode", look_text),
    FREE_ROW("details", look_text)};
static const struct compat_member call_members[] = {
    TYPE_ROW,
    {"arguments", COMPAT_OBJECT, DN_MEMBER_MISSING, DN_NULL_MEMBER,
     DN_WRONG_KIND, look_arguments},
    NEEDED_ROW("callId", look_text),
    NEEDED_ROW("name", look_text)};
static const struct compat_member result_members[] = {
    TYPE_ROW,
    NEEDED_ROW("callId", look_text),
    {"result", COMPAT_ANY & ~COMPAT_KIND(PDR_NULL), DN_NONE, DN_NULL_DROPPED,
     DN_NONE, NULL}};
static const struct compat_member file_members[] = {
    TYPE_ROW, NEEDED_ROW("fileId", look_solid)};
static const struct compat_member store_members[] = {
    TYPE_ROW, NEEDED_ROW("vectorStoreId", look_solid)};
static const struct compat_member usage_item_members[] = {
    TYPE_ROW,
    {"usage", COMPAT_OBJECT, DN_NULL_MEMBER, DN_NULL_MEMBER, DN_WRONG_KIND,
     look_usage}};
static const struct compat_member unknown_members[] = {
    TYPE_ROW,
    {"content", COMPAT_ANY & ~COMPAT_KIND(PDR_NULL), DN_MEMBER_MISSING,
     DN_NULL_MEMBER, DN_NONE, pdr__dotnet_unknown}};

struct tagged {
    const char *tag;
    struct compat_table table;
};

#define TAGGED(tag, members)                                            \
    {                                                                   \
        tag,                                                            \
        {                                                               \
            members, PDR_COUNT(members), pdr__compat_opaque, true, true \
        }                                                               \
    }

static const struct tagged content_types[] = {
    TAGGED("text", text_members),
    TAGGED("reasoning", reasoning_members),
    TAGGED("data", data_members),
    TAGGED("uri", uri_members),
    TAGGED("error", error_members),
    TAGGED("functionCall", call_members),
    TAGGED("functionResult", result_members),
    TAGGED("hostedFile", file_members),
    TAGGED("hostedVectorStore", store_members),
    TAGGED("usage", usage_item_members),
    TAGGED("unknown", unknown_members),
};

/* --- tagged objects ------------------------------------------------------ */

static void look_unknown_type(struct compat *walk, const pdr_value *value)
{
    pdr__compat_tell(walk, DN_TYPE_UNKNOWN, NULL);
    pdr__compat_opaque(walk, value);
}

static const struct compat_member untyped_members[] = {
    {"$type", COMPAT_ANY, DN_TYPE_MISSING, DN_NONE, DN_NONE,
     look_unknown_type}};
static const struct compat_table untyped_table = {
    untyped_members, PDR_COUNT(untyped_members), pdr__compat_opaque, true,
    true};

/* The value of the first $type, or NULL. */
static const pdr_value *first_type(const pdr_value *object)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (pdr_value_text_is(it.name, PDR_LIT("$type")))
            return it.value;
    }
    return NULL;
}

/* What is wrong with a name of a tagged object? */
static int dollar_rule(const pdr_value *object, const pdr_iter *member,
                       pdr_str name)
{
    pdr_iter first;

    if (name.len == 0 || name.ptr[0] != '$')
        return DN_NONE;
    if (!pdr_str_equal(name, PDR_LIT("$type")))
        return DN_DOLLAR_MEMBER;
    if (member->index == 0)
        return DN_NONE;
    pdr_iter_init(&first, object);
    if (pdr_iter_next(&first) &&
        pdr_value_text_is(first.name, PDR_LIT("$type")))
        return DN_TYPE_TWICE;
    return DN_TYPE_NOT_FIRST;
}

/* An object of a list: null stops runs, another kind and a tag that nobody
 * knows the load. */
static void look_tagged(struct compat *walk, const pdr_value *value,
                        const struct tagged *types, size_t count)
{
    const struct compat_table *table = &untyped_table;
    const pdr_value *type = NULL;

    if (pdr_value_kind(value) != PDR_OBJECT) {
        bool null = pdr_value_kind(value) == PDR_NULL;

        pdr__compat_tell(walk, null ? DN_NULL_ITEM : DN_WRONG_KIND, NULL);
        pdr__compat_opaque(walk, value);
        return;
    }
    type = first_type(value);
    for (size_t i = 0; i < count; i++) {
        if (pdr_value_text_is(type, pdr_str_c(types[i].tag)))
            table = &types[i].table;
    }
    pdr__compat_members(walk, value, table);
}

static void look_content(struct compat *walk, const pdr_value *value)
{
    look_tagged(walk, value, content_types, PDR_COUNT(content_types));
}

static void look_contents(struct compat *walk, const pdr_value *value)
{
    pdr__compat_items(walk, value, look_content);
}

/* --- messages and entries ------------------------------------------------ */

#define LIST_ROW(name, look)                                                \
    {                                                                       \
        name, COMPAT_ARRAY, DN_NULL_LIST, DN_NULL_LIST, DN_WRONG_KIND, look \
    }

static const struct compat_member message_members[] = {
    FREE_ROW("authorName", look_text), FREE_ROW("createdAt", look_date),
    LIST_ROW("contents", look_contents), NEEDED_ROW("role", look_solid)};
static const struct compat_table message_table = {
    message_members, PDR_COUNT(message_members), pdr__compat_opaque, true,
    false};

static void look_message(struct compat *walk, const pdr_value *value)
{
    pdr_kind kind = pdr_value_kind(value);

    if (kind == PDR_OBJECT) {
        pdr__compat_members(walk, value, &message_table);
        return;
    }
    pdr__compat_tell(walk, kind == PDR_NULL ? DN_NULL_ITEM : DN_WRONG_KIND,
                     NULL);
    pdr__compat_opaque(walk, value);
}

static void look_messages(struct compat *walk, const pdr_value *value)
{
    pdr__compat_items(walk, value, look_message);
}

#define ENTRY_ROWS                                                \
    TYPE_ROW, {"correlationId", COMPAT_STRING, DN_MEMBER_MISSING, \
               DN_NONE,         DN_WRONG_KIND, look_text},        \
        {"createdAt", COMPAT_STRING, DN_MEMBER_MISSING,           \
         DN_BAD_DATE, DN_WRONG_KIND, look_date},                  \
        LIST_ROW("messages", look_messages)

static const struct compat_member request_members[] = {
    ENTRY_ROWS,
    {"orchestrationId", COMPAT_STRING, DN_NONE, DN_NONE, DN_WRONG_KIND,
     look_text},
    {"responseType", COMPAT_STRING, DN_NONE, DN_NONE, DN_WRONG_KIND, look_text},
    {"responseSchema", COMPAT_ANY & ~COMPAT_KIND(PDR_NULL), DN_NONE,
     DN_NULL_DROPPED, DN_NONE, NULL}};
static const struct compat_member response_members[] = {
    ENTRY_ROWS,
    {"usage", COMPAT_OBJECT, DN_NONE, DN_NULL_DROPPED, DN_WRONG_KIND,
     look_usage}};

static const struct tagged entry_types[] = {
    TAGGED("request", request_members),
    TAGGED("response", response_members),
};

static void look_entry(struct compat *walk, const pdr_value *value)
{
    look_tagged(walk, value, entry_types, PDR_COUNT(entry_types));
}

static void look_entries(struct compat *walk, const pdr_value *value)
{
    pdr__compat_items(walk, value, look_entry);
}

/* --- the document -------------------------------------------------------- */

static const struct compat_member data_object_members[] = {
    LIST_ROW("conversationHistory", look_entries),
    {"expirationTimeUtc", COMPAT_STRING, DN_NONE, DN_NONE, DN_WRONG_KIND,
     look_deadline}};
static const struct compat_table data_table = {data_object_members,
                                               PDR_COUNT(data_object_members),
                                               pdr__compat_opaque, true, false};

static void look_data(struct compat *walk, const pdr_value *value)
{
    pdr__compat_members(walk, value, &data_table);
}

static void look_version(struct compat *walk, const pdr_value *value)
{
    pdr_str text = pdr__compat_text(walk, value);
    pdr_schema_version version;
    char own[PDR_VERSION_TEXT];

    if (!pdr__dotnet_version(&version, text)) {
        pdr__compat_tell(walk, DN_VERSION_INVALID, NULL);
        return;
    }
    if (version.parts[0] != 1) {
        pdr__compat_tell(walk, DN_VERSION_UNSUPPORTED, NULL);
        return;
    }
    if (!pdr_str_equal(pdr_str_c(pdr__version_text(own, &version)), text))
        pdr__compat_tell(walk, DN_VERSION_RESPELLED, NULL);
}

static void look_root_member(struct compat *walk, const pdr_value *value)
{
    pdr__compat_tell(walk, DN_ROOT_MEMBER, NULL);
    pdr__compat_drop(walk, value);
}

/* The root is read as a tree first: of members with one name only the last is
 * looked at. */
static const struct compat_member root_members[] = {
    {"schemaVersion", COMPAT_STRING, DN_VERSION_MISSING, DN_VERSION_INVALID,
     DN_VERSION_INVALID, look_version},
    {"data", COMPAT_OBJECT, DN_MEMBER_MISSING, DN_NONE, DN_WRONG_KIND,
     look_data}};
static const struct compat_table root_table = {
    root_members, PDR_COUNT(root_members), look_root_member, false, false};

static void look_root(struct compat *walk, const pdr_value *value)
{
    pdr_kind kind = pdr_value_kind(value);

    if (kind == PDR_OBJECT) {
        pdr__compat_members(walk, value, &root_table);
        return;
    }
    /* null is a session without a state so far. */
    if (kind != PDR_NULL)
        pdr__compat_tell(walk, DN_NOT_OBJECT, NULL);
}

/* --- every place --------------------------------------------------------- */

static void look_scalar(struct compat *walk, const pdr_value *value)
{
    if (pdr__compat_is_bare(value))
        pdr__compat_tell(walk, DN_BARE_TOKEN, NULL);
    else if (!walk->lost && pdr_value_has_lone_surrogate(value))
        pdr__compat_tell(walk, DN_SURROGATE_VALUE, NULL);
}

static void look_name(struct compat *walk, const pdr_value *object,
                      const pdr_iter *member, const struct compat_table *table)
{
    bool tagged = table != NULL && table->tagged;

    if (tagged)
        pdr__compat_tell(
            walk,
            dollar_rule(object, member, pdr__compat_text(walk, member->name)),
            NULL);
    if (table == &root_table || walk->lost ||
        !pdr_value_has_lone_surrogate(member->name))
        return;
    pdr__compat_tell(
        walk, table != NULL ? DN_SURROGATE_TYPED : DN_SURROGATE_VALUE, NULL);
}

static void look_no_json(struct compat *walk, pdr_str text, const char *about)
{
    (void)text;
    pdr__compat_tell(walk, DN_NOT_JSON, about);
}

const struct compat_reader pdr__compat_dotnet = {
    .rules = pdr__dotnet_rules,
    .max_level = PDR_DOTNET_DEPTH,
    .too_deep = DN_TOO_DEEP,
    .duplicate = DN_DUPLICATE,
    .opaque_duplicates = false,
    .scalar = look_scalar,
    .name = look_name,
    .root = look_root,
    .no_json = look_no_json,
};
