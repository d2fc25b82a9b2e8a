/*
 * attributions.c - marks that the editions wrote, and marks of several
 * sessions.
 */
#include "corpus.h"
#include "doc_text.h"

/* Message `index` of the history in a document that an edition wrote. */
static const pdr_value *message_of(pdr_value **document, const char *path,
                                   const char *history, size_t index)
{
    size_t len = 0;
    char *text = test_read_data(path, &len);
    const pdr_value *messages = NULL;

    ASSERT_RC(PDR_OK,
              pdr_json_read(document, pdr_str_n(text, len), NULL, NULL));
    free(text);
    ASSERT_RC(PDR_OK,
              pdr_pointer_get(&messages, *document, pdr_str_c(history), NULL));
    return pdr_value_at(messages, index);
}

/* Who supplied it; NULL: it does not say. */
static void assert_source(const char *type, const char *id, const char *path,
                          const char *history, size_t index, pdr_shape shape)
{
    pdr_value *document = NULL;
    const pdr_value *message = message_of(&document, path, history, index);
    pdr_attribution mark;

    ASSERT(message != NULL);
    ASSERT_INT(id != NULL, pdr_message_attribution(&mark, message, shape));
    if (id != NULL) {
        ASSERT(pdr_value_text_is(mark.source_type, pdr_str_c(type)));
        ASSERT(pdr_value_text_is(mark.source_id, pdr_str_c(id)));
    }
    pdr_value_free(document);
}

#define DOTNET_HISTORY "/stateBag/InMemoryChatHistoryProvider/messages"
#define DOTNET_OWN     "Microsoft.Agents.AI.InMemoryChatHistoryProvider"

TEST(attribution, is_recognised_as_dotnet_wrote_it)
{
    const char *once = "dotnet/sessions/session-context-provider.json";
    const char *twice = "dotnet/sessions/session-stamped-history.json";

    COVERS("S-50");
    assert_source(NULL, NULL, once, DOTNET_HISTORY, 0, PDR_SHAPE_DOTNET);
    assert_source("AIContextProvider", "Ctx", once, DOTNET_HISTORY, 1,
                  PDR_SHAPE_DOTNET);
    assert_source(NULL, NULL, once, DOTNET_HISTORY, 2, PDR_SHAPE_DOTNET);
    assert_source("ChatHistory", DOTNET_OWN, twice, DOTNET_HISTORY, 0,
                  PDR_SHAPE_DOTNET);
    assert_source("ChatHistory", DOTNET_OWN, twice, DOTNET_HISTORY, 1,
                  PDR_SHAPE_DOTNET);
    assert_source("AIContextProvider", "Ctx", twice, DOTNET_HISTORY, 4,
                  PDR_SHAPE_DOTNET);
}

TEST(attribution, is_recognised_as_python_wrote_it)
{
    const char *path = "python/sessions/session-context-provider.json";
    pdr_value *document = NULL;
    const pdr_value *message = NULL;
    pdr_attribution mark;

    COVERS("S-50");
    assert_source("Tips", "tips", path, "/state/history/messages", 0,
                  PDR_SHAPE_PYTHON);
    assert_source(NULL, NULL, path, "/state/history/messages", 1,
                  PDR_SHAPE_PYTHON);
    message = message_of(&document, path, "/state/history/messages", 0);
    ASSERT(pdr_message_attribution(&mark, message, PDR_SHAPE_PYTHON));
    ASSERT_SIZE(2, pdr_value_count(mark.origins));
    ASSERT(
        pdr_value_text_is(pdr_value_at(mark.origins, 1), pdr_str_c("old-2")));
    pdr_value_free(document);
}

/* What one edition wrote goes into the shape of the other. */
TEST(attribution, is_recognised_after_a_conversion)
{
    pdr_value *document = NULL, *converted = NULL;
    const pdr_value *message =
        message_of(&document, "dotnet/sessions/session-stamped-history.json",
                   DOTNET_HISTORY, 0);
    pdr_attribution mark;

    COVERS("S-50");
    ASSERT_RC(PDR_OK, pdr_message_convert(&converted, message, PDR_SHAPE_DOTNET,
                                          PDR_SHAPE_PYTHON, NULL));
    ASSERT(pdr_message_attribution(&mark, converted, PDR_SHAPE_PYTHON));
    ASSERT(pdr_value_text_is(mark.source_type, pdr_str_c("ChatHistory")));
    ASSERT(pdr_value_text_is(mark.source_id, pdr_str_c(DOTNET_OWN)));
    pdr_value_free(converted);
    pdr_value_free(document);
}

TEST(attribution, joins_the_origins_of_two_contributions)
{
    static const pdr_str first[] = {{"x", 1}, {"y", 1}};
    static const pdr_str second[] = {{"y", 1}, {"z", 1}};
    static const pdr_shape shapes[] = {PDR_SHAPE_STATE, PDR_SHAPE_DOTNET,
                                       PDR_SHAPE_PYTHON, PDR_SHAPE_SK};
    pdr_attribution_parts one = {{NULL, 0}, {"memory", 6}, first, 2};
    pdr_attribution_parts two = {{NULL, 0}, {"memory", 6}, second, 2};

    COVERS("S-51");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        pdr_value *message = doc_value("{'role':'user','contents':[]}");
        pdr_value *once = NULL, *twice = NULL;
        pdr_attribution mark;

        ASSERT_RC(PDR_OK,
                  pdr_message_attribute(&once, message, shapes[i], &one, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_message_attribute(&twice, once, shapes[i], &two, NULL));
        ASSERT(pdr_message_attribution(&mark, twice, shapes[i]));
        ASSERT_SIZE(3, pdr_value_count(mark.origins));
        for (size_t k = 0; k < 3; k++)
            ASSERT(pdr_value_text_is(pdr_value_at(mark.origins, k),
                                     pdr_str_n(&"xyz"[k], 1)));
        pdr_value_free(twice);
        pdr_value_free(once);
        pdr_value_free(message);
    }
}

/* --- all messages of the editions ---------------------------------------- */

static struct {
    pdr_shape shape;
    size_t messages;
} walk;

/* What changed stands inside the properties, or is null in their place. */
static pdr_rc only_properties(const pdr_change *change, pdr_err *err, void *arg)
{
    const char *place = walk.shape == PDR_SHAPE_PYTHON
                            ? "/additional_properties"
                            : "/additionalProperties";

    (void)err;
    if (change->pointer.len < strlen(place) ||
        memcmp(change->pointer.ptr, place, strlen(place)) != 0 ||
        (change->before != NULL && pdr_value_kind(change->before) != PDR_NULL))
        corpus_complain(arg, "mark", "%.*s changed", (int)change->pointer.len,
                        change->pointer.ptr);
    return PDR_OK;
}

static void mark_message(const char *path, const pdr_value *message)
{
    const pdr_attribution_parts parts = {{"Test", 4}, {"test", 4}, NULL, 0};
    pdr_value *once = NULL, *twice = NULL;
    pdr_attribution mark;

    walk.messages++;
    ASSERT_RC(PDR_OK,
              pdr_message_attribute(&once, message, walk.shape, &parts, NULL));
    ASSERT_RC(PDR_OK,
              pdr_message_attribute(&twice, once, walk.shape, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_value_diff(message, once, NULL, only_properties,
                                     (void *)(uintptr_t)path));
    /* Where no mark stands in its place, nobody makes one. */
    if (!pdr_message_attribution(&mark, once, walk.shape) && once != message)
        corpus_complain(path, "mark", "no mark");
    if (twice != once)
        corpus_complain(path, "mark", "the second mark changed something");
    pdr_value_free(twice);
    pdr_value_free(once);
}

static void mark_all(const char *path, const pdr_value *value)
{
    pdr_iter it;

    if (pdr_message_role(value, walk.shape) != NULL)
        mark_message(path, value);
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it))
        mark_all(path, it.value);
}

static void mark_file(const char *path, pdr_str content)
{
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *document = NULL;

    if (pdr_json_read(&document, content, &opts, NULL) == PDR_OK)
        mark_all(path, document);
    pdr_value_free(document);
}

TEST(attribution, marks_every_message_in_its_properties_only)
{
    walk.shape = PDR_SHAPE_DOTNET;
    (void)corpus_each_file("dotnet/sessions", ".json", mark_file);
    ASSERT(walk.messages > 100);
    walk.shape = PDR_SHAPE_PYTHON;
    walk.messages = 0;
    (void)corpus_each_file("python/sessions", ".json", mark_file);
    ASSERT(walk.messages > 80);
    corpus_assert_no_complaint();
}
