/*
 * convert.h - what the files of the conversion share. See convert.c.
 */
#ifndef PDR_DOC_CONVERT_H
#define PDR_DOC_CONVERT_H

#include "content_table.h"

enum form_what { FORM_CONTENT, FORM_MESSAGE, FORM_CITATION };

/* What is converted: a kind of content, a message or a citation. */
struct form {
    enum form_what what;
    pdr_content_kind kind;         /* of a content */
    struct content_members rows;   /* all but the properties */
    const char *types[PDR_SHAPES]; /* discriminators; NULL: it has none */
    const char *media; /* of an image, audio or binary content of Semantic
                          Kernel: its type if it does not say; NULL: another */
    const char *note; /* a discriminator that would not come back; NULL: none */
};

struct trip {
    pdr_shape from, to;
};

static inline struct trip trip_back(struct trip trip)
{
    struct trip back = {trip.to, trip.from};

    return back;
}

/* --- convert_way.c ------------------------------------------------------- */

extern const struct form pdr__form_message, pdr__form_citation;

/* Its rows, annotations included. */
size_t pdr__form_rows(const struct form *form);
const struct content_member *pdr__form_row(const struct form *form, size_t i);

/* Where a member stands; the list that says so, if there is one. */
size_t pdr__form_place(const struct form *form, pdr_shape shape,
                       const char *name);
struct content_order pdr__form_order(const struct form *form, pdr_shape shape);

/* Does the way lead into other contents? */
bool pdr__is_nested(const struct content_member *row);

struct projection {
    struct content_items members;
    struct content_items more; /* what has no place there: pdr__has_more() */
    bool possible; /* false: a member is missing that nothing can stand for */
};
void pdr__projection_dispose(struct projection *projection);

/* What the members of `object` are in the other shape: without discriminator,
 * properties and whatever the table does not know. `more` is what the shape of
 * `object` has no place for, or NULL. `shallow` leaves out what is nested.
 * Dispose *out in any case. */
pdr_rc pdr__project(struct projection *out, const struct form *form,
                    const pdr_value *object, const pdr_value *more,
                    struct trip trip, bool shallow, pdr_err *err);

/* --- convert_usage.c ----------------------------------------------------- */

/* The counts of a usage object in the other shape; owned. */
pdr_rc pdr__usage_convert(pdr_value **out, const pdr_value *usage,
                          struct trip trip, pdr_err *err);

/* --- convert_form.c ------------------------------------------------------ */

/* Convert an object with all that it holds. *out is NULL, with PDR_OK, if it is
 * not possible (see pdr__project()). */
pdr_rc pdr__form_convert(pdr_value **out, const struct form *form,
                         const pdr_value *object, struct trip trip,
                         pdr_err *err);

/* --- convert.c ----------------------------------------------------------- */

/* A content inside of another, whatever it is. */
pdr_rc pdr__nested_convert(pdr_value **out, const pdr_value *content,
                           struct trip trip, pdr_err *err);

#endif
