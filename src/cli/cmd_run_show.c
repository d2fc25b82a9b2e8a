/*
 * perdure run show - one durable run: how far it has come, or how it ended.
 *
 * WHY  A run that takes long, or that lost its worker, has a journal: what the
 *      model answered, which tools were called and what they gave. Whoever goes
 *      on with it begins after the last step; this shows where that is.
 */
#include "engine_parts.h"

#include <stdlib.h>

#define PAGE_ROWS  100
#define TEXT_CELLS 160

static const struct ses_column columns[] = {
    {"STEP", true, 0}, {"KIND", false, 0}, {"WHAT", false, 20}};

struct show {
    struct cli *cli;
    struct sto_from from;
    struct eng eng;
    pdr_buf id; /* of the session, ended by NUL */
    const char *run_id;
    struct eng_run run;
    pdr_page **pages; /* owned; of the journal */
    size_t page_count;
    uint64_t attempts; /* so far */
    pdr_buf names;     /* of the tools that were called, each ended by NUL */
};

/* --- the journal ---------------------------------------------------------- */

/* Read it, if it is of this run: a session has one at a time. */
static pdr_rc read_journal(struct show *s, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_JOURNAL,
                       .ref = sto_ref(&s->from, s->id.ptr),
                       .limit = PAGE_ROWS};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    for (;;) {
        CLI_TRY(pdr_store_read(&page, s->eng.store, &query, err));
        if (page->count == 0 || !pdr_str_equal(page->work[0].correlation_id,
                                               pdr_str_c(s->run_id))) {
            pdr_page_free(page);
            break;
        }
        s->pages = cli_realloc(s->pages, s->page_count + 1, sizeof(page));
        s->pages[s->page_count++] = page;
        s->attempts += s->page_count == 1;
        for (size_t i = 0; i < page->count; i++)
            s->attempts +=
                pdr_str_equal(page->work[i].kind, pdr_str_c("attempt"));
        query.from = page->work[page->count - 1].n + 1;
    }
done:
    return rc;
}

/* The name of a call, by its number. */
static const char *call_name(const struct show *s, uint64_t number)
{
    const char *name = s->names.ptr;

    for (size_t at = 0; at < s->names.len;
         at += strlen(s->names.ptr + at) + 1) {
        name = s->names.ptr + at;
        if (number-- == 0)
            return name;
    }
    return "call";
}

static const pdr_value *member_of(const pdr_value *body, const char *name)
{
    return body != NULL && pdr_value_kind(body) == PDR_OBJECT
               ? pdr_value_get_c(body, name)
               : NULL;
}

/* What the model said, and which calls it made. */
static void put_answer(pdr_buf *out, struct show *s, const pdr_value *message)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX), arguments = scratch;
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_STATE));
    while (pdr_iter_next(&it)) {
        struct doc_content c = doc_content_of(it.value);

        cli_put(out, out->len > 0 ? " " : "");
        if (c.part == DOC_PART_TEXT && c.kind != PDR_CONTENT_REASONING) {
            cli_show_cut(out, doc_text(doc_field(&c, PDR_FIELD_TEXT), &scratch),
                         CLI_TEXT_LINE, TEXT_CELLS);
        } else if (c.part == DOC_PART_CALL) {
            pdr_str name = doc_text(doc_field(&c, PDR_FIELD_NAME), &scratch);

            agt_put_call(out, name, doc_arguments(&c, &arguments));
            cli_putf(&s->names, "%.*s", (int)name.len, name.ptr);
            cli_must(pdr_buf_append(&s->names, pdr_str_n("", 1), NULL), NULL);
        }
    }
    pdr_buf_dispose(&arguments);
    pdr_buf_dispose(&scratch);
}

/* What a step did, in a line. */
static void put_step(pdr_buf *out, struct show *s, const pdr_work *row,
                     const pdr_value *body)
{
    const pdr_value *call = member_of(body, "call");
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    struct doc_content result;
    uint64_t number = 0;
    bool failed = false;
    pdr_iter it;

    if (pdr_str_equal(row->kind, pdr_str_c("answer"))) {
        pdr_iter_init(&it, member_of(body, "messages"));
        while (member_of(body, "messages") != NULL && pdr_iter_next(&it))
            put_answer(out, s, it.value);
    } else if (pdr_str_equal(row->kind, pdr_str_c("attempt"))) {
        cli_put(out, member_of(body, "handed_back") != NULL
                         ? "the worker before handed it back"
                         : "the worker before was gone");
    } else if (pdr_str_equal(row->kind, pdr_str_c("operation"))) {
        cli_put(out, "the run began");
    } else if (pdr_str_equal(row->kind, pdr_str_c("context"))) {
        cli_put(out, "instructions, tools and history that the model gets");
    } else if (pdr_str_equal(row->kind, pdr_str_c("bag"))) {
        cli_put(out, "values of the bag");
    } else if (call != NULL &&
               pdr_value_uint64(&number, call, NULL) == PDR_OK) {
        cli_put(out, call_name(s, number));
        if (member_of(body, "result") != NULL) {
            result = doc_content_of(member_of(body, "result"));
            (void)!pdr_value_bool(&failed, member_of(body, "failed"), NULL);
            cli_put(out, failed ? " failed: " : " = ");
            cli_show_cut(out, doc_result(&result, &scratch), CLI_TEXT_LINE,
                         TEXT_CELLS);
        }
    }
    pdr_buf_dispose(&scratch);
}

static pdr_rc print_steps(struct show *s, pdr_builder *to, pdr_err *err)
{
    struct ses_grid grid;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *body = NULL;
    uint64_t step = 0;
    pdr_rc rc = PDR_OK;

    ses_grid_init(&grid, columns, CLI_COUNT(columns));
    for (size_t p = 0; p < s->page_count; p++) {
        for (size_t i = 0; i < s->pages[p]->count; i++) {
            const pdr_work *row = &s->pages[p]->work[i];

            CLI_TRY(ses_store_value(&body, row->body, err));
            if (to != NULL) {
                pdr_builder_object(to);
                cli_member_count(to, "n", row->n);
                cli_member_text(to, "kind", row->kind);
                pdr_builder_name(to, pdr_str_c("body"));
                pdr_builder_value(to, body);
                pdr_builder_end(to);
            } else {
                pdr_buf_clear(&text);
                put_step(&text, s, row, body);
                ses_grid_putf(&grid, "%ju", (uintmax_t)++step);
                ses_grid_put(&grid, row->kind);
                ses_grid_put(&grid, pdr_buf_str(&text));
            }
            pdr_value_free(body);
            body = NULL;
        }
    }
    ses_grid_print(&grid, s->cli);
done:
    pdr_value_free(body);
    pdr_buf_dispose(&text);
    ses_grid_free(&grid);
    return rc;
}

/* --- all of it ------------------------------------------------------------ */

static pdr_rc print_object(struct show *s, pdr_err *err)
{
    const pdr_ref ref = sto_ref(&s->from, s->id.ptr);
    pdr_builder *to = ses_object_new();
    pdr_rc rc = PDR_OK;

    cli_member_text(to, "store", pdr_str_c(sto_name(&s->from)));
    eng_run_members(to, &ref, pdr_str_c(s->run_id), &s->run);
    if (s->run.end.state != PDR_OPERATION_OPEN)
        eng_end_members(to, &s->run.end);
    if (s->page_count > 0) {
        cli_member_count(to, "attempts", s->attempts);
        pdr_builder_name(to, pdr_str_c("steps"));
        pdr_builder_array(to);
        rc = print_steps(s, to, err);
        pdr_builder_end(to);
    }
    if (rc == PDR_OK)
        ses_object_print(s->cli, stdout, to);
    else
        pdr_builder_free(to);
    return rc;
}

static void print_label(const struct show *s, const char *label, pdr_str text)
{
    if (text.len > 0)
        ses_label(stdout, s->cli, s->cli->tty_out ? s->cli->width : 0, label,
                  text);
}

static void print_facts(const struct show *s)
{
    const struct eng_run *run = &s->run;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    char time[40], until[40];
    pdr_str owner = eng_run_owner(run);

    print_label(s, "session", pdr_str_c(s->id.ptr));
    print_label(s, "run", pdr_str_c(s->run_id));
    cli_put(&text, run->state);
    if (s->attempts > 1)
        cli_putf(&text, ", attempt %ju", (uintmax_t)s->attempts);
    print_label(s, "state", pdr_buf_str(&text));
    print_label(s, "since",
                pdr_str_c(sto_time(time, run->page->completions[0].at_ms)));
    if (strcmp(run->state, "delayed") == 0)
        print_label(s, "due", pdr_str_c(sto_time(time, run->due_ms)));
    if (owner.ptr != NULL) {
        pdr_buf_clear(&text);
        cli_show(&text, owner, CLI_TEXT_LINE);
        cli_putf(&text, ", lease until %s",
                 sto_time(until, run->page->head.lease.until_ms));
        print_label(s, "worker", pdr_buf_str(&text));
    }
    pdr_buf_clear(&text);
    print_label(s, "code", eng_end_text(&run->end, "code", &text));
    print_label(s, "message", eng_end_text(&run->end, "message", &text));
    if (run->end.is_gone)
        print_label(s, "answer", pdr_str_c("removed since"));
    pdr_buf_dispose(&text);
}

static pdr_rc print_run(struct show *s, pdr_err *err)
{
    const pdr_ref ref = sto_ref(&s->from, s->id.ptr);
    pdr_rc rc = PDR_OK;

    CLI_TRY(eng_open(&s->eng, err));
    CLI_TRY(eng_run_read(&s->run, &s->eng, &ref, pdr_str_c(s->run_id), err));
    CLI_TRY(read_journal(s, err));
    if (cli_is_json(s->cli))
        return print_object(s, err);
    print_facts(s);
    if (s->page_count > 0) {
        puts("");
        CLI_TRY(print_steps(s, NULL, err));
    }
    if (s->run.end.text.len > 0 &&
        s->run.end.state == PDR_OPERATION_COMPLETED) {
        puts("");
        cli_print(s->cli, pdr_buf_str(&s->run.end.text));
        puts("");
    }
done:
    return rc;
}

static int run_show(struct cli *cli, int argc, char **argv)
{
    struct show s = {.cli = cli,
                     .id = PDR_BUF_INIT(SIZE_MAX),
                     .names = PDR_BUF_INIT(SIZE_MAX),
                     .run = ENG_RUN_INIT};
    const char *id = NULL;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &id, "session of the store"),
        CLI_ARG("RUN", &s.run_id, "correlation id of the run"),
        SES_STORE_ROWS(&s.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    s.eng = (struct eng){.cli = cli, .from = &s.from, .mode = "ro"};
    status = ses_store_check(cli, &s.from);
    if (status == 0)
        status = eng_take_id(&s.id, cli, id);
    if (status == 0 && print_run(&s, &err) != PDR_OK)
        status = eng_fail(cli, &s.from, s.id.ptr, s.run_id, &err);
    while (s.page_count > 0)
        pdr_page_free(s.pages[--s.page_count]);
    free(s.pages);
    eng_run_free(&s.run);
    eng_close(&s.eng);
    pdr_buf_dispose(&s.names);
    pdr_buf_dispose(&s.id);
    return status;
}

const struct cli_command cli_cmd_run_show = {
    .name = "run show",
    .summary = "one durable run: how far it has come, or how it ended",
    .usage = "[OPTIONS] [--store URI] ID RUN",
    .run = run_show};
