/*
 * api_chats.c - /api/v1/chats: conversations of several agents, which they are,
 * what was said, and the saved chat that each of them is.
 *
 *      session of kind "chat" ─► state ─► participants ─► agents of the service
 *
 * A chat is a session: it is listed, deleted and has properties as any other.
 * Its agents are those of this server; who took part and is not here keeps what
 * it has, and waits.
 *
 * NOT HERE  Turns (api_turns.c).
 */
#include <inttypes.h>
#include <stdio.h>

#include <perdure/chat_store.h>
#include <perdure/json.h>

#include "http.h"

#include "cast.h"
#include "chat.h"

#define MAX_TRIES 20 /* of what other writers came between */

pdr_rc pdr__chat_path(pdr_buf *out, pdr_str id, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, PDR_LIT("/api/v1/chats/"), err));
    PDR_TRY(pdr__percent_encode(out, id, err));
done:
    return rc;
}

/* All of one moment. */
static pdr_rc chat_read(pdr_head *head, pdr_chat_state **state,
                        struct pdr__exchange *x, const pdr_ref *ref,
                        pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__chat_load(state, head, pdr__api_store(x), ref, err));
    head->ref = *ref;
    head->kind = PDR_LIT("chat");
    (void)pdr__precondition(x, head);
done:
    return rc;
}

pdr_rc pdr__chat_read(pdr_head *head, pdr_chat_state **state,
                      struct pdr__exchange *x, pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);

    return chat_read(head, state, x, &ref, err);
}

/* --- agents ----------------------------------------------------------------
 */

static pdr_rc names_join(pdr_chat *chat, const struct pdr__exchange *x,
                         const pdr_value *names, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (names == NULL || pdr_value_kind(names) != PDR_ARRAY)
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        "'agents' is an array of the names of those who take "
                        "part");
    pdr_iter_init(&it, names);
    for (size_t i = 0; rc == PDR_OK && pdr_iter_next(&it); i++) {
        pdr_str name = {NULL, 0};
        char path[32];

        rc = pdr_value_text(&name, it.value, &scratch, err);
        if (rc == PDR_OK)
            rc = pdr__service_join(chat, x->server->service, name, err);
        (void)snprintf(path, sizeof(path), "/agents/%zu", i);
        if (rc != PDR_OK)
            pdr__err_path(err, pdr_str_c(path));
    }
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc cast_check(const pdr_chat *chat, pdr_err *err)
{
    return pdr_chat_agent_count(chat) > 0
               ? PDR_OK
               : PDR_FAIL(err, NO_AGENTS, "%s",
                          "nobody who takes part is here: name agents of this "
                          "server");
}

pdr_rc pdr__chat_cast(pdr_chat **out, struct pdr__exchange *x,
                      const pdr_value *body, const pdr_chat_state *state,
                      pdr_err *err)
{
    const pdr_value *names = pdr_value_get_c(body, "agents");
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_chat_new(out, NULL, err));
    if (names == NULL && state != NULL)
        PDR_TRY(pdr__service_join_known(*out, x->server->service, state, err));
    else
        PDR_TRY(names_join(*out, x, names, err));
    PDR_TRY(cast_check(*out, err));
done:
    return rc;
}

/* --- what a chat is --------------------------------------------------------
 */

static void put_turn(struct pdr__json *j, const pdr_chat_state *state)
{
    static const char *const ends[] = {"open", "ended", "aborted"};
    const size_t count = pdr_chat_state_turn_count(state);
    pdr_chat_turn turn;

    if (count == 0 || !pdr_chat_state_turn(&turn, state, count - 1)) {
        pdr__json_raw(j, "lastTurn", pdr_str_n(NULL, 0));
        return;
    }
    pdr__json_begin(j, "lastTurn", '{');
    pdr__json_number(j, "turn", turn.number);
    pdr__json_text(j, "agent", turn.agent_id);
    pdr__json_text(j, "end", pdr_str_c(ends[turn.end]));
    pdr__json_text(j, "why", turn.why);
    pdr__json_end(j, '}');
}

static void put_participants(struct pdr__json *j, const struct pdr__exchange *x,
                             const pdr_chat_state *state)
{
    pdr_chat_participant p;

    pdr__json_begin(j, "participants", '[');
    for (size_t i = 0; pdr_chat_state_participant(&p, state, i); i++) {
        pdr__json_begin(j, NULL, '{');
        pdr__json_text(j, "id", p.id);
        pdr__json_text(j, "name", p.name);
        pdr__json_text(j, "type", p.type);
        pdr__json_text(j, "channel", p.key);
        pdr__json_bool(j, "here",
                       pdr__service_knows(x->server->service, &p) != NULL);
        pdr__json_end(j, '}');
    }
    pdr__json_end(j, ']');
}

/* Is nobody here whose channel it is? */
static bool is_parked(const struct pdr__exchange *x,
                      const pdr_chat_state *state, pdr_str key)
{
    pdr_chat_participant p;

    for (size_t i = 0; pdr_chat_state_participant(&p, state, i); i++) {
        if (pdr_str_equal(p.key, key) &&
            pdr__service_knows(x->server->service, &p) != NULL)
            return false;
    }
    return true;
}

static void put_channels(struct pdr__json *j, const struct pdr__exchange *x,
                         const pdr_chat_state *state)
{
    pdr_chat_channel c;

    pdr__json_begin(j, "channels", '[');
    for (size_t i = 0; pdr_chat_state_channel(&c, state, i); i++) {
        pdr__json_begin(j, NULL, '{');
        pdr__json_text(j, "key", c.key);
        pdr__json_text(j, "kind", c.kind);
        pdr__json_number(j, "cursor", c.cursor);
        pdr__json_bool(j, "parked", is_parked(x, state, c.key));
        pdr__json_end(j, '}');
    }
    pdr__json_end(j, ']');
}

static pdr_rc chat_reply(struct pdr__exchange *x, const pdr_ref *ref,
                         unsigned status, pdr_err *err)
{
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_head head;
    pdr_chat_state *state = NULL;
    pdr_chat_info info;
    pdr_rc rc = PDR_OK;

    PDR_TRY(chat_read(&head, &state, x, ref, err));
    if (x->reply.status != 0)
        goto done;
    pdr_chat_state_info(&info, state);
    pdr__put_head(&j, &head);
    pdr__json_number(&j, "count", pdr_chat_state_message_count(state));
    pdr__json_bool(&j, "complete", info.is_complete);
    put_turn(&j, state);
    put_participants(&j, x, state);
    put_channels(&j, x, state);
    pdr__json_end(&j, '}');
    PDR_TRY(pdr__json_send(&j, x, status));
    pdr__etag_put(x, head.epoch, head.revision);
done:
    pdr_chat_state_free(state);
    return rc;
}

pdr_rc pdr__api_chat_show(struct pdr__exchange *x, pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);

    return chat_reply(x, &ref, 200, err);
}

/* --- making ----------------------------------------------------------------
 */

/* All of a chat at once, in the place of the session with this head; NULL:
 * none may be there. */
static pdr_rc chat_store(struct pdr__exchange *x, pdr_chat *chat,
                         const pdr_ref *ref, const pdr_head *old, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *state = NULL;
    pdr_str rest = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_chat_save(chat, NULL, err, pdr_write_buf, &text));
    rest = pdr_buf_str(&text);
    PDR_TRY(pdr_chat_open(&state, NULL, err, pdr_read_str, &rest));
    PDR_TRY(pdr__chat_state_store(state, pdr__api_store(x), ref, old,
                                  pdr__wall_ms(), err));
done:
    pdr_chat_state_free(state);
    pdr_buf_dispose(&text);
    return rc;
}

pdr_rc pdr__api_chat_create(struct pdr__exchange *x, pdr_err *err)
{
    static const char *const known[] = {"id", "agents", NULL};
    pdr_ref ref = {.tenant = x->tenant};
    pdr_chat_opts opts = {.max_turns = 1};
    pdr_value *body = NULL;
    pdr_chat *cast = NULL, *chat = NULL;
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__body_read(&body, x, known, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(pdr__body_text(&ref.id, x, body, "id", err));
    PDR_TRY(pdr__chat_cast(&cast, x, body, NULL, err));
    PDR_TRY(pdr__id_choose(&ref.id, x, pdr_str_n(NULL, 0), err));
    opts.id = ref.id;
    PDR_TRY(pdr__chat_same(&chat, cast, &opts, err));
    PDR_TRY(chat_store(x, chat, &ref, NULL, err));
    PDR_TRY(pdr__chat_path(&path, ref.id, err));
    PDR_TRY(chat_reply(x, &ref, 201, err));
    pdr__reply_header(x, "Location", pdr_buf_str(&path));
done:
    pdr_chat_free(cast);
    pdr_chat_free(chat);
    pdr_value_free(body);
    pdr_buf_dispose(&path);
    return rc;
}

/* --- what was said ---------------------------------------------------------
 */

static void put_part(struct pdr__json *j, const char *name,
                     const pdr_value *text)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str read = {NULL, 0};

    if (j->rc == PDR_OK && text != NULL && pdr_value_kind(text) == PDR_STRING)
        j->rc = pdr__value_sound_text(&read, text, &scratch, j->err);
    pdr__json_text(j, name, read);
    pdr_buf_dispose(&scratch);
}

void pdr__put_message(struct pdr__json *j, const pdr_chat_message *message)
{
    const pdr_value *value = message->value;
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);

    if (j->rc == PDR_OK)
        j->rc = pdr_message_text(&text, value, PDR_SHAPE_SK, j->err);
    pdr__json_begin(j, NULL, '{');
    pdr__json_number(j, "seq", message->seq);
    pdr__json_number(j, "turn", message->turn);
    pdr__json_text(j, "channel", message->origin);
    pdr__json_bool(j, "visible", message->is_visible);
    put_part(j, "role", pdr_message_role(value, PDR_SHAPE_SK));
    put_part(j, "author", pdr_message_author(value, PDR_SHAPE_SK));
    pdr__json_text(j, "text", text.len > 0 ? pdr_buf_str(&text) : PDR_LIT(""));
    if (pdr_message_contents(value, PDR_SHAPE_SK) != NULL)
        pdr__json_value(j, "contents",
                        pdr_message_contents(value, PDR_SHAPE_SK));
    else
        pdr__json_raw(j, "contents", PDR_LIT("[]"));
    pdr__list_item_end(j);
    pdr_buf_dispose(&text);
}

/* A list by the numbers of messages: the cursor is the one to go on with. */
pdr_rc pdr__api_chat_messages(struct pdr__exchange *x, pdr_err *err)
{
    const bool backwards = pdr__query_is_set(x, "backwards");
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_query query = {.limit = 0};
    pdr_head head;
    pdr_chat_state *state = NULL;
    pdr_chat_message message;
    char next[24] = "";
    uint64_t seq = 0, count = 0;
    pdr_rc rc = PDR_OK;

    if (!pdr__list_ask(&query, x) || !pdr__query_number(&seq, x, "from") ||
        !pdr__query_number(&seq, x, "cursor"))
        return PDR_OK;
    PDR_TRY(pdr__chat_read(&head, &state, x, err));
    if (x->reply.status != 0)
        goto done;
    count = pdr_chat_state_message_count(state);
    if (backwards && (seq == 0 || seq > count))
        seq = count;
    else if (!backwards && seq == 0)
        seq = 1;
    pdr__list_begin(&j, x);
    for (; query.limit > 0 && pdr_chat_state_message(&message, state, seq);
         query.limit--) {
        pdr__put_message(&j, &message);
        seq = backwards ? seq - 1 : seq + 1;
    }
    if (seq >= 1 && seq <= count)
        (void)snprintf(next, sizeof(next), "%" PRIu64, seq);
    PDR_TRY(pdr__list_send(
        &j, x, next[0] != '\0' ? pdr_str_c(next) : pdr_str_n(NULL, 0)));
    pdr__etag_put(x, head.epoch, head.revision);
done:
    pdr_chat_state_free(state);
    return rc;
}

/* One try to add a text, to the chat as it is now. Nobody answers: if none of
 * those who take part is here, others may stand in for them. */
static pdr_rc say_once(struct pdr__exchange *x, pdr_str text, pdr_str author,
                       pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);
    const pdr_service *service = x->server->service;
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_chat_message said;
    pdr_head head;
    pdr_chat_state *state = NULL;
    pdr_chat *chat = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__chat_read(&head, &state, x, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(pdr_chat_new(&chat, NULL, err));
    PDR_TRY(pdr__service_join_known(chat, service, state, err));
    if (pdr_chat_agent_count(chat) == 0)
        PDR_TRY(pdr__service_join_all(chat, service, err));
    PDR_TRY(cast_check(chat, err));
    PDR_TRY(pdr__service_attach(chat, service, &ref, pdr__wall_ms(), err));
    PDR_TRY(pdr_chat_add_text(chat, text, author, err));
    if (pdr_chat_message_at(&said, chat, pdr_chat_message_count(chat)))
        pdr__put_message(&j, &said);
    PDR_TRY(pdr__json_send(&j, x, 201));
done:
    pdr_chat_free(chat);
    pdr_chat_state_free(state);
    return rc;
}

/* What a person says; there is no other role. */
pdr_rc pdr__api_chat_say(struct pdr__exchange *x, pdr_err *err)
{
    static const char *const known[] = {"text", "author", NULL};
    pdr_value *body = NULL;
    pdr_str text = {NULL, 0}, author = {NULL, 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__body_read(&body, x, known, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(pdr__body_text(&text, x, body, "text", err));
    PDR_TRY(pdr__body_text(&author, x, body, "author", err));
    if (text.len == 0)
        PDR_TRY(PDR_FAIL(err, WRONG_KIND, "%s",
                         "'text' is what is said, and not empty"));
    for (int i = 0; i < MAX_TRIES; i++) {
        rc = say_once(x, text, author, &why);
        if (rc != PDR_ECONFLICT)
            break;
    }
    if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
done:
    pdr_value_free(body);
    return rc;
}

/* --- saved chats -----------------------------------------------------------
 */

/* The form that the query names. False: a reply says that there is none. */
static bool form_ask(pdr_chat_form *out, struct pdr__exchange *x)
{
    static const char *const words[] = {"native", "sk", "plain", "encoded"};
    const pdr_str word = pdr__query_get(x, "form");

    *out = PDR_CHAT_NATIVE;
    for (size_t i = 0; i < PDR_COUNT(words); i++) {
        if (pdr_str_equal(word, pdr_str_c(words[i]))) {
            *out = (pdr_chat_form)i;
            return true;
        }
    }
    if (word.ptr != NULL)
        pdr__reply_refuse(x, 400, "'form' is native, sk, plain or encoded");
    return word.ptr == NULL;
}

pdr_rc pdr__api_chat_saved_get(struct pdr__exchange *x, pdr_err *err)
{
    pdr_chat_save_opts opts = {.is_strict = pdr__query_is_set(x, "strict")};
    pdr_head head;
    pdr_chat_state *state = NULL;
    pdr_rc rc = PDR_OK;

    if (!form_ask(&opts.form, x))
        return PDR_OK;
    PDR_TRY(pdr__chat_read(&head, &state, x, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(
        pdr_chat_state_save(state, &opts, err, pdr_write_buf, &x->reply.body));
    pdr__reply_begin(x, 200, PDR_TYPE_JSON);
    pdr__etag_put(x, head.epoch, head.revision);
done:
    pdr_chat_state_free(state);
    return rc;
}

/* The agents that the query names; else those that the document tells of and
 * that are here; if it tells of none, all of this server. */
static pdr_rc query_join(pdr_chat *chat, const struct pdr__exchange *x,
                         const pdr_chat_state *state, pdr_err *err)
{
    const pdr_service *service = x->server->service;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < x->query_count; i++) {
        if (pdr_str_equal(x->query[i].name, PDR_LIT("agent")))
            PDR_TRY(pdr__service_join(chat, service, x->query[i].value, err));
    }
    if (pdr_chat_agent_count(chat) == 0)
        PDR_TRY(pdr__service_join_known(chat, service, state, err));
    if (pdr_chat_state_participant_count(state) == 0 &&
        pdr_chat_agent_count(chat) == 0)
        PDR_TRY(pdr__service_join_all(chat, service, err));
    PDR_TRY(cast_check(chat, err));
done:
    return rc;
}

/* As 'perdure group restore -o json' has it. */
static void put_report(struct pdr__json *j, const pdr_chat_report *report)
{
    pdr__json_text(j, "case", pdr_str_c(pdr_chat_case_name(report->which)));
    pdr__json_begin(j, "findings", '[');
    for (size_t i = 0; i < report->count; i++) {
        const pdr_chat_report_row *row = &report->rows[i];

        pdr__json_begin(j, NULL, '{');
        pdr__json_text(j, "what", pdr_str_c(pdr_chat_finding_name(row->what)));
        pdr__json_text(j, "key", row->key);
        if (row->kind.len > 0)
            pdr__json_text(j, row->what == PDR_CHAT_NO_AGENT ? "name" : "kind",
                           row->kind);
        if (row->seq > 0)
            pdr__json_number(
                j, row->what == PDR_CHAT_OPEN_TURN ? "turn" : "seq", row->seq);
        if (row->why.len > 0)
            pdr__json_text(j, "why", row->why);
        if (row->inside.len > 0)
            pdr__json_text(j, "inside", row->inside);
        pdr__json_end(j, '}');
    }
    pdr__json_end(j, ']');
}

/* One try: put the chat in the place of the session as it is now, or make it.
 */
static pdr_rc put_once(bool *is_new, struct pdr__exchange *x, pdr_chat *chat,
                       bool is_dry, pdr_err *err)
{
    const pdr_ref ref = pdr__api_ref(x);
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr__head_read(&page, x, &ref, &why);

    *is_new = rc == PDR_ENOTFOUND;
    if (rc != PDR_OK && !*is_new)
        return pdr__err_pass(err, &why);
    rc = PDR_OK;
    if (page != NULL && !pdr_str_equal(page->head.kind, PDR_LIT("chat")))
        PDR_TRY(PDR_FAIL(err, SESSION_KIND, "%s",
                         "there is a session with this id, and it is not a "
                         "chat"));
    if (!pdr__precondition(x, page != NULL ? &page->head : NULL) || is_dry)
        goto done;
    PDR_TRY(chat_store(x, chat, &ref, page != NULL ? &page->head : NULL, err));
    pdr_page_free(page);
    page = NULL;
    PDR_TRY(pdr__head_read(&page, x, &ref, err));
    pdr__etag_put(x, page->head.epoch, page->head.revision);
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr__api_chat_saved_put(struct pdr__exchange *x, pdr_err *err)
{
    const bool is_dry = pdr__query_is_set(x, "dryRun");
    const pdr_chat_apply_opts how = {
        .rebuilds = pdr__query_is_set(x, "rebuild"), .now_ms = pdr__wall_ms()};
    const pdr_chat_opts opts = {.id = x->args[0], .max_turns = 1};
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_str text = pdr_buf_str(&x->body);
    pdr_chat_state *state = NULL;
    pdr_chat *chat = NULL;
    pdr_chat_report *report = NULL;
    pdr_err why = PDR_ERR_INIT;
    bool is_new = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_chat_open(&state, NULL, err, pdr_read_str, &text));
    PDR_TRY(pdr_chat_new(&chat, &opts, err));
    PDR_TRY(query_join(chat, x, state, err));
    PDR_TRY(pdr_chat_apply(&report, chat, state, &how, err));
    for (int i = 0; i < MAX_TRIES; i++) {
        rc = put_once(&is_new, x, chat, is_dry, &why);
        if (rc != PDR_ECONFLICT && rc != PDR_EEXISTS)
            break;
    }
    if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
    if (rc != PDR_OK || x->reply.status != 0)
        goto done;
    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "session", x->args[0]);
    pdr__json_bool(&j, "dryRun", is_dry);
    pdr__json_number(&j, "count", pdr_chat_message_count(chat));
    put_report(&j, report);
    pdr__json_end(&j, '}');
    PDR_TRY(pdr__json_send(&j, x, is_new && !is_dry ? 201 : 200));
done:
    pdr_chat_report_free(report);
    pdr_chat_free(chat);
    pdr_chat_state_free(state);
    return rc;
}
