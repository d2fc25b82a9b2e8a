/*
 * approve.c - calls that run only after the caller said yes.
 *
 *      run 1   model: call ─► needs approval ─► request, shown and recorded
 *      run 2   answer ─► record? ─► the recorded call runs, or is rejected
 *
 * WHY  Between the two runs the session may be saved, sent through a browser
 *      and loaded by another process. What runs in the end has to be what was
 *      shown. So an answer only names a request: the call is the one of the
 *      record. An answer to what does not wait does nothing, and a second
 *      answer finds nothing that waits.
 *
 * INVARIANTS
 *   A1  A request waits until the result of its call is in the history: a run
 *       that failed before does not lose it.
 *   A2  Whoever can write a document can put rules and approvals into it. They
 *       are data, and nothing acts on them, unless the caller says so
 *       (`trusts_record`).
 *
 * The record is a slot of the bag, as the session's edition has it:
 *
 *      .NET    _pendingApprovalRequests: [request]
 *              _autoApprovedFunctionCalls: [request]       hidden calls
 *              toolApprovalState: {rules, collectedApprovalResponses}
 *      Python  tool_approval: {pending_approval_requests: [request],
 *              already_approved_approval_request_groups:
 *              [{approval_requests, approval_responses}], rules,
 *              collected_approval_responses}
 */
#include <stdio.h>

#include "run.h"

#include <perdure/json.h>

#define PYTHON_WAITING "pending_approval_requests"
#define PYTHON_GROUPS  "already_approved_approval_request_groups"

/* The first of two members that is there. */
static const pdr_value *member(const pdr_value *object, const char *name,
                               const char *other)
{
    const pdr_value *found = NULL;

    if (object == NULL || pdr_value_kind(object) != PDR_OBJECT)
        return NULL;
    found = pdr_value_get_c(object, name);
    return found != NULL ? found : pdr_value_get_c(object, other);
}

/* An array, or an empty one. */
static pdr_value *array_of(const pdr_value *value)
{
    return value != NULL && pdr_value_kind(value) == PDR_ARRAY
               ? pdr_value_ref(value)
               : pdr_value_new_array();
}

static pdr_rc append_all(pdr_value **to, const pdr_value *from, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (from == NULL || pdr_value_kind(from) != PDR_ARRAY)
        return PDR_OK;
    pdr_iter_init(&it, from);
    while (pdr_iter_next(&it))
        PDR_TRY(pdr_value_append(to, it.value, err));
done:
    return rc;
}

/* --- requests of a record --------------------------------------------------
 * They may stand there without their "$type".
 */

static const pdr_value *request_id(const pdr_value *request)
{
    const pdr_value *id = member(request, "requestId", "id");

    return id != NULL && pdr_value_kind(id) == PDR_STRING ? id : NULL;
}

/* The call of a request; NULL if it is not one of a function. */
static const pdr_value *request_call(const pdr_value *request, pdr_shape shape)
{
    const pdr_value *call =
        shape == PDR_SHAPE_PYTHON
            ? member(request, "function_call", "function_call")
            : member(request, "toolCall", "functionCall");

    return pdr_content_kind_of(call, shape) == PDR_CONTENT_CALL ? call : NULL;
}

static bool id_waits(const pdr_value *list, pdr_str id)
{
    pdr_iter it;

    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        const pdr_value *other = request_id(it.value);

        if (other != NULL && pdr_value_text_is(other, id))
            return true;
    }
    return false;
}

/* --- loading and saving ----------------------------------------------------
 */

size_t pdr__record_keys(pdr_str keys[PDR_RECORD_KEYS], pdr_shape shape)
{
    if (shape == PDR_SHAPE_PYTHON) {
        keys[0] = PDR_LIT("tool_approval");
        return 1;
    }
    keys[0] = PDR_LIT("_pendingApprovalRequests");
    keys[1] = PDR_LIT("_autoApprovedFunctionCalls");
    keys[2] = PDR_LIT("toolApprovalState");
    return 3;
}

void pdr__record_note(struct pdr__record *record, pdr_session *session)
{
    pdr_value *bag = pdr_bag_snapshot(pdr_session_bag(session));
    pdr_str keys[PDR_RECORD_KEYS];
    size_t count = pdr__record_keys(keys, record->shape);

    for (size_t i = 0; i < count; i++) {
        pdr_value_free(record->slots[i]);
        record->slots[i] = pdr_value_ref(pdr_value_get(bag, keys[i]));
    }
    record->has_changed = false;
    pdr_value_free(bag);
}

void pdr__record_load(struct pdr__record *record, pdr_session *session,
                      pdr_shape shape)
{
    record->shape = shape == PDR_SHAPE_PYTHON ? shape : PDR_SHAPE_DOTNET;
    pdr__record_note(record, session);
    record->waiting =
        array_of(shape == PDR_SHAPE_PYTHON
                     ? member(record->slots[0], PYTHON_WAITING, PYTHON_WAITING)
                     : record->slots[0]);
    record->left = pdr_value_ref(record->waiting);
}

void pdr__record_dispose(struct pdr__record *record)
{
    for (size_t i = 0; i < PDR_RECORD_KEYS; i++)
        pdr_value_free(record->slots[i]);
    pdr_value_free(record->waiting);
    pdr_value_free(record->left);
    pdr_value_free(record->asked);
}

/* Set a member, or remove it if the list is empty. */
static pdr_rc set_list(pdr_value **object, pdr_str name, const pdr_value *list,
                       pdr_err *err)
{
    if (pdr_value_count(list) > 0)
        return pdr_value_set(object, name, list, err);
    if (pdr_value_get(*object, name) == NULL)
        return PDR_OK;
    return pdr_value_remove(object, name, err);
}

static pdr_rc save_python(struct pdr__run *w, pdr_str key,
                          const pdr_value *waiting)
{
    const struct pdr__record *r = &w->record;
    pdr_value *none = pdr_value_new_array();
    pdr_value *state = r->slots[0] != NULL ? pdr_value_ref(r->slots[0])
                                           : pdr_value_new_object();
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(state) == PDR_NULL) {
        pdr_value_free(state);
        state = pdr_value_new_object();
    }
    PDR_TRY(set_list(&state, PDR_LIT(PYTHON_WAITING), waiting, w->err));
    if (r->ran_hidden) {
        PDR_TRY(set_list(&state, PDR_LIT(PYTHON_GROUPS), none, w->err));
        PDR_TRY(set_list(&state, PDR_LIT("collected_approval_responses"), none,
                         w->err));
    }
    PDR_TRY(pdr_bag_set(pdr_session_bag(w->session), key, state, w->err));
done:
    pdr_value_free(state);
    pdr_value_free(none);
    return rc;
}

static pdr_rc slot_remove(struct pdr__run *w, pdr_str key)
{
    pdr_bag *bag = pdr_session_bag(w->session);

    return pdr_bag_has(bag, key) ? pdr_bag_remove(bag, key, w->err) : PDR_OK;
}

pdr_rc pdr__record_save(struct pdr__run *w)
{
    struct pdr__record *r = &w->record;
    pdr_str keys[PDR_RECORD_KEYS];
    pdr_value *all = NULL;
    pdr_rc rc = PDR_OK;

    if (!r->has_changed)
        return PDR_OK;
    (void)pdr__record_keys(keys, r->shape);
    if (r->slots[0] != NULL && pdr_value_kind(r->slots[0]) != PDR_NULL &&
        pdr_value_kind(r->slots[0]) !=
            (r->shape == PDR_SHAPE_PYTHON ? PDR_OBJECT : PDR_ARRAY))
        return PDR_FAIL(w->err, APPROVAL_RECORD,
                        "the slot '%.*s' holds %s, and the pending approvals "
                        "of a session are recorded there",
                        (int)keys[0].len, keys[0].ptr,
                        pdr__kind_phrase(r->slots[0]));
    all = pdr_value_ref(r->left);
    PDR_TRY(append_all(&all, r->asked, w->err));
    if (r->shape == PDR_SHAPE_PYTHON) {
        PDR_TRY(save_python(w, keys[0], all));
    } else {
        if (pdr_value_count(all) > 0)
            PDR_TRY(
                pdr_bag_set(pdr_session_bag(w->session), keys[0], all, w->err));
        else
            PDR_TRY(slot_remove(w, keys[0]));
        if (r->ran_hidden)
            PDR_TRY(slot_remove(w, keys[1]));
    }
done:
    pdr_value_free(all);
    return rc;
}

void pdr__record_unask(struct pdr__run *w)
{
    pdr_value_free(w->record.asked);
    w->record.asked = NULL;
}

void pdr__record_restore(struct pdr__run *w)
{
    struct pdr__record *r = &w->record;
    pdr_str keys[PDR_RECORD_KEYS];
    size_t count = pdr__record_keys(keys, r->shape);

    for (size_t i = 0; r->has_changed && i < count; i++) {
        if (r->slots[i] != NULL)
            (void)!pdr_bag_set(pdr_session_bag(w->session), keys[i],
                               r->slots[i], NULL);
        else
            (void)!slot_remove(w, keys[i]);
    }
}

/* --- what the caller answers -----------------------------------------------
 */

/* An answer, wherever it stands. */
struct reply {
    const pdr_value *id; /* a string */
    bool approved;
    const pdr_value *reason; /* a string, or NULL */
};

/* Is this content an approval response? State documents wrap it in an unknown
 * content, as .NET or Python wrote it. */
static bool reply_read(struct reply *out, const pdr_value *content,
                       pdr_shape shape)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);
    const pdr_value *approved = NULL;

    if (kind == PDR_CONTENT_UNKNOWN) {
        content = pdr_content_get(content, shape, PDR_FIELD_CONTENT);
        kind = pdr_content_kind_of(content, PDR_SHAPE_DOTNET);
        if (kind == PDR_CONTENT_OTHER)
            kind = pdr_content_kind_of(content, PDR_SHAPE_PYTHON);
    }
    if (kind != PDR_CONTENT_APPROVAL_RESPONSE &&
        kind != PDR_CONTENT_OLD_APPROVAL_RESPONSE)
        return false;
    *out = (struct reply){.id = request_id(content),
                          .reason = member(content, "reason", "reason")};
    approved = member(content, "approved", "approved");
    if (approved == NULL ||
        pdr_value_bool(&out->approved, approved, NULL) != PDR_OK)
        out->approved = false;
    if (out->reason != NULL && pdr_value_kind(out->reason) != PDR_STRING)
        out->reason = NULL;
    return true;
}

bool pdr__is_replies_only(const pdr_value *message, pdr_shape shape)
{
    const pdr_value *contents = pdr_message_contents(message, shape);
    struct reply reply;
    pdr_iter it;

    pdr_iter_init(&it, contents);
    while (pdr_iter_next(&it)) {
        if (!reply_read(&reply, it.value, shape))
            return false;
    }
    return contents != NULL && pdr_value_count(contents) > 0;
}

pdr_rc pdr__replies_take(struct pdr__run *w, const pdr_value *message)
{
    struct reply reply;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(message, w->shape));
    while (pdr_iter_next(&it)) {
        if (!reply_read(&reply, it.value, w->shape))
            continue;
        if (w->replies == NULL)
            w->replies = pdr_value_new_array();
        PDR_TRY(pdr_value_append(&w->replies, it.value, w->err));
    }
done:
    return rc;
}

/* Find the first answer to a request in a list of contents. */
static bool reply_find(struct reply *out, const pdr_value *list,
                       pdr_shape shape, const pdr_value *id)
{
    pdr_iter it;

    if (list == NULL || pdr_value_kind(list) != PDR_ARRAY)
        return false;
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        if (reply_read(out, it.value, shape) && out->id != NULL &&
            pdr__value_same_text(out->id, id))
            return true;
    }
    return false;
}

/* The answer of the caller as a content in the shape of the record. */
static pdr_rc reply_make(pdr_value **out, const pdr_answer *answer,
                         const pdr_value *request, pdr_shape shape,
                         pdr_err *err)
{
    pdr_content_part parts[4] = {
        {PDR_FIELD_APPROVED, NULL},
        {PDR_FIELD_TOOL_CALL, request_call(request, shape)},
        {PDR_FIELD_REQUEST_ID, request_id(request)},
        {PDR_FIELD_REASON, NULL}};
    bool has_reason = answer->reason.len > 0 && shape != PDR_SHAPE_PYTHON;
    pdr_value *approved = pdr_value_new_bool(answer->approved), *reason = NULL;
    pdr_rc rc = PDR_OK;

    parts[0].value = approved;
    if (has_reason)
        PDR_TRY(pdr_value_new_string(&reason, answer->reason, err));
    parts[3].value = reason;
    PDR_TRY(pdr_content_new(out, shape, PDR_CONTENT_APPROVAL_RESPONSE, parts,
                            has_reason ? 4 : 3, err));
done:
    pdr_value_free(reason);
    pdr_value_free(approved);
    return rc;
}

pdr_rc pdr__answers_message(pdr_value **out, const struct pdr__run *w)
{
    const pdr_run *run = w->run;
    const struct pdr__record *r = &w->record;
    pdr_message_parts parts = {.role = PDR_LIT("user")};
    pdr_value *contents = pdr_value_new_array(), *one = NULL, *own = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    for (size_t i = 0; i < run->answer_count; i++) {
        pdr_iter_init(&it, r->waiting);
        while (pdr_iter_next(&it)) {
            const pdr_value *id = request_id(it.value);

            if (id == NULL || !pdr_value_text_is(id, run->answers[i].id) ||
                request_call(it.value, r->shape) == NULL)
                continue;
            PDR_TRY(
                reply_make(&one, &run->answers[i], it.value, r->shape, w->err));
            PDR_TRY(pdr_content_convert(&own, one, r->shape, w->shape, w->err));
            PDR_TRY(pdr_value_append(&contents, own, w->err));
            pdr_value_free(own);
            pdr_value_free(one);
            one = own = NULL;
            break;
        }
    }
    if (pdr_value_count(contents) == 0)
        goto done;
    parts.contents = contents;
    PDR_TRY(pdr_message_new(out, w->shape, &parts, w->err));
done:
    pdr_value_free(own);
    pdr_value_free(one);
    pdr_value_free(contents);
    return rc;
}

/* --- what another program left ---------------------------------------------
 * Looked at only if the caller trusts it (A2).
 */

/* The argument of a call as the text that rules have: JSON, or a string. */
static bool same_argument(const pdr_value *rule, const pdr_value *argument,
                          pdr_buf *scratch)
{
    if (pdr_value_kind(rule) != PDR_STRING)
        return pdr_value_equal(rule, argument);
    if (pdr_value_kind(argument) == PDR_STRING &&
        pdr__value_same_text(rule, argument))
        return true;
    pdr_buf_clear(scratch);
    return pdr_json_write(scratch, argument, NULL, NULL) == PDR_OK &&
           pdr_value_text_is(rule, pdr_buf_str(scratch));
}

/* The member of `object` that has this name. */
static const pdr_value *named_alike(const pdr_value *object,
                                    const pdr_value *name)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (pdr__value_same_text(it.name, name))
            return it.value;
    }
    return NULL;
}

/* Does a standing rule approve of the call? */
static bool rule_fits(const pdr_value *rule, const pdr_value *call,
                      pdr_shape shape)
{
    const pdr_value *name = member(rule, "toolName", "tool_name");
    const pdr_value *called = pdr_content_get(call, shape, PDR_FIELD_NAME);
    const pdr_value *wanted = member(rule, "arguments", "arguments");
    pdr_value *given = NULL;
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    bool fits = false;
    pdr_iter it;

    if (name == NULL || pdr_value_kind(name) != PDR_STRING || called == NULL ||
        !pdr__value_same_text(name, called))
        return false;
    if (wanted == NULL || pdr_value_kind(wanted) == PDR_NULL)
        return true;
    if (pdr_content_arguments(&text, call, shape, NULL) == PDR_OK &&
        pdr_json_read(&given, pdr_buf_str(&text), NULL, NULL) == PDR_OK &&
        pdr_value_kind(given) == PDR_OBJECT &&
        pdr_value_kind(wanted) == PDR_OBJECT &&
        pdr_value_count(given) == pdr_value_count(wanted)) {
        fits = true;
        pdr_iter_init(&it, wanted);
        while (fits && pdr_iter_next(&it)) {
            const pdr_value *argument = named_alike(given, it.name);

            fits = argument != NULL && same_argument(it.value, argument, &text);
        }
    }
    pdr_value_free(given);
    pdr_buf_dispose(&text);
    return fits;
}

static bool rules_approve(const struct pdr__run *w, const pdr_value *call,
                          pdr_shape shape)
{
    const struct pdr__record *r = &w->record;
    const pdr_value *rules = member(
        r->slots[r->shape == PDR_SHAPE_PYTHON ? 0 : 2], "rules", "rules");
    pdr_iter it;

    if (!w->run->trusts_record || rules == NULL ||
        pdr_value_kind(rules) != PDR_ARRAY)
        return false;
    pdr_iter_init(&it, rules);
    while (pdr_iter_next(&it)) {
        if (rule_fits(it.value, call, shape))
            return true;
    }
    return false;
}

/* Answers and hidden calls that were left there. */
static pdr_rc record_open(pdr_value **replies, pdr_value **hidden,
                          const struct pdr__run *w)
{
    const struct pdr__record *r = &w->record;
    const pdr_value *groups = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *replies = pdr_value_new_array();
    *hidden = pdr_value_new_array();
    if (!w->run->trusts_record)
        return PDR_OK;
    if (r->shape != PDR_SHAPE_PYTHON) {
        PDR_TRY(append_all(hidden, r->slots[1], w->err));
        PDR_TRY(append_all(replies,
                           member(r->slots[2], "collectedApprovalResponses",
                                  "collectedApprovalResponses"),
                           w->err));
        goto done;
    }
    PDR_TRY(append_all(replies,
                       member(r->slots[0], "collected_approval_responses",
                              "collected_approval_responses"),
                       w->err));
    groups = member(r->slots[0], PYTHON_GROUPS, PYTHON_GROUPS);
    if (groups == NULL || pdr_value_kind(groups) != PDR_ARRAY)
        goto done;
    pdr_iter_init(&it, groups);
    while (pdr_iter_next(&it)) {
        PDR_TRY(append_all(
            hidden, member(it.value, "approval_requests", "approval_requests"),
            w->err));
        PDR_TRY(append_all(
            replies,
            member(it.value, "approval_responses", "approval_responses"),
            w->err));
    }
done:
    return rc;
}

/* --- running what was approved ---------------------------------------------
 */

/* What the caller said with a refusal; Python contents have no place for it. */
static pdr_str refusal_reason(const struct pdr__run *w,
                              const struct reply *reply)
{
    for (size_t i = 0; i < w->run->answer_count; i++) {
        const pdr_answer *answer = &w->run->answers[i];

        if (!answer->approved && pdr_value_text_is(reply->id, answer->id))
            return answer->reason;
    }
    return PDR_LIT("");
}

/* The result that a rejected call gets, for the model to read. */
static pdr_rc reject(struct pdr__job *job, const struct reply *reply,
                     const struct pdr__run *w)
{
    pdr_buf line = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf id_room = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf room = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    const pdr_value *call_id =
        pdr_content_get(job->call, w->shape, PDR_FIELD_CALL_ID);
    pdr_str id = PDR_LIT(""), reason = refusal_reason(w, reply);
    pdr_value *text = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(&line, PDR_LIT("Tool call invocation rejected."),
                           w->err));
    if (reply->reason != NULL)
        PDR_TRY(pdr__value_sound_text(&reason, reply->reason, &room, w->err));
    if (reason.len > 0) {
        PDR_TRY(pdr_buf_append(&line, PDR_LIT(" "), w->err));
        PDR_TRY(pdr_buf_append(&line, reason, w->err));
    }
    if (call_id != NULL)
        PDR_TRY(pdr__value_sound_text(&id, call_id, &id_room, w->err));
    PDR_TRY(pdr_value_new_string(&text, pdr_buf_str(&line), w->err));
    PDR_TRY(pdr_content_new_result(&job->result, w->shape, id, text, w->err));
done:
    pdr_value_free(text);
    pdr_buf_dispose(&room);
    pdr_buf_dispose(&id_room);
    pdr_buf_dispose(&line);
    return rc;
}

/* One more call to run, or to reject. */
static pdr_rc job_add(struct pdr__jobs *jobs, struct pdr__run *w,
                      const pdr_value *request, const struct reply *reply)
{
    const struct pdr__record *r = &w->record;
    pdr_value *call = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_content_convert(&call, request_call(request, r->shape),
                                r->shape, w->shape, w->err));
    PDR_TRY(pdr__jobs_add(jobs, w, call));
    jobs->items[jobs->count - 1].request = request;
    if (!reply->approved)
        PDR_TRY(reject(&jobs->items[jobs->count - 1], reply, w));
done:
    pdr_value_free(call);
    return rc;
}

/* Was a request of this id answered already? */
static bool is_answered(const struct pdr__jobs *jobs, const pdr_value *id)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (pdr__value_same_text(request_id(jobs->items[i].request), id))
            return true;
    }
    return false;
}

/* What was answered, as calls; the rest goes on waiting. */
static pdr_rc answered_find(struct pdr__jobs *jobs, struct pdr__run *w)
{
    struct pdr__record *r = &w->record;
    pdr_value *replies = NULL, *hidden = NULL, *left = pdr_value_new_array();
    struct reply reply;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(record_open(&replies, &hidden, w));
    pdr_iter_init(&it, r->waiting);
    while (pdr_iter_next(&it)) {
        const pdr_value *id = request_id(it.value);
        const pdr_value *call = request_call(it.value, r->shape);
        bool usable = id != NULL && call != NULL;
        bool found = usable && (reply_find(&reply, w->replies, w->shape, id) ||
                                reply_find(&reply, replies, r->shape, id));

        if (id != NULL && is_answered(jobs, id))
            continue; /* or the same answer, sent again, would run it */
        if (usable && !found && rules_approve(w, call, r->shape)) {
            reply = (struct reply){.approved = true};
            found = true;
        }
        if (found)
            PDR_TRY(job_add(jobs, w, it.value, &reply));
        else
            PDR_TRY(pdr_value_append(&left, it.value, w->err));
    }
    if (jobs->count > 0 && pdr_value_count(left) == 0) {
        reply = (struct reply){.approved = true};
        pdr_iter_init(&it, hidden);
        while (pdr_iter_next(&it)) {
            const pdr_value *id = request_id(it.value);

            if (id != NULL && request_call(it.value, r->shape) != NULL &&
                !is_answered(jobs, id))
                PDR_TRY(job_add(jobs, w, it.value, &reply));
        }
        r->ran_hidden = w->run->trusts_record;
    }
    if (jobs->count > 0) {
        pdr_value_free(r->left);
        r->left = left;
        left = NULL;
        r->has_changed = true;
    }
done:
    pdr_value_free(left);
    pdr_value_free(hidden);
    pdr_value_free(replies);
    return rc;
}

/* Is the call in what the model gets, without a result? */
static bool call_is_open(const struct pdr__run *w, const pdr_value *call)
{
    const pdr_value *id = pdr_content_get(call, w->shape, PDR_FIELD_CALL_ID);
    bool is_open = false;

    for (size_t i = 0; id != NULL && i < w->count; i++) {
        pdr_iter it;

        pdr_iter_init(&it,
                      pdr_message_contents(w->messages[i].value, w->shape));
        while (pdr_iter_next(&it)) {
            pdr_content_kind kind = pdr_content_kind_of(it.value, w->shape);
            const pdr_value *other =
                pdr_content_get(it.value, w->shape, PDR_FIELD_CALL_ID);

            if (other == NULL || !pdr__value_same_text(other, id))
                continue;
            if (kind == PDR_CONTENT_CALL)
                is_open = true;
            else if (kind == PDR_CONTENT_RESULT)
                is_open = false;
        }
    }
    return is_open;
}

/* A message with the calls that ran and are not in the history as calls. */
static pdr_rc calls_message(pdr_value **out, const struct pdr__jobs *jobs,
                            const struct pdr__run *w)
{
    pdr_message_parts parts = {.role = PDR_LIT("assistant"),
                               .author = w->agent->name};
    pdr_value *calls = pdr_value_new_array();
    pdr_rc rc = PDR_OK;

    *out = NULL;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct pdr__job *job = &jobs->items[i];

        if (job->result != NULL && !call_is_open(w, job->call))
            PDR_TRY(pdr_value_append(&calls, job->call, w->err));
    }
    parts.contents = calls;
    if (pdr_value_count(calls) > 0)
        PDR_TRY(pdr_message_new(out, w->shape, &parts, w->err));
done:
    pdr_value_free(calls);
    return rc;
}

/* Requests whose calls did not run after all wait on. */
static pdr_rc waiting_restore(struct pdr__run *w, const struct pdr__jobs *jobs)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < jobs->count; i++) {
        const struct pdr__job *job = &jobs->items[i];

        if (job->result == NULL && job->request != NULL)
            PDR_TRY(pdr_value_append(&w->record.left, job->request, w->err));
    }
done:
    return rc;
}

/* None of it happened, as far as session and model are concerned. */
static void approved_undo(struct pdr__run *w, size_t sent)
{
    struct pdr__record *r = &w->record;

    pdr_value_free(r->left);
    r->left = pdr_value_ref(r->waiting);
    r->has_changed = r->ran_hidden = false;
    w->count = sent;
    pdr__answers_drop(w);
}

pdr_rc pdr__approved_run(struct pdr__run *w)
{
    struct pdr__jobs jobs = {NULL, 0, 0};
    pdr_value *message = NULL;
    pdr_rc rc = PDR_OK, ran = PDR_OK;
    size_t rejected = 0, done = 0, sent = w->count;

    if (pdr_value_count(w->record.waiting) == 0)
        return PDR_OK;
    PDR_TRY(answered_find(&jobs, w));
    for (size_t i = 0; i < jobs.count; i++)
        rejected += jobs.items[i].result != NULL;
    if (jobs.count == 0)
        goto done;
    ran = pdr__jobs_run(&jobs, w);
    for (size_t i = 0; i < jobs.count; i++)
        done += jobs.items[i].result != NULL;
    if (ran != PDR_OK)
        PDR_TRY(done == rejected ? ran : waiting_restore(w, &jobs));
    PDR_TRY(calls_message(&message, &jobs, w));
    if (message != NULL)
        PDR_TRY(pdr__answer_take(w, message));
    PDR_TRY(pdr__jobs_message(&message, &jobs, w));
    if (message != NULL)
        PDR_TRY(pdr__answer_take(w, message));
    if (done > rejected)
        w->story.sure = w->story.count;
done:
    if (rc != PDR_OK)
        approved_undo(w, sent);
    pdr__jobs_dispose(&jobs);
    return rc != PDR_OK ? rc : ran;
}

/* --- asking ----------------------------------------------------------------
 */

bool pdr__approval_needed(const struct pdr__run *w,
                          const struct pdr__tool *tool, const pdr_value *call)
{
    return tool != NULL && tool->fn != NULL && tool->needs_approval &&
           !rules_approve(w, call, w->shape);
}

/* Give a Python call the id by which it is approved. */
static pdr_rc python_id(pdr_value **call, pdr_err *err)
{
    const pdr_value *had = pdr_value_get_c(*call, "id");
    char text[8 + PDR_UUID_TEXT], *to = text + 8;
    struct pdr__uuid uuid;
    pdr_value *id = NULL;
    pdr_rc rc = PDR_OK;

    if (had != NULL && pdr_value_kind(had) == PDR_STRING)
        return PDR_OK;
    PDR_TRY(pdr__uuid_v4(&uuid, pdr__rand_system(), err));
    memcpy(text, "af-call-", 8);
    pdr__uuid_write(text + 8, &uuid);
    for (const char *from = text + 8; *from != '\0'; from++) {
        if (*from != '-')
            *to++ = *from;
    }
    PDR_TRY(
        pdr_value_new_string(&id, pdr_str_n(text, (size_t)(to - text)), err));
    PDR_TRY(pdr_value_set(call, PDR_LIT("id"), id, err));
done:
    pdr_value_free(id);
    return rc;
}

/* The id of a request: that of the Python call, or one made of the call's id,
 * as .NET makes it. No two that wait have one. */
static pdr_rc new_request_id(pdr_value **out, const struct pdr__record *r,
                             const pdr_value *call, pdr_err *err)
{
    const pdr_value *call_id =
        pdr_content_get(call, r->shape, PDR_FIELD_CALL_ID);
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf room = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str id = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    if (r->shape == PDR_SHAPE_PYTHON) {
        *out = pdr_value_ref(pdr_value_get_c(call, "id"));
        return PDR_OK;
    }
    if (call_id != NULL)
        PDR_TRY(pdr__value_sound_text(&id, call_id, &room, err));
    PDR_TRY(pdr_buf_printf(&text, err, "ficc_%.*s", (int)id.len, id.ptr));
    /* All of them may be of one call id: so it is soon another one. */
    for (size_t n = pdr_value_count(r->left) + pdr_value_count(r->asked) + 1;
         id_waits(r->left, pdr_buf_str(&text)) ||
         id_waits(r->asked, pdr_buf_str(&text));
         n++) {
        pdr_buf_clear(&text);
        PDR_TRY(pdr_buf_printf(&text, err, "ficc_%.*s_%zu", (int)id.len, id.ptr,
                               n));
    }
    PDR_TRY(pdr_value_new_string(out, pdr_buf_str(&text), err));
done:
    pdr_buf_dispose(&room);
    pdr_buf_dispose(&text);
    return rc;
}

pdr_rc pdr__approval_ask(pdr_value **out, pdr_value **call, struct pdr__run *w)
{
    struct pdr__record *r = &w->record;
    pdr_value *own = NULL, *id = NULL, *request = NULL, *entry = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (r->shape == PDR_SHAPE_PYTHON)
        PDR_TRY(python_id(call, w->err));
    PDR_TRY(pdr_content_convert(&own, *call, w->shape, r->shape, w->err));
    PDR_TRY(new_request_id(&id, r, own, w->err));
    PDR_TRY(
        pdr_content_new(&request, r->shape, PDR_CONTENT_APPROVAL_REQUEST,
                        (const pdr_content_part[]){{PDR_FIELD_TOOL_CALL, own},
                                                   {PDR_FIELD_REQUEST_ID, id}},
                        2, w->err));
    entry = pdr_value_ref(request);
    if (r->shape != PDR_SHAPE_PYTHON) /* .NET leaves it out in its record */
        PDR_TRY(pdr_value_remove(&entry, PDR_LIT("$type"), w->err));
    if (r->asked == NULL)
        r->asked = pdr_value_new_array();
    PDR_TRY(pdr_value_append(&r->asked, entry, w->err));
    r->has_changed = true;
    PDR_TRY(pdr_content_convert(out, request, r->shape, w->shape, w->err));
done:
    pdr_value_free(entry);
    pdr_value_free(request);
    pdr_value_free(id);
    pdr_value_free(own);
    return rc;
}

/* --- for the caller --------------------------------------------------------
 */

struct list {
    pdr_approvals shown; /* first */
    struct pdr__arena memory;
};

static pdr_rc text_of(pdr_str *out, struct list *list, const pdr_value *string,
                      pdr_err *err)
{
    pdr_buf room = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = PDR_LIT("");
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (string != NULL)
        PDR_TRY(pdr__value_sound_text(&text, string, &room, err));
    PDR_TRY(pdr__arena_strndup(&copy, &list->memory, text, err));
    *out = pdr_str_n(copy, text.len);
done:
    pdr_buf_dispose(&room);
    return rc;
}

pdr_rc pdr__approvals_new(pdr_approvals **out, const pdr_value *requests,
                          pdr_shape shape, pdr_err *err)
{
    const struct pdr__arena no_memory = PDR_ARENA_INIT(SIZE_MAX);
    pdr_buf arguments = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    struct list *list = pdr__calloc(1, sizeof(*list));
    pdr_approval *items = NULL;
    void *room = NULL;
    char *copy = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (list == NULL)
        return pdr__nomem(err);
    list->memory = no_memory;
    PDR_TRY(pdr__arena_alloc(&room, &list->memory,
                             (pdr_value_count(requests) + 1) * sizeof(*items),
                             err));
    items = room;
    list->shown.items = items;
    pdr_iter_init(&it, requests);
    while (pdr_iter_next(&it)) {
        const pdr_value *id = request_id(it.value);
        const pdr_value *call = request_call(it.value, shape);
        pdr_approval *item = &items[list->shown.count];

        if (id == NULL || call == NULL)
            continue;
        PDR_TRY(text_of(&item->id, list, id, err));
        PDR_TRY(text_of(&item->tool, list,
                        pdr_content_get(call, shape, PDR_FIELD_NAME), err));
        PDR_TRY(text_of(&item->call_id, list,
                        pdr_content_get(call, shape, PDR_FIELD_CALL_ID), err));
        pdr_buf_clear(&arguments);
        rc = pdr_content_arguments(&arguments, call, shape, err);
        if (rc != PDR_OK && rc != PDR_EINVALID)
            goto done;
        PDR_TRY(pdr__arena_strndup(&copy, &list->memory,
                                   pdr_buf_str(&arguments), err));
        item->arguments = pdr_str_n(copy, arguments.len);
        list->shown.count++;
    }
    *out = &list->shown;
    list = NULL;
done:
    pdr_buf_dispose(&arguments);
    pdr_approvals_free(list != NULL ? &list->shown : NULL);
    return rc;
}

pdr_rc pdr_approvals_pending(pdr_approvals **out, pdr_session *session,
                             pdr_stored *stored, pdr_err *err)
{
    struct pdr__record record = {.shape = PDR_SHAPE_DOTNET};
    pdr_str keys[PDR_RECORD_KEYS];
    pdr_shape shape = PDR_SHAPE_DOTNET;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && (session == NULL) != (stored == NULL));
    *out = NULL;
    if (stored != NULL)
        session = pdr_stored_session(stored);
    shape = pdr_session_message_shape(session);
    if (stored != NULL)
        PDR_TRY(
            pdr_stored_load(stored, keys, pdr__record_keys(keys, shape), err));
    pdr__record_load(&record, session, shape);
    PDR_TRY(pdr__approvals_new(out, record.waiting, record.shape, err));
done:
    pdr__record_dispose(&record);
    return rc;
}

void pdr_approvals_free(pdr_approvals *approvals)
{
    struct list *list = (struct list *)(void *)approvals;

    if (list == NULL)
        return;
    pdr__arena_dispose(&list->memory);
    pdr__free(list);
}
