/*
 * convert_bag.c - the slots of a bag, and the messages in its history.
 *
 * WHY  A bag moves as it is: what a provider keeps is its own affair. One slot
 *      is known to all: the history, which has another key and other messages
 *      in each edition. It moves in its place, message by message.
 *
 *      slot                            becomes
 *      history of the source           the history of the target
 *      under the target's history key  set aside: the target would take it for
 *                                      the history
 *      any other                       itself, byte for byte
 *
 * What programs of the target will not look at, or cannot understand, is told.
 *
 * A conversion goes back and there again to see whether all comes back. Each
 * message answers for itself (src/doc/convert.c), so a history of which all
 * messages did is taken as it was when it passes a second time.
 */
#include "convert.h"

/* --- slots that only one edition reads ----------------------------------- */

enum slot_rule { SLOT_PROVIDER, SLOT_APPROVALS, SLOT_INJECTED };

static const struct {
    const char *rule, *text;
} slot_rules[] = {
    [SLOT_PROVIDER] = {"provider-slot",
                       "no provider of the target reads this state; it stays "
                       "as it is"},
    [SLOT_APPROVALS] = {"pending-approvals",
                        "the target does not know of these approvals: calls "
                        "that wait for one will not run; settle them before "
                        "you move the session"},
    [SLOT_INJECTED] = {"injected-messages",
                       "the target will not send these messages; they stay as "
                       "they are"},
};

struct slot_row {
    const char *key;
    enum slot_rule rule;
};

static const struct slot_row dotnet_slots[] = {
    {"ChatHistoryMemoryProvider", SLOT_PROVIDER},
    {"TextSearchProvider", SLOT_PROVIDER},
    {"TodoProvider", SLOT_PROVIDER},
    {"AgentModeProvider", SLOT_PROVIDER},
    {"FileMemoryProvider", SLOT_PROVIDER},
    {"BackgroundAgentsProvider", SLOT_PROVIDER},
    {"BackgroundAgentsProvider_Runtime", SLOT_PROVIDER},
    {"WorkflowChatHistoryProvider", SLOT_PROVIDER},
    {"Microsoft.Agents.AI.Foundry.Hosting.HostedSessionContext", SLOT_PROVIDER},
    {"Microsoft.Agents.AI.Foundry.Hosting.ToolApprovalIdMap", SLOT_APPROVALS},
    {"toolApprovalState", SLOT_APPROVALS},
    {"_pendingApprovalRequests", SLOT_APPROVALS},
    {"_autoApprovedFunctionCalls", SLOT_APPROVALS},
    {"_bypassedInvocableFunctionCalls", SLOT_APPROVALS},
    {"MessageInjectingChatClient.PendingInjectedMessages", SLOT_INJECTED},
    {NULL, SLOT_PROVIDER},
};
static const struct slot_row python_slots[] = {
    {"file_history", SLOT_PROVIDER},
    {"compaction", SLOT_PROVIDER},
    {"todo", SLOT_PROVIDER},
    {"agent_mode", SLOT_PROVIDER},
    {"file_memory", SLOT_PROVIDER},
    {"background_agents", SLOT_PROVIDER},
    {"agent_skills", SLOT_PROVIDER},
    {"file_access", SLOT_PROVIDER},
    {"memory", SLOT_PROVIDER},
    {"vector_store_history", SLOT_PROVIDER},
    {"vector_collection", SLOT_PROVIDER},
    {"secure_agent", SLOT_PROVIDER},
    {"__agent_framework_fides_security__", SLOT_PROVIDER},
    {"workflow.defer_computer_function_results", SLOT_PROVIDER},
    {"_function_invocation_budget_state", SLOT_APPROVALS},
    {"tool_approval", SLOT_APPROVALS},
    {"message_injection.pending_messages", SLOT_INJECTED},
    {NULL, SLOT_PROVIDER},
};

/* Is there anything in it that somebody could miss? */
static bool is_hollow(const pdr_value *value)
{
    pdr_kind kind = pdr_value_kind(value);

    return kind == PDR_NULL || ((kind == PDR_ARRAY || kind == PDR_OBJECT) &&
                                pdr_value_count(value) == 0);
}

/* .NET names the slot of compaction after the strategy, whatever it is. */
static bool is_compaction(const pdr_value *value)
{
    return pdr__member(value, "messagegroups", PDR_ARRAY) != NULL;
}

static pdr_rc tell_slot(struct finder *finder, const pdr_value *name,
                        const pdr_value *value, pdr_shape shape, pdr_err *err)
{
    const struct slot_row *row =
        shape == PDR_SHAPE_DOTNET ? dotnet_slots : python_slots;

    if (is_hollow(value))
        return PDR_OK;
    while (row->key != NULL && !pdr_value_text_is(name, pdr_str_c(row->key)))
        row++;
    if (row->key == NULL &&
        !(shape == PDR_SHAPE_DOTNET && is_compaction(value)))
        return PDR_OK;
    return pdr__finder_tell(finder, slot_rules[row->rule].rule,
                            PDR_SEVERITY_WARNING, err, "%s",
                            slot_rules[row->rule].text);
}

/* Python decodes by tag, wherever one stands: what is tagged as a message and
 * is none makes it refuse the whole session. */
static bool has_tag(const pdr_value *value)
{
    return pdr_value_text_is(pdr_value_get_c(value, "type"),
                             PDR_LIT("message"));
}

static pdr_rc tell_tag(struct finder *finder, pdr_err *err)
{
    return pdr__finder_tell(finder, "message-tag", PDR_SEVERITY_WARNING, err,
                            "%s",
                            "its type is \"message\", for which Python takes "
                            "it: if it is none, the session cannot be read "
                            "there");
}

/* Tell of all that is tagged in data for Python. */
static pdr_rc tell_tags(struct finder *finder, const pdr_value *value,
                        pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (has_tag(value))
        return tell_tag(finder, err);
    pdr_iter_init(&it, value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = 0;

        if (it.name == NULL)
            mark = pdr__finder_index(finder, it.index);
        else
            rc = pdr__finder_member(&mark, finder, it.name, err);
        if (rc == PDR_OK) {
            rc = tell_tags(finder, it.value, err);
            pdr__finder_up(finder, mark);
        }
    }
    return rc;
}

/* --- what became of a message -------------------------------------------- */

/* How much there is in members `perdure`, wherever they are. Other programs may
 * have such members too; what a conversion added to them is ours. */
static size_t count_notes(const pdr_value *value)
{
    size_t count = 0;
    pdr_iter it;

    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (it.name != NULL && pdr_value_text_is(it.name, PDR_LIT("perdure")))
            count += pdr_value_count(it.value);
        count += count_notes(it.value);
    }
    return count;
}

static const pdr_value *perdure_of(const pdr_value *object, pdr_shape shape)
{
    const char *name = shape == PDR_SHAPE_PYTHON ? "additional_properties"
                                                 : "additionalProperties";

    return pdr_value_get_c(pdr_value_get_c(object, name), "perdure");
}

/* Go down to a member, by the name that the object has for it. */
static size_t go_down(struct finder *finder, const pdr_value *object,
                      const char *name, pdr_shape shape)
{
    char scratch[PDR_SHORT_TEXT];
    pdr_str own = pdr_str_c(name), text = own;
    pdr_iter it;

    if (finder->fn == NULL || shape != PDR_SHAPE_DOTNET)
        return pdr__finder_name(finder, own);
    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (pdr__name_is(it.name, name, shape) &&
            !pdr__short_text(&text, scratch, it.name))
            text = own;
    }
    return pdr__finder_name(finder, text);
}

/* Python has any text as arguments, .NET an object. */
static bool became_raw(const pdr_value *before, const pdr_value *after)
{
    return pdr__member(before, "arguments", PDR_STRING) != NULL &&
           pdr_value_get_c(pdr_value_get_c(after, "arguments"), "raw") != NULL;
}

static pdr_rc tell_content(struct finder *finder, const pdr_value *before,
                           const pdr_value *after, pdr_shape to, pdr_err *err)
{
    const pdr_value *kept = pdr_value_get_c(perdure_of(after, to), "content");
    size_t mark = 0;
    pdr_rc rc = PDR_OK;

    if (kept != NULL && pdr_value_equal(kept, before)) /* wrapped just now */
        return pdr__finder_tell(finder, "content-kind", PDR_SEVERITY_WARNING,
                                err, "%s",
                                "the target has no such content: its programs "
                                "see an unknown one without a text");
    if (became_raw(before, after)) {
        mark = pdr__finder_name(finder, PDR_LIT("arguments"));
        rc = pdr__finder_tell(finder, "arguments-text", PDR_SEVERITY_INFO, err,
                              "%s",
                              "the text is no JSON object: .NET gets it as the "
                              "argument raw");
        pdr__finder_up(finder, mark);
    }
    if (rc == PDR_OK && count_notes(after) > count_notes(before))
        rc = pdr__finder_tell(finder, "content-notes", PDR_SEVERITY_INFO, err,
                              "%s",
                              "what the target has no member for is kept in "
                              "the member perdure of its properties");
    return rc;
}

static pdr_rc tell_contents(struct finder *finder, const pdr_value *before,
                            const pdr_value *after, pdr_shape from,
                            pdr_shape to, pdr_err *err)
{
    const pdr_value *made_contents = pdr_message_contents(after, to);
    size_t up = go_down(finder, before, "contents", from);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(before, from));
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = pdr__finder_index(finder, it.index);
        const pdr_value *made = pdr_value_at(made_contents, it.index);

        if (made != NULL)
            rc = tell_content(finder, it.value, made, to, err);
        pdr__finder_up(finder, mark);
    }
    pdr__finder_up(finder, up);
    return rc;
}

static pdr_rc tell_message(struct finder *finder, const pdr_value *before,
                           const pdr_value *after, pdr_shape from, pdr_shape to,
                           pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (finder->fn == NULL)
        return PDR_OK;
    if (pdr_value_kind(before) != PDR_OBJECT)
        return pdr__finder_tell(finder, "history-item", PDR_SEVERITY_WARNING,
                                err,
                                "this is %s and no message: it stays as "
                                "it is, and no run will succeed",
                                pdr__kind_phrase(before));
    if (pdr_value_count(perdure_of(after, to)) >
        pdr_value_count(perdure_of(before, from)))
        rc = pdr__finder_tell(finder, "message-notes", PDR_SEVERITY_INFO, err,
                              "%s",
                              "what the target has no member for is kept in "
                              "the member perdure of its properties");
    if (rc == PDR_OK)
        rc = tell_contents(finder, before, after, from, to, err);
    return rc;
}

/* --- the history --------------------------------------------------------- */

void pdr__histories_dispose(struct histories *known)
{
    for (int i = 0; i < 2; i++) {
        pdr_value_free(known->sides[i]);
        known->sides[i] = NULL;
    }
}

/* The other side of a history that was converted before; NULL if it was not. */
static pdr_value *known_history(const struct histories *known,
                                const pdr_value *messages, pdr_shape from,
                                pdr_shape to)
{
    for (int i = 0; i < 2; i++) {
        if (known->shapes[i] == from && known->shapes[1 - i] == to &&
            pdr_value_equal(known->sides[i], messages))
            return pdr_value_ref(known->sides[1 - i]);
    }
    return NULL;
}

static void remember(struct histories *known, const pdr_value *messages,
                     const pdr_value *made, pdr_shape from, pdr_shape to)
{
    pdr__histories_dispose(known);
    known->sides[0] = pdr_value_ref(messages);
    known->sides[1] = pdr_value_ref(made);
    known->shapes[0] = from;
    known->shapes[1] = to;
}

/* One message, and whether it comes back. */
static pdr_rc convert_message(pdr_value **out, bool *returns,
                              const pdr_value *message, pdr_shape from,
                              pdr_shape to, pdr_err *err)
{
    pdr_value *back = NULL;
    bool sure = false;
    pdr_rc rc =
        pdr__message_convert_ordered(out, returns, message, from, to, err);

    if (rc != PDR_OK || *returns)
        return rc;
    rc = pdr__message_convert_ordered(&back, &sure, *out, to, from, err);
    *returns = rc == PDR_OK && pdr_value_equal(back, message);
    pdr_value_free(back);
    return rc;
}

static pdr_rc convert_messages(pdr_value **out, const pdr_value *messages,
                               pdr_shape from, pdr_shape to,
                               struct histories *known, struct finder *finder,
                               pdr_err *err)
{
    pdr_value *made = pdr_value_new_array(), *message = NULL;
    bool all = true, returns = false;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, messages);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = pdr__finder_index(finder, it.index);

        rc = convert_message(&message, &returns, it.value, from, to, err);
        all = all && returns;
        if (rc == PDR_OK)
            rc = tell_message(finder, it.value, message, from, to, err);
        if (rc == PDR_OK)
            rc = pdr_value_append(&made, message, err);
        pdr_value_free(message);
        message = NULL;
        pdr__finder_up(finder, mark);
    }
    if (rc == PDR_OK && all)
        remember(known, messages, made, from, to);
    if (rc == PDR_OK)
        *out = made;
    else
        pdr_value_free(made);
    return rc;
}

/* A name that .NET reads as `messages`, and nobody else does? */
static bool is_twin(const pdr_value *name)
{
    return pdr__name_is(name, "messages", PDR_SHAPE_DOTNET) &&
           !pdr_value_text_is(name, PDR_LIT("messages"));
}

/* The slot of a history with one list for everybody. */
static pdr_rc without_twins(pdr_value **out, const pdr_value *slot,
                            pdr_err *err)
{
    bool has = false;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_ref(slot);
    if (pdr_value_kind(slot) != PDR_OBJECT)
        return PDR_OK;
    pdr_iter_init(&it, slot);
    while (!has && pdr_iter_next(&it))
        has = is_twin(it.name);
    if (!has)
        return PDR_OK;
    pdr_value_free(*out);
    *out = pdr_value_new_object();
    pdr_iter_init(&it, slot);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!is_twin(it.name))
            rc = pdr__value_add_member(out, it.name, it.value, err);
    }
    return rc;
}

static pdr_rc convert_history(pdr_value **out, const pdr_value *slot,
                              pdr_shape from, pdr_shape to,
                              struct histories *known, struct finder *finder,
                              pdr_err *err)
{
    const pdr_value *messages = pdr__find_member(slot, "messages", from);
    pdr_value *made = NULL;
    pdr_rc rc = without_twins(out, slot, err);

    if (rc != PDR_OK)
        return rc;
    if (pdr_value_kind(slot) == PDR_OBJECT && messages == NULL)
        return PDR_OK; /* as Python has it before the first message */
    if (messages == NULL || pdr_value_kind(messages) != PDR_ARRAY)
        return pdr__finder_tell(
            finder, "history-shape", PDR_SEVERITY_WARNING, err,
            "%s%s and no list of messages: it is carried as it is, and no run "
            "will succeed",
            messages == NULL ? "the history is " : "messages is ",
            pdr__kind_phrase(messages == NULL ? slot : messages));
    if (finder->fn == NULL)
        made = known_history(known, messages, from, to);
    if (made == NULL) {
        size_t up = go_down(finder, slot, "messages", from);

        rc = convert_messages(&made, messages, from, to, known, finder, err);
        pdr__finder_up(finder, up);
    }
    if (rc == PDR_OK)
        rc = pdr__put_member(out, "messages", made, err);
    pdr_value_free(made);
    return rc;
}

/* --- the bag ------------------------------------------------------------- */

struct bagging {
    pdr_value *out; /* owned */
    const struct shape_names *from, *to;
    struct histories *known;
    struct finder *finder;
    pdr_value *key; /* owned: the target's history key */
};

static pdr_rc convert_slot(struct bagging *b, const pdr_value *name,
                           const pdr_value *value, pdr_err *err)
{
    bool tags = b->to->messages == PDR_SHAPE_PYTHON && b->finder->fn != NULL;
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_text_is(name, pdr_str_c(b->from->history))) {
        if (tags && has_tag(value))
            rc = tell_tag(b->finder, err);
        if (rc == PDR_OK)
            rc = convert_history(&made, value, b->from->messages,
                                 b->to->messages, b->known, b->finder, err);
        if (rc == PDR_OK)
            rc = pdr__value_add_member(&b->out, b->key, made, err);
        pdr_value_free(made);
        return rc;
    }
    if (pdr_value_text_is(name, pdr_str_c(b->to->history)))
        return pdr__finder_tell(
            b->finder, "history-aside", PDR_SEVERITY_WARNING, err, "%s",
            "the target would take this slot for the history: it is kept in "
            "the member perdure, from where it comes back");
    rc = tell_slot(b->finder, name, value, b->from->messages, err);
    if (rc == PDR_OK && tags)
        rc = tell_tags(b->finder, value, err);
    return rc == PDR_OK ? pdr__value_add_member(&b->out, name, value, err) : rc;
}

/* One slot, at its place. Of several with one key, only the last is told of: it
 * is the one that everybody reads. */
static pdr_rc convert_member(struct bagging *b, const pdr_value *bag,
                             const pdr_iter *it, pdr_err *err)
{
    struct finder quiet = PDR_FINDER_INIT(NULL, NULL), *told = b->finder;
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str name = {NULL, 0};
    size_t mark = 0;
    pdr_rc rc = pdr__value_name_bytes(&name, it->name, &scratch, err);

    if (rc == PDR_OK) {
        if (pdr_value_get(bag, name) != it->value)
            b->finder = &quiet;
        mark = pdr__finder_name(b->finder, name);
        rc = convert_slot(b, it->name, it->value, err);
        pdr__finder_up(b->finder, mark);
        b->finder = told;
    }
    pdr__finder_dispose(&quiet);
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc convert_slots(struct bagging *b, const pdr_value *document,
                            const pdr_value *bag, pdr_err *err)
{
    size_t up = go_down(b->finder, document, b->from->bag, b->from->messages);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, bag);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = convert_member(b, bag, &it, err);
    pdr__finder_up(b->finder, up);
    return rc;
}

pdr_rc pdr__bag_convert(pdr_value **out, const pdr_value *document,
                        const pdr_value *bag, struct session_trip trip,
                        struct histories *known, struct finder *finder,
                        pdr_err *err)
{
    struct bagging b = {.out = pdr_value_new_object(),
                        .from = pdr__shape_names(trip.from),
                        .to = pdr__shape_names(trip.to),
                        .known = known,
                        .finder = finder};
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (b.from->messages == b.to->messages) {
        *out = pdr_value_ref(bag);
        pdr_value_free(b.out);
        return PDR_OK;
    }
    rc = pdr_value_new_string(&b.key, pdr_str_c(b.to->history), err);
    if (rc == PDR_OK)
        rc = convert_slots(&b, document, bag, err);
    pdr_value_free(b.key);
    if (rc == PDR_OK)
        *out = b.out;
    else
        pdr_value_free(b.out);
    return rc;
}

/* --- discriminators ------------------------------------------------------ */

static pdr_rc types_first(pdr_value **out, const pdr_value *value,
                          pdr_err *err);

/* Members of a message or content that hold what is no content. */
static bool is_opaque(const pdr_value *name)
{
    static const char *const names[] = {"additionalProperties", "arguments",
                                        "result", "details"};

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        if (pdr_value_text_is(name, pdr_str_c(names[i])))
            return true;
    }
    return false;
}

/* `$type`, if it is there once, a string, and not first. */
static const pdr_value *late_type(const pdr_value *object)
{
    const pdr_value *type = NULL;
    size_t count = 0, place = 0;
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (!pdr_value_text_is(it.name, PDR_LIT("$type")))
            continue;
        count++;
        place = it.index;
        type = it.name;
    }
    return count == 1 && place > 0 &&
                   pdr__member(object, "$type", PDR_STRING) != NULL
               ? type
               : NULL;
}

/* Is there a late one anywhere in it? */
static bool has_late(const pdr_value *value)
{
    pdr_iter it;

    if (pdr_value_kind(value) == PDR_OBJECT && late_type(value) != NULL)
        return true;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if ((it.name == NULL || !is_opaque(it.name)) && has_late(it.value))
            return true;
    }
    return false;
}

static pdr_rc first_object(pdr_value **io, const pdr_value *object,
                           pdr_err *err)
{
    const pdr_value *late = late_type(object);
    pdr_value *made = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (late != NULL)
        rc = pdr__value_add_member(io, late, pdr_value_get_c(object, "$type"),
                                   err);
    pdr_iter_init(&it, object);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (late != NULL && pdr_value_text_is(it.name, PDR_LIT("$type")))
            continue;
        if (is_opaque(it.name))
            made = pdr_value_ref(it.value);
        else
            rc = types_first(&made, it.value, err);
        if (rc == PDR_OK)
            rc = pdr__value_add_member(io, it.name, made, err);
        pdr_value_free(made);
        made = NULL;
    }
    return rc;
}

static pdr_rc first_array(pdr_value **io, const pdr_value *array, pdr_err *err)
{
    pdr_value *made = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, array);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = types_first(&made, it.value, err);
        if (rc == PDR_OK)
            rc = pdr_value_append(io, made, err);
        pdr_value_free(made);
        made = NULL;
    }
    return rc;
}

static pdr_rc types_first(pdr_value **out, const pdr_value *value, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (!has_late(value)) {
        *out = pdr_value_ref(value);
        return PDR_OK;
    }
    if (pdr_value_kind(value) == PDR_OBJECT) {
        *out = pdr_value_new_object();
        rc = first_object(out, value, err);
    } else {
        *out = pdr_value_new_array();
        rc = first_array(out, value, err);
    }
    if (rc == PDR_OK)
        return PDR_OK;
    pdr_value_free(*out);
    *out = NULL;
    return rc;
}

pdr_rc pdr__types_first(pdr_value **io, pdr_err *err)
{
    const struct shape_names *names = pdr__shape_names(PDR_SESSION_DOTNET);
    const pdr_value *bag = pdr__member(*io, names->bag, PDR_OBJECT);
    const pdr_value *slot = pdr__member(bag, names->history, PDR_OBJECT);
    const pdr_value *messages = pdr__member(slot, "messages", PDR_ARRAY);
    pdr_value *made = NULL, *new_slot = NULL, *new_bag = NULL;
    pdr_rc rc = PDR_OK;

    if (messages == NULL || !has_late(messages))
        return PDR_OK;
    rc = types_first(&made, messages, err);
    if (rc != PDR_OK)
        return rc;
    new_slot = pdr_value_ref(slot);
    new_bag = pdr_value_ref(bag);
    rc = pdr__put_member(&new_slot, "messages", made, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(&new_bag, names->history, new_slot, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(io, names->bag, new_bag, err);
    pdr_value_free(new_bag);
    pdr_value_free(new_slot);
    pdr_value_free(made);
    return rc;
}
