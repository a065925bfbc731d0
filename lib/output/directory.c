/* directory.c - see directory.h. */
#include "output/directory.h"

#include "base/escape.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum attn_status attn_directory_open(struct attn_directory *directory, const char *path,
                                     const char *format, struct attn_error *err)
{
    struct stat info;

    directory->path = attn_strndup(path, strlen(path), err);
    if (!directory->path)
        return ATTN_NO_MEMORY;
    if (mkdir(path, 0777) == 0) {
        directory->is_new = true;
        return ATTN_OK;
    }
    if (errno != EEXIST)
        return attn_error_errno(err, "make directory", path, errno);
    if (stat(path, &info) != 0)
        return attn_error_errno(err, "open directory", path, errno);
    if (!S_ISDIR(info.st_mode))
        return attn_error_set(err, ATTN_IO, "'%s' is a file, expected a directory for %s files",
                              attn_quote_string(path).text, format);
    return ATTN_OK;
}

enum attn_status attn_directory_create_file(const struct attn_directory *directory,
                                            const char *name, struct attn_sink **sink,
                                            struct attn_error *err)
{
    struct attn_buffer path = {0};
    enum attn_status status;

    attn_buffer_append_format(&path, "%s/%s", directory->path, name);
    attn_buffer_string(&path);
    status = attn_buffer_check(&path, err);
    if (status == ATTN_OK)
        status = attn_sink_create_file(path.data, sink, err);
    attn_buffer_release(&path);
    return status;
}

enum attn_status attn_directory_commit_file(struct attn_directory *directory,
                                            struct attn_sink *sink, struct attn_error *err)
{
    enum attn_status status = attn_sink_commit(sink, err);

    attn_sink_free(sink);
    directory->has_files |= status == ATTN_OK;
    return status;
}

void attn_directory_close(struct attn_directory *directory)
{
    if (directory->is_new && !directory->has_files)
        rmdir(directory->path); /* fails harmlessly when somebody else put something there */
    attn_free(directory->path);
    *directory = (struct attn_directory){0};
}
