/*
 * opbody.c - what the rows of operations hold.
 *
 *     operation   {"name":"run","known":true,"trace":"...","input":{...}}
 *     outcome     {"state":"failed","code":...}
 *
 * WHY  An engine stands on a store alone and reads no JSON. So its own members
 *      come first, in one spelling, and what an entity wrote comes after them
 * as it is.
 */
#include "engine.h"

static const char *const state_words[] = {
    [PDR_OPERATION_OPEN] = "open",
    [PDR_OPERATION_COMPLETED] = "completed",
    [PDR_OPERATION_FAILED] = "failed",
    [PDR_OPERATION_CANCELLED] = "cancelled",
};

/* Texts that are the same in JSON as they are. */
static bool is_plain(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < ' ' || text.ptr[i] > '~' || text.ptr[i] == '"' ||
            text.ptr[i] == '\\')
            return false;
    }
    return true;
}

pdr_rc pdr__opbody_check(const struct pdr__opbody *body, pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (body->name.len == 0 || body->name.len > PDR_MAX_KIND_BYTES ||
        !is_plain(body->name))
        return PDR_FAIL(err, BAD_OPERATION,
                        "the name of an operation has 1 to %u printable ASCII "
                        "characters, this is '%s'",
                        PDR_MAX_KIND_BYTES, pdr__shown(shown, body->name));
    if (body->trace.len > PDR_MAX_KIND_BYTES || !is_plain(body->trace))
        return PDR_FAIL(err, BAD_OPERATION,
                        "a trace id has at most %u printable ASCII characters, "
                        "this is '%s'",
                        PDR_MAX_KIND_BYTES, pdr__shown(shown, body->trace));
    return PDR_OK;
}

bool pdr__work_is(const pdr_work *row, const char *kind)
{
    return pdr_str_equal(row->kind, pdr_str_c(kind));
}

pdr_rc pdr__opbody_write(pdr_buf *out, const struct pdr__opbody *body,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(out, err, "{\"name\":\"%.*s\"%s",
                           (int)body->name.len, body->name.ptr,
                           body->is_known ? ",\"known\":true" : ""));
    if (body->trace.len > 0)
        PDR_TRY(pdr_buf_printf(out, err, ",\"trace\":\"%.*s\"",
                               (int)body->trace.len, body->trace.ptr));
    if (body->input.ptr != NULL) {
        PDR_TRY(pdr_buf_append(out, PDR_LIT(",\"input\":"), err));
        PDR_TRY(pdr_buf_append(out, body->input, err));
    }
    PDR_TRY(pdr_buf_append(out, PDR_LIT("}"), err));
done:
    return rc;
}

/* Is this what comes next? Then go past it. */
static bool text_skip(pdr_str *io, const char *next)
{
    size_t len = strlen(next);

    if (io->len < len || memcmp(io->ptr, next, len) != 0)
        return false;
    *io = pdr_str_n(io->ptr + len, io->len - len);
    return true;
}

/* The rest of a plain string, past its closing quote. */
static bool text_take(pdr_str *out, pdr_str *io)
{
    const char *end = memchr(io->ptr, '"', io->len);

    if (end == NULL)
        return false;
    *out = pdr_str_n(io->ptr, (size_t)(end - io->ptr));
    *io = pdr_str_n(end + 1, io->len - out->len - 1);
    return true;
}

pdr_rc pdr__opbody_read(struct pdr__opbody *out, pdr_str text, pdr_err *err)
{
    pdr_str rest = text;
    bool is_good = false;

    memset(out, 0, sizeof(*out));
    is_good = text_skip(&rest, "{\"name\":\"") && text_take(&out->name, &rest);
    out->is_known = is_good && text_skip(&rest, ",\"known\":true");
    if (is_good && text_skip(&rest, ",\"trace\":\""))
        is_good = text_take(&out->trace, &rest);
    if (is_good && text_skip(&rest, ",\"input\":")) {
        is_good = rest.len > 1 && rest.ptr[rest.len - 1] == '}';
        out->input = pdr_str_n(rest.ptr, is_good ? rest.len - 1 : 0);
    } else {
        is_good = is_good && pdr_str_equal(rest, PDR_LIT("}"));
    }
    return is_good ? PDR_OK
                   : PDR_FAIL(err, BAD_OPERATION, "%s",
                              "an operation in the store is not one that an "
                              "engine wrote");
}

pdr_rc pdr__outcome_write(pdr_buf *out, pdr_operation_state state, pdr_str more,
                          pdr_err *err)
{
    return pdr_buf_printf(out, err, "{\"state\":\"%s\"%s%.*s}",
                          state_words[state], more.len > 0 ? "," : "",
                          (int)more.len, more.ptr != NULL ? more.ptr : "");
}

pdr_operation_state pdr__outcome_state(pdr_str outcome)
{
    pdr_str rest = outcome, word = {NULL, 0};

    if (text_skip(&rest, "{\"state\":\"") && text_take(&word, &rest)) {
        for (size_t i = 0; i < PDR_COUNT(state_words); i++) {
            if (pdr_str_equal(word, pdr_str_c(state_words[i])))
                return (pdr_operation_state)i;
        }
    }
    return PDR_OPERATION_COMPLETED; /* somebody else's word for an end */
}
