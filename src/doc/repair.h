/*
 * repair.h - what the files of the repair share. See repair.c.
 */
#ifndef PDR_DOC_REPAIR_H
#define PDR_DOC_REPAIR_H

#include "meaning.h"

/* --- what was changed (repair_told.c) ------------------------------------ */

/* One row per kind of change: name, its stable name, what happened to the
 * place, and the text. The table of findings.md is checked against this one.
 *
 * CHANGED, REMOVED: the pointer is one of the document before.
 * ADDED: the pointer is one of the document after; the name ends in "-added".
 */
/* clang-format off */
#define PDR_REPAIR_MAP(X)                                                      \
    X(MESSAGE_ADDED, "tool-message-added", ADDED,                              \
      "a tool message answers the calls before it that had no result")         \
    X(RESPONSE_ADDED, "response-added", ADDED,                                 \
      "a response says that the run of this request did not finish")           \
    X(RESULT_MOVED, "result-moved", REMOVED,                                   \
      "the result stood before its call; it now stands behind it")             \
    X(RESULT_REMOVED, "result-removed", REMOVED,                               \
      "no call waits for this result; its message keeps it in orphanResults")  \
    X(ORPHANS_ADDED, "orphan-results-added", ADDED,                            \
      "results that no call waits for are kept here")                          \
    X(ORPHANS_CHANGED, "orphan-results-extended", CHANGED,                     \
      "more results that no call waits for are kept here")                     \
    X(NULL_REMOVED, "null-removed", REMOVED,                                   \
      "a null in the list said nothing, and no run would succeed with it")     \
    X(DATA_FILLED, "data-filled", CHANGED,                                     \
      "the data was null; it is now an empty conversation")                    \
    X(LIST_FILLED, "list-filled", CHANGED, "the list was null; it is now empty") \
    X(LIST_ADDED, "list-added", ADDED,                                         \
      "the list was missing; it is now there, and empty")                      \
    X(MEMBER_FILLED, "member-filled", CHANGED,                                 \
      "the member was null; it now has the value that null is read as")        \
    X(MEMBER_ADDED, "member-added", ADDED,                                     \
      "the reader needs this member; it says what its absence said")           \
    X(TYPE_FIRST, "type-first", CHANGED,                                       \
      "$type now stands first, and once; the other members keep their order")  \
    X(TYPE_FILLED, "type-filled", CHANGED,                                     \
      "json_type said what this is; $type now says so too, and stands first")  \
    X(DATE, "date-respelled", CHANGED,                                         \
      "the same instant, spelled as the reader needs it")                      \
    X(COUNTS, "count-respelled", CHANGED,                                       \
      "the same number, spelled as a plain integer")                           \
    X(ARGUMENTS, "arguments-as-text", CHANGED,                                 \
      "the reader takes an object only; argumentsText has what stood here")    \
    X(DETAILS, "details-as-text", CHANGED,                                     \
      "the reader takes a text only; detailsJson has what stood here")         \
    X(KEPT_ADDED, "kept-value-added", ADDED,                                   \
      "what stood in another member of this content is kept here")             \
    X(WRAPPED, "content-wrapped", CHANGED,                                     \
      "the reader does not know this content; it is now inside an unknown one")
/* clang-format on */

enum repair_rule {
#define PDR_REPAIR_ENUM(id, name, effect, text) REPAIR_##id,
    PDR_REPAIR_MAP(PDR_REPAIR_ENUM)
#undef PDR_REPAIR_ENUM
        REPAIR_COUNT
};

enum repair_effect { REPAIR_IS_ADDED, REPAIR_IS_REMOVED, REPAIR_IS_CHANGED };

/* A part of the document: an entry, or a message in it, or a content in that;
 * PDR_NONE for the levels that it does not have. */
struct place {
    size_t entry, message, content;
};

/* One change. Its pointer, and what is to be said beside the text of the rule,
 * are parts of the text of all pointers. */
struct told {
    enum repair_rule rule;
    struct place at;
    bool is_part; /* the place itself, not a member of it */
    size_t pointer, len;
    size_t detail_len; /* right behind the pointer */
};

/* A result that stands elsewhere than before, or was made for a call. */
struct moved {
    struct place after;  /* in the contents of its message, or if it is */
    bool is_orphan;      /* set aside, in the results that are kept there */
    struct place before; /* of the result, or if it was made, of its call */
    bool is_made;
};

struct told_list {
    struct told *items; /* owned */
    size_t count, cap;
    struct moved *moved; /* owned */
    size_t moved_count, moved_cap;
    pdr_buf pointers;
};

/* clang-format off */
#define PDR_TOLD_INIT \
    {NULL, 0, 0, NULL, 0, 0, PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)}
/* clang-format on */

/* Is the pointer of such a change one of the document after? */
bool pdr__told_is_added(enum repair_rule rule);
/* Note a change of the place, or of what lies below it: one or two names with
 * "/" before each, or "". */
PDR_MUST_CHECK pdr_rc pdr__told_add(struct told_list *list,
                                    enum repair_rule rule, struct place at,
                                    const char *below, pdr_err *err);
/* Say more about the change that was noted last: one text, cut to be shown;
 * NULL for none. `before` is ours and comes first. */
PDR_MUST_CHECK pdr_rc pdr__told_detail(struct told_list *list,
                                       const char *before,
                                       const pdr_value *text, pdr_err *err);
/* Remember where a result was. Nobody is told: that is a change of its own. */
PDR_MUST_CHECK pdr_rc pdr__told_move(struct told_list *list, struct moved moved,
                                     pdr_err *err);
/* Tell of all of them. */
PDR_MUST_CHECK pdr_rc pdr__told_report(const struct told_list *list,
                                       pdr_err *err, pdr_doc_finding_fn fn,
                                       void *arg);
/* Append the pointer that a part of the document after had before; of what was
 * added, that of what it was added for. */
PDR_MUST_CHECK pdr_rc pdr__told_pointer_before(pdr_buf *out,
                                               const struct told_list *list,
                                               pdr_str after, pdr_err *err);
void pdr__told_dispose(struct told_list *list);

/* --- a repair ------------------------------------------------------------ */

struct repair {
    pdr_reader reader;
    const struct fixes *fixes; /* of that reader; NULL for none */
    pdr_str now;               /* the time of what is added */
    int64_t now_ticks;         /* the same */
    struct tools tools;
    struct turns turns;
    size_t tool; /* the next call or result of the walk */
    struct told_list told;
    struct place before, after; /* where the walk is, in both documents */
    size_t aside; /* the index that the next result gets that is set aside */
    pdr_err *err;
};

/* What a reader needs. Each gets a handle of its own and changes it where that
 * does not change what it says; NULL slots need nothing. */
struct fixes {
    pdr_rc (*data)(struct repair *, pdr_value **data);
    pdr_rc (*entry)(struct repair *, pdr_value **entry);
    pdr_rc (*message)(struct repair *, pdr_value **message);
    pdr_rc (*content)(struct repair *, pdr_value **content);
    bool no_nulls; /* a null in a list makes runs fail */
};

extern const struct fixes pdr__fixes_dotnet, pdr__fixes_python;

/* --- fixes for more than one reader (repair_fix.c) ----------------------- */

/* Note a change of member `name` of the place that the walk is at. */
PDR_MUST_CHECK pdr_rc pdr__fix_tell(struct repair *r, enum repair_rule rule,
                                    const char *name);
/* A list that is null (or, if `also_absent`, not there) becomes empty. */
PDR_MUST_CHECK pdr_rc pdr__fix_list(struct repair *r, pdr_value **object,
                                    const char *name, bool also_absent);
/* A member that is null or absent gets a value. */
PDR_MUST_CHECK pdr_rc pdr__fix_member(struct repair *r, pdr_value **object,
                                      const char *name, const pdr_value *value);
/* Wrap a content that the reader does not know, or whose inner item it cannot
 * take. If no form does, it stays as it is. */
PDR_MUST_CHECK pdr_rc pdr__fix_unknown(struct repair *r, pdr_value **content);
/* The date in member `name`, if it can be read, spelled in this form. */
PDR_MUST_CHECK pdr_rc pdr__fix_date(struct repair *r, pdr_value **object,
                                    const char *name, pdr_datetime_form form);

#endif
