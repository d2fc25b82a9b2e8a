/*
 * Durable agents: a run that goes on with what the run before left sees, stores
 * and answers the same as one that reads everything.
 */
#include "base.h"
#include "durable_stage.h"
#include "hook_store.h"

/* --- what others do between two runs --------------------------------------
 */

static void slot_set(pdr_store *store)
{
    const pdr_commit_options now = {.now_ms = STAGE_NOW};
    pdr_stored *stored = NULL;
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK,
              pdr_stored_open(&stored, store, &durable_session, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_value_new_string(&value, S("x"), NULL));
    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(pdr_stored_session(stored)),
                                  S("other"), value, NULL));
    ASSERT_RC(PDR_OK, pdr_stored_commit(stored, &now, NULL));
    pdr_value_free(value);
    pdr_stored_close(stored);
}

static void oldest_remove(pdr_store *store)
{
    const pdr_retain_opts opts = {
        .ref = durable_session, .keep_turns = 1, .now_ms = STAGE_NOW};

    ASSERT_RC(PDR_OK, pdr_retain(NULL, store, &opts, NULL));
}

static void session_replace(pdr_store *store)
{
    const char *text =
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":["
        "{\"$type\":\"request\",\"correlationId\":\"o\",\"createdAt\":"
        "\"2026-01-02T03:04:05Z\",\"messages\":[{\"role\":\"user\","
        "\"contents\":[{\"$type\":\"text\",\"text\":\"Old\"}]}]},"
        "{\"$type\":\"response\",\"correlationId\":\"o\",\"createdAt\":"
        "\"2026-01-02T03:04:06Z\",\"messages\":[{\"role\":\"assistant\","
        "\"contents\":[{\"$type\":\"text\",\"text\":\"Older\"}]}]}]}}";
    const pdr_import_opts opts = {
        .ref = durable_session, .now_ms = STAGE_NOW, .replace = true};
    pdr_str source = S(text);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_import(NULL, store, &opts, &err, pdr_read_str, &source) != PDR_OK)
        fail_msg("%s", err.message);
}

static const struct {
    const char *name;
    void (*fn)(pdr_store *store);
} others[] = {{"slot", slot_set},
              {"retain", oldest_remove},
              {"replace", session_replace}};

/* --- stories --------------------------------------------------------------
 */

/* What is done, one after the other: "op INPUT" calls the operation, "!NAME"
 * lets somebody else do it. */
struct story {
    const char *what;
    size_t window; /* messages that the model gets; 0: all */
    bool needs_approval;
    const char *steps[8];
    const char *deeds[10];
};

#define ASK(text) "run {\"message\":\"" text "\"}"

static const struct story stories[] = {
    {"turns",
     0,
     false,
     {"say A", "say B", "say C", NULL},
     {ASK("1"), ASK("2"), ASK("3"), ASK("4")}},
    {"a window",
     3,
     false,
     {"say A", "say B", "say C", NULL},
     {ASK("1"), ASK("2"), ASK("3"), ASK("4"), ASK("5"), ASK("6")}},
    {"tools",
     5,
     false,
     {"call look {}", "say A", "call look {};book {}", "say B", NULL},
     {ASK("1"), ASK("2"), ASK("3"), ASK("4")}},
    {"a failure",
     0,
     false,
     {"say A", "fail", "say B", NULL},
     {ASK("1"), ASK("2"), ASK("3"), ASK("4")}},
    {"reset",
     0,
     false,
     {"say A", NULL},
     {ASK("1"), ASK("2"), "reset", ASK("3"), ASK("4")}},
    {"delete",
     0,
     false,
     {"say A", NULL},
     {ASK("1"), ASK("2"), "delete", ASK("3"), ASK("4")}},
    {"nothing to say",
     0,
     false,
     {"say A", NULL},
     {ASK("1"), "run {\"messages\":[]}", ASK("3"), ASK("4")}},
    {"approval",
     0,
     true,
     {"call book {}", "say A", NULL},
     {ASK("1"), ASK("never mind"), ASK("3")}},
    {"slots of others",
     0,
     false,
     {"say A", NULL},
     {ASK("1"), "!slot", ASK("2"), ASK("3"), "!slot", ASK("4")}},
    {"retention",
     0,
     false,
     {"say A", NULL},
     {ASK("1"), ASK("2"), ASK("3"), "!retain", ASK("4"), ASK("5")}},
    {"another document",
     0,
     false,
     {"say A", NULL},
     {ASK("1"), ASK("2"), "!replace", ASK("3"), ASK("4")}},
};

static void deed_do(struct durable_process *p, const char *deed)
{
    const char *input = strchr(deed, ' ');
    pdr_ending *ending = NULL;
    char name[20];
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < PDR_COUNT(others); i++) {
        if (deed[0] == '!' && strcmp(deed + 1, others[i].name) == 0) {
            others[i].fn(p->store);
            return;
        }
    }
    snprintf(name, sizeof(name), "%.*s",
             (int)(input != NULL ? (size_t)(input - deed) : strlen(deed)),
             deed);
    if (durable_call(&ending, NULL, p, name, input, &err) != PDR_OK)
        fail_msg("%s: %s", deed, err.message);
    pdr_ending_free(ending);
}

/* All that the model was asked. */
static void story_play(pdr_buf *out, const struct story *story, size_t bytes)
{
    struct durable_process p = {.keep_bytes = bytes,
                                .window = story->window,
                                .needs_approval = story->needs_approval};
    pdr_store *store = durable_store();

    durable_begin(&p, store, story->steps);
    for (size_t i = 0; story->deeds[i] != NULL; i++)
        deed_do(&p, story->deeds[i]);
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_buf_str(&p.model.all), NULL));
    durable_end(&p);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
}

TEST(warm, sees_what_one_that_reads_sees)
{
    for (size_t i = 0; i < PDR_COUNT(stories); i++) {
        pdr_buf cold = PDR_BUF_INIT(SIZE_MAX), warm = PDR_BUF_INIT(SIZE_MAX);

        story_play(&cold, &stories[i], 1); /* nothing is kept */
        story_play(&warm, &stories[i], 0);
        ASSERT(cold.len > 0);
        if (!pdr_str_equal(pdr_buf_str(&cold), pdr_buf_str(&warm)))
            fail_msg("%s: it saw\n%.*s\nand not\n%.*s", stories[i].what,
                     (int)warm.len, warm.ptr, (int)cold.len, cold.ptr);
        pdr_buf_dispose(&cold);
        pdr_buf_dispose(&warm);
    }
}

/* --- what it reads --------------------------------------------------------
 */

static pdr_rc no_hook(pdr_store *store, const pdr_edit *edit, void *arg)
{
    (void)store;
    (void)edit;
    (void)arg;
    return PDR_OK;
}

static void read_count(pdr_store *store, void *arg)
{
    (void)store;
    __atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

/* The keeper of the engine looks now and then; a turn is a few times faster. */
TEST(warm, reads_nothing)
{
    static int reads;
    const char *const steps[] = {"say A", NULL};
    struct durable_process p = {.window = 4};
    pdr_store *store = hook_open(no_hook, &reads);
    int fewest = 100;

    hook_reads(read_count);
    durable_begin(&p, store, steps);
    durable_says("A", &p, "{\"message\":\"x\"}");
    for (int i = 0; i < 50 && fewest > 0; i++) {
        int before = __atomic_load_n(&reads, __ATOMIC_SEQ_CST), now = 0;

        durable_says("A", &p, "{\"message\":\"x\"}");
        now = __atomic_load_n(&reads, __ATOMIC_SEQ_CST) - before;
        fewest = now < fewest ? now : fewest;
    }
    ASSERT_INT(0, fewest);
    durable_end(&p);
    pdr_store_close(store);
}
