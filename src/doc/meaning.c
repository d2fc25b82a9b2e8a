/*
 * meaning.c - does the conversation in a document make sense?
 *
 * WHY  A document can have every member in its place and still be of no use: a
 *      tool call without a result makes a model refuse the whole conversation,
 *      two responses with one id hide each other. This check says so before a
 *      run fails, and says what to do.
 *
 * How: first the calls (pairs.c) and the turns (turns.c) are sorted out. Then
 * one walk over the whole value, parents before children, so that all findings
 * come in document order. Each part has a role that follows from its parent's
 * role and its name; a role has one function that looks at the part. What has
 * no role is only looked at for what no JSON should have: duplicate names and
 * halves of surrogate pairs.
 *
 * Of members with one name the last has the role, as for every typed reader.
 *
 * COST  One visit per value, one look-up per call and entry.
 *
 * RECURSION  As deep as the value, which PDR_MAX_DEPTH bounds.
 */
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "content_table.h"
#include "meaning.h"

static const struct {
    const char *name;
    pdr_severity severity;
    const char *advice;
} rules[MEANING_COUNT] = {
#define RULE_ROW(id, name, severity, advice) \
    {name, PDR_SEVERITY_##severity, advice},
    PDR_MEANING_MAP(RULE_ROW)
#undef RULE_ROW
};

enum role {
    ROLE_OTHER,
    ROLE_ROOT,
    ROLE_VERSION,
    ROLE_DATA,
    ROLE_EXPIRY,
    ROLE_RESERVED,
    ROLE_HISTORY,
    ROLE_ENTRY,
    ROLE_ENTRY_TIME,
    ROLE_ENTRY_USAGE,
    ROLE_MESSAGES,
    ROLE_MESSAGE,
    ROLE_MESSAGE_TIME,
    ROLE_CONTENTS,
    ROLE_CONTENT,
    ROLE_URI,
    ROLE_USAGE,
    ROLE_TOKENS,
    ROLE_COUNT
};

/* Which member of what has which role. */
static const struct {
    enum role parent;
    const char *name;
    enum role role;
} member_roles[] = {
    {ROLE_ROOT, "schemaVersion", ROLE_VERSION},
    {ROLE_ROOT, "data", ROLE_DATA},
    {ROLE_DATA, "conversationHistory", ROLE_HISTORY},
    {ROLE_DATA, "expirationTimeUtc", ROLE_EXPIRY},
    {ROLE_DATA, "session", ROLE_RESERVED},
    {ROLE_DATA, "ingestedPositions", ROLE_RESERVED},
    {ROLE_DATA, "truncation", ROLE_RESERVED},
    {ROLE_DATA, "terminalResults", ROLE_RESERVED},
    {ROLE_DATA, "completionReceipts", ROLE_RESERVED},
    {ROLE_ENTRY, "createdAt", ROLE_ENTRY_TIME},
    {ROLE_ENTRY, "messages", ROLE_MESSAGES},
    {ROLE_ENTRY, "usage", ROLE_ENTRY_USAGE},
    {ROLE_MESSAGE, "createdAt", ROLE_MESSAGE_TIME},
    {ROLE_MESSAGE, "contents", ROLE_CONTENTS},
    {ROLE_CONTENT, "uri", ROLE_URI},
    {ROLE_CONTENT, "usage", ROLE_USAGE},
    {ROLE_USAGE, "inputTokenCount", ROLE_TOKENS},
    {ROLE_USAGE, "outputTokenCount", ROLE_TOKENS},
    {ROLE_USAGE, "totalTokenCount", ROLE_TOKENS},
    {ROLE_USAGE, "cachedInputTokenCount", ROLE_TOKENS},
    {ROLE_USAGE, "reasoningTokenCount", ROLE_TOKENS},
};

struct check {
    struct finder finder;
    pdr_err *err;
    struct tools tools;
    struct turns turns;
    size_t tool;              /* the next call or result of the walk */
    size_t entry;             /* where the walk is */
    pdr_content_kind content; /* what content it is in */
    pdr_buf scratch;          /* for decoded texts */
};

/* Tell of the place that we are at: what it is, and what the rule advises. */
static pdr_rc tell_as(struct check *c, enum meaning_rule rule,
                      pdr_severity severity, const char *what)
{
    return pdr__finder_tell(&c->finder, rules[rule].name, severity, c->err,
                            "%s; %s", what, rules[rule].advice);
}

static pdr_rc tell(struct check *c, enum meaning_rule rule, const char *fmt,
                   ...) PDR_PRINTF(3, 4);

static pdr_rc tell(struct check *c, enum meaning_rule rule, const char *fmt,
                   ...)
{
    char what[384]; /* longer than any text of ours; cut if not */
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return tell_as(c, rule, rules[rule].severity, what);
}

/* The same about member `name` of the place that we are at. */
static pdr_rc tell_member(struct check *c, enum meaning_rule rule,
                          const char *name, const char *what)
{
    size_t mark = pdr__finder_name(&c->finder, pdr_str_c(name));
    pdr_rc rc = tell(c, rule, "%s", what);

    pdr__finder_up(&c->finder, mark);
    return rc;
}

/* A text for a message; "" if it has none. */
static const char *shown(char out[PDR_SHOWN], struct check *c,
                         const pdr_value *string)
{
    pdr_str text = {NULL, 0};

    if (string == NULL || pdr_value_kind(string) != PDR_STRING ||
        pdr_value_text(&text, string, &c->scratch, NULL) != PDR_OK)
        text = PDR_LIT("");
    return pdr__shown(out, text);
}

/* --- root and data ------------------------------------------------------- */

static pdr_rc check_root(struct check *c, const pdr_value *root)
{
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(root) != PDR_OBJECT)
        return tell(c, MEANING_ROOT,
                    "a state document is an object, this is %s",
                    pdr__kind_phrase(root));
    if (pdr_value_get_c(root, "schemaVersion") == NULL)
        rc = tell(c, MEANING_VERSION_MISSING, "there is no schemaVersion");
    if (rc == PDR_OK && pdr_value_get_c(root, "data") == NULL)
        rc = tell(c, MEANING_DATA_MISSING, "there is no data");
    return rc;
}

/* `version` is that of a document: it is looked at in one of its own, so that
 * the gate decides here too. */
static pdr_rc check_version(struct check *c, const pdr_value *version)
{
    static const pdr_schema_version known = {{1, 1, 0, 0}, 3};
    pdr_schema_version has = {{0, 0, 0, 0}, 0};
    pdr_value *root = pdr_value_new_object();
    char text[PDR_SHOWN];
    pdr_rc rc = pdr_value_set(&root, PDR_LIT("schemaVersion"), version, NULL);

    if (rc == PDR_OK)
        rc = pdr_state_version(&has, root, NULL);
    if (rc == PDR_EVERSION)
        rc = tell(c, MEANING_VERSION_MAJOR, "version %s is of another major",
                  shown(text, c, version));
    else if (rc == PDR_EINVALID)
        rc = tell(c, MEANING_VERSION_INVALID, "this is no version");
    else if (rc == PDR_OK && pdr_schema_version_compare(&has, &known) > 0)
        rc = tell(c, MEANING_VERSION_NEWER,
                  "version %s is newer than %s, which this library knows",
                  shown(text, c, version), PDR_STATE_VERSION);
    else if (rc != PDR_OK)
        rc = pdr__nomem(c->err);
    pdr_value_free(root);
    return rc;
}

static pdr_rc check_list_in(struct check *c, const pdr_value *object,
                            const char *name)
{
    if (pdr_value_get_c(object, name) != NULL)
        return PDR_OK;
    return tell(c, MEANING_LIST_MISSING, "there is no list %s", name);
}

static pdr_rc check_data(struct check *c, const pdr_value *data)
{
    if (pdr_value_kind(data) == PDR_NULL)
        return tell(c, MEANING_DATA_NULL, "the data is null");
    if (pdr_value_kind(data) != PDR_OBJECT)
        return tell(c, MEANING_DATA_INVALID, "the data is %s, no object",
                    pdr__kind_phrase(data));
    return check_list_in(c, data, "conversationHistory");
}

static pdr_rc check_list(struct check *c, const pdr_value *list)
{
    if (pdr_value_kind(list) == PDR_NULL)
        return tell(c, MEANING_LIST_NULL, "the list is null");
    if (pdr_value_kind(list) != PDR_ARRAY)
        return tell(c, MEANING_LIST_INVALID, "this is %s, where a list must be",
                    pdr__kind_phrase(list));
    return PDR_OK;
}

static pdr_rc check_reserved(struct check *c, const pdr_value *value)
{
    (void)value;
    return tell(c, MEANING_RESERVED, "the name is reserved");
}

/* Read a date-time; *good says whether it is one. */
static pdr_rc read_time(pdr_datetime *out, bool *good, pdr_str *text,
                        struct check *c, const pdr_value *value)
{
    pdr_rc rc = pdr_value_text(text, value, &c->scratch, NULL);

    *good = rc == PDR_OK && pdr_datetime_read(out, *text, NULL) == PDR_OK;
    return rc == PDR_ENOMEM ? pdr__nomem(c->err) : PDR_OK;
}

static pdr_rc check_expiry(struct check *c, const pdr_value *value)
{
    pdr_datetime at;
    pdr_str text = {NULL, 0};
    bool good = false;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_NULL)
        return PDR_OK;
    rc = read_time(&at, &good, &text, c, value);
    if (rc != PDR_OK)
        return rc;
    if (!good)
        return tell(c, MEANING_EXPIRY_INVALID,
                    "it cannot be read when the session expires");
    if (text.ptr[text.len - 1] != 'Z')
        rc = tell(c, MEANING_EXPIRY_NOT_UTC, "the time does not end in Z");
    if (rc == PDR_OK && c->turns.has_time && at.ticks < c->turns.latest)
        rc = tell(c, MEANING_EXPIRY_PAST,
                  "it had expired when the last entry was made");
    return rc;
}

/* --- entries ------------------------------------------------------------- */

static pdr_rc check_turn(struct check *c, const struct turn_entry *entry)
{
    bool request = entry->kind == PDR_ENTRY_REQUEST;
    const struct turn *turn = NULL;
    pdr_rc rc = PDR_OK;

    if (entry->turn == PDR_NONE)
        return tell(c, MEANING_ID_MISSING, "there is no correlation id");
    turn = &c->turns.turns[entry->turn];
    if (c->entry != (request ? turn->first_request : turn->first_response))
        rc = tell(c, MEANING_ID_TWICE, "an earlier %s has its correlation id",
                  request ? "request" : "response");
    if (rc != PDR_OK)
        return rc;
    if (pdr__turns_is_unanswered(&c->turns, c->entry))
        return tell(c, MEANING_REQUEST_ALONE,
                    c->entry == c->turns.last
                        ? "the last request has no response yet"
                        : "the request has no response");
    if (!request && turn->requests == 0)
        return tell(c, MEANING_RESPONSE_ALONE, "the response has no request");
    if (!request && c->entry < turn->first_request)
        return tell(c, MEANING_RESPONSE_FIRST,
                    "the response stands before its request");
    return PDR_OK;
}

static bool is_typed(const pdr_value *object)
{
    const pdr_value *type = pdr_value_get_c(object, "$type");

    return pdr__is_nothing(type) || pdr_value_kind(type) == PDR_STRING;
}

static pdr_rc check_entry_kind(struct check *c, const pdr_value *entry)
{
    char text[PDR_SHOWN];

    if (!is_typed(entry))
        return tell_member(c, MEANING_TYPE, "$type", "$type is no text");
    if (pdr_value_get_c(entry, "$type") == NULL)
        return tell(c, MEANING_ENTRY_KIND, "the entry does not say what it is");
    return tell(c, MEANING_ENTRY_KIND, "'%s' is no kind of entry that we know",
                shown(text, c, pdr_value_get_c(entry, "$type")));
}

static pdr_rc check_entry(struct check *c, const pdr_value *value)
{
    const struct turn_entry *entry = &c->turns.entries[c->entry];
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) != PDR_OBJECT)
        return tell(c, MEANING_NOT_OBJECT, "an entry is an object, this is %s",
                    pdr__kind_phrase(value));
    if (entry->kind == PDR_ENTRY_OTHER)
        return check_entry_kind(c, value);
    rc = check_turn(c, entry);
    if (rc == PDR_OK && pdr_value_get_c(value, "createdAt") == NULL)
        rc = tell(c, MEANING_DATE_MISSING,
                  "the entry does not say when it was "
                  "made");
    if (rc == PDR_OK)
        rc = check_list_in(c, value, "messages");
    if (rc == PDR_OK && pdr_entry_is_error(value))
        rc = tell(c, MEANING_ERROR_RESPONSE, "the run of this turn failed");
    return rc;
}

/* The time of the request that entry `index` answers. */
static bool request_time(int64_t *out, const struct check *c, size_t index)
{
    const struct turn_entry *entry = &c->turns.entries[index];
    size_t request = PDR_NONE;

    if (entry->kind != PDR_ENTRY_RESPONSE || entry->turn == PDR_NONE)
        return false;
    request = c->turns.turns[entry->turn].first_request;
    if (request == PDR_NONE || !c->turns.entries[request].has_time)
        return false;
    *out = c->turns.entries[request].ticks;
    return true;
}

static pdr_rc check_entry_time(struct check *c, const pdr_value *value)
{
    const struct turn_entry *entry = &c->turns.entries[c->entry];
    const struct turn_entry *before = c->entry > 0 ? entry - 1 : NULL;
    int64_t asked = 0;

    (void)value;
    if (!entry->has_time)
        return tell(c, MEANING_DATE_INVALID, "the date cannot be read");
    if (request_time(&asked, c, c->entry) && entry->ticks < asked)
        return tell(c, MEANING_RESPONSE_EARLIER,
                    "the response is earlier than its request");
    if (before != NULL && before->kind != PDR_ENTRY_OTHER && before->has_time &&
        entry->ticks < before->ticks)
        return tell(c, MEANING_OUT_OF_ORDER,
                    "the entry is earlier than the one before it");
    return PDR_OK;
}

/* --- messages ------------------------------------------------------------ */

static pdr_rc check_message(struct check *c, const pdr_value *message)
{
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(message) != PDR_OBJECT)
        return tell(c, MEANING_NOT_OBJECT, "a message is an object, this is %s",
                    pdr__kind_phrase(message));
    if (pdr_message_role(message, PDR_SHAPE_STATE) == NULL)
        rc = tell(c, MEANING_ROLE_MISSING, "the message has no role");
    if (rc == PDR_OK)
        rc = check_list_in(c, message, "contents");
    return rc;
}

static pdr_rc check_message_time(struct check *c, const pdr_value *value)
{
    const struct turn_entry *next = &c->turns.entries[c->entry] + 1;
    pdr_datetime at;
    pdr_str text = {NULL, 0};
    int64_t asked = 0;
    bool good = false;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_NULL)
        return PDR_OK;
    rc = read_time(&at, &good, &text, c, value);
    if (rc != PDR_OK)
        return rc;
    if (!good)
        return tell(c, MEANING_DATE_INVALID, "the date cannot be read");
    if (request_time(&asked, c, c->entry) && at.ticks < asked)
        return tell(c, MEANING_STAMP_OUTSIDE,
                    "the message is earlier than the request of its turn");
    if (c->entry + 1 < c->turns.entry_count && next->has_time &&
        next->kind != PDR_ENTRY_OTHER && at.ticks > next->ticks)
        return tell(c, MEANING_STAMP_OUTSIDE,
                    "the message is later than the entry behind it");
    return PDR_OK;
}

/* --- contents ------------------------------------------------------------ */

/* Is the call in a turn that may still go on? */
static bool is_unfinished(const struct check *c, const struct tool_item *item)
{
    return item->entry == c->turns.last &&
           pdr__turns_is_unanswered(&c->turns, item->entry);
}

static pdr_rc check_call(struct check *c, const struct tool_item *call)
{
    char text[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (!call->has_id)
        rc = tell(c, MEANING_CALL_ID_MISSING, "the call has no id");
    else if (call->is_reused)
        rc = tell(c, MEANING_CALL_ID_TWICE,
                  "an earlier call of this entry has its id");
    if (rc != PDR_OK || call->fate == TOOL_PAIRED || call->fate == TOOL_EARLY)
        return rc;
    (void)shown(text, c, pdr_value_get_c(call->content, "name"));
    if (call->fate == TOOL_WAITS)
        return tell(c, MEANING_CALL_WAITS, "the call of '%s' waits", text);
    if (is_unfinished(c, call))
        return tell_as(c, MEANING_CALL_ALONE, PDR_SEVERITY_WARNING,
                       "a call of the unfinished turn has no result yet");
    return tell(c, MEANING_CALL_ALONE, "the call of '%s' has no result", text);
}

static pdr_rc check_result(struct check *c, const struct tool_item *result)
{
    pdr_rc rc = PDR_OK;

    if (!result->has_id)
        rc = tell(c, MEANING_CALL_ID_MISSING, "the result has no call id");
    if (rc != PDR_OK)
        return rc;
    switch (result->fate) {
    case TOOL_ALONE:
        return tell(c, MEANING_RESULT_ALONE, "the result has no call");
    case TOOL_EARLY:
        return tell(c, MEANING_RESULT_EARLY, "its call stands behind it");
    case TOOL_AGAIN:
        return tell(c, MEANING_RESULT_AGAIN, "its call has a result already");
    case TOOL_PAIRED:
    case TOOL_WAITS:
        break;
    }
    return PDR_OK;
}

static pdr_rc check_content_kind(struct check *c, const pdr_value *content)
{
    char text[PDR_SHOWN];

    if (!is_typed(content))
        return tell_member(c, MEANING_TYPE, "$type", "$type is no text");
    if (pdr__is_nothing(pdr_value_get_c(content, "$type")))
        return tell(c, MEANING_CONTENT_KIND,
                    "the content does not say what it is");
    return tell(c, MEANING_CONTENT_KIND,
                "'%s' is no kind of content that we know",
                shown(text, c, pdr_value_get_c(content, "$type")));
}

static pdr_rc check_content(struct check *c, const pdr_value *content)
{
    const struct tool_item *item = NULL;

    c->content = pdr_content_kind_of(content, PDR_SHAPE_STATE);
    if (pdr_value_kind(content) != PDR_OBJECT)
        return tell(c, MEANING_NOT_OBJECT, "a content is an object, this is %s",
                    pdr__kind_phrase(content));
    if (c->content == PDR_CONTENT_OTHER)
        return check_content_kind(c, content);
    if (c->tool == c->tools.count || c->tools.items[c->tool].content != content)
        return PDR_OK;
    item = &c->tools.items[c->tool++];
    return item->is_call ? check_call(c, item) : check_result(c, item);
}

/* Full groups of four, the last one padded if it has to be. */
static bool is_base64(pdr_str text)
{
    size_t len = text.len;

    if (len % 4 != 0)
        return false;
    for (int pad = 0; pad < 2 && len > 0 && text.ptr[len - 1] == '='; pad++)
        len--;
    for (size_t i = 0; i < len; i++) {
        char ch = text.ptr[i];

        if (!((ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z') ||
              (ch >= '0' && ch <= '9') || ch == '+' || ch == '/'))
            return false;
    }
    return true;
}

/* Is it a data URI with data in the form that it says? */
static bool is_data_uri(pdr_str uri)
{
    struct data_uri parts;

    return pdr__data_uri_read(&parts, uri) &&
           (!parts.is_base64 || is_base64(parts.data));
}

static pdr_rc check_uri(struct check *c, const pdr_value *uri)
{
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (c->content != PDR_CONTENT_DATA)
        return PDR_OK;
    if (pdr_value_kind(uri) != PDR_STRING)
        return tell(c, MEANING_DATA_URI, "the URI is %s",
                    pdr__kind_phrase(uri));
    rc = pdr__value_name_bytes(&text, uri, &c->scratch, c->err);
    if (rc != PDR_OK || is_data_uri(text))
        return rc;
    return tell(c, MEANING_DATA_URI, "this is no data URI that can be read");
}

/* --- usage --------------------------------------------------------------- */

static pdr_rc check_usage(struct check *c, const pdr_value *usage)
{
    int64_t in = 0, out = 0, total = 0, sum = 0;

    if (pdr_value_kind(usage) == PDR_NULL)
        return PDR_OK;
    if (pdr_value_kind(usage) != PDR_OBJECT)
        return tell(c, MEANING_USAGE_INVALID, "the usage is %s, no object",
                    pdr__kind_phrase(usage));
    if (!pdr_usage_count(&in, usage, PDR_LIT("inputTokenCount")) ||
        !pdr_usage_count(&out, usage, PDR_LIT("outputTokenCount")) ||
        !pdr_usage_count(&total, usage, PDR_LIT("totalTokenCount")))
        return PDR_OK;
    if (!__builtin_add_overflow(in, out, &sum) && sum == total)
        return PDR_OK;
    return tell(c, MEANING_COUNT_SUM, "input and output are not the total");
}

static pdr_rc check_entry_usage(struct check *c, const pdr_value *usage)
{
    bool mine = c->turns.entries[c->entry].kind == PDR_ENTRY_RESPONSE;

    return mine ? check_usage(c, usage) : PDR_OK;
}

static pdr_rc check_content_usage(struct check *c, const pdr_value *usage)
{
    return c->content == PDR_CONTENT_USAGE ? check_usage(c, usage) : PDR_OK;
}

static pdr_rc check_tokens(struct check *c, const pdr_value *count)
{
    int64_t number = 0;

    if (pdr_value_kind(count) == PDR_NULL)
        return PDR_OK;
    if (pdr_value_int64(&number, count, NULL) != PDR_OK)
        return tell(c, MEANING_COUNT_INVALID, "the count is no integer");
    if (number < 0)
        return tell(c, MEANING_COUNT_NEGATIVE, "the count is negative");
    return PDR_OK;
}

/* --- the walk ------------------------------------------------------------ */

/* What looks at a part, by its role. */
static pdr_rc (*const checks[ROLE_COUNT])(struct check *, const pdr_value *) = {
    [ROLE_ROOT] = check_root,
    [ROLE_VERSION] = check_version,
    [ROLE_DATA] = check_data,
    [ROLE_EXPIRY] = check_expiry,
    [ROLE_RESERVED] = check_reserved,
    [ROLE_HISTORY] = check_list,
    [ROLE_ENTRY] = check_entry,
    [ROLE_ENTRY_TIME] = check_entry_time,
    [ROLE_ENTRY_USAGE] = check_entry_usage,
    [ROLE_MESSAGES] = check_list,
    [ROLE_MESSAGE] = check_message,
    [ROLE_MESSAGE_TIME] = check_message_time,
    [ROLE_CONTENTS] = check_list,
    [ROLE_CONTENT] = check_content,
    [ROLE_URI] = check_uri,
    [ROLE_USAGE] = check_content_usage,
    [ROLE_TOKENS] = check_tokens,
};

/* The role that a container gives to its members, once it was looked at. */
static enum role role_inside(const struct check *c, enum role role,
                             const pdr_value *value)
{
    bool response = false;

    if (role == ROLE_ENTRY && pdr_entry_kind_of(value) == PDR_ENTRY_OTHER)
        return ROLE_OTHER;
    if (role == ROLE_USAGE && c->content != PDR_CONTENT_USAGE)
        return ROLE_OTHER;
    if (role != ROLE_ENTRY_USAGE)
        return role;
    response = c->turns.entries[c->entry].kind == PDR_ENTRY_RESPONSE;
    return response ? ROLE_USAGE : ROLE_OTHER;
}

static enum role element_role(enum role list)
{
    if (list == ROLE_HISTORY)
        return ROLE_ENTRY;
    if (list == ROLE_MESSAGES)
        return ROLE_MESSAGE;
    return list == ROLE_CONTENTS ? ROLE_CONTENT : ROLE_OTHER;
}

static enum role member_role(enum role parent, const pdr_iter *it)
{
    if (parent == ROLE_OTHER)
        return ROLE_OTHER;
    for (size_t i = 0; i < PDR_COUNT(member_roles); i++) {
        if (member_roles[i].parent != parent ||
            !pdr_value_text_is(it->name, pdr_str_c(member_roles[i].name)))
            continue;
        return pdr__iter_is_last(it, pdr_str_c(member_roles[i].name))
                   ? member_roles[i].role
                   : ROLE_OTHER;
    }
    return ROLE_OTHER;
}

static pdr_rc visit(struct check *c, const pdr_value *value, enum role role);

static pdr_rc visit_elements(struct check *c, const pdr_value *array,
                             enum role role)
{
    enum role inside = element_role(role);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, array);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = pdr__finder_index(&c->finder, it.index);

        if (inside == ROLE_ENTRY)
            c->entry = it.index;
        rc = visit(c, it.value, inside);
        pdr__finder_up(&c->finder, mark);
    }
    return rc;
}

/* Does an earlier member have this one's name? Large objects have a bit each.
 */
static bool is_repeated(const uint8_t *bits, const pdr_iter *it)
{
    pdr_iter before;

    if (bits != NULL)
        return ((unsigned)bits[it->index / 8] >> (it->index % 8) & 1u) != 0;
    pdr_iter_init(&before, it->container);
    while (pdr_iter_next(&before) && before.index < it->index) {
        if (pdr__value_same_text(before.name, it->name))
            return true;
    }
    return false;
}

static pdr_rc visit_member(struct check *c, const pdr_iter *it, bool repeated,
                           enum role role)
{
    pdr_str name = {NULL, 0};
    size_t mark = 0;
    pdr_rc rc = pdr__value_name_bytes(&name, it->name, &c->scratch, c->err);

    if (rc != PDR_OK)
        return rc;
    mark = pdr__finder_name(&c->finder, name);
    if (repeated)
        rc = tell(c, MEANING_DUPLICATE, "an earlier member has this name");
    if (rc == PDR_OK && pdr_value_has_lone_surrogate(it->name))
        rc = tell(c, MEANING_LONE, "the name has no text");
    if (rc == PDR_OK)
        rc = visit(c, it->value, role);
    pdr__finder_up(&c->finder, mark);
    return rc;
}

static pdr_rc visit_members(struct check *c, const pdr_value *object,
                            enum role role)
{
    enum role inside = role_inside(c, role, object);
    uint8_t *bits = NULL; /* NULL for small objects */
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_count(object) > PDR_INDEX_MIN)
        rc = pdr__repeated_names(&bits, object, &c->scratch, c->err);
    pdr_iter_init(&it, object);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = visit_member(c, &it, is_repeated(bits, &it),
                          member_role(inside, &it));
    pdr__free(bits);
    return rc;
}

static pdr_rc visit(struct check *c, const pdr_value *value, enum role role)
{
    pdr_rc rc = checks[role] == NULL ? PDR_OK : checks[role](c, value);

    if (rc != PDR_OK)
        return rc;
    if (pdr_value_kind(value) == PDR_ARRAY)
        return visit_elements(c, value, role);
    if (pdr_value_kind(value) == PDR_OBJECT)
        return visit_members(c, value, role);
    if (pdr_value_has_lone_surrogate(value))
        return tell(c, MEANING_LONE, "the string has no text");
    return PDR_OK;
}

pdr_rc pdr_state_check_meaning(const pdr_value *value, pdr_err *err,
                               pdr_doc_finding_fn fn, void *arg)
{
    struct check c = {
        .finder = PDR_FINDER_INIT(fn, arg),
        .err = err,
        .tools = PDR_TOOLS_INIT,
        .turns = PDR_TURNS_INIT,
        .scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
    };
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(value != NULL);
    rc = pdr__tools_pair(&c.tools, value, err);
    if (rc == PDR_OK)
        rc = pdr__turns_index(&c.turns, value, err);
    if (rc == PDR_OK)
        rc = visit(&c, value, ROLE_ROOT);
    pdr__tools_dispose(&c.tools);
    pdr__turns_dispose(&c.turns);
    pdr_buf_dispose(&c.scratch);
    pdr__finder_dispose(&c.finder);
    return rc;
}
