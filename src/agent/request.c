/*
 * request.c - what a durable agent is asked to do, in the words of either
 * language, and as it waits in a store.
 *
 * WHY  .NET sends messages, Python one text and a role; what is called
 *      "enableToolCalls" there is "enable_tool_calls" here, and upstream
 *      neither understands the other. Here both become the same request at the
 *      edge, and nobody behind it knows where one came from.
 *
 *      .NET    {"messages":[…],"responseFormat":{"$type":"json",…},…}
 *      Python  {"message":"…","role":"user","request_response_format":"json",…}
 *      stored  as .NET, but messages in the state shape, and marked with
 *              "perdure":{"shape":"state"}
 *
 * RULES
 *   - Each member is taken in camelCase and in snake_case, in any case of its
 *     letters, since .NET reads it so; the last one counts.
 *   - null is as good as absent, except for booleans: .NET refuses such a null,
 *     and Python takes it for false.
 *   - "messages" wins over "message". An empty "message" is no message.
 *   - Contents that nobody knows are kept; they cannot fail a request.
 *
 * NOT HERE  Whether the schema is one (output.c), whether there are such tools.
 */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>

/* Levels of a part of an entry at most, so that the entry fits into a state
 * document. */
#define PART_LEVELS (PDR_DEFAULT_DEPTH - PDR_LEVELS_ABOVE_ENTRY - 1u)

#define PATH_BYTES 96 /* of a name of the table and two indexes */

/* Every member: both spellings, and its JSON kind; PDR_NULL: any. */
enum member {
    MESSAGES,
    MESSAGE,
    ROLE,
    CREATED_AT,
    CORRELATION_ID,
    ORCHESTRATION_ID,
    FORMAT,
    TRANSPORT,
    TOOL_CALLS,
    TOOL_NAMES,
    OPTIONS,
    SKIP_EMPTY,
    WAIT, /* read by whoever took the request */
    MARK,
    MEMBER_COUNT
};

static const struct {
    const char *camel, *snake;
    pdr_kind kind;
} members[MEMBER_COUNT] = {
    [MESSAGES] = {"messages", "messages", PDR_ARRAY},
    [MESSAGE] = {"message", "message", PDR_STRING},
    [ROLE] = {"role", "role", PDR_STRING},
    [CREATED_AT] = {"createdAt", "created_at", PDR_NULL},
    [CORRELATION_ID] = {"correlationId", "correlation_id", PDR_STRING},
    [ORCHESTRATION_ID] = {"orchestrationId", "orchestration_id", PDR_STRING},
    [FORMAT] = {"responseFormat", "response_format", PDR_NULL},
    [TRANSPORT] = {"requestResponseFormat", "request_response_format",
                   PDR_STRING},
    [TOOL_CALLS] = {"enableToolCalls", "enable_tool_calls", PDR_BOOL},
    [TOOL_NAMES] = {"enableToolNames", "enable_tool_names", PDR_ARRAY},
    [OPTIONS] = {"options", "options", PDR_OBJECT},
    [SKIP_EMPTY] = {"skipEmpty", "skip_empty", PDR_BOOL},
    [WAIT] = {"waitForResponse", "wait_for_response", PDR_NULL},
    [MARK] = {"perdure", "perdure", PDR_OBJECT},
};

/* A member that was given. */
struct given {
    const char *name;       /* static; as the input spells it, but for case */
    const pdr_value *value; /* borrowed; NULL: absent, or null */
};

/* --- reading: the whole ----------------------------------------------------
 */

/* Refuse the part at this path, which is in printf's form; NULL: the whole. */
static PDR_PRINTF(4, 5) pdr_rc refuse(pdr_err *err, const char *wanted,
                                      const char *found, const char *path, ...)
{
    char at[PATH_BYTES] = "";
    va_list args;
    pdr_rc rc = PDR_OK;

    va_start(args, path);
    if (path != NULL)
        (void)vsnprintf(at, sizeof(at), path, args);
    va_end(args);
    rc = PDR_FAIL(err, INVALID_REQUEST, "%s%sexpected %s, found %s", at,
                  at[0] != '\0' ? ": " : "", wanted, found);
    pdr__err_path(err, pdr_str_c(at));
    return rc;
}

/* Text that is not JSON: say so, and keep where. */
static pdr_rc not_json(pdr_rc rc, pdr_err *err)
{
    if (rc != PDR_EINVALID)
        return rc;
    if (err != NULL)
        err->reason = pdr__reason_slug(PDR_R_INVALID_REQUEST);
    return pdr__wrap(err, rc, "%s", "the request is not JSON");
}

/* The object that the input is, or that a string in it is. */
static pdr_rc read_root(pdr_value **out, pdr_str input, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *wrapper = NULL;
    pdr_str inner = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(not_json(pdr_json_read(out, input, NULL, err), err));
    if (pdr_value_kind(*out) == PDR_STRING) {
        wrapper = *out;
        *out = NULL;
        PDR_TRY(not_json(pdr_value_text(&inner, wrapper, &scratch, err), err));
        PDR_TRY(not_json(pdr_json_read(out, inner, NULL, err), err));
    }
    if (pdr_value_kind(*out) != PDR_OBJECT)
        PDR_TRY(refuse(err, "an object, the request", pdr__kind_phrase(*out),
                       NULL));
done:
    pdr_value_free(wrapper);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Find all members, and see that each has its kind. */
static pdr_rc read_members(struct given given[MEMBER_COUNT], size_t *unknown,
                           const pdr_value *root, pdr_err *err)
{
    static const char *const wanted[] = {[PDR_BOOL] = "true or false",
                                         [PDR_STRING] = "a string",
                                         [PDR_ARRAY] = "an array",
                                         [PDR_OBJECT] = "an object"};
    pdr_iter it;

    pdr_iter_init(&it, root);
    while (pdr_iter_next(&it)) {
        const char *name = NULL;
        size_t i = 0;

        for (; i < MEMBER_COUNT && name == NULL; i++) {
            if (pdr__is_folded(it.name, pdr_str_c(members[i].camel)))
                name = members[i].camel;
            else if (pdr__is_folded(it.name, pdr_str_c(members[i].snake)))
                name = members[i].snake;
        }
        if (name == NULL)
            ++*unknown;
        else
            given[i - 1] = (struct given){name, it.value};
    }
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (members[i].kind != PDR_BOOL && pdr__is_nothing(given[i].value))
            given[i].value = NULL;
        if (given[i].value != NULL && members[i].kind != PDR_NULL &&
            pdr_value_kind(given[i].value) != members[i].kind)
            return refuse(err, wanted[members[i].kind],
                          pdr__kind_phrase(given[i].value), "/%s",
                          given[i].name);
    }
    return PDR_OK;
}

/* --- reading: parts --------------------------------------------------------
 */

static bool read_flag(const struct given *given, bool absent)
{
    bool truth = absent;

    if (given->value != NULL &&
        pdr_value_bool(&truth, given->value, NULL) != PDR_OK)
        truth = absent; /* not reached: its kind was looked at */
    return truth;
}

/* An id that a store takes; in arena. */
static pdr_rc read_id(pdr_str *out, struct pdr__arena *memory,
                      const struct given *given, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    const char *fault = NULL;
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (given->value == NULL)
        return PDR_OK;
    PDR_TRY(pdr__value_name_bytes(&text, given->value, &scratch, err));
    if (text.len == 0 || text.len > PDR_MAX_ID_BYTES)
        fault = text.len == 0 ? "an empty one" : "a longer one";
    else if (pdr_value_has_lone_surrogate(given->value))
        fault = "half a surrogate pair in it";
    else if (memchr(text.ptr, '\0', text.len) != NULL)
        fault = "U+0000 in it";
    if (fault != NULL)
        PDR_TRY(refuse(err, "a string of 1 to 1024 bytes", fault, "/%s",
                       given->name));
    PDR_TRY(pdr__arena_strndup(&copy, memory, text, err));
    *out = pdr_str_n(copy, text.len);
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc read_tool_names(struct pdr__request *out,
                              const struct given *given, pdr_err *err)
{
    pdr_iter it;

    pdr_iter_init(&it, given->value);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_STRING)
            return refuse(err, "a string, the name of a tool",
                          pdr__kind_phrase(it.value), "/%s/%zu", given->name,
                          it.index);
    }
    if (pdr_value_count(given->value) > 0)
        out->tool_names = pdr_value_ref(given->value);
    return PDR_OK;
}

/* "json" or "text", a string. */
static pdr_rc read_format_name(struct pdr__request *out,
                               const struct given *given, pdr_err *err)
{
    bool is_json = pdr__is_folded(given->value, PDR_LIT("json"));

    if (!is_json && !pdr__is_folded(given->value, PDR_LIT("text")))
        return refuse(err, "\"json\" or \"text\"", "another text", "/%s",
                      given->name);
    out->is_json = out->is_json || is_json;
    return PDR_OK;
}

/* A name, the form of .NET with "$type", or a JSON Schema itself. Python sends
 * the name of a class, which only a Python program can look up: what remains of
 * it is that the answer has to be JSON. */
static pdr_rc read_format(struct pdr__request *out, const struct given *given,
                          pdr_err *err)
{
    const pdr_value *schema = given->value, *type = NULL;

    if (given->value == NULL)
        return PDR_OK;
    if (pdr_value_kind(given->value) == PDR_STRING)
        return read_format_name(out, given, err);
    if (pdr_value_kind(given->value) != PDR_OBJECT)
        return refuse(err, "a response format", pdr__kind_phrase(given->value),
                      "/%s", given->name);
    type = pdr_value_get_c(given->value, "$type");
    if (pdr_value_text_is(type, PDR_LIT("text")))
        return PDR_OK;
    if (type != NULL && !pdr_value_text_is(type, PDR_LIT("json")))
        return refuse(err, "\"json\" or \"text\"", "another value", "/%s/$type",
                      given->name);
    if (type != NULL)
        schema = pdr__find_member(given->value, "schema", PDR_SHAPE_DOTNET);
    else if (pdr_value_get_c(schema, "__response_schema_type__") != NULL)
        schema = NULL;
    out->is_json = true;
    if (pdr__is_nothing(schema))
        return PDR_OK;
    if (pdr_value_kind(schema) != PDR_OBJECT)
        return refuse(err, "a JSON Schema, an object", pdr__kind_phrase(schema),
                      "/%s/schema", given->name);
    out->schema = pdr_value_ref(schema);
    return PDR_OK;
}

/* --- reading: messages -----------------------------------------------------
 */

/* Who spelled this message? */
static pdr_shape shape_of(const pdr_value *message)
{
    pdr_iter it;

    if (pdr_value_text_is(pdr_value_get_c(message, "type"), PDR_LIT("message")))
        return PDR_SHAPE_PYTHON;
    pdr_iter_init(&it, pdr__find_member_of(message, "contents",
                                           PDR_SHAPE_DOTNET, PDR_ARRAY));
    while (pdr_iter_next(&it)) {
        if (pdr_value_get_c(it.value, "$type") != NULL)
            return PDR_SHAPE_DOTNET;
        if (pdr__member(it.value, "type", PDR_STRING) != NULL)
            return PDR_SHAPE_PYTHON;
    }
    return PDR_SHAPE_DOTNET;
}

/* A role as it is kept: trimmed, in lower case; "user" where there is none. */
static pdr_rc set_role(pdr_value **message, pdr_shape shape, pdr_err *err)
{
    static const char spaces[] = " \t\n\v\f\r";
    const pdr_value *said = pdr_message_role(*message, shape);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf role = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (said != NULL)
        PDR_TRY(pdr__value_sound_text(&text, said, &scratch, err));
    while (text.len > 0 && memchr(spaces, text.ptr[0], sizeof(spaces) - 1))
        text = pdr_str_n(text.ptr + 1, text.len - 1);
    while (text.len > 0 &&
           memchr(spaces, text.ptr[text.len - 1], sizeof(spaces) - 1))
        text.len--;
    PDR_TRY(pdr_buf_append(&role, text.len > 0 ? text : PDR_LIT("user"), err));
    for (size_t i = 0; i < role.len; i++)
        role.ptr[i] = pdr__ascii_lower(role.ptr[i]);
    if (!pdr_value_text_is(said, pdr_buf_str(&role))) {
        PDR_TRY(pdr_value_new_string(&made, pdr_buf_str(&role), err));
        PDR_TRY(pdr_value_set(message, PDR_LIT("role"), made, err));
    }
done:
    pdr_value_free(made);
    pdr_buf_dispose(&role);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* See that message `i` of a list is one, and give it what it lacks. */
static pdr_rc complete_message(pdr_value **message, pdr_shape shape,
                               const char *list, size_t i, pdr_err *err)
{
    const pdr_value *role = NULL, *contents = NULL;
    pdr_value *none = pdr_value_new_array();
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(*message) != PDR_OBJECT)
        PDR_TRY(refuse(err, "an object, the message",
                       pdr__kind_phrase(*message), "/%s/%zu", list, i));
    role = pdr__find_member(*message, "role", shape);
    if (!pdr__is_nothing(role) && pdr_message_role(*message, shape) == NULL)
        PDR_TRY(refuse(err, "a string", pdr__kind_phrase(role), "/%s/%zu/role",
                       list, i));
    contents = pdr__find_member(*message, "contents", shape);
    if (!pdr__is_nothing(contents) && pdr_value_kind(contents) != PDR_ARRAY)
        PDR_TRY(refuse(err, "an array", pdr__kind_phrase(contents),
                       "/%s/%zu/contents", list, i));
    pdr_iter_init(&it, contents);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_OBJECT)
            PDR_TRY(refuse(err, "an object, the content",
                           pdr__kind_phrase(it.value), "/%s/%zu/contents/%zu",
                           list, i, it.index));
    }
    if (pdr__is_nothing(contents))
        PDR_TRY(pdr_value_set(message, PDR_LIT("contents"), none, err));
    PDR_TRY(set_role(message, shape, err));
done:
    pdr_value_free(none);
    return rc;
}

/* Take message `i` of a list, in the state shape. It is completed first, so
 * that the conversion need not note what there was, and once more after it,
 * since a note that somebody forged can bring anything. */
static pdr_rc take_message(struct pdr__request *out, const pdr_value *message,
                           pdr_shape shape, const char *list, size_t i,
                           pdr_err *err)
{
    pdr_value *whole = pdr_value_ref(message), *made = NULL;
    pdr_datetime at;
    pdr_rc rc = PDR_OK;

    PDR_TRY(complete_message(&whole, shape, list, i, err));
    PDR_TRY(pdr_message_convert(&made, whole, shape, PDR_SHAPE_STATE, err));
    PDR_TRY(complete_message(&made, PDR_SHAPE_STATE, list, i, err));
    if (pdr_message_created_at(&at, made, PDR_SHAPE_STATE) &&
        (out->created_at == 0 || at.ticks < out->created_at))
        out->created_at = at.ticks;
    PDR_TRY(pdr_value_append(&out->messages, made, err));
done:
    pdr_value_free(made);
    pdr_value_free(whole);
    return rc;
}

/* The one text of a Python request, with half surrogate pairs if it has some.
 * The time of the request is kept once, beside it. */
static pdr_rc make_message(struct pdr__request *out, const struct given *given,
                           pdr_err *err)
{
    pdr_value *message = NULL;
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("contents"));
    pdr_builder_array(to);
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("$type"));
    pdr_builder_string(to, PDR_LIT("text"));
    pdr_builder_name(to, PDR_LIT("text"));
    pdr_builder_value(to, given[MESSAGE].value);
    pdr_builder_end(to);
    pdr_builder_end(to);
    if (given[ROLE].value != NULL) {
        pdr_builder_name(to, PDR_LIT("role"));
        pdr_builder_value(to, given[ROLE].value);
    }
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(&message, to, err));
    PDR_TRY(take_message(out, message, PDR_SHAPE_STATE, "message", 0, err));
done:
    pdr_value_free(message);
    pdr_builder_free(to);
    return rc;
}

static pdr_rc read_messages(struct pdr__request *out, const struct given *given,
                            pdr_err *err)
{
    const struct given *list = &given[MESSAGES], *text = &given[MESSAGE];
    const pdr_value *mark = given[MARK].value;
    pdr_datetime at;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (list->value == NULL && text->value == NULL)
        return refuse(err, "\"messages\" or \"message\"", "neither", NULL);
    /* Another mark is that of a later version. */
    if (mark != NULL &&
        !pdr_value_text_is(pdr_value_get_c(mark, "shape"), PDR_LIT("state")))
        return refuse(err, "{\"shape\":\"state\"}", "another mark", "/%s",
                      given[MARK].name);
    out->messages = pdr_value_new_array();
    pdr_iter_init(&it, list->value);
    while (pdr_iter_next(&it))
        PDR_TRY(take_message(
            out, it.value, mark != NULL ? PDR_SHAPE_STATE : shape_of(it.value),
            list->name, it.index, err));
    if (list->value == NULL && !pdr_value_text_is(text->value, PDR_LIT("")))
        PDR_TRY(make_message(out, given, err));
    if (mark != NULL)
        out->created_at = 0; /* the stored form says it itself */
    if (out->created_at == 0 &&
        pdr__read_datetime(&at, given[CREATED_AT].value))
        out->created_at = at.ticks;
done:
    return rc;
}

pdr_rc pdr__request_read(struct pdr__request *out, pdr_str input, pdr_err *err)
{
    struct given given[MEMBER_COUNT] = {{NULL, NULL}};
    pdr_value *root = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    *out = (struct pdr__request){.memory = PDR_ARENA_INIT(SIZE_MAX)};
    PDR_TRY(read_root(&root, input, err));
    PDR_TRY(read_members(given, &out->unknown, root, err));
    PDR_TRY(read_id(&out->correlation_id, &out->memory, &given[CORRELATION_ID],
                    err));
    PDR_TRY(read_id(&out->orchestration_id, &out->memory,
                    &given[ORCHESTRATION_ID], err));
    out->no_tools = !read_flag(&given[TOOL_CALLS], true);
    PDR_TRY(read_tool_names(out, &given[TOOL_NAMES], err));
    out->skip_empty = read_flag(&given[SKIP_EMPTY], false);
    PDR_TRY(read_format(out, &given[FORMAT], err));
    if (given[TRANSPORT].value != NULL)
        PDR_TRY(read_format_name(out, &given[TRANSPORT], err));
    if (pdr_value_count(given[OPTIONS].value) > 0)
        out->options = pdr_value_ref(given[OPTIONS].value);
    PDR_TRY(read_messages(out, given, err));

    const struct given parts[] = {{given[MESSAGES].name, out->messages},
                                  {given[FORMAT].name, out->schema},
                                  {given[OPTIONS].name, out->options}};
    for (size_t i = 0; i < PDR_COUNT(parts); i++) {
        if (parts[i].value == NULL ||
            pdr__levels(parts[i].value) <= PART_LEVELS)
            continue;
        PDR_TRY(PDR_FAIL(err, TOO_DEEP,
                         "'%s' of a request may have %u levels, so that its "
                         "document has no more than %d",
                         parts[i].name, PART_LEVELS, PDR_DEFAULT_DEPTH));
    }
done:
    if (rc != PDR_OK)
        pdr__request_dispose(out);
    pdr_value_free(root);
    return rc;
}

void pdr__request_dispose(struct pdr__request *request)
{
    pdr_value_free(request->messages);
    pdr_value_free(request->schema);
    pdr_value_free(request->tool_names);
    pdr_value_free(request->options);
    pdr__arena_dispose(&request->memory);
    *request = (struct pdr__request){.memory = PDR_ARENA_INIT(SIZE_MAX)};
}

/* --- writing ---------------------------------------------------------------
 */

static void put_name(pdr_builder *to, enum member member)
{
    pdr_builder_name(to, pdr_str_c(members[member].camel));
}

static void put_text(pdr_builder *to, enum member member, pdr_str text)
{
    if (text.len == 0)
        return;
    put_name(to, member);
    pdr_builder_string(to, text);
}

static void put_value(pdr_builder *to, enum member member,
                      const pdr_value *value)
{
    if (value == NULL)
        return;
    put_name(to, member);
    pdr_builder_value(to, value);
}

pdr_rc pdr__request_write(pdr_buf *out, const struct pdr__request *request,
                          pdr_err *err)
{
    pdr_datetime at = pdr_datetime_utc(request->created_at);
    pdr_buf date = PDR_BUF_INIT(64);
    pdr_builder *to = NULL;
    pdr_value *root = NULL;
    pdr_rc rc = PDR_OK;

    if (request->created_at != 0) /* in the form that has all digits */
        PDR_TRY(pdr_datetime_write(&date, &at, PDR_DATETIME_DOTNET_UTC, err));
    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    put_name(to, MARK);
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("shape"));
    pdr_builder_string(to, PDR_LIT("state"));
    pdr_builder_end(to);
    put_text(to, CORRELATION_ID, request->correlation_id);
    put_text(to, ORCHESTRATION_ID, request->orchestration_id);
    put_text(to, CREATED_AT, pdr_buf_str(&date));
    put_value(to, MESSAGES, request->messages);
    if (request->schema != NULL) {
        put_name(to, FORMAT);
        pdr_builder_object(to);
        pdr_builder_name(to, PDR_LIT("$type"));
        pdr_builder_string(to, PDR_LIT("json"));
        pdr_builder_name(to, PDR_LIT("schema"));
        pdr_builder_value(to, request->schema);
        pdr_builder_end(to);
    } else if (request->is_json) {
        put_text(to, FORMAT, PDR_LIT("json"));
    }
    if (request->no_tools) {
        put_name(to, TOOL_CALLS);
        pdr_builder_bool(to, false);
    }
    put_value(to, TOOL_NAMES, request->tool_names);
    put_value(to, OPTIONS, request->options);
    if (request->skip_empty) {
        put_name(to, SKIP_EMPTY);
        pdr_builder_bool(to, true);
    }
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(&root, to, err));
    PDR_TRY(pdr_json_write(out, root, NULL, err));
done:
    pdr_value_free(root);
    pdr_builder_free(to);
    pdr_buf_dispose(&date);
    return rc;
}

/* --- fingerprints ----------------------------------------------------------
 * Each part goes into the digest with a tag, and texts with their length, so
 * that no two requests give the same bytes. Members are sorted by name; of
 * several with one name the last counts, as everywhere.
 */

struct print {
    struct pdr__sha256 digest;
    struct pdr__arena memory; /* of names and lists of members */
    pdr_buf scratch;
    pdr_err *err;
    pdr_rc rc; /* the first failure: nothing is printed after it */
};

struct named {
    pdr_str name;           /* borrowed from the value, or in arena */
    const pdr_value *value; /* borrowed */
    size_t index;           /* among the members */
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = len > 0 ? memcmp(a->name.ptr, b->name.ptr, len) : 0;

    if (order == 0)
        order = (a->name.len > b->name.len) - (a->name.len < b->name.len);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static void print_text(struct print *p, char tag, pdr_str text)
{
    char head[9] = {tag};

    for (size_t i = 0; i < 8; i++)
        head[i + 1] = (char)((uint64_t)text.len >> (8 * i) & 0xFFu);
    if (p->rc == PDR_OK)
        p->rc = pdr__sha256_update(&p->digest, pdr_str_n(head, 9), p->err);
    if (p->rc == PDR_OK && text.len > 0)
        p->rc = pdr__sha256_update(&p->digest, text, p->err);
}

static void print_tag(struct print *p, char tag)
{
    print_text(p, tag, pdr_str_n(NULL, 0));
}

/* The members of an object but for `except`, sorted; in arena. */
static size_t sort_members(struct named **out, struct print *p,
                           const pdr_value *object, const char *except)
{
    size_t count = 0;
    struct named *list = NULL;
    void *room = NULL;
    char *copy = NULL;
    pdr_iter it;

    p->rc = pdr__arena_alloc(&room, &p->memory,
                             pdr_value_count(object) * sizeof(*list), p->err);
    list = room;
    pdr_iter_init(&it, object);
    while (p->rc == PDR_OK && pdr_iter_next(&it)) {
        struct named *one = &list[count];

        if (except != NULL && pdr_value_text_is(it.name, pdr_str_c(except)))
            continue;
        *one = (struct named){{NULL, 0}, it.value, it.index};
        p->rc = pdr__value_name_bytes(&one->name, it.name, &p->scratch, p->err);
        if (p->rc == PDR_OK && one->name.ptr == p->scratch.ptr) {
            p->rc = pdr__arena_strndup(&copy, &p->memory, one->name, p->err);
            one->name.ptr = copy;
        }
        count++;
    }
    if (p->rc != PDR_OK)
        return 0;
    if (count > 1)
        qsort(list, count, sizeof(*list), compare_named);
    *out = list;
    return count;
}

static void print_value(struct print *p, const pdr_value *value,
                        const char *except)
{
    struct named *list = NULL;
    pdr_str text = {NULL, 0};
    size_t count = 0;
    pdr_iter it;

    if (p->rc != PDR_OK)
        return;
    if (value == NULL) {
        print_tag(p, '-');
    } else if (pdr_value_kind(value) == PDR_OBJECT) {
        count = sort_members(&list, p, value, except);
        print_tag(p, '{');
        for (size_t i = 0; i < count; i++) {
            if (i + 1 < count && pdr_str_equal(list[i].name, list[i + 1].name))
                continue;
            print_text(p, ':', list[i].name);
            print_value(p, list[i].value, NULL);
        }
        print_tag(p, '}');
    } else if (pdr_value_kind(value) == PDR_ARRAY) {
        print_tag(p, '[');
        pdr_iter_init(&it, value);
        while (pdr_iter_next(&it))
            print_value(p, it.value, except);
        print_tag(p, ']');
    } else if (pdr_value_kind(value) == PDR_STRING) {
        p->rc = pdr__value_name_bytes(&text, value, &p->scratch, p->err);
        print_text(p, '"', text);
    } else {
        (void)pdr_value_raw(&text, value); /* a scalar has its text */
        print_text(p, '=', text);
    }
}

pdr_rc pdr__request_fingerprint(uint8_t out[PDR_REQUEST_FINGERPRINT],
                                const struct pdr__request *request,
                                pdr_err *err)
{
    struct print p = {PDR_SHA256_INIT, PDR_ARENA_INIT(SIZE_MAX),
                      PDR_BUF_INIT(PDR_MAX_TEXT_BYTES), err, PDR_OK};
    pdr_iter it;

    p.rc = pdr__sha256_init(&p.digest, err);
    pdr_iter_init(&it, request->messages);
    while (pdr_iter_next(&it)) {
        print_value(&p, pdr_message_role(it.value, PDR_SHAPE_STATE), NULL);
        /* What conversion notes stands in the additional properties. */
        print_value(&p, pdr_message_contents(it.value, PDR_SHAPE_STATE),
                    "additionalProperties");
    }
    print_tag(&p, request->is_json ? 'j' : 't');
    print_value(&p, request->schema, NULL);
    print_tag(&p, request->no_tools ? 'n' : 'y');
    print_value(&p, request->tool_names, NULL);
    if (p.rc == PDR_OK)
        p.rc = pdr__sha256_final(out, &p.digest, err);
    pdr__sha256_dispose(&p.digest);
    pdr__arena_dispose(&p.memory);
    pdr_buf_dispose(&p.scratch);
    return p.rc;
}
