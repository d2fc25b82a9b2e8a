/*
 * session_store.c - one session in a store: its head, its bag.
 *
 * WHY  In a store a session is not a document but rows. A verb opens it as a
 *      session with what it needs of the bag, so that what works on bags works
 *      here as it does on files.
 */
#include "session_parts.h"

#define MAX_TRIES  20 /* to read a session that somebody keeps writing */
#define SIDE_CELLS 60 /* of a name in a line */

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

/* --- one session --------------------------------------------------------- */

/* One try. Where the document cannot be used, the rows are shown alone. */
static pdr_rc load_once(struct ses_one *o, pdr_err *err)
{
    const pdr_stored_opts rows = {.rows_only = true};
    const pdr_ref ref = sto_ref(&o->from->store, o->key);
    const pdr_str slot = pdr_str_c(o->slot != NULL ? o->slot : "");
    pdr_rc rc = PDR_OK;

    pdr_stored_close(o->stored);
    pdr_value_free(o->properties);
    o->stored = NULL;
    o->session = NULL;
    o->properties = NULL;
    rc = pdr_stored_open(&o->stored, o->store, &ref, NULL, err);
    if (rc == PDR_OK && o->slot != NULL)
        rc = pdr_stored_load(o->stored, &slot, 1, err);
    /* What is not a key may still be a name in the document. */
    if (rc == PDR_OK ? o->slot == NULL
                     : o->stored != NULL && rc == PDR_EINVALID)
        rc = pdr_stored_load_all(o->stored, err);
    if (rc == PDR_OK &&
        !pdr_session_durable_id(NULL, NULL, pdr_stored_session(o->stored)))
        o->session = pdr_stored_session(o->stored);
    if (rc == PDR_EINVALID || rc == PDR_EVERSION ||
        (rc == PDR_ECORRUPT && strcmp(err->reason, "bad_frame") == 0)) {
        o->no_document = *err;
        pdr_stored_close(o->stored);
        CLI_TRY(pdr_stored_open(&o->stored, o->store, &ref, &rows, err));
        CLI_TRY(pdr_stored_load_all(o->stored, err));
    }
    if (rc == PDR_OK && o->slot == NULL &&
        pdr_stored_head(o->stored)->properties > 0)
        rc = pdr_stored_properties(&o->properties, o->stored, err);
done:
    if (rc == PDR_OK)
        o->bag = pdr_session_bag(pdr_stored_session(o->stored));
    return rc;
}

pdr_rc ses_store_load(struct ses_one *o, pdr_err *err)
{
    pdr_rc rc = PDR_ECONFLICT;

    for (int i = 0; i < MAX_TRIES && rc == PDR_ECONFLICT; i++)
        rc = load_once(o, err);
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
static void end_line(const struct ses_tree *how, const char *label,
                     pdr_buf *line)
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

void ses_head_facts(const struct ses_tree *how, const pdr_head *h)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char time[40], digits[32];

    if (!pdr_str_equal(h->ref.tenant, pdr_str_c(PDR_DEFAULT_TENANT))) {
        cli_show(&line, h->ref.tenant, CLI_TEXT_LINE);
        end_line(how, "tenant", &line);
    }
    cli_show(&line, h->ref.id, CLI_TEXT_LINE);
    end_line(how, "id", &line);
    if (h->agent.ptr != NULL) {
        cli_show(&line, h->agent, CLI_TEXT_LINE);
        end_line(how, "agent", &line);
    }
    cli_show(&line, h->kind, CLI_TEXT_LINE);
    if (h->schema_version.ptr != NULL) {
        cli_put(&line, ", state document of version ");
        cli_show(&line, h->schema_version, CLI_TEXT_LINE);
    }
    end_line(how, "kind", &line);
    cli_put(&line, ses_state_name(h->state));
    end_line(how, "state", &line);
    cli_putf(&line, "%s", cli_number(digits, h->revision));
    put_count(&line, h->commits, "commit", "commits");
    end_line(how, "revision", &line);
    cli_put(&line, sto_time(time, h->created_ms));
    end_line(how, "created", &line);
    cli_put(&line, sto_time(time, h->changed_ms));
    end_line(how, "changed", &line);
    if (h->expiry_ms != PDR_NEVER) {
        cli_put(&line, sto_time(time, h->expiry_ms));
        end_line(how, "expires", &line);
    }
    if (h->lease.owner.ptr != NULL) {
        cli_put(&line, "held by '");
        cli_show_cut(&line, h->lease.owner, CLI_TEXT_LINE, SIDE_CELLS);
        cli_putf(&line, "' until %s, fence %ju",
                 sto_time(time, h->lease.until_ms), (uintmax_t)h->lease.fence);
        end_line(how, "lease", &line);
    }
    put_count(&line, h->journal_next - h->journal_first, "step in the journal",
              "steps in the journal");
    put_count(&line, h->stream_next - h->stream_first, "delta in the stream",
              "deltas in the stream");
    put_count(&line, h->inbox, "operation waits", "operations wait");
    if (line.len > 0)
        end_line(how, "work", &line);
    put_count(&line, h->next_seq - h->first_seq, "entry", "entries");
    if (line.len == 0)
        cli_put(&line, "none");
    else
        cli_putf(&line, ", number %ju to %ju", (uintmax_t)h->first_seq,
                 (uintmax_t)(h->next_seq - 1));
    put_count(&line, h->completions, "correlation id", "correlation ids");
    end_line(how, "history", &line);
    pdr_buf_dispose(&line);
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
    if (h->lease.owner.ptr != NULL) {
        pdr_builder_name(to, pdr_str_c("lease"));
        pdr_builder_object(to);
        cli_member_text(to, "owner", h->lease.owner);
        cli_member_count(to, "fence", h->lease.fence);
        sto_member_time(to, "until", h->lease.until_ms);
        pdr_builder_end(to);
    }
    cli_member_count(to, "entries", h->next_seq - h->first_seq);
    cli_member_count(to, "firstEntry", h->first_seq);
    cli_member_count(to, "slots", slots);
    cli_member_count(to, "completions", h->completions);
    cli_member_count(to, "journal", h->journal_next - h->journal_first);
    cli_member_count(to, "stream", h->stream_next - h->stream_first);
    cli_member_count(to, "inbox", h->inbox);
}
