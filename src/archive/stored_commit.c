/*
 * stored_commit.c - what is changed in a stored session, and its commit.
 *
 * WHY  A turn adds messages, sets slots, a state, properties. All of it waits
 *      in memory and becomes one edit at the revision that was read: it is
 *      stored together, or not at all.
 *
 * INVARIANTS
 *   M1  A change that fails changes nothing, and a commit that fails keeps all
 *       changes.
 *   M2  After a commit the view is what is stored: `loaded` is the bag that was
 *       written, and the head has its revision.
 *
 * NOT HERE  What a view is: stored.c.
 */
#include "stored.h"

#include <perdure/doc.h>
#include <perdure/json.h>

#define UPDATE_TRIES 20 /* to begin an update anew */

/* --- changing -------------------------------------------------------------
 */

void pdr__changes_dispose(struct pdr__changes *c)
{
    for (size_t i = 0; i < c->entry_count; i++)
        pdr_value_free(c->entries[i].body);
    PDR_MAP_EACH (property, &c->properties)
        pdr_value_free(property->value);
    pdr__map_dispose(&c->properties);
    pdr__arena_dispose(&c->memory);
    pdr__free(c->entries);
}

static pdr_rc entry_push(struct pdr__changes *c, struct pdr__new_entry entry,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&c->entries, &c->entry_cap, c->entry_count + 1,
                      sizeof(*c->entries), err));
    PDR_TRY(pdr__arena_keep(&entry.correlation_id, &c->memory, err));
    entry.body = pdr_value_ref(entry.body);
    c->entries[c->entry_count++] = entry;
done:
    return rc;
}

void pdr__changes_cut(struct pdr__changes *c, size_t count)
{
    while (c->entry_count > count)
        pdr_value_free(c->entries[--c->entry_count].body);
}

pdr_rc pdr_stored_add_messages(pdr_stored *s, pdr_str correlation_id,
                               const pdr_value *const *messages, size_t count,
                               pdr_err *err)
{
    struct pdr__changes *c = NULL;
    size_t before = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL && (messages != NULL || count == 0));
    c = &s->changes;
    before = c->entry_count;
    if (s->view->is_durable)
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        "the history of a durable session is requests and "
                        "responses: add one with pdr_stored_add_entry()");
    for (size_t i = 0; i < count; i++) {
        if (pdr_value_kind(messages[i]) != PDR_OBJECT)
            PDR_TRY(PDR_FAIL(err, WRONG_KIND,
                             "a message is an object, message %zu is %s", i,
                             pdr__kind_phrase(messages[i])));
        PDR_TRY(entry_push(
            c,
            (struct pdr__new_entry){.kind = PDR_ROW_MESSAGE,
                                    .correlation_id = correlation_id,
                                    .body = (pdr_value *)messages[i]},
            err));
    }
done:
    if (rc != PDR_OK)
        pdr__changes_cut(c, before);
    return rc;
}

pdr_rc pdr_stored_add_entry(pdr_stored *s, const pdr_value *entry, pdr_err *err)
{
    struct pdr__new_entry made = {.body = (pdr_value *)entry};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_entry_kind kind = PDR_ENTRY_OTHER;
    const pdr_value *id = NULL;
    int64_t time = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL && entry != NULL);
    kind = pdr_entry_kind_of(entry);
    if (kind == PDR_ENTRY_OTHER || !s->view->is_durable)
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        kind == PDR_ENTRY_OTHER
                            ? "the entry is neither a request nor a response"
                            : "the history of this session is messages: add "
                              "them with pdr_stored_add_messages()");
    made.kind = kind == PDR_ENTRY_REQUEST ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE;
    time = pdr__body_time(entry, PDR_ROW_STATE);
    if (time != PDR_NO_TIME)
        made.created_ms = time;
    id = pdr_entry_correlation_id(entry);
    if (id != NULL)
        PDR_TRY(pdr_value_text(&made.correlation_id, id, &scratch, err));
    PDR_TRY(entry_push(&s->changes, made, err));
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

void pdr_stored_set_state(pdr_stored *s, pdr_session_state state)
{
    s->changes.sets_state = true;
    s->changes.state = state;
}

void pdr__changes_expiry(struct pdr__changes *c, int64_t expiry_ms)
{
    c->expiry = expiry_ms == PDR_NEVER ? PDR_EXPIRY_CLEAR : PDR_EXPIRY_SET;
    c->expiry_ms = expiry_ms;
}

void pdr_stored_set_expiry(pdr_stored *s, int64_t expiry_ms)
{
    pdr__changes_expiry(&s->changes, expiry_ms);
}

pdr_rc pdr__changes_property(struct pdr__changes *c, pdr_str key,
                             const pdr_value *value, pdr_err *err)
{
    pdr_value *shared = NULL;
    void *old = NULL;
    pdr_rc rc = pdr__key_check(key, err);

    if (rc != PDR_OK)
        return rc;
    shared = value != NULL ? pdr_value_ref(value) : NULL;
    rc = pdr__map_put(&old, &c->properties, key, shared, err);
    pdr_value_free(rc == PDR_OK ? old : shared);
    return rc;
}

pdr_rc pdr_stored_set_property(pdr_stored *s, pdr_str key,
                               const pdr_value *value, pdr_err *err)
{
    PDR_REQUIRE(s != NULL);
    return pdr__changes_property(&s->changes, key, value, err);
}

/* Behind what may stand between two tokens. The text of the document is a
 * string in the frame: its line breaks are \n, and its quotes \". */
static const char *skip_blanks(const char *at, const char *end)
{
    for (;;) {
        if (at < end && *at == ' ')
            at++;
        else if (end - at > 1 && *at == '\\' && memchr("nrt", at[1], 3) != NULL)
            at += 2;
        else
            return at;
    }
}

/* Where a member called `name` has a sentinel, with its quotes; absent if it
 * has none. A text inside of a string has other quotes. */
static pdr_str sentinel_find(pdr_str frame, pdr_str name)
{
    const char *at = frame.ptr, *end = frame.ptr + frame.len;

    while ((at = memmem(at, (size_t)(end - at), name.ptr, name.len)) != NULL) {
        const char *open = skip_blanks(at += name.len, end), *close = NULL;

        if (open == end || *open != ':')
            continue;
        open = skip_blanks(open + 1, end);
        if (end - open < 4 || memcmp(open, "\\\"", 2) != 0)
            continue;
        close = memmem(open + 2, (size_t)(end - open - 2), "\\\"", 2);
        if (close != NULL &&
            pdr__is_sentinel(pdr_str_n(open + 2, (size_t)(close - open - 2))))
            return pdr_str_n(open, (size_t)(close + 2 - open));
    }
    return (pdr_str){NULL, 0};
}

pdr_rc pdr__stored_clear_sentinel(pdr_stored *s, const char *member,
                                  pdr_err *err)
{
    const pdr_str frame =
        s->view->page != NULL ? s->view->page->frame : (pdr_str){NULL, 0};
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    pdr_str old = {NULL, 0};
    size_t before = 0;
    pdr_rc rc = PDR_OK;

    if (frame.len == 0)
        return PDR_OK;
    PDR_TRY(pdr_buf_printf(&text, err, "\\\"%s\\\"", member));
    old = sentinel_find(frame, pdr_buf_str(&text));
    if (old.ptr == NULL)
        goto done;
    before = (size_t)(old.ptr - frame.ptr);
    pdr_buf_clear(&text);
    PDR_TRY(pdr_buf_append(&text, pdr_str_n(frame.ptr, before), err));
    PDR_TRY(pdr_buf_append(&text, PDR_LIT("null"), err));
    PDR_TRY(pdr_buf_append(
        &text, pdr_str_n(old.ptr + old.len, frame.len - before - old.len),
        err));
    s->changes.frame = pdr_buf_str(&text);
    PDR_TRY(pdr__arena_keep(&s->changes.frame, &s->changes.memory, err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

/* --- committing -----------------------------------------------------------
 */

/* An edit that is being put together. */
struct edit {
    const pdr_stored *stored;
    struct pdr__arena memory; /* of keys, texts and rows */
    pdr_slot *slots;          /* owned */
    size_t slot_count, slot_cap;
};

/* The JSON text of a value: its own bytes, or a copy in arena. */
static pdr_rc value_bytes(pdr_str *out, struct pdr__arena *memory,
                          const pdr_value *value, pdr_err *err)
{
    const pdr_write_opts as_read = {.flags = PDR_BARE_TOKENS,
                                    .layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    if (pdr_value_raw(out, value))
        return PDR_OK;
    PDR_TRY(pdr_json_write(&text, value, &as_read, err));
    *out = pdr_buf_str(&text);
    PDR_TRY(pdr__arena_keep(out, memory, err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

/* May a row of this key be set or removed? What the document has beside the
 * messages is not a row. */
static pdr_rc slot_check(const pdr_stored *s, pdr_str key, bool removes,
                         pdr_err *err)
{
    if (removes && !s->view->has_history_slot)
        return PDR_OK;
    if (s->opts.rows_only)
        return PDR_FAIL(err, BAG_SEALED, "%s",
                        "the session was opened for its rows only: slots can "
                        "be removed, not set");
    return pdr__frame_check_slot(&s->view->doc.frame, key, err);
}

pdr_rc pdr_stored_check_slot(const pdr_stored *s, pdr_str key, bool removes,
                             pdr_err *err)
{
    pdr_buf escaped = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL);
    PDR_TRY(pdr__key_check(key, err));
    PDR_TRY(pdr__text_encode(&escaped, key, err));
    PDR_TRY(slot_check(s, pdr_buf_str(&escaped), removes, err));
done:
    pdr_buf_dispose(&escaped);
    return rc;
}

/* A pdr__slot_fn. */
static pdr_rc edit_add_slot(pdr_str name, const pdr_value *value, pdr_err *err,
                            void *arg)
{
    struct edit *e = arg;
    pdr_buf escaped = PDR_BUF_INIT(SIZE_MAX);
    pdr_slot slot = {.key = {NULL, 0}};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&e->slots, &e->slot_cap, e->slot_count + 1,
                      sizeof(*e->slots), err));
    PDR_TRY(pdr__text_encode(&escaped, name, err));
    slot.key = pdr_buf_str(&escaped);
    PDR_TRY(slot_check(e->stored, slot.key, value == NULL, err));
    PDR_TRY(pdr__arena_keep(&slot.key, &e->memory, err));
    if (value != NULL)
        PDR_TRY(value_bytes(&slot.value, &e->memory, value, err));
    e->slots[e->slot_count++] = slot;
done:
    pdr_buf_dispose(&escaped);
    return rc;
}

static pdr_rc edit_add_entries(pdr_edit *edit, struct edit *e, pdr_err *err)
{
    const struct pdr__changes *c = &e->stored->changes;
    pdr_entry *rows = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__arena_alloc((void **)&rows, &e->memory,
                             c->entry_count * sizeof(*rows), err));
    for (size_t i = 0; i < c->entry_count; i++) {
        const struct pdr__new_entry *entry = &c->entries[i];

        rows[i] = (pdr_entry){
            .kind = entry->kind,
            .shape = (pdr_row_shape)pdr_stored_shape(e->stored),
            .correlation_id = entry->correlation_id,
            .created_ms = entry->created_ms,
        };
        PDR_TRY(value_bytes(&rows[i].body, &e->memory, entry->body, err));
    }
    edit->entries = rows;
    edit->entry_count = c->entry_count;
done:
    return rc;
}

static pdr_rc edit_add_properties(pdr_edit *edit, struct edit *e, pdr_err *err)
{
    const struct pdr__map *map = &e->stored->changes.properties;
    pdr_buf match = PDR_BUF_INIT(SIZE_MAX);
    pdr_property *rows = NULL;
    bool found = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__arena_alloc((void **)&rows, &e->memory,
                             map->count * sizeof(*rows), err));
    PDR_MAP_EACH (property, map) {
        pdr_property *row = &rows[edit->property_count++];

        *row = (pdr_property){.key = property->key};
        if (property->value == NULL)
            continue;
        PDR_TRY(value_bytes(&row->value, &e->memory, property->value, err));
        pdr_buf_clear(&match);
        PDR_TRY(pdr_property_match(&match, &found, property->value, err));
        if (!found)
            continue;
        row->match = match.len > 0 ? pdr_buf_str(&match) : PDR_LIT("");
        PDR_TRY(pdr__arena_keep(&row->match, &e->memory, err));
    }
    edit->properties = rows;
done:
    pdr_buf_dispose(&match);
    return rc;
}

/* The handle is at the revision that the commit made; `now` is the bag that it
 * wrote (M2). */
static void stored_advance(pdr_stored *s, pdr_value *now, const pdr_edit *edit,
                           const pdr_committed *done)
{
    const struct pdr__changes none = PDR_CHANGES_INIT;

    for (size_t i = 0; s->keeps_tail && i < edit->entry_count; i++) {
        pdr_entry row = edit->entries[i];

        row.seq = done->first_seq + i;
        if (pdr__tail_push(s, &row, s->changes.entries[i].body, NULL) != PDR_OK)
            s->is_stale = true;
    }
    s->is_stale |= edit->frame.ptr != NULL;
    pdr_value_free(s->view->loaded);
    s->view->loaded = now;
    pdr__stored_follow(s, &done->head);
    pdr__changes_dispose(&s->changes);
    s->changes = none;
}

void pdr__stored_follow(pdr_stored *s, const pdr_head *head)
{
    const pdr_head old = s->view->head;
    pdr_head *own = &s->view->head;

    *own = *head;
    own->ref = old.ref;
    own->agent = old.agent;
    own->kind = old.kind;
    own->schema_version = old.schema_version;
    if (head->lease.until_ms != 0 && head->lease.fence == old.lease.fence)
        own->lease.owner = old.lease.owner;
}

pdr_rc pdr__stored_commit_by(pdr_stored *s, pdr_err *err, pdr__commit_fn fn,
                             void *arg)
{
    struct edit e = {.stored = s, .memory = PDR_ARENA_INIT(SIZE_MAX)};
    pdr_committed done = {.revision = 0};
    pdr_err why = PDR_ERR_INIT;
    const pdr_head *head = NULL;
    pdr_value *now = NULL;
    pdr_edit edit;
    pdr_rc rc = PDR_OK;

    head = &s->view->head;
    now = pdr_bag_snapshot(pdr_session_bag(s->view->session));
    edit = (pdr_edit){.ref = s->ref,
                      .revision = head->revision,
                      .epoch = head->epoch,
                      .set_state = s->changes.sets_state,
                      .state = s->changes.state,
                      .expiry = s->changes.expiry,
                      .expiry_ms = s->changes.expiry_ms,
                      .frame = s->changes.frame};
    if (head->revision == 0) {
        edit.agent = head->agent;
        edit.kind = head->kind;
    }
    PDR_TRY(pdr__stored_alive(s, err));
    PDR_TRY(pdr__slots_compare(s->view->loaded, now, err, edit_add_slot, &e));
    edit.slots = e.slots;
    edit.slot_count = e.slot_count;
    PDR_TRY(edit_add_entries(&edit, &e, err));
    PDR_TRY(edit_add_properties(&edit, &e, err));
    rc = fn(&done, &edit, &why, arg);
    if (pdr__err_is(&why, PDR_R_SESSION_EXISTS))
        rc = pdr__stored_late(s, err);
    else if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
    if (rc != PDR_OK)
        goto done;
    if (done.revision > 0) { /* else there was nothing to write */
        stored_advance(s, now, &edit, &done);
        now = NULL;
    }
done:
    pdr_value_free(now);
    pdr__free(e.slots);
    pdr__arena_dispose(&e.memory);
    return rc;
}

struct usual_commit {
    pdr_store *store;
    const pdr_commit_options *options;
};

/* A pdr__commit_fn. */
static pdr_rc commit_usual(pdr_committed *out, const pdr_edit *edit,
                           pdr_err *err, void *arg)
{
    const struct usual_commit *c = arg;

    if (edit->revision > 0 && edit->slot_count == 0 && edit->entry_count == 0 &&
        edit->property_count == 0 && !edit->set_state &&
        edit->expiry == PDR_EXPIRY_KEEP && edit->frame.len == 0)
        return PDR_OK;
    return pdr_store_commit(out, c->store, edit, 1, c->options, err);
}

pdr_rc pdr_stored_commit(pdr_stored *s, const pdr_commit_options *options,
                         pdr_err *err)
{
    PDR_REQUIRE(s != NULL && options != NULL);
    struct usual_commit usual = {s->store, options};

    return pdr__stored_commit_by(s, err, commit_usual, &usual);
}

pdr_rc pdr__stored_rebase(pdr_stored *s, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = s->ref};
    pdr_head *head = &s->view->head;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_store_read(&page, s->store, &query, err));
    if (page->head.epoch != head->epoch)
        PDR_TRY(pdr__stored_late(s, err));
    head->revision = page->head.revision;
    head->next_seq = page->head.next_seq;
    s->is_stale = true;
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr_stored_update(pdr_stored *s, const pdr_commit_options *options,
                         pdr_err *err, pdr_stored_fn fn, void *arg)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL && options != NULL && fn != NULL);
    for (int i = 0; i < UPDATE_TRIES; i++) {
        why = (pdr_err)PDR_ERR_INIT; /* `fn` need not fill it */
        if (i > 0)
            PDR_TRY(pdr_stored_reload(s, &why));
        rc = fn(s, &why, arg);
        if (rc == PDR_OK)
            rc = pdr_stored_commit(s, options, &why);
        if (rc != PDR_ECONFLICT)
            break;
    }
done:
    if (rc != PDR_OK && err != NULL)
        *err = why;
    return rc;
}
