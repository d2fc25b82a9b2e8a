/*
 * standalone.c - replays inputs through a fuzz target, without libFuzzer.
 *
 *     replay-TARGET FILE|FOLDER...
 *
 * WHY  What the fuzzer found once must stay found, on every machine and with
 *      every compiler. A broken property ends the process, and the runner
 *      counts that; so the name of each input is printed before it runs.
 *
 * A folder that is not there is empty: not every target has regressions. Having
 * replayed nothing at all is a failure.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

struct names {
    char **items; /* owned, each too */
    size_t count;
};

static void *must_have(void *ptr)
{
    if (ptr == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return ptr;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct names list_folder(const char *path)
{
    struct names names = {NULL, 0};
    DIR *folder = opendir(path);

    if (folder == NULL)
        return names;
    for (struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        if (e->d_name[0] == '.')
            continue;
        size_t size = strlen(path) + strlen(e->d_name) + 2;
        char *name = must_have(malloc(size));
        snprintf(name, size, "%s/%s", path, e->d_name);
        names.items = must_have(
            realloc(names.items, (names.count + 1) * sizeof(*names.items)));
        names.items[names.count++] = name;
    }
    closedir(folder);
    if (names.count > 1)
        qsort(names.items, names.count, sizeof(*names.items), by_name);
    return names;
}

static size_t replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        perror(path);
        exit(2);
    }
    /* Exactly as long as the input, so that ASan sees a byte read too far. */
    uint8_t *data = must_have(malloc(size > 0 ? size : 1));
    if (fread(data, 1, size, file) != size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static size_t replay(const char *path)
{
    struct stat info;
    size_t count = 0;

    if (stat(path, &info) != 0)
        return 0;
    if (!S_ISDIR(info.st_mode))
        return replay_file(path, (size_t)info.st_size);
    struct names names = list_folder(path);
    for (size_t i = 0; i < names.count; i++) {
        count += replay(names.items[i]);
        free(names.items[i]);
    }
    free(names.items);
    return count;
}

static void record(const char *argv0, size_t count)
{
    const char *path = getenv("PERDURE_TEST_RECORD");
    const char *slash = strrchr(argv0, '/');
    FILE *file = path != NULL ? fopen(path, "w") : NULL;

    if (file == NULL)
        return;
    fprintf(file, "%s\t%s/every stored input keeps the property\t\n",
            count > 0 ? "pass" : "fail", slash != NULL ? slash + 1 : argv0);
    fclose(file);
}

int main(int argc, char **argv)
{
    size_t count = 0;

    for (int i = 1; i < argc; i++)
        count += replay(argv[i]);
    printf("%zu inputs replayed\n", count);
    record(argv[0], count);
    return count > 0 ? 0 : 1;
}
