/*
 * tool.c - tools: checked when the agent is built, and before each call.
 *
 * WHY  A model writes the name and the arguments of a call, and it may write
 *      anything. So arguments are checked against the schema of the tool before
 *      its code sees them. Whatever goes wrong is told to the model as the
 *      result of its call: it can do better, a caller cannot.
 *
 *      call ─► tool? ─► arguments? ─► schema? ─► fn ─► result
 *                └────────┴─────────────┴──────────┴─► "Error: ..."
 */
#include "journal.h"

#include <perdure/json.h>

#define MAX_TOOL_NAME 64 /* what model servers take */

static bool name_is_good(const char *name)
{
    size_t len = name != NULL ? strlen(name) : 0;

    return len > 0 && len <= MAX_TOOL_NAME &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789_-") == len;
}

pdr_rc pdr__tool_init(struct pdr__tool *out, const pdr_tool *parts,
                      pdr_err *err)
{
    const pdr_schema_options lenient = {.lenient = true};
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    if (!name_is_good(parts->name))
        return PDR_FAIL(
            err, BAD_TOOL,
            "the name of a tool has 1 to %d letters, digits, '_' "
            "and '-'; this is '%s'",
            MAX_TOOL_NAME,
            pdr__shown(shown,
                       pdr_str_c(parts->name != NULL ? parts->name : "")));
    if (parts->parameters != NULL) {
        rc = pdr_schema_new(&out->schema, parts->parameters, &lenient, err);
        if (rc != PDR_OK)
            return pdr__wrap(err, rc, "the parameters of tool '%s'",
                             parts->name);
        out->parameters = pdr_value_ref(parts->parameters);
    }
    out->needs_approval = parts->needs_approval;
    out->is_repeatable = parts->is_repeatable;
    out->fn = parts->fn;
    out->arg = parts->arg;
    out->name = pdr__strdup(parts->name);
    if (parts->description != NULL)
        out->description = pdr__strdup(parts->description);
    if (out->name == NULL ||
        (parts->description != NULL && out->description == NULL)) {
        pdr__tool_dispose(out);
        return pdr__nomem(err);
    }
    return PDR_OK;
}

void pdr__tool_dispose(struct pdr__tool *tool)
{
    pdr__free(tool->name);
    pdr__free(tool->description);
    pdr_schema_free(tool->schema);
    pdr_value_free(tool->parameters);
    memset(tool, 0, sizeof(*tool));
}

/* A pdr_schema_finding_fn: keep the first one as a line. */
static pdr_rc note_finding(const pdr_schema_finding *finding, pdr_err *err,
                           void *arg)
{
    pdr_buf *line = arg;
    pdr_rc rc = PDR_OK;

    if (line->len > 0)
        return PDR_OK;
    if (finding->instance.len > 0)
        PDR_TRY(pdr_buf_printf(line, err,
                               "at '%.*s': ", (int)finding->instance.len,
                               finding->instance.ptr));
    rc = pdr_buf_append(line, finding->text, err);
done:
    return rc;
}

/* The arguments of a call as an object; NULL, and what is wrong in `line`, if
 * they cannot be used. */
static pdr_rc read_arguments(pdr_value **out, pdr_buf *line,
                             const struct pdr__tool *tool,
                             const pdr_value *call, pdr_shape shape,
                             pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_err why = PDR_ERR_INIT;
    bool valid = true;
    pdr_rc rc = pdr_content_arguments(&text, call, shape, &why);

    *out = NULL;
    if (rc == PDR_OK && text.len == 0)
        rc = pdr_buf_append(&text, PDR_LIT("{}"), &why);
    if (rc == PDR_OK)
        rc = pdr_json_read(out, pdr_buf_str(&text), NULL, &why);
    if (rc == PDR_ENOMEM) {
        rc = pdr__err_pass(err, &why);
        goto done;
    }
    if (rc != PDR_OK || pdr_value_kind(*out) != PDR_OBJECT) {
        valid = false;
        rc = pdr_buf_append(line,
                            rc != PDR_OK ? pdr_str_c(why.message)
                                         : PDR_LIT("they are not an object"),
                            err);
    } else if (tool->schema != NULL) {
        PDR_TRY(pdr_schema_check(&valid, tool->schema, *out, err, note_finding,
                                 line));
    }
    if (!valid) {
        pdr_value_free(*out);
        *out = NULL;
    }
done:
    pdr_buf_dispose(&text);
    return rc;
}

pdr_rc pdr__tool_takes(bool *out, const struct pdr__tool *tool,
                       const pdr_value *call, pdr_shape shape, pdr_err *err)
{
    pdr_buf line = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *arguments = NULL;
    pdr_rc rc = read_arguments(&arguments, &line, tool, call, shape, err);

    *out = arguments != NULL;
    pdr_value_free(arguments);
    pdr_buf_dispose(&line);
    return rc;
}

/* What the tool gives, or else the line that the model gets to hear. Fails as
 * a tool that ends the run. */
static pdr_rc call_tool(pdr_value **out, pdr_buf *line,
                        const struct pdr__tool *tool,
                        const pdr_tool_call *about, const struct pdr__run *w,
                        pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = tool->fn(out, about, &why, tool->arg);

    if (rc == PDR_OK && *out != NULL &&
        pdr__levels(*out) > PDR_MAX_RESULT_LEVELS)
        rc = PDR_FAIL(&why, TOO_DEEP, "the result has more than %u levels",
                      PDR_MAX_RESULT_LEVELS);
    if (rc == PDR_ENOMEM || rc == PDR_ECANCELLED) {
        why.code = rc; /* it may not have said why */
        return pdr__err_pass(err, &why);
    }
    if (rc == PDR_OK)
        return *out != NULL
                   ? PDR_OK
                   : pdr_buf_append(
                         line, PDR_LIT("Success: Function completed."), err);
    if (!w->agent->tells_errors || why.message[0] == '\0')
        return pdr_buf_append(line, PDR_LIT("Error: Function failed."), err);
    return pdr_buf_printf(line, err, "Error: Function failed. Exception: %s",
                          why.message);
}

/* What the model gets to hear of a call. */
static pdr_rc run_tool(struct pdr__job *job, pdr_value **out, pdr_str name,
                       pdr_str call_id, struct pdr__run *w, pdr_err *err)
{
    pdr_buf line = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf what = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf token = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_tool_call about = {.name = name,
                           .call_id = call_id,
                           .session = w->session,
                           .cancel = w->cancel};
    pdr_value *arguments = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (job->tool == NULL || job->tool->fn == NULL) {
        PDR_TRY(pdr_buf_printf(&line, err,
                               "Error: Requested function \"%.*s\" not found.",
                               (int)name.len, name.ptr));
    } else {
        PDR_TRY(read_arguments(&arguments, &what, job->tool, job->call,
                               w->shape, err));
        if (arguments == NULL)
            PDR_TRY(pdr_buf_printf(&line, err,
                                   "Error: Argument parsing failed. %.*s",
                                   (int)what.len, what.ptr));
    }
    if (arguments != NULL) {
        about.arguments = arguments;
        if (w->journal != NULL)
            PDR_TRY(pdr__journal_token(&token, w, job, call_id, err));
        about.token = pdr_buf_str(&token);
        PDR_TRY(call_tool(out, &line, job->tool, &about, w, err));
    }
    job->failed = line.len >= 6 && memcmp(line.ptr, "Error:", 6) == 0;
    if (line.len > 0) {
        pdr_value_free(*out);
        *out = NULL;
        PDR_TRY(pdr_value_new_string(out, pdr_buf_str(&line), err));
    }
done:
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    pdr_value_free(arguments);
    pdr_buf_dispose(&token);
    pdr_buf_dispose(&what);
    pdr_buf_dispose(&line);
    return rc;
}

pdr_rc pdr__tool_call(struct pdr__job *job, struct pdr__run *w, pdr_err *err)
{
    const pdr_value *id =
        pdr_content_get(job->call, w->shape, PDR_FIELD_CALL_ID);
    const pdr_value *name =
        pdr_content_get(job->call, w->shape, PDR_FIELD_NAME);
    pdr_buf id_room = PDR_BUF_INIT(SIZE_MAX),
            name_room = PDR_BUF_INIT(SIZE_MAX);
    pdr_str id_text = PDR_LIT(""), name_text = PDR_LIT("");
    pdr_value *result = NULL;
    pdr_rc rc = PDR_OK;

    if (id != NULL)
        PDR_TRY(pdr__value_sound_text(&id_text, id, &id_room, err));
    if (name != NULL)
        PDR_TRY(pdr__value_sound_text(&name_text, name, &name_room, err));
    PDR_TRY(run_tool(job, &result, name_text, id_text, w, err));
    PDR_TRY(
        pdr_content_new_result(&job->result, w->shape, id_text, result, err));
done:
    pdr_value_free(result);
    pdr_buf_dispose(&name_room);
    pdr_buf_dispose(&id_room);
    return rc;
}
