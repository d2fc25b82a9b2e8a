/*
 * api_turns.c - agents of a chat speak, because a request says so.
 *
 *      request ─► checked ─► job of the crew ─┬─► over: what was said
 *                                ▲            └─► time is over: 202
 *                                └── waits ──┘
 *
 * What can be refused is refused before anything is said. Each message is in
 * the store before it is in a reply, and a client that leaves stops nothing.
 */
#include <perdure/json.h>

#include "http.h"

#include "cast.h"
#include "core.h"

#define MAX_TRIES 20     /* of what other writers came between */
#define MAX_TURNS 100000 /* of a run */

/* What a request wants. All texts are in `memory`. */
struct turns {
    struct pdr__job job;
    struct pdr__arena memory;
    pdr_server *server;
    int64_t due_ms; /* until when its client waits, monotonic */
    pdr_chat *cast; /* owned; of those who take part, and no more */
    pdr_chat_opts opts;
    const char *until[2];
    pdr_str text, author; /* absent: nothing is said before */
    pdr_str to;           /* id of the agent that speaks, once; or absent */
    /* What came of it: of whoever is at work, and then of who asks. */
    bool is_said;   /* the text is in the store */
    uint64_t first; /* of the messages that are new; 0: it is not known yet */
    pdr_buf reply;  /* JSON */
    pdr_rc rc;
    pdr_err why; /* it failed */
};

static void turns_dispose(struct pdr__job *job)
{
    struct turns *t = (struct turns *)job;

    pdr_cancel_free(t->job.cancel);
    pdr_chat_free(t->cast);
    pdr_buf_dispose(&t->reply);
    pdr__arena_dispose(&t->memory);
    pdr__free(t);
}

/* Its client asks no more. */
static void turns_leave(void *state)
{
    struct turns *t = state;

    pdr__job_leave(t->server->crew, &t->job);
}

/* --- on a thread of the crew -----------------------------------------------
 */

static pdr_rc reply_write(struct turns *t, const pdr_chat *chat, pdr_err *err)
{
    struct pdr__json j = {.out = &t->reply, .err = err};
    pdr_chat_message message;

    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "id", t->job.ref.id);
    pdr__json_number(&j, "count", pdr_chat_message_count(chat));
    pdr__json_bool(&j, "complete", pdr_chat_is_complete(chat));
    pdr__json_begin(&j, "messages", '[');
    for (uint64_t i = t->first; pdr_chat_message_at(&message, chat, i); i++)
        pdr__put_message(&j, &message);
    pdr__json_end(&j, ']');
    pdr__json_end(&j, '}');
    return j.rc;
}

/* One try, on the chat as it is now. `*again`: somebody else came between, and
 * no agent had said anything yet. */
static pdr_rc speak_once(struct turns *t, bool *again, pdr_err *err)
{
    const pdr_chat_call call = {.cancel = t->job.cancel,
                                .now_ms = pdr__wall_ms()};
    pdr_chat *chat = NULL;
    uint64_t before = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__chat_same(&chat, t->cast, &t->opts, err));
    PDR_TRY(pdr__service_attach(chat, t->server->service, &t->job.ref,
                                call.now_ms, err));
    if (t->first == 0)
        t->first = pdr_chat_message_count(chat) + 1;
    if (t->text.ptr != NULL && !t->is_said)
        PDR_TRY(pdr_chat_add_text(chat, t->text, t->author, err));
    t->is_said = true;
    before = pdr_chat_message_count(chat);
    if (t->to.ptr != NULL)
        PDR_TRY(pdr_chat_invoke(chat, t->to, &call, err));
    else
        PDR_TRY(pdr_chat_run(chat, &call, err));
    PDR_TRY(reply_write(t, chat, err));
done:
    *again = rc == PDR_ECONFLICT &&
             (before == 0 || pdr_chat_message_count(chat) == before);
    pdr_chat_free(chat);
    return rc;
}

static void turns_work(struct pdr__job *job)
{
    struct turns *t = (struct turns *)job;
    bool again = true;

    for (int i = 0; again && i < MAX_TRIES; i++)
        t->rc = speak_once(t, &again, &t->why);
    if (t->rc != PDR_OK && pdr_cancel_is_set(job->cancel))
        t->rc = PDR_FAIL(&t->why, ENGINE_STOPPED, "%s",
                         "the server stops; what was said stays");
    else if (t->rc == PDR_EBUSY && t->text.ptr != NULL && t->is_said)
        t->rc = PDR_FAIL(&t->why, CHAT_BUSY, "%s",
                         "the text was added; then another process began a "
                         "turn of its own: wait for its end");
}

/* --- what is asked for -----------------------------------------------------
 */

/* A text of the body, in the memory of the job. Not empty, if it is there. */
static pdr_rc text_ask(pdr_str *out, struct turns *t, struct pdr__exchange *x,
                       const pdr_value *body, const char *name, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__body_text(out, x, body, name, err));
    if (out->ptr != NULL && out->len == 0)
        PDR_TRY(PDR_FAIL(err, WRONG_KIND,
                         "'%s' is empty: leave it out, or say something",
                         name));
    PDR_TRY(pdr__arena_keep(out, &t->memory, err));
done:
    return rc;
}

/* The id of one who takes part, whom the body names. */
static pdr_rc agent_ask(pdr_str *out, struct turns *t, struct pdr__exchange *x,
                        const pdr_value *body, const char *name, pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_TRY(text_ask(out, t, x, body, name, err));
    for (size_t i = 0; out->ptr != NULL; i++) {
        const pdr_agent *agent = pdr_chat_agent_at(t->cast, i);

        if (agent == NULL)
            PDR_TRY(PDR_FAIL(err, NO_AGENT,
                             "agent '%s' does not take part, or is not here",
                             pdr__shown(shown, *out)));
        if (pdr_str_equal(pdr_agent_name(agent), *out) ||
            pdr_str_equal(pdr_agent_id(agent), *out)) {
            *out = pdr_agent_id(agent);
            break;
        }
    }
done:
    return rc;
}

/* How a run is to go on, and when it is over. */
static pdr_rc opts_ask(struct turns *t, struct pdr__exchange *x,
                       const pdr_value *body, pdr_err *err)
{
    const pdr_value *most = pdr_value_get_c(body, "maxTurns");
    pdr_str until = {NULL, 0};
    uint64_t turns = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(text_ask(&until, t, x, body, "until", err));
    PDR_TRY(agent_ask(&t->opts.first, t, x, body, "first", err));
    if (most != NULL && (pdr_value_uint64(&turns, most, NULL) != PDR_OK ||
                         turns < 1 || turns > MAX_TURNS))
        PDR_TRY(PDR_FAIL(err, WRONG_KIND, "'maxTurns' is a number from 1 to %d",
                         MAX_TURNS));
    t->opts.max_turns = (unsigned)turns;
    if (until.ptr != NULL) {
        t->until[0] = until.ptr;
        t->opts.ends.kind = PDR_TERMINATE_REGEX;
        t->opts.ends.patterns = t->until;
    } else if (turns == 0) { /* each speaks once */
        t->opts.max_turns = (unsigned)pdr_chat_agent_count(t->cast);
    }
    if (t->to.ptr != NULL &&
        (until.ptr != NULL || most != NULL || t->opts.first.ptr != NULL))
        PDR_TRY(PDR_FAIL(err, WRONG_KIND, "%s",
                         "with 'to' one agent speaks, once: 'first', 'until' "
                         "and 'maxTurns' are for a run"));
done:
    return rc;
}

/* Could it begin now? What a chat of these agents says against it is found out
 * by making one. */
static pdr_rc start_check(struct turns *t, const pdr_head *head,
                          const pdr_chat_state *state, pdr_err *err)
{
    pdr_chat *chat = NULL;
    pdr_chat_info info;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__chat_same(&chat, t->cast, &t->opts, err));
    pdr_chat_state_info(&info, state);
    if (info.is_complete && t->text.ptr == NULL && t->to.ptr == NULL)
        PDR_TRY(PDR_FAIL(err, CHAT_COMPLETE, "%s",
                         "the conversation is over: say something ('text'), "
                         "and it goes on"));
    if (head->lease.fence != 0 && head->lease.until_ms > pdr__wall_ms())
        PDR_TRY(PDR_FAIL(err, CHAT_BUSY, "%s",
                         "a turn is at work on the chat: wait for its end"));
done:
    pdr_chat_free(chat);
    return rc;
}

static pdr_rc turns_ask(struct turns *t, struct pdr__exchange *x,
                        const pdr_value *body, pdr_err *err)
{
    pdr_head head;
    pdr_chat_state *state = NULL;
    pdr_rc rc = PDR_OK;

    t->job.ref = pdr__api_ref(x);
    PDR_TRY(pdr__arena_keep(&t->job.ref.tenant, &t->memory, err));
    PDR_TRY(pdr__arena_keep(&t->job.ref.id, &t->memory, err));
    PDR_TRY(pdr__chat_read(&head, &state, x, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(pdr__chat_cast(&t->cast, x, body, state, err));
    PDR_TRY(text_ask(&t->text, t, x, body, "text", err));
    PDR_TRY(text_ask(&t->author, t, x, body, "author", err));
    PDR_TRY(agent_ask(&t->to, t, x, body, "to", err));
    t->opts.id = t->job.ref.id;
    t->opts.resets_complete = t->text.ptr != NULL;
    PDR_TRY(opts_ask(t, x, body, err));
    if (t->author.ptr != NULL && t->text.ptr == NULL)
        PDR_TRY(PDR_FAIL(err, WRONG_KIND, "%s",
                         "'author' is who says 'text', and there is none"));
    PDR_TRY(start_check(t, &head, state, err));
done:
    pdr_chat_state_free(state);
    return rc;
}

/* --- replies ---------------------------------------------------------------
 */

/* It goes on: the chat tells how far it is. */
static pdr_rc later_reply(struct pdr__exchange *x, const struct turns *t,
                          pdr_err *err)
{
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_buf path = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "id", t->job.ref.id);
    pdr__json_text(&j, "state", PDR_LIT("running"));
    pdr__json_end(&j, '}');
    PDR_TRY(pdr__json_send(&j, x, 202));
    PDR_TRY(pdr__chat_path(&path, t->job.ref.id, err));
    pdr__reply_header(x, "Location", pdr_buf_str(&path));
done:
    pdr_buf_dispose(&path);
    return rc;
}

static pdr_rc look(struct pdr__exchange *x, struct turns *t, pdr_err *err)
{
    const bool is_over = pdr__job_is_over(t->server->crew, &t->job);
    pdr_rc rc = PDR_OK;

    if (!is_over && x->wait.is_due)
        return later_reply(x, t, err);
    if (!is_over) {
        pdr__wait_until(x, t->due_ms);
    } else if (t->rc != PDR_OK) {
        pdr__reply_error(x, &t->why);
    } else {
        PDR_TRY(pdr_buf_append(&x->reply.body, pdr_buf_str(&t->reply), err));
        pdr__reply_begin(x, 200, PDR_TYPE_JSON);
    }
done:
    return rc;
}

static pdr_rc turns_new(struct turns **out, struct pdr__exchange *x,
                        pdr_err *err)
{
    struct turns *t = pdr__calloc(1, sizeof(*t));
    pdr_rc rc = PDR_OK;

    *out = t;
    if (t == NULL)
        return pdr__nomem(err);
    t->server = x->server;
    t->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    t->reply = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    t->job.work = turns_work;
    t->job.dispose = turns_dispose;
    t->rc = PDR_FAIL(&t->why, ENGINE_STOPPED, "%s", /* unless it begins */
                     "the server stops, and nothing was said");
    t->due_ms =
        pdr__monotonic_ms(pdr__clock_system()) + x->server->opts.wait_ms;
    PDR_TRY(pdr_cancel_new(&t->job.cancel, err));
done:
    return rc;
}

pdr_rc pdr__api_chat_turns(struct pdr__exchange *x, pdr_err *err)
{
    static const char *const known[] = {"text",     "author", "to",     "first",
                                        "maxTurns", "until",  "agents", NULL};
    struct turns *t = x->state;
    pdr_value *body = NULL;
    pdr_rc rc = PDR_OK;

    if (t != NULL)
        return look(x, t, err);
    PDR_TRY(turns_new(&t, x, err));
    PDR_TRY(pdr__body_read(&body, x, known, err));
    if (x->reply.status == 0)
        PDR_TRY(turns_ask(t, x, body, err));
    if (x->reply.status != 0)
        goto done;
    PDR_TRY(pdr__crew_take(x->server->crew, &t->job, x, err));
    x->state = t;
    x->state_free = turns_leave;
    if (pdr__wants_async(x)) {
        pdr__reply_header(x, "Preference-Applied", PDR_LIT("respond-async"));
        PDR_TRY(later_reply(x, t, err));
    } else {
        PDR_TRY(look(x, t, err));
    }
done:
    pdr_value_free(body);
    if (x->state == NULL && t != NULL)
        turns_dispose(&t->job);
    return rc;
}
