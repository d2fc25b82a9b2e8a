/*
 * session_store.c - one session in a store: its head, its bag.
 *
 * WHY  In a store a session is not a document but rows. Of these, a verb reads
 *      the head and what it needs of the bag, so that what works on bags works
 *      here as it does on files. Who looks at all of it sees what its file
 *      would show: the document that an export writes, but for the entries.
 *
 * Each part tells the revision that it was read at; if somebody wrote in
 * between, all is read again.
 */
#include "session_parts.h"

#define MAX_TRIES  20  /* to read a session that somebody keeps writing */
#define PAGE_ROWS  200 /* at a time */
#define SIDE_CELLS 60  /* of a name in a line */

/* --- format --------------------------------------------------------------- */

const char ses_store_format[] = "json";

bool ses_store_speaks(const pdr_format *format)
{
    return format->codec == pdr_json_codec();
}

pdr_rc ses_store_value(pdr_value **out, pdr_str text, pdr_err *err)
{
    /* Levels were counted when it came in. */
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS, .max_depth = 1024};

    return pdr_json_read(out, text, &opts, err);
}

pdr_rc ses_store_sought(pdr_value **out, pdr_str text, pdr_err *err)
{
    pdr_kind kind = PDR_NULL;
    pdr_rc rc = pdr_json_read(out, text, NULL, err);

    if (rc == PDR_OK)
        kind = pdr_value_kind(*out);
    if (kind == PDR_NUMBER || kind == PDR_BOOL || kind == PDR_STRING)
        return PDR_OK;
    pdr_value_free(*out);
    *out = NULL;
    return pdr_value_new_string(out, text, err);
}

/* --- the bag ------------------------------------------------------------- */

/* A key as a store has it: what stands between the quotes in JSON. */
static void put_key(pdr_buf *out, const char *key)
{
    pdr_value *text = NULL;
    pdr_str raw = {NULL, 0};

    if (pdr_value_new_string(&text, pdr_str_c(key), NULL) != PDR_OK ||
        !pdr_value_raw(&raw, text) || raw.len < 2)
        cli_put(out, key); /* no UTF-8: no store has it */
    else
        cli_must(pdr_buf_append(out, pdr_str_n(raw.ptr + 1, raw.len - 2), NULL),
                 NULL);
    pdr_value_free(text);
}

static void put_slots(pdr_buf *out, const pdr_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        cli_put(out, out->len > 1 ? ",\"" : "\"");
        cli_must(pdr_buf_append(out, page->slots[i].key, NULL), NULL);
        cli_put(out, "\":");
        cli_must(pdr_buf_append(out, page->slots[i].value, NULL), NULL);
    }
}

/* The slots, or the one of this key, as an object. `*same` is false if they are
 * of another revision than the head. */
static pdr_rc read_slots(pdr_value **out, bool *same, const struct ses_one *o,
                         pdr_str key, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_query query = {.what = PDR_READ_SLOTS,
                       .ref = o->head->head.ref,
                       .limit = PAGE_ROWS,
                       .key = key};
    pdr_page *page = NULL, *last = NULL;
    pdr_rc rc = PDR_OK;

    cli_put(&text, "{");
    do {
        rc = pdr_store_read(&page, o->store, &query, err);
        pdr_page_free(last); /* the cursor was its */
        last = page;
        if (rc != PDR_OK)
            break;
        *same = page->head.revision == o->head->head.revision &&
                page->head.epoch == o->head->head.epoch;
        put_slots(&text, page);
        query.after = page->next;
    } while (*same && query.after.ptr != NULL);
    cli_put(&text, "}");
    pdr_page_free(page);
    if (rc == PDR_ENOTFOUND && strcmp(err->reason, "no_slot") == 0)
        rc = PDR_OK;
    if (rc == PDR_OK)
        rc = ses_store_value(out, pdr_buf_str(&text), err);
    pdr_buf_dispose(&text);
    return rc;
}

/* The session as its document has it, and its bag, where messages that are
 * entries are left out. Neither if an export would fail, or give no session. */
static pdr_rc read_document(pdr_value **bag, bool *same, struct ses_one *o,
                            pdr_err *err)
{
    const pdr_head *head = &o->head->head;
    const pdr_export_opts how = {
        .ref = head->ref, .bare = true, .no_entries = true};
    pdr_export_report done = {.revision = 0};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *document = NULL;
    char messages[80];
    pdr_rc rc = pdr_export(&done, o->store, &how, err, pdr_write_buf, &text);

    *same = rc != PDR_OK ||
            (done.revision == head->revision && done.epoch == head->epoch);
    if (rc == PDR_OK)
        rc = ses_store_value(&document, pdr_buf_str(&text), err);
    pdr_session_free(o->session);
    o->session = document != NULL ? ses_session_in(document) : NULL;
    if (o->session != NULL) {
        const char *key = pdr_session_history_key(o->session);
        const pdr_value *slot = NULL;
        *bag = pdr_bag_snapshot(pdr_session_bag(o->session));
        slot = pdr_value_get_c(*bag, key);
        snprintf(messages, sizeof(messages), "/%s/messages", key);
        if (head->first_seq < head->next_seq && slot != NULL &&
            pdr_value_get_c(slot, "messages") != NULL)
            rc = pdr_value_count(slot) == 1
                     ? pdr_value_remove(bag, pdr_str_c(key), err)
                     : pdr_pointer_remove(bag, pdr_str_c(messages), err);
    }
    pdr_value_free(document);
    pdr_buf_dispose(&text);
    if (rc != PDR_EINVALID &&
        (rc != PDR_ECORRUPT || strcmp(err->reason, "bad_frame") != 0))
        return rc;
    o->no_document = *err;
    return PDR_OK;
}

static pdr_rc load_once(bool *same, struct ses_one *o, pdr_str key,
                        pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = sto_ref(&o->from->store, o->key)};
    pdr_value *bag = NULL;
    pdr_rc rc = PDR_OK;

    pdr_page_free(o->head);
    pdr_bag_free(o->bag);
    o->head = NULL;
    o->bag = NULL;
    *same = true;
    rc = pdr_store_read(&o->head, o->store, &query, err);
    if (rc == PDR_OK && key.ptr == NULL)
        rc = read_document(&bag, same, o, err);
    if (rc == PDR_OK && *same && bag == NULL)
        rc = read_slots(&bag, same, o, key, err);
    if (rc == PDR_OK && *same)
        rc = pdr_bag_from_value(&o->bag, bag, err);
    if (rc == PDR_OK)
        o->revision = o->head->head.revision;
    pdr_value_free(bag);
    return rc;
}

pdr_rc ses_store_load(struct ses_one *o, pdr_err *err)
{
    pdr_buf key = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;
    bool same = false;

    if (o->slot != NULL)
        put_key(&key, o->slot);
    for (int i = 0; i < MAX_TRIES && rc == PDR_OK && !same; i++)
        rc = load_once(&same, o,
                       key.len > 0 ? pdr_buf_str(&key) : pdr_str_n(NULL, 0),
                       err);
    if (rc == PDR_OK && !same)
        rc = pdr_err_set(err, PDR_ECONFLICT, "session_changed",
                         "the session was written each time that it was read");
    pdr_buf_dispose(&key);
    return rc;
}

pdr_rc ses_store_save(struct ses_one *o, const char *key, pdr_err *err)
{
    const pdr_head *head = &o->head->head;
    const pdr_commit_options options = {.now_ms = sto_now_ms()};
    const pdr_write_opts as_read = {.flags = PDR_BARE_TOKENS,
                                    .layout = PDR_AS_READ};
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX), text = PDR_BUF_INIT(SIZE_MAX);
    pdr_slot slot = {.value = {NULL, 0}};
    pdr_edit edit = {.ref = head->ref,
                     .revision = head->revision,
                     .epoch = head->epoch,
                     .slots = &slot,
                     .slot_count = 1};
    pdr_committed done = {.revision = 0};
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    put_key(&name, key);
    slot.key = pdr_buf_str(&name);
    if (pdr_bag_has(o->bag, pdr_str_c(key)))
        rc = pdr_bag_get(&value, o->bag, pdr_str_c(key), err);
    if (value != NULL && !pdr_value_raw(&slot.value, value)) {
        rc = pdr_json_write(&text, value, &as_read, err);
        slot.value = pdr_buf_str(&text);
    }
    if (rc == PDR_OK)
        rc = pdr_store_commit(&done, o->store, &edit, 1, &options, err);
    if (rc == PDR_OK)
        o->revision = done.revision;
    pdr_value_free(value);
    pdr_buf_dispose(&name);
    pdr_buf_dispose(&text);
    return rc;
}

/* --- properties ---------------------------------------------------------- */

static pdr_rc add_properties(pdr_value **io, const pdr_page *page, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        pdr_value *value = NULL;
        rc = ses_store_value(&value, page->properties[i].value, err);
        if (rc == PDR_OK)
            rc = pdr_value_set(io, page->properties[i].key, value, err);
        pdr_value_free(value);
    }
    return rc;
}

pdr_rc ses_store_properties(pdr_value **out, const struct ses_one *o,
                            pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_PROPERTIES,
                       .ref = o->head->head.ref,
                       .limit = PAGE_ROWS};
    pdr_page *page = NULL, *last = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (o->head->head.properties == 0)
        return PDR_OK;
    *out = pdr_value_new_object();
    do {
        rc = pdr_store_read(&page, o->store, &query, err);
        pdr_page_free(last);
        last = page;
        if (rc == PDR_OK)
            rc = add_properties(out, page, err);
        if (rc == PDR_OK)
            query.after = page->next;
    } while (rc == PDR_OK && query.after.ptr != NULL);
    pdr_page_free(page);
    return rc;
}

/* --- the head ------------------------------------------------------------ */

const char *ses_state_name(pdr_session_state state)
{
    static const char *const names[] = {"idle", "running", "waiting",
                                        "expired"};

    return (size_t)state < CLI_COUNT(names) ? names[state] : "?";
}

/* One line; then it is empty again. */
static void tell(const struct ses_tree *how, const char *label, pdr_buf *line)
{
    ses_label(how->out, how->cli, how->width, label, pdr_buf_str(line));
    pdr_buf_clear(line);
}

static void put_count(pdr_buf *out, uint64_t count, const char *one,
                      const char *many)
{
    char digits[32];

    if (count > 0)
        cli_putf(out, "%s%s %s", out->len > 0 ? ", " : "",
                 cli_number(digits, count), count == 1 ? one : many);
}

static void put_history(pdr_buf *out, const pdr_head *h)
{
    put_count(out, h->next_seq - h->first_seq, "entry", "entries");
    if (out->len == 0)
        cli_put(out, "none");
    else
        cli_putf(out, ", number %ju to %ju", (uintmax_t)h->first_seq,
                 (uintmax_t)(h->next_seq - 1));
    put_count(out, h->completions, "correlation id", "correlation ids");
}

static void put_lease(pdr_buf *out, const pdr_head *h)
{
    char time[40];

    cli_put(out, "held by '");
    cli_show_cut(out, h->lease.owner, CLI_TEXT_LINE, SIDE_CELLS);
    cli_putf(out, "' until %s, fence %ju", sto_time(time, h->lease.until_ms),
             (uintmax_t)h->lease.fence);
}

static void put_kind(pdr_buf *out, const pdr_head *h)
{
    cli_show(out, h->kind, CLI_TEXT_LINE);
    if (h->schema_version.ptr == NULL)
        return;
    cli_put(out, ", state document of version ");
    cli_show(out, h->schema_version, CLI_TEXT_LINE);
}

static void put_work(pdr_buf *out, const pdr_head *h)
{
    put_count(out, h->journal_next - h->journal_first, "step in the journal",
              "steps in the journal");
    put_count(out, h->stream_next - h->stream_first, "delta in the stream",
              "deltas in the stream");
    put_count(out, h->inbox, "operation waits", "operations wait");
}

void ses_head_facts(const struct ses_tree *how, const pdr_head *h)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char time[40], digits[32];

    if (!pdr_str_equal(h->ref.tenant, pdr_str_c(PDR_DEFAULT_TENANT))) {
        cli_show(&line, h->ref.tenant, CLI_TEXT_LINE);
        tell(how, "tenant", &line);
    }
    cli_show(&line, h->ref.id, CLI_TEXT_LINE);
    tell(how, "id", &line);
    if (h->agent.ptr != NULL) {
        cli_show(&line, h->agent, CLI_TEXT_LINE);
        tell(how, "agent", &line);
    }
    put_kind(&line, h);
    tell(how, "kind", &line);
    cli_put(&line, ses_state_name(h->state));
    tell(how, "state", &line);
    cli_putf(&line, "%s", cli_number(digits, h->revision));
    put_count(&line, h->commits, "commit", "commits");
    tell(how, "revision", &line);
    cli_put(&line, sto_time(time, h->created_ms));
    tell(how, "created", &line);
    cli_put(&line, sto_time(time, h->changed_ms));
    tell(how, "changed", &line);
    if (h->expiry_ms != PDR_NEVER) {
        cli_put(&line, sto_time(time, h->expiry_ms));
        tell(how, "expires", &line);
    }
    if (h->lease.owner.ptr != NULL) {
        put_lease(&line, h);
        tell(how, "lease", &line);
    }
    put_work(&line, h);
    if (line.len > 0)
        tell(how, "work", &line);
    put_history(&line, h);
    tell(how, "history", &line);
    pdr_buf_dispose(&line);
}

static void lease_member(pdr_builder *to, const pdr_lease *lease)
{
    if (lease->owner.ptr == NULL)
        return;
    pdr_builder_name(to, pdr_str_c("lease"));
    pdr_builder_object(to);
    cli_member_text(to, "owner", lease->owner);
    cli_member_count(to, "fence", lease->fence);
    sto_member_time(to, "until", lease->until_ms);
    pdr_builder_end(to);
}

void ses_head_members(pdr_builder *to, const pdr_head *h, uint64_t slots)
{
    cli_member_text(to, "id", h->ref.id);
    if (h->agent.ptr != NULL)
        cli_member_text(to, "agent", h->agent);
    cli_member_text(to, "kind", h->kind);
    if (h->schema_version.ptr != NULL)
        cli_member_text(to, "schemaVersion", h->schema_version);
    cli_member_text(to, "state", pdr_str_c(ses_state_name(h->state)));
    cli_member_count(to, "revision", h->revision);
    cli_member_count(to, "commits", h->commits);
    cli_member_count(to, "epoch", h->epoch);
    sto_member_time(to, "created", h->created_ms);
    sto_member_time(to, "changed", h->changed_ms);
    sto_member_time(to, "expires", h->expiry_ms);
    lease_member(to, &h->lease);
    cli_member_count(to, "entries", h->next_seq - h->first_seq);
    cli_member_count(to, "firstEntry", h->first_seq);
    cli_member_count(to, "slots", slots);
    cli_member_count(to, "completions", h->completions);
    cli_member_count(to, "journal", h->journal_next - h->journal_first);
    cli_member_count(to, "stream", h->stream_next - h->stream_first);
    cli_member_count(to, "inbox", h->inbox);
}
