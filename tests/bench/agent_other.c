/*
 * agent_other.c - an agent of another library, in a process of its own.
 */
#include "agent_other.h"

#include <stdio.h>
#include <string.h>

#define LINE_ROOM 200u

void other_start(struct other_agent *other, const char *name)
{
    char folder[512], texts[512], line[LINE_ROOM];

    other->name = name;
    bench_path(folder, sizeof(folder), "agent-other");
    bench_path(texts, sizeof(texts), TALK_FILE);
    talk_write();
    const char *words[] = {name, folder, texts, NULL};
    peer_start_words(&other->process, BENCH_SCRIPT, words);
    peer_hear(&other->process, line, sizeof(line));
    bench_note("baseline_version", line);
    peer_hear(&other->process, line, sizeof(line));
    bench_note("baseline_settings", line);
}

void other_begin(struct other_agent *other, size_t messages)
{
    char work[32], line[LINE_ROOM];

    snprintf(work, sizeof(work), "begin %zu", messages);
    peer_ask(&other->process, work, line, sizeof(line));
    if (strcmp(line, "done") != 0)
        bench_fail("%s answers '%s'", other->name, line);
}

struct other_run other_run(struct other_agent *other, size_t pieces)
{
    struct other_run run;
    char work[32] = "run", line[LINE_ROOM];

    if (pieces > 0)
        snprintf(work, sizeof(work), "stream %zu", pieces);
    peer_ask(&other->process, work, line, sizeof(line));
    if (sscanf(line, "%lf %lf %zu %zu %zu %zu %zu %zu", &run.us, &run.core_us,
               &run.sent.count, &run.sent.bytes, &run.stored.count,
               &run.stored.bytes, &run.answer.count, &run.answer.bytes) != 8)
        bench_fail("%s answers '%s'", other->name, line);
    run.us /= 1e3;
    run.core_us /= 1e3;
    return run;
}

void other_compare(const char *what, struct talk_sum ours,
                   struct talk_sum theirs)
{
    if (ours.count != theirs.count || ours.bytes != theirs.bytes)
        bench_fail("%s: %zu messages, %zu bytes of text; theirs %zu and %zu",
                   what, ours.count, ours.bytes, theirs.count, theirs.bytes);
}

void other_stop(struct other_agent *other)
{
    char texts[512];

    peer_stop(&other->process);
    bench_path(texts, sizeof(texts), TALK_FILE);
    (void)remove(texts);
}
