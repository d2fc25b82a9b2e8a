/* Texts come back byte for byte, whatever a JSON text may hold. */
#include "suite.h"

static const pdr_str good[] = {
    S_INIT("{}"),
    S_INIT(" \t\r\n[ 1 , 2 ]\n"),
    S_INIT("\"\\u0000\""),
    S_INIT("\"\\ud800\""),
    S_INIT("\"\\uDC00 \\uD83D\\uDE00\""),
    S_INIT("\"\xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF\""),
    S_INIT("\"\xE2\x80\xA8\x7F\""),
    S_INIT("\"it\xE2\x80\x99s 'so' \\\"\\u0000\xF0\x9F\x98\x80\""),
    S_INIT("{\"a\":1,\"a\":2,\"\":null}"),
    S_INIT("1E+0070"),
    S_INIT("-0.000"),
    S_INIT("12345678901234567890123456789012345678901234567890"),
    S_INIT("\"'; DROP TABLE entries; --\""),
    S_INIT("\"%s %n \\\\ \\/\""),
    S_INIT("\"[{}]}}\\\"]\""),
    S_INIT("true"),
    S_INIT("null"),
};

/* The escape that fits between the quotes, as keys have it. */
static const pdr_str keys[] = {
    S_INIT(""),        S_INIT("\\u0000"),
    S_INIT("\\ud800"), S_INIT("\xF0\x9F\x98\x80"),
    S_INIT("a b"),     S_INIT("\\\"quoted\\\""),
    S_INIT("%25?&="),  S_INIT("'"),
};

TEST(text, of_each_kind_of_row_comes_back_byte_for_byte)
{
    COVERS("D-20");
    pdr_store *store = suite_open();

    for (size_t i = 0; i < COUNT(good); i++) {
        char id[16];
        snprintf(id, sizeof(id), "s%zu", i);
        const pdr_entry entry = {.body = good[i]};
        const pdr_slot slot = {.key = S("k"), .value = good[i]};
        const pdr_property property = {.key = S("k"), .value = good[i]};
        const pdr_completion done = {.correlation_id = S("c"),
                                     .outcome = good[i]};
        const pdr_work work = {.kind = S("k"), .due_ms = 1, .body = good[i]};
        pdr_edit edit = {.ref = {.id = pdr_str_c(id)}, .frame = good[i]};
        edit.entries = &entry;
        edit.slots = &slot;
        edit.properties = &property;
        edit.completions = &done;
        edit.inbox = edit.journal = edit.stream = &work;
        edit.entry_count = edit.slot_count = edit.property_count = 1;
        edit.completion_count = 1;
        edit.inbox_count = edit.journal_count = edit.stream_count = 1;
        (void)must_commit(store, &edit);

        pdr_query query = {.what = PDR_READ_ENTRIES, .ref = edit.ref};
        pdr_page *page = must_read(store, &query);
        ASSERT_BYTES(good[i], page->entries[0].body);
        pdr_page_free(page);
        query.what = PDR_READ_SLOTS;
        page = must_read(store, &query);
        ASSERT_BYTES(good[i], page->slots[0].value);
        pdr_page_free(page);
        query.what = PDR_READ_PROPERTIES;
        page = must_read(store, &query);
        ASSERT_BYTES(good[i], page->properties[0].value);
        pdr_page_free(page);
        query.what = PDR_READ_COMPLETIONS;
        page = must_read(store, &query);
        ASSERT_BYTES(good[i], page->completions[0].outcome);
        pdr_page_free(page);
        query.what = PDR_READ_FRAME;
        page = must_read(store, &query);
        ASSERT_BYTES(good[i], page->frame);
        pdr_page_free(page);
        for (int what = PDR_READ_JOURNAL; what <= PDR_READ_INBOX; what++) {
            query.what = (pdr_read_what)what;
            page = must_read(store, &query);
            ASSERT_BYTES(good[i], page->work[0].body);
            pdr_page_free(page);
        }
    }
    suite_close(store);
}

TEST(text, of_a_key_comes_back_byte_for_byte)
{
    pdr_store *store = suite_open();
    pdr_slot slots[COUNT(keys)];
    pdr_edit edit = EDIT("s", 0);
    pdr_query query = {.what = PDR_READ_SLOTS, .ref = edit.ref};

    memset(slots, 0, sizeof(slots));
    for (size_t i = 0; i < COUNT(keys); i++)
        slots[i] = (pdr_slot){.key = keys[i], .value = S("1")};
    edit.slots = slots;
    edit.slot_count = COUNT(keys);
    (void)must_commit(store, &edit);
    for (size_t i = 0; i < COUNT(keys); i++) {
        query.key = keys[i];
        pdr_page *page = must_read(store, &query);
        ASSERT_BYTES(keys[i], page->slots[0].key);
        pdr_page_free(page);
    }
    query.key = pdr_str_n(NULL, 0);
    ASSERT_SIZE(COUNT(keys), read_all(store, &query, 1, NULL, NULL));
    suite_close(store);
}

TEST(text, of_names_is_any_utf8)
{
    pdr_store *store = suite_open();
    static const pdr_str names[] = {
        S_INIT("\xF0\x9F\x98\x80"), S_INIT("a b"), S_INIT("'\"\\"),
        S_INIT("@dafx-desk@K1"),    S_INIT("%00"), S_INIT("A"),
        S_INIT("\xC3\xA9\x01\x7F"), S_INIT("a")};
    const pdr_query all = {.what = PDR_READ_ALL};

    for (size_t i = 0; i < COUNT(names); i++) {
        const pdr_edit edit = {.ref = {.id = names[i]},
                               .agent = S("\xF0\x9F\x98\x80")};
        (void)must_commit(store, &edit);
        const pdr_query query = {.what = PDR_READ_HEAD, .ref = edit.ref};
        pdr_page *page = must_read(store, &query);
        ASSERT_BYTES(names[i], page->head.ref.id);
        pdr_page_free(page);
    }
    ASSERT_SIZE(COUNT(names), read_all(store, &all, 3, NULL, NULL));
    suite_close(store);
}

TEST(text, that_is_no_json_is_refused_wherever_it_stands)
{
    pdr_store *store = suite_open();
    static const pdr_str bad[] = {
        S_INIT(""),
        S_INIT("  "),
        S_INIT("{"),
        S_INIT("[}"),
        S_INIT("\"open"),
        S_INIT("\"\x01\""),
        S_INIT("\"\0\""),
        S_INIT("{}\0"),
        S_INIT("\"\xFF\""),
        S_INIT("\"\xED\xA0\x80\""), /* a surrogate in UTF-8 */
        S_INIT("\"\xC0\xAF\""),
        S_INIT("1 2"),
        S_INIT("{} []")};

    for (size_t i = 0; i < COUNT(bad); i++) {
        const pdr_entry entry = {.body = bad[i]};
        const pdr_slot slot = {.key = S("k"), .value = bad[i]};
        const pdr_work work = {.kind = S("k"), .body = bad[i], .due_ms = 1};
        const pdr_completion done = {.correlation_id = S("c"),
                                     .outcome = bad[i]};
        pdr_edit edits[5] = {EDIT("s", 0), EDIT("s", 0), EDIT("s", 0),
                             EDIT("s", 0), EDIT("s", 0)};
        edits[0].entries = &entry;
        edits[0].entry_count = 1;
        edits[1].slots = &slot;
        edits[1].slot_count = 1;
        edits[2].inbox = &work;
        edits[2].inbox_count = 1;
        edits[3].completions = &done;
        edits[3].completion_count = 1;
        edits[4].frame = bad[i];
        for (size_t k = 0; k < COUNT(edits); k++)
            must_refuse(PDR_EINVALID, "bad_body", store, &edits[k]);
    }
    suite_close(store);
}

TEST(text, of_a_name_that_no_index_can_hold_is_refused)
{
    pdr_store *store = suite_open();
    static const pdr_str bad[] = {S_INIT("a\0b"), S_INIT("\xFF"),
                                  S_INIT("@desk@K1")};

    for (size_t i = 0; i < COUNT(bad); i++) {
        const pdr_edit edit = {.ref = {.id = bad[i]}};
        const pdr_query query = {.what = PDR_READ_HEAD, .ref = edit.ref};
        must_refuse(PDR_EINVALID, "bad_ref", store, &edit);
        must_not_read(PDR_EINVALID, "bad_ref", store, &query);
    }
    suite_close(store);
}
