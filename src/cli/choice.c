/*
 * choice.c - which format a file has: said, or told by its name or first bytes.
 *
 * WHY  Commands speak of forms ("jsonl") and titles ("JSON"), and never of one
 *      in particular. What they have to know of a codec is asked here, so that
 *      this is the one file that looks into the tables of codecs.
 */
#include "cli.h"

#include <perdure/sys/codec.h>

#define MAX_FORMS 32 /* the library has five */

/* --- lists --------------------------------------------------------------- */

/* The forms of all codecs, in their order, whose flags have `flags` and whose
 * codec can write with `written`. */
static size_t list_forms(const char *names[MAX_FORMS + 1], unsigned flags,
                         unsigned written)
{
    size_t codec_count = 0, count = 0;
    const pdr_codec *const *codecs = cli_codecs(&codec_count);

    for (size_t i = 0; i < codec_count; i++)
        for (const pdr_codec_form *f = codecs[i]->forms; f->name != NULL; f++)
            if (count < MAX_FORMS && (f->flags & flags) == flags &&
                (codecs[i]->write_flags & written) == written)
                names[count++] = f->name;
    names[count] = NULL;
    return count;
}

const char *const *cli_form_words(void)
{
    static const char *words[MAX_FORMS + 1];

    (void)list_forms(words, 0, 0);
    return words;
}

void cli_form_list(char *out, size_t cap, const char *lead, unsigned flags,
                   unsigned written)
{
    const char *names[MAX_FORMS + 1];
    size_t count = list_forms(names, flags, written);
    size_t len = (size_t)snprintf(out, cap, "%s", lead);

    for (size_t i = 0; i < count && len < cap; i++) {
        const char *gap = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        len += (size_t)snprintf(out + len, cap - len, "%s%s", gap, names[i]);
    }
}

/* --- what a codec is like ------------------------------------------------ */

const char *cli_form_title(const pdr_format *format)
{
    return format->codec->title;
}

bool cli_form_is_sequence(const pdr_format *format)
{
    return (format->flags & PDR_SEQUENCE) != 0;
}

const char *cli_form_for_many(const pdr_format *format)
{
    for (const pdr_codec_form *f = format->codec->forms; f->name != NULL; f++)
        if ((f->flags & PDR_SEQUENCE) != 0)
            return f->name;
    return NULL;
}

bool cli_form_can_write(const pdr_format *format, unsigned flags)
{
    return (format->codec->write_flags & flags) == flags;
}

/* A codec that has no bare tokens refuses what others read as one, so the
 * option does no harm there. */
pdr_read_opts cli_form_walk_opts(const pdr_format *format,
                                 const struct cli_limits *limits)
{
    pdr_read_opts opts = cli_read_opts(limits);

    opts.flags = (opts.flags & format->codec->walk_flags) | format->flags;
    return opts;
}

pdr_read_opts cli_form_read_opts(const pdr_format *format,
                                 const struct cli_limits *limits)
{
    pdr_read_opts opts = cli_read_opts(limits);

    opts.flags = (opts.flags & format->codec->read_flags) | format->flags;
    return opts;
}

/* --- the choice ---------------------------------------------------------- */

const char *cli_by_text(enum cli_by by)
{
    switch (by) {
    case CLI_BY_OPTION:
        return "as asked";
    case CLI_BY_NAME:
        return "by its extension";
    case CLI_BY_BYTES:
        return "by its first bytes";
    case CLI_BY_BOTH:
        return "by its extension and its first bytes";
    }
    return "";
}

const char *cli_by_slug(enum cli_by by)
{
    static const char *const slugs[] = {[CLI_BY_OPTION] = "option",
                                        [CLI_BY_NAME] = "extension",
                                        [CLI_BY_BYTES] = "bytes",
                                        [CLI_BY_BOTH] = "extension+bytes"};

    return slugs[by];
}

/* The form with this place in cli_form_words(). */
static void by_word(struct cli_form *out, uint64_t word)
{
    size_t count = 0;
    const pdr_codec *const *codecs = cli_codecs(&count);
    const char *name = cli_form_words()[word];
    pdr_err err = PDR_ERR_INIT;

    out->by = CLI_BY_OPTION;
    cli_must(pdr_codec_find(&out->format, codecs, count, name, &err), &err);
}

bool cli_form_of_name(struct cli_form *out, const char *path, uint64_t word)
{
    size_t count = 0;
    const pdr_codec *const *codecs = cli_codecs(&count);

    if (word != CLI_NO_FORM) {
        by_word(out, word);
        return true;
    }
    out->by = CLI_BY_NAME;
    return strcmp(path, "-") != 0 &&
           pdr_codec_guess(&out->format, codecs, count, path, pdr_str_n("", 0),
                           false, NULL) == PDR_OK;
}

/* A form with flags that the other one lacks is another one: records are no
 * sequence. One that lacks some of them only did not look as far: the first
 * line of a sequence may be one document. */
bool cli_form_differs(pdr_format *out, const pdr_format *used, pdr_str first,
                      bool whole)
{
    size_t count = 0;
    const pdr_codec *const *codecs = cli_codecs(&count);

    return pdr_codec_guess(out, codecs, count, NULL, first, whole, NULL) ==
               PDR_OK &&
           (out->codec != used->codec || (out->flags & ~used->flags) != 0);
}

void cli_form_doubt(char *out, size_t cap, const pdr_format *used,
                    pdr_str first, bool whole)
{
    pdr_format other;

    out[0] = '\0';
    if (used->codec == NULL || !cli_form_differs(&other, used, first, whole))
        return;
    snprintf(out, cap, "its first bytes look like %s; --from %s reads it so",
             cli_form_title(&other), other.name);
}

pdr_rc cli_form_of_input(struct cli_form *out, struct cli_input *in,
                         uint64_t word, pdr_err *err)
{
    const char *path = strcmp(in->path, "-") == 0 ? NULL : in->path;
    struct cli_form named;
    size_t count = 0;
    const pdr_codec *const *codecs = cli_codecs(&count);
    pdr_rc rc = PDR_OK;

    if (word != CLI_NO_FORM) {
        by_word(out, word);
        return PDR_OK;
    }
    rc = cli_input_peek(in, err);
    if (rc == PDR_OK)
        rc = pdr_codec_guess(&out->format, codecs, count, path,
                             pdr_str_n(in->first, in->first_len), in->ended,
                             err);
    if (rc != PDR_OK)
        return rc;
    if (!cli_form_of_name(&named, in->path, CLI_NO_FORM))
        out->by = CLI_BY_BYTES;
    else if (strcmp(named.format.name, out->format.name) == 0)
        out->by = CLI_BY_NAME;
    else
        out->by = CLI_BY_BOTH;
    return PDR_OK;
}
