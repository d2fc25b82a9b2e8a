/*
 * repair_fix.c - changes that more than one reader needs.
 *
 * WHY  What nothing means is the same for every reader: an absent list is an
 *      empty one. And what a reader does not know can be kept for it in the
 *      same way: inside an "unknown" content, verbatim if the reader takes
 *      that, else one level deeper, in a member "item", where no reader looks.
 */
#include <stdio.h>

#include "repair.h"

pdr_rc pdr__fix_tell(struct repair *r, enum repair_rule rule, const char *name)
{
    bool added = pdr__told_is_added(rule);
    char below[64];

    (void)snprintf(below, sizeof(below), "%s%s%s",
                   r->before.entry == PDR_NONE ? "/data" : "",
                   name[0] == '\0' ? "" : "/", name);
    return pdr__told_add(&r->told, rule, added ? r->after : r->before, below,
                         r->err);
}

pdr_rc pdr__fix_list(struct repair *r, pdr_value **object, const char *name,
                     bool also_absent)
{
    const pdr_value *list = pdr_value_get_c(*object, name);
    pdr_value *empty = NULL;
    pdr_rc rc = PDR_OK;

    if (list == NULL ? !also_absent : pdr_value_kind(list) != PDR_NULL)
        return PDR_OK;
    rc = pdr__fix_tell(r, list == NULL ? REPAIR_LIST_ADDED : REPAIR_LIST_FILLED,
                       name);
    if (rc != PDR_OK)
        return rc;
    empty = pdr_value_new_array();
    rc = pdr_value_set(object, pdr_str_c(name), empty, r->err);
    pdr_value_free(empty);
    return rc;
}

pdr_rc pdr__fix_member(struct repair *r, pdr_value **object, const char *name,
                       const pdr_value *value)
{
    const pdr_value *member = pdr_value_get_c(*object, name);
    pdr_rc rc = PDR_OK;

    if (!pdr__is_nothing(member))
        return PDR_OK;
    rc = pdr__fix_tell(
        r, member == NULL ? REPAIR_MEMBER_ADDED : REPAIR_MEMBER_FILLED, name);
    if (rc == PDR_OK)
        rc = pdr_value_set(object, pdr_str_c(name), value, r->err);
    return rc;
}

pdr_rc pdr__fix_date(struct repair *r, pdr_value **object, const char *name,
                     pdr_datetime_form form)
{
    pdr_datetime at;
    pdr_value *date = NULL;
    pdr_buf text = PDR_BUF_INIT(64);
    pdr_rc rc = PDR_OK;

    if (!pdr__member_datetime(&at, *object, name))
        return PDR_OK;
    if (pdr_datetime_write(&text, &at, form, NULL) == PDR_EINVALID)
        at = pdr_datetime_utc(at.ticks); /* an offset that .NET has not */
    pdr_buf_clear(&text);
    rc = pdr_datetime_write(&text, &at, form, r->err);
    if (rc == PDR_OK)
        rc = pdr_value_new_string(&date, pdr_buf_str(&text), r->err);
    if (rc == PDR_OK)
        rc = pdr__fix_tell(r, REPAIR_DATE, name);
    if (rc == PDR_OK)
        rc = pdr__told_detail(&r->told, ": ", date, r->err);
    if (rc == PDR_OK)
        rc = pdr_value_set(object, pdr_str_c(name), date, r->err);
    pdr_value_free(date);
    pdr_buf_dispose(&text);
    return rc;
}

/* --- unknown contents ---------------------------------------------------- */

/* A document with one content, for the check of the reader. */
static pdr_rc write_probe(pdr_buf *out, const pdr_value *content, pdr_err *err)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_rc rc = pdr_buf_append(
        out,
        PDR_LIT("{\"schemaVersion\":\"1.1.0\",\"data\":"
                "{\"conversationHistory\":[{\"$type\":\"request\","
                "\"correlationId\":\"c\",\"createdAt\":"
                "\"2026-01-01T00:00:00+00:00\",\"messages\":[{\"contents\":["),
        err);

    if (rc == PDR_OK)
        rc = pdr_json_write(out, content, &opts, err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(out, PDR_LIT("],\"role\":\"user\"}]}]}}"), err);
    return rc;
}

/* Does a document with this content alone load and run? */
static pdr_rc is_fine(bool *out, const struct repair *r,
                      const pdr_value *content)
{
    pdr_reader_verdict verdict = {false, false};
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = write_probe(&text, content, r->err);

    if (rc == PDR_OK)
        rc = pdr_state_check_reader(&verdict, pdr_buf_str(&text), r->reader,
                                    r->err, NULL, NULL);
    *out = rc == PDR_OK && verdict.loads && verdict.runs;
    pdr_buf_dispose(&text);
    return rc;
}

/* {"$type":"unknown","content":item}, or with {"item":item} inside. */
static pdr_rc make_unknown(pdr_value **out, const pdr_value *item, bool deeper,
                           pdr_err *err)
{
    pdr_value *type = NULL, *inner = NULL, *content = pdr_value_new_object();
    pdr_rc rc = pdr_value_new_string(&type, PDR_LIT("unknown"), err);

    *out = NULL;
    if (rc == PDR_OK)
        rc = pdr_value_set(&content, PDR_LIT("$type"), type, err);
    if (rc == PDR_OK && deeper) {
        inner = pdr_value_new_object();
        rc = pdr_value_set(&inner, PDR_LIT("item"), item, err);
        item = inner;
    }
    if (rc == PDR_OK)
        rc = pdr_value_set(&content, PDR_LIT("content"), item, err);
    if (rc == PDR_OK) {
        *out = content;
        content = NULL;
    }
    pdr_value_free(content);
    pdr_value_free(inner);
    pdr_value_free(type);
    return rc;
}

/* Take `wrapped` for the content if the reader takes it. */
static pdr_rc try_wrapped(bool *done, struct repair *r, pdr_value **content,
                          const pdr_value *wrapped)
{
    pdr_rc rc = is_fine(done, r, wrapped);

    if (rc != PDR_OK || !*done)
        return rc;
    rc = pdr__fix_tell(r, REPAIR_WRAPPED, "");
    if (rc == PDR_OK) {
        pdr_value_free(*content);
        *content = pdr_value_ref(wrapped);
    }
    return rc;
}

static pdr_rc wrap_other(struct repair *r, pdr_value **content)
{
    bool done = false;
    pdr_rc rc = PDR_OK;

    for (int deeper = 0; rc == PDR_OK && !done && deeper < 2; deeper++) {
        pdr_value *wrapped = NULL;

        rc = make_unknown(&wrapped, *content, deeper == 1, r->err);
        if (rc == PDR_OK)
            rc = try_wrapped(&done, r, content, wrapped);
        pdr_value_free(wrapped);
    }
    return rc;
}

/* An unknown content keeps its other members; only the item goes deeper. */
static pdr_rc wrap_item(struct repair *r, pdr_value **content)
{
    const pdr_value *item = pdr_value_get_c(*content, "content");
    pdr_value *none = pdr_value_new_null(), *inner = pdr_value_new_object();
    pdr_value *wrapped = pdr_value_ref(*content);
    bool done = false;
    pdr_rc rc = pdr_value_set(&inner, PDR_LIT("item"),
                              item == NULL ? none : item, r->err);

    if (rc == PDR_OK)
        rc = pdr_value_set(&wrapped, PDR_LIT("content"), inner, r->err);
    if (rc == PDR_OK)
        rc = try_wrapped(&done, r, content, wrapped);
    pdr_value_free(wrapped);
    pdr_value_free(inner);
    pdr_value_free(none);
    return rc;
}

pdr_rc pdr__fix_unknown(struct repair *r, pdr_value **content)
{
    pdr_content_kind kind = pdr_content_kind_of(*content, PDR_SHAPE_STATE);
    bool fine = false;
    pdr_rc rc = PDR_OK;

    if (kind == PDR_CONTENT_OTHER)
        return pdr_value_kind(*content) == PDR_NULL ? PDR_OK
                                                    : wrap_other(r, content);
    if (kind != PDR_CONTENT_UNKNOWN)
        return PDR_OK;
    rc = is_fine(&fine, r, *content);
    return rc == PDR_OK && !fine ? wrap_item(r, content) : rc;
}
