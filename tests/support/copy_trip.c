/* copy_trip.c - see copy_trip.h. */
#include "copy_trip.h"

#include "store_work.h"
#include "trick_store.h"

#define NOW  INT64_C(1800000000000)
#define LONG 11u

bool copy_is_alike(char why[200], pdr_store *to, pdr_store *from)
{
    pdr_err err = PDR_ERR_INIT;
    char *there = work_alike_text(from, NULL);
    char *here = work_alike_text(to, &err);
    size_t at = 0;
    bool same = false;

    ASSERT(there != NULL);
    if (here == NULL) {
        (void)snprintf(why, 200, "the copy cannot be read: %.120s",
                       err.message);
    } else {
        same = strcmp(here, there) == 0;
        while (here[at] == there[at] && here[at] != '\0')
            at++;
        at = at < 40 ? 0 : at - 40;
        (void)snprintf(why, 200, "'%.80s' and not '%.80s'", here + at,
                       there + at);
    }
    free(here);
    free(there);
    return same;
}

bool copy_trip(char why[200], copy_trip_fn copy, pdr_store *to, pdr_store *from)
{
    const pdr_copy_opts opts = {.now_ms = NOW};
    pdr_err err = PDR_ERR_INIT;

    if (copy(NULL, to, from, &opts, &err, NULL, NULL) != PDR_OK ||
        pdr_store_verify(NULL, to, NULL, &err, NULL, NULL) != PDR_OK) {
        (void)snprintf(why, 200, "%.190s", err.message);
        return false;
    }
    return copy_is_alike(why, to, from);
}

/* Entries that are staged in two commits, and slots in two more. */
static void fill_long(pdr_store *store)
{
    static char body[400 * 1024];
    const pdr_commit_options options = {.now_ms = NOW};
    pdr_entry entries[LONG];
    pdr_slot slots[LONG];
    char keys[LONG][16], ids[LONG][16];
    const pdr_edit edit = {.ref = {.id = pdr_str_c("long")},
                           .entries = entries,
                           .entry_count = LONG,
                           .slots = slots,
                           .slot_count = LONG};

    memset(body, 'x', sizeof(body));
    body[0] = body[sizeof(body) - 1] = '"';
    for (size_t i = 0; i < LONG; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "key-%zu", i);
        (void)snprintf(ids[i], sizeof(ids[i]), "turn-%zu", i);
        entries[i] = (pdr_entry){.created_ms = NOW + (int64_t)i,
                                 .correlation_id = pdr_str_c(ids[i]),
                                 .body = pdr_str_n(body, sizeof(body))};
        slots[i] = (pdr_slot){.key = pdr_str_c(keys[i]),
                              .value = pdr_str_n(body, sizeof(body))};
    }
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

/* One of another tenant whose beginning was cut, with all that a head has. */
static void fill_cut(pdr_store *store)
{
    const pdr_commit_options options = {.now_ms = NOW + 7};
    const pdr_entry entries[] = {
        {.body = pdr_str_c("{}"), .correlation_id = pdr_str_c("c")},
        {.body = pdr_str_c("{\"b\":1}"), .separator = pdr_str_c(" , ")},
        {.body = pdr_str_c("{\"c\":1}"), .kind = PDR_ROW_RESPONSE}};
    pdr_edit edit = {.ref = {pdr_str_c("other"), pdr_str_c("@dafx-a@1")},
                     .agent = pdr_str_c("a"),
                     .kind = pdr_str_c("durable"),
                     .schema_version = pdr_str_c("1.1.0"),
                     .set_state = true,
                     .state = PDR_SESSION_WAITING,
                     .expiry = PDR_EXPIRY_SET,
                     .expiry_ms = NOW + 1000,
                     .set_ttl = true,
                     .entries = entries,
                     .entry_count = 3};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    edit = (pdr_edit){.ref = edit.ref, .revision = 1, .entries_through = 2};
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

pdr_store *copy_trip_source(void)
{
    pdr_store *store = NULL;
    char id[32];

    store = trick_open("trick:");
    trick_fill(store);
    fill_long(store);
    fill_cut(store);
    for (size_t i = 0; i < COPY_TRIP_SMALL; i++) {
        const pdr_commit_options options = {.now_ms = NOW + (int64_t)i};
        pdr_edit edit = {.revision = 0};

        (void)snprintf(id, sizeof(id), "few-%zu", i);
        edit.ref.id = pdr_str_c(id);
        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    }
    return store;
}
