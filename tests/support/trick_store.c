/*
 * trick_store.c - "memory:" with a hand between it and the library.
 */
#include "trick_store.h"

extern const pdr_store_ops pdr__memory_ops;

static trick_read_fn on_read;
static trick_commit_fn on_commit;
static void *read_arg, *commit_arg;
static bool info_fails;

void trick_on_read(trick_read_fn fn, void *arg)
{
    on_read = fn;
    read_arg = arg;
}

void trick_on_commit(trick_commit_fn fn, void *arg)
{
    on_commit = fn;
    commit_arg = arg;
}

void trick_fail_info(void)
{
    info_fails = true;
}

/* --- the table ------------------------------------------------------------ */

static pdr_rc open_trick(pdr_store **out, const char *rest, pdr_err *err);

static void close_trick(pdr_store *self)
{
    pdr__memory_ops.close(self);
}

static void commit_trick(pdr_store *self, pdr_write *const *writes,
                         size_t count)
{
    if (on_commit == NULL || !on_commit(writes, count, commit_arg))
        pdr__memory_ops.commit(self, writes, count);
}

static pdr_rc read_trick(pdr_store *self, pdr_page *page,
                         const pdr_query *query, pdr_err *err)
{
    pdr_rc rc = pdr__memory_ops.read(self, page, query, err);

    if (rc == PDR_OK && on_read != NULL)
        on_read(PDR_CONTAINER_OF(page, struct pdr__page, page), read_arg);
    return rc;
}

static pdr_rc info_trick(pdr_store *self, pdr_store_info *out, pdr_err *err)
{
    bool fails = info_fails;

    info_fails = false;
    return fails ? PDR_FAIL(err, IN_DOUBT, "no word")
                 : pdr__memory_ops.info(self, out, err);
}

static const pdr_store_ops trick_ops = {
    .version = PDR_STORE_OPS_VERSION,
    .name = "trick",
    .open = open_trick,
    .close = close_trick,
    .commit = commit_trick,
    .read = read_trick,
    .info = info_trick,
};

uint8_t *trick_long_key(void)
{
    static uint8_t key[TRICK_LONG_KEY];

    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)(i * 3);
    return key;
}

static pdr_rc open_trick(pdr_store **out, const char *rest, pdr_err *err)
{
    static uint8_t key[32] = "a key of just thirty-two bytes!!";
    static uint8_t long_key[TRICK_LONG_KEY];
    pdr_rc rc = PDR_OK;

    if (strcmp(rest, "fails") == 0)
        return PDR_FAIL(err, NO_STORE, "no store here");
    rc = pdr__memory_ops.open(out, "", err);
    if (rc != PDR_OK)
        return rc;
    (*out)->ops = &trick_ops;
    if (strcmp(rest, "key") == 0) {
        (*out)->key = key;
        (*out)->key_len = sizeof(key);
    }
    if (strcmp(rest, "longkey") == 0) {
        memcpy(long_key, trick_long_key(), sizeof(long_key));
        (*out)->key = long_key;
        (*out)->key_len = sizeof(long_key);
    }
    return PDR_OK;
}

pdr_rc trick_open_any(pdr_store **out, const char *uri, pdr_err *err)
{
    static bool known;

    if (!known)
        ASSERT_RC(PDR_OK, pdr_store_register(&trick_ops, NULL));
    known = true;
    return pdr_store_open(out, uri, err);
}

pdr_store *trick_open(const char *uri)
{
    pdr_store *store = NULL;

    trick_on_read(NULL, NULL);
    trick_on_commit(NULL, NULL);
    ASSERT_RC(PDR_OK, trick_open_any(&store, uri, NULL));
    return store;
}

/* --- a session ------------------------------------------------------------ */

pdr_ref trick_ref(void)
{
    return (pdr_ref){{NULL, 0}, pdr_str_c("s1")};
}

pdr_query trick_query(pdr_read_what what)
{
    return (pdr_query){.what = what, .ref = trick_ref()};
}

static void commit(pdr_store *store, const pdr_edit *edit)
{
    pdr_commit_options options = {.now_ms = TRICK_NOW_MS};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_commit(NULL, store, edit, 1, &options, &err) != PDR_OK)
        fail_msg("%s: %s", err.reason, err.message);
}

static void fill_state(pdr_store *store)
{
    static const char *const bodies[] = {"{}", "[1]", "{\"a\":\"b\"}"};
    pdr_entry entries[10];
    pdr_slot slots[] = {{.key = pdr_str_c("a"), .value = pdr_str_c("1")},
                        {.key = pdr_str_c("b"), .value = pdr_str_c("2")},
                        {.key = pdr_str_c("c"), .value = pdr_str_c("3")}};
    pdr_property properties[] = {
        {.key = pdr_str_c("color"),
         .value = pdr_str_c("\"red\""),
         .match = pdr_str_c("red")},
        {.key = pdr_str_c("size"), .value = pdr_str_c("{}")}};
    pdr_edit edit = {.ref = trick_ref(),
                     .agent = pdr_str_c("writer"),
                     .frame = pdr_str_c("{}"),
                     .entries = entries,
                     .entry_count = 5,
                     .slots = slots,
                     .slot_count = PDR_COUNT(slots),
                     .properties = properties,
                     .property_count = PDR_COUNT(properties)};

    memset(entries, 0, sizeof(entries));
    for (size_t i = 0; i < PDR_COUNT(entries); i++) {
        entries[i].kind = i % 2 == 0 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE;
        entries[i].created_ms = (int64_t)i;
        entries[i].correlation_id = pdr_str_c(i % 2 == 0 ? "odd" : "even");
        entries[i].body = pdr_str_c(bodies[i % PDR_COUNT(bodies)]);
    }
    commit(store, &edit);
    edit = (pdr_edit){.ref = trick_ref(),
                      .revision = 1,
                      .entries = entries + 5,
                      .entry_count = 5};
    commit(store, &edit);
}

static void fill_work(pdr_store *store)
{
    static const int64_t due[] = {100, 200, 300, PDR_NEVER};
    static const uint64_t settled[] = {2};
    pdr_completion done = {.correlation_id = pdr_str_c("done"),
                           .fingerprint = pdr_str_c("f"),
                           .outcome = pdr_str_c("{}")};
    pdr_work rows[7], inbox[4];
    pdr_edit edit = {.ref = trick_ref(),
                     .revision = PDR_ANY_REVISION,
                     .completions = &done,
                     .completion_count = 1,
                     .journal = rows,
                     .journal_count = 7,
                     .stream = rows,
                     .stream_count = 5,
                     .inbox = inbox,
                     .inbox_count = 4};

    memset(rows, 0, sizeof(rows));
    memset(inbox, 0, sizeof(inbox));
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        rows[i].due_ms = PDR_NEVER;
        rows[i].kind = pdr_str_c("step");
        rows[i].body = pdr_str_c("[]");
    }
    for (size_t i = 0; i < PDR_COUNT(inbox); i++) {
        inbox[i] = rows[i];
        inbox[i].due_ms = due[i];
    }
    commit(store, &edit);
    edit = (pdr_edit){.ref = trick_ref(),
                      .revision = PDR_ANY_REVISION,
                      .journal_through = 2,
                      .stream_through = 1,
                      .settle = settled,
                      .settle_count = 1};
    commit(store, &edit);
}

void trick_fill(pdr_store *store)
{
    fill_state(store);
    fill_work(store);
}
