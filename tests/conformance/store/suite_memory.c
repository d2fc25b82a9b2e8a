/* The suite on "memory:". */
#include "suite.h"

static const char *place(void)
{
    return "memory:";
}

static void clear(const char *uri)
{
    (void)uri;
}

const struct suite_backend suite_backend = {
    .name = "memory", .capabilities = 0, .place = place, .clear = clear};
