/*
 * sink.c - see sink.h.
 *
 * Appended bytes are buffered. They are written to files with pwrite at their offset, so that
 * attn_sink_write_at needs no seeking.
 */
#include "base/sink_internal.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "base/text/path.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

enum { BUFFER_SIZE = 64 * 1024, LARGE_WRITE = 1 << 20 };

enum kind {
    MEMORY, /* bytes in memory */
    STREAM, /* a descriptor that is only appended to */
    HIDDEN, /* a file that does not have its final name yet: a part, or a temporary file */
};

struct attn_sink {
    enum kind kind;
    int descriptor;       /* -1: none, or closed */
    bool owns_descriptor; /* close it at the end */
    bool is_closed_pipe;  /* EPIPE was seen */
    bool is_made;         /* for a part: attn_part_open created the file */
    bool is_renamed;      /* for a part: it has its final name */
    char *name;           /* owns; the name of the sink in messages */
    char *target;         /* owns; for HIDDEN: final path */
    char *temporary; /* owns; for HIDDEN: path until the commit; NULL once renamed, and for parts */
    char *pending;   /* owns [BUFFER_SIZE]; appended bytes that were not written yet */
    size_t n_pending;       /* bytes */
    uint64_t position;      /* bytes appended, including pending ones */
    struct attn_buffer all; /* for MEMORY: all bytes */
    struct attn_error err;  /* the first failure */
};

static void fail_write(struct attn_sink *sink, int errno_value)
{
    sink->is_closed_pipe = errno_value == EPIPE;
    attn_error_errno(&sink->err, "write", sink->name, errno_value);
}

static bool has_failed(const struct attn_sink *sink)
{
    return sink->err.status != ATTN_OK;
}

/* --- creation ----------------------------------------------------------------------------- */

/* Creates a sink of KIND, without a descriptor. */
static enum attn_status create(enum kind kind, const char *name, struct attn_sink **sink,
                               struct attn_error *err)
{
    struct attn_sink *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->kind = kind;
    made->descriptor = -1;
    made->name = attn_strndup(name, strlen(name), err);
    if (made->name && kind != MEMORY)
        made->pending = attn_alloc_uninitialized(BUFFER_SIZE, 1, err);
    if (!made->name || (kind != MEMORY && !made->pending)) {
        attn_sink_free(made);
        return ATTN_NO_MEMORY;
    }
    *sink = made;
    return ATTN_OK;
}

enum attn_status attn_sink_create_memory(struct attn_sink **sink, struct attn_error *err)
{
    return attn_is_given(sink, "sink", err) ? create(MEMORY, "memory", sink, err) : ATTN_INVALID;
}

enum attn_status attn_sink_create_descriptor(int descriptor, const char *name,
                                             struct attn_sink **sink, struct attn_error *err)
{
    ATTN_NEED(err, name, sink);
    ATTN_TRY(create(STREAM, name, sink, err));
    (*sink)->descriptor = descriptor;
    return ATTN_OK;
}

/* Returns the descriptor that PATH names (/dev/stdout, /dev/fd/N), or -1. Such a path is written
 * through a copy of the descriptor: opening /dev/stdout again would start at the beginning of a
 * redirected file, and a rename would take the file away from other writers. */
static int own_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int64_t number;

    if (strcmp(path, "/dev/stdout") == 0)
        return ATTN_OS_OUTPUT;
    if (strcmp(path, "/dev/stderr") == 0)
        return ATTN_OS_ERRORS;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]);

        if (strncmp(path, folders[i], length) == 0 &&
            attn_parse_int(path + length, strlen(path + length), 0, INT_MAX, &number))
            return (int)number;
    }
    return -1;
}

static void drop_temporary(struct attn_sink *sink)
{
    attn_free(sink->temporary);
    sink->temporary = NULL;
}

/* Opens sink->temporary beside sink->target: a new file with an unpredictable name. */
static int open_temporary(struct attn_sink *sink, unsigned access)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t folder = attn_path_folder_length(sink->target);
    char *suffix;
    int errno_value = EEXIST;

    sink->temporary = attn_alloc(folder + sizeof ".attn-XXXXXX.tmp", 1, NULL);
    if (!sink->temporary)
        return ENOMEM;
    memcpy(sink->temporary, sink->target, folder);
    memcpy(sink->temporary + folder, ".attn-XXXXXX.tmp", sizeof ".attn-XXXXXX.tmp");
    suffix = sink->temporary + folder + strlen(".attn-");

    for (int n_try = 0; n_try < 100; n_try++) {
        unsigned char random[6];

        if (!attn_os_random(random, sizeof random)) {
            errno_value = errno;
            break;
        }
        for (size_t i = 0; i < sizeof random; i++)
            suffix[i] = letters[random[i] % (sizeof letters - 1)];
        sink->descriptor =
            attn_os_open(sink->temporary, ATTN_OS_WRITE | ATTN_OS_NEW | ATTN_OS_NO_LINK, access);
        if (sink->descriptor >= 0)
            return 0;
        errno_value = errno;
        if (errno_value != EEXIST)
            break;
    }
    drop_temporary(sink);
    return errno_value;
}

/* Returns an error if the commit must not replace TARGET, called NAME in messages. Renaming over a
 * read-only file would work, but its owner made it read-only to prevent that. */
static enum attn_status check_replaced(const struct attn_target *target, const char *name,
                                       struct attn_error *err)
{
    if (!target->exists)
        return ATTN_OK;
    if (target->info.kind == ATTN_OS_FOLDER)
        return attn_error_set(err, ATTN_IO, "cannot write '%s': it is a directory, expected a file",
                              attn_quote_string(name).text);
    if (target->info.kind == ATTN_OS_FILE && !attn_os_may_write(target->path))
        return attn_error_errno(err, "write", name, errno);
    return ATTN_OK;
}

/* Opens a sink for TARGET, called NAME in messages. A FIFO or a device is a stream, and so is a
 * copy of our descriptor OWN unless that is negative. Otherwise takes ownership of TARGET's
 * path. */
static enum attn_status open_sink(const char *name, struct attn_target *target, int own,
                                  struct attn_sink **sink, struct attn_error *err)
{
    const bool is_stream = own >= 0 || (target->exists && target->info.kind != ATTN_OS_FILE);
    const unsigned access = target->info.access;
    struct attn_sink *created;
    enum attn_status status;
    int errno_value = 0;

    ATTN_TRY(check_replaced(target, name, err));
    ATTN_TRY(create(is_stream ? STREAM : HIDDEN, name, &created, err));
    created->owns_descriptor = true;
    if (is_stream) {
        created->descriptor = own >= 0 ? attn_os_copy(own) : attn_os_open(name, ATTN_OS_WRITE, 0);
        errno_value = created->descriptor < 0 ? errno : 0;
    } else { /* a new file, or a temporary one that will replace TARGET */
        created->target = target->path;
        target->path = NULL;
        errno_value = created->target[attn_path_folder_length(created->target)] == '\0'
                          ? ENOENT /* an empty path, or a missing folder */
                          : open_temporary(created, target->exists ? access : 0666);
        /* The umask may have removed permissions that the replaced file has. */
        if (errno_value == 0 && target->exists)
            attn_os_set_access(created->descriptor, access);
    }
    if (errno_value != 0) {
        status = attn_error_errno(err, "write", name, errno_value);
        attn_sink_free(created);
        return status;
    }
    *sink = created;
    return ATTN_OK;
}

enum attn_status attn_sink_create_file(const char *path, struct attn_sink **sink,
                                       struct attn_error *err)
{
    struct attn_target target = {0};
    enum attn_status status;
    int own;

    ATTN_NEED(err, path, sink);
    own = own_descriptor(path);
    if (own < 0)
        ATTN_TRY(attn_target_find(path, &target, err));
    status = open_sink(path, &target, own, sink, err);
    attn_target_release(&target);
    return status;
}

enum attn_status attn_sink_create_file_in(const char *directory, const char *name,
                                          struct attn_sink **sink, struct attn_error *err)
{
    struct attn_target target;
    enum attn_status status;

    ATTN_NEED(err, directory, name, sink);
    ATTN_TRY(attn_target_find_in(directory, name, &target, err));
    status = open_sink(target.path, &target, -1, sink, err);
    attn_target_release(&target);
    return status;
}

/* --- writing ------------------------------------------------------------------------------ */

/* Passes all of BYTES to the system; OFFSET is their place in a file. */
static void write_out(struct attn_sink *sink, const char *bytes, size_t size, uint64_t offset)
{
    /* Allocating all blocks at once is faster than page by page. Not all file systems support it;
     * failures are reported by the write. */
    if (sink->kind == HIDDEN && size >= LARGE_WRITE)
        attn_os_reserve(sink->descriptor, offset, size);
    while (size > 0 && !has_failed(sink)) {
        ptrdiff_t n = sink->kind == HIDDEN ? attn_os_write_at(sink->descriptor, bytes, size, offset)
                                           : attn_os_write(sink->descriptor, bytes, size);

        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
            offset += (uint64_t)n;
        } else if (n < 0 && errno == EAGAIN) { /* the descriptor is non-blocking */
            attn_os_wait(sink->descriptor, true, -1);
        } else if (n == 0 || errno != EINTR) {
            fail_write(sink, n == 0 ? EIO : errno);
        }
    }
}

enum attn_status attn_sink_write_buffer(struct attn_sink *sink, struct attn_buffer *buffer,
                                        struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(buffer, err));
    attn_sink_write(sink, buffer->data, buffer->size);
    buffer->size = 0;
    return ATTN_OK;
}

void attn_sink_flush(struct attn_sink *sink)
{
    write_out(sink, sink->pending, sink->n_pending, sink->position - sink->n_pending);
    sink->n_pending = 0;
}

/* Writes bytes to a memory sink, which grows; a gap is filled with zeros. */
static void write_memory(struct attn_sink *sink, uint64_t offset, const void *bytes, size_t size)
{
    struct attn_buffer *all = &sink->all;
    size_t start = (size_t)offset, end = start + size;

    if (end > all->size && !attn_buffer_reserve(all, end - all->size)) {
        attn_buffer_check(all, &sink->err);
        return;
    }
    if (start > all->size)
        memset(all->data + all->size, 0, start - all->size);
    memcpy(all->data + start, bytes, size);
    if (end > all->size)
        all->size = end;
}

/* Returns true if SIZE bytes can be written at OFFSET: after its commit a file has no descriptor,
 * and offsets of files and memory are limited. */
static bool can_write(struct attn_sink *sink, uint64_t offset, size_t size)
{
    if (size == 0 || has_failed(sink))
        return false;
    if (sink->kind != MEMORY && sink->descriptor < 0)
        attn_error_set(&sink->err, ATTN_INVALID, "'%s' was written to after it was committed",
                       attn_quote_string(sink->name).text);
    else if (offset > INT64_MAX || size > INT64_MAX - offset)
        fail_write(sink, EFBIG);
    return !has_failed(sink);
}

void attn_sink_write(struct attn_sink *sink, const void *bytes, size_t size)
{
    if (!sink || !can_write(sink, sink->position, size))
        return;
    if (sink->kind == MEMORY) {
        write_memory(sink, sink->position, bytes, size);
    } else {
        if (size > BUFFER_SIZE - sink->n_pending)
            attn_sink_flush(sink);
        if (size >= BUFFER_SIZE) {
            write_out(sink, bytes, size, sink->position);
        } else {
            memcpy(sink->pending + sink->n_pending, bytes, size);
            sink->n_pending += size;
        }
    }
    if (!has_failed(sink))
        sink->position += size;
}

bool attn_sink_is_seekable(const struct attn_sink *sink)
{
    return sink->kind != STREAM;
}

void attn_sink_write_at(struct attn_sink *sink, uint64_t offset, const void *bytes, size_t size)
{
    assert(attn_sink_is_seekable(sink));
    if (!can_write(sink, offset, size))
        return;
    if (sink->kind == MEMORY) {
        write_memory(sink, offset, bytes, size);
        return;
    }
    /* Pending bytes at the same place were written earlier, so they are flushed first. */
    if (offset < sink->position && offset + size > sink->position - sink->n_pending)
        attn_sink_flush(sink);
    write_out(sink, bytes, size, offset);
}

uint64_t attn_sink_position(const struct attn_sink *sink)
{
    return sink->position;
}

enum attn_status attn_sink_check(const struct attn_sink *sink, struct attn_error *err)
{
    if (!has_failed(sink))
        return ATTN_OK;
    return attn_error_set(err, sink->err.status, "%s", sink->err.message);
}

bool attn_sink_is_closed_pipe(const struct attn_sink *sink)
{
    return sink->is_closed_pipe;
}

const void *attn_sink_bytes(const struct attn_sink *sink, size_t *size)
{
    const bool is_memory = sink && sink->kind == MEMORY;

    if (size)
        *size = is_memory ? sink->all.size : 0;
    return !is_memory ? NULL : sink->all.size > 0 ? sink->all.data : "";
}

/* --- the end ------------------------------------------------------------------------------ */

/* Some file systems report a full device only on close. After EINTR, Linux has closed the
 * descriptor, too. */
static void close_descriptor(struct attn_sink *sink)
{
    if (sink->descriptor >= 0 && attn_os_close(sink->descriptor) != 0 && errno != EINTR)
        fail_write(sink, errno);
    sink->descriptor = -1;
}

enum attn_status attn_sink_commit(struct attn_sink *sink, struct attn_error *err)
{
    ATTN_NEED(err, sink);
    attn_sink_flush(sink);
    if (sink->owns_descriptor)
        close_descriptor(sink);
    if (sink->temporary && !has_failed(sink)) {
        if (attn_os_rename(sink->temporary, sink->target) != 0)
            fail_write(sink, errno);
        else
            drop_temporary(sink);
    }
    return attn_sink_check(sink, err);
}

void attn_sink_free(struct attn_sink *sink)
{
    if (!sink)
        return;
    if (sink->owns_descriptor)
        close_descriptor(sink);
    if (sink->temporary)
        attn_os_remove(sink->temporary);
    drop_temporary(sink);
    attn_buffer_release(&sink->all);
    attn_free(sink->pending);
    attn_free(sink->target);
    attn_free(sink->name);
    attn_free(sink);
}

/* --- Parts ------------------------------------------------------------------------------------ */

enum attn_status attn_part_open_file(const char *path, unsigned access, bool is_resumed,
                                     int *descriptor, bool *is_made, struct attn_error *err)
{
    const unsigned how = ATTN_OS_READ_WRITE | ATTN_OS_NO_LINK;
    struct attn_target found;

    /* An existing file must be regular and not a link. */
    ATTN_TRY(attn_target_find(path, &found, err));
    attn_target_release(&found);
    ATTN_TRY(attn_path_check_plain(path, err));
    *descriptor = attn_os_open(path, how | ATTN_OS_NEW, access);
    *is_made = *descriptor >= 0;
    if (!*is_made && errno == EEXIST && !is_resumed) {
        attn_error_set(err, ATTN_IO, "'%s' is there: an earlier run did not finish, or still runs",
                       attn_quote_string(path).text);
        attn_error_hint(err, "`is_resumed` goes on with it; remove it to begin anew");
        return ATTN_IO;
    }
    if (!*is_made && errno == EEXIST)
        *descriptor = attn_os_open(path, how, 0);
    return *descriptor < 0 ? attn_error_errno(err, "write", path, errno) : ATTN_OK;
}

/* Locks the file of PART, and checks that it still has its name, because the process that held the
 * lock before may have renamed or removed it. Also finds where to append. The lock (flock) ends
 * with the process; the descriptor stays open until the part is freed, so the lock is kept during
 * the rename. */
static enum attn_status lock_part(struct attn_sink *part, struct attn_error *err)
{
    struct attn_os_info by_name, by_descriptor;

    if (attn_os_lock(part->descriptor) != 0) {
        if (errno != EWOULDBLOCK)
            return attn_error_errno(err, "lock", part->name, errno);
        return attn_error_set(err, ATTN_IO, "cannot write '%s': another process is writing it",
                              attn_quote_string(part->name).text);
    }
    if (attn_os_stat_open(part->descriptor, &by_descriptor) != 0 ||
        attn_os_stat_link(part->name, &by_name) != 0 || by_name.device != by_descriptor.device ||
        by_name.number != by_descriptor.number)
        return attn_error_set(err, ATTN_IO,
                              "cannot write '%s': another process has just finished it",
                              attn_quote_string(part->name).text);
    part->position = (uint64_t)by_descriptor.size;
    return ATTN_OK;
}

/* The caller owns *PART and TARGET, which is empty at first, even after a failure. */
static enum attn_status open_part(const char *path, bool is_resumed, struct attn_target *target,
                                  struct attn_sink **part, struct attn_error *err)
{
    const int own = own_descriptor(path);
    struct attn_buffer buffer = {0};
    char *name;

    if (own < 0)
        ATTN_TRY(attn_target_find(path, target, err));
    if (own >= 0 || (target->exists && target->info.kind != ATTN_OS_FILE &&
                     target->info.kind != ATTN_OS_FOLDER))
        return open_sink(path, target, own, part, err);
    ATTN_TRY(check_replaced(target, target->path, err));
    attn_buffer_append_format(&buffer, "%s.part", target->path);
    name = attn_buffer_take(&buffer, err);
    if (name)
        (void)create(HIDDEN, name, part, err);
    attn_free(name);
    if (!*part)
        return ATTN_NO_MEMORY;
    (*part)->owns_descriptor = true;
    (*part)->target = target->path;
    target->path = NULL;
    ATTN_TRY(attn_part_open_file((*part)->name, target->exists ? target->info.access : 0666,
                                 is_resumed, &(*part)->descriptor, &(*part)->is_made, err));
    return lock_part(*part, err);
}

enum attn_status attn_part_open(const char *path, bool is_resumed, struct attn_sink **part,
                                struct attn_error *err)
{
    struct attn_sink *opened = NULL;
    struct attn_target target = {0};
    const enum attn_status status = open_part(path, is_resumed, &target, &opened, err);

    attn_target_release(&target);
    ATTN_RETURN_MADE(status, part, opened, attn_part_discard);
}

const char *attn_part_path(const struct attn_sink *part)
{
    return part->name;
}

enum attn_status attn_part_cut(struct attn_sink *part, uint64_t size, struct attn_error *err)
{
    if (part->position < size)
        return attn_error_set(err, ATTN_IO, "'%s' has %llu bytes, expected %llu or more",
                              attn_quote_string(part->name).text,
                              (unsigned long long)part->position, (unsigned long long)size);
    if (part->kind == STREAM)
        return ATTN_OK;
    if (attn_os_truncate(part->descriptor, size) != 0)
        return attn_error_errno(err, "write", part->name, errno);
    part->position = size;
    return ATTN_OK;
}

enum attn_status attn_part_read_at(const struct attn_sink *part, uint64_t offset, void *bytes,
                                   size_t size, struct attn_error *err)
{
    for (char *to = bytes; size > 0;) {
        const ptrdiff_t n = attn_os_read_at(part->descriptor, to, size, offset);

        if (n <= 0 && (n == 0 || errno != EINTR))
            return attn_error_errno(err, "read", part->name, n == 0 ? EIO : errno);
        if (n > 0) {
            to += n;
            offset += (uint64_t)n;
            size -= (size_t)n;
        }
    }
    return ATTN_OK;
}

enum attn_status attn_part_flush(struct attn_sink *part, struct attn_error *err)
{
    attn_sink_flush(part);
    return attn_sink_check(part, err);
}

enum attn_status attn_part_finish(struct attn_sink *part, struct attn_error *err)
{
    int copy;

    ATTN_TRY(attn_part_flush(part, err));
    if (part->kind == STREAM)
        return attn_sink_commit(part, err);
    copy =
        attn_os_copy(part->descriptor); /* some file systems report a full device only on close */
    if (copy >= 0 && attn_os_close(copy) != 0 && errno != EINTR)
        return attn_error_errno(err, "write", part->name, errno);
    return ATTN_OK;
}

enum attn_status attn_part_commit(struct attn_sink *part, struct attn_error *err)
{
    if (part->kind == STREAM || part->is_renamed)
        return ATTN_OK;
    if (attn_os_rename(part->name, part->target) != 0)
        return attn_error_errno(err, "write", part->target, errno);
    part->is_renamed = true;
    return ATTN_OK;
}

enum attn_status attn_part_remove(const struct attn_sink *part, struct attn_error *err)
{
    if (attn_os_remove(part->name) != 0 && errno != ENOENT)
        return attn_error_errno(err, "remove", part->name, errno);
    return ATTN_OK;
}

void attn_part_discard(struct attn_sink *part)
{
    if (part && part->is_made && !part->is_renamed)
        attn_os_remove(part->name);
    attn_sink_free(part);
}
