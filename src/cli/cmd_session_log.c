/*
 * perdure session log - the entries of a stored session.
 *
 * WHY  What was said, when, in which turn? The conversation may be long: it is
 *      read a page at a time, and the last entries are found without reading
 *      the others.
 */
#include "session_parts.h"

#define PAGE_ROWS 100

struct log {
    struct cli *cli;
    struct sto_from from;
    const char *id, *turn;
    uint64_t last, first, limit; /* 0: not given */
    pdr_store *store;
    pdr_stored *session;
    struct ses_entries entries;
};

static void begin_object(struct log *l, const pdr_head *head)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX), id = PDR_BUF_INIT(SIZE_MAX);
    pdr_buf tenant = PDR_BUF_INIT(SIZE_MAX);

    if (l->cli->output != CLI_OUTPUT_JSON)
        return;
    cli_show(&name, pdr_str_c(sto_name(&l->from)), CLI_TEXT_JSON);
    cli_show(&tenant, head->ref.tenant, CLI_TEXT_JSON);
    cli_show(&id, head->ref.id, CLI_TEXT_JSON);
    printf("{\"store\":\"%.*s\",\"tenant\":\"%.*s\",\"session\":\"%.*s\","
           "\"revision\":%ju,\"epoch\":%ju,\"entries\":[\n",
           (int)name.len, name.ptr, (int)tenant.len, tenant.ptr, (int)id.len,
           id.ptr, (uintmax_t)head->revision, (uintmax_t)head->epoch);
    pdr_buf_dispose(&name);
    pdr_buf_dispose(&tenant);
    pdr_buf_dispose(&id);
}

/* Entries of the revision that was opened, a page at a time. */
static pdr_rc log_entries(struct log *l, pdr_err *err)
{
    const pdr_head *head = pdr_stored_head(l->session);
    pdr_stored_query query = {.from = l->first};
    pdr_stored_page *page = NULL, *before = NULL;
    pdr_rc rc = PDR_OK;

    if (l->last > 0)
        query.from = head->next_seq - head->first_seq > l->last
                         ? head->next_seq - l->last
                         : head->first_seq;
    if (l->turn != NULL)
        query.correlation_id = pdr_str_c(l->turn);
    do {
        uint64_t left =
            l->limit > 0 ? l->limit - l->entries.count : (uint64_t)PAGE_ROWS;

        query.limit = left < PAGE_ROWS ? (size_t)left : PAGE_ROWS;
        CLI_TRY(pdr_stored_read(&page, l->session, &query, err));
        if (before == NULL)
            begin_object(l, head);
        pdr_stored_page_free(before); /* the cursor was its */
        before = page;
        for (size_t i = 0; i < page->count; i++)
            ses_entries_add(&l->entries, &page->entries[i]);
        query.after = page->next;
    } while (page->next.ptr != NULL && !ferror(l->entries.out) &&
             (l->limit == 0 || l->entries.count < l->limit));
done:
    pdr_stored_page_free(before);
    return rc;
}

static void end_object(struct log *l)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);

    ses_entries_flush(&l->entries);
    if (l->cli->output == CLI_OUTPUT_JSON)
        puts("]}");
    if (l->cli->output == CLI_OUTPUT_TABLE && l->entries.count == 0 &&
        !l->cli->quiet) {
        cli_show_cut(&name, pdr_str_c(l->id), CLI_TEXT_LINE, 60);
        fprintf(l->entries.out, "session '%.*s' has no %sentries\n",
                (int)name.len, name.ptr,
                l->turn != NULL || l->first > 0 ? "such " : "");
    }
    pdr_buf_dispose(&name);
}

static int print_log(struct log *l, bool paged)
{
    const pdr_stored_opts rows = {.rows_only = true};
    const pdr_ref ref = sto_ref(&l->from, l->id);
    struct cli_pager pager;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = sto_open(&l->store, &l->from, "ro", &err);
    int status = 0;

    if (rc == PDR_OK)
        rc = pdr_stored_open(&l->session, l->store, &ref, &rows, &err);
    cli_pager_begin(&pager, l->cli, paged && rc == PDR_OK);
    ses_entries_init(&l->entries, l->cli, pager.out);
    l->entries.as_lines = l->cli->output == CLI_OUTPUT_JSONL;
    if (rc == PDR_OK)
        rc = log_entries(l, &err);
    if (rc == PDR_OK)
        end_object(l);
    else
        ses_entries_flush(&l->entries);
    status = cli_pager_end(&pager, l->cli, 0);
    if (rc != PDR_OK)
        status = sto_fail(l->cli, &l->from, &err);
    ses_entries_free(&l->entries);
    pdr_stored_close(l->session);
    pdr_store_close(l->store);
    return status;
}

static int run_log(struct cli *cli, int argc, char **argv)
{
    struct log l = {.cli = cli};
    bool no_pager = false;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &l.id, "session of the store"),
        CLI_U64('n', "last", "N", &l.last, 1, UINT32_MAX, "the last N entries"),
        CLI_U64(0, "from", "SEQ", &l.first, 1, INT64_MAX,
                "entries from this number on"),
        CLI_TEXT(0, "turn", "ID", &l.turn, "entries with this correlation id"),
        CLI_U64('l', "limit", "N", &l.limit, 1, UINT32_MAX,
                "N entries at most"),
        CLI_FLAG(0, "no-pager", &no_pager, "print it directly"),
        SES_STORE_ROWS(&l.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if ((l.last > 0) + (l.first > 0) + (l.turn != NULL) > 1)
        return doc_usage(cli, "--last, --from and --turn",
                         "only one of them can be given", "");
    status = ses_store_check(cli, &l.from);
    return status == 0 ? print_log(&l, !no_pager) : status;
}

const struct cli_command cli_cmd_session_log = {
    .name = "session log",
    .summary = "the entries of a stored session",
    .usage = "[OPTIONS] [--store URI] ID",
    .run = run_log};
