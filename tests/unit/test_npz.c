/* test_npz.c - archives of numpy.savez are read, and what is cut or changed does no harm. */
#include "formats/npz.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char archive[] = "tests/golden/experiments/attn-grouped.npz";

/* The bytes of the archive. */
static unsigned char *read_archive(size_t *size)
{
    FILE *file = fopen(archive, "rb");
    unsigned char *bytes;

    ck_assert(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*size);
    ck_assert(bytes != NULL && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    ck_assert(file != NULL && fwrite(bytes, 1, size, file) == size);
    ck_assert(fclose(file) == 0);
}

/* Opens PATH and every member; whether all went well. */
static bool read_all(const char *path)
{
    struct attn_npz *npz;
    bool is_read = true;

    if (attn_npz_open(path, &npz, NULL) != ATTN_OK)
        return false;
    for (size_t i = 0; i < attn_npz_n_member(npz); i++) {
        struct attn_npy_file *npy;

        if (attn_npz_read(npz, i, &npy, NULL) == ATTN_OK)
            attn_npy_free(npy);
        else
            is_read = false;
    }
    attn_npz_free(npz);
    return is_read;
}

START_TEST(reads_what_numpy_wrote)
{
    struct attn_npz *npz;
    struct attn_error err = {0};
    size_t n_found = 0;

    ck_assert_msg(attn_npz_open(archive, &npz, &err) == ATTN_OK, "%s", err.message);
    for (size_t i = 0; i < attn_npz_n_member(npz); i++) {
        struct attn_npy_file *npy;
        struct attn_npy expected;
        char path[256];

        snprintf(path, sizeof path, "%s/%s.npy", archive, attn_npz_name(npz, i));
        ck_assert(attn_npy_read(path, &expected)); /* by the reader of the tests */
        ck_assert_msg(attn_npz_read(npz, i, &npy, &err) == ATTN_OK, "%s", err.message);
        ck_assert_uint_eq(attn_npy_n_element(npy), expected.n);
        float *values = malloc(expected.n * sizeof *values + 1);

        attn_npy_read_floats(npy, values);
        for (size_t k = 0; k < expected.n; k++)
            ck_assert(values[k] == (float)expected.values[k] ||
                      expected.values[k] != expected.values[k]);
        n_found++;
        free(values);
        attn_npy_free(npy);
        attn_npy_release(&expected);
    }
    ck_assert_uint_gt(n_found, 10);
    attn_npz_free(npz);
}
END_TEST

/* A file in memory, which is written many times; PATH leads to it. */
static int make_file(char path[64])
{
    const int descriptor = memfd_create("npz", MFD_CLOEXEC);

    ck_assert(descriptor >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", descriptor);
    return descriptor;
}

START_TEST(refuses_what_is_cut)
{
    char path[64];
    const int descriptor = make_file(path);
    unsigned char *bytes;
    size_t size;

    bytes = read_archive(&size);
    for (size_t n = 0; n < size; n += n < size - 600 ? 37 : 1) {
        write_file(path, bytes, n);
        ck_assert_msg(!read_all(path), "%zu of %zu bytes are taken", n, size);
    }
    write_file(path, bytes, size);
    ck_assert(read_all(path));
    free(bytes);
    close(descriptor);
}
END_TEST

/* Sanitizers look on while every byte of the directory, and of the first members, is another. */
START_TEST(changed_bytes_do_no_harm)
{
    static const unsigned char masks[] = {0x01, 0x80, 0xff};
    char path[64];
    const int descriptor = make_file(path);
    unsigned char *bytes;
    size_t size, n_refused = 0;

    bytes = read_archive(&size);
    for (size_t at = 0; at < size; at += at < 400 || at > size - 1500 ? 1 : 97)
        for (size_t i = 0; i < sizeof masks; i++) {
            bytes[at] ^= masks[i];
            write_file(path, bytes, size);
            n_refused += !read_all(path);
            bytes[at] ^= masks[i];
        }
    ck_assert_uint_gt(n_refused, 1000);
    free(bytes);
    close(descriptor);
}
END_TEST

ATTN_SUITE("npz", reads_what_numpy_wrote, refuses_what_is_cut, changed_bytes_do_no_harm)
