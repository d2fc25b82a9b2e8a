/*
 * content_table.c - the rows of content_table.h.
 *
 * Facts about .NET are those of Microsoft.Extensions.AI 10.7, about Python
 * those of agent-framework-core 1.23, about Semantic Kernel those of its .NET
 * line 1.80. The names in the state column beyond those of state documents
 * (place 9) are extra members of ours, with the .NET names. Data and uri have
 * names of Semantic Kernel though it has no such kinds: they are those of its
 * image, audio and binary contents.
 */
#include "content_table.h"

/* clang-format off */
#define NONE {NULL, NULL, NULL, NULL}
#define SAME(state_and_dotnet, python) \
    {state_and_dotnet, state_and_dotnet, python, NULL}
#define ALL(state_and_dotnet, python, sk) \
    {state_and_dotnet, state_and_dotnet, python, sk}
#define SK(name) {NULL, NULL, NULL, name}
#define EVERYWHERE(text) {text, text, text, text}
/* Python takes a content without it. */
#define NEEDED {MADE_NEVER, MADE_NEVER, NULL, MADE_NEVER}
#define EMPTY "\"\""
#define OCTETS "\"application/octet-stream\""
#define SEARCH "\"web_search\""
#define CALL_ID \
    {PDR_FIELD_CALL_ID, WAY_PLAIN, JSON_TEXT, 2, SAME("callId", "call_id"), \
     {EMPTY, EMPTY, NULL}}
#define REQUEST_ID \
    {PDR_FIELD_REQUEST_ID, WAY_PLAIN, JSON_TEXT, 9, {NULL, "requestId", "id"}, \
     {NULL, EMPTY, NULL}}
#define OLD_REQUEST_ID \
    {PDR_FIELD_REQUEST_ID, WAY_PLAIN, JSON_TEXT, 9, {NULL, "id", "id"}, NONE}
#define APPROVED \
    {PDR_FIELD_APPROVED, WAY_PLAIN, JSON_BOOL, 9, \
     {NULL, "approved", "approved"}, {NULL, "false", "false"}}
#define REASON \
    {PDR_FIELD_REASON, WAY_PLAIN, JSON_TEXT, 9, {NULL, "reason", NULL}, NONE}
#define TOOL_CALL(dotnet) \
    {PDR_FIELD_TOOL_CALL, WAY_CONTENT, JSON_MAP, 9, \
     {NULL, dotnet, "function_call"}, {NULL, MADE_NEVER, NULL}}
/* Python says of what waits for a person that it does. */
#define WAITS \
    {0, WAY_PLAIN, JSON_BOOL, 9, {NULL, NULL, "user_input_request"}, \
     {NULL, NULL, "true"}}
#define OUTPUTS(dotnet, python) \
    {PDR_FIELD_OUTPUTS, WAY_CONTENTS, JSON_LIST, 9, {NULL, dotnet, python}, \
     NONE}
#define INPUTS \
    {PDR_FIELD_INPUTS, WAY_CONTENTS, JSON_LIST, 9, {NULL, "inputs", "inputs"}, \
     NONE}
#define SEARCH_TOOL \
    {0, WAY_PLAIN, JSON_TEXT, 9, {NULL, NULL, "tool_name"}, \
     {NULL, NULL, SEARCH}}

static const struct content_member text_rows[] = {
    {PDR_FIELD_TEXT, WAY_PLAIN, JSON_TEXT, 1, ALL("text", "text", "Text"),
     EVERYWHERE(EMPTY)},
};
static const struct content_member reasoning_rows[] = {
    {PDR_FIELD_TEXT, WAY_PLAIN, JSON_TEXT, 1, ALL("text", "text", "Text"),
     {NULL, EMPTY, NULL, EMPTY}},
    {PDR_FIELD_PROTECTED, WAY_PLAIN, JSON_TEXT, 9,
     SAME("protectedData", "protected_data"), NONE},
};
static const struct content_member data_rows[] = {
    {PDR_FIELD_URI, WAY_DATA, JSON_TEXT, 1, ALL("uri", "uri", "Data"),
     NEEDED},
    {PDR_FIELD_MEDIA_TYPE, WAY_MEDIA, JSON_TEXT, 2,
     {"mediaType", NULL, "media_type", "MimeType"}, NONE},
    {PDR_FIELD_NAME, WAY_PLAIN, JSON_TEXT, 9, SAME("name", "name"), NONE},
};
static const struct content_member uri_rows[] = {
    {PDR_FIELD_URI, WAY_PLAIN, JSON_TEXT, 1, ALL("uri", "uri", "Uri"),
     NEEDED},
    {PDR_FIELD_MEDIA_TYPE, WAY_PLAIN, JSON_TEXT, 2,
     ALL("mediaType", "media_type", "MimeType"), {OCTETS, OCTETS, NULL}},
};
static const struct content_member error_rows[] = {
    {PDR_FIELD_MESSAGE, WAY_PLAIN, JSON_TEXT, 1, SAME("message", "message"),
     {NULL, EMPTY, NULL}},
    {PDR_FIELD_ERROR_CODE, WAY_PLAIN, JSON_TEXT, 2,
     SAME("errorCode", "error_code"), NONE},
    {PDR_FIELD_DETAILS, WAY_DETAILS, JSON_ANY, 3,
     SAME("details", "error_details"), NONE},
};
static const struct content_member call_rows[] = {
    {PDR_FIELD_NAME, WAY_NAME, JSON_TEXT, 3,
     ALL("name", "name", "FunctionName"), {EMPTY, EMPTY, NULL, EMPTY}},
    {PDR_FIELD_PLUGIN, WAY_PLAIN, JSON_TEXT, 9, SK("PluginName"), NONE},
    {PDR_FIELD_ARGUMENTS, WAY_ARGUMENTS, JSON_MAP, 1,
     ALL("arguments", "arguments", "Arguments"), {"{}", NULL, NULL}},
    {0, WAY_SILENT, JSON_BOOL, 9,
     SAME("informationalOnly", "informational_only"), {NULL, "false", NULL}},
    {0, WAY_PLAIN, JSON_BOOL, 9, {NULL, NULL, "hosted"}, {NULL, NULL, "false"}},
    {PDR_FIELD_CALL_ID, WAY_PLAIN, JSON_TEXT, 2, ALL("callId", "call_id", "Id"),
     {EMPTY, EMPTY, NULL}},
};
static const struct content_member result_rows[] = {
    {PDR_FIELD_RESULT, WAY_RESULT, JSON_ANY, 3,
     ALL("result", "result", "Result"), NONE},
    {PDR_FIELD_NAME, WAY_PLAIN, JSON_TEXT, 9, SK("FunctionName"), NONE},
    {PDR_FIELD_PLUGIN, WAY_PLAIN, JSON_TEXT, 9, SK("PluginName"), NONE},
    {PDR_FIELD_CALL_ID, WAY_PLAIN, JSON_TEXT, 2,
     ALL("callId", "call_id", "CallId"), {EMPTY, EMPTY, NULL}},
};
static const struct content_member file_rows[] = {
    {PDR_FIELD_FILE_ID, WAY_PLAIN, JSON_TEXT, 1,
     ALL("fileId", "file_id", "FileId"), NEEDED},
    {PDR_FIELD_MEDIA_TYPE, WAY_PLAIN, JSON_TEXT, 9,
     ALL("mediaType", "media_type", "MimeType"), NONE},
    {PDR_FIELD_NAME, WAY_PLAIN, JSON_TEXT, 9, SAME("name", "name"), NONE},
    {0, WAY_PLAIN, JSON_NUMBER, 9, SAME("sizeInBytes", NULL), NONE},
    {0, WAY_PLAIN, JSON_TEXT, 9, SAME("createdAt", NULL), NONE},
    {0, WAY_PLAIN, JSON_TEXT, 9, SAME("purpose", NULL), NONE},
    {0, WAY_PLAIN, JSON_TEXT, 9, SAME("scope", NULL), NONE},
};
static const struct content_member vector_store_rows[] = {
    {PDR_FIELD_VECTOR_STORE_ID, WAY_PLAIN, JSON_TEXT, 1,
     SAME("vectorStoreId", "vector_store_id"), NEEDED},
};
static const struct content_member usage_rows[] = {
    {PDR_FIELD_USAGE, WAY_USAGE, JSON_MAP, 1,
     {"usage", "details", "usage_details"}, NEEDED},
};
static const struct content_member unknown_rows[] = {
    {PDR_FIELD_CONTENT, WAY_PLAIN, JSON_ANY, 1, {"content", NULL, NULL},
     NEEDED},
};
static const struct content_member approval_request_rows[] = {
    TOOL_CALL("toolCall"),
    {0, WAY_PLAIN, JSON_BOOL, 9, {NULL, "requiresConfirmation", NULL}, NONE},
    WAITS,
    REQUEST_ID,
};
static const struct content_member approval_response_rows[] = {
    APPROVED,
    TOOL_CALL("toolCall"),
    REASON,
    REQUEST_ID,
};
static const struct content_member mcp_call_rows[] = {
    {PDR_FIELD_NAME, WAY_PLAIN, JSON_TEXT, 9, {NULL, "name", "tool_name"},
     {NULL, EMPTY, NULL}},
    {PDR_FIELD_SERVER_NAME, WAY_PLAIN, JSON_TEXT, 9,
     {NULL, "serverName", "server_name"}, NONE},
    {PDR_FIELD_ARGUMENTS, WAY_ARGUMENTS, JSON_MAP, 9,
     {NULL, "arguments", "arguments"}, NONE},
    CALL_ID,
};
static const struct content_member mcp_result_rows[] = {
    OUTPUTS("outputs", "output"),
    CALL_ID,
};
static const struct content_member code_call_rows[] = {
    INPUTS,
    CALL_ID,
};
static const struct content_member code_result_rows[] = {
    OUTPUTS("outputs", "outputs"),
    CALL_ID,
};
static const struct content_member image_call_rows[] = {
    {PDR_FIELD_CALL_ID, WAY_PLAIN, JSON_TEXT, 9, {NULL, "callId", "image_id"},
     {NULL, EMPTY, NULL}},
};
static const struct content_member image_result_rows[] = {
    OUTPUTS("outputs", "outputs"),
    {PDR_FIELD_CALL_ID, WAY_PLAIN, JSON_TEXT, 9, {NULL, "callId", "image_id"},
     {NULL, EMPTY, NULL}},
};
static const struct content_member search_call_rows[] = {
    {PDR_FIELD_QUERIES, WAY_PLAIN, JSON_LIST, 9, {NULL, "queries", NULL}, NONE},
    {PDR_FIELD_ARGUMENTS, WAY_ARGUMENTS, JSON_MAP, 9, {NULL, NULL, "arguments"},
     NONE},
    SEARCH_TOOL,
    CALL_ID,
};
static const struct content_member search_result_rows[] = {
    OUTPUTS("outputs", "items"),
    {PDR_FIELD_RESULT, WAY_PLAIN, JSON_ANY, 9, {NULL, NULL, "result"}, NONE},
    SEARCH_TOOL,
    CALL_ID,
};
static const struct content_member id_rows[] = {CALL_ID};
static const struct content_member request_rows[] = {REQUEST_ID};
static const struct content_member shell_result_rows[] = {
    OUTPUTS(NULL, "outputs"),
    CALL_ID,
};
static const struct content_member old_request_rows[] = {
    OLD_REQUEST_ID,
    TOOL_CALL("functionCall"),
    WAITS,
};
static const struct content_member old_response_rows[] = {
    OLD_REQUEST_ID,
    APPROVED,
    TOOL_CALL("functionCall"),
    REASON,
};
static const struct content_member old_mcp_request_rows[] = {
    OLD_REQUEST_ID,
    TOOL_CALL("toolCall"),
    WAITS,
};
static const struct content_member old_mcp_response_rows[] = {
    OLD_REQUEST_ID,
    APPROVED,
};
/* Kinds of Semantic Kernel alone. What an annotation and a message hold is
 * carried as it is, so that nobody can make one here. */
static const struct content_member media_rows[] = {
    {PDR_FIELD_URI, WAY_PLAIN, JSON_TEXT, 9, SK("Uri"), NONE},
    {PDR_FIELD_MEDIA_TYPE, WAY_PLAIN, JSON_TEXT, 9, SK("MimeType"), NONE},
    {PDR_FIELD_DATA, WAY_PLAIN, JSON_TEXT, 9, SK("Data"), NONE},
};
static const struct content_member annotation_rows[] = {
    {0, WAY_PLAIN, JSON_TEXT, 9, SK("Label"), SK(MADE_NEVER)},
};
static const struct content_member action_rows[] = {
    {PDR_FIELD_TEXT, WAY_PLAIN, JSON_TEXT, 9, SK("Text"), SK(MADE_NEVER)},
};
static const struct content_member nested_rows[] = {
    {0, WAY_PLAIN, JSON_MAP, 9, SK("Role"), SK(MADE_NEVER)},
};
/* clang-format on */

#define ROWS(rows)              \
    {                           \
        (rows), PDR_COUNT(rows) \
    }

static const struct content_members members[] = {
    [PDR_CONTENT_TEXT] = ROWS(text_rows),
    [PDR_CONTENT_REASONING] = ROWS(reasoning_rows),
    [PDR_CONTENT_DATA] = ROWS(data_rows),
    [PDR_CONTENT_URI] = ROWS(uri_rows),
    [PDR_CONTENT_ERROR] = ROWS(error_rows),
    [PDR_CONTENT_CALL] = ROWS(call_rows),
    [PDR_CONTENT_RESULT] = ROWS(result_rows),
    [PDR_CONTENT_FILE] = ROWS(file_rows),
    [PDR_CONTENT_VECTOR_STORE] = ROWS(vector_store_rows),
    [PDR_CONTENT_USAGE] = ROWS(usage_rows),
    [PDR_CONTENT_UNKNOWN] = ROWS(unknown_rows),
    [PDR_CONTENT_APPROVAL_REQUEST] = ROWS(approval_request_rows),
    [PDR_CONTENT_APPROVAL_RESPONSE] = ROWS(approval_response_rows),
    [PDR_CONTENT_MCP_CALL] = ROWS(mcp_call_rows),
    [PDR_CONTENT_MCP_RESULT] = ROWS(mcp_result_rows),
    [PDR_CONTENT_CODE_CALL] = ROWS(code_call_rows),
    [PDR_CONTENT_CODE_RESULT] = ROWS(code_result_rows),
    [PDR_CONTENT_IMAGE_CALL] = ROWS(image_call_rows),
    [PDR_CONTENT_IMAGE_RESULT] = ROWS(image_result_rows),
    [PDR_CONTENT_SEARCH_CALL] = ROWS(search_call_rows),
    [PDR_CONTENT_SEARCH_RESULT] = ROWS(search_result_rows),
    [PDR_CONTENT_TOOL_CALL] = ROWS(id_rows),
    [PDR_CONTENT_TOOL_RESULT] = ROWS(id_rows),
    [PDR_CONTENT_INPUT_REQUEST] = ROWS(request_rows),
    [PDR_CONTENT_INPUT_RESPONSE] = ROWS(request_rows),
    [PDR_CONTENT_SHELL_CALL] = ROWS(id_rows),
    [PDR_CONTENT_SHELL_RESULT] = ROWS(shell_result_rows),
    [PDR_CONTENT_COMPUTER_CALL] = ROWS(id_rows),
    [PDR_CONTENT_COMPUTER_RESULT] = ROWS(id_rows),
    [PDR_CONTENT_OLD_APPROVAL_REQUEST] = ROWS(old_request_rows),
    [PDR_CONTENT_OLD_APPROVAL_RESPONSE] = ROWS(old_response_rows),
    [PDR_CONTENT_OLD_MCP_APPROVAL_REQUEST] = ROWS(old_mcp_request_rows),
    [PDR_CONTENT_OLD_MCP_APPROVAL_RESPONSE] = ROWS(old_mcp_response_rows),
    [PDR_CONTENT_IMAGE] = ROWS(media_rows),
    [PDR_CONTENT_AUDIO] = ROWS(media_rows),
    [PDR_CONTENT_BINARY] = ROWS(media_rows),
    [PDR_CONTENT_ANNOTATION] = ROWS(annotation_rows),
    [PDR_CONTENT_ACTION] = ROWS(action_rows),
    [PDR_CONTENT_MESSAGE] = ROWS(nested_rows),
};

/* As agent-framework-core writes them, whatever the kind. */
static const char *const python_order[] = {
    "type",
    "text",
    "protected_data",
    "uri",
    "media_type",
    "message",
    "error_code",
    "error_details",
    "usage_details",
    "call_id",
    "name",
    "arguments",
    "exception",
    "informational_only",
    "result",
    "items",
    "file_id",
    "vector_store_id",
    "inputs",
    "outputs",
    "image_id",
    "commands",
    "timeout_ms",
    "max_output_length",
    "status",
    "actions",
    "screenshot",
    "pending_safety_checks",
    "acknowledged_safety_checks",
    "stdout",
    "stderr",
    "exit_code",
    "timed_out",
    "tool_name",
    "server_name",
    "output",
    "hosted",
    "function_call",
    "user_input_request",
    "approved",
    "id",
    "consent_link",
    "merge_mode",
    "additional_properties",
    "annotations",
};

/* As Semantic Kernel writes them, whatever the kind: bytes are the last. */
static const char *const sk_order[] = {
    "$type",      "Text",         "Uri",         "Id",         "CallId",
    "PluginName", "FunctionName", "Arguments",   "Exception",  "Result",
    "Kind",       "Label",        "ReferenceId", "Title",      "StartIndex",
    "EndIndex",   "FileId",       "Tools",       "AuthorName", "Role",
    "Items",      "MimeType",     "ModelId",     "Metadata",   "Data",
};

struct content_order pdr__content_order(pdr_shape shape)
{
    if (shape == PDR_SHAPE_PYTHON)
        return (struct content_order){python_order, PDR_COUNT(python_order)};
    if (shape == PDR_SHAPE_SK)
        return (struct content_order){sk_order, PDR_COUNT(sk_order)};
    return (struct content_order){NULL, 0};
}

size_t pdr__order_place(struct content_order order, const char *name)
{
    size_t place = 0;

    while (place < order.count && strcmp(order.names[place], name) != 0)
        place++;
    return place;
}

struct content_members pdr__content_members(pdr_content_kind kind)
{
    static const struct content_members none = {NULL, 0};

    return (size_t)kind < PDR_COUNT(members) ? members[kind] : none;
}

/* Members of all kinds, as rows, for those who look a field up. */
static const struct content_member common[] = {
    {PDR_FIELD_ANNOTATIONS, WAY_PLAIN, JSON_LIST, 9,
     SAME("annotations", "annotations"), NONE},
    {PDR_FIELD_PROPERTIES, WAY_PLAIN, JSON_MAP, 9,
     ALL("additionalProperties", "additional_properties", "Metadata"), NONE},
};

static const struct content_member *find(struct content_members in,
                                         pdr_shape shape, pdr_field field)
{
    for (size_t i = 0; i < in.count; i++) {
        if (in.rows[i].field == field && in.rows[i].names[shape] != NULL)
            return &in.rows[i];
    }
    return NULL;
}

const struct content_member *pdr__content_member(pdr_content_kind kind,
                                                 pdr_shape shape,
                                                 pdr_field field)
{
    static const struct content_members all = ROWS(common);

    if (field == PDR_FIELD_ANNOTATIONS || field == PDR_FIELD_PROPERTIES)
        return find(all, shape, field);
    return find(pdr__content_members(kind), shape, field);
}

/* Behind all that a kind has of its own. */
#define PLACE_ANNOTATIONS 1000
#define PLACE_PROPERTIES  1001
#define PLACE_UNKNOWN     1002

static size_t row_place(struct content_members in, pdr_shape shape,
                        const char *name)
{
    for (size_t i = 0; i < in.count; i++) {
        const char *own = in.rows[i].names[shape];

        if (own == NULL || strcmp(own, name) != 0)
            continue;
        return shape == PDR_SHAPE_STATE ? in.rows[i].state_place * 16u + i
                                        : i + 1;
    }
    return PLACE_UNKNOWN;
}

size_t pdr__content_place(pdr_content_kind kind, pdr_shape shape,
                          const char *name)
{
    struct content_order order = pdr__content_order(shape);

    if (order.count > 0)
        return pdr__order_place(order, name);
    if (strcmp(name, "$type") == 0)
        return 0;
    if (strcmp(name, "annotations") == 0)
        return PLACE_ANNOTATIONS;
    if (strcmp(name, "additionalProperties") == 0)
        return PLACE_PROPERTIES;
    return row_place(pdr__content_members(kind), shape, name);
}
