/*
 * metrics.c - figures for whoever watches the server: how many requests of
 * which route ended how, and what the engine and the store say of themselves.
 * No label has anything that a caller sent.
 */
#include <inttypes.h>

#include "http.h"

/* Upper bounds of times, in milliseconds; the last one is all. */
static const int64_t bounds[] = {1, 5, 25, 100, 500, 2500, 10000};

#define BOUNDS PDR_COUNT(bounds)

struct route_figures {
    atomic_ullong ended[PDR_STATUS_CLASSES]; /* by the first digit */
    atomic_ullong within[BOUNDS];            /* not summed up */
    atomic_ullong total_ms;
};

struct pdr__metrics {
    atomic_llong streams;
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

void pdr__metrics_note(struct pdr__metrics *metrics,
                       const struct pdr__exchange *x, int64_t took_ms)
{
    size_t row = x->route != NULL ? (size_t)(x->route - pdr__route_at(0))
                                  : pdr__route_count();
    struct route_figures *f = &metrics->routes[row];
    unsigned digit = x->reply.status / 100;

    atomic_fetch_add(&f->ended[digit < PDR_STATUS_CLASSES ? digit : 0], 1);
    atomic_fetch_add(&f->total_ms, (unsigned long long)took_ms);
    for (size_t i = 0; i < BOUNDS; i++) {
        if (took_ms <= bounds[i]) {
            atomic_fetch_add(&f->within[i], 1);
            break;
        }
    }
}

static const char *route_name(size_t row)
{
    return row < pdr__route_count() ? pdr__route_at(row)->name : "none";
}

static pdr_rc requests_write(pdr_buf *out, const struct pdr__metrics *m,
                             pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(
        out,
        PDR_LIT("# HELP perdure_http_requests_total Requests that ended.\n"
                "# TYPE perdure_http_requests_total counter\n"),
        err));
    for (size_t row = 0; row <= pdr__route_count(); row++) {
        for (unsigned digit = 0; digit < PDR_STATUS_CLASSES; digit++) {
            unsigned long long n = atomic_load(&m->routes[row].ended[digit]);

            if (n > 0)
                PDR_TRY(pdr_buf_printf(out, err,
                                       "perdure_http_requests_total{route=\""
                                       "%s\",code=\"%uxx\"} %llu\n",
                                       route_name(row), digit, n));
        }
    }
done:
    return rc;
}

static pdr_rc times_write(pdr_buf *out, const struct pdr__metrics *m,
                          pdr_err *err)
{
    static const char name[] = "perdure_http_request_duration_seconds";
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(out, err,
                           "# HELP %s From the first line of a request to the "
                           "end of its reply.\n# TYPE %s histogram\n",
                           name, name));
    for (size_t row = 0; row <= pdr__route_count(); row++) {
        const struct route_figures *f = &m->routes[row];
        unsigned long long sum = 0, all = 0;

        for (unsigned digit = 0; digit < PDR_STATUS_CLASSES; digit++)
            all += atomic_load(&f->ended[digit]);
        if (all == 0)
            continue;
        for (size_t i = 0; i < BOUNDS; i++) {
            sum += atomic_load(&f->within[i]);
            PDR_TRY(pdr_buf_printf(
                out, err, "%s_bucket{route=\"%s\",le=\"%g\"} %llu\n", name,
                route_name(row), (double)bounds[i] / 1000, sum));
        }
        PDR_TRY(pdr_buf_printf(
            out, err,
            "%s_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
            "%s_sum{route=\"%s\"} %g\n%s_count{route=\"%s\"} %llu\n",
            name, route_name(row), all, name, route_name(row),
            (double)atomic_load(&f->total_ms) / 1000, name, route_name(row),
            all));
    }
done:
    return rc;
}

/* One figure without labels. */
static pdr_rc figure_write(pdr_buf *out, const char *name, const char *help,
                           const char *kind, uint64_t value, pdr_err *err)
{
    return pdr_buf_printf(out, err,
                          "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name,
                          help, name, kind, name, value);
}

static pdr_rc engine_write(pdr_buf *out, const pdr_service *service,
                           pdr_err *err)
{
    pdr_engine_counts c;
    pdr_store_info info;
    pdr_rc rc = PDR_OK;

    pdr_engine_counts_get(&c, pdr_service_engine(service));
    const struct {
        const char *name, *help, *kind;
        uint64_t value;
    } rows[] = {
        {"perdure_runs_in_progress", "Runs at work here.", "gauge", c.at_work},
        {"perdure_run_queue_depth", "Sessions with work for a worker.", "gauge",
         c.queued},
        {"perdure_operations_sent_total", "Operations that were stored.",
         "counter", c.sent},
        {"perdure_runs_completed_total", "Operations that ended well here.",
         "counter", c.completed},
        {"perdure_runs_failed_total", "Operations that ended with an error.",
         "counter", c.failed},
        {"perdure_runs_cancelled_total", "Operations that were cancelled.",
         "counter", c.cancelled},
        {"perdure_run_recoveries_total", "Runs that were begun elsewhere.",
         "counter", c.taken_over},
        {"perdure_runs_retried_total", "Runs that are tried again.", "counter",
         c.retried},
        {"perdure_sessions_expired_total", "Sessions that expired here.",
         "counter", c.expired},
    };
    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        PDR_TRY(figure_write(out, rows[i].name, rows[i].help, rows[i].kind,
                             rows[i].value, err));
    PDR_TRY(pdr_store_info_get(&info, pdr_service_store(service), err));
    PDR_TRY(figure_write(out, "perdure_storage_bytes",
                         "Bytes of the file of the store.", "gauge",
                         info.file_bytes, err));
    PDR_TRY(figure_write(out, "perdure_store_commits_total",
                         "Commits by this process.", "counter", info.commits,
                         err));
done:
    return rc;
}

pdr_rc pdr__handle_metrics(struct pdr__exchange *x, pdr_err *err)
{
    const struct pdr__metrics *m = x->server->metrics;
    pdr_buf *out = &x->reply.body;
    pdr_rc rc = PDR_OK;

    PDR_TRY(requests_write(out, m, err));
    PDR_TRY(times_write(out, m, err));
    PDR_TRY(figure_write(out, "perdure_sse_subscribers",
                         "Streams that are open.", "gauge",
                         (uint64_t)atomic_load(&m->streams), err));
    PDR_TRY(engine_write(out, x->server->service, err));
    PDR_TRY(pdr_buf_printf(out, err,
                           "# HELP perdure_build_info What this is.\n"
                           "# TYPE perdure_build_info gauge\n"
                           "perdure_build_info{version=\"%s\"} 1\n",
                           pdr_version()));
    pdr__reply_begin(x, 200, "text/plain; version=0.0.4; charset=utf-8");
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
