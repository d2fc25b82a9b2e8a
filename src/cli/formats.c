/*
 * formats.c - the formats of the command: the only place here that knows them.
 *
 * Everything else asks this list, so a format that is added to the library is
 * there at once. A test builds the command with another file in its place.
 */
#include "cli.h"

const pdr_codec *const *cli_codecs(size_t *count)
{
    return pdr_codecs(count);
}

const char *cli_lines_form(void)
{
    return "jsonl";
}
