/*
 * agent_file.c - definition files, as the agent commands load them.
 */
#include "agent_parts.h"

#include <string.h>

#define MAX_FILE_BYTES ((uint64_t)2 << 20) /* twice what can be loaded */

pdr_rc agt_load(const pdr_host_agent **out, pdr_host *host, pdr_buf *text,
                const struct cli *cli, const char *path,
                pdr_definition definition, pdr_err *err, pdr_notice_fn fn,
                void *arg)
{
    const struct cli_limits limits = {.max_bytes = MAX_FILE_BYTES};
    const char *slash = strrchr(path, '/');
    pdr_buf folder = PDR_BUF_INIT(SIZE_MAX);
    struct cli_input in;
    pdr_rc rc = PDR_OK;

    CLI_TRY(cli_input_open(&in, cli, path, err));
    rc = cli_input_rest(text, &in, &limits, err);
    cli_input_close(&in);
    if (rc != PDR_OK)
        goto done;
    if (slash != NULL) {
        cli_putf(&folder, "%.*s", (int)(slash + 1 - path), path);
        cli_must(pdr_buf_append(&folder, pdr_str_n("", 1), NULL), NULL);
        definition.folder = folder.ptr;
    }
    definition.text = pdr_buf_str(text);
    CLI_TRY(pdr_host_load(out, host, &definition, err, fn, arg));
done:
    pdr_buf_dispose(&folder);
    return rc;
}

int agt_fail(const struct cli *cli, const char *path, pdr_str text,
             const pdr_err *err)
{
    const struct cli_about about = {
        .name = cli_input_name(path),
        .input = text,
        /* hints about documents name options that are not here */
        .hint = (err->code == PDR_EINVALID || err->code == PDR_ELIMIT) &&
                        strcmp(err->reason, "bad_utf8") != 0
                    ? ""
                    : NULL};

    return cli_fail(cli, &about, err);
}

void agt_put_place(pdr_buf *out, const char *path, const pdr_notice *notice)
{
    cli_show(out, pdr_str_c(cli_input_name(path)), CLI_TEXT_LINE);
    cli_putf(out, ":%zu:%zu: ", notice->line, notice->column);
}
