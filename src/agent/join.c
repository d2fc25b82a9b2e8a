/*
 * join.c - contents of a message that belong together become one.
 *
 * WHY  A model gives a text in a hundred pieces, a picture first blurred and
 *      then sharp, the queries of a search one by one. A history with all of
 *      them is long and says the same. What is joined, and how, is what .NET
 *      does (docs/formats/responses.md), for every shape.
 *
 *      1  neighbours: text, reasoning
 *      2  anywhere: the results of one image, the queries of one search
 *      3  neighbours: text files in pieces; code and its outputs, by call
 *
 * INVARIANTS
 *   J1  Each step looks at each content once, so that joining takes time for
 *       all of them together, however many pieces there are.
 *   J2  The first content of several keeps its place and what it has beside.
 *   J3  A content with annotations is not joined: they count its letters.
 */
#include <strings.h>

#include "agent.h"
#include "content_table.h"

/* --- members ---------------------------------------------------------------
 */

/* Set a member; a new one becomes member `place`, where .NET writes it. */
static pdr_rc member_put(pdr_value **io, const char *name, size_t place,
                         const pdr_value *value, pdr_err *err)
{
    pdr_value *made = NULL, *own = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_get_c(*io, name) != NULL || place >= pdr_value_count(*io))
        return pdr_value_set(io, pdr_str_c(name), value, err);
    made = pdr_value_new_object();
    PDR_TRY(pdr_value_new_string(&own, pdr_str_c(name), err));
    pdr_iter_init(&it, *io);
    while (pdr_iter_next(&it)) {
        if (it.index == place)
            PDR_TRY(pdr__value_add_member(&made, own, value, err));
        PDR_TRY(pdr__value_add_member(&made, it.name, it.value, err));
    }
    pdr_value_free(*io);
    *io = made;
    made = NULL;
done:
    pdr_value_free(own);
    pdr_value_free(made);
    return rc;
}

/* Do both say the same, or both nothing? */
static bool is_same(const pdr_value *a, const pdr_value *b)
{
    return a == NULL || b == NULL ? a == b : pdr__value_same_text(a, b);
}

/* --- may they be joined? ---------------------------------------------------
 */

/* The member that holds the code, or what it printed. */
static const char *code_member(pdr_content_kind kind)
{
    return kind == PDR_CONTENT_CODE_CALL ? "inputs" : "outputs";
}

/* A list of contents, or nothing: false for what else Python may have there. */
static bool code_list(const pdr_value **out, const pdr_value *content,
                      pdr_content_kind kind, pdr_shape shape)
{
    *out = pdr_content_get(content, shape,
                           kind == PDR_CONTENT_CODE_CALL ? PDR_FIELD_INPUTS
                                                         : PDR_FIELD_OUTPUTS);
    return *out != NULL ||
           pdr__is_nothing(pdr_value_get_c(content, code_member(kind)));
}

/* Is it a text file, and the next one more of it? */
static pdr_rc data_goes_on(bool *out, const pdr_value *content,
                           const pdr_value *next, pdr_shape shape, pdr_err *err)
{
    pdr_buf rooms[] = {PDR_BUF_INIT(SIZE_MAX), PDR_BUF_INIT(SIZE_MAX)};
    const pdr_str text = PDR_LIT("text/");
    pdr_str a = {NULL, 0}, b = {NULL, 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_content_media_type(&a, content, shape, &rooms[0], &why));
    PDR_TRY(pdr_content_media_type(&b, next, shape, &rooms[1], &why));
    *out = a.len >= text.len && strncasecmp(a.ptr, text.ptr, text.len) == 0 &&
           pdr_str_equal(a, b) &&
           is_same(pdr_content_get(content, shape, PDR_FIELD_NAME),
                   pdr_content_get(next, shape, PDR_FIELD_NAME));
done:
    pdr_buf_dispose(&rooms[0]);
    pdr_buf_dispose(&rooms[1]);
    if (rc == PDR_OK || rc == PDR_EINVALID) /* half a surrogate pair */
        return PDR_OK;
    return pdr__err_pass(err, &why);
}

static bool has_annotations(const pdr_value *content, pdr_shape shape)
{
    return pdr_value_count(
               pdr_content_get(content, shape, PDR_FIELD_ANNOTATIONS)) > 0;
}

/* May `next` be joined with the content directly before it? */
static pdr_rc content_goes_on(bool *out, const pdr_value *content,
                              const pdr_value *next, pdr_shape shape,
                              pdr_err *err)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);
    const pdr_value *secret = NULL, *id = NULL, *a = NULL, *b = NULL;

    *out = false;
    if (pdr_content_kind_of(next, shape) != kind ||
        has_annotations(content, shape) || has_annotations(next, shape))
        return PDR_OK;
    if (kind == PDR_CONTENT_DATA)
        return data_goes_on(out, content, next, shape, err);
    if (kind == PDR_CONTENT_TEXT) {
        *out = true;
    } else if (kind == PDR_CONTENT_REASONING) {
        secret = pdr_content_get(content, shape, PDR_FIELD_PROTECTED);
        *out = secret == NULL || pdr_value_text_is(secret, PDR_LIT(""));
    } else {
        id = pdr_content_get(content, shape, PDR_FIELD_CALL_ID);
        *out = id != NULL &&
               is_same(id, pdr_content_get(next, shape, PDR_FIELD_CALL_ID)) &&
               code_list(&a, content, kind, shape) &&
               code_list(&b, next, kind, shape);
    }
    return PDR_OK;
}

/* --- neighbours ------------------------------------------------------------
 */

/* The first one with the text of all, and what the provider encrypted last. */
static pdr_rc texts_join(pdr_value **out, pdr_value *const *contents,
                         size_t count, pdr_shape shape, pdr_err *err)
{
    const pdr_value *secret =
        pdr_content_get(contents[count - 1], shape, PDR_FIELD_PROTECTED);
    pdr_buf all = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *text = NULL, *whole = pdr_value_ref(contents[0]);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(&all, PDR_LIT("\""), err));
    for (size_t i = 0; i < count; i++) {
        const pdr_value *part =
            pdr_content_get(contents[i], shape, PDR_FIELD_TEXT);
        pdr_str bytes = {NULL, 0};

        if (part == NULL)
            continue;
        PDR_TRY(pdr__value_name_bytes(&bytes, part, &scratch, err));
        PDR_TRY(pdr__text_encode(&all, bytes, err));
    }
    PDR_TRY(pdr_buf_append(&all, PDR_LIT("\""), err));
    PDR_TRY(pdr_json_read_take(&text, &all, NULL, err));
    PDR_TRY(member_put(&whole, "text", 1, text, err));
    if (secret != NULL)
        PDR_TRY(member_put(&whole,
                           shape == PDR_SHAPE_PYTHON ? "protected_data"
                                                     : "protectedData",
                           2, secret, err));
    *out = whole;
    whole = NULL;
done:
    pdr_value_free(whole);
    pdr_value_free(text);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&all);
    return rc;
}

/* The first one with the bytes of all; *out NULL if one is not in base64. */
static pdr_rc data_join(pdr_value **out, pdr_value *const *contents,
                        size_t count, pdr_shape shape, pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf uri = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *text = NULL, *whole = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count; i++) {
        const pdr_value *part =
            pdr_content_get(contents[i], shape, PDR_FIELD_URI);
        struct data_uri parts = {{NULL, 0}, {NULL, 0}, false};
        pdr_str spelled = {NULL, 0};

        if (part == NULL)
            goto done;
        PDR_TRY(pdr__value_name_bytes(&spelled, part, &scratch, err));
        if (!pdr__data_uri_read(&parts, spelled) || !parts.is_base64)
            goto done;
        if (i == 0)
            PDR_TRY(pdr_buf_printf(&uri, err, "data:%.*s;base64,",
                                   (int)parts.media.len, parts.media.ptr));
        rc = pdr__base64_decode(&bytes, parts.data, PDR_BASE64, &why);
        if (rc != PDR_OK) {
            rc = rc == PDR_EINVALID ? PDR_OK : pdr__err_pass(err, &why);
            goto done;
        }
    }
    PDR_TRY(
        pdr__base64_encode(&uri, pdr_buf_str(&bytes), PDR_BASE64, true, err));
    PDR_TRY(pdr_value_new_string(&text, pdr_buf_str(&uri), err));
    whole = pdr_value_ref(contents[0]);
    PDR_TRY(pdr_value_set(&whole, PDR_LIT("uri"), text, err));
    *out = whole;
    whole = NULL;
done:
    pdr_value_free(whole);
    pdr_value_free(text);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&uri);
    pdr_buf_dispose(&bytes);
    return rc;
}

/* The first one with the lists of all, whose contents are joined in turn. */
static pdr_rc code_join(pdr_value **out, pdr_value *const *contents,
                        size_t count, pdr_content_kind kind, pdr_shape shape,
                        pdr_err *err)
{
    const pdr_value **items = NULL;
    size_t item_count = 0, cap = 0;
    pdr_value *list = NULL, *whole = pdr_value_ref(contents[0]);
    bool has_list = count > 1;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count; i++) {
        const pdr_value *own = NULL;
        pdr_iter it;

        (void)code_list(&own, contents[i], kind, shape);
        has_list = has_list || own != NULL;
        PDR_TRY(pdr__grow((void **)&items, &cap,
                          item_count + pdr_value_count(own), sizeof(*items),
                          err));
        pdr_iter_init(&it, own);
        while (pdr_iter_next(&it))
            items[item_count++] = it.value;
    }
    PDR_TRY(pdr__contents_join(&list, items, item_count, shape, err));
    if (has_list)
        PDR_TRY(member_put(&whole, code_member(kind), 1, list, err));
    *out = whole;
    whole = NULL;
done:
    pdr_value_free(whole);
    pdr_value_free(list);
    pdr__free(items);
    return rc;
}

/* Which step joins neighbours of this kind? 0: none. */
static int step_of(pdr_content_kind kind)
{
    if (kind == PDR_CONTENT_TEXT || kind == PDR_CONTENT_REASONING)
        return 1;
    if (kind == PDR_CONTENT_DATA || kind == PDR_CONTENT_CODE_CALL ||
        kind == PDR_CONTENT_CODE_RESULT)
        return 3;
    return 0;
}

/* Join neighbours of the kinds of a step. The list is owned; places at its end
 * become NULL. */
static pdr_rc neighbours_join(pdr_value **list, size_t *count, int step,
                              pdr_shape shape, pdr_err *err)
{
    size_t kept = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0, next = 0; i < *count; i = next) {
        pdr_content_kind kind = pdr_content_kind_of(list[i], shape);
        pdr_value *one = NULL;
        bool goes_on = step_of(kind) == step;
        bool is_code =
            kind == PDR_CONTENT_CODE_CALL || kind == PDR_CONTENT_CODE_RESULT;

        for (next = i + 1; goes_on && next < *count; next += goes_on)
            PDR_TRY(content_goes_on(&goes_on, list[next - 1], list[next], shape,
                                    err));
        if (step == 3 && is_code)
            PDR_TRY(code_join(&one, list + i, next - i, kind, shape, err));
        else if (next - i > 1 && kind == PDR_CONTENT_DATA)
            PDR_TRY(data_join(&one, list + i, next - i, shape, err));
        else if (next - i > 1)
            PDR_TRY(texts_join(&one, list + i, next - i, shape, err));
        for (size_t k = i; k < next; k++) {
            pdr_value *own = list[k];

            list[k] = NULL;
            if (one == NULL)
                list[kept++] = own;
            else
                pdr_value_free(own);
        }
        if (one != NULL)
            list[kept++] = one;
    }
    *count = kept;
done:
    return rc;
}

/* --- anywhere --------------------------------------------------------------
 */

/* Add the queries of a later content for the same search. */
static pdr_rc queries_add(pdr_value **io, const pdr_value *later,
                          pdr_shape shape, pdr_err *err)
{
    const pdr_value *had = pdr_content_get(*io, shape, PDR_FIELD_QUERIES);
    pdr_value *all = had != NULL ? pdr_value_ref(had) : pdr_value_new_array();
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_content_get(later, shape, PDR_FIELD_QUERIES));
    while (pdr_iter_next(&it))
        PDR_TRY(pdr_value_append(&all, it.value, err));
    if (pdr_value_count(all) > 0)
        PDR_TRY(member_put(io, "queries", 1, all, err));
done:
    pdr_value_free(all);
    return rc;
}

/* One content for each image and each search, at the place of the first: the
 * last picture, the queries of all. As neighbours_join(). */
static pdr_rc ids_join(pdr_value **list, size_t *count, pdr_shape shape,
                       pdr_err *err)
{
    struct pdr__map places = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX), key = PDR_BUF_INIT(SIZE_MAX);
    size_t kept = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < *count; i++) {
        pdr_content_kind kind = pdr_content_kind_of(list[i], shape);
        const pdr_value *id =
            pdr_content_get(list[i], shape, PDR_FIELD_CALL_ID);
        bool is_image = kind == PDR_CONTENT_IMAGE_RESULT;
        pdr_value *own = list[i];
        void *place = NULL;
        pdr_str text = {NULL, 0};

        if (id != NULL && !pdr_value_text_is(id, PDR_LIT("")) &&
            (is_image ||
             (kind == PDR_CONTENT_SEARCH_CALL && shape == PDR_SHAPE_DOTNET))) {
            PDR_TRY(pdr__value_name_bytes(&text, id, &scratch, err));
            pdr_buf_clear(&key);
            PDR_TRY(pdr_buf_append(&key, is_image ? PDR_LIT("i") : PDR_LIT("s"),
                                   err));
            PDR_TRY(pdr_buf_append(&key, text, err));
            if (!pdr__map_get(&place, &places, pdr_buf_str(&key)))
                PDR_TRY(pdr__map_put(NULL, &places, pdr_buf_str(&key),
                                     &list[kept], err));
        }
        if (place != NULL && !is_image)
            PDR_TRY(queries_add(place, own, shape, err));
        list[i] = NULL;
        if (place == NULL) {
            list[kept++] = own;
        } else if (is_image) {
            pdr_value_free(*(pdr_value **)place);
            *(pdr_value **)place = own;
        } else {
            pdr_value_free(own);
        }
    }
    *count = kept;
done:
    pdr_buf_dispose(&key);
    pdr_buf_dispose(&scratch);
    pdr__map_dispose(&places);
    return rc;
}

pdr_rc pdr__contents_join(pdr_value **out, const pdr_value *const *contents,
                          size_t count, pdr_shape shape, pdr_err *err)
{
    pdr_value **list = pdr__calloc(count > 0 ? count : 1, sizeof(*list));
    pdr_value *all = pdr_value_new_array();
    size_t left = count;
    pdr_rc rc = PDR_OK;

    if (list == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < count; i++)
        list[i] = pdr_value_ref(contents[i]);
    PDR_TRY(neighbours_join(list, &left, 1, shape, err));
    PDR_TRY(ids_join(list, &left, shape, err));
    PDR_TRY(neighbours_join(list, &left, 3, shape, err));
    for (size_t i = 0; i < left; i++)
        PDR_TRY(pdr_value_append(&all, list[i], err));
    *out = all;
    all = pdr_value_new_array();
done:
    for (size_t i = 0; i < count; i++)
        pdr_value_free(list[i]);
    pdr__free(list);
    pdr_value_free(all);
    return rc;
}
