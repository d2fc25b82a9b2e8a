/*
 * diff_model.c - trees, their text, and changes applied to them.
 */
#include "diff_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <perdure/json.h>

#include "core.h"

#define MAX_CHANGES 4096

struct tree {
    pdr_kind kind;
    char *name; /* owned; decoded; NULL in an array and at the root */
    char *text; /* owned; decoded text or spelling of a scalar */
    struct tree **child;
    size_t count, cap;
};

/* --- plain helpers ------------------------------------------------------- */

static void *must(void *ptr)
{
    if (ptr == NULL)
        abort();
    return ptr;
}

uint32_t dice_roll(struct dice *dice, uint32_t sides)
{
    dice->state = dice->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((dice->state >> 33) % sides);
}

static struct tree *tree_new(pdr_kind kind, const char *text)
{
    struct tree *tree = must(calloc(1, sizeof(*tree)));

    tree->kind = kind;
    tree->text = text != NULL ? must(strdup(text)) : NULL;
    return tree;
}

void tree_free(struct tree *tree)
{
    if (tree == NULL)
        return;
    for (size_t i = 0; i < tree->count; i++)
        tree_free(tree->child[i]);
    free(tree->child);
    free(tree->name);
    free(tree->text);
    free(tree);
}

static void tree_put(struct tree *tree, size_t at, struct tree *child)
{
    if (tree->count == tree->cap) {
        tree->cap = tree->cap * 2 + 4;
        tree->child =
            must(realloc(tree->child, tree->cap * sizeof(tree->child[0])));
    }
    memmove(&tree->child[at + 1], &tree->child[at],
            (tree->count - at) * sizeof(tree->child[0]));
    tree->child[at] = child;
    tree->count++;
}

static struct tree *tree_cut(struct tree *tree, size_t at)
{
    struct tree *child = tree->child[at];

    tree->count--;
    memmove(&tree->child[at], &tree->child[at + 1],
            (tree->count - at) * sizeof(tree->child[0]));
    return child;
}

static struct tree *tree_copy(const struct tree *tree)
{
    struct tree *copy = tree_new(tree->kind, tree->text);

    copy->name = tree->name != NULL ? must(strdup(tree->name)) : NULL;
    for (size_t i = 0; i < tree->count; i++)
        tree_put(copy, i, tree_copy(tree->child[i]));
    return copy;
}

static size_t tree_find(const struct tree *tree, const char *name)
{
    size_t i = 0;

    while (i < tree->count && strcmp(tree->child[i]->name, name) != 0)
        i++;
    return i;
}

/* Members in any order; both have no duplicates. */
static bool tree_same(const struct tree *a, const struct tree *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->text != NULL && strcmp(a->text, b->text) != 0)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        size_t j = a->kind == PDR_OBJECT ? tree_find(b, a->child[i]->name) : i;
        if (j == b->count || !tree_same(a->child[i], b->child[j]))
            return false;
    }
    return true;
}

/* --- random documents ---------------------------------------------------- */

/* Names and strings that a pointer has to escape, that JSON has to escape, and
 * half a surrogate pair. */
static const char *const words[] = {
    "id", "$type", "a/b", "m~n", "",         "\"q\"",        "\\",
    "x",  "y",     "0",   "-",   "\xC3\xA9", "\xED\xA0\x80", "~1"};

static struct tree *random_scalar(struct dice *dice)
{
    static const char *const numbers[] = {"0", "1", "-0", "1.10", "1E400"};

    switch (dice_roll(dice, 6)) {
    case 0:
        return tree_new(PDR_NULL, "null");
    case 1:
        return tree_new(PDR_BOOL, dice_roll(dice, 2) ? "true" : "false");
    case 2:
    case 3:
        return tree_new(PDR_NUMBER, numbers[dice_roll(dice, 5)]);
    default:
        return tree_new(PDR_STRING, words[dice_roll(dice, PDR_COUNT(words))]);
    }
}

static void add_random_child(struct dice *dice, struct tree *tree,
                             unsigned depth)
{
    const char *name = words[dice_roll(dice, PDR_COUNT(words))];

    if (tree->kind == PDR_OBJECT && tree_find(tree, name) < tree->count)
        return;
    struct tree *child = tree_random(dice, depth);
    if (tree->kind == PDR_OBJECT)
        child->name = must(strdup(name));
    tree_put(tree, dice_roll(dice, (uint32_t)tree->count + 1), child);
}

struct tree *tree_random(struct dice *dice, unsigned depth)
{
    if (depth == 0 || dice_roll(dice, 5) == 0)
        return random_scalar(dice);
    struct tree *tree =
        tree_new(dice_roll(dice, 2) ? PDR_ARRAY : PDR_OBJECT, NULL);
    uint32_t count = dice_roll(dice, dice_roll(dice, 8) == 0 ? 40 : 6);
    for (uint32_t i = 0; i < count; i++)
        add_random_child(dice, tree, depth - 1);
    return tree;
}

static void swap_children(struct dice *dice, struct tree *tree)
{
    if (tree->count < 2)
        return;
    struct tree *child = tree_cut(tree, dice_roll(dice, (uint32_t)tree->count));
    tree_put(tree, dice_roll(dice, (uint32_t)tree->count + 1), child);
}

static void mutate(struct dice *dice, struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        mutate(dice, tree->child[i]);
    if (tree->kind != PDR_ARRAY && tree->kind != PDR_OBJECT) {
        if (dice_roll(dice, 16) == 0) {
            struct tree *other = tree_random(dice, 1);
            struct tree swap = *tree;
            *tree = *other;
            tree->name = swap.name;
            swap.name = NULL;
            *other = swap;
            tree_free(other);
        }
        return;
    }
    if (dice_roll(dice, 5) == 0)
        add_random_child(dice, tree, 2);
    if (dice_roll(dice, 5) == 0 && tree->count > 0)
        tree_free(tree_cut(tree, dice_roll(dice, (uint32_t)tree->count)));
    if (dice_roll(dice, 5) == 0)
        swap_children(dice, tree);
}

struct tree *tree_mutated(struct dice *dice, const struct tree *tree)
{
    struct tree *copy = tree_copy(tree);

    mutate(dice, copy);
    return copy;
}

/* --- text ---------------------------------------------------------------- */

static void put_char(pdr_buf *out, char c)
{
    if (pdr_buf_append(out, pdr_str_n(&c, 1), NULL) != PDR_OK)
        abort();
}

static void put_text(pdr_buf *out, const char *text)
{
    if (pdr_buf_append(out, pdr_str_c(text), NULL) != PDR_OK)
        abort();
}

static void put_space(struct dice *dice, pdr_buf *out)
{
    if (dice_roll(dice, 4) == 0)
        put_char(out, " \n\t"[dice_roll(dice, 3)]);
}

/* Any ASCII character may be escaped; the lone surrogate has to be. */
static void put_string(struct dice *dice, pdr_buf *out, const char *text)
{
    char escape[8];

    put_char(out, '"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == 0xED) {
            put_text(out, "\\ud800");
            text += 2;
        } else if (c == '"' || c == '\\' ||
                   (c < 0x80 && dice_roll(dice, 8) == 0)) {
            snprintf(escape, sizeof(escape), "\\u%04x", c);
            put_text(out, escape);
        } else {
            put_char(out, *text);
        }
    }
    put_char(out, '"');
}

static void put_tree(struct dice *dice, pdr_buf *out, const struct tree *tree)
{
    bool is_object = tree->kind == PDR_OBJECT;

    if (tree->kind == PDR_STRING) {
        put_string(dice, out, tree->text);
        return;
    }
    if (tree->text != NULL) {
        put_text(out, tree->text);
        return;
    }
    put_char(out, is_object ? '{' : '[');
    for (size_t i = 0; i < tree->count; i++) {
        if (i > 0)
            put_char(out, ',');
        put_space(dice, out);
        if (is_object) {
            put_string(dice, out, tree->child[i]->name);
            put_char(out, ':');
        }
        put_tree(dice, out, tree->child[i]);
        put_space(dice, out);
    }
    put_char(out, is_object ? '}' : ']');
}

pdr_value *tree_value(struct dice *dice, const struct tree *tree)
{
    pdr_buf text = PDR_BUF_INIT(1u << 24);
    pdr_value *value = NULL;

    put_tree(dice, &text, tree);
    if (pdr_json_read_take(&value, &text, NULL, NULL) != PDR_OK)
        abort();
    return value;
}

static char *string_text(const pdr_value *string)
{
    pdr_buf scratch = PDR_BUF_INIT(1u << 20);
    pdr_str text;

    if (pdr__value_name_bytes(&text, string, &scratch, NULL) != PDR_OK)
        abort();
    char *copy = must(strndup(text.len > 0 ? text.ptr : "", text.len));
    pdr_buf_dispose(&scratch);
    return copy;
}

static struct tree *tree_of(const pdr_value *value)
{
    struct tree *tree = tree_new(pdr_value_kind(value), NULL);
    pdr_str raw;
    pdr_iter it;

    if (tree->kind == PDR_STRING)
        tree->text = string_text(value);
    else if (tree->kind < PDR_STRING && pdr_value_raw(&raw, value))
        tree->text = must(strndup(raw.ptr, raw.len));
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        struct tree *child = tree_of(it.value);
        if (it.name != NULL)
            child->name = string_text(it.name);
        tree_put(tree, tree->count, child);
    }
    return tree;
}

/* --- applying ------------------------------------------------------------ */

struct change {
    pdr_change_kind kind;
    char *pointer;      /* owned */
    struct tree *after; /* owned; NULL if removed */
};

struct changes {
    struct change list[MAX_CHANGES];
    size_t count;
};

static pdr_rc collect(const pdr_change *change, pdr_err *err, void *arg)
{
    struct changes *changes = arg;

    (void)err;
    if (change->kind == PDR_REORDERED)
        return PDR_OK;
    if (changes->count == MAX_CHANGES)
        abort();
    struct change *c = &changes->list[changes->count++];
    c->kind = change->kind;
    c->pointer =
        must(strndup(change->pointer.len > 0 ? change->pointer.ptr : "",
                     change->pointer.len));
    c->after = change->after != NULL ? tree_of(change->after) : NULL;
    return PDR_OK;
}

static void changes_free(struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        free(changes->list[i].pointer);
        tree_free(changes->list[i].after);
    }
    free(changes);
}

/* Cut the next token off a pointer and take its escapes away. */
static char *next_token(const char **pointer)
{
    const char *p = *pointer + 1;
    char *token = must(calloc(strlen(p) + 1, 1)), *out = token;

    for (; *p != '\0' && *p != '/'; p++) {
        if (*p != '~')
            *out++ = *p;
        else
            *out++ = *++p == '0' ? '~' : '/';
    }
    *pointer = p;
    return token;
}

/* Where `token` is in `tree`; its count if it is not there. */
static size_t position_of(const struct tree *tree, const char *token)
{
    if (tree->kind == PDR_OBJECT)
        return tree_find(tree, token);
    size_t at = strtoul(token, NULL, 10);
    return at < tree->count ? at : tree->count;
}

/* The container that the last token of a pointer is about; NULL if some part
 * of the way is not there. */
static struct tree *walk(struct tree *root, const char *pointer, char **token)
{
    struct tree *tree = root;

    for (;;) {
        *token = next_token(&pointer);
        if (tree->kind != PDR_ARRAY && tree->kind != PDR_OBJECT)
            return NULL;
        if (*pointer == '\0')
            return tree;
        size_t at = position_of(tree, *token);
        if (at == tree->count)
            return NULL;
        free(*token);
        tree = tree->child[at];
    }
}

static void replace(struct tree *tree, const struct tree *after)
{
    struct tree *copy = tree_copy(after);
    struct tree swap = *tree;

    *tree = *copy;
    free(tree->name);
    tree->name = swap.name;
    swap.name = NULL;
    *copy = swap;
    tree_free(copy);
}

static bool apply_in(struct tree *holder, const char *token,
                     const struct change *change)
{
    size_t at = position_of(holder, token);
    bool is_there = at < holder->count;

    if (change->kind == PDR_ADDED) {
        if (holder->kind == PDR_ARRAY ? strtoul(token, NULL, 10) != at
                                      : is_there)
            return false;
        struct tree *child = tree_copy(change->after);
        if (holder->kind == PDR_OBJECT)
            child->name = must(strdup(token));
        tree_put(holder, at, child);
        return true;
    }
    if (!is_there)
        return false;
    if (change->kind == PDR_REMOVED)
        tree_free(tree_cut(holder, at));
    else
        replace(holder->child[at], change->after);
    return true;
}

static bool apply(struct tree *root, const struct change *change)
{
    char *token = NULL;
    bool done = false;

    if (change->pointer[0] == '\0') {
        if (change->kind == PDR_CHANGED)
            replace(root, change->after);
        return change->kind == PDR_CHANGED;
    }
    struct tree *holder = walk(root, change->pointer, &token);
    if (holder != NULL)
        done = apply_in(holder, token, change);
    free(token);
    return done;
}

/* Pointers of what changed or went are those of `a`, so these come first, what
 * went from the end; then all indexes up to what is added are those of b. */
static bool apply_all(struct tree *a, const struct changes *changes,
                      size_t drop)
{
    bool done = true;

    for (size_t i = 0; i < changes->count; i++)
        if (changes->list[i].kind == PDR_CHANGED && i != drop)
            done = apply(a, &changes->list[i]) && done;
    for (size_t i = changes->count; i-- > 0;)
        if (changes->list[i].kind == PDR_REMOVED && i != drop)
            done = apply(a, &changes->list[i]) && done;
    for (size_t i = 0; i < changes->count; i++)
        if (changes->list[i].kind == PDR_ADDED && i != drop)
            done = apply(a, &changes->list[i]) && done;
    return done;
}

/* --- verdicts ------------------------------------------------------------ */

static void say(struct diff_verdict *out, const char *what, const pdr_value *a,
                const pdr_value *b)
{
    pdr_str raw_a = {NULL, 0}, raw_b = {NULL, 0};

    (void)pdr_value_raw(&raw_a, a);
    (void)pdr_value_raw(&raw_b, b);
    snprintf(out->text, sizeof(out->text), "%s: %.*s against %.*s", what,
             raw_a.len < 150 ? (int)raw_a.len : 150, raw_a.ptr,
             raw_b.len < 150 ? (int)raw_b.len : 150, raw_b.ptr);
}

void diff_check(struct diff_verdict *out, struct dice *dice,
                const struct tree *a, const struct tree *b, size_t drop)
{
    struct changes *changes = must(calloc(1, sizeof(*changes)));
    pdr_value *value_a = tree_value(dice, a), *value_b = tree_value(dice, b);
    struct tree *work = tree_copy(a);
    pdr_err err = PDR_ERR_INIT;
    bool is_equal = false;

    *out = (struct diff_verdict){.is_applied = false};
    if (pdr_value_diff(value_a, value_b, &err, collect, changes) != PDR_OK) {
        snprintf(out->text, sizeof(out->text), "%s", err.message);
    } else if (!apply_all(work, changes, drop)) {
        say(out, "a change names what is not there", value_a, value_b);
    } else if (!tree_same(work, b)) {
        say(out, "the changes do not lead to b", value_a, value_b);
    } else if (pdr_value_equal_unordered(&is_equal, value_a, value_b, &err) !=
                   PDR_OK ||
               is_equal != (changes->count == 0)) {
        say(out, "equal but for the order, and yet changes", value_a, value_b);
    } else {
        out->is_applied = true;
    }
    out->changes = changes->count;
    tree_free(work);
    changes_free(changes);
    pdr_value_free(value_a);
    pdr_value_free(value_b);
}

size_t diff_check_random(struct diff_verdict *out, uint64_t seed, size_t pairs,
                         bool drop_one)
{
    struct dice dice = {seed};
    size_t n = 0;
    bool done = false;

    for (; n < pairs && !done; n++) {
        struct tree *a = tree_random(&dice, 4);
        struct tree *b = dice_roll(&dice, 10) == 0 ? tree_random(&dice, 4)
                                                   : tree_mutated(&dice, a);
        diff_check(out, &dice, a, b, SIZE_MAX);
        done = !out->is_applied;
        if (!done && drop_one && out->changes > 0) {
            diff_check(out, &dice, a, b,
                       dice_roll(&dice, (uint32_t)out->changes));
            done = !out->is_applied;
        }
        tree_free(a);
        tree_free(b);
    }
    return n;
}
