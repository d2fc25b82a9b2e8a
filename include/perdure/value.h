/*
 * perdure/value.h - JSON values that lose nothing.
 *
 * A value is immutable and counted. One that was read points into its text:
 * member order, duplicate members, the spelling of numbers and of strings are
 * all still there. Pointers to what is inside a value are borrowed: they live
 * as long as the value they came from, unless pdr_value_ref() makes them count
 * on their own.
 *
 * Changing calls take the address of the caller's handle. They put a new value
 * there that shares the unchanged parts with the old one; whoever else holds
 * the old value sees no change. Pointers borrowed through that handle are no
 * longer valid afterwards.
 *
 * No pointer may be NULL but `err`, and what a function says may be: the
 * functions that look something up take NULL for "not there" and give the same
 * back, so that look-ups can be nested. Other NULLs break the contract:
 * PDR_EMISUSE at best.
 */
#ifndef PERDURE_VALUE_H
#define PERDURE_VALUE_H

#include <perdure/buf.h>

PDR_BEGIN_DECLS

typedef struct pdr_value pdr_value;

typedef enum pdr_kind {
    PDR_NULL = 0,
    PDR_BOOL = 1,
    PDR_NUMBER = 2,
    PDR_STRING = 3,
    PDR_ARRAY = 4,
    PDR_OBJECT = 5
} pdr_kind;

/** "null", "boolean", "number", "string", "array" or "object"; "?" for what is
 * no kind. @thread any @since 0.1 */
PDR_API const char *pdr_kind_name(pdr_kind kind);

/* --- holding ------------------------------------------------------------- */

/** One more owner for `value`, which may be a part of another value; the whole
 * that it came from stays in memory (see pdr_value_compact()). NULL gives NULL.
 * @return owned; release with pdr_value_free(). @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_value *pdr_value_ref(const pdr_value *value);

/** Give up one ownership. NULL is fine, cannot fail. @thread const @since 0.1
 */
PDR_API void pdr_value_free(pdr_value *value);

/* --- reading ------------------------------------------------------------- */

/** What `value` is; not NULL. @thread const @since 0.1 */
PDR_API pdr_kind pdr_value_kind(const pdr_value *value);

/** Elements of an array, members of an object (duplicates count), else 0,
 * for NULL too. @thread const @since 0.1 */
PDR_API size_t pdr_value_count(const pdr_value *value);

/** Element `index` of an array. Takes constant time after the first call on a
 * large array. @return borrowed from `array`; NULL if it is NULL, no array or
 * has no such element. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_value_at(const pdr_value *array, size_t index);

/** Member `name` of an object; of several with one name, the last. Takes
 * constant time after the first call on a large object. `name` is UTF-8 (lone
 * surrogates as three bytes are found too). @return borrowed from `object`;
 * NULL if it is NULL, no object or has no such member.
 * @thread const @since 0.1 */
PDR_API const pdr_value *pdr_value_get(const pdr_value *object, pdr_str name);

/** As pdr_value_get(), for a name that is a C string.
 * @thread const @since 0.1 */
static inline const pdr_value *pdr_value_get_c(const pdr_value *object,
                                               const char *name)
{
    return pdr_value_get(object, pdr_str_c(name));
}

/* A place while walking over the elements or members of one value:
 *
 *     pdr_iter it;
 *     pdr_iter_init(&it, value);
 *     while (pdr_iter_next(&it))
 *         use(it.name, it.value);
 */
typedef struct pdr_iter {
    const pdr_value *name;  /* borrowed; the member's name, NULL in an array */
    const pdr_value *value; /* borrowed; the element or the member's value */
    size_t index;           /* its position, from 0 */
    /* private */
    const pdr_value *container;
    const pdr_value *cursor;
    const pdr_value *nodes;
    size_t left;
    uint32_t chunk;
    uint32_t slot;
} pdr_iter;

/** Start before the first element or member; scalars and NULL have none.
 * @param container  borrowed, must outlive the walk. @thread owner @since 0.1
 */
PDR_API void pdr_iter_init(pdr_iter *it, const pdr_value *container);

/** Go to the next one. @return false at the end. @thread owner @since 0.1 */
PDR_API bool pdr_iter_next(pdr_iter *it);

/* Typed reading. `value` is not NULL. After a failure *out holds no result and
 * is not to be used. */

/** @return PDR_OK, or PDR_EINVALID (reason "wrong_kind").
 * @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_bool(bool *out, const pdr_value *value,
                                             pdr_err *err);

/** The exact integer that a number is; `1.0`, `1e2` and `-0` are integers.
 * @return PDR_OK, or PDR_EINVALID with reason "wrong_kind", "not_integer" or
 *         "number_range". @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_int64(int64_t *out,
                                              const pdr_value *value,
                                              pdr_err *err);

/** As pdr_value_int64(). @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_uint64(uint64_t *out,
                                               const pdr_value *value,
                                               pdr_err *err);

/** The double nearest to a number, ties to even; 0 or -0 for one too small.
 * Bare NaN and infinities give themselves.
 * @return PDR_OK, or PDR_EINVALID with reason "wrong_kind", or "number_range"
 *         for one too large. @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_double(double *out,
                                               const pdr_value *value,
                                               pdr_err *err);

/**
 * The text of a string, as UTF-8. It may hold NUL.
 *
 * @param[out] out  borrowed from `value` if the string has no escapes, else
 *                  from `scratch`, whose old content is lost.
 * @param scratch   holds decoded text; may be NULL if `value` was built
 *                  or checked to have no escapes (else PDR_EMISUSE).
 * @return PDR_OK; PDR_EINVALID with reason "wrong_kind", or "lone_surrogate" if
 *         it has no UTF-8 form; what pdr_buf_reserve() gives.
 * @thread const  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_text(pdr_str *out,
                                             const pdr_value *value,
                                             pdr_buf *scratch, pdr_err *err);

/** Is `value` a string with this text? Needs no memory. NULL is none.
 * @thread const @since 0.1 */
PDR_API bool pdr_value_text_is(const pdr_value *value, pdr_str text);

/** Does the string hold half a surrogate pair, so that it has no UTF-8 form?
 * False for what is no string, and for NULL. @thread const @since 0.1 */
PDR_API bool pdr_value_has_lone_surrogate(const pdr_value *value);

/** The JSON text of a scalar, or of an array or object that nobody changed, as
 * it was read or built: quotes, escapes and white space included.
 * @param[out] out  borrowed from `value`; empty if there is none.
 * @param value     not NULL.
 * @return false for an array or object that was changed: write it instead.
 * @thread const @since 0.1 */
PDR_API bool pdr_value_raw(pdr_str *out, const pdr_value *value);

/** Where the value begins in the text it was read from, in bytes; that of a
 * built value is the place in its own text; -1 for an array or object that was
 * changed. `value` is not NULL. @thread const @since 0.1 */
PDR_API int64_t pdr_value_offset(const pdr_value *value);

/** Bytes of memory that this value keeps alive, shared parts included once;
 * for reports. 0 for NULL. @thread const @since 0.1 */
PDR_API size_t pdr_value_memory(const pdr_value *value);

/* --- making -------------------------------------------------------------- */

/* All that return a code set *out to an owned value, or to NULL on failure. */

/** A string from UTF-8.
 * @return PDR_OK; PDR_EINVALID (reason "bad_utf8"); PDR_ENOMEM; PDR_ELIMIT.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_new_string(pdr_value **out,
                                                   pdr_str text, pdr_err *err);

/** A number spelled as given. @return as above; reason "bad_number".
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_new_number(pdr_value **out,
                                                   pdr_str text, pdr_err *err);

/** @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_new_int64(pdr_value **out,
                                                  int64_t number, pdr_err *err);

/** The shortest text that reads back as the same double. NaN and infinities
 * are refused (reason "not_finite"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_new_double(pdr_value **out,
                                                   double number, pdr_err *err);

/** null, a boolean, an empty array, an empty object. Cannot fail: they are
 * static. They may be held, changed and freed like any other value.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_value *pdr_value_new_null(void);
PDR_API PDR_MUST_CHECK pdr_value *pdr_value_new_bool(bool truth);
PDR_API PDR_MUST_CHECK pdr_value *pdr_value_new_array(void);
PDR_API PDR_MUST_CHECK pdr_value *pdr_value_new_object(void);

/*
 * A builder puts one value together from its beginning to its end. Its calls
 * return nothing: the first failure is remembered, later calls do nothing, and
 * pdr_builder_finish() reports it. Calls out of order (a value without a name
 * in an object, a second root) are PDR_EMISUSE there.
 */
typedef struct pdr_builder pdr_builder;

/** @param[out] out  owned; release with pdr_builder_free(). NULL on failure.
 * @return PDR_OK or PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_builder_new(pdr_builder **out, pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_builder_free(pdr_builder *builder);

/** Hand out what was built and begin anew.
 * @param[out] out  owned; NULL on failure.
 * @return PDR_OK, or the first failure since the last finish; PDR_EMISUSE
 *         (reason "builder_order") if the value is not complete.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_builder_finish(pdr_value **out,
                                                 pdr_builder *builder,
                                                 pdr_err *err);

/** Begin an object or array, end the one begun last. @thread owner @since 0.1
 */
PDR_API void pdr_builder_object(pdr_builder *builder);
PDR_API void pdr_builder_array(pdr_builder *builder);
PDR_API void pdr_builder_end(pdr_builder *builder);

/** Name of the next member. Names are not compared with earlier ones.
 * @thread owner @since 0.1 */
PDR_API void pdr_builder_name(pdr_builder *builder, pdr_str name);

/** One scalar each. `_number` takes the spelling, `_escaped` and
 * `_escaped_name` take what stands between the quotes of a JSON string.
 * @thread owner @since 0.1 */
PDR_API void pdr_builder_null(pdr_builder *builder);
PDR_API void pdr_builder_bool(pdr_builder *builder, bool truth);
PDR_API void pdr_builder_int64(pdr_builder *builder, int64_t number);
PDR_API void pdr_builder_uint64(pdr_builder *builder, uint64_t number);
PDR_API void pdr_builder_double(pdr_builder *builder, double number);
PDR_API void pdr_builder_number(pdr_builder *builder, pdr_str text);
PDR_API void pdr_builder_string(pdr_builder *builder, pdr_str text);
PDR_API void pdr_builder_escaped(pdr_builder *builder, pdr_str json);
PDR_API void pdr_builder_escaped_name(pdr_builder *builder, pdr_str json);

/** A copy of a value or of a part of one, spelling kept, without white space.
 * @param value  copied; not NULL. @thread owner @since 0.1 */
PDR_API void pdr_builder_value(pdr_builder *builder, const pdr_value *value);

/* --- changing ------------------------------------------------------------ */
/*
 * All: `io` holds an owned value and gets an owned value; on failure it is as
 * it was. Neither is NULL. `value` is shared and stays the caller's; it may be
 * a part of *io, or *io itself, and goes in as it was before the call. A handle
 * that is the only owner is changed in place, so a row of edits does not copy.
 * Common failures: PDR_ENOMEM; PDR_EINVALID (reason "wrong_kind") if *io is not
 * an array or object as needed; PDR_ELIMIT (reason "too_deep").
 */

/** Set member `name`: the last one of that name, or a new one at the end. A
 * name that is no UTF-8 gives PDR_EINVALID (reason "bad_utf8").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_set(pdr_value **io, pdr_str name,
                                            const pdr_value *value,
                                            pdr_err *err);

/** Remove all members called `name`.
 * @return also PDR_ENOTFOUND (reason "no_member"). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_remove(pdr_value **io, pdr_str name,
                                               pdr_err *err);

/** Add an element at the end. Also cheap if others share *io: the elements
 * there are not copied. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_append(pdr_value **io,
                                               const pdr_value *value,
                                               pdr_err *err);

/** Add an element before `index`, which may be the count.
 * @return also PDR_ENOTFOUND (reason "no_element"). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_insert(pdr_value **io, size_t index,
                                               const pdr_value *value,
                                               pdr_err *err);

/** Put `value` in the place of element `index`. Fails as pdr_value_insert().
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_replace(pdr_value **io, size_t index,
                                                const pdr_value *value,
                                                pdr_err *err);

/** Remove element `index`. Fails as pdr_value_insert().
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_erase(pdr_value **io, size_t index,
                                              pdr_err *err);

/** Copy *io into memory of its own, without white space, so that what it
 * shared can be freed. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_compact(pdr_value **io, pdr_err *err);

/* --- JSON Pointer (RFC 6901) --------------------------------------------- */

/** Find a part by its pointer; "" is the whole. An index has no leading zeros:
 * what "/a/01" or "/a/-" names in an array is not there (reason "no_element").
 * Below a string or another scalar there is nothing (reason "no_member").
 * @param[out] out  borrowed from `root`; NULL on failure.
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_member" or "no_element", path set
 *         to the part that was not there); PDR_EINVALID (reason "bad_pointer");
 *         PDR_ENOMEM, only for a name with "~". @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_pointer_get(const pdr_value **out,
                                              const pdr_value *root,
                                              pdr_str pointer, pdr_err *err);

/** Replace what the pointer names; a member that is not there is added, and the
 * index "-" or the count adds an element. What holds it must be there, and be
 * an array or object (else reason "wrong_kind"). "" puts `value` in the place
 * of the whole. Fails as pdr_pointer_get() and as the changing calls, with the
 * path. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_pointer_set(pdr_value **io, pdr_str pointer,
                                              const pdr_value *value,
                                              pdr_err *err);

/** As pdr_pointer_set(), but an index inserts before that element.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_pointer_insert(pdr_value **io,
                                                 pdr_str pointer,
                                                 const pdr_value *value,
                                                 pdr_err *err);

/** Remove what the pointer names; "" is PDR_EINVALID (reason "bad_pointer").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_pointer_remove(pdr_value **io,
                                                 pdr_str pointer, pdr_err *err);

/** Append "/" and `token` with "~" and "/" escaped. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_pointer_push(pdr_buf *pointer, pdr_str token,
                                               pdr_err *err);

/* --- comparing ----------------------------------------------------------- */

/** Same kinds, same members and elements in the same order, numbers spelled
 * alike, strings with the same code points however they are escaped.
 * NULL equals NULL only. @thread const @since 0.1 */
PDR_API bool pdr_value_equal(const pdr_value *a, const pdr_value *b);

/** As pdr_value_equal(), but members may stand in any order at every level; of
 * several with one name, first is compared with first, and so on. No NULL here.
 * @return PDR_OK or PDR_ENOMEM. @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_equal_unordered(bool *out,
                                                        const pdr_value *a,
                                                        const pdr_value *b,
                                                        pdr_err *err);

typedef enum pdr_change_kind {
    PDR_ADDED = 1,    /* only in b */
    PDR_REMOVED = 2,  /* only in a */
    PDR_CHANGED = 3,  /* in both, different */
    PDR_REORDERED = 4 /* same members, other order; reported at the object */
} pdr_change_kind;

typedef struct pdr_change {
    pdr_change_kind kind;
    pdr_str pointer; /* in b for what was added, else in a; borrowed for the
                        call; lone surrogates are three bytes */
    const pdr_value *before; /* borrowed; NULL if added */
    const pdr_value *after;  /* borrowed; NULL if removed */
} pdr_change;

/** Called for each change, on the caller's thread; must not free a or b.
 * A return other than PDR_OK ends the comparison with that code. */
typedef pdr_rc (*pdr_change_fn)(const pdr_change *change, pdr_err *err,
                                void *arg);

/** Report how b differs from a, in document order. Arrays are aligned, so that
 * an element put in front is one change. Takes n log n steps at most. Neither
 * a, b nor `fn` is NULL.
 * @return PDR_OK, PDR_ENOMEM, PDR_ELIMIT, or what `fn` returned.
 * @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_diff(const pdr_value *a,
                                             const pdr_value *b, pdr_err *err,
                                             pdr_change_fn fn, void *arg);

typedef enum pdr_finding_kind {
    PDR_FOUND_DUPLICATE = 1,     /* a member's name occurred before */
    PDR_FOUND_LONE_SURROGATE = 2 /* a string or name without a UTF-8 form */
} pdr_finding_kind;

typedef struct pdr_finding {
    pdr_finding_kind kind;
    pdr_str pointer;        /* of the member or string; borrowed for the call */
    const pdr_value *value; /* borrowed; the name or the string itself */
} pdr_finding;

/** As pdr_change_fn. */
typedef pdr_rc (*pdr_finding_fn)(const pdr_finding *finding, pdr_err *err,
                                 void *arg);

/** Report what is valid JSON and yet not read alike by everybody: duplicate
 * names (the second and later ones) and lone surrogates, in document order.
 * @return as pdr_value_diff(). @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_value_inspect(const pdr_value *value,
                                                pdr_err *err, pdr_finding_fn fn,
                                                void *arg);

PDR_END_DECLS

#endif
