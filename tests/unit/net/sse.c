/*
 * Event streams: what comes out does not depend on how the bytes came in.
 */
#include "net.h"
#include "test.h"

/* Events as text: "<event|id|data>", "!" after one that is cut, ":" for a
 * comment. */
static pdr_rc on_event(const struct pdr__sse_event *event, pdr_err *err,
                       void *arg)
{
    pdr_buf *out = arg;
    pdr_rc rc = PDR_OK;

    if (event->is_keepalive)
        return pdr_buf_append(out, PDR_LIT(":"), err);
    PDR_TRY(pdr_buf_append(out, PDR_LIT("<"), err));
    PDR_TRY(pdr_buf_append(out, event->event, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("|"), err));
    PDR_TRY(pdr_buf_append(out, event->id, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("|"), err));
    PDR_TRY(pdr_buf_append(out, event->data, err));
    PDR_TRY(
        pdr_buf_append(out, event->is_cut ? PDR_LIT(">!") : PDR_LIT(">"), err));
done:
    return rc;
}

/* Feed pieces: up to `cut`, then the rest in pieces of `step` bytes. */
static pdr_rc feed_split(pdr_buf *out, pdr_str bytes, size_t cut, size_t step,
                         pdr_err *err)
{
    struct pdr__sse sse;
    pdr_rc rc = PDR_OK;

    pdr__sse_init(&sse, on_event, out);
    PDR_TRY(pdr__sse_feed(&sse, pdr_str_n(bytes.ptr, cut), err));
    for (size_t at = cut; at < bytes.len; at += step) {
        size_t len = bytes.len - at < step ? bytes.len - at : step;

        PDR_TRY(pdr__sse_feed(&sse, pdr_str_n(bytes.ptr + at, len), err));
    }
    PDR_TRY(pdr__sse_end(&sse, err));
done:
    pdr__sse_dispose(&sse);
    return rc;
}

#define ROW(bytes, events)            \
    {                                 \
        {(bytes), sizeof(bytes) - 1}, \
        {                             \
            (events), 0               \
        }                             \
    }

static const struct {
    pdr_str bytes, events;
} cases[] = {
    ROW("", ""),
    ROW("data: a\n\n", "<||a>"),
    ROW("data:a\r\n\r\ndata:b\r\rdata:c\n\n", "<||a><||b><||c>"),
    ROW("data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", "<||a><||b><||c>"),
    ROW("data: a\ndata: b\ndata\n\n", "<||a\nb\n>"),
    ROW("data:  two\n\n", "<|| two>"),
    ROW("data\n\n", "<||>"),
    ROW("\n\n\r\n\r", ""),
    ROW("event: x\nid: 7\ndata: a\n\ndata: b\n\n", "<x|7|a><|7|b>"),
    ROW("event: x\n\ndata: b\n\n", "<||b>"),
    ROW("id: 7\nid\ndata: a\n\n", "<||a>"),
    ROW("id: 1\nid: a\0b\ndata: a\n\n", "<|1|a>"),
    ROW(": hi\n:\ndata: a\n\n:\r\n", "::<||a>:"),
    ROW("\xEF\xBB\xBF"
        "data: a\n\n\xEF\xBB\xBF"
        "data: b\n\n",
        "<||a>"),
    ROW("\xEF\xBB\xBF:\n", ":"),
    ROW("retry: 5\nother: x\ndat: y\ndata: a:b\n\n", "<||a:b>"),
    ROW("data: a\n\ndata: b", "<||a><||b>!"),
    ROW("data: a\ndata: b\n", "<||a\nb>!"),
    ROW("data: a\n\ndat", "<||a>"),
    ROW("data: \xC3\xA4\xFF\n\n", "<||\xC3\xA4\xFF>"),
};

TEST(sse, gives_the_same_events_however_the_bytes_are_split)
{
    COVERS("P-1");
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        for (size_t cut = 0; cut <= cases[i].bytes.len; cut++) {
            for (size_t step = 1; step < 1000; step += 998) {
                pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
                pdr_err err = PDR_ERR_INIT;

                ASSERT_RC(PDR_OK,
                          feed_split(&out, cases[i].bytes, cut, step, &err));
                ASSERT_TEXT(cases[i].events.ptr, pdr_buf_str(&out));
                pdr_buf_dispose(&out);
            }
        }
    }
}

/* Any bytes of a small alphabet, against one feed of the whole. */
TEST(sse, gives_the_same_events_for_any_bytes)
{
    static const char alphabet[] = "\n\r:dat a\n";
    uint32_t seed = 1;

    for (size_t round = 0; round < test_times(3000, 300); round++) {
        pdr_buf whole = PDR_BUF_INIT(SIZE_MAX), parts = PDR_BUF_INIT(SIZE_MAX);
        char bytes[40];

        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
        }
        memcpy(bytes, "data", 4);
        ASSERT_RC(PDR_OK, feed_split(&whole, pdr_str_n(bytes, sizeof(bytes)),
                                     sizeof(bytes), 1, NULL));
        ASSERT_RC(PDR_OK, feed_split(&parts, pdr_str_n(bytes, sizeof(bytes)),
                                     round % 40, 1 + round % 3, NULL));
        ASSERT_BYTES(pdr_buf_str(&whole), pdr_buf_str(&parts));
        pdr_buf_dispose(&parts);
        pdr_buf_dispose(&whole);
    }
}

/* Feed a line of `len` bytes, `lines` times. */
static pdr_rc feed_large(size_t len, size_t lines, pdr_err *err)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    char *line = malloc(len + 1);
    struct pdr__sse sse;
    pdr_rc rc = PDR_OK;

    ASSERT(line != NULL && len > 5);
    memset(line, 'x', len);
    memcpy(line, "data:", 5);
    line[len] = '\n';
    pdr__sse_init(&sse, on_event, &out);
    for (size_t i = 0; i < lines && rc == PDR_OK; i++)
        rc = pdr__sse_feed(&sse, pdr_str_n(line, len + 1), err);
    pdr__sse_dispose(&sse);
    pdr_buf_dispose(&out);
    free(line);
    return rc;
}

TEST(sse, refuses_a_line_or_an_event_that_is_too_long)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, feed_large(1024 * 1024, 1, &err));
    ASSERT_RC(PDR_ELIMIT, feed_large(1024 * 1024 + 1, 1, &err));
    ASSERT_STR("buffer_full", err.reason);
    ASSERT(strstr(err.message, "a line of the stream") != NULL);
    ASSERT_RC(PDR_OK, feed_large(1024 * 1024, 8, &err));
    ASSERT_RC(PDR_ELIMIT, feed_large(1024 * 1024, 9, &err));
    ASSERT(strstr(err.message, "an event of the stream") != NULL);
}

static pdr_rc on_event_refuse(const struct pdr__sse_event *event, pdr_err *err,
                              void *arg)
{
    (void)event;
    (void)arg;
    return PDR_FAIL(err, RUN_CANCELLED, "%s", "no more");
}

TEST(sse, ends_with_what_the_callback_returned)
{
    static const char *const streams[] = {"data: a\n\n", ":\n", "data: a"};

    for (size_t i = 0; i < PDR_COUNT(streams); i++) {
        struct pdr__sse sse;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        pdr__sse_init(&sse, on_event_refuse, NULL);
        rc = pdr__sse_feed(&sse, pdr_str_c(streams[i]), &err);
        if (rc == PDR_OK)
            rc = pdr__sse_end(&sse, &err);
        ASSERT_RC(PDR_ECANCELLED, rc);
        pdr__sse_dispose(&sse);
    }
}

TEST_OOM(sse, cleans_up_after_any_failed_allocation)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = feed_split(
        &out, pdr_str_c("event: e\nid: 1\ndata: a\ndata: b\n\ndata: c"), 5, 7,
        NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_buf_dispose(&out);
}
