/*
 * kind.c - a channel of a kind that the library does not know, built against
 * what is installed.
 *
 *     kind save FILE NAME...   a chat: someone says "Hi", and each speaks
 *     kind open FILE NAME...   the same chat: the last one speaks; saved again
 *     kind used FILE NAME...   the same, into a chat that has begun
 *
 * A name with a capital letter has a tape: a channel that keeps the texts that
 * it got, and whose agent says how many. All others are chat agents. Prints
 * what a restore reports, then what was said.
 */
#include <perdure.h>
#include <perdure/sys/channel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AGENTS 8

/* --- the channel ----------------------------------------------------------
 */

struct tape {
    pdr_value *list; /* owned; the messages that it has */
};

static pdr_rc tape_key(pdr_buf *out, const pdr_chat_agent *agent, pdr_err *err)
{
    (void)agent; /* all share one */
    return pdr_buf_append(out, pdr_str_n("tape", 5), err);
}

static pdr_rc tape_new(void **self, pdr_value *list, pdr_err *err)
{
    struct tape *tape = malloc(sizeof(*tape));

    if (tape == NULL) {
        pdr_value_free(list);
        return pdr_err_set(err, PDR_ENOMEM, "no_memory", "no tape");
    }
    tape->list = list;
    *self = tape;
    return PDR_OK;
}

static pdr_rc tape_create(void **self, const pdr_chat_agent *agent,
                          pdr_cancel *cancel, pdr_err *err)
{
    (void)agent;
    (void)cancel;
    return tape_new(self, pdr_value_new_array(), err);
}

static pdr_rc tape_restore(void **self, const pdr_chat_agent *agent,
                           const pdr_chat_link *link, uint32_t state_version,
                           bool is_exchange, const pdr_value *state,
                           pdr_err *err)
{
    (void)agent;
    (void)link;
    (void)state_version;
    if (is_exchange || pdr_value_kind(state) != PDR_ARRAY)
        return pdr_err_set(err, PDR_EINVALID, "bad_channel_state",
                           "this is no tape");
    return tape_new(self, pdr_value_ref(state), err);
}

static pdr_rc tape_receive(void *self, const pdr_chat_message *message,
                           pdr_cancel *cancel, pdr_err *err)
{
    struct tape *tape = self;

    (void)cancel;
    return pdr_value_append(&tape->list, message->value, err);
}

/* "N heard", under the name of the agent. */
static pdr_rc tape_invoke(void *self, const pdr_chat_agent *agent,
                          pdr_chat_link *link, pdr_err *err)
{
    struct tape *tape = self;
    pdr_message_parts parts = {.role = pdr_str_c("assistant"),
                               .author = pdr_agent_name(agent->agent)};
    pdr_value *content = NULL, *contents = pdr_value_new_array();
    pdr_value *message = NULL;
    char text[40];
    pdr_rc rc = PDR_OK;

    snprintf(text, sizeof(text), "%zu heard", pdr_value_count(tape->list));
    rc = pdr_content_new_text(&content, PDR_SHAPE_SK, pdr_str_c(text), err);
    if (rc == PDR_OK)
        rc = pdr_value_append(&contents, content, err);
    parts.contents = contents;
    if (rc == PDR_OK)
        rc = pdr_message_new(&message, PDR_SHAPE_SK, &parts, err);
    if (rc == PDR_OK)
        rc = pdr_value_append(&tape->list, message, err);
    if (rc == PDR_OK)
        rc = pdr_chat_link_say(link, message, err);
    pdr_value_free(message);
    pdr_value_free(contents);
    pdr_value_free(content);
    return rc;
}

static pdr_rc tape_read(void *self, const pdr_chat_link *link, pdr_err *err,
                        pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                     void *arg),
                        void *arg)
{
    const struct tape *tape = self;
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    (void)link;
    pdr_iter_init(&it, tape->list);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = fn(it.value, err, arg);
    return rc;
}

static pdr_rc tape_save(pdr_value **out, void *self, const pdr_chat_link *link,
                        pdr_err *err)
{
    const struct tape *tape = self;

    (void)link;
    (void)err;
    *out = pdr_value_ref(tape->list);
    return PDR_OK;
}

static pdr_rc tape_reset(void *self, pdr_cancel *cancel, pdr_err *err)
{
    (void)self;
    (void)cancel;
    (void)err;
    return PDR_OK;
}

static void tape_release(void *self)
{
    struct tape *tape = self;

    pdr_value_free(tape->list);
    free(tape);
}

static const pdr_channel_kind tape_kind = {
    .version = PDR_CHANNEL_KIND_VERSION,
    .id = "x-example.tape",
    .state_version = 1,
    .key = tape_key,
    .create = tape_create,
    .restore = tape_restore,
    .receive = tape_receive,
    .invoke = tape_invoke,
    .read = tape_read,
    .save = tape_save,
    .reset = tape_reset,
    .release = tape_release,
};

/* --- a chat -----------------------------------------------------------------
 */

static pdr_rc agent_join(pdr_chat *chat, const char *name, pdr_client *client,
                         pdr_err *err)
{
    const pdr_agent_parts parts = {
        .id = pdr_str_c(name), .name = pdr_str_c(name), .client = client};
    pdr_chat_joining joining = {.agent = NULL};
    pdr_rc rc = pdr_agent_new(&joining.agent, &parts, err);

    if (name[0] >= 'A' && name[0] <= 'Z')
        joining.kind = &tape_kind;
    if (rc == PDR_OK)
        rc = pdr_chat_join(chat, &joining, err);
    pdr_agent_free(joining.agent);
    return rc;
}

static pdr_rc file_write(pdr_str bytes, pdr_err *err, void *arg)
{
    return fwrite(bytes.ptr, 1, bytes.len, arg) == bytes.len
               ? PDR_OK
               : pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write");
}

static pdr_rc file_read(size_t *got, void *into, size_t cap, pdr_err *err,
                        void *arg)
{
    (void)err;
    *got = fread(into, 1, cap, arg);
    return PDR_OK;
}

static pdr_rc chat_restore(pdr_chat *chat, const char *path, pdr_err *err)
{
    static const char *const cases[] = {"", "equivalent", "enhanced", "reduced",
                                        "mixed"};
    FILE *file = fopen(path, "rb");
    pdr_chat_state *state = NULL;
    pdr_chat_report *report = NULL;
    pdr_rc rc = PDR_OK;

    if (file == NULL)
        return pdr_err_set(err, PDR_ENOTFOUND, "no_file", "no %s", path);
    rc = pdr_chat_open(&state, NULL, err, file_read, file);
    if (rc == PDR_OK)
        rc = pdr_chat_apply(&report, chat, state, NULL, err);
    if (rc == PDR_OK)
        puts(cases[report->which]);
    for (size_t i = 0; rc == PDR_OK && i < report->count; i++) {
        if (report->rows[i].what == PDR_CHAT_PARKED)
            printf("parked %.*s\n", (int)report->rows[i].kind.len,
                   report->rows[i].kind.ptr);
    }
    pdr_chat_report_free(report);
    pdr_chat_state_free(state);
    fclose(file);
    return rc;
}

static pdr_rc chat_print(const pdr_chat *chat, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(1 << 20);
    pdr_chat_message message;
    pdr_rc rc = PDR_OK;

    for (uint64_t seq = 1;
         rc == PDR_OK && pdr_chat_message_at(&message, chat, seq); seq++) {
        pdr_buf_clear(&text);
        rc = pdr_message_text(&text, message.value, PDR_SHAPE_SK, err);
        if (rc == PDR_OK)
            printf("%.*s\n", (int)text.len, text.ptr);
    }
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc chat_store(pdr_chat *chat, const char *path, pdr_err *err)
{
    FILE *file = fopen(path, "wb");
    pdr_rc rc = PDR_OK;

    if (file == NULL)
        return pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write");
    rc = pdr_chat_save(chat, NULL, err, file_write, file);
    if (fclose(file) != 0 && rc == PDR_OK)
        rc = pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write");
    return rc;
}

int main(int argc, char **argv)
{
    static const char script[] = "{\"replies\":[{\"text\":\"yes\"}]}";
    const pdr_str nobody = {NULL, 0};
    const bool saves = argc > 2 && strcmp(argv[1], "save") == 0;
    pdr_client *client = NULL;
    pdr_chat *chat = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc < 3)
        return 2;
    rc = pdr_client_script(&client, pdr_str_c(script), &err);
    if (rc == PDR_OK)
        rc = pdr_chat_new(&chat, NULL, &err);
    for (int i = 3; rc == PDR_OK && i < argc; i++)
        rc = agent_join(chat, argv[i], client, &err);
    if (rc == PDR_OK && strcmp(argv[1], "open") != 0)
        rc = pdr_chat_add_text(chat, pdr_str_c("Hi"), nobody, &err);
    if (rc == PDR_OK && !saves)
        rc = chat_restore(chat, argv[2], &err);
    for (int i = saves ? 3 : argc - 1; rc == PDR_OK && i < argc; i++)
        rc = pdr_chat_invoke(chat, pdr_str_c(argv[i]), NULL, &err);
    if (rc == PDR_OK)
        rc = chat_print(chat, &err);
    if (rc == PDR_OK)
        rc = chat_store(chat, argv[2], &err);
    if (rc != PDR_OK)
        puts(err.reason);
    pdr_chat_free(chat);
    pdr_client_free(client);
    return pdr_rc_exit_status(rc);
}
