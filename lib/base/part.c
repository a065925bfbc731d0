/*
 * part.c - see part.h. The lock is flock's, which a process that dies gives back. The descriptor
 * stays open until the part is freed, so the lock holds over the rename.
 */
#include "base/part.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct attn_part {
    char *target;           /* owns; no link */
    char *path;             /* owns; target.part; of a stream the same as target */
    int descriptor;         /* -1 of a stream */
    struct attn_sink *sink; /* owns */
    uint64_t begin;         /* bytes that were there before the sink's first */
    bool is_made;           /* _open made the file */
    bool is_committed;      /* it was renamed */
    bool is_synced;         /* the device has its name; and is to have the other one */
};

/* --- Opening ---------------------------------------------------------------------------------- */

static enum attn_status open_stream(struct attn_part *part, const char *path,
                                    struct attn_error *err)
{
    part->target = attn_strndup(path, strlen(path), err);
    part->path = part->target ? attn_strndup(path, strlen(path), err) : NULL;
    return part->path ? attn_sink_create_file(path, &part->sink, err) : ATTN_NO_MEMORY;
}

/* Whether TARGET may be replaced in the end. */
static enum attn_status check_target(const struct attn_target *target, struct attn_error *err)
{
    if (!target->exists)
        return ATTN_OK;
    if (S_ISDIR(target->info.st_mode))
        return attn_error_set(err, ATTN_IO, "cannot write '%s': it is a directory, expected a file",
                              attn_quote_string(target->path).text);
    if (faccessat(AT_FDCWD, target->path, W_OK, AT_EACCESS) != 0)
        return attn_error_errno(err, "write", target->path, errno);
    return ATTN_OK;
}

/* What has the name of the .part is a regular file, if it is there, and no link. */
static enum attn_status check_path(const char *path, struct attn_error *err)
{
    struct attn_target found;
    struct stat info;
    enum attn_status status = attn_target_find(path, &found, err);

    if (status != ATTN_OK)
        return status;
    attn_target_release(&found);
    if (lstat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return attn_error_set(err, ATTN_IO, "cannot write '%s': it is %s, expected a file",
                              attn_quote_string(path).text, attn_mode_text(info.st_mode));
    return ATTN_OK;
}

static enum attn_status lock(const struct attn_part *part, struct attn_error *err)
{
    if (flock(part->descriptor, LOCK_EX | LOCK_NB) == 0)
        return ATTN_OK;
    if (errno != EWOULDBLOCK)
        return attn_error_errno(err, "lock", part->path, errno);
    return attn_error_set(err, ATTN_IO, "cannot write '%s': another process is writing it",
                          attn_quote_string(part->path).text);
}

/* Whether the name is still that of the file that was locked: the process that had the lock
 * before may have renamed or removed it meanwhile. */
static enum attn_status check_name(const struct attn_part *part, struct attn_error *err)
{
    struct stat by_name, by_descriptor;

    if (fstat(part->descriptor, &by_descriptor) == 0 && lstat(part->path, &by_name) == 0 &&
        by_name.st_dev == by_descriptor.st_dev && by_name.st_ino == by_descriptor.st_ino)
        return ATTN_OK;
    return attn_error_set(err, ATTN_IO, "cannot write '%s': another process has just finished it",
                          attn_quote_string(part->path).text);
}

static enum attn_status open_file(struct attn_part *part, mode_t mode, bool is_resumed,
                                  struct attn_error *err)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;

    part->descriptor = open(part->path, flags | O_CREAT | O_EXCL, mode);
    part->is_made = part->descriptor >= 0;
    if (!part->is_made && errno == EEXIST && !is_resumed) {
        attn_error_set(err, ATTN_IO, "'%s' is there: an earlier run did not finish, or still runs",
                       attn_quote_string(part->path).text);
        attn_error_hint(err, "is_resumed goes on with it; remove it to begin anew");
        return ATTN_IO;
    }
    if (!part->is_made && errno == EEXIST)
        part->descriptor = open(part->path, flags);
    if (part->descriptor < 0)
        return attn_error_errno(err, "write", part->path, errno);
    return ATTN_OK;
}

/* Makes the sink that appends at SIZE. */
static enum attn_status append_at(struct attn_part *part, uint64_t size, struct attn_error *err)
{
    struct attn_sink *sink;
    enum attn_status status = attn_sink_create_descriptor(part->descriptor, part->path, &sink, err);

    if (status != ATTN_OK)
        return status;
    attn_sink_free(part->sink);
    part->sink = sink;
    part->begin = size;
    if (lseek(part->descriptor, (off_t)size, SEEK_SET) < 0)
        return attn_error_errno(err, "write", part->path, errno);
    return ATTN_OK;
}

static enum attn_status open_part(struct attn_part *part, struct attn_target *target,
                                  bool is_resumed, struct attn_error *err)
{
    const mode_t mode = target->exists ? target->info.st_mode & 0777 : 0666;
    struct attn_buffer path = {0};
    struct stat info;
    enum attn_status status = check_target(target, err);

    part->target = target->path;
    target->path = NULL;
    attn_buffer_append_format(&path, "%s.part", part->target);
    part->path = attn_buffer_string(&path) ? path.data : NULL;
    if (!part->path) {
        attn_buffer_release(&path);
        return attn_error_no_memory(err);
    }
    if (status == ATTN_OK)
        status = check_path(part->path, err);
    if (status == ATTN_OK)
        status = open_file(part, mode, is_resumed, err);
    if (status == ATTN_OK)
        status = lock(part, err);
    if (status == ATTN_OK)
        status = check_name(part, err);
    if (status == ATTN_OK && fstat(part->descriptor, &info) != 0)
        status = attn_error_errno(err, "read", part->path, errno);
    return status == ATTN_OK ? append_at(part, (uint64_t)info.st_size, err) : status;
}

enum attn_status attn_part_open(const char *path, bool is_resumed, struct attn_part **part,
                                struct attn_error *err)
{
    struct attn_part *opened = attn_alloc(1, sizeof *opened, err);
    struct attn_target target = {0};
    bool is_stream = attn_sink_own_descriptor(path) >= 0;
    enum attn_status status;

    if (!opened)
        return ATTN_NO_MEMORY;
    opened->descriptor = -1;
    status = is_stream ? ATTN_OK : attn_target_find(path, &target, err);
    if (status == ATTN_OK && target.exists)
        is_stream = !S_ISREG(target.info.st_mode) && !S_ISDIR(target.info.st_mode);
    if (status == ATTN_OK)
        status = is_stream ? open_stream(opened, path, err)
                           : open_part(opened, &target, is_resumed, err);
    attn_target_release(&target);
    if (status != ATTN_OK) {
        attn_part_discard(opened);
        return status;
    }
    *part = opened;
    return ATTN_OK;
}

/* --- What it is -------------------------------------------------------------------------------- */

struct attn_sink *attn_part_sink(const struct attn_part *part)
{
    return part->sink;
}

uint64_t attn_part_size(const struct attn_part *part)
{
    return part->begin + attn_sink_position(part->sink);
}

bool attn_part_is_stream(const struct attn_part *part)
{
    return part->descriptor < 0;
}

const char *attn_part_target(const struct attn_part *part)
{
    return part->target;
}

const char *attn_part_path(const struct attn_part *part)
{
    return part->path;
}

/* --- Bytes ------------------------------------------------------------------------------------- */

enum attn_status attn_part_cut(struct attn_part *part, uint64_t size, struct attn_error *err)
{
    if (attn_part_size(part) < size)
        return attn_error_set(err, ATTN_IO, "'%s' has %llu bytes, expected %llu or more",
                              attn_quote_string(part->path).text,
                              (unsigned long long)attn_part_size(part), (unsigned long long)size);
    if (attn_part_is_stream(part))
        return ATTN_OK;
    if (ftruncate(part->descriptor, (off_t)size) != 0)
        return attn_error_errno(err, "write", part->path, errno);
    return append_at(part, size, err);
}

enum attn_status attn_part_write_at(struct attn_part *part, uint64_t offset, const void *bytes,
                                    size_t size, struct attn_error *err)
{
    enum attn_status status = attn_part_flush(part, false, err);

    for (const char *from = bytes; status == ATTN_OK && size > 0;) {
        const ssize_t n = pwrite(part->descriptor, from, size, (off_t)offset);

        if (n > 0) {
            from += n;
            offset += (uint64_t)n;
            size -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            status = attn_error_errno(err, "write", part->path, n == 0 ? EIO : errno);
        }
    }
    return status;
}

enum attn_status attn_part_read_at(struct attn_part *part, uint64_t offset, void *bytes,
                                   size_t size, struct attn_error *err)
{
    for (char *to = bytes; size > 0;) {
        const ssize_t n = pread(part->descriptor, to, size, (off_t)offset);

        if (n <= 0 && (n == 0 || errno != EINTR))
            return attn_error_errno(err, "read", part->path, n == 0 ? EIO : errno);
        if (n > 0) {
            to += n;
            offset += (uint64_t)n;
            size -= (size_t)n;
        }
    }
    return ATTN_OK;
}

enum attn_status attn_part_flush(struct attn_part *part, bool is_synced, struct attn_error *err)
{
    enum attn_status status;

    attn_sink_flush(part->sink);
    status = attn_sink_check(part->sink, err);
    if (status != ATTN_OK || !is_synced || attn_part_is_stream(part))
        return status;
    if (fdatasync(part->descriptor) != 0)
        return attn_error_errno(err, "write", part->path, errno);
    if (!part->is_synced)
        status = attn_sink_sync_name(part->path, err);
    part->is_synced = status == ATTN_OK;
    return status;
}

/* --- The end ----------------------------------------------------------------------------------- */

enum attn_status attn_part_finish(struct attn_part *part, bool is_synced, struct attn_error *err)
{
    enum attn_status status = attn_part_flush(part, is_synced, err);
    int copy;

    if (status != ATTN_OK)
        return status;
    if (attn_part_is_stream(part))
        return attn_sink_commit(part->sink, err);
    copy = dup(part->descriptor); /* some file systems report a full device only at a close */
    if (copy >= 0 && close(copy) != 0 && errno != EINTR)
        return attn_error_errno(err, "write", part->path, errno);
    return ATTN_OK;
}

enum attn_status attn_part_commit(struct attn_part *part, struct attn_error *err)
{
    if (attn_part_is_stream(part) || part->is_committed)
        return ATTN_OK;
    if (rename(part->path, part->target) != 0)
        return attn_error_errno(err, "write", part->target, errno);
    part->is_committed = true;
    return part->is_synced ? attn_sink_sync_name(part->target, err) : ATTN_OK;
}

enum attn_status attn_part_remove(struct attn_part *part, struct attn_error *err)
{
    return unlink(part->path) == 0 || errno == ENOENT
               ? ATTN_OK
               : attn_error_errno(err, "remove", part->path, errno);
}

void attn_part_free(struct attn_part *part)
{
    if (!part)
        return;
    attn_sink_free(part->sink);
    if (part->descriptor >= 0)
        close(part->descriptor);
    attn_free(part->target);
    attn_free(part->path);
    attn_free(part);
}

void attn_part_discard(struct attn_part *part)
{
    if (part && part->path && part->is_made && !part->is_committed)
        unlink(part->path);
    attn_part_free(part);
}
