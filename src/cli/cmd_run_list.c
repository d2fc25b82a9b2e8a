/*
 * perdure run list - durable runs that have not ended; of a session all.
 *
 * WHY  A run may wait in a queue, be at work in another process, have lost its
 *      worker, or wait for a person. The due list of the store has the first
 *      three, the list of waiting sessions the last. Each is read page by page,
 *      and a row costs one look at its run.
 */
#include "engine_parts.h"

#include <stdlib.h>

#define PAGE_ROWS   200
#define USUAL_LIMIT 50

static const struct ses_column columns[] = {{"SESSION", false, 12},
                                            {"RUN", false, 0},
                                            {"STATE", false, 0},
                                            {"SINCE", true, 0},
                                            {"OWNER", false, 8}};

struct listing {
    struct cli *cli;
    struct sto_from from;
    struct eng eng;
    pdr_buf id; /* of the session, ended by NUL; empty: all */
    uint64_t limit, count;
    bool has_more;
    struct ses_grid grid;
};

/* --- rows ----------------------------------------------------------------- */

/* "12s", "5m", "3h", "2d": how long ago. */
static void put_age(pdr_buf *out, int64_t ms)
{
    int64_t s = (sto_now_ms() - ms) / 1000;

    if (ms == PDR_NO_TIME)
        return;
    if (s < 0)
        s = 0;
    if (s < 100)
        cli_putf(out, "%jds", (intmax_t)s);
    else if (s < 6000)
        cli_putf(out, "%jdm", (intmax_t)s / 60);
    else if (s < 172800)
        cli_putf(out, "%jdh", (intmax_t)s / 3600);
    else
        cli_putf(out, "%jdd", (intmax_t)s / 86400);
}

/* One row; false: there are as many as may be. */
static bool add_row(struct listing *l, const pdr_ref *session, pdr_str id,
                    const struct eng_run *run)
{
    pdr_buf age = PDR_BUF_INIT(SIZE_MAX);
    pdr_builder *to = NULL;

    if (l->count == l->limit) {
        l->has_more = true;
        return false;
    }
    if (l->cli->output == CLI_OUTPUT_RAW) {
        if (l->id.len == 0) {
            cli_print(l->cli, session->id);
            fputs("\t", stdout);
        }
        cli_print(l->cli, id);
        puts("");
    } else if (cli_is_json(l->cli)) {
        to = ses_object_new();
        cli_member_text(to, "entry", pdr_str_c("run"));
        eng_run_members(to, session, id, run);
        if (run->end.state != PDR_OPERATION_OPEN)
            eng_end_members(to, &run->end);
        if (l->cli->output == CLI_OUTPUT_JSON)
            fputs(l->count > 0 ? "," : "", stdout);
        ses_object_print(l->cli, stdout, to);
    } else {
        put_age(&age, run->page->completions[0].at_ms);
        ses_grid_put(&l->grid, l->id.len == 0 ? session->id : pdr_str_c(""));
        ses_grid_put(&l->grid, id);
        ses_grid_put(&l->grid, pdr_str_c(run->state));
        ses_grid_put(&l->grid, pdr_buf_str(&age));
        ses_grid_put(&l->grid, eng_run_owner(run));
    }
    l->count++;
    pdr_buf_dispose(&age);
    return true;
}

/* The run of a row of the store. One that ended just now is left out. */
static pdr_rc add_open(struct listing *l, const pdr_ref *session, pdr_str id,
                       const char *state, pdr_err *err)
{
    struct eng_run run = ENG_RUN_INIT;
    pdr_rc rc = eng_run_read(&run, &l->eng, session, id, err);

    if (rc == PDR_ENOTFOUND) {
        rc = PDR_OK; /* it was deleted meanwhile */
    } else if (rc == PDR_OK && state != NULL) {
        run.state = state; /* it ended, and asks for a word */
        (void)add_row(l, session, id, &run);
    } else if (rc == PDR_OK && run.end.state == PDR_OPERATION_OPEN) {
        (void)add_row(l, session, id, &run);
    }
    eng_run_free(&run);
    return rc;
}

/* --- of all sessions ------------------------------------------------------ */

static pdr_rc list_due(struct listing *l, pdr_err *err)
{
    pdr_query query = {
        .what = PDR_READ_DUE, .limit = PAGE_ROWS, .now_ms = PDR_NEVER};
    pdr_str tenant = pdr_str_c(sto_tenant(&l->from));
    pdr_page *page = NULL, *before = NULL;
    pdr_rc rc = PDR_OK;

    do {
        CLI_TRY(pdr_store_read(&page, l->eng.store, &query, err));
        pdr_page_free(before); /* the cursor was its */
        before = page;
        for (size_t i = 0; i < page->count && !l->has_more; i++) {
            const pdr_work *row = &page->work[i];

            if (pdr_str_equal(row->session.tenant, tenant) &&
                row->correlation_id.ptr != NULL &&
                eng_work_state(row, 0) != NULL)
                CLI_TRY(
                    add_open(l, &row->session, row->correlation_id, NULL, err));
        }
        query.after = page->next;
    } while (page->next.ptr != NULL && !l->has_more);
done:
    pdr_page_free(before);
    return rc;
}

/* The run that a waiting session waits with: that of its last entry. */
static pdr_rc add_waiting(struct listing *l, const pdr_ref *session,
                          pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_ENTRIES,
                             .ref = *session,
                             .backwards = true,
                             .limit = 1};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, l->eng.store, &query, err);

    if (rc == PDR_OK && page->count > 0 &&
        page->entries[0].correlation_id.ptr != NULL)
        rc = add_open(l, session, page->entries[0].correlation_id, "waiting",
                      err);
    pdr_page_free(page);
    return rc == PDR_ENOTFOUND ? PDR_OK : rc;
}

static pdr_rc list_waiting(struct listing *l, pdr_err *err)
{
    pdr_query query = {
        .what = PDR_READ_SESSIONS,
        .ref = {.tenant = pdr_str_c(sto_tenant(&l->from))},
        .limit = PAGE_ROWS,
        .filter = {.by_state = true, .state = PDR_SESSION_WAITING}};
    pdr_page *page = NULL, *before = NULL;
    pdr_rc rc = PDR_OK;

    do {
        CLI_TRY(pdr_store_read(&page, l->eng.store, &query, err));
        pdr_page_free(before);
        before = page;
        for (size_t i = 0; i < page->count && !l->has_more; i++)
            CLI_TRY(add_waiting(l, &page->sessions[i].ref, err));
        query.after = page->next;
    } while (page->next.ptr != NULL && !l->has_more);
done:
    pdr_page_free(before);
    return rc;
}

/* --- of one session ------------------------------------------------------- */

/* The order of a session's runs is that of their ids: so they are sorted. */
struct known {
    pdr_str id; /* of its page */
    int64_t at_ms;
};

static int compare_known(const void *a, const void *b)
{
    const struct known *one = a, *other = b;

    return (one->at_ms < other->at_ms) - (one->at_ms > other->at_ms);
}

static pdr_rc list_session(struct listing *l, pdr_err *err)
{
    const pdr_ref ref = sto_ref(&l->from, l->id.ptr);
    pdr_query query = {
        .what = PDR_READ_COMPLETIONS, .ref = ref, .limit = PAGE_ROWS};
    struct known *known = NULL;
    size_t count = 0, pages = 0;
    pdr_page **page = NULL;
    bool waits = false;
    pdr_rc rc = PDR_OK;

    do {
        page = cli_realloc(page, pages + 1, sizeof(*page));
        CLI_TRY(pdr_store_read(&page[pages], l->eng.store, &query, err));
        known = cli_realloc(known, count + page[pages]->count, sizeof(*known));
        for (size_t i = 0; i < page[pages]->count; i++)
            known[count++] =
                (struct known){page[pages]->completions[i].correlation_id,
                               page[pages]->completions[i].at_ms};
        query.after = page[pages]->next;
        waits = page[pages]->head.state == PDR_SESSION_WAITING;
        pages++;
    } while (query.after.ptr != NULL);
    if (count > 0)
        qsort(known, count, sizeof(*known), compare_known);
    for (size_t i = 0; i < count && !l->has_more; i++) {
        struct eng_run run = ENG_RUN_INIT;

        rc = eng_run_read(&run, &l->eng, &ref, known[i].id, err);
        if (rc == PDR_OK && waits && i == 0 &&
            run.end.state == PDR_OPERATION_COMPLETED)
            run.state = "waiting";
        if (rc == PDR_OK)
            (void)add_row(l, &ref, known[i].id, &run);
        eng_run_free(&run);
        if (rc != PDR_OK)
            goto done;
    }
done:
    while (pages > 0)
        pdr_page_free(page[--pages]);
    free(page);
    free(known);
    return rc;
}

/* --- all of it ------------------------------------------------------------ */

static void begin_list(const struct listing *l)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX), tenant = name;

    if (l->cli->output != CLI_OUTPUT_JSON)
        return;
    cli_show(&name, pdr_str_c(sto_name(&l->from)), CLI_TEXT_JSON);
    cli_show(&tenant, pdr_str_c(sto_tenant(&l->from)), CLI_TEXT_JSON);
    printf("{\"store\":\"%.*s\",\"tenant\":\"%.*s\",\"entries\":[\n",
           (int)name.len, name.ptr, (int)tenant.len, tenant.ptr);
    pdr_buf_dispose(&tenant);
    pdr_buf_dispose(&name);
}

static void end_list(struct listing *l)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    ses_grid_print(&l->grid, l->cli);
    if (l->cli->output == CLI_OUTPUT_JSON)
        printf("],\"runs\":%ju%s}\n", (uintmax_t)l->count,
               l->has_more ? ",\"more\":true" : "");
    if (l->cli->output == CLI_OUTPUT_JSONL && l->has_more)
        puts("{\"entry\":\"more\"}");
    cli_show(&name, pdr_str_c(l->id.len > 0 ? l->id.ptr : sto_name(&l->from)),
             CLI_TEXT_LINE);
    if (l->cli->output == CLI_OUTPUT_TABLE && !l->cli->quiet)
        printf("%s%s run%s of %.*s%s%s\n", l->has_more ? "the first " : "",
               cli_number(digits, l->count), l->count == 1 ? "" : "s",
               (int)name.len, name.ptr,
               l->id.len > 0 || l->count > 0 ? "" : " that have not ended",
               l->has_more ? "; --limit shows more" : "");
    pdr_buf_dispose(&name);
}

static int run_list(struct cli *cli, int argc, char **argv)
{
    struct listing l = {.cli = cli, .id = PDR_BUF_INIT(SIZE_MAX)};
    const char *id = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_MAY("ID", &id, "session, also with its runs that have ended"),
        CLI_U64('l', "limit", "N", &l.limit, 1, UINT32_MAX,
                "runs to show (default 50)"),
        SES_STORE_ROWS(&l.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = ses_store_check(cli, &l.from);
    if (status == 0 && id != NULL)
        status = eng_take_id(&l.id, cli, id);
    if (status != 0)
        return status;
    if (l.limit == 0)
        l.limit = USUAL_LIMIT;
    l.eng = (struct eng){.cli = cli, .from = &l.from, .mode = "ro"};
    ses_grid_init(&l.grid, columns, CLI_COUNT(columns));
    CLI_TRY(eng_open(&l.eng, &err));
    begin_list(&l);
    if (id != NULL) {
        CLI_TRY(list_session(&l, &err));
    } else {
        CLI_TRY(list_due(&l, &err));
        CLI_TRY(list_waiting(&l, &err));
    }
    end_list(&l);
done:
    fflush(stdout);
    if (rc != PDR_OK)
        status = eng_fail(cli, &l.from, l.id.ptr, NULL, &err);
    ses_grid_free(&l.grid);
    eng_close(&l.eng);
    pdr_buf_dispose(&l.id);
    return status;
}

const struct cli_command cli_cmd_run_list = {
    .name = "run list",
    .summary = "durable runs that have not ended, or all of a session",
    .usage = "[OPTIONS] [--store URI] [ID]",
    .run = run_list};
