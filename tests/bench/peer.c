/*
 * peer.c - a Python program in a process of its own, on the same core.
 */
#include "peer.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 8u

void peer_start(struct peer *peer, const char *script, const char *first,
                const char *second)
{
    peer_start_words(peer, script, (const char *const[]){first, second, NULL});
}

/* Does not return. execv() changes none of the words; its type is older than
 * const. */
static void become(const char *script, const char *const *words)
{
    const char *all[MAX_WORDS + 3] = {BENCH_PYTHON, script};
    char *argv[MAX_WORDS + 3] = {NULL};

    for (size_t i = 0; i < MAX_WORDS && words[i] != NULL; i++)
        all[i + 2] = words[i];
    memcpy(argv, all, sizeof(argv));
    execv(BENCH_PYTHON, argv);
    _exit(127);
}

void peer_start_words(struct peer *peer, const char *script,
                      const char *const *words)
{
    int to[2], from[2];

    if (access(BENCH_PYTHON, X_OK) != 0)
        bench_fail("there is no %s: make bench installs it", BENCH_PYTHON);
    if (pipe(to) != 0 || pipe(from) != 0)
        bench_fail("cannot make a pipe");
    peer->pid = fork();
    if (peer->pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        become(script, words);
    }
    close(to[0]);
    close(from[1]);
    peer->to = fdopen(to[1], "w");
    peer->from = fdopen(from[0], "r");
    if (peer->pid < 0 || peer->to == NULL || peer->from == NULL)
        bench_fail("cannot start %s", BENCH_PYTHON);
}

void peer_hear(struct peer *peer, char *line, size_t cap)
{
    if (fgets(line, (int)cap, peer->from) == NULL)
        bench_fail("the Python library ended; its own message is above");
    line[strcspn(line, "\n")] = '\0';
}

void peer_ask(struct peer *peer, const char *work, char *line, size_t cap)
{
    fprintf(peer->to, "%s\n", work);
    fflush(peer->to);
    peer_hear(peer, line, cap);
}

void peer_stop(struct peer *peer)
{
    int status = 0;

    fclose(peer->to);
    fclose(peer->from);
    if (waitpid(peer->pid, &status, 0) != peer->pid || status != 0)
        bench_fail("the Python library ended with status %d", status);
}
