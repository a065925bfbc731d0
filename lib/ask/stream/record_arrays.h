/*
 * record_arrays.h - provides the captured tensors of a record as the arrays of a run
 * (tensors/arrays.h).
 *
 *     struct attn_record_arrays *arrays;
 *     attn_record_arrays_create(result, &arrays, &err);
 *     for (size_t i = 0; i < attn_record_arrays_n(arrays); i++) {
 *         const struct attn_array *array = attn_record_array(arrays, i);
 *         if (array->data) ... one of the small ones ...
 *         else ... attn_record_array_rows(arrays, i, r, &n) of its rows ...
 *     }
 */
#pragma once

#include "stream/records_internal.h"
#include "tensors/arrays.h"

struct attn_record_arrays;

/* Lists the arrays of RESULT, which must have a capture and is borrowed. */
enum attn_status attn_record_arrays_create(const struct attn_item_result *result,
                                           struct attn_record_arrays **arrays,
                                           struct attn_error *err);
void attn_record_arrays_free(struct attn_record_arrays *arrays); /* NULL is allowed */

size_t attn_record_arrays_n(const struct attn_record_arrays *arrays);
const struct attn_array *attn_record_array(const struct attn_record_arrays *arrays, size_t i);

/* Returns the place of array I, a tensor; NULL for a small one, which has its data. */
const struct attn_location *attn_record_array_at(const struct attn_record_arrays *arrays, size_t i);

/* Returns true if tensors of SITE have a column for each key, so that their shape depends on the
 * length of the text: patterns and scores. */
bool attn_record_site_has_keys(enum attn_site site);

/* Returns row R of array I, a tensor, in C order: all numbers along the last axis. Borrowed. Sets
 * *N_ROW to the number of rows that are contiguous from there on: all remaining ones, or one. */
const float *attn_record_array_rows(const struct attn_record_arrays *arrays, size_t i, size_t r,
                                    size_t *n_row);

/* Returns the visible cells of row R of array I, a matrix. Borrowed until the next call. */
struct attn_row attn_record_array_cells(const struct attn_record_arrays *arrays, size_t i,
                                        size_t r);
