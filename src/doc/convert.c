/*
 * convert.c - contents and messages from shape to shape, without loss.
 *
 * WHY  A session moves between .NET, Python, state documents and saved chats of
 *      Semantic Kernel, and each of them knows kinds and members that the
 *      others do not. Whoever moves it there and back must find what was there.
 *
 *      known kind          converted member by member (convert_form.c)
 *      no such kind there  wrapped:
 *          state   {"$type":"unknown","content":ITEM}
 *          .NET {"additionalProperties":{"perdure":{"shape":S,"content":ITEM}}}
 *          Python  {"type":"unknown","additional_properties":{"perdure":…}}
 *          Semantic Kernel, which refuses a chat for one kind that it does not
 *          know  {"$type":"TextContent","Text":"","Metadata":{"perdure":…}}
 *      wrapped here        unwrapped, and converted if the kind is known there
 *
 * INVARIANTS
 *   V1  A wrapper is unwrapped only if wrapping the item again would give the
 *       same wrapper. An item that only looks like one is wrapped once more.
 *   V2  pdr_content_convert() and pdr_message_convert() go back for real. If
 *       the source would not come back, the result carries it as a whole, in
 *       the note of its shape. That is for the odd cases: duplicate members in
 *       the wrong place, notes that somebody forged or broke.
 *   V3  Inside of contents V2 does not happen, or the time would double with
 *       every level; the outermost content answers for all that it holds.
 */
#include <strings.h>

#include "convert.h"

static bool is_string(const pdr_value *value)
{
    return value != NULL && pdr_value_kind(value) == PDR_STRING;
}

/* Kinds that .NET once called otherwise, and those that they are today. */
static const struct {
    pdr_content_kind old, today;
} renamed[] = {
    {PDR_CONTENT_OLD_APPROVAL_REQUEST, PDR_CONTENT_APPROVAL_REQUEST},
    {PDR_CONTENT_OLD_APPROVAL_RESPONSE, PDR_CONTENT_APPROVAL_RESPONSE},
    {PDR_CONTENT_OLD_MCP_APPROVAL_REQUEST, PDR_CONTENT_APPROVAL_REQUEST},
    {PDR_CONTENT_OLD_MCP_APPROVAL_RESPONSE, PDR_CONTENT_APPROVAL_RESPONSE},
};

/* The discriminator of a kind in a shape; in Python, of what it is today. */
static const char *type_in(pdr_content_kind kind, pdr_shape shape)
{
    for (size_t i = 0; i < PDR_COUNT(renamed); i++) {
        if (shape == PDR_SHAPE_PYTHON && renamed[i].old == kind)
            kind = renamed[i].today;
    }
    return pdr_content_kind_name(kind, shape);
}

static pdr_rc convert(pdr_value **out, const pdr_value *content,
                      struct trip trip, pdr_err *err);

/* --- notes --------------------------------------------------------------- */

/* What the note for `shape` says under `name`, or NULL. */
static const pdr_value *note_of(const pdr_value *object, struct trip trip,
                                const char *name)
{
    return pdr_value_get_c(pdr__perdure_member(object, trip.from,
                                               pdr__shape_name(trip.to),
                                               PDR_OBJECT),
                           name);
}

/* A part of an object that can be changed; a new one if it is no object. */
static pdr_value *object_or_new(const pdr_value *value)
{
    if (value != NULL && pdr_value_kind(value) == PDR_OBJECT)
        return pdr_value_ref(value);
    return pdr_value_new_object();
}

/* Put `child` into *parent, or take it out if nothing is in it. */
static pdr_rc set_or_remove(pdr_value **parent, const char *name,
                            const pdr_value *child, bool always, pdr_err *err)
{
    pdr_str text = pdr_str_c(name);

    if (always || pdr_value_count(child) > 0)
        return pdr_value_set(parent, text, child, err);
    return pdr_value_get(*parent, text) == NULL
               ? PDR_OK
               : pdr_value_remove(parent, text, err);
}

/* The object with a note for `shape` that only says `name`: `value`; NULL
 * removes that note. What stands in the way of a note is given up: the source
 * is in the note, or convert_surely() will find out. */
static pdr_rc set_note(pdr_value **out, const pdr_value *object, pdr_shape own,
                       pdr_shape shape, const char *name,
                       const pdr_value *value, pdr_err *err)
{
    const char *properties_name = pdr__properties_name(own);
    const pdr_value *has = pdr_value_get_c(object, properties_name);
    pdr_value *made = pdr_value_ref(object);
    pdr_value *properties = object_or_new(has);
    pdr_value *perdure = object_or_new(pdr_value_get_c(has, "perdure"));
    pdr_value *note = pdr_value_new_object();
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (value != NULL)
        rc = pdr_value_set(&note, pdr_str_c(name), value, err);
    if (rc == PDR_OK)
        rc = set_or_remove(&perdure, pdr__shape_name(shape), note, false, err);
    if (rc == PDR_OK)
        rc = set_or_remove(&properties, "perdure", perdure, false, err);
    if (rc == PDR_OK)
        rc = set_or_remove(&made, properties_name, properties,
                           own == PDR_SHAPE_PYTHON, err);
    if (rc == PDR_OK)
        rc = pdr_value_compact(&made, err);
    pdr_value_free(note);
    pdr_value_free(perdure);
    pdr_value_free(properties);
    if (rc == PDR_OK)
        *out = made;
    else
        pdr_value_free(made);
    return rc;
}

/* --- wrapping ------------------------------------------------------------ */

/* What an item in an "unknown" content says of its own shape. */
static pdr_shape shape_of(const pdr_value *item)
{
    if (!is_string(pdr_value_get_c(item, "$type")) &&
        is_string(pdr_value_get_c(item, "type")))
        return PDR_SHAPE_PYTHON;
    return PDR_SHAPE_DOTNET;
}

static void put_properties(pdr_builder *to, pdr_shape own, pdr_shape shape,
                           const pdr_value *content)
{
    pdr_builder_name(to, pdr_str_c(pdr__properties_name(own)));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("perdure"));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("shape"));
    pdr_builder_string(to, pdr_str_c(pdr__shape_name(shape)));
    if (content != NULL) {
        pdr_builder_name(to, PDR_LIT("content"));
        pdr_builder_value(to, content);
    }
    pdr_builder_end(to);
    pdr_builder_end(to);
}

/* An item of `trip.from` that has no place in `trip.to`. */
static pdr_rc wrap(pdr_value **out, const pdr_value *item, struct trip trip,
                   pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_rc rc = pdr_builder_new(&to, err);

    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    if (trip.to == PDR_SHAPE_STATE) {
        pdr_builder_name(to, PDR_LIT("$type"));
        pdr_builder_string(to, PDR_LIT("unknown"));
        pdr_builder_name(to, PDR_LIT("content"));
        pdr_builder_value(to, item);
        if (shape_of(item) != trip.from)
            put_properties(to, trip.to, trip.from, NULL);
    } else {
        if (trip.to == PDR_SHAPE_PYTHON) {
            pdr_builder_name(to, PDR_LIT("type"));
            pdr_builder_string(to, PDR_LIT("unknown"));
        } else if (trip.to == PDR_SHAPE_SK) {
            pdr_builder_name(to, PDR_LIT("$type"));
            pdr_builder_string(to, PDR_LIT("TextContent"));
            pdr_builder_name(to, PDR_LIT("Text"));
            pdr_builder_string(to, PDR_LIT(""));
        }
        put_properties(to, trip.to, trip.from, item);
    }
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

struct wrapped {
    const pdr_value *item; /* borrowed */
    pdr_shape shape;
};

static bool read_shape(pdr_shape *out, const pdr_value *name)
{
    for (int i = PDR_SHAPE_STATE; i < PDR_SHAPES; i++) {
        *out = (pdr_shape)i;
        if (pdr_value_text_is(name, pdr_str_c(pdr__shape_name(*out))))
            return true;
    }
    return false;
}

/* Has the object the members that wrap() gives it and nothing else? */
static bool unwrap(struct wrapped *out, const pdr_value *content,
                   pdr_shape shape)
{
    const pdr_value *properties =
        pdr_value_get_c(content, pdr__properties_name(shape));
    const pdr_value *perdure = pdr_value_get_c(properties, "perdure");
    static const size_t members[] = {3, 1, 2, 3};
    bool state = shape == PDR_SHAPE_STATE;
    size_t most = state ? 1 : 2;

    if (state) {
        out->item = pdr_value_get_c(content, "content");
        if (pdr_content_kind_of(content, shape) != PDR_CONTENT_UNKNOWN ||
            pdr__is_nothing(out->item))
            return false;
        out->shape = shape_of(out->item);
        if (pdr_value_count(content) == 2)
            return true;
    } else {
        out->item = pdr_value_get_c(perdure, "content");
        if (shape == PDR_SHAPE_PYTHON &&
            !pdr_value_text_is(pdr_value_get_c(content, "type"),
                               PDR_LIT("unknown")))
            return false;
        if (shape == PDR_SHAPE_SK &&
            (pdr_content_kind_of(content, shape) != PDR_CONTENT_TEXT ||
             !pdr_value_text_is(pdr_value_get_c(content, "Text"), PDR_LIT(""))))
            return false;
    }
    return out->item != NULL && pdr_value_count(content) == members[shape] &&
           pdr_value_count(properties) == 1 &&
           pdr_value_count(perdure) == most &&
           read_shape(&out->shape, pdr_value_get_c(perdure, "shape")) &&
           out->shape != shape;
}

/* --- forms --------------------------------------------------------------- */

/* What Semantic Kernel distinguishes by media type, and the one that such a
 * content has if it does not say. They are those of its own conversion. */
static const struct {
    pdr_content_kind kind;
    const char *type, *media;
} media_kinds[] = {
    {PDR_CONTENT_IMAGE, "image", "image/*"},
    {PDR_CONTENT_AUDIO, "audio", "audio/*"},
    {PDR_CONTENT_BINARY, "", "application/octet-stream"},
};

/* The media type of a content, as it is spelled: nobody escapes letters. */
static pdr_str media_spelled(const pdr_value *content, pdr_shape shape)
{
    const pdr_value *media =
        pdr_content_get(content, shape, PDR_FIELD_MEDIA_TYPE);
    const pdr_value *uri = pdr_content_get(content, shape, PDR_FIELD_URI);

    if (pdr__is_media_type(media))
        return string_inner(media);
    return pdr__data_uri_media(uri != NULL ? string_inner(uri)
                                           : pdr_str_n("", 0));
}

/* Which row of media_kinds a media type belongs to. */
static size_t media_row(pdr_str media)
{
    size_t row = 0;

    for (; row + 1 < PDR_COUNT(media_kinds); row++) {
        pdr_str type = pdr_str_c(media_kinds[row].type);

        if (media.len > type.len &&
            (media.ptr[type.len] == '/' || media.ptr[type.len] == '\\') &&
            strncasecmp(media.ptr, type.ptr, type.len) == 0)
            break;
    }
    return row;
}

static size_t media_row_of(pdr_content_kind kind)
{
    size_t row = 0;

    while (media_kinds[row].kind != kind)
        row++;
    return row;
}

/* The kind that the note remembers, if that is still possible; else `kind`. */
static pdr_content_kind noted_kind(pdr_content_kind kind,
                                   const pdr_value *content, struct trip trip)
{
    const pdr_value *type = note_of(content, trip, "type");

    for (size_t i = 0; i < PDR_COUNT(renamed); i++) {
        if (trip.to == PDR_SHAPE_DOTNET && renamed[i].today == kind &&
            pdr_value_text_is(type, pdr_str_c(pdr_content_kind_name(
                                        renamed[i].old, trip.to))))
            return renamed[i].old;
    }
    for (size_t i = 0; i < PDR_COUNT(media_kinds); i++) {
        if (trip.to == PDR_SHAPE_SK && pdr__is_media(kind) &&
            pdr_value_text_is(type, pdr_str_c(pdr_content_kind_name(
                                        media_kinds[i].kind, trip.to))))
            return media_kinds[i].kind;
    }
    return kind;
}

/* What Semantic Kernel calls an image, audio or binary content is data if it
 * has bytes, else a uri. On the way there the media type says which, unless a
 * note does; on the way back the note is for those whose type says another. */
static void set_media(struct form *form, const pdr_value *content,
                      struct trip trip)
{
    size_t natural = media_row(media_spelled(content, trip.from));
    pdr_content_kind kind = form->kind;
    size_t row = 0;

    if (trip.from == PDR_SHAPE_SK)
        form->kind = pdr__member(content, "Data", PDR_STRING) != NULL
                         ? PDR_CONTENT_DATA
                         : PDR_CONTENT_URI;
    else
        kind = noted_kind(media_kinds[natural].kind, content, trip);
    row = media_row_of(kind);
    form->media = media_kinds[row].media;
    form->types[PDR_SHAPE_SK] = type_in(kind, PDR_SHAPE_SK);
    if (trip.from == PDR_SHAPE_SK && row != natural &&
        media_spelled(content, trip.from).len > 0)
        form->note = form->types[PDR_SHAPE_SK];
}

static struct form form_of(const pdr_value *content, struct trip trip)
{
    pdr_content_kind kind = pdr_content_kind_of(content, trip.from);
    struct form form = {.what = FORM_CONTENT, .kind = kind};

    if (trip.to == PDR_SHAPE_DOTNET)
        form.kind = noted_kind(kind, content, trip);
    if (pdr__is_media(kind) ||
        (trip.to == PDR_SHAPE_SK &&
         (kind == PDR_CONTENT_DATA || kind == PDR_CONTENT_URI)))
        set_media(&form, content, trip);
    form.rows = pdr__content_members(form.kind);
    for (int i = 0; i < PDR_SHAPES; i++) {
        if (form.types[i] == NULL)
            form.types[i] = type_in(form.kind, (pdr_shape)i);
    }
    /* Python calls it by its name of today. */
    if (trip.to == PDR_SHAPE_PYTHON && form.note == NULL &&
        pdr_content_kind_name(form.kind, trip.to)[0] == '\0')
        form.note = form.types[trip.from];
    return form;
}

/* Can the item be one in `trip.to`? */
static pdr_rc has_home(bool *out, const pdr_value *item, struct trip trip,
                       pdr_err *err)
{
    struct form form = form_of(item, trip);
    struct projection there;
    pdr_rc rc = PDR_OK;

    *out = form.types[trip.to][0] != '\0';
    if (!*out || trip.from == trip.to)
        return PDR_OK;
    rc = pdr__project(&there, &form, item, NULL, trip, true, err);
    *out = there.possible;
    pdr__projection_dispose(&there);
    return rc;
}

/* An item of an "unknown" content that its state document had a place for: it
 * is remembered that it was wrapped all the same. */
static pdr_rc convert_marked(pdr_value **out, const struct wrapped *wrapped,
                             pdr_shape to, pdr_err *err)
{
    struct trip trip = {wrapped->shape, to};
    pdr_value *item = NULL, *mark = NULL;
    pdr_rc rc = convert(&item, wrapped->item, trip, err);

    if (rc == PDR_OK)
        rc = pdr_value_new_string(
            &mark, pdr_str_c(pdr__shape_name(wrapped->shape)), err);
    if (rc == PDR_OK)
        rc = set_note(out, item, to, PDR_SHAPE_STATE, "wrapped", mark, err);
    pdr_value_free(mark);
    pdr_value_free(item);
    return rc;
}

/* *out stays NULL, with PDR_OK, if it has to be wrapped once more. */
static pdr_rc convert_wrapped(pdr_value **out, const pdr_value *content,
                              struct trip trip, pdr_err *err)
{
    struct wrapped wrapped = {NULL, trip.from};
    struct trip again, on;
    bool here = false, there = false;
    pdr_rc rc = PDR_OK;

    if (!unwrap(&wrapped, content, trip.from))
        return PDR_OK;
    again = (struct trip){wrapped.shape, trip.from};
    on = (struct trip){wrapped.shape, trip.to};
    rc = has_home(&here, wrapped.item, again, err);
    if (rc == PDR_OK)
        rc = has_home(&there, wrapped.item, on, err);
    if (rc != PDR_OK)
        return rc;
    if (!here && wrapped.shape == trip.to) {
        *out = pdr_value_ref(wrapped.item);
        return PDR_OK;
    }
    if (trip.from == PDR_SHAPE_STATE && there)
        return convert_marked(out, &wrapped, trip.to, err);
    return here ? PDR_OK : convert(out, wrapped.item, on, err); /* V1 */
}

/* The way back of convert_marked(). *out stays NULL if there was no mark. */
static pdr_rc convert_mark(pdr_value **out, const pdr_value *content,
                           struct trip trip, pdr_err *err)
{
    struct trip inner = {trip.from, PDR_SHAPE_STATE};
    const pdr_value *mark = note_of(content, trip, "wrapped");
    pdr_value *plain = NULL, *item = NULL;
    pdr_rc rc = PDR_OK;

    if (trip.to != PDR_SHAPE_STATE || mark == NULL ||
        !read_shape(&inner.to, mark) || inner.to == PDR_SHAPE_STATE)
        return PDR_OK;
    rc = set_note(&plain, content, trip.from, PDR_SHAPE_STATE, "", NULL, err);
    if (rc == PDR_OK)
        rc = convert(&item, plain, inner, err);
    inner.from = inner.to;
    inner.to = PDR_SHAPE_STATE;
    if (rc == PDR_OK)
        rc = wrap(out, item, inner, err);
    pdr_value_free(item);
    pdr_value_free(plain);
    return rc;
}

/* --- contents ------------------------------------------------------------ */

static pdr_rc convert_known(pdr_value **out, const pdr_value *content,
                            struct trip trip, pdr_err *err)
{
    struct form form = form_of(content, trip);

    if (form.types[trip.to][0] == '\0')
        return PDR_OK;
    return pdr__form_convert(out, &form, content, trip, err);
}

/* A text that stands where Python takes it for a content. It is carried as it
 * is, also with half a surrogate pair, which pdr_content_new() would refuse. */
static pdr_rc convert_text(pdr_value **out, const pdr_value *text,
                           struct trip trip, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_rc rc = pdr_builder_new(&to, err);

    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    pdr_builder_name(to, pdr_str_c(pdr__type_name(trip.to)));
    pdr_builder_string(to, pdr_str_c(type_in(PDR_CONTENT_TEXT, trip.to)));
    pdr_builder_name(to, pdr_str_c(pdr__content_member(PDR_CONTENT_TEXT,
                                                       trip.to, PDR_FIELD_TEXT)
                                       ->names[trip.to]));
    pdr_builder_value(to, text);
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

static pdr_rc convert(pdr_value **out, const pdr_value *content,
                      struct trip trip, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (trip.from == trip.to || pdr_value_kind(content) == PDR_NULL) {
        *out = pdr_value_ref(content);
        return PDR_OK;
    }
    if (trip.from == PDR_SHAPE_PYTHON && is_string(content))
        return convert_text(out, content, trip, err);
    rc = convert_mark(out, content, trip, err);
    if (rc == PDR_OK && *out == NULL)
        rc = convert_wrapped(out, content, trip, err);
    if (rc == PDR_OK && *out == NULL)
        rc = convert_known(out, content, trip, err);
    if (rc == PDR_OK && *out == NULL)
        rc = wrap(out, content, trip, err);
    return rc;
}

pdr_rc pdr__nested_convert(pdr_value **out, const pdr_value *content,
                           struct trip trip, pdr_err *err)
{
    return convert(out, content, trip, err);
}

/* --- without loss -------------------------------------------------------- */

typedef pdr_rc (*convert_fn)(pdr_value **out, const pdr_value *value,
                             struct trip trip, pdr_err *err);

/* How something is converted, and when it is the same again. */
struct manner {
    convert_fn fn;
    bool ordered; /* members stand where they stood */
};

static pdr_rc convert_surely(pdr_value **out, bool *sure,
                             const pdr_value *value, struct trip trip,
                             struct manner how, pdr_err *err);

static pdr_rc are_same(bool *out, const pdr_value *a, const pdr_value *b,
                       struct manner how, pdr_err *err)
{
    if (!how.ordered)
        return pdr_value_equal_unordered(out, a, b, err);
    *out = pdr_value_equal(a, b);
    return PDR_OK;
}

/* The source that was kept as a whole, if converting it again gives this value.
 * *out stays NULL otherwise. */
static pdr_rc take_whole(pdr_value **out, const pdr_value *value,
                         struct trip trip, struct manner how, pdr_err *err)
{
    const pdr_value *whole = note_of(value, trip, "whole");
    pdr_value *again = NULL;
    bool same = false, sure = false;
    pdr_rc rc = PDR_OK;

    if (whole == NULL)
        return PDR_OK;
    rc = convert_surely(&again, &sure, whole, trip_back(trip), how, err);
    if (rc == PDR_OK)
        rc = are_same(&same, again, value, how, err);
    pdr_value_free(again);
    if (rc == PDR_OK && same)
        *out = pdr_value_ref(whole);
    return rc;
}

/* V2: does the source come back? */
static pdr_rc comes_back(bool *out, const pdr_value *made,
                         const pdr_value *value, struct trip trip,
                         struct manner how, pdr_err *err)
{
    pdr_value *back = NULL;
    pdr_rc rc = how.fn(&back, made, trip_back(trip), err);

    if (rc == PDR_OK)
        rc = are_same(out, back, value, how, err);
    pdr_value_free(back);
    return rc;
}

/* `sure`: see pdr__message_convert_ordered(). A whole source in the result is
 * looked at first on the way back, which was not tried here. */
static pdr_rc convert_surely(pdr_value **out, bool *sure,
                             const pdr_value *value, struct trip trip,
                             struct manner how, pdr_err *err)
{
    pdr_value *made = NULL, *noted = NULL;
    bool same = false;
    pdr_rc rc = take_whole(out, value, trip, how, err);

    *sure = false;
    if (rc != PDR_OK || *out != NULL)
        return rc;
    rc = how.fn(&made, value, trip, err);
    if (rc == PDR_OK)
        rc = comes_back(&same, made, value, trip, how, err);
    if (rc == PDR_OK && !same)
        rc = pdr_value_kind(made) == PDR_OBJECT
                 ? set_note(&noted, made, trip.to, trip.from, "whole", value,
                            err)
                 : wrap(&noted, value, trip, err);
    if (rc == PDR_OK) {
        *sure = same && note_of(made, trip_back(trip), "whole") == NULL;
        *out = pdr_value_ref(noted != NULL ? noted : made);
    }
    pdr_value_free(noted);
    pdr_value_free(made);
    return rc;
}

pdr_rc pdr_content_convert(pdr_value **out, const pdr_value *content,
                           pdr_shape from, pdr_shape to, pdr_err *err)
{
    struct trip trip = {from, to};
    bool sure = false;

    PDR_REQUIRE(out != NULL && content != NULL);
    *out = NULL;
    if (from == to || pdr_value_kind(content) == PDR_NULL) {
        *out = pdr_value_ref(content);
        return PDR_OK;
    }
    return convert_surely(out, &sure, content, trip,
                          (struct manner){convert, false}, err);
}

/* --- messages ------------------------------------------------------------ */

static pdr_rc convert_message(pdr_value **out, const pdr_value *message,
                              struct trip trip, pdr_err *err)
{
    if (pdr_value_kind(message) != PDR_OBJECT) {
        *out = pdr_value_ref(message); /* what is no message stays what it is */
        return PDR_OK;
    }
    return pdr__form_convert(out, &pdr__form_message, message, trip, err);
}

static pdr_rc message_in(pdr_value **out, bool *sure, const pdr_value *message,
                         struct trip trip, bool ordered, pdr_err *err)
{
    *out = NULL;
    *sure = true;
    if (trip.from == trip.to || pdr_value_kind(message) != PDR_OBJECT) {
        *out = pdr_value_ref(message); /* what is no message stays what it is */
        return PDR_OK;
    }
    return convert_surely(out, sure, message, trip,
                          (struct manner){convert_message, ordered}, err);
}

pdr_rc pdr_message_convert(pdr_value **out, const pdr_value *message,
                           pdr_shape from, pdr_shape to, pdr_err *err)
{
    struct trip trip = {from, to};
    bool sure = false;

    PDR_REQUIRE(out != NULL && message != NULL);
    return message_in(out, &sure, message, trip, false, err);
}

pdr_rc pdr__message_convert_ordered(pdr_value **out, bool *sure,
                                    const pdr_value *message, pdr_shape from,
                                    pdr_shape to, pdr_err *err)
{
    struct trip trip = {from, to};

    return message_in(out, sure, message, trip, true, err);
}
