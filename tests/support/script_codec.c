/*
 * script_codec.c - see script_codec.h.
 */
#include "script_codec.h"

struct script script;

void script_play(const struct script_row *rows, size_t count)
{
    memset(&script, 0, sizeof(script));
    script.rows = rows;
    script.count = count;
}

static pdr_rc fail_with(pdr_rc rc, pdr_err *err)
{
    return rc == PDR_OK ? PDR_OK
                        : pdr_err_set(err, rc, "scripted", "as it is written");
}

/* --- walk ---------------------------------------------------------------- */

static pdr_rc walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                        pdr_read_fn fn, void *arg)
{
    (void)opts;
    (void)fn;
    (void)arg;
    *self = &script;
    script.opened++;
    return fail_with(script.open_rc, err);
}

static pdr_rc walk_next(pdr_event *event, pdr_value **value, void *self,
                        pdr_err *err)
{
    (void)self;
    if (script.at == script.count) {
        *event = PDR_END_OF_INPUT;
        return fail_with(script.next_rc, err);
    }
    const struct script_row *row = &script.rows[script.at++];
    *event = row->event;
    return row->json != NULL
               ? pdr_json_read(value, pdr_str_c(row->json), NULL, err)
               : PDR_OK;
}

static int64_t walk_offset(const void *self)
{
    (void)self;
    return (int64_t)script.at - 1;
}

static void close_either(void *self)
{
    (void)self;
    script.closed++;
}

pdr_rc script_take(pdr_value **out, void *self, pdr_err *err)
{
    (void)self;
    if (script.take_rc != PDR_OK)
        return fail_with(script.take_rc, err);
    script.at += script.take_rows;
    return pdr_json_read(out, pdr_str_c(script.take_json), NULL, err);
}

/* --- writer -------------------------------------------------------------- */

static pdr_rc writer_open(void **self, const pdr_write_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    (void)opts;
    (void)fn;
    (void)arg;
    *self = &script;
    script.opened++;
    return fail_with(script.open_rc, err);
}

static pdr_rc writer_put(void *self, const pdr_place *place, pdr_event event,
                         const pdr_value *value, pdr_err *err)
{
    size_t len = strlen(script.seen);

    (void)self;
    (void)value;
    (void)snprintf(script.seen + len, sizeof(script.seen) - len, "%zu%c%llu%c ",
                   place->depth, place->in_object ? 'o' : 'a',
                   (unsigned long long)place->index, "${[}:="[event]);
    pdr_rc rc = fail_with(script.put_rc, err);
    if (rc != PDR_OK && script.put_path != NULL)
        (void)snprintf(err->path, sizeof(err->path), "%s", script.put_path);
    return rc;
}

static pdr_rc writer_finish(void *self, pdr_err *err)
{
    (void)self;
    script.finished++;
    return fail_with(script.finish_rc, err);
}

/* --- the codec ----------------------------------------------------------- */

static const pdr_codec_form forms[] = {
    {"script", "script", 0},
    {"scripts", "scripts", PDR_SEQUENCE},
    {NULL, NULL, 0},
};

static const pdr_codec_form *guess(pdr_str beginning, bool whole)
{
    (void)beginning;
    (void)whole;
    return NULL;
}

pdr_codec script_codec(void)
{
    pdr_codec codec = {
        .version = PDR_CODEC_VERSION,
        .title = "Script",
        .forms = forms,
        .walk_flags = PDR_SEQUENCE,
        .write_flags = PDR_SEQUENCE,
        .walk_open = walk_open,
        .walk_next = walk_next,
        .walk_offset = walk_offset,
        .walk_close = close_either,
        .writer_open = writer_open,
        .writer_put = writer_put,
        .writer_finish = writer_finish,
        .writer_close = close_either,
        .guess = guess,
    };

    return codec;
}
