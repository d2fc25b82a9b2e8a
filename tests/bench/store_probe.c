/*
 * store_probe.c - our side of the probes: a writer and a reader that can be run
 * twice at once, and killed.
 *
 *     store-probe write FILE TAG TURNS REQUEST RESPONSE
 *     store-probe put FILE BODY
 *     store-probe read FILE
 *
 * `write` makes turns of one session, each after it has read the head. REQUEST
 * and RESPONSE are what the texts end with; they begin with the tag and the
 * number of the turn. It says "ok N" for a turn that is durable, and "refused
 * N" and why for one that is not; such a turn is tried again. `put` makes one
 * turn whose response is BODY. `read` prints all entries as an array. What
 * fails says "error" and why. peers/probes.py runs it beside the other
 * libraries.
 */
#include <perdure/buf.h>
#include <perdure/store.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_TRIES  1000u
#define MAX_BODY   4096u
#define MAX_ID     64u
#define MAX_CURSOR 2048u
#define MAX_TEXT   ((size_t)256 << 20)
#define SESSION    "session-0"

static int fail(const pdr_err *err)
{
    printf("error %s: %s\n", err->reason != NULL ? err->reason : "",
           err->message);
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + (int64_t)now.tv_nsec / 1000000;
}

static pdr_ref session_ref(void)
{
    return (pdr_ref){.id = pdr_str_c(SESSION)};
}

/* The revision to go on from; 0 if there is no such session yet. */
static pdr_rc read_revision(uint64_t *out, pdr_store *store, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref = session_ref()};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, err);

    *out = rc == PDR_OK ? page->head.revision : 0;
    pdr_page_free(page);
    return rc == PDR_ENOTFOUND ? PDR_OK : rc;
}

/* One turn: two entries, the head, a completion. */
static pdr_rc commit_turn(pdr_store *store, const char *id, const char *request,
                          const char *response, pdr_err *err)
{
    pdr_commit_options options = {.now_ms = now_ms()};
    pdr_entry entries[2] = {{.kind = PDR_ROW_REQUEST,
                             .created_ms = options.now_ms,
                             .correlation_id = pdr_str_c(id),
                             .body = pdr_str_c(request)},
                            {.kind = PDR_ROW_RESPONSE,
                             .created_ms = options.now_ms,
                             .correlation_id = pdr_str_c(id),
                             .body = pdr_str_c(response)}};
    pdr_completion completion = {.correlation_id = pdr_str_c(id),
                                 .outcome = pdr_str_c("{}")};
    pdr_edit edit = {.ref = session_ref(),
                     .entries = entries,
                     .entry_count = 2,
                     .completions = &completion,
                     .completion_count = 1};

    pdr_rc rc = read_revision(&edit.revision, store, err);
    if (rc != PDR_OK)
        return rc;
    return pdr_store_commit(NULL, store, &edit, 1, &options, err);
}

static void make_body(char *out, const char *role, const char *tag,
                      unsigned long turn, const char *rest)
{
    bool is_request = strcmp(role, "user") == 0;
    const char *kind = is_request ? "request" : "response";
    int len = snprintf(out, MAX_BODY,
                       "{\"$type\":\"%s\",\"messages\":[{\"role\":\"%s\","
                       "\"contents\":[{\"text\":\"%s %lu %s %s\"}]}]}",
                       kind, role, tag, turn, kind, rest);

    if (len < 0 || len >= (int)MAX_BODY)
        abort(); /* texts come from the script beside this program */
}

static int run_write(pdr_store *store, char **words)
{
    static char request[MAX_BODY], response[MAX_BODY];
    unsigned long turns = strtoul(words[1], NULL, 10);
    char id[MAX_ID];

    for (unsigned long turn = 0; turn < turns; turn++) {
        pdr_rc rc = PDR_EBUSY;
        snprintf(id, sizeof(id), "%s-%lu", words[0], turn);
        make_body(request, "user", words[0], turn, words[2]);
        make_body(response, "assistant", words[0], turn, words[3]);
        for (size_t i = 0; i < MAX_TRIES && rc != PDR_OK; i++) {
            pdr_err err = PDR_ERR_INIT;
            rc = commit_turn(store, id, request, response, &err);
            if (rc == PDR_OK)
                printf("ok %lu\n", turn);
            else
                printf("refused %lu %s\n", turn, err.reason);
            fflush(stdout);
        }
    }
    return 0;
}

static int run_put(pdr_store *store, char **words)
{
    static char request[MAX_BODY];
    pdr_err err = PDR_ERR_INIT;

    make_body(request, "user", "odd", 0, "");
    if (commit_turn(store, "odd-0", request, words[0], &err) != PDR_OK)
        return fail(&err);
    printf("ok 0\n");
    return 0;
}

/* Add a page to the text; `next` keeps the cursor behind it. */
static pdr_rc read_page(pdr_buf *text, char next[static MAX_CURSOR],
                        pdr_store *store, pdr_query *query, pdr_err *err)
{
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, query, err);

    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        rc = pdr_buf_append(text, pdr_str_c(text->len > 0 ? "," : "["), err);
        if (rc == PDR_OK)
            rc = pdr_buf_append(text, page->entries[i].body, err);
    }
    query->after = (pdr_str){NULL, 0};
    if (page->next.ptr != NULL && page->next.len <= MAX_CURSOR) {
        memcpy(next, page->next.ptr, page->next.len);
        query->after = (pdr_str){next, page->next.len};
    }
    pdr_page_free(page);
    return rc;
}

static int run_read(pdr_store *store, char **words)
{
    pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref = session_ref(), .limit = 200};
    char next[MAX_CURSOR];
    pdr_buf text = PDR_BUF_INIT(MAX_TEXT);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    (void)words;
    do {
        rc = read_page(&text, next, store, &query, &err);
    } while (rc == PDR_OK && query.after.ptr != NULL);
    if (rc != PDR_OK)
        (void)fail(&err);
    else
        printf("%.*s]\n", (int)text.len, text.ptr);
    pdr_buf_dispose(&text);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words; /* behind the file */
        int (*run)(pdr_store *store, char **words);
    } roles[] = {
        {"write", 4, run_write}, {"put", 1, run_put}, {"read", 0, run_read}};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    int status = 2;

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (argc != 3 + roles[i].words || strcmp(argv[1], roles[i].name) != 0)
            continue;
        if (pdr_store_open(&store, argv[2], &err) != PDR_OK)
            return fail(&err);
        status = roles[i].run(store, argv + 3);
        pdr_store_close(store);
    }
    return status;
}
