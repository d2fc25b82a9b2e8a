/*
 * describe.c - /openapi.json: what routes take and give, made of their table.
 *
 * A shape is an object with members "name:type", between blanks. A name with a
 * question mark may be missing. A type is one of
 *
 *      s text      n whole number   b truth         t date and time
 *      o object    * anything       X a shape       [X a list of these
 *
 * and with "~" it may be null. Requests are closed: a member that their shape
 * does not have is refused. Replies may get more members in later versions.
 */
#include <ctype.h>
#include <stdio.h>

#include <perdure/json.h>

#include "http.h"

static const struct shape {
    const char *name;
    bool is_closed;
    const char *members;
} shapes[] = {
    /* Errors. */
    {"Problem", false,
     "type:s title:s status:n detail:s requestId:s code?:s "
     "errors?:[ProblemPart"},
    {"ProblemPart", false, "pointer:s detail:s"},
    {"Failure", false,
     "error?:s status?:* response?:s~ message?:s session_id?:s thread_id?:s "
     "correlation_id?:s error_code?:s"},
    /* Routes of durable agents. Hosts take any type where names are. */
    {"Health", false, "status:s agents:[HealthAgent agent_count:n version:s"},
    {"HealthAgent", false,
     "name:s type:s http_endpoint_enabled:b mcp_tool_enabled:b"},
    {"Ask", false,
     "message:s session_id?:* thread_id?:* sessionId?:* role?:s~ "
     "response_format?:* enable_tool_calls?:* wait_for_response?:* "
     "waitForResponse?:* correlation_id?:* correlationId?:*"},
    {"Answer", false,
     "response:s~ message?:s session_id:s thread_id:s status:s "
     "correlation_id:s message_count?:n"},
    {"DotnetAnswer", false, "status:n thread_id:s response?:o"},
    {"StateDocument", false, "schemaVersion?:s data?:o~"},
    /* Sessions. */
    {"Document", false, ""},
    {"NewSession", true, "id?:s~ agent?:s~ expires?:t~ properties?:o~"},
    {"SessionPatch", true, "properties:o"},
    {"Session", false,
     "id:s agent:s~ kind:s~ schemaVersion:s~ state:s revision:n epoch:n "
     "etag:s created:t~ changed:t~ expires:t~ entries:n lastSeq:n slots:n "
     "events:Events queued:n properties?:o"},
    {"Events", false, "first:n next:n"},
    {"Stored", false, "id:s revision:n epoch:n entries:n slots:n"},
    {"Entry", false,
     "seq:n kind:s shape:s created:t~ correlationId:s~ digest:s body:*"},
    {"Step", false, "n:n kind:s correlationId:s~ body:*"},
    {"Slot", false, "key:s bytes:n digest:s"},
    {"Findings", false, "checked:b items:[Finding count:n"},
    {"Finding", false, "pointer:s rule:s severity:s unknown:b text:s"},
    /* Runs. */
    {"NewRun", false,
     "message?:s messages?:[* correlationId?:s responseFormat?:* "
     "enableToolCalls?:b enableToolNames?:[s"},
    {"Run", false, "id:s session:s state:s text?:s response?:o outcome?:*"},
    {"RunRow", false, "id:s changed:t~ outcome:* firstSeq:n lastSeq:n"},
    /* Chats. */
    {"NewChat", true, "id?:s~ agents:[s"},
    {"Chat", false,
     "id:s agent:s~ kind:s~ schemaVersion:s~ state:s revision:n epoch:n "
     "etag:s created:t~ changed:t~ expires:t~ entries:n lastSeq:n slots:n "
     "events:Events queued:n count:n complete:b lastTurn:ChatTurn~ "
     "participants:[Participant channels:[Channel"},
    {"ChatTurn", false, "turn:n agent:s~ end:s why:s~"},
    {"Participant", false, "id:s~ name:s~ type:s~ channel:s~ here:b"},
    {"Channel", false, "key:s kind:s~ cursor:n parked:b"},
    {"ChatMessage", false,
     "seq:n turn:n channel:s~ visible:b role:s~ author:s~ text:s contents:[*"},
    {"NewMessage", true, "text:s author?:s~"},
    {"NewTurns", true,
     "text?:s~ author?:s~ to?:s~ first?:s~ maxTurns?:n until?:s~ agents?:[s"},
    {"Turns", false,
     "id:s state?:s count?:n complete?:b messages?:[ChatMessage"},
    {"Restored", false,
     "session:s dryRun:b count:n case:s findings:[RestoredPart"},
    {"RestoredPart", false,
     "what:s key:s~ name?:s kind?:s turn?:n seq?:n why?:s"},
    /* The server. */
    {"Login", true, "key:s"},
    {"Agent", false, "name:s description:s~ type:s~ metadata:o"},
    {"Verified", false,
     "ok:b sessions:n entries:n rows:n bad:n findings:[Damage"},
    {"Damage", false, "table:s row:s what:s"},
    {"Overview", false,
     "since:t sessions:SessionCounts runs:RunCounts tokens:TokenCounts "
     "storage:Storage keys:b scopes:[s tenant:s version:s"},
    {"SessionCounts", false, "idle:n running:n waiting:n expired:n total:n"},
    {"RunCounts", false,
     "now:n queued:n completed:n failed:n cancelled:n recovered:n"},
    {"TokenCounts", false, "input:n output:n total:n"},
    {"Storage", false,
     "bytes:n~ free:n log:n unseen:n backend:s schema:n keyed:b"},
};

/* Words in `takes` and `gives` of a route that mean media types, not shapes. */
static const struct {
    const char *word, *types;
} forms[] = {
    {"text", "text/plain"},
    {"html", "text/html"},
    {"figures", "text/plain application/openmetrics-text"},
    {"any", "application/json"},
    {"lines", "application/x-ndjson"},
    {"events", "text/event-stream application/x-ndjson"},
    {"file", "text/javascript text/css text/html image/svg+xml image/png"},
};

/* Parameters that are not any text. */
static const struct {
    const char *name, *type;
} typed[] = {
    {"limit", "integer"},     {"wait", "integer"},    {"from", "integer"},
    {"backwards", "boolean"}, {"strict", "boolean"},  {"dryRun", "boolean"},
    {"rebuild", "boolean"},   {"replace", "boolean"}, {"open", "boolean"},
};

static const char *const verbs[PDR_VERB_COUNT] = {"get", "post", "put", "patch",
                                                  "delete"};

static void put_text(pdr_builder *to, const char *name, pdr_str text)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, text);
}

static void put_object(pdr_builder *to, pdr_str name)
{
    pdr_builder_name(to, name);
    pdr_builder_object(to);
}

/* The next word of a list; absent at its end, or if the list is NULL. */
static pdr_str word_take(const char **rest)
{
    const char *word = NULL;
    size_t len = 0;

    if (*rest == NULL)
        return pdr_str_n(NULL, 0);
    word = *rest + strspn(*rest, " ");
    len = strcspn(word, " ");
    *rest = word + len;
    return pdr_str_n(len > 0 ? word : NULL, len);
}

/* --- shapes ----------------------------------------------------------------
 */

static void put_ref(pdr_builder *to, pdr_str name)
{
    char path[80];

    (void)snprintf(path, sizeof(path), "#/components/schemas/%.*s",
                   (int)name.len, name.ptr);
    put_text(to, "$ref", pdr_str_c(path));
}

/* "type":NAME, or one of NAME and null. */
static void put_simple(pdr_builder *to, const char *name, bool is_nullable)
{
    if (!is_nullable) {
        put_text(to, "type", pdr_str_c(name));
        return;
    }
    pdr_builder_name(to, PDR_LIT("type"));
    pdr_builder_array(to);
    pdr_builder_string(to, pdr_str_c(name));
    pdr_builder_string(to, PDR_LIT("null"));
    pdr_builder_end(to);
}

/* The members of the schema of a type; its object is open. */
static void put_type(pdr_builder *to, pdr_str type)
{
    static const char *const names[] = {
        ['s'] = "string",  ['t'] = "string", ['n'] = "integer",
        ['b'] = "boolean", ['o'] = "object", ['*'] = NULL};
    const bool is_nullable = type.ptr[type.len - 1] == '~';
    const unsigned char mark = (unsigned char)type.ptr[0];

    type.len -= is_nullable;
    if (mark == '[') {
        put_simple(to, "array", is_nullable);
        put_object(to, PDR_LIT("items"));
        put_type(to, pdr_str_n(type.ptr + 1, type.len - 1));
        pdr_builder_end(to);
    } else if (isupper(mark) && is_nullable) {
        pdr_builder_name(to, PDR_LIT("anyOf"));
        pdr_builder_array(to);
        pdr_builder_object(to);
        put_ref(to, type);
        pdr_builder_end(to);
        pdr_builder_object(to);
        put_text(to, "type", PDR_LIT("null"));
        pdr_builder_end(to);
        pdr_builder_end(to);
    } else if (isupper(mark)) {
        put_ref(to, type);
    } else if (names[mark] != NULL) {
        put_simple(to, names[mark], is_nullable);
        if (mark == 't')
            put_text(to, "format", PDR_LIT("date-time"));
    }
}

static void put_shape(pdr_builder *to, const struct shape *shape)
{
    const char *rest = shape->members;

    put_object(to, pdr_str_c(shape->name));
    put_text(to, "type", PDR_LIT("object"));
    put_object(to, PDR_LIT("properties"));
    for (pdr_str word = word_take(&rest); word.ptr != NULL;
         word = word_take(&rest)) {
        const size_t len = strcspn(word.ptr, "?:");
        const char *type = strchr(word.ptr, ':') + 1;

        put_object(to, pdr_str_n(word.ptr, len));
        put_type(to, pdr_str_n(type, word.len - (size_t)(type - word.ptr)));
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    pdr_builder_name(to, PDR_LIT("required"));
    pdr_builder_array(to);
    rest = shape->members;
    for (pdr_str word = word_take(&rest); word.ptr != NULL;
         word = word_take(&rest)) {
        const size_t len = strcspn(word.ptr, "?:");

        if (word.ptr[len] == ':')
            pdr_builder_string(to, pdr_str_n(word.ptr, len));
    }
    pdr_builder_end(to);
    if (shape->is_closed) {
        pdr_builder_name(to, PDR_LIT("additionalProperties"));
        pdr_builder_bool(to, false);
    }
    pdr_builder_end(to);
}

/* --- bodies ----------------------------------------------------------------
 */

/* A page of such items. */
static void put_list(pdr_builder *to, pdr_str type)
{
    put_text(to, "type", PDR_LIT("object"));
    put_object(to, PDR_LIT("properties"));
    put_object(to, PDR_LIT("items"));
    put_type(to, type);
    pdr_builder_end(to);
    put_object(to, PDR_LIT("next"));
    put_type(to, PDR_LIT("s~"));
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_name(to, PDR_LIT("required"));
    pdr_builder_array(to);
    pdr_builder_string(to, PDR_LIT("items"));
    pdr_builder_string(to, PDR_LIT("next"));
    pdr_builder_end(to);
}

static void put_media(pdr_builder *to, pdr_str type, pdr_str word,
                      const pdr_value *example)
{
    const unsigned char mark = (unsigned char)word.ptr[0];

    put_object(to, type);
    if (mark == '[' || isupper(mark) || pdr_str_equal(word, PDR_LIT("text"))) {
        put_object(to, PDR_LIT("schema"));
        if (mark == '[')
            put_list(to, word);
        else
            put_type(to, isupper(mark) ? word : PDR_LIT("s"));
        pdr_builder_end(to);
    }
    if (example != NULL) {
        pdr_builder_name(to, PDR_LIT("example"));
        pdr_builder_value(to, example);
    }
    pdr_builder_end(to);
}

/* What a body can be. The first form has the example. */
static void put_content(pdr_builder *to, const char *words,
                        const pdr_value *example, pdr_profile profile)
{
    put_object(to, PDR_LIT("content"));
    for (pdr_str word = word_take(&words); word.ptr != NULL;
         word = word_take(&words)) {
        const char *types = "application/json";
        const bool is_list = word.ptr[0] == '[';

        for (size_t i = 0; i < PDR_COUNT(forms); i++) {
            if (pdr_str_equal(word, pdr_str_c(forms[i].word)))
                types = forms[i].types;
        }
        if (pdr_str_equal(word, PDR_LIT("Problem")))
            types = "application/problem+json";
        if (pdr_str_equal(word, PDR_LIT("Answer")) &&
            profile == PDR_PROFILE_DOTNET)
            word = PDR_LIT("DotnetAnswer");
        for (pdr_str type = word_take(&types); type.ptr != NULL;
             type = word_take(&types)) {
            put_media(to, type, word, example);
            example = NULL;
        }
        if (is_list) /* an item on each line */
            put_media(to, PDR_LIT("application/x-ndjson"), PDR_LIT("lines"),
                      NULL);
    }
    pdr_builder_end(to);
}

static void put_response(pdr_builder *to, const struct pdr__route *route,
                         unsigned status, pdr_profile profile)
{
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", status);
    put_object(to, pdr_str_c(number));
    put_text(to, "description", pdr_str_c(pdr__status_name(status)));
    if (route->gives != NULL && status != 204 && status != 304)
        put_content(to, route->gives, NULL, profile);
    pdr_builder_end(to);
}

/* Every status that may come: that of the example, one beside it, errors, which
 * are told in the way of the family. */
static void put_responses(pdr_builder *to, const struct pdr__route *route,
                          pdr_profile profile)
{
    static const char *const ranges[][2] = {
        {"4XX", "What was wrong with the request"}, {"5XX", "What went wrong"}};
    /* What is refused before its route is known is a problem in any case. */
    static const char *const forms_of[] = {[PDR_FAMILY_NATIVE] = "Problem",
                                           [PDR_FAMILY_PLAIN] = "text Problem",
                                           [PDR_FAMILY_AGENTS] =
                                               "Failure text Problem"};

    put_object(to, PDR_LIT("responses"));
    put_response(to, route, route->example.status, profile);
    if (route->also != 0)
        put_response(to, route, route->also, profile);
    for (size_t i = 0; i < PDR_COUNT(ranges); i++) {
        put_object(to, pdr_str_c(ranges[i][0]));
        put_text(to, "description", pdr_str_c(ranges[i][1]));
        put_content(to, forms_of[route->family], NULL, profile);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}

/* --- requests --------------------------------------------------------------
 */

static void put_parameter(pdr_builder *to, pdr_str name, const char *where)
{
    const char *type = "string";

    for (size_t i = 0; i < PDR_COUNT(typed); i++) {
        if (pdr_str_equal(name, pdr_str_c(typed[i].name)))
            type = typed[i].type;
    }
    pdr_builder_object(to);
    put_text(to, "name", name);
    put_text(to, "in", pdr_str_c(where));
    if (pdr_str_equal(name, PDR_LIT("Idempotency-Key")))
        put_text(to, "description",
                 PDR_LIT("The same request again runs once. Where no session "
                         "is named, the key stands for one."));
    pdr_builder_name(to, PDR_LIT("required"));
    pdr_builder_bool(to, strcmp(where, "path") == 0);
    put_object(to, PDR_LIT("schema"));
    put_text(to, "type", pdr_str_c(type));
    pdr_builder_end(to);
    pdr_builder_end(to);
}

/* The variables of a path, and the names of its query and its headers. */
static void put_parameters(pdr_builder *to, const struct pdr__route *route)
{
    const char *query = route->query, *headers = route->headers;

    pdr_builder_name(to, PDR_LIT("parameters"));
    pdr_builder_array(to);
    for (const char *at = strchr(route->path, '{'); at != NULL;
         at = strchr(at + 1, '{'))
        put_parameter(to, pdr_str_n(at + 1, strcspn(at + 1, "}")), "path");
    for (pdr_str name = word_take(&query); name.ptr != NULL;
         name = word_take(&query))
        put_parameter(to, name, "query");
    for (pdr_str name = word_take(&headers); name.ptr != NULL;
         name = word_take(&headers))
        put_parameter(to, name, "header");
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

static pdr_rc put_request(pdr_builder *to, const struct pdr__route *route,
                          pdr_profile profile, pdr_err *err)
{
    const pdr_str text = pdr_str_c(route->example.body);
    pdr_value *example = NULL;
    pdr_rc rc = PDR_OK;

    if (text.ptr != NULL && strcmp(route->takes, "text") == 0)
        PDR_TRY(pdr_value_new_string(&example, text, err));
    else if (text.ptr != NULL)
        PDR_TRY(pdr_json_read(&example, text, NULL, err));
    put_object(to, PDR_LIT("requestBody"));
    pdr_builder_name(to, PDR_LIT("required"));
    pdr_builder_bool(to, true);
    put_content(to, route->takes, example, profile);
    pdr_builder_end(to);
done:
    pdr_value_free(example);
    return rc;
}

/* --- the whole -------------------------------------------------------------
 */

/* A request that can be sent as it is, but for "{agent}", and what comes. */
static void put_example(pdr_builder *to, const struct pdr__example *example)
{
    const char *hash = strstr(example->path, "{hash}");
    char path[160];

    (void)snprintf(path, sizeof(path), "%.*s%s%s",
                   hash != NULL ? (int)(hash - example->path) : 159,
                   example->path, hash != NULL ? pdr__web_hash : "",
                   hash != NULL ? hash + strlen("{hash}") : "");
    put_object(to, PDR_LIT("x-example"));
    put_text(to, "path", pdr_str_c(path));
    pdr_builder_name(to, PDR_LIT("status"));
    pdr_builder_int64(to, example->status);
    if (example->reply != NULL)
        put_text(to, "contains", pdr_str_c(example->reply));
    pdr_builder_end(to);
}

static pdr_rc put_route(pdr_builder *to, const struct pdr__route *route,
                        pdr_profile profile, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    put_object(to, pdr_str_c(verbs[route->verb]));
    put_text(to, "operationId", pdr_str_c(route->name));
    put_text(to, "summary", pdr_str_c(route->summary));
    put_security(to, route->scope);
    put_parameters(to, route);
    if (route->takes != NULL)
        PDR_TRY(put_request(to, route, profile, err));
    put_example(to, &route->example);
    put_responses(to, route, profile);
    pdr_builder_end(to);
done:
    return rc;
}

static bool has_path_of(size_t a, size_t b)
{
    return strcmp(pdr__route_at(a)->path, pdr__route_at(b)->path) == 0 &&
           pdr__route_at(a)->has_base == pdr__route_at(b)->has_base;
}

static pdr_rc put_paths(pdr_builder *to, const pdr_server *server, pdr_err *err)
{
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    put_object(to, PDR_LIT("paths"));
    for (size_t i = 0; i < pdr__route_count(); i++) {
        const struct pdr__route *route = pdr__route_at(i);
        size_t first = 0;

        while (!has_path_of(first, i))
            first++;
        if (first < i)
            continue; /* it was told there */
        pdr_buf_clear(&path);
        PDR_TRY(pdr_buf_printf(&path, err, "%.*s/%s",
                               route->has_base ? (int)server->base.len : 0,
                               server->base.ptr, route->path));
        put_object(to, pdr_buf_str(&path));
        for (size_t k = i; k < pdr__route_count(); k++) {
            if (has_path_of(i, k))
                PDR_TRY(
                    put_route(to, pdr__route_at(k), server->opts.profile, err));
        }
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
done:
    pdr_buf_dispose(&path);
    return rc;
}

static void put_components(pdr_builder *to)
{
    put_object(to, PDR_LIT("components"));
    put_object(to, PDR_LIT("schemas"));
    for (size_t i = 0; i < PDR_COUNT(shapes); i++)
        put_shape(to, &shapes[i]);
    pdr_builder_end(to);
    put_object(to, PDR_LIT("securitySchemes"));
    put_object(to, PDR_LIT("key"));
    put_text(to, "type", PDR_LIT("http"));
    put_text(to, "scheme", PDR_LIT("bearer"));
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_end(to);
}

pdr_rc pdr__handle_openapi(struct pdr__exchange *x, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    put_text(to, "openapi", PDR_LIT("3.1.0"));
    put_object(to, PDR_LIT("info"));
    put_text(to, "title", PDR_LIT("perdure"));
    put_text(to, "version", pdr_str_c(pdr_version()));
    pdr_builder_end(to);
    PDR_TRY(put_paths(to, x->server, err));
    put_components(to);
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(&value, to, err));
    PDR_TRY(pdr_json_write(&x->reply.body, value, NULL, err));
    pdr__reply_begin(x, 200, PDR_TYPE_JSON);
done:
    pdr_value_free(value);
    pdr_builder_free(to);
    return rc;
}
