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
    pdr_rc rc = PDR_OK;

    PDR_TRY(check_tenant(&checked.tenant, err));
    PDR_TRY(check_ref_part(checked.id, "the id of a session", PDR_MAX_ID_BYTES,
                           err));
    if (checked.id.ptr[0] == '@' && pdr__durable_agent(checked.id).ptr == NULL)
        return PDR_FAIL(err, BAD_REF,
                        "the id '%s' begins with '@' and is not of the form "
                        "@dafx-AGENT@KEY, with an agent of 1 to %u bytes",
                        pdr__shown(shown, checked.id), PDR_MAX_AGENT_BYTES);
    *out = checked;
done:
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

struct check {
    const pdr_edit *edit;
    const pdr_request *step; /* of a stage, which the edit was made of; NULL: it
                                is an edit of the caller */
    size_t number;           /* of the edit */
    enum list list;          /* where we are in it */
    size_t row;              /* and there */
    size_t row_bytes;        /* of this row so far */
    size_t bytes;            /* of the commit so far */
    size_t rows[LISTS];      /* of the commit so far */
};

static const char *list_name(enum list list)
{
    static const char *const names[LISTS] = {
        "entries", "slots",   "properties", "completions", "drop",
        "settle",  "journal", "stream",     "inbox"};

    return names[list];
}

/* Say where it failed; returns `rc`. */
static pdr_rc say_where(const struct check *c, const char *member, pdr_rc rc,
                        pdr_err *err)
{
    char whose[32] = "/stage", row[48] = "", path[PDR_ERR_PATH];

    if (c->step == NULL)
        (void)snprintf(whose, sizeof(whose), "/edits/%zu", c->number);
    if (c->list != LISTS)
        (void)snprintf(row, sizeof(row), "/%s/%zu", list_name(c->list), c->row);
    (void)snprintf(path, sizeof(path), "%s%s%s%s", whose, row,
                   member[0] != '\0' ? "/" : "", member);
    pdr__err_path(err, pdr_str_c(path));
    return rc;
}

#define REFUSE(c, member, reason, ...) \
    say_where((c), (member), PDR_FAIL(err, reason, __VA_ARGS__), err)

static void begin_row(struct check *c, enum list list, size_t row)
{
    c->list = list;
    c->row = row;
    c->row_bytes = 0;
}

static bool is_absent(pdr_str text)
{
    return text.ptr == NULL && text.len == 0;
}

/* Count the bytes of a text, before anybody reads it. */
static pdr_rc add_text(struct check *c, pdr_str text, const char *member,
                       pdr_err *err)
{
    if (text.ptr == NULL && text.len != 0)
        return REFUSE(c, member, BAD_EDIT,
                      "%zu bytes of %s, and no pointer to them", text.len,
                      member);
    if (!pdr__add_size(&c->row_bytes, c->row_bytes, text.len) ||
        c->row_bytes > PDR_MAX_ROW_BYTES)
        return REFUSE(c, member, ROW_TOO_LARGE,
                      "a row with %zu bytes of %s is too large, a store keeps "
                      "at most %zu bytes in one",
                      text.len, member, PDR_MAX_ROW_BYTES);
    if (!pdr__add_size(&c->bytes, c->bytes, text.len) ||
        c->bytes > PDR_MAX_COMMIT_BYTES)
        return REFUSE(c, member, COMMIT_TOO_LARGE,
                      "a commit carries at most %zu bytes; write it as "
                      "several",
                      PDR_MAX_COMMIT_BYTES);
    return PDR_OK;
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
    if (name.ptr == NULL || name.len < least || name.len > most)
        return REFUSE(c, member, BAD_EDIT,
                      "%s has %zu to %zu bytes, this one has %zu", member,
                      least, most, name.len);
    fault = name_fault(name);
    if (fault != NULL)
        return REFUSE(c, member, BAD_EDIT, "%s '%s' %s", member,
                      pdr__shown(shown, name), fault);
    return PDR_OK;
}

/* The same, but it may be absent. */
static pdr_rc check_maybe(struct check *c, pdr_str name, size_t least,
                          size_t most, const char *member, pdr_err *err)
{
    return is_absent(name) ? PDR_OK
                           : check_name(c, name, least, most, member, err);
}

/* JSON text that stands `above` levels deep in its document. */
static pdr_rc check_json(struct check *c, pdr_str text, size_t above,
                         const char *member, pdr_err *err)
{
    pdr_rc rc = add_text(c, text, member, err);

    if (rc != PDR_OK)
        return rc;
    rc = pdr__body_check(text, PDR_DEFAULT_DEPTH - above, err);
    return rc == PDR_OK ? rc : say_where(c, member, rc, err);
}

static pdr_rc refuse_value(struct check *c, const char *member, unsigned value,
                           pdr_err *err)
{
    return REFUSE(c, member, BAD_EDIT, "%u is no value of %s", value, member);
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
            rc = say_where(c, "separator",
                           PDR_FAIL_AT(err, i, BAD_BODY,
                                       "a separator is white space and at most "
                                       "one comma"),
                           err);
    }
    return rc;
}

static pdr_rc check_entry(struct check *c, const void *at, pdr_err *err)
{
    const pdr_entry *row = at;
    size_t above = PDR_LEVELS_ABOVE_ENTRY;
    pdr_rc rc = PDR_OK;

    if ((unsigned)row->kind > PDR_ROW_OTHER)
        return refuse_value(c, "kind", (unsigned)row->kind, err);
    if ((unsigned)row->shape > PDR_ROW_SK)
        return refuse_value(c, "shape", (unsigned)row->shape, err);
    PDR_TRY(check_maybe(c, row->correlation_id, 1, PDR_MAX_ID_BYTES,
                        "correlation_id", err));
    PDR_TRY(check_separator(c, row->separator, err));
    /* Which document a message is for nobody knows here, so it is taken for one
     * with a bag; but whoever brings the frame along or stages a whole session
     * knows, and has looked. */
    if (row->shape != PDR_ROW_STATE)
        above = c->edit->frame.ptr != NULL || c->step != NULL
                    ? PDR_LEVELS_ABOVE_THREAD
                    : PDR_LEVELS_ABOVE_MESSAGE;
    PDR_TRY(check_json(c, row->body, above, "body", err));
done:
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

static pdr_rc check_slot(struct check *c, const void *at, pdr_err *err)
{
    const pdr_slot *row = at;
    char shown[PDR_SHOWN];
    pdr_rc rc = add_text(c, row->key, "key", err);

    if (rc != PDR_OK)
        return rc;
    if (row->key.ptr == NULL || !is_string_text(row->key))
        return REFUSE(c, "key", BAD_EDIT,
                      "the key '%s' of a bag slot is not what stands between "
                      "the quotes of a JSON string",
                      pdr__shown(shown, row->key));
    if (is_absent(row->value))
        return PDR_OK;
    return check_json(c, row->value, PDR_LEVELS_ABOVE_SLOT, "value", err);
}

static pdr_rc check_property(struct check *c, const void *at, pdr_err *err)
{
    const pdr_property *row = at;
    pdr_rc rc = PDR_OK;

    PDR_TRY(check_name(c, row->key, 1, PDR_MAX_KEY_BYTES, "key", err));
    PDR_TRY(check_maybe(c, row->match, 0, PDR_MAX_MATCH_BYTES, "match", err));
    if (!is_absent(row->value))
        PDR_TRY(check_json(c, row->value, PDR_LEVELS_ABOVE_SLOT, "value", err));
done:
    return rc;
}

static pdr_rc check_completion(struct check *c, const void *at, pdr_err *err)
{
    const pdr_completion *row = at;
    const pdr_head *origin = c->step != NULL ? c->step->stage->origin : NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(check_name(c, row->correlation_id, 1, PDR_MAX_ID_BYTES,
                       "correlation_id", err));
    PDR_TRY(add_text(c, row->fingerprint, "fingerprint", err));
    if (row->fingerprint.len > PDR_MAX_FINGERPRINT_BYTES)
        return REFUSE(c, "fingerprint", BAD_EDIT,
                      "a fingerprint has at most %u bytes, this one has %zu",
                      PDR_MAX_FINGERPRINT_BYTES, row->fingerprint.len);
    if (!is_absent(row->outcome))
        PDR_TRY(check_json(c, row->outcome, 0, "outcome", err));
    if (origin != NULL &&
        ((row->first_seq == 0) != (row->last_seq == 0) ||
         row->first_seq > row->last_seq || row->last_seq >= origin->next_seq))
        return REFUSE(c, "last_seq", BAD_EDIT,
                      "the origin has no such entries for a completion");
done:
    return rc;
}

static pdr_rc check_dropped(struct check *c, const void *at, pdr_err *err)
{
    const pdr_completion *row = at;

    return check_name(c, row->correlation_id, 1, PDR_MAX_ID_BYTES,
                      "correlation_id", err);
}

static pdr_rc check_work(struct check *c, const void *at, pdr_err *err)
{
    const pdr_work *row = at;
    pdr_rc rc = PDR_OK;

    PDR_TRY(check_name(c, row->kind, 1, PDR_MAX_KIND_BYTES, "kind", err));
    PDR_TRY(check_maybe(c, row->correlation_id, 1, PDR_MAX_ID_BYTES,
                        "correlation_id", err));
    PDR_TRY(check_json(c, row->body, 0, "body", err));
done:
    return rc;
}

/* --- lists -----------------------------------------------------------------
 */

static pdr_str slot_key(const void *row)
{
    return ((const pdr_slot *)row)->key;
}

static pdr_str property_key(const void *row)
{
    return ((const pdr_property *)row)->key;
}

static pdr_str completion_key(const void *row)
{
    return ((const pdr_completion *)row)->correlation_id;
}

static pdr_str settle_key(const void *row)
{
    return pdr_str_n(row, sizeof(uint64_t));
}

/* What there is to know of the rows of each list. */
static const struct row_kind {
    size_t size;
    pdr_rc (*check)(struct check *c, const void *row,
                    pdr_err *err);   /* or NULL */
    pdr_str (*key)(const void *row); /* each is there once; NULL: any number */
} kinds[LISTS] = {
    [ENTRIES] = {sizeof(pdr_entry), check_entry, NULL},
    [SLOTS] = {sizeof(pdr_slot), check_slot, slot_key},
    [PROPERTIES] = {sizeof(pdr_property), check_property, property_key},
    [COMPLETIONS] = {sizeof(pdr_completion), check_completion, completion_key},
    [DROP] = {sizeof(pdr_completion), check_dropped, completion_key},
    [SETTLE] = {sizeof(uint64_t), NULL, settle_key},
    [JOURNAL] = {sizeof(pdr_work), check_work, NULL},
    [STREAM] = {sizeof(pdr_work), check_work, NULL},
    [INBOX] = {sizeof(pdr_work), check_work, NULL},
};

static pdr_rc check_once(struct check *c, enum list list, const char *rows,
                         size_t count, pdr_err *err)
{
    const struct row_kind *kind = &kinds[list];
    struct pdr__map seen = PDR_MAP_INIT(PDR_MAX_COMMIT_ROWS);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count; i++) {
        pdr_str key = kind->key(rows + i * kind->size);
        void *old = NULL;

        if (count > FEW)
            PDR_TRY(pdr__map_put(&old, &seen, key, c, err));
        for (size_t j = 0; count <= FEW && j < i && old == NULL; j++) {
            if (pdr_str_equal(key, kind->key(rows + j * kind->size)))
                old = c;
        }
        if (old == NULL)
            continue;
        begin_row(c, list, i);
        PDR_TRY(REFUSE(c, "", BAD_EDIT,
                       "an edit names a row at most once; %s %zu is there "
                       "twice",
                       list_name(list), i));
    }
done:
    pdr__map_dispose(&seen);
    return rc;
}

/* Is one of these ids to be dropped, too? `what` is what the edit has of it. */
static pdr_rc refuse_dropped(struct check *c, const struct pdr__map *dropped,
                             pdr_str id, const char *what, pdr_err *err)
{
    char shown[PDR_SHOWN];
    void *found = NULL;

    if (id.ptr == NULL || !pdr__map_get(&found, dropped, id))
        return PDR_OK;
    return REFUSE(c, "correlation_id", BAD_EDIT,
                  "an edit drops the completion of '%s' or has %s of it, not "
                  "both",
                  pdr__shown(shown, id), what);
}

/* An edit that drops a completion writes nothing that belongs to it. */
static pdr_rc check_drop(struct check *c, pdr_err *err)
{
    struct pdr__map dropped = PDR_MAP_INIT(PDR_MAX_COMMIT_ROWS);
    const pdr_edit *e = c->edit;
    void *old = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < e->drop_count; i++)
        PDR_TRY(
            pdr__map_put(&old, &dropped, e->drop[i].correlation_id, c, err));
    for (size_t i = 0; i < e->entry_count && e->drop_count > 0; i++) {
        begin_row(c, ENTRIES, i);
        PDR_TRY(refuse_dropped(c, &dropped, e->entries[i].correlation_id,
                               "an entry", err));
    }
    for (size_t i = 0; i < e->completion_count && e->drop_count > 0; i++) {
        begin_row(c, COMPLETIONS, i);
        PDR_TRY(refuse_dropped(c, &dropped, e->completions[i].correlation_id,
                               "an outcome", err));
    }
done:
    pdr__map_dispose(&dropped);
    return rc;
}

static pdr_rc check_rows(struct check *c, pdr_err *err)
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

    begin_row(c, LISTS, 0);
    for (size_t i = 0; i < LISTS; i++) { /* I1 */
        const char *name = list_name((enum list)i);

        if (lists[i].rows == NULL && lists[i].count > 0)
            return REFUSE(c, name, BAD_EDIT, "%zu %s, and no pointer to them",
                          lists[i].count, name);
        if (!pdr__add_size(&c->rows[i], c->rows[i], lists[i].count) ||
            c->rows[i] > PDR_MAX_COMMIT_ROWS)
            return REFUSE(c, name, COMMIT_TOO_LARGE,
                          "a commit carries at most %u %s; write it as several",
                          PDR_MAX_COMMIT_ROWS, name);
    }
    for (size_t i = 0; i < LISTS; i++) {
        const char *rows = lists[i].rows;

        for (size_t k = 0; k < lists[i].count && kinds[i].check != NULL; k++) {
            begin_row(c, (enum list)i, k);
            PDR_TRY(kinds[i].check(c, rows + k * kinds[i].size, err));
        }
        if (kinds[i].key != NULL)
            PDR_TRY(check_once(c, (enum list)i, rows, lists[i].count, err));
    }
    PDR_TRY(check_drop(c, err));
done:
    return rc;
}

/* --- edits -----------------------------------------------------------------
 */

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
        return REFUSE(c, "remove", BAD_EDIT,
                      "a session is deleted at a revision that was read");
    if (e->remove &&
        (pdr__edit_moves(e) || does_work(e) || e->lease.verb != PDR_LEASE_KEEP))
        return REFUSE(c, "remove", BAD_EDIT,
                      "an edit that deletes a session does nothing else");
    if (any && pdr__edit_moves(e))
        return REFUSE(c, "revision", BAD_EDIT,
                      "an edit of the state, expiry, TTL, frame, entries, "
                      "slots or properties names the revision that was read");
    if (e->or_create && !any)
        return REFUSE(c, "or_create", BAD_EDIT,
                      "or_create goes with PDR_ANY_REVISION; revision 0 makes "
                      "a session");
    if (e->revision == 0 && e->epoch != 0)
        return REFUSE(c, "epoch", BAD_EDIT,
                      "a session that is made has no epoch yet");
    if (e->revision == 0 && e->entries_through != 0)
        return REFUSE(c, "entries_through", BAD_EDIT,
                      "a session that is made has no entries to remove");
    return PDR_OK;
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

/* What the types leave open about a step of a stage. */
static pdr_rc check_step(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;
    const pdr_stage *stage = c->step->stage;
    pdr_stage_verb verb = c->step->verb;

    if (verb == PDR_STAGE_BEGIN && stage->epoch != 0)
        return REFUSE(c, "epoch", BAD_EDIT,
                      "this session is being staged already; add to it");
    if ((verb == PDR_STAGE_ADD || verb == PDR_STAGE_ABANDON) &&
        stage->epoch == 0)
        return REFUSE(c, "epoch", BAD_EDIT, "the stage has not begun yet");
    if (verb == PDR_STAGE_ABANDON)
        return PDR_OK;
    if (stage->epoch == 0 && e->revision != 0)
        return REFUSE(c, "revision", BAD_EDIT,
                      "a session that takes the place of another one is staged "
                      "first");
    if ((verb == PDR_STAGE_BEGIN || verb == PDR_STAGE_ADD) &&
        stage->until_ms == INT64_MIN)
        return REFUSE(c, "until_ms", BAD_EDIT,
                      "a staged session is kept until some time");
    if (stage->origin == NULL) {
        if (e->journal_count == 0 && e->stream_count == 0 &&
            e->inbox_count == 0)
            return PDR_OK;
        return REFUSE(c,
                      e->journal_count > 0  ? "journal"
                      : e->stream_count > 0 ? "stream"
                                            : "inbox",
                      BAD_EDIT,
                      "only a copy of a session of another store is staged "
                      "with work");
    }
    if (!is_origin(stage->origin))
        return REFUSE(c, "origin", BAD_EDIT,
                      "the origin of a copy is the head of a session, as it "
                      "was read");
    if (e->set_state || e->expiry != PDR_EXPIRY_KEEP)
        return REFUSE(c, e->set_state ? "state" : "expiry", BAD_EDIT,
                      "the state and the times of a copy are those of its "
                      "origin");
    return PDR_OK;
}

static pdr_rc check_lease(struct check *c, pdr_err *err)
{
    const pdr_lease_edit *lease = &c->edit->lease;

    switch (lease->verb) {
    case PDR_LEASE_KEEP:
        return PDR_OK;
    case PDR_LEASE_TAKE:
        if (lease->fence != 0)
            return REFUSE(c, "lease/fence", BAD_EDIT,
                          "who takes a lease has no fence yet; renew it "
                          "instead");
        return check_name(c, lease->owner, 1, PDR_MAX_OWNER_BYTES,
                          "lease/owner", err);
    case PDR_LEASE_RENEW:
    case PDR_LEASE_RELEASE:
        if (lease->fence == 0)
            return REFUSE(c, "lease/fence", BAD_EDIT,
                          "a lease is renewed and released with the fence that "
                          "came with it");
        return PDR_OK;
    }
    return refuse_value(c, "lease/verb", (unsigned)lease->verb, err);
}

static pdr_rc check_head(struct check *c, pdr_err *err)
{
    const pdr_edit *e = c->edit;
    pdr_rc rc = PDR_OK;

    if (e->set_state && (unsigned)e->state > PDR_SESSION_EXPIRED)
        return refuse_value(c, "state", (unsigned)e->state, err);
    if ((unsigned)e->expiry > PDR_EXPIRY_CLEAR)
        return refuse_value(c, "expiry", (unsigned)e->expiry, err);
    PDR_TRY(check_maybe(c, e->agent, 1, PDR_MAX_AGENT_BYTES, "agent", err));
    PDR_TRY(check_maybe(c, e->kind, 1, PDR_MAX_KIND_BYTES, "kind", err));
    PDR_TRY(check_maybe(c, e->schema_version, 1, PDR_MAX_KIND_BYTES,
                        "schema_version", err));
    PDR_TRY(check_lease(c, err));
    begin_row(c, LISTS, 0); /* the frame is a row of its own */
    if (!is_absent(e->frame))
        PDR_TRY(check_json(c, e->frame, 0, "frame", err));
done:
    return rc;
}

static pdr_rc check_edit(struct check *c, pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_ref ref;
    pdr_rc rc = PDR_OK;

    begin_row(c, LISTS, 0);
    rc = pdr__ref_check(&ref, &c->edit->ref, err);
    if (rc != PDR_OK)
        return say_where(c, "ref", rc, err);
    c->bytes += ref.tenant.len + ref.id.len;
    PDR_TRY(c->step != NULL ? check_step(c, err) : check_bounds(c, err));
    PDR_TRY(check_head(c, err));
    PDR_TRY(check_rows(c, err));
done:
    if (rc == PDR_OK || rc == PDR_ENOMEM)
        return rc;
    return pdr__wrap(err, rc, "session '%s'", pdr__shown(shown, ref.id));
}

/* --- commits ---------------------------------------------------------------
 */

static pdr_rc check_sessions_once(struct check *c, const pdr_edit *edits,
                                  size_t count, pdr_err *err)
{
    struct pdr__map seen = PDR_MAP_INIT(PDR_MAX_COMMIT_EDITS);
    char room[PDR_MAX_TENANT_BYTES + 1 + PDR_MAX_ID_BYTES];
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && count > 1; i++) {
        pdr_str tenant = edits[i].ref.tenant, id = edits[i].ref.id;
        void *old = NULL;

        if (tenant.ptr == NULL)
            tenant = PDR_LIT(PDR_DEFAULT_TENANT);
        memcpy(room, tenant.ptr, tenant.len); /* neither holds a NUL */
        room[tenant.len] = '\0';
        memcpy(room + tenant.len + 1, id.ptr, id.len);
        PDR_TRY(pdr__map_put(&old, &seen,
                             pdr_str_n(room, tenant.len + 1 + id.len), c, err));
        if (old == NULL)
            continue;
        c->number = i;
        begin_row(c, LISTS, 0);
        PDR_TRY(REFUSE(c, "ref", BAD_EDIT,
                       "session '%s' has two edits in one commit; make them "
                       "one",
                       pdr__shown(shown, id)));
    }
done:
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
    for (; c.number < count; c.number++) {
        c.edit = &edits[c.number];
        PDR_TRY(check_edit(&c, err));
    }
    PDR_TRY(check_sessions_once(&c, edits, count, err));
    *bytes = c.bytes;
done:
    return rc;
}

pdr_rc pdr__step_check(pdr_edit *out, size_t *bytes, const pdr_request *step,
                       pdr_err *err)
{
    static const pdr_rows no_rows;
    static const pdr_show_opts nobody;
    const pdr_stage *stage = step->stage;
    const pdr_rows *rows = step->rows;
    const pdr_show_opts *show = step->show;
    pdr_stage named; /* what counts of one that is given up */
    struct check c;
    pdr_rc rc = PDR_OK;

    if ((unsigned)step->verb > PDR_STAGE_ABANDON || step->count > 0)
        return PDR_FAIL(err, BAD_EDIT,
                        "a commit has edits, or is one step of a stage");
    if (step->verb == PDR_STAGE_ABANDON) {
        named = (pdr_stage){.ref = stage->ref, .epoch = stage->epoch};
        stage = &named;
        rows = NULL;
    }
    if (rows == NULL)
        rows = &no_rows;
    if (show == NULL || step->verb != PDR_STAGE_SHOW)
        show = &nobody;
    *out = (pdr_edit){
        .ref = stage->ref,
        .revision = show->revision,
        .epoch = stage->epoch,
        .commits = show->commits,
        .lease = {.fence = show->fence},
        .agent = stage->agent,
        .kind = stage->kind,
        .schema_version = stage->schema_version,
        .set_state = show->set_state,
        .state = show->state,
        .expiry = show->expiry,
        .expiry_ms = show->expiry_ms,
        .frame = rows->frame,
        .entries = rows->entries,
        .entry_count = rows->entry_count,
        .slots = rows->slots,
        .slot_count = rows->slot_count,
        .properties = rows->properties,
        .property_count = rows->property_count,
        .completions = rows->completions,
        .completion_count = rows->completion_count,
        .journal = rows->journal,
        .journal_count = rows->journal_count,
        .stream = rows->stream,
        .stream_count = rows->stream_count,
        .inbox = rows->inbox,
        .inbox_count = rows->inbox_count,
    };
    memset(&c, 0, sizeof(c));
    c.edit = out;
    c.step = step;
    rc = check_edit(&c, err);
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
        PDR_TRY(check_word(f->agent, "an agent's name", 1, PDR_MAX_AGENT_BYTES,
                           err));
    if (f->id_prefix.ptr != NULL)
        PDR_TRY(check_word(f->id_prefix, "the beginning of an id", 0,
                           PDR_MAX_ID_BYTES, err));
    if (f->property.ptr == NULL)
        return PDR_OK;
    PDR_TRY(check_word(f->property, "the key of a property", 1,
                       PDR_MAX_KEY_BYTES, err));
    PDR_TRY(check_word(f->match, "the match of a property", 0,
                       PDR_MAX_MATCH_BYTES, err));
done:
    return rc;
}

static bool has_filter(const pdr_filter *f)
{
    return f->agent.ptr != NULL || f->by_state || f->changed_from_ms != 0 ||
           f->changed_to_ms != 0 || f->property.ptr != NULL ||
           f->match.ptr != NULL || f->id_prefix.ptr != NULL;
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
    PDR_TRY(check_members(&q, kind, err));
    PDR_TRY(check_filter(&q.filter, err));
    PDR_TRY(check_whose(&q, kind, err));
    if (q.limit == 0)
        q.limit = PDR_DEFAULT_PAGE_ROWS;
    if (q.max_bytes == 0)
        q.max_bytes = PDR_DEFAULT_PAGE_BYTES;
    *out = q;
done:
    return rc;
}
