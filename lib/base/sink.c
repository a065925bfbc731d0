/*
 * sink.c - see sink.h.
 *
 * Appended bytes are gathered in a buffer. Files get them by pwrite at the place they belong to, so
 * that attn_sink_write_at needs no seeking.
 */
#include "base/sink_internal.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/path.h"
#include "base/status_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 64 * 1024, LARGE_WRITE = 1 << 20 };

enum kind {
    MEMORY,    /* bytes in memory */
    STREAM,    /* a descriptor that is only appended to */
    TEMPORARY, /* a file under a temporary name */
};

struct attn_sink {
    enum kind kind;
    int descriptor;         /* -1: none, or closed */
    bool owns_descriptor;   /* close it at the end */
    bool is_closed_pipe;    /* EPIPE was seen */
    bool is_synced;         /* the commit waits for the device */
    char *name;             /* owns; what messages call the sink */
    char *target;           /* owns; TEMPORARY: where the file goes in the end */
    char *temporary;        /* owns; TEMPORARY: where it is until then, NULL once renamed */
    char *pending;          /* owns [BUFFER_SIZE]; appended bytes that are not written yet */
    size_t n_pending;       /* bytes */
    uint64_t position;      /* bytes appended, the pending ones too */
    struct attn_buffer all; /* MEMORY: the bytes */
    struct attn_error err;  /* the failure that stuck */
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

static struct attn_sink *create(enum kind kind, const char *name, struct attn_error *err)
{
    struct attn_sink *sink = attn_alloc(1, sizeof *sink, err);

    if (!sink)
        return NULL;
    sink->kind = kind;
    sink->descriptor = -1;
    sink->name = attn_strndup(name, strlen(name), err);
    if (sink->name && kind != MEMORY)
        sink->pending = attn_alloc_uninitialized(BUFFER_SIZE, 1, err);
    if (!sink->name || (kind != MEMORY && !sink->pending)) {
        attn_sink_free(sink);
        return NULL;
    }
    return sink;
}

enum attn_status attn_sink_create_memory(struct attn_sink **sink, struct attn_error *err)
{
    if (!attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    struct attn_sink *created = create(MEMORY, "memory", err);

    if (!created)
        return ATTN_NO_MEMORY;
    *sink = created;
    return ATTN_OK;
}

enum attn_status attn_sink_create_descriptor(int descriptor, const char *name,
                                             struct attn_sink **sink, struct attn_error *err)
{
    if (!attn_is_given(name, "name", err) || !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    struct attn_sink *created = create(STREAM, name, err);

    if (!created)
        return ATTN_NO_MEMORY;
    created->descriptor = descriptor;
    *sink = created;
    return ATTN_OK;
}

/*
 * Such a path is written by a copy of the descriptor: opening /dev/stdout anew would start at the
 * beginning of a redirected file, and renaming over it would take the file away from other programs
 * that write to it.
 */
int attn_sink_own_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int64_t number;

    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
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

/* Opens sink->temporary beside sink->target: a new name that cannot be guessed. */
static int open_temporary(struct attn_sink *sink, mode_t mode)
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

        if (getrandom(random, sizeof random, 0) != sizeof random) {
            errno_value = errno;
            break;
        }
        for (size_t i = 0; i < sizeof random; i++)
            suffix[i] = letters[random[i] % (sizeof letters - 1)];
        sink->descriptor =
            open(sink->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (sink->descriptor >= 0)
            return 0;
        errno_value = errno;
        if (errno_value != EEXIST)
            break;
    }
    drop_temporary(sink);
    return errno_value;
}

/* A new file, or one that will replace what is there. Takes the path of TARGET. */
static int open_target(struct attn_sink *sink, struct attn_target *target)
{
    const mode_t mode = target->info.st_mode & 0777;
    int errno_value;

    sink->target = target->path;
    target->path = NULL;
    /* Renaming over a read-only file would work, but it was made so against that. */
    if (target->exists && faccessat(AT_FDCWD, sink->target, W_OK, AT_EACCESS) != 0)
        return errno;
    if (sink->target[attn_path_folder_length(sink->target)] == '\0')
        return ENOENT; /* an empty path, or a folder that does not exist */

    errno_value = open_temporary(sink, target->exists ? mode : 0666);
    /* The umask may have taken bits that the replaced file has. */
    if (errno_value == 0 && target->exists)
        (void)fchmod(sink->descriptor, mode);
    return errno_value;
}

/* A FIFO, a device, or, when OWN is not negative, a copy of our descriptor OWN. */
static int open_stream(struct attn_sink *sink, const char *path, int own)
{
    sink->descriptor =
        own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return sink->descriptor >= 0 ? 0 : errno;
}

/* A sink that messages call PATH, for TARGET, or for our descriptor OWN if that is not negative. */
static enum attn_status open_sink(const char *path, struct attn_target *target, int own,
                                  struct attn_sink **sink, struct attn_error *err)
{
    const bool is_stream = own >= 0 || (target->exists && !S_ISREG(target->info.st_mode));
    struct attn_sink *created = create(is_stream ? STREAM : TEMPORARY, path, err);
    enum attn_status status;
    int errno_value;

    if (!created)
        return ATTN_NO_MEMORY;
    created->owns_descriptor = true;
    errno_value = is_stream ? open_stream(created, path, own) : open_target(created, target);
    if (errno_value != 0) {
        status = attn_error_errno(err, "write", path, errno_value);
        attn_sink_free(created);
        return status;
    }
    *sink = created;
    return ATTN_OK;
}

enum attn_status attn_sink_create_file(const char *path, struct attn_sink **sink,
                                       struct attn_error *err)
{
    if (!attn_is_given(path, "path", err) || !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    const int own = attn_sink_own_descriptor(path);
    struct attn_target target = {0};
    enum attn_status status = own >= 0 ? ATTN_OK : attn_target_find(path, &target, err);

    if (status == ATTN_OK && target.exists && S_ISDIR(target.info.st_mode))
        status =
            attn_error_set(err, ATTN_IO, "cannot write '%s': it is a directory, expected a file",
                           attn_quote_string(path).text);
    if (status == ATTN_OK)
        status = open_sink(path, &target, own, sink, err);
    attn_target_release(&target);
    return status;
}

enum attn_status attn_sink_create_file_in(const char *directory, const char *name,
                                          struct attn_sink **sink, struct attn_error *err)
{
    if (!attn_is_given(directory, "directory", err) || !attn_is_given(name, "name", err) ||
        !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    struct attn_target target;
    enum attn_status status = attn_target_find_in(directory, name, &target, err);

    if (status != ATTN_OK)
        return status;
    status = open_sink(target.path, &target, -1, sink, err);
    attn_target_release(&target);
    return status;
}

/* --- writing ------------------------------------------------------------------------------ */

/* Waits until a descriptor that was made non-blocking takes bytes again. */
static void wait_writable(int descriptor)
{
    struct pollfd poller = {.fd = descriptor, .events = POLLOUT};

    poll(&poller, 1, -1);
}

/* Hands all of BYTES to the system; OFFSET is where they go in a file. */
static void write_out(struct attn_sink *sink, const char *bytes, size_t size, uint64_t offset)
{
    /* Where blocks are found one page after the other, asking for all of them first takes less. Not
     * all file systems can; what goes wrong the write will tell. */
    if (sink->kind == TEMPORARY && size >= LARGE_WRITE)
        (void)fallocate(sink->descriptor, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
    while (size > 0 && !has_failed(sink)) {
        ssize_t n = sink->kind == TEMPORARY ? pwrite(sink->descriptor, bytes, size, (off_t)offset)
                                            : write(sink->descriptor, bytes, size);

        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
            offset += (uint64_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            wait_writable(sink->descriptor);
        } else if (n == 0 || errno != EINTR) {
            fail_write(sink, n == 0 ? EIO : errno);
        }
    }
}

static void flush(struct attn_sink *sink)
{
    write_out(sink, sink->pending, sink->n_pending, sink->position - sink->n_pending);
    sink->n_pending = 0;
}

/* Puts bytes into a memory sink, which grows; a gap reads as zeros. */
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

/* The largest offset that a file or a block of memory can have. */
static bool fits(struct attn_sink *sink, uint64_t offset, size_t size)
{
    if (offset <= INT64_MAX && size <= INT64_MAX - offset)
        return true;
    fail_write(sink, EFBIG);
    return false;
}

/* Whether there is still something to write to: after its commit a file has no descriptor. */
static bool is_open(struct attn_sink *sink)
{
    if (sink->kind == MEMORY || sink->descriptor >= 0)
        return true;
    attn_error_set(&sink->err, ATTN_INVALID, "'%s' was written to after it was committed",
                   attn_quote_string(sink->name).text);
    return false;
}

void attn_sink_write(struct attn_sink *sink, const void *bytes, size_t size)
{
    if (!sink || size == 0 || has_failed(sink) || !is_open(sink) ||
        !fits(sink, sink->position, size))
        return;
    if (sink->kind == MEMORY) {
        write_memory(sink, sink->position, bytes, size);
    } else {
        if (size > BUFFER_SIZE - sink->n_pending)
            flush(sink);
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

void attn_sink_flush(struct attn_sink *sink)
{
    flush(sink);
}

bool attn_sink_is_seekable(const struct attn_sink *sink)
{
    return sink->kind != STREAM;
}

void attn_sink_write_at(struct attn_sink *sink, uint64_t offset, const void *bytes, size_t size)
{
    assert(attn_sink_is_seekable(sink));
    if (size == 0 || has_failed(sink) || !is_open(sink) || !fits(sink, offset, size))
        return;
    if (sink->kind == MEMORY) {
        write_memory(sink, offset, bytes, size);
        return;
    }
    /* Pending bytes at the same place were written earlier, so they go first. */
    if (offset < sink->position && offset + size > sink->position - sink->n_pending)
        flush(sink);
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
    if (!sink || sink->kind != MEMORY) {
        *size = 0;
        return NULL;
    }
    *size = sink->all.size;
    return sink->all.size > 0 ? sink->all.data : "";
}

/* --- the end ------------------------------------------------------------------------------ */

/* Some file systems report a full device only here. After EINTR Linux has closed it all the
 * same. */
static void close_descriptor(struct attn_sink *sink)
{
    if (sink->descriptor >= 0 && close(sink->descriptor) != 0 && errno != EINTR)
        fail_write(sink, errno);
    sink->descriptor = -1;
}

void attn_sink_sync(struct attn_sink *sink)
{
    sink->is_synced = true;
}

/* Waits until the device has the names in the directory that the first LENGTH bytes of PATH are,
 * and REST after them. */
static enum attn_status sync_names(const char *path, size_t length, const char *rest,
                                   struct attn_error *err)
{
    struct attn_buffer name = {0};
    enum attn_status status;
    int descriptor;

    attn_buffer_append(&name, path, length);
    attn_buffer_append_string(&name, rest);
    if (!attn_buffer_string(&name)) {
        attn_buffer_release(&name);
        return attn_error_no_memory(err);
    }
    descriptor = open(name.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    status = ATTN_OK;
    /* Not all file systems can: EINVAL. */
    if (descriptor < 0 || (fsync(descriptor) != 0 && errno != EINVAL))
        status = attn_error_errno(err, "sync directory", name.data, errno);
    if (descriptor >= 0)
        close(descriptor);
    attn_buffer_release(&name);
    return status;
}

enum attn_status attn_sink_sync_name(const char *path, struct attn_error *err)
{
    const size_t length = attn_path_folder_length(path);

    return sync_names(path, length, length > 0 ? "" : ".", err);
}

enum attn_status attn_sink_sync_parent(const char *directory, struct attn_error *err)
{
    return sync_names(directory, strlen(directory), "/..", err);
}

/* A sync that failed is not tried again: the system may have dropped the bytes, and then says that
 * all is well. */
enum attn_status attn_sink_commit(struct attn_sink *sink, struct attn_error *err)
{
    if (!attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    flush(sink);
    if (sink->is_synced && sink->temporary && !has_failed(sink) && fsync(sink->descriptor) != 0)
        fail_write(sink, errno);
    if (sink->owns_descriptor)
        close_descriptor(sink);
    if (sink->temporary && !has_failed(sink)) {
        if (rename(sink->temporary, sink->target) != 0) {
            fail_write(sink, errno);
        } else {
            drop_temporary(sink);
            if (sink->is_synced)
                (void)attn_sink_sync_name(sink->target, &sink->err); /* which sticks */
        }
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
        unlink(sink->temporary);
    drop_temporary(sink);
    attn_buffer_release(&sink->all);
    attn_free(sink->pending);
    attn_free(sink->target);
    attn_free(sink->name);
    attn_free(sink);
}
