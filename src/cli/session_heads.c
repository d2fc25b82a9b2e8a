/*
 * session_heads.c - the sessions of a store, a page at a time.
 *
 * WHY  A store may hold a million sessions. A list shows the ones that changed
 *      last, says where it ended, and goes on from there when asked; what it
 *      costs does not depend on how many there are.
 *
 * The head of a session has all that is shown. Its entries are not read.
 */
#include "session_parts.h"

#define USUAL_LIMIT 50
#define PAGE_ROWS   200 /* of a store, at most */

const char *const ses_state_words[] = {"idle", "running", "waiting", "expired",
                                       NULL};

/* --- columns ------------------------------------------------------------- */

enum column_kind {
    COLUMN_TEXT,   /* a pdr_str */
    COLUMN_NUMBER, /* a uint64_t */
    COLUMN_TIME,   /* an int64_t */
    COLUMN_STATE,
    COLUMN_ENTRIES
};

#define AT(member) offsetof(pdr_head, member)

/* A row for each column that there can be. */
static const struct column {
    const char *name; /* for --columns */
    struct ses_column shape;
    enum column_kind kind;
    size_t at; /* of the member in a head */
} all_columns[] = {
    {"id", {"ID", false, 12}, COLUMN_TEXT, AT(ref.id)},
    {"agent", {"AGENT", false, 8}, COLUMN_TEXT, AT(agent)},
    {"kind", {"KIND", false, 0}, COLUMN_TEXT, AT(kind)},
    {"state", {"STATE", false, 0}, COLUMN_STATE, 0},
    {"changed", {"CHANGED", false, 0}, COLUMN_TIME, AT(changed_ms)},
    {"created", {"CREATED", false, 0}, COLUMN_TIME, AT(created_ms)},
    {"expires", {"EXPIRES", false, 0}, COLUMN_TIME, AT(expiry_ms)},
    {"revision", {"REVISION", true, 0}, COLUMN_NUMBER, AT(revision)},
    {"commits", {"COMMITS", true, 0}, COLUMN_NUMBER, AT(commits)},
    {"entries", {"ENTRIES", true, 0}, COLUMN_ENTRIES, 0},
    {"slots", {"SLOTS", true, 0}, COLUMN_NUMBER, AT(slots)},
    {"properties", {"PROPERTIES", true, 0}, COLUMN_NUMBER, AT(properties)},
    {"inbox", {"INBOX", true, 0}, COLUMN_NUMBER, AT(inbox)},
    {"lease", {"LEASE", false, 8}, COLUMN_TEXT, AT(lease.owner)},
    {"tenant", {"TENANT", false, 8}, COLUMN_TEXT, AT(ref.tenant)},
};

static void put_column(struct ses_grid *g, const struct column *column,
                       const pdr_head *head)
{
    const void *member = (const char *)head + column->at;
    char text[40] = "";

    switch (column->kind) {
    case COLUMN_TEXT:
        ses_grid_put(g, *(const pdr_str *)member);
        return;
    case COLUMN_NUMBER:
        cli_number(text, *(const uint64_t *)member);
        break;
    case COLUMN_TIME:
        sto_time(text, *(const int64_t *)member);
        break;
    case COLUMN_STATE:
        snprintf(text, sizeof(text), "%s", ses_state_name(head->state));
        break;
    case COLUMN_ENTRIES:
        cli_number(text, head->next_seq - head->first_seq);
        break;
    }
    ses_grid_put(g, pdr_str_c(text));
}

static const char usual_columns[] = "id,agent,kind,state,changed,entries";
static const char tenant_columns[] =
    "tenant,id,agent,kind,state,changed,entries";

struct heads {
    struct cli *cli;
    const struct sto_from *from;
    const struct ses_listing *how;
    pdr_store *store;
    pdr_query query;
    pdr_buf match, after;
    const struct column *columns[SES_GRID_MAX];
    struct ses_column shapes[SES_GRID_MAX];
    struct ses_grid grid;
    uint64_t count;
    uint64_t left_out; /* of raw output */
    bool has_begun, has_more;
};

static int refuse_column(struct cli *cli, const char *name, size_t len)
{
    char what[80], hint[200] = "choose of ";

    snprintf(what, sizeof(what), "--columns %.*s", (int)(len < 40 ? len : 40),
             name);
    for (size_t i = 0; i < CLI_COUNT(all_columns); i++)
        snprintf(hint + strlen(hint), sizeof(hint) - strlen(hint), "%s%s",
                 i > 0 ? ", " : "", all_columns[i].name);
    return doc_usage(cli, what, "there is no such column", hint);
}

_Static_assert(CLI_COUNT(all_columns) <= SES_GRID_MAX && SES_GRID_MAX == 16,
               "all columns can be shown, and the hint says how many");

static int choose_columns(struct heads *h)
{
    const char *at = h->how->columns != NULL ? h->how->columns
                     : h->how->all_tenants   ? tenant_columns
                                             : usual_columns;
    size_t count = 0;

    for (;;) {
        size_t len = strcspn(at, ","), i = 0;

        while (i < CLI_COUNT(all_columns) &&
               (strlen(all_columns[i].name) != len ||
                strncmp(all_columns[i].name, at, len) != 0))
            i++;
        if (i == CLI_COUNT(all_columns))
            return refuse_column(h->cli, at, len);
        if (count == SES_GRID_MAX)
            return doc_usage(h->cli, "--columns", "these are too many",
                             "16 columns are shown at most");
        h->columns[count] = &all_columns[i];
        h->shapes[count++] = all_columns[i].shape;
        if (at[len] == '\0')
            break;
        at += len + 1;
    }
    ses_grid_init(&h->grid, h->shapes, count);
    h->grid.keeps_empty = h->how->columns != NULL;
    return 0;
}

/* --- filters ------------------------------------------------------------- */

bool ses_listing_is_set(const struct ses_listing *l)
{
    return l->agent != NULL || l->after != NULL || l->changed_after != NULL ||
           l->changed_before != NULL || l->property != NULL ||
           l->prefix != NULL || l->columns != NULL || l->state != CLI_NO_FORM ||
           l->limit > 0 || l->all || l->all_tenants;
}

static int set_time(struct heads *h, int64_t *out, const char *option,
                    const char *text)
{
    if (text == NULL || sto_when(out, text, sto_now_ms()))
        return 0;
    return doc_usage(h->cli, option, "this is no time",
                     "write a date, 2026-05-06 or 2026-05-06T07:14:02Z, or how "
                     "long ago: 90s, 15m, 12h, 7d, 2w");
}

static int set_property(struct heads *h)
{
    const char *text = h->how->property;
    const char *equals = strchr(text, '=');
    pdr_value *value = NULL;
    bool found = false;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (equals == NULL || equals == text)
        return doc_usage(h->cli, "--property",
                         equals == NULL ? "'=' is missing behind its name"
                                        : "its name is missing in front of '='",
                         "write KEY=VALUE, as in team=garden");
    rc = ses_store_sought(&value, pdr_str_c(equals + 1), &err);
    if (rc == PDR_OK)
        rc = pdr_property_match(&h->match, &found, value, &err);
    pdr_value_free(value);
    if (rc == PDR_ENOMEM)
        cli_must(rc, &err);
    if (rc != PDR_OK || !found)
        return doc_usage(h->cli, "--property",
                         "no list finds a session by such a value",
                         "write KEY=VALUE with a text, a number, true or "
                         "false");
    h->query.filter.property = pdr_str_n(text, (size_t)(equals - text));
    h->query.filter.match = pdr_buf_str(&h->match);
    if (h->match.len == 0) /* an empty text is not an absent one */
        h->query.filter.match = pdr_str_n("", 0);
    return 0;
}

static bool has_times(const struct ses_listing *l)
{
    return l->changed_before != NULL || l->changed_after != NULL;
}

/* From the beginning of time, or to its end, if only one of them is given: two
 * zeros would be none. */
static int set_times(struct heads *h)
{
    const struct ses_listing *l = h->how;
    pdr_filter *filter = &h->query.filter;
    int status = 0;

    filter->changed_from_ms = INT64_MIN;
    filter->changed_to_ms = INT64_MAX;
    status = set_time(h, &filter->changed_from_ms, "--changed-after",
                      l->changed_after);
    if (status == 0)
        status = set_time(h, &filter->changed_to_ms, "--changed-before",
                          l->changed_before);
    if (status == 0 && filter->changed_from_ms >= filter->changed_to_ms)
        status = doc_usage(h->cli, "--changed-before",
                           "no time is before it and after --changed-after",
                           "--changed-after takes the earlier time");
    return status;
}

static int set_filter(struct heads *h)
{
    const struct ses_listing *l = h->how;
    pdr_filter *filter = &h->query.filter;
    int status = has_times(l) ? set_times(h) : 0;

    if (l->agent != NULL)
        filter->agent = pdr_str_c(l->agent);
    if (l->prefix != NULL)
        filter->id_prefix = pdr_str_c(l->prefix);
    filter->by_state = l->state != CLI_NO_FORM;
    if (filter->by_state)
        filter->state = (pdr_session_state)l->state;
    if (l->after != NULL)
        cli_put(&h->after, l->after);
    return status == 0 && l->property != NULL ? set_property(h) : status;
}

static bool begins_with(pdr_str id, pdr_str prefix)
{
    return prefix.len == 0 || (id.len >= prefix.len &&
                               memcmp(id.ptr, prefix.ptr, prefix.len) == 0);
}

/* Of all tenants a store lists all sessions, so filters are held here. */
static bool is_meant(const struct heads *h, const pdr_head *head)
{
    const pdr_filter *filter = &h->query.filter;

    if (!h->how->all_tenants)
        return true;
    return (filter->agent.ptr == NULL ||
            pdr_str_equal(filter->agent, head->agent)) &&
           (!filter->by_state || filter->state == head->state) &&
           begins_with(head->ref.id, filter->id_prefix) &&
           (!has_times(h->how) ||
            (head->changed_ms >= filter->changed_from_ms &&
             head->changed_ms < filter->changed_to_ms));
}

/* --- rows ---------------------------------------------------------------- */

static void add_json(struct heads *h, const pdr_head *head)
{
    pdr_builder *to = ses_object_new();

    cli_member_text(to, "entry", pdr_str_c("session"));
    if (h->how->all_tenants)
        cli_member_text(to, "tenant", head->ref.tenant);
    ses_head_members(to, head, head->slots);
    cli_member_count(to, "properties", head->properties);
    if (h->cli->output == CLI_OUTPUT_JSON)
        fputs(h->count > 0 ? "," : "", stdout);
    ses_object_print(h->cli, stdout, to);
}

/* Does a name stay in its line and column, whoever reads it? Not with a control
 * character, or U+2028 and U+2029, which end lines, too. */
static bool fits_line(pdr_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        unsigned char next =
            i + 1 < name.len ? (unsigned char)name.ptr[i + 1] : 0;
        unsigned char third =
            i + 2 < name.len ? (unsigned char)name.ptr[i + 2] : 0;
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0) ||
            (c == 0xe2 && next == 0x80 && (third == 0xa8 || third == 0xa9)))
            return false;
    }
    return true;
}

/* Half a name would be another session to whoever reads the lines. */
static void add_raw(struct heads *h, const pdr_head *head)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);

    if (!fits_line(head->ref.id) || !fits_line(head->ref.tenant)) {
        h->left_out++;
        cli_show(&name, head->ref.id, CLI_TEXT_LINE);
        cli_fprintf(
            stderr,
            "%swarning:%s session '%.*s' was left out: its name does not fit "
            "into a line; -o jsonl shows it\n",
            cli_on(h->cli->color_err, CLI_YELLOW), cli_off(h->cli->color_err),
            (int)name.len, name.ptr);
        pdr_buf_dispose(&name);
        return;
    }
    if (h->how->all_tenants) {
        cli_print(h->cli, head->ref.tenant);
        fputs("\t", stdout);
    }
    cli_print(h->cli, head->ref.id);
    puts("");
    h->count++;
}

static void add_row(struct heads *h, const pdr_head *head)
{
    if (h->cli->output == CLI_OUTPUT_RAW) {
        add_raw(h, head);
        return;
    }
    if (cli_is_json(h->cli))
        add_json(h, head);
    for (size_t i = 0; !cli_is_json(h->cli) && i < h->grid.count; i++)
        put_column(&h->grid, h->columns[i], head);
    h->count++;
}

static void begin_list(struct heads *h)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX), tenant = PDR_BUF_INIT(SIZE_MAX);

    h->has_begun = true;
    if (h->cli->output != CLI_OUTPUT_JSON)
        return;
    cli_show(&name, pdr_str_c(sto_name(h->from)), CLI_TEXT_JSON);
    cli_show(&tenant, pdr_str_c(sto_tenant(h->from)), CLI_TEXT_JSON);
    printf("{\"store\":\"%.*s\",", (int)name.len, name.ptr);
    if (!h->how->all_tenants)
        printf("\"tenant\":\"%.*s\",", (int)tenant.len, tenant.ptr);
    puts("\"entries\":[");
    pdr_buf_dispose(&name);
    pdr_buf_dispose(&tenant);
}

/* "desk.db", "tenant 'acme' in desk.db": an empty list says whose it is. */
static void end_table(struct heads *h)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    ses_grid_print(&h->grid, h->cli);
    if (h->cli->quiet)
        return;
    if (h->how->all_tenants) {
        cli_put(&name, "all tenants in ");
    } else if (h->from->tenant != NULL || h->count == 0) {
        cli_put(&name, "tenant '");
        cli_show_cut(&name, pdr_str_c(sto_tenant(h->from)), CLI_TEXT_LINE, 60);
        cli_put(&name, "' in ");
    }
    cli_show(&name, pdr_str_c(sto_name(h->from)), CLI_TEXT_LINE);
    printf("%s session%s%s of %.*s\n", cli_number(digits, h->count),
           h->count == 1 ? "" : "s", h->has_more ? " and more" : "",
           (int)name.len, name.ptr);
    if (h->has_more)
        printf("to go on: --after %.*s\n", (int)h->after.len, h->after.ptr);
    pdr_buf_dispose(&name);
}

/* A cursor has no character that JSON would escape. */
static void end_list(struct heads *h)
{
    int len = (int)h->after.len;
    char digits[32];

    if (h->cli->output == CLI_OUTPUT_TABLE)
        end_table(h);
    /* What the list does not show must not be lost without a word: a limit that
     * nobody set, or a cursor that has no other place. */
    if (h->has_more && !cli_is_json(h->cli) &&
        (h->cli->quiet ? h->how->limit == 0 : h->cli->output == CLI_OUTPUT_RAW))
        cli_fprintf(stderr,
                    "perdure: %s session%s and more; to go on: --after %.*s\n",
                    cli_number(digits, h->count), h->count == 1 ? "" : "s", len,
                    h->after.ptr);
    if (h->cli->output == CLI_OUTPUT_JSONL && h->has_more)
        printf("{\"entry\":\"more\",\"next\":\"%.*s\"}\n", len, h->after.ptr);
    if (h->cli->output != CLI_OUTPUT_JSON)
        return;
    printf("],\"sessions\":%ju", (uintmax_t)h->count);
    if (h->has_more)
        printf(",\"next\":\"%.*s\"", len, h->after.ptr);
    puts("}");
}

/* --- all of it ----------------------------------------------------------- */

static pdr_rc list_page(struct heads *h, uint64_t left, pdr_err *err)
{
    pdr_query query = h->query;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    query.limit = left < PAGE_ROWS ? (size_t)left : PAGE_ROWS;
    query.after =
        h->after.len > 0 ? pdr_buf_str(&h->after) : pdr_str_n(NULL, 0);
    if (h->how->all_tenants)
        query.filter = (pdr_filter){.by_state = false}; /* see is_meant() */
    rc = pdr_store_read(&page, h->store, &query, err);
    if (rc != PDR_OK)
        return rc;
    if (!h->has_begun)
        begin_list(h);
    for (size_t i = 0; i < page->count; i++)
        if (is_meant(h, &page->sessions[i]))
            add_row(h, &page->sessions[i]);
    ses_grid_print(&h->grid, h->cli);
    pdr_buf_clear(&h->after);
    h->has_more = page->next.ptr != NULL;
    if (h->has_more)
        cli_must(pdr_buf_append(&h->after, page->next, NULL), NULL);
    pdr_page_free(page);
    return PDR_OK;
}

static int list_all(struct heads *h)
{
    /* Programs read ids, and have no use for some of them. */
    bool is_all = h->how->all || h->cli->output == CLI_OUTPUT_RAW;
    uint64_t limit = h->how->limit > 0 ? h->how->limit
                     : is_all          ? UINT64_MAX
                                       : USUAL_LIMIT;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    CLI_TRY(sto_open(&h->store, h->from, "ro", &err));
    do
        CLI_TRY(list_page(h, limit - h->count, &err));
    while (h->has_more && h->count < limit);
    end_list(h);
done:
    fflush(stdout);
    if (rc != PDR_OK)
        return sto_fail(h->cli, h->from, &err);
    return h->left_out > 0 ? CLI_EXIT_NEGATIVE : 0;
}

int ses_list_store(struct cli *cli, const struct sto_from *s,
                   const struct ses_listing *l)
{
    struct heads h = {.cli = cli,
                      .from = s,
                      .how = l,
                      .match = PDR_BUF_INIT(SIZE_MAX),
                      .after = PDR_BUF_INIT(SIZE_MAX)};
    int status = 0;

    if (l->all && l->limit > 0)
        return doc_usage(cli, "--limit and --all",
                         "only one of them can be given", "");
    if (l->all_tenants && s->tenant != NULL)
        return doc_usage(cli, "--tenant and --all-tenants",
                         "only one of them can be given", "");
    if (l->all_tenants && l->property != NULL)
        return doc_usage(cli, "--property", "is for the sessions of one tenant",
                         "--tenant TENANT says which");
    status = choose_columns(&h);
    h.query.what = l->all_tenants ? PDR_READ_ALL : PDR_READ_SESSIONS;
    if (!l->all_tenants)
        h.query.ref.tenant = pdr_str_c(sto_tenant(s));
    if (status == 0)
        status = set_filter(&h);
    if (status == 0)
        status = list_all(&h);
    pdr_store_close(h.store);
    ses_grid_free(&h.grid);
    pdr_buf_dispose(&h.match);
    pdr_buf_dispose(&h.after);
    return status;
}
