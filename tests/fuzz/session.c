/*
 * session.c - any JSON text is refused cleanly, or is a session that comes back
 * byte for byte and in which a slot changes its own bytes only; or a list, of
 * which a stream gives the same.
 */
#include <perdure.h>

#include "fuzz.h"
#include "session_keep.h"

static void check_session(pdr_str text, const pdr_value *value)
{
    struct roundtrip_report report = {""};
    pdr_session *s = NULL;
    pdr_value *back = NULL, *part = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_session_from_value(&s, value, &err);
    bool kept = true;

    MUST((s != NULL) == (rc == PDR_OK));
    if (rc != PDR_OK) {
        MUST(err.code == rc && err.reason[0] != '\0' && err.message[0] != '\0');
        MUST(err.offset >= -1 && err.offset <= (int64_t)text.len);
        return;
    }
    MUST(pdr_session_looks(value) == PDR_LOOKS_SESSION);
    MUST(pdr_session_to_value(&back, s, NULL) == PDR_OK);
    MUST(back == value);
    /* What is asked for is there, or refused with a reason. */
    if (pdr_session_history(&part, s, &err) == PDR_OK && part != NULL)
        MUST(pdr_value_kind(part) == PDR_ARRAY);
    pdr_value_free(part);
    MUST(pdr_session_service_id(&part, s, NULL) == PDR_OK);
    MUST(part == NULL || pdr_value_kind(part) == PDR_STRING ||
         pdr_value_kind(part) == PDR_OBJECT);
    pdr_value_free(part);
    pdr_value_free(back);
    pdr_session_free(s);
    kept = session_check_unchanged(&report, &session_ours, text) &&
           session_check_slots(&report, &session_ours, roundtrip_root(text));
    if (!kept)
        fprintf(stderr, "%s\n", report.text);
    MUST(kept);
}

/* The next element of the stream is what the list has at `at`. */
static void check_element(pdr_session_reader *reader, const pdr_iter *at)
{
    pdr_session *s = NULL;
    pdr_session_item item;
    pdr_value *value = NULL;
    bool end = false;

    MUST(pdr_session_reader_next(&s, &item, &end, reader, NULL) == PDR_OK);
    MUST(!end && (item.name == NULL) == (at->name == NULL));
    MUST(at->name == NULL || pdr_value_equal(item.name, at->name));
    MUST((s == NULL) == (item.value != NULL));
    if (s != NULL)
        MUST(pdr_session_to_value(&value, s, NULL) == PDR_OK);
    else
        value = item.value;
    MUST(pdr_value_equal(value, at->value));
    pdr_value_free(value);
    pdr_session_free(s);
}

static void check_list(pdr_str text, const pdr_value *value)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_session_list *list = NULL;
    pdr_session_reader *reader = NULL;
    pdr_value *back = NULL;
    pdr_session *none = NULL;
    pdr_str left = text;
    bool end = false;
    pdr_iter it;

    if (pdr_session_list_from_value(&list, value, true, NULL, NULL, NULL) !=
        PDR_OK)
        return;
    MUST(pdr_session_list_to_value(&back, list, NULL) == PDR_OK);
    MUST(back == value);
    MUST(pdr_session_reader_new(&reader, pdr_json_codec(), &opts, true, NULL,
                                pdr_read_str, &left) == PDR_OK);
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it))
        check_element(reader, &it);
    MUST(pdr_session_reader_next(&none, NULL, &end, reader, NULL) == PDR_OK);
    MUST(end);
    pdr_session_reader_free(reader);
    pdr_session_list_free(list);
    pdr_value_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str text = {(const char *)data, size};
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;

    if (pdr_json_read(&value, text, &opts, NULL) != PDR_OK)
        return 0;
    MUST(pdr_session_looks_text(value)[0] != '\0');
    check_session(text, value);
    check_list(text, value);
    pdr_value_free(value);
    return 0;
}
