/*
 * amx_tiles.h - the tile instructions that amx_loop.h uses. Tests have equivalents in plain C
 * (tests/support/emulated_tiles.h).
 *
 * Each thread has 8 tiles of up to 16 rows of 64 bytes. A configuration sets the rows and bytes of
 * each tile; loading a configuration clears all tiles. TILE is a literal number, strides are in
 * bytes.
 */
#pragma once

#include <immintrin.h>
#include <stdint.h>

/* The attribute of functions that use tiles. Their callers are compiled for any x86-64. */
#define ATTN_TILE_CODE __attribute__((target("amx-tile,amx-bf16")))

/* The layout of the operand of ldtilecfg. */
struct attn_tile_layout {
    /* Palette: 1 for tiles as described above; 0: tiles are not in use. */
    uint8_t palette, start_row, reserved[14];
    uint16_t n_byte[16]; /* bytes in a row of each tile; 0: the tile is not used */
    uint8_t n_row[16];
};

/* gcc's intrinsics declare only 8 bytes of the layout as input, and do not declare the memory that
 * tiles are loaded from. The empty asm makes the compiler write all of it first. */
static inline ATTN_TILE_CODE void attn_tile_configure(const struct attn_tile_layout *layout)
{
    __asm__ volatile("" : : "r"(layout) : "memory");
    _tile_loadconfig(layout);
}

static inline ATTN_TILE_CODE void attn_tile_see_layout(struct attn_tile_layout *layout)
{
    _tile_storeconfig(layout);
    __asm__ volatile("" : : "r"(layout) : "memory");
}

#define ATTN_TILE_RELEASE() _tile_release()
#define ATTN_TILE_ZERO(tile) _tile_zero(tile)
#define ATTN_TILE_LOAD(tile, from, stride) _tile_loadd(tile, from, stride)
#define ATTN_TILE_STORE(tile, to, stride) _tile_stored(tile, to, stride)

/* SUM [rows, columns] += X [rows, pairs of bfloat16] W [pairs, columns, 2] */
#define ATTN_TILE_MULTIPLY(sum, x, w) _tile_dpbf16ps(sum, x, w)
