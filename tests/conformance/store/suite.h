/*
 * suite.h - what the files of the conformance suite of stores share.
 *
 * The suite is linked once for each backend, with a file that says which one it
 * is (suite_memory.c, suite_sqlite.c). It sees a store through perdure/store.h,
 * pdr_stage_*() and pdr_store_commit_all() alone, and asks its capabilities
 * where stores may differ. A backend is finished when all of it passes.
 */
#ifndef PDR_STORE_SUITE_H
#define PDR_STORE_SUITE_H

#include <perdure/store.h>
#include <perdure/sys/store.h>

#include "store_step.h"
#include "test.h"

/* --- the backend under test ----------------------------------------------- */

struct suite_backend {
    const char *name;      /* as pdr_store_info says it */
    uint32_t capabilities; /* that it must have */
    bool keyed;            /* its digests have a key here */
    /* Where a new store goes; the caller's until suite_backend.clear(). */
    const char *(*place)(void);
    void (*clear)(const char *uri); /* take away what is left there */
    /* The same place for reading only; NULL without PDR_CAN_READ_ONLY. */
    const char *(*read_only)(const char *uri);
};
extern const struct suite_backend suite_backend;

/* --- stores --------------------------------------------------------------- */

/* An empty store. End it with suite_close(), which verifies it before. */
pdr_store *suite_open(void);
void suite_close(pdr_store *store);
/* The same store closed and opened again; needs PDR_CAN_PERSIST. */
pdr_store *suite_reopen(pdr_store *store);
/* The same store through one more handle; needs PDR_CAN_PERSIST. Close it with
 * pdr_store_close(). */
pdr_store *suite_open_again(void);
/* The same through a handle that may only read; needs PDR_CAN_READ_ONLY. */
pdr_store *suite_open_read_only(void);

/* --- writing -------------------------------------------------------------- */

#define S(text) pdr_str_n((text), sizeof(text) - 1)
/* The same where a constant is needed. */
#define S_INIT(text)             \
    {                            \
        (text), sizeof(text) - 1 \
    }
#define NOW INT64_C(1700000000000)

/* Edits begin as one of these. */
#define EDIT(name, read_revision)                           \
    {                                                       \
        .ref = {.id = S(name)}, .revision = (read_revision) \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Commit one edit at NOW, which must be done. */
pdr_committed must_commit(pdr_store *store, const pdr_edit *edit);
pdr_committed must_commit_at(pdr_store *store, const pdr_edit *edit,
                             int64_t now_ms);
/* Commit, which must be refused with this code and reason, and must have
 * changed nothing in the whole store. */
void must_refuse(pdr_rc rc, const char *reason, pdr_store *store,
                 const pdr_edit *edit);
void must_refuse_at(pdr_rc rc, const char *reason, pdr_store *store,
                    const pdr_edit *edit, int64_t now_ms);
void must_refuse_all(pdr_rc rc, const char *reason, pdr_store *store,
                     const pdr_edit *edits, size_t count);
/* The same for a step of a stage, through the call that it is for. */
pdr_committed must_step(pdr_store *store, const struct store_step *step);
pdr_committed must_step_at(pdr_store *store, const struct store_step *step,
                           int64_t now_ms);
void must_refuse_step(pdr_rc rc, const char *reason, pdr_store *store,
                      const struct store_step *step);
/* Make a session with nothing in it. */
pdr_committed must_create(pdr_store *store, const char *id);
/* Append `count` entries with the body {"n":k}, k counting from `first`. */
pdr_committed must_append(pdr_store *store, const char *id, uint64_t revision,
                          size_t first, size_t count);

/* --- reading -------------------------------------------------------------- */

/* A page, which must be there; release with pdr_page_free(). */
pdr_page *must_read(pdr_store *store, const pdr_query *query);
void must_not_read(pdr_rc rc, const char *reason, pdr_store *store,
                   const pdr_query *query);
/* The head of a session of the default tenant. Texts are not kept. */
pdr_head head_of(pdr_store *store, const char *id);
bool is_there(pdr_store *store, const char *id);

/* All rows of a query, page after page of `limit` rows: calls `fn` for each
 * page. Gives the number of rows. */
typedef void (*suite_page_fn)(void *arg, const pdr_page *page);
size_t read_all(pdr_store *store, const pdr_query *query, size_t limit,
                suite_page_fn fn, void *arg);

/* A hash of everything that reads can give: sessions of all tenants, all rows,
 * all columns, digests included. */
uint64_t suite_hash(pdr_store *store);
/* The same for one page. */
uint64_t suite_hash_page(uint64_t hash, const pdr_page *page);
#define SUITE_HASH_INIT UINT64_C(14695981039346656037)

#endif
