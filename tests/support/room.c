/* room.c - an empty folder on the disk for a test. */
#include "room.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

void room_enter(struct room *room)
{
    const char *where = getenv("TMPDIR");

    snprintf(room->path, sizeof(room->path), "%s/perdure-test.XXXXXX",
             where != NULL ? where : "/tmp");
    ASSERT(mkdtemp(room->path) != NULL);
}

const char *room_path(const struct room *room, const char *name)
{
    static char path[600];

    snprintf(path, sizeof(path), "%s/%s", room->path, name);
    return path;
}

void room_leave(struct room *room)
{
    DIR *folder = opendir(room->path);
    const struct dirent *entry = NULL;

    ASSERT(folder != NULL);
    while ((entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 &&
            unlink(room_path(room, entry->d_name)) != 0)
            (void)rmdir(room_path(room, entry->d_name));
    closedir(folder);
    ASSERT_INT(0, rmdir(room->path));
}

void room_put(const struct room *room, const char *name, pdr_str bytes)
{
    FILE *file = fopen(room_path(room, name), "wb");

    ASSERT(file != NULL);
    if (bytes.len > 0)
        ASSERT_SIZE(bytes.len, fwrite(bytes.ptr, 1, bytes.len, file));
    ASSERT_INT(0, fclose(file));
}

void room_put_c(const struct room *room, const char *name, const char *text)
{
    room_put(room, name, pdr_str_c(text));
}

static char *slurp(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    char *bytes = NULL;

    if (file == NULL)
        return NULL;
    ASSERT_INT(0, fstat(fileno(file), &info));
    bytes = malloc((size_t)info.st_size + 1);
    ASSERT(bytes != NULL);
    *len = fread(bytes, 1, (size_t)info.st_size, file);
    bytes[*len] = '\0';
    fclose(file);
    return bytes;
}

char *room_get(const struct room *room, const char *name, size_t *len)
{
    return slurp(room_path(room, name), len);
}

bool room_has(const struct room *room, const char *name)
{
    return access(room_path(room, name), F_OK) == 0;
}

void room_assert(const struct room *room, const char *name, const char *text)
{
    size_t len = 0;
    char *bytes = room_get(room, name, &len);

    if (bytes == NULL)
        fail_msg("there is no file '%s'", name);
    ASSERT_TEXT(text, pdr_str_n(bytes, len));
    free(bytes);
}

size_t room_count(char out[256], const struct room *room, const char *ending)
{
    DIR *folder = opendir(room->path);
    const struct dirent *entry = NULL;
    size_t count = 0, tail = strlen(ending);

    ASSERT(folder != NULL);
    while ((entry = readdir(folder)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (len < tail || strcmp(entry->d_name + len - tail, ending) != 0)
            continue;
        if (out != NULL)
            snprintf(out, 256, "%s", entry->d_name);
        count++;
    }
    closedir(folder);
    return count;
}

void room_fill(const struct room *room, const char *folder)
{
    char path[600], from[900];
    const struct dirent *entry = NULL;
    DIR *stream = NULL;

    snprintf(path, sizeof(path), "%s/%s", test_data_folder(), folder);
    stream = opendir(path);
    ASSERT(stream != NULL);
    while ((entry = readdir(stream)) != NULL) {
        size_t len = 0;
        char *bytes = NULL;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(from, sizeof(from), "%s/%s", path, entry->d_name);
        bytes = slurp(from, &len);
        ASSERT(bytes != NULL);
        room_put(room, entry->d_name, pdr_str_n(bytes, len));
        free(bytes);
    }
    closedir(stream);
}
