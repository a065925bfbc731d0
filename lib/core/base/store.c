/* store.c - see store.h. Small pieces share a block; a large one has its own. */
#include "base/store.h"

#include <string.h>

/* A block of a store, which is the list of its blocks, the newest first. */
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
    char *copy = attn_store_take(store, size + 1, err);

    if (!copy)
        return NULL;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

void attn_store_release(struct attn_store **store)
{
    while (*store) {
        struct attn_store *block = *store;

        *store = block->next;
        attn_free(block);
    }
}
