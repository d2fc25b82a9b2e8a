/*
 * log_damage.c - one change in a log, and what the next one to open the
 * store finds.
 *
 * WHY  SQLite reads a log up to the first frame that is wrong. What was
 *      acknowledged and stands behind it must not go away in silence: the store
 *      has all of it, or it is not opened.
 */
#include "log_damage.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"
#include "room.h"
#include "sqlite/vfs.h"
#include "store_work.h"

#define FRAME  ((size_t)(PDR_FRAME_HEADER + PDR_SQLITE_PAGE))
#define SECTOR 512u

struct sample {
    struct room room;
    char uri[700];
    char *file, *log; /* owned: as they were left */
    size_t file_len, log_len;
    char *note, *note_before; /* owned: the side file, as the last commit left
                                 it, and the one before */
    size_t note_len;
    size_t frames;
    size_t last_from; /* first byte of the last commit */
    size_t end;       /* first byte behind it */
};

/* --- a store that was left ------------------------------------------------ */

static pdr_rc append(pdr_store *store, uint64_t revision)
{
    static char body[6000];
    pdr_entry entry = {.kind = PDR_ROW_REQUEST, .created_ms = 1000};
    pdr_edit edit = {.ref.id = pdr_str_c("a"),
                     .revision = revision,
                     .entries = &entry,
                     .entry_count = 1};
    pdr_commit_options options = {.now_ms = 1000};

    memset(body, '1', sizeof(body));
    entry.body = pdr_str_n(body, revision % 3 == 0 ? sizeof(body) : 20);
    return pdr_store_commit(NULL, store, &edit, 1, &options, NULL);
}

static void keep_note(const struct room *room)
{
    size_t len = 0;
    char *note = room_get(room, "a.db-lock", &len);

    room_put(room, "before", pdr_str_n(note, len));
    free(note);
}

static int write_and_die(const struct sample *sample)
{
    pdr_store *store = NULL;
    pdr_rc rc = pdr_store_open(&store, sample->uri, NULL);

    for (uint64_t i = 0; i < LOG_COMMITS && rc == PDR_OK; i++) {
        if (i + 1 == LOG_COMMITS)
            keep_note(&sample->room);
        rc = append(store, i);
    }
    return rc == PDR_OK ? 0 : 1;
}

/* Where the frames are, and the commits. */
static void walk(struct sample *sample)
{
    const uint8_t *log = (const uint8_t *)sample->log;
    const uint8_t *before = log + PDR_LOG_HEADER - PDR_LOG_SUM;
    size_t from = PDR_LOG_HEADER;

    for (size_t at = from; at + FRAME <= sample->log_len; at += FRAME) {
        if (!pdr__frame_is_sound(before, log + at) || log[at + 3] == 0)
            break;
        before = log + at + PDR_FRAME_HEADER - PDR_LOG_SUM;
        sample->frames++;
        sample->end = at + FRAME;
        if (memcmp(log + at + 4, "\0\0\0\0", 4) == 0)
            continue;
        sample->last_from = from;
        from = at + FRAME;
    }
    ASSERT(sample->frames > LOG_COMMITS && from == sample->end);
}

static void make(struct sample *sample)
{
    int status = 0;
    pid_t child = 0;
    size_t len = 0;

    memset(sample, 0, sizeof(*sample));
    work_room(&sample->room);
    snprintf(sample->uri, sizeof(sample->uri), "sqlite:%s",
             room_path(&sample->room, "a.db"));
    child = fork();
    if (child == 0)
        _exit(write_and_die(sample));
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    sample->file = room_get(&sample->room, "a.db", &sample->file_len);
    sample->log = room_get(&sample->room, "a.db-wal", &sample->log_len);
    ASSERT(sample->file != NULL && sample->log != NULL);
    sample->note = room_get(&sample->room, "a.db-lock", &sample->note_len);
    sample->note_before = room_get(&sample->room, "before", &len);
    ASSERT(sample->note != NULL && sample->note_before != NULL);
    ASSERT_SIZE(sample->note_len, len);
    ASSERT(memcmp(sample->note, sample->note_before, len) != 0);
    walk(sample);
}

static void leave(struct sample *sample)
{
    free(sample->file);
    free(sample->log);
    free(sample->note);
    free(sample->note_before);
    room_leave(&sample->room);
}

/* --- one change ----------------------------------------------------------- */

static void remember(struct log_report *out, const char *what, size_t at)
{
    if (out->first[0] == '\0')
        snprintf(out->first, sizeof(out->first),
                 "byte %zu of the log (frame %zu, byte %zu of it): %.150s", at,
                 at < PDR_LOG_HEADER ? 0 : (at - PDR_LOG_HEADER) / FRAME + 1,
                 at < PDR_LOG_HEADER ? at : (at - PDR_LOG_HEADER) % FRAME,
                 what);
}

/* How many commits the store has; SIZE_MAX if they cannot be read, or if it is
 * not sound. */
static size_t commits_of(pdr_store *store)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref.id = pdr_str_c("a")};
    pdr_page *page = NULL;
    size_t commits = 0;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    if (rc == PDR_OK)
        commits = (size_t)page->head.revision;
    else if (rc != PDR_ENOTFOUND)
        commits = SIZE_MAX;
    pdr_page_free(page);
    if (pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL) != PDR_OK)
        return SIZE_MAX;
    return commits;
}

static bool is_file(const struct sample *sample, const char *name,
                    const char *bytes, size_t len)
{
    size_t now = 0;
    char *found = room_get(&sample->room, name, &now);
    bool same = found != NULL && now == len && memcmp(found, bytes, len) == 0;

    free(found);
    return same;
}

static void judge_refusal(struct log_report *out, const struct sample *sample,
                          const pdr_err *err, size_t at)
{
    if (err->code == PDR_ECORRUPT &&
        strcmp(err->reason, "store_damaged") == 0 &&
        is_file(sample, "a.db", sample->file, sample->file_len) &&
        is_file(sample, "a.db-wal", sample->log, sample->log_len)) {
        out->refused++;
        return;
    }
    out->wrong++;
    remember(out, err->message, at);
}

static void judge_store(struct log_report *out, const struct sample *sample,
                        pdr_store *store, size_t at)
{
    size_t commits = commits_of(store);
    size_t gone = LOG_COMMITS - commits;

    if (commits > LOG_COMMITS) {
        out->wrong++;
        remember(out, "it cannot be read, or is not sound", at);
        return;
    }
    out->most = gone > out->most ? gone : out->most;
    if (gone == 0) {
        out->same++;
    } else if (gone == 1 && at >= sample->last_from) {
        out->last_lost++;
    } else {
        out->lost++;
        remember(out, "commits are gone", at);
    }
}

static void put_note(const struct sample *sample, enum log_note note)
{
    const char *bytes =
        note == LOG_NOTE_LEFT ? sample->note : sample->note_before;

    if (note == LOG_NOTE_GONE)
        (void)unlink(room_path(&sample->room, "a.db-lock"));
    else
        room_put(&sample->room, "a.db-lock",
                 pdr_str_n(bytes, sample->note_len));
}

/* The files as they are in the sample, opened. */
static void try_files(struct log_report *out, const struct sample *sample,
                      const char *parameters, enum log_note note, size_t at)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char uri[720];

    (void)unlink(room_path(&sample->room, "a.db-shm"));
    put_note(sample, note);
    room_put(&sample->room, "a.db", pdr_str_n(sample->file, sample->file_len));
    room_put(&sample->room, "a.db-wal",
             pdr_str_n(sample->log, sample->log_len));
    snprintf(uri, sizeof(uri), "%s%s", sample->uri, parameters);
    out->tried++;
    if (pdr_store_open(&store, uri, &err) == PDR_OK)
        judge_store(out, sample, store, at);
    else
        judge_refusal(out, sample, &err, at);
    pdr_store_close(store);
}

static void try_bit(struct log_report *out, const struct sample *sample,
                    const char *parameters, enum log_note note, size_t at,
                    unsigned bit)
{
    sample->log[at] = (char)(sample->log[at] ^ (1 << bit));
    try_files(out, sample, parameters, note, at);
    sample->log[at] = (char)(sample->log[at] ^ (1 << bit));
}

/* --- all of them ---------------------------------------------------------- */

void damage_frames(struct log_report *out, const char *parameters,
                   enum log_note note)
{
    /* page number, size, both salts, both sums */
    static const size_t fields[] = {3, 0, 7, 4, 8, 15, 16, 23};
    struct sample sample;

    memset(out, 0, sizeof(*out));
    make(&sample);
    out->frames = sample.frames;
    for (size_t i = 0; i < sample.frames; i++) {
        size_t frame = PDR_LOG_HEADER + i * FRAME;

        for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++)
            try_bit(out, &sample, parameters, note, frame + fields[k],
                    (unsigned)(i + k) % 8);
        for (size_t k = 0; k < 3; k++)
            try_bit(out, &sample, parameters, note,
                    frame + PDR_FRAME_HEADER +
                        (i * 1237 + k * 1999) % PDR_SQLITE_PAGE,
                    (unsigned)(i + k) % 8);
    }
    leave(&sample);
}

void damage_log_header(struct log_report *out, const char *parameters,
                       enum log_note note)
{
    struct sample sample;

    memset(out, 0, sizeof(*out));
    make(&sample);
    out->frames = sample.frames;
    for (size_t at = 0; at < PDR_LOG_HEADER; at++)
        for (unsigned bit = 0; bit < 8; bit += 3)
            try_bit(out, &sample, parameters, note, at, bit);
    leave(&sample);
}

void damage_note(struct log_report *out, const char *parameters)
{
    struct sample sample;

    memset(out, 0, sizeof(*out));
    make(&sample);
    out->frames = sample.frames;
    for (size_t i = 0; i < 8 * sample.note_len; i++) {
        sample.note[i / 8] = (char)(sample.note[i / 8] ^ (1 << i % 8));
        try_files(out, &sample, parameters, LOG_NOTE_LEFT, i / 8);
        sample.note[i / 8] = (char)(sample.note[i / 8] ^ (1 << i % 8));
    }
    leave(&sample);
}

void cut_log(struct log_report *out, const char *parameters, enum log_note note)
{
    struct sample sample;
    size_t whole = 0;

    memset(out, 0, sizeof(*out));
    make(&sample);
    out->frames = sample.frames;
    whole = sample.log_len;
    for (size_t at = PDR_LOG_HEADER; at < sample.end; at += FRAME / 2) {
        sample.log_len = at;
        try_files(out, &sample, parameters, note, at);
    }
    sample.log_len = whole;
    leave(&sample);
}

void tear_last_commit(struct log_report *out, size_t count, uint64_t seed,
                      enum log_note note)
{
    struct sample sample;
    size_t len = 0;
    char *whole = NULL;

    memset(out, 0, sizeof(*out));
    make(&sample);
    out->frames = sample.frames;
    len = sample.end - sample.last_from;
    whole = malloc(len);
    ASSERT(whole != NULL);
    memcpy(whole, sample.log + sample.last_from, len);
    for (size_t i = 0; i < count; i++) {
        for (size_t at = sample.last_from; at < sample.end;) {
            size_t to = at + SECTOR - at % SECTOR;

            to = to < sample.end ? to : sample.end;
            if (random_below(&seed, 3) == 0)
                memset(sample.log + at, 0, to - at);
            at = to;
        }
        try_files(out, &sample, i % 2 == 0 ? "" : "?mode=ro", note,
                  sample.last_from);
        memcpy(sample.log + sample.last_from, whole, len);
    }
    free(whole);
    leave(&sample);
}
