/*
 * perdure session bag - look into the bag of a session, change one value.
 *
 * WHY  One wrong value in a bag can keep an agent from working. It is changed
 *      here without touching anything else, and only if the file still has the
 *      bytes that were looked at: a writer that came first is never undone.
 *
 *        get --generation --> G        set --expect G: conflict, or written
 *
 * Without --expect a change is one step from reading to writing. In a file the
 * lock sees to that; in a folder and in a store a write that came between is
 * read again. A store is asked for the one slot, and gets only that.
 */
#include "session_parts.h"

#define MAX_TRIES  20  /* of a change without --expect */
#define SIDE_CELLS 200 /* of a value in the line of a change, in a pipe */
#define MIN_SIDE   8   /* columns of a value in front of its size */

/* What a verb works on. */
struct bag {
    struct ses_one one;
    const char *words[4]; /* arguments as they came */
    struct ses_words at;
    /* what was asked for */
    bool text, generation;
    const char *expect;
    bool removes;
    /* what is there */
    pdr_value *value;  /* owned; to set */
    pdr_value *before; /* owned; NULL: it was not there */
    pdr_buf place;     /* POINTER, with the index that "-" stands for */
    bool is_changed;
};

/* --- opening ------------------------------------------------------------- */

/* Open the place and sort the arguments: how many sessions there are says
 * whether the first one is an id. */
static int open_bag(struct bag *b, bool change, bool has_value)
{
    struct ses_one *o = &b->one;
    const char *lacks = NULL;
    char hint[100] = "";
    size_t count = 0;
    int status = ses_from_check(o->cli, o->from, b->words[0]);

    if (status == 0 && !has_value) /* VALUE is read by them */
        status = ses_limits_check(o->cli, o->from);
    if (status == 0)
        status = ses_one_open(o, change);
    if (status != 0)
        return status;
    while (count < CLI_COUNT(b->words) && b->words[count] != NULL)
        count++;
    lacks =
        ses_words_of(&b->at, b->words, count, has_value, ses_one_needs_id(o));
    if (lacks == NULL)
        return 0;
    if (ses_one_needs_id(o))
        snprintf(hint, sizeof(hint),
                 "there can be several sessions: write ID KEY [POINTER]%s",
                 has_value ? " VALUE" : "");
    return ses_missing(o->cli, lacks, hint);
}

static void bag_free(struct bag *b)
{
    pdr_value_free(b->value);
    pdr_value_free(b->before);
    pdr_buf_dispose(&b->place);
    ses_one_free(&b->one);
}

/* --- a value ------------------------------------------------------------- */

/* Put the key in front of a path in the slot, so that every path is one in the
 * bag. One that has no room for it loses the key, not its end. */
static pdr_rc path_in_bag(const struct bag *b, pdr_rc rc, pdr_err *err)
{
    pdr_buf token = PDR_BUF_INIT(SIZE_MAX), path = PDR_BUF_INIT(SIZE_MAX);

    if (rc == PDR_OK || err->path[0] != '/')
        return rc;
    cli_must(pdr_pointer_push(&token, pdr_str_c(b->at.key), NULL), NULL);
    cli_show(&path, pdr_buf_str(&token), CLI_TEXT_JSON);
    cli_put(&path, err->path);
    if (path.len >= sizeof(err->path)) {
        pdr_buf_clear(&path);
        cli_putf(&path, "...%s", err->path);
    }
    if (path.len < sizeof(err->path))
        snprintf(err->path, sizeof(err->path), "%.*s", (int)path.len, path.ptr);
    pdr_buf_dispose(&path);
    pdr_buf_dispose(&token);
    return rc;
}

/* The value at key and pointer; `out` is owned. */
static pdr_rc find_value(pdr_value **out, const struct bag *b, pdr_err *err)
{
    pdr_value *all = pdr_bag_snapshot(b->one.bag);
    const pdr_value *part = pdr_value_get_c(all, b->at.key);
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (part == NULL)
        rc = pdr_err_set(err, PDR_ENOTFOUND, "no_slot",
                         "the bag has no slot '%.120s'", b->at.key);
    else if (b->at.pointer != NULL)
        rc = path_in_bag(
            b, pdr_pointer_get(&part, part, pdr_str_c(b->at.pointer), err),
            err);
    if (rc == PDR_OK)
        *out = pdr_value_ref(part);
    pdr_value_free(all);
    return rc;
}

/* "'perdure session bag keys --store URI --tenant T ID' lists the slots" */
static void hint_verb(char out[SES_HINT_MAX], const struct bag *b,
                      const char *verb, const char *key, const char *what)
{
    const struct ses_from *from = b->one.from;
    char place[CLI_WORD_MAX], id[CLI_WORD_MAX] = "", slot[CLI_WORD_MAX] = "";
    char tenant[CLI_WORD_MAX] = "";

    if (b->at.id != NULL)
        cli_word(id, b->at.id, "ID");
    if (key[0] != '\0')
        cli_word(slot, key, "KEY");
    if (from->store.tenant != NULL)
        cli_word(tenant, from->store.tenant, "TENANT");
    snprintf(
        out, SES_HINT_MAX, "'perdure session bag %s --%s %s%s%s%s%s%s%s' %s",
        verb, ses_from_word(from), cli_word(place, ses_from_arg(from), "PATH"),
        tenant[0] != '\0' ? " --tenant " : "", tenant, id[0] != '\0' ? " " : "",
        id, slot[0] != '\0' ? " " : "", slot, what);
}

static int fail_change(const struct bag *b, const pdr_err *err)
{
    const struct ses_one *o = &b->one;
    const char *reason = err->reason;
    bool is_key =
        strcmp(reason, "key_blank") == 0 || strcmp(reason, "key_too_long") == 0;
    char hint[SES_HINT_MAX], word[CLI_WORD_MAX], pointer[CLI_WORD_MAX];
    struct cli_about about = {.name = ses_from_name(o->from), .hint = hint};
    pdr_err own = *err;

    if (strcmp(reason, "history_slot") == 0) {
        about.hint =
            "nothing was changed; 'perdure session log' shows the history";
    } else if (o->file.exchange && o->folder == NULL &&
               err->code == PDR_EINVALID) {
        about.hint = "the file is as it was; a JSON file can hold it, and "
                     "'perdure convert' makes one";
    } else if (strcmp(reason, "no_slot") == 0 || is_key) {
        hint_verb(hint, b, "keys", "", "lists the slots");
    } else if (strcmp(reason, "bad_pointer") == 0) {
        about.name = "POINTER";
        snprintf(pointer, sizeof(pointer), "/%s", b->at.pointer);
        if (b->at.pointer[0] == '/')
            about.hint = "a '/' in a name is written ~1, a '~' is ~0";
        else
            snprintf(hint, sizeof(hint), "write %s",
                     cli_word(word, pointer, "/"));
    } else if (strcmp(reason, "no_member") == 0 ||
               strcmp(reason, "no_element") == 0) {
        hint_verb(hint, b, "get", b->at.key, "shows all of the slot");
    } else {
        return ses_one_fail(o, err);
    }
    if (is_key)
        about.name = "KEY";
    if (is_key || strcmp(reason, "bad_pointer") == 0)
        own.offset = -1; /* it is not a byte of the file, but an argument */
    return cli_fail(o->cli, &about, &own);
}

static void member_value(pdr_builder *to, const char *name,
                         const pdr_value *value)
{
    if (value == NULL)
        return;
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_value(to, value);
}

/* The place, as every verb has it in JSON output. */
static pdr_builder *build_place(const struct bag *b)
{
    pdr_builder *to = ses_object_new();

    ses_one_members(to, &b->one, "session");
    return to;
}

static void print_built(struct bag *b, pdr_builder *to)
{
    ses_one_tell(&b->one, to);
    ses_object_print(b->one.cli, stdout, to);
}

/* --- keys ---------------------------------------------------------------- */

static void print_keys_table(const struct cli *cli, const pdr_value *bag)
{
    static const struct ses_column columns[] = {{"KEY", false, 12},
                                                {"KIND", false, 0},
                                                {"PARTS", true, 0},
                                                {"BYTES", true, 0}};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    struct ses_grid grid;
    char digits[32];
    pdr_iter it;

    ses_grid_init(&grid, columns, CLI_COUNT(columns));
    pdr_iter_init(&it, bag);
    while (pdr_iter_next(&it)) {
        pdr_kind kind = pdr_value_kind(it.value);
        pdr_str name = doc_text(it.name, &scratch);
        ses_grid_put(&grid, name.len > 0 ? name : pdr_str_c("\"\""));
        ses_grid_put(&grid, pdr_str_c(pdr_kind_name(kind)));
        if (kind == PDR_ARRAY || kind == PDR_OBJECT)
            ses_grid_putf(&grid, "%zu", pdr_value_count(it.value));
        else
            ses_grid_put(&grid, pdr_str_c("-"));
        ses_grid_put(&grid, pdr_str_c(cli_number(digits, doc_bytes(it.value))));
    }
    if (ses_grid_rows(&grid) == 0 && !cli->quiet)
        puts("no slots");
    ses_grid_print(&grid, cli);
    ses_grid_free(&grid);
    pdr_buf_dispose(&scratch);
}

static void print_keys(struct bag *b)
{
    struct cli *cli = b->one.cli;
    pdr_value *all = pdr_bag_snapshot(b->one.bag);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_builder *to = NULL;
    pdr_iter it;

    if (cli_is_json(cli)) {
        to = build_place(b);
        pdr_builder_name(to, pdr_str_c("slots"));
        ses_tree_build(to, all, 1);
        print_built(b, to);
    } else {
        ses_one_tell(&b->one, NULL);
        if (cli->output == CLI_OUTPUT_TABLE)
            print_keys_table(cli, all);
        pdr_iter_init(&it, all);
        while (cli->output == CLI_OUTPUT_RAW && pdr_iter_next(&it)) {
            cli_print(cli, doc_text(it.name, &scratch));
            puts("");
        }
    }
    pdr_buf_dispose(&scratch);
    pdr_value_free(all);
}

static int run_keys(struct cli *cli, int argc, char **argv)
{
    const char *id = NULL;
    struct ses_from from;
    struct bag b = {.one = SES_ONE_INIT(cli, &from)};
    int status = 0;

    ses_from_init(&from);
    const struct cli_opt opts[] = {
        CLI_MAY("ID", &id, "session; needed if there are several"),
        SES_FROM_ROWS(&from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = ses_one_look_up(&b.one, id);
    if (status == 0)
        print_keys(&b);
    bag_free(&b);
    return status;
}

/* --- get ----------------------------------------------------------------- */

#define PLACE_ROWS(b)                                                      \
    CLI_MAY("ID", &(b)->words[0], "session; needed if there are several"), \
        CLI_MAY("KEY", &(b)->words[1], "slot of the bag"),                 \
        CLI_MAY("POINTER", &(b)->words[2],                                 \
                "JSON Pointer to a part of its value")

/* A text without quotes and escapes. */
static int print_text(const struct bag *b, const pdr_value *value)
{
    const struct cli_about about = {.name = "--text",
                                    .hint = "without --text it is printed as "
                                            "JSON"};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_value_text(&text, value, &scratch, &err);

    if (rc == PDR_OK) {
        cli_print(b->one.cli, text);
        fputs(b->one.cli->output == CLI_OUTPUT_RAW ? "" : "\n", stdout);
    }
    pdr_buf_dispose(&scratch);
    return rc == PDR_OK ? 0 : cli_fail(b->one.cli, &about, &err);
}

/* Laid out for people; as it is stored for programs. */
static void print_value(const struct cli *cli, const pdr_value *value)
{
    const pdr_write_opts pretty = {.flags = PDR_BARE_TOKENS,
                                   .layout = PDR_PRETTY};
    bool is_raw = cli->output == CLI_OUTPUT_RAW;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_str raw = {NULL, 0};
    pdr_err err = PDR_ERR_INIT;

    if (!is_raw)
        cli_must(pdr_json_write(&text, value, &pretty, &err), &err);
    else if (!pdr_value_raw(&raw, value))
        raw = doc_json(value, &text);
    cli_print(cli, is_raw ? raw : pdr_buf_str(&text));
    fputs(is_raw ? "" : "\n", stdout);
    pdr_buf_dispose(&text);
}

static int get_value(struct bag *b)
{
    struct cli *cli = b->one.cli;
    pdr_value *value = NULL;
    pdr_builder *to = NULL;
    char text[65];
    pdr_err err = PDR_ERR_INIT;
    int status = open_bag(b, false, false);

    b->one.slot = b->at.key;
    if (status == 0)
        status = ses_one_find(&b->one, b->at.id);
    if (status == 0 && find_value(&value, b, &err) != PDR_OK)
        status = fail_change(b, &err);
    if (status != 0)
        return status;
    if (cli_is_json(cli)) {
        to = build_place(b);
        cli_member_text(to, "key", pdr_str_c(b->at.key));
        if (b->at.pointer != NULL)
            cli_member_text(to, "pointer", pdr_str_c(b->at.pointer));
        member_value(to, "value", value);
        print_built(b, to);
    } else {
        ses_one_tell(&b->one, NULL);
        if (b->generation)
            puts(ses_one_mark(text, &b->one));
        if (b->text)
            status = print_text(b, value);
        else
            print_value(cli, value);
    }
    pdr_value_free(value);
    return status;
}

static int run_get(struct cli *cli, int argc, char **argv)
{
    struct ses_from from;
    struct bag b = {.one = SES_ONE_INIT(cli, &from)};
    int status = 0;

    ses_from_init(&from);
    const struct cli_opt opts[] = {
        PLACE_ROWS(&b),
        CLI_FLAG(0, "text", &b.text, "print a string without quotes"),
        CLI_FLAG(0, "generation", &b.generation,
                 "first a line with its generation, for --expect"),
        SES_FROM_ROWS(&from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = get_value(&b);
    bag_free(&b);
    return status;
}

/* --- changing ------------------------------------------------------------ */

/* What bag_set() gets in the place of the slot's value. */
static pdr_rc edit_slot(pdr_value **io, const struct bag *b, pdr_err *err)
{
    pdr_str pointer = pdr_str_c(b->at.pointer);
    const pdr_value *part = NULL;
    pdr_rc rc = b->removes ? pdr_pointer_remove(io, pointer, err)
                           : pdr_pointer_set(io, pointer, b->value, err);

    if (rc == PDR_OK)
        return rc;
    /* Below a number there is nothing: said as `get` and `rm` say it. */
    if (strcmp(err->reason, "wrong_kind") == 0)
        rc = pdr_pointer_get(&part, *io, pointer, err);
    return path_in_bag(b, rc, err);
}

static pdr_rc change_bag(struct bag *b, pdr_err *err)
{
    pdr_bag *bag = b->one.bag;
    pdr_str key = pdr_str_c(b->at.key);
    pdr_value *slot = NULL;
    pdr_rc rc = PDR_OK;

    if (b->at.pointer == NULL || b->at.pointer[0] == '\0')
        return b->removes ? pdr_bag_remove(bag, key, err)
                          : pdr_bag_set(bag, key, b->value, err);
    CLI_TRY(pdr_bag_get(&slot, bag, key, err));
    CLI_TRY(edit_slot(&slot, b, err));
    CLI_TRY(pdr_bag_set(bag, key, slot, err));
done:
    pdr_value_free(slot);
    return rc;
}

static pdr_rc check_expected(const struct bag *b, pdr_err *err)
{
    const struct ses_one *o = &b->one;
    char text[65];

    if (b->expect == NULL || ses_one_has_mark(o, b->expect))
        return PDR_OK;
    if (o->store != NULL)
        return pdr_err_set(err, PDR_ECONFLICT, "revision_changed",
                           "the session has revision %s, --expect says %.20s",
                           ses_one_mark(text, o), b->expect);
    return pdr_err_set(err, PDR_ECONFLICT, "generation_changed",
                       "the file is not the one of --expect any more, its "
                       "generation is %s",
                       ses_one_mark(text, o));
}

/* Which element "-" stands for, before there is one more. */
static void note_place(struct bag *b)
{
    pdr_str pointer = pdr_str_c(b->at.pointer != NULL ? b->at.pointer : "");
    pdr_str front =
        pdr_str_n(pointer.ptr, pointer.len >= 2 ? pointer.len - 2 : 0);
    pdr_value *all = pdr_bag_snapshot(b->one.bag);
    const pdr_value *holder = pdr_value_get_c(all, b->at.key);

    pdr_buf_clear(&b->place);
    cli_put(&b->place, pointer.ptr);
    if (holder != NULL && strcmp(pointer.ptr + front.len, "/-") == 0 &&
        pdr_pointer_get(&holder, holder, front, NULL) == PDR_OK &&
        pdr_value_kind(holder) == PDR_ARRAY) {
        b->place.len--;
        cli_putf(&b->place, "%zu", pdr_value_count(holder));
    }
    pdr_value_free(all);
}

/* One try: change the session that was read, and write it. */
static pdr_rc change_once(struct bag *b, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    CLI_TRY(check_expected(b, err));
    /* No change may make a session that cannot be exported any more. */
    if (b->one.store != NULL)
        CLI_TRY(pdr_stored_check_slot(b->one.stored, pdr_str_c(b->at.key),
                                      b->removes, err));
    note_place(b);
    pdr_value_free(b->before);
    rc = find_value(&b->before, b, err);
    if (rc != PDR_OK && (rc != PDR_ENOTFOUND || b->removes))
        return rc; /* what is not there may be set, but not removed */
    rc = PDR_OK;
    b->is_changed = b->removes || !pdr_value_equal(b->before, b->value);
    if (!b->is_changed)
        goto done;
    CLI_TRY(change_bag(b, err));
    CLI_TRY(ses_one_save(&b->one, err));
done:
    return rc;
}

/* --- what was changed ---------------------------------------------------- */

/* A long value is cut, with its size after it if there is room for that. In a
 * terminal both values are on one line. */
static void put_side(pdr_buf *out, const struct cli *cli,
                     const pdr_value *value)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = doc_json(value, &scratch);
    size_t cells = cli->output == CLI_OUTPUT_RAW ? SIZE_MAX
                   : !cli->tty_out               ? SIDE_CELLS
                   : cli->width > 40             ? cli->width / 2 - 8
                                                 : 12;
    char digits[32], size[48] = "";

    if (cli_cells(text, CLI_TEXT_LINE) > cells)
        snprintf(size, sizeof(size), " (%s bytes)",
                 cli_number(digits, text.len));
    if (cells < strlen(size) + MIN_SIDE)
        size[0] = '\0';
    cli_show_cut(out, text, CLI_TEXT_LINE, cells - strlen(size));
    cli_put(out, size);
    pdr_buf_dispose(&scratch);
}

static void print_change(const struct bag *b)
{
    const struct cli *cli = b->one.cli;
    const pdr_value *after = b->removes ? NULL : b->value;
    bool both = b->before != NULL && after != NULL;
    const char *color = both                ? CLI_YELLOW
                        : b->before == NULL ? CLI_GREEN
                                            : CLI_RED;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX), pointer = PDR_BUF_INIT(SIZE_MAX);

    cli_putf(&line, "%s%s ", cli_on(cli->color_out, color),
             both                ? "~"
             : b->before == NULL ? "+"
                                 : "-");
    cli_must(pdr_pointer_push(&pointer, pdr_str_c(b->at.key), NULL), NULL);
    cli_must(pdr_buf_append(&pointer, pdr_buf_str(&b->place), NULL), NULL);
    cli_show(&line, pdr_buf_str(&pointer), CLI_TEXT_JSON);
    cli_putf(&line, "%s  ", cli_off(cli->color_out));
    if (b->before != NULL)
        put_side(&line, cli, b->before);
    cli_put(&line, both ? " -> " : "");
    if (after != NULL)
        put_side(&line, cli, after);
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&pointer);
    pdr_buf_dispose(&line);
}

/* "FILE, session 'ID'": one without id by its place, unless it is alone. */
static void put_session(pdr_buf *out, const struct ses_one *o)
{
    pdr_buf id = PDR_BUF_INIT(SIZE_MAX);

    cli_show(out, pdr_str_c(ses_from_name(o->from)), CLI_TEXT_LINE);
    ses_one_put_id(&id, o);
    if (id.len > 0) {
        cli_put(out, ", session '");
        cli_show_cut(out, pdr_buf_str(&id), CLI_TEXT_LINE, 60);
        cli_put(out, "'");
    } else if (ses_one_needs_id(o)) {
        cli_putf(out, ", session /%ju", (uintmax_t)o->pick.at);
    }
    pdr_buf_dispose(&id);
}

static void print_done(struct bag *b)
{
    const struct cli *cli = b->one.cli;
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    char text[65];

    ses_one_tell(&b->one, NULL);
    if (b->is_changed)
        print_change(b);
    if (cli->quiet)
        return;
    put_session(&name, &b->one);
    if (!b->is_changed)
        printf("%.*s: nothing to change\n", (int)name.len, name.ptr);
    else if (b->one.file.dry_run)
        printf("%.*s: a dry run, nothing was written\n", (int)name.len,
               name.ptr);
    else
        printf("%.*s: written\n%s %s\n", (int)name.len, name.ptr,
               ses_one_mark_word(&b->one), ses_one_mark(text, &b->one));
    cli_tell_respelled(ses_from_name(b->one.from), &b->one.file.lost);
    pdr_buf_dispose(&name);
}

static void print_object(struct bag *b)
{
    pdr_builder *to = build_place(b);

    cli_member_text(to, "key", pdr_str_c(b->at.key));
    if (b->at.pointer != NULL)
        cli_member_text(to, "pointer", pdr_buf_str(&b->place));
    cli_member_bool(to, "changed", b->is_changed);
    cli_member_bool(to, "dryRun", b->one.file.dry_run);
    if (b->one.file.exchange)
        cli_member_respelled(to, &b->one.file.lost);
    member_value(to, "before", b->before);
    if (!b->removes)
        member_value(to, "after", b->value);
    print_built(b, to);
}

static int change_value(struct bag *b)
{
    bool is_locked = b->one.folder == NULL && b->one.store == NULL;
    int tries = b->expect != NULL || is_locked ? 1 : MAX_TRIES;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_ECONFLICT;

    if (b->expect != NULL && !ses_one_is_mark(&b->one, b->expect))
        return doc_usage(b->one.cli, "--expect",
                         b->one.store != NULL
                             ? "a revision is a number from 1 on"
                             : "a generation has 64 hex digits",
                         "'perdure session bag get --generation' prints it");
    b->one.slot = b->at.key;
    b->one.change = !b->one.file.dry_run;
    while (rc == PDR_ECONFLICT && tries-- > 0) {
        int status = ses_one_find(&b->one, b->at.id);

        if (status != 0)
            return status;
        rc = change_once(b, &err);
    }
    if (rc != PDR_OK)
        return fail_change(b, &err);
    if (cli_is_json(b->one.cli))
        print_object(b);
    else
        print_done(b);
    return 0;
}

/* --- set ----------------------------------------------------------------- */

/* VALUE as JSON, or as the text of a string. */
static int read_value(struct bag *b)
{
    const struct cli_limits *limits = &b->one.from->how.limits;
    const pdr_read_opts opts = cli_read_opts(limits);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct cli_about about = {.name = "VALUE",
                              .hint = "a text is written in quotes, "
                                      "'\"like this\"', or with --text"};
    struct cli_input in = {.fd = -1};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    if (strcmp(b->at.value, "-") == 0) {
        CLI_TRY(cli_input_open(&in, b->one.cli, "-", &err));
        rc = cli_input_rest(&text, &in, limits, &err);
        cli_input_close(&in);
    } else {
        rc = pdr_buf_append(&text, pdr_str_c(b->at.value), &err);
    }
    if (rc == PDR_OK)
        rc = b->text
                 ? pdr_value_new_string(&b->value, pdr_buf_str(&text), &err)
                 : pdr_json_read(&b->value, pdr_buf_str(&text), &opts, &err);
done:
    if (b->at.value[0] == '/' && !b->text)
        about.hint = "VALUE stands behind POINTER, and is missing; a text is "
                     "written in quotes, or with --text";
    about.input = pdr_buf_str(&text);
    status = rc == PDR_OK ? 0 : cli_fail(b->one.cli, &about, &err);
    pdr_buf_dispose(&text);
    return status;
}

#define CHANGE_ROWS(b)                                    \
    CLI_TEXT(0, "expect", "MARK", &(b)->expect,           \
             "change it only if it has this generation"), \
        CLI_FLAG('n', "dry-run", &(b)->one.file.dry_run,  \
                 "say what would be changed, write nothing")

static int run_set(struct cli *cli, int argc, char **argv)
{
    struct ses_from from;
    struct bag b = {.one = SES_ONE_INIT(cli, &from),
                    .place = PDR_BUF_INIT(SIZE_MAX)};
    int status = 0;

    ses_from_init(&from);
    const struct cli_opt opts[] = {
        PLACE_ROWS(&b),
        CLI_MAY("VALUE", &b.words[3], "JSON; - reads standard input"),
        CLI_FLAG(0, "text", &b.text, "VALUE is the text of a string"),
        CHANGE_ROWS(&b),
        SES_FROM_ROWS(&from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = open_bag(&b, true, true);
    if (status == 0)
        status = read_value(&b);
    if (status == 0)
        status = change_value(&b);
    bag_free(&b);
    return status;
}

/* --- rm ------------------------------------------------------------------ */

static int run_rm(struct cli *cli, int argc, char **argv)
{
    struct ses_from from;
    struct bag b = {.one = SES_ONE_INIT(cli, &from),
                    .place = PDR_BUF_INIT(SIZE_MAX),
                    .removes = true};
    int status = 0;

    ses_from_init(&from);
    const struct cli_opt opts[] = {
        PLACE_ROWS(&b),
        CHANGE_ROWS(&b),
        SES_FROM_ROWS(&from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = open_bag(&b, true, false);
    if (status == 0)
        status = change_value(&b);
    bag_free(&b);
    return status;
}

/* --- the commands -------------------------------------------------------- */

const struct cli_command cli_cmd_session_bag_keys = {
    .name = "session bag keys",
    .summary = "the slots of a bag, with kinds and sizes",
    .usage = SES_ONE_USAGE(""),
    .run = run_keys};

const struct cli_command cli_cmd_session_bag_get = {
    .name = "session bag get",
    .summary = "the value of a slot, or a part of it",
    .usage = SES_ONE_USAGE(" KEY [POINTER]"),
    .run = run_get};

const struct cli_command cli_cmd_session_bag_set = {
    .name = "session bag set",
    .summary = "change one value, and nothing else",
    .usage = SES_ONE_USAGE(" KEY [POINTER] VALUE"),
    .run = run_set};

const struct cli_command cli_cmd_session_bag_rm = {
    .name = "session bag rm",
    .summary = "remove a slot, or a part of its value",
    .usage = SES_ONE_USAGE(" KEY [POINTER]"),
    .run = run_rm};
