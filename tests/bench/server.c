/*
 * server.c - servers of other libraries.
 */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROOM     (64u << 10) /* of a request and of an answer */
#define WAIT_MS  60000u
#define REST_MS  20u
#define MAX_WORD 16u

static void rest_ms(unsigned ms)
{
    const struct timespec rest = {ms / 1000, (long)(ms % 1000) * 1000000};

    (void)nanosleep(&rest, NULL);
}

/* --- processes ------------------------------------------------------------ */

/* Does not return. execv() changes none of the words. */
static void become(const char *folder, const char *log, pid_t parent,
                   const char *const *words)
{
    char *argv[MAX_WORD + 1] = {NULL};
    size_t count = 0;
    int fd = open(log, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    while (count < MAX_WORD && words[count] != NULL)
        count++;
    memcpy(argv, words, count * sizeof(argv[0]));
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ||
        chdir(folder) != 0)
        _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

pid_t server_start(const char *folder, const char *log,
                   const char *const *words)
{
    char path[512];
    pid_t parent = getpid();

    bench_path(path, sizeof(path), log);
    if (access(words[0], X_OK) != 0)
        bench_fail("there is no %s: make bench installs it", words[0]);
    pid_t pid = fork();
    if (pid == 0)
        become(folder, path, parent, words);
    if (pid < 0)
        bench_fail("cannot start %s: %s", words[0], strerror(errno));
    return pid;
}

void server_stop(pid_t pid)
{
    int status = 0;

    (void)kill(pid, SIGTERM);
    for (unsigned ms = 0; ms < WAIT_MS; ms += REST_MS) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return;
        rest_ms(REST_MS);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
}

void server_pause(pid_t pid, bool rests)
{
    if (kill(pid, rests ? SIGSTOP : SIGCONT) != 0)
        bench_fail("a server has ended; its log is in the data folder");
}

double server_core_ns(pid_t pid)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof(text), file) == NULL)
        bench_fail("%s: the server has ended; its log is in the data folder",
                   path);
    fclose(file);
    const char *rest = strrchr(text, ')'); /* the name may have anything */
    if (rest == NULL ||
        sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
               &user, &system) != 2)
        bench_fail("%s: not as expected", path);
    return (double)(user + system) * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

static int remove_one(const char *path, const struct stat *info, int kind,
                      struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

void server_remove(const char *folder)
{
    if (nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 &&
        errno != ENOENT)
        bench_fail("%s: cannot be removed: %s", folder, strerror(errno));
}

/* --- ports ---------------------------------------------------------------- */

static struct sockaddr_in address_of(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

unsigned server_port(void)
{
    struct sockaddr_in address = address_of(0);
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        bench_fail("there is no port: %s", strerror(errno));
    (void)close(fd);
    return ntohs(address.sin_port);
}

/* -1: nobody listens. */
static int connect_to(unsigned port)
{
    const struct sockaddr_in address = address_of(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    if (fd < 0)
        bench_fail("there is no socket: %s", strerror(errno));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(fd);
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

void server_await(unsigned port)
{
    int fd = -1;

    for (unsigned ms = 0; fd < 0 && ms < WAIT_MS; ms += REST_MS) {
        fd = connect_to(port);
        if (fd < 0)
            rest_ms(REST_MS);
    }
    if (fd < 0)
        bench_fail("nobody listens on port %u", port);
    (void)close(fd);
}

/* --- HTTP ----------------------------------------------------------------- */

void server_line_init(struct server_line *line, unsigned port)
{
    *line = (struct server_line){
        .fd = -1, .port = port, .room = bench_reserve(ROOM)};
}

void server_line_end(struct server_line *line)
{
    if (line->fd >= 0)
        (void)close(line->fd);
    free(line->room);
}

static void send_all(struct server_line *line, size_t len)
{
    size_t at = 0;

    while (at < len) {
        ssize_t sent = send(line->fd, line->room + at, len - at, MSG_NOSIGNAL);
        if (sent <= 0)
            bench_fail("port %u: %s", line->port, strerror(errno));
        at += (size_t)sent;
    }
}

/* The value of a header; -1: there is none. */
static long header_number(const char *head, const char *name)
{
    for (const char *at = head; at != NULL; at = strstr(at, "\r\n")) {
        at += at == head ? 0 : 2;
        if (strncasecmp(at, name, strlen(name)) == 0)
            return strtol(at + strlen(name), NULL, 10);
    }
    return -1;
}

/* Read on until the answer has `end` bytes; 0: until its head is there. */
static size_t receive(struct server_line *line, size_t have, size_t end)
{
    while (end > 0 ? have < end
                   : have == 0 || strstr(line->room, "\r\n\r\n") == NULL) {
        ssize_t got = have + 1 < ROOM ? recv(line->fd, line->room + have,
                                             ROOM - 1 - have, 0)
                                      : 0;
        if (got <= 0)
            bench_fail("port %u: the answer ends early", line->port);
        have += (size_t)got;
        line->room[have] = '\0';
    }
    return have;
}

const char *server_post(struct server_line *line, const char *path,
                        const char *json)
{
    if (line->fd < 0)
        line->fd = connect_to(line->port);
    int len = snprintf(line->room, ROOM,
                       "POST %s HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       path, strlen(json), json);
    if (line->fd < 0 || len >= (int)ROOM)
        bench_fail("port %u: cannot be asked", line->port);
    send_all(line, (size_t)len);
    size_t have = receive(line, 0, 0);
    size_t head = (size_t)(strstr(line->room, "\r\n\r\n") + 4 - line->room);
    long bytes = header_number(line->room, "content-length:");
    if (bytes < 0)
        bench_fail("port %u: an answer without a length", line->port);
    if (bytes > 0)
        (void)receive(line, have, head + (size_t)bytes);
    if (strncmp(line->room, "HTTP/1.1 2", 10) != 0)
        bench_fail("port %u: %s", line->port, line->room);
    return line->room + head;
}
