/*
 * perdure store init - make a store.
 *
 * WHY  A key is chosen when a store is made, and a name that was misspelled is
 *      not to become a new store in passing. So making one is a verb of its
 *      own, and what is there is refused.
 *
 * The store that is used when none is named lies in a folder of the user, which
 * is made with it, for the user alone.
 */
#include "session_parts.h"

#include <errno.h>
#include <sys/stat.h>

/* The folders above the default store. */
static pdr_rc make_folders(const struct sto_from *s, pdr_err *err)
{
    char path[sizeof(s->path)];

    snprintf(path, sizeof(path), "%s", s->path);
    for (char *at = strchr(path + 1, '/'); at != NULL;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return pdr_err_set(err, PDR_EIO, "file_failed",
                               "the folder %.160s cannot be made: %s", path,
                               strerror(errno));
        *at = '/';
    }
    return PDR_OK;
}

/* What is there is opened, not looked for: only the library knows which file a
 * URI means. Who makes the same store at the same moment gets it, too, and
 * nothing is lost by that. */
static pdr_rc refuse_old(const struct sto_from *s, pdr_err *err)
{
    pdr_store *store = NULL;
    pdr_rc rc = sto_open(&store, s, "ro", err);

    if (rc == PDR_ENOTFOUND)
        return PDR_OK;
    if (rc == PDR_OK)
        rc = sto_check_lasting(store, err);
    pdr_store_close(store);
    return rc == PDR_OK ? pdr_err_set(err, PDR_EEXISTS, "store_exists",
                                      "there is a store already")
                        : rc;
}

static pdr_rc make(pdr_store_info *info, const struct sto_from *s, pdr_err *err)
{
    pdr_store *store = NULL;
    pdr_rc rc = refuse_old(s, err);

    if (rc == PDR_OK && s->is_default)
        rc = make_folders(s, err);
    if (rc == PDR_OK)
        rc = sto_open(&store, s, "rwc", err);
    if (rc == PDR_OK)
        rc = pdr_store_info_get(info, store, err);
    pdr_store_close(store);
    return rc;
}

static void print_object(const struct cli *cli, const struct sto_from *s,
                         const pdr_store_info *info)
{
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "store", pdr_str_c(sto_name(s)));
    cli_member_text(to, "backend", pdr_str_c(info->backend));
    cli_member_count(to, "schema", info->schema);
    cli_member_bool(to, "keyed", info->keyed);
    pdr_builder_end(to);
    ses_print_built(cli, stdout, to);
    pdr_builder_free(to);
}

static int fail(const struct cli *cli, const struct sto_from *s,
                const pdr_err *err)
{
    struct cli_about about = {.name = sto_name(s),
                              .hint = "nothing was changed; 'perdure store "
                                      "info' shows what it is"};

    return strcmp(err->reason, "store_exists") == 0 ? cli_fail(cli, &about, err)
                                                    : sto_fail(cli, s, err);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct sto_from from = {.uri = NULL};
    pdr_store_info info = {.backend = NULL};
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {STO_ROWS(&from)};
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = sto_from_check(cli, &from);
    if (status != 0)
        return status;
    if (make(&info, &from, &err) != PDR_OK)
        return fail(cli, &from, &err);
    if (cli_is_json(cli)) {
        print_object(cli, &from, &info);
    } else if (!cli->quiet) {
        cli_show(&name, pdr_str_c(sto_name(&from)), CLI_TEXT_LINE);
        printf("%.*s: a new store, %s, schema %u%s\n", (int)name.len, name.ptr,
               info.backend, (unsigned)info.schema,
               info.keyed ? ", its digests have a key" : "");
    }
    pdr_buf_dispose(&name);
    return 0;
}

const struct cli_command cli_cmd_store_init = {.name = "store init",
                                               .summary = "make a store",
                                               .usage = "[OPTIONS] [STORE]",
                                               .run = run};
