/*
 * perdure/sys/provider.h - for authors of providers: does yours keep sessions
 * apart, and find them again? May change in a minor release.
 *
 *     int main(int argc, char **argv)
 *     {
 *         return pdr_provider_kit_main(argc, argv, &kit);
 *     }
 *
 * Such a program, called with an empty folder, runs an agent with the provider
 * on two sessions, each alone at first. What the provider adds then is what it
 * has to add also when the sessions take turns, when they have changed their
 * places in memory, when two instances of the provider are on one session, and
 * in a second process that opens the sessions from a store. So what it adds
 * must follow from the session and from what was said alone.
 */
#ifndef PERDURE_SYS_PROVIDER_H
#define PERDURE_SYS_PROVIDER_H

#include <perdure/provider.h>

PDR_BEGIN_DECLS

struct pdr_client;

/* A provider under test. */
typedef struct pdr_provider_kit {
    /* Required. Make a provider with a handle of its own on `place`, a folder
     * that is its database: new, or used before by another handle. Providers
     * with two numbers, 0 and 1, may be in one agent. *out is yours until
     * close(), also what it points to. */
    pdr_rc (*open)(pdr_provider *out, const char *place, unsigned number,
                   pdr_err *err, void *arg);
    /* Required. Release it. */
    void (*close)(pdr_provider *provider, void *arg);
    const char *const *secrets; /* texts that no session may hold, as passwords
                                   and addresses; the last one NULL; or NULL */
    struct pdr_client *client;  /* borrowed; the model that answers; NULL: one
                                   that repeats what it is told */
    void *arg;
} pdr_provider_kit;

/**
 * The main() of a program that checks a provider. It prints the first leak, or
 * whatever else fails, on standard error:
 *
 *     leak_session  what it adds depends on another session of the same agent
 *     leak_address  something is remembered by the address of a session
 *     leak_key      two instances share their state in a session
 *     leak_secret   a session holds a secret, or the address of the provider
 *     leak_process  something is not in the session, or under a key that the
 *                   provider does not name, and lost in another process
 *
 * @param argv  the program, any arguments of its own, and an empty folder for
 *              what it writes. The program is started again with the same
 *              arguments and one more, in the same environment, and has to come
 *              here again.
 * @param kit   borrowed for the call.
 * @return the status to exit with: 0 if nothing leaks.
 * @thread owner  @since 0.1
 */
PDR_API int pdr_provider_kit_main(int argc, char **argv,
                                  const pdr_provider_kit *kit);

PDR_END_DECLS

#endif
