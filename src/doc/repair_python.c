/*
 * repair_python.c - what Python needs of a document, where that can be had
 * without changing what the document says.
 *
 * WHY  Python reads nearly everything and loses much of it. What makes its load
 *      or its runs fail is little: null in the place of a list or of the data,
 *      and contents that it does not know, which it empties and then cannot
 *      convert. Those are wrapped, so that Python keeps them too. What it drops
 *      or respells without failing is left alone: its check reports that.
 */
#include <string.h>

#include "repair.h"

/* Second 60, which we read as 59 and Python does not read. */
static bool has_leap_second(const pdr_value *date)
{
    pdr_str raw = {NULL, 0};

    return date != NULL && pdr_value_raw(&raw, date) && raw.len >= 20 &&
           memcmp(raw.ptr + 17, ":60", 3) == 0;
}

static pdr_rc fix_date(struct repair *r, pdr_value **object)
{
    if (!has_leap_second(pdr__member(*object, "createdAt", PDR_STRING)))
        return PDR_OK;
    return pdr__fix_date(r, object, "createdAt", PDR_DATETIME_DOTNET_OFFSET);
}

static pdr_rc fix_content(struct repair *r, pdr_value **content)
{
    return pdr__fix_unknown(r, content);
}

static pdr_rc fix_message(struct repair *r, pdr_value **message)
{
    pdr_rc rc = fix_date(r, message);

    return rc == PDR_OK ? pdr__fix_list(r, message, "contents", false) : rc;
}

static pdr_rc fix_entry(struct repair *r, pdr_value **entry)
{
    pdr_rc rc = fix_date(r, entry);

    return rc == PDR_OK ? pdr__fix_list(r, entry, "messages", false) : rc;
}

/* `"data":null` is an empty conversation, which Python does not read. */
static pdr_rc fill_data(struct repair *r, pdr_value **data)
{
    pdr_value *list = pdr_value_new_array(), *made = pdr_value_new_object();
    pdr_rc rc = pdr__fix_tell(r, REPAIR_DATA_FILLED, "");

    if (rc == PDR_OK)
        rc = pdr_value_set(&made, PDR_LIT("conversationHistory"), list, r->err);
    if (rc == PDR_OK) {
        pdr_value_free(*data);
        *data = pdr_value_ref(made);
    }
    pdr_value_free(made);
    pdr_value_free(list);
    return rc;
}

static pdr_rc fix_data(struct repair *r, pdr_value **data)
{
    if (pdr_value_kind(*data) == PDR_NULL)
        return fill_data(r, data);
    return pdr__fix_list(r, data, "conversationHistory", false);
}

const struct fixes pdr__fixes_python = {fix_data, fix_entry, fix_message,
                                        fix_content, false};
