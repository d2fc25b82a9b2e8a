/*
 * writer.c - events to any codec: the part that all writers share.
 *
 * WHY  A codec knows how events become its bytes. The order of calls, the place
 *      of an event and the path of a failure are the same for all, so they are
 *      here, once.
 *
 * INVARIANTS
 *   V1  A codec is given events in an order that makes documents, and none
 *       after a failure.
 *   V2  `named`: the innermost container is an object, and the name of its next
 *       member was written.
 */
#include "codec.h"

struct pdr_writer {
    const pdr_codec *codec; /* borrowed */
    void *self;             /* owned; of the codec */
    bool sequence;
    struct route route;
    bool named; /* V2 */
    bool finished;
    uint64_t documents; /* complete ones */
    pdr_rc rc;          /* V1 */
    pdr_err err;
};

pdr_rc pdr_writer_new(pdr_writer **out, const pdr_codec *codec,
                      const pdr_write_opts *opts, pdr_err *err, pdr_write_fn fn,
                      void *arg)
{
    static const pdr_write_opts none;

    PDR_REQUIRE(out != NULL && codec != NULL && fn != NULL);
    *out = NULL;
    if (opts == NULL)
        opts = &none;
    pdr_rc rc = pdr__codec_check(codec, opts->flags, codec->write_flags, err);
    if (rc == PDR_OK)
        rc = pdr__write_opts_check(opts, err);
    if (rc != PDR_OK)
        return rc;
    pdr_writer *w = pdr__calloc(1, sizeof(*w));
    if (w == NULL)
        return pdr__nomem(err);
    w->codec = codec;
    w->sequence = (opts->flags & (PDR_SEQUENCE | PDR_RECORDS)) != 0;
    w->err = (pdr_err)PDR_ERR_INIT;
    rc = pdr__route_init(&w->route, PDR_MAX_DEPTH, err);
    if (rc == PDR_OK)
        rc = codec->writer_open(&w->self, opts, err, fn, arg);
    if (rc != PDR_OK) {
        pdr_writer_free(w);
        return rc;
    }
    *out = w;
    return PDR_OK;
}

void pdr_writer_free(pdr_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->self != NULL)
        writer->codec->writer_close(writer->self);
    pdr__route_dispose(&writer->route);
    pdr__free(writer);
}

/* Keep the failure and hand it out. */
static pdr_rc give_failure(const pdr_writer *w, pdr_err *err)
{
    if (err != NULL)
        *err = w->err;
    return w->rc;
}

/* --- order --------------------------------------------------------------- */

/* Why an event cannot stand here; NULL if it can. */
static const char *misplaced(const pdr_writer *w, pdr_event event,
                             const pdr_value *value)
{
    bool object = pdr__route_in_object(&w->route);
    bool has_value = event == PDR_NAME || event == PDR_SCALAR;

    if (w->finished)
        return "the writer is finished";
    if (event < PDR_BEGIN_OBJECT || event > PDR_SCALAR)
        return "this is no event that can be written";
    if (has_value != (value != NULL))
        return has_value ? "the event needs a value" : "the event has no value";
    if (event == PDR_NAME && (!object || w->named))
        return w->named ? "a name after a name" : "a name outside an object";
    if (event == PDR_NAME)
        return pdr_value_kind(value) == PDR_STRING ? NULL
                                                   : "a name is a string";
    if (event == PDR_END && (w->route.depth == 0 || w->named))
        return w->named ? "a name without a value" : "nothing is open";
    if (event != PDR_END && object && !w->named)
        return "a value in an object needs a name";
    if (w->route.depth == 0 && w->documents > 0 && !w->sequence)
        return "the document is complete, and it is to be one";
    return NULL;
}

static bool too_deep(const pdr_writer *w, pdr_event event,
                     const pdr_value *value)
{
    uint32_t levels = event == PDR_BEGIN_OBJECT || event == PDR_BEGIN_ARRAY;

    if (event == PDR_SCALAR)
        levels = pdr__value_height(value);
    return levels > PDR_MAX_DEPTH - w->route.depth;
}

/* --- events -------------------------------------------------------------- */

static pdr_place place_of(const pdr_writer *w, pdr_event event)
{
    size_t depth = w->route.depth;
    pdr_place place = {depth - (event == PDR_END),
                       pdr__route_in_object(&w->route), w->documents};

    if (depth > 0)
        place.index = w->route.levels[depth - 1].children;
    return place;
}

/* A value is complete. */
static void after_value(pdr_writer *w)
{
    pdr__route_child(&w->route);
    w->named = false;
    w->documents += w->route.depth == 0;
}

static pdr_rc follow(pdr_writer *w, pdr_event event, const pdr_value *value)
{
    switch (event) {
    case PDR_BEGIN_OBJECT:
    case PDR_BEGIN_ARRAY:
        w->named = false;
        return pdr__route_open(&w->route, event == PDR_BEGIN_OBJECT, &w->err);
    case PDR_NAME:
        w->named = true;
        return pdr__route_name(&w->route, value, &w->err);
    case PDR_END:
        pdr__route_close(&w->route);
        after_value(w);
        break;
    case PDR_SCALAR:
        after_value(w);
        break;
    case PDR_END_OF_INPUT:
        break;
    }
    return PDR_OK;
}

static pdr_rc put(pdr_writer *w, pdr_event event, const pdr_value *value)
{
    const char *why = misplaced(w, event, value);

    if (why != NULL)
        return PDR_FAIL(&w->err, WRITER_ORDER, "%s", why);
    if (too_deep(w, event, value))
        return PDR_FAIL(&w->err, TOO_DEEP, "a value has at most %d levels",
                        PDR_MAX_DEPTH);
    pdr_place place = place_of(w, event);
    pdr_rc rc = w->codec->writer_put(w->self, &place, event, value, &w->err);
    return rc == PDR_OK ? follow(w, event, value) : rc;
}

pdr_rc pdr_writer_put(pdr_writer *writer, pdr_event event,
                      const pdr_value *value, pdr_err *err)
{
    PDR_REQUIRE(writer != NULL);
    if (writer->rc != PDR_OK)
        return give_failure(writer, err);
    writer->rc = put(writer, event, value);
    if (writer->rc == PDR_OK)
        return PDR_OK;
    pdr__route_put(&writer->err, &writer->route,
                   event != PDR_NAME && event != PDR_END);
    return give_failure(writer, err);
}

pdr_rc pdr_writer_finish(pdr_writer *writer, pdr_err *err)
{
    pdr_writer *w = writer;

    PDR_REQUIRE(writer != NULL);
    if (w->rc != PDR_OK)
        return give_failure(w, err);
    if (w->route.depth > 0 || (w->documents == 0 && !w->sequence))
        w->rc = PDR_FAIL(&w->err, WRITER_ORDER, "%s",
                         w->route.depth > 0 ? "not all is ended"
                                            : "nothing was written");
    if (w->rc == PDR_OK && !w->finished)
        w->rc = w->codec->writer_finish(w->self, &w->err);
    w->finished = true;
    return w->rc == PDR_OK ? PDR_OK : give_failure(w, err);
}
