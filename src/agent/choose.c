/*
 * choose.c - the history of a run, and what of it the model gets.
 *
 * WHY  A long history does not fit into a model, so the oldest part is left
 *      out. It is left out of the request only: nothing here changes what is
 *      kept. A call without its results, or the other way round, is refused by
 *      models, so the unit is a group:
 *
 *        system │ user │ thought call tool tool thought │ text │ user │ ...
 *               └ one message each, but for a call with all that belongs to it
 *
 *      A user's message begins a turn.
 *
 * INVARIANTS
 *   C1  A group is sent whole or not at all.
 *   C2  What is sent is the end of the history, and every system message before
 *       it that was read. The last group is sent whatever the limits are.
 *   C3  Of a history in a store only an end is read, so its first messages may
 *       be the rest of a group. More is read until the place of the cut does
 *       not depend on what was not read.
 *
 * NOT HERE  What the caller says, what providers add and what the run makes:
 *           run.c sends all of that (S-142).
 */
#include "agent.h"

#include <perdure/json.h>

#include "retain.h"
#include "session.h"

/* How many messages are read at first, where turns are counted. */
#define FIRST_STEP 32

/* --- groups ----------------------------------------------------------------
 */

/* What a message is, and whether a group begins with it. */
enum {
    PART_OTHER = 0,
    PART_SYSTEM,
    PART_USER,
    PART_CALL,    /* of an assistant, with a call of a tool */
    PART_THOUGHT, /* of an assistant, with reasoning or nothing */
    PART_TOOL,
    PART_MASK = 7,
    PART_BEGINS = 8
};

static uint8_t part_of(const pdr_request_message *m)
{
    const pdr_value *role = pdr_message_role(m->value, m->shape);
    uint8_t part = PART_THOUGHT;
    pdr_iter it;

    if (role == NULL)
        return PART_OTHER;
    if (pdr__is_folded(role, PDR_LIT("user")))
        return PART_USER;
    if (pdr__is_folded(role, PDR_LIT("system")))
        return PART_SYSTEM;
    if (pdr__is_folded(role, PDR_LIT("tool")))
        return PART_TOOL;
    if (!pdr__is_folded(role, PDR_LIT("assistant")))
        return PART_OTHER;
    pdr_iter_init(&it, pdr_message_contents(m->value, m->shape));
    while (pdr_iter_next(&it)) {
        pdr_content_kind kind = pdr_content_kind_of(it.value, m->shape);

        if (kind == PDR_CONTENT_CALL)
            return PART_CALL;
        if (kind != PDR_CONTENT_REASONING)
            part = PART_OTHER;
    }
    return part;
}

/* Say of each message what it is, and where groups begin. */
static void groups_find(uint8_t *parts, const pdr_request_message *messages,
                        size_t count)
{
    bool in_group = false; /* of a call */
    size_t thoughts = 0;   /* just before, in no group yet */

    for (size_t i = 0; i < count; i++) {
        uint8_t part = part_of(&messages[i]);
        bool joins = in_group && (part == PART_TOOL || part == PART_THOUGHT);

        parts[i] = joins ? part : (uint8_t)(part | PART_BEGINS);
        if (part == PART_CALL) {
            for (; thoughts > 0; thoughts--)
                parts[i + 1 - thoughts] &= PART_MASK;
            in_group = true;
        } else if (!joins) {
            in_group = false;
            thoughts = part == PART_THOUGHT ? thoughts + 1 : 0;
        }
    }
}

static size_t group_end(const uint8_t *parts, size_t count, size_t begin)
{
    size_t end = begin + 1;

    while (end < count && (parts[end] & PART_BEGINS) == 0)
        end++;
    return end;
}

/* How many of the first messages may belong to a group that began before them
 * (C3). From there on groups are what they are in the whole history. */
static size_t head_find(const uint8_t *parts, size_t count)
{
    size_t head = 0;
    uint8_t part = PART_THOUGHT;

    while (head < count && ((parts[head] & PART_MASK) == PART_TOOL ||
                            (parts[head] & PART_MASK) == PART_THOUGHT))
        part = parts[head++] & PART_MASK;
    /* Thoughts before a call are its own, unless they end a group. */
    if (part == PART_THOUGHT && head < count &&
        (parts[head] & PART_MASK) == PART_CALL)
        head = group_end(parts, count, head);
    return head;
}

/* --- limits ----------------------------------------------------------------
 */

/* Add the bytes of these messages, as JSON. */
static pdr_rc bytes_add(size_t *io, const pdr_request_message *messages,
                        size_t count, pdr_buf *scratch, pdr_err *err)
{
    const pdr_write_opts any = {.flags = PDR_BARE_TOKENS};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count; i++) {
        pdr_buf_clear(scratch);
        PDR_TRY(pdr_json_write(scratch, messages[i].value, &any, err));
        *io += scratch->len;
    }
done:
    return rc;
}

static bool is_over(size_t value, size_t limit)
{
    return limit > 0 && value > limit;
}

static bool is_full(size_t value, size_t limit)
{
    return limit > 0 && value >= limit;
}

/* Where the history is cut: from `*first` on all is sent. `*is_sure`: the first
 * `head` messages, of which we may not know all, play no part in that. */
static pdr_rc cut_find(size_t *first, bool *is_sure, const uint8_t *parts,
                       const pdr_request_message *messages, size_t count,
                       size_t head, const pdr_agent *agent, pdr_err *err)
{
    size_t at = count, begin = count, sent = 0, bytes = 0, turns = 0;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    bool full = false;
    pdr_rc rc = PDR_OK;

    *first = count;
    while (at > 0 && !full) {
        size_t more = 0;

        begin = at - 1;
        while (begin > 0 && (parts[begin] & PART_BEGINS) == 0)
            begin--;
        if ((parts[begin] & PART_MASK) == PART_SYSTEM) {
            at = begin;
            continue;
        }
        if (agent->window_bytes > 0)
            PDR_TRY(
                bytes_add(&more, messages + begin, at - begin, &scratch, err));
        if (sent > 0 && (is_over(sent + at - begin, agent->window_messages) ||
                         is_over(bytes + more, agent->window_bytes)))
            break;
        sent += at - begin;
        bytes += more;
        turns += (parts[begin] & PART_MASK) == PART_USER;
        *first = at = begin;
        full = is_full(sent, agent->window_messages) ||
               is_full(bytes, agent->window_bytes) ||
               is_full(turns, agent->window_turns);
    }
    *is_sure = *first >= head && (full || (at > 0 && begin >= head));
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Does the agent's filter take all messages of a group? */
static bool filter_takes(const pdr_agent *agent,
                         const pdr_request_message *messages, size_t count)
{
    bool takes = true;

    for (size_t i = 0; takes && agent->history_filter != NULL && i < count; i++)
        takes = agent->history_filter(messages[i].value, messages[i].shape,
                                      agent->history_arg);
    return takes;
}

pdr_rc pdr__history_choose(bool *is_sure, struct pdr__history *history,
                           bool is_whole, const pdr_agent *agent, pdr_err *err)
{
    pdr_request_message *messages = history->messages;
    struct pdr__calls calls = PDR_CALLS_INIT;
    size_t count = history->count, first = 0, kept = 0;
    uint8_t *parts = NULL;
    pdr_rc rc = PDR_OK;

    *is_sure = true;
    if (agent->window_messages == 0 && agent->window_bytes == 0 &&
        agent->window_turns == 0 && agent->history_filter == NULL)
        return PDR_OK;
    calls.keeps_answered = true;
    parts = pdr__calloc(count + 1, sizeof(*parts));
    if (parts == NULL)
        return pdr__nomem(err);
    groups_find(parts, messages, count);
    PDR_TRY(cut_find(&first, is_sure, parts, messages, count,
                     is_whole ? 0 : head_find(parts, count), agent, err));
    *is_sure = *is_sure || is_whole;
    for (size_t i = 0, end = 0; *is_sure && i < count; i = end) {
        bool has_orphan = false;

        end = group_end(parts, count, i);
        if ((i < first && (parts[i] & PART_MASK) != PART_SYSTEM) ||
            !filter_takes(agent, messages + i, end - i))
            continue;
        for (size_t k = i; k < end; k++) {
            /* A result that came late may have lost its call. */
            PDR_TRY(pdr__calls_read_message(&has_orphan, &calls,
                                            messages[k].value,
                                            messages[k].shape, k, err));
            if (!has_orphan)
                messages[kept++] = messages[k];
        }
    }
    if (*is_sure)
        history->count = kept;
done:
    pdr__calls_dispose(&calls);
    pdr__free(parts);
    return rc;
}

/* --- loading ---------------------------------------------------------------
 */

pdr_rc pdr__history_add(struct pdr__history *history, const pdr_value *message,
                        pdr_shape shape, pdr_err *err)
{
    pdr_rc rc = pdr__grow((void **)&history->messages, &history->cap,
                          history->count + 1, sizeof(*history->messages), err);

    if (rc == PDR_OK)
        history->messages[history->count++] =
            (pdr_request_message){message, shape, PDR_ORIGIN_HISTORY};
    return rc;
}

/* Double a limit; 0, which means no limit, on overflow. */
static size_t doubled(size_t n)
{
    return n > SIZE_MAX / 2 ? 0 : 2 * n;
}

/* The end of a history in a store: a little more than what is sent (C3). */
static pdr_rc load_stored(struct pdr__history *history, const pdr_agent *agent,
                          pdr_stored *stored, pdr_err *err)
{
    size_t messages = 0, bytes = doubled(agent->window_bytes);
    pdr_shape shape = pdr_stored_shape(stored);
    bool is_sure = false;
    pdr_rc rc = PDR_OK;

    if (agent->window_messages > 0)
        messages = agent->window_messages + 1;
    else if (agent->window_turns > 0)
        messages = FIRST_STEP;
    for (; !is_sure; messages = doubled(messages), bytes = doubled(bytes)) {
        pdr_stored_window_free(history->window);
        history->window = NULL;
        history->count = 0;
        PDR_TRY(pdr_stored_messages(&history->window, stored, messages, bytes,
                                    err));
        for (size_t i = 0; i < history->window->count; i++)
            PDR_TRY(pdr__history_add(
                history, history->window->messages[i].value, shape, err));
        PDR_TRY(pdr__history_choose(&is_sure, history,
                                    history->window->is_whole, agent, err));
    }
done:
    return rc;
}

pdr_rc pdr__history_load(struct pdr__history *history, const pdr_agent *agent,
                         pdr_session *session, pdr_stored *stored, pdr_err *err)
{
    bool is_sure = true;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (stored != NULL && agent->history_key != NULL)
        return PDR_FAIL(err, HISTORY_KEY,
                        "the agent keeps its history under '%s', and in a "
                        "store the history has one place only: leave out "
                        "history_key",
                        agent->history_key);
    if (stored != NULL)
        return load_stored(history, agent, stored, err);
    if (session == NULL)
        return PDR_OK;
    PDR_TRY(pdr_session_history_at(&history->list, session, agent->history_key,
                                   err));
    pdr_iter_init(&it, history->list);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) == PDR_OBJECT)
            PDR_TRY(pdr__history_add(history, it.value,
                                     pdr_session_message_shape(session), err));
    }
    PDR_TRY(pdr__history_choose(&is_sure, history, true, agent, err));
done:
    return rc;
}

void pdr__history_dispose(struct pdr__history *history)
{
    pdr__free(history->messages);
    pdr_stored_window_free(history->window);
    pdr_value_free(history->list);
}
