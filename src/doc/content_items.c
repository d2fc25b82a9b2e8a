/*
 * content_items.c - members of an object, put in order before it is written.
 *
 * WHY  Each shape has an order of its own, and conversion finds members in the
 *      order of another. A list that is put in order once is simpler than
 *      finding members in the right order from the start.
 */
#include "content_table.h"

static pdr_rc add(struct content_items *items, struct content_item item,
                  pdr_err *err)
{
    size_t room = items->room == 0 ? 8 : items->room * 2;
    struct content_item *grown = NULL;

    if (item.value == NULL)
        return PDR_OK;
    if (items->count == items->room) {
        grown = pdr__realloc(items->at, room * sizeof(*grown));
        if (grown == NULL) {
            pdr_value_free(item.value);
            return pdr__nomem(err);
        }
        items->at = grown;
        items->room = room;
    }
    items->at[items->count++] = item;
    return PDR_OK;
}

pdr_rc pdr__items_add(struct content_items *items, const char *name,
                      size_t place, pdr_value *value, pdr_err *err)
{
    struct content_item item = {name, NULL, value, place};

    return add(items, item, err);
}

pdr_rc pdr__items_add_spelled(struct content_items *items,
                              const pdr_value *name, size_t place,
                              pdr_value *value, pdr_err *err)
{
    struct content_item item = {NULL, name, value, place};

    return add(items, item, err);
}

void pdr__items_drop(struct content_items *items, const pdr_value *name,
                     pdr_shape shape)
{
    size_t kept = 0;

    for (size_t i = 0; i < items->count; i++) {
        struct content_item *item = &items->at[i];
        bool same = item->name != NULL
                        ? pdr__name_is(name, item->name, shape)
                        : pdr__value_same_text(name, item->spelled);

        if (same)
            pdr_value_free(item->value);
        else
            items->at[kept++] = *item;
    }
    items->count = kept;
}

static void put_item(pdr_builder *to, const struct content_item *item)
{
    if (item->name != NULL)
        pdr_builder_name(to, pdr_str_c(item->name));
    else
        pdr__builder_name_value(to, item->spelled);
    pdr_builder_value(to, item->value);
}

/* One round for each place: there are as many as the table has names, however
 * many members somebody wrote, and those of one place stay in order. */
void pdr__items_put(pdr_builder *to, const struct content_items *items)
{
    size_t place = 0, next = 0;

    for (; next != PDR_NONE; place = next) {
        next = PDR_NONE;
        for (size_t i = 0; i < items->count; i++) {
            size_t own = items->at[i].place;

            if (own == place)
                put_item(to, &items->at[i]);
            else if (own > place && own < next)
                next = own;
        }
    }
}

pdr_rc pdr__items_object(pdr_value **out, const struct content_items *items,
                         pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_rc rc = pdr_builder_new(&to, err);

    *out = NULL;
    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    pdr__items_put(to, items);
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

void pdr__items_dispose(struct content_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        pdr_value_free(items->at[i].value);
    pdr__free(items->at);
    items->at = NULL;
    items->count = items->room = 0;
}
