/*
 * pieces.h - text that the threads of a pool make in pieces, and that one sink gets in order.
 *
 * A thread writes each piece as soon as all before it are written, while others make the next ones.
 * Few pieces are held at once, so memory does not grow with their number; a thread waits if text is
 * made faster than it can be written.
 */
#ifndef ATTN_BASE_PIECES_H
#define ATTN_BASE_PIECES_H

#include "base/buffer.h"
#include "base/pool.h"
#include "base/sink.h"

/* Appends piece I to TEXT, which is empty. Runs on any thread; failures stay in TEXT. */
typedef void (*attn_piece_fn)(const void *context, size_t i, struct attn_buffer *text);

struct attn_pieces;

/* POOL is borrowed; NULL: the caller's thread alone. */
enum attn_status attn_pieces_create(struct attn_pool *pool, struct attn_pieces **pieces,
                                    struct attn_error *err);

/* Makes N pieces and appends them to SINK, whose failure is for the caller to look at.
 * ATTN_NO_MEMORY when the text of one failed; none after it is written then. */
enum attn_status attn_pieces_write(struct attn_pieces *pieces, size_t n, attn_piece_fn make,
                                   const void *context, struct attn_sink *sink,
                                   struct attn_error *err);

void attn_pieces_free(struct attn_pieces *pieces); /* NULL is allowed */

#endif
