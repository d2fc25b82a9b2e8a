/* Ordered maps against a plain model, ceilings, failures. */
#include "test.h"

#include "base.h"
#include "fake_rand.h"

static void *number(uintptr_t n)
{
    return (void *)n;
}

static pdr_str name_of(char *room, size_t size, size_t n)
{
    int len = snprintf(room, size, "name-%zu", n);

    return pdr_str_n(room, (size_t)len);
}

/* Order of the keys as "a,b,c". */
static void assert_order(const char *expected, const struct pdr__map *map)
{
    char text[200] = "";
    size_t used = 0;

    PDR_MAP_EACH (entry, map)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s",
                                 used > 0 ? "," : "", (int)entry->key.len,
                                 entry->key.ptr);
    ASSERT_STR(expected, text);
}

static void put_letters(struct pdr__map *map, const char *letters)
{
    for (; *letters != '\0'; letters++)
        ASSERT_RC(PDR_OK, pdr__map_put(NULL, map, pdr_str_n(letters, 1),
                                       number((uintptr_t)*letters), NULL));
}

/* The invariants of map.c that can be seen from outside. */
static void assert_invariants(const struct pdr__map *map)
{
    size_t marks = map->used - map->count;

    ASSERT(map->used <= map->cap && map->slot_count == 2 * map->cap);
    ASSERT(map->first <= map->used);
    ASSERT(map->first == map->used || map->entries[map->first].key.ptr != NULL);
    for (size_t i = 0; i < map->first; i++)
        ASSERT(map->entries[i].key.ptr == NULL);
    ASSERT(marks <= 16 || marks <= map->count);
}

TEST(map, keeps_the_order_of_insertion)
{
    struct pdr__map map = PDR_MAP_INIT(100);

    assert_order("", &map);
    put_letters(&map, "zebracdfg");
    assert_order("z,e,b,r,a,c,d,f,g", &map);
    ASSERT_SIZE(9, map.count);
    ASSERT(pdr__map_remove(NULL, &map, pdr_str_c("r")));
    ASSERT(pdr__map_remove(NULL, &map, pdr_str_c("z")));
    ASSERT(pdr__map_remove(NULL, &map, pdr_str_c("g")));
    assert_order("e,b,a,c,d,f", &map);
    put_letters(&map, "rez");
    assert_order("e,b,a,c,d,f,r,z", &map);
    assert_invariants(&map);
    pdr__map_dispose(&map);
}

TEST(map_put, replaces_in_place_and_gives_the_old_value)
{
    struct pdr__map map = PDR_MAP_INIT(2);
    void *old = number(9);

    ASSERT_RC(PDR_OK,
              pdr__map_put(&old, &map, pdr_str_c("a"), number(1), NULL));
    ASSERT(old == NULL);
    ASSERT_RC(PDR_OK,
              pdr__map_put(&old, &map, pdr_str_c("b"), number(2), NULL));
    ASSERT_RC(PDR_OK,
              pdr__map_put(&old, &map, pdr_str_c("a"), number(3), NULL));
    ASSERT(old == number(1));
    assert_order("a,b", &map);
    ASSERT(pdr__map_get(&old, &map, pdr_str_c("a")) && old == number(3));
    pdr__map_dispose(&map);
}

TEST(map_get, tells_absent_from_a_null_value)
{
    struct pdr__map map = PDR_MAP_INIT(10);
    void *value = number(9);

    ASSERT(!pdr__map_get(&value, &map, pdr_str_c("a")) && value == NULL);
    ASSERT(!pdr__map_remove(&value, &map, pdr_str_c("a")) && value == NULL);
    ASSERT_RC(PDR_OK, pdr__map_put(NULL, &map, pdr_str_c("a"), NULL, NULL));
    ASSERT(pdr__map_get(&value, &map, pdr_str_c("a")) && value == NULL);
    ASSERT(pdr__map_get(NULL, &map, pdr_str_c("a")));
    ASSERT(!pdr__map_get(NULL, &map, pdr_str_c("b")));
    ASSERT(!pdr__map_remove(NULL, &map, pdr_str_c("b")));
    pdr__map_dispose(&map);
}

TEST(map_put, copies_keys_of_any_bytes)
{
    struct pdr__map map = PDR_MAP_INIT(10);
    char key[] = "a\0b";
    void *value = NULL;

    ASSERT_RC(PDR_OK,
              pdr__map_put(NULL, &map, pdr_str_n(key, 3), number(1), NULL));
    ASSERT_RC(PDR_OK,
              pdr__map_put(NULL, &map, pdr_str_n(key, 1), number(2), NULL));
    ASSERT_RC(PDR_OK,
              pdr__map_put(NULL, &map, pdr_str_n(NULL, 0), number(3), NULL));
    memset(key, 'x', sizeof(key));
    ASSERT(pdr__map_get(&value, &map, pdr_str_n("a\0b", 3)));
    ASSERT(value == number(1));
    ASSERT(pdr__map_get(&value, &map, pdr_str_c("a")) && value == number(2));
    ASSERT(pdr__map_get(&value, &map, pdr_str_c("")) && value == number(3));
    ASSERT(pdr__map_remove(&value, &map, pdr_str_c("")) && value == number(3));
    ASSERT_SIZE(2, map.count);
    pdr__map_dispose(&map);
}

TEST(map_put, stops_at_the_maximum)
{
    struct pdr__map map = PDR_MAP_INIT(3);
    pdr_err err = PDR_ERR_INIT;

    put_letters(&map, "abc");
    ASSERT_RC(PDR_ELIMIT, pdr__map_put(NULL, &map, pdr_str_c("d"), NULL, &err));
    ASSERT_STR("map_full", err.reason);
    ASSERT_STR("a map holds at most 3 entries", err.message);
    ASSERT_RC(PDR_OK, pdr__map_put(NULL, &map, pdr_str_c("b"), NULL, &err));
    ASSERT(pdr__map_remove(NULL, &map, pdr_str_c("a")));
    ASSERT_RC(PDR_OK, pdr__map_put(NULL, &map, pdr_str_c("d"), NULL, &err));
    assert_order("b,c,d", &map);
    pdr__map_dispose(&map);
    ASSERT_SIZE(3, map.max);
}

TEST(map_each, may_change_values)
{
    struct pdr__map map = PDR_MAP_INIT(3);
    void *value = NULL;

    put_letters(&map, "ab");
    PDR_MAP_EACH (entry, &map)
        entry->value = number(7);
    ASSERT(pdr__map_get(&value, &map, pdr_str_c("b")) && value == number(7));
    pdr__map_dispose(&map);
}

/* A queue: in at the end, out at the front. */
TEST(map_remove, of_the_first_again_and_again_walks_no_marks_twice)
{
    struct pdr__map map = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    const size_t count = 200000;
    char room[32];

    for (size_t i = 0; i < count; i++)
        ASSERT_RC(PDR_OK,
                  pdr__map_put(NULL, &map, name_of(room, sizeof(room), i),
                               number(i), NULL));
    for (size_t i = 0; i < count; i++) {
        const struct pdr__map_entry *first = pdr__map_first(&map);
        ASSERT(first == &map.entries[map.first]);
        ASSERT(first->value == number(i));
        ASSERT(pdr__map_remove(NULL, &map, name_of(room, sizeof(room), i)));
    }
    ASSERT_SIZE(0, map.count);
    ASSERT(pdr__map_first(&map) == NULL);
    assert_invariants(&map);
    pdr__map_dispose(&map);
}

TEST(map, that_changes_all_the_time_does_not_grow)
{
    struct pdr__map map = PDR_MAP_INIT(1000);
    char room[32];

    for (size_t i = 0; i < 100000; i++) {
        ASSERT_RC(PDR_OK,
                  pdr__map_put(NULL, &map, name_of(room, sizeof(room), i), NULL,
                               NULL));
        if (i >= 50)
            ASSERT(pdr__map_remove(NULL, &map,
                                   name_of(room, sizeof(room), i - 50)));
    }
    ASSERT_SIZE(50, map.count);
    ASSERT(map.cap <= 128);
    assert_invariants(&map);
    pdr__map_dispose(&map);
}

/* What a map should hold: the keys "name-0" ... with value and sequence. */
struct model {
    uintptr_t value[300];
    uint64_t sequence[300]; /* 0: absent */
    uint64_t next;
    size_t count;
};

static void model_put(struct model *model, size_t n, uintptr_t value)
{
    if (model->sequence[n] == 0) {
        model->sequence[n] = ++model->next;
        model->count++;
    }
    model->value[n] = value;
}

static void assert_like_model(const struct pdr__map *map,
                              const struct model *model)
{
    uint64_t last = 0;
    size_t seen = 0;
    char room[32];

    PDR_MAP_EACH (entry, map) {
        size_t n = strtoul(entry->key.ptr + strlen("name-"), NULL, 10);
        ASSERT(model->sequence[n] > last);
        ASSERT(entry->value == number(model->value[n]));
        last = model->sequence[n];
        seen++;
    }
    ASSERT_SIZE(model->count, seen);
    ASSERT_SIZE(model->count, map->count);
    for (size_t n = 0; n < PDR_COUNT(model->value); n++)
        ASSERT(pdr__map_get(NULL, map, name_of(room, sizeof(room), n)) ==
               (model->sequence[n] != 0));
    assert_invariants(map);
}

TEST(map, agrees_with_a_model_after_any_sequence_of_changes)
{
    struct pdr__map map = PDR_MAP_INIT(300);
    struct model model = {{0}, {0}, 0, 0};
    struct fake_rand rand;
    char room[32];

    fake_rand_init(&rand, 11);
    for (size_t i = 0; i < 30000; i++) {
        uint64_t dice = fake_rand_next(&rand);
        size_t n = dice % 300;
        pdr_str name = name_of(room, sizeof(room), n);
        /* Phases of growth and of shrinking. */
        bool put = (dice >> 32) % 10 < (i / 3000 % 2 == 0 ? 7 : 2);

        if (put) {
            ASSERT_RC(PDR_OK, pdr__map_put(NULL, &map, name, number(i), NULL));
            model_put(&model, n, i);
        } else {
            bool there = model.sequence[n] != 0;
            ASSERT(there == pdr__map_remove(NULL, &map, name));
            model.sequence[n] = 0;
            model.count -= there;
        }
        if (i % 100 == 0)
            assert_like_model(&map, &model);
    }
    assert_like_model(&map, &model);
    pdr__map_dispose(&map);
}

TEST_OOM(map_put, leaves_the_map_as_it_was_without_memory)
{
    struct pdr__map map = PDR_MAP_INIT(1000);
    char room[32];

    for (size_t i = 0; i < 40; i++) {
        size_t count = map.count;
        pdr_str name = name_of(room, sizeof(room), i);
        pdr_rc rc = pdr__map_put(NULL, &map, name, number(i), NULL);

        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT_SIZE(count + (rc == PDR_OK), map.count);
        ASSERT((rc == PDR_OK) == pdr__map_get(NULL, &map, name));
    }
    pdr__map_dispose(&map);
    pdr__map_dispose(&map);
}
