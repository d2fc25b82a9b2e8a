/*
 * codec_msgpackc.c - do we read and write MessagePack faster than msgpack-c,
 * although what we read is a value that can be written as JSON again?
 *
 * msgpack/read    the golden session to a value, and the value freed, against
 *                 msgpack-c's tree of objects that point into the input
 * msgpack/write   that value to a buffer that is used again, against the tree
 *                 to such a buffer
 *
 * msgpack-c neither checks UTF-8 nor copies strings; we do both. It runs as its
 * authors recommend: msgpack_unpack_next() for a document in memory (they call
 * msgpack_unpack(), which takes a zone, obsolete), malloc that keeps what was
 * freed, no copy of the input, the buffer for output kept.
 */
#include "ours.h"

#include <msgpack.h>
#include <string.h>

struct job {
    struct bench_text text; /* the session as MessagePack */
    pdr_value *value;
    pdr_buf out;
    msgpack_unpacked tree;
    msgpack_sbuffer their_out;
};

static void read_ours(void *arg)
{
    const struct job *job = arg;

    pdr_value_free(ours_decode(pdr_msgpack_codec(), &job->text));
}

static void unpack(msgpack_unpacked *out, const struct bench_text *text)
{
    size_t used = 0;

    if (msgpack_unpack_next(out, text->ptr, text->len, &used) !=
            MSGPACK_UNPACK_SUCCESS ||
        used != text->len)
        bench_fail("msgpack-c refuses %s", text->name);
}

static void read_theirs(void *arg)
{
    const struct job *job = arg;
    msgpack_unpacked tree;

    msgpack_unpacked_init(&tree);
    unpack(&tree, &job->text);
    msgpack_unpacked_destroy(&tree);
}

static void write_ours(void *arg)
{
    struct job *job = arg;

    ours_encode(&job->out, pdr_msgpack_codec(), job->value);
}

static void write_theirs(void *arg)
{
    struct job *job = arg;
    msgpack_packer packer;

    msgpack_sbuffer_clear(&job->their_out);
    msgpack_packer_init(&packer, &job->their_out, msgpack_sbuffer_write);
    if (msgpack_pack_object(&packer, job->tree.data) != 0)
        bench_fail("msgpack-c cannot write %s", job->text.name);
}

/* --- sums ---------------------------------------------------------------- */

static void sum_object(struct bench_sums *sums, const msgpack_object *object);

static void sum_map(struct bench_sums *sums, const msgpack_object_map *map)
{
    sums->objects++;
    for (uint32_t i = 0; i < map->size; i++) {
        const msgpack_object *name = &map->ptr[i].key;
        sums->names++;
        bench_sums_text(sums, name->via.str.ptr, name->via.str.size);
        sum_object(sums, &map->ptr[i].val);
    }
}

static void sum_array(struct bench_sums *sums,
                      const msgpack_object_array *array)
{
    sums->arrays++;
    for (uint32_t i = 0; i < array->size; i++)
        sum_object(sums, &array->ptr[i]);
}

static void sum_object(struct bench_sums *sums, const msgpack_object *object)
{
    if (object->type == MSGPACK_OBJECT_MAP) {
        sum_map(sums, &object->via.map);
    } else if (object->type == MSGPACK_OBJECT_ARRAY) {
        sum_array(sums, &object->via.array);
    } else if (object->type == MSGPACK_OBJECT_STR) {
        sums->strings++;
        bench_sums_text(sums, object->via.str.ptr, object->via.str.size);
    } else if (object->type == MSGPACK_OBJECT_BOOLEAN) {
        bench_sums_bool(sums, object->via.boolean);
    } else if (object->type == MSGPACK_OBJECT_NIL) {
        sums->nulls++;
    } else if (object->type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
        bench_sums_number(sums, (double)object->via.u64);
    } else if (object->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
        bench_sums_number(sums, (double)object->via.i64);
    } else {
        bench_sums_number(sums, object->via.f64);
    }
}

/* --- cases --------------------------------------------------------------- */

static void compare(struct job *job)
{
    struct bench_sums ours, theirs;

    memset(&ours, 0, sizeof(ours));
    memset(&theirs, 0, sizeof(theirs));
    ours_sums(&ours, job->value);
    sum_object(&theirs, &job->tree.data);
    bench_sums_compare("msgpack/read", &ours, &theirs);
    write_ours(job);
    write_theirs(job);
    if (job->out.len != job->their_out.size ||
        memcmp(job->out.ptr, job->their_out.data, job->out.len) != 0)
        bench_fail("msgpack/write: the bytes differ");
}

int main(int argc, char **argv)
{
    ours_start(argc, argv, "codec");
    bench_note("baseline_version", msgpack_version());
    bench_note("baseline_memory",
               "malloc keeps what was freed; the buffer is used again");

    struct bench_text json = bench_load("session.json");
    struct job job = {.out = ours_buffer(2 * json.len)};
    job.text = ours_recode(pdr_msgpack_codec(), &json);
    job.value = ours_decode(pdr_msgpack_codec(), &job.text);
    msgpack_sbuffer_init(&job.their_out);
    msgpack_unpacked_init(&job.tree);
    unpack(&job.tree, &job.text);
    compare(&job);

    struct bench_case c = {.name = "msgpack/read",
                           .baseline = "msgpack-c",
                           .ours = read_ours,
                           .theirs = read_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 2};
    bench_run(&c);
    c.name = "msgpack/write";
    c.ours = write_ours;
    c.theirs = write_theirs;
    c.wanted = 1.5;
    bench_run(&c);
    return 0;
}
