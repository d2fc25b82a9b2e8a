/*
 * The kit for authors of providers, where it fails itself. What it finds is in
 * tests/integration/provider_kit.py.
 */
#include <fcntl.h>
#include <perdure.h>
#include <perdure/sys/provider.h>
#include <unistd.h>

#include "room.h"
#include "test.h"

static pdr_rc open_provider(pdr_provider *out, const char *place,
                            unsigned number, pdr_err *err, void *arg)
{
    (void)place;
    if (number == *(const unsigned *)arg)
        return pdr_err_set(err, PDR_EIO, "no_backend", "there is no backend");
    *out = (pdr_provider){.name = "p", .kind = PDR_PROVIDER_CONTEXT};
    return PDR_OK;
}

static void close_provider(pdr_provider *provider, void *arg)
{
    (void)provider;
    (void)arg;
}

/* The status of the kit with another program as the second process, and a
 * provider that cannot be opened if it has the number `fails`. */
static int run_kit(const char *program, unsigned fails)
{
    const pdr_provider_kit kit = {
        .open = open_provider, .close = close_provider, .arg = &fails};
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), shown = dup(2);
    char name[64], folder[256];
    char *argv[] = {name, folder, NULL};
    struct room room;
    int status = 0;

    room_enter(&room);
    (void)snprintf(name, sizeof(name), "%s", program);
    (void)snprintf(folder, sizeof(folder), "%s", room.path);
    dup2(quiet, 2);
    status = pdr_provider_kit_main(2, argv, &kit);
    dup2(shown, 2);
    close(quiet);
    close(shown);
    room_leave(&room);
    return status;
}

TEST(provider_kit, says_what_a_provider_or_its_second_process_fails_with)
{
    ASSERT_INT(pdr_rc_exit_status(PDR_EIO), run_kit("none", 0));
    ASSERT_INT(pdr_rc_exit_status(PDR_EIO), run_kit("none", 1));
    /* A second process that is not there, fails, or does something else. */
    ASSERT_INT(6, run_kit("/no/such/program", 2));
    ASSERT_INT(6, run_kit("/bin/false", 2));
    ASSERT_INT(6, run_kit("/bin/true", 2));
    ASSERT_INT(6, run_kit("/bin/echo", 2));
}

TEST(provider_kit, cleans_up_after_failed_allocations)
{
    size_t step = test_every(29);

    for (size_t n = 1; n < 100000; n += step) {
        size_t before = test_allocations();
        int status = 0;

        test_fail_allocation(n, false);
        status = run_kit("/bin/false", 2);
        test_fail_allocation(0, false);
        if (test_allocations() - before < n)
            return; /* there was none left to fail */
        ASSERT(status != 0);
    }
    fail_msg("the kit does not come to an end");
}
