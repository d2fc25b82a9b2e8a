/*
 * host.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_HOST_HOST_H
#define PDR_HOST_HOST_H

#include <perdure/host.h>

#include "agent.h"

/* --- YAML (yaml.c) ---------------------------------------------------------
 */

enum pdr__node_kind { PDR_NODE_SCALAR, PDR_NODE_LIST, PDR_NODE_MAP };

/* A value of a YAML document, with its place. In arena. */
struct pdr__node {
    enum pdr__node_kind kind;
    bool is_plain;          /* a scalar without quotes */
    size_t line, column;    /* from 1 */
    size_t index;           /* characters before it */
    pdr_str text;           /* of a scalar; a NUL follows */
    struct pdr__node *name; /* in a map: a scalar */
    struct pdr__node *first, *next;
};

/* Read one document, whose root is a map. What of YAML is refused: aliases,
 * tags, names that are not scalars or occur twice, texts that begin with "="
 * and are not "=Env.NAME". Fails with BAD_YAML, BAD_UTF8, DUPLICATE_NAME,
 * BAD_DEFINITION, TOO_LARGE, TOO_DEEP, each with its place; NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__yaml_read(struct pdr__node **out,
                                     struct pdr__arena *memory, pdr_str text,
                                     pdr_err *err);

/* Put the place of a node into a failure, `rc`, which is returned. */
pdr_rc pdr__yaml_at(pdr_str text, const struct pdr__node *node, pdr_rc rc,
                    pdr_err *err);

/* What a scalar is, if nobody knows what it should be. */
enum pdr__scalar {
    PDR_SCALAR_NULL,
    PDR_SCALAR_FALSE,
    PDR_SCALAR_TRUE,
    PDR_SCALAR_NUMBER, /* spelled as in JSON */
    PDR_SCALAR_OTHER,  /* a text here; YAML 1.1 has a number or a date */
    PDR_SCALAR_TEXT
};
enum pdr__scalar pdr__scalar_of(const struct pdr__node *node);

/* The name of the variable in "=Env.NAME"; NULL if it is not that. */
const char *pdr__node_variable(const struct pdr__node *node);

/* The member of a map; NULL if it is not there, or null, or `map` is NULL. */
const struct pdr__node *pdr__node_get(const struct pdr__node *map,
                                      const char *name);

/* --- definitions (config.c) ------------------------------------------------
 */

/* An agent of a host, with what it needs. */
struct pdr__loaded {
    struct pdr_host_agent view; /* owns what it shows */
    struct pdr__arena memory;   /* of its texts and commands */
};

void pdr__loaded_dispose(struct pdr__loaded *loaded);
/* Fails as pdr_host_load(), but for AGENT_EXISTS. */
PDR_MUST_CHECK pdr_rc pdr__definition_load(struct pdr__loaded *out,
                                           const pdr_definition *definition,
                                           pdr_err *err, pdr_notice_fn fn,
                                           void *arg);

/* One definition that is being read. */
struct pdr__load {
    const pdr_definition *from;
    struct pdr__arena *memory;
    pdr_notice_fn fn;
    void *arg;
    bool is_shown;   /* what is read now may show up in an error */
    pdr_tool *tools; /* owned, with their parameters */
    size_t tool_count, tool_cap;
};

/* Fail with a reason of reasons.h, at a node. */
#define PDR_FAIL_NODE(load, node, err, reason, ...) \
    pdr__yaml_at((load)->from->text, (node),        \
                 PDR_FAIL((err), reason, __VA_ARGS__), (err))

/* Tell the caller about a node: "'its text': what". Fails as its function. */
PDR_MUST_CHECK pdr_rc pdr__load_notice(const struct pdr__load *load,
                                       const struct pdr__node *node,
                                       pdr_severity severity, const char *what,
                                       pdr_err *err);

/* What is done with a member, here and by the Python loader. */
enum pdr__use {
    PDR_USE_BOTH,    /* used by both */
    PDR_USE_OURS,    /* refused there */
    PDR_USE_HERE,    /* ignored there */
    PDR_USE_NOBODY,  /* ignored by both */
    PDR_USE_THERE,   /* ignored here */
    PDR_USE_UNKNOWN, /* ignored here, refused there */
    PDR_USE_REFUSED, /* refused here: a typing error would do harm */
};

struct pdr__member {
    const char *name; /* NULL: the last row, for all other names */
    enum pdr__use use;
};

/* Tell of the members that are not used everywhere. Fails with BAD_DEFINITION
 * for one that is refused. */
PDR_MUST_CHECK pdr_rc pdr__load_members(const struct pdr__load *load,
                                        const struct pdr__node *map,
                                        const struct pdr__member *known,
                                        pdr_err *err);
/* A member that is a map or a list; NULL if it is not there. */
PDR_MUST_CHECK pdr_rc pdr__load_kind(const struct pdr__node **out,
                                     const struct pdr__load *load,
                                     const struct pdr__node *map,
                                     const char *name, enum pdr__node_kind kind,
                                     pdr_err *err);
/* The text of a scalar, with a final NUL; a variable is looked up, its value is
 * in arena. Fails with BAD_DEFINITION, NO_VARIABLE. */
PDR_MUST_CHECK pdr_rc pdr__load_text(pdr_str *out, const struct pdr__load *load,
                                     const struct pdr__node *node,
                                     pdr_err *err);
/* The same of a member; "" if it is not there. What is shown to people may not
 * come from a variable. */
enum pdr__source { PDR_WRITTEN, PDR_WRITTEN_OR_VARIABLE };
PDR_MUST_CHECK pdr_rc pdr__load_member(pdr_str *out,
                                       const struct pdr__load *load,
                                       const struct pdr__node *map,
                                       const char *name,
                                       enum pdr__source source, pdr_err *err);
/* A path, in arena, that begins in the folder of the definition. */
PDR_MUST_CHECK pdr_rc pdr__load_path(const char **out,
                                     const struct pdr__load *load,
                                     const struct pdr__node *node,
                                     pdr_err *err);
/* Build a value of a node: as it is written if `load` is NULL, else with
 * variables looked up, unless it is shown. Fails as pdr__load_text(). */
PDR_MUST_CHECK pdr_rc pdr__load_value(pdr_builder *to,
                                      const struct pdr__load *load,
                                      const struct pdr__node *node,
                                      pdr_err *err);

/* --- parts (config_model.c, config_schema.c, config_tools.c) ---------------
 * Each fails with BAD_DEFINITION, or as what it makes.
 */

/* The client for a model, owned. `model` may be NULL; `root` is the whole. */
PDR_MUST_CHECK pdr_rc pdr__load_client(pdr_client **out,
                                       const struct pdr__load *load,
                                       const struct pdr__node *model,
                                       const struct pdr__node *root,
                                       pdr_err *err);
/* Options of the model as members of a request, owned. */
PDR_MUST_CHECK pdr_rc pdr__load_options(pdr_value **out,
                                        const struct pdr__load *load,
                                        const struct pdr__node *options,
                                        pdr_err *err);
/* A JSON Schema, owned, of any form that files have. */
PDR_MUST_CHECK pdr_rc pdr__load_schema(pdr_value **out,
                                       const struct pdr__load *load,
                                       const struct pdr__node *node,
                                       pdr_err *err);
/* Add the tools of a list to `load`. */
PDR_MUST_CHECK pdr_rc pdr__load_tools(struct pdr__load *load,
                                      const struct pdr__node *list,
                                      pdr_err *err);

#endif
