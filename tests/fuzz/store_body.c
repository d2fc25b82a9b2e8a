/* The check of bodies says what the plain way says, byte for byte, with SSE2
 * and without; and what JSON takes, it takes. The first byte is the depth. */
#include <perdure.h>

#include "fuzz.h"

#include "body_model.h"

typedef pdr_rc (*check_fn)(pdr_str body, size_t depth, pdr_err *err);

static void compare(pdr_str body, size_t depth, check_fn check)
{
    struct body_model wanted = body_model_check(body, depth);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = check(body, depth, &err);

    if (wanted.verdict == BODY_GOOD) {
        MUST(rc == PDR_OK);
        return;
    }
    MUST(rc == (wanted.verdict == BODY_TOO_DEEP ? PDR_ELIMIT : PDR_EINVALID));
    MUST(strcmp(err.reason, wanted.verdict == BODY_TOO_DEEP ? "too_deep"
                                                            : "bad_body") == 0);
    MUST(err.offset == (int64_t)wanted.offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t depth = data[0];
    pdr_str body = {(const char *)data + 1, size - 1};
    pdr_value *value = NULL;

    compare(body, depth, pdr__body_check);
    compare(body, depth, plain_body_check);
    if (pdr_json_read(&value, body, NULL, NULL) == PDR_OK)
        MUST(pdr__body_check(body, PDR_DEFAULT_DEPTH, NULL) == PDR_OK);
    pdr_value_free(value);
    return 0;
}
