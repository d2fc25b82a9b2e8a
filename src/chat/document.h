/*
 * document.h - what the files share that read and write saved chats.
 */
#ifndef PDR_CHAT_DOCUMENT_H
#define PDR_CHAT_DOCUMENT_H

#include "chat.h"
#include "doc.h"

/* --- reading (members.c, open.c, open_native.c) ----------------------------
 */

/* A document on its way in. */
struct opening {
    pdr_chat_state *state; /* to be filled */
    const pdr_chat_open_opts *opts;
    size_t max_messages;
    pdr_buf scratch;      /* of decoded texts */
    struct pdr__map keys; /* of channels, and origins: to their copy */
    bool has_capital;     /* some name that we know has a capital letter */
    pdr_err *err;
};

/* A member that is looked for; `node` is its name as it is spelled, and both
 * are NULL if it is not there. */
struct member {
    const char *name;
    const pdr_value *node, *value;
};

/* Where in the document, as a JSON Pointer; room for three names that we know,
 * each character of them an escape. */
#define PLACE_BYTES 256
typedef char place[PLACE_BYTES];

/* Fail with a reason, at a place. */
#define FAIL_PLACE(err, where, reason, ...)                     \
    (pdr__fail((err), PDR_R_##reason, PDR__WHERE, __VA_ARGS__), \
     pdr__err_path((err), pdr_str_c((where))), (pdr_rc)PDR_RC_##reason)
#define BAD_CHAT_AT(err, where, ...) \
    FAIL_PLACE(err, where, BAD_CHAT, __VA_ARGS__)

/* The place of a member, of an element. Give `out`. */
const char *pdr__place_of(place out, const char *above,
                          const struct member *member);
const char *pdr__place_at(place out, const char *above, size_t index);

/* Find members of `object`, which is at `where`: with `folds` in any letter
 * case. One that is there twice is BAD_CHAT, and so is what is no object. */
PDR_MUST_CHECK pdr_rc pdr__find_members(struct member *members, size_t count,
                                        struct opening *o,
                                        const pdr_value *object, bool folds,
                                        const char *where);
/* A text, copied; absent if it is not there or null. */
PDR_MUST_CHECK pdr_rc pdr__take_text(pdr_str *out, struct opening *o,
                                     const struct member *member,
                                     const char *where);
/* A number from 0; `*out` stays as it is if it is not there. */
PDR_MUST_CHECK pdr_rc pdr__take_number(uint64_t *out, struct opening *o,
                                       const struct member *member,
                                       const char *where);
/* The bytes of a text in base64, into o->scratch. */
PDR_MUST_CHECK pdr_rc pdr__take_base64(struct opening *o,
                                       const struct member *member,
                                       const char *where);
/* The JSON that is in o->scratch, which loses it; *out is owned. */
PDR_MUST_CHECK pdr_rc pdr__take_json(pdr_value **out, struct opening *o,
                                     uint32_t max_depth,
                                     const struct member *member,
                                     const char *where);
/* Remember the key of a channel; one that is there twice is BAD_CHAT. */
PDR_MUST_CHECK pdr_rc pdr__take_key(struct opening *o, pdr_str key,
                                    const char *where);
/* Room for the messages of a list, which are not more than there may be. */
PDR_MUST_CHECK pdr_rc pdr__expect_messages(struct opening *o, size_t count,
                                           const char *where);

/* Members of native documents (open_native.c), into what is all zero. */
PDR_MUST_CHECK pdr_rc pdr__read_participant(struct opening *o,
                                            struct pdr__saved_participant *p,
                                            const pdr_value *value,
                                            const char *here);
PDR_MUST_CHECK pdr_rc pdr__read_channel(struct opening *o,
                                        struct pdr__saved_channel *c,
                                        const pdr_value *value,
                                        const char *here);
/* Is it one of ours? And read it (open_native.c). */
bool pdr__chat_is_native(const pdr_value *document);
PDR_MUST_CHECK pdr_rc pdr__chat_read_native(struct opening *o);
/* Does the record of a turn say that its agent was chosen? */
bool pdr__is_chosen(const pdr_value *turn);

/* --- what proves a native document (seal.c) --------------------------------
 */

/* The chain after one more message. */
PDR_MUST_CHECK pdr_rc pdr__chain_add(uint8_t chain[PDR_SHA256_BYTES],
                                     struct pdr__sha256 *digest,
                                     pdr_str message, pdr_err *err);
/* Begin the MAC of a document; then it gets the bytes before the comma that is
 * before "mac". */
PDR_MUST_CHECK pdr_rc pdr__chat_mac_begin(struct pdr__hmac *mac,
                                          const pdr_chat_key *key,
                                          pdr_err *err);

/* --- writing (out.c, write.c, write_native.c) ------------------------------
 */

/* Where the bytes of a document go. Its calls return nothing: the first failure
 * stays in `rc`, and later calls do nothing. */
struct out {
    pdr_write_fn fn; /* borrowed with `arg` */
    void *arg;
    pdr_err *err;
    pdr_rc rc;
    pdr_buf window;        /* bytes that `fn` has not had yet */
    pdr_buf plain;         /* bytes that are still to be encoded */
    pdr_buf scratch;       /* of values that have no raw text */
    struct pdr__hmac *mac; /* gets all bytes; NULL: none */
    bool is_base64;        /* what is put is encoded */
    bool is_compact; /* no white space, for a document inside of another */
};

void pdr__out_init(struct out *out, pdr_err *err, pdr_write_fn fn, void *arg);
void pdr__out_dispose(struct out *out);
/* Hand all bytes on. */
void pdr__out_flush(struct out *out);

void pdr__put(struct out *out, pdr_str bytes);
void pdr__put_c(struct out *out, const char *text);
void pdr__put_number(struct out *out, uint64_t number);
/* A string of JSON with our escapes. */
void pdr__put_text(struct out *out, pdr_str text);
/* The same with those of .NET, but with `has_plus` "+" as it is. `text` may
 * have lone surrogates as three bytes; they become U+FFFD, as .NET does it. */
void pdr__put_net_text(struct out *out, pdr_str text, bool has_plus);
void pdr__put_net_string(struct out *out, const pdr_value *string,
                         bool has_plus);
/* A value as it was read, or compact. */
void pdr__put_value(struct out *out, const pdr_value *value);
/* A value with the escapes of .NET, compact. */
void pdr__put_net_value(struct out *out, const pdr_value *value);
/* What is put from here on is a string in base64, until its end. */
void pdr__put_base64_begin(struct out *out);
void pdr__put_base64_end(struct out *out);
/* The text that pdr__put_value() puts. Borrowed from the value or `scratch`. */
PDR_MUST_CHECK pdr_rc pdr__value_json(pdr_str *text, const pdr_value *value,
                                      pdr_buf *scratch, pdr_err *err);

/* A message for Semantic Kernel: `as_read`, or with its members in their order
 * and the escapes of .NET. One in the sketch of the decision record becomes
 * theirs in any case. */
void pdr__put_sk_message(struct out *out, const pdr_value *message,
                         bool as_read);
/* Fails with CANNOT_CARRY if the reader there would refuse it, and with it the
 * whole file. What is written as it was read is what that reader has seen. */
PDR_MUST_CHECK pdr_rc pdr__sk_message_check(const pdr_value *message,
                                            bool as_read, pdr_err *err,
                                            const char *where);
/* The same in that sketch: "role", "name", "items". */
void pdr__put_sketch(struct out *out, const pdr_value *message);

/* Is it this name, exactly? The last one of `names` is NULL. */
bool pdr__is_one_of(const pdr_value *name, const char *const *names);

/* Names of members that we know; other members of what was read are written
 * again. Each list ends with NULL. */
struct known {
    const char *const *foreign; /* of the forms of others, in any letter case */
    const char *const *native;
};
extern const struct known pdr__known_document, pdr__known_participant,
    pdr__known_channel;
/* Do we know it, in a native document or in one of others? */
bool pdr__is_known(const pdr_value *name, const struct known *known,
                   bool is_native);
/* How members of an object are set off. */
struct layout {
    bool is_native;
    const char *gap, *colon;
};
/* The members of `object`, which may be NULL, that are not known; with a comma
 * before each unless it is the first one of its object. */
void pdr__put_unknown(struct out *out, bool *is_first, const pdr_value *object,
                      const struct known *known, const struct layout *layout);
/* Has the form a place for them? */
bool pdr__keeps_unknown(const pdr_chat_state *state, pdr_chat_form form);

/* The native form (write_native.c), and members of it. */
void pdr__put_participant(struct out *out,
                          const struct pdr__saved_participant *p);
void pdr__put_channel(struct out *out, const struct pdr__saved_channel *c,
                      bool is_encoded);
void pdr__put_native(struct out *out, const pdr_chat_state *state,
                     const pdr_chat_save_opts *opts);

/* What a form has no place for (loss.c): report it, and fail with CANNOT_CARRY
 * if the caller wants all of it. */
PDR_MUST_CHECK pdr_rc pdr__report_loss(const pdr_chat_state *state,
                                       const pdr_chat_save_opts *opts,
                                       pdr_err *err);

#endif
