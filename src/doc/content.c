/*
 * content.c - one table of all kinds of messages and contents.
 *
 * WHY  State documents, .NET sessions and Python sessions say the same things
 *      in three spellings. The table knows them all, so that nobody else has to
 *      know that a tool call is a `function_call` somewhere.
 */
#include "doc.h"

/* Discriminators by kind and shape; "" where a shape has no such kind. */
static const char *const type_names[][3] = {{"", "", ""},
#define CONTENT_ROW(name, state, dotnet, python) {state, dotnet, python},
                                            PDR_CONTENT_MAP(CONTENT_ROW)
#undef CONTENT_ROW
};

static const char *type_member(pdr_shape shape)
{
    return shape == PDR_SHAPE_PYTHON ? "type" : "$type";
}

pdr_content_kind pdr_content_kind_of(const pdr_value *content, pdr_shape shape)
{
    const pdr_value *type = pdr_value_get_c(content, type_member(shape));

    if (type == NULL)
        return PDR_CONTENT_OTHER;
    for (size_t i = 1; i < PDR_COUNT(type_names); i++) {
        const char *name = type_names[i][shape];

        if (name[0] != '\0' && pdr_value_text_is(type, pdr_str_c(name)))
            return (pdr_content_kind)i;
    }
    return PDR_CONTENT_OTHER;
}

const char *pdr_content_kind_name(pdr_content_kind kind, pdr_shape shape)
{
    return type_names[kind][shape];
}

/* --- messages ------------------------------------------------------------ */

/* Names of the parts of a message, by shape. */
static const struct {
    const char *role, *author, *id, *contents, *properties;
} message_names[] = {
    {"role", "authorName", "messageId", "contents", "additionalProperties"},
    {"role", "authorName", "messageId", "contents", "additionalProperties"},
    {"role", "author_name", "message_id", "contents", "additional_properties"},
};

const pdr_value *pdr_message_role(const pdr_value *message, pdr_shape shape)
{
    const pdr_value *role = pdr_value_get_c(message, message_names[shape].role);

    if (shape == PDR_SHAPE_PYTHON && role != NULL &&
        pdr_value_kind(role) == PDR_OBJECT)
        return pdr__member(role, "value", PDR_STRING);
    return role != NULL && pdr_value_kind(role) == PDR_STRING ? role : NULL;
}

const pdr_value *pdr_message_author(const pdr_value *message, pdr_shape shape)
{
    return pdr__member(message, message_names[shape].author, PDR_STRING);
}

const pdr_value *pdr_message_id(const pdr_value *message, pdr_shape shape)
{
    return pdr__member(message, message_names[shape].id, PDR_STRING);
}

const pdr_value *pdr_message_contents(const pdr_value *message, pdr_shape shape)
{
    return pdr__member(message, message_names[shape].contents, PDR_ARRAY);
}

const pdr_value *pdr_message_properties(const pdr_value *message,
                                        pdr_shape shape)
{
    return pdr__member(message, message_names[shape].properties, PDR_OBJECT);
}

bool pdr_message_created_at(pdr_datetime *out, const pdr_value *message,
                            pdr_shape shape)
{
    return shape != PDR_SHAPE_PYTHON &&
           pdr__member_datetime(out, message, "createdAt");
}
