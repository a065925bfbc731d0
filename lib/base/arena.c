/* arena.c - see arena.h. Every take is rounded up to the alignment, so that all begin aligned. */
#include "base/arena.h"

#include "base/memory.h"
#include "base/status_internal.h"

#include <assert.h>

void *attn_arena_take(struct attn_arena *arena, size_t count, size_t size)
{
    size_t n_byte, end, start = arena->used;

    if (!attn_checked_mul(count, size, &n_byte) ||
        !attn_checked_add(n_byte, ATTN_ALIGNMENT - 1, &n_byte) ||
        !attn_checked_add(start, n_byte / ATTN_ALIGNMENT * ATTN_ALIGNMENT, &end)) {
        assert(!arena->base);
        arena->is_overflowed = true;
        return NULL;
    }
    arena->used = end;
    if (!arena->base)
        return NULL;
    assert(end <= arena->capacity); /* the plan takes no more than it measured */
    return arena->base + start;
}

enum attn_status attn_arena_allocate(struct attn_arena *arena, struct attn_error *err)
{
    unsigned char *base;

    assert(!arena->base);
    if (arena->is_overflowed)
        return attn_error_no_memory(err);
    base = attn_alloc_uninitialized(arena->used, 1, err);
    if (!base)
        return ATTN_NO_MEMORY;
    arena->base = base;
    arena->capacity = arena->used;
    arena->used = 0;
    return ATTN_OK;
}

void attn_arena_release(struct attn_arena *arena)
{
    attn_free(arena->base);
    *arena = (struct attn_arena){0};
}
