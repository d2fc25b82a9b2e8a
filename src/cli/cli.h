/*
 * cli.h - what the commands share. See README.md in this folder.
 *
 * Commands use <perdure.h> and the C library only: what they lack, the library
 * lacks. A command that runs out of memory ends the process with 70, so the
 * helpers here that build text cannot fail.
 */
#ifndef PDR_CLI_H
#define PDR_CLI_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <perdure.h>

#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A step that fails leaves through `done`: the normal way reads straight down.
 * In functions that have an `rc`. */
#define CLI_TRY(call)     \
    do {                  \
        rc = (call);      \
        if (rc != PDR_OK) \
            goto done;    \
    } while (0)

/* Exit statuses that no pdr_rc stands for. */
#define CLI_EXIT_NEGATIVE 1
#define CLI_EXIT_USAGE    2
#define CLI_EXIT_INTERNAL 70
#define CLI_EXIT_SIGNAL   128 /* and the number of the signal */

enum cli_output {
    CLI_OUTPUT_TABLE,
    CLI_OUTPUT_JSON,
    CLI_OUTPUT_JSONL,
    CLI_OUTPUT_RAW
};

enum cli_when { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };

/* One run of the command; lives in main(). */
struct cli {
    const struct cli_command *command; /* static; the one that runs */
    uint64_t output;                   /* enum cli_output, by -o */
    uint64_t color;                    /* enum cli_when, by --color */
    bool quiet;                        /* -q */
    bool help;                         /* --help was among the arguments */
    bool describe; /* cli_parse() only prints the command's tables as JSON */
    bool tty_out, tty_err;     /* is the stream a terminal? */
    bool color_out, color_err; /* is it coloured? */
    bool utf8;    /* does the locale show more than ASCII? For lines and bars */
    size_t width; /* columns of the terminal on standard output */
    int status;   /* what run() returns when cli_parse() gave false */
};

/* One row in main.c for each command. A command either runs or has verbs, each
 * of them a command of its own: `perdure doc check`. */
struct cli_command {
    const char *name;    /* the words behind `perdure`: "diff", "doc diff" */
    const char *summary; /* one line, for lists */
    const char *usage;   /* its arguments, if the table of options does not say
                            all about them; else NULL */
    int (*run)(struct cli *cli, int argc, char **argv); /* exit status */
    const struct cli_command *const *verbs; /* NULL-terminated; NULL: none */
};

extern const struct cli_command cli_cmd_agent, cli_cmd_check, cli_cmd_convert,
    cli_cmd_diff, cli_cmd_doc, cli_cmd_fmt, cli_cmd_group, cli_cmd_help,
    cli_cmd_key, cli_cmd_run, cli_cmd_schema, cli_cmd_serve, cli_cmd_session,
    cli_cmd_store, cli_cmd_version;

/* The last word of a command's name: what a verb is called by. */
const char *cli_command_word(const struct cli_command *command);

/* The table of main.c. */
const struct cli_command *const *cli_commands(size_t *count);

/* Run the command that argv[0] names (cmd_help.c); gives the exit status. */
int cli_run(struct cli *cli, int argc, char **argv);
/* There was no command. */
int cli_no_command(struct cli *cli);

/* --- options (opts.c) ---------------------------------------------------- */

enum cli_opt_kind {
    CLI_KIND_ARG,   /* positional, must be there; out is `const char **` */
    CLI_KIND_MAY,   /* positional, may be missing; out is `const char **` */
    CLI_KIND_ARGS,  /* one or more, the last row; out is `struct cli_args *` */
    CLI_KIND_FLAG,  /* out is `bool *` */
    CLI_KIND_U64,   /* out is `uint64_t *`; `min` to `max` */
    CLI_KIND_BYTES, /* as U64, with K, M or G behind the digits */
    CLI_KIND_TEXT,  /* any text; out is `const char **` */
    CLI_KIND_LIST,  /* any text, as often as it is written; out is `struct
                       cli_args *`, whose items are to be released */
    CLI_KIND_WORD   /* one of `words`; out is `uint64_t *`, its position */
};

struct cli_args {
    char **items; /* borrowed from argv, reordered; of a list only the texts */
    size_t count;
};

/* A row of a command's table: parsing, help and the check of the man pages
 * all read it. */
struct cli_opt {
    enum cli_opt_kind kind;
    char letter;       /* 0 if it has none */
    const char *name;  /* without "--"; the placeholder of a positional */
    const char *value; /* placeholder of the value; NULL for a flag */
    const char *help;
    void *out; /* borrowed; see enum cli_opt_kind */
    uint64_t min, max;
    const char *const *words; /* NULL-terminated */
};

/* clang-format off */
#define CLI_ARG(name, out, help) \
    {CLI_KIND_ARG, 0, name, NULL, help, out, 0, 0, NULL}
#define CLI_MAY(name, out, help) \
    {CLI_KIND_MAY, 0, name, NULL, help, out, 0, 0, NULL}
#define CLI_ARGS(name, out, help) \
    {CLI_KIND_ARGS, 0, name, NULL, help, out, 0, 0, NULL}
#define CLI_FLAG(letter, name, out, help) \
    {CLI_KIND_FLAG, letter, name, NULL, help, out, 0, 0, NULL}
#define CLI_U64(letter, name, value, out, min, max, help) \
    {CLI_KIND_U64, letter, name, value, help, out, min, max, NULL}
#define CLI_BYTES(letter, name, value, out, min, max, help) \
    {CLI_KIND_BYTES, letter, name, value, help, out, min, max, NULL}
#define CLI_TEXT(letter, name, value, out, help) \
    {CLI_KIND_TEXT, letter, name, value, help, out, 0, 0, NULL}
#define CLI_LIST(letter, name, value, out, help) \
    {CLI_KIND_LIST, letter, name, value, help, out, 0, 0, NULL}
/* The format of what is read; `help` comes from cli_form_list(). */
#define CLI_FROM(word, help) \
    CLI_WORD(0, "from", "FORMAT", word, cli_form_words(), help)
#define CLI_WORD(letter, name, value, out, words, help) \
    {CLI_KIND_WORD, letter, name, value, help, out, 0, 0, words}

/* How to read a document: the same rows on every command that reads one. */
#define CLI_READ_ROWS(limits) \
    CLI_FLAG(0, "bare-tokens", &(limits)->bare_tokens, \
             "accept NaN, Infinity and -Infinity"), \
    CLI_U64(0, "max-depth", "N", &(limits)->max_depth, 1, 1024, \
            "levels of arrays and objects, 1 to 1024 (default 128)"), \
    CLI_BYTES(0, "max-bytes", "SIZE", &(limits)->max_bytes, 1, UINT32_MAX, \
              "bytes of a document, as in 64M (default almost 4G)"), \
    CLI_U64(0, "max-nodes", "N", &(limits)->max_nodes, 1, (1u << 28) - 1, \
            "names and values of a document (default 268435455)")
/* clang-format on */

/* What was wrong with the arguments; `reason` is static, NULL if all is well.
 */
struct cli_usage {
    const char *reason;
    char what[160];
    char why[160];
    char hint[1600]; /* also three commands with all their words */
};

/* Fill the outputs of a table. Goes on after the first mistake, so that -o and
 * --color hold for the message about it. False if there was one. Arguments move
 * to the front of argv. */
bool cli_opts_parse(struct cli_usage *bad, const struct cli_opt *opts,
                    size_t count, int argc, char **argv);

/* The command's table together with the options of every command: parse, then
 * set up output and colour. False if there is nothing left to do for the
 * command (help was asked for, or a mistake was reported): return cli->status.
 */
bool cli_parse(struct cli *cli, const struct cli_opt *opts, size_t count,
               int argc, char **argv);

/* Options that may stand before the command, as in `perdure -o json check`.
 * Gives the position of the command in argv, or argc. */
int cli_parse_front(struct cli *cli, struct cli_usage *bad, int argc,
                    char **argv);
/* The same between a command and its verb, as in `perdure doc -o json show`. */
int cli_parse_between(struct cli *cli, struct cli_usage *bad, int argc,
                      char **argv);

/* Only the options of every command, whatever else is there: so that -o holds
 * for the message about an unknown command. */
void cli_parse_rest(struct cli *cli, int argc, char **argv);

/* Report a mistake of the caller; gives CLI_EXIT_USAGE. */
int cli_usage_fail(struct cli *cli, const struct cli_usage *bad);

/* The name nearest to `word`, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *names,
                        size_t count);

/* --- output, colour, errors (cli.c) -------------------------------------- */

struct cli_color_env {
    const char *no_color, *force_color, *clicolor_force, *clicolor, *term;
};

/* Is a stream coloured? First answer wins: --color, NO_COLOR, FORCE_COLOR or
 * CLICOLOR_FORCE, CLICOLOR=0, TERM=dumb, whether it is a terminal. */
bool cli_color_wanted(enum cli_when when, const struct cli_color_env *env,
                      bool terminal);

/* Does a locale, as in LC_ALL, LC_CTYPE or LANG, have UTF-8? The first that is
 * set and not empty decides. */
bool cli_is_utf8(const char *all, const char *ctype, const char *lang);

/* Look at environment and terminals. After options were parsed. */
void cli_setup_streams(struct cli *cli);

/* Begin of a coloured run and end of it; "" without colour. */
#define CLI_BOLD   "\033[1m"
#define CLI_DIM    "\033[2m"
#define CLI_RED    "\033[1;31m"
#define CLI_GREEN  "\033[32m"
#define CLI_YELLOW "\033[33m"
#define CLI_CYAN   "\033[36m"
#define CLI_RESET  "\033[0m"
static inline const char *cli_on(bool colored, const char *code)
{
    return colored ? code : "";
}

static inline const char *cli_off(bool colored)
{
    return colored ? CLI_RESET : "";
}

/* Text of a document to standard output. On a terminal, control characters
 * other than LF and TAB and invisible ones are escaped, unless the output is
 * raw. */
void cli_print(const struct cli *cli, pdr_str text);

/* A value as compact JSON to standard output, without a line end. */
void cli_print_json(const struct cli *cli, const pdr_value *value);

static inline bool cli_is_json(const struct cli *cli)
{
    return cli->output == CLI_OUTPUT_JSON || cli->output == CLI_OUTPUT_JSONL;
}

/* What the problem object has beside the texts. */
struct cli_problem {
    const char *code, *title;      /* of the kind of failure */
    const char *reason;            /* slug of the exact cause */
    int status;                    /* exit status */
    const struct cli_place *place; /* NULL if it is not about a document */
};

/* A place in a document. */
struct cli_place {
    const char *path;    /* JSON Pointer, escaped as in pdr_err */
    uint64_t document;   /* of a sequence, from 1; 0 if it is none */
    int64_t offset;      /* byte, from 0; -1 if nobody knows */
    size_t line, column; /* from 1; 0 if it is no text */
};

/* A failure on standard error: `perdure: <what>: <why>` and a line with the
 * hint, if there is one; or the problem object. */
void cli_report(const struct cli *cli, const char *what, const char *why,
                const char *hint, const struct cli_problem *problem);

/* Members of a place in JSON output. */
void cli_member_place(pdr_builder *to, const struct cli_place *place);

/* What a failure is about. */
struct cli_about {
    const char *name; /* of the file */
    pdr_str input;    /* its bytes from the first on, as far as known: so that
                         an offset becomes a line, and for hints */
    size_t line, column; /* of the failure, if they are known without `input`;
                            else 0 */
    uint64_t document;   /* of a sequence, from 1; else 0 */
    const char *hint;    /* NULL: what cli_hint() gives */
};

/* The message without the place, if it begins with the one that is shown. */
const char *cli_message(const pdr_err *err, size_t line, size_t column);

/* Report a failure of the library, see cli_report(). Gives the exit status. */
int cli_fail(const struct cli *cli, const struct cli_about *about,
             const pdr_err *err);

/* Flush standard output. `status`, or 9 if what was printed got lost. */
int cli_finish(const struct cli *cli, int status);

/* Out of memory, or a bug of ours: say so and end with 70. */
void cli_must(pdr_rc rc, const pdr_err *err);

/* Room for `count` things of `size` bytes, what was in `old` kept; release with
 * free(). Never NULL. */
void *cli_realloc(void *old, size_t count, size_t size);

/* --- signals (signals.c) ------------------------------------------------- */

/* A run that a signal ends in order. */
struct cli_signals {
    pthread_t thread;
    sigset_t set, before;
    bool waits;   /* the thread is there */
    bool is_over; /* it is to end */
    int number;   /* of the first signal; see cli_signals_number() */
    void (*fn)(void *arg);
    void (*hangup)(void *arg); /* NULL: SIGHUP is one like the others */
    void *arg;
};

/* From now on the first SIGINT, SIGTERM or SIGHUP calls `fn`, on a thread of
 * its own, and the second one ends the process. Before threads are started. */
void cli_signals_begin(struct cli_signals *s, void (*fn)(void *arg), void *arg);
/* The same, but each SIGHUP calls `hangup`, also where it was ignored. */
void cli_signals_begin_service(struct cli_signals *s, void (*fn)(void *arg),
                               void (*hangup)(void *arg), void *arg);
/* The one that came; 0: none. */
int cli_signals_number(const struct cli_signals *s);
/* As before. Fine if it never began. */
void cli_signals_end(struct cli_signals *s);

/* --- hints (hint.c) ------------------------------------------------------ */

/* What to do about a failure; "" if there is nothing to add. `input` is what is
 * known of the document, from its byte `base` on; it may be empty. */
const char *cli_hint(const pdr_err *err, pdr_str input, int64_t base);

/* --- text (text.c) ------------------------------------------------------- */

enum cli_text_mode {
    CLI_TEXT_LINE,    /* one line: LF and TAB are escaped too */
    CLI_TEXT_JSON,    /* between the quotes of a JSON string */
    CLI_TEXT_SOURCE,  /* as LINE, but a TAB is four spaces */
    CLI_TEXT_PAGE,    /* LF and TAB stay */
    CLI_TEXT_TERMINAL /* as PAGE, on a terminal whatever standard output is */
};

/* Which streams are terminals: invisible characters are escaped there only. */
void cli_text_setup(bool out, bool err);

/* How one character of a text is shown. */
struct cli_glyph {
    char text[12];   /* what to print */
    size_t text_len; /* bytes of it */
    size_t len;      /* bytes that it stands for */
    size_t cells;    /* columns that it takes */
};

/* The character at byte `at` of `text`, which is below its length. */
struct cli_glyph cli_glyph_at(pdr_str text, size_t at, enum cli_text_mode mode);

/* Append `text` so that it can be shown. */
void cli_show(pdr_buf *out, pdr_str text, enum cli_text_mode mode);

/* As cli_show(), in at most `cells` columns: what is too long ends with "…". */
void cli_show_cut(pdr_buf *out, pdr_str text, enum cli_text_mode mode,
                  size_t cells);

/* `text` as one word of a command for a shell, to be shown: with quotes if it
 * needs some. What is too long to be repeated is the placeholder. */
#define CLI_WORD_MAX 140
const char *cli_word(char out[CLI_WORD_MAX], const char *text,
                     const char *placeholder);

/* Columns that `text` takes when shown. */
size_t cli_cells(pdr_str text, enum cli_text_mode mode);

/* Append one line of at most `cells` columns (1 or more) of the text from byte
 * `at` on, broken between words where that can be. Gives the byte at which the
 * next line begins, which is the length of the text at its end. Line ends of
 * the text end a line. Nothing is appended behind the last character. */
size_t cli_wrap(pdr_buf *out, pdr_str text, size_t at, size_t cells);

/* Append `text` from column `used` on, broken before column `width` and
 * indented on the lines behind the first; in one line if `width` is 0. */
void cli_flow(pdr_buf *out, pdr_str text, size_t used, size_t indent,
              size_t width);

/* The line of `input` that has byte `offset`, cut to `cells` columns around it,
 * and the column (from 0) of that byte in what is shown. */
size_t cli_excerpt(pdr_buf *out, pdr_str input, size_t offset, size_t cells);

/* Is it text, as far as byte `at` shows, which may lie behind what is known of
 * the input? Else lines and columns say nothing. */
bool cli_is_text(pdr_str input, int64_t at);

/* Bytes at the end of `text` that are the front of a character. */
size_t cli_cut_len(pdr_str text);

/* As fprintf(), for text that went through cli_show(). That made it fit for
 * standard output; on another terminal, what is invisible is escaped here. */
void cli_fprintf(FILE *out, const char *fmt, ...) PDR_PRINTF(2, 3);

/* Append bytes that are ours. */
void cli_put(pdr_buf *out, const char *text);
void cli_putf(pdr_buf *out, const char *fmt, ...) PDR_PRINTF(2, 3);

/* 1234567 as "1,234,567"; 1234567 bytes as "1.2 MB". `out` has 32 bytes. */
const char *cli_number(char *out, uint64_t number);
const char *cli_size(char *out, uint64_t bytes);

/* "2 numbers and 1 string lost the spelling, no value", of what lost some. */
void cli_put_respelled(pdr_buf *out, const pdr_write_report *lost);
/* The same of file `name` on standard error; nothing if none lost it. */
void cli_tell_respelled(const char *name, const pdr_write_report *lost);

/* Parts of an object in JSON output. Texts of any bytes are fine. */
void cli_member_text(pdr_builder *to, const char *name, pdr_str text);
void cli_member_count(pdr_builder *to, const char *name, uint64_t number);
void cli_member_bool(pdr_builder *to, const char *name, bool truth);
void cli_member_respelled(pdr_builder *to, const pdr_write_report *lost);

/* --- progress (progress.c) ----------------------------------------------- */

struct cli_progress {
    const char *what; /* borrowed; NULL: shows nothing */
    uint64_t total;   /* bytes; 0 if nobody knows */
    uint64_t done;    /* bytes */
    int64_t start_ms; /* when it began */
    int64_t next_ms;  /* when to show it next */
    int64_t every_ms; /* time between two lines or redraws */
    bool terminal;    /* redraw one line, or add lines */
};

void cli_progress_begin(struct cli_progress *p, const struct cli *cli,
                        const char *what, uint64_t total);
void cli_progress_add(struct cli_progress *p, size_t bytes);
/* Take the line from the terminal. */
void cli_progress_end(struct cli_progress *p);

/* The line for a state of things, without a line end. */
void cli_progress_text(char *out, size_t cap, const struct cli_progress *p,
                       int64_t elapsed_ms);

/* Remove a progress line for a moment; also from inside a signal handler. */
void cli_progress_wipe(void);

/* --- pager (pager.c) ----------------------------------------------------- */

/* The program that shows long output, by PERDURE_PAGER, PAGER or what is there;
 * NULL if there is to be none: `cat` or an empty text. */
const char *cli_pager_choice(const char *own, const char *general,
                             bool has_less);

struct cli_pager {
    FILE *out;        /* where to print: the pager, or standard output */
    pid_t pid;        /* of the pager; 0: there is none */
    const char *name; /* borrowed; the command of the pager */
};

/* Start a pager if standard output is a terminal and shows a table. */
void cli_pager_begin(struct cli_pager *p, const struct cli *cli, bool wanted);
/* Wait until the reader is done. `status`, or that of a pager that could not be
 * started, which is reported. */
int cli_pager_end(struct cli_pager *p, const struct cli *cli, int status);

/* --- formats (formats.c, choice.c) --------------------------------------- */

/* The formats of the command. Only formats.c knows them by name. */
const pdr_codec *const *cli_codecs(size_t *count);
/* The form that `check --lines` stands for. */
const char *cli_lines_form(void);

enum cli_by { CLI_BY_OPTION, CLI_BY_NAME, CLI_BY_BYTES, CLI_BY_BOTH };

/* A form, and how it was found. */
struct cli_form {
    pdr_format format;
    enum cli_by by;
};

/* How it was found, for people and for JSON output. Static. */
const char *cli_by_text(enum cli_by by);
const char *cli_by_slug(enum cli_by by);

/* The names of all forms, for CLI_WORD; NULL-terminated, static. */
const char *const *cli_form_words(void);
#define CLI_NO_FORM UINT64_MAX /* no option said which */

/* `lead`, then the names of the forms with `flags` whose codecs can write with
 * `written`: "json, jsonl or xml". */
#define CLI_LIST_MAX 160
void cli_form_list(char *out, size_t cap, const char *lead, unsigned flags,
                   unsigned written);

/* The form that a word says or the extension of `path` names; false if there is
 * none. */
bool cli_form_of_name(struct cli_form *out, const char *path, uint64_t word);

struct cli_input;
/* The form that a word says, else what name and first bytes tell. PDR_EINVALID
 * (reasons "unknown_format", "ambiguous_format"), PDR_EIO. */
pdr_rc cli_form_of_input(struct cli_form *out, struct cli_input *in,
                         uint64_t word, pdr_err *err);

/* Do the first bytes of a file tell another form than the one that it is read
 * as? `whole`: are these all bytes that there are? */
bool cli_form_differs(pdr_format *out, const pdr_format *used, pdr_str first,
                      bool whole);
/* A hint about that; "" if they do not, or no form was found at all. */
void cli_form_doubt(char *out, size_t cap, const pdr_format *used,
                    pdr_str first, bool whole);

/* What people call the format. */
const char *cli_form_title(const pdr_format *format);
/* Does it hold any number of documents? */
bool cli_form_is_sequence(const pdr_format *format);
/* The form of the same codec that does; NULL if there is none. */
const char *cli_form_for_many(const pdr_format *format);
/* Can its codec write with these flags? */
bool cli_form_can_write(const pdr_format *format, unsigned flags);

struct cli_limits;
/* Options to walk, or to read the whole of what is no sequence. */
pdr_read_opts cli_form_walk_opts(const pdr_format *format,
                                 const struct cli_limits *limits);
pdr_read_opts cli_form_read_opts(const pdr_format *format,
                                 const struct cli_limits *limits);

/* --- reading (input.c) --------------------------------------------------- */

/* Options of CLI_READ_ROWS; 0 is the default of the library. */
struct cli_limits {
    bool bare_tokens;
    uint64_t max_depth, max_bytes, max_nodes;
};

pdr_read_opts cli_read_opts(const struct cli_limits *limits);

#define CLI_PEEK_BYTES 4096 /* more than any codec needs to know its own */

/* A file or standard input, being read. */
struct cli_input {
    const char *path; /* borrowed */
    int fd;
    uint64_t size;  /* bytes that it is going to give; 0 if nobody knows */
    uint64_t bytes; /* handed out so far */
    char first[CLI_PEEK_BYTES]; /* the first bytes, once they were read */
    size_t first_len, given;    /* of `first`: there, handed out */
    bool ended;                 /* there is nothing behind what was read */
    struct cli_progress progress;
};

/* Name to show for a path: "-" is "standard input". */
const char *cli_input_name(const char *path);

/* Open a file or, for "-", standard input. PDR_ENOTFOUND (reason "no_file") or
 * PDR_EIO (reason "cannot_read"). Close with cli_input_close(). */
pdr_rc cli_input_open(struct cli_input *in, const struct cli *cli,
                      const char *path, pdr_err *err);
/* Takes the progress line away too. */
void cli_input_close(struct cli_input *in);

/* Fill `first` and keep what comes for later. PDR_EIO. */
pdr_rc cli_input_peek(struct cli_input *in, pdr_err *err);

/* At most `cap` bytes; `*got` is 0 at the end. `arg` is the struct cli_input: a
 * walk can read from it. PDR_EIO. */
pdr_rc cli_input_some(size_t *got, void *into, size_t cap, pdr_err *err,
                      void *arg);

/* Line and column of a byte that was handed out, as pdr_err_locate() gives
 * them: from the first bytes, or by reading a file once more. False if it is no
 * text, or a pipe that has passed by. */
bool cli_input_locate(size_t *line, size_t *column, const struct cli_input *in,
                      int64_t offset);

/* All that is left into `out`. Also PDR_ELIMIT (reason "too_large"). */
pdr_rc cli_input_rest(pdr_buf *out, struct cli_input *in,
                      const struct cli_limits *limits, pdr_err *err);

/* A whole file with one document, in any format. `text` gets its bytes, because
 * an error shows the line that it is about, and `form` what it was read as,
 * with no codec while that is not known. Also PDR_EINVALID (reasons
 * "no_document", "several_documents" for a sequence). */
pdr_rc cli_input_value(pdr_value **out, pdr_buf *text, struct cli_form *form,
                       const struct cli *cli, const char *path, uint64_t word,
                       const struct cli_limits *limits, pdr_err *err);

/* The one document in the bytes of a file, as cli_input_value() reads it. The
 * value borrows nothing. */
pdr_rc cli_input_parse(pdr_value **out, const struct cli_form *form,
                       pdr_str text, const struct cli_limits *limits,
                       pdr_err *err);

/* --- writing (output.c) -------------------------------------------------- */

/* A file being written: it appears whole, or not at all. */
struct cli_output_file {
    int fd;
    bool is_beside; /* a temporary file, until commit; else written through */
    bool replaces;  /* there is a file of this name, which may go */
    unsigned mode, owner, group; /* of that file */
    char target[4096];           /* path that it gets in the end */
    bool is_shown, is_raw;       /* on a terminal; as it is */
    char cut[4];                 /* front of a character, for a terminal */
    size_t cut_len;
    uint64_t bytes; /* written so far */
    char last;      /* of them */
    /* Asked just before the file gets its name, if set after opening: may it
     * still? Else it is abandoned, with this failure. */
    pdr_rc (*before)(pdr_err *err, void *arg);
    void *before_arg;
};

/* Open `path`, or standard output for "-". A file that exists is replaced only
 * if `replace` says so. PDR_EEXISTS (reason "file_exists"); PDR_ENOTFOUND
 * (reason "no_folder"); PDR_EIO (reasons "cannot_create", "no_space"). */
pdr_rc cli_output_open(struct cli_output_file *o, const struct cli *cli,
                       const char *path, bool replace, pdr_err *err);
/* A pdr_write_fn; `arg` is the file. PDR_EIO (reasons "no_space",
 * "cannot_write"). */
pdr_rc cli_output_write(pdr_str bytes, pdr_err *err, void *arg);
/* All was written: bring it to the disk, give it its name, close it. On failure
 * it is abandoned. As cli_output_open(), cli_output_write() and `before`. */
pdr_rc cli_output_commit(struct cli_output_file *o, pdr_err *err);
/* Leave everything as it was. Fine after a commit. */
void cli_output_abandon(struct cli_output_file *o);

/* Remove the temporary file, if there is one; also from a signal handler. */
void cli_output_discard(void);

/* Do two paths name one regular file? */
bool cli_same_file(const char *one, const char *other);

#endif
