/* Each limit: what is just allowed, and what is one too much. */
#include "suite.h"

#define ROW_BYTES ((size_t)64 * 1024 * 1024)

/* --- texts ---------------------------------------------------------------- */

/* `len` letters; release with free(). */
static char *letters(size_t len)
{
    char *text = malloc(len + 1);

    assert_non_null(text);
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

/* A text of an edit and how long it may be. */
struct limit {
    const char *name;
    size_t most;
    pdr_rc rc; /* of one more */
    const char *reason;
    void (*set)(pdr_edit *edit, pdr_str text);
};

static pdr_entry entry;
static pdr_property property;
static pdr_completion completion;
static pdr_work work;

static void set_tenant(pdr_edit *edit, pdr_str text)
{
    edit->ref.tenant = text;
}

static void set_id(pdr_edit *edit, pdr_str text)
{
    edit->ref.id = text;
}

static void set_agent(pdr_edit *edit, pdr_str text)
{
    edit->agent = text;
}

static void set_owner(pdr_edit *edit, pdr_str text)
{
    edit->lease.verb = PDR_LEASE_TAKE;
    edit->lease.owner = text;
}

static void set_correlation(pdr_edit *edit, pdr_str text)
{
    entry = (pdr_entry){.correlation_id = text, .body = S("{}")};
    edit->entries = &entry;
    edit->entry_count = 1;
}

static void set_key(pdr_edit *edit, pdr_str text)
{
    property = (pdr_property){.key = text, .value = S("1")};
    edit->properties = &property;
    edit->property_count = 1;
}

static void set_match(pdr_edit *edit, pdr_str text)
{
    property = (pdr_property){.key = S("k"), .value = S("1"), .match = text};
    edit->properties = &property;
    edit->property_count = 1;
}

static void set_completion(pdr_edit *edit, pdr_str text)
{
    completion = (pdr_completion){.correlation_id = text};
    edit->completions = &completion;
    edit->completion_count = 1;
}

static void set_fingerprint(pdr_edit *edit, pdr_str text)
{
    completion =
        (pdr_completion){.correlation_id = S("c"), .fingerprint = text};
    edit->completions = &completion;
    edit->completion_count = 1;
}

static void set_work_kind(pdr_edit *edit, pdr_str text)
{
    work = (pdr_work){.kind = text, .due_ms = 0, .body = S("1")};
    edit->inbox = &work;
    edit->inbox_count = 1;
}

static const struct limit limits[] = {
    {"tenant", 128, PDR_EINVALID, "bad_ref", set_tenant},
    {"id", 1024, PDR_EINVALID, "bad_ref", set_id},
    {"agent", 128, PDR_EINVALID, "bad_edit", set_agent},
    {"owner", 128, PDR_EINVALID, "bad_edit", set_owner},
    {"correlation id", 1024, PDR_EINVALID, "bad_edit", set_correlation},
    {"key", 1024, PDR_EINVALID, "bad_edit", set_key},
    {"match", 1024, PDR_EINVALID, "bad_edit", set_match},
    {"completion", 1024, PDR_EINVALID, "bad_edit", set_completion},
    {"fingerprint", 64, PDR_EINVALID, "bad_edit", set_fingerprint},
    {"kind of work", 128, PDR_EINVALID, "bad_edit", set_work_kind},
};

TEST(limit, of_each_name_is_kept_to_the_byte)
{
    pdr_store *store = suite_open();

    for (size_t i = 0; i < COUNT(limits); i++) {
        char *text = letters(limits[i].most + 1), id[16];
        snprintf(id, sizeof(id), "s%zu", i);
        pdr_edit edit = {.ref = {.id = pdr_str_c(id)}};
        limits[i].set(&edit, pdr_str_n(text, limits[i].most + 1));
        must_refuse(limits[i].rc, limits[i].reason, store, &edit);
        limits[i].set(&edit, pdr_str_n(text, limits[i].most));
        (void)must_commit(store, &edit);
        const pdr_query query = {.what = PDR_READ_HEAD, .ref = edit.ref};
        pdr_page *page = must_read(store, &query);
        ASSERT_INT(1, page->head.revision);
        pdr_page_free(page);
        free(text);
    }
    suite_close(store);
}

TEST(limit, is_one_byte_at_least_where_a_name_is_needed)
{
    pdr_store *store = suite_open();
    static const size_t needed[] = {0, 1, 3, 4, 5, 7, 9};

    for (size_t i = 0; i < COUNT(needed); i++) {
        const struct limit *limit = &limits[needed[i]];
        pdr_edit edit = EDIT("s", 0);
        limit->set(&edit, S(""));
        must_refuse(limit->rc, limit->reason, store, &edit);
    }
    suite_close(store);
}

/* --- bodies --------------------------------------------------------------- */

/* A string of `len` bytes with its quotes. */
static char *long_body(size_t len)
{
    char *text = letters(len);

    text[0] = text[len - 1] = '"';
    return text;
}

TEST(limit, of_a_row_is_kept_to_the_byte)
{
    pdr_store *store = suite_open();
    char *text = long_body(ROW_BYTES + 1);
    pdr_entry large = {.body = pdr_str_n(text, ROW_BYTES + 1)};
    pdr_edit edit = EDIT("s", 0);
    edit.entries = &large;
    edit.entry_count = 1;

    must_refuse(PDR_ELIMIT, "row_too_large", store, &edit);
    text[ROW_BYTES - 1] = '"';
    large.body.len = ROW_BYTES;
    (void)must_commit(store, &edit);
    const pdr_query query = {.what = PDR_READ_ENTRIES, .ref = edit.ref};
    pdr_page *page = must_read(store, &query);
    ASSERT(pdr_str_equal(large.body, page->entries[0].body));
    pdr_page_free(page);
    free(text);
    suite_close(store);
}

TEST(limit, of_a_commit_counts_all_its_bytes)
{
    pdr_store *store = suite_open();
    char *text = long_body(ROW_BYTES);
    pdr_entry rows[5];
    pdr_edit edit = EDIT("s", 0);

    memset(rows, 0, sizeof(rows));
    for (size_t i = 0; i < COUNT(rows); i++)
        rows[i].body = pdr_str_n(text, ROW_BYTES);
    edit.entries = rows;
    edit.entry_count = COUNT(rows);
    must_refuse(PDR_ELIMIT, "commit_too_large", store, &edit);
    free(text);
    suite_close(store);
}

/* "[[...]]" of so many levels. */
static pdr_str nested(char *room, size_t depth)
{
    memset(room, '[', depth);
    memset(room + depth, ']', depth);
    return pdr_str_n(room, 2 * depth);
}

TEST(limit, of_depth_counts_the_document_around_a_row)
{
    pdr_store *store = suite_open();
    static const struct {
        size_t depth;
        pdr_row_shape shape;
    } entries[] = {{125, PDR_ROW_STATE},
                   {124, PDR_ROW_DOTNET},
                   {124, PDR_ROW_PYTHON},
                   {124, PDR_ROW_SK}};
    char room[512];
    uint64_t revision = must_create(store, "s").revision;

    for (size_t i = 0; i < COUNT(entries); i++) {
        pdr_entry row = {.shape = entries[i].shape};
        pdr_edit edit = EDIT("s", revision);
        edit.entries = &row;
        edit.entry_count = 1;
        row.body = nested(room, entries[i].depth + 1);
        must_refuse(PDR_ELIMIT, "too_deep", store, &edit);
        row.body = nested(room, entries[i].depth);
        revision = must_commit(store, &edit).revision;
    }
    pdr_slot slot = {.key = S("k"), .value = nested(room, 127)};
    pdr_edit edit = EDIT("s", revision);
    edit.slots = &slot;
    edit.slot_count = 1;
    must_refuse(PDR_ELIMIT, "too_deep", store, &edit);
    slot.value = nested(room, 126);
    (void)must_commit(store, &edit);
    suite_close(store);
}

/* --- counts --------------------------------------------------------------- */

/* Slots or properties k0, k1, ... of one session. */
struct many {
    pdr_slot *slots;
    pdr_property *properties;
    char (*keys)[12];
};

static struct many make_many(size_t count)
{
    struct many many = {calloc(count, sizeof(pdr_slot)),
                        calloc(count, sizeof(pdr_property)), NULL};

    many.keys = calloc(count, sizeof(*many.keys));
    for (size_t i = 0; i < count; i++) {
        snprintf(many.keys[i], sizeof(many.keys[i]), "k%06zu", i);
        many.slots[i].key = many.properties[i].key = pdr_str_c(many.keys[i]);
        many.slots[i].value = many.properties[i].value = S("1");
    }
    return many;
}

static void free_many(struct many *many)
{
    free(many->slots);
    free(many->properties);
    free(many->keys);
}

/* A refusal where hashing all rows would take too long: the head tells. */
static void refuse_large(const char *reason, pdr_store *store,
                         const pdr_edit *edit)
{
    const pdr_commit_options options = {.now_ms = NOW};
    pdr_head before = head_of(store, "s");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT,
              pdr_store_commit(NULL, store, edit, 1, &options, &err));
    ASSERT_STR(reason, err.reason);
    pdr_head after = head_of(store, "s");
    assert_memory_equal(before.digest, after.digest, PDR_DIGEST_BYTES);
}

TEST(limit, of_slots_is_a_hundred_thousand)
{
    pdr_store *store = suite_open();
    struct many many = make_many(100001);
    pdr_edit edit = EDIT("s", 0);

    edit.slots = many.slots;
    edit.slot_count = 100000;
    (void)must_commit(store, &edit);
    ASSERT_INT(100000, head_of(store, "s").slots);
    edit.revision = 1;
    edit.slots = many.slots + 100000;
    edit.slot_count = 1;
    refuse_large("too_many_slots", store, &edit);
    many.slots[99999].value = pdr_str_n(NULL, 0); /* one goes, one comes */
    edit.slots = many.slots + 99999;
    edit.slot_count = 2;
    (void)must_commit(store, &edit);
    ASSERT_INT(100000, head_of(store, "s").slots);
    free_many(&many);
    suite_close(store);
}

TEST(limit, of_properties_is_a_thousand)
{
    pdr_store *store = suite_open();
    struct many many = make_many(1001);
    pdr_edit edit = EDIT("s", 0);

    edit.properties = many.properties;
    edit.property_count = 1001;
    must_refuse(PDR_ELIMIT, "too_many_properties", store, &edit);
    edit.property_count = 1000;
    (void)must_commit(store, &edit);
    edit.revision = 1; /* those that are there may change */
    (void)must_commit(store, &edit);
    edit.revision = 2;
    edit.properties = many.properties + 1000;
    edit.property_count = 1;
    must_refuse(PDR_ELIMIT, "too_many_properties", store, &edit);
    free_many(&many);
    suite_close(store);
}

TEST(limit, of_rows_in_a_commit_is_a_hundred_thousand)
{
    pdr_store *store = suite_open();
    pdr_entry *rows = calloc(100001, sizeof(*rows));
    pdr_edit edit = EDIT("s", 1);

    (void)must_create(store, "s");
    for (size_t i = 0; i < 100001; i++)
        rows[i].body = S("1");
    edit.entries = rows;
    edit.entry_count = 100001;
    refuse_large("commit_too_large", store, &edit);
    edit.entry_count = 100000;
    ASSERT_INT(2, must_commit(store, &edit).revision);
    ASSERT_INT(100001, head_of(store, "s").next_seq);
    const pdr_query last = {.what = PDR_READ_ENTRIES,
                            .ref = edit.ref,
                            .backwards = true,
                            .limit = 20};
    pdr_page *page = must_read(store, &last);
    ASSERT_INT(100000, page->entries[0].seq);
    pdr_page_free(page);
    free(rows);
    suite_close(store);
}

TEST(limit, of_sessions_in_a_commit_is_a_thousand)
{
    pdr_store *store = suite_open();
    pdr_edit *edits = calloc(1001, sizeof(*edits));
    char(*ids)[8] = calloc(1001, sizeof(*ids));
    const pdr_commit_options options = {.now_ms = NOW};
    const pdr_query all = {.what = PDR_READ_ALL};
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < 1001; i++) {
        snprintf(ids[i], sizeof(ids[i]), "s%zu", i);
        edits[i].ref.id = pdr_str_c(ids[i]);
    }
    ASSERT_RC(PDR_ELIMIT,
              pdr_store_commit(NULL, store, edits, 1001, &options, &err));
    ASSERT_STR("commit_too_large", err.reason);
    ASSERT_SIZE(0, read_all(store, &all, 200, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_store_commit(NULL, store, edits, 1000, &options, &err));
    ASSERT_SIZE(1000, read_all(store, &all, 200, NULL, NULL));
    free(ids);
    free(edits);
    suite_close(store);
}
