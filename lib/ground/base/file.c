#include "base/file.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/os/system.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/path.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { READ_STEP = 64 * 1024 };

struct loading {
    enum attn_load load;
    size_t max; /* bytes */
    /* the file was found in a folder, not named by the user, so it must be a regular file */
    bool is_found;
    bool is_held; /* a regular file is only opened; it is read later */
};

/* Sets the error that FILE is too large, with SIZE bytes. AT_LEAST is "at least " if reading
 * stopped early, otherwise "". */
static enum attn_status refuse_size(const struct attn_file *file, const char *at_least, size_t size,
                                    size_t max, struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT, "'%s' has %s%zu bytes, expected at most %zu",
                          attn_quote_string(file->path).text, at_least, size, max);
}

/* Reads DESCRIPTOR to its end into file->data. EXPECTED is the likely size. */
static enum attn_status read_all(int descriptor, size_t expected, size_t max,
                                 struct attn_file *file, struct attn_error *err)
{
    size_t size = 0, capacity = expected + 1; /* one byte more, to detect the end */
    unsigned char *data;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(ATTN_NEW(data, attn_alloc_large(capacity, 1, err)));
    for (;;) {
        ptrdiff_t n;

        if (size == capacity)
            status = attn_grow(&data, &capacity, capacity + READ_STEP, 1, err);
        if (status != ATTN_OK)
            goto fail;
        /* pread for a held file, because a forked process shares the file position. */
        n = file->storage == ATTN_FILE_HELD
                ? attn_os_read_at(descriptor, data + size, capacity - size, size)
                : attn_os_read(descriptor, data + size, capacity - size);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR) {
            status = attn_error_errno(err, "read", file->path, errno);
            goto fail;
        }
        size += n > 0 ? (size_t)n : 0;
        if (size > max) {
            status = refuse_size(file, "at least ", size, max, err);
            goto fail;
        }
    }
    file->data = data;
    file->size = size;
    file->storage = ATTN_FILE_ALLOCATED;
    return ATTN_OK;

fail:
    attn_free(data);
    return status;
}

/* Maps, reads or holds DESCRIPTOR. If the file keeps it, file->descriptor is not -1. */
static enum attn_status load_descriptor(int descriptor, struct loading loading,
                                        struct attn_file *file, struct attn_error *err)
{
    struct attn_os_info info;
    size_t size;

    if (attn_os_stat_open(descriptor, &info) != 0)
        return attn_error_errno(err, "read", file->path, errno);
    if (info.kind == ATTN_OS_FOLDER || info.kind == ATTN_OS_DEVICE ||
        (loading.is_found && info.kind != ATTN_OS_FILE)) /* /dev/zero, for example, has no end */
        return attn_error_set(err, ATTN_IO, "'%s' is %s, expected a file",
                              attn_quote_string(file->path).text, attn_path_kind_text(info.kind));

    /* Files in /proc report a size of 0 although they have bytes, so only a size above 0 is
     * trusted. */
    size = info.kind == ATTN_OS_FILE ? (size_t)info.size : 0;
    if (size > loading.max)
        return refuse_size(file, "", size, loading.max, err);
    if (loading.is_held && info.kind == ATTN_OS_FILE && attn_may_keep_open(descriptor)) {
        file->data = (const unsigned char *)"";
        file->storage = ATTN_FILE_HELD;
        file->descriptor = descriptor;
        file->max = loading.max;
        return ATTN_OK;
    }
    if (loading.load == ATTN_MAP && size > 0) {
        void *data = attn_map_file(descriptor, size);

        if (data) {
            file->data = data;
            file->size = size;
            file->storage = ATTN_FILE_MAPPED;
            file->descriptor = attn_may_keep_open(descriptor) ? descriptor : -1;
            return ATTN_OK;
        }
    }
    /* A file that cannot be mapped may still be readable. */
    return read_all(descriptor, size, loading.max, file, err);
}

static enum attn_status open_path(const char *path, struct loading loading, struct attn_file *file,
                                  struct attn_error *err)
{
    /* Opening a FIFO that the user named waits for its other end, and is not interrupted by
     * signals. */
    const unsigned how = ATTN_OS_READ | (loading.is_found ? ATTN_OS_NO_WAIT : 0);
    struct attn_file opened = {.descriptor = -1};
    enum attn_status status;
    int descriptor;

    ATTN_TRY(ATTN_NEW(opened.path, attn_strndup(path, strlen(path), err)));
    do
        descriptor = attn_os_open(path, how, 0);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) {
        status = attn_error_errno(err, "open", path, errno);
        goto fail;
    }
    status = load_descriptor(descriptor, loading, &opened, err);
    if (opened.descriptor < 0)
        attn_os_close(descriptor);
    if (status != ATTN_OK)
        goto fail;
    *file = opened;
    return ATTN_OK;

fail:
    attn_free(opened.path);
    return status;
}

enum attn_status attn_file_open(const char *path, enum attn_load load, struct attn_file *file,
                                struct attn_error *err)
{
    return open_path(path, (struct loading){load, SIZE_MAX, false, false}, file, err);
}

enum attn_status attn_file_open_regular(const char *path, enum attn_load load,
                                        struct attn_file *file, struct attn_error *err)
{
    return open_path(path, (struct loading){load, SIZE_MAX, true, false}, file, err);
}

enum attn_status attn_file_read_regular(const char *path, size_t max, struct attn_file *file,
                                        struct attn_error *err)
{
    return open_path(path, (struct loading){ATTN_READ, max, true, false}, file, err);
}

const char *attn_source_override(const struct attn_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_override; i++)
        if (strcmp(source->overrides[i].name, name) == 0)
            return source->overrides[i].path;
    return NULL;
}

const struct attn_blob *attn_source_blob(const struct attn_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_blob; i++)
        if (strcmp(source->blobs[i].name, name) == 0)
            return &source->blobs[i];
    return NULL;
}

enum attn_status attn_file_check_kind(const struct attn_file *file, bool is_text,
                                      struct attn_error *err)
{
    static const char pointer[] = "version https://git-lfs", blank[] = " \t\r\n\xef\xbb\xbf";
    const char *data = (const char *)file->data;
    size_t i = 0;

    if (file->size >= strlen(pointer) && memcmp(data, pointer, strlen(pointer)) == 0) {
        attn_error_set(err, ATTN_FORMAT, "'%s' is a Git LFS pointer, not the file itself",
                       attn_quote_string(file->path).text);
        attn_error_hint(err, "git lfs pull, in the directory that was cloned, fetches the file");
        return ATTN_FORMAT;
    }
    while (i < file->size && i < READ_STEP && data[i] != '\0' && strchr(blank, data[i]))
        i++;
    /* The size of a header, which safetensors begin with, has a byte of 0. */
    if (is_text || i == file->size || data[i] != '<' ||
        memchr(data, '\0', file->size < 8 ? file->size : 8))
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT, "'%s' is a page of HTML (a failed download)",
                          attn_quote_string(file->path).text);
}

/* Whether part NAME may begin with '<', as a vocabulary of <s>. */
static bool may_begin_so(const char *name)
{
    static const char *const ends[] = {".json", ".safetensors", ".gguf"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strlen(name) > strlen(ends[i]) &&
            strcmp(name + strlen(name) - strlen(ends[i]), ends[i]) == 0)
            return false;
    return true;
}

static enum attn_status find_part(const struct attn_source *source, const char *name,
                                  struct loading loading, struct attn_file *file,
                                  struct attn_error *err)
{
    const char *override = attn_source_override(source, name);
    const struct attn_blob *blob = attn_source_blob(source, name);
    const char *model = source->name ? source->name : "built-in";
    const char *directory = source->directory ? source->directory : model;
    const size_t length = strlen(directory);
    struct attn_buffer buffer = {0};
    enum attn_status status;
    char *path;

    if (override) {
        loading.is_found = false;
        return open_path(override, loading, file, err);
    }
    attn_buffer_append_format(&buffer, "%s%s%s", directory,
                              length > 0 && attn_os_is_slash(directory[length - 1]) ? "" : "/",
                              name);
    ATTN_TRY(ATTN_NEW(path, attn_buffer_take(&buffer, err)));
    if (blob) {
        *file = (struct attn_file){
            .data = blob->size > 0 ? blob->data : "",
            .size = blob->size,
            .storage = ATTN_FILE_BORROWED,
            .path = path,
        };
        return ATTN_OK;
    }
    if (source->directory)
        status = open_path(path, loading, file, err);
    else
        status = attn_error_errno(err, "open", path, ENOENT);
    attn_free(path);
    return status;
}

static enum attn_status open_part(const struct attn_source *source, const char *name,
                                  struct loading loading, struct attn_file *file,
                                  struct attn_error *err)
{
    struct attn_file found = {0};
    enum attn_status status = find_part(source, name, loading, &found, err);

    if (status == ATTN_OK && found.storage != ATTN_FILE_HELD)
        status = attn_file_check_kind(&found, may_begin_so(name), err);
    ATTN_RETURN_FILLED(status, file, found, attn_file_release);
}

enum attn_status attn_file_open_part(const struct attn_source *source, const char *name,
                                     enum attn_load load, struct attn_file *file,
                                     struct attn_error *err)
{
    return open_part(source, name, (struct loading){load, SIZE_MAX, true, false}, file, err);
}

/* Returns the maximum size of part NAME. */
static size_t bound_of(const char *name)
{
    static const struct {
        const char *name;
        size_t max;
    } bounds[] = {
#define BOUND(part, max) {part, max},
        ATTN_TEXT_BOUND_MAP(BOUND)
#undef BOUND
    };

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (strcmp(bounds[i].name, name) == 0)
            return bounds[i].max;
    return ATTN_TEXT_MAX;
}

enum attn_status attn_file_read_part(const struct attn_source *source, const char *name,
                                     struct attn_file *file, struct attn_error *err)
{
    return open_part(source, name, (struct loading){ATTN_READ, bound_of(name), true, false}, file,
                     err);
}

enum attn_status attn_file_hold_part(const struct attn_source *source, const char *name,
                                     struct attn_file *file, struct attn_error *err)
{
    return open_part(source, name, (struct loading){ATTN_READ, bound_of(name), true, true}, file,
                     err);
}

enum attn_status attn_file_read_held(struct attn_file *file, struct attn_error *err)
{
    const int descriptor = file->descriptor;
    struct attn_os_info info;
    enum attn_status status;

    if (file->storage != ATTN_FILE_HELD)
        return ATTN_OK;
    if (attn_os_stat_open(descriptor, &info) != 0)
        return attn_error_errno(err, "read", file->path, errno);
    if ((size_t)info.size > file->max)
        return refuse_size(file, "", (size_t)info.size, file->max, err);
    status = read_all(descriptor, (size_t)info.size, file->max, file, err);
    if (status == ATTN_OK)
        attn_os_close(descriptor);
    return status == ATTN_OK ? attn_file_check_kind(file, true, err) : status;
}

/* A part with an override counts as existing whatever its path is, and so does a dangling link:
 * opening it reports the reason. Allocates no memory, because failure could not be reported. */
bool attn_source_has_part(const struct attn_source *source, const char *name)
{
    if (attn_source_override(source, name) || attn_source_blob(source, name))
        return true;
    return source->directory && attn_os_may_have(source->directory, name);
}

bool attn_file_read_again(const struct attn_file *file, const void *data, size_t size, void *copy)
{
    const size_t offset = (uintptr_t)data - (uintptr_t)file->data;
    size_t done = 0;

    if (file->storage != ATTN_FILE_MAPPED || file->descriptor < 0 || offset > file->size ||
        size > file->size - offset)
        return false;
    while (done < size) {
        const ptrdiff_t n =
            attn_os_read_at(file->descriptor, (char *)copy + done, size - done, offset + done);

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

void attn_file_release(struct attn_file *file)
{
    /* The memory is ours; data is const for readers only. */
    void *data = (void *)(uintptr_t)file->data;

    if (file->storage == ATTN_FILE_MAPPED) {
        attn_unmap(data, file->size);
        if (file->descriptor >= 0)
            attn_os_close(file->descriptor);
    } else if (file->storage == ATTN_FILE_ALLOCATED) {
        attn_free(data);
    } else if (file->storage == ATTN_FILE_HELD) {
        attn_os_close(file->descriptor);
    }
    attn_free(file->path);
    *file = (struct attn_file){0};
}
