/*
 * route.c - the table of routes, and what is told of them.
 */
#include <stdio.h>

#include "http.h"

#include <perdure/json.h>

static const struct pdr__route routes[] = {
    {.name = "healthz",
     .path = "healthz",
     .family = PDR_FAMILY_PLAIN,
     .run = pdr__handle_healthz,
     .summary = "Is the process there?",
     .example = {"/healthz", NULL, 200, "ok"}},
    {.name = "readyz",
     .path = "readyz",
     .family = PDR_FAMILY_PLAIN,
     .run = pdr__handle_readyz,
     .summary = "Can it take requests?",
     .example = {"/readyz", NULL, 200, "ok"}},
    {.name = "metrics",
     .path = "metrics",
     .scope = PDR_SCOPE_ADMIN, /* they are of all tenants */
     .family = PDR_FAMILY_PLAIN,
     .is_away = true,
     .run = pdr__handle_metrics,
     .summary = "Figures, as Prometheus reads them",
     .example = {"/metrics", NULL, 200, "perdure_build_info"}},
    {.name = "openapi",
     .path = "openapi.json",
     .family = PDR_FAMILY_NATIVE,
     .run = pdr__handle_openapi,
     .summary = "This description",
     .example = {"/openapi.json", NULL, 200, "\"openapi\""}},
    {.name = "root",
     .path = "",
     .family = PDR_FAMILY_NATIVE,
     .run = pdr__ui_redirect,
     .summary = "To the dashboard",
     .example = {"/", NULL, 308, NULL}},
    {.name = "ui-redirect",
     .path = "ui",
     .family = PDR_FAMILY_NATIVE,
     .run = pdr__ui_redirect,
     .summary = "To the dashboard",
     .example = {"/ui", NULL, 308, NULL}},
    {.name = "ui",
     .path = "ui/",
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__ui_index,
     .summary = "The dashboard, a page for browsers",
     .example = {"/ui/", NULL, 200, "<!doctype html>"}},
    {.name = "ui-login",
     .verb = PDR_VERB_POST,
     .path = "ui/login",
     .family = PDR_FAMILY_NATIVE,
     .max_body = 4096,
     .run = pdr__ui_login,
     .summary = "A cookie for a key, for the dashboard",
     .example = {"/ui/login", "{\"key\":\"pd_example_key\"}", 204, NULL}},
    {.name = "ui-logout",
     .verb = PDR_VERB_POST,
     .path = "ui/logout",
     .family = PDR_FAMILY_NATIVE,
     .max_body = 4096,
     .run = pdr__ui_logout,
     .summary = "Take that cookie away",
     .example = {"/ui/logout", NULL, 204, NULL}},
    {.name = "ui-file",
     .path = "ui/{hash}/{name}",
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__ui_file,
     .summary = "A file of that page"},
    {.name = "agents-health",
     .path = "health",
     .has_base = true,
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_AGENTS,
     .run = pdr__handle_health,
     .summary = "The agents that there are",
     .example = {"/api/health", NULL, 200, "agent_count"}},
    {.name = "agent-run",
     .verb = PDR_VERB_POST,
     .path = "agents/{agent}/run",
     .has_base = true,
     .scope = PDR_SCOPE_RUN,
     .family = PDR_FAMILY_AGENTS,
     .is_away = true,
     .run = pdr__handle_run,
     .also = 202,
     .summary = "Say something to an agent, and wait for its answer",
     .example = {"/api/agents/{agent}/run",
                 "{\"message\":\"Hello\",\"session_id\":\"example\"}", 200,
                 "correlation_id"}},
    {.name = "agent-session",
     .path = "agents/{agent}/sessions/{key}",
     .has_base = true,
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_AGENTS,
     .is_away = true,
     .run = pdr__handle_document,
     .summary = "The state document of a session",
     .example = {"/api/agents/{agent}/sessions/example", NULL, 200,
                 "conversationHistory"}},
    {.name = "agent-response",
     .path = "agents/{agent}/sessions/{key}/responses/{correlation}",
     .has_base = true,
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_AGENTS,
     .is_away = true,
     .run = pdr__handle_response,
     .summary = "What came of a run; waits for it with ?wait=SECONDS"},
    {.name = "agent-stream",
     .path = "agents/{agent}/sessions/{key}/stream",
     .has_base = true,
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_AGENTS,
     .is_away = true,
     .run = pdr__handle_session_stream,
     .summary = "What is said in a session, event by event"},
    {.name = "agent-session-delete",
     .verb = PDR_VERB_DELETE,
     .path = "agents/{agent}/sessions/{key}",
     .has_base = true,
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_AGENTS,
     .is_away = true,
     .run = pdr__handle_delete,
     .also = 202,
     .summary = "Delete a session",
     .example = {"/api/agents/{agent}/sessions/example", NULL, 204, NULL}},
    {.name = "create",
     .verb = PDR_VERB_POST,
     .path = "agent/create",
     .has_base = true,
     .scope = PDR_SCOPE_RUN,
     .family = PDR_FAMILY_AGENTS,
     .is_away = true,
     .run = pdr__handle_create,
     .summary = "Say something to the default agent in a new session, and "
                "stream what comes"},
    {.name = "stream",
     .path = "agent/stream/{id}",
     .has_base = true,
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_AGENTS,
     .is_away = true,
     .run = pdr__handle_agent_stream,
     .summary = "Go on with such a stream, after ?cursor="},
    {.name = "sessions",
     .path = "api/v1/sessions",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_sessions_list,
     .query =
         "agent idPrefix state changedFrom changedTo property limit cursor",
     .summary = "Sessions, the last changed first",
     .example = {"/api/v1/sessions?limit=2", NULL, 200, "\"items\""}},
    {.name = "session-create",
     .verb = PDR_VERB_POST,
     .path = "api/v1/sessions",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_session_create,
     .summary = "Make a session",
     .example = {"/api/v1/sessions",
                 "{\"id\":\"example-1\",\"properties\":{\"team\":\"garden\"}}",
                 201, "\"revision\":1"}},
    {.name = "state",
     .path = "api/v1/sessions/{id}/state",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_state_get,
     .also = 304,
     .summary = "Its document",
     .example = {"/api/v1/sessions/example-1/state", NULL, 200, "stateBag"}},
    {.name = "state-put",
     .verb = PDR_VERB_PUT,
     .path = "api/v1/sessions/{id}/state",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_state_put,
     .also = 201,
     .summary = "Replace its document, or make it of one",
     .example = {"/api/v1/sessions/example-1/state",
                 "{\"stateBag\":{\"mood\":\"calm\"}}", 200, "\"slots\":1"}},
    {.name = "entries",
     .path = "api/v1/sessions/{id}/entries",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_entries,
     .query = "from backwards correlationId limit cursor",
     .summary = "Steps of the conversation",
     .example = {"/api/v1/sessions/example-1/entries?limit=1", NULL, 200,
                 "\"items\":[]"}},
    {.name = "findings",
     .path = "api/v1/sessions/{id}/findings",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_findings,
     .summary = "What a check of its document finds",
     .example = {"/api/v1/sessions/example-1/findings", NULL, 200,
                 "\"checked\""}},
    {.name = "journal",
     .path = "api/v1/sessions/{id}/journal",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_journal,
     .query = "limit cursor",
     .summary = "Steps of the run at work",
     .example = {"/api/v1/sessions/example-1/journal", NULL, 200,
                 "\"items\":[]"}},
    {.name = "bag",
     .path = "api/v1/sessions/{id}/bag",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_bag_keys,
     .query = "limit cursor",
     .summary = "Keys of its bag, with sizes",
     .example = {"/api/v1/sessions/example-1/bag", NULL, 200,
                 "\"key\":\"mood\""}},
    {.name = "slot",
     .path = "api/v1/sessions/{id}/bag/{key}",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_bag_get,
     .also = 304,
     .summary = "A value of its bag",
     .example = {"/api/v1/sessions/example-1/bag/mood", NULL, 200, "\"calm\""}},
    {.name = "slot-put",
     .verb = PDR_VERB_PUT,
     .path = "api/v1/sessions/{id}/bag/{key}",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_bag_put,
     .summary = "Set a value of its bag",
     .example = {"/api/v1/sessions/example-1/bag/mood", "{\"now\":\"merry\"}",
                 204, NULL}},
    {.name = "slot-delete",
     .verb = PDR_VERB_DELETE,
     .path = "api/v1/sessions/{id}/bag/{key}",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_bag_delete,
     .summary = "Remove a value of its bag",
     .example = {"/api/v1/sessions/example-1/bag/mood", NULL, 204, NULL}},
    {.name = "runs",
     .path = "api/v1/sessions/{id}/runs",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_runs_list,
     .query = "limit cursor",
     .summary = "Runs that the session knows"},
    {.name = "run-start",
     .verb = PDR_VERB_POST,
     .path = "api/v1/sessions/{id}/runs",
     .scope = PDR_SCOPE_RUN,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_run_start,
     .query = "busy",
     .also = 202,
     .summary = "Say something to the agent of a session",
     .example = {"/api/v1/sessions/%40dafx-{agent}%40api/runs",
                 "{\"message\":\"Hello\",\"correlationId\":\"example\"}", 200,
                 "\"state\":\"completed\""}},
    {.name = "run",
     .path = "api/v1/sessions/{id}/runs/{run}",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_run_show,
     .query = "wait",
     .summary = "What came of a run",
     .example = {"/api/v1/sessions/%40dafx-{agent}%40api/runs/example", NULL,
                 200, "\"state\":\"completed\""}},
    {.name = "run-cancel",
     .verb = PDR_VERB_POST,
     .path = "api/v1/sessions/{id}/runs/{run}/cancel",
     .scope = PDR_SCOPE_RUN,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_run_cancel,
     .also = 202,
     .summary = "End a run",
     .example = {"/api/v1/sessions/%40dafx-{agent}%40api/runs/example/cancel",
                 NULL, 200, "\"state\":\"completed\""}},
    {.name = "run-resume",
     .verb = PDR_VERB_POST,
     .path = "api/v1/sessions/{id}/runs/{run}/resume",
     .scope = PDR_SCOPE_RUN,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_run_resume,
     .also = 202,
     .summary = "Let a run go on that another process left",
     .example = {"/api/v1/sessions/%40dafx-{agent}%40api/runs/example/resume",
                 NULL, 200, "\"state\":\"completed\""}},
    {.name = "events",
     .path = "api/v1/sessions/{id}/events",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_events,
     .query = "run after",
     .also = 204,
     .summary = "What is said in a session, event by event",
     .example = {"/api/v1/sessions/%40dafx-{agent}%40api/events?run=example",
                 NULL, 200, "event: done"}},
    {.name = "session",
     .path = "api/v1/sessions/{id}",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_session_show,
     .also = 304,
     .summary = "What a session is",
     .example = {"/api/v1/sessions/example-1", NULL, 200,
                 "\"team\":\"garden\""}},
    {.name = "session-patch",
     .verb = PDR_VERB_PATCH,
     .path = "api/v1/sessions/{id}",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_session_patch,
     .summary = "Change its properties, by a merge patch",
     .example = {"/api/v1/sessions/example-1",
                 "{\"properties\":{\"team\":\"kitchen\"}}", 204, NULL}},
    {.name = "session-delete",
     .verb = PDR_VERB_DELETE,
     .path = "api/v1/sessions/{id}",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_session_delete,
     .summary = "Delete a session",
     .example = {"/api/v1/sessions/example-1", NULL, 204, NULL}},
    {.name = "chats",
     .path = "api/v1/chats",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_chats_list,
     .query =
         "agent idPrefix state changedFrom changedTo property limit cursor",
     .summary = "Chats of several agents, the last changed first",
     .example = {"/api/v1/chats?limit=2", NULL, 200, "\"items\""}},
    {.name = "chat-create",
     .verb = PDR_VERB_POST,
     .path = "api/v1/chats",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_chat_create,
     .summary = "Make a chat of agents that are here",
     .example = {"/api/v1/chats",
                 "{\"id\":\"example-3\",\"agents\":[\"{agent}\"]}", 201,
                 "\"here\":true"}},
    {.name = "chat",
     .path = "api/v1/chats/{id}",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_chat_show,
     .summary = "Who takes part in a chat, and how far each is",
     .example = {"/api/v1/chats/example-3", NULL, 200, "\"participants\""}},
    {.name = "chat-messages",
     .path = "api/v1/chats/{id}/messages",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_chat_messages,
     .query = "from backwards limit cursor",
     .summary = "What was said",
     .example = {"/api/v1/chats/example-3/messages", NULL, 200,
                 "\"items\":[]"}},
    {.name = "chat-say",
     .verb = PDR_VERB_POST,
     .path = "api/v1/chats/{id}/messages",
     .scope = PDR_SCOPE_RUN,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_chat_say,
     .summary = "Say something, to which nobody answers yet",
     .example = {"/api/v1/chats/example-3/messages",
                 "{\"text\":\"Hello\",\"author\":\"Ann\"}", 201, "\"seq\":1"}},
    {.name = "chat-turns",
     .verb = PDR_VERB_POST,
     .path = "api/v1/chats/{id}/turns",
     .scope = PDR_SCOPE_RUN,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_chat_turns,
     .summary = "Let agents speak",
     .example = {"/api/v1/chats/example-3/turns", "{\"text\":\"Well?\"}", 200,
                 "\"turn\":1"}},
    {.name = "chat-saved",
     .path = "api/v1/chats/{id}/saved",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_chat_saved_get,
     .query = "form strict",
     .summary = "A saved chat, for this program or others",
     .example = {"/api/v1/chats/example-3/saved?form=sk", NULL, 200,
                 "\"History\""}},
    {.name = "chat-restore",
     .verb = PDR_VERB_PUT,
     .path = "api/v1/chats/{id}/saved",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_chat_saved_put,
     .query = "agent rebuild dryRun",
     .summary = "Restore a saved chat of whatever form, or say what would be",
     .example = {"/api/v1/chats/example-4/saved",
                 "{\"history\":[],\"channels\":[]}", 201,
                 "\"case\":\"enhanced\""}},
    {.name = "notices",
     .path = "api/v1/events",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .run = pdr__api_notices,
     .summary = "Which sessions change, as it happens"},
    {.name = "overview",
     .path = "api/v1/overview",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .run = pdr__api_overview,
     .summary = "How much there is of everything, and who asks",
     .example = {"/api/v1/overview", NULL, 200, "\"sessions\""}},
    {.name = "agents",
     .path = "api/v1/agents",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .run = pdr__api_agents,
     .summary = "The agents that are here",
     .example = {"/api/v1/agents", NULL, 200, "\"items\""}},
    {.name = "agent",
     .path = "api/v1/agents/{agent}",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .run = pdr__api_agent,
     .summary = "An agent",
     .example = {"/api/v1/agents/{agent}", NULL, 200, "\"metadata\""}},
    {.name = "verify",
     .verb = PDR_VERB_POST,
     .path = "api/v1/verify",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .is_long = true,
     .run = pdr__api_verify,
     .query = "session",
     .summary = "Check what is stored",
     .example = {"/api/v1/verify", NULL, 200, "\"ok\":true"}},
    {.name = "import",
     .verb = PDR_VERB_POST,
     .path = "api/v1/import",
     .scope = PDR_SCOPE_WRITE,
     .family = PDR_FAMILY_NATIVE,
     .is_away = true,
     .is_long = true,
     .run = pdr__api_import,
     .query = "replace",
     .summary = "Make sessions of documents",
     .example = {"/api/v1/import",
                 "{\"id\":\"example-2\",\"document\":{\"stateBag\":{}}}", 200,
                 "\"status\":\"created\""}},
    {.name = "export",
     .path = "api/v1/export",
     .scope = PDR_SCOPE_READ,
     .family = PDR_FAMILY_NATIVE,
     .is_long = true, /* its lines; that it may begin is soon said */
     .run = pdr__api_export,
     .summary = "All sessions, a line each",
     .example = {"/api/v1/export", NULL, 200, "\"id\":\"example-2\""}},
};

size_t pdr__route_count(void)
{
    return PDR_COUNT(routes);
}

const struct pdr__route *pdr__route_at(size_t index)
{
    return &routes[index];
}

/* --- the description -------------------------------------------------------
 */

static const char *const verbs[PDR_VERB_COUNT] = {"get", "post", "put", "patch",
                                                  "delete"};

static void put_text(pdr_builder *to, const char *name, pdr_str text)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, text);
}

static void put_object(pdr_builder *to, const char *name)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_object(to);
}

static void put_parameter(pdr_builder *to, pdr_str name, const char *where)
{
    pdr_builder_object(to);
    put_text(to, "name", name);
    put_text(to, "in", pdr_str_c(where));
    pdr_builder_name(to, PDR_LIT("required"));
    pdr_builder_bool(to, strcmp(where, "path") == 0);
    put_object(to, "schema");
    put_text(to, "type", PDR_LIT("string"));
    pdr_builder_end(to);
    pdr_builder_end(to);
}

/* The variables of a path, and the names of its query. */
static void put_parameters(pdr_builder *to, const struct pdr__route *route)
{
    const char *name = route->query != NULL ? route->query : "";

    pdr_builder_name(to, PDR_LIT("parameters"));
    pdr_builder_array(to);
    for (const char *at = strchr(route->path, '{'); at != NULL;
         at = strchr(at + 1, '{'))
        put_parameter(to, pdr_str_n(at + 1, strcspn(at + 1, "}")), "path");
    for (size_t len = 0; *name != '\0'; name += len) {
        name += *name == ' ';
        len = strcspn(name, " ");
        put_parameter(to, pdr_str_n(name, len), "query");
    }
    pdr_builder_end(to);
}

/* What a key needs; an empty list: none is needed. */
static void put_security(pdr_builder *to, pdr_scope scope)
{
    pdr_builder_name(to, PDR_LIT("security"));
    pdr_builder_array(to);
    if (scope != PDR_SCOPE_NONE) {
        pdr_builder_object(to);
        pdr_builder_name(to, PDR_LIT("key"));
        pdr_builder_array(to);
        pdr_builder_string(to, pdr_str_c(pdr_scope_name(scope)));
        pdr_builder_end(to);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}

static void put_response(pdr_builder *to, unsigned status)
{
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", status);
    put_object(to, number);
    put_text(to, "description", pdr_str_c(pdr__status_name(status)));
    pdr_builder_end(to);
}

/* Errors are told in the way of the family. */
static void put_errors(pdr_builder *to, const char *range, const char *text,
                       enum pdr__family family)
{
    static const char *const types[][2] = {
        [PDR_FAMILY_NATIVE] = {"application/problem+json", NULL},
        [PDR_FAMILY_PLAIN] = {"text/plain", NULL},
        [PDR_FAMILY_AGENTS] = {"application/json", "text/plain"}};

    put_object(to, range);
    put_text(to, "description", pdr_str_c(text));
    put_object(to, "content");
    for (size_t i = 0; i < 2 && types[family][i] != NULL; i++) {
        put_object(to, types[family][i]);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    pdr_builder_end(to);
}

/* Every status that may come: that of the example, one beside it, errors. */
static void put_responses(pdr_builder *to, const struct pdr__route *route)
{
    put_object(to, "responses");
    put_response(to, route->example.path != NULL ? route->example.status : 200);
    if (route->also != 0)
        put_response(to, route->also);
    put_errors(to, "4XX", "What was wrong with the request", route->family);
    put_errors(to, "5XX", "What went wrong", route->family);
    pdr_builder_end(to);
}

static pdr_rc put_route(pdr_builder *to, const struct pdr__route *route,
                        pdr_err *err)
{
    pdr_value *example = NULL;
    pdr_rc rc = PDR_OK;

    put_object(to, verbs[route->verb]);
    put_text(to, "operationId", pdr_str_c(route->name));
    put_text(to, "summary", pdr_str_c(route->summary));
    put_security(to, route->scope);
    put_parameters(to, route);
    if (route->example.body != NULL) {
        put_object(to, "requestBody");
        put_object(to, "content");
        put_object(to, "application/json");
        PDR_TRY(
            pdr_json_read(&example, pdr_str_c(route->example.body), NULL, err));
        pdr_builder_name(to, PDR_LIT("example"));
        pdr_builder_value(to, example);
        pdr_builder_end(to);
        pdr_builder_end(to);
        pdr_builder_end(to);
    }
    if (route->example.path != NULL) {
        put_object(to, "x-example");
        put_text(to, "path", pdr_str_c(route->example.path));
        if (route->example.reply != NULL)
            put_text(to, "contains", pdr_str_c(route->example.reply));
        pdr_builder_end(to);
    }
    put_responses(to, route);
    pdr_builder_end(to);
done:
    pdr_value_free(example);
    return rc;
}

/* Has an earlier route the same path? Then it was told there. */
static bool is_told(size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(routes[i].path, routes[index].path) == 0 &&
            routes[i].has_base == routes[index].has_base)
            return true;
    }
    return false;
}

static pdr_rc put_paths(pdr_builder *to, pdr_str base, pdr_err *err)
{
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    put_object(to, "paths");
    for (size_t i = 0; i < PDR_COUNT(routes); i++) {
        if (is_told(i))
            continue;
        pdr_buf_clear(&path);
        PDR_TRY(pdr_buf_printf(&path, err, "%.*s/%s",
                               routes[i].has_base ? (int)base.len : 0, base.ptr,
                               routes[i].path));
        pdr_builder_name(to, pdr_buf_str(&path));
        pdr_builder_object(to);
        for (size_t k = i; k < PDR_COUNT(routes); k++) {
            if (strcmp(routes[i].path, routes[k].path) == 0 &&
                routes[i].has_base == routes[k].has_base)
                PDR_TRY(put_route(to, &routes[k], err));
        }
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
done:
    pdr_buf_dispose(&path);
    return rc;
}

pdr_rc pdr__handle_openapi(struct pdr__exchange *x, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    put_text(to, "openapi", PDR_LIT("3.1.0"));
    put_object(to, "info");
    put_text(to, "title", PDR_LIT("perdure"));
    put_text(to, "version", pdr_str_c(pdr_version()));
    pdr_builder_end(to);
    PDR_TRY(put_paths(to, x->server->base, err));
    put_object(to, "components");
    put_object(to, "securitySchemes");
    put_object(to, "key");
    put_text(to, "type", PDR_LIT("http"));
    put_text(to, "scheme", PDR_LIT("bearer"));
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(&value, to, err));
    PDR_TRY(pdr_json_write(&x->reply.body, value, NULL, err));
    pdr__reply_begin(x, 200, PDR_TYPE_JSON);
done:
    pdr_value_free(value);
    pdr_builder_free(to);
    return rc;
}
