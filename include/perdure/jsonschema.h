/*
 * perdure/jsonschema.h - does a value match a JSON Schema?
 *
 * The part of draft 2020-12 that state documents and the parameters of tools
 * need; the format page jsonschema.md lists every keyword. A schema with a
 * keyword that is not on the list is refused when it is loaded: a rule that
 * nobody checks would look like one that holds.
 */
#ifndef PERDURE_JSONSCHEMA_H
#define PERDURE_JSONSCHEMA_H

#include <perdure/value.h>

PDR_BEGIN_DECLS

typedef struct pdr_schema pdr_schema;

/**
 * Load a schema.
 *
 * @param[out] out  owned; release with pdr_schema_free(). NULL on failure.
 * @param schema    shared; an object or a boolean.
 * @param[out] err  with the path into the schema.
 * @return PDR_OK; PDR_EINVALID with reason "unknown_keyword", "bad_schema",
 *         "bad_pattern", "no_definition" (a $ref that leads nowhere or in a
 *         circle); PDR_ENOMEM; PDR_ELIMIT.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_schema_new(pdr_schema **out,
                                             const pdr_value *schema,
                                             pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_schema_free(pdr_schema *schema);

/* One rule that a value breaks. All borrowed for the call. In pointers, lone
 * surrogates are three bytes. */
typedef struct pdr_schema_finding {
    const char *keyword;    /* static, as in "required"; what a false schema
                               refuses: the keyword that holds it, "false" if it
                               is the whole */
    pdr_str instance;       /* JSON Pointer into the value */
    pdr_str schema;         /* JSON Pointer into the schema by way of $ref, as
                               in "/items/$ref/type" */
    pdr_str text;           /* one line: what, and what to do */
    const pdr_value *value; /* what the instance pointer names; for a rule about
                               names, the name of that member */
} pdr_schema_finding;

/** Called for each finding, on the caller's thread; must not free anything that
 * is being checked. A return other than PDR_OK ends the check with that code.
 */
typedef pdr_rc (*pdr_schema_finding_fn)(const pdr_schema_finding *finding,
                                        pdr_err *err, void *arg);

/**
 * Check a value.
 *
 * @param[out] valid  does it match?
 * @param fn          borrowed with `arg` for the call; NULL: stop at the first
 *                    rule that is broken. Otherwise all are reported, those of
 *                    the branches of a failed oneOf or anyOf as one.
 * @return PDR_OK, also if it does not match; PDR_ENOMEM; PDR_ELIMIT (reason
 *         "pattern_limit", "too_deep", "check_limit"); what `fn` returned.
 * @thread const  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_schema_check(bool *valid, const pdr_schema *schema, const pdr_value *value,
                 pdr_err *err, pdr_schema_finding_fn fn, void *arg);

PDR_END_DECLS

#endif
