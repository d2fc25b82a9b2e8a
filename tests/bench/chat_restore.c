/*
 * chat_restore.c - what does it cost to restore a saved chat, and to save it?
 *
 * restore         A chat of 10,000 messages in the form of Semantic Kernel: two
 *     agents with one history channel, and one agent whose channel is a thread.
 *     pdr_chat_open() and pdr_chat_apply() into a chat whose agents have
 *     joined, and the state released. Against reading the same bytes into a
 *     value, and releasing that.
 * restore/python  The same against json.loads() of CPython.
 * save, save/native  The restored chat, written to memory in the form that it
 *     came in, and in ours.
 *
 * All sides are in one race.
 */
#include <stdio.h>
#include <string.h>

#include <perdure/sys/channel.h>

#include "chat_talk.h"
#include "ours.h"
#include "peer.h"

#define MESSAGES       10000u
#define QUICK_MESSAGES 100u
#define DOCUMENT       "chat-sk.json" /* in the data folder */
#define LINE_ROOM      200u

struct job {
    struct bench_text text;
    size_t messages;
    pdr_agent *agents[3];
    pdr_remote service;
    pdr_chat *restored; /* of the last call */
    pdr_chat *saved;    /* that is saved again and again */
    pdr_buf out;
    struct peer python;
};

/* --- the document --------------------------------------------------------- */

static void put_messages(FILE *file, size_t count)
{
    static const char *const who[] = {
        "null,\"Role\":{\"Label\":\"user\"}",
        "\"baker\",\"Role\":{\"Label\":\"assistant\"}",
        "\"clerk\",\"Role\":{\"Label\":\"assistant\"}",
        "\"guide\",\"Role\":{\"Label\":\"Assistant\"}"};
    char text[CHAT_TEXT_ROOM];

    for (size_t n = 0; n < count; n++)
        fprintf(file,
                "%c{\"AuthorName\":%s,\"Items\":[{\"$type\":\"TextContent\","
                "\"Text\":\"%s\"}]}",
                n == 0 ? '[' : ',', who[n % 4], chat_text(text, n));
    fputc(']', file);
}

/* As its serialiser writes them: indented, but lists on one line. */
static struct bench_text document_make(size_t messages)
{
#define SK "Microsoft.SemanticKernel.Agents."
    char path[512];

    bench_path(path, sizeof(path), DOCUMENT);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        bench_fail("cannot write %s", path);
    fputs("{\n  \"Participants\": [\n"
          "    {\n      \"Id\": \"baker\",\n      \"Name\": \"baker\",\n"
          "      \"Type\": \"" SK "ChatCompletionAgent\"\n    },\n"
          "    {\n      \"Id\": \"clerk\",\n      \"Name\": \"clerk\",\n"
          "      \"Type\": \"" SK "ChatCompletionAgent\"\n    },\n"
          "    {\n      \"Id\": \"guide\",\n      \"Name\": \"guide\",\n"
          "      \"Type\": \"" SK "OpenAI.OpenAIAssistantAgent\"\n    }\n"
          "  ],\n  \"History\": ",
          file);
    put_messages(file, messages);
    fputs(",\n  \"Channels\": [\n    {\n"
          "      \"ChannelKey\": "
          "\"QVPVnCN6XICnw8P4xjI9AUH6qmyd2mPGW/awkrIyTGw=\",\n"
          "      \"ChannelType\": \"" SK "OpenAI.OpenAIAssistantChannel\",\n"
          "      \"ChannelState\": \"thread_demo01\"\n    },\n    {\n"
          "      \"ChannelKey\": "
          "\"Vdx37EnWT9BS\\u002BkkCkEgFCg9uHvHNw1\\u002BhXMA4sgNMKs4=\",\n"
          "      \"ChannelType\": \"" SK "ChatHistoryChannel\",\n"
          "      \"ChannelState\": ",
          file);
    put_messages(file, messages);
    fputs("\n    }\n  ]\n}", file);
    if (fclose(file) != 0)
        bench_fail("cannot write %s", path);
    return bench_load(DOCUMENT);
#undef SK
}

/* --- a service that is asked nothing -------------------------------------- */

static pdr_rc thread_create(pdr_buf *thread, pdr_cancel *cancel, pdr_err *err,
                            void *self)
{
    (void)cancel;
    (void)self;
    return pdr_buf_append(thread, pdr_str_c("thread_demo02"), err);
}

static pdr_rc thread_check(pdr_str thread, pdr_err *err, void *self)
{
    (void)thread;
    (void)err;
    (void)self;
    return PDR_OK;
}

static pdr_rc thread_append(pdr_str thread, const pdr_remote_message *message,
                            pdr_cancel *cancel, pdr_err *err, void *self)
{
    (void)message;
    (void)cancel;
    return thread_check(thread, err, self);
}

static pdr_rc thread_run(pdr_str thread, const pdr_agent *agent,
                         pdr_chat_link *link, pdr_err *err, void *self)
{
    (void)agent;
    (void)link;
    return thread_check(thread, err, self);
}

static pdr_rc thread_read(pdr_str thread, pdr_err *err, void *self,
                          pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                       void *arg),
                          void *arg)
{
    (void)fn;
    (void)arg;
    return thread_check(thread, err, self);
}

static pdr_rc thread_remove(pdr_str thread, pdr_cancel *cancel, pdr_err *err,
                            void *self)
{
    (void)cancel;
    return thread_check(thread, err, self);
}

static const pdr_remote_ops service_ops = {.version = PDR_REMOTE_OPS_VERSION,
                                           .create = thread_create,
                                           .check = thread_check,
                                           .append = thread_append,
                                           .run = thread_run,
                                           .read = thread_read,
                                           .remove = thread_remove};

/* --- our side ------------------------------------------------------------- */

static pdr_chat *chat_with_agents(struct job *job)
{
    pdr_chat *chat = NULL;
    pdr_err err = PDR_ERR_INIT;

    chat_must(pdr_chat_new(&chat, NULL, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        pdr_chat_joining joining = {.agent = job->agents[i]};

        if (i == 2) {
            joining.kind = pdr_channel_remote();
            joining.arg = &job->service;
        }
        chat_must(pdr_chat_join(chat, &joining, &err), &err);
    }
    return chat;
}

static void restore(void *arg)
{
    struct job *job = arg;
    pdr_str left = ours_str(&job->text);
    pdr_chat_state *state = NULL;
    pdr_err err = PDR_ERR_INIT;

    job->restored = chat_with_agents(job);
    chat_must(pdr_chat_open(&state, NULL, &err, pdr_read_str, &left), &err);
    chat_must(pdr_chat_apply(NULL, job->restored, state, NULL, &err), &err);
    pdr_chat_state_free(state);
    pdr_chat_free(job->restored);
    job->restored = NULL;
}

static void read_alone(void *arg)
{
    struct job *job = arg;
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    chat_must(pdr_json_read(&value, ours_str(&job->text), NULL, &err), &err);
    pdr_value_free(value);
}

static void save(struct job *job, pdr_chat_form form)
{
    const pdr_chat_save_opts opts = {.form = form};
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(&job->out);
    chat_must(pdr_chat_save(job->saved, &opts, &err, pdr_write_buf, &job->out),
              &err);
}

static void save_sk(void *arg)
{
    save(arg, PDR_CHAT_SK);
}

static void save_native(void *arg)
{
    save(arg, PDR_CHAT_NATIVE);
}

/* --- both ----------------------------------------------------------------- */

static struct bench_time loads(void *arg)
{
    struct job *job = arg;
    unsigned long long taken = 0, used = 0;
    long preempted = 0;
    size_t messages = 0;
    char line[LINE_ROOM];

    peer_ask(&job->python, "loads", line, sizeof(line));
    if (sscanf(line, "%llu %llu %ld %zu", &taken, &used, &preempted,
               &messages) != 4 ||
        messages != job->messages)
        bench_fail("Python says '%s'", line);
    return (struct bench_time){taken, used, preempted == 0};
}

/* A chat that has all of it, and is written as it was read. */
static void check(struct job *job)
{
    pdr_str left = ours_str(&job->text);
    pdr_chat_state *state = NULL;
    pdr_chat_report *report = NULL;
    pdr_err err = PDR_ERR_INIT;

    job->saved = chat_with_agents(job);
    chat_must(pdr_chat_open(&state, NULL, &err, pdr_read_str, &left), &err);
    chat_must(pdr_chat_apply(&report, job->saved, state, NULL, &err), &err);
    if (report->which != PDR_CHAT_EQUIVALENT || report->count != 2 ||
        report->rows[0].what != PDR_CHAT_RESTORED ||
        report->rows[1].what != PDR_CHAT_MATCHED_BY_KIND ||
        pdr_chat_message_count(job->saved) != job->messages)
        bench_fail("the chat was not restored as it is");
    pdr_chat_report_free(report);
    pdr_chat_state_free(state);
    save_sk(job);
    if (job->out.len != job->text.len ||
        memcmp(job->out.ptr, job->text.ptr, job->text.len) != 0)
        bench_fail("the chat is saved as something else, %zu bytes",
                   job->out.len);
}

static void report_save(const char *name, const struct bench_side *side,
                        const struct bench_text *text)
{
    bench_note("clock", side->on_core ? "core" : "wall");
    bench_report(&(struct bench_figure){
        .name = name, .value = side->median_us, .unit = "us", .text = text});
}

int main(int argc, char **argv)
{
    static struct job job;
    struct bench_side ours = {.call = restore, .arg = &job};
    struct bench_side alone = {.call = read_alone, .arg = &job};
    struct bench_side python = {.timed = loads, .arg = &job};
    struct bench_side sk = {.call = save_sk, .arg = &job};
    struct bench_side native = {.call = save_native, .arg = &job};
    struct bench_side *sides[] = {&ours, &alone, &python, &sk, &native};
    char path[512], version[LINE_ROOM];

    ours_start(argc, argv, "chat");
    job.messages = bench_is_quick() ? QUICK_MESSAGES : MESSAGES;
    job.text = document_make(job.messages);
    job.out = ours_buffer(2 * job.text.len + 4096);
    job.service = (pdr_remote){.ops = &service_ops, .service = "desk"};
    for (size_t i = 0; i < 3; i++)
        job.agents[i] = chat_agent(i, 0);
    bench_path(path, sizeof(path), DOCUMENT);
    peer_start(&job.python, BENCH_SCRIPT, path, NULL);
    peer_hear(&job.python, version, sizeof(version));
    bench_note("baseline_version", version);
    check(&job);
    bench_race(sides, sizeof(sides) / sizeof(sides[0]), false);
    bench_row(&(struct bench_row){.name = "restore",
                                  .baseline = "reading alone",
                                  .ours = &ours,
                                  .theirs = &alone,
                                  .text = &job.text,
                                  .wanted = 0.3});
    bench_row(&(struct bench_row){.name = "restore/python",
                                  .baseline = "json.loads",
                                  .ours = &ours,
                                  .theirs = &python,
                                  .text = &job.text,
                                  .wanted = 4});
    report_save("save", &sk, &job.text);
    report_save("save/native", &native, &job.text);
    peer_stop(&job.python);
    pdr_chat_free(job.saved);
    for (size_t i = 0; i < 3; i++)
        pdr_agent_free(job.agents[i]);
    pdr_buf_dispose(&job.out);
    (void)remove(path);
    return 0;
}
