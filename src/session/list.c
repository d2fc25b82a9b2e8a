/*
 * list.c - several sessions in one document: an array, or an object by name.
 *
 * WHY  A list comes back as it was read but for the sessions that changed. So
 *      the document is kept, as in session.c, and each element that is a
 *      session stands beside it; when the document is asked for, those whose
 *      value is another one than before take their place in it.
 *
 * INVARIANTS
 *   L1  `items[i].value` is element i of `root`, and what its session last
 *       gave.
 *   L2  An element that is no session, and null, has no session and never
 *       changes.
 */
#include "shape.h"

struct item {
    pdr_value *name;      /* owned; NULL in an array */
    pdr_value *value;     /* owned; the element as it is in the document */
    pdr_session *session; /* owned; NULL if it is none */
};

struct pdr_session_list {
    pdr_value *root; /* owned; the document */
    struct item *items;
    size_t count, cap;
};

pdr_rc pdr_session_list_new(pdr_session_list **out, pdr_err *err)
{
    pdr_session_list *list = NULL;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    list = pdr__calloc(1, sizeof(*list));
    if (list == NULL)
        return pdr__nomem(err);
    list->root = pdr_value_new_array();
    *out = list;
    return PDR_OK;
}

void pdr_session_list_free(pdr_session_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++) {
        pdr_value_free(list->items[i].name);
        pdr_value_free(list->items[i].value);
        pdr_session_free(list->items[i].session);
    }
    pdr__free(list->items);
    pdr_value_free(list->root);
    pdr__free(list);
}

static bool is_array(const pdr_session_list *list)
{
    return pdr_value_kind(list->root) == PDR_ARRAY;
}

/* Room for one more item. */
static pdr_rc make_room(pdr_session_list *list, pdr_err *err)
{
    struct item *items = NULL;
    size_t cap = list->cap > 0 ? list->cap : 4;
    size_t bytes = 0;

    if (list->count < list->cap)
        return PDR_OK;
    if ((list->cap > 0 && !pdr__mul_size(&cap, list->cap, 2)) ||
        !pdr__mul_size(&bytes, cap, sizeof(*items)))
        return pdr__nomem(err);
    items = pdr__realloc(list->items, bytes);
    if (items == NULL)
        return pdr__nomem(err);
    list->items = items;
    list->cap = cap;
    return PDR_OK;
}

/* --- reading ------------------------------------------------------------- */

/* The place of an element as a pointer, spelled as in an error. */
static pdr_rc write_place(pdr_buf *out, const pdr_iter *at)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    pdr_buf token = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    pdr_str name = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (at->name == NULL)
        return pdr_buf_printf(out, NULL, "/%zu", at->index);
    rc = pdr__value_name_bytes(&name, at->name, &scratch, NULL);
    if (rc == PDR_OK)
        rc = pdr_pointer_push(&token, name, NULL);
    if (rc == PDR_OK)
        rc = pdr__text_encode(out, pdr_str_n(token.ptr, token.len), NULL);
    pdr_buf_dispose(&token);
    pdr_buf_dispose(&scratch);
    return rc;
}

pdr_rc pdr__name_element(const pdr_iter *at, pdr_rc rc, pdr_err *err)
{
    pdr_buf path = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    char shown[PDR_SHOWN];

    if (err == NULL)
        return rc;
    if (write_place(&path, at) == PDR_OK) {
        pdr__shown(shown, pdr_str_n(path.ptr + 1, path.len - 1));
        (void)pdr__wrap(err, rc,
                        at->name == NULL ? "element %s" : "member '%s'", shown);
        if (pdr_buf_append(&path, pdr_str_c(err->path), NULL) == PDR_OK)
            pdr__err_path(err, pdr_buf_str(&path));
    }
    pdr_buf_dispose(&path);
    return rc;
}

bool pdr__is_about_element(pdr_rc rc)
{
    return rc == PDR_EINVALID || rc == PDR_EVERSION || rc == PDR_ELIMIT;
}

/* Tell of an element that is kept as it is. */
static pdr_rc tell(const pdr_iter *at, const pdr_err *why, pdr_err *err,
                   pdr_doc_finding_fn fn, void *arg)
{
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    size_t mark = 0;
    pdr_rc rc = PDR_OK;

    if (at->name == NULL) {
        mark = pdr__finder_index(&finder, at->index);
    } else {
        pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
        pdr_str name = {NULL, 0};

        rc = pdr__value_name_bytes(&name, at->name, &scratch, err);
        if (rc == PDR_OK)
            mark = pdr__finder_name(&finder, name);
        pdr_buf_dispose(&scratch);
    }
    if (rc == PDR_OK)
        rc = pdr__finder_tell(&finder, "not-a-session", PDR_SEVERITY_WARNING,
                              err, "%s; it is kept as it is", why->message);
    pdr__finder_up(&finder, mark);
    pdr__finder_dispose(&finder);
    return rc;
}

/* The session of an element, if it is one. */
static pdr_rc read_element(pdr_session **out, const pdr_iter *at, bool tolerant,
                           pdr_err *err, pdr_doc_finding_fn fn, void *arg)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (pdr_value_kind(at->value) == PDR_NULL)
        return PDR_OK;
    rc = pdr_session_from_value(out, at->value, &why);
    if (rc == PDR_OK)
        return PDR_OK;
    if (tolerant && pdr__is_about_element(rc))
        return tell(at, &why, err, fn, arg);
    if (err != NULL)
        *err = why;
    return pdr__name_element(at, rc, err);
}

static pdr_rc add_element(pdr_session_list *list, const pdr_iter *at,
                          pdr_session *session, pdr_err *err)
{
    pdr_rc rc = make_room(list, err);

    if (rc != PDR_OK) {
        pdr_session_free(session);
        return rc;
    }
    list->items[list->count].name = pdr_value_ref(at->name);
    list->items[list->count].value = pdr_value_ref(at->value);
    list->items[list->count].session = session;
    list->count++;
    return PDR_OK;
}

pdr_rc pdr_session_list_from_value(pdr_session_list **out,
                                   const pdr_value *value, bool tolerant,
                                   pdr_err *err, pdr_doc_finding_fn fn,
                                   void *arg)
{
    pdr_session_list *list = NULL;
    pdr_looks looks = PDR_LOOKS_OTHER;
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    PDR_REQUIRE(out != NULL && value != NULL);
    *out = NULL;
    looks = pdr_session_looks(value);
    if (looks != PDR_LOOKS_LIST && looks != PDR_LOOKS_MAP &&
        !(pdr_value_kind(value) == PDR_ARRAY && pdr_value_count(value) == 0))
        return PDR_FAIL(err, SESSION_UNKNOWN_SHAPE,
                        "this is no list of sessions; it looks like %s",
                        pdr_session_looks_text(value));
    rc = pdr_session_list_new(&list, err);
    if (rc != PDR_OK)
        return rc;
    list->root = pdr_value_ref(value); /* what was there is static */
    pdr_iter_init(&it, value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        pdr_session *session = NULL;

        rc = read_element(&session, &it, tolerant, err, fn, arg);
        if (rc == PDR_OK)
            rc = add_element(list, &it, session, err);
    }
    if (rc == PDR_OK) {
        *out = list;
        list = NULL;
    }
    pdr_session_list_free(list);
    return rc;
}

/* --- what it holds ------------------------------------------------------- */

size_t pdr_session_list_count(const pdr_session_list *list)
{
    return list->count;
}

pdr_session *pdr_session_list_at(const pdr_session_list *list, size_t index)
{
    return index < list->count ? list->items[index].session : NULL;
}

const pdr_value *pdr_session_list_name(const pdr_session_list *list,
                                       size_t index)
{
    return index < list->count ? list->items[index].name : NULL;
}

pdr_rc pdr_session_list_add(pdr_session_list *list, pdr_session *session,
                            pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_iter at = {0};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(list != NULL);
    if (!is_array(list))
        rc = PDR_FAIL(err, WRONG_KIND, "%s",
                      "sessions can be added to an array, not to an object of "
                      "sessions");
    else if (session == NULL)
        value = pdr_value_new_null();
    else
        rc = pdr_session_to_value(&value, session, err);
    if (rc == PDR_OK)
        rc = make_room(list, err);
    if (rc == PDR_OK)
        rc = pdr_value_append(&list->root, value, err);
    if (rc != PDR_OK) {
        pdr_session_free(session);
    } else {
        at.value = value;
        rc = add_element(list, &at, session, err); /* there is room */
    }
    pdr_value_free(value);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

/* Names may be there twice, or have no UTF-8 form: the place decides. */
static pdr_rc put(pdr_session_list *list, size_t index, const pdr_value *value,
                  pdr_err *err)
{
    return is_array(list)
               ? pdr_value_replace(&list->root, index, value, err)
               : pdr__value_set_member(&list->root, index, value, err);
}

pdr_rc pdr_session_list_to_value(pdr_value **out, pdr_session_list *list,
                                 pdr_err *err)
{
    PDR_REQUIRE(out != NULL && list != NULL);
    *out = NULL;
    for (size_t i = 0; i < list->count; i++) {
        struct item *item = &list->items[i];
        pdr_value *value = NULL;
        pdr_rc rc = PDR_OK;

        if (item->session == NULL)
            continue;
        rc = pdr_session_to_value(&value, item->session, err);
        if (rc == PDR_OK && value != item->value)
            rc = put(list, i, value, err);
        if (rc != PDR_OK) {
            pdr_value_free(value);
            return rc;
        }
        pdr_value_free(item->value);
        item->value = value;
    }
    *out = pdr_value_ref(list->root);
    return PDR_OK;
}
