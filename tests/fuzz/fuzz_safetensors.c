/*
 * fuzz_safetensors.c - the header of a safetensors file.
 *
 * The tensors of an accepted file tile its data, are sorted by name and found by it; the file is
 * refused with one byte more or less.
 */
#include "base/dtype_internal.h"
#include "base/memory.h"
#include "formats/tensor_files_internal.h"
#include "tests/fuzz/fuzz.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#define NAME "fuzz.safetensors"

static enum attn_status open_bytes(const uint8_t *data, size_t size, struct attn_tensor_files **st)
{
    struct attn_file file = attn_fuzz_file(NAME, data, size);
    struct attn_error err = {0};
    enum attn_status status = attn_safetensors_take(&file, st, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
    FUZZ_CHECK((status == ATTN_OK) == (*st != NULL));
    FUZZ_CHECK(file.path == NULL);
    return status;
}

static void check_entry(const struct attn_tensor_files *st, size_t i, const uint8_t *data,
                        size_t size)
{
    const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);
    const size_t n_byte = attn_tensor_n_byte(&entry.tensor);
    struct attn_tensor_entry found;

    FUZZ_CHECK(strlen(entry.name) == entry.name_size);
    FUZZ_CHECK(i == 0 || strcmp(attn_tensor_files_entry(st, i - 1).name, entry.name) < 0);
    FUZZ_CHECK(attn_tensor_files_find(st, entry.name, &found) && found.name == entry.name);
    FUZZ_CHECK(entry.shard == 0);
    FUZZ_CHECK(entry.tensor.rank >= 0 && entry.tensor.rank <= ATTN_MAX_RANK);
    FUZZ_CHECK(entry.tensor.dtype < ATTN_N_PLAIN_DTYPE);
    FUZZ_CHECK(entry.offset <= size && n_byte <= size - entry.offset);
    FUZZ_CHECK(entry.tensor.data == data + entry.offset);
    FUZZ_CHECK(attn_tensor_n_element(&entry.tensor) * attn_dtype_bits(entry.tensor.dtype) ==
               n_byte * 8);
}

/* Every byte of the data belongs to exactly one tensor. */
static void check_tiling(const struct attn_tensor_files *st, size_t data_start, size_t size)
{
    unsigned char *owners = calloc(size - data_start + 1, 1);

    FUZZ_CHECK(owners != NULL);
    for (size_t i = 0; i < attn_tensor_files_count(st); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);
        const size_t n_byte = attn_tensor_n_byte(&entry.tensor);

        FUZZ_CHECK(entry.offset >= data_start);
        for (size_t k = 0; k < n_byte; k++)
            FUZZ_CHECK(owners[entry.offset - data_start + k]++ == 0);
    }
    FUZZ_CHECK(memchr(owners, 0, size - data_start) == NULL);
    free(owners);
}

static void check_refused(const uint8_t *data, size_t size, size_t other_size)
{
    struct attn_tensor_files *st = NULL;
    uint8_t *copy = calloc(other_size + 1, 1);

    FUZZ_CHECK(copy != NULL);
    memcpy(copy, data, size < other_size ? size : other_size);
    FUZZ_CHECK(open_bytes(copy, other_size, &st) != ATTN_OK);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attn_tensor_files *st = NULL;
    size_t data_start = 8;

    if (open_bytes(data, size, &st) != ATTN_OK)
        return 0;
    for (int i = 0; i < 8; i++)
        data_start += (size_t)data[i] << 8 * i;
    FUZZ_CHECK(data_start <= size);
    FUZZ_CHECK(attn_tensor_files_n_shard(st) == 1);
    FUZZ_CHECK(attn_tensor_files_size(st, 0) == size);
    FUZZ_CHECK(strcmp(attn_tensor_files_path(st, 0), NAME) == 0);
    FUZZ_CHECK(!attn_tensor_files_owns_address(st, data)); /* borrowed, not mapped */
    for (size_t i = 0; i < attn_tensor_files_count(st); i++)
        check_entry(st, i, data, size);
    check_tiling(st, data_start, size);
    attn_tensor_files_free(st);
    check_refused(data, size, size + 1);
    check_refused(data, size, size - 1);
    return 0;
}
