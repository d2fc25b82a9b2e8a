/*
 * session_types.c - the golden session as C objects.
 *
 * WHY  The workload was described by its members, in the order in which the
 *      Python edition writes them. The tables here follow that order, so that
 *      objects which were built and never read encode to the golden bytes.
 */
#include "session_types.h"

#include <stdio.h>

#define TEXT_BYTES 432 /* of filler in each message */
#define ALL(shape) ((uint32_t)((UINT64_C(1) << (shape).member_count) - 1))

/* --- shapes ----------------------------------------------------------------
 */

static const struct bind_shape none_shape = {
    BIND_OBJECT, sizeof(struct work_none), NULL, 0, NULL};

static const struct bind_member argument_members[] = {
    BIND_MEMBER(struct work_arguments, query, bind_text),
    BIND_MEMBER(struct work_arguments, limit, bind_int)};
static const struct bind_shape arguments_shape =
    BIND_STRUCT(struct work_arguments, argument_members);

static const struct bind_member item_members[] = {
    BIND_MEMBER(struct work_item, type, bind_text),
    BIND_MEMBER(struct work_item, text, bind_text),
    BIND_MEMBER(struct work_item, additional_properties, none_shape)};
static const struct bind_shape item_shape =
    BIND_STRUCT(struct work_item, item_members);
static const struct bind_shape items_shape = BIND_LIST_OF(item_shape);

enum {
    TYPE,
    TEXT,
    CALL_ID,
    NAME,
    ARGUMENTS,
    HOSTED,
    RESULT,
    ITEMS,
    PROPERTIES
};
static const struct bind_member content_members[] = {
    [TYPE] = BIND_MEMBER(struct work_content, type, bind_text),
    [TEXT] = BIND_MEMBER(struct work_content, text, bind_text),
    [CALL_ID] = BIND_MEMBER(struct work_content, call_id, bind_text),
    [NAME] = BIND_MEMBER(struct work_content, name, bind_text),
    [ARGUMENTS] = BIND_MEMBER(struct work_content, arguments, arguments_shape),
    [HOSTED] = BIND_MEMBER(struct work_content, hosted, bind_bool),
    [RESULT] = BIND_MEMBER(struct work_content, result, bind_text),
    [ITEMS] = BIND_MEMBER(struct work_content, items, items_shape),
    [PROPERTIES] =
        BIND_MEMBER(struct work_content, additional_properties, none_shape)};
static const struct bind_shape content_shape =
    BIND_STRUCT(struct work_content, content_members);
static const struct bind_shape contents_shape = BIND_LIST_OF(content_shape);

static const struct bind_member trace_members[] = {
    BIND_MEMBER(struct work_trace, span, bind_text),
    BIND_MEMBER(struct work_trace, sampled, bind_bool)};
static const struct bind_shape trace_shape =
    BIND_STRUCT(struct work_trace, trace_members);

static const struct bind_member property_members[] = {
    BIND_MEMBER(struct work_properties, sequence, bind_int),
    BIND_MEMBER(struct work_properties, trace, trace_shape)};
static const struct bind_shape properties_shape =
    BIND_STRUCT(struct work_properties, property_members);

static const struct bind_member message_members[] = {
    BIND_MEMBER(struct work_message, role, bind_text),
    BIND_MEMBER(struct work_message, contents, contents_shape),
    BIND_MEMBER(struct work_message, author_name, bind_text),
    BIND_MEMBER(struct work_message, additional_properties, properties_shape),
    BIND_MEMBER(struct work_message, type, bind_text)};
const struct bind_shape work_message_shape =
    BIND_STRUCT(struct work_message, message_members);
static const struct bind_shape messages_shape =
    BIND_LIST_OF(work_message_shape);

static const struct bind_member history_members[] = {
    BIND_MEMBER(struct work_history, messages, messages_shape)};
static const struct bind_shape history_shape =
    BIND_STRUCT(struct work_history, history_members);

static const struct bind_shape texts_shape = BIND_LIST_OF(bind_text);
static const struct bind_shape ints_shape = BIND_LIST_OF(bind_int);
static const struct bind_shape doubles_shape = BIND_LIST_OF(bind_double);
static const struct bind_shape flags_shape = BIND_LIST_OF(bind_flag);

static const struct bind_member nested_members[] = {
    BIND_MEMBER(struct work_nested, value, bind_int),
    BIND_MEMBER(struct work_nested, text, bind_text),
    BIND_MEMBER(struct work_nested, tags, texts_shape)};
static const struct bind_shape nested_shape =
    BIND_STRUCT(struct work_nested, nested_members);
static const struct bind_shape nested_map_shape = BIND_MAP_OF(nested_shape);

static const struct bind_member plain_members[] = {
    BIND_MEMBER(struct work_plain, flags, flags_shape),
    BIND_MEMBER(struct work_plain, numbers, ints_shape),
    BIND_MEMBER(struct work_plain, nested, nested_map_shape)};
static const struct bind_shape plain_shape =
    BIND_STRUCT(struct work_plain, plain_members);

static const struct bind_member attribute_members[] = {
    BIND_MEMBER(struct work_attributes, category, bind_text),
    BIND_MEMBER(struct work_attributes, partition, bind_text)};
static const struct bind_shape attributes_shape =
    BIND_STRUCT(struct work_attributes, attribute_members);

static const struct bind_member class_members[] = {
    BIND_MEMBER(struct work_class, item_id, bind_int),
    BIND_MEMBER(struct work_class, label, bind_text),
    BIND_MEMBER(struct work_class, scores, doubles_shape),
    BIND_MEMBER(struct work_class, attributes, attributes_shape),
    BIND_MEMBER(struct work_class, type, bind_text)};
static const struct bind_shape class_shape =
    BIND_STRUCT(struct work_class, class_members);
static const struct bind_shape classes_shape = BIND_LIST_OF(class_shape);

static const struct bind_member preference_members[] = {
    BIND_MEMBER(struct work_preferences, language, bind_text),
    BIND_MEMBER(struct work_preferences, theme, bind_text),
    BIND_MEMBER(struct work_preferences, timezone, bind_text)};
static const struct bind_shape preferences_shape =
    BIND_STRUCT(struct work_preferences, preference_members);

static const struct bind_member profile_members[] = {
    BIND_MEMBER(struct work_profile, user_id, bind_text),
    BIND_MEMBER(struct work_profile, preferences, preferences_shape),
    BIND_MEMBER(struct work_profile, counters, ints_shape),
    BIND_MEMBER(struct work_profile, type, bind_text)};
static const struct bind_shape profile_shape =
    BIND_STRUCT(struct work_profile, profile_members);
static const struct bind_shape profiles_shape = BIND_LIST_OF(profile_shape);

/* `arg` is not const in the table; bind_…() only read it. */
#define SLOT(slot_key, type_name, shape)     \
    {                                        \
        .key = slot_key, .type = {           \
            .name = type_name,               \
            .decode = bind_decode,           \
            .encode = bind_encode,           \
            .copy = bind_copy,               \
            .free = bind_release,            \
            .arg = (void *)(uintptr_t)&shape \
        }                                    \
    }
const struct work_slot_type work_slots[WORK_SLOTS] = {
    [WORK_HISTORY] = SLOT("in_memory", "bench.History", history_shape),
    [WORK_PLAIN] = SLOT("plain", "bench.Plain", plain_shape),
    [WORK_CLASSES] = SLOT("classes", "bench.Classes", classes_shape),
    [WORK_PROFILES] = SLOT("profiles", "bench.Profiles", profiles_shape)};

/* --- building --------------------------------------------------------------
 */

/* What the objects of one slot are put together with. */
struct maker {
    struct bind_arena *arena;
    bool failed; /* no memory */
};

static pdr_str text_of(struct maker *m, const char *text)
{
    pdr_str copy = bind_copy_text(m->arena, pdr_str_c(text));

    m->failed = m->failed || copy.ptr == NULL;
    return copy;
}

/* `format` has one number in it. */
static pdr_str numbered(struct maker *m, const char *before, size_t number)
{
    char text[64];

    snprintf(text, sizeof(text), "%s%zu", before, number);
    return text_of(m, text);
}

static void *list_of(struct maker *m, struct bind_list *list, size_t count,
                     size_t size)
{
    list->items = bind_alloc(m->arena, count * size);
    list->count = list->items != NULL ? count : 0;
    m->failed = m->failed || list->items == NULL;
    if (list->items != NULL)
        memset(list->items, 0, count * size);
    return list->items;
}

static void make_text(struct maker *m, struct work_content *to, size_t i)
{
    char text[640];
    int len = snprintf(text, sizeof(text),
                       "Message %zu: benchmark conversation text with Unicode "
                       "caf\xC3\xA9 \xE6\x9D\xB1\xE4\xBA\xAC. Payload=",
                       i);

    memset(text + len, 'x', TEXT_BYTES);
    text[len + TEXT_BYTES] = '\0';
    to->type = text_of(m, "text");
    to->text = text_of(m, text);
    to->has = 1u << TYPE | 1u << TEXT | 1u << PROPERTIES;
}

static void make_call(struct maker *m, struct work_content *to, size_t i)
{
    to->type = text_of(m, "function_call");
    to->call_id = numbered(m, "call_", i);
    to->name = text_of(m, "lookup");
    to->arguments.has = ALL(arguments_shape);
    to->arguments.query = numbered(m, "item-", i);
    to->arguments.limit = 5;
    to->has = 1u << TYPE | 1u << CALL_ID | 1u << NAME | 1u << ARGUMENTS |
              1u << HOSTED | 1u << PROPERTIES;
}

static void make_result(struct maker *m, struct work_content *to, size_t i)
{
    char text[200];
    struct work_item *item = list_of(m, &to->items, 1, sizeof(*item));

    snprintf(text, sizeof(text),
             "{\"items\": [\"result-%zu-0\", \"result-%zu-1\", "
             "\"result-%zu-2\", \"result-%zu-3\", \"result-%zu-4\"]}",
             i, i, i, i, i);
    to->type = text_of(m, "function_result");
    to->call_id = numbered(m, "call_", i - 1);
    to->result = text_of(m, text);
    to->has = 1u << TYPE | 1u << CALL_ID | 1u << RESULT | 1u << ITEMS |
              1u << PROPERTIES;
    if (item != NULL)
        *item = (struct work_item){.has = ALL(item_shape),
                                   .type = text_of(m, "text"),
                                   .text = text_of(m, text)};
}

static void make_message(struct maker *m, struct work_message *to, size_t i)
{
    size_t count = i % 20 == 5 || i % 20 == 6 ? 2 : 1;
    struct work_content *contents =
        list_of(m, &to->contents, count, sizeof(*contents));

    if (contents == NULL)
        return;
    make_text(m, &contents[0], i);
    if (i % 20 == 5)
        make_call(m, &contents[1], i);
    if (i % 20 == 6)
        make_result(m, &contents[1], i);
    to->has = ALL(work_message_shape);
    to->role = text_of(m, i % 2 == 0 ? "user" : "assistant");
    to->author_name = numbered(m, "participant-", i % 7);
    to->additional_properties = (struct work_properties){
        .has = ALL(properties_shape),
        .sequence = (int64_t)i,
        .trace = {ALL(trace_shape), numbered(m, "span-", i), i % 3 == 0}};
    to->type = text_of(m, "message");
}

bool work_build_message(struct work_message *out, struct bind_arena *arena,
                        size_t i)
{
    struct maker m = {arena, false};

    make_message(&m, out, i);
    return !m.failed;
}

static void make_history(struct maker *m, struct work_history *to,
                         size_t messages)
{
    struct work_message *list =
        list_of(m, &to->messages, messages, sizeof(*list));

    to->has = ALL(history_shape);
    for (size_t i = 0; list != NULL && i < messages; i++)
        make_message(m, &list[i], i);
}

/* One entry of a map: its name, and what it names. */
struct named_nested {
    pdr_str name;
    struct work_nested nested;
};

static void make_nested(struct maker *m, struct named_nested *to, size_t i)
{
    pdr_str *tags = list_of(m, &to->nested.tags, 5, sizeof(*tags));

    to->name = numbered(m, "key_", i);
    to->nested.has = ALL(nested_shape);
    to->nested.value = (int64_t)i;
    to->nested.text = numbered(m, "plain-state-", i);
    for (size_t k = 0; tags != NULL && k < 5; k++)
        tags[k] = numbered(m, "tag-", k);
}

static void make_plain(struct maker *m, struct work_plain *to, size_t objects)
{
    static const signed char flags[] = {1, 0, -1};
    signed char *flag = list_of(m, &to->flags, 3, 1);
    int64_t *number = list_of(m, &to->numbers, objects, sizeof(*number));
    struct named_nested *nested =
        list_of(m, &to->nested, objects, sizeof(*nested));

    to->has = ALL(plain_shape);
    if (m->failed)
        return;
    memcpy(flag, flags, sizeof(flags));
    for (size_t i = 0; i < objects; i++) {
        number[i] = (int64_t)i;
        make_nested(m, &nested[i], i);
    }
}

static void make_class(struct maker *m, struct work_class *to, size_t i)
{
    double *scores = list_of(m, &to->scores, 3, sizeof(*scores));

    for (size_t k = 0; scores != NULL && k < 3; k++)
        scores[k] = (double)i / (double)(10 * (k + 1));
    to->has = ALL(class_shape);
    to->item_id = (int64_t)i;
    to->label = numbered(m, "class-state-", i);
    to->attributes = (struct work_attributes){
        ALL(attributes_shape), numbered(m, "category-", i % 11),
        numbered(m, "partition-", i % 17)};
    to->type = text_of(m, "benchmark_class_state");
}

static void make_profile(struct maker *m, struct work_profile *to, size_t i)
{
    int64_t *counters = list_of(m, &to->counters, 3, sizeof(*counters));

    for (size_t k = 0; counters != NULL && k < 3; k++)
        counters[k] = (int64_t)(i * (k + 1));
    to->has = ALL(profile_shape);
    to->user_id = numbered(m, "user-", i);
    to->preferences = (struct work_preferences){
        ALL(preferences_shape), text_of(m, "en"),
        text_of(m, i % 2 == 1 ? "dark" : "light"), numbered(m, "UTC+", i % 12)};
    to->type = text_of(m, "benchmark_profile_state");
}

static void make_slot(struct maker *m, enum work_slot slot, void *object,
                      size_t messages, size_t objects)
{
    struct work_class *classes = NULL;
    struct work_profile *profiles = NULL;
    size_t profile_count = objects < 10 ? 1 : objects / 10;

    switch (slot) {
    case WORK_HISTORY:
        make_history(m, object, messages);
        break;
    case WORK_PLAIN:
        make_plain(m, object, objects);
        break;
    case WORK_CLASSES:
        classes = list_of(m, object, objects, sizeof(*classes));
        for (size_t i = 0; classes != NULL && i < objects; i++)
            make_class(m, &classes[i], i);
        break;
    case WORK_PROFILES:
        profiles = list_of(m, object, profile_count, sizeof(*profiles));
        for (size_t i = 0; profiles != NULL && i < profile_count; i++)
            make_profile(m, &profiles[i], i);
        break;
    }
}

bool work_build(struct work_objects *out, size_t messages, size_t objects)
{
    bool done = true;

    *out = (struct work_objects){{NULL}};
    for (int slot = 0; slot < WORK_SLOTS; slot++) {
        void *object = bind_new(work_slots[slot].type.arg);
        struct maker m = {.failed = object == NULL};
        out->of[slot] = object;
        if (object == NULL)
            return false;
        m.arena = bind_arena_of(object);
        make_slot(&m, (enum work_slot)slot, object, messages, objects);
        done = done && !m.failed;
    }
    return done;
}

void work_free(struct work_objects *objects)
{
    for (int slot = 0; slot < WORK_SLOTS; slot++)
        bind_free(objects->of[slot]);
    *objects = (struct work_objects){{NULL}};
}

/* --- sessions --------------------------------------------------------------
 */

pdr_rc work_session(pdr_session **out, pdr_err *err)
{
    static const char text[] =
        "{\"type\":\"session\",\"session_id\":\"serialization-benchmark\","
        "\"service_session_id\":{\"conversation_id\":\"benchmark-conversation\""
        ",\"response_id\":\"benchmark-response\"},\"state\":{}}";
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(text), NULL, err);

    *out = NULL;
    if (rc == PDR_OK)
        rc = pdr_session_from_value(out, value, err);
    pdr_value_free(value);
    return rc;
}

pdr_rc work_encode(pdr_session *session, const struct work_objects *objects,
                   pdr_overlay how, pdr_err *err)
{
    pdr_bag *bag = pdr_session_bag(session);
    pdr_rc rc = PDR_OK;

    for (int slot = 0; rc == PDR_OK && slot < WORK_SLOTS; slot++)
        rc = pdr_bag_set_typed(bag, pdr_str_c(work_slots[slot].key),
                               &work_slots[slot].type, objects->of[slot], how,
                               err);
    return rc;
}

pdr_rc work_decode(pdr_object *out[WORK_SLOTS], pdr_session *session,
                   pdr_err *err)
{
    pdr_bag *bag = pdr_session_bag(session);
    pdr_rc rc = PDR_OK;

    for (int slot = 0; slot < WORK_SLOTS; slot++)
        out[slot] = NULL;
    for (int slot = 0; rc == PDR_OK && slot < WORK_SLOTS; slot++)
        rc = pdr_bag_get_typed(&out[slot], bag, pdr_str_c(work_slots[slot].key),
                               &work_slots[slot].type, err);
    if (rc != PDR_OK)
        work_release(out);
    return rc;
}

void work_release(pdr_object *handles[WORK_SLOTS])
{
    for (int slot = 0; slot < WORK_SLOTS; slot++) {
        pdr_object_free(handles[slot]);
        handles[slot] = NULL;
    }
}

/* --- checking --------------------------------------------------------------
 */

/* Is the text this one with a number behind it? */
static bool is_numbered(pdr_str text, const char *before, size_t number)
{
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "%s%zu", before, number);
    return pdr_str_equal(text, pdr_str_c(wanted));
}

static bool is_message(const struct work_message *message, size_t i)
{
    const struct work_content *first = message->contents.items;
    const struct work_trace *trace = &message->additional_properties.trace;
    char begin[64];
    size_t len = (size_t)snprintf(begin, sizeof(begin), "Message %zu: ", i);

    return message->has == ALL(work_message_shape) &&
           pdr_str_equal(message->role,
                         pdr_str_c(i % 2 == 0 ? "user" : "assistant")) &&
           first->text.len > TEXT_BYTES &&
           memcmp(first->text.ptr, begin, len) == 0 &&
           first->text.ptr[first->text.len - 1] == 'x' &&
           is_numbered(message->author_name, "participant-", i % 7) &&
           message->additional_properties.sequence == (int64_t)i &&
           is_numbered(trace->span, "span-", i) &&
           trace->sampled == (i % 3 == 0);
}

static const char *check_history(const struct work_history *history)
{
    const struct work_message *messages = history->messages.items;
    size_t contents = 0;

    if (history->messages.count != WORK_MESSAGES)
        return "the number of messages";
    for (size_t i = 0; i < WORK_MESSAGES; i++)
        contents += messages[i].contents.count;
    if (contents != WORK_MESSAGES + WORK_MESSAGES / 10)
        return "the number of contents";
    if (!is_message(&messages[0], 0))
        return "the first message";
    return is_message(&messages[WORK_MESSAGES - 1], WORK_MESSAGES - 1)
               ? NULL
               : "the last message";
}

static const char *check_plain(const struct work_plain *plain)
{
    const int64_t *numbers = plain->numbers.items;
    const struct named_nested *nested = plain->nested.items;
    size_t last = WORK_OBJECTS - 1;

    if (plain->flags.count != 3 || plain->numbers.count != WORK_OBJECTS ||
        plain->nested.count != WORK_OBJECTS)
        return "the number of plain values";
    return numbers[last] == (int64_t)last &&
                   is_numbered(nested[last].name, "key_", last) &&
                   nested[last].nested.tags.count == 5
               ? NULL
               : "the last plain value";
}

static const char *check_classes(const struct bind_list *list)
{
    const struct work_class *classes = list->items;
    const double *scores = NULL;
    size_t last = WORK_OBJECTS - 1;

    if (list->count != WORK_OBJECTS || classes[last].scores.count != 3)
        return "the number of class objects";
    if (classes[0].item_id != 0 ||
        !is_numbered(classes[0].label, "class-state-", 0))
        return "the first class object";
    scores = classes[last].scores.items;
    return scores[0] > 49.89 && scores[0] < 49.91 &&
                   is_numbered(classes[last].attributes.partition, "partition-",
                               last % 17)
               ? NULL
               : "the last class object";
}

static const char *check_profiles(const struct bind_list *list)
{
    const struct work_profile *profiles = list->items;
    size_t last = WORK_OBJECTS / 10 - 1;

    if (list->count != WORK_OBJECTS / 10)
        return "the number of profiles";
    if (!is_numbered(profiles[0].user_id, "user-", 0) ||
        !pdr_str_equal(profiles[0].preferences.theme, pdr_str_c("light")))
        return "the first profile";
    return is_numbered(profiles[last].user_id, "user-", last) &&
                   profiles[last].counters.count == 3
               ? NULL
               : "the last profile";
}

const char *work_check(const void *const objects[WORK_SLOTS])
{
    const char *wrong = check_history(objects[WORK_HISTORY]);

    if (wrong == NULL)
        wrong = check_plain(objects[WORK_PLAIN]);
    if (wrong == NULL)
        wrong = check_classes(objects[WORK_CLASSES]);
    return wrong != NULL ? wrong : check_profiles(objects[WORK_PROFILES]);
}
