/*
 * perdure fmt - write a document anew, every lexeme kept.
 *
 * Only white space changes: names, numbers and strings are spelled as they were
 * read, duplicates and order stay. The output is a document and may be piped
 * into a file, so it is coloured on a terminal or by --color always only, never
 * by a variable that was set for something else.
 */
#include "cli.h"

#include <unistd.h>

/* Bytes of the token that begins at `at` in valid JSON. */
static size_t token_len(pdr_str json, size_t at)
{
    size_t end = at + 1;

    if (json.ptr[at] == '"') {
        while (json.ptr[end] != '"')
            end += json.ptr[end] == '\\' ? 2 : 1;
        return end + 1 - at;
    }
    if (strchr("{}[],: \n", json.ptr[at]) != NULL)
        return 1;
    while (end < json.len && strchr("{}[],: \n", json.ptr[end]) == NULL)
        end++;
    return end - at;
}

/* A name is a string before a colon. */
static const char *token_color(pdr_str json, size_t at, size_t len)
{
    switch (json.ptr[at]) {
    case '"':
        return at + len < json.len && json.ptr[at + len] == ':' ? CLI_CYAN
                                                                : CLI_GREEN;
    case '{':
    case '}':
    case '[':
    case ']':
    case ',':
    case ':':
    case ' ':
    case '\n':
        return NULL;
    case 't':
    case 'f':
    case 'n':
        return CLI_BOLD;
    default:
        return CLI_YELLOW;
    }
}

static void print_colored(const struct cli *cli, pdr_str json)
{
    for (size_t at = 0; at < json.len;) {
        size_t len = token_len(json, at);
        const char *color = token_color(json, at, len);
        fputs(cli_on(color != NULL, color), stdout);
        cli_print(cli, pdr_str_n(json.ptr + at, len));
        fputs(cli_off(color != NULL), stdout);
        at += len;
    }
}

static void print(const struct cli *cli, const pdr_value *value,
                  const pdr_write_opts *opts)
{
    bool colored = cli->color_out && (cli->tty_out || cli->color == CLI_ALWAYS);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_json_write(&out, value, opts, &err), &err);
    cli_put(&out, "\n");
    if (colored)
        print_colored(cli, pdr_buf_str(&out));
    else
        cli_print(cli, pdr_buf_str(&out));
    pdr_buf_dispose(&out);
}

/* Only JSON has a text to lay out; the value points into it. */
static pdr_rc load(pdr_value **out, pdr_buf *text, const struct cli *cli,
                   const char *path, const struct cli_limits *limits,
                   pdr_err *err)
{
    pdr_read_opts opts = cli_read_opts(limits);
    struct cli_input in;
    pdr_rc rc = cli_input_open(&in, cli, path, err);

    if (rc != PDR_OK)
        return rc;
    rc = cli_input_rest(text, &in, limits, err);
    cli_input_close(&in);
    if (rc == PDR_OK)
        rc = pdr_json_read_borrowed(out, pdr_buf_str(text), &opts, err);
    return rc;
}

static int fail(const struct cli *cli, const char *path, pdr_str text,
                const pdr_err *err)
{
    const pdr_format json = {pdr_json_codec(), "json", PDR_SEQUENCE};
    struct cli_about about = {.name = cli_input_name(path), .input = text};
    pdr_format other;
    char hint[CLI_LIST_MAX];

    if (err->code == PDR_EINVALID &&
        cli_form_differs(&other, &json, text, true)) {
        snprintf(hint, sizeof(hint),
                 "it looks like %s, and fmt takes JSON: 'perdure convert --to "
                 "json FILE -' makes it",
                 cli_form_title(&other));
        about.hint = hint;
    }
    return cli_fail(cli, &about, err);
}

static int format(const struct cli *cli, const char *path,
                  const struct cli_limits *limits, const pdr_write_opts *opts)
{
    pdr_value *value = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (load(&value, &text, cli, path, limits, &err) != PDR_OK) {
        status = fail(cli, path, pdr_buf_str(&text), &err);
    } else if (cli->output == CLI_OUTPUT_RAW) {
        cli_print(cli, pdr_buf_str(&text));
    } else {
        print(cli, value, opts);
    }
    pdr_value_free(value);
    pdr_buf_dispose(&text);
    return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *path = "-";
    bool compact = false;
    uint64_t indent = 0;
    struct cli_limits limits = {.bare_tokens = false};
    const struct cli_opt opts[] = {
        CLI_MAY("FILE", &path, "file to format; - or none is standard input"),
        CLI_FLAG('c', "compact", &compact, "no white space, one line"),
        CLI_U64('i', "indent", "N", &indent, 1, 16,
                "spaces for each level, 1 to 16 (default 2)"),
        CLI_READ_ROWS(&limits),
    };
    const struct cli_usage both = {"bad_value", "--indent",
                                   "does not go with --compact", ""};

    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (compact && indent != 0)
        return cli_usage_fail(cli, &both);
    compact = compact || cli->output == CLI_OUTPUT_JSONL;
    if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO) && !cli->quiet)
        fputs("reading standard input; Ctrl-D ends it\n", stderr);
    return format(
        cli, path, &limits,
        &(pdr_write_opts){.flags = limits.bare_tokens ? PDR_BARE_TOKENS : 0,
                          .layout = compact ? PDR_COMPACT : PDR_PRETTY,
                          .indent = (uint32_t)indent});
}

const struct cli_command cli_cmd_fmt = {
    .name = "fmt",
    .summary = "write a document anew, every lexeme kept",
    .run = run};
