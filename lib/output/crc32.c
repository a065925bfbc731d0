/*
 * crc32.c - see crc32.h. Sixteen table look-ups a step ("slicing", Kounavis and Berry 2005) for
 * the bytes; multiplication by a power of x modulo the polynomial for the zeros after them.
 *
 * Polynomials are kept bit-reversed, as the CRC is: the highest bit is the coefficient of x^0.
 */
#include "output/crc32.h"

#include <string.h>

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

uint32_t attn_crc32_piece(const struct attn_crc32 *crc, const void *bytes, size_t n,
                          uint64_t n_after)
{
    const uint32_t(*table)[256] = crc->table;
    const unsigned char *at = bytes;
    uint32_t sum = 0;

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
    return shift(sum, n_after);
}
