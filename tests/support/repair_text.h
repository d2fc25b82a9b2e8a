/*
 * repair_text.h - repairs of documents given as text, with all that must hold.
 */
#ifndef PDR_REPAIR_TEXT_H
#define PDR_REPAIR_TEXT_H

#include "doc_text.h"
#include "repair_check.h"

#define AT  "/data/conversationHistory"
#define NOW (PDR_TICKS_UNIX_EPOCH + 1770106500 * PDR_TICKS_PER_SECOND)

#define UNKNOWN_OUTCOME                                             \
    "'Error: the outcome of this call is unknown, because the run " \
    "ended before its result was recorded.'"
#define DOC(entries) \
    "{'schemaVersion':'1.1.0','data':{'conversationHistory':[" entries "]}}"

/* The repair gives `after`, tells `findings`, and does not do more the second
 * time. */
static inline void check_repair(pdr_reader reader, const char *findings,
                                const char *after, const char *before)
{
    static struct repair_report report;
    pdr_value *value = doc_value(before), *out = NULL, *again = NULL;
    pdr_buf found = PDR_BUF_INIT(1u << 16);
    const char *untold = NULL;

    ASSERT_RC(PDR_OK, pdr_state_repair(&out, value, reader, NOW, NULL,
                                       note_finding, &found));
    ASSERT_TEXT(findings, pdr_buf_str(&found));
    assert_written(after, out);
    assert_written(before, value);
    /* A dry run tells the same. */
    ASSERT_RC(PDR_OK, pdr_state_repair(NULL, value, reader, NOW, NULL,
                                       repair_note, &report));
    untold = repair_untold(value, out, &report);
    if (untold != NULL)
        fail_msg("%s", untold);
    repair_report_clear(&report);
    pdr_buf_clear(&found);
    ASSERT_RC(PDR_OK, pdr_state_repair(&again, out, reader, NOW, NULL,
                                       note_finding, &found));
    ASSERT_TEXT("", pdr_buf_str(&found));
    assert_written(after, again);
    pdr_buf_dispose(&found);
    pdr_value_free(again);
    pdr_value_free(out);
    pdr_value_free(value);
}

/* The repair is refused, tells nothing and leaves the document alone. */
static inline void check_refused(pdr_reader reader, pdr_rc code,
                                 const char *reason, const char *path,
                                 const char *document)
{
    pdr_value *value = doc_value(document), *out = NULL;
    pdr_buf found = PDR_BUF_INIT(1u << 16);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(code, pdr_state_repair(&out, value, reader, NOW, &err,
                                     note_finding, &found));
    ASSERT(out == NULL);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT_TEXT("", pdr_buf_str(&found));
    assert_written(document, value);
    ASSERT_RC(code,
              pdr_state_repair(NULL, value, reader, NOW, NULL, NULL, NULL));
    pdr_buf_dispose(&found);
    pdr_value_free(value);
}

/* Every allocation of a repair fails once. */
static inline void check_repair_oom(pdr_reader reader, const char *document)
{
    char *text = quoted(document);
    pdr_value *value = NULL, *out = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, NULL);

    free(text);
    if (rc == PDR_OK)
        rc = pdr_state_repair(&out, value, reader, NOW, NULL, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((out != NULL) == (rc == PDR_OK));
    pdr_value_free(out);
    pdr_value_free(value);
}

#endif
