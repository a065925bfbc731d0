/* system_linux.c - the part of system.h and os.h that Linux alone has; system_posix.c has the rest.
 */
#include "base/os/system.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/text/path.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- Waiting --------------------------------------------------------------------------------- */

void attn_wait_while(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void attn_wake(atomic_uint *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

/* --- Cores ----------------------------------------------------------------------------------- */

int attn_core_count(int most)
{
    cpu_set_t set;
    long n;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    n = sysconf(_SC_NPROCESSORS_ONLN); /* for more cores than a cpu_set_t can hold */
    return n < 1 ? 1 : n > most ? most : (int)n;
}

int attn_core_of_caller(void)
{
    return sched_getcpu();
}

void attn_thread_keep_off(const struct attn_thread *thread, int core, int n_left)
{
    cpu_set_t cores;

    if (core >= CPU_SETSIZE || sched_getaffinity(0, sizeof cores, &cores) != 0)
        return;
    if (core >= 0)
        CPU_CLR(core, &cores);
    if (CPU_COUNT(&cores) >= n_left)
        (void)pthread_setaffinity_np((pthread_t)thread->id, sizeof cores, &cores);
}

/* --- Memory and code ------------------------------------------------------------------------- */

void attn_advise_large_pages(void *block, size_t size)
{
    (void)madvise(block, size, MADV_HUGEPAGE);
}

size_t attn_memory_of_machine(void)
{
    const long n_page = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t n_byte;

    return n_page > 0 && page > 0 && attn_checked_mul((size_t)n_page, (size_t)page, &n_byte)
               ? n_byte
               : SIZE_MAX;
}

/* Reads the kernel's list of maps, which also works in programs without a dynamic linker. */
bool attn_path_of_code(char *path, size_t size)
{
    const uintptr_t code = (uintptr_t)attn_path_of_code;
    char line[ATTN_PATH_SIZE + 128]; /* addresses, permissions, inode and path */
    FILE *maps = fopen("/proc/self/maps", "re");
    bool is_found = false;

    while (maps && !is_found && fgets(line, sizeof line, maps)) {
        char *rest;
        const uintptr_t first = strtoul(line, &rest, 16);
        const uintptr_t end = *rest == '-' ? strtoul(rest + 1, &rest, 16) : 0;
        const char *name = strchr(rest, '/');

        if (code >= first && code < end && name)
            is_found = (size_t)snprintf(path, size, "%.*s", (int)strcspn(name, "\n"), name) < size;
    }
    if (maps)
        fclose(maps);
    return is_found;
}

bool attn_path_of_program(char *path, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", path, size);

    if (n <= 0 || (size_t)n == size)
        return false;
    path[n] = '\0';
    return true;
}

/* --- Descriptors and process ----------------------------------------------------------------- */

void attn_os_reserve(int descriptor, uint64_t offset, uint64_t size)
{
    (void)fallocate(descriptor, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
}

int attn_os_open_memory(const char *name, char path[32])
{
    const int descriptor = memfd_create(name, MFD_CLOEXEC);

    snprintf(path, 32, "/proc/self/fd/%d", descriptor);
    return descriptor;
}

bool attn_os_random(void *bytes, size_t size)
{
    return getrandom(bytes, size, 0) == (ssize_t)size;
}

const char *attn_os_error_text(int error)
{
    return strerror_l(error, newlocale(LC_ALL_MASK, "C", (locale_t)0)); /* allocates no memory */
}
