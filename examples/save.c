/*
 * save.c - save a session in every format, restore it, change one value.
 *
 *     save IN KEY JSON OUT
 *     save session.json prefs '{"size":14}' copy
 *
 * Reads the session IN, whoever wrote it, and saves it as OUT.json, OUT.msgpack
 * and OUT.xml. From each of these it is restored, the value of KEY in its bag
 * becomes JSON, and the program prints how the document differs from IN now: in
 * that one value. No agent is needed for any of it, and no format knows what a
 * session is.
 */
#include <perdure.h>
#include <stdio.h>

static pdr_rc read_file(pdr_buf *out, const char *path, pdr_err *err)
{
    char chunk[65536];
    size_t got = 0;
    pdr_rc rc = PDR_OK;
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        return pdr_err_set(err, PDR_ENOTFOUND, "no_file", "cannot open %s",
                           path);
    do {
        got = fread(chunk, 1, sizeof(chunk), file);
        rc = pdr_buf_append(out, pdr_str_n(chunk, got), err);
    } while (rc == PDR_OK && got > 0);
    if (rc == PDR_OK && ferror(file))
        rc = pdr_err_set(err, PDR_EIO, "cannot_read", "cannot read %s", path);
    fclose(file);
    return rc;
}

static pdr_rc write_file(const char *path, pdr_str text, pdr_err *err)
{
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(text.ptr, 1, text.len, file) == text.len;

    if (file != NULL && fclose(file) != 0)
        good = false;
    return good ? PDR_OK
                : pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write %s",
                              path);
}

/* --- a session in a file ------------------------------------------------- */

/* A session is a value, and a value has any format. */
static pdr_rc save(pdr_session *session, const pdr_codec *codec,
                   const char *path, pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(64 * 1024 * 1024);
    pdr_value *document = NULL;
    pdr_rc rc = pdr_session_to_value(&document, session, err);

    if (rc == PDR_OK)
        rc = pdr_codec_write(&bytes, codec, document, NULL, err);
    if (rc == PDR_OK)
        rc = write_file(path, pdr_buf_str(&bytes), err);
    if (rc == PDR_OK)
        printf("%s: %zu bytes\n", path, bytes.len);
    pdr_value_free(document);
    pdr_buf_dispose(&bytes);
    return rc;
}

/* It is whole as soon as it was read; there is nothing to attach. */
static pdr_rc restore(pdr_session **out, const pdr_codec *codec,
                      const char *path, pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(64 * 1024 * 1024);
    pdr_value *document = NULL;
    pdr_rc rc = read_file(&bytes, path, err);

    if (rc == PDR_OK)
        rc = pdr_codec_read(&document, codec, pdr_buf_str(&bytes), NULL, err);
    if (rc == PDR_OK)
        rc = pdr_session_from_value(out, document, err);
    pdr_value_free(document);
    pdr_buf_dispose(&bytes);
    return rc;
}

/* --- what differs -------------------------------------------------------- */

static pdr_rc print_change(const pdr_change *change, pdr_err *err, void *arg)
{
    (void)err;
    (void)arg;
    printf("  %s %.*s\n", change->kind == PDR_ADDED ? "added" : "changed",
           (int)change->pointer.len, change->pointer.ptr);
    return PDR_OK;
}

static pdr_rc print_changes(const pdr_value *before, pdr_session *session,
                            pdr_err *err)
{
    pdr_value *after = NULL;
    pdr_rc rc = pdr_session_to_value(&after, session, err);

    if (rc == PDR_OK)
        rc = pdr_value_diff(before, after, err, print_change, NULL);
    pdr_value_free(after);
    return rc;
}

/* --- the program --------------------------------------------------------- */

/* What is to be done, in one format. */
struct job {
    const pdr_codec *codec;
    const char *extension;
    const char *key;
    const pdr_value *value;
    const char *out;
};

static pdr_rc save_and_change(const struct job *job, pdr_session *session,
                              pdr_err *err)
{
    pdr_session *restored = NULL;
    pdr_value *before = NULL;
    char path[4096];
    pdr_rc rc = pdr_session_to_value(&before, session, err);

    (void)snprintf(path, sizeof(path), "%s.%s", job->out, job->extension);
    if (rc == PDR_OK)
        rc = save(session, job->codec, path, err);
    if (rc == PDR_OK)
        rc = restore(&restored, job->codec, path, err);
    if (rc == PDR_OK)
        rc = pdr_bag_set(pdr_session_bag(restored), pdr_str_c(job->key),
                         job->value, err);
    if (rc == PDR_OK)
        rc = print_changes(before, restored, err);
    pdr_session_free(restored);
    pdr_value_free(before);
    return rc;
}

static pdr_rc run(char **args, pdr_err *err)
{
    struct job jobs[] = {{pdr_json_codec(), "json", NULL, NULL, NULL},
                         {pdr_msgpack_codec(), "msgpack", NULL, NULL, NULL},
                         {pdr_xml_codec(), "xml", NULL, NULL, NULL}};
    pdr_session *session = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = restore(&session, pdr_json_codec(), args[0], err);

    if (rc == PDR_OK)
        rc = pdr_json_read(&value, pdr_str_c(args[2]), NULL, err);
    for (size_t i = 0; rc == PDR_OK && i < 3; i++) {
        jobs[i].key = args[1];
        jobs[i].value = value;
        jobs[i].out = args[3];
        rc = save_and_change(&jobs[i], session, err);
    }
    pdr_value_free(value);
    pdr_session_free(session);
    return rc;
}

int main(int argc, char **argv)
{
    pdr_err err = PDR_ERR_INIT;

    if (argc != 5) {
        fprintf(stderr, "usage: save IN KEY JSON OUT\n");
        return 2;
    }
    if (run(argv + 1, &err) == PDR_OK)
        return 0;
    fprintf(stderr, "save: %s (%s%s%s)\n", err.message, err.reason,
            err.path[0] != '\0' ? " at " : "", err.path);
    return pdr_rc_exit_status(err.code);
}
