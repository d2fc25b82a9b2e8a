/*
 * sparse.c - stretches of `log` from which rows were removed.
 *
 * WHY  Sessions write in turns, so a page of `log` holds rows of two or three
 *      of them. Removing one leaves the page half full, and SQLite gives a page
 *      free only when it is nearly empty: measured, after half of 1,000
 *      interleaved sessions was removed, a quarter of the file was free and a
 *      quarter was lost in holes. A row's place in `log` means nothing, so the
 *      rows of a sparse stretch can go to the end, close together, and all its
 *      pages are free.
 *
 *          place   1 … 64 │ 65 … 128 │ 129 … 192 │ … │ end
 *                   dense     sparse ── rows ──────────►
 *
 *      A vacuum looks at every stretch. A commit does so only when the file
 *      would grow, and only at stretches that this process removed rows from:
 *      by then most rows that will be removed are gone, and each is moved once.
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  Nothing but room is at stake: a row keeps all its columns but `n`,
 *       which no digest covers, and moves inside one transaction.
 *   I2  A row that has pages of its own stays: it leaves no hole worth the
 *       copy.
 *   I3  What is noted is a hint. Rows are counted before they are moved.
 *   I4  Notes do not grow old: when there is room for no more, they are all
 *       forgotten, unless one of them waits to be looked at; and a vacuum
 *       forgets them, as it looks at everything. So holes are used again
 *       however many a process has made before.
 */
#include <time.h>

#include "sqlite.h"

/* A body with so many bytes stands on its leaf, with all that is around it. */
#define SMALL_BYTES (PDR_SQLITE_USABLE - 400)

/* Free pages that a file has when nothing needs to be done. */
#define ENOUGH_PAGES 256

/* Of those that are noted, looked at in one turn; and stretches that one commit
 * moves at most. */
#define LOOKS 4096u
#define MOVES 16u

/* A stretch with at most so many rows is moved. */
#define SPARSE (PDR_STRETCH * 3 / 4)
/* One from which so many were removed is looked at. */
#define MANY (PDR_STRETCH - SPARSE)

/* Microseconds after which a commit moves no more. */
#define MOVE_US 5000

/* --- moving -------------------------------------------------------------- */

/* The one number of a statement; what SQLite said if there is none. */
static int ask(int64_t *out, struct pdr__writer *writer,
               enum pdr__sqlite_sql which)
{
    sqlite3_stmt *stmt = writer->stmt[which];
    int code = sqlite3_step(stmt);

    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_reset(stmt);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

/* Bytes of a body, without reading it; -1: there is none. */
static int64_t body_bytes(struct pdr__writer *writer, int64_t place)
{
    sqlite3_blob *body = NULL;
    int code =
        sqlite3_blob_open(writer->db, "main", "log", "body", place, 0, &body);
    int64_t bytes = code == SQLITE_OK ? sqlite3_blob_bytes(body) : -1;

    (void)sqlite3_blob_close(body);
    return bytes;
}

static void take_row(struct pdr__writer *writer, sqlite3_stmt *stmt)
{
    struct pdr__sparse *sparse = &writer->sparse;
    int64_t place = sqlite3_column_int64(stmt, 0);
    int64_t body = body_bytes(writer, place);

    if (body <= SMALL_BYTES) /* I2 */
        sparse->moving[sparse->taken++] =
            (struct pdr__moving){place, pdr__pack_cell(stmt, 1, body)};
}

void pdr__sparse_begin(struct pdr__sparse *sparse)
{
    sparse->taken = 0;
    sparse->rows = 0;
}

int pdr__sparse_take(struct pdr__writer *writer, int64_t first, size_t most)
{
    struct pdr__sparse *sparse = &writer->sparse;
    sqlite3_stmt *stmt = writer->stmt[PDR_SQL_PLACES];
    size_t before = sparse->taken, count = 0;
    int code = SQLITE_OK;

    if (before + PDR_STRETCH > PDR_MAX_PENDING)
        code = pdr__sparse_move(writer);
    if (code != SQLITE_OK)
        return code;
    before = sparse->taken;
    pdr__bind_int(stmt, 1, first);
    pdr__bind_int(stmt, 2, first + PDR_STRETCH);
    for (code = sqlite3_step(stmt); code == SQLITE_ROW && count < PDR_STRETCH;
         code = sqlite3_step(stmt)) {
        take_row(writer, stmt);
        count++;
    }
    (void)sqlite3_reset(stmt);
    if (count > most)
        sparse->taken = before;
    sparse->rows += sparse->taken - before;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* As pack.c does: the largest that fits, or the largest of all. */
static struct pdr__moving *choose(struct pdr__writer *writer)
{
    struct pdr__sparse *sparse = &writer->sparse;
    struct pdr__moving *fits = NULL, *largest = NULL;
    int64_t left = pdr__pack_left(writer);

    for (size_t i = 0; i < sparse->taken; i++) {
        struct pdr__moving *row = &sparse->moving[i];

        if (row->cell == 0)
            continue;
        if (largest == NULL || row->cell > largest->cell)
            largest = row;
        if (row->cell <= left && (fits == NULL || row->cell > fits->cell))
            fits = row;
    }
    return fits != NULL ? fits : largest;
}

int pdr__sparse_move(struct pdr__writer *writer)
{
    struct pdr__sparse *sparse = &writer->sparse;
    sqlite3_stmt *stmt = writer->stmt[PDR_SQL_MOVE_ROW];
    int64_t last = 0;
    int code = ask(&last, writer, PDR_SQL_LAST_PLACE);

    for (size_t i = 0; i < sparse->taken && code == SQLITE_OK; i++) {
        struct pdr__moving *row = choose(writer);

        pdr__bind_int(stmt, 1, row->place);
        pdr__bind_int(stmt, 2, ++last);
        code = pdr__writer_step(writer, PDR_SQL_MOVE_ROW);
        code = code == SQLITE_DONE ? SQLITE_OK : code;
        pdr__pack_count(writer, row->cell, last);
        row->cell = 0;
    }
    sparse->taken = 0;
    return code;
}

/* --- notes --------------------------------------------------------------- */

static size_t slot_of(const struct pdr__sparse *sparse, int64_t stretch)
{
    uint64_t hash = (uint64_t)stretch * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 40) % PDR_SPARSE_NOTES;

    while (sparse->notes[at].removed != 0 &&
           sparse->notes[at].stretch != stretch)
        at = (at + 1) % PDR_SPARSE_NOTES;
    return at;
}

void pdr__sparse_forget(struct pdr__sparse *sparse)
{
    if (sparse->notes != NULL)
        memset(sparse->notes, 0, PDR_SPARSE_NOTES * sizeof(*sparse->notes));
    sparse->count = 0;
    sparse->at = 0;
    sparse->rounds = 0;
    sparse->open = false;
}

/* The note of a stretch, a new one if there is none; NULL: no room. */
static struct pdr__sparse_note *find_note(struct pdr__sparse *sparse,
                                          int64_t stretch)
{
    size_t at = slot_of(sparse, stretch);

    if (sparse->notes[at].removed != 0)
        return &sparse->notes[at];
    if (sparse->count == PDR_SPARSE_NOTES / 2) {
        if (sparse->open)
            return NULL;            /* a vacuum finds it */
        pdr__sparse_forget(sparse); /* I4 */
        at = slot_of(sparse, stretch);
    }
    sparse->count++;
    sparse->notes[at].stretch = stretch;
    return &sparse->notes[at];
}

/* SQLite tells of each row that changes. */
static void note_change(void *arg, int op, const char *name, const char *table,
                        sqlite3_int64 place)
{
    struct pdr__sparse *sparse = &((struct pdr__writer *)arg)->sparse;
    struct pdr__sparse_note *note = NULL;

    (void)name;
    if (op != SQLITE_DELETE || sparse->is_moving || strcmp(table, "log") != 0)
        return;
    if (sparse->notes == NULL)
        sparse->notes = pdr__calloc(PDR_SPARSE_NOTES, sizeof(*sparse->notes));
    if (sparse->notes != NULL)
        note = find_note(sparse, place / PDR_STRETCH);
    if (note == NULL || ++note->removed != MANY)
        return;
    sparse->open = true;
    sparse->rounds = 0;
}

void pdr__sparse_listen(struct pdr__writer *writer)
{
    (void)sqlite3_update_hook(writer->db, note_change, writer);
}

void pdr__sparse_dispose(struct pdr__sparse *sparse)
{
    pdr__free(sparse->notes);
    sparse->notes = NULL;
}

/* The next stretch with many removed rows; -1: none among those that were
 * looked at. A note is taken once, but keeps its slot. */
static int64_t take_note(struct pdr__sparse *sparse, size_t *looks)
{
    while (*looks > 0) {
        struct pdr__sparse_note *note = &sparse->notes[sparse->at];

        sparse->at = (sparse->at + 1) % PDR_SPARSE_NOTES;
        --*looks;
        if (sparse->at == 0)
            sparse->rounds++;
        if (note->removed < MANY)
            continue;
        note->removed = 1;
        sparse->rounds = 0;
        return note->stretch;
    }
    return -1;
}

/* --- after a commit ------------------------------------------------------ */

static int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* In a transaction. */
static pdr_rc move_some(struct pdr__sqlite *store, void *arg, pdr_err *err)
{
    struct pdr__writer *writer = &store->writer;
    int64_t until = now_us() + MOVE_US;
    size_t looks = LOOKS;
    int code = SQLITE_OK;

    (void)arg;
    pdr__sparse_begin(&writer->sparse);
    for (size_t i = 0; i < MOVES && now_us() < until && code == SQLITE_OK;
         i++) {
        int64_t stretch = take_note(&writer->sparse, &looks);

        if (stretch < 0)
            break;
        code = pdr__sparse_take(writer, stretch * PDR_STRETCH, SPARSE);
    }
    if (code == SQLITE_OK)
        code = pdr__sparse_move(writer);
    if (writer->sparse.rounds > 1) /* nothing is left of what was noted */
        writer->sparse.open = false;
    return code == SQLITE_OK
               ? PDR_OK
               : pdr__sqlite_fail(err, writer->db, code, "moving rows");
}

void pdr__sparse_after(struct pdr__sqlite *store)
{
    struct pdr__writer *writer = &store->writer;
    int64_t deadline = pdr__monotonic_ms(pdr__clock_system());
    int64_t pages = 0;

    assert(store->line.held);
    if (!writer->sparse.open ||
        ask(&pages, writer, PDR_SQL_FREE_PAGES) != SQLITE_OK ||
        pages >= ENOUGH_PAGES)
        return;
    writer->sparse.is_moving = true;
    /* A failure is the next commit's to tell: nothing was promised here. */
    (void)(pdr__writer_transact(store, deadline, NULL, move_some, NULL) ==
           PDR_OK);
    writer->sparse.is_moving = false;
}
