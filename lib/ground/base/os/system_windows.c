/* system_windows.c - see system.h and thread.h. */
#include "base/os/system.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/libc_windows.h"

#include <assert.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* --- Threads --------------------------------------------------------------------------------- */

enum { MAX_CONDITIONS = 8, STACK = 8 << 20 };

/* What a thread is to do; it frees this. */
struct work {
    void *(*work)(void *user);
    void *user;
};

static DWORD WINAPI begin(void *given)
{
    const struct work work = *(struct work *)given;

    free(given);
    work.work(work.user);
    return 0;
}

bool attn_thread_start(void *(*work)(void *user), void *user, struct attn_thread *thread)
{
    struct work *given = malloc(sizeof *given);
    HANDLE handle;

    if (!given)
        return false;
    *given = (struct work){work, user};
    handle = CreateThread(NULL, STACK, begin, given, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (!handle)
        free(given);
    thread->id = (uintptr_t)handle;
    return handle != NULL;
}

void attn_thread_join(struct attn_thread *thread)
{
    WaitForSingleObject((HANDLE)thread->id, INFINITE);
    CloseHandle((HANDLE)thread->id);
}

struct attn_monitor {
    SRWLOCK lock;
    int n_condition;
    CONDITION_VARIABLE conditions[MAX_CONDITIONS]; /* [n_condition] */
};

enum attn_status attn_monitor_create(int n_condition, struct attn_monitor **monitor,
                                     struct attn_error *err)
{
    struct attn_monitor *made = attn_alloc(1, sizeof *made, err);

    assert(n_condition <= MAX_CONDITIONS);
    if (!made)
        return ATTN_NO_MEMORY;
    InitializeSRWLock(&made->lock);
    for (int i = 0; i < n_condition; i++)
        InitializeConditionVariable(&made->conditions[i]);
    made->n_condition = n_condition;
    *monitor = made;
    return ATTN_OK;
}

void attn_monitor_free(struct attn_monitor *monitor)
{
    attn_free(monitor);
}

void attn_monitor_enter(struct attn_monitor *monitor)
{
    AcquireSRWLockExclusive(&monitor->lock);
}

void attn_monitor_leave(struct attn_monitor *monitor)
{
    ReleaseSRWLockExclusive(&monitor->lock);
}

void attn_monitor_wait(struct attn_monitor *monitor, int condition)
{
    SleepConditionVariableSRW(&monitor->conditions[condition], &monitor->lock, INFINITE, 0);
}

void attn_monitor_wake(struct attn_monitor *monitor, int condition)
{
    WakeAllConditionVariable(&monitor->conditions[condition]);
}

void attn_monitor_wake_one(struct attn_monitor *monitor, int condition)
{
    WakeConditionVariable(&monitor->conditions[condition]);
}

void attn_wait_while(atomic_uint *word, unsigned value)
{
    WaitOnAddress((volatile void *)word, &value, sizeof value, INFINITE);
}

void attn_wake(atomic_uint *word, int n)
{
    if (n > 1)
        WakeByAddressAll((void *)word);
    else
        WakeByAddressSingle((void *)word);
}

/* --- Cores ----------------------------------------------------------------------------------- */

int attn_core_count(int most)
{
    DWORD_PTR own, all;
    int n = 0;

    if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all))
        n = __builtin_popcountll(own);
    if (n == 0) /* threads in several groups of processors */
        n = (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return n < 1 ? 1 : n > most ? most : n;
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
    HANDLE map =
        CreateFileMappingW((HANDLE)_get_osfhandle(descriptor), NULL, PAGE_READONLY, 0, 0, NULL);
    void *data = map ? MapViewOfFile(map, FILE_MAP_READ, 0, 0, size) : NULL;

    if (map)
        CloseHandle(map); /* the view keeps it */
    return data;
}

void *attn_map_memory(size_t size)
{
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void attn_unmap(void *data, size_t size)
{
    (void)size;
    if (!UnmapViewOfFile(data))
        VirtualFree(data, 0, MEM_RELEASE);
}

void attn_file_drop_pages(const void *data, size_t size)
{
    (void)data, (void)size;
}

/* The C library has room for 8192. */
bool attn_may_keep_open(int descriptor)
{
    return descriptor < 4096;
}

void attn_advise_large_pages(void *block, size_t size)
{
    (void)block, (void)size;
}

void *attn_system_alloc(size_t size, size_t alignment)
{
    return _aligned_malloc(size, alignment);
}

void attn_system_free(void *block)
{
    _aligned_free(block);
}

size_t attn_memory_of_machine(void)
{
    MEMORYSTATUSEX status = {.dwLength = sizeof status};

    return GlobalMemoryStatusEx(&status) ? (size_t)status.ullTotalPhys : SIZE_MAX;
}

bool attn_has_address_space(size_t size)
{
    void *space = VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS);

    if (space)
        VirtualFree(space, 0, MEM_RELEASE);
    return space != NULL;
}

/* Writes the path of MODULE, NULL for the program, with /. */
static bool find_path(HMODULE module, char *path, size_t size)
{
    wchar_t place[32768];
    char *text = NULL;
    bool fits;
    const DWORD n = GetModuleFileNameW(module, place, 32768);

    if (n > 0 && n < 32768)
        text = attn_windows_narrow(place);
    fits = text && strlen(text) < size;
    for (size_t i = 0; fits && i <= strlen(text); i++)
        path[i] = text[i] == '\\' ? '/' : text[i];
    free(text);
    return fits;
}

bool attn_path_of_code(char *path, size_t size)
{
    HMODULE module;

    return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                              (LPCWSTR)(uintptr_t)attn_path_of_code, &module) &&
           find_path(module, path, size);
}

bool attn_path_of_program(char *path, size_t size)
{
    return find_path(NULL, path, size);
}
