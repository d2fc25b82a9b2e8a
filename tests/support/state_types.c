/* state_types.c - see state_types.h. */
#include "state_types.h"

#include "base.h"

/* --- counters ------------------------------------------------------------ */

pdr_rc counter_new(void **out, int64_t a, pdr_err *err)
{
    struct counter *counter = pdr__calloc(1, sizeof(*counter));

    *out = counter;
    if (counter == NULL)
        return pdr_err_set(err, PDR_ENOMEM, "no_memory", "out of memory");
    counter->a = a;
    return PDR_OK;
}

static pdr_rc not_a_number(const char *member, pdr_err *err)
{
    (void)pdr_err_set(err, PDR_EINVALID, "counter", "%s is no integer", member);
    (void)snprintf(err->path, sizeof(err->path), "/%s", member);
    return PDR_EINVALID;
}

static pdr_rc counter_decode(void **out, const pdr_value *value, pdr_err *err,
                             void *arg)
{
    const pdr_value *a = pdr_value_get_c(value, "a");
    const pdr_value *b = pdr_value_get_c(value, "b");
    struct counter read = {0, 0};

    (void)arg;
    if (pdr_value_kind(value) != PDR_OBJECT)
        return pdr_err_set(err, PDR_EINVALID, "counter", "it is no object");
    if (a == NULL || pdr_value_int64(&read.a, a, NULL) != PDR_OK)
        return not_a_number("a", err);
    if (b != NULL && pdr_value_int64(&read.b, b, NULL) != PDR_OK)
        return not_a_number("b", err);
    pdr_rc rc = counter_new(out, read.a, err);
    if (rc == PDR_OK)
        ((struct counter *)*out)->b = read.b;
    return rc;
}

static pdr_rc counter_encode(pdr_value **out, const void *object, pdr_err *err,
                             void *arg)
{
    const struct counter *counter = object;
    pdr_builder *builder = NULL;
    pdr_rc rc = pdr_builder_new(&builder, err);

    (void)arg;
    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(builder);
    pdr_builder_name(builder, pdr_str_c("a"));
    pdr_builder_int64(builder, counter->a);
    if (counter->b != 0) {
        pdr_builder_name(builder, pdr_str_c("b"));
        pdr_builder_int64(builder, counter->b);
    }
    pdr_builder_end(builder);
    rc = pdr_builder_finish(out, builder, err);
    pdr_builder_free(builder);
    return rc;
}

static pdr_rc counter_copy(void **out, const void *object, pdr_err *err,
                           void *arg)
{
    const struct counter *counter = object;
    pdr_rc rc = counter_new(out, counter->a, err);

    (void)arg;
    if (rc == PDR_OK)
        ((struct counter *)*out)->b = counter->b;
    return rc;
}

static void plain_free(void *object, void *arg)
{
    (void)arg;
    pdr__free(object);
}

const pdr_state_type counter_type = {
    .name = "test.Counter",
    .decode = counter_decode,
    .encode = counter_encode,
    .copy = counter_copy,
    .free = plain_free,
};

/* --- texts --------------------------------------------------------------- */

pdr_rc text_new(void **out, const char *text, pdr_err *err)
{
    *out = pdr__strdup(text);
    if (*out == NULL)
        return pdr_err_set(err, PDR_ENOMEM, "no_memory", "out of memory");
    return PDR_OK;
}

static pdr_rc text_decode(void **out, const pdr_value *value, pdr_err *err,
                          void *arg)
{
    pdr_buf scratch = PDR_BUF_INIT(1 << 20);
    pdr_str text = {NULL, 0};

    (void)arg;
    pdr_rc rc = pdr_value_text(&text, value, &scratch, err);
    if (rc == PDR_OK) {
        *out = pdr__strndup(text);
        if (*out == NULL)
            rc = pdr_err_set(err, PDR_ENOMEM, "no_memory", "out of memory");
    }
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc text_encode(pdr_value **out, const void *object, pdr_err *err,
                          void *arg)
{
    (void)arg;
    return pdr_value_new_string(out, pdr_str_c(object), err);
}

static pdr_rc text_copy(void **out, const void *object, pdr_err *err, void *arg)
{
    (void)arg;
    return text_new(out, object, err);
}

const pdr_state_type text_type = {
    .name = "test.Text",
    .decode = text_decode,
    .encode = text_encode,
    .copy = text_copy,
    .free = plain_free,
};

/* --- any JSON ------------------------------------------------------------ */

static pdr_rc json_decode(void **out, const pdr_value *value, pdr_err *err,
                          void *arg)
{
    (void)err;
    (void)arg;
    *out = pdr_value_ref(value);
    return PDR_OK;
}

static pdr_rc json_encode(pdr_value **out, const void *object, pdr_err *err,
                          void *arg)
{
    (void)err;
    (void)arg;
    *out = pdr_value_ref(object);
    return PDR_OK;
}

static pdr_rc json_copy(void **out, const void *object, pdr_err *err, void *arg)
{
    return json_decode(out, object, err, arg);
}

static void json_free(void *object, void *arg)
{
    (void)arg;
    pdr_value_free(object);
}

const pdr_state_type json_type = {
    .name = "test.Json",
    .decode = json_decode,
    .encode = json_encode,
    .copy = json_copy,
    .free = json_free,
};

/* --- odd ones ------------------------------------------------------------ */

static pdr_rc odd_fail(const struct odd *odd, pdr_rc rc, pdr_err *err)
{
    if (!odd->is_silent) {
        (void)pdr_err_set(err, rc, "odd", "as it was told to");
        (void)snprintf(err->path, sizeof(err->path), "/in/0");
    }
    return rc;
}

static void odd_write(struct odd *odd)
{
    if (odd->bag != NULL)
        odd->wrote = pdr_bag_remove(odd->bag, pdr_str_c("k"), NULL);
}

static pdr_rc odd_decode(void **out, const pdr_value *value, pdr_err *err,
                         void *arg)
{
    struct odd *odd = arg;

    odd->decoded++;
    odd_write(odd);
    if (odd->decode != PDR_OK)
        return odd_fail(odd, odd->decode, err);
    return odd->gives_nothing ? PDR_OK : counter_decode(out, value, err, arg);
}

static pdr_rc odd_encode(pdr_value **out, const void *object, pdr_err *err,
                         void *arg)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    struct odd *odd = arg;

    odd->encoded++;
    odd_write(odd);
    if (odd->encode != PDR_OK)
        return odd_fail(odd, odd->encode, err);
    if (odd->encoded == odd->refuse_at)
        return odd_fail(odd, PDR_EINVALID, err);
    if (odd->json != NULL)
        return pdr_json_read(out, pdr_str_c(odd->json), &opts, err);
    return odd->gives_nothing ? PDR_OK : counter_encode(out, object, err, arg);
}

static pdr_rc odd_copy(void **out, const void *object, pdr_err *err, void *arg)
{
    struct odd *odd = arg;

    odd->copied++;
    odd_write(odd);
    if (odd->copy != PDR_OK)
        return odd_fail(odd, odd->copy, err);
    return odd->gives_nothing ? PDR_OK : counter_copy(out, object, err, arg);
}

static void odd_free(void *object, void *arg)
{
    struct odd *odd = arg;

    odd->freed++;
    pdr__free(object);
}

pdr_state_type odd_type(struct odd *odd)
{
    pdr_state_type type = {.name = "test.Odd",
                           .decode = odd_decode,
                           .encode = odd_encode,
                           .copy = odd_copy,
                           .free = odd_free};

    type.arg = odd;
    return type;
}
