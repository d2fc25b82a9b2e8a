/*
 * project.c - an entry in a document of another shape than its own.
 *
 * WHY  A session came in as a .NET or Python document, and a run has added
 *      entries of the state shape since; or messages of one edition are in
 *      the history of the other. A history holds messages: those of the entry,
 *      each in the shape of the document. The other way there is nothing
 *      honest: an entry of a state document is a request or a response, and a
 *      message alone does not say whose. Nor is there for what is not a
 * message: in a history it would be read as one.
 *
 * NOT HERE  How a message is converted: perdure/content.h.
 */
#include <inttypes.h>

#include "export.h"

#include <perdure/json.h>

#include "doc.h"
#include "retain.h"

static pdr_rc refuse_entry(const pdr_entry *entry, const char *what,
                           pdr_err *err)
{
    return PDR_FAIL(err, CANNOT_EXPORT, "entry %" PRIu64 " %s", entry->seq,
                    what);
}

/* One message in its new shape. */
static pdr_rc give_message(const pdr_entry *entry, const pdr_value *message,
                           const struct pdr__frame *to, pdr_err *err,
                           pdr__message_fn fn, void *arg)
{
    size_t above =
        to->bag != NULL ? PDR_LEVELS_ABOVE_MESSAGE : PDR_LEVELS_ABOVE_THREAD;
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_message_convert(&made, message, pdr__shape_of_row(entry->shape),
                                pdr__shape_of_row(to->shape), err));
    if (pdr__levels(made) > PDR_DEFAULT_DEPTH - above)
        PDR_TRY(PDR_FAIL(err, TOO_DEEP,
                         "entry %" PRIu64 " has a message that would stand "
                         "too deep in the document",
                         entry->seq));
    PDR_TRY(pdr_json_write(&text, made, NULL, err));
    PDR_TRY(fn(pdr_buf_str(&text), err, arg));
done:
    pdr_value_free(made);
    pdr_buf_dispose(&text);
    return rc;
}

/* Is it one message, or a list of them? */
static bool has_messages(const pdr_entry *entry)
{
    return entry->kind == PDR_ROW_REQUEST || entry->kind == PDR_ROW_RESPONSE ||
           (entry->kind == PDR_ROW_MESSAGE && entry->shape != PDR_ROW_STATE);
}

bool pdr__entry_fits(const pdr_entry *entry, pdr_row_shape shape)
{
    if (entry->shape != shape)
        return false;
    return shape == PDR_ROW_STATE ? entry->kind != PDR_ROW_MESSAGE
                                  : has_messages(entry);
}

pdr_rc pdr__entry_project(const pdr_entry *entry, const struct pdr__frame *to,
                          pdr_err *err, pdr__message_fn fn, void *arg)
{
    const pdr_value *messages = NULL;
    pdr_value *body = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (to->shape == PDR_ROW_STATE)
        return refuse_entry(
            entry,
            "is a message alone, and a state document holds requests "
            "and responses only: append it as one of these in the "
            "state shape",
            err);
    if (entry->shape > PDR_ROW_SK)
        return refuse_entry(
            entry, "has a shape that only a newer perdure can convert", err);
    if (!has_messages(entry))
        return refuse_entry(
            entry,
            "is neither a request nor a response, and a history "
            "holds messages only: remove it by retention",
            err);
    rc = pdr_json_read_borrowed(&body, entry->body, NULL, err);
    if (rc != PDR_OK && rc != PDR_ENOMEM)
        return refuse_entry(
            entry,
            "is no JSON, so that it cannot be written in the shape "
            "of the document: remove it by retention",
            err);
    if (rc != PDR_OK)
        return rc;
    if (entry->shape != PDR_ROW_STATE) {
        rc = give_message(entry, body, to, err, fn, arg);
        goto done;
    }
    messages = pdr_value_get_c(body, "messages");
    if (!pdr__is_nothing(messages) && pdr_value_kind(messages) != PDR_ARRAY)
        PDR_TRY(refuse_entry(entry,
                             "has messages that are no list, which no history "
                             "can hold: remove it by retention",
                             err));
    pdr_iter_init(&it, messages);
    while (pdr_iter_next(&it))
        PDR_TRY(give_message(entry, it.value, to, err, fn, arg));
done:
    pdr_value_free(body);
    return rc;
}
