/* Files of keys: what is read, found, added and taken out. */
#include "room.h"
#include "test.h"

#include <sys/stat.h>

#include "http.h"

/* Of a secret that nobody knows. */
#define SHA1 "e8b3ef7d9f66acf0ab3ad8d2e87d1b5dd0b1e1cb8d7b8b3b9f0dfd8b7b3c5d33"
#define LINE(id, sha, more)                                  \
    "{\"id\":\"" id "\",\"sha256\":\"" sha "\",\"scopes\":[" \
    "\"read\",\"run\"],\"tenant\":\"t\",\"created\":"        \
    "\"2026-01-02T03:04:05Z\"" more "}\n"

struct bench {
    struct room room;
    pdr_keys *keys;
    pdr_err err;
};

static void bench_begin(struct bench *b)
{
    *b = (struct bench){.err = PDR_ERR_INIT};
    room_enter(&b->room);
}

static void bench_end(struct bench *b)
{
    pdr_keys_free(b->keys);
    room_leave(&b->room);
}

static const char *keys_path(const struct bench *b)
{
    return room_path(&b->room, "keys");
}

static void keys_put(const struct bench *b, const char *text)
{
    room_put_c(&b->room, "keys", text);
    ASSERT_INT(0, chmod(keys_path(b), 0600));
}

/* The SHA-256 of a secret, as a line has it. */
static const char *digest_of(const char *secret)
{
    static char hex[2 * PDR_SHA256_BYTES + 1];
    uint8_t digest[PDR_SHA256_BYTES];

    ASSERT_RC(PDR_OK, pdr__sha256(digest, pdr_str_c(secret), NULL));
    pdr__hex(hex, digest, sizeof(digest));
    return hex;
}

TEST(keys_read, gives_what_a_line_says)
{
    struct bench b;
    const pdr_key *key = NULL;

    bench_begin(&b);
    keys_put(&b, LINE("a1", SHA1,
                      ",\"note\":\"of Ann\"") "\n \n" LINE("b", SHA1, ""));
    ASSERT_RC(PDR_OK, pdr_keys_read(&b.keys, keys_path(&b), &b.err));
    ASSERT_SIZE(2, pdr_keys_count(b.keys));
    key = pdr_keys_at(b.keys, 0);
    ASSERT_TEXT("a1", key->id);
    ASSERT_INT(PDR_SCOPE_READ | PDR_SCOPE_RUN, key->scopes);
    ASSERT_TEXT("t", key->tenant);
    ASSERT_TEXT("of Ann", key->note);
    ASSERT(pdr_keys_at(b.keys, 1)->note.ptr == NULL);
    ASSERT(pdr_keys_at(b.keys, 2) == NULL);
    bench_end(&b);
}

TEST(keys_find, needs_the_whole_secret_of_the_id)
{
    static const struct {
        const char *text, *id; /* of the key that it is; NULL: none */
    } rows[] = {
        {"pd_a1_s_1", "a1"},  {"pd_b_s2", "b"},   {"pd_a1_s2", NULL},
        {"pd_b_s_1", NULL},   {"pd_c_s2", NULL},  {"pd_a1_s_", NULL},
        {"pd_a1_s_12", NULL}, {"pd_a1_", NULL},   {"pd_a1", NULL},
        {"pd_", NULL},        {"pd__s2", NULL},   {"a1_s_1", NULL},
        {"PD_b_s2", NULL},    {" pd_b_s2", NULL}, {"", NULL},
    };
    struct bench b;
    char text[1024];
    int len = 0;

    bench_begin(&b);
    len = snprintf(text, sizeof(text), LINE("a1", "%s", ""), digest_of("s_1"));
    snprintf(text + len, sizeof(text) - (size_t)len, LINE("b", "%s", ""),
             digest_of("s2"));
    keys_put(&b, text);
    ASSERT_RC(PDR_OK, pdr_keys_read(&b.keys, keys_path(&b), &b.err));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const pdr_key *key = NULL;

        ASSERT_RC(PDR_OK, pdr__keys_find(&key, b.keys, pdr_str_c(rows[i].text),
                                         &b.err));
        if (rows[i].id == NULL)
            ASSERT(key == NULL);
        else
            ASSERT_TEXT(rows[i].id, key->id);
    }
    bench_end(&b);
}

TEST(keys_find, takes_no_digest_for_a_secret)
{
    struct bench b;
    const pdr_key *key = NULL;

    bench_begin(&b);
    keys_put(&b, LINE("a1", SHA1, ""));
    ASSERT_RC(PDR_OK, pdr_keys_read(&b.keys, keys_path(&b), &b.err));
    ASSERT_RC(PDR_OK,
              pdr__keys_find(&key, b.keys, PDR_LIT("pd_a1_" SHA1), &b.err));
    ASSERT(key == NULL);
    bench_end(&b);
}

/* Two keys, `a1` with the secret s1 and `b` with s2. */
static void keys_of_two(struct bench *b)
{
    char text[1024];
    int len =
        snprintf(text, sizeof(text), LINE("a1", "%s", ""), digest_of("s1"));

    snprintf(text + len, sizeof(text) - (size_t)len, LINE("b", "%s", ""),
             digest_of("s2"));
    keys_put(b, text);
    ASSERT_RC(PDR_OK, pdr_keys_read(&b->keys, keys_path(b), &b->err));
}

TEST(cookie, is_of_one_key_until_its_end)
{
    /* By: printf 'perdure-ui-1 a1.2000' | openssl dgst -sha256 -mac HMAC
     * -macopt hexkey:$(printf s1 | sha256sum | cut -c-64) */
    static const char known[] =
        "a1.2000."
        "c4789526dc58144584da4085a5c41dd9a0ccff5d09032d5fcd59ef1be95a4a91";
    struct bench b;
    pdr_buf cookie = PDR_BUF_INIT(SIZE_MAX);
    const pdr_key *key = NULL;
    int64_t until = 0;

    bench_begin(&b);
    keys_of_two(&b);
    ASSERT_RC(PDR_OK,
              pdr__cookie_write(&cookie, b.keys, PDR_LIT("a1"), 2000, &b.err));
    ASSERT_TEXT(known, pdr_buf_str(&cookie));
    static const struct {
        int64_t now;
        bool holds;
    } rows[] = {{0, true}, {1999, true}, {2000, false}, {3000, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ASSERT_RC(PDR_OK,
                  pdr__cookie_find(&key, &until, b.keys, pdr_str_c(known),
                                   rows[i].now, &b.err));
        ASSERT((key != NULL) == rows[i].holds);
    }
    ASSERT_RC(PDR_OK, pdr__cookie_find(&key, &until, b.keys, pdr_str_c(known),
                                       5, &b.err));
    ASSERT_TEXT("a1", key->id);
    ASSERT_INT(2000, until);
    for (size_t bit = 0; bit < 8 * cookie.len; bit++) {
        cookie.ptr[bit / 8] = (char)(cookie.ptr[bit / 8] ^ (1 << bit % 8));
        ASSERT_RC(PDR_OK, pdr__cookie_find(&key, &until, b.keys,
                                           pdr_buf_str(&cookie), 5, &b.err));
        ASSERT(key == NULL);
        cookie.ptr[bit / 8] = (char)(cookie.ptr[bit / 8] ^ (1 << bit % 8));
    }
    pdr_buf_dispose(&cookie);
    bench_end(&b);
}

TEST_OOM(cookie, is_made_and_found_or_neither)
{
    struct bench b;
    pdr_buf cookie = PDR_BUF_INIT(SIZE_MAX);
    const pdr_key *key = NULL;
    int64_t until = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    bench_begin(&b);
    keys_of_two(&b);
    test_pause_failures(false);
    rc = pdr__cookie_write(&cookie, b.keys, PDR_LIT("b"), 2000, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((cookie.len > 0) == (rc == PDR_OK));
    if (rc == PDR_OK)
        rc = pdr__cookie_find(&key, &until, b.keys, pdr_buf_str(&cookie), 5,
                              NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((key != NULL) == (rc == PDR_OK));
    pdr_buf_dispose(&cookie);
    bench_end(&b);
}

TEST(key_create, makes_a_key_that_is_found)
{
    struct bench b;
    pdr_buf shown = PDR_BUF_INIT(SIZE_MAX);
    const pdr_key made = {.scopes = PDR_SCOPE_WRITE, .tenant = PDR_LIT("t")};
    const pdr_key *key = NULL;
    struct stat info;

    bench_begin(&b);
    ASSERT_RC(PDR_OK, pdr_key_create(&shown, keys_path(&b), &made, &b.err));
    ASSERT_INT(0, stat(keys_path(&b), &info));
    ASSERT_INT(0600, info.st_mode & 0777);
    ASSERT_RC(PDR_OK, pdr_keys_read(&b.keys, keys_path(&b), &b.err));
    ASSERT_RC(PDR_OK,
              pdr__keys_find(&key, b.keys, pdr_buf_str(&shown), &b.err));
    ASSERT_INT(PDR_SCOPE_WRITE, key->scopes);
    ASSERT(pdr__keys_get(b.keys, key->id) == key);
    pdr_buf_dispose(&shown);
    bench_end(&b);
}

TEST(key_create, refuses_what_would_be_no_key)
{
    static const struct {
        pdr_key key;
        const char *reason;
    } rows[] = {
        {{.scopes = 0, .tenant = {"t", 1}}, "bad_option"},
        {{.scopes = 16, .tenant = {"t", 1}}, "bad_option"},
        {{.scopes = 1, .tenant = {"", 0}}, "bad_ref"},
        {{.scopes = 1, .tenant = {"\xff", 1}}, "bad_ref"},
    };
    struct bench b;
    pdr_buf shown = PDR_BUF_INIT(SIZE_MAX);

    bench_begin(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ASSERT(pdr_key_create(&shown, keys_path(&b), &rows[i].key, &b.err) !=
               PDR_OK);
        ASSERT_STR(rows[i].reason, b.err.reason);
    }
    ASSERT_SIZE(0, shown.len);
    ASSERT(!room_has(&b.room, "keys") && !room_has(&b.room, "keys.new"));
    bench_end(&b);
}

TEST(key_revoke, leaves_the_other_lines_as_they_are)
{
    struct bench b;

    bench_begin(&b);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_key_revoke(keys_path(&b), PDR_LIT("a"), &b.err));
    ASSERT_STR("no_key_file", b.err.reason);
    keys_put(&b,
             LINE("a", SHA1, " ") LINE("b", SHA1, "") LINE("c", SHA1, "  "));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_key_revoke(keys_path(&b), PDR_LIT("d"), &b.err));
    ASSERT_STR("no_key", b.err.reason);
    ASSERT_RC(PDR_OK, pdr_key_revoke(keys_path(&b), PDR_LIT("b"), &b.err));
    room_assert(&b.room, "keys", LINE("a", SHA1, " ") LINE("c", SHA1, "  "));
    ASSERT(!room_has(&b.room, "keys.new"));
    bench_end(&b);
}

TEST(key_revoke, replaces_no_file_that_is_unsafe_or_broken)
{
    struct bench b;

    bench_begin(&b);
    keys_put(&b, LINE("a", SHA1, ""));
    ASSERT_INT(0, chmod(keys_path(&b), 0620));
    ASSERT_RC(PDR_EDENIED, pdr_key_revoke(keys_path(&b), PDR_LIT("a"), &b.err));
    ASSERT_STR("unsafe_file", b.err.reason);
    keys_put(&b, LINE("a", SHA1, "") "broken\n");
    ASSERT_RC(PDR_EINVALID,
              pdr_key_revoke(keys_path(&b), PDR_LIT("a"), &b.err));
    ASSERT_STR("bad_key_file", b.err.reason);
    room_assert(&b.room, "keys", LINE("a", SHA1, "") "broken\n");
    bench_end(&b);
}

TEST(scope_names, are_those_of_each_scope)
{
    for (unsigned scope = 1; scope <= PDR_SCOPE_ADMIN; scope *= 2)
        ASSERT_INT(scope, pdr_scope_find(pdr_str_c(pdr_scope_name(scope))));
    ASSERT(pdr_scope_name(PDR_SCOPE_NONE) == NULL);
    ASSERT(pdr_scope_name(3) == NULL);
    ASSERT_INT(PDR_SCOPE_NONE, pdr_scope_find(PDR_LIT("Read")));
}

TEST_OOM(keys_find, fails_as_a_whole)
{
    struct bench b;
    const pdr_key *key = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    bench_begin(&b);
    keys_put(&b, LINE("a", SHA1, ",\"note\":\"\\u00fc\""));
    test_pause_failures(false);
    rc = pdr_keys_read(&b.keys, keys_path(&b), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((b.keys != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        rc = pdr__keys_find(&key, b.keys, PDR_LIT("pd_a_x"), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(key == NULL);
    bench_end(&b);
}

TEST_OOM(key_create, adds_a_key_and_shows_it_or_neither)
{
    struct bench b;
    pdr_buf shown = PDR_BUF_INIT(SIZE_MAX);
    const pdr_key key = {.scopes = PDR_SCOPE_READ, .tenant = PDR_LIT("t")};
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    bench_begin(&b);
    keys_put(&b, LINE("a", SHA1, ""));
    test_pause_failures(false);
    rc = pdr_key_create(&shown, keys_path(&b), &key, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((shown.len > 0) == (rc == PDR_OK));
    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_keys_read(&b.keys, keys_path(&b), &b.err));
    ASSERT_SIZE(rc == PDR_OK ? 2 : 1, pdr_keys_count(b.keys));
    ASSERT(!room_has(&b.room, "keys.new"));
    test_pause_failures(false);
    pdr_buf_dispose(&shown);
    bench_end(&b);
}

TEST_OOM(key_revoke, takes_a_key_out_or_nothing)
{
    struct bench b;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    bench_begin(&b);
    keys_put(&b, LINE("a", SHA1, ""));
    test_pause_failures(false);
    rc = pdr_key_revoke(keys_path(&b), PDR_LIT("a"), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    room_assert(&b.room, "keys", rc == PDR_OK ? "" : LINE("a", SHA1, ""));
    bench_end(&b);
}
