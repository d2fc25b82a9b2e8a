/*
 * frame_write.c - the frame of a document, made piece by piece.
 *
 * WHY  A frame is written while its document streams by, and the document may
 *      be long. So nothing is built and then spelled: each call appends to the
 *      JSON text. Its grammar is in docs/formats/frame.md.
 *
 * INVARIANT
 *   F1  After a failure nothing is appended; pdr__framer_finish() tells it.
 */
#include <inttypes.h>

#include "import.h"

void pdr__framer_dispose(struct pdr__framer *w)
{
    pdr_buf_dispose(&w->out);
}

static void raw(struct pdr__framer *w, pdr_str text)
{
    if (w->rc == PDR_OK)
        w->rc = pdr_buf_append(&w->out, text, &w->err);
}

static void raw_c(struct pdr__framer *w, const char *text)
{
    raw(w, pdr_str_c(text));
}

static void escaped(struct pdr__framer *w, pdr_str text)
{
    if (w->rc == PDR_OK)
        w->rc = pdr__text_encode(&w->out, text, &w->err);
}

/* `lead` is what stands in front of the quote: comma, name, colon. */
static void string(struct pdr__framer *w, const char *lead, pdr_str text)
{
    raw_c(w, lead);
    raw_c(w, "\"");
    escaped(w, text);
    raw_c(w, "\"");
}

/* Close a text, and set off what comes next. */
static void next(struct pdr__framer *w)
{
    if (w->in_text)
        raw_c(w, "\"");
    w->in_text = false;
    if (w->follows)
        raw_c(w, ",");
    w->follows = false;
}

/* Close a list. */
static void close_list(struct pdr__framer *w, const char *text)
{
    w->follows = false;
    next(w);
    raw_c(w, text);
    w->follows = true;
}

void pdr__framer_init(struct pdr__framer *w, pdr_row_shape shape)
{
    static const char *const shapes[] = {
        [PDR_ROW_STATE] = "state",
        [PDR_ROW_DOTNET] = "dotnet",
        [PDR_ROW_PYTHON] = "python",
    };

    memset(w, 0, sizeof(*w));
    w->out.max = PDR_MAX_ROW_BYTES;
    w->err = (pdr_err)PDR_ERR_INIT;
    string(w, "{\"frame\":1,\"shape\":", pdr_str_c(shapes[shape]));
    raw_c(w, ",\"pieces\":[");
}

void pdr__framer_text(struct pdr__framer *w, pdr_str text)
{
    if (text.len == 0)
        return;
    if (!w->in_text) {
        next(w);
        raw_c(w, "\"");
        w->in_text = true;
        w->follows = true;
    }
    escaped(w, text);
}

void pdr__framer_entries(struct pdr__framer *w,
                         const struct pdr__framer_entries *texts)
{
    next(w);
    string(w, "{\"entries\":{\"open\":", texts->open);
    string(w, ",\"first\":", texts->first);
    string(w, ",\"usual\":", texts->usual);
    string(w, ",\"close\":", texts->close);
    string(w, ",\"empty\":", texts->empty);
    raw_c(w, "}}");
    w->follows = true;
}

static void edge(struct pdr__framer *w, const char *lead, pdr_str text)
{
    if (text.ptr != NULL)
        string(w, lead, text);
}

void pdr__framer_expiry(struct pdr__framer *w,
                        const struct pdr__framer_expiry *expiry)
{
    next(w);
    raw_c(w, "{\"expiry\":{\"ms\":");
    if (expiry->ms == PDR_NEVER)
        raw_c(w, "null");
    else if (w->rc == PDR_OK)
        w->rc = pdr_buf_printf(&w->out, &w->err, "%" PRId64, expiry->ms);
    string(w, ",\"text\":", expiry->text);
    string(w, ",\"open\":", expiry->open);
    string(w, ",\"close\":", expiry->close);
    string(w, ",\"never\":", expiry->never);
    edge(w, ",\"first\":", expiry->first);
    edge(w, ",\"empty\":", expiry->empty);
    raw_c(w, "}}");
    w->follows = true;
}

void pdr__framer_session(struct pdr__framer *w)
{
    next(w);
    raw_c(w, "{\"session\":[");
}

void pdr__framer_session_end(struct pdr__framer *w)
{
    close_list(w, "]}");
}

void pdr__framer_members(struct pdr__framer *w, const char *of)
{
    next(w);
    string(w, "{\"members\":{\"of\":", pdr_str_c(of));
    raw_c(w, ",\"list\":[");
}

void pdr__framer_members_end(struct pdr__framer *w,
                             const struct pdr__framer_edges *edges)
{
    close_list(w, "]");
    edge(w, ",\"blank\":", edges->blank);
    edge(w, ",\"open\":", edges->open);
    edge(w, ",\"close\":", edges->close);
    edge(w, ",\"empty\":", edges->empty);
    raw_c(w, "}}");
}

void pdr__framer_member(struct pdr__framer *w, pdr_str before, pdr_str name)
{
    next(w);
    string(w, "{\"before\":", before);
    string(w, ",\"name\":", name);
}

void pdr__framer_key(struct pdr__framer *w, pdr_str key)
{
    string(w, ",\"key\":", key);
}

void pdr__framer_pieces(struct pdr__framer *w)
{
    raw_c(w, ",\"pieces\":[");
    w->follows = false;
}

void pdr__framer_pieces_end(struct pdr__framer *w)
{
    close_list(w, "]");
}

void pdr__framer_member_end(struct pdr__framer *w, pdr_str after)
{
    string(w, ",\"after\":", after);
    raw_c(w, "}");
    w->follows = true;
}

pdr_rc pdr__framer_finish(pdr_str *out, struct pdr__framer *w, pdr_err *err)
{
    close_list(w, "]}");
    if (w->rc == PDR_OK) {
        *out = pdr_buf_str(&w->out);
        return PDR_OK;
    }
    if (w->rc == PDR_ELIMIT)
        return PDR_FAIL(err, ROW_TOO_LARGE,
                        "what stands around entries and slots (the frame) "
                        "takes more than the %zu bytes that a store keeps in "
                        "one row; make values of the bag of it",
                        PDR_MAX_ROW_BYTES);
    if (err != NULL)
        *err = w->err;
    return w->rc;
}
