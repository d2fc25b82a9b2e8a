/* Agents of a service in a chat: who is whom, and who joins. */
#include "cast.h"

#include <perdure/chat_store.h>

#include "base.h"
#include "chat_stage.h"

/* A service of the agents A, B and C. */
struct bench {
    struct chat_stage stage;
    pdr_store *store;
    pdr_service *service;
};

static void bench_begin(struct bench *b)
{
    pdr_service_agent agents[3] = {{.type = NULL}};
    pdr_service_opts opts = {.agents = agents, .count = 3};

    *b = (struct bench){.store = NULL};
    chat_begin(&b->stage, "A B C");
    for (size_t i = 0; i < 3; i++)
        agents[i].durable.agent = b->stage.members[i].agent;
    ASSERT_RC(PDR_OK, pdr_store_open(&b->store, "memory:", NULL));
    opts.store = b->store;
    ASSERT_RC(PDR_OK, pdr_service_new(&b->service, &opts, NULL));
}

static void bench_end(struct bench *b)
{
    pdr_service_free(b->service);
    pdr_store_close(b->store);
    chat_end(&b->stage);
}

static const struct {
    const char *id, *name;
    const char *is; /* NULL: nobody */
} participants[] = {
    {"A", "A", "A"}, {"A", NULL, "A"},  {"A", "B", "A"},
    {"x", "b", "B"}, {NULL, "C", "C"},  {"x", "x", NULL},
    {"x", "", NULL}, {"a", NULL, NULL}, {NULL, NULL, NULL},
};

TEST(service_knows, who_took_part_by_id_and_else_by_name)
{
    struct bench b;

    bench_begin(&b);
    for (size_t i = 0; i < PDR_COUNT(participants); i++) {
        const pdr_chat_participant p = {.id = S(participants[i].id),
                                        .name = S(participants[i].name)};
        const pdr_service_agent *agent = pdr__service_knows(b.service, &p);

        ASSERT((agent != NULL) == (participants[i].is != NULL));
        if (agent != NULL)
            ASSERT_TEXT(participants[i].is,
                        pdr_agent_name(agent->durable.agent));
    }
    bench_end(&b);
}

TEST(service_join, lets_agents_join_once_or_names_the_one_that_is_not_there)
{
    struct bench b;
    pdr_chat *chat = NULL, *same = NULL;
    pdr_err err = PDR_ERR_INIT;

    bench_begin(&b);
    ASSERT_RC(PDR_OK, pdr_chat_new(&chat, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr__service_join(chat, b.service, S("b"), NULL));
    ASSERT_RC(PDR_OK, pdr__service_join(chat, b.service, S("B"), NULL));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr__service_join(chat, b.service, S("nobody"), &err));
    ASSERT(strstr(err.message, "'nobody'") != NULL);
    ASSERT_INT(1, pdr_chat_agent_count(chat));
    ASSERT_RC(PDR_OK, pdr__service_join_all(chat, b.service, NULL));
    ASSERT_INT(3, pdr_chat_agent_count(chat));
    ASSERT_RC(PDR_OK, pdr__chat_same(&same, chat, NULL, NULL));
    ASSERT_INT(3, pdr_chat_agent_count(same));
    ASSERT_TEXT("B", pdr_agent_name(pdr_chat_agent_at(same, 0)));
    pdr_chat_free(same);
    pdr_chat_free(chat);
    bench_end(&b);
}

/* Those of a saved chat that are there, in a chat that goes on. */
static pdr_rc go_on(struct bench *b, const pdr_chat_state *state,
                    const pdr_ref *ref)
{
    pdr_chat *cast = NULL, *chat = NULL;
    pdr_rc rc = pdr_chat_new(&cast, NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr__service_join_known(cast, b->service, state, NULL);
    if (rc == PDR_OK)
        rc = pdr__chat_same(&chat, cast, NULL, NULL);
    ASSERT((chat != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        rc = pdr__service_attach(chat, b->service, ref, STAGE_NOW, NULL);
    if (rc == PDR_OK)
        ASSERT_INT(3, pdr_chat_agent_count(chat));
    pdr_chat_free(chat);
    pdr_chat_free(cast);
    return rc;
}

TEST_OOM(service_attach, fails_cleanly_without_memory)
{
    const pdr_ref ref = {.id = S("c")};
    struct bench b;
    pdr_chat_state *state = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_str rest = {NULL, 0};
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    bench_begin(&b);
    chat_says(&b.stage, "Hi");
    chat_save(&text, &b.stage, PDR_CHAT_NATIVE);
    rest = pdr_buf_str(&text);
    ASSERT_RC(PDR_OK, pdr_chat_open(&state, NULL, NULL, pdr_read_str, &rest));
    ASSERT_RC(PDR_OK, pdr_chat_state_store(state, b.store, &ref, false,
                                           STAGE_NOW, NULL));
    test_pause_failures(false);
    rc = go_on(&b, state, &ref);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    pdr_chat_state_free(state);
    pdr_buf_dispose(&text);
    bench_end(&b);
}
