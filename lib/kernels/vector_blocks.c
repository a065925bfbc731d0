/*
 * vector_blocks.c - the blocks of GGUF files as float32 (ggml-common.h `block_q4_0` and its like).
 *
 * A value is exact or one rounded sum of two exact products, so each instruction set, and ggml,
 * give the same bits. Bytes of a block, in order: d and m are F16; q holds codes, s scales, h the
 * high bits of codes. Loops are plain, for the compiler to make vectors of.
 */
#include "kernels/vector.h"

#include <string.h>

enum { MOST_VALUES = 256 }; /* of a block */

typedef const unsigned char *restrict bytes;

/* The F16 at P: a subnormal is its fraction times 2^-24. */
static inline float half(const unsigned char *p)
{
    const uint32_t bits = (uint32_t)(p[0] | p[1] << 8), magnitude = bits & 0x7fff;
    const uint32_t whole =
        magnitude >= 0x7c00 ? magnitude << 13 | 0x7f800000 : (magnitude << 13) + ((127 - 15) << 23);
    float x;

    memcpy(&x, &whole, sizeof x);
    x = magnitude < 0x0400 ? (float)magnitude * 0x1p-24f : x;
    return bits & 0x8000 ? -x : x;
}

static inline uint32_t word(const unsigned char *p)
{
    uint32_t w;

    memcpy(&w, p, sizeof w);
    return w;
}

/* The codes of 32 values: the low halves of 16 bytes, then the high ones. */
static inline void split_halves(bytes q, int8_t n[restrict 32])
{
    for (int i = 0; i < 16; i++) {
        n[i] = q[i] & 15;
        n[i + 16] = (int8_t)(q[i] >> 4);
    }
}

/* The same with a fifth bit each, of H. */
static inline void split_fives(bytes q, bytes h, int8_t n[restrict 32])
{
    const uint32_t high = word(h);

    split_halves(q, n);
    for (int i = 0; i < 32; i++)
        n[i] = (int8_t)(n[i] | (high >> i & 1) << 4);
}

/* y = d (n - zero) of 32 values. */
static inline void scale(float d, const int8_t n[restrict 32], int zero, float *restrict y)
{
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(n[i] - zero);
}

/* y = d n + m of 32 values. */
static inline void scale_and_add(float d, const int8_t n[restrict 32], float m, float *restrict y)
{
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)n[i] + m;
}

/* --- Blocks of 32 ----------------------------------------------------------------------------- */

/* d, q[16] */
static void decode_q4_0(bytes b, float *restrict y)
{
    int8_t n[32];

    split_halves(b + 2, n);
    scale(half(b), n, 8, y);
}

/* d, m, q[16] */
static void decode_q4_1(bytes b, float *restrict y)
{
    int8_t n[32];

    split_halves(b + 4, n);
    scale_and_add(half(b), n, half(b + 2), y);
}

/* d, h[4], q[16] */
static void decode_q5_0(bytes b, float *restrict y)
{
    int8_t n[32];

    split_fives(b + 6, b + 2, n);
    scale(half(b), n, 16, y);
}

/* d, m, h[4], q[16] */
static void decode_q5_1(bytes b, float *restrict y)
{
    int8_t n[32];

    split_fives(b + 8, b + 4, n);
    scale_and_add(half(b), n, half(b + 2), y);
}

/* d, q[32] of 8 signed bits */
static void decode_q8_0(bytes b, float *restrict y)
{
    int8_t n[32];

    memcpy(n, b + 2, sizeof n);
    scale(half(b), n, 0, y);
}

/* What the codes of IQ4 stand for (ggml-common.h `kvalues_iq4nl`). */
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

static inline void look_up(const int8_t values[16], bytes q, int8_t n[restrict 32])
{
    for (int i = 0; i < 16; i++) {
        n[i] = values[q[i] & 15];
        n[i + 16] = values[q[i] >> 4];
    }
}

/* d, q[16] */
static void decode_iq4_nl(bytes b, float *restrict y)
{
    int8_t n[32];

    look_up(iq4_values, b + 2, n);
    scale(half(b), n, 0, y);
}

/* Exponent e, q[16]: 2^(e - 128) times the doubled codes of OCP's MXFP4. */
static void decode_mxfp4(bytes b, float *restrict y)
{
    static const int8_t values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    const uint32_t bits = b[0] < 2 ? 0x00200000U << b[0] : (b[0] - 1U) << 23;
    int8_t n[32];
    float d;

    memcpy(&d, &bits, sizeof d);
    look_up(values, b + 1, n);
    scale(d, n, 0, y);
}

/* --- Blocks of 256 ---------------------------------------------------------------------------- */

/* The codes of 256 values of 2 bits: of each 32 bytes the lowest two bits come first. */
static inline void split_twos(bytes q, int8_t n[restrict MOST_VALUES])
{
    for (int part = 0; part < 2; part++)
        for (int shift = 0; shift < 4; shift++)
            for (int i = 0; i < 32; i++)
                n[part * 128 + shift * 32 + i] = (int8_t)(q[part * 32 + i] >> 2 * shift & 3);
}

/* The codes of 256 values of 4 bits: of each STEP bytes the low halves come first. */
static inline void split_fours(bytes q, int step, int8_t n[restrict MOST_VALUES])
{
    for (int part = 0; part < 128; part += step)
        for (int i = 0; i < step; i++) {
            n[2 * part + i] = q[part + i] & 15;
            n[2 * part + step + i] = (int8_t)(q[part + i] >> 4);
        }
}

/* s[16], q[64], d, m: a scale and a minimum of 4 bits each for 16 values */
static void decode_q2_k(bytes b, float *restrict y)
{
    const float d = half(b + 80), m = half(b + 82);
    int8_t n[MOST_VALUES];

    split_twos(b + 16, n);
    for (int j = 0; j < 16; j++) {
        const float ds = d * (float)(b[j] & 15), dm = m * (float)(b[j] >> 4);

        for (int i = 16 * j; i < 16 * j + 16; i++)
            y[i] = ds * (float)n[i] - dm;
    }
}

/* h[32], q[64], s[12], d: scales of 6 bits for 16 values */
static void decode_q3_k(bytes b, float *restrict y)
{
    const unsigned char *s = b + 96;
    const float d = half(b + 108);
    int8_t n[MOST_VALUES];

    split_twos(b + 32, n);
    for (int part = 0; part < 8; part++)
        for (int i = 0; i < 32; i++)
            n[32 * part + i] = (int8_t)(n[32 * part + i] - 4 + 4 * (b[i] >> part & 1));
    for (int j = 0; j < 16; j++) {
        const int low = s[j % 8] >> 4 * (j / 8) & 15, high = s[8 + j % 4] >> 2 * (j / 4) & 3;
        const float ds = d * (float)((low | high << 4) - 32);

        for (int i = 16 * j; i < 16 * j + 16; i++)
            y[i] = ds * (float)n[i];
    }
}

/* The eight scales and minima of 6 bits each of Q4_K and Q5_K. */
static inline void split_sixes(bytes s, int scales[restrict 8], int minima[restrict 8])
{
    for (int j = 0; j < 4; j++) {
        scales[j] = s[j] & 63;
        minima[j] = s[j + 4] & 63;
        scales[j + 4] = (s[j + 8] & 15) | s[j] >> 6 << 4;
        minima[j + 4] = s[j + 8] >> 4 | s[j + 4] >> 6 << 4;
    }
}

/* y = (d S) n - m M, S and M for 32 values each. */
static inline void scale_by_sixes(bytes b, const int8_t n[restrict MOST_VALUES], float *restrict y)
{
    const float d = half(b), m = half(b + 2);
    int scales[8], minima[8];

    split_sixes(b + 4, scales, minima);
    for (int j = 0; j < 8; j++) {
        const float ds = d * (float)scales[j], dm = m * (float)minima[j];

        for (int i = 32 * j; i < 32 * j + 32; i++)
            y[i] = ds * (float)n[i] - dm;
    }
}

/* d, m, s[12], q[128] */
static void decode_q4_k(bytes b, float *restrict y)
{
    int8_t n[MOST_VALUES];

    split_fours(b + 16, 32, n);
    scale_by_sixes(b, n, y);
}

/* d, m, s[12], h[32], q[128] */
static void decode_q5_k(bytes b, float *restrict y)
{
    int8_t n[MOST_VALUES];

    split_fours(b + 48, 32, n);
    for (int part = 0; part < 8; part++)
        for (int i = 0; i < 32; i++)
            n[32 * part + i] = (int8_t)(n[32 * part + i] | (b[16 + i] >> part & 1) << 4);
    scale_by_sixes(b, n, y);
}

/* q[128], h[64], s[16] of 8 signed bits, d */
static void decode_q6_k(bytes b, float *restrict y)
{
    const float d = half(b + 208);
    int8_t n[MOST_VALUES], high[MOST_VALUES];

    split_fours(b, 64, n);
    split_twos(b + 128, high);
    for (int j = 0; j < 16; j++) {
        const float ds = d * (float)(int8_t)b[192 + j];

        for (int i = 16 * j; i < 16 * j + 16; i++)
            y[i] = ds * (float)((n[i] | high[i] << 4) - 32);
    }
}

/* d, h[2], l[4], q[128]: scales of 6 bits for 32 values, whose codes are those of IQ4_NL */
static void decode_iq4_xs(bytes b, float *restrict y)
{
    const unsigned high = (unsigned)(b[2] | b[3] << 8);
    const float d = half(b);
    int8_t n[32];

    for (int g = 0; g < 8; g++) {
        const int s = (b[4 + g / 2] >> 4 * (g % 2) & 15) | (int)(high >> 2 * g & 3) << 4;

        look_up(iq4_values, b + 8 + 16 * g, n);
        scale(d * (float)(s - 32), n, 0, y + 32 * g);
    }
}

void ATTN_FOR_ISA(attn_vector_decode)(const void *blocks, enum attn_dtype dtype, size_t n, float *y)
{
    static const struct {
        void (*decode)(bytes block, float *restrict y);
        size_t n_value, n_byte;
    } types[ATTN_N_DTYPE] = {
#define TYPE_ROW(decoder, type, values, bytes)                                                     \
    [ATTN_DTYPE_##type] = {decode_##decoder, values, bytes}
        TYPE_ROW(q4_0, Q4_0, 32, 18),     TYPE_ROW(q4_1, Q4_1, 32, 20),
        TYPE_ROW(q5_0, Q5_0, 32, 22),     TYPE_ROW(q5_1, Q5_1, 32, 24),
        TYPE_ROW(q8_0, Q8_0, 32, 34),     TYPE_ROW(q2_k, Q2_K, 256, 84),
        TYPE_ROW(q3_k, Q3_K, 256, 110),   TYPE_ROW(q4_k, Q4_K, 256, 144),
        TYPE_ROW(q5_k, Q5_K, 256, 176),   TYPE_ROW(q6_k, Q6_K, 256, 210),
        TYPE_ROW(iq4_nl, IQ4_NL, 32, 18), TYPE_ROW(iq4_xs, IQ4_XS, 256, 136),
        TYPE_ROW(mxfp4, MXFP4, 32, 17),
#undef TYPE_ROW
    };
    const unsigned char *block = blocks;
    const size_t n_value = types[dtype].n_value;
    float last[MOST_VALUES];

    for (; n >= n_value; n -= n_value, y += n_value, block += types[dtype].n_byte)
        types[dtype].decode(block, y);
    if (n > 0) {
        types[dtype].decode(block, last);
        memcpy(y, last, n * sizeof *y);
    }
}
