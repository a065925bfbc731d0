/*
 * list.h - cuts lists at commas.
 *
 *     for (struct attn_list_item item = {.rest = "a,b"}; attn_list_next(&item);)
 *         use(item.text, item.size);
 */
#pragma once

#include <stdbool.h>
#include <string.h>

struct attn_list_item {
    const char *text; /* [size], in the list */
    size_t size;
    const char *rest; /* the items after this one; NULL after the last one */
};

/* Reads the next item of the rest. NULL has no items; "" has one empty item, and "a," two items. */
static inline bool attn_list_next(struct attn_list_item *item)
{
    if (!item->rest)
        return false;
    item->text = item->rest;
    item->size = strcspn(item->text, ",");
    item->rest = item->text[item->size] == ',' ? item->text + item->size + 1 : NULL;
    return true;
}
