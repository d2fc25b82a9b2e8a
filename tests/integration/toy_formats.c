/*
 * toy_formats.c - another formats.c: the formats of the library, and one that
 * neither it nor the command has ever heard of. What works with that one cannot
 * depend on the name of a format.
 */
#include "cli.h"
#include "toy.h"

#define MAX_CODECS 16

const pdr_codec *const *cli_codecs(size_t *count)
{
    static const pdr_codec *all[MAX_CODECS];
    size_t own = 0;
    const pdr_codec *const *codecs = pdr_codecs(&own);

    if (own >= MAX_CODECS)
        own = MAX_CODECS - 1;
    for (size_t i = 0; i < own; i++)
        all[i] = codecs[i];
    all[own] = toy_codec();
    *count = own + 1;
    return all;
}

const char *cli_lines_form(void)
{
    return "toys";
}
