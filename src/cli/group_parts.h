/*
 * group_parts.h - what the verbs of `perdure group` share.
 *
 * A chat is a session of kind "chat" in a store. Agents are behaviour and in no
 * store: whoever lets a chat go on names them. A saved chat is a file.
 */
#ifndef PDR_CLI_GROUP_PARTS_H
#define PDR_CLI_GROUP_PARTS_H

#include <perdure/chat_store.h>

#include "engine_parts.h"

extern const struct cli_command cli_cmd_group_new, cli_cmd_group_send,
    cli_cmd_group_show, cli_cmd_group_restore, cli_cmd_group_export,
    cli_cmd_group_import;

/* A chat, and what a verb needs of it. */
struct grp {
    struct cli *cli;
    struct sto_from from;
    const char *id;           /* of its session, or NULL */
    const char *file;         /* a saved chat, or NULL */
    struct cli_args specs;    /* of --agent */
    const char *key_env;      /* or NULL */
    struct cli_args key_args; /* of --key-file */
    bool needs_mac;
    struct agt_made *made; /* owned; an agent for each of `specs` */
    pdr_chat_key *keys;    /* owned; a key for each of `key_args` */
    pdr_buf *key_bytes;    /* owned */
    pdr_store *store;      /* owned, as the next two; NULL: not needed yet */
    pdr_chat *chat;
    pdr_chat_state *state;
};

#define GRP_AGENT_ROWS(g)                                             \
    CLI_LIST(0, "agent", "SPEC", &(g)->specs,                         \
             "one who takes part, as in agent run; may be repeated"), \
        CLI_TEXT(0, "key-env", "VAR", &(g)->key_env,                  \
                 "environment variable with the server's key")
#define GRP_KEY_ROWS(g)                                                 \
    CLI_LIST(0, "key-file", "ID=FILE", &(g)->key_args,                  \
             "key that the MAC of the file may have; may be repeated"), \
        CLI_FLAG(0, "need-mac", &(g)->needs_mac,                        \
                 "refuse a file without a MAC")

void grp_free(struct grp *g);

/* The forms of saved chats, as in pdr_chat_form; the last one NULL. */
extern const char *const grp_form_words[];
const char *grp_form_name(const struct grp *g);
/* A chat of a store, or a file in its place? Exit status of a mistake. */
int grp_place_check(struct grp *g);

/* --- agents and keys (group.c) -------------------------------------------- */

/* Make the agents of --agent, which may be none; exit status. */
int grp_agents_make(struct grp *g);
/* Is `name` that of one of them? `option` is what says it, NULL is fine. Exit
 * status. */
int grp_agent_check(struct grp *g, const char *option, const char *name);
/* Read the keys of --key-file; exit status. */
int grp_keys_read(struct grp *g);

/* --- chats (group.c) ------------------------------------------------------ */

/* A new chat with the agents in it. */
pdr_rc grp_chat_make(struct grp *g, pdr_chat_opts *opts, pdr_err *err);
/* Its session. */
static inline pdr_ref grp_ref(const struct grp *g)
{
    return sto_ref(&g->from, g->id);
}
/* Read `file` into `state`. Reports a failure; exit status. */
int grp_file_open(struct grp *g);
/* Read the chat of the store into `state`. */
pdr_rc grp_load(struct grp *g, pdr_err *err);

/* Report what is wrong with the chat; without `about` it is that of the store.
 * Gives the exit status. */
int grp_fail(struct grp *g, struct cli_about *about, const pdr_err *err);

/* --- messages (group_text.c) ---------------------------------------------- */

/* Who said it: its author, else its role; appended. */
void grp_put_who(pdr_buf *out, const pdr_value *message);
/* What a content says, as ses_put_content(). */
void grp_put_content(pdr_buf *out, const pdr_value *content, pdr_buf *scratch);
/* The end of the name of a type, which tells them apart. */
pdr_str grp_short_name(pdr_str name);
/* Members of a message. */
void grp_member_message(pdr_builder *to, const pdr_chat_message *message);
/* "chat NAME: TEXT" on standard error, if there is to be a summary. */
void grp_tell(const struct grp *g, const char *fmt, ...) PDR_PRINTF(2, 3);

/* A report: what became of the channels, and what was noticed. */
void grp_report_print(const struct grp *g, const pdr_chat_report *report);
void grp_report_members(pdr_builder *to, const pdr_chat_report *report);

#endif
