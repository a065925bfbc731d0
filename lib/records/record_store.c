/* record_store.c - see record_store.h. Small pieces share a block; a large one has its own. */
#include "records/record_store.h"

#include "base/memory.h"

#include <string.h>

struct attn_record_block {
    struct attn_record_block *next;
    size_t size, used; /* bytes of `data`, and bytes in use */
    char data[];
};

enum { BLOCK_SIZE = 1024 - sizeof(struct attn_record_block) };

void *attn_record_store_take(struct attn_record_store *store, size_t size, struct attn_error *err)
{
    struct attn_record_block *block = store->blocks;
    const size_t skipped = block ? -block->used % sizeof(void *) : 0;

    if (!block || skipped > block->size - block->used ||
        size > block->size - block->used - skipped) {
        const size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

        block = attn_alloc_uninitialized(1, sizeof *block + room, err);
        if (!block)
            return NULL;
        *block = (struct attn_record_block){.next = store->blocks, .size = room, .used = size};
        store->blocks = block;
        return block->data;
    }
    block->used += skipped + size;
    return block->data + block->used - size;
}

char *attn_record_store_copy(struct attn_record_store *store, const char *text, size_t size,
                             struct attn_error *err)
{
    char *copy = attn_record_store_take(store, size + 1, err);

    if (!copy)
        return NULL;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

void attn_record_store_release(struct attn_record_store *store)
{
    while (store->blocks) {
        struct attn_record_block *block = store->blocks;

        store->blocks = block->next;
        attn_free(block);
    }
}
