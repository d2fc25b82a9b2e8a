/*
 * request.h - what a durable agent is asked to do. See request.c.
 */
#ifndef PDR_AGENT_REQUEST_H
#define PDR_AGENT_REQUEST_H

#include "doc.h"

struct pdr__request {
    struct pdr__arena memory; /* of the texts */
    pdr_str correlation_id;   /* absent: none was given */
    pdr_str orchestration_id; /* absent: none */
    pdr_value *messages;      /* owned; an array in the state shape */
    int64_t created_at;       /* ticks; the earliest of the messages, else that
                                 of the request; 0: nobody says */
    bool is_json;             /* the answer is to be JSON */
    pdr_value *schema;        /* owned; of the answer, an object; NULL: none */
    bool no_tools;            /* the model gets no tools */
    pdr_value *tool_names;    /* owned; an array of strings; NULL: all tools */
    pdr_value *options;       /* owned; an object; NULL: none */
    bool skip_empty;          /* do not record a request without messages */
    size_t unknown;           /* members that nobody knows */
};

#define PDR_REQUEST_FINGERPRINT PDR_SHA256_BYTES

/* Read a request of the .NET edition, of the Python edition, or one that
 * pdr__request_write() wrote. Dispose *out after success. Fails with
 * INVALID_REQUEST, which has the path of the part that is wrong, with
 * NO_MEMORY, or with TOO_DEEP or another limit of a document. */
PDR_MUST_CHECK pdr_rc pdr__request_read(struct pdr__request *out, pdr_str input,
                                        pdr_err *err);
/* A second time is fine, and so is a struct of zeros. */
void pdr__request_dispose(struct pdr__request *request);

/* Append the stored form: compact JSON that pdr__request_read() takes back
 * exactly, but for the count of unknown members. Fails with NO_MEMORY, or as
 * pdr_buf_reserve(). */
PDR_MUST_CHECK pdr_rc pdr__request_write(pdr_buf *out,
                                         const struct pdr__request *request,
                                         pdr_err *err);

/* SHA-256 of what is asked: roles, contents, response format, schema, tools.
 * The same for both languages, any order of members, any white space and any
 * escapes. Times, authors, ids, options, additional properties and members of
 * contents that nobody knows play no part; the spelling of a number does. Fails
 * with NO_MEMORY or DIGEST_FAILED. */
PDR_MUST_CHECK pdr_rc
pdr__request_fingerprint(uint8_t out[PDR_REQUEST_FINGERPRINT],
                         const struct pdr__request *request, pdr_err *err);

#endif
