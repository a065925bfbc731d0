/*
 * pieces.h - text that the threads of a pool generate in pieces, and that is written to one sink in
 * order.
 *
 * A piece is written as soon as all pieces before it are, while other threads generate the next
 * ones. Only a few pieces are in memory at once; a thread waits if text is generated faster than it
 * can be written.
 */
#pragma once

#include "base/buffer.h"
#include "base/pool.h"
#include "base/sink.h"

/* Generates piece I by appending to TEXT, which is empty. Runs on any thread; failures stay in
 * TEXT. */
typedef void (*attn_piece_fn)(const void *context, size_t i, struct attn_buffer *text);

struct attn_pieces;

/* POOL is borrowed; NULL: uses only the caller's thread. */
enum attn_status attn_pieces_create(struct attn_pool *pool, struct attn_pieces **pieces,
                                    struct attn_error *err);

/* Generates N pieces and appends them to SINK; the caller checks SINK for errors. ATTN_NO_MEMORY if
 * one piece failed; later pieces are then not written. */
enum attn_status attn_pieces_write(struct attn_pieces *pieces, size_t n, attn_piece_fn make,
                                   const void *context, struct attn_sink *sink,
                                   struct attn_error *err);

void attn_pieces_free(struct attn_pieces *pieces); /* NULL is allowed */
