/* record_store.h - memory for the values that are read from one line. */
#ifndef ATTN_RECORDS_RECORD_STORE_H
#define ATTN_RECORDS_RECORD_STORE_H

#include "base/status.h"

#include <stddef.h>

/* Initialize with = {0}; end with attn_record_store_release. */
struct attn_record_store {
    struct attn_record_block *blocks; /* owns; the newest block first */
};

/* Returns SIZE bytes, aligned to 8 and not zeroed, which are valid until the store is released.
 * NULL on failure, with ERR set. */
void *attn_record_store_take(struct attn_record_store *store, size_t size, struct attn_error *err);

/* Returns a null-terminated copy of TEXT [size]; NULL on failure. */
char *attn_record_store_copy(struct attn_record_store *store, const char *text, size_t size,
                             struct attn_error *err);

void attn_record_store_release(struct attn_record_store *store);

#endif
