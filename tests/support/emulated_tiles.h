/*
 * emulated_tiles.h - AMX in plain C: the instructions of kernels/amx_tiles.h as Intel defines them
 * (Software Developer's Manual, volume 2: LDTILECFG, TILELOADD, TDPBF16PS, ...). What the processor
 * would answer by a fault fails the test, and so does the use of a tile that nothing was put into.
 */
#pragma once

#include "kernels/gemm_internal.h"

/* The loop of the library over these tiles. */
extern const struct attn_tiles attn_emulated_tiles;

/* Whether the calling thread has released its tiles, or never used any. */
bool attn_emulated_tiles_are_released(void);

/* How often threads have loaded a layout, so far. */
size_t attn_emulated_layouts(void);

/* --- For amx_loop.h --------------------------------------------------------------------------- */

#define ATTN_TILE_CODE

struct attn_tile_layout {
    uint8_t palette, start_row, reserved[14];
    uint16_t n_byte[16];
    uint8_t n_row[16];
};

void attn_tile_configure(const struct attn_tile_layout *layout);
void attn_tile_see_layout(struct attn_tile_layout *layout);
void attn_emulated_zero(int tile);
void attn_emulated_load(int tile, const void *from, size_t stride);
void attn_emulated_store(int tile, void *to, size_t stride);
void attn_emulated_multiply(int sum, int x, int w);

#define ATTN_TILE_ZERO(tile) attn_emulated_zero(tile)
#define ATTN_TILE_LOAD(tile, from, stride) attn_emulated_load(tile, from, stride)
#define ATTN_TILE_STORE(tile, to, stride) attn_emulated_store(tile, to, stride)
#define ATTN_TILE_MULTIPLY(sum, x, w) attn_emulated_multiply(sum, x, w)
