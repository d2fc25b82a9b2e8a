/*
 * doc_state.c - any bytes are refused cleanly, or are a state document in which
 * a change touches the span of what was changed and no other byte: entries that
 * come in, a deadline that is set or cleared, entries that are removed.
 */
#include <perdure.h>

#include "fuzz.h"
#include "state_trip.h"

/* Everything that the typed view gives belongs to the document, and is of the
 * kind that it says. */
static void look(const pdr_value *state)
{
    pdr_iter entry, message, content;
    pdr_datetime at;

    (void)pdr_state_expiration(&at, state);
    pdr_iter_init(&entry, pdr_state_entries(state));
    while (pdr_iter_next(&entry)) {
        const pdr_value *id = pdr_entry_correlation_id(entry.value);
        MUST(id == NULL || pdr_value_kind(id) == PDR_STRING);
        (void)pdr_entry_created_at(&at, entry.value);
        (void)pdr_entry_is_error(entry.value);
        pdr_iter_init(&message, pdr_entry_messages(entry.value));
        while (pdr_iter_next(&message)) {
            pdr_iter_init(&content,
                          pdr_message_contents(message.value, PDR_SHAPE_STATE));
            while (pdr_iter_next(&content))
                (void)pdr_content_get(content.value, PDR_SHAPE_STATE,
                                      PDR_FIELD_TEXT);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str text = {(const char *)data, size};
    struct roundtrip_report report = {""};
    pdr_value *state = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_state_read(&state, text, NULL, &err);

    MUST((state != NULL) == (rc == PDR_OK));
    if (rc != PDR_OK) {
        MUST(err.code == rc && err.reason[0] != '\0' && err.message[0] != '\0');
        MUST(err.offset >= -1 && err.offset <= (int64_t)size);
        return 0;
    }
    look(state);
    pdr_value_free(state);
    if (pdr_str_equal(roundtrip_root(text), pdr_str_c("null")))
        return 0; /* a new document: it has no bytes yet */
    bool kept = state_check(&report, &state_ours, text);
    if (!kept)
        fprintf(stderr, "%s\n", report.text);
    MUST(kept);
    return 0;
}
