/* unpacker.c - the row of lib/parts.c: folders of safetensors that a program quantized. */
#include "quantized/quantized_internal.h"

#include "model/model_internal.h"

static enum attn_status check(const struct attn_source *source, const struct attn_json *config,
                              bool *is_quantized, struct attn_error *err)
{
    static const char *const files[] = {"quantize_config.json", "quant_config.json",
                                        "hf_quant_config.json"};
    static const char *const keys[] = {"quantization", "quantization_config", "compression_config",
                                       "text_config"};
    const struct attn_node *root = attn_json_root(config);
    struct attn_scheme scheme = {0};
    bool is_there = false;
    enum attn_status status;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        is_there = is_there || attn_node_find(root, keys[i]);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        is_there = is_there || attn_source_has_part(source, files[i]);
    if (!is_there)
        return ATTN_OK;
    status = attn_scheme_read(source, &scheme, err);
    *is_quantized = scheme.quantizer > ATTN_QUANTIZER_MXFP4;
    attn_scheme_release(&scheme);
    return attn_scheme_hint(status, err);
}

const struct attn_unpacker attn_unpacker_of_folders = {.check = check};
