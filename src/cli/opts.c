/*
 * opts.c - arguments by table.
 *
 * WHY  What a command accepts, what its help says and what its man page has to
 *      describe are one fact. It stands in a table of struct cli_opt; parsing,
 *      help and the description for tests and completion are made from it.
 *
 * FORMS  --name, --name=value, --name value, -n, -nvalue, -n value, -abc for
 *      flags; "--" ends the options; "-" alone is an argument.
 */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAX_ROWS                                                \
    32 /* rows of the longest table, with those of all commands \
        */

/* Where the parser stands. */
struct parse {
    struct cli_usage *bad;
    const struct cli_opt *opts;
    size_t count;
    int argc;
    char **argv;
    int next;          /* argument to look at next */
    size_t positional; /* positional arguments so far; moved to argv's front */
};

/* Only the first mistake counts. */
static void complain(struct cli_usage *bad, const char *reason,
                     const char *what, const char *why)
{
    if (bad->reason != NULL)
        return;
    bad->reason = reason;
    snprintf(bad->what, sizeof(bad->what), "%s", what);
    snprintf(bad->why, sizeof(bad->why), "%s", why);
}

static void advise(struct cli_usage *bad, const char *fmt, ...)
    PDR_PRINTF(2, 3);
static void advise(struct cli_usage *bad, const char *fmt, ...)
{
    va_list args;

    if (bad->hint[0] != '\0')
        return;
    va_start(args, fmt);
    vsnprintf(bad->hint, sizeof(bad->hint), fmt, args);
    va_end(args);
}

static bool is_positional(const struct cli_opt *opt)
{
    return opt->kind == CLI_KIND_ARG || opt->kind == CLI_KIND_MAY ||
           opt->kind == CLI_KIND_ARGS;
}

/* --- nearest name -------------------------------------------------------- */

#define MAX_NAME 32 /* longer words are no slip of the finger */

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Insertions, deletions, replacements and swaps of neighbours from a to b. */
static size_t distance(const char *a, const char *b)
{
    size_t cost[MAX_NAME + 1][MAX_NAME + 1];
    size_t a_len = strlen(a), b_len = strlen(b);

    if (a_len > MAX_NAME || b_len > MAX_NAME)
        return SIZE_MAX;
    for (size_t i = 0; i <= a_len; i++) {
        for (size_t j = 0; j <= b_len; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            cost[i][j] = least(cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                               cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] =
                    least(cost[i][j], cost[i - 2][j - 2] + 1, SIZE_MAX);
        }
    }
    return cost[a_len][b_len];
}

const char *cli_nearest(const char *word, const char *const *names,
                        size_t count)
{
    const char *found = NULL;
    size_t best =
        strlen(word) / 3 + 2; /* one slip per three letters, and one */

    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, names[i]);
        /* A name that shares no letter in place is no suggestion. */
        if (d < best && d < strlen(names[i])) {
            best = d;
            found = names[i];
        }
    }
    return found;
}

/* --- values -------------------------------------------------------------- */

static bool read_u64(uint64_t *out, const char *text, bool bytes)
{
    char *end = NULL;
    unsigned shift = 0;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    if (bytes && *end != '\0') {
        const char *units = "KMG";
        const char *unit = strchr(units, *end & ~0x20);
        if (unit == NULL || end[1] != '\0')
            return false;
        shift = 10u * (unsigned)(unit - units + 1);
        end++;
    }
    *out = (uint64_t)number << shift;
    return *end == '\0' && *out >> shift == number;
}

static void set_number(struct parse *p, const struct cli_opt *opt,
                       const char *shown, const char *value)
{
    uint64_t number = 0;
    bool bytes = opt->kind == CLI_KIND_BYTES;
    char why[160];

    if (read_u64(&number, value, bytes) && number >= opt->min &&
        number <= opt->max) {
        *(uint64_t *)opt->out = number;
        return;
    }
    snprintf(why, sizeof(why), "'%.40s' is no number from %ju to %ju", value,
             (uintmax_t)opt->min, (uintmax_t)opt->max);
    complain(p->bad, "bad_value", shown, why);
    if (bytes)
        advise(p->bad, "write digits, and K, M or G for a unit, as in 64M");
}

static void set_word(struct parse *p, const struct cli_opt *opt,
                     const char *shown, const char *value)
{
    size_t count = 0;
    char why[160];
    pdr_buf list = PDR_BUF_INIT(SIZE_MAX);

    for (; opt->words[count] != NULL; count++) {
        if (strcmp(opt->words[count], value) == 0) {
            *(uint64_t *)opt->out = count;
            pdr_buf_dispose(&list);
            return;
        }
        cli_putf(&list, "%s%s", count > 0 ? ", " : "", opt->words[count]);
    }
    snprintf(why, sizeof(why), "'%.40s' is not offered", value);
    complain(p->bad, "bad_value", shown, why);
    advise(p->bad, "choose one of %.*s", (int)list.len, list.ptr);
    pdr_buf_dispose(&list);
}

static void set_value(struct parse *p, const struct cli_opt *opt,
                      const char *shown, char *value)
{
    struct cli_args *list = opt->out;

    if (opt->kind == CLI_KIND_WORD) {
        set_word(p, opt, shown, value);
    } else if (opt->kind == CLI_KIND_LIST) {
        list->items =
            cli_realloc(list->items, list->count + 1, sizeof(*list->items));
        list->items[list->count++] = value;
    } else if (opt->kind == CLI_KIND_TEXT) {
        *(const char **)opt->out = value;
    } else {
        set_number(p, opt, shown, value);
    }
}

/* The value that follows as an argument of its own. */
static void take_value(struct parse *p, const struct cli_opt *opt,
                       const char *shown)
{
    if (p->next < p->argc) {
        set_value(p, opt, shown, p->argv[p->next++]);
        return;
    }
    complain(p->bad, "missing_value", shown, "a value is missing");
    advise(p->bad, "write %s %s", shown, opt->value);
}

/* --- options ------------------------------------------------------------- */

static void unknown_long(struct parse *p, const char *shown, const char *name)
{
    const char *names[MAX_ROWS];
    const char *near = NULL;
    size_t count = 0;

    complain(p->bad, "unknown_option", shown, "no such option");
    for (size_t i = 0; i < p->count && count < MAX_ROWS; i++)
        if (!is_positional(&p->opts[i]))
            names[count++] = p->opts[i].name;
    near = cli_nearest(name, names, count);
    if (near != NULL)
        advise(p->bad, "did you mean '--%s'?", near);
}

static void parse_long(struct parse *p, char *arg)
{
    size_t len = strcspn(arg + 2, "=");
    char *value = arg[2 + len] == '=' ? arg + 3 + len : NULL;
    char shown[80];

    snprintf(shown, sizeof(shown), "%.*s", (int)(len < 70 ? len + 2 : 72), arg);
    for (size_t i = 0; i < p->count; i++) {
        const struct cli_opt *opt = &p->opts[i];
        if (is_positional(opt) || strlen(opt->name) != len ||
            memcmp(opt->name, arg + 2, len) != 0)
            continue;
        if (opt->kind == CLI_KIND_FLAG && value != NULL)
            complain(p->bad, "extra_value", shown, "takes no value");
        else if (opt->kind == CLI_KIND_FLAG)
            *(bool *)opt->out = true;
        else if (value != NULL)
            set_value(p, opt, shown, value);
        else
            take_value(p, opt, shown);
        return;
    }
    unknown_long(p, shown, shown + 2);
}

static const struct cli_opt *find_letter(const struct parse *p, char letter)
{
    for (size_t i = 0; i < p->count; i++)
        if (!is_positional(&p->opts[i]) && p->opts[i].letter == letter)
            return &p->opts[i];
    return NULL;
}

static void parse_letters(struct parse *p, char *arg)
{
    for (char *at = arg + 1; *at != '\0'; at++) {
        const char shown[] = {'-', *at, '\0'};
        const struct cli_opt *opt = find_letter(p, *at);
        if (opt == NULL) {
            complain(p->bad, "unknown_option", shown, "no such option");
            return;
        }
        if (opt->kind == CLI_KIND_FLAG) {
            *(bool *)opt->out = true;
            continue;
        }
        if (at[1] != '\0')
            set_value(p, opt, shown, at + 1);
        else
            take_value(p, opt, shown);
        return;
    }
}

/* --- positional arguments ------------------------------------------------ */

static void missing(struct parse *p, const struct cli_opt *opt)
{
    complain(p->bad, "missing_argument", opt->name, "an argument is missing");
}

/* Hand the collected arguments, now at the front of argv, to the rows. */
static void assign(struct parse *p)
{
    size_t at = 0;

    for (size_t i = 0; i < p->count; i++) {
        const struct cli_opt *opt = &p->opts[i];
        if (!is_positional(opt))
            continue;
        if (opt->kind == CLI_KIND_ARGS) {
            struct cli_args *all = opt->out;
            all->items = p->argv + 1 + at;
            all->count = p->positional - at;
            at = p->positional;
            if (all->count == 0)
                missing(p, opt);
        } else if (at < p->positional) {
            *(const char **)opt->out = p->argv[1 + at++];
        } else if (opt->kind == CLI_KIND_ARG) {
            missing(p, opt);
        }
    }
    if (at < p->positional)
        complain(p->bad, "extra_argument", p->argv[1 + at],
                 "one argument too many");
}

bool cli_opts_parse(struct cli_usage *bad, const struct cli_opt *opts,
                    size_t count, int argc, char **argv)
{
    struct parse p = {bad, opts, count, argc, argv, 1, 0};
    bool options_end = false;

    memset(bad, 0, sizeof(*bad));
    while (p.next < argc) {
        char *arg = argv[p.next++];
        if (options_end || arg[0] != '-' || arg[1] == '\0')
            argv[1 + p.positional++] = arg;
        else if (strcmp(arg, "--") == 0)
            options_end = true;
        else if (arg[1] == '-')
            parse_long(&p, arg);
        else
            parse_letters(&p, arg);
    }
    assign(&p);
    return bad->reason == NULL;
}

/* --- options of every command -------------------------------------------- */

static const char *const output_words[] = {"table", "json", "jsonl", "raw",
                                           NULL};
static const char *const when_words[] = {"auto", "always", "never", NULL};

#define GLOBAL_ROWS 4

static void global_rows(struct cli_opt *rows, struct cli *cli)
{
    /* clang-format off */
    const struct cli_opt all[GLOBAL_ROWS] = {
        CLI_WORD('o', "output", "FORMAT", &cli->output, output_words,
                 "table, json, jsonl or raw (default table)"),
        CLI_WORD(0, "color", "WHEN", &cli->color, when_words,
                 "auto, always or never (default auto)"),
        CLI_FLAG('q', "quiet", &cli->quiet,
                 "no progress, no hints, no summary"),
        CLI_FLAG('h', "help", &cli->help, "show this help"),
    };
    /* clang-format on */

    memcpy(rows, all, sizeof(all));
}

/* The variable counts only where no option says otherwise. */
static void apply_output_variable(struct cli *cli, struct cli_usage *bad)
{
    const char *value = getenv("PERDURE_OUTPUT");

    cli->output = CLI_OUTPUT_TABLE;
    if (value == NULL || value[0] == '\0')
        return;
    for (size_t i = 0; output_words[i] != NULL; i++) {
        if (strcmp(output_words[i], value) == 0) {
            cli->output = i;
            return;
        }
    }
    complain(bad, "bad_value", "PERDURE_OUTPUT",
             "the variable names no output format");
    advise(bad, "choose one of table, json, jsonl, raw");
}

int cli_parse_between(struct cli *cli, struct cli_usage *bad, int argc,
                      char **argv)
{
    struct cli_opt rows[GLOBAL_ROWS];
    struct parse p = {bad, rows, GLOBAL_ROWS, argc, argv, 1, 0};

    global_rows(rows, cli);
    while (p.next < argc && argv[p.next][0] == '-') {
        char *arg = argv[p.next++];
        if (strcmp(arg, "--") == 0)
            break;
        if (arg[1] == '-')
            parse_long(&p, arg);
        else
            parse_letters(&p, arg);
    }
    cli_setup_streams(cli);
    return p.next;
}

int cli_parse_front(struct cli *cli, struct cli_usage *bad, int argc,
                    char **argv)
{
    memset(bad, 0, sizeof(*bad));
    apply_output_variable(cli, bad);
    return cli_parse_between(cli, bad, argc, argv);
}

void cli_parse_rest(struct cli *cli, int argc, char **argv)
{
    struct cli_opt rows[GLOBAL_ROWS];
    struct cli_usage ignored;

    global_rows(rows, cli);
    (void)cli_opts_parse(&ignored, rows, GLOBAL_ROWS, argc, argv);
    cli_setup_streams(cli);
}

int cli_usage_fail(struct cli *cli, const struct cli_usage *bad)
{
    struct cli_usage full = *bad;
    const struct cli_problem problem = {"USAGE", "the arguments are wrong",
                                        bad->reason, CLI_EXIT_USAGE, NULL};

    if (cli->command != NULL)
        advise(&full, "'perdure %s --help' shows what it takes",
               cli->command->name);
    else
        advise(&full, "'perdure help' lists the commands");
    cli_report(cli, full.what, full.why, full.hint, &problem);
    return CLI_EXIT_USAGE;
}

/* --- help ---------------------------------------------------------------- */

static void usage_line(pdr_buf *out, const struct cli *cli,
                       const struct cli_opt *opts, size_t count)
{
    bool has_options = false;

    if (cli->command->verbs != NULL) {
        cli_putf(out, "perdure %s VERB [OPTIONS] [ARGUMENTS]",
                 cli->command->name);
        return;
    }
    if (cli->command->usage != NULL) {
        cli_putf(out, "perdure %s %s", cli->command->name, cli->command->usage);
        return;
    }
    for (size_t i = 0; i < count; i++)
        has_options = has_options || !is_positional(&opts[i]);
    cli_putf(out, "perdure %s%s", cli->command->name,
             has_options ? " [OPTIONS]" : "");
    for (size_t i = 0; i < count; i++) {
        const struct cli_opt *opt = &opts[i];
        if (opt->kind == CLI_KIND_ARG)
            cli_putf(out, " %s", opt->name);
        else if (opt->kind == CLI_KIND_MAY)
            cli_putf(out, " [%s]", opt->name);
        else if (opt->kind == CLI_KIND_ARGS)
            cli_putf(out, " %s...", opt->name);
    }
}

#define HELP_COLUMN 22 /* where the explanations begin */

static void help_row(const struct cli *cli, const struct cli_opt *opt)
{
    pdr_buf left = PDR_BUF_INIT(SIZE_MAX);

    if (is_positional(opt))
        cli_putf(&left, "%s%s", opt->name,
                 opt->kind == CLI_KIND_ARGS ? "..." : "");
    else if (opt->letter != 0)
        cli_putf(&left, "-%c, --%s", opt->letter, opt->name);
    else
        cli_putf(&left, "    --%s", opt->name);
    if (opt->value != NULL)
        cli_putf(&left, " %s", opt->value);
    printf("  %s%.*s%s", cli_on(cli->color_out, CLI_CYAN), (int)left.len,
           left.ptr, cli_off(cli->color_out));
    if (left.len < HELP_COLUMN)
        printf("%*s%s\n", HELP_COLUMN - (int)left.len, "", opt->help);
    else /* on a line of its own */
        printf("\n%*s%s\n", 2 + HELP_COLUMN, "", opt->help);
    pdr_buf_dispose(&left);
}

static void help_rows(const struct cli *cli, const char *title,
                      const struct cli_opt *opts, size_t count, bool positional)
{
    bool first = true;

    for (size_t i = 0; i < count; i++) {
        if (is_positional(&opts[i]) != positional)
            continue;
        if (first)
            printf("\n%s%s%s\n", cli_on(cli->color_out, CLI_BOLD), title,
                   cli_off(cli->color_out));
        first = false;
        help_row(cli, &opts[i]);
    }
}

static void help_verbs(const struct cli *cli)
{
    const struct cli_command *const *verbs = cli->command->verbs;
    bool colored = cli->color_out;

    printf("\n%sVerbs%s\n", cli_on(colored, CLI_BOLD), cli_off(colored));
    for (; *verbs != NULL; verbs++)
        printf("  %s%-10s%s%s\n", cli_on(colored, CLI_CYAN),
               cli_command_word(*verbs), cli_off(colored), (*verbs)->summary);
}

/* "doc check" has the page perdure-doc-check(1). */
static void help_page(const char *name)
{
    char page[64];

    snprintf(page, sizeof(page), "%s", name);
    for (char *at = page; *at != '\0'; at++)
        *at = *at == ' ' ? '-' : *at;
    printf("The manual is perdure-%s(1).\n", page);
}

/* Each way to call it on a line of its own. */
static void help_usage(const struct cli *cli, pdr_str usage)
{
    static const char bar[] = " | ";
    const char *at = usage.ptr, *end = usage.ptr + usage.len;

    fputs("Usage: ", stdout);
    for (;;) {
        const char *next = memmem(at, (size_t)(end - at), bar, strlen(bar));
        const char *stop = next != NULL ? next : end;
        printf("%.*s\n", (int)(stop - at), at);
        if (next == NULL)
            return;
        printf("       perdure %s ", cli->command->name);
        at = next + strlen(bar);
    }
}

static void help_text(const struct cli *cli, const struct cli_opt *opts,
                      size_t own, size_t count)
{
    pdr_buf usage = PDR_BUF_INIT(SIZE_MAX);
    bool has_verbs = cli->command->verbs != NULL;

    usage_line(&usage, cli, opts, own);
    printf("%sperdure %s%s - %s\n\n", cli_on(cli->color_out, CLI_BOLD),
           cli->command->name, cli_off(cli->color_out), cli->command->summary);
    help_usage(cli, pdr_buf_str(&usage));
    if (has_verbs)
        help_verbs(cli);
    else
        help_rows(cli, "Arguments", opts, own, true);
    help_rows(cli, "Options", opts, own, false);
    help_rows(cli, "Options of every command", opts + own, count - own, false);
    puts("");
    if (has_verbs)
        printf("'perdure help %s VERB' shows what a verb takes.\n",
               cli->command->name);
    help_page(cli->command->name);
    pdr_buf_dispose(&usage);
}

/* --- description --------------------------------------------------------- */

static void describe_row(pdr_builder *to, const struct cli_opt *opt)
{
    char text[80];

    pdr_builder_object(to);
    if (is_positional(opt)) {
        cli_member_text(to, "name", pdr_str_c(opt->name));
        cli_member_bool(to, "required", opt->kind != CLI_KIND_MAY);
        cli_member_bool(to, "many", opt->kind == CLI_KIND_ARGS);
    } else {
        snprintf(text, sizeof(text), "--%s", opt->name);
        cli_member_text(to, "name", pdr_str_c(text));
    }
    if (opt->kind == CLI_KIND_LIST)
        cli_member_bool(to, "many", true);
    if (opt->letter != 0) {
        snprintf(text, sizeof(text), "-%c", opt->letter);
        cli_member_text(to, "short", pdr_str_c(text));
    }
    if (opt->value != NULL)
        cli_member_text(to, "value", pdr_str_c(opt->value));
    cli_member_text(to, "help", pdr_str_c(opt->help));
    pdr_builder_end(to);
}

static void describe_rows(pdr_builder *to, const char *name,
                          const struct cli_opt *opts, size_t count,
                          bool positional)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_array(to);
    for (size_t i = 0; i < count; i++)
        if (is_positional(&opts[i]) == positional)
            describe_row(to, &opts[i]);
    pdr_builder_end(to);
}

static void describe_verbs(pdr_builder *to,
                           const struct cli_command *const *verbs)
{
    pdr_builder_name(to, pdr_str_c("verbs"));
    pdr_builder_array(to);
    for (; *verbs != NULL; verbs++)
        pdr_builder_string(to, pdr_str_c(cli_command_word(*verbs)));
    pdr_builder_end(to);
}

static void describe(const struct cli *cli, const struct cli_opt *opts,
                     size_t own, size_t count)
{
    pdr_builder *to = NULL;
    pdr_value *all = NULL;
    pdr_buf usage = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    usage_line(&usage, cli, opts, own);
    pdr_builder_object(to);
    cli_member_text(to, "name", pdr_str_c(cli->command->name));
    cli_member_text(to, "summary", pdr_str_c(cli->command->summary));
    cli_member_text(to, "usage", pdr_buf_str(&usage));
    describe_rows(to, "arguments", opts, own, true);
    describe_rows(to, "options", opts, count, false);
    if (cli->command->verbs != NULL)
        describe_verbs(to, cli->command->verbs);
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&all, to, &err), &err);
    cli_print_json(cli, all);
    pdr_value_free(all);
    pdr_builder_free(to);
    pdr_buf_dispose(&usage);
}

/* --- one command --------------------------------------------------------- */

const char *cli_command_word(const struct cli_command *command)
{
    const char *space = strrchr(command->name, ' ');

    return space != NULL ? space + 1 : command->name;
}

/* The row of an option that takes a text; NULL if there is none. */
static const struct cli_opt *text_row(const struct cli_opt *opts, size_t count,
                                      const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (opts[i].kind == CLI_KIND_TEXT && strcmp(opts[i].name, name) == 0)
            return &opts[i];
    return NULL;
}

/* A path that stands alone, where an option names the place, is a slip. */
static void hint_place(struct cli_usage *bad, const struct cli_opt *opts,
                       size_t count)
{
    const struct cli_opt *file = text_row(opts, count, "file");
    const struct cli_opt *folder = text_row(opts, count, "folder");
    struct stat info = {.st_mode = 0};
    char word[CLI_WORD_MAX];

    if (strcmp(bad->reason, "extra_argument") != 0 || file == NULL ||
        folder == NULL || *(const char **)file->out != NULL ||
        *(const char **)folder->out != NULL || stat(bad->what, &info) != 0)
        return;
    snprintf(bad->hint, sizeof(bad->hint), "write --%s %s",
             S_ISDIR(info.st_mode) ? "folder" : "file",
             cli_word(word, bad->what, "PATH"));
}

bool cli_parse(struct cli *cli, const struct cli_opt *opts, size_t count,
               int argc, char **argv)
{
    struct cli_opt all[MAX_ROWS];
    struct cli_usage bad;
    bool good = false;

    if (count + GLOBAL_ROWS > MAX_ROWS)
        cli_must(PDR_EMISUSE, NULL);
    for (size_t i = 0; i < count; i++)
        all[i] = opts[i];
    global_rows(all + count, cli);
    count += GLOBAL_ROWS;
    cli->status = 0;
    if (cli->describe) {
        describe(cli, all, count - GLOBAL_ROWS, count);
        return false;
    }
    good = cli_opts_parse(&bad, all, count, argc, argv);
    if (cli->help && !good && strcmp(bad.reason, "missing_argument") == 0)
        good = true; /* who asks for help need not know the arguments */
    cli_setup_streams(cli);
    if (!good) {
        hint_place(&bad, opts, count - GLOBAL_ROWS);
        cli->status = cli_usage_fail(cli, &bad);
        return false;
    }
    if (cli->help && cli_is_json(cli)) {
        describe(cli, all, count - GLOBAL_ROWS, count);
        puts("");
    } else if (cli->help) {
        help_text(cli, all, count - GLOBAL_ROWS, count);
    }
    return !cli->help;
}
