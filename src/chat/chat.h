/*
 * chat.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_CHAT_CHAT_H
#define PDR_CHAT_CHAT_H

#include <pthread.h>
#include <stdatomic.h>

#include <perdure/chat.h>

#include "core.h"

/* --- keys (key.c) ----------------------------------------------------------
 */

#define PDR_CHANNEL_KEY 46 /* bytes of "k2:..." */
#define PDR_SK_KEY      44 /* of the other */

/* The key of a channel: "k2:" and a digest of the parts, each with its length.
 * `parts` end with a NUL each; the first is the kind. Appended. */
PDR_MUST_CHECK pdr_rc pdr__channel_key(pdr_buf *out, pdr_str parts,
                                       pdr_err *err);
/* The same for files of Semantic Kernel: base64 of a digest of the parts with
 * ":" between them. Appended. */
PDR_MUST_CHECK pdr_rc pdr__channel_sk_key(pdr_buf *out, pdr_str parts,
                                          pdr_err *err);

/* --- documents (open.c, write.c) -------------------------------------------
 * A chat as a document has it: what is read, and what is to be written.
 */

struct pdr__log_entry {
    uint64_t turn;    /* that made it; 0: a caller added it */
    pdr_str origin;   /* key of the channel that did; absent: none */
    bool is_visible;  /* also if the document does not say */
    pdr_value *value; /* owned; in PDR_SHAPE_SK */
};

struct pdr__saved_participant {
    pdr_str id, name, type; /* absent: the document does not say */
    pdr_str key;            /* "k2:..." of its channel; absent */
    pdr_value *session;     /* owned; NULL: none. Native: of its providers */
    pdr_value *source;      /* owned; the member as it was read; NULL: made */
};

struct pdr__saved_channel {
    pdr_str key;    /* "k2:..."; absent: the document has none */
    pdr_str sk_key; /* of Semantic Kernel; absent */
    pdr_str kind;   /* as in "chat-history"; absent */
    pdr_str type;   /* full name of its type; absent */
    uint32_t state_version;
    bool has_cursor;
    uint64_t cursor;   /* messages of the log that it has had */
    pdr_value *state;  /* owned; a text, or raw JSON; NULL: absent */
    pdr_value *source; /* owned; as for a participant */
};

struct pdr_chat_state {
    struct pdr__arena memory; /* of texts */
    pdr_chat_form form;
    bool is_encoded;     /* native, in base64 */
    pdr_value *document; /* owned; as it was read, with all its bytes; NULL: it
                            was made. Unknown members of a native one are
                            written again from here */
    bool has_mark;       /* a byte order mark was before it */
    pdr_str id;          /* of the chat; absent */
    uint64_t epoch, revision;
    struct pdr__saved_participant *participants; /* owned */
    size_t participant_count, participant_cap;
    struct pdr__log_entry *log; /* owned; message `seq` is at seq - 1 */
    size_t log_count, log_cap;
    struct pdr__saved_channel *channels; /* owned; in the order of creation */
    size_t channel_count, channel_cap;
    bool is_complete;
    uint64_t turn;        /* of the last one */
    pdr_value *open_turn; /* owned; NULL: none was under way */
    pdr_value *selection; /* owned; state of who is next; NULL */
};

/* Write a document in the form that `opts` says. */
PDR_MUST_CHECK pdr_rc pdr__chat_write(const pdr_chat_state *state,
                                      const pdr_chat_save_opts *opts,
                                      pdr_err *err, pdr_write_fn fn, void *arg);
/* An empty one, to be filled. Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__chat_state_new(pdr_chat_state **out, pdr_err *err);

/* --- strategies (select.c, terminate.c, reduce.c) --------------------------
 */

/* Where the next list begins: the index of the first message of `messages`
 * (PDR_SHAPE_SK) that stays, after the rule of agent-chat 3.9; 0 or less: all
 * of them. A system message at the beginning stays in any case and is not
 * counted; `*has_system` says that there is one. A call and its results are
 * never parted. */
long pdr__reduce_find(bool *has_system, const pdr_value *const *messages,
                      size_t count, const pdr_reduction *reduction);

/* Strategies with their texts copied and patterns compiled. */
struct pdr__ending_rule;
PDR_MUST_CHECK pdr_rc pdr__rule_new(struct pdr__ending_rule **out,
                                    const pdr_termination *parts, pdr_err *err);
void pdr__rule_free(struct pdr__ending_rule *rule);
PDR_MUST_CHECK pdr_rc pdr__rule_ask(bool *out,
                                    const struct pdr__ending_rule *rule,
                                    const pdr_chat_view *view, size_t spoke,
                                    pdr_err *err);

/* Who was next last time; saved with the chat as
 * {"kind":"seq","index":N,"has_selected":true}. */
struct pdr__selection {
    long index; /* of the one that spoke last; -1: nobody */
    bool has_selected;
};

/* One after the other. `first` is the place of the agent that speaks first; -1:
 * none is named. */
size_t pdr__select_next(struct pdr__selection *selection, size_t agents,
                        long first);
PDR_MUST_CHECK pdr_rc pdr__selection_save(pdr_value **out,
                                          const struct pdr__selection *s,
                                          pdr_err *err);
/* What was saved; anything else is the beginning. */
void pdr__selection_restore(struct pdr__selection *out, const pdr_value *state);

#endif
