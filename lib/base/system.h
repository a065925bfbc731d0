/*
 * system.h - functions that differ by operating system, in addition to thread.h: waiting, cores,
 * maps of files, large pages, and the path of this code.
 *
 * system_linux.c serves Linux, system_wasm.c a WebAssembly module, which has one thread and maps no
 * files. The rest of the library does not test for the system.
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

/* Keeps THREAD off CORE, if at least N_LEFT of the caller's remain. For speed; it may be
 * refused. */
void attn_thread_keep_off(const struct attn_thread *thread, int core, int n_left);

/* Maps SIZE bytes of DESCRIPTOR, above 0, to be read; NULL where that is refused. */
void *attn_map_file(int descriptor, size_t size);

/* SIZE bytes of zeros, above 0, whose pages are taken when they are first touched; NULL where that
 * is refused. */
void *attn_map_memory(size_t size);

void attn_unmap(void *data, size_t size); /* of either */

/* Whether DESCRIPTOR may stay open. A model may have more files than a process may have open: half
 * of these are left to others. */
bool attn_may_keep_open(int descriptor);

/* Requests large pages for SIZE bytes at BLOCK; ignored where they are not available. */
void attn_advise_large_pages(void *block, size_t size);

/* Writes the absolute path, [size], of the file of this code: a shared library, or the program that
 * it is linked into. False if unknown. */
bool attn_path_of_code(char *path, size_t size);

#endif
