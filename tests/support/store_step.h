/*
 * store_step.h - one step of a stage as a value: made, changed, committed.
 */
#ifndef PDR_TEST_STORE_STEP_H
#define PDR_TEST_STORE_STEP_H

#include "test.h"

#include <perdure/sys/store.h>

struct store_step {
    pdr_stage_verb verb;
    pdr_stage stage;
    pdr_rows rows;
    pdr_show_opts show;
};

static inline struct store_step step_of(const char *id, pdr_stage_verb verb,
                                        uint64_t epoch, int64_t until_ms)
{
    return (struct store_step){.verb = verb,
                               .stage = {.ref = {.id = pdr_str_c(id)},
                                         .epoch = epoch,
                                         .until_ms = until_ms}};
}

/* The step as a request; borrowed from it. */
static inline pdr_request step_request(const struct store_step *step,
                                       int64_t now_ms)
{
    return (pdr_request){.verb = step->verb,
                         .stage = &step->stage,
                         .rows = &step->rows,
                         .show = &step->show,
                         .options = {.now_ms = now_ms}};
}

/* Through the call that a request is for. The stage of a step keeps its epoch;
 * what the call makes of it is checked. */
static inline pdr_rc commit_request(pdr_committed *out, pdr_store *store,
                                    const pdr_request *r, pdr_err *err)
{
    pdr_stage stage;
    pdr_committed done = {0};
    uint64_t epoch = 0;
    pdr_rc rc = PDR_OK;

    if (r->verb == PDR_STAGE_NONE)
        return pdr_store_commit(out, store, r->edits, r->count, &r->options,
                                err);
    stage = *r->stage;
    if (r->verb == PDR_STAGE_BEGIN)
        rc = pdr_stage_begin(&done, store, &stage, r->rows, &r->options, err);
    else if (r->verb == PDR_STAGE_ADD)
        rc = pdr_stage_add(&done, store, &stage, r->rows, &r->options, err);
    else if (r->verb == PDR_STAGE_SHOW)
        rc = pdr_stage_show(&done, store, &stage, r->rows, r->show, &r->options,
                            err);
    else
        rc = pdr_stage_abandon(store, &stage, &r->options, err);
    if (rc == PDR_OK && r->verb < PDR_STAGE_SHOW)
        epoch = done.epoch;
    ASSERT(stage.epoch == (rc == PDR_OK ? epoch : r->stage->epoch));
    if (rc == PDR_OK && out != NULL)
        *out = done;
    return rc;
}

static inline pdr_rc commit_step(pdr_committed *out, pdr_store *store,
                                 const struct store_step *step, int64_t now_ms,
                                 pdr_err *err)
{
    const pdr_request request = step_request(step, now_ms);

    return commit_request(out, store, &request, err);
}

/* The rows of an edit that stages take, too; and back. */
static inline pdr_rows rows_of_edit(const pdr_edit *edit)
{
    return (pdr_rows){.frame = edit->frame,
                      .entries = edit->entries,
                      .entry_count = edit->entry_count,
                      .slots = edit->slots,
                      .slot_count = edit->slot_count,
                      .properties = edit->properties,
                      .property_count = edit->property_count,
                      .completions = edit->completions,
                      .completion_count = edit->completion_count};
}

static inline void edit_set_rows(pdr_edit *edit, const pdr_rows *rows)
{
    edit->frame = rows->frame;
    edit->entries = rows->entries;
    edit->entry_count = rows->entry_count;
    edit->slots = rows->slots;
    edit->slot_count = rows->slot_count;
    edit->properties = rows->properties;
    edit->property_count = rows->property_count;
    edit->completions = rows->completions;
    edit->completion_count = rows->completion_count;
}

#endif
