/* memory.c - see memory.h. Growing always copies, because realloc would not keep the alignment. */
#include "base/memory.h"

#include "base/os/system.h"
#include "base/status_internal.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* Parts of an arena lie in one block, in which AddressSanitizer sees no end of a part. So in that
 * mode nothing may be touched before it is taken, nor the red zone after each part. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 256 };
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
enum { RED_ZONE = 0 };
#endif

/* Tests that make an allocation fail define another one. */
bool attn_test_allocation_fails(void) __attribute__((weak));
bool attn_test_allocation_fails(void)
{
    return false;
}

enum {
    HUGE_PAGE = 2 << 20,
    /* minimum size of a zeroed arena that is allocated directly from the system */
    LEAST_MAPPED = 1 << 20,
    SPARE_PART = 8, /* a spare block may use at most this part of the machine's memory: 1/8 */
};

/* Requests large pages for a large block, which reduces page faults and TLB misses. */
static void advise_large_pages(void *block, size_t n_byte)
{
    const size_t before = (HUGE_PAGE - (uintptr_t)block % HUGE_PAGE) % HUGE_PAGE;

    if (n_byte >= before + (size_t)2 * HUGE_PAGE)
        attn_advise_large_pages((char *)block + before, (n_byte - before) / HUGE_PAGE * HUGE_PAGE);
}

static void *allocate(size_t n_byte, size_t alignment, struct attn_error *err)
{
    void *block = NULL;

    if (n_byte <= PTRDIFF_MAX && !attn_test_allocation_fails())
        block = attn_system_alloc(n_byte > 0 ? n_byte : 1, alignment);
    if (!block) {
        attn_error_no_memory(err);
        return NULL;
    }
    return block;
}

void *attn_alloc_uninitialized(size_t count, size_t size, struct attn_error *err)
{
    size_t n_byte;
    void *block =
        allocate(attn_checked_mul(count, size, &n_byte) ? n_byte : SIZE_MAX, ATTN_ALIGNMENT, err);

    if (block)
        advise_large_pages(block, n_byte);
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
        count = ATTN_ALIGNMENT / size; /* the smallest block has room for this many anyway */

    new = attn_alloc_uninitialized(count, size, err);
    if (!new)
        return ATTN_NO_MEMORY;
    /* BLOCK points to a pointer of unknown type, so memcpy is used because of the aliasing
     * rules. */
    memcpy(&old, block, sizeof old);
    if (old)
        memcpy(new, old, *capacity * size);
    attn_free(old);
    memcpy(block, &new, sizeof new);
    *capacity = count;
    return ATTN_OK;
}

/* Copies TEXT [size] and a 0 to COPY, unless that is NULL, and returns it. */
static char *copy_text(char *copy, const char *text, size_t size)
{
    if (!copy)
        return NULL;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *attn_strndup(const char *text, size_t size, struct attn_error *err)
{
    /* no block is that large, with the 0 at its end or without */
    return copy_text(attn_alloc_uninitialized(size < SIZE_MAX ? size + 1 : SIZE_MAX, 1, err), text,
                     size);
}

void attn_free(void *block)
{
    attn_system_free(block);
}

/* --- Arenas ---------------------------------------------------------------------------------- */

/* Sizes are rounded up to the alignment, so that every block begins aligned. */
void *attn_arena_take(struct attn_arena *arena, size_t count, size_t size)
{
    size_t n_part, n_byte, end, start = arena->used;

    if (!attn_checked_mul(count, size, &n_part) ||
        !attn_checked_add(n_part, RED_ZONE + ATTN_ALIGNMENT - 1, &n_byte) ||
        !attn_checked_add(start, n_byte / ATTN_ALIGNMENT * ATTN_ALIGNMENT, &end)) {
        assert(!arena->base);
        arena->is_overflowed = true;
        return NULL;
    }
    arena->used = end;
    arena->n_red += RED_ZONE;
    if (!arena->base)
        return NULL;
    assert(end <= arena->capacity); /* the second run takes no more than the first one measured */
    ASAN_UNPOISON_MEMORY_REGION(arena->base + start, n_part);
    return arena->base + start;
}

/* Switches the arena from measuring to handing out BASE. NULL means that the allocation failed; the
 * error is set. */
static enum attn_status begin_takes(struct attn_arena *arena, void *base)
{
    if (!base)
        return ATTN_NO_MEMORY;
    arena->base = base;
    arena->capacity = arena->used;
    arena->used = arena->n_red = 0;
    ASAN_POISON_MEMORY_REGION(arena->base, arena->capacity);
    return ATTN_OK;
}

enum attn_status attn_arena_allocate(struct attn_arena *arena, struct attn_error *err)
{
    assert(!arena->base);
    if (arena->is_overflowed)
        return attn_error_no_memory(err);
    return begin_takes(arena, attn_alloc_uninitialized(arena->used, 1, err));
}

/* Header of a block from the system, followed by the bytes of the arena. */
struct block {
    _Alignas(ATTN_ALIGNMENT) size_t n_byte;
};

struct attn_spare {
    atomic_size_t n_holder;
    _Atomic(struct block *) block; /* owns; NULL: empty */
};

struct attn_spare *attn_spare_create(struct attn_error *err)
{
    struct attn_spare *spare = attn_alloc(1, sizeof *spare, err);

    return attn_spare_hold(spare);
}

struct attn_spare *attn_spare_hold(struct attn_spare *spare)
{
    if (spare)
        atomic_fetch_add(&spare->n_holder, 1);
    return spare;
}

static void unmap_block(struct block *block)
{
    if (block)
        attn_unmap(block, sizeof *block + block->n_byte);
}

void attn_spare_drop(struct attn_spare *spare)
{
    if (!spare || atomic_fetch_sub(&spare->n_holder, 1) > 1)
        return;
    unmap_block(atomic_load(&spare->block));
    attn_free(spare);
}

/* Stores BLOCK in SPARE, which may be NULL, and unmaps the block that was there. A large BLOCK is
 * unmapped instead. */
static void give_back(struct attn_spare *spare, struct block *block)
{
    if (spare && block->n_byte <= attn_memory_of_machine() / SPARE_PART)
        block = atomic_exchange(&spare->block, block);
    unmap_block(block);
}

/* Returns a block of at least N_BYTE zeros, or NULL. */
static struct block *take_block(struct attn_spare *spare, size_t n_byte)
{
    struct block *block = spare ? atomic_exchange(&spare->block, NULL) : NULL;

    if (block && block->n_byte >= n_byte && block->n_byte / 4 <= n_byte) {
        memset(block + 1, 0, n_byte);
        return block;
    }
    if (block)
        give_back(spare, block);
    block = attn_map_memory(sizeof *block + n_byte);
    if (!block)
        return NULL;
    advise_large_pages(block, sizeof *block + n_byte);
    block->n_byte = n_byte;
    return block;
}

enum attn_status attn_arena_allocate_zeroed(struct attn_arena *arena, struct attn_error *err)
{
    const size_t n_byte = arena->used;
    struct block *block = NULL;

    assert(!arena->base);
    if (arena->is_overflowed)
        return attn_error_no_memory(err);
    if (n_byte >= LEAST_MAPPED && n_byte < PTRDIFF_MAX)
        block = take_block(arena->spare, n_byte);
    arena->is_mapped = block;
    return begin_takes(arena, block ? (void *)(block + 1) : attn_alloc(n_byte, 1, err));
}

void attn_arena_release(struct attn_arena *arena)
{
    ASAN_UNPOISON_MEMORY_REGION(arena->base, arena->capacity);
    if (arena->is_mapped)
        give_back(arena->spare, (struct block *)(void *)arena->base - 1);
    else
        attn_free(arena->base);
    attn_spare_drop(arena->spare);
    *arena = (struct attn_arena){0};
}

/* --- Stores ----------------------------------------------------------------------------------- */

/* A block of a store, which is the list of its blocks, the newest first. Small pieces share a
 * block; a large one has its own. */
struct attn_store {
    struct attn_store *next;
    size_t size, used; /* bytes of `data`, and bytes in use */
    _Alignas(ATTN_ALIGNMENT) char data[];
};

enum { BLOCK_SIZE = 1024 - sizeof(struct attn_store) };

void *attn_store_take(struct attn_store **store, size_t size, struct attn_error *err)
{
    struct attn_store *block = *store;
    const size_t skipped = block ? -block->used % sizeof(void *) : 0;

    if (!block || skipped > block->size - block->used ||
        size > block->size - block->used - skipped) {
        const size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

        block = attn_alloc_uninitialized(1, sizeof *block + room, err);
        if (!block)
            return NULL;
        *block = (struct attn_store){.next = *store, .size = room, .used = size};
        *store = block;
        return block->data;
    }
    block->used += skipped + size;
    return block->data + block->used - size;
}

void *attn_store_alloc(struct attn_store **store, size_t count, size_t size, struct attn_error *err)
{
    const size_t room = attn_size_mul(count, size), most = SIZE_MAX - sizeof **store;
    struct attn_store *block = attn_alloc(1, room < most ? sizeof *block + room : SIZE_MAX, err);

    if (!block)
        return NULL;
    block->next = *store;
    *store = block;
    return block->data;
}

char *attn_store_copy(struct attn_store **store, const char *text, size_t size,
                      struct attn_error *err)
{
    return copy_text(attn_store_take(store, size + 1, err), text, size);
}

void attn_store_release(struct attn_store **store)
{
    while (*store) {
        struct attn_store *block = *store;

        *store = block->next;
        attn_free(block);
    }
}
