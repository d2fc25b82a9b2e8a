/*
 * session_ways.c - our side of the session benchmark.
 *
 * WHY  A caller of the library takes these steps, through public functions: the
 *      bag makes objects of slots and slots of objects, the session makes a
 *      value of the bag and back, the codec makes bytes of the value.
 */
#include "session_ways.h"

#define KEY pdr_str_c("serialization-benchmark")

static void must(pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_OK)
        bench_fail("%s: %s %s", pdr_rc_name(rc), err->message, err->path);
}

/* --- steps -----------------------------------------------------------------
 */

static pdr_session *session_of_objects(const struct way *way)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_session *session = NULL;

    must(work_session(&session, &err), &err);
    must(work_encode(session, way->objects, PDR_REPLACE, &err), &err);
    return session;
}

static pdr_session *session_of_bytes(const struct way *way, pdr_str bytes)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_session *session = NULL;
    pdr_value *value = NULL;

    must(pdr_codec_read(&value, way->codec, bytes, NULL, &err), &err);
    must(pdr_session_from_value(&session, value, &err), &err);
    pdr_value_free(value);
    return session;
}

static void write_session(struct way *way, pdr_session *session)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *value = NULL;

    must(pdr_session_to_value(&value, session, &err), &err);
    pdr_buf_clear(&way->out);
    must(pdr_codec_write(&way->out, way->codec, value, &way->opts, &err), &err);
    pdr_value_free(value);
}

static void read_objects(pdr_session *session)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_object *handles[WORK_SLOTS];

    must(work_decode(handles, session, &err), &err);
    work_release(handles);
}

/* --- ways ------------------------------------------------------------------
 */

void way_encode(void *arg)
{
    struct way *way = arg;
    pdr_session *session = session_of_objects(way);

    write_session(way, session);
    pdr_session_free(session);
}

static void decode(const struct way *way, pdr_str bytes)
{
    pdr_session *session = session_of_bytes(way, bytes);

    read_objects(session);
    pdr_session_free(session);
}

void way_decode(void *arg)
{
    const struct way *way = arg;

    decode(way, ours_str(&way->text));
}

void way_roundtrip(void *arg)
{
    struct way *way = arg;

    way_encode(way);
    decode(way, pdr_buf_str(&way->out));
}

void way_touched(void *arg)
{
    struct way *way = arg;
    pdr_session *session = session_of_bytes(way, ours_str(&way->text));

    read_objects(session);
    write_session(way, session);
    pdr_session_free(session);
}

void way_lazy(void *arg)
{
    struct way *way = arg;
    pdr_session *session = session_of_bytes(way, ours_str(&way->text));

    write_session(way, session);
    pdr_session_free(session);
}

void way_disk(void *arg)
{
    struct way *way = arg;
    pdr_err err = PDR_ERR_INIT;
    pdr_session *session = session_of_objects(way);

    must(
        pdr_folder_set(NULL, way->folder, KEY, NULL, session, &err, NULL, NULL),
        &err);
    pdr_session_free(session);
    must(pdr_folder_get(&session, NULL, way->folder, KEY, &err, NULL, NULL),
         &err);
    read_objects(session);
    pdr_session_free(session);
}

/* --- one turn --------------------------------------------------------------
 */

void turn_init(struct turn *turn, size_t messages)
{
    pdr_err err = PDR_ERR_INIT;
    struct work_objects objects;
    struct way way = {.objects = &objects};

    *turn = (struct turn){.out = ours_buffer(4096)};
    if (!work_build(&objects, messages, WORK_OBJECTS) ||
        !work_build_message(&turn->messages[0], &turn->arena, messages) ||
        !work_build_message(&turn->messages[1], &turn->arena, messages + 1))
        bench_fail("no memory for %zu messages", messages);
    turn->session = session_of_objects(&way);
    work_free(&objects);
    must(pdr_session_to_value(&turn->document, turn->session, &err), &err);
    /* As it would be after reading it from a file. */
    must(pdr_value_compact(&turn->document, &err), &err);
    turn_begin(turn);
}

void turn_begin(void *arg)
{
    struct turn *turn = arg;
    pdr_err err = PDR_ERR_INIT;

    pdr_session_free(turn->session);
    must(pdr_session_from_value(&turn->session, turn->document, &err), &err);
}

void turn_append(void *arg)
{
    struct turn *turn = arg;
    pdr_err err = PDR_ERR_INIT;
    pdr_builder *builder = NULL;
    pdr_value *added[2];

    must(pdr_builder_new(&builder, &err), &err);
    pdr_buf_clear(&turn->out);
    for (int i = 0; i < 2; i++) {
        bind_put(builder, &work_message_shape, &turn->messages[i]);
        must(pdr_builder_finish(&added[i], builder, &err), &err);
    }
    must(pdr_session_add_messages(turn->session,
                                  (const pdr_value *const *)added, 2, &err),
         &err);
    for (int i = 0; i < 2; i++) {
        must(pdr_json_write(&turn->out, added[i], NULL, &err), &err);
        must(pdr_buf_append(&turn->out, pdr_str_c("\n"), &err), &err);
        pdr_value_free(added[i]);
    }
    pdr_builder_free(builder);
}

void turn_dispose(struct turn *turn)
{
    pdr_session_free(turn->session);
    pdr_value_free(turn->document);
    pdr_buf_dispose(&turn->out);
    bind_dispose(&turn->arena);
}

/* --- before anything is timed ----------------------------------------------
 */

static void check_bytes(const struct way *way, const char *what)
{
    if (!pdr_str_equal(ours_str(&way->text), pdr_buf_str(&way->out)))
        bench_fail("%s of %s gives %zu other bytes than the golden %zu", what,
                   way->name, way->out.len, way->text.len);
}

static void check_objects(pdr_session *session, const char *what)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_object *handles[WORK_SLOTS];
    const void *objects[WORK_SLOTS];

    must(work_decode(handles, session, &err), &err);
    for (int slot = 0; slot < WORK_SLOTS; slot++)
        objects[slot] = pdr_object_get(handles[slot]);
    const char *wrong = work_check(objects);
    if (wrong != NULL)
        bench_fail("%s: %s is wrong", what, wrong);
    work_release(handles);
}

void way_check(struct way *way)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_session *session = session_of_bytes(way, ours_str(&way->text));

    check_objects(session, way->name);
    pdr_session_free(session);
    way_encode(way);
    check_bytes(way, "encode");
    way_touched(way);
    check_bytes(way, "touched");
    way_lazy(way);
    check_bytes(way, "lazy");
    way_disk(way);
    must(pdr_folder_get(&session, NULL, way->folder, KEY, &err, NULL, NULL),
         &err);
    check_objects(session, "a session from a folder");
    pdr_session_free(session);
}

void turn_check(struct turn *turn, size_t messages)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_value *history = NULL;
    pdr_buf line = PDR_BUF_INIT(4096);

    turn_append(turn);
    must(pdr_session_history(&history, turn->session, &err), &err);
    if (pdr_value_count(history) != messages + 2)
        bench_fail("append: %zu messages", pdr_value_count(history));
    for (size_t i = messages; i < messages + 2; i++) {
        must(pdr_json_write(&line, pdr_value_at(history, i), NULL, &err), &err);
        must(pdr_buf_append(&line, pdr_str_c("\n"), &err), &err);
    }
    if (!pdr_str_equal(pdr_buf_str(&line), pdr_buf_str(&turn->out)))
        bench_fail("append: the session has other messages than the delta");
    pdr_buf_dispose(&line);
    pdr_value_free(history);
    turn_begin(turn);
}
