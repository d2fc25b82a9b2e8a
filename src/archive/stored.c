/*
 * stored.c - a session in a store, as a session: opened and loaded.
 *
 * WHY  A store has rows, a program wants a session: ids, a bag, the last
 *      messages. A handle is what was read at one revision (a view) and what
 *      is to be written at that revision (the changes). Nothing here decides
 *      what a commit means; the plan of the store does.
 *
 *        open ──► view ──► load ──► bag ─┐
 *                  ▲                     ├─► commit ─► view at the new revision
 *                  │        add, set ────┘      │
 *                  └────────── reload ◄── conflict
 *
 * INVARIANTS
 *   H1  Everything in a view is of one revision: a row of another one is a
 *       conflict.
 *   H2  `loaded` is the bag as it is stored, as far as it was loaded. What
 *       differs from it now is what a commit writes.
 *   H3  A view is replaced as a whole or not at all.
 *
 * NOT HERE  What is changed, and the commit: stored_commit.c. The history:
 *           stored_history.c.
 */
#include "stored.h"

#include <perdure/doc.h>
#include <perdure/json.h>

#include "core.h"
#include "store.h"

/* Times to look again at a session that is replaced while it is opened. */
#define OPEN_TRIES 10

const pdr_read_opts pdr__stored_reading = {
    .flags = PDR_BARE_TOKENS, .max_depth = 1024}; /* counted when it came in */

pdr_rc pdr__stored_alive(const pdr_stored *s, pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (!pdr__life_is_over(s->life))
        return PDR_OK;
    return PDR_FAIL(err, STORE_CLOSED,
                    "the store of session '%s' is closed: open both again",
                    pdr__shown(shown, s->ref.id));
}

pdr_rc pdr__stored_late(const pdr_stored *s, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, REVISION_CHANGED,
                    "session '%s' was written by somebody else since it was "
                    "read: reload it and try again",
                    pdr__shown(shown, s->ref.id));
}

/* --- a view ---------------------------------------------------------------
 */

static void view_free(struct pdr__view *v)
{
    if (v == NULL)
        return;
    pdr_value_free(v->loaded);
    pdr_session_free(v->session);
    pdr__held_dispose(&v->doc.bag);
    pdr__frame_dispose(&v->doc.frame);
    pdr_buf_dispose(&v->doc.out);
    pdr_page_free(v->page);
    pdr__free(v);
}

/* Read the head, and the frame of the same moment if there is one and it is
 * wanted. No page if there is no session. */
static pdr_rc view_read(struct pdr__view *v, const pdr_stored *s, pdr_err *err)
{
    const pdr_stored_opts *opts = &s->opts;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr__stored_alive(s, err);

    if (rc != PDR_OK)
        return rc;
    for (int i = 0; i < OPEN_TRIES; i++) {
        pdr_query query = {.what = PDR_READ_HEAD, .ref = s->ref};

        rc = pdr_store_read(&v->page, s->store, &query, &why);
        if (rc != PDR_OK || !v->page->head.has_frame || opts->rows_only)
            break;
        pdr_page_free(v->page);
        v->page = NULL;
        query.what = PDR_READ_FRAME;
        rc = pdr_store_read(&v->page, s->store, &query, &why);
        if (rc != PDR_ENOTFOUND) /* else it was replaced meanwhile */
            break;
    }
    if (rc == PDR_OK) {
        v->head = v->page->head;
        return PDR_OK;
    }
    if (!opts->create || !pdr__err_is(&why, PDR_R_NO_SESSION))
        return pdr__err_pass(err, &why);
    if (pdr__is_durable_id(s->ref.id) !=
        (opts->kind == PDR_SESSION_KIND_DURABLE))
        return PDR_FAIL(err, SESSION_KIND,
                        "a durable session has an id such as @dafx-NAME@KEY, "
                        "and no other session has: this one is to be of the "
                        "kind %s",
                        pdr_session_kind_name(opts->kind));
    v->head = (pdr_head){.ref = s->ref,
                         .agent = opts->agent,
                         .kind = pdr_str_c(pdr_session_kind_name(opts->kind)),
                         .expiry_ms = PDR_NEVER,
                         .first_seq = 1,
                         .next_seq = 1};
    return PDR_OK;
}

/* The document without its rows, read as a session: the ids are in there. What
 * it has beside the messages stays in the slot of the history; the messages are
 * entries. */
static pdr_rc view_read_document(struct pdr__view *v, pdr_err *err)
{
    pdr_head bare = v->head;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *document = NULL, *slot = NULL;
    pdr_bag *bag = NULL;
    pdr_str key = {NULL, 0};
    pdr_rc rc = PDR_OK;

    bare.slots = 0;
    bare.first_seq = bare.next_seq;
    v->doc.head = &bare;
    v->doc.bare = true;
    v->doc.fn = pdr_write_buf;
    v->doc.arg = &text;
    PDR_TRY(pdr__compose_write(&v->doc, err));
    PDR_TRY(pdr_json_read_take(&document, &text, &pdr__stored_reading, err));
    PDR_TRY(pdr_session_from_value(&v->session, document, err));
    bag = pdr_session_bag(v->session);
    key = pdr_str_c(pdr_session_history_key(v->session));
    if (v->head.first_seq == v->head.next_seq || !pdr_bag_has(bag, key))
        goto done;
    PDR_TRY(pdr_bag_get(&slot, bag, key, err));
    if (pdr_value_get_c(slot, "messages") == NULL)
        goto done;
    if (pdr_value_count(slot) == 1) {
        rc = pdr_bag_remove(bag, key, err);
        goto done;
    }
    PDR_TRY(pdr_value_remove(&slot, PDR_LIT("messages"), err));
    PDR_TRY(pdr_bag_set(bag, key, slot, err));
done:
    v->doc.head = &v->head;
    pdr_value_free(slot);
    pdr_value_free(document);
    pdr_buf_dispose(&text);
    return rc;
}

/* A session that no document has around it: a durable one, or one of which only
 * the rows are wanted. */
static pdr_rc view_make_session(struct pdr__view *v, pdr_err *err)
{
    pdr_session_parts parts = {.shape = PDR_SESSION_NATIVE};
    pdr_str id = v->head.ref.id;
    pdr_value *nothing = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (pdr_durable_id_read(&parts.agent, &parts.key, NULL, id, NULL) == PDR_OK)
        parts.kind = PDR_SESSION_KIND_DURABLE;
    else
        parts.id = id;
    rc = pdr_session_new(&v->session, &parts, &why);
    if (rc != PDR_OK && rc != PDR_EINVALID)
        return pdr__err_pass(err, &why);
    if (rc == PDR_OK)
        return PDR_OK;
    /* A store takes ids that no document can have. */
    PDR_TRY(pdr_json_read(&nothing, PDR_LIT("{\"stateBag\":{}}"), NULL, err));
    PDR_TRY(pdr_session_from_value(&v->session, nothing, err));
done:
    pdr_value_free(nothing);
    return rc;
}

static pdr_rc view_open(struct pdr__view **out, const pdr_stored *s,
                        pdr_err *err)
{
    const struct pdr__frame no_frame = PDR_FRAME_INIT;
    const pdr_buf no_bytes = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    struct pdr__view *v = pdr__calloc(1, sizeof(*v));
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (v == NULL)
        return pdr__nomem(err);
    v->doc.frame = no_frame;
    v->doc.out = no_bytes;
    v->doc.store = s->store;
    v->doc.head = &v->head;
    v->doc.bag.held = true; /* no rows */
    PDR_TRY(view_read(v, s, err));
    if (!s->opts.rows_only && v->head.has_frame) {
        PDR_TRY(pdr__frame_read(&v->doc.frame, v->page->frame, err));
    } else if (!s->opts.rows_only) {
        if (!pdr__kind_is_known(v->head.kind))
            PDR_TRY(PDR_FAIL(err, SESSION_KIND,
                             "the session is of the kind '%s', which this "
                             "library does not know",
                             pdr__shown(shown, v->head.kind)));
        PDR_TRY(pdr__frame_native(&v->doc.frame, &v->head, err));
    }
    v->is_durable = s->opts.rows_only
                        ? pdr_str_equal(v->head.kind, PDR_LIT("durable"))
                        : v->doc.frame.shape == PDR_ROW_STATE;
    if (s->opts.rows_only || pdr__frame_is_state(&v->doc.frame))
        PDR_TRY(view_make_session(v, err));
    else
        PDR_TRY(view_read_document(v, err));
    v->loaded = pdr_bag_snapshot(pdr_session_bag(v->session));
    v->has_history_slot = pdr_value_count(v->loaded) > 0;
    *out = v;
    v = NULL;
done:
    view_free(v);
    return rc;
}

/* What differs between the bag and what was loaded (H2). A bag that nobody
 * wrote to is the same value, so that it costs nothing. */
pdr_rc pdr__slots_compare(const pdr_value *before, const pdr_value *now,
                          pdr_err *err, pdr__slot_fn fn, void *arg)
{
    const pdr_value *sides[] = {now, before};
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str name = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    for (int i = 0; now != before && i < 2; i++) {
        pdr_iter_init(&it, sides[i]);
        while (pdr_iter_next(&it)) {
            const pdr_value *other = NULL;

            PDR_TRY(pdr__value_name_bytes(&name, it.name, &scratch, err));
            if (!pdr__iter_is_last(&it, name))
                continue;
            other = pdr_value_get(sides[1 - i], name);
            if (i == 0 ? !pdr_value_equal(it.value, other) : other == NULL)
                PDR_TRY(fn(name, i == 0 ? it.value : NULL, err, arg));
        }
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- opening --------------------------------------------------------------
 */

/* Read the session as it is now, in place of what was read before. One that is
 * not there yet begins with what it is to be made with. */
pdr_rc pdr_stored_reload(pdr_stored *s, pdr_err *err)
{
    const struct pdr__changes none = PDR_CHANGES_INIT;
    struct pdr__changes first = none;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    struct pdr__view *view = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL);
    PDR_TRY(view_open(&view, s, err));
    pdr_iter_init(&it, view->head.revision == 0 ? s->properties : NULL);
    while (pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};

        PDR_TRY(pdr_value_text(&name, it.name, &scratch, err));
        PDR_TRY(pdr__changes_property(&first, name, it.value, err));
    }
    if (view->head.revision == 0 && s->opts.expiry_ms != 0)
        pdr__changes_expiry(&first, s->opts.expiry_ms);
    pdr__changes_dispose(&s->changes);
    s->changes = first;
    first = none;
    view_free(s->view);
    s->view = view;
    view = NULL;
    s->is_stale = false;
    pdr__tail_clear(s);
done:
    pdr__changes_dispose(&first);
    view_free(view);
    pdr_buf_dispose(&scratch);
    return rc;
}

pdr_rc pdr_stored_open(pdr_stored **out, pdr_store *store, const pdr_ref *ref,
                       const pdr_stored_opts *opts, pdr_err *err)
{
    const struct pdr__arena no_memory = PDR_ARENA_INIT(SIZE_MAX);
    const struct pdr__changes no_changes = PDR_CHANGES_INIT;
    pdr_stored *s = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL && ref != NULL);
    *out = NULL;
    if (opts != NULL && opts->properties != NULL &&
        pdr_value_kind(opts->properties) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        "the properties of a session are an object");
    s = pdr__calloc(1, sizeof(*s));
    if (s == NULL)
        return pdr__nomem(err);
    s->store = store;
    s->life = pdr__life_of(store);
    s->memory = no_memory;
    s->changes = no_changes;
    s->ref = *ref;
    if (opts != NULL)
        s->opts = *opts;
    if (s->opts.properties != NULL)
        s->properties = pdr_value_ref(s->opts.properties);
    if (s->opts.kind == PDR_SESSION_KIND_UNSTATED)
        s->opts.kind = pdr__is_durable_id(ref->id) ? PDR_SESSION_KIND_DURABLE
                                                   : PDR_SESSION_KIND_CLIENT;
    if (s->ref.tenant.ptr == NULL)
        s->ref.tenant = PDR_LIT(PDR_DEFAULT_TENANT);
    if (s->opts.agent.ptr == NULL)
        s->opts.agent = pdr__durable_agent(ref->id);
    PDR_TRY(pdr__arena_keep(&s->ref.tenant, &s->memory, err));
    PDR_TRY(pdr__arena_keep(&s->ref.id, &s->memory, err));
    PDR_TRY(pdr__arena_keep(&s->opts.agent, &s->memory, err));
    PDR_TRY(pdr_stored_reload(s, err));
    *out = s;
    s = NULL;
done:
    pdr_stored_close(s);
    return rc;
}

void pdr_stored_close(pdr_stored *s)
{
    if (s == NULL)
        return;
    pdr__changes_dispose(&s->changes);
    pdr__tail_clear(s);
    pdr__free(s->tail.list);
    view_free(s->view);
    pdr_value_free(s->properties);
    pdr__arena_dispose(&s->memory);
    pdr__life_free(s->life);
    pdr__free(s);
}

pdr_session *pdr_stored_session(pdr_stored *s)
{
    return s->view->session;
}

const pdr_head *pdr_stored_head(const pdr_stored *s)
{
    return &s->view->head;
}

pdr_shape pdr_stored_shape(const pdr_stored *s)
{
    return s->view->is_durable ? PDR_SHAPE_STATE
                               : pdr_session_message_shape(s->view->session);
}

/* --- loading --------------------------------------------------------------
 */

/* Read one slot; no value if it is not stored. */
static pdr_rc slot_read(pdr_value **out, const pdr_stored *s, pdr_str key,
                        pdr_err *err)
{
    const pdr_head *head = &s->view->head;
    pdr_buf escaped = PDR_BUF_INIT(SIZE_MAX);
    pdr_query query = {.what = PDR_READ_SLOTS, .ref = s->ref};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__stored_alive(s, err));
    if (head->slots == 0) /* at this revision */
        goto done;
    PDR_TRY(pdr__text_encode(&escaped, key, err));
    query.key = pdr_buf_str(&escaped);
    rc = pdr_store_read(&page, s->store, &query, &why);
    if (pdr__err_is(&why, PDR_R_NO_SLOT)) { /* of which revision? */
        query = (pdr_query){.what = PDR_READ_HEAD, .ref = s->ref};
        rc = pdr_store_read(&page, s->store, &query, &why);
    }
    if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
    else if (page->head.revision != head->revision ||
             page->head.epoch != head->epoch)
        rc = pdr__stored_late(s, err); /* H1 */
    else if (query.what == PDR_READ_SLOTS)
        rc =
            pdr_json_read(out, page->slots[0].value, &pdr__stored_reading, err);
done:
    pdr_page_free(page);
    pdr_buf_dispose(&escaped);
    return rc;
}

/* Put a slot into the bag, and note that it is stored so; both, or neither. */
static pdr_rc slot_put(struct pdr__view *v, pdr_str key, const pdr_value *value,
                       pdr_err *err)
{
    pdr_bag *bag = pdr_session_bag(v->session);
    pdr_value *now = pdr_bag_snapshot(bag);
    pdr_value *loaded = pdr_value_ref(v->loaded);
    bool is_clean = now == v->loaded;
    pdr_rc rc = PDR_OK;

    pdr_value_free(now);
    PDR_TRY(pdr_value_set(&loaded, key, value, err));
    PDR_TRY(pdr_bag_set(bag, key, value, err));
    pdr_value_free(v->loaded);
    v->loaded = is_clean ? pdr_bag_snapshot(bag) : pdr_value_ref(loaded);
done:
    pdr_value_free(loaded);
    return rc;
}

pdr_rc pdr_stored_load(pdr_stored *s, const pdr_str *keys, size_t count,
                       pdr_err *err)
{
    struct pdr__view *v = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL && (keys != NULL || count == 0));
    v = s->view;
    for (size_t i = 0; i < count; i++) {
        bool is_there = pdr_value_get(v->loaded, keys[i]) != NULL ||
                        pdr_bag_has(pdr_session_bag(v->session), keys[i]);
        /* What the document has there may hide a row. */
        bool is_history =
            v->has_history_slot &&
            pdr_str_equal(keys[i], pdr__frame_history_key(&v->doc.frame));

        PDR_TRY(pdr__key_check(keys[i], err));
        if (v->is_all || v->head.revision == 0 || (is_there && !is_history))
            continue;
        PDR_TRY(slot_read(&value, s, keys[i], err));
        if (value != NULL) {
            PDR_TRY(slot_put(v, keys[i], value, err));
            v->has_history_slot &= !is_history;
        }
        pdr_value_free(value);
        value = NULL;
    }
done:
    pdr_value_free(value);
    return rc;
}

/* Add a member to the bag that is being put together: `value`, or one that is
 * read from `text`. `key` is the name between its quotes; values are shared, so
 * that every byte stays. */
static pdr_rc bag_add(pdr_value **io, pdr_str key, const pdr_value *value,
                      pdr_str text, pdr_err *err)
{
    pdr_buf quoted = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *name = NULL, *read = NULL;
    pdr_rc rc = PDR_OK;

    if (value == NULL)
        PDR_TRY(pdr_json_read(&read, text, &pdr__stored_reading, err));
    PDR_TRY(pdr_buf_printf(&quoted, err, "\"%.*s\"", (int)key.len, key.ptr));
    PDR_TRY(pdr_json_read_take(&name, &quoted, NULL, err));
    PDR_TRY(pdr__value_add_member(io, name, value != NULL ? value : read, err));
done:
    pdr_value_free(read);
    pdr_value_free(name);
    pdr_buf_dispose(&quoted);
    return rc;
}

/* Add a member of the document's bag: a row, the history, or an earlier value
 * of a name that occurs twice, which is a text of the frame. */
static pdr_rc bag_add_member(pdr_value **io, struct pdr__view *v,
                             const struct pdr__member *member, pdr_err *err)
{
    const struct pdr__pieces *pieces = &member->pieces;
    pdr_str name = pdr__member_name(member);
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    const pdr_value *slot = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    bool found = true;
    pdr_rc rc = PDR_OK;

    if (member->key.ptr != NULL)
        PDR_TRY(pdr__held_find(&row, &found, &v->doc.bag, member->key, err));
    if (member->has_pieces && pieces == pdr__frame_history(&v->doc.frame)) {
        slot = pdr_value_get(v->loaded, pdr__frame_history_key(&v->doc.frame));
        found = slot != NULL;
    }
    for (size_t i = 0; member->has_pieces && i < pieces->count; i++)
        PDR_TRY(pdr_buf_append(&text, pieces->list[i].text, err));
    if (found)
        rc = bag_add(io, name, slot,
                     member->has_pieces ? pdr_buf_str(&text) : row.value, err);
done:
    pdr_buf_dispose(&text);
    return rc;
}

/* The bag with all rows: those that the document names in its order, then the
 * others in the order of their keys. */
static pdr_rc bag_build(pdr_value **io, struct pdr__view *v, pdr_err *err)
{
    const struct pdr__members *m = v->doc.frame.bag;
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    bool found = false;
    pdr_rc rc = PDR_OK;

    *io = pdr_value_new_object();
    for (size_t i = 0; m != NULL && i < m->count; i++)
        PDR_TRY(bag_add_member(io, v, &m->list[i], err));
    pdr__held_begin(&v->doc.bag);
    PDR_TRY(pdr__held_next(&row, &found, &v->doc.bag, err));
    while (found) {
        if (!pdr__map_get(NULL, &v->doc.frame.bag_keys, row.key))
            PDR_TRY(bag_add(io, row.key, NULL, row.value, err));
        PDR_TRY(pdr__held_next(&row, &found, &v->doc.bag, err));
    }
done:
    return rc;
}

/* Hold all rows of one kind, of the revision of the view. */
static pdr_rc rows_hold(struct pdr__held *out, const pdr_stored *s,
                        pdr_read_what what, pdr_err *err)
{
    pdr_head head = s->view->head;
    size_t credit = SIZE_MAX;
    bool moved = false;
    pdr_rc rc = pdr__stored_alive(s, err);

    if (rc != PDR_OK)
        return rc;

    rc = pdr__held_hold(out, &moved, s->store, what, &head, &credit, err);
    return rc == PDR_OK && moved ? pdr__stored_late(s, err) : rc;
}

pdr_rc pdr__slot_repeat(pdr_str name, const pdr_value *value, pdr_err *err,
                        void *arg)
{
    if (value != NULL)
        return pdr_bag_set(arg, name, value, err);
    return pdr_bag_has(arg, name) ? pdr_bag_remove(arg, name, err) : PDR_OK;
}

pdr_rc pdr_stored_load_all(pdr_stored *s, pdr_err *err)
{
    struct pdr__view *v = NULL;
    pdr_value *rows = NULL, *document = NULL, *now = NULL, *loaded = NULL;
    pdr_session *session = NULL;
    bool is_python = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL);
    v = s->view;
    if (v->is_all || v->head.slots == 0)
        return PDR_OK;
    PDR_TRY(rows_hold(&v->doc.bag, s, PDR_READ_SLOTS, err));
    if (!s->opts.rows_only)
        PDR_TRY(pdr__compose_check(&v->doc, err));
    PDR_TRY(bag_build(&rows, v, err));
    PDR_TRY(pdr_session_to_value(&document, v->session, err));
    is_python = pdr_session_get_shape(v->session) == PDR_SESSION_PYTHON;
    PDR_TRY(pdr_value_set(
        &document, pdr_str_c(is_python ? "state" : "stateBag"), rows, err));
    PDR_TRY(pdr_session_from_value(&session, document, err));
    loaded = pdr_bag_snapshot(pdr_session_bag(session));
    now = pdr_bag_snapshot(pdr_session_bag(v->session));
    PDR_TRY(pdr__slots_compare(v->loaded, now, err, pdr__slot_repeat,
                               pdr_session_bag(session)));
    pdr_value_free(v->loaded);
    v->loaded = loaded;
    loaded = NULL;
    pdr_session_free(v->session);
    v->session = session;
    session = NULL;
    v->is_all = true;
done:
    pdr__held_dispose(&v->doc.bag);
    pdr_value_free(now);
    pdr_value_free(loaded);
    pdr_session_free(session);
    pdr_value_free(document);
    pdr_value_free(rows);
    return rc;
}

pdr_rc pdr_stored_properties(pdr_value **out, pdr_stored *s, pdr_err *err)
{
    struct pdr__held rows = {.store = NULL};
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    pdr_value *all = NULL, *value = NULL;
    bool found = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && s != NULL);
    *out = NULL;
    all = pdr_value_new_object();
    PDR_TRY(rows_hold(&rows, s, PDR_READ_PROPERTIES, err));
    pdr__held_begin(&rows);
    PDR_TRY(pdr__held_next(&row, &found, &rows, err));
    while (found) {
        PDR_TRY(pdr_json_read(&value, row.value, &pdr__stored_reading, err));
        PDR_TRY(pdr_value_set(&all, row.key, value, err));
        pdr_value_free(value);
        value = NULL;
        PDR_TRY(pdr__held_next(&row, &found, &rows, err));
    }
    *out = all;
    all = NULL;
done:
    pdr_value_free(value);
    pdr_value_free(all);
    pdr__held_dispose(&rows);
    return rc;
}
