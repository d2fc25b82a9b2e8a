/*
 * session_parts.h - what the verbs of `perdure session` share.
 *
 * A verb works on sessions in a store, in a file (one, a list, an object of
 * sessions, a stream of documents, with metadata or without) or in a snapshot
 * folder. All are opened by the same options, and a session in them is named
 * alike.
 */
#ifndef PDR_CLI_SESSION_PARTS_H
#define PDR_CLI_SESSION_PARTS_H

#include "store_parts.h"

extern const struct cli_command cli_cmd_session_list, cli_cmd_session_show,
    cli_cmd_session_bag, cli_cmd_session_convert, cli_cmd_session_export,
    cli_cmd_session_import, cli_cmd_session_log, cli_cmd_session_tail,
    cli_cmd_session_delete, cli_cmd_session_trim, cli_cmd_session_verify;
extern const struct cli_command cli_cmd_session_bag_keys,
    cli_cmd_session_bag_get, cli_cmd_session_bag_set, cli_cmd_session_bag_rm;

/* --- options (session.c) ------------------------------------------------- */

/* Where the sessions are. */
struct ses_from {
    const char *file, *folder; /* one of these three, after */
    struct sto_from store;     /* ses_from_check() */
    uint64_t format;           /* pdr_folder_format, or CLI_NO_FORM */
    struct doc_reading how;    /* of a file */
};

extern const char *const ses_folder_words[];

#define SES_FOLDER_ROWS(from)                                              \
    CLI_TEXT(0, "folder", "DIR", &(from)->folder,                          \
             "snapshot folder, a file for each session"),                  \
        CLI_WORD(0, "format", "FORMAT", &(from)->format, ses_folder_words, \
                 "files of the folder: json or msgpack")
#define SES_STORE_ROWS(s)                                              \
    CLI_TEXT(0, "store", "URI", &(s)->uri,                             \
             "store with sessions; a bare path is SQLite"),            \
        CLI_TEXT(0, "tenant", "TENANT", &(s)->tenant,                  \
                 "whose sessions of the store (default \"default\")"), \
        STO_KEY_ROW(s)
#define SES_FROM_ROWS(from)                                  \
    SES_STORE_ROWS(&(from)->store),                          \
        CLI_TEXT(0, "file", "FILE", &(from)->file,           \
                 "file with sessions; - is standard input"), \
        SES_FOLDER_ROWS(from), DOC_READ_ROWS(&(from)->how)

/* Fill what the rows need; before they are used. */
void ses_from_init(struct ses_from *from);

/* Is one place named, and do the options fit it? With none, it is the default
 * store if there is one. 0, or the status of the mistake that was reported.
 * `word` is the first argument, for a hint. */
int ses_from_check(struct cli *cli, struct ses_from *from, const char *word);
/* Are there limits for reading, though a store is read, which has its own? For
 * verbs that read nothing else by them; 0, or a status as above. */
int ses_limits_check(struct cli *cli, const struct ses_from *from);
/* The same for verbs that know stores alone. */
int ses_store_check(struct cli *cli, struct sto_from *store);

static inline bool ses_from_is_store(const struct ses_from *from)
{
    return from->store.uri != NULL;
}

/* Report that an argument is missing; gives the exit status. */
int ses_missing(struct cli *cli, const char *what, const char *hint);

/* Arguments of a verb that is about one session, wherever it is. */
#define SES_ONE_USAGE(rest)                                               \
    "[OPTIONS] [--store URI] ID" rest " | [OPTIONS] --folder DIR ID" rest \
    " | [OPTIONS] --file FILE [ID]" rest

/* What is opened, to show. */
const char *ses_from_name(const struct ses_from *from);
/* "store", "folder" or "file": the option, and the member in JSON output. */
const char *ses_from_word(const struct ses_from *from);
/* As it was given. */
const char *ses_from_arg(const struct ses_from *from);
/* Name to show for a file that is written: "-" is "standard output". */
const char *ses_out_name(const char *path);

/* --- failures (session.c) ------------------------------------------------ */

/* What to do about a failure; NULL if only cli_hint() knows. `value` is the
 * document, or NULL. `out` has room for a hint. */
#define SES_HINT_MAX STO_HINT_MAX
const char *ses_hint(char out[SES_HINT_MAX], const struct ses_from *from,
                     const pdr_value *value, const pdr_err *err);

/* Does a text hold a saved chat of several agents? */
bool ses_is_chat(pdr_str text);

/* Where `input`, the beginning of a file, has several documents in the place of
 * one: how to read them. NULL if the failure is another one. */
const char *ses_lines_hint(const pdr_err *err, pdr_str input);

/* Say which element of a stream an error is about, instead of a byte in it. The
 * first one may be all of the file, and stays as it is. */
void ses_err_element(pdr_err *err, uint64_t index);
/* The same of an element that is surely one, and of what `place` names. */
void ses_err_in_element(pdr_err *err, uint64_t index);
void ses_err_in(pdr_err *err, const char *place);

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
    const struct cli *cli; /* borrowed, as is the path */
    const char *path;
    pdr_buf text; /* the bytes of the file */
    struct cli_form form;
    struct ses_doc *docs;
    size_t doc_count;
    const pdr_value *wrong; /* borrowed from docs: what is not a session */
    pdr_generation generation;
    int lock;      /* descriptor that holds the lock; -1: none */
    bool extended; /* MessagePack that has extension types of ours */
    /* Of saving it: */
    bool dry_run;          /* write nothing */
    bool exchange;         /* it is MessagePack of other programs (F3) */
    pdr_write_report lost; /* spellings that were given up for them */
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

/* Has it the shape of another program? NULL is none. */
static inline bool ses_is_foreign(pdr_session *session)
{
    return session != NULL &&
           pdr_session_get_shape(session) != PDR_SESSION_NATIVE;
}

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
pdr_rc ses_file_save(struct ses_file *f, const struct ses_doc *changed,
                     const struct doc_reading *how, pdr_err *err);

/* --- sessions one after the other (session.c) ---------------------------- */

/* Called for each element of a file; `session` is NULL for what is none. */
typedef pdr_rc (*ses_item_fn)(pdr_session *session,
                              const pdr_session_item *item, pdr_err *err,
                              void *arg);
/* Read the sessions of an input. As pdr_session_reader_next(), or as `fn`. */
pdr_rc ses_each_item(struct cli_input *in, const struct cli_form *form,
                     const struct cli_limits *limits, pdr_err *err,
                     ses_item_fn fn, void *arg);

/* Read a file of a folder, without the folder's care: `path` gets its path,
 * ended by NUL, `value` what is in it. Both outputs are owned. */
pdr_rc ses_folder_read(pdr_session **out, pdr_value **value, pdr_buf *path,
                       const struct cli *cli, const char *folder, pdr_str file,
                       pdr_err *err);

/* --- folders (session.c) ------------------------------------------------- */

/* Open a folder; without --format, in the format of its files. */
pdr_rc ses_folder_open(pdr_folder **out, struct ses_from *from, bool create,
                       pdr_err *err);

/* pdr_folder_get(); `change`: for a command that will write the session, so
 * that a damaged file is set aside (reason "quarantined"). */
pdr_rc ses_folder_get(pdr_session **out, pdr_generation *generation,
                      pdr_folder *folder, pdr_str key, bool change,
                      pdr_err *err, pdr_doc_finding_fn fn, void *arg);

/* What other programs get of a value in MessagePack, as in a folder: numbers
 * and strings without their spelling, which counts as lost. As
 * pdr_codec_write() with PDR_EXCHANGE. */
pdr_rc ses_exchange(pdr_value **io, pdr_write_report *lost, pdr_err *err);

/* --- one session (session_one.c) ----------------------------------------- */

/* A session that is looked at or changed, wherever it is. */
struct ses_one {
    struct cli *cli;
    struct ses_from *from;
    struct ses_file file; /* that it is in; how it is saved, if elsewhere too */
    struct ses_pick pick;
    pdr_folder *folder;    /* owned; NULL: it is in no folder */
    pdr_store *store;      /* owned; NULL: it is in no store */
    const char *key;       /* of the session in the folder, id in the store */
    const char *slot;      /* of a store, read only this one; NULL: all */
    pdr_stored *stored;    /* owned; of a session in a store */
    pdr_value *properties; /* owned; of one in a store; NULL: none, or only a
                              slot was read */
    pdr_session *session;  /* owned if in a folder; of a store NULL where no
                              session document has it */
    pdr_err no_document;   /* why a session in a store has none; else PDR_OK */
    pdr_bag *bag;          /* of the session; borrowed */
    pdr_generation generation; /* of the file that it was read from */
    bool change;               /* it is read to be written */
    pdr_builder *findings;     /* of reading it; an array */
};

#define SES_ONE_INIT(the_cli, the_from)                             \
    {                                                               \
        .cli = (the_cli), .from = (the_from), .file = SES_FILE_INIT \
    }

/* Open file, folder or store, `change`: to write it. Status of a failure that
 * was reported, else 0. */
int ses_one_open(struct ses_one *o, bool change);
/* Does it take an ID to name the session? */
bool ses_one_needs_id(const struct ses_one *o);
/* Read the session. As above. */
int ses_one_find(struct ses_one *o, const char *id);
/* Check the options, open and find, for looking at it. As above. */
int ses_one_look_up(struct ses_one *o, const char *id);
/* Write it back, if the file still has its generation, or the session in a
 * store its revision. As ses_file_save(), pdr_folder_set() and
 * pdr_stored_commit(). */
pdr_rc ses_one_save(struct ses_one *o, pdr_err *err);

/* What tells that nobody changed it: a generation, in a store the revision.
 * `out` has 65 bytes. */
const char *ses_one_mark(char *out, const struct ses_one *o);
const char *ses_one_mark_word(const struct ses_one *o);
/* Does `text` have the form of one? Is it the one that was read? */
bool ses_one_is_mark(const struct ses_one *o, const char *text);
bool ses_one_has_mark(const struct ses_one *o, const char *text);

/* What it is called: key, id in the store, or its own id; appended. */
void ses_one_put_id(pdr_buf *out, const struct ses_one *o);
/* Members that say which session it is, and its mark. */
void ses_one_members(pdr_builder *to, const struct ses_one *o,
                     const char *id_name);
/* Tell on standard error what reading found; `to` gets it instead, if there is
 * something, as a member. */
void ses_one_tell(struct ses_one *o, pdr_builder *to);
int ses_one_fail(const struct ses_one *o, const pdr_err *err);
void ses_one_free(struct ses_one *o);

/* --- tables (session_grid.c) --------------------------------------------- */

#define SES_GRID_MAX 16

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
    bool keeps_empty; /* columns without a text are shown, too */
    bool has_head;    /* the titles were printed */
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
/* The same to standard output; nothing if there is no row. */
void ses_grid_print(struct ses_grid *g, const struct cli *cli);
void ses_grid_free(struct ses_grid *g);

/* --- sessions in a store (session_store.c) -------------------------------- */

/* Rows of a store, and what it imports and exports, are of one format: its
 * name, whether it is that of `format`, and a text of it as a value, owned. */
extern const char ses_store_format[];
bool ses_store_speaks(const pdr_format *format);
pdr_rc ses_store_value(pdr_value **out, pdr_str text, pdr_err *err);
/* What a list is asked for: a number, a boolean or a text as that format spells
 * them, else a text as it is; owned. */
pdr_rc ses_store_sought(pdr_value **out, pdr_str text, pdr_err *err);

/* Open the session, with one slot of its bag or all of them. */
pdr_rc ses_store_load(struct ses_one *o, pdr_err *err);

/* What a head says, a line for each fact, on the page of a tree. */
struct ses_tree;
void ses_head_facts(const struct ses_tree *how, const pdr_head *head);
/* The same as members, but for the properties. `slots`: how many there are. */
void ses_head_members(pdr_builder *to, const pdr_head *head, uint64_t slots);
const char *ses_state_name(pdr_session_state state);

/* --- lists of a store (session_heads.c) ----------------------------------- */

/* Which sessions of a store to list, and how. */
struct ses_listing {
    const char *agent, *after, *changed_after, *changed_before, *property;
    const char *prefix;
    const char *columns; /* NULL: the usual ones */
    uint64_t state;      /* pdr_session_state, or CLI_NO_FORM: any */
    uint64_t limit;      /* 0: 50, or all if ids are printed */
    bool all;            /* no limit */
    bool all_tenants;
};

extern const char *const ses_state_words[];

#define SES_LISTING_ROWS(l)                                                   \
    CLI_TEXT(0, "agent", "NAME", &(l)->agent, "only sessions of this agent"), \
        CLI_WORD(0, "state", "STATE", &(l)->state, ses_state_words,           \
                 "only idle, running, waiting or expired ones"),              \
        CLI_TEXT(0, "changed-after", "TIME", &(l)->changed_after,             \
                 "changed at this time or later, as in 2026-05-06 or 7d"),    \
        CLI_TEXT(0, "changed-before", "TIME", &(l)->changed_before,           \
                 "changed before this time"),                                 \
        CLI_TEXT(0, "property", "KEY=VALUE", &(l)->property,                  \
                 "with this property, a text, a number, true or false"),      \
        CLI_TEXT(0, "prefix", "TEXT", &(l)->prefix,                           \
                 "only sessions whose id begins with it, in their order"),    \
        CLI_U64('l', "limit", "N", &(l)->limit, 1, UINT32_MAX,                \
                "sessions to show (default 50; all with -o raw)"),            \
        CLI_FLAG('a', "all", &(l)->all, "all sessions, without a limit"),     \
        CLI_FLAG(0, "all-tenants", &(l)->all_tenants,                         \
                 "sessions of every tenant, in the order of their ids"),      \
        CLI_TEXT(0, "after", "CURSOR", &(l)->after,                           \
                 "go on where a list ended"),                                 \
        CLI_TEXT('c', "columns", "NAMES", &(l)->columns,                      \
                 "columns to show, as in id,state,changed")

/* Is a filter or a column set, which is for stores? */
bool ses_listing_is_set(const struct ses_listing *l);
/* List the sessions of a store. Exit status. */
int ses_list_store(struct cli *cli, const struct sto_from *s,
                   const struct ses_listing *l);

/* --- into a store (session_intake.c) -------------------------------------- */

struct ses_intake {
    const char *path;  /* "-" is standard input */
    const char *id;    /* of the one session; NULL: the one that it has */
    const char *agent; /* for lists, or NULL */
    bool replace;
};

/* Import the sessions of a file. Exit status. */
int ses_import_store(struct cli *cli, const struct ses_from *from,
                     const struct ses_intake *how);

/* --- entries of a store (session_entry.c) --------------------------------- */

/* How entries are printed, as they come. */
struct ses_entries {
    struct cli *cli;
    FILE *out;
    size_t width;   /* of the page; 0: none */
    bool as_lines;  /* JSON: a line for each entry, nothing around them */
    uint64_t epoch; /* of the session, for these lines; 0: told elsewhere */
    struct ses_grid grid;
    uint64_t count; /* so far */
};

void ses_entries_init(struct ses_entries *e, struct cli *cli, FILE *out);
void ses_entries_add(struct ses_entries *e, const pdr_stored_entry *entry);
/* Print what waits. */
void ses_entries_flush(struct ses_entries *e);
void ses_entries_free(struct ses_entries *e);

/* What a content says, after a space if there is something before it; appended,
 * and not yet fit to be shown. */
void ses_put_content(pdr_buf *out, const pdr_value *content, pdr_shape shape,
                     pdr_buf *scratch);
/* What an entry says, in a line; appended. */
void ses_put_excerpt(pdr_buf *out, const pdr_stored_entry *entry);

/* --- what a session is (session_info.c) ---------------------------------- */

struct ses_info {
    pdr_buf id; /* its own, or that of a durable session; else empty */
    pdr_session_kind kind;
    pdr_session_shape shape;
    pdr_value *document;     /* owned */
    pdr_value *service;      /* owned; id at a service, NULL: none */
    const pdr_value *unused; /* borrowed: what is in its place; or NULL */
    bool is_sentinel;        /* `unused` means that history is local */
    pdr_value *history;      /* owned; NULL: none */
    pdr_err history_err;     /* why the slot is not a history; else PDR_OK */
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

/* The session of a document, also inside of a wrapper; NULL if it is none, as a
 * state document is. Owned. */
pdr_session *ses_session_in(const pdr_value *value);

/* A service id for people: a text as it is, an object as JSON. */
pdr_str ses_service_text(const pdr_value *id, pdr_buf *scratch);

/* Members that every output of a session has; those of its shape and service
 * alone. */
void ses_info_members(pdr_builder *to, const struct ses_info *info);
void ses_info_service(pdr_builder *to, const struct ses_info *info);

/* 64 hex digits; `out` has 65 bytes. */
const char *ses_generation_text(char *out, const pdr_generation *generation);
/* False if it is none. */
bool ses_generation_read(pdr_generation *out, const char *text);

/* "label     text", folded under the text. */
void ses_label(FILE *out, const struct cli *cli, size_t width,
               const char *label, pdr_str text);

/* An object that is put together for JSON output; ended, printed and released
 * by ses_object_print(). */
pdr_builder *ses_object_new(void);
void ses_object_print(const struct cli *cli, FILE *out, pdr_builder *to);

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

#endif
