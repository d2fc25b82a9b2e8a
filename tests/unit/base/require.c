/* What a broken contract does in a release build. */
#ifndef NDEBUG
#define NDEBUG
#endif
#include "test.h"

#include "base.h"

static pdr_rc half(int *out, int number, pdr_err *err)
{
    PDR_REQUIRE(out != NULL);
    PDR_REQUIRE(number % 2 == 0);
    *out = number / 2;
    return PDR_OK;
}

TEST(require, fills_the_detail_like_any_failure)
{
    pdr_err err = PDR_ERR_INIT;
    int out = 0;

    ASSERT_RC(PDR_OK, half(&out, 4, &err));
    ASSERT_INT(2, out);
    ASSERT_RC(PDR_EMISUSE, half(NULL, 4, &err));
    ASSERT_RC(PDR_EMISUSE, err.code);
    ASSERT_STR("broken_contract", err.reason);
    ASSERT_STR("the call breaks its contract: out != NULL", err.message);
    ASSERT_RC(PDR_EMISUSE, half(&out, 3, &err));
    ASSERT_STR("the call breaks its contract: number % 2 == 0", err.message);
    ASSERT_RC(PDR_EMISUSE, half(&out, 3, NULL));
}
