/*
 * compat.h - what the checks for other readers share. See compat.c.
 *
 * A reader is a table of rules (what it does, and how bad that is) and tables
 * of the members that its objects have. The walk over the document is the same
 * for all readers.
 */
#ifndef PDR_DOC_COMPAT_H
#define PDR_DOC_COMPAT_H

#include "doc.h"

/* What a reader does with a document. */
enum compat_effect {
    COMPAT_NOTES = 1,    /* writes it in another way that says the same */
    COMPAT_CHANGES,      /* says something else afterwards */
    COMPAT_LOSES,        /* does not write it again */
    COMPAT_DAMAGES,      /* runs, and cannot be read after that */
    COMPAT_RESETS,       /* takes it for no document and begins anew */
    COMPAT_FAILS_CLIENT, /* runs, but what only reads it fails */
    COMPAT_FAILS_RUN,    /* loads, and every run fails */
    COMPAT_FAILS_LOAD    /* does not load */
};

struct compat_rule {
    const char *name; /* stable */
    enum compat_effect effect;
    const char *text; /* what it is, what happens, what to do; one that begins
                         with "is" or "has" speaks of a member */
};

/* Name, effect and text of each rule. Rule 0 of a table is none. */
/* clang-format off */
#define COMPAT_DOTNET_RULES(X) \
    X(DN_NOT_JSON, "dotnet-not-json", FAILS_LOAD, \
      "is no JSON, so .NET cannot load it; restore it from a copy") \
    X(DN_NOT_OBJECT, "dotnet-not-object", FAILS_LOAD, \
      "the document is no object, so .NET cannot load it; restore it from a copy") \
    X(DN_TOO_DEEP, "dotnet-too-deep", FAILS_LOAD, \
      "is below level 64, so .NET cannot load the document; keep nested values as text") \
    X(DN_BARE_TOKEN, "dotnet-bare-token", FAILS_LOAD, \
      "NaN and infinities are no JSON, so .NET cannot load the document; write null or a text") \
    X(DN_VERSION_MISSING, "dotnet-version-missing", FAILS_LOAD, \
      "there is no schemaVersion, so .NET cannot load the document; add the version that it was written with") \
    X(DN_VERSION_INVALID, "dotnet-version-invalid", FAILS_LOAD, \
      "schemaVersion is not two to four numbers in a text, so .NET cannot load the document; write \"1.1.0\"") \
    X(DN_VERSION_UNSUPPORTED, "dotnet-version-unsupported", FAILS_LOAD, \
      ".NET supports major version 1 only and cannot load the document; use a program that knows this version") \
    X(DN_VERSION_RESPELLED, "dotnet-version-respelled", NOTES, \
      ".NET writes the version in plain numbers") \
    X(DN_MEMBER_MISSING, "dotnet-member-missing", FAILS_LOAD, \
      "is missing, so .NET cannot load the document; add it") \
    X(DN_WRONG_KIND, "dotnet-wrong-kind", FAILS_LOAD, \
      "has a JSON kind that .NET cannot read here, so the document does not load; write the kind that the format has") \
    X(DN_TYPE_MISSING, "dotnet-type-missing", FAILS_LOAD, \
      "there is no $type, so .NET cannot load the document; add it as the first member") \
    X(DN_TYPE_NOT_FIRST, "dotnet-type-not-first", FAILS_LOAD, \
      "$type is not the first member, so .NET cannot load the document; move it to the front") \
    X(DN_TYPE_TWICE, "dotnet-type-twice", FAILS_LOAD, \
      "$type occurs twice, so .NET cannot load the document; remove one") \
    X(DN_TYPE_UNKNOWN, "dotnet-type-unknown", FAILS_LOAD, \
      ".NET does not know this $type and cannot load the document; wrap a content as \"unknown\", remove an entry") \
    X(DN_DOLLAR_MEMBER, "dotnet-dollar-member", FAILS_LOAD, \
      "a member beside $type begins with $, so .NET cannot load the document; rename or remove it") \
    X(DN_BAD_DATE, "dotnet-bad-date", FAILS_LOAD, \
      ".NET cannot read this date, so the document does not load; write it as 2026-02-03T08:15:00.123456Z") \
    X(DN_BAD_COUNT, "dotnet-bad-count", FAILS_LOAD, \
      "a count is not a plain integer of 64 bits, so .NET cannot load the document; write digits only") \
    X(DN_BAD_URI, "dotnet-bad-uri", FAILS_LOAD, \
      ".NET cannot take this for a URI, so the document does not load; give it a host and a valid port") \
    X(DN_SURROGATE_TYPED, "dotnet-surrogate-typed", FAILS_LOAD, \
      "half a surrogate pair in a text or name that .NET decodes, so the document does not load; replace it by \\uFFFD") \
    X(DN_SURROGATE_VALUE, "dotnet-surrogate-value", FAILS_RUN, \
      "half a surrogate pair: .NET loads the document, but every write fails; replace it by \\uFFFD") \
    X(DN_NULL_LIST, "dotnet-null-list", FAILS_RUN, \
      "is absent or null: the document loads in .NET, but every run fails; write []") \
    X(DN_NULL_ITEM, "dotnet-null-item", FAILS_RUN, \
      "null in a list: the document loads in .NET, but every run fails; remove the element") \
    X(DN_NULL_MEMBER, "dotnet-null-member", FAILS_RUN, \
      "is absent or null: the document loads in .NET, but every run fails; give it a value") \
    X(DN_BLANK_MEMBER, "dotnet-blank-member", FAILS_RUN, \
      "is blank: the document loads in .NET, but every run fails; give it a value") \
    X(DN_DATA_URI, "dotnet-data-uri", FAILS_RUN, \
      "no valid data: URI: the document loads in .NET, but every run fails; write data:TYPE;base64,DATA, or a uri item") \
    X(DN_MEDIA_TYPE, "dotnet-media-type", FAILS_RUN, \
      "no valid media type: the document loads in .NET, but every run fails; write it as type/subtype, or leave it out of a data item") \
    X(DN_UNKNOWN_CONTENT, "dotnet-unknown-content", FAILS_RUN, \
      ".NET cannot make an item of what is wrapped here: the document loads, but every run fails; remove the inner $type, or repair the inner item") \
    X(DN_TEXT_NULL, "dotnet-text-null", DAMAGES, \
      "null for a text: after one turn in .NET the document can no longer be read; write \"\"") \
    X(DN_ROOT_MEMBER, "dotnet-root-member", LOSES, \
      ".NET drops unknown members of the root; keep it in data") \
    X(DN_DUPLICATE, "dotnet-duplicate", LOSES, \
      "the name occurs again later, and .NET keeps the last one only; remove one") \
    X(DN_FRACTION, "dotnet-fraction", LOSES, \
      ".NET cuts a fraction of a second after seven digits") \
    X(DN_NULL_DROPPED, "dotnet-null-dropped", NOTES, \
      ".NET does not write this null again") \
    X(DN_DATE_RESPELLED, "dotnet-date-respelled", NOTES, \
      ".NET writes this date in another spelling") \
    X(DN_DATE_LOCAL, "dotnet-date-local", CHANGES, \
      "a date without offset: .NET takes it for the local time of its machine; add Z or an offset") \
    X(DN_DEADLINE_OFFSET, "dotnet-deadline-offset", CHANGES, \
      "a deadline with an offset: .NET turns it into the local time of its machine and compares that with UTC; write it with Z") \
    X(DN_DEADLINE_LOCAL, "dotnet-deadline-local", CHANGES, \
      "a deadline without Z: .NET compares it with UTC as it stands, others may take it for local time; write it with Z") \
    X(DN_COUNT_RESPELLED, "dotnet-count-respelled", NOTES, \
      ".NET writes -0 as 0")

#define COMPAT_PYTHON_RULES(X) \
    X(PY_NOT_JSON, "python-not-json", FAILS_LOAD, \
      "is no JSON, so Python cannot load it; restore it from a copy") \
    X(PY_NOT_OBJECT, "python-not-object", FAILS_LOAD, \
      "the document is no object, so Python cannot load it; restore it from a copy") \
    X(PY_STARTS_ANEW, "python-starts-anew", FAILS_CLIENT, \
      "Python's worker takes this for no state and starts the session anew, its client cannot read it; restore it from a copy") \
    X(PY_PAIRS, "python-pairs", FAILS_CLIENT, \
      "Python's worker takes an array of pairs for an object, its client cannot read it; write an object") \
    X(PY_TOO_DEEP, "python-too-deep", FAILS_LOAD, \
      "is below level 975, so Python cannot load the document; keep nested values as text") \
    X(PY_LONG_INTEGER, "python-long-integer", FAILS_LOAD, \
      "an integer of more than 4,300 digits, so Python cannot load the document; write it as text or with an exponent") \
    X(PY_RESETS, "python-resets", RESETS, \
      "there is no schemaVersion: Python will reset this session, and its history is lost at the next turn; add the version") \
    X(PY_VERSION_IGNORED, "python-version-ignored", CHANGES, \
      "Python does not look at the version and works on the document as if it were 1.1.0; use a program that knows it") \
    X(PY_DATA_KIND, "python-data-kind", FAILS_LOAD, \
      "is no object, so Python cannot load the document; write an object") \
    X(PY_LIST_KIND, "python-list-kind", FAILS_LOAD, \
      "is no list, so Python cannot load the document; write []") \
    X(PY_LIST_EMPTIED, "python-list-emptied", LOSES, \
      "is no list: Python will write an empty one; write a list") \
    X(PY_ITEM_DROPPED, "python-item-dropped", LOSES, \
      "is no object: Python will drop this element; remove it") \
    X(PY_ENTRY_TYPE, "python-entry-type", FAILS_LOAD, \
      "the entry is neither request nor response, so Python cannot load the document; remove the entry") \
    X(PY_JSON_TYPE, "python-json-type", NOTES, \
      "Python takes the kind of the entry from json_type and will write it as $type") \
    X(PY_DATE_DIGITS, "python-date-digits", FAILS_LOAD, \
      "a date with a number that is too large, so Python cannot load the document; write it as 2026-02-03T08:15:00+00:00") \
    X(PY_DATE_OFFSET, "python-date-offset", FAILS_RUN, \
      "a date with an offset of a day or more: the document loads in Python, but every run fails; write it in UTC") \
    X(PY_DATE_MISSING, "python-date-missing", CHANGES, \
      "no date: Python will put the time of reading there; add it") \
    X(PY_DATE_GUESSED, "python-date-guessed", CHANGES, \
      "Python will guess at this date or put the time of reading there; write it as 2026-02-03T08:15:00+00:00") \
    X(PY_DATE_FRACTION, "python-date-fraction", LOSES, \
      "Python cuts a fraction of a second after six digits") \
    X(PY_DATE_RESPELLED, "python-date-respelled", NOTES, \
      "Python writes this date in another spelling") \
    X(PY_MEMBER_DROPPED, "python-member-dropped", LOSES, \
      "Python will drop this member, which it does not know; only extensionData of data and usage is kept") \
    X(PY_DEADLINE_DROPPED, "python-deadline-dropped", LOSES, \
      "Python will drop the deadline, and the session no longer expires") \
    X(PY_NULL_DROPPED, "python-null-dropped", NOTES, \
      "Python does not write this null again") \
    X(PY_EXTENSION_KIND, "python-extension-kind", FAILS_RUN, \
      "extensionData is no object: the document loads in Python, but every run fails; write an object or null") \
    X(PY_USAGE_CLIENT, "python-usage-client", CHANGES, \
      "extensionData of the usage is no object: Python's client cannot give this response; write an object or null") \
    X(PY_CONTENT_EMPTIED, "python-content-emptied", FAILS_RUN, \
      "the item has no $type that Python knows: it will be emptied, and every run fails; wrap it as \"unknown\"") \
    X(PY_CONTENT_RETYPED, "python-content-retyped", LOSES, \
      "the item has no $type that Python knows: it will keep nothing but the member content; wrap it as \"unknown\"") \
    X(PY_UNKNOWN_EMPTY, "python-unknown-empty", FAILS_RUN, \
      "an unknown item without content: the document loads in Python, but every run fails; remove the item") \
    X(PY_USAGE_DROPPED, "python-usage-dropped", LOSES, \
      "Python will drop a usage that is empty or no object") \
    X(PY_BAD_URI, "python-bad-uri", FAILS_RUN, \
      "Python cannot take this for a URI: the document loads, but every run fails; write a URI with a scheme, data: ones with a comma and nothing but name=value and a final base64 before it") \
    X(PY_TEXT_MADE, "python-text-made", CHANGES, \
      "is absent or no text, and Python will make one of it, as in \"None\" for null; give it a text") \
    X(PY_NUMBER_RESPELLED, "python-number-respelled", NOTES, \
      "Python writes this number in another spelling of the same value") \
    X(PY_NUMBER_ROUNDED, "python-number-rounded", CHANGES, \
      "Python will round this number to a double; write it as text") \
    X(PY_NUMBER_INFINITE, "python-number-infinite", DAMAGES, \
      "too large for Python, which will write Infinity: after one turn only Python can read the document; write it as text") \
    X(PY_BARE_TOKEN, "python-bare-token", NOTES, \
      "NaN and infinities are no JSON: Python keeps them, others cannot read the document; write null or a text") \
    X(PY_MARKER, "python-marker", LOSES, \
      "Python removes members of this name at every level; rename it") \
    X(PY_DUPLICATE, "python-duplicate", LOSES, \
      "the name occurs again later, and Python keeps the last one only; remove one")
/* clang-format on */

#define COMPAT_RULE_ID(id, name, effect, text) id,
enum { DN_NONE, COMPAT_DOTNET_RULES(COMPAT_RULE_ID) DN_COUNT };
enum { PY_NONE, COMPAT_PYTHON_RULES(COMPAT_RULE_ID) PY_COUNT };
#undef COMPAT_RULE_ID

/* The rules of a reader, for pages and tests: `*count` of them, rule 0 left
 * out. Static. */
const struct compat_rule *pdr__compat_rules(size_t *count, pdr_reader reader);
pdr_severity pdr__compat_severity(enum compat_effect effect);
/* "fails-load" and the like. */
const char *pdr__compat_effect_name(enum compat_effect effect);

/* --- the walk ------------------------------------------------------------ */

struct compat;

/* Looks at one value; the place of the walk is that of the value. */
typedef void (*compat_look)(struct compat *walk, const pdr_value *value);

/* JSON kinds as bits. Null is apart: see `null`. */
#define COMPAT_KIND(kind) (1u << (kind))
#define COMPAT_BOOL       COMPAT_KIND(PDR_BOOL)
#define COMPAT_NUMBER     COMPAT_KIND(PDR_NUMBER)
#define COMPAT_STRING     COMPAT_KIND(PDR_STRING)
#define COMPAT_ARRAY      COMPAT_KIND(PDR_ARRAY)
#define COMPAT_OBJECT     COMPAT_KIND(PDR_OBJECT)
#define COMPAT_ANY        0x3Fu
#define COMPAT_NO_STRING  (COMPAT_ANY & ~COMPAT_STRING)

/* A member that a reader knows. What is no rule is fine. */
struct compat_member {
    const char *name;
    unsigned kinds;   /* that may stand there */
    int absent;       /* rule; told of the object */
    int null;         /* rule for null */
    int other;        /* rule for another kind */
    compat_look look; /* at a value of these kinds; NULL: as `opaque` */
};

/* The members of a kind of object, and who looks at others. */
struct compat_table {
    const struct compat_member *members;
    size_t count;
    compat_look rest;
    bool reads_all; /* of several members with one name, not only the last */
    bool tagged;    /* its kind is told by $type */
};

/* What differs between readers at every place. */
struct compat_reader {
    const struct compat_rule *rules; /* by number; rule 0 is none */
    size_t max_level;
    int too_deep;
    int duplicate;
    bool opaque_duplicates; /* does it also drop those in opaque values? */
    compat_look scalar;
    /* At a member; `table` is that of the object, NULL in opaque values. */
    void (*name)(struct compat *walk, const pdr_value *object,
                 const pdr_iter *member, const struct compat_table *table);
    compat_look root;
    /* `about` says where the text stops being JSON. */
    void (*no_json)(struct compat *walk, pdr_str text, const char *about);
};

extern const struct compat_rule pdr__dotnet_rules[DN_COUNT];
extern const struct compat_rule pdr__python_rules[PY_COUNT];
extern const struct compat_reader pdr__compat_dotnet;
extern const struct compat_reader pdr__compat_python;

struct compat {
    const struct compat_reader *reader;
    struct finder finder;
    pdr_reader_verdict verdict;
    size_t level;    /* arrays and objects around the place */
    bool superseded; /* a later member of the same name counts */
    bool lost;       /* the reader does not write what is here */
    pdr_buf scratch; /* for one text at a time */
    pdr_rc rc;       /* the first failure; nothing happens after it */
    pdr_err *err;
};

/* Tell of the place. `about` is the member that a text speaks of; NULL: "this".
 * Rule 0 tells nothing. */
void pdr__compat_tell(struct compat *walk, int rule, const char *about);
/* Look at the members of an object, at the elements of an array, at a value of
 * which the reader knows nothing. */
void pdr__compat_members(struct compat *walk, const pdr_value *object,
                         const struct compat_table *table);
void pdr__compat_items(struct compat *walk, const pdr_value *array,
                       compat_look look);
void pdr__compat_opaque(struct compat *walk, const pdr_value *value);
/* As pdr__compat_opaque(), but the reader does not write it again. */
void pdr__compat_drop(struct compat *walk, const pdr_value *value);
/* The text of a string, lone surrogates as three bytes; valid until the next
 * call. Empty after a failure. */
pdr_str pdr__compat_text(struct compat *walk, const pdr_value *string);
/* Is it one of the bare tokens? */
bool pdr__compat_is_bare(const pdr_value *value);
/* Tell how a reader would write a date that it can read. */
void pdr__compat_spelling(struct compat *walk, pdr_str text,
                          pdr_datetime_form form, int rule);

/* --- what .NET takes (compat_text.c) ------------------------------------- */

/* Two to four numbers with points between them as .NET reads them; false if it
 * does not. */
bool pdr__dotnet_version(pdr_schema_version *out, pdr_str text);
/* The spelling of a date; see the format page. */
bool pdr__dotnet_date(pdr_str text);
/* `type/subtype`, with parameters. */
bool pdr__dotnet_media_type(pdr_str text);
/* A data: URI. */
bool pdr__dotnet_data_uri(pdr_str text);
/* Groups of four, padded, and no bits left over: each data has one spelling. */
bool pdr__is_base64(pdr_str text);
/* Any URI, relative ones too. */
bool pdr__dotnet_uri(pdr_str text);
/* Nothing but white space. */
bool pdr__dotnet_blank(pdr_str text);

/* What `unknown` wraps (compat_unknown.c): an item of a .NET session. */
void pdr__dotnet_unknown(struct compat *walk, const pdr_value *item);

#endif
