/*
 * perdure/json.h - JSON text (RFC 8259) to values and back.
 */
#ifndef PERDURE_JSON_H
#define PERDURE_JSON_H

#include <perdure/codec.h>

PDR_BEGIN_DECLS

/** The codec, for the functions of codec.h. Forms "json" (one document) and
 * "jsonl" (documents one after another, at least one white space between two; a
 * line each when written). @thread any @since 0.1 */
PDR_API const pdr_codec *pdr_json_codec(void);

/**
 * Read one document. The value gets its own copy of `text`.
 *
 * @param[out] out  owned; release with pdr_value_free(). NULL on failure.
 * @param text      copied.
 * @param opts      borrowed for the call; NULL means the defaults.
 * @param[out] err  with offset and path of what is wrong.
 * @return PDR_OK; PDR_EINVALID with one of the reasons that the format page
 *         json.md lists; PDR_ELIMIT; PDR_ENOMEM; PDR_EUNSUPPORTED for a missing
 *         kernel; PDR_EMISUSE (reason "bad_option") for unknown flags or a
 *         limit above its maximum.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_read(pdr_value **out, pdr_str text,
                                            const pdr_read_opts *opts,
                                            pdr_err *err);

/** As pdr_json_read(), but the value points into the caller's text.
 * @param text  borrowed, must outlive the value and whatever shares it.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_read_borrowed(pdr_value **out,
                                                     pdr_str text,
                                                     const pdr_read_opts *opts,
                                                     pdr_err *err);

/** As pdr_json_read(), but the value becomes the owner of the buffer's bytes.
 * @param text  taken, also on failure: empty afterwards.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_read_take(pdr_value **out, pdr_buf *text,
                                                 const pdr_read_opts *opts,
                                                 pdr_err *err);

/**
 * Append the text of a value. Every number and string is spelled as it was read
 * or built, in every layout.
 *
 * @param out    gets the text; on failure its content is as it was.
 * @param value  borrowed for the call.
 * @param opts   borrowed for the call; NULL means the defaults.
 * @return PDR_OK; PDR_EINVALID (reason "bare_token") for a NaN or an infinity
 *         without PDR_BARE_TOKENS; PDR_ENOMEM; PDR_ELIMIT; PDR_EMISUSE
 *         (reason "bad_option") for an unknown flag or layout, or an indent
 *         above 16.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_write(pdr_buf *out,
                                             const pdr_value *value,
                                             const pdr_write_opts *opts,
                                             pdr_err *err);

PDR_END_DECLS

#endif
