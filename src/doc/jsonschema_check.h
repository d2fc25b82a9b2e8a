/*
 * jsonschema_check.h - one check under way, shared by the files that do it.
 */
#ifndef PDR_DOC_JSONSCHEMA_CHECK_H
#define PDR_DOC_JSONSCHEMA_CHECK_H

#include "jsonschema.h"

struct schema_check {
    pdr_schema_finding_fn fn; /* NULL: nobody is told */
    void *arg;
    unsigned quiet; /* above 0: inside of a branch that may fail */
    struct schema_work work;
    struct pdr__searcher *searcher; /* owned; made when needed */
    pdr_buf instance, schema;       /* pointers, written for a finding */
    pdr_buf text;                   /* of a finding; texts with half a pair */
};

/* One step of the way from the root: which schema is applied to which value.
 * They form a list on the stack of the check. */
struct frame {
    const struct frame *up;    /* NULL at the root */
    const pdr_value *value;    /* that is checked */
    const char *keyword;       /* that holds the schema; static */
    const pdr_value *sub_name; /* its name in the keyword's object, or NULL */
    size_t sub_index;          /* its index in the keyword's list */
    const pdr_value *name;     /* of the member gone to, or NULL */
    size_t index;              /* of the element gone to */
    unsigned depth;
};

/* Is what is broken worth all findings, or only the first? */
static inline bool check_is_loud(const struct schema_check *check)
{
    return check->fn != NULL && check->quiet == 0;
}

/* Tell of a broken rule; `keyword` NULL: the schema itself is false. What the
 * callback returned, NO_MEMORY or a limit. */
PDR_MUST_CHECK pdr_rc pdr__check_tell(struct schema_check *check,
                                      const struct frame *frame,
                                      const char *keyword, pdr_err *err,
                                      const char *fmt, ...) PDR_PRINTF(5, 6);

/* The pointer of the frame's value goes into `err`. Returns `rc`. */
pdr_rc pdr__check_place(struct schema_check *check, const struct frame *frame,
                        pdr_rc rc, pdr_err *err);

/* Does a value keep a rule that needs no other schema? Tells if not. The value
 * has a kind that the rule speaks of. */
PDR_MUST_CHECK pdr_rc pdr__check_assertion(bool *valid,
                                           struct schema_check *check,
                                           const struct rule *rule,
                                           const struct frame *frame,
                                           pdr_err *err);
/* Is there a match in a string? */
PDR_MUST_CHECK pdr_rc pdr__check_search(bool *found, struct schema_check *check,
                                        const struct pdr__regex *regex,
                                        const pdr_value *string, pdr_err *err);

#endif
