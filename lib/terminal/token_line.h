/*
 * token_line.h - a text with each token on the colour of its weight for one query: "tokens" of
 * --figure on a terminal. Without colours the percent stands behind the token: The(13) keys(79).
 */
#ifndef ATTN_TERMINAL_TOKEN_LINE_H
#define ATTN_TERMINAL_TOKEN_LINE_H

#include "terminal/heatmap.h"

/* Draws MATRIX, which has one row and is not pooled, in lines of the map's width. The query's own
 * token is underlined. ATTN_INVALID when its columns have no texts. */
enum attn_status attn_token_line_draw(struct attn_heatmap *map,
                                      const struct attn_level_matrix *matrix,
                                      struct attn_error *err);

#endif
