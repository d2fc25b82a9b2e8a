/*
 * session_keep.c - see session_keep.h.
 */
#include "session_keep.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct session_ops session_ours = {pdr_session_from_value,
                                         pdr_session_to_value};

static bool wrong(struct roundtrip_report *report, const char *fmt, ...)
    PDR_PRINTF(2, 3);

static bool wrong(struct roundtrip_report *report, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(report->text, sizeof(report->text), fmt, args);
    va_end(args);
    return false;
}

/* One document on its way. */
struct trip {
    struct roundtrip_report *report;
    const struct session_ops *ops;
    pdr_value *value;     /* owned; what was read */
    pdr_session *session; /* owned */
    pdr_buf bytes;        /* of the session as it is now */
};

static bool begin(struct trip *trip, struct roundtrip_report *report,
                  const struct session_ops *ops, pdr_str text)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_err err = PDR_ERR_INIT;

    *trip = (struct trip){report, ops, NULL, NULL, PDR_BUF_INIT(SIZE_MAX)};
    report->text[0] = '\0';
    if (pdr_json_read(&trip->value, text, &opts, &err) != PDR_OK)
        return wrong(report, "no JSON: %s", err.message);
    if (ops->from_value(&trip->session, trip->value, &err) != PDR_OK)
        return wrong(report, "refused: %s", err.message);
    return true;
}

static bool end(struct trip *trip, bool result)
{
    pdr_value_free(trip->value);
    pdr_session_free(trip->session);
    pdr_buf_dispose(&trip->bytes);
    return result;
}

/* The bytes of the session as it is now. */
static bool write(struct trip *trip, pdr_layout layout)
{
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS, .layout = layout};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = trip->ops->to_value(&value, trip->session, &err);

    pdr_buf_clear(&trip->bytes);
    if (rc == PDR_OK)
        rc = pdr_json_write(&trip->bytes, value, &opts, &err);
    pdr_value_free(value);
    return rc == PDR_OK || wrong(trip->report, "not written: %s", err.message);
}

/* Are the bytes now `text` with `put` for `len` bytes from `start` on? */
static bool is_now(struct trip *trip, pdr_str text, size_t start, size_t len,
                   const char *put)
{
    pdr_str rest = pdr_str_n(text.ptr + start + len, text.len - start - len);
    size_t middle = strlen(put);
    const char *now = NULL;

    if (!write(trip, PDR_AS_READ))
        return false;
    now = trip->bytes.ptr;
    if (trip->bytes.len != start + middle + rest.len ||
        memcmp(now, text.ptr, start) != 0 ||
        memcmp(now + start, put, middle) != 0 ||
        memcmp(now + start + middle, rest.ptr, rest.len) != 0)
        return wrong(trip->report, "a byte outside of bytes %zu to %zu changed",
                     start, start + len);
    return true;
}

bool session_check_unchanged(struct roundtrip_report *report,
                             const struct session_ops *ops, pdr_str text)
{
    struct trip trip;

    return end(&trip, begin(&trip, report, ops, text) &&
                          is_now(&trip, text, 0, 0, ""));
}

/* Set one slot in a session of its own. */
static bool check_slot(struct roundtrip_report *report,
                       const struct session_ops *ops, pdr_str text, pdr_str key,
                       const pdr_value *slot)
{
    static const char put[] = "[\"changed\"]";
    struct trip trip;
    pdr_value *value = NULL;
    pdr_str raw = {NULL, 0};
    pdr_err err = PDR_ERR_INIT;
    bool good = begin(&trip, report, ops, text);

    if (!good)
        return end(&trip, false);
    good =
        pdr_json_read(&value, pdr_str_c(put), NULL, &err) == PDR_OK &&
        pdr_bag_set(pdr_session_bag(trip.session), key, value, &err) == PDR_OK;
    pdr_value_free(value);
    if (!good)
        return end(&trip, wrong(report, "not set: %s", err.message));
    if (!pdr_value_raw(&raw, slot))
        return end(&trip, wrong(report, "%s", "a slot without its bytes"));
    return end(&trip, is_now(&trip, text, (size_t)pdr_value_offset(slot),
                             raw.len, put));
}

/* One slot more, and away again: as before, but for white space in a bag that
 * was changed. */
static bool check_new_slot(struct trip *trip)
{
    pdr_bag *bag = pdr_session_bag(trip->session);
    pdr_value *null = pdr_value_new_null();
    pdr_str key = pdr_str_c("a slot that nobody has");
    size_t count = pdr_bag_count(bag);
    pdr_value *before = NULL, *after = NULL;
    bool good = trip->ops->to_value(&before, trip->session, NULL) == PDR_OK;

    good = good && pdr_bag_set(bag, key, null, NULL) == PDR_OK &&
           pdr_bag_count(bag) == count + 1 &&
           trip->ops->to_value(&after, trip->session, NULL) == PDR_OK &&
           !pdr_value_equal(before, after);
    pdr_value_free(after);
    after = NULL;
    good = good && pdr_bag_remove(bag, key, NULL) == PDR_OK &&
           trip->ops->to_value(&after, trip->session, NULL) == PDR_OK;
    /* A bag that was not there is there now, empty. */
    if (good && count > 0 && !pdr_value_equal(before, after))
        good = wrong(trip->report, "%s", "a slot came and went, and left more");
    else if (!good)
        good = wrong(trip->report, "%s", "no slot could come and go");
    pdr_value_free(before);
    pdr_value_free(after);
    return good;
}

/* Can the bag change this slot, and is it the last of its name? */
static bool can_set(const pdr_value *bag, pdr_bag *of, const pdr_iter *at,
                    pdr_str *key, pdr_buf *scratch)
{
    pdr_value *value = NULL;
    bool can = false;

    if (pdr_value_text(key, at->name, scratch, NULL) != PDR_OK ||
        pdr_value_get(bag, *key) != at->value)
        return false;
    can = pdr_bag_get(&value, of, *key, NULL) == PDR_OK;
    pdr_value_free(value);
    return can;
}

bool session_check_slots(struct roundtrip_report *report,
                         const struct session_ops *ops, pdr_str text)
{
    struct trip trip;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *bag = NULL;
    bool good = begin(&trip, report, ops, text);
    pdr_iter it;

    if (!good || pdr_session_get_shape(trip.session) > PDR_SESSION_PYTHON)
        return end(&trip, good); /* thread-era: its bag takes no change */
    bag = pdr_bag_snapshot(pdr_session_bag(trip.session));
    pdr_iter_init(&it, bag);
    while (good && pdr_iter_next(&it)) {
        pdr_str key = {NULL, 0};

        if (can_set(bag, pdr_session_bag(trip.session), &it, &key, &scratch))
            good = check_slot(report, ops, text, key, it.value);
    }
    pdr_value_free(bag);
    pdr_buf_dispose(&scratch);
    return end(&trip, good && check_new_slot(&trip));
}

/* Read the other format's bytes as a session and write it as JSON. */
static bool come_back(struct trip *trip, pdr_str bytes, const pdr_codec *codec,
                      pdr_str expected)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_err err = PDR_ERR_INIT;
    bool same = false;

    pdr_session_free(trip->session);
    trip->session = NULL;
    pdr_value_free(trip->value);
    trip->value = NULL;
    if (codec != pdr_json_codec())
        opts.flags = 0; /* the others have no such option */
    if (pdr_codec_read(&trip->value, codec, bytes, &opts, &err) != PDR_OK ||
        trip->ops->from_value(&trip->session, trip->value, &err) != PDR_OK)
        return wrong(trip->report, "did not come back: %s", err.message);
    if (!write(trip, PDR_COMPACT))
        return false;
    same = pdr_str_equal(expected, pdr_buf_str(&trip->bytes));
    return same || wrong(trip->report, "%s", "came back as another text");
}

bool session_check_format(struct roundtrip_report *report,
                          const struct session_ops *ops, pdr_str text,
                          const pdr_codec *codec)
{
    struct trip trip;
    pdr_buf compact = PDR_BUF_INIT(SIZE_MAX), bytes = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool good = begin(&trip, report, ops, text) && write(&trip, PDR_COMPACT);

    if (good &&
        (pdr_buf_append(&compact, pdr_buf_str(&trip.bytes), &err) != PDR_OK ||
         ops->to_value(&value, trip.session, &err) != PDR_OK ||
         pdr_codec_write(&bytes, codec, value, NULL, &err) != PDR_OK))
        good = wrong(report, "did not go: %s", err.message);
    pdr_value_free(value);
    good = good &&
           come_back(&trip, pdr_buf_str(&bytes), codec, pdr_buf_str(&compact));
    pdr_buf_dispose(&compact);
    pdr_buf_dispose(&bytes);
    return end(&trip, good);
}
