/*
 * What a model gets of a history: the end of it, within the limits of the
 * agent, and nothing that belongs together torn apart.
 *
 * A history is a text, a letter for each message: 's'ystem, 'u'ser, 'a'ssistant
 * with a text, 'r'easoning, 'c'all, 't'ool with the result of the last call,
 * 'l'ate result of the first one, 'o'rphan: a result that never had a call,
 * 'e'mpty message of an assistant.
 */
#include <perdure.h>
#include <perdure/sys/client.h>

#include "test.h"

#define NOW         INT64_C(1700000000000)
#define MAX_LETTERS 64
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* --- a model that notes which messages it gets ------------------------------
 */

struct spy {
    pdr_client base;
    char seen[512]; /* their numbers in the history; '+' for any other */
};

static void seen_add(char seen[512], const char *what)
{
    size_t len = strlen(seen);

    (void)snprintf(seen + len, 512 - len, "%s%s", len > 0 ? " " : "", what);
}

static pdr_rc spy_send(pdr_client *self, const pdr_client_request *request,
                       pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct spy *spy = (struct spy *)self;
    const pdr_update update = {.role = pdr_str_c("assistant")};

    spy->seen[0] = '\0';
    for (size_t i = 0; i < request->count; i++) {
        const pdr_request_message *m = &request->messages[i];
        const pdr_value *id = pdr_value_get_c(m->value, "messageId");
        pdr_str text = pdr_str_c("+");

        if (m->origin == PDR_ORIGIN_HISTORY)
            ASSERT_RC(PDR_OK, pdr_value_text(&text, id, NULL, err));
        char number[16];
        (void)snprintf(number, sizeof(number), "%.*s", (int)text.len, text.ptr);
        seen_add(spy->seen, number);
    }
    return fn(&update, err, arg);
}

static void spy_free(pdr_client *self)
{
    (void)self;
}

static const pdr_client_ops spy_ops = {PDR_CLIENT_OPS_VERSION, "spy", spy_send,
                                       spy_free};

/* --- histories --------------------------------------------------------------
 */

static pdr_value *message_of(const char *letters, size_t i)
{
    static const struct {
        char letter;
        const char *role, *content;
    } forms[] = {
        {'s', "system", "{\"$type\":\"text\",\"text\":\"%.*s\"}"},
        {'u', "user", "{\"$type\":\"text\",\"text\":\"%.*s\"}"},
        {'a', "assistant", "{\"$type\":\"text\",\"text\":\"%.*s\"}"},
        {'r', "assistant", "{\"$type\":\"reasoning\",\"text\":\"%.*s\"}"},
        {'e', "assistant", "%.*s"}, /* of no bytes */
        {'c', "assistant",
         "{\"$type\":\"functionCall\",\"callId\":\"%d\",\"name\":\"f\"}"},
        {'t', "tool",
         "{\"$type\":\"functionResult\",\"callId\":\"%d\",\"result\":1}"},
        {'l', "tool",
         "{\"$type\":\"functionResult\",\"callId\":\"%d\",\"result\":1}"},
        {'o', "tool",
         "{\"$type\":\"functionResult\",\"callId\":\"%d\",\"result\":1}"},
    };
    static const char filler[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    char content[256] = "", text[512];
    pdr_value *message = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t form = 0;
    int call = 999;

    while (forms[form].letter != letters[i])
        form++;
    if (letters[i] == 'l')
        call = (int)(strchr(letters, 'c') - letters);
    for (size_t k = i + 1; call == 999 && strchr("ct", letters[i]) && k > 0;
         k--)
        call = letters[k - 1] == 'c' ? (int)k - 1 : call;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (strchr("suare", letters[i]) != NULL)
        (void)snprintf(content, sizeof(content), forms[form].content,
                       letters[i] == 'e' ? 0 : (int)(i * 7 % sizeof(filler)),
                       filler);
    else
        (void)snprintf(content, sizeof(content), forms[form].content, call);
#pragma GCC diagnostic pop
    (void)snprintf(text, sizeof(text),
                   "{\"messageId\":\"%d\",\"role\":\"%s\",\"contents\":[%s]}",
                   (int)i, forms[form].role, content);
    ASSERT_RC(PDR_OK, pdr_json_read(&message, pdr_str_c(text), NULL, &err));
    return message;
}

static size_t size_of(const char *letters, size_t i)
{
    pdr_value *message = message_of(letters, i);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    size_t len = 0;

    ASSERT_RC(PDR_OK, pdr_json_write(&text, message, NULL, NULL));
    len = text.len;
    pdr_buf_dispose(&text);
    pdr_value_free(message);
    return len;
}

struct limits {
    size_t messages, bytes, turns;
};

static pdr_agent *agent_new(struct spy *spy, struct limits limits,
                            pdr_history_filter_fn filter)
{
    const pdr_agent_parts parts = {.client = &spy->base,
                                   .window_messages = limits.messages,
                                   .window_bytes = limits.bytes,
                                   .window_turns = limits.turns,
                                   .history_filter = filter};
    pdr_agent *agent = NULL;

    ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, NULL));
    return agent;
}

/* What the model gets of a history in a plain session, or in a store. */
static void send_history(char seen[512], const char *letters,
                         struct limits limits, pdr_history_filter_fn filter,
                         pdr_store *store)
{
    const pdr_stored_opts create = {.create = true};
    const pdr_commit_options now = {.now_ms = NOW};
    const pdr_ref ref = {.id = pdr_str_c(letters)};
    pdr_value *list = pdr_value_new_array();
    pdr_response *response = NULL;
    pdr_run run = {.text = pdr_str_c("hi"), .now_ms = NOW};
    pdr_session *session = NULL;
    struct spy spy = {.seen = ""};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_client_init(&spy.base, &spy_ops, &err));
    pdr_agent *agent = agent_new(&spy, limits, filter);
    for (size_t i = 0; letters[i] != '\0'; i++) {
        pdr_value *message = message_of(letters, i);

        ASSERT_RC(PDR_OK, pdr_value_append(&list, message, &err));
        pdr_value_free(message);
    }
    if (store == NULL) {
        ASSERT_RC(PDR_OK, pdr_session_new(&session, NULL, &err));
        ASSERT_RC(PDR_OK, pdr_session_set_history(session, NULL, list, &err));
        run.session = session;
    } else {
        ASSERT_RC(PDR_OK,
                  pdr_stored_open(&run.stored, store, &ref, &create, &err));
        for (size_t i = 0; i < pdr_value_count(list); i++) {
            const pdr_value *const one[] = {pdr_value_at(list, i)};

            ASSERT_RC(PDR_OK,
                      pdr_stored_add_messages(run.stored, pdr_str_n(NULL, 0),
                                              one, 1, &err));
        }
        ASSERT_RC(PDR_OK, pdr_stored_commit(run.stored, &now, &err));
    }
    if (pdr_agent_run(&response, agent, &run, &err) != PDR_OK)
        fail_msg("%s: %s", letters, err.message);
    memcpy(seen, spy.seen, sizeof(spy.seen));
    if (store == NULL) { /* all of it is still there */
        pdr_value *after = NULL;

        ASSERT_RC(PDR_OK, pdr_session_history(&after, session, &err));
        ASSERT(pdr_value_count(after) > strlen(letters));
        for (size_t i = 0; i < pdr_value_count(list); i++)
            ASSERT(
                pdr_value_equal(pdr_value_at(list, i), pdr_value_at(after, i)));
        pdr_value_free(after);
    }
    pdr_response_free(response);
    pdr_session_free(session);
    pdr_stored_close(run.stored);
    pdr_agent_free(agent);
    pdr_value_free(list);
    pdr_client_free(&spy.base);
}

/* --- cases ------------------------------------------------------------------
 */

TEST(window, keeps_together_what_belongs_together)
{
    static const struct {
        const char *letters;
        struct limits limits;
        const char *seen;
    } cases[] = {
        {"uaua", {0, 0, 0}, "0 1 2 3 +"},
        {"uaua", {2, 0, 0}, "2 3 +"},
        {"uaua", {9, 0, 0}, "0 1 2 3 +"},
        /* A call with its results: whole, or not at all. */
        {"ucttau", {5, 0, 0}, "1 2 3 4 5 +"},
        {"ucttau", {4, 0, 0}, "4 5 +"},
        {"ucttau", {3, 0, 0}, "4 5 +"},
        {"uctctau", {4, 0, 0}, "3 4 5 6 +"},
        {"uctctau", {3, 0, 0}, "5 6 +"},
        /* Thoughts before and after it are of the same group. */
        {"urrctra", {5, 0, 0}, "6 +"},
        {"urrctra", {6, 0, 0}, "1 2 3 4 5 6 +"},
        {"uectea", {5, 0, 0}, "1 2 3 4 5 +"},
        {"uectea", {4, 0, 0}, "5 +"},
        {"ura", {2, 0, 0}, "1 2 +"}, /* no call: each for itself */
        {"ura", {1, 0, 0}, "2 +"},
        /* The last group is sent in any case. */
        {"uctttt", {2, 0, 0}, "1 2 3 4 5 +"},
        {"uaaa", {0, 1, 0}, "3 +"},
        /* System messages stay and are not counted. */
        {"suasua", {2, 0, 0}, "0 3 4 5 +"},
        {"sss", {1, 0, 0}, "0 1 2 +"},
        {"suctau", {1, 0, 0}, "0 5 +"},
        /* Turns. */
        {"uaucta", {0, 0, 1}, "2 3 4 5 +"},
        {"uaucta", {0, 0, 2}, "0 1 2 3 4 5 +"},
        {"aua", {0, 0, 1}, "1 2 +"},
        {"aa", {0, 0, 1}, "0 1 +"},
        {"uucta", {0, 0, 1}, "1 2 3 4 +"},
        {"uaua", {1, 0, 2}, "3 +"}, /* each limit holds */
        /* A result whose call was left out. */
        {"uctauluau", {4, 0, 0}, "6 7 8 +"},
        {"uoau", {3, 0, 0}, "2 3 +"},
    };

    COVERS("S-129");
    COVERS("S-130");
    for (size_t i = 0; i < COUNT(cases); i++) {
        char seen[512];

        send_history(seen, cases[i].letters, cases[i].limits, NULL, NULL);
        if (strcmp(cases[i].seen, seen) != 0)
            fail_msg("%s: expected %s, got %s", cases[i].letters, cases[i].seen,
                     seen);
    }
}

static bool takes_users(const pdr_value *message, pdr_shape shape, void *arg)
{
    (void)arg;
    return pdr_value_text_is(pdr_message_role(message, shape),
                             pdr_str_c("user"));
}

static bool takes_no_tools(const pdr_value *message, pdr_shape shape, void *arg)
{
    (void)arg;
    return !pdr_value_text_is(pdr_message_role(message, shape),
                              pdr_str_c("tool"));
}

TEST(window, has_what_the_filter_takes)
{
    static const struct {
        const char *letters;
        size_t messages;
        pdr_history_filter_fn filter;
        const char *seen;
    } cases[] = {
        {"uaucta", 0, takes_users, "0 2 +"},
        {"uaucta", 5, takes_users, "2 +"}, /* inside of the window */
        {"urctau", 0, takes_no_tools, "0 4 5 +"},
        {"ctct", 0, takes_no_tools, "+"},
    };
    pdr_store *store = NULL;
    char seen[512];

    COVERS("S-41");
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct limits limits = {cases[i].messages, 0, 0};

        send_history(seen, cases[i].letters, limits, cases[i].filter, NULL);
        ASSERT_STR(cases[i].seen, seen);
    }
    send_history(seen, "uaucta", (struct limits){5, 0, 0}, takes_users, store);
    ASSERT_STR("2 +", seen);
    pdr_store_close(store);
}

/* --- any history ------------------------------------------------------------
 */

static uint32_t dice(uint32_t *state, uint32_t sides)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % sides;
}

/* A history in which results follow their calls, or with `wild` any. */
static void random_letters(char out[MAX_LETTERS], uint32_t *state, bool wild)
{
    static const char *const bits[] = {"u",  "a",     "ua", "s",    "ct", "rct",
                                       "cr", "rrctt", "r",  "ctct", "e",  "u"};
    size_t len = 1 + dice(state, 24), at = 0;

    out[0] = '\0';
    while (at < len) {
        const char *bit = bits[dice(state, COUNT(bits))];

        if (wild && dice(state, 8) == 0)
            bit = strchr(out, 'c') != NULL && dice(state, 2) == 0 ? "l" : "o";
        memcpy(out + at, bit, strlen(bit) + 1);
        at += strlen(bit);
    }
}

/* Which group each message is in, as the rule says it: a call takes the
 * thoughts just before it that are nobody's, and thoughts and results after. */
static void oracle_groups(int group[MAX_LETTERS], const char *letters)
{
    const size_t count = strlen(letters);

    for (size_t i = 0; i < count; i++)
        group[i] = -1;
    for (size_t i = 0; i < count; i++) {
        if (letters[i] != 'c')
            continue;
        for (size_t k = i;
             k > 0 && strchr("re", letters[k - 1]) != NULL && group[k - 1] < 0;
             k--)
            group[k - 1] = (int)i;
        group[i] = (int)i;
        for (size_t k = i + 1; k < count && strchr("retlo", letters[k]); k++)
            group[k] = (int)i;
    }
    for (size_t i = 0; i < count; i++)
        group[i] = group[i] < 0 ? (int)i : group[i];
}

/* Does the end of the history from `from` on keep to the limits? */
static bool oracle_fits(const char *letters, size_t from, struct limits limits)
{
    size_t messages = 0, bytes = 0, turns = 0;

    for (size_t i = from; letters[i] != '\0'; i++) {
        if (letters[i] == 's')
            continue;
        messages++;
        bytes += size_of(letters, i);
        turns += letters[i] == 'u';
    }
    return (limits.messages == 0 || messages <= limits.messages) &&
           (limits.bytes == 0 || bytes <= limits.bytes) &&
           (limits.turns == 0 || turns < limits.turns ||
            (turns == limits.turns && letters[from] == 'u'));
}

static void oracle(char seen[512], const char *letters, struct limits limits)
{
    const size_t count = strlen(letters);
    int group[MAX_LETTERS];
    size_t first = count;
    bool sent[MAX_LETTERS] = {false};

    oracle_groups(group, letters);
    for (size_t i = count; i > 0; i--) {
        bool begins = i == 1 || group[i - 2] != group[i - 1];

        if (letters[i - 1] != 's' && begins &&
            (first == count || oracle_fits(letters, i - 1, limits)))
            first = i - 1;
    }
    seen[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        char number[16];

        sent[i] = i >= first || letters[i] == 's';
        if (letters[i] == 'o' ||
            (letters[i] == 'l' && !sent[strchr(letters, 'c') - letters]))
            sent[i] = false;
        (void)snprintf(number, sizeof(number), "%d", (int)i);
        if (sent[i])
            seen_add(seen, number);
    }
    seen_add(seen, "+");
}

/* In the store, system messages that were not read are not sent: those before
 * the first other one that is sent do not count in the comparison. */
static const char *without_far_systems(const char *seen, const char *letters)
{
    while (seen[0] != '+' && letters[strtol(seen, NULL, 10)] == 's')
        seen = strchr(seen, ' ') + 1;
    return seen;
}

static struct limits random_limits(uint32_t *state)
{
    struct limits limits = {0, 0, 0};

    while (limits.messages == 0 && limits.bytes == 0 && limits.turns == 0) {
        limits.messages = dice(state, 2) == 0 ? dice(state, 12) : 0;
        limits.bytes = dice(state, 3) == 0 ? dice(state, 1500) : 0;
        limits.turns = dice(state, 3) == 0 ? dice(state, 5) : 0;
    }
    return limits;
}

TEST(window, of_any_random_history_is_what_the_rule_says)
{
    uint32_t state = 7;

    COVERS("S-129");
    for (size_t i = 0; i < test_times(2000, 200); i++) {
        struct limits limits = random_limits(&state);
        char letters[MAX_LETTERS], expected[512], seen[512];

        random_letters(letters, &state, true);
        oracle(expected, letters, limits);
        send_history(seen, letters, limits, NULL, NULL);
        if (strcmp(expected, seen) != 0)
            fail_msg("%s, %zu messages, %zu bytes, %zu turns: expected %s, got "
                     "%s",
                     letters, limits.messages, limits.bytes, limits.turns,
                     expected, seen);
    }
}

TEST(window, of_a_stored_history_is_the_same)
{
    uint32_t state = 11;

    COVERS("S-129");
    for (size_t i = 0; i < test_times(1000, 100); i++) {
        struct limits limits = random_limits(&state);
        char letters[MAX_LETTERS], expected[512], seen[512];
        pdr_store *store = NULL;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
        random_letters(letters, &state, false);
        oracle(expected, letters, limits);
        send_history(seen, letters, limits, NULL, store);
        if (strcmp(without_far_systems(expected, letters),
                   without_far_systems(seen, letters)) != 0)
            fail_msg("%s, %zu messages, %zu bytes, %zu turns: expected %s, got "
                     "%s",
                     letters, limits.messages, limits.bytes, limits.turns,
                     expected, seen);
        pdr_store_close(store);
    }
}

/* Allocations of a run on the session `id`, which has this many entries. */
static size_t run_cost(pdr_store *store, const char *id, size_t turns,
                       struct limits limits)
{
    const pdr_stored_opts create = {.create = true};
    const pdr_commit_options now = {.now_ms = NOW};
    const pdr_ref ref = {.id = pdr_str_c(id)};
    pdr_value *one = message_of("u", 0), *two = message_of("a", 0);
    const pdr_value *const turn[] = {one, two};
    pdr_run run = {.text = pdr_str_c("hi"), .now_ms = NOW};
    pdr_response *response = NULL;
    struct spy spy = {.seen = ""};
    pdr_err err = PDR_ERR_INIT;
    size_t before = 0;

    ASSERT_RC(PDR_OK, pdr_client_init(&spy.base, &spy_ops, &err));
    pdr_agent *agent = agent_new(&spy, limits, NULL);
    ASSERT_RC(PDR_OK, pdr_stored_open(&run.stored, store, &ref, &create, &err));
    for (size_t i = 0; i < turns; i++)
        ASSERT_RC(PDR_OK, pdr_stored_add_messages(
                              run.stored, pdr_str_n(NULL, 0), turn, 2, &err));
    ASSERT_RC(PDR_OK, pdr_stored_commit(run.stored, &now, &err));
    before = test_allocations();
    ASSERT_RC(PDR_OK, pdr_agent_run(&response, agent, &run, &err));
    before = test_allocations() - before;
    pdr_response_free(response);
    pdr_stored_close(run.stored);
    pdr_agent_free(agent);
    pdr_client_free(&spy.base);
    pdr_value_free(one);
    pdr_value_free(two);
    return before;
}

TEST(window, of_a_long_stored_history_reads_no_more_than_of_a_short_one)
{
    static const struct limits cases[] = {
        {10, 0, 0}, {0, 2000, 0}, {0, 0, 10}, {10, 2000, 10}};
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    for (size_t i = 0; i < COUNT(cases); i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "short-%d", (int)i);
        size_t few = run_cost(store, id, 100, cases[i]);
        (void)snprintf(id, sizeof(id), "long-%d", (int)i);
        size_t many = run_cost(store, id, 2000, cases[i]);
        if (many > few + few / 10)
            fail_msg("case %d: %zu allocations, with a short history %zu",
                     (int)i, many, few);
    }
    pdr_store_close(store);
}

TEST_OOM(window, cleans_up_after_any_failed_allocation)
{
    const pdr_ref ref = {.id = pdr_str_c("s")};
    const pdr_stored_opts create = {.create = true};
    const pdr_commit_options now = {.now_ms = NOW};
    const char letters[] = "suctauctra";
    pdr_value *list = pdr_value_new_array();
    pdr_response *response = NULL;
    pdr_store *store = NULL;
    struct spy spy = {.seen = ""};
    pdr_run run = {.text = pdr_str_c("hi"), .now_ms = NOW};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_client_init(&spy.base, &spy_ops, &err));
    pdr_agent *agent = agent_new(&spy, (struct limits){3, 400, 2}, takes_users);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    ASSERT_RC(PDR_OK, pdr_stored_open(&run.stored, store, &ref, &create, &err));
    for (size_t i = 0; letters[i] != '\0'; i++) {
        pdr_value *message = message_of(letters, i);
        const pdr_value *const one[] = {message};

        ASSERT_RC(PDR_OK, pdr_stored_add_messages(
                              run.stored, pdr_str_n(NULL, 0), one, 1, &err));
        ASSERT_RC(PDR_OK, pdr_value_append(&list, message, &err));
        pdr_value_free(message);
    }
    ASSERT_RC(PDR_OK, pdr_stored_commit(run.stored, &now, &err));
    test_pause_failures(false);
    rc = pdr_agent_run(&response, agent, &run, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    pdr_response_free(response);
    pdr_stored_close(run.stored);
    pdr_store_close(store);
    pdr_agent_free(agent);
    pdr_client_free(&spy.base);
    pdr_value_free(list);
    test_pause_failures(false);
}
