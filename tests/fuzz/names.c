/* Names of files for any two keys: safe everywhere, read back as the keys, and
 * never the same for both, also where case is folded. The keys stand on both
 * sides of the first line feed. */
#include "fuzz.h"

#include <strings.h>

#include "folder.h"

#define ROOM ((size_t)1 << 16)

/* The stem of a key with a final NUL; false for what is no key. */
static bool make(pdr_buf *stem, pdr_str key, bool old)
{
    if (pdr_folder_stem(stem, key, old, NULL) != PDR_OK)
        return false;
    MUST(pdr_buf_append(stem, pdr_str_n("", 1), NULL) == PDR_OK);
    return true;
}

static void check_safe(const pdr_buf *stem)
{
    MUST(stem->len > 1 && stem->len <= 181);
    MUST(strlen(stem->ptr) == stem->len - 1);
    MUST(stem->ptr[0] != '.' && stem->ptr[stem->len - 2] != '.');
    for (size_t i = 0; i + 1 < stem->len; i++)
        MUST(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                    "0123456789._-~",
                    stem->ptr[i]) != NULL);
    MUST(strcasecmp(stem->ptr, "con") != 0);
    MUST(strncasecmp(stem->ptr, "nul.", 4) != 0);
}

static void check_one(pdr_str key, bool old)
{
    pdr_buf stem = PDR_BUF_INIT(ROOM), back = PDR_BUF_INIT(ROOM);
    bool known = false;

    if (make(&stem, key, old)) {
        pdr_str name = pdr_str_n(stem.ptr, stem.len - 1);
        check_safe(&stem);
        MUST(pdr__stem_key(&back, &known, name, old, NULL) == PDR_OK);
        MUST(known != pdr__stem_is_hash(name));
        MUST(!known || pdr_str_equal(key, pdr_buf_str(&back)));
    }
    pdr_buf_dispose(&stem);
    pdr_buf_dispose(&back);
}

/* A name that nobody made is either that of one key or of none. */
static void check_back(pdr_str name, bool old)
{
    pdr_buf key = PDR_BUF_INIT(ROOM), stem = PDR_BUF_INIT(ROOM);
    bool known = false;

    MUST(pdr__stem_key(&key, &known, name, old, NULL) == PDR_OK);
    if (known) {
        MUST(pdr__stem(&stem, pdr_buf_str(&key), old, NULL) == PDR_OK);
        MUST(pdr_str_equal(name, pdr_buf_str(&stem)));
    }
    pdr_buf_dispose(&key);
    pdr_buf_dispose(&stem);
}

static void check_two(pdr_str a, pdr_str b)
{
    pdr_buf one = PDR_BUF_INIT(ROOM), two = PDR_BUF_INIT(ROOM);

    if (!pdr_str_equal(a, b) && make(&one, a, false) && make(&two, b, false))
        MUST(strcasecmp(one.ptr, two.ptr) != 0);
    pdr_buf_dispose(&one);
    pdr_buf_dispose(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str all = {(const char *)data, size}, a = all, b = {NULL, 0};
    const char *line = size > 0 ? memchr(data, '\n', size) : NULL;

    if (size > 4096)
        return 0;
    if (line != NULL) {
        a.len = (size_t)(line - all.ptr);
        b = pdr_str_n(line + 1, size - a.len - 1);
    }
    for (int old = 0; old < 2; old++) {
        check_one(a, old == 1);
        check_one(all, old == 1);
        check_back(a, old == 1);
    }
    check_two(a, b);
    return 0;
}
