/* tile_grid.c - see tile_grid.h. Sizes are computed in double, as in Python (pack_image_features in
 * modeling_llava_next.py and modeling_llava_onevision.py). */
#include "image/tile_grid.h"

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* Returns how many of N rows of cells were padded on each side, if the picture covers COVERED of
 * them: as Python, which rounds to 7 decimals before it cuts off the rest. */
static size_t count_padded(size_t n, double covered)
{
    const double kept = floor(covered + 0.5e-7);

    return kept < (double)n ? (n - (size_t)kept) / 2 : 0;
}

/* Returns floor(N / RATIO) as Python's // does for floats. */
static size_t divide(size_t n, double ratio)
{
    const double rest = fmod((double)n, ratio), quotient = ((double)n - rest) / ratio;

    return (size_t)floor(quotient + 0.5);
}

struct attn_tile_grid attn_tile_grid_find(const struct attn_vision_config *vision, size_t side,
                                          size_t tile_rows, size_t tile_cols, size_t height,
                                          size_t width)
{
    struct attn_tile_grid grid = {.side = side,
                                  .tile_rows = tile_rows,
                                  .tile_cols = tile_cols,
                                  .n_row = tile_rows * side,
                                  .n_col = tile_cols * side};
    const double h = (double)height, w = (double)width;
    const double n_row = (double)grid.n_row, n_col = (double)grid.n_col;
    double ratio;

    if (tile_rows == 0)
        return grid;
    if (w / h > n_col / n_row)
        grid.top = count_padded(grid.n_row, h * (n_col / w));
    else
        grid.left = count_padded(grid.n_col, w * (n_row / h));
    grid.n_row -= 2 * grid.top;
    grid.n_col -= 2 * grid.left;
    grid.rows = grid.n_row;
    grid.columns = grid.n_col;
    if (vision->most_shrunk == 0)
        return grid;
    ratio = sqrt((double)grid.n_row * (double)grid.n_col /
                 ((double)vision->most_shrunk * (double)side * (double)side));
    if (ratio > 1.1) {
        grid.rows = divide(grid.n_row, ratio);
        grid.columns = divide(grid.n_col, ratio);
    }
    return grid;
}

size_t attn_tile_grid_n_row(const struct attn_tile_grid *grid)
{
    return grid->side * grid->side + (grid->tile_rows > 0 ? grid->rows * (grid->columns + 1) : 1);
}

bool attn_tile_grid_is_end(const struct attn_tile_grid *grid, size_t i)
{
    const size_t n_whole = grid->side * grid->side;

    return i >= n_whole && (i - n_whole) % (grid->columns + 1) == grid->columns;
}

/* A row or column of the shrunk grid: two of those that are left, and the share of the second. */
struct taps {
    size_t at[2];
    float shares[2];
};

/* Returns the taps of number I of N_OUT, of N_IN: linear, without corners and without a filter. */
static struct taps find_taps(size_t i, size_t n_in, size_t n_out)
{
    const double at = fmax(((double)i + 0.5) * (double)n_in / (double)n_out - 0.5, 0);
    const size_t first = (size_t)at;
    const float share = (float)(at - (double)first);

    return (struct taps){{first, first + (first + 1 < n_in)}, {1 - share, share}};
}

/* Returns the number of the cell at ROW, COL of those that are left, among the cells of all tiles.
 */
static size_t find_cell(const struct attn_tile_grid *grid, size_t row, size_t col)
{
    const size_t side = grid->side, y = row + grid->top, x = col + grid->left;
    const size_t tile = y / side * grid->tile_cols + x / side;

    return (tile * side + y % side) * side + x % side;
}

/* Y [D] += SHARE X. */
static void add_share(float share, const float *x, size_t d, float *y)
{
    attn_kernels_find(ATTN_ISA_BEST)->add_outer(&share, 1, x, d, y);
}

void attn_tile_grid_make(const struct attn_tile_grid *grid, const float *cells, const float *end,
                         size_t d, float *rows)
{
    const size_t n_whole = grid->side * grid->side, n_tile = grid->tile_rows * grid->tile_cols;

    memcpy(rows, cells + n_tile * n_whole * d, n_whole * d * sizeof *rows);
    rows += n_whole * d;
    for (size_t row = 0; row < grid->rows; row++) {
        const struct taps down = find_taps(row, grid->n_row, grid->rows);

        for (size_t col = 0; col < grid->columns; col++, rows += d) {
            const struct taps across = find_taps(col, grid->n_col, grid->columns);

            memset(rows, 0, d * sizeof *rows);
            for (size_t i = 0; i < 4; i++)
                if (down.shares[i / 2] * across.shares[i % 2] > 0)
                    add_share(down.shares[i / 2] * across.shares[i % 2],
                              cells + find_cell(grid, down.at[i / 2], across.at[i % 2]) * d, d,
                              rows);
        }
        memcpy(rows, end, d * sizeof *rows);
        rows += d;
    }
    if (n_tile == 0)
        memcpy(rows, end, d * sizeof *rows);
}

void attn_tile_grid_back(const struct attn_tile_grid *grid, const float *d_rows, size_t d,
                         float *d_cells)
{
    const size_t n_whole = grid->side * grid->side, n_tile = grid->tile_rows * grid->tile_cols;

    memset(d_cells, 0, n_tile * n_whole * d * sizeof *d_cells);
    memcpy(d_cells + n_tile * n_whole * d, d_rows, n_whole * d * sizeof *d_cells);
    d_rows += n_whole * d;
    for (size_t row = 0; row < grid->rows; row++, d_rows += d) {
        const struct taps down = find_taps(row, grid->n_row, grid->rows);

        for (size_t col = 0; col < grid->columns; col++, d_rows += d) {
            const struct taps across = find_taps(col, grid->n_col, grid->columns);

            for (size_t i = 0; i < 4; i++)
                add_share(down.shares[i / 2] * across.shares[i % 2], d_rows, d,
                          d_cells + find_cell(grid, down.at[i / 2], across.at[i % 2]) * d);
        }
    }
}
