/* What stands behind the scheme of a store's URI. */
#include "test.h"

#include "store.h"

static void refuses(const char *text, const char *part_of_message)
{
    struct pdr__uri uri = {NULL, NULL};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr__uri_read(&uri, text, &err));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT(strstr(err.message, part_of_message) != NULL);
    ASSERT(uri.path == NULL && uri.rest == NULL);
}

/* Take `name`; NULL is expected where there is none. */
static void takes(struct pdr__uri *uri, const char *name, const char *wanted)
{
    char *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__uri_take(&value, uri, name, &err));
    if (wanted == NULL)
        ASSERT(value == NULL);
    else
        ASSERT_STR(wanted, value);
    pdr__free(value);
}

TEST(uri_read, gives_the_path_decoded)
{
    const char *const cases[][2] = {
        {"a.db", "a.db"},
        {"/x/y z.db", "/x/y z.db"},
        {"%41%2f%3F%25.db", "A/?%.db"},
        {"a%c3%A9", "a\xC3\xA9"},
        {"a.db?mode=ro", "a.db"},
        {"./a:b#c&d=e", "./a:b#c&d=e"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct pdr__uri uri = {NULL, NULL};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr__uri_read(&uri, cases[i][0], &err));
        ASSERT_STR(cases[i][1], uri.path);
        pdr__uri_dispose(&uri);
        ASSERT(uri.path == NULL && uri.rest == NULL);
    }
}

TEST(uri_read, refuses_what_names_no_file)
{
    refuses("", "names no file");
    refuses("?mode=ro", "names no file");
}

TEST(uri_read, refuses_escapes_that_are_none)
{
    refuses("a%", "two hex digits");
    refuses("a%4", "two hex digits");
    refuses("a%4g", "two hex digits");
    refuses("a%g4", "two hex digits");
    refuses("a%00b", "not 00");
}

TEST(uri_read, refuses_parameters_that_are_none)
{
    refuses("a?", "no parameter");
    refuses("a?mode", "no parameter");
    refuses("a?=ro", "no parameter");
    refuses("a?mode=ro&", "no parameter");
    refuses("a?mode=ro&&key=k", "no parameter");
}

TEST(uri_take, gives_each_value_once_in_any_order)
{
    const char *const names[] = {"one", "two", "three"};
    const char *const values[] = {"1", "&2=%", ""};

    for (size_t first = 0; first < 3; first++) {
        struct pdr__uri uri = {NULL, NULL};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK,
                  pdr__uri_read(&uri, "f?one=1&two=%262=%25&three=", &err));
        for (size_t k = 0; k < 3; k++) {
            ASSERT_RC(PDR_EINVALID, pdr__uri_end(&uri, &err));
            takes(&uri, names[(first + k) % 3], values[(first + k) % 3]);
            takes(&uri, names[(first + k) % 3], NULL);
        }
        ASSERT_RC(PDR_OK, pdr__uri_end(&uri, &err));
        takes(&uri, "one", NULL);
        pdr__uri_dispose(&uri);
    }
}

TEST(uri_take, does_not_take_part_of_a_name)
{
    struct pdr__uri uri = {NULL, NULL};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__uri_read(&uri, "f?mode=rw", &err));
    takes(&uri, "mod", NULL);
    takes(&uri, "ode", NULL);
    takes(&uri, "model", NULL);
    takes(&uri, "mode", "rw");
    pdr__uri_dispose(&uri);
}

TEST(uri_take, refuses_a_parameter_that_is_there_twice)
{
    struct pdr__uri uri = {NULL, NULL};
    char *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__uri_read(&uri, "f?mode=rw&key=k&mode=ro", &err));
    ASSERT_RC(PDR_EINVALID, pdr__uri_take(&value, &uri, "mode", &err));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT_STR("the URI has two parameters 'mode'", err.message);
    ASSERT(value == NULL);
    pdr__uri_dispose(&uri);
}

TEST(uri_take, refuses_a_value_that_cannot_be_decoded)
{
    struct pdr__uri uri = {NULL, NULL};
    char *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__uri_read(&uri, "f?mode=%zz", &err));
    ASSERT_RC(PDR_EINVALID, pdr__uri_take(&value, &uri, "mode", &err));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT(value == NULL);
    pdr__uri_dispose(&uri);
}

TEST(uri_end, names_a_parameter_that_nobody_took)
{
    struct pdr__uri uri = {NULL, NULL};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__uri_read(&uri, "f?mode=rw&mood=ro", &err));
    takes(&uri, "mode", "rw");
    ASSERT_RC(PDR_EINVALID, pdr__uri_end(&uri, &err));
    ASSERT_STR("the URI has a parameter 'mood', which this store does not know",
               err.message);
    pdr__uri_dispose(&uri);
}

TEST_OOM(uri_read, cleans_up_after_any_failed_allocation)
{
    struct pdr__uri uri = {NULL, NULL};
    char *value = NULL;
    pdr_rc rc = pdr__uri_read(&uri, "f%41?mode=r%6f&key=k", NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc != PDR_OK) {
        ASSERT(uri.path == NULL && uri.rest == NULL);
        return;
    }
    rc = pdr__uri_take(&value, &uri, "mode", NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((value != NULL) == (rc == PDR_OK));
    /* Refused, it is still there. */
    ASSERT_STR(rc == PDR_OK ? "key=k" : "mode=r%6f&key=k", uri.rest);
    pdr__free(value);
    pdr__uri_dispose(&uri);
}
