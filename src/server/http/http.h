/*
 * http.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_SERVER_HTTP_H
#define PDR_SERVER_HTTP_H

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

#include <perdure/archive.h>
#include <perdure/buf.h>
#include <perdure/chat.h>
#include <perdure/keys.h>
#include <perdure/server.h>
#include <perdure/stored.h>
#include <perdure/stream.h>

#include "base.h"
#include "engine.h"

struct pdr__crew;
struct pdr__exchange;
struct pdr__framing;
struct pdr__live;

/* --- routes (route.c, describe.c) ------------------------------------------
 */

#define PDR_ROUTE_ARGS 3 /* variables that a path can have */

enum pdr__verb {
    PDR_VERB_GET,
    PDR_VERB_POST,
    PDR_VERB_PUT,
    PDR_VERB_PATCH,
    PDR_VERB_DELETE,
    PDR_VERB_COUNT
};

/* How errors are told. */
enum pdr__family {
    PDR_FAMILY_NATIVE, /* problems, RFC 9457 */
    PDR_FAMILY_PLAIN,  /* for probes: one line of text */
    PDR_FAMILY_AGENTS  /* of durable agents: {"error":...} or text */
};

/* A request that the tests send as it is, and what comes. */
struct pdr__example {
    const char *path;  /* with its query; {agent} and {hash} are put in */
    const char *body;  /* or NULL */
    unsigned status;   /* of the reply */
    const char *reply; /* part of its body; or NULL */
};

/* Carry out a request, or the next step of it: reply, or wait (live.c). What it
 * returns is told to the client in the way of its family. */
typedef pdr_rc (*pdr__handler_fn)(struct pdr__exchange *x, pdr_err *err);

struct pdr__route {
    const char *name; /* for metrics, logs and the description */
    enum pdr__verb verb;
    const char *path; /* below the base; "agents/{agent}/run" */
    bool has_base;    /* begins with the base of the server, as "/api" */
    pdr_scope scope;  /* that a key needs; PDR_SCOPE_NONE: no key */
    enum pdr__family family;
    size_t max_body; /* bytes, for who has no key yet; 0: as the server says */
    bool is_away;    /* needs the store: by the pool, unless it is quick */
    bool is_long;    /* and may need it for long: only a few do at once */
    pdr__handler_fn run;
    /* For the description; lists have blanks between. */
    const char *query;   /* names that it may have there; or NULL */
    const char *headers; /* the same */
    const char *takes;   /* forms of its body, see describe.c; NULL: none */
    const char *gives;   /* forms of its reply; NULL: none */
    unsigned also;       /* another status of success; 0: none */
    const char *summary;
    struct pdr__example example;
};

size_t pdr__route_count(void);
const struct pdr__route *pdr__route_at(size_t index);

/* --- a request and its reply (exchange.c) ----------------------------------
 */

struct pdr__param {
    pdr_str name, value; /* in arena */
};

/* Where a request is. */
enum pdr__stage {
    PDR_STAGE_HEAD, /* its head is there */
    PDR_STAGE_BODY, /* its body comes */
    PDR_STAGE_AWAY, /* somebody else is at work on it */
    PDR_STAGE_SENT  /* its reply is on the way */
};

/* Bytes of a reply that has no end yet, which are there. Gives how many were
 * put into `out`; 0: there are none, and it waits, by pdr__wait_for(), or else
 * wants to be filled; -1: it is over; -2: it broke off. */
typedef ssize_t (*pdr__pull_fn)(struct pdr__exchange *x, char *out,
                                size_t room);
/* Make more of them, in the pool. False: there is nothing, and it waits. When
 * the server stops, nothing may wait: then it has more, or is over. */
typedef bool (*pdr__fill_fn)(struct pdr__exchange *x);

struct pdr__reply {
    unsigned status;  /* 0: there is none yet */
    const char *type; /* of the content; static */
    pdr_buf headers;  /* "name: value" and a line end each */
    pdr_buf body;
    pdr__pull_fn pull; /* a body without an end; or NULL */
    pdr__fill_fn fill; /* of it; NULL: all that it has is there */
    bool closes;       /* the connection is of no more use */
};

/* What a request waits for. */
struct pdr__wait {
    pdr_ref ref;      /* borrowed from the arena of the exchange */
    uint64_t commits; /* of the head that was seen; 0: no such session */
    uint64_t epoch;
    int64_t due_ms; /* monotonic; then it goes on in any case */
    bool is_set;    /* by the handler */
    bool is_due;    /* why it goes on: the time is over */
    bool is_told;   /* somebody will call pdr__live_wake(); no session is
                       watched */
    bool is_woken;  /* of live.c: that came before it waited */
    struct pdr__exchange *after; /* of live.c, in its queue */
};

struct pdr__exchange {
    pdr_server *server;
    struct pdr__arena memory; /* of texts */
    void *connection;         /* glue.c's */
    enum pdr__stage stage;
    const struct pdr__route *route; /* NULL: none was found */
    pdr_str args[PDR_ROUTE_ARGS];
    pdr_str target; /* as it came */
    enum pdr__verb verb;
    bool has_verb;   /* its method is one of them, or HEAD */
    bool is_head;    /* HEAD: a GET whose body is not sent */
    bool is_local;   /* it came by a unix socket */
    bool is_open;    /* it came to an address that others can reach */
    bool is_here;    /* its step runs on the thread of its connection */
    bool wants_text; /* errors of its family as text, not as JSON */
    bool is_last;    /* of its connection: its body came in chunks, glue.c */
    struct pdr__param *query;
    size_t query_count;
    pdr_buf body;
    pdr_str tenant;
    pdr_str key; /* id of the key that it has; absent: it needs none */
    unsigned keys_version; /* of the keys that it was found in */
    unsigned scopes;       /* of the key */
    int64_t until_s; /* since 1970, that a cookie stands for it; 0: none does */
    int64_t begun_ms;     /* monotonic */
    uint64_t number;      /* of the request, in this process */
    uint64_t sent;        /* bytes of the body */
    atomic_uint *counted; /* of the server, among these it is; NULL: none */
    /* What a handler keeps between two steps. */
    void *state; /* owned */
    void (*state_free)(void *state);
    struct pdr__reply reply;
    struct pdr__wait wait;
    char room[]; /* of the target */
};

/* A header of the request; absent if it has none. Borrowed. */
pdr_str pdr__header(const struct pdr__exchange *x, const char *name);
/* The first value of a parameter; absent. */
pdr_str pdr__query_get(const struct pdr__exchange *x, const char *name);
/* Does a list of media types, as in Accept, name this one? */
bool pdr__accepts(const struct pdr__exchange *x, const char *type);
/* The media type of the body, in small letters, without parameters; absent. */
pdr_rc pdr__media_type(pdr_str *out, struct pdr__exchange *x, pdr_err *err);

/* Does no page of another origin make a browser send this? Else a reply says
 * so. */
bool pdr__origin_check(struct pdr__exchange *x);

/* Split the target and find the route. False: a reply says what is wrong. */
bool pdr__exchange_begin(struct pdr__exchange *x, pdr_str method);
/* Run a step of its handler. False: it waits. */
bool pdr__exchange_step(struct pdr__exchange *x);
/* A store in doubt ends the engine, and so the process (E3): the writers here
 * are not the engine's own. */
void pdr__exchange_failed(const struct pdr__exchange *x, pdr_rc rc,
                          const pdr_err *err);
/* Its reply was sent, or nobody takes it any more. */
void pdr__exchange_ended(struct pdr__exchange *x);
void pdr__exchange_free(struct pdr__exchange *x);

/* Does the client want an answer at once? */
bool pdr__wants_async(const struct pdr__exchange *x);
/* Without white space at both ends; is there nothing else? */
pdr_str pdr__text_trim(pdr_str text);
bool pdr__is_blank_text(pdr_str text);
/* A decimal number, and nothing else. */
bool pdr__number_read(uint64_t *out, pdr_str text);
/* A percent-encoded text, in arena; absent if it is not well-formed UTF-8 or
 * has a NUL. */
pdr_str pdr__percent_decode(struct pdr__arena *memory, pdr_str text,
                            bool is_form);

/* --- keys (keys.c, auth.c) -------------------------------------------------
 */

/* The key of what Authorization has behind "Bearer"; NULL: there is none. */
PDR_MUST_CHECK pdr_rc pdr__keys_find(const pdr_key **out, const pdr_keys *keys,
                                     pdr_str text, pdr_err *err);
/* What the browser of a page gets for a key, until a second since 1970;
 * appended. */
PDR_MUST_CHECK pdr_rc pdr__cookie_write(pdr_buf *out, const pdr_keys *keys,
                                        pdr_str id, int64_t until_s,
                                        pdr_err *err);
/* The key of such a cookie, and its end; NULL: there is none. */
PDR_MUST_CHECK pdr_rc pdr__cookie_find(const pdr_key **out, int64_t *until_s,
                                       const pdr_keys *keys, pdr_str text,
                                       int64_t now_s, pdr_err *err);
/* By its id; NULL. */
const pdr_key *pdr__keys_get(const pdr_keys *keys, pdr_str id);

struct pdr__auth;
/* `path` is copied; fails as pdr_keys_read(). */
PDR_MUST_CHECK pdr_rc pdr__auth_new(struct pdr__auth **out, const char *path,
                                    pdr_err *err);
void pdr__auth_free(struct pdr__auth *auth);
PDR_MUST_CHECK pdr_rc pdr__auth_reload(struct pdr__auth *auth, pdr_err *err);
/* Who asks, and may they? Sets the tenant. False: a reply says no. */
bool pdr__auth_check(struct pdr__exchange *x, const struct pdr__framing *f);
/* The cookie for a key, appended; nothing: there is no such key, and a reply
 * says so. */
PDR_MUST_CHECK pdr_rc pdr__auth_login(pdr_buf *out, struct pdr__exchange *x,
                                      pdr_str key, pdr_err *err);
/* May they still? For replies that last. */
bool pdr__auth_holds(struct pdr__exchange *x);

/* --- replies (reply.c) -----------------------------------------------------
 */

/* A reply with a body, which is appended to `reply.body` before or after. */
void pdr__reply_begin(struct pdr__exchange *x, unsigned status,
                      const char *type);
/* One more header; what has a line end in it is left out. */
void pdr__reply_header(struct pdr__exchange *x, const char *name,
                       pdr_str value);
/* A whole reply of one text. Without memory an empty one. */
void pdr__reply_text(struct pdr__exchange *x, unsigned status, const char *type,
                     pdr_str text);
/* What a failure is, in the way of the family. */
void pdr__reply_error(struct pdr__exchange *x, const pdr_err *why);
/* The same for what has no pdr_err: "Agent not found". */
void pdr__reply_refuse(struct pdr__exchange *x, unsigned status,
                       const char *text);
/* The same on native routes, with a slug that the status does not tell. */
void pdr__reply_problem(struct pdr__exchange *x, unsigned status,
                        const char *slug, const char *text);
/* The status that a code, and its reason, have in HTTP. */
unsigned pdr__status_of(const pdr_err *why);
/* What a status is called. */
const char *pdr__status_name(unsigned status);
/* All that there are, in order; 0 beyond them. */
#define PDR_STATUSES 23
unsigned pdr__status_at(size_t index);
size_t pdr__status_index(unsigned status);

#define PDR_TYPE_TEXT    "text/plain; charset=utf-8"
#define PDR_TYPE_JSON    "application/json; charset=utf-8"
#define PDR_TYPE_PROBLEM "application/problem+json"
#define PDR_TYPE_SSE     "text/event-stream"
#define PDR_TYPE_NDJSON  "application/x-ndjson"

/* --- JSON of replies, and lists (json.c) -----------------------------------
 */

/* JSON that is being written. The first failure stays, later calls do nothing.
 * Names are written as they are; NULL: an element, or the whole. */
struct pdr__json {
    pdr_buf *out; /* borrowed, as `err` */
    pdr_err *err;
    bool is_lines; /* of a list: a line for each item */
    pdr_rc rc;
};

void pdr__json_begin(struct pdr__json *j, const char *name, char mark);
void pdr__json_end(struct pdr__json *j, char mark);
/* JSON as it is, but on one line; absent: null. */
void pdr__json_raw(struct pdr__json *j, const char *name, pdr_str text);
void pdr__json_value(struct pdr__json *j, const char *name,
                     const pdr_value *value);
/* What stands between the quotes. */
void pdr__json_escaped(struct pdr__json *j, const char *name, pdr_str text);
void pdr__json_text(struct pdr__json *j, const char *name, pdr_str text);
void pdr__json_number(struct pdr__json *j, const char *name, uint64_t number);
void pdr__json_bool(struct pdr__json *j, const char *name, bool truth);
void pdr__json_time(struct pdr__json *j, const char *name, int64_t ms);
void pdr__json_digest(struct pdr__json *j, const char *name,
                      const uint8_t digest[PDR_DIGEST_BYTES]);
/* It is the reply; or what failed. */
PDR_MUST_CHECK pdr_rc pdr__json_send(struct pdr__json *j,
                                     struct pdr__exchange *x, unsigned status);

/* The body, an object with these members only (NULL: with any); else a reply
 * says what is wrong. `*out` is owned in any case. */
PDR_MUST_CHECK pdr_rc pdr__body_read(pdr_value **out, struct pdr__exchange *x,
                                     const char *const *known, pdr_err *err);
/* A text of it, in arena; absent. */
PDR_MUST_CHECK pdr_rc pdr__body_text(pdr_str *out, struct pdr__exchange *x,
                                     const pdr_value *body, const char *name,
                                     pdr_err *err);
/* Does the query say so? */
bool pdr__query_is_set(const struct pdr__exchange *x, const char *name);
/* A number of the query, if it has one. False: a reply says that it is none. */
bool pdr__query_number(uint64_t *out, struct pdr__exchange *x,
                       const char *name);
/* A date, as milliseconds since 1970. */
PDR_MUST_CHECK pdr_rc pdr__ms_read(int64_t *out, pdr_str text, pdr_err *err);
int64_t pdr__wall_ms(void);

/* The limit and the cursor of a list. False: a reply says what is wrong. */
bool pdr__list_ask(pdr_query *query, struct pdr__exchange *x);
/* {"items":[{...},...],"next":...}, or a line for each item. */
void pdr__list_begin(struct pdr__json *j, const struct pdr__exchange *x);
void pdr__list_item_end(struct pdr__json *j);
PDR_MUST_CHECK pdr_rc pdr__list_send(struct pdr__json *j,
                                     struct pdr__exchange *x, pdr_str next);

/* --- what runs leave (answer.c) --------------------------------------------
 */

/* What a response entry says, appended; NULL: nothing. */
PDR_MUST_CHECK pdr_rc pdr__answer_text(pdr_buf *out, const pdr_value *answer,
                                       pdr_err *err);
/* The response as the .NET host writes it. */
PDR_MUST_CHECK pdr_rc pdr__put_pascal(pdr_builder *to, const pdr_value *answer,
                                      pdr_err *err);
/* How a run ended, an object; NULL: nobody says. Owned. */
PDR_MUST_CHECK pdr_rc pdr__outcome_read(pdr_value **out,
                                        const pdr_ending *ending, pdr_err *err);
/* A text of it; untouched if it has none. */
PDR_MUST_CHECK pdr_rc pdr__outcome_text(pdr_str *out, const pdr_value *outcome,
                                        const char *name, pdr_buf *scratch,
                                        pdr_err *err);
/* Where the response of a run is found, appended. */
PDR_MUST_CHECK pdr_rc pdr__response_path(pdr_buf *out,
                                         const struct pdr__exchange *x,
                                         const pdr_service_agent *agent,
                                         pdr_str key, pdr_str correlation,
                                         pdr_err *err);
/* What a run is called: by the header Idempotency-Key, else as the body says,
 * else anew; in arena. Else a reply says what is wrong with it. */
PDR_MUST_CHECK pdr_rc pdr__run_key(pdr_str *out, struct pdr__exchange *x,
                                   pdr_str said, pdr_err *err);
/* Somebody waits for a run, without a thread. */
struct pdr__ending_wait {
    struct pdr__waiter waiter;
    pdr_engine *engine; /* that has it in a list; NULL: none has */
    char session[PDR_KEY_BYTES];
    pdr_str key; /* in `session` */
};

/* Hear of its end, also if that comes before anybody waits. Texts in arena. */
PDR_MUST_CHECK pdr_rc pdr__ending_join(struct pdr__ending_wait *w,
                                       struct pdr__exchange *x,
                                       const pdr_ref *ref, pdr_str correlation,
                                       pdr_err *err);
void pdr__ending_leave(struct pdr__ending_wait *w);
/* How it ended, owned. NULL: it goes on, and the exchange waits for it until
 * `due_ms`, or that is over. */
PDR_MUST_CHECK pdr_rc pdr__ending_look(pdr_ending **out,
                                       struct pdr__exchange *x,
                                       struct pdr__ending_wait *w,
                                       const pdr_ref *ref, int64_t due_ms,
                                       pdr_err *err);
/* A part of a path, as it has to be spelled there; appended. */
PDR_MUST_CHECK pdr_rc pdr__percent_encode(pdr_buf *out, pdr_str text,
                                          pdr_err *err);

/* --- waiting (live.c) ------------------------------------------------------
 * Threads that carry out what may take a while, and one that wakes what waits.
 */

PDR_MUST_CHECK pdr_rc pdr__live_new(struct pdr__live **out, pdr_server *server,
                                    unsigned threads, pdr_err *err);
/* Everything that waits goes on, now and from now on. */
void pdr__live_stop(struct pdr__live *live);
/* Nothing may wait. */
void pdr__live_free(struct pdr__live *live);

/* For a handler or a pull: go on when the session has been committed to since
 * a head with these was read (0: there was none), or at this time. */
void pdr__wait_for(struct pdr__exchange *x, const pdr_ref *ref, uint64_t epoch,
                   uint64_t commits, int64_t due_ms);
/* The same, but pdr__live_wake() lets it go on. */
void pdr__wait_until(struct pdr__exchange *x, int64_t due_ms);
/* Let it go on if it waits, or when it comes to wait. From any thread. */
void pdr__live_wake(struct pdr__live *live, struct pdr__exchange *x);
/* Let the pool run the next step. False: too much is waiting. */
bool pdr__live_work(struct pdr__live *live, struct pdr__exchange *x);
/* Suspend it, and go on as its `wait` says, or fill it at once. False: the
 * server stops, and it was not suspended. */
bool pdr__live_hold(struct pdr__live *live, struct pdr__exchange *x);
/* Wake it as its `wait` says: the next step of its handler, or the next pull.
 */
void pdr__live_wait(struct pdr__live *live, struct pdr__exchange *x);
bool pdr__live_is_stopping(struct pdr__live *live);
/* May long work go on? Fails with ENGINE_STOPPED. */
PDR_MUST_CHECK pdr_rc pdr__live_check(struct pdr__live *live, pdr_err *err);

/* --- reads that take a moment (quick.c) ------------------------------------
 */

struct pdr__quick;

/* NULL: out of memory. */
struct pdr__quick *pdr__quick_new(void);
void pdr__quick_free(struct pdr__quick *quick);
/* Did such a read take a moment the last time? Then it needs no pool. */
bool pdr__quick_knows(const struct pdr__exchange *x);
/* A step of a read ended, which began at this time. */
void pdr__quick_note(const struct pdr__exchange *x, int64_t begun_ms);

/* --- documents of sessions (document.c) ------------------------------------
 */

struct pdr__documents;

/* NULL: out of memory. */
struct pdr__documents *pdr__documents_new(void);
void pdr__documents_free(struct pdr__documents *documents);
/* The document of a session, without its wrapper, in place of what `out` has.
 * `fn` sees the head first, or is NULL; fails as pdr_export(). */
PDR_MUST_CHECK pdr_rc pdr__document_read(pdr_export_report *report,
                                         pdr_buf *out,
                                         struct pdr__documents *documents,
                                         pdr_store *store, const pdr_ref *ref,
                                         pdr_err *err, pdr_export_head_fn fn,
                                         void *arg);

/* --- notices (api_notices.c) ------------------------------------------------
 */

struct pdr__notices;

PDR_MUST_CHECK pdr_rc pdr__notices_new(struct pdr__notices **out,
                                       pdr_server *server, pdr_err *err);
/* Nobody may follow any more. Before what wakes the streams. */
void pdr__notices_free(struct pdr__notices *notices);
/* --- turns of chats (crew.c) -----------------------------------------------
 */

/* What takes long, about one session. Whoever makes it sets the first part. */
struct pdr__job {
    pdr_ref ref;
    pdr_cancel *cancel; /* set when the server stops in the middle of it */
    void (*work)(struct pdr__job *job); /* on a thread of the crew; not called
                                           if the server stops before */
    void (*dispose)(struct pdr__job *job);
    /* The crew's. */
    struct pdr__exchange *waiter; /* or NULL */
    unsigned holders;
    bool has_begun, is_over;
};

PDR_MUST_CHECK pdr_rc pdr__crew_new(struct pdr__crew **out,
                                    struct pdr__live *live, pdr_err *err);
/* Take no more; what has not begun is over. */
void pdr__crew_close(struct pdr__crew *crew);
/* Wait for what is at work; cancel it when the time is over. */
void pdr__crew_stop(struct pdr__crew *crew, int64_t due_ms);
/* Stopped, and nobody may have a job. */
void pdr__crew_free(struct pdr__crew *crew);
/* Carry it out; `x` is woken when it is over. Fails with CHAT_BUSY (the session
 * has one), INBOX_FULL, ENGINE_STOPPED, NO_THREAD: then it is the caller's. */
PDR_MUST_CHECK pdr_rc pdr__crew_take(struct pdr__crew *crew,
                                     struct pdr__job *job,
                                     struct pdr__exchange *x, pdr_err *err);
bool pdr__job_is_over(struct pdr__crew *crew, const struct pdr__job *job);
/* Whoever had it taken asks for it no more. */
void pdr__job_leave(struct pdr__crew *crew, struct pdr__job *job);

/* --- the library beneath (glue.c) ------------------------------------------
 */

struct pdr__glue;

struct pdr__glue_opts {
    unsigned threads;
    unsigned max_connections;
    size_t connection_bytes;
    uint32_t head_ms;       /* that a client may need for a request, without
                               what its body needs */
    uint32_t idle_ms;       /* between two of them, or while it reads nothing */
    bool is_local, is_open; /* as in an exchange */
};

/* Serve what comes to a listening socket, which is taken. */
PDR_MUST_CHECK pdr_rc pdr__glue_new(struct pdr__glue **out, pdr_server *server,
                                    int listener,
                                    const struct pdr__glue_opts *opts,
                                    pdr_err *err);
/* Nothing may be suspended. */
void pdr__glue_free(struct pdr__glue *glue);
/* Let the library go on with a request: its reply is there, or more of it. */
void pdr__glue_resume(struct pdr__exchange *x);
/* The library leaves it alone until then. */
void pdr__glue_suspend(struct pdr__exchange *x);
/* Has the client of a request that is suspended or pulled closed its side? One
 * that means to read on cannot be told from one that is gone. */
bool pdr__glue_has_left(const struct pdr__exchange *x);
/* End connections whose client takes too long. Called now and then. */
void pdr__glue_reap(struct pdr__glue *glue, int64_t now_ms);
struct pdr__framing {
    unsigned hosts, lengths, encodings, keys; /* how many of these headers */
    size_t bytes;                             /* of the head as we see it */
    bool is_odd;                              /* others may see another head */
};
struct pdr__framing pdr__glue_framing(const struct pdr__exchange *x,
                                      pdr_str method);

/* --- figures (metrics.c) ---------------------------------------------------
 */

struct pdr__metrics;
PDR_MUST_CHECK pdr_rc pdr__metrics_new(struct pdr__metrics **out, pdr_err *err);
void pdr__metrics_free(struct pdr__metrics *metrics);
/* A request ended. */
void pdr__metrics_note(struct pdr__metrics *metrics,
                       const struct pdr__exchange *x, int64_t took_ms);
/* Streams that are open: one more, or one less. */
void pdr__metrics_stream(struct pdr__metrics *metrics, int change);
/* A stream was ended whose client may have wanted more. */
void pdr__metrics_dropped(struct pdr__metrics *metrics);

/* --- the server (server.c) -------------------------------------------------
 */

struct pdr_server {
    pdr_service *service; /* borrowed */
    pdr_server_opts opts; /* its texts are copied */
    struct pdr__arena memory;
    pdr_str base; /* "/api" */
    struct pdr__live *live;
    struct pdr__quick *quick;
    struct pdr__documents *documents;
    struct pdr__notices *notices;
    struct pdr__crew *crew;
    struct pdr__metrics *metrics;
    struct pdr__auth *auth;  /* owned; NULL: nobody needs a key */
    struct pdr__glue **glue; /* owned; NULL: not started */
    size_t glue_count;
    const char **addresses; /* in arena; as they are */
    atomic_bool is_stopping;
    atomic_bool is_closed; /* no request is taken any more */
    atomic_uint under_way; /* requests that have no reply yet */
    atomic_uint replying;  /* those whose reply is on the way */
    atomic_uint exports;   /* that are under way */
    atomic_ullong requests;
    int64_t begun_ms; /* wall */
    int *listeners;   /* until they are served; -1: taken */
    sem_t ends;       /* for the reaper */
    pthread_t reaper;
    bool has_reaper, is_stopped;
};

/* A thread that gets no signals; false: the system has none. */
bool pdr__thread_start(pthread_t *out, void *(*fn)(void *), void *arg);
void pdr__nap(unsigned ms);

/* Headers that name a session of a durable agent by its key. */
void pdr__session_headers(struct pdr__exchange *x, pdr_str key);
/* The session of an agent with this key, in arena, which headers name; else a
 * reply says what is missing. */
PDR_MUST_CHECK pdr_rc pdr__agent_session(pdr_ref *out, struct pdr__exchange *x,
                                         pdr_str agent, pdr_str key,
                                         pdr_err *err);

/* "NAME" of the ids of its sessions, "@NAME@KEY"; appended. */
PDR_MUST_CHECK pdr_rc pdr__entity_write(pdr_buf *out, const pdr_agent *agent,
                                        pdr_err *err);

/* Reply with what a run says, until its end. Texts in arena. */
PDR_MUST_CHECK pdr_rc pdr__stream_of(struct pdr__exchange *x,
                                     const pdr_ref *ref, pdr_str correlation,
                                     pdr_err *err);

/* --- sessions of native routes (api_sessions.c) ----------------------------
 */

/* The session that the path names, and the store. */
pdr_ref pdr__api_ref(const struct pdr__exchange *x);
pdr_store *pdr__api_store(const struct pdr__exchange *x);
/* The head of a session. The page is owned. */
PDR_MUST_CHECK pdr_rc pdr__head_read(pdr_page **out, struct pdr__exchange *x,
                                     const pdr_ref *ref, pdr_err *err);
const char *pdr__state_word(pdr_session_state state);
/* Members of a head; its object stays open. */
void pdr__put_head(struct pdr__json *j, const pdr_head *head);
/* The id that is asked for, or a new one: of a durable session if an agent is
 * named that is here. In arena. */
PDR_MUST_CHECK pdr_rc pdr__id_choose(pdr_str *io, struct pdr__exchange *x,
                                     pdr_str agent, pdr_err *err);
void pdr__etag_put(struct pdr__exchange *x, uint64_t epoch, uint64_t revision);
/* Do If-Match and If-None-Match hold for this head (NULL: there is none)? Else
 * a reply says so. */
bool pdr__precondition(struct pdr__exchange *x, const pdr_head *head);
/* Does a list of ETags, or "*", name this one? */
bool pdr__etags_have(pdr_str list, const char *etag, bool takes_weak);
/* Appended: /api/v1/sessions/ID, and below it. */
PDR_MUST_CHECK pdr_rc pdr__api_path(pdr_buf *out, pdr_str id, pdr_str run,
                                    pdr_err *err);
/* Change the session of the path, with its preconditions, and reply 204. */
PDR_MUST_CHECK pdr_rc pdr__api_change(struct pdr__exchange *x, bool rows_only,
                                      pdr_err *err, pdr_stored_fn fn,
                                      void *arg);

/* --- the dashboard (ui.c) --------------------------------------------------
 */

/* A file that was built in, see tools/embed. */
struct pdr__embedded {
    const char *name, *bytes;
    size_t len;
};

extern const struct pdr__embedded pdr__web[];
extern const size_t pdr__web_count;
extern const char pdr__web_hash[]; /* of all of them */

#define PDR_UI_COOKIE  "perdure_ui"
#define PDR_UI_HEADER  "X-Perdure-UI" /* "1": no other page can send it */
#define PDR_UI_SECONDS 43200          /* that a cookie holds: half a day */

/* Can files be read from there? Fails with "file_failed". */
PDR_MUST_CHECK pdr_rc pdr__ui_folder_check(const char *folder, pdr_err *err);
/* --- chats (api_chats.c) ---------------------------------------------------
 */

/* Read the chat of the path, and its head, and compare its preconditions: if
 * one does not hold, a reply says so. The state is owned in any case. */
PDR_MUST_CHECK pdr_rc pdr__chat_read(pdr_head *head, pdr_chat_state **state,
                                     struct pdr__exchange *x, pdr_err *err);
/* A chat of the agents that the body names, or else (if there is a state) of
 * those that took part and are here. Fails with NO_AGENT, NO_AGENTS. */
PDR_MUST_CHECK pdr_rc pdr__chat_cast(pdr_chat **out, struct pdr__exchange *x,
                                     const pdr_value *body,
                                     const pdr_chat_state *state, pdr_err *err);
/* A message, with contents as JSON and as text. */
void pdr__put_message(struct pdr__json *j, const pdr_chat_message *message);
/* Appended: /api/v1/chats/ID. */
PDR_MUST_CHECK pdr_rc pdr__chat_path(pdr_buf *out, pdr_str id, pdr_err *err);

/* --- handlers --------------------------------------------------------------
 */

pdr_rc pdr__handle_healthz(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_readyz(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_metrics(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_openapi(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__ui_redirect(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__ui_index(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__ui_file(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_overview(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__ui_login(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__ui_logout(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_health(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_run(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_document(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_delete(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_response(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_session_stream(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_create(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__handle_agent_stream(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_sessions_list(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_session_create(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_session_show(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_session_patch(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_session_delete(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_state_get(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_state_put(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_entries(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_findings(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_journal(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_bag_keys(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_bag_get(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_bag_put(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_bag_delete(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_runs_list(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_run_start(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_run_show(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_run_cancel(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_run_resume(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_events(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_notices(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_agents(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_agent(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_chats_list(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_chat_create(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_chat_show(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_chat_messages(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_chat_say(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_chat_turns(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_chat_saved_get(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_chat_saved_put(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_verify(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_import(struct pdr__exchange *x, pdr_err *err);
pdr_rc pdr__api_export(struct pdr__exchange *x, pdr_err *err);

#endif
