/*
 * jsonschema_load.c - from the text of a schema to nodes and rules.
 *
 * WHY  A schema is read once and used often, so everything that can be wrong
 *      with it is found here: keywords that nobody knows, values that a keyword
 *      cannot have, patterns that are none. What a check meets later is right.
 *
 *      Schemas of other programs have more: older drafts, keywords of their
 *      own. A lenient load takes them, reads everything as draft 2020-12, and
 *      reports each keyword that it skips or reads as another.
 *
 * One function per form of value loads all keywords of that form; the table in
 * jsonschema.h says which. Every failure carries the path into the schema.
 *
 * RECURSION  As deep as the schema, which PDR_MAX_DEPTH bounds.
 *
 * NOT HERE  References (jsonschema_refs.c): they can lead to what is loaded
 *           later.
 */
#include "jsonschema.h"

#include "number.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"

const char *const pdr__keyword_names[KW_COUNT] = {
#define KEYWORD_NAME(name, text, load, kinds, skipped) text,
    KEYWORD_MAP(KEYWORD_NAME)
#undef KEYWORD_NAME
};

/* Kinds of values that a lenient load skips with a note. */
static const unsigned skipped_kinds[KW_COUNT] = {
#define KEYWORD_SKIPPED(name, text, load, kinds, skipped) skipped,
    KEYWORD_MAP(KEYWORD_SKIPPED)
#undef KEYWORD_SKIPPED
};

/* Where one keyword is loaded. */
struct keyword_load {
    struct schema_loader *loader;
    struct schema_node *node;
    struct rule *rule;      /* to be filled */
    const pdr_value *value; /* of the keyword */
    struct pdr__place *at;  /* of the keyword */
};

/* --- failing ------------------------------------------------------------- */

/* The failure in `err` is about this place. */
static pdr_rc fail_at(struct schema_loader *loader, struct pdr__place *at,
                      pdr_rc rc, pdr_err *err)
{
    pdr_str pointer;

    if (err != NULL && pdr__trail_pointer(&pointer, &loader->trail, PDR__SIDE_A,
                                          at, NULL) == PDR_OK)
        pdr__schema_err_path(err, pointer);
    return rc;
}

static pdr_rc bad_value(const struct keyword_load *k, const char *wanted,
                        pdr_err *err)
{
    pdr_rc rc = PDR_FAIL(err, BAD_SCHEMA, "%s of a schema must be %s",
                         pdr__keyword_names[k->rule->keyword], wanted);

    return fail_at(k->loader, k->at, rc, err);
}

/* Report what a lenient load takes and a strict one refuses. */
static pdr_rc report_note(const struct keyword_load *k,
                          pdr_schema_note_kind kind, const char *text,
                          pdr_err *err)
{
    const pdr_schema_options *options = &k->loader->options;
    struct pdr__trail *trail = &k->loader->trail;
    pdr_schema_note note = {.kind = kind, .text = pdr_str_c(text)};
    pdr_rc rc = PDR_OK;

    if (options->note == NULL)
        return PDR_OK;
    rc = pdr__trail_pointer(&note.pointer, trail, PDR__SIDE_A, k->at, err);
    if (rc == PDR_OK)
        rc = pdr__value_name_bytes(&note.keyword, k->at->name, &trail->scratch,
                                   err);
    return rc == PDR_OK ? options->note(&note, err, options->note_arg) : rc;
}

/* --- memory -------------------------------------------------------------- */

static pdr_rc take_array(void *out, struct schema_loader *loader, size_t count,
                         size_t size, pdr_err *err)
{
    void *ptr = NULL;
    size_t bytes = 0;
    pdr_rc rc = PDR_OK;

    if (!pdr__mul_size(&bytes, count, size))
        return pdr__nomem(err);
    rc = pdr__arena_alloc(&ptr, &loader->schema->arena, bytes, err);
    if (rc != PDR_OK)
        return rc;
    memset(ptr, 0, bytes);
    memcpy(out, &ptr, sizeof(ptr));
    return PDR_OK;
}

/* The decoded text of a string, in arena where it has escapes. */
static pdr_rc take_text(pdr_str *out, struct schema_loader *loader,
                        const pdr_value *string, pdr_err *err)
{
    pdr_buf *scratch = &loader->trail.scratch;
    pdr_rc rc = pdr__value_name_bytes(out, string, scratch, err);
    char *copy = NULL;

    if (rc != PDR_OK || out->ptr != scratch->ptr || out->len == 0)
        return rc;
    rc = pdr__arena_strndup(&copy, &loader->schema->arena, *out, err);
    out->ptr = copy;
    return rc;
}

/* --- schemas ------------------------------------------------------------- */

static pdr_rc load_node(struct schema_node **out, struct schema_loader *loader,
                        const pdr_value *source, struct pdr__place *at,
                        pdr_err *err);

/* The schema that element or member `it` of a keyword's value is. */
static pdr_rc load_child(struct schema_node **out, const struct keyword_load *k,
                         const pdr_iter *it, pdr_err *err)
{
    struct pdr__place place = {.up = k->at, .name = it->name};
    pdr_rc rc = PDR_OK;

    place.index[PDR__SIDE_A] = it->index;
    rc = load_node(out, k->loader, it->value, &place, err);
    pdr__trail_leave(&k->loader->trail, &place);
    return rc;
}

static pdr_rc load_schema(const struct keyword_load *k, pdr_err *err)
{
    return load_node(&k->rule->of.node, k->loader, k->value, k->at, err);
}

static pdr_rc load_list(const struct keyword_load *k, pdr_err *err)
{
    size_t count = pdr_value_count(k->value);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(k->value) != PDR_ARRAY || count == 0)
        return bad_value(k, "a list of at least one schema", err);
    rc =
        take_array(&k->rule->of.list.at, k->loader, count, sizeof(void *), err);
    k->rule->of.list.count = count;
    pdr_iter_init(&it, k->value);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = load_child(&k->rule->of.list.at[it.index], k, &it, err);
    return rc;
}

/* --- objects of something by name ---------------------------------------- */

/* A name that stands twice: one of the two would not hold. */
static pdr_rc refuse_repeated(struct schema_loader *loader, const pdr_iter *it,
                              struct pdr__place *up, pdr_err *err)
{
    struct pdr__place place = {.up = up, .name = it->name};
    pdr_str name = {NULL, 0};
    pdr_rc rc =
        pdr__value_name_bytes(&name, it->name, &loader->trail.scratch, err);

    if (rc != PDR_OK || pdr__iter_is_last(it, name))
        return rc;
    rc = PDR_FAIL(err, BAD_SCHEMA, "%s",
                  "this name stands twice: only one of them would hold");
    rc = fail_at(loader, &place, rc, err);
    pdr__trail_leave(&loader->trail, &place);
    return rc;
}

/* The names of the members of the keyword's value, nothing else yet. */
static pdr_rc load_members(const struct keyword_load *k, pdr_err *err)
{
    size_t count = pdr_value_count(k->value);
    struct schema_member *member = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(k->value) != PDR_OBJECT)
        return bad_value(k, "an object", err);
    rc = take_array(&k->rule->of.members.at, k->loader, count, sizeof(*member),
                    err);
    k->rule->of.members.count = count;
    pdr_iter_init(&it, k->value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        member = &k->rule->of.members.at[it.index];
        member->name = it.name;
        rc = refuse_repeated(k->loader, &it, k->at, err);
        if (rc == PDR_OK)
            rc = take_text(&member->text, k->loader, it.name, err);
    }
    return rc;
}

/* By length, then by bytes: most differ in the first. */
static int compare_names(pdr_str a, pdr_str b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return a.len > 0 ? memcmp(a.ptr, b.ptr, a.len) : 0;
}

const struct schema_member *pdr__schema_member(const struct rule *rule,
                                               pdr_str name)
{
    size_t low = 0, high = rule->of.members.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct schema_member *member = &rule->of.members.at[middle];
        int order = compare_names(name, member->text);

        if (order == 0)
            return member;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* Bring them in order. A heap: no worst case, no recursion, no memory. */
static void sift(struct schema_member *at, size_t i, size_t count)
{
    struct schema_member moving = at[i];

    for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
        if (child + 1 < count &&
            compare_names(at[child].text, at[child + 1].text) < 0)
            child++;
        if (compare_names(moving.text, at[child].text) >= 0)
            break;
        at[i] = at[child];
        i = child;
    }
    at[i] = moving;
}

static void sort_members(struct schema_member *at, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(at, i, count);
    for (size_t end = count; end-- > 1;) {
        struct schema_member largest = at[0];

        at[0] = at[end];
        at[end] = largest;
        sift(at, 0, end);
    }
}

static pdr_rc load_schemas(const struct keyword_load *k, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = load_members(k, err);

    if (rc != PDR_OK)
        return rc;
    pdr_iter_init(&it, k->value);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = load_child(&k->rule->of.members.at[it.index].node, k, &it, err);
    if (rc == PDR_OK && k->rule->keyword == KW_PROPERTIES)
        sort_members(k->rule->of.members.at, k->rule->of.members.count);
    return rc;
}

/* --- names --------------------------------------------------------------- */

/* A list of names, each at most once. */
static pdr_rc take_names(pdr_str **out, size_t *count,
                         const struct keyword_load *k, const pdr_value *list,
                         pdr_err *err)
{
    struct pdr__map seen = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(list) != PDR_ARRAY)
        return bad_value(k, "a list of names", err);
    *count = pdr_value_count(list);
    rc = take_array(out, k->loader, *count, sizeof(**out), err);
    pdr_iter_init(&it, list);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        pdr_str *name = &(*out)[it.index];

        if (pdr_value_kind(it.value) != PDR_STRING)
            rc = bad_value(k, "a list of names", err);
        if (rc == PDR_OK)
            rc = take_text(name, k->loader, it.value, err);
        if (rc == PDR_OK && pdr__map_get(NULL, &seen, *name))
            rc = bad_value(k, "a list in which no name stands twice", err);
        if (rc == PDR_OK)
            rc = pdr__map_put(NULL, &seen, *name, k->loader, err);
    }
    pdr__map_dispose(&seen);
    return rc;
}

static pdr_rc load_names(const struct keyword_load *k, pdr_err *err)
{
    return take_names(&k->rule->of.names.at, &k->rule->of.names.count, k,
                      k->value, err);
}

static pdr_rc load_name_lists(const struct keyword_load *k, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = load_members(k, err);

    if (rc != PDR_OK)
        return rc;
    pdr_iter_init(&it, k->value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        struct schema_member *member = &k->rule->of.members.at[it.index];

        rc = take_names(&member->needs, &member->need_count, k, it.value, err);
    }
    return rc;
}

/* --- patterns ------------------------------------------------------------ */

/* Compile what `string` says; the schema owns it. */
static pdr_rc take_pattern(struct pdr__regex **out, pdr_str *text_out,
                           const struct keyword_load *k,
                           const pdr_value *string, struct pdr__place *at,
                           pdr_err *err)
{
    struct schema_pattern *pattern = NULL;
    pdr_str text = {NULL, 0};
    pdr_rc rc = take_array(&pattern, k->loader, 1, sizeof(*pattern), err);

    if (rc == PDR_OK && pdr_value_has_lone_surrogate(string))
        rc = PDR_FAIL(err, BAD_PATTERN, "%s",
                      "a pattern cannot hold half a surrogate pair");
    if (rc == PDR_OK)
        rc = take_text(&text, k->loader, string, err);
    if (rc == PDR_OK)
        rc = pdr__regex_new(&pattern->regex, text, err);
    if (rc != PDR_OK)
        return rc == PDR_EINVALID ? fail_at(k->loader, at, rc, err) : rc;
    pattern->next = k->loader->schema->patterns;
    k->loader->schema->patterns = pattern;
    *out = pattern->regex;
    *text_out = text;
    return PDR_OK;
}

static pdr_rc load_pattern(const struct keyword_load *k, pdr_err *err)
{
    if (pdr_value_kind(k->value) != PDR_STRING)
        return bad_value(k, "a string", err);
    return take_pattern(&k->rule->of.pattern.regex, &k->rule->of.pattern.text,
                        k, k->value, k->at, err);
}

static pdr_rc load_patterns(const struct keyword_load *k, pdr_err *err)
{
    pdr_rc rc = load_schemas(k, err);

    for (size_t i = 0; rc == PDR_OK && i < k->rule->of.members.count; i++) {
        struct schema_member *member = &k->rule->of.members.at[i];
        struct pdr__place place = {.up = k->at, .name = member->name};

        rc = take_pattern(&member->regex, &member->text, k, member->name,
                          &place, err);
        pdr__trail_leave(&k->loader->trail, &place);
    }
    return rc;
}

/* --- single values ------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bits;
} type_names[] = {
    {"null", KIND_BIT(PDR_NULL)},     {"boolean", KIND_BIT(PDR_BOOL)},
    {"number", KIND_BIT(PDR_NUMBER)}, {"string", KIND_BIT(PDR_STRING)},
    {"array", KIND_BIT(PDR_ARRAY)},   {"object", KIND_BIT(PDR_OBJECT)},
    {"integer", KIND_INTEGER},
};

static unsigned type_bits(const pdr_value *name)
{
    for (size_t i = 0; i < PDR_COUNT(type_names); i++)
        if (pdr_value_text_is(name, pdr_str_c(type_names[i].name)))
            return type_names[i].bits;
    return 0;
}

static pdr_rc load_type(const struct keyword_load *k, pdr_err *err)
{
    const char *wanted = "the name of a type, as in \"string\", or a list of "
                         "such names, each once";
    pdr_iter it;

    if (pdr_value_kind(k->value) != PDR_ARRAY) {
        k->rule->of.types = type_bits(k->value);
        return k->rule->of.types != 0 ? PDR_OK : bad_value(k, wanted, err);
    }
    pdr_iter_init(&it, k->value);
    while (pdr_iter_next(&it)) {
        unsigned bits = type_bits(it.value);

        if (bits == 0 || (k->rule->of.types & bits) != 0)
            return bad_value(k, wanted, err);
        k->rule->of.types |= bits;
    }
    return k->rule->of.types != 0 ? PDR_OK : bad_value(k, wanted, err);
}

static pdr_rc load_enumeration(const struct keyword_load *k, pdr_err *err)
{
    if (pdr_value_kind(k->value) != PDR_ARRAY)
        return bad_value(k, "a list of values", err);
    k->rule->of.value = k->value;
    return PDR_OK;
}

static pdr_rc load_constant(const struct keyword_load *k, pdr_err *err)
{
    (void)err;
    k->rule->of.value = k->value;
    return PDR_OK;
}

/* The spelling of a number; false for anything else, NaN too. */
static bool number_text(pdr_str *out, const pdr_value *value)
{
    return pdr_value_kind(value) == PDR_NUMBER && pdr_value_raw(out, value) &&
           !pdr__number_is_bare(*out);
}

static pdr_rc load_number(const struct keyword_load *k, pdr_err *err)
{
    if (!number_text(&k->rule->of.number, k->value))
        return bad_value(k, "a number", err);
    return PDR_OK;
}

static pdr_rc load_multiple(const struct keyword_load *k, pdr_err *err)
{
    pdr_str number;

    if (!number_text(&number, k->value) ||
        !pdr__schema_divisor(&k->rule->of.divisor, number))
        return bad_value(k, "a number above 0 with at most 19 digits", err);
    return PDR_OK;
}

static pdr_rc load_count(const struct keyword_load *k, pdr_err *err)
{
    pdr_str number;

    if (!number_text(&number, k->value) || !pdr__schema_is_integer(k->value) ||
        pdr__number_compare(number, PDR_LIT("0")) < 0)
        return bad_value(k, "an integer of 0 or more", err);
    if (pdr__number_uint64(&k->rule->of.count, number, NULL) != PDR_OK)
        k->rule->of.count = UINT64_MAX; /* more than anything can have */
    return PDR_OK;
}

static pdr_rc load_unique(const struct keyword_load *k, pdr_err *err)
{
    if (pdr_value_bool(&k->rule->of.truth, k->value, NULL) != PDR_OK)
        return bad_value(k, "true or false", err);
    return PDR_OK;
}

/* --- annotations: they say nothing about values -------------------------- */

static pdr_rc load_annotation(const struct keyword_load *k, pdr_err *err)
{
    unsigned wrong = skipped_kinds[k->rule->keyword];

    if ((wrong & KIND_BIT(pdr_value_kind(k->value))) == 0)
        return PDR_OK;
    return bad_value(k,
                     (wrong & ON_STRING) == 0  ? "a string"
                     : (wrong & ON_ARRAY) == 0 ? "a list"
                                               : "true or false",
                     err);
}

/* --- what a schema says about itself ------------------------------------- */

static bool is_root(const struct keyword_load *k)
{
    return k->node == k->loader->schema->root;
}

static pdr_rc load_dialect(const struct keyword_load *k, pdr_err *err)
{
    bool known = pdr_value_text_is(k->value, PDR_LIT(DIALECT)) ||
                 pdr_value_text_is(k->value, PDR_LIT(DIALECT "#"));

    if (known && is_root(k))
        return PDR_OK;
    if (k->loader->options.lenient && pdr_value_kind(k->value) == PDR_STRING)
        return report_note(k, PDR_SCHEMA_NOTE_REREAD, "read as draft 2020-12",
                           err);
    return bad_value(k,
                     is_root(k) ? "\"" DIALECT "\": other dialects are not read"
                                : "at the root of the schema",
                     err);
}

static pdr_rc load_id(const struct keyword_load *k, pdr_err *err)
{
    if (is_root(k))
        return load_annotation(k, err);
    if (k->loader->options.lenient)
        return report_note(k, PDR_SCHEMA_NOTE_REREAD,
                           "references still start at the root of the document",
                           err);
    return bad_value(k, "at the root of the schema", err);
}

static pdr_rc load_definitions(const struct keyword_load *k, pdr_err *err)
{
    pdr_rc rc = report_note(k, PDR_SCHEMA_NOTE_REREAD, "read as $defs", err);

    return rc == PDR_OK ? load_schemas(k, err) : rc;
}

static pdr_rc load_nullable(const struct keyword_load *k, pdr_err *err)
{
    if (pdr_value_bool(&k->node->is_nullable, k->value, NULL) != PDR_OK)
        return bad_value(k, "true or false", err);
    if (!k->node->is_nullable)
        return report_note(k, PDR_SCHEMA_NOTE_ANNOTATION, "it has no effect",
                           err);
    return report_note(k, PDR_SCHEMA_NOTE_REREAD,
                       "null matches this schema, whatever else it says", err);
}

/* ^[A-Za-z_][-A-Za-z0-9._]*$ */
static bool is_anchor(pdr_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        bool can_begin =
            (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        bool can_follow = (c >= '0' && c <= '9') || c == '-' || c == '.';

        if (!can_begin && (i == 0 || !can_follow))
            return false;
    }
    return name.len > 0;
}

static pdr_rc load_anchor(const struct keyword_load *k, pdr_err *err)
{
    pdr_str name = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(k->value) != PDR_STRING)
        return bad_value(k, "a string", err);
    rc = take_text(&name, k->loader, k->value, err);
    if (rc != PDR_OK)
        return rc;
    if (!is_anchor(name))
        return bad_value(k,
                         "a name of A-Z a-z 0-9 - . _ that begins with a "
                         "letter or '_'",
                         err);
    if (pdr__map_get(NULL, &k->loader->anchors, name))
        return bad_value(k, "a name that no other schema has", err);
    return pdr__map_put(NULL, &k->loader->anchors, name, k->node, err);
}

static pdr_rc load_ref(const struct keyword_load *k, pdr_err *err)
{
    struct pending_ref *ref = NULL;
    pdr_str pointer = {NULL, 0};
    char *path = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(k->value) != PDR_STRING)
        return bad_value(k, "a string", err);
    rc = take_array(&ref, k->loader, 1, sizeof(*ref), err);
    if (rc == PDR_OK)
        rc = pdr__trail_pointer(&pointer, &k->loader->trail, PDR__SIDE_A, k->at,
                                err);
    if (rc == PDR_OK)
        rc = pdr__arena_strndup(&path, &k->loader->schema->arena, pointer, err);
    if (rc != PDR_OK)
        return rc;
    ref->rule = k->rule;
    ref->text = k->value;
    ref->path = pdr_str_n(path, pointer.len);
    ref->next = k->loader->refs;
    k->loader->refs = ref;
    return PDR_OK;
}

/* --- keywords ------------------------------------------------------------ */

static const struct {
    pdr_rc (*load)(const struct keyword_load *k, pdr_err *err);
    unsigned kinds;
} keywords[KW_COUNT] = {
#define KEYWORD_ROW(name, text, load, kinds, skipped) {load_##load, kinds},
    KEYWORD_MAP(KEYWORD_ROW)
#undef KEYWORD_ROW
};

/* Its spelling has no escapes unless somebody wants to hide it. */
static enum keyword find_keyword(const struct schema_loader *loader,
                                 const pdr_value *name)
{
    unsigned count = loader->options.lenient ? KW_COUNT : KW_STRICT_COUNT;
    pdr_str inner = string_inner(name);

    for (unsigned i = 0; i < count; i++) {
        const char *text = pdr__keyword_names[i];

        if (inner.len == strlen(text) &&
            memcmp(text, inner.ptr, inner.len) == 0)
            return (enum keyword)i;
    }
    for (unsigned i = 0; i < count && (name->info & NODE_FLAG) != 0; i++)
        if (pdr_value_text_is(name, pdr_str_c(pdr__keyword_names[i])))
            return (enum keyword)i;
    return KW_COUNT;
}

static pdr_rc unknown_keyword(const struct keyword_load *k, pdr_err *err)
{
    struct schema_loader *loader = k->loader;
    char shown[PDR_SHOWN];
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (loader->options.lenient)
        return report_note(k, PDR_SCHEMA_NOTE_ANNOTATION,
                           "unknown keyword: it has no effect", err);
    rc = pdr__value_name_bytes(&text, k->at->name, &loader->trail.scratch, err);
    if (rc != PDR_OK)
        return rc;
    rc = PDR_FAIL(err, UNKNOWN_KEYWORD,
                  "'%s' is no keyword that is checked here: remove it, or see "
                  "the format page jsonschema.md for those that are",
                  pdr__shown(shown, text));
    return fail_at(loader, k->at, rc, err);
}

/* A lenient load does not read the value of this keyword: say so. */
static pdr_rc skip_keyword(const struct keyword_load *k, enum keyword keyword,
                           pdr_err *err)
{
    static const char *const hints[KW_COUNT] = {
        [KW_ITEMS] =
            "a list of schemas is not checked: rename it to prefixItems",
        [KW_ABOVE] = "a boolean is not checked: write the bound itself",
        [KW_BELOW] = "a boolean is not checked: write the bound itself",
        [KW_MORE_ITEMS] = "not checked: use items beside prefixItems",
        [KW_DEPENDENCIES] =
            "not checked: use dependentRequired or dependentSchemas",
    };

    if (keywords[keyword].kinds == 0)
        return report_note(k, PDR_SCHEMA_NOTE_ANNOTATION,
                           "a value of an unusual type: it has no effect", err);
    return report_note(k, PDR_SCHEMA_NOTE_UNCHECKED,
                       hints[keyword] != NULL ? hints[keyword] : "not checked",
                       err);
}

static pdr_rc load_keyword(struct schema_loader *loader,
                           struct schema_node *node, const pdr_iter *it,
                           struct pdr__place *up, pdr_err *err)
{
    struct pdr__place place = {.up = up, .name = it->name};
    struct rule spare = {.kinds = 0};
    enum keyword keyword = find_keyword(loader, it->name);
    struct keyword_load k = {loader, node, &spare, it->value, &place};
    pdr_rc rc = refuse_repeated(loader, it, up, err);

    if (rc == PDR_OK && keyword == KW_COUNT)
        rc = unknown_keyword(&k, err);
    else if (rc == PDR_OK && loader->options.lenient &&
             (skipped_kinds[keyword] & KIND_BIT(pdr_value_kind(it->value))) !=
                 0)
        rc = skip_keyword(&k, keyword, err);
    else if (rc == PDR_OK) {
        if (keywords[keyword].kinds != 0)
            k.rule = &node->rules[node->rule_count++];
        k.rule->keyword = keyword;
        k.rule->kinds = keywords[keyword].kinds;
        rc = keywords[keyword].load(&k, err);
    }
    pdr__trail_leave(&loader->trail, &place);
    return rc;
}

/* Where a node keeps a rule that is checked with others; NULL for the rest. */
static const struct rule **place_of(struct schema_node *node,
                                    enum keyword keyword)
{
    switch ((int)keyword) {
    case KW_PROPERTIES:
        return &node->properties;
    case KW_PATTERNS:
        return &node->patterns;
    case KW_ADDITIONAL:
        return &node->additional;
    case KW_NAMES:
        return &node->names;
    case KW_PREFIX:
        return &node->prefix;
    case KW_ITEMS:
        return &node->items;
    case KW_CONTAINS:
        return &node->contains;
    case KW_MIN_CONTAINS:
        return &node->min_contains;
    case KW_MAX_CONTAINS:
        return &node->max_contains;
    case KW_THEN:
        return &node->then_rule;
    case KW_ELSE:
        return &node->else_rule;
    default:
        return NULL;
    }
}

static void place_rules(struct schema_node *node)
{
    for (size_t i = 0; i < node->rule_count; i++) {
        const struct rule **place = place_of(node, node->rules[i].keyword);

        if (place != NULL)
            *place = &node->rules[i];
    }
}

static pdr_rc load_keywords(struct schema_loader *loader,
                            struct schema_node *node, struct pdr__place *at,
                            pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = take_array(&node->rules, loader, pdr_value_count(node->source),
                           sizeof(*node->rules), err);

    pdr_iter_init(&it, node->source);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = load_keyword(loader, node, &it, at, err);
    place_rules(node);
    return rc;
}

static pdr_rc load_node(struct schema_node **out, struct schema_loader *loader,
                        const pdr_value *source, struct pdr__place *at,
                        pdr_err *err)
{
    struct schema_node *node = NULL;
    pdr_kind kind = pdr_value_kind(source);
    pdr_rc rc = PDR_OK;

    if (kind != PDR_OBJECT && kind != PDR_BOOL) {
        rc = PDR_FAIL(err, BAD_SCHEMA,
                      "a schema is an object, true or false; this is %s",
                      pdr_kind_name(kind));
        return fail_at(loader, at, rc, err);
    }
    rc = take_array(&node, loader, 1, sizeof(*node), err);
    if (rc != PDR_OK)
        return rc;
    node->source = source;
    if (loader->last != NULL)
        loader->last->next = node;
    else
        loader->schema->root = node;
    loader->last = node;
    loader->node_count++;
    *out = node;
    node->is_bool = kind == PDR_BOOL;
    if (node->is_bool)
        return pdr_value_bool(&node->truth, source, err);
    return load_keywords(loader, node, at, err);
}

pdr_rc pdr__schema_load(pdr_schema *schema, const pdr_schema_options *options,
                        pdr_err *err)
{
    struct schema_loader loader = {
        .schema = schema, .anchors = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES)};
    struct schema_node *root = NULL;
    pdr_rc rc = PDR_OK;

    if (options != NULL)
        loader.options = *options;
    pdr__trail_init(&loader.trail);
    rc = load_node(&root, &loader, schema->source, NULL, err);
    if (rc == PDR_OK)
        rc = pdr__schema_link(&loader, err);
    pdr__map_dispose(&loader.anchors);
    pdr__trail_dispose(&loader.trail);
    return rc;
}
