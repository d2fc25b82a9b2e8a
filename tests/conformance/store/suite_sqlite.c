/* The suite on "sqlite:", each store in a folder of its own. */
#include <stdio.h>
#include <unistd.h>

#include "suite.h"

static char folder[256], uri[300];

static const char *place(void)
{
    const char *base = getenv("TMPDIR");

    snprintf(folder, sizeof(folder), "%s/perdure-suite-XXXXXX",
             base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(uri, sizeof(uri), "sqlite:%s/suite.db", folder);
    return uri;
}

static void clear(const char *used)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-lock"};
    const char *path = used + strlen("sqlite:");
    char name[320];

    for (size_t i = 0; i < COUNT(endings); i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        (void)remove(name);
    }
    ASSERT_INT(0, rmdir(folder)); /* it left nothing else behind */
}

const struct suite_backend suite_backend = {
    .name = "sqlite",
    .capabilities = PDR_CAN_PERSIST | PDR_CAN_SHARE | PDR_CAN_KEY |
                    PDR_CAN_READ_ONLY | PDR_CAN_GROUP,
    .place = place,
    .clear = clear};
