/*
 * perdure session export - many sessions in one file, or one of a store.
 *
 * WHY  A folder or a store of sessions is to be moved, kept or handed to
 *      another program: one file, in any format, a list or a stream. Sessions
 *      go through one at a time, as they are; what a list would lose, a key
 *      that is not an id, is refused, and so is what cannot be read.
 *
 * One session of a store goes through as it is made, byte for byte and of any
 * length; in another format than that of a store it is read first.
 */
#include "session_parts.h"

struct export
{
    struct cli *cli;
    struct ses_from from;
    const char *words[2]; /* arguments as they came */
    const char *id;       /* of a store; NULL: all */
    const char *out_path;
    uint64_t to; /* place in cli_form_words(), CLI_NO_FORM */
    bool is_map, skip, pretty, yes, all, bare;
    struct cli_form form; /* of OUT; without a codec: as a store gives it */
    struct cli_input in;
    struct cli_form in_form;
    pdr_folder *folder;
    pdr_store *store;
    struct cli_progress progress; /* of a store */
    pdr_buf text;                 /* of a session of a store */
    pdr_buf path;                 /* of the file of the folder in work */
    struct cli_output_file out;
    pdr_writer *writer;
    struct doc_keys keys; /* of an object of sessions */
    uint64_t sessions, others, left_out;
    pdr_write_report lost; /* spellings that were given up for other programs */
    pdr_value *wrong;      /* owned; what is not a session */
    bool out_failed;       /* a failure is about OUT */
    bool refused;          /* or about what other programs cannot hold */
};

/* One session on its way. */
struct parcel {
    pdr_session *session;   /* borrowed; NULL: it is not a session */
    const pdr_value *value; /* borrowed; its document */
    pdr_str name;           /* borrowed; key or name; NULL: it has none */
    uint64_t index;
};

/* --- writing ------------------------------------------------------------- */

static pdr_rc put_event(struct export *e, pdr_event event,
                        const pdr_value *value, pdr_err *err)
{
    pdr_rc rc = pdr_writer_put(e->writer, event, value, err);

    e->out_failed = rc != PDR_OK;
    return rc;
}

static bool is_sequence(const struct export *e)
{
    return cli_form_is_sequence(&e->form.format);
}

/* Bytes of a text in a message. */
static int shown_len(pdr_str text, size_t most)
{
    return (int)(text.len < most ? text.len : most);
}

/* Would an object of sessions with this member be read as one? */
static pdr_rc is_in_place(bool *out, const struct export *e, pdr_str name,
                          const pdr_value *value, pdr_err *err)
{
    pdr_value *map = pdr_value_new_object(), *other = pdr_value_new_object();
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_value_set(&map, name, value, err));
    *out = pdr_session_looks(map) == PDR_LOOKS_MAP;
    if (!*out || is_sequence(e))
        goto done;
    /* Another session may be called "data": with that, "schemaVersion" makes a
     * state document of all of them. No other two names mean more together. */
    CLI_TRY(pdr_value_set(&map, pdr_str_c("data"), other, err));
    *out = pdr_session_looks(map) == PDR_LOOKS_MAP;
done:
    pdr_value_free(other);
    pdr_value_free(map);
    return rc;
}

/* What has a name may be a wrapper or a state document, too. */
static pdr_rc put_in_map(struct export *e, const struct parcel *p, pdr_str id,
                         pdr_err *err)
{
    pdr_str name = p->name.ptr != NULL ? p->name : id;
    pdr_value *text = NULL;
    bool fits = false;
    pdr_rc rc = PDR_OK;

    if (p->session == NULL &&
        (p->name.ptr == NULL || pdr_value_kind(p->value) == PDR_NULL))
        return pdr_err_set(err, PDR_EINVALID, "key_lost",
                           "element /%ju is no plain session, and --map takes "
                           "no others",
                           (uintmax_t)p->index);
    if (name.len == 0)
        return pdr_err_set(err, PDR_EINVALID, "key_lost",
                           "session /%ju has neither a name nor an id",
                           (uintmax_t)p->index);
    CLI_TRY(is_in_place(&fits, e, name, p->value, err));
    if (!fits) /* it would not be found again */
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "key_lost",
                            "what is called '%.*s' cannot stand in an object "
                            "of sessions, where that name means something else",
                            shown_len(name, 80), name.ptr));
    CLI_TRY(pdr_value_new_string(&text, name, err));
    doc_keys_add(&e->keys, name, e->sessions);
    if (is_sequence(e))
        CLI_TRY(put_event(e, PDR_BEGIN_OBJECT, NULL, err));
    CLI_TRY(put_event(e, PDR_NAME, text, err));
    CLI_TRY(put_event(e, PDR_SCALAR, p->value, err));
    if (is_sequence(e))
        CLI_TRY(put_event(e, PDR_END, NULL, err));
done:
    pdr_value_free(text);
    return rc;
}

static pdr_rc export_one(struct export *e, const struct parcel *p, pdr_err *err)
{
    pdr_buf id = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    if (p->session != NULL)
        ses_put_id(&id, p->session);
    if (e->is_map) {
        CLI_TRY(put_in_map(e, p, pdr_buf_str(&id), err));
    } else {
        /* A list has no keys: one that is not the id would get lost. */
        if (p->name.ptr != NULL && !pdr_str_equal(p->name, pdr_buf_str(&id)))
            CLI_TRY(pdr_err_set(err, PDR_EINVALID, "key_lost",
                                "the session '%.*s' has the id '%.*s', and a "
                                "list has no place for its name",
                                shown_len(p->name, 80), p->name.ptr,
                                shown_len(pdr_buf_str(&id), 80),
                                id.len > 0 ? id.ptr : ""));
        CLI_TRY(put_event(e, PDR_SCALAR, p->value, err));
    }
    e->sessions += pdr_value_kind(p->value) != PDR_NULL;
done:
    pdr_buf_dispose(&id);
    return rc;
}

/* What cannot be exported ends it, or is told and left out. */
static pdr_rc leave_out(struct export *e, const char *what, pdr_rc rc,
                        const pdr_err *err)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX), why = PDR_BUF_INIT(SIZE_MAX);

    if (!e->skip || rc == PDR_ENOMEM)
        return rc;
    e->left_out++;
    cli_show(&name, pdr_str_c(what), CLI_TEXT_LINE);
    cli_show(&why, pdr_str_c(err->message), CLI_TEXT_LINE);
    if (!cli_is_json(e->cli))
        cli_fprintf(stderr, "%swarning:%s %.*s was left out: %.*s\n",
                    cli_on(e->cli->color_err, CLI_YELLOW),
                    cli_off(e->cli->color_err), (int)name.len, name.ptr,
                    (int)why.len, why.ptr);
    pdr_buf_dispose(&name);
    pdr_buf_dispose(&why);
    return PDR_OK;
}

/* In MessagePack, a session in the shape of other programs is for them: `io` is
 * what they get of it. */
static pdr_rc pass_on(pdr_value **io, struct export *e, pdr_err *err)
{
    pdr_session *session = NULL;
    pdr_rc rc = PDR_OK;

    if (!cli_form_can_write(&e->form.format, PDR_EXCHANGE))
        return PDR_OK;
    session = ses_session_in(*io);
    if (ses_is_foreign(session))
        rc = ses_exchange(io, &e->lost, err);
    e->refused = rc == PDR_EINVALID;
    pdr_session_free(session);
    return rc;
}

/* A session, or what goes along with them, as other programs get it. */
static pdr_rc export_parcel(struct export *e, const struct parcel *p,
                            pdr_err *err)
{
    struct parcel passed = *p;
    pdr_value *value = pdr_value_ref(p->value);
    pdr_rc rc = pass_on(&value, e, err);
    char place[80];

    passed.value = value;
    snprintf(place, sizeof(place), "element /%ju", (uintmax_t)p->index);
    if (p->name.ptr != NULL)
        snprintf(place, sizeof(place), "session '%.*s'", shown_len(p->name, 40),
                 p->name.ptr);
    if (rc == PDR_OK) {
        rc = export_one(e, &passed, err);
    } else {
        rc = leave_out(e, place, rc, err);
        e->refused = e->refused && rc != PDR_OK;
        ses_err_in(err, place);
    }
    pdr_value_free(value);
    return rc;
}

/* --- from a file --------------------------------------------------------- */

/* Metadata and nulls go along, and state documents from object to object;
 * anything else is not a session. */
static pdr_rc export_value(struct export *e, struct parcel *p, pdr_err *err)
{
    pdr_session *none = NULL;
    char place[40];
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(p->value) == PDR_NULL ||
        pdr_session_looks(p->value) == PDR_LOOKS_WRAPPER ||
        (pdr_session_looks(p->value) == PDR_LOOKS_STATE && e->is_map &&
         p->name.ptr != NULL))
        return export_parcel(e, p, err);
    rc = pdr_session_from_value(&none, p->value, err);
    pdr_session_free(none);
    if (e->wrong == NULL)
        e->wrong = pdr_value_ref(p->value);
    snprintf(place, sizeof(place), "element /%ju", (uintmax_t)p->index);
    rc = leave_out(e, place, rc, err);
    if (rc != PDR_OK)
        ses_err_element(err, p->index);
    return rc;
}

/* A ses_item_fn. */
static pdr_rc export_item(pdr_session *session, const pdr_session_item *item,
                          pdr_err *err, void *arg)
{
    struct export *e = arg;
    struct parcel p = {
        .session = session, .value = item->value, .index = item->index};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *document = NULL;
    pdr_rc rc = PDR_OK;

    if (item->name != NULL)
        p.name = doc_text(item->name, &scratch);
    if (session == NULL) {
        rc = export_value(e, &p, err);
        goto done;
    }
    CLI_TRY(pdr_session_to_value(&document, session, err));
    p.value = document;
    CLI_TRY(export_parcel(e, &p, err));
done:
    pdr_value_free(document);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- from a folder ------------------------------------------------------- */

static pdr_rc on_entry(const pdr_folder_entry *entry, pdr_err *err, void *arg)
{
    struct export *e = arg;
    struct parcel p = {.name = entry->key};
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    e->others += entry->kind != PDR_FOLDER_SESSION;
    if (entry->kind != PDR_FOLDER_SESSION)
        return PDR_OK;
    rc = ses_folder_read(&p.session, &value, &e->path, e->cli, e->from.folder,
                         entry->file, err);
    if (rc == PDR_OK && entry->key.len == 0)
        rc = pdr_err_set(err, PDR_EINVALID, "key_unknown",
                         "neither its name nor what is in it tells the key "
                         "of the session");
    p.value = value;
    rc = rc == PDR_OK ? export_parcel(e, &p, err)
                      : leave_out(e, e->path.ptr, rc, err);
    pdr_session_free(p.session);
    pdr_value_free(value);
    return rc;
}

/* --- from a store -------------------------------------------------------- */

static pdr_rc keep_text(pdr_str bytes, pdr_err *err, void *arg)
{
    struct export *e = arg;

    cli_progress_add(&e->progress, bytes.len);
    return pdr_buf_append(&e->text, bytes, err);
}

static pdr_rc pass_text(pdr_str bytes, pdr_err *err, void *arg)
{
    struct export *e = arg;
    pdr_rc rc = cli_output_write(bytes, err, &e->out);

    e->out_failed = rc != PDR_OK;
    cli_progress_add(&e->progress, bytes.len);
    return rc;
}

/* A chat is no document of a session: its turns, agents and channels would be
 * left out. */
static pdr_rc refuse_chat(const struct export *e, const pdr_ref *ref,
                          pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = *ref};
    pdr_chat_state *state = NULL;
    pdr_chat_info info = {.id = {NULL, 0}};
    pdr_page *page = NULL;
    bool is_chat = false;

    if (pdr_store_read(&page, e->store, &query, NULL) == PDR_OK &&
        pdr_str_equal(page->head.kind, pdr_str_c("chat")) &&
        pdr_chat_load(&state, e->store, ref, NULL) == PDR_OK) {
        pdr_chat_state_info(&info, state);
        is_chat = info.id.ptr != NULL ||
                  pdr_chat_state_message_count(state) > 0 ||
                  pdr_chat_state_participant_count(state) > 0;
    }
    pdr_chat_state_free(state);
    pdr_page_free(page);
    return is_chat ? pdr_err_set(err, PDR_EINVALID, "session_kind",
                                 "'%.*s' is a chat of several agents, not one "
                                 "session",
                                 shown_len(ref->id, 120), ref->id.ptr)
                   : PDR_OK;
}

/* Its document as a value, laid out as it is, without the white space around
 * it; a document of several lines has no place in a format of one line each. */
static pdr_rc read_stored(pdr_value **out, struct export *e, const pdr_ref *ref,
                          pdr_err *err)
{
    static const char spaces[] = " \t\r\n";
    const pdr_export_opts how = {.ref = *ref, .bare = e->bare};
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(&e->text);
    CLI_TRY(refuse_chat(e, ref, err));
    CLI_TRY(pdr_export(NULL, e->store, &how, err, keep_text, e));
    text = pdr_buf_str(&e->text);
    while (text.len > 0 && memchr(spaces, text.ptr[0], 4) != NULL)
        text = pdr_str_n(text.ptr + 1, text.len - 1);
    while (text.len > 0 && memchr(spaces, text.ptr[text.len - 1], 4) != NULL)
        text.len--;
    CLI_TRY(ses_store_value(out, text, err));
    if (is_sequence(e) && (memchr(text.ptr, '\n', text.len) != NULL ||
                           memchr(text.ptr, '\r', text.len) != NULL))
        CLI_TRY(pdr_value_compact(out, err));
done:
    return rc;
}

static pdr_rc export_stored(struct export *e, const pdr_ref *ref, pdr_err *err)
{
    struct parcel p = {.name = ref->id, .index = e->sessions};
    pdr_value *value = NULL;
    char name[80];
    pdr_rc rc = PDR_OK;

    CLI_TRY(read_stored(&value, e, ref, err));
    p.session = ses_session_in(value);
    p.value = value;
    if (p.session == NULL && !e->is_map)
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "no_place",
                            "'%.*s' is a state document, which has no id in a "
                            "list",
                            shown_len(ref->id, 120), ref->id.ptr));
    CLI_TRY(export_parcel(e, &p, err));
done:
    pdr_session_free(p.session);
    pdr_value_free(value);
    if (rc == PDR_OK || e->out_failed)
        return rc;
    if (rc == PDR_ENOTFOUND && strcmp(err->reason, "no_session") == 0)
        return PDR_OK; /* deleted since the list of all was read */
    snprintf(name, sizeof(name), "session '%.*s'", shown_len(ref->id, 60),
             ref->id.ptr);
    return leave_out(e, name, rc, err);
}

/* All sessions of the tenant, in an order that no commit disturbs. */
static pdr_rc export_tenant(struct export *e, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_ALL, .limit = 200};
    pdr_str tenant = pdr_str_c(sto_tenant(&e->from.store));
    pdr_page *page = NULL, *last = NULL;
    pdr_rc rc = PDR_OK;

    do {
        CLI_TRY(pdr_store_read(&page, e->store, &query, err));
        pdr_page_free(last); /* the cursor was its */
        last = page;
        for (size_t i = 0; i < page->count; i++)
            if (pdr_str_equal(page->sessions[i].ref.tenant, tenant))
                CLI_TRY(export_stored(e, &page->sessions[i].ref, err));
        query.after = page->next;
    } while (query.after.ptr != NULL);
done:
    pdr_page_free(last);
    return rc;
}

/* One session: through, or read and written in the format of OUT. */
static pdr_rc export_id(struct export *e, pdr_err *err)
{
    const pdr_ref ref = sto_ref(&e->from.store, e->id);
    const pdr_export_opts how = {.ref = ref, .bare = e->bare};
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    if (e->form.format.codec == NULL) {
        CLI_TRY(refuse_chat(e, &ref, err));
        CLI_TRY(pdr_export(NULL, e->store, &how, err, pass_text, e));
    } else {
        CLI_TRY(read_stored(&value, e, &ref, err));
        CLI_TRY(pass_on(&value, e, err));
        CLI_TRY(put_event(e, PDR_SCALAR, value, err));
    }
    e->sessions++;
done:
    pdr_value_free(value);
    return rc;
}

/* --- all of it ----------------------------------------------------------- */

static pdr_rc export_list(struct export *e, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (!is_sequence(e))
        CLI_TRY(put_event(e, e->is_map ? PDR_BEGIN_OBJECT : PDR_BEGIN_ARRAY,
                          NULL, err));
    if (e->store != NULL)
        CLI_TRY(export_tenant(e, err));
    else if (e->folder != NULL)
        CLI_TRY(pdr_folder_list(e->folder, err, on_entry, e));
    else
        CLI_TRY(ses_each_item(&e->in, &e->in_form, &e->from.how.limits, err,
                              export_item, e));
    doc_keys_sort(&e->keys);
    for (size_t i = 1; i < e->keys.count; i++) {
        pdr_str name = e->keys.items[i].text;

        if (pdr_str_equal(name, e->keys.items[i - 1].text))
            return pdr_err_set(err, PDR_EINVALID, "key_lost",
                               "two sessions are called '%.*s', and --map has "
                               "room for one",
                               shown_len(name, 120), name.ptr);
    }
    if (!is_sequence(e))
        CLI_TRY(put_event(e, PDR_END, NULL, err));
done:
    return rc;
}

static pdr_rc write_out(struct export *e, pdr_err *err)
{
    const pdr_format *format = &e->form.format;
    pdr_write_opts opts = {.flags = format->flags,
                           .layout = e->pretty          ? PDR_PRETTY
                                     : e->store != NULL ? PDR_AS_READ
                                                        : PDR_COMPACT};
    pdr_rc rc = cli_output_open(&e->out, e->cli, e->out_path, e->yes, err);

    e->out_failed = rc != PDR_OK;
    if (rc != PDR_OK)
        return rc;
    if (format->codec != NULL &&
        (e->from.how.limits.bare_tokens || e->store != NULL) &&
        cli_form_can_write(format, PDR_BARE_TOKENS))
        opts.flags |= PDR_BARE_TOKENS;
    if (format->codec != NULL)
        CLI_TRY(pdr_writer_new(&e->writer, format->codec, &opts, err,
                               cli_output_write, &e->out));
    CLI_TRY(e->id != NULL ? export_id(e, err) : export_list(e, err));
    e->out_failed = true; /* from here on */
    if (e->writer != NULL)
        CLI_TRY(pdr_writer_finish(e->writer, err));
    CLI_TRY(cli_output_commit(&e->out, err));
    e->out_failed = false;
done:
    if (rc != PDR_OK)
        cli_output_abandon(&e->out);
    return rc;
}

static pdr_rc export_all(struct export *e, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (ses_from_is_store(&e->from)) {
        cli_progress_begin(&e->progress, e->cli, sto_name(&e->from.store), 0);
        CLI_TRY(sto_open(&e->store, &e->from.store, "ro", err));
    } else if (e->from.folder != NULL) {
        CLI_TRY(ses_folder_open(&e->folder, &e->from, false, err));
    } else {
        CLI_TRY(cli_input_open(&e->in, e->cli, e->from.file, err));
        rc = cli_form_of_input(&e->in_form, &e->in, e->from.how.from, err);
        if (rc != PDR_OK)
            e->in_form.format.codec = NULL;
    }
    if (rc == PDR_OK)
        rc = write_out(e, err);
done:
    cli_progress_end(&e->progress);
    cli_progress_end(&e->in.progress);
    return rc;
}

/* --- what was done ------------------------------------------------------- */

static const char *hint_for(char room[SES_HINT_MAX], const struct export *e,
                            const pdr_err *err)
{
    char uri[CLI_WORD_MAX], id[CLI_WORD_MAX];

    if (e->refused)
        return e->id != NULL ? "--to json keeps it as it is"
                             : "--to json keeps it as it is; --skip leaves the "
                               "session out";
    if (strcmp(err->reason, "key_lost") == 0 && e->store != NULL && e->is_map)
        return "with its ID in the place of --all it is written by itself; "
               "--skip leaves it out";
    if (strcmp(err->reason, "key_lost") == 0)
        return e->is_map ? "without --map they make a list"
                         : "--map makes an object of sessions by name";
    if (strcmp(err->reason, "session_kind") == 0 && e->id != NULL) {
        snprintf(room, SES_HINT_MAX,
                 "'perdure group export --store %s %s' writes it",
                 cli_word(uri, e->from.store.uri, "STORE"),
                 cli_word(id, e->id, "ID"));
        return room;
    }
    if (strcmp(err->reason, "session_kind") == 0)
        return "--skip leaves it out; 'perdure group export' writes it";
    if (strcmp(err->reason, "no_place") == 0)
        return "--map writes all of them by id; --skip leaves it out";
    if (strcmp(err->reason, "cannot_export") == 0 && e->id == NULL)
        return "--skip leaves it out, and says so";
    if (err->code != PDR_EIO && !e->skip && e->from.folder != NULL &&
        strcmp(err->reason, "no_folder") != 0)
        return "--skip leaves out what cannot be read, and says so";
    return ses_hint(room, &e->from, e->wrong, err);
}

static int fail_export(struct export *e, pdr_err *err)
{
    char room[SES_HINT_MAX];
    struct cli_about about = {.name = e->out_failed ? ses_out_name(e->out_path)
                                                    : ses_from_name(&e->from)};

    if (!e->out_failed && e->path.len > 0)
        about.name = e->path.ptr;
    if (!e->out_failed)
        about.hint = hint_for(room, e, err);
    if (!e->out_failed && e->from.file != NULL) {
        about.input = pdr_str_n(e->in.first, e->in.first_len);
        if (about.hint == NULL)
            about.hint = ses_lines_hint(err, about.input);
        (void)cli_input_locate(&about.line, &about.column, &e->in, err->offset);
    }
    return cli_fail(e->cli, &about, err);
}

/* A store gives documents in one format. */
static const char *format_name(const struct export *e)
{
    return e->form.format.codec != NULL ? e->form.format.name
                                        : ses_store_format;
}

static void print_summary(const struct export *e)
{
    char digits[32], size[32];
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);

    cli_show(&name, pdr_str_c(ses_out_name(e->out_path)), CLI_TEXT_LINE);
    cli_fprintf(stderr, "perdure: %.*s: %s, %s session%s, %s", (int)name.len,
                name.ptr, format_name(e), cli_number(digits, e->sessions),
                e->sessions == 1 ? "" : "s", cli_size(size, e->out.bytes));
    if (e->left_out > 0)
        fprintf(stderr, ", %s left out", cli_number(digits, e->left_out));
    if (e->others > 0)
        fprintf(stderr, "; %s other file%s of the folder %s no session",
                cli_number(digits, e->others), e->others == 1 ? "" : "s",
                e->others == 1 ? "is" : "are");
    fputs("\n", stderr);
    cli_tell_respelled(ses_out_name(e->out_path), &e->lost);
    pdr_buf_dispose(&name);
}

static void print_object(const struct export *e)
{
    bool is_file = strcmp(e->out_path, "-") != 0;
    pdr_builder *to = ses_object_new();

    cli_member_text(to, ses_from_word(&e->from),
                    pdr_str_c(ses_from_name(&e->from)));
    cli_member_text(to, "out", pdr_str_c(ses_out_name(e->out_path)));
    cli_member_text(to, "format", pdr_str_c(format_name(e)));
    cli_member_count(to, "sessions", e->sessions);
    cli_member_count(to, "bytes", e->out.bytes);
    cli_member_count(to, "leftOut", e->left_out);
    cli_member_count(to, "otherFiles", e->others);
    if (e->form.format.codec != NULL &&
        cli_form_can_write(&e->form.format, PDR_EXCHANGE))
        cli_member_respelled(to, &e->lost);
    ses_object_print(e->cli, is_file ? stdout : stderr, to);
}

/* --- the command --------------------------------------------------------- */

/* Which word is what: ID [OUT] of a store, else OUT. */
static int sort_words(struct export *e)
{
    bool has_id = ses_from_is_store(&e->from) && !e->all;
    struct cli_usage many = {.reason = "extra_argument",
                             .why = "one argument too many"};

    if (has_id && e->words[0] == NULL)
        return ses_missing(
            e->cli, "ID",
            "a session of a store is named by its id; --all takes "
            "all of them");
    if (!has_id && e->words[0] == NULL)
        return ses_missing(e->cli, "OUT", "");
    if (!has_id && e->words[1] != NULL) {
        snprintf(many.what, sizeof(many.what), "%s", e->words[1]);
        return cli_usage_fail(e->cli, &many);
    }
    e->id = has_id ? e->words[0] : NULL;
    e->out_path = has_id ? e->words[1] : e->words[0];
    if (e->out_path == NULL)
        e->out_path = "-";
    return 0;
}

/* One session of a store has a format already; it goes through as it is if that
 * is the one that was asked for. */
static int check_form(struct export *e)
{
    bool has_form = cli_form_of_name(&e->form, e->out_path, e->to);
    char list[CLI_LIST_MAX];

    if (e->id != NULL && (!has_form || (ses_store_speaks(&e->form.format) &&
                                        !is_sequence(e) && !e->pretty))) {
        e->form.format.codec = NULL;
        return 0;
    }
    if (has_form)
        return 0;
    cli_form_list(list, sizeof(list), "choose one with --to: ", 0, 0);
    return doc_usage(e->cli, e->out_path, "its name tells no format", list);
}

static int check_usage(struct export *e)
{
    int status = ses_from_check(e->cli, &e->from, NULL);

    if (status == 0)
        status = ses_limits_check(e->cli, &e->from);
    if (status == 0)
        status = sort_words(e);
    if (status == 0 && !ses_from_is_store(&e->from) && (e->all || e->bare))
        status =
            doc_usage(e->cli, e->all ? "--all" : "--bare", "is for stores", "");
    if (status == 0 && e->id != NULL && (e->is_map || e->skip))
        status = doc_usage(e->cli, e->is_map ? "--map" : "--skip",
                           "is for more than one session",
                           "--all takes all sessions of the store");
    if (status == 0)
        status = check_form(e);
    if (status != 0)
        return status;
    if (e->from.file != NULL && cli_same_file(e->from.file, e->out_path))
        return doc_usage(e->cli, e->out_path, "is the very file that is read",
                         "name a new file; the old one stays as it was");
    return 0;
}

static int export_sessions(struct export *e)
{
    pdr_err err = PDR_ERR_INIT;
    int status = check_usage(e);

    if (status != 0)
        return status;
    if (export_all(e, &err) != PDR_OK)
        status = fail_export(e, &err);
    else if (cli_is_json(e->cli))
        print_object(e);
    else if (!e->cli->quiet)
        print_summary(e);
    if (status == 0 && e->left_out > 0)
        status = CLI_EXIT_NEGATIVE;
    if (e->from.file != NULL)
        cli_input_close(&e->in);
    pdr_writer_free(e->writer);
    pdr_folder_close(e->folder);
    pdr_store_close(e->store);
    doc_keys_free(&e->keys);
    pdr_buf_dispose(&e->text);
    pdr_value_free(e->wrong);
    pdr_buf_dispose(&e->path);
    return status;
}

static int run_export(struct cli *cli, int argc, char **argv)
{
    struct export e = {.cli = cli,
                       .to = CLI_NO_FORM,
                       .keys = DOC_KEYS_INIT,
                       .text = PDR_BUF_INIT(SIZE_MAX),
                       .path = PDR_BUF_INIT(SIZE_MAX)};
    char to_help[CLI_LIST_MAX];

    e.in.fd = -1;
    ses_from_init(&e.from);
    cli_form_list(to_help, sizeof(to_help), "OUT is ", 0, 0);
    const struct cli_opt opts[] = {
        CLI_MAY("ID", &e.words[0], "session of a store"),
        CLI_MAY("OUT", &e.words[1], "file to write; - is standard output"),
        CLI_WORD(0, "to", "FORMAT", &e.to, cli_form_words(), to_help),
        CLI_FLAG('m', "map", &e.is_map,
                 "an object of sessions by key, instead of a list"),
        CLI_FLAG('a', "all", &e.all, "all sessions of a store"),
        CLI_FLAG(0, "bare", &e.bare,
                 "of a store: without the metadata around sessions"),
        CLI_FLAG(0, "skip", &e.skip, "leave out what cannot be read"),
        CLI_FLAG(0, "pretty", &e.pretty, "a line for each element and member"),
        CLI_FLAG('y', "yes", &e.yes, "replace OUT if it exists"),
        SES_FROM_ROWS(&e.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    return export_sessions(&e);
}

const struct cli_command cli_cmd_session_export = {
    .name = "session export",
    .summary = "many sessions in one file, or one of a store",
    .usage = "[OPTIONS] [--store URI] ID [OUT] | "
             "[OPTIONS] [--store URI] --all OUT | "
             "[OPTIONS] --file FILE OUT | [OPTIONS] --folder DIR OUT",
    .run = run_export};
