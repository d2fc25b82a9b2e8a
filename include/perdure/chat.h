/*
 * perdure/chat.h - several agents in one conversation.
 *
 *     pdr_chat_new ──► pdr_chat_join        agents
 *                  ──► pdr_chat_add         what people say
 *                  ──► pdr_chat_run         agents speak, one after the other
 *                  ──► pdr_chat_save        all of it, as one document
 *     pdr_chat_open ─► pdr_chat_apply       and here it is again
 *
 * A chat has one log: what was added and what agents said, in order. Each kind
 * of agent has a channel (perdure/sys/channel.h) that adapts the log to it; the
 * chat knows how far each has got, and what is in the log reaches every channel
 * once and in order, whatever fails in between. Agents are behaviour and never
 * saved: who restores a chat brings them along, in any number and order. A
 * channel whose agents are missing is kept (parked) and comes back with them.
 *
 * Messages of the log have shape PDR_SHAPE_SK, that of saved chats.
 *
 * One operation at a time: a second one is refused ("chat_busy"). Reading and
 * saving go on beside it.
 */
#ifndef PERDURE_CHAT_H
#define PERDURE_CHAT_H

#include <perdure/agent.h>
#include <perdure/codec.h>
#include <perdure/doc.h>

PDR_BEGIN_DECLS

typedef struct pdr_chat pdr_chat;
/* A kind of channel: perdure/sys/channel.h. */
typedef struct pdr_channel_kind pdr_channel_kind;

/* A message of the log of a chat. Borrowed for the call. */
typedef struct pdr_chat_message {
    uint64_t seq;           /* its number, from 1 without a gap */
    uint64_t turn;          /* of the turn that made it; 0: a caller added it */
    pdr_str origin;         /* key of the channel that made it, or absent */
    bool is_visible;        /* false: traffic with tools inside of a turn */
    const pdr_value *value; /* in PDR_SHAPE_SK */
} pdr_chat_message;

/* --- what is left out ----------------------------------------------------- */

/* A reducer of what an agent is sent, by number of messages. All zero: none. */
typedef struct pdr_reduction {
    unsigned target;    /* messages that stay; 0: no reducer */
    unsigned threshold; /* that there may be beyond, before it acts */
    /* The rest is for a reducer that sums up what it leaves out. A summary is a
     * message of role "assistant" whose metadata has "__summary__": true. */
    pdr_client *client;       /* shared; NULL: what is left out is gone */
    const char *instructions; /* copied; how to sum up; NULL: the library's */
    bool is_series; /* earlier summaries stay beside the new one; else they are
                       summed up too */
    bool may_fail;  /* if the model fails, nothing is left out this time; else
                       the turn fails */
} pdr_reduction;

/* --- who speaks next, and when it is over --------------------------------- */

/* What strategies get to see. All borrowed for the call. */
typedef struct pdr_chat_view {
    const pdr_chat *chat; /* for pdr_chat_agent_at(), pdr_chat_message_at() */
    size_t agent_count;
    uint64_t message_count;
    pdr_cancel *cancel; /* or NULL */
} pdr_chat_view;

/* A text for a template. */
typedef struct pdr_chat_argument {
    const char *name, *value;
} pdr_chat_argument;

/* A question to a model about the conversation: a template in which {{$NAME}}
 * stands for the argument of this name, in any letter case, or for
 *
 *     _agents_    names of all agents, with "," between them (who is next?)
 *     _agent_     name of the one that spoke (is it over?)
 *     _history_   what was said: a JSON array of {"Role","Name","Content"},
 *                 without messages that have no text
 *
 * An agent without a name is called by its id. All is copied, the client is
 * shared. */
typedef struct pdr_chat_prompt {
    pdr_client *client;
    const char *text; /* the template */
    const pdr_chat_argument *arguments;
    size_t argument_count;
    const char *agent_variable;   /* another name for "_agents_" or "_agent_";
                                     or NULL */
    const char *history_variable; /* another name for "_history_"; or NULL */
    bool has_names_only; /* _history_ is an array of authors, or roles of those
                            that have no author */
    pdr_reduction reduction; /* of what is in _history_; the log stays */
} pdr_chat_prompt;

/* Choose the agent that speaks next: its place in the chat. Any code but
 * PDR_OK, or a place that there is not, ends the run ("bad_selection"); a
 * function that was cancelled, or has no memory, ends it with that. Not asked
 * after a turn that was aborted, once: who was chosen for it is next. */
typedef pdr_rc (*pdr_select_fn)(size_t *out, const pdr_chat_view *view,
                                pdr_err *err, void *arg);

/* Is it over, now that agent `spoke` has spoken? */
typedef pdr_rc (*pdr_terminate_fn)(bool *out, const pdr_chat_view *view,
                                   size_t spoke, pdr_err *err, void *arg);

/* How a run ends, beside its limit of turns. */
typedef struct pdr_termination {
    enum {
        PDR_TERMINATE_NEVER = 0,
        PDR_TERMINATE_REGEX = 1,    /* the first text of the last message */
        PDR_TERMINATE_FUNCTION = 2, /* `fn` */
        PDR_TERMINATE_ALL = 3,      /* all of `parts`; of none: it is over */
        PDR_TERMINATE_ANY = 4,      /* one of `parts`; of none: it is not */
        PDR_TERMINATE_PROMPT = 5    /* what a model says to `prompt` */
    } kind;
    const char *const *patterns; /* copied; the last one NULL; searched in
                                    order, docs/formats/chats.md */
    pdr_terminate_fn fn;         /* borrowed with `arg`, must outlive it */
    void *arg;
    const pdr_chat_prompt *prompt; /* copied */
    /* Does the answer to `prompt` mean that it is over? Borrowed with `arg`;
     * NULL: any answer does. */
    pdr_rc (*parse)(bool *out, pdr_str answer, pdr_err *err, void *arg);
    const struct pdr_termination *parts; /* copied; `part_count` of them */
    size_t part_count;
    const char *const *agents; /* copied; ids, the last one NULL: after any
                                  other has spoken it is not over. NULL: after
                                  all */
} pdr_termination;

/* How a chat works. All copied; zero is the default. */
typedef struct pdr_chat_opts {
    pdr_str id;           /* of the chat; empty: a new one */
    pdr_select_fn select; /* NULL: one after the other */
    void *select_arg;     /* borrowed with `select`, must outlive the chat */
    const pdr_chat_prompt *select_prompt; /* instead of `select`: its answer is
                                             the name of an agent; or NULL */
    bool falls_back; /* `first` speaks if the model names no agent; else the run
                        fails */
    pdr_str first;   /* id of the agent that speaks first; or empty */
    pdr_termination ends;
    unsigned max_turns;   /* of one run; 0: 1 if `ends` never, else 99 */
    bool no_turns;        /* of one run, 0 */
    bool resets_complete; /* a run on a chat that is over begins anew; else
                             it is refused */
    const pdr_channel_kind *const *kinds; /* that channels may have, beside
                                             those of the library, also those
                                             of inner chats; the last one NULL;
                                             borrowed */
    const char *const *secrets; /* texts that no key and no state of a channel
                                   may have, as API keys; the last one NULL */
} pdr_chat_opts;

/**
 * @param[out] out  owned; release with pdr_chat_free(). NULL on failure.
 * @param opts      borrowed for the call; NULL means the defaults.
 * @return PDR_OK; PDR_EINVALID ("bad_pattern"; "bad_prompt": a template that
 *         cannot be filled in, or an argument with the name of a variable;
 *         "bad_reduction"; "bad_utf8"); PDR_EMISUSE ("bad_option": a kind of
 *         ending that there is not, or two ways to select; "missing_slot": an
 *         ending without its function, a prompt without client or template);
 *         PDR_ELIMIT ("too_deep": endings inside of endings); PDR_EIO
 *         ("no_randomness"); PDR_ENOMEM. @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_new(pdr_chat **out,
                                           const pdr_chat_opts *opts,
                                           pdr_err *err);

/** No operation may be under way. NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_chat_free(pdr_chat *chat);

/** Its id; a restore may change it. @return borrowed. @thread owner @since 0.1
 */
PDR_API pdr_str pdr_chat_id(const pdr_chat *chat);

/* --- agents --------------------------------------------------------------- */

/* How an agent is told what others said. Messages of its own stay as they are:
 * those under its name that are not of role "user". The log stays as it is. */
typedef struct pdr_chat_adapter {
    enum {
        PDR_TRAFFIC_KEEP = 0, /* of others with their tools */
        PDR_TRAFFIC_TEXT = 1, /* only the texts that come with it */
        PDR_TRAFFIC_DROP = 2  /* messages that have any are left out */
    } traffic;
    bool others_as_user; /* their answers have the role "user"; traffic that is
                            kept does not */
    bool has_names;      /* their texts begin with "NAME: ", for services that
                            take no names */
} pdr_chat_adapter;

/* How an agent takes part. */
typedef struct pdr_chat_joining {
    pdr_agent *agent;             /* shared; its id is not empty */
    const pdr_channel_kind *kind; /* NULL: "chat-history" */
    void *arg;                    /* for its kind; borrowed */
    pdr_reduction reduction;      /* for "chat-history" */
    pdr_chat_adapter adapter;     /* for "chat-history" */
} pdr_chat_joining;

/** Let an agent take part, after those that do. One whose id takes part already
 * changes nothing.
 * @return PDR_OK; PDR_EBUSY ("chat_busy"); PDR_EINVALID ("bad_reduction";
 *         "bad_utf8"; "literal_secret": its key has a secret in it);
 *         PDR_EVERSION ("table_version"); PDR_EMISUSE ("missing_slot";
 *         "bad_option": traffic that there is not); PDR_ENOMEM.
 *         @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_join(pdr_chat *chat,
                                            const pdr_chat_joining *joining,
                                            pdr_err *err);

/** @thread any @since 0.1 */
PDR_API size_t pdr_chat_agent_count(const pdr_chat *chat);
/** @return borrowed from `chat`; NULL if there is none. @thread any @since 0.1
 */
PDR_API pdr_agent *pdr_chat_agent_at(const pdr_chat *chat, size_t index);

/* --- a chat as one agent ---------------------------------------------------
 * An agent of the kind "aggregate" is a name, and its `arg` a pdr_aggregate: it
 * speaks by a run of a chat of its own, the inner one. Its model is never
 * asked. Aggregates of one name in a chat are the same one.
 *
 * The inner chat gets what is said outside, and keeps all that is said inside.
 * That it is over stays so from one turn to the next (`resets_complete`). It
 * lives in memory and is saved with the chat around it, as it was before the
 * turn that is under way. In a store it is committed with each of its messages:
 * whoever goes on after a crash makes what is left of that run, in the next
 * turn of the aggregate.
 */

/* What the others hear of a run of the inner chat. */
typedef enum pdr_aggregate_mode {
    PDR_AGGREGATE_FLAT = 0,  /* all that is to be seen, as it is said, and
                                pieces; from whoever said it */
    PDR_AGGREGATE_NESTED = 1 /* the last of it, from the aggregate; no pieces.
                                A run that fails says nothing */
} pdr_aggregate_mode;

/* Borrowed with all in it; must outlive the chat. */
typedef struct pdr_aggregate {
    /* Make the inner chat, with its agents. Called when the aggregate first
     * speaks, and when it is restored (then the chat has to be new), also in a
     * dry run. The chat is the library's from then on, but for one that is at
     * work, lives in a store or is that of another aggregate: this is refused
     * and stays whose it is. */
    pdr_rc (*make)(pdr_chat **out, pdr_err *err, void *arg);
    void *arg;
    pdr_aggregate_mode mode;
} pdr_aggregate;

/** The kind "aggregate". A turn of it fails, beside what pdr_chat_run() of the
 * inner chat gives, with PDR_EEXISTS ("chat_in_use": what `make` gave is not a
 * chat of its own, as the one around it), PDR_ENOTFOUND ("no_agents"),
 * PDR_ELIMIT ("too_deep": more than 8 chats inside of each other) or what
 * `make` returned. @return static. @thread any @since 0.1 */
PDR_API const pdr_channel_kind *pdr_channel_aggregate(void);

/* --- the conversation ------------------------------------------------------
 */

/* What a turn lets its caller hear. All borrowed for the call. */
typedef struct pdr_chat_event {
    uint64_t turn;
    pdr_str agent_id;
    const pdr_update *update;        /* a piece; or */
    const pdr_chat_message *message; /* a whole message, which is in the log */
} pdr_chat_event;

/* One operation. All borrowed for the call; zero is the default. */
typedef struct pdr_chat_call {
    pdr_cancel *cancel;
    int64_t now_ms; /* the time, since 1970 */
    /* Hears of pieces, and of each message that is to be seen. Another code
     * than PDR_OK ends the turn there. May be NULL; may not call the chat, but
     * to read. */
    pdr_rc (*fn)(const pdr_chat_event *event, pdr_err *err, void *arg);
    void *arg;
} pdr_chat_call;

/** Add what people said. Channels get it when they are next needed.
 * @param messages  shared; `count` objects in this shape; 0 is fine.
 * @return PDR_OK; PDR_EBUSY ("chat_busy"); PDR_EINVALID ("system_message": the
 *         role is "system", nothing is added; "wrong_kind": no object, or no
 *         role); PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_add(pdr_chat *chat,
                                           const pdr_value *const *messages,
                                           size_t count, pdr_shape shape,
                                           pdr_err *err);

/** The same for one text of a person. @param author  a name, or empty.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_add_text(pdr_chat *chat, pdr_str text,
                                                pdr_str author, pdr_err *err);

/**
 * Let one agent speak: a turn. What it said is in the log, also if it failed or
 * was cancelled half way; then the turn is aborted.
 *
 * @param agent_id  of one that takes part.
 * @param call      NULL: nobody listens.
 * @return PDR_OK; PDR_EBUSY ("chat_busy"); PDR_ENOTFOUND ("no_agent");
 *         PDR_EINVALID ("wrong_channel": the agent does not fit the channel of
 *         its key); PDR_EIO or that of the channel ("channel_failed": what is
 *         in the log could not be delivered; it is tried again with the next
 *         call); PDR_EINVALID ("bad_channel_state": its channel was parked by
 *         a newer kind); what the agent, its channel or `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_invoke(pdr_chat *chat, pdr_str agent_id,
                                              const pdr_chat_call *call,
                                              pdr_err *err);

/**
 * Let agents speak, one after the other, until it is over or the limit is
 * reached.
 *
 * @return as pdr_chat_invoke(); PDR_ENOTFOUND ("no_agents"); PDR_EMISUSE
 *         ("chat_complete": it is over, and `resets_complete` is not set);
 *         PDR_EINVALID ("bad_selection": nobody was chosen, and why, with
 *         what a model answered); PDR_ELIMIT ("pattern_limit"); what asking a
 *         model whether it is over gave: then the turn before has ended all the
 *         same. @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_run(pdr_chat *chat,
                                           const pdr_chat_call *call,
                                           pdr_err *err);

/** Deliver what waits, to all channels.
 * @return as pdr_chat_invoke(): the first failure; the others are tried all the
 *         same. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_sync(pdr_chat *chat,
                                            const pdr_chat_call *call,
                                            pdr_err *err);

/** Is an operation under way? Is the conversation over? @thread any @since 0.1
 */
PDR_API bool pdr_chat_is_active(const pdr_chat *chat);
PDR_API bool pdr_chat_is_complete(const pdr_chat *chat);
/** @return PDR_OK; PDR_EBUSY ("chat_busy"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_set_complete(pdr_chat *chat,
                                                    bool is_complete,
                                                    pdr_err *err);

/** How many messages the log has. @thread any @since 0.1 */
PDR_API uint64_t pdr_chat_message_count(const pdr_chat *chat);
/** Message `seq`, from 1. @param[out] out  borrowed until the chat is reset or
 * released. @return false if there is none. @thread any @since 0.1 */
PDR_API bool pdr_chat_message_at(pdr_chat_message *out, const pdr_chat *chat,
                                 uint64_t seq);

/** What an agent sees: the history of its channel, brought up to date first.
 * One that never spoke has none.
 * @param[out] out  owned; an array of messages in PDR_SHAPE_SK, the newest
 *                  first, or with `oldest_first` the oldest. NULL on failure.
 * @return as pdr_chat_invoke(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_read_as(pdr_value **out, pdr_chat *chat,
                                               pdr_str agent_id,
                                               bool oldest_first,
                                               const pdr_chat_call *call,
                                               pdr_err *err);

/** Begin anew: no messages, no channels, nobody has spoken. Agents stay.
 * @param left  may be NULL; gets a line for each channel that could not be
 *              cleared at its service: its key and why.
 * @return PDR_OK, also then; PDR_EBUSY ("chat_busy"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_reset(pdr_chat *chat, pdr_buf *left,
                                             const pdr_chat_call *call,
                                             pdr_err *err);

/* --- saved chats ------------------------------------------------------------
 */

/* How a saved chat is spelled: docs/formats/chats.md. */
typedef enum pdr_chat_form {
    PDR_CHAT_NATIVE = 0, /* ours: nothing is left out */
    PDR_CHAT_SK = 1,     /* what Semantic Kernel reads and writes */
    PDR_CHAT_PLAIN = 2,  /* "history" and "channels", states as text */
    PDR_CHAT_ENCODED = 3 /* the same in base64 */
} pdr_chat_form;

/* A key for the MAC of a native document. */
typedef struct pdr_chat_key {
    pdr_str id;    /* what the key is called, 1 to 128 bytes */
    pdr_str bytes; /* 32 or more; empty: none */
} pdr_chat_key;

typedef struct pdr_chat_save_opts {
    pdr_chat_form form;
    bool is_encoded; /* native: history and states in base64 */
    bool is_strict;  /* fail if anything is left out ("cannot_carry") */
    pdr_chat_key key;
    /* Called for each thing that the form has no place for. May be NULL. */
    pdr_doc_finding_fn fn;
    void *arg;
} pdr_chat_save_opts;

/**
 * Write a chat. While a turn is under way: as it was before that turn.
 *
 * @param opts  borrowed for the call; NULL: native.
 * @param fn    borrowed with `arg`; called with the bytes in order.
 * @return PDR_OK; PDR_EINVALID ("cannot_carry": something is left out, and
 *         `is_strict`; or Semantic Kernel cannot read a message, with its path;
 *         "bad_channel_state": a channel gave no state that the form can hold;
 *         "literal_secret"); PDR_ELIMIT ("too_deep": more levels than the
 *         reader of Semantic Kernel takes); PDR_ENOMEM; what `fn` returned.
 * @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_save(pdr_chat *chat,
                                            const pdr_chat_save_opts *opts,
                                            pdr_err *err, pdr_write_fn fn,
                                            void *arg);

/* A saved chat that was read. Immutable. */
typedef struct pdr_chat_state pdr_chat_state;

typedef struct pdr_chat_open_opts {
    const pdr_chat_key *keys; /* for MACs; `key_count` of them. With keys, a
                                 native chat needs a MAC */
    size_t key_count;
    bool needs_mac;      /* refuse what has none, in other forms too */
    size_t max_bytes;    /* of the document; 0: 1 GiB */
    size_t max_messages; /* 0: 10,000,000 */
} pdr_chat_open_opts;

/**
 * Read a saved chat, of whatever form; no chat is touched.
 *
 * @param[out] out  owned; release with pdr_chat_state_free(). NULL on failure.
 * @param fn        borrowed with `arg` for the call.
 * @return PDR_OK; PDR_EINVALID ("bad_chat": it is not a saved chat, with the
 *         path of what is wrong; what pdr_json_read() gives); PDR_EVERSION
 *         ("chat_version"); PDR_ECORRUPT ("bad_mac", "bad_chain");
 *         PDR_ELIMIT; PDR_ENOMEM; what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_open(pdr_chat_state **out,
                                            const pdr_chat_open_opts *opts,
                                            pdr_err *err, pdr_read_fn fn,
                                            void *arg);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_chat_state_free(pdr_chat_state *state);

/** @thread const @since 0.1 */
PDR_API pdr_chat_form pdr_chat_state_form(const pdr_chat_state *state);

/* What a saved chat is. Borrowed from the state; absent texts are absent. */
typedef struct pdr_chat_info {
    pdr_str id; /* of the chat */
    uint64_t epoch, revision;
    uint64_t turn;    /* the number of the last one; 0: there was none */
    bool is_complete; /* the conversation is over */
} pdr_chat_info;

/** @param[out] out  all of it is filled. @thread const @since 0.1 */
PDR_API void pdr_chat_state_info(pdr_chat_info *out,
                                 const pdr_chat_state *state);

/* Somebody who took part. Borrowed from the state; absent texts are absent. */
typedef struct pdr_chat_participant {
    pdr_str id, name, type;
    pdr_str key; /* "k2:..." of its channel */
} pdr_chat_participant;

/** @thread const @since 0.1 */
PDR_API size_t pdr_chat_state_participant_count(const pdr_chat_state *state);
/** @return false if there is none. @thread const @since 0.1 */
PDR_API bool pdr_chat_state_participant(pdr_chat_participant *out,
                                        const pdr_chat_state *state,
                                        size_t index);
/** The log, as pdr_chat_message_count() and pdr_chat_message_at().
 * @thread const @since 0.1 */
PDR_API uint64_t pdr_chat_state_message_count(const pdr_chat_state *state);
PDR_API bool pdr_chat_state_message(pdr_chat_message *out,
                                    const pdr_chat_state *state, uint64_t seq);

/* How a turn ended. */
typedef enum pdr_turn_end {
    PDR_TURN_OPEN = 0,   /* it has not */
    PDR_TURN_ENDED = 1,  /* the agent said what it had to say */
    PDR_TURN_ABORTED = 2 /* it failed, was cancelled, or its process died */
} pdr_turn_end;

/* A turn. Borrowed from what it was asked of. */
typedef struct pdr_chat_turn {
    uint64_t number; /* from 1 */
    pdr_str agent_id;
    pdr_turn_end end;
    pdr_str why; /* it was aborted; or absent */
} pdr_chat_turn;

/** The turns that the document tells of, in order. A file of Semantic Kernel
 * tells of none. @thread const @since 0.1 */
PDR_API size_t pdr_chat_state_turn_count(const pdr_chat_state *state);
/** @return false if there is none. @thread const @since 0.1 */
PDR_API bool pdr_chat_state_turn(pdr_chat_turn *out,
                                 const pdr_chat_state *state, size_t index);

/* A saved channel. Borrowed from the state; absent texts are absent. */
typedef struct pdr_chat_channel {
    pdr_str key;     /* "k2:..."; else that of Semantic Kernel */
    pdr_str kind;    /* as in "chat-history"; else the name of its type */
    uint64_t cursor; /* messages of the log that it has had */
} pdr_chat_channel;

/** @thread const @since 0.1 */
PDR_API size_t pdr_chat_state_channel_count(const pdr_chat_state *state);
/** @return false if there is none. @thread const @since 0.1 */
PDR_API bool pdr_chat_state_channel(pdr_chat_channel *out,
                                    const pdr_chat_state *state, size_t index);

/** Write it in the form that `opts` says, as pdr_chat_save() does. States of
 * channels whose kind is not the library's stay as they are.
 * @return as pdr_chat_save(). @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_chat_state_save(const pdr_chat_state *state, const pdr_chat_save_opts *opts,
                    pdr_err *err, pdr_write_fn fn, void *arg);

/** Write it as it was read, byte for byte. @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_state_write(const pdr_chat_state *state,
                                                   pdr_err *err,
                                                   pdr_write_fn fn, void *arg);

/* Which of the five cases it was. */
typedef enum pdr_chat_case {
    PDR_CHAT_EQUIVALENT = 1, /* the agents need the channels that were saved */
    PDR_CHAT_ENHANCED = 2,   /* and others, which get the log when they begin */
    PDR_CHAT_REDUCED = 3,    /* and not all: the rest is parked */
    PDR_CHAT_MIXED = 4       /* both */
} pdr_chat_case;

/* What became of a channel, or what was noticed. */
typedef enum pdr_chat_finding {
    PDR_CHAT_RESTORED = 0,
    PDR_CHAT_MATCHED_BY_KIND = 1, /* restored, though its key is another one */
    PDR_CHAT_TO_CREATE = 2,       /* it begins when its agent speaks */
    PDR_CHAT_PARKED = 3,
    PDR_CHAT_REBUILT = 4,       /* its state could not be used: as TO_CREATE */
    PDR_CHAT_OUT_OF_SYNC = 5,   /* it is not what the log says; from `seq` on */
    PDR_CHAT_SHORTENED = 6,     /* its beginning was reduced */
    PDR_CHAT_DANGLING_CALL = 7, /* at the end of the log, without a result */
    PDR_CHAT_NO_AGENT = 8,      /* a participant that nobody is now */
    PDR_CHAT_OPEN_TURN = 9      /* turn `seq` of an agent had no end: aborted */
} pdr_chat_finding;

/** What they are called in reports: "reduced", "to-create".
 * @return static. @thread any @since 0.1 */
PDR_API const char *pdr_chat_case_name(pdr_chat_case which);
PDR_API const char *pdr_chat_finding_name(pdr_chat_finding what);

typedef struct pdr_chat_report_row {
    pdr_chat_finding what;
    pdr_str key;    /* of the channel; of a call or participant its id */
    pdr_str kind;   /* of the channel, as far as it is known; or a name */
    uint64_t seq;   /* of a message, or 0 */
    pdr_str why;    /* or empty */
    pdr_str inside; /* of a chat inside: the key of its channel, after those of
                       the channels around it, with spaces between; or absent */
} pdr_chat_report_row;

typedef struct pdr_chat_report {
    pdr_chat_case which;
    size_t count;
    const pdr_chat_report_row *rows;
} pdr_chat_report;

typedef struct pdr_chat_apply_opts {
    bool rebuilds; /* a channel whose state cannot be used begins anew from the
                      log, and does not make the restore fail; nor, if it is
                      parked, a turn of an agent that joins later */
    bool is_dry;   /* only say what would be */
    pdr_cancel *cancel;
    int64_t now_ms;
} pdr_chat_apply_opts;

/**
 * Put a saved chat into a new one: all of it, or nothing.
 *
 * @param[out] out  owned; release with pdr_chat_report_free(); NULL on failure.
 *                  May be NULL.
 * @param chat   has its agents, and nothing else yet.
 * @param state  may be applied to any number of chats.
 * @return PDR_OK; PDR_EEXISTS ("chat_in_use": it has messages or channels);
 *         PDR_ENOTFOUND ("no_agents"); PDR_EBUSY ("chat_busy"); PDR_EINVALID
 *         ("bad_channel_state", with the key of the channel); what a channel
 *         returned; PDR_ENOMEM. In each of these cases `chat` is as it was.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_apply(pdr_chat_report **out,
                                             pdr_chat *chat,
                                             const pdr_chat_state *state,
                                             const pdr_chat_apply_opts *opts,
                                             pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_chat_report_free(pdr_chat_report *report);

PDR_END_DECLS

#endif
