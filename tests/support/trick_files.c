/* trick_files.c - file calls that fail, end the process, fold case, or cheat.
 */
#include "trick_files.h"

#include <signal.h>
#include <strings.h>
#include <unistd.h>

static const struct pdr__files *real(void)
{
    return pdr__files_system();
}

/* One more call: what it fails with, 0 if it does not. */
static int step(void *ctx)
{
    struct trick *trick = ctx;

    trick->calls++;
    if (trick->at == 0 || trick->calls < trick->at ||
        (trick->calls > trick->at && !trick->for_ever))
        return 0;
    if (trick->before != NULL) {
        trick->before(trick->arg);
        return 0;
    }
    if (trick->kill)
        (void)raise(SIGKILL);
    return trick->sys;
}

/* --- folding ------------------------------------------------------------- */

struct folded {
    const char *name;
    char found[PDR_NAME_ROOM];
};

static int find_folded(const char *name, void *arg)
{
    struct folded *folded = arg;

    if (strcasecmp(name, folded->name) == 0)
        snprintf(folded->found, sizeof(folded->found), "%s", name);
    return 0;
}

/* The entry that a name leads to. */
static const char *lead(struct folded *out, void *ctx, int folder,
                        const char *name)
{
    const struct trick *trick = ctx;

    out->name = name;
    snprintf(out->found, sizeof(out->found), "%s", name);
    if (trick->fold)
        (void)real()->list(NULL, folder, find_folded, out);
    return out->found;
}

/* --- the calls ----------------------------------------------------------- */

static int trick_open_folder(void *ctx, int *out, const char *path, bool create)
{
    int sys = step(ctx);

    return sys != 0 ? sys : real()->open_folder(NULL, out, path, create);
}

static int trick_look(void *ctx, struct pdr__file_info *out, int folder,
                      const char *name)
{
    struct folded to;
    int sys = step(ctx);

    return sys != 0
               ? sys
               : real()->look(NULL, out, folder, lead(&to, ctx, folder, name));
}

static int trick_open(void *ctx, int *out, int folder, const char *name,
                      enum pdr__file_use use)
{
    struct folded to;
    int sys = step(ctx);

    return sys != 0 ? sys
                    : real()->open(NULL, out, folder,
                                   lead(&to, ctx, folder, name), use);
}

static int trick_measure(void *ctx, struct pdr__file_info *out, int file)
{
    int sys = step(ctx);

    return sys != 0 ? sys : real()->measure(NULL, out, file);
}

static int trick_read(void *ctx, size_t *got, int file, void *into, size_t len,
                      uint64_t at)
{
    int sys = step(ctx);

    *got = 0;
    return sys != 0 ? sys : real()->read(NULL, got, file, into, len, at);
}

/* A write that does not succeed leaves half of the bytes. */
static int trick_write(void *ctx, int file, const void *bytes, size_t len)
{
    const struct trick *trick = ctx;
    int sys = 0;

    if (trick->at != 0 && trick->calls + 1 >= trick->at &&
        trick->before == NULL && (trick->kill || trick->sys != 0))
        (void)real()->write(NULL, file, bytes,
                            trick->calls + 1 == trick->at ? len / 2 : 0);
    sys = step(ctx);
    return sys != 0 ? sys : real()->write(NULL, file, bytes, len);
}

static int trick_cut(void *ctx, int file, uint64_t bytes)
{
    int sys = step(ctx);

    return sys != 0 ? sys : real()->cut(NULL, file, bytes);
}

static int trick_sync(void *ctx, int file)
{
    int sys = step(ctx);

    return sys != 0 ? sys : real()->sync(NULL, file);
}

static int trick_rename(void *ctx, int folder, const char *from, const char *to)
{
    const struct trick *trick = ctx;
    struct folded old, new;
    int sys = step(ctx);

    if (trick->no_lock)
        (void)usleep(1000); /* so that another process comes in between */
    if (sys == 0 && trick->slow_rename) {
        (void)real()->remove(NULL, folder, lead(&new, ctx, folder, to));
        sys = step(ctx);
    }
    lead(&new, ctx, folder, to);
    lead(&old, ctx, folder, from);
    /* Who renames to a name in other case changes that entry. */
    if (sys == 0 && strcmp(new.found, to) != 0)
        (void)real()->remove(NULL, folder, new.found);
    return sys != 0 ? sys : real()->rename(NULL, folder, old.found, to);
}

static int trick_remove(void *ctx, int folder, const char *name)
{
    struct folded to;
    int sys = step(ctx);

    return sys != 0
               ? sys
               : real()->remove(NULL, folder, lead(&to, ctx, folder, name));
}

static int trick_list(void *ctx, int folder, pdr__file_name_fn fn, void *arg)
{
    int sys = step(ctx);

    return sys != 0 ? sys : real()->list(NULL, folder, fn, arg);
}

static int trick_lock(void *ctx, int file)
{
    const struct trick *trick = ctx;
    int sys = step(ctx);

    return sys != 0 || trick->no_lock ? sys : real()->lock(NULL, file);
}

static void trick_close(void *ctx, int file)
{
    (void)ctx;
    real()->close(NULL, file);
}

void trick_init(struct trick *trick)
{
    memset(trick, 0, sizeof(*trick));
    trick->table = (struct pdr__files){
        trick,        trick_open_folder, trick_look, trick_open, trick_measure,
        trick_read,   trick_write,       trick_cut,  trick_sync, trick_rename,
        trick_remove, trick_list,        trick_lock, trick_close};
}

void trick_arm(struct trick *trick, size_t at, bool for_ever, int sys)
{
    trick->calls = 0;
    trick->at = at;
    trick->for_ever = for_ever;
    trick->sys = sys;
}

bool trick_done(const struct trick *trick)
{
    return trick->at != 0 && trick->calls >= trick->at;
}
