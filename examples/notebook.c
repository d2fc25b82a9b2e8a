/*
 * notebook.c - the state of a provider, with a type of its own.
 *
 *     notebook FOLDER SESSION TEXT
 *
 * A notebook for conversations: TEXT is added to the notes of the session in
 * the file SESSION, which is made if it is not there, and all its notes are
 * printed. The notes themselves are in FOLDER, one file for each session.
 *
 * FOLDER is what a database is elsewhere: something that is opened, cannot be
 * written into a document, and is shared by all sessions. So it stays in the
 * provider. The bag of the session holds only what finds the notes again, a
 * number; run the program twice, and look into SESSION.
 */
#include <inttypes.h>
#include <perdure.h>
#include <stdio.h>
#include <stdlib.h>

#define KEY "example.notes"

/* --- the state: a page of the notebook ----------------------------------- */

/* What the bag holds for one session: {"page":3}. */
struct page {
    int64_t number;
};

static pdr_rc new_page(void **out, int64_t number, pdr_err *err)
{
    struct page *page = malloc(sizeof(*page));

    *out = page;
    if (page == NULL)
        return pdr_err_set(err, PDR_ENOMEM, "no_memory", "out of memory");
    page->number = number;
    return PDR_OK;
}

/* A document may say anything, so what comes from one is checked: a page that
 * were a file name could lead out of the folder, a number cannot. */
static pdr_rc decode_page(void **out, const pdr_value *value, pdr_err *err,
                          void *arg)
{
    const pdr_value *member = pdr_value_get_c(value, "page");
    int64_t number = 0;
    pdr_rc rc = PDR_OK;

    (void)arg;
    if (member == NULL)
        return pdr_err_set(err, PDR_EINVALID, "no_page", "there is no page");
    rc = pdr_value_int64(&number, member, err);
    if (rc == PDR_OK && number < 1)
        rc = pdr_err_set(err, PDR_EINVALID, "no_page", "pages begin with 1");
    return rc == PDR_OK ? new_page(out, number, err) : rc;
}

/* Members that another program put beside `page` are kept all the same. */
static pdr_rc encode_page(pdr_value **out, const void *object, pdr_err *err,
                          void *arg)
{
    const struct page *page = object;
    pdr_value *number = NULL;
    pdr_rc rc = pdr_value_new_int64(&number, page->number, err);

    (void)arg;
    *out = pdr_value_new_object();
    if (rc == PDR_OK)
        rc = pdr_value_set(out, pdr_str_c("page"), number, err);
    pdr_value_free(number);
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    return rc;
}

static pdr_rc copy_page(void **out, const void *object, pdr_err *err, void *arg)
{
    const struct page *page = object;

    (void)arg;
    return new_page(out, page->number, err);
}

static void free_page(void *object, void *arg)
{
    (void)arg;
    free(object);
}

static const pdr_state_type page_type = {
    .name = "example.Page",
    .decode = decode_page,
    .encode = encode_page,
    .copy = copy_page,
    .free = free_page,
};

/* --- the provider -------------------------------------------------------- */

/* One for all sessions: it holds the handle, and nothing of any session. */
struct notebook {
    const char *folder;
    pdr_provider_state *state;
};

static void page_path(char *out, size_t size, const struct notebook *notebook,
                      int64_t number)
{
    (void)snprintf(out, size, "%s/page-%" PRId64 ".txt", notebook->folder,
                   number);
}

/* The first page of the notebook that nobody has yet. */
static pdr_rc take_page(void **out, pdr_session *session, pdr_err *err,
                        void *arg)
{
    (void)session;
    for (int64_t number = 1; number < 1000000; number++) {
        char path[4096];
        FILE *file = NULL;

        page_path(path, sizeof(path), arg, number);
        file = fopen(path, "wbx"); /* fails if it is there */
        if (file != NULL) {
            fclose(file);
            return new_page(out, number, err);
        }
        file = fopen(path, "rb");
        if (file == NULL)
            return pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write %s",
                               path);
        fclose(file);
    }
    return pdr_err_set(err, PDR_ELIMIT, "full", "the notebook is full");
}

/* Add a note and print all notes of the session. */
static pdr_rc note(const struct notebook *notebook, pdr_session *session,
                   const char *text, pdr_err *err)
{
    pdr_object *object = NULL;
    const struct page *page = NULL;
    char path[4096], line[1024];
    FILE *file = NULL;
    pdr_rc rc = pdr_provider_state_get(&object, notebook->state, session, err);

    if (rc != PDR_OK)
        return rc;
    page = pdr_object_get(object);
    page_path(path, sizeof(path), notebook, page->number);
    file = fopen(path, "a+b");
    if (file == NULL || fprintf(file, "%s\n", text) < 0 || fflush(file) != 0)
        rc = pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write %s", path);
    if (rc == PDR_OK)
        rewind(file);
    while (rc == PDR_OK && fgets(line, sizeof(line), file) != NULL)
        printf("%s", line);
    if (file != NULL)
        fclose(file);
    pdr_object_free(object);
    return rc;
}

/* --- the session --------------------------------------------------------- */

static pdr_rc load(pdr_session **out, const char *path, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(64 * 1024 * 1024);
    char chunk[4096];
    size_t got = 1;
    pdr_value *document = NULL;
    pdr_rc rc = PDR_OK;
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        return pdr_session_new(out, NULL, err);
    while (rc == PDR_OK && got > 0) {
        got = fread(chunk, 1, sizeof(chunk), file);
        rc = pdr_buf_append(&text, pdr_str_n(chunk, got), err);
    }
    fclose(file);
    if (rc == PDR_OK)
        rc = pdr_json_read(&document, pdr_buf_str(&text), NULL, err);
    if (rc == PDR_OK)
        rc = pdr_session_from_value(out, document, err);
    pdr_value_free(document);
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc store(pdr_session *session, const char *path, pdr_err *err)
{
    const pdr_write_opts as_read = {.layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(64 * 1024 * 1024);
    pdr_value *document = NULL;
    pdr_rc rc = pdr_session_to_value(&document, session, err);
    FILE *file = NULL;

    if (rc == PDR_OK)
        rc = pdr_json_write(&text, document, &as_read, err);
    if (rc == PDR_OK)
        file = fopen(path, "wb");
    if (rc == PDR_OK &&
        (file == NULL || fwrite(text.ptr, 1, text.len, file) != text.len))
        rc = pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write %s", path);
    if (file != NULL && fclose(file) != 0 && rc == PDR_OK)
        rc = pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write %s", path);
    pdr_value_free(document);
    pdr_buf_dispose(&text);
    return rc;
}

/* --- the program --------------------------------------------------------- */

/* Agents take their providers as a set. It refuses two that would write over
 * each other's state. */
static pdr_rc check_set(struct notebook *notebook, pdr_err *err)
{
    const char *const keys[] = {KEY, NULL};
    const pdr_provider own = {.name = "notebook",
                              .kind = PDR_PROVIDER_CONTEXT,
                              .keys = keys,
                              .self = notebook};
    pdr_provider_set *set = NULL;
    pdr_rc rc = pdr_provider_set_new(&set, &own, 1, err);

    pdr_provider_set_free(set);
    return rc;
}

static pdr_rc run(char **args, pdr_err *err)
{
    struct notebook notebook = {args[0], NULL};
    pdr_session *session = NULL;
    pdr_rc rc = pdr_provider_state_new(&notebook.state, "notebook", KEY,
                                       &page_type, err, take_page, &notebook);

    if (rc == PDR_OK)
        rc = check_set(&notebook, err);
    if (rc == PDR_OK)
        rc = load(&session, args[1], err);
    if (rc == PDR_OK)
        rc = note(&notebook, session, args[2], err);
    if (rc == PDR_OK)
        rc = store(session, args[1], err);
    pdr_session_free(session);
    pdr_provider_state_free(notebook.state);
    return rc;
}

int main(int argc, char **argv)
{
    pdr_err err = PDR_ERR_INIT;

    if (argc != 4) {
        fprintf(stderr, "usage: notebook FOLDER SESSION TEXT\n");
        return 2;
    }
    if (run(argv + 1, &err) == PDR_OK)
        return 0;
    fprintf(stderr, "notebook: %s (%s%s%s)\n", err.message, err.reason,
            err.path[0] != '\0' ? " at " : "", err.path);
    return pdr_rc_exit_status(err.code);
}
