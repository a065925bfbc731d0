/* memory.c - see memory.h. Growth copies, because realloc would lose the alignment. */
#include "base/memory.h"

#include "base/status_internal.h"
#include "base/system.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Defined by tests that want an allocation to fail; elsewhere its address is null. */
bool attn_test_allocation_fails(void) __attribute__((weak));

enum { HUGE_PAGE = 2 << 20 };

static void *allocate(size_t n_byte, size_t alignment, struct attn_error *err)
{
    void *block = NULL;

    /* posix_memalign, since aligned_alloc wants a multiple of the alignment, which would hide the
     * last bytes from AddressSanitizer. */
    if (n_byte > PTRDIFF_MAX || (attn_test_allocation_fails && attn_test_allocation_fails()) ||
        posix_memalign(&block, alignment, n_byte > 0 ? n_byte : 1) != 0) {
        attn_error_no_memory(err);
        return NULL;
    }
    return block;
}

void *attn_alloc_uninitialized(size_t count, size_t size, struct attn_error *err)
{
    size_t n_byte, before;
    void *block =
        allocate(attn_checked_mul(count, size, &n_byte) ? n_byte : SIZE_MAX, ATTN_ALIGNMENT, err);

    if (!block)
        return NULL;
    /* Large pages in a large block: fewer faults, fewer misses of the address cache. */
    before = (HUGE_PAGE - (uintptr_t)block % HUGE_PAGE) % HUGE_PAGE;
    if (n_byte >= before + (size_t)2 * HUGE_PAGE)
        attn_advise_large_pages((char *)block + before, (n_byte - before) / HUGE_PAGE * HUGE_PAGE);
    return block;
}

void *attn_alloc_large(size_t count, size_t size, struct attn_error *err)
{
    size_t n_byte;
    void *block;

    if (!attn_checked_mul(count, size, &n_byte) || n_byte < HUGE_PAGE / 4 || n_byte > PTRDIFF_MAX)
        return attn_alloc_uninitialized(count, size, err);
    n_byte = (n_byte + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    block = allocate(n_byte, HUGE_PAGE, err);
    if (block)
        attn_advise_large_pages(block, n_byte);
    return block;
}

void *attn_alloc(size_t count, size_t size, struct attn_error *err)
{
    void *block = attn_alloc_uninitialized(count, size, err);

    return block ? memset(block, 0, count * size) : NULL;
}

enum attn_status attn_grow(void *block, size_t *capacity, size_t need, size_t size,
                           struct attn_error *err)
{
    size_t count = *capacity;
    void *old, *new;

    if (need <= *capacity)
        return ATTN_OK;
    if (!attn_checked_mul(count, 2, &count) || count < need)
        count = need;
    if (count * size < ATTN_ALIGNMENT && size > 0)
        count = ATTN_ALIGNMENT / size; /* the smallest block has that much room anyway */

    new = attn_alloc_uninitialized(count, size, err);
    if (!new)
        return ATTN_NO_MEMORY;
    /* BLOCK is the address of a pointer to some type: memcpy keeps to the aliasing rules. */
    memcpy(&old, block, sizeof old);
    if (old)
        memcpy(new, old, *capacity * size);
    attn_free(old);
    memcpy(block, &new, sizeof new);
    *capacity = count;
    return ATTN_OK;
}

char *attn_strndup(const char *text, size_t size, struct attn_error *err)
{
    char *copy;

    if (size == SIZE_MAX) {
        attn_error_no_memory(err);
        return NULL;
    }
    copy = attn_alloc_uninitialized(size + 1, 1, err);
    if (!copy)
        return NULL;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

void attn_free(void *block)
{
    free(block);
}

/* --- Arenas ---------------------------------------------------------------------------------- */

/* Rounded up to the alignment, so that every take begins aligned. */
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
