/*
 * types.c - plain values as objects: whole numbers, doubles, truths, texts.
 *
 * WHY  Properties are often written by programs that know only texts, as
 *      headers and command lines do. So each of these types also takes the text
 *      of its value, all of it and nothing else: "42" is 42, "42 " is none.
 *      Where a text is wanted, a number or truth is its JSON text.
 */
#include <strings.h>

#include "metadata.h"

static void free_plain(void *object, void *arg)
{
    (void)arg;
    pdr__free(object);
}

static pdr_rc copy_bytes(void **out, const void *bytes, size_t size,
                         pdr_err *err)
{
    *out = pdr__alloc(size);
    if (*out == NULL)
        return pdr__nomem(err);
    memcpy(*out, bytes, size);
    return PDR_OK;
}

/* The number that a value is, or whose text it is; owned. */
static pdr_rc as_number(pdr_value **out, const pdr_value *value, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_NUMBER) {
        *out = pdr_value_ref(value);
        return PDR_OK;
    }
    *out = NULL;
    rc = pdr_value_text(&text, value, &scratch, err);
    if (rc == PDR_OK)
        rc = pdr_value_new_number(out, text, err);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- whole numbers ------------------------------------------------------- */

static pdr_rc copy_int64(void **out, const void *object, pdr_err *err,
                         void *arg)
{
    (void)arg;
    return copy_bytes(out, object, sizeof(int64_t), err);
}

static pdr_rc decode_int64(void **out, const pdr_value *value, pdr_err *err,
                           void *arg)
{
    pdr_value *number = NULL;
    int64_t result = 0;
    pdr_rc rc = as_number(&number, value, err);

    if (rc == PDR_OK)
        rc = pdr_value_int64(&result, number, err);
    pdr_value_free(number);
    return rc == PDR_OK ? copy_int64(out, &result, err, arg) : rc;
}

static pdr_rc encode_int64(pdr_value **out, const void *object, pdr_err *err,
                           void *arg)
{
    (void)arg;
    return pdr_value_new_int64(out, *(const int64_t *)object, err);
}

const pdr_state_type *pdr_type_int64(void)
{
    static const pdr_state_type type = {"int64",    decode_int64, encode_int64,
                                        copy_int64, free_plain,   NULL,
                                        NULL};

    return &type;
}

/* --- doubles ------------------------------------------------------------- */

static pdr_rc copy_double(void **out, const void *object, pdr_err *err,
                          void *arg)
{
    (void)arg;
    return copy_bytes(out, object, sizeof(double), err);
}

static pdr_rc decode_double(void **out, const pdr_value *value, pdr_err *err,
                            void *arg)
{
    pdr_value *number = NULL;
    double result = 0;
    pdr_rc rc = as_number(&number, value, err);

    if (rc == PDR_OK)
        rc = pdr_value_double(&result, number, err);
    pdr_value_free(number);
    return rc == PDR_OK ? copy_double(out, &result, err, arg) : rc;
}

static pdr_rc encode_double(pdr_value **out, const void *object, pdr_err *err,
                            void *arg)
{
    (void)arg;
    return pdr_value_new_double(out, *(const double *)object, err);
}

const pdr_state_type *pdr_type_double(void)
{
    static const pdr_state_type type = {
        "double",   decode_double, encode_double, copy_double,
        free_plain, NULL,          NULL};

    return &type;
}

/* --- truths -------------------------------------------------------------- */

static pdr_rc copy_bool(void **out, const void *object, pdr_err *err, void *arg)
{
    (void)arg;
    return copy_bytes(out, object, sizeof(bool), err);
}

/* In any case: .NET writes "True". */
static bool is_word(pdr_str text, pdr_str word)
{
    return text.len == word.len &&
           strncasecmp(text.ptr, word.ptr, word.len) == 0;
}

static pdr_rc decode_bool(void **out, const pdr_value *value, pdr_err *err,
                          void *arg)
{
    char scratch[PDR_SHORT_TEXT];
    pdr_str text = {"", 0};
    bool truth = false;

    if (pdr_value_kind(value) == PDR_BOOL) {
        pdr_rc rc = pdr_value_bool(&truth, value, err);

        return rc == PDR_OK ? copy_bool(out, &truth, err, arg) : rc;
    }
    (void)pdr__short_text(&text, scratch, value);
    truth = is_word(text, PDR_LIT("true"));
    if (!truth && !is_word(text, PDR_LIT("false")))
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        "it is neither true nor false, nor a text that says "
                        "one of them");
    return copy_bool(out, &truth, err, arg);
}

static pdr_rc encode_bool(pdr_value **out, const void *object, pdr_err *err,
                          void *arg)
{
    (void)err;
    (void)arg;
    *out = pdr_value_new_bool(*(const bool *)object);
    return PDR_OK;
}

const pdr_state_type *pdr_type_bool(void)
{
    static const pdr_state_type type = {
        "bool", decode_bool, encode_bool, copy_bool, free_plain, NULL, NULL};

    return &type;
}

/* --- texts --------------------------------------------------------------- */

/* A view and the bytes behind it, with a final NUL, in one piece. */
static pdr_rc make_text(void **out, pdr_str text, pdr_err *err)
{
    size_t size = 0;
    pdr_str *view = NULL;

    if (pdr__add_size(&size, sizeof(*view) + 1, text.len))
        view = pdr__alloc(size);
    *out = view;
    if (view == NULL)
        return pdr__nomem(err);
    *view = pdr_str_n((char *)(view + 1), text.len);
    if (text.len > 0)
        memcpy(view + 1, text.ptr, text.len);
    ((char *)(view + 1))[text.len] = '\0';
    return PDR_OK;
}

static pdr_rc decode_string(void **out, const pdr_value *value, pdr_err *err,
                            void *arg)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_kind kind = pdr_value_kind(value);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    (void)arg;
    if (kind == PDR_NUMBER || kind == PDR_BOOL)
        (void)pdr_value_raw(&text, value); /* scalars have one */
    else
        rc = pdr_value_text(&text, value, &scratch, err);
    if (rc == PDR_OK)
        rc = make_text(out, text, err);
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc encode_string(pdr_value **out, const void *object, pdr_err *err,
                            void *arg)
{
    (void)arg;
    return pdr_value_new_string(out, *(const pdr_str *)object, err);
}

static pdr_rc copy_string(void **out, const void *object, pdr_err *err,
                          void *arg)
{
    (void)arg;
    return make_text(out, *(const pdr_str *)object, err);
}

const pdr_state_type *pdr_type_string(void)
{
    static const pdr_state_type type = {
        "string",   decode_string, encode_string, copy_string,
        free_plain, NULL,          NULL};

    return &type;
}
