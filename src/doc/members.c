/*
 * members.c - what a message and its contents hold that their shape has no
 * member for.
 *
 * WHY  What nobody knows is kept, and whoever looks at a document wants to see
 *      which parts that are. State documents have a schema for it. Sessions of
 *      the editions have none: here the tables of contents are one.
 *
 * Where an edition writes all kinds of contents in one order, a member of
 * another kind counts as known.
 */
#include "content_table.h"

#define MOST_NAMES 10

/* Members of messages, as contents.md has them, and those that the editions
 * wrote once, or leave out of what they read. */
static const char *const message_names[PDR_SHAPES][MOST_NAMES] = {
    [PDR_SHAPE_STATE] = {"role", "contents", "authorName", "createdAt",
                         "messageId", "additionalProperties"},
    [PDR_SHAPE_DOTNET] = {"role", "contents", "authorName", "createdAt",
                          "messageId", "additionalProperties"},
    [PDR_SHAPE_PYTHON] = {"type", "role", "contents", "author_name",
                          "message_id", "additional_properties", "text"},
    [PDR_SHAPE_SK] = {"$type", "Role", "Items", "AuthorName", "Metadata",
                      "ModelId", "MimeType", "Encoding", "Content", "label"},
};

static bool message_has(const pdr_value *name, pdr_shape shape)
{
    for (size_t i = 0; i < MOST_NAMES; i++) {
        const char *known = message_names[shape][i];

        if (known != NULL && pdr__name_is(name, known, shape))
            return true;
    }
    return false;
}

static bool content_has(const pdr_value *name, pdr_content_kind kind,
                        pdr_shape shape)
{
    struct content_members all = pdr__content_members(kind);
    struct content_order order = pdr__content_order(shape);

    if (pdr__name_is(name, pdr__type_name(shape), shape) ||
        pdr__name_is(name, pdr__properties_name(shape), shape) ||
        pdr__name_is(name, "annotations", shape))
        return true;
    for (size_t i = 0; i < order.count; i++) {
        if (pdr__name_is(name, order.names[i], shape))
            return true;
    }
    for (size_t i = 0; i < all.count; i++) {
        if (all.rows[i].names[shape] != NULL &&
            pdr__name_is(name, all.rows[i].names[shape], shape))
            return true;
    }
    return false;
}

/* Go down to a member, by its name. */
static pdr_rc member_enter(size_t *mark, struct finder *finder,
                           const pdr_value *name, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&text, name, &scratch, err);

    if (rc == PDR_OK)
        *mark = pdr__finder_name(finder, text);
    pdr_buf_dispose(&scratch);
    return rc;
}

pdr_rc pdr__member_tell(struct finder *finder, const pdr_value *name,
                        pdr_err *err)
{
    size_t mark = 0;
    pdr_rc rc = member_enter(&mark, finder, name, err);

    if (rc != PDR_OK)
        return rc;
    rc = pdr__finder_tell(finder, "member-unknown", PDR_SEVERITY_INFO, err,
                          "no edition knows this member; it is kept");
    pdr__finder_up(finder, mark);
    return rc;
}

static pdr_rc content_check(struct finder *finder, const pdr_value *content,
                            pdr_shape shape, pdr_err *err)
{
    const pdr_content_kind kind = pdr_content_kind_of(content, shape);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (kind == PDR_CONTENT_OTHER)
        return pdr__finder_tell(finder, "content-kind-unknown",
                                PDR_SEVERITY_INFO, err,
                                "no edition knows this content; it is kept");
    pdr_iter_init(&it, content);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!content_has(it.name, kind, shape))
            rc = pdr__member_tell(finder, it.name, err);
    }
    return rc;
}

pdr_rc pdr__message_check_members(struct finder *finder,
                                  const pdr_value *message, pdr_shape shape,
                                  pdr_err *err)
{
    const pdr_value *contents = pdr_message_contents(message, shape);
    pdr_iter it, inner;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_OK;
    pdr_iter_init(&it, message);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t list = 0;

        if (it.value != contents) {
            if (!message_has(it.name, shape))
                rc = pdr__member_tell(finder, it.name, err);
            continue;
        }
        rc = member_enter(&list, finder, it.name, err);
        if (rc != PDR_OK)
            return rc;
        pdr_iter_init(&inner, contents);
        while (rc == PDR_OK && pdr_iter_next(&inner)) {
            size_t one = pdr__finder_index(finder, inner.index);

            rc = content_check(finder, inner.value, shape, err);
            pdr__finder_up(finder, one);
        }
        pdr__finder_up(finder, list);
    }
    return rc;
}
