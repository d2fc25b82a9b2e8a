/*
 * shape.h - what tells the documents of sessions apart, and how each is
 * spelled. For the files of this folder that read or write whole documents.
 */
#ifndef PDR_SESSION_SHAPE_H
#define PDR_SESSION_SHAPE_H

#include "session.h"

/* How a shape spells what every session has. */
struct shape_names {
    const char *name;    /* for people and the command */
    const char *bag;     /* member that holds the bag */
    const char *history; /* key of the history slot */
    pdr_shape messages;  /* how its messages are spelled */
    bool sealed;         /* there is no bag: thread-era */
};

/* NULL for what is no shape. */
const struct shape_names *pdr__shape_names(pdr_session_shape shape);

/* The kind that a native document calls `text`; false if there is none. */
bool pdr__kind_read(pdr_session_kind *out, const pdr_value *text);

/* The member that holds the service id of a .NET or native session of this
 * kind; NULL if the kind has none. That of A2A is one of three. */
const char *pdr__kind_service_member(pdr_session_kind kind);

/* The three members of an A2A session, and the end NULL. */
extern const char *const pdr__a2a_members[];

/* Is it one session, and which? False also for what only nearly is one. Looks
 * at the first level, takes no memory. The kind of a native document is that of
 * its members, not yet what it states. */
bool pdr__session_recognise(pdr_session_shape *shape, pdr_session_kind *kind,
                            const pdr_value *value);

/* The kind that the members of a document of this shape tell. */
pdr_session_kind pdr__members_kind(const pdr_value *object,
                                   pdr_session_shape shape);

/* Is it a name that tells something at the root of a document? One that only
 * sessions have there? Or only they and state documents? */
bool pdr__is_known_name(const pdr_value *name);
bool pdr__is_session_name(const pdr_value *name);
bool pdr__is_root_name(const pdr_value *name);

/* The members of an object that is not held, one name at a time. */
struct seen {
    bool is_session; /* has a member that only sessions have */
    bool has_version, has_data;
    bool has_others;  /* than those of a wrapper */
    bool at_session;  /* the last name is that of a session in a wrapper */
    bool has_session; /* and its value an object; who has it says so */
};

void pdr__seen_add(struct seen *s, const pdr_value *name);
/* Do they make the object a session or a state document, whatever comes? */
bool pdr__seen_tells(const struct seen *s);

/* Levels of a session or state document, its root being the first, and in a
 * bundle that of the state document again. In levels.c. */
size_t pdr__session_levels(const pdr_value *value);
/* The same for what may also be a session with metadata. */
size_t pdr__element_levels(const pdr_value *value);

/* Does the text begin with `prefix`, in either case of ASCII letters? */
bool pdr__text_begins(const pdr_value *string, const char *prefix);

/* Put the place of an element, `at` its list, in front of message and path of
 * `err`; gives `rc`. In list.c. */
pdr_rc pdr__name_element(const pdr_iter *at, pdr_rc rc, pdr_err *err);

/* Is it an element that is wrong, and not the machine? In list.c. */
bool pdr__is_about_element(pdr_rc rc);

#endif
