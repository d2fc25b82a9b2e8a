/*
 * perdure session show - what one session holds.
 *
 * WHY  A session is made for programs. A person wants to know whose it is, how
 *      long the conversation is, what each provider remembers and how large
 *      that is, and whether something about it is odd.
 */
#include "session_parts.h"

#define MAX_WIDTH  ((size_t)120)
#define MIN_WIDTH  ((size_t)24)
#define MOST_ROLES 8

struct show {
    struct ses_one one;
    struct ses_info info;
    struct ses_tree tree;
    pdr_value *bag;        /* owned */
    pdr_value *properties; /* owned; NULL: none */
    uint64_t depth;
    pdr_buf line;
};

/* --- history ------------------------------------------------------------- */

/* How many messages each role has, in the order of their first message. */
struct roles {
    struct role {
        pdr_buf name;
        size_t count;
    } items[MOST_ROLES];
    size_t count;
    size_t others; /* messages of roles that have no room here, or of none */
};

static void find_roles(struct roles *r, const struct show *s)
{
    pdr_shape shape = pdr_session_message_shape(s->one.session);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;

    memset(r, 0, sizeof(*r));
    pdr_iter_init(&it, s->info.history);
    while (pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};
        size_t i = 0;

        if (pdr_value_kind(it.value) == PDR_OBJECT)
            name = doc_text(pdr_message_role(it.value, shape), &scratch);
        while (i < r->count &&
               !pdr_str_equal(pdr_buf_str(&r->items[i].name), name))
            i++;
        if (i < r->count) {
            r->items[i].count++;
        } else if (name.len == 0 || r->count == MOST_ROLES) {
            r->others++;
        } else {
            r->items[r->count] = (struct role){PDR_BUF_INIT(SIZE_MAX), 1};
            cli_must(pdr_buf_append(&r->items[r->count++].name, name, NULL),
                     NULL);
        }
    }
    pdr_buf_dispose(&scratch);
}

static void free_roles(struct roles *r)
{
    for (size_t i = 0; i < r->count; i++)
        pdr_buf_dispose(&r->items[i].name);
}

/* --- for people ---------------------------------------------------------- */

/* "kind      python", folded under its text; then the line is empty again. */
static void end_line(struct show *s, const char *label)
{
    ses_label(s->tree.out, s->one.cli, s->tree.width, label,
              pdr_buf_str(&s->line));
    pdr_buf_clear(&s->line);
}

static void show_place(struct show *s)
{
    const struct ses_one *o = &s->one;
    bool colored = o->cli->color_out;

    cli_show(&s->line, pdr_str_c(ses_from_name(o->from)), CLI_TEXT_LINE);
    if (o->folder != NULL) {
        cli_put(&s->line, ", key ");
        cli_show(&s->line, pdr_str_c(o->key), CLI_TEXT_LINE);
    } else if (o->store == NULL &&
               (o->file.doc_count > 1 || o->file.docs[0].count > 1)) {
        cli_putf(&s->line, ", place /%ju", (uintmax_t)o->pick.at);
    }
    fprintf(s->tree.out, "%s%.*s%s\n", cli_on(colored, CLI_BOLD),
            (int)s->line.len, s->line.ptr, cli_off(colored));
    pdr_buf_clear(&s->line);
}

/* What a session in a file or folder says of itself. */
static void show_ids(struct show *s)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    const pdr_value *name = NULL;

    if (s->one.folder == NULL)
        name = ses_doc_name(s->one.pick.doc, s->one.pick.index);
    if (name != NULL) {
        cli_show(&s->line, doc_text(name, &scratch), CLI_TEXT_LINE);
        end_line(s, "name");
    }
    cli_show(&s->line, pdr_buf_str(&s->info.id), CLI_TEXT_LINE);
    if (s->info.id.len == 0)
        cli_put(&s->line, "none: sessions of this shape carry no id");
    /* The .NET shape has no id, but a conversion keeps the one that there
     * was. */
    else if (s->info.shape == PDR_SESSION_DOTNET &&
             pdr_session_id(s->one.session).len > 0)
        cli_put(&s->line, ", kept by a conversion: .NET does not know it");
    end_line(s, "id");
    cli_put(&s->line, pdr_session_kind_name(s->info.kind));
    if (s->info.kind == PDR_SESSION_KIND_UNSTATED)
        cli_put(&s->line, ": nothing says which; every agent takes it, the "
                          "first id of a service decides");
    end_line(s, "kind");
    pdr_buf_dispose(&scratch);
}

static void show_shape(struct show *s)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    cli_put(&s->line, pdr_session_shape_name(s->info.shape));
    if (s->info.shape == PDR_SESSION_DOTNET_THREAD ||
        s->info.shape == PDR_SESSION_PYTHON_THREAD)
        cli_put(&s->line, ": from before sessions had a bag; 'perdure session "
                          "convert' gives it one");
    end_line(s, "shape");
    if (s->info.service != NULL) {
        cli_show(&s->line, ses_service_text(s->info.service, &scratch),
                 CLI_TEXT_LINE);
    } else if (s->info.unused != NULL) {
        cli_put(&s->line, "none: the document has '");
        cli_show_cut(&s->line, doc_text(s->info.unused, &scratch),
                     CLI_TEXT_LINE, 60);
        cli_put(&s->line, s->info.is_sentinel
                              ? "', which stands for local history and is "
                                "never sent"
                              : "', which is no id");
    } else {
        cli_put(&s->line, "none");
    }
    end_line(s, "service");
    pdr_buf_dispose(&scratch);
}

static void show_history(struct show *s)
{
    size_t count = pdr_value_count(s->info.history), given = 0;
    struct roles r = {.count = 0};
    char digits[32];

    if (s->info.history_err.code != PDR_OK) {
        cli_putf(&s->line, "none that can be read: %s",
                 s->info.history_err.message);
    } else if (s->info.history == NULL) {
        cli_put(&s->line, "none in the session");
    } else {
        cli_putf(&s->line, "%s message%s", cli_number(digits, count),
                 count == 1 ? "" : "s");
        find_roles(&r, s);
    }
    for (size_t i = 0; i < r.count; i++) {
        cli_putf(&s->line, "%s%zu ", given++ > 0 ? ", " : " (",
                 r.items[i].count);
        cli_show_cut(&s->line, pdr_buf_str(&r.items[i].name), CLI_TEXT_LINE,
                     20);
    }
    if (r.others > 0)
        cli_putf(&s->line, "%s%zu other", given++ > 0 ? ", " : " (", r.others);
    cli_put(&s->line, given > 0 ? ")" : "");
    free_roles(&r);
    end_line(s, "history");
}

/* What is around the session; owned, NULL if it is nothing. */
static pdr_value *find_properties(const struct ses_one *o)
{
    const pdr_properties *p = NULL;

    if (o->properties != NULL)
        return pdr_value_ref(o->properties);
    if (o->store == NULL && o->folder == NULL)
        p = ses_doc_properties(o->pick.doc, o->pick.index);
    return p != NULL ? pdr_properties_to_value(p) : NULL;
}

static void show_bag(struct show *s)
{
    uint64_t slots = pdr_value_count(s->bag);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    char digits[32], size[32];

    if (s->properties != NULL) {
        cli_show(&s->line, doc_json_spaced(s->properties, &scratch),
                 CLI_TEXT_LINE);
        end_line(s, "metadata");
    }
    cli_putf(&s->line, "%s slot%s, %s", cli_number(digits, slots),
             slots == 1 ? "" : "s", cli_size(size, doc_bytes(s->bag)));
    if (s->one.store == NULL)
        cli_putf(&s->line, "; the session has %s",
                 cli_size(size, s->info.bytes));
    end_line(s, "bag");
    ses_tree_print(&s->tree, s->bag);
    pdr_buf_dispose(&scratch);
}

/* In a store, does its document say another id? */
static bool has_own_id(const struct show *s)
{
    return s->one.store != NULL && s->info.id.len > 0 &&
           !pdr_str_equal(pdr_buf_str(&s->info.id),
                          pdr_stored_head(s->one.stored)->ref.id);
}

static void print_table(struct show *s)
{
    show_place(s);
    if (s->one.store != NULL)
        ses_head_facts(&s->tree, pdr_stored_head(s->one.stored));
    else
        show_ids(s);
    if (has_own_id(s))
        ses_label(s->tree.out, s->one.cli, s->tree.width, "own id",
                  pdr_buf_str(&s->info.id));
    if (s->one.session != NULL) {
        show_shape(s);
    } else if (s->one.no_document.code != PDR_OK) {
        cli_putf(&s->line, "none: %s", s->one.no_document.message);
        end_line(s, "document");
    }
    if (s->one.store == NULL)
        show_history(s);
    show_bag(s);
}

/* --- for programs -------------------------------------------------------- */

static void build_facts(pdr_builder *to, const struct show *s)
{
    const struct ses_one *o = &s->one;
    struct roles r;

    if (o->store != NULL) {
        cli_member_text(to, "store", pdr_str_c(ses_from_name(o->from)));
        cli_member_text(to, "tenant", pdr_stored_head(o->stored)->ref.tenant);
        ses_head_members(to, pdr_stored_head(o->stored),
                         pdr_value_count(s->bag));
        if (has_own_id(s))
            cli_member_text(to, "ownId", pdr_buf_str(&s->info.id));
        if (o->session != NULL)
            ses_info_service(to, &s->info);
        if (o->no_document.code != PDR_OK)
            cli_member_text(to, "documentError",
                            pdr_str_c(o->no_document.message));
    } else {
        ses_one_members(to, o, o->folder != NULL ? "key" : NULL);
    }
    if (s->properties != NULL) {
        pdr_builder_name(to, pdr_str_c("properties"));
        pdr_builder_value(to, s->properties);
    }
    if (o->store != NULL)
        return;
    ses_info_members(to, &s->info);
    if (s->info.history == NULL)
        return;
    find_roles(&r, s);
    pdr_builder_name(to, pdr_str_c("roles"));
    pdr_builder_object(to);
    for (size_t i = 0; i < r.count; i++) {
        pdr_builder_name(to, pdr_buf_str(&r.items[i].name));
        pdr_builder_uint64(to, r.items[i].count);
    }
    pdr_builder_end(to);
    free_roles(&r);
}

static void print_object(struct show *s)
{
    pdr_builder *to = ses_object_new();

    build_facts(to, s);
    pdr_builder_name(to, pdr_str_c("bag"));
    ses_tree_build(to, s->bag, s->tree.full ? SIZE_MAX : s->tree.depth);
    ses_one_tell(&s->one, to);
    ses_object_print(s->one.cli, stdout, to);
}

static pdr_rc print_some(pdr_str bytes, pdr_err *err, void *arg)
{
    const struct show *s = arg;

    (void)err;
    cli_print(s->one.cli, bytes);
    return PDR_OK;
}

/* The document, or the one that the rows of a store make. */
static int print_raw(struct show *s)
{
    pdr_str raw = {NULL, 0};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_export_opts how = {.bare = false};
    pdr_err err = PDR_ERR_INIT;

    if (s->one.store != NULL) {
        how.ref = pdr_stored_head(s->one.stored)->ref;
        if (pdr_export(NULL, s->one.store, &how, &err, print_some, s) != PDR_OK)
            return ses_one_fail(&s->one, &err);
    } else {
        if (!pdr_value_raw(&raw, s->info.document))
            raw = doc_json(s->info.document, &scratch);
        cli_print(s->one.cli, raw);
    }
    fputs("\n", stdout);
    pdr_buf_dispose(&scratch);
    return 0;
}

/* --- the whole ----------------------------------------------------------- */

static int show_session(struct show *s, bool paged)
{
    struct cli *cli = s->one.cli;
    size_t width = cli->tty_out ? cli->width : 80;
    struct cli_pager pager;

    s->properties = find_properties(&s->one);
    if (s->one.session != NULL)
        ses_info_of(&s->info, s->one.session);
    s->bag = pdr_bag_snapshot(s->one.bag);
    if (cli_is_json(cli)) {
        print_object(s);
        return 0;
    }
    ses_one_tell(&s->one, NULL);
    if (cli->output == CLI_OUTPUT_RAW)
        return print_raw(s);
    cli_pager_begin(&pager, cli, paged);
    s->tree.out = pager.out;
    s->tree.width = width > MAX_WIDTH   ? MAX_WIDTH
                    : width > MIN_WIDTH ? width
                                        : MIN_WIDTH;
    print_table(s);
    return cli_pager_end(&pager, cli, 0);
}

static int run_show(struct cli *cli, int argc, char **argv)
{
    const char *id = NULL;
    struct ses_from from;
    struct show s = {.one = SES_ONE_INIT(cli, &from),
                     .info = SES_INFO_INIT,
                     .tree = {.cli = cli, .out = stdout},
                     .depth = 2,
                     .line = PDR_BUF_INIT(SIZE_MAX)};
    bool no_pager = false;
    int status = 0;

    ses_from_init(&from);
    const struct cli_opt opts[] = {
        CLI_MAY("ID", &id, "session to show; needed if there are several"),
        CLI_U64('d', "depth", "N", &s.depth, 1, 128,
                "levels of the bag to show, 1 to 128 (default 2)"),
        CLI_FLAG('f', "full", &s.tree.full,
                 "all of the bag, long values to their end"),
        CLI_FLAG(0, "no-pager", &no_pager, "print it directly"),
        SES_FROM_ROWS(&from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    s.tree.depth = (size_t)s.depth;
    status = ses_one_look_up(&s.one, id);
    if (status == 0)
        status = show_session(&s, !no_pager);
    pdr_value_free(s.bag);
    pdr_value_free(s.properties);
    ses_info_free(&s.info);
    ses_one_free(&s.one);
    pdr_buf_dispose(&s.line);
    return status;
}

const struct cli_command cli_cmd_session_show = {
    .name = "session show",
    .summary = "what one session holds, its bag as a tree",
    .usage = SES_ONE_USAGE(""),
    .run = run_show};
