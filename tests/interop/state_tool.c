/*
 * state_tool.c - state documents, for scripts.
 *
 * Reads a line of JSON for each job and writes a line for each answer:
 *
 *     {"do":"make"}                          {"doc":"<text>"}
 *     {"do":"append","doc":"<text>","entry":{…}}   {"doc":"<text>"}
 *     {"do":"read","doc":"<text>"}           {"version":…,"entries":[…]}
 *
 * or {"error":"reason"}. `make` has every kind of entry and content. `read`
 * shows the typed view: of each content its kind and the fields that it has.
 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perdure.h>

#define MAX_LINE (64u << 20)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void stop(const char *what, const pdr_err *err)
{
    fprintf(stderr, "state-tool: %s: %s\n", what, err->message);
    exit(1);
}

static void must(pdr_rc rc, const char *what, const pdr_err *err)
{
    if (rc != PDR_OK)
        stop(what, err);
}

static void name(pdr_builder *to, const char *text)
{
    pdr_builder_name(to, pdr_str_c(text));
}

/* A member, null if there is no value. */
static void put(pdr_builder *to, const char *text, const pdr_value *value)
{
    name(to, text);
    if (value != NULL)
        pdr_builder_value(to, value);
    else
        pdr_builder_null(to);
}

static void put_date(pdr_builder *to, bool there, const pdr_datetime *at)
{
    pdr_buf text = PDR_BUF_INIT(100);
    pdr_err err = PDR_ERR_INIT;

    name(to, "createdAt");
    if (there) {
        must(pdr_datetime_write(&text, at, PDR_DATETIME_OURS, &err), "date",
             &err);
        pdr_builder_string(to, pdr_buf_str(&text));
    } else {
        pdr_builder_null(to);
    }
    pdr_buf_dispose(&text);
}

/* --- read ----------------------------------------------------------------- */

static const struct {
    const char *name;
    pdr_field field;
} fields[] = {
    {"text", PDR_FIELD_TEXT},
    {"uri", PDR_FIELD_URI},
    {"mediaType", PDR_FIELD_MEDIA_TYPE},
    {"message", PDR_FIELD_MESSAGE},
    {"errorCode", PDR_FIELD_ERROR_CODE},
    {"details", PDR_FIELD_DETAILS},
    {"callId", PDR_FIELD_CALL_ID},
    {"name", PDR_FIELD_NAME},
    {"arguments", PDR_FIELD_ARGUMENTS},
    {"result", PDR_FIELD_RESULT},
    {"fileId", PDR_FIELD_FILE_ID},
    {"vectorStoreId", PDR_FIELD_VECTOR_STORE_ID},
    {"usage", PDR_FIELD_USAGE},
    {"content", PDR_FIELD_CONTENT},
};

static void show_content(pdr_builder *to, const pdr_value *content)
{
    pdr_content_kind kind = pdr_content_kind_of(content, PDR_SHAPE_STATE);

    pdr_builder_object(to);
    name(to, "kind");
    pdr_builder_string(to,
                       pdr_str_c(pdr_content_kind_name(kind, PDR_SHAPE_STATE)));
    for (size_t i = 0; i < COUNT(fields); i++) {
        const pdr_value *value =
            pdr_content_get(content, PDR_SHAPE_STATE, fields[i].field);
        if (value != NULL)
            put(to, fields[i].name, value);
    }
    pdr_builder_end(to);
}

static void show_message(pdr_builder *to, const pdr_value *message)
{
    pdr_datetime at;
    pdr_iter it;

    pdr_builder_object(to);
    put(to, "role", pdr_message_role(message, PDR_SHAPE_STATE));
    put(to, "author", pdr_message_author(message, PDR_SHAPE_STATE));
    put_date(to, pdr_message_created_at(&at, message, PDR_SHAPE_STATE), &at);
    name(to, "contents");
    pdr_builder_array(to);
    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_STATE));
    while (pdr_iter_next(&it))
        show_content(to, it.value);
    pdr_builder_end(to);
    pdr_builder_end(to);
}

static void show_entry(pdr_builder *to, const pdr_value *entry)
{
    static const char *const kinds[] = {"other", "request", "response"};
    pdr_datetime at;
    pdr_iter it;

    pdr_builder_object(to);
    name(to, "kind");
    pdr_builder_string(to, pdr_str_c(kinds[pdr_entry_kind_of(entry)]));
    put(to, "correlationId", pdr_entry_correlation_id(entry));
    put_date(to, pdr_entry_created_at(&at, entry), &at);
    put(to, "usage", pdr_entry_usage(entry));
    name(to, "isError");
    pdr_builder_bool(to, pdr_entry_is_error(entry));
    name(to, "messages");
    pdr_builder_array(to);
    pdr_iter_init(&it, pdr_entry_messages(entry));
    while (pdr_iter_next(&it))
        show_message(to, it.value);
    pdr_builder_end(to);
    pdr_builder_end(to);
}

static void show_state(pdr_builder *to, const pdr_value *state)
{
    pdr_iter it;

    put(to, "version", pdr_value_get_c(state, "schemaVersion"));
    name(to, "entries");
    pdr_builder_array(to);
    pdr_iter_init(&it, pdr_state_entries(state));
    while (pdr_iter_next(&it))
        show_entry(to, it.value);
    pdr_builder_end(to);
}

/* --- make ----------------------------------------------------------------- */

/* Values of the fields that `make` uses, in the order of their numbers. */
static const char *value_text(pdr_content_kind kind, pdr_field field)
{
    if (field == PDR_FIELD_URI)
        return kind == PDR_CONTENT_DATA ? "\"data:text/plain;base64,SGk=\""
                                        : "\"https://example.org/a\"";
    if (field == PDR_FIELD_ARGUMENTS)
        return "{\"pier\":7}";
    if (field == PDR_FIELD_RESULT)
        return "{\"open\":true}";
    if (field == PDR_FIELD_USAGE)
        return "{\"inputTokenCount\":1,\"outputTokenCount\":2,"
               "\"totalTokenCount\":3}";
    if (field == PDR_FIELD_CONTENT)
        return "{\"type\":\"shell_tool_call\",\"call_id\":\"k\"}";
    return field == PDR_FIELD_MEDIA_TYPE ? "\"text/plain\"" : "\"some text\"";
}

/* A content with the fields of its kind that `read` shows. */
static pdr_value *make_content(pdr_content_kind kind)
{
    pdr_content_part parts[COUNT(fields)];
    pdr_value *content = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t count = 0;

    for (size_t i = 0; i < COUNT(fields); i++) {
        pdr_value *value = NULL, *alone = NULL;
        pdr_content_part part = {fields[i].field, NULL};
        must(pdr_json_read(&value, pdr_str_c(value_text(kind, fields[i].field)),
                           NULL, &err),
             "value", &err);
        part.value = value;
        pdr_rc rc =
            pdr_content_new(&alone, PDR_SHAPE_STATE, kind, &part, 1, &err);
        pdr_value_free(alone);
        if (rc != PDR_OK && strcmp(err.reason, "no_such_field") == 0)
            pdr_value_free(value);
        else
            parts[count++] = part;
    }
    must(pdr_content_new(&content, PDR_SHAPE_STATE, kind, parts, count, &err),
         "content", &err);
    for (size_t i = 0; i < count; i++)
        pdr_value_free((pdr_value *)(uintptr_t)parts[i].value);
    return content;
}

/* A list with one message that has a content of every kind. */
static pdr_value *make_messages(void)
{
    pdr_value *contents = pdr_value_new_array(), *list = pdr_value_new_array();
    pdr_value *message = NULL;
    pdr_datetime at = pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH + 1234567);
    pdr_message_parts parts = {.role = pdr_str_c("assistant"),
                               .author = pdr_str_c("Harbour"),
                               .created_at = &at};
    pdr_err err = PDR_ERR_INIT;

    for (int kind = 1; kind <= PDR_CONTENT_UNKNOWN; kind++) {
        pdr_value *content = make_content((pdr_content_kind)kind);
        must(pdr_value_append(&contents, content, &err), "contents", &err);
        pdr_value_free(content);
    }
    parts.contents = contents;
    must(pdr_message_new(&message, PDR_SHAPE_STATE, &parts, &err), "message",
         &err);
    must(pdr_value_append(&list, message, &err), "messages", &err);
    pdr_value_free(message);
    pdr_value_free(contents);
    return list;
}

static pdr_value *make_state(void)
{
    pdr_value *state = NULL, *messages = make_messages(), *usage = NULL;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_json_read(
             &usage, pdr_str_c(value_text(PDR_CONTENT_USAGE, PDR_FIELD_USAGE)),
             NULL, &err),
         "usage", &err);
    pdr_entry_parts parts[] = {
        {.kind = PDR_ENTRY_REQUEST,
         .correlation_id = pdr_str_c("made-1"),
         .created_at = PDR_TICKS_UNIX_EPOCH,
         .orchestration_id = pdr_str_c("o-1"),
         .response_type = pdr_str_c("text")},
        {.kind = PDR_ENTRY_RESPONSE,
         .correlation_id = pdr_str_c("made-1"),
         .created_at = PDR_TICKS_UNIX_EPOCH + PDR_TICKS_PER_SECOND,
         .messages = messages,
         .usage = usage},
    };
    must(pdr_state_new(&state, &err), "state", &err);
    for (size_t i = 0; i < COUNT(parts); i++) {
        pdr_value *entry = NULL;
        must(pdr_entry_new(&entry, &parts[i], &err), "entry", &err);
        must(pdr_state_append(&state, entry, &err), "append", &err);
        pdr_value_free(entry);
    }
    pdr_value_free(usage);
    pdr_value_free(messages);
    return state;
}

/* --- jobs ----------------------------------------------------------------- */

static void put_doc(pdr_builder *to, const pdr_value *state)
{
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(MAX_LINE);
    pdr_err err = PDR_ERR_INIT;

    must(pdr_json_write(&text, state, &opts, &err), "write", &err);
    name(to, "doc");
    pdr_builder_string(to, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static bool job_is(const pdr_value *job, const char *what)
{
    return pdr_value_text_is(pdr_value_get_c(job, "do"), pdr_str_c(what));
}

static pdr_rc work(pdr_builder *to, const pdr_value *job, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(MAX_LINE);
    pdr_str text = {NULL, 0};
    pdr_value *state = NULL;
    pdr_rc rc = PDR_OK;

    if (job_is(job, "make")) {
        state = make_state();
    } else {
        rc = pdr_value_text(&text, pdr_value_get_c(job, "doc"), &scratch, err);
        if (rc == PDR_OK)
            rc = pdr_state_read(&state, text, NULL, err);
        if (rc == PDR_OK && job_is(job, "append"))
            rc = pdr_state_append(&state, pdr_value_get_c(job, "entry"), err);
    }
    if (rc == PDR_OK && job_is(job, "read"))
        show_state(to, state);
    else if (rc == PDR_OK)
        put_doc(to, state);
    pdr_value_free(state);
    pdr_buf_dispose(&scratch);
    return rc;
}

static void answer(pdr_str line)
{
    pdr_buf out = PDR_BUF_INIT(2u * MAX_LINE);
    pdr_value *job = NULL, *result = NULL;
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_json_read(&job, line, NULL, &err), "line", &err);
    must(pdr_builder_new(&to, &err), "builder", &err);
    pdr_builder_object(to);
    if (work(to, job, &err) != PDR_OK) {
        name(to, "error");
        pdr_builder_string(to, pdr_str_c(err.reason));
    }
    pdr_builder_end(to);
    must(pdr_builder_finish(&result, to, &err), "answer", &err);
    must(pdr_json_write(&out, result, NULL, &err), "answer", &err);
    printf("%.*s\n", (int)out.len, out.ptr);
    fflush(stdout);
    pdr_value_free(result);
    pdr_builder_free(to);
    pdr_value_free(job);
    pdr_buf_dispose(&out);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;

    for (ssize_t len = 0; (len = getline(&line, &room, stdin)) > 0;)
        answer(pdr_str_n(line, (size_t)len));
    free(line);
    return 0;
}
