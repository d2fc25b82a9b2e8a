/*
 * perdure/host.h - a process and its agents, read from definition files.
 *
 *     text of a file ──► pdr_host_load() ──► agent and metadata, by name
 *
 * A definition file describes an agent in YAML: docs/formats/agent-file.md. It
 * is the form that Agent Framework uses, so that the same file serves there.
 * A host keeps what it loaded, with all that the agents need, until it is
 * freed.
 */
#ifndef PERDURE_HOST_H
#define PERDURE_HOST_H

#include <perdure/agent.h>
#include <perdure/doc.h>
#include <perdure/metadata.h>

PDR_BEGIN_DECLS

typedef struct pdr_host pdr_host;

/** @param[out] out  owned; release with pdr_host_free(). NULL on failure.
 * @return PDR_OK, PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_host_new(pdr_host **out, pdr_err *err);

/** Release it with its agents; no run may be at work. NULL is fine.
 * @thread owner @since 0.1 */
PDR_API void pdr_host_free(pdr_host *host);

/* --- definition files ----------------------------------------------------- */

/* Something about a file that does not keep it from being used: WARNING for
 * what is not as it was perhaps meant, INFO for what another loader does with
 * it. All borrowed for the call. */
typedef struct pdr_notice {
    pdr_severity severity;
    size_t line, column; /* from 1; a column is a code point */
    pdr_str text;        /* one line; never the value of a variable */
} pdr_notice;

/** Called on the caller's thread. A return other than PDR_OK ends the loading
 * with that code. */
typedef pdr_rc (*pdr_notice_fn)(const pdr_notice *notice, pdr_err *err,
                                void *arg);

/** The value of a variable that a file names as "=Env.NAME".
 * @return borrowed until the next call; NULL or "": it is not set. */
typedef const char *(*pdr_env_fn)(const char *name, void *arg);

/* What to load. All borrowed for the call, but for functions of tools and what
 * they get: those must outlive the host. */
typedef struct pdr_definition {
    pdr_str text;       /* of the file, at most 1 MiB */
    pdr_str name;       /* of the agent; empty: the one in the file */
    pdr_str id;         /* of the agent; empty: another one each time */
    const char *folder; /* in which relative paths begin, and command tools run;
                           NULL: that of the process */
    const pdr_tool *tools; /* functions of this program, by name. Parameters and
                              description count where the file has none */
    size_t tool_count;
    pdr_tool_fn command; /* runs tools of kind command: gets a pdr_command as
                            its `arg`. NULL: pdr_command_run() */
    pdr_client *client;  /* shared; for a file without a model, or with one of a
                            provider that the library does not know. NULL: such
                            files are refused */
    pdr_env_fn env;      /* NULL: getenv() */
    void *env_arg;
} pdr_definition;

/* An agent of a host. All borrowed from the host. */
typedef struct pdr_host_agent {
    pdr_str name; /* or empty */
    pdr_agent *agent;
    pdr_agent_wrapper wrapper;   /* the agent, with `metadata` of the file; no
                                    properties if it has none */
    const pdr_value *definition; /* the whole file as an object, also what is
                                    not used; "=Env.NAME" as it is written */
} pdr_host_agent;

/**
 * Build the agent that a file describes, and keep it by its name.
 *
 * @param[out] out    borrowed from `host`; NULL on failure. May be NULL.
 * @param definition  borrowed for the call.
 * @param fn          hears of notices; may be NULL.
 * @return PDR_OK; PDR_EEXISTS ("agent_exists"): the host has one of this name;
 *         PDR_EINVALID with the line and column in the message, and the offset:
 *         "bad_yaml" (also aliases, tags, a second document), "bad_utf8",
 *         "duplicate_name", "bad_definition", "literal_secret", "no_variable",
 *         as pdr_agent_new() for tools and pdr_client_openai() or
 *         pdr_client_script() for the model;
 *         PDR_ELIMIT ("too_large", "too_deep", "buffer_full" for a file that it
 *         names); PDR_ENOMEM; what `fn` returned.
 * @thread owner  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_host_load(const pdr_host_agent **out,
                                            pdr_host *host,
                                            const pdr_definition *definition,
                                            pdr_err *err, pdr_notice_fn fn,
                                            void *arg);

/* --- agents of a host ----------------------------------------------------- */

/** How many. @thread const @since 0.1 */
PDR_API size_t pdr_host_count(const pdr_host *host);

/** In the order in which they came. @return borrowed; NULL if there is none.
 * @thread const @since 0.1 */
PDR_API const pdr_host_agent *pdr_host_at(const pdr_host *host, size_t index);

/** By its name. @return borrowed; NULL if there is none. @thread const
 * @since 0.1 */
PDR_API const pdr_host_agent *pdr_host_find(const pdr_host *host, pdr_str name);

PDR_END_DECLS

#endif
