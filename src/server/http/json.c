/*
 * json.c - JSON of replies, written as it comes, and pages of lists.
 *
 * WHY  Bodies of the store are JSON already: they go into a reply as they are,
 *      and nothing is read to be written again. A reply may have a line for
 *      each item, so an end of a line becomes a space; in JSON it can only
 *      stand where a space can.
 */
#include <inttypes.h>
#include <stdio.h>

#include <perdure/datetime.h>
#include <perdure/json.h>

#include "http.h"

#include "core.h"

static void json_put(struct pdr__json *j, pdr_str text)
{
    if (j->rc == PDR_OK)
        j->rc = pdr_buf_append(j->out, text, j->err);
}

/* What stands in front of a value: a comma if there was one before, and its
 * name; NULL: it has none. */
static void json_name(struct pdr__json *j, const char *name)
{
    char last = j->out->len > 0 ? j->out->ptr[j->out->len - 1] : '\n';

    if (strchr("{[:\n", last) == NULL)
        json_put(j, PDR_LIT(","));
    if (name == NULL)
        return;
    json_put(j, PDR_LIT("\""));
    json_put(j, pdr_str_c(name));
    json_put(j, PDR_LIT("\":"));
}

void pdr__json_begin(struct pdr__json *j, const char *name, char mark)
{
    json_name(j, name);
    json_put(j, pdr_str_n(&mark, 1));
}

void pdr__json_end(struct pdr__json *j, char mark)
{
    json_put(j, pdr_str_n(&mark, 1));
}

void pdr__json_raw(struct pdr__json *j, const char *name, pdr_str text)
{
    size_t from = 0;

    json_name(j, name);
    from = j->out->len;
    json_put(j, text.ptr != NULL ? text : PDR_LIT("null"));
    for (size_t i = from; i < j->out->len; i++) {
        if (j->out->ptr[i] == '\n' || j->out->ptr[i] == '\r')
            j->out->ptr[i] = ' ';
    }
}

void pdr__json_escaped(struct pdr__json *j, const char *name, pdr_str text)
{
    json_name(j, name);
    json_put(j, PDR_LIT("\""));
    json_put(j, text);
    json_put(j, PDR_LIT("\""));
}

void pdr__json_text(struct pdr__json *j, const char *name, pdr_str text)
{
    if (text.ptr == NULL) {
        pdr__json_raw(j, name, text);
        return;
    }
    json_name(j, name);
    json_put(j, PDR_LIT("\""));
    if (j->rc == PDR_OK)
        j->rc = pdr__text_encode(j->out, text, j->err);
    json_put(j, PDR_LIT("\""));
}

void pdr__json_value(struct pdr__json *j, const char *name,
                     const pdr_value *value)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_str raw = {NULL, 0};

    if (!pdr_value_raw(&raw, value) && j->rc == PDR_OK) {
        j->rc = pdr_json_write(&text, value, NULL, j->err);
        raw = pdr_buf_str(&text);
    }
    pdr__json_raw(j, name, raw);
    pdr_buf_dispose(&text);
}

void pdr__json_number(struct pdr__json *j, const char *name, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    pdr__json_raw(j, name, pdr_str_c(text));
}

void pdr__json_bool(struct pdr__json *j, const char *name, bool truth)
{
    pdr__json_raw(j, name, truth ? PDR_LIT("true") : PDR_LIT("false"));
}

/* A time that no date can say, as that of nothing, is null. */
void pdr__json_time(struct pdr__json *j, const char *name, int64_t ms)
{
    const int64_t first = -PDR_TICKS_UNIX_EPOCH / PDR_TICKS_PER_MS;
    const int64_t last =
        (PDR_MAX_TICKS - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    pdr_datetime at;

    if (ms < first || ms > last) {
        pdr__json_raw(j, name, pdr_str_n(NULL, 0));
        return;
    }
    at = pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH + ms * PDR_TICKS_PER_MS);
    json_name(j, name);
    json_put(j, PDR_LIT("\""));
    if (j->rc == PDR_OK)
        j->rc = pdr_datetime_write(j->out, &at, PDR_DATETIME_OURS_Z, j->err);
    json_put(j, PDR_LIT("\""));
}

void pdr__json_digest(struct pdr__json *j, const char *name,
                      const uint8_t digest[PDR_DIGEST_BYTES])
{
    char text[2 * PDR_DIGEST_BYTES + 1];

    pdr__hex(text, digest, PDR_DIGEST_BYTES);
    pdr__json_escaped(j, name, pdr_str_n(text, sizeof(text) - 1));
}

pdr_rc pdr__json_send(struct pdr__json *j, struct pdr__exchange *x,
                      unsigned status)
{
    if (j->rc == PDR_OK)
        pdr__reply_begin(x, status, PDR_TYPE_JSON);
    return j->rc;
}

/* --- what was sent ---------------------------------------------------------
 */

pdr_rc pdr__body_read(pdr_value **out, struct pdr__exchange *x,
                      const char *const *known, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = pdr_json_read(out, pdr_buf_str(&x->body), NULL, err);

    if (rc != PDR_OK)
        return rc;
    if (pdr_value_kind(*out) != PDR_OBJECT) {
        pdr__reply_refuse(x, 400, "the body has to be a JSON object");
        return PDR_OK;
    }
    pdr_iter_init(&it, *out);
    while (known != NULL && pdr_iter_next(&it)) {
        bool is_known = false;

        for (const char *const *name = known; *name != NULL; name++)
            is_known |= pdr_value_text_is(it.name, pdr_str_c(*name));
        if (!is_known) {
            pdr__reply_refuse(x, 400,
                              "the body has a member that nobody knows here");
            break;
        }
    }
    return PDR_OK;
}

pdr_rc pdr__body_text(pdr_str *out, struct pdr__exchange *x,
                      const pdr_value *body, const char *name, pdr_err *err)
{
    const pdr_value *member = pdr_value_get_c(body, name);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    *out = pdr_str_n(NULL, 0);
    if (member != NULL && pdr_value_kind(member) != PDR_NULL) {
        PDR_TRY(pdr_value_text(out, member, &scratch, err));
        PDR_TRY(pdr__arena_keep(out, &x->memory, err));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

bool pdr__query_is_set(const struct pdr__exchange *x, const char *name)
{
    pdr_str text = pdr__query_get(x, name);

    return pdr_str_equal(text, PDR_LIT("true")) ||
           pdr_str_equal(text, PDR_LIT("1"));
}

bool pdr__query_number(uint64_t *out, struct pdr__exchange *x, const char *name)
{
    pdr_str text = pdr__query_get(x, name);

    if (text.ptr == NULL || pdr__number_read(out, text))
        return true;
    pdr__reply_refuse(x, 400, "a number of the query is no decimal number");
    return false;
}

pdr_rc pdr__ms_read(int64_t *out, pdr_str text, pdr_err *err)
{
    pdr_datetime at;
    pdr_rc rc = pdr_datetime_read(&at, text, err);

    if (rc == PDR_OK)
        *out = (at.ticks - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    return rc;
}

int64_t pdr__wall_ms(void)
{
    return (pdr_now() - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
}

/* --- lists -----------------------------------------------------------------
 */

#define MAX_LIMIT 200

bool pdr__list_ask(pdr_query *query, struct pdr__exchange *x)
{
    uint64_t limit = 50;

    if (!pdr__query_number(&limit, x, "limit"))
        return false;
    if (limit < 1 || limit > MAX_LIMIT) {
        pdr__reply_refuse(x, 400, "'limit' is a number from 1 to 200");
        return false;
    }
    query->limit = (size_t)limit;
    query->after = pdr__query_get(x, "cursor");
    return true;
}

void pdr__list_begin(struct pdr__json *j, const struct pdr__exchange *x)
{
    j->is_lines = pdr__accepts(x, "application/x-ndjson") ||
                  pdr__accepts(x, "application/jsonl");
    if (j->is_lines)
        return;
    pdr__json_begin(j, NULL, '{');
    pdr__json_begin(j, "items", '[');
}

void pdr__list_item_end(struct pdr__json *j)
{
    json_put(j, j->is_lines ? PDR_LIT("}\n") : PDR_LIT("}"));
}

pdr_rc pdr__list_send(struct pdr__json *j, struct pdr__exchange *x,
                      pdr_str next)
{
    if (!j->is_lines) {
        pdr__json_end(j, ']');
        pdr__json_text(j, "next", next);
        pdr__json_end(j, '}');
    }
    if (j->rc != PDR_OK)
        return j->rc;
    pdr__reply_begin(x, 200, j->is_lines ? PDR_TYPE_NDJSON : PDR_TYPE_JSON);
    pdr__reply_header(x, "X-Next-Cursor", next);
    return PDR_OK;
}
