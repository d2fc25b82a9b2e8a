/*
 * store.c - a session that survives: each run adds one turn to it.
 *
 *     store FILE QUESTION ANSWER
 *
 * Opens the store in FILE, which is made if it is not there, prints the last
 * messages of the session "demo", and adds a question and its answer. Kill it
 * at any moment: the next run goes on after the last turn that was committed,
 * and a turn is there as a whole or not at all.
 */
#include <perdure.h>
#include <stdio.h>

/* One turn on the session as it is; called again if another writer was first.
 */
static pdr_rc add_turn(pdr_stored *demo, pdr_err *err, void *texts)
{
    const char *const roles[] = {"user", "assistant"};
    pdr_bag *bag = pdr_session_bag(pdr_stored_session(demo));
    pdr_rc rc = PDR_OK;

    for (int i = 0; i < 2 && rc == PDR_OK; i++) {
        pdr_str text = pdr_str_c(((char **)texts)[i]), run = {NULL, 0};
        pdr_value *message = NULL, *last = NULL;

        rc = pdr_message_new_text(&message, pdr_stored_shape(demo),
                                  pdr_str_c(roles[i]), text, err);
        if (rc == PDR_OK)
            rc = pdr_stored_add_messages(
                demo, run, (const pdr_value *const *)&message, 1, err);
        if (rc == PDR_OK)
            rc = pdr_value_new_string(&last, text, err);
        if (rc == PDR_OK) /* what a provider remembers goes into the bag */
            rc = pdr_bag_set(bag, pdr_str_c(roles[i]), last, err);
        pdr_value_free(message);
        pdr_value_free(last);
    }
    return rc;
}

int main(int argc, char **argv)
{
    const pdr_ref ref = {.id = pdr_str_c("demo")};
    const pdr_stored_opts opts = {.create = true};
    const int64_t ticks = pdr_now() - PDR_TICKS_UNIX_EPOCH;
    const pdr_commit_options now = {.now_ms = ticks / PDR_TICKS_PER_MS};
    pdr_buf text = PDR_BUF_INIT(1 << 20);
    pdr_stored_window *last = NULL;
    pdr_stored *demo = NULL;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc != 4)
        return fprintf(stderr, "usage: store FILE QUESTION ANSWER\n"), 2;
    rc = pdr_store_open(&store, argv[1], &err);
    if (rc == PDR_OK)
        rc = pdr_stored_open(&demo, store, &ref, &opts, &err);
    if (rc == PDR_OK)
        rc = pdr_stored_messages(&last, demo, 4, 0, &err);
    for (size_t i = 0; rc == PDR_OK && i < last->count; i++) {
        pdr_buf_clear(&text);
        rc = pdr_message_text(&text, last->messages[i].value,
                              pdr_stored_shape(demo), &err);
        printf("%.*s\n", (int)text.len, text.ptr);
    }
    if (rc == PDR_OK) /* on a conflict it reloads and calls again */
        rc = pdr_stored_update(demo, &now, &err, add_turn, argv + 2);
    if (rc != PDR_OK)
        fprintf(stderr, "store: %s\n", err.message);
    pdr_stored_window_free(last);
    pdr_stored_close(demo);
    pdr_store_close(store);
    pdr_buf_dispose(&text);
    return pdr_rc_exit_status(rc);
}
