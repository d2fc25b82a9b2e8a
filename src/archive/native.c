/*
 * native.c - the frame of a session that was made in the store.
 *
 * WHY  Such a session never was a document. It becomes one that our own readers
 *      take: a durable session a state document, any other a session of the
 *      native shape with its entries as the history slot. A state document has
 *      no place for a bag or properties; with either it is in a bundle:
 *
 *      {"perdure":{"version":…,"kind":"durable","document":STATE},
 *       "sessionId":"@dafx-…","stateBag":{…}}
 *
 *      The same holds for a state document that came in and has got a bag
 *      since.
 */
#include "export.h"

#include <perdure/doc.h>
#include <perdure/json.h>
#include <perdure/session.h>

#define NATIVE_VERSION "1.0.0"

/* --- texts ----------------------------------------------------------------
 */

/* Append `before`, the text as a JSON string, and `after`. */
static pdr_rc put_string(pdr_buf *out, const char *before, pdr_str text,
                         const char *after, pdr_err *err)
{
    pdr_value *string = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, pdr_str_c(before), err));
    PDR_TRY(pdr_value_new_string(&string, text, err));
    PDR_TRY(pdr_json_write(out, string, NULL, err));
    PDR_TRY(pdr_buf_append(out, pdr_str_c(after), err));
done:
    pdr_value_free(string);
    return rc;
}

/* {"perdure":{"version":… with kind and id, where they are not empty. */
static pdr_rc put_mark(pdr_buf *out, pdr_str kind, pdr_str id, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(
        out, PDR_LIT("{\"perdure\":{\"version\":\"" NATIVE_VERSION "\""), err));
    if (kind.len > 0)
        PDR_TRY(put_string(out, ",\"kind\":", kind, "", err));
    if (id.len > 0)
        PDR_TRY(put_string(out, ",\"id\":", id, "", err));
done:
    return rc;
}

/* A durable session has a durable id. One under another id does not say what it
 * is; its document tells. */
pdr_rc pdr__bundle_open(pdr_buf *out, const pdr_head *head, pdr_err *err)
{
    const pdr_str none = {NULL, 0};
    pdr_str id = head->ref.id;
    bool durable = pdr__is_durable_id(id);
    pdr_rc rc = PDR_OK;

    PDR_TRY(put_mark(out, durable ? PDR_LIT("durable") : none,
                     durable ? none : id, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT(",\"document\":"), err));
done:
    return rc;
}

pdr_rc pdr__bundle_middle(pdr_buf *out, const pdr_head *head, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, PDR_LIT("}"), err));
    if (pdr__is_durable_id(head->ref.id))
        PDR_TRY(put_string(out, ",\"sessionId\":", head->ref.id, "", err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT(",\"stateBag\":"), err));
done:
    return rc;
}

bool pdr__kind_is_known(pdr_str kind)
{
    for (int i = 0; i <= PDR_SESSION_KIND_CHAT; i++) {
        const char *name = pdr_session_kind_name((pdr_session_kind)i);

        if (pdr_str_equal(kind, pdr_str_c(name)))
            return true;
    }
    return false;
}

/* The text before the entries, or before the bag that holds them. */
static pdr_rc put_front(pdr_buf *out, const pdr_head *head, bool durable,
                        pdr_err *err)
{
    pdr_str version = head->schema_version.ptr != NULL
                          ? head->schema_version
                          : PDR_LIT(PDR_STATE_VERSION);
    pdr_schema_version read;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (durable && pdr_schema_version_read(&read, version, NULL) != PDR_OK)
        return PDR_FAIL(err, CANNOT_EXPORT,
                        "the session says that its schema version is '%s', "
                        "which is none: make it again with one as %s",
                        pdr__shown(shown, version), PDR_STATE_VERSION);
    if (durable)
        return put_string(out, "{\"schemaVersion\":", version,
                          ",\"data\":{\"conversationHistory\":", err);
    if (!pdr__kind_is_known(head->kind))
        return PDR_FAIL(err, CANNOT_EXPORT,
                        "the session is of the kind '%s', which no document "
                        "has: make it again with one as client",
                        pdr__shown(shown, head->kind));
    PDR_TRY(put_mark(out, head->kind, head->ref.id, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("},\"stateBag\":"), err));
done:
    return rc;
}

/* --- pieces ---------------------------------------------------------------
 */

/* A list of entries as it is, and one that is a history slot. */
static const struct pdr__entries plain_entries = {
    {"[", 1}, {"", 0}, {",", 1}, {"]", 1}, {"[]", 2}};
static const struct pdr__entries slot_entries = {
    {"{\"messages\":[", 13}, {"", 0}, {",", 1}, {"]}", 2}, {"", 0}};

/* It comes after the entries, if there is one. */
static const struct pdr__expiry plain_expiry = {
    PDR_NEVER, {"", 0},  {",\"expirationTimeUtc\":", 21}, {"", 0}, {"", 0},
    {NULL, 0}, {NULL, 0}};

static const struct pdr__piece slot_piece = {
    PDR_PIECE_ENTRIES, {NULL, 0}, &slot_entries, NULL, NULL, {NULL, 0}};
static const struct pdr__member history_member = {
    {"", 0}, {"\"InMemoryChatHistoryProvider\":", 30},
    {"", 0}, {NULL, 0},
    true,    {&slot_piece, 1}};
static const struct pdr__members native_bag = {
    {"", 0}, {"", 0}, {"", 0}, {NULL, 0}, &history_member, 1};

pdr_rc pdr__frame_native(struct pdr__frame *out, const pdr_head *head,
                         pdr_err *err)
{
    bool durable = pdr_str_equal(head->kind, PDR_LIT("durable"));
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    struct pdr__piece *list = NULL;
    size_t count = 0;
    char *front = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        pdr__arena_alloc((void **)&list, &out->memory, 4 * sizeof(*list), err));
    PDR_TRY(put_front(&text, head, durable, err));
    PDR_TRY(pdr__arena_strndup(&front, &out->memory, pdr_buf_str(&text), err));
    out->shape = durable ? PDR_ROW_STATE : PDR_ROW_DOTNET;
    out->entries = durable ? &plain_entries : &slot_entries;
    out->bag = durable ? NULL : &native_bag;
    list[count++] = (struct pdr__piece){.kind = PDR_PIECE_TEXT,
                                        .text = pdr_str_n(front, text.len)};
    if (durable) {
        list[count++] = (struct pdr__piece){.kind = PDR_PIECE_ENTRIES,
                                            .entries = out->entries};
        list[count++] = (struct pdr__piece){.kind = PDR_PIECE_EXPIRY,
                                            .expiry = &plain_expiry};
    } else {
        list[count++] =
            (struct pdr__piece){.kind = PDR_PIECE_BAG, .members = out->bag};
    }
    list[count++] = (struct pdr__piece){
        .kind = PDR_PIECE_TEXT, .text = durable ? PDR_LIT("}}") : PDR_LIT("}")};
    out->pieces.list = list;
    out->pieces.count = count;
done:
    pdr_buf_dispose(&text);
    return rc;
}
