/*
 * memory.h - all memory of the library comes from here.
 *
 * Blocks are aligned to 64 bytes (a cache line, an AVX-512 register). Products are checked for
 * overflow. Tests make the Nth allocation fail by defining attn_test_allocation_fails(), which the
 * library references weakly.
 */
#ifndef ATTN_BASE_MEMORY_H
#define ATTN_BASE_MEMORY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_ALIGNMENT = 64 };

/* COUNT elements of SIZE bytes, zeroed; NULL on failure, with err set. Never NULL for 0 bytes. */
void *attn_alloc(size_t count, size_t size, struct attn_error *err);

/* Sets POINTER to N zeroed elements: ATTN_TRY(ATTN_ALLOC(list->items, n, err)). */
#define ATTN_ALLOC(pointer, n, err)                                                                \
    (((pointer) = attn_alloc((n), sizeof *(pointer), (err))) ? ATTN_OK : ATTN_NO_MEMORY)

/* The same without clearing: for large buffers that are written before they are read. */
void *attn_alloc_uninitialized(size_t count, size_t size, struct attn_error *err);

/* The same for a block that is filled at once or at random: from 512 KB on it gets large pages if
 * the system has them. Their fault costs less than those of a quarter as many small ones. */
void *attn_alloc_large(size_t count, size_t size, struct attn_error *err);

/*
 * Grows the block at BLOCK, which has room for *CAPACITY elements of SIZE bytes, to at least NEED;
 * doubles, so that appending is linear. On failure everything is as before.
 *
 *     ATTN_TRY(attn_grow(&list->items, &list->capacity, list->n + 1, sizeof *list->items, err));
 */
enum attn_status attn_grow(void *block, size_t *capacity, size_t need, size_t size,
                           struct attn_error *err);

/* A terminated copy of SIZE bytes of TEXT; NULL on failure, with err set. */
char *attn_strndup(const char *text, size_t size, struct attn_error *err);

void attn_free(void *block); /* NULL is allowed */

/* Bytes of memory that the machine has, used or not. */
size_t attn_memory_of_machine(void);

/* Whether the process may take SIZE bytes of address space more, as of now. For calls of libraries
 * that end the process when they get no memory. */
bool attn_has_address_space(size_t size);

/* False when the result does not fit a size_t; *out is then unspecified. */
static inline bool attn_checked_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* The largest number where the result does not fit. */
static inline uint64_t attn_saturated_mul(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* The same of a number of bytes or elements. */
static inline size_t attn_size_mul(size_t a, size_t b)
{
    size_t product;

    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

/* N, or the largest size, where that has fewer bits. */
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
 * An arena is many buffers that are planned together and allocated at once.
 *
 * The same code runs twice: on an arena that only measures, where every take returns NULL, then,
 * after _allocate, on one that hands out the memory. So a plan and its memory agree, and nothing
 * can fail half-way.
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
    size_t used;              /* bytes measured or handed out */
    bool is_overflowed;       /* a product overflowed while measuring: _allocate fails */
    bool is_mapped;           /* base was taken from the system, not from the heap */
    struct attn_spare *spare; /* holds; set before _allocate_zeroed; NULL: none */
};

/* COUNT elements of SIZE bytes, 64-byte aligned, not cleared. NULL while measuring. */
void *attn_arena_take(struct attn_arena *arena, size_t count, size_t size);

/* Allocates the measured size and rewinds, so that the takes can be repeated. */
enum attn_status attn_arena_allocate(struct attn_arena *arena, struct attn_error *err);

/* The same, zeroed. A block of 1 MiB and more is the system's own. */
enum attn_status attn_arena_allocate_zeroed(struct attn_arena *arena, struct attn_error *err);

void attn_arena_release(struct attn_arena *arena); /* frees and zeroes; a zeroed arena is allowed */

/*
 * Where the last block that was released waits for the next zeroed arena, if it takes at most an
 * eighth of the machine's memory. The system clears new pages one by one, and in a virtual machine
 * its host may have to find them first. All who hold it may be in different threads; NULL is
 * allowed. The last one who drops it frees it.
 */
struct attn_spare;
struct attn_spare *attn_spare_create(struct attn_error *err); /* NULL on failure, with err set */
struct attn_spare *attn_spare_hold(struct attn_spare *spare); /* SPARE */
void attn_spare_drop(struct attn_spare *spare);

#endif
