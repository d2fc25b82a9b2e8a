/* What is read as a date-time can be written, and reads back as the same
 * instant at the same offset, as far as the form has room. All bytes of the
 * input were read: with a stray one anywhere it is refused. */
#include "fuzz.h"

#include "base.h"

static bool is_dotnet_offset(int offset_min)
{
    return offset_min >= -14 * 60 && offset_min <= 14 * 60;
}

/* Write and read back. `unit` is what the form keeps, in ticks. */
static void check_form(const pdr_datetime *value, pdr_datetime_form form,
                       int64_t unit, bool keeps_offset)
{
    pdr_buf text = PDR_BUF_INIT(40), again = PDR_BUF_INIT(40);
    pdr_datetime back;

    MUST(pdr_datetime_write(&text, value, form, NULL) == PDR_OK);
    MUST(pdr_datetime_read(&back, pdr_buf_str(&text), NULL) == PDR_OK);
    MUST(back.ticks == value->ticks - value->ticks % unit);
    MUST(back.offset_min == (keeps_offset ? value->offset_min : 0));
    MUST(back.has_time);
    MUST(pdr_datetime_write(&again, &back, form, NULL) == PDR_OK);
    MUST(pdr_str_equal(pdr_buf_str(&text), pdr_buf_str(&again)));
    pdr_buf_dispose(&again);
    pdr_buf_dispose(&text);
}

static void check_refused(const pdr_datetime *value, pdr_datetime_form form)
{
    pdr_buf text = PDR_BUF_INIT(40);

    MUST(pdr_datetime_write(&text, value, form, NULL) == PDR_EINVALID);
    MUST(text.len == 0);
    pdr_buf_dispose(&text);
}

/* A byte that can stand nowhere in a date-time is refused wherever it stands,
 * so the reader has seen all of them. */
static void check_all_bytes_count(const uint8_t *data, size_t size)
{
    pdr_datetime value;
    char copy[64];

    for (size_t at = 0; at <= size && size < sizeof(copy); at++) {
        memcpy(copy, data, at);
        copy[at] = '?';
        memcpy(copy + at + 1, data + at, size - at);
        pdr_err err = PDR_ERR_INIT;
        MUST(pdr_datetime_read(&value, pdr_str_n(copy, size + 1), &err) ==
             PDR_EINVALID);
        MUST(err.offset >= 0 && err.offset <= (int64_t)at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str input = {(const char *)data, size};
    pdr_datetime value;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_datetime_read(&value, input, &err) != PDR_OK) {
        MUST(err.offset >= 0 && err.offset <= (int64_t)size);
        return 0;
    }
    MUST(value.ticks >= 0 && value.ticks <= PDR_MAX_TICKS);
    MUST(value.has_offset || value.offset_min == 0);
    if (is_dotnet_offset(value.offset_min))
        check_form(&value, PDR_DATETIME_DOTNET_OFFSET, 1, true);
    else
        check_refused(&value, PDR_DATETIME_DOTNET_OFFSET);
    check_form(&value, PDR_DATETIME_DOTNET_UTC, 1, false);
    check_form(&value, PDR_DATETIME_PYTHON, 10, true);
    check_form(&value, PDR_DATETIME_OURS, 10, false);
    check_form(&value, PDR_DATETIME_OURS_Z, 10, false);
    check_all_bytes_count(data, size);
    return 0;
}
