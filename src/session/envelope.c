/*
 * envelope.c - what stands in the file of one session.
 *
 *     {"type":"session","session_id":…,"service_session_id":…,"state":{…},
 *      "version":"1.0"}
 *
 * WHY  The file store of the Python edition writes these five members, as JSON
 *      or as one map of MessagePack, and refuses a file that lacks one of the
 *      first four. It ignores other members and loses them; we keep them.
 *
 * The file is shared, so nothing of ours goes in: the member `perdure`, in
 * which a conversion keeps what the Python shape has no room for, is left out.
 *
 * NOT HERE  Files (folder.c), and what a session is (session.c).
 */
#include <string.h>

#include <perdure/json.h>
#include <perdure/msgpack.h>

#include "folder.h"

#define VERSION "1.0"

/* --- reading ------------------------------------------------------------- */

bool pdr__is_no_document(const pdr_err *err, pdr_folder_format format)
{
    static const enum pdr__reason both[] = {
        PDR_R_EMPTY_INPUT, PDR_R_UNEXPECTED_END, PDR_R_TRAILING_DATA,
        PDR_R_RESERVED_BYTE};
    static const enum pdr__reason json[] = {
        PDR_R_BYTE_ORDER_MARK,   PDR_R_UTF16_INPUT, PDR_R_UNEXPECTED_BYTE,
        PDR_R_MISSING_SEPARATOR, PDR_R_BAD_ESCAPE,  PDR_R_CONTROL_IN_STRING,
        PDR_R_BAD_NUMBER};

    for (size_t i = 0; i < PDR_COUNT(both); i++)
        if (strcmp(err->reason, pdr__reason_slug(both[i])) == 0)
            return true;
    /* In MessagePack the latter speak of a value inside an extension. */
    for (size_t i = 0; format == PDR_FOLDER_JSON && i < PDR_COUNT(json); i++)
        if (strcmp(err->reason, pdr__reason_slug(json[i])) == 0)
            return true;
    return false;
}

pdr_rc pdr__envelope_read(pdr_value **out, pdr_buf *bytes,
                          pdr_folder_format format, pdr_err *err)
{
    pdr_read_opts opts = {0};

    opts.flags = PDR_BARE_TOKENS;
    if (format == PDR_FOLDER_JSON)
        return pdr_json_read_take(out, bytes, &opts, err);
    return pdr_codec_read(out, pdr_msgpack_codec(), pdr_buf_str(bytes), &opts,
                          err);
}

static pdr_rc fail_member(pdr_err *err, const char *path, const char *needed,
                          const pdr_value *found)
{
    pdr_rc rc = PDR_FAIL(
        err, ENVELOPE,
        "this is no session of the Python edition: %s must be %s, and is %s",
        path[0] != '\0' ? path + 1 : "the document", needed,
        found != NULL ? pdr__kind_phrase(found) : "missing");

    pdr__err_path(err, pdr_str_c(path));
    return rc;
}

static bool has_kind(const pdr_value *value, pdr_kind kind)
{
    return value != NULL && pdr_value_kind(value) == kind;
}

/* The gate: 1.0, or another minor version. Absent is fine. */
static pdr_rc check_version(const pdr_value *root, pdr_err *err)
{
    const pdr_value *member = pdr_value_get_c(root, "version");
    char scratch[PDR_SHORT_TEXT], shown[PDR_SHOWN];
    pdr_schema_version version = {0};
    pdr_str text = {0};
    pdr_rc rc = PDR_OK;

    if (member == NULL)
        return PDR_OK;
    if (pdr_value_kind(member) != PDR_STRING)
        return fail_member(err, "/version", "a string", member);
    if (pdr__short_text(&text, scratch, member) &&
        pdr_schema_version_read(&version, text, NULL) == PDR_OK &&
        version.parts[0] == 1)
        return PDR_OK;
    rc = PDR_FAIL(err, SESSION_VERSION,
                  "the session has version '%s', and this library reads 1.x: "
                  "use a newer one",
                  pdr__shown(shown, text));
    pdr__err_path(err, PDR_LIT("/version"));
    return rc;
}

/* `whole`: nothing may be missing. */
static pdr_rc check_members(const pdr_value *root, bool whole, pdr_err *err)
{
    const pdr_value *type = NULL, *service = NULL, *state = NULL;

    if (pdr_value_kind(root) != PDR_OBJECT)
        return fail_member(err, "", "an object", root);
    type = pdr_value_get_c(root, "type");
    if (type != NULL ? !pdr_value_text_is(type, PDR_LIT("session")) : whole)
        return fail_member(err, "/type", "the text \"session\"", type);
    if (!has_kind(pdr_value_get_c(root, "session_id"), PDR_STRING))
        return fail_member(err, "/session_id", "a string",
                           pdr_value_get_c(root, "session_id"));
    service = pdr_value_get_c(root, "service_session_id");
    if (service != NULL
            ? !has_kind(service, PDR_NULL) && !has_kind(service, PDR_STRING) &&
                  !has_kind(service, PDR_OBJECT)
            : whole)
        return fail_member(err, "/service_session_id",
                           "null, a string or an object", service);
    state = pdr_value_get_c(root, "state");
    if (state != NULL ? !has_kind(state, PDR_OBJECT) : whole)
        return fail_member(err, "/state", "an object", state);
    return check_version(root, err);
}

pdr_rc pdr__envelope_check(const pdr_value *root, pdr_err *err)
{
    return check_members(root, true, err);
}

/* --- telling ------------------------------------------------------------- */

static bool is_bare(const pdr_value *v)
{
    return node_kind(v) == NODE_NUMBER && (v->info & NODE_FLAG) != 0;
}

static pdr_rc tell_bare(struct finder *finder, const pdr_value *value,
                        pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    if (is_bare(value))
        return pdr__finder_tell(
            finder, "bare-token", PDR_SEVERITY_WARNING, err,
            "this number has no JSON form: it is kept, but a changed session "
            "with it cannot be saved");
    pdr_iter_init(&it, value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        pdr_str name = {0};
        size_t mark = 0;
        if (it.name != NULL)
            rc = pdr__value_name_bytes(&name, it.name, &scratch, err);
        if (rc != PDR_OK)
            break;
        mark = it.name != NULL ? pdr__finder_name(finder, name)
                               : pdr__finder_index(finder, it.index);
        rc = tell_bare(finder, it.value, err);
        pdr__finder_up(finder, mark);
    }
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc tell_surrogate(const pdr_finding *finding, pdr_err *err,
                             void *arg)
{
    static const char text[] =
        "half of a surrogate pair: it is kept, but Python programs refuse the "
        "whole file";
    const struct finder *finder = arg;
    pdr_doc_finding told = {"lone-surrogate", PDR_SEVERITY_WARNING,
                            finding->pointer, PDR_LIT(text)};

    if (finding->kind != PDR_FOUND_LONE_SURROGATE)
        return PDR_OK;
    return finder->fn(&told, err, finder->arg);
}

static pdr_rc tell_version(struct finder *finder, const pdr_value *root,
                           pdr_err *err)
{
    const pdr_value *version = pdr_value_get_c(root, "version");
    size_t mark = 0;
    pdr_rc rc = PDR_OK;

    if (version == NULL || pdr_value_text_is(version, PDR_LIT(VERSION)))
        return PDR_OK;
    mark = pdr__finder_name(finder, PDR_LIT("version"));
    rc = pdr__finder_tell(finder, "newer-version", PDR_SEVERITY_INFO, err,
                          "another minor version than " VERSION
                          ": what it brought is kept, and Python programs of "
                          "today refuse the file");
    pdr__finder_up(finder, mark);
    return rc;
}

pdr_rc pdr__envelope_tell(struct finder *finder, const pdr_value *root,
                          pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (finder->fn == NULL)
        return PDR_OK;
    rc = tell_version(finder, root, err);
    if (rc == PDR_OK && node_block(root)->has_bare)
        rc = tell_bare(finder, root, err);
    if (rc == PDR_OK)
        rc = pdr_value_inspect(root, err, tell_surrogate, finder);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

static pdr_rc add(pdr_value **io, bool *changed, const char *name,
                  const pdr_value *value, pdr_err *err)
{
    if (pdr_value_get_c(*io, name) != NULL)
        return PDR_OK;
    *changed = true;
    return pdr_value_set(io, pdr_str_c(name), value, err);
}

static pdr_rc add_text(pdr_value **io, bool *changed, const char *name,
                       pdr_str text, pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_value_new_string(&value, text, err);

    if (rc == PDR_OK)
        rc = add(io, changed, name, value, err);
    pdr_value_free(value);
    return rc;
}

pdr_rc pdr__envelope_complete(pdr_value **io, bool *changed, pdr_err *err)
{
    pdr_value *null = pdr_value_new_null(), *empty = pdr_value_new_object();
    pdr_rc rc = check_members(*io, false, err);

    *changed = false;
    if (rc == PDR_OK && pdr_value_get_c(*io, "perdure") != NULL) {
        *changed = true;
        rc = pdr_value_remove(io, PDR_LIT("perdure"), err);
    }
    if (rc == PDR_OK)
        rc = add_text(io, changed, "type", PDR_LIT("session"), err);
    if (rc == PDR_OK)
        rc = add(io, changed, "service_session_id", null, err);
    if (rc == PDR_OK)
        rc = add(io, changed, "state", empty, err);
    if (rc == PDR_OK)
        rc = add_text(io, changed, "version", PDR_LIT(VERSION), err);
    pdr_value_free(null);
    pdr_value_free(empty);
    return rc;
}

pdr_rc pdr__envelope_write(pdr_buf *out, const pdr_value *root,
                           pdr_folder_format format, unsigned flags,
                           pdr_err *err)
{
    pdr_write_opts opts = {flags, PDR_COMPACT, 0, NULL};

    if (format == PDR_FOLDER_JSON) {
        opts.layout = PDR_AS_READ;
        return pdr_json_write(out, root, &opts, err);
    }
    opts.flags |= PDR_EXCHANGE;
    return pdr_codec_write(out, pdr_msgpack_codec(), root, &opts, err);
}
