/*
 * perdure run resume - go on with the durable runs that others left.
 *
 * WHY  After a crash, or an interrupt, runs wait in the store for a process
 *      that has their agent. This is such a process: it works off what is due
 *      and ends when nothing is.
 *
 *      due list ──► the engine here takes it ──► not in the list any more: say
 *                                                how it ended
 *
 * A run whose process died is known by its lease only, so it is waited for
 * until that ends. If the lease was renewed then, somebody is at work on it.
 */
#include "engine_parts.h"

#include <stdlib.h>
#include <time.h>

#define PAGE_ROWS  200
#define MOST_ROWS  10000 /* of the due list in one look */
#define LOOK_MS    50
#define GRACE_MS   1000 /* to renew a lease, or to take it over */
#define TEXT_CELLS 60

/* A run under way. */
struct item {
    char *session, *run; /* owned */
};

struct items {
    struct item *list; /* owned; sorted */
    size_t count;
};

struct resume {
    struct cli *cli;
    struct sto_from from;
    struct agt_made made;
    struct eng eng;
    pdr_buf id;     /* of the session, ended by NUL; empty: all of the agent */
    pdr_buf prefix; /* of the ids of its sessions */
    struct items seen;  /* by the last look */
    int64_t horizon_ms; /* until when leases of others are waited for */
    uint64_t completed, waiting, failed, cancelled;
    unsigned quiet; /* looks in a row that found nothing to do */
    bool is_over;   /* there is nothing to do */
    struct cli_signals signals;
};

/* --- which runs ----------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const struct item *one = a, *other = b;
    int order = strcmp(one->session, other->session);

    return order != 0 ? order : strcmp(one->run, other->run);
}

static char *copy_text(pdr_str text)
{
    char *copy = cli_realloc(NULL, text.len + 1, 1);

    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

static void items_free(struct items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        free(items->list[i].session);
        free(items->list[i].run);
    }
    free(items->list);
    *items = (struct items){.list = NULL};
}

/* Is it a run of this agent, and of the session that was named? */
static bool is_ours(const struct resume *r, const pdr_work *row)
{
    pdr_str id = row->session.id;

    if (!pdr_str_equal(row->session.tenant, pdr_str_c(sto_tenant(&r->from))) ||
        row->correlation_id.ptr == NULL)
        return false;
    if (r->id.len > 0)
        return pdr_str_equal(id, pdr_str_c(r->id.ptr));
    return id.len > r->prefix.len &&
           memcmp(id.ptr, r->prefix.ptr, r->prefix.len) == 0;
}

/* Is nobody at work on the session? */
static bool is_free(const struct resume *r, const pdr_ref *session,
                    int64_t now_ms)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = *session};
    pdr_page *page = NULL;
    bool is_held =
        pdr_store_read(&page, r->eng.store, &query, NULL) != PDR_OK ||
        (page->head.lease.owner.ptr != NULL &&
         page->head.lease.until_ms > now_ms);

    pdr_page_free(page);
    return !is_held;
}

/* Note a row of the due list, and whether there is something to do for it. */
static void note_row(struct resume *r, struct items *now, bool *has_work,
                     const pdr_work *row, int64_t now_ms)
{
    const char *state = eng_work_state(row, now_ms);
    bool is_first = r->horizon_ms == 0;

    if (state == NULL || strcmp(state, "delayed") == 0)
        return;
    if (strcmp(state, "interrupted") == 0 ||
        (strcmp(state, "running") == 0 && is_first))
        *has_work = true;
    else if (!*has_work) /* queued, or tried again soon, and nobody has it? */
        *has_work = is_free(r, &row->session, now_ms);
    now->list = cli_realloc(now->list, now->count + 1, sizeof(*now->list));
    now->list[now->count++] = (struct item){copy_text(row->session.id),
                                            copy_text(row->correlation_id)};
}

/* Look at the due list: what is under way? */
static pdr_rc look(struct resume *r, struct items *now, bool *has_work,
                   int64_t *last_ms, pdr_err *err)
{
    pdr_query query = {
        .what = PDR_READ_DUE, .limit = PAGE_ROWS, .now_ms = PDR_NEVER};
    int64_t now_ms = sto_now_ms();
    pdr_page *page = NULL, *before = NULL;
    pdr_rc rc = PDR_OK;

    do {
        CLI_TRY(pdr_store_read(&page, r->eng.store, &query, err));
        pdr_page_free(before); /* the cursor was its */
        before = page;
        for (size_t i = 0; i < page->count; i++) {
            const pdr_work *row = &page->work[i];

            if (!is_ours(r, row))
                continue;
            note_row(r, now, has_work, row, now_ms);
            if (pdr_str_equal(row->kind, pdr_str_c("guard")))
                *last_ms = row->due_ms;
        }
        query.after = page->next;
    } while (page->next.ptr != NULL && now->count < MOST_ROWS);
    if (now->count > 0)
        qsort(now->list, now->count, sizeof(*now->list), compare_items);
done:
    pdr_page_free(before);
    return rc;
}

/* --- what is told --------------------------------------------------------- */

static void tell_waiting(const struct resume *r, const pdr_ref *session)
{
    pdr_approvals *waiting = NULL;
    pdr_stored *stored = NULL;

    if (pdr_stored_open(&stored, r->eng.store, session, NULL, NULL) == PDR_OK &&
        pdr_approvals_pending(&waiting, NULL, stored, NULL) == PDR_OK)
        agt_tell_approvals(waiting, true);
    pdr_approvals_free(waiting);
    pdr_stored_close(stored);
}

static void print_line(const struct resume *r, const struct item *item,
                       const struct eng_run *run)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX), scratch = line;
    pdr_str text = run->end.state == PDR_OPERATION_COMPLETED
                       ? pdr_buf_str(&run->end.text)
                       : eng_end_text(&run->end, "message", &scratch);

    cli_show(&line, pdr_str_c(item->session), CLI_TEXT_LINE);
    cli_put(&line, " ");
    cli_show(&line, pdr_str_c(item->run), CLI_TEXT_LINE);
    cli_putf(&line, " %s", run->state);
    if (text.len > 0) {
        cli_put(&line, ": ");
        cli_show_cut(&line, text, CLI_TEXT_LINE, TEXT_CELLS);
    }
    printf("%.*s\n", (int)line.len, line.ptr);
    (void)r;
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&line);
}

/* A run is not under way any more: how did it end? */
static pdr_rc tell_end(struct resume *r, const struct item *item, pdr_err *err)
{
    const pdr_ref ref = sto_ref(&r->from, item->session);
    struct eng_run run = ENG_RUN_INIT;
    uint64_t before = r->completed + r->waiting + r->failed + r->cancelled;
    pdr_builder *to = NULL;
    bool waits = false;
    pdr_rc rc = eng_run_read(&run, &r->eng, &ref, pdr_str_c(item->run), err);

    if (rc == PDR_ENOTFOUND) { /* it was deleted */
        rc = PDR_OK;
        goto done;
    }
    if (rc != PDR_OK || run.end.state == PDR_OPERATION_OPEN)
        goto done;
    waits = run.end.state == PDR_OPERATION_COMPLETED &&
            run.page->head.state == PDR_SESSION_WAITING;
    if (waits)
        run.state = "waiting";
    r->waiting += waits;
    r->completed += run.end.state == PDR_OPERATION_COMPLETED && !waits;
    r->failed += run.end.state == PDR_OPERATION_FAILED;
    r->cancelled += run.end.state == PDR_OPERATION_CANCELLED;
    if (cli_is_json(r->cli)) {
        to = ses_object_new();
        cli_member_text(to, "entry", pdr_str_c("run"));
        eng_run_members(to, &ref, pdr_str_c(item->run), &run);
        eng_end_members(to, &run.end);
        if (r->cli->output == CLI_OUTPUT_JSON)
            fputs(before > 0 ? "," : "", stdout);
        ses_object_print(r->cli, stdout, to);
    } else {
        print_line(r, item, &run);
    }
    fflush(stdout);
    if (waits && !cli_is_json(r->cli))
        tell_waiting(r, &ref);
done:
    eng_run_free(&run);
    return rc;
}

/* Tell of those that the last look saw, and this one does not. */
static pdr_rc tell_ended(struct resume *r, const struct items *now,
                         pdr_err *err)
{
    size_t at = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < r->seen.count && rc == PDR_OK; i++) {
        const struct item *item = &r->seen.list[i];

        while (at < now->count && compare_items(&now->list[at], item) < 0)
            at++;
        if (at == now->count || compare_items(&now->list[at], item) != 0)
            rc = tell_end(r, item, err);
    }
    return rc;
}

static void begin_list(const struct resume *r)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX), agent = name;

    if (r->cli->output != CLI_OUTPUT_JSON)
        return;
    cli_show(&name, pdr_str_c(sto_name(&r->from)), CLI_TEXT_JSON);
    cli_show(&agent, pdr_agent_name(r->made.agent), CLI_TEXT_JSON);
    printf("{\"store\":\"%.*s\",\"agent\":\"%.*s\",\"entries\":[\n",
           (int)name.len, name.ptr, (int)agent.len, agent.ptr);
    pdr_buf_dispose(&agent);
    pdr_buf_dispose(&name);
}

static void end_list(const struct resume *r)
{
    const struct {
        const char *word;
        uint64_t count;
    } parts[] = {{"completed", r->completed},
                 {"waiting", r->waiting},
                 {"failed", r->failed},
                 {"cancelled", r->cancelled}};
    uint64_t sum = r->completed + r->waiting + r->failed + r->cancelled;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    if (r->cli->output == CLI_OUTPUT_JSON) {
        printf("]");
        for (size_t i = 0; i < CLI_COUNT(parts); i++)
            printf(",\"%s\":%ju", parts[i].word, (uintmax_t)parts[i].count);
        printf(",\"left\":%zu}\n", r->seen.count);
    }
    if (r->cli->quiet || r->cli->output != CLI_OUTPUT_TABLE)
        return;
    cli_putf(&line, "%s run%s ended", cli_number(digits, sum),
             sum == 1 ? "" : "s");
    for (size_t i = 0, n = 0; i < CLI_COUNT(parts); i++)
        if (parts[i].count > 0)
            cli_putf(&line, "%s %s %s", n++ > 0 ? "," : ":",
                     cli_number(digits, parts[i].count), parts[i].word);
    if (r->seen.count > 0 && r->is_over)
        cli_putf(&line, "; %s at work elsewhere",
                 cli_number(digits, r->seen.count));
    else if (r->seen.count > 0)
        cli_putf(&line, "; %s not", cli_number(digits, r->seen.count));
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

/* --- all of it ------------------------------------------------------------ */

/* Nothing to do: the look that `on_signal` waits for is never far. */
static void on_signal(void *arg)
{
    (void)arg;
}

/* One look, and what it says. */
static pdr_rc step(struct resume *r, pdr_err *err)
{
    struct items now = {.list = NULL};
    pdr_engine_counts counts;
    int64_t last_ms = 0, now_ms = sto_now_ms();
    bool has_work = false;
    pdr_rc rc = PDR_OK;

    pdr_engine_counts_get(&counts, r->eng.engine);
    CLI_TRY(look(r, &now, &has_work, &last_ms, err));
    if (r->horizon_ms == 0) {
        r->horizon_ms = last_ms > now_ms ? last_ms + GRACE_MS : now_ms;
        if (last_ms > now_ms + LOOK_MS && !r->cli->quiet &&
            !cli_is_json(r->cli))
            fprintf(stderr,
                    "perdure: a process is at work on a run, or died; its "
                    "lease tells in %jd s\n",
                    (intmax_t)(last_ms - now_ms + 999) / 1000);
    }
    CLI_TRY(tell_ended(r, &now, err));
    items_free(&r->seen);
    r->seen = now;
    now = (struct items){.list = NULL};
    if (!has_work && counts.at_work == 0 && counts.queued == 0 &&
        (now_ms >= r->horizon_ms || r->seen.count == 0))
        r->quiet++; /* a claim between the two would look like this once */
    else
        r->quiet = 0;
    r->is_over = r->quiet > 1;
done:
    items_free(&now);
    return rc;
}

static pdr_rc work_off(struct resume *r, pdr_err *err)
{
    const struct timespec nap = {.tv_nsec = LOOK_MS * 1000000L};
    pdr_rc rc = PDR_OK;

    CLI_TRY(eng_open(&r->eng, err));
    begin_list(r);
    CLI_TRY(step(r, err)); /* so that nothing ends before it was seen */
    CLI_TRY(pdr_engine_start(r->eng.engine, err));
    while (!r->is_over && cli_signals_number(&r->signals) == 0) {
        nanosleep(&nap, NULL);
        CLI_TRY(pdr_engine_check(r->eng.engine, err));
        CLI_TRY(step(r, err));
    }
    if (!r->is_over && !cli_is_json(r->cli))
        fprintf(stderr, "perdure: interrupted; runs are handed back when "
                        "their tools that are at work have ended\n");
    CLI_TRY(pdr_engine_stop(r->eng.engine, PDR_STOP_HAND_BACK, 0, err));
    if (!r->is_over)
        CLI_TRY(step(r, err));
    end_list(r);
done:
    return rc;
}

/* Take the arguments; exit status. */
static int take_arguments(struct resume *r, const char *id)
{
    pdr_err err = PDR_ERR_INIT;
    int status = ses_store_check(r->cli, &r->from);
    const struct cli_about about = {.name = "--agent"};

    if (status == 0)
        status = agt_make(&r->made, r->cli);
    if (status != 0)
        return status;
    if (pdr_durable_id_write(&r->prefix, pdr_agent_name(r->made.agent),
                             pdr_str_c("k"), &err) != PDR_OK)
        return cli_fail(r->cli, &about, &err);
    r->prefix.len--; /* the key */
    if (id == NULL)
        return 0;
    status = eng_take_id(&r->id, r->cli, id);
    if (status == 0 && strncmp(r->id.ptr, r->prefix.ptr, r->prefix.len) != 0)
        status = doc_usage(r->cli, "ID", "is a session of another agent",
                           "--agent NAME=... names the agent of the session");
    return status;
}

static int run_resume(struct cli *cli, int argc, char **argv)
{
    struct resume r = {.cli = cli,
                       .id = PDR_BUF_INIT(SIZE_MAX),
                       .prefix = PDR_BUF_INIT(SIZE_MAX)};
    const char *id = NULL;
    uint64_t lease = 0;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_MAY("ID", &id, "session whose runs go on; else all of the agent"),
        AGT_ROWS(&r.made),
        ENG_LEASE_ROW(&lease),
        SES_STORE_ROWS(&r.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = take_arguments(&r, id);
    if (status == 0) {
        r.eng = (struct eng){.cli = cli,
                             .from = &r.from,
                             .mode = "rw",
                             .agent = r.made.agent,
                             .only = r.id.len > 0 ? r.id.ptr : NULL,
                             .lease = lease};
        cli_signals_begin(&r.signals, on_signal, NULL);
        if (work_off(&r, &err) != PDR_OK)
            status = eng_fail(cli, &r.from, r.id.ptr, NULL, &err);
        else if (!r.is_over)
            status = CLI_EXIT_SIGNAL + cli_signals_number(&r.signals);
        else if (r.failed > 0)
            status = CLI_EXIT_NEGATIVE;
        fflush(stdout);
        pdr_engine_free(r.eng.engine); /* a second signal still ends it */
        r.eng.engine = NULL;
        cli_signals_end(&r.signals);
        eng_close(&r.eng);
    }
    items_free(&r.seen);
    pdr_buf_dispose(&r.prefix);
    pdr_buf_dispose(&r.id);
    agt_made_free(&r.made);
    return status;
}

const struct cli_command cli_cmd_run_resume = {
    .name = "run resume",
    .summary = "go on with the durable runs that other processes left",
    .usage = "[OPTIONS] --agent SPEC [--store URI] [ID]",
    .run = run_resume};
