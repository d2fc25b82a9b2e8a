/*
 * perdure/jsonschema.h - does a value match a JSON Schema?
 *
 * The part of draft 2020-12 that state documents and the parameters of tools
 * need; the format page jsonschema.md lists every keyword. A schema with a
 * keyword that is not on the list is refused when it is loaded: a rule that
 * nobody checks would look like one that holds.
 *
 * Other programs write schemas for other drafts and with keywords of their own.
 * A lenient load takes these and reports what it does not check. Load our own
 * files strictly, and the parameters of tools leniently.
 */
#ifndef PERDURE_JSONSCHEMA_H
#define PERDURE_JSONSCHEMA_H

#include <perdure/value.h>

PDR_BEGIN_DECLS

typedef struct pdr_schema pdr_schema;

/* --- loading ------------------------------------------------------------- */

typedef enum pdr_schema_note_kind {
    PDR_SCHEMA_NOTE_ANNOTATION, /* no effect: it is not a rule */
    PDR_SCHEMA_NOTE_UNCHECKED,  /* a rule that is not checked */
    PDR_SCHEMA_NOTE_REREAD      /* read as something else: "definitions" as
                                   "$defs", an older "$schema" as 2020-12 */
} pdr_schema_note_kind;

/* Something that a lenient load took and a strict one refuses. All borrowed for
 * the call. Keyword and pointer are foreign text; lone surrogates are three
 * bytes. */
typedef struct pdr_schema_note {
    pdr_schema_note_kind kind;
    pdr_str keyword;
    pdr_str pointer; /* JSON Pointer into the schema, to the keyword */
    pdr_str text;    /* one line: what becomes of it, and what to do */
} pdr_schema_note;

/** Called for each note, in document order, on the caller's thread, while the
 * schema is being loaded; the load can still fail afterwards. A return other
 * than PDR_OK ends it with that code. */
typedef pdr_rc (*pdr_schema_note_fn)(const pdr_schema_note *note, pdr_err *err,
                                     void *arg);

/* How to load. Zero everywhere: strictly. */
typedef struct pdr_schema_options {
    bool lenient;            /* for schemas of other programs, such as the
                                parameters of tools: read any schema as draft
                                2020-12, take unknown keywords, `definitions`
                                and `nullable` */
    pdr_schema_note_fn note; /* NULL: no report; a strict load has none */
    void *note_arg;          /* handed to `note` */
} pdr_schema_options;

/**
 * Load a schema. A lenient load still refuses what it cannot check correctly: a
 * value that a checked keyword cannot have, a bad pattern, a repeated name, a
 * $ref that leads nowhere or out of the document. A schema loads strictly if
 * and only if it loads leniently without a note, and then both check the same.
 *
 * @param[out] out  owned; release with pdr_schema_free(). NULL on failure.
 * @param schema    shared; an object or a boolean.
 * @param options   borrowed for the call; NULL: strictly.
 * @param[out] err  with the path into the schema.
 * @return PDR_OK; PDR_EINVALID with reason "unknown_keyword", "bad_schema",
 *         "bad_pattern", "no_definition" (a $ref that leads nowhere or in a
 *         circle); PDR_ENOMEM; PDR_ELIMIT; what `note` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_schema_new(pdr_schema **out,
                                             const pdr_value *schema,
                                             const pdr_schema_options *options,
                                             pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_schema_free(pdr_schema *schema);

/* --- checking ------------------------------------------------------------ */

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
