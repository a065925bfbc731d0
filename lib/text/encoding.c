/*
 * encoding.c - the arrays of an encoding grow together.
 */
#include "text/encoding.h"

#include "base/memory.h"

/* Grows one of the arrays; *CAPACITY is what all of them have and stays as it is. */
static enum attn_status grow_array(void **array, size_t capacity, size_t need, size_t size,
                                   struct attn_error *err)
{
    return attn_grow(array, &capacity, need, size, err);
}

enum attn_status attn_encoding_reserve(struct attn_encoding *encoding, size_t need,
                                       struct attn_error *err)
{
    if (need <= encoding->capacity)
        return ATTN_OK;
    size_t capacity = encoding->capacity < 32 ? 64 : encoding->capacity * 2;
    if (capacity < need)
        capacity = need;
    void *ids = encoding->ids, *begin = encoding->begin, *end = encoding->end;
    enum attn_status status = grow_array(&ids, encoding->capacity, capacity, sizeof(int32_t), err);
    if (status == ATTN_OK)
        status = grow_array(&begin, encoding->capacity, capacity, sizeof(size_t), err);
    if (status == ATTN_OK)
        status = grow_array(&end, encoding->capacity, capacity, sizeof(size_t), err);
    /* An array that grew has moved, even when the next one could not grow. */
    encoding->ids = ids;
    encoding->begin = begin;
    encoding->end = end;
    if (status == ATTN_OK)
        encoding->capacity = capacity;
    return status;
}

void attn_encoding_release(struct attn_encoding *encoding)
{
    attn_free(encoding->ids);
    attn_free(encoding->begin);
    attn_free(encoding->end);
    *encoding = (struct attn_encoding){0};
}
