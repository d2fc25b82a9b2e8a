/*
 * chat.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_CHAT_CHAT_H
#define PDR_CHAT_CHAT_H

#include <pthread.h>
#include <stdatomic.h>

#include <perdure/chat_store.h>
#include <perdure/sys/channel.h>

#include "core.h"
#include "doc.h"

/* --- keys (key.c) ----------------------------------------------------------
 */

#define PDR_INTERRUPTED "the process that made the turn ended in it"

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

/* A turn. */
struct pdr__turn_record {
    uint64_t turn;
    pdr_str agent; /* its id */
    pdr_turn_end end;
    pdr_str why;    /* it was aborted; absent */
    bool is_chosen; /* its agent, by a function or a model */
};

/* A run that an aggregate lets its chat make. It is saved in the middle of one,
 * so that another process can go on with it. */
struct pdr__run {
    bool is_open;
    unsigned turns; /* that have ended well */
    uint64_t after; /* number of the last message before it */
    uint64_t said;  /* and of the last one that was passed on */
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
    uint64_t turn;                  /* of the last one */
    struct pdr__turn_record *turns; /* owned; those that are known, in order */
    size_t turn_count, turn_cap;
    pdr_value *open_turn; /* owned; NULL: none was under way */
    pdr_value *selection; /* owned; state of who is next; NULL */
    struct pdr__run run;
};

/* Write a document in the form that `opts` says. */
PDR_MUST_CHECK pdr_rc pdr__chat_write(const pdr_chat_state *state,
                                      const pdr_chat_save_opts *opts,
                                      pdr_err *err, pdr_write_fn fn, void *arg);
/* The same without white space, in the form of Semantic Kernel: for the state
 * of a channel. */
PDR_MUST_CHECK pdr_rc pdr__chat_write_inside(const pdr_chat_state *state,
                                             const pdr_chat_save_opts *opts,
                                             pdr_err *err, pdr_write_fn fn,
                                             void *arg);
/* As pdr_chat_open(), of what was read already. */
PDR_MUST_CHECK pdr_rc pdr__chat_open_value(pdr_chat_state **out,
                                           const pdr_value *document,
                                           pdr_err *err);
/* An empty one, to be filled. Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__chat_state_new(pdr_chat_state **out, pdr_err *err);

/* --- what is left out (reduce.c, summary.c) --------------------------------
 */

/* Where the next list begins: the index of the first message of `messages`
 * (PDR_SHAPE_SK) that stays, after the rule of agent-chat 3.9; 0 or less: all
 * of them. A system message at the beginning stays in any case and is not
 * counted; `*has_system` says that there is one. It is `count` if that one
 * alone stays. The first `offset` messages are what earlier cuts left, and no
 * reason for another one. A call and its results are never parted. */
long pdr__reduce_find(bool *has_system, const pdr_value *const *messages,
                      size_t count, size_t offset,
                      const pdr_reduction *reduction);
/* In any letter case. */
bool pdr__has_role(const pdr_value *message, pdr_str role);
/* Does the message carry a call or a result? */
bool pdr__is_tool_traffic(const pdr_value *message);
/* What it says of the call with this id, of an earlier message. A server that
 * numbers its calls uses an id again: the result after that is another one's.
 */
enum pdr__call_news { PDR_CALL_NOTHING, PDR_CALL_ANSWERED, PDR_CALL_REPLACED };
enum pdr__call_news pdr__call_news(const pdr_value *message,
                                   const pdr_value *call_id);

/* Fails with BAD_REDUCTION. */
PDR_MUST_CHECK pdr_rc pdr__reduction_check(const pdr_reduction *reduction,
                                           pdr_err *err);
/* `out->client` is owned, whether this fails or not; its text is in arena, also
 * the library's. */
PDR_MUST_CHECK pdr_rc pdr__reduction_copy(pdr_reduction *out,
                                          const pdr_reduction *reduction,
                                          struct pdr__arena *memory,
                                          pdr_err *err);

/* What a reducer makes of a list: `before`, then its messages from `index` on.
 * All zero: the list stays as it is. */
struct pdr__cut {
    size_t index;
    pdr_value **before; /* owned */
    size_t before_count;
};
/* Reduce. Fails, with *out all zero, as the model that sums up, with NO_MEMORY
 * or RUN_CANCELLED. */
PDR_MUST_CHECK pdr_rc pdr__reduce(struct pdr__cut *out,
                                  const pdr_value *const *messages,
                                  size_t count, const pdr_reduction *reduction,
                                  pdr_cancel *cancel, pdr_err *err);
void pdr__cut_dispose(struct pdr__cut *cut);

/* Ask a model, and append the texts of its answer. Fails as pdr_client_send().
 * (summary.c) */
PDR_MUST_CHECK pdr_rc pdr__model_ask(pdr_buf *out, pdr_client *client,
                                     const pdr_request_message *messages,
                                     size_t count, pdr_cancel *cancel,
                                     pdr_err *err);

/* --- strategies (select.c, terminate.c, prompt.c) --------------------------
 */

/* A prompt with its texts copied and its template taken apart; NULL is fine.
 * `agent` is what its variable for agents is called. Making one fails with
 * MISSING_SLOT, BAD_PROMPT, BAD_REDUCTION or NO_MEMORY. */
struct pdr__prompt;
PDR_MUST_CHECK pdr_rc pdr__prompt_new(struct pdr__prompt **out,
                                      const pdr_chat_prompt *parts,
                                      const char *agent, pdr_err *err);
void pdr__prompt_free(struct pdr__prompt *prompt);
/* Ask, and append the answer. `agents` is the value of the variable for agents.
 * Fails as pdr__reduce() and pdr__model_ask(). */
PDR_MUST_CHECK pdr_rc pdr__prompt_ask(pdr_buf *out,
                                      const struct pdr__prompt *prompt,
                                      const pdr_chat_view *view, pdr_str agents,
                                      pdr_err *err);
/* Append messages as prompts have them, after agent-chat 3.8. */
PDR_MUST_CHECK pdr_rc pdr__history_text(pdr_buf *out,
                                        const pdr_value *const *messages,
                                        size_t count, bool has_names_only,
                                        pdr_err *err);
/* What an agent is called there. */
pdr_str pdr__agent_called(const pdr_agent *agent);
/* But for the case of ASCII letters? */
bool pdr__is_same_name(pdr_str a, pdr_str b);
/* The text of the first item of a message that is a text; NULL: it has none. */
const pdr_value *pdr__first_text(const pdr_value *message);
/* Is there nothing but white space in it? */
bool pdr__text_is_blank(const pdr_value *text);

/* Strategies with their texts copied and patterns compiled. Making one fails
 * with BAD_PATTERN, MISSING_SLOT, BAD_OPTION, TOO_DEEP, NO_MEMORY or as
 * pdr__prompt_new(); asking it with PATTERN_LIMIT, NO_MEMORY, what a function
 * returned or as pdr__prompt_ask(). */
struct pdr__ending_rule;
PDR_MUST_CHECK pdr_rc pdr__rule_new(struct pdr__ending_rule **out,
                                    const pdr_termination *parts, pdr_err *err);
void pdr__rule_free(struct pdr__ending_rule *rule);
PDR_MUST_CHECK pdr_rc pdr__rule_ask(bool *out,
                                    const struct pdr__ending_rule *rule,
                                    const pdr_chat_view *view, size_t spoke,
                                    pdr_err *err);

/* Who was next last time; saved with the chat as
 * {"kind":"seq","index":N,"agent":ID,"has_selected":true}. */
struct pdr__selection {
    long index; /* of the one that spoke last; -1: nobody */
    bool has_selected;
};

/* One after the other. `first` is the place of the agent that speaks first; -1:
 * none is named. */
size_t pdr__select_next(struct pdr__selection *selection, size_t agents,
                        long first);
/* The one that a model names; `fallback` if it names none and that is not -1.
 * Fails with BAD_SELECTION, as pdr__prompt_ask(). */
PDR_MUST_CHECK pdr_rc pdr__select_asked(size_t *out,
                                        const struct pdr__prompt *prompt,
                                        const pdr_chat_view *view,
                                        long fallback, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__selection_save(pdr_value **out,
                                          const struct pdr__selection *s,
                                          pdr_str agent, pdr_err *err);
/* The place that was saved, in the list of then; anything else is the
 * beginning. */
void pdr__selection_restore(struct pdr__selection *out, const pdr_value *state);

/* --- chats (chat.c) --------------------------------------------------------
 */

/* An agent that takes part. */
struct pdr__member {
    pdr_agent *agent; /* owned */
    const pdr_channel_kind *kind;
    void *arg;
    pdr_reduction reduction; /* its client is owned */
    pdr_chat_adapter adapter;
    pdr_str key;          /* of its channel, "k2:..." */
    pdr_str sk_key;       /* absent: its kind has none */
    pdr_session *session; /* owned; for the state of its providers */
    pdr_value *source;    /* owned; as it was in what was restored, with members
                             that we do not know; NULL: it was not there */
};

struct pdr__channel {
    const pdr_channel_kind *kind;
    void *self;          /* owned */
    pdr_str key, sk_key; /* in arena of the chat */
    uint64_t cursor;     /* messages of the log that it has had */
    pdr_value *source;   /* owned; as that of a member */
};

/* What is saved, but for the log: as it was between two turns. */
struct pdr__boundary {
    uint64_t log_count, turn_count, turn;
    bool is_complete;
    struct pdr__run run;
    pdr_value *selection;                /* owned */
    struct pdr__saved_channel *channels; /* owned, with their states */
    size_t channel_count;
    pdr_value **sessions; /* owned; of the members; NULL: nothing to say */
    size_t member_count;
};

struct pdr__home;

struct pdr_chat {
    struct pdr__arena memory; /* of texts; guarded by lock */
    pdr_str id, first;
    bool has_id; /* its caller gave it; else a restored one takes its place */
    pdr_select_fn select;
    void *select_arg;
    struct pdr__prompt *select_prompt; /* owned; NULL: none */
    bool falls_back;
    struct pdr__ending_rule *ends; /* owned */
    unsigned max_turns;
    bool resets_complete;
    bool rebuilds; /* a parked channel whose state cannot be used */
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
    pdr_chat_form form;  /* of the document that it was restored from */
    pdr_value *document; /* owned; that document, or NULL */
    /* Of who has the token. */
    struct pdr__channel *channels; /* owned */
    size_t channel_count, channel_cap;
    struct pdr__saved_channel *parked; /* owned; of missing agents */
    size_t parked_count, parked_cap;
    struct pdr__saved_participant *absent; /* owned; those agents */
    size_t absent_count;
    struct pdr__selection selection;
    struct pdr__run run;
    struct pdr__home *home; /* owned; where it lives; NULL: in memory */
    const pdr_chat *outer;  /* whose channel has this one; NULL: none. Guarded
                               by lock, and set once */
    pdr_chat *around; /* that one, while it lets this one run; else NULL */
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
    const pdr_chat_apply_opts *applying; /* for `restore`; or NULL */
    pdr_chat_report **inside; /* then: of a chat that it restores; or NULL */
    const pdr_chat_save_opts *saving; /* for `exchange`: of what is inside */
    const pdr_channel_kind *const *kinds; /* then: as those of a chat */
};

/* The token: one operation at a time. Fails with CHAT_BUSY. A long one lets
 * others save what was before. */
PDR_MUST_CHECK pdr_rc pdr__chat_enter(pdr_chat *chat, bool is_long,
                                      pdr_err *err);
void pdr__chat_leave(pdr_chat *chat);
/* Room for more messages; and one where it can be seen from now on, which is
 * taken. With the token. */
PDR_MUST_CHECK pdr_rc pdr__log_reserve(pdr_chat *chat, size_t count,
                                       pdr_err *err);
void pdr__log_append(pdr_chat *chat, pdr_value *value, uint64_t turn,
                     pdr_str origin);
/* The member with this id; NULL: none. With the token, or the lock. */
struct pdr__member *pdr__member_find(const pdr_chat *chat, pdr_str id);
/* Which of these saved participants the agent is: the one with its id. If there
 * is none, the one with its name, unless several participants or members have
 * that name, or another member has the id of that one. SIZE_MAX: none. */
size_t pdr__participant_find(const struct pdr__saved_participant *list,
                             size_t count, const pdr_chat *chat,
                             const pdr_agent *agent);
bool pdr__is_picture(const pdr_value *content, pdr_shape shape);
/* The kind of channel with this id, one of the library's or of `kinds`, which
 * may be NULL; NULL: nobody knows it. */
const pdr_channel_kind *pdr__kind_find(const pdr_channel_kind *const *kinds,
                                       pdr_str id);
/* Fails with LITERAL_SECRET if a secret is in the text. */
PDR_MUST_CHECK pdr_rc pdr__secrets_check(const pdr_chat *chat, pdr_str text,
                                         const char *what, pdr_err *err);
/* As it is now. With the token. */
PDR_MUST_CHECK pdr_rc pdr__boundary_new(struct pdr__boundary **out,
                                        pdr_chat *chat, pdr_err *err);
void pdr__boundary_free(struct pdr__boundary *boundary);
/* Fails with LITERAL_SECRET: no secret leaves the process with the state of a
 * channel. */
PDR_MUST_CHECK pdr_rc pdr__states_check(const pdr_chat *chat,
                                        const pdr_chat_state *state,
                                        pdr_err *err);

/* --- where a chat lives (home.c) -------------------------------------------
 * With the token. For a chat that lives in memory these do nothing.
 */

enum pdr__lease_step {
    PDR_STEP_PLAIN,
    PDR_STEP_TAKE,
    PDR_STEP_HOLD,
    PDR_STEP_GIVE
};

/* What a commit has, beside the messages of the log that are not stored yet. */
struct pdr__step {
    const struct pdr__turn_record *begins; /* before the messages; or NULL */
    pdr_str origin;                        /* then: key of its channel */
    const struct pdr__turn_record *ends;   /* after them; or NULL */
    const pdr_value *const *adds; /* messages that are about to be in the log */
    size_t add_count;
    const struct pdr__boundary *boundary; /* slots as this has them; NULL: as
                                             they are */
    bool clears;                          /* nothing of the log stays */
    enum pdr__lease_step lease;
};

/* Commit a step. Fails with CHAT_BUSY, CHAT_CHANGED or as the store. After a
 * failure the chat may have more than the store: then it is of no more use.
 * Of a chat inside of a channel: pdr__home_keep(), unless a turn begins. */
PDR_MUST_CHECK pdr_rc pdr__home_commit(pdr_chat *chat,
                                       const struct pdr__step *step,
                                       pdr_err *err);
/* In the middle of a turn: commit what was said, and the channels as they are
 * now. Of a chat inside of a channel: of the one around it. */
PDR_MUST_CHECK pdr_rc pdr__home_keep(pdr_chat *chat, pdr_err *err);
/* The chat has more than the store, and cannot say so there. */
void pdr__home_spoil(pdr_chat *chat);
/* Fails with CHAT_CHANGED if the chat is of no more use. */
PDR_MUST_CHECK pdr_rc pdr__home_check(pdr_chat *chat, pdr_err *err);
/* An operation begins: its time, and the token by which it ends. Gives the call
 * for channels and agents, which lives in `room`. */
const pdr_chat_call *pdr__home_enter(pdr_chat *chat, pdr_chat_call *room,
                                     const pdr_chat_call *call);
/* It ends: a lease that is still held is given back. Gives `rc`, or that the
 * lease was lost. */
PDR_MUST_CHECK pdr_rc pdr__home_leave(pdr_chat *chat, pdr_rc rc, pdr_err *err);
/* Are there messages that the store does not have yet? */
bool pdr__home_waits(const pdr_chat *chat);
void pdr__home_free(struct pdr__home *home);

/* --- rows (rows.c) ---------------------------------------------------------
 */

/* The body of the record of a turn that begins or ends. Appended. */
PDR_MUST_CHECK pdr_rc pdr__record_write(pdr_buf *out,
                                        const struct pdr__turn_record *turn,
                                        pdr_str origin, pdr_err *err);
/* Called with the key and the value of a slot, as the store has them. */
typedef pdr_rc (*pdr__chat_slot_fn)(pdr_str key, pdr_str value, pdr_err *err,
                                    void *arg);
/* The slots of a chat. */
PDR_MUST_CHECK pdr_rc pdr__slots_write(const pdr_chat_state *state,
                                       pdr_err *err, pdr__chat_slot_fn fn,
                                       void *arg);
/* As pdr_chat_load(), and its head without texts. */
PDR_MUST_CHECK pdr_rc pdr__chat_load(pdr_chat_state **out, pdr_head *head,
                                     pdr_store *store, const pdr_ref *ref,
                                     pdr_err *err);
/* As pdr_chat_state_store(), in the place of the session with this head; NULL:
 * none may be there. Fails with REVISION_CHANGED or SESSION_EXISTS if that is
 * not so any more. */
PDR_MUST_CHECK pdr_rc pdr__chat_state_store(const pdr_chat_state *state,
                                            pdr_store *store,
                                            const pdr_ref *ref,
                                            const pdr_head *old, int64_t now_ms,
                                            pdr_err *err);

/* --- restoring (apply.c) ---------------------------------------------------
 */

/* As pdr_chat_apply(), with the token. `fn` is called when nothing can fail any
 * more but itself; not in a dry run. NULL: nobody. */
PDR_MUST_CHECK pdr_rc pdr__chat_apply(pdr_chat_report **out, pdr_chat *chat,
                                      const pdr_chat_state *state,
                                      const pdr_chat_apply_opts *opts,
                                      pdr_err *err,
                                      pdr_rc (*fn)(pdr_err *err, void *arg),
                                      void *arg);
/* Fails with CHAT_IN_USE, NO_AGENTS: nothing can be restored into it. */
PDR_MUST_CHECK pdr_rc pdr__chat_is_new(const pdr_chat *chat, pdr_err *err);
/* What was at the boundary, as a document has it, but for messages and turns.
 * With the lock held, or the token. */
PDR_MUST_CHECK pdr_rc pdr__state_fill(pdr_chat_state *state,
                                      const pdr_chat *chat,
                                      const struct pdr__boundary *boundary,
                                      pdr_err *err);

/* --- channels (channel.c) --------------------------------------------------
 * With the token.
 */

struct pdr__channel *pdr__channel_find(const pdr_chat *chat, pdr_str key);
/* Fails with WRONG_CHANNEL if the channel of its key is of another kind. */
PDR_MUST_CHECK pdr_rc pdr__channel_fits(const pdr_chat *chat,
                                        const struct pdr__member *member,
                                        pdr_err *err);
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
/* What a kind of channel is told of a member. That of chat agents gets the
 * member as `arg`. */
pdr_chat_agent pdr__agent_of(const pdr_chat *chat,
                             const struct pdr__member *member);
pdr_chat_link pdr__link_of(pdr_chat *chat, struct pdr__channel *channel,
                           const pdr_chat_call *call);
/* Is it that of the member? Its key says so, unless its type says otherwise: a
 * key of others may be equal by accident. */
bool pdr__saved_channel_fits(const struct pdr__saved_channel *saved,
                             const struct pdr__member *m);
/* The saved channel of a member; SIZE_MAX: none. */
size_t pdr__saved_find(const struct pdr__saved_channel *list, size_t count,
                       const struct pdr__member *m);
/* The saved channel of a member by its kind, where only others could compute
 * the key: the only unused one of that kind, if no other member could own it.
 * Skips what `is_used` (NULL: nothing). SIZE_MAX: none. */
size_t pdr__saved_find_kind(const struct pdr__saved_channel *list, size_t count,
                            const bool *is_used, const pdr_chat *chat,
                            const struct pdr__member *m);
/* The key to save the channel under. One that cannot be computed here is kept.
 */
pdr_str pdr__saved_sk_key(const struct pdr__saved_channel *saved,
                          const struct pdr__member *m);
/* Its key, whoever made it. */
pdr_str pdr__saved_name(const struct pdr__saved_channel *saved);
/* Is its state in a form of others? Only those say no kind, also under a key of
 * ours. */
bool pdr__saved_channel_is_foreign(const struct pdr__saved_channel *saved);
/* What a channel has, from its saved state; without one, from an empty text.
 * Fails as `restore` of the kind, and with BAD_CHANNEL_STATE if a newer kind
 * wrote it. */
PDR_MUST_CHECK pdr_rc pdr__saved_restore(void **self,
                                         const struct pdr__saved_channel *saved,
                                         const pdr_channel_kind *kind,
                                         const pdr_chat_agent *agent,
                                         const pdr_chat_link *link,
                                         pdr_err *err);
void pdr__saved_channel_dispose(struct pdr__saved_channel *saved);
void pdr__channel_dispose(struct pdr__channel *channel);
/* One more owner of its values. */
struct pdr__saved_participant pdr__participant_copy(
    const struct pdr__saved_participant *p);

/* --- turns (turn.c) --------------------------------------------------------
 */

/* Let the caller hear of the last message that was said, if it was not told and
 * is to be seen, once the store has it. `is_last` of its turn: it is. Gives
 * what the caller returned, or as pdr__home_commit(). */
PDR_MUST_CHECK pdr_rc pdr__link_tell(pdr_chat_link *link, bool is_last,
                                     pdr_err *err);

/* --- a chat inside of a channel (save.c) -----------------------------------
 */

/* The chat as a native document; owned. As pdr_chat_save(); while the chat
 * around it lets it run, on the thread of that run, as it is just now. */
PDR_MUST_CHECK pdr_rc pdr__chat_to_value(pdr_value **out, pdr_chat *chat,
                                         pdr_err *err);
/* A turn that is open, as documents have it; *out is owned. */
PDR_MUST_CHECK pdr_rc pdr__open_turn(pdr_value **out,
                                     const struct pdr__turn_record *turn,
                                     pdr_err *err);
/* A document of Semantic Kernel for the state of a channel; owned. The states
 * of channels in it become theirs. Gets the link of an `exchange`. */
PDR_MUST_CHECK pdr_rc pdr__chat_exchange(pdr_value **out, pdr_chat_state *state,
                                         const pdr_chat_link *link,
                                         pdr_err *err);

/* --- the channel of chat agents (history.c) --------------------------------
 */

extern const pdr_channel_kind pdr__history_kind;

/* The message as the agent of this name is told it; *out is owned. NULL: none
 * of it is for that agent. (adapt.c) */
PDR_MUST_CHECK pdr_rc pdr__message_adapt(pdr_value **out,
                                         const pdr_value *message,
                                         const pdr_chat_adapter *adapter,
                                         pdr_str name, pdr_err *err);

/* How a restored one compares with the log: RESTORED if it is what the log
 * says, SHORTENED, or OUT_OF_SYNC from message `*seq` on. */
pdr_chat_finding pdr__history_compare(uint64_t *seq, const void *self);

#endif
