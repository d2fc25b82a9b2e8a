/*
 * json_shifts_offset.c - a reader whose errors point one byte too far. Linked
 * with the corpus runner in the place of pdr_json_read(); must fail there.
 */
#include <perdure.h>

pdr_rc __real_pdr_json_read(pdr_value **out, pdr_str text,
                            const pdr_read_opts *opts, pdr_err *err);
pdr_rc __wrap_pdr_json_read(pdr_value **out, pdr_str text,
                            const pdr_read_opts *opts, pdr_err *err);

pdr_rc __wrap_pdr_json_read(pdr_value **out, pdr_str text,
                            const pdr_read_opts *opts, pdr_err *err)
{
    pdr_rc rc = __real_pdr_json_read(out, text, opts, err);

    if (rc != PDR_OK && err != NULL && err->offset >= 0)
        err->offset++;
    return rc;
}
