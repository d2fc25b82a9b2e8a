/*
 * doc.c - reading state documents, for the verbs of `perdure doc`.
 *
 * A document may come in any format of the command; what the verbs see is the
 * value. One that the gate refuses is reported with a hint that depends on what
 * it looks like instead.
 */
#include "doc_parts.h"

#include <stdlib.h>

/* --- reading ------------------------------------------------------------- */

void doc_reading_init(struct doc_reading *how)
{
    memset(how, 0, sizeof(*how));
    how->from = CLI_NO_FORM;
    cli_form_list(how->from_help, sizeof(how->from_help), "it is ", 0, 0);
}

pdr_rc doc_read(struct doc *d, const struct cli *cli, const char *path,
                const struct doc_reading *how, pdr_err *err)
{
    d->name = cli_input_name(path);
    return cli_input_value(&d->value, &d->text, &d->form, cli, path, how->from,
                           &how->limits, err);
}

/* The text `null` is a session that has no state yet. */
static pdr_rc pass_gate(struct doc *d, pdr_err *err)
{
    if (pdr_value_kind(d->value) != PDR_NULL)
        return pdr_state_gate(d->value, err);
    pdr_value_free(d->value);
    d->value = NULL;
    return pdr_state_new(&d->value, err);
}

int doc_load(struct doc *d, const struct cli *cli, const char *path,
             const struct doc_reading *how)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = doc_read(d, cli, path, how, &err);

    if (rc == PDR_OK)
        rc = pass_gate(d, &err);
    return rc == PDR_OK ? 0 : doc_fail(d, cli, &err);
}

void doc_free(struct doc *d)
{
    pdr_value_free(d->value);
    d->value = NULL;
    pdr_buf_dispose(&d->text);
}

/* --- errors -------------------------------------------------------------- */

static pdr_rc count_error(const pdr_doc_finding *finding, pdr_err *err,
                          void *arg)
{
    size_t *count = arg;

    (void)err;
    *count += finding->severity == PDR_SEVERITY_ERROR;
    return PDR_OK;
}

/* A check that could not be made is an error too. */
static void end_check(size_t *count, pdr_rc rc)
{
    if (rc == PDR_ENOMEM)
        cli_must(rc, NULL);
    *count += rc != PDR_OK;
}

static size_t our_errors(const pdr_value *value)
{
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_NULL)
        return 0;
    rc = pdr_state_gate(value, NULL);
    if (rc == PDR_OK)
        rc = pdr_state_check_structure(value, PDR_STATE_TOLERANT, NULL,
                                       count_error, &count);
    if (rc == PDR_OK)
        rc = pdr_state_check_meaning(value, NULL, count_error, &count);
    end_check(&count, rc);
    return count;
}

static size_t reader_errors(const pdr_value *value, pdr_reader reader)
{
    const pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_reader_verdict verdict = {false, false};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    size_t count = 0;
    pdr_rc rc = pdr_json_write(&text, value, &opts, NULL);

    if (rc == PDR_OK)
        rc = pdr_state_check_reader(&verdict, pdr_buf_str(&text), reader, NULL,
                                    count_error, &count);
    end_check(&count, rc);
    pdr_buf_dispose(&text);
    return count;
}

struct doc_errors doc_errors_of(const pdr_value *value, pdr_reader reader)
{
    struct doc_errors found = {our_errors(value), 0};

    if (reader != PDR_READER_ANY)
        found.readers = reader_errors(value, reader);
    return found;
}

/* --- failures ------------------------------------------------------------ */

#define ANY_DOCUMENT "'perdure check' and 'perdure fmt' take any document"

static bool has(const pdr_value *value, const char *name)
{
    return pdr_value_get_c(value, name) != NULL;
}

/* What has no version may be something else. */
static const char *other_hint(const pdr_value *value)
{
    if (pdr_value_kind(value) == PDR_ARRAY)
        return "a state document is one object; of a list, take one element";
    if (has(value, "conversationHistory"))
        return "this is what belongs into the member data of a state document";
    if (has(value, "stateBag") || has(value, "session_id") ||
        has(value, "conversationId") || has(value, "perdure"))
        return "it looks like a session, not like a durable agent's state; "
               "'perdure session show --file' reads it";
    if (has(value, "messages") || has(value, "contents"))
        return "it looks like a message or a list of messages; " ANY_DOCUMENT;
    if (!has(value, "data"))
        return "a state document has the members schemaVersion and "
               "data; " ANY_DOCUMENT;
    return "nobody can tell what it is without a version; 'perdure doc check "
           "--for' says what other programs would do";
}

const char *doc_hint(const pdr_value *value, const pdr_err *err)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"schema_version_invalid",
         "the version is a string of two to four numbers, as in \"1.1.0\""},
        {"schema_version_unsupported",
         "only major version 1 is known here; nothing was changed"},
        {"data_missing", "the entries are in data.conversationHistory"},
        {"data_invalid", "the entries are in data.conversationHistory"},
    };

    if (strcmp(err->reason, "state_not_json") == 0 ||
        strcmp(err->reason, "schema_version_missing") == 0)
        return other_hint(value);
    for (size_t i = 0; i < CLI_COUNT(hints); i++)
        if (strcmp(hints[i].reason, err->reason) == 0)
            return hints[i].hint;
    return "";
}

int doc_fail(const struct doc *d, const struct cli *cli, const pdr_err *err)
{
    char doubt[CLI_LIST_MAX] = "";
    struct cli_about about = {.name = d->name, .input = pdr_buf_str(&d->text)};

    if (d->value == NULL && err->code == PDR_EINVALID)
        cli_form_doubt(doubt, sizeof(doubt), &d->form.format, about.input,
                       true);
    if (doubt[0] != '\0')
        about.hint = doubt;
    else if (strcmp(err->reason, "trailing_data") == 0 ||
             strcmp(err->reason, "several_documents") == 0)
        about.hint = "a file holds one document here; 'perdure convert' takes "
                     "them apart";
    else if (d->value != NULL && doc_hint(d->value, err)[0] != '\0')
        about.hint = doc_hint(d->value, err);
    return cli_fail(cli, &about, err);
}

int doc_usage(struct cli *cli, const char *what, const char *why,
              const char *hint)
{
    struct cli_usage bad = {.reason = "bad_value"};

    snprintf(bad.what, sizeof(bad.what), "%s", what);
    snprintf(bad.why, sizeof(bad.why), "%s", why);
    snprintf(bad.hint, sizeof(bad.hint), "%s", hint);
    return cli_usage_fail(cli, &bad);
}

/* --- parts of a document ------------------------------------------------- */

pdr_str doc_text(const pdr_value *value, pdr_buf *scratch)
{
    pdr_str text = {NULL, 0};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (value == NULL || pdr_value_kind(value) != PDR_STRING)
        return text;
    rc = pdr_value_text(&text, value, scratch, &err);
    if (rc == PDR_OK)
        return text;
    if (rc != PDR_EINVALID || !pdr_value_raw(&text, value))
        cli_must(rc, &err);
    return pdr_str_n(text.ptr + 1, text.len - 2);
}

pdr_str doc_json(const pdr_value *value, pdr_buf *scratch)
{
    const pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(scratch);
    cli_must(pdr_json_write(scratch, value, &opts, &err), &err);
    return pdr_buf_str(scratch);
}

/* Spaces between tokens, so that a line can be broken there. */
static void space_out(pdr_buf *out, pdr_str json)
{
    bool in_string = false;
    size_t from = 0;
    pdr_err err = PDR_ERR_INIT;

    for (size_t at = 0; at < json.len; at++) {
        char c = json.ptr[at];
        if (in_string && c == '\\') {
            at++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == ',' || c == ':')) {
            cli_must(pdr_buf_append(
                         out, pdr_str_n(json.ptr + from, at + 1 - from), &err),
                     &err);
            cli_put(out, " ");
            from = at + 1;
        }
    }
    cli_must(
        pdr_buf_append(out, pdr_str_n(json.ptr + from, json.len - from), &err),
        &err);
}

pdr_str doc_json_spaced(const pdr_value *value, pdr_buf *scratch)
{
    pdr_buf compact = PDR_BUF_INIT(SIZE_MAX);

    (void)doc_json(value, &compact);
    pdr_buf_clear(scratch);
    space_out(scratch, pdr_buf_str(&compact));
    pdr_buf_dispose(&compact);
    return pdr_buf_str(scratch);
}

pdr_str doc_count_name(pdr_str name)
{
    static const struct {
        const char *name, *shown;
    } known[] = {{"inputTokenCount", "in"},
                 {"outputTokenCount", "out"},
                 {"totalTokenCount", "total"},
                 {"cachedInputTokenCount", "cached"},
                 {"reasoningTokenCount", "reasoning"}};

    for (size_t i = 0; i < CLI_COUNT(known); i++)
        if (pdr_str_equal(name, pdr_str_c(known[i].name)))
            return pdr_str_c(known[i].shown);
    return name;
}

uint64_t doc_bytes(const pdr_value *value)
{
    const pdr_write_opts as_read = {.flags = PDR_BARE_TOKENS,
                                    .layout = PDR_AS_READ};
    pdr_str raw = {NULL, 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    uint64_t bytes = 0;

    if (value == NULL)
        return 0;
    if (pdr_value_raw(&raw, value))
        return raw.len;
    cli_must(pdr_json_write(&text, value, &as_read, NULL), NULL);
    bytes = text.len;
    pdr_buf_dispose(&text);
    return bytes;
}

const char *doc_time(char *out, const pdr_datetime *when)
{
    const pdr_datetime second =
        pdr_datetime_utc(when->ticks - when->ticks % PDR_TICKS_PER_SECOND);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_datetime_write(&text, &second, PDR_DATETIME_OURS_Z, &err),
             &err);
    snprintf(out, 32, "%.*s", (int)text.len - 1, text.ptr);
    out[10] = ' ';
    pdr_buf_dispose(&text);
    return out;
}

static enum doc_part part_of(pdr_content_kind kind)
{
    static const unsigned char parts[] = {
        [PDR_CONTENT_TEXT] = DOC_PART_TEXT,
        [PDR_CONTENT_REASONING] = DOC_PART_TEXT,
        [PDR_CONTENT_DATA] = DOC_PART_DATA,
        [PDR_CONTENT_URI] = DOC_PART_DATA,
        [PDR_CONTENT_ERROR] = DOC_PART_ERROR,
        [PDR_CONTENT_FILE] = DOC_PART_REFERENCE,
        [PDR_CONTENT_VECTOR_STORE] = DOC_PART_REFERENCE,
        [PDR_CONTENT_USAGE] = DOC_PART_USAGE,
        [PDR_CONTENT_CALL] = DOC_PART_CALL,
        [PDR_CONTENT_MCP_CALL] = DOC_PART_CALL,
        [PDR_CONTENT_CODE_CALL] = DOC_PART_CALL,
        [PDR_CONTENT_IMAGE_CALL] = DOC_PART_CALL,
        [PDR_CONTENT_SEARCH_CALL] = DOC_PART_CALL,
        [PDR_CONTENT_TOOL_CALL] = DOC_PART_CALL,
        [PDR_CONTENT_SHELL_CALL] = DOC_PART_CALL,
        [PDR_CONTENT_COMPUTER_CALL] = DOC_PART_CALL,
        [PDR_CONTENT_RESULT] = DOC_PART_RESULT,
        [PDR_CONTENT_MCP_RESULT] = DOC_PART_RESULT,
        [PDR_CONTENT_CODE_RESULT] = DOC_PART_RESULT,
        [PDR_CONTENT_IMAGE_RESULT] = DOC_PART_RESULT,
        [PDR_CONTENT_SEARCH_RESULT] = DOC_PART_RESULT,
        [PDR_CONTENT_TOOL_RESULT] = DOC_PART_RESULT,
        [PDR_CONTENT_SHELL_RESULT] = DOC_PART_RESULT,
        [PDR_CONTENT_COMPUTER_RESULT] = DOC_PART_RESULT,
        [PDR_CONTENT_APPROVAL_REQUEST] = DOC_PART_APPROVAL,
        [PDR_CONTENT_APPROVAL_RESPONSE] = DOC_PART_APPROVAL,
        [PDR_CONTENT_OLD_APPROVAL_REQUEST] = DOC_PART_APPROVAL,
        [PDR_CONTENT_OLD_APPROVAL_RESPONSE] = DOC_PART_APPROVAL,
        [PDR_CONTENT_OLD_MCP_APPROVAL_REQUEST] = DOC_PART_APPROVAL,
        [PDR_CONTENT_OLD_MCP_APPROVAL_RESPONSE] = DOC_PART_APPROVAL,
        [PDR_CONTENT_IMAGE] = DOC_PART_DATA,
        [PDR_CONTENT_AUDIO] = DOC_PART_DATA,
        [PDR_CONTENT_BINARY] = DOC_PART_DATA,
        [PDR_CONTENT_ACTION] = DOC_PART_TEXT,
    };

    return kind < CLI_COUNT(parts) ? (enum doc_part)parts[kind]
                                   : DOC_PART_UNKNOWN;
}

struct doc_content doc_content_in(const pdr_value *content, pdr_shape shape)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);

    return (struct doc_content){content, shape, kind, part_of(kind)};
}

struct doc_content doc_content_of(const pdr_value *content)
{
    struct doc_content c = doc_content_in(content, PDR_SHAPE_STATE);
    const pdr_value *inner = NULL;

    if (c.kind == PDR_CONTENT_UNKNOWN)
        inner = doc_field(&c, PDR_FIELD_CONTENT);
    if (inner == NULL)
        return c;
    c = doc_content_in(inner, PDR_SHAPE_DOTNET);
    if (c.kind == PDR_CONTENT_OTHER)
        c = doc_content_in(inner, PDR_SHAPE_PYTHON);
    return c;
}

static const pdr_value *text_member(const pdr_value *value, const char *name)
{
    const pdr_value *member = pdr_value_get_c(value, name);

    return member != NULL && pdr_value_kind(member) == PDR_STRING ? member
                                                                  : NULL;
}

const pdr_value *doc_type(const pdr_value *part)
{
    const pdr_value *type = text_member(part, "$type");

    return type != NULL ? type : text_member(part, "type");
}

const pdr_value *doc_set_aside(const pdr_value *message)
{
    const pdr_value *results = pdr_value_get_c(message, "orphanResults");

    return results != NULL && pdr_value_kind(results) == PDR_ARRAY &&
                   pdr_value_count(results) > 0
               ? results
               : NULL;
}

/* --- calls and results --------------------------------------------------- */

/* The first of these fields that is there. */
static const pdr_value *first_field(const struct doc_content *content,
                                    const pdr_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (doc_field(content, fields[i]) != NULL)
            return doc_field(content, fields[i]);
    return NULL;
}

/* A text as it is, anything else as JSON. */
static pdr_str readable(const pdr_value *value, pdr_buf *scratch)
{
    if (value == NULL)
        return pdr_str_n(NULL, 0);
    return pdr_value_kind(value) == PDR_STRING
               ? doc_text(value, scratch)
               : doc_json_spaced(value, scratch);
}

/* The text that a model gave where it gave no object. */
pdr_str doc_arguments(const struct doc_content *call, pdr_buf *scratch)
{
    static const pdr_field fields[] = {PDR_FIELD_ARGUMENTS, PDR_FIELD_INPUTS,
                                       PDR_FIELD_QUERIES};
    const pdr_value *value = first_field(call, fields, CLI_COUNT(fields));
    pdr_rc rc = PDR_EINVALID;

    if (call->kind != PDR_CONTENT_CALL || pdr_value_count(value) > 0)
        return readable(value, scratch);
    pdr_buf_clear(scratch);
    rc = pdr_content_arguments(scratch, call->value, call->shape, NULL);
    if (rc == PDR_ENOMEM)
        cli_must(rc, NULL);
    if (rc != PDR_OK || pdr_str_equal(pdr_buf_str(scratch), pdr_str_c("{}")))
        pdr_buf_clear(scratch);
    return pdr_buf_str(scratch);
}

const pdr_value *doc_result_value(const struct doc_content *result)
{
    static const pdr_field fields[] = {PDR_FIELD_RESULT, PDR_FIELD_OUTPUTS};

    return first_field(result, fields, CLI_COUNT(fields));
}

pdr_str doc_result(const struct doc_content *result, pdr_buf *scratch)
{
    return readable(doc_result_value(result), scratch);
}

bool doc_is_asking(const struct doc_content *content)
{
    return content->part == DOC_PART_APPROVAL &&
           doc_field(content, PDR_FIELD_APPROVED) == NULL;
}

bool doc_data_bytes(uint64_t *out, pdr_str uri)
{
    static const char scheme[] = "data:", coding[] = ";base64";
    const char *comma = uri.len > 0 ? memchr(uri.ptr, ',', uri.len) : NULL;
    size_t head = comma != NULL ? (size_t)(comma - uri.ptr) : 0;

    if (head < sizeof(scheme) - 1 ||
        strncasecmp(uri.ptr, scheme, sizeof(scheme) - 1) != 0)
        return false;
    *out = uri.len - head - 1;
    if (head < sizeof(coding) - 1 ||
        strncasecmp(comma - (sizeof(coding) - 1), coding, sizeof(coding) - 1) !=
            0)
        return true; /* percent-encoded: about as long as it is */
    while (*out > 0 && uri.ptr[head + *out] == '=')
        (*out)--;
    *out = *out / 4 * 3 + *out % 4 * 3 / 4;
    return true;
}
