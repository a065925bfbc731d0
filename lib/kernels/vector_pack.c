/*
 * vector_pack.c - weights and keys in the layout and type that the products read.
 *
 * Data of files has any alignment and is read by memcpy alone.
 */
#include "kernels/vector.h"

#include <assert.h>
#include <string.h>

static size_t element_size(enum attn_dtype dtype)
{
    return dtype == ATTN_DTYPE_F32 ? 4 : 2;
}

/* LEFT elements remain at SRC; the first LANES of them, widened to 32 bits. */
static inline vi load_halves(const unsigned char *src, size_t left)
{
    halves h = {0};

    if (left >= LANES)
        memcpy(&h, src, sizeof h);
    else
        memcpy(&h, src, left * sizeof(uint16_t));
    return __builtin_convertvector(h, vi);
}

/*
 * An IEEE half moved up is a float but for the exponent's bias. Infinities and NaN get all bits of
 * the exponent; a subnormal is its fraction times 2^-24, made without denormal floats.
 */
static inline vf half_to_float(vi h)
{
    vi magnitude = h & 0x7fff;
    vi bits = (magnitude << 13) + ((127 - 15) << 23);
    vf subnormal = __builtin_convertvector(magnitude, vf) * 0x1p-24f;

    bits |= (magnitude >= 0x7c00) & 0x7f800000;
    return v_copy_sign(v_select(magnitude < 0x0400, subnormal, (vf)bits), (vf)(h << 16));
}

static inline vf convert_some(const unsigned char *src, enum attn_dtype dtype, size_t left)
{
    vf x = {0};

    if (dtype == ATTN_DTYPE_F16)
        return half_to_float(load_halves(src, left));
    if (dtype == ATTN_DTYPE_BF16)
        return (vf)(load_halves(src, left) << 16);
    if (left >= LANES)
        memcpy(&x, src, sizeof x);
    else
        memcpy(&x, src, left * sizeof(float));
    return x;
}

/* Inlined where N is a constant. */
static inline void convert(const unsigned char *src, enum attn_dtype dtype, size_t n, float *y)
{
    size_t size = element_size(dtype);

    for (size_t i = 0; i < n; i += LANES)
        v_store_some(y + i, convert_some(src + i * size, dtype, n - i), n - i);
}

void ATTN_FOR_ISA(attn_vector_convert)(const void *src, enum attn_dtype dtype, size_t n, float *y)
{
    double wide;

    if (attn_dtype_block(dtype) > 1) {
        ATTN_FOR_ISA(attn_vector_decode)(src, dtype, n, y);
        return;
    }
    assert(dtype == ATTN_DTYPE_F32 || dtype == ATTN_DTYPE_F16 || dtype == ATTN_DTYPE_BF16 ||
           dtype == ATTN_DTYPE_F64);
    if (dtype != ATTN_DTYPE_F64)
        convert(src, dtype, n, y);
    for (size_t i = 0; dtype == ATTN_DTYPE_F64 && i < n; i++) {
        memcpy(&wide, (const unsigned char *)src + i * sizeof wide, sizeof wide);
        y[i] = (float)wide;
    }
}

static inline void transpose_4x4(const float *x, size_t ldx, float *y, size_t ldy)
{
    quad a, b, c, d, low_ab, low_cd, high_ab, high_cd;

    memcpy(&a, x, sizeof a);
    memcpy(&b, x + ldx, sizeof b);
    memcpy(&c, x + 2 * ldx, sizeof c);
    memcpy(&d, x + 3 * ldx, sizeof d);
    low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5);
    d = __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7);
    memcpy(y, &a, sizeof a);
    memcpy(y + ldy, &b, sizeof b);
    memcpy(y + 2 * ldy, &c, sizeof c);
    memcpy(y + 3 * ldy, &d, sizeof d);
}

/* y[c, r] = x[r, c] for r < rows, c < n */
static void transpose(const float *x, size_t ldx, size_t rows, size_t n, float *y, size_t ldy)
{
    size_t whole_rows = rows - rows % 4, whole_n = n - n % 4;

    for (size_t r = 0; r < whole_rows; r += 4)
        for (size_t c = 0; c < whole_n; c += 4)
            transpose_4x4(x + r * ldx + c, ldx, y + c * ldy + r, ldy);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = r < whole_rows ? whole_n : 0; c < n; c++)
            y[c * ldy + r] = x[r * ldx + c];
}

enum { TILE = 16 };

/* Where the columns FIRST .. FIRST+N-1 begin. */
static void find_columns(const struct attn_matrix *matrix, size_t first, size_t n,
                         const unsigned char **columns)
{
    for (size_t c = 0; c < n; c++)
        columns[c] = (const unsigned char *)matrix->data +
                     attn_dtype_n_byte(matrix->dtype, attn_matrix_column_at(matrix, first + c));
}

/*
 * The next reads are in many places, which no processor predicts: without prefetches, each one
 * stalls. Distances were measured on a Zen 5 core: elements of a column, rows.
 */
enum { COLUMN_AHEAD = 64, ROW_AHEAD = 16, LINE = 64 };

/* Prefetches one line of each of N columns, AT bytes from their beginning. */
static inline void fetch_columns(const unsigned char *const *columns, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(columns[i] + at);
}

/* Prefetches N bytes of a row. */
static inline void fetch_row(const unsigned char *row, size_t n)
{
    for (size_t i = 0; i < n; i += LINE)
        __builtin_prefetch(row + i);
}

/*
 * Columns of a matrix whose rows are neighbours: 16 of them are read along side by side, and a tile
 * at a time is turned round.
 */
static void pack_transposed(const struct attn_matrix *matrix, const unsigned char *const *columns,
                            size_t m, size_t width, float *panel)
{
    size_t size = element_size(matrix->dtype);
    float tile[TILE][TILE];

    for (size_t c = 0; c < m; c += TILE) {
        size_t n_c = m - c < TILE ? m - c : TILE;

        for (size_t k = 0; k < matrix->n_row; k += TILE) {
            size_t n_k = matrix->n_row - k < TILE ? matrix->n_row - k : TILE;

            if (k + COLUMN_AHEAD < matrix->n_row)
                fetch_columns(columns + c, n_c, (k + COLUMN_AHEAD) * size);
            else if (m - c >= (size_t)2 * TILE && matrix->n_row >= COLUMN_AHEAD)
                fetch_columns(columns + c + TILE, TILE, (k + COLUMN_AHEAD - matrix->n_row) * size);
            for (size_t l = 0; l < n_c; l++)
                if (n_k == TILE)
                    convert(columns[c + l] + k * size, matrix->dtype, TILE, tile[l]);
                else
                    convert(columns[c + l] + k * size, matrix->dtype, n_k, tile[l]);
            transpose(tile[0], TILE, n_c, n_k, panel + k * width + c, width);
        }
    }
}

/* Columns of F64, which lie along k: 16 at a time, a piece of all of them. */
static void pack_doubles(const struct attn_matrix *matrix, const unsigned char *const *columns,
                         size_t m, size_t width, float *panel)
{
    float values[TILE][TILE];

    for (size_t k = 0; k < matrix->n_row; k += TILE) {
        const size_t n_k = matrix->n_row - k < TILE ? matrix->n_row - k : TILE;

        for (size_t c = 0; c < m; c += TILE) {
            const size_t n_c = m - c < TILE ? m - c : TILE;

            for (size_t l = 0; l < n_c; l++)
                ATTN_FOR_ISA(attn_vector_convert)
            (columns[c + l] + k * sizeof(double), matrix->dtype, n_k, values[l]);
            transpose(values[0], TILE, n_c, n_k, panel + k * width + c, width);
        }
    }
}

/* --- Blocks ----------------------------------------------------------------------------------- */

enum { N_BYTE = sizeof(vb), N_DEEP = N_BYTE / TILE }; /* of a register; 16s of values in it */

/* Values of 16 columns, as blocks have them and with columns side by side. */
struct block_tile {
    struct attn_codes codes[TILE];
    float scale[ATTN_MOST_SCALES][TILE], offset[ATTN_MOST_SCALES][TILE];
    size_t n_k;      /* values of each column */
    vb turned[TILE]; /* value 16 i + j of what is at work on: [j][16 i + column] */
};

/* A piece of columns of blocks. */
struct block_piece {
    enum attn_dtype dtype;
    const unsigned char *const *columns;
    size_t at, n_byte; /* of each */
    size_t n_k;        /* values of each, up to 256 */
};

/* PIECE is what follows, where LEFT values are left. */
static inline void set_piece(struct block_piece *piece, size_t left)
{
    piece->n_k = left < ATTN_MOST_CODES ? left : ATTN_MOST_CODES;
    piece->n_byte = attn_dtype_n_byte(piece->dtype, piece->n_k);
}

/* A round of bytes that are turned round. */
static inline void shuffle_bytes(const vb x[TILE], vb y[TILE])
{
#pragma GCC unroll 8
    for (size_t l = 0; l < TILE / 2; l++) {
        y[2 * l] = v_low_bytes(x[l], x[l + TILE / 2]);
        y[2 * l + 1] = v_high_bytes(x[l], x[l + TILE / 2]);
    }
}

/* Turns N_BYTE values of each column round, from K on. */
static inline void turn_codes(struct block_tile *tile, size_t k)
{
    vb x[TILE], y[TILE];

    for (int l = 0; l < TILE; l++)
        memcpy(&x[l], tile->codes[l].n + k, sizeof x[l]);
    shuffle_bytes(x, y);
    shuffle_bytes(y, x);
    shuffle_bytes(x, y);
    shuffle_bytes(y, tile->turned);
}

/* Stores the transposed values, from value K on, into rows of a panel. Inlined where the last three
 * are constants: the columns that exist, at most 16, and the floats of a row of the panel. */
static inline void join_codes(const struct block_tile *tile, size_t k, float *panel,
                              bool has_offset, size_t n_c, size_t width)
{
    const size_t group = tile->codes[0].group;

    for (size_t i = 0; i < N_DEEP && k < tile->n_k; i++, k += TILE)
        for (size_t c = 0; c < n_c; c += LANES) {
            const vf scale = v_load(tile->scale[k / group] + c);
            const vf offset = v_load(tile->offset[k / group] + c);

#pragma GCC unroll 16
            for (size_t j = 0; j < TILE; j++) {
                const vf n = v_load_bytes((const char *)&tile->turned[j] + TILE * i + c);

                v_store_some(panel + (k + j) * width + c,
                             has_offset ? v_exact_fma(n, scale, offset) : n * scale, n_c - c);
            }
        }
}

static void split_columns(const struct block_piece *piece, size_t n_c, struct block_tile *tile)
{
    const size_t ld = sizeof *tile->codes / sizeof(float);
    size_t n_group;

    for (size_t l = 0; l < TILE; l++) { /* one that does not exist is as the first */
        const unsigned char *column = piece->columns[l < n_c ? l : 0] + piece->at;

        fetch_row(column + piece->n_byte, piece->n_byte);
        ATTN_FOR_ISA(attn_vector_split)(column, piece->dtype, piece->n_k, &tile->codes[l]);
    }
    tile->n_k = piece->n_k;
    n_group = piece->n_k / tile->codes[0].group;
    transpose(tile->codes[0].scale, ld, TILE, n_group, tile->scale[0], TILE);
    if (tile->codes[0].has_offset)
        transpose(tile->codes[0].offset, ld, TILE, n_group, tile->offset[0], TILE);
}

/* N_C columns of PIECE into a panel. */
static void pack_piece(const struct block_piece *piece, size_t n_c, size_t width, float *panel)
{
    struct block_tile tile;
    bool has_offset;

    split_columns(piece, n_c, &tile);
    has_offset = tile.codes[0].has_offset;
    for (size_t k = 0; k < piece->n_k; k += N_BYTE) {
        turn_codes(&tile, k);
        if (n_c < TILE || width < ATTN_PANEL)
            join_codes(&tile, k, panel, has_offset, n_c, width);
        else if (has_offset)
            join_codes(&tile, k, panel, true, TILE, ATTN_PANEL);
        else
            join_codes(&tile, k, panel, false, TILE, ATTN_PANEL);
    }
}

enum { N_TILE = ATTN_PANEL / TILE, N_PART_TILE = TILE / LANES };

/* SUM += x [16] times 16 values of 64 columns, which were turned and begin with the N_BYTE's part
 * I; all are of the group G. Inlined where HAS_OFFSET is a constant. */
static inline void add_products(const struct block_tile tiles[N_TILE], size_t i, size_t g,
                                bool has_offset, const float *x, vf sum[N_TILE][N_PART_TILE])
{
    vf total[N_TILE][N_PART_TILE]; /* in registers */

    memcpy(total, sum, sizeof total);
    for (size_t j = 0; j < TILE; j++) {
        const vf x_j = v_splat(x[j]);

#pragma GCC unroll 16
        for (size_t t = 0; t < N_TILE; t++)
#pragma GCC unroll 16
            for (size_t v = 0; v < N_PART_TILE; v++) {
                const vf scale = v_load(tiles[t].scale[g] + v * LANES);
                const vf offset = v_load(tiles[t].offset[g] + v * LANES);
                const vf n = v_load_bytes((const char *)&tiles[t].turned[j] + TILE * i + v * LANES);

                total[t][v] =
                    v_fma(x_j, has_offset ? v_exact_fma(n, scale, offset) : n * scale, total[t][v]);
            }
    }
    memcpy(sum, total, sizeof total);
}

/* The same for all values of a piece. */
static void add_piece(const struct block_piece *piece, const float *x, vf sum[N_TILE][N_PART_TILE])
{
    struct block_tile tiles[N_TILE];
    struct block_piece columns = *piece;
    bool has_offset;
    size_t group;

    for (size_t t = 0; t < N_TILE; t++, columns.columns += TILE)
        split_columns(&columns, TILE, &tiles[t]);
    group = tiles[0].codes[0].group;
    has_offset = tiles[0].codes[0].has_offset;
    for (size_t k = 0; k < piece->n_k;) {
        for (size_t t = 0; t < N_TILE; t++)
            turn_codes(&tiles[t], k);
        for (size_t i = 0; i < N_DEEP && k < piece->n_k; i++, k += TILE)
            if (has_offset)
                add_products(tiles, i, k / group, true, x + k, sum);
            else
                add_products(tiles, i, k / group, false, x + k, sum);
    }
}

void ATTN_FOR_ISA(attn_vector_multiply_blocks)(const struct attn_matrix *matrix, size_t first,
                                               const float *x, float *y)
{
    const unsigned char *columns[ATTN_PANEL];
    struct block_piece piece = {.dtype = matrix->dtype, .columns = columns};
    vf sum[N_TILE][N_PART_TILE] = {{{0}}};

    find_columns(matrix, first, ATTN_PANEL, columns);
    set_piece(&piece, matrix->n_row);
    for (size_t c = 0; c < ATTN_PANEL; c++)
        fetch_row(columns[c], piece.n_byte);
    for (size_t k = 0; k < matrix->n_row; k += piece.n_k, piece.at += piece.n_byte) {
        set_piece(&piece, matrix->n_row - k);
        add_piece(&piece, x + k, sum);
    }
    memcpy(y, sum, sizeof sum);
}

/* Columns of blocks, which lie along k: 16 at a time, a piece of all of them. */
static void pack_blocks(const struct attn_matrix *matrix, const unsigned char *const *columns,
                        size_t m, size_t width, float *panel)
{
    struct block_piece piece = {.dtype = matrix->dtype};

    for (size_t k = 0; k < matrix->n_row; k += piece.n_k, piece.at += piece.n_byte) {
        set_piece(&piece, matrix->n_row - k);
        for (size_t c = 0; c < m; c += TILE) {
            piece.columns = columns + c;
            pack_piece(&piece, m - c < TILE ? m - c : TILE, width, panel + k * width + c);
        }
    }
}

/* Any other layout, row by row, neighbouring columns together. */
static void pack_rows(const struct attn_matrix *matrix, const unsigned char *const *columns,
                      size_t m, size_t width, float *panel)
{
    size_t size = element_size(matrix->dtype);

    for (size_t c = 0, n_run; c < m; c += n_run) {
        for (n_run = 1; c + n_run < m && columns[c + n_run] == columns[c] + n_run * size; n_run++)
            ;
        for (size_t k = 0; k < matrix->n_row; k++) {
            if (k + ROW_AHEAD < matrix->n_row)
                fetch_row(columns[c] + (k + ROW_AHEAD) * matrix->row_stride * size, n_run * size);
            convert(columns[c] + k * matrix->row_stride * size, matrix->dtype, n_run,
                    panel + k * width + c);
        }
    }
}

void ATTN_FOR_ISA(attn_vector_pack_panel)(const struct attn_matrix *matrix, size_t first, size_t m,
                                          size_t width, float *panel)
{
    const unsigned char *columns[ATTN_PANEL];
    const bool is_of_blocks = attn_dtype_block(matrix->dtype) > 1;
    const bool is_double = matrix->dtype == ATTN_DTYPE_F64;

    assert(m <= width && width <= ATTN_PANEL && first <= matrix->n_col &&
           m <= matrix->n_col - first && (!(is_of_blocks || is_double) || matrix->row_stride == 1));
    find_columns(matrix, first, m, columns);
    if (is_of_blocks)
        pack_blocks(matrix, columns, m, width, panel);
    else if (is_double)
        pack_doubles(matrix, columns, m, width, panel);
    else if (matrix->row_stride == 1)
        pack_transposed(matrix, columns, m, width, panel);
    else
        pack_rows(matrix, columns, m, width, panel);
    for (size_t k = 0; k < matrix->n_row; k++)
        for (size_t c = m; c < width; c++)
            panel[k * width + c] = 0;
}

void ATTN_FOR_ISA(attn_vector_pack_keys)(const float *x, size_t ldx, size_t rows, size_t n,
                                         size_t first, float *panels)
{
    for (size_t r = 0, n_here; r < rows; r += n_here) {
        size_t at = (first + r) % ATTN_PANEL;
        float *panel = panels + (first + r) / ATTN_PANEL * n * ATTN_PANEL;

        n_here = ATTN_PANEL - at < rows - r ? ATTN_PANEL - at : rows - r;
        transpose(x + r * ldx, ldx, n_here, n, panel + at, ATTN_PANEL);
    }
}
