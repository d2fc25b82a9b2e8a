/* Findings: names of severities, and the place that a walk is at. */
#include "test.h"

#include "doc.h"

TEST(severity_name, names_the_three_and_nothing_else)
{
    ASSERT_STR("info", pdr_severity_name(PDR_SEVERITY_INFO));
    ASSERT_STR("warning", pdr_severity_name(PDR_SEVERITY_WARNING));
    ASSERT_STR("error", pdr_severity_name(PDR_SEVERITY_ERROR));
    ASSERT_STR("?", pdr_severity_name((pdr_severity)0));
    ASSERT_STR("?", pdr_severity_name((pdr_severity)9));
}

static pdr_rc note(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    return pdr_buf_printf(arg, err, "%s %s %.*s: %.*s\n", finding->rule,
                          pdr_severity_name(finding->severity),
                          (int)finding->pointer.len, finding->pointer.ptr,
                          (int)finding->text.len, finding->text.ptr);
}

TEST(finder_tell, says_where_the_walk_is)
{
    pdr_buf told = PDR_BUF_INIT(1000);
    struct finder finder = PDR_FINDER_INIT(note, &told);
    size_t outer = 0, inner = 0;

    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "a", PDR_SEVERITY_INFO, NULL,
                                       "%s", "whole"));
    outer = pdr__finder_name(&finder, pdr_str_c("a/b~c"));
    inner = pdr__finder_index(&finder, 12);
    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "b", PDR_SEVERITY_ERROR, NULL,
                                       "%d of %d", 1, 2));
    pdr__finder_up(&finder, inner);
    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "c", PDR_SEVERITY_WARNING, NULL,
                                       "%s", "up"));
    pdr__finder_up(&finder, outer);
    pdr__finder_up(&finder, 50); /* further than it is: nothing */
    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "d", PDR_SEVERITY_ERROR, NULL,
                                       "%s", "root"));
    ASSERT_TEXT("a info : whole\nb error /a~1b~0c/12: 1 of 2\n"
                "c warning /a~1b~0c: up\nd error : root\n",
                pdr_buf_str(&told));
    ASSERT_INT(2, finder.errors);
    pdr__finder_dispose(&finder);
    pdr_buf_dispose(&told);
}

TEST(finder_tell, counts_errors_also_if_nobody_is_told)
{
    struct finder finder = PDR_FINDER_INIT(NULL, NULL);

    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "a", PDR_SEVERITY_ERROR, NULL,
                                       "%s", "x"));
    ASSERT_INT(1, finder.errors);
    pdr__finder_dispose(&finder);
}

TEST(finder_tell, cuts_a_text_that_is_too_long)
{
    pdr_buf told = PDR_BUF_INIT(2000);
    struct finder finder = PDR_FINDER_INIT(note, &told);

    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "a", PDR_SEVERITY_INFO, NULL,
                                       "%0900d", 7));
    ASSERT(told.len < 600);
    pdr__finder_dispose(&finder);
    pdr_buf_dispose(&told);
}

TEST(finder_tell, fails_only_below_a_name_that_is_too_long)
{
    pdr_buf told = PDR_BUF_INIT(1000), name = PDR_BUF_INIT(UINT32_MAX);
    struct finder finder = PDR_FINDER_INIT(note, &told);
    pdr_err err = PDR_ERR_INIT;
    size_t outer = 0, large = 0, inner = 0;

    ASSERT_RC(PDR_OK, pdr_buf_reserve(&name, PDR_MAX_POINTER_BYTES, NULL));
    name.len = PDR_MAX_POINTER_BYTES;
    memset(name.ptr, 'n', name.len);
    outer = pdr__finder_name(&finder, pdr_str_c("a"));
    large = pdr__finder_name(&finder, pdr_buf_str(&name));
    inner = pdr__finder_index(&finder, 1);
    (void)pdr__finder_name(&finder, pdr_str_c("b"));
    pdr__finder_up(&finder, inner);
    ASSERT_RC(PDR_ELIMIT, pdr__finder_tell(&finder, "x", PDR_SEVERITY_INFO,
                                           &err, "%s", "in it"));
    ASSERT_STR("buffer_full", err.reason);
    pdr__finder_up(&finder, large);
    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "x", PDR_SEVERITY_INFO, &err,
                                       "%s", "beside it"));
    (void)pdr__finder_name(&finder, pdr_str_c("c"));
    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "x", PDR_SEVERITY_INFO, &err,
                                       "%s", "next"));
    /* From far below it. */
    large = pdr__finder_name(&finder, pdr_buf_str(&name));
    (void)pdr__finder_name(&finder, pdr_str_c("d"));
    pdr__finder_up(&finder, outer);
    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "x", PDR_SEVERITY_INFO, &err,
                                       "%s", "out"));
    ASSERT_TEXT("x info /a: beside it\nx info /a/c: next\nx info : out\n",
                pdr_buf_str(&told));
    pdr__finder_dispose(&finder);
    pdr_buf_dispose(&name);
    pdr_buf_dispose(&told);
}

TEST(finder_tell, needs_no_place_if_nobody_is_told)
{
    pdr_buf name = PDR_BUF_INIT(UINT32_MAX);
    struct finder finder = PDR_FINDER_INIT(NULL, NULL);

    ASSERT_RC(PDR_OK, pdr_buf_reserve(&name, PDR_MAX_POINTER_BYTES, NULL));
    name.len = PDR_MAX_POINTER_BYTES;
    memset(name.ptr, 'n', name.len);
    (void)pdr__finder_name(&finder, pdr_buf_str(&name));
    ASSERT_RC(PDR_OK, pdr__finder_tell(&finder, "x", PDR_SEVERITY_ERROR, NULL,
                                       "%s", "in it"));
    ASSERT_INT(1, finder.errors);
    pdr__finder_dispose(&finder);
    pdr_buf_dispose(&name);
}

static pdr_rc refuse(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding;
    (void)err;
    (void)arg;
    return PDR_ECANCELLED;
}

TEST(finder_tell, gives_what_the_callback_returned)
{
    struct finder finder = PDR_FINDER_INIT(refuse, NULL);

    ASSERT_RC(PDR_ECANCELLED, pdr__finder_tell(&finder, "a", PDR_SEVERITY_INFO,
                                               NULL, "%s", "x"));
    pdr__finder_dispose(&finder);
}

TEST_OOM(finder_tell, reports_that_a_place_could_not_be_kept)
{
    pdr_buf told = PDR_BUF_INIT(1000);
    struct finder finder = PDR_FINDER_INIT(note, &told);
    pdr_err err = PDR_ERR_INIT;
    size_t mark = pdr__finder_name(&finder, pdr_str_c("some name"));
    pdr_rc rc =
        pdr__finder_tell(&finder, "a", PDR_SEVERITY_ERROR, &err, "%s", "x");

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_INT(1, finder.errors);
    if (rc == PDR_OK)
        ASSERT_TEXT("a error /some name: x\n", pdr_buf_str(&told));
    pdr__finder_up(&finder, mark);
    pdr__finder_dispose(&finder);
    pdr_buf_dispose(&told);
}
