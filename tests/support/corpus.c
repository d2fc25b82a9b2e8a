/*
 * corpus.c - see corpus.h.
 */
#include "corpus.h"

#include <dirent.h>
#include <sys/stat.h>

static size_t complaints;

/* --- files --------------------------------------------------------------- */

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int list_folder(struct dirent ***out, const char *folder)
{
    char full[1024];

    snprintf(full, sizeof(full), "%s/%s", test_data_folder(), folder);
    int count = scandir(full, out, visible, by_bytes);
    if (count < 0)
        fail_msg("cannot list %s", full);
    return count;
}

static bool is_file(const char *path, bool *is_folder)
{
    char full[2048];
    struct stat info;

    snprintf(full, sizeof(full), "%s/%s", test_data_folder(), path);
    if (stat(full, &info) != 0)
        return false;
    *is_folder = S_ISDIR(info.st_mode);
    return true;
}

/* A block of exactly the file's size, so that ASan sees the first byte read
 * behind it. */
static pdr_str read_exactly(const char *path)
{
    size_t len = 0;
    char *text = test_read_data(path, &len);
    char *exact = malloc(len > 0 ? len : 1);

    assert_non_null(exact);
    memcpy(exact, text, len);
    free(text);
    return pdr_str_n(exact, len);
}

static unsigned read_options(const char *folder, const char *name)
{
    char path[600];
    bool is_folder = false;

    snprintf(path, sizeof(path), "%s/%s/options", folder, name);
    if (!is_file(path, &is_folder))
        return 0;
    size_t len = 0;
    char *text = test_read_data(path, &len);
    if (strcmp(text, "bare_tokens\n") != 0)
        fail_msg("%s: unknown option %s", path, text);
    free(text);
    return PDR_BARE_TOKENS;
}

static void load_case(struct corpus_case *out, const char *folder,
                      const char *name, const char *file)
{
    char path[600];

    out->name = strdup(name);
    assert_non_null(out->name);
    snprintf(path, sizeof(path), "%s/%s/input", folder, name);
    out->input = read_exactly(path);
    snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
    out->expected = read_exactly(path);
    if (strcmp(file, "error") == 0 && out->expected.len > 0)
        out->expected.len--;
    out->flags = read_options(folder, name);
}

void corpus_load(struct corpus *out, const char *folder, const char *file)
{
    struct dirent **entries = NULL;
    int count = list_folder(&entries, folder);

    out->count = 0;
    out->cases = calloc((size_t)count + 1, sizeof(*out->cases));
    assert_non_null(out->cases);
    for (int i = 0; i < count; i++) {
        load_case(&out->cases[out->count++], folder, entries[i]->d_name, file);
        free(entries[i]);
    }
    free(entries);
}

void corpus_free(struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->count; i++) {
        free((char *)(uintptr_t)corpus->cases[i].name);
        free((char *)(uintptr_t)corpus->cases[i].input.ptr);
        free((char *)(uintptr_t)corpus->cases[i].expected.ptr);
    }
    free(corpus->cases);
    corpus->cases = NULL;
    corpus->count = 0;
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t len = strlen(text), end = strlen(suffix);

    return len >= end && strcmp(text + len - end, suffix) == 0;
}

size_t corpus_each_file(const char *folder, const char *suffix,
                        corpus_file_fn fn)
{
    struct dirent **entries = NULL;
    int count = list_folder(&entries, folder);
    size_t files = 0;

    for (int i = 0; i < count; i++) {
        char path[1024];
        bool is_folder = false;

        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
        if (!is_file(path, &is_folder))
            fail_msg("cannot look at %s", path);
        if (is_folder) {
            files += corpus_each_file(path, suffix, fn);
        } else if (ends_with(path, suffix)) {
            pdr_str content = read_exactly(path);
            fn(path, content);
            free((char *)(uintptr_t)content.ptr);
            files++;
        }
    }
    free(entries);
    return files;
}

/* --- verdicts ------------------------------------------------------------ */

void corpus_complain(const char *name, const char *way, const char *fmt, ...)
{
    char text[800];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    print_error("%s (%s): %s\n", name, way, text);
    complaints++;
}

void corpus_assert_no_complaint(void)
{
    size_t count = complaints;

    complaints = 0;
    if (count > 0)
        fail_msg("%zu complaints, see above", count);
}

struct corpus_error corpus_expected_error(const struct corpus_case *c)
{
    struct corpus_error e = {.offset = -2};
    char line[256];
    int at = 0;
    long long offset = 0;

    snprintf(line, sizeof(line), "%.*s", (int)c->expected.len, c->expected.ptr);
    if (sscanf(line, "%63s %lld%n", e.reason, &offset, &at) != 2)
        fail_msg("%s: error file is not 'reason offset path'", c->name);
    e.offset = offset;
    if (line[at] == ' ')
        snprintf(e.path, sizeof(e.path), "%s", line + at + 1);
    return e;
}

bool corpus_error_is(const struct corpus_case *c, const char *way,
                     const struct corpus_error *expected, const pdr_err *err)
{
    if (strcmp(expected->reason, err->reason) == 0 &&
        expected->offset == err->offset &&
        strcmp(expected->path, err->path) == 0 && err->message[0] != '\0')
        return true;
    corpus_complain(c->name, way, "expected %s %lld %s, got %s %lld %s",
                    expected->reason, (long long)expected->offset,
                    expected->path, err->reason, (long long)err->offset,
                    err->path);
    return false;
}

size_t corpus_kernels(struct corpus_kernel out[4])
{
    static const struct corpus_kernel all[] = {
        {PDR_KERNEL_BEST, "best"},
        {PDR_KERNEL_PORTABLE, "portable"},
        {PDR_KERNEL_SSE2, "sse2"},
        {PDR_KERNEL_AVX2, "avx2"}};
    static bool said[4];
    size_t count = 0;

    for (size_t i = 0; i < 4; i++) {
        pdr_read_opts opts = {.kernel = all[i].kernel};
        pdr_value *value = NULL;
        pdr_rc rc = pdr_json_read(&value, pdr_str_c("1"), &opts, NULL);

        pdr_value_free(value);
        if (rc == PDR_OK)
            out[count++] = all[i];
        else if (rc != PDR_EUNSUPPORTED)
            fail_msg("kernel %s: %s", all[i].name, pdr_rc_name(rc));
        else if (!said[i])
            fprintf(stderr, "kernel %s is not offered here\n", all[i].name);
        said[i] = rc == PDR_EUNSUPPORTED;
    }
    return count;
}
