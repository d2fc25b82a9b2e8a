/*
 * session_types.h - the golden session as C objects.
 *
 * 2,000 messages with contents and properties, 500 objects of one class, 50 of
 * another, and a state of plain data: the workload that the Python edition
 * measures its codecs with. Each slot of the bag is one typed object.
 */
#ifndef PDR_BENCH_SESSION_TYPES_H
#define PDR_BENCH_SESSION_TYPES_H

#include <perdure.h>

#include "session_bind.h"

#define WORK_MESSAGES 2000
#define WORK_OBJECTS  500

/* --- slot `in_memory` ------------------------------------------------------
 */

struct work_none { /* an object without members */
    uint32_t has;
};

struct work_arguments {
    uint32_t has;
    pdr_str query;
    int64_t limit;
};

/* A text, a function call or a function result; `type` says which. */
struct work_content {
    uint32_t has;
    pdr_str type;
    pdr_str text;
    pdr_str call_id;
    pdr_str name;
    struct work_arguments arguments;
    bool hosted;
    pdr_str result;
    struct bind_list items; /* of struct work_item */
    struct work_none additional_properties;
};

/* What a function result holds besides its text: texts. */
struct work_item {
    uint32_t has;
    pdr_str type;
    pdr_str text;
    struct work_none additional_properties;
};

struct work_trace {
    uint32_t has;
    pdr_str span;
    bool sampled;
};

struct work_properties {
    uint32_t has;
    int64_t sequence;
    struct work_trace trace;
};

struct work_message {
    uint32_t has;
    pdr_str role;
    struct bind_list contents; /* of struct work_content */
    pdr_str author_name;
    struct work_properties additional_properties;
    pdr_str type;
};

struct work_history {
    uint32_t has;
    struct bind_list messages; /* of struct work_message */
};

/* --- slot `plain` ----------------------------------------------------------
 */

struct work_nested {
    uint32_t has;
    int64_t value;
    pdr_str text;
    struct bind_list tags; /* of pdr_str */
};

struct work_plain {
    uint32_t has;
    struct bind_list flags;   /* of signed char */
    struct bind_list numbers; /* of int64_t */
    struct bind_list nested;  /* map of struct work_nested */
};

/* --- slots `classes` and `profiles`, lists of these ------------------------
 */

struct work_attributes {
    uint32_t has;
    pdr_str category;
    pdr_str partition;
};

struct work_class {
    uint32_t has;
    int64_t item_id;
    pdr_str label;
    struct bind_list scores; /* of double */
    struct work_attributes attributes;
    pdr_str type;
};

struct work_preferences {
    uint32_t has;
    pdr_str language;
    pdr_str theme;
    pdr_str timezone;
};

struct work_profile {
    uint32_t has;
    pdr_str user_id;
    struct work_preferences preferences;
    struct bind_list counters; /* of int64_t */
    pdr_str type;
};

/* --- types and objects -----------------------------------------------------
 */

extern const struct bind_shape work_message_shape;

enum work_slot { WORK_HISTORY, WORK_PLAIN, WORK_CLASSES, WORK_PROFILES };
#define WORK_SLOTS 4

/* Key and type of each slot, in the order of the document. */
struct work_slot_type {
    const char *key;
    pdr_state_type type;
};
extern const struct work_slot_type work_slots[WORK_SLOTS];

/* One object for each slot, owned. */
struct work_objects {
    void *of[WORK_SLOTS];
};

/* The objects of the golden session with so many messages and class objects.
 * False without memory: what was made is there, and the rest is NULL. */
bool work_build(struct work_objects *out, size_t messages, size_t objects);
void work_free(struct work_objects *objects);

/* Message `i` of it, its texts in `arena`. */
bool work_build_message(struct work_message *out, struct bind_arena *arena,
                        size_t i);

/* A session with the ids of the golden one and an empty bag; as
 * pdr_session_from_value(). */
pdr_rc work_session(pdr_session **out, pdr_err *err);

/* Put the objects into the bag, each encoded anew. */
pdr_rc work_encode(pdr_session *session, const struct work_objects *objects,
                   pdr_overlay how, pdr_err *err);

/* Read all slots of the bag; `out` has a handle for each, NULL on failure. */
pdr_rc work_decode(pdr_object *out[WORK_SLOTS], pdr_session *session,
                   pdr_err *err);
void work_release(pdr_object *handles[WORK_SLOTS]);

/* Are these the objects of the golden session? Looks at the number of messages,
 * contents, classes and profiles, and at the first and last of each. NULL if
 * so, else what is wrong. */
const char *work_check(const void *const objects[WORK_SLOTS]);

#endif
