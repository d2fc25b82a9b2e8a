/*
 * meaning.h - what belongs together in a conversation, for the check of it and
 * for its repair.
 */
#ifndef PDR_DOC_MEANING_H
#define PDR_DOC_MEANING_H

#include "doc.h"

/* --- calls and results (pairs.c) ----------------------------------------- */

enum tool_fate {
    TOOL_PAIRED, /* a call with its result behind it; that result */
    TOOL_ALONE,  /* a call without a result; a result without a call */
    TOOL_WAITS,  /* a call without a result: somebody has to approve it */
    TOOL_EARLY,  /* a result that stands before its call; that call */
    TOOL_AGAIN   /* a result of a call that has one already */
};

/* One call or one result of the entries that a model gets to see. */
struct tool_item {
    const pdr_value *content;     /* borrowed from the document */
    size_t entry, message, index; /* its place */
    size_t partner;               /* the item it belongs to, or PDR_NONE */
    size_t next;                  /* call: the next open one of this id */
    enum tool_fate fate;
    bool is_call;
    bool has_id;    /* a text that is not empty */
    bool is_reused; /* call: its entry has an earlier call with this id */
};

struct tools {
    struct tool_item *items; /* owned; in document order */
    size_t count, cap;
};

/* clang-format off */
#define PDR_TOOLS_INIT {NULL, 0, 0}
/* clang-format on */

/* Find out which result belongs to which call. Linear in the document. */
PDR_MUST_CHECK pdr_rc pdr__tools_pair(struct tools *out, const pdr_value *state,
                                      pdr_err *err);
void pdr__tools_dispose(struct tools *tools);

/* --- requests and responses (turns.c) ------------------------------------ */

/* All entries with one correlation id. */
struct turn {
    size_t requests, responses;           /* how many */
    size_t first_request, first_response; /* their places, or PDR_NONE */
    size_t last_request;
    bool may_be_answered; /* behind a request of it stands a response without
                             an id */
};

/* One entry of the list, whatever it is. */
struct turn_entry {
    pdr_entry_kind kind;
    size_t turn;   /* index of its turn; PDR_NONE without an id */
    bool has_time; /* `ticks` says when it was made */
    int64_t ticks;
};

struct turns {
    struct turn_entry *entries; /* owned; one per element of the list */
    struct turn *turns;         /* owned */
    size_t entry_count, turn_count;
    size_t last;    /* the last request or response, or PDR_NONE */
    bool has_time;  /* `latest` is the latest time of an entry */
    int64_t latest; /* ticks */
};

/* clang-format off */
#define PDR_TURNS_INIT {NULL, NULL, 0, 0, PDR_NONE, false, 0}
/* clang-format on */

/* Find out which response belongs to which request. Linear. */
PDR_MUST_CHECK pdr_rc pdr__turns_index(struct turns *out,
                                       const pdr_value *state, pdr_err *err);
void pdr__turns_dispose(struct turns *turns);
/* Is entry `index` a request that nobody has answered? A response without an id
 * right behind it may be its answer. */
bool pdr__turns_is_unanswered(const struct turns *turns, size_t index);

/* --- rules (meaning.c) --------------------------------------------------- */

/* One row per rule: name, its stable name, severity, what to do. The table of
 * findings.md is checked against this one. */
/* clang-format off */
#define PDR_MEANING_MAP(X)                                                     \
    X(ROOT, "root-not-object", ERROR,                                          \
      "see whether it is a session or another document")                       \
    X(VERSION_MISSING, "version-missing", ERROR,                               \
      "add it if you know which one it is")                                    \
    X(VERSION_INVALID, "version-invalid", ERROR,                               \
      "set it to the version that the document has, such as \"1.1.0\"")        \
    X(VERSION_MAJOR, "version-unsupported", ERROR,                             \
      "read it with a program of that version")                                \
    X(VERSION_NEWER, "version-newer", INFO,                                    \
      "what is new in it is kept")                                             \
    X(DATA_MISSING, "data-missing", ERROR,                                     \
      "find the conversation, or begin a new document")                        \
    X(DATA_INVALID, "data-invalid", ERROR,                                     \
      "find the conversation, or begin a new document")                        \
    X(DATA_NULL, "data-null", INFO, "it is read as an empty conversation")     \
    X(LIST_MISSING, "list-missing", INFO, "it is read as empty")               \
    X(LIST_NULL, "list-null", INFO, "it is read as empty")                     \
    X(LIST_INVALID, "list-invalid", WARNING,                                   \
      "it is kept and read as empty; see what should stand there")             \
    X(NOT_OBJECT, "element-not-object", WARNING,                               \
      "it is kept and skipped; see what should stand there")                   \
    X(ENTRY_KIND, "entry-kind-unknown", INFO,                                  \
      "it is kept and never sent to a model")                                  \
    X(CONTENT_KIND, "content-kind-unknown", INFO,                              \
      "it is kept and not sent to a model")                                    \
    X(TYPE, "type-not-text", WARNING,                                          \
      "nobody can tell what this is; set the kind that it has")                \
    X(ID_MISSING, "correlation-id-missing", WARNING,                           \
      "nobody can find the turn; set the id of its request or response")       \
    X(ID_TWICE, "correlation-id-twice", WARNING,                               \
      "readers take the first response; see whether a request ran twice")      \
    X(RESPONSE_ALONE, "response-without-request", WARNING,                     \
      "see whether its request was removed")                                   \
    X(REQUEST_ALONE, "request-without-response", WARNING,                      \
      "let the run go on, or repair the document")                             \
    X(RESPONSE_FIRST, "response-before-request", WARNING,                      \
      "see who put the entries into this order")                               \
    X(DATE_MISSING, "date-missing", WARNING, "add it if you know it")          \
    X(DATE_INVALID, "date-unreadable", WARNING,                                \
      "write it as in 2026-02-03T08:15:00+00:00")                              \
    X(RESPONSE_EARLIER, "response-earlier-than-request", WARNING,              \
      "see whether the clocks of its writers agree")                           \
    X(OUT_OF_ORDER, "entries-out-of-order", INFO,                              \
      "the order of the list counts, not the times")                           \
    X(STAMP_OUTSIDE, "message-time-outside", INFO,                             \
      "the order of the list counts, not the times")                           \
    X(EXPIRY_INVALID, "expiration-unreadable", WARNING,                        \
      "the session does not expire; write it as in 2026-02-03T08:15:00Z")      \
    X(EXPIRY_NOT_UTC, "expiration-without-z", WARNING,                         \
      "some readers take it for local time; write it in UTC with Z")           \
    X(EXPIRY_PAST, "expiration-past", INFO,                                    \
      "the session is going to be deleted at the next check")                  \
    X(ERROR_RESPONSE, "error-response", INFO,                                  \
      "it is kept and not sent to a model")                                    \
    X(ROLE_MISSING, "role-missing", WARNING,                                   \
      "nobody can tell who spoke; set the role")                               \
    X(CALL_ALONE, "call-without-result", ERROR,                                \
      "a model refuses the conversation; repair the document")                 \
    X(CALL_WAITS, "call-waits-for-approval", INFO,                             \
      "answer the approval request; it is no damage")                          \
    X(CALL_ID_MISSING, "call-id-missing", WARNING,                             \
      "calls and results are matched by order; set the id")                    \
    X(CALL_ID_TWICE, "call-id-twice", WARNING,                                 \
      "calls and results are matched by order; use each id once")              \
    X(RESULT_ALONE, "result-without-call", ERROR,                              \
      "a model refuses the conversation; repair the document")                 \
    X(RESULT_EARLY, "result-before-call", ERROR,                               \
      "a model refuses the conversation; repair the document")                 \
    X(RESULT_AGAIN, "result-twice", ERROR,                                     \
      "a model refuses the conversation; repair the document")                 \
    X(USAGE_INVALID, "usage-not-object", WARNING,                              \
      "the usage is not counted; see what should stand there")                 \
    X(COUNT_INVALID, "count-not-integer", WARNING,                             \
      "it is not counted; write a plain integer of 64 bits")                   \
    X(COUNT_NEGATIVE, "count-negative", INFO, "it is counted as it is")        \
    X(COUNT_SUM, "counts-do-not-add-up", INFO, "each is counted as it is")     \
    X(DATA_URI, "data-uri-invalid", WARNING,                                   \
      "its data cannot be sent to a model; see who wrote it")                  \
    X(RESERVED, "reserved-name", INFO,                                         \
      "later versions use this name; it is kept and means nothing here")       \
    X(DUPLICATE, "duplicate-name", WARNING,                                    \
      "all are kept, the last one counts; other programs drop the others")     \
    X(LONE, "lone-surrogate", WARNING,                                         \
      "half a surrogate pair has no UTF-8 form; some programs refuse it")
/* clang-format on */

enum meaning_rule {
#define PDR_MEANING_ENUM(id, name, severity, advice) MEANING_##id,
    PDR_MEANING_MAP(PDR_MEANING_ENUM)
#undef PDR_MEANING_ENUM
        MEANING_COUNT
};

#endif
