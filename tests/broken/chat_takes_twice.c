/*
 * chat_takes_twice.c - a channel that keeps a message that it said it did not
 * take. Must fail: it has the message twice, and the chat has it once.
 */
#include "chat_stage.h"

TEST(chat_harness, does_not_see_that_a_message_came_twice)
{
    struct chat_stage stage = {.notes = {.fail_at = 2, .keeps_failed = true}};

    chat_begin(&stage, "@n");
    chat_invokes(&stage, "n");
    stage.notes.fail_left = 1;
    chat_says(&stage, "once");
    (void)!pdr_chat_sync(stage.chat, NULL, NULL);
    chat_agrees(&stage);
    chat_end(&stage);
}
