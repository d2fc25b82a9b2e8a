/* How well the rows of a group fill the pages of `log`. */
#include "sqlite_room.h"

#include "sqlite/sqlite.h"

#define GROUP  32
#define GROUPS 40

static struct pdr__sqlite *inside(pdr_store *store)
{
    return PDR_CONTAINER_OF(store, struct pdr__sqlite, base);
}

static size_t next_size(uint64_t *state, size_t low, size_t high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low + (size_t)(*state >> 33) % (high - low + 1);
}

/* `count` turns of seeded sizes, `group` in a transaction. */
static void write_turns(pdr_store *store, size_t count, size_t group,
                        uint64_t seed)
{
    static char text[4096];
    static char ids[GROUP][24], correlations[GROUP][24];
    static pdr_entry entries[GROUP][2];
    static pdr_edit edits[GROUP];
    static pdr_request requests[GROUP];

    memset(text, '1', sizeof(text));
    for (size_t n = 0; n < count; n += group) {
        for (size_t i = 0; i < group; i++) {
            (void)snprintf(ids[i], sizeof(ids[i]), "%d-%zu", (int)(seed % 97),
                           n + i);
            (void)snprintf(correlations[i], sizeof(correlations[i]), "c-%zu",
                           n + i);
            memset(entries[i], 0, sizeof(entries[i]));
            for (size_t k = 0; k < 2; k++) {
                entries[i][k].created_ms = 1790000000000;
                entries[i][k].correlation_id = pdr_str_c(correlations[i]);
                entries[i][k].body =
                    pdr_str_n(text, k == 0 ? next_size(&seed, 200, 1000)
                                           : next_size(&seed, 600, 2600));
            }
            edits[i] = edit_of(ids[i], 0);
            edits[i].entries = entries[i];
            edits[i].entry_count = 2;
            memset(&requests[i], 0, sizeof(requests[i]));
            requests[i].edits = &edits[i];
            requests[i].count = 1;
            requests[i].options.now_ms = 1790000000000;
        }
        pdr_store_commit_all(store, requests, group);
        for (size_t i = 0; i < group; i++)
            ASSERT_RC(PDR_OK, requests[i].rc);
    }
}

/* Bytes that pages of `log` have free, in thousandths. */
static int64_t free_share(const struct room *room)
{
    return sql_int(room, "SELECT sum(unused)*1000/sum(pgsize) FROM dbstat "
                         "WHERE name='log' AND pagetype='leaf'");
}

TEST(sqlite_pack, fills_the_pages_of_a_new_store)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    write_turns(store, GROUP * GROUPS, GROUP, 1);
    ASSERT(inside(store)->writer.pack.tail.known);
    ASSERT(free_share(&room) < 30);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_pack, finds_its_count_again_after_somebody_else_wrote)
{
    struct room room;
    pdr_store *store = NULL, *other = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    write_turns(store, GROUP, GROUP, 1);
    other = store_open(&room, "");
    ASSERT(!inside(other)->writer.pack.tail.known);
    ASSERT_RC(PDR_OK, append_one(other, "x", 0, NULL, "{}", NULL));
    write_turns(store, GROUP * GROUPS, GROUP, 2);
    ASSERT(inside(store)->writer.pack.tail.known);
    ASSERT(free_share(&room) < 40);
    pdr_store_close(other);
    pdr_store_close(store);
    room_leave(&room);
}

/* The count of one page must be that of the file, byte for byte. */
TEST(sqlite_pack, counts_as_sqlite_does)
{
    static const size_t sizes[] = {1,    2,    57,   58,    114,     115,  1000,
                                   3900, 3990, 4000, 4010,  4030,    4061, 4100,
                                   8000, 8192, 9000, 70000, 5000000, 30,   40};
    static char text[5000000];
    struct room room;
    pdr_store *store = NULL;
    pdr_entry entry;
    char id[32];

    memset(text, '1', sizeof(text));
    memset(&entry, 0, sizeof(entry));
    room_enter(&room);
    store = store_open(&room, "");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        pdr_edit edit = edit_of(id, 0);

        (void)snprintf(id, sizeof(id), "s-%zu", i);
        edit.ref.id = pdr_str_c(id);
        entry.created_ms = i % 2 == 0 ? -3 : (int64_t)1 << (3 * i);
        entry.separator = i % 3 == 0 ? pdr_str_c(",\n") : pdr_str_n(NULL, 0);
        entry.correlation_id = pdr_str_c(i % 4 == 0 ? "c" : NULL);
        entry.body = pdr_str_n(text, sizes[i]);
        edit.entries = &entry;
        edit.entry_count = 1;
        ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
        ASSERT_INT(inside(store)->writer.pack.tail.left,
                   sql_int(&room,
                           "SELECT unused FROM dbstat WHERE name='log' AND "
                           "pagetype='leaf' ORDER BY path DESC LIMIT 1"));
    }
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_pack, takes_back_the_count_of_a_group_that_ran_again)
{
    static const uint64_t settle[] = {1, 9};
    struct room room;
    pdr_store *store = NULL;
    pdr_work row;
    pdr_edit edit = edit_of("a", PDR_ANY_REVISION);
    struct pdr__tail before;

    memset(&row, 0, sizeof(row));
    row.kind = pdr_str_c("k");
    row.body = pdr_str_c("1");
    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "b", 0, NULL, "{}", NULL));
    edit.or_create = true;
    edit.inbox = &row;
    edit.inbox_count = 1;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    before = inside(store)->writer.pack.tail;
    edit.settle = settle;
    edit.settle_count = 2;
    ASSERT_RC(PDR_ECONFLICT, commit_one(store, &edit, NULL, NULL));
    ASSERT(inside(store)->writer.pack.tail.known);
    ASSERT_INT(before.left, inside(store)->writer.pack.tail.left);
    pdr_store_close(store);
    room_leave(&room);
}
