/*
 * arena.h - many buffers planned together and allocated at once.
 *
 * The same code runs twice: on an arena that only measures, where every take returns NULL, then,
 * after _allocate, on one that hands out the memory. So a plan and its memory cannot disagree, and
 * nothing can fail half-way.
 *
 *     struct attn_arena arena = {0};
 *     plan(session, &arena);                     // measures
 *     attn_arena_allocate(&arena, err);
 *     plan(session, &arena);                     // carves
 *     attn_arena_release(&arena);
 */
#ifndef ATTN_BASE_ARENA_H
#define ATTN_BASE_ARENA_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_arena {
    unsigned char *base; /* owns; NULL while measuring */
    size_t capacity;     /* bytes at base */
    size_t used;         /* bytes measured or handed out */
    bool is_overflowed;  /* a product overflowed while measuring: _allocate fails */
};

/* COUNT elements of SIZE bytes, 64-byte aligned, not cleared. NULL while measuring. */
void *attn_arena_take(struct attn_arena *arena, size_t count, size_t size);

/* Allocates what was measured and rewinds, so that the takes can be repeated. */
enum attn_status attn_arena_allocate(struct attn_arena *arena, struct attn_error *err);

void attn_arena_release(struct attn_arena *arena); /* frees and zeroes; a zeroed arena is allowed */

#endif
