/*
 * json_takes_too_much.c - a reader that does not look behind the document.
 * Linked with the differential test in the place of pdr_json_read(); must fail
 * there.
 */
#include <perdure.h>

pdr_rc __real_pdr_json_read(pdr_value **out, pdr_str text,
                            const pdr_read_opts *opts, pdr_err *err);
pdr_rc __wrap_pdr_json_read(pdr_value **out, pdr_str text,
                            const pdr_read_opts *opts, pdr_err *err);

pdr_rc __wrap_pdr_json_read(pdr_value **out, pdr_str text,
                            const pdr_read_opts *opts, pdr_err *err)
{
    pdr_read_opts loose = {.flags = PDR_TRAILING};

    (void)opts;
    return __real_pdr_json_read(out, text, &loose, err);
}
