/*
 * frame_version.c - another schema version for a document that is in a store.
 *
 * WHY  A request of an orchestration needs version 1.1.0 of a state document,
 *      and the version of one that was imported is in its frame, between
 *      members that nobody knows. It is found there as a reader of JSON would
 *      find it, and nothing else is touched.
 *
 *      ["{\"schemaVersion\":\"1.0.0\",\"data\":{...", {entries}, "}}"]
 *           ▲ level 1                       pieces that are not texts are whole
 *                                           values: they change no level
 */
#include "export.h"

#include <perdure/json.h>

#include "core.h"

/* A place in the texts of a frame. */
struct place {
    bool is_found;
    size_t piece;      /* among the pieces */
    size_t begin, end; /* of the value, with its quotes */
    size_t level;
};

/* While walking over the texts, which belong together. */
struct walk {
    size_t level;
    bool is_name; /* the last string was "schemaVersion" */
    bool has_colon;
};

/* Behind the string that begins at `at`, or the end of the text. */
static size_t string_end(pdr_str text, size_t at)
{
    for (at++; at < text.len && text.ptr[at] != '"'; at++)
        at += text.ptr[at] == '\\';
    return at < text.len ? at + 1 : text.len;
}

/* Look for the member in one text. Of several the one of the lowest level is
 * that of the document, and there the last one counts. */
static void text_search(struct place *found, struct walk *w, pdr_str text,
                        size_t piece, pdr_str version)
{
    for (size_t at = 0; at < text.len;) {
        char c = text.ptr[at];
        size_t end = at + 1;

        if (c == '"') {
            pdr_str inside = {NULL, 0};

            end = string_end(text, at);
            inside = pdr_str_n(text.ptr + at + 1, end - at - 2);
            if (w->is_name && w->has_colon && pdr_str_equal(inside, version) &&
                (!found->is_found || w->level <= found->level))
                *found = (struct place){true, piece, at, end, w->level};
            w->is_name = !w->has_colon &&
                         pdr_str_equal(inside, PDR_LIT("schemaVersion"));
            w->has_colon = false;
        } else if (c == ':') {
            w->has_colon = true;
        } else if (memchr(" \t\r\n", c, 4) == NULL) {
            w->level += c == '{' || c == '[';
            w->level -= c == '}' || c == ']';
            w->is_name = w->has_colon = false;
        }
        at = end;
    }
}

pdr_rc pdr__frame_set_version(pdr_buf *out, pdr_str frame, pdr_str from,
                              pdr_str to, pdr_err *err)
{
    struct place found = {.is_found = false};
    struct walk walk = {.level = 0};
    pdr_buf room = PDR_BUF_INIT(SIZE_MAX), made = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL, *pieces = NULL, *piece = NULL;
    pdr_str text = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_json_read(&value, frame, NULL, err));
    pieces = pdr_value_ref(pdr_value_get_c(value, "pieces"));
    pdr_iter_init(&it, pieces);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_STRING)
            continue;
        PDR_TRY(pdr__value_sound_text(&text, it.value, &room, err));
        text_search(&found, &walk, text, it.index, from);
    }
    if (!found.is_found)
        goto done;
    PDR_TRY(pdr__value_sound_text(&text, pdr_value_at(pieces, found.piece),
                                  &room, err));
    PDR_TRY(pdr_buf_append(&made, pdr_str_n(text.ptr, found.begin + 1), err));
    PDR_TRY(pdr_buf_append(&made, to, err));
    PDR_TRY(pdr_buf_append(
        &made, pdr_str_n(text.ptr + found.end - 1, text.len - found.end + 1),
        err));
    PDR_TRY(pdr_value_new_string(&piece, pdr_buf_str(&made), err));
    PDR_TRY(pdr_value_replace(&pieces, found.piece, piece, err));
    PDR_TRY(pdr_value_set(&value, PDR_LIT("pieces"), pieces, err));
    PDR_TRY(pdr_json_write(out, value, NULL, err));
done:
    pdr_value_free(piece);
    pdr_value_free(pieces);
    pdr_value_free(value);
    pdr_buf_dispose(&made);
    pdr_buf_dispose(&room);
    return rc;
}
