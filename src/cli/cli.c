/*
 * cli.c - output, colour and errors, alike for all commands.
 *
 * Data goes to standard output, everything else to standard error. A failure
 * is one line that says what and why, and one that says what to do.
 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* --- streams ------------------------------------------------------------- */

static bool is_set(const char *value)
{
    return value != NULL && value[0] != '\0';
}

static bool is_forced(const char *value)
{
    return is_set(value) && strcmp(value, "0") != 0;
}

bool cli_color_wanted(enum cli_when when, const struct cli_color_env *env,
                      bool terminal)
{
    if (when != CLI_AUTO)
        return when == CLI_ALWAYS;
    if (is_set(env->no_color))
        return false;
    if (is_forced(env->force_color) || is_forced(env->clicolor_force))
        return true;
    if (env->clicolor != NULL && strcmp(env->clicolor, "0") == 0)
        return false;
    if (env->term != NULL && strcmp(env->term, "dumb") == 0)
        return false;
    return terminal;
}

bool cli_is_utf8(const char *all, const char *ctype, const char *lang)
{
    const char *first = is_set(all) ? all : is_set(ctype) ? ctype : lang;

    return is_set(first) && (strcasestr(first, "utf-8") != NULL ||
                             strcasestr(first, "utf8") != NULL);
}

static size_t terminal_width(void)
{
    struct winsize size = {.ws_col = 0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

void cli_setup_streams(struct cli *cli)
{
    const struct cli_color_env env = {getenv("NO_COLOR"), getenv("FORCE_COLOR"),
                                      getenv("CLICOLOR_FORCE"),
                                      getenv("CLICOLOR"), getenv("TERM")};
    enum cli_when when = (enum cli_when)cli->color;
    bool table = cli->output == CLI_OUTPUT_TABLE;

    cli->tty_out = isatty(STDOUT_FILENO) == 1;
    cli->tty_err = isatty(STDERR_FILENO) == 1;
    cli_text_setup(cli->tty_out, cli->tty_err);
    cli->width = terminal_width();
    cli->utf8 =
        cli_is_utf8(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"));
    /* JSON and raw bytes are for programs: colour would break them. */
    cli->color_out = table && cli_color_wanted(when, &env, cli->tty_out);
    cli->color_err =
        !cli_is_json(cli) && cli_color_wanted(when, &env, cli->tty_err);
}

void cli_print(const struct cli *cli, pdr_str text)
{
    pdr_buf shown = PDR_BUF_INIT(SIZE_MAX);

    if (!cli->tty_out || cli->output == CLI_OUTPUT_RAW) {
        fwrite(text.ptr, 1, text.len, stdout);
        return;
    }
    cli_show(&shown, text, CLI_TEXT_PAGE);
    fwrite(shown.ptr, 1, shown.len, stdout);
    pdr_buf_dispose(&shown);
}

void cli_print_json(const struct cli *cli, const pdr_value *value)
{
    const pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_json_write(&text, value, &opts, &err), &err);
    cli_print(cli, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

int cli_finish(const struct cli *cli, int status)
{
    pdr_err err = PDR_ERR_INIT;
    bool lost = ferror(stdout) != 0;

    if (fflush(stdout) == 0 && !lost)
        return status;
    /* An earlier write may have set it, and nothing since. */
    pdr_err_set(&err, PDR_EIO, "cannot_write", "%s", strerror(errno));
    return cli_fail(cli, &(struct cli_about){.name = "standard output"}, &err);
}

void cli_must(pdr_rc rc, const pdr_err *err)
{
    if (rc == PDR_OK)
        return;
    fprintf(stderr, "perdure: %s: %s\n",
            rc == PDR_ENOMEM ? "memory" : "internal error",
            err != NULL && err->message[0] != '\0' ? err->message
                                                   : pdr_rc_text(rc));
    cli_output_discard();
    exit(CLI_EXIT_INTERNAL);
}

void *cli_realloc(void *old, size_t count, size_t size)
{
    void *room = reallocarray(old, count > 0 ? count : 1, size);

    if (room == NULL)
        cli_must(PDR_ENOMEM, NULL);
    return room;
}

/* --- failures ------------------------------------------------------------ */

void cli_member_place(pdr_builder *to, const struct cli_place *place)
{
    static const char mark[] = "...";
    bool cut = strncmp(place->path, mark, sizeof(mark) - 1) == 0;
    const char *path = cut ? place->path + sizeof(mark) - 1 : place->path;

    /* A path is escaped already, see pdr_err; without its front it is no JSON
     * Pointer and must not be taken for one. */
    pdr_builder_name(to, pdr_str_c(cut ? "pointerEnd" : "pointer"));
    pdr_builder_escaped(to, pdr_str_c(path));
    if (place->document > 0)
        cli_member_count(to, "document", place->document);
    if (place->offset >= 0)
        cli_member_count(to, "offset", (uint64_t)place->offset);
    if (place->line == 0)
        return;
    cli_member_count(to, "line", place->line);
    cli_member_count(to, "column", place->column);
}

/* A URI such as "memory:" has its own. */
static const char *colon_behind(const char *what)
{
    size_t len = strlen(what);

    return len > 0 && what[len - 1] == ':' ? "" : ":";
}

static void report_json(const char *what, const char *why, const char *hint,
                        const struct cli_problem *problem)
{
    pdr_builder *to = NULL;
    pdr_value *object = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "title", pdr_str_c(problem->title));
    cli_putf(&text, "%s%s %s", what, colon_behind(what), why);
    cli_member_text(to, "detail", pdr_buf_str(&text));
    cli_member_text(to, "code", pdr_str_c(problem->code));
    cli_member_text(to, "reason", pdr_str_c(problem->reason));
    cli_member_count(to, "exit", (uint64_t)problem->status);
    if (problem->place != NULL)
        cli_member_place(to, problem->place);
    if (hint[0] != '\0')
        cli_member_text(to, "hint", pdr_str_c(hint));
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&object, to, &err), &err);
    pdr_buf_clear(&text);
    cli_must(pdr_json_write(&text, object, NULL, &err), &err);
    cli_fprintf(stderr, "%.*s\n", (int)text.len, text.ptr);
    pdr_value_free(object);
    pdr_builder_free(to);
    pdr_buf_dispose(&text);
}

void cli_report(const struct cli *cli, const char *what, const char *why,
                const char *hint, const struct cli_problem *problem)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    bool colored = cli->color_err;

    if (cli_is_json(cli)) {
        report_json(what, why, hint, problem);
        return;
    }
    cli_putf(&line, "%sperdure:%s ", cli_on(colored, CLI_RED),
             cli_off(colored));
    cli_show(&line, pdr_str_c(what), CLI_TEXT_LINE);
    cli_putf(&line, "%s ", colon_behind(what));
    cli_show(&line, pdr_str_c(why), CLI_TEXT_LINE);
    if (hint[0] != '\0' && !cli->quiet) {
        cli_putf(&line, "\n%shint:%s ", cli_on(colored, CLI_CYAN),
                 cli_off(colored));
        cli_show(&line, pdr_str_c(hint), CLI_TEXT_LINE);
    }
    cli_fprintf(stderr, "%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

const char *cli_message(const pdr_err *err, size_t line, size_t column)
{
    char place[64];
    int len =
        snprintf(place, sizeof(place), "line %zu, column %zu: ", line, column);
    bool repeats = len > 0 && strncmp(err->message, place, (size_t)len) == 0;

    return repeats ? err->message + len : err->message;
}

/* Does the input reach to the place of the failure, and has it lines? */
static bool has_line(const struct cli_about *about, const pdr_err *err)
{
    return about->input.ptr != NULL && err->offset >= 0 &&
           (uint64_t)err->offset <= about->input.len &&
           cli_is_text(about->input, err->offset);
}

/* "a.json:2:7", "a.msgpack: document 3, byte 17" */
static void put_what(pdr_buf *out, const struct cli_place *place,
                     const struct cli_about *about, const pdr_err *err)
{
    cli_put(out, about->name[0] != '\0' ? about->name : "''");
    if (place->line > 0)
        cli_putf(out, ":%zu:%zu", place->line, place->column);
    if (about->document > 0)
        cli_putf(out, ": document %ju", (uintmax_t)about->document);
    if (place->line == 0 && err->offset >= 0)
        cli_putf(out, "%s byte %jd", about->document > 0 ? "," : ":",
                 (intmax_t)err->offset);
    cli_must(pdr_buf_append(out, pdr_str_n("", 1), NULL), NULL);
}

int cli_fail(const struct cli *cli, const struct cli_about *about,
             const pdr_err *err)
{
    struct cli_place place = {err->path, about->document, err->offset,
                              about->line, about->column};
    struct cli_problem problem = {pdr_rc_name(err->code),
                                  pdr_rc_text(err->code), err->reason,
                                  pdr_rc_exit_status(err->code), NULL};
    const char *hint = about->hint;
    pdr_buf what = PDR_BUF_INIT(SIZE_MAX), why = PDR_BUF_INIT(SIZE_MAX);

    if (place.line == 0 && has_line(about, err))
        pdr_err_locate(&place.line, &place.column, about->input, err->offset);
    put_what(&what, &place, about, err);
    if (place.document > 0 || place.offset >= 0 || err->path[0] != '\0')
        problem.place = &place;
    cli_put(&why, cli_message(err, place.line, place.column));
    if (err->path[0] != '\0')
        cli_putf(&why, ", at %s", err->path);
    cli_must(pdr_buf_append(&why, pdr_str_n("", 1), NULL), NULL);
    if (hint == NULL)
        hint = cli_hint(err, about->input, 0);
    cli_report(cli, what.ptr, why.ptr, hint, &problem);
    pdr_buf_dispose(&why);
    pdr_buf_dispose(&what);
    return problem.status;
}
