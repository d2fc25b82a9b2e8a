/*
 * members.c - members of a saved chat: found, checked, taken.
 *
 * A failure names the place as the document spells it, "/History/3", so that it
 * can be found there.
 */
#include <stdio.h>

#include <perdure/json.h>

#include "document.h"

const char *pdr__place_of(place out, const char *above,
                          const struct member *member)
{
    pdr_str name = member->node != NULL ? string_inner(member->node)
                                        : pdr_str_c(member->name);

    (void)snprintf(out, PLACE_BYTES, "%s/%.*s", above, (int)name.len, name.ptr);
    return out;
}

const char *pdr__place_at(place out, const char *above, size_t index)
{
    (void)snprintf(out, PLACE_BYTES, "%s/%zu", above, index);
    return out;
}

static bool has_capital(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] >= 'A' && text.ptr[i] <= 'Z')
            return true;
    }
    return false;
}

pdr_rc pdr__find_members(struct member *members, size_t count,
                         struct opening *o, const pdr_value *object, bool folds,
                         const char *where)
{
    pdr_iter it;
    place here;

    if (pdr_value_kind(object) != PDR_OBJECT)
        return BAD_CHAT_AT(o->err, where, "expected an object, found %s",
                           pdr__kind_phrase(object));
    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        for (size_t i = 0; i < count; i++) {
            pdr_str name = pdr_str_c(members[i].name);

            if (folds ? !pdr__is_folded(it.name, name)
                      : !string_is(it.name, name))
                continue;
            if (members[i].node != NULL)
                return BAD_CHAT_AT(
                    o->err, pdr__place_of(here, where, &members[i]),
                    "the member '%s' is there twice", members[i].name);
            members[i].node = it.name;
            members[i].value = it.value;
            o->has_capital =
                o->has_capital || has_capital(string_inner(it.name));
        }
    }
    return PDR_OK;
}

pdr_rc pdr__take_text(pdr_str *out, struct opening *o,
                      const struct member *member, const char *where)
{
    char *copy = NULL;
    pdr_str text;
    place here;
    pdr_rc rc = PDR_OK;

    *out = pdr_str_n(NULL, 0);
    if (pdr__is_nothing(member->value))
        return PDR_OK;
    if (pdr_value_kind(member->value) != PDR_STRING)
        return BAD_CHAT_AT(o->err, pdr__place_of(here, where, member),
                           "expected a text, found %s",
                           pdr__kind_phrase(member->value));
    rc = pdr_value_text(&text, member->value, &o->scratch, o->err);
    if (rc == PDR_EINVALID)
        return BAD_CHAT_AT(o->err, pdr__place_of(here, where, member), "%s",
                           "the text has half a surrogate pair");
    if (rc == PDR_OK)
        rc = pdr__arena_strndup(&copy, &o->state->memory, text, o->err);
    if (rc == PDR_OK)
        *out = pdr_str_n(copy, text.len);
    return rc;
}

pdr_rc pdr__take_number(uint64_t *out, struct opening *o,
                        const struct member *member, const char *where)
{
    place here;

    if (member->value != NULL &&
        pdr_value_uint64(out, member->value, NULL) != PDR_OK)
        return BAD_CHAT_AT(o->err, pdr__place_of(here, where, member), "%s",
                           "expected a whole number from 0");
    return PDR_OK;
}

pdr_rc pdr__take_base64(struct opening *o, const struct member *member,
                        const char *where)
{
    pdr_buf bytes = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text;
    place here;
    pdr_rc rc = PDR_OK;

    (void)pdr__place_of(here, where, member);
    if (pdr_value_kind(member->value) != PDR_STRING)
        return BAD_CHAT_AT(o->err, here, "expected base64, found %s",
                           pdr__kind_phrase(member->value));
    PDR_TRY(pdr_value_text(&text, member->value, &o->scratch, o->err));
    PDR_TRY(pdr__base64_decode(&bytes, text, PDR_BASE64, o->err));
    pdr_buf_dispose(&o->scratch);
    o->scratch = bytes;
    return PDR_OK;
done:
    pdr_buf_dispose(&bytes);
    if (rc != PDR_EINVALID)
        return rc;
    return BAD_CHAT_AT(o->err, here, "%s",
                       "expected base64, found another text");
}

pdr_rc pdr__take_json(pdr_value **out, struct opening *o, uint32_t max_depth,
                      const struct member *member, const char *where)
{
    pdr_read_opts opts = {.max_depth = max_depth};
    place here;
    pdr_rc rc = pdr_json_read_take(out, &o->scratch, &opts, o->err);

    if (rc == PDR_OK || rc == PDR_ENOMEM || o->err == NULL)
        return rc;
    o->err->offset = -1; /* it is one of the decoded text */
    pdr__err_path(o->err, pdr_str_c(pdr__place_of(here, where, member)));
    return pdr__wrap(o->err, rc, "the JSON inside of '%s'", member->name);
}

pdr_rc pdr__take_key(struct opening *o, pdr_str key, const char *where)
{
    char shown[PDR_SHOWN];

    if (key.ptr == NULL)
        return PDR_OK;
    if (pdr__map_get(NULL, &o->keys, key))
        return BAD_CHAT_AT(o->err, where, "two channels have the key '%s'",
                           pdr__shown(shown, key));
    return pdr__map_put(NULL, &o->keys, key, (void *)(uintptr_t)key.ptr,
                        o->err);
}

pdr_rc pdr__expect_messages(struct opening *o, size_t count, const char *where)
{
    if (count > o->max_messages)
        return FAIL_PLACE(o->err, where, TOO_LARGE,
                          "the chat has %zu messages, at most %zu are read",
                          count, o->max_messages);
    return pdr__grow((void **)&o->state->log, &o->state->log_cap, count,
                     sizeof(*o->state->log), o->err);
}
