/* Which format: by an option, by a name, by the first bytes. */
#include <unistd.h>

#include "test.h"

#include "cli.h"

static uint64_t word(const char *name)
{
    const char *const *words = cli_form_words();

    for (uint64_t i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], name) == 0)
            return i;
    return CLI_NO_FORM;
}

/* The form that a path names, "" for none. */
static const char *named(const char *path)
{
    struct cli_form form;

    return cli_form_of_name(&form, path, CLI_NO_FORM) ? form.format.name : "";
}

/* The form of bytes that come through a pipe, under a name; else the reason. */
static const char *guessed(enum cli_by *by, const char *path, pdr_str bytes)
{
    struct cli_input in = {.path = path};
    struct cli_form form;
    pdr_err err = PDR_ERR_INIT;
    int ends[2];

    ASSERT_INT(0, pipe(ends));
    ASSERT_INT((int64_t)bytes.len, write(ends[1], bytes.ptr, bytes.len));
    close(ends[1]);
    in.fd = ends[0];
    pdr_rc rc = cli_form_of_input(&form, &in, CLI_NO_FORM, &err);
    close(ends[0]);
    *by = form.by;
    return rc == PDR_OK ? form.format.name : err.reason;
}

TEST(form_words, are_those_of_all_codecs)
{
    ASSERT_STR("json", cli_form_words()[0]);
    ASSERT(word("jsonl") != CLI_NO_FORM);
    ASSERT(word(cli_lines_form()) != CLI_NO_FORM);
    ASSERT(word("yaml") == CLI_NO_FORM);
}

TEST(form_list, joins_names_that_fit)
{
    char out[CLI_LIST_MAX], small[12];
    struct cli_form form;

    cli_form_list(out, sizeof(out), "say ", PDR_SEQUENCE, 0);
    ASSERT_STR("say jsonl, msgpack or records", out);
    cli_form_list(out, sizeof(out), "", 0, PDR_EXCHANGE);
    ASSERT_STR("msgpack or records", out);
    cli_form_list(small, sizeof(small), "say ", PDR_SEQUENCE, 0);
    ASSERT_STR("say jsonl, ", small);
    ASSERT(cli_form_of_name(&form, "x", word("jsonl")));
    ASSERT(form.by == CLI_BY_OPTION && cli_form_is_sequence(&form.format));
    ASSERT(!cli_form_can_write(&form.format, PDR_EXCHANGE));
}

TEST(form_of_name, goes_by_the_extension)
{
    ASSERT_STR("json", named("a.json"));
    ASSERT_STR("jsonl", named("dir.json/a.ndjson"));
    ASSERT_STR("msgpack", named("a.MSGPACK"));
    ASSERT_STR("", named("json"));
    ASSERT_STR("", named("a.json/b"));
    ASSERT_STR("", named("-"));
}

TEST(form_of_input, says_how_it_was_found)
{
    enum cli_by by;

    ASSERT_STR("json", guessed(&by, "a.json", pdr_str_c("{}")));
    ASSERT_STR("extension", cli_by_slug(by));
    ASSERT_STR("json", guessed(&by, "a", pdr_str_c("{}")));
    ASSERT_STR("bytes", cli_by_slug(by));
    ASSERT_STR("json", guessed(&by, "-", pdr_str_c("[1]")));
    ASSERT_STR("by its first bytes", cli_by_text(by));
    ASSERT_STR("records", guessed(&by, "a.mpk", pdr_str_n("\0\0\0\1\x80", 5)));
    ASSERT_STR("extension+bytes", cli_by_slug(by));
    ASSERT_STR("by its extension and its first bytes", cli_by_text(by));
}

TEST(form_of_input, refuses_what_stays_open)
{
    enum cli_by by;

    ASSERT_STR("ambiguous_format", guessed(&by, "a", pdr_str_c("[")));
    ASSERT_STR("unknown_format", guessed(&by, "a", pdr_str_c("hello")));
    ASSERT_STR("unknown_format", guessed(&by, "-", pdr_str_c("")));
}

/* The hint for bytes that are read as the form `name`; static. */
static const char *doubted(const char *name, pdr_str bytes)
{
    static char hint[CLI_LIST_MAX];
    struct cli_form form;

    ASSERT(cli_form_of_name(&form, "", word(name)));
    cli_form_doubt(hint, sizeof(hint), &form.format, bytes, true);
    return hint;
}

TEST(form_doubt, speaks_up_if_the_bytes_tell_another_form)
{
    const pdr_format none = {NULL, NULL, 0};
    pdr_str records = pdr_str_n("\0\0\0\1\x80", 5);
    char hint[CLI_LIST_MAX] = "?";

    ASSERT_STR("its first bytes look like JSON; --from json reads it so",
               doubted("msgpack", pdr_str_c("{\"a\":1}")));
    ASSERT_STR("its first bytes look like MessagePack; --from records reads "
               "it so",
               doubted("msgpack", records));
    ASSERT_STR("", doubted("records", records));
    ASSERT_STR("", doubted("jsonl", pdr_str_c("{}\n{}\n")));
    ASSERT_STR("", doubted("json", pdr_str_c("hello"))); /* nothing is told */
    ASSERT_STR("", doubted("json", pdr_str_c("[")));
    cli_form_doubt(hint, sizeof(hint), &none, records, true);
    ASSERT_STR("", hint);
}

TEST(form_for_many, is_of_the_same_codec)
{
    struct cli_form form;

    ASSERT(cli_form_of_name(&form, "", word("json")));
    ASSERT_STR("jsonl", cli_form_for_many(&form.format));
    ASSERT_STR("JSON", cli_form_title(&form.format));
    ASSERT(cli_form_of_name(&form, "", word("xml")));
    ASSERT(cli_form_for_many(&form.format) == NULL);
}

TEST(form_opts, carry_limits_and_only_flags_that_are_taken)
{
    const struct cli_limits limits = {.bare_tokens = true, .max_depth = 7};
    struct cli_form form;

    ASSERT(cli_form_of_name(&form, "", word("jsonl")));
    pdr_read_opts opts = cli_form_walk_opts(&form.format, &limits);
    ASSERT_INT(PDR_BARE_TOKENS | PDR_SEQUENCE, opts.flags);
    ASSERT_INT(7, opts.max_depth);
    ASSERT(cli_form_of_name(&form, "", word("json")));
    opts = cli_form_read_opts(&form.format, &limits);
    ASSERT_INT(PDR_BARE_TOKENS, opts.flags);
}
