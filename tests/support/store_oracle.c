/* store_oracle.c - what writers of a store asked for and were told. */
#include "store_oracle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#define MAX_LINE 600

const char *deed_text(char out[DEED_TEXT], deed_id id)
{
    snprintf(out, DEED_TEXT, "w%u-%u", deed_writer(id), deed_n(id));
    return out;
}

bool deed_read(deed_id *out, pdr_str text)
{
    char copy[DEED_TEXT], again[DEED_TEXT];
    unsigned writer = 0, n = 0;

    if (text.ptr == NULL || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (sscanf(copy, "w%u-%u", &writer, &n) != 2)
        return false;
    *out = deed_id_of(writer, n);
    return strcmp(copy, deed_text(again, *out)) == 0;
}

struct deed_part *deed_part_in(struct deed *deed, unsigned session)
{
    for (size_t i = 0; i < deed->part_count; i++)
        if (deed->parts[i].session == session)
            return &deed->parts[i];
    return NULL;
}

/* --- reading -------------------------------------------------------------- */

void oracle_init(struct oracle *oracle, unsigned writer)
{
    memset(oracle, 0, sizeof(*oracle));
    oracle->writer = writer;
}

void oracle_dispose(struct oracle *oracle)
{
    free(oracle->deeds);
    oracle_init(oracle, oracle->writer);
}

struct deed *oracle_open_deed(struct oracle *oracle)
{
    struct deed *last = NULL;

    if (oracle->count == 0)
        return NULL;
    last = &oracle->deeds[oracle->count - 1];
    return last->state == DEED_OPEN && !last->given_up ? last : NULL;
}

static bool read_parts(struct deed *deed, const char *text)
{
    deed->part_count = 0;
    while (*text != '\0') {
        struct deed_part part = {0};
        int used = 0;
        if (deed->part_count == DEED_PARTS ||
            sscanf(text,
                   " %u:%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64
                   ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 "%n",
                   &part.session, &part.asked, &part.epoch, &part.revision,
                   &part.first_seq, &part.journal_n, &part.inbox_n, &part.fence,
                   &used) != 8 ||
            part.session >= DEED_SESSIONS)
            return false;
        deed->parts[deed->part_count++] = part;
        text += used;
    }
    return deed->part_count > 0;
}

static struct deed *add_deed(struct oracle *oracle, unsigned kind)
{
    struct deed *deed = NULL;

    if (oracle->count == oracle->cap) {
        size_t cap = oracle->cap > 0 ? oracle->cap * 2 : 256;
        struct deed *more = realloc(oracle->deeds, cap * sizeof(*more));
        if (more == NULL)
            return NULL;
        oracle->deeds = more;
        oracle->cap = cap;
    }
    deed = &oracle->deeds[oracle->count++];
    memset(deed, 0, sizeof(*deed));
    deed->id = deed_id_of(oracle->writer, (unsigned)oracle->count);
    deed->kind = (enum deed_kind)kind;
    return deed;
}

/* A deed is asked for, for the first time or again. */
static bool take_intent(struct oracle *oracle, deed_id id, unsigned kind,
                        const char *parts)
{
    struct deed *deed = oracle_open_deed(oracle);

    if (kind > DEED_REMOVE)
        return false;
    if (deed == NULL &&
        id == deed_id_of(oracle->writer, (unsigned)oracle->count + 1))
        deed = add_deed(oracle, kind);
    if (deed == NULL || deed->id != id || deed->kind != (enum deed_kind)kind)
        return false;
    if (deed->trying) {
        deed->cut_off = true;
        oracle->retries++;
    }
    deed->trying = true;
    return read_parts(deed, parts);
}

/* How a try ended. */
static bool take_end(struct oracle *oracle, char what, deed_id id,
                     const char *parts)
{
    struct deed *deed = oracle_open_deed(oracle);

    if (deed == NULL || deed->id != id)
        return false;
    /* It can be given up without another try, but not end well. */
    if (!deed->trying && what != 'R' && what != 'U')
        return false;
    deed->trying = false;
    oracle->done += what == 'A' || what == 'E';
    oracle->found += what == 'E';
    oracle->conflicts += what == 'C';
    oracle->refusals += what == 'R' || what == 'U';
    if (what == 'A' || what == 'E')
        deed->state = what == 'A' ? DEED_DONE : DEED_FOUND;
    else if (what == 'R')
        deed->state = DEED_REFUSED;
    else if (what == 'U')
        deed->given_up = true;
    else if (what != 'C')
        return false;
    /* Who promises that nothing was done must know it. */
    return (what != 'R' || !deed->cut_off) && read_parts(deed, parts);
}

bool oracle_line(struct oracle *oracle, const char *line)
{
    unsigned writer = 0, n = 0, kind = 0;
    char what = 0;
    int used = 0;
    bool is_fine = false;

    if (sscanf(line, "%c w%u-%u %u%n", &what, &writer, &n, &kind, &used) == 4) {
        deed_id id = deed_id_of(writer, n);
        is_fine = what == 'I' ? take_intent(oracle, id, kind, line + used)
                              : take_end(oracle, what, id, line + used);
    }
    if (!is_fine)
        fprintf(stderr, "a line of writer %u cannot stand there: %s\n",
                oracle->writer, line);
    return is_fine;
}

bool oracle_read(struct oracle *oracle, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[MAX_LINE];
    bool is_fine = true;

    if (file == NULL)
        return errno == ENOENT;
    while (is_fine && fgets(line, sizeof(line), file) != NULL) {
        size_t len = strlen(line);
        if (line[len - 1] != '\n')
            break; /* O1 */
        line[len - 1] = '\0';
        is_fine = oracle_line(oracle, line);
    }
    fclose(file);
    return is_fine;
}

/* --- writing -------------------------------------------------------------- */

/* Where the last whole line ends. */
static off_t end_of_lines(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char c = 0;

    while (size > 0 && pread(fd, &c, 1, size - 1) == 1 && c != '\n')
        size--;
    return size;
}

bool oracle_file_open(struct oracle_file *file, const struct oracle *oracle,
                      const char *path)
{
    off_t size = 0;

    file->next = (unsigned)oracle->count + 1;
    file->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file->fd < 0)
        return false;
    size = end_of_lines(file->fd);
    return size >= 0 && ftruncate(file->fd, size) == 0;
}

void oracle_file_close(struct oracle_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
}

bool oracle_note(struct oracle_file *file, char what, const struct deed *deed)
{
    char line[MAX_LINE], name[DEED_TEXT];
    int len = snprintf(line, sizeof(line), "%c %s %u", what,
                       deed_text(name, deed->id), (unsigned)deed->kind);

    for (size_t i = 0; i < deed->part_count; i++) {
        const struct deed_part *part = &deed->parts[i];
        len += snprintf(line + len, sizeof(line) - (size_t)len,
                        " %u:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64
                        ":%" PRIu64 ":%" PRIu64 ":%" PRIu64,
                        part->session, part->asked, part->epoch, part->revision,
                        part->first_seq, part->journal_n, part->inbox_n,
                        part->fence);
    }
    line[len++] = '\n';
    if (write(file->fd, line, (size_t)len) != len)
        return false;
    return (what != 'A' && what != 'E') || fdatasync(file->fd) == 0;
}
