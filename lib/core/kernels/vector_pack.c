/*
 * vector_pack.c - converts weights and keys to the layout and type that the products read.
 *
 * Data in files may have any alignment, so it is read by memcpy only.
 */
#include "kernels/vector.h"

#include <assert.h>
#include <string.h>

static size_t element_size(enum attn_dtype dtype)
{
    return dtype == ATTN_DTYPE_F64 ? 8 : dtype == ATTN_DTYPE_F32 ? 4 : 2;
}

/* Loads up to LANES 16-bit elements, widened to 32 bits. LEFT elements remain at SRC; missing lanes
 * are 0. */
static inline vi load_halves(const unsigned char *src, size_t left)
{
    halves h = {0};

    if (left >= LANES)
        memcpy(&h, src, sizeof h);
    else
        memcpy(&h, src, left * sizeof(uint16_t));
    return __builtin_convertvector(h, vi);
}

static inline vf convert_some(const unsigned char *src, enum attn_dtype dtype, size_t left)
{
    vf x = {0};

    if (dtype == ATTN_DTYPE_F16)
        return v_of_halves(load_halves(src, left));
    if (dtype == ATTN_DTYPE_BF16)
        return (vf)(load_halves(src, left) << 16);
    for (size_t l = 0; dtype == ATTN_DTYPE_F64 && l < LANES && l < left; l++) {
        double wide;

        memcpy(&wide, src + l * sizeof wide, sizeof wide);
        x[l] = (float)wide;
    }
    if (dtype == ATTN_DTYPE_F64)
        return x;
    if (left >= LANES)
        memcpy(&x, src, sizeof x);
    else
        memcpy(&x, src, left * sizeof(float));
    return x;
}

/* Converts N elements of DTYPE to floats. Inlined with a constant N. */
static inline void convert(const unsigned char *src, enum attn_dtype dtype, size_t n, float *y)
{
    size_t size = element_size(dtype);

    for (size_t i = 0; i < n; i += LANES)
        v_store_some(y + i, convert_some(src + i * size, dtype, n - i), n - i);
}

void ATTN_FOR_ISA(attn_vector_convert)(const void *src, enum attn_dtype dtype, size_t n, float *y)
{
    assert(dtype == ATTN_DTYPE_F32 || dtype == ATTN_DTYPE_F16 || dtype == ATTN_DTYPE_BF16 ||
           dtype == ATTN_DTYPE_F64 || attn_dtype_block(dtype) > 1);
    if (attn_dtype_block(dtype) > 1)
        ATTN_FOR_ISA(attn_vector_decode)(src, dtype, n, y);
    else
        convert(src, dtype, n, y);
}

typedef int32_t quad_index __attribute__((vector_size(16)));

static inline void transpose_4x4(const float *x, size_t ldx, float *y, size_t ldy)
{
    quad a, b, c, d, low_ab, low_cd, high_ab, high_cd;

    memcpy(&a, x, sizeof a);
    memcpy(&b, x + ldx, sizeof b);
    memcpy(&c, x + 2 * ldx, sizeof c);
    memcpy(&d, x + 3 * ldx, sizeof d);
    low_ab = V_SHUFFLE(quad_index, a, b, 0, 4, 1, 5);
    low_cd = V_SHUFFLE(quad_index, c, d, 0, 4, 1, 5);
    high_ab = V_SHUFFLE(quad_index, a, b, 2, 6, 3, 7);
    high_cd = V_SHUFFLE(quad_index, c, d, 2, 6, 3, 7);
    a = V_SHUFFLE(quad_index, low_ab, low_cd, 0, 1, 4, 5);
    b = V_SHUFFLE(quad_index, low_ab, low_cd, 2, 3, 6, 7);
    c = V_SHUFFLE(quad_index, high_ab, high_cd, 0, 1, 4, 5);
    d = V_SHUFFLE(quad_index, high_ab, high_cd, 2, 3, 6, 7);
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

/* Sets COLUMNS [n] to the addresses of columns FIRST to FIRST+N-1. */
static void find_columns(const struct attn_matrix *matrix, size_t first, size_t n,
                         const unsigned char **columns)
{
    /* Columns at equal distances, which needs no division for each: 5 % of one row of blocks. */
    const size_t step = attn_dtype_n_byte(matrix->dtype, matrix->col_stride);
    const bool is_even = !matrix->is_interleaved && first % matrix->group + n <= matrix->group;

    for (size_t c = 0; c < n; c++)
        columns[c] =
            is_even && c > 0
                ? columns[c - 1] + step
                : (const unsigned char *)matrix->data +
                      attn_dtype_n_byte(matrix->dtype, attn_matrix_column_at(matrix, first + c));
}

/* How far ahead to prefetch: elements of a column, and rows. The next reads are in many places,
 * which no processor predicts, and would stall without prefetches. And bytes of tiles for few rows:
 * half as many take 10 % longer, the next panel in the L2 cache 15 %. Measured on a Zen 5 core. */
enum { COLUMN_AHEAD = 64, ROW_AHEAD = 16, AHEAD = 8192, LINE = 64 };

/* Prefetches one cache line of each of N columns, AT bytes from its beginning. */
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

/* Packs columns of a matrix in which the elements of a column are adjacent. Reads 16 columns side
 * by side, and transposes one tile at a time. */
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

/* --- Blocks ----------------------------------------------------------------------------------- */

/* Reads columns of blocks, in pieces of up to 256 values. Meanwhile the next panel is prefetched in
 * memory order. On a Zen 4 core that doubled the throughput, from 9 to 18 GB/s, compared to
 * prefetching ahead in each of the 64 columns. It prefetches a few lines at a time: a whole piece
 * at once was slower than no prefetch. */
struct block_piece {
    enum attn_dtype dtype;
    const unsigned char *columns[ATTN_PANEL]; /* the current address in each column */
    /* Prefetched meanwhile; NULL: prefetches ahead in each column. After n_own bytes, if not 0,
     * `after` follows. is_soon: into the L1 cache. */
    const unsigned char *next, *after;
    size_t n_own;
    bool is_soon;
    /* Values of a column in this piece, and values from its start to the end of the column. */
    size_t n_k, left;
    size_t n_byte;         /* size of a column in this piece */
    struct attn_tile tile; /* without numbers */
    char *tiles;           /* the tile of this piece, if it was made before; or NULL */
    size_t first;          /* the first column in the 64 of that tile */
};

/* Starts PIECE before the first piece of columns FIRST to FIRST+M-1 of MATRIX. Columns of the panel
 * from M on repeat the first column. */
static void begin_columns(struct block_piece *piece, const struct attn_matrix *matrix, size_t first,
                          size_t m)
{
    const size_t at = first % ATTN_PANEL;

    *piece = (struct block_piece){.dtype = matrix->dtype,
                                  .next = matrix->next,
                                  .left = matrix->n_row,
                                  .tile = ATTN_FOR_ISA(attn_vector_describe_tile)(matrix->dtype)};
    if (matrix->tiles && at % TILE == 0 && at + m <= ATTN_PANEL) {
        piece->tiles = (char *)matrix->tiles + first / ATTN_PANEL * matrix->tile_step;
        piece->first = at;
        return;
    }
    find_columns(matrix, first, m, piece->columns);
    for (size_t c = m; c < ATTN_PANEL; c++)
        piece->columns[c] = piece->columns[0];
}

/* Advances PIECE to the next piece. Returns false after the last one. */
static bool find_piece(struct block_piece *piece)
{
    if (piece->tiles)
        piece->tiles += ATTN_PANEL * piece->n_byte;
    piece->left -= piece->n_k;
    piece->n_k = piece->left < ATTN_MOST_CODES ? piece->left : ATTN_MOST_CODES;
    piece->n_byte = piece->tiles ? piece->n_k / piece->tile.n_k * piece->tile.size / ATTN_PANEL
                                 : attn_dtype_n_byte(piece->dtype, piece->n_k);
    return piece->n_k > 0;
}

/* Splits the first M columns of the current piece, or some more, into TILE, and advances them. */
static void split_piece(struct block_piece *piece, size_t m, const struct attn_tile *tile)
{
    for (size_t first = 0; first < m; first += TILE) {
        const unsigned char **columns = &piece->columns[first];

        for (size_t l = 0; l < TILE && !piece->next; l++)
            for (size_t i = 0; i < piece->n_byte; i += LINE)
                __builtin_prefetch(columns[l] + piece->n_byte + i, 0, 2);
        ATTN_FOR_ISA(attn_vector_fill_tile)(columns, piece->dtype, piece->n_k, tile, first);
        for (size_t l = 0; l < TILE; l++)
            columns[l] += piece->n_byte;
    }
}

/* Returns the tile of M columns of the current piece, from piece->first on, which was made before
 * or is made in ROOM. */
static struct attn_tile read_tile(struct block_piece *piece, size_t m, struct attn_tile_room *room)
{
    struct attn_tile tile = piece->tile;

    tile.units = piece->tiles ? piece->tiles : room->units;
    if (!piece->tiles)
        split_piece(piece, m, &tile);
    return tile;
}

size_t ATTN_FOR_ISA(attn_vector_tiles_size)(enum attn_dtype dtype, size_t n_row)
{
    const struct attn_tile tile = ATTN_FOR_ISA(attn_vector_describe_tile)(dtype);

    return LANES < 8 ? 0 : n_row / tile.n_k * tile.size;
}

void ATTN_FOR_ISA(attn_vector_make_tiles)(const struct attn_matrix *matrix, size_t first, size_t m,
                                          void *tiles)
{
    struct block_piece piece;
    struct attn_tile tile;

    assert(!matrix->tiles);
    begin_columns(&piece, matrix, first, m);
    tile = piece.tile;
    for (tile.units = tiles; find_piece(&piece); tile.units += piece.n_k / tile.n_k * tile.size)
        split_piece(&piece, ATTN_PANEL, &tile);
}

/* Where 16 adjacent values of some columns are: their words, and rows of scales and offsets, and
 * for codes of four bits the half of a byte, and how many times the bits of that half are their
 * code. */
struct place {
    const float *words;
    const char *scale, *offset;
    bool is_high;
    float times;
};

/* Returns the place of 16 values number I of the unit at UNIT, for the columns from C on. */
static inline struct place find_place(const struct attn_tile *tile, const char *unit, size_t i,
                                      size_t c)
{
    /* A run is one or two times 16. */
    const size_t each = tile->run / TILE, at = each > 0 ? i & (each - 1) : i;
    const size_t numbers = attn_tile_bytes(tile, (i >> (tile->group > TILE)) * ATTN_PANEL + c);
    const bool is_high = each > 0 && i >= each;

    return (struct place){
        .words = (const float *)(const void *)(unit + tile->n_word * at * ATTN_WORD_ROW) + c,
        .scale = unit + tile->scale_at + numbers,
        .offset = unit + tile->offset_at + numbers,
        .is_high = is_high,
        .times = is_high ? 16 : 1};
}

/* How the codes of a tile are read. FIVES need V_LOOKS_UP, and FOURS_WITH_ZERO its absence. */
enum code_kind { BYTES, FOURS, FOURS_WITH_ZERO, FIVES };

static enum code_kind kind_of(const struct attn_tile *tile)
{
    if (tile->run == 0)
        return tile->n_word < 4 ? FIVES : BYTES;
    return tile->zero == 0 || V_LOOKS_UP ? FOURS : FOURS_WITH_ZERO;
}

/* Converts code I of the words at P to floats; SHIFT is that of its half of a byte. Codes 4 to 7,
 * of five bits, are codes 12 to 15 of 16, and P then has the first words. With four bits but
 * without V_LOOKS_UP it is place->times the code, which is exact. */
static inline __attribute__((always_inline)) vf read_code(const struct attn_tile *tile,
                                                          const struct place *place, const float *p,
                                                          size_t i, enum code_kind kind, int shift)
{
    vf code;

    if (kind == BYTES)
        return __builtin_convertvector(v_load_code(p, i), vf);
    if (kind == FIVES)
        return v_look_up(tile->values,
                         i < 4 ? (vi)v_load(p) >> 5 * (int)i
                               : (vi)v_load(p + (i - 4) / 2 * ATTN_PANEL) >> (20 + 5 * (int)i % 10),
                         true);
    if (V_LOOKS_UP)
        return v_look_up(tile->values, (vi)v_load(p) >> (8 * (int)i + shift), false);
    code = __builtin_convertvector(v_load_code(p, i) & 15 << shift, vf);
    return kind == FOURS ? code : code - (float)tile->zero * place->times;
}

/* Loads columns C to C+LANES-1 of a ROW of scales or offsets. */
static inline vf load_numbers(const struct attn_tile *tile, const char *row, size_t c)
{
    const char *p = row + attn_tile_bytes(tile, c);

    return tile->has_halves ? v_load_halves(p) : v_load((const float *)(const void *)p);
}

/* Loads the scales of LANES columns from C on for these codes. */
static inline vf load_scale(const struct attn_tile *tile, const struct place *place, size_t c,
                            enum code_kind kind)
{
    const vf scale = load_numbers(tile, place->scale, c);

    return kind == BYTES || V_LOOKS_UP ? scale : scale * (1 / place->times);
}

static inline vf load_offset(const struct attn_tile *tile, const struct place *place, size_t c)
{
    /* x + -0 is x for either sign of zero. */
    return tile->has_offset ? load_numbers(tile, place->offset, c) : v_splat(-0.0F);
}

/* Prefetches the next N bytes. The number of lines is the same each time, so that the branch
 * predicts well; some lines are prefetched twice. */
static inline void fetch_some(struct block_piece *piece, size_t n)
{
    for (size_t i = 0; piece->next && i < n; i += LINE)
        if (piece->is_soon)
            __builtin_prefetch(piece->next + i, 0, 3);
        else
            __builtin_prefetch(piece->next + i, 0, 2);
    piece->next = piece->next ? piece->next + n : NULL;
    if (piece->n_own > 0 && (piece->n_own -= n) == 0)
        piece->next = piece->after;
}

/* How columns of a tile are joined: N_C, at most 16, of which columns exist, into rows of WIDTH
 * floats, SHIFT as of read_code. Passed on as constants to functions that are inlined. */
struct joining {
    size_t n_c, width;
    enum code_kind kind;
    int shift;
};

/* Writes 16 values at PLACE to rows of a panel, for a register of columns from C on. */
static inline __attribute__((always_inline)) void join_sixteen(const struct attn_tile *tile,
                                                               const struct place *place, size_t c,
                                                               float *panel, struct joining how)
{
    const vf scale = load_scale(tile, place, c, how.kind);
    const vf offset = load_offset(tile, place, c);

#pragma GCC unroll 16
    for (size_t j = 0; j < TILE; j++) {
        const bool is_apart = how.kind == FIVES && j >= 12;
        const float *p = place->words + (is_apart ? 0 : j / 4 * ATTN_PANEL) + c;
        const size_t i = j % 4 + (is_apart ? 4 : 0);

        v_store_some(panel + j * how.width + c,
                     v_exact_fma(read_code(tile, place, p, i, how.kind, how.shift), scale, offset),
                     how.n_c - c);
    }
}

/* Computes the values of columns FIRST on of a tile and writes them to rows of a panel. */
static inline __attribute__((always_inline)) void join_codes(const struct attn_tile *tile,
                                                             struct block_piece *piece,
                                                             size_t first, float *panel,
                                                             struct joining how)
{
    const size_t n_k = piece->n_k;
    const char *unit = tile->units;

    for (size_t k = 0, i = 0; k < n_k; k += TILE, panel += TILE * how.width) {
        const struct place place = find_place(tile, unit, i, first);

        i = TILE * (i + 1) < tile->n_k ? i + 1 : 0;
        unit += i > 0 ? 0 : tile->size;
        fetch_some(piece, piece->n_byte * TILE / (n_k / TILE));
        for (size_t c = 0; c < how.n_c; c += LANES) {
            if (place.is_high)
                join_sixteen(tile, &place, c, panel,
                             (struct joining){how.n_c, how.width, how.kind, 4});
            else
                join_sixteen(tile, &place, c, panel,
                             (struct joining){how.n_c, how.width, how.kind, 0});
        }
    }
}

/* The same for a panel or a slice. */
static inline __attribute__((always_inline)) void join_columns(const struct attn_tile *tile,
                                                               struct block_piece *piece,
                                                               size_t first, float *panel,
                                                               struct joining how)
{
    if (how.n_c == TILE && how.width == ATTN_PANEL)
        join_codes(tile, piece, first, panel, (struct joining){TILE, ATTN_PANEL, how.kind, 0});
    else if (how.n_c == TILE && how.width == TILE)
        join_codes(tile, piece, first, panel, (struct joining){TILE, TILE, how.kind, 0});
    else
        join_codes(tile, piece, first, panel, how);
}

static void pack_blocks(const struct attn_matrix *matrix, size_t first, size_t m, size_t width,
                        float *panel)
{
    struct block_piece piece;
    struct attn_tile_room room;

    begin_columns(&piece, matrix, first, m);
    for (; find_piece(&piece); panel += piece.n_k * width) {
        const struct attn_tile tile = read_tile(&piece, m, &room);
        const enum code_kind kind = kind_of(&tile);

        for (size_t c = 0; c < m; c += TILE) {
            const size_t n_c = m - c < TILE ? m - c : TILE, at = piece.first + c;

            if (kind == BYTES)
                join_columns(&tile, &piece, at, panel + c, (struct joining){n_c, width, BYTES, 0});
            else if (kind == FOURS)
                join_columns(&tile, &piece, at, panel + c, (struct joining){n_c, width, FOURS, 0});
            else
                join_columns(&tile, &piece, at, panel + c,
                             (struct joining){n_c, width, V_LOOKS_UP ? FIVES : FOURS_WITH_ZERO, 0});
        }
    }
}

/* N rows of x and y, with their strides, and N_K values of 64 columns to multiply them by. */
struct few_rows {
    size_t n, ldx, ldy, n_k;
    struct attn_tile tile;
    const float *x;
    float *y;
    struct block_piece *piece;
    size_t ahead; /* bytes to prefetch for 16 values; first rows alone */
};

enum { MOST_ACROSS = 4 };

/* Returns VALUE, and adds X times VALUE to SUM unless SUM is NULL: products of one row use each
 * value at once, and keep none. */
static inline __attribute__((always_inline)) vf use_value(vf value, float x, vf *sum)
{
    if (sum)
        *sum = v_fma(v_splat(x), value, *sum);
    return value;
}

/* How some rows are multiplied: ROWS of them by ACROSS registers of columns, SHIFT and code FIRST
 * as of read_code. Passed on as constants to functions that are inlined, so that the sums stay in
 * registers. */
struct multiplying {
    size_t rows, across;
    enum code_kind kind;
    int shift;
    size_t first;
};

/* The scales and offsets of a place. */
struct numbers {
    vf scale[MOST_ACROSS], offset[MOST_ACROSS];
};

/* Adds the products of X and four codes, from code how.first of the words at PLACE on, to SUM. */
static inline __attribute__((always_inline)) void
add_four(const struct few_rows *few, const float *x, const struct place *place,
         const struct numbers *numbers, vf (*sum)[MOST_ACROSS], struct multiplying how)
{
    vf value[MOST_ACROSS];

#pragma GCC unroll 8
    for (size_t b = 0; b < 4; b++) {
#pragma GCC unroll 8
        for (size_t v = 0; v < how.across; v++)
            value[v] = use_value(v_exact_fma(read_code(&few->tile, place, place->words + v * LANES,
                                                       how.first + b, how.kind, how.shift),
                                             numbers->scale[v], numbers->offset[v]),
                                 x[b], how.rows == 1 ? &sum[0][v] : NULL);
#pragma GCC unroll 8
        for (size_t i = how.rows > 1 ? 0 : how.rows; i < how.rows; i++)
#pragma GCC unroll 8
            for (size_t v = 0; v < how.across; v++)
                sum[i][v] = v_fma(v_splat(x[i * few->ldx + b]), value[v], sum[i][v]);
    }
}

/* Adds the products of X and 16 values at PLACE to SUM. */
static inline __attribute__((always_inline)) void
add_sixteen(const struct few_rows *few, const float *x, const struct place *place,
            vf (*sum)[MOST_ACROSS], struct multiplying how)
{
    struct place here = *place;
    struct numbers numbers;

#pragma GCC unroll 8
    for (size_t v = 0; v < how.across; v++) {
        numbers.scale[v] = load_scale(&few->tile, place, v * LANES, how.kind);
        numbers.offset[v] = load_offset(&few->tile, place, v * LANES);
    }
    for (size_t j = 0; j < (how.kind == FIVES ? 3 : 4); j++, here.words += ATTN_PANEL)
        add_four(few, x + 4 * j, &here, &numbers, sum, how);
    how.first = 4;
    if (how.kind == FIVES)
        add_four(few, x + 12, place, &numbers, sum, how);
}

/* Adds x times the values to y, for columns from C on. */
static inline __attribute__((always_inline)) void add_products(const struct few_rows *few, size_t c,
                                                               struct multiplying how)
{
    vf sum[6][MOST_ACROSS];
    size_t k = 0;

#pragma GCC unroll 32
    for (size_t i = 0; i < how.rows * how.across; i++)
        sum[i / how.across][i % how.across] =
            v_load(few->y + i / how.across * few->ldy + c + i % how.across * LANES);
    for (const char *unit = few->tile.units; k < few->n_k; unit += few->tile.size)
        for (size_t i = 0; TILE * i < few->tile.n_k; i++, k += TILE) {
            const struct place place = find_place(&few->tile, unit, i, c);

            if (c == 0)
                fetch_some(few->piece, few->ahead);
            if (place.is_high)
                add_sixteen(few, few->x + k, &place, sum,
                            (struct multiplying){how.rows, how.across, how.kind, 4, 0});
            else
                add_sixteen(few, few->x + k, &place, sum, how);
        }
#pragma GCC unroll 32
    for (size_t i = 0; i < how.rows * how.across; i++)
        v_store(few->y + i / how.across * few->ldy + c + i % how.across * LANES,
                sum[i / how.across][i % how.across]);
}

/* The same for all rows, 6, 3 and 1 at a time, and columns. */
static inline __attribute__((always_inline)) void add_rows(struct few_rows few, enum code_kind kind)
{
    for (size_t n; few.n > 0;
         few.n -= n, few.x += n * few.ldx, few.y += n * few.ldy, few.ahead = 0) {
        const size_t across = few.n < 3 ? MOST_ACROSS : 2;

        n = few.n >= 6 ? 6 : few.n >= 3 ? 3 : 1;
        for (size_t c = 0; c < ATTN_PANEL; c += across * LANES)
            if (n == 1)
                add_products(&few, c, (struct multiplying){1, MOST_ACROSS, kind, 0, 0});
            else if (n == 3)
                add_products(&few, c, (struct multiplying){3, 2, kind, 0, 0});
            else
                add_products(&few, c, (struct multiplying){6, 2, kind, 0, 0});
    }
}

/* Makes PIECE, a whole panel, prefetch tiles AHEAD bytes before they are read. */
static void begin_soon(struct block_piece *piece)
{
    const size_t each = piece->tile.size * TILE / piece->tile.n_k, ahead = AHEAD / each * each;
    const size_t all = piece->left / TILE * each;

    piece->is_soon = true;
    piece->after = piece->next;
    piece->n_own = all > ahead ? all - ahead : 0;
    if (piece->n_own > 0)
        piece->next = (const unsigned char *)piece->tiles + ahead;
}

void ATTN_FOR_ISA(attn_vector_multiply_blocks)(const struct attn_matrix *matrix, size_t first,
                                               const struct attn_gemm_shape *shape, const float *x,
                                               float *y)
{
    struct block_piece piece;
    struct attn_tile_room room;
    enum code_kind kind;

    for (size_t i = 0; i < shape->n && !shape->is_continued; i++)
        memset(y + i * shape->ldc, 0, ATTN_PANEL * sizeof *y);
    begin_columns(&piece, matrix, first, ATTN_PANEL);
    if (piece.tiles)
        begin_soon(&piece);
    for (kind = kind_of(&piece.tile); find_piece(&piece); x += piece.n_k) {
        const struct few_rows few = {.n = shape->n,
                                     .ldx = shape->ldb,
                                     .ldy = shape->ldc,
                                     .n_k = piece.n_k,
                                     .tile = read_tile(&piece, ATTN_PANEL, &room),
                                     .x = x,
                                     .y = y,
                                     .piece = &piece,
                                     .ahead = ATTN_PANEL * piece.n_byte / (piece.n_k / TILE)};

        if (kind == BYTES)
            add_rows(few, BYTES);
        else if (kind == FOURS)
            add_rows(few, FOURS);
        else
            add_rows(few, V_LOOKS_UP ? FIVES : FOURS_WITH_ZERO);
    }
}

/* Packs a matrix of any other layout row by row. Adjacent columns are converted together. */
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
            for (size_t i = c, n; i < c + n_run; i += n) {
                n = width - i % width < c + n_run - i ? width - i % width : c + n_run - i;
                if (n == TILE) /* a constant */
                    convert(columns[i] + k * matrix->row_stride * size, matrix->dtype, TILE,
                            panel + (i / width * matrix->n_row + k) * width + i % width);
                else
                    convert(columns[i] + k * matrix->row_stride * size, matrix->dtype, n,
                            panel + (i / width * matrix->n_row + k) * width + i % width);
            }
        }
    }
}

/* One slice after the other, because the numbers of a column are adjacent. */
static void pack_slices(const struct attn_matrix *matrix, size_t first, size_t m, size_t width,
                        float *panel)
{
    struct attn_matrix slice = *matrix;

    for (size_t c = 0; c < m; c += width) {
        if (matrix->next)
            slice.next = (const char *)matrix->next +
                         attn_dtype_n_byte(matrix->dtype, c * matrix->col_stride);
        ATTN_FOR_ISA(attn_vector_pack_panel)
        (&slice, first + c, width, width, panel + c * matrix->n_row);
    }
}

void ATTN_FOR_ISA(attn_vector_pack_panel)(const struct attn_matrix *matrix, size_t first, size_t m,
                                          size_t width, float *panel)
{
    const unsigned char *columns[ATTN_PANEL];
    const bool is_of_blocks = attn_dtype_block(matrix->dtype) > 1;

    if (m > width && matrix->row_stride == 1) {
        pack_slices(matrix, first, m, width, panel);
        return;
    }
    assert(m <= ATTN_PANEL && width <= ATTN_PANEL && first <= matrix->n_col &&
           m <= matrix->n_col - first && (!is_of_blocks || matrix->row_stride == 1));
    if (is_of_blocks) {
        pack_blocks(matrix, first, m, width, panel);
    } else {
        find_columns(matrix, first, m, columns);
        if (matrix->row_stride == 1)
            pack_transposed(matrix, columns, m, width, panel);
        else
            pack_rows(matrix, columns, m, width, panel);
    }
    for (size_t k = 0; k < matrix->n_row; k++)
        for (size_t c = m; c < width; c++) /* none if m > width */
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
