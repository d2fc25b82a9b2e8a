/*
 * turn.c - add a turn with a tool call to a durable agent's document.
 *
 *     turn IN OUT TIME
 *
 * Reads the document IN (the text `null` is a session that has no state yet),
 * appends a question, a tool call with its result and the answer, asked at TIME
 * (as in 2026-05-06T07:00:00Z), moves the deadline of the session to two weeks
 * later, and writes the document to OUT. What was there stays as it was, byte
 * for byte.
 */
#include <perdure.h>
#include <stdio.h>
#include <stdlib.h>

#define TURN_ID   "example-2"
#define CALL_ID   "call_1"
#define TWO_WEEKS ((int64_t)14 * 86400 * PDR_TICKS_PER_SECOND)

/* --- files --------------------------------------------------------------- */

static pdr_rc read_file(pdr_buf *out, const char *path, pdr_err *err)
{
    char chunk[65536];
    size_t got = 0;
    pdr_rc rc = PDR_OK;
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        return pdr_err_set(err, PDR_ENOTFOUND, "no_file", "cannot open %s",
                           path);
    do {
        got = fread(chunk, 1, sizeof(chunk), file);
        rc = pdr_buf_append(out, pdr_str_n(chunk, got), err);
    } while (rc == PDR_OK && got > 0);
    if (rc == PDR_OK && ferror(file))
        rc = pdr_err_set(err, PDR_EIO, "cannot_read", "cannot read %s", path);
    fclose(file);
    return rc;
}

static pdr_rc write_file(const char *path, pdr_str text, pdr_err *err)
{
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(text.ptr, 1, text.len, file) == text.len;

    if (file != NULL && fclose(file) != 0)
        good = false;
    return good ? PDR_OK
                : pdr_err_set(err, PDR_EIO, "cannot_write", "cannot write %s",
                              path);
}

/* --- messages ------------------------------------------------------------ */

/* A message with one content, at the end of a list of messages. What is put
 * into something is shared with it and stays the caller's. */
static pdr_rc add_message(pdr_value **list, const char *role,
                          const pdr_value *content, pdr_err *err)
{
    pdr_value *contents = pdr_value_new_array(), *message = NULL;
    pdr_rc rc = pdr_value_append(&contents, content, err);
    pdr_message_parts parts = {.role = pdr_str_c(role), .contents = contents};

    if (rc == PDR_OK)
        rc = pdr_message_new(&message, PDR_SHAPE_STATE, &parts, err);
    if (rc == PDR_OK)
        rc = pdr_value_append(list, message, err);
    pdr_value_free(message);
    pdr_value_free(contents);
    return rc;
}

static pdr_rc add_text(pdr_value **list, const char *role, const char *text,
                       pdr_err *err)
{
    pdr_value *content = NULL;
    pdr_rc rc =
        pdr_content_new_text(&content, PDR_SHAPE_STATE, pdr_str_c(text), err);

    if (rc == PDR_OK)
        rc = add_message(list, role, content, err);
    pdr_value_free(content);
    return rc;
}

/* The call of a tool, and the message that brings its result. */
static pdr_rc add_call(pdr_value **list, pdr_err *err)
{
    pdr_value *call = NULL, *reading = NULL, *result = NULL;
    pdr_rc rc = pdr_content_new_call(&call, PDR_SHAPE_STATE, pdr_str_c(CALL_ID),
                                     pdr_str_c("read_sensors"),
                                     pdr_str_c("{\"bed\":3}"), err);

    if (rc == PDR_OK)
        rc = add_message(list, "assistant", call, err);
    if (rc == PDR_OK)
        rc = pdr_json_read(&reading, pdr_str_c("{\"moisture\":0.310}"), NULL,
                           err);
    if (rc == PDR_OK)
        rc = pdr_content_new_result(&result, PDR_SHAPE_STATE,
                                    pdr_str_c(CALL_ID), reading, err);
    if (rc == PDR_OK)
        rc = add_message(list, "tool", result, err);
    pdr_value_free(result);
    pdr_value_free(reading);
    pdr_value_free(call);
    return rc;
}

/* --- entries ------------------------------------------------------------- */

static pdr_rc append_entry(pdr_value **state, const pdr_entry_parts *parts,
                           pdr_err *err)
{
    pdr_value *entry = NULL;
    pdr_rc rc = pdr_entry_new(&entry, parts, err);

    if (rc == PDR_OK)
        rc = pdr_state_append(state, entry, err);
    pdr_value_free(entry);
    return rc;
}

static pdr_rc append_request(pdr_value **state, int64_t at, pdr_err *err)
{
    pdr_value *messages = pdr_value_new_array();
    pdr_rc rc = add_text(&messages, "user", "How moist is bed 3?", err);
    pdr_entry_parts parts = {.kind = PDR_ENTRY_REQUEST,
                             .correlation_id = pdr_str_c(TURN_ID),
                             .created_at = at,
                             .messages = messages,
                             .response_type = pdr_str_c("text")};

    if (rc == PDR_OK)
        rc = append_entry(state, &parts, err);
    pdr_value_free(messages);
    return rc;
}

static pdr_rc append_response(pdr_value **state, int64_t at, pdr_err *err)
{
    pdr_value *messages = pdr_value_new_array();
    pdr_rc rc = add_call(&messages, err);

    if (rc == PDR_OK)
        rc = add_text(&messages, "assistant", "31 %: water it today.", err);
    if (rc == PDR_OK) {
        pdr_entry_parts parts = {.kind = PDR_ENTRY_RESPONSE,
                                 .correlation_id = pdr_str_c(TURN_ID),
                                 .created_at = at,
                                 .messages = messages};

        rc = append_entry(state, &parts, err);
    }
    pdr_value_free(messages);
    return rc;
}

/* --- all of it ----------------------------------------------------------- */

static pdr_rc add_turn(const char *in, const char *out, const char *time,
                       pdr_err *err)
{
    const pdr_write_opts as_read = {.layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(64 * 1024 * 1024);
    pdr_value *state = NULL;
    pdr_datetime at;
    pdr_rc rc = pdr_datetime_read(&at, pdr_str_c(time), err);

    if (rc == PDR_OK)
        rc = read_file(&text, in, err);
    if (rc == PDR_OK)
        rc = pdr_state_read(&state, pdr_buf_str(&text), NULL, err);
    if (rc == PDR_OK)
        rc = append_request(&state, at.ticks, err);
    if (rc == PDR_OK)
        rc = append_response(&state, at.ticks + PDR_TICKS_PER_SECOND, err);
    if (rc == PDR_OK)
        rc = pdr_state_set_expiration(&state, at.ticks + TWO_WEEKS, err);
    pdr_buf_clear(&text); /* the document has a copy */
    if (rc == PDR_OK)
        rc = pdr_json_write(&text, state, &as_read, err);
    if (rc == PDR_OK)
        rc = write_file(out, pdr_buf_str(&text), err);
    pdr_value_free(state);
    pdr_buf_dispose(&text);
    return rc;
}

int main(int argc, char **argv)
{
    pdr_err err = PDR_ERR_INIT;

    if (argc != 4) {
        fprintf(stderr, "usage: turn IN OUT TIME\n");
        return 2;
    }
    if (add_turn(argv[1], argv[2], argv[3], &err) == PDR_OK)
        return 0;
    fprintf(stderr, "turn: %s (%s%s%s)\n", err.message, err.reason,
            err.path[0] != '\0' ? " at " : "", err.path);
    return pdr_rc_exit_status(err.code);
}
