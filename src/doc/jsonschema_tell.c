/*
 * jsonschema_tell.c - saying which rule is broken, and where.
 *
 * WHY  A check visits many places and tells of few. So the way to a place is a
 *      list of frames on the stack, and becomes text only for a finding: one
 *      pointer into the value, one into the schema. The latter goes by way of
 *      the references that were followed, as in "/properties/a/$ref/type",
 *      because that is why the rule holds here.
 */
#include <stdio.h>

#include "jsonschema_check.h"

void pdr__schema_err_path(pdr_err *err, pdr_str pointer)
{
    pdr_buf path = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);

    if (err != NULL && pdr__text_encode(&path, pointer, NULL) == PDR_OK)
        pdr__err_path(err, pdr_buf_str(&path));
    pdr_buf_dispose(&path);
}

static pdr_rc push_name(pdr_buf *to, struct schema_check *check,
                        const pdr_value *name, pdr_err *err)
{
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&text, name, &check->work.scratch, err);

    return rc == PDR_OK ? pdr_pointer_push(to, text, err) : rc;
}

/* RECURSION  As deep as the check, a few words a level. */
static pdr_rc write_instance(struct schema_check *check,
                             const struct frame *frame, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (frame->up == NULL)
        return PDR_OK;
    rc = write_instance(check, frame->up, err);
    if (rc == PDR_OK && frame->name != NULL)
        rc = push_name(&check->instance, check, frame->name, err);
    else if (rc == PDR_OK && frame->index != PDR__NONE)
        rc = pdr_buf_printf(&check->instance, err, "/%zu", frame->index);
    return rc;
}

static pdr_rc write_schema(struct schema_check *check,
                           const struct frame *frame, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (frame->up == NULL)
        return PDR_OK;
    rc = write_schema(check, frame->up, err);
    if (rc == PDR_OK)
        rc = pdr_pointer_push(&check->schema, pdr_str_c(frame->keyword), err);
    if (rc == PDR_OK && frame->sub_name != NULL)
        rc = push_name(&check->schema, check, frame->sub_name, err);
    else if (rc == PDR_OK && frame->sub_index != PDR__NONE)
        rc = pdr_buf_printf(&check->schema, err, "/%zu", frame->sub_index);
    return rc;
}

pdr_rc pdr__check_place(struct schema_check *check, const struct frame *frame,
                        pdr_rc rc, pdr_err *err)
{
    pdr_buf_clear(&check->instance);
    if (err != NULL && write_instance(check, frame, NULL) == PDR_OK)
        pdr__schema_err_path(err, pdr_buf_str(&check->instance));
    return rc;
}

pdr_rc pdr__check_tell(struct schema_check *check, const struct frame *frame,
                       const char *keyword, pdr_err *err, const char *fmt, ...)
{
    pdr_schema_finding finding = {0};
    char text[400]; /* longer than any text of ours; cut if not */
    va_list args;
    pdr_rc rc = PDR_OK;

    if (!check_is_loud(check))
        return PDR_OK;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    pdr_buf_clear(&check->instance);
    pdr_buf_clear(&check->schema);
    rc = write_instance(check, frame, err);
    if (rc == PDR_OK)
        rc = write_schema(check, frame, err);
    if (rc == PDR_OK && keyword != NULL)
        rc = pdr_pointer_push(&check->schema, pdr_str_c(keyword), err);
    if (rc == PDR_OK)
        rc = pdr__schema_step(
            &check->work,
            (check->instance.len + check->schema.len) / SCHEMA_STEP_BYTES, err);
    if (rc != PDR_OK)
        return rc == PDR_ELIMIT ? pdr__check_place(check, frame, rc, err) : rc;
    finding.keyword = keyword != NULL ? keyword : frame->keyword;
    finding.instance = pdr_buf_str(&check->instance);
    finding.schema = pdr_buf_str(&check->schema);
    finding.text = pdr_str_c(text);
    finding.value = frame->value;
    return check->fn(&finding, err, check->arg);
}
