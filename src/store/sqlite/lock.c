/*
 * lock.c - which process may write now, and who is next.
 *
 * WHY  SQLite lets one connection write at a time, but whoever asks at the
 *      right moment wins: of eight processes one may starve. And its log must
 *      never be begun anew by two at once (README.md). So there is a lock of
 *      our own, on a file beside the store, with a line in front of it.
 *
 *      Nothing here blocks: a kernel that waits for a lock knows no time-out
 *      without signals, and signals belong to the program. Who waits looks
 *      again after a short sleep.
 *
 *          not in line ──► place 63 … place 1 ──► place 0 ──► lock held
 *               └──────────────── nobody waits ──────────────────┘
 *
 *      FILE-lock    flock()    the writer lock
 *        byte 0     shared     by everybody who has the store open
 *        behind it  exclusive  the places of the line, 2^52 bytes each. The
 *                              first byte is the place; how many are locked
 *                              tells when its owner looked last
 *      and its bytes say whether the last sync of the WAL ended well, how long
 *      the WAL was after the last one that did, and of which main file it is
 *      (left.c, claim.c).
 *
 * INVARIANTS, cited below as I1..I9
 *   I1  The lock and the places belong to the open file, not to the process or
 *       a thread: two handles in one process exclude each other, too, and the
 *       kernel takes all back from a process that dies.
 *   I2  A place is given up only after the one in front of it was taken, so
 *       nobody overtakes, except as I3 says.
 *   I3  A process that was stopped in the line holds up those behind it only
 *       for a while: when nothing moved for PATIENCE_MS, and the lock was free
 *       for longer than anybody sleeps, they take it.
 *   I4  Who is held back by nobody needs two calls of the kernel.
 *   I5  Who wrote goes to the end of the line only after those in it had time
 *       to be refused and to come back: they read before it wrote. Else it
 *       would be the first with the new revision, and win for ever.
 *   I6  Waiting costs little: who waits long looks seldom.
 *   I7  The file is removed only by who holds the lock on it and has made it,
 *       while nobody has the store open. Who gets the lock looks whether the
 *       file is still there: from then on nobody else removes it.
 *   I8  Who is passed once for not looking is waited for again only when it has
 *       looked, or somebody else has come in front: a process that stays
 *       stopped costs each of the others one wait, not one a commit.
 *   I9  The note tells commits of others from our own: what stands there is
 *       compared with what we knew, also before we write over it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vfs.h"

#define BYTE_OPEN   0
#define BYTE_PLACE  1
#define PLACES      64
#define PATIENCE_MS 100

/* Of one place: more than a clock counts microseconds. */
#define PLACE_BYTES ((off_t)1 << 52)

/* Between two looks: the first in line looks often, those behind less so. A
 * lock is held for milliseconds; where nothing moved for longer than that,
 * somebody does something long, and a few milliseconds more do not matter. */
#define LOOK_US      100
#define LOOK_MOST_US 1000
#define LONG_MS      50
#define LONG_US      5000
#define VERY_LONG_MS 1000
#define VERY_LONG_US 20000

/* The lock is free for so long only if nobody in front looks any more. */
#define FREE_MS (2 * VERY_LONG_US / 1000)

/* What one process needs to get the lock and to be refused, and what it needs
 * to come back at most: who takes longer thinks in between, and is waited for
 * by nobody. */
#define REFUSED_US        300
#define COME_BACK_MOST_US 5000

static int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t now_ms(void)
{
    return now_us() / 1000;
}

/* --- bytes of the file --------------------------------------------------- */

static bool set_bytes(int fd, short type, off_t start, off_t count)
{
    struct flock bytes = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = count};

    return fcntl(fd, F_OFD_SETLK, &bytes) == 0;
}

/* How many of these bytes somebody else holds, of one if several do. */
static off_t count_taken(int fd, off_t start, off_t count)
{
    struct flock bytes = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = start,
                          .l_len = count};

    if (fcntl(fd, F_OFD_GETLK, &bytes) != 0 || bytes.l_type == F_UNLCK)
        return 0;
    return bytes.l_len;
}

static bool is_open(int fd)
{
    return count_taken(fd, BYTE_OPEN, 1) != 0;
}

/* Does somebody else stand there, or behind? */
static bool is_taken_from(const struct pdr__line *line, int place)
{
    return count_taken(line->fd, BYTE_PLACE + place * PLACE_BYTES,
                       (PLACES - place) * PLACE_BYTES) != 0;
}

/* One that we have grows by the time that went by: so others see that we are
 * awake. */
static bool take_place(const struct pdr__line *line, int place)
{
    return set_bytes(line->fd, F_WRLCK, BYTE_PLACE + place * PLACE_BYTES,
                     1 + now_us() % (PLACE_BYTES - 1));
}

static void give_place(const struct pdr__line *line, int place)
{
    (void)set_bytes(line->fd, F_UNLCK, BYTE_PLACE + place * PLACE_BYTES,
                    PLACE_BYTES);
}

/* --- the line ------------------------------------------------------------ */

/* The place behind the last one that is taken. */
static int line_end(const struct pdr__line *line)
{
    int low = 0, high = PLACES;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (is_taken_from(line, middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void join(struct pdr__line *line)
{
    for (int place = line_end(line); place < PLACES; place++) {
        if (take_place(line, place)) {
            line->place = place;
            line->moved_ms = now_ms();
            line->free_ms = 0;
            return;
        }
    }
}

static void move_up(struct pdr__line *line)
{
    while (line->place > 0 && take_place(line, line->place - 1)) { /* I2 */
        give_place(line, line->place);
        line->place--;
        line->moved_ms = now_ms();
        line->free_ms = 0;
    }
}

static bool take_lock(struct pdr__line *line)
{
    if (flock(line->fd, LOCK_EX | LOCK_NB) != 0)
        return false;
    line->held = true;
    line->free_ms = 0;
    if (line->place >= 0)
        give_place(line, line->place);
    line->place = -1;
    return true;
}

/* Another number as soon as one of those in front looks, moves or leaves. */
static int64_t sum_in_front(const struct pdr__line *line)
{
    int64_t sum = 0;

    for (int place = 0; place < line->place; place++)
        sum += count_taken(line->fd, BYTE_PLACE + place * PLACE_BYTES,
                           PLACE_BYTES);
    return sum;
}

/* I3. Who stands in front and only sleeps has time to wake up and to take it.
 */
static bool pass_those_in_front(struct pdr__line *line)
{
    int64_t now = now_ms();

    if (line->asleep != 0 && line->asleep == sum_in_front(line)) /* I8 */
        return take_lock(line);
    if (now - line->moved_ms <= PATIENCE_MS)
        return false;
    if (flock(line->fd, LOCK_EX | LOCK_NB) != 0) {
        line->free_ms = 0;
        return false;
    }
    if (line->free_ms == 0)
        line->free_ms = now;
    if (now - line->free_ms > FREE_MS) {
        line->asleep = sum_in_front(line);
        return take_lock(line);
    }
    (void)flock(line->fd, LOCK_UN);
    return false;
}

/* How long it takes to read again and come back is seen when it happens to us;
 * others are as fast as we are, more or less. */
static void learn(struct pdr__line *line)
{
    int64_t took = now_us() - line->left_us;

    if (line->left_us != 0 && !line->wrote && took < COME_BACK_MOST_US)
        line->come_back_us += (took - line->come_back_us) / 4;
    line->left_us = 0;
}

/* I5 */
static void let_others_go(struct pdr__line *line)
{
    int64_t us = (line_end(line) + 1) * (REFUSED_US + line->come_back_us);
    struct timespec rest = {0, us * 1000};

    line->wrote = false;
    (void)nanosleep(&rest, NULL);
}

bool pdr__line_try(struct pdr__line *line)
{
    assert(!line->held);
    if (line->place < 0) {
        learn(line);
        if (!is_taken_from(line, 0) && take_lock(line)) {
            line->asleep = 0;
            return true; /* I4 */
        }
        if (line->wrote)
            let_others_go(line);
        join(line);
    }
    move_up(line);
    if (line->place < 0)
        return false;
    if (line->place == 0 ? take_lock(line) : pass_those_in_front(line))
        return true;
    if (now_ms() - line->moved_ms > PATIENCE_MS) /* nobody passes before */
        (void)take_place(line, line->place);     /* I8 */
    return false;
}

/* I6 */
long pdr__line_pause_us(const struct pdr__line *line, int64_t at_ms)
{
    int64_t waited = at_ms - line->moved_ms;
    long us = LOOK_US * ((long)line->place + 1);

    if (line->place < 0) /* there is no room in the line, nothing to go by */
        return LOOK_MOST_US;
    if (waited >= VERY_LONG_MS)
        return VERY_LONG_US;
    if (waited >= LONG_MS)
        return LONG_US;
    return us < LOOK_MOST_US ? us : LOOK_MOST_US;
}

void pdr__line_rest(const struct pdr__line *line)
{
    struct timespec rest = {0, pdr__line_pause_us(line, now_ms()) * 1000};

    (void)nanosleep(&rest, NULL);
}

pdr_rc pdr__line_wait(struct pdr__line *line, int64_t deadline_ms, pdr_err *err)
{
    while (!pdr__line_try(line)) {
        if (now_ms() >= deadline_ms) {
            pdr__line_leave(line);
            return PDR_FAIL(err, WRITER_BUSY, "%s",
                            "another process kept the store to itself for too "
                            "long; try again, or find out what it does");
        }
        pdr__line_rest(line);
    }
    return PDR_OK;
}

void pdr__line_leave(struct pdr__line *line)
{
    if (line->held) {
        (void)flock(line->fd, LOCK_UN);
        line->left_us = now_us();
    }
    if (line->place >= 0)
        give_place(line, line->place);
    line->held = false;
    line->place = -1;
}

/* --- who has it open ----------------------------------------------------- */

pdr_rc pdr__line_enter(struct pdr__line *line, pdr_err *err)
{
    assert(line->held);
    if (set_bytes(line->fd, F_RDLCK, BYTE_OPEN, 1))
        return PDR_OK;
    return PDR_FAIL(err, FILE_FAILED, "%s",
                    "the file system does not lock parts of a file; put the "
                    "store on a local disk");
}

bool pdr__line_is_last(const struct pdr__line *line)
{
    assert(line->held);
    return !is_open(line->fd);
}

/* Closing the file here gives nothing back: the locks belong to files that are
 * open, not to the process (I1). */
bool pdr__line_is_used(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_used = fd >= 0 && is_open(fd);

    if (fd >= 0)
        (void)close(fd);
    return is_used;
}

/* --- what became of the WAL ---------------------------------------------- */

/* The bytes of the file: whether the last sync ended well, then the note. Its
 * first part is all that version 2 had. A sum covers each part. */
#define SYNCED  '0'
#define SYNCING '1'

#define AT_END        1
#define AT_STATE      (AT_END + PDR_LOG_END) /* one byte, and three zeros */
#define AT_PAGE       (AT_STATE + 4)
#define AT_PAGE_SUM   (AT_PAGE + 4)
#define AT_ID         (AT_PAGE_SUM + 8)
#define AT_GENERATION (AT_ID + PDR_STORE_ID)
#define AT_MARK       (AT_GENERATION + 8) /* and four zeros */
#define NOTE_BYTES    (AT_MARK + 8 + PDR_LOG_SUM)

static const char states[] = {[PDR_WAL_UNKNOWN] = 0,
                              [PDR_WAL_EMPTIED] = 'e',
                              [PDR_WAL_COMMITS] = 'c',
                              [PDR_WAL_TAKEN] = 't'};

static void put_number(uint8_t *out, uint64_t number, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(number >> (8 * (len - 1 - i)));
}

static uint64_t get_number(const uint8_t *at, size_t len)
{
    uint64_t number = 0;

    for (size_t i = 0; i < len; i++)
        number = number << 8 | at[i];
    return number;
}

static void write_note(uint8_t out[NOTE_BYTES], const struct pdr__note *note)
{
    memset(out, 0, NOTE_BYTES);
    out[0] = SYNCED;
    memcpy(out + AT_END, note->end.frame, PDR_LOG_END);
    out[AT_STATE] = (uint8_t)states[note->state];
    put_number(out + AT_PAGE, note->end.page, 4);
    memcpy(out + AT_PAGE_SUM, note->end.page_sum, 8);
    memcpy(out + AT_ID, note->id, PDR_STORE_ID);
    put_number(out + AT_GENERATION, note->generation, 8);
    put_number(out + AT_MARK, note->mark, 4);
    pdr__note_seal(out + AT_END, NOTE_BYTES - AT_END);
}

static void read_note(struct pdr__note *out, const uint8_t *bytes, size_t len)
{
    memset(out, 0, sizeof(*out));
    if (len >= AT_STATE && pdr__note_is_sound(bytes + AT_END, PDR_LOG_END))
        memcpy(out->end.frame, bytes + AT_END, PDR_LOG_END);
    if (len < NOTE_BYTES ||
        !pdr__note_is_sound(bytes + AT_END, NOTE_BYTES - AT_END))
        return;
    for (size_t i = PDR_WAL_EMPTIED; i < PDR_COUNT(states); i++)
        if (bytes[AT_STATE] == (uint8_t)states[i])
            out->state = (enum pdr__wal_state)i;
    out->end.page = (uint32_t)get_number(bytes + AT_PAGE, 4);
    memcpy(out->end.page_sum, bytes + AT_PAGE_SUM, 8);
    memcpy(out->id, bytes + AT_ID, PDR_STORE_ID);
    out->generation = get_number(bytes + AT_GENERATION, 8);
    out->mark = (uint32_t)get_number(bytes + AT_MARK, 4);
}

/* --- whose note it is -------------------------------------------------------
 * Each commit leaves another note, whoever made it. One that is neither the
 * last that we saw nor the one that we write is of somebody else (I9).
 */

static uint64_t hash_note(const uint8_t *bytes, size_t len)
{
    return len == NOTE_BYTES
               ? pdr__hash(pdr_str_n((const char *)bytes + 1, NOTE_BYTES - 1))
               : 0;
}

static void see_note(struct pdr__line *line, uint64_t hash)
{
    if (hash == atomic_load(&line->known) ||
        hash == atomic_load(&line->writing))
        return;
    atomic_store(&line->known, hash);
    atomic_fetch_add(&line->others, 1);
}

/* A commit can be read just before its note comes, and that does not come if
 * its writer dies. Then the sync that it began does not end. */
#define STUCK_POLLS 10

uint64_t pdr__line_poll(struct pdr__line *line)
{
    bool is_own = atomic_load(&line->syncing);
    uint8_t bytes[NOTE_BYTES] = {0};
    ssize_t got = pread(line->fd, bytes, NOTE_BYTES, 0);

    see_note(line, hash_note(bytes, got > 0 ? (size_t)got : 0));
    is_own = is_own || atomic_load(&line->syncing);
    if (is_own || bytes[0] == SYNCED)
        atomic_store(&line->stuck, 0);
    else if (atomic_fetch_add(&line->stuck, 1) % STUCK_POLLS == STUCK_POLLS - 1)
        atomic_fetch_add(&line->others, 1);
    return atomic_load(&line->others);
}

static bool put_note(struct pdr__line *line)
{
    uint8_t bytes[NOTE_BYTES];

    write_note(bytes, &line->note);
    atomic_store(&line->writing, hash_note(bytes, NOTE_BYTES));
    if (pwrite(line->fd, bytes, NOTE_BYTES, 0) != NOTE_BYTES)
        return false;
    atomic_store(&line->known, atomic_load(&line->writing));
    return true;
}

/* A sync that fails cannot be made good by another one. */
pdr_rc pdr__line_sync_begins(struct pdr__line *line, pdr_err *err)
{
    const char byte = SYNCING;
    uint8_t bytes[NOTE_BYTES] = {0};
    ssize_t got = pread(line->fd, bytes, NOTE_BYTES, 0);

    assert(line->held);
    line->was_safe = got > 0 && bytes[0] == SYNCED;
    read_note(&line->note, bytes, got > 0 ? (size_t)got : 0);
    see_note(line, hash_note(bytes, got > 0 ? (size_t)got : 0));
    atomic_store(&line->syncing, true);
    if (pwrite(line->fd, &byte, 1, 0) == 1)
        return PDR_OK;
    return PDR_FAIL(err, FILE_FAILED, "%s",
                    "the file of the writer lock, which stands beside the "
                    "store, cannot be written");
}

void pdr__line_sync_untried(struct pdr__line *line)
{
    const char byte = SYNCED;

    assert(line->held);
    if (line->was_safe)
        (void)!pwrite(line->fd, &byte, 1, 0);
    atomic_store(&line->syncing, false);
}

/* The note is written behind the sync, and not synced itself: it may be older
 * than the WAL after a power loss, never newer. */
void pdr__line_sync_ended(struct pdr__line *line,
                          const struct pdr__log_end *end,
                          const struct pdr__store_row *row)
{
    const char byte = SYNCED;

    assert(line->held);
    if (end == NULL) {
        (void)!pwrite(line->fd, &byte, 1, 0);
        atomic_store(&line->syncing, false);
        return;
    }
    if (line->note.state == PDR_WAL_UNKNOWN) { /* nobody knows how it began */
        memcpy(line->note.id, row->id, PDR_STORE_ID);
        line->note.mark = row->mark;
    }
    line->note.state = PDR_WAL_COMMITS;
    line->note.end = *end;
    (void)put_note(line);
    atomic_store(&line->syncing, false);
}

/* Before the WAL is, and synced: after a power loss a note that is older would
 * accuse a store which has all. */
bool pdr__line_empties(struct pdr__line *line, const struct pdr__store_row *row,
                       bool syncs)
{
    struct pdr__note note = {.state = PDR_WAL_EMPTIED,
                             .generation = row->generation,
                             .mark = row->mark};
    uint8_t wanted[NOTE_BYTES], found[NOTE_BYTES];

    assert(line->held);
    memcpy(note.id, row->id, PDR_STORE_ID);
    write_note(wanted, &note);
    line->note = note;
    if (pread(line->fd, found, NOTE_BYTES, 0) == NOTE_BYTES &&
        memcmp(wanted + 1, found + 1, NOTE_BYTES - 1) == 0)
        return true;
    return pwrite(line->fd, wanted + 1, NOTE_BYTES - 1, 1) == NOTE_BYTES - 1 &&
           (!syncs || fdatasync(line->fd) == 0);
}

/* Synced: what tells that another program copied the WAL goes away while sums
 * are written. */
bool pdr__line_takes_over(struct pdr__line *line)
{
    memset(&line->note, 0, sizeof(line->note));
    line->note.state = PDR_WAL_TAKEN;
    return put_note(line) && fdatasync(line->fd) == 0;
}

void pdr__line_forget(struct pdr__line *line)
{
    assert(line->held);
    memset(&line->note, 0, sizeof(line->note));
    (void)!ftruncate(line->fd, 1);
}

bool pdr__line_has_synced(const struct pdr__line *line)
{
    char byte = SYNCING;

    return pread(line->fd, &byte, 1, 0) == 1 && byte == SYNCED;
}

void pdr__line_read_note(struct pdr__note *out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint8_t bytes[NOTE_BYTES];
    ssize_t got = fd >= 0 ? pread(fd, bytes, NOTE_BYTES, 0) : 0;

    read_note(out, bytes, got > 0 ? (size_t)got : 0);
    if (fd >= 0)
        (void)close(fd);
}

/* --- the file ------------------------------------------------------------ */

pdr_rc pdr__line_open(struct pdr__line *line, const char *path, pdr_err *err)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    char shown[PDR_SHOWN];
    struct stat found;
    int sys = 0;

    *line = (struct pdr__line)PDR_LINE_INIT;
    line->made = pdr__opened_file(line, path, flags | O_EXCL);
    if (!line->made &&
        (errno != EEXIST || !pdr__opened_file(line, path, flags))) {
        sys = errno;
        (void)PDR_FAIL(err, FILE_FAILED,
                       access(path, F_OK) == 0
                           ? "'%s' cannot be opened; who writes to a store "
                             "must be allowed to write to it, too"
                           : "'%s' cannot be made; the folder of a store must "
                             "be writable, or open it with mode=ro",
                       pdr__shown(shown, pdr_str_c(path)));
        if (err != NULL)
            err->sys = sys;
        return PDR_EIO;
    }
    if (fstat(line->fd, &found) == 0 && S_ISREG(found.st_mode) &&
        found.st_nlink == 1)
        return PDR_OK;
    pdr__line_close(line);
    return PDR_FAIL(err, UNSAFE_FILE, "'%s' is not a plain file; move it away",
                    pdr__shown(shown, pdr_str_c(path)));
}

/* Is the file that we lock still the one that others find? */
bool pdr__line_is_there(const struct pdr__line *line, const char *path)
{
    struct pdr__file_id ours, found;

    return pdr__file_id(&ours, line->fd, "") &&
           pdr__file_id(&found, AT_FDCWD, path) &&
           pdr__file_id_equal(&ours, &found);
}

/* Given back by name: a child that knows nothing of us (opened.c) may have a
 * copy of the file, which would keep the locks. */
void pdr__line_close(struct pdr__line *line)
{
    if (line->fd >= 0) {
        (void)flock(line->fd, LOCK_UN);
        (void)set_bytes(line->fd, F_UNLCK, 0, 0); /* all of them */
        pdr__opened_close(line);
    }
    *line = (struct pdr__line)PDR_LINE_INIT;
}

static pdr_rc open_and_wait(struct pdr__line *line, const char *path,
                            int64_t deadline_ms, pdr_err *err)
{
    pdr_rc rc = pdr__line_open(line, path, err);

    if (rc == PDR_OK)
        rc = pdr__line_wait(line, deadline_ms, err);
    return rc;
}

pdr_rc pdr__line_take(struct pdr__line *line, const char *path,
                      int64_t deadline_ms, pdr_err *err)
{
    pdr_rc rc = open_and_wait(line, path, deadline_ms, err);

    while (rc == PDR_OK && !pdr__line_is_there(line, path)) { /* I7 */
        pdr__line_close(line);
        if (now_ms() >= deadline_ms)
            return PDR_FAIL(err, WRITER_BUSY, "%s",
                            "the file with the lock of the store is removed "
                            "again and again; find out who does that");
        rc = open_and_wait(line, path, deadline_ms, err);
    }
    return rc;
}

void pdr__line_undo(const struct pdr__line *line, const char *path)
{
    assert(line->held);
    if (line->made && pdr__line_is_last(line) &&
        pdr__line_is_there(line, path)) /* I7 */
        (void)unlink(path);
}
