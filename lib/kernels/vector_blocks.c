/*
 * vector_blocks.c - the blocks of GGUF files as float32 (ggml-common.h `block_q4_0` and its like).
 *
 * A block is split into a byte a value and a few factors (struct attn_codes), which a row and a
 * panel (vector_pack.c) multiply. A value is exact or one rounded sum of two exact products, so
 * each instruction set, and ggml, give the same bits. Bytes of a block, in order: d and m are F16;
 * q holds codes, s scales, h the high bits of codes. Loops are plain, for the compiler to make
 * vectors of.
 */
#include "kernels/vector.h"

#include <assert.h>
#include <string.h>

typedef const unsigned char *restrict bytes;

/* The F16 at P: a subnormal is its fraction times 2^-24. */
static inline float half(const unsigned char *p)
{
#if defined __F16C__
    return _cvtsh_ss((unsigned short)(p[0] | p[1] << 8));
#else
    const uint32_t bits = (uint32_t)(p[0] | p[1] << 8), magnitude = bits & 0x7fff;
    const uint32_t whole =
        magnitude >= 0x7c00 ? magnitude << 13 | 0x7f800000 : (magnitude << 13) + ((127 - 15) << 23);
    float x;

    memcpy(&x, &whole, sizeof x);
    x = magnitude < 0x0400 ? (float)magnitude * 0x1p-24f : x;
    return bits & 0x8000 ? -x : x;
#endif
}

static inline uint32_t word(const unsigned char *p)
{
    uint32_t w;

    memcpy(&w, p, sizeof w);
    return w;
}

/* --- Blocks of 32, several at a time ---------------------------------------------------------- */

/* Loops of 16 and 32 bytes gcc unrolls before it sees vectors in them, so these are written. */
typedef uint8_t sixteen __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

/* The codes of 32 values, less ZERO: the low halves of 16 bytes, then the high ones. */
static inline void split_halves(bytes q, uint8_t zero, int8_t n[restrict 32])
{
    sixteen both, low, high;

    memcpy(&both, q, sizeof both);
    low = (both & 15) - zero;
    high = (both >> 4) - zero;
    memcpy(n, &low, sizeof low);
    memcpy(n + 16, &high, sizeof high);
}

/* Bit i of BITS in byte i. */
static inline uint64_t spread_bits(unsigned bits)
{
    const uint64_t each = bits * 0x0101010101010101U & 0x8040201008040201U;

    return (each + 0x7f7f7f7f7f7f7f7fU) >> 7 & 0x0101010101010101U;
}

/* The same with a fifth bit each, of H. */
static inline void split_fives(bytes q, bytes h, uint8_t zero, int8_t n[restrict 32])
{
    const two first = {spread_bits(h[0]), spread_bits(h[1])};
    const two second = {spread_bits(h[2]), spread_bits(h[3])};
    sixteen both, low, high;

    memcpy(&both, q, sizeof both);
    low = (both & 15) + ((sixteen)first << 4) - zero;
    high = (both >> 4) + ((sixteen)second << 4) - zero;
    memcpy(n, &low, sizeof low);
    memcpy(n + 16, &high, sizeof high);
}

/* d, q[16] */
static void split_q4_0(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 18) {
        c->scale[i] = half(b);
        split_halves(b + 2, 8, c->n + 32 * i);
    }
}

/* d, m, q[16] */
static void split_q4_1(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 20) {
        c->scale[i] = half(b);
        c->offset[i] = half(b + 2);
        split_halves(b + 4, 0, c->n + 32 * i);
    }
}

/* d, h[4], q[16] */
static void split_q5_0(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 22) {
        c->scale[i] = half(b);
        split_fives(b + 6, b + 2, 16, c->n + 32 * i);
    }
}

/* d, m, h[4], q[16] */
static void split_q5_1(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 24) {
        c->scale[i] = half(b);
        c->offset[i] = half(b + 2);
        split_fives(b + 8, b + 4, 0, c->n + 32 * i);
    }
}

/* d, q[32] of 8 signed bits */
static void split_q8_0(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 34) {
        c->scale[i] = half(b);
        for (int j = 0; j < 32; j++)
            c->n[32 * i + j] = (int8_t)b[2 + j];
    }
}

/* What the codes of IQ4 stand for (ggml-common.h `kvalues_iq4nl`). */
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

static inline void look_up(const int8_t values[16], bytes q, int8_t n[restrict 32])
{
    int8_t codes[32];

    split_halves(q, 0, codes);
    bytes_look_up(values, codes, n);
    bytes_look_up(values, codes + 16, n + 16);
}

/* d, q[16] */
static void split_iq4_nl(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 18) {
        c->scale[i] = half(b);
        look_up(iq4_values, b + 2, c->n + 32 * i);
    }
}

/* Exponent e, q[16]: 2^(e - 128) times the doubled codes of OCP's MXFP4. */
static void split_mxfp4(bytes b, size_t n_block, struct attn_codes *c)
{
    static const int8_t values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

    for (size_t i = 0; i < n_block; i++, b += 17) {
        const uint32_t bits = b[0] < 2 ? 0x00200000U << b[0] : (b[0] - 1U) << 23;

        memcpy(&c->scale[i], &bits, sizeof bits);
        look_up(values, b + 1, c->n + 32 * i);
    }
}

/* --- Blocks of 256, one at a time ------------------------------------------------------------- */

/* The codes of 256 values of 2 bits: of each 32 bytes the lowest two bits come first. */
static inline void split_twos(bytes q, int8_t n[restrict ATTN_MOST_CODES])
{
    for (int part = 0; part < 2; part++)
        for (int shift = 0; shift < 4; shift++)
            for (int i = 0; i < 32; i++)
                n[part * 128 + shift * 32 + i] = (int8_t)(q[part * 32 + i] >> 2 * shift & 3);
}

/* The codes of 256 values of 4 bits: of each STEP bytes the low halves come first. */
static inline void split_fours(bytes q, int step, int8_t n[restrict ATTN_MOST_CODES])
{
    for (int part = 0; part < 128; part += step)
        for (int i = 0; i < step; i++) {
            n[2 * part + i] = q[part + i] & 15;
            n[2 * part + step + i] = (int8_t)(q[part + i] >> 4);
        }
}

/* y = d s, of N scales */
static inline void scale_all(float d, const int8_t *restrict s, int n, float *restrict y)
{
    for (int j = 0; j < n; j++)
        y[j] = d * (float)s[j];
}

/* s[16], q[64], d, m: a scale and a minimum of 4 bits each for 16 values */
static void split_q2_k(bytes b, size_t n_block, struct attn_codes *c)
{
    int8_t scales[16], minima[16];

    (void)n_block;
    split_twos(b + 16, c->n);
    for (int j = 0; j < 16; j++) {
        scales[j] = b[j] & 15;
        minima[j] = (int8_t)(b[j] >> 4);
    }
    scale_all(half(b + 80), scales, 16, c->scale);
    scale_all(-half(b + 82), minima, 16, c->offset);
}

/* h[32], q[64], s[12], d: scales of 6 bits for 16 values */
static void split_q3_k(bytes b, size_t n_block, struct attn_codes *c)
{
    const uint32_t low[] = {word(b + 96), word(b + 100)}, high = word(b + 104);
    uint32_t words[4];
    int8_t scales[16];

    (void)n_block;
    split_twos(b + 32, c->n);
    for (int part = 0; part < 8; part++)
        for (int i = 0; i < 32; i++)
            c->n[32 * part + i] = (int8_t)(c->n[32 * part + i] - 4 + 4 * (b[i] >> part & 1));
    for (int j = 0; j < 4; j++) /* four scales */
        words[j] = (low[j % 2] >> 4 * (j / 2) & 0x0f0f0f0f) | (high >> 2 * j & 0x03030303) << 4;
    memcpy(scales, words, sizeof scales);
    for (int j = 0; j < 16; j++)
        scales[j] = (int8_t)(scales[j] - 32);
    scale_all(half(b + 108), scales, 16, c->scale);
}

/* d, m, s[12]: the eight scales and minima of 6 bits each of Q4_K and Q5_K */
static inline void split_sixes(bytes b, struct attn_codes *c)
{
    const uint32_t s0 = word(b + 4), s4 = word(b + 8), s8 = word(b + 12); /* four bytes each */
    const uint32_t words[] = {s0 & 0x3f3f3f3f, (s8 & 0x0f0f0f0f) | (s0 >> 6 & 0x03030303) << 4,
                              s4 & 0x3f3f3f3f,
                              (s8 >> 4 & 0x0f0f0f0f) | (s4 >> 6 & 0x03030303) << 4};
    int8_t scales[16]; /* and minima */

    memcpy(scales, words, sizeof scales);
    scale_all(half(b), scales, 8, c->scale);
    scale_all(-half(b + 2), scales + 8, 8, c->offset);
}

/* d, m, s[12], q[128] */
static void split_q4_k(bytes b, size_t n_block, struct attn_codes *c)
{
    (void)n_block;
    split_fours(b + 16, 32, c->n);
    split_sixes(b, c);
}

/* d, m, s[12], h[32], q[128] */
static void split_q5_k(bytes b, size_t n_block, struct attn_codes *c)
{
    (void)n_block;
    split_fours(b + 48, 32, c->n);
    for (int part = 0; part < 8; part++)
        for (int i = 0; i < 32; i++)
            c->n[32 * part + i] = (int8_t)(c->n[32 * part + i] | (b[16 + i] >> part & 1) << 4);
    split_sixes(b, c);
}

/* q[128], h[64], s[16] of 8 signed bits, d */
static void split_q6_k(bytes b, size_t n_block, struct attn_codes *c)
{
    int8_t high[ATTN_MOST_CODES], scales[16];

    (void)n_block;
    split_fours(b, 64, c->n);
    split_twos(b + 128, high);
    for (int i = 0; i < ATTN_MOST_CODES; i++)
        c->n[i] = (int8_t)((c->n[i] | high[i] << 4) - 32);
    memcpy(scales, b + 192, sizeof scales);
    scale_all(half(b + 208), scales, 16, c->scale);
}

/* d, h[2], l[4], q[128]: scales of 6 bits for 32 values, whose codes are those of IQ4_NL */
static void split_iq4_xs(bytes b, size_t n_block, struct attn_codes *c)
{
    const unsigned high = (unsigned)(b[2] | b[3] << 8);
    int8_t scales[8];

    (void)n_block;
    for (size_t g = 0; g < 8; g++) {
        const int low = b[4 + g / 2] >> 4 * (g % 2) & 15;

        scales[g] = (int8_t)((low | (int)(high >> 2 * g & 3) << 4) - 32);
        look_up(iq4_values, b + 8 + 16 * g, c->n + 32 * g);
    }
    scale_all(half(b), scales, 8, c->scale);
}

/* --- Any type --------------------------------------------------------------------------------- */

void ATTN_FOR_ISA(attn_vector_split)(const void *blocks, enum attn_dtype dtype, size_t n,
                                     struct attn_codes *codes)
{
    static const struct {
        void (*split)(bytes block, size_t n_block, struct attn_codes *codes);
        size_t n_value, group;
        bool has_offset;
    } types[ATTN_N_DTYPE] = {
#define TYPE_ROW(splitter, type, values, group, has_offset)                                        \
    [ATTN_DTYPE_##type] = {split_##splitter, values, group, has_offset}
        TYPE_ROW(q4_0, Q4_0, 32, 32, false),     TYPE_ROW(q4_1, Q4_1, 32, 32, true),
        TYPE_ROW(q5_0, Q5_0, 32, 32, false),     TYPE_ROW(q5_1, Q5_1, 32, 32, true),
        TYPE_ROW(q8_0, Q8_0, 32, 32, false),     TYPE_ROW(q2_k, Q2_K, 256, 16, true),
        TYPE_ROW(q3_k, Q3_K, 256, 16, false),    TYPE_ROW(q4_k, Q4_K, 256, 32, true),
        TYPE_ROW(q5_k, Q5_K, 256, 32, true),     TYPE_ROW(q6_k, Q6_K, 256, 16, false),
        TYPE_ROW(iq4_nl, IQ4_NL, 32, 32, false), TYPE_ROW(iq4_xs, IQ4_XS, 256, 32, false),
        TYPE_ROW(mxfp4, MXFP4, 32, 32, false),
#undef TYPE_ROW
    };

    assert(types[dtype].n_value > 0);
    codes->group = types[dtype].group;
    codes->has_offset = types[dtype].has_offset;
    types[dtype].split(blocks, (n + types[dtype].n_value - 1) / types[dtype].n_value, codes);
}

/* Y [n] = the values of CODES. */
static void join(const struct attn_codes *restrict codes, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i += 16) { /* all of a group */
        const float scale = codes->scale[i / codes->group];
        const float offset = codes->has_offset ? codes->offset[i / codes->group] : -0.0F;

        for (size_t j = i; j < i + 16; j++) /* x + -0 is x, of either sign */
            y[j] = scale * (float)codes->n[j] + offset;
    }
}

void ATTN_FOR_ISA(attn_vector_decode)(const void *blocks, enum attn_dtype dtype, size_t n, float *y)
{
    const unsigned char *block = blocks;
    struct attn_codes codes;
    float last[ATTN_MOST_CODES];

    for (size_t i = 0; i < n; i += ATTN_MOST_CODES) {
        const size_t n_here = n - i < ATTN_MOST_CODES ? n - i : ATTN_MOST_CODES;

        ATTN_FOR_ISA(attn_vector_split)(block + attn_dtype_n_byte(dtype, i), dtype, n_here, &codes);
        if (n_here % 16 == 0) {
            join(&codes, n_here, y + i);
        } else {
            join(&codes, n_here, last);
            memcpy(y + i, last, n_here * sizeof *y);
        }
    }
}
