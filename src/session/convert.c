/*
 * convert.c - a session in another shape, without loss.
 *
 * WHY  A session moves between .NET, Python and us, and each writes it in its
 *      own way. Who moves it there and back must find what was there, down to
 *      the order of members and the spelling of numbers; who changed it in
 *      between must find the change; and who moves it must hear what the other
 *      side will not understand.
 *
 *      document ──restore──► made ──restore──► what would come back
 *         └───────────── compare ─────────────────┘
 *                           │
 *            note in the result: "perdure": {"dotnet": {"patch": […]}}
 *
 *      restore:  parts of the root (convert_parts.c), slots and messages
 *                (convert_bag.c), then what the note of an earlier conversion
 *                says (convert_note.c), which is used up
 *
 * INVARIANTS
 *   W1  What is converted comes back equal: pdr__session_convert_value() goes
 *       back for real, and keeps the whole source in the note if it has to.
 *       A note of an earlier conversion is used up by the next one, and made
 *       anew on the way back.
 *   W2  Two things do not come back, as they may not be written: a sentinel in
 *       the place of a service id (perdure.historyMode says that it was there),
 *       and a `$type` that was not the first member of a content for .NET. So
 *       a document is read as if it had just been written.
 *   W3  Findings come from the first restore only, and point into the source;
 *       whether an id is aside, only the complete result tells.
 *   W4  A session gets an id only where the target needs one and the source has
 *       none. The note says so, and on the way back it goes again.
 */
#include "convert.h"

/* One conversion. */
struct job {
    struct session_trip trip;
    pdr_session_kind stated;
    pdr_str id;            /* for a session that has none; empty: a new UUID */
    struct finder *finder; /* who is told */
    bool plain;            /* do not use the note of an earlier conversion */
    struct histories *known; /* what need not be converted again */
};

static struct job job_back(const struct job *job, struct finder *quiet)
{
    struct job back = *job;

    back.trip.from = job->trip.to;
    back.trip.to = job->trip.from;
    back.stated = PDR_SESSION_KIND_UNSTATED;
    back.finder = quiet;
    back.plain = false;
    return back;
}

static pdr_rc convert(pdr_value **out, const pdr_value *document,
                      const struct job *job, pdr_err *err);

static bool is_python(pdr_session_shape shape)
{
    return shape == PDR_SESSION_PYTHON;
}

static const pdr_value *note_of(const pdr_value *document,
                                pdr_session_shape shape)
{
    return pdr_value_get_c(pdr__member(document, "perdure", PDR_OBJECT),
                           pdr_session_shape_name(shape));
}

/* --- ids ----------------------------------------------------------------- */

static pdr_rc new_id(pdr_value **out, const struct job *job, pdr_err *err)
{
    struct pdr__uuid uuid;
    char text[PDR_UUID_TEXT];
    pdr_rc rc = PDR_OK;

    if (job->id.len > 0)
        return pdr_value_new_string(out, job->id, err);
    rc = pdr__uuid_v4(&uuid, pdr__rand_system(), err);
    if (rc != PDR_OK)
        return rc;
    pdr__uuid_write(text, &uuid);
    return pdr_value_new_string(out, pdr_str_c(text), err);
}

/* A member in front of all others, or behind the first one. */
static pdr_rc insert_member(pdr_value **io, const char *name,
                            const pdr_value *value, const char *behind,
                            pdr_err *err)
{
    pdr_value *made = pdr_value_new_object();
    bool there = pdr_value_get_c(*io, behind) == NULL;
    pdr_iter it;
    pdr_rc rc = there ? pdr__put_member(&made, name, value, err) : PDR_OK;

    pdr_iter_init(&it, *io);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = pdr__value_add_member(&made, it.name, it.value, err);
        if (rc == PDR_OK && !there &&
            pdr_value_text_is(it.name, pdr_str_c(behind))) {
            rc = pdr__put_member(&made, name, value, err);
            there = true;
        }
    }
    if (rc != PDR_OK) {
        pdr_value_free(made);
        return rc;
    }
    pdr_value_free(*io);
    *io = made;
    return PDR_OK;
}

static pdr_rc put_native_id(pdr_value **io, const pdr_value *id, pdr_err *err)
{
    const pdr_value *has = pdr__member(*io, "perdure", PDR_OBJECT);
    pdr_value *perdure =
        has != NULL ? pdr_value_ref(has) : pdr_value_new_object();
    const char *behind =
        pdr_value_get_c(perdure, "kind") != NULL ? "kind" : "version";
    pdr_rc rc = insert_member(&perdure, "id", id, behind, err);

    if (rc == PDR_OK)
        rc = pdr__put_member(io, "perdure", perdure, err);
    pdr_value_free(perdure);
    return rc;
}

/* W4. `home`: it comes back to the shape that it once had. */
static pdr_rc give_id(pdr_value **io, const struct job *job, bool home,
                      pdr_err *err)
{
    bool python = is_python(job->trip.to);
    pdr_value *id = NULL;
    pdr_rc rc = PDR_OK;

    if (job->trip.to == PDR_SESSION_DOTNET)
        return PDR_OK;
    if (python ? pdr_value_get_c(*io, "session_id") != NULL
               : home || pdr__document_id(*io, PDR_SESSION_NATIVE) != NULL)
        return PDR_OK;
    rc = new_id(&id, job, err);
    if (rc == PDR_OK)
        rc = python ? insert_member(io, "session_id", id, "type", err)
                    : put_native_id(io, id, err);
    pdr_value_free(id);
    if (rc == PDR_OK)
        rc = pdr__finder_tell(job->finder, "id-minted", PDR_SEVERITY_INFO, err,
                              "%s",
                              "the session had no id of its own: it got one");
    return rc;
}

/* The id of a document as text; empty if it has none. */
static pdr_rc id_text(pdr_str *out, const pdr_value *document,
                      pdr_session_shape shape, pdr_buf *scratch, pdr_err *err)
{
    const pdr_value *id = pdr__document_id(document, shape);

    *out = pdr_str_n(NULL, 0);
    if (id == NULL || pdr_value_has_lone_surrogate(id))
        return PDR_OK;
    return pdr_value_text(out, id, scratch, err);
}

/* W4: an id that is missing in what came back is no loss. */
static pdr_rc forgive_id(pdr_value **io, const pdr_value *document,
                         const struct job *back, pdr_err *err)
{
    struct job job = *back;
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = id_text(&job.id, document, back->trip.to, &scratch, err);

    if (rc == PDR_OK && job.id.len > 0)
        rc = give_id(io, &job, false, err);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- sentinels ----------------------------------------------------------- */

/* Take the sentinel out, and say in `perdure` that it was there. A null stays
 * where the document needs the member to be known by. */
static pdr_rc replace_sentinel(pdr_value **io, const char *name, pdr_err *err)
{
    const pdr_value *has = pdr__member(*io, "perdure", PDR_OBJECT);
    pdr_value *perdure =
        has != NULL ? pdr_value_ref(has) : pdr_value_new_object();
    pdr_value *null =
        pdr_value_get_c(*io, "stateBag") == NULL ? pdr_value_new_null() : NULL;
    pdr_value *mode = NULL;
    pdr_rc rc = pdr_value_new_string(&mode, PDR_LIT("per-service-call"), err);

    if (rc == PDR_OK)
        rc = pdr__put_member(&perdure, "historyMode", mode, err);
    if (rc == PDR_OK)
        rc = pdr__with_member_c(io, name, null, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(io, "perdure", perdure, err);
    pdr_value_free(mode);
    pdr_value_free(null);
    pdr_value_free(perdure);
    return rc;
}

/* W2: what may not be written. The document as it comes back. */
static pdr_rc drop_sentinel(pdr_value **io, pdr_session_shape shape,
                            struct finder *finder, pdr_err *err)
{
    const char *name =
        is_python(shape) ? "service_session_id" : "conversationId";
    size_t mark = 0;
    pdr_rc rc = PDR_OK;

    if (!pdr__value_is_sentinel(pdr_value_get_c(*io, name)))
        return PDR_OK;
    mark = pdr__finder_name(finder, pdr_str_c(name));
    rc = pdr__finder_tell(finder, "sentinel", PDR_SEVERITY_INFO, err, "%s",
                          "it stands for \"the history is here\" and is no "
                          "id: it is left out, and perdure.historyMode says "
                          "that it was there");
    pdr__finder_up(finder, mark);
    return rc == PDR_OK ? replace_sentinel(io, name, err) : rc;
}

/* W2, for a document that is written. */
static pdr_rc normalise(pdr_value **io, pdr_session_shape shape,
                        struct finder *finder, pdr_err *err)
{
    pdr_rc rc = drop_sentinel(io, shape, finder, err);

    if (rc == PDR_OK && shape == PDR_SESSION_DOTNET)
        rc = pdr__types_first(io, err);
    return rc;
}

/* --- there --------------------------------------------------------------- */

static size_t count_named(const pdr_value *object, const char *name)
{
    size_t count = 0;
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it))
        count += pdr_value_text_is(it.name, pdr_str_c(name));
    return count;
}

/* The document without the note for `shape`. A second `perdure`, which nobody
 * reads, stays. */
static pdr_rc without_note(pdr_value **out, const pdr_value *document,
                           pdr_session_shape shape, pdr_err *err)
{
    const pdr_value *has = pdr__member(document, "perdure", PDR_OBJECT);
    pdr_value *perdure = NULL;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_ref(document);
    if (note_of(document, shape) == NULL)
        return PDR_OK;
    perdure = pdr_value_ref(has);
    rc = pdr__with_member_c(&perdure, pdr_session_shape_name(shape), NULL, err);
    if (rc == PDR_OK &&
        (pdr_value_count(perdure) > 0 || count_named(document, "perdure") > 1))
        rc = pdr__put_member(out, "perdure", perdure, err);
    else if (rc == PDR_OK)
        rc = pdr__with_member_c(out, "perdure", NULL, err);
    pdr_value_free(perdure);
    return rc;
}

/* Notes for source and target do not go on, nor what only convert_python.c may
 * say. */
static pdr_rc drop_notes(struct parts *parts, struct session_trip trip,
                         pdr_err *err)
{
    const char *const names[] = {pdr_session_shape_name(trip.from),
                                 pdr_session_shape_name(trip.to), "newer"};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(names); i++) {
        if (pdr_value_get_c(parts->perdure, names[i]) != NULL)
            rc = pdr__with_member_c(&parts->perdure, names[i], NULL, err);
    }
    return rc;
}

/* Would it be known as a session of this shape? One of Python may still be
 * without an id. */
static bool is_known(const pdr_value *document, pdr_session_shape shape)
{
    const pdr_value *id = pdr_value_get_c(document, "session_id");
    pdr_session_shape known = PDR_SESSION_NATIVE;
    pdr_session_kind kind = PDR_SESSION_KIND_UNSTATED;

    if (is_python(shape) && id == NULL)
        return pdr_value_get_c(document, "stateBag") == NULL;
    return pdr__session_recognise(&known, &kind, document) && known == shape;
}

/* Do what the note says, unless nothing would be left to know the session by:
 * somebody may have changed what the note relied on. */
static pdr_rc use_note(pdr_value **io, const pdr_value *note,
                       pdr_session_shape shape, pdr_err *err)
{
    pdr_value *made = pdr_value_ref(*io);
    pdr_rc rc = pdr__note_apply(&made, note, shape, err);

    if (rc == PDR_OK && is_known(made, shape)) {
        pdr_value_free(*io);
        *io = made;
        return PDR_OK;
    }
    pdr_value_free(made);
    return rc;
}

/* The document in the target, with what a note for it says. No note for the way
 * back yet. */
static pdr_rc restore(pdr_value **out, const pdr_value *document,
                      const struct job *job, pdr_err *err)
{
    const pdr_value *note = job->plain ? NULL : note_of(document, job->trip.to);
    pdr_value *made = NULL, *bag = NULL;
    struct parts parts;
    pdr_rc rc = pdr__parts_read(&parts, document, job->trip.from, err);

    if (rc == PDR_OK)
        rc = drop_notes(&parts, job->trip, err);
    if (rc == PDR_OK)
        rc = pdr__bag_convert(&bag, document, parts.bag, job->trip, job->known,
                              job->finder, err);
    if (rc == PDR_OK) {
        pdr_value_free(parts.bag);
        parts.bag = bag;
        rc = pdr__parts_write(&made, &parts, job->trip, job->finder, err);
    }
    if (rc == PDR_OK)
        rc = use_note(&made, note, job->trip.to, err);
    if (rc == PDR_OK)
        rc = normalise(&made, job->trip.to, job->finder, err);
    pdr__parts_dispose(&parts);
    if (rc == PDR_OK)
        *out = made;
    else
        pdr_value_free(made);
    return rc;
}

/* --- and back ------------------------------------------------------------ */

/* Put the note for `shape` into the document, at the end of `perdure`. */
static pdr_rc attach(pdr_value **io, const pdr_value *note,
                     pdr_session_shape shape, pdr_err *err)
{
    const pdr_value *has = pdr__member(*io, "perdure", PDR_OBJECT);
    pdr_value *perdure = NULL;
    pdr_rc rc = PDR_OK;

    if (note == NULL)
        return PDR_OK;
    perdure = has != NULL ? pdr_value_ref(has) : pdr_value_new_object();
    rc = pdr__with_member_c(&perdure, pdr_session_shape_name(shape), note, err);
    if (rc == PDR_OK)
        rc = pdr__with_member_c(io, "perdure", perdure, err);
    pdr_value_free(perdure);
    return rc;
}

/* The document in the target, and the note for the way back. */
static pdr_rc convert_noted(pdr_value **out, pdr_value **note,
                            const pdr_value *document, const struct job *job,
                            pdr_err *err)
{
    struct finder quiet = PDR_FINDER_INIT(NULL, NULL);
    struct job back = job_back(job, &quiet);
    pdr_value *source = NULL, *returned = NULL;
    pdr_rc rc = restore(out, document, job, err);

    *note = NULL;
    if (rc == PDR_OK)
        rc = give_id(out, job, note_of(document, job->trip.to) != NULL, err);
    if (rc == PDR_OK)
        rc = restore(&returned, *out, &back, err);
    if (rc == PDR_OK)
        rc = forgive_id(&returned, document, &back, err);
    if (rc == PDR_OK)
        rc = without_note(&source, document, job->trip.to, err);
    if (rc == PDR_OK)
        rc = pdr__note_make(note, returned, source, job->trip.from, err);
    pdr_value_free(source);
    pdr_value_free(returned);
    pdr__finder_dispose(&quiet);
    return rc;
}

/* The same, but for the note for `shape`, which is used up? */
static pdr_rc are_same(bool *out, const pdr_value *a, const pdr_value *b,
                       pdr_session_shape shape, pdr_err *err)
{
    pdr_value *left = NULL, *right = NULL;
    pdr_rc rc = without_note(&left, a, shape, err);

    if (rc == PDR_OK)
        rc = without_note(&right, b, shape, err);
    *out = rc == PDR_OK && pdr_value_equal(left, right);
    pdr_value_free(right);
    pdr_value_free(left);
    return rc;
}

/* W1: would the document come back? */
static pdr_rc comes_back(bool *out, const pdr_value *made,
                         const pdr_value *document, const struct job *job,
                         pdr_err *err)
{
    struct finder quiet = PDR_FINDER_INIT(NULL, NULL);
    struct job back = job_back(job, &quiet);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *returned = NULL, *note = NULL;
    pdr_rc rc = id_text(&back.id, document, back.trip.to, &scratch, err);

    if (rc == PDR_OK)
        rc = convert_noted(&returned, &note, made, &back, err);
    if (rc == PDR_OK && note_of(document, job->trip.to) != NULL)
        rc = are_same(out, returned, document, job->trip.to, err);
    else if (rc == PDR_OK) {
        rc = attach(&returned, note, back.trip.from, err);
        *out = rc == PDR_OK && pdr_value_equal(returned, document);
    }
    pdr_value_free(note);
    pdr_value_free(returned);
    pdr_buf_dispose(&scratch);
    pdr__finder_dispose(&quiet);
    return rc;
}

/* The source that a note holds as a whole, if converting it gives this
 * document. *out stays NULL otherwise. */
static pdr_rc take_whole(pdr_value **out, const pdr_value *document,
                         const struct job *job, pdr_err *err)
{
    struct finder quiet = PDR_FINDER_INIT(NULL, NULL);
    struct job again = job_back(job, &quiet);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *whole = NULL, *made = NULL;
    pdr_rc rc = pdr__note_whole(&whole, note_of(document, job->trip.to), err);

    if (rc == PDR_OK && whole != NULL)
        rc = id_text(&again.id, document, job->trip.from, &scratch, err);
    if (rc == PDR_OK && whole != NULL && pdr_value_kind(whole) == PDR_OBJECT)
        rc = convert(&made, whole, &again, err);
    if (rc == PDR_ELIMIT)
        rc = PDR_OK; /* what cannot be converted did not give this */
    if (rc == PDR_OK && made != NULL && pdr_value_equal(made, document)) {
        rc = normalise(&whole, job->trip.to, &quiet, err);
        *out = rc == PDR_OK ? pdr_value_ref(whole) : NULL;
    }
    pdr_value_free(made);
    pdr_value_free(whole);
    pdr_buf_dispose(&scratch);
    pdr__finder_dispose(&quiet);
    return rc;
}

/* --- depth --------------------------------------------------------------- */

static size_t depth_limit(pdr_session_shape shape)
{
    return shape == PDR_SESSION_DOTNET ? PDR_DOTNET_DEPTH : PDR_DEFAULT_DEPTH;
}

/* Go to the first value that stands below `room` levels. */
static pdr_rc go_deep(struct finder *finder, const pdr_value *value,
                      size_t room, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (room == 0)
        return PDR_OK;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        size_t mark = 0;

        if (pdr__levels(it.value) < room)
            continue;
        if (it.name == NULL)
            mark = pdr__finder_index(finder, it.index);
        else
            rc = pdr__finder_member(&mark, finder, it.name, err);
        return rc == PDR_OK ? go_deep(finder, it.value, room - 1, err) : rc;
    }
    return PDR_OK;
}

static pdr_rc check_depth(const pdr_value *document, pdr_session_shape shape,
                          pdr_err *err)
{
    struct finder place = PDR_FINDER_INIT(NULL, NULL);
    size_t limit = depth_limit(shape);
    pdr_rc rc = PDR_OK;

    if (pdr__levels(document) <= limit)
        return PDR_OK;
    rc = go_deep(&place, document, limit, err);
    if (rc == PDR_OK) {
        rc = PDR_FAIL(err, TOO_DEEP,
                      "the session would have more than %zu levels, which is "
                      "all that a reader of the %s shape takes",
                      limit, pdr_session_shape_name(shape));
        pdr__err_path(err, pdr_buf_str(&place.pointer));
    }
    pdr__finder_dispose(&place);
    return rc;
}

/* --- all of it ----------------------------------------------------------- */

/* W1: if the note does not do it, or makes the document too deep, the source is
 * kept as text. */
static pdr_rc attach_surely(pdr_value **io, pdr_value *note,
                            const pdr_value *document, const struct job *job,
                            pdr_err *err)
{
    pdr_value *made = pdr_value_ref(*io), *whole = NULL;
    bool same = false;
    pdr_rc rc = attach(&made, note, job->trip.from, err);

    if (rc == PDR_OK && pdr__levels(made) <= depth_limit(job->trip.to))
        rc = comes_back(&same, made, document, job, err);
    else if (rc == PDR_OK)
        note = NULL;
    if (rc == PDR_OK && !same) {
        whole = note != NULL ? pdr_value_ref(note) : pdr_value_new_object();
        rc = pdr__note_add_whole(&whole, document, err);
    }
    if (rc == PDR_OK)
        rc = attach(io, same ? note : whole, job->trip.from, err);
    pdr_value_free(whole);
    pdr_value_free(made);
    return rc;
}

/* To the shape that it has. */
static pdr_rc convert_same(pdr_value **out, const pdr_value *document,
                           const struct job *job, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    *out = pdr_value_ref(document);
    rc = normalise(out, job->trip.to, job->finder, err);
    return rc == PDR_OK ? give_id(out, job, false, err) : rc;
}

/* Can it be opened as a session of this shape? Depth is checked later. */
static pdr_rc check_open(bool *out, const pdr_value *document,
                         pdr_session_shape shape, pdr_err *err)
{
    pdr_session *session = NULL;
    pdr_rc rc = pdr_session_from_value(&session, document, NULL);

    *out = rc == PDR_ELIMIT ||
           (rc == PDR_OK && pdr_session_get_shape(session) == shape);
    pdr_session_free(session);
    return rc == PDR_ENOMEM ? pdr__nomem(err) : PDR_OK;
}

/* As convert_other(), for a document that holds no whole source. */
static pdr_rc convert_parts(pdr_value **out, const pdr_value *document,
                            const struct job *job, pdr_err *err)
{
    pdr_value *note = NULL;
    pdr_rc rc = convert_noted(out, &note, document, job, err);

    if (rc == PDR_OK)
        rc = attach_surely(out, note, document, job, err);
    pdr_value_free(note);
    return rc;
}

/* W3: .NET has no member for an id, so perdure has it. */
static pdr_rc tell_aside(const pdr_value *made, const pdr_value *source,
                         const struct job *job, pdr_err *err)
{
    bool python = is_python(job->trip.from);
    size_t mark = 0;
    pdr_rc rc = PDR_OK;

    if (job->trip.to != PDR_SESSION_DOTNET ||
        pdr__document_id(source, job->trip.from) == NULL ||
        pdr__document_id(made, PDR_SESSION_DOTNET) == NULL)
        return PDR_OK;
    mark = pdr__finder_name(job->finder,
                            pdr_str_c(python ? "session_id" : "perdure"));
    if (!python)
        (void)pdr__finder_name(job->finder, PDR_LIT("id"));
    rc = pdr__finder_tell(job->finder, "id-aside", PDR_SEVERITY_INFO, err, "%s",
                          "a .NET session has no id of its own: it is kept in "
                          "perdure.id, from where it comes back");
    pdr__finder_up(job->finder, mark);
    return rc;
}

static pdr_rc convert_other(pdr_value **out, const pdr_value *document,
                            const struct job *job, pdr_err *err)
{
    struct finder quiet = PDR_FINDER_INIT(NULL, NULL);
    struct job plain = *job;
    bool opens = false;
    pdr_value *source = pdr_value_ref(document);
    pdr_rc rc = take_whole(out, document, job, err);

    if (rc != PDR_OK || *out != NULL)
        goto done;
    plain.plain = true;
    plain.finder = &quiet;
    rc = normalise(&source, job->trip.from, job->finder, err);
    if (rc == PDR_OK && job->trip.from == PDR_SESSION_DOTNET)
        rc = pdr__state_kind(&source, job->stated, err);
    if (rc == PDR_OK)
        rc = convert_parts(out, source, job, err);
    if (rc == PDR_OK)
        rc = check_open(&opens, *out, job->trip.to, err);
    if (rc == PDR_OK && !opens) {
        /* As `{}`, which is a session only as long as nothing is added. */
        pdr_value_free(*out);
        *out = NULL;
        rc = convert_parts(out, source, &plain, err);
    }
    if (rc == PDR_OK)
        rc = tell_aside(*out, source, job, err);
done:
    pdr_value_free(source);
    pdr__finder_dispose(&quiet);
    return rc;
}

static pdr_rc convert(pdr_value **out, const pdr_value *document,
                      const struct job *job, pdr_err *err)
{
    pdr_rc rc = job->trip.from == job->trip.to
                    ? convert_same(out, document, job, err)
                    : convert_other(out, document, job, err);

    if (rc == PDR_OK)
        rc = check_depth(*out, job->trip.to, err);
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    return rc;
}

/* Documents of older Python releases are read as those of today. */
static pdr_rc convert_any(pdr_value **out, const pdr_value *document,
                          struct job *job, pdr_session_shape to, pdr_err *err)
{
    struct histories known = {{NULL, NULL}, {PDR_SHAPE_STATE, PDR_SHAPE_STATE}};
    pdr_value *today = NULL, *made = NULL;
    pdr_rc rc = PDR_OK;

    job->known = &known;
    job->trip.to = to == PDR_SESSION_PYTHON_OLD ? PDR_SESSION_PYTHON : to;
    if (is_python(job->trip.from))
        rc = pdr__python_newer(&today, document, err);
    else
        today = pdr_value_ref(document);
    if (rc == PDR_OK)
        rc = convert(&made, today, job, err);
    if (rc == PDR_OK && to == PDR_SESSION_PYTHON_OLD)
        rc = pdr__python_older(out, made, job->trip.from, job->finder, err);
    else if (rc == PDR_OK)
        *out = pdr_value_ref(made);
    pdr_value_free(made);
    pdr_value_free(today);
    pdr__histories_dispose(&known);
    job->known = NULL;
    return rc;
}

static pdr_rc convert_thread(pdr_value **out, const pdr_value *document,
                             pdr_session_shape from,
                             const pdr_session_convert_opts *opts,
                             struct finder *finder, pdr_err *err)
{
    struct thread_finder inner;
    struct job job = {{PDR_SESSION_DOTNET, opts->to},
                      PDR_SESSION_KIND_CLIENT,
                      opts->id,
                      &inner.inner,
                      false,
                      NULL};
    pdr_value *session = NULL;
    pdr_rc rc = pdr__thread_convert(&session, document, from,
                                    opts->provider_key, finder, err);

    pdr__thread_finder_init(&inner, finder, document, from, opts->provider_key);
    if (rc == PDR_OK && from == PDR_SESSION_PYTHON_THREAD) {
        /* A session of Python has an id, whatever becomes of it. */
        job.trip.from = job.trip.to = PDR_SESSION_PYTHON;
        rc = give_id(&session, &job, false, err);
    }
    if (rc == PDR_OK)
        rc = convert_any(out, session, &job, opts->to, err);
    pdr_value_free(session);
    pdr__finder_dispose(&inner.inner);
    return rc;
}

static pdr_rc check_opts(const pdr_session_convert_opts *opts, pdr_err *err)
{
    if (opts->id.len > PDR_MAX_ID_BYTES ||
        (opts->id.len > 0 && opts->id.ptr[0] == '@'))
        return PDR_FAIL(err, BAD_ID,
                        "the id of a session has 1 to %u bytes and does not "
                        "begin with @",
                        PDR_MAX_ID_BYTES);
    return pdr__utf8_check(opts->id, err);
}

pdr_rc pdr__session_convert_value(pdr_value **out, const pdr_value *document,
                                  pdr_session_shape from,
                                  pdr_session_kind stated,
                                  const pdr_session_convert_opts *opts,
                                  struct finder *finder, pdr_err *err)
{
    struct job job = {{from, from}, stated, opts->id, finder, false, NULL};
    pdr_rc rc = check_opts(opts, err);

    *out = NULL;
    if (rc != PDR_OK)
        return rc;
    if (from == PDR_SESSION_DOTNET_THREAD || from == PDR_SESSION_PYTHON_THREAD)
        return convert_thread(out, document, from, opts, finder, err);
    return convert_any(out, document, &job, opts->to, err);
}

pdr_rc pdr_session_convert(pdr_session **out, pdr_session *session,
                           const pdr_session_convert_opts *opts, pdr_err *err,
                           pdr_doc_finding_fn fn, void *arg)
{
    static const pdr_session_convert_opts defaults = {
        PDR_SESSION_NATIVE, {NULL, 0}, {NULL, 0}};
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    pdr_value *before = NULL, *after = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && session != NULL);
    *out = NULL;
    opts = opts != NULL ? opts : &defaults;
    PDR_REQUIRE(opts->to <= PDR_SESSION_PYTHON_OLD);
    rc = pdr_session_to_value(&before, session, err);
    if (rc == PDR_OK)
        rc = pdr__session_convert_value(
            &after, before, pdr_session_get_shape(session),
            pdr_session_get_kind(session), opts, &finder, err);
    if (rc == PDR_OK)
        rc = pdr_session_from_value(out, after, err);
    pdr_value_free(after);
    pdr_value_free(before);
    pdr__finder_dispose(&finder);
    return rc;
}
