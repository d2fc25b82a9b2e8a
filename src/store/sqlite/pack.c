/*
 * pack.c - in which order the rows of a transaction go to the end of `log`.
 *
 * WHY  SQLite begins a new page when the next row does not fit. Texts of one or
 *      two kilobytes leave a fifth of each page empty that way. But the rows of
 *      a group may be written in any order, since an index finds them: so the
 *      one goes next that fills the page best. Measured: 0.85 of a file are
 *      texts of entries instead of 0.67, and even a lone turn gains by it.
 *
 *      For that we count the bytes that are free on the last page. In a new
 *      store we know them; after that we lose count when somebody else appends,
 *      and find it again with two rows that cannot stand on one page: a page
 *      was begun with the second.
 *
 * INVARIANTS, cited below as I1, I2
 *   I1  Nothing but room is at stake. A wrong count writes the same rows in
 *       another order.
 *   I2  Inside a transaction nobody reads a row that waits: entries never, and
 *       completions only after pdr__pack_holds() was asked.
 *
 * The sizes are those of the file format of SQLite, "B-tree Pages" and "Record
 * Format".
 */
#include "sqlite.h"

#define POINTER 2 /* bytes of a cell besides its own */
/* Bytes of a leaf for cells and pointers. */
#define PAGE_ROOM (PDR_SQLITE_USABLE - 8)

/* --- sizes --------------------------------------------------------------- */

static int64_t varint_bytes(uint64_t value)
{
    int64_t bytes = 1;

    while (value > 0x7F && bytes < 9) {
        value >>= 7;
        bytes++;
    }
    return bytes;
}

/* Each of these: the type in the header of the record, and the bytes. */
static int64_t integer_bytes(int64_t value)
{
    uint64_t size = value < 0 ? ~(uint64_t)value : (uint64_t)value;

    if (size <= 0x7F)
        return value == 0 || value == 1 ? 1 : 2;
    return size <= 0x7FFF           ? 3
           : size <= 0x7FFFFF       ? 4
           : size <= 0x7FFFFFFF     ? 5
           : size <= 0x7FFFFFFFFFFF ? 7
                                    : 9;
}

static int64_t text_bytes(pdr_str text)
{
    if (text.ptr == NULL)
        return 1;
    return varint_bytes(2 * (uint64_t)text.len + 13) + (int64_t)text.len;
}

static int64_t entry_bytes(const pdr_plan *plan, size_t i)
{
    const pdr_entry *row = &plan->edit->entries[i];

    return integer_bytes((int64_t)(plan->now.next_seq + i)) +
           integer_bytes(row->kind) + integer_bytes(row->shape) +
           integer_bytes(row->created_ms) + text_bytes(row->correlation_id) +
           3 + /* no first_seq, last_seq, fingerprint */
           text_bytes(row->separator) + text_bytes(row->body);
}

static int64_t completion_bytes(const pdr_plan *plan, size_t i)
{
    const pdr_completion *row = &plan->completions[i];

    return text_bytes(row->correlation_id) +
           integer_bytes(PDR_SQLITE_COMPLETION) + integer_bytes(row->at_ms) +
           integer_bytes((int64_t)row->first_seq) +
           integer_bytes((int64_t)row->last_seq) +
           text_bytes(row->fingerprint) + text_bytes(row->outcome) +
           3; /* no shape, correlation_id, separator */
}

/* What a record takes on a leaf; the rest goes to pages of its own. */
static int64_t bytes_on_leaf(int64_t record)
{
    const int64_t most = PDR_SQLITE_USABLE - 35;
    const int64_t least = (PDR_SQLITE_USABLE - 12) * 32 / 255 - 23;
    int64_t part = 0;

    if (record <= most)
        return record;
    part = least + (record - least) % (PDR_SQLITE_USABLE - 4);
    return (part <= most ? part : least) + 4;
}

static int64_t cell_of(int64_t record, int64_t rowid)
{
    return varint_bytes((uint64_t)record) + varint_bytes((uint64_t)rowid) +
           bytes_on_leaf(record) + POINTER;
}

static int64_t cell_bytes(const struct pdr__pending *row, int64_t rowid)
{
    const pdr_str digest = {"", PDR_DIGEST_BYTES};
    int64_t record =
        2 + /* length of the header; type of the rowid, which has no bytes */
        integer_bytes((int64_t)row->plan->next.epoch) + text_bytes(digest) +
        (row->is_completion ? completion_bytes(row->plan, row->i)
                            : entry_bytes(row->plan, row->i));

    return cell_of(record, rowid);
}

/* A column of the present row, as SQLite stores it. */
static int64_t column_bytes(sqlite3_stmt *stmt, int column)
{
    size_t len = 0;

    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_INTEGER:
        return integer_bytes(sqlite3_column_int64(stmt, column));
    case SQLITE_NULL:
        return 1;
    default:
        len = (size_t)sqlite3_column_bytes(stmt, column);
        return text_bytes(pdr_str_n("", len));
    }
}

int64_t pdr__pack_cell(sqlite3_stmt *stmt, int first, int64_t body)
{
    int64_t record =
        2 + (body < 0 ? 1 : text_bytes(pdr_str_n("", (size_t)body)));
    int count = sqlite3_column_count(stmt);

    for (int i = first; i < count; i++)
        record += column_bytes(stmt, i);
    return cell_of(record, sqlite3_column_int64(stmt, 0));
}

/* --- writing ------------------------------------------------------------- */

static void bind_entry(sqlite3_stmt *stmt, const pdr_plan *plan, size_t i)
{
    const pdr_entry *row = &plan->edit->entries[i];

    pdr__bind_int(stmt, 2, (int64_t)(plan->now.next_seq + i));
    pdr__bind_int(stmt, 3, row->kind);
    pdr__bind_int(stmt, 4, row->shape);
    pdr__bind_int(stmt, 5, row->created_ms);
    pdr__bind_text(stmt, 6, row->correlation_id);
    pdr__bind_blob(stmt, 7, NULL, 0);
    pdr__bind_blob(stmt, 8, NULL, 0);
    pdr__bind_blob(stmt, 9, NULL, 0);
    pdr__bind_blob(stmt, 10, plan->entries[i], PDR_DIGEST_BYTES);
    pdr__bind_text(stmt, 11, row->separator);
    pdr__bind_text(stmt, 12, row->body);
}

static void bind_completion(sqlite3_stmt *stmt, const pdr_completion *row)
{
    pdr__bind_text(stmt, 2, row->correlation_id);
    pdr__bind_int(stmt, 3, PDR_SQLITE_COMPLETION);
    pdr__bind_blob(stmt, 4, NULL, 0);
    pdr__bind_int(stmt, 5, row->at_ms);
    pdr__bind_blob(stmt, 6, NULL, 0);
    pdr__bind_int(stmt, 7, (int64_t)row->first_seq);
    pdr__bind_int(stmt, 8, (int64_t)row->last_seq);
    pdr__bind_blob(stmt, 9, row->fingerprint.ptr, row->fingerprint.len);
    pdr__bind_blob(stmt, 10, row->digest, PDR_DIGEST_BYTES);
    pdr__bind_blob(stmt, 11, NULL, 0);
    pdr__bind_text(stmt, 12, row->outcome);
}

/* Count what a row took. */
static void count_row(struct pdr__tail *tail, int64_t cell, int64_t rowid)
{
    bool follows = rowid == tail->last_row + 1;

    if (!follows)
        tail->known = false; /* somebody else appended, or removed */
    if (!tail->known && follows && tail->last_cell + cell > PAGE_ROOM) {
        tail->known = true;
        tail->left = 0;
    }
    if (cell > tail->left)
        tail->left = PAGE_ROOM;
    tail->left -= cell;
    tail->last_row = rowid;
    tail->last_cell = cell;
}

int64_t pdr__pack_left(const struct pdr__writer *writer)
{
    return writer->pack.tail.known ? writer->pack.tail.left : 0;
}

void pdr__pack_count(struct pdr__writer *writer, int64_t cell, int64_t rowid)
{
    count_row(&writer->pack.tail, cell, rowid);
}

static int write_one(struct pdr__writer *writer, struct pdr__pending *row)
{
    sqlite3_stmt *stmt = writer->stmt[PDR_SQL_ADD_LOG];
    int64_t cell = row->cell;
    int code = SQLITE_OK;

    row->cell = 0;
    pdr__bind_int(stmt, 1, (int64_t)row->plan->next.epoch);
    if (row->is_completion)
        bind_completion(stmt, &row->plan->completions[row->i]);
    else
        bind_entry(stmt, row->plan, row->i);
    code = pdr__writer_step(writer, PDR_SQL_ADD_LOG);
    if (code != SQLITE_DONE) {
        writer->pack.failed = row->plan;
        return code;
    }
    count_row(&writer->pack.tail, cell, sqlite3_last_insert_rowid(writer->db));
    return SQLITE_OK;
}

/* The largest that fits, or the largest of all for a new page. If we lost
 * count, the largest of all, too: two of them find it again soonest. */
static struct pdr__pending *choose(struct pdr__pack *pack)
{
    struct pdr__pending *fits = NULL, *largest = NULL;

    for (size_t i = 0; i < pack->count; i++) {
        struct pdr__pending *row = &pack->pending[i];

        if (row->cell == 0)
            continue;
        if (largest == NULL || row->cell > largest->cell)
            largest = row;
        if (row->cell <= pack->tail.left &&
            (fits == NULL || row->cell > fits->cell))
            fits = row;
    }
    return fits != NULL && pack->tail.known ? fits : largest;
}

int pdr__pack_flush(struct pdr__writer *writer)
{
    struct pdr__pack *pack = &writer->pack;
    int code = SQLITE_OK;

    for (size_t i = 0; i < pack->count && code == SQLITE_OK; i++)
        code = write_one(writer, choose(pack));
    pack->count = 0;
    return code;
}

int pdr__pack_add(struct pdr__writer *writer, const pdr_plan *plan, size_t i,
                  bool is_completion)
{
    struct pdr__pack *pack = &writer->pack;
    struct pdr__pending *row = NULL;
    int code = SQLITE_OK;

    if (pack->count == PDR_MAX_PENDING)
        code = pdr__pack_flush(writer);
    row = &pack->pending[pack->count++];
    *row = (struct pdr__pending){plan, i, is_completion, 0};
    row->cell = cell_bytes(row, pack->tail.last_row + 1);
    return code;
}

bool pdr__pack_holds(const struct pdr__writer *writer, uint64_t session)
{
    const struct pdr__pack *pack = &writer->pack;

    for (size_t i = 0; i < pack->count; i++)
        if (pack->pending[i].is_completion &&
            pack->pending[i].plan->next.epoch == session)
            return true;
    return false;
}

/* --- transactions -------------------------------------------------------- */

void pdr__pack_new(struct pdr__writer *writer)
{
    writer->pack.tail = (struct pdr__tail){true, PAGE_ROOM, 0, 0};
}

void pdr__pack_begin(struct pdr__writer *writer)
{
    writer->pack.count = 0;
    writer->pack.failed = NULL;
    writer->pack.before = writer->pack.tail;
}

void pdr__pack_end(struct pdr__writer *writer, bool committed)
{
    struct pdr__pack *pack = &writer->pack;

    pack->count = 0;
    if (committed)
        pack->before = pack->tail;
    else
        pack->tail = pack->before;
}
