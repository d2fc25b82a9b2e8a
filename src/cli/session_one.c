/*
 * session_one.c - one session, wherever it is: found, and written back.
 *
 * In a file the session stays among the others; in a folder it is a file of its
 * own; in a store it is rows. What was read has a generation or a revision, and
 * is written back only if that is still what is there.
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

void ses_one_tell(struct ses_one *o, pdr_builder *to)
{
    static const char *const names[] = {"severity", "text", "pointer", "rule"};
    static const char *const gaps[] = {"perdure: ", ": ", ", at ", " ["};
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
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
    while (to == NULL && !o->cli->quiet && pdr_iter_next(&it)) {
        pdr_buf_clear(&line); /* "perdure: warning: the text [rule]" */
        for (size_t i = 0; i < CLI_COUNT(names); i++) {
            pdr_str text =
                doc_text(pdr_value_get_c(it.value, names[i]), &scratch);

            if (text.len == 0)
                continue;
            cli_put(&line, gaps[i]);
            cli_show(&line, text, CLI_TEXT_LINE);
        }
        cli_fprintf(stderr, "%.*s]\n", (int)line.len, line.ptr);
    }
    pdr_value_free(all);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&line);
}

/* --- opening ------------------------------------------------------------- */

int ses_one_fail(const struct ses_one *o, const pdr_err *err)
{
    char hint[SES_HINT_MAX], word[CLI_WORD_MAX];
    const struct cli_about about = {.name = ses_from_name(o->from),
                                    .hint = hint};
    struct stat info = {.st_mode = 0};

    /* A path where no place was named is a slip, if the default store has no
     * such session. */
    if (o->store != NULL && o->from->store.is_default && o->key != NULL &&
        strcmp(err->reason, "no_session") == 0 && stat(o->key, &info) == 0) {
        snprintf(hint, sizeof(hint), "write --file or --folder in front of %s",
                 cli_word(word, o->key, "it"));
        return cli_fail(o->cli, &about, err);
    }
    return ses_fail(o->cli, o->from, o->file.wrong, pdr_buf_str(&o->file.text),
                    err);
}

int ses_one_open(struct ses_one *o, bool change)
{
    const struct ses_from *from = o->from;
    struct stat info = {.st_mode = S_IFREG};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    /* Only a file can be replaced by another one. */
    if (from->file != NULL && change &&
        (strcmp(from->file, "-") == 0 ||
         (stat(from->file, &info) == 0 && !S_ISREG(info.st_mode))))
        return doc_usage(o->cli, from->file, "can be read, not changed",
                         "name a file; --file - is for reading");
    if (ses_from_is_store(from))
        rc = sto_open(&o->store, &from->store, change ? "rw" : "ro", &err);
    else if (from->folder != NULL)
        rc = ses_folder_open(&o->folder, o->from, false, &err);
    else
        rc = ses_file_read(&o->file, o->cli, from->file, &from->how, change,
                           &err);
    return rc == PDR_OK ? 0 : ses_one_fail(o, &err);
}

bool ses_one_needs_id(const struct ses_one *o)
{
    return o->folder != NULL || o->store != NULL ||
           ses_file_count(&o->file) > 1;
}

static pdr_rc find_session(struct ses_one *o, const char *id, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (o->store != NULL)
        return ses_store_load(o, err);
    if (o->folder != NULL) {
        pdr_session_free(o->session);
        o->session = NULL;
        pdr_builder_free(o->findings); /* of an earlier try */
        o->findings = NULL;
        CLI_TRY(ses_folder_get(&o->session, &o->generation, o->folder,
                               pdr_str_c(id), o->change, err, on_finding, o));
    } else {
        CLI_TRY(ses_file_find(&o->pick, &o->file, id, err));
        o->session = ses_doc_session(o->pick.doc, o->pick.index);
        o->generation = o->file.generation;
    }
    o->bag = pdr_session_bag(o->session);
done:
    return rc;
}

int ses_one_find(struct ses_one *o, const char *id)
{
    pdr_err err = PDR_ERR_INIT;

    o->key = id;
    if ((o->folder != NULL || o->store != NULL) && id == NULL)
        return ses_missing(o->cli, "ID",
                           o->store != NULL
                               ? "a session of a store is named by its id"
                               : "a session of a folder is named by its key");
    return find_session(o, id, &err) == PDR_OK ? 0 : ses_one_fail(o, &err);
}

int ses_one_look_up(struct ses_one *o, const char *id)
{
    int status = ses_from_check(o->cli, o->from, id);

    if (status == 0)
        status = ses_limits_check(o->cli, o->from);
    if (status == 0)
        status = ses_one_open(o, false);
    return status == 0 ? ses_one_find(o, id) : status;
}

pdr_rc ses_one_save(struct ses_one *o, pdr_err *err)
{
    const pdr_commit_options now = {.now_ms = sto_now_ms()};
    pdr_generation written = o->generation;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    o->file.lost = (pdr_write_report){0, 0}; /* of an earlier try */
    if (o->store != NULL)
        return o->file.dry_run ? PDR_OK
                               : pdr_stored_commit(o->stored, &now, err);
    if (o->folder == NULL) {
        CLI_TRY(ses_file_save(&o->file, o->pick.doc, &o->from->how, err));
        o->generation = o->file.generation;
        goto done;
    }
    o->file.exchange = o->from->format == PDR_FOLDER_MSGPACK;
    if (o->file.exchange) { /* what it takes of the session is counted */
        CLI_TRY(pdr_session_to_value(&value, o->session, err));
        CLI_TRY(ses_exchange(&value, &o->file.lost, err));
    }
    if (!o->file.dry_run)
        CLI_TRY(pdr_folder_set(&written, o->folder, pdr_str_c(o->key),
                               &o->generation, o->session, err, on_finding, o));
    o->generation = written;
done:
    pdr_value_free(value);
    return rc;
}

void ses_one_free(struct ses_one *o)
{
    if (o->folder != NULL)
        pdr_session_free(o->session);
    pdr_folder_close(o->folder);
    pdr_value_free(o->properties);
    pdr_stored_close(o->stored);
    pdr_store_close(o->store);
    pdr_builder_free(o->findings);
    ses_file_free(&o->file);
}

/* --- generations and revisions ------------------------------------------- */

const char *ses_one_mark(char *out, const struct ses_one *o)
{
    if (o->store == NULL)
        return ses_generation_text(out, &o->generation);
    snprintf(out, 65, "%ju", (uintmax_t)pdr_stored_head(o->stored)->revision);
    return out;
}

const char *ses_one_mark_word(const struct ses_one *o)
{
    return o->store != NULL ? "revision" : "generation";
}

bool ses_one_is_mark(const struct ses_one *o, const char *text)
{
    pdr_generation none;

    if (o->store == NULL)
        return ses_generation_read(&none, text);
    return text[0] >= '1' && text[0] <= '9' && strlen(text) <= 20 &&
           strspn(text, "0123456789") == strlen(text);
}

bool ses_one_has_mark(const struct ses_one *o, const char *text)
{
    pdr_generation expected;
    char mark[65];

    if (o->store != NULL)
        return strcmp(text, ses_one_mark(mark, o)) == 0;
    return ses_generation_read(&expected, text) &&
           pdr_generation_equal(&expected, &o->generation);
}

void ses_one_put_id(pdr_buf *out, const struct ses_one *o)
{
    if (o->store != NULL || o->folder != NULL)
        cli_put(out, o->key);
    else
        ses_put_id(out, o->session);
}

void ses_one_members(pdr_builder *to, const struct ses_one *o,
                     const char *id_name)
{
    pdr_buf id = PDR_BUF_INIT(SIZE_MAX);
    char text[65];

    cli_member_text(to, ses_from_word(o->from),
                    pdr_str_c(ses_from_name(o->from)));
    if (o->store != NULL)
        cli_member_text(to, "tenant", pdr_stored_head(o->stored)->ref.tenant);
    else if (o->folder == NULL)
        cli_member_count(to, "index", o->pick.at);
    ses_one_put_id(&id, o);
    if (id_name != NULL && id.len > 0)
        cli_member_text(to, id_name, pdr_buf_str(&id));
    if (o->store != NULL)
        cli_member_count(to, "revision", pdr_stored_head(o->stored)->revision);
    else
        cli_member_text(to, "generation",
                        pdr_str_c(ses_generation_text(text, &o->generation)));
    pdr_buf_dispose(&id);
}

/* --- arguments ----------------------------------------------------------- */

const char *ses_words_of(struct ses_words *out, const char *const *words,
                         size_t count, bool has_value, bool many)
{
    memset(out, 0, sizeof(*out));
    if (has_value && count > 0)
        out->value = words[--count];
    /* Two words are a key and a pointer into it, or an id and a key. */
    if (count > 2 || (count > 0 && many) ||
        (count == 2 && words[1][0] != '\0' && words[1][0] != '/')) {
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
