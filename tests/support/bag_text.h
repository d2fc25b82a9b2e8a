/*
 * bag_text.h - bags from JSON text and back, for tests. ' stands for " in what
 * these functions are given.
 */
#ifndef PDR_TEST_BAG_TEXT_H
#define PDR_TEST_BAG_TEXT_H

#include "doc_text.h"

#define KEY(text) pdr_str_c(text)

/* A bag with these slots; never fails. */
static inline pdr_bag *bag_of(const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_bag *bag = NULL;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_bag_from_value(&bag, value, NULL));
    test_pause_failures(false);
    pdr_value_free(value);
    return bag;
}

static inline void assert_value(const char *expected, const pdr_value *value,
                                pdr_layout layout)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, layout, 0, NULL};
    pdr_buf text = PDR_BUF_INIT(1u << 26);
    char *wanted = quoted(expected);

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_json_write(&text, value, &opts, NULL));
    test_pause_failures(false);
    ASSERT_TEXT(wanted, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    free(wanted);
}

/* The compact text of a bag. */
static inline void assert_bag(const char *expected, pdr_bag *bag)
{
    pdr_value *value = pdr_bag_snapshot(bag);

    assert_value(expected, value, PDR_COMPACT);
    pdr_value_free(value);
}

/* Set a slot to a JSON text; never fails. */
static inline void bag_put(pdr_bag *bag, const char *key, const char *text)
{
    pdr_value *value = doc_value(text);

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_bag_set(bag, KEY(key), value, NULL));
    test_pause_failures(false);
    pdr_value_free(value);
}

/* The compact text of one slot. */
static inline void assert_slot(const char *expected, pdr_bag *bag,
                               const char *key)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_bag_get(&value, bag, KEY(key), NULL));
    assert_value(expected, value, PDR_COMPACT);
    pdr_value_free(value);
}

#endif
