/*
 * yaml.c - the YAML of definition files: a tree with places.
 *
 * WHY  Whoever writes a definition by hand makes mistakes, so each value keeps
 *      its line and column. And a file may come from a stranger: what YAML can
 *      do beyond a tree of texts is refused, since an alias can stand for a
 *      million values and a tag for code.
 *
 * SCALARS  Agent Framework reads YAML 1.1. There `yes` is a boolean and 1_000 a
 *      number, also where its author meant a text. Here a scalar without quotes
 *      is a text wherever a text is expected; pdr__scalar_of() decides the
 *      rest, with the booleans of 1.1 and the numbers of JSON.
 *
 * NOT HERE  What the members mean (config.c).
 */
#include "host.h"

#include <yaml.h>

#include "../value/number.h"

#define MAX_BYTES  ((size_t)1 << 20) /* a definition has some thousand */
#define MAX_NODES  50000u            /* a node has some 100 bytes */
#define MAX_LEVELS 64u /* reading recurses; schemas have some ten */

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one that is looked at */
    bool has_event;
    pdr_str text;
    struct pdr__arena *memory;
    size_t nodes;
};

/* --- places ---------------------------------------------------------------
 */

/* Put the place of a byte into a failure. */
static pdr_rc fail_at(pdr_str text, size_t offset, pdr_rc rc, pdr_err *err)
{
    size_t line = 0, column = 0;

    if (err == NULL || rc == PDR_OK || rc == PDR_ENOMEM)
        return rc;
    pdr_err_locate(&line, &column, text, (int64_t)offset);
    (void)pdr__wrap(err, rc, "line %zu, column %zu", line, column);
    pdr__err_at(err, offset);
    return rc;
}

/* Bytes of a byte order mark, which libyaml would take for an indent. */
static size_t mark_len(pdr_str text)
{
    return text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* The byte at which a character begins; libyaml counts characters. */
static size_t byte_of(pdr_str text, size_t index)
{
    size_t at = mark_len(text);

    for (; index > 0 && at < text.len; index--)
        at += pdr__utf8_len(text.ptr + at, text.ptr + text.len);
    return at;
}

pdr_rc pdr__yaml_at(pdr_str text, const struct pdr__node *node, pdr_rc rc,
                    pdr_err *err)
{
    return fail_at(text, byte_of(text, node->index), rc, err);
}

#define FAIL_HERE(r, err, reason, ...)                                  \
    fail_at((r)->text, byte_of((r)->text, (r)->event.start_mark.index), \
            PDR_FAIL((err), reason, __VA_ARGS__), (err))

/* --- events ---------------------------------------------------------------
 */

static pdr_rc fail_parser(const struct reader *r, pdr_err *err)
{
    const yaml_parser_t *p = &r->parser;

    if (p->error == YAML_MEMORY_ERROR)
        return pdr__nomem(err);
    return fail_at(r->text,
                   p->error == YAML_READER_ERROR
                       ? mark_len(r->text) + p->problem_offset
                       : byte_of(r->text, p->problem_mark.index),
                   PDR_FAIL(err, BAD_YAML, "not valid YAML: %s",
                            p->problem != NULL ? p->problem : "?"),
                   err);
}

static pdr_rc next_event(struct reader *r, pdr_err *err)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event) != 0;
    return r->has_event ? PDR_OK : fail_parser(r, err);
}

/* --- nodes ----------------------------------------------------------------
 */

/* No anchor, no tag. */
static pdr_rc check_properties(const struct reader *r, const yaml_char_t *tag,
                               const yaml_char_t *anchor, pdr_err *err)
{
    if (tag != NULL)
        return FAIL_HERE(r, err, BAD_YAML, "%s",
                         "tags are not accepted; quotes make a text of "
                         "anything");
    if (anchor != NULL)
        return FAIL_HERE(r, err, BAD_YAML, "%s",
                         "anchors and aliases are not accepted; write the "
                         "value again");
    return PDR_OK;
}

static pdr_rc check_expression(const struct reader *r,
                               const struct pdr__node *node, pdr_err *err)
{
    if (node->text.len == 0 || node->text.ptr[0] != '=' ||
        pdr__node_variable(node) != NULL)
        return PDR_OK;
    return FAIL_HERE(r, err, BAD_DEFINITION, "%s",
                     "a text that begins with '=' is an expression, and only "
                     "=Env.NAME is understood");
}

static pdr_rc node_new(struct pdr__node **out, struct reader *r, pdr_err *err)
{
    const yaml_mark_t *mark = &r->event.start_mark;
    void *room = NULL;
    pdr_rc rc = PDR_OK;

    if (++r->nodes > MAX_NODES)
        return FAIL_HERE(r, err, TOO_LARGE, "the file has more than %u values",
                         MAX_NODES);
    PDR_TRY(pdr__arena_alloc(&room, r->memory, sizeof(**out), err));
    *out = room;
    **out = (struct pdr__node){.line = mark->line + 1,
                               .column = mark->column + 1,
                               .index = mark->index};
done:
    return rc;
}

static pdr_rc read_scalar(struct pdr__node **out, struct reader *r,
                          pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (r->event.type == YAML_ALIAS_EVENT)
        return check_properties(r, NULL, r->event.data.alias.anchor, err);
    PDR_TRY(check_properties(r, r->event.data.scalar.tag,
                             r->event.data.scalar.anchor, err));
    PDR_TRY(node_new(out, r, err));
    (*out)->is_plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    (*out)->text = pdr_str_n((const char *)r->event.data.scalar.value,
                             r->event.data.scalar.length);
    if (memchr((*out)->text.ptr, '\0', (*out)->text.len) != NULL)
        return FAIL_HERE(r, err, BAD_YAML, "%s",
                         "a text may not have a NUL character");
    PDR_TRY(pdr__arena_strndup(&copy, r->memory, (*out)->text, err));
    (*out)->text.ptr = copy;
done:
    return rc;
}

/* No name twice. */
static pdr_rc check_names(const struct reader *r, const struct pdr__node *map,
                          pdr_err *err)
{
    struct pdr__map names = PDR_MAP_INIT(MAX_NODES);
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    for (const struct pdr__node *n = map->first; n != NULL; n = n->next) {
        if (pdr__map_get(NULL, &names, n->name->text)) {
            rc = pdr__yaml_at(r->text, n->name,
                              PDR_FAIL(err, DUPLICATE_NAME,
                                       "'%s' is there twice",
                                       pdr__shown(shown, n->name->text)),
                              err);
            goto done;
        }
        PDR_TRY(pdr__map_put(NULL, &names, n->name->text, NULL, err));
    }
done:
    pdr__map_dispose(&names);
    return rc;
}

static pdr_rc read_name(struct pdr__node **out, struct reader *r, pdr_err *err)
{
    if (r->event.type != YAML_SCALAR_EVENT && r->event.type != YAML_ALIAS_EVENT)
        return FAIL_HERE(r, err, BAD_YAML, "%s", "a name must be a text");
    return read_scalar(out, r, err);
}

static pdr_rc read_node(struct pdr__node **out, struct reader *r,
                        unsigned level, pdr_err *err)
{
    const bool is_map = r->event.type == YAML_MAPPING_START_EVENT;
    const yaml_event_type_t end =
        is_map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    struct pdr__node **next = NULL, *name = NULL;
    pdr_rc rc = PDR_OK;

    if (!is_map && r->event.type != YAML_SEQUENCE_START_EVENT) {
        PDR_TRY(read_scalar(out, r, err));
        return check_expression(r, *out, err);
    }
    if (level == MAX_LEVELS)
        return FAIL_HERE(r, err, TOO_DEEP, "more than %u levels", MAX_LEVELS);
    PDR_TRY(is_map
                ? check_properties(r, r->event.data.mapping_start.tag,
                                   r->event.data.mapping_start.anchor, err)
                : check_properties(r, r->event.data.sequence_start.tag,
                                   r->event.data.sequence_start.anchor, err));
    PDR_TRY(node_new(out, r, err));
    (*out)->kind = is_map ? PDR_NODE_MAP : PDR_NODE_LIST;
    next = &(*out)->first;
    PDR_TRY(next_event(r, err));
    while (r->event.type != end) {
        if (is_map) {
            PDR_TRY(read_name(&name, r, err));
            PDR_TRY(next_event(r, err));
        }
        PDR_TRY(read_node(next, r, level + 1, err));
        (*next)->name = name;
        next = &(*next)->next;
        PDR_TRY(next_event(r, err));
    }
    if (is_map)
        PDR_TRY(check_names(r, *out, err));
done:
    return rc;
}

/* --- documents ------------------------------------------------------------
 */

static pdr_rc read_document(struct pdr__node **out, struct reader *r,
                            pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(next_event(r, err)); /* the beginning of the stream */
    PDR_TRY(next_event(r, err));
    if (r->event.type == YAML_STREAM_END_EVENT)
        return FAIL_HERE(r, err, BAD_DEFINITION, "%s",
                         "there is nothing in the file");
    PDR_TRY(next_event(r, err));
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return FAIL_HERE(r, err, BAD_DEFINITION, "%s",
                         "a definition is a map: it begins with 'kind: "
                         "Prompt'");
    PDR_TRY(read_node(out, r, 0, err));
    PDR_TRY(next_event(r, err)); /* the end of the document */
    PDR_TRY(next_event(r, err));
    if (r->event.type != YAML_STREAM_END_EVENT)
        return FAIL_HERE(r, err, BAD_YAML, "%s",
                         "a second document begins; a file has one");
done:
    return rc;
}

pdr_rc pdr__yaml_read(struct pdr__node **out, struct pdr__arena *memory,
                      pdr_str text, pdr_err *err)
{
    struct reader r = {.text = text, .memory = memory};
    const size_t valid = pdr__utf8_valid_len(text), mark = mark_len(text);
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (text.len > MAX_BYTES)
        return PDR_FAIL(err, TOO_LARGE, "a definition has at most %zu bytes",
                        MAX_BYTES);
    if (valid < text.len)
        return fail_at(text, valid,
                       PDR_FAIL(err, BAD_UTF8, "%s", "this is not UTF-8"), err);
    if (yaml_parser_initialize(&r.parser) == 0)
        return pdr__nomem(err);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(
        &r.parser, (const unsigned char *)(text.len > 0 ? text.ptr + mark : ""),
        text.len - mark);
    rc = read_document(out, &r, err);
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return rc;
}

/* --- scalars --------------------------------------------------------------
 */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

/* Would YAML 1.1 make a number or a date of it? Such begin with digits, as in
 * 0x1F, 1_000, 12:30, 2026-11-18, or are .5, .inf and .nan. */
static bool is_number_elsewhere(const char *text)
{
    static const char digits[] = "0123456789_";
    const char *at = text + (*text == '-' || *text == '+');
    size_t run = 0;

    if (at[0] == '.' &&
        (strcasecmp(at + 1, "inf") == 0 || strcasecmp(at + 1, "nan") == 0))
        return true;
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'b'))
        return at[2] != '\0' &&
               at[2 + strspn(at + 2, "0123456789abcdefABCDEF_")] == '\0';
    run = strspn(at, digits);
    if (run == 4 && at[4] == '-' && at[5 + strspn(at + 5, digits)] == '-')
        return true;
    for (at += run; *at == ':'; at += run) {
        run = strspn(at + 1, digits);
        if (run++ == 0)
            return false;
    }
    if (*at == '.') {
        run += strspn(at + 1, digits);
        at += 1 + strspn(at + 1, digits);
    }
    return run > 0 && *at == '\0';
}

enum pdr__scalar pdr__scalar_of(const struct pdr__node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const truths[] = {"true", "True", "TRUE", "yes", "Yes",
                                         "YES",  "on",   "On",   "ON",  NULL};
    static const char *const lies[] = {"false", "False", "FALSE", "no",  "No",
                                       "NO",    "off",   "Off",   "OFF", NULL};
    const char *text = node->text.ptr;

    if (node->kind != PDR_NODE_SCALAR || !node->is_plain)
        return PDR_SCALAR_TEXT;
    if (is_one_of(text, nulls))
        return PDR_SCALAR_NULL;
    if (is_one_of(text, truths))
        return PDR_SCALAR_TRUE;
    if (is_one_of(text, lies))
        return PDR_SCALAR_FALSE;
    if (pdr__number_is_valid(node->text))
        return PDR_SCALAR_NUMBER;
    return is_number_elsewhere(text) ? PDR_SCALAR_OTHER : PDR_SCALAR_TEXT;
}

const char *pdr__node_variable(const struct pdr__node *node)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz_0123456789";
    const char *text = node->text.ptr;

    if (node->kind != PDR_NODE_SCALAR || strncmp(text, "=Env.", 5) != 0)
        return NULL;
    text += 5;
    return text[0] != '\0' && text[strspn(text, letters)] == '\0' ? text : NULL;
}

const struct pdr__node *pdr__node_get(const struct pdr__node *map,
                                      const char *name)
{
    if (map == NULL || map->kind != PDR_NODE_MAP)
        return NULL;
    for (const struct pdr__node *n = map->first; n != NULL; n = n->next) {
        if (strcmp(n->name->text.ptr, name) == 0)
            return pdr__scalar_of(n) != PDR_SCALAR_NULL ? n : NULL;
    }
    return NULL;
}
