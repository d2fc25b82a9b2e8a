/*
 * entry.c - what a store must know of an entry: kind, correlation id, time.
 *
 * WHY  An entry may have tens of megabytes, and no value is made of it. What
 *      counts is in members of its first level, as src/doc/entry.c reads them;
 *      they are noted while the entry goes by. Of several members with
 *      one name the last counts, here too.
 */
#include "import.h"

enum member { NO_MEMBER, TYPE, OLD_TYPE, CORRELATION_ID, CREATED_AT };

/* What `$type` or `json_type` says. */
enum type { NOTHING, REQUEST, RESPONSE, ANOTHER };

void pdr__entry_note_init(struct pdr__entry_note *note, pdr_row_shape shape,
                          size_t depth)
{
    note->shape = shape;
    note->depth = depth;
    note->member = NO_MEMBER;
    note->type = NOTHING;
    note->old = NOTHING;
    note->created_ms = PDR_NO_TIME;
    note->id_len = 0;
}

static enum member member_of(const struct pdr__entry_note *note,
                             const pdr_value *name)
{
    if (note->shape == PDR_ROW_PYTHON)
        return pdr_value_text_is(name, PDR_LIT("created_at")) ? CREATED_AT
                                                              : NO_MEMBER;
    if (note->shape == PDR_ROW_DOTNET)
        return pdr__name_is(name, "createdAt", PDR_SHAPE_DOTNET) ? CREATED_AT
                                                                 : NO_MEMBER;
    if (pdr_value_text_is(name, PDR_LIT("$type")))
        return TYPE;
    if (pdr_value_text_is(name, PDR_LIT("json_type")))
        return OLD_TYPE;
    if (pdr_value_text_is(name, PDR_LIT("correlationId")))
        return CORRELATION_ID;
    return pdr_value_text_is(name, PDR_LIT("createdAt")) ? CREATED_AT
                                                         : NO_MEMBER;
}

static enum type type_of(const pdr_value *value)
{
    if (pdr__is_nothing(value) || pdr_value_text_is(value, PDR_LIT("")))
        return NOTHING;
    if (pdr_value_text_is(value, PDR_LIT("request")))
        return REQUEST;
    return pdr_value_text_is(value, PDR_LIT("response")) ? RESPONSE : ANOTHER;
}

/* PDR_NO_TIME if it is not a time. A commit takes 0 for its own time, so the
 * first millisecond of 1970 is told as the next one. */
static int64_t time_of(const pdr_value *value)
{
    pdr_datetime time;
    int64_t ms = 0;

    if (!pdr__read_datetime(&time, value))
        return PDR_NO_TIME;
    ms = (time.ticks - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    return ms != 0 ? ms : 1;
}

int64_t pdr__body_time(const pdr_value *body, pdr_row_shape shape)
{
    if (shape == PDR_ROW_SK)
        return PDR_NO_TIME; /* such a message never says */
    if (shape == PDR_ROW_PYTHON)
        return time_of(pdr_value_get_c(body, "created_at"));
    return time_of(pdr__find_member(body, "createdAt",
                                    shape == PDR_ROW_DOTNET ? PDR_SHAPE_DOTNET
                                                            : PDR_SHAPE_STATE));
}

/* An id that no row can have stays in the body alone. */
static pdr_rc note_id(struct pdr__entry_note *note, const pdr_value *value,
                      pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    note->id_len = 0;
    if (value == NULL || pdr_value_kind(value) != PDR_STRING ||
        pdr_value_has_lone_surrogate(value))
        return PDR_OK;
    PDR_TRY(pdr_value_text(&text, value, &scratch, err));
    if (text.len > 0 && text.len <= sizeof(note->id) &&
        memchr(text.ptr, '\0', text.len) == NULL) {
        memcpy(note->id, text.ptr, text.len);
        note->id_len = text.len;
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

pdr_rc pdr__entry_note_feed(struct pdr__entry_note *note,
                            const struct pdr__source *source, pdr_err *err)
{
    bool begins = pdr__source_begins(source);
    const pdr_value *value = begins ? NULL : source->value;

    if (source->depth != note->depth + begins ||
        (!begins && source->event != PDR_NAME && source->event != PDR_SCALAR))
        return PDR_OK;
    if (source->event == PDR_NAME) {
        note->member = (int)member_of(note, value);
        return PDR_OK;
    }
    switch ((enum member)note->member) {
    case TYPE:
        note->type = (int)(value != NULL ? type_of(value) : ANOTHER);
        break;
    case OLD_TYPE:
        note->old = (int)(value != NULL ? type_of(value) : ANOTHER);
        break;
    case CREATED_AT:
        note->created_ms = time_of(value);
        break;
    case CORRELATION_ID:
        return note_id(note, value, err);
    case NO_MEMBER:
        break;
    }
    return PDR_OK;
}

pdr_row_kind pdr__entry_note_kind(const struct pdr__entry_note *note)
{
    int type = note->type != NOTHING ? note->type : note->old;

    if (note->shape != PDR_ROW_STATE)
        return PDR_ROW_MESSAGE;
    if (type == REQUEST)
        return PDR_ROW_REQUEST;
    return type == RESPONSE ? PDR_ROW_RESPONSE : PDR_ROW_OTHER;
}
