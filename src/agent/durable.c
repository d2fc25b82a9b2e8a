/*
 * durable.c - an agent as a kind of entity: what its operations are, and how a
 * run is claimed, carried out and finished.
 *
 *      admit    the request is read, and written down in one form
 *      claim    + request entry                          first commit
 *      run      journal ◄─► the loop of agents           none without tools
 *      finish   + response entry, bag, outcome           last commit
 *
 * INVARIANTS
 *   D1  The request is stored before the model is asked.
 *   D2  A run ends with one response entry: the answer, or an error that is
 *       marked as one and not sent to a model again.
 *   D3  What is stored of a run before its end is in its journal only.
 *
 * NOT HERE  The journal (journal.c), how requests are read (request.c), leases,
 *           attempts and order (src/engine).
 */
#include <perdure/archive.h>
#include <perdure/doc.h>
#include <perdure/durable.h>
#include <perdure/json.h>

#include "core.h"
#include "engine.h"
#include "journal.h"
#include "request.h"
#include "stored.h"

#define DEFAULT_TTL_MS ((int64_t)14 * 24 * 60 * 60 * 1000)
#define TTL_SLACK_MS   500 /* by which a run may be longer than it says */
#define FINISH_TRIES   20  /* while others change the session without a lease */

struct pdr_durable {
    struct pdr__map by_name;  /* in small letters; to one of `agents` */
    struct pdr__arena memory; /* of the texts of `only` */
    pdr_ref only;
    pdr_log log;
    size_t count;
    pdr_durable_agent agents[]; /* owned, with the agents */
};

/* --- agents ---------------------------------------------------------------
 */

/* Agents are found by their names in small letters, as ids have them. */
static pdr_rc name_fold(pdr_buf *out, pdr_str name, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(out);
    PDR_TRY(pdr_buf_append(out, name, err));
    for (size_t i = 0; i < out->len; i++)
        out->ptr[i] = pdr__ascii_lower(out->ptr[i]);
done:
    return rc;
}

static pdr_rc agent_check(const pdr_agent *agent, pdr_str folded, pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (folded.len == 0 || folded.len > PDR_MAX_AGENT_BYTES ||
        memchr(folded.ptr, '@', folded.len) != NULL ||
        (folded.len >= 5 && memcmp(folded.ptr, "dafx-", 5) == 0))
        return PDR_FAIL(err, BAD_AGENT,
                        "a durable agent has a name of 1 to %u bytes without "
                        "'@' that does not begin with 'dafx-', this is '%s'",
                        PDR_MAX_AGENT_BYTES, pdr__shown(shown, folded));
    while (agent->inner != NULL)
        agent = agent->inner;
    if (pdr__history_of(agent->providers) != NULL ||
        agent->history_key != NULL || agent->stores_each_call)
        return PDR_FAIL(err, BAD_AGENT,
                        "agent '%s' keeps its history in its own way; that of "
                        "a durable agent is in the session",
                        pdr__shown(shown, folded));
    return PDR_OK;
}

pdr_rc pdr_durable_new(pdr_durable **out, const pdr_durable_opts *opts,
                       pdr_err *err)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    pdr_durable *d = NULL;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && opts != NULL);
    *out = NULL;
    d = pdr__calloc(1, sizeof(*d) + opts->count * sizeof(d->agents[0]));
    if (d == NULL)
        return pdr__nomem(err);
    d->by_name = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    d->log = (pdr_log){opts->log, opts->log_arg};
    d->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    d->only = opts->only;
    PDR_TRY(pdr__arena_keep(&d->only.tenant, &d->memory, err));
    PDR_TRY(pdr__arena_keep(&d->only.id, &d->memory, err));
    for (size_t i = 0; i < opts->count; i++) {
        PDR_TRY(name_fold(&name, pdr_agent_name(opts->agents[i].agent), err));
        PDR_TRY(agent_check(opts->agents[i].agent, pdr_buf_str(&name), err));
        if (pdr__map_get(NULL, &d->by_name, pdr_buf_str(&name)))
            PDR_TRY(PDR_FAIL(err, AGENT_EXISTS,
                             "two durable agents are called '%s'",
                             pdr__shown(shown, pdr_buf_str(&name))));
        d->agents[i] = opts->agents[i];
        if (d->agents[i].ttl_ms == 0)
            d->agents[i].ttl_ms =
                opts->ttl_ms != 0 ? opts->ttl_ms : DEFAULT_TTL_MS;
        if (d->agents[i].ttl_ms < 0)
            PDR_TRY(PDR_FAIL(err, BAD_AGENT,
                             "the sessions of agent '%s' would expire before "
                             "their last run",
                             pdr__shown(shown, pdr_buf_str(&name))));
        d->agents[i].agent = pdr_agent_ref(opts->agents[i].agent);
        d->count++;
        PDR_TRY(pdr__map_put(NULL, &d->by_name, pdr_buf_str(&name),
                             &d->agents[i], err));
    }
    *out = d;
    d = NULL;
done:
    pdr_durable_free(d);
    pdr_buf_dispose(&name);
    return rc;
}

void pdr_durable_free(pdr_durable *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->count; i++)
        pdr_agent_free(d->agents[i].agent);
    pdr__map_dispose(&d->by_name);
    pdr__arena_dispose(&d->memory);
    pdr__free(d);
}

/* The agent of a session; NULL: it is not one of ours. */
static const pdr_durable_agent *agent_find(const pdr_durable *d, pdr_str id)
{
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    void *found = NULL;

    if (pdr_durable_id_read(&agent, &key, NULL, id, NULL) != PDR_OK)
        return NULL;
    return pdr__map_get(&found, &d->by_name, agent) ? found : NULL;
}

/* --- admitting ------------------------------------------------------------
 */

enum op { OP_RUN, OP_RESET, OP_GET, OP_DELETE, OP_EXPIRE, OP_COUNT };

static const struct {
    const char *name; /* small letters */
    enum op op;
} op_names[] = {
    {"run", OP_RUN},
    {"runagentasync", OP_RUN},
    {"run_agent", OP_RUN},
    {"reset", OP_RESET},
    {"get", OP_GET},
    {"delete", OP_DELETE},
    {"checkanddeleteifexpired", OP_EXPIRE},
};

static const char *const op_words[OP_COUNT] = {"run", "reset", "get", "delete",
                                               "checkanddeleteifexpired"};

static enum op op_find(pdr_str name)
{
    for (size_t i = 0; i < PDR_COUNT(op_names); i++) {
        const char *want = op_names[i].name;
        size_t k = 0;

        while (k < name.len && pdr__ascii_lower(name.ptr[k]) == want[k])
            k++;
        if (k == name.len && want[k] == '\0')
            return op_names[i].op;
    }
    return OP_COUNT;
}

/* An id is the name of a row: so it is taken in one spelling only. */
static pdr_rc id_check(pdr_str id, pdr_err *err)
{
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    bool prefixed = false, small = true;
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr_durable_id_read(&agent, &key, &prefixed, id, err);

    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < id.len - key.len; i++)
        small &= id.ptr[i] == pdr__ascii_lower(id.ptr[i]);
    if (!prefixed || !small)
        return PDR_FAIL(err, BAD_ID,
                        "'%s': the id of a durable session is "
                        "\"@dafx-NAME@KEY\", with the name in small letters",
                        pdr__shown(shown, id));
    return PDR_OK;
}

/* What an operation needs until it is admitted, or claimed. */
struct draft {
    struct pdr__request request;
    pdr_buf input;
    char fingerprint[1 + PDR_REQUEST_FINGERPRINT];
    pdr_value *bodies[2]; /* owned; of entries */
    pdr_buf texts[2];     /* of these */
    pdr_entry entries[2];
    pdr_slot slots[PDR_RECORD_KEYS];
    pdr_buf more, frame;
    pdr_work end; /* the last event of what is done */
};

static void draft_free(void *memory, void *self)
{
    struct draft *draft = memory;

    (void)self;
    if (draft == NULL)
        return;
    pdr__request_dispose(&draft->request);
    for (int i = 0; i < 2; i++) {
        pdr_value_free(draft->bodies[i]);
        pdr_buf_dispose(&draft->texts[i]);
    }
    pdr_buf_dispose(&draft->input);
    pdr_buf_dispose(&draft->more);
    pdr_buf_dispose(&draft->frame);
    pdr__free(draft);
}

static struct draft *draft_new(void)
{
    const pdr_buf none = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    struct draft *draft = pdr__calloc(1, sizeof(*draft));

    if (draft != NULL)
        draft->input = draft->more = draft->frame = draft->texts[0] =
            draft->texts[1] = none;
    return draft;
}

static pdr_rc admit_run(pdr_admission *out, const pdr_durable *d,
                        const pdr_operation *operation, pdr_err *err)
{
    struct draft *draft = draft_new();
    struct pdr__output *output = NULL;
    uint8_t digest[PDR_REQUEST_FINGERPRINT];
    pdr_rc rc = PDR_OK;

    if (draft == NULL)
        return pdr__nomem(err);
    PDR_TRY(pdr__request_read(&draft->request, operation->input, err));
    if (draft->request.schema != NULL)
        PDR_TRY(pdr__output_new(&output, draft->request.schema, err));
    if (draft->request.unknown > 0) {
        const pdr_log_field field = {.name = "members",
                                     .number = (int64_t)draft->request.unknown};

        pdr_log_emit(&d->log, PDR_LOG_DEBUG, "request_members_unknown", &field,
                     1);
    }
    PDR_TRY(pdr__request_write(&draft->input, &draft->request, err));
    PDR_TRY(pdr__request_fingerprint(digest, &draft->request, err));
    draft->fingerprint[0] = 'r';
    memcpy(draft->fingerprint + 1, digest, sizeof(digest));
    out->input = pdr_buf_str(&draft->input);
    out->correlation_id = draft->request.correlation_id;
    out->fingerprint =
        pdr_str_n(draft->fingerprint, sizeof(draft->fingerprint));
    out->memory = draft;
    draft = NULL;
done:
    pdr__output_free(output);
    draft_free(draft, NULL);
    return rc;
}

static pdr_rc durable_admit(pdr_admission *out, const pdr_operation *operation,
                            pdr_err *err, void *self)
{
    const pdr_durable *d = self;
    enum op op = op_find(operation->name);
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    char shown[PDR_SHOWN];
    pdr_rc rc = id_check(operation->session.id, err);

    if (rc != PDR_OK)
        return rc;
    if (op == OP_COUNT)
        return PDR_FAIL(err, BAD_OPERATION,
                        "a durable agent has no operation '%s': it knows run, "
                        "reset, get and delete",
                        pdr__shown(shown, operation->name));
    out->name = pdr_str_c(op_words[op]);
    out->kind = PDR_LIT("durable");
    out->needs_session = op != OP_RUN;
    out->at_once = op != OP_RUN && op != OP_RESET;
    out->fingerprint = out->name;
    (void)!pdr_durable_id_read(&agent, &key, NULL, operation->session.id, NULL);
    if (op == OP_RUN && agent_find(d, operation->session.id) == NULL)
        return PDR_FAIL(err, NO_AGENT, "there is no agent '%s' here",
                        pdr__shown(shown, agent));
    return op == OP_RUN ? admit_run(out, d, operation, err) : PDR_OK;
}

static pdr_str tenant_of(const pdr_ref *ref)
{
    return ref->tenant.ptr != NULL ? ref->tenant : PDR_LIT(PDR_DEFAULT_TENANT);
}

static bool durable_can_run(const pdr_ref *session, void *self)
{
    const pdr_durable *d = self;
    const pdr_ref *only = &d->only;

    if (only->id.ptr != NULL && !pdr_str_equal(only->id, session->id))
        return false;
    if ((only->id.ptr != NULL || only->tenant.ptr != NULL) &&
        !pdr_str_equal(tenant_of(only), tenant_of(session)))
        return false;
    return agent_find(d, session->id) != NULL;
}

/* --- entries --------------------------------------------------------------
 */

static int64_t ticks_of(int64_t ms)
{
    return PDR_TICKS_UNIX_EPOCH + ms * PDR_TICKS_PER_MS;
}

/* One more entry for the commit of a claim. */
static pdr_rc claim_add_entry(pdr_claim *claim, const pdr_entry_parts *parts,
                              pdr_err *err)
{
    struct draft *draft = claim->memory;
    size_t i = claim->edit->entry_count;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_entry_new(&draft->bodies[i], parts, err));
    PDR_TRY(pdr_json_write(&draft->texts[i], draft->bodies[i], NULL, err));
    draft->entries[i] =
        (pdr_entry){.kind = parts->kind == PDR_ENTRY_REQUEST ? PDR_ROW_REQUEST
                                                             : PDR_ROW_RESPONSE,
                    .shape = PDR_ROW_STATE,
                    .created_ms = (parts->created_at - PDR_TICKS_UNIX_EPOCH) /
                                  PDR_TICKS_PER_MS,
                    .correlation_id = claim->correlation_id,
                    .body = pdr_buf_str(&draft->texts[i])};
    claim->edit->entries = draft->entries;
    claim->edit->entry_count++;
    if (claim->kept != NULL) {
        pdr_entry row = draft->entries[i];

        row.seq = claim->head->next_seq + i;
        PDR_TRY(pdr__tail_push(claim->kept, &row, draft->bodies[i], err));
    }
done:
    return rc;
}

/* A message that says what went wrong. */
static pdr_rc error_message(pdr_value **out, const pdr_agent *agent,
                            const char *code, const char *text, pdr_err *err)
{
    pdr_message_parts parts = {.role = PDR_LIT("assistant"),
                               .author = agent != NULL ? pdr_agent_name(agent)
                                                       : PDR_LIT("")};
    pdr_value *texts[2] = {NULL, NULL}, *content = NULL;
    pdr_value *contents = pdr_value_new_array();
    pdr_rc rc = PDR_OK;

    *out = NULL;
    PDR_TRY(pdr_value_new_string(&texts[0], pdr_str_c(text), err));
    PDR_TRY(pdr_value_new_string(&texts[1], pdr_str_c(code), err));
    PDR_TRY(pdr_content_new(
        &content, PDR_SHAPE_STATE, PDR_CONTENT_ERROR,
        (const pdr_content_part[]){{PDR_FIELD_MESSAGE, texts[0]},
                                   {PDR_FIELD_ERROR_CODE, texts[1]}},
        2, err));
    PDR_TRY(pdr_value_append(&contents, content, err));
    parts.contents = contents;
    PDR_TRY(pdr_message_new(out, PDR_SHAPE_STATE, &parts, err));
done:
    pdr_value_free(content);
    pdr_value_free(contents);
    pdr_value_free(texts[0]);
    pdr_value_free(texts[1]);
    return rc;
}

/* Members of the outcome of a run that failed. */
static pdr_rc failure_write(pdr_buf *out, const char *code, const char *text,
                            pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, PDR_LIT("\"code\":\""), err));
    PDR_TRY(pdr__text_encode(out, pdr_str_c(code), err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("\",\"message\":\""), err));
    PDR_TRY(pdr__text_encode(out, pdr_str_c(text), err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("\""), err));
done:
    return rc;
}

/* The last event of a run. */
static pdr_work end_event(pdr_operation_state state, pdr_str correlation_id,
                          pdr_str failure)
{
    const bool is_good = state == PDR_OPERATION_COMPLETED;

    return (pdr_work){.kind = is_good ? PDR_LIT("done") : PDR_LIT("error"),
                      .correlation_id = correlation_id,
                      .body = is_good ? PDR_LIT("{}") : failure};
}

/* What that says of a failure. */
static pdr_rc event_write(pdr_buf *out, pdr_str failure, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(out);
    PDR_TRY(pdr_buf_append(out, PDR_LIT("{"), err));
    PDR_TRY(pdr_buf_append(out, failure, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("}"), err));
done:
    return rc;
}

/* --- claiming -------------------------------------------------------------
 */

/* The operation ends with its claim, and with this error. One whose request is
 * in the history has a response there, too (D2). */
static pdr_rc claim_fail(pdr_claim *claim, const char *code, const char *text,
                         bool has_request, pdr_err *err)
{
    struct draft *draft = claim->memory;
    pdr_entry_parts parts = {.kind = PDR_ENTRY_RESPONSE,
                             .correlation_id = claim->correlation_id,
                             .created_at = ticks_of(claim->now_ms),
                             .is_error = true};
    pdr_value *message = NULL, *list = pdr_value_new_array();
    pdr_rc rc = PDR_OK;

    claim->is_done = true;
    claim->state =
        claim->cancelled ? PDR_OPERATION_CANCELLED : PDR_OPERATION_FAILED;
    PDR_TRY(failure_write(&draft->more, code, text, err));
    claim->more = pdr_buf_str(&draft->more);
    if (has_request) {
        PDR_TRY(error_message(&message, NULL, code, text, err));
        PDR_TRY(pdr_value_append(&list, message, err));
        parts.messages = list;
        PDR_TRY(claim_add_entry(claim, &parts, err));
    }
done:
    pdr_value_free(message);
    pdr_value_free(list);
    return rc;
}

/* Can this session be worked with: is it one of ours, and its version known? An
 * import may have given an id of ours to a session of another kind. */
static pdr_rc head_check(const pdr_head *head, pdr_err *err)
{
    pdr_schema_version version;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (head != NULL && head->kind.ptr != NULL &&
        !pdr_str_equal(head->kind, PDR_LIT("durable")))
        return PDR_FAIL(err, SESSION_KIND,
                        "the session is of kind '%s', not a durable one",
                        pdr__shown(shown, head->kind));
    if (head == NULL || head->schema_version.ptr == NULL)
        return PDR_OK;
    PDR_TRY(pdr_schema_version_read(&version, head->schema_version, err));
    if (version.parts[0] != 1)
        rc = PDR_FAIL(err, SCHEMA_VERSION_UNSUPPORTED,
                      "the state document has version %s, this library works "
                      "on versions 1.x",
                      pdr__shown(shown, head->schema_version));
done:
    return rc;
}

/* A request of an orchestration needs version 1.1.0: an imported document that
 * is older gets it, in its frame and in its head. */
static pdr_rc claim_raise_version(pdr_claim *claim, pdr_err *err)
{
    const pdr_schema_version wanted = {{1, 1, 0, 0}, 3};
    const pdr_query query = {.what = PDR_READ_FRAME, .ref = claim->session};
    const pdr_head *head = claim->head;
    struct draft *draft = claim->memory;
    pdr_schema_version version;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (draft->request.orchestration_id.len == 0 || head == NULL ||
        head->schema_version.ptr == NULL || !head->has_frame)
        return PDR_OK;
    PDR_TRY(pdr_schema_version_read(&version, head->schema_version, err));
    if (pdr_schema_version_compare(&version, &wanted) >= 0)
        goto done;
    PDR_TRY(pdr_store_read(&page, claim->store, &query, err));
    PDR_TRY(pdr__frame_set_version(&draft->frame, page->frame,
                                   head->schema_version, PDR_LIT("1.1.0"),
                                   err));
    if (draft->frame.len > 0) {
        claim->edit->frame = pdr_buf_str(&draft->frame);
        claim->edit->schema_version = PDR_LIT("1.1.0");
    }
done:
    pdr_page_free(page);
    return rc;
}

static pdr_rc claim_run(pdr_claim *claim, pdr_err *err)
{
    struct draft *draft = claim->memory;
    struct pdr__request *request = &draft->request;
    pdr_entry_parts parts = {.kind = PDR_ENTRY_REQUEST,
                             .correlation_id = claim->correlation_id};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (claim->cancelled)
        return claim_fail(claim, "run_cancelled", "the run was cancelled",
                          claim->is_takeover, err);
    if (claim->gives_up)
        return claim_fail(claim, "max_attempts",
                          "the run was tried as often as it may be, and did "
                          "not come one step further",
                          true, err);
    if (head_check(claim->head, &why) != PDR_OK)
        return claim_fail(claim, why.reason, why.message, false, err);
    PDR_TRY(pdr__request_read(request, claim->input, err));
    parts.messages = request->messages;
    parts.created_at = request->created_at != 0 ? request->created_at
                                                : ticks_of(claim->now_ms);
    parts.orchestration_id = request->orchestration_id;
    parts.response_type = request->is_json ? PDR_LIT("json") : PDR_LIT("text");
    parts.response_schema = request->schema;
    claim->is_done = pdr_value_count(request->messages) == 0;
    claim->state = PDR_OPERATION_COMPLETED;
    if (!claim->is_known && !(claim->is_done && request->skip_empty))
        PDR_TRY(claim_add_entry(claim, &parts, err));
    PDR_TRY(claim_raise_version(claim, err));
    if (claim->is_done && !request->skip_empty) {
        parts = (pdr_entry_parts){.kind = PDR_ENTRY_RESPONSE,
                                  .correlation_id = claim->correlation_id,
                                  .created_at = ticks_of(claim->now_ms)};
        PDR_TRY(claim_add_entry(claim, &parts, err));
    }
done:
    return rc;
}

/* A run moves the expiry of its session, or takes it away. */
static void claim_expiry(pdr_claim *claim, const pdr_durable_agent *agent)
{
    const pdr_head *head = claim->head;
    pdr_edit *edit = claim->edit;

    if (agent->ttl_ms != PDR_NEVER) {
        edit->expiry = PDR_EXPIRY_SET;
        edit->expiry_ms = claim->now_ms + agent->ttl_ms;
        edit->set_ttl = head == NULL || !head->has_ttl;
    } else if (head != NULL && head->expiry_ms != PDR_NEVER) {
        edit->expiry = PDR_EXPIRY_CLEAR;
    }
}

/* The history goes, and with it the calls that wait for a word. */
static void claim_reset(pdr_claim *claim)
{
    const pdr_head *head = claim->head;
    struct draft *draft = claim->memory;
    pdr_str keys[PDR_RECORD_KEYS];

    claim->is_done = true;
    claim->state =
        claim->cancelled ? PDR_OPERATION_CANCELLED : PDR_OPERATION_COMPLETED;
    if (claim->cancelled)
        return;
    if (head->next_seq > head->first_seq)
        claim->edit->entries_through = head->next_seq - 1;
    claim->edit->set_state = true;
    claim->edit->state = PDR_SESSION_IDLE;
    if (head->slots == 0)
        return;
    claim->edit->slot_count = pdr__record_keys(keys, PDR_SHAPE_STATE);
    for (size_t i = 0; i < claim->edit->slot_count; i++)
        draft->slots[i] = (pdr_slot){.key = keys[i]};
    claim->edit->slots = draft->slots;
}

static pdr_rc durable_claim(pdr_claim *claim, pdr_err *err, void *self)
{
    const pdr_durable_agent *agent = agent_find(self, claim->session.id);
    struct draft *draft = draft_new();
    pdr_rc rc = PDR_OK;

    claim->memory = draft;
    if (draft == NULL)
        return pdr__nomem(err);
    if (op_find(claim->name) != OP_RUN) {
        claim_reset(claim);
        return PDR_OK;
    }
    PDR_TRY(claim_run(claim, err));
    if (agent != NULL && claim->edit->entry_count > 0)
        claim_expiry(claim, agent);
    if (claim->is_done) {
        PDR_TRY(event_write(&draft->input, claim->more, err));
        draft->end = end_event(claim->state, claim->correlation_id,
                               pdr_buf_str(&draft->input));
        claim->edit->stream = &draft->end;
        claim->edit->stream_count = 1;
    }
done:
    return rc;
}

/* --- running --------------------------------------------------------------
 */

/* A run, from its claim to its end. */
struct work {
    pdr_task *task;
    const pdr_task_info *info;
    const pdr_durable_agent *agent;
    struct pdr__request request;
    struct pdr__journal journal;
    pdr_stored *stored; /* owned */
    pdr_operation_state state;
    pdr_buf more, end; /* of the outcome, of the last event */
};

/* A pdr_task_end_fn. */
static void work_end(pdr_task_end end, void *arg)
{
    struct work *w = arg;

    pdr_cancel_set(&w->journal.leave);
    if (end != PDR_TASK_HANDED_BACK)
        pdr_cancel_set(&w->journal.cancel);
}

/* Open the session as it was before the request. */
static pdr_rc work_open(struct work *w, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_COMPLETIONS,
                             .ref = w->info->session,
                             .key = w->info->correlation_id,
                             .limit = 1};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    w->stored = pdr_task_take_kept(w->task);
    if (w->stored != NULL)
        pdr__stored_follow(w->stored, &w->info->head);
    else
        PDR_TRY(pdr_stored_open(&w->stored, w->info->store, &w->info->session,
                                NULL, err));
    if (pdr_stored_head(w->stored)->epoch != w->info->epoch)
        PDR_TRY(pdr__stored_late(w->stored, err));
    w->stored->keeps_tail = true;
    w->stored->history_end = w->info->first_seq;
    if (w->stored->history_end == 0) { /* it was claimed before, or imported */
        PDR_TRY(pdr_store_read(&page, w->info->store, &query, err));
        w->stored->history_end = page->completions[0].first_seq;
    }
    w->stored->journal = &w->journal;
done:
    pdr_page_free(page);
    return rc;
}

/* A pdr__commit_fn: the last commit. */
static pdr_rc work_commit(pdr_committed *out, const pdr_edit *edit,
                          pdr_err *err, void *arg)
{
    struct work *w = arg;
    const pdr_work end =
        end_event(w->state, w->info->correlation_id, pdr_buf_str(&w->end));
    struct pdr__arena memory = PDR_ARENA_INIT(SIZE_MAX);
    pdr_edit own = *edit;
    pdr_work *events = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__journal_events(&events, &own.stream_count, &w->journal, &end,
                                &memory, err));
    own.stream = events;
    PDR_TRY(pdr_task_finish(out, w->task, &own, w->state, pdr_buf_str(&w->more),
                            err));
done:
    pdr__arena_dispose(&memory);
    return rc;
}

/* The next run goes on with the handle as it is. */
static void work_keep(struct work *w)
{
    pdr_stored *stored = w->stored;
    size_t bytes = pdr__stored_shrink(stored);

    w->stored = NULL;
    stored->journal = NULL;
    stored->history_end = 0;
    pdr_task_keep(w->task, stored, pdr_stored_head(stored), bytes);
}

/* A `forget`. */
static void kept_forget(void *memo, void *self)
{
    (void)self;
    pdr_stored_close(memo);
}

/* Commit the end of the run to the session as it is now. */
static pdr_rc work_finish(struct work *w, pdr_err *err)
{
    int64_t now_ms = pdr_task_now(w->task);
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (w->agent->ttl_ms != PDR_NEVER &&
        now_ms - w->info->now_ms > TTL_SLACK_MS) /* else its claim said so */
        pdr_stored_set_expiry(w->stored, now_ms + w->agent->ttl_ms);
    for (int i = 0; i < FINISH_TRIES; i++) {
        why = (pdr_err)PDR_ERR_INIT;
        rc = pdr__stored_commit_by(w->stored, &why, work_commit, w);
        if (!pdr__err_is(&why, PDR_R_REVISION_CHANGED))
            break;
        /* Somebody changed a slot or a property: that is fine. */
        PDR_TRY(pdr__stored_rebase(w->stored, &why));
    }
    if (rc == PDR_OK && w->state == PDR_OPERATION_COMPLETED &&
        !w->stored->is_stale)
        work_keep(w);
done:
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

static uint64_t tokens_of(const pdr_value *usage, const char *name)
{
    int64_t count = 0;

    return usage != NULL && pdr_usage_count(&count, usage, pdr_str_c(name)) &&
                   count > 0
               ? (uint64_t)count
               : 0;
}

/* Its answer is stored: count what that took. */
static void tokens_count(const struct work *w, const pdr_value *usage)
{
    const uint64_t input = tokens_of(usage, "inputTokenCount");
    const uint64_t output = tokens_of(usage, "outputTokenCount");
    const uint64_t total = tokens_of(usage, "totalTokenCount");

    pdr__task_tokens(w->task, input, output,
                     total > 0 ? total : input + output);
}

/* The run succeeded: the loop has put its response entry and its bag into the
 * handle. A layer around the agent that did not run it gave a response all the
 * same. */
static pdr_rc work_succeed(struct work *w, const pdr_response *response,
                           pdr_err *err)
{
    pdr_entry_parts parts = {.kind = PDR_ENTRY_RESPONSE,
                             .correlation_id = w->info->correlation_id,
                             .created_at = ticks_of(pdr_task_now(w->task))};
    pdr_value *list = pdr_value_new_array(), *entry = NULL, *message = NULL;
    pdr_approvals *waiting = NULL;
    pdr_rc rc = PDR_OK;

    if (w->stored->changes.entry_count == 0) {
        for (size_t i = 0; i < pdr_response_count(response); i++) {
            PDR_TRY(pdr_message_convert(
                &message, pdr_response_message(response, i),
                pdr_response_shape(response), PDR_SHAPE_STATE, err));
            PDR_TRY(pdr_value_append(&list, message, err));
            pdr_value_free(message);
            message = NULL;
        }
        parts.messages = list;
        parts.usage = pdr_response_usage(response);
        PDR_TRY(pdr_entry_new(&entry, &parts, err));
        PDR_TRY(pdr_stored_add_entry(w->stored, entry, err));
    }
    PDR_TRY(pdr_approvals_pending(&waiting, NULL, w->stored, err));
    pdr_stored_set_state(w->stored, waiting->count > 0 ? PDR_SESSION_WAITING
                                                       : PDR_SESSION_IDLE);
    w->state = PDR_OPERATION_COMPLETED;
    PDR_TRY(work_finish(w, err));
    tokens_count(w, pdr_response_usage(response));
done:
    pdr_approvals_free(waiting);
    pdr_value_free(message);
    pdr_value_free(entry);
    pdr_value_free(list);
    return rc;
}

/* The run failed, and trying again is of no use. What a tool did with the
 * approval of the caller stays in the history, the error after it; else nothing
 * of the run stays but the error (D2). */
static pdr_rc work_fail(struct work *w, const pdr_err *why, pdr_err *err)
{
    struct pdr__changes *changes = &w->stored->changes;
    const char *code =
        why->reason != NULL ? why->reason : pdr_rc_name(why->code);
    pdr_entry_parts parts = {.kind = PDR_ENTRY_RESPONSE,
                             .correlation_id = w->info->correlation_id,
                             .created_at = ticks_of(pdr_task_now(w->task))};
    pdr_value *message = NULL, *entry = NULL, *list = pdr_value_new_array();
    pdr_rc rc = PDR_OK;

    if (changes->entry_count > 0) {
        pdr_value_free(list);
        list = pdr_value_ref(pdr_entry_messages(changes->entries[0].body));
        pdr__changes_cut(changes, 0);
    } else {
        PDR_TRY(pdr_stored_reload(w->stored, err));
        parts.is_error = true;
    }
    PDR_TRY(error_message(&message, w->agent->agent, code, why->message, err));
    PDR_TRY(pdr_value_append(&list, message, err));
    parts.messages = list;
    PDR_TRY(pdr_entry_new(&entry, &parts, err));
    PDR_TRY(pdr_stored_add_entry(w->stored, entry, err));
    pdr_buf_clear(&w->more);
    PDR_TRY(failure_write(&w->more, code, why->message, err));
    PDR_TRY(event_write(&w->end, pdr_buf_str(&w->more), err));
    PDR_TRY(work_finish(w, err));
done:
    pdr_value_free(message);
    pdr_value_free(entry);
    pdr_value_free(list);
    return rc;
}

/* Would it help to try again later? */
static bool is_for_now(pdr_rc rc)
{
    return rc == PDR_ENOMEM || rc == PDR_EIO || rc == PDR_EUNKNOWN ||
           rc == PDR_EBUSY || rc == PDR_ECONFLICT || rc == PDR_EFENCED;
}

static pdr_rc work_run(struct work *w, pdr_err *err)
{
    pdr_run run = {.stored = w->stored,
                   .shape = PDR_SHAPE_STATE,
                   .correlation_id = w->info->correlation_id,
                   .options = w->request.options,
                   .output_schema = w->request.schema,
                   .cancel = &w->journal.cancel,
                   .now_ms = w->info->now_ms};
    size_t count = pdr_value_count(w->request.messages);
    const pdr_value **messages = pdr__calloc(count + 1, sizeof(*messages));
    pdr_response *response = NULL;
    pdr_task_end end = PDR_TASK_GOES_ON;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (messages == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < count; i++)
        messages[i] = pdr_value_at(w->request.messages, i);
    run.messages = messages;
    run.count = count;
    rc = pdr_agent_run(&response, w->agent->agent, &run, &why);
    end = pdr_task_ends(w->task);
    if (rc == PDR_OK) {
        rc = work_succeed(w, response, &why);
    } else if (end == PDR_TASK_CANCELLED && rc == PDR_ECANCELLED) {
        w->state = PDR_OPERATION_CANCELLED;
        rc = work_fail(w, &why, &why);
    } else if (end == PDR_TASK_GOES_ON && !is_for_now(rc)) {
        if (rc == PDR_ECANCELLED && pdr_cancel_is_set(&w->journal.cancel))
            rc = PDR_FAIL(&why, RUN_TIMEOUT, "the run took longer than %u ms",
                          w->agent->timeout_ms);
        w->state = PDR_OPERATION_FAILED;
        rc = work_fail(w, &why, &why);
    }
    pdr_response_free(response);
    pdr__free(messages);
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

static pdr_rc durable_run(pdr_task *task, pdr_err *err, void *self)
{
    const pdr_task_info *info = pdr_task_info_get(task);
    struct work w = {.task = task,
                     .info = info,
                     .agent = agent_find(self, info->session.id),
                     .more = PDR_BUF_INIT(PDR_MAX_ROW_BYTES),
                     .end = PDR_BUF_INIT(PDR_MAX_ROW_BYTES)};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr__request_read(&w.request, info->input, err);
    pdr_rc opened = PDR_OK;

    if (rc != PDR_OK)
        return rc;
    opened = pdr__journal_open(&w.journal, task, &w.request,
                               w.agent->timeout_ms, &why);
    pdr_task_on_end(task, work_end, &w);
    PDR_TRY(work_open(&w, err));
    if (opened == PDR_OK) {
        PDR_TRY(pdr__journal_say_attempt(&w.journal, err));
        PDR_TRY(work_run(&w, err));
    } else if (is_for_now(opened)) {
        rc = pdr__err_pass(err, &why);
    } else { /* nobody can go on with it */
        w.state = PDR_OPERATION_FAILED;
        rc = work_fail(&w, &why, err);
    }
done:
    pdr_task_on_end(task, NULL, NULL);
    pdr_stored_close(w.stored);
    pdr__journal_dispose(&w.journal);
    pdr__request_dispose(&w.request);
    pdr_buf_dispose(&w.end);
    pdr_buf_dispose(&w.more);
    return rc;
}

/* --- what is not stored ---------------------------------------------------
 */

/* Delete a session; `if_expired`: only if its time is over, and nobody is at
 * work on it. */
static pdr_rc session_remove(pdr_store *store, const pdr_ref *ref,
                             int64_t now_ms, bool if_expired, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = *ref};
    const pdr_commit_options options = {.now_ms = now_ms};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_ECONFLICT;

    for (int i = 0; i < FINISH_TRIES && rc == PDR_ECONFLICT; i++) {
        pdr_edit edit = {.ref = *ref, .remove = true};

        why = (pdr_err)PDR_ERR_INIT;
        PDR_TRY(pdr_store_read(&page, store, &query, &why));
        edit.revision = page->head.revision;
        edit.commits = page->head.commits;
        rc = PDR_OK;
        if (!if_expired || pdr__session_has_expired(&page->head, now_ms, 0))
            rc = pdr_store_commit(NULL, store, &edit, 1, &options, &why);
        pdr_page_free(page);
        page = NULL;
    }
done:
    pdr_page_free(page);
    if (if_expired && rc == PDR_ENOTFOUND)
        rc = PDR_OK; /* it is gone already */
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

/* The document of a session that others may change meanwhile. */
static pdr_rc session_get(pdr_buf *answer, pdr_store *store, const pdr_ref *ref,
                          pdr_err *err)
{
    const pdr_export_opts opts = {.ref = *ref, .bare = true};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_ECONFLICT;

    for (int i = 0; i < FINISH_TRIES && rc == PDR_ECONFLICT; i++) {
        why = (pdr_err)PDR_ERR_INIT;
        pdr_buf_clear(answer);
        rc = pdr_export(NULL, store, &opts, &why, pdr_write_buf, answer);
    }
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

static pdr_rc durable_at_once(pdr_buf *answer, pdr_store *store,
                              const pdr_operation *operation, int64_t now_ms,
                              pdr_err *err, void *self)
{
    enum op op = op_find(operation->name);

    (void)self;
    if (op == OP_GET)
        return session_get(answer, store, &operation->session, err);
    return session_remove(store, &operation->session, now_ms, op != OP_DELETE,
                          err);
}

/* --- the table ------------------------------------------------------------
 */

pdr_rc pdr_durable_attach(pdr_engine *engine, pdr_durable *durable,
                          pdr_err *err)
{
    static const pdr_entity_ops ops = {.version = PDR_ENTITY_OPS_VERSION,
                                       .prefix = "@",
                                       .admit = durable_admit,
                                       .can_run = durable_can_run,
                                       .claim = durable_claim,
                                       .release = draft_free,
                                       .run = durable_run,
                                       .at_once = durable_at_once,
                                       .forget = kept_forget};

    PDR_REQUIRE(engine != NULL && durable != NULL);
    return pdr_engine_add(engine, &ops, durable, err);
}
