/*
 * record_reader.h - reads an item from a line of JSON or CSV.
 *
 *     struct attn_item item = {.number = i};
 *     attn_item_read_line(line, size, &item, &err);
 *     ... item.failure, item.id, item.input ...
 *     attn_item_release(&item);
 *
 * record_keys.c has all keys, which items.h explains. JSON is parsed strictly
 * (formats/json_reader.h): no repeated keys, no lone surrogates, at most 64 levels. Null is the
 * same as a missing key.
 */
#pragma once

#include "stream/csv_reader.h"
#include "stream/items_internal.h"

/* Reads LINE [size] into ITEM, which has no values yet; the caller checks that it has an input. For
 * a malformed line the item is marked as failed, and ATTN_OK is returned. ATTN_NO_MEMORY is the
 * only error. A line without keys has no labels. */
enum attn_status attn_item_read_line(const char *line, size_t size, struct attn_item *item,
                                     struct attn_error *err);

/* Reads the fields of the last line that CSV parsed into ITEM in the same way. */
enum attn_status attn_item_read_fields(const struct attn_csv_reader *csv, struct attn_item *item,
                                       struct attn_error *err);
