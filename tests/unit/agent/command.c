/*
 * A program as a tool: what it gets, what its output becomes, and that nothing
 * is left of it when it hangs, floods, or is not there.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <perdure.h>

#include "room.h"

static pdr_rc run_command(pdr_value **out, const pdr_command *command,
                          const char *arguments, pdr_cancel *cancel,
                          pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(arguments), NULL, NULL));
    const pdr_tool_call call = {.name = pdr_str_c("t"),
                                .call_id = pdr_str_c("1"),
                                .arguments = value,
                                .cancel = cancel};
    rc = pdr_command_run(out, &call, err, (void *)(uintptr_t)command);
    pdr_value_free(value);
    return rc;
}

TEST(command, gives_what_the_program_prints)
{
    static const struct {
        const char *script, *result; /* of sh -c; JSON, NULL: none */
    } cases[] = {
        {"cat", "{\"city\":\"Oslo\",\"n\":1.50}"},
        {"echo 17", "17"},
        {"echo '[1, 2]'", "[1,2]"},
        {"echo rain; echo snow", "\"rain\\nsnow\""},
        {"printf '\\303\\274ber'", "\"\xC3\xBC"
                                   "ber\""},
        {":", NULL},
        {"echo; echo", NULL},
        {"echo warning >&2; echo true", "true"},
        {"exec <&-; sleep 0.1; echo 1", "1"}, /* does not read */
        {"env | sort | head -n 1 | cut -c 1-5", "\"PATH=\""},
        {"head -c 300000 /dev/zero | tr '\\0' x | wc -c", "300000"},
        {"echo 1; exec >&- 2>&-; sleep 0.1", "1"},
        {"sleep 1000 & echo 1", "1"}, /* holds the pipes */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const argv[] = {"sh", "-c", cases[i].script, NULL};
        const pdr_command command = {.argv = argv};
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_value *out = NULL;
        pdr_err err = PDR_ERR_INIT;

        if (run_command(&out, &command, "{\"city\":\"Oslo\",\"n\":1.50}", NULL,
                        &err) != PDR_OK)
            fail_msg("%s: %s", cases[i].script, err.message);
        ASSERT((out != NULL) == (cases[i].result != NULL));
        if (out != NULL) {
            ASSERT_RC(PDR_OK, pdr_json_write(&text, out, NULL, &err));
            ASSERT_TEXT(cases[i].result, pdr_buf_str(&text));
        }
        pdr_buf_dispose(&text);
        pdr_value_free(out);
    }
}

/* The token of a durable call is there, whatever else is. */
TEST(command, finds_the_token_of_a_durable_call_in_its_environment)
{
    static const char *const own[] = {"PATH=/usr/bin:/bin", "A=1",
                                      "PERDURE_TOKEN=mine", NULL};
    static const char *const argv[] = {"sh", "-c", "echo \"$PERDURE_TOKEN $A\"",
                                       NULL};
    const struct {
        const char *const *env;
        const char *token, *result;
    } rows[] = {{NULL, "@dafx-a@k/c/1", "@dafx-a@k/c/1 "},
                {own, "@dafx-a@k/c/1", "@dafx-a@k/c/1 1"},
                {own, "", "mine 1"},
                {NULL, "", " "}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pdr_command command = {.argv = argv, .env = rows[i].env};
        pdr_value *out = NULL, *none = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_json_read(&none, pdr_str_c("{}"), NULL, NULL));
        const pdr_tool_call call = {.name = pdr_str_c("t"),
                                    .arguments = none,
                                    .token = pdr_str_c(rows[i].token)};
        if (pdr_command_run(&out, &call, &err, &command) != PDR_OK)
            fail_msg("%s", err.message);
        ASSERT(out != NULL &&
               pdr_value_text_is(out, pdr_str_c(rows[i].result)));
        pdr_value_free(out);
        pdr_value_free(none);
    }
}

static const struct {
    const char *argv[4];
    const char *folder;
    uint32_t timeout_ms;
    size_t max_bytes;
    pdr_rc rc;
    const char *reason, *message;
} failing[] = {
    {{"perdure-no-such-program", NULL},
     NULL,
     0,
     0,
     PDR_EIO,
     "tool_failed",
     "cannot start 'perdure-no-such-program': No such file or directory"},
    {{"true", NULL},
     "/nowhere",
     0,
     0,
     PDR_EIO,
     "tool_failed",
     "cannot start 'true': No such file or directory"},
    {{"sh", "-c", "echo one >&2; echo two >&2; exit 3", NULL},
     NULL,
     0,
     0,
     PDR_EIO,
     "tool_failed",
     "'sh' exited with status 3: two"},
    {{"sh", "-c", "kill -9 $$", NULL},
     NULL,
     0,
     0,
     PDR_EIO,
     "tool_failed",
     "'sh' was ended by signal 9"},
    {{"sh", "-c", "printf '\\377'", NULL},
     NULL,
     0,
     0,
     PDR_EIO,
     "tool_failed",
     "the program printed neither JSON nor UTF-8"},
    {{"sh", "-c", "sleep 1000", NULL},
     NULL,
     50,
     0,
     PDR_ETIMEOUT,
     "tool_timeout",
     "the program took longer than 50 ms"},
    {{"sh", "-c", "exec >&- 2>&-; sleep 1000", NULL},
     NULL,
     50,
     0,
     PDR_ETIMEOUT,
     "tool_timeout",
     "the program took longer than 50 ms"},
    {{"sh", "-c", "yes", NULL},
     NULL,
     0,
     1000,
     PDR_ELIMIT,
     "too_large",
     "the program printed more than 1000 bytes"},
    {{"sh", "-c", "yes >&2", NULL},
     NULL,
     200,
     0,
     PDR_ETIMEOUT,
     "tool_timeout",
     "the program took longer than 200 ms"},
};

TEST(command, that_fails_says_how)
{
    for (size_t i = 0; i < sizeof(failing) / sizeof(failing[0]); i++) {
        const pdr_command command = {.argv = failing[i].argv,
                                     .folder = failing[i].folder,
                                     .timeout_ms = failing[i].timeout_ms,
                                     .max_bytes = failing[i].max_bytes};
        pdr_value *out = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(failing[i].rc, run_command(&out, &command, "{}", NULL, &err));
        ASSERT_STR(failing[i].reason, err.reason);
        ASSERT_STR(failing[i].message, err.message);
        ASSERT(out == NULL);
    }
}

TEST(command, whose_end_nobody_can_know_has_failed)
{
    static const char *const scripts[] = {"exit 3", "echo 1"};
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);

    for (size_t i = 0; i < 2; i++) {
        const char *const argv[] = {"sh", "-c", scripts[i], NULL};
        const pdr_command command = {.argv = argv};
        pdr_value *out = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EIO, run_command(&out, &command, "{}", NULL, &err));
        ASSERT_STR("tool_failed", err.reason);
        ASSERT(strstr(err.message, "SIGCHLD") != NULL);
    }
    (void)signal(SIGCHLD, before);
}

TEST(command, gets_large_arguments_while_it_prints)
{
    const char *const argv[] = {"cat", NULL};
    const pdr_command command = {.argv = argv};
    size_t len = 700000;
    char *text = malloc(len + 16);
    pdr_value *out = NULL;
    pdr_err err = PDR_ERR_INIT;

    memset(text, 'x', len + 6);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + 6 + len, "\"}", 3);
    ASSERT_RC(PDR_OK, run_command(&out, &command, text, NULL, &err));
    ASSERT_INT(1, pdr_value_count(out));
    pdr_value_free(out);
    free(text);
}

/* A program that starts another one, which would go on for ever. */
TEST(command, leaves_no_child_behind)
{
    static const struct {
        const char *script; /* behind the start of the other one */
        pdr_rc rc;
    } cases[] = {{"wait", PDR_ETIMEOUT}, {"echo 1", PDR_OK}};

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct room room;
        char script[600];
        char *pid = NULL;
        size_t len = 0;

        room_enter(&room);
        snprintf(script, sizeof(script),
                 "sleep 1000 >/dev/null 2>&1 & echo $! > %s/pid; %s", room.path,
                 cases[k].script);
        const char *const argv[] = {"sh", "-c", script, NULL};
        const pdr_command command = {.argv = argv, .timeout_ms = 300};
        pdr_value *out = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(cases[k].rc, run_command(&out, &command, "{}", NULL, &err));
        pdr_value_free(out);
        pid = room_get(&room, "pid", &len);
        ASSERT(pid != NULL && len > 1);
        /* Whoever adopts it may not have waited for it yet. */
        for (int i = 0; i < 100 && kill((pid_t)strtol(pid, NULL, 10), 0) == 0;
             i++) {
            char path[64], state = 'Z';
            FILE *file = NULL;

            snprintf(path, sizeof(path), "/proc/%ld/stat",
                     strtol(pid, NULL, 10));
            file = fopen(path, "r");
            if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1)
                state = 'Z';
            if (file != NULL)
                fclose(file);
            if (state == 'Z')
                break;
            ASSERT(i < 99);
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        }
        free(pid);
        room_leave(&room);
    }
}

static void *cancel_soon(void *arg)
{
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    pdr_cancel_set(arg);
    return NULL;
}

TEST(command, ends_when_the_run_is_cancelled)
{
    const char *const argv[] = {"sleep", "1000", NULL};
    const pdr_command command = {.argv = argv};
    pdr_cancel *cancel = NULL;
    pdr_value *out = NULL;
    pthread_t thread;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_cancel_new(&cancel, &err));
    ASSERT_INT(0, pthread_create(&thread, NULL, cancel_soon, cancel));
    ASSERT_RC(PDR_ECANCELLED, run_command(&out, &command, "{}", cancel, &err));
    pthread_join(thread, NULL);
    pdr_cancel_free(cancel);
}

TEST_OOM(command, cleans_up_after_any_failed_allocation)
{
    const char *const argv[] = {"cat", NULL};
    const pdr_command command = {.argv = argv};
    pdr_value *arguments = NULL, *out = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK,
              pdr_json_read(&arguments, pdr_str_c("{\"a\":1}"), NULL, NULL));
    test_pause_failures(false);
    const pdr_tool_call call = {.arguments = arguments};
    rc = pdr_command_run(&out, &call, &err, (void *)(uintptr_t)&command);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(out);
    pdr_value_free(arguments);
}
