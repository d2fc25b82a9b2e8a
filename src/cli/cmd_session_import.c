/*
 * perdure session import - the sessions of a file into a store or a folder.
 *
 * WHY  What was exported comes back, and sessions of other programs become
 *      files that the Python edition reads. A session that is there is not
 *      replaced unless that was asked for, and nothing is written before it is
 *      known that every session can be: so the file is read twice.
 *
 *        first   each session: a key, a shape that fits, bytes that the folder
 *                can hold, new or there already?
 *        second  each one that is not the same is written, if nobody else wrote
 *                it meanwhile
 *
 * NOT HERE  Stores, which take documents of any shape and length
 *           (session_intake.c).
 */
#include "session_parts.h"

#include <stdlib.h>

#define NAMED 3 /* sessions that are there already, to name in an error */

enum fate { FATE_NONE, FATE_NEW, FATE_SAME, FATE_REPLACE };

/* What the first reading found out about an element. */
struct plan {
    enum fate fate;
    pdr_generation generation; /* of what is there */
};

struct import {
    struct cli *cli;
    const char *path;
    struct ses_from from; /* the folder, and how to read the file */
    bool yes, dry_run, drop_metadata;
    pdr_buf piped; /* standard input, which comes once */
    struct cli_form form;
    pdr_folder *folder; /* NULL: there is none yet */
    struct plan *plans;
    size_t count, cap;
    struct doc_keys keys;
    bool is_writing;
    uint64_t counts[FATE_REPLACE + 1];
    uint64_t notes;        /* sessions with what a conversion kept aside */
    pdr_write_report lost; /* spelling, by MessagePack */
    uint64_t written;
    pdr_buf there;      /* names of sessions that are there, for the error */
    uint64_t at;        /* element in work */
    pdr_value *wrong;   /* owned; what is not a session */
    bool folder_failed; /* a failure is about the folder */
};

/* --- one session --------------------------------------------------------- */

static struct plan *plan_at(struct import *i, uint64_t index)
{
    while (i->count <= index) {
        if (i->count == i->cap) {
            i->cap = i->cap > 0 ? i->cap * 2 : 256;
            i->plans = cli_realloc(i->plans, i->cap, sizeof(i->plans[0]));
        }
        i->plans[i->count++] = (struct plan){.fate = FATE_NONE};
    }
    return &i->plans[index];
}

static pdr_rc check_key(const struct import *i, pdr_session *session,
                        pdr_str key, pdr_err *err)
{
    pdr_session_shape shape = pdr_session_get_shape(session);
    pdr_buf stem = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    if (shape != PDR_SESSION_PYTHON)
        return pdr_err_set(err, PDR_EINVALID, "session_kind",
                           "session /%ju has the shape %s, and a snapshot "
                           "folder holds sessions of shape python",
                           (uintmax_t)i->at, pdr_session_shape_name(shape));
    if (key.len == 0)
        return pdr_err_set(err, PDR_EINVALID, "folder_key",
                           "session /%ju has neither a name nor an id",
                           (uintmax_t)i->at);
    rc = pdr_folder_stem(&stem, key, false, err);
    pdr_buf_dispose(&stem);
    return rc;
}

/* Is it what is in the folder, but for what writing it there would add? */
static bool is_same(const pdr_value *one, pdr_session *there)
{
    static const char *const names[] = {"type", "service_session_id", "state",
                                        "version"};
    pdr_value *other = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool same = false;

    if (there == NULL)
        return false;
    cli_must(pdr_session_to_value(&other, there, &err), &err);
    for (size_t k = 0; k < CLI_COUNT(names); k++) {
        const pdr_value *value = pdr_value_get_c(other, names[k]);
        bool is_added = value != NULL && pdr_value_get_c(one, names[k]) == NULL;
        if (is_added && strcmp(names[k], "service_session_id") == 0)
            is_added = pdr_value_kind(value) == PDR_NULL;
        else if (is_added && strcmp(names[k], "state") == 0)
            is_added = pdr_value_count(value) == 0;
        if (is_added)
            cli_must(pdr_value_remove(&other, pdr_str_c(names[k]), &err), &err);
    }
    same = pdr_value_equal(one, other);
    pdr_value_free(other);
    return same;
}

/* Is it there already? If not: can it be? */
static pdr_rc compare_session(bool *same, struct import *i,
                              pdr_session *session, pdr_str key,
                              pdr_session *there, pdr_err *err)
{
    pdr_folder_format format = (pdr_folder_format)i->from.format;
    pdr_write_report lost = {0, 0};
    pdr_value *value = NULL;
    char why[PDR_ERR_MESSAGE];
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_session_to_value(&value, session, err));
    /* A folder leaves out the member that a conversion keeps things in. */
    if (pdr_value_get_c(value, "perdure") != NULL) {
        i->notes++;
        CLI_TRY(pdr_value_remove(&value, pdr_str_c("perdure"), err));
    }
    *same = is_same(value, there);
    if (*same)
        goto done;
    CLI_TRY(pdr_folder_check(format, key, session, err));
    if (format == PDR_FOLDER_MSGPACK) {
        CLI_TRY(ses_exchange(&value, &lost, err));
        *same = is_same(value, there);
    }
    if (!*same) {
        i->lost.numbers += lost.numbers;
        i->lost.strings += lost.strings;
    }
done:
    pdr_value_free(value);
    if (rc == PDR_EINVALID || rc == PDR_ELIMIT) {
        snprintf(why, sizeof(why), "%s", err->message);
        snprintf(err->message, sizeof(err->message),
                 "session /%ju cannot be in the folder: %.180s",
                 (uintmax_t)i->at, why);
        err->offset = -1; /* was in what would be written */
    }
    return rc;
}

/* What is to become of a session? */
static pdr_rc plan_session(struct import *i, pdr_session *session, pdr_str key,
                           pdr_err *err)
{
    struct plan *plan = plan_at(i, i->at);
    pdr_session *old = NULL;
    bool same = false;
    pdr_rc rc = PDR_OK;

    CLI_TRY(check_key(i, session, key, err));
    doc_keys_add(&i->keys, key, (size_t)i->at);
    if (i->folder != NULL)
        rc = ses_folder_get(&old, &plan->generation, i->folder, key,
                            !i->dry_run, err, NULL, NULL);
    if (rc != PDR_OK && rc != PDR_ENOTFOUND) {
        i->folder_failed = true;
        goto done;
    }
    if (old == NULL)
        plan->generation = (pdr_generation){.exists = false};
    CLI_TRY(compare_session(&same, i, session, key, old, err));
    plan->fate = same ? FATE_SAME : old != NULL ? FATE_REPLACE : FATE_NEW;
    i->counts[plan->fate]++;
    if (plan->fate == FATE_REPLACE && i->counts[FATE_REPLACE] <= NAMED) {
        cli_put(&i->there, i->counts[FATE_REPLACE] > 1 ? ", '" : "'");
        cli_show_cut(&i->there, key, CLI_TEXT_LINE, 40);
        cli_put(&i->there, "'");
    }
done:
    pdr_session_free(old);
    return rc;
}

/* Write a session without white space, as the Python edition does: how FILE was
 * laid out says nothing about the folder. */
static pdr_rc write_session(struct import *i, pdr_session *session, pdr_str key,
                            pdr_err *err)
{
    const struct plan *plan = plan_at(i, i->at);
    pdr_session *compact = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    if (plan->fate == FATE_SAME)
        return PDR_OK;
    CLI_TRY(pdr_session_to_value(&value, session, err));
    CLI_TRY(pdr_value_compact(&value, err));
    CLI_TRY(pdr_session_from_value(&compact, value, err));
    CLI_TRY(pdr_folder_set(NULL, i->folder, key, &plan->generation, compact,
                           err, NULL, NULL));
    i->written++;
done:
    i->folder_failed = rc != PDR_OK;
    pdr_session_free(compact);
    pdr_value_free(value);
    return rc;
}

/* The name in an object of sessions is the key, else the id is. */
static pdr_rc take_session(struct import *i, pdr_session *session,
                           const pdr_value *name, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str key =
        name != NULL ? doc_text(name, &scratch) : pdr_session_id(session);
    pdr_rc rc = i->is_writing ? write_session(i, session, key, err)
                              : plan_session(i, session, key, err);

    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- the file ------------------------------------------------------------ */

/* An element that is not a bare session. */
static pdr_rc take_value(struct import *i, const pdr_value *value,
                         const pdr_value *name, pdr_err *err)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_session *none = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_session_looks(value) == PDR_LOOKS_WRAPPER) {
        CLI_TRY(pdr_session_wrapper_from_value(&wrapper, value, NULL, err, NULL,
                                               NULL));
        if (wrapper.properties != NULL && !i->drop_metadata)
            CLI_TRY(pdr_err_set(err, PDR_EINVALID, "metadata_lost",
                                "session /%ju has metadata around it, and a "
                                "folder has no place for that",
                                (uintmax_t)i->at));
        CLI_TRY(take_session(i, wrapper.session, name, err));
    } else if (pdr_value_kind(value) == PDR_NULL) {
        i->counts[FATE_NONE] += !i->is_writing;
    } else {
        rc = pdr_session_from_value(&none, value, err);
        pdr_session_free(none);
        if (rc != PDR_OK)
            ses_err_element(err, i->at);
        if (i->wrong == NULL)
            i->wrong = pdr_value_ref(value);
    }
done:
    pdr_session_wrapper_dispose(&wrapper);
    return rc;
}

/* One reading of the file. */
static pdr_rc read_file(struct import *i, struct cli_input *in, pdr_err *err)
{
    bool is_piped = strcmp(i->path, "-") == 0, end = false;
    pdr_session_reader *reader = NULL;
    pdr_read_opts opts;
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (!is_piped || i->piped.len == 0) {
        CLI_TRY(cli_input_open(in, i->cli, i->path, err));
        CLI_TRY(cli_form_of_input(&i->form, in, i->from.how.from, err));
        if (is_piped)
            CLI_TRY(cli_input_rest(&i->piped, in, &i->from.how.limits, err));
    }
    opts = cli_form_walk_opts(&i->form.format, &i->from.how.limits);
    text = pdr_buf_str(&i->piped);
    if (is_piped)
        CLI_TRY(pdr_session_reader_new(&reader, i->form.format.codec, &opts,
                                       true, err, pdr_read_str, &text));
    else
        CLI_TRY(pdr_session_reader_new(&reader, i->form.format.codec, &opts,
                                       true, err, cli_input_some, in));
    while (!end) {
        pdr_session *session = NULL;
        pdr_session_item item = {.value = NULL};
        rc = pdr_session_reader_next(&session, &item, &end, reader, err);
        i->at = item.index;
        if (rc == PDR_OK && session != NULL)
            rc = take_session(i, session, item.name, err);
        else if (rc == PDR_OK && !end)
            rc = take_value(i, item.value, item.name, err);
        pdr_value_free(item.value);
        pdr_session_free(session);
        if (rc != PDR_OK)
            goto done;
    }
done:
    pdr_session_reader_free(reader);
    return rc;
}

/* --- both readings ------------------------------------------------------- */

static pdr_rc check_keys(struct import *i, pdr_err *err)
{
    doc_keys_sort(&i->keys);
    for (size_t k = 1; k < i->keys.count; k++) {
        const struct doc_key *one = &i->keys.items[k - 1];
        const struct doc_key *two = &i->keys.items[k];
        if (pdr_str_equal(one->text, two->text))
            return pdr_err_set(
                err, PDR_EINVALID, "key_twice",
                "sessions /%zu and /%zu have the same key '%.*s'", one->order,
                two->order, (int)(two->text.len < 120 ? two->text.len : 120),
                two->text.ptr);
    }
    return PDR_OK;
}

static pdr_rc check_there(struct import *i, pdr_err *err)
{
    uint64_t count = i->counts[FATE_REPLACE];
    char more[40] = "";

    if (count == 0 || i->yes)
        return PDR_OK;
    if (count > NAMED)
        snprintf(more, sizeof(more), " and %ju more",
                 (uintmax_t)(count - NAMED));
    i->folder_failed = true;
    return pdr_err_set(err, PDR_EEXISTS, "session_exists",
                       "other sessions are there under the same keys: %.*s%s",
                       (int)i->there.len, i->there.ptr, more);
}

/* A folder that is not there is made when all is known to be well. */
static pdr_rc open_folder(struct import *i, bool create, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (i->folder != NULL)
        return PDR_OK;
    rc = ses_folder_open(&i->folder, &i->from, create, err);
    i->folder_failed = rc != PDR_OK;
    if (rc == PDR_ENOTFOUND && !create)
        i->folder_failed = false;
    return rc == PDR_ENOTFOUND && !create ? PDR_OK : rc;
}

/* --- what was done ------------------------------------------------------- */

#define JSON_HOLDS "--format json can hold it; nothing was written"

static const char *hint_for(char room[SES_HINT_MAX], const struct import *i,
                            const pdr_err *err)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"session_exists", "--yes replaces them; nothing was written"},
        {"session_kind", "'perdure session convert --shape python' makes such "
                         "sessions; nothing was written"},
        {"metadata_lost", "--drop-metadata imports the session alone; nothing "
                          "was written"},
        {"key_twice", "give one of them another id; nothing was written"},
        {"lone_surrogate", JSON_HOLDS},
        {"number_range", JSON_HOLDS},
        {"inexact_number", JSON_HOLDS},
        {"duplicate_name", JSON_HOLDS},
    };

    if (strcmp(err->reason, "envelope") == 0 && !i->folder_failed)
        return "Python could not read it; put it right, nothing was written";
    for (size_t k = 0; k < CLI_COUNT(hints) && !i->is_writing; k++)
        if (strcmp(hints[k].reason, err->reason) == 0)
            return hints[k].hint;
    if (i->is_writing && i->folder_failed) {
        snprintf(room, SES_HINT_MAX, "%ju of %ju sessions were written%s",
                 (uintmax_t)i->written,
                 (uintmax_t)(i->counts[FATE_NEW] + i->counts[FATE_REPLACE]),
                 err->code == PDR_EINVALID ? "" : "; repeat it to go on");
        return room;
    }
    return ses_hint(room, &i->from, i->wrong, err);
}

static int report_failure(const struct import *i, const struct cli_input *in,
                          const pdr_err *err)
{
    char room[SES_HINT_MAX];
    struct cli_about about = {
        .name = i->folder_failed ? i->from.folder : cli_input_name(i->path),
        .hint = hint_for(room, i, err)};

    if (!i->folder_failed) {
        about.input = pdr_str_n(in->first, in->first_len);
        if (about.hint == NULL)
            about.hint = ses_lines_hint(err, about.input);
        (void)cli_input_locate(&about.line, &about.column, in, err->offset);
    }
    return cli_fail(i->cli, &about, err);
}

static void put_count(pdr_buf *out, uint64_t count, const char *what)
{
    char digits[32];

    if (count > 0)
        cli_putf(out, ", %s %s", cli_number(digits, count), what);
}

static void print_notes(const struct import *i)
{
    char digits[32];

    if (i->notes > 0)
        fprintf(stderr,
                "perdure: warning: %s session%s no member perdure in the "
                "folder; what a conversion kept there is only in the file\n",
                cli_number(digits, i->notes),
                i->notes == 1 ? " has" : "s have");
}

/* To Python, 1 is an integer and 1.00 is not. */
static void print_lost(const struct import *i)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (i->lost.numbers == 0 && i->lost.strings == 0)
        return;
    cli_put_respelled(&line, &i->lost);
    cli_fprintf(stderr, "perdure: info: %.*s; --format json keeps it\n",
                (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static void print_summary(const struct import *i)
{
    uint64_t all = i->counts[FATE_NEW] + i->counts[FATE_REPLACE];
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    cli_put(&line, "perdure: ");
    cli_show(&line, pdr_str_c(i->from.folder), CLI_TEXT_LINE);
    cli_putf(&line, ": %s session%s %s", cli_number(digits, all),
             all == 1 ? "" : "s", i->dry_run ? "would be written" : "written");
    put_count(&line, i->counts[FATE_REPLACE], "of them replaced");
    put_count(&line, i->counts[FATE_SAME], "already there");
    put_count(&line, i->counts[FATE_NONE], "null left out");
    cli_fprintf(stderr, "%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static void print_object(const struct import *i)
{
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "file", pdr_str_c(cli_input_name(i->path)));
    cli_member_text(to, "folder", pdr_str_c(i->from.folder));
    cli_member_bool(to, "dryRun", i->dry_run);
    cli_member_count(to, "new", i->counts[FATE_NEW]);
    cli_member_count(to, "replaced", i->counts[FATE_REPLACE]);
    cli_member_count(to, "same", i->counts[FATE_SAME]);
    cli_member_count(to, "nulls", i->counts[FATE_NONE]);
    cli_member_count(to, "notes", i->notes);
    if (i->from.format == PDR_FOLDER_MSGPACK)
        cli_member_respelled(to, &i->lost);
    pdr_builder_end(to);
    ses_print_built(i->cli, stdout, to);
    pdr_builder_free(to);
}

static int import_into_folder(struct import *i)
{
    struct cli_input in = {.fd = -1};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;
    pdr_rc rc = PDR_OK;

    CLI_TRY(open_folder(i, false, &err));
    CLI_TRY(read_file(i, &in, &err));
    CLI_TRY(check_keys(i, &err));
    CLI_TRY(check_there(i, &err));
    if (!i->dry_run) {
        i->is_writing = true;
        cli_input_close(&in);
        CLI_TRY(open_folder(i, true, &err));
        CLI_TRY(read_file(i, &in, &err));
    }
done:
    cli_progress_end(&in.progress);
    if (rc != PDR_OK) {
        status = report_failure(i, &in, &err);
    } else if (cli_is_json(i->cli)) {
        print_object(i);
    } else if (!i->cli->quiet) {
        print_summary(i);
        print_notes(i);
        print_lost(i);
    }
    cli_input_close(&in);
    pdr_folder_close(i->folder);
    pdr_value_free(i->wrong);
    free(i->plans);
    doc_keys_free(&i->keys);
    pdr_buf_dispose(&i->piped);
    pdr_buf_dispose(&i->there);
    return status;
}

/* --- the command --------------------------------------------------------- */

/* Options that mean nothing for the other place. */
static int check_place(const struct import *i, const struct ses_intake *how)
{
    bool is_store = ses_from_is_store(&i->from);

    if (is_store && i->from.format != CLI_NO_FORM)
        return doc_usage(i->cli, "--format", "is for folders", "");
    if (is_store && i->dry_run)
        return doc_usage(i->cli, "--dry-run", "is for folders", "");
    if (is_store && i->drop_metadata)
        return doc_usage(i->cli, "--drop-metadata", "is for folders",
                         "a store keeps what wrappers say");
    if (!is_store &&
        (how->id != NULL || how->agent != NULL || how->replace ||
         i->from.store.tenant != NULL || i->from.store.key != NULL))
        return doc_usage(i->cli, "--id, --agent, --replace, --tenant and --key",
                         "are for stores", "");
    return 0;
}

/* A store that nobody named must be there: what is made has a name. */
static int find_place(struct import *i)
{
    if (i->from.folder != NULL && ses_from_is_store(&i->from))
        return doc_usage(i->cli, "--store and --folder",
                         "only one of them can be given", "");
    if (i->from.folder == NULL && !ses_from_is_store(&i->from) &&
        !sto_find_default(&i->from.store))
        return doc_usage(i->cli, "--store or --folder",
                         "one of them is missing",
                         "write --store URI or --folder DIR; it is made if it "
                         "is not there");
    return 0;
}

static int run_import(struct cli *cli, int argc, char **argv)
{
    struct import i = {.cli = cli,
                       .keys = DOC_KEYS_INIT,
                       .piped = PDR_BUF_INIT(SIZE_MAX),
                       .there = PDR_BUF_INIT(SIZE_MAX)};
    struct ses_intake how = {.path = NULL};
    int status = 0;

    ses_from_init(&i.from);
    const struct cli_opt opts[] = {
        CLI_ARG("FILE", &i.path, "file with sessions; - is standard input"),
        SES_STORE_ROWS(&i.from.store),
        CLI_TEXT(0, "id", "ID", &how.id, "id of the session in the store"),
        CLI_TEXT(0, "agent", "NAME", &how.agent,
                 "agent of the sessions, for lists of the store"),
        CLI_FLAG(0, "replace", &how.replace,
                 "take the place of a session that is in the store"),
        SES_FOLDER_ROWS(&i.from),
        CLI_FLAG('y', "yes", &i.yes, "replace sessions that are there"),
        CLI_FLAG('n', "dry-run", &i.dry_run,
                 "say what would be written, write nothing"),
        CLI_FLAG(0, "drop-metadata", &i.drop_metadata,
                 "leave out what wrappers say about sessions"),
        DOC_READ_ROWS(&i.from.how),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = find_place(&i);
    if (status == 0)
        status = check_place(&i, &how);
    if (status != 0)
        return status;
    if (!ses_from_is_store(&i.from))
        return import_into_folder(&i);
    how.path = i.path;
    how.replace = how.replace || i.yes;
    return ses_import_store(cli, &i.from, &how);
}

const struct cli_command cli_cmd_session_import = {
    .name = "session import",
    .summary = "the sessions of a file into a store or a folder",
    .usage = "[OPTIONS] FILE [--store URI] | [OPTIONS] FILE --folder DIR",
    .run = run_import};
