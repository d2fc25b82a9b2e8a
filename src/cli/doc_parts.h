/*
 * doc_parts.h - what the verbs of `perdure doc` share.
 */
#ifndef PDR_CLI_DOC_PARTS_H
#define PDR_CLI_DOC_PARTS_H

#include "cli.h"

extern const struct cli_command cli_cmd_doc_check, cli_cmd_doc_show,
    cli_cmd_doc_stats, cli_cmd_doc_diff, cli_cmd_doc_migrate,
    cli_cmd_doc_repair;

/* --- reading (doc.c) ----------------------------------------------------- */

/* How to read: the same rows on every verb. */
struct doc_reading {
    struct cli_limits limits;
    uint64_t from; /* place in cli_form_words(), or CLI_NO_FORM */
    char from_help[CLI_LIST_MAX];
};

#define DOC_READ_ROWS(how) \
    CLI_FROM(&(how)->from, (how)->from_help), CLI_READ_ROWS(&(how)->limits)

/* Fill what the rows need; before they are used. */
void doc_reading_init(struct doc_reading *how);

/* A file with a state document. */
struct doc {
    const char *name; /* to show */
    pdr_buf text;     /* the bytes of the file */
    struct cli_form form;
    pdr_value *value; /* owned */
};

#define DOC_INIT                       \
    {                                  \
        .text = PDR_BUF_INIT(SIZE_MAX) \
    }

/* Read a file; whether it is a state document is not asked. */
pdr_rc doc_read(struct doc *d, const struct cli *cli, const char *path,
                const struct doc_reading *how, pdr_err *err);

/* Read a file that has to be a state document. Reports a failure and gives its
 * exit status, else 0. */
int doc_load(struct doc *d, const struct cli *cli, const char *path,
             const struct doc_reading *how);

/* Report that a document could not be read or is none; gives the status. */
int doc_fail(const struct doc *d, const struct cli *cli, const pdr_err *err);

/* What to do about a document that the gate refused; "" if there is nothing to
 * add. Static. */
const char *doc_hint(const pdr_value *value, const pdr_err *err);

void doc_free(struct doc *d);

/* How many errors the checks find in a document. */
struct doc_errors {
    size_t ours;    /* by the tolerant schema and by what it says */
    size_t readers; /* for another program; 0 if none was asked about */
};
struct doc_errors doc_errors_of(const pdr_value *value, pdr_reader reader);

/* Fewer options, or a file of another kind: what a verb cannot do. */
int doc_usage(struct cli *cli, const char *what, const char *why,
              const char *hint);

/* --- parts of a document (doc.c) ----------------------------------------- */

/* The text of a string; of one without a UTF-8 form, what stands between its
 * quotes; of anything else, none. Borrowed from `value` or `scratch`. */
pdr_str doc_text(const pdr_value *value, pdr_buf *scratch);

/* A value as compact JSON. Borrowed from `scratch`. */
pdr_str doc_json(const pdr_value *value, pdr_buf *scratch);
/* The same with spaces behind commas and colons, for people. */
pdr_str doc_json_spaced(const pdr_value *value, pdr_buf *scratch);

/* "in" for "inputTokenCount", and so on; other names as they are. */
pdr_str doc_count_name(pdr_str name);

/* Bytes of a value as it stands in the document. */
uint64_t doc_bytes(const pdr_value *value);

/* "2026-05-06 07:14:02", in UTC. `out` has 32 bytes. */
const char *doc_time(char *out, const pdr_datetime *when);

/* "$type" of an entry or a content, or of the foreign item that it wraps; NULL
 * if it has none. */
const pdr_value *doc_type(const pdr_value *part);

/* The results of a message that a repair set aside; NULL if there are none. */
const pdr_value *doc_set_aside(const pdr_value *message);

/* What a content is for a reader. */
enum doc_part {
    DOC_PART_UNKNOWN, /* nobody knows it, or there is nothing to tell */
    DOC_PART_TEXT,    /* also reasoning */
    DOC_PART_DATA,    /* also uri */
    DOC_PART_ERROR,
    DOC_PART_CALL, /* of a tool, whoever ran it */
    DOC_PART_RESULT,
    DOC_PART_REFERENCE, /* to a file or a vector store of the provider */
    DOC_PART_USAGE,
    DOC_PART_APPROVAL /* asked for, or answered */
};

/* A content, out of the "unknown" that wraps it. */
struct doc_content {
    const pdr_value *value; /* borrowed */
    pdr_shape shape;
    pdr_content_kind kind;
    enum doc_part part;
};
struct doc_content doc_content_of(const pdr_value *content);
/* A content that stands in another one. */
struct doc_content doc_content_in(const pdr_value *content, pdr_shape shape);

/* A member of a content; NULL if it has none. */
static inline const pdr_value *doc_field(const struct doc_content *content,
                                         pdr_field field)
{
    return pdr_content_get(content->value, content->shape, field);
}

/* Arguments of any call, and what came of it: as text that can be read.
 * Borrowed from the content or from `scratch`; empty if there are none. */
pdr_str doc_arguments(const struct doc_content *call, pdr_buf *scratch);
pdr_str doc_result(const struct doc_content *result, pdr_buf *scratch);
/* The value that came of it; NULL if there is none. */
const pdr_value *doc_result_value(const struct doc_content *result);

/* Is it an approval that is asked for, not one that was given or refused? */
bool doc_is_asking(const struct doc_content *content);

/* Bytes that a data URI holds; false if `uri` is none. */
bool doc_data_bytes(uint64_t *out, pdr_str uri);

/* --- keys (doc_turns.c) -------------------------------------------------- */

/* Things with a text to find them by. All are added, then sorted, then found;
 * n log n, whatever the texts are. */
struct doc_key {
    pdr_str text;
    size_t order; /* what the caller gave, such as an index */
    size_t taken; /* in the first of several with one text: how many of them
                     doc_keys_take() gave */
};

struct doc_keys {
    struct doc_key *items;
    size_t count, cap;
    pdr_buf texts; /* of all; `text` is its bytes only once they are sorted */
};

#define DOC_KEYS_INIT                   \
    {                                   \
        .texts = PDR_BUF_INIT(SIZE_MAX) \
    }

void doc_keys_add(struct doc_keys *keys, pdr_str text, size_t order);
/* By text, then by order. */
void doc_keys_sort(struct doc_keys *keys);
/* First key with this text, or NULL; others with the same text follow. */
struct doc_key *doc_keys_find(const struct doc_keys *keys, pdr_str text);
/* Another key with this text each time, in order; NULL when all were given. */
struct doc_key *doc_keys_take(const struct doc_keys *keys, pdr_str text);
void doc_keys_free(struct doc_keys *keys);

/* --- turns (doc_turns.c) ------------------------------------------------- */

#define DOC_NONE SIZE_MAX

/* A request with its responses, or an entry that is part of no turn. */
struct doc_turn {
    size_t number; /* from 1; 0 if it is no turn but an entry of another kind */
    size_t first;  /* index of its first entry */
    bool has_request, has_response;
    bool is_error; /* its last response says that the run failed */
};

struct doc_turns {
    struct doc_turn *items; /* in the order of their first entries */
    size_t count;
    size_t numbered;           /* how many of them are turns */
    const pdr_value **entries; /* borrowed; all of the document */
    size_t *next; /* by entry: the next one of the same turn, or DOC_NONE */
    size_t entry_count;
};

/* A response belongs to the last request before it that has its correlation
 * id, or to none. */
void doc_turns_find(struct doc_turns *out, const pdr_value *state);
void doc_turns_free(struct doc_turns *turns);

/* The results of one turn, to be told beside their calls. */
struct doc_results {
    struct doc_keys keys; /* call ids */
    struct doc_result {
        const pdr_value *content; /* borrowed */
        bool is_told;             /* a call takes it */
    } * items;                    /* in document order */
    size_t count, cap;
    size_t passed;         /* of them, by doc_results_pass() */
    struct doc_keys calls; /* ids of all calls */
    struct doc_keys asked; /* ids of those that an approval is asked for */
};

void doc_results_find(struct doc_results *out, const struct doc_turns *turns,
                      const struct doc_turn *turn);
/* The next result with this call id, or NULL. */
const pdr_value *doc_results_take(struct doc_results *r,
                                  const pdr_value *call_id);
/* Is there a call with this id? Is it one that waits for an approval? */
bool doc_results_has_call(const struct doc_results *r,
                          const pdr_value *call_id);
bool doc_results_is_asked(const struct doc_results *r,
                          const pdr_value *call_id);
/* The walk over the turn has come to the next result: does a call tell it? */
bool doc_results_pass(struct doc_results *r);
void doc_results_free(struct doc_results *r);

/* --- projection (doc_project.c) ------------------------------------------ */

/* One turn as an object for programs; the page perdure-doc-show(1) tells its
 * members. */
void doc_project_turn(pdr_builder *to, const struct doc_turns *turns,
                      const struct doc_turn *turn);

#endif
