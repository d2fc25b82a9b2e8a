/*
 * config_model.c - the model of a definition: a client and its options.
 *
 * Of the providers that files name, those that speak Chat Completions are
 * here, and a script. For others a program may hand in a client of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

#include "host.h"

#define MAX_SCRIPT_BYTES ((size_t)16 << 20)
#define MAX_KEY_BYTES    ((size_t)4096)
#define OPENAI_URL       "https://api.openai.com/v1" /* if a file names none */

static const struct pdr__member model_members[] = {
    {"id", PDR_USE_BOTH},      {"provider", PDR_USE_BOTH},
    {"apiType", PDR_USE_BOTH}, {"connection", PDR_USE_BOTH},
    {"options", PDR_USE_BOTH}, {NULL, PDR_USE_UNKNOWN}};

static const struct pdr__member connection_members[] = {
    {"kind", PDR_USE_BOTH},    {"endpoint", PDR_USE_BOTH},
    {"key", PDR_USE_BOTH},     {"apiKey", PDR_USE_BOTH},
    {"keyFile", PDR_USE_OURS}, {"file", PDR_USE_OURS},
    {"name", PDR_USE_THERE},   {NULL, PDR_USE_UNKNOWN}};

/* The bytes of a file that the definition names. */
static pdr_rc read_file(pdr_buf *out, const struct pdr__load *load,
                        const struct pdr__node *node, pdr_err *err)
{
    char chunk[4096], shown[PDR_SHOWN];
    const char *path = NULL;
    ssize_t got = 1;
    int file = -1;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__load_path(&path, load, node, err));
    file = open(path, O_RDONLY | O_CLOEXEC);
    while (rc == PDR_OK && file >= 0 && got > 0) {
        got = read(file, chunk, sizeof(chunk));
        if (got > 0)
            rc = pdr__yaml_at(
                load->from->text, node,
                pdr_buf_append(out, pdr_str_n(chunk, (size_t)got), err), err);
    }
    /* The path as it is written: a variable is not shown. */
    if (file < 0 || got < 0)
        rc = PDR_FAIL_NODE(load, node, err, BAD_DEFINITION,
                           "cannot read '%s': %s",
                           pdr__shown(shown, node->text), strerror(errno));
    if (file >= 0)
        close(file);
done:
    return rc;
}

static pdr_rc make_script(pdr_client **out, const struct pdr__load *load,
                          const struct pdr__node *model, pdr_err *err)
{
    const struct pdr__node *file =
        pdr__node_get(pdr__node_get(model, "connection"), "file");
    pdr_buf text = PDR_BUF_INIT(MAX_SCRIPT_BYTES);
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (file == NULL)
        return PDR_FAIL_NODE(load, model, err, BAD_DEFINITION, "%s",
                             "a script is in a file: write connection: "
                             "{file: replies.json}");
    PDR_TRY(read_file(&text, load, file, err));
    rc = pdr_client_script(out, pdr_buf_str(&text), err);
    if (rc != PDR_OK && rc != PDR_ENOMEM) {
        (void)pdr__wrap(err, rc, "'%s'", pdr__shown(shown, file->text));
        (void)pdr__yaml_at(load->from->text, file, rc, err);
    }
done:
    pdr_buf_dispose(&text);
    return rc;
}

/* The key of a connection, in `room` or in arena; NULL: there is none. */
static pdr_rc get_key(const char **out, pdr_buf *room,
                      const struct pdr__load *load,
                      const struct pdr__node *connection, pdr_err *err)
{
    const struct pdr__node *file = pdr__node_get(connection, "keyFile");
    const struct pdr__node *key = pdr__node_get(connection, "key");
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (key == NULL)
        key = pdr__node_get(connection, "apiKey");
    if (key != NULL) {
        PDR_TRY(pdr__load_text(&text, load, key, err));
        *out = text.ptr;
    } else if (file != NULL) {
        PDR_TRY(read_file(room, load, file, err));
        while (room->len > 0 && (room->ptr[room->len - 1] == '\n' ||
                                 room->ptr[room->len - 1] == '\r'))
            room->len--;
        PDR_TRY(pdr_buf_append(room, pdr_str_n("", 1), err));
        *out = room->ptr;
    }
done:
    return rc;
}

static pdr_rc make_openai(pdr_client **out, const struct pdr__load *load,
                          const struct pdr__node *model, pdr_str id,
                          pdr_err *err)
{
    const struct pdr__node *connection = pdr__node_get(model, "connection");
    const struct pdr__node *place = connection != NULL ? connection : model;
    pdr_openai_opts opts = {.base_url = OPENAI_URL, .model = id.ptr};
    pdr_buf room = PDR_BUF_INIT(MAX_KEY_BYTES + 1);
    pdr_str endpoint = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__load_member(&endpoint, load, connection, "endpoint",
                             PDR_WRITTEN_OR_VARIABLE, err));
    if (endpoint.len > 0)
        opts.base_url = endpoint.ptr;
    PDR_TRY(get_key(&opts.api_key, &room, load, connection, err));
    rc = pdr__yaml_at(load->from->text, place,
                      pdr_client_openai(out, &opts, err), err);
done:
    pdr_buf_dispose(&room);
    return rc;
}

/* Members and kind of a connection that is used. */
static pdr_rc check_connection(const struct pdr__load *load,
                               const struct pdr__node *connection, pdr_err *err)
{
    static const char *const known[] = {"", "key", "apikey", "remote",
                                        "anonymous"};
    char shown[PDR_SHOWN];
    pdr_str kind = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (connection == NULL)
        return PDR_OK;
    PDR_TRY(pdr__load_members(load, connection, connection_members, err));
    PDR_TRY(
        pdr__load_member(&kind, load, connection, "kind", PDR_WRITTEN, err));
    for (size_t i = 0; i < PDR_COUNT(known); i++) {
        if (strcasecmp(kind.ptr, known[i]) == 0)
            return PDR_OK;
    }
    rc = PDR_FAIL_NODE(load, pdr__node_get(connection, "kind"), err,
                       BAD_DEFINITION,
                       "a connection is of kind key, remote or anonymous, not "
                       "'%s'",
                       pdr__shown(shown, kind));
done:
    return rc;
}

/* There is no client for this model: the program's, or none. */
static pdr_rc use_other(pdr_client **out, const struct pdr__load *load,
                        const struct pdr__node *model,
                        const struct pdr__node *root, pdr_err *err)
{
    const struct pdr__node *provider = pdr__node_get(model, "provider");
    char shown[PDR_SHOWN];

    if (load->from->client != NULL) {
        *out = pdr_client_ref(load->from->client);
        return PDR_OK;
    }
    if (pdr__node_get(model, "id") == NULL)
        return PDR_FAIL_NODE(load, model != NULL ? model : root, err,
                             BAD_DEFINITION, "%s",
                             "no model: write model: {id: NAME, provider: "
                             "OpenAI}");
    if (provider == NULL)
        return PDR_FAIL_NODE(load, model, err, BAD_DEFINITION, "%s",
                             "no provider: write provider: OpenAI, for any "
                             "server that speaks Chat Completions");
    return PDR_FAIL_NODE(
        load, provider, err, BAD_DEFINITION,
        "the provider '%s' is not offered here; OpenAI, over Chat Completions, "
        "and script are",
        pdr__shown(shown, provider->text));
}

pdr_rc pdr__load_client(pdr_client **out, const struct pdr__load *load,
                        const struct pdr__node *model,
                        const struct pdr__node *root, pdr_err *err)
{
    const struct pdr__node *place = pdr__node_get(model, "provider");
    const struct pdr__node *connection = NULL;
    pdr_str id = {NULL, 0}, provider = {NULL, 0}, type = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (model != NULL)
        PDR_TRY(pdr__load_members(load, model, model_members, err));
    PDR_TRY(pdr__load_kind(&connection, load, model, "connection", PDR_NODE_MAP,
                           err));
    PDR_TRY(
        pdr__load_member(&id, load, model, "id", PDR_WRITTEN_OR_VARIABLE, err));
    PDR_TRY(
        pdr__load_member(&provider, load, model, "provider", PDR_WRITTEN, err));
    PDR_TRY(pdr__load_member(&type, load, model, "apiType", PDR_WRITTEN, err));
    if (strcasecmp(provider.ptr, "script") == 0) {
        PDR_TRY(pdr__load_notice(load, place, PDR_SEVERITY_INFO,
                                 "the Python loader refuses it", err));
        PDR_TRY(check_connection(load, connection, err));
        return make_script(out, load, model, err);
    }
    if (strcasecmp(provider.ptr, "OpenAI") != 0 || id.len == 0 ||
        (type.len > 0 && strcasecmp(type.ptr, "Chat") != 0 &&
         strcasecmp(type.ptr, "Responses") != 0))
        return use_other(out, load, model, root, err);
    if (strcmp(provider.ptr, "OpenAI") != 0 || strcmp(type.ptr, "Chat") != 0)
        PDR_TRY(pdr__load_notice(load, place, PDR_SEVERITY_INFO,
                                 "Chat Completions here; for the Python loader "
                                 "that is provider OpenAI with apiType Chat",
                                 err));
    PDR_TRY(check_connection(load, connection, err));
    rc = make_openai(out, load, model, id, err);
done:
    return rc;
}

pdr_rc pdr__load_options(pdr_value **out, const struct pdr__load *load,
                         const struct pdr__node *options, pdr_err *err)
{
    static const struct {
        const char *name, *sent; /* NULL: it is not sent */
    } renamed[] = {{"topP", "top_p"},
                   {"maxOutputTokens", "max_tokens"},
                   {"frequencyPenalty", "frequency_penalty"},
                   {"presencePenalty", "presence_penalty"},
                   {"stopSequences", "stop"},
                   {"allowMultipleToolCalls", "parallel_tool_calls"},
                   {"chatToolMode", "tool_choice"},
                   {"topK", NULL},
                   {"apiType", NULL}};
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    for (const struct pdr__node *n = options->first; n != NULL; n = n->next) {
        const char *sent = n->name->text.ptr;

        for (size_t i = 0; i < PDR_COUNT(renamed); i++) {
            if (strcmp(n->name->text.ptr, renamed[i].name) == 0)
                sent = renamed[i].sent;
        }
        if (sent == NULL) {
            PDR_TRY(pdr__load_notice(load, n->name, PDR_SEVERITY_WARNING,
                                     "not sent to the model, nor by the Python "
                                     "loader",
                                     err));
            continue;
        }
        pdr_builder_name(to, pdr_str_c(sent));
        PDR_TRY(pdr__load_value(to, load, n, err));
    }
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(out, to, err));
done:
    pdr_builder_free(to);
    return rc;
}
