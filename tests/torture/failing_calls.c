/*
 * failing_calls.c - a library for LD_PRELOAD: calls of the C library that a process makes fail,
 * also those that cJSON and libxsmm make, which the library's own door does not see; or succeed and
 * give memory that holds something.
 *
 *     FAIL='memory 17'    allocation 17 fails, counted from 0; 'memory 17+': all from it on
 *     FAIL='threads 0+'   no thread can be started
 *     FAIL='short'        reads and writes move at most 7 bytes
 *     FAIL='executable'   no memory can be made executable, as under a hardened kernel
 *     FAIL='clock 300'    a second of the monotonic clock is 300
 *     FAIL='fill 255'     nothing fails; each byte of new memory is 255, but for calloc
 *     FAIL_COUNT=FILE     how many allocations and threads were asked for
 */
#include "tests/support/sealed_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 7 };

/* glibc's own, so that finding them needs no memory */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* Calls first .. last of a kind fail. */
struct failing {
    long first, last;
    atomic_long n;
};

static struct failing memory = {-1, -1, 0}, threads = {-1, -1, 0};
static bool is_short;
static long speed = 1; /* of the clock */
static int fill = -1;  /* what each byte of new memory is; below 0: whatever it was */

static bool fails(struct failing *failing)
{
    long n = atomic_fetch_add(&failing->n, 1);

    return n >= failing->first && n <= failing->last;
}

static bool read_numbers(const char *text, const char *kind, struct failing *failing)
{
    size_t size = strlen(kind);
    char *end;

    if (strncmp(text, kind, size) != 0)
        return false;
    failing->first = strtol(text + size, &end, 10);
    failing->last = *end == '+' ? (long)(~0UL >> 1) : failing->first;
    return true;
}

__attribute__((constructor)) static void begin(void)
{
    const char *what = getenv("FAIL");

    if (!what || read_numbers(what, "memory ", &memory) || read_numbers(what, "threads ", &threads))
        return;
    if (strcmp(what, "short") == 0)
        is_short = true;
    else if (strncmp(what, "fill ", 5) == 0)
        fill = (int)strtol(what + 5, NULL, 10);
    else if (strncmp(what, "clock ", 6) == 0)
        speed = strtol(what + 6, NULL, 10);
    else if (strcmp(what, "executable") != 0 || !attn_seal_memory())
        _exit(99);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAIL_COUNT");
    FILE *file;

    memory.last = -1;
    file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld %ld\n", memory.n, threads.n);
        fclose(file);
    }
}

/* --- the clock ------------------------------------------------------------------------------ */

int clock_gettime(clockid_t clock, struct timespec *time)
{
    const long status = syscall(SYS_clock_gettime, clock, time);

    if (status == 0 && clock == CLOCK_MONOTONIC && speed > 1) {
        const long long all = (time->tv_sec * 1000000000LL + time->tv_nsec) * speed;

        time->tv_sec = (time_t)(all / 1000000000LL);
        time->tv_nsec = (long)(all % 1000000000LL);
    }
    return (int)status;
}

/* --- memory --------------------------------------------------------------------------------- */

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

/* BLOCK, whose first N_OLD bytes are kept. All that it holds is filled, also what was not asked
 * for: realloc may hand that out later. */
static void *filled(void *block, size_t n_old)
{
    const size_t size = block && fill >= 0 ? malloc_usable_size(block) : 0;

    if (size > n_old)
        memset((char *)block + n_old, fill, size - n_old);
    return block;
}

void *malloc(size_t size)
{
    return fails(&memory) ? no_memory() : filled(__libc_malloc(size), 0);
}

void *calloc(size_t count, size_t size)
{
    return fails(&memory) ? no_memory() : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    const size_t n_old = block && fill >= 0 ? malloc_usable_size(block) : 0;

    return fails(&memory) ? no_memory() : filled(__libc_realloc(block, size), n_old);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *found = fails(&memory) ? NULL : __libc_memalign(alignment, size);

    if (!found)
        return ENOMEM;
    *block = filled(found, 0);
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(&memory) ? no_memory() : filled(__libc_memalign(alignment, size), 0);
}

/* --- threads, bytes ------------------------------------------------------------------------- */

/* ISO C has no conversion from a pointer to data. */
static void find_next(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);

    memcpy(function, &found, sizeof found);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (fails(&threads))
        return EAGAIN;
    find_next("pthread_create", &next);
    return next(thread, attributes, start, argument);
}

static size_t shorten(size_t size)
{
    return is_short && size > AT_ONCE ? AT_ONCE : size;
}

ssize_t read(int descriptor, void *bytes, size_t size)
{
    return syscall(SYS_read, descriptor, bytes, shorten(size));
}

ssize_t write(int descriptor, const void *bytes, size_t size)
{
    return syscall(SYS_write, descriptor, bytes, shorten(size));
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset)
{
    return syscall(SYS_pwrite64, descriptor, bytes, shorten(size), offset);
}
