/*
 * convert_state.c - the conversation of a session as a durable state document.
 *
 * WHY  A conversation that began with a client is to go on with a durable
 *      agent. A session keeps messages, a state document keeps turns:
 *
 *        system, user, ...     ──►  request    one correlation id,
 *        assistant, tool, ...  ──►  response   new for each turn
 *
 * INVARIANTS
 *   T1  Every request has its response: one without would be a run that is
 *       still open, and that nobody will ever end. What a turn lacks (the
 *       answer to the last question, the question before a greeting) is an
 *       entry without messages.
 *   T2  Every message is in it, in order. Whatever else the session says is
 *       reported as lost; its own id is not, as the import gives a new one,
 *       nor what says which kind of document it is.
 */
#include "convert.h"

enum side { ASKED, ANSWERED, SIDES };

struct turn_maker {
    pdr_value *state;           /* owned; the turns that are complete */
    pdr_value *messages[SIDES]; /* owned; of the turn in work; NULL: none */
    int64_t times[SIDES];       /* of the first message that says one, or 0 */
    int64_t now;
};

/* --- turns ---------------------------------------------------------------- */

static pdr_rc turn_end(struct turn_maker *t, pdr_err *err)
{
    struct pdr__uuid uuid;
    char id[PDR_UUID_TEXT];
    pdr_value *entry = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__uuid_v4(&uuid, pdr__rand_system(), err));
    pdr__uuid_write(id, &uuid);
    for (int i = 0; i < SIDES; i++) {
        int64_t time = t->times[i] != 0 ? t->times[i] : t->times[1 - i];
        const pdr_entry_parts parts = {.kind = i == ASKED ? PDR_ENTRY_REQUEST
                                                          : PDR_ENTRY_RESPONSE,
                                       .correlation_id = pdr_str_c(id),
                                       .created_at = time != 0 ? time : t->now,
                                       .messages = t->messages[i]};

        PDR_TRY(pdr_entry_new(&entry, &parts, err));
        PDR_TRY(pdr_state_append(&t->state, entry, err));
        pdr_value_free(entry);
        entry = NULL;
    }
    for (int i = 0; i < SIDES; i++) {
        pdr_value_free(t->messages[i]);
        t->messages[i] = NULL;
        t->times[i] = 0;
    }
done:
    pdr_value_free(entry);
    return rc;
}

/* Whose message is it? */
static pdr_rc read_side(enum side *out, const pdr_value *message,
                        pdr_shape shape, pdr_err *err)
{
    static const struct {
        const char *role;
        enum side side;
    } rows[] = {{"user", ASKED},
                {"system", ASKED},
                {"developer", ASKED},
                {"assistant", ANSWERED},
                {"tool", ANSWERED}};
    const pdr_value *role = NULL;

    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND, "a message is an object, this is %s",
                        pdr__kind_phrase(message));
    role = pdr_message_role(message, shape);
    for (size_t i = 0; role != NULL && i < PDR_COUNT(rows); i++) {
        if (pdr__is_folded(role, pdr_str_c(rows[i].role))) {
            *out = rows[i].side;
            return PDR_OK;
        }
    }
    return PDR_FAIL(err, NO_SUCH_KIND, "%s",
                    "the role of the message is none of user, system, "
                    "developer, assistant, tool: nobody knows whether it asks "
                    "or answers");
}

static pdr_rc turn_add(struct turn_maker *t, const pdr_value *message,
                       enum side side, pdr_shape shape, pdr_err *err)
{
    pdr_value *made = NULL;
    pdr_datetime at;
    pdr_rc rc = PDR_OK;

    if (side == ASKED && t->messages[ANSWERED] != NULL)
        PDR_TRY(turn_end(t, err));
    PDR_TRY(pdr_message_convert(&made, message, shape, PDR_SHAPE_STATE, err));
    if (t->times[side] == 0 &&
        pdr_message_created_at(&at, made, PDR_SHAPE_STATE))
        t->times[side] = at.ticks;
    if (t->messages[side] == NULL)
        t->messages[side] = pdr_value_new_array();
    PDR_TRY(pdr_value_append(&t->messages[side], made, err));
done:
    pdr_value_free(made);
    return rc;
}

/* --- what is lost --------------------------------------------------------- */

/* Report the members of the object that the finder is at, but for those that
 * are `carried` (NULL ends them) or say nothing. */
static pdr_rc report_lost(struct finder *finder, const pdr_value *object,
                          const char *const *carried, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        pdr_kind kind = pdr_value_kind(it.value);
        bool is_fine = kind == PDR_NULL ||
                       pdr_value_text_is(it.value, PDR_LIT("")) ||
                       (kind >= PDR_ARRAY && pdr_value_count(it.value) == 0) ||
                       pdr__value_is_sentinel(it.value);
        size_t mark = 0;

        for (size_t i = 0; !is_fine && carried[i] != NULL; i++)
            is_fine = pdr_value_text_is(it.name, pdr_str_c(carried[i]));
        if (is_fine)
            continue;
        PDR_TRY(pdr__finder_member(&mark, finder, it.name, err));
        PDR_TRY(pdr__finder_tell(
            finder, "not-carried", PDR_SEVERITY_WARNING, err, "%s",
            "a state document has no place for this: it is lost"));
        pdr__finder_up(finder, mark);
    }
done:
    return rc;
}

/* In the end the finder is at the list of messages. */
static pdr_rc report_all(struct finder *finder, const pdr_value *document,
                         const struct shape_names *names, pdr_err *err)
{
    const char *const root[] = {"type",    "session_id", "version",
                                "perdure", names->bag,   NULL};
    const char *const perdure[] = {"version", "kind", "id", NULL};
    const char *const bag[] = {names->history, NULL};
    const char *const slot[] = {"messages", NULL};
    const pdr_value *at = document;
    size_t mark = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(report_lost(finder, at, root, err));
    mark = pdr__finder_name(finder, PDR_LIT("perdure"));
    PDR_TRY(report_lost(finder, pdr_value_get_c(at, "perdure"), perdure, err));
    pdr__finder_up(finder, mark);
    (void)pdr__finder_name(finder, pdr_str_c(names->bag));
    at = pdr_value_get_c(at, names->bag);
    PDR_TRY(report_lost(finder, at, bag, err));
    (void)pdr__finder_name(finder, pdr_str_c(names->history));
    at = pdr_value_get_c(at, names->history);
    PDR_TRY(report_lost(finder, at, slot, err));
    (void)pdr__finder_name(finder, PDR_LIT("messages"));
done:
    return rc;
}

/* --- all of it ------------------------------------------------------------ */

pdr_rc pdr_session_to_state(pdr_value **out, pdr_session *session, int64_t now,
                            pdr_err *err, pdr_doc_finding_fn fn, void *arg)
{
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    struct turn_maker t = {.now = now};
    pdr_value *document = NULL, *messages = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && session != NULL);
    *out = NULL;
    if (pdr_session_get_kind(session) == PDR_SESSION_KIND_DURABLE)
        return PDR_FAIL(err, SESSION_KIND, "%s",
                        "the session is durable already: its agent keeps the "
                        "state document");
    if (session->names->sealed)
        return PDR_FAIL(err, BAG_SEALED, "%s",
                        "the session is of the time before there were bags; "
                        "convert it to the native shape first");
    PDR_TRY(pdr_session_to_value(&document, session, err));
    PDR_TRY(pdr_session_history(&messages, session, err));
    if (pdr_value_count(messages) == 0)
        PDR_TRY(PDR_FAIL(err, HISTORY_SHAPE, "%s",
                         "the session keeps no messages, so there is no "
                         "conversation to go on with"));
    PDR_TRY(report_all(&finder, document, session->names, err));
    PDR_TRY(pdr_state_new(&t.state, err));
    pdr_iter_init(&it, messages);
    while (pdr_iter_next(&it)) {
        pdr_shape shape = session->names->messages;
        size_t mark = pdr__finder_index(&finder, it.index);
        enum side side = ASKED;

        rc = read_side(&side, it.value, shape, err);
        if (rc != PDR_OK) {
            pdr__err_path(err, pdr_buf_str(&finder.pointer));
            goto done;
        }
        PDR_TRY(turn_add(&t, it.value, side, shape, err));
        pdr__finder_up(&finder, mark);
    }
    PDR_TRY(turn_end(&t, err));
    *out = t.state;
    t.state = NULL;
done:
    pdr_value_free(t.state);
    pdr_value_free(t.messages[ASKED]);
    pdr_value_free(t.messages[ANSWERED]);
    pdr_value_free(messages);
    pdr_value_free(document);
    pdr__finder_dispose(&finder);
    return rc;
}
