/*
 * convert.c - sessions of both editions in the shape of the other, and back.
 *
 * Every session document of tests/data goes to every shape and comes back, and
 * what the report says of it is true.
 */
#include "corpus.h"
#include "doc_text.h"
#include "session_trip.h"

static const struct {
    pdr_session_shape shape;
    const char *name;
} targets[] = {
    {PDR_SESSION_NATIVE, "native"},
    {PDR_SESSION_DOTNET, "dotnet"},
    {PDR_SESSION_PYTHON, "python"},
    {PDR_SESSION_PYTHON_OLD, "python-1.21"},
};
#define TARGETS (sizeof(targets) / sizeof(targets[0]))

/* --- every document ------------------------------------------------------ */

typedef void (*session_fn)(const char *path, const pdr_value *session);

static struct {
    session_fn fn;
    size_t count;
} each;

static void each_session(const char *path, const pdr_value *value)
{
    pdr_looks looks = pdr_session_looks(value);
    pdr_iter it;

    if (looks == PDR_LOOKS_SESSION) {
        each.fn(path, value);
        each.count++;
        return;
    }
    if (looks != PDR_LOOKS_LIST && looks != PDR_LOOKS_MAP)
        return;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_NULL)
            each_session(path, it.value);
    }
}

static void read_file(const char *path, pdr_str content)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, content, &opts, NULL));
    each_session(path, value);
    pdr_value_free(value);
}

static size_t run_over(const char *folder, session_fn fn)
{
    each.fn = fn;
    each.count = 0;
    corpus_each_file(folder, ".json", read_file);
    return each.count;
}

/* What a document is once it was written for its own edition. */
static pdr_value *own_form(const pdr_value *document)
{
    struct session_trip_report report;
    pdr_session *session = NULL;
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, document, NULL));
    out = session_trip_to(&report, pdr_session_convert, document,
                          pdr_session_get_shape(session));
    ASSERT_STR("", report.text);
    pdr_session_free(session);
    return out;
}

static bool is_sentinel(const pdr_value *document)
{
    return pdr_value_text_is(pdr_value_get_c(document, "conversationId"),
                             pdr_str_c("_agent_local_chat_history"));
}

static void trip_everywhere(const char *path, const pdr_value *document)
{
    struct session_trip_report report;
    pdr_value *own = own_form(document);

    /* Only a sentinel may not be written again. */
    if (!is_sentinel(document) && !pdr_value_equal(document, own))
        corpus_complain(path, "own shape", "is not the same document");
    for (size_t i = 0; i < TARGETS; i++) {
        if (!session_trip_check(&report, pdr_session_convert, document,
                                targets[i].shape, own))
            corpus_complain(path, targets[i].name, "%s", report.text);
    }
    pdr_value_free(own);
}

TEST(conversion, brings_every_dotnet_session_back_from_every_shape)
{
    COVERS("S-94");
    size_t count = run_over("dotnet/sessions", trip_everywhere);

    ASSERT(count >= 35);
    corpus_assert_no_complaint();
}

TEST(conversion, brings_every_python_session_back_from_every_shape)
{
    size_t count = run_over("python/sessions", trip_everywhere);

    ASSERT(count >= 40);
    corpus_assert_no_complaint();
}
