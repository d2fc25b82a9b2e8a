/* What a progress line says; the clock is an argument. */
#include "test.h"

#include "cli.h"

static const char *text(uint64_t done, uint64_t total, int64_t elapsed_ms)
{
    static char out[160];
    const struct cli_progress p = {
        .what = "a.jsonl", .total = total, .done = done};

    cli_progress_text(out, sizeof(out), &p, elapsed_ms);
    return out;
}

TEST(progress_text, shows_share_rate_and_time_left)
{
    ASSERT_STR("a.jsonl: 25 % of 400.0 MB, 50.0 MB/s, 6 s left",
               text(100000000, 400000000, 2000));
    ASSERT_STR("a.jsonl: 10 % of 10.0 GB, 10.0 MB/s, 15:00 min left",
               text(1000000000, 10000000000, 100000));
}

TEST(progress_text, shows_size_and_rate_if_nobody_knows_the_end)
{
    ASSERT_STR("a.jsonl: 1.5 MB, 1.0 MB/s", text(1500000, 0, 1500));
}

TEST(progress_text, survives_a_file_that_grew_and_a_clock_that_stands)
{
    ASSERT_STR("a.jsonl: 2.0 kB, 2.0 kB/s", text(2000, 1000, 1000));
    ASSERT_STR("a.jsonl: 0 bytes, 0 bytes/s", text(0, 1000, 0));
}

TEST(progress_text, escapes_and_cuts_the_name)
{
    char out[160];
    const struct cli_progress p = {
        .what = "\033[31m-a-very-long-name-of-a-file", .done = 1};

    cli_progress_text(out, sizeof(out), &p, 1000);
    ASSERT_STR("\\u001b[31m-a-very-long-…: 1 byte, 1 byte/s", out);
}
