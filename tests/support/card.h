/*
 * card.h - a type for tests: a card with a size and a title.
 */
#ifndef PDR_TEST_CARD_H
#define PDR_TEST_CARD_H

#include "base.h"
#include "test.h"

struct card {
    int64_t size;
    char title[16];
};

static inline pdr_rc card_copy(void **out, const void *object, pdr_err *err,
                               void *arg)
{
    (void)arg;
    *out = pdr__alloc(sizeof(struct card));
    if (*out == NULL)
        return pdr__nomem(err);
    memcpy(*out, object, sizeof(struct card));
    return PDR_OK;
}

/* Needs a whole `size`; a `title` may be there. Counts its calls in `arg`. */
static inline pdr_rc card_decode(void **out, const pdr_value *value,
                                 pdr_err *err, void *arg)
{
    const pdr_value *size = pdr_value_get_c(value, "size");
    const pdr_value *title = pdr_value_get_c(value, "title");
    pdr_buf scratch = PDR_BUF_INIT(1000);
    struct card card = {0, ""};
    pdr_str text = {"", 0};
    pdr_rc rc = PDR_OK;

    if (arg != NULL)
        ++*(size_t *)arg;
    if (size == NULL)
        return pdr_err_set(err, PDR_EINVALID, "card", "it has no size");
    rc = pdr_value_int64(&card.size, size, err);
    if (rc != PDR_OK) {
        if (err != NULL)
            (void)snprintf(err->path, sizeof(err->path), "/size");
        return rc;
    }
    if (title != NULL)
        rc = pdr_value_text(&text, title, &scratch, err);
    ASSERT(text.len < sizeof(card.title));
    memcpy(card.title, text.ptr, text.len);
    pdr_buf_dispose(&scratch);
    return rc == PDR_OK ? card_copy(out, &card, err, NULL) : rc;
}

static inline pdr_rc card_encode(pdr_value **out, const void *object,
                                 pdr_err *err, void *arg)
{
    const struct card *card = object;
    pdr_builder *builder = NULL;
    pdr_rc rc = PDR_OK;

    (void)arg;
    if (card->size < 0)
        return pdr_err_set(err, PDR_EINVALID, "card", "it is less than none");
    rc = pdr_builder_new(&builder, err);
    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(builder);
    pdr_builder_name(builder, pdr_str_c("size"));
    pdr_builder_int64(builder, card->size);
    pdr_builder_name(builder, pdr_str_c("title"));
    pdr_builder_string(builder, pdr_str_c(card->title));
    pdr_builder_end(builder);
    rc = pdr_builder_finish(out, builder, err);
    pdr_builder_free(builder);
    return rc;
}

static inline void card_free(void *object, void *arg)
{
    (void)arg;
    pdr__free(object);
}

static const char *const card_aliases[] = {"Shop.Card", "Cards.Card, Old",
                                           NULL};

/* A type with the name "shop/card"; `arg` is NULL or a counter. */
#define CARD_TYPE(arg)                                               \
    {                                                                \
        "shop/card", card_decode, card_encode, card_copy, card_free, \
            card_aliases, (arg)                                      \
    }

#endif
