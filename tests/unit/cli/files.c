/* Bytes into a file that appears whole, and out of one that is peeked into. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include "cli.h"

static char folder[64];

/* An empty folder to work in. */
static void enter(void)
{
    snprintf(folder, sizeof(folder), "/tmp/perdure-test.XXXXXX");
    ASSERT(mkdtemp(folder) != NULL && chdir(folder) == 0);
}

static void leave(void)
{
    ASSERT(chdir("/") == 0);
    ASSERT_INT(0, rmdir(folder)); /* nothing is left in it */
}

static void make(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    ASSERT(file != NULL);
    ASSERT_INT(0, fputs(text, file) < 0);
    ASSERT_INT(0, fclose(file));
}

static const char *content(const char *name)
{
    static char text[256];
    FILE *file = fopen(name, "r");

    if (file == NULL)
        return "(none)";
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static pdr_rc put(struct cli_output_file *o, const char *text)
{
    return cli_output_write(pdr_str_c(text), NULL, o);
}

static const struct cli plain = {.quiet = true};

TEST(output_commit, gives_the_file_its_name)
{
    struct cli_output_file o;
    pdr_err err = PDR_ERR_INIT;

    enter();
    ASSERT_RC(PDR_OK, cli_output_open(&o, &plain, "a", false, &err));
    ASSERT_RC(PDR_OK, put(&o, "one "));
    ASSERT_RC(PDR_OK, put(&o, "two"));
    ASSERT_STR("(none)", content("a"));
    ASSERT_RC(PDR_OK, cli_output_commit(&o, &err));
    ASSERT_STR("one two", content("a"));
    ASSERT_INT(7, o.bytes);
    cli_output_abandon(&o); /* changes nothing */
    ASSERT_STR("one two", content("a"));
    ASSERT_INT(0, unlink("a"));
    leave();
}

TEST(output_abandon, leaves_what_was_there)
{
    struct cli_output_file o;
    pdr_err err = PDR_ERR_INIT;

    enter();
    make("a", "old");
    ASSERT_RC(PDR_OK, cli_output_open(&o, &plain, "a", true, &err));
    ASSERT_RC(PDR_OK, put(&o, "new"));
    cli_output_abandon(&o);
    ASSERT_STR("old", content("a"));
    ASSERT_INT(0, unlink("a"));
    leave();
}

TEST(output_discard, removes_the_temporary_file_as_a_signal_would)
{
    struct cli_output_file o;
    pdr_err err = PDR_ERR_INIT;

    enter();
    ASSERT_RC(PDR_OK, cli_output_open(&o, &plain, "a", false, &err));
    cli_output_discard();
    ASSERT_RC(PDR_ENOTFOUND, cli_output_commit(&o, &err));
    ASSERT_STR("no_folder", err.reason);
    leave();
}

TEST(output_open, says_why_not)
{
    struct cli_output_file o;
    pdr_err err = PDR_ERR_INIT;

    enter();
    make("a", "old");
    ASSERT_RC(PDR_EEXISTS, cli_output_open(&o, &plain, "a", false, &err));
    ASSERT_STR("file_exists", err.reason);
    ASSERT_RC(PDR_ENOTFOUND, cli_output_open(&o, &plain, "b/c", false, &err));
    ASSERT_STR("no_folder", err.reason);
    ASSERT_RC(PDR_EIO, cli_output_open(&o, &plain, ".", true, &err));
    ASSERT_STR("cannot_create", err.reason);
    ASSERT_RC(PDR_EIO, cli_output_open(&o, &plain, "b/", true, &err));
    ASSERT_STR("Is a directory", err.message);
    ASSERT_STR("old", content("a"));
    ASSERT_INT(0, unlink("a"));
    leave();
}

TEST(output_open, refuses_a_path_that_is_too_long)
{
    static char path[5000];
    struct cli_output_file o;
    pdr_err err = PDR_ERR_INIT;

    memset(path, 'x', sizeof(path) - 1);
    for (size_t i = 0; i < sizeof(path) - 1; i += 100)
        path[i] = '/';
    ASSERT_RC(PDR_EIO, cli_output_open(&o, &plain, path, true, &err));
    ASSERT_STR("File name too long", err.message);
}

TEST(output_commit, keeps_a_file_that_came_in_the_meantime)
{
    struct cli_output_file o;
    pdr_err err = PDR_ERR_INIT;

    enter();
    ASSERT_RC(PDR_OK, cli_output_open(&o, &plain, "a", false, &err));
    make("a", "theirs");
    ASSERT_RC(PDR_EEXISTS, cli_output_commit(&o, &err));
    ASSERT_STR("theirs", content("a"));
    ASSERT_INT(0, unlink("a"));
    leave();
}

static pdr_rc say_no(pdr_err *err, void *arg)
{
    bool *asked = arg;

    *asked = access("a", F_OK) == 0; /* still the old one */
    return pdr_err_set(err, PDR_ECONFLICT, "test", "no");
}

TEST(output_commit, asks_before_the_file_gets_its_name)
{
    struct cli_output_file o;
    bool asked = false;
    pdr_err err = PDR_ERR_INIT;

    enter();
    make("a", "old");
    ASSERT_RC(PDR_OK, cli_output_open(&o, &plain, "a", true, &err));
    ASSERT(o.before == NULL);
    o.before = say_no;
    o.before_arg = &asked;
    ASSERT_RC(PDR_OK, cli_output_write(pdr_str_c("new"), &err, &o));
    ASSERT_RC(PDR_ECONFLICT, cli_output_commit(&o, &err));
    ASSERT(asked);
    ASSERT_STR("old", content("a"));
    ASSERT_INT(0, unlink("a"));
    leave(); /* which finds nothing else */
}

TEST(same_file, is_one_regular_file_by_two_names)
{
    enter();
    make("a", "x");
    make("b", "x");
    ASSERT_INT(0, symlink("a", "c"));
    ASSERT(cli_same_file("a", "./a") && cli_same_file("a", "c"));
    ASSERT(!cli_same_file("a", "b") && !cli_same_file("a", "none"));
    ASSERT(!cli_same_file("-", "-"));
    ASSERT(!cli_same_file("/dev/null", "/dev/null"));
    ASSERT_INT(0, unlink("a") | unlink("b") | unlink("c"));
    leave();
}

TEST(output_write, reports_a_device_that_is_full)
{
    struct cli_output_file o;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, cli_output_open(&o, &plain, "/dev/full", false, &err));
    ASSERT_RC(PDR_EIO, cli_output_write(pdr_str_c("x"), &err, &o));
    ASSERT_STR("cannot_write", err.reason);
    ASSERT_STR("No space left on device", err.message);
    cli_output_abandon(&o);
}

/* --- reading ------------------------------------------------------------- */

/* An input that gives `text` and ends. */
static struct cli_input pipe_of(const char *text)
{
    struct cli_input in = {.path = "-"};
    int ends[2];

    ASSERT_INT(0, pipe(ends));
    ASSERT_INT((int64_t)strlen(text), write(ends[1], text, strlen(text)));
    close(ends[1]);
    in.fd = ends[0];
    return in;
}

TEST(input_peek, loses_nothing_that_was_looked_at)
{
    struct cli_input in = pipe_of("some text");
    char piece[5];
    size_t got = 0;

    ASSERT_RC(PDR_OK, cli_input_peek(&in, NULL));
    ASSERT_TEXT("some text", pdr_str_n(in.first, in.first_len));
    ASSERT(in.ended);
    ASSERT_RC(PDR_OK, cli_input_some(&got, piece, 5, NULL, &in));
    ASSERT_TEXT("some ", pdr_str_n(piece, got));
    ASSERT_RC(PDR_OK, cli_input_some(&got, piece, 5, NULL, &in));
    ASSERT_TEXT("text", pdr_str_n(piece, got));
    ASSERT_RC(PDR_OK, cli_input_some(&got, piece, 5, NULL, &in));
    ASSERT_SIZE(0, got);
    ASSERT_INT(9, in.bytes);
    close(in.fd);
}

TEST(input_peek, stops_at_its_limit)
{
    static char text[10001];
    pdr_buf all = PDR_BUF_INIT(SIZE_MAX);
    const struct cli_limits limits = {.max_bytes = 0};

    memset(text, 'x', sizeof(text) - 1);
    struct cli_input in = pipe_of(text);
    ASSERT_RC(PDR_OK, cli_input_peek(&in, NULL));
    ASSERT_SIZE(CLI_PEEK_BYTES, in.first_len);
    ASSERT(!in.ended);
    ASSERT_RC(PDR_OK, cli_input_rest(&all, &in, &limits, NULL));
    ASSERT_TEXT(text, pdr_buf_str(&all));
    pdr_buf_dispose(&all);
    close(in.fd);
}

TEST(input_some, remembers_the_first_bytes_without_a_peek)
{
    struct cli_input in = pipe_of("some text");
    char piece[5];
    size_t got = 0;

    ASSERT_RC(PDR_OK, cli_input_some(&got, piece, 5, NULL, &in));
    ASSERT_TEXT("some ", pdr_str_n(in.first, in.first_len));
    ASSERT_RC(PDR_OK, cli_input_some(&got, piece, 5, NULL, &in));
    ASSERT_TEXT("text", pdr_str_n(piece, got));
    ASSERT_TEXT("some text", pdr_str_n(in.first, in.first_len));
    close(in.fd);
}

TEST(input_rest, holds_the_limit)
{
    struct cli_input in = pipe_of("12345");
    pdr_buf all = PDR_BUF_INIT(SIZE_MAX);
    const struct cli_limits four = {.max_bytes = 4}, five = {.max_bytes = 5};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT, cli_input_rest(&all, &in, &four, &err));
    ASSERT_STR("too_large", err.reason);
    close(in.fd);
    pdr_buf_clear(&all);
    in = pipe_of("12345");
    ASSERT_RC(PDR_OK, cli_input_rest(&all, &in, &five, &err));
    ASSERT_TEXT("12345", pdr_buf_str(&all));
    pdr_buf_dispose(&all);
    close(in.fd);
}
