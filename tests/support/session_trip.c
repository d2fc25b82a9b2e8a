/*
 * session_trip.c - see session_trip.h.
 */
#include "session_trip.h"

#include <stdio.h>
#include <string.h>

#define SHOWN 280

static void show(char out[SHOWN], const pdr_value *value)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);

    out[0] = '\0';
    if (value != NULL && pdr_json_write(&text, value, &opts, NULL) == PDR_OK)
        snprintf(out, SHOWN, "%.*s",
                 text.len >= SHOWN ? SHOWN - 1 : (int)text.len, text.ptr);
    pdr_buf_dispose(&text);
}

static void tell(struct session_trip_report *report, const char *what,
                 const pdr_value *before, const pdr_value *after)
{
    char a[SHOWN], b[SHOWN];

    if (report->text[0] != '\0')
        return;
    show(a, before);
    show(b, after);
    snprintf(report->text, sizeof(report->text), "%s: %s became %s", what, a,
             b);
}

/* Where two documents differ. */
static pdr_rc first_change(const pdr_change *change, pdr_err *err, void *arg)
{
    struct session_trip_report *report = arg;
    char what[200];

    (void)err;
    snprintf(what, sizeof(what), "did not come back at %.*s",
             change->pointer.len > 150 ? 150 : (int)change->pointer.len,
             change->pointer.ptr);
    tell(report, what, change->before, change->after);
    return PDR_ECANCELLED;
}

struct told {
    struct session_trip_report *report;
    const pdr_value *document;
};

static pdr_rc take_finding(const pdr_doc_finding *finding, pdr_err *err,
                           void *arg)
{
    struct told *told = arg;
    struct session_trip_report *report = told->report;
    const pdr_value *found = NULL;
    size_t used = strlen(report->rules);

    (void)err;
    report->findings++;
    report->warnings += finding->severity == PDR_SEVERITY_WARNING;
    snprintf(report->rules + used, sizeof(report->rules) - used, "%s %s %.*s\n",
             pdr_severity_name(finding->severity), finding->rule,
             (int)finding->pointer.len, finding->pointer.ptr);
    if (report->text[0] != '\0')
        return PDR_OK;
    if (finding->severity == PDR_SEVERITY_ERROR)
        snprintf(report->text, sizeof(report->text), "%s is told as an error",
                 finding->rule);
    if (pdr_pointer_get(&found, told->document, finding->pointer, NULL) !=
        PDR_OK)
        snprintf(report->text, sizeof(report->text),
                 "%s is told of %.*s, "
                 "which is not there",
                 finding->rule, (int)finding->pointer.len,
                 finding->pointer.ptr);
    return PDR_OK;
}

static pdr_value *convert(struct session_trip_report *report,
                          session_trip_fn fn, const pdr_value *document,
                          pdr_session_shape to, pdr_str id, bool told)
{
    pdr_session_convert_opts opts = {to, id, {NULL, 0}};
    struct told who = {report, document};
    pdr_session *session = NULL, *made = NULL;
    pdr_value *out = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_session_from_value(&session, document, &err);

    if (rc == PDR_OK)
        rc = fn(&made, session, &opts, &err, told ? take_finding : NULL, &who);
    if (rc == PDR_OK)
        rc = pdr_session_to_value(&out, made, &err);
    if (rc != PDR_OK)
        tell(report, err.message, document, NULL);
    else if (pdr_session_get_shape(made) !=
             (to == PDR_SESSION_PYTHON_OLD ? PDR_SESSION_PYTHON : to))
        tell(report, "got another shape", document, out);
    pdr_session_free(made);
    pdr_session_free(session);
    return out;
}

/* The document as it comes out of a file. */
static pdr_value *through_text(struct session_trip_report *report,
                               const pdr_value *document)
{
    pdr_write_opts write = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_read_opts read = {.flags = PDR_BARE_TOKENS};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *out = NULL;

    if (pdr_json_write(&text, document, &write, NULL) != PDR_OK ||
        pdr_json_read(&out, pdr_buf_str(&text), &read, NULL) != PDR_OK)
        tell(report, "cannot be written and read", document, NULL);
    pdr_buf_dispose(&text);
    return out;
}

static void reset(struct session_trip_report *report)
{
    report->text[0] = report->rules[0] = '\0';
    report->findings = report->warnings = 0;
}

pdr_value *session_trip_to(struct session_trip_report *report,
                           session_trip_fn fn, const pdr_value *document,
                           pdr_session_shape to)
{
    reset(report);
    return convert(report, fn, document, to, pdr_str_n(NULL, 0), true);
}

/* There and back. A session that got its id from a conversion loses it again
 * on the way to .NET; on the way back it gets the same one from us. */
static pdr_value *there_and_back(struct session_trip_report *report,
                                 session_trip_fn fn, const pdr_value *document,
                                 pdr_session_shape to)
{
    pdr_value *there = NULL, *read = NULL, *back = NULL;
    pdr_session *session = NULL;
    pdr_str id = {NULL, 0};

    if (pdr_session_from_value(&session, document, NULL) != PDR_OK) {
        tell(report, "is no session", document, NULL);
        return NULL;
    }
    there = convert(report, fn, document, to, id, true);
    if (there != NULL)
        read = through_text(report, there);
    if (pdr_value_get_c(document, "perdure") != NULL)
        id = pdr_session_id(session);
    if (id.len > 0 && id.ptr[0] == '@')
        id.len = 0;
    if (read != NULL)
        back = convert(report, fn, read, pdr_session_get_shape(session), id,
                       false);
    pdr_value_free(read);
    pdr_value_free(there);
    pdr_session_free(session);
    return back;
}

/* The document without the note for a conversion to `shape`: it is used up on
 * the way there. Owned. */
static pdr_value *without_note(const pdr_value *document,
                               pdr_session_shape shape)
{
    const pdr_value *has = pdr_value_get_c(document, "perdure");
    pdr_str name = pdr_str_c(shape == PDR_SESSION_PYTHON_OLD
                                 ? "python"
                                 : pdr_session_shape_name(shape));
    pdr_value *out = pdr_value_ref(document), *perdure = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_get(has, name) == NULL)
        return out;
    perdure = pdr_value_ref(has);
    rc = pdr_value_remove(&perdure, name, NULL);
    if (rc == PDR_OK && pdr_value_count(perdure) > 0)
        rc = pdr_value_set(&out, pdr_str_c("perdure"), perdure, NULL);
    else if (rc == PDR_OK)
        rc = pdr_value_remove(&out, pdr_str_c("perdure"), NULL);
    pdr_value_free(perdure);
    if (rc == PDR_OK)
        return out;
    pdr_value_free(out);
    return NULL;
}

static void compare(struct session_trip_report *report,
                    const pdr_value *expected, const pdr_value *back,
                    pdr_session_shape to)
{
    pdr_value *want = without_note(expected, to);
    pdr_value *got = pdr_value_equal(want, expected) ? pdr_value_ref(back)
                                                     : without_note(back, to);

    if (!pdr_value_equal(want, got) &&
        pdr_value_diff(want, got, NULL, first_change, report) != PDR_ECANCELLED)
        tell(report, "did not come back", want, got);
    pdr_value_free(got);
    pdr_value_free(want);
}

bool session_trip_check(struct session_trip_report *report, session_trip_fn fn,
                        const pdr_value *document, pdr_session_shape to,
                        const pdr_value *expected)
{
    pdr_value *back = NULL;

    reset(report);
    expected = expected != NULL ? expected : document;
    back = there_and_back(report, fn, document, to);
    if (back != NULL)
        compare(report, expected, back, to);
    pdr_value_free(back);
    return report->text[0] == '\0';
}
