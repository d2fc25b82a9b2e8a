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

/* Append JSON text as it is. */
static void put_raw(struct pdr__framer *w, const char *text)
{
    if (w->rc == PDR_OK)
        w->rc = pdr_buf_append(&w->out, pdr_str_c(text), &w->err);
}

static void put_escaped(struct pdr__framer *w, pdr_str text)
{
    if (w->rc == PDR_OK)
        w->rc = pdr__text_encode(&w->out, text, &w->err);
}

/* `lead` is what comes before the string: comma, name, colon. */
static void put_string(struct pdr__framer *w, const char *lead, pdr_str text)
{
    put_raw(w, lead);
    put_raw(w, "\"");
    put_escaped(w, text);
    put_raw(w, "\"");
}

/* The same for a text that may be left out. */
static void put_edge(struct pdr__framer *w, const char *lead, pdr_str text)
{
    if (text.ptr != NULL)
        put_string(w, lead, text);
}

/* Close a text, and set off the piece or member that comes next. */
static void begin_piece(struct pdr__framer *w)
{
    if (w->in_text)
        put_raw(w, "\"");
    w->in_text = false;
    if (w->follows)
        put_raw(w, ",");
    w->follows = false;
}

static void close_list(struct pdr__framer *w, const char *text)
{
    w->follows = false;
    begin_piece(w);
    put_raw(w, text);
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
    put_string(w, "{\"frame\":1,\"shape\":", pdr_str_c(shapes[shape]));
    put_raw(w, ",\"pieces\":[");
}

void pdr__framer_text(struct pdr__framer *w, pdr_str text)
{
    if (text.len == 0)
        return;
    if (!w->in_text) {
        begin_piece(w);
        put_raw(w, "\"");
        w->in_text = true;
        w->follows = true;
    }
    put_escaped(w, text);
}

void pdr__framer_entries(struct pdr__framer *w,
                         const struct pdr__framer_entries *texts)
{
    begin_piece(w);
    put_string(w, "{\"entries\":{\"open\":", texts->open);
    put_string(w, ",\"first\":", texts->first);
    put_string(w, ",\"usual\":", texts->usual);
    put_string(w, ",\"close\":", texts->close);
    put_string(w, ",\"empty\":", texts->empty);
    put_raw(w, "}}");
    w->follows = true;
}

void pdr__framer_expiry(struct pdr__framer *w,
                        const struct pdr__framer_expiry *expiry)
{
    begin_piece(w);
    put_raw(w, "{\"expiry\":{\"ms\":");
    if (expiry->ms == PDR_NEVER)
        put_raw(w, "null");
    else if (w->rc == PDR_OK)
        w->rc = pdr_buf_printf(&w->out, &w->err, "%" PRId64, expiry->ms);
    put_string(w, ",\"text\":", expiry->text);
    put_string(w, ",\"open\":", expiry->open);
    put_string(w, ",\"close\":", expiry->close);
    put_string(w, ",\"never\":", expiry->never);
    put_edge(w, ",\"first\":", expiry->first);
    put_edge(w, ",\"empty\":", expiry->empty);
    put_raw(w, "}}");
    w->follows = true;
}

void pdr__framer_session(struct pdr__framer *w)
{
    begin_piece(w);
    put_raw(w, "{\"session\":[");
}

void pdr__framer_session_end(struct pdr__framer *w)
{
    close_list(w, "]}");
}

void pdr__framer_members(struct pdr__framer *w, const char *of)
{
    begin_piece(w);
    put_string(w, "{\"members\":{\"of\":", pdr_str_c(of));
    put_raw(w, ",\"list\":[");
}

void pdr__framer_members_end(struct pdr__framer *w,
                             const struct pdr__framer_edges *edges)
{
    close_list(w, "]");
    put_edge(w, ",\"blank\":", edges->blank);
    put_edge(w, ",\"open\":", edges->open);
    put_edge(w, ",\"close\":", edges->close);
    put_edge(w, ",\"empty\":", edges->empty);
    put_raw(w, "}}");
}

void pdr__framer_member(struct pdr__framer *w, pdr_str before, pdr_str name)
{
    begin_piece(w);
    put_string(w, "{\"before\":", before);
    put_string(w, ",\"name\":", name);
}

void pdr__framer_key(struct pdr__framer *w, pdr_str key)
{
    put_string(w, ",\"key\":", key);
}

void pdr__framer_pieces(struct pdr__framer *w)
{
    put_raw(w, ",\"pieces\":[");
    w->follows = false;
}

void pdr__framer_pieces_end(struct pdr__framer *w)
{
    close_list(w, "]");
}

void pdr__framer_member_end(struct pdr__framer *w, pdr_str after)
{
    put_string(w, ",\"after\":", after);
    put_raw(w, "}");
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
                        "what is around entries and slots (the frame) "
                        "takes more than the %zu bytes that a store keeps in "
                        "one row; make values of the bag of it",
                        PDR_MAX_ROW_BYTES);
    if (err != NULL)
        *err = w->err;
    return w->rc;
}
