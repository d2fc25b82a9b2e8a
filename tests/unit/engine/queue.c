/*
 * Which session is next: order, turns, limits; and a plain model of it.
 */
#include "test.h"

#include "engine.h"

#define MAX_QUEUED 1000 /* as in queue.c */
#define MAX_PASSED 64

static struct pdr__queue queue_of(size_t per_tenant, size_t per_agent)
{
    return (struct pdr__queue){.tenants = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                               .items = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                               .agents = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                               .most_per_tenant = per_tenant,
                               .most_per_agent = per_agent};
}

/* "tenant/id"; without the slash of the default tenant. */
static pdr_ref ref_of(const char *name)
{
    const char *slash = strchr(name, '/');
    pdr_ref ref = {{NULL, 0}, pdr_str_c(slash != NULL ? slash + 1 : name)};

    if (slash != NULL)
        ref.tenant = pdr_str_n(name, (size_t)(slash - name));
    return ref;
}

static bool add(struct pdr__queue *queue, const char *name)
{
    const pdr_ref ref = ref_of(name);
    bool taken = false;

    ASSERT_RC(PDR_OK, pdr__queue_add(&taken, queue, &ref, NULL));
    return taken;
}

/* The words, one after the other, are the sessions that are added. */
static void add_all(struct pdr__queue *queue, const char *names)
{
    char copy[400], *rest = copy;

    snprintf(copy, sizeof(copy), "%s", names);
    for (char *name = strtok_r(copy, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest))
        ASSERT(add(queue, name));
}

static void take_as(char *out, size_t size, struct pdr__queue *queue)
{
    struct pdr__item *item = pdr__queue_take(queue);

    if (item == NULL) {
        snprintf(out, size, "-");
        return;
    }
    snprintf(out, size, "%.*s/%.*s", (int)item->ref.tenant.len,
             item->ref.tenant.ptr, (int)item->ref.id.len, item->ref.id.ptr);
    pdr__free(item);
}

/* Take until nothing is left that may run: these, in this order. */
static void takes(const char *expected, struct pdr__queue *queue)
{
    char all[400] = "", one[100];
    size_t len = 0;

    for (;;) {
        take_as(one, sizeof(one), queue);
        if (strcmp(one, "-") == 0)
            break;
        len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
                                len > 0 ? " " : "", one);
    }
    ASSERT_STR(expected, all);
}

static void begin(struct pdr__queue *queue, const char *name)
{
    const pdr_ref ref = ref_of(name);

    ASSERT_RC(PDR_OK, pdr__queue_begin(queue, &ref, NULL));
}

static void end(struct pdr__queue *queue, const char *name)
{
    const pdr_ref ref = ref_of(name);

    pdr__queue_end(queue, &ref);
}

/* Nothing is queued or at work: then nothing is remembered. */
static void is_empty(const struct pdr__queue *queue)
{
    ASSERT_SIZE(0, queue->tenants.count);
    ASSERT_SIZE(0, queue->items.count);
    ASSERT_SIZE(0, queue->agents.count);
    ASSERT(queue->turn == NULL);
}

/* --- order -----------------------------------------------------------------
 */

TEST(queue_take, goes_by_order_in_a_tenant_and_by_turns_between_them)
{
    static const struct {
        const char *added, *taken;
    } cases[] = {
        {"", ""},
        {"s1", "default/s1"},
        {"s1 default/s2 s3", "default/s1 default/s2 default/s3"},
        {"s1 s2 s1 s2 s1", "default/s1 default/s2"}, /* queued once */
        {"a/1 a/2 a/3 b/1", "a/1 b/1 a/2 a/3"},
        {"a/1 a/2 b/1 b/2 c/1", "a/1 b/1 c/1 a/2 b/2"},
        {"a/x b/x", "a/x b/x"}, /* the same id is another session */
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct pdr__queue queue = queue_of(0, 0);

        add_all(&queue, cases[i].added);
        takes(cases[i].taken, &queue);
        is_empty(&queue);
        pdr__queue_dispose(&queue);
    }
}

TEST(queue_take, lets_a_tenant_that_comes_late_wait_for_the_others_once)
{
    struct pdr__queue queue = queue_of(0, 0);
    char one[100];

    add_all(&queue, "a/1 a/2 a/3 b/1 b/2");
    take_as(one, sizeof(one), &queue);
    ASSERT_STR("a/1", one);
    add_all(&queue, "c/1 b/3");
    takes("b/1 a/2 c/1 b/2 a/3 b/3", &queue);
    is_empty(&queue);

    add_all(&queue, "b/1 a/1"); /* they come again */
    takes("b/1 a/1", &queue);
    is_empty(&queue);
    pdr__queue_dispose(&queue);
}

TEST(queue_has, knows_what_is_queued)
{
    struct pdr__queue queue = queue_of(0, 0);
    char room[PDR_KEY_BYTES], one[100];
    const pdr_ref plain = ref_of("s1"), full = ref_of("default/s1");
    pdr_str key = pdr__session_key(room, &plain);

    ASSERT_BYTES(pdr_str_n("default\0s1", 10), key);
    ASSERT(!pdr__queue_has(&queue, key));
    ASSERT(add(&queue, "s1"));
    ASSERT(pdr__queue_has(&queue, key));
    ASSERT(pdr__queue_has(&queue, pdr__session_key(room, &full)));
    take_as(one, sizeof(one), &queue);
    ASSERT(!pdr__queue_has(&queue, key));
    pdr__queue_dispose(&queue);
}

/* --- limits ----------------------------------------------------------------
 */

TEST(queue_take, passes_over_what_may_not_run_now)
{
    static const struct {
        size_t per_tenant, per_agent;
        const char *at_work, *added, *taken, *then;
    } cases[] = {
        {1, 0, "a/0", "a/1 a/2 b/1", "b/1", "a/1 a/2"},
        {2, 0, "a/0", "a/1 b/1", "a/1 b/1", ""},
        {0, 1, "a/@dafx-x@0", "a/@dafx-x@1 a/@dafx-y@1 a/@dafx-x@2",
         "a/@dafx-y@1", "a/@dafx-x@1 a/@dafx-x@2"},
        /* the same agent of another tenant is another one */
        {0, 1, "a/@dafx-x@0", "b/@dafx-x@1", "b/@dafx-x@1", ""},
        /* what has no agent has no such limit */
        {0, 1, "a/s0", "a/s1 a/s2", "a/s1 a/s2", ""},
        {1, 1, "a/@dafx-x@0", "a/@dafx-y@1 b/@dafx-x@1", "b/@dafx-x@1",
         "a/@dafx-y@1"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct pdr__queue queue =
            queue_of(cases[i].per_tenant, cases[i].per_agent);
        const pdr_ref busy = ref_of(cases[i].at_work);

        begin(&queue, cases[i].at_work);
        ASSERT(pdr__queue_admits(&queue, &busy) ==
               (cases[i].per_tenant == 2 || strstr(cases[i].at_work, "s0")));
        add_all(&queue, cases[i].added);
        takes(cases[i].taken, &queue);
        end(&queue, cases[i].at_work);
        ASSERT(pdr__queue_admits(&queue, &busy));
        takes(cases[i].then, &queue);
        is_empty(&queue);
        pdr__queue_dispose(&queue);
    }
}

TEST(queue_take, keeps_the_place_of_what_it_passes_over)
{
    struct pdr__queue queue = queue_of(0, 1);

    begin(&queue, "@dafx-x@0");
    add_all(&queue, "@dafx-x@1 @dafx-y@1");
    takes("default/@dafx-y@1", &queue); /* the last one is taken out ... */
    add_all(&queue, "s9");              /* ... and the list still has an end */
    end(&queue, "@dafx-x@0");
    takes("default/@dafx-x@1 default/s9", &queue);
    is_empty(&queue);
    pdr__queue_dispose(&queue);
}

TEST(queue_take, looks_past_a_bounded_number_of_sessions)
{
    struct pdr__queue queue = queue_of(0, 1);
    char name[40];

    begin(&queue, "@dafx-x@0");
    for (int i = 1; i <= MAX_PASSED; i++) {
        snprintf(name, sizeof(name), "@dafx-x@%d", i);
        ASSERT(add(&queue, name));
    }
    ASSERT(add(&queue, "@dafx-y@1"));
    takes("", &queue);
    end(&queue, "@dafx-x@0");
    char one[100];
    take_as(one, sizeof(one), &queue);
    ASSERT_STR("default/@dafx-x@1", one);
    begin(&queue, "@dafx-x@1");
    takes("default/@dafx-y@1", &queue);
    end(&queue, "@dafx-x@1");
    pdr__queue_dispose(&queue);
}

TEST(queue_begin, counts_several_runs)
{
    struct pdr__queue queue = queue_of(3, 2);
    const pdr_ref x = ref_of("a/@dafx-x@9"), y = ref_of("a/@dafx-y@9");

    begin(&queue, "a/@dafx-x@1");
    ASSERT(pdr__queue_admits(&queue, &x));
    begin(&queue, "a/@dafx-x@2");
    ASSERT(!pdr__queue_admits(&queue, &x));
    ASSERT(pdr__queue_admits(&queue, &y));
    begin(&queue, "a/@dafx-y@1");
    ASSERT(!pdr__queue_admits(&queue, &y));
    end(&queue, "a/@dafx-x@1");
    ASSERT(pdr__queue_admits(&queue, &x));
    end(&queue, "a/@dafx-x@2");
    end(&queue, "a/@dafx-y@1");
    is_empty(&queue);
    pdr__queue_dispose(&queue);
}

TEST(queue_add, takes_a_bounded_number_of_a_tenant)
{
    struct pdr__queue queue = queue_of(0, 0);
    char name[40], one[100];

    for (int i = 0; i < MAX_QUEUED; i++) {
        snprintf(name, sizeof(name), "a/%d", i);
        ASSERT(add(&queue, name));
    }
    ASSERT(!add(&queue, "a/one more"));
    ASSERT(add(&queue, "a/7")); /* is there */
    ASSERT(add(&queue, "b/1"));
    ASSERT_SIZE(MAX_QUEUED + 1, queue.items.count);
    take_as(one, sizeof(one), &queue);
    ASSERT_STR("a/0", one);
    ASSERT(add(&queue, "a/one more"));
    pdr__queue_dispose(&queue); /* with all that is in it */
}

/* --- a model ---------------------------------------------------------------
 * Four tenants, three agents, six sessions of each; lists that are searched.
 */

#define TENANTS  4
#define AGENTS   3
#define SESSIONS 18 /* of a tenant */

struct model {
    size_t ring[TENANTS], ring_count; /* the first one's turn it is */
    int list[TENANTS][SESSIONS];      /* the first one is next */
    size_t count[TENANTS];
    size_t at_work[TENANTS], agents[TENANTS][AGENTS];
    size_t per_tenant, per_agent;
};

static void name_of(char out[40], size_t tenant, int session)
{
    snprintf(out, 40, "%c/@dafx-%c@%d", (char)('a' + (int)tenant),
             (char)('x' + session % AGENTS), session);
}

static void model_enter(struct model *m, size_t tenant)
{
    for (size_t i = 0; i < m->ring_count; i++) {
        if (m->ring[i] == tenant)
            return;
    }
    m->ring[m->ring_count++] = tenant;
}

static void model_leave(struct model *m, size_t tenant)
{
    size_t kept = 0;

    if (m->count[tenant] > 0 || m->at_work[tenant] > 0)
        return;
    for (size_t i = 0; i < m->ring_count; i++) {
        if (m->ring[i] != tenant)
            m->ring[kept++] = m->ring[i];
    }
    m->ring_count = kept;
}

static void model_add(struct model *m, size_t tenant, int session)
{
    model_enter(m, tenant);
    for (size_t i = 0; i < m->count[tenant]; i++) {
        if (m->list[tenant][i] == session)
            return;
    }
    m->list[tenant][m->count[tenant]++] = session;
}

/* The session, or -1; `*tenant` says whose. */
static int model_take(struct model *m, size_t *tenant)
{
    for (size_t i = 0; i < m->ring_count; i++) {
        size_t t = m->ring[i], turned[TENANTS];

        for (size_t k = 0; k < m->count[t]; k++) {
            int session = m->list[t][k];

            if ((m->per_tenant > 0 && m->at_work[t] >= m->per_tenant) ||
                (m->per_agent > 0 &&
                 m->agents[t][session % AGENTS] >= m->per_agent))
                continue;
            m->count[t]--;
            memmove(&m->list[t][k], &m->list[t][k + 1],
                    (m->count[t] - k) * sizeof(int));
            for (size_t n = 0; n < m->ring_count; n++)
                turned[n] = m->ring[(i + 1 + n) % m->ring_count];
            memcpy(m->ring, turned, m->ring_count * sizeof(turned[0]));
            model_leave(m, t);
            *tenant = t;
            return session;
        }
    }
    return -1;
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* One walk; runs at work are those that were taken. */
static void model_walk(uint32_t seed)
{
    struct model m = {.per_tenant = draw(&seed, 4),
                      .per_agent = draw(&seed, 3)};
    struct pdr__queue queue = queue_of(m.per_tenant, m.per_agent);
    struct {
        size_t tenant;
        int session;
    } runs[200];
    size_t run_count = 0;
    char name[40], one[100];

    for (int step = 0; step < 300; step++) {
        uint32_t what = draw(&seed, 5);
        size_t tenant = draw(&seed, TENANTS);
        int session = (int)draw(&seed, SESSIONS);

        if (what < 2) {
            name_of(name, tenant, session);
            model_add(&m, tenant, session);
            ASSERT(add(&queue, name));
        } else if (what < 4 && run_count < PDR_COUNT(runs)) {
            session = model_take(&m, &tenant);
            take_as(one, sizeof(one), &queue);
            snprintf(name, sizeof(name), "-");
            if (session >= 0) {
                name_of(name, tenant, session);
                begin(&queue, name);
                model_enter(&m, tenant);
                m.at_work[tenant]++;
                m.agents[tenant][session % AGENTS]++;
                runs[run_count].tenant = tenant;
                runs[run_count++].session = session;
            }
            ASSERT_STR(name, one);
        } else if (run_count > 0) {
            size_t i = draw(&seed, (uint32_t)run_count);

            tenant = runs[i].tenant;
            session = runs[i].session;
            runs[i] = runs[--run_count];
            m.at_work[tenant]--;
            m.agents[tenant][session % AGENTS]--;
            model_leave(&m, tenant);
            name_of(name, tenant, session);
            end(&queue, name);
        }
        ASSERT_SIZE(m.ring_count, queue.tenants.count);
    }
    pdr__queue_dispose(&queue);
}

TEST(queue, does_what_a_plain_model_does)
{
    size_t walks = test_times(300, 20);

    for (size_t i = 0; i < walks; i++)
        model_walk((uint32_t)i);
}

/* --- without memory --------------------------------------------------------
 */

TEST_OOM(queue, stays_whole_after_any_failed_allocation)
{
    static const char *const names[] = {"a/@dafx-x@1", "a/@dafx-x@2",
                                        "b/@dafx-x@1"};
    struct pdr__queue queue = queue_of(2, 2);
    size_t queued = 0, at_work = 0;

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        const pdr_ref ref = ref_of(names[i]);
        bool taken = false;
        pdr_rc rc = pdr__queue_add(&taken, &queue, &ref, NULL);

        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        queued += rc == PDR_OK;
    }
    ASSERT_SIZE(queued, queue.items.count);
    for (size_t i = 0; i < queued; i++) {
        struct pdr__item *item = pdr__queue_take(&queue);

        ASSERT(item != NULL);
        if (pdr__queue_begin(&queue, &item->ref, NULL) == PDR_OK) {
            at_work++;
            pdr__queue_end(&queue, &item->ref);
        }
        pdr__free(item);
    }
    ASSERT(at_work <= queued);
    is_empty(&queue);
    pdr__queue_dispose(&queue);
}
