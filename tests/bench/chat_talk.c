/*
 * chat_talk.c - the chat that all benchmarks of chats have.
 *
 * WHY  Sides can be compared only if they say the same. The texts have nothing
 *      that JSON escapes, so that one line of a file is one text.
 */
#include "chat_talk.h"

#include <stdio.h>
#include <string.h>

#include <perdure/chat_store.h>
#include <perdure/sys/client.h>

#include "bench.h"

#define BATCH 100u /* messages in one call */

void chat_must(pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_OK)
        bench_fail("%s", err->message);
}

const char *chat_text(char out[CHAT_TEXT_ROOM], size_t n)
{
    static const char *const words[] = {
        "bakery",  "station",  "morning", "customers", "loaves",  "delivery",
        "counter", "tomorrow", "recipe",  "market",    "evening", "flour",
        "village", "mountain", "weather", "several",   "bread",   "different",
        "between", "windows",  "journey", "kitchen",   "because", "together",
        "another", "remember", "nothing", "question",  "answer",  "before",
        "quickly"};
    const size_t count = sizeof(words) / sizeof(words[0]);
    size_t at = (size_t)snprintf(out, CHAT_TEXT_ROOM, "%05zu", n);

    for (size_t i = 1; i < 25; i++)
        at += (size_t)snprintf(out + at, CHAT_TEXT_ROOM - at, " %s",
                               words[(n * 7 + i * (n % 5 + 1)) % count]);
    return out;
}

void chat_write_texts(size_t count)
{
    char path[512], text[CHAT_TEXT_ROOM];

    bench_path(path, sizeof(path), CHAT_FILE);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        bench_fail("cannot write %s", path);
    for (size_t n = 0; n < count; n++)
        fprintf(file, "%s\n", chat_text(text, n));
    fprintf(file, "%s\n", chat_text(text, CHAT_ANSWER));
    if (fclose(file) != 0)
        bench_fail("cannot write %s", path);
}

/* --- agents --------------------------------------------------------------- */

struct chat_model chat_model;

static size_t text_bytes(const pdr_request_message *message)
{
    pdr_buf text = PDR_BUF_INIT(1 << 20);
    pdr_err err = PDR_ERR_INIT;

    chat_must(pdr_message_text(&text, message->value, message->shape, &err),
              &err);
    size_t bytes = text.len;
    pdr_buf_dispose(&text);
    return bytes;
}

static pdr_rc model_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    static char answer[CHAT_TEXT_ROOM];
    pdr_value *content = NULL;
    const pdr_value *contents[1] = {NULL};
    pdr_update update = {.role = pdr_str_c("assistant"),
                         .contents = contents,
                         .content_count = 1};
    pdr_rc rc = PDR_OK;

    (void)self;
    chat_model.called_ns = bench_now_ns();
    chat_model.messages = request->count;
    chat_model.bytes = 0;
    for (size_t i = 0; chat_model.sums && i < request->count; i++)
        chat_model.bytes += text_bytes(&request->messages[i]);
    if (answer[0] == '\0')
        (void)chat_text(answer, CHAT_ANSWER);
    rc = pdr_content_new_text(&content, request->shape, pdr_str_c(answer), err);
    contents[0] = content;
    if (rc == PDR_OK)
        rc = fn(&update, err, arg);
    pdr_value_free(content);
    return rc;
}

static void model_free(pdr_client *self)
{
    (void)self; /* static */
}

pdr_agent *chat_agent(size_t place, size_t window)
{
    static const char *const names[CHAT_MAX_AGENTS] = {
        "baker", "clerk", "guide", "judge", "miner", "nurse", "pilot", "smith"};
    static const pdr_client_ops ops = {PDR_CLIENT_OPS_VERSION, "instant",
                                       model_send, model_free};
    static pdr_client clients[CHAT_MAX_AGENTS];
    pdr_client *client = &clients[place];
    const pdr_agent_parts parts = {.id = pdr_str_c(names[place]),
                                   .name = pdr_str_c(names[place]),
                                   .instructions =
                                       pdr_str_c("You are a helpful clerk."),
                                   .client = client,
                                   .window_messages = window};
    pdr_agent *agent = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (client->ops == NULL) /* one holder more than there are agents */
        chat_must(pdr_client_init(client, &ops, &err), &err);
    chat_must(pdr_agent_new(&agent, &parts, &err), &err);
    return agent;
}

/* --- a chat --------------------------------------------------------------- */

void desk_open(struct desk *desk, pdr_store *store, const char *id,
               size_t agents, size_t window)
{
    const pdr_chat_opts opts = {.id = pdr_str_c(id)};
    const pdr_chat_home home = {
        .store = store, .ref = {.id = pdr_str_c(id)}, .create = true};
    pdr_err err = PDR_ERR_INIT;

    *desk = (struct desk){.count = agents};
    chat_must(pdr_chat_new(&desk->chat, &opts, &err), &err);
    for (size_t i = 0; i < agents; i++) {
        desk->agents[i] = chat_agent(i, window);
        const pdr_chat_joining joining = {.agent = desk->agents[i]};
        chat_must(pdr_chat_join(desk->chat, &joining, &err), &err);
    }
    chat_must(pdr_chat_attach(NULL, desk->chat, &home, NULL, &err), &err);
}

/* Messages from number `from` on, up to a batch of them. */
static void add_some(struct desk *desk, size_t from, size_t end)
{
    pdr_value *messages[BATCH] = {NULL};
    size_t count = end - from < BATCH ? end - from : BATCH;
    char text[CHAT_TEXT_ROOM];
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < count; i++)
        chat_must(
            pdr_message_new_text(&messages[i], PDR_SHAPE_SK, pdr_str_c("user"),
                                 pdr_str_c(chat_text(text, from + i)), &err),
            &err);
    chat_must(pdr_chat_add(desk->chat, (const pdr_value *const *)messages,
                           count, PDR_SHAPE_SK, &err),
              &err);
    for (size_t i = 0; i < count; i++)
        pdr_value_free(messages[i]);
}

void desk_fill(struct desk *desk, size_t said, size_t messages)
{
    size_t count = (size_t)pdr_chat_message_count(desk->chat);

    for (; count < said; count = (size_t)pdr_chat_message_count(desk->chat))
        add_some(desk, count, said);
    if (count < messages)
        desk_turns(desk, messages - count);
}

void desk_turns(struct desk *desk, size_t turns)
{
    const pdr_chat_call call = {.now_ms = CHAT_NOW};
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < turns; i++)
        chat_must(pdr_chat_run(desk->chat, &call, &err), &err);
}

void desk_close(struct desk *desk)
{
    pdr_chat_free(desk->chat);
    for (size_t i = 0; i < desk->count; i++)
        pdr_agent_free(desk->agents[i]);
}
