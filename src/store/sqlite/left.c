/*
 * left.c - is the log that a process left behind whole?
 *
 * WHY  SQLite takes the frames of a log up to the first one whose sum is wrong,
 *      and nobody hears of those behind it. That is right for what a process
 *      was writing when it died: nobody was told that it is safe. But a disk
 *      that changed one bit in the middle takes every commit behind it away,
 *      and each of them was acknowledged. So the log is looked at before SQLite
 *      sees it:
 *
 *          commit  commit  commit ...          died here
 *          ├──────┼──────┼──────┼──────┼──────┼────
 *                    ▲ broken       m └ m+1
 *
 *      A commit is synced before the next one writes a frame. So if there is a
 *      commit that ends with frame m, and m+1 goes on with the sum that m has,
 *      then all up to m was on the disk, and a frame up to m that is broken was
 *      changed afterwards. If there is no such pair, the broken frame may be
 *      one that was never whole.
 *
 *      What else can stand behind the end of a log proves nothing:
 *      - Zeros (log.c) and frames of an earlier log: these have another salt.
 *      - Frames of a transaction that was taken back after some had been
 *        written. They have the salt, and each goes on with the sum of the one
 *        before, but none of them ends a commit.
 *      - A commit that failed, or whose process died before others could see
 *        it, and that others wrote over in part. It has its end, but nothing
 *        goes on from there: who wrote next began where it had begun.
 *      - The last frame of a commit once more, up to a whole sector of the
 *        disk, as SQLite does where a sector can be lost by a write beside it.
 *        Such a frame goes on from the end of a commit, but belongs to it.
 *
 *      The header is one frame more, number 0: it was synced before frame 1 was
 *      written, and is never torn, since it lies in one sector.
 *
 *      Of the last commit only a note can tell that it was whole. Who commits
 *      writes down in the side file which frame was the last one, when it is
 *      synced (lock.c). If the log has the salt of that note, all frames up to
 *      that one were on the disk, and one of them that is broken, or gone, was
 *      changed since. If it has another salt, the note is of an earlier log.
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  Nothing is written, so what is refused can be looked at.
 *   I2  Somebody may begin to write meanwhile, and what is read in pieces is of
 *       several moments. So damage counts if two walks in a row find it at the
 *       same frame behind the same header: what is being written is whole
 *       before anything goes on from there.
 *   I3  SQLite holds no lock on the log, so it can be opened and closed here.
 *   I4  A note is written when the sync has ended, and tells nothing without
 *       its own sum: so it never accuses a log that is as it was left. After a
 *       power loss it may be older than the log, or gone, and tells less.
 *
 * NOT HERE  Damage in the last commit, and a log that was cut off, where no
 *           note tells of them; whether a log that is gone was copied, and
 *           whether it is of this main file (claim.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "vfs.h"

#define FRAME  ((size_t)(PDR_FRAME_HEADER + PDR_SQLITE_PAGE))
#define FRAMES 64u /* that are read at once */
#define WALKS  5u  /* until two agree (I2) */

/* In the header of the WAL. */
#define HEADER_SALT 16
/* In the header of a frame. */
#define SIZE_AT 4 /* pages of the file behind a commit; 0: none ends here */
#define SALT_AT 8

#define SALT 8 /* bytes */

struct left {
    int fd;
    const struct pdr__note *note; /* borrowed; NULL: nobody asks for it */
    bool is_other; /* the note tells of commits, and not of this WAL */
    int failed;    /* errno of a read; 0: none failed */
    uint8_t header[PDR_LOG_HEADER];
    uint8_t *bytes; /* owned: room for FRAMES behind the one before them */
};

/* How far a walk has come. */
struct walk {
    uint8_t salt[SALT]; /* of the frames that belong to the log */
    bool is_broken;     /* there is a first one that is: */
    uint32_t broken;    /* its number; 0: the header */
};

static uint32_t number_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
           (uint32_t)at[2] << 8 | (uint32_t)at[3];
}

/* --- one frame ----------------------------------------------------------- */

static const uint8_t *sum_of(const uint8_t *frame)
{
    return frame + PDR_FRAME_HEADER - PDR_LOG_SUM;
}

static bool ends_commit(const uint8_t *frame)
{
    return number_at(frame + SIZE_AT) != 0;
}

/* Is it the one before once more? */
static bool repeats(const uint8_t *frame, const uint8_t *before)
{
    return memcmp(frame, before, SALT_AT) == 0 &&
           memcmp(frame + PDR_FRAME_HEADER, before + PDR_FRAME_HEADER,
                  PDR_SQLITE_PAGE) == 0;
}

/* Does frame number `n` prove that the broken one was whole? */
static bool proves(struct walk *walk, const uint8_t *frame, uint32_t n)
{
    const uint8_t *before = frame - FRAME;
    bool belongs =
        number_at(frame) != 0 && memcmp(frame + SALT_AT, walk->salt, SALT) == 0;

    if (walk->is_broken)
        return belongs && ends_commit(before) && !repeats(frame, before) &&
               pdr__frame_is_sound(sum_of(before), frame);
    walk->is_broken = !belongs || !pdr__frame_is_sound(sum_of(before), frame);
    walk->broken = n;
    return false;
}

/* --- one walk ------------------------------------------------------------ */

/* Up to FRAMES from number `n` on; 0: there are no more, or they cannot be
 * read.
 */
static size_t read_frames(struct left *left, uint32_t n)
{
    off_t at = (off_t)(PDR_LOG_HEADER + (n - 1) * FRAME);
    ssize_t got = pread(left->fd, left->bytes + FRAME, FRAMES * FRAME, at);

    if (got < 0)
        left->failed = errno;
    return got > 0 ? (size_t)got / FRAME : 0;
}

/* The header, as the frame in front of the first one: the end of a commit. */
static void take_header(struct left *left)
{
    memset(left->bytes, 0, FRAME);
    left->bytes[SIZE_AT] = 1;
    memcpy(left->bytes + PDR_FRAME_HEADER - PDR_LOG_SUM,
           left->header + PDR_LOG_HEADER - PDR_LOG_SUM, PDR_LOG_SUM);
}

/* False: there is no WAL in it. */
static bool begin(struct walk *walk, struct left *left)
{
    bool is_sound = false;
    ssize_t got = pread(left->fd, left->header, PDR_LOG_HEADER, 0);

    memset(walk, 0, sizeof(*walk));
    if (got < 0)
        left->failed = errno;
    if (got != PDR_LOG_HEADER)
        return false;
    is_sound = pdr__log_header_is_sound(left->header);
    if (read_frames(left, 1) == 0 && !is_sound)
        return false;
    memcpy(walk->salt,
           is_sound ? left->header + HEADER_SALT
                    : left->bytes + FRAME + SALT_AT,
           SALT);
    walk->is_broken = !is_sound;
    take_header(left);
    return true;
}

/* Was frame number `n` of this log on the disk, as the note has it (I4)? */
static bool is_noted(const struct walk *walk, const struct left *left,
                     uint32_t n)
{
    const uint8_t *end = left->note->end.frame;

    return n <= number_at(end) && memcmp(end + SALT_AT, walk->salt, SALT) == 0;
}

/* True: it is damaged, at `*broken`. */
static bool is_damaged(uint32_t *broken, struct left *left)
{
    struct walk walk;
    size_t count = 0;
    uint32_t n = 1;

    left->is_other = !begin(&walk, left) ||
                     memcmp(left->note->end.frame + SALT_AT, walk.salt, SALT);
    if (walk.salt[0] == 0 && memcmp(walk.salt, walk.salt + 1, SALT - 1) == 0)
        return false; /* zeros: nothing was ever written there, or it is gone */
    for (count = read_frames(left, n); count > 0;
         count = read_frames(left, n)) {
        for (size_t i = 1; i <= count; i++, n++) {
            if (!proves(&walk, left->bytes + i * FRAME, n))
                continue;
            *broken = walk.broken;
            return true;
        }
        memcpy(left->bytes, left->bytes + count * FRAME, FRAME);
    }
    *broken = walk.is_broken ? walk.broken : n; /* or the first that is gone */
    return is_noted(&walk, left, *broken);
}

/* --- several ------------------------------------------------------------- */

/* I2 */
static bool is_damaged_for_good(uint32_t *broken, struct left *left)
{
    const struct timespec rest = {0, 2000000};
    uint8_t header[PDR_LOG_HEADER];
    uint32_t before = 0;

    for (unsigned i = 0; i < WALKS; i++) {
        if (!is_damaged(broken, left))
            return false;
        if (i > 0 && *broken == before &&
            memcmp(header, left->header, sizeof(header)) == 0)
            return true;
        before = *broken;
        memcpy(header, left->header, sizeof(header));
        (void)nanosleep(&rest, NULL);
    }
    return false;
}

static pdr_rc damaged(const char *path, uint32_t broken, pdr_err *err)
{
    const char *slash = strrchr(path, '/');
    char shown[PDR_SHOWN], what[32] = "the header";
    pdr_rc rc = PDR_OK;

    if (broken != 0)
        (void)snprintf(what, sizeof(what), "frame %" PRIu32, broken);
    pdr__shown(shown, pdr_str_c(slash != NULL ? slash + 1 : path));
    rc = PDR_FAIL(err, STORE_DAMAGED,
                  "opening the store: %s of '%s' is not as it was written, and "
                  "is a part of what was acknowledged; copy all files of the "
                  "store away and restore a backup",
                  what, shown);
    if (err != NULL)
        err->sys = SQLITE_IOERR_DATA;
    return rc;
}

/* The disk, and not what is on it. */
static pdr_rc unreadable(const char *path, int sys, pdr_err *err)
{
    char shown[PDR_SHOWN];

    (void)PDR_FAIL(err, FILE_FAILED,
                   "opening the store: '%s' cannot be read; look at the disk "
                   "and at what the system says of it",
                   pdr__shown(shown, pdr_str_c(path)));
    if (err != NULL)
        err->sys = sys;
    return PDR_EIO;
}

pdr_rc pdr__left_check(bool *is_gone, const char *path,
                       const struct pdr__note *note, pdr_err *err)
{
    struct left left = {
        .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
        .note = note};
    uint32_t broken = 0;
    bool is_damaged = false;
    pdr_rc rc = PDR_OK;

    *is_gone = note->state == PDR_WAL_COMMITS;
    if (left.fd < 0) { /* there is none, or SQLite will say why */
        *is_gone = *is_gone && errno == ENOENT;
        return PDR_OK;
    }
    left.bytes = pdr__alloc((FRAMES + 1) * FRAME);
    if (left.bytes == NULL)
        rc = pdr__nomem(err);
    else
        is_damaged = is_damaged_for_good(&broken, &left);
    if (rc == PDR_OK && left.failed != 0)
        rc = unreadable(path, left.failed, err);
    else if (rc == PDR_OK && is_damaged)
        rc = damaged(path, broken, err);
    *is_gone = *is_gone && left.is_other;
    pdr__free(left.bytes);
    (void)close(left.fd);
    return rc;
}

/* --- which pages it has ----------------------------------------------------
 */

/* Pages of the frames from the first up to number `last`, or as far as they are
 * sound; gives the number of the last one that ends a commit. */
static uint32_t mark(struct left *left, uint32_t last, uint8_t *marks,
                     uint32_t pages)
{
    struct walk walk;
    uint32_t n = 1, end = 0;
    size_t count = 0;

    if (!begin(&walk, left) || walk.is_broken)
        return 0;
    for (count = read_frames(left, n); count > 0;
         count = read_frames(left, n)) {
        for (size_t i = 1; i <= count && n <= last; i++, n++) {
            const uint8_t *frame = left->bytes + i * FRAME;
            uint32_t page = number_at(frame);

            if (proves(&walk, frame, n) || walk.is_broken)
                return end;
            if (page <= pages)
                marks[page / 8] |= (uint8_t)(1 << page % 8);
            if (ends_commit(frame))
                end = n;
        }
        if (n > last)
            break;
        memcpy(left->bytes, left->bytes + count * FRAME, FRAME);
    }
    return end;
}

pdr_rc pdr__left_pages(uint8_t **out, uint32_t pages, const char *path,
                       pdr_err *err)
{
    struct left left = {
        .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    size_t bytes = (size_t)pages / 8 + 1;
    uint8_t *marks = pdr__calloc(1, bytes);
    uint32_t end = 0;
    pdr_rc rc = PDR_OK;

    left.bytes = pdr__alloc((FRAMES + 1) * FRAME);
    if (marks == NULL || left.bytes == NULL)
        rc = pdr__nomem(err);
    if (rc == PDR_OK && left.fd >= 0) {
        end = mark(&left, UINT32_MAX, marks, pages);
        memset(marks, 0, bytes);
        (void)mark(&left, end, marks, pages);
    }
    if (rc == PDR_OK) {
        *out = marks;
        marks = NULL; /* moved */
    }
    if (left.fd >= 0)
        (void)close(left.fd);
    pdr__free(left.bytes);
    pdr__free(marks);
    return rc;
}

/* --- without its file ------------------------------------------------------
 */

static pdr_rc find_commit(bool *found, const char *path, pdr_err *err)
{
    struct left left = {
        .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    uint8_t none = 0;
    pdr_rc rc = PDR_OK;

    if (left.fd < 0)
        return PDR_OK;
    left.bytes = pdr__alloc((FRAMES + 1) * FRAME);
    if (left.bytes != NULL)
        *found = mark(&left, UINT32_MAX, &none, 0) > 0;
    (void)close(left.fd);
    rc = left.bytes != NULL ? PDR_OK : pdr__nomem(err);
    pdr__free(left.bytes);
    return rc;
}

/* SQLite removes a log whose file is empty. But the file is written and synced
 * before it gets a log, so it was emptied since. */
pdr_rc pdr__left_fits(const char *path, const char *log_path, pdr_err *err)
{
    const char *slash = strrchr(path, '/');
    char shown[PDR_SHOWN];
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (pdr__file_bytes(path) > 0)
        return PDR_OK;
    rc = find_commit(&found, log_path, err);
    if (rc != PDR_OK || !found)
        return rc;
    return PDR_FAIL(
        err, STORE_DAMAGED,
        "'%s' is empty or gone, but its log has commits; put the "
        "file back, or move '-wal' away, too",
        pdr__shown(shown, pdr_str_c(slash != NULL ? slash + 1 : path)));
}
