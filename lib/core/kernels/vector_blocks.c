/*
 * vector_blocks.c - decodes the blocks of GGUF files to float32 (`block_q4_0` and others in
 * ggml-common.h).
 *
 * A block is split into one code per value and a few factors (struct attn_codes), which are
 * multiplied by the code that decodes rows or packs panels (vector_pack.c). A value is exact, or
 * one rounded sum of two exact products, so that all instruction sets and ggml give the same bits.
 *
 * The comment before each function lists the fields of a block in order, with their sizes in bytes:
 * d and m are F16 factors; q holds codes, s scales, h the high bits of codes. Loops are plain, so
 * that the compiler can vectorize them.
 */
#include "kernels/block_books.h"
#include "kernels/vector.h"

#include <assert.h>
#include <string.h>

typedef const unsigned char *restrict bytes;

/* Reads the F16 at P. A subnormal is its fraction times 2^-24. */
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

/* Vector types for 16 bytes. gcc unrolls loops of 16 or 32 bytes before it can vectorize them, so
 * these are vectorized by hand. */
typedef uint8_t sixteen __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

/* Splits 16 bytes into 32 codes of four bits and subtracts ZERO: first all low halves, then all
 * high halves. */
static inline void split_halves(bytes q, uint8_t zero, int8_t n[restrict 32])
{
    sixteen both, low, high;

    memcpy(&both, q, sizeof both);
    low = (both & 15) - zero;
    high = (both >> 4) - zero;
    memcpy(n, &low, sizeof low);
    memcpy(n + 16, &high, sizeof high);
}

#define EACH UINT64_C(0x0101010101010101)

/* Returns 8 bytes; byte i is bit i of BITS. */
static inline uint64_t spread_bits(unsigned bits)
{
    const uint64_t each = bits * EACH & 0x8040201008040201U;

    return (each + 127 * EACH) >> 7 & EACH;
}

/* Splits 16 bytes into 32 codes of four bits, to which H adds a fifth, high bit each, and subtracts
 * ZERO. */
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

/* A block is d, q[16]. */
static void split_q4_0(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 18) {
        c->scale[i] = half(b);
        split_halves(b + 2, 8, c->n + 32 * i);
    }
}

/* A block is d, m, q[16]. */
static void split_q4_1(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 20) {
        c->scale[i] = half(b);
        c->offset[i] = half(b + 2);
        split_halves(b + 4, 0, c->n + 32 * i);
    }
}

/* A block is d, h[4], q[16]. */
static void split_q5_0(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 22) {
        c->scale[i] = half(b);
        split_fives(b + 6, b + 2, 16, c->n + 32 * i);
    }
}

/* A block is d, m, h[4], q[16]. */
static void split_q5_1(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 24) {
        c->scale[i] = half(b);
        c->offset[i] = half(b + 2);
        split_fives(b + 8, b + 4, 0, c->n + 32 * i);
    }
}

/* A block is d, q[32] of 8 signed bits. */
static void split_q8_0(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 34) {
        c->scale[i] = half(b);
        for (int j = 0; j < 32; j++)
            c->n[32 * i + j] = (int8_t)b[2 + j];
    }
}

/* The values of the codes of IQ4 (ggml-common.h `kvalues_iq4nl`). */
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

static inline void look_up(const int8_t values[16], bytes q, int8_t n[restrict 32])
{
    int8_t codes[32];

    split_halves(q, 0, codes);
    bytes_look_up(values, codes, n);
    bytes_look_up(values, codes + 16, n + 16);
}

/* A block is d, q[16]. */
static void split_iq4_nl(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 18) {
        c->scale[i] = half(b);
        look_up(iq4_values, b + 2, c->n + 32 * i);
    }
}

/* The values of the codes of FP4: twice those of OCP's E2M1. */
static const int8_t fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* A block is an exponent e and q[16]: the scale is 2^(e - 128), for the doubled values of
 * fp4_values. */
static void split_mxfp4(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < n_block; i++, b += 17) {
        const uint32_t bits = b[0] < 2 ? 0x00200000U << b[0] : (b[0] - 1U) << 23;

        memcpy(&c->scale[i], &bits, sizeof bits);
        look_up(fp4_values, b + 1, c->n + 32 * i);
    }
}

/* A block is s[4], q[32]: 64 values. Each 16 values have a scale of 4 exponent bits and 3 fraction
 * bits; the codes are those of MXFP4. */
static void split_nvfp4(bytes b, size_t n_block, struct attn_codes *c)
{
    for (size_t i = 0; i < 4 * n_block; i++) {
        const unsigned char *block = b + i / 4 * 36, *q = block + 4 + 8 * (i % 4);
        /* 127 is NaN, which becomes 0. */
        const unsigned char s = block[i % 4] == 127 ? 0 : block[i % 4] & 127;
        const int exponent = s >> 3 > 0 ? (s >> 3) - 1 : 0;
        uint64_t both[2];
        int8_t codes[16];

        c->scale[i] = (float)(s - 8 * exponent) * 0x1p-10F * (float)(1 << exponent);
        memcpy(both, q, sizeof *both);
        both[1] = both[0] >> 4 & 15 * EACH;
        both[0] &= 15 * EACH;
        memcpy(codes, both, sizeof codes);
        bytes_look_up(fp4_values, codes, c->n + 16 * i);
    }
}

/* --- Blocks of 256, one at a time ------------------------------------------------------------- */

/* Splits 64 bytes into 256 codes of 2 bits. Each 32 bytes hold first all their lowest two bits,
 * then the next two, and so on. */
static inline void split_twos(bytes q, int8_t n[restrict ATTN_MOST_CODES])
{
    for (int part = 0; part < 2; part++)
        for (int shift = 0; shift < 4; shift++)
            for (int i = 0; i < 32; i++)
                n[part * 128 + shift * 32 + i] = (int8_t)(q[part * 32 + i] >> 2 * shift & 3);
}

/* Splits 128 bytes into 256 codes of 4 bits. Each STEP bytes hold first all their low halves, then
 * all their high halves. */
static inline void split_fours(bytes q, int step, int8_t n[restrict ATTN_MOST_CODES])
{
    for (int part = 0; part < 128; part += step)
        for (int i = 0; i < step; i++) {
            n[2 * part + i] = q[part + i] & 15;
            n[2 * part + step + i] = (int8_t)(q[part + i] >> 4);
        }
}

/* y [n] = d s [n]: multiplies N scales by D. */
static inline void scale_all(float d, const int8_t *restrict s, int n, float *restrict y)
{
    for (int j = 0; j < n; j++)
        y[j] = d * (float)s[j];
}

/* A block is s[16], q[64], d, m: 16 values share a scale and a minimum of 4 bits each. */
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

/* A block is h[32], q[64], s[12], d: 16 values share a scale of 6 bits. */
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
    for (int j = 0; j < 4; j++) /* each word holds four scales */
        words[j] = (low[j % 2] >> 4 * (j / 2) & 0x0f0f0f0f) | (high >> 2 * j & 0x03030303) << 4;
    memcpy(scales, words, sizeof scales);
    for (int j = 0; j < 16; j++)
        scales[j] = (int8_t)(scales[j] - 32);
    scale_all(half(b + 108), scales, 16, c->scale);
}

/* A block begins with d, m, s[12]. Decodes the eight scales and eight minima, of 6 bits each, of
 * Q4_K and Q5_K. */
static inline void split_sixes(bytes b, struct attn_codes *c)
{
    /* Four bytes of s in each word. */
    const uint32_t s0 = word(b + 4), s4 = word(b + 8), s8 = word(b + 12);
    const uint32_t words[] = {s0 & 0x3f3f3f3f, (s8 & 0x0f0f0f0f) | (s0 >> 6 & 0x03030303) << 4,
                              s4 & 0x3f3f3f3f,
                              (s8 >> 4 & 0x0f0f0f0f) | (s4 >> 6 & 0x03030303) << 4};
    int8_t scales[16]; /* eight scales, then eight minima */

    memcpy(scales, words, sizeof scales);
    scale_all(half(b), scales, 8, c->scale);
    scale_all(-half(b + 2), scales + 8, 8, c->offset);
}

/* A block is d, m, s[12], q[128]. */
static void split_q4_k(bytes b, size_t n_block, struct attn_codes *c)
{
    (void)n_block;
    split_fours(b + 16, 32, c->n);
    split_sixes(b, c);
}

/* A block is d, m, s[12], h[32], q[128]. */
static void split_q5_k(bytes b, size_t n_block, struct attn_codes *c)
{
    (void)n_block;
    split_fours(b + 48, 32, c->n);
    for (int part = 0; part < 8; part++)
        for (int i = 0; i < 32; i++)
            c->n[32 * part + i] = (int8_t)(c->n[32 * part + i] | (b[16 + i] >> part & 1) << 4);
    split_sixes(b, c);
}

/* A block is q[128], h[64], s[16] of 8 signed bits, d. */
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

/* A block is d, h[2], l[4], q[128]: 32 values share a scale of 6 bits; the codes are those of
 * IQ4_NL. */
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

/* --- Blocks of 256 of 3 levels ---------------------------------------------------------------- */

static inline void scale_equally(float d, struct attn_codes *c)
{
    for (int j = 0; j < 8; j++)
        c->scale[j] = d;
}

/* A block is q[48], h[4], d: a byte of q holds five digits of base 3, as a fraction of 256; a byte
 * of h holds four. */
static void split_tq1_0(bytes b, size_t n_block, struct attn_codes *c)
{
    static const struct {
        int at, n_byte, n_digit;
    } parts[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
    int8_t *n = c->n;

    (void)n_block;
    for (int part = 0; part < 3; part++)
        for (int digit = 0, power = 1; digit < parts[part].n_digit; digit++, power *= 3)
            for (int i = 0; i < parts[part].n_byte; i++)
                *n++ = (int8_t)(((b[parts[part].at + i] * power & 255) * 3 >> 8) - 1);
    scale_equally(half(b + 52), c);
}

/* A block is q[64], d. */
static void split_tq2_0(bytes b, size_t n_block, struct attn_codes *c)
{
    (void)n_block;
    split_twos(b, c->n);
    for (int i = 0; i < ATTN_MOST_CODES; i++)
        c->n[i]--;
    scale_equally(half(b + 64), c);
}

/* --- Blocks of 256 of points, 8 values at a time ---------------------------------------------- */

/* For each number below 81, its four digits in base 3, one per byte. */
static const uint32_t ternary[81] = {
#define ONE(x) (x), (x) + 1U, (x) + 2U
#define TWO(x) ONE(x), ONE((x) + (1U << 8)), ONE((x) + (2U << 8))
#define THREE(x) TWO(x), TWO((x) + (1U << 16)), TWO((x) + (2U << 16))
    THREE(0), THREE(1U << 24), THREE(2U << 24)
#undef ONE
#undef TWO
#undef THREE
};

/* Returns the eight levels, 0 to 2, of point X of BOOK, one per byte. */
static inline uint64_t eight_levels(const attn_book_page *book, unsigned x)
{
    const char *point = &book[x >> 8][(size_t)2 * (x & 255)];

    return ternary[point[0] - '#'] | (uint64_t)ternary[point[1] - '#'] << 32;
}

/* Returns the levels, 0 to 7, of the points X and Y, of four values each, one per byte. */
static inline uint64_t twice_four_levels(const attn_book_page *book, unsigned x, unsigned y)
{
    const char *p = &book[x >> 8][(size_t)2 * (x & 255)], *q = &book[y >> 8][(size_t)2 * (y & 255)];
    uint64_t pairs = (uint64_t)(p[0] | p[1] << 8) | (uint64_t)(q[0] | q[1] << 8) << 32;

    pairs -= '#' * UINT64_C(0x0000010100000101);
    pairs = (pairs | pairs << 8) & UINT64_C(0x00ff00ff00ff00ff);
    return (pairs | pairs << 5) & 7 * EACH;
}

/* These functions map eight levels to their values. */
static inline uint64_t iq2_values(uint64_t levels) /* 8, 25, 43 for 0 to 2 */
{
    return 8 * EACH + 17 * levels + (levels >> 1 & EACH);
}

static inline uint64_t iq3_xxs_values(uint64_t levels) /* 4, 12, ..., 52, 62 for 0 to 7 */
{
    return 4 * EACH + 8 * levels + ((levels + EACH) >> 2 & 2 * EACH);
}

static inline uint64_t iq3_s_values(uint64_t levels) /* 1, 3, ..., 15 for 0 to 7 */
{
    return EACH + 2 * levels;
}

/* Writes VALUES, which are positive, to N; value i is negated if bit i of MINUS is set. */
static inline void write_signed(uint64_t values, unsigned minus, int8_t n[restrict 8])
{
    const uint64_t is_minus = spread_bits(minus), x = (values ^ 255 * is_minus) + is_minus;

    memcpy(n, &x, sizeof x);
}

/* Returns eight sign bits for the seven that are stored: the eighth makes the number of minus signs
 * even. */
static inline unsigned even_signs(unsigned seven)
{
    return seven | (0x6996U >> ((seven ^ seven >> 4) & 15) & 1) << 7;
}

/* Writes 8 times the levels minus 1, that is -8, 0 or 8, plus 1, or minus 1 if IS_LESS. */
static inline void write_shifted(uint64_t levels, bool is_less, int8_t n[restrict 8])
{
    /* Each byte is the value plus 128; the xor subtracts 128. */
    const uint64_t x = (8 * levels + (is_less ? 119 : 121) * EACH) ^ 128 * EACH;

    memcpy(n, &x, sizeof x);
}

/* y [n] = d (2 s + 1) for N scales of 4 bits. The low half of a byte comes first. */
static inline void scale_oddly(float d, bytes s, size_t n, float *restrict y)
{
    for (size_t j = 0; j < n; j++)
        y[j] = d * (float)(2 * (s[j / 2] >> 4 * (j % 2) & 15) + 1);
}

/* A block is d, 8 of {x[4], w[4]}: w holds a scale of 4 bits and four times 7 signs, for 32
 * values. */
static void split_iq2_xxs(bytes b, size_t n_block, struct attn_codes *c)
{
    const float d = half(b) * 0.125F;

    (void)n_block;
    for (size_t g = 0; g < 8; g++) {
        const unsigned char *x = b + 2 + 8 * g;
        const uint32_t w = word(x + 4);

        c->scale[g] = d * (float)(2 * (w >> 28) + 1);
        for (size_t k = 0; k < 4; k++)
            write_signed(iq2_values(eight_levels(attn_book_iq2_xxs, x[k])),
                         even_signs(w >> 7 * k & 127), c->n + 32 * g + 8 * k);
    }
}

/* A block is d, x[32], s[8]: each x has 9 bits of a point and 7 signs. */
static void split_iq2_xs(bytes b, size_t n_block, struct attn_codes *c)
{
    (void)n_block;
    for (size_t i = 0; i < 32; i++) {
        const unsigned x = (unsigned)(b[2 + 2 * i] | b[3 + 2 * i] << 8);

        write_signed(iq2_values(eight_levels(attn_book_iq2_xs, x & 511)), even_signs(x >> 9),
                     c->n + 8 * i);
    }
    scale_oddly(half(b) * 0.125F, b + 66, 16, c->scale);
}

/* A block is d, x[32], signs[32], h[8], s[8]. */
static void split_iq2_s(bytes b, size_t n_block, struct attn_codes *c)
{
    (void)n_block;
    for (size_t i = 0; i < 32; i++) {
        const unsigned x = b[2 + i] | (b[66 + i / 4] >> 2 * (i % 4) & 3U) << 8;

        write_signed(iq2_values(eight_levels(attn_book_iq2_s, x)), b[34 + i], c->n + 8 * i);
    }
    scale_oddly(half(b) * 0.125F, b + 74, 16, c->scale);
}

/* A block is d, x[64], w[8] of 4 bytes: each w holds a scale of 4 bits and four times 7 signs, for
 * 32 values. */
static void split_iq3_xxs(bytes b, size_t n_block, struct attn_codes *c)
{
    const float d = half(b) * 0.25F;

    (void)n_block;
    for (size_t i = 0; i < 32; i++) {
        const unsigned char *x = b + 2 + 2 * i;
        const uint32_t w = word(b + 66 + i / 4 * 4);

        c->scale[i / 4] = d * (float)(2 * (w >> 28) + 1);
        write_signed(iq3_xxs_values(twice_four_levels(attn_book_iq3_xxs, x[0], x[1])),
                     even_signs(w >> 7 * (i % 4) & 127), c->n + 8 * i);
    }
}

/* A block is d, x[64], h[8], signs[32], s[4]. */
static void split_iq3_s(bytes b, size_t n_block, struct attn_codes *c)
{
    (void)n_block;
    for (size_t i = 0; i < 32; i++) {
        const unsigned char *x = b + 2 + 2 * i;
        const unsigned high = (unsigned)b[66 + i / 4] >> 2 * (i % 4);

        write_signed(iq3_s_values(twice_four_levels(attn_book_iq3_s, x[0] | (high & 1) << 8,
                                                    x[1] | (high & 2) << 7)),
                     b[74 + i], c->n + 8 * i);
    }
    scale_oddly(half(b), b + 106, 8, c->scale);
}

/* A block is d, x[32], h[8] of 2 bytes: each h holds four times 3 high bits, a scale of 3 bits and
 * a sign, for 32 values. */
static void split_iq1_s(bytes b, size_t n_block, struct attn_codes *c)
{
    const float d = half(b) * 0.125F;

    (void)n_block;
    for (size_t i = 0; i < 32; i++) {
        const unsigned char *p = b + 34 + i / 4 * 2;
        const unsigned h = (unsigned)(p[0] | p[1] << 8);

        c->scale[i / 4] = d * (float)(2 * (h >> 12 & 7) + 1);
        write_shifted(eight_levels(attn_book_iq1, b[2 + i] | (h >> 3 * (i % 4) & 7) << 8),
                      h >> 15 != 0, c->n + 8 * i);
    }
}

/* A block is x[32], h[16], s[4]: each half of h holds 3 high bits and a sign; each s, of 2 bytes,
 * holds four scales of 3 bits and 4 bits of d, the lowest first. */
static void split_iq1_m(bytes b, size_t n_block, struct attn_codes *c)
{
    const unsigned char *s = b + 48;
    const unsigned char whole[] = {s[1] >> 4 | (s[3] & 0xf0), s[5] >> 4 | (s[7] & 0xf0)};
    const float d = half(whole) * 0.125F;

    (void)n_block;
    for (size_t i = 0; i < 32; i++) {
        const unsigned h = (unsigned)b[32 + i / 2] >> 4 * (i % 2);

        write_shifted(eight_levels(attn_book_iq1, b[i] | (h & 7) << 8), (h & 8) != 0, c->n + 8 * i);
    }
    for (size_t j = 0; j < 16; j++) {
        const int four = s[j / 4 * 2] | s[j / 4 * 2 + 1] << 8;

        c->scale[j] = d * (float)(2 * (four >> 3 * (j % 4) & 7) + 1);
    }
}

/* --- Any type --------------------------------------------------------------------------------- */

static const struct {
    void (*split)(bytes block, size_t n_block, struct attn_codes *codes);
    size_t n_value, group;
    bool has_offset;
} types[ATTN_N_DTYPE] = {
#define TYPE_ROW(splitter, type, values, ...)                                                      \
    [ATTN_DTYPE_##type] = {split_##splitter, values, __VA_ARGS__}
    TYPE_ROW(q4_0, Q4_0, 32, 32, false),        TYPE_ROW(q4_1, Q4_1, 32, 32, true),
    TYPE_ROW(q5_0, Q5_0, 32, 32, false),        TYPE_ROW(q5_1, Q5_1, 32, 32, true),
    TYPE_ROW(q8_0, Q8_0, 32, 32, false),        TYPE_ROW(q2_k, Q2_K, 256, 16, true),
    TYPE_ROW(q3_k, Q3_K, 256, 16, false),       TYPE_ROW(q4_k, Q4_K, 256, 32, true),
    TYPE_ROW(q5_k, Q5_K, 256, 32, true),        TYPE_ROW(q6_k, Q6_K, 256, 16, false),
    TYPE_ROW(iq4_nl, IQ4_NL, 32, 32, false),    TYPE_ROW(iq4_xs, IQ4_XS, 256, 32, false),
    TYPE_ROW(mxfp4, MXFP4, 32, 32, false),      TYPE_ROW(iq2_xxs, IQ2_XXS, 256, 32, false),
    TYPE_ROW(iq2_xs, IQ2_XS, 256, 16, false),   TYPE_ROW(iq2_s, IQ2_S, 256, 16, false),
    TYPE_ROW(iq3_xxs, IQ3_XXS, 256, 32, false), TYPE_ROW(iq3_s, IQ3_S, 256, 32, false),
    TYPE_ROW(iq1_s, IQ1_S, 256, 32, false),     TYPE_ROW(iq1_m, IQ1_M, 256, 16, false),
    TYPE_ROW(tq1_0, TQ1_0, 256, 32, false),     TYPE_ROW(tq2_0, TQ2_0, 256, 32, false),
    TYPE_ROW(nvfp4, NVFP4, 64, 16, false),
#undef TYPE_ROW
};

void ATTN_FOR_ISA(attn_vector_describe_codes)(enum attn_dtype dtype, size_t *group,
                                              bool *has_offset)
{
    *group = types[dtype].group;
    *has_offset = types[dtype].has_offset;
}

void ATTN_FOR_ISA(attn_vector_split)(const void *blocks, enum attn_dtype dtype, size_t n,
                                     struct attn_codes *codes)
{
    assert(types[dtype].n_value > 0);
    ATTN_FOR_ISA(attn_vector_describe_codes)(dtype, &codes->group, &codes->has_offset);
    types[dtype].split(blocks, (n + types[dtype].n_value - 1) / types[dtype].n_value, codes);
}

/* y [n] = the values of CODES. */
static void join(const struct attn_codes *restrict codes, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i += LANES) { /* one register has values of one group only */
        const float offset = codes->has_offset ? codes->offset[i / codes->group] : -0.0F;

        /* Without an offset adds -0, because x + -0 is x for either sign of zero. */
        v_store_some(y + i,
                     v_exact_fma(__builtin_convertvector(v_load_signed(codes->n + i), vf),
                                 v_splat(codes->scale[i / codes->group]), v_splat(offset)),
                     n - i);
    }
}

void ATTN_FOR_ISA(attn_vector_decode)(const void *blocks, enum attn_dtype dtype, size_t n, float *y)
{
    const unsigned char *block = blocks;
    struct attn_codes codes;

    for (size_t i = 0, n_here; i < n; i += n_here, block += attn_dtype_n_byte(dtype, n_here)) {
        n_here = n - i < ATTN_MOST_CODES ? n - i : ATTN_MOST_CODES;
        ATTN_FOR_ISA(attn_vector_split)(block, dtype, n_here, &codes);
        join(&codes, n_here, y + i);
    }
}
