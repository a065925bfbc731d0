/* scheme.c - reads how a folder is quantized, and refuses by name what is not read. */
#include "quantized/quantized_internal.h"

#include <string.h>
#include <strings.h>

enum { MOST_GROUP = 1 << 30 };

/* The values of `quant_method` that are read. */
static const struct {
    const char *method;
    enum attn_quantizer quantizer;
} methods[] = {{"fp8", ATTN_QUANTIZER_FP8},
               {"fbgemm_fp8", ATTN_QUANTIZER_FP8},
               {"modelopt", ATTN_QUANTIZER_FP8},
               {"bitsandbytes", ATTN_QUANTIZER_BNB},
               {"awq", ATTN_QUANTIZER_AWQ},
               {"gptq", ATTN_QUANTIZER_GPTQ},
               {"compressed-tensors", ATTN_QUANTIZER_CT},
               {"mxfp4", ATTN_QUANTIZER_MXFP4}};

#define BIT(id) (1U << ATTN_QUANTIZER_##id)

/* The keys that the programs' own libraries read: transformers 5.23, optimum 2.3, GPTQModel 7.7,
 * AutoAWQ 0.2.9, mlx-lm 0.32, compressed-tensors 0.20. Those of numbers are read below. All others
 * have no effect on the values of weights (cmd/manual/gguf.md lists them), or the tensors say the
 * same. */
static const struct {
    unsigned quantizers; /* bits */
    const char *key;
    const char *words[9]; /* the texts that are read; none: it must be missing, null or empty */
} choices[] = {
    {BIT(MLX), "mode", {"affine", "mxfp4", "nvfp4", "mxfp8"}},
    {BIT(MLX), "global_scale", {NULL}},
    {BIT(FP8), "quant_algo", {"FP8", "NVFP4"}},
    {BIT(FP8), "scale_fmt", {"float", "ue8m0"}},
    {BIT(FP8), "expert_dtype", {"fp8"}},
    {BIT(FP8), "weight_scale_semantics", {NULL}}, /* GPTQModel's weight_scale_inv is a divisor */
    {BIT(FP8), "pre_quant_scale", {NULL}},        /* of activations, by ModelOpt */
    {BIT(BNB), "llm_int8_has_fp16_weight", {NULL}},
    {BIT(AWQ), "version", {"gemm"}},
    {BIT(AWQ), "format", {"gemm"}},
    {BIT(AWQ), "checkpoint_format", {"gemm"}},
    {BIT(AWQ), "method", {"awq"}},
    {BIT(GPTQ), "format", {"gptq", "gptq_v2"}},
    {BIT(GPTQ), "checkpoint_format", {"gptq", "gptq_v2"}},
    {BIT(GPTQ), "method", {"gptq"}},
    {BIT(GPTQ), "is_marlin_format", {NULL}},
    {BIT(AWQ) | BIT(GPTQ), "pack_dtype", {"int32"}},
    {BIT(AWQ) | BIT(GPTQ), "rotation", {NULL}}, /* turns activations when a model runs */
    {BIT(AWQ) | BIT(GPTQ), "adapter", {NULL}},  /* a LoRA beside the weights */
    {BIT(CT),
     "format",
     {"pack-quantized", "int-quantized", "naive-quantized", "float-quantized",
      "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mixed-precision", "dense"}},
    {BIT(CT), "transform_config", {NULL}},
    {BIT(CT), "moe_sparsity_config", {NULL}},
};

/* Numbers of bits, as bits of a number. */
static const unsigned widths[] = {
    [ATTN_QUANTIZER_MLX] = 0x17E, [ATTN_QUANTIZER_FP8] = 0x100,  [ATTN_QUANTIZER_BNB] = 0x110,
    [ATTN_QUANTIZER_AWQ] = 0x10,  [ATTN_QUANTIZER_GPTQ] = 0x11C, [ATTN_QUANTIZER_CT] = 0x114};

static enum attn_status refuse_text(const struct attn_json *json, const char *key,
                                    const char *value, struct attn_error *err)
{
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key, "is '%s', which is not read",
                            attn_quote_string(value).text);
}

/* Whether NODE has a member or an item that is not empty, or is a value other than null and false.
 */
static bool is_set(const struct attn_node *node)
{
    bool value = true;

    if (attn_node_is_null(node) || (attn_node_is_bool(node, &value) && !value))
        return false;
    if (!attn_node_is_object(node) && !attn_node_is_array(node))
        return true;
    for (node = attn_node_first(node); node; node = attn_node_next(node))
        if (is_set(node))
            return true;
    return false;
}

/* Checks the keys of OBJECT that belong to QUANTIZER. */
static enum attn_status check_words(const struct attn_json *json, enum attn_quantizer quantizer,
                                    const struct attn_node *object, struct attn_error *err)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const char *key = choices[i].key, *const *word = choices[i].words, *value = NULL;
        const struct attn_node *node = attn_node_find(object, key);

        if (!(choices[i].quantizers >> quantizer & 1) || !node || !is_set(node))
            continue;
        if (!*word)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key, "is set, which is not read");
        ATTN_TRY(attn_json_get_string(json, object, key, &value, err));
        while (*word && strcasecmp(value, *word) != 0)
            word++;
        if (!*word)
            return refuse_text(json, key, value, err);
    }
    return ATTN_OK;
}

static enum attn_status check_bits(const struct attn_json *json, enum attn_quantizer quantizer,
                                   const char *key, size_t bits, struct attn_error *err)
{
    if (bits < 32 && (widths[quantizer] >> bits & 1) != 0)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key, "is %zu, which is not read", bits);
}

bool attn_scheme_fits_mlx(const char *mode, size_t bits, size_t group_size)
{
    static const struct {
        const char *mode;
        size_t bits, group_size;
    } fixed[] = {{"mxfp4", 4, 32}, {"nvfp4", 4, 16}, {"mxfp8", 8, 32}};

    if (mode && strcasecmp(mode, "affine") == 0)
        return bits < 9 && (widths[ATTN_QUANTIZER_MLX] >> bits & 1) != 0 &&
               (group_size == 32 || group_size == 64 || group_size == 128);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (bits == fixed[i].bits && group_size == fixed[i].group_size &&
            (!mode || strcasecmp(mode, fixed[i].mode) == 0))
            return true;
    return false;
}

/* Reads the bits and the group size that most modules of MLX have. The shapes of a module's tensors
 * tell its own. */
static enum attn_status read_mlx(struct attn_scheme *scheme, struct attn_error *err)
{
    const struct attn_json *json = scheme->json;
    struct attn_quant_width *width = &scheme->common;
    const char *mode = "affine";

    if (!attn_node_find(scheme->object, "group_size"))
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'quantization_config' in '%s' has neither 'quant_method' nor "
                              "'group_size', which is not read",
                              attn_quote_string(attn_json_name(json)).text);
    ATTN_TRY(attn_json_get_size(json, scheme->object, "bits", 1, 8, &width->bits, err));
    ATTN_TRY(check_bits(json, ATTN_QUANTIZER_MLX, "bits", width->bits, err));
    ATTN_TRY(
        attn_json_get_size(json, scheme->object, "group_size", 16, 128, &width->group_size, err));
    ATTN_TRY(attn_json_get_string(json, scheme->object, "mode", &mode, err));
    if (attn_scheme_fits_mlx(mode, width->bits, width->group_size))
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "group_size",
                            "is %zu, which '%s' with %zu bits does not have", width->group_size,
                            mode, width->bits);
}

/* Reads a group size that is -1 for a whole row, or one of AWQ's older name. */
static enum attn_status read_group(const struct attn_scheme *scheme, size_t *size,
                                   struct attn_error *err)
{
    const char *key =
        attn_node_find(scheme->object, "q_group_size") ? "q_group_size" : "group_size";
    int64_t value = -1;

    ATTN_TRY(attn_json_get_int(scheme->json, scheme->object, key, -1, MOST_GROUP, &value, err));
    *size = value < 0 ? 0 : (size_t)value;
    if (value != 0)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(scheme->json, err, ATTN_FORMAT, key,
                            "is 0, expected -1 or a number from 1");
}

/* Reads the pair of rows and columns KEY of OBJECT. */
static enum attn_status read_block(const struct attn_json *json, const struct attn_node *object,
                                   const char *key, size_t block[2], struct attn_error *err)
{
    const struct attn_node *list = attn_node_find(object, key), *item;
    int64_t value = 0;
    size_t n = 0;

    if (!list || attn_node_is_null(list))
        return ATTN_OK;
    for (item = attn_node_is_array(list) ? attn_node_first(list) : NULL; item && n < 3;
         item = attn_node_next(item), n++) {
        if (!attn_node_int(item, &value) || value < 1 || value > MOST_GROUP)
            break;
        if (n < 2)
            block[n] = (size_t)value;
    }
    if (n == 2 && !item)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is no pair of numbers from 1");
}

/* Reads the groups of compressed-tensors; the first one is what most modules have. */
static enum attn_status read_groups(struct attn_scheme *scheme, struct attn_error *err)
{
    const struct attn_json *json = scheme->json;
    const struct attn_node *groups = attn_node_find(scheme->object, "config_groups");
    const struct attn_node *sparsity = attn_node_find(scheme->object, "sparsity_config");
    const char *sparse = NULL;

    if (sparsity && attn_node_is_object(sparsity))
        ATTN_TRY(attn_json_get_string(json, sparsity, "format", &sparse, err));
    if (sparse && strcmp(sparse, "dense") != 0)
        return refuse_text(json, "sparsity_config", sparse, err);
    groups = groups && attn_node_is_object(groups) ? attn_node_first(groups) : NULL;
    for (; groups; groups = attn_node_next(groups)) {
        const struct attn_node *own =
            attn_node_is_object(groups) ? attn_node_find(groups, "weights") : NULL;
        const char *type = "int";
        size_t bits = 0;

        if (!own || !attn_node_is_object(own))
            continue;
        ATTN_TRY(check_words(json, ATTN_QUANTIZER_CT, groups, err));
        ATTN_TRY(attn_json_get_string(json, own, "type", &type, err));
        ATTN_TRY(attn_json_get_size(json, own, "num_bits", 1, 16, &bits, err));
        ATTN_TRY(check_bits(json, ATTN_QUANTIZER_CT, "num_bits", bits, err));
        if (strcmp(type, "int") == 0)
            scheme->widths |= 1U << bits;
        if (scheme->common.bits == 0) {
            int64_t size = 0;

            scheme->common.bits = bits;
            ATTN_TRY(attn_json_get_int(json, own, "group_size", -1, MOST_GROUP, &size, err));
            scheme->common.group_size = size > 0 ? (size_t)size : 0;
        }
        if (scheme->block[0] == 0)
            ATTN_TRY(read_block(json, own, "block_structure", scheme->block, err));
    }
    return ATTN_OK;
}

/* Reads what belongs to the method, which is known. */
static enum attn_status read_method(struct attn_scheme *scheme, struct attn_error *err)
{
    const struct attn_json *json = scheme->json;
    const struct attn_node *object = scheme->object;
    const char *bits_key = attn_node_find(object, "w_bit") ? "w_bit" : "bits", *algorithm = "";
    bool is_symmetric = true, is_8_bit = false;
    const char *format = NULL, *older = NULL, *backend = "";

    ATTN_TRY(check_words(json, scheme->quantizer, object, err));
    switch (scheme->quantizer) {
    case ATTN_QUANTIZER_MLX:
        return read_mlx(scheme, err);
    case ATTN_QUANTIZER_FP8:
        ATTN_TRY(attn_json_get_string(json, object, "quant_algo", &algorithm, err));
        scheme->common.bits = strcasecmp(algorithm, "NVFP4") == 0 ? 4 : 8;
        if (!attn_node_find(object, "weight_block_size"))
            scheme->block[0] = scheme->block[1] = 128; /* as in transformers */
        return read_block(json, object, "weight_block_size", scheme->block, err);
    case ATTN_QUANTIZER_BNB:
        ATTN_TRY(attn_json_get_bool(json, object, "load_in_8bit", &is_8_bit, err));
        scheme->common.bits = is_8_bit ? 8 : 4;
        return ATTN_OK;
    case ATTN_QUANTIZER_AWQ:
    case ATTN_QUANTIZER_GPTQ:
        scheme->common.bits = 4;
        ATTN_TRY(attn_json_get_string(json, object, "backend", &backend, err));
        if (strcasecmp(backend, "llm-awq") == 0)
            return refuse_text(json, "backend", backend, err);
        ATTN_TRY(attn_json_get_size(json, object, bits_key, 1, 31, &scheme->common.bits, err));
        ATTN_TRY(check_bits(json, scheme->quantizer, bits_key, scheme->common.bits, err));
        ATTN_TRY(attn_json_get_bool(json, object, "sym", &is_symmetric, err));
        ATTN_TRY(attn_json_get_string(json, object, "format", &format, err));
        ATTN_TRY(attn_json_get_string(json, object, "checkpoint_format", &older, err));
        if (format && older && strcasecmp(format, older) != 0)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "format",
                                    "is '%s' and 'checkpoint_format' is '%s', expected one format",
                                    format, older);
        format = format ? format : older;
        scheme->is_asymmetric = !is_symmetric;
        scheme->has_stored_zeros = format && strcasecmp(format, "gptq_v2") == 0;
        return read_group(scheme, &scheme->common.group_size, err);
    case ATTN_QUANTIZER_CT:
        return read_groups(scheme, err);
    default:
        return ATTN_OK;
    }
}

/* Sets the quantizer of the scheme by `quant_method`; without one it is USUAL. */
static enum attn_status find_method(struct attn_scheme *scheme, enum attn_quantizer usual,
                                    struct attn_error *err)
{
    const char *method = NULL;
    bool is_bnb[2] = {false, false};
    size_t i = 0;

    scheme->quantizer = usual;
    ATTN_TRY(attn_json_get_string(scheme->json, scheme->object, "quant_method", &method, err));
    ATTN_TRY(attn_json_get_bool(scheme->json, scheme->object, "load_in_4bit", &is_bnb[0], err));
    ATTN_TRY(attn_json_get_bool(scheme->json, scheme->object, "load_in_8bit", &is_bnb[1], err));
    if (!method && (is_bnb[0] || is_bnb[1]))
        method = "bitsandbytes"; /* older files have no method */
    while (method && i < sizeof methods / sizeof *methods && strcmp(methods[i].method, method) != 0)
        i++;
    if (i == sizeof methods / sizeof *methods) {
        refuse_text(scheme->json, "quant_method", method, err);
        if (strcmp(method, "auto-round") == 0)
            attn_error_hint(err, "auto-round exports the forms auto_gptq and auto_awq, too, which "
                                 "are read, and so is a GGUF file");
        return ATTN_UNSUPPORTED;
    }
    if (method)
        scheme->quantizer = methods[i].quantizer;
    return ATTN_OK;
}

static const char *const keys[] = {"quantization", "quantization_config", "compression_config"};
static const char text_part[] = "text_config";

/* Finds the object in config.json, or in its text_config, and whose it usually is. `null` and {}
 * mean nothing. */
static enum attn_status find_object(struct attn_scheme *scheme, enum attn_quantizer *usual,
                                    struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(scheme->json);
    const struct attn_node *const places[] = {root, attn_node_find(root, text_part)};

    for (size_t i = 0; i < 6 && !scheme->object; i++) {
        const struct attn_node *place = places[i / 3];
        const struct attn_node *node =
            place && attn_node_is_object(place) ? attn_node_find(place, keys[i % 3]) : NULL;

        *usual = i % 3 == 2 ? ATTN_QUANTIZER_CT : ATTN_QUANTIZER_MLX;
        if (node && attn_node_is_object(node) && attn_node_first(node))
            scheme->object = node;
        else if (node && i % 3 > 0 && !attn_node_is_object(node) && !attn_node_is_null(node))
            return ATTN_JSON_REFUSE(scheme->json, err, ATTN_FORMAT, keys[i % 3],
                                    "is no object, as the settings of a quantization are");
    }
    return ATTN_OK;
}

/* The files that programs wrote beside config.json before it had the key. */
static const struct {
    const char *name;
    enum attn_quantizer quantizer;
    const char *object; /* or NULL: the root */
} beside[] = {{"quantize_config.json", ATTN_QUANTIZER_GPTQ, NULL},
              {"quant_config.json", ATTN_QUANTIZER_AWQ, NULL},
              {"hf_quant_config.json", ATTN_QUANTIZER_FP8, "quantization"}};

static enum attn_status read_beside(const struct attn_source *source, struct attn_scheme *scheme,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        if (!attn_source_has_part(source, beside[i].name))
            continue;
        ATTN_TRY(attn_json_read_part(source, beside[i].name, NULL, &scheme->json, err));
        scheme->object = attn_json_root(scheme->json);
        if (beside[i].object)
            scheme->object = attn_node_find(scheme->object, beside[i].object);
        if (scheme->object && attn_node_is_object(scheme->object)) {
            scheme->quantizer = beside[i].quantizer;
            return read_method(scheme, err);
        }
        attn_scheme_release(scheme);
    }
    return ATTN_OK;
}

bool attn_scheme_is_given(const struct attn_source *source, const struct attn_json *config)
{
    const struct attn_node *root = attn_json_root(config);
    bool is_given = attn_node_find(root, text_part);

    for (size_t i = 0; i < 3; i++)
        is_given = is_given || attn_node_find(root, keys[i]) ||
                   attn_source_has_part(source, beside[i].name);
    return is_given;
}

enum attn_status attn_scheme_read(const struct attn_source *source, struct attn_scheme *scheme,
                                  struct attn_error *err)
{
    enum attn_quantizer usual = ATTN_QUANTIZER_NONE;

    ATTN_TRY(attn_json_read_part(source, "config.json", NULL, &scheme->json, err));
    ATTN_TRY(find_object(scheme, &usual, err));
    if (scheme->object) {
        ATTN_TRY(find_method(scheme, usual, err));
        return read_method(scheme, err);
    }
    attn_scheme_release(scheme);
    return read_beside(source, scheme, err);
}

void attn_scheme_release(struct attn_scheme *scheme)
{
    attn_json_free(scheme->json);
    *scheme = (struct attn_scheme){0};
}
