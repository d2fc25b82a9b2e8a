#include "archive_hand.h"

#define NOW_MS 1000

static pdr_str text(const char *literal)
{
    return literal != NULL ? pdr_str_n(literal, strlen(literal))
                           : pdr_str_n(NULL, 0);
}

static uint64_t revision_of(pdr_store *store, const char *id)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref = {.id = text(id)}};
    pdr_page *page = NULL;
    uint64_t revision = 0;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    revision = page->head.revision;
    pdr_page_free(page);
    return revision;
}

static void commit(pdr_store *store, const pdr_edit *edit)
{
    pdr_commit_options options = {.now_ms = NOW_MS};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_commit(NULL, store, edit, 1, &options, &err);

    if (rc != PDR_OK)
        fprintf(stderr, "commit: %s (%s %s)\n", err.message, err.reason,
                err.path);
    ASSERT_RC(PDR_OK, rc);
}

void hand_commit(pdr_store *store, const struct hand *hand)
{
    pdr_entry entries[HAND_ROWS];
    pdr_slot slots[HAND_ROWS];
    pdr_property properties[HAND_ROWS];
    pdr_edit edit = {.ref = {.id = text(hand->id)},
                     .revision = hand->revision,
                     .kind = text(hand->kind),
                     .schema_version = text(hand->schema_version),
                     .frame = text(hand->frame),
                     .entries = entries,
                     .slots = slots,
                     .properties = properties};

    memset(entries, 0, sizeof(entries));
    memset(slots, 0, sizeof(slots));
    memset(properties, 0, sizeof(properties));
    if (hand->expiry_ms != 0) {
        edit.expiry = PDR_EXPIRY_SET;
        edit.expiry_ms = hand->expiry_ms;
    }
    for (size_t i = 0; i < HAND_ROWS && hand->entries[i].body != NULL; i++) {
        entries[i].kind = hand->entries[i].kind;
        entries[i].shape = hand->entries[i].shape;
        entries[i].separator = text(hand->entries[i].separator);
        entries[i].body = text(hand->entries[i].body);
        edit.entry_count = i + 1;
    }
    for (size_t i = 0; i < HAND_ROWS && hand->slots[i].key != NULL; i++) {
        slots[i].key = text(hand->slots[i].key);
        slots[i].value = text(hand->slots[i].value);
        edit.slot_count = i + 1;
    }
    for (size_t i = 0; i < HAND_ROWS && hand->properties[i].key != NULL; i++) {
        properties[i].key = text(hand->properties[i].key);
        properties[i].value = text(hand->properties[i].value);
        edit.property_count = i + 1;
    }
    commit(store, &edit);
}

pdr_store *hand_store(const struct hand *hand)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    hand_commit(store, hand);
    return store;
}

void hand_append(pdr_store *store, const char *id, const pdr_entry *entry)
{
    pdr_edit edit = {.ref = {.id = text(id)},
                     .revision = revision_of(store, id),
                     .entries = entry,
                     .entry_count = 1};

    commit(store, &edit);
}

void hand_set(pdr_store *store, const char *id, const char *key, pdr_str value)
{
    pdr_slot slot = {.key = text(key), .value = value};
    pdr_edit edit = {.ref = {.id = text(id)},
                     .revision = revision_of(store, id),
                     .slots = &slot,
                     .slot_count = 1};

    commit(store, &edit);
}

void hand_cut(pdr_store *store, const char *id, uint64_t through)
{
    pdr_edit edit = {.ref = {.id = text(id)},
                     .revision = revision_of(store, id),
                     .entries_through = through};

    commit(store, &edit);
}

void hand_remove(pdr_store *store, const char *id)
{
    pdr_edit edit = {.ref = {.id = text(id)},
                     .revision = revision_of(store, id),
                     .remove = true};

    commit(store, &edit);
}

pdr_rc hand_export(pdr_buf *out, pdr_store *store, const char *id, bool bare,
                   pdr_export_report *report, pdr_err *err)
{
    pdr_export_opts opts = {.ref = {.id = text(id)}, .bare = bare};

    pdr_buf_clear(out);
    return pdr_export(report, store, &opts, err, pdr_write_buf, out);
}

static void expect(const char *expected, pdr_store *store, const char *id,
                   bool bare)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_export_report report;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = hand_export(&out, store, id, bare, &report, &err);

    if (rc != PDR_OK)
        fprintf(stderr, "export: %s (%s)\n", err.message, err.reason);
    ASSERT_RC(PDR_OK, rc);
    ASSERT_TEXT(expected, pdr_buf_str(&out));
    ASSERT_SIZE(out.len, report.bytes);
    pdr_buf_dispose(&out);
}

void hand_expect(const char *expected, const struct hand *hand)
{
    pdr_store *store = hand_store(hand);

    expect(expected, store, hand->id, false);
    pdr_store_close(store);
}

void hand_expect_bare(const char *expected, const struct hand *hand)
{
    pdr_store *store = hand_store(hand);

    expect(expected, store, hand->id, true);
    pdr_store_close(store);
}

void hand_expect_in(const char *expected, pdr_store *store, const char *id)
{
    expect(expected, store, id, false);
}

void hand_refused(const char *reason, const struct hand *hand)
{
    pdr_store *store = hand_store(hand);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT(hand_export(&out, store, hand->id, false, NULL, &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT_SIZE(0, out.len);
    ASSERT(err.message[0] != '\0');
    ASSERT(err.message[strlen(err.message) - 1] != '.');
    pdr_buf_dispose(&out);
    pdr_store_close(store);
}
