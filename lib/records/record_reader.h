/*
 * record_reader.h - a record from one line of JSON, an item from a line of JSON or CSV.
 *
 *     struct attn_record_store store = {0};
 *     struct attn_record record = {.number = i};
 *     attn_record_read(line, size, NULL, &store, &record, &err);
 *     ... record.failure, record.id, record.input: valid until the store reads another line ...
 *     attn_record_store_release(&store);
 *
 * The line is an object with `text`, a string, or `ids`, a list of integers; with `id`, a string or
 * an integer, if it has one; and with `source` for models with cross-attention: a string, or a list
 * of rows of numbers; with `pair`, a second text, `types` of the tokens of `ids`, and `key_mask`,
 * of the source where there is one; and with `next`, where it is looked for: a string, or a list of
 * them. Without text and ids it has `image`, the path of a picture. Other keys are ignored, and
 * null is the same as no key. JSON is read strictly (formats/json_reader.h): no key twice, no lone
 * surrogate, at most 64 levels. record_keys.c has all keys, also those of items (items.h).
 */
#ifndef ATTN_RECORDS_RECORD_READER_H
#define ATTN_RECORDS_RECORD_READER_H

#include "records/csv_reader.h"
#include "records/item_internal.h"
#include "records/record_keys_internal.h"

/* Other names for some keys, and a function that sees all. NULL: the usual names; no function. */
struct attn_record_keys {
    const char *text, *id;
    bool has_next; /* `next` is looked for, too */
    /* Called with KEY, whether it IS_TAKEN by the record itself, and its first token, which may be
     * null, before the value is read. Or NULL. */
    enum attn_status (*see)(void *user, const struct attn_json_token *key, bool is_taken,
                            const struct attn_json_token *value, struct attn_error *err);
    void *user;
};

/* Reads LINE [size bytes] into RECORD; overwrites everything but its number and `mine`. A malformed
 * line gives a failed record with the reason, and ATTN_OK. ATTN_NO_MEMORY is the only error. KEYS
 * may be NULL. */
enum attn_status attn_record_read(const char *line, size_t size,
                                  const struct attn_record_keys *keys,
                                  struct attn_record_store *store, struct attn_record *record,
                                  struct attn_error *err);

/* Reads LINE, or the fields that CSV read last, into MADE in the same way. The caller checks that
 * the item has an input. */
enum attn_status attn_item_read_line(const char *line, size_t size, struct attn_item_made *made,
                                     struct attn_error *err);
enum attn_status attn_item_read_fields(const struct attn_csv_reader *csv,
                                       struct attn_item_made *made, struct attn_error *err);

#endif
