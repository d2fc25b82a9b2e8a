/*
 * calls.c - which calls wait for a result, and in which turn they are.
 *
 * WHY  A model refuses a conversation that has the result of a call and not the
 *      call. So the history may not be cut between the two. Who answers whom is
 *      decided as for state documents (doc/pairs.c), but in one go over
 *      entries of any length, and in every shape.
 *
 * How: a result answers a call with its id that comes before it. When a later
 * message uses an id again, results go to that message from then on. Within a
 * message there may be several calls with one id. Items without an id go with
 * each other. A request for an approval and its response are such a pair, too;
 * the call inside the request is one.
 *
 * MEMORY  One record for each id that waits, however long the history is.
 */
#include "retain.h"

#include <perdure/doc.h>
#include <perdure/json.h>

#include "doc.h"

/* Calls with one id, of one message, that wait. */
struct open_call {
    uint64_t turn;
    uint64_t seq; /* the message: its entry, and its place in there */
    size_t message;
    size_t count;
    bool is_gone; /* its message was left out */
};

enum role { NOTHING, CALL, RESULT, REQUEST, RESPONSE };

static const uint8_t roles[] = {
    [PDR_CONTENT_CALL] = CALL,
    [PDR_CONTENT_RESULT] = RESULT,
    [PDR_CONTENT_APPROVAL_REQUEST] = REQUEST,
    [PDR_CONTENT_APPROVAL_RESPONSE] = RESPONSE,
    [PDR_CONTENT_MCP_CALL] = CALL,
    [PDR_CONTENT_MCP_RESULT] = RESULT,
    [PDR_CONTENT_CODE_CALL] = CALL,
    [PDR_CONTENT_CODE_RESULT] = RESULT,
    [PDR_CONTENT_IMAGE_CALL] = CALL,
    [PDR_CONTENT_IMAGE_RESULT] = RESULT,
    [PDR_CONTENT_SEARCH_CALL] = CALL,
    [PDR_CONTENT_SEARCH_RESULT] = RESULT,
    [PDR_CONTENT_TOOL_CALL] = CALL,
    [PDR_CONTENT_TOOL_RESULT] = RESULT,
    [PDR_CONTENT_INPUT_REQUEST] = REQUEST,
    [PDR_CONTENT_INPUT_RESPONSE] = RESPONSE,
    [PDR_CONTENT_SHELL_CALL] = CALL,
    [PDR_CONTENT_SHELL_RESULT] = RESULT,
    [PDR_CONTENT_COMPUTER_CALL] = CALL,
    [PDR_CONTENT_COMPUTER_RESULT] = RESULT,
    [PDR_CONTENT_OLD_APPROVAL_REQUEST] = REQUEST,
    [PDR_CONTENT_OLD_APPROVAL_RESPONSE] = RESPONSE,
    [PDR_CONTENT_OLD_MCP_APPROVAL_REQUEST] = REQUEST,
    [PDR_CONTENT_OLD_MCP_APPROVAL_RESPONSE] = RESPONSE,
};

/* Where we are. */
struct place {
    struct pdr__calls *calls;
    uint64_t turn, seq;
    size_t message;
    uint64_t back;
    bool has_orphan; /* a result whose call is not there */
    pdr_err *err;
};

/* --- ids ----------------------------------------------------------------- */

/* The call with this id that waits, if there is one; the key stays in `key`.
 * `kind` tells ids of calls from those of requests: Python uses one text for
 * both. */
static pdr_rc find_call(struct open_call **out, struct place *at, char kind,
                        const pdr_value *id)
{
    struct pdr__calls *calls = at->calls;
    pdr_str text = PDR_LIT("");
    void *found = NULL;
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(&calls->key);
    if (id != NULL)
        PDR_TRY(pdr__value_name_bytes(&text, id, &calls->scratch, at->err));
    PDR_TRY(pdr_buf_append(&calls->key, pdr_str_n(&kind, 1), at->err));
    PDR_TRY(pdr_buf_append(&calls->key, text, at->err));
    if (pdr__map_get(&found, &calls->open, pdr_buf_str(&calls->key)))
        *out = found;
done:
    return rc;
}

/* The call that find_call() found waits no more. */
static void drop_call(struct pdr__calls *calls, struct open_call *call)
{
    if (call->turn < calls->limit)
        calls->waiting--;
    (void)pdr__map_remove(NULL, &calls->open, pdr_buf_str(&calls->key));
    pdr__free(call);
}

/* `again`: one with this id in this message is another one. */
static pdr_rc open_call(struct place *at, char kind, const pdr_value *id,
                        bool again)
{
    struct pdr__calls *calls = at->calls;
    struct open_call *call = NULL;
    pdr_rc rc = find_call(&call, at, kind, id);

    if (rc != PDR_OK)
        return rc;
    if (call != NULL && call->seq == at->seq && call->message == at->message) {
        call->count += again;
        return PDR_OK;
    }
    if (call != NULL)
        drop_call(calls, call); /* it stays alone */
    if (at->turn >= calls->limit)
        return PDR_OK;
    call = pdr__alloc(sizeof(*call));
    if (call == NULL)
        return pdr__nomem(at->err);
    *call = (struct open_call){at->turn, at->seq, at->message, 1, false};
    rc = pdr__map_put(NULL, &calls->open, pdr_buf_str(&calls->key), call,
                      at->err);
    if (rc != PDR_OK)
        pdr__free(call);
    else
        calls->waiting++;
    return rc;
}

static pdr_rc close_call(struct place *at, char kind, const pdr_value *id)
{
    struct open_call *call = NULL;
    pdr_rc rc = find_call(&call, at, kind, id);

    if (rc != PDR_OK)
        return rc;
    at->has_orphan |= kind == 'c' && (call == NULL || call->is_gone);
    if (call == NULL)
        return PDR_OK;
    if (call->turn < at->back)
        at->back = call->turn;
    if (!at->calls->keeps_answered && --call->count == 0)
        drop_call(at->calls, call);
    return PDR_OK;
}

/* --- contents ------------------------------------------------------------ */

static pdr_rc take_item(bool *taken, struct place *at, const pdr_value *content,
                        pdr_shape shape)
{
    const char *inner_id = shape == PDR_SHAPE_PYTHON ? "call_id" : "callId";
    size_t kind = (size_t)pdr_content_kind_of(content, shape);
    enum role role = kind < PDR_COUNT(roles) ? (enum role)roles[kind] : NOTHING;
    const pdr_value *call = pdr_content_get(content, shape, PDR_FIELD_CALL_ID);
    const pdr_value *request =
        pdr_content_get(content, shape, PDR_FIELD_REQUEST_ID);
    pdr_rc rc = PDR_OK;

    *taken = role != NOTHING;
    switch (role) {
    case NOTHING:
        return PDR_OK;
    case CALL:
        return open_call(at, 'c', call, true);
    case RESULT:
        return close_call(at, 'c', call);
    case REQUEST: /* and the call that somebody is asked to approve */
        rc = open_call(at, 'r', request, true);
        call = pdr_content_get(content, shape, PDR_FIELD_TOOL_CALL);
        call = pdr__find_member_of(call, inner_id, shape, PDR_STRING);
        return rc != PDR_OK || call == NULL ? rc
                                            : open_call(at, 'c', call, false);
    case RESPONSE:
        return close_call(at, 'r', request);
    }
    return PDR_OK;
}

/* The item inside a content that this shape has no kind for: a state document
 * has it in `content`, where a repair may have put a member "item" around it,
 * the others in their properties (docs/formats/contents.md). */
static const pdr_value *wrapped_item(const pdr_value *content, pdr_shape shape)
{
    const pdr_value *inner = NULL, *item = NULL;

    if (shape == PDR_SHAPE_STATE) {
        inner = pdr_content_get(content, shape, PDR_FIELD_CONTENT);
        item = pdr__member(inner, "item", PDR_OBJECT);
        return pdr_value_count(inner) == 1 && item != NULL ? item : inner;
    }
    inner = pdr_content_get(content, shape, PDR_FIELD_PROPERTIES);
    return pdr_value_get_c(pdr_value_get_c(inner, "perdure"), "content");
}

static pdr_rc take_message(struct place *at, const pdr_value *message,
                           pdr_shape shape)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(message, shape));
    while (pdr_iter_next(&it)) {
        const pdr_value *inner = NULL;
        bool taken = false;

        PDR_TRY(take_item(&taken, at, it.value, shape));
        if (!taken)
            inner = wrapped_item(it.value, shape);
        if (inner == NULL)
            continue;
        PDR_TRY(take_item(&taken, at, inner, PDR_SHAPE_DOTNET));
        if (!taken)
            PDR_TRY(take_item(&taken, at, inner, PDR_SHAPE_PYTHON));
    }
done:
    return rc;
}

pdr_rc pdr__calls_read_message(bool *has_orphan, struct pdr__calls *calls,
                               const pdr_value *message, pdr_shape shape,
                               uint64_t place, pdr_err *err)
{
    struct place at = {calls, 0, place, 0, PDR_NO_TURN, false, err};
    pdr_rc rc = take_message(&at, message, shape);

    *has_orphan = at.has_orphan;
    if (rc != PDR_OK || !at.has_orphan)
        return rc;
    /* Its own calls are the last ones in the map. */
    for (size_t i = calls->open.used; i > 0; i--) {
        const struct pdr__map_entry *entry = &calls->open.entries[i - 1];
        struct open_call *call = entry->value;

        if (entry->key.ptr == NULL) /* removed */
            continue;
        if (call->seq != place)
            break;
        call->is_gone = true;
    }
    return PDR_OK;
}

/* --- entries ------------------------------------------------------------- */

pdr_rc pdr__row_body(pdr_value **out, const pdr_entry *row, pdr_err *err)
{
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_err own = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (row->kind != PDR_ROW_REQUEST && row->kind != PDR_ROW_RESPONSE &&
        row->kind != PDR_ROW_MESSAGE)
        return PDR_OK;
    rc = pdr_json_read_borrowed(out, row->body, &opts, &own);
    return rc == PDR_OK || rc == PDR_EINVALID ? PDR_OK
                                              : pdr__err_pass(err, &own);
}

pdr_rc pdr__calls_read(uint64_t *back, struct pdr__calls *calls,
                       const pdr_entry *row, const pdr_value *body,
                       uint64_t turn, pdr_err *err)
{
    struct place at = {calls, turn, row->seq, 0, PDR_NO_TURN, false, err};
    pdr_shape shape = pdr__shape_of_row(row->shape);
    /* Only the state shape has a list of messages in an entry. */
    bool alone = row->kind == PDR_ROW_MESSAGE || row->shape != PDR_ROW_STATE;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *back = PDR_NO_TURN;
    if (alone)
        PDR_TRY(take_message(&at, body, shape));
    pdr_iter_init(&it, alone ? NULL : pdr_entry_messages(body));
    while (pdr_iter_next(&it)) {
        at.message = it.index;
        PDR_TRY(take_message(&at, it.value, shape));
    }
    *back = at.back;
done:
    return rc;
}

void pdr__calls_limit(struct pdr__calls *calls, uint64_t limit)
{
    calls->limit = limit;
    calls->waiting = 0;
    PDR_MAP_EACH (entry, &calls->open) {
        const struct open_call *call = entry->value;

        calls->waiting += call->turn < limit;
    }
}

void pdr__calls_dispose(struct pdr__calls *calls)
{
    PDR_MAP_EACH (entry, &calls->open)
        pdr__free(entry->value);
    pdr__map_dispose(&calls->open);
    pdr_buf_dispose(&calls->key);
    pdr_buf_dispose(&calls->scratch);
}
