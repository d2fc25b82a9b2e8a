/* Sets of providers: their order, and keys that clash. */
#include "test.h"

#define CONTEXT PDR_PROVIDER_CONTEXT
#define HISTORY PDR_PROVIDER_HISTORY

static const char *const no_keys[] = {NULL};

TEST(provider_set_new, keeps_copies_in_order)
{
    char name[] = "todo", key[] = "t";
    const char *keys[] = {key, "u", NULL};
    int self = 0;
    pdr_provider providers[] = {
        {.name = name, .kind = CONTEXT, .keys = keys, .self = &self},
        {.name = "history", .kind = HISTORY, .keys = no_keys, .self = NULL},
        {.name = "todo", .kind = CONTEXT, .keys = NULL, .self = NULL},
    };
    pdr_provider_set *set = NULL;

    ASSERT_RC(PDR_OK, pdr_provider_set_new(&set, providers, 3, NULL));
    name[0] = key[0] = 'x';
    keys[1] = NULL;
    ASSERT_SIZE(3, pdr_provider_set_count(set));
    const pdr_provider *first = pdr_provider_set_at(set, 0);
    ASSERT_STR("todo", first->name);
    ASSERT_STR("t", first->keys[0]);
    ASSERT_STR("u", first->keys[1]);
    ASSERT(first->keys[2] == NULL);
    ASSERT(&self == first->self);
    ASSERT_INT(HISTORY, pdr_provider_set_at(set, 1)->kind);
    ASSERT(pdr_provider_set_at(set, 1)->keys[0] == NULL);
    ASSERT(pdr_provider_set_at(set, 2)->keys == NULL);
    ASSERT(pdr_provider_set_at(set, 3) == NULL);
    ASSERT(first == pdr_provider_set_find(set, "todo"));
    ASSERT(pdr_provider_set_find(set, "Todo") == NULL);
    ASSERT(pdr_provider_set_find(set, NULL) == NULL);
    pdr_provider_set_free(set);
}

TEST(provider_set_new, may_be_empty)
{
    pdr_provider_set *set = NULL;

    ASSERT_RC(PDR_OK, pdr_provider_set_new(&set, NULL, 0, NULL));
    ASSERT_SIZE(0, pdr_provider_set_count(set));
    ASSERT(pdr_provider_set_at(set, 0) == NULL);
    pdr_provider_set_free(set);
    pdr_provider_set_free(NULL);
}

/* A set of two is refused; the text has all three. */
static void check_clash(const pdr_provider *providers, size_t count,
                        const char *key, const char *one, const char *two)
{
    pdr_provider_set *set = (pdr_provider_set *)(uintptr_t)providers;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_provider_set_new(&set, providers, count, &err));
    ASSERT_STR("state_key_clash", err.reason);
    if (strstr(err.message, key) == NULL || strstr(err.message, one) == NULL ||
        strstr(err.message, two) == NULL)
        fail_msg("%s, %s or %s is not in: %s", key, one, two, err.message);
    ASSERT(set == NULL);
}

TEST(provider_set_new, refuses_two_providers_with_one_key)
{
    const char *ab[] = {"a", "b", NULL}, *cb[] = {"c", "b", NULL};
    const char *aa[] = {"a", "c", "a", NULL};
    const pdr_provider two[] = {
        {.name = "todo", .kind = CONTEXT, .keys = ab, .self = NULL},
        {.name = "mode", .kind = CONTEXT, .keys = cb, .self = NULL}};
    const pdr_provider history[] = {
        {.name = "log", .kind = HISTORY, .keys = ab, .self = NULL},
        {.name = "mode", .kind = CONTEXT, .keys = cb, .self = NULL}};
    const pdr_provider twice = {
        .name = "todo", .kind = CONTEXT, .keys = aa, .self = NULL};

    check_clash(two, 2, "'b'", "todo", "mode");
    check_clash(history, 2, "'b'", "log", "mode");
    check_clash(&twice, 1, "'a'", "todo", "todo");
}

TEST(provider_set_new, tells_keys_apart_by_case)
{
    const char *small[] = {"a", NULL}, *large[] = {"A", NULL};
    const pdr_provider two[] = {
        {.name = "todo", .kind = CONTEXT, .keys = small, .self = NULL},
        {.name = "mode", .kind = CONTEXT, .keys = large, .self = NULL}};
    pdr_provider_set *set = NULL;

    ASSERT_RC(PDR_OK, pdr_provider_set_new(&set, two, 2, NULL));
    pdr_provider_set_free(set);
}

TEST(provider_set_new, refuses_reserved_keys)
{
    static const char *const reserved[] = {
        "_pendingApprovalRequests",
        "_autoApprovedFunctionCalls",
        "_bypassedInvocableFunctionCalls",
        "MessageInjectingChatClient.PendingInjectedMessages",
        "toolApprovalState",
        "Microsoft.Agents.AI.Foundry.Hosting.HostedSessionContext",
        "Microsoft.Agents.AI.Foundry.Hosting.ToolApprovalIdMap",
        "message_injection.pending_messages",
        "tool_approval",
        "_function_invocation_budget_state",
        "workflow.defer_computer_function_results",
        "__agent_framework_fides_security__",
    };

    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        const char *keys[] = {reserved[i], NULL};
        const pdr_provider context = {
            .name = "mine", .kind = CONTEXT, .keys = keys, .self = NULL};
        const pdr_provider history = {
            .name = "mine", .kind = HISTORY, .keys = keys, .self = NULL};

        check_clash(&context, 1, reserved[i], "mine", "which ");
        check_clash(&history, 1, reserved[i], "mine", "which ");
    }
}

TEST(provider_set_new, counts_the_history_in_the_session_if_there_is_no_other)
{
    const char *dotnet[] = {"InMemoryChatHistoryProvider", NULL};
    const char *python[] = {"in_memory", NULL};
    const char *own[] = {"log", NULL};
    const pdr_provider one = {
        .name = "mine", .kind = CONTEXT, .keys = dotnet, .self = NULL};
    const pdr_provider two = {
        .name = "mine", .kind = CONTEXT, .keys = python, .self = NULL};
    const pdr_provider with[] = {
        {.name = "mine", .kind = CONTEXT, .keys = python, .self = NULL},
        {.name = "log", .kind = HISTORY, .keys = own, .self = NULL}};
    const pdr_provider itself = {
        .name = "memory", .kind = HISTORY, .keys = python, .self = NULL};
    pdr_provider_set *set = NULL;

    check_clash(&one, 1, dotnet[0], "mine", "the history in the session");
    check_clash(&two, 1, python[0], "mine", "the history in the session");
    ASSERT_RC(PDR_OK, pdr_provider_set_new(&set, with, 2, NULL));
    pdr_provider_set_free(set);
    ASSERT_RC(PDR_OK, pdr_provider_set_new(&set, &itself, 1, NULL));
    pdr_provider_set_free(set);
}

TEST(provider_set_new, takes_one_history)
{
    const pdr_provider two[] = {
        {.name = "log", .kind = HISTORY, .keys = NULL, .self = NULL},
        {.name = "mine", .kind = CONTEXT, .keys = NULL, .self = NULL},
        {.name = "file", .kind = HISTORY, .keys = NULL, .self = NULL}};
    pdr_provider_set *set = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_provider_set_new(&set, two, 3, &err));
    ASSERT_STR("two_histories", err.reason);
    ASSERT_STR("both log and file keep the history, only one can", err.message);
    ASSERT(set == NULL);
}

static void check_key(const char *key, const char *reason)
{
    const char *keys[] = {"good", key, NULL};
    const pdr_provider provider = {
        .name = "mine", .kind = CONTEXT, .keys = keys, .self = NULL};
    pdr_provider_set *set = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_provider_set_new(&set, &provider, 1, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(strstr(err.message, "mine") != NULL);
    ASSERT(set == NULL);
}

TEST(provider_set_new, refuses_what_is_no_key)
{
    char longest[1026];

    memset(longest, 'k', sizeof(longest));
    longest[1025] = '\0';
    check_key("", "key_blank");
    check_key(" \xE3\x80\x80", "key_blank");
    check_key("\xC0\x80", "bad_utf8");
    check_key(longest, "key_too_long");
}

TEST_OOM(provider_set_new, cleans_up_after_any_failed_allocation)
{
    const char *keys[] = {"a", "b", NULL};
    const pdr_provider two[] = {
        {.name = "todo", .kind = CONTEXT, .keys = keys, .self = NULL},
        {.name = "mode", .kind = CONTEXT, .keys = no_keys, .self = NULL}};
    pdr_provider_set *set = NULL;
    pdr_rc rc = pdr_provider_set_new(&set, two, 2, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((set != NULL) == (rc == PDR_OK));
    pdr_provider_set_free(set);
}
