/* ui_page.c - how fast is the dashboard with much to show? In a browser, by
 * ui_page.py, which this becomes: benchmarks are programs of the build.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGS 16

int main(int argc, char **argv)
{
    char *args[MAX_ARGS + 4] = {BENCH_PYTHON, BENCH_SCRIPT, BENCH_PERDURE};
    for (int i = 1; i < argc && i <= MAX_ARGS; i++)
        args[i + 2] = argv[i];
    execv(args[0], args);
    fprintf(stderr, "%s: %s\n", args[0], strerror(errno));
    return 1;
}
