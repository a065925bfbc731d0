/*
 * vector_tiles.c - splits blocks of 16 adjacent columns.
 *
 * The most frequent types are transposed without splitting them first, 16 bytes of each column at a
 * time, and their scales are computed for all columns at once. Blocks of other types are split one
 * by one. vector_blocks.c describes the bytes of a block.
 */
#include "kernels/vector.h"

/* The addresses of LANES columns of blocks, and the column of the tile that gets the first one.
 * ZERO is subtracted from codes of five bits. */
struct source {
    const unsigned char *const *columns;
    const struct attn_tile *tile;
    size_t at;
    uint8_t zero;
};

/* Returns row I of rows of BYTES bytes that begin at AT in each unit, of which a unit has 1 <<
 * SHIFT.
 */
static inline char *find_row(struct source s, size_t at, size_t bytes, size_t i, int shift)
{
    return s.tile->units + (i >> shift) * s.tile->size + at +
           (i & (((size_t)1 << shift) - 1)) * bytes;
}

/* Stores scales X in row I of a tile, or offsets. */
static inline void put_numbers(struct source s, size_t i, bool is_offset, vf x)
{
    char *row = find_row(s, is_offset ? s.tile->offset_at : s.tile->scale_at,
                         attn_tile_bytes(s.tile, ATTN_PANEL), i, s.tile->n_k > s.tile->group);
    char *p = row + attn_tile_bytes(s.tile, s.at);

    if (s.tile->has_halves)
        v_store_halves(p, x);
    else
        v_store((float *)(void *)p, x);
}

/* Reads the F16 that begins at bit AT of each word. */
static inline vf half(vi words, int at)
{
#if defined __AVX512F__
    return (vf)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)(words >> at)));
#else
    return v_of_halves(words >> at & 0xffff);
#endif
}

/* Converts signed byte I of each word to floats. */
static inline vf byte(vi words, size_t i)
{
    return __builtin_convertvector(words << (24 - 8 * i) >> 24, vf);
}

/* Joins the lowest five bits of the bytes of WORDS. Words 0 to 2 get their own four codes, from bit
 * 0 on; word 0 also gets codes 12 and 13, from bit 20 on, and word 1 codes 14 and 15. */
static inline void join_fives(vi words[4])
{
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        const vi pairs = (words[j] & 0x001f001f) | (words[j] >> 3 & 0x03e003e0);

        words[j] = (pairs & 0x3ff) | (pairs >> 6 & 0xffc00);
    }
    words[0] |= words[3] << 20;
    words[1] |= words[3] >> 10 << 20;
}

/* Stores 16 bytes of each column, number I of those with codes. Changes WORDS. */
static inline void put(vi words[4], size_t i, struct source s)
{
    const size_t n_word = s.tile->n_word;
    const int shift = s.tile->scale_at > (size_t)4 * ATTN_WORD_ROW; /* a unit has 16 or 32 bytes */
    float *row = (float *)(void *)find_row(s, 0, n_word * ATTN_WORD_ROW, i, shift) + s.at;

    if (V_LOOKS_UP && n_word < 4)
        join_fives(words);
#pragma GCC unroll 4
    for (size_t j = 0; j < n_word; j++, row += ATTN_PANEL)
        if (V_LOOKS_UP && s.tile->values)
            v_store(row, (vf)words[j]);
        else
            v_store_codes(row, words[j]);
}

/* Copies 16 bytes at offset AT of each column, number I of those with codes. */
static inline void copy(struct source s, size_t at, size_t i)
{
    vi words[4];

    v_turn_columns(s.columns, at, words);
    put(words, i, s);
}

/* A block is d, m, s[12], q[128]. */
static inline void fill_q4_k(struct source s)
{
    vi head[4], scales[2], minima[2];
    vf d, m;

    v_turn_columns(s.columns, 0, head);
    d = half(head[0], 0);
    m = -half(head[0], 16);
    scales[0] = head[1] & 0x3f3f3f3f;
    scales[1] = (head[3] & 0x0f0f0f0f) | (head[1] >> 2 & 0x30303030);
    minima[0] = head[2] & 0x3f3f3f3f;
    minima[1] = (head[3] >> 4 & 0x0f0f0f0f) | (head[2] >> 2 & 0x30303030);
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; j++) {
        put_numbers(s, j, false, d * byte(scales[j / 4], j % 4));
        put_numbers(s, j, true, m * byte(minima[j / 4], j % 4));
    }
    for (size_t i = 0; i < 8; i++)
        copy(s, 16 + 16 * i, i);
}

/* Reads the first 16 bytes of block I, at BLOCK, into HEAD. It begins with d, and with m if the
 * tile has offsets. */
static inline void read_head(struct source s, size_t block, size_t i, vi head[4])
{
    v_turn_columns(s.columns, block, head);
    put_numbers(s, i, false, half(head[0], 0));
    if (s.tile->has_offset)
        put_numbers(s, i, true, half(head[0], 16));
}

/* A block is d, m if the tile has offsets, and N_PART times q[16]: 1 with codes of four bits, 2
 * with signed bytes. */
static inline void fill_32(struct source s, size_t n, size_t n_part)
{
    const size_t n_head = s.tile->has_offset ? 4 : 2;

    for (size_t i = 0; i < n / 32; i++) {
        const size_t block = (n_head + 16 * n_part) * i;
        vi head[4];

        read_head(s, block, i, head);
        for (size_t part = 0; part < n_part; part++)
            copy(s, block + n_head + 16 * part, n_part * i + part);
    }
}

/* Joins four low bits in each byte and, in byte B, bit FROM + B of HIGH. Subtracts ZERO. */
static inline vi join_five(vi low, vi high, int from, uint8_t zero)
{
    const vi fifth = (high >> from & 15) * 0x00204081 & 0x01010101;

    return (vi)((vb)((low & 0x0f0f0f0f) | fifth << 4) - zero);
}

/* A block is d, m if the tile has offsets, h[4], q[16]. */
static inline void fill_fives(struct source s, size_t n)
{
    const size_t n_head = s.tile->has_offset ? 8 : 6;

    for (size_t i = 0; i < n / 32; i++) {
        const size_t block = (n_head + 16) * i;
        vi head[4], words[4], low[4], high[4], h;

        read_head(s, block, i, head);
        h = s.tile->has_offset ? head[1] : (head[0] >> 16 & 0xffff) | head[1] << 16;
        v_turn_columns(s.columns, block + n_head, words);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            low[j] = join_five(words[j], h, 4 * j, s.zero);
            high[j] = join_five(words[j] >> 4, h, 16 + 4 * j, s.zero);
        }
        put(low, 2 * i, s);
        put(high, 2 * i + 1, s);
    }
}

/* Joins four low and two high bits in each byte, and subtracts 32. */
static inline vi less_32(vi low, vi high)
{
    const vi minus = ~high & 0x20202020;

    return (low & 0x0f0f0f0f) | (high & 0x10101010) | minus | minus << 1 | minus << 2;
}

/* A block is q[128], h[64], s[16] of signed bytes, d. */
static inline void fill_q6_k(struct source s)
{
    vi scales[4], last[4];
    vf d;

    v_turn_columns(s.columns, 192, scales);
    v_turn_columns(s.columns, 194, last);
    d = half(last[3], 16);
#pragma GCC unroll 16
    for (size_t j = 0; j < 16; j++)
        put_numbers(s, j, false, d * byte(scales[j / 4], j % 4));
    for (size_t i = 0; i < 4; i++) { /* 16 bytes of h each */
        const size_t part = i / 2, first = 8 * part + i % 2;
        vi high[4], low[2][4], codes[4][4];

        v_turn_columns(s.columns, 128 + 16 * i, high);
        v_turn_columns(s.columns, 64 * part + i % 2 * 16, low[0]);
        v_turn_columns(s.columns, 64 * part + i % 2 * 16 + 32, low[1]);
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++) {
            codes[0][j] = less_32(low[0][j], high[j] << 4);
            codes[1][j] = less_32(low[1][j], high[j] << 2);
            codes[2][j] = less_32(low[0][j] >> 4, high[j]);
            codes[3][j] = less_32(low[1][j] >> 4, high[j] >> 2);
        }
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++)
            put(codes[j], first + 2 * j, s);
    }
}

/* Splits the blocks one by one, then transposes what that gives. */
static __attribute__((noinline)) void fill_any(const unsigned char *const *columns,
                                               enum attn_dtype dtype, size_t n,
                                               const struct attn_tile *t, size_t first)
{
    struct attn_codes codes[ATTN_TILE];
    const unsigned char *parts[3][ATTN_TILE];

    for (size_t l = 0; l < ATTN_TILE; l++) {
        ATTN_FOR_ISA(attn_vector_split)(columns[l], dtype, n, &codes[l]);
        parts[0][l] = (const unsigned char *)codes[l].n;
        parts[1][l] = (const unsigned char *)codes[l].scale;
        parts[2][l] = (const unsigned char *)codes[l].offset;
    }
    for (size_t at = 0; at < ATTN_TILE; at += LANES) {
        const struct source s = {.columns = parts[0] + at, .tile = t, .at = first + at};

        for (size_t i = 0; i < n / 16; i++)
            copy(s, 16 * i, i);
        for (size_t part = 1; part < 2 + (size_t)t->has_offset; part++)
            for (size_t g = 0; g < n / t->group; g += 4) {
                const size_t n_group = n / t->group - g < 4 ? n / t->group - g : 4;
                vi words[4];

                v_turn_columns(parts[part] + at, g * sizeof(float), words);
                for (size_t j = 0; j < n_group; j++)
                    put_numbers(s, g + j, part == 2, (vf)words[j]);
            }
    }
}

static uint8_t zero_of(enum attn_dtype dtype)
{
    return dtype == ATTN_DTYPE_Q4_0 ? 8 : dtype == ATTN_DTYPE_Q5_0 ? 16 : 0;
}

/* Returns the run of a type whose codes have four bits; 0 for others. */
static size_t run_of(enum attn_dtype dtype)
{
    return dtype == ATTN_DTYPE_Q4_K                               ? 32
           : dtype == ATTN_DTYPE_Q4_0 || dtype == ATTN_DTYPE_Q4_1 ? 16
                                                                  : 0;
}

struct attn_tile ATTN_FOR_ISA(attn_vector_describe_tile)(enum attn_dtype dtype)
{
    static const float values[] = {-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5,
                                   -4,  -3,  -2,  -1,  0,   1,   2,   3,  4,  5,  6,  7,
                                   8,   9,   10,  11,  12,  13,  14,  15, 16, 17, 18, 19,
                                   20,  21,  22,  23,  24,  25,  26,  27, 28, 29, 30, 31};
    struct attn_tile tile = {.run = run_of(dtype)};
    const bool has_five =
        dtype == ATTN_DTYPE_Q5_0 || dtype == ATTN_DTYPE_Q5_1 || dtype == ATTN_DTYPE_Q5_K;
    const bool has_half = dtype == ATTN_DTYPE_Q4_0 || dtype == ATTN_DTYPE_Q4_1 ||
                          dtype == ATTN_DTYPE_Q5_0 || dtype == ATTN_DTYPE_Q5_1 ||
                          dtype == ATTN_DTYPE_Q8_0;
    size_t numbers;

    tile.has_halves = V_HALVES && has_half;
    tile.zero = tile.run > 0 ? zero_of(dtype) : 0;
    tile.n_word = V_LOOKS_UP && has_five ? 3 : 4;
    tile.values = V_LOOKS_UP && (has_five || tile.run > 0) ? &values[16 - zero_of(dtype)] : NULL;
    ATTN_FOR_ISA(attn_vector_describe_codes)(dtype, &tile.group, &tile.has_offset);
    tile.n_k = tile.run > 0 ? 2 * tile.run : tile.group;
    tile.scale_at = tile.n_k / (tile.run > 0 ? 32 : 16) * tile.n_word * ATTN_WORD_ROW;
    numbers = attn_tile_bytes(&tile, tile.n_k / tile.group * ATTN_PANEL);
    tile.offset_at = tile.scale_at + numbers;
    tile.size = tile.offset_at + (tile.has_offset ? numbers : 0);
    return tile;
}

void ATTN_FOR_ISA(attn_vector_fill_tile)(const unsigned char *const *columns, enum attn_dtype dtype,
                                         size_t n, const struct attn_tile *tile, size_t first)
{
    for (size_t at = 0; at < ATTN_TILE; at += LANES) {
        const struct source s = {columns + at, tile, first + at, tile->values ? 0 : zero_of(dtype)};

        switch (dtype) {
        case ATTN_DTYPE_Q4_K:
            fill_q4_k(s);
            break;
        case ATTN_DTYPE_Q4_0:
        case ATTN_DTYPE_Q4_1:
            fill_32(s, n, 1);
            break;
        case ATTN_DTYPE_Q5_0:
        case ATTN_DTYPE_Q5_1:
            fill_fives(s, n);
            break;
        case ATTN_DTYPE_Q8_0:
            fill_32(s, n, 2);
            break;
        case ATTN_DTYPE_Q6_K:
            fill_q6_k(s);
            break;
        default:
            if (at == 0)
                fill_any(columns, dtype, n, tile, first);
        }
    }
}
