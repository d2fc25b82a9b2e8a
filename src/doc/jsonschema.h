/*
 * jsonschema.h - a JSON Schema as it lies in memory, shared by jsonschema*.c.
 *
 *   text ──► flat copy ──► tree of schema nodes ──► check
 *            (held)        (arena, never changed after load)
 *
 * Each schema, wherever it stands, is a node with one rule per keyword that
 * says something. Rules point to other nodes, and a $ref to any of them, so it
 * is a graph. Names and numbers are spans or nodes of the flat copy.
 *
 * INVARIANTS
 *   J1  Nodes are numbered in document order, so their sources ascend: the node
 *       of a part of the schema is found by its address.
 *   J2  No way from a node to itself stays at one value: $ref, allOf and their
 *       kin form no circle. So a check ends if the value does.
 *   J3  Nothing changes after pdr_schema_new(): any number of threads check.
 */
#ifndef PDR_DOC_JSONSCHEMA_H
#define PDR_DOC_JSONSCHEMA_H

#include <perdure/jsonschema.h>

#include "compare.h"

/* Kinds of values, as bits; an integer is a number too. */
#define KIND_BIT(kind) (1u << (unsigned)(kind))
#define KIND_INTEGER   (1u << 6)

/* One row per keyword: name, spelling, how it is loaded, the kinds of values
 * that it speaks of (0: it is no rule), and the kinds of its own value that a
 * lenient load skips and reports. Strictly these are refused. Only a lenient
 * load knows the rows from `definitions` on. */
/* clang-format off */
#define ON_ANY    0x3Fu
#define ON_NUMBER KIND_BIT(PDR_NUMBER)
#define ON_STRING KIND_BIT(PDR_STRING)
#define ON_ARRAY  KIND_BIT(PDR_ARRAY)
#define ON_OBJECT KIND_BIT(PDR_OBJECT)
#define ON_BOOL   KIND_BIT(PDR_BOOL)
#define BUT(kind) (ON_ANY & ~(kind))
#define KEYWORD_MAP(X)                                                                 \
    X(SCHEMA,         "$schema",               dialect,     0,         0)              \
    X(ID,             "$id",                   id,          0,         BUT(ON_STRING)) \
    X(ANCHOR,         "$anchor",               anchor,      0,         0)              \
    X(REF,            "$ref",                  ref,         ON_ANY,    0)              \
    X(DEFS,           "$defs",                 schemas,     0,         0)              \
    X(COMMENT,        "$comment",              annotation,  0,         BUT(ON_STRING)) \
    X(TITLE,          "title",                 annotation,  0,         BUT(ON_STRING)) \
    X(DESCRIPTION,    "description",           annotation,  0,         BUT(ON_STRING)) \
    X(FORMAT,         "format",                annotation,  0,         BUT(ON_STRING)) \
    X(DEFAULT,        "default",               annotation,  0,         0)              \
    X(EXAMPLES,       "examples",              annotation,  0,         BUT(ON_ARRAY))  \
    X(DEPRECATED,     "deprecated",            annotation,  0,         BUT(ON_BOOL))   \
    X(READ_ONLY,      "readOnly",              annotation,  0,         BUT(ON_BOOL))   \
    X(WRITE_ONLY,     "writeOnly",             annotation,  0,         BUT(ON_BOOL))   \
    X(TYPE,           "type",                  type,        ON_ANY,    0)              \
    X(ENUM,           "enum",                  enumeration, ON_ANY,    0)              \
    X(CONST,          "const",                 constant,    ON_ANY,    0)              \
    X(MINIMUM,        "minimum",               number,      ON_NUMBER, 0)              \
    X(MAXIMUM,        "maximum",               number,      ON_NUMBER, 0)              \
    X(ABOVE,          "exclusiveMinimum",      number,      ON_NUMBER, ON_BOOL)        \
    X(BELOW,          "exclusiveMaximum",      number,      ON_NUMBER, ON_BOOL)        \
    X(MULTIPLE,       "multipleOf",            multiple,    ON_NUMBER, 0)              \
    X(MIN_LENGTH,     "minLength",             count,       ON_STRING, 0)              \
    X(MAX_LENGTH,     "maxLength",             count,       ON_STRING, 0)              \
    X(PATTERN,        "pattern",               pattern,     ON_STRING, 0)              \
    X(MIN_ITEMS,      "minItems",              count,       ON_ARRAY,  0)              \
    X(MAX_ITEMS,      "maxItems",              count,       ON_ARRAY,  0)              \
    X(UNIQUE,         "uniqueItems",           unique,      ON_ARRAY,  0)              \
    X(PREFIX,         "prefixItems",           list,        ON_ARRAY,  0)              \
    X(ITEMS,          "items",                 schema,      ON_ARRAY,  ON_ARRAY)       \
    X(CONTAINS,       "contains",              schema,      ON_ARRAY,  0)              \
    X(MIN_CONTAINS,   "minContains",           count,       ON_ARRAY,  0)              \
    X(MAX_CONTAINS,   "maxContains",           count,       ON_ARRAY,  0)              \
    X(MIN_PROPERTIES, "minProperties",         count,       ON_OBJECT, 0)              \
    X(MAX_PROPERTIES, "maxProperties",         count,       ON_OBJECT, 0)              \
    X(REQUIRED,       "required",              names,       ON_OBJECT, 0)              \
    X(NEEDS_NAMES,    "dependentRequired",     name_lists,  ON_OBJECT, 0)              \
    X(NEEDS_SCHEMAS,  "dependentSchemas",      schemas,     ON_OBJECT, 0)              \
    X(PROPERTIES,     "properties",            schemas,     ON_OBJECT, 0)              \
    X(PATTERNS,       "patternProperties",     patterns,    ON_OBJECT, 0)              \
    X(ADDITIONAL,     "additionalProperties",  schema,      ON_OBJECT, 0)              \
    X(NAMES,          "propertyNames",         schema,      ON_OBJECT, 0)              \
    X(ALL_OF,         "allOf",                 list,        ON_ANY,    0)              \
    X(ANY_OF,         "anyOf",                 list,        ON_ANY,    0)              \
    X(ONE_OF,         "oneOf",                 list,        ON_ANY,    0)              \
    X(NOT,            "not",                   schema,      ON_ANY,    0)              \
    X(IF,             "if",                    schema,      ON_ANY,    0)              \
    X(THEN,           "then",                  schema,      ON_ANY,    0)              \
    X(ELSE,           "else",                  schema,      ON_ANY,    0)              \
    X(DEFINITIONS,    "definitions",           definitions, 0,         0)              \
    X(NULLABLE,       "nullable",              nullable,    0,         0)              \
    X(MORE_ITEMS,     "additionalItems",       annotation,  ON_ARRAY,  ON_ANY)         \
    X(DEPENDENCIES,   "dependencies",          annotation,  ON_OBJECT, ON_ANY)         \
    X(OTHER_MEMBERS,  "unevaluatedProperties", annotation,  ON_OBJECT, ON_ANY)         \
    X(OTHER_ITEMS,    "unevaluatedItems",      annotation,  ON_ARRAY,  ON_ANY)         \
    X(DYNAMIC_REF,    "$dynamicRef",           annotation,  ON_ANY,    ON_ANY)         \
    X(RECURSIVE_REF,  "$recursiveRef",         annotation,  ON_ANY,    ON_ANY)         \
    X(CONTENT,        "contentSchema",         annotation,  ON_STRING, ON_ANY)
/* clang-format on */

enum keyword {
#define KEYWORD_ENUM(name, text, load, kinds, skipped) KW_##name,
    KEYWORD_MAP(KEYWORD_ENUM)
#undef KEYWORD_ENUM
        KW_COUNT,
    KW_STRICT_COUNT = KW_DEFINITIONS
};

extern const char *const pdr__keyword_names[KW_COUNT];

struct schema_node;

/* A number that others must be multiples of: digits * 10^exponent. */
struct divisor {
    uint64_t digits; /* not 0, last digit not 0 */
    int64_t exponent;
};

/* A name with what belongs to it. */
struct schema_member {
    pdr_str text;             /* decoded; lone surrogates as three bytes */
    const pdr_value *name;    /* the name in the schema */
    struct schema_node *node; /* properties, patterns, dependentSchemas */
    struct pdr__regex *regex; /* patterns; owned by the list of the schema */
    pdr_str *needs;           /* dependentRequired: decoded names */
    size_t need_count;
};

struct rule {
    enum keyword keyword;
    unsigned kinds; /* bits: values that it speaks of */
    union {
        unsigned types;         /* type: bits */
        const pdr_value *value; /* enum, const */
        pdr_str number;         /* minimum and its kin: spelling */
        struct divisor divisor; /* multipleOf */
        uint64_t count;         /* minLength and its kin */
        bool truth;             /* uniqueItems */
        struct {
            struct pdr__regex *regex; /* owned by the list of the schema */
            pdr_str text;             /* decoded */
        } pattern;
        struct schema_node *node; /* $ref, not, items and their kin */
        struct {
            struct schema_node **at;
            size_t count;
        } list; /* allOf and its kin, prefixItems */
        struct {
            pdr_str *at;
            size_t count;
        } names; /* required: decoded */
        struct {
            struct schema_member *at; /* PROPERTIES: in order of `text` */
            size_t count;
        } members;
    } of;
};

struct schema_node {
    const pdr_value *source;  /* in the flat copy */
    struct schema_node *next; /* in document order (J1) */
    struct rule *rules;
    size_t rule_count;
    bool is_bool, truth; /* a schema that is true or false */
    bool is_nullable;    /* null matches, whatever the rules say */
    uint8_t mark;        /* while circles are looked for */
    /* Rules that are checked together, NULL if absent. */
    const struct rule *properties, *patterns, *additional, *names;
    const struct rule *prefix, *items;
    const struct rule *contains, *min_contains, *max_contains;
    const struct rule *then_rule, *else_rule;
};

/* For cleaning up: every pattern of the schema. */
struct schema_pattern {
    struct pdr__regex *regex; /* owned */
    struct schema_pattern *next;
};

struct pdr_schema {
    pdr_value *source;       /* owned: a flat copy */
    struct pdr__arena arena; /* nodes, rules, names */
    struct schema_node *root;
    struct schema_pattern *patterns;
};

/* --- loading (jsonschema_load.c, jsonschema_refs.c) ---------------------- */

/* A $ref that was read and has no node yet. */
struct pending_ref {
    struct rule *rule;
    const pdr_value *text; /* of the reference */
    pdr_str path;          /* of the keyword; in arena */
    struct pending_ref *next;
};

struct schema_loader {
    pdr_schema *schema;
    pdr_schema_options options;
    struct pdr__trail trail;
    struct schema_node *last; /* loaded last (J1) */
    size_t node_count;
    struct pdr__map anchors;  /* name to node */
    struct pending_ref *refs; /* in arena */
};

/* The member of that name of `properties`, or NULL. */
const struct schema_member *pdr__schema_member(const struct rule *rule,
                                               pdr_str name);
/* Fill schema->root from schema->source; `options` NULL: strictly. */
PDR_MUST_CHECK pdr_rc pdr__schema_load(pdr_schema *schema,
                                       const pdr_schema_options *options,
                                       pdr_err *err);
/* Give every $ref its node and see that there is no circle (J2). */
PDR_MUST_CHECK pdr_rc pdr__schema_link(struct schema_loader *loader,
                                       pdr_err *err);

/* A JSON Pointer, as it is, becomes the path of `err`. Without memory the path
 * stays empty (jsonschema_tell.c). */
void pdr__schema_err_path(pdr_err *err, pdr_str pointer);

/* --- comparing (jsonschema_equal.c) -------------------------------------- */

/* Work that a check may still do. */
struct schema_work {
    uint64_t steps;
    pdr_buf scratch; /* decoded names and texts */
};

/* Bytes of text that are looked at in one step. */
#define SCHEMA_STEP_BYTES 64u

/* Take steps; fails with CHECK_LIMIT. */
PDR_MUST_CHECK pdr_rc pdr__schema_step(struct schema_work *work, uint64_t steps,
                                       pdr_err *err);

/* The decoded text of a string, in scratch where it has escapes. Takes steps
 * for its bytes. */
PDR_MUST_CHECK pdr_rc pdr__schema_text(pdr_str *out, struct schema_work *work,
                                       const pdr_value *string, pdr_err *err);
/* Members with different names; counts no further than `enough`. */
PDR_MUST_CHECK pdr_rc pdr__schema_count_names(uint64_t *out,
                                              struct schema_work *work,
                                              const pdr_value *object,
                                              uint64_t enough, pdr_err *err);

/* Equal as JSON Schema says: numbers by value, members in any order, of several
 * with one name the last. */
PDR_MUST_CHECK pdr_rc pdr__schema_equal(bool *out, struct schema_work *work,
                                        const pdr_value *a, const pdr_value *b,
                                        pdr_err *err);
/* Are two elements of `array` equal? Then they are at `first` and `second`. */
PDR_MUST_CHECK pdr_rc pdr__schema_repeated(bool *out, size_t *first,
                                           size_t *second,
                                           struct schema_work *work,
                                           const pdr_value *array,
                                           pdr_err *err);

/* --- numbers (jsonschema_number.c) --------------------------------------- */

/* Is it a number without a fraction? */
bool pdr__schema_is_integer(const pdr_value *number);
/* False if `number` cannot be one: zero, below zero, too long, too far. */
bool pdr__schema_divisor(struct divisor *out, pdr_str number);
bool pdr__schema_is_multiple(pdr_str number, const struct divisor *divisor);
/* The same hash for the same value. */
uint64_t pdr__schema_hash_number(pdr_str number);

#endif
