/*
 * export.c - one session of a store as one document.
 *
 * WHY  A document says what a session was at one moment, and it is written
 *      while others go on. Head, frame, slots and properties are taken first,
 *      all at one revision; somebody who wrote in between makes us begin anew.
 *      Entries never change, so those that the head counts can be read page by
 *      page later.
 *
 *      head ─► frame ─► slots ─► properties ─┬─► check ─► write
 *        ▲                                   │ another revision?
 *        └───────────── begin anew ◄─────────┘
 *
 * INVARIANTS
 *   E1  Nothing is written before all of that is there, and checked.
 *   E2  What is written is one revision, or the call fails: an entry that is
 *       gone, another epoch, or a bag that was too large to be kept and has
 *       changed is SESSION_CHANGED.
 */
#include "export.h"

/* Times to begin anew before we say that somebody keeps on writing. */
#define TRIES 10

/* Everything of one moment. */
struct moment {
    struct pdr__compose compose;
    pdr_page *head;  /* owned */
    pdr_page *frame; /* owned; NULL: it has none */
    bool no_entries;
};

/* Read a page of one row, or see that the session is gone. */
static pdr_rc read_one(pdr_page **out, pdr_store *store, const pdr_ref *ref,
                       pdr_read_what what, pdr_err *err)
{
    pdr_query query = {.what = what, .ref = *ref};

    return pdr_store_read(out, store, &query, err);
}

static pdr_rc take_frame(struct moment *m, bool *moved, pdr_err *err)
{
    struct pdr__compose *c = &m->compose;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (!c->head->has_frame)
        return pdr__frame_native(&c->frame, c->head, err);
    rc = read_one(&m->frame, c->store, &c->head->ref, PDR_READ_FRAME, &why);
    *moved = rc == PDR_ENOTFOUND ||
             (rc == PDR_OK && m->frame->head.revision != c->head->revision);
    if (*moved)
        return PDR_OK;
    if (rc != PDR_OK) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    return pdr__frame_read(&c->frame, m->frame->frame, err);
}

static pdr_rc take_rows(struct moment *m, bool *moved, pdr_err *err)
{
    struct pdr__compose *c = &m->compose;
    size_t credit = PDR_EXPORT_HOLD_BYTES;
    pdr_rc rc = pdr__held_hold(&c->bag, moved, c->store, PDR_READ_SLOTS,
                               c->head, &credit, err);

    if (rc == PDR_OK && !*moved && !c->bare)
        rc = pdr__held_hold(&c->properties, moved, c->store,
                            PDR_READ_PROPERTIES, c->head, &credit, err);
    return rc;
}

static void moment_begin(struct moment *m, pdr_store *store,
                         const pdr_export_opts *opts, pdr_write_fn fn,
                         void *arg)
{
    const struct pdr__frame frame = PDR_FRAME_INIT;
    const pdr_buf out = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);

    memset(m, 0, sizeof(*m));
    m->compose.store = store;
    m->compose.frame = frame;
    m->compose.bare = opts->bare;
    m->no_entries = opts->no_entries;
    m->compose.out = out;
    m->compose.fn = fn;
    m->compose.arg = arg;
}

static void moment_end(struct moment *m)
{
    pdr_buf_dispose(&m->compose.out);
    pdr__held_dispose(&m->compose.bag);
    pdr__held_dispose(&m->compose.properties);
    pdr__frame_dispose(&m->compose.frame);
    pdr_page_free(m->frame);
    pdr_page_free(m->head);
}

/* Head and frame. */
static pdr_rc moment_look(struct moment *m, bool *moved, const pdr_ref *ref,
                          pdr_err *err)
{
    struct pdr__compose *c = &m->compose;
    pdr_rc rc = read_one(&m->head, c->store, ref, PDR_READ_HEAD, err);

    *moved = false;
    if (rc != PDR_OK)
        return rc;
    c->head = &m->head->head;
    c->report.revision = c->head->revision;
    c->report.epoch = c->head->epoch;
    if (m->no_entries)
        m->head->head.first_seq = m->head->head.next_seq;
    return take_frame(m, moved, err);
}

static pdr_rc moment_take(struct moment *m, bool *moved,
                          const pdr_export_opts *opts, pdr_err *err)
{
    pdr_rc rc = moment_look(m, moved, &opts->ref, err);

    if (rc == PDR_OK && !*moved)
        rc = take_rows(m, moved, err);
    return rc;
}

/* One attempt; `moved`: nothing was written, and another may do better. */
static pdr_rc export_once(pdr_export_report *out, bool *moved, pdr_store *store,
                          const pdr_export_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    struct moment m;
    pdr_rc rc = PDR_OK;

    moment_begin(&m, store, opts, fn, arg);
    rc = moment_take(&m, moved, opts, err);
    if (rc == PDR_OK && !*moved)
        rc = pdr__compose_check(&m.compose, err);
    if (rc == PDR_OK && !*moved)
        rc = pdr__compose_write(&m.compose, err);
    if (rc == PDR_OK && !*moved && out != NULL)
        *out = m.compose.report;
    moment_end(&m);
    return rc;
}

pdr_rc pdr_export(pdr_export_report *out, pdr_store *store,
                  const pdr_export_opts *opts, pdr_err *err, pdr_write_fn fn,
                  void *arg)
{
    bool moved = true;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL && opts != NULL && fn != NULL);
    for (int i = 0; rc == PDR_OK && moved && i < TRIES; i++)
        rc = export_once(out, &moved, store, opts, err, fn, arg);
    if (rc == PDR_OK && moved)
        rc = pdr__session_changed(&opts->ref, err);
    return rc;
}

/* One attempt. What was made here and no document can be may have any slot. */
static pdr_rc check_slot_once(bool *moved, pdr_store *store,
                              const pdr_export_opts *opts, pdr_str key,
                              pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    struct moment m;
    pdr_rc rc = PDR_OK;

    moment_begin(&m, store, opts, NULL, NULL);
    rc = moment_look(&m, moved, &opts->ref, &why);
    if (rc == PDR_OK && !*moved)
        rc = pdr__frame_check_slot(&m.compose.frame, key, &why);
    else if (rc != PDR_OK && strcmp(why.reason, "cannot_export") == 0)
        rc = PDR_OK;
    if (rc != PDR_OK && err != NULL)
        *err = why;
    moment_end(&m);
    return rc;
}

pdr_rc pdr_export_check_slot(pdr_store *store, const pdr_ref *ref, pdr_str key,
                             pdr_err *err)
{
    pdr_export_opts opts = {.bare = false};
    bool moved = true;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL && ref != NULL && key.ptr != NULL);
    opts.ref = *ref;
    for (int i = 0; rc == PDR_OK && moved && i < TRIES; i++)
        rc = check_slot_once(&moved, store, &opts, key, err);
    if (rc == PDR_OK && moved)
        rc = pdr__session_changed(ref, err);
    return rc;
}
