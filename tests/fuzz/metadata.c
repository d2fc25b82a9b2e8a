/*
 * metadata.c - any bytes are refused cleanly, or are a session with metadata
 * that comes back as it was: typed reading changes nothing, a property that is
 * set and removed again leaves the rest as it was, and nothing of it is in the
 * session.
 */
#include <perdure.h>

#include "fuzz.h"

static const pdr_write_opts as_read = {0, PDR_AS_READ, 0, NULL};

static void must_be_same(const pdr_value *a, const pdr_value *b)
{
    pdr_buf left = PDR_BUF_INIT(SIZE_MAX), right = PDR_BUF_INIT(SIZE_MAX);

    MUST(pdr_json_write(&left, a, &as_read, NULL) == PDR_OK);
    MUST(pdr_json_write(&right, b, &as_read, NULL) == PDR_OK);
    MUST(pdr_str_equal(pdr_buf_str(&left), pdr_buf_str(&right)));
    pdr_buf_dispose(&right);
    pdr_buf_dispose(&left);
}

static void must_write(const pdr_session_wrapper *wrapper,
                       const pdr_value *expected)
{
    pdr_value *written = NULL;

    MUST(pdr_session_wrapper_to_value(&written, wrapper, NULL) == PDR_OK);
    must_be_same(expected, written);
    pdr_value_free(written);
}

/* Read every type, and any name as any type. */
static void look(pdr_properties *properties, const pdr_type_set *types)
{
    pdr_value *members = pdr_properties_to_value(properties);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;

    pdr_iter_init(&it, members);
    while (pdr_iter_next(&it)) {
        const pdr_state_type *type = types->types[it.index % types->count];
        pdr_object *object = NULL;
        pdr_str name = {NULL, 0};
        bool found = false;
        pdr_rc rc = pdr_properties_get_typed(&object, properties, type, NULL);

        MUST((object != NULL) == (rc == PDR_OK));
        MUST(object == NULL || pdr_properties_has_typed(properties, type));
        pdr_object_free(object);
        object = NULL;
        if (pdr_value_text(&name, it.name, &scratch, NULL) == PDR_OK &&
            pdr_properties_try_get(&object, &found, properties, name, type,
                                   NULL) == PDR_OK)
            MUST(found == (object != NULL));
        pdr_object_free(object);
    }
    pdr_buf_dispose(&scratch);
    pdr_value_free(members);
}

/* A property that comes and goes. */
static void change(pdr_session_wrapper *wrapper, const pdr_value *value)
{
    static const char name[] = "a name that nobody else has taken";
    pdr_properties *properties = wrapper->properties;
    pdr_value *session = NULL, *after = NULL, *null = pdr_value_new_null();

    if (pdr_properties_has(properties, pdr_str_c(name)) ||
        pdr_properties_count(properties) == 1000)
        return;
    MUST(pdr_session_to_value(&session, wrapper->session, NULL) == PDR_OK);
    MUST(pdr_properties_add(properties, pdr_str_c(name), null, NULL) == PDR_OK);
    MUST(pdr_session_to_value(&after, wrapper->session, NULL) == PDR_OK);
    must_be_same(session, after);
    MUST(pdr_properties_remove(properties, pdr_str_c(name), NULL) == PDR_OK);
    pdr_value_free(after);
    MUST(pdr_session_wrapper_to_value(&after, wrapper, NULL) == PDR_OK);
    MUST(pdr_value_equal(value, after));
    pdr_value_free(after);
    pdr_value_free(session);
    pdr_value_free(null);
}

static pdr_rc count_finding(const pdr_doc_finding *finding, pdr_err *err,
                            void *arg)
{
    (void)err;
    MUST(strcmp("meta-decode", finding->rule) == 0 && finding->text.len > 0);
    ++*(size_t *)arg;
    return PDR_OK;
}

/* What was refused says why. */
static void must_say_why(pdr_rc rc, const pdr_err *err)
{
    MUST(rc == PDR_EINVALID || rc == PDR_ELIMIT || rc == PDR_EVERSION);
    MUST(err->code == rc && err->reason[0] != '\0' && err->message[0] != '\0');
}

static void try_list(const pdr_value *value, const pdr_type_set *types)
{
    pdr_session_wrapper *wrappers = NULL;
    pdr_value *written = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t count = 0, told = 0;
    pdr_rc rc = pdr_session_wrappers_from_value(&wrappers, &count, value, types,
                                                &err, count_finding, &told);

    if (rc != PDR_OK) {
        must_say_why(rc, &err);
        return;
    }
    MUST(pdr_session_wrappers_to_value(&written, wrappers, count, NULL) ==
         PDR_OK);
    MUST(pdr_value_equal(value, written));
    pdr_value_free(written);
    pdr_session_wrappers_free(wrappers, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pdr_state_type *const all[] = {pdr_type_int64(), pdr_type_double(),
                                         pdr_type_bool(), pdr_type_string()};
    const pdr_type_set types = {all, 4};
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_str text = {(const char *)data, size};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t told = 0;
    pdr_rc rc = PDR_OK;

    if (pdr_json_read(&value, text, NULL, NULL) != PDR_OK)
        return 0;
    if (pdr_value_kind(value) == PDR_ARRAY)
        try_list(value, &types);
    rc = pdr_session_wrapper_from_value(&wrapper, value, &types, &err,
                                        count_finding, &told);
    if (rc == PDR_OK) {
        must_write(&wrapper, value);
        if (wrapper.properties != NULL) {
            look(wrapper.properties, &types);
            must_write(&wrapper, value);
            change(&wrapper, value);
        }
    } else {
        must_say_why(rc, &err);
        MUST(wrapper.session == NULL && wrapper.properties == NULL);
    }
    pdr_session_wrapper_dispose(&wrapper);
    pdr_value_free(value);
    return 0;
}
