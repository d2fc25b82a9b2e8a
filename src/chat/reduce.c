/*
 * reduce.c - where the history of an agent is cut when it gets too long.
 *
 * WHY  A model refuses a result without the call that it answers, and loses the
 *      thread if an answer comes without its question. So the last `target`
 *      messages are where the search begins, not where it ends: it goes back to
 *      the first place that can be cut, and from there, within `threshold`, to
 *      a message of a person.
 *
 *                       limit       n - target           n
 *     ──┬─────────────────┬──────────────┬───────────────┤
 *       │  user ◄─────────┼──── cut ◄────┘               │
 *            only within the threshold        these stay in any case
 *
 * INVARIANTS
 *   R1  A message with a call or a result is never the first one that stays.
 *   R2  The call of each result that stays is in the list too. Results are
 *       matched by id with the last such call before them; without an id, with
 *       the last call that has none. All of what stays comes after the cut, so
 *       parallel calls keep all of their results.
 *
 * A result whose call is nowhere cannot be helped by going back. As long as it
 * is among what would stay, nothing is cut.
 *
 * COST  The messages from the cut on, and for each result those back to its
 *       call.
 *
 * NOT HERE  Summaries of what is left out (summary.c).
 */
#include "chat.h"

/* --- messages in PDR_SHAPE_SK ---------------------------------------------
 */

bool pdr__has_role(const pdr_value *message, pdr_str role)
{
    const pdr_value *label = pdr_message_role(message, PDR_SHAPE_SK);

    return label != NULL && pdr__is_folded(label, role);
}

static bool is_call(const pdr_value *item)
{
    return pdr_content_kind_of(item, PDR_SHAPE_SK) == PDR_CONTENT_CALL;
}

static bool is_result(const pdr_value *item)
{
    return pdr_content_kind_of(item, PDR_SHAPE_SK) == PDR_CONTENT_RESULT;
}

bool pdr__is_tool_traffic(const pdr_value *message)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_SK));
    while (pdr_iter_next(&it)) {
        if (is_call(it.value) || is_result(it.value))
            return true;
    }
    return false;
}

enum pdr__call_news pdr__call_news(const pdr_value *message,
                                   const pdr_value *call_id)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_SK));
    while (pdr_iter_next(&it)) {
        const pdr_value *id =
            pdr_content_get(it.value, PDR_SHAPE_SK, PDR_FIELD_CALL_ID);

        if (id == NULL || !pdr__value_same_text(id, call_id))
            continue;
        if (is_result(it.value))
            return PDR_CALL_ANSWERED;
        if (is_call(it.value))
            return PDR_CALL_REPLACED;
    }
    return PDR_CALL_NOTHING;
}

/* Does this call have the id of that result? Items without one go together. */
static bool is_answered_by(const pdr_value *call, const pdr_value *result)
{
    const pdr_value *a = pdr_content_get(call, PDR_SHAPE_SK, PDR_FIELD_CALL_ID);
    const pdr_value *b =
        pdr_content_get(result, PDR_SHAPE_SK, PDR_FIELD_CALL_ID);

    return a != NULL && b != NULL ? pdr__value_same_text(a, b)
                                  : (a == NULL) == (b == NULL);
}

/* The last message up to `at` that has the call of `result`; -1: none has. */
static long call_find(const pdr_value *const *messages, long at,
                      const pdr_value *result)
{
    for (; at >= 0; at--) {
        pdr_iter it;

        pdr_iter_init(&it, pdr_message_contents(messages[at], PDR_SHAPE_SK));
        while (pdr_iter_next(&it)) {
            if (is_call(it.value) && is_answered_by(it.value, result))
                return at;
        }
    }
    return -1;
}

/* --- reducers -------------------------------------------------------------
 */

pdr_rc pdr__reduction_check(const pdr_reduction *reduction, pdr_err *err)
{
    unsigned target = reduction->target, threshold = reduction->threshold;

    /* What was negative is huge now. */
    if (target > INT32_MAX || threshold > INT32_MAX)
        return PDR_FAIL(
            err, BAD_REDUCTION, "a reducer counts up to %d messages, not %u",
            (int)INT32_MAX, target > threshold ? target : threshold);
    if (target == 0 && threshold > 0)
        return PDR_FAIL(err, BAD_REDUCTION,
                        "a reducer with the threshold %u has no target: give "
                        "the number of messages that stay",
                        threshold);
    if (target == 0 && reduction->client != NULL)
        return PDR_FAIL(err, BAD_REDUCTION, "%s",
                        "a reducer that sums up has no target: give the number "
                        "of messages that stay");
    if (reduction->client == NULL &&
        (reduction->instructions != NULL || reduction->is_series ||
         reduction->may_fail))
        return PDR_FAIL(err, BAD_REDUCTION, "%s",
                        "a reducer has settings for summaries and no model "
                        "that could make them");
    return PDR_OK;
}

long pdr__reduce_find(bool *has_system, const pdr_value *const *messages,
                      size_t count, size_t offset,
                      const pdr_reduction *reduction)
{
    long n = (long)count, stay = (long)reduction->target;
    long limit = 0, cut = -1;
    long need = n; /* the first message with a call of what stays (R2) */

    *has_system = count > 0 && pdr__has_role(messages[0], PDR_LIT("system"));
    stay -= *has_system ? 1 : 0;
    limit = n - (long)reduction->threshold - stay;
    if (reduction->target == 0 || limit <= (long)offset)
        return -1;
    if (stay == 0)
        cut = n; /* the system message alone */
    for (long i = n - 1; i >= 0 && need >= 0 && (cut < 0 || i >= limit); i--) {
        pdr_iter it;

        pdr_iter_init(&it, pdr_message_contents(messages[i], PDR_SHAPE_SK));
        while (pdr_iter_next(&it)) {
            if (is_result(it.value)) {
                long call = call_find(messages, i, it.value);
                need = call < need ? call : need;
            }
        }
        if (i > n - stay || need < i || pdr__is_tool_traffic(messages[i]))
            continue;
        if (cut < 0)
            cut = i;
        if (pdr__has_role(messages[i], PDR_LIT("user")))
            return i;
    }
    return cut;
}
