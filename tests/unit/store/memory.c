/* The parts of the store in memory. What it does as a store is tried by
 * tests/conformance/store. */
#include "memory/memory.h"

#include "base.h"
#include "memory/memory_core.h"
#include "test.h"

/* --- rows ----------------------------------------------------------------- */

static struct row *slot_row(const char *key)
{
    const union cells cells = {
        .slot = {.key = pdr_str_c(key), .value = PDR_LIT("1")}};
    struct row *row = NULL;

    ASSERT_RC(PDR_OK, pdr__row_new(&row, &cells, CELLS_SLOT, NULL));
    return row;
}

static struct row *work_row(uint64_t n)
{
    const union cells cells = {.work = {.n = n, .kind = PDR_LIT("k")}};
    struct row *row = NULL;

    ASSERT_RC(PDR_OK, pdr__row_new(&row, &cells, CELLS_WORK, NULL));
    return row;
}

TEST(row, has_texts_of_its_own)
{
    char key[] = "key", value[] = "value";
    const union cells cells = {.property = {.key = pdr_str_c(key),
                                            .value = pdr_str_c(value),
                                            .match = PDR_LIT("")}};
    struct row *row = NULL;

    ASSERT_RC(PDR_OK, pdr__row_new(&row, &cells, CELLS_PROPERTY, NULL));
    key[0] = value[0] = 'x';
    ASSERT_TEXT("key", row->is.property.key);
    ASSERT_TEXT("value", row->is.property.value);
    ASSERT(row->is.property.match.ptr != NULL); /* empty, not absent */
    ASSERT_SIZE(0, row->is.property.match.len);
    ASSERT_TEXT("key", row->key);
    ASSERT_INT(0, row->n);
    pdr__row_drop(row);
    pdr__row_drop(NULL);
}

TEST(row, keeps_an_absent_text_absent)
{
    const union cells cells = {.entry = {.seq = 7, .body = PDR_LIT("{}")}};
    struct row *row = NULL;

    ASSERT_RC(PDR_OK, pdr__row_new(&row, &cells, CELLS_ENTRY, NULL));
    ASSERT(row->is.entry.correlation_id.ptr == NULL);
    ASSERT(row->is.entry.separator.ptr == NULL);
    ASSERT_INT(7, row->n);
    pdr__row_drop(row);
}

TEST(row, that_no_memory_could_hold_is_refused)
{
    const union cells cells = {
        .slot = {.key = {"k", SIZE_MAX}, .value = PDR_LIT("1")}};
    struct row *row = NULL;

    ASSERT_RC(PDR_ENOMEM, pdr__row_new(&row, &cells, CELLS_SLOT, NULL));
    ASSERT(row == NULL);
}

/* --- tables --------------------------------------------------------------- */

static struct rows table(size_t room)
{
    const struct rows none = {0};
    struct rows rows;

    ASSERT_RC(PDR_OK, pdr__rows_copy(&rows, &none, room, NULL));
    return rows;
}

TEST(rows, stand_in_the_order_of_their_keys)
{
    struct rows rows = table(4);

    ASSERT(pdr__rows_put(&rows, slot_row("b")));
    ASSERT(pdr__rows_put(&rows, slot_row("a")));
    ASSERT(pdr__rows_put(&rows, slot_row("ab")));
    ASSERT(!pdr__rows_put(&rows, slot_row("b"))); /* takes the place */
    ASSERT_SIZE(3, rows.count);
    ASSERT_TEXT("a", rows.at[0]->key);
    ASSERT_TEXT("ab", rows.at[1]->key);
    ASSERT_TEXT("b", rows.at[2]->key);
    ASSERT(pdr__rows_find(&rows, 0, PDR_LIT("ab")) == rows.at[1]);
    ASSERT(pdr__rows_find(&rows, 0, PDR_LIT("aa")) == NULL);
    ASSERT(pdr__rows_find(&rows, 0, PDR_LIT("c")) == NULL);
    ASSERT(pdr__rows_remove(&rows, 0, PDR_LIT("ab")));
    ASSERT(!pdr__rows_remove(&rows, 0, PDR_LIT("ab")));
    ASSERT_SIZE(2, rows.count);
    pdr__rows_dispose(&rows);
}

TEST(rows, are_removed_up_to_a_number)
{
    struct rows rows = table(5);

    for (uint64_t n = 3; n < 8; n++)
        ASSERT(pdr__rows_put(&rows, work_row(n)));
    pdr__rows_remove_through(&rows, 2);
    ASSERT_SIZE(5, rows.count);
    pdr__rows_remove_through(&rows, 5);
    ASSERT_SIZE(2, rows.count);
    ASSERT_INT(6, rows.at[0]->n);
    pdr__rows_remove_through(&rows, UINT64_MAX);
    ASSERT_SIZE(0, rows.count);
    pdr__rows_dispose(&rows);
}

TEST(rows, of_a_copy_go_their_own_way)
{
    struct rows rows = table(2), copy;

    (void)pdr__rows_put(&rows, slot_row("a"));
    (void)pdr__rows_put(&rows, slot_row("b"));
    ASSERT_RC(PDR_OK, pdr__rows_copy(&copy, &rows, 1, NULL));
    ASSERT(copy.at[0] == rows.at[0]); /* shared, not copied */
    ASSERT_SIZE(2, rows.at[0]->users);
    (void)pdr__rows_put(&copy, slot_row("c"));
    (void)pdr__rows_remove(&copy, 0, PDR_LIT("a"));
    ASSERT_SIZE(2, rows.count);
    ASSERT_SIZE(1, rows.at[0]->users);
    pdr__rows_dispose(&rows);
    ASSERT_TEXT("b", copy.at[0]->key);
    pdr__rows_dispose(&copy);
}

TEST(rows, that_no_memory_could_hold_are_refused)
{
    const struct rows none = {0};
    struct rows rows;

    ASSERT_RC(PDR_ENOMEM, pdr__rows_copy(&rows, &none, SIZE_MAX, NULL));
    ASSERT(rows.at == NULL);
}

TEST(order, is_that_of_bytes_and_then_of_lengths)
{
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {{"", "", 0},     {"", "a", -1},   {"a", "", 1},
                 {"a", "a", 0},   {"a", "b", -1},  {"b", "ab", 1},
                 {"a", "ab", -1}, {"\xC3", "z", 1}};

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        int order =
            pdr__str_order(pdr_str_c(cases[i].a), pdr_str_c(cases[i].b));
        ASSERT_INT(cases[i].order, (order > 0) - (order < 0));
    }
    const pdr_ref one = {PDR_LIT("ab"), PDR_LIT("c")};
    const pdr_ref two = {PDR_LIT("a"), PDR_LIT("bc")};
    ASSERT(pdr__ref_order(&one, &two) > 0);
    ASSERT_INT(0, pdr__ref_order(&one, &one));
}

/* --- the store ------------------------------------------------------------ */

TEST(memory_open, takes_no_name_and_no_settings)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_store_open(&store, "memory:x", &err));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT(store == NULL);
    ASSERT_RC(PDR_EINVALID, pdr_store_open(&store, "memory:?mode=ro", &err));
    ASSERT_STR("bad_uri", err.reason);
}

TEST_OOM(memory_open, cleans_up_after_any_failed_allocation)
{
    pdr_store *store = NULL;
    pdr_rc rc = pdr_store_open(&store, "memory:", NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((store != NULL) == (rc == PDR_OK));
    pdr_store_close(store);
}

/* A row that was damaged under the hands of the store, as a broken machine
 * would do it. */
static void damage(pdr_store *store)
{
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);

    self->seen.at[0]->head->is.head.changed_ms++;
}

TEST(memory_commit, refuses_to_build_on_a_damaged_head)
{
    const pdr_commit_options options = {.now_ms = 5};
    pdr_edit edit = {.ref = {.id = PDR_LIT("s")}};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    damage(store);
    edit.revision = 1;
    edit.set_state = true;
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_commit(NULL, store, &edit, 1, &options, &err));
    ASSERT_STR("bad_digest", err.reason);
    pdr_store_close(store);
}

TEST(memory_commit, refuses_to_build_on_a_damaged_completion)
{
    const pdr_commit_options options = {.now_ms = 5};
    pdr_completion row = {.correlation_id = PDR_LIT("c")};
    pdr_edit edit = {.ref = {.id = PDR_LIT("s")},
                     .completions = &row,
                     .completion_count = 1};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    struct memory *self = PDR_CONTAINER_OF(store, struct memory, base);
    self->seen.at[0]->tables[TABLE_COMPLETIONS].at[0]->is.completion.at_ms++;
    edit.revision = 1;
    row.outcome = PDR_LIT("1");
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_commit(NULL, store, &edit, 1, &options, &err));
    ASSERT_STR("bad_digest", err.reason);
    pdr_store_close(store);
}
