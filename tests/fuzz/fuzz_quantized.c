/*
 * fuzz_quantized.c - any bytes as a quantized folder: what config.json says of it, and its tensors.
 *
 * The first two bytes are the size of the object in config.json, which follows; the rest is
 * model.safetensors. A model is opened or refused in one line; one that is opened is decoded, and
 * all of its values can be read.
 */
#include "base/buffer.h"
#include "base/dtype_internal.h"
#include "formats/tensor_files.h"
#include "model/model_internal.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const char before[] =
    "{\"model_type\":\"llama\",\"vocab_size\":16,\"hidden_size\":32,\"intermediate_size\":32,"
    "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":2,\"head_dim\":16,"
    "\"max_position_embeddings\":64,\"tie_word_embeddings\":true,\"quantization_config\":";

static void read_values(const struct attn_tensor_files *files)
{
    volatile unsigned char sum = 0; /* every byte is read */

    for (size_t i = 0; i < attn_tensor_files_count(files); i++) {
        const struct attn_tensor tensor = attn_tensor_files_entry(files, i).tensor;

        for (size_t k = 0; k < attn_tensor_n_byte(&tensor); k++)
            sum = ((const unsigned char *)tensor.data)[k];
    }
    (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t low = attn_fuzz_byte(&data, &size);
    const size_t wanted = low | attn_fuzz_byte(&data, &size) << 8,
                 n = wanted < size ? wanted : size;
    const unsigned allowed = FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED);
    struct attn_buffer config = {0};
    struct attn_model *model = NULL;
    struct attn_error err = {0};
    enum attn_status status;

    attn_buffer_append_string(&config, before);
    attn_buffer_append(&config, data, n);
    attn_buffer_append_char(&config, '}');
    FUZZ_CHECK(!config.has_failed);
    const struct attn_blob blobs[] = {{"config.json", config.data, config.size},
                                      {"model.safetensors", data + n, size - n}};
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = 2};

    status = attn_model_open(&source, NULL, &model, &err);
    attn_fuzz_check_error(status, &err, allowed);
    if (status == ATTN_OK) {
        status = attn_tensor_files_make(model->st, NULL, &err);
        attn_fuzz_check_error(status, &err, 0);
        read_values(model->st);
    }
    attn_model_free(model);
    attn_buffer_release(&config);
    return 0;
}
