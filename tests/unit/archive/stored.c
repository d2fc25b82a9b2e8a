/*
 * A session in a store as a session: opened, loaded, changed, committed; what
 * others do meanwhile, and what fails.
 */
#include <pthread.h>

#include <perdure/sys/store.h>

#include "archive_hand.h"
#include "fault_store.h"
#include "hook_store.h"
#include "past.h"
#include "sqlite_room.h"
#include "stored.h"

#define NOW INT64_C(1700000000000)

static const pdr_commit_options now = {.now_ms = NOW};
static const pdr_stored_opts create = {.create = true};
static const pdr_str no_run = {NULL, 0};

/* Where each scenario runs. */
struct place {
    struct room room;
    pdr_store *store;
};

static void place_enter(struct place *p, bool on_disk)
{
    pdr_err err = PDR_ERR_INIT;

    room_enter(&p->room);
    ASSERT_RC(PDR_OK,
              pdr_store_open(
                  &p->store,
                  on_disk ? store_uri(&p->room, "s.db", "") : "memory:", &err));
}

static void place_leave(struct place *p)
{
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_verify(NULL, p->store, NULL, &err, NULL, NULL) != PDR_OK)
        fail_msg("not whole: %s", err.message);
    pdr_store_close(p->store);
    room_leave(&p->room);
}

#define EACH_STORE(noun, sentence)                   \
    static void on_##noun##_##sentence(pdr_store *); \
    TEST(noun, sentence)                             \
    {                                                \
        for (int i = 0; i < 2; i++) {                \
            struct place p;                          \
            place_enter(&p, i == 1);                 \
            on_##noun##_##sentence(p.store);         \
            place_leave(&p);                         \
        }                                            \
    }                                                \
    static void on_##noun##_##sentence(pdr_store *store)

/* --- small steps ---------------------------------------------------------- */

static pdr_stored *open_as(pdr_store *store, const char *id,
                           const pdr_stored_opts *opts)
{
    const pdr_ref ref = {.id = pdr_str_c(id)};
    pdr_stored *out = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_stored_open(&out, store, &ref, opts, &err) != PDR_OK)
        fail_msg("not opened: %s", err.message);
    ASSERT_STR("", err.reason); /* of a success it says nothing */
    return out;
}

static pdr_value *json(const char *text)
{
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&out, pdr_str_c(text), NULL, NULL));
    return out;
}

static pdr_bag *bag_of(pdr_stored *s)
{
    return pdr_session_bag(pdr_stored_session(s));
}

static void set_slot(pdr_stored *s, const char *key, const char *text)
{
    pdr_value *value = json(text);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_bag_set(bag_of(s), pdr_str_c(key), value, &err));
    pdr_value_free(value);
}

static void load_slot(pdr_stored *s, const char *key)
{
    const pdr_str keys[] = {pdr_str_c(key)};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_stored_load(s, keys, 1, &err));
}

static void add_text(pdr_stored *s, const char *role, const char *text)
{
    pdr_value *message = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_message_new_text(&message, pdr_stored_shape(s),
                                   pdr_str_c(role), pdr_str_c(text), &err));
    ASSERT_RC(PDR_OK, pdr_stored_add_messages(
                          s, pdr_str_c("run-1"),
                          (const pdr_value *const *)&message, 1, &err));
    pdr_value_free(message);
}

static void commit(pdr_stored *s)
{
    pdr_err err = PDR_ERR_INIT;

    if (pdr_stored_commit(s, &now, &err) != PDR_OK)
        fail_msg("not committed: %s", err.message);
}

/* The bag, as it is in memory. */
static void expect_bag(const char *expected, pdr_stored *s)
{
    pdr_value *all = pdr_bag_snapshot(bag_of(s));
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    const pdr_write_opts as_read = {.layout = PDR_AS_READ};

    ASSERT_RC(PDR_OK, pdr_json_write(&text, all, &as_read, NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_value_free(all);
}

/* "role:text" of the last messages, with a blank between them. */
static void expect_last(const char *expected, pdr_stored *s, size_t messages,
                        size_t bytes)
{
    pdr_stored_window *window = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_shape shape = pdr_stored_shape(s);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_stored_messages(&window, s, messages, bytes, &err));
    for (size_t i = 0; i < window->count; i++) {
        const pdr_value *value = window->messages[i].value;
        pdr_str role = {NULL, 0};

        ASSERT_RC(PDR_OK, pdr_value_text(&role, pdr_message_role(value, shape),
                                         &scratch, &err));
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&text, &err, "%s%.*s:", i > 0 ? " " : "",
                                 (int)role.len, role.ptr));
        ASSERT_RC(PDR_OK, pdr_message_text(&text, value, shape, &err));
    }
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_stored_window_free(window);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&text);
}

/* --- opening -------------------------------------------------------------- */

EACH_STORE(stored_open, makes_a_session_with_the_first_commit)
{
    const pdr_ref ref = {.id = pdr_str_c("s")};
    pdr_value *properties = json("{\"team\":\"a\",\"n\":[1]}"), *read = NULL;
    const pdr_stored_opts opts = {.create = true,
                                  .agent = pdr_str_c("clerk"),
                                  .properties = properties,
                                  .expiry_ms = NOW + 5};
    pdr_stored *s = open_as(store, "s", &opts), *other = NULL;
    const pdr_head *head = pdr_stored_head(s);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_INT(0, head->revision);
    ASSERT_RC(PDR_ENOTFOUND, pdr_stored_open(&other, store, &ref, NULL, &err));
    ASSERT_STR("no_session", err.reason);
    commit(s);
    ASSERT_INT(1, head->revision);
    pdr_stored_close(s);
    pdr_value_free(properties);

    s = open_as(store, "s", NULL);
    head = pdr_stored_head(s);
    ASSERT_TEXT("client", head->kind);
    ASSERT_TEXT("clerk", head->agent);
    ASSERT_INT(NOW + 5, head->expiry_ms);
    ASSERT_TEXT("s", pdr_session_id(pdr_stored_session(s)));
    ASSERT_INT(PDR_SESSION_KIND_CLIENT,
               pdr_session_get_kind(pdr_stored_session(s)));
    ASSERT_RC(PDR_OK, pdr_stored_properties(&read, s, &err));
    properties = json("{\"n\":[1],\"team\":\"a\"}");
    ASSERT(pdr_value_equal(properties, read));
    pdr_value_free(properties);
    pdr_value_free(read);
    pdr_stored_close(s);
}

TEST(stored_open, refuses_what_cannot_be_opened)
{
    static const struct {
        const char *tenant, *id, *kind; /* kind: of a session that is there */
        pdr_stored_opts opts;
        pdr_rc rc;
        const char *reason;
    } cases[] = {
        {NULL, "nobody", NULL, {.create = false}, PDR_ENOTFOUND, "no_session"},
        {"other",
         "s",
         "client",
         {.create = false},
         PDR_ENOTFOUND,
         "no_session"},
        {NULL, "", NULL, {.create = true}, PDR_EINVALID, "bad_ref"},
        {"", "s", NULL, {.create = true}, PDR_EINVALID, "bad_ref"},
        {NULL,
         "s",
         "something-new",
         {.create = true},
         PDR_EINVALID,
         "session_kind"},
        {NULL,
         "@dafx-a@k",
         NULL,
         {.create = true, .kind = PDR_SESSION_KIND_CLIENT},
         PDR_EINVALID,
         "session_kind"},
        {NULL,
         "plain",
         NULL,
         {.create = true, .kind = PDR_SESSION_KIND_DURABLE},
         PDR_EINVALID,
         "session_kind"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct hand hand = {.id = "s", .kind = cases[i].kind};
        pdr_ref ref = {.id = pdr_str_c(cases[i].id)};
        pdr_store *store = hand_store(&hand);
        pdr_stored *s = NULL;
        pdr_err err = PDR_ERR_INIT;

        if (cases[i].tenant != NULL)
            ref.tenant = pdr_str_c(cases[i].tenant);
        ASSERT_RC(cases[i].rc,
                  pdr_stored_open(&s, store, &ref, &cases[i].opts, &err));
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT(s == NULL);
        pdr_store_close(store);
    }
}

TEST(stored_open, refuses_properties_that_are_not_an_object)
{
    const struct hand hand = {.id = "s"};
    const pdr_ref ref = {.id = pdr_str_c("new")};
    pdr_value *list = json("[1]");
    const pdr_stored_opts opts = {.create = true, .properties = list};
    pdr_store *store = hand_store(&hand);
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_stored_open(&s, store, &ref, &opts, &err));
    ASSERT_STR("wrong_kind", err.reason);
    pdr_value_free(list);
    pdr_store_close(store);
}

/* What cannot be opened as a session is still there as rows. */
TEST(stored_open, shows_rows_where_the_document_cannot_be_used)
{
    static const struct hand cases[] = {
        {.id = "s", .frame = "{}", .slots = {{"b", "1"}, {"a", " 2"}}},
        {.id = "s", .kind = "odd", .slots = {{"b", "1"}, {"a", " 2"}}},
        {.id = " ", .slots = {{"b", "1"}, {"a", " 2"}}}};
    const pdr_stored_opts rows = {.rows_only = true};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_store *store = hand_store(&cases[i]);
        pdr_stored *s = open_as(store, cases[i].id, &rows);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_stored_load_all(s, &err));
        expect_bag("{\"a\":2,\"b\":1}", s);
        ASSERT_RC(PDR_OK, pdr_bag_remove(bag_of(s), pdr_str_c("a"), &err));
        commit(s);
        set_slot(s, "c", "3");
        ASSERT_RC(PDR_EINVALID, pdr_stored_commit(s, &now, &err));
        ASSERT_STR("bag_sealed", err.reason);
        ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
        ASSERT_INT(1, pdr_stored_head(s)->slots);
        pdr_stored_close(s);
        pdr_store_close(store);
    }
}

/* What it would be made with says nothing about one that is there. */
TEST(stored_open, ignores_how_to_make_a_session_that_is_there)
{
    const struct hand hand = {.id = "s", .kind = "client"};
    const pdr_stored_opts opts = {.create = true,
                                  .kind = PDR_SESSION_KIND_DURABLE,
                                  .agent = pdr_str_c("other"),
                                  .expiry_ms = NOW + 5};
    pdr_store *store = hand_store(&hand);
    pdr_stored *s = open_as(store, "s", &opts);

    ASSERT_TEXT("client", pdr_stored_head(s)->kind);
    commit(s);
    ASSERT_INT(1, pdr_stored_head(s)->revision);
    pdr_stored_close(s);
    pdr_store_close(store);
}

TEST(stored_open, reads_a_document_of_the_time_before_bags)
{
    static const char text[] =
        "{\"storeState\":{\"messages\":[{\"role\":\"user\",\"contents\":[{"
        "\"$type\":\"text\",\"text\":\"hi\"}]}]}}";
    const struct hand none = {.id = "none"};
    const pdr_import_opts opts = {.ref = {.id = pdr_str_c("s")}, .now_ms = NOW};
    pdr_store *store = hand_store(&none);
    pdr_str rest = pdr_str_c(text);
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, &err, pdr_read_str, &rest));
    s = open_as(store, "s", NULL);
    expect_bag("{}", s);
    expect_last("user:hi", s, 0, 0);
    pdr_stored_close(s);
    pdr_store_close(store);
}

EACH_STORE(stored_open, reads_ids_and_bag_of_a_document_that_came_in)
{
    static const char text[] =
        "{\"type\":\"session\",\"session_id\":\"p1\", \"service_session_id\":"
        "\"conv_7\",\"state\":{\"z\": [1, 2],\"in_memory\":{\"messages\":["
        "{\"type\":\"message\",\"role\":\"user\",\"contents\":[{\"type\":"
        "\"text\",\"text\":\"hi\"}]}],\"cursor\":7},\"a\":1e0}}";
    pdr_str rest = pdr_str_c(text);
    const pdr_import_opts opts = {.now_ms = NOW};
    pdr_value *service = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_stored *s = NULL;

    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, &err, pdr_read_str, &rest));
    s = open_as(store, "p1", NULL);
    ASSERT_RC(PDR_OK,
              pdr_session_service_id(&service, pdr_stored_session(s), &err));
    ASSERT(pdr_value_text_is(service, pdr_str_c("conv_7")));
    ASSERT_INT(PDR_SHAPE_PYTHON, pdr_stored_shape(s));
    expect_bag("{\"in_memory\":{\"cursor\":7}}", s);
    load_slot(s, "a");
    expect_bag("{\"in_memory\":{\"cursor\":7},\"a\":1e0}", s);
    set_slot(s, "z", "0");
    ASSERT_RC(PDR_OK, pdr_stored_load_all(s, &err));
    expect_bag("{\"z\":0,\"in_memory\":{\"cursor\":7},\"a\":1e0}", s);
    expect_last("user:hi", s, 0, 0);
    add_text(s, "assistant", "ho");
    commit(s);
    hand_expect_in(
        "{\"type\":\"session\",\"session_id\":\"p1\", \"service_session_id\":"
        "\"conv_7\",\"state\":{\"z\": 0,\"in_memory\":{\"messages\":["
        "{\"type\":\"message\",\"role\":\"user\",\"contents\":[{\"type\":"
        "\"text\",\"text\":\"hi\"}]},{\"role\":\"assistant\",\"contents\":["
        "{\"type\":\"text\",\"text\":\"ho\",\"additional_properties\":{}}],"
        "\"additional_properties\":{},\"type\":\"message\"}],"
        "\"cursor\":7},\"a\":1e0}}",
        store, "p1");
    pdr_value_free(service);
    pdr_stored_close(s);
}

/* --- the bag -------------------------------------------------------------- */

EACH_STORE(stored_commit, writes_the_slots_that_changed_and_no_other)
{
    pdr_stored *s = open_as(store, "s", &create);
    pdr_err err = PDR_ERR_INIT;

    set_slot(s, "a", "{\"n\":1}");
    set_slot(s, "b", "2");
    set_slot(s, "na\xC3\xAFve \"k\"", "3");
    commit(s);
    pdr_stored_close(s);

    s = open_as(store, "s", NULL);
    expect_bag("{}", s);
    load_slot(s, "a");
    load_slot(s, "na\xC3\xAFve \"k\"");
    load_slot(s, "not there");
    set_slot(s, "a", "{\"n\":1}"); /* as it was */
    commit(s);
    ASSERT_INT(1, pdr_stored_head(s)->revision);
    set_slot(s, "b", "20"); /* unseen */
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag_of(s), pdr_str_c("a"), &err));
    commit(s);
    ASSERT_INT(2, pdr_stored_head(s)->revision);
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    ASSERT_RC(PDR_OK, pdr_stored_load_all(s, &err));
    expect_bag("{\"b\":20,\"na\xC3\xAFve \\\"k\\\"\":3}", s);
    pdr_stored_close(s);
}

EACH_STORE(stored_load_all, keeps_changes_of_before)
{
    pdr_stored *s = open_as(store, "s", &create);
    pdr_err err = PDR_ERR_INIT;

    set_slot(s, "a", "1");
    set_slot(s, "b", "2");
    set_slot(s, "c", "3");
    commit(s);
    pdr_stored_close(s);
    s = open_as(store, "s", NULL);
    load_slot(s, "a");
    set_slot(s, "b", "20");
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag_of(s), pdr_str_c("a"), &err));
    ASSERT_RC(PDR_OK, pdr_stored_load_all(s, &err));
    expect_bag("{\"b\":20,\"c\":3}", s);
    commit(s);
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    ASSERT_INT(2, pdr_stored_head(s)->slots);
    pdr_stored_close(s);
}

/* Of what came in as this: may the slot be set, or why not? */
TEST(stored_slot, is_free_but_for_where_the_history_is)
{
    static const char net[] = "InMemoryChatHistoryProvider";
    static const char bagless[] =
        "{\"storeState\":{\"messages\":[]},\"conversationId\":\"c\"}";
    static const struct {
        const char *document, *id, *kind, *key, *reason;
    } cases[] = {
        {"{\"stateBag\":{\"x\":1}}", "s", NULL, net, "history_slot"},
        {"{\"stateBag\":{\"x\":1}}", "s", NULL, "in_memory", NULL},
        {"{\"type\":\"session\",\"session_id\":\"s\",\"state\":{}}", "s", NULL,
         "in_memory", "history_slot"},
        {"{\"type\":\"session\",\"session_id\":\"s\",\"state\":{}}", "s", NULL,
         net, NULL},
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{}}", "@dafx-a@k", NULL, net,
         NULL},
        {bagless, "s", NULL, "a", "bag_sealed"},
        {NULL, "s", "client", net, "history_slot"},
        {NULL, "s", "client", "in_memory", NULL},
        {NULL, "@dafx-a@k", "durable", net, NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct hand hand = {.id = cases[i].id, .kind = cases[i].kind};
        const struct hand none = {.id = "none"};
        const pdr_import_opts opts = {.ref = {.id = pdr_str_c(cases[i].id)},
                                      .now_ms = NOW};
        pdr_store *store =
            hand_store(cases[i].document == NULL ? &hand : &none);
        pdr_str rest =
            pdr_str_c(cases[i].document != NULL ? cases[i].document : "");
        pdr_stored *s = NULL;
        pdr_err err = PDR_ERR_INIT;

        if (rest.len > 0)
            ASSERT_RC(PDR_OK, pdr_import(NULL, store, &opts, &err, pdr_read_str,
                                         &rest));
        s = open_as(store, cases[i].id, NULL);
        ASSERT_RC(
            cases[i].reason == NULL ? PDR_OK : PDR_EINVALID,
            pdr_stored_check_slot(s, pdr_str_c(cases[i].key), false, &err));
        ASSERT_STR(cases[i].reason == NULL ? "" : cases[i].reason, err.reason);
        pdr_stored_close(s);
        pdr_store_close(store);
    }
}

/* Called for each read of a store: counts the rows of slots. */
static size_t slots_read;

static void count_reads(pdr_store *store, void *arg)
{
    (void)store;
    (void)arg;
    slots_read++;
}

TEST(stored_load, reads_one_row_of_a_bag_of_100000)
{
    enum { SLOTS = 100000, AT_ONCE = 20000 };
    pdr_store *store = hook_open(NULL, NULL);
    pdr_stored *s = open_as(store, "s", &create);
    char key[32];
    pdr_err err = PDR_ERR_INIT;

    for (int i = 0; i < SLOTS; i++) {
        snprintf(key, sizeof(key), "slot-%06d", i);
        set_slot(s, key, "[1]");
        if (i % AT_ONCE == AT_ONCE - 1)
            commit(s);
    }
    pdr_stored_close(s);
    hook_reads(count_reads);
    slots_read = 0;
    s = open_as(store, "s", NULL);
    load_slot(s, "slot-070000");
    set_slot(s, "slot-070000", "[2]");
    commit(s);
    ASSERT_SIZE(2, slots_read); /* the head and the slot */
    ASSERT_SIZE(1, pdr_bag_count(bag_of(s)));
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    ASSERT_RC(PDR_OK, pdr_stored_load_all(s, &err));
    ASSERT_SIZE(SLOTS, pdr_bag_count(bag_of(s)));
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    set_slot(s, "one more", "1");
    ASSERT_RC(PDR_ELIMIT, pdr_stored_commit(s, &now, &err));
    ASSERT_STR("too_many_slots", err.reason);
    pdr_stored_close(s);
    hook_reads(NULL);
    pdr_store_close(store);
}

/* --- history -------------------------------------------------------------- */

EACH_STORE(stored_messages, gives_the_last_ones_by_count_and_by_bytes)
{
    pdr_stored *s = open_as(store, "s", &create);
    char text[32];

    expect_last("", s, 5, 0); /* it is not there yet */
    for (int i = 1; i <= 450; i++) {
        snprintf(text, sizeof(text), "%03d", i);
        add_text(s, i % 2 == 1 ? "user" : "assistant", text);
    }
    expect_last("", s, 5, 0); /* what it is going to add does not count */
    commit(s);
    expect_last("user:449 assistant:450", s, 2, 0);
    expect_last("assistant:448 user:449 assistant:450", s, 3, 100000);
    expect_last("assistant:450", s, 0, 1); /* the last one in any case */
    expect_last("user:449 assistant:450", s, 0, 140);
    pdr_stored_close(s);
}

EACH_STORE(stored_messages, of_a_long_history_come_from_several_pages)
{
    static const size_t counts[] = {1, 199, 200, 201, 400, 449, 450, 451, 0};
    pdr_stored *s = open_as(store, "s", &create);
    pdr_err err = PDR_ERR_INIT;

    for (int i = 0; i < 450; i++)
        add_text(s, "user", "x");
    commit(s);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        size_t want = counts[i] == 0 || counts[i] > 450 ? 450 : counts[i];
        pdr_stored_window *window = NULL;

        ASSERT_RC(PDR_OK, pdr_stored_messages(&window, s, counts[i], 0, &err));
        ASSERT_SIZE(want, window->count);
        ASSERT_INT(451 - want, window->messages[0].seq);
        ASSERT_INT(450, window->messages[want - 1].seq);
        ASSERT(window->is_whole == (want == 450));
        ASSERT_TEXT("run-1", window->messages[0].correlation_id);
        pdr_stored_window_free(window);
    }
    pdr_stored_close(s);
}

/* Entry numbers of a window, as text. */
static void expect_seqs(const char *expected, const char *past_text,
                        pdr_row_shape shape, size_t messages)
{
    pdr_stored_window *window = NULL;
    pdr_buf seqs = PDR_BUF_INIT(SIZE_MAX);
    pdr_store *store = NULL;
    struct past past;
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    past_read(&past, past_text, shape);
    past_commit(store, &past, NOW, 0);
    s = open_as(store, "s", NULL);
    ASSERT_RC(PDR_OK, pdr_stored_messages(&window, s, messages, 0, &err));
    for (size_t i = 0; i < window->count; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&seqs, &err, "%s%d", i > 0 ? " " : "",
                                         (int)window->messages[i].seq));
    ASSERT_TEXT(expected, pdr_buf_str(&seqs));
    pdr_stored_window_free(window);
    pdr_stored_close(s);
    past_dispose(&past);
    pdr_buf_dispose(&seqs);
    pdr_store_close(store);
}

TEST(stored_messages, never_have_a_result_without_its_call)
{
    static const struct {
        const char *past;
        size_t messages;
        const char *seqs;
    } cases[] = {
        {"u a+x t-x a u", 4, "2 3 4 5"},
        {"u a+x t-x a u", 3, "4 5"},         /* ends inside the call */
        {"u a+x+y t-x t-y a", 3, "5"},       /* two calls of one message */
        {"u a+x u a t-x u", 3, "4 6"},       /* answered later */
        {"u a+x t-x a+x t-x u", 3, "4 5 6"}, /* an id that is used again */
        {"u a+x t-x a+x t-x u", 2, "6"},
        {"u a+x t-x t-x u", 4, "2 3 4 5"}, /* a second result */
        {"u t-x a", 0, "1 3"},             /* it never had a call */
        {"u a+x t-x+y t-y a", 3, "5"},     /* a call beside such a result */
        {"u a?x u!x a", 2, "3 4"},         /* an answer is not a result */
        {"q#1 r+x|-x q r", 3, "2 3 4"},
        {"q#1 r+x|-x q r", 4, "2 2 3 4"},
        {"q r c o q", 0, "1 2 5"}, /* records are not messages */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int shape = PDR_ROW_DOTNET; shape <= PDR_ROW_SK; shape++) {
            const char *seqs = cases[i].seqs;

            if (strcmp(cases[i].past, "q#1 r+x|-x q r") == 0 &&
                cases[i].messages == 3)
                seqs = "3 4"; /* the call is before the window */
            expect_seqs(seqs, cases[i].past, (pdr_row_shape)shape,
                        cases[i].messages);
        }
    }
}

/* Both handles give the same window. */
static void expect_same_window(pdr_stored *reads, pdr_stored *keeps,
                               size_t messages, size_t bytes)
{
    pdr_stored_window *a = NULL, *b = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_stored_messages(&a, reads, messages, bytes, &err));
    ASSERT_RC(PDR_OK, pdr_stored_messages(&b, keeps, messages, bytes, &err));
    if (a->count != b->count || a->is_whole != b->is_whole)
        fail_msg("window %zu/%zu: %zu messages, not %zu", messages, bytes,
                 b->count, a->count);
    for (size_t i = 0; i < a->count; i++) {
        ASSERT_INT(a->messages[i].seq, b->messages[i].seq);
        ASSERT(pdr_value_equal(a->messages[i].value, b->messages[i].value));
        ASSERT(pdr_str_equal(a->messages[i].correlation_id,
                             b->messages[i].correlation_id));
    }
    pdr_stored_window_free(a);
    pdr_stored_window_free(b);
}

TEST(stored_messages, of_any_random_history_and_window_keep_that_rule)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct past_rule rule;
        pdr_store *store = NULL;
        struct past past;
        char text[4096];
        pdr_stored *s = NULL;
        pdr_err err = PDR_ERR_INIT;

        past_random(text, sizeof(text), &rule, seed);
        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
        past_read(&past, text, PDR_ROW_DOTNET);
        if (past.count == 0) {
            past_dispose(&past);
            pdr_store_close(store);
            continue;
        }
        past_commit(store, &past, NOW, 0);
        s = open_as(store, "s", NULL);
        pdr_stored *keeps = open_as(store, "s", NULL);
        keeps->keeps_tail = true;
        for (size_t n = 1; n <= past.count + 1; n++) {
            pdr_stored_window *window = NULL;

            ASSERT_RC(PDR_OK, pdr_stored_messages(&window, s, n, 0, &err));
            ASSERT(window->count <= n);
            for (size_t i = 0; i < past.item_count; i++) {
                const struct past_item *item = &past.items[i];
                bool in = false, has_call = false;

                for (size_t k = 0; k < window->count; k++)
                    in |= window->messages[k].seq == item->entry + 1;
                if (item->type != PAST_RESULT || !in ||
                    past.rows[item->entry].kind != PDR_ROW_MESSAGE)
                    continue;
                for (size_t k = 0; k < i; k++) {
                    const struct past_item *call = &past.items[k];

                    for (size_t m = 0; m < window->count; m++)
                        has_call |= (call->type == PAST_CALL ||
                                     call->type == PAST_REQUEST) &&
                                    strstr(item->id, call->id) != NULL &&
                                    window->messages[m].seq == call->entry + 1;
                }
                if (!has_call)
                    fail_msg("seed %d, window %d: a result without its call",
                             (int)seed, (int)n);
            }
            pdr_stored_window_free(window);
            expect_same_window(s, keeps, n, 0);
        }
        pdr_stored_close(keeps);
        pdr_stored_close(s);
        past_dispose(&past);
        pdr_store_close(store);
    }
}

/* A handle that keeps what it has read, whatever the windows that are taken
 * from it one after the other, with entries that come in between. */
TEST(stored_messages, are_the_same_from_a_handle_that_keeps_them)
{
    static const size_t windows[][2] = {
        {1, 0},   {4, 0}, {2, 0},    {0, 300}, {0, 1},    {3, 200}, {200, 0},
        {201, 0}, {0, 0}, {0, 5000}, {500, 0}, {450, 90}, {5, 0},
    };
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    for (size_t first = 0; first <= 450; first += 225) {
        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
        pdr_stored *keeps = open_as(store, "s", &create);
        keeps->keeps_tail = true;
        add_text(keeps, "user", "the first one");
        for (size_t i = 0; i < first; i++)
            add_text(keeps, i % 2 == 0 ? "user" : "assistant", "x");
        commit(keeps);
        if (first > 225) { /* begin with a cold one */
            pdr_stored_close(keeps);
            keeps = open_as(store, "s", NULL);
            keeps->keeps_tail = true;
        }
        for (size_t i = 0; i < PDR_COUNT(windows); i++) {
            pdr_stored *reads = open_as(store, "s", NULL);

            expect_same_window(reads, keeps, windows[i][0], windows[i][1]);
            /* without the last two, as a run that was claimed */
            reads->history_end = keeps->history_end =
                pdr_stored_head(reads)->next_seq - 1;
            expect_same_window(reads, keeps, windows[i][0], windows[i][1]);
            keeps->history_end = 0;
            ASSERT(pdr__stored_shrink(keeps) > 0);
            if (i == PDR_COUNT(windows) - 1)
                ASSERT(keeps->tail.count < 60);
            pdr_stored_close(reads);
            add_text(keeps, "assistant", "one more");
            commit(keeps);
        }
        pdr_stored_close(keeps);
        pdr_store_close(store);
    }
}

EACH_STORE(stored_read, gives_pages_both_ways_and_by_correlation_id)
{
    static const struct {
        pdr_stored_query query;
        const char *seqs;
    } cases[] = {
        {{.limit = 3}, "1 2 3"},
        {{.limit = 3, .from = 5}, "5 6 7"},
        {{.limit = 3, .backwards = true}, "9 8 7"},
        {{.limit = 3, .backwards = true, .from = 4}, "4 3 2"},
        {{.limit = 3, .from = 9}, "9"},
        {{.limit = 9, .from = 10}, ""},
        {{.correlation_id = {"run-1", 5}}, "1 2 3 4 5 6 7 8 9"},
        {{.max_bytes = 1}, "1"},
    };
    pdr_stored *s = open_as(store, "s", &create), *other = NULL;
    pdr_stored_page *page = NULL, *rest = NULL;
    pdr_err err = PDR_ERR_INIT;

    for (int i = 0; i < 9; i++)
        add_text(s, "user", "x");
    commit(s);
    other = open_as(store, "s", NULL);
    add_text(other, "user", "later");
    commit(other);
    pdr_stored_close(other);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_buf seqs = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_RC(PDR_OK, pdr_stored_read(&page, s, &cases[i].query, &err));
        for (size_t k = 0; k < page->count; k++) {
            ASSERT(page->entries[k].body != NULL);
            ASSERT_RC(PDR_OK,
                      pdr_buf_printf(&seqs, &err, "%s%d", k > 0 ? " " : "",
                                     (int)page->entries[k].row->seq));
        }
        ASSERT_TEXT(cases[i].seqs, pdr_buf_str(&seqs));
        pdr_buf_dispose(&seqs);
        pdr_stored_page_free(page);
    }
    const pdr_stored_query unknown = {.correlation_id = pdr_str_c("run-2")};
    ASSERT_RC(PDR_ENOTFOUND, pdr_stored_read(&page, s, &unknown, &err));
    ASSERT_STR("no_completion", err.reason);
    ASSERT_RC(PDR_OK, pdr_stored_read(&page, s, &cases[0].query, &err));
    const pdr_stored_query next = {.limit = 200, .after = page->next};
    ASSERT_RC(PDR_OK, pdr_stored_read(&rest, s, &next, &err));
    ASSERT_SIZE(6, rest->count);
    ASSERT(rest->next.ptr == NULL);
    pdr_stored_page_free(rest);
    pdr_stored_page_free(page);
    pdr_stored_close(s);
}

TEST(stored_read, gives_what_is_not_json_without_a_body)
{
    const struct hand hand = {
        .id = "s",
        .entries = {
            {"{nothing}", PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL},
            {"null", PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL},
            {"{\"messages\":null}", PDR_ROW_REQUEST, PDR_ROW_STATE, NULL},
            {"{\"messages\":[null,1]}", PDR_ROW_REQUEST, PDR_ROW_STATE, NULL},
            {"{}", PDR_ROW_MESSAGE, PDR_ROW_PYTHON, NULL}}};
    pdr_store *store = hand_store(&hand);
    pdr_stored *s = open_as(store, "s", NULL);
    pdr_stored_window *window = NULL;
    pdr_stored_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_stored_read(&page, s, NULL, &err));
    ASSERT(page->entries[0].body == NULL);
    ASSERT_TEXT("{nothing}", page->entries[0].row->body);
    ASSERT(page->entries[1].body != NULL);
    pdr_stored_page_free(page);
    ASSERT_RC(PDR_OK, pdr_stored_messages(&window, s, 0, 0, &err));
    ASSERT_SIZE(1, window->count);
    ASSERT_INT(5, window->messages[0].seq);
    pdr_stored_window_free(window);
    pdr_stored_close(s);
    pdr_store_close(store);
}

/* --- of a durable session ------------------------------------------------- */

/* Entries of a durable session, numbers from 1 on: requests say "q", responses
 * have two messages, the fourth entry is an error. */
static pdr_stored *durable_with_turns(pdr_store *store)
{
    static const struct {
        const char *texts[2];
        bool is_error;
    } entries[] = {{{"q1", NULL}, false}, {{"a1", "b1"}, false},
                   {{"q2", NULL}, false}, {{"oh no", NULL}, true},
                   {{"q3", NULL}, false}, {{"a3", "b3"}, false},
                   {{"q4", NULL}, false}};
    pdr_stored *s = open_as(store, "@dafx-bot@k1", &create);

    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        pdr_value *list = pdr_value_new_array(), *entry = NULL;
        pdr_entry_parts parts = {.kind = i % 2 == 0 ? PDR_ENTRY_REQUEST
                                                    : PDR_ENTRY_RESPONSE,
                                 .correlation_id = pdr_str_c("t"),
                                 .created_at = PDR_TICKS_UNIX_EPOCH,
                                 .is_error = entries[i].is_error};

        for (int k = 0; k < 2 && entries[i].texts[k] != NULL; k++) {
            pdr_value *message = NULL;

            ASSERT_RC(PDR_OK, pdr_message_new_text(
                                  &message, PDR_SHAPE_STATE, pdr_str_c("user"),
                                  pdr_str_c(entries[i].texts[k]), NULL));
            ASSERT_RC(PDR_OK, pdr_value_append(&list, message, NULL));
            pdr_value_free(message);
        }
        parts.messages = list;
        ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts, NULL));
        ASSERT_RC(PDR_OK, pdr_stored_add_entry(s, entry, NULL));
        pdr_value_free(entry);
        pdr_value_free(list);
    }
    commit(s);
    return s;
}

/* The texts of a window, which is released. */
static void expect_texts(const char *expected, pdr_stored_window *window)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < window->count; i++) {
        ASSERT_RC(PDR_OK, pdr_message_text(&text, window->messages[i].value,
                                           PDR_SHAPE_STATE, NULL));
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c(" "), NULL));
    }
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_stored_window_free(window);
}

EACH_STORE(stored_messages, leave_out_errors_and_what_comes_after_the_end)
{
    static const struct {
        uint64_t end;
        size_t max;
        const char *texts;
    } cases[] = {{0, 0, "q1 a1 b1 q2 q3 a3 b3 q4 "},
                 {0, 5, "q2 q3 a3 b3 q4 "},
                 {7, 0, "q1 a1 b1 q2 q3 a3 b3 "},
                 {7, 2, "a3 b3 "},
                 {5, 1, "q2 "},
                 {2, 0, "q1 "},
                 {1, 0, ""},
                 {99, 1, "q4 "}};
    pdr_stored *s = durable_with_turns(store);

    COVERS("D-48");
    COVERS("D-49");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pdr_stored_query forward = {.limit = 2};
        pdr_stored_window *window = NULL;
        pdr_stored_page *page = NULL;
        uint64_t end = cases[i].end;

        s->history_end = end;
        ASSERT_RC(PDR_OK,
                  pdr_stored_messages(&window, s, cases[i].max, 0, NULL));
        ASSERT(window->is_whole == (cases[i].max == 0));
        expect_texts(cases[i].texts, window);
        ASSERT_RC(PDR_OK, pdr_stored_read(&page, s, &forward, NULL));
        ASSERT_SIZE(end == 1 || end == 2 ? end - 1 : 2, page->count);
        pdr_stored_page_free(page);
    }
    pdr_stored_close(s);
}

EACH_STORE(stored_pick, gives_the_same_messages_again)
{
    static const struct {
        struct pdr__span spans[3];
        size_t count;
        const char *texts;
    } cases[] = {
        {{{7, 0, 8}}, 1, "q1 a1 b1 q2 q3 a3 b3 q4 "},
        {{{6, 0, 3}}, 1, "q2 q3 a3 "},
        {{{2, 0, 1}, {6, 1, 2}}, 2, "a1 a3 b3 "},
        {{{1, 0, 1}, {3, 0, 1}, {7, 0, 1}}, 3, "q1 q2 q4 "},
        {{{2, 0, 99}}, 1, "q1 a1 "},        /* some are gone */
        {{{2, 7, 1}, {4, 0, 1}}, 2, ""},    /* all are, or never were */
        {{{3, 0, 1}, {2, 1, 1}}, 2, "b1 "}, /* not in order */
        {{{0, 0, 0}}, 0, ""},
    };
    pdr_stored *s = durable_with_turns(store);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_stored_window *window = NULL;

        ASSERT_RC(PDR_OK, pdr__stored_pick(&window, s, cases[i].spans,
                                           cases[i].count, NULL));
        expect_texts(cases[i].texts, window);
    }
    pdr_stored_close(s);
}

EACH_STORE(window_place, is_the_span_that_picks_the_message)
{
    pdr_stored *s = durable_with_turns(store);
    pdr_stored_window *window = NULL, *one = NULL;
    uint64_t number = 0, last = 0;

    ASSERT_RC(PDR_OK, pdr_stored_messages(&window, s, 6, 0, NULL));
    for (size_t i = 0; i < window->count; i++) {
        struct pdr__span span = pdr__window_place(&number, window, i);

        ASSERT(i == 0 || number == last + 1);
        last = number;
        ASSERT_RC(PDR_OK, pdr__stored_pick(&one, s, &span, 1, NULL));
        ASSERT_SIZE(1, one->count);
        ASSERT(
            pdr_value_equal(window->messages[i].value, one->messages[0].value));
        pdr_stored_window_free(one);
    }
    pdr_stored_window_free(window);
    pdr_stored_close(s);
}

/* --- what is added -------------------------------------------------------- */

EACH_STORE(stored_add, makes_the_document_of_its_edition)
{
    pdr_stored *client = open_as(store, "c", &create);
    pdr_stored *durable = open_as(store, "@dafx-bot@k1", &create);
    pdr_err err = PDR_ERR_INIT;

    add_text(client, "user", "hi");
    commit(client);
    hand_expect_in("{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"client\","
                   "\"id\":\"c\"},\"stateBag\":{\"InMemoryChatHistoryProvider"
                   "\":{\"messages\":[{\"role\":\"user\",\"contents\":[{"
                   "\"$type\":\"text\",\"text\":\"hi\"}]}]}}}",
                   store, "c");
    for (int i = 0; i < 2; i++) {
        const pdr_entry_parts parts = {
            .kind = i == 0 ? PDR_ENTRY_REQUEST : PDR_ENTRY_RESPONSE,
            .correlation_id = pdr_str_c("t1"),
            .created_at = PDR_TICKS_UNIX_EPOCH + NOW * PDR_TICKS_PER_MS};
        pdr_value *entry = NULL;

        ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts, &err));
        ASSERT_RC(PDR_OK, pdr_stored_add_entry(durable, entry, &err));
        pdr_value_free(entry);
    }
    commit(durable);
    ASSERT_TEXT("durable", pdr_stored_head(durable)->kind);
    ASSERT_TEXT("bot", pdr_stored_head(durable)->agent);
    hand_expect_in(
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{"
        "\"$type\":\"request\",\"correlationId\":\"t1\",\"createdAt\":"
        "\"2023-11-14T22:13:20+00:00\",\"messages\":[]},{\"$type\":"
        "\"response\",\"correlationId\":\"t1\",\"createdAt\":"
        "\"2023-11-14T22:13:20+00:00\",\"messages\":[]}]}}",
        store, "@dafx-bot@k1");
    pdr_stored_close(client);
    pdr_stored_close(durable);
}

/* Also where the document is not read. */
TEST(stored_add, refuses_messages_in_the_rows_of_a_durable_session)
{
    const struct hand hand = {.id = "@dafx-a@k", .kind = "durable"};
    const pdr_stored_opts rows = {.rows_only = true};
    pdr_store *store = hand_store(&hand);
    pdr_stored *s = open_as(store, "@dafx-a@k", &rows);
    pdr_value *message = json("{}");
    const pdr_value *const messages[] = {message};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_INT(PDR_SHAPE_STATE, pdr_stored_shape(s));
    ASSERT_RC(PDR_EINVALID,
              pdr_stored_add_messages(s, no_run, messages, 1, &err));
    ASSERT_STR("wrong_kind", err.reason);
    pdr_value_free(message);
    pdr_stored_close(s);
    pdr_store_close(store);
}

TEST(stored_add, refuses_what_the_history_cannot_hold)
{
    const struct hand hand = {.id = "s", .kind = "client"};
    pdr_store *store = hand_store(&hand);
    pdr_stored *client = open_as(store, "s", NULL);
    pdr_stored *durable = open_as(store, "@dafx-a@k", &create);
    pdr_value *entry = json("{\"$type\":\"request\"}"), *list = json("[1]");
    const pdr_value *const messages[] = {entry, list};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_stored_add_entry(client, entry, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_stored_add_entry(durable, list, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_stored_add_messages(durable, no_run, messages, 1, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_stored_add_messages(client, no_run, messages, 2, &err));
    ASSERT_STR("wrong_kind", err.reason);
    commit(client);
    ASSERT_INT(1, pdr_stored_head(client)->revision);
    pdr_value_free(entry);
    pdr_value_free(list);
    pdr_stored_close(client);
    pdr_stored_close(durable);
    pdr_store_close(store);
}

EACH_STORE(stored_commit, refuses_an_entry_above_the_limit)
{
    pdr_stored *s = open_as(store, "s", &create);
    size_t size = ((size_t)64 << 20) + 16;
    char *text = malloc(size + 1);
    pdr_err err = PDR_ERR_INIT;

    memset(text, 'x', size);
    text[size] = '\0';
    add_text(s, "user", text);
    ASSERT_RC(PDR_ELIMIT, pdr_stored_commit(s, &now, &err));
    ASSERT_STR("row_too_large", err.reason);
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    ASSERT_INT(0, pdr_stored_head(s)->revision);
    free(text);
    pdr_stored_close(s);
}

EACH_STORE(stored_set, writes_state_expiry_and_properties_in_one_commit)
{
    pdr_stored *s = open_as(store, "s", &create);
    pdr_value *value = json("\"x\""), *read = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_stored_set_state(s, PDR_SESSION_WAITING);
    pdr_stored_set_expiry(s, NOW + 10);
    ASSERT_RC(PDR_OK, pdr_stored_set_property(s, pdr_str_c("k"), value, &err));
    ASSERT_RC(PDR_OK, pdr_stored_set_property(s, pdr_str_c("l"), value, &err));
    ASSERT_RC(PDR_OK, pdr_stored_set_property(s, pdr_str_c("l"), NULL, &err));
    ASSERT_RC(PDR_EINVALID,
              pdr_stored_set_property(s, pdr_str_c(" "), value, &err));
    ASSERT_STR("key_blank", err.reason);
    commit(s);
    ASSERT_INT(PDR_SESSION_WAITING, pdr_stored_head(s)->state);
    ASSERT_RC(PDR_OK, pdr_stored_properties(&read, s, &err));
    ASSERT_SIZE(1, pdr_value_count(read)); /* what it wrote itself */
    pdr_value_free(read);
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    ASSERT_INT(1, pdr_stored_head(s)->revision);
    ASSERT_INT(PDR_SESSION_WAITING, pdr_stored_head(s)->state);
    ASSERT_INT(NOW + 10, pdr_stored_head(s)->expiry_ms);
    ASSERT_RC(PDR_OK, pdr_stored_properties(&read, s, &err));
    ASSERT_SIZE(1, pdr_value_count(read));
    pdr_stored_set_expiry(s, PDR_NEVER);
    commit(s);
    ASSERT_INT(PDR_NEVER, pdr_stored_head(s)->expiry_ms);
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    ASSERT_INT(PDR_NEVER, pdr_stored_head(s)->expiry_ms);
    pdr_value_free(read);
    pdr_value_free(value);
    pdr_stored_close(s);
}

/* --- others write --------------------------------------------------------- */

EACH_STORE(stored_commit, refuses_a_late_writer_who_can_reload)
{
    pdr_stored *first = open_as(store, "s", &create);
    pdr_stored *late = open_as(store, "s", &create);
    pdr_value *properties = NULL;
    const pdr_str keys[] = {pdr_str_c("k")};
    pdr_err err = PDR_ERR_INIT;

    add_text(late, "user", "late");
    add_text(first, "user", "first");
    set_slot(first, "k", "1");
    commit(first);
    /* One that made the session first is a conflict, too. */
    ASSERT_RC(PDR_ECONFLICT, pdr_stored_commit(late, &now, &err));
    ASSERT_STR("revision_changed", err.reason);
    expect_last("user:first", first, 0, 0);
    ASSERT_RC(PDR_OK, pdr_stored_reload(late, &err));
    add_text(late, "user", "late");
    commit(late);
    expect_last("user:first user:late", late, 0, 0);
    expect_last("user:first", first, 0, 0); /* what its revision has */

    set_slot(first, "k", "2");
    ASSERT_RC(PDR_ECONFLICT, pdr_stored_commit(first, &now, &err));
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag_of(first), keys[0], &err));
    ASSERT_RC(PDR_OK, pdr_stored_reload(first, &err));
    expect_bag("{}", first);
    commit(late); /* no change, no revision */
    set_slot(late, "k", "3");
    commit(late);
    ASSERT_RC(PDR_ECONFLICT, pdr_stored_load(first, keys, 1, &err));
    ASSERT_RC(PDR_ECONFLICT, pdr_stored_load_all(first, &err));
    pdr_stored_close(first);

    /* Deleted: there is nothing to be late for. */
    hand_remove(store, "s");
    set_slot(late, "k", "4");
    ASSERT_RC(PDR_ENOTFOUND, pdr_stored_commit(late, &now, &err));
    ASSERT_STR("no_session", err.reason);
    ASSERT_RC(PDR_OK, pdr_stored_properties(&properties, late, &err));
    pdr_value_free(properties);
    pdr_stored_close(late);
}

/* A slot that is gone is one of another revision, too. */
EACH_STORE(stored_load, refuses_to_say_that_a_removed_slot_never_was)
{
    const pdr_str keys[] = {pdr_str_c("a"), pdr_str_c("b")};
    pdr_stored *s = open_as(store, "s", &create), *reader = NULL;
    pdr_err err = PDR_ERR_INIT;

    set_slot(s, "a", "1");
    set_slot(s, "b", "2");
    commit(s);
    reader = open_as(store, "s", NULL);
    ASSERT_RC(PDR_OK, pdr_stored_load(reader, keys, 1, &err));
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag_of(s), keys[1], &err));
    commit(s);
    ASSERT_RC(PDR_ECONFLICT, pdr_stored_load(reader, &keys[1], 1, &err));
    ASSERT_STR("revision_changed", err.reason);
    ASSERT_RC(PDR_OK, pdr_stored_reload(reader, &err));
    ASSERT_RC(PDR_OK, pdr_stored_load(reader, keys, 2, &err));
    expect_bag("{\"a\":1}", reader);
    pdr_stored_close(reader);
    pdr_stored_close(s);
}

EACH_STORE(stored_read, notices_that_the_history_was_replaced)
{
    static const char text[] = "{\"stateBag\":{}}";
    const pdr_import_opts opts = {
        .ref = {.id = pdr_str_c("s")}, .replace = true, .now_ms = NOW};
    pdr_str rest = pdr_str_c(text);
    pdr_stored *s = open_as(store, "s", &create);
    pdr_stored_window *window = NULL;
    pdr_err err = PDR_ERR_INIT;

    add_text(s, "user", "x");
    commit(s);
    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, &err, pdr_read_str, &rest));
    ASSERT_RC(PDR_ECONFLICT, pdr_stored_messages(&window, s, 0, 0, &err));
    ASSERT_STR("revision_changed", err.reason);
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    expect_last("", s, 0, 0);
    pdr_stored_close(s);
}

struct counting {
    pdr_store *store;
    int calls, others;
    pdr_rc rc;
};

static pdr_rc add_one(pdr_stored *s, pdr_err *err, void *arg)
{
    const pdr_str key = pdr_str_c("n");
    struct counting *c = arg;
    pdr_value *value = NULL;
    int64_t n = 0;
    pdr_rc rc = pdr_stored_load(s, &key, 1, err);

    c->calls++;
    if (c->calls <= c->others) { /* somebody is faster */
        pdr_stored *other = open_as(c->store, "s", NULL);
        struct counting quiet = {.store = c->store};

        ASSERT_RC(PDR_OK, pdr_stored_update(other, &now, err, add_one, &quiet));
        pdr_stored_close(other);
    }
    if (rc == PDR_OK && pdr_bag_get(&value, bag_of(s), key, NULL) == PDR_OK)
        rc = pdr_value_int64(&n, value, err);
    pdr_value_free(value);
    value = NULL;
    if (rc == PDR_OK)
        rc = pdr_value_new_int64(&value, n + 1, err);
    if (rc == PDR_OK)
        rc = pdr_bag_set(bag_of(s), key, value, err);
    pdr_value_free(value);
    return rc == PDR_OK ? c->rc : rc;
}

EACH_STORE(stored_update, begins_anew_until_nobody_is_faster)
{
    struct counting c = {.store = store, .others = 3};
    pdr_stored *s = open_as(store, "s", &create);
    pdr_err err = PDR_ERR_INIT;

    commit(s);
    ASSERT_RC(PDR_OK, pdr_stored_update(s, &now, &err, add_one, &c));
    ASSERT_INT(4, c.calls);
    expect_bag("{\"n\":4}", s);
    c = (struct counting){.store = store, .others = 1000};
    ASSERT_RC(PDR_ECONFLICT, pdr_stored_update(s, &now, &err, add_one, &c));
    ASSERT_INT(20, c.calls);
    ASSERT_STR("revision_changed", err.reason);
    c = (struct counting){.store = store, .rc = PDR_ECANCELLED};
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    ASSERT_RC(PDR_ECANCELLED, pdr_stored_update(s, &now, &err, add_one, &c));
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    load_slot(s, "n");
    expect_bag("{\"n\":24}", s);
    pdr_stored_close(s);
}

static void *count_up(void *arg)
{
    struct counting *c = arg;
    pdr_stored *s = open_as(c->store, "s", NULL);
    pdr_err err = PDR_ERR_INIT;

    for (int i = 0; i < 100; i++) {
        pdr_rc rc = PDR_ECONFLICT;

        while (rc == PDR_ECONFLICT)
            rc = pdr_stored_update(s, &now, &err, add_one, c);
        ASSERT_RC(PDR_OK, rc);
        ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    }
    pdr_stored_close(s);
    return NULL;
}

EACH_STORE(stored_update, loses_nothing_with_two_threads_on_one_session)
{
    struct counting counts[2] = {{.store = store}, {.store = store}};
    pdr_stored *s = open_as(store, "s", &create);
    pthread_t threads[2];

    commit(s);
    for (int i = 0; i < 2; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, count_up, &counts[i]));
    for (int i = 0; i < 2; i++)
        ASSERT_INT(0, pthread_join(threads[i], NULL));
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, NULL));
    load_slot(s, "n");
    expect_bag("{\"n\":200}", s);
    pdr_stored_close(s);
}

/* --- failures ------------------------------------------------------------- */

TEST(stored_commit, keeps_its_changes_when_the_store_fails)
{
    pdr_store *store = NULL;
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    fault_store_register();
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", &err));
    s = open_as(store, "s", &create);
    add_text(s, "user", "hi");
    set_slot(s, "k", "1");
    fault_store_set(&(struct fault_plan){.call = FAULT_COMMIT, .nth = 1});
    ASSERT_RC(PDR_EIO, pdr_stored_commit(s, &now, &err));
    ASSERT_INT(0, pdr_stored_head(s)->revision);
    commit(s);
    expect_last("user:hi", s, 0, 0);
    fault_store_set(&(struct fault_plan){.call = FAULT_READ, .nth = 1});
    ASSERT_RC(PDR_EIO, pdr_stored_reload(s, &err));
    expect_bag("{\"k\":1}", s); /* as it was */
    pdr_stored_close(s);
    pdr_store_close(store);
}

/* A reload that fails leaves what a new session is to be made with. */
TEST_OOM(stored_reload, leaves_the_handle_as_it_was_when_it_fails)
{
    pdr_value *properties = NULL, *read = NULL;
    pdr_store *store = NULL;
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    properties = json("{\"a\":1,\"b\":2}");
    s = open_as(store, "s",
                &(pdr_stored_opts){.create = true, .properties = properties});
    test_pause_failures(false);
    rc = pdr_stored_reload(s, &err);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    commit(s);
    ASSERT_RC(PDR_OK, pdr_stored_properties(&read, s, &err));
    ASSERT(pdr_value_equal(properties, read));
    pdr_value_free(read);
    pdr_value_free(properties);
    pdr_stored_close(s);
    pdr_store_close(store);
    test_pause_failures(false);
}

TEST_OOM(stored_load, puts_a_slot_into_the_bag_or_does_nothing)
{
    const pdr_str key = pdr_str_c("a");
    pdr_store *store = NULL;
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    s = open_as(store, "s", &create);
    set_slot(s, "a", "[1]");
    commit(s);
    ASSERT_RC(PDR_OK, pdr_stored_reload(s, &err));
    set_slot(s, "b", "2"); /* so that it is not all as it was loaded */
    test_pause_failures(false);
    rc = pdr_stored_load(s, &key, 1, &err);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(pdr_bag_has(bag_of(s), key) == (rc == PDR_OK));
    pdr_stored_close(s);
    pdr_store_close(store);
    test_pause_failures(false);
}

/* What is kept is whole, or not there. */
TEST_OOM(stored_messages, are_kept_or_read_again)
{
    pdr_stored_window *window = NULL;
    pdr_stored *s = NULL, *reads = NULL;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    s = open_as(store, "s", &create);
    for (int i = 0; i < 5; i++)
        add_text(s, "user", "x");
    commit(s);
    add_text(s, "user", "y");
    s->keeps_tail = true;
    test_pause_failures(false);
    rc = pdr_stored_messages(&window, s, 3, 0, &err);
    pdr_stored_window_free(window);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    rc = pdr_stored_commit(s, &now, &err);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    reads = open_as(store, "s", NULL);
    if (rc != PDR_OK)
        commit(s);
    else
        expect_same_window(reads, s, 4, 0);
    pdr_stored_close(reads);
    pdr_stored_close(s);
    pdr_store_close(store);
    test_pause_failures(false);
}

TEST(stored, says_so_when_its_store_is_closed)
{
    const pdr_str keys[] = {pdr_str_c("k")};
    pdr_store *store = NULL;
    pdr_stored_window *window = NULL;
    pdr_value *properties = NULL;
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    s = open_as(store, "s", &create);
    add_text(s, "user", "hi");
    commit(s);
    set_slot(s, "other", "1");
    pdr_store_close(store);
    ASSERT_RC(PDR_EMISUSE, pdr_stored_commit(s, &now, &err));
    ASSERT_STR("store_closed", err.reason);
    ASSERT_RC(PDR_EMISUSE, pdr_stored_reload(s, &err));
    ASSERT_RC(PDR_EMISUSE, pdr_stored_load(s, keys, 1, &err));
    ASSERT_RC(PDR_EMISUSE, pdr_stored_messages(&window, s, 0, 0, &err));
    ASSERT_RC(PDR_EMISUSE, pdr_stored_properties(&properties, s, &err));
    pdr_stored_close(s);
}

TEST_OOM(stored, cleans_up_after_any_failed_allocation)
{
    static const char text[] =
        "{\"session_id\":\"s\",\"state\":{\"a\":1,\"in_memory\":{\"messages\":"
        "[{\"role\":\"user\",\"contents\":[{\"type\":\"text\",\"text\":\"hi\"}"
        "]}],\"x\":1},\"a\":2,\"b\":\"\\u0041\"}}";
    const pdr_import_opts opts = {.now_ms = NOW};
    const pdr_ref ref = {.id = pdr_str_c("s")};
    const pdr_str keys[] = {pdr_str_c("b")};
    pdr_value *message = NULL, *properties = NULL;
    pdr_str rest = pdr_str_c(text);
    pdr_stored_window *window = NULL;
    pdr_store *store = NULL;
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, &err, pdr_read_str, &rest));
    message = json("{\"role\":\"user\",\"contents\":[]}");
    test_pause_failures(false);
    rc = pdr_stored_open(&s, store, &ref, NULL, &err);
    ASSERT((s != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        rc = pdr_stored_load(s, keys, 1, &err);
    if (rc == PDR_OK)
        rc = pdr_stored_load_all(s, &err);
    if (rc == PDR_OK)
        rc = pdr_stored_messages(&window, s, 0, 0, &err);
    if (rc == PDR_OK)
        rc = pdr_stored_add_messages(
            s, pdr_str_c("r"), (const pdr_value *const *)&message, 1, &err);
    if (rc == PDR_OK)
        rc = pdr_stored_set_property(s, pdr_str_c("p"), message, &err);
    if (rc == PDR_OK)
        rc = pdr_bag_set(bag_of(s), pdr_str_c("n"), message, &err);
    if (rc == PDR_OK)
        rc = pdr_stored_commit(s, &now, &err);
    if (rc == PDR_OK)
        rc = pdr_stored_properties(&properties, s, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    pdr_value_free(properties);
    pdr_stored_window_free(window);
    pdr_stored_close(s);
    pdr_value_free(message);
    pdr_store_close(store);
    test_pause_failures(false);
}
