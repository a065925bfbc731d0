/* os_posix.c - see os.h and system.h: the part of Linux, macOS and WebAssembly, whose C libraries
 * have POSIX. */
#include "base/os/system.h"

#include "base/os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#include <xlocale.h>
#define st_mtim st_mtimespec
#endif
#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

/* --- Files and folders ----------------------------------------------------------------------- */

static enum attn_os_kind kind_of(mode_t mode)
{
    return S_ISREG(mode)    ? ATTN_OS_FILE
           : S_ISLNK(mode)  ? ATTN_OS_LINK
           : S_ISDIR(mode)  ? ATTN_OS_FOLDER
           : S_ISFIFO(mode) ? ATTN_OS_PIPE
           : S_ISSOCK(mode) ? ATTN_OS_SOCKET
                            : ATTN_OS_DEVICE;
}

/* Fills INFO from FOUND, unless STATUS is a failure. Returns STATUS. */
static int describe(int status, const struct stat *found, struct attn_os_info *info)
{
    const mode_t shared = S_ISVTX | S_IWOTH;

    if (status == 0)
        *info = (struct attn_os_info){
            .kind = kind_of(found->st_mode),
            .is_shared = (found->st_mode & shared) == shared,
            .access = found->st_mode & 0777,
            .user = found->st_uid,
            .device = (uint64_t)found->st_dev,
            .number = found->st_ino,
            .size = found->st_size,
            .changed = (int64_t)found->st_mtim.tv_sec * 1000000000 + found->st_mtim.tv_nsec,
        };
    return status;
}

int attn_os_stat(const char *path, struct attn_os_info *info)
{
    struct stat found;

    return describe(stat(path, &found), &found, info);
}

int attn_os_stat_link(const char *path, struct attn_os_info *info)
{
    struct stat found;

    return describe(lstat(path, &found), &found, info);
}

int attn_os_stat_open(int descriptor, struct attn_os_info *info)
{
    struct stat found;

    return describe(fstat(descriptor, &found), &found, info);
}

enum attn_os_kind attn_os_kind(const char *path)
{
    struct attn_os_info info;

    return attn_os_stat(path, &info) == 0 ? info.kind : ATTN_OS_ABSENT;
}

bool attn_os_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool attn_os_may_read(const char *path)
{
    return access(path, R_OK) == 0;
}

bool attn_os_may_write(const char *path)
{
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

bool attn_os_may_have(const char *folder, const char *name)
{
    const int descriptor = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat info;
    const bool is_absent =
        (descriptor < 0 || fstatat(descriptor, name, &info, AT_SYMLINK_NOFOLLOW) != 0) &&
        (errno == ENOENT || errno == ENOTDIR);

    if (descriptor >= 0)
        close(descriptor);
    return !is_absent;
}

int attn_os_list(const char *folder, bool (*on_name)(void *user, const char *name), void *user)
{
    const struct dirent *entry;
    DIR *stream = opendir(folder);

    if (!stream)
        return -1;
    do
        entry = readdir(stream);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                     on_name(user, entry->d_name)));
    closedir(stream);
    return 0;
}

ptrdiff_t attn_os_read_link(const char *path, char *target, size_t size)
{
    return readlink(path, target, size);
}

int attn_os_rename(const char *from, const char *to)
{
    return rename(from, to);
}

int attn_os_remove(const char *path)
{
    return unlink(path);
}

int attn_os_make_folder(const char *path)
{
    return mkdir(path, 0777);
}

int attn_os_remove_folder(const char *path)
{
    return rmdir(path);
}

const char *attn_os_last_slash(const char *path)
{
    return strrchr(path, '/');
}

bool attn_os_is_slash(char c)
{
    return c == '/';
}

bool attn_os_is_absolute(const char *path)
{
    return path[0] == '/';
}

const char *attn_os_between_paths(void)
{
    return ":";
}

/* --- Descriptors ----------------------------------------------------------------------------- */

int attn_os_open(const char *path, unsigned how, unsigned access)
{
    static const int modes[] = {0, O_RDONLY, O_WRONLY, O_RDWR};

    return open(path,
                modes[how & ATTN_OS_READ_WRITE] | O_CLOEXEC | O_NOCTTY |
                    (how & ATTN_OS_NEW ? O_CREAT | O_EXCL : 0) |
                    (how & ATTN_OS_NO_LINK ? O_NOFOLLOW : 0) |
                    (how & ATTN_OS_NO_WAIT ? O_NONBLOCK : 0),
                (mode_t)access);
}

int attn_os_close(int descriptor)
{
    return close(descriptor);
}

ptrdiff_t attn_os_read(int descriptor, void *bytes, size_t size)
{
    return read(descriptor, bytes, size);
}

ptrdiff_t attn_os_write(int descriptor, const void *bytes, size_t size)
{
    return write(descriptor, bytes, size);
}

ptrdiff_t attn_os_read_at(int descriptor, void *bytes, size_t size, uint64_t offset)
{
    return pread(descriptor, bytes, size, (off_t)offset);
}

ptrdiff_t attn_os_write_at(int descriptor, const void *bytes, size_t size, uint64_t offset)
{
    return pwrite(descriptor, bytes, size, (off_t)offset);
}

bool attn_os_wait(int descriptor, bool to_write, int milliseconds)
{
    struct pollfd wanted = {.fd = descriptor, .events = to_write ? POLLOUT : POLLIN};

    return poll(&wanted, 1, milliseconds) > 0;
}

int attn_os_truncate(int descriptor, uint64_t size)
{
    return ftruncate(descriptor, (off_t)size);
}

/* --- Process --------------------------------------------------------------------------------- */

int64_t attn_os_nanoseconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t attn_os_local_time(void)
{
    const time_t now = time(NULL);
    struct tm wall;

    return localtime_r(&now, &wall) ? (int64_t)now + wall.tm_gmtoff : (int64_t)now;
}

bool attn_os_is_terminal(int descriptor)
{
    return isatty(descriptor);
}

bool attn_os_strtod(const char *text, double *number)
{
    const locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    if (!locale)
        return false;
    *number = strtod_l(text, NULL, locale);
    freelocale(locale);
    return true;
}

/* posix_memalign, because aligned_alloc requires a multiple of the alignment, and such padding
 * would hide overruns from AddressSanitizer. */
void *attn_system_alloc(size_t size, size_t alignment)
{
    void *block = NULL;

    return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

void attn_system_free(void *block)
{
    free(block);
}
