/* Whatever a run request holds: it is refused with a reason, or what is stored
 * of it reads back as the same request, with the same fingerprint, and is
 * stored again as the same bytes. Each message that is taken has a role and
 * contents, which are objects. */
#include "fuzz.h"

#include "request.h"

static void check_messages(const pdr_value *messages)
{
    pdr_iter message, content;

    MUST(pdr_value_kind(messages) == PDR_ARRAY);
    pdr_iter_init(&message, messages);
    while (pdr_iter_next(&message)) {
        const pdr_value *contents =
            pdr_message_contents(message.value, PDR_SHAPE_STATE);

        MUST(pdr_message_role(message.value, PDR_SHAPE_STATE) != NULL);
        MUST(contents != NULL);
        pdr_iter_init(&content, contents);
        while (pdr_iter_next(&content))
            MUST(pdr_value_kind(content.value) == PDR_OBJECT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t first[PDR_REQUEST_FINGERPRINT], second[PDR_REQUEST_FINGERPRINT];
    pdr_buf once = PDR_BUF_INIT(SIZE_MAX), twice = PDR_BUF_INIT(SIZE_MAX);
    pdr_str input = pdr_str_n((const char *)data, size);
    struct pdr__request a, b;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__request_read(&a, input, &err);

    MUST(rc == PDR_OK || rc == PDR_EINVALID || rc == PDR_ELIMIT);
    if (rc != PDR_OK) {
        MUST(rc == PDR_ELIMIT || strcmp(err.reason, "invalid_request") == 0);
        MUST(err.message[0] != '\0');
        return 0;
    }
    check_messages(a.messages);
    MUST(pdr__request_write(&once, &a, NULL) == PDR_OK);
    MUST(pdr__request_read(&b, pdr_buf_str(&once), NULL) == PDR_OK);
    MUST(pdr_value_equal(a.messages, b.messages));
    MUST(a.created_at == b.created_at && b.unknown == 0);
    MUST(pdr__request_write(&twice, &b, NULL) == PDR_OK);
    MUST(pdr_str_equal(pdr_buf_str(&once), pdr_buf_str(&twice)));
    MUST(pdr__request_fingerprint(first, &a, NULL) == PDR_OK);
    MUST(pdr__request_fingerprint(second, &b, NULL) == PDR_OK);
    MUST(memcmp(first, second, sizeof(first)) == 0);
    pdr_buf_dispose(&twice);
    pdr_buf_dispose(&once);
    pdr__request_dispose(&b);
    pdr__request_dispose(&a);
    return 0;
}
