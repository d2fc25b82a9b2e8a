/*
 * key.c - what may be a key of a bag, or the name of a property.
 *
 * WHY  A key is typed by people and stands in indexes of stores, so it has to
 *      be text, short and visible. Keys of documents that were read obey
 *      nobody: they stay, and are only not reached by name.
 */
#include "bag_core.h"
#include "compat.h"

pdr_rc pdr__key_check(pdr_str key, pdr_err *err)
{
    if (key.ptr == NULL)
        return PDR_FAIL(err, KEY_NULL, "a key is needed, there is none");
    if (key.len > PDR_MAX_KEY_BYTES)
        return PDR_FAIL(err, KEY_TOO_LONG,
                        "a key has at most %u bytes, this one has %zu",
                        PDR_MAX_KEY_BYTES, key.len);
    if (pdr__utf8_valid_len(key) != key.len)
        return pdr__wrap(err, pdr__utf8_check(key, err), "a key must be UTF-8");
    if (pdr__dotnet_blank(key))
        return PDR_FAIL(err, KEY_BLANK,
                        "a key needs a character that is no white space");
    return PDR_OK;
}

void pdr__slot_path(pdr_err *err, pdr_str key, const char *inside)
{
    pdr_buf token = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    pdr_buf path = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);

    if (err == NULL)
        return;
    if (inside[0] == '.') { /* it was cut, so what is before it is lost */
        pdr__err_path(err, pdr_str_c(inside));
        return;
    }
    pdr_rc rc = pdr_pointer_push(&token, key, NULL);
    if (rc == PDR_OK)
        rc = pdr__text_encode(&path, pdr_buf_str(&token), NULL);
    if (rc == PDR_OK)
        rc = pdr_buf_append(&path, pdr_str_c(inside), NULL);
    if (rc == PDR_OK) /* else the failure is told without its place */
        pdr__err_path(err, pdr_buf_str(&path));
    pdr_buf_dispose(&token);
    pdr_buf_dispose(&path);
}
