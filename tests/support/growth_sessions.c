/*
 * growth_sessions.c - many small sessions, as they come to be in a store that
 * serves many people: see growth_harness.h.
 *
 * Each has an agent, a state, an expiry, two properties and a slot, and one in
 * four a turn of two entries. They are made in an order that is not that of any
 * list, so the rows of a page of a list are spread over the file.
 */
#include "growth_harness.h"

#include <perdure/sys/store.h>

#define BATCH 128u /* commits that become durable together */

/* The expired have numbers of their own, so that nobody else picks one. */
#define FIRST_EXPIRED 100000000u

struct row {
    char id[24], agent[16], team[16], match[16], correlation_id[24];
    pdr_property properties[2];
    pdr_slot slot;
    pdr_entry entries[2];
    pdr_edit edit;
};

/* Multiplied modulo a prime: each number comes once, and those that follow each
 * other lie far apart. */
pdr_str growth_id(char *out, size_t n)
{
    snprintf(out, 24, "session-%zu", n * 2654435761u % 1000000007u);
    return pdr_str_c(out);
}

int64_t growth_changed(size_t n)
{
    return GROWTH_NOW_MS - GROWTH_SPAN_MS +
           (int64_t)(n * 618033u % 1000003u) * 1000;
}

bool growth_has_entries(size_t n)
{
    return n % 4 == 0;
}

static void fill_properties(struct row *row, size_t n)
{
    snprintf(row->team, sizeof(row->team), "\"team-%zu\"", n % 20);
    snprintf(row->match, sizeof(row->match), "tteam-%zu", n % 20);
    row->properties[0] = (pdr_property){.key = pdr_str_c("team"),
                                        .value = pdr_str_c(row->team),
                                        .match = pdr_str_c(row->match)};
    row->properties[1] =
        (pdr_property){.key = pdr_str_c("note"), .value = pdr_str_c("null")};
    row->slot =
        (pdr_slot){.key = pdr_str_c("memory"),
                   .value = pdr_str_c("{\"name\":\"Ada\",\"likes\":[\"tea\","
                                      "\"trains\"],\"since\":2021}")};
}

static void fill_entries(struct row *row, size_t n, int64_t now_ms)
{
    snprintf(row->correlation_id, sizeof(row->correlation_id), "turn-%zu", n);
    row->entries[0] = (pdr_entry){
        .kind = PDR_ROW_REQUEST,
        .created_ms = now_ms,
        .correlation_id = pdr_str_c(row->correlation_id),
        .body = pdr_str_c("{\"role\":\"user\",\"text\":\"When does the next "
                          "train to the coast leave?\"}")};
    row->entries[1] = (pdr_entry){
        .kind = PDR_ROW_RESPONSE,
        .created_ms = now_ms,
        .correlation_id = pdr_str_c(row->correlation_id),
        .body = pdr_str_c("{\"role\":\"assistant\",\"text\":\"At 9:40, from "
                          "platform 4. It takes two hours and ten "
                          "minutes, and you change once.\"}")};
}

static void make_row(struct row *row, size_t n, bool has_entries,
                     int64_t expiry_ms)
{
    memset(row, 0, sizeof(*row));
    snprintf(row->agent, sizeof(row->agent), "agent-%zu", n / 3 % 20);
    fill_properties(row, n);
    fill_entries(row, n, growth_changed(n));
    row->edit = (pdr_edit){.ref.id = growth_id(row->id, n),
                           .agent = pdr_str_c(row->agent),
                           .kind = pdr_str_c("client"),
                           .set_state = true,
                           .state = (pdr_session_state)(n / 7 % 4),
                           .expiry = PDR_EXPIRY_SET,
                           .expiry_ms = expiry_ms,
                           .properties = row->properties,
                           .property_count = 2,
                           .slots = &row->slot,
                           .slot_count = 1,
                           .entries = row->entries,
                           .entry_count = has_entries ? 2 : 0};
}

struct batch {
    pdr_store *store;
    size_t count;
    struct row rows[BATCH];
    pdr_request requests[BATCH];
};

static void commit_batch(struct batch *batch)
{
    if (batch->count > 0)
        pdr_store_commit_all(batch->store, batch->requests, batch->count);
    for (size_t i = 0; i < batch->count; i++)
        if (batch->requests[i].rc != PDR_OK)
            fail_msg("%s: %s", batch->rows[i].id,
                     batch->requests[i].err.message);
    batch->count = 0;
}

static void add(struct batch *batch, size_t n, bool has_entries,
                int64_t expiry_ms)
{
    size_t i = batch->count++;

    make_row(&batch->rows[i], n, has_entries, expiry_ms);
    batch->requests[i] = (pdr_request){.edits = &batch->rows[i].edit,
                                       .count = 1,
                                       .options.now_ms = growth_changed(n)};
    if (batch->count == BATCH)
        commit_batch(batch);
}

void growth_make(struct growth *growth, pdr_store *store, size_t to)
{
    static struct batch batch;
    size_t from = growth->sessions, every = (to - from) / GROWTH_EXPIRED;

    batch.store = store;
    batch.count = 0;
    for (size_t n = from; n < to; n++) {
        size_t past = growth->expired;

        add(&batch, n, growth_has_entries(n),
            growth_changed(n) + GROWTH_SPAN_MS + GROWTH_DAY_MS);
        if ((n - from) % every != 0 || (n - from) / every >= GROWTH_EXPIRED)
            continue;
        add(&batch, FIRST_EXPIRED + past, true, GROWTH_NOW_MS - (int64_t)past);
        growth->expired++;
    }
    commit_batch(&batch);
    growth->sessions = to;
}
