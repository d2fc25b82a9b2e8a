/*
 * edit.c - add an entry to a durable agent's document, and touch nothing else.
 *
 *     edit IN OUT TEXT
 *
 * Reads the document IN, appends a request with TEXT to its conversation and
 * writes the result to OUT. What was there stays as it was, byte for byte:
 * members that this program never heard of, the spelling of numbers, even the
 * white space.
 */
#include <perdure.h>
#include <stdio.h>
#include <stdlib.h>

#define HISTORY "/data/conversationHistory"

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

static void add_text(pdr_builder *to, const char *name, const char *text)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, pdr_str_c(text));
}

/* A request entry with one message of the user. A builder remembers its first
 * failure, so only the end has to be checked. */
static pdr_rc build_request(pdr_value **out, const char *text, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_rc rc = pdr_builder_new(&to, err);

    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    add_text(to, "$type", "request");
    add_text(to, "correlationId", "example-1");
    add_text(to, "createdAt", "2026-05-06T07:00:00+00:00");
    pdr_builder_name(to, pdr_str_c("messages"));
    pdr_builder_array(to);
    pdr_builder_object(to);
    add_text(to, "role", "user");
    pdr_builder_name(to, pdr_str_c("contents"));
    pdr_builder_array(to);
    pdr_builder_object(to);
    add_text(to, "$type", "text");
    add_text(to, "text", text);
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_end(to);
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

static pdr_rc edit(const char *in, const char *out, const char *text,
                   pdr_err *err)
{
    const pdr_write_opts as_read = {.layout = PDR_AS_READ};
    pdr_buf bytes = PDR_BUF_INIT(64 * 1024 * 1024);
    pdr_value *document = NULL, *entry = NULL;
    pdr_rc rc = read_file(&bytes, in, err);

    if (rc == PDR_OK)
        rc = pdr_json_read_take(&document, &bytes, NULL, err);
    if (rc == PDR_OK)
        rc = build_request(&entry, text, err);
    if (rc == PDR_OK) /* "-" stands for the place behind the last element */
        rc = pdr_pointer_set(&document, pdr_str_c(HISTORY "/-"), entry, err);
    if (rc == PDR_OK)
        rc = pdr_json_write(&bytes, document, &as_read, err);
    if (rc == PDR_OK)
        rc = write_file(out, pdr_buf_str(&bytes), err);
    pdr_value_free(entry);
    pdr_value_free(document);
    pdr_buf_dispose(&bytes);
    return rc;
}

int main(int argc, char **argv)
{
    pdr_err err = PDR_ERR_INIT;

    if (argc != 4) {
        fprintf(stderr, "usage: edit IN OUT TEXT\n");
        return 2;
    }
    if (edit(argv[1], argv[2], argv[3], &err) == PDR_OK)
        return 0;
    fprintf(stderr, "edit: %s (%s at byte %lld%s%s)\n", err.message, err.reason,
            (long long)err.offset, err.path[0] != '\0' ? ", " : "", err.path);
    return pdr_rc_exit_status(err.code);
}
