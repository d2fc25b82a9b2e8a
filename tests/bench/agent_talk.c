/*
 * agent_talk.c - the conversation that all benchmarks of agents have.
 *
 * WHY  Sides can be compared only if they say the same. The texts have some
 *      bytes that are not ASCII, as texts have, and nothing that JSON escapes,
 *      so that one line of a file is one text.
 */
#include "agent_talk.h"

#include <stdio.h>
#include <string.h>

#include <perdure/sys/client.h>

#include "bench.h"

static const pdr_str no_text = {"", 0};

void talk_must(pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_OK)
        bench_fail("%s", err->message);
}

const char *talk_text(char out[TALK_TEXT_ROOM], size_t n)
{
    static const char words[] = "the caf\xC3\xA9 near the station opens at "
                                "seven, and a ticket costs four euros; ";
    size_t len = 100 + n * 7919 % 420;
    size_t at = (size_t)snprintf(out, TALK_TEXT_ROOM, "Message %zu: ", n);

    while (at < len) /* whole words, so that no character is cut */
        at += (size_t)snprintf(out + at, TALK_TEXT_ROOM - at, "%s", words);
    return out;
}

pdr_value *talk_message(size_t n, pdr_shape shape)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *message = NULL;
    char text[TALK_TEXT_ROOM];

    talk_must(pdr_message_new_text(&message, shape,
                                   pdr_str_c(n % 2 == 0 ? "user" : "assistant"),
                                   pdr_str_c(talk_text(text, n)), &err),
              &err);
    return message;
}

void talk_write(void)
{
    char path[512], text[TALK_TEXT_ROOM];

    bench_path(path, sizeof(path), TALK_FILE);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        bench_fail("cannot write %s", path);
    for (size_t n = 0; n <= TALK_ANSWER; n++)
        fprintf(file, "%s\n", talk_text(text, n));
    if (fclose(file) != 0)
        bench_fail("cannot write %s", path);
}

/* --- our side ------------------------------------------------------------- */

/* A script of one reply, which always fits. */
static void write_script(pdr_buf *out, size_t pieces)
{
    char text[TALK_TEXT_ROOM];
    pdr_err err = PDR_ERR_INIT;

    if (pieces == 0)
        talk_must(pdr_buf_printf(out, &err, "{\"replies\":[{\"text\":\"%s\"}]}",
                                 talk_text(text, TALK_ANSWER)),
                  &err);
    for (size_t i = 0; i < pieces; i++)
        talk_must(pdr_buf_printf(out, &err, "%s\"piece %zu \"%s",
                                 i == 0 ? "{\"replies\":[{\"text\":[" : ",", i,
                                 i + 1 == pieces ? "]}]}" : ""),
                  &err);
}

static pdr_agent *agent_of(pdr_client *client, size_t window)
{
    const pdr_agent_parts parts = {.name = pdr_str_c("clerk"),
                                   .instructions =
                                       pdr_str_c("You are a helpful clerk."),
                                   .client = client,
                                   .window_messages = window};
    pdr_agent *agent = NULL;
    pdr_err err = PDR_ERR_INIT;

    talk_must(pdr_agent_new(&agent, &parts, &err), &err);
    pdr_client_free(client);
    return agent;
}

pdr_agent *talk_agent(size_t window, size_t pieces)
{
    pdr_buf script = PDR_BUF_INIT(1 << 20);
    pdr_client *client = NULL;
    pdr_err err = PDR_ERR_INIT;

    write_script(&script, pieces);
    talk_must(pdr_client_script(&client, pdr_buf_str(&script), &err), &err);
    pdr_buf_dispose(&script);
    return agent_of(client, window);
}

pdr_stored *talk_open(pdr_store *store, const char *kind, size_t n)
{
    const pdr_stored_opts opts = {.create = true};
    pdr_stored *stored = NULL;
    pdr_err err = PDR_ERR_INIT;
    char id[32];

    snprintf(id, sizeof(id), "%s-%06zu", kind, n);
    const pdr_ref ref = {.id = pdr_str_c(id)};
    talk_must(pdr_stored_open(&stored, store, &ref, &opts, &err), &err);
    return stored;
}

void talk_make(pdr_store *store, const char *kind, size_t n, size_t messages)
{
    const pdr_commit_options options = {.now_ms = TALK_NOW};
    pdr_stored *stored = talk_open(store, kind, n);
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < messages; i++) {
        pdr_value *message = talk_message(i, pdr_stored_shape(stored));

        talk_must(pdr_stored_add_messages(stored, pdr_str_n(NULL, 0),
                                          (const pdr_value *const *)&message, 1,
                                          &err),
                  &err);
        pdr_value_free(message);
    }
    talk_must(pdr_stored_commit(stored, &options, &err), &err);
    pdr_stored_close(stored);
}

void talk_run(pdr_agent *agent, const pdr_run *where)
{
    static char question[TALK_TEXT_ROOM];
    pdr_run run = *where;
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (question[0] == '\0')
        (void)talk_text(question, TALK_QUESTION);
    run.text = pdr_str_c(question);
    run.now_ms = TALK_NOW;
    talk_must(pdr_agent_run(&response, agent, &run, &err), &err);
    pdr_response_free(response);
}

/* --- what is sent --------------------------------------------------------- */

static void sum_message(struct talk_sum *sum, const pdr_value *message,
                        pdr_shape shape)
{
    pdr_buf text = PDR_BUF_INIT(1 << 20);
    pdr_err err = PDR_ERR_INIT;

    talk_must(pdr_message_text(&text, message, shape, &err), &err);
    sum->count++;
    sum->bytes += text.len;
    pdr_buf_dispose(&text);
}

struct talk_sum talk_list(const pdr_value *list, pdr_shape shape)
{
    struct talk_sum sum = {0, 0};
    pdr_iter it;

    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it))
        sum_message(&sum, it.value, shape);
    return sum;
}

/* A client that counts what it is sent. */
struct counter {
    pdr_client base;
    struct talk_sum sum;
};

static pdr_rc counter_send(pdr_client *self, const pdr_client_request *request,
                           pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct counter *counter = (struct counter *)self;
    const pdr_update update = {.role = no_text, .finish_reason = no_text};

    for (size_t i = 0; i < request->count; i++)
        sum_message(&counter->sum, request->messages[i].value,
                    request->messages[i].shape);
    return fn(&update, err, arg);
}

static void counter_free(pdr_client *self)
{
    (void)self; /* static */
}

struct talk_sum talk_sent(const pdr_run *where)
{
    static const pdr_client_ops ops = {PDR_CLIENT_OPS_VERSION, "counter",
                                       counter_send, counter_free};
    static struct counter counter;
    pdr_err err = PDR_ERR_INIT;

    counter = (struct counter){.sum = {0, 0}};
    talk_must(pdr_client_init(&counter.base, &ops, &err), &err);
    pdr_agent *agent = agent_of(&counter.base, 0);
    talk_run(agent, where);
    pdr_agent_free(agent);
    return counter.sum;
}
