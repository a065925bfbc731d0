/*
 * system.h - functions that depend on the operating system, in addition to thread.h: waiting,
 * cores, mapped files, large pages, and the path of this code.
 *
 * system_linux.c serves Linux, system_wasm.c a WebAssembly module, which has one thread and maps no
 * files. The rest of the library has no system-specific code.
 */
#pragma once

#include "base/os/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Sleeps while *WORD equals VALUE; may return early. */
void attn_wait_while(atomic_uint *word, unsigned value);

/* Wakes at most N threads that wait for WORD to change. */
void attn_wake(atomic_uint *word, int n);

/* Returns the number of cores that this process may run on, 1..MOST. */
int attn_core_count(int most);

/* Returns the core of the calling thread; -1 if unknown. */
int attn_core_of_caller(void);

/* Lets THREAD run on the caller's cores except CORE, or on all of them if CORE is -1; changes
 * nothing if fewer than N_LEFT remain. Only an optimization; the system may refuse. */
void attn_thread_keep_off(const struct attn_thread *thread, int core, int n_left);

/* Maps SIZE > 0 bytes of DESCRIPTOR for reading; NULL on failure. */
void *attn_map_file(int descriptor, size_t size);

/* Allocates SIZE > 0 zeroed bytes whose pages are provided when they are first touched; NULL on
 * failure. */
void *attn_map_memory(size_t size);

void attn_unmap(void *data, size_t size); /* unmaps memory of either function */

/* Allocates SIZE > 0 bytes; NULL on failure. ALIGNMENT is a power of two. */
void *attn_system_alloc(size_t size, size_t alignment);
void attn_system_free(void *block); /* NULL is allowed */

/* Returns true if DESCRIPTOR may stay open. A model may have more files than a process may have
 * open, so half of the descriptors are left for other uses. */
bool attn_may_keep_open(int descriptor);

/* Requests large pages for SIZE bytes at BLOCK, if the system has them. */
void attn_advise_large_pages(void *block, size_t size);

/* Writes the absolute path of the file with this code, a shared library or the program that it is
 * linked into, to PATH [size]. Returns false if it is unknown. */
bool attn_path_of_code(char *path, size_t size);

/* As attn_path_of_code, for the program that runs. */
bool attn_path_of_program(char *path, size_t size);
