/*
 * system.h - functions that differ by operating system, in addition to thread.h: how threads wait,
 * the cores that they run on, maps of files, large pages, and the file that this code is in.
 *
 * system_linux.c does it on Linux, system_wasm.c in a WebAssembly module, which has one thread and
 * maps no files. Nothing else in the library asks which system it is built for.
 */
#ifndef ATTN_BASE_SYSTEM_H
#define ATTN_BASE_SYSTEM_H

#include "base/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Sleeps while *WORD is VALUE; may return early. */
void attn_wait_while(atomic_uint *word, unsigned value);

/* Wakes at most N threads that wait for WORD to change. */
void attn_wake(atomic_uint *word, int n);

/* The cores that this process may run on, 1..MOST. */
int attn_core_count(int most);

/* The core that the calling thread runs on; -1 if unknown. */
int attn_core_of_caller(void);

/* Has THREAD run on the caller's cores without CORE, where at least N_LEFT remain. For speed only:
 * the system may refuse. */
void attn_thread_keep_off(const struct attn_thread *thread, int core, int n_left);

/* Maps SIZE bytes of DESCRIPTOR, above 0, to be read; NULL where that is refused. */
void *attn_map_file(int descriptor, size_t size);
void attn_unmap_file(void *data, size_t size);

/* Whether DESCRIPTOR may stay open. A model may have more files than a process may have open: half
 * of these are left to others. */
bool attn_may_keep_open(int descriptor);

/* Requests large pages for SIZE bytes at BLOCK; ignored where they are not available. */
void attn_advise_large_pages(void *block, size_t size);

/* The absolute path, [size], of the file that this library is in: a shared library, or the program
 * that it is linked into. False if unknown. */
bool attn_path_of_code(char *path, size_t size);

#endif
