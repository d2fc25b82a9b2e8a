/*
 * words.c - the spelling of enums in tables and messages.
 *
 * They are columns of stores: a word that was written once is never respelled.
 */
#include "store.h"

static const char *const states[] = {
    [PDR_SESSION_IDLE] = "idle",       [PDR_SESSION_RUNNING] = "running",
    [PDR_SESSION_WAITING] = "waiting", [PDR_SESSION_EXPIRED] = "expired",
    [PDR_SESSION_UNSEEN] = "unseen",
};

static const char *const kinds[] = {
    [PDR_ROW_REQUEST] = "request", [PDR_ROW_RESPONSE] = "response",
    [PDR_ROW_MESSAGE] = "message", [PDR_ROW_RECORD] = "record",
    [PDR_ROW_OTHER] = "other",
};

static const char *const shapes[] = {
    [PDR_ROW_STATE] = "state",
    [PDR_ROW_DOTNET] = "dotnet",
    [PDR_ROW_PYTHON] = "python",
    [PDR_ROW_SK] = "sk",
};

static const char *const parts[] = {
    [PDR_PART_JOURNAL] = "journal",
    [PDR_PART_STREAM] = "stream",
    [PDR_PART_INBOX] = "inbox",
};

/* "?" for a number that is no value of its enum. */
static const char *word_of(const char *const *words, size_t count, size_t value)
{
    return value < count ? words[value] : "?";
}

/* Place of the word; `count` if it is none of them. */
static size_t place_of(const char *const *words, size_t count, pdr_str word)
{
    size_t i = 0;

    while (i < count && !pdr_str_equal(pdr_str_c(words[i]), word))
        i++;
    return i;
}

const char *pdr__session_state_word(pdr_session_state state)
{
    return word_of(states, PDR_COUNT(states), (size_t)state);
}

const char *pdr__row_kind_word(pdr_row_kind kind)
{
    return word_of(kinds, PDR_COUNT(kinds), (size_t)kind);
}

const char *pdr__row_shape_word(pdr_row_shape shape)
{
    return word_of(shapes, PDR_COUNT(shapes), (size_t)shape);
}

const char *pdr__part_word(pdr_part part)
{
    return word_of(parts, PDR_COUNT(parts), (size_t)part);
}

bool pdr__session_state_read(pdr_session_state *out, pdr_str word)
{
    size_t place = place_of(states, PDR_COUNT(states), word);

    if (place < PDR_COUNT(states))
        *out = (pdr_session_state)place;
    return place < PDR_COUNT(states);
}

bool pdr__row_kind_read(pdr_row_kind *out, pdr_str word)
{
    size_t place = place_of(kinds, PDR_COUNT(kinds), word);

    if (place < PDR_COUNT(kinds))
        *out = (pdr_row_kind)place;
    return place < PDR_COUNT(kinds);
}

bool pdr__row_shape_read(pdr_row_shape *out, pdr_str word)
{
    size_t place = place_of(shapes, PDR_COUNT(shapes), word);

    if (place < PDR_COUNT(shapes))
        *out = (pdr_row_shape)place;
    return place < PDR_COUNT(shapes);
}

bool pdr__part_read(pdr_part *out, pdr_str word)
{
    size_t place = place_of(parts, PDR_COUNT(parts), word);

    if (place < PDR_COUNT(parts))
        *out = (pdr_part)place;
    return place < PDR_COUNT(parts);
}
