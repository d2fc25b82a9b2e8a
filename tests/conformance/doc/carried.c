/*
 * carried.c - messages that are carried over from sessions of other editions
 * have no member that the strict schema does not name.
 */
#include "corpus.h"
#include "test.h"

#include "base.h"

static size_t carried;
static pdr_shape shape;

static pdr_rc complain(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)err;
    corpus_complain(arg, finding->rule, "%.*s: %.*s", (int)finding->pointer.len,
                    finding->pointer.ptr, (int)finding->text.len,
                    finding->text.ptr);
    return PDR_OK;
}

/* A document with this one message. */
static void check_message(const char *path, const pdr_value *message)
{
    pdr_value *state = NULL, *entry = NULL, *converted = NULL;
    pdr_value *list = pdr_value_new_array();
    pdr_entry_parts parts = {.kind = PDR_ENTRY_RESPONSE,
                             .correlation_id = PDR_LIT("c"),
                             .created_at = PDR_TICKS_UNIX_EPOCH};

    ASSERT_RC(PDR_OK, pdr_message_convert(&converted, message, shape,
                                          PDR_SHAPE_STATE, NULL));
    ASSERT_RC(PDR_OK, pdr_value_append(&list, converted, NULL));
    parts.messages = list;
    ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
    ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, NULL));
    ASSERT_RC(PDR_OK,
              pdr_state_check_structure(state, PDR_STATE_STRICT, NULL, complain,
                                        (void *)(uintptr_t)path));
    carried++;
    pdr_value_free(state);
    pdr_value_free(entry);
    pdr_value_free(list);
    pdr_value_free(converted);
}

/* Every message below `value`, wherever the edition keeps it. */
static void check_messages(const char *path, const pdr_value *value)
{
    pdr_iter it;

    if (pdr_message_role(value, shape) != NULL &&
        pdr_message_contents(value, shape) != NULL) {
        check_message(path, value);
        return;
    }
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it))
        check_messages(path, it.value);
}

static void check_file(const char *path, pdr_str content)
{
    pdr_value *value = NULL;

    if (strstr(path, "-hollow-") != NULL)
        return; /* null contents and empty roles: they stay what they are */
    if (pdr_json_read(&value, content, NULL, NULL) == PDR_OK)
        check_messages(path, value);
    pdr_value_free(value);
}

static void check_folder(const char *folder, pdr_shape of, size_t least)
{
    carried = 0;
    shape = of;
    corpus_each_file(folder, ".json", check_file);
    corpus_assert_no_complaint();
    if (carried < least)
        fail_msg("%zu messages of %s", carried, folder);
}

TEST(strict_schema, names_what_messages_of_dotnet_bring)
{
    check_folder("dotnet/sessions", PDR_SHAPE_DOTNET, 100);
}

TEST(strict_schema, names_what_messages_of_python_bring)
{
    check_folder("python/sessions", PDR_SHAPE_PYTHON, 80);
}
