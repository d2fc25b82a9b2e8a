/*
 * group.c - a writer and a reviewer, in a chat that lives in a store.
 *
 *     group STORE TEXT
 *
 * Says TEXT in the chat "desk" of STORE. Then writer and reviewer take turns
 * until the reviewer has approved. Kill it anywhere and run it again: what was
 * printed is in the chat, and it goes on from there.
 */
#include <perdure.h>
#include <stdio.h>

/* The answers of the models: docs/formats/script.md. */
static const char writer[] =
    "{\"replies\":[{\"user\":\"Shorter\",\"text\":\"Red leaves.\"},"
    "{\"text\":\"{user}: leaves are falling, red and yellow.\"}]}";
static const char reviewer[] =
    "{\"replies\":[{\"user\":\"falling\",\"text\":\"Shorter, please.\"},"
    "{\"text\":\"Approved.\"}]}";

/* An agent that takes part. What the other one says comes to it as said by a
 * user: a model takes answers for its own. */
static pdr_rc agent_join(pdr_chat *chat, const char *name, const char *script,
                         pdr_err *err)
{
    pdr_agent_parts parts = {.id = pdr_str_c(name), .name = pdr_str_c(name)};
    pdr_chat_joining joining = {.adapter = {.others_as_user = true}};
    pdr_rc rc = pdr_client_script(&parts.client, pdr_str_c(script), err);

    if (rc == PDR_OK)
        rc = pdr_agent_new(&joining.agent, &parts, err);
    if (rc == PDR_OK)
        rc = pdr_chat_join(chat, &joining, err);
    pdr_agent_free(joining.agent); /* the chat has its own hold on it */
    pdr_client_free(parts.client);
    return rc;
}

/* A message that is in the store by now. Pieces of it came before. */
static pdr_rc message_print(const pdr_chat_event *event, pdr_err *err,
                            void *arg)
{
    pdr_buf text = PDR_BUF_INIT(1 << 20);
    pdr_rc rc = PDR_OK;

    (void)arg;
    if (event->message == NULL)
        return PDR_OK;
    rc = pdr_message_text(&text, event->message->value, PDR_SHAPE_SK, err);
    if (rc == PDR_OK)
        printf("%.*s: %.*s\n", (int)event->agent_id.len, event->agent_id.ptr,
               (int)text.len, text.ptr);
    pdr_buf_dispose(&text);
    return rc;
}

int main(int argc, char **argv)
{
    static const char *const approved[] = {"Approved", NULL};
    const int64_t now_ms =
        (pdr_now() - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    const pdr_chat_opts opts = {
        .ends = {.kind = PDR_TERMINATE_REGEX, .patterns = approved},
        .resets_complete = true};
    const pdr_chat_apply_opts attach = {.now_ms = now_ms};
    const pdr_chat_call call = {.now_ms = now_ms, .fn = message_print};
    const pdr_str nobody = {NULL, 0};
    pdr_chat_home home = {.ref = {.id = pdr_str_c("desk")}, .create = true};
    pdr_chat *chat = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc != 3)
        return fprintf(stderr, "usage: group STORE TEXT\n"), 2;
    rc = pdr_chat_new(&chat, &opts, &err);
    if (rc == PDR_OK)
        rc = agent_join(chat, "writer", writer, &err);
    if (rc == PDR_OK)
        rc = agent_join(chat, "reviewer", reviewer, &err);
    if (rc == PDR_OK)
        rc = pdr_store_open(&home.store, argv[1], &err);
    if (rc == PDR_OK) /* what is there already comes back here */
        rc = pdr_chat_attach(NULL, chat, &home, &attach, &err);
    if (rc == PDR_OK)
        rc = pdr_chat_add_text(chat, pdr_str_c(argv[2]), nobody, &err);
    if (rc == PDR_OK)
        rc = pdr_chat_run(chat, &call, &err);
    if (rc == PDR_OK)
        printf("%d messages\n", (int)pdr_chat_message_count(chat));
    else
        fprintf(stderr, "group: %s\n", err.message);
    pdr_chat_free(chat);
    pdr_store_close(home.store);
    return pdr_rc_exit_status(rc);
}
