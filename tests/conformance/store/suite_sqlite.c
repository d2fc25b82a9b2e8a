/* The suite on "sqlite:", each store in a folder of its own. With SUITE_KEYED
 * its digests have a key. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

#ifndef SUITE_KEYED
#define SUITE_KEYED 0
#endif

static char folder[256], uri[900], read_only[1000];

static void write_key(const char *path)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    ASSERT(fputs("0123456789abcdef0123456789abcdef", file) >= 0);
    ASSERT_INT(0, fclose(file));
    ASSERT_INT(0, chmod(path, 0600));
}

static const char *place(void)
{
    const char *base = getenv("TMPDIR");
    char key[300];

    snprintf(folder, sizeof(folder), "%s/perdure-suite-XXXXXX",
             base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(uri, sizeof(uri), "sqlite:%s/suite.db", folder);
    if (SUITE_KEYED) {
        snprintf(key, sizeof(key), "%s/key", folder);
        write_key(key);
        snprintf(uri, sizeof(uri), "sqlite:%s/suite.db?key=%s", folder, key);
    }
    return uri;
}

static const char *for_reading(const char *used)
{
    snprintf(read_only, sizeof(read_only), "%s%cmode=ro", used,
             SUITE_KEYED ? '&' : '?');
    return read_only;
}

static void clear(const char *used)
{
    static const char *const names[] = {"suite.db", "suite.db-wal",
                                        "suite.db-shm", "suite.db-lock", "key"};
    char name[320];

    (void)used;
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(name, sizeof(name), "%s/%s", folder, names[i]);
        (void)remove(name);
    }
    ASSERT_INT(0, rmdir(folder)); /* it left nothing else behind */
}

const struct suite_backend suite_backend = {
    .name = "sqlite",
    .capabilities = PDR_CAN_PERSIST | PDR_CAN_SHARE | PDR_CAN_KEY |
                    PDR_CAN_READ_ONLY | PDR_CAN_GROUP,
    .keyed = SUITE_KEYED,
    .place = place,
    .clear = clear,
    .read_only = for_reading};
