/* watch_world.c - see watch_world.h. */
#include "watch_world.h"

#include "test.h"

struct watch_world world;

static pdr_rc fake_poll(pdr_store *self, uint64_t *out, pdr_err *err)
{
    int now = atomic_fetch_add(&world.polling, 1) + 1;

    (void)self;
    if (now > atomic_load(&world.together))
        atomic_store(&world.together, now);
    atomic_fetch_add(&world.polls, 1);
    *out = atomic_load(&world.number);
    atomic_fetch_sub(&world.polling, 1);
    if (atomic_load(&world.poll_fails))
        return PDR_FAIL(err, FILE_FAILED, "the poll failed");
    return PDR_OK;
}

static pdr_rc fake_read(pdr_store *self, pdr_page *page, const pdr_query *query,
                        pdr_err *err)
{
    bool is_list = query->what == PDR_READ_SESSIONS;

    atomic_fetch_add(&world.reads, 1);
    atomic_fetch_add(&world.lists, is_list);
    if (atomic_load(&world.read_fails) ||
        (is_list && atomic_load(&world.list_fails)))
        return PDR_FAIL(err, FILE_FAILED, "the read failed");
    return world.real->read(self, page, query, err);
}

static void other_commit(pdr_store *self, pdr_write *const *writes,
                         size_t count)
{
    (void)self;
    world.real->commit(world.store, writes, count);
}

static pdr_rc other_read(pdr_store *self, pdr_page *page,
                         const pdr_query *query, pdr_err *err)
{
    (void)self;
    return world.real->read(world.store, page, query, err);
}

pdr_store *world_open(bool with_poll)
{
    pdr_err err = PDR_ERR_INIT;

    memset(&world, 0, sizeof(world));
    ASSERT_RC(PDR_OK, pdr_store_open(&world.store, "memory:", &err));
    world.real = world.store->ops;
    world.ops = world.other_ops = *world.real;
    world.ops.poll = with_poll ? fake_poll : NULL;
    world.ops.read = fake_read;
    world.other_ops.commit = other_commit;
    world.other_ops.read = other_read;
    world.store->ops = &world.ops;
    world.other = *world.store;
    world.other.ops = &world.other_ops;
    world.other.watches = NULL;
    return world.store;
}

void world_close(void)
{
    pdr_store_close(world.store);
}

pdr_ref world_ref(const char *id)
{
    pdr_ref ref = {{NULL, 0}, pdr_str_c(id)};

    return ref;
}

/* A commit that moves nothing but the count of commits. */
void commit_to(pdr_store *store, const char *id)
{
    pdr_work work = {.kind = PDR_LIT("tick"), .body = PDR_LIT("{}")};
    pdr_edit edit = {.ref = world_ref(id),
                     .revision = PDR_ANY_REVISION,
                     .or_create = true,
                     .inbox = &work,
                     .inbox_count = 1};
    pdr_commit_options options = {.now_ms = 1};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_commit(NULL, store, &edit, 1, &options, &err);

    ASSERT_STR("", err.message);
    ASSERT_RC(PDR_OK, rc);
}

void commit_here(const char *id)
{
    commit_to(world.store, id);
}

void commit_elsewhere(const char *id)
{
    commit_to(&world.other, id);
    atomic_fetch_add(&world.number, 1);
}

void state_elsewhere(const char *id, pdr_session_state state)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = world_ref(id)};
    const pdr_commit_options options = {.now_ms = 1};
    pdr_edit edit = {.ref = world_ref(id), .set_state = true, .state = state};
    pdr_page *page = NULL;

    if (pdr_store_read(&page, &world.other, &query, NULL) == PDR_OK)
        edit.revision = page->head.revision;
    pdr_page_free(page);
    ASSERT_RC(PDR_OK,
              pdr_store_commit(NULL, &world.other, &edit, 1, &options, NULL));
    atomic_fetch_add(&world.number, 1);
}
