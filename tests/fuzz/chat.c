/*
 * chat.c - any bytes are refused with a reason, or are a saved chat that comes
 * back byte for byte; in each other form it is refused with a reason, too, or
 * can be read again with the same messages and channels; and in our own form
 * nothing of it is lost.
 */
#include <perdure.h>
#include <perdure/chat.h>

#include "chat.h"
#include "fuzz.h"

static const pdr_chat_key key = {{"k1", 2},
                                 {"0123456789abcdef0123456789abcdef", 32}};

static pdr_rc open_text(pdr_chat_state **out, pdr_str text, pdr_err *err)
{
    pdr_chat_open_opts opts = {.keys = &key, .key_count = 1};
    const pdr_str all = text;
    pdr_rc rc = pdr_chat_open(out, &opts, err, pdr_read_str, &text);

    MUST((*out != NULL) == (rc == PDR_OK));
    if (rc != PDR_ECORRUPT || strcmp(err->message, "the chat has no MAC") != 0)
        return rc;
    opts.key_count = 0;
    text = all;
    rc = pdr_chat_open(out, &opts, err, pdr_read_str, &text);
    MUST((*out != NULL) == (rc == PDR_OK));
    return rc;
}

static pdr_rc on_finding(const pdr_doc_finding *finding, pdr_err *err,
                         void *arg)
{
    (void)err;
    MUST(strcmp(finding->rule, "not-carried") == 0);
    MUST(finding->pointer.len > 0 && finding->text.len > 0);
    ++*(size_t *)arg;
    return PDR_OK;
}

static bool is_same(pdr_str a, pdr_str b)
{
    return (a.ptr == NULL) == (b.ptr == NULL) && pdr_str_equal(a, b);
}

/* Nothing is lost in our own form. */
static void check_native(const pdr_chat_state *a, const pdr_chat_state *b)
{
    MUST(is_same(a->id, b->id) && a->epoch == b->epoch);
    MUST(a->revision == b->revision && a->turn == b->turn);
    MUST(a->is_complete == b->is_complete);
    MUST(pdr_value_equal(a->open_turn, b->open_turn));
    MUST(pdr_value_equal(a->selection, b->selection));
    MUST(a->participant_count == b->participant_count);
    for (size_t i = 0; i < a->participant_count; i++) {
        const struct pdr__saved_participant *p = &a->participants[i];
        const struct pdr__saved_participant *q = &b->participants[i];

        MUST(is_same(p->id, q->id) && is_same(p->name, q->name));
        MUST(is_same(p->type, q->type) && is_same(p->key, q->key));
        MUST(pdr_value_equal(p->session, q->session));
    }
    for (size_t i = 0; i < a->log_count; i++) {
        const struct pdr__log_entry *p = &a->log[i], *q = &b->log[i];

        MUST(p->turn == q->turn && p->is_visible == q->is_visible);
        MUST(is_same(p->origin, q->origin));
        MUST(pdr_value_equal(p->value, q->value));
    }
    for (size_t i = 0; i < a->channel_count; i++) {
        const struct pdr__saved_channel *p = &a->channels[i];
        const struct pdr__saved_channel *q = &b->channels[i];

        MUST(is_same(p->key, q->key) && is_same(p->sk_key, q->sk_key));
        MUST(is_same(p->kind, q->kind) && is_same(p->type, q->type));
        MUST(p->state_version == q->state_version && p->cursor == q->cursor);
        MUST(p->has_cursor == q->has_cursor);
        MUST(pdr_value_equal(p->state, q->state));
    }
}

static void check_form(const pdr_chat_state *s, pdr_chat_save_opts opts)
{
    pdr_buf once = PDR_BUF_INIT(SIZE_MAX), twice = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *back = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t findings = 0, channels = 0;

    opts.fn = on_finding;
    opts.arg = &findings;
    if (pdr__chat_write(s, &opts, &err, pdr_write_buf, &once) != PDR_OK) {
        MUST(once.len == 0 && err.message[0] != '\0');
        MUST(err.code == PDR_ELIMIT || err.code == PDR_EINVALID);
        goto done;
    }
    if (open_text(&back, pdr_buf_str(&once), &err) != PDR_OK)
        fprintf(stderr, "%s: %s\n%.*s\n", err.path, err.message, (int)once.len,
                once.ptr);
    MUST(back != NULL && back->log_count == s->log_count);
    for (size_t i = 0; i < s->channel_count; i++)
        channels += opts.form != PDR_CHAT_SK || s->channels[i].sk_key.ptr;
    MUST(back->channel_count == channels);
    if (opts.form == PDR_CHAT_NATIVE) {
        MUST(findings == 0);
        check_native(s, back);
    }
    /* A second time, there is nothing left to change. */
    if (back->form == opts.form) {
        MUST(pdr__chat_write(back, &opts, &err, pdr_write_buf, &twice) ==
             PDR_OK);
        MUST(pdr_str_equal(pdr_buf_str(&once), pdr_buf_str(&twice)));
    }
done:
    pdr_chat_state_free(back);
    pdr_buf_dispose(&once);
    pdr_buf_dispose(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str text = {(const char *)data, size};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *s = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = open_text(&s, text, &err);

    if (rc != PDR_OK) {
        MUST(err.code == rc && err.reason[0] != '\0' && err.message[0] != '\0');
        MUST(err.offset >= -1 && err.offset <= (int64_t)size);
        return 0;
    }
    MUST(pdr_chat_state_write(s, NULL, pdr_write_buf, &out) == PDR_OK);
    MUST(pdr_str_equal(text, pdr_buf_str(&out)));
    for (pdr_chat_form f = PDR_CHAT_NATIVE; f <= PDR_CHAT_ENCODED; f++)
        check_form(s, (pdr_chat_save_opts){.form = f});
    check_form(s, (pdr_chat_save_opts){.is_encoded = true, .key = key});
    pdr_buf_dispose(&out);
    pdr_chat_state_free(s);
    return 0;
}
