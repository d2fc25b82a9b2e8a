/* hook_store.c - see hook_store.h. */
#include "hook_store.h"

#include "../../src/store/memory/memory.h"

static hook_fn hook;
static void (*read_hook)(pdr_store *store, void *arg); /* atomic: set at any
                                                           time */
static void *hook_arg;
static _Thread_local bool hooked; /* a hook is running, on this thread */
static pdr_store_ops ops;

static void commit_one(pdr_store *store, pdr_write *write)
{
    pdr_rc rc = PDR_OK;

    if (hook != NULL && !hooked) {
        hooked = true;
        rc = hook(store, write->plans[0].edit, hook_arg);
        hooked = false;
    }
    if (rc == PDR_OK)
        pdr__memory_ops.commit(store, &write, 1);
    else
        write->rc = pdr_err_set(&write->err, rc, "hooked", "by the hook");
}

static void commit(pdr_store *store, pdr_write *const *writes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        commit_one(store, writes[i]);
}

static pdr_rc read_one(pdr_store *store, pdr_page *page, const pdr_query *query,
                       pdr_err *err)
{
    void (*fn)(pdr_store * store, void *arg) =
        __atomic_load_n(&read_hook, __ATOMIC_SEQ_CST);

    if (fn != NULL && !hooked) {
        hooked = true;
        fn(store, hook_arg);
        hooked = false;
    }
    return pdr__memory_ops.read(store, page, query, err);
}

static pdr_rc open_hooked(pdr_store **out, const char *rest, pdr_err *err)
{
    pdr_rc rc = pdr__memory_ops.open(out, rest, err);

    if (rc == PDR_OK)
        (*out)->ops = &ops;
    return rc;
}

pdr_store *hook_open(hook_fn fn, void *arg)
{
    pdr_store *store = NULL;

    if (ops.name == NULL) {
        ops = pdr__memory_ops;
        ops.name = "hook";
        ops.open = open_hooked;
        ops.commit = commit;
        ops.read = read_one;
        ASSERT_RC(PDR_OK, pdr_store_register(&ops, NULL));
    }
    hook = NULL;
    hook_reads(NULL);
    ops.now = NULL;
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "hook:", NULL));
    hook = fn;
    hook_arg = arg;
    return store;
}

void hook_reads(void (*fn)(pdr_store *store, void *arg))
{
    __atomic_store_n(&read_hook, fn, __ATOMIC_SEQ_CST);
}

void hook_now(pdr_rc (*fn)(pdr_store *store, int64_t *out, pdr_err *err))
{
    ops.now = fn;
}
