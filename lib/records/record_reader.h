/*
 * record_reader.h - reads a record from a line of JSON, or an item from a line of JSON or CSV.
 *
 *     struct attn_item item = {.number = i};
 *     attn_record_read(line, size, NULL, &item, &err);
 *     ... item.failure, item.id, item.input: valid until the item reads another line ...
 *     attn_item_release(&item);
 *
 * The line is an object with `text`, a string; `ids`, a list of integers; or `image`, the path of a
 * picture. It may also have `id`, a string or an integer; `source` for models with cross-attention,
 * a string or a list of rows of numbers; `pair`, a second text; `types` of the tokens of `ids`;
 * `key_mask`, for the keys of the text or of a source; and, if has_next, `next`, a string or a list
 * of strings. Other keys are ignored, and null is the same as a missing key. JSON is parsed
 * strictly (formats/json_reader.h): no repeated keys, no lone surrogates, at most 64 levels.
 * record_keys.c has all keys, also those of items (items.h).
 */
#ifndef ATTN_RECORDS_RECORD_READER_H
#define ATTN_RECORDS_RECORD_READER_H

#include "records/csv_reader.h"
#include "records/items_internal.h"
#include "records/record_keys_internal.h"

/* Other names for some keys, and a callback for all keys. NULL: the default names; no callback. */
struct attn_record_keys {
    const char *text, *id;
    bool has_next; /* reads `next`, too */
    /* Called with KEY, whether the record itself uses it (IS_TAKEN), and the first token of its
     * value, which may be null, before the value is read. Or NULL. */
    enum attn_status (*see)(void *user, const struct attn_json_token *key, bool is_taken,
                            const struct attn_json_token *value, struct attn_error *err);
    void *user;
};

/* Reads LINE [size] into ITEM, overwriting everything but its number. For a malformed line the item
 * is marked as failed, and ATTN_OK is returned. ATTN_NO_MEMORY is the only error. KEYS may be
 * NULL. */
enum attn_status attn_record_read(const char *line, size_t size,
                                  const struct attn_record_keys *keys, struct attn_item *item,
                                  struct attn_error *err);

/* Read LINE, or the fields of the last line that CSV parsed, into ITEM in the same way. The caller
 * checks that the item has an input. */
enum attn_status attn_item_read_line(const char *line, size_t size, struct attn_item *item,
                                     struct attn_error *err);
enum attn_status attn_item_read_fields(const struct attn_csv_reader *csv, struct attn_item *item,
                                       struct attn_error *err);

#endif
