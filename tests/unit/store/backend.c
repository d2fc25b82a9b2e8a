/* Which backend a URI means, and adding one. */
#include "test.h"

#include "store.h"

static pdr_rc open_none(pdr_store **out, const char *rest, pdr_err *err)
{
    (void)rest;
    *out = NULL;
    return pdr_err_set(err, PDR_EUNSUPPORTED, "toy", "it cannot be opened");
}

static void close_none(pdr_store *self)
{
    (void)self;
}

static void commit_none(pdr_store *self, pdr_write *const *writes, size_t count)
{
    (void)self;
    (void)writes;
    (void)count;
}

static pdr_rc read_none(pdr_store *self, pdr_page *page, const pdr_query *query,
                        pdr_err *err)
{
    (void)self;
    (void)page;
    (void)query;
    (void)err;
    return PDR_OK;
}

static pdr_rc info_none(pdr_store *self, pdr_store_info *out, pdr_err *err)
{
    (void)self;
    (void)out;
    (void)err;
    return PDR_OK;
}

static pdr_store_ops table(const char *name)
{
    pdr_store_ops ops = {.version = PDR_STORE_OPS_VERSION,
                         .name = name,
                         .open = open_none,
                         .close = close_none,
                         .commit = commit_none,
                         .read = read_none,
                         .info = info_none};

    return ops;
}

static void finds(const char *uri, const char *name, const char *wanted)
{
    const pdr_store_ops *ops = NULL;
    char *rest = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__backend_find(&ops, &rest, uri, &err));
    ASSERT_STR(name, ops->name);
    ASSERT_STR(wanted, rest);
    pdr__free(rest);
}

TEST(backend_find, knows_memory_and_sqlite)
{
    finds("memory:", "memory", "");
    finds("sqlite:a%41.db?mode=ro", "sqlite", "a%41.db?mode=ro");
    finds("sqlite:/x/y.db", "sqlite", "/x/y.db");
    finds("sqlite:a:b", "sqlite", "a:b");
}

TEST(backend_find, takes_a_bare_file_as_it_is)
{
    finds("a.db", "sqlite", "a.db");
    finds("/x/a.db", "sqlite", "/x/a.db");
    finds("./memory:", "sqlite", "./memory:");
    finds("a b:c", "sqlite", "a b:c");
    finds("Sqlite:x", "sqlite", "Sqlite:x");
    finds(":x", "sqlite", ":x");
    finds("100%?mode=ro", "sqlite", "100%25%3Fmode=ro");
}

/* What the backend reads of it is the name again. */
TEST(backend_find, escapes_a_bare_file_so_that_it_comes_back)
{
    const char *file = "odd %41?&=%%name?";
    const pdr_store_ops *ops = NULL;
    struct pdr__uri uri = {NULL, NULL};
    char *rest = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__backend_find(&ops, &rest, file, &err));
    ASSERT_RC(PDR_OK, pdr__uri_read(&uri, rest, &err));
    ASSERT_STR(file, uri.path);
    ASSERT_RC(PDR_OK, pdr__uri_end(&uri, &err));
    pdr__uri_dispose(&uri);
    pdr__free(rest);
}

TEST(backend_find, refuses_a_scheme_that_nobody_has)
{
    const char *const uris[] = {"postgres://h/d", "sqllite:a.db", "c:", "a+b:c",
                                "x-y.z1:"};

    for (size_t i = 0; i < PDR_COUNT(uris); i++) {
        const pdr_store_ops *ops = NULL;
        char *rest = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr__backend_find(&ops, &rest, uris[i], &err));
        ASSERT_STR("bad_uri", err.reason);
        ASSERT(strstr(err.message, "./ in front") != NULL);
        ASSERT(ops == NULL && rest == NULL);
    }
}

TEST(backend_find, refuses_an_empty_uri)
{
    const pdr_store_ops *ops = NULL;
    char *rest = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr__backend_find(&ops, &rest, "", &err));
    ASSERT_STR("bad_uri", err.reason);
}

TEST_OOM(backend_find, cleans_up_after_any_failed_allocation)
{
    const char *const uris[] = {"memory:x", "a%b"};

    for (size_t i = 0; i < PDR_COUNT(uris); i++) {
        const pdr_store_ops *ops = NULL;
        char *rest = NULL;
        pdr_rc rc = pdr__backend_find(&ops, &rest, uris[i], NULL);

        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT((rest != NULL) == (rc == PDR_OK));
        pdr__free(rest);
    }
}

TEST(store_register, refuses_a_table_of_another_version)
{
    pdr_store_ops ops = table("toy");
    pdr_err err = PDR_ERR_INIT;

    ops.version = PDR_STORE_OPS_VERSION + 1;
    ASSERT_RC(PDR_EVERSION, pdr_store_register(&ops, &err));
    ASSERT_STR("table_version", err.reason);
    ops.version = 0;
    ASSERT_RC(PDR_EVERSION, pdr_store_register(&ops, &err));
}

TEST(store_register, refuses_a_table_without_a_required_slot)
{
    for (unsigned i = 0; i < 8; i++) {
        pdr_store_ops ops = table("toy");
        pdr_err err = PDR_ERR_INIT;

        ops.name = i == 0 ? NULL : i == 1 ? "" : i == 2 ? "Toy" : "toy";
        ops.open = i == 3 ? NULL : ops.open;
        ops.close = i == 4 ? NULL : ops.close;
        ops.commit = i == 5 ? NULL : ops.commit;
        ops.read = i == 6 ? NULL : ops.read;
        ops.info = i == 7 ? NULL : ops.info;
        ASSERT_RC(PDR_EMISUSE, pdr_store_register(&ops, &err));
        ASSERT_STR("missing_slot", err.reason);
    }
}

/* One test, because what is registered stays for the process. */
TEST(store_register, takes_eight_backends_with_names_of_their_own)
{
    static const char *const names[] = {"toy0", "toy1", "toy2", "toy3", "toy4",
                                        "toy5", "toy6", "toy7", "toy8"};
    static pdr_store_ops tables[PDR_MAX_BACKENDS + 1];
    pdr_store *store = NULL;
    pdr_store_ops again = table("memory");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EEXISTS, pdr_store_register(&again, &err));
    ASSERT_STR("backend_exists", err.reason);
    for (size_t i = 0; i < PDR_MAX_BACKENDS; i++) {
        tables[i] = table(names[i]);
        tables[i].version = 1 + (uint32_t)i % PDR_STORE_OPS_VERSION;
        ASSERT_RC(PDR_OK, pdr_store_register(&tables[i], &err));
        ASSERT_RC(PDR_EEXISTS, pdr_store_register(&tables[i], &err));
    }
    tables[PDR_MAX_BACKENDS] = table(names[PDR_MAX_BACKENDS]);
    ASSERT_RC(PDR_ELIMIT, pdr_store_register(&tables[PDR_MAX_BACKENDS], &err));
    ASSERT_STR("too_many_backends", err.reason);
    finds("toy7:rest", "toy7", "rest");
    ASSERT_RC(PDR_EUNSUPPORTED, pdr_store_open(&store, "toy0:x", &err));
    ASSERT_STR("store 'toy0:x': it cannot be opened", err.message);
    ASSERT(store == NULL);
}
