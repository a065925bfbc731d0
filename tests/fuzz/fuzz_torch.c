/*
 * fuzz_torch.c - any bytes as a file of PyTorch, in the zip form or as a stream.
 *
 * The tensors of an accepted file are sorted, found by name, and lie in the file or in memory that
 * was made for them; all of their bytes can be read. The same bytes as a checkpoint of nanoGPT or a
 * model of llama2.c are opened or refused, and as meta.pkl or tokenizer.bin they make a tokenizer
 * or are refused.
 */
#include "base/dtype_internal.h"
#include "foreign/checkpoint.h"
#include "foreign/torch.h"
#include "formats/tensor_files_internal.h"
#include "model/model.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const unsigned allowed = FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED);

static void check_entry(const struct attn_tensor_files *files, size_t i, size_t size)
{
    const struct attn_tensor_entry entry = attn_tensor_files_entry(files, i);
    const size_t n_byte = attn_tensor_n_byte(&entry.tensor);
    const unsigned char *data = entry.tensor.data;
    volatile unsigned char sum = 0; /* every byte is read */

    FUZZ_CHECK(strlen(entry.name) == entry.name_size);
    FUZZ_CHECK(i == 0 || strcmp(attn_tensor_files_entry(files, i - 1).name, entry.name) < 0);
    FUZZ_CHECK(attn_tensor_files_find(files, entry.name, NULL));
    FUZZ_CHECK(entry.tensor.dtype < ATTN_N_PLAIN_DTYPE && entry.tensor.dtype != ATTN_DTYPE_F64);
    FUZZ_CHECK(n_byte <= size);
    for (size_t k = 0; k < n_byte; k++)
        sum = data[k];
    (void)sum;
}

static void check_tensors(const uint8_t *data, size_t size)
{
    struct attn_file file = attn_fuzz_file("fuzz.bin", data, size);
    struct attn_tensor_files *files = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_torch_take(&file, &files, NULL, NULL, &err);

    attn_fuzz_check_error(status, &err, allowed);
    FUZZ_CHECK((status == ATTN_OK) == (files != NULL) && file.path == NULL);
    for (size_t i = 0; files && i < attn_tensor_files_count(files) && i < 1000; i++)
        check_entry(files, i, size);
    attn_tensor_files_free(files);
}

static void check_checkpoint(const uint8_t *data, size_t size)
{
    const struct attn_blob blob = {ATTN_CHECKPOINT_PART, data, size};
    const struct attn_source source = {.name = "m.pt", .blobs = &blob, .n_blob = 1};
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    attn_fuzz_check_error(attn_model_open(&source, NULL, &model, &err), &err, allowed);
    attn_model_free(model);
}

static void check_vocabulary(const uint8_t *data, size_t size)
{
    static const char *const parts[] = {"meta.pkl", "tokenizer.bin"};

    for (int i = 0; i < 2; i++) {
        const struct attn_blob blobs[] = {{ATTN_CHECKPOINT_PART, "", 0}, {parts[i], data, size}};
        const struct attn_source source = {.name = "m.pt", .blobs = blobs, .n_blob = 2};
        struct attn_tokenizer *tokenizer = NULL;
        struct attn_error err = {0};
        enum attn_status status = attn_tokenizer_open(&source, &tokenizer, &err);

        attn_fuzz_check_error(status, &err, allowed);
        if (status == ATTN_OK)
            attn_fuzz_check_text(tokenizer, &ATTN_ENCODE_DEFAULT, "the cat <s>");
        attn_tokenizer_free(tokenizer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_tensors(data, size);
    check_checkpoint(data, size);
    check_vocabulary(data, size);
    return 0;
}
