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

/* The frame of the session, of which `page` has the text; `moved` if it has
 * another revision by now. */
static pdr_rc take_frame(struct pdr__compose *c, pdr_page **page, bool *moved,
                         pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_FRAME, .ref = c->head->ref};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (!c->head->has_frame)
        return pdr__frame_native(&c->frame, c->head, err);
    rc = pdr_store_read(page, c->store, &query, &why);
    *moved = rc == PDR_ENOTFOUND ||
             (rc == PDR_OK && (*page)->head.revision != c->head->revision);
    if (*moved)
        return PDR_OK;
    if (rc != PDR_OK)
        return pdr__err_pass(err, &why);
    return pdr__frame_read(&c->frame, (*page)->frame, err);
}

/* One attempt: head, frame, slots and properties, all of one revision, then the
 * document. `moved`: nothing was written, and another may do better. */
static pdr_rc export_once(pdr_export_report *out, bool *moved, pdr_store *store,
                          const pdr_export_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    const struct pdr__frame no_frame = PDR_FRAME_INIT;
    const pdr_buf no_bytes = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = opts->ref};
    struct pdr__compose c = {.store = store,
                             .frame = no_frame,
                             .bare = opts->bare,
                             .out = no_bytes,
                             .fn = fn,
                             .arg = arg};
    size_t credit = PDR_EXPORT_HOLD_BYTES;
    pdr_page *head = NULL, *frame = NULL;
    pdr_rc rc = PDR_OK;

    *moved = false;
    PDR_TRY(pdr_store_read(&head, store, &query, err));
    c.head = &head->head;
    c.report.revision = c.head->revision;
    c.report.epoch = c.head->epoch;
    if (opts->on_head != NULL)
        PDR_TRY(opts->on_head(c.head, err, opts->head_arg));
    PDR_TRY(take_frame(&c, &frame, moved, err));
    if (!*moved)
        PDR_TRY(pdr__held_hold(&c.bag, moved, store, PDR_READ_SLOTS, c.head,
                               &credit, err));
    if (!*moved && !c.bare)
        PDR_TRY(pdr__held_hold(&c.properties, moved, store, PDR_READ_PROPERTIES,
                               c.head, &credit, err));
    if (*moved)
        goto done;
    PDR_TRY(pdr__compose_check(&c, err));
    PDR_TRY(pdr__compose_write(&c, err));
    if (out != NULL)
        *out = c.report;
done:
    pdr_buf_dispose(&c.out);
    pdr__held_dispose(&c.bag);
    pdr__held_dispose(&c.properties);
    pdr__frame_dispose(&c.frame);
    pdr_page_free(frame);
    pdr_page_free(head);
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
