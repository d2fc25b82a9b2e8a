/*
 * compat_python.c - what Python does with a document.
 *
 * WHY  agent-framework-durabletask takes nearly everything, but writes only
 *      what it knows: other members are gone after the next turn, numbers go
 *      through doubles, texts are made of what is none. A run makes messages of
 *      the whole history, and some items cannot be made. The facts, and the
 *      versions they were seen with, are in docs/formats/readers.md.
 *
 * "Loads" is what its client does, "runs" what its worker does; both read a
 * document alike, except where that is no object.
 */
#include "compat.h"
#include "number.h"

#define PYTHON_LEVELS   975  /* what its recursion limit leaves, about */
#define PYTHON_DIGITS   4300 /* of an integer */
#define PYTHON_FRACTION 6    /* digits of a fraction of a second */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- what Python thinks of values ---------------------------------------- */

/* A member that an old version of the SDK wrote; the worker removes it from
 * every object before it looks at one. */
static bool is_marker(const pdr_value *name)
{
    return pdr_value_text_is(name, PDR_LIT("__durabletask_autoobject__"));
}

/* Has an object no members but markers? */
static bool is_bare_object(const pdr_value *object)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (!is_marker(it.name))
            return false;
    }
    return true;
}

/* Is it true where Python asks for a truth? */
static bool is_truthy(const pdr_value *value)
{
    bool truth = false;
    double number = 0;
    pdr_str raw = {NULL, 0};

    if (value == NULL)
        return false;
    switch (pdr_value_kind(value)) {
    case PDR_NULL:
        return false;
    case PDR_BOOL:
        return pdr_value_bool(&truth, value, NULL) == PDR_OK && truth;
    case PDR_NUMBER: /* one that is too large is an infinity */
        return pdr_value_double(&number, value, NULL) != PDR_OK || number != 0;
    case PDR_STRING:
        return pdr_value_raw(&raw, value) && raw.len > 2;
    case PDR_ARRAY:
        return pdr_value_count(value) > 0;
    case PDR_OBJECT:
        break;
    }
    return !is_bare_object(value);
}

/* Characters of a string. */
static size_t count_characters(struct compat *walk, const pdr_value *string)
{
    pdr_str text = pdr__compat_text(walk, string);
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xC0u) != 0x80u;
    return count;
}

/* The key and the value that dict() makes of an element; false if it cannot.
 * A key of a string has one character and a value too: both are NULL then. */
static bool read_pair(struct compat *walk, const pdr_value *element,
                      const pdr_value **key, const pdr_value **value)
{
    pdr_iter it;

    *key = NULL;
    *value = NULL;
    if (pdr_value_kind(element) == PDR_STRING)
        return count_characters(walk, element) == 2;
    if (pdr_value_kind(element) == PDR_ARRAY) {
        *key = pdr_value_at(element, 0);
        *value = pdr_value_at(element, 1);
        return pdr_value_count(element) == 2 &&
               pdr_value_kind(*key) < PDR_ARRAY;
    }
    if (pdr_value_kind(element) != PDR_OBJECT)
        return false;
    pdr_iter_init(&it, element); /* its names: the first two that differ */
    while (pdr_iter_next(&it)) {
        if (is_marker(it.name))
            continue;
        if (*key == NULL)
            *key = it.name;
        else if (pdr__value_same_text(*key, it.name))
            continue;
        else if (*value == NULL)
            *value = it.name;
        else if (!pdr__value_same_text(*value, it.name))
            return false;
    }
    return *value != NULL;
}

/* Can dict() make a mapping of it? */
static bool is_mapping(struct compat *walk, const pdr_value *value)
{
    const pdr_value *key, *member;
    pdr_iter it;

    if (pdr_value_kind(value) == PDR_OBJECT)
        return true;
    if (pdr_value_kind(value) == PDR_STRING)
        return !is_truthy(value);
    if (pdr_value_kind(value) != PDR_ARRAY)
        return false;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (!read_pair(walk, it.value, &key, &member))
            return false;
    }
    return true;
}

/* --- every place --------------------------------------------------------- */

static void look_number(struct compat *walk, const pdr_value *value)
{
    char own[PDR__NUMBER_DOUBLE_BYTES];
    pdr_str raw = {NULL, 0}, text;
    double number = 0;
    bool whole = true;

    if (!pdr_value_raw(&raw, value))
        return;
    for (size_t i = 0; i < raw.len; i++)
        whole = whole && (is_digit(raw.ptr[i]) || raw.ptr[i] == '-');
    if (whole && raw.len - (raw.ptr[0] == '-') > PYTHON_DIGITS)
        pdr__compat_tell(walk, PY_LONG_INTEGER, NULL);
    if (walk->lost)
        return;
    if (pdr__number_is_bare(raw)) {
        pdr__compat_tell(walk, PY_BARE_TOKEN, NULL);
    } else if (whole) {
        if (pdr_str_equal(raw, PDR_LIT("-0")))
            pdr__compat_tell(walk, PY_NUMBER_RESPELLED, NULL);
    } else if (pdr__number_double(&number, raw, NULL) != PDR_OK) {
        pdr__compat_tell(walk, PY_NUMBER_INFINITE, NULL);
    } else {
        text = pdr_str_n(own, pdr__number_write_double(own, number));
        if (!pdr__number_equal_value(raw, text))
            pdr__compat_tell(walk, PY_NUMBER_ROUNDED, NULL);
        else if (!pdr_str_equal(raw, text))
            pdr__compat_tell(walk, PY_NUMBER_RESPELLED, NULL);
    }
}

static void look_scalar(struct compat *walk, const pdr_value *value)
{
    if (pdr_value_kind(value) == PDR_NUMBER)
        look_number(walk, value);
}

static void look_name(struct compat *walk, const pdr_value *object,
                      const pdr_iter *member, const struct compat_table *table)
{
    (void)object;
    if (table == NULL && !walk->lost && is_marker(member->name))
        pdr__compat_tell(walk, PY_MARKER, NULL);
}

/* A member that is not written again. */
static void look_dropped(struct compat *walk, const pdr_value *value)
{
    pdr__compat_tell(walk, PY_MEMBER_DROPPED, NULL);
    pdr__compat_drop(walk, value);
}

#define NOT_NULL (COMPAT_ANY & ~COMPAT_KIND(PDR_NULL))

/* Taken and written as it is. */
#define ANY_ROW(name)                                     \
    {                                                     \
        name, COMPAT_ANY, PY_NONE, PY_NONE, PY_NONE, NULL \
    }
/* The same, but null is not written. */
#define OPTION_ROW(name)                                        \
    {                                                           \
        name, NOT_NULL, PY_NONE, PY_NULL_DROPPED, PY_NONE, NULL \
    }
/* Made a text, whatever it is. */
#define TEXT_ROW(name)                                                      \
    {                                                                       \
        name, COMPAT_STRING, PY_TEXT_MADE, PY_TEXT_MADE, PY_TEXT_MADE, NULL \
    }
/* Read before the members are. */
#define TYPE_ROW                                                         \
    {                                                                    \
        "$type", COMPAT_ANY, PY_NONE, PY_NONE, PY_NONE, pdr__compat_drop \
    }

#define TABLE(members)                                          \
    {                                                           \
        members, PDR_COUNT(members), look_dropped, false, false \
    }

/* --- dates --------------------------------------------------------------- */

/* Nothing but a number, as of a clock that counts milliseconds, which no part
 * of a date can hold: the library for dates fails on it in a way that nobody
 * catches. Twelve and fourteen digits are a date and a time. */
static bool is_huge_number(pdr_str text)
{
    size_t i = text.len > 0 && text.ptr[0] == '-';
    size_t start = i;
    uint64_t value = 0;

    for (; i < text.len && is_digit(text.ptr[i]); i++) {
        if (value <= INT32_MAX)
            value = value * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    if (value <= INT32_MAX || i - start == 12 || i - start == 14)
        return false;
    if (i + 1 < text.len && text.ptr[i] == '.') {
        do {
            i++;
        } while (i < text.len && is_digit(text.ptr[i]));
    }
    return i == text.len;
}

static int two_digits(const char *p)
{
    return is_digit(p[0]) && is_digit(p[1]) ? (p[0] - '0') * 10 + (p[1] - '0')
                                            : -1;
}

/* A date and time with an offset of 24 hours or more: ±hh, ±hhmm, ±hh:mm. */
static bool has_huge_offset(pdr_str text)
{
    size_t sign = text.len;
    pdr_datetime date;
    pdr_str offset;
    int hours = 0, minutes = 0;

    while (sign > 0 && text.ptr[sign - 1] != '+' && text.ptr[sign - 1] != '-')
        sign--;
    offset = pdr_str_n(text.ptr + sign, text.len - sign);
    if (sign == 0 || (offset.len != 2 && offset.len != 4 &&
                      (offset.len != 5 || offset.ptr[2] != ':')))
        return false;
    hours = two_digits(offset.ptr);
    if (offset.len > 2)
        minutes = two_digits(offset.ptr + offset.len - 2);
    if (hours < 0 || minutes < 0 || hours * 60 + minutes < 24 * 60)
        return false;
    sign--;
    while (sign > 0 && text.ptr[sign - 1] == ' ')
        sign--;
    return pdr_datetime_read(&date, pdr_str_n(text.ptr, sign), NULL) ==
               PDR_OK &&
           date.has_time;
}

/* Are digits cut that are not zero? */
static bool loses_fraction(pdr_str text)
{
    const char *point = text.len > 0 ? memchr(text.ptr, '.', text.len) : NULL;
    const char *end = text.ptr + text.len;

    if (point == NULL || end - point <= PYTHON_FRACTION)
        return false;
    for (point += PYTHON_FRACTION + 1; point < end && is_digit(*point);
         point++) {
        if (*point != '0')
            return true;
    }
    return false;
}

/* Second 60, which we read and Python does not. */
static bool is_leap(pdr_str text)
{
    return text.len >= 19 && memcmp(text.ptr + 16, ":60", 3) == 0;
}

static void look_date(struct compat *walk, const pdr_value *value)
{
    pdr_str text = pdr__compat_text(walk, value);
    pdr_datetime date;

    if (has_huge_offset(text)) {
        pdr__compat_tell(walk, PY_DATE_OFFSET, NULL);
    } else if (pdr_datetime_read(&date, text, NULL) == PDR_OK &&
               !is_leap(text)) {
        if (loses_fraction(text))
            pdr__compat_tell(walk, PY_DATE_FRACTION, NULL);
        pdr__compat_spelling(walk, pdr__compat_text(walk, value),
                             PDR_DATETIME_PYTHON, PY_DATE_RESPELLED);
    } else {
        pdr__compat_tell(
            walk, is_huge_number(text) ? PY_DATE_DIGITS : PY_DATE_GUESSED,
            NULL);
    }
}

/* That of a message may be anything; what is false counts as none. */
static void look_message_date(struct compat *walk, const pdr_value *value)
{
    if (!is_truthy(value)) {
        look_dropped(walk, value);
    } else if (pdr_value_kind(value) == PDR_STRING) {
        look_date(walk, value);
    } else {
        pdr__compat_tell(walk, PY_DATE_GUESSED, NULL);
        pdr__compat_drop(walk, value);
    }
}

/* --- usage --------------------------------------------------------------- */

#define COUNT_ROWS                                           \
    ANY_ROW("inputTokenCount"), ANY_ROW("outputTokenCount"), \
        ANY_ROW("totalTokenCount")

static void look_item_extension(struct compat *walk, const pdr_value *value)
{
    if (is_truthy(value) && !is_mapping(walk, value))
        pdr__compat_tell(walk, PY_EXTENSION_KIND, NULL);
    pdr__compat_opaque(walk, value);
}

static void look_entry_extension(struct compat *walk, const pdr_value *value)
{
    if (is_truthy(value) && !is_mapping(walk, value))
        pdr__compat_tell(walk, PY_USAGE_CLIENT, NULL);
    pdr__compat_opaque(walk, value);
}

static const struct compat_member item_usage_members[] = {
    COUNT_ROWS,
    {"extensionData", NOT_NULL, PY_NONE, PY_NULL_DROPPED, PY_NONE,
     look_item_extension}};
static const struct compat_member entry_usage_members[] = {
    COUNT_ROWS,
    {"extensionData", NOT_NULL, PY_NONE, PY_NULL_DROPPED, PY_NONE,
     look_entry_extension}};
static const struct compat_table item_usage_table = TABLE(item_usage_members);
static const struct compat_table entry_usage_table = TABLE(entry_usage_members);

static void look_usage(struct compat *walk, const pdr_value *value,
                       const struct compat_table *table)
{
    if (pdr_value_kind(value) == PDR_OBJECT && !is_bare_object(value)) {
        pdr__compat_members(walk, value, table);
        return;
    }
    pdr__compat_tell(walk, PY_USAGE_DROPPED, NULL);
    pdr__compat_drop(walk, value);
}

static void look_item_usage(struct compat *walk, const pdr_value *value)
{
    look_usage(walk, value, &item_usage_table);
}

static void look_entry_usage(struct compat *walk, const pdr_value *value)
{
    look_usage(walk, value, &entry_usage_table);
}

/* --- URIs ---------------------------------------------------------------- */

/* One parameter of a data: URI, before the comma. */
static bool is_good_parameter(pdr_str text, bool last)
{
    if (pdr_str_equal(text, PDR_LIT("base64")))
        return last;
    return text.len == 0 || memchr(text.ptr, '=', text.len) != NULL;
}

static bool is_data_uri(pdr_str text)
{
    const char *comma = memchr(text.ptr, ',', text.len);
    const char *p = text.ptr;

    if (comma == NULL)
        return false;
    p = memchr(p, ';', (size_t)(comma - p));
    while (p != NULL) {
        const char *start = p + 1;
        const char *next = memchr(start, ';', (size_t)(comma - start));
        const char *end = next != NULL ? next : comma;

        if (!is_good_parameter(pdr_str_n(start, (size_t)(end - start)),
                               next == NULL))
            return false;
        p = next;
    }
    return true;
}

static bool is_uri(pdr_str text)
{
    if (text.len >= 5 && memcmp(text.ptr, "data:", 5) == 0)
        return is_data_uri(text);
    return text.len > 0 && memchr(text.ptr, ':', text.len) != NULL;
}

/* Does the text that Python makes of a value hold a colon, as a URI does? */
static bool shows_colon(struct compat *walk, const pdr_value *value)
{
    pdr_iter it;

    if (pdr_value_kind(value) == PDR_STRING) {
        pdr_str text = pdr__compat_text(walk, value);

        return text.len > 0 && memchr(text.ptr, ':', text.len) != NULL;
    }
    if (pdr_value_kind(value) == PDR_OBJECT)
        return !is_bare_object(value);
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (shows_colon(walk, it.value))
            return true;
    }
    return false;
}

static void look_uri(struct compat *walk, const pdr_value *value)
{
    bool text = pdr_value_kind(value) == PDR_STRING;

    if (!text)
        pdr__compat_tell(walk, PY_TEXT_MADE, NULL);
    if (!(text ? is_uri(pdr__compat_text(walk, value))
               : shows_colon(walk, value)))
        pdr__compat_tell(walk, PY_BAD_URI, NULL);
    pdr__compat_drop(walk, value);
}

/* --- contents ------------------------------------------------------------ */

static void look_unknown(struct compat *walk, const pdr_value *value)
{
    if (!is_truthy(value))
        pdr__compat_tell(walk, PY_UNKNOWN_EMPTY, NULL);
    pdr__compat_opaque(walk, value);
}

#define URI_ROW                                                   \
    {                                                             \
        "uri", COMPAT_ANY, PY_BAD_URI, PY_NONE, PY_NONE, look_uri \
    }

static const struct compat_member text_members[] = {TYPE_ROW, ANY_ROW("text")};
static const struct compat_member data_members[] = {TYPE_ROW, URI_ROW,
                                                    ANY_ROW("mediaType")};
static const struct compat_member uri_members[] = {TYPE_ROW, URI_ROW,
                                                   TEXT_ROW("mediaType")};
static const struct compat_member error_members[] = {
    TYPE_ROW, ANY_ROW("message"), ANY_ROW("errorCode"), ANY_ROW("details")};
static const struct compat_member call_members[] = {
    TYPE_ROW, TEXT_ROW("callId"), TEXT_ROW("name"), ANY_ROW("arguments")};
static const struct compat_member result_members[] = {
    TYPE_ROW, TEXT_ROW("callId"), ANY_ROW("result")};
static const struct compat_member file_members[] = {TYPE_ROW,
                                                    TEXT_ROW("fileId")};
static const struct compat_member store_members[] = {TYPE_ROW,
                                                     TEXT_ROW("vectorStoreId")};
static const struct compat_member usage_item_members[] = {
    TYPE_ROW,
    {"usage", NOT_NULL, PY_USAGE_DROPPED, PY_USAGE_DROPPED, PY_NONE,
     look_item_usage}};
static const struct compat_member unknown_members[] = {
    TYPE_ROW,
    {"content", COMPAT_ANY, PY_UNKNOWN_EMPTY, PY_NONE, PY_NONE, look_unknown}};
/* Of a type that it does not know, only what an unknown item has. */
static const struct compat_member other_members[] = {TYPE_ROW,
                                                     ANY_ROW("content")};

struct tagged {
    const char *tag;
    struct compat_table table;
};

#define TAGGED(tag, members) \
    {                        \
        tag, TABLE(members)  \
    }

static const struct tagged content_types[] = {
    TAGGED("text", text_members),
    TAGGED("reasoning", text_members),
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
static const struct compat_table other_table = TABLE(other_members);

/* An element that is no object is dropped. */
static bool is_kept(struct compat *walk, const pdr_value *element)
{
    if (pdr_value_kind(element) == PDR_OBJECT)
        return true;
    pdr__compat_tell(walk, PY_ITEM_DROPPED, NULL);
    pdr__compat_drop(walk, element);
    return false;
}

static void look_content(struct compat *walk, const pdr_value *value)
{
    const pdr_value *type = pdr_value_get_c(value, "$type");

    if (!is_kept(walk, value))
        return;
    for (size_t i = 0; i < PDR_COUNT(content_types); i++) {
        if (pdr_value_text_is(type, pdr_str_c(content_types[i].tag))) {
            pdr__compat_members(walk, value, &content_types[i].table);
            return;
        }
    }
    pdr__compat_tell(walk,
                     is_truthy(pdr_value_get_c(value, "content"))
                         ? PY_CONTENT_RETYPED
                         : PY_CONTENT_EMPTIED,
                     NULL);
    pdr__compat_members(walk, value, &other_table);
}

/* --- messages and entries ------------------------------------------------ */

/* A list, or what Python takes for one: texts and objects have elements too,
 * none of which is an object. */
static void look_list(struct compat *walk, const pdr_value *value,
                      compat_look look)
{
    pdr_kind kind = pdr_value_kind(value);

    if (kind == PDR_ARRAY) {
        pdr__compat_items(walk, value, look);
        return;
    }
    pdr__compat_tell(walk,
                     kind == PDR_STRING || kind == PDR_OBJECT ? PY_LIST_EMPTIED
                                                              : PY_LIST_KIND,
                     NULL);
    pdr__compat_drop(walk, value);
}

static void look_contents(struct compat *walk, const pdr_value *value)
{
    look_list(walk, value, look_content);
}

/* Read for a run, and not written. */
static void look_message_extension(struct compat *walk, const pdr_value *value)
{
    if (!is_mapping(walk, value))
        pdr__compat_tell(walk, PY_EXTENSION_KIND, NULL);
    look_dropped(walk, value);
}

#define LIST_ROW(name, look)                              \
    {                                                     \
        name, COMPAT_ANY, PY_NONE, PY_NONE, PY_NONE, look \
    }

static const struct compat_member message_members[] = {
    {"role", COMPAT_ANY, PY_TEXT_MADE, PY_NONE, PY_NONE, NULL},
    LIST_ROW("contents", look_contents),
    OPTION_ROW("authorName"),
    {"createdAt", NOT_NULL, PY_NONE, PY_NULL_DROPPED, PY_NONE,
     look_message_date},
    {"extensionData", NOT_NULL, PY_NONE, PY_NULL_DROPPED, PY_NONE,
     look_message_extension}};
static const struct compat_table message_table = TABLE(message_members);

static void look_message(struct compat *walk, const pdr_value *value)
{
    if (is_kept(walk, value))
        pdr__compat_members(walk, value, &message_table);
}

static void look_messages(struct compat *walk, const pdr_value *value)
{
    look_list(walk, value, look_message);
}

static void look_json_type(struct compat *walk, const pdr_value *value)
{
    pdr__compat_tell(walk, PY_JSON_TYPE, NULL);
    pdr__compat_drop(walk, value);
}

#define ENTRY_ROWS                                          \
    ANY_ROW("correlationId"),                               \
        {"createdAt",     COMPAT_STRING,   PY_DATE_MISSING, \
         PY_DATE_MISSING, PY_DATE_MISSING, look_date},      \
        LIST_ROW("messages", look_messages)
#define REQUEST_ROWS                                           \
    OPTION_ROW("orchestrationId"), OPTION_ROW("responseType"), \
        OPTION_ROW("responseSchema")
#define RESPONSE_ROWS                                                          \
    {                                                                          \
        "usage", NOT_NULL, PY_NONE, PY_NULL_DROPPED, PY_NONE, look_entry_usage \
    }
/* Where json_type tells the kind, both members become one. */
#define OLD_ROW(name)                                               \
    {                                                               \
        name, COMPAT_ANY, PY_NONE, PY_NONE, PY_NONE, look_json_type \
    }

static const struct compat_member request_members[] = {TYPE_ROW, ENTRY_ROWS,
                                                       REQUEST_ROWS};
static const struct compat_member response_members[] = {TYPE_ROW, ENTRY_ROWS,
                                                        RESPONSE_ROWS};
static const struct compat_member old_request_members[] = {
    OLD_ROW("$type"), OLD_ROW("json_type"), ENTRY_ROWS, REQUEST_ROWS};
static const struct compat_member old_response_members[] = {
    OLD_ROW("$type"), OLD_ROW("json_type"), ENTRY_ROWS, RESPONSE_ROWS};

static const struct compat_table request_tables[] = {
    TABLE(request_members), TABLE(old_request_members)};
static const struct compat_table response_tables[] = {
    TABLE(response_members), TABLE(old_response_members)};

static void look_entry(struct compat *walk, const pdr_value *value)
{
    const pdr_value *type = pdr_value_get_c(value, "$type");
    bool old = !is_truthy(type);

    if (!is_kept(walk, value))
        return;
    if (old)
        type = pdr_value_get_c(value, "json_type");
    if (pdr_value_text_is(type, PDR_LIT("request"))) {
        pdr__compat_members(walk, value, &request_tables[old]);
    } else if (pdr_value_text_is(type, PDR_LIT("response"))) {
        pdr__compat_members(walk, value, &response_tables[old]);
    } else {
        pdr__compat_tell(walk, PY_ENTRY_TYPE, NULL);
        pdr__compat_drop(walk, value);
    }
}

static void look_entries(struct compat *walk, const pdr_value *value)
{
    look_list(walk, value, look_entry);
}

/* --- the document -------------------------------------------------------- */

static void look_deadline(struct compat *walk, const pdr_value *value)
{
    pdr__compat_tell(walk, PY_DEADLINE_DROPPED, NULL);
    pdr__compat_drop(walk, value);
}

static const struct compat_member data_object_members[] = {
    LIST_ROW("conversationHistory", look_entries),
    {"expirationTimeUtc", NOT_NULL, PY_NONE, PY_NULL_DROPPED, PY_NONE,
     look_deadline},
    OPTION_ROW("extensionData")};
static const struct compat_table data_table = TABLE(data_object_members);

static void look_data(struct compat *walk, const pdr_value *value)
{
    if (pdr_value_kind(value) == PDR_OBJECT) {
        pdr__compat_members(walk, value, &data_table);
        return;
    }
    pdr__compat_tell(walk, PY_DATA_KIND, NULL);
    pdr__compat_drop(walk, value);
}

static void look_version(struct compat *walk, const pdr_value *value)
{
    pdr_schema_version version;

    if (pdr_value_kind(value) != PDR_STRING ||
        pdr_schema_version_read(&version, pdr__compat_text(walk, value),
                                NULL) != PDR_OK ||
        version.parts[0] != 1)
        pdr__compat_tell(walk, PY_VERSION_IGNORED, NULL);
    pdr__compat_opaque(walk, value);
}

static const struct compat_member root_members[] = {
    {"schemaVersion", COMPAT_ANY, PY_NONE, PY_NONE, PY_NONE, look_version},
    {"data", COMPAT_ANY, PY_NONE, PY_NONE, PY_NONE, look_data}};
static const struct compat_table root_table = TABLE(root_members);

/* Without a version nothing else is looked at. */
static const struct compat_member reset_members[] = {
    {"schemaVersion", NOT_NULL, PY_RESETS, PY_RESETS, PY_NONE, NULL}};
static const struct compat_table reset_table = {
    reset_members, PDR_COUNT(reset_members), pdr__compat_drop, false, false};

static void look_object(struct compat *walk, const pdr_value *value)
{
    bool reset = pdr__is_nothing(pdr_value_get_c(value, "schemaVersion"));

    pdr__compat_members(walk, value, reset ? &reset_table : &root_table);
}

/* The object that dict() makes of an array of pairs; *out stays NULL if it
 * makes none. Keys that are no text are no names of ours. */
static pdr_rc read_pairs(pdr_value **out, struct compat *walk,
                         const pdr_value *array)
{
    const pdr_value *key, *value;
    pdr_builder *to = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (!is_mapping(walk, array))
        return walk->rc;
    rc = pdr_builder_new(&to, walk->err);
    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    pdr_iter_init(&it, array);
    while (pdr_iter_next(&it)) {
        if (!read_pair(walk, it.value, &key, &value) || key == NULL ||
            pdr_value_kind(key) != PDR_STRING)
            continue;
        pdr__builder_name_value(to, key);
        pdr_builder_value(to, value);
    }
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, walk->err);
    pdr_builder_free(to);
    return rc;
}

/* An array that the worker takes for an object runs as that object would. */
static void look_array(struct compat *walk, const pdr_value *array)
{
    struct compat inner = {.reader = walk->reader,
                           .finder = PDR_FINDER_INIT(NULL, NULL),
                           .verdict = {true, true},
                           .scratch = PDR_BUF_INIT(UINT32_MAX),
                           .rc = PDR_OK,
                           .err = walk->err};
    pdr_value *object = NULL;

    walk->rc = read_pairs(&object, walk, array);
    if (walk->rc == PDR_OK && object != NULL) {
        look_object(&inner, object);
        walk->rc = inner.rc;
    }
    pdr__compat_tell(walk,
                     object != NULL && inner.verdict.loads && inner.verdict.runs
                         ? PY_PAIRS
                         : PY_NOT_OBJECT,
                     NULL);
    pdr_buf_dispose(&inner.scratch);
    pdr__finder_dispose(&inner.finder);
    pdr_value_free(object);
}

static void look_root(struct compat *walk, const pdr_value *value)
{
    pdr_kind kind = pdr_value_kind(value);

    if (kind == PDR_OBJECT)
        look_object(walk, value);
    else if ((kind == PDR_ARRAY || kind == PDR_STRING) && !is_truthy(value))
        pdr__compat_tell(walk, PY_STARTS_ANEW, NULL);
    else if (kind == PDR_ARRAY)
        look_array(walk, value);
    else
        pdr__compat_tell(walk, PY_NOT_OBJECT, NULL);
}

static void look_no_json(struct compat *walk, pdr_str text, const char *about)
{
    if (text.len == 0)
        pdr__compat_tell(walk, PY_STARTS_ANEW, NULL);
    else
        pdr__compat_tell(walk, PY_NOT_JSON, about);
}

const struct compat_reader pdr__compat_python = {
    .rules = pdr__python_rules,
    .max_level = PYTHON_LEVELS,
    .too_deep = PY_TOO_DEEP,
    .duplicate = PY_DUPLICATE,
    .opaque_duplicates = true,
    .scalar = look_scalar,
    .name = look_name,
    .root = look_root,
    .no_json = look_no_json,
};
