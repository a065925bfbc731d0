/*
 * memory.h - all memory of the library comes from here.
 *
 * Blocks are aligned to 64 bytes (a cache line, an AVX-512 register). Products are checked for
 * overflow. Tests make the Nth allocation fail by defining attn_test_allocation_fails(), which the
 * library references weakly.
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_ALIGNMENT = 64 };

/* Allocates COUNT zeroed elements of SIZE bytes. NULL on failure, with ERR set. Not NULL for 0
 * bytes. */
void *attn_alloc(size_t count, size_t size, struct attn_error *err);

/* Sets POINTER to a new BLOCK: ATTN_TRY(ATTN_NEW(copy, attn_strndup(text, size, err))). */
#define ATTN_NEW(pointer, block) (((pointer) = (block)) ? ATTN_OK : ATTN_NO_MEMORY)

/* Allocates N zeroed elements for POINTER: ATTN_TRY(ATTN_ALLOC(list->items, n, err)). */
#define ATTN_ALLOC(pointer, n, err) ATTN_NEW(pointer, attn_alloc((n), sizeof *(pointer), (err)))
/* Sorts ITEMS [n], which may be NULL if N is 0. */
#define ATTN_SORT(items, n, compare) ((n) > 0 ? qsort(items, n, sizeof *(items), compare) : (void)0)

/* Like attn_alloc, but not zeroed, for large buffers that are written before they are read. */
void *attn_alloc_uninitialized(size_t count, size_t size, struct attn_error *err);

/* Like attn_alloc_uninitialized, for a block that is filled as a whole or accessed at random: from
 * 512 KB on it gets large pages if the system has them, because one fault of a large page costs
 * less than those of a quarter as many small pages. */
void *attn_alloc_large(size_t count, size_t size, struct attn_error *err);

/* Grows the block at BLOCK, which has room for *CAPACITY elements of SIZE bytes, to at least NEED;
 * capacity doubles, so that appending takes amortized constant time. On failure nothing is changed.
 */
enum attn_status attn_grow(void *block, size_t *capacity, size_t need, size_t size,
                           struct attn_error *err);

/* The same for a pointer: ATTN_TRY(ATTN_GROW(list->items, list->capacity, list->n + 1, err)). */
#define ATTN_GROW(pointer, capacity, need, err)                                                    \
    attn_grow(&(pointer), &(capacity), need, sizeof *(pointer), err)

/* Returns a null-terminated copy of SIZE bytes of TEXT; NULL on failure, with ERR set. */
char *attn_strndup(const char *text, size_t size, struct attn_error *err);

void attn_free(void *block); /* NULL is allowed */

/* Returns the memory of the machine in bytes, used or not. */
size_t attn_memory_of_machine(void);

/* Returns true if the process can currently get SIZE more bytes of address space. For use before
 * calling libraries that abort when an allocation fails. */
bool attn_has_address_space(size_t size);

/* Computes a * b, or a + b. Returns false if the result does not fit a size_t; *OUT is then
 * unspecified. */
static inline bool attn_checked_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Returns a * b; the largest number if the result does not fit. */
static inline uint64_t attn_saturated_mul(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Returns a * b for numbers of bytes or elements; SIZE_MAX if it does not fit. */
static inline size_t attn_size_mul(size_t a, size_t b)
{
    size_t product;

    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

/* Returns N, at most SIZE_MAX. */
static inline size_t attn_size_of(uint64_t n)
{
    return n < SIZE_MAX ? (size_t)n : SIZE_MAX;
}

static inline uint64_t attn_saturated_add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline bool attn_checked_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/*
 * An arena allocates many buffers as one block.
 *
 * The same code runs twice: on an arena that only measures, where every take returns NULL, then,
 * after _allocate, on one that hands out the memory. So the plan always matches the memory, and no
 * allocation can fail half-way.
 *
 *     struct attn_arena arena = {0};
 *     plan(session, &arena);                     // measures
 *     attn_arena_allocate(&arena, err);
 *     plan(session, &arena);                     // carves
 *     attn_arena_release(&arena);
 */
struct attn_arena {
    unsigned char *base;      /* owns; NULL while measuring */
    size_t capacity;          /* bytes at base */
    size_t used;              /* bytes measured or handed out, with red zones */
    size_t n_red;             /* bytes of red zones, which only AddressSanitizer has */
    bool is_overflowed;       /* a product overflowed while measuring: _allocate fails */
    bool is_mapped;           /* base was taken from the system, not from the heap */
    struct attn_spare *spare; /* set before _allocate_zeroed; shared ownership; NULL: none */
};

/* Returns COUNT elements of SIZE bytes, 64-byte aligned, not zeroed. NULL while measuring. */
void *attn_arena_take(struct attn_arena *arena, size_t count, size_t size);

/* Allocates the measured size and rewinds, so that the same takes can be repeated. */
enum attn_status attn_arena_allocate(struct attn_arena *arena, struct attn_error *err);

/* Like attn_arena_allocate, but zeroed. Blocks of 1 MiB or more come directly from the system. */
enum attn_status attn_arena_allocate_zeroed(struct attn_arena *arena, struct attn_error *err);

void attn_arena_release(struct attn_arena *arena); /* frees and zeroes; a zeroed arena is allowed */

/*
 * Keeps the last block that was released for the next zeroed arena, if the block takes at most an
 * eighth of the machine's memory. This saves page faults: the system clears new pages one by one,
 * and in a virtual machine the host may have to provide them first. Reference-counted; holders may
 * be on different threads. NULL is allowed.
 */
struct attn_spare;
struct attn_spare *attn_spare_create(struct attn_error *err); /* NULL on failure, with err set */
struct attn_spare *attn_spare_hold(struct attn_spare *spare); /* adds a reference; returns SPARE */
void attn_spare_drop(struct attn_spare *spare);

/* Memory that grows by small pieces and is freed as a whole. A store begins as NULL. */
struct attn_store;

/* Returns SIZE bytes, aligned as pointers are and not zeroed, which are valid until the store is
 * released. NULL on failure, with ERR set. */
void *attn_store_take(struct attn_store **store, size_t size, struct attn_error *err);

/* As attn_alloc, until the store is released. */
void *attn_store_alloc(struct attn_store **store, size_t count, size_t size,
                       struct attn_error *err);

/* Allocates N zeroed elements for POINTER: ATTN_TRY(ATTN_STORE_ALLOC(&x->store, x->rows, n, err)).
 */
#define ATTN_STORE_ALLOC(store, pointer, n, err)                                                   \
    ATTN_NEW(pointer, attn_store_alloc((store), (n), sizeof *(pointer), (err)))

/* Returns a null-terminated copy of TEXT [size]; NULL on failure. */
char *attn_store_copy(struct attn_store **store, const char *text, size_t size,
                      struct attn_error *err);

/* Frees all pieces. *STORE becomes NULL. */
void attn_store_release(struct attn_store **store);
