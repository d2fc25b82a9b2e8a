/*
 * perdure/sys/channel.h - for authors of channels. May change in a minor
 * release.
 *
 * A channel brings the messages of a chat to one kind of agent, and its answers
 * back. Agents with equal keys share one. The chat keeps the log and how far
 * each channel has got; a channel keeps what its kind needs: a list, the id of
 * a thread at a service, a chat inside.
 *
 *     key ──► create | restore ──► receive ... invoke ... ──► save | reset
 *
 * Messages are of shape PDR_SHAPE_SK, immutable and shared.
 */
#ifndef PERDURE_SYS_CHANNEL_H
#define PERDURE_SYS_CHANNEL_H

#include <perdure/buf.h>
#include <perdure/chat.h>

PDR_BEGIN_DECLS

#define PDR_CHANNEL_KIND_VERSION 1

/* What a channel can do with its chat while it is called. */
typedef struct pdr_chat_link pdr_chat_link;

/** Message `seq` of the log. @return false if there is none, or it is not for
 * this channel yet. @thread owner @since 0.1 */
PDR_API bool pdr_chat_link_message(pdr_chat_message *out,
                                   const pdr_chat_link *link, uint64_t seq);

/** The number after the last message that is for this channel.
 * @thread owner @since 0.1 */
PDR_API uint64_t pdr_chat_link_end(const pdr_chat_link *link);

/** For `invoke`: a whole message that the agent made. It is in the log when
 * this returns.
 * @param message  shared; in PDR_SHAPE_SK.
 * @return PDR_OK; PDR_EINVALID ("wrong_kind"); what the listener of the chat
 *         returned; PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_link_say(pdr_chat_link *link,
                                                const pdr_value *message,
                                                pdr_err *err);

/** For `invoke`: a piece of a message on its way. For the listener alone.
 * @return what it returned. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_link_update(pdr_chat_link *link,
                                                   const pdr_update *update,
                                                   pdr_err *err);

/** The caller's, or NULL. @thread owner @since 0.1 */
PDR_API pdr_cancel *pdr_chat_link_cancel(const pdr_chat_link *link);

/** The time, since 1970. @thread owner @since 0.1 */
PDR_API int64_t pdr_chat_link_now(const pdr_chat_link *link);

/* Who takes part. Borrowed. */
typedef struct pdr_chat_agent {
    const pdr_chat *chat; /* that it takes part in */
    pdr_agent *agent;
    pdr_session *session; /* of this agent in this chat: the state of its
                             providers is in its bag. NULL while no turn is
                             under way */
    void *arg;            /* as it joined with */
} pdr_chat_agent;

/* A kind of channel. `self` is what `create` or `restore` gave. Functions that
 * fail leave the channel as it was. */
struct pdr_channel_kind {
    uint32_t version;       /* PDR_CHANNEL_KIND_VERSION that it was built for */
    const char *id;         /* static; "chat-history", "x-vendor.kind" */
    uint32_t state_version; /* that `save` writes; older ones can be read */

    /* Required. Append the parts of the key after the kind: texts that are the
     * same in any process, and no secrets; each ends with a NUL. Agents whose
     * parts are equal share a channel. */
    pdr_rc (*key)(pdr_buf *out, const pdr_chat_agent *agent, pdr_err *err);
    /* Optional. The same for files of Semantic Kernel, all parts; and the full
     * names of the types of agent and channel. NULL: such a file leaves the
     * channel out. */
    pdr_rc (*exchange_key)(pdr_buf *out, const pdr_chat_agent *agent,
                           pdr_err *err);
    const char *agent_type, *channel_type;

    /* Required. A new one, which has received nothing. */
    pdr_rc (*create)(void **self, const pdr_chat_agent *agent,
                     pdr_cancel *cancel, pdr_err *err);
    /* Required. The one that `save` wrote, or, if `is_exchange`, that a file of
     * Semantic Kernel has. Changes nothing at a service. */
    pdr_rc (*restore)(void **self, const pdr_chat_agent *agent,
                      const pdr_chat_link *link, uint32_t state_version,
                      bool is_exchange, const pdr_value *state, pdr_err *err);
    /* Required. One message of another channel or of a caller, in order. */
    pdr_rc (*receive)(void *self, const pdr_chat_message *message,
                      pdr_cancel *cancel, pdr_err *err);
    /* Required. Let the agent speak. */
    pdr_rc (*invoke)(void *self, const pdr_chat_agent *agent,
                     pdr_chat_link *link, pdr_err *err);
    /* Required. Call `fn` with what the agents of the channel see, oldest
     * first. */
    pdr_rc (*read)(void *self, const pdr_chat_link *link, pdr_err *err,
                   pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                void *arg),
                   void *arg);
    /* Required. *out is owned; any JSON, a text too. Without I/O. */
    pdr_rc (*save)(pdr_value **out, void *self, const pdr_chat_link *link,
                   pdr_err *err);
    /* Optional. What was saved, as a file of Semantic Kernel has it: a text, or
     * JSON. NULL: as it is. */
    pdr_rc (*exchange)(pdr_value **out, const pdr_value *state,
                       const pdr_chat_link *link, pdr_err *err);
    /* Required. Forget everything, at the service too. The channel is released
     * then, whether that worked or not. */
    pdr_rc (*reset)(void *self, pdr_cancel *cancel, pdr_err *err);
    /* Required. Release it; nothing changes at a service. */
    void (*release)(void *self);
    /* --- version 1 ends here --- */
};

/* --- conversations at a service -------------------------------------------
 * A channel whose history is a thread at a service. `arg` of the agent that
 * joins is a pdr_remote.
 */

/* A message on its way to a thread. All borrowed for the call. */
typedef struct pdr_remote_message {
    bool is_user;              /* else the role is "assistant" */
    const pdr_value *parts;    /* an array: {"type":"text","text":...},
                                  {"type":"image_url","image_url":{"url":...}},
                                  {"type":"image_file","image_file":
                                  {"file_id":...}} */
    const pdr_value *metadata; /* an object of texts; NULL: none */
    pdr_str token;             /* the same each time this message is sent */
} pdr_remote_message;

#define PDR_REMOTE_OPS_VERSION 1

/* What a service can do. */
typedef struct pdr_remote_ops {
    uint32_t version; /* PDR_REMOTE_OPS_VERSION that it was built for */
    /* Required. Make a thread, and append its id to `thread`. */
    pdr_rc (*create)(pdr_buf *thread, pdr_cancel *cancel, pdr_err *err,
                     void *self);
    /* Required. Is it there? PDR_ENOTFOUND: it is not. */
    pdr_rc (*check)(pdr_str thread, pdr_err *err, void *self);
    /* Required. Add a message. After a failure that leaves open whether it was
     * added, and of a thread that was restored, `find` is asked before it is
     * sent again. */
    pdr_rc (*append)(pdr_str thread, const pdr_remote_message *message,
                     pdr_cancel *cancel, pdr_err *err, void *self);
    /* Optional. Was a message with this token added? */
    pdr_rc (*find)(bool *found, pdr_str thread, pdr_str token, pdr_err *err,
                   void *self);
    /* Required. Let the agent speak in its thread: pdr_chat_link_say() for each
     * message that it made, in order. */
    pdr_rc (*run)(pdr_str thread, const pdr_agent *agent, pdr_chat_link *link,
                  pdr_err *err, void *self);
    /* Optional. The turn of a run that pdr_remote_began() has the id of did not
     * end well, or its process ended in it. With a link: let it end and say its
     * messages but for the first `said` ones, which are in the log; that is the
     * turn then, and *adopted is true. Or, and in any case without a link,
     * since something else is to be said first: see to it that it is at work no
     * more, if it is there at all. */
    pdr_rc (*settle)(bool *adopted, pdr_str thread, pdr_str run, uint64_t said,
                     pdr_chat_link *link, pdr_err *err, void *self);
    /* Required. Call `fn` with the messages of the thread, oldest first, in
     * PDR_SHAPE_SK. */
    pdr_rc (*read)(pdr_str thread, pdr_err *err, void *self,
                   pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                void *arg),
                   void *arg);
    /* Required. Delete it. */
    pdr_rc (*remove)(pdr_str thread, pdr_cancel *cancel, pdr_err *err,
                     void *self);
} pdr_remote_ops;

/* Where the threads of an agent are. Borrowed with all in it; must outlive the
 * chat. */
typedef struct pdr_remote {
    const pdr_remote_ops *ops;
    void *self;
    const char *service; /* its address: a part of the key, so without
                            credentials */
    const char *account; /* project or organisation, if that is no secret; or
                            NULL */
} pdr_remote;

/** For `run`: the service has begun a run with this id. It is where the chat
 * lives when this returns, so that `settle` finds it after a crash. That of a
 * turn which ends well is forgotten.
 * @param run  copied; not empty.
 * @return PDR_OK; PDR_ELIMIT ("too_large"); what committing it gave;
 *         PDR_ENOMEM. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_remote_began(pdr_chat_link *link, pdr_str run,
                                               pdr_err *err);

/** The kind "remote-thread". @return static. @thread any @since 0.1 */
PDR_API const pdr_channel_kind *pdr_channel_remote(void);

PDR_END_DECLS

#endif
