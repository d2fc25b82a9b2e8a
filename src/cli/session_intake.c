/*
 * session_intake.c - the sessions of a file into a store.
 *
 * WHY  One document is handed to the library as it is read, so its length does
 *      not matter. A list, an object of sessions, many documents and other
 *      formats are taken apart first: each session becomes a document of its
 *      own, as JSON, and is imported by itself.
 *
 *        one JSON object ------------------------------> pdr_import()
 *        anything else --> reader --> session --> JSON --> pdr_import()
 *
 * Each session is there as a whole or not at all; of several, those before a
 * failure stay, and the message says how many these are.
 *
 * A store that is not there is made when the first commit is about to be made.
 * So a slip leaves no store behind; only a document that is staged, because it
 * is long, may be refused later than that.
 */
#include "session_parts.h"

#include <stdlib.h>

#define KEEP_BYTES ((size_t)9 << 20) /* more than the library looks at */
#define READ_BYTES ((size_t)1 << 20)

/* Ids that went in, to be looked up: a table with room, searched from the place
 * that the hash of a text gives. */
struct ids {
    pdr_buf texts;
    struct id {
        size_t from, len; /* in `texts`; without a length it is free */
    } * table;
    size_t count, cap; /* `cap` is a power of two */
};

struct intake {
    struct cli *cli;
    const struct ses_from *from; /* the store, and how to read the file */
    const struct ses_intake *how;
    pdr_store *store;
    struct cli_input in;
    struct cli_form form;
    pdr_buf kept;             /* the first bytes of one document */
    size_t again;             /* of them, how many were read again */
    bool has_all;             /* there is nothing after them */
    bool is_past;             /* bytes after them were read */
    bool is_long;             /* too long to be taken whole, to find out */
    bool is_new;              /* the store is not there yet */
    pdr_import_report report; /* of the last session, */
    pdr_buf id;               /* and its id, which the report borrows */
    uint64_t sessions, replaced, entries, nulls;
    struct ids ids;    /* of what was taken apart */
    pdr_builder *told; /* of JSON output; an array */
    uint64_t at;       /* element in work */
    bool is_apart;     /* the file is taken apart */
    bool is_map;       /* it is an object of sessions */
    bool is_several;   /* that, an array or lines: surely elements */
    bool store_failed; /* a failure is about the store */
    /* With --id there may be one session: it waits until that is sure. */
    pdr_buf held;
    bool has_held;
};

/* --- ids ----------------------------------------------------------------- */

/* Where an id is, or would be. There is always a free place. */
static struct id *find_id(const struct ids *ids, pdr_str text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    size_t at = 0;

    for (size_t k = 0; k < text.len; k++)
        hash = (hash ^ (unsigned char)text.ptr[k]) * 1099511628211u;
    for (at = hash & (ids->cap - 1); ids->table[at].len > 0;
         at = (at + 1) & (ids->cap - 1)) {
        const struct id *id = &ids->table[at];
        if (pdr_str_equal(pdr_str_n(ids->texts.ptr + id->from, id->len), text))
            break;
    }
    return &ids->table[at];
}

static void grow_ids(struct ids *ids)
{
    struct ids old = *ids;

    ids->cap = old.cap > 0 ? old.cap * 2 : 64;
    ids->table = cli_realloc(NULL, ids->cap, sizeof(ids->table[0]));
    memset(ids->table, 0, ids->cap * sizeof(ids->table[0]));
    for (size_t k = 0; k < old.cap; k++) {
        struct id id = old.table[k];
        if (id.len > 0)
            *find_id(ids, pdr_str_n(ids->texts.ptr + id.from, id.len)) = id;
    }
    free(old.table);
}

/* False if it is there already. */
static bool add_id(struct ids *ids, pdr_str text)
{
    struct id *id = NULL;

    if (ids->count * 2 >= ids->cap)
        grow_ids(ids);
    id = find_id(ids, text);
    if (id->len > 0)
        return false;
    *id = (struct id){ids->texts.len, text.len};
    cli_must(pdr_buf_append(&ids->texts, text, NULL), NULL);
    ids->count++;
    return true;
}

/* --- one session --------------------------------------------------------- */

/* Or is the input what failed? */
static bool is_about_store(const pdr_err *err)
{
    static const char *const reasons[] = {"disk_full", "in_doubt",
                                          "file_failed"};

    for (size_t k = 0; k < CLI_COUNT(reasons); k++)
        if (strcmp(reasons[k], err->reason) == 0)
            return true;
    return err->code == PDR_EEXISTS || err->code == PDR_EBUSY ||
           err->code == PDR_ECONFLICT || err->code == PDR_EUNKNOWN ||
           err->code == PDR_ECORRUPT || err->code == PDR_EDENIED;
}

/* For pdr_import(); `arg` is the struct intake. */
static pdr_rc make_store(pdr_store **out, pdr_err *err, void *arg)
{
    struct intake *i = arg;
    pdr_rc rc = sto_open(&i->store, &i->from->store, "rwc", err);

    i->store_failed = rc != PDR_OK;
    *out = i->store;
    return rc;
}

static pdr_rc import_one(struct intake *i, pdr_str id, pdr_err *err,
                         pdr_read_fn fn, void *arg)
{
    pdr_import_opts opts = {.ref.tenant =
                                pdr_str_c(sto_tenant(&i->from->store)),
                            .ref.id = id,
                            .replace = i->how->replace,
                            .bare_tokens = i->from->how.limits.bare_tokens,
                            .now_ms = sto_now_ms(),
                            .open = make_store,
                            .open_arg = i};
    pdr_rc rc = PDR_OK;

    if (i->how->agent != NULL)
        opts.agent = pdr_str_c(i->how->agent);
    if (i->store == NULL && !i->is_new) {
        rc = sto_open(&i->store, &i->from->store, "rw", err);
        i->is_new = rc == PDR_ENOTFOUND && strcmp(err->reason, "no_store") == 0;
        if (rc == PDR_OK)
            rc = sto_check_lasting(i->store, err);
        i->store_failed = rc != PDR_OK && !i->is_new;
        if (i->store_failed)
            return rc;
    }
    rc = pdr_import(&i->report, i->store, &opts, err, fn, arg);
    if (rc != PDR_OK) {
        i->store_failed = i->store_failed || is_about_store(err);
        return rc;
    }
    pdr_buf_clear(&i->id);
    cli_must(pdr_buf_append(&i->id, i->report.ref.id, NULL), NULL);
    i->sessions++;
    i->replaced += i->report.revision > 1;
    i->entries += i->report.entries;
    if (cli_is_json(i->cli)) {
        pdr_builder_object(i->told);
        cli_member_text(i->told, "session", i->report.ref.id);
        cli_member_count(i->told, "revision", i->report.revision);
        cli_member_count(i->told, "epoch", i->report.epoch);
        cli_member_count(i->told, "entries", i->report.entries);
        cli_member_count(i->told, "slots", i->report.slots);
        cli_member_count(i->told, "properties", i->report.properties);
        cli_member_count(i->told, "bytes", i->report.bytes);
        cli_member_count(i->told, "commits", i->report.commits);
        pdr_builder_end(i->told);
    }
    return PDR_OK;
}

static pdr_str named_id(const struct intake *i)
{
    return i->how->id != NULL ? pdr_str_c(i->how->id) : pdr_str_n(NULL, 0);
}

/* --- read again ---------------------------------------------------------- */

/* What is kept, then the rest; `arg` is the struct intake. */
static pdr_rc read_again(size_t *got, void *into, size_t cap, pdr_err *err,
                         void *arg)
{
    struct intake *i = arg;
    size_t left = i->kept.len - i->again;

    *got = left < cap ? left : cap;
    if (left > 0) {
        memcpy(into, i->kept.ptr + i->again, *got);
        i->again += *got;
        return PDR_OK;
    }
    if (i->has_all)
        return PDR_OK;
    i->is_past = true;
    return cli_input_some(got, into, cap, err, &i->in);
}

/* --- taken apart --------------------------------------------------------- */

static pdr_rc import_text(struct intake *i, pdr_str id, pdr_str text,
                          pdr_err *err)
{
    pdr_rc rc = import_one(i, id, err, pdr_read_str, &text);

    if (rc != PDR_OK && !i->store_failed && i->is_several)
        ses_err_in_element(err, i->at);
    else if (rc != PDR_OK && !i->store_failed)
        ses_err_element(err, i->at);
    return rc;
}

/* The second session of an id would be refused, or replace the first. An id is
 * the name in an object of sessions, else the session's own; a state document
 * has none. */
static pdr_rc check_twice(struct intake *i, pdr_str id, const pdr_value *value,
                          pdr_err *err)
{
    pdr_buf own = PDR_BUF_INIT(SIZE_MAX), shown = PDR_BUF_INIT(SIZE_MAX);
    pdr_session *session = id.ptr == NULL ? ses_session_in(value) : NULL;
    pdr_rc rc = PDR_OK;

    if (session != NULL) {
        ses_put_durable_id(&own, session);
        if (own.len == 0)
            cli_must(pdr_buf_append(&own, pdr_session_id(session), NULL), NULL);
        id = pdr_buf_str(&own);
    }
    if (id.len > 0 && !add_id(&i->ids, id)) {
        cli_show_cut(&shown, id, CLI_TEXT_LINE, 80);
        rc = pdr_err_set(err, PDR_EINVALID, "key_twice",
                         "id '%.*s' stands twice in the file, the second time "
                         "at /%ju",
                         (int)shown.len, shown.ptr, (uintmax_t)i->at);
    }
    pdr_session_free(session);
    pdr_buf_dispose(&shown);
    pdr_buf_dispose(&own);
    return rc;
}

/* Keep the one that --id names; what is not a session says what it looks like.
 */
static pdr_rc hold_text(struct intake *i, const pdr_value *value, pdr_str text,
                        pdr_err *err)
{
    pdr_looks looks = pdr_session_looks(value);
    pdr_session *none = NULL;
    pdr_rc rc = PDR_OK;

    if (looks != PDR_LOOKS_SESSION && looks != PDR_LOOKS_WRAPPER &&
        looks != PDR_LOOKS_STATE)
        CLI_TRY(pdr_session_from_value(&none, value, err));
    if (i->has_held)
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "several_sessions",
                            "there are several sessions, and --id names one"));
    i->has_held = true;
    CLI_TRY(pdr_buf_append(&i->held, text, err));
done:
    pdr_session_free(none);
    return rc;
}

/* Import one element, or hold it. */
static pdr_rc take_value(struct intake *i, const pdr_value *value,
                         const pdr_value *name, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str raw = {NULL, 0}, id = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_NULL) {
        i->nulls++;
        return PDR_OK;
    }
    if (!pdr_value_raw(&raw, value))
        raw = doc_json(value, &text);
    if (name != NULL)
        id = doc_text(name, &scratch);
    if (i->how->id != NULL) {
        CLI_TRY(hold_text(i, value, raw, err));
    } else {
        CLI_TRY(check_twice(i, id, value, err));
        CLI_TRY(import_text(i, id, raw, err));
    }
done:
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc take_item(struct intake *i, pdr_session *session,
                        const pdr_session_item *item, pdr_err *err)
{
    pdr_value *document = NULL;
    pdr_rc rc = PDR_OK;

    i->at = item->index;
    i->is_map = i->is_map || item->name != NULL;
    i->is_several = i->is_several || i->is_map;
    if (session != NULL)
        CLI_TRY(pdr_session_to_value(&document, session, err));
    CLI_TRY(take_value(i, session != NULL ? document : item->value, item->name,
                       err));
done:
    pdr_value_free(document);
    return rc;
}

static pdr_rc take_apart(struct intake *i, pdr_err *err)
{
    const pdr_read_opts opts =
        cli_form_walk_opts(&i->form.format, &i->from->how.limits);
    pdr_session_reader *reader = NULL;
    bool end = false;
    pdr_rc rc = PDR_OK;

    i->is_apart = true;
    CLI_TRY(pdr_session_reader_new(&reader, i->form.format.codec, &opts, true,
                                   err, read_again, i));
    /* What is long is taken apart only if it is an object of sessions: the
     * reader would take anything else whole, and that is what must not be. */
    if (i->is_long)
        CLI_TRY(pdr_session_reader_look(&i->is_map, reader, err));
    if (i->is_long && !i->is_map)
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "session_unknown_shape",
                            "this is not an object of sessions"));
    while (!end) {
        pdr_session *session = NULL;
        pdr_session_item item = {.value = NULL};
        rc = pdr_session_reader_next(&session, &item, &end, reader, err);
        if (rc == PDR_OK && !end)
            rc = take_item(i, session, &item, err);
        pdr_value_free(item.value);
        pdr_session_free(session);
        if (rc != PDR_OK)
            goto done;
    }
    if (i->has_held)
        CLI_TRY(import_text(i, named_id(i), pdr_buf_str(&i->held), err));
    else if (i->how->id != NULL)
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "no_session_here",
                            "there is no session in it"));
done:
    pdr_session_reader_free(reader);
    return rc;
}

/* --- the file ------------------------------------------------------------ */

/* The first byte that is not white space; NUL if there is none. */
static char first_mark(pdr_str text)
{
    size_t at = 0;

    while (at < text.len && memchr(" \t\r\n", text.ptr[at], 4) != NULL)
        at++;
    return at < text.len ? text.ptr[at] : '\0';
}

/* An object may also be one of sessions by name. If it is not, the failure that
 * it had as a whole is reported. What the library read further than its first
 * look was a session, and not one of these. */
static pdr_rc try_map(struct intake *i, pdr_rc rc, pdr_err *err)
{
    pdr_err own = PDR_ERR_INIT;
    pdr_rc now = PDR_OK;

    i->is_long = strcmp(err->reason, "member_order") == 0;
    if (i->is_past ||
        (!i->is_long && strcmp(err->reason, "session_unknown_shape") != 0))
        return rc;
    i->again = 0;
    now = take_apart(i, &own);
    if (now != PDR_OK && !i->is_map) {
        i->is_apart = false;
        return rc;
    }
    if (now != PDR_OK)
        *err = own;
    return now;
}

/* What may be one document or several is tried as one first, and so much of it
 * is kept that it can be read again. White space in front of a document comes
 * back, too, so it may be longer than a first look. */
static pdr_rc import_file(struct intake *i, pdr_err *err)
{
    bool is_json = false;
    char mark = '\0';
    size_t got = 1;
    pdr_rc rc = PDR_OK;

    CLI_TRY(cli_input_open(&i->in, i->cli, i->how->path, err));
    CLI_TRY(cli_form_of_input(&i->form, &i->in, i->from->how.from, err));
    is_json = ses_store_speaks(&i->form.format) &&
              !cli_form_is_sequence(&i->form.format) &&
              cli_input_peek(&i->in, err) == PDR_OK;
    if (!is_json)
        return take_apart(i, err);
    mark = first_mark(pdr_str_n(i->in.first, i->in.first_len));
    i->is_several = mark == '[';
    if (mark != '{' && mark != '\0')
        return take_apart(i, err);
    while (got > 0 && i->kept.len < KEEP_BYTES) {
        CLI_TRY(pdr_buf_reserve(&i->kept, READ_BYTES, err));
        CLI_TRY(cli_input_some(&got, i->kept.ptr + i->kept.len, READ_BYTES, err,
                               &i->in));
        i->kept.len += got;
    }
    i->has_all = got == 0;
    if (first_mark(pdr_buf_str(&i->kept)) != '{')
        return take_apart(i, err);
    rc = import_one(i, named_id(i), err, read_again, i);
    return rc == PDR_OK ? rc : try_map(i, rc, err);
done:
    return rc;
}

/* --- what was done ------------------------------------------------------- */

/* The command that takes a chat; NULL: it is none. */
static const char *chat_hint(char room[SES_HINT_MAX], const struct intake *i,
                             const pdr_err *err)
{
    char uri[CLI_WORD_MAX], path[CLI_WORD_MAX];

    if (strcmp(err->reason, "session_unknown_shape") != 0 || !i->has_all ||
        !ses_is_chat(pdr_buf_str(&i->kept)))
        return NULL;
    snprintf(room, SES_HINT_MAX,
             "it is a saved chat of several agents: 'perdure group import "
             "--store %s --id ID %s' takes it",
             cli_word(uri, i->from->store.uri, "STORE"),
             cli_word(path, i->how->path, "FILE"));
    return room;
}

static const char *hint_for(char room[SES_HINT_MAX], const struct intake *i,
                            const pdr_err *err)
{
    /* Who asked for fewer levels than a store takes? What is one document is
     * read by the library, which does not care. */
    uint64_t levels = i->from->how.limits.max_depth;
    bool is_shallow = i->is_apart && levels > 0 && levels < 128;
    char done[64] = "";

    if (i->sessions > 0)
        snprintf(done, sizeof(done), "; %ju before it %s imported",
                 (uintmax_t)i->sessions, i->sessions == 1 ? "was" : "were");
    if (strcmp(err->reason, "session_exists") == 0)
        snprintf(room, SES_HINT_MAX, "--replace takes its place%s", done);
    else if (strcmp(err->reason, "too_deep") == 0 && !is_shallow)
        snprintf(room, SES_HINT_MAX,
                 "a store keeps documents of up to 128 levels%s", done);
    else if (strcmp(err->reason, "no_session_id") == 0 && i->is_apart)
        snprintf(room, SES_HINT_MAX,
                 "give it an id in the file; --id ID is for a file with one "
                 "session%s",
                 done);
    else if (strcmp(err->reason, "no_session_id") == 0 ||
             (strcmp(err->reason, "bad_ref") == 0 && err->path[0] != '\0' &&
              !i->is_apart)) /* the document has it, and where */
        snprintf(room, SES_HINT_MAX, "--id ID names it%s", done);
    else if (strcmp(err->reason, "key_twice") == 0)
        snprintf(room, SES_HINT_MAX, "give one of them another id%s", done);
    else if (strcmp(err->reason, "no_session_here") == 0)
        snprintf(room, SES_HINT_MAX, "name a file with one session");
    else if (strcmp(err->reason, "several_sessions") == 0)
        snprintf(room, SES_HINT_MAX,
                 "without --id each has its own; nothing "
                 "was imported");
    else if (i->sessions > 0)
        snprintf(room, SES_HINT_MAX, "%ju session%s before it %s imported",
                 (uintmax_t)i->sessions, i->sessions == 1 ? "" : "s",
                 i->sessions == 1 ? "was" : "were");
    else
        return i->store_failed ? sto_hint(room, &i->from->store, err)
                               : chat_hint(room, i, err);
    return room;
}

static int report_failure(const struct intake *i, const pdr_err *err)
{
    char room[SES_HINT_MAX];
    struct cli_about about = {.name = cli_input_name(i->how->path),
                              .hint = hint_for(room, i, err)};

    if (i->store_failed)
        about.name = sto_name(&i->from->store);
    if (about.hint == NULL)
        about.hint = ses_lines_hint(err, pdr_buf_str(&i->kept));
    if (!i->store_failed && !i->is_apart) {
        about.input = pdr_str_n(i->in.first, i->in.first_len);
        (void)cli_input_locate(&about.line, &about.column, &i->in, err->offset);
    }
    return cli_fail(i->cli, &about, err);
}

static void print_object(struct intake *i)
{
    pdr_builder *to = NULL;
    pdr_value *all = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_builder_end(i->told);
    cli_must(pdr_builder_finish(&all, i->told, &err), &err);
    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "file", pdr_str_c(cli_input_name(i->how->path)));
    cli_member_text(to, "store", pdr_str_c(sto_name(&i->from->store)));
    cli_member_text(to, "tenant", pdr_str_c(sto_tenant(&i->from->store)));
    pdr_builder_name(to, pdr_str_c("sessions"));
    pdr_builder_value(to, all);
    cli_member_count(to, "replaced", i->replaced);
    cli_member_count(to, "nulls", i->nulls);
    pdr_builder_end(to);
    ses_print_built(i->cli, stdout, to);
    pdr_builder_free(to);
    pdr_value_free(all);
}

static void put_count(pdr_buf *out, uint64_t count, const char *one,
                      const char *many)
{
    char digits[32];

    if (count > 0)
        cli_putf(out, ", %s %s", cli_number(digits, count),
                 count == 1 ? one : many);
}

/* "perdure: desk.db: session 'a' written, 2 entries, 3 slots" */
static void print_summary(const struct intake *i)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    cli_put(&line, "perdure: ");
    cli_show(&line, pdr_str_c(sto_name(&i->from->store)), CLI_TEXT_LINE);
    if (i->sessions == 1) {
        cli_put(&line, ": session '");
        cli_show_cut(&line, pdr_buf_str(&i->id), CLI_TEXT_LINE, 60);
        cli_putf(&line, "' %s", i->replaced > 0 ? "replaced" : "written");
    } else {
        cli_putf(&line, ": %s sessions written",
                 cli_number(digits, i->sessions));
        put_count(&line, i->replaced, "of them replaced", "of them replaced");
    }
    put_count(&line, i->entries, "entry", "entries");
    if (i->sessions == 1) {
        put_count(&line, i->report.slots, "slot", "slots");
        put_count(&line, i->report.properties, "property", "properties");
    }
    put_count(&line, i->nulls, "null left out", "nulls left out");
    cli_fprintf(stderr, "%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

int ses_import_store(struct cli *cli, const struct ses_from *from,
                     const struct ses_intake *how)
{
    struct intake i = {.cli = cli,
                       .from = from,
                       .how = how,
                       .held = PDR_BUF_INIT(SIZE_MAX),
                       .kept = PDR_BUF_INIT(SIZE_MAX),
                       .id = PDR_BUF_INIT(SIZE_MAX),
                       .ids.texts = PDR_BUF_INIT(SIZE_MAX)};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    i.in.fd = -1;
    cli_must(pdr_builder_new(&i.told, &err), &err);
    pdr_builder_array(i.told);
    rc = import_file(&i, &err);
    cli_progress_end(&i.in.progress);
    if (rc != PDR_OK)
        status = report_failure(&i, &err);
    else if (cli_is_json(cli))
        print_object(&i);
    else if (!cli->quiet)
        print_summary(&i);
    cli_input_close(&i.in);
    pdr_store_close(i.store);
    pdr_builder_free(i.told);
    pdr_buf_dispose(&i.held);
    pdr_buf_dispose(&i.kept);
    pdr_buf_dispose(&i.id);
    pdr_buf_dispose(&i.ids.texts);
    free(i.ids.table);
    return status;
}
