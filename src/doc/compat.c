/*
 * compat.c - what another program will do with a document.
 *
 * WHY  Both other readers refuse what the other one writes, and lose what they
 *      do not know. Whoever hands a document over wants to know before. So the
 *      rules of each reader are a table, its objects are tables of members, and
 *      one walk goes over the document as it is, also over one that we refuse.
 *
 * INVARIANTS
 *   C1  The verdict follows from the effects of the rules that were told, and
 *       from nothing else.
 *   C2  The walk visits each value once and in document order. What is missing
 *       in an object is told before its members.
 *   C3  Nothing here knows an input: a rule looks at kinds, names and texts.
 *
 * NOT HERE  What the readers do: compat_dotnet.c, compat_python.c.
 */
#include <stdio.h>

#include "compat.h"
#include "number.h"

/* --- rules --------------------------------------------------------------- */

#define RULE_ROW(id, name, effect, text) {name, COMPAT_##effect, text},
const struct compat_rule pdr__dotnet_rules[DN_COUNT] = {
    {NULL, (enum compat_effect)0, NULL}, COMPAT_DOTNET_RULES(RULE_ROW)};
const struct compat_rule pdr__python_rules[PY_COUNT] = {
    {NULL, (enum compat_effect)0, NULL}, COMPAT_PYTHON_RULES(RULE_ROW)};
#undef RULE_ROW

const struct compat_rule *pdr__compat_rules(size_t *count, pdr_reader reader)
{
    if (reader == PDR_READER_PYTHON) {
        *count = PY_COUNT - 1;
        return pdr__python_rules + 1;
    }
    *count = DN_COUNT - 1;
    return pdr__dotnet_rules + 1;
}

pdr_severity pdr__compat_severity(enum compat_effect effect)
{
    if (effect >= COMPAT_DAMAGES)
        return PDR_SEVERITY_ERROR;
    return effect == COMPAT_NOTES ? PDR_SEVERITY_INFO : PDR_SEVERITY_WARNING;
}

const char *pdr__compat_effect_name(enum compat_effect effect)
{
    static const char *const names[] = {
        "?",      "notes",        "changes",   "loses",     "damages",
        "resets", "fails-client", "fails-run", "fails-load"};

    return (size_t)effect < PDR_COUNT(names) ? names[effect] : "?";
}

/* --- telling ------------------------------------------------------------- */

static void judge(pdr_reader_verdict *verdict, enum compat_effect effect)
{
    if (effect == COMPAT_FAILS_LOAD || effect == COMPAT_FAILS_CLIENT)
        verdict->loads = false;
    if (effect == COMPAT_FAILS_LOAD || effect == COMPAT_FAILS_RUN)
        verdict->runs = false;
}

void pdr__compat_tell(struct compat *walk, int rule, const char *about)
{
    const struct compat_rule *row = &walk->reader->rules[rule];

    if (rule == 0 || walk->rc != PDR_OK)
        return;
    /* Of a value that a later one replaces, only the reading can fail. */
    if (walk->superseded && row->effect != COMPAT_FAILS_LOAD)
        return;
    judge(&walk->verdict, row->effect);
    if (strncmp(row->text, "is ", 3) != 0 && strncmp(row->text, "has ", 4) != 0)
        walk->rc = pdr__finder_tell(&walk->finder, row->name,
                                    pdr__compat_severity(row->effect),
                                    walk->err, "%s", row->text);
    else
        walk->rc = pdr__finder_tell(
            &walk->finder, row->name, pdr__compat_severity(row->effect),
            walk->err, "%s %s", about != NULL ? about : "this", row->text);
}

pdr_str pdr__compat_text(struct compat *walk, const pdr_value *string)
{
    pdr_str text = {"", 0};
    pdr_rc rc = pdr__value_name_bytes(&text, string, &walk->scratch, walk->err);

    if (rc == PDR_OK)
        return text;
    if (walk->rc == PDR_OK)
        walk->rc = rc;
    return pdr_str_c("");
}

bool pdr__compat_is_bare(const pdr_value *value)
{
    pdr_str raw = {NULL, 0};

    return pdr_value_kind(value) == PDR_NUMBER && pdr_value_raw(&raw, value) &&
           pdr__number_is_bare(raw);
}

void pdr__compat_spelling(struct compat *walk, pdr_str text,
                          pdr_datetime_form form, int rule)
{
    pdr_buf own = PDR_BUF_INIT(64);
    pdr_datetime date;
    pdr_rc rc = pdr_datetime_read(&date, text, NULL);

    if (rc == PDR_OK)
        rc = pdr_datetime_write(&own, &date, form, walk->err);
    if (rc == PDR_ENOMEM && walk->rc == PDR_OK)
        walk->rc = rc;
    if (rc == PDR_OK && !pdr_str_equal(pdr_buf_str(&own), text))
        pdr__compat_tell(walk, rule, NULL);
    pdr_buf_dispose(&own);
}

/* --- walking ------------------------------------------------------------- */

/* Go into an array or object; false, with a finding, if it lies too deep. */
static bool go_in(struct compat *walk)
{
    if (walk->rc != PDR_OK)
        return false;
    if (walk->level >= walk->reader->max_level) {
        pdr__compat_tell(walk, walk->reader->too_deep, NULL);
        return false;
    }
    walk->level++;
    return true;
}

static const struct compat_member *find_member(const struct compat_table *table,
                                               const pdr_value *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (pdr_value_text_is(name, pdr_str_c(table->members[i].name)))
            return &table->members[i];
    }
    return NULL;
}

static void look_at_member(struct compat *walk,
                           const struct compat_member *member,
                           const pdr_value *value)
{
    pdr_kind kind = pdr_value_kind(value);
    compat_look look = member->look;

    if (kind == PDR_NULL && (member->kinds & COMPAT_KIND(PDR_NULL)) == 0) {
        pdr__compat_tell(walk, member->null, member->name);
        return;
    }
    if ((member->kinds & COMPAT_KIND(kind)) == 0) {
        pdr__compat_tell(walk, member->other, member->name);
        look = NULL;
    }
    if (look != NULL)
        look(walk, value);
    else
        pdr__compat_opaque(walk, value);
}

/* One member, its name being pushed. */
static void visit_member(struct compat *walk, const pdr_value *object,
                         const struct compat_table *table, const pdr_iter *it)
{
    bool superseded = walk->superseded;
    pdr_str name = pdr__compat_text(walk, it->name);
    bool again = pdr_value_get(object, name) != it->value;
    size_t mark = pdr__finder_name(&walk->finder, name);
    const struct compat_member *member = find_member(table, it->name);

    walk->reader->name(walk, object, it, table);
    if (again)
        pdr__compat_tell(walk, walk->reader->duplicate, NULL);
    walk->superseded = superseded || again;
    if (again && !table->reads_all)
        pdr__compat_opaque(walk, it->value);
    else if (member != NULL)
        look_at_member(walk, member, it->value);
    else
        table->rest(walk, it->value);
    walk->superseded = superseded;
    pdr__finder_up(&walk->finder, mark);
}

void pdr__compat_members(struct compat *walk, const pdr_value *object,
                         const struct compat_table *table)
{
    pdr_iter it;

    if (!go_in(walk))
        return;
    for (size_t i = 0; i < table->count; i++) {
        const struct compat_member *member = &table->members[i];

        if (member->absent != 0 &&
            pdr_value_get_c(object, member->name) == NULL)
            pdr__compat_tell(walk, member->absent, member->name);
    }
    pdr_iter_init(&it, object);
    while (walk->rc == PDR_OK && pdr_iter_next(&it))
        visit_member(walk, object, table, &it);
    walk->level--;
}

void pdr__compat_items(struct compat *walk, const pdr_value *array,
                       compat_look look)
{
    pdr_iter it;

    if (!go_in(walk))
        return;
    pdr_iter_init(&it, array);
    while (walk->rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = pdr__finder_index(&walk->finder, it.index);

        look(walk, it.value);
        pdr__finder_up(&walk->finder, mark);
    }
    walk->level--;
}

static void opaque_member(struct compat *walk, const pdr_value *object,
                          const pdr_iter *it)
{
    bool superseded = walk->superseded;
    pdr_str name = pdr__compat_text(walk, it->name);
    bool again = walk->reader->opaque_duplicates &&
                 pdr_value_get(object, name) != it->value;
    size_t mark = pdr__finder_name(&walk->finder, name);

    walk->reader->name(walk, object, it, NULL);
    if (again && !walk->lost)
        pdr__compat_tell(walk, walk->reader->duplicate, NULL);
    walk->superseded = superseded || again;
    pdr__compat_opaque(walk, it->value);
    walk->superseded = superseded;
    pdr__finder_up(&walk->finder, mark);
}

void pdr__compat_opaque(struct compat *walk, const pdr_value *value)
{
    pdr_iter it;

    if (pdr_value_kind(value) == PDR_ARRAY) {
        pdr__compat_items(walk, value, pdr__compat_opaque);
        return;
    }
    if (pdr_value_kind(value) != PDR_OBJECT) {
        walk->reader->scalar(walk, value);
        return;
    }
    if (!go_in(walk))
        return;
    pdr_iter_init(&it, value);
    while (walk->rc == PDR_OK && pdr_iter_next(&it))
        opaque_member(walk, value, &it);
    walk->level--;
}

void pdr__compat_drop(struct compat *walk, const pdr_value *value)
{
    bool lost = walk->lost;

    walk->lost = true;
    pdr__compat_opaque(walk, value);
    walk->lost = lost;
}

/* --- checking ------------------------------------------------------------ */

/* The text was not read: that is an answer too, unless we failed. */
static void look_at_failure(struct compat *walk, pdr_str text, pdr_rc rc,
                            const pdr_err *failure)
{
    const char *too_deep = pdr__reason_slug(PDR_R_TOO_DEEP);
    char about[64];

    if (rc == PDR_ELIMIT && strcmp(failure->reason, too_deep) == 0) {
        pdr__compat_tell(walk, walk->reader->too_deep, NULL);
        return;
    }
    if (rc == PDR_EINVALID) {
        (void)snprintf(about, sizeof(about), "what begins at byte %lld",
                       (long long)failure->offset);
        walk->reader->no_json(walk, text, about);
        return;
    }
    walk->rc = rc;
    if (walk->err != NULL)
        *walk->err = *failure;
}

/* Read the text as the most tolerant of the readers does. */
static void look_at_text(struct compat *walk, pdr_str text)
{
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS,
                                .max_depth = PDR_MAX_DEPTH};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_json_read_borrowed(&value, text, &opts, &err);

    if (rc == PDR_OK)
        walk->reader->root(walk, value);
    else
        look_at_failure(walk, text, rc, &err);
    pdr_value_free(value);
}

pdr_rc pdr_state_check_reader(pdr_reader_verdict *out, pdr_str text,
                              pdr_reader reader, pdr_err *err,
                              pdr_doc_finding_fn fn, void *arg)
{
    struct compat walk = {.finder = PDR_FINDER_INIT(fn, arg),
                          .verdict = {true, true},
                          .scratch = PDR_BUF_INIT(UINT32_MAX),
                          .rc = PDR_OK,
                          .err = err};

    PDR_REQUIRE(out != NULL);
    PDR_REQUIRE(reader == PDR_READER_DOTNET || reader == PDR_READER_PYTHON);
    walk.reader =
        reader == PDR_READER_DOTNET ? &pdr__compat_dotnet : &pdr__compat_python;
    look_at_text(&walk, text);
    *out = walk.verdict;
    pdr_buf_dispose(&walk.scratch);
    pdr__finder_dispose(&walk.finder);
    return walk.rc;
}
