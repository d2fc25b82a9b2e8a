/*
 * content_table.h - what each kind of content holds, in the four shapes.
 *
 * WHY  Accessors, builders, conversion and the page docs/formats/contents.md
 *      all need the same facts. They stand here once; a new kind is a row in
 *      PDR_CONTENT_MAP and a few rows here.
 *
 * The rows of a kind stand in the order in which .NET writes the members. The
 * order of a state document is a number of the row, those of Python and of
 * Semantic Kernel are one list for all kinds each (pdr__content_order()).
 */
#ifndef PDR_DOC_CONTENT_TABLE_H
#define PDR_DOC_CONTENT_TABLE_H

#include "doc.h"

/* JSON kinds that a member may have, as bits. */
#define JSON_BIT(kind) (1u << (kind))
#define JSON_TEXT      JSON_BIT(PDR_STRING)
#define JSON_BOOL      JSON_BIT(PDR_BOOL)
#define JSON_NUMBER    JSON_BIT(PDR_NUMBER)
#define JSON_LIST      JSON_BIT(PDR_ARRAY)
#define JSON_MAP       JSON_BIT(PDR_OBJECT)
#define JSON_ANY       0x3Eu /* all but null */

/* How a member becomes that of another shape. */
enum content_way {
    WAY_PLAIN,     /* the same value */
    WAY_NAME,      /* of a tool; Semantic Kernel: of a plugin and a function */
    WAY_ARGUMENTS, /* an object, or a text that is none */
    WAY_RESULT,    /* any JSON; Python: a text and the same as contents */
    WAY_DETAILS,   /* a text, or any JSON beside it */
    WAY_DATA,      /* a data URI; Semantic Kernel: base64, the type beside it */
    WAY_MEDIA,     /* of a data URI: what the URI says, unless it is said */
    WAY_USAGE,     /* counts */
    WAY_CONTENT,   /* a content */
    WAY_CONTENTS,  /* a list of contents; Python: or one */
    WAY_SILENT,    /* whether somebody else runs the call */
    WAY_CITATIONS, /* annotations */
    WAY_REGIONS,   /* where a citation belongs in the text */
    WAY_ROLE       /* of a message; Semantic Kernel, old Python: an object */
};

#define PDR_SHAPES (PDR_SHAPE_SK + 1)

/* In `made`: the member must be there, and nothing can stand for it. */
#define MADE_NEVER "!"

struct content_member {
    uint8_t field;       /* pdr_field; 0: conversion only */
    uint8_t way;         /* enum content_way */
    uint8_t json;        /* JSON kinds */
    uint8_t state_place; /* order in a state document; 9: extra, behind them */
    const char *names[PDR_SHAPES]; /* by shape; NULL: the shape has no such
                                      member */
    const char *made[PDR_SHAPES];  /* by shape: JSON that stands there if
                                      nothing was given; NULL: the member is
                                      left out then */
};

/* The members of a kind but annotations and properties, which all have. */
struct content_members {
    const struct content_member *rows;
    size_t count;
};
struct content_members pdr__content_members(pdr_content_kind kind);

/* The row of a field; NULL if the kind has no such field in that shape. */
const struct content_member *pdr__content_member(pdr_content_kind kind,
                                                 pdr_shape shape,
                                                 pdr_field field);

/* "$type" or "type"; the names of the members that all kinds have. */
const char *pdr__type_name(pdr_shape shape);
const char *pdr__properties_name(pdr_shape shape);

/* Names in the order in which an edition writes them, whatever the kind; none
 * for a shape whose order is that of the rows. */
struct content_order {
    const char *const *names;
    size_t count;
};
struct content_order pdr__content_order(pdr_shape shape);
/* The place of a name; the number of names if it is not among them. */
size_t pdr__order_place(struct content_order order, const char *name);

/* What kind a name is in a shape; PDR_CONTENT_OTHER for none. */
pdr_content_kind pdr__content_kind_named(pdr_str name, pdr_shape shape);

/* The parts of a data URI; they belong to its text. What .NET and Python each
 * take for one is in compat_text.c and compat_python.c. */
struct data_uri {
    pdr_str media; /* with its parameters; empty if there is none */
    pdr_str data;  /* as it is written */
    bool is_base64;
};
/* False if it is none: "data:" in either case, and a comma. */
bool pdr__data_uri_read(struct data_uri *out, pdr_str uri);

/* Its media type; empty if there is none, or it is no data URI. */
pdr_str pdr__data_uri_media(pdr_str uri);

/* Is it the text of a data URI, as far as the readers look? */
bool pdr__is_data_uri(const pdr_value *uri);

/* Read what may be a JSON object. PDR_OK with *out NULL if it is none. */
pdr_rc pdr__arguments_read(pdr_value **out, pdr_str text, pdr_err *err);

/* What Python has for the result of a tool: a text, and the same as a list of
 * one text content. Both are owned. */
pdr_rc pdr__python_result(pdr_value **text, pdr_value **items,
                          const pdr_value *value, pdr_err *err);

/* The member `name` of "perdure" in the additional properties; NULL if it is
 * not there or has another JSON kind. */
const pdr_value *pdr__perdure_member(const pdr_value *object, pdr_shape shape,
                                     const char *name, pdr_kind kind);

/* JSON kinds that a reader of this shape takes. */
unsigned pdr__readable(const struct content_member *row, pdr_shape shape);

/* Is it a text with nothing but spaces? */
bool pdr__is_blank(const pdr_value *value);

/* Media types need a slash: without one, the strictest reader fails. */
bool pdr__is_media_type(const pdr_value *value);

/* --- members of an object that is being made (content_items.c) ----------- */

struct content_item {
    const char *name;         /* static; NULL if it is `spelled` */
    const pdr_value *spelled; /* borrowed: a name as somebody wrote it */
    pdr_value *value;         /* owned */
    size_t place;             /* order; equal ones stay as they were added */
};

/* Set up with {0}. */
struct content_items {
    struct content_item *at; /* owned */
    size_t count, room;
};

/* Add a member. `value` is taken, also on failure; NULL adds nothing. */
pdr_rc pdr__items_add(struct content_items *items, const char *name,
                      size_t place, pdr_value *value, pdr_err *err);
pdr_rc pdr__items_add_spelled(struct content_items *items,
                              const pdr_value *name, size_t place,
                              pdr_value *value, pdr_err *err);
/* Remove all members of that name, as readers of the shape take it. */
void pdr__items_drop(struct content_items *items, const pdr_value *name,
                     pdr_shape shape);
/* Write them, by their places, as members of the object that was begun. */
void pdr__items_put(pdr_builder *to, const struct content_items *items);
/* Make an object of them. */
pdr_rc pdr__items_object(pdr_value **out, const struct content_items *items,
                         pdr_err *err);
void pdr__items_dispose(struct content_items *items);

/* Where a member stands in a content of this kind: of the discriminator 0, of
 * what nobody knows behind all others. */
size_t pdr__content_place(pdr_content_kind kind, pdr_shape shape,
                          const char *name);

/* How the notes call a shape: "state", "dotnet", "python", "sk". */
const char *pdr__shape_name(pdr_shape shape);

/* What Python and Semantic Kernel have no member for, though .NET has one,
 * stands in "members" of "perdure", by its .NET name. */
static inline bool pdr__has_more(pdr_shape shape)
{
    return shape == PDR_SHAPE_PYTHON || shape == PDR_SHAPE_SK;
}

/* An image, audio or binary content of Semantic Kernel: data or a uri in the
 * other shapes. */
static inline bool pdr__is_media(pdr_content_kind kind)
{
    return kind == PDR_CONTENT_IMAGE || kind == PDR_CONTENT_AUDIO ||
           kind == PDR_CONTENT_BINARY;
}

#endif
