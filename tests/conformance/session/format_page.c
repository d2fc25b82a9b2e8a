/*
 * format_page.c - docs/formats/sessions.md tells the truth: its examples are
 * what they are marked as, and its table of kinds is complete.
 */
#include "json_text.h"
#include "session_keep.h"
#include "test.h"

#define PAGE "../../docs/formats/sessions.md"

static pdr_str text_of(const pdr_value *string)
{
    pdr_str text = {NULL, 0};

    if (string != NULL)
        ASSERT_RC(PDR_OK, pdr_value_text(&text, string, NULL, NULL));
    return text;
}

/* A new session with the same ids is the same document. */
static void check_made(pdr_session *s, const pdr_value *value)
{
    pdr_session_parts parts = {0};
    pdr_session *made = NULL;
    pdr_value *id = NULL, *document = NULL;
    pdr_err err = PDR_ERR_INIT;

    parts.shape = pdr_session_get_shape(s);
    parts.kind = pdr_session_get_kind(s);
    parts.id = pdr_session_id(s);
    (void)pdr_session_durable_id(&parts.agent, &parts.key, s);
    ASSERT_RC(PDR_OK, pdr_session_service_id(&id, s, NULL));
    parts.service_id = text_of(id);
    if (pdr_session_new(&made, &parts, &err) != PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_RC(PDR_OK, pdr_session_to_value(&document, made, NULL));
    ASSERT(pdr_value_equal(value, document));
    pdr_value_free(id);
    pdr_value_free(document);
    pdr_session_free(made);
}

static void check_list(const pdr_value *value)
{
    pdr_session_list *list = NULL;
    pdr_value *back = NULL;

    ASSERT_RC(PDR_OK, pdr_session_list_from_value(&list, value, false, NULL,
                                                  NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_list_to_value(&back, list, NULL));
    ASSERT(back == value);
    pdr_value_free(back);
    pdr_session_list_free(list);
}

static void check_session(const char *mark, pdr_str text,
                          const pdr_value *value)
{
    struct roundtrip_report report = {""};
    char shape[40] = "", kind[40] = "", made[40] = "";
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(sscanf(mark, "%39s %39s %39s", shape, kind, made) >= 2);
    if (pdr_session_from_value(&s, value, &err) != PDR_OK)
        fail_msg("%s: %s", mark, err.message);
    ASSERT_STR(shape, pdr_session_shape_name(pdr_session_get_shape(s)));
    ASSERT_STR(kind, pdr_session_kind_name(pdr_session_get_kind(s)));
    if (made[0] != '\0') {
        ASSERT_STR("made", made);
        check_made(s, value);
    }
    pdr_session_free(s);
    if (!session_check_unchanged(&report, &session_ours, text) ||
        !session_check_slots(&report, &session_ours, text))
        fail_msg("%s: %s", mark, report.text);
}

/* One example; `mark` is what stands behind "```session ". */
static void check_example(const char *mark, pdr_str text)
{
    pdr_value *value = NULL;
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, text, NULL, NULL));
    if (strncmp(mark, "refused ", 8) == 0) {
        ASSERT(pdr_session_from_value(&s, value, &err) != PDR_OK);
        ASSERT_STR(mark + 8, err.reason);
    } else if (strcmp(mark, "list") == 0) {
        check_list(value);
    } else {
        check_session(mark, text, value);
    }
    pdr_value_free(value);
}

TEST(sessions_page, has_examples_that_hold)
{
    static const char fence[] = "```session ";
    size_t len = 0, count = 0;
    char *page = test_read_data(PAGE, &len), *at = page;

    while ((at = strstr(at, fence)) != NULL) {
        char mark[100] = "";
        char *text = strchr(at, '\n') + 1;
        char *end = strstr(text, "\n```");

        at += sizeof(fence) - 1;
        ASSERT(end != NULL && (size_t)(text - at) < sizeof(mark));
        memcpy(mark, at, (size_t)(text - at) - 1);
        check_example(mark, pdr_str_n(text, (size_t)(end - text)));
        count++;
        at = end + 4;
    }
    ASSERT(count >= 20);
    free(page);
}

TEST(sessions_page, names_every_shape_and_kind)
{
    size_t len = 0;
    char *page = test_read_data(PAGE, &len);
    char row[40];

    for (int i = PDR_SESSION_NATIVE; i <= PDR_SESSION_PYTHON_THREAD; i++) {
        (void)snprintf(row, sizeof(row), "`%s`",
                       pdr_session_shape_name((pdr_session_shape)i));
        if (strstr(page, row) == NULL)
            fail_msg("no %s", row);
    }
    for (int i = 0; i <= PDR_SESSION_KIND_CHAT; i++) {
        (void)snprintf(row, sizeof(row), "\n| `%s` | ",
                       pdr_session_kind_name((pdr_session_kind)i));
        if (strstr(page, row) == NULL)
            fail_msg("no %s", row);
    }
    free(page);
}
