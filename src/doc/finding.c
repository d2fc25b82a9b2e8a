/*
 * finding.c - telling what is strange about a document, and where.
 *
 * WHY  Checks, migrations and repairs walk over documents and speak of places
 *      in them. The pointer grows and shrinks with the walk, so that a place
 *      costs nothing until there is something to tell.
 *
 * Pushing a name cannot fail for its caller: what went wrong is kept and comes
 * out with a finding at that name or below it, and is no loss if there is none.
 * Once the walk has left the name, all is well again.
 */
#include <stdio.h>

#include "doc.h"

const char *pdr_severity_name(pdr_severity severity)
{
    switch (severity) {
    case PDR_SEVERITY_INFO:
        return "info";
    case PDR_SEVERITY_WARNING:
        return "warning";
    case PDR_SEVERITY_ERROR:
        return "error";
    }
    return "?";
}

const char *pdr__kind_phrase(const pdr_value *value)
{
    switch (pdr_value_kind(value)) {
    case PDR_NULL:
        return "null";
    case PDR_BOOL:
        return "a boolean";
    case PDR_NUMBER:
        return "a number";
    case PDR_STRING:
        return "a string";
    case PDR_ARRAY:
        return "an array";
    case PDR_OBJECT:
        break;
    }
    return "an object";
}

/* Marks below a name that is not in the pointer: no pointer is so long. */
#define MARK_LOST (SIZE_MAX / 2)

size_t pdr__finder_name(struct finder *finder, pdr_str name)
{
    size_t mark = finder->pointer.len;

    if (finder->lost > 0)
        return MARK_LOST + finder->lost++;
    finder->failed = pdr_pointer_push(&finder->pointer, name, NULL);
    if (finder->failed != PDR_OK)
        finder->lost = 1;
    return mark;
}

size_t pdr__finder_index(struct finder *finder, size_t index)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%zu", index);

    return pdr__finder_name(finder, pdr_str_n(digits, (size_t)len));
}

void pdr__finder_up(struct finder *finder, size_t mark)
{
    if (mark >= MARK_LOST) {
        finder->lost = mark - MARK_LOST;
        return;
    }
    finder->lost = 0;
    if (mark < finder->pointer.len)
        finder->pointer.len = mark;
}

/* There is something to tell of a place that cannot be named. */
static pdr_rc tell_lost(const struct finder *finder, pdr_err *err)
{
    if (finder->failed == PDR_ENOMEM)
        return pdr__nomem(err);
    return PDR_FAIL(err, BUFFER_FULL,
                    "there is a finding at a place whose pointer would have "
                    "more than %u bytes; shorten the names that lead to it",
                    PDR_MAX_POINTER_BYTES);
}

pdr_rc pdr__finder_tell(struct finder *finder, const char *rule,
                        pdr_severity severity, pdr_err *err, const char *fmt,
                        ...)
{
    pdr_doc_finding finding = {rule, severity, {NULL, 0}, {NULL, 0}};
    va_list args;
    char text[512]; /* longer than any text of ours; cut if not */
    int len = 0;

    if (severity == PDR_SEVERITY_ERROR)
        finder->errors++;
    if (finder->fn == NULL)
        return PDR_OK;
    if (finder->lost > 0)
        return tell_lost(finder, err);
    va_start(args, fmt);
    len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (len < 0)
        return PDR_FAIL(err, BAD_FORMAT, "%s", "no text for a finding");
    finding.pointer = pdr_buf_str(&finder->pointer);
    finding.text = pdr_str_c(text);
    return finder->fn(&finding, err, finder->arg);
}

void pdr__finder_dispose(struct finder *finder)
{
    pdr_buf_dispose(&finder->pointer);
}
