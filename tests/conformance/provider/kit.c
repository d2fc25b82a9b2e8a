/*
 * Providers for the kit of perdure/sys/provider.h, honest ones and leaky ones.
 *
 *     provider-kit NAME FOLDER
 *
 * It sees the public headers only, as a provider from outside does. Whether the
 * kit takes the honest ones and finds each leak is in provider_kit.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <perdure.h>
#include <perdure/sys/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASSWORD "hunter2-of-the-\"backend\""

static void must(pdr_rc rc, const char *what)
{
    if (rc == PDR_OK)
        return;
    (void)fprintf(stderr, "provider-kit: %s: %s\n", what, pdr_rc_name(rc));
    exit(9);
}

/* --- a number in the bag ---------------------------------------------------
 */

static int64_t bag_number(pdr_session *session, const char *key,
                          const char *member)
{
    pdr_bag *bag = pdr_session_bag(session);
    pdr_value *slot = NULL;
    int64_t n = 0;

    if (pdr_bag_has(bag, pdr_str_c(key))) {
        must(pdr_bag_get(&slot, bag, pdr_str_c(key), NULL), "bag");
        const pdr_value *value = pdr_value_get_c(slot, member);
        if (value != NULL)
            must(pdr_value_int64(&n, value, NULL), "number");
    }
    pdr_value_free(slot);
    return n;
}

static void bag_set_number(pdr_session *session, const char *key,
                           const char *member, int64_t n)
{
    pdr_bag *bag = pdr_session_bag(session);
    pdr_value *slot = pdr_value_new_object(), *value = NULL;

    if (pdr_bag_has(bag, pdr_str_c(key))) {
        pdr_value_free(slot);
        must(pdr_bag_get(&slot, bag, pdr_str_c(key), NULL), "bag");
    }
    must(pdr_value_new_int64(&value, n, NULL), "number");
    must(pdr_value_set(&slot, pdr_str_c(member), value, NULL), "slot");
    must(pdr_bag_set(bag, pdr_str_c(key), slot, NULL), "bag");
    pdr_value_free(value);
    pdr_value_free(slot);
}

/* --- a context provider, and how it can leak -------------------------------
 * It counts the runs of a session, and says so to the model.
 */

enum leak {
    NO_LEAK,
    LAST_SESSION,    /* a field that remembers the last session */
    BY_ADDRESS,      /* a cache by address */
    IN_AGENT,        /* state in the provider */
    ONE_KEY,         /* one key for two instances */
    ONE_HIDDEN_KEY,  /* the same, and nobody is told */
    SECRET_IN_BAG,   /* a password */
    HANDLE_IN_BAG,   /* the address of the provider */
    HANDLE_FOLLOWED, /* an open file, by its number */
    UNNAMED_KEY      /* a key that nobody loads from a store */
};

struct counter {
    enum leak leak;
    char key[32];
    const char *keys[2];
    int file;                    /* of HANDLE_FOLLOWED */
    int64_t last;                /* count of the session that runs */
    const pdr_session *known[8]; /* sessions whose count is in `counts` */
    int64_t counts[128];         /* by place in `known`, or by letter */
};

/* Where a count is that a leaky provider keeps in itself; NULL: nowhere. */
static int64_t *own_count(struct counter *c, const pdr_run_info *run)
{
    pdr_buf text = PDR_BUF_INIT(1024);
    int64_t *at = NULL;

    if (c->leak == IN_AGENT) { /* "... turn 1 of a" */
        must(pdr_message_text(&text, run->input[0], run->shape, NULL), "text");
        at = &c->counts[text.ptr[text.len - 1] & 127];
    }
    for (size_t i = 0; c->leak == BY_ADDRESS && at == NULL && i < 8; i++) {
        if (c->known[i] != NULL && c->known[i] != run->session)
            continue;
        at = &c->counts[i];
        if (c->known[i] == NULL)
            *at = bag_number(run->session, c->key, "runs");
        c->known[i] = run->session;
    }
    pdr_buf_dispose(&text);
    return at;
}

static int64_t count_of(struct counter *c, const pdr_run_info *run)
{
    int64_t *own = own_count(c, run);

    return own != NULL ? *own : bag_number(run->session, c->key, "runs");
}

static pdr_rc counter_before(pdr_context *context, const pdr_run_info *run,
                             pdr_err *err, void *self)
{
    struct counter *c = self;
    pdr_buf text = PDR_BUF_INIT(1024);
    pdr_value *message = NULL;
    int file = (int)bag_number(run->session, c->key, "file");
    char byte = 'y';

    c->last = count_of(c, run);
    if (c->leak == HANDLE_FOLLOWED && c->last > 0 &&
        (lseek(file, 0, SEEK_SET) != 0 || read(file, &byte, 1) != 1))
        return pdr_err_set(err, PDR_EIO, "no_file", "the file is not open");
    must(pdr_buf_printf(&text, err, "%" PRId64 " runs before this %c", c->last,
                        byte),
         "text");
    must(pdr_message_new_text(&message, PDR_SHAPE_DOTNET, pdr_str_c("user"),
                              pdr_buf_str(&text), err),
         "message");
    pdr_rc rc =
        pdr_context_add_message(context, message, PDR_SHAPE_DOTNET, err);
    pdr_value_free(message);
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc counter_after(const pdr_run_info *run,
                            const pdr_run_outcome *outcome, pdr_err *err,
                            void *self)
{
    struct counter *c = self;
    int64_t *own = own_count(c, run), n = 0;
    pdr_value *secret = NULL;

    if (outcome->error != NULL)
        return PDR_OK;
    n = (c->leak == LAST_SESSION ? c->last : count_of(c, run)) + 1;
    if (own != NULL)
        *own = n;
    if (c->leak == IN_AGENT)
        return PDR_OK;
    bag_set_number(run->session, c->key, "runs", n);
    if (c->leak == HANDLE_FOLLOWED)
        bag_set_number(run->session, c->key, "file", c->file);
    if (c->leak == HANDLE_IN_BAG)
        bag_set_number(run->session, c->key, "self", (int64_t)(intptr_t)c);
    if (c->leak == SECRET_IN_BAG) {
        must(pdr_value_new_string(&secret, pdr_str_c("user:" PASSWORD), err),
             "secret");
        must(pdr_bag_set(pdr_session_bag(run->session), pdr_str_c("user"),
                         secret, err),
             "bag");
        pdr_value_free(secret);
    }
    return PDR_OK;
}

static pdr_rc counter_open(pdr_provider *out, const char *place,
                           unsigned number, pdr_err *err, void *arg)
{
    struct counter *c = calloc(1, sizeof(*c));
    char path[4096];

    if (c == NULL)
        return pdr_err_set(err, PDR_ENOMEM, "no_memory", "out of memory");
    c->leak = *(const enum leak *)arg;
    (void)snprintf(c->key, sizeof(c->key), "runs.%u",
                   c->leak == ONE_KEY || c->leak == ONE_HIDDEN_KEY ? 0
                                                                   : number);
    c->keys[0] = c->key;
    (void)snprintf(path, sizeof(path), "%s/file", place);
    c->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (c->file < 0 || pwrite(c->file, "y", 1, 0) != 1)
        must(PDR_EIO, path);
    *out = (pdr_provider){
        .name = "counter",
        .kind = PDR_PROVIDER_CONTEXT,
        .keys = c->leak == ONE_HIDDEN_KEY || c->leak == UNNAMED_KEY ? NULL
                                                                    : c->keys,
        .self = c,
        .before = counter_before,
        .after = counter_after};
    return PDR_OK;
}

static void counter_close(pdr_provider *provider, void *arg)
{
    struct counter *c = provider->self;

    (void)arg;
    close(c->file);
    free(c);
}

/* --- honest providers of history -------------------------------------------
 */

enum where { IN_SESSION, IN_STORE, IN_FILES };

struct keeper {
    enum where where;
    char key[32];
    const char *keys[2];
    pdr_store *store; /* handles: they stay here */
    int folder;
};

/* Which conversation a session has; makes one, if there is none yet. */
static int64_t conversation_of(struct keeper *k, pdr_session *session)
{
    int64_t n = bag_number(session, k->key, "conversation");
    char name[64];

    for (int64_t i = 1; n == 0; i++) {
        const pdr_stored_opts create = {.create = true};
        const pdr_commit_options now = {.now_ms = 1};
        pdr_stored *made = NULL;
        int file = -1;

        (void)snprintf(name, sizeof(name), "%" PRId64, i);
        const pdr_ref ref = {.id = pdr_str_c(name)};
        if (k->where == IN_FILES) {
            file = openat(k->folder, name,
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
            if (file < 0 && errno == EEXIST)
                continue;
            if (file < 0)
                must(PDR_EIO, name);
            close(file);
        } else {
            must(pdr_stored_open(&made, k->store, &ref, &create, NULL), "open");
            bool is_new = pdr_stored_head(made)->revision == 0;
            if (is_new)
                must(pdr_stored_commit(made, &now, NULL), "commit");
            pdr_stored_close(made);
            if (!is_new)
                continue;
        }
        n = i;
        bag_set_number(session, k->key, "conversation", n);
    }
    return n;
}

/* The whole conversation, as a list; owned. Not for IN_STORE. */
static pdr_value *keeper_read(struct keeper *k, pdr_session *session)
{
    pdr_value *list = NULL;
    char name[64], text[65536];
    ssize_t len = 0;
    int file = -1;

    if (k->where == IN_SESSION) {
        must(pdr_session_history_at(&list, session, k->key, NULL), "history");
        return list;
    }
    (void)snprintf(name, sizeof(name), "%" PRId64, conversation_of(k, session));
    file = openat(k->folder, name, O_RDONLY | O_CLOEXEC);
    len = read(file, text, sizeof(text));
    close(file);
    if (len <= 0)
        return pdr_value_new_array();
    must(pdr_json_read(&list, pdr_str_n(text, (size_t)len), NULL, NULL),
         "file");
    return list;
}

static void free_window(void *window)
{
    pdr_stored_window_free(window);
}

static pdr_rc keeper_before(pdr_context *context, const pdr_run_info *run,
                            pdr_err *err, void *self)
{
    struct keeper *k = self;
    pdr_stored_window *window = NULL;
    pdr_stored *stored = NULL;
    pdr_value *list = NULL;
    pdr_rc rc = PDR_OK;
    char name[64];
    pdr_iter it;

    if (k->where == IN_STORE) {
        (void)snprintf(name, sizeof(name), "%" PRId64,
                       conversation_of(k, run->session));
        const pdr_ref ref = {.id = pdr_str_c(name)};
        must(pdr_stored_open(&stored, k->store, &ref, NULL, err), "open");
        must(pdr_stored_messages(&window, stored, 0, 0, err), "messages");
        pdr_stored_close(stored);
        for (size_t i = 0; i < window->count; i++)
            must(pdr_context_add_message(context, window->messages[i].value,
                                         run->shape, err),
                 "message");
        return pdr_context_keep(context, window, free_window, err);
    }
    list = keeper_read(k, run->session);
    pdr_iter_init(&it, list);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr_context_add_message(context, it.value, run->shape, err);
    pdr_value_free(list);
    return rc;
}

/* Add messages to where the conversation is. */
static void keeper_add(struct keeper *k, const pdr_run_info *run,
                       const pdr_value *const *messages, size_t count)
{
    const pdr_commit_options now = {.now_ms = run->now_ms};
    pdr_buf text = PDR_BUF_INIT(65536);
    pdr_stored *stored = NULL;
    pdr_value *list = NULL;
    char name[64];
    int file = -1;

    if (k->where == IN_SESSION) {
        must(pdr_session_add_messages_at(run->session, k->key, messages, count,
                                         NULL),
             "history");
        return;
    }
    (void)snprintf(name, sizeof(name), "%" PRId64,
                   conversation_of(k, run->session));
    const pdr_ref ref = {.id = pdr_str_c(name)};
    if (k->where == IN_STORE) {
        must(pdr_stored_open(&stored, k->store, &ref, NULL, NULL), "open");
        must(pdr_stored_add_messages(stored, pdr_str_n(NULL, 0), messages,
                                     count, NULL),
             "add");
        must(pdr_stored_commit(stored, &now, NULL), "commit");
        pdr_stored_close(stored);
        return;
    }
    list = keeper_read(k, run->session);
    for (size_t i = 0; i < count; i++)
        must(pdr_value_append(&list, messages[i], NULL), "list");
    must(pdr_json_write(&text, list, NULL, NULL), "text");
    file = openat(k->folder, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (write(file, text.ptr, text.len) != (ssize_t)text.len)
        must(PDR_EIO, name);
    close(file);
    pdr_value_free(list);
    pdr_buf_dispose(&text);
}

static pdr_rc keeper_after(const pdr_run_info *run,
                           const pdr_run_outcome *outcome, pdr_err *err,
                           void *self)
{
    (void)err;
    if (outcome->error == NULL) {
        keeper_add(self, run, run->input, run->input_count);
        keeper_add(self, run, outcome->answers, outcome->answer_count);
    }
    return PDR_OK;
}

static pdr_rc keeper_open(pdr_provider *out, const char *place, unsigned number,
                          pdr_err *err, void *arg)
{
    struct keeper *k = calloc(1, sizeof(*k));
    char path[4096];

    if (k == NULL)
        return pdr_err_set(err, PDR_ENOMEM, "no_memory", "out of memory");
    k->where = *(const enum where *)arg;
    (void)snprintf(k->key, sizeof(k->key), "keeper.%u", number);
    k->keys[0] = k->key;
    (void)snprintf(path, sizeof(path), "%s/history.db", place);
    if (k->where == IN_STORE)
        must(pdr_store_open(&k->store, path, err), path);
    k->folder = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *out = (pdr_provider){.name = "keeper",
                          .kind = PDR_PROVIDER_HISTORY,
                          .keys = k->keys,
                          .self = k,
                          .before = keeper_before,
                          .after = keeper_after};
    return PDR_OK;
}

static void keeper_close(pdr_provider *provider, void *arg)
{
    struct keeper *k = provider->self;

    (void)arg;
    pdr_store_close(k->store);
    close(k->folder);
    free(k);
}

/* --- the program -----------------------------------------------------------
 */

int main(int argc, char **argv)
{
    static const char *const secrets[] = {PASSWORD, NULL};
    static const struct {
        const char *name;
        bool is_history;
        int how;
    } providers[] = {
        {"honest", false, NO_LEAK},
        {"history-in-session", true, IN_SESSION},
        {"history-in-store", true, IN_STORE},
        {"history-in-files", true, IN_FILES},
        {"last-session", false, LAST_SESSION},
        {"by-address", false, BY_ADDRESS},
        {"in-agent", false, IN_AGENT},
        {"one-key", false, ONE_KEY},
        {"one-hidden-key", false, ONE_HIDDEN_KEY},
        {"secret-in-bag", false, SECRET_IN_BAG},
        {"handle-in-bag", false, HANDLE_IN_BAG},
        {"handle-followed", false, HANDLE_FOLLOWED},
        {"unnamed-key", false, UNNAMED_KEY},
    };

    for (size_t i = 0; argc > 1 && i < sizeof(providers) / sizeof(providers[0]);
         i++) {
        enum leak leak = (enum leak)providers[i].how;
        enum where where = (enum where)providers[i].how;
        pdr_provider_kit kit = {.open = counter_open,
                                .close = counter_close,
                                .secrets = secrets,
                                .arg = &leak};

        if (strcmp(providers[i].name, argv[1]) != 0)
            continue;
        if (providers[i].is_history) {
            kit.open = keeper_open;
            kit.close = keeper_close;
            kit.arg = &where;
        }
        if (providers[i].how == NO_LEAK) /* any model will do */
            must(pdr_client_script(
                     &kit.client, pdr_str_c("{\"replies\":[{\"text\":\"x\"}]}"),
                     NULL),
                 "script");
        int status = pdr_provider_kit_main(argc, argv, &kit);
        pdr_client_free(kit.client);
        return status;
    }
    (void)fprintf(stderr, "usage: provider-kit NAME FOLDER\n");
    return 2;
}
