/* numpy_file.c - see numpy_file.h. Numbers in archives are little-endian. */
#include "formats/numpy_file.h"

#include "base/text/fixed_text.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    VERSION_PLAIN = 20,
    VERSION_ZIP64 = 45,
    MADE_ON_UNIX = 3 << 8,
    DATE = 1 << 5 | 1, /* 1980-01-01 */
    MODE = 0100644,    /* mode of the unpacked file: regular, rw-r--r-- */
    ZIP64_EXTRA = 1,
    IS_DESCRIBED = 1 << 3, /* general purpose flag 3: CRC and size come after the content */
};

static unsigned char *put(unsigned char *out, uint64_t value, int n_byte)
{
    for (int i = 0; i < n_byte; i++)
        *out++ = (unsigned char)(value >> 8 * i);
    return out;
}

static unsigned char *put_name(unsigned char *out, const char *name)
{
    size_t n = strlen(name);

    memcpy(out, name, n);
    return out + n;
}

/* Puts a field of 32 bits. If VALUE doesn't fit, all bits are set: the number is in the zip64 extra
 * field. */
static unsigned char *put_capped(unsigned char *out, uint64_t value)
{
    return put(out, value < UINT32_MAX ? value : UINT32_MAX, 4);
}

static bool is_large(uint64_t value)
{
    return value >= UINT32_MAX;
}

/* Puts the fields that local and central headers share, from the version to the length of the
 * name. */
static unsigned char *put_common_fields(unsigned char *out, const struct attn_zip_entry *entry,
                                        bool is_zip64)
{
    out = put(out, is_zip64 ? VERSION_ZIP64 : VERSION_PLAIN, 2);
    out = put(out, entry->is_described ? IS_DESCRIBED : 0, 2);
    out = put(out, 0, 2);
    out = put(out, 0, 2);
    out = put(out, DATE, 2);
    out = put(out, entry->crc, 4);
    out = put_capped(out, entry->size);
    out = put_capped(out, entry->size);
    return put(out, strlen(entry->name), 2);
}

size_t attn_zip_local_header(const struct attn_zip_entry *entry,
                             unsigned char out[ATTN_ZIP_RECORD_SIZE])
{
    struct attn_zip_entry local = *entry;
    bool is_zip64 = is_large(entry->size);
    unsigned char *at = put(out, 0x04034b50, 4);

    if (local.is_described) {
        local.crc = 0;
        local.size = is_zip64 ? UINT32_MAX : 0;
    }
    at = put_common_fields(at, &local, is_zip64);
    at = put(at, is_zip64 ? 20 : 0, 2);
    at = put_name(at, entry->name);
    if (is_zip64) {
        at = put(at, ZIP64_EXTRA, 2);
        at = put(at, 16, 2);
        at = put(at, entry->is_described ? 0 : entry->size, 8);
        at = put(at, entry->is_described ? 0 : entry->size, 8);
    }
    return (size_t)(at - out);
}

size_t attn_zip_description(const struct attn_zip_entry *entry,
                            unsigned char out[ATTN_ZIP_RECORD_SIZE])
{
    int n_byte = is_large(entry->size) ? 8 : 4;
    unsigned char *at = put(out, 0x08074b50, 4);

    at = put(at, entry->crc, 4);
    at = put(at, entry->size, n_byte);
    at = put(at, entry->size, n_byte);
    return (size_t)(at - out);
}

size_t attn_zip_central_header(const struct attn_zip_entry *entry,
                               unsigned char out[ATTN_ZIP_RECORD_SIZE])
{
    size_t extra = (is_large(entry->size) ? 16 : 0) + (is_large(entry->offset) ? 8 : 0);
    bool is_zip64 = extra > 0;
    unsigned char *at = put(out, 0x02014b50, 4);

    at = put(at, MADE_ON_UNIX | (is_zip64 ? VERSION_ZIP64 : VERSION_PLAIN), 2);
    at = put_common_fields(at, entry, is_zip64);
    at = put(at, is_zip64 ? 4 + extra : 0, 2);
    at = put(at, 0, 2); /* comment */
    at = put(at, 0, 2); /* disk */
    at = put(at, 0, 2); /* internal attributes */
    at = put(at, (uint64_t)MODE << 16, 4);
    at = put_capped(at, entry->offset);
    at = put_name(at, entry->name);
    if (is_zip64) {
        at = put(at, ZIP64_EXTRA, 2);
        at = put(at, extra, 2);
    }
    if (is_large(entry->size)) {
        at = put(at, entry->size, 8);
        at = put(at, entry->size, 8);
    }
    if (is_large(entry->offset))
        at = put(at, entry->offset, 8);
    return (size_t)(at - out);
}

static unsigned char *put_zip64_end(unsigned char *out, uint64_t n_entry, uint64_t offset,
                                    uint64_t size)
{
    out = put(out, 0x06064b50, 4);
    out = put(out, 44, 8); /* size of the rest of this record */
    out = put(out, MADE_ON_UNIX | VERSION_ZIP64, 2);
    out = put(out, VERSION_ZIP64, 2);
    out = put(out, 0, 4); /* this disk */
    out = put(out, 0, 4); /* disk of the central headers */
    out = put(out, n_entry, 8);
    out = put(out, n_entry, 8);
    out = put(out, size, 8);
    out = put(out, offset, 8);
    out = put(out, 0x07064b50, 4); /* the locator of that record */
    out = put(out, 0, 4);
    out = put(out, offset + size, 8);
    return put(out, 1, 4); /* number of disks */
}

size_t attn_zip_end(uint64_t n_entry, uint64_t offset, uint64_t size,
                    unsigned char out[ATTN_ZIP_RECORD_SIZE])
{
    uint64_t n_capped = n_entry < UINT16_MAX ? n_entry : UINT16_MAX;
    unsigned char *at = out;

    if (n_entry >= UINT16_MAX || is_large(offset) || is_large(size))
        at = put_zip64_end(at, n_entry, offset, size);
    at = put(at, 0x06054b50, 4);
    at = put(at, 0, 2); /* this disk */
    at = put(at, 0, 2); /* disk of the central headers */
    at = put(at, n_capped, 2);
    at = put(at, n_capped, 2);
    at = put_capped(at, size);
    at = put_capped(at, offset);
    at = put(at, 0, 2); /* comment */
    return (size_t)(at - out);
}

/*
 * The sum of the bytes is computed with sixteen table look-ups per step ("slicing", Kounavis and
 * Berry 2005). The zeros after them are a multiplication by a power of x modulo the polynomial.
 * Where the processor multiplies polynomials, long pieces are first folded into 16 bytes with the
 * same CRC (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009).
 *
 * Polynomials are stored bit-reversed, like the CRC: the highest bit is the coefficient of x^0.
 */
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

/* Multiplies the two halves of X by the two powers of x in BY, and adds all to THERE. */
__attribute__((target("pclmul"))) static block fold(block x, block by, block there)
{
    return __builtin_ia32_pclmulqdq128(x, by, 0x00) ^ __builtin_ia32_pclmulqdq128(x, by, 0x11) ^
           there;
}

/* Folds the first bytes of AT [n >= FOLD_STRIDE] into the block *folded. Returns their number. */
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

/* Returns SUM continued over N zero bytes: sum * x^(8n), where the power is computed by
 * squaring. */
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

/* Returns SUM continued over the bytes AT [n]. */
static uint32_t look_up(const struct attn_crc32 *crc, uint32_t sum, const unsigned char *at,
                        size_t n)
{
    const uint32_t(*table)[256] = crc->table;

    for (; n >= ATTN_CRC32_STRIDE; n -= ATTN_CRC32_STRIDE, at += ATTN_CRC32_STRIDE) {
        uint32_t word[4], next = 0;

        memcpy(word, at, sizeof word); /* little-endian, like all targets of this library */
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

/* sizes of the magic, the version and the length together; the header's alignment */
enum { PREFIX_SIZE = 10, ALIGNMENT = 64 };

size_t attn_npy_header(const char *dtype, const size_t *shape, int rank, size_t least,
                       char out[ATTN_NPY_HEADER_SIZE])
{
    /* each size has up to 20 digits, a comma and a blank */
    char sizes[ATTN_NPY_RANK_MAX * 22 + 1] = "";
    size_t n = 0, text, total;

    assert(rank >= 0 && rank <= ATTN_NPY_RANK_MAX);
    for (int i = 0; i < rank; i++)
        attn_fixed_text_append(sizes, sizeof sizes, &n, i > 0 ? " %zu," : "%zu,", shape[i]);
    if (rank > 1)
        sizes[n - 1] = '\0'; /* cut the blank; a single size keeps its comma */
    text =
        (size_t)snprintf(out + PREFIX_SIZE, ATTN_NPY_HEADER_SIZE - PREFIX_SIZE,
                         "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype, sizes);
    total = (PREFIX_SIZE + text + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    total = total < least ? least : total;
    assert(total <= ATTN_NPY_HEADER_SIZE);
    memset(out + PREFIX_SIZE + text, ' ', total - PREFIX_SIZE - text);
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((total - PREFIX_SIZE) & 255);
    out[9] = (char)((total - PREFIX_SIZE) >> 8);
    return total;
}
