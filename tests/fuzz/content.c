/*
 * content.c - whatever a content or a message is: it can be read in every
 * shape, and what is converted from any shape to any other comes back equal.
 * The first byte chooses both shapes and which of the two it is, the rest is
 * the JSON.
 */
#include <perdure.h>

#include "content_trip.h"
#include "fuzz.h"

/* Each field has the JSON kind that the headers promise. */
static void read_content(const pdr_value *content, pdr_shape shape)
{
    pdr_buf text = PDR_BUF_INIT(1 << 24);
    pdr_str media = {NULL, 0};

    for (int f = PDR_FIELD_TEXT; f <= PDR_FIELD_DATA; f++) {
        const pdr_value *field = pdr_content_get(content, shape, (pdr_field)f);

        MUST(field == NULL || pdr_value_kind(field) != PDR_NULL);
        if (f == PDR_FIELD_TEXT || f == PDR_FIELD_DATA)
            MUST(field == NULL || pdr_value_kind(field) == PDR_STRING);
        if (f == PDR_FIELD_PROPERTIES)
            MUST(field == NULL || pdr_value_kind(field) == PDR_OBJECT);
    }
    (void)!pdr_content_media_type(&media, content, shape, &text, NULL);
    pdr_buf_clear(&text);
    (void)!pdr_content_arguments(&text, content, shape, NULL);
    pdr_buf_dispose(&text);
}

static void read_message(const pdr_value *message, pdr_shape shape)
{
    const pdr_value *role = pdr_message_role(message, shape);
    const pdr_value *author = pdr_message_author(message, shape);
    pdr_buf text = PDR_BUF_INIT(1 << 24);
    pdr_attribution mark;
    pdr_iter it;

    MUST(role == NULL || pdr_value_kind(role) == PDR_STRING);
    MUST(author == NULL || pdr_value_kind(author) == PDR_STRING);
    (void)pdr_message_attribution(&mark, message, shape);
    MUST(pdr_message_text(&text, message, shape, NULL) == PDR_OK);
    pdr_iter_init(&it, pdr_message_contents(message, shape));
    while (pdr_iter_next(&it))
        read_content(it.value, shape);
    pdr_buf_dispose(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    struct content_trip_report report;
    pdr_value *value = NULL;

    if (size < 1)
        return 0;
    pdr_shape from = (pdr_shape)(data[0] & 3),
              to = (pdr_shape)(data[0] >> 2 & 3);
    bool message = (data[0] & 16) != 0;
    pdr_str text = {(const char *)data + 1, size - 1};
    if (pdr_json_read(&value, text, &opts, NULL) != PDR_OK)
        return 0;
    (message ? read_message : read_content)(value, from);
    bool kept = content_trip_check(
        &report, message ? pdr_message_convert : pdr_content_convert, value,
        from, to);
    if (!kept)
        fprintf(stderr, "%s\n", report.text);
    MUST(kept);
    pdr_value_free(value);
    return 0;
}
