/*
 * copy.c - documents from one format to another, in a fixed amount of memory.
 *
 *     copy FROM TO < IN > OUT      as in: copy jsonl msgpack < a.jsonl > a.mpk
 *
 * A walk gives what it reads as events, a writer takes events, and neither
 * knows what the other one reads or writes. Numbers and strings keep their
 * spelling on the way. Only MessagePack, which counts members before the first
 * one, keeps a document until its end. Where every document fits into memory,
 * pdr_walk_take() and a PDR_SCALAR of the whole are faster.
 */
#include <perdure.h>
#include <stdio.h>

static pdr_rc read_some(size_t *got, void *into, size_t cap, pdr_err *err,
                        void *arg)
{
    *got = fread(into, 1, cap, arg);
    return ferror(arg) ? pdr_err_set(err, PDR_EIO, "cannot_read", "cannot read")
                       : PDR_OK;
}

static pdr_rc write_all(pdr_str bytes, pdr_err *err, void *arg)
{
    return fwrite(bytes.ptr, 1, bytes.len, arg) == bytes.len
               ? PDR_OK
               : pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write");
}

static pdr_rc pump(pdr_walk *walk, pdr_writer *writer, pdr_err *err)
{
    for (;;) {
        pdr_event event = PDR_END_OF_INPUT;
        pdr_rc rc = pdr_walk_next(&event, walk, err);
        if (rc == PDR_OK && event == PDR_END_OF_INPUT)
            return pdr_writer_finish(writer, err);
        if (rc == PDR_OK)
            rc = pdr_writer_put(writer, event, pdr_walk_value(walk), err);
        if (rc != PDR_OK)
            return rc;
    }
}

static pdr_rc copy(const char *from, const char *to, pdr_err *err)
{
    size_t count = 0;
    const pdr_codec *const *codecs = pdr_codecs(&count);
    pdr_format in, out;
    pdr_walk *walk = NULL;
    pdr_writer *writer = NULL;
    pdr_rc rc = pdr_codec_find(&in, codecs, count, from, err);

    if (rc == PDR_OK)
        rc = pdr_codec_find(&out, codecs, count, to, err);
    if (rc != PDR_OK)
        return rc;
    rc = pdr_walk_new(&walk, in.codec, &(pdr_read_opts){.flags = in.flags}, err,
                      read_some, stdin);
    if (rc == PDR_OK)
        rc = pdr_writer_new(&writer, out.codec,
                            &(pdr_write_opts){.flags = out.flags}, err,
                            write_all, stdout);
    if (rc == PDR_OK)
        rc = pump(walk, writer, err);
    if (rc == PDR_OK && fflush(stdout) != 0)
        rc = pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write");
    pdr_writer_free(writer);
    pdr_walk_free(walk);
    return rc;
}

int main(int argc, char **argv)
{
    pdr_err err = PDR_ERR_INIT;

    if (argc != 3) {
        fprintf(stderr, "usage: copy FROM TO < IN > OUT\n");
        return 2;
    }
    if (copy(argv[1], argv[2], &err) == PDR_OK)
        return 0;
    fprintf(stderr, "copy: %s (%s", err.message, err.reason);
    if (err.offset >= 0)
        fprintf(stderr, " at byte %lld", (long long)err.offset);
    fprintf(stderr, "%s%s)\n", err.path[0] != '\0' ? ", " : "", err.path);
    return pdr_rc_exit_status(err.code);
}
