/*
 * record_reader.h - reads a record from a line of JSON, or an item from a line of JSON or CSV.
 *
 *     struct attn_item item = {.number = i};
 *     attn_item_read_line(line, size, &names, &item, &err);
 *     ... item.failure, item.id, item.input ...
 *     attn_item_release(&item);
 *
 * The line is an object with `text`, a string; `ids`, a list of integers; or `image`, the path of a
 * picture. It may also have `id`, a string or an integer; `source` for models with cross-attention,
 * a string or a list of rows of numbers; `pair`, a second text; `types` of the tokens of `ids`;
 * `key_mask`, for the keys of the text or of a source; and `next`, a string or a list of strings.
 * Labels are other keys that state its condition: a text, a number or a boolean; with any other
 * value the record fails. Other keys are ignored, and null is the same as a missing key. JSON is
 * parsed strictly (formats/json_reader.h): no repeated keys, no lone surrogates, at most 64 levels.
 * record_keys.c has all keys, also those of items (items.h).
 */
#ifndef ATTN_STREAM_RECORD_READER_H
#define ATTN_STREAM_RECORD_READER_H

#include "stream/csv_reader.h"
#include "stream/items_internal.h"
#include "stream/record_keys_internal.h"

/* Reads LINE [size] into ITEM, which has no values yet: a record with NAMES, or an item if that is
 * NULL, of which the caller checks that it has an input. For a malformed line the item is marked as
 * failed, and ATTN_OK is returned. ATTN_NO_MEMORY is the only error. With is_all, labels of a
 * record are in the order of the line; otherwise there is one for each name, without a value if the
 * line lacks it. A line without keys has no labels. */
enum attn_status attn_item_read_line(const char *line, size_t size,
                                     const struct attn_record_names *names, struct attn_item *item,
                                     struct attn_error *err);

/* Reads the fields of the last line that CSV parsed into ITEM in the same way. */
enum attn_status attn_item_read_fields(const struct attn_csv_reader *csv, struct attn_item *item,
                                       struct attn_error *err);

#endif
