/*
 * fuzz_gguf.c - a GGUF file of any bytes.
 *
 * The tensors of an accepted file are sorted, whole, aligned, and tile its data; every pair is
 * found by its key and all its items can be read.
 */
#include "base/dtype_internal.h"
#include "gguf/gguf.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_tensors(const struct attn_bundle *gguf, const uint8_t *data, size_t size)
{
    size_t n_byte = 0;

    FUZZ_CHECK(attn_tensor_files_count(attn_gguf_files(gguf)) > 0 &&
               attn_tensor_files_n_shard(attn_gguf_files(gguf)) == 1);
    for (size_t i = 0; i < attn_tensor_files_count(attn_gguf_files(gguf)); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(attn_gguf_files(gguf), i);
        const size_t n = attn_tensor_n_byte(&entry.tensor);

        FUZZ_CHECK(entry.tensor.dtype < ATTN_N_DTYPE);
        FUZZ_CHECK(entry.tensor.rank >= 1 && entry.tensor.rank <= 4);
        FUZZ_CHECK(n > 0 && entry.offset <= size && n <= size - entry.offset);
        FUZZ_CHECK(entry.tensor.data == data + entry.offset);
        FUZZ_CHECK(attn_tensor_n_element(&entry.tensor) % attn_dtype_block(entry.tensor.dtype) ==
                   0);
        FUZZ_CHECK(attn_tensor_files_find(attn_gguf_files(gguf), entry.name, NULL));
        FUZZ_CHECK(i == 0 || strcmp(attn_tensor_files_entry(attn_gguf_files(gguf), i - 1).name,
                                    entry.name) < 0);
        n_byte += n;
    }
    FUZZ_CHECK(n_byte <= size);
}

static void check_pair(const struct attn_bundle *gguf, struct attn_gguf_pair pair)
{
    const uint64_t n = pair.n;
    uint64_t n_read = 0;
    const char *text;
    size_t size;
    int64_t number;
    double real;

    FUZZ_CHECK(attn_gguf_find_pair(gguf, pair.key, NULL));
    FUZZ_CHECK(pair.is_array || n == 1);
    if (pair.type == ATTN_GGUF_STRING)
        while (attn_gguf_next_text(&pair, &text, &size))
            n_read++;
    else if (pair.type == ATTN_GGUF_F32 || pair.type == ATTN_GGUF_F64)
        while (attn_gguf_next_real(&pair, &real))
            n_read++;
    else
        while (attn_gguf_next_int(&pair, &number))
            n_read++;
    FUZZ_CHECK(n_read == n && pair.at == pair.end);
}

/* Whatever type is asked for, there is a value or a line that says why not. */
static void check_getters(const struct attn_bundle *gguf, const char *key)
{
    struct attn_gguf_pair pair;
    struct attn_error errors[5] = {{0}};
    const char *text = NULL;
    size_t size = 0;
    double real = 0;
    bool is = false;
    const enum attn_status statuses[] = {
        attn_gguf_get_size(gguf, key, &size, &errors[0]),
        attn_gguf_get_real(gguf, key, &real, &errors[1]),
        attn_gguf_get_bool(gguf, key, &is, &errors[2]),
        attn_gguf_get_text(gguf, key, &text, &size, &errors[3]),
        attn_gguf_get_array(gguf, key, ATTN_GGUF_I32, &pair, &errors[4]),
    };

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        attn_fuzz_check_error(statuses[i], &errors[i],
                              FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attn_file file = attn_fuzz_file("m.gguf", data, size);
    struct attn_bundle *gguf = NULL;
    struct attn_error err = {0};
    const enum attn_status status = attn_gguf_take(&file, ATTN_READ, &gguf, &err);

    attn_fuzz_check_error(status, &err,
                          FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED) |
                              FUZZ_BIT(ATTN_INVALID) | FUZZ_BIT(ATTN_IO));
    FUZZ_CHECK((status == ATTN_OK) == (gguf != NULL));
    if (status == ATTN_OK) {
        check_tensors(gguf, data, size);
        for (size_t i = 0; i < attn_gguf_n_pair(gguf); i++) {
            check_pair(gguf, attn_gguf_pair(gguf, i));
            check_getters(gguf, attn_gguf_pair(gguf, i).key);
        }
    }
    attn_gguf_free(gguf);
    return 0;
}
