/*
 * convert_random.c - made and damaged sessions, there and back.
 *
 * Sessions of all shapes are changed at random places, with values that mean
 * something to a conversion: notes, sentinels, names of the other shape. Some
 * are converted first, so that their notes no longer fit. Whatever is still a
 * session must come back equal. The seed is fixed.
 */
#include "doc_text.h"
#include "session_trip.h"

static const char *const seeds[] = {
    "{'stateBag':{}}",
    "{'conversationId':'c','stateBag':{'a':1.0,'in_memory':{'messages':[]}}}",
    "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':[{'role':'user',"
    "'contents':[{'$type':'text','text':'hi'}]},{'authorName':'A','createdAt':"
    "'2026-03-09T19:58:02.25+01:00','role':'assistant','contents':[{'$type':"
    "'functionCall','name':'f','arguments':{'a':1.10},'informationalOnly':"
    "false,'callId':'c'}],'messageId':'m'}]},'TodoProvider':{'items':[1]}}}",
    "{'sessionId':'@dafx-desk@K1','stateBag':{}}",
    "{'contextId':'x','taskId':'t','stateBag':{},'new':1}",
    "{'serviceSessionId':'s','stateBag':{}}",
    "{'sessionId':'g','stateBag':{}}",
    "{'sessionId':'w','lastCheckpoint':{},'stateBag':{}}",
    "{'perdure':{'version':'1.0.0','kind':'client','id':'n1'},"
    "'conversationId':'c','stateBag':{'InMemoryChatHistoryProvider':{"
    "'messages':[{'role':'user','contents':[]}]}}}",
    "{'perdure':{'version':'1.0.0','kind':'python','id':'n2','serviceId':"
    "{'k':1}},'stateBag':{}}",
    "{'type':'session','session_id':'p1','service_session_id':null,'state':{"
    "'in_memory':{'messages':[{'role':'user','contents':[{'type':'text',"
    "'text':'hi','additional_properties':{}}],'additional_properties':{},"
    "'type':'message'},{'role':'assistant','contents':[{'type':'function_call',"
    "'call_id':'c','name':'f','arguments':'{','hosted':false,"
    "'additional_properties':{}}],'additional_properties':{},'type':"
    "'message'}]},'todo':{'items':[]},'x':{'type':'message','contents':[{"
    "'type':'function_call','hosted':true,'merge_mode':'m'}]}}}",
    "{'type':'session','session_id':'p2','service_session_id':{'context_id':"
    "'c','task_id':null},'state':{'InMemoryChatHistoryProvider':5},"
    "'durable_session_id':'@Desk@k@x'}",
    "{'session_id':'p3','state':{'tool_approval':{'rules':[{'type':"
    "'function_call','hosted':true,'server_name':'s'}]}},'version':'1.0'}",
};

static const char *const odd_names[] = {
    "perdure",
    "stateBag",
    "state",
    "conversationId",
    "sessionId",
    "type",
    "session_id",
    "service_session_id",
    "durable_session_id",
    "contextId",
    "taskState",
    "serviceSessionId",
    "InMemoryChatHistoryProvider",
    "in_memory",
    "messages",
    "contents",
    "hosted",
    "merge_mode",
    "$type",
    "version",
    "kind",
    "id",
    "serviceId",
    "historyMode",
    "dotnet",
    "python",
    "native",
    "newer",
    "whole",
    "patch",
    "z",
    "Z",
    "additional_properties",
    "additionalProperties",
    "StateBag",
    "lastCheckpoint",
    "server_label",
    "role",
    "arguments",
};

static const char *const odd_values[] = {
    "null",
    "5",
    "1.0",
    "true",
    "''",
    "'  '",
    "'x'",
    "[]",
    "{}",
    "[null]",
    "'_agent_local_chat_history'",
    "'agent_framework_local_history_persistence'",
    "'@dafx-a@b'",
    "'@a@b'",
    "'@a'",
    "'python'",
    "'client'",
    "'durable'",
    "'per-service-call'",
    "{'messages':null}",
    "{'messages':[null,5,{}]}",
    "{'a':1,'$type':'text','text':'t'}",
    "{'context_id':'q'}",
    "{'kind':'a2a','id':'i'}",
    "{'version':'1.0.0','kind':'unstated'}",
    "{'version':'1.7.0','kind':'client','x':1}",
    "{'patch':[]}",
    "{'patch':[{'at':['z'],'is':7},{'at':['perdure','id'],'was':'n1'},"
    "{'at':[],'order':['z','z']},{'at':[5]},5,{'at':['stateBag','a'],'is':1},"
    "{'at':['state'],'order':5}]}",
    "{'whole':'{}'}",
    "{'whole':'{\\'stateBag\\':{}}'}",
    "{'newer':{}}",
    "{'newer':{'whole':'{}','hosted':true,'label':1}}",
    "{'perdure':{'newer':{'absent':true}}}",
    "{'perdure':{'python':{'whole':{'role':'user'}}}}",
    "{'dotnet':{'whole':'{\\'stateBag\\':{\\'a\\':1}}'}}",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed >> 11;
}

static pdr_value *odd_value(uint64_t *seed)
{
    return doc_value(odd_values[next(seed) % COUNT(odd_values)]);
}

/* The object with its members in another order, or one of them twice. */
static pdr_value *shuffle(const pdr_value *object, uint64_t *seed)
{
    size_t count = pdr_value_count(object), from = 0, to = 0, at = 0;
    pdr_builder *out = NULL;
    pdr_value *made = NULL;
    pdr_iter it;

    if (count == 0)
        return pdr_value_ref(object);
    from = next(seed) % count;
    to = next(seed) % count;
    ASSERT_RC(PDR_OK, pdr_builder_new(&out, NULL));
    pdr_builder_object(out);
    for (size_t round = 0; round < 2; round++) {
        pdr_iter_init(&it, object);
        for (at = 0; pdr_iter_next(&it); at++) {
            pdr_str raw = {NULL, 0};

            /* First all but `from`; then `from`, or `from` and `to`. */
            if (round == 0 ? at == from : at != from && at != to)
                continue;
            if (round == 1 && at == to && next(seed) % 8 != 0 && at != from)
                continue;
            ASSERT(pdr_value_raw(&raw, it.name));
            pdr_builder_escaped_name(out, pdr_str_n(raw.ptr + 1, raw.len - 2));
            pdr_builder_value(out, it.value);
        }
    }
    pdr_builder_end(out);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&made, out, NULL));
    pdr_builder_free(out);
    return made;
}

static pdr_value *damage_here(const pdr_value *value, uint64_t *seed)
{
    pdr_value *out = pdr_value_ref(value), *odd = odd_value(seed);
    pdr_str name = pdr_str_c(odd_names[next(seed) % COUNT(odd_names)]);

    if (pdr_value_kind(value) == PDR_OBJECT && next(seed) % 3 == 0) {
        pdr_value_free(out);
        out = shuffle(value, seed);
    } else if (pdr_value_kind(value) == PDR_OBJECT && next(seed) % 4 != 0) {
        ASSERT_RC(PDR_OK, pdr_value_set(&out, name, odd, NULL));
    } else if (pdr_value_kind(value) == PDR_ARRAY && next(seed) % 2 == 0) {
        ASSERT_RC(PDR_OK, pdr_value_append(&out, odd, NULL));
    } else {
        pdr_value_free(out);
        out = pdr_value_ref(odd);
    }
    pdr_value_free(odd);
    return out;
}

/* Changed somewhere: here, or in a child. */
static pdr_value *damage(const pdr_value *value, uint64_t *seed)
{
    size_t count = pdr_value_count(value), chosen = 0;
    pdr_value *out = NULL, *child = NULL;
    pdr_builder *to = NULL;
    pdr_iter it;

    if (count == 0 || next(seed) % 3 == 0)
        return damage_here(value, seed);
    chosen = next(seed) % count;
    ASSERT_RC(PDR_OK, pdr_builder_new(&to, NULL));
    if (pdr_value_kind(value) == PDR_OBJECT)
        pdr_builder_object(to);
    else
        pdr_builder_array(to);
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        pdr_str raw = {NULL, 0};

        if (it.name != NULL && pdr_value_raw(&raw, it.name))
            pdr_builder_escaped_name(to, pdr_str_n(raw.ptr + 1, raw.len - 2));
        child = it.index == chosen ? damage(it.value, seed)
                                   : pdr_value_ref(it.value);
        pdr_builder_value(to, child);
        pdr_value_free(child);
    }
    pdr_builder_end(to);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&out, to, NULL));
    pdr_builder_free(to);
    return out;
}

/* A session of any shape that somebody has changed; NULL if it is none any
 * more. */
static pdr_value *make_session(uint64_t *seed)
{
    struct session_trip_report report;
    pdr_value *value = doc_value(seeds[next(seed) % COUNT(seeds)]);
    size_t rounds = 1 + next(seed) % 4;

    for (size_t i = 0; i < rounds; i++) {
        pdr_value *changed = NULL;

        if (next(seed) % 4 == 0 &&
            pdr_session_looks(value) == PDR_LOOKS_SESSION)
            changed = session_trip_to(&report, pdr_session_convert, value,
                                      (pdr_session_shape)(next(seed) % 4));
        if (changed == NULL)
            changed = damage(value, seed);
        pdr_value_free(value);
        value = changed;
    }
    return value;
}

/* What comes back of it: itself, as it may be written for its own edition. A
 * native document only differs by the id that it would get. */
static pdr_value *own_form(const pdr_value *document, pdr_session_shape shape)
{
    struct session_trip_report report;
    const pdr_value *id =
        pdr_value_get_c(pdr_value_get_c(document, "perdure"), "id");

    if (shape == PDR_SESSION_NATIVE &&
        (id == NULL || pdr_value_kind(id) != PDR_STRING ||
         pdr_value_text_is(id, pdr_str_c(""))))
        return pdr_value_ref(document);
    return session_trip_to(&report, pdr_session_convert, document, shape);
}

static void tell_and_fail(const pdr_value *document, int number,
                          pdr_session_shape to, const char *text)
{
    pdr_buf json = PDR_BUF_INIT(UINT32_MAX);

    ASSERT_RC(PDR_OK, pdr_json_write(&json, document, NULL, NULL));
    fail_msg("%d to %s: %s\nof %.*s", number, pdr_session_shape_name(to), text,
             (int)json.len, json.ptr);
}

static bool is_sentinel(const pdr_value *document)
{
    const pdr_value *id = pdr_value_get_c(document, "conversationId");

    return pdr_value_text_is(id, pdr_str_c("_agent_local_chat_history")) ||
           pdr_value_text_is(
               id, pdr_str_c("agent_framework_local_history_persistence"));
}

static bool check(const pdr_value *document, pdr_session_shape to, int number)
{
    struct session_trip_report report;
    pdr_session *session = NULL;
    pdr_session_shape from = PDR_SESSION_NATIVE;
    pdr_value *own = NULL;
    bool has_id = false;
    pdr_rc rc = pdr_session_from_value(&session, document, NULL);

    if (rc != PDR_OK)
        return false;
    from = pdr_session_get_shape(session);
    has_id = pdr_session_id(session).len > 0;
    pdr_session_free(session);
    if (from > PDR_SESSION_PYTHON)
        return false; /* thread-era: there is no way back */
    if (from == PDR_SESSION_NATIVE && !has_id &&
        (to == from || is_sentinel(document)))
        return false; /* gets an id, and keeps it */
    own = own_form(document, from);
    if (!session_trip_check(&report, pdr_session_convert, document, to, own))
        tell_and_fail(document, number, to, report.text);
    pdr_value_free(own);
    return true;
}

TEST(conversion, loses_nothing_of_changed_sessions)
{
    int rounds = (int)test_times(6000, 600), tried = 0;
    uint64_t seed = 20261116;

    for (int i = 0; i < rounds; i++) {
        pdr_value *document = make_session(&seed);

        tried += check(document, (pdr_session_shape)(i % 4), i);
        pdr_value_free(document);
    }
    ASSERT(tried > rounds / 3);
}
