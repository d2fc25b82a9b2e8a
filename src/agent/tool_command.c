/*
 * tool_command.c - a program as a tool.
 *
 * WHY  Users without a compiler write tools as programs. One gets its arguments
 *      as JSON on standard input and prints its result. It is started directly,
 *      never by a shell, with an environment that was written down, and it is
 *      gone when the call returns: killed with all its children if it hangs,
 *      floods, or the run is cancelled.
 *
 *      arguments ──► stdin │ program │ stdout ──► result
 *                          │         │ stderr ──► the error, its last line
 *
 * A group of processes of its own is what makes "with all its children" true.
 * The token of a durable call is in its environment, whatever else is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"

#include <perdure/json.h>

#define USUAL_TIMEOUT_MS 60000
#define USUAL_MAX_BYTES  ((size_t)1 << 20)
#define MAX_ERROR_BYTES  ((size_t)8 << 10) /* of what it says as an error */
#define POLL_MS          50                /* until a cancel is noticed */

#define TOKEN "PERDURE_TOKEN=" /* of a durable call, in the environment */

/* A program at work. */
struct child {
    pid_t pid;        /* 0: not started, or gone */
    int in, out, err; /* our ends of its pipes; -1: closed */
    pdr_buf stdout_text, stderr_text;
};

static void pipe_close(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

/* End it with its children, and wait for it. */
static void child_dispose(struct child *c)
{
    pipe_close(&c->in);
    pipe_close(&c->out);
    pipe_close(&c->err);
    if (c->pid > 0) {
        (void)kill(-c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    pdr_buf_dispose(&c->stdout_text);
    pdr_buf_dispose(&c->stderr_text);
}

/* What the program finds in its environment: owned, in one piece. */
static pdr_rc env_make(const char ***out, const pdr_command *command,
                       pdr_str token, pdr_err *err)
{
    static const char *const path_only[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                            NULL};
    const char *const *env = command->env != NULL ? command->env : path_only;
    const bool has_token =
        token.len > 0 && memchr(token.ptr, '\0', token.len) == NULL;
    size_t count = 0, n = 0, lead = strlen(TOKEN);
    char *text = NULL;

    while (env[count] != NULL)
        count++;
    *out = pdr__calloc(1, (count + 2) * sizeof(**out) + lead + token.len + 1);
    if (*out == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < count; i++) {
        if (!has_token || strncmp(env[i], TOKEN, lead) != 0)
            (*out)[n++] = env[i];
    }
    if (has_token) {
        text = (char *)(*out + count + 2);
        memcpy(text, TOKEN, lead);
        memcpy(text + lead, token.ptr, token.len);
        (*out)[n] = text;
    }
    return PDR_OK;
}

static pdr_rc child_start(struct child *c, const pdr_command *command,
                          const char *const *env, pdr_err *err)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    char shown[PDR_SHOWN];
    int code = 0;

    for (int i = 0; i < 3 && code == 0; i++)
        code = pipe2(pipes[i], O_CLOEXEC) == 0 ? 0 : errno;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)sigemptyset(&none);
    (void)sigfillset(&usual);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &usual);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                                    POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, pipes[0][0], 0);
    for (int i = 1; i < 3 && code == 0; i++)
        code = posix_spawn_file_actions_adddup2(&actions, pipes[i][1], i);
    if (code == 0 && command->folder != NULL)
        code = posix_spawn_file_actions_addchdir_np(&actions, command->folder);
    if (code == 0)
        code = posix_spawnp(&c->pid, command->argv[0], &actions, &attributes,
                            (char *const *)(uintptr_t)command->argv,
                            (char *const *)(uintptr_t)env);
    if (code != 0)
        c->pid = 0;
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    pipe_close(&pipes[0][0]);
    pipe_close(&pipes[1][1]);
    pipe_close(&pipes[2][1]);
    c->in = pipes[0][1];
    c->out = pipes[1][0];
    c->err = pipes[2][0];
    for (int i = 0; i < 3; i++) {
        int end = i == 0 ? c->in : i == 1 ? c->out : c->err;

        if (end >= 0)
            (void)fcntl(end, F_SETFL, O_NONBLOCK);
    }
    if (code == 0)
        return PDR_OK;
    return PDR_FAIL(err, TOOL_FAILED, "cannot start '%s': %s",
                    pdr__shown(shown, pdr_str_c(command->argv[0])),
                    strerror(code));
}

/* Take what a pipe has; closes it at its end. More than `max` bytes of the
 * error output are dropped, of the result refused. */
static pdr_rc pipe_read(int *end, pdr_buf *into, size_t max, bool drops,
                        pdr_err *err)
{
    char chunk[16384];
    ssize_t got = read(*end, chunk, sizeof(chunk));

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return PDR_OK;
    if (got <= 0) {
        pipe_close(end);
        return PDR_OK;
    }
    if ((size_t)got > max - into->len) {
        if (drops)
            return PDR_OK;
        return PDR_FAIL(err, TOO_LARGE,
                        "the program printed more than %zu bytes", max);
    }
    return pdr_buf_append(into, pdr_str_n(chunk, (size_t)got), err);
}

/* Write what is left of the input; closes the pipe behind it, or if the program
 * does not want it. SIGPIPE is blocked for the write: the process may not
 * ignore it. */
static void pipe_write(int *end, pdr_str *rest)
{
    sigset_t pipe_only, before;
    const struct timespec at_once = {0, 0};
    ssize_t put = 0;

    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    put = write(*end, rest->ptr, rest->len);
    if (put < 0 && errno == EPIPE && sigismember(&before, SIGPIPE) == 0)
        (void)sigtimedwait(&pipe_only, NULL, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (put > 0) {
        rest->ptr += put;
        rest->len -= (size_t)put;
    }
    if (put <= 0 || rest->len == 0)
        pipe_close(end);
}

/* Has it ended? Then what it started has to end, too, although somebody may
 * still hold the pipes. It is not waited for yet, so that its number, which is
 * that of the group, means nobody else. */
static bool child_is_gone(const struct child *c)
{
    siginfo_t info = {.si_pid = 0};

    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno == ECHILD; /* somebody else waited for it */
    if (info.si_pid == 0)
        return false;
    (void)kill(-c->pid, SIGKILL);
    return true;
}

/* Feed it and listen until it has closed its output and ended. */
static pdr_rc child_talk(struct child *c, const pdr_command *command,
                         pdr_str input, pdr_cancel *cancel, pdr_err *err)
{
    const struct pdr__clock *clock = pdr__clock_system();
    uint32_t limit =
        command->timeout_ms > 0 ? command->timeout_ms : USUAL_TIMEOUT_MS;
    size_t max = command->max_bytes > 0 ? command->max_bytes : USUAL_MAX_BYTES;
    int64_t until = pdr__monotonic_ms(clock) + limit;
    int64_t nap_ms = 1; /* who closes its output ends soon, as a rule */
    bool is_gone = false;
    pdr_rc rc = PDR_OK;

    while (c->out >= 0 || c->err >= 0 || !is_gone) {
        struct pollfd ends[3] = {{.fd = c->in, .events = POLLOUT},
                                 {.fd = c->out, .events = POLLIN},
                                 {.fd = c->err, .events = POLLIN}};
        const bool is_silent = c->out < 0 && c->err < 0;
        int64_t left = until - pdr__monotonic_ms(clock);

        if (pdr_cancel_is_set(cancel))
            return PDR_FAIL(err, RUN_CANCELLED, "%s", "the run was cancelled");
        if (left <= 0)
            return PDR_FAIL(err, TOOL_TIMEOUT,
                            "the program took longer than %u ms", limit);
        if (is_silent && nap_ms < POLL_MS)
            nap_ms *= 2;
        if (left > (is_silent ? nap_ms : POLL_MS))
            left = is_silent ? nap_ms : POLL_MS;
        if (poll(ends, 3, (int)left) < 0)
            continue; /* interrupted */
        if (c->in >= 0 && ends[0].revents != 0)
            pipe_write(&c->in, &input);
        if (c->out >= 0 && ends[1].revents != 0)
            PDR_TRY(pipe_read(&c->out, &c->stdout_text, max, false, err));
        if (c->err >= 0 && ends[2].revents != 0)
            PDR_TRY(pipe_read(&c->err, &c->stderr_text, MAX_ERROR_BYTES, true,
                              err));
        is_gone = is_gone || child_is_gone(c);
    }
done:
    return rc;
}

/* The last line that it printed as an error, without control characters. */
static const char *error_line(char out[PDR_SHOWN], const pdr_buf *text)
{
    size_t end = text->len, begin = 0;

    if (end == 0)
        return pdr__shown(out, PDR_LIT(""));
    while (end > 0 && strchr(" \t\r\n", text->ptr[end - 1]) != NULL)
        end--;
    begin = end;
    while (begin > 0 && text->ptr[begin - 1] != '\n')
        begin--;
    return pdr__shown(out, pdr_str_n(text->ptr + begin, end - begin));
}

static pdr_rc child_end(struct child *c, const pdr_command *command,
                        pdr_err *err)
{
    char shown[PDR_SHOWN], line[PDR_SHOWN];
    int status = 0;
    pid_t ended = -1;

    while ((ended = waitpid(c->pid, &status, 0)) < 0 && errno == EINTR)
        continue;
    c->pid = 0;
    (void)pdr__shown(shown, pdr_str_c(command->argv[0]));
    if (ended < 0)
        return PDR_FAIL(err, TOOL_FAILED,
                        "how '%s' ended is not known: SIGCHLD is ignored here",
                        shown);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PDR_OK;
    if (WIFEXITED(status))
        return PDR_FAIL(err, TOOL_FAILED, "'%s' exited with status %d: %s",
                        shown, WEXITSTATUS(status),
                        error_line(line, &c->stderr_text));
    return PDR_FAIL(err, TOOL_FAILED, "'%s' was ended by signal %d", shown,
                    WTERMSIG(status));
}

/* JSON if it is, else the text without its last line break. */
static pdr_rc read_result(pdr_value **out, const pdr_buf *text, pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    size_t len = text->len;
    pdr_rc rc = PDR_OK;

    while (len > 0 &&
           (text->ptr[len - 1] == '\n' || text->ptr[len - 1] == '\r'))
        len--;
    if (len == 0)
        return PDR_OK;
    rc = pdr_json_read(out, pdr_str_n(text->ptr, len), NULL, &why);
    if (rc == PDR_ENOMEM)
        return pdr__err_pass(err, &why);
    if (rc == PDR_OK)
        return PDR_OK;
    rc = pdr_value_new_string(out, pdr_str_n(text->ptr, len), &why);
    if (rc == PDR_EINVALID)
        return PDR_FAIL(err, TOOL_FAILED, "%s",
                        "the program printed neither JSON nor UTF-8");
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

pdr_rc pdr_command_run(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                       void *arg)
{
    const pdr_command *command = arg;
    struct child c = {.in = -1,
                      .out = -1,
                      .err = -1,
                      .stdout_text = PDR_BUF_INIT(SIZE_MAX),
                      .stderr_text = PDR_BUF_INIT(MAX_ERROR_BYTES)};
    pdr_buf input = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    const char **env = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && call != NULL && command != NULL &&
                command->argv != NULL && command->argv[0] != NULL);
    *out = NULL;
    PDR_TRY(pdr_json_write(&input, call->arguments, NULL, err));
    PDR_TRY(env_make(&env, command, call->token, err));
    PDR_TRY(child_start(&c, command, env, err));
    PDR_TRY(child_talk(&c, command, pdr_buf_str(&input), call->cancel, err));
    PDR_TRY(child_end(&c, command, err));
    PDR_TRY(read_result(out, &c.stdout_text, err));
done:
    child_dispose(&c);
    pdr_buf_dispose(&input);
    pdr__free(env);
    return rc;
}
