/*
 * check.c - may these arguments go to a backend?
 *
 * WHY  What a caller hands in is looked at once, here, before anything is
 *      sealed, locked or written: so backends can trust it, and all of them
 *      refuse the same things in the same words. Nothing here knows what the
 *      store holds; plan.c decides about that.
 *
 * INVARIANTS
 *   I1  Sizes are added up before the text behind them is read: what is too
 *       large costs no time.
 *   I2  Nothing here is slower than n log n in what the caller hands in.
 */
#include <stdio.h>

#include "store.h"

/* Rows up to which each is compared with each: less than a hash costs. */
#define FEW 16u

/* --- texts -----------------------------------------------------------------
 */

/* What is wrong with a name for people and indexes; NULL: nothing. */
static const char *name_fault(pdr_str name)
{
    if (pdr__utf8_valid_len(name) != name.len)
        return "is not UTF-8";
    if (memchr(name.ptr, '\0', name.len) != NULL)
        return "holds U+0000";
    return NULL;
}

/* "@dafx-name@key"; the key may hold '@'. */
pdr_str pdr__durable_agent(pdr_str id)
{
    static const char prefix[] = "@dafx-";
    const size_t skip = sizeof(prefix) - 1;
    const pdr_str none = {NULL, 0};
    const char *at = NULL;
    size_t len = 0;

    if (id.len <= skip || memcmp(id.ptr, prefix, skip) != 0)
        return none;
    at = memchr(id.ptr + skip, '@', id.len - skip);
    if (at == NULL)
        return none;
    len = (size_t)(at - id.ptr) - skip;
    return len >= 1 && len <= PDR_MAX_AGENT_BYTES && skip + len + 1 < id.len
               ? pdr_str_n(id.ptr + skip, len)
               : none;
}

bool pdr__is_agent(pdr_str name)
{
    return name.len >= 1 && name.len <= PDR_MAX_AGENT_BYTES &&
           name_fault(name) == NULL;
}

static pdr_rc check_ref_part(pdr_str part, const char *noun, size_t max,
                             pdr_err *err)
{
    const char *fault = NULL;
    char shown[PDR_SHOWN];

    if (part.ptr == NULL || part.len == 0 || part.len > max)
        return PDR_FAIL(err, BAD_REF, "%s has 1 to %zu bytes, this one has %zu",
                        noun, max, part.len);
    fault = name_fault(part);
    if (fault != NULL)
        return PDR_FAIL(err, BAD_REF, "%s '%s' %s", noun,
                        pdr__shown(shown, part), fault);
    return PDR_OK;
}

static pdr_rc check_tenant(pdr_str *tenant, pdr_err *err)
{
    if (tenant->ptr == NULL && tenant->len == 0)
        *tenant = PDR_LIT(PDR_DEFAULT_TENANT);
    return check_ref_part(*tenant, "the name of a tenant", PDR_MAX_TENANT_BYTES,
                          err);
}

pdr_rc pdr__ref_check(pdr_ref *out, const pdr_ref *ref, pdr_err *err)
{
    pdr_ref checked = *ref;
    char shown[PDR_SHOWN];
    pdr_rc rc = check_tenant(&checked.tenant, err);

    if (rc == PDR_OK)
        rc = check_ref_part(checked.id, "the id of a session", PDR_MAX_ID_BYTES,
                            err);
    if (rc == PDR_OK && checked.id.ptr[0] == '@' &&
        pdr__durable_agent(checked.id).ptr == NULL)
        rc = PDR_FAIL(err, BAD_REF,
                      "the id '%s' begins with '@' and is not of the form "
                      "@dafx-AGENT@KEY, with an agent of 1 to %u bytes",
                      pdr__shown(shown, checked.id), PDR_MAX_AGENT_BYTES);
    if (rc == PDR_OK)
        *out = checked;
    return rc;
}

/* --- one commit under check ------------------------------------------------
 */

enum list {
    ENTRIES,
    SLOTS,
    PROPERTIES,
    COMPLETIONS,
    DROP,
    SETTLE,
    JOURNAL,
    STREAM,
    INBOX,
    LISTS /* how many there are; also: not in one */
};

static const char *const list_names[LISTS] = {
    [ENTRIES] = "entries",
    [SLOTS] = "slots",
    [PROPERTIES] = "properties",
    [COMPLETIONS] = "completions",
    [DROP] = "drop",
    [SETTLE] = "settle",
    [JOURNAL] = "journal",
    [STREAM] = "stream",
    [INBOX] = "inbox",
};

struct check {
    const pdr_edit *edit;
    size_t number;      /* of the edit */
    enum list list;     /* where we are in it */
    size_t row;         /* and there */
    size_t row_bytes;   /* of this row so far */
    size_t bytes;       /* of the commit so far */
    size_t rows[LISTS]; /* of the commit so far */
};

/* Say where it failed; returns `rc`. */
static pdr_rc here(const struct check *c, const char *member, pdr_rc rc,
                   pdr_err *err)
{
    char path[PDR_ERR_PATH];
    const char *slash = member[0] != '\0' ? "/" : "";

    if (c->list == LISTS)
        (void)snprintf(path, sizeof(path), "/edits/%zu%s%s", c->number, slash,
                       member);
    else
        (void)snprintf(path, sizeof(path), "/edits/%zu/%s/%zu%s%s", c->number,
                       list_names[c->list], c->row, slash, member);
    pdr__err_path(err, pdr_str_c(path));
    return rc;
}

static void begin_row(struct check *c, enum list list, size_t row)
{
    c->list = list;
    c->row = row;
    c->row_bytes = 0;
}

/* Count the bytes of a text, before anybody reads it. */
static pdr_rc add_text(struct check *c, pdr_str text, const char *member,
                       pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (text.ptr == NULL && text.len != 0)
        rc = PDR_FAIL(err, BAD_EDIT, "%zu bytes of %s, and no pointer to them",
                      text.len, member);
    else if (!pdr__add_size(&c->row_bytes, c->row_bytes, text.len) ||
             c->row_bytes > PDR_MAX_ROW_BYTES)
        rc = PDR_FAIL(err, ROW_TOO_LARGE,
                      "a row with %zu bytes of %s is too large, a store keeps "
                      "at most %zu bytes in one",
                      text.len, member, PDR_MAX_ROW_BYTES);
    else if (!pdr__add_size(&c->bytes, c->bytes, text.len) ||
             c->bytes > PDR_MAX_COMMIT_BYTES)
        rc = PDR_FAIL(err, COMMIT_TOO_LARGE,
                      "a commit carries at most %zu bytes; write it as "
                      "several",
                      PDR_MAX_COMMIT_BYTES);
    return rc == PDR_OK ? rc : here(c, member, rc, err);
}

/* A word for people and indexes, `least` to `most` bytes. */
static pdr_rc check_name(struct check *c, pdr_str name, size_t least,
                         size_t most, const char *member, pdr_err *err)
{
    const char *fault = NULL;
    char shown[PDR_SHOWN];
    pdr_rc rc = add_text(c, name, member, err);

    if (rc != PDR_OK)
        return rc;
    if (name.ptr == NULL || name.len < least || name.len > most) {
        rc =
            PDR_FAIL(err, BAD_EDIT, "%s has %zu to %zu bytes, this one has %zu",
                     member, least, most, name.len);
        return here(c, member, rc, err);
    }
    fault = name_fault(name);
    if (fault == NULL)
        return PDR_OK;
    rc = PDR_FAIL(err, BAD_EDIT, "%s '%s' %s", member, pdr__shown(shown, name),
                  fault);
    return here(c, member, rc, err);
}

/* The same, but it may be absent. */
static pdr_rc check_maybe(struct check *c, pdr_str name, size_t least,
                          size_t most, const char *member, pdr_err *err)
{
    if (name.ptr == NULL && name.len == 0)
        return PDR_OK;
    return check_name(c, name, least, most, member, err);
}

/* JSON text that stands `above` levels deep in its document. */
static pdr_rc check_json(struct check *c, pdr_str text, size_t above,
                         const char *member, pdr_err *err)
{
    pdr_rc rc = add_text(c, text, member, err);

    if (rc != PDR_OK)
        return rc;
    rc = pdr__body_check(text, PDR_DEFAULT_DEPTH - above, err);
    return rc == PDR_OK ? rc : here(c, member, rc, err);
}

static pdr_rc bad_enum(struct check *c, const char *member, unsigned value,
                       pdr_err *err)
{
    return here(c, member,
                PDR_FAIL(err, BAD_EDIT, "%u is no value of %s", value, member),
                err);
}

/* --- each row once ---------------------------------------------------------
 */

typedef pdr_str (*key_fn)(const pdr_edit *edit, size_t row);

static pdr_str slot_key(const pdr_edit *edit, size_t row)
{
    return edit->slots[row].key;
}

static pdr_str property_key(const pdr_edit *edit, size_t row)
{
    return edit->properties[row].key;
}

static pdr_str completion_key(const pdr_edit *edit, size_t row)
{
    return edit->completions[row].correlation_id;
}

static pdr_str drop_key(const pdr_edit *edit, size_t row)
{
    return edit->drop[row].correlation_id;
}

static pdr_str settle_key(const pdr_edit *edit, size_t row)
{
    return pdr_str_n((const char *)&edit->settle[row],
                     sizeof(edit->settle[row]));
}

static pdr_rc repeated(struct check *c, size_t row, pdr_err *err)
{
    begin_row(c, c->list, row);
    return here(c, "",
                PDR_FAIL(err, BAD_EDIT,
                         "an edit names a row at most once; %s %zu is there "
                         "twice",
                         list_names[c->list], row),
                err);
}

static pdr_rc check_few(struct check *c, size_t count, key_fn key, pdr_err *err)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (pdr_str_equal(key(c->edit, i), key(c->edit, j)))
                return repeated(c, i, err);
        }
    }
    return PDR_OK;
}

static pdr_rc check_once(struct check *c, enum list list, size_t count,
                         key_fn key, pdr_err *err)
{
    struct pdr__map seen = PDR_MAP_INIT(PDR_MAX_COMMIT_ROWS);
    void *old = NULL;
    pdr_rc rc = PDR_OK;

    begin_row(c, list, 0);
    if (count <= FEW)
        return check_few(c, count, key, err);
    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        rc = pdr__map_put(&old, &seen, key(c->edit, i), c, err);
        if (rc == PDR_OK && old != NULL)
            rc = repeated(c, i, err);
    }
    pdr__map_dispose(&seen);
    return rc;
}

/* --- rows ------------------------------------------------------------------
 */

/* White space and at most one comma: anything else would close the list. */
static pdr_rc check_separator(struct check *c, pdr_str text, pdr_err *err)
{
    size_t commas = 0;
    pdr_rc rc = add_text(c, text, "separator", err);

    for (size_t i = 0; i < text.len && rc == PDR_OK; i++) {
        char byte = text.ptr[i];

        commas += byte == ',' ? 1u : 0u;
        if (commas > 1 || (byte != ',' && byte != ' ' && byte != '\n' &&
                           byte != '\t' && byte != '\r'))
            rc = here(c, "separator",
                      PDR_FAIL_AT(err, i, BAD_BODY,
                                  "a separator is white space and at most one "
                                  "comma"),
                      err);
    }
    return rc;
}

/* Levels above an entry. Which document a message is for nobody knows here, so
 * it is taken for one with a bag; but who brings the frame along, a part of a
 * whole session or a copy knows, and has looked. */
static size_t levels_above(const pdr_edit *edit, const pdr_entry *row)
{
    if (row->shape == PDR_ROW_STATE)
        return PDR_LEVELS_ABOVE_ENTRY;
    return edit->frame.ptr != NULL || edit->stage != PDR_STAGE_NONE ||
                   edit->origin != NULL
               ? PDR_LEVELS_ABOVE_THREAD
               : PDR_LEVELS_ABOVE_MESSAGE;
}

static pdr_rc check_entry(struct check *c, const pdr_entry *row, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if ((unsigned)row->kind > PDR_ROW_OTHER)
        return bad_enum(c, "kind", (unsigned)row->kind, err);
    if ((unsigned)row->shape > PDR_ROW_PYTHON)
        return bad_enum(c, "shape", (unsigned)row->shape, err);
    rc = check_maybe(c, row->correlation_id, 1, PDR_MAX_ID_BYTES,
                     "correlation_id", err);
    if (rc == PDR_OK)
        rc = check_separator(c, row->separator, err);
    if (rc == PDR_OK)
        rc = check_json(c, row->body, levels_above(c->edit, row), "body", err);
    return rc;
}

static bool is_hex(char c)
{
    char small = pdr__ascii_lower(c);

    return (c >= '0' && c <= '9') || (small >= 'a' && small <= 'f');
}

/* Bytes of the escape at the beginning of `text`; 0 if it is none. */
static size_t escape_len(pdr_str text)
{
    if (text.len < 2 || strchr("\"\\/bfnrtu", text.ptr[1]) == NULL ||
        text.ptr[1] == '\0')
        return 0;
    if (text.ptr[1] != 'u')
        return 2;
    return text.len >= 6 && is_hex(text.ptr[2]) && is_hex(text.ptr[3]) &&
                   is_hex(text.ptr[4]) && is_hex(text.ptr[5])
               ? 6
               : 0;
}

/* What can stand between the quotes of a JSON string? */
static bool is_string_text(pdr_str text)
{
    size_t i = 0;

    if (pdr__utf8_valid_len(text) != text.len)
        return false;
    while (i < text.len) {
        size_t step = 1;

        if ((unsigned char)text.ptr[i] < 0x20u || text.ptr[i] == '"')
            return false;
        if (text.ptr[i] == '\\')
            step = escape_len(pdr_str_n(text.ptr + i, text.len - i));
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}

static pdr_rc check_slot(struct check *c, const pdr_slot *row, pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = add_text(c, row->key, "key", err);

    if (rc == PDR_OK && (row->key.ptr == NULL || !is_string_text(row->key)))
        rc = here(c, "key",
                  PDR_FAIL(err, BAD_EDIT,
                           "the key '%s' of a bag slot is not what stands "
                           "between the quotes of a JSON string",
                           pdr__shown(shown, row->key)),
                  err);
    if (rc == PDR_OK && (row->value.ptr != NULL || row->value.len != 0))
        rc = check_json(c, row->value, PDR_LEVELS_ABOVE_SLOT, "value", err);
    return rc;
}

static pdr_rc check_property(struct check *c, const pdr_property *row,
                             pdr_err *err)
{
    pdr_rc rc = check_name(c, row->key, 1, PDR_MAX_KEY_BYTES, "key", err);

    if (rc == PDR_OK)
        rc = check_maybe(c, row->match, 0, PDR_MAX_MATCH_BYTES, "match", err);
    if (rc == PDR_OK && (row->value.ptr != NULL || row->value.len != 0))
        rc = check_json(c, row->value, PDR_LEVELS_ABOVE_SLOT, "value", err);
    return rc;
}

static pdr_rc check_completion(struct check *c, const pdr_completion *row,
                               pdr_err *err)
{
    pdr_rc rc = check_name(c, row->correlation_id, 1, PDR_MAX_ID_BYTES,
                           "correlation_id", err);

    if (rc == PDR_OK)
        rc = add_text(c, row->fingerprint, "fingerprint", err);
    if (rc == PDR_OK && row->fingerprint.len > PDR_MAX_FINGERPRINT_BYTES)
        rc = here(c, "fingerprint",
                  PDR_FAIL(err, BAD_EDIT,
                           "a fingerprint has at most %u bytes, this one has "
                           "%zu",
                           PDR_MAX_FINGERPRINT_BYTES, row->fingerprint.len),
                  err);
    if (rc == PDR_OK && (row->outcome.ptr != NULL || row->outcome.len != 0))
        rc = check_json(c, row->outcome, 0, "outcome", err);
    return rc;
}

static pdr_rc check_work(struct check *c, const pdr_work *row, pdr_err *err)
{
    pdr_rc rc = check_name(c, row->kind, 1, PDR_MAX_KIND_BYTES, "kind", err);

    if (rc == PDR_OK)
        rc = check_maybe(c, row->correlation_id, 1, PDR_MAX_ID_BYTES,
                         "correlation_id", err);
    if (rc == PDR_OK)
        rc = check_json(c, row->body, 0, "body", err);
    return rc;
}

/* --- lists -----------------------------------------------------------------
 */

static pdr_rc check_list(struct check *c, enum list list, const void *rows,
                         size_t count, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    begin_row(c, LISTS, 0);
    if (rows == NULL && count > 0)
        rc = PDR_FAIL(err, BAD_EDIT, "%zu %s, and no pointer to them", count,
                      list_names[list]);
    else if (!pdr__add_size(&c->rows[list], c->rows[list], count) ||
             c->rows[list] > PDR_MAX_COMMIT_ROWS)
        rc = PDR_FAIL(err, COMMIT_TOO_LARGE,
                      "a commit carries at most %u %s; write it as several",
                      PDR_MAX_COMMIT_ROWS, list_names[list]);
    return rc == PDR_OK ? rc : here(c, list_names[list], rc, err);
}

static pdr_rc check_lists(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;
    const struct {
        const void *rows;
        size_t count;
    } lists[LISTS] = {
        [ENTRIES] = {e->entries, e->entry_count},
        [SLOTS] = {e->slots, e->slot_count},
        [PROPERTIES] = {e->properties, e->property_count},
        [COMPLETIONS] = {e->completions, e->completion_count},
        [DROP] = {e->drop, e->drop_count},
        [SETTLE] = {e->settle, e->settle_count},
        [JOURNAL] = {e->journal, e->journal_count},
        [STREAM] = {e->stream, e->stream_count},
        [INBOX] = {e->inbox, e->inbox_count},
    };
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < LISTS && rc == PDR_OK; i++)
        rc = check_list(c, (enum list)i, lists[i].rows, lists[i].count, err);
    return rc;
}

static pdr_rc check_entries(struct check *c, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < c->edit->entry_count && rc == PDR_OK; i++) {
        begin_row(c, ENTRIES, i);
        rc = check_entry(c, &c->edit->entries[i], err);
    }
    return rc;
}

static pdr_rc check_slots(struct check *c, pdr_err *err)
{
    size_t count = c->edit->slot_count;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        begin_row(c, SLOTS, i);
        rc = check_slot(c, &c->edit->slots[i], err);
    }
    return rc == PDR_OK ? check_once(c, SLOTS, count, slot_key, err) : rc;
}

static pdr_rc check_properties(struct check *c, pdr_err *err)
{
    size_t count = c->edit->property_count;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        begin_row(c, PROPERTIES, i);
        rc = check_property(c, &c->edit->properties[i], err);
    }
    return rc == PDR_OK ? check_once(c, PROPERTIES, count, property_key, err)
                        : rc;
}

static pdr_rc check_completions(struct check *c, pdr_err *err)
{
    size_t count = c->edit->completion_count;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        begin_row(c, COMPLETIONS, i);
        rc = check_completion(c, &c->edit->completions[i], err);
    }
    return rc == PDR_OK ? check_once(c, COMPLETIONS, count, completion_key, err)
                        : rc;
}

/* Is one of these ids to be dropped, too? `what` is what the edit has of it. */
static pdr_rc refuse_dropped(struct check *c, const struct pdr__map *dropped,
                             pdr_str id, const char *what, pdr_err *err)
{
    char shown[PDR_SHOWN];
    void *found = NULL;

    if (id.ptr == NULL || !pdr__map_get(&found, dropped, id))
        return PDR_OK;
    return here(c, "correlation_id",
                PDR_FAIL(err, BAD_EDIT,
                         "an edit drops the completion of '%s' or has %s of "
                         "it, not both",
                         pdr__shown(shown, id), what),
                err);
}

/* An edit that drops a completion writes nothing that belongs to it. */
static pdr_rc check_dropped(struct check *c, pdr_err *err)
{
    struct pdr__map dropped = PDR_MAP_INIT(PDR_MAX_COMMIT_ROWS);
    const pdr_edit *e = c->edit;
    void *old = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < e->drop_count && rc == PDR_OK; i++)
        rc = pdr__map_put(&old, &dropped, drop_key(e, i), c, err);
    for (size_t i = 0; i < e->entry_count && rc == PDR_OK; i++) {
        begin_row(c, ENTRIES, i);
        rc = refuse_dropped(c, &dropped, e->entries[i].correlation_id,
                            "an entry", err);
    }
    for (size_t i = 0; i < e->completion_count && rc == PDR_OK; i++) {
        begin_row(c, COMPLETIONS, i);
        rc = refuse_dropped(c, &dropped, completion_key(e, i), "an outcome",
                            err);
    }
    pdr__map_dispose(&dropped);
    return rc;
}

static pdr_rc check_drop(struct check *c, pdr_err *err)
{
    size_t count = c->edit->drop_count;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        begin_row(c, DROP, i);
        rc = check_name(c, c->edit->drop[i].correlation_id, 1, PDR_MAX_ID_BYTES,
                        "correlation_id", err);
    }
    if (rc == PDR_OK)
        rc = check_once(c, DROP, count, drop_key, err);
    return rc == PDR_OK && count > 0 ? check_dropped(c, err) : rc;
}

static pdr_rc check_works(struct check *c, enum list list, const pdr_work *rows,
                          size_t count, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        begin_row(c, list, i);
        rc = check_work(c, &rows[i], err);
    }
    return rc;
}

static pdr_rc check_rows(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;
    pdr_rc rc = check_lists(c, err);

    if (rc == PDR_OK)
        rc = check_entries(c, err);
    if (rc == PDR_OK)
        rc = check_slots(c, err);
    if (rc == PDR_OK)
        rc = check_properties(c, err);
    if (rc == PDR_OK)
        rc = check_completions(c, err);
    if (rc == PDR_OK)
        rc = check_drop(c, err);
    if (rc == PDR_OK)
        rc = check_once(c, SETTLE, e->settle_count, settle_key, err);
    if (rc == PDR_OK)
        rc = check_works(c, JOURNAL, e->journal, e->journal_count, err);
    if (rc == PDR_OK)
        rc = check_works(c, STREAM, e->stream, e->stream_count, err);
    if (rc == PDR_OK)
        rc = check_works(c, INBOX, e->inbox, e->inbox_count, err);
    return rc;
}

/* --- edits -----------------------------------------------------------------
 */

static pdr_rc refuse(struct check *c, const char *member, const char *why,
                     pdr_err *err)
{
    return here(c, member, PDR_FAIL(err, BAD_EDIT, "%s", why), err);
}

static bool does_work(const pdr_edit *e)
{
    return e->completion_count > 0 || e->drop_count > 0 ||
           e->journal_through > 0 || e->stream_through > 0 ||
           e->settle_count > 0 || e->journal_count > 0 || e->stream_count > 0 ||
           e->inbox_count > 0;
}

/* What the writer names of what it read. */
static pdr_rc check_bounds(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;
    bool any = e->revision == PDR_ANY_REVISION;

    if (e->remove && (any || e->revision == 0))
        return refuse(c, "remove",
                      "a session is deleted at a revision that was read", err);
    if (e->remove &&
        (pdr__edit_moves(e) || does_work(e) || e->lease != PDR_LEASE_KEEP))
        return refuse(c, "remove",
                      "an edit that deletes a session does nothing else", err);
    if (any && pdr__edit_moves(e))
        return refuse(c, "revision",
                      "an edit of the state, expiry, frame, entries, slots or "
                      "properties names the revision that was read",
                      err);
    if (e->or_create && !any)
        return refuse(c, "or_create",
                      "or_create goes with PDR_ANY_REVISION; revision 0 makes "
                      "a session",
                      err);
    if (e->revision == 0 && e->epoch != 0)
        return refuse(c, "epoch", "a session that is made has no epoch yet",
                      err);
    if (e->revision == 0 && e->entries_through != 0)
        return refuse(c, "entries_through",
                      "a session that is made has no entries to remove", err);
    return PDR_OK;
}

/* What no edit with a stage verb may have; NULL: it has none of it. */
static const char *not_staged(const pdr_edit *e)
{
    const struct {
        bool is_there;
        const char *member;
    } members[] = {
        {e->remove, "remove"},
        {e->or_create, "or_create"},
        {e->lease != PDR_LEASE_KEEP, "lease"},
        {e->entries_through != 0, "entries_through"},
        {e->drop_count > 0, "drop"},
        {e->journal_through != 0, "journal_through"},
        {e->stream_through != 0, "stream_through"},
        {e->settle_count > 0, "settle"},
        {e->origin == NULL && e->journal_count > 0, "journal"},
        {e->origin == NULL && e->stream_count > 0, "stream"},
        {e->origin == NULL && e->inbox_count > 0, "inbox"},
        {e->stage != PDR_STAGE_SHOW && e->set_state, "state"},
        {e->stage != PDR_STAGE_SHOW && e->expiry != PDR_EXPIRY_KEEP, "expiry"},
        {e->stage != PDR_STAGE_SHOW && e->fence != 0, "fence"},
        {e->stage != PDR_STAGE_SHOW && e->commits != 0, "commits"},
    };

    for (size_t i = 0; i < PDR_COUNT(members); i++) {
        if (members[i].is_there)
            return members[i].member;
    }
    return NULL;
}

static pdr_rc check_stage(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;
    const char *member = not_staged(e);

    if ((unsigned)e->stage > PDR_STAGE_SHOW)
        return bad_enum(c, "stage", (unsigned)e->stage, err);
    if (member != NULL)
        return refuse(c, member,
                      "a session that no reader sees takes a frame, entries, "
                      "slots, properties and completions; state, expiry and "
                      "fence come when it is shown, the rest later",
                      err);
    if (e->stage == PDR_STAGE_BEGIN && e->revision != 0)
        return refuse(c, "revision", "staging begins with revision 0", err);
    if (e->stage == PDR_STAGE_ADD && e->revision != PDR_ANY_REVISION)
        return refuse(c, "revision",
                      "what is added to a staged session names no revision; "
                      "give PDR_ANY_REVISION",
                      err);
    if ((e->stage == PDR_STAGE_BEGIN) != (e->epoch == 0))
        return refuse(c, "epoch",
                      "a staged session is named by the epoch that the first "
                      "commit gave it, and that one names none",
                      err);
    if (e->stage != PDR_STAGE_SHOW && e->lease_until_ms == INT64_MIN)
        return refuse(c, "lease_until_ms",
                      "a staged session is kept until some time", err);
    return PDR_OK;
}

/* What a copy takes from its origin, so that an edit cannot say it, too; NULL:
 * it does not. */
static const char *not_copied(const pdr_edit *e)
{
    const struct {
        bool is_there;
        const char *member;
    } members[] = {
        {e->remove, "remove"},
        {e->or_create, "or_create"},
        {e->set_state, "state"},
        {e->expiry != PDR_EXPIRY_KEEP, "expiry"},
        {e->lease != PDR_LEASE_KEEP, "lease"},
        {e->entries_through != 0, "entries_through"},
        {e->drop_count > 0, "drop"},
        {e->journal_through != 0, "journal_through"},
        {e->stream_through != 0, "stream_through"},
        {e->settle_count > 0, "settle"},
        {e->stage == PDR_STAGE_NONE && e->revision != 0, "revision"},
    };

    for (size_t i = 0; i < PDR_COUNT(members); i++) {
        if (members[i].is_there)
            return members[i].member;
    }
    return NULL;
}

/* The largest number that a copy may begin with: so many can still be counted
 * that nobody comes to the end of what a store can hold. */
#define MOST_COPIED (UINT64_C(1) << 62)

/* Numbers of rows: from 1 on, and not beyond what a store can count. */
static bool is_list(uint64_t first, uint64_t next)
{
    return first >= 1 && first <= next && next <= MOST_COPIED;
}

/* Can this be the head of a session? */
static bool is_origin(const pdr_head *head)
{
    return is_list(1, head->revision) && is_list(1, head->commits) &&
           is_list(head->first_seq, head->next_seq) &&
           is_list(head->journal_first, head->journal_next) &&
           is_list(head->stream_first, head->stream_next) &&
           is_list(1, head->inbox_next) && head->inbox < head->inbox_next &&
           (unsigned)head->state <= PDR_SESSION_EXPIRED;
}

static pdr_rc check_origin(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;
    const char *member = NULL;

    if (e->origin == NULL)
        return PDR_OK;
    if (!is_origin(e->origin))
        return refuse(c, "origin",
                      "the origin of a copy is the head of a session, as it "
                      "was read",
                      err);
    member = not_copied(e);
    if (member != NULL)
        return refuse(c, member,
                      "a copy is new, or staged; its state, times and numbers "
                      "are those of its origin",
                      err);
    for (size_t i = 0; i < e->completion_count; i++) {
        const pdr_completion *row = &e->completions[i];

        begin_row(c, COMPLETIONS, i);
        if ((row->first_seq == 0) != (row->last_seq == 0) ||
            row->first_seq > row->last_seq ||
            row->last_seq >= e->origin->next_seq)
            return refuse(c, "last_seq",
                          "the origin has no such entries for a completion",
                          err);
    }
    return PDR_OK;
}

static pdr_rc check_lease(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;

    switch (e->lease) {
    case PDR_LEASE_KEEP:
        return PDR_OK;
    case PDR_LEASE_TAKE:
        if (e->fence != 0)
            return refuse(c, "fence",
                          "who takes a lease has no fence yet; renew it "
                          "instead",
                          err);
        return check_name(c, e->lease_owner, 1, PDR_MAX_OWNER_BYTES,
                          "lease_owner", err);
    case PDR_LEASE_RENEW:
    case PDR_LEASE_RELEASE:
        if (e->fence == 0)
            return refuse(c, "fence",
                          "a lease is renewed and released with the fence that "
                          "came with it",
                          err);
        return PDR_OK;
    }
    return bad_enum(c, "lease", (unsigned)e->lease, err);
}

static pdr_rc check_head(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;
    pdr_rc rc = PDR_OK;

    if (e->set_state && (unsigned)e->state > PDR_SESSION_EXPIRED)
        return bad_enum(c, "state", (unsigned)e->state, err);
    if ((unsigned)e->expiry > PDR_EXPIRY_CLEAR)
        return bad_enum(c, "expiry", (unsigned)e->expiry, err);
    rc = check_maybe(c, e->agent, 1, PDR_MAX_AGENT_BYTES, "agent", err);
    if (rc == PDR_OK)
        rc = check_maybe(c, e->kind, 1, PDR_MAX_KIND_BYTES, "kind", err);
    if (rc == PDR_OK)
        rc = check_maybe(c, e->schema_version, 1, PDR_MAX_KIND_BYTES,
                         "schema_version", err);
    if (rc == PDR_OK)
        rc = check_lease(c, err);
    begin_row(c, LISTS, 0); /* the frame is a row of its own */
    if (rc == PDR_OK && (e->frame.ptr != NULL || e->frame.len != 0))
        rc = check_json(c, e->frame, 0, "frame", err);
    return rc;
}

static pdr_rc check_edit(struct check *c, pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_ref ref;

    begin_row(c, LISTS, 0);
    pdr_rc rc = pdr__ref_check(&ref, &c->edit->ref, err);
    if (rc != PDR_OK)
        return here(c, "ref", rc, err);
    c->bytes += ref.tenant.len + ref.id.len;
    rc = c->edit->stage == PDR_STAGE_NONE ? check_bounds(c, err)
                                          : check_stage(c, err);
    if (rc == PDR_OK)
        rc = check_head(c, err);
    if (rc == PDR_OK)
        rc = check_rows(c, err);
    if (rc == PDR_OK)
        rc = check_origin(c, err);
    if (rc == PDR_OK || rc == PDR_ENOMEM)
        return rc;
    return pdr__wrap(err, rc, "session '%s'", pdr__shown(shown, ref.id));
}

/* --- commits ---------------------------------------------------------------
 */

/* One text for tenant and id, which hold no NUL. */
static pdr_str whole_ref(char room[], const pdr_edit *edit)
{
    pdr_str tenant = edit->ref.tenant, id = edit->ref.id;

    if (tenant.ptr == NULL)
        tenant = PDR_LIT(PDR_DEFAULT_TENANT);
    memcpy(room, tenant.ptr, tenant.len);
    room[tenant.len] = '\0';
    memcpy(room + tenant.len + 1, id.ptr, id.len);
    return pdr_str_n(room, tenant.len + 1 + id.len);
}

static pdr_rc check_sessions_once(struct check *c, const pdr_edit *edits,
                                  size_t count, pdr_err *err)
{
    struct pdr__map seen = PDR_MAP_INIT(PDR_MAX_COMMIT_EDITS);
    char room[PDR_MAX_TENANT_BYTES + 1 + PDR_MAX_ID_BYTES];
    char shown[PDR_SHOWN];
    void *old = NULL;
    pdr_rc rc = PDR_OK;

    if (count == 1)
        return PDR_OK;
    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        rc = pdr__map_put(&old, &seen, whole_ref(room, &edits[i]), c, err);
        if (rc != PDR_OK || old == NULL)
            continue;
        c->number = i;
        begin_row(c, LISTS, 0);
        rc = here(c, "ref",
                  PDR_FAIL(err, BAD_EDIT,
                           "session '%s' has two edits in one commit; make "
                           "them one",
                           pdr__shown(shown, edits[i].ref.id)),
                  err);
    }
    pdr__map_dispose(&seen);
    return rc;
}

pdr_rc pdr__edits_check(size_t *bytes, const pdr_edit *edits, size_t count,
                        pdr_err *err)
{
    struct check c;
    pdr_rc rc = PDR_OK;

    memset(&c, 0, sizeof(c));
    if (count == 0)
        return PDR_FAIL(err, BAD_EDIT, "a commit needs an edit");
    if (count > PDR_MAX_COMMIT_EDITS)
        return PDR_FAIL(err, COMMIT_TOO_LARGE,
                        "a commit edits at most %u sessions, this one %zu",
                        PDR_MAX_COMMIT_EDITS, count);
    for (; c.number < count && rc == PDR_OK; c.number++) {
        c.edit = &edits[c.number];
        rc = check_edit(&c, err);
    }
    if (rc == PDR_OK)
        rc = check_sessions_once(&c, edits, count, err);
    if (rc == PDR_OK)
        *bytes = c.bytes;
    return rc;
}

/* --- queries ---------------------------------------------------------------
 */

/* What kinds of reads know of a member of the query. */
#define KIND(what) (1u << PDR_READ_##what)
#define NUMBERED   (KIND(ENTRIES) | KIND(JOURNAL) | KIND(STREAM) | KIND(INBOX))
#define KEYED \
    (KIND(ENTRIES) | KIND(SLOTS) | KIND(PROPERTIES) | KIND(COMPLETIONS))
#define OF_STORE     (KIND(EXPIRED) | KIND(DUE) | KIND(ALL))
#define WITHOUT_MORE (KIND(HEAD) | KIND(FRAME))

static pdr_rc bad_query(const char *why, pdr_err *err)
{
    return PDR_FAIL(err, BAD_QUERY, "%s", why);
}

static pdr_rc check_word(pdr_str word, const char *noun, size_t least,
                         size_t most, pdr_err *err)
{
    const char *fault = NULL;

    if (word.len < least || word.len > most)
        return PDR_FAIL(err, BAD_QUERY, "%s has %zu to %zu bytes, not %zu",
                        noun, least, most, word.len);
    fault = name_fault(word);
    if (fault != NULL)
        return PDR_FAIL(err, BAD_QUERY, "%s %s", noun, fault);
    return PDR_OK;
}

static pdr_rc check_filter(const pdr_filter *f, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (f->by_state && (unsigned)f->state > PDR_SESSION_EXPIRED)
        return bad_query("the state of the filter is none", err);
    if (f->changed_from_ms > f->changed_to_ms)
        return bad_query("the time of the filter ends before it begins; for no "
                         "end, give PDR_NEVER",
                         err);
    if ((f->property.ptr == NULL) != (f->match.ptr == NULL))
        return bad_query("a filter by property needs its key and its match",
                         err);
    if (f->agent.ptr != NULL)
        rc = check_word(f->agent, "an agent's name", 1, PDR_MAX_AGENT_BYTES,
                        err);
    if (rc == PDR_OK && f->property.ptr != NULL)
        rc = check_word(f->property, "the key of a property", 1,
                        PDR_MAX_KEY_BYTES, err);
    if (rc == PDR_OK && f->property.ptr != NULL)
        rc = check_word(f->match, "the match of a property", 0,
                        PDR_MAX_MATCH_BYTES, err);
    return rc;
}

static bool has_filter(const pdr_filter *f)
{
    return f->agent.ptr != NULL || f->by_state || f->changed_from_ms != 0 ||
           f->changed_to_ms != 0 || f->property.ptr != NULL ||
           f->match.ptr != NULL;
}

static pdr_rc check_members(const pdr_query *q, unsigned kind, pdr_err *err)
{
    if (q->limit > PDR_MAX_PAGE_ROWS)
        return PDR_FAIL(err, BAD_QUERY, "a page has 1 to %u rows, not %zu",
                        PDR_MAX_PAGE_ROWS, q->limit);
    if ((q->backwards || q->from != 0) && (kind & NUMBERED) == 0)
        return bad_query("only entries, journal, stream and inbox are read "
                         "backwards or from a number",
                         err);
    if (q->key.ptr != NULL && (kind & KEYED) == 0)
        return bad_query("only entries, slots, properties and completions are "
                         "read by a key",
                         err);
    if (q->after.ptr != NULL && (kind & WITHOUT_MORE) != 0)
        return bad_query("a head and a frame have no next page", err);
    if (has_filter(&q->filter) && kind != KIND(SESSIONS))
        return bad_query("only the list of sessions has a filter", err);
    return PDR_OK;
}

static pdr_rc check_whose(pdr_query *q, unsigned kind, pdr_err *err)
{
    if ((kind & OF_STORE) != 0) {
        memset(&q->ref, 0, sizeof(q->ref));
        return PDR_OK;
    }
    if (kind != KIND(SESSIONS))
        return pdr__ref_check(&q->ref, &q->ref, err);
    if (q->ref.id.ptr != NULL)
        return bad_query("the list of sessions takes a tenant and no id", err);
    return check_tenant(&q->ref.tenant, err);
}

pdr_rc pdr__query_check(pdr_query *out, const pdr_query *query, pdr_err *err)
{
    pdr_query q = *query;
    pdr_rc rc = PDR_OK;

    if ((unsigned)q.what > PDR_READ_ALL)
        return PDR_FAIL(err, BAD_QUERY, "%u is no kind of read",
                        (unsigned)q.what);
    unsigned kind = 1u << q.what;
    rc = check_members(&q, kind, err);
    if (rc == PDR_OK)
        rc = check_filter(&q.filter, err);
    if (rc == PDR_OK)
        rc = check_whose(&q, kind, err);
    if (rc != PDR_OK)
        return rc;
    if (q.limit == 0)
        q.limit = PDR_DEFAULT_PAGE_ROWS;
    if (q.max_bytes == 0)
        q.max_bytes = PDR_DEFAULT_PAGE_BYTES;
    *out = q;
    return PDR_OK;
}
