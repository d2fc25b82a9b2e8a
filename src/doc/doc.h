/*
 * doc.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_DOC_H
#define PDR_DOC_H

#include <perdure/content.h>
#include <perdure/doc.h>
#include <perdure/json.h>
#include <perdure/jsonschema.h>

#include "core.h"

#define PDR_NONE SIZE_MAX /* no such item */

/* --- members ------------------------------------------------------------- */

/* Member `name` if it has this JSON kind, else NULL. */
static inline const pdr_value *pdr__member(const pdr_value *object,
                                           const char *name, pdr_kind kind)
{
    const pdr_value *member = pdr_value_get_c(object, name);

    return member != NULL && pdr_value_kind(member) == kind ? member : NULL;
}

/* Does a reader of this shape take the name of a member for `text`? .NET takes
 * ASCII letters in either case, but for discriminators, the others do not. Of
 * messages of Semantic Kernel, "role", "name" and "items" are taken too. */
bool pdr__name_is(const pdr_value *name, const char *text, pdr_shape shape);

/* The member that such a reader finds: the last of that name, or NULL; what
 * Semantic Kernel itself writes comes before other spellings. With a JSON kind:
 * NULL if that one has another. */
const pdr_value *pdr__find_member(const pdr_value *object, const char *name,
                                  pdr_shape shape);
const pdr_value *pdr__find_member_of(const pdr_value *object, const char *name,
                                     pdr_shape shape, pdr_kind kind);

/* The text of a string that has to be short to mean something: a date, a
 * version. Needs no memory but `scratch`. False if it is no string, has no
 * UTF-8 form, or is longer in JSON than any of those can be. */
#define PDR_SHORT_TEXT 256
bool pdr__short_text(pdr_str *out, char scratch[PDR_SHORT_TEXT],
                     const pdr_value *value);

/* The date-time that a value, or the member `name`, holds; false if there is
 * none. */
bool pdr__read_datetime(pdr_datetime *out, const pdr_value *value);
bool pdr__member_datetime(pdr_datetime *out, const pdr_value *object,
                          const char *name);

/* Is it absent or null? */
static inline bool pdr__is_nothing(const pdr_value *value)
{
    return value == NULL || pdr_value_kind(value) == PDR_NULL;
}

/* "an array", "null", "a number": a kind in the middle of a sentence. */
const char *pdr__kind_phrase(const pdr_value *value);

/* Levels of arrays and objects: 0 for a scalar, 1 for `[]`. Counted. */
size_t pdr__levels(const pdr_value *value);

/* --- findings (finding.c) ------------------------------------------------ */

/* Who is told, and where in the document we are. Set up with
 * PDR_FINDER_INIT(fn, arg); dispose in the end. */
struct finder {
    pdr_doc_finding_fn fn; /* NULL: nobody is told */
    void *arg;
    pdr_buf pointer; /* of the value that is looked at */
    size_t lost;     /* names at its end that could not be pushed */
    pdr_rc failed;   /* why; reported by a finding there */
    uint64_t errors; /* findings of that severity so far */
};

/* clang-format off */
#define PDR_FINDER_INIT(fn, arg) \
    {(fn), (arg), PDR_BUF_INIT(PDR_MAX_POINTER_BYTES), 0, PDR_OK, 0}
/* clang-format on */

/* Go down to a member or an element; gives the mark for pdr__finder_up(). */
size_t pdr__finder_name(struct finder *finder, pdr_str name);
size_t pdr__finder_index(struct finder *finder, size_t index);
void pdr__finder_up(struct finder *finder, size_t mark);
/* Tell of the place that we are at. What the callback returns; NO_MEMORY or
 * BUFFER_FULL if the place could not be kept. */
pdr_rc pdr__finder_tell(struct finder *finder, const char *rule,
                        pdr_severity severity, pdr_err *err, const char *fmt,
                        ...) PDR_PRINTF(5, 6);
void pdr__finder_dispose(struct finder *finder);

/* --- what nobody knows (members.c) --------------------------------------- */

/* Tell of member `name` of the place that we are at: "member-unknown". */
pdr_rc pdr__member_tell(struct finder *finder, const pdr_value *name,
                        pdr_err *err);

/* Tell of the members of a message and of its contents that the shape does not
 * have, and of contents of no kind ("content-kind-unknown"). */
pdr_rc pdr__message_check_members(struct finder *finder,
                                  const pdr_value *message, pdr_shape shape,
                                  pdr_err *err);

/* --- properties (attribution.c) ------------------------------------------ */

/* Is the string `name`, but for the case of ASCII letters? Takes no memory. */
bool pdr__is_folded(const pdr_value *string, pdr_str name);

/* As pdr_property_get(). *spelled is borrowed: the name that was found in
 * another case; NULL if it is `name`, or there is none. */
pdr_rc pdr__property_find(const pdr_value **spelled, const pdr_value **out,
                          const pdr_value *properties, pdr_str name,
                          pdr_err *err);
/* --- conversion (convert.c) ---------------------------------------------- */

/* As pdr_message_convert(), but the way back gives the members in their order,
 * too. A message whose order is not that of its edition costs twice its size.
 * `sure`: converting *out back was tried and gave `message`, so that nobody has
 * to try again. */
PDR_MUST_CHECK pdr_rc pdr__message_convert_ordered(pdr_value **out, bool *sure,
                                                   const pdr_value *message,
                                                   pdr_shape from, pdr_shape to,
                                                   pdr_err *err);

/* --- versions (schema.c) ------------------------------------------------- */

/* As pdr_state_gate(), with what it found: the version, and the object `data`,
 * NULL if it is null. */
pdr_rc pdr__state_gate(pdr_schema_version *version, const pdr_value **data,
                       const pdr_value *value, pdr_err *err);

/* The version that brought `orchestrationId`. */
extern const pdr_schema_version pdr__version_orchestration;

/* A version as it was written, but for zeros in front. */
#define PDR_VERSION_TEXT 48
const char *pdr__version_text(char out[PDR_VERSION_TEXT],
                              const pdr_schema_version *version);

#endif
