/*
 * group.c - a chat, the agents that are brought along, and what went wrong.
 */
#include "group_parts.h"

#include <stdlib.h>

#define KEY_BYTES     32   /* at least, of a MAC */
#define MAX_KEY_BYTES 4096 /* as of the key of a store */
#define MAX_KEY_ID    128

const char *const grp_form_words[] = {"native", "sk", "plain", "encoded", NULL};

const char *grp_form_name(const struct grp *g)
{
    return grp_form_words[pdr_chat_state_form(g->state)];
}

int grp_place_check(struct grp *g)
{
    if (g->file != NULL && g->id != NULL)
        return doc_usage(g->cli, "--file and ID",
                         "only one of them can be given", "");
    if (g->file == NULL && g->id == NULL)
        return ses_missing(g->cli, "ID",
                           "name a chat of a store, or --file FILE");
    if (g->file == NULL && (g->key_args.count > 0 || g->needs_mac))
        return doc_usage(g->cli, g->needs_mac ? "--need-mac" : "--key-file",
                         "is for files", "--key is the key of a store");
    return 0;
}

void grp_free(struct grp *g)
{
    pdr_chat_free(g->chat);
    pdr_chat_state_free(g->state);
    pdr_store_close(g->store);
    for (size_t i = 0; g->made != NULL && i < g->specs.count; i++)
        agt_made_free(&g->made[i]);
    for (size_t i = 0; g->keys != NULL && i < g->key_args.count; i++)
        pdr_buf_dispose(&g->key_bytes[i]);
    free(g->made);
    free(g->keys);
    free(g->key_bytes);
    free(g->specs.items);
    free(g->key_args.items);
}

/* --- agents --------------------------------------------------------------- */

/* Bytes of the name in "NAME=REST"; 0: it has none. */
static size_t name_len(const char *spec)
{
    const char *equals = strchr(spec, '=');

    return equals != NULL ? (size_t)(equals - spec) : 0;
}

static bool is_openai(const char *spec)
{
    return strncmp(spec + name_len(spec), "=openai:", 8) == 0;
}

static int specs_check(struct grp *g)
{
    bool needs_key = g->key_env == NULL;

    for (size_t i = 0; i < g->specs.count; i++) {
        size_t len = name_len(g->specs.items[i]);

        needs_key = needs_key || is_openai(g->specs.items[i]);
        for (size_t k = 0; k < i; k++)
            if (len > 0 && name_len(g->specs.items[k]) == len &&
                memcmp(g->specs.items[k], g->specs.items[i], len) == 0)
                return doc_usage(g->cli, "--agent",
                                 "two agents have the same name",
                                 "in a chat each has a name of its own");
    }
    return needs_key
               ? 0
               : doc_usage(g->cli, "--key-env", "is for agents of openai:",
                           "a definition file names it: apiKey: "
                           "=Env.VAR");
}

int grp_agents_make(struct grp *g)
{
    int status = specs_check(g);

    g->made = cli_realloc(NULL, g->specs.count + 1, sizeof(*g->made));
    memset(g->made, 0, (g->specs.count + 1) * sizeof(*g->made));
    for (size_t i = 0; status == 0 && i < g->specs.count; i++) {
        g->made[i].spec = g->specs.items[i];
        if (is_openai(g->specs.items[i]))
            g->made[i].key_env = g->key_env;
        status = agt_make(&g->made[i], g->cli);
    }
    return status;
}

int grp_agent_check(struct grp *g, const char *option, const char *name)
{
    pdr_buf names = PDR_BUF_INIT(SIZE_MAX);
    bool found = name == NULL;
    int status = 0;

    for (size_t i = 0; i < g->specs.count; i++) {
        const char *spec = g->specs.items[i];

        found = found || (strlen(name) == name_len(spec) &&
                          memcmp(spec, name, strlen(name)) == 0);
        cli_putf(&names, "%s%.*s", i > 0 ? ", " : "there are ",
                 (int)name_len(spec), spec);
    }
    cli_putf(&names, "%s%c", names.len > 0 ? "" : "--agent names them", 0);
    if (!found)
        status =
            doc_usage(g->cli, option, "no --agent has this name", names.ptr);
    pdr_buf_dispose(&names);
    return status;
}

/* --- keys ----------------------------------------------------------------- */

static int key_read(struct grp *g, size_t i)
{
    const char *arg = g->key_args.items[i];
    const char *path = arg + name_len(arg) + 1;
    const struct cli_about about = {.name = path};
    pdr_err err = PDR_ERR_INIT;

    if (name_len(arg) == 0 || name_len(arg) > MAX_KEY_ID || path[0] == '\0')
        return doc_usage(g->cli, "--key-file", "is not ID=FILE",
                         "write --key-file k1=secret.key: a name of 1 to 128 "
                         "bytes for the key, and its file");
    if (agt_read(&g->key_bytes[i], g->cli, path, &err) != PDR_OK)
        return cli_fail(g->cli, &about, &err);
    g->keys[i] = (pdr_chat_key){pdr_str_n(arg, name_len(arg)),
                                pdr_buf_str(&g->key_bytes[i])};
    if (g->keys[i].bytes.len >= KEY_BYTES &&
        g->keys[i].bytes.len <= MAX_KEY_BYTES)
        return 0;
    pdr_err_set(&err, PDR_EINVALID, "bad_key", "a key has %d to %d bytes",
                KEY_BYTES, MAX_KEY_BYTES);
    return cli_fail(g->cli, &about, &err);
}

int grp_keys_read(struct grp *g)
{
    size_t count = g->key_args.count + 1;
    int status = 0;

    g->keys = cli_realloc(NULL, count, sizeof(*g->keys));
    g->key_bytes = cli_realloc(NULL, count, sizeof(*g->key_bytes));
    for (size_t i = 0; i < count; i++)
        g->key_bytes[i] = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    for (size_t i = 0; status == 0 && i < g->key_args.count; i++)
        status = key_read(g, i);
    return status;
}

/* --- chats ---------------------------------------------------------------- */

pdr_rc grp_chat_make(struct grp *g, pdr_chat_opts *opts, pdr_err *err)
{
    const char *secrets[2] = {g->key_env != NULL ? getenv(g->key_env) : NULL,
                              NULL};
    pdr_rc rc = PDR_OK;

    if (opts->id.len == 0 && g->id != NULL)
        opts->id = pdr_str_c(g->id);
    opts->secrets = secrets;
    CLI_TRY(pdr_chat_new(&g->chat, opts, err));
    for (size_t i = 0; i < g->specs.count; i++) {
        const pdr_chat_joining joining = {.agent = g->made[i].agent};

        CLI_TRY(pdr_chat_join(g->chat, &joining, err));
    }
done:
    opts->secrets = NULL;
    return rc;
}

pdr_rc grp_load(struct grp *g, pdr_err *err)
{
    const pdr_ref ref = grp_ref(g);
    pdr_rc rc = PDR_OK;

    if (g->store == NULL)
        CLI_TRY(sto_open(&g->store, &g->from, "ro", err));
    CLI_TRY(pdr_chat_load(&g->state, g->store, &ref, err));
done:
    return rc;
}

int grp_file_open(struct grp *g)
{
    pdr_chat_open_opts opts = {.key_count = g->key_args.count,
                               .needs_mac = g->needs_mac};
    struct cli_about about = {.name = cli_input_name(g->file)};
    struct cli_input in = {.fd = -1};
    pdr_err err = PDR_ERR_INIT;
    int status = grp_keys_read(g);

    if (status != 0)
        return status;
    opts.keys = g->keys;
    if (cli_input_open(&in, g->cli, g->file, &err) != PDR_OK)
        return cli_fail(g->cli, &about, &err);
    if (pdr_chat_open(&g->state, &opts, &err, cli_input_some, &in) != PDR_OK) {
        about.input = pdr_str_n(in.first, in.first_len);
        (void)cli_input_locate(&about.line, &about.column, &in, err.offset);
        status = grp_fail(g, &about, &err);
    }
    cli_input_close(&in);
    return status;
}

/* --- failures ------------------------------------------------------------- */

/* Who is at work on it, and for how long. */
static void put_holder(pdr_buf *hint, const struct grp *g)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = grp_ref(g)};
    pdr_page *page = NULL;
    char until[40];

    if (g->store != NULL &&
        pdr_store_read(&page, g->store, &query, NULL) == PDR_OK &&
        page->head.lease.owner.ptr != NULL) {
        cli_put(hint, "; if ");
        cli_show_cut(hint, page->head.lease.owner, CLI_TEXT_LINE, 60);
        cli_putf(hint, " has died, the chat is free at %s",
                 sto_time(until, page->head.lease.until_ms));
    }
    pdr_page_free(page);
}

/* What to do about it: "'perdure VERB ... ID REST' TEXT", or TEXT alone. */
static const struct {
    const char *reason, *verb, *rest, *text;
} hints[] = {
    {"chat_changed", "group show", "", "shows what is there; then send again"},
    {"session_exists", "group show", "", "shows it"},
    {"no_session", "group new", "", "makes one"},
    {"session_kind", "session show", "", "shows what it is"},
    {"bad_channel_state", "group restore", " --agent NAME=FILE --rebuild",
     "lets the channel begin anew, from what was said"},
    {"chat_complete", "group send", " TEXT --agent NAME=FILE",
     "says something, and it goes on"},
    {"chat_busy", NULL, NULL, "try again when it is done"},
    {"no_agents", NULL, NULL,
     "write --agent NAME=FILE for each who takes part"},
    {"bad_pattern", NULL, NULL, "--until is a regular expression"},
    {"cannot_carry", NULL, NULL, "--form native holds all of it"},
    {"bad_mac", NULL, NULL, "--key-file ID=FILE names the key of its MAC"},
    {"bad_chain", NULL, NULL, "it was changed or is damaged: get another copy"},
    {"chat_version", NULL, NULL, "a newer program wrote it"},
    {"too_deep", NULL, NULL,
     "a saved chat has up to 128 levels, for Semantic Kernel 64"},
    {"too_large", NULL, NULL, "a saved chat has up to 1 GiB"},
};

/* False: others know. */
static bool put_hint(pdr_buf *hint, const struct grp *g, const char *reason)
{
    bool has_place = g->id != NULL && g->from.uri != NULL;
    size_t i = 0;

    while (i < CLI_COUNT(hints) && strcmp(hints[i].reason, reason) != 0)
        i++;
    if (i == CLI_COUNT(hints) ||
        (strcmp(reason, "bad_mac") == 0 && g->key_args.count > 0))
        return false;
    if (hints[i].verb != NULL && has_place) {
        cli_put(hint, "'");
        eng_put_command(hint, &g->from, hints[i].verb);
        eng_put_word(hint, g->id, "ID");
        cli_putf(hint, "%s' ", hints[i].rest);
    } else if (hints[i].verb != NULL &&
               strcmp(reason, "bad_channel_state") == 0) {
        cli_put(hint, "--rebuild ");
    } else if (hints[i].verb != NULL) {
        return false;
    }
    cli_put(hint, hints[i].text);
    if (strcmp(reason, "chat_busy") == 0)
        put_holder(hint, g);
    cli_must(pdr_buf_append(hint, pdr_str_n("", 1), NULL), NULL);
    return true;
}

int grp_fail(struct grp *g, struct cli_about *about, const pdr_err *err)
{
    pdr_buf hint = PDR_BUF_INIT(SIZE_MAX);
    struct cli_about own = {.name = sto_name(&g->from)};
    int status = 0;

    if (!put_hint(&hint, g, err->reason))
        return about != NULL ? cli_fail(g->cli, about, err)
                             : sto_fail(g->cli, &g->from, err);
    about = about != NULL ? about : &own;
    about->hint = hint.ptr;
    status = cli_fail(g->cli, about, err);
    pdr_buf_dispose(&hint);
    return status;
}
