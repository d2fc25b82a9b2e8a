/*
 * stored.c - a session in a store, as a session: opened, loaded, committed.
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
 * NOT HERE  The history: stored_history.c.
 */
#include "stored.h"

#include <perdure/doc.h>
#include <perdure/json.h>

#include "core.h"

/* Times to look again at a session that is replaced while it is opened, and to
 * begin an update anew. */
#define OPEN_TRIES   10
#define UPDATE_TRIES 20

const pdr_read_opts pdr__stored_reading = {
    .flags = PDR_BARE_TOKENS, .max_depth = 1024}; /* counted when it came in */

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
    pdr_query query = {.what = PDR_READ_HEAD, .ref = s->ref};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    for (int i = 0; i < OPEN_TRIES; i++) {
        query.what = PDR_READ_HEAD;
        rc = pdr_store_read(&v->page, s->store, &query, &why);
        if (rc != PDR_OK || !v->page->head.has_frame || s->opts.rows_only)
            break;
        pdr_page_free(v->page);
        v->page = NULL;
        query.what = PDR_READ_FRAME;
        rc = pdr_store_read(&v->page, s->store, &query, &why);
        if (rc != PDR_ENOTFOUND) /* else it was replaced meanwhile */
            break;
    }
    if (rc != PDR_OK &&
        !(s->opts.create && pdr__err_is(&why, PDR_R_NO_SESSION)))
        return pdr__err_pass(err, &why);
    if (v->page != NULL) {
        v->head = v->page->head;
        return PDR_OK;
    }
    v->head = (pdr_head){.ref = s->ref,
                         .agent = s->opts.agent,
                         .kind = pdr_str_c(pdr_session_kind_name(s->opts.kind)),
                         .expiry_ms = PDR_NEVER,
                         .first_seq = 1,
                         .next_seq = 1};
    return PDR_OK;
}

/* The document without its rows, read as a session: the ids are in there. */
static pdr_rc view_read_document(struct pdr__view *v, pdr_err *err)
{
    pdr_head bare = v->head;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *document = NULL;
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
done:
    v->doc.head = &v->head;
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
    pdr_rc rc = PDR_OK;

    if (pdr_durable_id_read(&parts.agent, &parts.key, NULL, id, NULL) == PDR_OK)
        parts.kind = PDR_SESSION_KIND_DURABLE;
    else
        parts.id = id;
    rc = pdr_session_new(&v->session, &parts, err);
    if (rc != PDR_EINVALID)
        return rc;
    /* A store takes ids that no document can have. */
    PDR_TRY(pdr_json_read(&nothing, PDR_LIT("{\"stateBag\":{}}"), NULL, err));
    PDR_TRY(pdr_session_from_value(&v->session, nothing, err));
done:
    pdr_value_free(nothing);
    return rc;
}

/* What the document has beside the messages stays in the slot of the history;
 * the messages are entries. */
static pdr_rc view_drop_messages(struct pdr__view *v, pdr_err *err)
{
    pdr_bag *bag = pdr_session_bag(v->session);
    pdr_str key = pdr_str_c(pdr_session_history_key(v->session));
    pdr_value *slot = NULL;
    pdr_rc rc = PDR_OK;

    if (v->head.first_seq == v->head.next_seq || !pdr_bag_has(bag, key))
        return PDR_OK;
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
    pdr_value_free(slot);
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
    if (s->opts.rows_only) {
        PDR_TRY(view_make_session(v, err));
    } else if (v->head.has_frame) {
        PDR_TRY(pdr__frame_read(&v->doc.frame, v->page->frame, err));
    } else {
        if (!pdr__kind_is_known(v->head.kind)) {
            rc = PDR_FAIL(err, SESSION_KIND,
                          "the session is of the kind '%s', which this library "
                          "does not know",
                          pdr__shown(shown, v->head.kind));
            goto done;
        }
        PDR_TRY(pdr__frame_native(&v->doc.frame, &v->head, err));
    }
    if (v->session == NULL && pdr__frame_is_state(&v->doc.frame))
        PDR_TRY(view_make_session(v, err));
    if (v->session == NULL) {
        PDR_TRY(view_read_document(v, err));
        PDR_TRY(view_drop_messages(v, err));
    }
    v->loaded = pdr_bag_snapshot(pdr_session_bag(v->session));
    v->has_history_slot = pdr_value_count(v->loaded) > 0;
    *out = v;
    v = NULL;
done:
    view_free(v);
    return rc;
}

/* --- changes --------------------------------------------------------------
 */

/* A slot that is not as it was loaded. */
struct slot_change {
    pdr_str name;           /* decoded; in arena */
    pdr_str key;            /* of its row; in arena */
    const pdr_value *value; /* borrowed from the bag; NULL: it was removed */
};

struct slot_changes {
    struct pdr__arena memory;
    pdr_value *now; /* owned; the bag as it is */
    struct slot_change *list;
    size_t count, cap;
};

static void slot_changes_dispose(struct slot_changes *c)
{
    pdr__free(c->list);
    pdr_value_free(c->now);
    pdr__arena_dispose(&c->memory);
}

/* `name` as a copy, and as the key of its row. */
static pdr_rc slot_change_add(struct slot_changes *c, pdr_str name,
                              const pdr_value *value, pdr_err *err)
{
    pdr_buf key = PDR_BUF_INIT(SIZE_MAX);
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&c->list, &c->cap, c->count + 1,
                      sizeof(*c->list), err));
    PDR_TRY(pdr__text_encode(&key, name, err));
    c->list[c->count].value = value;
    PDR_TRY(pdr__arena_strndup(&copy, &c->memory, name, err));
    c->list[c->count].name = pdr_str_n(copy, name.len);
    PDR_TRY(pdr__arena_strndup(&copy, &c->memory, pdr_buf_str(&key), err));
    c->list[c->count].key = pdr_str_n(copy, key.len);
    c->count++;
done:
    pdr_buf_dispose(&key);
    return rc;
}

/* What differs between the bag and what was loaded (H2). A bag that nobody
 * wrote to is the same value, so that it costs nothing. */
static pdr_rc slot_changes_find(struct slot_changes *c,
                                const struct pdr__view *v, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str name = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    c->now = pdr_bag_snapshot(pdr_session_bag(v->session));
    if (c->now == v->loaded)
        return PDR_OK;
    pdr_iter_init(&it, c->now);
    while (pdr_iter_next(&it)) {
        const pdr_value *value = NULL;

        PDR_TRY(pdr__value_name_bytes(&name, it.name, &scratch, err));
        value = pdr_value_get(v->loaded, name);
        if (pdr__iter_is_last(&it, name) && !pdr_value_equal(it.value, value))
            PDR_TRY(slot_change_add(c, name, it.value, err));
    }
    pdr_iter_init(&it, v->loaded);
    while (pdr_iter_next(&it)) {
        PDR_TRY(pdr__value_name_bytes(&name, it.name, &scratch, err));
        if (pdr__iter_is_last(&it, name) && pdr_value_get(c->now, name) == NULL)
            PDR_TRY(slot_change_add(c, name, NULL, err));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

static void changes_clear(struct pdr__changes *c)
{
    const struct pdr__changes none = PDR_CHANGES_INIT;

    for (size_t i = 0; i < c->entry_count; i++)
        pdr_value_free(c->entries[i].body);
    PDR_MAP_EACH (property, &c->properties)
        pdr_value_free(property->value);
    pdr__map_dispose(&c->properties);
    pdr__arena_dispose(&c->memory);
    pdr__free(c->entries);
    *c = none;
}

/* --- opening --------------------------------------------------------------
 */

/* Take over a new view. One that is not there yet begins with what it is to be
 * made with. */
static pdr_rc stored_take(pdr_stored *s, struct pdr__view *view, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    changes_clear(&s->changes);
    view_free(s->view);
    s->view = view;
    if (view->head.revision > 0)
        return PDR_OK;
    if (s->opts.expiry_ms != 0 && s->opts.expiry_ms != PDR_NEVER)
        pdr_stored_set_expiry(s, s->opts.expiry_ms);
    pdr_iter_init(&it, s->opts.properties);
    while (pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};

        PDR_TRY(pdr_value_text(&name, it.name, &scratch, err));
        PDR_TRY(pdr_stored_set_property(s, name, it.value, err));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Copy the texts and fill in what is absent. */
static pdr_rc stored_set_opts(pdr_stored *s, const pdr_ref *ref,
                              const pdr_stored_opts *opts, pdr_err *err)
{
    pdr_str tenant =
        ref->tenant.ptr != NULL ? ref->tenant : PDR_LIT(PDR_DEFAULT_TENANT);
    bool durable = ref->id.len > 0 && ref->id.ptr[0] == '@';
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (opts != NULL)
        s->opts = *opts;
    if (s->opts.properties != NULL) {
        if (pdr_value_kind(s->opts.properties) != PDR_OBJECT) {
            s->opts.properties = NULL; /* not shared yet */
            return PDR_FAIL(err, WRONG_KIND, "%s",
                            "the properties of a session are an object");
        }
        s->properties = pdr_value_ref(s->opts.properties);
    }
    if (s->opts.kind == PDR_SESSION_KIND_UNSTATED)
        s->opts.kind =
            durable ? PDR_SESSION_KIND_DURABLE : PDR_SESSION_KIND_CLIENT;
    if (s->opts.create && durable != (s->opts.kind == PDR_SESSION_KIND_DURABLE))
        return PDR_FAIL(err, SESSION_KIND,
                        "a durable session has an id such as @dafx-NAME@KEY, "
                        "and no other session has: this one is to be of the "
                        "kind %s",
                        pdr_session_kind_name(s->opts.kind));
    PDR_TRY(pdr__arena_strndup(&copy, &s->memory, tenant, err));
    s->ref.tenant = pdr_str_n(copy, tenant.len);
    PDR_TRY(pdr__arena_strndup(&copy, &s->memory, ref->id, err));
    s->ref.id = pdr_str_n(copy, ref->id.len);
    if (s->opts.agent.ptr != NULL) {
        PDR_TRY(pdr__arena_strndup(&copy, &s->memory, s->opts.agent, err));
        s->opts.agent.ptr = copy;
    }
done:
    return rc;
}

pdr_rc pdr_stored_open(pdr_stored **out, pdr_store *store, const pdr_ref *ref,
                       const pdr_stored_opts *opts, pdr_err *err)
{
    const struct pdr__arena no_memory = PDR_ARENA_INIT(SIZE_MAX);
    const struct pdr__changes no_changes = PDR_CHANGES_INIT;
    struct pdr__view *view = NULL;
    pdr_stored *s = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL && ref != NULL);
    *out = NULL;
    s = pdr__calloc(1, sizeof(*s));
    if (s == NULL)
        return pdr__nomem(err);
    s->store = store;
    s->memory = no_memory;
    s->changes = no_changes;
    PDR_TRY(stored_set_opts(s, ref, opts, err));
    PDR_TRY(view_open(&view, s, err));
    PDR_TRY(stored_take(s, view, err));
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
    changes_clear(&s->changes);
    view_free(s->view);
    pdr_value_free(s->properties);
    pdr__arena_dispose(&s->memory);
    pdr__free(s);
}

pdr_rc pdr_stored_reload(pdr_stored *s, pdr_err *err)
{
    struct pdr__view *view = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL);
    rc = view_open(&view, s, err);
    return rc == PDR_OK ? stored_take(s, view, err) : rc;
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
    if (pdr__stored_is_durable(s))
        return PDR_SHAPE_STATE;
    return pdr_session_message_shape(s->view->session);
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

    *out = NULL;
    PDR_TRY(pdr__text_encode(&escaped, key, err));
    query.key = pdr_buf_str(&escaped);
    rc = pdr_store_read(&page, s->store, &query, &why);
    if (pdr__err_is(&why, PDR_R_NO_SLOT)) {
        rc = PDR_OK; /* the commit notices if the revision is another one */
        goto done;
    }
    if (rc != PDR_OK) {
        rc = pdr__err_pass(err, &why);
        goto done;
    }
    if (page->head.revision != head->revision ||
        page->head.epoch != head->epoch)
        rc = pdr__stored_late(s, err);
    else
        rc =
            pdr_json_read(out, page->slots[0].value, &pdr__stored_reading, err);
done:
    pdr_page_free(page);
    pdr_buf_dispose(&escaped);
    return rc;
}

/* Put a slot into the bag, and note that it is stored so. */
static pdr_rc slot_put(pdr_stored *s, pdr_str key, const pdr_value *value,
                       pdr_err *err)
{
    struct pdr__view *v = s->view;
    pdr_bag *bag = pdr_session_bag(v->session);
    pdr_value *now = pdr_bag_snapshot(bag);
    bool is_clean = now == v->loaded;
    pdr_rc rc = PDR_OK;

    pdr_value_free(now);
    PDR_TRY(pdr_bag_set(bag, key, value, err));
    if (is_clean) {
        pdr_value_free(v->loaded);
        v->loaded = pdr_bag_snapshot(bag);
    } else {
        rc = pdr_value_set(&v->loaded, key, value, err);
    }
done:
    return rc;
}

pdr_rc pdr_stored_load(pdr_stored *s, const pdr_str *keys, size_t count,
                       pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL && (keys != NULL || count == 0));
    for (size_t i = 0; i < count; i++) {
        struct pdr__view *v = s->view;
        bool is_history =
            v->has_history_slot && pdr_value_get(v->loaded, keys[i]) != NULL &&
            pdr_str_equal(keys[i], pdr__frame_history_key(&v->doc.frame));

        PDR_TRY(pdr__key_check(keys[i], err));
        if (v->is_all || v->head.revision == 0)
            continue;
        if (!is_history && (pdr_value_get(v->loaded, keys[i]) != NULL ||
                            pdr_bag_has(pdr_session_bag(v->session), keys[i])))
            continue;
        PDR_TRY(slot_read(&value, s, keys[i], err));
        if (value != NULL) {
            PDR_TRY(slot_put(s, keys[i], value, err));
            v->has_history_slot &= !is_history; /* a row is in its place */
        }
        pdr_value_free(value);
        value = NULL;
    }
done:
    pdr_value_free(value);
    return rc;
}

/* Add a member to an object that is being put together. `key` is the name
 * between its quotes; values are shared, so that every byte stays. */
static pdr_rc member_add(pdr_value **io, pdr_str key, const pdr_value *value,
                         pdr_err *err)
{
    pdr_buf quoted = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *name = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(&quoted, err, "\"%.*s\"", (int)key.len, key.ptr));
    PDR_TRY(pdr_json_read_take(&name, &quoted, NULL, err));
    PDR_TRY(pdr__value_add_member(io, name, value, err));
done:
    pdr_value_free(name);
    pdr_buf_dispose(&quoted);
    return rc;
}

static pdr_rc member_add_text(pdr_value **io, pdr_str key, pdr_str text,
                              pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, text, &pdr__stored_reading, err);

    if (rc == PDR_OK)
        rc = member_add(io, key, value, err);
    pdr_value_free(value);
    return rc;
}

/* Add a member of the document's bag: a row, the history, or an earlier value
 * of a name that occurs twice, which is a text of the frame. */
static pdr_rc bag_add_member(pdr_value **io, struct pdr__view *v,
                             const struct pdr__member *member, pdr_err *err)
{
    const struct pdr__frame *frame = &v->doc.frame;
    pdr_str name = pdr__member_name(member);
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    bool found = true;
    pdr_rc rc = PDR_OK;

    if (member->key.ptr != NULL)
        PDR_TRY(pdr__held_find(&row, &found, &v->doc.bag, member->key, err));
    if (!found)
        goto done;
    if (!member->has_pieces) {
        rc = member_add_text(io, name, row.value, err);
    } else if (&member->pieces == pdr__frame_history(frame)) {
        const pdr_value *slot =
            pdr_value_get(v->loaded, pdr__frame_history_key(frame));

        if (slot != NULL)
            rc = member_add(io, name, slot, err);
    } else {
        for (size_t i = 0; i < member->pieces.count; i++)
            PDR_TRY(pdr_buf_append(&text, member->pieces.list[i].text, err));
        rc = member_add_text(io, name, pdr_buf_str(&text), err);
    }
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
            PDR_TRY(member_add_text(io, row.key, row.value, err));
        PDR_TRY(pdr__held_next(&row, &found, &v->doc.bag, err));
    }
done:
    return rc;
}

/* Hold all rows of one kind, of the revision of the view. */
static pdr_rc hold_rows(struct pdr__held *out, const pdr_stored *s,
                        pdr_read_what what, pdr_err *err)
{
    size_t credit = SIZE_MAX;
    bool moved = false;
    pdr_rc rc = pdr__held_hold(out, &moved, s->store, what, &s->view->head,
                               &credit, err);

    return rc == PDR_OK && moved ? pdr__stored_late(s, err) : rc;
}

pdr_rc pdr_stored_load_all(pdr_stored *s, pdr_err *err)
{
    struct slot_changes changes = {.memory = PDR_ARENA_INIT(SIZE_MAX)};
    struct pdr__view *v = NULL;
    pdr_value *bag = NULL, *document = NULL;
    pdr_session *session = NULL;
    bool python = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL);
    v = s->view;
    if (v->is_all || v->head.slots == 0)
        return PDR_OK;
    pdr__held_dispose(&v->doc.bag); /* of a call that failed */
    PDR_TRY(hold_rows(&v->doc.bag, s, PDR_READ_SLOTS, err));
    if (!s->opts.rows_only)
        PDR_TRY(pdr__compose_check(&v->doc, err));
    PDR_TRY(slot_changes_find(&changes, v, err));
    PDR_TRY(bag_build(&bag, v, err));
    PDR_TRY(pdr_session_to_value(&document, v->session, err));
    python = pdr_session_get_shape(v->session) == PDR_SESSION_PYTHON;
    PDR_TRY(pdr_value_set(&document, pdr_str_c(python ? "state" : "stateBag"),
                          bag, err));
    PDR_TRY(pdr_session_from_value(&session, document, err));
    for (size_t i = 0; i < changes.count; i++) {
        const struct slot_change *change = &changes.list[i];
        pdr_bag *to = pdr_session_bag(session);

        if (change->value != NULL)
            PDR_TRY(pdr_bag_set(to, change->name, change->value, err));
        else if (pdr_bag_has(to, change->name))
            PDR_TRY(pdr_bag_remove(to, change->name, err));
    }
    pdr_value_free(v->loaded);
    v->loaded = changes.count == 0 ? pdr_bag_snapshot(pdr_session_bag(session))
                                   : pdr_value_ref(bag);
    pdr_session_free(v->session);
    v->session = session;
    v->is_all = true;
    session = NULL;
done:
    pdr__held_dispose(&v->doc.bag);
    slot_changes_dispose(&changes);
    pdr_session_free(session);
    pdr_value_free(document);
    pdr_value_free(bag);
    return rc;
}

pdr_rc pdr_stored_properties(pdr_value **out, pdr_stored *s, pdr_err *err)
{
    struct pdr__held rows = {.store = NULL};
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    pdr_value *all = pdr_value_new_object(), *value = NULL;
    bool found = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && s != NULL);
    *out = NULL;
    PDR_TRY(hold_rows(&rows, s, PDR_READ_PROPERTIES, err));
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

/* --- changing -------------------------------------------------------------
 */

/* A new entry at the end of the changes, which has room for it. */
static pdr_rc entry_push(struct pdr__changes *c, pdr_row_kind kind,
                         pdr_str correlation_id, int64_t created_ms,
                         const pdr_value *body, pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&c->entries, &c->entry_cap, c->entry_count + 1,
                      sizeof(*c->entries), err));
    if (correlation_id.ptr != NULL) {
        PDR_TRY(pdr__arena_strndup(&copy, &c->memory, correlation_id, err));
        correlation_id.ptr = copy;
    }
    c->entries[c->entry_count++] = (struct pdr__new_entry){
        kind, correlation_id, created_ms, pdr_value_ref(body)};
done:
    return rc;
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
    if (pdr__stored_is_durable(s))
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        "the history of a durable session is requests and "
                        "responses: add one with pdr_stored_add_entry()");
    for (size_t i = 0; i < count; i++) {
        if (pdr_value_kind(messages[i]) != PDR_OBJECT)
            return PDR_FAIL(err, WRONG_KIND,
                            "a message is an object, message %zu is %s", i,
                            pdr__kind_phrase(messages[i]));
    }
    for (size_t i = 0; i < count; i++)
        PDR_TRY(entry_push(c, PDR_ROW_MESSAGE, correlation_id, 0, messages[i],
                           err));
done:
    while (rc != PDR_OK && c->entry_count > before)
        pdr_value_free(c->entries[--c->entry_count].body);
    return rc;
}

pdr_rc pdr_stored_add_entry(pdr_stored *s, const pdr_value *entry, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_entry_kind kind = PDR_ENTRY_OTHER;
    const pdr_value *id = NULL;
    pdr_str text = {NULL, 0};
    int64_t time = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL && entry != NULL);
    kind = pdr_entry_kind_of(entry);
    if (kind == PDR_ENTRY_OTHER || !pdr__stored_is_durable(s))
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        kind == PDR_ENTRY_OTHER
                            ? "the entry is neither a request nor a response"
                            : "the history of this session is messages: add "
                              "them with pdr_stored_add_messages()");
    id = pdr_entry_correlation_id(entry);
    if (id != NULL)
        PDR_TRY(pdr_value_text(&text, id, &scratch, err));
    time = pdr__body_time(entry, PDR_ROW_STATE);
    PDR_TRY(entry_push(&s->changes,
                       kind == PDR_ENTRY_REQUEST ? PDR_ROW_REQUEST
                                                 : PDR_ROW_RESPONSE,
                       text, time != PDR_NO_TIME ? time : 0, entry, err));
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

void pdr_stored_set_state(pdr_stored *s, pdr_session_state state)
{
    s->changes.sets_state = true;
    s->changes.state = state;
}

void pdr_stored_set_expiry(pdr_stored *s, int64_t expiry_ms)
{
    s->changes.expiry =
        expiry_ms == PDR_NEVER ? PDR_EXPIRY_CLEAR : PDR_EXPIRY_SET;
    s->changes.expiry_ms = expiry_ms;
}

pdr_rc pdr_stored_set_property(pdr_stored *s, pdr_str key,
                               const pdr_value *value, pdr_err *err)
{
    pdr_value *shared = NULL;
    void *old = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL);
    rc = pdr__key_check(key, err);
    if (rc != PDR_OK)
        return rc;
    shared = value != NULL ? pdr_value_ref(value) : NULL;
    rc = pdr__map_put(&old, &s->changes.properties, key, shared, err);
    pdr_value_free(rc == PDR_OK ? old : shared);
    return rc;
}

/* --- committing -----------------------------------------------------------
 */

/* The JSON text of a value: its own bytes, or a copy in arena. */
static pdr_rc value_bytes(pdr_str *out, struct pdr__arena *memory,
                          const pdr_value *value, pdr_err *err)
{
    const pdr_write_opts as_read = {.flags = PDR_BARE_TOKENS,
                                    .layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_raw(out, value))
        return PDR_OK;
    PDR_TRY(pdr_json_write(&text, value, &as_read, err));
    PDR_TRY(pdr__arena_strndup(&copy, memory, pdr_buf_str(&text), err));
    *out = pdr_str_n(copy, text.len);
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

static pdr_rc edit_slots(pdr_edit *edit, struct slot_changes *changes,
                         const pdr_stored *s, pdr_err *err)
{
    pdr_slot *slots = NULL;
    void *room = NULL;
    pdr_rc rc = PDR_OK;

    if (changes->count == 0)
        return PDR_OK;
    PDR_TRY(pdr__arena_alloc(&room, &changes->memory,
                             changes->count * sizeof(*slots), err));
    slots = room;
    memset(slots, 0, changes->count * sizeof(*slots));
    for (size_t i = 0; i < changes->count; i++) {
        const struct slot_change *change = &changes->list[i];

        slots[i].key = change->key;
        PDR_TRY(slot_check(s, change->key, change->value == NULL, err));
        if (change->value == NULL)
            continue;
        PDR_TRY(
            value_bytes(&slots[i].value, &changes->memory, change->value, err));
    }
    edit->slots = slots;
    edit->slot_count = changes->count;
done:
    return rc;
}

static pdr_rc edit_entries(pdr_edit *edit, struct pdr__arena *memory,
                           const pdr_stored *s, pdr_err *err)
{
    const struct pdr__changes *c = &s->changes;
    pdr_entry *rows = NULL;
    void *room = NULL;
    pdr_rc rc = PDR_OK;

    if (c->entry_count == 0)
        return PDR_OK;
    PDR_TRY(
        pdr__arena_alloc(&room, memory, c->entry_count * sizeof(*rows), err));
    rows = room;
    memset(rows, 0, c->entry_count * sizeof(*rows));
    for (size_t i = 0; i < c->entry_count; i++) {
        rows[i].kind = c->entries[i].kind;
        rows[i].shape = (pdr_row_shape)pdr_stored_shape(s);
        rows[i].correlation_id = c->entries[i].correlation_id;
        rows[i].created_ms = c->entries[i].created_ms;
        PDR_TRY(value_bytes(&rows[i].body, memory, c->entries[i].body, err));
    }
    edit->entries = rows;
    edit->entry_count = c->entry_count;
done:
    return rc;
}

static pdr_rc edit_properties(pdr_edit *edit, struct pdr__arena *memory,
                              const pdr_stored *s, pdr_err *err)
{
    const struct pdr__map *map = &s->changes.properties;
    pdr_buf match = PDR_BUF_INIT(SIZE_MAX);
    pdr_property *rows = NULL;
    bool found = false;
    char *copy = NULL;
    void *room = NULL;
    pdr_rc rc = PDR_OK;

    if (map->count == 0)
        return PDR_OK;
    PDR_TRY(pdr__arena_alloc(&room, memory, map->count * sizeof(*rows), err));
    rows = room;
    memset(rows, 0, map->count * sizeof(*rows));
    PDR_MAP_EACH (property, map) {
        pdr_property *row = &rows[edit->property_count++];

        row->key = property->key;
        if (property->value == NULL)
            continue;
        PDR_TRY(value_bytes(&row->value, memory, property->value, err));
        pdr_buf_clear(&match);
        PDR_TRY(pdr_property_match(&match, &found, property->value, err));
        if (!found)
            continue;
        PDR_TRY(pdr__arena_strndup(&copy, memory, pdr_buf_str(&match), err));
        row->match = pdr_str_n(copy, match.len);
    }
    edit->properties = rows;
done:
    pdr_buf_dispose(&match);
    return rc;
}

/* The handle is at the revision that the commit made. */
static void stored_advance(pdr_stored *s, const pdr_edit *edit,
                           const pdr_committed *done, int64_t now_ms)
{
    pdr_head *head = &s->view->head;

    if (head->revision == 0) {
        head->created_ms = now_ms;
        head->first_seq = head->next_seq = done->first_seq;
    }
    head->changed_ms = now_ms;
    head->revision = done->revision;
    head->epoch = done->epoch;
    head->commits++;
    head->next_seq += edit->entry_count;
    if (edit->set_state)
        head->state = edit->state;
    if (edit->expiry != PDR_EXPIRY_KEEP)
        head->expiry_ms = edit->expiry_ms;
    changes_clear(&s->changes);
}

pdr_rc pdr_stored_commit(pdr_stored *s, const pdr_commit_options *options,
                         pdr_err *err)
{
    struct slot_changes changes = {.memory = PDR_ARENA_INIT(SIZE_MAX)};
    pdr_committed done = {.revision = 0};
    pdr_err why = PDR_ERR_INIT;
    const pdr_head *head = NULL;
    pdr_edit edit;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL && options != NULL);
    head = &s->view->head;
    edit = (pdr_edit){.ref = s->ref,
                      .revision = head->revision,
                      .epoch = head->epoch,
                      .set_state = s->changes.sets_state,
                      .state = s->changes.state,
                      .expiry = s->changes.expiry,
                      .expiry_ms = s->changes.expiry_ms};
    if (head->revision == 0) {
        edit.agent = head->agent;
        edit.kind = head->kind;
    }
    PDR_TRY(slot_changes_find(&changes, s->view, err));
    PDR_TRY(edit_slots(&edit, &changes, s, err));
    PDR_TRY(edit_entries(&edit, &changes.memory, s, err));
    PDR_TRY(edit_properties(&edit, &changes.memory, s, err));
    if (head->revision > 0 && edit.slot_count + edit.entry_count +
                                      edit.property_count + edit.set_state +
                                      (edit.expiry != PDR_EXPIRY_KEEP) ==
                                  0)
        goto done;
    rc = pdr_store_commit(&done, s->store, &edit, 1, options, &why);
    if (pdr__err_is(&why, PDR_R_SESSION_EXISTS)) {
        rc = pdr__stored_late(s, err);
        goto done;
    }
    if (rc != PDR_OK) {
        rc = pdr__err_pass(err, &why);
        goto done;
    }
    pdr_value_free(s->view->loaded);
    s->view->loaded = changes.now;
    changes.now = NULL;
    stored_advance(s, &edit, &done, options->now_ms);
done:
    slot_changes_dispose(&changes);
    return rc;
}

pdr_rc pdr_stored_update(pdr_stored *s, const pdr_commit_options *options,
                         pdr_err *err, pdr_stored_fn fn, void *arg)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(s != NULL && options != NULL && fn != NULL);
    for (int i = 0; i < UPDATE_TRIES; i++) {
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
