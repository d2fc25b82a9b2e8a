/*
 * repair_told.c - the list of what a repair changed.
 *
 * WHY  A repair that is refused in the end has changed nothing and tells of
 *      nothing, so changes are kept until it is sure. The list also knows how
 *      the indexes of the document after differ from those before: the refusal
 *      has to name a place of the document that the caller has.
 */
#include <string.h>

#include "repair.h"

#define HISTORY "/data/conversationHistory"

static const struct {
    const char *name;
    enum repair_effect effect;
    const char *text;
} rules[REPAIR_COUNT] = {
#define RULE_ROW(id, name, effect, text) {name, REPAIR_IS_##effect, text},
    PDR_REPAIR_MAP(RULE_ROW)
#undef RULE_ROW
};

bool pdr__told_is_added(enum repair_rule rule)
{
    return rules[rule].effect == REPAIR_IS_ADDED;
}

static pdr_rc put_pointer(pdr_buf *out, struct place at, const char *below,
                          pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (at.entry != PDR_NONE)
        rc = pdr_buf_printf(out, err, HISTORY "/%zu", at.entry);
    if (rc == PDR_OK && at.message != PDR_NONE)
        rc = pdr_buf_printf(out, err, "/messages/%zu", at.message);
    if (rc == PDR_OK && at.content != PDR_NONE)
        rc = pdr_buf_printf(out, err, "/contents/%zu", at.content);
    if (rc == PDR_OK)
        rc = pdr_buf_append(out, pdr_str_c(below), err);
    return rc;
}

/* `items` with room for one more, of this size; NULL without memory. */
static void *make_room(void *items, size_t count, size_t *cap, size_t size)
{
    size_t room = *cap == 0 ? 16 : 2 * *cap, bytes = 0;
    void *more = NULL;

    if (count < *cap)
        return items;
    if (pdr__mul_size(&bytes, room, size))
        more = pdr__realloc(items, bytes);
    if (more != NULL)
        *cap = room;
    return more;
}

pdr_rc pdr__told_move(struct told_list *list, struct moved moved, pdr_err *err)
{
    struct moved *room = make_room(list->moved, list->moved_count,
                                   &list->moved_cap, sizeof(moved));

    if (room == NULL)
        return pdr__nomem(err);
    list->moved = room;
    list->moved[list->moved_count++] = moved;
    return PDR_OK;
}

pdr_rc pdr__told_add(struct told_list *list, enum repair_rule rule,
                     struct place at, const char *below, pdr_err *err)
{
    struct told *room =
        make_room(list->items, list->count, &list->cap, sizeof(*room));
    size_t mark = list->pointers.len;
    pdr_rc rc = PDR_OK;

    if (room == NULL)
        return pdr__nomem(err);
    list->items = room;
    rc = put_pointer(&list->pointers, at, below, err);
    if (rc != PDR_OK)
        return rc;
    list->items[list->count++] = (struct told){
        rule, at, below[0] == '\0', mark, list->pointers.len - mark, 0};
    return PDR_OK;
}

pdr_rc pdr__told_detail(struct told_list *list, const char *before,
                        const pdr_value *text, pdr_err *err)
{
    size_t mark = list->pointers.len;
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str shown = {NULL, 0};
    char cut[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (text != NULL)
        rc = pdr_value_text(&shown, text, &scratch, NULL);
    if (rc == PDR_EINVALID) { /* half a character: its spelling */
        (void)pdr_value_raw(&shown, text);
        rc = PDR_OK;
    }
    rc = rc == PDR_OK ? pdr_buf_printf(&list->pointers, err, "%s%s", before,
                                       pdr__shown(cut, shown))
                      : pdr__nomem(err);
    pdr_buf_dispose(&scratch);
    list->items[list->count - 1].detail_len += list->pointers.len - mark;
    return rc;
}

/* The text of the rule, and what else there is to say. */
static pdr_rc put_text(pdr_buf *out, const struct told_list *list,
                       const struct told *told, pdr_err *err)
{
    const char *text = rules[told->rule].text;
    pdr_rc rc = pdr_buf_append(out, pdr_str_c(text), err);

    if (rc != PDR_OK || told->detail_len == 0)
        return rc;
    return pdr_buf_append(
        out,
        pdr_str_n(list->pointers.ptr + told->pointer + told->len,
                  told->detail_len),
        err);
}

pdr_rc pdr__told_report(const struct told_list *list, pdr_err *err,
                        pdr_doc_finding_fn fn, void *arg)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; fn != NULL && rc == PDR_OK && i < list->count; i++) {
        const struct told *told = &list->items[i];

        pdr_buf_clear(&text);
        rc = put_text(&text, list, told, err);
        if (rc == PDR_OK) {
            pdr_doc_finding finding = {
                rules[told->rule].name, PDR_SEVERITY_INFO,
                pdr_str_n(list->pointers.ptr + told->pointer, told->len),
                pdr_buf_str(&text)};

            rc = fn(&finding, err, arg);
        }
    }
    pdr_buf_dispose(&text);
    return rc;
}

void pdr__told_dispose(struct told_list *list)
{
    pdr__free(list->items);
    pdr__free(list->moved);
    pdr_buf_dispose(&list->pointers);
}

/* --- from after to before ------------------------------------------------ */

/* The levels of a place, for loops. */
enum level { LEVEL_ENTRY, LEVEL_MESSAGE, LEVEL_CONTENT, LEVEL_COUNT };

static const char *const lists[LEVEL_COUNT] = {HISTORY, "/messages",
                                               "/contents"};

static size_t level_of(struct place at, enum level level)
{
    if (level == LEVEL_ENTRY)
        return at.entry;
    return level == LEVEL_MESSAGE ? at.message : at.content;
}

/* Is this an element of the list at `level` inside `parent`? */
static bool is_in_list(const struct told *told, enum repair_effect effect,
                       enum level level, struct place parent)
{
    struct place at = told->at;

    if (!told->is_part || rules[told->rule].effect != effect)
        return false;
    if (level_of(at, level) == PDR_NONE ||
        (level < LEVEL_CONTENT && level_of(at, level + 1) != PDR_NONE))
        return false;
    return (level == LEVEL_ENTRY || at.entry == parent.entry) &&
           (level < LEVEL_CONTENT || at.message == parent.message);
}

/* The index that element `after` of a list had before. What was added and what
 * was removed is in the order of the list. */
static size_t index_before(const struct told_list *list, enum level level,
                           size_t after, struct place was, struct place is)
{
    size_t before = after;

    for (size_t i = 0; i < list->count; i++) {
        if (is_in_list(&list->items[i], REPAIR_IS_ADDED, level, is) &&
            level_of(list->items[i].at, level) <= after && before > 0)
            before--;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (is_in_list(&list->items[i], REPAIR_IS_REMOVED, level, was) &&
            level_of(list->items[i].at, level) <= before)
            before++;
    }
    return before;
}

/* Take `prefix` and an index from the front of a pointer. */
static bool take_index(size_t *out, pdr_str *pointer, const char *prefix)
{
    size_t len = strlen(prefix), at = len + 1;

    if (pointer->len <= at || memcmp(pointer->ptr, prefix, len) != 0 ||
        pointer->ptr[len] != '/')
        return false;
    *out = 0;
    for (; at < pointer->len && pointer->ptr[at] != '/'; at++) {
        if (pointer->ptr[at] < '0' || pointer->ptr[at] > '9')
            return false;
        *out = *out * 10 + (size_t)(pointer->ptr[at] - '0');
    }
    *pointer = pdr_str_n(pointer->ptr + at, pointer->len - at);
    return true;
}

/* Where the pointer leads in the document after, as far as there are lists that
 * a repair changes. */
struct trail {
    struct place was, is;
    const char *added_for; /* the last part was added; NULL: it was not. Of what
                              it was added for, it has this member. */
    pdr_str rest;          /* behind the last part */
};

static bool was_added(const struct told_list *list, enum level level,
                      struct place is)
{
    for (size_t i = 0; i < list->count; i++) {
        if (is_in_list(&list->items[i], REPAIR_IS_ADDED, level, is) &&
            level_of(list->items[i].at, level) == level_of(is, level))
            return true;
    }
    return false;
}

/* Is the trail at a message, and the rest leads to a result that was moved? */
static bool take_moved(struct trail *t, const struct told_list *list)
{
    pdr_str rest = t->rest;
    size_t index = 0;
    bool orphan = take_index(&index, &rest, "/orphanResults");

    if (!orphan && !take_index(&index, &rest, lists[LEVEL_CONTENT]))
        return false;
    for (size_t i = 0; i < list->moved_count; i++) {
        const struct moved *moved = &list->moved[i];

        if (moved->is_orphan != orphan || moved->after.content != index ||
            moved->after.entry != t->is.entry ||
            moved->after.message != t->is.message)
            continue;
        t->was = moved->before;
        t->added_for = moved->is_made ? "/callId" : NULL;
        t->rest = rest;
        return true;
    }
    return false;
}

/* Go down one list; false if the trail ends here. */
static bool go_down(struct trail *t, const struct told_list *list,
                    enum level level)
{
    size_t *const was_at[] = {&t->was.entry, &t->was.message, &t->was.content};
    size_t *const is_at[] = {&t->is.entry, &t->is.message, &t->is.content};
    size_t index = 0;

    if (level == LEVEL_CONTENT && take_moved(t, list))
        return false;
    if (t->added_for != NULL || !take_index(&index, &t->rest, lists[level]))
        return false;
    *was_at[level] = index_before(list, level, index, t->was, t->is);
    *is_at[level] = index;
    if (was_added(list, level, t->is))
        t->added_for = level == LEVEL_ENTRY ? "/correlationId" : "";
    return true;
}

/* The member that the repair added and that the pointer leads to; REPAIR_COUNT
 * if there is none. */
static enum repair_rule member_added(const struct told_list *list,
                                     pdr_str pointer)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct told *told = &list->items[i];

        if (told->is_part || rules[told->rule].effect != REPAIR_IS_ADDED ||
            pointer.len < told->len ||
            (pointer.len > told->len && pointer.ptr[told->len] != '/') ||
            memcmp(pointer.ptr, list->pointers.ptr + told->pointer,
                   told->len) != 0)
            continue;
        return told->rule;
    }
    return REPAIR_COUNT;
}

/* Members that get what another one had. */
static const struct {
    const char *after, *before;
} kept[] = {{"/argumentsText", "/arguments"}, {"/detailsJson", "/details"}};

static pdr_rc put_kept(pdr_buf *out, pdr_str rest, pdr_err *err)
{
    for (size_t i = 0; i < PDR_COUNT(kept); i++) {
        size_t len = strlen(kept[i].after);
        pdr_rc rc = PDR_OK;

        if (rest.len < len || memcmp(rest.ptr, kept[i].after, len) != 0)
            continue;
        rc = pdr_buf_append(out, pdr_str_c(kept[i].before), err);
        rest = pdr_str_n(rest.ptr + len, rest.len - len);
        return rc == PDR_OK ? pdr_buf_append(out, rest, err) : rc;
    }
    return pdr_buf_append(out, rest, err);
}

/* What is below the last part of the trail, as it was called before. `pointer`
 * is all of it. */
static pdr_rc put_rest(pdr_buf *out, const struct trail *t,
                       const struct told_list *list, pdr_str pointer,
                       pdr_err *err)
{
    enum repair_rule rule = member_added(list, pointer);

    if (t->added_for != NULL)
        return pdr_str_equal(t->rest, pdr_str_c(t->added_for))
                   ? pdr_buf_append(out, t->rest, err)
                   : PDR_OK;
    if (rule == REPAIR_KEPT_ADDED)
        return put_kept(out, t->rest, err);
    if (rule == REPAIR_ORPHANS_ADDED && t->was.content == PDR_NONE)
        return PDR_OK; /* the list itself: there was none */
    return pdr_buf_append(out, t->rest, err);
}

pdr_rc pdr__told_pointer_before(pdr_buf *out, const struct told_list *list,
                                pdr_str after, pdr_err *err)
{
    const struct place nowhere = {PDR_NONE, PDR_NONE, PDR_NONE};
    struct trail t = {nowhere, nowhere, NULL, after};
    pdr_rc rc = PDR_OK;

    for (int level = 0; level < LEVEL_COUNT; level++) {
        if (!go_down(&t, list, (enum level)level))
            break;
    }
    rc = put_pointer(out, t.was, "", err);
    return rc == PDR_OK ? put_rest(out, &t, list, after, err) : rc;
}
