/*
 * convert_state.c - the turns that a session becomes, what is lost on the way,
 * and what is refused.
 */
#include "doc_text.h"

#define NOW (PDR_TICKS_UNIX_EPOCH + PDR_TICKS_PER_SECOND)

static pdr_session *open_session(const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    pdr_value_free(value);
    return session;
}

/* --- turns --------------------------------------------------------------- */

/* A session with one message for each word, ROLE:TEXT or ROLE@SECOND:TEXT. */
static pdr_session *session_of(pdr_session_shape shape, const char *words)
{
    const pdr_session_parts parts = {.shape = shape};
    pdr_session *session = NULL;
    char role[20], text[20];
    int second = 0, len = 0;

    ASSERT_RC(PDR_OK, pdr_session_new(&session, &parts, NULL));
    for (; *words != '\0'; words += len) {
        bool timed = sscanf(words, " %19[a-zA-Z]@%d:%19[a-z]%n", role, &second,
                            text, &len) == 3;
        pdr_shape messages = pdr_session_message_shape(session);
        pdr_value *value = NULL, *contents = pdr_value_new_array();
        pdr_value *message = NULL;
        pdr_datetime at = pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH +
                                           second * PDR_TICKS_PER_SECOND);
        pdr_message_parts said = {.contents = NULL};

        ASSERT(timed ||
               sscanf(words, " %19[a-zA-Z]:%19[a-z]%n", role, text, &len) == 2);
        ASSERT_RC(PDR_OK, pdr_content_new_text(&value, messages,
                                               pdr_str_c(text), NULL));
        ASSERT_RC(PDR_OK, pdr_value_append(&contents, value, NULL));
        said.role = pdr_str_c(role);
        said.contents = contents;
        said.created_at = timed ? &at : NULL;
        ASSERT_RC(PDR_OK, pdr_message_new(&message, messages, &said, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_session_add_messages(
                      session, (const pdr_value *const[]){message}, 1, NULL));
        pdr_value_free(message);
        pdr_value_free(contents);
        pdr_value_free(value);
    }
    return session;
}

/* "1 request 7s ROLE:TEXT" for each entry: the first is the number of its
 * correlation id, so 1 1 2 2 are two turns. */
static void put_entries(pdr_buf *out, const pdr_value *state)
{
    const pdr_value *before = NULL;
    size_t turn = 0;
    pdr_iter it, each;

    pdr_iter_init(&it, pdr_state_entries(state));
    while (pdr_iter_next(&it)) {
        const pdr_value *id = pdr_entry_correlation_id(it.value);
        bool asks = pdr_entry_kind_of(it.value) == PDR_ENTRY_REQUEST;
        pdr_datetime at = {.ticks = 0};

        ASSERT(id != NULL && pdr_entry_created_at(&at, it.value));
        turn += before == NULL || !pdr_value_equal(before, id);
        before = id;
        at.ticks = (at.ticks - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_SECOND;
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(out, NULL, "%zu %s %ds", turn,
                                 asks ? "request" : "response", (int)at.ticks));
        pdr_iter_init(&each, pdr_entry_messages(it.value));
        while (pdr_iter_next(&each)) {
            pdr_str role = {NULL, 0};

            ASSERT_RC(PDR_OK,
                      pdr_value_text(
                          &role, pdr_message_role(each.value, PDR_SHAPE_STATE),
                          NULL, NULL));
            ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, " %.*s:", (int)role.len,
                                             role.ptr));
            ASSERT_RC(PDR_OK,
                      pdr_message_text(out, each.value, PDR_SHAPE_STATE, NULL));
        }
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("\n"), NULL));
    }
}

/* Is it as we make documents, and does it make sense? */
static void assert_sound(const pdr_value *state)
{
    pdr_buf found = PDR_BUF_INIT(1 << 20);

    ASSERT_RC(PDR_OK, pdr_state_check_structure(state, PDR_STATE_STRICT, NULL,
                                                note_finding, &found));
    ASSERT_RC(PDR_OK,
              pdr_state_check_meaning(state, NULL, note_finding, &found));
    ASSERT_TEXT("", pdr_buf_str(&found));
    pdr_buf_dispose(&found);
}

TEST(session_to_state, makes_turns_of_messages)
{
    static const struct {
        const char *messages, *entries;
    } rows[] = {
        {"system:s user:u assistant:a tool:t assistant:b User:v assistant:c",
         "1 request 1s system:s user:u\n"
         "1 response 1s assistant:a tool:t assistant:b\n"
         "2 request 1s User:v\n"
         "2 response 1s assistant:c\n"},
        /* Nobody answered: it is no run that is still open. */
        {"user:u assistant:a user:v system:s",
         "1 request 1s user:u\n1 response 1s assistant:a\n"
         "2 request 1s user:v system:s\n2 response 1s\n"},
        /* The agent begins. */
        {"assistant:a developer:d tool:t",
         "1 request 1s\n1 response 1s assistant:a\n"
         "2 request 1s developer:d\n2 response 1s tool:t\n"},
        /* The first time of an entry; that of the other half; that of now. */
        {"user:u user@5:v user@6:w assistant@7:a",
         "1 request 5s user:u user:v user:w\n1 response 7s assistant:a\n"},
        {"user:u assistant@7:a user@9:v assistant:b",
         "1 request 7s user:u\n1 response 7s assistant:a\n"
         "2 request 9s user:v\n2 response 9s assistant:b\n"},
    };
    const pdr_session_shape shapes[] = {PDR_SESSION_NATIVE, PDR_SESSION_DOTNET,
                                        PDR_SESSION_PYTHON};

    for (size_t i = 0; i < 3 * sizeof(rows) / sizeof(rows[0]); i++) {
        const char *messages = rows[i / 3].messages;
        pdr_buf told = PDR_BUF_INIT(1 << 20), made = PDR_BUF_INIT(1 << 20);
        pdr_session *session = NULL;
        pdr_value *state = NULL;

        if (shapes[i % 3] == PDR_SESSION_PYTHON && strchr(messages, '@'))
            continue; /* its messages have no time */
        session = session_of(shapes[i % 3], messages);
        ASSERT_RC(PDR_OK, pdr_session_to_state(&state, session, NOW, NULL,
                                               note_finding, &told));
        put_entries(&made, state);
        ASSERT_TEXT(rows[i / 3].entries, pdr_buf_str(&made));
        ASSERT_TEXT("", pdr_buf_str(&told));
        assert_sound(state);
        pdr_value_free(state);
        pdr_session_free(session);
        pdr_buf_dispose(&made);
        pdr_buf_dispose(&told);
    }
}

/* --- what is lost -------------------------------------------------------- */

#define HISTORY \
    "'InMemoryChatHistoryProvider':{'messages':[{'role':'user','contents':[]}]"

TEST(session_to_state, reports_all_that_has_no_place)
{
    static const struct {
        const char *session, *findings;
    } rows[] = {
        {"{'perdure':{'version':'1.0.0','kind':'client','id':'i'},"
         "'conversationId':'_agent_local_chat_history','none':null,'bare':'',"
         "'stateBag':{" HISTORY "},'empty':{},'list':[]}}",
         ""},
        {"{'perdure':{'version':'1.0.0','serviceId':{'a':1}},'x':0,"
         "'conversationId':'c','stateBag':{'a/b':false," HISTORY
         ",'more':{'n':1}}}}",
         "warning not-carried /x\n"
         "warning not-carried /conversationId\n"
         "warning not-carried /perdure/serviceId\n"
         "warning not-carried /stateBag/a~1b\n"
         "warning not-carried /stateBag/InMemoryChatHistoryProvider/more\n"},
        {"{'type':'session','session_id':'s','service_session_id':'c','state':{"
         "'in_memory':{'messages':[{'role':'user','contents':[]}]},'todo':[1]},"
         "'version':'1.0'}",
         "warning not-carried /service_session_id\n"
         "warning not-carried /state/todo\n"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pdr_buf told = PDR_BUF_INIT(1 << 20);
        pdr_session *session = open_session(rows[i].session);
        pdr_value *state = NULL;

        ASSERT_RC(PDR_OK, pdr_session_to_state(&state, session, NOW, NULL,
                                               note_finding, &told));
        ASSERT_TEXT(rows[i].findings, pdr_buf_str(&told));
        pdr_value_free(state);
        pdr_session_free(session);
        pdr_buf_dispose(&told);
    }
}

/* --- what is refused ----------------------------------------------------- */

static pdr_rc stop(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding, (void)arg;
    return pdr_err_set(err, PDR_ECANCELLED, "stopped", "enough");
}

#define SLOT          "/stateBag/InMemoryChatHistoryProvider"
#define WITH(history) "{'stateBag':{'InMemoryChatHistoryProvider':" history "}}"
#define THEN(message) \
    WITH("{'messages':[{'role':'user','contents':[]}," message "]}")

TEST(session_to_state, refuses_what_has_no_turns)
{
    static const struct {
        const char *session, *reason, *path;
    } rows[] = {
        {"{'stateBag':{}}", "history_shape", ""},
        {WITH("{'messages':[]}"), "history_shape", ""},
        {WITH("{'messages':null}"), "history_shape", ""},
        {WITH("5"), "history_shape", SLOT},
        {WITH("{'messages':{}}"), "history_shape", SLOT "/messages"},
        {THEN("7"), "wrong_kind", SLOT "/messages/1"},
        {THEN("{'contents':[]}"), "no_such_kind", SLOT "/messages/1"},
        {THEN("{'role':'critic'}"), "no_such_kind", SLOT "/messages/1"},
        {THEN("{'role':5}"), "no_such_kind", SLOT "/messages/1"},
        {"{'session_id':'s','state':{'in_memory':{'messages':[null]}}}",
         "wrong_kind", "/state/in_memory/messages/0"},
        {"{'sessionId':'@dafx-a@k','stateBag':{}}", "session_kind", ""},
        {"{'storeState':{'messages':[{'role':'user'}]}}", "bag_sealed", ""},
        {"{'x':1,'conversationId':null," HISTORY "},'stateBag':{" HISTORY "}}}",
         "stopped", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pdr_session *session = open_session(rows[i].session);
        pdr_value *state = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT(pdr_session_to_state(&state, session, NOW, &err, stop, NULL) !=
               PDR_OK);
        ASSERT(state == NULL);
        ASSERT_STR(rows[i].reason, err.reason);
        ASSERT_STR(rows[i].path, err.path);
        pdr_session_free(session);
    }
}

TEST(session_to_state, refuses_a_time_that_is_none)
{
    pdr_session *session = session_of(PDR_SESSION_DOTNET, "user:u");
    pdr_value *state = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_session_to_state(&state, session, -1, &err, NULL, NULL));
    ASSERT_STR("datetime_range", err.reason);
    pdr_session_free(session);
}

TEST_OOM(session_to_state, cleans_up_after_any_failed_allocation)
{
    pdr_value *document =
        doc_value("{'x':1,'stateBag':{'InMemoryChatHistoryProvider':{'messages'"
                  ":[{'role':'user','contents':[{'$type':'text','text':'a'}]},"
                  "{'role':'tool','contents':[]},{'role':'user','contents':[]}]"
                  "}}}");
    pdr_buf told = PDR_BUF_INIT(1 << 20);
    pdr_session *session = NULL;
    pdr_value *state = NULL;
    pdr_rc rc = pdr_session_from_value(&session, document, NULL);

    if (rc == PDR_OK)
        rc = pdr_session_to_state(&state, session, NOW, NULL, note_finding,
                                  &told);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((state != NULL) == (rc == PDR_OK));
    pdr_value_free(state);
    pdr_session_free(session);
    pdr_value_free(document);
    pdr_buf_dispose(&told);
}
