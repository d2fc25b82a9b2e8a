/*
 * perdure session list - which sessions there are, and how large they are.
 *
 * WHY  A folder or a file may hold many thousand sessions. They are looked at
 *      one after the other, and a row is all that is kept of each, until some
 *      hundred of them are printed.
 *
 *        file    reader --------------> session --> row
 *        folder  entry --> its file --> session --> row
 *        store   page of heads -------------------> row  (session_heads.c)
 *
 * Nothing is changed: a damaged file of a folder is told, and stays.
 */
#include "session_parts.h"

#define BATCH 512 /* rows that decide how wide the columns are */
#define KEEP_BYTES \
    ((size_t)1 << 20) /* before it is sure that one is a session */

static const struct ses_column file_columns[] = {
    {"PLACE", false, 0},     {"NAME", false, 8},  {"ID", false, 12},
    {"KIND", false, 0},      {"SHAPE", false, 0}, {"SERVICE ID", false, 10},
    {"MSGS", true, 0},       {"SLOTS", true, 0},  {"BYTES", true, 0},
    {"PROPERTIES", true, 0}, {"NOTE", false, 12},
};
/* A session may have another id than the key that it is kept under. */
static const struct ses_column folder_columns[] = {
    {"", false, 0},     {"KEY", false, 12},  {"ID", false, 12},
    {"KIND", false, 0}, {"SHAPE", false, 0}, {"SERVICE ID", false, 10},
    {"MSGS", true, 0},  {"SLOTS", true, 0},  {"BYTES", true, 0},
    {"", true, 0},      {"NOTE", false, 12},
};

struct list {
    struct cli *cli;
    struct ses_from *from;
    pdr_folder *folder; /* NULL: it is a file */
    struct cli_input in;
    struct cli_form form;
    struct ses_grid grid;
    pdr_buf lines; /* JSON or raw output that waits */
    uint64_t rows; /* so far */
    uint64_t sessions, bytes, damaged;
    uint64_t files[PDR_FOLDER_LEFTOVER + 1]; /* of a folder, by kind */
    pdr_value *wrong; /* owned; the first element that is not a session */
};

/* One row, whatever it is about. All borrowed. */
struct row {
    const char *entry; /* "session", or what else it is */
    uint64_t index;
    pdr_str name;         /* in an object of sessions, or key of a folder */
    pdr_str file;         /* of a folder */
    uint64_t bytes;       /* of what is not a session */
    pdr_session *session; /* NULL: it is none */
    const pdr_properties *properties;
    pdr_str note;
    bool has_old_name;
};

/* --- rows ---------------------------------------------------------------- */

static void put_cell(struct list *l, const char *text)
{
    ses_grid_put(&l->grid, pdr_str_c(text));
}

static void put_row(struct list *l, const struct row *r,
                    const struct ses_info *info)
{
    bool is_folder = l->folder != NULL;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str id = pdr_buf_str(&info->id);
    char digits[32];

    if (is_folder)
        put_cell(l, "");
    else
        ses_grid_putf(&l->grid, "/%ju", (uintmax_t)r->index);
    ses_grid_put(&l->grid,
                 is_folder && r->name.ptr == NULL ? pdr_str_c("?") : r->name);
    if (r->session != NULL) {
        ses_grid_put(&l->grid, is_folder && pdr_str_equal(id, r->name)
                                   ? pdr_str_c("")
                                   : id);
        put_cell(l, pdr_session_kind_name(info->kind));
        put_cell(l, is_folder ? "" : pdr_session_shape_name(info->shape));
        ses_grid_put(&l->grid, info->service != NULL
                                   ? ses_service_text(info->service, &scratch)
                                   : pdr_str_c(""));
        put_cell(l, info->history == NULL
                        ? "-"
                        : cli_number(digits, pdr_value_count(info->history)));
        put_cell(l, cli_number(digits, info->slots));
    }
    for (int i = 0; i < 6 && r->session == NULL; i++)
        put_cell(l, "");
    put_cell(l,
             cli_number(digits, r->session != NULL ? info->bytes : r->bytes));
    if (r->properties != NULL)
        ses_grid_putf(&l->grid, "%zu", pdr_properties_count(r->properties));
    else
        put_cell(l, "");
    ses_grid_put(&l->grid, r->note);
    if (ses_grid_rows(&l->grid) == BATCH)
        ses_grid_print(&l->grid, l->cli);
    pdr_buf_dispose(&scratch);
}

static void print_lines(struct list *l)
{
    if (l->lines.len > 0)
        cli_print(l->cli, pdr_buf_str(&l->lines));
    pdr_buf_clear(&l->lines);
}

/* The text before the first row, and between two of them. */
static void begin_line(struct list *l)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);

    if (l->cli->output != CLI_OUTPUT_JSON)
        return;
    if (l->rows > 0) {
        cli_put(&l->lines, ",\n");
        return;
    }
    cli_show(&name, pdr_str_c(ses_from_name(l->from)), CLI_TEXT_JSON);
    cli_putf(&l->lines, "{\"%s\":\"%.*s\",\"entries\":[\n",
             l->folder != NULL ? "folder" : "file", (int)name.len, name.ptr);
    pdr_buf_dispose(&name);
}

static void add_json(struct list *l, const struct row *r,
                     const struct ses_info *info)
{
    const pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_builder *to = ses_object_new();
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_member_text(to, "entry", pdr_str_c(r->entry));
    if (l->folder == NULL)
        cli_member_count(to, "index", r->index);
    else
        cli_member_text(to, "file", r->file);
    if (r->name.ptr != NULL)
        cli_member_text(to, l->folder != NULL ? "key" : "name", r->name);
    if (r->session != NULL)
        ses_info_members(to, info);
    else
        cli_member_count(to, "bytes", r->bytes);
    if (r->properties != NULL)
        cli_member_count(to, "properties", pdr_properties_count(r->properties));
    if (r->has_old_name)
        cli_member_bool(to, "hasOldName", true);
    if (r->note.len > 0)
        cli_member_text(to, "note", r->note);
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&value, to, &err), &err);
    begin_line(l);
    cli_must(pdr_json_write(&l->lines, value, &opts, &err), &err);
    if (l->cli->output == CLI_OUTPUT_JSONL)
        cli_put(&l->lines, "\n");
    pdr_value_free(value);
    pdr_builder_free(to);
}

static void add_row(struct list *l, const struct row *r)
{
    struct ses_info info = SES_INFO_INIT;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str raw = {NULL, 0};

    if (r->session != NULL) {
        ses_info_of(&info, r->session);
        l->sessions++;
        l->bytes += info.bytes;
    }
    if (cli_is_json(l->cli)) {
        add_json(l, r, &info);
    } else if (l->cli->output == CLI_OUTPUT_TABLE) {
        put_row(l, r, &info);
    } else if (r->session != NULL) {
        if (!pdr_value_raw(&raw, info.document))
            raw = doc_json(info.document, &scratch);
        cli_must(pdr_buf_append(&l->lines, raw, NULL), NULL);
        cli_put(&l->lines, "\n");
    }
    l->rows++;
    if (l->sessions > 0 || l->lines.len > KEEP_BYTES)
        print_lines(l);
    pdr_buf_dispose(&scratch);
    ses_info_free(&info);
}

/* --- files --------------------------------------------------------------- */

/* An element that is not a session, but may be one with metadata. */
static void list_value(struct list *l, struct row *r, pdr_value *value)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_buf note = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_session_looks(value) == PDR_LOOKS_WRAPPER &&
        pdr_session_wrapper_from_value(&wrapper, value, NULL, &err, NULL,
                                       NULL) == PDR_OK) {
        r->session = wrapper.session;
        r->properties = wrapper.properties;
        add_row(l, r);
        pdr_session_wrapper_dispose(&wrapper);
        return;
    }
    r->bytes = doc_bytes(value);
    r->entry = pdr_value_kind(value) == PDR_NULL ? "null" : "other";
    if (pdr_value_kind(value) == PDR_NULL)
        cli_put(&note, "null");
    else
        cli_putf(&note, "no session: looks like %s",
                 pdr_session_looks_text(value));
    r->note = pdr_buf_str(&note);
    if (l->wrong == NULL && pdr_value_kind(value) != PDR_NULL)
        l->wrong = pdr_value_ref(value);
    add_row(l, r);
    pdr_buf_dispose(&note);
}

/* A ses_item_fn. */
static pdr_rc list_item(pdr_session *session, const pdr_session_item *item,
                        pdr_err *err, void *arg)
{
    struct row r = {
        .entry = "session", .index = item->index, .session = session};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    if (item->name != NULL)
        r.name = doc_text(item->name, &scratch);
    if (session != NULL)
        add_row(arg, &r);
    else
        list_value(arg, &r, item->value);
    pdr_buf_dispose(&scratch);
    return PDR_OK;
}

static int list_failed(struct list *l, pdr_err *err)
{
    char room[SES_HINT_MAX], doubt[CLI_LIST_MAX] = "";
    pdr_str first = {l->in.first, l->in.first_len};
    struct cli_about about = {.name = ses_from_name(l->from)};

    if (err->code == PDR_EINVALID && l->wrong == NULL)
        cli_form_doubt(doubt, sizeof(doubt), &l->form.format, first,
                       l->in.bytes <= l->in.first_len);
    about.hint =
        doubt[0] != '\0' ? doubt : ses_hint(room, l->from, l->wrong, err);
    if (about.hint == NULL)
        about.hint = ses_lines_hint(err, first);
    if (about.hint == NULL)
        about.hint = cli_hint(err, first, 0);
    (void)cli_input_locate(&about.line, &about.column, &l->in, err->offset);
    if (l->sessions > 0) /* what comes before the failure */
        ses_grid_print(&l->grid, l->cli);
    fflush(stdout);
    return cli_fail(l->cli, &about, err);
}

static int list_file(struct list *l)
{
    pdr_session *none = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = cli_input_open(&l->in, l->cli, l->from->file, &err);
    int status = 0;

    if (rc != PDR_OK)
        return ses_fail(l->cli, l->from, NULL, pdr_str_n(NULL, 0), &err);
    rc = cli_form_of_input(&l->form, &l->in, l->from->how.from, &err);
    if (rc != PDR_OK)
        l->form.format.codec = NULL;
    else
        rc = ses_each_item(&l->in, &l->form, &l->from->how.limits, &err,
                           list_item, l);
    if (rc == PDR_OK && l->sessions == 0 && l->wrong != NULL)
        rc = pdr_session_from_value(&none, l->wrong, &err); /* says why */
    pdr_session_free(none);
    cli_progress_end(&l->in.progress);
    if (rc != PDR_OK)
        status = list_failed(l, &err);
    cli_input_close(&l->in);
    return status;
}

/* --- folders ------------------------------------------------------------- */

static pdr_rc on_entry(const pdr_folder_entry *entry, pdr_err *err, void *arg)
{
    static const char *const words[] = {"", "session", "superseded",
                                        "quarantined", "leftover"};
    struct list *l = arg;
    bool is_session = entry->kind == PDR_FOLDER_SESSION;
    struct row r = {.entry = words[entry->kind],
                    .name = entry->key,
                    .file = entry->file,
                    .bytes = entry->bytes,
                    .has_old_name = entry->has_old_name};
    pdr_buf note = PDR_BUF_INIT(SIZE_MAX), path = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;
    pdr_err why = PDR_ERR_INIT;

    (void)err;
    l->files[entry->kind]++;
    if (entry->key.len == 0)
        r.name.ptr = NULL;
    /* What is odd about a file, and its name where the key does not tell it. */
    if (!is_session) {
        cli_put(&note, r.entry);
    } else if (ses_folder_read(&r.session, &value, &path, l->cli,
                               l->from->folder, entry->file, &why) != PDR_OK) {
        cli_putf(&note, "cannot be read: %s", why.message);
        l->damaged++;
    }
    if (entry->has_old_name && is_session)
        cli_putf(&note, "%sold name", note.len > 0 ? "; " : "");
    if (entry->key.len == 0 && is_session)
        cli_putf(&note, "%sno key", note.len > 0 ? "; " : "");
    if (note.len > 0) {
        cli_put(&note, ": ");
        cli_must(pdr_buf_append(&note, entry->file, NULL), NULL);
    }
    r.note = pdr_buf_str(&note);
    add_row(l, &r);
    pdr_session_free(r.session);
    pdr_value_free(value);
    pdr_buf_dispose(&path);
    pdr_buf_dispose(&note);
    return PDR_OK;
}

static int list_folder(struct list *l)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = ses_folder_open(&l->folder, l->from, false, &err);

    if (rc == PDR_OK)
        rc = pdr_folder_list(l->folder, &err, on_entry, l);
    if (rc == PDR_OK)
        return 0;
    fflush(stdout);
    return ses_fail(l->cli, l->from, NULL, pdr_str_n(NULL, 0), &err);
}

/* --- the end ------------------------------------------------------------- */

static void put_others(pdr_buf *line, uint64_t count, const char *what)
{
    char digits[32];

    if (count > 0)
        cli_putf(line, ", %s %s", cli_number(digits, count), what);
}

static void print_summary(struct list *l)
{
    char digits[32], size[32];
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    cli_putf(&line, "%s session%s, %s", cli_number(digits, l->sessions),
             l->sessions == 1 ? "" : "s", cli_size(size, l->bytes));
    put_others(&line, l->damaged, "that cannot be read");
    put_others(&line, l->files[PDR_FOLDER_SUPERSEDED], "superseded");
    put_others(&line, l->files[PDR_FOLDER_CORRUPT], "quarantined");
    put_others(&line, l->files[PDR_FOLDER_LEFTOVER], "left over");
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static void print_end(struct list *l)
{
    if (l->cli->output == CLI_OUTPUT_TABLE) {
        ses_grid_print(&l->grid, l->cli);
        if (!l->cli->quiet)
            print_summary(l);
        return;
    }
    if (l->cli->output == CLI_OUTPUT_JSON) {
        if (l->rows == 0)
            begin_line(l);
        cli_putf(&l->lines, "%s],\"sessions\":%ju,\"bytes\":%ju}\n",
                 l->rows > 0 ? "\n" : "", (uintmax_t)l->sessions,
                 (uintmax_t)l->bytes);
    }
    print_lines(l);
}

static int list_documents(struct cli *cli, struct ses_from *from)
{
    struct list l = {.cli = cli, .from = from, .lines = PDR_BUF_INIT(SIZE_MAX)};
    int status = 0;

    ses_grid_init(&l.grid, from->folder != NULL ? folder_columns : file_columns,
                  CLI_COUNT(file_columns));
    status = from->folder != NULL ? list_folder(&l) : list_file(&l);
    if (status == 0)
        print_end(&l);
    if (status == 0 && l.damaged > 0)
        status = pdr_rc_exit_status(PDR_ECORRUPT);
    pdr_folder_close(l.folder);
    pdr_value_free(l.wrong);
    pdr_buf_dispose(&l.lines);
    ses_grid_free(&l.grid);
    return status;
}

static int run_list(struct cli *cli, int argc, char **argv)
{
    struct ses_from from;
    struct ses_listing listing = {.state = CLI_NO_FORM};
    int status = 0;

    ses_from_init(&from);
    const struct cli_opt opts[] = {SES_LISTING_ROWS(&listing),
                                   SES_FROM_ROWS(&from)};
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = ses_from_check(cli, &from, NULL);
    if (status == 0)
        status = ses_limits_check(cli, &from);
    if (status != 0)
        return status;
    if (ses_from_is_store(&from))
        return ses_list_store(cli, &from.store, &listing);
    if (ses_listing_is_set(&listing))
        return doc_usage(cli, "filters, --limit and --columns",
                         "are for stores", "");
    return list_documents(cli, &from);
}

const struct cli_command cli_cmd_session_list = {
    .name = "session list",
    .summary = "which sessions there are, and how large",
    .usage = "[OPTIONS] [--store URI] | [OPTIONS] --file FILE | "
             "[OPTIONS] --folder DIR",
    .run = run_list};
