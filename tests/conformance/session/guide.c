/*
 * guide.c - the code in docs/guide/sessions.md, compiled and run.
 *
 * Each block of C there is a part of this file, as it stands here.
 */
#include <dirent.h>
#include <unistd.h>

#include "test.h"

#define PAGE   "../../docs/guide/sessions.md"
#define SOURCE "../conformance/session/guide.c"

/* --- save and restore ---------------------------------------------------- */

static pdr_rc save(pdr_buf *out, pdr_session *session, const pdr_codec *codec,
                   pdr_err *err)
{
    pdr_value *document = NULL;
    pdr_rc rc = pdr_session_to_value(&document, session, err);

    if (rc == PDR_OK)
        rc = pdr_codec_write(out, codec, document, NULL, err);
    pdr_value_free(document);
    return rc;
}

static pdr_rc restore(pdr_session **out, pdr_str bytes, const pdr_codec *codec,
                      pdr_err *err)
{
    pdr_value *document = NULL;
    pdr_rc rc = pdr_codec_read(&document, codec, bytes, NULL, err);

    if (rc == PDR_OK)
        rc = pdr_session_from_value(out, document, err);
    pdr_value_free(document);
    return rc;
}

static const char *const kept =
    "{\"conversationId\":\"c\",\"note\":1.0,\"stateBag\":{\"prefs\":{\"theme\":"
    "\"dusk\",\"size\":12},\"seen\":null}}";

static pdr_session *session_of(const char *json)
{
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK,
              restore(&session, pdr_str_c(json), pdr_json_codec(), NULL));
    return session;
}

static void assert_document(const char *expected, pdr_session *session)
{
    pdr_buf bytes = PDR_BUF_INIT(1u << 16);

    ASSERT_RC(PDR_OK, save(&bytes, session, pdr_json_codec(), NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&bytes));
    pdr_buf_dispose(&bytes);
}

TEST(guide, saves_and_restores)
{
    const pdr_codec *const codecs[] = {pdr_json_codec(), pdr_msgpack_codec(),
                                       pdr_xml_codec()};
    pdr_session *session = session_of(kept);

    for (size_t i = 0; i < 3; i++) {
        pdr_buf bytes = PDR_BUF_INIT(1u << 16);
        pdr_session *back = NULL;

        ASSERT_RC(PDR_OK, save(&bytes, session, codecs[i], NULL));
        ASSERT_RC(PDR_OK, restore(&back, pdr_buf_str(&bytes), codecs[i], NULL));
        assert_document(kept, back);
        pdr_session_free(back);
        pdr_buf_dispose(&bytes);
    }
    pdr_session_free(session);
}

/* --- lists --------------------------------------------------------------- */

static pdr_rc count_slots(size_t *out, pdr_read_fn fn, void *arg, pdr_err *err)
{
    const pdr_read_opts lines = {.flags = PDR_SEQUENCE};
    pdr_session_reader *reader = NULL;
    bool end = false;
    pdr_rc rc = pdr_session_reader_new(&reader, pdr_json_codec(), &lines, false,
                                       err, fn, arg);

    while (rc == PDR_OK && !end) {
        pdr_session *session = NULL;

        rc = pdr_session_reader_next(&session, NULL, &end, reader, err);
        if (session != NULL)
            *out += pdr_bag_count(pdr_session_bag(session));
        pdr_session_free(session);
    }
    pdr_session_reader_free(reader);
    return rc;
}

TEST(guide, reads_a_stream)
{
    pdr_str lines = pdr_str_c("{\"stateBag\":{\"a\":1}}\n"
                              "{\"session_id\":\"s\",\"state\":{\"b\":1,"
                              "\"c\":null}}\n");
    size_t slots = 0;

    ASSERT_RC(PDR_OK, count_slots(&slots, pdr_read_str, &lines, NULL));
    ASSERT_SIZE(3, slots);
}

/* --- the bag ------------------------------------------------------------- */

static pdr_rc remember(pdr_session *session, const char *json, pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(json), NULL, err);

    if (rc == PDR_OK)
        rc = pdr_bag_set(pdr_session_bag(session), pdr_str_c("seen"), value,
                         err);
    pdr_value_free(value);
    return rc;
}

TEST(guide, sets_a_raw_value)
{
    pdr_session *session = session_of(kept);

    ASSERT_RC(PDR_OK, remember(session, "[ 1.50 ]", NULL));
    assert_document("{\"conversationId\":\"c\",\"note\":1.0,\"stateBag\":{"
                    "\"prefs\":{\"theme\":\"dusk\",\"size\":12},\"seen\":"
                    "[1.50]}}",
                    session);
    pdr_session_free(session);
}

struct prefs {
    int64_t size;
};

static pdr_rc prefs_decode(void **out, const pdr_value *value, pdr_err *err,
                           void *arg)
{
    const pdr_value *size = pdr_value_get_c(value, "size");
    struct prefs *prefs = malloc(sizeof(*prefs));
    pdr_rc rc = PDR_ENOMEM;

    (void)arg;
    if (prefs != NULL && size == NULL)
        rc = pdr_err_set(err, PDR_EINVALID, "no_size", "there is no size");
    else if (prefs != NULL)
        rc = pdr_value_int64(&prefs->size, size, err);
    if (rc == PDR_OK)
        *out = prefs;
    else
        free(prefs);
    return rc;
}

static pdr_rc prefs_encode(pdr_value **out, const void *object, pdr_err *err,
                           void *arg)
{
    const struct prefs *prefs = object;
    pdr_builder *builder = NULL;
    pdr_rc rc = pdr_builder_new(&builder, err);

    (void)arg;
    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(builder);
    pdr_builder_name(builder, pdr_str_c("size"));
    pdr_builder_int64(builder, prefs->size);
    pdr_builder_end(builder);
    rc = pdr_builder_finish(out, builder, err);
    pdr_builder_free(builder);
    return rc;
}

static pdr_rc prefs_copy(void **out, const void *object, pdr_err *err,
                         void *arg)
{
    struct prefs *copy = malloc(sizeof(*copy));

    (void)err;
    (void)arg;
    if (copy != NULL)
        *copy = *(const struct prefs *)object;
    *out = copy;
    return copy != NULL ? PDR_OK : PDR_ENOMEM;
}

static void prefs_free(void *object, void *arg)
{
    (void)arg;
    free(object);
}

static const pdr_state_type prefs_type = {
    .name = "guide.Prefs",
    .decode = prefs_decode,
    .encode = prefs_encode,
    .copy = prefs_copy,
    .free = prefs_free,
};

static pdr_rc enlarge(void **io, pdr_err *err, void *arg)
{
    struct prefs *prefs = *io; /* a copy that is ours; NULL: no such slot */

    (void)arg;
    if (prefs == NULL)
        return pdr_err_set(err, PDR_ENOTFOUND, "no_prefs", "no preferences");
    prefs->size += 2;
    return PDR_OK;
}

TEST(guide, changes_a_typed_value)
{
    pdr_session *session = session_of(kept);
    pdr_bag *bag = pdr_session_bag(session);
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_rc rc = pdr_bag_update_typed(bag, pdr_str_c("prefs"), &prefs_type, &err,
                                     enlarge, NULL);

    ASSERT_RC(PDR_OK, rc);
    assert_document("{\"conversationId\":\"c\",\"note\":1.0,\"stateBag\":{"
                    "\"prefs\":{\"theme\":\"dusk\",\"size\":14},\"seen\":null}"
                    "}",
                    session);
    ASSERT_RC(PDR_OK, pdr_bag_get_typed(&object, bag, pdr_str_c("prefs"),
                                        &prefs_type, NULL));
    pdr_session_free(session);
    ASSERT_INT(14, ((const struct prefs *)pdr_object_get(object))->size);
    pdr_object_free(object);
}

/* --- metadata ------------------------------------------------------------ */

static pdr_rc say_tenant(pdr_session_wrapper *wrapper, const char *tenant,
                         pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_value_new_string(&value, pdr_str_c(tenant), err);

    if (rc == PDR_OK && wrapper->properties == NULL)
        rc = pdr_properties_new(&wrapper->properties, err);
    if (rc == PDR_OK)
        rc = pdr_properties_set(wrapper->properties, pdr_str_c("tenant"), value,
                                err);
    pdr_value_free(value);
    return rc;
}

TEST(guide, says_something_about_a_session)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_buf bytes = PDR_BUF_INIT(1u << 16);
    pdr_value *document = NULL;

    wrapper.session = session_of("{\"stateBag\":{}}");
    ASSERT_RC(PDR_OK, say_tenant(&wrapper, "north", NULL));
    ASSERT_RC(PDR_OK, pdr_session_wrapper_to_value(&document, &wrapper, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&bytes, document, NULL, NULL));
    ASSERT_TEXT("{\"session\":{\"stateBag\":{}},\"additionalProperties\":"
                "{\"tenant\":\"north\"}}",
                pdr_buf_str(&bytes));
    assert_document("{\"stateBag\":{}}", wrapper.session);
    pdr_buf_dispose(&bytes);
    pdr_value_free(document);
    pdr_session_wrapper_dispose(&wrapper);
}

/* --- from shape to shape ------------------------------------------------- */

static pdr_rc print_finding(const pdr_doc_finding *finding, pdr_err *err,
                            void *arg)
{
    (void)err;
    fprintf(arg, "%s: %.*s: %.*s\n", finding->rule, (int)finding->pointer.len,
            finding->pointer.ptr, (int)finding->text.len, finding->text.ptr);
    return PDR_OK;
}

static pdr_rc to_python(pdr_session **out, pdr_session *session, FILE *report,
                        pdr_err *err)
{
    const pdr_session_convert_opts opts = {.to = PDR_SESSION_PYTHON};

    return pdr_session_convert(out, session, &opts, err, print_finding, report);
}

TEST(guide, converts_there_and_back)
{
    const pdr_session_convert_opts back = {.to = PDR_SESSION_DOTNET};
    pdr_session *session = session_of(kept), *python = NULL, *again = NULL;
    FILE *report = tmpfile();

    ASSERT(report != NULL);
    ASSERT_RC(PDR_OK, to_python(&python, session, report, NULL));
    ASSERT(ftell(report) > 0); /* it got an id */
    (void)fclose(report);
    ASSERT_INT(PDR_SESSION_PYTHON, pdr_session_get_shape(python));
    ASSERT_RC(PDR_OK,
              pdr_session_convert(&again, python, &back, NULL, NULL, NULL));
    assert_document(kept, again);
    pdr_session_free(again);
    pdr_session_free(python);
    pdr_session_free(session);
}

/* --- a folder ------------------------------------------------------------ */

static pdr_rc change_in_folder(pdr_folder *folder, pdr_str key, pdr_err *err)
{
    pdr_rc rc = PDR_ECONFLICT;

    while (rc == PDR_ECONFLICT) { /* somebody was faster: once more */
        pdr_session *session = NULL;
        pdr_generation read;

        rc = pdr_folder_get(&session, &read, folder, key, err, NULL, NULL);
        if (rc == PDR_OK)
            rc = remember(session, "true", err);
        if (rc == PDR_OK)
            rc = pdr_folder_set(NULL, folder, key, &read, session, err, NULL,
                                NULL);
        pdr_session_free(session);
    }
    return rc;
}

/* Remove a folder of files. */
static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry = NULL;

    ASSERT(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        char name[4096];

        (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        (void)unlink(name);
    }
    (void)closedir(dir);
    ASSERT_INT(0, rmdir(path));
}

TEST(guide, changes_a_session_in_a_folder)
{
    char path[] = "/tmp/perdure-guide-XXXXXX";
    pdr_str key = pdr_str_c("desk-1");
    pdr_session *session =
        session_of("{\"type\":\"session\",\"session_id\":\"desk-1\","
                   "\"service_session_id\":null,\"state\":{}}");
    pdr_folder *folder = NULL;

    ASSERT(mkdtemp(path) != NULL);
    ASSERT_RC(PDR_OK,
              pdr_folder_open(&folder, path, PDR_FOLDER_JSON, false, NULL));
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, key, NULL, session, NULL,
                                     NULL, NULL));
    ASSERT_RC(PDR_OK, change_in_folder(folder, key, NULL));
    pdr_session_free(session);
    ASSERT_RC(PDR_OK,
              pdr_folder_get(&session, NULL, folder, key, NULL, NULL, NULL));
    ASSERT(pdr_bag_has(pdr_session_bag(session), pdr_str_c("seen")));
    pdr_session_free(session);
    pdr_folder_close(folder);
    remove_folder(path);
}

/* --- the page ------------------------------------------------------------ */

TEST(guide, shows_code_that_runs)
{
    size_t page_len = 0, source_len = 0, count = 0;
    char *page = test_read_data(PAGE, &page_len);
    char *source = test_read_data(SOURCE, &source_len);
    char *rest = page;

    for (char *at = NULL; (at = strstr(rest, "\n```c\n")) != NULL; count++) {
        char *text = at + 6, *end = strstr(text, "\n```");

        assert_non_null(end);
        *end = '\0';
        if (strstr(source, text) == NULL)
            fail_msg("not in guide.c:\n%s", text);
        rest = end + 1;
    }
    ASSERT_SIZE(10, count);
    free(source);
    free(page);
}
