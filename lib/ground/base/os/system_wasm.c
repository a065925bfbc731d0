/* system_wasm.c - see system.h, thread.h and wasi.h. There is a single thread, and as no other can
 * be started, waiting functions never wait. */
#include "base/os/system.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Threads --------------------------------------------------------------------------------- */

bool attn_thread_start(void *(*work)(void *user), void *user, struct attn_thread *thread)
{
    (void)work, (void)user, (void)thread;
    return false;
}

void attn_thread_join(struct attn_thread *thread)
{
    (void)thread;
}

struct attn_monitor {
    int n_condition;
};

enum attn_status attn_monitor_create(int n_condition, struct attn_monitor **monitor,
                                     struct attn_error *err)
{
    *monitor = attn_alloc(1, sizeof **monitor, err);
    if (!*monitor)
        return ATTN_NO_MEMORY;
    (*monitor)->n_condition = n_condition;
    return ATTN_OK;
}

void attn_monitor_free(struct attn_monitor *monitor)
{
    attn_free(monitor);
}

void attn_monitor_enter(struct attn_monitor *monitor)
{
    (void)monitor;
}

void attn_monitor_leave(struct attn_monitor *monitor)
{
    (void)monitor;
}

void attn_monitor_wait(struct attn_monitor *monitor, int condition)
{
    (void)monitor, (void)condition;
    abort(); /* no other thread could end the wait */
}

void attn_monitor_wake(struct attn_monitor *monitor, int condition)
{
    (void)monitor, (void)condition;
}

void attn_monitor_wake_one(struct attn_monitor *monitor, int condition)
{
    (void)monitor, (void)condition;
}

void attn_wait_while(atomic_uint *word, unsigned value)
{
    (void)word, (void)value;
}

void attn_wake(atomic_uint *word, int n)
{
    (void)word, (void)n;
}

int attn_core_count(int most)
{
    (void)most;
    return 1;
}

int attn_core_of_caller(void)
{
    return -1;
}

void attn_thread_keep_off(const struct attn_thread *thread, int core, int n_left)
{
    (void)thread, (void)core, (void)n_left;
}

/* --- Files and memory ------------------------------------------------------------------------ */

void *attn_map_file(int descriptor, size_t size)
{
    (void)descriptor, (void)size;
    return NULL;
}

void *attn_map_memory(size_t size)
{
    (void)size;
    return NULL;
}

void attn_unmap(void *data, size_t size)
{
    (void)data, (void)size;
}

void attn_file_drop_pages(const void *data, size_t size)
{
    (void)data, (void)size;
}

bool attn_may_keep_open(int descriptor)
{
    (void)descriptor;
    return true;
}

void attn_advise_large_pages(void *block, size_t size)
{
    (void)block, (void)size;
}

bool attn_path_of_code(char *path, size_t size)
{
    (void)path, (void)size;
    return false;
}

/* A 32-bit address space. */
size_t attn_memory_of_machine(void)
{
    return SIZE_MAX;
}

bool attn_has_address_space(size_t size)
{
    (void)size;
    return true;
}

bool attn_path_of_program(char *path, size_t size)
{
    (void)path, (void)size;
    return false;
}

/* --- Functions that WASI cannot support ------------------------------------------------------ */

static int refuse(void)
{
    errno = ENOSYS;
    return -1;
}

int attn_os_copy(int descriptor)
{
    (void)descriptor;
    return refuse();
}

void attn_os_reserve(int descriptor, uint64_t offset, uint64_t size)
{
    (void)descriptor, (void)offset, (void)size;
}

void attn_os_set_access(int descriptor, unsigned access)
{
    (void)descriptor, (void)access;
}

/* There are no other processes. */
int attn_os_lock(int descriptor)
{
    (void)descriptor;
    return 0;
}

int attn_os_open_memory(const char *name, char path[32])
{
    (void)name, (void)path;
    return refuse();
}

unsigned attn_os_user(void)
{
    return 0;
}

bool attn_os_random(void *bytes, size_t size)
{
    return getentropy(bytes, size) == 0;
}

size_t attn_os_columns(int descriptor)
{
    (void)descriptor;
    return 0;
}

const char *attn_os_error_text(int error)
{
    return strerror(error);
}

/* There are no symbolic links. */
char *realpath(const char *path, char *resolved)
{
    (void)resolved;
    return strdup(path);
}
