/*
 * perdure session tail - the last entries of a stored session, and what comes.
 *
 * WHY  To look on while an agent works, in this process or another one. The
 *      store tells when something was committed; then the new entries are read,
 *      and nothing else.
 *
 *        print what is there --> wait for a commit --+
 *                 ^                                  |
 *                 +---------- read from `next` <-----+
 *
 * An interrupt is how it ends, so the exit status is 0 then. A reader that goes
 * away ends it, too, also if nothing more comes. The events of durable runs are
 * told by engine_event.c.
 */
#include "engine_parts.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define PAGE_ROWS 100
#define WAIT_MS   200 /* until an interrupt or a closed pipe is noticed */
#define NO_LAST   UINT64_MAX

static volatile sig_atomic_t is_over;

static void on_interrupt(int number)
{
    (void)number;
    is_over = 1;
}

struct tail {
    struct cli *cli;
    struct sto_from from;
    const char *id;
    uint64_t last;
    pdr_store *store;
    pdr_watch *watch;
    pdr_stored *session;
    uint64_t next;  /* entry to print next; 0: none was printed */
    uint64_t epoch; /* of the entries */
    struct ses_entries entries;
};

static void tell_replaced(const struct tail *t, uint64_t epoch)
{
    pdr_builder *to = NULL;

    if (!cli_is_json(t->cli)) {
        if (!t->cli->quiet)
            fprintf(stderr, "perdure: the session was replaced\n");
        return;
    }
    to = ses_object_new();
    cli_member_text(to, "event", pdr_str_c("replaced"));
    cli_member_count(to, "epoch", epoch);
    ses_object_print(t->cli, stdout, to);
}

/* Look at the session as it is now. It may be replaced by another one, or lose
 * its beginning. */
static pdr_rc look_again(struct tail *t, pdr_err *err)
{
    const pdr_stored_opts rows = {.rows_only = true};
    const pdr_ref ref = sto_ref(&t->from, t->id);
    const pdr_head *head = NULL;
    pdr_rc rc = t->session == NULL
                    ? pdr_stored_open(&t->session, t->store, &ref, &rows, err)
                    : pdr_stored_reload(t->session, err);

    if (rc == PDR_ENOTFOUND && t->epoch > 0)
        rc = pdr_err_set(err, rc, "session_gone",
                         "session '%.120s' was deleted", t->id);
    if (rc != PDR_OK)
        return rc;
    head = pdr_stored_head(t->session);
    if (t->epoch == 0) {
        t->next = head->first_seq;
        if (head->next_seq - head->first_seq > t->last)
            t->next = head->next_seq - t->last;
    } else if (head->epoch != t->epoch) {
        ses_entries_flush(&t->entries);
        t->next = head->first_seq;
        tell_replaced(t, head->epoch);
    }
    t->epoch = head->epoch;
    t->entries.epoch = head->epoch;
    if (t->next < head->first_seq)
        t->next = head->first_seq;
    return PDR_OK;
}

/* What came since. What is replaced meanwhile is noticed by the next look: the
 * commit that did it is reported, too. */
static pdr_rc print_new(struct tail *t, pdr_err *err)
{
    pdr_stored_query query = {.limit = PAGE_ROWS};
    size_t count = 1;
    pdr_rc rc = PDR_OK;

    CLI_TRY(look_again(t, err));
    while (t->next < pdr_stored_head(t->session)->next_seq && count > 0 &&
           !is_over) {
        pdr_stored_page *page = NULL;

        query.from = t->next;
        rc = pdr_stored_read(&page, t->session, &query, err);
        if (rc == PDR_ECONFLICT)
            break;
        if (rc != PDR_OK)
            goto done;
        count = page->count;
        for (size_t i = 0; i < count; i++) {
            ses_entries_add(&t->entries, &page->entries[i]);
            t->next = page->entries[i].row->seq + 1;
        }
        pdr_stored_page_free(page);
    }
    rc = PDR_OK;
done:
    ses_entries_flush(&t->entries);
    return rc;
}

/* Would nobody read what comes? */
static bool is_closed(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

static pdr_rc follow_all(struct tail *t, pdr_err *err)
{
    const pdr_ref ref = sto_ref(&t->from, t->id);
    pdr_rc rc = PDR_OK;

    CLI_TRY(sto_open(&t->store, &t->from, "ro", err));
    /* Before the first look, so that nothing is missed. */
    CLI_TRY(pdr_watch_open(&t->watch, t->store, &ref, err));
    CLI_TRY(print_new(t, err));
    while (rc == PDR_OK && !is_over && !is_closed()) {
        rc = pdr_watch_wait(t->watch, WAIT_MS, err);
        if (rc == PDR_OK && !is_over)
            rc = print_new(t, err);
        else if (rc == PDR_ETIMEOUT)
            rc = PDR_OK;
    }
done:
    return rc;
}

/* The entries; exit status. */
static int tail_entries(struct tail t)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    struct cli *cli = t.cli;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (t.last == NO_LAST)
        t.last = 10;
    sigaction(SIGINT, &action, NULL);
    ses_entries_init(&t.entries, cli, stdout);
    t.entries.as_lines = true;
    if (follow_all(&t, &err) != PDR_OK)
        status = sto_fail(cli, &t.from, &err);
    ses_entries_free(&t.entries);
    pdr_watch_close(t.watch);
    pdr_stored_close(t.session);
    pdr_store_close(t.store);
    if (status == 0 && !is_over)
        raise(SIGPIPE); /* as if there had been something to write */
    return status;
}

/* The events of durable runs; exit status. */
static int tail_events(struct tail *t, struct eng_tail *events)
{
    pdr_buf id = PDR_BUF_INIT(SIZE_MAX);
    int status = eng_take_id(&id, t->cli, t->id);

    if (status == 0) {
        events->cli = t->cli;
        events->from = &t->from;
        events->id = id.ptr;
        status = eng_tail(events);
    }
    pdr_buf_dispose(&id);
    return status;
}

static int run_tail(struct cli *cli, int argc, char **argv)
{
    struct tail t = {.cli = cli, .last = NO_LAST};
    struct eng_tail events = {.run = NULL};
    bool is_stream = false;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &t.id, "session of the store"),
        CLI_U64('n', "last", "N", &t.last, 0, UINT32_MAX,
                "first the last N entries (default 10)"),
        CLI_FLAG(0, "stream", &is_stream,
                 "what durable runs say, event by event, not entries"),
        CLI_TEXT(0, "run", "RUN", &events.run,
                 "with --stream: of this run, until it ends"),
        CLI_U64(0, "after", "N", &events.after, 1, INT64_MAX,
                "with --stream: go on after this event"),
        SES_STORE_ROWS(&t.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (!is_stream && (events.run != NULL || events.after > 0))
        return doc_usage(cli, events.run != NULL ? "--run" : "--after",
                         "is for events", "write --stream, too");
    if (is_stream && t.last != NO_LAST)
        return doc_usage(cli, "--last", "is for entries",
                         "--after N goes on after an event");
    status = ses_store_check(cli, &t.from);
    if (status == 0)
        status = is_stream ? tail_events(&t, &events) : tail_entries(t);
    return status;
}

const struct cli_command cli_cmd_session_tail = {
    .name = "session tail",
    .summary = "the last entries of a stored session, and those that come",
    .usage = "[OPTIONS] [--store URI] ID",
    .run = run_tail};
