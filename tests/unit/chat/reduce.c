/*
 * Where a history is cut. Histories are words, a message each:
 *
 *     s u a     of system, user, assistant; S U: spelled with a capital
 *     c1  c12   with calls 1, or 1 and 2; c-: one without an id
 *     r1  r12   with their results; r-: one without an id
 *     x1        with call 1 and its result
 */
#include "agent_stage.h"
#include "chat.h"
#include "fake_rand.h"
#include "values.h"

#define MOST 1024

struct history {
    size_t count;
    pdr_value *messages[MOST]; /* owned */
};

static void add_items(pdr_buf *json, const char *ids, bool is_call)
{
    const char *type =
        is_call ? "FunctionCallContent" : "FunctionResultContent";
    const char *name = is_call ? "Id" : "CallId";

    for (size_t i = 0; ids[i] != '\0' && ids[i] != ' '; i++) {
        char sep = json->ptr[json->len - 1] == '[' ? ' ' : ',';
        pdr_rc rc = PDR_OK;

        if (ids[i] == '-')
            rc = pdr_buf_printf(json, NULL, "%c{\"$type\":\"%s\"}", sep, type);
        else
            rc = pdr_buf_printf(json, NULL,
                                "%c{\"$type\":\"%s\",\"%s\":\"id-%c\"}", sep,
                                type, name, ids[i]);
        ASSERT_RC(PDR_OK, rc);
    }
}

static void history_add(struct history *h, const char *word)
{
    static const char kinds[] = "suaSUecrx";
    static const char *const roles[] = {"system",    "user", "assistant",
                                        "System",    "USER", "\\u0075ser",
                                        "assistant", "tool", "assistant"};
    const char *kind = strchr(kinds, word[0]);
    pdr_buf json = PDR_BUF_INIT(4096);

    ASSERT(kind != NULL && h->count < MOST);
    ASSERT_RC(PDR_OK, pdr_buf_printf(&json, NULL,
                                     "{\"Role\":{\"Label\":\"%s\"},\"Items\":[",
                                     roles[kind - kinds]));
    if (*kind == 'c' || *kind == 'x')
        add_items(&json, word + 1, true);
    if (*kind == 'r' || *kind == 'x')
        add_items(&json, word + 1, false);
    ASSERT_RC(PDR_OK, pdr_buf_printf(&json, NULL, "]}%c", '\0'));
    h->messages[h->count++] = value_of(json.ptr);
    pdr_buf_dispose(&json);
}

static void history_free(struct history *h)
{
    for (size_t i = 0; i < h->count; i++)
        pdr_value_free(h->messages[i]);
}

/* Words, `times` over. */
static struct history history_of(const char *words, size_t times)
{
    struct history h = {0};

    for (size_t i = 0; i < times; i++) {
        for (const char *p = words; p != NULL;
             p = strchr(p, ' ') == NULL ? NULL : strchr(p, ' ') + 1)
            history_add(&h, p);
    }
    return h;
}

static long find(bool *has_system, const struct history *h,
                 const pdr_reduction *reduction)
{
    return pdr__reduce_find(has_system, (const pdr_value *const *)h->messages,
                            h->count, 0, reduction);
}

struct row {
    const char *words;
    size_t times;
    unsigned target, threshold;
    long index;
    size_t kept; /* messages that stay, a system message included */
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct history h = history_of(rows[i].words, rows[i].times);
        pdr_reduction reduction = {.target = rows[i].target,
                                   .threshold = rows[i].threshold};
        bool has_system = false;
        long index = find(&has_system, &h, &reduction);
        size_t kept = h.count;

        if (index > 0)
            kept = h.count - (size_t)index + (has_system ? 1 : 0);
        if (index != rows[i].index || kept != rows[i].kept)
            fail_msg("%s, %u/%u: index %ld, not %ld; %zu stay, not %zu",
                     rows[i].words, rows[i].target, rows[i].threshold, index,
                     rows[i].index, kept, rows[i].kept);
        history_free(&h);
    }
}

#define TALK "u a u a u c1 r1 a u c2 r2 a u a"

TEST(reduce_find, cuts_where_the_rule_says)
{
    COVERS("C-59");
    static const struct row rows[] = {
        {TALK, 1, 4, 0, 8, 6},
        {TALK, 1, 4, 3, 8, 6},
        {TALK, 1, 5, 0, 8, 6},
        {TALK, 1, 5, 8, 8, 6},
        {TALK, 1, 6, 0, 8, 6},
        {TALK, 1, 6, 7, 8, 6},
        {TALK, 1, 7, 0, 7, 7},
        {TALK, 1, 8, 0, 4, 10},
        {TALK, 1, 9, 0, 4, 10},
        {"a", 6, 1, 4, 5, 1},
        {"u a", 3, 1, 4, 4, 2},
        {"a", 6, 4, 1, 2, 4},
        {"u a", 3, 4, 1, 2, 4},
        {"a", 1000, 500, 499, 500, 500},
        {"u a", 500, 500, 499, 500, 500},
        {"u a u a u", 1, 1, 5, -1, 5},
        {"u a u a u", 1, 4, 2, -1, 5},
        {"u a u a u", 1, 5, 1, -1, 5},
        {"s a a a a a a a a a a a a a a a a a a a a", 1, 10, 0, 12, 10},
        {"c1 r1", 3, 2, 0, -1, 6},
        {"u c1 r1 c2 r2 c3 r3", 1, 2, 0, 0, 7},
        {"s a a a a a", 1, 1, 0, 6, 1},
        {"s u a u a u", 1, 1, 0, 6, 1},
    };

    check_rows(rows, PDR_COUNT(rows));
}

TEST(reduce_find, knows_the_borders)
{
    static const struct row rows[] = {
        {"u", 0, 1, 0, -1, 0},
        {"u a", 3, 0, 0, -1, 6}, /* no reducer */
        {"u a", 3, INT32_MAX, INT32_MAX, -1, 6},
        /* Within the threshold of one that keeps only the system message. */
        {"s u a u a u", 1, 1, 2, 5, 2},
        {"s u a u a a", 1, 1, 2, 6, 1},
        /* One that is not at the beginning is as any other message. */
        {"u s a a a a", 1, 1, 0, 5, 1},
        /* Roles in any case, and with escapes. */
        {"S a a a a a", 1, 2, 0, 5, 2},
        {"a a U a a a", 1, 2, 3, 2, 4},
        {"a a e a a a", 1, 2, 3, 2, 4},
    };

    check_rows(rows, PDR_COUNT(rows));
}

TEST(reduce_find, keeps_calls_and_results_together)
{
    COVERS("C-65");
    static const struct row rows[] = {
        /* Somebody speaks between a call and its result. */
        {"a a c1 u r1 a a", 1, 2, 0, 5, 2},
        {"a a c1 u r1 a a", 1, 4, 0, 1, 6},
        {"a a c1 u r1 a a", 1, 2, 4, 5, 2},
        /* Parallel calls, with results one by one. */
        {"a u c12 r1 u r2 a a", 1, 3, 0, 1, 7},
        {"a u c12 r12 u a a", 1, 3, 0, 4, 3},
        {"a u c12 r2 u a r1 a", 1, 2, 0, 1, 7},
        /* A pair that reaches over another one. */
        {"a c1 a c2 u r1 a r2 a", 1, 3, 0, 0, 9},
        {"a u a c1 a c2 u r2 r1 a", 1, 3, 0, 2, 8},
        /* Ids that are used again, that are missing, in one message. */
        {"a u c1 r1 u a c1 r1 u a", 1, 3, 0, 5, 5},
        {"a u c- r- u a c- r- u a", 1, 3, 0, 5, 5},
        {"a u c- u r1 r- a", 1, 2, 0, -1, 7},
        {"a u x1 u a", 1, 2, 0, 3, 2},
        /* A call without a result yet. */
        {"a u a c1", 1, 1, 0, 2, 2},
        {"a u c1 u a", 1, 2, 0, 3, 2},
        /* A result whose call is nowhere, or only after it. */
        {"a r1 a a u", 1, 2, 0, 3, 2},
        {"a a r1 a u", 1, 4, 0, -1, 5},
        {"a a r1 c1 u", 1, 3, 0, -1, 5},
    };

    check_rows(rows, PDR_COUNT(rows));
}

/* --- random histories ------------------------------------------------------
 */

/* The last call of `id` up to `at`; -1: there is none. */
static long model_call(char words[][4], long at, char id)
{
    while (at >= 0 && ((words[at][0] != 'c' && words[at][0] != 'x') ||
                       strchr(words[at] + 1, id) == NULL))
        at--;
    return at;
}

/* Does each result from `from` on have its call there too? */
static bool model_is_whole(char words[][4], long n, long from)
{
    for (long i = from; i < n; i++) {
        for (const char *id = words[i] + 1; *id != '\0'; id++) {
            if (words[i][0] != 'c' && model_call(words, i, *id) < from)
                return false;
        }
    }
    return true;
}

/* The four steps of the rule, as they are written down. */
static long model_find(char words[][4], long n, long target, long threshold)
{
    long t = target - (words[0][0] == 's'), limit = n - threshold - t, i = 0;
    long cut = 0;

    if (limit <= 0)
        return -1;
    for (i = n - t;
         i >= 0 && i < n &&
         (strchr("crx", words[i][0]) != NULL || !model_is_whole(words, n, i));)
        i--;
    for (cut = i; i >= limit; i--) {
        if (i < n && words[i][0] == 'u' && model_is_whole(words, n, i))
            return i;
    }
    return cut;
}

TEST(reduce_find, never_parts_a_pair_in_random_histories)
{
    COVERS("C-65");
    static const char *const kinds[] = {"u", "a", "u", "a", "c", "r", "r", "x"};
    struct fake_rand rand;
    size_t cuts = 0, moved = 0;

    fake_rand_init(&rand, 65);
    for (size_t round = 0; round < test_times(20000, 2000); round++) {
        char words[24][4] = {""};
        struct history h = {0};
        long n = 1 + (long)(fake_rand_next(&rand) % 23), index = 0;
        pdr_reduction reduction = {
            .target = 1 + (unsigned)(fake_rand_next(&rand) % 8),
            .threshold = (unsigned)(fake_rand_next(&rand) % 8)};
        bool has_system = false;

        for (long i = 0; i < n; i++) {
            uint64_t dice = fake_rand_next(&rand);
            const char *kind = kinds[dice % PDR_COUNT(kinds)];

            (void)snprintf(words[i], 2, "%s", kind);
            if (i == 0 && dice / 8 % 4 == 0)
                words[i][0] = 's';
            else if (strchr("crx", kind[0]) != NULL) {
                words[i][1] = "1234-"[dice / 64 % 5];
                words[i][2] = dice / 512 % 3 == 0 ? '5' : '\0';
            }
            history_add(&h, words[i]);
        }
        index = find(&has_system, &h, &reduction);
        ASSERT_INT(model_find(words, n, (long)reduction.target,
                              (long)reduction.threshold),
                   index);
        ASSERT_INT(words[0][0] == 's', has_system);
        if (index > 0) {
            ASSERT(model_is_whole(words, n, index));
            ASSERT(index == n || strchr("crx", words[index][0]) == NULL);
            ASSERT(n - index + has_system >= (long)reduction.target);
            cuts++;
            moved += n - index + has_system > (long)reduction.target;
        }
        history_free(&h);
    }
    ASSERT(cuts > 200 && moved > 100); /* or it shows nothing */
}

/* --- settings --------------------------------------------------------------
 */

TEST(reduction_check, refuses_what_nobody_means)
{
    COVERS("C-60");
    struct stage_model model;
    const struct {
        pdr_reduction reduction;
        pdr_rc rc;
    } rows[] = {
        {{.target = 0}, PDR_OK}, /* no reducer */
        {{.target = 1}, PDR_OK},
        {{.target = 10, .threshold = 5}, PDR_OK},
        {{.target = INT32_MAX, .threshold = INT32_MAX}, PDR_OK},
        {{.threshold = 1}, PDR_EINVALID},
        {{.target = (unsigned)-1}, PDR_EINVALID},
        {{.target = 1, .threshold = (unsigned)-1}, PDR_EINVALID},
        /* Summaries. */
        {{.target = 1, .client = &model.base}, PDR_OK},
        {{.client = &model.base}, PDR_EINVALID},
        {{.target = 1, .instructions = "Be short."}, PDR_EINVALID},
        {{.target = 1, .is_series = true}, PDR_EINVALID},
        {{.target = 1, .may_fail = true}, PDR_EINVALID},
    };

    stage_model_init(&model, NULL);
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(rows[i].rc, pdr__reduction_check(&rows[i].reduction, &err));
        if (rows[i].rc != PDR_OK)
            ASSERT_STR("bad_reduction", err.reason);
    }
    stage_model_free(&model);
}
