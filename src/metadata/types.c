/*
 * types.c - plain values as objects: whole numbers, doubles, truths, texts.
 *
 * WHY  Properties are often written by programs that know only texts, as
 *      headers and command lines do. So each of these types also takes the text
 *      of its value, all of it and nothing else: "42" is 42, "42 " is not.
 *      Where a text is wanted, a number or truth is its JSON text.
 */
#include <strings.h>

#include "metadata.h"

static void free_plain(void *object, void *arg)
{
    (void)arg;
    pdr__free(object);
}

/* For types without pointers; `arg` is their size. */
static pdr_rc copy_plain(void **out, const void *object, pdr_err *err,
                         void *arg)
{
    size_t size = (size_t)(uintptr_t)arg;

    *out = pdr__alloc(size);
    if (*out == NULL)
        return pdr__nomem(err);
    memcpy(*out, object, size);
    return PDR_OK;
}

#define PLAIN_TYPE(name, type, decode, encode)              \
    {                                                       \
        name, decode, encode, copy_plain, free_plain, NULL, \
            (void *)sizeof(type)                            \
    }

/* The number that a value is, or whose text it is; owned. */
static pdr_rc read_number(pdr_value **out, const pdr_value *value, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_NUMBER) {
        *out = pdr_value_ref(value);
        return PDR_OK;
    }
    PDR_TRY(pdr_value_text(&text, value, &scratch, err));
    PDR_TRY(pdr_value_new_number(out, text, err));
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- whole numbers ------------------------------------------------------- */

static pdr_rc decode_int64(void **out, const pdr_value *value, pdr_err *err,
                           void *arg)
{
    pdr_value *number = NULL;
    int64_t result = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(read_number(&number, value, err));
    PDR_TRY(pdr_value_int64(&result, number, err));
    PDR_TRY(copy_plain(out, &result, err, arg));
done:
    pdr_value_free(number);
    return rc;
}

static pdr_rc encode_int64(pdr_value **out, const void *object, pdr_err *err,
                           void *arg)
{
    (void)arg;
    return pdr_value_new_int64(out, *(const int64_t *)object, err);
}

const pdr_state_type *pdr_type_int64(void)
{
    static const pdr_state_type type =
        PLAIN_TYPE("int64", int64_t, decode_int64, encode_int64);

    return &type;
}

/* --- doubles ------------------------------------------------------------- */

static pdr_rc decode_double(void **out, const pdr_value *value, pdr_err *err,
                            void *arg)
{
    pdr_value *number = NULL;
    double result = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(read_number(&number, value, err));
    PDR_TRY(pdr_value_double(&result, number, err));
    PDR_TRY(copy_plain(out, &result, err, arg));
done:
    pdr_value_free(number);
    return rc;
}

static pdr_rc encode_double(pdr_value **out, const void *object, pdr_err *err,
                            void *arg)
{
    (void)arg;
    return pdr_value_new_double(out, *(const double *)object, err);
}

const pdr_state_type *pdr_type_double(void)
{
    static const pdr_state_type type =
        PLAIN_TYPE("double", double, decode_double, encode_double);

    return &type;
}

/* --- truths -------------------------------------------------------------- */

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
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_BOOL) {
        PDR_TRY(pdr_value_bool(&truth, value, err));
    } else {
        (void)pdr__short_text(&text, scratch, value);
        truth = is_word(text, PDR_LIT("true"));
        if (!truth && !is_word(text, PDR_LIT("false")))
            return PDR_FAIL(err, WRONG_KIND, "%s",
                            "it is neither true nor false, nor a text that "
                            "says one of them");
    }
    PDR_TRY(copy_plain(out, &truth, err, arg));
done:
    return rc;
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
    static const pdr_state_type type =
        PLAIN_TYPE("bool", bool, decode_bool, encode_bool);

    return &type;
}

/* --- texts --------------------------------------------------------------- */

/* A view, followed by its bytes and a final NUL, in one piece. */
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
        PDR_TRY(pdr_value_text(&text, value, &scratch, err));
    PDR_TRY(make_text(out, text, err));
done:
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
