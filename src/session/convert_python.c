/*
 * convert_python.c - sessions for Python releases before 1.22, and back.
 *
 * WHY  Since 1.22 every function call says whether it is `hosted`, and contents
 *      of updates how they are merged. Releases 1.13 to 1.21 refuse a session
 *      with a member that they do not know, so one function call makes it
 *      unreadable there. Leaving the two members out is enough.
 *
 *      {"type":"function_call","hosted":true,"server_name":"s",…}
 *        becomes
 *      {"type":"function_call","server_name":"s",…,"additional_properties":
 *       {"server_label":"s","perdure":{"newer":{"hosted":true}}}}
 *
 * Later releases read the label as `hosted`. A call that is not hosted needs no
 * note: the root says in perdure.newer that the document was changed, and each
 * call without a note gets `hosted` false again.
 *
 * INVARIANTS
 *   P1  Contents are changed where the reader decodes them: in messages of the
 *       history, in whatever says that it is a message, and in tool_approval.
 *       Everywhere else a member of that name is somebody's data.
 *   P2  What would not come back is kept as text in perdure.newer.whole.
 */
#include "convert.h"

#define HOSTED "hosted"
#define MERGE  "merge_mode"

/* What stands where we are. */
enum what {
    ANYTHING, /* data, in which there may be messages */
    MESSAGES, /* a list of messages, whatever they say of themselves */
    MESSAGE,
    CONTENTS, /* a content, or a list of contents */
    APPROVALS /* data, in which every object with a type is a content */
};

struct walk {
    bool newer;            /* the way back */
    bool changed;          /* something was left out or put in */
    struct finder *finder; /* at the place in the source */
};

static pdr_rc walk_value(pdr_value **out, struct walk *w,
                         const pdr_value *value, enum what what, pdr_err *err);

static bool has_type(const pdr_value *object, const char *type)
{
    return pdr_value_text_is(pdr_value_get_c(object, "type"), pdr_str_c(type));
}

/* --- one content --------------------------------------------------------- */

/* The members that 1.23 writes behind `hosted`. */
static bool stands_behind(const pdr_value *name)
{
    static const char *const behind[] = {
        "function_call", "user_input_request",    "approved",    "id",
        "consent_link",  "additional_properties", "annotations", MERGE};

    for (size_t i = 0; i < PDR_COUNT(behind); i++) {
        if (pdr_value_text_is(name, pdr_str_c(behind[i])))
            return true;
    }
    return false;
}

/* `name` where 1.23 writes it. */
static pdr_rc insert_late(pdr_value **io, const char *name,
                          const pdr_value *value, pdr_err *err)
{
    bool merge = strcmp(name, MERGE) == 0, done = false;
    pdr_value *made = pdr_value_new_object();
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, *io);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        bool here =
            merge ? pdr_value_text_is(it.name, PDR_LIT("additional_properties"))
                  : stands_behind(it.name);

        if (here && !done) {
            rc = pdr__put_member(&made, name, value, err);
            done = true;
        }
        if (rc == PDR_OK)
            rc = pdr__value_add_member(&made, it.name, it.value, err);
    }
    if (rc == PDR_OK && !done)
        rc = pdr__put_member(&made, name, value, err);
    if (rc == PDR_OK) {
        pdr_value_free(*io);
        *io = made;
        return PDR_OK;
    }
    pdr_value_free(made);
    return rc;
}

/* The properties with the note, or without it if `note` is empty. */
static pdr_rc set_note(pdr_value **properties, const pdr_value *note,
                       pdr_err *err)
{
    const pdr_value *has = pdr__member(*properties, "perdure", PDR_OBJECT);
    pdr_value *perdure =
        has != NULL ? pdr_value_ref(has) : pdr_value_new_object();
    pdr_rc rc = pdr__with_member_c(
        &perdure, "newer", pdr_value_count(note) > 0 ? note : NULL, err);

    if (rc == PDR_OK)
        rc = pdr__with_member_c(properties, "perdure",
                                pdr_value_count(perdure) > 0 ? perdure : NULL,
                                err);
    pdr_value_free(perdure);
    return rc;
}

static bool is_text(const pdr_value *value)
{
    return value != NULL && pdr_value_kind(value) == PDR_STRING &&
           !pdr_value_text_is(value, PDR_LIT(""));
}

static bool is_true(const pdr_value *value)
{
    bool truth = false;

    return value != NULL && pdr_value_kind(value) == PDR_BOOL &&
           pdr_value_bool(&truth, value, NULL) == PDR_OK && truth;
}

/* A hosted call gets a label, by which older releases know it. */
static pdr_rc add_label(pdr_value **properties, pdr_value **note,
                        const pdr_value *content, struct walk *w, pdr_err *err)
{
    const pdr_value *server = pdr_value_get_c(content, "server_name");
    pdr_value *label = NULL, *mark = pdr_value_new_bool(true);
    pdr_rc rc = pdr__finder_tell(
        w->finder, "hosted", PDR_SEVERITY_INFO, err, "%s",
        "older releases have no member hosted: the call gets a server_label");

    if (rc != PDR_OK || pdr_value_get_c(*properties, "server_label") != NULL)
        return rc;
    if (is_text(server))
        label = pdr_value_ref(server);
    else
        rc = pdr_value_new_string(&label, PDR_LIT(HOSTED), err);
    if (rc == PDR_OK)
        rc = pdr__with_member_c(properties, "server_label", label, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(note, "label", mark, err);
    pdr_value_free(label);
    pdr_value_free(mark);
    return rc;
}

/* What has to be noted about a content that loses its two members. */
static pdr_rc note_content(pdr_value **properties, const pdr_value *content,
                           struct walk *w, pdr_err *err)
{
    const pdr_value *hosted = pdr_value_get_c(content, HOSTED);
    const pdr_value *merge = pdr_value_get_c(content, MERGE);
    bool call = has_type(content, "function_call");
    bool usual = hosted != NULL && pdr_value_kind(hosted) == PDR_BOOL &&
                 !is_true(hosted);
    pdr_value *note = pdr_value_new_object(), *none = pdr_value_new_bool(true);
    pdr_rc rc = PDR_OK;

    if (call && hosted == NULL)
        rc = pdr__put_member(&note, "absent", none, err);
    else if (hosted != NULL && !(call && usual))
        rc = pdr__put_member(&note, HOSTED, hosted, err);
    if (rc == PDR_OK && merge != NULL)
        rc = pdr__put_member(&note, MERGE, merge, err);
    if (rc == PDR_OK && call && is_true(hosted))
        rc = add_label(properties, &note, content, w, err);
    if (rc == PDR_OK && pdr_value_count(note) > 0)
        rc = set_note(properties, note, err);
    pdr_value_free(none);
    pdr_value_free(note);
    return rc;
}

static pdr_rc make_older(pdr_value **io, struct walk *w, pdr_err *err)
{
    const pdr_value *has = pdr_value_get_c(*io, "additional_properties");
    pdr_value *properties = has != NULL && pdr_value_kind(has) == PDR_OBJECT
                                ? pdr_value_ref(has)
                                : pdr_value_new_object();
    pdr_rc rc = note_content(&properties, *io, w, err);

    if (pdr_value_get_c(*io, HOSTED) != NULL ||
        pdr_value_get_c(*io, MERGE) != NULL)
        w->changed = true;
    if (rc == PDR_OK)
        rc = pdr__with_member_c(io, HOSTED, NULL, err);
    if (rc == PDR_OK)
        rc = pdr__with_member_c(io, MERGE, NULL, err);
    if (rc == PDR_OK && (has != NULL || pdr_value_count(properties) > 0))
        rc = pdr__with_member_c(io, "additional_properties", properties, err);
    pdr_value_free(properties);
    return rc;
}

static pdr_rc make_newer(pdr_value **io, pdr_err *err)
{
    const pdr_value *has =
        pdr__member(*io, "additional_properties", PDR_OBJECT);
    const pdr_value *note = pdr__member(pdr__member(has, "perdure", PDR_OBJECT),
                                        "newer", PDR_OBJECT);
    pdr_value *hosted = pdr_value_ref(pdr_value_get_c(note, HOSTED));
    pdr_value *merge = pdr_value_ref(pdr_value_get_c(note, MERGE));
    bool label = pdr_value_get_c(note, "label") != NULL;
    bool absent = pdr_value_get_c(note, "absent") != NULL;
    pdr_value *properties = pdr_value_ref(has), *none = pdr_value_new_object();
    pdr_rc rc = PDR_OK;

    if (hosted == NULL && !absent && has_type(*io, "function_call"))
        hosted = pdr_value_new_bool(false);
    if (properties != NULL && label)
        rc = pdr__with_member_c(&properties, "server_label", NULL, err);
    if (rc == PDR_OK && properties != NULL && note != NULL)
        rc = set_note(&properties, none, err);
    if (rc == PDR_OK && properties != NULL)
        rc = pdr__with_member_c(io, "additional_properties", properties, err);
    if (rc == PDR_OK && hosted != NULL && pdr_value_get_c(*io, HOSTED) == NULL)
        rc = insert_late(io, HOSTED, hosted, err);
    if (rc == PDR_OK && merge != NULL && pdr_value_get_c(*io, MERGE) == NULL)
        rc = insert_late(io, MERGE, merge, err);
    pdr_value_free(none);
    pdr_value_free(properties);
    pdr_value_free(merge);
    pdr_value_free(hosted);
    return rc;
}

static pdr_rc tell_computer(struct walk *w, const pdr_value *content,
                            pdr_err *err)
{
    if (w->newer || (!has_type(content, "computer_tool_call") &&
                     !has_type(content, "computer_tool_result")))
        return PDR_OK;
    return pdr__finder_tell(w->finder, "computer-content", PDR_SEVERITY_WARNING,
                            err, "%s",
                            "releases before 1.20 cannot read this content, "
                            "and so not the session");
}

/* --- the walk ------------------------------------------------------------ */

/* What a member is, by what it stands in. */
static enum what inside(enum what what, const pdr_value *name)
{
    static const char *const nested[] = {
        "function_call", "items", "inputs", "outputs", "output", "screenshot"};
    static const char *const data[] = {"arguments", "additional_properties",
                                       "result"};

    if (what == MESSAGE && pdr_value_text_is(name, PDR_LIT("contents")))
        return CONTENTS;
    for (size_t i = 0; what == CONTENTS && i < PDR_COUNT(nested); i++) {
        if (pdr_value_text_is(name, pdr_str_c(nested[i])))
            return CONTENTS;
    }
    for (size_t i = 0; what == APPROVALS && i < PDR_COUNT(data); i++) {
        if (pdr_value_text_is(name, pdr_str_c(data[i])))
            return MESSAGE; /* in which nothing of that name is looked at */
    }
    return what == ANYTHING || what == APPROVALS ? what : MESSAGE;
}

static bool is_content(enum what what, const pdr_value *object)
{
    return what == CONTENTS ||
           (what == APPROVALS &&
            pdr__member(object, "type", PDR_STRING) != NULL);
}

static pdr_rc walk_members(pdr_value **io, struct walk *w,
                           const pdr_value *object, enum what what,
                           pdr_err *err)
{
    pdr_value *made = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, object);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        enum what inner = inside(what, it.name);
        size_t mark = 0;

        if (inner == MESSAGE) {
            rc = pdr__value_add_member(io, it.name, it.value, err);
            continue;
        }
        rc = pdr__finder_member(&mark, w->finder, it.name, err);
        if (rc != PDR_OK)
            break;
        rc = walk_value(&made, w, it.value, inner, err);
        if (rc == PDR_OK)
            rc = pdr__value_add_member(io, it.name, made, err);
        pdr_value_free(made);
        made = NULL;
        pdr__finder_up(w->finder, mark);
    }
    return rc;
}

static pdr_rc walk_object(pdr_value **io, struct walk *w,
                          const pdr_value *object, enum what what, pdr_err *err)
{
    bool content = is_content(what, object);
    pdr_rc rc = content ? tell_computer(w, object, err) : PDR_OK;

    if (what == ANYTHING && has_type(object, "message"))
        what = MESSAGE;
    if (what == MESSAGES)
        what = MESSAGE;
    if (rc == PDR_OK)
        rc = walk_members(io, w, object, what, err);
    if (rc == PDR_OK && content)
        rc = w->newer ? make_newer(io, err) : make_older(io, w, err);
    return rc;
}

static pdr_rc walk_array(pdr_value **io, struct walk *w, const pdr_value *array,
                         enum what what, pdr_err *err)
{
    pdr_value *made = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, array);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = pdr__finder_index(w->finder, it.index);

        rc = walk_value(&made, w, it.value, what, err);
        if (rc == PDR_OK)
            rc = pdr_value_append(io, made, err);
        pdr_value_free(made);
        made = NULL;
        pdr__finder_up(w->finder, mark);
    }
    return rc;
}

static pdr_rc walk_value(pdr_value **out, struct walk *w,
                         const pdr_value *value, enum what what, pdr_err *err)
{
    pdr_kind kind = pdr_value_kind(value);
    pdr_rc rc = PDR_OK;

    if (kind != PDR_OBJECT && kind != PDR_ARRAY) {
        *out = pdr_value_ref(value);
        return PDR_OK;
    }
    if (kind == PDR_OBJECT) {
        *out = pdr_value_new_object();
        rc = walk_object(out, w, value, what, err);
    } else {
        *out = pdr_value_new_array();
        rc = walk_array(out, w, value, what, err);
    }
    if (rc == PDR_OK)
        return PDR_OK;
    pdr_value_free(*out);
    *out = NULL;
    return rc;
}

/* --- slots --------------------------------------------------------------- */

/* The history slot: its messages, and what else it holds. */
static pdr_rc walk_history(pdr_value **out, struct walk *w,
                           const pdr_value *slot, pdr_err *err)
{
    const pdr_value *messages = pdr__member(slot, "messages", PDR_ARRAY);
    pdr_value *made = NULL;
    size_t mark = 0;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_ref(slot);
    if (messages == NULL)
        return PDR_OK;
    mark = pdr__finder_name(w->finder, PDR_LIT("messages"));
    rc = walk_value(&made, w, messages, MESSAGES, err);
    pdr__finder_up(w->finder, mark);
    if (rc == PDR_OK)
        rc = pdr__put_member(out, "messages", made, err);
    pdr_value_free(made);
    return rc;
}

static pdr_rc walk_slot(pdr_value **out, struct walk *w, const pdr_value *name,
                        const pdr_value *slot, const struct shape_names *source,
                        pdr_err *err)
{
    bool history = pdr_value_text_is(name, PDR_LIT("in_memory"));
    bool approvals = pdr_value_text_is(name, PDR_LIT("tool_approval"));
    size_t mark = 0;
    pdr_rc rc = PDR_OK;

    if (history)
        mark = pdr__finder_name(w->finder, pdr_str_c(source->history));
    else
        rc = pdr__finder_member(&mark, w->finder, name, err);
    if (rc != PDR_OK)
        return rc;
    rc = history
             ? walk_history(out, w, slot, err)
             : walk_value(out, w, slot, approvals ? APPROVALS : ANYTHING, err);
    pdr__finder_up(w->finder, mark);
    return rc;
}

/* The document with another `state`; *out is NULL if nothing changed. */
static pdr_rc walk_document(pdr_value **out, struct walk *w,
                            const pdr_value *document,
                            const struct shape_names *source, pdr_err *err)
{
    const pdr_value *state = pdr__member(document, "state", PDR_OBJECT);
    pdr_value *made = pdr_value_new_object(), *slot = NULL;
    size_t up = pdr__finder_name(w->finder, pdr_str_c(source->bag));
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, state);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = walk_slot(&slot, w, it.name, it.value, source, err);
        if (rc == PDR_OK)
            rc = pdr__value_add_member(&made, it.name, slot, err);
        pdr_value_free(slot);
        slot = NULL;
    }
    pdr__finder_up(w->finder, up);
    *out = pdr_value_ref(document);
    if (rc == PDR_OK && state != NULL)
        rc = pdr__put_member(out, "state", made, err);
    pdr_value_free(made);
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    return rc;
}

/* --- documents ----------------------------------------------------------- */

/* Put a note for the way back at the root; NULL takes it out. */
static pdr_rc set_root_note(pdr_value **io, const pdr_value *note, pdr_err *err)
{
    const pdr_value *has = pdr__member(*io, "perdure", PDR_OBJECT);
    pdr_value *perdure =
        has != NULL ? pdr_value_ref(has) : pdr_value_new_object();
    pdr_rc rc = pdr__with_member_c(&perdure, "newer", note, err);

    if (rc == PDR_OK)
        rc = pdr__with_member_c(
            io, "perdure", pdr_value_count(perdure) > 0 ? perdure : NULL, err);
    pdr_value_free(perdure);
    return rc;
}

static const pdr_value *root_note(const pdr_value *document)
{
    return pdr__member(pdr__member(document, "perdure", PDR_OBJECT), "newer",
                       PDR_OBJECT);
}

static pdr_rc make_document_newer(pdr_value **out, const pdr_value *document,
                                  pdr_err *err)
{
    struct finder quiet = PDR_FINDER_INIT(NULL, NULL);
    struct walk w = {true, false, &quiet};
    pdr_rc rc = walk_document(out, &w, document,
                              pdr__shape_names(PDR_SESSION_PYTHON), err);

    if (rc == PDR_OK)
        rc = set_root_note(out, NULL, err);
    pdr__finder_dispose(&quiet);
    return rc;
}

/* P2: the note of a document, with the whole if it would not come back. */
static pdr_rc note_surely(pdr_value **io, const pdr_value *document,
                          pdr_err *err)
{
    pdr_value *note = pdr_value_new_object(), *back = NULL;
    pdr_rc rc = set_root_note(io, note, err);

    if (rc == PDR_OK)
        rc = make_document_newer(&back, *io, err);
    if (rc == PDR_OK && !pdr_value_equal(back, document)) {
        rc = pdr__note_add_whole(&note, document, err);
        if (rc == PDR_OK)
            rc = set_root_note(io, note, err);
    }
    pdr_value_free(back);
    pdr_value_free(note);
    return rc;
}

pdr_rc pdr__python_older(pdr_value **out, const pdr_value *document,
                         pdr_session_shape source, struct finder *finder,
                         pdr_err *err)
{
    struct walk w = {false, false, finder};
    pdr_value *made = NULL;
    pdr_rc rc =
        walk_document(&made, &w, document, pdr__shape_names(source), err);

    *out = NULL;
    if (rc == PDR_OK && !w.changed)
        *out = pdr_value_ref(document);
    else if (rc == PDR_OK)
        rc = note_surely(&made, document, err);
    if (rc == PDR_OK && w.changed)
        *out = pdr_value_ref(made);
    pdr_value_free(made);
    return rc;
}

pdr_rc pdr__python_newer(pdr_value **out, const pdr_value *document,
                         pdr_err *err)
{
    struct finder quiet = PDR_FINDER_INIT(NULL, NULL);
    const pdr_value *note = root_note(document);
    pdr_value *whole = NULL, *again = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (note == NULL) {
        *out = pdr_value_ref(document);
        return PDR_OK;
    }
    rc = pdr__note_whole(&whole, note, err);
    if (rc == PDR_OK && whole != NULL && pdr_value_kind(whole) == PDR_OBJECT &&
        root_note(whole) == NULL)
        rc = pdr__python_older(&again, whole, PDR_SESSION_PYTHON, &quiet, err);
    if (rc == PDR_OK)
        rc = again != NULL && pdr_value_equal(again, document)
                 ? (*out = pdr_value_ref(whole), PDR_OK)
                 : make_document_newer(out, document, err);
    pdr_value_free(again);
    pdr_value_free(whole);
    pdr__finder_dispose(&quiet);
    return rc;
}
