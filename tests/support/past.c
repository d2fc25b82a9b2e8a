/* past.c - see past.h. */
#include "past.h"

#include <inttypes.h>

#include <perdure/archive.h>

#define NOW_MS INT64_C(1700000000000)

/* --- texts ---------------------------------------------------------------- */

struct spelling {
    const char *call, *result, *request, *response;
};

/* By shape; ids stand for %s. */
static const struct spelling spellings[] = {
    {"{\"$type\":\"functionCall\",\"callId\":\"%s\",\"name\":\"f\"}",
     "{\"$type\":\"functionResult\",\"callId\":\"%s\",\"result\":1}",
     "{\"$type\":\"unknown\",\"content\":{\"$type\":\"toolApprovalRequest\","
     "\"requestId\":\"%s\",\"toolCall\":{\"$type\":\"functionCall\","
     "\"callId\":\"call=%s\"}}}",
     "{\"$type\":\"unknown\",\"content\":{\"type\":"
     "\"function_approval_response\",\"id\":\"%s\"}}"},
    {"{\"$type\":\"functionCall\",\"callId\":\"%s\",\"name\":\"f\"}",
     "{\"$type\":\"functionResult\",\"callId\":\"%s\",\"result\":1}",
     "{\"$type\":\"toolApprovalRequest\",\"requestId\":\"%s\",\"toolCall\":{"
     "\"$type\":\"functionCall\",\"callId\":\"call=%s\"}}",
     "{\"$type\":\"toolApprovalResponse\",\"requestId\":\"%s\"}"},
    {"{\"type\":\"function_call\",\"call_id\":\"%s\",\"name\":\"f\"}",
     "{\"type\":\"function_result\",\"call_id\":\"%s\",\"result\":\"1\"}",
     "{\"type\":\"function_approval_request\",\"id\":\"%s\",\"function_call\":{"
     "\"type\":\"function_call\",\"call_id\":\"call=%s\"}}",
     "{\"type\":\"function_approval_response\",\"id\":\"%s\"}"},
#define WRAPPED(item)                                         \
    "{\"$type\":\"TextContent\",\"Text\":\"\",\"Metadata\":{" \
    "\"perdure\":{\"shape\":\"dotnet\",\"content\":" item "}}}"
    {"{\"$type\":\"FunctionCallContent\",\"Id\":\"%s\",\"FunctionName\":"
     "\"f\"}",
     "{\"$type\":\"FunctionResultContent\",\"CallId\":\"%s\",\"Result\":1}",
     WRAPPED("{\"$type\":\"toolApprovalRequest\",\"requestId\":\"%s\","
             "\"toolCall\":{\"$type\":\"functionCall\",\"callId\":"
             "\"call=%s\"}}"),
     WRAPPED("{\"$type\":\"toolApprovalResponse\",\"requestId\":\"%s\"}")},
#undef WRAPPED
};

struct reader {
    struct past *past;
    FILE *out;
    const char *at;
    pdr_row_shape shape;
    size_t message;
    bool first; /* of the contents of a message */
};

/* What follows the mark, up to the next one. */
static void read_id(char out[24], struct reader *r)
{
    size_t len = strcspn(r->at, " #@+-?!|");

    ASSERT(len < 24);
    memcpy(out, r->at, len);
    out[len] = '\0';
    r->at += len;
}

static const char *role_of(char letter)
{
    return strchr("uqQ", letter) != NULL ? "user"
           : letter == 't'               ? "tool"
           : letter == 's'               ? "system"
                                         : "assistant";
}

static void add_item(struct reader *r, char mark)
{
    const struct spelling *spelling = &spellings[r->shape];
    struct past_item *item = &r->past->items[r->past->item_count++];
    const char *form = mark == '+'   ? spelling->call
                       : mark == '-' ? spelling->result
                       : mark == '?' ? spelling->request
                                     : spelling->response;

    item->type = mark == '+'   ? PAST_CALL
                 : mark == '-' ? PAST_RESULT
                 : mark == '?' ? PAST_REQUEST
                               : PAST_RESPONSE;
    item->entry = r->past->count;
    item->message = r->message;
    read_id(item->id, r);
    fputs(r->first ? "" : ",", r->out);
    r->first = false;
    for (const char *p = form; *p != '\0'; p++) {
        if (p[0] == '%' && p[1] == 's') {
            fputs(item->id, r->out);
            p++;
        } else {
            fputc(*p, r->out);
        }
    }
}

static void begin_message(struct reader *r, char letter)
{
    fprintf(r->out,
            r->shape == PDR_ROW_SK ? "{\"Role\":{\"Label\":\"%s\"},\"Items\":["
                                   : "{\"role\":\"%s\",\"contents\":[",
            role_of(letter));
    r->first = true;
}

/* Marks behind the letter, and the contents that they make. */
static void read_marks(struct reader *r, pdr_entry *row, char letter,
                       char *correlation_id)
{
    char number[24];

    while (*r->at != ' ' && *r->at != '\0') {
        char mark = *r->at++;

        if (mark == '#') {
            read_id(correlation_id, r);
        } else if (mark == '@') {
            read_id(number, r);
            row->created_ms = strtoll(number, NULL, 10);
        } else if (mark == '|') {
            fputs("]},", r->out);
            r->message++;
            begin_message(r, letter);
        } else {
            ASSERT(strchr("+-?!", mark) != NULL);
            add_item(r, mark);
        }
    }
}

/* One word. Offsets into the text stand where pointers will. */
static void read_word(struct reader *r, pdr_row_shape messages)
{
    pdr_entry *row = &r->past->rows[r->past->count];
    char letter = *r->at++, correlation_id[24] = "";
    bool request = letter == 'q' || letter == 'Q';
    bool response = letter == 'r' || letter == 'R';
    bool entry = letter == 'q' || letter == 'r' ||
                 ((request || response) && messages == PDR_ROW_STATE);
    long from = ftell(r->out);

    row->seq = r->past->count + 1;
    row->kind = request         ? PDR_ROW_REQUEST
                : response      ? PDR_ROW_RESPONSE
                : letter == 'c' ? PDR_ROW_RECORD
                : letter == 'o' ? PDR_ROW_OTHER
                                : PDR_ROW_MESSAGE;
    row->shape = r->shape = entry ? PDR_ROW_STATE : messages;
    r->message = 0;
    if (entry)
        fprintf(r->out, "{\"$type\":\"%s\",\"messages\":[",
                request ? "request" : "response");
    begin_message(r, letter);
    read_marks(r, row, letter, correlation_id);
    fputs(entry ? "]}]}" : "]}", r->out);
    row->body.len = (size_t)(ftell(r->out) - from);
    fprintf(r->out, "%s", correlation_id);
    row->correlation_id.len = strlen(correlation_id);
    r->past->count++;
}

void past_read(struct past *out, const char *text, pdr_row_shape shape)
{
    struct reader r = {.past = out, .at = text};
    size_t len = 0;
    char *at = NULL;

    memset(out, 0, sizeof(*out));
    out->rows = calloc(strlen(text) + 1, sizeof(*out->rows));
    out->items = calloc(strlen(text) + 1, sizeof(*out->items));
    r.out = open_memstream(&out->memory, &len);
    while (*(r.at += strspn(r.at, " ")) != '\0')
        read_word(&r, shape);
    fclose(r.out);
    at = out->memory;
    for (size_t i = 0; i < out->count; i++) {
        pdr_entry *row = &out->rows[i];

        row->body.ptr = at;
        at += row->body.len;
        if (row->correlation_id.len > 0)
            row->correlation_id.ptr = at;
        at += row->correlation_id.len;
    }
}

void past_dispose(struct past *past)
{
    free(past->rows);
    free(past->items);
    free(past->memory);
}

uint64_t past_commit(pdr_store *store, const struct past *past, int64_t now_ms,
                     size_t step)
{
    const pdr_commit_options options = {.now_ms = now_ms};
    pdr_edit edit = {.ref = {.id = pdr_str_c("s")}};
    pdr_committed done = {0};
    size_t at = 0;

    do {
        pdr_err err = PDR_ERR_INIT;

        edit.entries = past->rows + at;
        edit.entry_count = past->count - at;
        if (step > 0 && edit.entry_count > step)
            edit.entry_count = step;
        if (pdr_store_commit(&done, store, &edit, 1, &options, &err) != PDR_OK)
            fail_msg("not committed: %s (%s)", err.message, err.path);
        edit.revision = done.revision;
        at += edit.entry_count;
    } while (at < past->count);
    return done.revision;
}

void past_long(struct past *out, int turns)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);

    for (int i = 0; i < turns; i++) {
        fprintf(file, " u a+%d t", 3 * i + 1);
        if (i % 9 == 5)
            fprintf(file, "-%d", 3 * (i - i % 5) + 1);
    }
    fclose(file);
    past_read(out, text, PDR_ROW_DOTNET);
    free(text);
}

bool past_long_is_torn(const struct past *past, uint64_t through)
{
    for (size_t i = 0; i < past->item_count; i++) {
        const struct past_item *item = &past->items[i];

        if (item->type == PAST_RESULT && item->entry >= through &&
            strtoull(item->id, NULL, 10) < through)
            return true;
    }
    return false;
}

/* --- the model ------------------------------------------------------------ */

static bool begins_turn(const struct past *past, size_t i)
{
    const pdr_entry *row = &past->rows[i];

    return row->kind == PDR_ROW_REQUEST ||
           (row->kind == PDR_ROW_MESSAGE &&
            memmem(row->body.ptr, row->body.len, ":\"user\"", 7) != NULL);
}

/* Is entry `i` the beginning of another turn than the one before it? */
static bool divides(const struct past *past, size_t i)
{
    bool before = false;

    for (size_t k = 0; k < i && k < past->count; k++)
        before |= begins_turn(past, k);
    return i > 0 && (i == past->count || (before && begins_turn(past, i)));
}

static bool is_seen(const struct past *past, const struct past_item *item)
{
    pdr_row_kind kind = past->rows[item->entry].kind;

    return kind != PDR_ROW_RECORD && kind != PDR_ROW_OTHER;
}

/* Is the call inside of `item`, a request for an approval, what `answer`
 * closes? */
static bool opens_inside(const struct past_item *item,
                         const struct past_item *answer)
{
    char inner[40];

    snprintf(inner, sizeof(inner), "call=%s", item->id);
    return item->type == PAST_REQUEST && answer->type == PAST_RESULT &&
           strcmp(inner, answer->id) == 0;
}

/* Does `item` open what `answer` closes? */
static bool opens(const struct past_item *item, const struct past_item *answer)
{
    enum past_type type =
        answer->type == PAST_RESPONSE ? PAST_REQUEST : PAST_CALL;

    return (item->type == type && strcmp(item->id, answer->id) == 0) ||
           opens_inside(item, answer);
}

/* The entry of the call that item `k` answers; SIZE_MAX: none. The last message
 * before it that has such a call, if that has more of them than were answered
 * since. */
static size_t call_of(const struct past *past, size_t k)
{
    const struct past_item *answer = &past->items[k], *last = NULL;
    size_t calls = 0, answers = 0;

    for (size_t i = 0; i < k; i++) {
        const struct past_item *item = &past->items[i];

        if (!is_seen(past, item))
            continue;
        if (opens(item, answer)) {
            if (last == NULL || last->entry != item->entry ||
                last->message != item->message)
                calls = answers = 0;
            last = item;
            /* The call may stand beside the request for its approval. */
            if (!opens_inside(item, answer) || calls == answers)
                calls++;
        } else if (item->type == answer->type &&
                   strcmp(item->id, answer->id) == 0 && answers < calls) {
            answers++;
        }
    }
    return calls > answers ? last->entry : SIZE_MAX;
}

/* Would a cut in front of entry `i` leave an answer without its call? */
static bool tears(const struct past *past, size_t i)
{
    for (size_t k = 0; k < past->item_count; k++) {
        const struct past_item *item = &past->items[k];

        if (item->entry >= i && is_seen(past, item) &&
            (item->type == PAST_RESULT || item->type == PAST_RESPONSE) &&
            call_of(past, k) < i)
            return true;
    }
    return false;
}

static bool is_older(const struct past *past, size_t i, int64_t before_ms)
{
    for (size_t k = 0; k < i; k++) {
        if (past->rows[k].created_ms >= before_ms)
            return false;
    }
    return true;
}

static uint64_t turns_from(const struct past *past, size_t i)
{
    uint64_t turns = i < past->count;

    for (size_t k = i + 1; k < past->count; k++)
        turns += divides(past, k);
    return turns;
}

size_t past_expected(uint64_t *turns, const struct past *past,
                     const struct past_rule *rule)
{
    size_t best = 0;

    for (size_t i = 1; i <= past->count; i++) {
        bool goes =
            (rule->keep_turns > 0 && turns_from(past, i) >= rule->keep_turns) ||
            (rule->before_ms != 0 && is_older(past, i, rule->before_ms));

        if (divides(past, i) && goes && !tears(past, i))
            best = i;
    }
    *turns = turns_from(past, 0) - turns_from(past, best);
    return best;
}

/* --- random histories ------------------------------------------------------
 */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t below(uint64_t *state, size_t n)
{
    return (size_t)(next_random(state) >> 33) % n;
}

void past_random(char *out, size_t room, struct past_rule *rule, uint64_t seed)
{
    static const char letters[] = "qqrrQQRRuuaaattsco";
    static const char marks[] = "++++----?!";
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    size_t entries = 0, len = 0;
    int64_t at = 100;

    (void)next_random(&state);
    (void)next_random(&state);
    entries = below(&state, 40);
    out[0] = '\0';
    for (size_t i = 0; i < entries && len + 120 < room; i++) {
        char letter = letters[below(&state, sizeof(letters) - 1)];
        size_t items = below(&state, 3);

        at += (int64_t)below(&state, 20) - 4;
        len +=
            (size_t)snprintf(out + len, room - len, " %c@%" PRId64, letter, at);
        if (strchr("qrQR", letter) != NULL)
            len += (size_t)snprintf(out + len, room - len, "#%zu",
                                    below(&state, 20));
        for (size_t k = 0; k < items; k++) {
            char mark = marks[below(&state, sizeof(marks) - 1)];
            const char *call =
                mark == '-' && below(&state, 4) == 0 ? "call=" : "";

            if ((letter == 'q' || letter == 'r') && below(&state, 4) == 0)
                len += (size_t)snprintf(out + len, room - len, "|");
            len += (size_t)snprintf(out + len, room - len, "%c%s%zu", mark,
                                    call, below(&state, 12));
        }
    }
    rule->keep_turns = below(&state, 4) == 0 ? 0 : 1 + below(&state, 6);
    rule->before_ms = rule->keep_turns == 0 || below(&state, 3) == 0
                          ? 90 + (int64_t)below(&state, 150)
                          : 0;
}

/* --- comparing -------------------------------------------------------------
 */

static const char *compare(pdr_store *store, const struct past *past,
                           const struct past_rule *rule,
                           const pdr_retain_report *report)
{
    static char said[200];
    const pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref = {.id = pdr_str_c("s")}, .limit = 200};
    uint64_t turns = 0;
    size_t expected = past_expected(&turns, past, rule);
    pdr_page *page = NULL;
    bool same = false;

    if (pdr_store_read(&page, store, &query, NULL) != PDR_OK)
        return "the rest cannot be read";
    snprintf(said, sizeof(said),
             "expected entries from %zu and %" PRIu64
             " turns gone, got %" PRIu64 " and %" PRIu64,
             expected + 1, turns, page->head.first_seq, report->turns);
    same = page->head.first_seq == expected + 1 &&
           page->head.next_seq == past->count + 1 && report->turns == turns &&
           report->entries == expected &&
           report->revision == page->head.revision;
    for (size_t i = 0; same && i < page->count; i++)
        same =
            pdr_str_equal(page->entries[i].body, past->rows[expected + i].body);
    pdr_page_free(page);
    if (same && pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL) != PDR_OK)
        return "the rest is not whole";
    return same ? NULL : said;
}

const char *past_try(const char *text, pdr_row_shape shape,
                     const struct past_rule *rule)
{
    const pdr_retain_opts opts = {.ref = {.id = pdr_str_c("s")},
                                  .keep_turns = rule->keep_turns,
                                  .before_ms = rule->before_ms,
                                  .now_ms = NOW_MS};
    pdr_retain_report report;
    struct past past;
    pdr_store *store = NULL;
    const char *wrong = NULL;
    pdr_err err = PDR_ERR_INIT;

    past_read(&past, text, shape);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    (void)past_commit(store, &past, NOW_MS, 0);
    if (pdr_retain(&report, store, &opts, &err) != PDR_OK)
        fail_msg("%s: %s", text, err.message);
    wrong = compare(store, &past, rule, &report);
    pdr_store_close(store);
    past_dispose(&past);
    return wrong;
}

size_t past_try_random(uint64_t seed, size_t count, bool loud)
{
    size_t wrong = 0;

    for (size_t i = 0; i < count; i++) {
        static char text[8192];
        struct past_rule rule;
        const char *said = NULL;

        past_random(text, sizeof(text), &rule, seed + i);
        said = past_try(text, (pdr_row_shape)(i % 4), &rule);
        if (said == NULL)
            continue;
        wrong++;
        if (loud)
            print_error("seed %" PRIu64 ", keep %" PRIu64 ", before %" PRId64
                        ":%s\n  %s\n",
                        seed + i, rule.keep_turns, rule.before_ms, text, said);
    }
    return wrong;
}
