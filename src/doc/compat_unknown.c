/*
 * compat_unknown.c - what .NET makes of an item that is wrapped as `unknown`.
 *
 * WHY  A run makes an item of its own of the wrapped JSON, by the inner $type,
 *      with the types of Microsoft.Extensions.AI. What those cannot read fails
 *      every run, though the document loads. So the types and their members
 *      stand here as tables; they hold other names than the document's.
 *
 * Each finding is told once, at the place inside the item that is wrong. The
 * stored item stays as it is, whatever is in it.
 */
#include "compat.h"

enum inner_check {
    INNER_ANY = 0,
    INNER_SOLID,    /* a text that is not blank */
    INNER_DATA_URI, /* texts of this form */
    INNER_URI,
    INNER_MEDIA_TYPE,
    INNER_DATE,
    INNER_INTEGER,  /* a plain integer of 64 bits */
    INNER_INTEGERS, /* an object of them */
    INNER_COUNTS,   /* a usage object */
    INNER_TEXTS,    /* an array of texts */
    INNER_OBJECTS,  /* an array of objects */
    INNER_ITEM,     /* another item */
    INNER_ITEMS     /* an array of them */
};

struct inner_member {
    const char *name;
    unsigned kinds; /* beside null */
    bool needed;    /* absent or null is wrong */
    enum inner_check check;
};

#define TEXT(name)                            \
    {                                         \
        name, COMPAT_STRING, false, INNER_ANY \
    }
#define NEEDED(name)                         \
    {                                        \
        name, COMPAT_STRING, true, INNER_ANY \
    }
#define CHECKED(name, check)              \
    {                                     \
        name, COMPAT_STRING, false, check \
    }
#define INTEGER(name)                             \
    {                                             \
        name, COMPAT_NUMBER, false, INNER_INTEGER \
    }
#define FLAG(name)                          \
    {                                       \
        name, COMPAT_BOOL, false, INNER_ANY \
    }
#define ITEMS(name)                            \
    {                                          \
        name, COMPAT_ARRAY, false, INNER_ITEMS \
    }
#define CALL_ID NEEDED("callId")

#define MAX_MEMBERS 7

struct inner_type {
    const char *tag;
    bool readable; /* some tags are known and yet never read */
    struct inner_member members[MAX_MEMBERS + 1]; /* ends with a NULL name */
};

static const struct inner_type inner_types[] = {
    {"text", true, {TEXT("text")}},
    {"reasoning", true, {TEXT("text"), TEXT("protectedData")}},
    {"data",
     true,
     {{"uri", COMPAT_STRING, true, INNER_DATA_URI}, TEXT("name")}},
    {"uri",
     true,
     {{"uri", COMPAT_STRING, true, INNER_URI},
      CHECKED("mediaType", INNER_MEDIA_TYPE)}},
    {"error", true, {TEXT("message"), TEXT("errorCode"), TEXT("details")}},
    {"functionCall",
     true,
     {CALL_ID,
      NEEDED("name"),
      {"arguments", COMPAT_OBJECT, false, INNER_ANY},
      FLAG("informationalOnly")}},
    {"functionResult", true, {CALL_ID}},
    {"hostedFile",
     true,
     {{"fileId", COMPAT_STRING, true, INNER_SOLID},
      CHECKED("mediaType", INNER_MEDIA_TYPE),
      TEXT("name"),
      INTEGER("sizeInBytes"),
      CHECKED("createdAt", INNER_DATE),
      TEXT("purpose"),
      TEXT("scope")}},
    {"hostedVectorStore",
     true,
     {{"vectorStoreId", COMPAT_STRING, true, INNER_SOLID}}},
    {"usage", true, {{"details", COMPAT_OBJECT, true, INNER_COUNTS}}},
    {"toolApprovalRequest",
     true,
     {{"requestId", COMPAT_STRING, true, INNER_SOLID},
      {"toolCall", COMPAT_OBJECT, true, INNER_ITEM}}},
    {"toolApprovalResponse",
     true,
     {{"requestId", COMPAT_STRING, true, INNER_SOLID},
      {"approved", COMPAT_BOOL, false, INNER_ANY},
      {"toolCall", COMPAT_OBJECT, true, INNER_ITEM},
      TEXT("reason")}},
    {"mcpServerToolCall",
     true,
     {CALL_ID,
      NEEDED("name"),
      TEXT("serverName"),
      {"arguments", COMPAT_OBJECT, false, INNER_ANY}}},
    {"mcpServerToolResult", true, {CALL_ID, ITEMS("outputs")}},
    {"codeInterpreterToolCall", true, {CALL_ID, ITEMS("inputs")}},
    {"codeInterpreterToolResult", true, {CALL_ID, ITEMS("outputs")}},
    {"imageGenerationToolCall", true, {CALL_ID}},
    {"imageGenerationToolResult", true, {CALL_ID, ITEMS("outputs")}},
    {"webSearchToolCall",
     true,
     {CALL_ID, {"queries", COMPAT_ARRAY, false, INNER_TEXTS}}},
    {"webSearchToolResult", true, {CALL_ID, ITEMS("outputs")}},
    {"toolCall", true, {CALL_ID}},
    {"toolResult", true, {CALL_ID}},
    {"inputRequest", false, {{NULL, 0, false, INNER_ANY}}},
    {"inputResponse", false, {{NULL, 0, false, INNER_ANY}}},
};

/* Members of every item; an item without $type has no others. */
static const struct inner_type base_type = {
    "",
    true,
    {{"annotations", COMPAT_ARRAY, false, INNER_OBJECTS},
     {"additionalProperties", COMPAT_OBJECT, false, INNER_ANY}}};

static const struct inner_type counts_type = {
    "",
    true,
    {INTEGER("inputTokenCount"),
     INTEGER("outputTokenCount"),
     INTEGER("totalTokenCount"),
     INTEGER("cachedInputTokenCount"),
     INTEGER("reasoningTokenCount"),
     {"additionalCounts", COMPAT_OBJECT, false, INNER_INTEGERS}}};

static void look_inner(struct compat *walk, const pdr_value *item);

static void wrong(struct compat *walk)
{
    pdr__compat_tell(walk, DN_UNKNOWN_CONTENT, NULL);
}

/* --- checks of values ---------------------------------------------------- */

static bool is_integer(const pdr_value *value)
{
    pdr_str raw = {NULL, 0};
    int64_t number = 0;

    if (pdr_value_kind(value) != PDR_NUMBER || !pdr_value_raw(&raw, value))
        return false;
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] == '.' || (raw.ptr[i] | 0x20) == 'e')
            return false;
    }
    return pdr_value_int64(&number, value, NULL) == PDR_OK;
}

static bool is_good_text(pdr_str text, enum inner_check check)
{
    switch (check) {
    case INNER_SOLID:
        return !pdr__dotnet_blank(text);
    case INNER_DATA_URI:
        return pdr__dotnet_data_uri(text);
    case INNER_URI:
        return pdr__dotnet_uri(text);
    case INNER_MEDIA_TYPE:
        return pdr__dotnet_media_type(text);
    case INNER_DATE:
        return pdr__dotnet_date(text);
    case INNER_ANY:
    case INNER_INTEGER:
    case INNER_INTEGERS:
    case INNER_COUNTS:
    case INNER_TEXTS:
    case INNER_OBJECTS:
    case INNER_ITEM:
    case INNER_ITEMS:
        break;
    }
    return true;
}

/* Is an element of a list, or a member of an object of numbers, as it must be?
 * Null may stand in lists of references. */
static bool is_good_element(const pdr_value *value, enum inner_check check)
{
    pdr_kind kind = pdr_value_kind(value);

    if (check == INNER_INTEGERS)
        return is_integer(value);
    if (kind == PDR_NULL)
        return true;
    return kind == (check == INNER_TEXTS ? PDR_STRING : PDR_OBJECT);
}

/* The elements of an array, the members of an object. */
static void look_elements(struct compat *walk, const pdr_value *value,
                          enum inner_check check)
{
    pdr_iter it;

    pdr_iter_init(&it, value);
    while (walk->rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = it.name == NULL
                          ? pdr__finder_index(&walk->finder, it.index)
                          : pdr__finder_name(&walk->finder,
                                             pdr__compat_text(walk, it.name));

        if (!is_good_element(it.value, check))
            wrong(walk);
        else if (check == INNER_ITEMS && pdr_value_kind(it.value) == PDR_OBJECT)
            look_inner(walk, it.value);
        pdr__finder_up(&walk->finder, mark);
    }
}

/* --- members ------------------------------------------------------------- */

static void look_typed(struct compat *walk, const pdr_value *object,
                       const struct inner_type *type);

static void look_value(struct compat *walk, const pdr_value *value,
                       const struct inner_member *member)
{
    pdr_kind kind = pdr_value_kind(value);

    if (kind == PDR_NULL) {
        if (member->needed)
            wrong(walk);
        return;
    }
    if ((member->kinds & COMPAT_KIND(kind)) == 0) {
        wrong(walk);
        return;
    }
    if (kind == PDR_STRING) {
        if (!is_good_text(pdr__compat_text(walk, value), member->check))
            wrong(walk);
    } else if (kind == PDR_NUMBER) {
        if (!is_integer(value))
            wrong(walk);
    } else if (member->check == INNER_ITEM) {
        look_inner(walk, value);
    } else if (member->check == INNER_COUNTS) {
        look_typed(walk, value, &counts_type);
    } else if (member->check != INNER_ANY) {
        look_elements(walk, value, member->check);
    }
}

/* The members that a type has; others do not matter. */
static void look_typed(struct compat *walk, const pdr_value *object,
                       const struct inner_type *type)
{
    for (const struct inner_member *row = type->members; row->name != NULL;
         row++) {
        const pdr_value *value = pdr_value_get_c(object, row->name);
        size_t mark = 0;

        if (value == NULL) {
            if (row->needed)
                wrong(walk);
            continue;
        }
        mark = pdr__finder_name(&walk->finder, pdr_str_c(row->name));
        look_value(walk, value, row);
        pdr__finder_up(&walk->finder, mark);
    }
}

/* --- items --------------------------------------------------------------- */

/* The type that the first member tells: `base_type` without a tag, NULL for a
 * tag that nobody knows, that comes late or twice, and for another `$`. */
static const struct inner_type *type_of(struct compat *walk,
                                        const pdr_value *item)
{
    const struct inner_type *type = &base_type;
    pdr_iter it;

    pdr_iter_init(&it, item);
    while (pdr_iter_next(&it)) {
        pdr_str name = pdr__compat_text(walk, it.name);

        if (name.len == 0 || name.ptr[0] != '$')
            continue;
        if (it.index > 0 || !pdr_str_equal(name, PDR_LIT("$type")))
            return NULL;
        type = NULL;
        for (size_t i = 0; i < PDR_COUNT(inner_types); i++) {
            if (pdr_value_text_is(it.value, pdr_str_c(inner_types[i].tag)))
                type = &inner_types[i];
        }
        if (type == NULL || !type->readable)
            return NULL;
    }
    return type;
}

static void look_inner(struct compat *walk, const pdr_value *item)
{
    const struct inner_type *type = type_of(walk, item);

    if (type == NULL) {
        wrong(walk);
        return;
    }
    if (type != &base_type)
        look_typed(walk, item, type);
    look_typed(walk, item, &base_type);
}

void pdr__dotnet_unknown(struct compat *walk, const pdr_value *item)
{
    size_t level = walk->level;

    if (pdr_value_kind(item) != PDR_OBJECT)
        wrong(walk);
    else if (pdr__levels(item) + level <= walk->reader->max_level)
        look_inner(walk, item);
    pdr__compat_opaque(walk, item);
}
