/*
 * pairs.c - which tool result belongs to which tool call.
 *
 * WHY  A model refuses a conversation in which a call has no result, or a
 *      result no call. Ids tie them together, but ids get reused in later
 *      turns, are missing, or stand in the wrong order. The check and the
 *      repair have to agree on what is whose, so it is decided here, once.
 *
 * How: the contents are taken in the order in which a model sees them. A result
 * answers a call with its id that stands before it, in any entry: a client that
 * runs the tools itself sends the results with its next request. When a later
 * message uses an id again, results go to that message from then on. Within a
 * message the oldest open call comes first. What is left open is alone. Items
 * without an id go with each other.
 *
 * COST  One look-up per item, in a map; entries of a kind that no model sees
 *       are left out.
 */
#include "meaning.h"

/* What is known of one id. Items are named by their index. */
struct id {
    size_t first_open, last_open; /* calls without a result, linked by next */
    size_t last_call;
    size_t lone; /* the last result that had no call before it */
};

struct pairing {
    struct tools *tools;
    struct pdr__map by_id;    /* key of an id: index + 1 into `ids` */
    struct pdr__map approved; /* message and id of each approval request */
    struct id *ids;           /* owned */
    size_t id_count, id_cap;
    size_t entry, message; /* where we are */
    pdr_buf key, scratch;
    pdr_err *err;
};

static bool grow(void **items, size_t *cap, size_t size)
{
    size_t room = *cap == 0 ? 16 : *cap, bytes = 0;
    void *more = NULL;

    if ((*cap > 0 && !pdr__mul_size(&room, room, 2)) ||
        !pdr__mul_size(&bytes, room, size))
        return false;
    more = pdr__realloc(*items, bytes);
    if (more == NULL)
        return false;
    *items = more;
    *cap = room;
    return true;
}

/* Append the id to the key. What is no text counts as an empty one. */
static pdr_rc add_id(struct pairing *p, const pdr_value *id)
{
    pdr_str text = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    if (id != NULL && pdr_value_kind(id) == PDR_STRING)
        rc = pdr__value_name_bytes(&text, id, &p->scratch, p->err);
    return rc == PDR_OK ? pdr_buf_append(&p->key, text, p->err) : rc;
}

/* The record of an id, a new one if there is none. */
static pdr_rc find_id(struct id **out, struct pairing *p, const pdr_value *id)
{
    struct id none = {PDR_NONE, PDR_NONE, PDR_NONE, PDR_NONE};
    void *known = NULL;
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(&p->key);
    rc = add_id(p, id);
    if (rc != PDR_OK)
        return rc;
    if (pdr__map_get(&known, &p->by_id, pdr_buf_str(&p->key))) {
        *out = &p->ids[(uintptr_t)known - 1];
        return PDR_OK;
    }
    if (p->id_count == p->id_cap &&
        !grow((void **)&p->ids, &p->id_cap, sizeof(*p->ids)))
        return pdr__nomem(p->err);
    rc = pdr__map_put(NULL, &p->by_id, pdr_buf_str(&p->key),
                      (void *)(uintptr_t)(p->id_count + 1), p->err);
    if (rc != PDR_OK)
        return rc;
    p->ids[p->id_count] = none;
    *out = &p->ids[p->id_count++];
    return PDR_OK;
}

/* --- approvals ----------------------------------------------------------- */

/* The key of an approval: its message, then the id. */
static pdr_rc approval_key(struct pairing *p, size_t entry, size_t message,
                           const pdr_value *id)
{
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(&p->key);
    rc = pdr_buf_printf(&p->key, p->err, "%zu/%zu:", entry, message);
    return rc == PDR_OK ? add_id(p, id) : rc;
}

/* The id of the call that the item inside an unknown content asks approval
 * for; NULL if it is no such request. A repair may have put a member "item"
 * around it. */
static const pdr_value *approval_call_id(const pdr_value *inner)
{
    const pdr_value *item = pdr__member(inner, "item", PDR_OBJECT);
    const char *call = "function_call", *id = "call_id";
    pdr_content_kind dotnet = PDR_CONTENT_OTHER;

    if (pdr_value_count(inner) == 1 && item != NULL)
        inner = item;
    dotnet = pdr_content_kind_of(inner, PDR_SHAPE_DOTNET);
    if (dotnet == PDR_CONTENT_APPROVAL_REQUEST ||
        dotnet == PDR_CONTENT_OLD_APPROVAL_REQUEST) {
        call = dotnet == PDR_CONTENT_APPROVAL_REQUEST ? "toolCall"
                                                      : "functionCall";
        id = "callId";
    } else if (pdr_content_kind_of(inner, PDR_SHAPE_PYTHON) !=
               PDR_CONTENT_APPROVAL_REQUEST) {
        return NULL;
    }
    return pdr__member(pdr_value_get_c(inner, call), id, PDR_STRING);
}

static pdr_rc add_approval(struct pairing *p, const pdr_value *content)
{
    const pdr_value *id = approval_call_id(pdr_value_get_c(content, "content"));
    pdr_rc rc = PDR_OK;

    if (id == NULL)
        return PDR_OK;
    rc = approval_key(p, p->entry, p->message, id);
    if (rc == PDR_OK)
        rc = pdr__map_put(NULL, &p->approved, pdr_buf_str(&p->key), NULL,
                          p->err);
    return rc;
}

/* --- items --------------------------------------------------------------- */

static bool is_same_message(const struct tool_item *a,
                            const struct tool_item *b)
{
    return a->entry == b->entry && a->message == b->message;
}

static void add_call(struct pairing *p, struct id *id, size_t at)
{
    struct tool_item *items = p->tools->items, *call = &items[at];

    if (id->last_call != PDR_NONE && items[id->last_call].entry == call->entry)
        call->is_reused = true;
    if (id->lone != PDR_NONE && items[id->lone].entry == call->entry)
        call->partner = id->lone; /* unless a result follows */
    if (id->last_open != PDR_NONE &&
        !is_same_message(call, &items[id->last_open]))
        id->first_open = id->last_open = PDR_NONE; /* those stay alone */
    id->lone = PDR_NONE;
    id->last_call = at;
    if (id->last_open == PDR_NONE)
        id->first_open = at;
    else
        items[id->last_open].next = at;
    id->last_open = at;
}

static void add_result(struct pairing *p, struct id *id, size_t at)
{
    struct tool_item *items = p->tools->items;
    size_t call = id->first_open;

    if (call == PDR_NONE) {
        items[at].fate = id->last_call == PDR_NONE ? TOOL_ALONE : TOOL_AGAIN;
        items[at].partner = id->last_call;
        id->lone = at;
        return;
    }
    id->first_open = items[call].next;
    if (id->first_open == PDR_NONE)
        id->last_open = PDR_NONE;
    items[call].fate = items[at].fate = TOOL_PAIRED;
    items[call].partner = at;
    items[at].partner = call;
}

static pdr_rc add_item(struct pairing *p, const pdr_value *content,
                       size_t index, bool is_call)
{
    const pdr_value *call_id = pdr_value_get_c(content, "callId");
    struct tools *tools = p->tools;
    struct id *id = NULL;
    pdr_rc rc = find_id(&id, p, call_id);

    if (rc != PDR_OK)
        return rc;
    if (tools->count == tools->cap &&
        !grow((void **)&tools->items, &tools->cap, sizeof(*tools->items)))
        return pdr__nomem(p->err);
    tools->items[tools->count] = (struct tool_item){
        .content = content,
        .entry = p->entry,
        .message = p->message,
        .index = index,
        .partner = PDR_NONE,
        .next = PDR_NONE,
        .fate = TOOL_ALONE,
        .is_call = is_call,
        .has_id = call_id != NULL && pdr_value_kind(call_id) == PDR_STRING &&
                  !pdr_value_text_is(call_id, PDR_LIT("")),
    };
    if (is_call)
        add_call(p, id, tools->count);
    else
        add_result(p, id, tools->count);
    tools->count++;
    return PDR_OK;
}

/* --- the walk ------------------------------------------------------------ */

static pdr_rc add_contents(struct pairing *p, const pdr_value *message)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_STATE));
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        pdr_content_kind kind = pdr_content_kind_of(it.value, PDR_SHAPE_STATE);

        if (kind == PDR_CONTENT_CALL || kind == PDR_CONTENT_RESULT)
            rc = add_item(p, it.value, it.index, kind == PDR_CONTENT_CALL);
        else if (kind == PDR_CONTENT_UNKNOWN)
            rc = add_approval(p, it.value);
    }
    return rc;
}

static pdr_rc add_messages(struct pairing *p, const pdr_value *entry)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_entry_kind_of(entry) == PDR_ENTRY_OTHER)
        return PDR_OK;
    pdr_iter_init(&it, pdr_entry_messages(entry));
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        p->message = it.index;
        rc = add_contents(p, it.value);
    }
    return rc;
}

/* A call that stayed open: its result came early, it waits, or is alone. */
static pdr_rc settle_call(struct pairing *p, size_t at)
{
    struct tool_item *call = &p->tools->items[at];
    pdr_rc rc = PDR_OK;

    if (call->partner != PDR_NONE) {
        struct tool_item *result = &p->tools->items[call->partner];

        call->fate = result->fate = TOOL_EARLY;
        result->partner = at;
        return PDR_OK;
    }
    rc = approval_key(p, call->entry, call->message,
                      pdr_value_get_c(call->content, "callId"));
    if (rc == PDR_OK && pdr__map_get(NULL, &p->approved, pdr_buf_str(&p->key)))
        call->fate = TOOL_WAITS;
    return rc;
}

static pdr_rc settle(struct pairing *p)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < p->tools->count; i++) {
        const struct tool_item *item = &p->tools->items[i];

        if (item->is_call && item->fate == TOOL_ALONE)
            rc = settle_call(p, i);
    }
    return rc;
}

pdr_rc pdr__tools_pair(struct tools *out, const pdr_value *state, pdr_err *err)
{
    struct pairing p = {
        .tools = out,
        .by_id = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
        .approved = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
        .key = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
        .scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
        .err = err,
    };
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_state_entries(state));
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        p.entry = it.index;
        rc = add_messages(&p, it.value);
    }
    if (rc == PDR_OK)
        rc = settle(&p);
    pdr__map_dispose(&p.by_id);
    pdr__map_dispose(&p.approved);
    pdr__free(p.ids);
    pdr_buf_dispose(&p.key);
    pdr_buf_dispose(&p.scratch);
    return rc;
}

void pdr__tools_dispose(struct tools *tools)
{
    pdr__free(tools->items);
}
