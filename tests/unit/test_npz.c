/* test_npz.c - archives of numpy.savez are read, and what is cut or changed does no harm. */
#include "formats/npy.h"
#include "formats/zip.h"
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

/* Copies the name of MEMBER without ".npy". */
static const char *name_of(const struct attn_zip_member *member, char name[1 << 16])
{
    size_t n = member->n_name;

    if (n >= 4 && memcmp(member->name + n - 4, ".npy", 4) == 0)
        n -= 4;
    memcpy(name, member->name, n);
    name[n] = '\0';
    return name;
}

/* Lists the members of PATH. */
static enum attn_status list(const char *path, struct attn_file *file, struct attn_zip *zip)
{
    const enum attn_status status = attn_file_open(path, ATTN_READ, file, NULL);

    return status == ATTN_OK ? attn_zip_read(file, ".npz file", zip, NULL) : status;
}

/* Opens PATH and every member; whether all went well. */
static bool read_all(const char *path)
{
    struct attn_file file = {0};
    struct attn_zip zip = {0};
    bool is_read = list(path, &file, &zip) == ATTN_OK;
    static char name[1 << 16];

    for (size_t i = 0; i < zip.n && is_read; i++) {
        struct attn_ndarray array = {.name = path};

        is_read =
            attn_npz_read(path, name_of(&zip.members[i], name), NULL, &array, NULL) == ATTN_OK;
        attn_ndarray_release(&array);
    }
    attn_zip_release(&zip);
    attn_file_release(&file);
    return is_read;
}

START_TEST(reads_what_numpy_wrote)
{
    struct attn_file file = {0};
    struct attn_zip zip = {0};
    static char name[1 << 16];

    ck_assert(list(archive, &file, &zip) == ATTN_OK);
    ck_assert_uint_gt(zip.n, 10);
    for (size_t i = 0; i < zip.n; i++) {
        struct attn_ndarray array = {.name = archive};
        struct attn_error err = {0};
        struct attn_npy expected;
        char path[256];

        snprintf(path, sizeof path, "%s/%s.npy", archive, name_of(&zip.members[i], name));
        ck_assert(attn_npy_read(path, &expected)); /* by the reader of the tests */
        ck_assert_msg(attn_npz_read(archive, name, NULL, &array, &err) == ATTN_OK, "%s",
                      err.message);
        for (size_t k = 0; k < expected.n; k++)
            ck_assert(array.data[k] == (float)expected.values[k] ||
                      expected.values[k] != expected.values[k]);
        attn_ndarray_release(&array);
        attn_npy_release(&expected);
    }
    attn_zip_release(&zip);
    attn_file_release(&file);
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

/* The second entry of the directory leads to the bytes of the first, or into the middle of them. */
START_TEST(refuses_members_that_share_bytes)
{
    static const unsigned char ahead[] = {0, 64};
    char path[64];
    const int descriptor = make_file(path);
    unsigned char *bytes, *entry, *next;
    size_t size;

    bytes = read_archive(&size);
    entry = memmem(bytes, size, "PK\1\2", 4);
    ck_assert(entry != NULL);
    next = memmem(entry + 4, size - (size_t)(entry + 4 - bytes), "PK\1\2", 4);
    ck_assert(next != NULL);
    for (size_t i = 0; i < sizeof ahead; i++) {
        struct attn_file file = {0};
        struct attn_zip zip = {0};
        struct attn_error err = {0};

        memcpy(bytes + ahead[i], "PK\3\4", 4); /* the first member begins the file */
        memset(bytes + ahead[i] + 26, 0, 4);
        memset(next + 42, 0, 4);
        next[42] = ahead[i];
        write_file(path, bytes, size);
        ck_assert(attn_file_open(path, ATTN_READ, &file, NULL) == ATTN_OK);
        ck_assert(attn_zip_read(&file, ".npz file", &zip, &err) == ATTN_FORMAT);
        ck_assert_msg(strstr(err.message, "is no .npz file: two members share bytes") != NULL, "%s",
                      err.message);
        attn_zip_release(&zip);
        attn_file_release(&file);
    }
    free(bytes);
    close(descriptor);
}
END_TEST

ATTN_SUITE("npz", reads_what_numpy_wrote, refuses_what_is_cut, changed_bytes_do_no_harm,
           refuses_members_that_share_bytes)
