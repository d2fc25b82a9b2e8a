/*
 * import.c - one document from a stream becomes a session in a store.
 *
 * WHY  It is there as a whole or not at all, whatever the size: what can be
 *      known from the beginning of a document is checked before anything is
 *      written, the rest before it is shown.
 *
 *        first walk: the first 8 MiB          second walk: all of it
 *        what is it? which names come twice? ─► split ─► show
 *
 * INVARIANT
 *   M1  A document is walked over twice, and no part of it more often.
 */
#include <stdio.h>

#include "import.h"
#include "store.h"

/* Of a document that is refused, to say what it is: memory for some of them is
 * enough. */
#define LOOK_NODES 1000000u

/* One import. */
struct task {
    struct pdr__source source;
    struct pdr__layout layout;
    struct pdr__about about;
    struct pdr__twice twice;
    struct pdr__framer frame;
    struct pdr__batch batch;
    bool cut; /* the document is longer than what was looked at */
};

/* --- what it is ------------------------------------------------------------
 */

/* A skeleton tells what a document is, not what else it looks like. If it is
 * not a session, all of it is at hand. */
static void say_what_it_is(struct task *t, pdr_err *cause)
{
    const pdr_read_opts opts = {.flags =
                                    t->source.bare_tokens ? PDR_BARE_TOKENS : 0,
                                .max_nodes = LOOK_NODES};
    pdr_value *value = NULL;
    pdr_session *session = NULL;
    pdr_err exact = PDR_ERR_INIT;

    if (cause->path[0] != '\0' ||
        (!pdr__err_is(cause, PDR_R_SESSION_UNKNOWN_SHAPE) &&
         !pdr__err_is(cause, PDR_R_SESSION_NOT_OBJECT)))
        return;
    if (pdr_json_read(&value, pdr_buf_str(&t->source.ahead), &opts, NULL) ==
            PDR_OK &&
        pdr_session_from_value(&session, value, &exact) != PDR_OK &&
        exact.code == cause->code)
        *cause = exact;
    cause->offset = -1; /* it is about all of it */
    pdr_session_free(session);
    pdr_value_free(value);
}

/* The first walk. */
static pdr_rc recognise_document(struct task *t, pdr_err *err)
{
    const pdr_value *skeleton = NULL;
    pdr_err cause = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__source_fill(&t->source, err));
    PDR_TRY(pdr__twice_find(&t->twice, &t->source, err));
    t->cut = t->source.cut;
    PDR_TRY(pdr__skeleton_close(&skeleton, &t->source.skeleton, err));
    rc = pdr__recognise(&t->layout, &t->about, skeleton, &cause);
    if (rc == PDR_OK)
        return PDR_OK;
    /* Is it only that the members which tell come too late? */
    if (t->cut && (pdr__err_is(&cause, PDR_R_SESSION_UNKNOWN_SHAPE) ||
                   pdr__err_is(&cause, PDR_R_SCHEMA_VERSION_MISSING) ||
                   pdr__err_is(&cause, PDR_R_DATA_MISSING)))
        return PDR_FAIL(err, MEMBER_ORDER,
                        "the first %zu bytes do not tell what this is; put "
                        "the small members first",
                        PDR_LOOK_BYTES);
    say_what_it_is(t, &cause);
    if (err != NULL)
        *err = cause;
done:
    return rc;
}

/* What a long document turned out to be in the end. */
static pdr_rc recognise_again(struct task *t, pdr_err *err)
{
    struct pdr__about about = PDR_ABOUT_INIT;
    const pdr_value *skeleton = NULL;
    struct pdr__layout layout;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__skeleton_close(&skeleton, &t->source.skeleton, err));
    PDR_TRY(pdr__recognise(&layout, &about, skeleton, err));
    if (!pdr__layout_equal(&layout, &t->layout) ||
        strcmp(about.kind, t->about.kind) != 0 ||
        !pdr_str_equal(pdr_buf_str(&about.id), pdr_buf_str(&t->about.id)) ||
        !pdr_str_equal(pdr_buf_str(&about.version),
                       pdr_buf_str(&t->about.version)))
        rc = PDR_FAIL(err, MEMBER_LATE,
                      "members after the first %zu bytes say that this is "
                      "something else than it seemed; put the small members "
                      "first",
                      PDR_LOOK_BYTES);
done:
    pdr__about_dispose(&about);
    return rc;
}

/* --- the head --------------------------------------------------------------
 */

/* The id of the document, for a session that nobody gave another one. */
static pdr_rc take_own_id(struct task *t, pdr_err *err)
{
    const pdr_ref ref = {.id = pdr_buf_str(&t->about.id)};
    char path[64];
    pdr_ref checked;
    pdr_rc rc = PDR_OK;

    if (ref.id.len == 0)
        return PDR_FAIL(err, NO_SESSION_ID,
                        "%s has no id of its own; name one for the session",
                        t->cut ? "the beginning of the document"
                               : "the document");
    t->batch.ref.id = ref.id;
    rc = pdr__ref_check(&checked, &ref, err);
    if (rc == PDR_OK)
        return PDR_OK;
    (void)snprintf(path, sizeof(path), "%s%s",
                   t->layout.wrapped ? "/session" : "", t->about.path);
    pdr__err_path(err, pdr_str_c(path));
    return pdr__wrap(err, rc, "name another id than the document has");
}

static pdr_rc name_session(struct task *t, const pdr_import_opts *opts,
                           pdr_err *err)
{
    struct pdr__batch *b = &t->batch;
    pdr_rc rc = b->ref.id.ptr == NULL ? take_own_id(t, err) : PDR_OK;

    if (rc != PDR_OK)
        return rc;
    b->kind = pdr_str_c(t->about.kind);
    if (t->about.version.len > 0)
        b->version = pdr_buf_str(&t->about.version);
    b->agent = opts->agent;
    if (b->agent.ptr == NULL)
        b->agent = pdr__durable_agent(b->ref.id);
    if (b->agent.ptr == NULL && pdr__is_agent(pdr_buf_str(&t->about.agent)))
        b->agent = pdr_buf_str(&t->about.agent);
    return PDR_OK;
}

/* --- the store -------------------------------------------------------------
 */

pdr_rc pdr__import_open(struct pdr__batch *batch, pdr_err *err)
{
    const pdr_stage stage = {.ref = batch->ref,
                             .agent = batch->agent,
                             .kind = batch->kind,
                             .schema_version = batch->version};
    const pdr_rows rows = {.entry_count = 0};
    const pdr_show_opts show = {.revision = 0};
    const pdr_request step = {
        .verb = PDR_STAGE_SHOW, .stage = &stage, .rows = &rows, .show = &show};
    pdr_edit edit;
    size_t bytes = 0;
    pdr_rc rc = PDR_OK;

    if (batch->store != NULL)
        return PDR_OK;
    PDR_TRY(
        pdr__step_check(&edit, &bytes, &step, err)); /* no store takes it? */
    PDR_TRY(batch->opts->open(&batch->store, err, batch->opts->open_arg));
    PDR_TRY(pdr__batch_open(batch, err));
done:
    return rc;
}

/* --- all of it -------------------------------------------------------------
 */

static void fill_report(pdr_import_report *out, const struct task *t,
                        const pdr_import_opts *opts)
{
    const struct pdr__batch *b = &t->batch;

    memset(out, 0, sizeof(*out));
    out->ref = b->ref;
    if (opts->ref.id.ptr == NULL) { /* a store does not take a longer one */
        memcpy(out->id, b->ref.id.ptr, b->ref.id.len);
        out->ref.id = pdr_str_n(out->id, b->ref.id.len);
    }
    out->revision = b->done.revision;
    out->epoch = b->done.epoch;
    out->entries = b->entries;
    out->slots = b->slots;
    out->properties = b->properties;
    out->bytes = t->source.bytes;
    out->commits = b->commits;
}

pdr_rc pdr_import(pdr_import_report *out, pdr_store *store,
                  const pdr_import_opts *opts, pdr_err *err, pdr_read_fn fn,
                  void *arg)
{
    static const struct pdr__about nothing = PDR_ABOUT_INIT;
    struct task t;
    struct pdr__split split = {.source = &t.source,
                               .layout = &t.layout,
                               .twice = &t.twice,
                               .frame = &t.frame,
                               .batch = &t.batch,
                               .path = PDR_BUF_INIT(SIZE_MAX)};
    pdr_str frame = {NULL, 0};
    pdr_ref checked;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(opts != NULL && fn != NULL &&
                (store != NULL || opts->open != NULL));
    memset(&t, 0, sizeof(t));
    t.about = nothing;
    pdr__source_init(&t.source, fn, arg);
    t.source.bare_tokens = opts->bare_tokens;
    pdr__twice_init(&t.twice);
    pdr__batch_init(&t.batch, store, opts, &t.source);

    PDR_TRY(recognise_document(&t, err));
    PDR_TRY(name_session(&t, opts, err));
    PDR_TRY(store != NULL ? pdr__batch_open(&t.batch, err)
                          : pdr__ref_check(&checked, &t.batch.ref, err));
    PDR_TRY(pdr__twice_check(&t.twice, &t.layout, err));

    PDR_TRY(pdr__source_start(&t.source, false, err));
    pdr__framer_init(&t.frame, t.layout.shape);
    PDR_TRY(pdr__split_run(&split, err));
    if (t.cut)
        PDR_TRY(recognise_again(&t, err));
    PDR_TRY(pdr__framer_finish(&frame, &t.frame, err));
    PDR_TRY(pdr__import_open(&t.batch, err));
    PDR_TRY(pdr__batch_finish(&t.batch, frame, err));
    if (out != NULL)
        fill_report(out, &t, opts);
done:
    if (rc != PDR_OK)
        pdr__batch_give_up(&t.batch);
    pdr_buf_dispose(&split.path);
    pdr__source_dispose(&t.source);
    pdr__about_dispose(&t.about);
    pdr__twice_dispose(&t.twice);
    pdr__framer_dispose(&t.frame);
    pdr__batch_dispose(&t.batch);
    return rc;
}
