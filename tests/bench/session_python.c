/*
 * session_python.c - how much faster than the Python edition do we take its own
 * session workload from objects to bytes and back?
 *
 * encode/…           all objects to bytes
 * decode/…           bytes to all objects
 * roundtrip/typed…   both
 * roundtrip/touched… bytes to all objects and back; what nobody changed is
 *                    written as it was read. Against their round trip
 * open/lazy…         bytes to a session and back, no object made. Against their
 *                    round trip
 * disk/…             both through a file; ours is on disk when it counts as
 *                    written, theirs is in the cache of the system
 * append/one-turn    two messages more on 2,000, and the bytes to store for
 *                    them: the messages for us, the whole snapshot for them
 * append/later-turn  the same after a hundred such turns since it was read
 * append/20000       the first turn on 20,000, against ours on 10
 *
 * Each against the package with that of its codecs that is best at it in this
 * run, and against CPython's json with plain trees of the same bytes. The
 * dotnet/… rows are derived: the .NET edition cannot run here, but on another
 * machine it was measured side by side with CPython's json (dotnet_rows).
 */
#include "peer.h"
#include "session_ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SELECTING_ROUNDS 3
#define EARLIER_TURNS    100
#define MAX_PATH         640

static const char *const codecs[] = {
    "json", "orjson", "pydantic", "msgspec-json", "msgspec-msgpack", "msgpack"};
#define CODECS (sizeof(codecs) / sizeof(codecs[0]))

/* One piece of work for the Python process. */
struct request {
    struct peer *python;
    const char *work;
    const char *codec; /* "-" for plain json */
};

struct job {
    struct peer python;
    struct work_objects objects;
    struct way json, msgpack;
    struct turn few, usual, many;
    struct turn later; /* not made anew: it grows from turn to turn */
    const char *encoder, *decoder, *both; /* the best codec for each */
};

/* --- the other process -----------------------------------------------------
 */

static struct bench_time ask(void *arg)
{
    const struct request *request = arg;
    unsigned long long taken = 0, used = 0;
    long preempted = 0;
    char work[80], line[80];

    snprintf(work, sizeof(work), "%s %s", request->work, request->codec);
    peer_ask(request->python, work, line, sizeof(line));
    if (sscanf(line, "%llu %llu %ld", &taken, &used, &preempted) != 3)
        bench_fail("the Python library says '%s'", line);
    return (struct bench_time){taken, used, preempted == 0};
}

static struct bench_side python_side(struct request *request)
{
    return (struct bench_side){.timed = ask, .arg = request};
}

/* What each codec takes at its best, all in turn a few times. Only its time on
 * the core counts: beside other work a slower one would win by luck. */
static void try_codecs(struct job *job, uint64_t best[CODECS], const char *work)
{
    int rounds = bench_is_quick() ? 1 : SELECTING_ROUNDS;

    for (size_t i = 0; i < CODECS; i++)
        best[i] = UINT64_MAX;
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < CODECS; i++) {
            struct request request = {&job->python, work, codecs[i]};
            uint64_t used = ask(&request).used;
            best[i] = used < best[i] ? used : best[i];
        }
}

static const char *fastest(const uint64_t times[CODECS])
{
    size_t best = 0;

    for (size_t i = 1; i < CODECS; i++)
        best = times[i] < times[best] ? i : best;
    return codecs[best];
}

static void choose_codecs(struct job *job)
{
    uint64_t encode[CODECS], decode[CODECS], both[CODECS];

    try_codecs(job, encode, "encode");
    try_codecs(job, decode, "decode");
    for (size_t i = 0; i < CODECS; i++)
        both[i] = encode[i] + decode[i];
    job->encoder = fastest(encode);
    job->decoder = fastest(decode);
    job->both = fastest(both);
}

/* Let the Python process compare a file with size and digest of the golden
 * one: it has a SHA-256 that is not ours. */
static void check_file(struct job *job, const char *kind, const char *path)
{
    char work[MAX_PATH + 40], line[160];

    snprintf(work, sizeof(work), "check %s %s", kind, path);
    peer_ask(&job->python, work, line, sizeof(line));
    if (strcmp(line, "same") != 0)
        bench_fail("%s: not the golden %s session: %s", path, kind, line);
}

/* --- rows ------------------------------------------------------------------
 */

/* The sides of one race. */
struct race {
    struct bench_side *ours[2]; /* JSON; MessagePack, or NULL */
    struct bench_side *package, *plain;
    const char *codec; /* of the package */
};

/* What a row wants; 0: there is no such figure. */
struct bars {
    double package, plain;
};

static void print_row(const char *name, const char *baseline,
                      const struct bench_side *ours,
                      const struct bench_side *theirs, const char *codec,
                      double wanted, const struct way *way)
{
    struct bench_row row = {.name = name,
                            .baseline = baseline,
                            .ours = ours,
                            .theirs = theirs,
                            .text = &way->text,
                            .wanted = wanted};

    bench_note("baseline_codec", codec);
    bench_row(&row);
}

/* Two rows for each format; the case is called `name`, and with "-msgpack" for
 * the second. */
static void print_rows(struct job *job, const char *name,
                       const struct race *race, struct bars bars)
{
    const struct way *ways[] = {&job->json, &job->msgpack};
    char full[64];

    for (int i = 0; i < 2 && race->ours[i] != NULL; i++) {
        snprintf(full, sizeof(full), "%s%s", name, i == 0 ? "" : "-msgpack");
        print_row(full, "agent-framework", race->ours[i], race->package,
                  race->codec, bars.package, ways[i]);
        print_row(full, "cpython-json", race->ours[i], race->plain, "json",
                  bars.plain, ways[i]);
    }
}

/* How many times CPython's json the .NET edition takes: AF of 2026-08-07 on
 * .NET 10.0.12, the same session in its own shape. */
static void dotnet_row(struct job *job, const char *name,
                       const struct bench_side *ours,
                       const struct bench_side *plain, double times)
{
    struct bench_row row = {.name = name,
                            .baseline = "dotnet",
                            .ours = ours,
                            .theirs = plain,
                            .derived = times,
                            .text = &job->json.text};
    char factor[48];

    snprintf(factor, sizeof(factor), "%.1f times cpython-json", times);
    bench_note("baseline_codec", factor);
    bench_row(&row);
}

/* --- races -----------------------------------------------------------------
 */

static void race_encode(struct job *job)
{
    struct request theirs = {&job->python, "encode", job->encoder};
    struct request plain = {&job->python, "dumps", "-"};
    struct bench_side json = {.call = way_encode, .arg = &job->json};
    struct bench_side msgpack = {.call = way_encode, .arg = &job->msgpack};
    struct bench_side package = python_side(&theirs);
    struct bench_side cpython = python_side(&plain);
    struct bench_side *sides[] = {&json, &msgpack, &package, &cpython};
    struct race race = {{&json, &msgpack}, &package, &cpython, job->encoder};

    bench_race(sides, 4, false);
    print_rows(job, "encode/typed", &race, (struct bars){0, 0});
    dotnet_row(job, "dotnet/encode", &json, &cpython, 1.4);
}

static void race_decode(struct job *job)
{
    struct request theirs = {&job->python, "decode", job->decoder};
    struct request plain = {&job->python, "loads", "-"};
    struct bench_side json = {.call = way_decode, .arg = &job->json};
    struct bench_side msgpack = {.call = way_decode, .arg = &job->msgpack};
    struct bench_side package = python_side(&theirs);
    struct bench_side cpython = python_side(&plain);
    struct bench_side *sides[] = {&json, &msgpack, &package, &cpython};
    struct race race = {{&json, &msgpack}, &package, &cpython, job->decoder};

    bench_race(sides, 4, false);
    print_rows(job, "decode/typed", &race, (struct bars){0, 0});
    dotnet_row(job, "dotnet/decode", &json, &cpython, 1.9);
}

/* Typed, touched and lazy, against one and the same round trip. */
static void race_roundtrip(struct job *job)
{
    struct request theirs = {&job->python, "roundtrip", job->both};
    struct request plain = {&job->python, "both", "-"};
    struct way *j = &job->json, *m = &job->msgpack;
    struct bench_side typed[] = {{.call = way_roundtrip, .arg = j},
                                 {.call = way_roundtrip, .arg = m}};
    struct bench_side touched[] = {{.call = way_touched, .arg = j},
                                   {.call = way_touched, .arg = m}};
    struct bench_side lazy[] = {{.call = way_lazy, .arg = j},
                                {.call = way_lazy, .arg = m}};
    struct bench_side package = python_side(&theirs);
    struct bench_side cpython = python_side(&plain);
    struct bench_side *sides[] = {&typed[0],   &typed[1], &touched[0],
                                  &touched[1], &lazy[0],  &lazy[1],
                                  &package,    &cpython};
    struct race race = {{&typed[0], &typed[1]}, &package, &cpython, job->both};

    bench_race(sides, 8, false);
    print_rows(job, "roundtrip/typed", &race, (struct bars){25, 4});
    dotnet_row(job, "dotnet/roundtrip", &typed[0], &cpython, 1.8);
    race.ours[0] = &touched[0];
    race.ours[1] = &touched[1];
    print_rows(job, "roundtrip/touched", &race, (struct bars){35, 6});
    race.ours[0] = &lazy[0];
    race.ours[1] = &lazy[1];
    print_rows(job, "open/lazy", &race, (struct bars){60, 0});
    dotnet_row(job, "dotnet/lazy", &lazy[0], &cpython, 1.2);
}

static void race_disk(struct job *job)
{
    struct request theirs = {&job->python, "disk", job->both};
    struct request plain = {&job->python, "both_disk", "-"};
    struct request memory = {&job->python, "both", "-"};
    struct bench_side json = {.call = way_disk, .arg = &job->json};
    struct bench_side msgpack = {.call = way_disk, .arg = &job->msgpack};
    struct bench_side package = python_side(&theirs);
    struct bench_side cpython = python_side(&plain);
    struct bench_side in_memory = python_side(&memory);
    struct bench_side *sides[] = {&json, &msgpack, &package, &cpython,
                                  &in_memory};
    struct race race = {{&json, &msgpack}, &package, &cpython, job->both};

    bench_race(sides, 5, true);
    print_rows(job, "disk/roundtrip", &race, (struct bars){10, 0});
    dotnet_row(job, "dotnet/disk", &json, &in_memory, 1.7);
}

static struct bench_side turn_side(struct turn *turn)
{
    return (struct bench_side){
        .call = turn_append, .after = turn_begin, .arg = turn};
}

static void race_append(struct job *job)
{
    struct request theirs = {&job->python, "append", job->encoder};
    struct request plain = {&job->python, "dumps", "-"};
    struct bench_side usual = turn_side(&job->usual);
    struct bench_side later = {.call = turn_append, .arg = &job->later};
    struct bench_side package = python_side(&theirs);
    struct bench_side cpython = python_side(&plain);
    struct bench_side *sides[] = {&usual, &later, &package, &cpython};
    struct race race = {{&usual, NULL}, &package, &cpython, job->encoder};

    bench_race(sides, 4, false);
    print_rows(job, "append/one-turn", &race, (struct bars){1000, 0});
    dotnet_row(job, "dotnet/append", &usual, &cpython, 1.4);
    race.ours[0] = &later;
    print_rows(job, "append/later-turn", &race, (struct bars){1000, 0});
}

static void append_to_many(void *arg)
{
    struct job *job = arg;

    turn_append(&job->many);
}

static void append_to_few(void *arg)
{
    struct job *job = arg;

    turn_append(&job->few);
}

static void begin_both(void *arg)
{
    struct job *job = arg;

    turn_begin(&job->many);
    turn_begin(&job->few);
}

/* Does the length of the history matter? Microseconds, so many calls. */
static void race_lengths(struct job *job)
{
    struct bench_text turn = {.name = "two messages", .len = job->many.out.len};
    struct bench_case c = {.name = "append/20000",
                           .baseline = "self",
                           .ours = append_to_many,
                           .theirs = append_to_few,
                           .after = begin_both,
                           .arg = job,
                           .text = &turn,
                           .wanted = 0.9};

    bench_note("baseline_codec", "ours, on 10 messages");
    bench_run(&c);
}

/* The cases of each race: one that nobody asked for is not run. */
static const struct {
    void (*run)(struct job *job);
    const char *cases[6];
} races[] = {
    {race_encode, {"encode/typed-msgpack", "dotnet/encode"}},
    {race_decode, {"decode/typed-msgpack", "dotnet/decode"}},
    {race_roundtrip,
     {"roundtrip/typed-msgpack", "roundtrip/touched-msgpack",
      "open/lazy-msgpack", "dotnet/roundtrip", "dotnet/lazy"}},
    {race_disk, {"disk/roundtrip-msgpack", "dotnet/disk"}},
    {race_append, {"append/one-turn", "append/later-turn", "dotnet/append"}},
    {race_lengths, {"append/20000"}}};

static bool wants(const char *const *cases)
{
    for (; *cases != NULL; cases++)
        if (bench_wants(*cases))
            return true;
    return false;
}

/* --- the job ---------------------------------------------------------------
 */

static void open_way(struct way *way, const char *name, const pdr_codec *codec,
                     const struct work_objects *objects)
{
    bool packed = strcmp(name, "msgpack") == 0;
    char path[MAX_PATH];
    pdr_err err = PDR_ERR_INIT;

    *way = (struct way){.name = name, .codec = codec, .objects = objects};
    way->opts.flags = packed ? PDR_EXCHANGE : 0;
    bench_path(path, sizeof(path), "session-folder");
    if (pdr_folder_open(&way->folder, path,
                        packed ? PDR_FOLDER_MSGPACK : PDR_FOLDER_JSON, true,
                        &err) != PDR_OK)
        bench_fail("%s", err.message);
}

/* The golden session in the other format. */
static struct bench_text packed_session(const struct way *way)
{
    struct bench_text json = bench_load("session.json");
    struct bench_text text = {.name = "session.msgpack"};
    pdr_value *value = ours_value(&json);
    pdr_err err = PDR_ERR_INIT;
    pdr_buf out = ours_buffer(json.len);

    if (pdr_codec_write(&out, way->codec, value, &way->opts, &err) != PDR_OK)
        bench_fail("%s", err.message);
    text.len = out.len;
    text.ptr = bench_reserve(out.len + BENCH_PADDING);
    memcpy(text.ptr, out.ptr, out.len);
    pdr_buf_dispose(&out);
    pdr_value_free(value);
    free(json.ptr);
    return text;
}

/* Bytes to a file, for check_file(). */
static void write_file(const char *path, const struct bench_text *text)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL || fwrite(text->ptr, 1, text->len, file) != text->len ||
        fclose(file) != 0)
        bench_fail("cannot write %s", path);
}

static void check_way(struct job *job, struct way *way)
{
    char path[MAX_PATH], name[80], kind[40];

    way->out = ours_buffer(2 * way->text.len);
    way_check(way);
    snprintf(name, sizeof(name), "session-folder/%s", way->text.name);
    bench_path(path, sizeof(path), name);
    write_file(path, &way->text);
    check_file(job, way->name, path);
    remove(path);
    snprintf(name, sizeof(name), "session-folder/serialization-benchmark.%s",
             way->name);
    snprintf(kind, sizeof(kind), "store-%s", way->name);
    bench_path(path, sizeof(path), name);
    check_file(job, kind, path);
}

static void prepare(struct job *job)
{
    char versions[160], document[MAX_PATH], folder[MAX_PATH];

    if (!work_build(&job->objects, WORK_MESSAGES, WORK_OBJECTS))
        bench_fail("no memory for the objects");
    open_way(&job->json, "json", pdr_json_codec(), &job->objects);
    open_way(&job->msgpack, "msgpack", pdr_msgpack_codec(), &job->objects);
    job->json.text = bench_load("session.json");
    job->msgpack.text = packed_session(&job->msgpack);
    bench_path(document, sizeof(document), "session.json");
    bench_path(folder, sizeof(folder), "session-folder");
    peer_start(&job->python, BENCH_SCRIPT, document, folder);
    peer_hear(&job->python, versions, sizeof(versions));
    bench_note("baseline_version", versions);
    bench_note("baseline_memory", "its own, collector on");
    bench_note("shape", "python, core 1.22 and later");
    check_way(job, &job->json);
    check_way(job, &job->msgpack);
    turn_init(&job->few, 10);
    turn_init(&job->usual, WORK_MESSAGES);
    turn_init(&job->many, 20000);
    turn_check(&job->few, 10);
    turn_check(&job->usual, WORK_MESSAGES);
    turn_check(&job->many, 20000);
    turn_init(&job->later, WORK_MESSAGES);
    for (int i = 0; i < EARLIER_TURNS; i++)
        turn_append(&job->later);
}

static void finish(struct job *job)
{
    peer_stop(&job->python);
    turn_dispose(&job->few);
    turn_dispose(&job->usual);
    turn_dispose(&job->many);
    turn_dispose(&job->later);
    pdr_folder_close(job->json.folder);
    pdr_folder_close(job->msgpack.folder);
    work_free(&job->objects);
}

int main(int argc, char **argv)
{
    static struct job job;

    ours_start(argc, argv, "session");
    prepare(&job);
    choose_codecs(&job);
    for (size_t i = 0; i < sizeof(races) / sizeof(races[0]); i++)
        if (wants(races[i].cases))
            races[i].run(&job);
    finish(&job);
    return 0;
}
