/*
 * xml.c - the XML parser: expat, its failures and its weak spots.
 *
 * WHY  expat knows XML and refuses what is not well-formed. What XML may have
 *      and we do not is refused here: DTDs where they begin, so that no entity
 *      is ever declared and none is expanded, and processing instructions.
 *      Elements and text go to xml_rules.c, which knows what they mean.
 *
 *        bytes ─► expat ─► on_start, on_text, on_end ─► xml_rules.c
 *
 * INVARIANTS
 *   E1  After the first failure no handler does anything.
 *   E2  A document is refused for the same reason, at the same place, however
 *       it is cut into pieces.
 */
#include <expat.h>

#include "xml_core.h"

/* Bytes that expat is given at once: its lengths are of type int. */
#define MAX_PIECE ((size_t)1 << 30)

/* Bytes that may be tried again for each piece: more than expat ever keeps of a
 * text, and so few that it costs nothing. */
#define SHORT_TOKEN 64

/* --- failures ------------------------------------------------------------ */

/* Byte of the stream where the token at hand begins. */
static int64_t here(const struct xml_parser *x)
{
    return x->base + (int64_t)XML_GetCurrentByteIndex(x->expat);
}

void pdr__xml_refuse_at(struct xml_parser *x, size_t ahead)
{
    size_t line = XML_GetCurrentLineNumber(x->expat);
    size_t column = XML_GetCurrentColumnNumber(x->expat) + ahead + 1;

    if (x->rc != PDR_ENOMEM) {
        if (line == 1)
            column += x->column;
        (void)pdr__wrap(&x->err, x->rc, "line %zu, column %zu",
                        x->line + line - 1, column);
        x->err.offset = here(x) + (int64_t)(x->wide ? 2 * ahead : ahead);
        pdr__xml_put_path(x);
    }
    (void)XML_StopParser(x->expat, XML_FALSE);
}

/* The input ends too early. */
static void refuse_end(struct xml_parser *x, enum XML_Error code)
{
    if (!x->seen && code == XML_ERROR_NO_ELEMENTS)
        x->rc = PDR_FAIL(&x->err, EMPTY_INPUT, "the document is empty");
    else
        x->rc = PDR_FAIL(&x->err, UNEXPECTED_END,
                         "the document ends before it is complete");
    x->err.offset = x->base + (int64_t)x->fed;
    pdr__xml_put_path(x);
}

void pdr__xml_refuse(struct xml_parser *x)
{
    enum XML_Error code = XML_GetErrorCode(x->expat);

    if (x->rc != PDR_OK)
        return; /* because a handler did */
    if (x->done && (code == XML_ERROR_JUNK_AFTER_DOC_ELEMENT ||
                    code == XML_ERROR_INVALID_TOKEN)) {
        /* Which one depends on how much expat has seen. */
        XML_FAIL(x, TRAILING_DATA, "there is more behind the document");
        x->err.offset = x->tail;
        return;
    }
    switch ((int)code) {
    case XML_ERROR_NO_MEMORY:
        x->rc = pdr__nomem(&x->err);
        break;
    case XML_ERROR_NO_ELEMENTS:
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_PARTIAL_CHAR:
    case XML_ERROR_UNCLOSED_CDATA_SECTION:
        refuse_end(x, code);
        break;
    case XML_ERROR_UNDEFINED_ENTITY:
        XML_FAIL(x, XML_FORBIDDEN,
                 "an entity beyond &amp; &lt; &gt; &quot; and &apos;");
        break;
    default:
        XML_FAIL(x, BAD_XML, "no XML: %s", XML_ErrorString(code));
        break;
    }
}

/* The beginning of each handler: is there anything to do? */
static bool enter(struct xml_parser *x)
{
    if (x->rc != PDR_OK)
        return false;
    x->moved = true;
    if (x->builder != NULL)
        return true; /* the document has a limit */
    if ((size_t)XML_GetCurrentByteCount(x->expat) <= x->max_tag)
        return true;
    XML_FAIL(x, TOO_LARGE, "a tag or comment of more than %zu bytes",
             x->max_tag);
    return false;
}

/* --- what a document has beside elements --------------------------------- */

static void on_other(void *data, const XML_Char *text, int len)
{
    struct xml_parser *x = data;

    (void)text;
    (void)len;
    if (enter(x))
        x->tail = here(x) + XML_GetCurrentByteCount(x->expat);
}

static void on_comment(void *data, const XML_Char *text)
{
    struct xml_parser *x = data;

    x->seen = true;
    on_other(data, text, 0);
}

/* The beginning or the end of a CDATA section. */
static void on_section(void *data)
{
    struct xml_parser *x = data;

    (void)enter(x);
}

static void on_declaration(void *data, const XML_Char *version,
                           const XML_Char *encoding, int standalone)
{
    struct xml_parser *x = data;

    (void)version;
    (void)encoding;
    (void)standalone;
    if (enter(x))
        x->seen = x->begun = true;
}

static void on_doctype(void *data, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int has_subset)
{
    struct xml_parser *x = data;

    (void)name;
    (void)system;
    (void)public;
    (void)has_subset;
    if (enter(x))
        XML_FAIL(x, XML_FORBIDDEN, "a document type declaration (DTD)");
}

static void on_instruction(void *data, const XML_Char *target,
                           const XML_Char *text)
{
    struct xml_parser *x = data;

    (void)target;
    (void)text;
    if (enter(x))
        XML_FAIL(x, XML_FORBIDDEN, "a processing instruction");
}

/* --- elements and text --------------------------------------------------- */

static void on_start(void *data, const XML_Char *name, const XML_Char **pairs)
{
    struct xml_parser *x = data;

    if (!enter(x))
        return;
    if (x->builder == NULL)
        x->at = here(x);
    x->seen = x->begun = true;
    pdr__xml_start(x, name, pairs);
}

static void on_text(void *data, const XML_Char *text, int len)
{
    struct xml_parser *x = data;

    if (enter(x))
        pdr__xml_text(x, text, (size_t)len);
}

static void on_end(void *data, const XML_Char *name)
{
    struct xml_parser *x = data;

    (void)name;
    if (!enter(x))
        return;
    if (x->builder == NULL)
        x->at = here(x);
    pdr__xml_end(x);
    if (!x->done)
        return;
    x->end = x->tail = here(x) + XML_GetCurrentByteCount(x->expat);
    XML_SetDefaultHandler(x->expat, on_other);
    if (x->one && x->builder != NULL)
        (void)XML_StopParser(x->expat, XML_FALSE);
}

/* --- a parser ------------------------------------------------------------ */

/* Everything that expat forgets when it is reset. */
static void set_handlers(struct xml_parser *x)
{
    XML_SetUserData(x->expat, x);
    XML_SetElementHandler(x->expat, on_start, on_end);
    XML_SetCharacterDataHandler(x->expat, on_text);
    XML_SetCommentHandler(x->expat, on_comment);
    XML_SetCdataSectionHandler(x->expat, on_section, on_section);
    XML_SetProcessingInstructionHandler(x->expat, on_instruction);
    XML_SetStartDoctypeDeclHandler(x->expat, on_doctype);
    XML_SetXmlDeclHandler(x->expat, on_declaration);
    if (x->builder == NULL)
        XML_SetDefaultHandler(x->expat, on_other);
#ifdef PDR_EXPAT_DEFERS
    (void)XML_SetReparseDeferralEnabled(x->expat, XML_FALSE);
#endif
}

/* expat does not always tell that memory ran out: a prefix that it could not
 * keep is as if it were not declared. Its allocator has no context to note that
 * in, so each thread has a place for it, used within one call only. */
static _Thread_local bool lacked_memory;

static void *take_memory(size_t size)
{
    void *ptr = pdr__alloc(size);

    lacked_memory = lacked_memory || ptr == NULL;
    return ptr;
}

static void *resize_memory(void *ptr, size_t size)
{
    void *other = pdr__realloc(ptr, size);

    lacked_memory = lacked_memory || other == NULL;
    return other;
}

static enum xml_status status_of(struct xml_parser *x, enum XML_Status status)
{
    if (x->moved)
        x->unfinished = x->retried = 0;
    x->moved = false;
    if (lacked_memory) {
        x->rc = pdr__nomem(&x->err);
        x->pending_count = 0;
        return XML_STOPPED;
    }
    if (status == XML_STATUS_SUSPENDED)
        return XML_SUSPENDED_AT_EVENT;
    return status == XML_STATUS_OK ? XML_GOES_ON : XML_STOPPED;
}

enum xml_status pdr__xml_feed(struct xml_parser *x, const char *from,
                              size_t len, bool last)
{
    lacked_memory = false;
    x->fed += len;
    x->retried += x->unfinished;
    x->unfinished += len;
    return status_of(x, XML_Parse(x->expat, from, (int)len, last ? 1 : 0));
}

enum xml_status pdr__xml_resume(struct xml_parser *x)
{
    lacked_memory = false;
    return status_of(x, XML_ResumeParser(x->expat));
}

void pdr__xml_suspend(struct xml_parser *x)
{
    (void)XML_StopParser(x->expat, XML_TRUE);
}

/* expat passes on what it has of a text at the end of its input, but nothing of
 * one that has "]]>" in it. So that a document is refused for the same reason
 * however it comes in (E2), it is always cut around brackets before a ">". But
 * not in a long tag: it would be tried again for each piece. */
size_t pdr__xml_piece(const struct xml_parser *x, const char *from, size_t len)
{
    size_t unit = x->wide ? 2 : 1;
    size_t whole = x->unfinished > SHORT_TOKEN ? x->unfinished : 0;
    const char *p = from + (whole < len ? whole : len), *end = from + len;

    for (; p < end; p++) {
        p = memchr(p, ']', (size_t)(end - p));
        if (p == NULL || (size_t)(end - p) <= unit)
            break;
        if (p[unit] != '>')
            continue;
        const char *run = p;
        while ((size_t)(run - from) >= unit && *(run - unit) == ']')
            run -= unit;
        return (size_t)((run > from ? run : p + unit) - from);
    }
    return len < MAX_PIECE ? len : MAX_PIECE;
}

pdr_rc pdr__xml_init(struct xml_parser *x, const pdr_read_opts *opts,
                     pdr_err *err)
{
    static const XML_Memory_Handling_Suite memory = {take_memory, resize_memory,
                                                     pdr__free};
    memset(x, 0, sizeof(*x));
    pdr_rc rc = pdr__read_limits(&x->limits, opts, err);
    if (rc != PDR_OK)
        return rc;
    x->err = (pdr_err)PDR_ERR_INIT;
    x->line = 1;
    x->scalar = ELEMENT_NONE;
    x->max_scalar = PDR_MAX_TEXT_BYTES;
    x->names.max = x->key.max = x->text.max = SIZE_MAX;
    x->raw.max = x->spelled.max = SIZE_MAX;
    x->levels = pdr__calloc(x->limits.depth, sizeof(x->levels[0]));
    if (x->levels != NULL)
        x->expat = XML_ParserCreate_MM(NULL, &memory, XML_SEPARATOR);
    if (x->expat == NULL)
        rc = pdr__nomem(err);
    return rc;
}

void pdr__xml_dispose(struct xml_parser *x)
{
    if (x->expat != NULL)
        XML_ParserFree(x->expat);
    pdr__free(x->levels);
    pdr_buf_dispose(&x->names);
    pdr_buf_dispose(&x->key);
    pdr_buf_dispose(&x->text);
    pdr_buf_dispose(&x->raw);
    pdr_buf_dispose(&x->spelled);
}

/* Is a text UTF-16, by its first bytes? */
static bool is_wide(const char *text, size_t len)
{
    return len >= 2 && (text[0] == '\0' || text[1] == '\0' ||
                        memcmp(text, "\xFF\xFE", 2) == 0 ||
                        memcmp(text, "\xFE\xFF", 2) == 0);
}

pdr_rc pdr__xml_give_failure(const struct xml_parser *x, pdr_err *err)
{
    if (err != NULL)
        *err = x->err;
    return x->rc;
}

void pdr__xml_begin(struct xml_parser *x, const char *text, size_t len)
{
    x->wide = is_wide(text, len);
    set_handlers(x);
}

void pdr__xml_reset(struct xml_parser *x)
{
    size_t line = XML_GetCurrentLineNumber(x->expat);
    size_t column = XML_GetCurrentColumnNumber(x->expat);

    x->column = column + (line == 1 ? x->column : 0);
    x->line += line - 1;
    x->done = x->begun = x->seen = x->inside = false;
    x->fed = x->unfinished = x->retried = 0;
    if (XML_ParserReset(x->expat, NULL) != XML_TRUE)
        x->rc = pdr__nomem(&x->err);
}

bool pdr__xml_has_nothing(const struct xml_parser *x)
{
    return x->rc == PDR_OK && !x->begun &&
           XML_GetErrorCode(x->expat) == XML_ERROR_NO_ELEMENTS;
}
