/*
 * crc32.c - see crc32.h. Sixteen table look-ups a step ("slicing", Kounavis and Berry 2005) for
 * the bytes; multiplication by a power of x modulo the polynomial for the zeros after them. Where
 * the processor multiplies polynomials, long pieces are first folded into 16 bytes with the same
 * CRC (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009).
 *
 * Polynomials are kept bit-reversed, as the CRC is: the highest bit is the coefficient of x^0.
 */
#include "encode/crc32.h"

#include <string.h>

/* --- Folding --------------------------------------------------------------------------------- */

typedef long long block __attribute__((vector_size(16)));

enum { N_LANE = 4, FOLD_STRIDE = N_LANE * sizeof(block) };

#if defined __x86_64__

static bool can_fold(void)
{
    return __builtin_cpu_supports("pclmul") != 0;
}

static block load(const unsigned char *at)
{
    block value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* X moved on by as many bytes as BY says, which its two powers of x do for the halves of X; then
 * the block that is there is added. */
__attribute__((target("pclmul"))) static block fold(block x, block by, block there)
{
    return __builtin_ia32_pclmulqdq128(x, by, 0x00) ^ __builtin_ia32_pclmulqdq128(x, by, 0x11) ^
           there;
}

/* Folds the first bytes of AT [n >= FOLD_STRIDE] into one block; returns how many. */
__attribute__((target("pclmul"))) static size_t fold_all(const unsigned char *at, size_t n,
                                                         block *folded)
{
    /* x^(8*64+32), x^(8*64-32), and the same for 16 bytes, modulo the polynomial, bit-reversed */
    const block by_stride = {0x154442bd4, 0x1c6e41596}, by_block = {0x1751997d0, 0x0ccaa009e};
    size_t n_folded = FOLD_STRIDE;
    block lanes[N_LANE];

    for (int i = 0; i < N_LANE; i++)
        lanes[i] = load(at + (size_t)i * sizeof(block));
    for (; n - n_folded >= FOLD_STRIDE; n_folded += FOLD_STRIDE)
        for (int i = 0; i < N_LANE; i++)
            lanes[i] = fold(lanes[i], by_stride, load(at + n_folded + (size_t)i * sizeof(block)));
    for (int i = 1; i < N_LANE; i++)
        lanes[i] = fold(lanes[i - 1], by_block, lanes[i]);
    *folded = lanes[N_LANE - 1];
    return n_folded;
}

#else

static bool can_fold(void)
{
    return false;
}

static size_t fold_all(const unsigned char *at, size_t n, block *folded)
{
    (void)at, (void)n;
    *folded = (block){0};
    return 0;
}

#endif

/* --- Sums ------------------------------------------------------------------------------------ */

static const uint32_t polynomial = 0xedb88320;
static const uint32_t x_to_8 = UINT32_C(1) << 23;

void attn_crc32_init(struct attn_crc32 *crc)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t sum = b;

        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? polynomial : 0);
        crc->table[0][b] = sum;
    }
    for (int i = 1; i < ATTN_CRC32_STRIDE; i++)
        for (int b = 0; b < 256; b++) {
            uint32_t before = crc->table[i - 1][b];

            crc->table[i][b] = before >> 8 ^ crc->table[0][before & 255];
        }
    crc->has_folding = can_fold();
}

static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (; a != 0; a <<= 1) {
        if (a >> 31)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? polynomial : 0);
    }
    return product;
}

/* SUM after N more bytes of zeros: sum * x^(8n), by squaring. */
static uint32_t shift(uint32_t sum, uint64_t n)
{
    for (uint32_t power = x_to_8; n > 0; n >>= 1, power = multiply(power, power))
        if (n & 1)
            sum = multiply(power, sum);
    return sum;
}

uint32_t attn_crc32_begin(uint64_t total)
{
    return shift(UINT32_MAX, total) ^ UINT32_MAX;
}

/* SUM, continued over N bytes. */
static uint32_t look_up(const struct attn_crc32 *crc, uint32_t sum, const unsigned char *at,
                        size_t n)
{
    const uint32_t(*table)[256] = crc->table;

    for (; n >= ATTN_CRC32_STRIDE; n -= ATTN_CRC32_STRIDE, at += ATTN_CRC32_STRIDE) {
        uint32_t word[4], next = 0;

        memcpy(word, at, sizeof word); /* little-endian, as all our targets */
        word[0] ^= sum;
        for (int i = 0; i < 4; i++)
            next ^= table[15 - 4 * i][word[i] & 255] ^ table[14 - 4 * i][word[i] >> 8 & 255] ^
                    table[13 - 4 * i][word[i] >> 16 & 255] ^ table[12 - 4 * i][word[i] >> 24];
        sum = next;
    }
    for (; n > 0; n--)
        sum = sum >> 8 ^ table[0][(sum ^ *at++) & 255];
    return sum;
}

uint32_t attn_crc32_piece(const struct attn_crc32 *crc, const void *bytes, size_t n,
                          uint64_t n_after)
{
    const unsigned char *at = bytes;
    size_t n_folded = 0;
    uint32_t sum = 0;

    if (crc->has_folding && n >= FOLD_STRIDE) {
        block folded;

        n_folded = fold_all(at, n, &folded);
        sum = look_up(crc, 0, (const unsigned char *)&folded, sizeof folded);
    }
    return shift(look_up(crc, sum, at + n_folded, n - n_folded), n_after);
}
