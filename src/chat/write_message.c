/*
 * write_message.c - one message, in the shape that a form wants.
 *
 *     {"AuthorName":"Counter","Role":{"Label":"assistant"},"Items":[...]}
 *     {"role":"assistant","name":"Counter","items":[...]}
 *
 * The first is that of Semantic Kernel, the second the sketch of its decision
 * record. A message that is neither, or has something in these members that the
 * other shape cannot say, is written as it is: nothing is made up.
 */
#include <stdio.h>

#include "document.h"

static bool is_text_or_nothing(const pdr_value *value)
{
    return pdr__is_nothing(value) || pdr_value_kind(value) == PDR_STRING;
}

static bool is_list_or_nothing(const pdr_value *value)
{
    return pdr__is_nothing(value) || pdr_value_kind(value) == PDR_ARRAY;
}

static bool has_any(const pdr_value *message, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (pdr_value_get_c(message, *names) != NULL)
            return true;
    }
    return false;
}

/* Author, role and contents, in this order. */
static const char *const sk_names[] = {"AuthorName", "Role", "Items", NULL};
static const char *const sketch_names[] = {"name", "role", "items", NULL};
/* What else a saved message has there, but for the last one. */
static const char *const sk_others[] = {"ModelId", "MimeType", "Metadata",
                                        NULL};

/* Is none of these members there twice? */
static bool has_each_once(const pdr_value *message, const char *const *names)
{
    pdr_iter it;

    for (; *names != NULL; names++) {
        size_t found = 0;

        pdr_iter_init(&it, message);
        while (pdr_iter_next(&it))
            found += string_is(it.name, pdr_str_c(*names));
        if (found > 1)
            return false;
    }
    return true;
}

static bool is_sketch(const pdr_value *message)
{
    return pdr__member(message, "role", PDR_STRING) != NULL &&
           is_text_or_nothing(pdr_value_get_c(message, "name")) &&
           is_list_or_nothing(pdr_value_get_c(message, "items")) &&
           has_each_once(message, sketch_names) && !has_any(message, sk_names);
}

static bool is_sk(const pdr_value *message)
{
    return is_list_or_nothing(pdr_value_get_c(message, "Items")) &&
           has_each_once(message, sk_names) &&
           has_each_once(message, sk_others);
}

/* --- Semantic Kernel -------------------------------------------------------
 */

static void put_net_member(struct out *out, bool *is_first,
                           const pdr_value *name, const pdr_value *value,
                           bool has_plus)
{
    if (!*is_first)
        pdr__put_c(out, ",");
    *is_first = false;
    pdr__put_net_string(out, name, false);
    pdr__put_c(out, ":");
    if (has_plus && pdr_value_kind(value) == PDR_STRING)
        pdr__put_net_string(out, value, true);
    else
        pdr__put_net_value(out, value);
}

/* A content: its type first, which the reader there needs, and the base64 of
 * its data with a plain "+", as .NET writes it. */
static void put_item(struct out *out, const pdr_value *item)
{
    const pdr_value *type = pdr_value_get_c(item, "$type");
    bool is_first = false;
    pdr_iter it;

    if (type == NULL) {
        pdr__put_net_value(out, item);
        return;
    }
    pdr__put_c(out, "{\"$type\":");
    pdr__put_net_value(out, type);
    pdr_iter_init(&it, item);
    while (pdr_iter_next(&it)) {
        if (!string_is(it.name, PDR_LIT("$type")))
            put_net_member(out, &is_first, it.name, it.value,
                           string_is(it.name, PDR_LIT("Data")));
    }
    pdr__put_c(out, "}");
}

void pdr__put_sk_message(struct out *out, const pdr_value *message,
                         bool as_read)
{
    bool sketched = is_sketch(message), is_first = false;
    const char *const *names = sketched ? sketch_names : sk_names;
    const pdr_value *author = pdr_value_get_c(message, names[0]);
    const pdr_value *role = pdr_value_get_c(message, names[1]);
    pdr_iter it;

    if (as_read && !sketched) {
        pdr__put_value(out, message);
        return;
    }
    if (!sketched && !is_sk(message)) {
        pdr__put_net_value(out, message);
        return;
    }
    pdr__put_c(out, "{\"AuthorName\":");
    pdr__put_net_value(out, author != NULL ? author : pdr_value_new_null());
    if (role != NULL) {
        bool is_text = pdr_value_kind(role) == PDR_STRING;

        pdr__put_c(out, is_text ? ",\"Role\":{\"Label\":" : ",\"Role\":");
        pdr__put_net_value(out, role);
        pdr__put_c(out, is_text ? "}" : "");
    }
    pdr__put_c(out, ",\"Items\":[");
    pdr_iter_init(&it, pdr_value_get_c(message, names[2]));
    while (pdr_iter_next(&it)) {
        if (it.index > 0)
            pdr__put_c(out, ",");
        put_item(out, it.value);
    }
    pdr__put_c(out, "]");
    for (size_t i = 0; i < 2; i++) {
        const pdr_value *value = pdr_value_get_c(message, sk_others[i]);

        if (pdr__is_nothing(value))
            continue;
        pdr__put_c(out, i == 0 ? ",\"ModelId\":" : ",\"MimeType\":");
        pdr__put_net_value(out, value);
    }
    pdr_iter_init(&it, message);
    while (pdr_iter_next(&it)) {
        if (!pdr__is_one_of(it.name, names) &&
            !pdr__is_one_of(it.name, sk_others))
            put_net_member(out, &is_first, it.name, it.value, false);
    }
    pdr__put_c(out, "}");
}

/* --- what its reader refuses -----------------------------------------------
 */

/* Contents that it knows, and the texts that they need. */
static const struct {
    const char *type, *needs[2];
} sk_contents[] = {{"TextContent", {NULL}},
                   {"ImageContent", {NULL}},
                   {"AudioContent", {NULL}},
                   {"BinaryContent", {NULL}},
                   {"FunctionCallContent", {"FunctionName"}},
                   {"FunctionResultContent", {NULL}},
                   {"AnnotationContent", {"Label", "ReferenceId"}},
                   {"FileReferenceContent", {"FileId"}},
                   {"ReasoningContent", {NULL}},
                   {"ActionContent", {"Text"}},
                   {"ChatMessageContent", {NULL}}};

static bool has_text(const pdr_value *object, const char *name)
{
    const pdr_value *text = pdr__member(object, name, PDR_STRING);

    return text != NULL && !pdr__text_is_blank(text);
}

static bool item_fits(const pdr_value *item)
{
    const pdr_value *type = pdr__member(item, "$type", PDR_STRING);

    for (size_t i = 0; type != NULL && i < PDR_COUNT(sk_contents); i++) {
        const char *const *needs = sk_contents[i].needs;

        if (string_is(type, pdr_str_c(sk_contents[i].type)))
            return (needs[0] == NULL || has_text(item, needs[0])) &&
                   (needs[1] == NULL || has_text(item, needs[1]));
    }
    return false;
}

pdr_rc pdr__sk_message_check(const pdr_value *message, bool as_read,
                             pdr_err *err, const char *where)
{
    bool sketched = is_sketch(message);
    const char *const *names = sketched ? sketch_names : sk_names;
    const pdr_value *role = pdr_value_get_c(message, names[1]);
    place items, here;
    pdr_iter it;

    if (as_read && !sketched)
        return PDR_OK;
    if (!sketched && !is_sk(message))
        return FAIL_PLACE(err, where, CANNOT_CARRY, "%s",
                          "the message has a member twice, or contents that "
                          "are not a list: Semantic Kernel cannot read it");
    if (role != NULL &&
        (pdr_value_kind(role) == PDR_STRING ? pdr__text_is_blank(role)
                                            : !has_text(role, "Label")))
        return FAIL_PLACE(err, where, CANNOT_CARRY, "%s",
                          "the message has a role without a name: Semantic "
                          "Kernel cannot read it");
    (void)snprintf(items, sizeof(items), "%s/%s", where, names[2]);
    pdr_iter_init(&it, pdr_value_get_c(message, names[2]));
    while (pdr_iter_next(&it)) {
        if (!item_fits(it.value))
            return FAIL_PLACE(err, pdr__place_at(here, items, it.index),
                              CANNOT_CARRY, "%s",
                              "Semantic Kernel cannot read this content: it "
                              "does not know its '$type', or a text that it "
                              "needs is missing");
    }
    return PDR_OK;
}

/* --- the sketch ------------------------------------------------------------
 */

/* Can the sketch say it? A role without a text cannot be. */
static bool fits_sketch(const pdr_value *message)
{
    const pdr_value *role = pdr_value_get_c(message, "Role");

    return role != NULL && pdr_value_count(role) == 1 &&
           pdr__member(role, "Label", PDR_STRING) != NULL &&
           is_text_or_nothing(pdr_value_get_c(message, "AuthorName")) &&
           is_sk(message) && !has_any(message, sketch_names);
}

void pdr__put_sketch(struct out *out, const pdr_value *message)
{
    const pdr_value *author = pdr_value_get_c(message, "AuthorName");
    const pdr_value *items = pdr_value_get_c(message, "Items");
    pdr_iter it;

    if (!fits_sketch(message)) {
        pdr__put_value(out, message);
        return;
    }
    pdr__put_c(out, "{\"role\":");
    pdr__put_value(out,
                   pdr_value_get_c(pdr_value_get_c(message, "Role"), "Label"));
    if (!pdr__is_nothing(author)) {
        pdr__put_c(out, ",\"name\":");
        pdr__put_value(out, author);
    }
    pdr__put_c(out, ",\"items\":");
    pdr__put_value(out, pdr__is_nothing(items) ? pdr_value_new_array() : items);
    pdr_iter_init(&it, message);
    while (pdr_iter_next(&it)) {
        if (pdr__is_one_of(it.name, sk_names))
            continue;
        pdr__put_c(out, ",");
        pdr__put_value(out, it.name);
        pdr__put_c(out, ":");
        pdr__put_value(out, it.value);
    }
    pdr__put_c(out, "}");
}
