/*
 * jsonschema.c - checking a value against a loaded schema.
 *
 * WHY  State documents, tool parameters and structured answers have schemas
 *      that others wrote. A check must give the answer of the specification
 *      (draft 2020-12), say where and why not, and end, whatever the schema and
 *      the value are.
 *
 * HOW  A node is applied to a value: first its rules one by one, then, for all
 *      rules about members or elements together, one walk over the children. A
 *      branch that may fail (anyOf, oneOf, not, if, contains) is checked
 *      quietly: up to its first broken rule, and nobody is told.
 *
 * INVARIANTS
 *   K1  Whether a value is valid does not depend on whether somebody is told.
 *   K2  Each node that is applied takes a step of the budget, and so does each
 *       member, name and 64 bytes of text that a rule looks at: a check ends in
 *       time. Each node is a frame deeper, so it ends in memory.
 *
 * RECURSION  PDR_MAX_CHECK_DEPTH frames.
 *
 * NOT HERE  Loading (jsonschema_load.c, jsonschema_refs.c), single rules
 *           (jsonschema_assert.c), equality (jsonschema_equal.c), numbers
 *           (jsonschema_number.c), telling (jsonschema_tell.c).
 */
#include "jsonschema_check.h"

/* Properties that are looked up one by one at most; beyond it, one walk over
 * all members costs less. */
#define LOOK_UPS 4u

/* --- one check ----------------------------------------------------------- */

static pdr_rc check_node(bool *valid, struct schema_check *check,
                         const struct schema_node *node,
                         const struct frame *frame, pdr_err *err);

/* A frame for a schema of `keyword` that is applied to the same value. */
static struct frame same_value(const struct frame *up, enum keyword keyword)
{
    return (struct frame){.up = up,
                          .value = up->value,
                          .keyword = pdr__keyword_names[keyword],
                          .sub_index = PDR__NONE,
                          .index = PDR__NONE,
                          .depth = up->depth + 1};
}

/* And both: the value that `it` stands at. */
static struct frame child_value(const struct frame *up, enum keyword keyword,
                                const pdr_iter *it)
{
    struct frame frame = same_value(up, keyword);

    frame.value = it->value;
    frame.name = it->name;
    frame.index = it->index;
    return frame;
}

/* Go on after a part was found to be invalid? */
static bool goes_on(bool *valid, const struct schema_check *check, bool part)
{
    if (!part)
        *valid = false;
    return part || check_is_loud(check);
}

/* A limit was reached: say at which value. */
static pdr_rc placed(struct schema_check *check, const struct frame *frame,
                     pdr_rc rc, pdr_err *err)
{
    return rc == PDR_ELIMIT ? pdr__check_place(check, frame, rc, err) : rc;
}

/* The member of that name, or NULL. */
static pdr_rc look_up(const pdr_value **out, struct schema_check *check,
                      const struct frame *frame, pdr_str name, pdr_err *err)
{
    pdr_rc rc =
        pdr__schema_step(&check->work, 1 + name.len / SCHEMA_STEP_BYTES, err);

    *out = rc == PDR_OK ? pdr_value_get(frame->value, name) : NULL;
    return placed(check, frame, rc, err);
}

static pdr_rc check_quietly(bool *valid, struct schema_check *check,
                            const struct schema_node *node,
                            const struct frame *frame, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    check->quiet++;
    rc = check_node(valid, check, node, frame, err);
    check->quiet--;
    return rc;
}

/* --- schemas for the same value ------------------------------------------ */

static pdr_rc check_all_of(bool *valid, struct schema_check *check,
                           const struct rule *rule, const struct frame *up,
                           pdr_err *err)
{
    struct frame frame = same_value(up, rule->keyword);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < rule->of.list.count; i++) {
        bool part = true;

        frame.sub_index = i;
        rc = check_node(&part, check, rule->of.list.at[i], &frame, err);
        if (rc != PDR_OK || !goes_on(valid, check, part))
            return rc;
    }
    return rc;
}

/* How many of a list hold; stops when `enough` do. */
static pdr_rc count_holding(size_t *out, struct schema_check *check,
                            const struct rule *rule, const struct frame *up,
                            size_t enough, pdr_err *err)
{
    struct frame frame = same_value(up, rule->keyword);
    pdr_rc rc = PDR_OK;

    *out = 0;
    for (size_t i = 0; rc == PDR_OK && i < rule->of.list.count; i++) {
        bool part = true;

        frame.sub_index = i;
        rc = check_quietly(&part, check, rule->of.list.at[i], &frame, err);
        *out += rc == PDR_OK && part;
        if (*out >= enough)
            break;
    }
    return rc;
}

static pdr_rc check_choice(bool *valid, struct schema_check *check,
                           const struct rule *rule, const struct frame *frame,
                           pdr_err *err)
{
    bool one = rule->keyword == KW_ONE_OF;
    size_t holding = 0;
    pdr_rc rc = count_holding(&holding, check, rule, frame, one ? 2 : 1, err);

    if (rc != PDR_OK)
        return rc;
    *valid = holding == 1;
    if (*valid)
        return PDR_OK;
    if (holding > 1)
        return pdr__check_tell(check, frame, pdr__keyword_names[rule->keyword],
                               err, "%s",
                               "more than one of the alternatives matches, "
                               "where only one may");
    return pdr__check_tell(check, frame, pdr__keyword_names[rule->keyword], err,
                           "none of the %zu alternatives matches: make it "
                           "match one",
                           rule->of.list.count);
}

static pdr_rc check_not(bool *valid, struct schema_check *check,
                        const struct rule *rule, const struct frame *up,
                        pdr_err *err)
{
    struct frame frame = same_value(up, KW_NOT);
    pdr_str raw = {NULL, 0};
    char shown[PDR_SHOWN];
    bool part = true;
    pdr_rc rc = check_quietly(&part, check, rule->of.node, &frame, err);

    *valid = !part;
    if (rc != PDR_OK || *valid || !check_is_loud(check))
        return rc;
    (void)pdr_value_raw(&raw, rule->of.node->source); /* flat, see J1 */
    return pdr__check_tell(check, up, pdr__keyword_names[KW_NOT], err,
                           "the value matches what it must not match: %s",
                           pdr__shown(shown, raw));
}

static pdr_rc check_if(bool *valid, struct schema_check *check,
                       const struct schema_node *node, const struct rule *rule,
                       const struct frame *up, pdr_err *err)
{
    struct frame frame = same_value(up, KW_IF);
    const struct rule *branch = NULL;
    bool part = true;
    pdr_rc rc = PDR_OK;

    if (node->then_rule == NULL && node->else_rule == NULL)
        return PDR_OK;
    rc = check_quietly(&part, check, rule->of.node, &frame, err);
    branch = part ? node->then_rule : node->else_rule;
    if (rc != PDR_OK || branch == NULL)
        return rc;
    frame = same_value(up, branch->keyword);
    return check_node(valid, check, branch->of.node, &frame, err);
}

static pdr_rc check_dependent(bool *valid, struct schema_check *check,
                              const struct rule *rule, const struct frame *up,
                              pdr_err *err)
{
    struct frame frame = same_value(up, rule->keyword);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < rule->of.members.count; i++) {
        const struct schema_member *member = &rule->of.members.at[i];
        const pdr_value *found = NULL;
        bool part = true;

        rc = look_up(&found, check, up, member->text, err);
        if (rc != PDR_OK)
            return rc;
        if (found == NULL)
            continue;
        frame.sub_name = member->name;
        rc = check_node(&part, check, member->node, &frame, err);
        if (rc != PDR_OK || !goes_on(valid, check, part))
            return rc;
    }
    return rc;
}

static pdr_rc check_ref(bool *valid, struct schema_check *check,
                        const struct rule *rule, const struct frame *up,
                        pdr_err *err)
{
    struct frame frame = same_value(up, KW_REF);

    return check_node(valid, check, rule->of.node, &frame, err);
}

static pdr_rc check_rule(bool *valid, struct schema_check *check,
                         const struct schema_node *node,
                         const struct rule *rule, const struct frame *frame,
                         pdr_err *err)
{
    *valid = true;
    switch ((int)rule->keyword) {
    case KW_REF:
        return check_ref(valid, check, rule, frame, err);
    case KW_ALL_OF:
        return check_all_of(valid, check, rule, frame, err);
    case KW_ANY_OF:
    case KW_ONE_OF:
        return check_choice(valid, check, rule, frame, err);
    case KW_NOT:
        return check_not(valid, check, rule, frame, err);
    case KW_IF:
        return check_if(valid, check, node, rule, frame, err);
    case KW_NEEDS_SCHEMAS:
        return check_dependent(valid, check, rule, frame, err);
    default:
        return pdr__check_assertion(valid, check, rule, frame, err);
    }
}

/* --- members ------------------------------------------------------------- */

/* Patterns that the name has, each with its schema. `known` if there is one. */
static pdr_rc check_patterns(bool *valid, bool *known,
                             struct schema_check *check,
                             const struct rule *rule, const struct frame *up,
                             const pdr_iter *it, pdr_err *err)
{
    struct frame frame = child_value(up, KW_PATTERNS, it);

    for (size_t i = 0; i < rule->of.members.count; i++) {
        const struct schema_member *member = &rule->of.members.at[i];
        bool part = true, found = false;
        pdr_rc rc =
            pdr__check_search(&found, check, member->regex, it->name, err);

        if (rc == PDR_ELIMIT)
            return pdr__check_place(check, &frame, rc, err);
        if (rc == PDR_OK && found) {
            *known = true;
            frame.sub_name = member->name;
            rc = check_node(&part, check, member->node, &frame, err);
        }
        if (rc != PDR_OK || !goes_on(valid, check, part))
            return rc;
    }
    return PDR_OK;
}

/* The name itself, as a string. */
static pdr_rc check_name(bool *valid, struct schema_check *check,
                         const struct rule *rule, const struct frame *up,
                         const pdr_iter *it, pdr_err *err)
{
    struct frame frame = child_value(up, KW_NAMES, it);

    frame.value = it->name;
    return check_node(valid, check, rule->of.node, &frame, err);
}

/* By its own name, by patterns, and if it has neither, as an additional one. */
static pdr_rc check_member(bool *valid, struct schema_check *check,
                           const struct schema_node *node,
                           const struct frame *up, const pdr_iter *it,
                           const struct schema_member *property, pdr_err *err)
{
    struct frame frame = child_value(up, KW_PROPERTIES, it);
    bool known = property != NULL, part = true;
    pdr_rc rc = PDR_OK;

    if (property != NULL) {
        frame.sub_name = property->name;
        rc = check_node(&part, check, property->node, &frame, err);
    }
    if (rc != PDR_OK || !goes_on(valid, check, part))
        return rc;
    if (node->patterns != NULL) {
        part = true;
        rc = check_patterns(&part, &known, check, node->patterns, up, it, err);
    }
    if (rc != PDR_OK || !goes_on(valid, check, part) || known ||
        node->additional == NULL)
        return rc;
    frame = child_value(up, KW_ADDITIONAL, it);
    part = true;
    rc = check_node(&part, check, node->additional->of.node, &frame, err);
    (void)goes_on(valid, check, part);
    return rc;
}

static pdr_rc check_members(bool *valid, struct schema_check *check,
                            const struct schema_node *node,
                            const struct frame *up, pdr_err *err)
{
    const struct schema_member *property = NULL;
    pdr_str name = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, up->value);
    while (pdr_iter_next(&it)) {
        bool part = true;

        rc = pdr__schema_text(&name, &check->work, it.name, err);
        if (rc != PDR_OK)
            return placed(check, up, rc, err);
        if (!pdr__iter_is_last(&it, name))
            continue;
        property = node->properties != NULL
                       ? pdr__schema_member(node->properties, name)
                       : NULL;
        if (node->names != NULL)
            rc = check_name(&part, check, node->names, up, &it, err);
        if (rc != PDR_OK || !goes_on(valid, check, part))
            return rc;
        part = true;
        rc = check_member(&part, check, node, up, &it, property, err);
        if (rc != PDR_OK || !goes_on(valid, check, part))
            return rc;
    }
    return rc;
}

/* The same by looking each name up, where nothing is said about other members.
 * Cheaper for a condition such as "if $type is text". */
static pdr_rc check_properties(bool *valid, struct schema_check *check,
                               const struct rule *rule, const struct frame *up,
                               pdr_err *err)
{
    struct frame frame = same_value(up, KW_PROPERTIES);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < rule->of.members.count; i++) {
        const struct schema_member *member = &rule->of.members.at[i];
        bool part = true;

        rc = look_up(&frame.value, check, up, member->text, err);
        if (rc != PDR_OK)
            return rc;
        if (frame.value == NULL)
            continue;
        frame.name = member->name; /* the same text */
        frame.sub_name = member->name;
        rc = check_node(&part, check, member->node, &frame, err);
        if (rc != PDR_OK || !goes_on(valid, check, part))
            return rc;
    }
    return rc;
}

/* Are a few look-ups enough? Not where findings of several members have to
 * come in the order of the document. */
static bool can_look_up(const struct schema_check *check,
                        const struct schema_node *node)
{
    return node->properties != NULL && node->patterns == NULL &&
           node->additional == NULL && node->names == NULL &&
           node->properties->of.members.count <=
               (check_is_loud(check) ? 1 : LOOK_UPS);
}

/* --- elements ------------------------------------------------------------ */

static pdr_rc check_element(bool *valid, struct schema_check *check,
                            const struct schema_node *node,
                            const struct frame *up, const pdr_iter *it,
                            pdr_err *err)
{
    struct frame frame = child_value(up, KW_PREFIX, it);

    if (node->prefix != NULL && it->index < node->prefix->of.list.count) {
        frame.sub_index = it->index;
        return check_node(valid, check, node->prefix->of.list.at[it->index],
                          &frame, err);
    }
    frame = child_value(up, KW_ITEMS, it);
    return check_node(valid, check, node->items->of.node, &frame, err);
}

static pdr_rc check_elements(bool *valid, struct schema_check *check,
                             const struct schema_node *node,
                             const struct frame *up, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, up->value);
    while (pdr_iter_next(&it)) {
        bool part = true;

        if (node->items == NULL && it.index >= node->prefix->of.list.count)
            break; /* nothing is said about the rest */
        rc = check_element(&part, check, node, up, &it, err);
        if (rc != PDR_OK || !goes_on(valid, check, part))
            return rc;
    }
    return rc;
}

static pdr_rc tell_contains(bool *valid, struct schema_check *check,
                            const struct frame *frame, enum keyword keyword,
                            uint64_t count, const char *words, uint64_t limit,
                            pdr_err *err)
{
    *valid = false;
    return pdr__check_tell(check, frame, pdr__keyword_names[keyword], err,
                           "%llu of the elements match, where %s %llu must",
                           (unsigned long long)count, words,
                           (unsigned long long)limit);
}

static pdr_rc check_contains(bool *valid, struct schema_check *check,
                             const struct schema_node *node,
                             const struct frame *up, pdr_err *err)
{
    const struct rule *min = node->min_contains, *max = node->max_contains;
    uint64_t least = min != NULL ? min->of.count : 1, count = 0;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, up->value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        struct frame frame = child_value(up, KW_CONTAINS, &it);
        bool part = true;

        rc = check_quietly(&part, check, node->contains->of.node, &frame, err);
        count += rc == PDR_OK && part;
        if (max == NULL && count >= least)
            break;
    }
    if (rc == PDR_OK && count < least)
        return tell_contains(valid, check, up,
                             min != NULL ? KW_MIN_CONTAINS : KW_CONTAINS, count,
                             "at least", least, err);
    if (rc == PDR_OK && max != NULL && count > max->of.count)
        return tell_contains(valid, check, up, KW_MAX_CONTAINS, count,
                             "at most", max->of.count, err);
    return rc;
}

/* --- nodes --------------------------------------------------------------- */

static pdr_rc check_children(bool *valid, struct schema_check *check,
                             const struct schema_node *node,
                             const struct frame *frame, pdr_err *err)
{
    pdr_kind kind = pdr_value_kind(frame->value);
    bool part = true;
    pdr_rc rc = PDR_OK;

    if (kind == PDR_OBJECT && can_look_up(check, node))
        return check_properties(valid, check, node->properties, frame, err);
    if (kind == PDR_OBJECT &&
        (node->properties != NULL || node->patterns != NULL ||
         node->additional != NULL || node->names != NULL))
        return check_members(valid, check, node, frame, err);
    if (kind != PDR_ARRAY)
        return PDR_OK;
    if (node->contains != NULL)
        rc = check_contains(&part, check, node, frame, err);
    if (rc != PDR_OK || !goes_on(valid, check, part))
        return rc;
    if (node->prefix != NULL || node->items != NULL)
        rc = check_elements(valid, check, node, frame, err);
    return rc;
}

static pdr_rc check_bool(bool *valid, struct schema_check *check,
                         const struct schema_node *node,
                         const struct frame *frame, pdr_err *err)
{
    *valid = node->truth;
    if (*valid)
        return PDR_OK;
    return pdr__check_tell(check, frame, NULL, err, "%s",
                           "nothing may stand here: remove it");
}

/* One more node is applied (K2). */
static pdr_rc enter(struct schema_check *check, const struct frame *frame,
                    pdr_err *err)
{
    pdr_rc rc = pdr__schema_step(&check->work, 1, err);

    if (rc == PDR_OK && frame->depth > PDR_MAX_CHECK_DEPTH)
        rc = PDR_FAIL(err, TOO_DEEP,
                      "more than %u schemas inside each other: the value is "
                      "too deep for this schema",
                      PDR_MAX_CHECK_DEPTH);
    return rc == PDR_OK ? rc : pdr__check_place(check, frame, rc, err);
}

static pdr_rc check_node(bool *valid, struct schema_check *check,
                         const struct schema_node *node,
                         const struct frame *frame, pdr_err *err)
{
    unsigned kind = KIND_BIT(pdr_value_kind(frame->value));
    pdr_rc rc = enter(check, frame, err);

    *valid = true;
    if (rc == PDR_OK && node->is_bool)
        return check_bool(valid, check, node, frame, err);
    if (node->is_nullable && kind == KIND_BIT(PDR_NULL))
        return rc;
    for (size_t i = 0; rc == PDR_OK && i < node->rule_count; i++) {
        const struct rule *rule = &node->rules[i];
        bool part = true;

        if ((rule->kinds & kind) == 0)
            continue;
        rc = check_rule(&part, check, node, rule, frame, err);
        if (rc != PDR_OK || !goes_on(valid, check, part))
            return rc;
    }
    if (rc == PDR_OK) {
        bool part = true;

        rc = check_children(&part, check, node, frame, err);
        (void)goes_on(valid, check, part);
    }
    return rc;
}

/* --- public -------------------------------------------------------------- */

pdr_rc pdr_schema_new(pdr_schema **out, const pdr_value *schema,
                      const pdr_schema_options *options, pdr_err *err)
{
    pdr_schema *s = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && schema != NULL);
    *out = NULL;
    s = pdr__calloc(1, sizeof(*s));
    if (s == NULL)
        return pdr__nomem(err);
    s->arena = (struct pdr__arena)PDR_ARENA_INIT(PDR_MAX_SCHEMA_BYTES);
    /* A copy: it is flat, and does not keep alive what the schema stood in. */
    rc = pdr__value_copy(&s->source, schema, err);
    if (rc == PDR_OK)
        rc = pdr__schema_load(s, options, err);
    if (rc == PDR_OK) {
        *out = s;
        s = NULL;
    }
    pdr_schema_free(s);
    return rc;
}

void pdr_schema_free(pdr_schema *schema)
{
    if (schema == NULL)
        return;
    for (struct schema_pattern *p = schema->patterns; p != NULL; p = p->next)
        pdr__regex_free(p->regex);
    pdr__arena_dispose(&schema->arena);
    pdr_value_free(schema->source);
    pdr__free(schema);
}

static uint64_t budget(const pdr_value *value)
{
    uint64_t bytes = pdr_value_memory(value);

    if (bytes > UINT64_MAX / PDR_CHECK_STEPS_PER_BYTE - PDR_CHECK_STEPS)
        return UINT64_MAX;
    return PDR_CHECK_STEPS + bytes * PDR_CHECK_STEPS_PER_BYTE;
}

pdr_rc pdr_schema_check(bool *valid, const pdr_schema *schema,
                        const pdr_value *value, pdr_err *err,
                        pdr_schema_finding_fn fn, void *arg)
{
    struct schema_check check = {
        .fn = fn,
        .arg = arg,
        .work = {0, PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)},
        .instance = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES),
        .schema = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES),
        .text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
    };
    struct frame frame = {.value = value,
                          .keyword = "false",
                          .sub_index = PDR__NONE,
                          .index = PDR__NONE};
    bool result = true;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(valid != NULL && schema != NULL && value != NULL);
    *valid = false;
    check.work.steps = budget(value);
    rc = check_node(&result, &check, schema->root, &frame, err);
    *valid = rc == PDR_OK && result;
    pdr__searcher_free(check.searcher);
    pdr_buf_dispose(&check.work.scratch);
    pdr_buf_dispose(&check.instance);
    pdr_buf_dispose(&check.schema);
    pdr_buf_dispose(&check.text);
    return rc;
}
