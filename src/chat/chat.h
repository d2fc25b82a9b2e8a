/*
 * chat.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_CHAT_CHAT_H
#define PDR_CHAT_CHAT_H

#include <pthread.h>
#include <stdatomic.h>

#include <perdure/sys/channel.h>

#include "core.h"
#include "doc.h"

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
 * counted; `*has_system` says that there is one. It is `count` if that one
 * alone stays. A call and its results are never parted. */
long pdr__reduce_find(bool *has_system, const pdr_value *const *messages,
                      size_t count, const pdr_reduction *reduction);

/* Strategies with their texts copied and patterns compiled. Making one fails
 * with BAD_PATTERN, MISSING_SLOT, BAD_OPTION, TOO_DEEP or NO_MEMORY; asking it
 * with PATTERN_LIMIT, NO_MEMORY or what a function returned. */
struct pdr__ending_rule;
PDR_MUST_CHECK pdr_rc pdr__rule_new(struct pdr__ending_rule **out,
                                    const pdr_termination *parts, pdr_err *err);
void pdr__rule_free(struct pdr__ending_rule *rule);
PDR_MUST_CHECK pdr_rc pdr__rule_ask(bool *out,
                                    const struct pdr__ending_rule *rule,
                                    const pdr_chat_view *view, size_t spoke,
                                    pdr_err *err);

/* Fails with BAD_REDUCTION. */
PDR_MUST_CHECK pdr_rc pdr__reduction_check(const pdr_reduction *reduction,
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

/* --- chats (chat.c) --------------------------------------------------------
 */

/* An agent that takes part. */
struct pdr__member {
    pdr_agent *agent; /* owned */
    const pdr_channel_kind *kind;
    void *arg;
    pdr_reduction reduction;
    pdr_str key;          /* of its channel, "k2:..." */
    pdr_str sk_key;       /* absent: its kind has none */
    pdr_session *session; /* owned; for the state of its providers */
};

struct pdr__channel {
    const pdr_channel_kind *kind;
    void *self;          /* owned */
    pdr_str key, sk_key; /* in arena of the chat */
    uint64_t cursor;     /* messages of the log that it has had */
};

/* A turn that was made. */
struct pdr__turn_record {
    uint64_t turn;
    pdr_str agent; /* its id; in arena of the chat */
    bool is_aborted;
};

/* What is saved, but for the log: as it was between two turns. */
struct pdr__boundary {
    uint64_t log_count, turn_count, turn;
    bool is_complete;
    pdr_value *selection;                /* owned */
    struct pdr__saved_channel *channels; /* owned, with their states */
    size_t channel_count;
    pdr_value **sessions; /* owned; of the members; NULL: nothing to say */
    size_t member_count;
};

struct pdr_chat {
    struct pdr__arena memory; /* of texts; guarded by lock */
    pdr_str id, first;
    pdr_select_fn select;
    void *select_arg;
    struct pdr__ending_rule *ends; /* owned */
    unsigned max_turns;
    bool resets_complete;
    const pdr_channel_kind *const *kinds;
    const char **secrets; /* in arena; the last one NULL; NULL: none */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by lock; written by who has the token alone. */
    bool is_active;                 /* the token is taken */
    struct pdr__boundary *boundary; /* owned; while a long operation is under
                                       way; else NULL */
    struct pdr__log_entry *log;     /* owned, with the values */
    pdr_value **ready;              /* owned; of each its form for agents, or
                                       NULL */
    size_t log_count, log_cap, ready_cap;
    struct pdr__member *members; /* owned */
    size_t member_count, member_cap;
    struct pdr__turn_record *turns; /* owned */
    size_t turn_count, turn_cap;
    uint64_t turn, epoch, revision;
    bool is_complete;
    pdr_chat_form form; /* of the document that it was restored from */
    /* Of who has the token. */
    struct pdr__channel *channels; /* owned */
    size_t channel_count, channel_cap;
    struct pdr__saved_channel *parked; /* owned; of missing agents */
    size_t parked_count, parked_cap;
    struct pdr__selection selection;
};

/* What a channel sees of a chat while it is called. */
struct pdr_chat_link {
    const struct pdr__log_entry *log;
    uint64_t end;      /* number after the last one for the channel */
    pdr_value **ready; /* of each message its form for agents; NULL: none is
                          kept */
    pdr_chat *chat;    /* NULL: nothing can be said */
    struct pdr__channel *channel; /* that is invoked */
    const struct pdr__member *member;
    const pdr_chat_call *call; /* or NULL */
    bool has_held;             /* the last message that was said may be one that
                                  callers do not see */
};

/* The token: one operation at a time. Fails with CHAT_BUSY. A long one lets
 * others save what was before. */
PDR_MUST_CHECK pdr_rc pdr__chat_enter(pdr_chat *chat, bool is_long,
                                      pdr_err *err);
void pdr__chat_leave(pdr_chat *chat);
/* Where a message can be seen from now on. With the token. `value` is taken,
 * also on failure. */
PDR_MUST_CHECK pdr_rc pdr__log_append(pdr_chat *chat, pdr_value *value,
                                      uint64_t turn, pdr_str origin,
                                      pdr_err *err);
/* A text in the arena; an absent one stays absent. */
PDR_MUST_CHECK pdr_rc pdr__chat_text(pdr_str *io, pdr_chat *chat, pdr_err *err);
/* The member with this id; NULL: none. With the token, or the lock. */
struct pdr__member *pdr__member_find(const pdr_chat *chat, pdr_str id);
/* Does the message carry a call or a result? */
bool pdr__is_tool_traffic(const pdr_value *message);
bool pdr__is_picture(const pdr_value *content, pdr_shape shape);
/* The kind of channel with this id; NULL: nobody knows it. */
const pdr_channel_kind *pdr__kind_find(const pdr_chat *chat, pdr_str id);
/* Fails with LITERAL_SECRET if a secret is in the text. */
PDR_MUST_CHECK pdr_rc pdr__secrets_check(const pdr_chat *chat, pdr_str text,
                                         const char *what, pdr_err *err);
/* As it is now. With the token. */
PDR_MUST_CHECK pdr_rc pdr__boundary_new(struct pdr__boundary **out,
                                        pdr_chat *chat, pdr_err *err);
void pdr__boundary_free(struct pdr__boundary *boundary);

/* --- channels (channel.c) --------------------------------------------------
 * With the token.
 */

struct pdr__channel *pdr__channel_find(const pdr_chat *chat, pdr_str key);
/* The channel of a member with all that is in the log, made or taken from where
 * it is parked if there is none. Fails with CHANNEL_FAILED, as its kind. */
PDR_MUST_CHECK pdr_rc pdr__channel_ready(struct pdr__channel **out,
                                         pdr_chat *chat,
                                         const struct pdr__member *member,
                                         const pdr_chat_call *call,
                                         pdr_err *err);
/* Deliver what waits. */
PDR_MUST_CHECK pdr_rc pdr__channel_sync(struct pdr__channel *channel,
                                        pdr_chat *chat,
                                        const pdr_chat_call *call,
                                        pdr_err *err);
/* What a kind of channel is told of a member. That of chat agents gets its
 * reduction as `arg`. */
pdr_chat_agent pdr__agent_of(const struct pdr__member *member);
pdr_chat_link pdr__link_of(pdr_chat *chat, struct pdr__channel *channel,
                           const pdr_chat_call *call);
void pdr__saved_channel_dispose(struct pdr__saved_channel *saved);

/* --- the channel of chat agents (history.c) --------------------------------
 */

extern const pdr_channel_kind pdr__history_kind;

/* How a restored one compares with the log: RESTORED if it is what the log
 * says, SHORTENED, or OUT_OF_SYNC from message `*seq` on. */
pdr_chat_finding pdr__history_compare(uint64_t *seq, const void *self);

#endif
