/* Every call to the store fails once: the session that was there is there, or
 * the one of the document, and never a part of one. */
#include <perdure/archive.h>

#include "fault_store.h"
#include "room.h"
#include "test.h"

#define NOW INT64_C(1800000000000)

static const char old_text[] =
    "{\"session\":{\"session_id\":\"s\",\"state\":{\"a\":1,\"b\":2}},"
    "\"additionalProperties\":{\"p\":1,\"q\":2}}";
static const char new_text[] =
    "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{"
    "\"$type\":\"request\",\"correlationId\":\"c-2\"},{}]}}";

static const pdr_ref session = {{NULL, 0}, {"s", 1}};

static void set_fault(enum fault_call call, size_t nth, enum fault_way way)
{
    const struct fault_plan plan = {call, nth, false, way};

    fault_store_set(&plan);
}

static pdr_rc import_text(pdr_store *store, const char *text, pdr_err *err)
{
    const pdr_import_opts opts = {
        .ref = session, .replace = true, .now_ms = NOW};
    pdr_str bytes = pdr_str_c(text);

    return pdr_import(NULL, store, &opts, err, pdr_read_str, &bytes);
}

/* The old session, with a completion of late. */
static void make_old(pdr_store *store)
{
    const pdr_completion completion = {.correlation_id = pdr_str_c("c-1"),
                                       .outcome = pdr_str_c("{}")};
    const pdr_edit edit = {.ref = session,
                           .revision = PDR_ANY_REVISION,
                           .completions = &completion,
                           .completion_count = 1};
    const pdr_commit_options options = {.now_ms = NOW};

    ASSERT_RC(PDR_OK, import_text(store, old_text, NULL));
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

/* Is the new one there? If not, the old one is, whole. */
static bool is_new(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = session};
    pdr_page *page = NULL;
    bool new = false;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    new = page->head.revision == 2;
    ASSERT_INT(new ? 3 : 1, page->head.next_seq);
    ASSERT_INT(new ? 0 : 2, page->head.slots);
    ASSERT_INT(2, page->head.properties);
    ASSERT_INT(new ? 2 : 1, page->head.completions);
    pdr_page_free(page);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    return new;
}

TEST(import, leaves_the_session_when_a_call_fails)
{
    static const enum fault_call calls[] = {FAULT_COMMIT, FAULT_READ};
    size_t failed = 0;

    fault_store_register();
    for (size_t i = 0; i < 2; i++) {
        pdr_rc rc = PDR_EIO;

        for (size_t nth = 1; rc != PDR_OK; nth++) {
            pdr_store *store = NULL;
            pdr_err err = PDR_ERR_INIT;

            set_fault(FAULT_ANY, 0, FAULT_REFUSED);
            ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
            make_old(store);
            set_fault(calls[i], nth, FAULT_REFUSED);
            rc = import_text(store, new_text, &err);
            failed += rc != PDR_OK;
            set_fault(FAULT_ANY, 0, FAULT_REFUSED);
            ASSERT(rc == PDR_OK || rc == PDR_EIO);
            ASSERT(is_new(store) == (rc == PDR_OK));
            pdr_store_close(store);
        }
    }
    ASSERT(failed >= 6);
}

/* One commit ends unknown; the store is opened again, and looked at. */
static bool ends_unknown(size_t nth, enum fault_way way)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;
    char uri[300];

    room_enter(&room);
    (void)snprintf(uri, sizeof(uri), "fault:sqlite:%s",
                   room_path(&room, "a.db"));
    set_fault(FAULT_ANY, 0, FAULT_REFUSED);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    make_old(store);
    set_fault(FAULT_COMMIT, nth, way);
    rc = import_text(store, new_text, NULL);
    set_fault(FAULT_ANY, 0, FAULT_REFUSED);
    ASSERT(rc == PDR_OK || rc == PDR_EUNKNOWN);
    pdr_store_close(store);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    if (is_new(store) && rc != PDR_OK)
        ASSERT(way == FAULT_UNKNOWN_DONE);
    pdr_store_close(store);
    room_leave(&room);
    return rc == PDR_EUNKNOWN;
}

TEST(import, is_whole_or_not_there_when_a_commit_ends_unknown)
{
    fault_store_register();
    for (int way = FAULT_UNKNOWN_LOST; way <= FAULT_UNKNOWN_DONE; way++) {
        size_t nth = 1;

        while (ends_unknown(nth, (enum fault_way)way))
            nth++;
        ASSERT(nth >= 4);
    }
}
