/* system_posix.c - the part of system.h, thread.h and os.h that Linux and macOS share. */
#include "base/os/system.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* Inaccessible pages use no memory, but count for `ulimit -v`. */
bool attn_has_address_space(size_t size)
{
    void *space = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (space == MAP_FAILED)
        return false;
    munmap(space, size);
    return true;
}

/* --- Descriptors and process ----------------------------------------------------------------- */

int attn_os_copy(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

void attn_os_set_access(int descriptor, unsigned access)
{
    (void)fchmod(descriptor, (mode_t)access);
}

int attn_os_lock(int descriptor)
{
    return flock(descriptor, LOCK_EX | LOCK_NB);
}

unsigned attn_os_user(void)
{
    return geteuid();
}

size_t attn_os_columns(int descriptor)
{
    struct winsize size;

    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
