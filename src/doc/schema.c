/*
 * schema.c - the one place that decides which versions of a document we read.
 *
 * WHY  A document of another major version means something else by the same
 *      names. Reading it as if it were ours would work for a while and then
 *      lose a session. So: same major, read it and keep what is new in it;
 *      any other, no version at all, or something that only looks like one,
 *      refuse it and touch nothing.
 *
 * A version is two to four numbers below 2^31 with points between them, digits
 * only. .NET also takes blanks and a plus sign around a number; nobody writes
 * them, and we do not guess.
 */
#include <stdio.h>

#include "doc.h"

#define READ_MAJOR 1u

const pdr_schema_version pdr__version_orchestration = {{1, 1, 0, 0}, 3};

static pdr_rc bad_version(pdr_str text, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, SCHEMA_VERSION_INVALID,
                    "'%s' is no version: it has two to four numbers with "
                    "points between them, as in 1.1.0",
                    pdr__shown(shown, text));
}

/* One number at *at. */
static bool read_part(uint32_t *out, pdr_str text, size_t *at)
{
    uint64_t number = 0;
    size_t first = *at;

    while (*at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9') {
        number = number * 10 + (uint64_t)(text.ptr[*at] - '0');
        if (number > INT32_MAX)
            return false;
        (*at)++;
    }
    *out = (uint32_t)number;
    return *at > first;
}

pdr_rc pdr_schema_version_read(pdr_schema_version *out, pdr_str text,
                               pdr_err *err)
{
    pdr_schema_version version = {{0, 0, 0, 0}, 0};
    size_t at = 0;

    PDR_REQUIRE(out != NULL);
    while (version.count < PDR_COUNT(version.parts)) {
        if (!read_part(&version.parts[version.count], text, &at))
            return bad_version(text, err);
        version.count++;
        if (at == text.len || text.ptr[at] != '.')
            break;
        at++;
    }
    if (at < text.len || version.count < 2)
        return bad_version(text, err);
    if (text.ptr[text.len - 1] == '.')
        return bad_version(text, err);
    *out = version;
    return PDR_OK;
}

const char *pdr__version_text(char out[PDR_VERSION_TEXT],
                              const pdr_schema_version *version)
{
    int len = 0;

    for (unsigned i = 0; i < version->count; i++)
        len += snprintf(out + len, PDR_VERSION_TEXT - (size_t)len, "%s%u",
                        i > 0 ? "." : "", (unsigned)version->parts[i]);
    return out;
}

int pdr_schema_version_compare(const pdr_schema_version *a,
                               const pdr_schema_version *b)
{
    for (size_t i = 0; i < PDR_COUNT(a->parts); i++) {
        if (a->parts[i] != b->parts[i])
            return a->parts[i] < b->parts[i] ? -1 : 1;
    }
    return 0;
}

static pdr_rc read_version(pdr_schema_version *out, const pdr_value *state,
                           pdr_err *err)
{
    char scratch[PDR_SHORT_TEXT];
    const pdr_value *version = NULL;
    pdr_str text = {NULL, 0};

    if (pdr_value_kind(state) != PDR_OBJECT)
        return PDR_FAIL(err, STATE_NOT_JSON,
                        "a state document is an object, this is %s; see "
                        "whether it is a session or another document",
                        pdr__kind_phrase(state));
    version = pdr_value_get_c(state, "schemaVersion");
    if (version == NULL)
        return PDR_FAIL(err, SCHEMA_VERSION_MISSING, "%s",
                        "no member schemaVersion: without it nobody can tell "
                        "how to read the document; add it if you know");
    if (pdr_value_kind(version) != PDR_STRING)
        return PDR_FAIL(err, SCHEMA_VERSION_INVALID,
                        "the version is %s, not a string such as \"1.1.0\"",
                        pdr__kind_phrase(version));
    if (pdr_value_text_is(version, PDR_LIT(PDR_STATE_VERSION))) {
        *out = pdr__version_orchestration; /* nearly always: no need to parse */
        return PDR_OK;
    }
    if (!pdr__short_text(&text, scratch, version))
        return PDR_FAIL(err, SCHEMA_VERSION_INVALID, "%s",
                        "the version is a text that no version can be; it "
                        "must be like \"1.1.0\"");
    return pdr_schema_version_read(out, text, err);
}

pdr_rc pdr_state_version(pdr_schema_version *out, const pdr_value *state,
                         pdr_err *err)
{
    char text[PDR_VERSION_TEXT];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && state != NULL);
    rc = read_version(out, state, err);
    if (rc == PDR_OK && out->parts[0] != READ_MAJOR)
        rc = PDR_FAIL(err, SCHEMA_VERSION_UNSUPPORTED,
                      "version %s is of another major than %u, which this "
                      "library reads; the document is as it was",
                      pdr__version_text(text, out), READ_MAJOR);
    if (rc != PDR_OK && pdr_value_get_c(state, "schemaVersion") != NULL)
        pdr__err_path(err, PDR_LIT("/schemaVersion"));
    return rc;
}

pdr_rc pdr__state_gate(pdr_schema_version *version, const pdr_value **data,
                       const pdr_value *value, pdr_err *err)
{
    pdr_rc rc = pdr_state_version(version, value, err);

    if (rc != PDR_OK)
        return rc;
    *data = pdr_value_get_c(value, "data");
    if (*data == NULL)
        return PDR_FAIL(err, DATA_MISSING, "%s",
                        "no member data: the conversation is missing; a new "
                        "document has \"data\":{\"conversationHistory\":[]}");
    if (pdr_value_kind(*data) == PDR_OBJECT)
        return PDR_OK;
    if (pdr_value_kind(*data) == PDR_NULL) {
        *data = NULL;
        return PDR_OK;
    }
    rc = PDR_FAIL(err, DATA_INVALID,
                  "the member data is %s; it must be an object or null",
                  pdr__kind_phrase(*data));
    pdr__err_path(err, PDR_LIT("/data"));
    return rc;
}

pdr_rc pdr_state_gate(const pdr_value *value, pdr_err *err)
{
    pdr_schema_version version;
    const pdr_value *data = NULL;

    PDR_REQUIRE(value != NULL);
    return pdr__state_gate(&version, &data, value, err);
}
