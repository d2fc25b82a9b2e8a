/*
 * repair_changes_untold.c - a repair that also changes something that it does
 * not tell, at each level of a document. Must fail: the harness has to see it.
 */
#include "test.h"

#include "repair_text.h"

#define BEFORE                                                             \
    "{'schemaVersion':'1.1.0','x':1,'data':{'y':1,"                        \
    "'conversationHistory':[{'$type':'request','correlationId':'a','k':1," \
    "'messages':[]},{'$type':'response','correlationId':'b','usage':"      \
    "{'u':1.0},'messages':[{'role':'u','m':1,'contents':[{'$type':"        \
    "'functionCall','callId':'1','c':{'d':[1]}}]}]}]}}"

TEST(repair_harness, does_not_see_a_change_that_was_not_told)
{
    /* Places in the result, where an entry and a message were added. */
    static const char *const places[] = {
        "/x",
        "/data/y",
        AT "/0/k",
        AT "/2/usage/u",
        AT "/2/messages/0/m",
        AT "/2/messages/0/contents/0/c/d/0",
    };
    static struct repair_report report;
    size_t caught = 0, count = sizeof(places) / sizeof(places[0]);
    pdr_value *value = doc_value(BEFORE), *out = NULL;

    ASSERT_RC(PDR_OK, pdr_state_repair(&out, value, PDR_READER_ANY, NOW, NULL,
                                       repair_note, &report));
    /* If the true repair does not pass, this failure would prove nothing. */
    if (report.count != 2 || repair_untold(value, out, &report) != NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        pdr_value *dropped = pdr_value_ref(out), *set = pdr_value_ref(out);
        pdr_value *null = pdr_value_new_null();

        ASSERT_RC(PDR_OK,
                  pdr_pointer_remove(&dropped, pdr_str_c(places[i]), NULL));
        ASSERT_RC(PDR_OK,
                  pdr_pointer_set(&set, pdr_str_c(places[i]), null, NULL));
        caught += repair_untold(value, dropped, &report) != NULL;
        caught += repair_untold(value, set, &report) != NULL;
        pdr_value_free(null);
        pdr_value_free(set);
        pdr_value_free(dropped);
    }
    pdr_value_free(out);
    pdr_value_free(value);
    repair_report_clear(&report);
    if (caught == 2 * count)
        fail_msg("caught 12 of 12");
}
