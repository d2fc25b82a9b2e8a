/*
 * reader_cases.h - documents, and what another reader does with them.
 *
 * A case is a part of a document, put into the rest by its level: 'r' is the
 * whole, 'd' stands for data, 'e' for entries, 'm' for messages, 'c' for
 * contents. In what is expected, "@" is the pointer of the first part.
 */
#ifndef PDR_READER_CASES_H
#define PDR_READER_CASES_H

#include "compat.h"
#include "doc_text.h"

struct reader_case {
    char level;
    const char *findings; /* "severity rule pointer" and a line end each */
    bool loads, runs;
    const char *text;
};

#define CASE_DATA  "{'schemaVersion':'1.1.0','data':"
#define CASE_ENTRY CASE_DATA "{'conversationHistory':["
#define CASE_MESSAGE                                     \
    CASE_ENTRY "{'$type':'request','correlationId':'c'," \
               "'createdAt':'2026-02-03T08:15:00+00:00','messages':["
#define CASE_CONTENT CASE_MESSAGE "{'role':'user','contents':["

static const struct reader_level {
    char level;
    const char *before, *after, *pointer;
} reader_levels[] = {
    {'r', "", "", ""},
    {'d', CASE_DATA, "}", "/data"},
    {'e', CASE_ENTRY, "]}}", "/data/conversationHistory/0"},
    {'m', CASE_MESSAGE, "]}]}}", "/data/conversationHistory/0/messages/0"},
    {'c', CASE_CONTENT, "]}]}]}}",
     "/data/conversationHistory/0/messages/0/contents/0"},
};

static inline const struct reader_level *case_level(const struct reader_case *c)
{
    const struct reader_level *level = reader_levels;

    while (level->level != c->level)
        level++;
    return level;
}

/* The document of a case; release with free(). */
static inline char *case_text(const struct reader_case *c)
{
    const struct reader_level *level = case_level(c);
    size_t size =
        strlen(level->before) + strlen(c->text) + strlen(level->after) + 1;
    char *text = malloc(size), *out = NULL;

    ASSERT(text != NULL);
    (void)snprintf(text, size, "%s%s%s", level->before, c->text, level->after);
    out = quoted(text);
    free(text);
    return out;
}

/* What a case expects, with pointers. */
static inline void case_findings(pdr_buf *out, const struct reader_case *c)
{
    const char *pointer = case_level(c)->pointer;

    for (const char *p = c->findings; *p != '\0'; p++) {
        pdr_str part = *p == '@' ? pdr_str_c(pointer) : pdr_str_n(p, 1);

        ASSERT_RC(PDR_OK, pdr_buf_append(out, part, NULL));
    }
}

/* Check one case; `told` gets its findings too. */
static inline void check_case(const struct reader_case *c, pdr_reader reader,
                              pdr_buf *told)
{
    pdr_buf expected = PDR_BUF_INIT(1u << 16), found = PDR_BUF_INIT(1u << 16);
    pdr_reader_verdict verdict = {!c->loads, !c->runs};
    char *text = case_text(c);

    case_findings(&expected, c);
    ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, pdr_str_c(text), reader,
                                             NULL, note_finding, &found));
    if (!pdr_str_equal(pdr_buf_str(&expected), pdr_buf_str(&found)) ||
        verdict.loads != c->loads || verdict.runs != c->runs)
        print_error("in %s: loads %d, runs %d\n", text, verdict.loads,
                    verdict.runs);
    ASSERT_BYTES(pdr_buf_str(&expected), pdr_buf_str(&found));
    ASSERT(verdict.loads == c->loads && verdict.runs == c->runs);
    ASSERT_RC(PDR_OK, pdr_buf_append(told, pdr_buf_str(&found), NULL));
    free(text);
    pdr_buf_dispose(&found);
    pdr_buf_dispose(&expected);
}

/* Check all cases, and that each rule of the reader is told in one of them. */
static inline void check_cases(const struct reader_case *cases, size_t count,
                               pdr_reader reader)
{
    pdr_buf told = PDR_BUF_INIT(1u << 20);
    size_t rules = 0;
    const struct compat_rule *rule = pdr__compat_rules(&rules, reader);

    for (size_t i = 0; i < count; i++)
        check_case(&cases[i], reader, &told);
    ASSERT_RC(PDR_OK, pdr_buf_append(&told, pdr_str_n("", 1), NULL));
    for (size_t i = 0; i < rules; i++) {
        char line[100];

        (void)snprintf(line, sizeof(line), "%s %s ",
                       pdr_severity_name(pdr__compat_severity(rule[i].effect)),
                       rule[i].name);
        if (strstr(told.ptr, line) == NULL)
            fail_msg("no case tells %s", line);
    }
    pdr_buf_dispose(&told);
}

/* Whatever the bytes are: an answer, and no crash. */
static inline void check_hostile(pdr_str text, pdr_reader reader)
{
    pdr_reader_verdict verdict = {false, false};
    pdr_buf found = PDR_BUF_INIT(1u << 20);

    ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, text, reader, NULL,
                                             note_finding, &found));
    ASSERT(found.len > 0 || (verdict.loads && verdict.runs));
    pdr_buf_dispose(&found);
}

/* A document cut at every byte, and with each byte changed. */
static inline void check_cuts(const char *document, pdr_reader reader)
{
    char *text = quoted(document);
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i++) {
        char kept = text[i];

        check_hostile(pdr_str_n(text, i), reader);
        text[i] = '"';
        check_hostile(pdr_str_n(text, len), reader);
        text[i] = (char)0xFF;
        check_hostile(pdr_str_n(text, len), reader);
        text[i] = '0';
        check_hostile(pdr_str_n(text, len), reader);
        text[i] = kept;
    }
    free(text);
}

/* `count` arrays in one another, not closed. */
static inline void check_brackets(size_t count, pdr_reader reader)
{
    char *text = malloc(count);

    ASSERT(text != NULL);
    memset(text, '[', count);
    check_hostile(pdr_str_n(text, count), reader);
    free(text);
}

static inline pdr_rc count_findings(const pdr_doc_finding *finding,
                                    pdr_err *err, void *arg)
{
    (void)finding;
    (void)err;
    ++*(size_t *)arg;
    return PDR_OK;
}

/* For TEST_OOM: all findings, or a failure that says so. */
static inline void check_memory(size_t findings, const char *document,
                                pdr_reader reader)
{
    char *text = quoted(document);
    pdr_reader_verdict verdict;
    pdr_err err = PDR_ERR_INIT;
    size_t count = 0;
    pdr_rc rc = pdr_state_check_reader(&verdict, pdr_str_c(text), reader, &err,
                                       count_findings, &count);

    if (rc == PDR_OK) {
        ASSERT_SIZE(findings, count);
    } else {
        ASSERT_RC(PDR_ENOMEM, rc);
        ASSERT_STR("no_memory", err.reason);
    }
    free(text);
}

/* A callback that wants to hear no more. */
static inline pdr_rc stop_telling(const pdr_doc_finding *finding, pdr_err *err,
                                  void *arg)
{
    (void)finding;
    ++*(int *)arg;
    return pdr_err_set(err, PDR_EBUSY, "stopped", "enough");
}

static inline void check_stop(const char *document, pdr_reader reader)
{
    char *text = quoted(document);
    pdr_reader_verdict verdict;
    pdr_err err = PDR_ERR_INIT;
    int calls = 0;

    ASSERT_RC(PDR_EBUSY,
              pdr_state_check_reader(&verdict, pdr_str_c(text), reader, &err,
                                     stop_telling, &calls));
    ASSERT_INT(1, calls);
    ASSERT_STR("stopped", err.reason);
    free(text);
}

#endif
