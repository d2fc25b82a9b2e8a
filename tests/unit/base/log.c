/*
 * Events for a listener: every field as it was given, but for secrets.
 */
#include <perdure.h>

#include "test.h"

struct heard {
    char text[512]; /* "level event name=value ..." */
    int events;
};

static void note(pdr_log_level level, pdr_str event,
                 const pdr_log_field *fields, size_t count, void *arg)
{
    struct heard *heard = arg;
    char *to = heard->text;
    size_t room = sizeof(heard->text);
    int len =
        snprintf(to, room, "%d %.*s", (int)level, (int)event.len, event.ptr);

    heard->events++;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].text.ptr != NULL)
            len += snprintf(to + len, room - (size_t)len, " %s=%.*s",
                            fields[i].name, (int)fields[i].text.len,
                            fields[i].text.ptr);
        else
            len += snprintf(to + len, room - (size_t)len, " %s=%lld",
                            fields[i].name, (long long)fields[i].number);
    }
}

TEST(log_emit, hands_over_everything_but_secrets)
{
    const pdr_log_field fields[] = {
        {.name = "tool", .text = pdr_str_c("weather")},
        {.name = "ms", .number = 12},
        {.name = "key", .text = pdr_str_c("sk-1"), .is_secret = true},
        {.name = "pin", .number = 4711, .is_secret = true}};
    struct heard heard = {.events = 0};
    const pdr_log log = {note, &heard}, nobody = {NULL, NULL};

    pdr_log_emit(&log, PDR_LOG_WARNING, "tool_called", fields, 4);
    ASSERT_STR("2 tool_called tool=weather ms=12 key=*** pin=***", heard.text);
    pdr_log_emit(&log, PDR_LOG_DEBUG, "bare", NULL, 0);
    ASSERT_STR("0 bare", heard.text);
    pdr_log_emit(&nobody, PDR_LOG_ERROR, "lost", fields, 4);
    pdr_log_emit(NULL, PDR_LOG_ERROR, "lost", fields, 4);
    ASSERT_INT(2, heard.events);
}

TEST(log_emit, hands_over_sixteen_fields_at_most)
{
    pdr_log_field fields[20];
    struct heard heard = {.events = 0};
    const pdr_log log = {note, &heard};

    for (int i = 0; i < 20; i++)
        fields[i] = (pdr_log_field){.name = "n", .number = i};
    pdr_log_emit(&log, PDR_LOG_INFO, "many", fields, 20);
    ASSERT(strstr(heard.text, " n=15") != NULL);
    ASSERT(strstr(heard.text, " n=16") == NULL);
}
