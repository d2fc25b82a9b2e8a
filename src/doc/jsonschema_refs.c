/*
 * jsonschema_refs.c - where each $ref of a schema leads.
 *
 * WHY  A reference may lead to any schema of the same document, also to one
 *      that stands later or around it. So they are followed when all is loaded.
 *      Only references within the document exist: nothing is ever fetched.
 *
 *      "#"           the whole
 *      "#/$defs/a"   a JSON Pointer, percent-encoded where a URI needs it
 *      "#name"       the schema with that $anchor
 *
 * A reference that leads to a value which is no schema is refused, and so is a
 * circle that comes back to its schema without going down in the value (J2): a
 * check would never end.
 */
#include "jsonschema.h"

enum mark { NEW = 0, OPEN = 1, DONE = 2 };

static pdr_rc no_definition(const struct pending_ref *ref, const char *why,
                            pdr_err *err)
{
    pdr_rc rc = PDR_FAIL(err, NO_DEFINITION, "%s", why);

    pdr__schema_err_path(err, ref->path);
    return rc;
}

/* --- references ---------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The fragment without its percent encoding; false if it has a bad one. */
static bool decode_fragment(pdr_str *out, char *to, pdr_str text)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            to[len++] = text.ptr[i];
            continue;
        }
        int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1;
        int low = i + 2 < text.len ? hex_digit(text.ptr[i + 2]) : -1;

        if (high < 0 || low < 0)
            return false;
        to[len++] = (char)(high * 16 + low);
        i += 2;
    }
    *out = pdr_str_n(to, len);
    return true;
}

/* The node of a part of the schema, by its address (J1). */
static struct schema_node *node_of(struct schema_node *const *nodes,
                                   size_t count, const pdr_value *part)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (nodes[middle]->source == part)
            return nodes[middle];
        if (part < nodes[middle]->source)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static pdr_rc follow(struct pending_ref *ref, struct schema_loader *loader,
                     struct schema_node *const *nodes, pdr_str fragment,
                     pdr_err *err)
{
    const pdr_value *part = NULL;
    void *node = NULL;
    pdr_rc rc = PDR_OK;

    if (fragment.len > 0 && fragment.ptr[0] != '/') {
        if (!pdr__map_get(&node, &loader->anchors, fragment))
            return no_definition(ref, "no schema has this $anchor", err);
        ref->rule->of.node = node;
        return PDR_OK;
    }
    rc = pdr_pointer_get(&part, loader->schema->source, fragment, NULL);
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    if (rc != PDR_OK)
        return no_definition(ref, "the schema has no such part", err);
    ref->rule->of.node = node_of(nodes, loader->node_count, part);
    if (ref->rule->of.node == NULL)
        return no_definition(ref,
                             "this leads to a value that is not read as a "
                             "schema: move it to $defs",
                             err);
    return PDR_OK;
}

static pdr_rc resolve(struct pending_ref *ref, struct schema_loader *loader,
                      struct schema_node *const *nodes, pdr_err *err)
{
    pdr_str text = {NULL, 0}, fragment = {NULL, 0};
    char *decoded = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_has_lone_surrogate(ref->text))
        return no_definition(ref, "a reference is UTF-8", err);
    rc = pdr_value_text(&text, ref->text, &loader->trail.scratch, err);
    if (rc != PDR_OK)
        return rc;
    if (text.len == 0 || text.ptr[0] != '#')
        return no_definition(ref,
                             "a reference begins with '#': nothing outside of "
                             "this schema is looked up",
                             err);
    decoded = pdr__alloc(text.len);
    if (decoded == NULL)
        return pdr__nomem(err);
    if (decode_fragment(&fragment, decoded,
                        pdr_str_n(text.ptr + 1, text.len - 1)))
        rc = follow(ref, loader, nodes, fragment, err);
    else
        rc = no_definition(ref, "a '%' without two hexadecimal digits", err);
    pdr__free(decoded);
    return rc;
}

/* --- circles ------------------------------------------------------------- */

/* A walk along what applies to one value. */
struct circle {
    const struct schema_loader *loader;
    const struct rule *last_ref; /* the one that was followed last */
    unsigned depth;
};

static pdr_rc walk(struct circle *circle, struct schema_node *node,
                   pdr_err *err);

static pdr_rc found_circle(const struct circle *circle, pdr_err *err)
{
    const struct pending_ref *ref = circle->loader->refs;

    while (ref->rule != circle->last_ref)
        ref = ref->next;
    return no_definition(ref,
                         "this reference leads back to itself without going "
                         "down in the value",
                         err);
}

static pdr_rc walk_rule(struct circle *circle, const struct rule *rule,
                        pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    switch ((int)rule->keyword) {
    case KW_REF:
        circle->last_ref = rule;
        return walk(circle, rule->of.node, err);
    case KW_NOT:
    case KW_IF:
    case KW_THEN:
    case KW_ELSE:
        return walk(circle, rule->of.node, err);
    case KW_ALL_OF:
    case KW_ANY_OF:
    case KW_ONE_OF:
        for (size_t i = 0; rc == PDR_OK && i < rule->of.list.count; i++)
            rc = walk(circle, rule->of.list.at[i], err);
        return rc;
    case KW_NEEDS_SCHEMAS:
        for (size_t i = 0; rc == PDR_OK && i < rule->of.members.count; i++)
            rc = walk(circle, rule->of.members.at[i].node, err);
        return rc;
    default:
        return PDR_OK;
    }
}

/* RECURSION  No deeper than a check would go. */
static pdr_rc walk(struct circle *circle, struct schema_node *node,
                   pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (node->mark == DONE)
        return PDR_OK;
    if (node->mark == OPEN)
        return found_circle(circle, err);
    if (circle->depth >= PDR_MAX_CHECK_DEPTH)
        return PDR_FAIL(err, TOO_DEEP,
                        "more than %u schemas inside each other apply to one "
                        "value: shorten the row of references",
                        PDR_MAX_CHECK_DEPTH);
    node->mark = OPEN;
    circle->depth++;
    for (size_t i = 0; rc == PDR_OK && i < node->rule_count; i++)
        rc = walk_rule(circle, &node->rules[i], err);
    circle->depth--;
    node->mark = DONE;
    return rc;
}

pdr_rc pdr__schema_link(struct schema_loader *loader, pdr_err *err)
{
    struct circle circle = {loader, NULL, 0};
    struct schema_node **nodes = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    if (loader->refs == NULL)
        return PDR_OK;
    nodes = pdr__calloc(loader->node_count, sizeof(*nodes));
    if (nodes == NULL)
        return pdr__nomem(err);
    for (struct schema_node *n = loader->schema->root; n != NULL; n = n->next)
        nodes[count++] = n;
    for (struct pending_ref *r = loader->refs; r != NULL && rc == PDR_OK;
         r = r->next)
        rc = resolve(r, loader, nodes, err);
    for (size_t i = 0; i < count && rc == PDR_OK; i++)
        rc = walk(&circle, nodes[i], err);
    pdr__free(nodes);
    return rc;
}
