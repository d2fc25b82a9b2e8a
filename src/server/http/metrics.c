/*
 * metrics.c - figures for whoever watches the server: how many requests of
 * which route ended how, and what the engine and the store say of themselves.
 * They are of the process, and so of all tenants: route.c says who may see
 * them. No label has anything that a caller sent; docs/formats/http.md lists
 * them all.
 *
 * Two formats, by Accept: the text format 0.0.4 of Prometheus, and OpenMetrics
 * 1.0, which names a counter without its "_total" and has an end.
 */
#include <inttypes.h>

#include "http.h"

/* Upper bounds of times, in milliseconds; the last one is all. */
static const struct {
    int64_t ms;
    const char *seconds;
} bounds[] = {{1, "0.001"}, {5, "0.005"},  {25, "0.025"},  {100, "0.1"},
              {500, "0.5"}, {2500, "2.5"}, {10000, "10.0"}};

#define BOUNDS PDR_COUNT(bounds)

/* A HEAD is not a GET here, and a request may have another method. */
#define METHOD_HEAD  PDR_VERB_COUNT
#define METHOD_OTHER (PDR_VERB_COUNT + 1)
#define METHODS      (PDR_VERB_COUNT + 2)

static const char *const methods[METHODS] = {"GET",    "POST", "PUT",  "PATCH",
                                             "DELETE", "HEAD", "other"};

struct route_figures {
    /* By status; the last: it got no reply of ours. */
    atomic_ullong ended[METHODS][PDR_STATUSES + 1];
    atomic_ullong within[BOUNDS]; /* not summed up */
    atomic_ullong total_ms;
};

struct pdr__metrics {
    atomic_llong streams;
    atomic_ullong dropped;
    struct route_figures routes[]; /* the last one: no route */
};

pdr_rc pdr__metrics_new(struct pdr__metrics **out, pdr_err *err)
{
    *out = pdr__calloc(1, sizeof(**out) + (pdr__route_count() + 1) *
                                              sizeof((*out)->routes[0]));
    return *out != NULL ? PDR_OK : pdr__nomem(err);
}

void pdr__metrics_free(struct pdr__metrics *metrics)
{
    pdr__free(metrics);
}

void pdr__metrics_stream(struct pdr__metrics *metrics, int change)
{
    atomic_fetch_add(&metrics->streams, change);
}

void pdr__metrics_dropped(struct pdr__metrics *metrics)
{
    atomic_fetch_add(&metrics->dropped, 1);
}

void pdr__metrics_note(struct pdr__metrics *metrics,
                       const struct pdr__exchange *x, int64_t took_ms)
{
    size_t row = x->route != NULL ? (size_t)(x->route - pdr__route_at(0))
                                  : pdr__route_count();
    struct route_figures *f = &metrics->routes[row];
    const unsigned method = !x->has_verb ? METHOD_OTHER
                            : x->is_head ? METHOD_HEAD
                                         : (unsigned)x->verb;
    const size_t status = x->reply.status != 0
                              ? pdr__status_index(x->reply.status)
                              : PDR_STATUSES;

    atomic_fetch_add(&f->ended[method][status], 1);
    atomic_fetch_add(&f->total_ms, (unsigned long long)took_ms);
    for (size_t i = 0; i < BOUNDS; i++) {
        if (took_ms <= bounds[i].ms) {
            atomic_fetch_add(&f->within[i], 1);
            break;
        }
    }
}

/* --- writing ---------------------------------------------------------------
 */

struct page {
    pdr_buf *out;
    bool is_open; /* OpenMetrics */
};

static pdr_rc head_write(struct page *page, const char *name, const char *help,
                         const char *kind, pdr_err *err)
{
    const size_t len = strlen(name), end = sizeof("_total") - 1;
    const bool is_cut =
        page->is_open && len > end && strcmp(name + len - end, "_total") == 0;
    const int shown = (int)(is_cut ? len - end : len);

    return pdr_buf_printf(page->out, err, "# HELP %.*s %s\n# TYPE %.*s %s\n",
                          shown, name, help, shown, name, kind);
}

/* One figure without labels. */
static pdr_rc figure_write(struct page *page, const char *name,
                           const char *help, const char *kind, uint64_t value,
                           pdr_err *err)
{
    pdr_rc rc = head_write(page, name, help, kind, err);

    if (rc == PDR_OK)
        rc = pdr_buf_printf(page->out, err, "%s %" PRIu64 "\n", name, value);
    return rc;
}

/* The value of a label, with what ends it escaped. */
static pdr_rc label_write(pdr_buf *out, pdr_str text, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < text.len; i++) {
        const char c = text.ptr[i];

        if (c == '\n')
            rc = pdr_buf_append(out, PDR_LIT("\\n"), err);
        else
            rc = pdr_buf_printf(out, err, "%s%c",
                                c == '"' || c == '\\' ? "\\" : "", c);
    }
    return rc;
}

static const char *route_name(size_t row)
{
    return row < pdr__route_count() ? pdr__route_at(row)->name : "none";
}

static pdr_rc requests_write(struct page *page, const struct pdr__metrics *m,
                             pdr_err *err)
{
    static const char name[] = "perdure_http_requests_total";
    pdr_rc rc = PDR_OK;

    PDR_TRY(head_write(page, name, "Requests that ended.", "counter", err));
    for (size_t i = 0; i < (pdr__route_count() + 1) * METHODS; i++) {
        const size_t row = i / METHODS, method = i % METHODS;
        const atomic_ullong *ended = m->routes[row].ended[method];

        for (size_t status = 0; status <= PDR_STATUSES; status++) {
            unsigned long long n = atomic_load(&ended[status]);

            if (n > 0)
                PDR_TRY(pdr_buf_printf(
                    page->out, err,
                    "%s{route=\"%s\",method=\"%s\",code=\"%u\"} %llu\n", name,
                    route_name(row), methods[method], pdr__status_at(status),
                    n));
        }
    }
done:
    return rc;
}

static unsigned long long requests_of(const struct route_figures *f)
{
    unsigned long long all = 0;

    for (size_t method = 0; method < METHODS; method++) {
        for (size_t status = 0; status <= PDR_STATUSES; status++)
            all += atomic_load(&f->ended[method][status]);
    }
    return all;
}

static pdr_rc times_write(struct page *page, const struct pdr__metrics *m,
                          pdr_err *err)
{
    static const char name[] = "perdure_http_request_duration_seconds";
    pdr_rc rc = PDR_OK;

    PDR_TRY(head_write(
        page, name, "From the first line of a request to the end of its reply.",
        "histogram", err));
    for (size_t row = 0; row <= pdr__route_count(); row++) {
        const struct route_figures *f = &m->routes[row];
        const unsigned long long all = requests_of(f);
        const unsigned long long ms = atomic_load(&f->total_ms);
        unsigned long long sum = 0;

        if (all == 0)
            continue;
        for (size_t i = 0; i < BOUNDS; i++) {
            sum += atomic_load(&f->within[i]);
            PDR_TRY(pdr_buf_printf(page->out, err,
                                   "%s_bucket{route=\"%s\",le=\"%s\"} %llu\n",
                                   name, route_name(row), bounds[i].seconds,
                                   sum < all ? sum : all));
        }
        PDR_TRY(pdr_buf_printf(
            page->out, err,
            "%s_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
            "%s_sum{route=\"%s\"} %llu.%03llu\n%s_count{route=\"%s\"} %llu\n",
            name, route_name(row), all, name, route_name(row), ms / 1000,
            ms % 1000, name, route_name(row), all));
    }
done:
    return rc;
}

/* Runs of an agent; without a name, of those that are not here. */
static pdr_rc endings_write(struct page *page, pdr_engine *engine,
                            const pdr_agent *agent, pdr_err *err)
{
    static const char *const states[] = {"completed", "failed", "cancelled"};
    const pdr_str name = agent != NULL ? pdr_agent_name(agent) : PDR_LIT("");
    pdr_buf entity = PDR_BUF_INIT(PDR_MAX_ID_BYTES + 1);
    struct pdr__endings endings;
    pdr_rc rc = PDR_OK;

    if (agent != NULL)
        PDR_TRY(pdr__entity_write(&entity, agent, err));
    pdr__endings_get(&endings, engine, pdr_buf_str(&entity));
    for (size_t i = 0; i < PDR_COUNT(states); i++) {
        PDR_TRY(pdr_buf_append(page->out,
                               PDR_LIT("perdure_runs_total{agent=\""), err));
        PDR_TRY(label_write(page->out, name, err));
        PDR_TRY(pdr_buf_printf(page->out, err,
                               "\",status=\"%s\"} %" PRIu64 "\n", states[i],
                               endings.by_state[i]));
    }
done:
    pdr_buf_dispose(&entity);
    return rc;
}

static pdr_rc runs_write(struct page *page, const pdr_service *service,
                         pdr_err *err)
{
    pdr_engine *engine = pdr_service_engine(service);
    pdr_rc rc = PDR_OK;

    PDR_TRY(head_write(page, "perdure_runs_total", "Runs that ended here.",
                       "counter", err));
    for (size_t i = 0; i < pdr_service_count(service); i++)
        PDR_TRY(endings_write(page, engine,
                              pdr_service_at(service, i)->durable.agent, err));
    PDR_TRY(endings_write(page, engine, NULL, err));
done:
    return rc;
}

static pdr_rc engine_write(struct page *page, const pdr_service *service,
                           pdr_err *err)
{
    pdr_engine_counts c;
    pdr_store_info info;
    pdr_rc rc = PDR_OK;

    pdr_engine_counts_get(&c, pdr_service_engine(service));
    PDR_TRY(pdr_store_info_get(&info, pdr_service_store(service), err));
    const struct {
        const char *name, *help, *kind;
        uint64_t value;
    } rows[] = {
        {"perdure_runs_in_progress", "Runs at work here.", "gauge", c.at_work},
        {"perdure_run_queue_depth", "Sessions with work for a worker.", "gauge",
         c.queued},
        {"perdure_run_recoveries_total", "Runs that were begun elsewhere.",
         "counter", c.taken_over},
        {"perdure_run_retries_total", "Runs that are tried again.", "counter",
         c.retried},
        {"perdure_operations_sent_total", "Operations that were stored.",
         "counter", c.sent},
        {"perdure_sessions_expired_total", "Sessions that expired here.",
         "counter", c.expired},
        {"perdure_storage_bytes", "Bytes of the file of the store.", "gauge",
         info.file_bytes},
        {"perdure_store_commits_total", "Commits by this process.", "counter",
         info.commits},
    };
    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        PDR_TRY(figure_write(page, rows[i].name, rows[i].help, rows[i].kind,
                             rows[i].value, err));
done:
    return rc;
}

pdr_rc pdr__handle_metrics(struct pdr__exchange *x, pdr_err *err)
{
    const struct pdr__metrics *m = x->server->metrics;
    struct page page = {.out = &x->reply.body,
                        .is_open =
                            pdr__accepts(x, "application/openmetrics-text")};
    pdr_rc rc = PDR_OK;

    PDR_TRY(requests_write(&page, m, err));
    PDR_TRY(times_write(&page, m, err));
    PDR_TRY(figure_write(&page, "perdure_sse_subscribers",
                         "Streams that are open.", "gauge",
                         (uint64_t)atomic_load(&m->streams), err));
    PDR_TRY(figure_write(&page, "perdure_sse_dropped_total",
                         "Streams that the server broke off.", "counter",
                         atomic_load(&m->dropped), err));
    PDR_TRY(runs_write(&page, x->server->service, err));
    PDR_TRY(engine_write(&page, x->server->service, err));
    PDR_TRY(
        head_write(&page, "perdure_build_info", "What this is.", "gauge", err));
    PDR_TRY(pdr_buf_printf(page.out, err,
                           "perdure_build_info{version=\"%s\"} 1\n%s",
                           pdr_version(), page.is_open ? "# EOF\n" : ""));
    pdr__reply_begin(x, 200,
                     page.is_open ? "application/openmetrics-text; "
                                    "version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8");
done:
    return rc;
}

/* --- overview --------------------------------------------------------------
 */

static void put_sessions(struct pdr__json *j, const pdr_store_counts *counts)
{
    uint64_t total = 0;

    pdr__json_begin(j, "sessions", '{');
    for (int state = 0; state < PDR_SESSION_STATES; state++) {
        pdr__json_number(j, pdr__state_word((pdr_session_state)state),
                         counts->by_state[state]);
        total += counts->by_state[state];
    }
    pdr__json_number(j, "total", total);
    pdr__json_end(j, '}');
}

static void put_figures(struct pdr__json *j, const struct pdr__figures *f)
{
    pdr__json_begin(j, "runs", '{');
    pdr__json_number(j, "now", f->at_work);
    pdr__json_number(j, "queued", f->queued);
    pdr__json_number(j, "completed", f->completed);
    pdr__json_number(j, "failed", f->failed);
    pdr__json_number(j, "cancelled", f->cancelled);
    pdr__json_number(j, "recovered", f->taken_over);
    pdr__json_end(j, '}');
    pdr__json_begin(j, "tokens", '{');
    pdr__json_number(j, "input", f->input_tokens);
    pdr__json_number(j, "output", f->output_tokens);
    pdr__json_number(j, "total", f->total_tokens);
    pdr__json_end(j, '}');
}

/* What whoever asks may do: "admin" is all of it. */
static void put_scopes(struct pdr__json *j, const struct pdr__exchange *x)
{
    const bool has_all =
        x->server->auth == NULL || (x->scopes & PDR_SCOPE_ADMIN) != 0;

    pdr__json_begin(j, "scopes", '[');
    for (unsigned scope = PDR_SCOPE_READ; scope <= PDR_SCOPE_ADMIN; scope *= 2)
        if (has_all || (x->scopes & scope) != 0)
            pdr__json_text(j, NULL, pdr_str_c(pdr_scope_name(scope)));
    pdr__json_end(j, ']');
}

pdr_rc pdr__api_overview(struct pdr__exchange *x, pdr_err *err)
{
    pdr_service *service = x->server->service;
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    struct pdr__figures figures;
    pdr_store_counts counts;
    pdr_store_info info;
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        pdr_store_count(&counts, pdr_service_store(service), x->tenant, err));
    PDR_TRY(pdr_store_info_get(&info, pdr_service_store(service), err));
    pdr__figures_get(&figures, pdr_service_engine(service), x->tenant);
    pdr__json_begin(&j, NULL, '{');
    pdr__json_time(&j, "since", x->server->begun_ms);
    put_sessions(&j, &counts);
    put_figures(&j, &figures);
    pdr__json_begin(&j, "storage", '{');
    pdr__json_number(&j, "bytes", info.file_bytes);
    pdr__json_number(&j, "free", info.free_bytes);
    pdr__json_number(&j, "log", info.log_bytes);
    pdr__json_number(&j, "unseen", info.unseen);
    pdr__json_text(&j, "backend", pdr_str_c(info.backend));
    pdr__json_number(&j, "schema", info.schema);
    pdr__json_bool(&j, "keyed", info.keyed);
    pdr__json_end(&j, '}');
    pdr__json_bool(&j, "keys", x->server->auth != NULL);
    put_scopes(&j, x);
    pdr__json_text(&j, "tenant", x->tenant);
    pdr__json_text(&j, "version", pdr_str_c(pdr_version()));
    pdr__json_end(&j, '}');
    rc = pdr__json_send(&j, x, 200);
done:
    return rc;
}

/* --- probes ----------------------------------------------------------------
 */

pdr_rc pdr__handle_healthz(struct pdr__exchange *x, pdr_err *err)
{
    (void)err;
    pdr__reply_text(x, 200, PDR_TYPE_TEXT, PDR_LIT("ok\n"));
    return PDR_OK;
}

pdr_rc pdr__handle_readyz(struct pdr__exchange *x, pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;

    (void)err;
    if (atomic_load(&x->server->is_stopping)) {
        pdr__reply_refuse(x, 503, "the server is about to stop");
    } else if (pdr_engine_check(pdr_service_engine(x->server->service), &why) !=
               PDR_OK) {
        pdr__reply_refuse(x, 503, why.message);
    } else {
        pdr__reply_text(x, 200, PDR_TYPE_TEXT, PDR_LIT("ok\n"));
    }
    return PDR_OK;
}
