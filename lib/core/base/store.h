/* store.h - memory that grows by small pieces and is freed as a whole. A store begins as NULL. */
#ifndef ATTN_BASE_STORE_H
#define ATTN_BASE_STORE_H

#include "base/memory.h"

struct attn_store;

/* Returns SIZE bytes, aligned as pointers are and not zeroed, which are valid until the store is
 * released. NULL on failure, with ERR set. */
void *attn_store_take(struct attn_store **store, size_t size, struct attn_error *err);

/* As attn_alloc (memory.h), until the store is released. */
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

#endif
