/*
 * doc_project.c - a turn as an object for programs.
 *
 * WHY  A script that asks what an agent did should not have to know two
 *      languages' spellings, wrapped contents and how calls find their results.
 *      The members are told in perdure-doc-show(1) and stay: new ones may come.
 *      What nobody knows is given whole.
 */
#include "doc_parts.h"

/* A string of the document, spelled as it is; nothing if there is none. */
static void member(pdr_builder *to, const char *name, const pdr_value *value)
{
    if (value == NULL)
        return;
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_value(to, value);
}

static const char *kind_name(const struct doc_content *c)
{
    const char *name = pdr_content_kind_name(c->kind, PDR_SHAPE_STATE);

    if (c->part == DOC_PART_UNKNOWN)
        return "unknown";
    if (name[0] == '\0')
        name = pdr_content_kind_name(c->kind, PDR_SHAPE_DOTNET);
    return name[0] != '\0' ? name : pdr_content_kind_name(c->kind, c->shape);
}

static void add_data(pdr_builder *to, const struct doc_content *c)
{
    const pdr_value *uri = doc_field(c, PDR_FIELD_URI);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str media = {NULL, 0};
    uint64_t bytes = 0;

    if (pdr_content_media_type(&media, c->value, c->shape, &scratch, NULL) ==
            PDR_OK &&
        media.len > 0)
        cli_member_text(to, "mediaType", media);
    if (doc_data_bytes(&bytes, doc_text(uri, &scratch)))
        cli_member_count(to, "bytes", bytes);
    else
        member(to, "uri", uri);
    member(to, "name", doc_field(c, PDR_FIELD_NAME));
    pdr_buf_dispose(&scratch);
}

static const pdr_value *call_arguments(const struct doc_content *c)
{
    static const pdr_field fields[] = {PDR_FIELD_ARGUMENTS, PDR_FIELD_INPUTS,
                                       PDR_FIELD_QUERIES};

    for (size_t i = 0; i < CLI_COUNT(fields); i++)
        if (doc_field(c, fields[i]) != NULL)
            return doc_field(c, fields[i]);
    return NULL;
}

static void add_call(pdr_builder *to, const struct doc_content *c,
                     struct doc_results *results)
{
    const pdr_value *id = doc_field(c, PDR_FIELD_CALL_ID);
    const pdr_value *found =
        results != NULL ? doc_results_take(results, id) : NULL;
    struct doc_content result = doc_content_of(found);

    member(to, "callId", id);
    member(to, "serverName", doc_field(c, PDR_FIELD_SERVER_NAME));
    member(to, "name", doc_field(c, PDR_FIELD_NAME));
    member(to, "arguments", call_arguments(c));
    if (results == NULL)
        return;
    cli_member_bool(to, "hasResult", found != NULL);
    if (found != NULL)
        member(to, "result", doc_result_value(&result));
}

static void add_approval(pdr_builder *to, const struct doc_content *c)
{
    const pdr_value *call = doc_field(c, PDR_FIELD_TOOL_CALL);
    struct doc_content inner = doc_content_in(call, c->shape);

    member(to, "requestId", doc_field(c, PDR_FIELD_REQUEST_ID));
    member(to, "approved", doc_field(c, PDR_FIELD_APPROVED));
    member(to, "reason", doc_field(c, PDR_FIELD_REASON));
    if (call == NULL)
        return;
    pdr_builder_name(to, pdr_str_c("call"));
    pdr_builder_object(to);
    add_call(to, &inner, NULL);
    pdr_builder_end(to);
}

static pdr_rc add_count(pdr_str name, int64_t count, pdr_err *err, void *arg)
{
    pdr_builder *to = arg;
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    cli_show(&body, name, CLI_TEXT_JSON);
    pdr_builder_escaped_name(to, pdr_buf_str(&body));
    pdr_builder_int64(to, count);
    pdr_buf_dispose(&body);
    return PDR_OK;
}

static void add_usage(pdr_builder *to, const pdr_value *usage)
{
    pdr_err err = PDR_ERR_INIT;

    if (usage == NULL)
        return;
    pdr_builder_name(to, pdr_str_c("usage"));
    pdr_builder_object(to);
    cli_must(pdr_usage_each(usage, &err, add_count, to), &err);
    pdr_builder_end(to);
}

/* The fields that are strings, and stand for themselves. */
static void add_fields(pdr_builder *to, const struct doc_content *c)
{
    static const struct {
        const char *name;
        pdr_field field;
    } fields[] = {
        {"text", PDR_FIELD_TEXT},
        {"message", PDR_FIELD_MESSAGE},
        {"errorCode", PDR_FIELD_ERROR_CODE},
        {"details", PDR_FIELD_DETAILS},
        {"fileId", PDR_FIELD_FILE_ID},
        {"vectorStoreId", PDR_FIELD_VECTOR_STORE_ID},
    };

    for (size_t i = 0; i < CLI_COUNT(fields); i++)
        member(to, fields[i].name, doc_field(c, fields[i].field));
}

static void add_result(pdr_builder *to, const struct doc_content *c)
{
    member(to, "callId", doc_field(c, PDR_FIELD_CALL_ID));
    member(to, "result", doc_result_value(c));
}

static void add_members(pdr_builder *to, const struct doc_content *c,
                        struct doc_results *results)
{
    switch (c->part) {
    case DOC_PART_UNKNOWN:
        member(to, "type", doc_type(c->value));
        member(to, "value", c->value);
        break;
    case DOC_PART_TEXT:
    case DOC_PART_ERROR:
    case DOC_PART_REFERENCE:
        add_fields(to, c);
        break;
    case DOC_PART_DATA:
        add_data(to, c);
        break;
    case DOC_PART_CALL:
        add_call(to, c, results);
        break;
    case DOC_PART_RESULT:
        add_result(to, c);
        break;
    case DOC_PART_USAGE:
        add_usage(to, doc_field(c, PDR_FIELD_USAGE));
        break;
    case DOC_PART_APPROVAL:
        add_approval(to, c);
        break;
    }
}

static void add_content(pdr_builder *to, const pdr_value *content,
                        struct doc_results *results)
{
    struct doc_content c = doc_content_of(content);

    if (c.part == DOC_PART_RESULT && doc_results_pass(results))
        return; /* stands beside its call */
    pdr_builder_object(to);
    cli_member_text(to, "kind", pdr_str_c(kind_name(&c)));
    add_members(to, &c, results);
    pdr_builder_end(to);
}

static void add_message(pdr_builder *to, const pdr_value *message,
                        struct doc_results *results)
{
    pdr_datetime when;
    pdr_iter it;

    pdr_builder_object(to);
    member(to, "role", pdr_message_role(message, PDR_SHAPE_STATE));
    member(to, "author", pdr_message_author(message, PDR_SHAPE_STATE));
    if (pdr_message_created_at(&when, message, PDR_SHAPE_STATE))
        member(to, "createdAt", pdr_value_get_c(message, "createdAt"));
    pdr_builder_name(to, pdr_str_c("contents"));
    pdr_builder_array(to);
    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_STATE));
    while (pdr_iter_next(&it))
        add_content(to, it.value, results);
    pdr_builder_end(to);
    member(to, "setAside", doc_set_aside(message));
    pdr_builder_end(to);
}

static void add_entry(pdr_builder *to, const struct doc_turns *turns,
                      size_t index, struct doc_results *results)
{
    const pdr_value *entry = turns->entries[index];
    bool is_request = pdr_entry_kind_of(entry) == PDR_ENTRY_REQUEST;
    pdr_datetime when;
    pdr_iter it;

    pdr_builder_object(to);
    cli_member_text(to, "kind", pdr_str_c(is_request ? "request" : "response"));
    cli_member_count(to, "entry", index);
    if (pdr_entry_created_at(&when, entry))
        member(to, "createdAt", pdr_value_get_c(entry, "createdAt"));
    member(to, "orchestrationId", pdr_entry_orchestration_id(entry));
    member(to, "responseType", pdr_entry_response_type(entry));
    if (!is_request)
        cli_member_bool(to, "failed", pdr_entry_is_error(entry));
    add_usage(to, pdr_entry_usage(entry));
    pdr_builder_name(to, pdr_str_c("messages"));
    pdr_builder_array(to);
    pdr_iter_init(&it, pdr_entry_messages(entry));
    while (pdr_iter_next(&it))
        add_message(to, it.value, results);
    pdr_builder_end(to);
    pdr_builder_end(to);
}

static void add_other(pdr_builder *to, const struct doc_turns *turns,
                      size_t index)
{
    pdr_builder_object(to);
    cli_member_text(to, "kind", pdr_str_c("unknown"));
    cli_member_count(to, "entry", index);
    member(to, "type", doc_type(turns->entries[index]));
    member(to, "value", turns->entries[index]);
    pdr_builder_end(to);
}

void doc_project_turn(pdr_builder *to, const struct doc_turns *turns,
                      const struct doc_turn *turn)
{
    struct doc_results results;

    if (turn->number == 0) {
        add_other(to, turns, turn->first);
        return;
    }
    doc_results_find(&results, turns, turn);
    pdr_builder_object(to);
    cli_member_text(to, "kind", pdr_str_c("turn"));
    cli_member_count(to, "turn", turn->number);
    member(to, "correlationId",
           pdr_entry_correlation_id(turns->entries[turn->first]));
    cli_member_bool(to, "finished", turn->has_response);
    cli_member_bool(to, "failed", turn->is_error);
    pdr_builder_name(to, pdr_str_c("entries"));
    pdr_builder_array(to);
    for (size_t i = turn->first; i != DOC_NONE; i = turns->next[i])
        add_entry(to, turns, i, &results);
    pdr_builder_end(to);
    pdr_builder_end(to);
    doc_results_free(&results);
}
