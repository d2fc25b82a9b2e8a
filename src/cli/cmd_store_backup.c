/*
 * perdure store backup - copy a store into a file while others write.
 *
 * The store is opened for reading only: a backup changes nothing in it, and
 * needs no right to. An interrupt ends it between two steps, so that nothing is
 * left of the copy; what stood in its place stays.
 */
#include "session_parts.h"

#include <signal.h>
#include <time.h>

struct backup {
    struct cli *cli;
    struct sto_from from;
    const char *to;
    bool yes;
    struct cli_progress progress;
    pdr_backup_report report;
    double seconds;
};

static volatile sig_atomic_t interrupted; /* by this signal; 0: no */

static void on_interrupt(int number)
{
    interrupted = number;
}

static void listen_to_signals(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_interrupt};
    struct sigaction old;

    for (size_t i = 0; i < CLI_COUNT(ending); i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

static double now_seconds(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static pdr_rc on_step(void *arg, const pdr_backup_report *report, pdr_err *err)
{
    struct backup *b = arg;

    b->progress.total = report->bytes;
    cli_progress_add(&b->progress,
                     (size_t)(report->done_bytes - b->progress.done));
    return interrupted == 0 ? PDR_OK
                            : pdr_err_set(err, PDR_ECANCELLED, "interrupted",
                                          "the backup was interrupted");
}

static pdr_rc back_up(struct backup *b, pdr_store *store, pdr_err *err)
{
    double began = now_seconds();
    pdr_rc rc = PDR_OK;

    listen_to_signals();
    cli_progress_begin(&b->progress, b->cli, b->to, 0);
    rc = pdr_store_backup(&b->report, store, b->to, b->yes, err, on_step, b);
    cli_progress_end(&b->progress);
    b->seconds = now_seconds() - began;
    return rc;
}

static void print_line(const struct backup *b)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    char size[32];

    cli_show(&name, pdr_str_c(b->to), CLI_TEXT_LINE);
    printf("%.*s: a copy of ", (int)name.len, name.ptr);
    name.len = 0;
    cli_show(&name, pdr_str_c(sto_name(&b->from)), CLI_TEXT_LINE);
    printf("%.*s, %s in %.1f s\n", (int)name.len, name.ptr,
           cli_size(size, b->report.bytes), b->seconds);
    pdr_buf_dispose(&name);
}

static void print_object(const struct backup *b)
{
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "store", pdr_str_c(sto_name(&b->from)));
    cli_member_text(to, "backup", pdr_str_c(b->to));
    cli_member_count(to, "bytes", b->report.bytes);
    cli_member_count(to, "steps", b->report.steps);
    cli_member_count(to, "milliseconds", (uint64_t)(b->seconds * 1000));
    pdr_builder_end(to);
    ses_print_built(b->cli, stdout, to);
    pdr_builder_free(to);
}

/* What a backup says is about the copy, unless it is about what it read. */
static int fail(const struct backup *b, const pdr_err *err)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"bad_target", "nothing was changed; name another file"},
        {"no_folder", "make the folder first, or name another file"},
        {"read_only", "nothing was changed; name a file that you may write"},
        {"unsafe_file", "nothing was changed"},
        {"disk_full", "nothing was changed; make room, or name another place"},
        {"file_failed", "look at the disks of both, then try again"},
        {"store_locked", "nothing was changed; close it there, or name another "
                         "file"},
        {"no_backup", "name a store that is a file"},
    };
    struct cli_about about = {.name = b->to};

    if (err->code == PDR_ECORRUPT)
        return sto_fail(b->cli, &b->from, err);
    if (err->code == PDR_EUNSUPPORTED)
        about.name = sto_name(&b->from);
    for (size_t i = 0; i < CLI_COUNT(hints); i++)
        if (strcmp(hints[i].reason, err->reason) == 0)
            about.hint = hints[i].hint;
    return cli_fail(b->cli, &about, err);
}

/* A name that means something else elsewhere is not to become a file. */
static int check_names(struct backup *b)
{
    int status = sto_from_check(b->cli, &b->from);

    if (status == 0 && (strcmp(b->to, "-") == 0 || sto_has_scheme(b->to)))
        status = doc_usage(b->cli, "TO", "it is no file",
                           "a backup is a file; one with such a name is "
                           "written with ./ in front");
    return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct backup b = {.cli = cli};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("FROM", &b.from.word, "the store; a bare path is SQLite"),
        CLI_ARG("TO", &b.to, "the file that the copy becomes"),
        STO_KEY_ROW(&b.from),
        CLI_FLAG('y', "yes", &b.yes, "replace TO if it exists"),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = check_names(&b);
    if (status != 0)
        return status;
    if (sto_open(&store, &b.from, "ro", &err) != PDR_OK)
        status = sto_fail(cli, &b.from, &err);
    else if (back_up(&b, store, &err) != PDR_OK)
        status = interrupted != 0 && err.code == PDR_ECANCELLED
                     ? CLI_EXIT_SIGNAL + (int)interrupted
                     : fail(&b, &err);
    else if (cli_is_json(cli))
        print_object(&b);
    else if (!cli->quiet)
        print_line(&b);
    pdr_store_close(store);
    return status;
}

const struct cli_command cli_cmd_store_backup = {
    .name = "store backup",
    .summary = "copy a store into a file while others write",
    .usage = "[OPTIONS] FROM TO",
    .run = run};
