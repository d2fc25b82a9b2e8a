/*
 * repair.c - making a document that can be worked with again.
 *
 * WHY  One call without a result makes a model refuse a conversation for ever;
 *      a request without a response makes its caller wait for ever; and each
 *      edition has documents on which every run fails. A repair changes what it
 *      must, says what it changed, and throws nothing away: results that no
 *      call waits for move into a member "orphanResults" of their message,
 *      where no reader takes them for results.
 *
 * How: one walk over entries, messages and contents. Lists are edited in place
 * on handles of our own, so that all that did not change is shared, spelling
 * and white space included. For a reader, each part also goes through the fixes
 * of that reader (repair_dotnet.c, repair_python.c), and the result through the
 * check for it: what still does not load and run is refused, with the path.
 *
 * INVARIANTS
 *   R1  Nothing changes but what is told, and what is told has changed.
 *   R2  A second repair finds nothing to do.
 *   R3  Nothing is told before it is sure that nothing is refused.
 *   R4  No id, role, date or text is made up for what had none.
 */
#include <string.h>

#include "repair.h"

#define HISTORY  "conversationHistory"
#define ORPHANS  "orphanResults"
#define MAX_TOLD 8 /* calls to name in one text; a line is enough */

/* What a call gets whose result nobody recorded. */
#define UNKNOWN_OUTCOME                                                  \
    "Error: the outcome of this call is unknown, because the run ended " \
    "before its result was recorded."

/* --- what is added ------------------------------------------------------- */

static struct place place_of(const struct tool_item *item)
{
    return (struct place){item->entry, item->message, item->index};
}

/* The result that stood before its call. */
static pdr_rc put_moved(struct repair *r, pdr_builder *to,
                        const struct tool_item *result)
{
    struct moved moved = {r->after, false, place_of(result), false};
    struct place here = r->before;
    pdr_value *content = pdr_value_ref(result->content);
    pdr_rc rc = pdr__told_move(&r->told, moved, r->err);

    r->before = moved.before;
    if (rc == PDR_OK && r->fixes != NULL)
        rc = r->fixes->content(r, &content);
    r->before = here;
    pdr_builder_value(to, content);
    pdr_value_free(content);
    return rc;
}

/* A new result for a call that has none. */
static pdr_rc put_made(struct repair *r, pdr_builder *to,
                       const struct tool_item *call)
{
    const pdr_value *id = pdr__member(call->content, "callId", PDR_STRING);
    struct moved made = {r->after, false, place_of(call), true};

    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("$type"));
    pdr_builder_string(to, PDR_LIT("functionResult"));
    pdr_builder_name(to, PDR_LIT("callId"));
    if (id != NULL)
        pdr_builder_value(to, id);
    else
        pdr_builder_string(to, PDR_LIT(""));
    pdr_builder_name(to, PDR_LIT("result"));
    pdr_builder_string(to, PDR_LIT(UNKNOWN_OUTCOME));
    pdr_builder_end(to);
    return pdr__told_move(&r->told, made, r->err);
}

static bool is_open(const struct tool_item *item)
{
    return item->is_call &&
           (item->fate == TOOL_ALONE || item->fate == TOOL_EARLY);
}

/* A tool message for the open calls among these items. */
static pdr_rc make_tool_message(pdr_value **out, struct repair *r,
                                const struct tool_item *items, size_t count)
{
    pdr_builder *to = NULL;
    pdr_rc rc = pdr_builder_new(&to, r->err), fixed = PDR_OK;

    *out = NULL;
    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("contents"));
    pdr_builder_array(to);
    r->after.content = 0;
    for (size_t i = 0; fixed == PDR_OK && i < count; i++) {
        if (!is_open(&items[i]))
            continue;
        fixed = items[i].fate == TOOL_EARLY
                    ? put_moved(r, to, &r->tools.items[items[i].partner])
                    : put_made(r, to, &items[i]);
        r->after.content++;
    }
    r->after.content = PDR_NONE;
    pdr_builder_end(to);
    pdr_builder_name(to, PDR_LIT("role"));
    pdr_builder_string(to, PDR_LIT("tool"));
    pdr_builder_end(to);
    rc = fixed == PDR_OK ? pdr_builder_finish(out, to, r->err) : fixed;
    pdr_builder_free(to);
    return rc;
}

/* The time of that response: now, but never before it was asked for. */
static pdr_rc put_response_time(struct repair *r, pdr_builder *to,
                                const pdr_value *request)
{
    pdr_datetime asked;
    pdr_buf text = PDR_BUF_INIT(64);
    pdr_rc rc = PDR_OK;

    if (!pdr_entry_created_at(&asked, request) || asked.ticks <= r->now_ticks) {
        pdr_builder_string(to, r->now);
        return PDR_OK;
    }
    asked = pdr_datetime_utc(asked.ticks);
    rc = pdr_datetime_write(&text, &asked, PDR_DATETIME_OURS, r->err);
    if (rc == PDR_OK)
        pdr_builder_string(to, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    return rc;
}

/* The response that a request never got. */
static pdr_rc make_response(pdr_value **out, struct repair *r,
                            const pdr_value *request)
{
    pdr_builder *to = NULL;
    pdr_rc rc = pdr_builder_new(&to, r->err), timed = PDR_OK;

    *out = NULL;
    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("$type"));
    pdr_builder_string(to, PDR_LIT("response"));
    pdr_builder_name(to, PDR_LIT("correlationId"));
    pdr_builder_value(to, pdr_entry_correlation_id(request));
    pdr_builder_name(to, PDR_LIT("createdAt"));
    timed = put_response_time(r, to, request);
    pdr_builder_name(to, PDR_LIT("messages"));
    pdr_builder_array(to);
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("contents"));
    pdr_builder_array(to);
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("$type"));
    pdr_builder_string(to, PDR_LIT("error"));
    pdr_builder_name(to, PDR_LIT("message"));
    pdr_builder_string(to, PDR_LIT("The run did not finish"));
    pdr_builder_name(to, PDR_LIT("errorCode"));
    pdr_builder_string(to, PDR_LIT("run_not_finished"));
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_name(to, PDR_LIT("role"));
    pdr_builder_string(to, PDR_LIT("assistant"));
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_name(to, PDR_LIT("isError"));
    pdr_builder_bool(to, true);
    pdr_builder_end(to);
    rc = timed == PDR_OK ? pdr_builder_finish(out, to, r->err) : timed;
    pdr_builder_free(to);
    return rc;
}

/* --- contents ------------------------------------------------------------ */

/* The call or result that this content is, if it is one. */
static const struct tool_item *take_item(struct repair *r,
                                         const pdr_value *content)
{
    if (r->tool < r->tools.count && r->tools.items[r->tool].content == content)
        return &r->tools.items[r->tool++];
    return NULL;
}

static pdr_rc tell_removed(struct repair *r, enum repair_rule rule)
{
    return pdr__told_add(&r->told, rule, r->before, "", r->err);
}

/* Take the element that the walk is at out of its list. `index` is its place
 * in the document after. */
static pdr_rc remove_element(struct repair *r, pdr_value **list, size_t index,
                             enum repair_rule rule)
{
    pdr_rc rc = tell_removed(r, rule);

    return rc == PDR_OK ? pdr_value_erase(list, index, r->err) : rc;
}

static bool is_null_to_remove(const struct repair *r, const pdr_value *value)
{
    return r->fixes != NULL && r->fixes->no_nulls &&
           pdr_value_kind(value) == PDR_NULL;
}

/* Take a result that no call waits for out of its list. */
static pdr_rc set_aside(struct repair *r, pdr_value **list, pdr_value **aside,
                        const pdr_value *result)
{
    struct moved moved = {r->after, true, r->before, false};
    pdr_rc rc = PDR_OK;

    moved.after.content = r->aside++;
    rc = pdr__told_move(&r->told, moved, r->err);
    if (rc == PDR_OK)
        rc = pdr_value_append(aside, result, r->err);
    return rc == PDR_OK ? remove_element(r, list, r->after.content,
                                         REPAIR_RESULT_REMOVED)
                        : rc;
}

/* One content. `aside` gets the results that no call waits for. */
static pdr_rc repair_content(struct repair *r, pdr_value **list,
                             pdr_value **aside, const pdr_value *content)
{
    const struct tool_item *item = take_item(r, content);
    pdr_value *changed = NULL;
    pdr_rc rc = PDR_OK;

    if (is_null_to_remove(r, content))
        return remove_element(r, list, r->after.content, REPAIR_NULL_REMOVED);
    if (item != NULL && !item->is_call && item->fate == TOOL_EARLY)
        return remove_element(r, list, r->after.content, REPAIR_RESULT_MOVED);
    if (item != NULL && !item->is_call && item->fate != TOOL_PAIRED)
        return set_aside(r, list, aside, content);
    changed = pdr_value_ref(content);
    if (r->fixes != NULL)
        rc = r->fixes->content(r, &changed);
    if (rc == PDR_OK && changed != content)
        rc = pdr_value_replace(list, r->after.content, changed, r->err);
    pdr_value_free(changed);
    r->after.content++;
    return rc;
}

/* Keep results that no call waits for in their message. */
static pdr_rc keep_orphans(struct repair *r, pdr_value **message,
                           const pdr_value *aside)
{
    const pdr_value *there = pdr_value_get_c(*message, ORPHANS);
    pdr_value *all = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_count(aside) == 0)
        return PDR_OK;
    if (there != NULL && pdr_value_kind(there) != PDR_ARRAY) {
        pdr_buf path = PDR_BUF_INIT(256);

        rc = PDR_FAIL(r->err, CANNOT_REPAIR, "%s",
                      "the message has a member " ORPHANS " that is no list, "
                      "so there is no place to keep its results; rename it");
        if (pdr_buf_printf(&path, NULL,
                           "/data/" HISTORY "/%zu/messages/%zu/" ORPHANS,
                           r->before.entry, r->before.message) == PDR_OK)
            pdr__err_path(r->err, pdr_buf_str(&path));
        pdr_buf_dispose(&path);
        return rc;
    }
    rc = pdr__told_add(
        &r->told, there == NULL ? REPAIR_ORPHANS_ADDED : REPAIR_ORPHANS_CHANGED,
        there == NULL ? r->after : r->before, "/" ORPHANS, r->err);
    all = there == NULL ? pdr_value_new_array() : pdr_value_ref(there);
    pdr_iter_init(&it, aside);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr_value_append(&all, it.value, r->err);
    if (rc == PDR_OK)
        rc = pdr_value_set(message, PDR_LIT(ORPHANS), all, r->err);
    pdr_value_free(all);
    return rc;
}

/* All contents of a message. */
static pdr_rc repair_contents(struct repair *r, pdr_value **message)
{
    const pdr_value *contents = pdr_message_contents(*message, PDR_SHAPE_STATE);
    pdr_value *before = pdr_value_ref(contents);
    pdr_value *list = pdr_value_ref(contents), *aside = pdr_value_new_array();
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    r->after.content = 0;
    r->aside = pdr_value_count(pdr_value_get_c(*message, ORPHANS));
    pdr_iter_init(&it, before);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        r->before.content = it.index;
        rc = repair_content(r, &list, &aside, it.value);
    }
    r->before.content = r->after.content = PDR_NONE;
    if (rc == PDR_OK && list != before)
        rc = pdr_value_set(message, PDR_LIT("contents"), list, r->err);
    if (rc == PDR_OK)
        rc = keep_orphans(r, message, aside);
    pdr_value_free(aside);
    pdr_value_free(list);
    pdr_value_free(before);
    return rc;
}

/* --- messages ------------------------------------------------------------ */

/* ": 'book' (call_7), 'tide' (call_9)" for the open calls: what to look after.
 */
static pdr_rc tell_calls(struct repair *r, const struct tool_item *items,
                         size_t count)
{
    size_t told = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < count && told < MAX_TOLD; i++) {
        const pdr_value *call = items[i].content;

        if (!is_open(&items[i]))
            continue;
        rc = pdr__told_detail(&r->told, told++ == 0 ? ": '" : "), '",
                              pdr__member(call, "name", PDR_STRING), r->err);
        if (rc == PDR_OK)
            rc = pdr__told_detail(&r->told, "' (",
                                  pdr__member(call, "callId", PDR_STRING),
                                  r->err);
    }
    return rc == PDR_OK ? pdr__told_detail(&r->told, ")", NULL, r->err) : rc;
}

/* Behind the message that the walk is at, answer its open calls: those among
 * the items from `first` on. */
static pdr_rc answer_calls(struct repair *r, pdr_value **list, size_t first)
{
    const struct tool_item *items = NULL;
    size_t count = r->tool - first, open = 0;
    pdr_value *message = NULL;
    pdr_rc rc = PDR_OK;

    if (count == 0)
        return PDR_OK; /* there may be no list of items at all */
    items = r->tools.items + first;
    for (size_t i = 0; i < count; i++)
        open += is_open(&items[i]);
    if (open == 0)
        return PDR_OK;
    r->after.message++;
    rc = pdr__told_add(&r->told, REPAIR_MESSAGE_ADDED, r->after, "", r->err);
    if (rc == PDR_OK)
        rc = tell_calls(r, items, count);
    if (rc == PDR_OK && open > MAX_TOLD)
        rc = pdr__told_detail(&r->told, " and others", NULL, r->err);
    if (rc == PDR_OK)
        rc = make_tool_message(&message, r, items, count);
    if (rc == PDR_OK)
        rc = pdr_value_insert(list, r->after.message, message, r->err);
    pdr_value_free(message);
    return rc;
}

static pdr_rc repair_message(struct repair *r, pdr_value **list,
                             const pdr_value *message)
{
    pdr_value *changed = NULL;
    size_t first = r->tool;
    pdr_rc rc = PDR_OK;

    if (is_null_to_remove(r, message))
        return remove_element(r, list, r->after.message, REPAIR_NULL_REMOVED);
    changed = pdr_value_ref(message);
    if (r->fixes != NULL && r->fixes->message != NULL &&
        pdr_value_kind(message) == PDR_OBJECT)
        rc = r->fixes->message(r, &changed);
    if (rc == PDR_OK)
        rc = repair_contents(r, &changed);
    if (rc == PDR_OK && changed != message)
        rc = pdr_value_replace(list, r->after.message, changed, r->err);
    if (rc == PDR_OK)
        rc = answer_calls(r, list, first);
    pdr_value_free(changed);
    r->after.message++;
    return rc;
}

static pdr_rc repair_messages(struct repair *r, pdr_value **entry)
{
    const pdr_value *messages = pdr_entry_messages(*entry);
    pdr_value *before = pdr_value_ref(messages);
    pdr_value *list = pdr_value_ref(messages);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    r->after.message = 0;
    pdr_iter_init(&it, before);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        r->before.message = it.index;
        rc = repair_message(r, &list, it.value);
    }
    r->before.message = r->after.message = PDR_NONE;
    if (rc == PDR_OK && list != before)
        rc = pdr_value_set(entry, PDR_LIT("messages"), list, r->err);
    pdr_value_free(list);
    pdr_value_free(before);
    return rc;
}

/* --- entries ------------------------------------------------------------- */

/* Behind the last request of a turn that has no response, add one. */
static pdr_rc answer_request(struct repair *r, pdr_value **list,
                             const pdr_value *request)
{
    const struct turn_entry *entry = &r->turns.entries[r->before.entry];
    pdr_value *response = NULL;
    pdr_rc rc = PDR_OK;

    if (!pdr__turns_is_unanswered(&r->turns, r->before.entry) ||
        r->turns.turns[entry->turn].last_request != r->before.entry)
        return PDR_OK;
    r->after.entry++;
    rc = pdr__told_add(&r->told, REPAIR_RESPONSE_ADDED, r->after, "", r->err);
    if (rc == PDR_OK)
        rc = make_response(&response, r, request);
    if (rc == PDR_OK)
        rc = pdr_value_insert(list, r->after.entry, response, r->err);
    pdr_value_free(response);
    return rc;
}

static pdr_rc repair_entry(struct repair *r, pdr_value **list,
                           const pdr_value *entry)
{
    pdr_value *changed = NULL;
    pdr_rc rc = PDR_OK;

    if (is_null_to_remove(r, entry))
        return remove_element(r, list, r->after.entry, REPAIR_NULL_REMOVED);
    changed = pdr_value_ref(entry);
    if (pdr_entry_kind_of(entry) != PDR_ENTRY_OTHER) {
        if (r->fixes != NULL && r->fixes->entry != NULL)
            rc = r->fixes->entry(r, &changed);
        if (rc == PDR_OK)
            rc = repair_messages(r, &changed);
    }
    if (rc == PDR_OK && changed != entry)
        rc = pdr_value_replace(list, r->after.entry, changed, r->err);
    if (rc == PDR_OK)
        rc = answer_request(r, list, entry);
    pdr_value_free(changed);
    r->after.entry++;
    return rc;
}

static pdr_rc repair_entries(struct repair *r, pdr_value **data)
{
    const pdr_value *entries = pdr__member(*data, HISTORY, PDR_ARRAY);
    pdr_value *before = pdr_value_ref(entries);
    pdr_value *list = pdr_value_ref(entries);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    r->after.entry = 0;
    pdr_iter_init(&it, before);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        r->before.entry = it.index;
        rc = repair_entry(r, &list, it.value);
    }
    r->before.entry = r->after.entry = PDR_NONE;
    if (rc == PDR_OK && list != before)
        rc = pdr_value_set(data, PDR_LIT(HISTORY), list, r->err);
    pdr_value_free(list);
    pdr_value_free(before);
    return rc;
}

static pdr_rc repair_data(struct repair *r, pdr_value **state)
{
    const pdr_value *before = pdr_value_get_c(*state, "data");
    pdr_value *data = pdr_value_ref(before);
    pdr_rc rc = PDR_OK;

    if (r->fixes != NULL && r->fixes->data != NULL)
        rc = r->fixes->data(r, &data);
    if (rc == PDR_OK)
        rc = repair_entries(r, &data);
    if (rc == PDR_OK && data != before)
        rc = pdr_value_set(state, PDR_LIT("data"), data, r->err);
    pdr_value_free(data);
    return rc;
}

/* --- does the reader take it? -------------------------------------------- */

/* The first thing that is wrong. */
struct complaint {
    pdr_buf pointer;
    char text[160];
    bool is_there;
};

static pdr_rc take_complaint(const pdr_doc_finding *finding, pdr_err *err,
                             void *arg)
{
    struct complaint *first = arg;
    size_t len = finding->text.len;

    if (first->is_there || finding->severity != PDR_SEVERITY_ERROR)
        return PDR_OK;
    first->is_there = true;
    if (len > sizeof(first->text) - 1)
        len = sizeof(first->text) - 1;
    memcpy(first->text, finding->text.ptr, len);
    first->text[len] = '\0';
    return pdr_buf_append(&first->pointer, finding->pointer, err);
}

static pdr_rc refuse(struct repair *r, const struct complaint *first)
{
    pdr_buf path = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    pdr_rc rc = pdr__told_pointer_before(&path, &r->told,
                                         pdr_buf_str(&first->pointer), r->err);

    if (rc == PDR_OK) {
        rc = PDR_FAIL(r->err, CANNOT_REPAIR,
                      "a repair would have to change what the document says: "
                      "%s",
                      first->text);
        pdr__err_path(r->err, pdr_buf_str(&path));
    }
    pdr_buf_dispose(&path);
    return rc;
}

static pdr_rc check_reader(struct repair *r, const pdr_value *state)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    struct complaint first = {PDR_BUF_INIT(PDR_MAX_POINTER_BYTES), "", false};
    pdr_reader_verdict verdict = {false, false};
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = pdr_json_write(&text, state, &opts, r->err);

    if (rc == PDR_OK)
        rc = pdr_state_check_reader(&verdict, pdr_buf_str(&text), r->reader,
                                    r->err, take_complaint, &first);
    if (rc == PDR_OK && !(verdict.loads && verdict.runs))
        rc = refuse(r, &first);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&first.pointer);
    return rc;
}

/* A wrapped content stands deeper than before: the document must stay one that
 * is read with the usual limit. */
static pdr_rc check_levels(struct repair *r, const pdr_value *after,
                           const pdr_value *before)
{
    if (r->told.count == 0 || pdr__value_height(after) <= PDR_DEFAULT_DEPTH ||
        pdr__levels(after) <= PDR_DEFAULT_DEPTH ||
        pdr__levels(before) > PDR_DEFAULT_DEPTH)
        return PDR_OK;
    return PDR_FAIL(r->err, TOO_DEEP,
                    "the repaired document would have more than %d levels",
                    PDR_DEFAULT_DEPTH);
}

/* --- all of it ----------------------------------------------------------- */

static const struct fixes *fixes_of(pdr_reader reader)
{
    if (reader == PDR_READER_DOTNET)
        return &pdr__fixes_dotnet;
    return reader == PDR_READER_PYTHON ? &pdr__fixes_python : NULL;
}

static pdr_rc run(struct repair *r, pdr_value **state)
{
    const pdr_value *before = *state;
    pdr_value *after = pdr_value_ref(before);
    pdr_rc rc = pdr__tools_pair(&r->tools, before, r->err);

    if (rc == PDR_OK)
        rc = pdr__turns_index(&r->turns, before, r->err);
    if (rc == PDR_OK)
        rc = repair_data(r, &after);
    if (rc == PDR_OK)
        rc = check_levels(r, after, before);
    if (rc == PDR_OK && r->fixes != NULL)
        rc = check_reader(r, after);
    if (rc == PDR_OK) {
        pdr_value_free(*state);
        *state = after;
        after = NULL;
    }
    pdr_value_free(after);
    return rc;
}

pdr_rc pdr_state_repair(pdr_value **out, const pdr_value *state,
                        pdr_reader reader, int64_t now, pdr_err *err,
                        pdr_doc_finding_fn fn, void *arg)
{
    struct repair r = {
        .reader = reader,
        .fixes = fixes_of(reader),
        .now_ticks = now,
        .tools = PDR_TOOLS_INIT,
        .turns = PDR_TURNS_INIT,
        .told = PDR_TOLD_INIT,
        .before = {PDR_NONE, PDR_NONE, PDR_NONE},
        .after = {PDR_NONE, PDR_NONE, PDR_NONE},
        .err = err,
    };
    pdr_datetime at = pdr_datetime_utc(now);
    pdr_buf date = PDR_BUF_INIT(64);
    pdr_value *result = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(state != NULL);
    if (out != NULL)
        *out = NULL;
    rc = pdr_state_gate(state, err);
    if (rc == PDR_OK)
        rc = pdr_datetime_write(&date, &at, PDR_DATETIME_OURS, err);
    if (rc == PDR_OK) {
        r.now = pdr_buf_str(&date);
        result = pdr_value_ref(state);
        rc = run(&r, &result);
    }
    if (rc == PDR_OK)
        rc = pdr__told_report(&r.told, err, fn, arg);
    if (rc == PDR_OK && out != NULL) {
        *out = result;
        result = NULL;
    }
    pdr_value_free(result);
    pdr__tools_dispose(&r.tools);
    pdr__turns_dispose(&r.turns);
    pdr__told_dispose(&r.told);
    pdr_buf_dispose(&date);
    return rc;
}
