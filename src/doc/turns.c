/*
 * turns.c - which response belongs to which request.
 *
 * WHY  The correlation id ties them together. It may be missing, and a request
 *      that was delivered twice has it on four entries. The check and the
 *      repair have to agree on what is answered, so it is decided here, once:
 *      a request is answered if any response has its id, and may be if the next
 *      entry is a response without one.
 *
 * COST  One look-up per entry, in a map.
 */
#include "meaning.h"

static pdr_rc turn_key(pdr_str *out, const pdr_value *entry, pdr_buf *scratch,
                       pdr_err *err)
{
    const pdr_value *id = pdr_entry_correlation_id(entry);

    *out = PDR_LIT("");
    return id == NULL ? PDR_OK : pdr__value_name_bytes(out, id, scratch, err);
}

/* The turn of an entry, a new one if its id is new. */
static pdr_rc find_turn(size_t *out, struct turns *turns, struct pdr__map *ids,
                        pdr_str key, pdr_err *err)
{
    struct turn none = {0, 0, PDR_NONE, PDR_NONE, PDR_NONE, false};
    void *known = NULL;
    pdr_rc rc = PDR_OK;

    *out = PDR_NONE;
    if (key.len == 0)
        return PDR_OK;
    if (pdr__map_get(&known, ids, key)) {
        *out = (uintptr_t)known - 1;
        return PDR_OK;
    }
    rc = pdr__map_put(NULL, ids, key,
                      (void *)(uintptr_t)(turns->turn_count + 1), err);
    if (rc != PDR_OK)
        return rc;
    turns->turns[turns->turn_count] = none;
    *out = turns->turn_count++;
    return PDR_OK;
}

/* A response without an id goes with the request before it, if that has one. */
static void count_nameless(struct turns *turns, size_t before)
{
    if (before != PDR_NONE && turns->entries[before].turn != PDR_NONE &&
        turns->entries[before].kind == PDR_ENTRY_REQUEST)
        turns->turns[turns->entries[before].turn].may_be_answered = true;
}

/* `before` is the request or response before this one. */
static void count_in_turn(struct turns *turns, size_t index, size_t before)
{
    const struct turn_entry *entry = &turns->entries[index];
    struct turn *turn = NULL;

    if (entry->turn == PDR_NONE) {
        if (entry->kind == PDR_ENTRY_RESPONSE)
            count_nameless(turns, before);
        return;
    }
    turn = &turns->turns[entry->turn];
    if (entry->kind == PDR_ENTRY_REQUEST) {
        if (turn->requests++ == 0)
            turn->first_request = index;
        turn->last_request = index;
    } else if (turn->responses++ == 0) {
        turn->first_response = index;
    }
}

static pdr_rc add_entry(struct turns *turns, struct pdr__map *ids,
                        const pdr_iter *it, pdr_buf *scratch, pdr_err *err)
{
    struct turn_entry *entry = &turns->entries[it->index];
    pdr_datetime at = {0, 0, false, false};
    size_t before = turns->last;
    pdr_str key;
    pdr_rc rc = PDR_OK;

    entry->kind = pdr_entry_kind_of(it->value);
    entry->turn = PDR_NONE;
    entry->has_time = pdr_entry_created_at(&at, it->value);
    entry->ticks = at.ticks;
    if (entry->kind == PDR_ENTRY_OTHER)
        return PDR_OK;
    turns->last = it->index;
    if (entry->has_time && (!turns->has_time || at.ticks > turns->latest)) {
        turns->latest = at.ticks;
        turns->has_time = true;
    }
    rc = turn_key(&key, it->value, scratch, err);
    if (rc == PDR_OK)
        rc = find_turn(&entry->turn, turns, ids, key, err);
    if (rc == PDR_OK)
        count_in_turn(turns, it->index, before);
    return rc;
}

pdr_rc pdr__turns_index(struct turns *out, const pdr_value *state, pdr_err *err)
{
    const pdr_value *list = pdr_state_entries(state);
    struct pdr__map ids = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    out->entry_count = pdr_value_count(list);
    if (out->entry_count == 0)
        return PDR_OK;
    out->entries = pdr__calloc(out->entry_count, sizeof(*out->entries));
    out->turns = pdr__calloc(out->entry_count, sizeof(*out->turns));
    if (out->entries == NULL || out->turns == NULL)
        rc = pdr__nomem(err);
    pdr_iter_init(&it, list);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = add_entry(out, &ids, &it, &scratch, err);
    pdr__map_dispose(&ids);
    pdr_buf_dispose(&scratch);
    return rc;
}

void pdr__turns_dispose(struct turns *turns)
{
    pdr__free(turns->entries);
    pdr__free(turns->turns);
}

bool pdr__turns_is_unanswered(const struct turns *turns, size_t index)
{
    const struct turn_entry *entry = &turns->entries[index];

    return entry->kind == PDR_ENTRY_REQUEST && entry->turn != PDR_NONE &&
           turns->turns[entry->turn].responses == 0 &&
           !turns->turns[entry->turn].may_be_answered;
}
