/*
 * migrate.c - bringing a document to another version, when asked to.
 *
 * WHY  A program that knows an older version may refuse a newer document, and a
 *      new one may want what an older document lacks. Reading never migrates:
 *      the document belongs to its writers. Whoever asks gets each step and
 *      each change told, before (dry run) or after.
 *
 * Each step leads from one version to the next and back. What the older version
 * has no place for is refused on the way back, or left out if forced. A
 * document is at a step's version if the numbers are equal; 1.0 and 1.0.0.0 are
 * 1.0.0. There is no way from a version between or beyond those of the table:
 * nobody here knows what it may hold.
 *
 * INVARIANTS
 *   M1  Nothing is told before it is sure that nothing is refused.
 *   M2  The caller's document stays as it is; what does not change is shared.
 */
#include "doc.h"

struct migration {
    struct finder finder;
    pdr_value *state; /* owned; the result so far */
    bool force;
    pdr_err *err;
};

/* --- step 1 -------------------------------------------------------------- */

#define ORCHESTRATION "orchestrationId"

/* Does a request hold an orchestration id, also one that a later member hides?
 */
static bool has_orchestration(const pdr_value *entry)
{
    pdr_iter it;

    pdr_iter_init(&it, entry);
    while (pdr_iter_next(&it)) {
        if (pdr_value_text_is(it.name, PDR_LIT(ORCHESTRATION)) &&
            pdr_value_kind(it.value) != PDR_NULL)
            return true;
    }
    return false;
}

static pdr_rc refuse_orchestration(size_t index, pdr_err *err)
{
    pdr_buf path = PDR_BUF_INIT(256);
    pdr_rc rc = PDR_FAIL(err, CANNOT_CARRY, "%s",
                         "version 1.0.0 has no place for the orchestration id "
                         "of a request; keep 1.1.0, or force it");

    if (pdr_buf_printf(&path, NULL, "/data/conversationHistory/%zu/%s", index,
                       ORCHESTRATION) == PDR_OK)
        pdr__err_path(err, pdr_buf_str(&path));
    pdr_buf_dispose(&path);
    return rc;
}

static pdr_rc check_orchestrations(const pdr_value *state, pdr_err *err)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_state_entries(state));
    while (pdr_iter_next(&it)) {
        if (pdr_entry_kind_of(it.value) == PDR_ENTRY_REQUEST &&
            has_orchestration(it.value))
            return refuse_orchestration(it.index, err);
    }
    return PDR_OK;
}

static pdr_rc tell_removed(struct migration *m, size_t index, bool full)
{
    size_t mark = pdr__finder_name(&m->finder, PDR_LIT("data"));
    pdr_rc rc = PDR_OK;

    (void)pdr__finder_name(&m->finder, PDR_LIT("conversationHistory"));
    (void)pdr__finder_index(&m->finder, index);
    (void)pdr__finder_name(&m->finder, PDR_LIT(ORCHESTRATION));
    rc = pdr__finder_tell(&m->finder, "orchestration-id-removed",
                          PDR_SEVERITY_INFO, m->err, "%s",
                          full ? "the orchestration id was left out, by force"
                               : "the member said null and was left out");
    pdr__finder_up(&m->finder, mark);
    return rc;
}

/* Take the member out of one entry of the list. */
static pdr_rc remove_orchestration(struct migration *m, pdr_value **list,
                                   const pdr_iter *it)
{
    pdr_value *entry = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_entry_kind_of(it->value) != PDR_ENTRY_REQUEST ||
        pdr_value_get_c(it->value, ORCHESTRATION) == NULL)
        return PDR_OK;
    rc = tell_removed(m, it->index, has_orchestration(it->value));
    if (rc != PDR_OK)
        return rc;
    entry = pdr_value_ref(it->value);
    rc = pdr_value_remove(&entry, PDR_LIT(ORCHESTRATION), m->err);
    if (rc == PDR_OK)
        rc = pdr_value_replace(list, it->index, entry, m->err);
    pdr_value_free(entry);
    return rc;
}

static pdr_rc remove_orchestrations(struct migration *m)
{
    const pdr_value *entries = pdr_state_entries(m->state);
    pdr_value *before = pdr_value_ref(entries), *list = pdr_value_ref(entries);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, before);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = remove_orchestration(m, &list, &it);
    if (rc == PDR_OK && list != before)
        rc = pdr_pointer_set(&m->state, PDR_LIT("/data/conversationHistory"),
                             list, m->err);
    pdr_value_free(list);
    pdr_value_free(before);
    return rc;
}

/* --- the table ----------------------------------------------------------- */

struct step {
    unsigned number;
    const char *older, *newer;          /* versions */
    const char *what_up, *what_down;    /* for the report */
    pdr_rc (*up)(struct migration *);   /* NULL: the version alone changes */
    pdr_rc (*down)(struct migration *); /* the same */
    /* Would something be left out on the way down? NULL: never. */
    pdr_rc (*check_down)(const pdr_value *state, pdr_err *err);
};

static const struct step steps[] = {
    {1, "1.0.0", "1.1.0", "requests may name the orchestration that made them",
     "requests have no place for the orchestration that made them", NULL,
     remove_orchestrations, check_orchestrations},
};

/* Place of a version in the chain of steps: 0 is the oldest. */
static bool find_version(size_t *out, const pdr_schema_version *version)
{
    pdr_schema_version known;

    for (size_t i = 0; i <= PDR_COUNT(steps); i++) {
        const char *text = i == 0 ? steps[0].older : steps[i - 1].newer;

        if (pdr_schema_version_read(&known, pdr_str_c(text), NULL) == PDR_OK &&
            pdr_schema_version_compare(&known, version) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static pdr_rc no_way(const pdr_schema_version *version, const char *direction,
                     pdr_err *err)
{
    char text[PDR_VERSION_TEXT];

    return PDR_FAIL(err, NO_MIGRATION,
                    "there is no migration %s version %s, only "
                    "between %s and %s; use a library that knows it",
                    direction, pdr__version_text(text, version), steps[0].older,
                    steps[PDR_COUNT(steps) - 1].newer);
}

/* --- running ------------------------------------------------------------- */

static pdr_rc tell_step(struct migration *m, const struct step *step, bool up)
{
    return pdr__finder_tell(&m->finder, "migration-step", PDR_SEVERITY_INFO,
                            m->err, "step %u, from %s to %s: %s", step->number,
                            up ? step->older : step->newer,
                            up ? step->newer : step->older,
                            up ? step->what_up : step->what_down);
}

static pdr_rc set_version(struct migration *m, const char *version)
{
    size_t mark = pdr__finder_name(&m->finder, PDR_LIT("schemaVersion"));
    pdr_value *text = NULL;
    pdr_rc rc = pdr__finder_tell(&m->finder, "version-set", PDR_SEVERITY_INFO,
                                 m->err, "the version is now %s", version);

    pdr__finder_up(&m->finder, mark);
    if (rc == PDR_OK)
        rc = pdr_value_new_string(&text, pdr_str_c(version), m->err);
    if (rc == PDR_OK)
        rc = pdr_value_set(&m->state, PDR_LIT("schemaVersion"), text, m->err);
    pdr_value_free(text);
    return rc;
}

static pdr_rc run_step(struct migration *m, const struct step *step, bool up)
{
    pdr_rc (*change)(struct migration *) = up ? step->up : step->down;
    pdr_rc rc = tell_step(m, step, up);

    if (rc == PDR_OK)
        rc = set_version(m, up ? step->newer : step->older);
    if (rc == PDR_OK && change != NULL)
        rc = change(m);
    return rc;
}

/* All checks of the way down, before anything is told (M1). A check looks at
 * the document as it is: no step down adds what an older one cannot carry. */
static pdr_rc check_way(const struct migration *m, size_t from, size_t to)
{
    pdr_rc rc = PDR_OK;

    for (size_t at = from; rc == PDR_OK && !m->force && at > to; at--) {
        if (steps[at - 1].check_down != NULL)
            rc = steps[at - 1].check_down(m->state, m->err);
    }
    return rc;
}

static pdr_rc run_steps(struct migration *m, size_t from, size_t to)
{
    pdr_rc rc = check_way(m, from, to);

    if (rc == PDR_OK && from == to) {
        (void)pdr__finder_name(&m->finder, PDR_LIT("schemaVersion"));
        return pdr__finder_tell(&m->finder, "migration-not-needed",
                                PDR_SEVERITY_INFO, m->err, "%s",
                                "the document has this version; nothing "
                                "changes");
    }
    for (size_t at = from; rc == PDR_OK && at < to; at++)
        rc = run_step(m, &steps[at], true);
    for (size_t at = from; rc == PDR_OK && at > to; at--)
        rc = run_step(m, &steps[at - 1], false);
    return rc;
}

/* Places of both versions in the chain. */
static pdr_rc find_way(size_t *from, size_t *to, const pdr_value *state,
                       pdr_str target, pdr_err *err)
{
    pdr_schema_version has = {{0, 0, 0, 0}, 0}, wanted = {{0, 0, 0, 0}, 0};
    pdr_rc rc = pdr_state_gate(state, err);

    if (rc == PDR_OK)
        rc = pdr_state_version(&has, state, err);
    if (rc == PDR_OK)
        rc = pdr_schema_version_read(&wanted, target, err);
    if (rc == PDR_OK && !find_version(to, &wanted))
        rc = no_way(&wanted, "to", err);
    if (rc == PDR_OK && !find_version(from, &has)) {
        rc = no_way(&has, "from", err);
        pdr__err_path(err, PDR_LIT("/schemaVersion"));
    }
    return rc;
}

pdr_rc pdr_state_migrate(pdr_value **out, const pdr_value *state, pdr_str to,
                         bool force, pdr_err *err, pdr_doc_finding_fn fn,
                         void *arg)
{
    struct migration m = {PDR_FINDER_INIT(fn, arg), NULL, force, err};
    size_t first = 0, last = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(state != NULL);
    if (out != NULL)
        *out = NULL;
    rc = find_way(&first, &last, state, to, err);
    if (rc == PDR_OK) {
        m.state = pdr_value_ref(state);
        rc = run_steps(&m, first, last);
    }
    if (rc == PDR_OK && out != NULL) {
        *out = m.state;
        m.state = NULL;
    }
    pdr_value_free(m.state);
    pdr__finder_dispose(&m.finder);
    return rc;
}
