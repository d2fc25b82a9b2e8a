/*
 * state.c - the state document as a whole: reading and changing it.
 *
 * WHY  The document is shared with programs that know more than we do, or less.
 *      So there is no struct of it: reading looks members up in the value that
 *      was read, and a change makes a new value in which everything else is the
 *      same part as before.
 *
 * INVARIANTS
 *   S1  What may change: entries come at the end, `expirationTimeUtc` is set or
 *       removed, `schemaVersion` is raised, whole entries are removed. Nothing
 *       else, ever.
 *   S2  A change that fails leaves the document as it was, all of it: work is
 *       done in one step, or on a handle of our own which then takes the place
 *       of the caller's.
 *   S3  An entry stands at level 4 (root, data, list, entry). A document of
 *       ours has at most PDR_DEFAULT_DEPTH levels.
 */
#include "doc.h"

#define ENTRY_LEVEL 4

/* --- reading ------------------------------------------------------------- */

bool pdr__short_text(pdr_str *out, char scratch[PDR_SHORT_TEXT],
                     const pdr_value *value)
{
    pdr_str raw = {NULL, 0};

    if (value == NULL || pdr_value_kind(value) != PDR_STRING ||
        pdr_value_has_lone_surrogate(value) || !pdr_value_raw(&raw, value) ||
        raw.len - 2 > PDR_SHORT_TEXT)
        return false;
    raw = pdr_str_n(raw.ptr + 1, raw.len - 2);
    *out = pdr_str_n(scratch, pdr__text_decode(scratch, raw));
    return true;
}

bool pdr__read_datetime(pdr_datetime *out, const pdr_value *value)
{
    char scratch[PDR_SHORT_TEXT];
    pdr_str text = {NULL, 0};

    /* A date may have any number of digits; only escapes need room. */
    return value != NULL && pdr_value_kind(value) == PDR_STRING &&
           (pdr_value_text(&text, value, NULL, NULL) == PDR_OK ||
            pdr__short_text(&text, scratch, value)) &&
           pdr_datetime_read(out, text, NULL) == PDR_OK;
}

bool pdr__member_datetime(pdr_datetime *out, const pdr_value *object,
                          const char *name)
{
    return pdr__read_datetime(out, pdr_value_get_c(object, name));
}

/* Levels of a value, counted. */
static size_t count_levels(const pdr_value *value)
{
    size_t deepest = 0;
    pdr_iter it;

    if (pdr_value_kind(value) < PDR_ARRAY)
        return 0;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        size_t levels = count_levels(it.value);

        deepest = levels > deepest ? levels : deepest;
    }
    return deepest + 1;
}

size_t pdr__levels(const pdr_value *value)
{
    return count_levels(value);
}

/* Would `value` at `level` make a document too deep? The height of a value is
 * known at once but may be too large; only then is it counted. */
static bool is_too_deep(const pdr_value *value, size_t level)
{
    size_t room = PDR_DEFAULT_DEPTH - level + 1;

    return pdr__value_height(value) > room && count_levels(value) > room;
}

pdr_rc pdr_state_new(pdr_value **out, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    rc = pdr_builder_new(&to, err);
    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("schemaVersion"));
    pdr_builder_string(to, PDR_LIT(PDR_STATE_VERSION));
    pdr_builder_name(to, PDR_LIT("data"));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("conversationHistory"));
    pdr_builder_array(to);
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

/* The text was no JSON: say so, and keep where. */
static pdr_rc not_json(pdr_rc rc, pdr_err *err)
{
    if (rc != PDR_EINVALID)
        return rc;
    if (err != NULL)
        err->reason = pdr__reason_slug(PDR_R_STATE_NOT_JSON);
    return pdr__wrap(err, rc, "no JSON");
}

/* Where in the text is the member that the gate refused, or the whole? */
static void name_offset(pdr_err *err, const pdr_value *read)
{
    const pdr_value *at = read;

    if (err == NULL)
        return;
    if (err->path[0] == '/')
        at = pdr_value_get_c(read, err->path + 1);
    if (at != NULL)
        pdr__err_at(err, (size_t)pdr_value_offset(at));
}

pdr_rc pdr_state_read(pdr_value **out, pdr_str text, const pdr_read_opts *opts,
                      pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    rc = pdr_json_read(&value, text, opts, err);
    if (rc != PDR_OK)
        return not_json(rc, err);
    if (pdr_value_kind(value) == PDR_NULL) {
        rc = pdr_state_new(out, err);
    } else {
        rc = pdr_state_gate(value, err);
        if (rc == PDR_OK) {
            *out = value;
            value = NULL;
        } else {
            name_offset(err, value);
        }
    }
    pdr_value_free(value);
    return rc;
}

const pdr_value *pdr_state_data(const pdr_value *state)
{
    return pdr__member(state, "data", PDR_OBJECT);
}

const pdr_value *pdr_state_entries(const pdr_value *state)
{
    return pdr__member(pdr_state_data(state), "conversationHistory", PDR_ARRAY);
}

bool pdr_state_expiration(pdr_datetime *out, const pdr_value *state)
{
    return pdr__member_datetime(out, pdr_state_data(state),
                                "expirationTimeUtc");
}

const pdr_value *pdr_state_find_response(size_t *index, const pdr_value *state,
                                         pdr_str correlation_id)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_state_entries(state));
    while (pdr_iter_next(&it)) {
        if (!pdr_value_text_is(pdr_entry_correlation_id(it.value),
                               correlation_id) ||
            pdr_entry_kind_of(it.value) != PDR_ENTRY_RESPONSE)
            continue;
        if (index != NULL)
            *index = it.index;
        return it.value;
    }
    return NULL;
}

/* --- changing ------------------------------------------------------------ */

#define HISTORY "conversationHistory"

static pdr_rc name_path(pdr_rc rc, pdr_err *err, pdr_str path)
{
    if (rc != PDR_OK)
        pdr__err_path(err, path);
    return rc;
}

/* Replace `"data":null` by an object without entries. */
static pdr_rc make_data(pdr_value **io, pdr_err *err)
{
    pdr_value *list = pdr_value_new_array();
    pdr_value *data = pdr_value_new_object();
    pdr_rc rc = pdr_value_set(&data, PDR_LIT(HISTORY), list, err);

    if (rc == PDR_OK)
        rc = pdr_value_set(io, PDR_LIT("data"), data, err);
    pdr_value_free(data);
    pdr_value_free(list);
    return rc;
}

/* There is an object `data` with a list of entries. */
static pdr_rc ensure_history(pdr_value **io, pdr_err *err)
{
    const pdr_value *history = NULL;
    pdr_value *list = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_state_data(*io) == NULL)
        return make_data(io, err);
    history = pdr_value_get_c(pdr_state_data(*io), HISTORY);
    if (pdr__is_nothing(history)) {
        list = pdr_value_new_array();
        rc = pdr_pointer_set(io, PDR_LIT("/data/" HISTORY), list, err);
        pdr_value_free(list);
        return rc;
    }
    if (pdr_value_kind(history) == PDR_ARRAY)
        return PDR_OK;
    return name_path(
        PDR_FAIL(err, WRONG_KIND,
                 "the history is %s, not a list; repair the document first",
                 pdr__kind_phrase(history)),
        err, PDR_LIT("/data/" HISTORY));
}

/* Does the entry have a member that a document of this version does not know?
 * The version comes first: most documents are not older, and then the entry
 * need not be looked at. */
static bool raises_version(const pdr_schema_version *version,
                           const pdr_value *entry)
{
    return pdr_schema_version_compare(version, &pdr__version_orchestration) <
               0 &&
           pdr_entry_orchestration_id(entry) != NULL;
}

static pdr_rc raise_version(pdr_value **io, pdr_err *err)
{
    pdr_value *text = NULL;
    pdr_rc rc = pdr_value_new_string(&text, PDR_LIT("1.1.0"), err);

    if (rc == PDR_OK)
        rc = pdr_value_set(io, PDR_LIT("schemaVersion"), text, err);
    pdr_value_free(text);
    return rc;
}

/* Put the entry behind the others; there is a list. It goes down by name: this
 * is the one change that every turn makes, and a pointer would have to be
 * taken apart each time. The entry is none of what lies on the way and belongs
 * to this handle alone, else it would be put into itself. */
static pdr_rc add_entry(pdr_value **io, const pdr_value *entry, pdr_err *err)
{
    uint32_t levels = pdr__value_height(entry) + 1;
    pdr_value **data = NULL, **history = NULL;
    pdr_rc rc =
        pdr__value_edit_member(&data, io, PDR_LIT("data"), levels + 1, err);

    if (rc == PDR_OK)
        rc = pdr__value_edit_member(&history, data, PDR_LIT(HISTORY), levels,
                                    err);
    if (rc == PDR_OK)
        rc = pdr_value_append(history, entry, err);
    return name_path(rc, err, PDR_LIT("/data/" HISTORY));
}

/* What an append needs beside the entry, on a handle of our own (S2). */
static pdr_rc prepare(pdr_value **io, const pdr_value *entry, bool raise,
                      pdr_err *err)
{
    pdr_value *state = pdr_value_ref(*io);
    pdr_rc rc = ensure_history(&state, err);

    if (rc == PDR_OK && raise)
        rc = raise_version(&state, err);
    if (rc == PDR_OK)
        rc = add_entry(&state, entry, err);
    if (rc == PDR_OK) {
        pdr_value_free(*io);
        *io = state;
        state = NULL;
    }
    pdr_value_free(state);
    return rc;
}

pdr_rc pdr_state_append(pdr_value **io, const pdr_value *entry, pdr_err *err)
{
    pdr_schema_version version;
    const pdr_value *data = NULL;
    bool raise = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(io != NULL && *io != NULL && entry != NULL);
    rc = pdr__state_gate(&version, &data, *io, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_kind(entry) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND, "an entry is an object, not %s",
                        pdr__kind_phrase(entry));
    if (is_too_deep(entry, ENTRY_LEVEL))
        return PDR_FAIL(err, TOO_DEEP,
                        "an entry may have %d levels, so that its document "
                        "has no more than %d",
                        PDR_DEFAULT_DEPTH - ENTRY_LEVEL + 1, PDR_DEFAULT_DEPTH);
    raise = raises_version(&version, entry);
    if (raise || entry == *io || entry == data ||
        pdr__member(data, HISTORY, PDR_ARRAY) == NULL)
        return prepare(io, entry, raise, err);
    return add_entry(io, entry, err);
}

pdr_rc pdr_state_set_expiration(pdr_value **io, int64_t ticks, pdr_err *err)
{
    pdr_datetime at = pdr_datetime_utc(ticks);
    pdr_value *state = NULL, *text = NULL;
    pdr_buf date = PDR_BUF_INIT(64);
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(io != NULL && *io != NULL);
    rc = pdr_state_gate(*io, err);
    if (rc == PDR_OK)
        rc = pdr_datetime_write(&date, &at, PDR_DATETIME_OURS_Z, err);
    if (rc == PDR_OK)
        rc = pdr_value_new_string(&text, pdr_buf_str(&date), err);
    if (rc == PDR_OK) {
        state = pdr_value_ref(*io);
        if (pdr_state_data(state) == NULL)
            rc = make_data(&state, err);
    }
    if (rc == PDR_OK)
        rc = pdr_pointer_set(&state, PDR_LIT("/data/expirationTimeUtc"), text,
                             err);
    if (rc == PDR_OK) {
        pdr_value_free(*io);
        *io = state;
        state = NULL;
    }
    pdr_value_free(state);
    pdr_value_free(text);
    pdr_buf_dispose(&date);
    return rc;
}

pdr_rc pdr_state_clear_expiration(pdr_value **io, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(io != NULL && *io != NULL);
    rc = pdr_state_gate(*io, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_get_c(pdr_state_data(*io), "expirationTimeUtc") == NULL)
        return PDR_OK;
    return pdr_pointer_remove(io, PDR_LIT("/data/expirationTimeUtc"), err);
}

/* The list without some of its entries. */
static pdr_rc without(pdr_value **out, const pdr_value *entries, size_t first,
                      size_t count, pdr_err *err)
{
    pdr_value *list = NULL;
    pdr_rc rc = PDR_OK;

    if (count == pdr_value_count(entries)) {
        *out = pdr_value_new_array();
        return PDR_OK;
    }
    list = pdr_value_ref(entries);
    for (size_t i = 0; rc == PDR_OK && i < count; i++)
        rc = pdr_value_erase(&list, first + count - 1 - i, err);
    if (rc == PDR_OK) {
        *out = list;
        list = NULL;
    }
    pdr_value_free(list);
    return rc;
}

pdr_rc pdr_state_remove_entries(pdr_value **io, size_t first, size_t count,
                                pdr_err *err)
{
    const pdr_value *entries = NULL;
    pdr_value *rest = NULL;
    size_t there = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(io != NULL && *io != NULL);
    rc = pdr_state_gate(*io, err);
    if (rc != PDR_OK)
        return rc;
    entries = pdr_state_entries(*io);
    there = pdr_value_count(entries);
    if (first > there || count > there - first)
        return PDR_FAIL(err, NO_ELEMENT,
                        "there are %zu entries, none from %zu to %zu", there,
                        first, first + count);
    if (count == 0)
        return PDR_OK;
    rc = without(&rest, entries, first, count, err);
    if (rc == PDR_OK)
        rc = pdr_pointer_set(io, PDR_LIT("/data/" HISTORY), rest, err);
    pdr_value_free(rest);
    return rc;
}
