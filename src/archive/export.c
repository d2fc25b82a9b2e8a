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
};

static void moment_end(struct moment *m)
{
    pdr_buf_dispose(&m->compose.out);
    pdr__held_dispose(&m->compose.bag);
    pdr__held_dispose(&m->compose.properties);
    pdr__frame_dispose(&m->compose.frame);
    pdr_page_free(m->frame);
    pdr_page_free(m->head);
}

/* The frame of the session; `moved` if it has another revision by now. */
static pdr_rc take_frame(struct moment *m, bool *moved, pdr_err *err)
{
    struct pdr__compose *c = &m->compose;
    const pdr_query query = {.what = PDR_READ_FRAME, .ref = c->head->ref};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (!c->head->has_frame)
        return pdr__frame_native(&c->frame, c->head, err);
    rc = pdr_store_read(&m->frame, c->store, &query, &why);
    *moved = rc == PDR_ENOTFOUND ||
             (rc == PDR_OK && m->frame->head.revision != c->head->revision);
    if (*moved)
        return PDR_OK;
    if (rc != PDR_OK)
        return pdr__err_pass(err, &why);
    return pdr__frame_read(&c->frame, m->frame->frame, err);
}

/* Head, frame, slots and properties, all of one revision unless `moved`. */
static pdr_rc moment_take(struct moment *m, bool *moved,
                          const pdr_export_opts *opts, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = opts->ref};
    struct pdr__compose *c = &m->compose;
    size_t credit = PDR_EXPORT_HOLD_BYTES;
    pdr_rc rc = PDR_OK;

    *moved = false;
    PDR_TRY(pdr_store_read(&m->head, c->store, &query, err));
    c->head = &m->head->head;
    c->report.revision = c->head->revision;
    c->report.epoch = c->head->epoch;
    PDR_TRY(take_frame(m, moved, err));
    if (!*moved)
        PDR_TRY(pdr__held_hold(&c->bag, moved, c->store, PDR_READ_SLOTS,
                               c->head, &credit, err));
    if (!*moved && !c->bare)
        PDR_TRY(pdr__held_hold(&c->properties, moved, c->store,
                               PDR_READ_PROPERTIES, c->head, &credit, err));
done:
    return rc;
}

/* One attempt; `moved`: nothing was written, and another may do better. */
static pdr_rc export_once(pdr_export_report *out, bool *moved, pdr_store *store,
                          const pdr_export_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    const struct pdr__frame no_frame = PDR_FRAME_INIT;
    const pdr_buf no_bytes = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    struct moment m = {.compose = {.store = store,
                                   .frame = no_frame,
                                   .bare = opts->bare,
                                   .out = no_bytes,
                                   .fn = fn,
                                   .arg = arg}};
    pdr_rc rc = PDR_OK;

    PDR_TRY(moment_take(&m, moved, opts, err));
    if (*moved)
        goto done;
    PDR_TRY(pdr__compose_check(&m.compose, err));
    PDR_TRY(pdr__compose_write(&m.compose, err));
    if (out != NULL)
        *out = m.compose.report;
done:
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
