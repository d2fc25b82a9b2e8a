/*
 * store_parts.h - stores on the command line: found, opened, told about.
 *
 * The verbs of `perdure store` and those of `perdure session` name a store by
 * the same options, fail with the same hints and show times alike.
 */
#ifndef PDR_CLI_STORE_PARTS_H
#define PDR_CLI_STORE_PARTS_H

#include "doc_parts.h"

extern const struct cli_command cli_cmd_store_init, cli_cmd_store_info,
    cli_cmd_store_verify, cli_cmd_store_vacuum, cli_cmd_store_copy,
    cli_cmd_store_backup, cli_cmd_store_migrate;

/* --- where it is (store.c) ----------------------------------------------- */

struct sto_from {
    const char *uri;        /* --store or STORE; NULL: none was named */
    const char *word;       /* STORE, where it is an argument */
    const char *key;        /* file with the key of the digests, or NULL */
    const char *tenant;     /* or NULL */
    const char *key_option; /* that names the key; NULL: --key */
    bool is_default;        /* nobody named it */
    char path[4096];        /* of the default store */
};

#define STO_KEY_ROW(s) \
    CLI_TEXT(0, "key", "FILE", &(s)->key, "file with the key of its digests")
/* For verbs that are about a store as a whole. */
#define STO_ROWS(s)                                                   \
    CLI_MAY("STORE", &(s)->word, "the store; a bare path is SQLite"), \
        CLI_TEXT(0, "store", "URI", &(s)->uri, "the same as STORE"),  \
        STO_KEY_ROW(s)

/* The store that verbs work on if none is named: perdure.db in the data folder
 * of the user. False if there is no such folder. Whether the file is there is
 * not asked. */
bool sto_use_default(struct sto_from *s);
/* The same, if the file is there. */
bool sto_find_default(struct sto_from *s);

/* STORE, --store or the default one. 0, or the status of a mistake that was
 * reported. */
int sto_from_check(struct cli *cli, struct sto_from *s);

/* "rwc", "rw" or "ro" as in the URI; what a URI says itself goes first. */
pdr_rc sto_open(pdr_store **out, const struct sto_from *s, const char *mode,
                pdr_err *err);
/* PDR_EUNSUPPORTED (reason "no_file") for a store that is gone when closed. */
pdr_rc sto_check_lasting(pdr_store *store, pdr_err *err);
/* Take the URI out of a message: a name stands in front of it already. */
void sto_shorten(pdr_err *err);
/* The URI that sto_open() opens, ended by NUL; appended. */
void sto_put_uri(pdr_buf *out, const struct sto_from *s, const char *mode);

/* Does it begin as a URI does? */
bool sto_has_scheme(const char *text);

/* What to call it. */
const char *sto_name(const struct sto_from *s);

/* A session in it. */
pdr_ref sto_ref(const struct sto_from *s, const char *id);
const char *sto_tenant(const struct sto_from *s);

/* Are the two one file? Of a URI that names it with escapes nobody knows. */
bool sto_is_same(const struct sto_from *a, const struct sto_from *b);

/* What to do about a failure; NULL if only cli_hint() knows. `out` has room. */
#define STO_HINT_MAX 680
const char *sto_hint(char out[STO_HINT_MAX], const struct sto_from *s,
                     const pdr_err *err);
/* Report it; gives the exit status. */
int sto_fail(const struct cli *cli, const struct sto_from *s,
             const pdr_err *err);

/* --- times (store.c) ----------------------------------------------------- */

int64_t sto_now_ms(void);

/* "2026-05-06T07:14:02Z"; "never"; "" for PDR_NO_TIME. `out` has 40 bytes. */
const char *sto_time(char *out, int64_t ms);
/* With all its digits; nothing for PDR_NEVER and PDR_NO_TIME. */
void sto_member_time(pdr_builder *to, const char *name, int64_t ms);

/* "90s", "15m", "12h", "30d" or "2w" in milliseconds; false if it is none. */
bool sto_age(int64_t *out, const char *text);
/* A date, a date-time, or how long ago. False if it is none. */
bool sto_when(int64_t *out, const char *text, int64_t now_ms);

/* --- verifying (store_verify.c) ------------------------------------------ */

/* Verify a session, or with a `ref` of NULL all of the store, and print what is
 * wrong. Exit status. */
int sto_verify(struct cli *cli, const struct sto_from *s, const pdr_ref *ref);

#endif
