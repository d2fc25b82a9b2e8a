/*
 * store.c - a session that survives: each run adds one turn to it.
 *
 *     store FILE QUESTION ANSWER
 *
 * Opens the store in FILE, which is made if it is not there, commits a question
 * and its answer to the session "demo" and prints the last turns. Kill it at
 * any moment: the next run goes on behind the last turn that was committed, and
 * a turn is there as a whole or not at all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <perdure.h>

static const pdr_ref demo = {{NULL, 0}, {"demo", 4}};

static int64_t now_ms(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One entry of a state document, with the text as its only content. */
static pdr_rc write_entry(pdr_buf *out, const char *kind, const char *role,
                          const char *text, pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_value_new_string(&value, pdr_str_c(text), err);

    if (rc == PDR_OK)
        rc = pdr_buf_printf(out, err,
                            "{\"$type\":\"%s\",\"messages\":[{\"role\":"
                            "\"%s\",\"contents\":[{\"$type\":\"text\","
                            "\"text\":",
                            kind, role);
    if (rc == PDR_OK)
        rc = pdr_json_write(out, value, NULL, err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(out, pdr_str_c("}]}]}"), err);
    pdr_value_free(value);
    return rc;
}

/* The revision that the session has now; 0 if it is not there. */
static pdr_rc read_revision(uint64_t *out, pdr_store *store, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref = demo};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, err);

    *out = rc == PDR_OK ? page->head.revision : 0;
    pdr_page_free(page);
    return rc == PDR_ENOTFOUND ? PDR_OK : rc;
}

static pdr_rc add_turn(pdr_store *store, const char *question,
                       const char *answer, pdr_err *err)
{
    pdr_buf request = PDR_BUF_INIT(1 << 20), response = PDR_BUF_INIT(1 << 20);
    pdr_entry entries[2] = {{.kind = PDR_ROW_REQUEST},
                            {.kind = PDR_ROW_RESPONSE}};
    pdr_edit edit = {.ref = demo, .entries = entries, .entry_count = 2};
    pdr_commit_options options = {.now_ms = now_ms()};
    pdr_rc rc = write_entry(&request, "request", "user", question, err);

    if (rc == PDR_OK)
        rc = write_entry(&response, "response", "assistant", answer, err);
    if (rc == PDR_OK)
        rc = read_revision(&edit.revision, store, err);
    entries[0].created_ms = entries[1].created_ms = options.now_ms;
    entries[0].body = pdr_buf_str(&request);
    entries[1].body = pdr_buf_str(&response);
    if (rc == PDR_OK)
        rc = pdr_store_commit(NULL, store, &edit, 1, &options, err);
    pdr_buf_dispose(&response);
    pdr_buf_dispose(&request);
    return rc;
}

static pdr_rc print_last(pdr_store *store, pdr_err *err)
{
    pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref = demo, .backwards = true, .limit = 4};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, err);

    if (rc != PDR_OK)
        return rc;
    printf("revision %" PRIu64 ", %" PRIu64 " entries\n", page->head.revision,
           page->head.next_seq - page->head.first_seq);
    for (size_t i = page->count; i > 0; i--)
        printf("%" PRIu64 " %.*s\n", page->entries[i - 1].seq,
               (int)page->entries[i - 1].body.len,
               page->entries[i - 1].body.ptr);
    pdr_page_free(page);
    return PDR_OK;
}

int main(int argc, char **argv)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc != 4) {
        fprintf(stderr, "usage: store FILE QUESTION ANSWER\n");
        return 2;
    }
    rc = pdr_store_open(&store, argv[1], &err);
    if (rc == PDR_OK)
        rc = add_turn(store, argv[2], argv[3], &err);
    if (rc == PDR_OK)
        rc = print_last(store, &err);
    pdr_store_close(store);
    if (rc != PDR_OK)
        fprintf(stderr, "store: %s\n", err.message);
    return pdr_rc_exit_status(rc);
}
