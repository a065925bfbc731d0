/*
 * fuzz_npy.c - a .npy file.
 *
 * The data of an accepted file end where the file does, and it is refused with one byte more or
 * less; its elements are the same in place, as floats and as cells, and written out again
 * as numpy writes them they read the same.
 */
#include "base/dtype_internal.h"
#include "formats/npy.h"
#include "tests/fuzz/fuzz.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "fuzz.npy"

static enum attn_status open_bytes(const uint8_t *data, size_t size, struct attn_npy_file **npy)
{
    struct attn_file file = attn_fuzz_file(NAME, data, size);
    struct attn_error err = {0};
    enum attn_status status = attn_npy_take(&file, ATTN_NPY_NUMBERS, npy, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
    FUZZ_CHECK((status == ATTN_OK) == (*npy != NULL));
    FUZZ_CHECK(file.path == NULL);
    return status;
}

static void check_refused(const uint8_t *data, size_t size, size_t other_size)
{
    struct attn_npy_file *npy = NULL;
    uint8_t *copy = calloc(other_size + 1, 1);

    FUZZ_CHECK(copy != NULL);
    memcpy(copy, data, size < other_size ? size : other_size);
    FUZZ_CHECK(open_bytes(copy, other_size, &npy) != ATTN_OK);
    free(copy);
}

static void check_shape(const struct attn_npy_file *npy, size_t size)
{
    char text[ATTN_SHAPE_TEXT_SIZE];
    size_t n = 1;

    FUZZ_CHECK(attn_npy_tensor(npy).rank >= 0 && attn_npy_tensor(npy).rank <= ATTN_MAX_RANK);
    for (int i = 0; i < attn_npy_tensor(npy).rank; i++)
        n *= attn_npy_tensor(npy).shape[i];
    FUZZ_CHECK(n == attn_npy_n_element(npy));
    FUZZ_CHECK(n * (attn_dtype_bits(attn_npy_tensor(npy).dtype) / 8) < size);
    FUZZ_CHECK(strlen(attn_shape_text(attn_npy_tensor(npy).rank, attn_npy_tensor(npy).shape,
                                      text)) < sizeof text);
    FUZZ_CHECK(strcmp(attn_npy_path(npy), NAME) == 0);
}

/* Cells are the floats when all of those are 0 or 1; only rounding may hide what is neither. */
static void check_cells(const struct attn_npy_file *npy, const float *floats, size_t n)
{
    unsigned char *cells = malloc(n + 1);
    struct attn_error err = {0};
    enum attn_status status;

    FUZZ_CHECK(cells != NULL);
    status = attn_npy_read_cells(npy, cells, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    for (size_t i = 0; i < n && status == ATTN_OK; i++)
        FUZZ_CHECK(cells[i] <= 1 && floats[i] == (float)cells[i]);
    free(cells);
}

/* The floats, written as numpy writes them, are read back bit for bit. */
static void check_copy(const float *floats, size_t n)
{
    static const char magic[] = "\x93NUMPY\x01\x00\x76"; /* and a NUL: 118 bytes of header follow */
    const size_t n_header = sizeof magic + 118, size = n_header + n * sizeof *floats;
    struct attn_npy_file *copy = NULL;
    float *again = calloc(n + 1, sizeof *again);
    uint8_t *bytes = malloc(size);
    char text[119];

    FUZZ_CHECK(bytes != NULL && again != NULL);
    snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,), }%59s\n",
             n, "");
    memset(bytes, ' ', n_header);
    memcpy(bytes, magic, sizeof magic);
    memcpy(bytes + sizeof magic, text, strlen(text));
    memcpy(bytes + n_header, floats, n * sizeof *floats);
    FUZZ_CHECK(open_bytes(bytes, size, &copy) == ATTN_OK);
    FUZZ_CHECK(attn_npy_n_element(copy) == n);
    attn_npy_read_floats(copy, again);
    FUZZ_CHECK(memcmp(again, floats, n * sizeof *floats) == 0);
    attn_npy_free(copy);
    free(again);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attn_npy_file *npy = NULL;
    const float *in_place;
    float *floats;
    size_t n;

    if (open_bytes(data, size, &npy) != ATTN_OK)
        return 0;
    check_shape(npy, size);
    n = attn_npy_n_element(npy);
    floats = malloc((n + 1) * sizeof *floats);
    FUZZ_CHECK(floats != NULL);
    attn_npy_read_floats(npy, floats);
    in_place = attn_npy_floats_in_place(npy);
    FUZZ_CHECK(in_place == NULL || memcmp(in_place, floats, n * sizeof *floats) == 0);
    check_cells(npy, floats, n);
    check_copy(floats, n);
    free(floats);
    attn_npy_free(npy);
    check_refused(data, size, size + 1);
    check_refused(data, size, size - 1);
    return 0;
}
