/*
 * archive.c - documents into a store and out of it.
 *
 *     archive STORE in [ID] < DOCUMENT
 *     archive STORE out ID > DOCUMENT
 *
 * Takes a session, a session with metadata or a durable state document from
 * standard input, of any length, and makes a session in the store of it; or
 * writes one as it is now. What nobody changed comes out as the bytes that came
 * in. Kill it at any moment: the session is there as a whole, or not at all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <perdure.h>

static int64_t now_ms(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static pdr_rc read_input(size_t *got, void *into, size_t cap, pdr_err *err,
                         void *arg)
{
    FILE *file = arg;

    *got = fread(into, 1, cap, file);
    if (*got == 0 && ferror(file))
        return pdr_err_set(err, PDR_EIO, "read_failed",
                           "cannot read the document");
    return PDR_OK;
}

static pdr_rc write_output(pdr_str bytes, pdr_err *err, void *arg)
{
    if (fwrite(bytes.ptr, 1, bytes.len, arg) != bytes.len)
        return pdr_err_set(err, PDR_EIO, "write_failed",
                           "cannot write the document");
    return PDR_OK;
}

static pdr_rc take_in(pdr_store *store, const char *id, pdr_err *err)
{
    pdr_import_opts opts = {.now_ms = now_ms()};
    pdr_import_report report;
    pdr_rc rc = PDR_OK;

    if (id != NULL) /* else the document has one */
        opts.ref.id = pdr_str_c(id);
    rc = pdr_import(&report, store, &opts, err, read_input, stdin);
    if (rc == PDR_OK)
        printf("%.*s: %" PRIu64 " entries, %" PRIu64 " slots, %" PRIu64
               " properties\n",
               (int)report.ref.id.len, report.ref.id.ptr, report.entries,
               report.slots, report.properties);
    return rc;
}

static pdr_rc put_out(pdr_store *store, const char *id, pdr_err *err)
{
    pdr_export_opts opts = {.ref = {.id = pdr_str_c(id)}};
    pdr_rc rc = pdr_export(NULL, store, &opts, err, write_output, stdout);

    if (rc == PDR_OK && fflush(stdout) != 0)
        rc = pdr_err_set(err, PDR_EIO, "write_failed",
                         "cannot write the document");
    return rc;
}

int main(int argc, char **argv)
{
    bool in = argc >= 3 && strcmp(argv[2], "in") == 0;
    bool out = argc == 4 && strcmp(argv[2], "out") == 0;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc > 4 || (!in && !out)) {
        fprintf(stderr,
                "usage: archive STORE in [ID] | archive STORE out ID\n");
        return 2;
    }
    rc = pdr_store_open(&store, argv[1], &err);
    if (rc == PDR_OK)
        rc = in ? take_in(store, argv[3], &err) : put_out(store, argv[3], &err);
    pdr_store_close(store);
    if (rc != PDR_OK)
        fprintf(stderr, "archive: %s%s%s (%s)\n", err.path,
                err.path[0] != '\0' ? ": " : "", err.message, err.reason);
    return pdr_rc_exit_status(rc);
}
