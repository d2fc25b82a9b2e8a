/* docs/formats/chats.md tells the truth: its examples are what they are marked
 * as, and are written so. */
#include "chat_trip.h"

#define PAGE "../../docs/formats/chats.md"

static void check_read(pdr_chat_form form, const pdr_chat_key *key,
                       pdr_str text)
{
    pdr_chat_open_opts reading = {.keys = &chat_key, .key_count = key != NULL};
    pdr_chat_save_opts writing = {.form = form};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *s = NULL;

    if (key != NULL)
        writing.key = *key;
    ASSERT_RC(PDR_OK, chat_open(&s, text, &reading, NULL));
    ASSERT_INT(form, pdr_chat_state_form(s));
    ASSERT_RC(PDR_OK, chat_write(&out, s, &writing, NULL));
    ASSERT_BYTES(text, pdr_buf_str(&out));
    pdr_buf_dispose(&out);
    pdr_chat_state_free(s);
}

/* `expected` is the reason, and a space and the path if there is one. */
static void check_refused(const char *expected, pdr_str text)
{
    pdr_chat_state *s = NULL;
    pdr_err err = PDR_ERR_INIT;
    char found[256];

    ASSERT(chat_open(&s, text, NULL, &err) != PDR_OK);
    (void)snprintf(found, sizeof(found), "%s%s%s", err.reason,
                   err.path[0] != '\0' ? " " : "", err.path);
    ASSERT_STR(expected, found);
}

TEST(chats_page, has_examples_that_hold)
{
    static const struct {
        const char *mark;
        pdr_chat_form form;
        const pdr_chat_key *key;
    } marks[] = {{"sk", PDR_CHAT_SK, NULL},
                 {"plain", PDR_CHAT_PLAIN, NULL},
                 {"encoded", PDR_CHAT_ENCODED, NULL},
                 {"native", PDR_CHAT_NATIVE, NULL},
                 {"signed", PDR_CHAT_NATIVE, &chat_key}};
    size_t len = 0, count = 0;
    char *page = test_read_data(PAGE, &len), *rest = page;

    for (char *at = NULL; (at = strstr(rest, "\n```chat ")) != NULL; count++) {
        char *mark = at + 9, *text = strchr(mark, '\n') + 1;
        char *end = strstr(text, "\n```");
        size_t i = 0;

        assert_non_null(end);
        text[-1] = '\0';
        while (i < PDR_COUNT(marks) && strcmp(mark, marks[i].mark) != 0)
            i++;
        if (i < PDR_COUNT(marks)) {
            check_read(marks[i].form, marks[i].key,
                       pdr_str_n(text, (size_t)(end - text)));
        } else {
            ASSERT(strncmp(mark, "refused ", 8) == 0);
            check_refused(mark + 8, pdr_str_n(text, (size_t)(end - text)));
        }
        rest = end + 1;
    }
    ASSERT_SIZE(9, count);
    free(page);
}
