/* One value read and shared by several threads at once. */
#include "values.h"

#include <pthread.h>

#include "core.h"

enum { THREADS = 4, MEMBERS = 200, ROUNDS = 300 };

static char *shared_json(void)
{
    char *json = malloc(MEMBERS * 40 + 10), *p = json;

    *p++ = '{';
    for (int i = 0; i < MEMBERS; i++)
        p += snprintf(p, 64, "%s\"k\\u0030%d\":[[%d],[%d]]", i > 0 ? "," : "",
                      i, i, i + 1);
    *p++ = '}';
    *p = '\0';
    return json;
}

/* Look-ups build the index, edits work on a handle of their own. */
static void *use(void *arg)
{
    const pdr_value *shared = arg;
    char name[16];

    for (int round = 0; round < ROUNDS; round++) {
        int i = round % MEMBERS;
        snprintf(name, sizeof(name), "k0%d", i);
        pdr_value *mine = pdr_value_ref(shared);
        const pdr_value *found = pdr_value_get_c(mine, name);
        int64_t number = -1;
        if (found == NULL ||
            pdr_value_int64(&number, pdr_value_at(pdr_value_at(found, 1), 0),
                            NULL) != PDR_OK ||
            number != i + 1)
            abort();
        if (pdr_value_set(&mine, pdr_str_c(name), pdr_value_at(found, 0),
                          NULL) != PDR_OK ||
            pdr_value_count(pdr_value_get_c(mine, name)) != 1)
            abort();
        pdr_value_free(mine);
    }
    return NULL;
}

static void run_threads(pdr_value *shared)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, use, shared));
    for (int i = 0; i < THREADS; i++)
        ASSERT_INT(0, pthread_join(threads[i], NULL));
}

TEST(value, can_be_read_and_edited_from_by_several_threads)
{
    char *json = shared_json();

    for (int i = 0; i < 5; i++) {
        pdr_value *v = value_of(json);
        run_threads(v);
        pdr_value_free(v);
    }
    free(json);
}

TEST(changed_value, can_be_read_and_edited_from_by_several_threads)
{
    char *json = shared_json();

    for (int i = 0; i < 5; i++) {
        pdr_value *v = value_of(json), *null = pdr_value_new_null();
        ASSERT_RC(PDR_OK, pdr_value_set(&v, pdr_str_c("x"), null, NULL));
        run_threads(v);
        pdr_value_free(v);
    }
    free(json);
}
