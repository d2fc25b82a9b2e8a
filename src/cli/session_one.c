/*
 * session_one.c - one session, wherever it is: found, and written back.
 *
 * In a file the session stays among the others; in a folder it is a file of its
 * own. What was read has a generation in both, and is written back only if that
 * is still what is there.
 */
#include "session_parts.h"

#include <sys/stat.h>

/* --- what reading found -------------------------------------------------- */

static pdr_rc on_finding(const pdr_doc_finding *finding, pdr_err *err,
                         void *arg)
{
    struct ses_one *o = arg;

    (void)err;
    if (o->findings == NULL) {
        cli_must(pdr_builder_new(&o->findings, NULL), NULL);
        pdr_builder_array(o->findings);
    }
    pdr_builder_object(o->findings);
    cli_member_text(o->findings, "rule", pdr_str_c(finding->rule));
    cli_member_text(o->findings, "severity",
                    pdr_str_c(pdr_severity_name(finding->severity)));
    cli_member_text(o->findings, "pointer", finding->pointer);
    cli_member_text(o->findings, "text", finding->text);
    pdr_builder_end(o->findings);
    return PDR_OK;
}

/* "perdure: warning: the text [rule]" */
static void tell_one(const pdr_value *finding)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
    const char *names[] = {"severity", "text", "pointer", "rule"};
    const char *gaps[] = {"perdure: ", ": ", ", at ", " ["};

    for (size_t i = 0; i < CLI_COUNT(names); i++) {
        pdr_str text = doc_text(pdr_value_get_c(finding, names[i]), &scratch);
        if (text.len == 0)
            continue;
        cli_put(&line, gaps[i]);
        cli_show(&line, text, CLI_TEXT_LINE);
    }
    fprintf(stderr, "%.*s]\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
    pdr_buf_dispose(&scratch);
}

void ses_one_tell(struct ses_one *o, pdr_builder *to)
{
    pdr_value *all = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_iter it;

    if (o->findings == NULL)
        return;
    pdr_builder_end(o->findings);
    cli_must(pdr_builder_finish(&all, o->findings, &err), &err);
    pdr_builder_free(o->findings);
    o->findings = NULL;
    if (to != NULL) {
        pdr_builder_name(to, pdr_str_c("findings"));
        pdr_builder_value(to, all);
    }
    pdr_iter_init(&it, all);
    while (to == NULL && !o->cli->quiet && pdr_iter_next(&it))
        tell_one(it.value);
    pdr_value_free(all);
}

/* --- opening ------------------------------------------------------------- */

int ses_one_fail(const struct ses_one *o, const pdr_err *err)
{
    return ses_fail(o->cli, o->from, o->file.wrong, pdr_buf_str(&o->file.text),
                    err);
}

/* What is no file can be read, but nothing can take its place. */
static bool is_file(const char *path)
{
    struct stat info = {.st_mode = 0};

    return strcmp(path, "-") != 0 &&
           (stat(path, &info) != 0 || S_ISREG(info.st_mode));
}

int ses_one_open(struct ses_one *o, bool change)
{
    const struct ses_from *from = o->from;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (from->file != NULL && change && !is_file(from->file))
        return doc_usage(o->cli, from->file, "can be read, not changed",
                         "name a file; --file - is for reading");
    if (from->folder != NULL)
        rc = ses_folder_open(&o->folder, o->from, false, &err);
    else
        rc = ses_file_read(&o->file, o->cli, from->file, &from->how, change,
                           &err);
    return rc == PDR_OK ? 0 : ses_one_fail(o, &err);
}

bool ses_one_needs_id(const struct ses_one *o)
{
    return o->folder != NULL || ses_file_count(&o->file) > 1;
}

static pdr_rc find_in_folder(struct ses_one *o, pdr_err *err)
{
    pdr_session_free(o->session);
    o->session = NULL;
    pdr_builder_free(o->findings); /* of an earlier try */
    o->findings = NULL;
    return pdr_folder_get(&o->session, &o->generation, o->folder,
                          pdr_str_c(o->key), err, on_finding, o);
}

static pdr_rc find_in_file(struct ses_one *o, const char *id, pdr_err *err)
{
    pdr_rc rc = ses_file_find(&o->pick, &o->file, id, err);

    if (rc != PDR_OK)
        return rc;
    o->session = ses_doc_session(o->pick.doc, o->pick.index);
    o->generation = o->file.generation;
    return PDR_OK;
}

int ses_one_find(struct ses_one *o, const char *id)
{
    const struct cli_usage missing = {
        "missing_argument", "ID", "an argument is missing",
        "a session of a folder is named by its key"};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    o->key = id;
    if (o->folder != NULL && id == NULL)
        return cli_usage_fail(o->cli, &missing);
    rc =
        o->folder != NULL ? find_in_folder(o, &err) : find_in_file(o, id, &err);
    return rc == PDR_OK ? 0 : ses_one_fail(o, &err);
}

pdr_rc ses_one_save(struct ses_one *o, pdr_err *err)
{
    pdr_generation written = {.exists = false};
    pdr_rc rc = PDR_OK;

    if (o->folder == NULL) {
        rc = ses_file_save(&o->file, o->cli, o->pick.doc, &o->from->how, err);
        written = o->file.generation;
    } else {
        rc = pdr_folder_set(&written, o->folder, pdr_str_c(o->key),
                            &o->generation, o->session, err, on_finding, o);
    }
    if (rc == PDR_OK)
        o->generation = written;
    return rc;
}

void ses_one_free(struct ses_one *o)
{
    if (o->folder != NULL)
        pdr_session_free(o->session);
    pdr_folder_close(o->folder);
    pdr_builder_free(o->findings);
    ses_file_free(&o->file);
}

/* --- arguments ----------------------------------------------------------- */

static bool is_pointer(const char *word)
{
    return word[0] == '\0' || word[0] == '/';
}

const char *ses_words_of(struct ses_words *out, const char *const *words,
                         size_t count, bool has_value, bool many)
{
    bool has_id = false;

    memset(out, 0, sizeof(*out));
    if (has_value && count > 0)
        out->value = words[--count];
    /* Two words are a key and a pointer into it, or an id and a key. */
    has_id = many || count > 2 || (count == 2 && !is_pointer(words[1]));
    if (has_id && count > 0) {
        out->id = *words++;
        count--;
    }
    out->key = count > 0 ? words[0] : NULL;
    out->pointer = count > 1 ? words[1] : NULL;
    if (many && out->id == NULL)
        return "ID";
    if (out->key == NULL)
        return "KEY";
    return has_value && out->value == NULL ? "VALUE" : NULL;
}
