/* system_linux.c - see system.h and thread.h, and what os.h declares that Linux alone has. */
#include "base/system.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/path.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- Threads --------------------------------------------------------------------------------- */

enum { MAX_CONDITIONS = 8 };

bool attn_thread_start(void *(*work)(void *user), void *user, struct attn_thread *thread)
{
    static const int own_faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    bool is_started;
    pthread_t id;

    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        sigdelset(&blocked, own_faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    is_started = pthread_create(&id, NULL, work, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started)
        thread->id = (uintptr_t)id;
    return is_started;
}

void attn_thread_join(struct attn_thread *thread)
{
    pthread_join((pthread_t)thread->id, NULL);
}

struct attn_monitor {
    pthread_mutex_t lock;
    int n_condition;
    pthread_cond_t conditions[MAX_CONDITIONS]; /* [n_condition] */
    int n_waiting[MAX_CONDITIONS];             /* for each condition */
};

enum attn_status attn_monitor_create(int n_condition, struct attn_monitor **monitor,
                                     struct attn_error *err)
{
    struct attn_monitor *made = attn_alloc(1, sizeof *made, err);

    assert(n_condition <= MAX_CONDITIONS);
    if (!made)
        return ATTN_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL); /* without attributes it cannot fail */
    for (int i = 0; i < n_condition; i++)
        pthread_cond_init(&made->conditions[i], NULL);
    made->n_condition = n_condition;
    *monitor = made;
    return ATTN_OK;
}

void attn_monitor_free(struct attn_monitor *monitor)
{
    if (!monitor)
        return;
    for (int i = 0; i < monitor->n_condition; i++)
        pthread_cond_destroy(&monitor->conditions[i]);
    pthread_mutex_destroy(&monitor->lock);
    attn_free(monitor);
}

void attn_monitor_enter(struct attn_monitor *monitor)
{
    pthread_mutex_lock(&monitor->lock);
}

void attn_monitor_leave(struct attn_monitor *monitor)
{
    pthread_mutex_unlock(&monitor->lock);
}

void attn_monitor_wait(struct attn_monitor *monitor, int condition)
{
    monitor->n_waiting[condition]++;
    pthread_cond_wait(&monitor->conditions[condition], &monitor->lock);
    monitor->n_waiting[condition]--;
}

void attn_monitor_wake(struct attn_monitor *monitor, int condition)
{
    if (monitor->n_waiting[condition] > 0)
        pthread_cond_broadcast(&monitor->conditions[condition]);
}

void attn_monitor_wake_one(struct attn_monitor *monitor, int condition)
{
    if (monitor->n_waiting[condition] > 0)
        pthread_cond_signal(&monitor->conditions[condition]);
}

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

/* --- Files and memory ------------------------------------------------------------------------ */

void *attn_map_file(int descriptor, size_t size)
{
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);

    return data == MAP_FAILED ? NULL : data;
}

void *attn_map_memory(size_t size)
{
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return data == MAP_FAILED ? NULL : data;
}

void attn_unmap(void *data, size_t size)
{
    munmap(data, size);
}

void attn_file_drop_pages(const void *data, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)data / page * page;

    /* Only advice: if the system refuses, the memory stays. */
    (void)madvise((void *)first, (uintptr_t)data + size - first, MADV_DONTNEED);
}

bool attn_may_keep_open(int descriptor)
{
    return descriptor < sysconf(_SC_OPEN_MAX) / 2;
}

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

/* Inaccessible pages use no memory, but count for `ulimit -v`. */
bool attn_has_address_space(size_t size)
{
    void *space = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (space == MAP_FAILED)
        return false;
    munmap(space, size);
    return true;
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

int attn_os_copy(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

void attn_os_reserve(int descriptor, uint64_t offset, uint64_t size)
{
    (void)fallocate(descriptor, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
}

void attn_os_set_access(int descriptor, unsigned access)
{
    (void)fchmod(descriptor, (mode_t)access);
}

int attn_os_lock(int descriptor)
{
    return flock(descriptor, LOCK_EX | LOCK_NB);
}

int attn_os_open_memory(const char *name, char path[32])
{
    const int descriptor = memfd_create(name, MFD_CLOEXEC);

    snprintf(path, 32, "/proc/self/fd/%d", descriptor);
    return descriptor;
}

unsigned attn_os_user(void)
{
    return geteuid();
}

bool attn_os_random(void *bytes, size_t size)
{
    return getrandom(bytes, size, 0) == (ssize_t)size;
}

size_t attn_os_columns(int descriptor)
{
    struct winsize size;

    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

const char *attn_os_error_text(int error)
{
    return strerror_l(error, newlocale(LC_ALL_MASK, "C", (locale_t)0)); /* allocates no memory */
}
