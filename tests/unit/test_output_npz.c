/*
 * test_output_npz.c - records of archives and headers of arrays: checksums bit by bit, and sizes
 * that no test can write.
 */
#include "formats/numpy_file.h"
#include "tests/support/suite.h"

#include <string.h>

static uint64_t number_at(const unsigned char *bytes, int n_byte)
{
    uint64_t value = 0;

    for (int i = n_byte; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* The definition: one bit at a time. */
static uint32_t slow_crc(const unsigned char *bytes, size_t n)
{
    uint32_t sum = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? sum >> 1 ^ 0xedb88320 : sum >> 1;
    }
    return ~sum;
}

START_TEST(streams_describe_their_members_afterwards)
{
    struct attn_zip_entry entry = {.name = "x.npy", .size = 5, .crc = 7, .is_described = true};
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    ck_assert_uint_eq(attn_zip_description(&entry, record), 16);
    entry.size = UINT64_C(5000000000);
    ck_assert_uint_eq(attn_zip_local_header(&entry, record), 30 + 5 + 20);
    ck_assert_uint_eq(number_at(record + 18, 8), UINT64_MAX);
    ck_assert_uint_eq(number_at(record + 39, 8), 0);
    ck_assert_uint_eq(attn_zip_description(&entry, record), 24);
    ck_assert_uint_eq(number_at(record + 4, 4), 7);
    ck_assert_uint_eq(number_at(record + 8, 8), entry.size);
    ck_assert_uint_eq(number_at(record + 16, 8), entry.size);
}
END_TEST

START_TEST(checksums_do_not_depend_on_the_order_of_pieces)
{
    struct attn_crc32 crc;
    unsigned char bytes[1000];
    uint32_t sum = attn_crc32_begin(9);

    attn_crc32_init(&crc);
    sum ^= attn_crc32_piece(&crc, "6789", 4, 0);
    sum ^= attn_crc32_piece(&crc, "12345", 5, 4);
    ck_assert_uint_eq(sum, 0xcbf43926); /* the check value of CRC-32 */
    ck_assert_uint_eq(attn_crc32_begin(0), 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i >> 3);
    for (size_t n = 0; n <= sizeof bytes; n += 37) {
        sum = attn_crc32_begin(n);
        for (size_t at = n; at > 0;) { /* from the end, in pieces of awkward sizes */
            size_t size = at < 23 ? at : 23;

            at -= size;
            sum ^= attn_crc32_piece(&crc, bytes + at, size, n - at - size);
        }
        ck_assert_uint_eq(sum, slow_crc(bytes, n));
    }
}
END_TEST

START_TEST(checksums_are_right_for_every_length_and_alignment)
{
    struct attn_crc32 crc;
    unsigned char bytes[400];

    attn_crc32_init(&crc);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 2654435761U >> 13);
    for (int pass = 0; pass < 2; pass++, crc.has_folding = false) /* as it is; then without */
        for (size_t n = 0; n <= 330; n++)
            for (size_t at = 0; at < 20; at += 1 + n % 5)
                ck_assert_uint_eq(attn_crc32_begin(n) ^ attn_crc32_piece(&crc, bytes + at, n, 0),
                                  slow_crc(bytes + at, n));
}
END_TEST

START_TEST(large_archives_use_zip64)
{
    struct attn_zip_entry entry = {
        .name = "x.npy", .size = UINT64_C(5000000000), .offset = UINT64_C(6000000000), .crc = 7};
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    ck_assert_uint_eq(attn_zip_local_header(&entry, record), 30 + 5 + 20);
    ck_assert_uint_eq(number_at(record + 4, 2), 45);
    ck_assert_uint_eq(number_at(record + 18, 8), UINT64_MAX);
    ck_assert_uint_eq(number_at(record + 28, 2), 20);
    ck_assert_uint_eq(number_at(record + 35, 4), 16 << 16 | 1);
    ck_assert_uint_eq(number_at(record + 39, 8), entry.size);
    ck_assert_uint_eq(number_at(record + 47, 8), entry.size);

    ck_assert_uint_eq(attn_zip_central_header(&entry, record), 46 + 5 + 28);
    ck_assert_uint_eq(number_at(record + 42, 4), UINT32_MAX);
    ck_assert_uint_eq(number_at(record + 51, 4), 24 << 16 | 1);
    ck_assert_uint_eq(number_at(record + 71, 8), entry.offset);

    entry.size = 100; /* small, but far from the beginning */
    ck_assert_uint_eq(attn_zip_local_header(&entry, record), 30 + 5);
    ck_assert_uint_eq(attn_zip_central_header(&entry, record), 46 + 5 + 12);
    ck_assert_uint_eq(number_at(record + 20, 4), 100);
    ck_assert_uint_eq(number_at(record + 55, 8), entry.offset);

    ck_assert_uint_eq(attn_zip_end(3, entry.offset, 200, record), 56 + 20 + 22);
    ck_assert_uint_eq(number_at(record + 48, 8), entry.offset);
    ck_assert_uint_eq(number_at(record + 64, 8), entry.offset + 200);
    ck_assert_uint_eq(number_at(record + 76 + 16, 4), UINT32_MAX);
    ck_assert_uint_eq(attn_zip_end(3, 300, 200, record), 22);
    ck_assert_uint_eq(attn_zip_end(65535, 300, 200, record), 56 + 20 + 22);
}
END_TEST

START_TEST(npy_headers_keep_the_numbers_aligned)
{
    char header[ATTN_NPY_HEADER_SIZE];
    const size_t huge[] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX}, one[] = {1};

    ck_assert_uint_eq(attn_npy_header("<f4", huge, 4, 0, header) % 64, 0);
    ck_assert_uint_eq(attn_npy_header("<f4", one, 1, 0, header), 128);
    ck_assert_int_eq(
        memcmp(header + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }  ", 59), 0);
}
END_TEST

ATTN_SUITE("output_npz", streams_describe_their_members_afterwards,
           checksums_do_not_depend_on_the_order_of_pieces,
           checksums_are_right_for_every_length_and_alignment, large_archives_use_zip64,
           npy_headers_keep_the_numbers_aligned)
