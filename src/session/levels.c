/*
 * levels.c - how deep is a session?
 *
 * WHY  The root of a session or state document is its first level, wherever it
 *      stands. A list, a wrapper and a bundle put levels around it that are
 *      none of its own:
 *
 *        [ {"session": {"perdure": {"document": {"data": …}}}} ]
 *                      1                        1        2
 *
 * NOT HERE  Streams that are never a value: archive/split.c.
 */
#include "doc.h"
#include "shape.h"

/* Levels of an object that stands below `above` others; its member `apart` is
 * counted by `fn`, from wherever that begins. */
static size_t levels_but(const pdr_value *object, size_t above,
                         const char *apart, size_t (*fn)(const pdr_value *))
{
    size_t most = above + 1;
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        bool is_apart = pdr_value_kind(it.value) == PDR_OBJECT &&
                        string_is(it.name, pdr_str_c(apart));
        size_t levels =
            is_apart ? fn(it.value) : above + 1 + pdr__levels(it.value);

        if (levels > most)
            most = levels;
    }
    return most;
}

/* The member `perdure`, below the root. */
static size_t own_levels(const pdr_value *own)
{
    return levels_but(own, 1, "document", pdr__levels);
}

size_t pdr__session_levels(const pdr_value *value)
{
    pdr_session_shape shape = PDR_SESSION_NATIVE;
    pdr_session_kind kind = PDR_SESSION_KIND_UNSTATED;

    if (!pdr__session_recognise(&shape, &kind, value) ||
        shape != PDR_SESSION_NATIVE)
        return pdr__levels(value);
    return levels_but(value, 0, "perdure", own_levels);
}

size_t pdr__element_levels(const pdr_value *value)
{
    return pdr_session_looks(value) == PDR_LOOKS_WRAPPER
               ? levels_but(value, 0, "session", pdr__session_levels)
               : pdr__session_levels(value);
}
