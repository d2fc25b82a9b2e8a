/* A URI that is read gives its parameters one by one and nothing more, whatever
 * they are; and a bare file name comes back as it was. */
#include "fuzz.h"

#include "store.h"

/* The name of the first parameter that is left, owned by the caller. */
static char *first_name(const struct pdr__uri *uri)
{
    return pdr__strndup(pdr_str_n(uri->rest, strcspn(uri->rest, "=")));
}

static void take_all(struct pdr__uri *uri)
{
    size_t before = strlen(uri->rest);

    while (uri->rest[0] != '\0') {
        char *name = first_name(uri), *value = NULL;
        pdr_err err = PDR_ERR_INIT;

        MUST(name != NULL);
        MUST(pdr__uri_end(uri, NULL) == PDR_EINVALID);
        pdr_rc rc = pdr__uri_take(&value, uri, name, &err);
        MUST((value != NULL) == (rc == PDR_OK));
        MUST(rc == PDR_OK || strcmp(err.reason, "bad_uri") == 0);
        pdr__free(name);
        if (rc != PDR_OK)
            return;
        MUST(strlen(value) < before && strlen(uri->rest) < before);
        before = strlen(uri->rest);
        pdr__free(value);
    }
    MUST(pdr__uri_end(uri, NULL) == PDR_OK);
}

static void check_read(const char *text)
{
    struct pdr__uri uri = {NULL, NULL};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__uri_read(&uri, text, &err);

    if (rc == PDR_OK) {
        MUST(uri.path[0] != '\0' && strlen(uri.path) <= strlen(text));
        take_all(&uri);
    } else {
        MUST(rc == PDR_EINVALID && strcmp(err.reason, "bad_uri") == 0);
        MUST(uri.path == NULL && uri.rest == NULL);
    }
    pdr__uri_dispose(&uri);
}

static void check_find(const char *text)
{
    const pdr_store_ops *ops = NULL;
    struct pdr__uri uri = {NULL, NULL};
    char *rest = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__backend_find(&ops, &rest, text, &err);

    if (rc != PDR_OK) {
        MUST(rc == PDR_EINVALID && strcmp(err.reason, "bad_uri") == 0);
        return;
    }
    size_t scheme = strlen(ops->name);
    if (strncmp(text, ops->name, scheme) == 0 && text[scheme] == ':') {
        MUST(strcmp(text + scheme + 1, rest) == 0);
    } else {
        MUST(pdr__uri_read(&uri, rest, NULL) == PDR_OK);
        MUST(strcmp(text, uri.path) == 0 && uri.rest[0] == '\0');
    }
    pdr__uri_dispose(&uri);
    pdr__free(rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = pdr__strndup(pdr_str_n((const char *)data, size));

    MUST(text != NULL);
    check_read(text);
    check_find(text);
    pdr__free(text);
    return 0;
}
