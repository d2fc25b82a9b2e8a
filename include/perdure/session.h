/*
 * perdure/session.h - sessions: the state of one conversation, and no more.
 *
 * A session is a bag, a few ids, and whatever else stood in its document. It
 * holds no agent, provider, client or callback: it is whole as soon as it was
 * read, and any codec writes it, through the same two functions:
 *
 *     pdr_value -> pdr_session_from_value() -> bag, ids, history
 *     pdr_value <- pdr_session_to_value()   <-
 *
 * Several programs write sessions, each in a shape of its own. The shape is
 * recognised by content and kept: what nobody changed is the same, byte for
 * byte, when it is written. Another shape is made on request only, with a
 * report of what it cannot hold. The page docs/formats/sessions.md shows all
 * shapes.
 *
 * Functions that change a session or read what can change are safe from several
 * threads, as those of its bag are.
 */
#ifndef PERDURE_SESSION_H
#define PERDURE_SESSION_H

#include <perdure/bag.h>
#include <perdure/codec.h>
#include <perdure/content.h>
#include <perdure/doc.h>

PDR_BEGIN_DECLS

typedef struct pdr_session pdr_session;

/* --- shapes and kinds ---------------------------------------------------- */

/* Who wrote the document, and so how it is spelled. */
typedef enum pdr_session_shape {
    PDR_SESSION_NATIVE = 0, /* ours: the .NET members, and `perdure` first */
    PDR_SESSION_DOTNET = 1,
    PDR_SESSION_PYTHON = 2, /* 1.22 and later, and all that we read */
    PDR_SESSION_PYTHON_OLD =
        3, /* to write for 1.13 to 1.21; never recognised */
    PDR_SESSION_DOTNET_THREAD = 4, /* .NET before sessions had a bag */
    PDR_SESSION_PYTHON_THREAD = 5  /* Python before sessions had a bag */
} pdr_session_shape;

/** "native", "dotnet", "python", "python-1.21", "dotnet-thread",
 * "python-thread"; "?" for what is none. @thread any @since 0.1 */
PDR_API const char *pdr_session_shape_name(pdr_session_shape shape);

/* One row per kind: name, how a native document calls it. Later kinds go to the
 * end. */
#define PDR_SESSION_KIND_MAP(X)         \
    X(UNSTATED, "unstated")             \
    X(CLIENT, "client")                 \
    X(DURABLE, "durable")               \
    X(A2A, "a2a")                       \
    X(COPILOT_STUDIO, "copilot-studio") \
    X(GITHUB_COPILOT, "github-copilot") \
    X(WORKFLOW, "workflow")             \
    X(PYTHON, "python")                 \
    X(CHAT, "chat")

typedef enum pdr_session_kind {
#define PDR_SESSION_KIND_ENUM(name, text) PDR_SESSION_KIND_##name,
    PDR_SESSION_KIND_MAP(PDR_SESSION_KIND_ENUM)
#undef PDR_SESSION_KIND_ENUM
} pdr_session_kind;

/** As in PDR_SESSION_KIND_MAP; "?" for what is none. @thread any @since 0.1 */
PDR_API const char *pdr_session_kind_name(pdr_session_kind kind);

/* What a value looks like, when it is asked for sessions. */
typedef enum pdr_looks {
    PDR_LOOKS_OTHER = 0, /* nothing that we know */
    PDR_LOOKS_SESSION,   /* one session */
    PDR_LOOKS_LIST,      /* an array with at least one session */
    PDR_LOOKS_MAP,       /* an object whose members all are sessions, with
                            metadata or without, or state documents */
    PDR_LOOKS_WRAPPER,   /* a session with metadata, see metadata.h */
    PDR_LOOKS_WRAPPERS,  /* an array with at least one wrapper */
    PDR_LOOKS_STATE,     /* a durable state document, see doc.h */
    PDR_LOOKS_MESSAGES,  /* a response, message, update or history, or an
                            array of them */
    PDR_LOOKS_TOKEN      /* the JSON of a continuation token */
} pdr_looks;

/** What is it? Looks at names and kinds of members of the first level, and of
 * the elements of an array; takes no memory. @param value  NULL is OTHER.
 * @thread const @since 0.1 */
PDR_API pdr_looks pdr_session_looks(const pdr_value *value);

/** What it looks like in a few words, as in "an agent response"; for errors.
 * Static. @thread const @since 0.1 */
PDR_API const char *pdr_session_looks_text(const pdr_value *value);

/* --- making, reading, writing -------------------------------------------- */

/* A session that is to be made. All borrowed for the call; zero everywhere is a
 * native session of no stated kind with a new id. */
typedef struct pdr_session_parts {
    pdr_session_shape shape; /* NATIVE, DOTNET or PYTHON */
    pdr_session_kind kind;   /* PYTHON shape: PYTHON, DURABLE, or UNSTATED for
                                PYTHON; native and .NET: any but PYTHON, CHAT */
    pdr_str id;         /* 1 to 1,024 bytes, not beginning with '@'; empty: a
                           new UUID. The .NET shape has no place for it. */
    pdr_str service_id; /* of the conversation at a service; empty: none.
                           Makes an unstated session one of kind CLIENT. */
    pdr_str agent, key; /* DURABLE: name of the agent (1 to 128 bytes, no '@')
                           and key (1 to 1,024; empty: 32 hex digits) */
} pdr_session_parts;

/** A new session.
 * @param[out] out  owned; release with pdr_session_free(). NULL on failure.
 * @param parts     NULL: the defaults.
 * @return PDR_OK; PDR_EINVALID with reason "bad_id", "bad_utf8", or
 *         "session_kind" if the shape has no such kind or the kind no such
 *         part; PDR_EIO (reason "no_randomness"); PDR_ENOMEM.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_new(pdr_session **out,
                                              const pdr_session_parts *parts,
                                              pdr_err *err);

/**
 * The session that a document is. Nothing is decoded or copied.
 *
 * @param[out] out  owned; NULL on failure.
 * @param value     shared; not NULL. One session, not a list.
 * @return PDR_OK; PDR_EINVALID with reason "session_not_object",
 *         "session_unknown_shape" (the text says what it looks like),
 *         "session_member" for an id or bag of the wrong kind, with its path,
 *         "bag_not_object"; PDR_EVERSION (reason "session_version") for a
 *         native document of another major version; PDR_ELIMIT with reason
 *         "too_deep" (more than 128 levels), "too_many_slots"; PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_from_value(pdr_session **out,
                                                     const pdr_value *value,
                                                     pdr_err *err);

/** As pdr_session_from_value(), for a document that must be one of this shape
 * and kind, whatever else it looks like: what the shape and kind need and it
 * lacks is "session_member".
 * @param shape  DOTNET, PYTHON or NATIVE. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_from_value_as(pdr_session **out,
                                                        const pdr_value *value,
                                                        pdr_session_shape shape,
                                                        pdr_session_kind kind,
                                                        pdr_err *err);

/** The document of a session as it is now, in the shape that it has. One point
 * in time, bag included.
 * @param[out] out  owned; NULL on failure; shares what did not change.
 * @return PDR_OK; PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_to_value(pdr_value **out,
                                                   pdr_session *session,
                                                   pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_session_free(pdr_session *session);

/* --- what it holds ------------------------------------------------------- */

/** Shape of the document. @thread any @since 0.1 */
PDR_API pdr_session_shape pdr_session_get_shape(const pdr_session *session);

/** Kind of the session; that of an unstated one changes when it gets an id of a
 * service. @thread any @since 0.1 */
PDR_API pdr_session_kind pdr_session_get_kind(pdr_session *session);

/** The id of the session itself: `session_id`, or `perdure.id` of a native
 * document and of one of .NET that a conversion made; empty if the document has
 * none, as what .NET programs write. Half a surrogate pair in it is three
 * bytes, as in names of members.
 * @return borrowed from `session`; never changes. @thread any @since 0.1 */
PDR_API pdr_str pdr_session_id(const pdr_session *session);

/** The agent and the key of a durable session; false for others.
 * @param[out] agent  borrowed from `session`, without "dafx-"; may be NULL.
 * @param[out] key    borrowed from `session`; may be NULL.
 * @thread any @since 0.1 */
PDR_API bool pdr_session_durable_id(pdr_str *agent, pdr_str *key,
                                    const pdr_session *session);

/** The two parts of "@dafx-agent@key" or "@agent@key"; the key may hold '@'.
 * @param[out] agent,key  borrowed from `text`.
 * @param[out] prefixed   was "dafx-" there? May be NULL.
 * @return PDR_OK; PDR_EINVALID (reason "bad_id"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_durable_id_read(pdr_str *agent, pdr_str *key,
                                                  bool *prefixed, pdr_str text,
                                                  pdr_err *err);

/** The id that a durable session has in a store: "@dafx-agent@key", with the
 * ASCII letters of the agent's name in lower case.
 * @param out    gets it appended.
 * @param agent  without "dafx-"; 1 to 128 bytes, no '@'.
 * @param key    1 to 1,024 bytes, taken as it is; empty: 32 new hex digits.
 * @return PDR_OK; PDR_EINVALID (reason "bad_id", "bad_utf8"); PDR_EIO (reason
 *         "no_randomness"); PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_durable_id_write(pdr_buf *out, pdr_str agent,
                                                   pdr_str key, pdr_err *err);

/**
 * The id of the conversation at a service: a string, or for Python and A2A
 * sessions an object with several.
 *
 * @param[out] out  owned; NULL if there is none. Blank ids and the sentinels
 *                  that stand for "history is local" are none.
 * @return PDR_OK; PDR_ENOMEM.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_service_id(pdr_value **out,
                                                     pdr_session *session,
                                                     pdr_err *err);

/** Set it. A set id can be replaced, but not become blank or nothing again.
 * @param id  shared; a string, or an object where the session can hold one;
 *            NULL or a blank string on a session without id changes nothing.
 * @return PDR_OK; PDR_EINVALID with reason "service_id" (blank, a sentinel, or
 *         no id for this kind); "bag_sealed" for thread-era documents;
 *         PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_set_service_id(pdr_session *session,
                                                         const pdr_value *id,
                                                         pdr_err *err);

/** The bag. @return borrowed from `session`. That of a thread-era document is
 * empty and sealed: convert the session first. @thread any @since 0.1 */
PDR_API pdr_bag *pdr_session_bag(pdr_session *session);

/* --- history ------------------------------------------------------------- */

/** The shape that its messages have. @thread any @since 0.1 */
PDR_API pdr_shape pdr_session_message_shape(const pdr_session *session);

/** The key of its history slot: "InMemoryChatHistoryProvider" or "in_memory";
 * static. @thread any @since 0.1 */
PDR_API const char *pdr_session_history_key(const pdr_session *session);

/** The messages that the session itself keeps.
 * @param[out] out  owned; an array, as it is now; NULL if there is no history
 *                  or it is null.
 * @return PDR_OK; PDR_EINVALID (reason "history_shape", with the path) if the
 *         slot holds something else. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_history(pdr_value **out,
                                                  pdr_session *session,
                                                  pdr_err *err);

/** Add messages at the end of the history, in one step; makes the slot if there
 * is none. What it costs does not depend on the length of the history.
 * @param messages  shared; `count` objects in the session's message shape.
 * @return as pdr_session_history() and pdr_bag_set(); PDR_EINVALID (reason
 *         "wrong_kind") for what is no object. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_session_add_messages(pdr_session *session, const pdr_value *const *messages,
                         size_t count, pdr_err *err);

/*
 * A program may keep a history of its own under another key of the bag. In the
 * following, `key` NULL is the session's key.
 */

/** As pdr_session_history(), under this key. Without a session (NULL) it is an
 * empty list. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_history_at(pdr_value **out,
                                                     pdr_session *session,
                                                     const char *key,
                                                     pdr_err *err);

/** As pdr_session_add_messages(), under this key. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_add_messages_at(
    pdr_session *session, const char *key, const pdr_value *const *messages,
    size_t count, pdr_err *err);

/** Replace the history, or make it. Other members of the slot stay; what is not
 * an object is replaced.
 * @param messages  shared; an array of objects.
 * @return PDR_OK; PDR_EINVALID (reason "wrong_kind") for anything else, NULL
 *         included; as pdr_bag_set(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_set_history(pdr_session *session,
                                                      const char *key,
                                                      const pdr_value *messages,
                                                      pdr_err *err);

/* --- from shape to shape ------------------------------------------------- */

/* How to convert. Zero everywhere: to the native shape. */
typedef struct pdr_session_convert_opts {
    pdr_session_shape to; /* NATIVE, DOTNET, PYTHON, PYTHON_OLD */
    pdr_str id;           /* for a session that has none; empty: a new UUID */
    pdr_str provider_key; /* thread-era documents: the key of the state of their
                             one provider; empty: "AIContextProvider" */
} pdr_session_convert_opts;

/**
 * The same session in another shape. What the target has no member for goes
 * into its member `perdure`, and comes back from there; each such thing, and
 * each that programs of the target will not understand, is reported.
 *
 * @param[out] out  owned; a new session. NULL on failure.
 * @param opts      borrowed for the call; NULL means the defaults.
 * @param fn        borrowed with `arg` for the call; NULL: no report. Rules are
 *                  in docs/formats/sessions.md.
 * @return PDR_OK; PDR_EINVALID with reason "cannot_carry" for what cannot be
 *         said in the target at all, with its path, "bad_id"; PDR_ELIMIT
 *         (reason "too_deep") for more than 64 levels in the .NET shape;
 *         PDR_EIO (reason "no_randomness"); PDR_ENOMEM; what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_session_convert(pdr_session **out, pdr_session *session,
                    const pdr_session_convert_opts *opts, pdr_err *err,
                    pdr_doc_finding_fn fn, void *arg);

/**
 * The conversation of a session as a new state document (doc.h), for a durable
 * agent to go on with. What users and systems say up to the next answer is a
 * request; what assistants and tools say up to the next question is its
 * response, and both have a new correlation id. Each request gets a response:
 * one that nobody answered gets an empty one, so that nobody waits for it or
 * runs it again, and the model sees it with the next request. There is no way
 * back: what else the session holds is lost, and reported.
 *
 * @param[out] out  owned; NULL on failure.
 * @param now       ticks, see datetime.h; the time of turns whose messages say
 *                  none.
 * @param fn        borrowed with `arg` for the call; NULL: no report. All
 *                  findings are warnings of the rule "not-carried".
 * @return PDR_OK; PDR_EINVALID with reason "session_kind" (it is durable),
 *         "bag_sealed" (a thread-era document), "history_shape" (also if there
 *         are no messages), "wrong_kind" for a message that is no object and
 *         "no_such_kind" for one whose role is unknown, with their path,
 *         "datetime_range" for `now`; PDR_ELIMIT (reason "too_deep"); PDR_EIO
 *         (reason "no_randomness"); PDR_ENOMEM; what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_to_state(pdr_value **out,
                                                   pdr_session *session,
                                                   int64_t now, pdr_err *err,
                                                   pdr_doc_finding_fn fn,
                                                   void *arg);

/* --- lists --------------------------------------------------------------- */

/* A list of sessions in memory: an array, or an object of sessions by name. */
typedef struct pdr_session_list pdr_session_list;

/** An empty array. @param[out] out  owned; release with
 * pdr_session_list_free(). NULL on failure. @return PDR_OK or PDR_ENOMEM.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_list_new(pdr_session_list **out,
                                                   pdr_err *err);

/** The list that a document is. Kinds and shapes may be mixed, null elements
 * stay null. The levels of a session count from its own root, so read a list
 * with one level more (`max_depth`).
 * @param value     shared; not NULL. An array with at least one session, an
 *                  empty array, or an object of sessions. In the last, a
 *                  wrapper or a state document is an element that is no
 *                  session.
 * @param tolerant  keep an element that is no session as it is and report it to
 *                  `fn`, instead of failing.
 * @return PDR_OK; as pdr_session_from_value(), with the index or name of the
 *         element in text and path; PDR_EINVALID (reason
 *         "session_unknown_shape") if it is no list; what `fn` returned.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_list_from_value(
    pdr_session_list **out, const pdr_value *value, bool tolerant, pdr_err *err,
    pdr_doc_finding_fn fn, void *arg);

/** NULL is fine; its sessions go with it. @thread owner @since 0.1 */
PDR_API void pdr_session_list_free(pdr_session_list *list);

/** Elements, nulls and those that are no sessions included.
 * @thread owner @since 0.1 */
PDR_API size_t pdr_session_list_count(const pdr_session_list *list);

/** Session `index`. @return borrowed from `list`; NULL if there is none, or it
 * is null or no session. @thread owner @since 0.1 */
PDR_API pdr_session *pdr_session_list_at(const pdr_session_list *list,
                                         size_t index);

/** The name of element `index` in an object of sessions: a string. @return
 * borrowed from `list`; NULL in an array. @thread owner @since 0.1 */
PDR_API const pdr_value *pdr_session_list_name(const pdr_session_list *list,
                                               size_t index);

/** Add a session at the end of an array.
 * @param session  taken, also on failure; NULL adds a null.
 * @return PDR_OK; PDR_EINVALID (reason "wrong_kind") if it is an object;
 *         PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_list_add(pdr_session_list *list,
                                                   pdr_session *session,
                                                   pdr_err *err);

/** The document. What did not change is as it was read.
 * @param[out] out  owned; NULL on failure.
 * @return as pdr_session_to_value(). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_list_to_value(pdr_value **out,
                                                        pdr_session_list *list,
                                                        pdr_err *err);

/* --- streams of sessions ------------------------------------------------- */

/*
 * A reader gives one session after the other and holds one in memory, whatever
 * the length of the stream: an array, an object of sessions, a single session,
 * or with PDR_SEQUENCE documents one after another, each a session or a list.
 */
typedef struct pdr_session_reader pdr_session_reader;

/* What the reader stands at. */
typedef struct pdr_session_item {
    uint64_t index;        /* from 0, over the whole stream */
    const pdr_value *name; /* borrowed until the next call; in an object of
                              sessions, else NULL */
    pdr_value *value;      /* owned by the caller: the element as it is, set
                              only if it is no session and the reader is
                              tolerant, or if it is null */
} pdr_session_item;

/** @param[out] out  owned; release with pdr_session_reader_free(). NULL on
 *                  failure.
 * @param opts      copied; NULL means the defaults; flags as for
 *                  pdr_walk_new().
 * @param tolerant  give elements that are no sessions as values.
 * @param fn        borrowed with `arg`, must outlive the reader.
 * @return as pdr_walk_new(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_reader_new(
    pdr_session_reader **out, const pdr_codec *codec, const pdr_read_opts *opts,
    bool tolerant, pdr_err *err, pdr_read_fn fn, void *arg);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_session_reader_free(pdr_session_reader *reader);

/** Look ahead: is the reader in an object of sessions by name, or does one come
 * next? What is no such object, as far as its beginning tells, is not read
 * whole by this; pdr_session_reader_next() does that.
 * @return as pdr_walk_next(). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_session_reader_look(
    bool *by_name, pdr_session_reader *reader, pdr_err *err);

/** The next one. What was wrong once stays wrong.
 * @param[out] out   owned; NULL for a null, for what is no session, at the end.
 * @param[out] item  may be NULL, then such values are freed; `value` is NULL
 *                   beside a session, and at the end.
 * @param[out] end   is it the end?
 * @return as pdr_walk_next() and pdr_session_from_value(), with the index in
 *         the text. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_session_reader_next(pdr_session **out, pdr_session_item *item, bool *end,
                        pdr_session_reader *reader, pdr_err *err);

PDR_END_DECLS

#endif
