/*
 * session_info.c - what a session is, in a few words and numbers.
 */
#include "session_parts.h"

#include <stdlib.h>

/* --- ids ----------------------------------------------------------------- */

void ses_put_durable_id(pdr_buf *out, pdr_session *session)
{
    pdr_str agent, key;

    if (!pdr_session_durable_id(&agent, &key, session))
        return;
    cli_put(out, "@dafx-");
    cli_must(pdr_buf_append(out, agent, NULL), NULL);
    cli_put(out, "@");
    cli_must(pdr_buf_append(out, key, NULL), NULL);
}

void ses_put_id(pdr_buf *out, pdr_session *session)
{
    pdr_str id = pdr_session_id(session);

    if (id.len == 0)
        ses_put_durable_id(out, session);
    cli_must(pdr_buf_append(out, id, NULL), NULL);
}

pdr_session *ses_session_in(const pdr_value *value)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_session *session = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_session_looks(value) != PDR_LOOKS_WRAPPER) {
        rc = pdr_session_from_value(&session, value, NULL);
    } else {
        rc = pdr_session_wrapper_from_value(&wrapper, value, NULL, NULL, NULL,
                                            NULL);
        session = wrapper.session;
        wrapper.session = NULL;
        pdr_session_wrapper_dispose(&wrapper);
    }
    if (rc == PDR_ENOMEM)
        cli_must(rc, NULL);
    return session;
}

pdr_str ses_service_text(const pdr_value *id, pdr_buf *scratch)
{
    return pdr_value_kind(id) == PDR_STRING ? doc_text(id, scratch)
                                            : doc_json_spaced(id, scratch);
}

/* --- all of it ----------------------------------------------------------- */

void ses_info_of(struct ses_info *out, pdr_session *session)
{
    /* Where a service id is, in all shapes; and the texts that two editions
     * write there for "history is local". */
    static const char *const names[] = {"conversationId", "service_session_id",
                                        "service_thread_id"};
    static const char *const sentinels[] = {
        "_agent_local_chat_history",
        "agent_framework_local_history_persistence"};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    ses_put_id(&out->id, session);
    out->kind = pdr_session_get_kind(session);
    out->shape = pdr_session_get_shape(session);
    cli_must(pdr_session_to_value(&out->document, session, &err), &err);
    cli_must(pdr_session_service_id(&out->service, session, &err), &err);
    for (size_t i = 0; i < CLI_COUNT(names) && out->service == NULL; i++) {
        const pdr_value *id = pdr_value_get_c(out->document, names[i]);

        if (id != NULL && pdr_value_kind(id) == PDR_STRING)
            out->unused = id;
    }
    for (size_t i = 0; i < CLI_COUNT(sentinels); i++)
        if (pdr_value_text_is(out->unused, pdr_str_c(sentinels[i])))
            out->is_sentinel = true;
    rc = pdr_session_history(&out->history, session, &out->history_err);
    if (rc != PDR_EINVALID)
        cli_must(rc, &out->history_err);
    out->slots = pdr_bag_count(pdr_session_bag(session));
    out->bytes = doc_bytes(out->document);
}

void ses_info_free(struct ses_info *info)
{
    pdr_value_free(info->document);
    pdr_value_free(info->service);
    pdr_value_free(info->history);
    pdr_buf_dispose(&info->id);
    *info = (struct ses_info)SES_INFO_INIT;
}

void ses_info_service(pdr_builder *to, const struct ses_info *info)
{
    cli_member_text(to, "shape",
                    pdr_str_c(pdr_session_shape_name(info->shape)));
    if (info->service != NULL) {
        pdr_builder_name(to, pdr_str_c("serviceId"));
        pdr_builder_value(to, info->service);
    }
    if (info->unused != NULL) {
        pdr_builder_name(to, pdr_str_c("unusedServiceId"));
        pdr_builder_value(to, info->unused);
    }
}

void ses_info_members(pdr_builder *to, const struct ses_info *info)
{
    if (info->id.len > 0)
        cli_member_text(to, "id", pdr_buf_str(&info->id));
    cli_member_text(to, "kind", pdr_str_c(pdr_session_kind_name(info->kind)));
    ses_info_service(to, info);
    if (info->history != NULL)
        cli_member_count(to, "messages", pdr_value_count(info->history));
    if (info->history_err.code != PDR_OK)
        cli_member_text(to, "historyError",
                        pdr_str_c(info->history_err.message));
    cli_member_count(to, "slots", info->slots);
    cli_member_count(to, "bytes", info->bytes);
}

/* --- generations --------------------------------------------------------- */

const char *ses_generation_text(char *out, const pdr_generation *generation)
{
    for (size_t i = 0; i < sizeof(generation->sha256); i++)
        snprintf(out + 2 * i, 3, "%02x", generation->sha256[i]);
    return out;
}

bool ses_generation_read(pdr_generation *out, const char *text)
{
    size_t len = strlen(text);

    if (len != 2 * sizeof(out->sha256) ||
        strspn(text, "0123456789abcdefABCDEF") != len)
        return false;
    for (size_t i = 0; i < sizeof(out->sha256); i++) {
        const char digits[] = {text[2 * i], text[2 * i + 1], '\0'};

        out->sha256[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    out->exists = true;
    return true;
}

/* --- printing ------------------------------------------------------------ */

#define LABEL_CELLS 10 /* where the texts begin */

void ses_label(FILE *out, const struct cli *cli, size_t width,
               const char *label, pdr_str text)
{
    bool colored = cli->color_out;
    pdr_buf flown = PDR_BUF_INIT(SIZE_MAX);

    cli_flow(&flown, text, LABEL_CELLS, LABEL_CELLS, width);
    fprintf(out, "%s%-*s%s%.*s\n", cli_on(colored, CLI_CYAN), LABEL_CELLS,
            label, cli_off(colored), (int)flown.len, flown.ptr);
    pdr_buf_dispose(&flown);
}

pdr_builder *ses_object_new(void)
{
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    return to;
}

void ses_object_print(const struct cli *cli, FILE *out, pdr_builder *to)
{
    pdr_builder_end(to);
    ses_print_built(cli, out, to);
    pdr_builder_free(to);
}

void ses_print_built(const struct cli *cli, FILE *out, pdr_builder *built)
{
    const pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), shown = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_finish(&value, built, &err), &err);
    cli_must(pdr_json_write(&text, value, &opts, &err), &err);
    if (out == stdout) {
        cli_print(cli, pdr_buf_str(&text));
    } else {
        cli_show(&shown, pdr_buf_str(&text), CLI_TEXT_PAGE);
        cli_fprintf(out, "%.*s", (int)shown.len, shown.ptr);
    }
    fputs("\n", out);
    pdr_buf_dispose(&shown);
    pdr_buf_dispose(&text);
    pdr_value_free(value);
}
