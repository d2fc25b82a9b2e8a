/* Digests of rows: their form byte by byte, and that each column counts. */
#include "test.h"

#include "trick_digest.h"

#include "store.h"

#define T(text) pdr_str_c(text)
#define NONE    pdr_str_n(NULL, 0)

static uint8_t key_bytes[4096];

/* A store is no more than its key here. A key of 0 bytes: none. */
static pdr_store store_with_key(size_t len)
{
    pdr_store store;

    memset(&store, 0, sizeof(store));
    for (size_t i = 0; i < sizeof(key_bytes); i++)
        key_bytes[i] = (uint8_t)(7 * i + 3);
    store.key = len > 0 ? key_bytes : NULL;
    store.key_len = len;
    return store;
}

/* --- the form, written down once more --------------------------------------
 */

struct form {
    uint8_t bytes[70000];
    size_t len;
};

static void form_bytes(struct form *form, const void *bytes, size_t len)
{
    ASSERT(len <= sizeof(form->bytes) - form->len);
    if (len > 0)
        memcpy(form->bytes + form->len, bytes, len);
    form->len += len;
}

static void form_byte(struct form *form, uint8_t byte)
{
    form_bytes(form, &byte, 1);
}

static void form_number(struct form *form, uint64_t number)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        form_byte(form, (uint8_t)(number >> shift & 0xFFu));
}

static void form_text(struct form *form, pdr_str text)
{
    form_number(form, text.ptr != NULL ? text.len + 1 : 0);
    form_bytes(form, text.ptr, text.len);
}

/* Begin a row of `table` of the session of the tests. */
static void form_begin(struct form *form, uint8_t table)
{
    form->len = 0;
    form_byte(form, table);
}

static const pdr_ref *ref(void)
{
    static pdr_ref one;

    one.tenant = T("acme");
    one.id = T("s1");
    return &one;
}

static void form_ref(struct form *form)
{
    form_text(form, T("acme"));
    form_text(form, T("s1"));
}

static void assert_form(const struct form *form, const pdr_store *store,
                        const pdr_digest digest)
{
    pdr_str bytes = pdr_str_n((const char *)form->bytes, form->len);
    pdr_str key = pdr_str_n((const char *)store->key, store->key_len);
    pdr_digest wanted;

    if (store->key == NULL)
        ASSERT_RC(PDR_OK, pdr__sha256(wanted, bytes, NULL));
    else
        ASSERT_RC(PDR_OK, pdr__hmac_sha256(wanted, key, bytes, NULL));
    assert_memory_equal(wanted, digest, PDR_DIGEST_BYTES);
}

/* --- rows ------------------------------------------------------------------
 */

static pdr_entry an_entry(void)
{
    return (pdr_entry){.seq = 9,
                       .kind = PDR_ROW_RESPONSE,
                       .shape = PDR_ROW_PYTHON,
                       .created_ms = -5,
                       .correlation_id = T("c-1"),
                       .separator = T(", "),
                       .body = T("{\"a\":1}")};
}

static pdr_completion a_completion(void)
{
    return (pdr_completion){.correlation_id = T("c-1"),
                            .fingerprint = T("ff"),
                            .outcome = T("{}"),
                            .at_ms = 1000,
                            .epoch = 3,
                            .first_seq = 4,
                            .last_seq = 5};
}

static pdr_work a_work(void)
{
    return (pdr_work){.n = 77,
                      .due_ms = PDR_NEVER,
                      .kind = T("step"),
                      .correlation_id = T("c-1"),
                      .body = T("[]")};
}

static pdr_property a_property(void)
{
    return (pdr_property){
        .key = T("color"), .value = T("\"red\""), .match = T("red")};
}

static pdr_head a_head(void)
{
    pdr_head head = {.agent = T("writer"),
                     .kind = T("durable"),
                     .schema_version = T("1.0.0"),
                     .state = PDR_SESSION_WAITING,
                     .revision = 1,
                     .commits = 2,
                     .epoch = 3,
                     .created_ms = 4,
                     .changed_ms = 5,
                     .expiry_ms = 6,
                     .first_seq = 7,
                     .next_seq = 8,
                     .slots = 9,
                     .properties = 10,
                     .completions = 11,
                     .journal_first = 12,
                     .journal_next = 13,
                     .stream_first = 14,
                     .stream_next = 15,
                     .inbox = 16,
                     .inbox_next = 17,
                     .has_frame = true,
                     .lease = {T("w1"), 18, 19}};

    head.ref = *ref();
    memset(head.anchor, 0xA1, sizeof(head.anchor));
    memset(head.chain, 0xC1, sizeof(head.chain));
    return head;
}

/* --- form ------------------------------------------------------------------
 */

static void check_anchor_and_link(struct pdr__seal *seal,
                                  const pdr_store *store)
{
    struct form form;
    pdr_digest anchor, own, out;

    ASSERT_RC(PDR_OK, pdr__seal_anchor(anchor, seal, store, ref(), 6, NULL));
    form_begin(&form, 1);
    form_ref(&form);
    form_number(&form, 6);
    assert_form(&form, store, anchor);

    memset(own, 0x55, sizeof(own));
    ASSERT_RC(PDR_OK,
              pdr__seal_link(out, seal, store, anchor, own, 6, 1, NULL));
    form_begin(&form, 3);
    form_bytes(&form, anchor, sizeof(anchor));
    form_bytes(&form, own, sizeof(own));
    form_number(&form, 6);
    form_number(&form, 1);
    assert_form(&form, store, out);
}

static void check_entry(struct pdr__seal *seal, const pdr_store *store,
                        const pdr_entry *entry)
{
    struct form form;
    pdr_digest out;

    ASSERT_RC(PDR_OK, pdr__seal_entry(out, seal, store, entry, NULL));
    form_begin(&form, 2);
    form_text(&form, entry->correlation_id);
    form_text(&form, entry->separator);
    form_text(&form, entry->body);
    form_number(&form, entry->kind);
    form_number(&form, entry->shape);
    form_number(&form, (uint64_t)entry->created_ms);
    assert_form(&form, store, out);
}

static void check_keyed_rows(struct pdr__seal *seal, const pdr_store *store)
{
    pdr_slot slot = {.key = T("k"), .value = T("1")};
    pdr_property property = a_property();
    struct form form;
    pdr_digest out;

    ASSERT_RC(PDR_OK, pdr__seal_slot(out, seal, store, ref(), &slot, NULL));
    form_begin(&form, 4);
    form_ref(&form);
    form_text(&form, slot.key);
    form_text(&form, slot.value);
    assert_form(&form, store, out);

    ASSERT_RC(PDR_OK,
              pdr__seal_property(out, seal, store, ref(), &property, NULL));
    form_begin(&form, 5);
    form_ref(&form);
    form_text(&form, property.key);
    form_text(&form, property.value);
    form_text(&form, property.match);
    assert_form(&form, store, out);

    ASSERT_RC(PDR_OK, pdr__seal_frame(out, seal, store, ref(), T("{ }"), NULL));
    form_begin(&form, 6);
    form_ref(&form);
    form_text(&form, T("{ }"));
    assert_form(&form, store, out);
}

static void check_completion_and_work(struct pdr__seal *seal,
                                      const pdr_store *store)
{
    pdr_completion done = a_completion();
    pdr_work work = a_work();
    struct form form;
    pdr_digest out;

    ASSERT_RC(PDR_OK,
              pdr__seal_completion(out, seal, store, ref(), &done, NULL));
    form_begin(&form, 7);
    form_ref(&form);
    form_text(&form, done.correlation_id);
    form_text(&form, done.fingerprint);
    form_text(&form, done.outcome);
    form_number(&form, 1000);
    form_number(&form, 3);
    form_number(&form, 4);
    form_number(&form, 5);
    assert_form(&form, store, out);

    ASSERT_RC(PDR_OK, pdr__seal_work(out, seal, store, ref(), PDR_PART_STREAM,
                                     8, &work, NULL));
    form_begin(&form, 8);
    form_ref(&form);
    form_text(&form, work.kind);
    form_text(&form, work.correlation_id);
    form_text(&form, work.body);
    form_number(&form, PDR_PART_STREAM);
    form_number(&form, 8);
    form_number(&form, INT64_MAX);
    assert_form(&form, store, out);
}

static void check_head(struct pdr__seal *seal, const pdr_store *store)
{
    pdr_head head = a_head();
    struct form form;
    pdr_digest out;

    ASSERT_RC(PDR_OK, pdr__seal_head(out, seal, store, &head, NULL));
    form_begin(&form, 9);
    form_ref(&form);
    form_text(&form, head.agent);
    form_text(&form, head.kind);
    form_text(&form, head.schema_version);
    form_text(&form, head.lease.owner);
    form_text(&form, pdr_str_n((const char *)head.anchor, 32));
    form_text(&form, pdr_str_n((const char *)head.chain, 32));
    form_number(&form, PDR_SESSION_WAITING);
    for (uint64_t n = 1; n <= 17; n++)
        form_number(&form, n);
    form_number(&form, 1);
    form_number(&form, 18);
    form_number(&form, 19);
    assert_form(&form, store, out);
}

static void check_all(size_t key_len)
{
    pdr_store store = store_with_key(key_len);
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_entry entry = an_entry();

    check_anchor_and_link(&seal, &store);
    check_entry(&seal, &store, &entry);
    check_keyed_rows(&seal, &store);
    check_completion_and_work(&seal, &store);
    check_head(&seal, &store);
    pdr__seal_dispose(&seal);
}

TEST(seal, is_the_sha256_of_the_form)
{
    check_all(0);
}

TEST(seal, is_the_hmac_of_the_form_for_keys_of_any_length)
{
    static const size_t lengths[] = {1, 31, 32, 63, 64, 65, 128, 4096};

    for (size_t i = 0; i < PDR_COUNT(lengths); i++)
        check_all(lengths[i]);
}

/* Texts that end before, at and behind each edge of what is gathered. */
TEST(seal, is_the_same_however_long_the_texts_are)
{
    static char text[66000];
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_entry entry = an_entry();

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 26);
    for (size_t keyed = 0; keyed < 2; keyed++) {
        pdr_store store = store_with_key(keyed * 32);

        for (size_t len = 0; len < 1200; len++) {
            entry.body = pdr_str_n(text, len);
            entry.separator = pdr_str_n(text, len % 7 * 100);
            check_entry(&seal, &store, &entry);
        }
        entry.body = pdr_str_n(text, sizeof(text));
        check_entry(&seal, &store, &entry);
    }
    pdr__seal_dispose(&seal);
}

static void assert_hex(const char *expected, const pdr_digest digest)
{
    char hex[2 * PDR_DIGEST_BYTES + 1];

    pdr__hex(hex, digest, PDR_DIGEST_BYTES);
    ASSERT_STR(expected, hex);
}

/* Made by another program from the form alone: stores on disk hold these. */
#define ANCHOR_PLAIN \
    "fa00035692f867aec4289fe4ab2e4b1d5fe484e53f752c9bd6dbc17f205ff9bd"
#define ANCHOR_KEYED \
    "11156d8115f60d895ab8b760f09cbd22330ec49e3014cc5e8502bdb3b8c8a861"
#define ENTRY_PLAIN \
    "4c606c9e3473d233c0d1c27d5bc5b7d9772405525bd18fb2852c1b9bec84b484"
#define HEAD_PLAIN \
    "dee7681183311de172f58d0a0dbc4ecf9b9bd3beb91855d359b8805fcb7ac23e"
TEST(seal, never_changes)
{
    pdr_store plain = store_with_key(0), keyed = store_with_key(32);
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_entry entry = an_entry();
    pdr_head head = a_head();
    pdr_digest out;

    ASSERT_RC(PDR_OK, pdr__seal_anchor(out, &seal, &plain, ref(), 1, NULL));
    assert_hex(ANCHOR_PLAIN, out);
    ASSERT_RC(PDR_OK, pdr__seal_anchor(out, &seal, &keyed, ref(), 1, NULL));
    assert_hex(ANCHOR_KEYED, out);
    ASSERT_RC(PDR_OK, pdr__seal_entry(out, &seal, &plain, &entry, NULL));
    assert_hex(ENTRY_PLAIN, out);
    ASSERT_RC(PDR_OK, pdr__seal_head(out, &seal, &plain, &head, NULL));
    assert_hex(HEAD_PLAIN, out);
    pdr__seal_dispose(&seal);
}

/* --- each column counts ----------------------------------------------------
 */

/* Digests that were seen, no two of them the same. */
struct seen {
    struct pdr__seal seal;
    pdr_store store;
    pdr_digest digests[64];
    size_t count;
};

static struct seen seen_begin(void)
{
    struct seen seen;

    memset(&seen, 0, sizeof(seen));
    seen.store = store_with_key(0);
    return seen;
}

static void see(struct seen *seen, const pdr_digest digest, const char *what)
{
    ASSERT(seen->count < PDR_COUNT(seen->digests));
    for (size_t i = 0; i < seen->count; i++) {
        if (memcmp(seen->digests[i], digest, PDR_DIGEST_BYTES) == 0)
            fail_msg("%s does not count", what);
    }
    memcpy(seen->digests[seen->count++], digest, PDR_DIGEST_BYTES);
}

#define SEE(seen, call)          \
    do {                         \
        pdr_digest out;          \
        ASSERT_RC(PDR_OK, call); \
        see(seen, out, #call);   \
    } while (0)

/* Seal `row` with one member set to another value. */
#define CHANGE(member, value)     \
    do {                          \
        changed = base;           \
        changed.member = value;   \
        pdr_digest out;           \
        SEAL(out, &changed);      \
        see(&seen, out, #member); \
    } while (0)

TEST(seal_entry, covers_each_column_but_its_place)
{
    struct seen seen = seen_begin();
    pdr_entry base = an_entry(), changed = base;
    pdr_digest first, again;

#define SEAL(out, row) \
    ASSERT_RC(PDR_OK, pdr__seal_entry(out, &seen.seal, &seen.store, row, NULL))
    SEAL(first, &base);
    see(&seen, first, "the row");
    CHANGE(kind, PDR_ROW_REQUEST);
    CHANGE(shape, PDR_ROW_STATE);
    CHANGE(created_ms, 5);
    CHANGE(correlation_id, T("c-2"));
    CHANGE(correlation_id, NONE);
    CHANGE(correlation_id, T(""));
    CHANGE(separator, T(","));
    CHANGE(separator, NONE);
    CHANGE(separator, T(""));
    CHANGE(body, T("{\"a\":2}"));
    changed = base;
    changed.seq++;
    memset(changed.digest, 0xFF, sizeof(changed.digest));
    SEAL(again, &changed);
    assert_memory_equal(first, again, sizeof(first));
#undef SEAL
    pdr__seal_dispose(&seen.seal);
}

TEST(seal_link, covers_the_digest_before_epoch_and_number)
{
    struct seen seen = seen_begin();
    struct pdr__seal *seal = &seen.seal;
    pdr_digest a, b;

    memset(a, 1, sizeof(a));
    memset(b, 2, sizeof(b));
    SEE(&seen, pdr__seal_link(out, seal, &seen.store, a, b, 1, 2, NULL));
    SEE(&seen, pdr__seal_link(out, seal, &seen.store, b, a, 1, 2, NULL));
    SEE(&seen, pdr__seal_link(out, seal, &seen.store, a, a, 1, 2, NULL));
    SEE(&seen, pdr__seal_link(out, seal, &seen.store, a, b, 2, 2, NULL));
    SEE(&seen, pdr__seal_link(out, seal, &seen.store, a, b, 1, 1, NULL));
    SEE(&seen, pdr__seal_link(out, seal, &seen.store, a, b, 2, 1, NULL));
    pdr__seal_dispose(seal);
}

TEST(seal_anchor, covers_tenant_id_and_epoch)
{
    struct seen seen = seen_begin();
    struct pdr__seal *seal = &seen.seal;
    pdr_ref other = {T("acme"), T("s2")}, moved = {T("acmes"), T("1")};
    pdr_ref tenant = {T("acm"), T("s1")};

    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, ref(), 1, NULL));
    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, ref(), 2, NULL));
    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, &other, 1, NULL));
    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, &moved, 1, NULL));
    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, &tenant, 1, NULL));
    pdr__seal_dispose(seal);
}

/* Seal one row of each kind that has a session, for `whose`. */
static void see_rows_of(struct seen *seen, const pdr_ref *whose)
{
    struct pdr__seal *seal = &seen->seal;
    const pdr_store *store = &seen->store;
    pdr_slot slot = {.key = T("color"), .value = T("\"red\"")};
    pdr_property property = a_property();
    pdr_completion done = a_completion();
    pdr_work work = a_work();
    pdr_head head = a_head();

    head.ref = *whose;
    SEE(seen, pdr__seal_slot(out, seal, store, whose, &slot, NULL));
    SEE(seen, pdr__seal_property(out, seal, store, whose, &property, NULL));
    SEE(seen, pdr__seal_frame(out, seal, store, whose, T("{}"), NULL));
    SEE(seen, pdr__seal_completion(out, seal, store, whose, &done, NULL));
    SEE(seen, pdr__seal_work(out, seal, store, whose, PDR_PART_INBOX, 1, &work,
                             NULL));
    SEE(seen, pdr__seal_head(out, seal, store, &head, NULL));
    SEE(seen, pdr__seal_anchor(out, seal, store, whose, 1, NULL));
}

TEST(seal, tells_sessions_and_tenants_apart_in_every_kind_of_row)
{
    struct seen seen = seen_begin();
    pdr_ref refs[] = {*ref(),
                      {T("acme"), T("s2")},
                      {T("acm"), T("es1")},
                      {NONE, T("s1")},
                      {T(""), T("s1")}};

    for (size_t i = 0; i < PDR_COUNT(refs); i++)
        see_rows_of(&seen, &refs[i]);
    pdr__seal_dispose(&seen.seal);
}

TEST(seal_slot, covers_each_column)
{
    struct seen seen = seen_begin();
    pdr_slot base = {.key = T("ab"), .value = T("1")}, changed = base;

#define SEAL(out, row) \
    ASSERT_RC(PDR_OK,  \
              pdr__seal_slot(out, &seen.seal, &seen.store, ref(), row, NULL))
    CHANGE(key, T("ab"));
    CHANGE(key, T("a"));
    CHANGE(key, T(""));
    CHANGE(value, T("2"));
    CHANGE(value, T(""));
    CHANGE(value, NONE);
    base.key = T("a");
    CHANGE(value, T("b1")); /* the same bytes, cut elsewhere */
#undef SEAL
    pdr__seal_dispose(&seen.seal);
}

TEST(seal_property, covers_each_column)
{
    struct seen seen = seen_begin();
    pdr_property base = a_property(), changed = base;

#define SEAL(out, row)                                                        \
    ASSERT_RC(PDR_OK, pdr__seal_property(out, &seen.seal, &seen.store, ref(), \
                                         row, NULL))
    CHANGE(key, T("color"));
    CHANGE(key, T("colour"));
    CHANGE(value, T("\"blue\""));
    CHANGE(value, NONE);
    CHANGE(match, T("blue"));
    CHANGE(match, T(""));
    CHANGE(match, NONE);
#undef SEAL
    pdr__seal_dispose(&seen.seal);
}

TEST(seal_frame, tells_absent_from_empty)
{
    struct seen seen = seen_begin();
    struct pdr__seal *seal = &seen.seal;
    const pdr_store *store = &seen.store;

    SEE(&seen, pdr__seal_frame(out, seal, store, ref(), T("{}"), NULL));
    SEE(&seen, pdr__seal_frame(out, seal, store, ref(), T("{ }"), NULL));
    SEE(&seen, pdr__seal_frame(out, seal, store, ref(), T(""), NULL));
    SEE(&seen, pdr__seal_frame(out, seal, store, ref(), NONE, NULL));
    pdr__seal_dispose(seal);
}

TEST(seal_completion, covers_each_column)
{
    struct seen seen = seen_begin();
    pdr_completion base = a_completion(), changed = base;

#define SEAL(out, row)                                                   \
    ASSERT_RC(PDR_OK, pdr__seal_completion(out, &seen.seal, &seen.store, \
                                           ref(), row, NULL))
    CHANGE(correlation_id, T("c-1"));
    CHANGE(correlation_id, T("c-2"));
    CHANGE(fingerprint, T("fe"));
    CHANGE(fingerprint, T(""));
    CHANGE(fingerprint, NONE);
    CHANGE(outcome, T("[]"));
    CHANGE(outcome, T(""));
    CHANGE(outcome, NONE);
    CHANGE(at_ms, -1000);
    CHANGE(epoch, 4);
    CHANGE(first_seq, 3);
    CHANGE(last_seq, 6);
    base.first_seq = 5;
    CHANGE(last_seq, 4); /* the two changed places */
#undef SEAL
    pdr__seal_dispose(&seen.seal);
}

TEST(seal_work, covers_each_column_part_and_number)
{
    struct seen seen = seen_begin();
    struct pdr__seal *seal = &seen.seal;
    const pdr_store *store = &seen.store;
    pdr_work base = a_work(), changed = base;

#define SEAL(out, row)                                        \
    ASSERT_RC(PDR_OK, pdr__seal_work(out, seal, store, ref(), \
                                     PDR_PART_JOURNAL, 1, row, NULL))
    CHANGE(kind, T("step"));
    CHANGE(kind, T("stop"));
    CHANGE(correlation_id, T("c-2"));
    CHANGE(correlation_id, T(""));
    CHANGE(correlation_id, NONE);
    CHANGE(body, T("{}"));
    CHANGE(due_ms, 0);
    CHANGE(due_ms, -1);
#undef SEAL
    SEE(&seen, pdr__seal_work(out, seal, store, ref(), PDR_PART_STREAM, 1,
                              &base, NULL));
    SEE(&seen, pdr__seal_work(out, seal, store, ref(), PDR_PART_INBOX, 1, &base,
                              NULL));
    SEE(&seen, pdr__seal_work(out, seal, store, ref(), PDR_PART_JOURNAL, 2,
                              &base, NULL));
    pdr__seal_dispose(seal);
}

static void see_texts_of_head(struct seen *all)
{
    struct seen seen = *all;
    pdr_head base = a_head(), changed = base;

#define SEAL(out, row) \
    ASSERT_RC(PDR_OK, pdr__seal_head(out, &seen.seal, &seen.store, row, NULL))
    CHANGE(agent, T("writer"));
    CHANGE(ref.tenant, T("acne"));
    CHANGE(ref.id, T("s2"));
    CHANGE(agent, T("reader"));
    CHANGE(agent, NONE);
    CHANGE(agent, T(""));
    CHANGE(kind, T("client"));
    CHANGE(schema_version, T("1.1.0"));
    CHANGE(schema_version, NONE);
    CHANGE(lease.owner, T("w2"));
    CHANGE(lease.owner, NONE);
    CHANGE(lease.owner, T(""));
    CHANGE(anchor[31], 0);
    CHANGE(chain[0], 0);
    *all = seen;
}

TEST(seal_head, covers_each_column)
{
    struct seen seen = seen_begin();
    pdr_head base = a_head(), changed = base;

    see_texts_of_head(&seen);
    CHANGE(state, PDR_SESSION_EXPIRED);
    CHANGE(revision, 100);
    CHANGE(commits, 100);
    CHANGE(epoch, 100);
    CHANGE(created_ms, 100);
    CHANGE(changed_ms, 100);
    CHANGE(expiry_ms, 100);
    CHANGE(first_seq, 100);
    CHANGE(next_seq, 100);
    CHANGE(slots, 100);
    CHANGE(properties, 100);
    CHANGE(completions, 100);
    CHANGE(journal_first, 100);
    CHANGE(journal_next, 100);
    CHANGE(stream_first, 100);
    CHANGE(stream_next, 100);
    CHANGE(inbox, 100);
    CHANGE(inbox_next, 100);
    CHANGE(has_frame, false);
    CHANGE(lease.fence, 100);
    CHANGE(lease.until_ms, 100);
    pdr__seal_dispose(&seen.seal);
}

TEST(seal_head, leaves_out_its_own_digest)
{
    struct seen seen = seen_begin();
    pdr_head head = a_head();
    pdr_digest first, again;

    SEAL(first, &head);
    memset(head.digest, 0xEE, sizeof(head.digest));
    SEAL(again, &head);
    assert_memory_equal(first, again, sizeof(first));
#undef SEAL
    pdr__seal_dispose(&seen.seal);
}

TEST(seal, depends_on_the_key)
{
    struct seen seen = seen_begin();
    struct pdr__seal *seal = &seen.seal;

    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, ref(), 1, NULL));
    seen.store = store_with_key(32);
    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, ref(), 1, NULL));
    seen.store = store_with_key(33);
    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, ref(), 1, NULL));
    seen.store.key[0] ^= 1;
    SEE(&seen, pdr__seal_anchor(out, seal, &seen.store, ref(), 1, NULL));
    pdr__seal_dispose(seal);
}

/* --- OpenSSL fails ---------------------------------------------------------
 */

/* The n-th row of a kind; false if there is none. */
static bool seal_nth(pdr_rc *rc, pdr_digest out, size_t n,
                     struct pdr__seal *seal, const pdr_store *store,
                     pdr_err *err)
{
    static char long_text[2000];
    pdr_digest zero = {0};
    pdr_entry entry = an_entry();
    pdr_completion done = a_completion();
    pdr_work work = a_work();
    pdr_head head = a_head();

    entry.body = pdr_str_n(long_text, sizeof(long_text));
    switch (n) {
    case 0:
        *rc = pdr__seal_entry(out, seal, store, &entry, err);
        return true;
    case 1:
        *rc = pdr__seal_link(out, seal, store, zero, zero, 1, 1, err);
        return true;
    case 2:
        *rc = pdr__seal_completion(out, seal, store, ref(), &done, err);
        return true;
    case 3:
        *rc = pdr__seal_work(out, seal, store, ref(), PDR_PART_INBOX, 1, &work,
                             err);
        return true;
    case 4:
        *rc = pdr__seal_head(out, seal, store, &head, err);
        return true;
    }
    return false;
}

/* Fail at each step; the digest stays untouched, and the next one is right. */
static size_t fail_each_step(size_t n, const pdr_store *store)
{
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_digest wanted, out, untouched;
    pdr_rc rc = PDR_OK;
    size_t step = 1;

    memset(untouched, 0x77, sizeof(untouched));
    (void)seal_nth(&rc, wanted, n, &seal, store, NULL);
    ASSERT_RC(PDR_OK, rc);
    for (;; step++) {
        pdr_err err = PDR_ERR_INIT;

        memcpy(out, untouched, sizeof(out));
        trick_digest_fail(step);
        (void)seal_nth(&rc, out, n, &seal, store, &err);
        bool failed = trick_digest_failed();
        trick_digest_fail(0);
        if (!failed)
            break;
        ASSERT_RC(PDR_EIO, rc);
        ASSERT_STR("digest_failed", err.reason);
        assert_memory_equal(untouched, out, sizeof(out));
    }
    ASSERT_RC(PDR_OK, rc);
    assert_memory_equal(wanted, out, sizeof(out));
    pdr__seal_dispose(&seal);
    return step - 1;
}

TEST(seal, passes_on_that_a_digest_fails_at_any_step)
{
    static const size_t lengths[] = {0, 32, 65};

    for (size_t i = 0; i < PDR_COUNT(lengths); i++) {
        pdr_store store = store_with_key(lengths[i]);
        pdr_digest out;
        pdr_rc rc = PDR_OK;
        size_t n = 0;

        for (;; n++) {
            struct pdr__seal seal = PDR_SEAL_INIT;
            bool is_one = seal_nth(&rc, out, n, &seal, &store, NULL);

            pdr__seal_dispose(&seal);
            if (!is_one)
                break;
            ASSERT(fail_each_step(n, &store) >= 3);
        }
        ASSERT_SIZE(5, n);
    }
}

TEST(seal_dispose, takes_one_that_was_never_used)
{
    struct pdr__seal seal = PDR_SEAL_INIT;

    pdr__seal_dispose(&seal);
    pdr__seal_dispose(&seal);
}
