/* system_macos.c - the part of system.h and os.h that macOS alone has, and what libc_macos.h
 * declares; system_posix.c has the rest. */
#include "base/os/system.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysctl.h>
#include <unistd.h>

/* --- Waiting --------------------------------------------------------------------------------- */

/* The system calls below os_sync_wait_on_address, which only macOS 14.4 has. The C++ library waits
 * by them, so they stay. */
int __ulock_wait(uint32_t operation, void *word, uint64_t value, uint32_t microseconds);
int __ulock_wake(uint32_t operation, void *word, uint64_t value);

enum { COMPARE_AND_WAIT = 1, WAKE_ALL = 0x100 };

void attn_wait_while(atomic_uint *word, unsigned value)
{
    (void)__ulock_wait(COMPARE_AND_WAIT, word, value, 0);
}

void attn_wake(atomic_uint *word, int n)
{
    (void)__ulock_wake(COMPARE_AND_WAIT | (n > 1 ? WAKE_ALL : 0), word, 0);
}

/* --- Cores ----------------------------------------------------------------------------------- */

static bool read_number(const char *name, int64_t *number)
{
    int32_t half = 0;
    size_t size = sizeof *number;

    *number = 0;
    if (sysctlbyname(name, number, &size, NULL, 0) != 0)
        return false;
    if (size == sizeof half) {
        memcpy(&half, number, sizeof half);
        *number = half;
    }
    return true;
}

/* Without the slow cores of Apple's processors, which would make the others wait. */
int attn_core_count(int most)
{
    int64_t n;

    if (!read_number("hw.perflevel0.logicalcpu", &n) && !read_number("hw.logicalcpu", &n))
        n = 1;
    return n < 1 ? 1 : n > most ? most : (int)n;
}

int attn_core_of_caller(void)
{
    return -1;
}

void attn_thread_keep_off(const struct attn_thread *thread, int core, int n_left)
{
    (void)thread, (void)core, (void)n_left;
}

/* --- Memory and code ------------------------------------------------------------------------- */

void attn_advise_large_pages(void *block, size_t size)
{
    (void)block, (void)size;
}

size_t attn_memory_of_machine(void)
{
    int64_t n;

    return read_number("hw.memsize", &n) && n > 0 ? (size_t)n : SIZE_MAX;
}

static bool copy_path(const char *found, char *path, size_t size)
{
    char *real = found ? realpath(found, NULL) : NULL;
    const bool fits = real && strlen(real) < size;

    if (fits)
        memcpy(path, real, strlen(real) + 1);
    free(real);
    return fits;
}

bool attn_path_of_code(char *path, size_t size)
{
    Dl_info info;

    return dladdr((const void *)(uintptr_t)attn_path_of_code, &info) != 0 &&
           copy_path(info.dli_fname, path, size);
}

int _NSGetExecutablePath(char *path, uint32_t *size);

bool attn_path_of_program(char *path, size_t size)
{
    char found[4096];
    uint32_t n = sizeof found;

    return _NSGetExecutablePath(found, &n) == 0 && copy_path(found, path, size);
}

/* --- Descriptors and process ----------------------------------------------------------------- */

void attn_os_reserve(int descriptor, uint64_t offset, uint64_t size)
{
    (void)descriptor, (void)offset, (void)size;
}

int attn_os_open_memory(const char *name, char path[32])
{
    (void)name, (void)path;
    errno = ENOSYS;
    return -1;
}

bool attn_os_random(void *bytes, size_t size)
{
    return getentropy(bytes, size) == 0;
}

const char *attn_os_error_text(int error)
{
    return strerror(error); /* always English: the C library has no other texts */
}
