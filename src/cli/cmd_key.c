/*
 * perdure key - keys of those who use a server.
 *
 *      create ─► shown once ─► list ─► revoke ─► SIGHUP to the server
 */
#include "session_parts.h"

#include <stdlib.h>

struct keyring {
    struct cli *cli;
    const char *file, *id, *tenant, *note;
    struct cli_args scopes;
};

#define FILE_ROW(k) CLI_TEXT(0, "keys", "FILE", &(k)->file, "the file of keys")

static int key_parse(struct keyring *k, const struct cli_opt *opts,
                     size_t count, int argc, char **argv)
{
    if (!cli_parse(k->cli, opts, count, argc, argv))
        return -1;
    if (k->file == NULL)
        return doc_usage(k->cli, "--keys", "it is missing",
                         "write --keys keys.jsonl");
    return 0;
}

static int key_fail(const struct keyring *k, const pdr_err *err)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"no_key", "'perdure key list --keys FILE' has their ids"},
        {"no_key_file", "'perdure key create --keys FILE' makes it"},
    };
    struct cli_about about = {.name = k->file, .hint = ""};

    for (size_t i = 0; i < CLI_COUNT(hints); i++) {
        if (strcmp(hints[i].reason, err->reason) == 0)
            about.hint = hints[i].hint;
    }
    return cli_fail(k->cli, &about, err);
}

/* Members of a key, for programs. */
static void put_key(pdr_builder *to, const pdr_key *key)
{
    pdr_buf date = PDR_BUF_INIT(SIZE_MAX);

    cli_member_text(to, "id", key->id);
    pdr_builder_name(to, pdr_str_c("scopes"));
    pdr_builder_array(to);
    for (unsigned scope = 1; pdr_scope_name(scope) != NULL; scope *= 2) {
        if ((key->scopes & scope) != 0)
            pdr_builder_string(to, pdr_str_c(pdr_scope_name(scope)));
    }
    pdr_builder_end(to);
    cli_member_text(to, "tenant", key->tenant);
    cli_must(
        pdr_datetime_write(&date, &key->created, PDR_DATETIME_OURS_Z, NULL),
        NULL);
    cli_member_text(to, "created", pdr_buf_str(&date));
    if (key->note.ptr != NULL)
        cli_member_text(to, "note", key->note);
    pdr_buf_dispose(&date);
}

/* --- create ----------------------------------------------------------------
 */

/* Of the words of --scope; 0: one of them is not a scope, and that was told. */
static unsigned scopes_read(struct keyring *k)
{
    unsigned scopes = 0;

    for (size_t i = 0; i < k->scopes.count; i++) {
        unsigned one = pdr_scope_find(pdr_str_c(k->scopes.items[i]));

        if (one == 0) {
            (void)doc_usage(k->cli, "--scope",
                            "it is read, run, write or admin",
                            "write --scope read --scope run");
            return 0;
        }
        scopes |= one;
    }
    return scopes != 0 ? scopes : PDR_SCOPE_READ | PDR_SCOPE_RUN;
}

static int run_create(struct cli *cli, int argc, char **argv)
{
    struct keyring k = {.cli = cli};
    pdr_buf shown = PDR_BUF_INIT(SIZE_MAX);
    pdr_key key = {.scopes = 0};
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        FILE_ROW(&k),
        CLI_LIST(0, "scope", "SCOPE", &k.scopes,
                 "read, run, write or admin; may be repeated"),
        CLI_TEXT(0, "tenant", "TENANT", &k.tenant,
                 "whose sessions it leads to (default default)"),
        CLI_TEXT(0, "note", "TEXT", &k.note, "whom it is for"),
    };
    status = key_parse(&k, opts, CLI_COUNT(opts), argc, argv);
    if (status == 0) {
        key.scopes = scopes_read(&k);
        status = key.scopes != 0 ? 0 : CLI_EXIT_USAGE;
    }
    free(k.scopes.items);
    if (status != 0)
        return status < 0 ? cli->status : status;
    key.tenant = pdr_str_c(k.tenant);
    key.note = pdr_str_c(k.note);
    if (pdr_key_create(&shown, k.file, &key, &err) != PDR_OK) {
        status = key_fail(&k, &err);
    } else if (cli_is_json(cli)) {
        to = ses_object_new();
        cli_member_text(to, "key", pdr_buf_str(&shown));
        ses_object_print(cli, stdout, to);
    } else {
        printf("%.*s\n", (int)shown.len, shown.ptr);
    }
    if (status == 0 && !cli->quiet && !cli_is_json(cli))
        cli_fprintf(stderr, "perdure: this is the only time that the key is "
                            "shown; SIGHUP lets a server know of it\n");
    pdr_buf_dispose(&shown);
    return cli_finish(cli, status);
}

static const struct cli_command key_create = {
    .name = "key create",
    .summary = "draw a key, add it to a file, and show it once",
    .usage = "[OPTIONS] --keys FILE",
    .run = run_create};

/* --- list ------------------------------------------------------------------
 */

static const struct ses_column columns[] = {{"ID", false, 0},
                                            {"SCOPES", false, 0},
                                            {"TENANT", false, 8},
                                            {"CREATED", false, 0},
                                            {"NOTE", false, 8}};

static void print_table(const struct cli *cli, const pdr_keys *keys)
{
    struct ses_grid grid;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    ses_grid_init(&grid, columns, CLI_COUNT(columns));
    for (size_t i = 0; i < pdr_keys_count(keys); i++) {
        const pdr_key *key = pdr_keys_at(keys, i);

        ses_grid_put(&grid, key->id);
        pdr_buf_clear(&text);
        for (unsigned scope = 1; pdr_scope_name(scope) != NULL; scope *= 2) {
            if ((key->scopes & scope) != 0)
                cli_putf(&text, "%s%s", text.len > 0 ? "," : "",
                         pdr_scope_name(scope));
        }
        ses_grid_put(&grid, pdr_buf_str(&text));
        ses_grid_put(&grid, key->tenant);
        pdr_buf_clear(&text);
        cli_must(
            pdr_datetime_write(&text, &key->created, PDR_DATETIME_OURS_Z, NULL),
            NULL);
        ses_grid_put(&grid, pdr_buf_str(&text));
        ses_grid_put(&grid, key->note);
    }
    ses_grid_print(&grid, cli);
    ses_grid_free(&grid);
    pdr_buf_dispose(&text);
}

static void print_objects(const struct cli *cli, const pdr_keys *keys)
{
    pdr_builder *to = NULL;

    if (cli->output == CLI_OUTPUT_JSON)
        puts("[");
    for (size_t i = 0; i < pdr_keys_count(keys); i++) {
        to = ses_object_new();
        put_key(to, pdr_keys_at(keys, i));
        if (cli->output == CLI_OUTPUT_JSON && i > 0)
            fputs(",", stdout);
        ses_object_print(cli, stdout, to);
    }
    if (cli->output == CLI_OUTPUT_JSON)
        puts("]");
}

static int run_list(struct cli *cli, int argc, char **argv)
{
    struct keyring k = {.cli = cli};
    pdr_keys *keys = NULL;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {FILE_ROW(&k)};
    status = key_parse(&k, opts, CLI_COUNT(opts), argc, argv);
    if (status != 0)
        return status < 0 ? cli->status : status;
    if (pdr_keys_read(&keys, k.file, &err) != PDR_OK)
        return key_fail(&k, &err);
    if (cli_is_json(cli)) {
        print_objects(cli, keys);
    } else if (cli->output == CLI_OUTPUT_RAW) {
        for (size_t i = 0; i < pdr_keys_count(keys); i++)
            printf("%.*s\n", (int)pdr_keys_at(keys, i)->id.len,
                   pdr_keys_at(keys, i)->id.ptr);
    } else {
        print_table(cli, keys);
    }
    pdr_keys_free(keys);
    return cli_finish(cli, 0);
}

static const struct cli_command key_list = {
    .name = "key list",
    .summary = "the keys of a file, without their secrets",
    .usage = "[OPTIONS] --keys FILE",
    .run = run_list};

/* --- revoke ----------------------------------------------------------------
 */

static int run_revoke(struct cli *cli, int argc, char **argv)
{
    struct keyring k = {.cli = cli};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {CLI_ARG("ID", &k.id, "the id of the key"),
                                   FILE_ROW(&k)};
    status = key_parse(&k, opts, CLI_COUNT(opts), argc, argv);
    if (status != 0)
        return status < 0 ? cli->status : status;
    if (pdr_key_revoke(k.file, pdr_str_c(k.id), &err) != PDR_OK)
        return key_fail(&k, &err);
    if (!cli->quiet && !cli_is_json(cli))
        cli_fprintf(stderr, "perdure: a server that runs takes the key until "
                            "it gets SIGHUP\n");
    return 0;
}

static const struct cli_command key_revoke = {
    .name = "key revoke",
    .summary = "take a key out of a file",
    .usage = "[OPTIONS] --keys FILE ID",
    .run = run_revoke};

static const struct cli_command *const verbs[] = {&key_create, &key_list,
                                                  &key_revoke, NULL};

const struct cli_command cli_cmd_key = {
    .name = "key",
    .summary = "keys of a server: create, list, revoke",
    .verbs = verbs};
