/*
 * turns.c - where a history may be cut.
 *
 * WHY  Retention removes whole turns, and never a call whose result stays. Both
 *      are decided here on entries, in their order, without a store.
 *
 *      entry   1   2   3   4   5   6   7   8   9
 *              user    user        user    user
 *              call x          result x
 *      cuts        3     ▲         6       8
 *                        └─ the result at 5 takes 3 back
 *
 *      Each turn that ends and goes adds a cut. A result whose call is in
 *      an earlier turn takes back all cuts after the beginning of that turn:
 *      they are the last ones, so the list is a stack. What is left when all
 *      entries have been seen that could still answer a call are the places
 *      where nothing is torn apart, each of them alone.
 *
 * INVARIANTS
 *   T1  Cuts are at beginnings of turns, or after the last entry, in order.
 *   T2  No entry from a cut on answers a call before it, as far as entries were
 *       handed in.
 *   T3  The cut after the last entry is there only as long as nothing comes
 *       that belongs to the turn in front of it.
 *   T4  A turn begins with a request, or with a message of a user. What comes
 *       before the first of them belongs to the first turn; everything else to
 *       the turn that it is in.
 *   T5  An entry whose time nobody knows is not older than anything, unless the
 *       rule counts it from the import.
 */
#include "retain.h"

#include "doc.h"

bool pdr__turn_begins(const pdr_entry *row, const pdr_value *body)
{
    const pdr_value *role = NULL;

    if (row->kind != PDR_ROW_MESSAGE)
        return row->kind == PDR_ROW_REQUEST;
    role = pdr_message_role(body, pdr__shape_of_row(row->shape));
    return role != NULL && pdr__is_folded(role, PDR_LIT("user"));
}

void pdr__survey_init(struct pdr__survey *survey, uint64_t first)
{
    *survey = (struct pdr__survey){
        .first = first,
        .next = first,
        .turn = first,
        .limit = PDR_NO_TURN,
        .calls = PDR_CALLS_INIT,
    };
}

void pdr__survey_dispose(struct pdr__survey *survey)
{
    pdr__calls_dispose(&survey->calls);
    pdr__free(survey->cuts);
}

static void set_limit(struct pdr__survey *survey, uint64_t limit)
{
    survey->limit = limit;
    pdr__calls_limit(&survey->calls, limit);
}

/* The turn ended before entry `seq`: does it go? */
static pdr_rc end_turn(struct pdr__survey *survey, uint64_t seq, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (!survey->aging && seq > survey->count_limit) {
        set_limit(survey, survey->turn);
        return PDR_OK;
    }
    survey->turns++;
    survey->turn = seq;
    PDR_TRY(pdr__grow((void **)&survey->cuts, &survey->cap, survey->count + 1,
                      sizeof(*survey->cuts), err));
    survey->cuts[survey->count++] = (struct pdr__cut){seq, survey->turns};
done:
    return rc;
}

/* Is an entry older than the rule by age says? One without a time is not, or
 * counts from the import. In a session that was imported bodies say the times:
 * libraries that wrote version 2 of a store, or an older one, gave the row of
 * an entry without a time that of the one before it, or of the import. Where a
 * body says nothing, a row that is later than the import was appended here. */
static pdr_rc check_age(struct pdr__survey *survey, const pdr_entry *row,
                        const pdr_value *body, pdr_err *err)
{
    const pdr_entry any = {.kind = PDR_ROW_MESSAGE, .body = row->body};
    int64_t time = row->created_ms;
    pdr_value *own = NULL;
    pdr_rc rc = PDR_OK;

    if (survey->read_times) {
        if (body == NULL) /* of a kind that no model sees */
            rc = pdr__row_body(&own, &any, err);
        time = pdr__body_time(body != NULL ? body : own, row->shape);
        pdr_value_free(own);
        if (time == PDR_NO_TIME && row->created_ms > survey->import_ms)
            time = row->created_ms;
    }
    if (time == PDR_NO_TIME && survey->from_import)
        time = survey->import_ms;
    if (time == PDR_NO_TIME)
        survey->untimed = row->seq;
    survey->aging = time != PDR_NO_TIME && time < survey->before_ms;
    return rc;
}

/* Is this entry, `begins` a turn, where nothing goes any more? */
static pdr_rc find_limit(struct pdr__survey *survey, const pdr_entry *row,
                         const pdr_value *body, bool begins, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (row->seq == survey->first)
        survey->aging = survey->by_age;
    if (begins && survey->begun)
        PDR_TRY(end_turn(survey, row->seq, err));
    survey->begun = survey->begun || begins;
    if (survey->aging)
        PDR_TRY(check_age(survey, row, body, err));
    if (survey->limit == PDR_NO_TURN && !survey->aging &&
        survey->turn >= survey->count_limit)
        set_limit(survey, survey->turn);
done:
    return rc;
}

pdr_rc pdr__survey_add(struct pdr__survey *survey, const pdr_entry *row,
                       pdr_err *err)
{
    pdr_value *body = NULL;
    uint64_t back = PDR_NO_TURN;
    bool begins = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__row_body(&body, row, err));
    begins = pdr__turn_begins(row, body);
    /* It came after what was the last one: if its turn had been taken for
     * over, that stays now, whatever its age (T3). */
    if (!begins && survey->at_end && survey->count > 0 &&
        survey->cuts[survey->count - 1].seq == row->seq)
        survey->count--;
    survey->at_end = false;
    if (survey->limit == PDR_NO_TURN)
        PDR_TRY(find_limit(survey, row, body, begins, err));
    PDR_TRY(pdr__calls_read(
        &back, &survey->calls, row, body,
        survey->limit == PDR_NO_TURN ? survey->turn : survey->limit, err));
    /* It answers a call of turn `back`, and is not cut off from it. One that
     * is gone had not been answered then. */
    while (back != PDR_NO_TURN && back >= survey->first && survey->count > 0 &&
           survey->cuts[survey->count - 1].seq > back)
        survey->count--;
done:
    survey->next = row->seq + 1;
    pdr_value_free(body);
    return rc;
}

pdr_rc pdr__survey_end(struct pdr__survey *survey, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (survey->limit != PDR_NO_TURN)
        return PDR_OK;
    survey->at_end = survey->aging && survey->next > survey->first;
    if (survey->at_end)
        PDR_TRY(end_turn(survey, survey->next, err));
    set_limit(survey, survey->turn);
done:
    return rc;
}

bool pdr__survey_is_done(const struct pdr__survey *survey)
{
    return survey->limit != PDR_NO_TURN &&
           (survey->count == 0 ||
            (survey->calls.waiting == 0 && !survey->at_end));
}
