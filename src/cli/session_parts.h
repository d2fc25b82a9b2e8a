/*
 * session_parts.h - what the verbs of `perdure session` share.
 *
 * A verb works on sessions in a file (one, a list, an object of sessions, a
 * stream of documents, with metadata or without) or in a snapshot folder. Both
 * are opened by the same options, and a session in them is named alike.
 */
#ifndef PDR_CLI_SESSION_PARTS_H
#define PDR_CLI_SESSION_PARTS_H

#include "doc_parts.h"

extern const struct cli_command cli_cmd_session_list, cli_cmd_session_show,
    cli_cmd_session_bag, cli_cmd_session_convert, cli_cmd_session_export,
    cli_cmd_session_import;
extern const struct cli_command cli_cmd_session_bag_keys,
    cli_cmd_session_bag_get, cli_cmd_session_bag_set, cli_cmd_session_bag_rm;

/* --- options (session.c) ------------------------------------------------- */

/* Where the sessions are. */
struct ses_from {
    const char *file, *folder; /* one of them, after ses_from_check() */
    uint64_t format;           /* pdr_folder_format, or CLI_NO_FORM */
    struct doc_reading how;    /* of a file */
};

extern const char *const ses_folder_words[];

#define SES_FOLDER_ROWS(from)                                              \
    CLI_TEXT(0, "folder", "DIR", &(from)->folder,                          \
             "snapshot folder, a file for each session"),                  \
        CLI_WORD(0, "format", "FORMAT", &(from)->format, ses_folder_words, \
                 "files of the folder: json or msgpack")
#define SES_FROM_ROWS(from)                              \
    CLI_TEXT(0, "file", "FILE", &(from)->file,           \
             "file with sessions; - is standard input"), \
        SES_FOLDER_ROWS(from), DOC_READ_ROWS(&(from)->how)

/* Fill what the rows need; before they are used. */
void ses_from_init(struct ses_from *from);

/* Is one place named, and do the options fit it? 0, or the status of the
 * mistake that was reported. `word` is the first argument, for a hint. */
int ses_from_check(struct cli *cli, const struct ses_from *from,
                   const char *word);

/* What is opened, to show. */
const char *ses_from_name(const struct ses_from *from);

/* --- failures (session.c) ------------------------------------------------ */

/* What to do about a failure; NULL if only cli_hint() knows. `value` is the
 * document, or NULL. `out` has room for a hint. */
#define SES_HINT_MAX 240
const char *ses_hint(char out[SES_HINT_MAX], const struct ses_from *from,
                     const pdr_value *value, const pdr_err *err);

/* Say which element of a stream an error is about, instead of a byte in it. The
 * first one may be all of the file, and stays as it is. */
void ses_err_element(pdr_err *err, uint64_t index);

/* Report a failure; gives the exit status. */
int ses_fail(const struct cli *cli, const struct ses_from *from,
             const pdr_value *value, pdr_str text, const pdr_err *err);

/* --- files of sessions (session_file.c) ---------------------------------- */

/* One document of a file, opened as what it looks like. */
struct ses_doc {
    pdr_value *value;              /* owned; as it was read */
    int64_t offset;                /* in the file */
    pdr_session *one;              /* owned; or */
    pdr_session_list *list;        /* owned; or */
    pdr_session_wrapper *wrappers; /* owned */
    size_t count;                  /* elements: 1 for one session */
    bool is_array;                 /* of wrappers */
};

struct ses_file {
    const char *path;
    pdr_buf text; /* the bytes of the file */
    struct cli_form form;
    struct ses_doc *docs;
    size_t doc_count;
    const pdr_value *wrong; /* borrowed from docs: what is no session */
    pdr_generation generation;
    int lock; /* descriptor that holds the lock; -1: none */
};

#define SES_FILE_INIT                              \
    {                                              \
        .text = PDR_BUF_INIT(SIZE_MAX), .lock = -1 \
    }

/* Read all documents of a file and open the sessions in them. With `lock`, no
 * other perdure changes the file until ses_file_free(). As cli_input_value()
 * and pdr_session_from_value(); PDR_EBUSY (reason "file_locked"); PDR_EIO
 * (reason "read_only") for a file that may not be written. */
pdr_rc ses_file_read(struct ses_file *f, const struct cli *cli,
                     const char *path, const struct doc_reading *how, bool lock,
                     pdr_err *err);
void ses_file_free(struct ses_file *f);

/* A session of a file. */
struct ses_pick {
    struct ses_doc *doc; /* borrowed; NULL: none */
    size_t index;        /* in `doc` */
    uint64_t at;         /* in the file, nulls and others counted too */
};

/* The session at a place of a document; NULL for what is none. Borrowed. */
pdr_session *ses_doc_session(const struct ses_doc *doc, size_t index);
/* Its name in an object of sessions; NULL elsewhere. Borrowed. */
const pdr_value *ses_doc_name(const struct ses_doc *doc, size_t index);
/* The properties of its wrapper; NULL if it has none. Borrowed. */
const pdr_properties *ses_doc_properties(const struct ses_doc *doc,
                                         size_t index);
/* The document as it is now. Owned. */
pdr_rc ses_doc_value(pdr_value **out, const struct ses_doc *doc, pdr_err *err);

/* How many sessions there are. */
size_t ses_file_count(const struct ses_file *f);

/* The session with this id, name or place ("/3"); with NULL the only one. Fails
 * with PDR_ENOTFOUND (reason "no_session") and PDR_EINVALID (reason
 * "several_sessions"). */
pdr_rc ses_file_find(struct ses_pick *out, const struct ses_file *f,
                     const char *id, pdr_err *err);

/* Write the file anew with the sessions of `changed` as they are now; all other
 * bytes stay. PDR_ECONFLICT (reason "generation_changed") if somebody who takes
 * no lock changed it; else as cli_output_commit(). */
pdr_rc ses_file_save(struct ses_file *f, const struct cli *cli,
                     const struct ses_doc *changed,
                     const struct doc_reading *how, pdr_err *err);

/* --- folders (session.c) ------------------------------------------------- */

/* Open a folder; without --format, in the format of its files. */
pdr_rc ses_folder_open(pdr_folder **out, struct ses_from *from, bool create,
                       pdr_err *err);

/* What a folder that was opened gives back of a value: of numbers, MessagePack
 * keeps the value and not the spelling, which counts as lost. */
pdr_rc ses_folder_pass(pdr_value **io, pdr_write_report *lost,
                       const struct ses_from *from, pdr_err *err);

/* --- one session (session_one.c) ----------------------------------------- */

/* A session that is looked at or changed, wherever it is. */
struct ses_one {
    struct cli *cli;
    struct ses_from *from;
    struct ses_file file;
    struct ses_pick pick;
    pdr_folder *folder; /* owned; NULL: it is a file */
    const char *key;    /* of the session in the folder */
    pdr_session *session;
    pdr_generation generation; /* of the file that it was read from */
    pdr_builder *findings;     /* of reading it; an array */
};

#define SES_ONE_INIT(the_cli, the_from)                             \
    {                                                               \
        .cli = (the_cli), .from = (the_from), .file = SES_FILE_INIT \
    }

/* Open file or folder, `change`: to write it. Status of a failure that was
 * reported, else 0. */
int ses_one_open(struct ses_one *o, bool change);
/* Does it take an ID to name the session? */
bool ses_one_needs_id(const struct ses_one *o);
/* Read the session. As above. */
int ses_one_find(struct ses_one *o, const char *id);
/* Write it back, if the file still has its generation. As ses_file_save() and
 * pdr_folder_set(). */
pdr_rc ses_one_save(struct ses_one *o, pdr_err *err);
/* Tell on standard error what reading found; `to` gets it instead, if there is
 * something, as a member. */
void ses_one_tell(struct ses_one *o, pdr_builder *to);
int ses_one_fail(const struct ses_one *o, const pdr_err *err);
void ses_one_free(struct ses_one *o);

/* --- what a session is (session_info.c) ---------------------------------- */

struct ses_info {
    pdr_buf id; /* its own, or that of a durable session; else empty */
    pdr_session_kind kind;
    pdr_session_shape shape;
    pdr_value *document;     /* owned */
    pdr_value *service;      /* owned; id at a service, NULL: none */
    const pdr_value *unused; /* borrowed: what stands in its place; or NULL */
    bool is_sentinel;        /* `unused` means that history is local */
    pdr_value *history;      /* owned; NULL: none */
    pdr_err history_err;     /* why the slot is no history; else PDR_OK */
    uint64_t slots, bytes;   /* of the bag; of the whole document as JSON */
};

#define SES_INFO_INIT                                             \
    {                                                             \
        .id = PDR_BUF_INIT(SIZE_MAX), .history_err = PDR_ERR_INIT \
    }

void ses_info_of(struct ses_info *out, pdr_session *session);
void ses_info_free(struct ses_info *info);

/* The id of a session, see ses_info; appended. */
void ses_put_id(pdr_buf *out, pdr_session *session);

/* "@dafx-agent@key" of a durable session, nothing of others; appended. */
void ses_put_durable_id(pdr_buf *out, pdr_session *session);

/* A service id for people: a text as it is, an object as JSON. */
pdr_str ses_service_text(const pdr_value *id, pdr_buf *scratch);

/* Members that every output of a session has. */
void ses_info_members(pdr_builder *to, const struct ses_info *info);

/* 64 hex digits; `out` has 65 bytes. */
const char *ses_generation_text(char *out, const pdr_generation *generation);
/* False if it is none. */
bool ses_generation_read(pdr_generation *out, const char *text);

/* Print what a builder holds as compact JSON and a line end. */
void ses_print_built(const struct cli *cli, FILE *out, pdr_builder *built);

/* --- arguments of the bag verbs (session_one.c) -------------------------- */

struct ses_words {
    const char *id, *key, *pointer, *value; /* NULL: not given */
};

/* Which word is what: [ID] KEY [POINTER] [VALUE]. `many`: an id is needed.
 * Gives the name of what is missing, NULL if all is there. */
const char *ses_words_of(struct ses_words *out, const char *const *words,
                         size_t count, bool has_value, bool many);

/* --- trees (session_tree.c) ---------------------------------------------- */

struct ses_tree {
    const struct cli *cli;
    FILE *out;
    size_t width; /* of the page */
    size_t depth; /* levels to show; a slot is one */
    bool full;    /* all levels, all parts, long values to their end */
};

void ses_tree_print(const struct ses_tree *how, const pdr_value *bag);
/* The same as an array for programs. */
void ses_tree_build(pdr_builder *to, const pdr_value *bag, size_t depth);

/* --- tables (session_grid.c) --------------------------------------------- */

#define SES_GRID_MAX 12

struct ses_column {
    const char *title;
    bool is_right; /* numbers */
    size_t min;    /* columns to keep, if there is room; 0: never cut it */
};

struct ses_grid {
    const struct ses_column *columns;
    size_t count;
    pdr_buf text; /* of all cells */
    size_t *ends; /* in `text`, of each cell */
    size_t cells, cap;
    size_t widths[SES_GRID_MAX];
    bool has_head; /* the titles were printed */
};

void ses_grid_init(struct ses_grid *g, const struct ses_column *columns,
                   size_t count);
/* The next cell, row by row. */
void ses_grid_put(struct ses_grid *g, pdr_str text);
void ses_grid_putf(struct ses_grid *g, const char *fmt, ...) PDR_PRINTF(2, 3);
size_t ses_grid_rows(const struct ses_grid *g);
/* Print what is there and forget it; columns stay as wide as they are. `width`
 * is that of the page, 0 for none. */
void ses_grid_flush(struct ses_grid *g, FILE *out, bool colored, size_t width);
void ses_grid_free(struct ses_grid *g);

#endif
