/*
 * answer.c - what runs leave, as replies have it.
 */
#include <perdure/doc.h>
#include <perdure/json.h>

#include "http.h"

#include "core.h"

pdr_rc pdr__answer_text(pdr_buf *out, const pdr_value *answer, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (answer == NULL)
        return PDR_OK;
    pdr_iter_init(&it, pdr_entry_messages(answer));
    while (pdr_iter_next(&it))
        PDR_TRY(pdr_message_text(out, it.value, PDR_SHAPE_STATE, err));
done:
    return rc;
}

/* "authorName" becomes "AuthorName". */
static pdr_rc put_pascal_name(pdr_builder *to, const pdr_value *name,
                              pdr_err *err)
{
    pdr_buf made = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES), scratch = made;
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__value_sound_text(&text, name, &scratch, err));
    PDR_TRY(pdr_buf_append(&made, text, err));
    if (made.len > 0 && made.ptr[0] >= 'a' && made.ptr[0] <= 'z')
        made.ptr[0] = (char)(made.ptr[0] - 'a' + 'A');
    pdr_builder_name(to, pdr_buf_str(&made));
done:
    pdr_buf_dispose(&made);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* The members of an object, but nulls, with their values as they are. */
static pdr_rc put_members(pdr_builder *to, const pdr_value *object,
                          const char *const *kept, const char *but,
                          pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        bool is_kept = false;

        if (pdr_value_kind(it.value) == PDR_NULL ||
            (but != NULL && pdr_value_text_is(it.name, pdr_str_c(but))))
            continue;
        for (const char *const *name = kept; *name != NULL; name++)
            is_kept |= pdr_value_text_is(it.name, pdr_str_c(*name));
        if (is_kept) {
            pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
            pdr_str text = {NULL, 0};

            rc = pdr__value_sound_text(&text, it.name, &scratch, err);
            if (rc == PDR_OK)
                pdr_builder_name(to, text);
            pdr_buf_dispose(&scratch);
            PDR_TRY(rc);
        } else {
            PDR_TRY(put_pascal_name(to, it.name, err));
        }
        pdr_builder_value(to, it.value);
    }
done:
    return rc;
}

static pdr_rc put_message(pdr_builder *to, const pdr_value *message,
                          pdr_err *err)
{
    static const char *const typed[] = {"$type", NULL};
    pdr_value *made = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_message_convert(&made, message, PDR_SHAPE_STATE,
                                PDR_SHAPE_DOTNET, err));
    pdr_builder_object(to);
    PDR_TRY(put_members(to, made, typed + 1, "contents", err));
    pdr_builder_name(to, PDR_LIT("Contents"));
    pdr_builder_array(to);
    pdr_iter_init(&it, pdr_message_contents(made, PDR_SHAPE_DOTNET));
    while (pdr_iter_next(&it)) {
        pdr_builder_object(to);
        if (pdr_value_kind(it.value) == PDR_OBJECT)
            PDR_TRY(put_members(to, it.value, typed, NULL, err));
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    pdr_builder_end(to);
done:
    pdr_value_free(made);
    return rc;
}

pdr_rc pdr__put_pascal(pdr_builder *to, const pdr_value *answer, pdr_err *err)
{
    static const char *const camel[] = {
        "inputAudioTokenCount", "inputTextTokenCount", "outputAudioTokenCount",
        "outputTextTokenCount", NULL};
    const pdr_value *usage = NULL, *created = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("Messages"));
    pdr_builder_array(to);
    if (answer != NULL) {
        usage = pdr_entry_usage(answer);
        created = pdr_value_get_c(answer, "createdAt");
        pdr_iter_init(&it, pdr_entry_messages(answer));
        while (pdr_iter_next(&it))
            PDR_TRY(put_message(to, it.value, err));
    }
    pdr_builder_end(to);
    if (created != NULL && pdr_value_kind(created) == PDR_STRING) {
        pdr_builder_name(to, PDR_LIT("CreatedAt"));
        pdr_builder_value(to, created);
    }
    if (usage != NULL && pdr_value_kind(usage) == PDR_OBJECT) {
        pdr_builder_name(to, PDR_LIT("Usage"));
        pdr_builder_object(to);
        PDR_TRY(put_members(to, usage, camel, NULL, err));
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
done:
    return rc;
}

pdr_rc pdr__outcome_read(pdr_value **out, const pdr_ending *ending,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (ending->outcome.ptr == NULL)
        return PDR_OK;
    PDR_TRY(pdr_json_read(out, ending->outcome, NULL, err));
    if (pdr_value_kind(*out) != PDR_OBJECT) {
        pdr_value_free(*out);
        *out = NULL;
    }
done:
    return rc;
}

pdr_rc pdr__outcome_text(pdr_str *out, const pdr_value *outcome,
                         const char *name, pdr_buf *scratch, pdr_err *err)
{
    const pdr_value *member =
        outcome != NULL ? pdr_value_get_c(outcome, name) : NULL;

    if (member == NULL || pdr_value_kind(member) != PDR_STRING)
        return PDR_OK;
    return pdr__value_sound_text(out, member, scratch, err);
}

pdr_rc pdr__percent_encode(pdr_buf *out, pdr_str text, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                        c == '.' || c == '~';

        if (is_plain)
            PDR_TRY(pdr_buf_append(out, pdr_str_n(&c, 1), err));
        else
            PDR_TRY(pdr_buf_printf(out, err, "%%%02X", (unsigned char)c));
    }
done:
    return rc;
}

pdr_rc pdr__response_path(pdr_buf *out, const struct pdr__exchange *x,
                          const pdr_service_agent *agent, pdr_str key,
                          pdr_str correlation, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, x->server->base, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("/agents/"), err));
    PDR_TRY(
        pdr__percent_encode(out, pdr_agent_name(agent->durable.agent), err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("/sessions/"), err));
    PDR_TRY(pdr__percent_encode(out, key, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("/responses/"), err));
    PDR_TRY(pdr__percent_encode(out, correlation, err));
done:
    return rc;
}
