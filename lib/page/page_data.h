/*
 * page_data.h - the data blocks of a page: bytes as base64 of raw deflate, each block in an element
 * of its own, which a browser does not show.
 *
 *     attn_page_data_create(pool, sink, &data, &err);
 *     attn_page_data_begin(data, "L0H3");
 *     for each row:
 *         memcpy(attn_page_data_reserve(data, n), row, n);        // NULL: no memory
 *         attn_page_data_flush(data, &err);                       // now and then
 *     attn_page_data_end(data);
 *     attn_page_data_finish(data, &err);                          // all that waits is written
 *
 * Bytes wait until there is work for all threads of the pool, which deflate pieces of 64 KiB, each
 * by itself. Raw deflate that ends with a full flush can be followed by more, and is filled with
 * empty blocks to a multiple of 3 bytes, as base64 can be followed by more then.
 */
#ifndef ATTN_PAGE_PAGE_DATA_H
#define ATTN_PAGE_PAGE_DATA_H

#include "base/pool.h"
#include "base/sink.h"

struct attn_page_data;

/* POOL, which may be NULL, and SINK are borrowed. */
enum attn_status attn_page_data_create(struct attn_pool *pool, struct attn_sink *sink,
                                       struct attn_page_data **data, struct attn_error *err);

/* Begins the block ID, at most 31 characters that need no escape. */
void attn_page_data_begin(struct attn_page_data *data, const char *id);

/* Room for N more bytes of the block, until the next call; NULL after a failure, which
 * attn_page_data_flush and _finish report. */
unsigned char *attn_page_data_reserve(struct attn_page_data *data, size_t n);

void attn_page_data_end(struct attn_page_data *data);

/* Writes what waits when there is enough of it. The sink's failure is for the caller to look at. */
enum attn_status attn_page_data_flush(struct attn_page_data *data, struct attn_error *err);

/* Writes all that waits; between blocks. */
enum attn_status attn_page_data_finish(struct attn_page_data *data, struct attn_error *err);

void attn_page_data_free(struct attn_page_data *data); /* NULL is allowed */

#endif
