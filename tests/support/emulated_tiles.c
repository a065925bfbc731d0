/* emulated_tiles.c - see emulated_tiles.h. */
#define ATTN_TILE_INSTRUCTIONS "tests/support/emulated_tiles.h"
#include "kernels/amx_loop.h"

#include "tests/support/assert.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { N_TILE = 8, MOST_ROWS = 16, MOST_BYTES = 64 };

/* Of one thread, as on the processor. */
static _Thread_local struct attn_tile_layout layout;
static _Thread_local uint8_t tiles[N_TILE][MOST_ROWS][MOST_BYTES];
static _Thread_local bool is_filled[N_TILE];
static atomic_size_t n_layout;

void attn_tile_configure(const struct attn_tile_layout *wanted)
{
    static const struct attn_tile_layout empty;

    ck_assert_int_eq(sizeof *wanted, 64);
    ck_assert(wanted->palette == 1 && wanted->start_row == 0);
    ck_assert(memcmp(wanted->reserved, empty.reserved, sizeof empty.reserved) == 0);
    for (int i = 0; i < 16; i++) {
        ck_assert(wanted->n_row[i] <= MOST_ROWS && wanted->n_byte[i] <= MOST_BYTES);
        ck_assert((wanted->n_row[i] == 0) == (wanted->n_byte[i] == 0));
        ck_assert(i < N_TILE || wanted->n_row[i] == 0);
    }
    layout = *wanted;
    memset(tiles, 0, sizeof tiles);
    memset(is_filled, 0, sizeof is_filled);
    atomic_fetch_add(&n_layout, 1);
}

void attn_tile_see_layout(struct attn_tile_layout *seen)
{
    *seen = layout;
}

static void check_tile(int tile)
{
    ck_assert(tile >= 0 && tile < N_TILE && layout.palette == 1);
    ck_assert_msg(layout.n_row[tile] > 0, "tile %d is not in the layout", tile);
}

void attn_emulated_zero(int tile)
{
    check_tile(tile);
    memset(tiles[tile], 0, sizeof tiles[tile]);
    is_filled[tile] = true;
}

void attn_emulated_load(int tile, const void *from, size_t stride)
{
    attn_emulated_zero(tile);
    for (size_t row = 0; row < layout.n_row[tile]; row++)
        memcpy(tiles[tile][row], (const char *)from + row * stride, layout.n_byte[tile]);
}

void attn_emulated_store(int tile, void *to, size_t stride)
{
    check_tile(tile);
    ck_assert(is_filled[tile]);
    for (size_t row = 0; row < layout.n_row[tile]; row++)
        memcpy((char *)to + row * stride, tiles[tile][row], layout.n_byte[tile]);
}

/* Denormals are zero, of their sign. */
static float flush(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static float read_float(const uint8_t *from)
{
    float x;

    memcpy(&x, from, sizeof x);
    return flush(x);
}

static float read_bfloat(const uint8_t *from)
{
    const uint8_t bytes[4] = {0, 0, from[0], from[1]};

    return read_float(bytes);
}

/* One element: X [n_pair, 2], and W [n_pair, 2] whose pairs lie MOST_BYTES apart. */
static float add_block(float sum, const uint8_t *x, const uint8_t *w, size_t n_pair)
{
    float even = 0, odd = 0;

    for (size_t i = 0; i < n_pair; i++, x += 4, w += MOST_BYTES) {
        even = flush(fmaf(read_bfloat(x), read_bfloat(w), even));
        odd = flush(fmaf(read_bfloat(x + 2), read_bfloat(w + 2), odd));
    }
    return flush(sum + flush(even + odd));
}

void attn_emulated_multiply(int sum, int x, int w)
{
    check_tile(sum), check_tile(x), check_tile(w);
    ck_assert(sum != x && sum != w && x != w);
    ck_assert(is_filled[sum] && is_filled[x] && is_filled[w]);
    ck_assert_int_eq(layout.n_row[sum], layout.n_row[x]);
    ck_assert_int_eq(layout.n_byte[sum], layout.n_byte[w]);
    ck_assert_int_eq(layout.n_byte[x], 4 * layout.n_row[w]);
    ck_assert(layout.n_byte[sum] % 4 == 0);
    for (size_t row = 0; row < layout.n_row[sum]; row++)
        for (size_t i = 0; i < layout.n_byte[sum]; i += 4) {
            const float y = add_block(read_float(&tiles[sum][row][i]), tiles[x][row],
                                      &tiles[w][0][i], layout.n_row[w]);

            memcpy(&tiles[sum][row][i], &y, sizeof y);
        }
}

static void multiply(const struct attn_gemm_shape *shape, const uint16_t *a, const uint16_t *b,
                     float *c, const void *next)
{
    attn_tile_multiply(shape, a, b, c, next);
}

static void release(void)
{
    layout = (struct attn_tile_layout){0};
}

const struct attn_tiles attn_emulated_tiles = {multiply, release};

bool attn_emulated_tiles_are_released(void)
{
    return layout.palette == 0;
}

size_t attn_emulated_layouts(void)
{
    return atomic_load(&n_layout);
}
