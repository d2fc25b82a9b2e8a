/*
 * regroup.c - a saved chat goes on without one of its agents, who joins later.
 *
 *     regroup FILE
 *
 * If there is no FILE, Ann and Ben talk, and the chat is saved in it. Run it
 * again: Ann goes on alone, and then Ben joins and knows what was said. Ben is
 * sent the last four messages only, so he has a channel of his own; it is kept
 * while he is away.
 */
#include <perdure.h>
#include <stdio.h>

static pdr_rc agent_join(pdr_chat *chat, const char *name, unsigned target,
                         pdr_err *err)
{
    static const char script[] =
        "{\"replies\":[{\"text\":\"I heard: {user}\"}]}";
    pdr_agent_parts parts = {.id = pdr_str_c(name), .name = pdr_str_c(name)};
    pdr_chat_joining joining = {.reduction = {.target = target}};
    pdr_rc rc = pdr_client_script(&parts.client, pdr_str_c(script), err);

    if (rc == PDR_OK)
        rc = pdr_agent_new(&joining.agent, &parts, err);
    if (rc == PDR_OK)
        rc = pdr_chat_join(chat, &joining, err);
    pdr_agent_free(joining.agent);
    pdr_client_free(parts.client);
    return rc;
}

static pdr_rc bytes_write(pdr_str bytes, pdr_err *err, void *arg)
{
    return fwrite(bytes.ptr, 1, bytes.len, arg) == bytes.len
               ? PDR_OK
               : pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write");
}

static pdr_rc bytes_read(size_t *got, void *into, size_t cap, pdr_err *err,
                         void *arg)
{
    *got = fread(into, 1, cap, arg);
    return ferror((FILE *)arg) != 0
               ? pdr_err_set(err, PDR_EIO, "cannot_read", "cannot read")
               : PDR_OK;
}

/* All of it or nothing; what became of each channel is in the report. */
static pdr_rc chat_restore(pdr_chat *chat, FILE *file, pdr_err *err)
{
    static const char *const cases[] = {"", "equivalent", "enhanced", "reduced",
                                        "mixed"};
    pdr_chat_state *state = NULL;
    pdr_chat_report *report = NULL;
    pdr_rc rc = pdr_chat_open(&state, NULL, err, bytes_read, file);

    if (rc == PDR_OK)
        rc = pdr_chat_apply(&report, chat, state, NULL, err);
    if (rc == PDR_OK)
        printf("restored: %s\n", cases[report->which]);
    for (size_t i = 0; rc == PDR_OK && i < report->count; i++) {
        const pdr_chat_report_row *row = &report->rows[i];

        if (row->what == PDR_CHAT_PARKED)
            printf("kept: a channel of kind %.*s\n", (int)row->kind.len,
                   row->kind.ptr);
        if (row->what == PDR_CHAT_NO_AGENT)
            printf("missing: %.*s\n", (int)row->key.len, row->key.ptr);
    }
    pdr_chat_report_free(report);
    pdr_chat_state_free(state);
    return rc;
}

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
    const pdr_chat_call call = {.now_ms = (pdr_now() - PDR_TICKS_UNIX_EPOCH) /
                                          PDR_TICKS_PER_MS,
                                .fn = message_print};
    const pdr_str someone = pdr_str_c("Eve");
    pdr_chat *chat = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    FILE *file = NULL;

    if (argc != 2)
        return fprintf(stderr, "usage: regroup FILE\n"), 2;
    rc = pdr_chat_new(&chat, NULL, &err);
    if (rc == PDR_OK)
        rc = agent_join(chat, "Ann", 0, &err);
    file = fopen(argv[1], "rb");
    if (rc == PDR_OK && file == NULL) /* the first time, both are there */
        rc = agent_join(chat, "Ben", 4, &err);
    if (rc == PDR_OK && file != NULL)
        rc = chat_restore(chat, file, &err);
    if (rc == PDR_OK)
        rc = pdr_chat_add_text(chat,
                               pdr_str_c(file == NULL ? "Hello" : "And now?"),
                               someone, &err);
    if (rc == PDR_OK)
        rc = pdr_chat_invoke(chat, pdr_str_c("Ann"), &call, &err);
    if (rc == PDR_OK) /* nothing happens if he takes part already */
        rc = agent_join(chat, "Ben", 4, &err);
    if (rc == PDR_OK)
        rc = pdr_chat_invoke(chat, pdr_str_c("Ben"), &call, &err);
    if (file != NULL)
        fclose(file);
    file = rc == PDR_OK ? fopen(argv[1], "wb") : NULL;
    if (rc == PDR_OK && file == NULL)
        rc = pdr_err_set(&err, PDR_EIO, "cannot_write", "cannot write %s",
                         argv[1]);
    if (rc == PDR_OK)
        rc = pdr_chat_save(chat, NULL, &err, bytes_write, file);
    if (file != NULL && fclose(file) != 0 && rc == PDR_OK)
        rc = pdr_err_set(&err, PDR_EIO, "cannot_write", "cannot write %s",
                         argv[1]);
    if (rc != PDR_OK)
        fprintf(stderr, "regroup: %s\n", err.message);
    pdr_chat_free(chat);
    return pdr_rc_exit_status(rc);
}
