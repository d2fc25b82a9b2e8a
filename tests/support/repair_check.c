/* repair_check.c - see repair_check.h. */
#include "repair_check.h"

static char complaint[1024];

pdr_rc repair_note(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    struct repair_report *report = arg;
    struct repair_told *told = &report->told[report->count];
    size_t len = finding->pointer.len;

    (void)err;
    ASSERT(report->count < REPAIR_TOLD);
    ASSERT(finding->text.len > 0 && finding->severity == PDR_SEVERITY_INFO);
    told->rule = finding->rule;
    told->is_seen = false;
    told->pointer = malloc(len + 1);
    ASSERT(told->pointer != NULL);
    memcpy(told->pointer, finding->pointer.ptr, len);
    told->pointer[len] = '\0';
    report->count++;
    return PDR_OK;
}

void repair_report_clear(struct repair_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free(report->told[i].pointer);
    report->count = 0;
}

static bool is_added(const struct repair_told *told)
{
    size_t len = strlen(told->rule);

    return len > 6 && strcmp(told->rule + len - 6, "-added") == 0;
}

static bool is_removed(const struct repair_told *told)
{
    return strcmp(told->rule, "null-removed") == 0 ||
           strcmp(told->rule, "result-moved") == 0 ||
           strcmp(told->rule, "result-removed") == 0;
}

/* Put the document after back to where only changes in place are left. */
static bool undo(pdr_value **io, struct repair_report *report)
{
    pdr_value *null = pdr_value_new_null();

    for (size_t i = report->count; i-- > 0;) {
        struct repair_told *told = &report->told[i];

        if (!is_added(told))
            continue;
        told->is_seen = true;
        if (pdr_pointer_remove(io, pdr_str_c(told->pointer), NULL) != PDR_OK) {
            (void)snprintf(complaint, sizeof(complaint), "not there: %s",
                           told->pointer);
            return false;
        }
    }
    for (size_t i = 0; i < report->count; i++) {
        struct repair_told *told = &report->told[i];

        if (is_removed(told) && pdr_pointer_insert(io, pdr_str_c(told->pointer),
                                                   null, NULL) != PDR_OK) {
            (void)snprintf(complaint, sizeof(complaint), "no place for: %s",
                           told->pointer);
            return false;
        }
    }
    return true;
}

/* Something differs at this place. Was it told? */
static bool is_told(const char *pointer, struct repair_report *report)
{
    bool told = false;

    for (size_t i = 0; i < report->count; i++) {
        size_t len = strlen(report->told[i].pointer);

        if (is_added(&report->told[i]) ||
            strncmp(pointer, report->told[i].pointer, len) != 0 ||
            (pointer[len] != '\0' && pointer[len] != '/'))
            continue;
        report->told[i].is_seen = told = true;
    }
    if (!told)
        (void)snprintf(complaint, sizeof(complaint), "untold: %s", pointer);
    return told;
}

static bool same(const pdr_value *a, const pdr_value *b, pdr_buf *pointer,
                 struct repair_report *report);

static bool differs(pdr_buf *pointer, struct repair_report *report)
{
    ASSERT_RC(PDR_OK, pdr_buf_append(pointer, pdr_str_n("", 1), NULL));
    pointer->len--;
    return is_told(pointer->ptr, report);
}

static bool same_children(const pdr_value *a, const pdr_value *b,
                          pdr_buf *pointer, struct repair_report *report)
{
    pdr_buf scratch = PDR_BUF_INIT(UINT32_MAX);
    size_t mark = pointer->len;
    pdr_iter x, y;
    bool good = true;

    pdr_iter_init(&x, a);
    pdr_iter_init(&y, b);
    while (good && pdr_iter_next(&x) && pdr_iter_next(&y)) {
        pdr_str name = {NULL, 0};

        if (x.name != NULL && !pdr_value_equal(x.name, y.name)) {
            good = differs(pointer, report);
            break;
        }
        if (x.name == NULL)
            ASSERT_RC(PDR_OK, pdr_buf_printf(pointer, NULL, "/%zu", x.index));
        else if (pdr_value_text(&name, x.name, &scratch, NULL) == PDR_OK)
            ASSERT_RC(PDR_OK, pdr_pointer_push(pointer, name, NULL));
        good = same(x.value, y.value, pointer, report);
        pointer->len = mark;
    }
    pdr_buf_dispose(&scratch);
    return good;
}

static bool same(const pdr_value *a, const pdr_value *b, pdr_buf *pointer,
                 struct repair_report *report)
{
    pdr_str x = {NULL, 0}, y = {NULL, 0};

    if (pdr_value_kind(a) != pdr_value_kind(b) ||
        pdr_value_count(a) != pdr_value_count(b))
        return differs(pointer, report);
    if (pdr_value_kind(a) >= PDR_ARRAY)
        return same_children(a, b, pointer, report);
    ASSERT(pdr_value_raw(&x, a) && pdr_value_raw(&y, b));
    return pdr_str_equal(x, y) || differs(pointer, report);
}

const char *repair_untold(const pdr_value *before, const pdr_value *after,
                          struct repair_report *report)
{
    pdr_value *undone = pdr_value_ref(after);
    pdr_buf pointer = PDR_BUF_INIT(UINT32_MAX);
    bool good = undo(&undone, report) && same(before, undone, &pointer, report);

    for (size_t i = 0; good && i < report->count; i++) {
        good = report->told[i].is_seen || is_removed(&report->told[i]);
        if (!good)
            (void)snprintf(complaint, sizeof(complaint), "told, but same: %s",
                           report->told[i].pointer);
    }
    pdr_buf_dispose(&pointer);
    pdr_value_free(undone);
    return good ? NULL : complaint;
}
