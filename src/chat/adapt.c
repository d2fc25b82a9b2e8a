/*
 * adapt.c - what others said, as an agent is told it.
 *
 * WHY  A model takes every message of role "assistant" for one of its own, so
 *      in a chat it answers for the others too. And calls of tools that it does
 *      not have teach it to make them. The log stays as it is, and so does what
 *      the agent said itself; the rest is put differently before it is sent.
 *
 *      log     user: Hi │ Ann: Red │ Ben: [call] │ Ben: Blue
 *      to Ann  user: Hi │ assistant: Red │       │ user (Ben): Blue
 */
#include "chat.h"

#include "doc.h"

/* An answer of an agent of this name; of one without a name, without one. */
static bool is_own(const pdr_value *message, pdr_str name)
{
    const pdr_value *role = pdr_message_role(message, PDR_SHAPE_SK);
    const pdr_value *author = pdr_message_author(message, PDR_SHAPE_SK);

    if (role != NULL && pdr__is_folded(role, PDR_LIT("user")))
        return false;
    return author != NULL ? pdr_value_text_is(author, name) : name.len == 0;
}

/* The items of a message, without calls and results if `is_plain`. The first
 * text begins with the name of its author if that is not empty. */
static pdr_rc items_adapt(pdr_value **out, const pdr_value *message,
                          bool is_plain, pdr_str author, pdr_err *err)
{
    pdr_value *list = pdr_value_new_array(), *item = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_SK));
    while (pdr_iter_next(&it)) {
        pdr_content_kind kind = pdr_content_kind_of(it.value, PDR_SHAPE_SK);
        const pdr_value *said =
            kind == PDR_CONTENT_TEXT
                ? pdr_content_get(it.value, PDR_SHAPE_SK, PDR_FIELD_TEXT)
                : NULL;
        pdr_str bytes = {NULL, 0};

        if (is_plain &&
            (kind == PDR_CONTENT_CALL || kind == PDR_CONTENT_RESULT))
            continue;
        item = pdr_value_ref(it.value);
        if (said != NULL && author.len > 0) {
            PDR_TRY(pdr__value_sound_text(&bytes, said, &scratch, err));
            PDR_TRY(pdr_buf_printf(&text, err, "%.*s: %.*s", (int)author.len,
                                   author.ptr, (int)bytes.len, bytes.ptr));
            pdr_value_free(item);
            item = NULL;
            PDR_TRY(pdr_content_new_text(&item, PDR_SHAPE_SK,
                                         pdr_buf_str(&text), err));
            author.len = 0;
        }
        PDR_TRY(pdr_value_append(&list, item, err));
        pdr_value_free(item);
        item = NULL;
    }
    *out = list;
    list = NULL;
done:
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&text);
    pdr_value_free(item);
    pdr_value_free(list);
    return rc;
}

pdr_rc pdr__message_adapt(pdr_value **out, const pdr_value *message,
                          const pdr_chat_adapter *adapter, pdr_str name,
                          pdr_err *err)
{
    const bool has_traffic = pdr__is_tool_traffic(message);
    const pdr_value *role = pdr_message_role(message, PDR_SHAPE_SK);
    const pdr_value *author = pdr_message_author(message, PDR_SHAPE_SK);
    const pdr_str nobody = {NULL, 0};
    pdr_message_parts parts = {.author = nobody};
    pdr_buf names = PDR_BUF_INIT(SIZE_MAX), roles = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *items = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (role == NULL || is_own(message, name) ||
        (has_traffic && adapter->traffic == PDR_TRAFFIC_KEEP)) {
        *out = pdr_value_ref(message);
        return PDR_OK;
    }
    if (has_traffic && adapter->traffic == PDR_TRAFFIC_DROP)
        return PDR_OK;
    if (author != NULL)
        PDR_TRY(pdr__value_sound_text(&parts.author, author, &names, err));
    PDR_TRY(pdr__value_sound_text(&parts.role, role, &roles, err));
    PDR_TRY(items_adapt(&items, message, has_traffic,
                        adapter->has_names ? parts.author : nobody, err));
    if (adapter->others_as_user && pdr__is_folded(role, PDR_LIT("assistant")))
        parts.role = PDR_LIT("user");
    parts.contents = items;
    if (!has_traffic || pdr_value_count(items) > 0)
        PDR_TRY(pdr_message_new(out, PDR_SHAPE_SK, &parts, err));
done:
    pdr_value_free(items);
    pdr_buf_dispose(&names);
    pdr_buf_dispose(&roles);
    return rc;
}
