/*
 * vfs.h - the files of a store, between SQLite and the VFS that does the work.
 *
 *     SQLite ──► main file: vfs.c      sums of pages: sum.c
 *            ──► log:       log.c      gathered, and written ahead
 *            ──► others:    the VFS below, with nobody in between
 */
#ifndef PDR_SQLITE_VFS_H
#define PDR_SQLITE_VFS_H

#include "sqlite.h"

#define PDR_LOG_HEADER   32 /* bytes of the log in front of its first frame */
#define PDR_FRAME_HEADER 24 /* and of a frame in front of its page */
#define PDR_LOG_SUM      8  /* bytes of a sum, last in either header */

/* --- sums (sum.c) ----------------------------------------------------------
 */

/* The sum of a page of the main file, for its last PDR_SQLITE_RESERVED bytes.
 */
void pdr__page_sum(uint8_t out[PDR_SQLITE_RESERVED],
                   const uint8_t page[PDR_SQLITE_PAGE], uint32_t number);
/* Does it end with its own sum? A page of zeros was never written, and does. */
bool pdr__page_is_sound(const uint8_t page[PDR_SQLITE_PAGE], uint32_t number);
/* Is a frame of the log, header and page, what was written behind the sum
 * `before`: that of the frame in front of it, or of the header of the log? */
bool pdr__frame_is_sound(const uint8_t before[PDR_LOG_SUM],
                         const uint8_t *frame);

/* Is it the header of a WAL of pages like ours, with its own sum at the end? */
bool pdr__log_header_is_sound(const uint8_t header[PDR_LOG_HEADER]);
/* A sum for the last PDR_LOG_SUM bytes of a note in the side file; `len` bytes,
 * a multiple of 8. And is it there? */
void pdr__note_seal(uint8_t *note, size_t len);
bool pdr__note_is_sound(const uint8_t *note, size_t len);

/* --- files -----------------------------------------------------------------
 */

struct pdr__log_file;

/* A page that was not as it was written. */
struct pdr__damage {
    uint32_t number; /* of the page, or of the frame of the log; 0: none yet */
    bool is_in_log;
};

struct pdr__main_file {
    sqlite3_file base;
    sqlite3_file *below;       /* behind this struct */
    struct pdr__log_file *log; /* borrowed; NULL: not open */
    bool has_sums;             /* its pages end with their sums */
    bool without_sums;         /* and nobody wants to know */
    bool keeps_deleted;        /* what pages do not use is written as it is */
    uint32_t pages;            /* of the file, as far as it is known */
    const char *memory_path;   /* borrowed, see struct pdr__vfs */
    uint64_t mapped;           /* bytes of that file that SQLite has mapped */
    struct pdr__damage damage; /* the last that was found */
};

/* Bytes of the log that SQLite wrote and the VFS below has not got yet. */
struct pdr__gathered {
    uint8_t *bytes; /* owned; NULL: none yet */
    size_t len;
    int64_t at; /* where in the log they begin */
};

struct pdr__log_file {
    sqlite3_file base;
    sqlite3_file *below;         /* behind this struct */
    struct pdr__main_file *main; /* borrowed; outlives this */
    struct pdr__vfs *vfs;        /* borrowed; outlives this */
    struct pdr__gathered gathered;
    int64_t unsynced; /* lowest byte written since the last sync */
    size_t written;   /* bytes that went out since then */
    int64_t reach;    /* bytes that the file had at least, when we looked */
    int failed;    /* bytes of this transaction are lost: what SQLite heard */
    int lost;      /* the same of the transaction that was over last */
    uint32_t last; /* frame of this transaction whose header came last; 0: none
                      did so far */
    uint8_t last_header[PDR_FRAME_HEADER];
    uint8_t last_page[PDR_SQLITE_PAGE]; /* of that frame */
    struct pdr__log_end end; /* of the last commit that was synced; zeros: none
                                since somebody asked */
};

/* Room that either of them needs in front of the file of the VFS below. */
union pdr__file {
    struct pdr__main_file main;
    struct pdr__log_file log;
};

/* Methods of a log. Its first members are those of a main file, so what needs
 * nothing of ours is passed on by the same functions. */
extern const sqlite3_io_methods pdr__log_methods;

void pdr__log_open(struct pdr__log_file *log, struct pdr__main_file *main,
                   struct pdr__vfs *vfs);
/* The transaction that wrote is over, however it ended. */
void pdr__log_over(struct pdr__log_file *log);
/* Write all its bytes once more, and sync them: a code of SQLite. */
int pdr__log_renew(struct pdr__log_file *log);
/* For PDR_FCNTL_LOG_END. */
void pdr__log_take_end(struct pdr__log_end *out, struct pdr__log_file *log);

/* What is passed on (vfs.c). */
int pdr__file_lock(sqlite3_file *file, int level);
int pdr__file_unlock(sqlite3_file *file, int level);
int pdr__file_is_reserved(sqlite3_file *file, int *out);
int pdr__file_sector(sqlite3_file *file);
int pdr__file_device(sqlite3_file *file);

#endif
