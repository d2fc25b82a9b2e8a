/*
 * perdure/doc.h - the document in which a durable agent keeps one session.
 *
 *     {"schemaVersion":"1.1.0","data":{"conversationHistory":[ entry, ... ]}}
 *
 * .NET programs, Python programs and outside tools share it; the format page
 * state.md tells every member. It is a value like any other: the functions here
 * are a typed view of it. Reading looks members up and copies nothing. Changing
 * makes a new value that shares the rest, so what nobody knows cannot get lost,
 * and written with PDR_AS_READ every byte that was not changed is as it was.
 *
 * The reading functions take NULL for "not there" and give NULL or false back,
 * also if a member has another JSON kind than it should. A strange document is
 * read as far as it goes and never repaired in silence: the checks below say
 * what is strange.
 */
#ifndef PERDURE_DOC_H
#define PERDURE_DOC_H

#include <perdure/codec.h>
#include <perdure/content.h>

PDR_BEGIN_DECLS

/* Version of the documents that we make. */
#define PDR_STATE_VERSION "1.1.0"

/* Levels of a document, its root included, that .NET reads and writes. */
#define PDR_DOTNET_DEPTH 64

/* --- state: reading ------------------------------------------------------ */

/** A new document without entries.
 * @param[out] out  owned; NULL on failure. @return PDR_OK or PDR_ENOMEM.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_new(pdr_value **out, pdr_err *err);

/**
 * Read a document from JSON text and see whether it is one that we can work
 * with. The text `null` gives a new document: the session has no state yet.
 *
 * @param[out] out  owned; NULL on failure.
 * @param text      copied.
 * @param opts      as for pdr_json_read(); NULL means the defaults.
 * @param[out] err  with offset and path of what is wrong.
 * @return PDR_OK; PDR_EINVALID with reason "state_not_json" if the text is no
 *         JSON or its root no object, or as pdr_state_gate(); PDR_EVERSION;
 *         PDR_ELIMIT; PDR_ENOMEM; PDR_EMISUSE as pdr_json_read().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_read(pdr_value **out, pdr_str text,
                                             const pdr_read_opts *opts,
                                             pdr_err *err);

/** The version gate: can we work with this value as a state document? It stays
 * as it is, whatever comes out.
 * @param value  not NULL.
 * @return PDR_OK; PDR_EINVALID with reason "state_not_json" (no object),
 *         "schema_version_missing", "schema_version_invalid", "data_missing",
 *         "data_invalid" (neither an object nor null); PDR_EVERSION (reason
 *         "schema_version_unsupported") for another major version than 1.
 * @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_gate(const pdr_value *value,
                                             pdr_err *err);

/* Two to four numbers with points between them. */
typedef struct pdr_schema_version {
    uint32_t parts[4]; /* each below 2^31; those not written are 0 */
    unsigned count;    /* of those written: 2 to 4 */
} pdr_schema_version;

/** Read the text of a version. @return PDR_OK, or PDR_EINVALID (reason
 * "schema_version_invalid"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_schema_version_read(pdr_schema_version *out,
                                                      pdr_str text,
                                                      pdr_err *err);

/** Which is older? Below, at or above 0; parts not written count as 0.
 * @thread any @since 0.1 */
PDR_API int pdr_schema_version_compare(const pdr_schema_version *a,
                                       const pdr_schema_version *b);

/** Version of a document. Fails as pdr_state_gate() for its version.
 * @param state  not NULL. @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_version(pdr_schema_version *out,
                                                const pdr_value *state,
                                                pdr_err *err);

/** The object `data`, or NULL. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_state_data(const pdr_value *state);

/** The array of entries, or NULL: pdr_value_count() and pdr_iter_init() take
 * both. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_state_entries(const pdr_value *state);

/** When the session expires. False if it does not say, or not in a way that can
 * be read. @thread const @since 0.1 */
PDR_API bool pdr_state_expiration(pdr_datetime *out, const pdr_value *state);

/** The first response with this correlation id, compared exactly.
 * @param[out] index  its place among the entries; may be NULL.
 * @return borrowed from `state`, or NULL. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_state_find_response(size_t *index,
                                                 const pdr_value *state,
                                                 pdr_str correlation_id);

/* --- entries: reading ---------------------------------------------------- */

typedef enum pdr_entry_kind {
    PDR_ENTRY_OTHER = 0, /* kept, never sent to a model */
    PDR_ENTRY_REQUEST = 1,
    PDR_ENTRY_RESPONSE = 2
} pdr_entry_kind;

/** What an entry is, by its "$type" wherever that stands; where that is absent,
 * null or empty, by the "json_type" of older Python documents.
 * @thread const @since 0.1 */
PDR_API pdr_entry_kind pdr_entry_kind_of(const pdr_value *entry);

/** Members of every entry: correlation id (a string), messages (an array).
 * Borrowed from `entry`, or NULL. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_entry_correlation_id(const pdr_value *entry);
PDR_API const pdr_value *pdr_entry_messages(const pdr_value *entry);

/** When it was made. False if it does not say, or not in a way that can be
 * read. @thread const @since 0.1 */
PDR_API bool pdr_entry_created_at(pdr_datetime *out, const pdr_value *entry);

/** Members of requests: orchestration id, response type (strings), response
 * schema (an object). Borrowed from `entry`, or NULL: also if it is no request.
 * @thread const @since 0.1 */
PDR_API const pdr_value *pdr_entry_orchestration_id(const pdr_value *entry);
PDR_API const pdr_value *pdr_entry_response_type(const pdr_value *entry);
PDR_API const pdr_value *pdr_entry_response_schema(const pdr_value *entry);

/** Usage of a response, an object. Borrowed from `entry`, or NULL: also if it
 * is no response. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_entry_usage(const pdr_value *entry);

/** Does this response say that the run failed? It says so in "isError", or has
 * contents and all of them are errors. @thread const @since 0.1 */
PDR_API bool pdr_entry_is_error(const pdr_value *entry);

/* --- usage --------------------------------------------------------------- */

/** One count of a usage object by its .NET name, as in "inputTokenCount" or
 * "cachedInputTokenCount". Counts that Python keeps in "extensionData", or that
 * .NET keeps in "additionalCounts", are found too. False if it is absent or no
 * integer of 64 bits. @thread const @since 0.1 */
PDR_API bool pdr_usage_count(int64_t *out, const pdr_value *usage,
                             pdr_str name);

/** Called for each count, known ones by their .NET name, others as they are
 * spelled. A return other than PDR_OK ends it with that code. */
typedef pdr_rc (*pdr_usage_fn)(pdr_str name, int64_t count, pdr_err *err,
                               void *arg);

/** Every count of a usage object, nested ones too, in document order. Of
 * several members with one name the last counts.
 * @return PDR_OK, PDR_ENOMEM, or what `fn` returned.
 * @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_usage_each(const pdr_value *usage,
                                             pdr_err *err, pdr_usage_fn fn,
                                             void *arg);

/* --- making entries ------------------------------------------------------ */

/* An entry that is to be made. All borrowed for the call; what is empty or NULL
 * is left out. */
typedef struct pdr_entry_parts {
    pdr_entry_kind kind;              /* request or response */
    pdr_str correlation_id;           /* must be there; 1 to 1,024 bytes */
    int64_t created_at;               /* ticks, see datetime.h; must be
                                         there, that is, not 0 */
    const pdr_value *messages;        /* an array of messages in the state
                                         shape; NULL: an empty one */
    pdr_str orchestration_id;         /* request */
    pdr_str response_type;            /* request: "text" or "json" */
    const pdr_value *response_schema; /* request: a JSON Schema */
    const pdr_value *usage;           /* response: an object of counts */
    bool is_error;                    /* response */
} pdr_entry_parts;

/**
 * Make an entry as the strictest reader needs it: "$type" first, members in
 * .NET's order, no nulls.
 *
 * @param[out] out  owned; NULL on failure.
 * @return PDR_OK; PDR_EINVALID with reason "field_missing", "no_such_kind" for
 *         another kind of entry or response type, "datetime_range" for a time
 *         that is none, "bad_id" for a correlation id that is too long,
 *         "wrong_kind" for a part of another JSON kind, "no_such_field" for a
 *         part that its kind of entry does not have, "bad_utf8"; PDR_ENOMEM;
 *         PDR_ELIMIT.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_entry_new(pdr_value **out,
                                            const pdr_entry_parts *parts,
                                            pdr_err *err);

/* --- state: changing ----------------------------------------------------- */
/*
 * All: `io` holds an owned document that pdr_state_gate() lets pass, else they
 * fail as that does. On failure it is as it was. Nothing else in the document
 * changes. PDR_ENOMEM and PDR_ELIMIT as for the changing calls of value.h.
 */

/** Add an entry at the end. Makes the list if it is absent or null. A request
 * with an orchestration id raises an older version to 1.1.0; a version is never
 * lowered. Costs the same however long the history is.
 * @param entry  shared; an object.
 * @return also PDR_EINVALID (reason "wrong_kind") if the entry is no object or
 *         what stands in the place of the list is none; PDR_ELIMIT (reason
 *         "too_deep") if the document would have more than 128 levels.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_append(pdr_value **io,
                                               const pdr_value *entry,
                                               pdr_err *err);

/** Set when the session expires, in UTC, spelled with Z. @param ticks see
 * datetime.h; out of range is PDR_EINVALID (reason "datetime_range").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_set_expiration(pdr_value **io,
                                                       int64_t ticks,
                                                       pdr_err *err);

/** It does not expire any more: remove the member. Fine if there is none.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_clear_expiration(pdr_value **io,
                                                         pdr_err *err);

/** Remove `count` entries from `first` on, as retention and reset do. Other
 * members of `data` stay. @return also PDR_ENOTFOUND (reason "no_element") if
 * there are not so many. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_remove_entries(pdr_value **io,
                                                       size_t first,
                                                       size_t count,
                                                       pdr_err *err);

/* --- findings ------------------------------------------------------------ */

typedef enum pdr_severity {
    PDR_SEVERITY_INFO = 1,    /* worth knowing */
    PDR_SEVERITY_WARNING = 2, /* something gets lost, or reads differently */
    PDR_SEVERITY_ERROR = 3 /* it cannot be read, no run will succeed, or a run
                              does damage */
} pdr_severity;

/** "info", "warning", "error"; "?" for what is none. @thread any @since 0.1 */
PDR_API const char *pdr_severity_name(pdr_severity severity);

/* Something about a document: what a check found, or what a migration or a
 * repair changed. All borrowed for the call. */
typedef struct pdr_doc_finding {
    const char *rule; /* stable name, static, as in "call-without-result" */
    pdr_severity severity; /* INFO for a change */
    pdr_str pointer;       /* JSON Pointer; "" is the whole */
    pdr_str text;          /* one line: what it is, and what to do */
} pdr_doc_finding;

/** Called for each finding in document order, on the caller's thread; must not
 * free the document. A return other than PDR_OK ends it with that code. */
typedef pdr_rc (*pdr_doc_finding_fn)(const pdr_doc_finding *finding,
                                     pdr_err *err, void *arg);

/* --- checks -------------------------------------------------------------- */
/* All: `fn` may be NULL, then nobody is told. */

/* The two schema files, see state.md. */
typedef enum pdr_state_schema {
    PDR_STATE_TOLERANT = 0, /* what we read */
    PDR_STATE_STRICT = 1    /* what we make */
} pdr_state_schema;

/** The text of a schema file. Static. @thread any @since 0.1 */
PDR_API pdr_str pdr_state_schema_text(pdr_state_schema which);

/** Structure: does the value match a schema file? Rules are "schema-" and the
 * keyword, all of them errors.
 * @return PDR_OK, also if there are findings; PDR_ENOMEM; PDR_ELIMIT; what `fn`
 *         returned. @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_check_structure(const pdr_value *value,
                                                        pdr_state_schema which,
                                                        pdr_err *err,
                                                        pdr_doc_finding_fn fn,
                                                        void *arg);

/** Meaning: calls and their results, responses and their requests, the order
 * of dates, correlation ids that occur twice, parts that nobody knows,
 * duplicate names. The value need not pass the gate.
 * @return as pdr_state_check_structure(). @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_state_check_meaning(const pdr_value *value,
                                                      pdr_err *err,
                                                      pdr_doc_finding_fn fn,
                                                      void *arg);

/* Who reads it, beside us. Packages and versions are in readers.md. */
typedef enum pdr_reader {
    PDR_READER_ANY = 0,
    PDR_READER_DOTNET = 1,
    PDR_READER_PYTHON = 2
} pdr_reader;

typedef struct pdr_reader_verdict {
    bool loads; /* the program can read the document */
    bool runs;  /* a run of the session does not fail because of it */
} pdr_reader_verdict;

/** Compatibility: what will another program do with this text, as it is, also
 * if we would refuse it or it is no JSON? Rules and effects are in readers.md.
 * @param reader  not PDR_READER_ANY.
 * @return as pdr_state_check_structure(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_state_check_reader(pdr_reader_verdict *out, pdr_str text, pdr_reader reader,
                       pdr_err *err, pdr_doc_finding_fn fn, void *arg);

/* --- migration and repair ------------------------------------------------ */

/**
 * Bring a document to another version, in steps, each of which is reported. No
 * other function does so.
 *
 * @param[out] out  owned; NULL on failure. NULL instead of an address: a dry
 *                  run, which reports and fails alike.
 * @param state     shared; not NULL.
 * @param to        "1.0.0" or "1.1.0"; only the numbers count.
 * @param force     leave out what the version has no place for; otherwise that
 *                  is refused, with the path of the first one.
 * @param fn        borrowed with `arg` for the call; NULL: no report.
 * @return PDR_OK, also if it has that version; PDR_EINVALID (reason
 *         "cannot_carry", or "schema_version_invalid" for `to`); PDR_EVERSION
 *         (reason "no_migration") if there is no way from or to that version;
 *         as pdr_state_gate(); PDR_ENOMEM; PDR_ELIMIT; what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_state_migrate(pdr_value **out, const pdr_value *state, pdr_str to,
                  bool force, pdr_err *err, pdr_doc_finding_fn fn, void *arg);

/**
 * Make a document that can be worked with again: tool calls without a result
 * get one that says so, results without a call move into a member
 * "orphanResults" of their message, a request without a response gets one that
 * says that the run did not finish. For another reader, also everything that it
 * needs and that does not change what the document says; what would change it
 * is refused, with the path. A second repair finds nothing to do.
 *
 * @param[out] out  owned; NULL on failure. NULL instead of an address: a dry
 *                  run.
 * @param state     shared; not NULL.
 * @param reader    for whom, beside us.
 * @param now       ticks; the time of what is added, or that of its request
 *                  if that is later.
 * @param fn        gets every change, once it is sure that nothing is refused,
 *                  in the order of the entries; NULL: no report. The pointer of
 *                  a rule that ends in "-added" is one of the result, any other
 *                  one of `state`.
 * @return PDR_OK, also if nothing had to be changed; PDR_EINVALID (reason
 *         "cannot_repair"; "datetime_range" for `now`); as pdr_state_gate();
 *         PDR_ENOMEM; PDR_ELIMIT, also if the result would have more than 128
 *         levels; what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_state_repair(pdr_value **out, const pdr_value *state, pdr_reader reader,
                 int64_t now, pdr_err *err, pdr_doc_finding_fn fn, void *arg);

PDR_END_DECLS

#endif
