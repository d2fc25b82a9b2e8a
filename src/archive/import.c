/*
 * import.c - one document from a stream becomes a session in a store.
 *
 * WHY  It is there as a whole or not at all, whatever the size: what can be
 *      known from the beginning of a document is checked before anything is
 *      written, the rest before it is shown.
 *
 *        look ─► recognise ─► names that occur twice ─► split ─► show
 *         `- the first 8 MiB ----------------------'     `- all of it
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

static void dispose(struct task *t)
{
    pdr__source_dispose(&t->source);
    pdr__about_dispose(&t->about);
    pdr__twice_dispose(&t->twice);
    pdr__framer_dispose(&t->frame);
    pdr__batch_dispose(&t->batch);
}

/* --- looking ---------------------------------------------------------------
 */

/* Go over the beginning, or all if that is all. */
static pdr_rc look(const pdr_value **skeleton, struct task *t, pdr_err *err)
{
    struct pdr__source *s = &t->source;
    pdr_rc rc = pdr__source_fill(s, err);

    if (rc == PDR_OK)
        rc = pdr__source_start(s, true, err);
    if (rc != PDR_OK)
        return rc;
    do {
        rc = pdr__source_next(s, err);
    } while (rc == PDR_OK && s->event != PDR_END_OF_INPUT);
    t->cut = s->cut;
    if (rc != PDR_OK && !t->cut)
        return rc;
    return pdr__skeleton_close(skeleton, &s->skeleton, err);
}

/* Is it only that the members which tell come too late? */
static bool may_come(const pdr_err *cause)
{
    static const char *const reasons[] = {
        "session_unknown_shape", "schema_version_missing", "data_missing"};

    for (size_t i = 0; i < PDR_COUNT(reasons); i++) {
        if (strcmp(cause->reason, reasons[i]) == 0)
            return true;
    }
    return false;
}

/* A skeleton tells what a document is, not what else it looks like: of one that
 * is no session, all is at hand. */
static void say_what_it_is(struct task *t, pdr_err *cause)
{
    const pdr_read_opts opts = {.flags =
                                    t->source.bare_tokens ? PDR_BARE_TOKENS : 0,
                                .max_nodes = LOOK_NODES};
    pdr_value *value = NULL;
    pdr_session *session = NULL;
    pdr_err exact = PDR_ERR_INIT;

    if (cause->path[0] != '\0' ||
        (strcmp(cause->reason, "session_unknown_shape") != 0 &&
         strcmp(cause->reason, "session_not_object") != 0))
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

static pdr_rc recognise(struct task *t, pdr_err *err)
{
    const pdr_value *skeleton = NULL;
    pdr_err cause = PDR_ERR_INIT;
    pdr_rc rc = look(&skeleton, t, err);

    if (rc != PDR_OK)
        return rc;
    rc = pdr__recognise(&t->layout, &t->about, skeleton, &cause);
    if (rc == PDR_OK)
        return PDR_OK;
    if (t->cut && may_come(&cause))
        return PDR_FAIL(err, MEMBER_ORDER,
                        "the first %zu bytes do not tell what this is; put "
                        "the small members first",
                        PDR_LOOK_BYTES);
    say_what_it_is(t, &cause);
    if (err != NULL)
        *err = cause;
    return rc;
}

/* --- the head --------------------------------------------------------------
 */

static pdr_str text_or_none(const pdr_buf *buf)
{
    static const pdr_str none = {NULL, 0};

    return buf->len > 0 ? pdr_buf_str(buf) : none;
}

/* The id of the document, for a session that nobody gave another one. */
static pdr_rc take_own_id(struct task *t, pdr_err *err)
{
    const pdr_ref ref = {.id = text_or_none(&t->about.id)};
    char path[64];
    pdr_ref checked;
    pdr_rc rc = PDR_OK;

    if (ref.id.ptr == NULL)
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
    b->version = text_or_none(&t->about.version);
    b->agent = opts->agent;
    if (b->agent.ptr == NULL)
        b->agent = pdr__durable_agent(b->ref.id);
    if (b->agent.ptr == NULL && pdr__is_agent(pdr_buf_str(&t->about.agent)))
        b->agent = pdr_buf_str(&t->about.agent);
    return PDR_OK;
}

/* What a long document turned out to be in the end. */
static pdr_rc look_back(struct task *t, pdr_err *err)
{
    struct pdr__about about = PDR_ABOUT_INIT;
    const pdr_value *skeleton = NULL;
    struct pdr__layout layout;
    pdr_rc rc = pdr__skeleton_close(&skeleton, &t->source.skeleton, err);

    if (rc == PDR_OK)
        rc = pdr__recognise(&layout, &about, skeleton, err);
    if (rc == PDR_OK &&
        (!pdr__layout_equal(&layout, &t->layout) ||
         strcmp(about.kind, t->about.kind) != 0 ||
         !pdr_str_equal(pdr_buf_str(&about.id), pdr_buf_str(&t->about.id)) ||
         !pdr_str_equal(pdr_buf_str(&about.version),
                        pdr_buf_str(&t->about.version))))
        rc = PDR_FAIL(err, MEMBER_LATE,
                      "members behind the first %zu bytes say that this is "
                      "something else than it seemed; put the small members "
                      "first",
                      PDR_LOOK_BYTES);
    pdr__about_dispose(&about);
    return rc;
}

/* --- all of it -------------------------------------------------------------
 */

static pdr_rc take_apart(struct task *t, pdr_err *err)
{
    struct pdr__split split = {.source = &t->source,
                               .layout = &t->layout,
                               .twice = &t->twice,
                               .frame = &t->frame,
                               .batch = &t->batch,
                               .path = PDR_BUF_INIT(SIZE_MAX)};
    pdr_str frame = {NULL, 0};
    pdr_rc rc = pdr__twice_find(&t->twice, &t->source, &t->layout, err);

    if (rc == PDR_OK)
        rc = pdr__source_start(&t->source, false, err);
    if (rc == PDR_OK) {
        pdr__framer_init(&t->frame, t->layout.shape);
        rc = pdr__split_run(&split, err);
    }
    if (rc == PDR_OK && t->cut)
        rc = look_back(t, err);
    if (rc == PDR_OK)
        rc = pdr__framer_finish(&frame, &t->frame, err);
    if (rc == PDR_OK)
        rc = pdr__batch_finish(&t->batch, frame, err);
    pdr_buf_dispose(&split.path);
    return rc;
}

static void report(pdr_import_report *out, const struct task *t,
                   const pdr_import_opts *opts)
{
    const struct pdr__batch *b = &t->batch;

    memset(out, 0, sizeof(*out));
    out->ref = b->ref;
    if (opts->ref.id.ptr == NULL) { /* a store takes no longer one */
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
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL && opts != NULL && fn != NULL);
    memset(&t, 0, sizeof(t));
    t.about = nothing;
    pdr__source_init(&t.source, fn, arg);
    t.source.bare_tokens = opts->bare_tokens;
    pdr__twice_init(&t.twice);
    pdr__batch_init(&t.batch, store, opts, &t.source);
    rc = recognise(&t, err);
    if (rc == PDR_OK)
        rc = name_session(&t, opts, err);
    if (rc == PDR_OK)
        rc = pdr__batch_open(&t.batch, err);
    if (rc == PDR_OK)
        rc = take_apart(&t, err);
    if (rc != PDR_OK)
        pdr__batch_give_up(&t.batch);
    else if (out != NULL)
        report(out, &t, opts);
    dispose(&t);
    return rc;
}
