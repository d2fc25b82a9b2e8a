/*
 * loss.c - what a form of a saved chat has no place for.
 *
 * WHY  Nothing may get lost in silence. Before a chat is written in a form of
 *      others, everything that will not come back from it is reported, under
 *      the name that it has in a native document.
 *
 * Not reported: the id of the chat, its epoch and its revision, which say where
 * it was kept and not what was said; and a cursor at the end of the log, which
 * is what a reader assumes.
 */
#include "document.h"

struct loss {
    struct finder finder;
    bool is_native; /* so was what was read */
    size_t count;
    pdr_err first; /* with the path of the first one */
    pdr_err *err;
};

/* Without memory for it there is no path. */
static void remember_place(pdr_err *err, pdr_str pointer)
{
    pdr_buf path = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);

    if (pdr__text_encode(&path, pointer, NULL) == PDR_OK)
        pdr__err_path(err, pdr_buf_str(&path));
    pdr_buf_dispose(&path);
}

/* `what` is not carried; the pointer is "/list/index/name", of which index
 * (PDR_NONE) and name (absent) may be missing. */
static pdr_rc lose(struct loss *loss, pdr_str list, size_t index, pdr_str name,
                   const char *what)
{
    size_t mark = pdr__finder_name(&loss->finder, list);
    pdr_rc rc = PDR_OK;

    if (index != PDR_NONE)
        (void)pdr__finder_index(&loss->finder, index);
    if (name.ptr != NULL)
        (void)pdr__finder_name(&loss->finder, name);
    if (loss->count++ == 0)
        remember_place(&loss->first, pdr_buf_str(&loss->finder.pointer));
    rc = pdr__finder_tell(&loss->finder, "not-carried", PDR_SEVERITY_WARNING,
                          loss->err, "%s has no place in this form", what);
    pdr__finder_up(&loss->finder, mark);
    return rc;
}

/* Members that nobody knows, of one participant or channel; of the document if
 * `list` is absent. */
static pdr_rc lose_unknown(struct loss *loss, pdr_str list, size_t index,
                           const pdr_value *source, const struct known *known)
{
    static const char what[] = "a member that is not known";
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str name;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, source);
    while (pdr_iter_next(&it)) {
        if (pdr__is_known(it.name, known, loss->is_native))
            continue;
        PDR_TRY(pdr__value_sound_text(&name, it.name, &scratch, loss->err));
        if (list.ptr != NULL)
            PDR_TRY(lose(loss, list, index, name, what));
        else
            PDR_TRY(lose(loss, name, PDR_NONE, list, what));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc lose_participants(struct loss *loss, const pdr_chat_state *state,
                                pdr_chat_form form)
{
    bool keeps = pdr__keeps_unknown(state, form);
    pdr_rc rc = PDR_OK;

    if (form != PDR_CHAT_SK && state->participant_count > 0)
        return lose(loss, PDR_LIT("participants"), PDR_NONE, pdr_str_n(NULL, 0),
                    "the list of those who took part");
    for (size_t i = 0; i < state->participant_count; i++) {
        const struct pdr__saved_participant *p = &state->participants[i];

        if (p->session != NULL)
            PDR_TRY(lose(loss, PDR_LIT("participants"), i, PDR_LIT("session"),
                         "the session of an agent"));
        if (!keeps)
            PDR_TRY(lose_unknown(loss, PDR_LIT("participants"), i, p->source,
                                 &pdr__known_participant));
    }
done:
    return rc;
}

static pdr_rc lose_log(struct loss *loss, const pdr_chat_state *state,
                       pdr_chat_form form)
{
    bool has_turns = false;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < state->log_count; i++) {
        const struct pdr__log_entry *entry = &state->log[i];
        bool as_read =
            state->form != PDR_CHAT_NATIVE && value_was_read(entry->value);

        has_turns = has_turns || entry->turn != 0 ||
                    entry->origin.ptr != NULL || !entry->is_visible;
        if (form == PDR_CHAT_SK && !as_read &&
            !pdr__is_nothing(pdr_value_get_c(entry->value, "Metadata")))
            PDR_TRY(lose(loss, PDR_LIT("history"), i, PDR_LIT("Metadata"),
                         "the metadata of a message"));
    }
    if (has_turns)
        PDR_TRY(lose(loss, PDR_LIT("history"), PDR_NONE, pdr_str_n(NULL, 0),
                     "who made a message, and in which turn,"));
done:
    return rc;
}

static pdr_rc lose_channels(struct loss *loss, const pdr_chat_state *state,
                            pdr_chat_form form)
{
    bool keeps = pdr__keeps_unknown(state, form);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < state->channel_count; i++) {
        const struct pdr__saved_channel *c = &state->channels[i];

        if (form == PDR_CHAT_SK && c->sk_key.ptr == NULL) {
            PDR_TRY(lose(loss, PDR_LIT("channels"), i, pdr_str_n(NULL, 0),
                         "a channel of a kind that others do not know"));
            continue;
        }
        if (c->has_cursor && c->cursor != state->log_count)
            PDR_TRY(lose(loss, PDR_LIT("channels"), i, PDR_LIT("cursor"),
                         "how far a channel has got"));
        if (form != PDR_CHAT_SK && c->type.ptr != NULL)
            PDR_TRY(lose(loss, PDR_LIT("channels"), i, PDR_LIT("type"),
                         "the type of a channel"));
        if (!keeps)
            PDR_TRY(lose_unknown(loss, PDR_LIT("channels"), i, c->source,
                                 &pdr__known_channel));
    }
done:
    return rc;
}

/* Does it say more than that nobody has spoken? */
static bool has_selected(const pdr_value *selection)
{
    const pdr_value *said = pdr_value_get_c(selection, "has_selected");
    bool has = true;

    if (said != NULL && pdr_value_bool(&has, said, NULL) != PDR_OK)
        has = true;
    return has && pdr_value_count(selection) > 0;
}

static pdr_rc lose_turn(struct loss *loss, const pdr_chat_state *state)
{
    const struct {
        const char *name;
        bool is_there;
        const char *what;
    } rows[] = {
        {"complete", state->is_complete, "that the conversation is over"},
        {"open", state->open_turn != NULL, "the turn that was under way"},
        {"selection", has_selected(state->selection), "who speaks next"},
        {"records", state->turn_count > 0, "which turns there were"},
        {"run", state->run.is_open, "the run that was under way"},
    };
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        if (rows[i].is_there)
            PDR_TRY(lose(loss, PDR_LIT("turn"), PDR_NONE,
                         pdr_str_c(rows[i].name), rows[i].what));
    }
done:
    return rc;
}

pdr_rc pdr__report_loss(const pdr_chat_state *state,
                        const pdr_chat_save_opts *opts, pdr_err *err)
{
    struct loss loss = {.finder = PDR_FINDER_INIT(opts->fn, opts->arg),
                        .is_native = state->form == PDR_CHAT_NATIVE,
                        .first = PDR_ERR_INIT,
                        .err = err};
    pdr_rc rc = PDR_OK;

    if (opts->form == PDR_CHAT_NATIVE)
        return PDR_OK;
    PDR_TRY(lose_participants(&loss, state, opts->form));
    PDR_TRY(lose_log(&loss, state, opts->form));
    PDR_TRY(lose_channels(&loss, state, opts->form));
    PDR_TRY(lose_turn(&loss, state));
    if (!pdr__keeps_unknown(state, opts->form))
        PDR_TRY(lose_unknown(&loss, pdr_str_n(NULL, 0), PDR_NONE,
                             state->document, &pdr__known_document));
    if (opts->is_strict && loss.count > 0)
        rc = FAIL_PLACE(err, loss.first.path, CANNOT_CARRY,
                        "%zu parts of the chat have no place in this form",
                        loss.count);
done:
    pdr__finder_dispose(&loss.finder);
    return rc;
}
