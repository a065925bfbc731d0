/*
 * test_quantized.c - folders that programs quantized: each decoded weight has the bits that the
 * program's own library gives it in float32, and damaged folders are refused in a line.
 */
#include "formats/json.h"
#include "formats/tensor_files.h"
#include "model/model_internal.h"
#include "model/weight_arrays.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sets[] = {
    "awq",        "bnb-8",     "bnb-fp4",   "bnb-gpt2",         "bnb-nf4",   "ct-fp8",
    "ct-int4",    "ct-int8",   "ct-mxfp4",  "ct-nvfp4",         "fp8-block", "fp8-channel",
    "fp8-tensor", "gptq-3",    "gptq-act",  "gptq-mislabelled", "gptq-v2",   "mlx",
    "mlx-mixed",  "mlx-mxfp4", "mlx-mxfp8", "mlx-nvfp4"};

enum { N_SET = sizeof sets / sizeof *sets, PATH_SIZE = 100 };

static void write_path(size_t set, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "tests/fixtures/quantized-%s", sets[set]);
}

/* CRC-32 as in zip files. */
static uint32_t crc_of(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
    }
    return ~crc;
}

/* Compares ENTRY, as float32, with WANTED: [shape, CRC]. */
static void check_weight(const char *set, const struct attn_tensor_entry *entry,
                         const struct attn_node *wanted)
{
    const struct attn_node *shape = attn_node_first(wanted), *size = attn_node_first(shape);
    const size_t n = attn_tensor_n_element(&entry->tensor);
    float *values = malloc(n * sizeof *values);
    int64_t crc = 0, side = 0;

    ck_assert_ptr_nonnull(values);
    for (int i = 0; i < entry->tensor.rank; i++, size = attn_node_next(size)) {
        ck_assert(size && attn_node_int(size, &side));
        ck_assert_uint_eq((size_t)side, entry->tensor.shape[i]);
    }
    ck_assert_ptr_null(size);
    ck_assert(attn_node_int(attn_node_next(shape), &crc));
    attn_kernels_find(ATTN_ISA_BEST)->convert(entry->tensor.data, entry->tensor.dtype, n, values);
    ck_assert_msg(crc_of(values, n * sizeof *values) == (uint32_t)crc, "%s: %s", set, entry->name);
    free(values);
}

START_TEST(weights_have_the_bits_of_their_library)
{
    for (size_t i = 0; i < N_SET; i++) {
        char path[PATH_SIZE];
        const struct attn_source source = {.directory = path};
        struct attn_model *model = NULL;
        struct attn_json *json = NULL;
        struct attn_pool *pool = NULL;
        struct attn_error err = {0};
        size_t n = 0;

        write_path(i, path);
        ck_assert_int_eq(attn_pool_create(i % 2 == 0 ? 1 : 3, &pool, &err), ATTN_OK);
        ck_assert_msg(attn_model_open(&source, NULL, &model, &err) == ATTN_OK, "%s", err.message);
        ck_assert_int_eq(attn_tensor_files_make(model->st, pool, &err), ATTN_OK);
        ck_assert_int_eq(attn_json_read_part(&source, "weights.json", NULL, &json, &err), ATTN_OK);
        for (const struct attn_node *node = attn_node_first(attn_json_root(json)); node;
             node = attn_node_next(node), n++) {
            struct attn_tensor_entry entry;

            ck_assert_msg(attn_tensor_files_find(model->st, attn_node_key(node), &entry), "%s",
                          attn_node_key(node));
            check_weight(sets[i], &entry, node);
        }
        ck_assert_uint_eq(n, attn_tensor_files_count(model->st)); /* nothing is left of the codes */
        attn_json_free(json);
        attn_model_free(model);
        attn_pool_free(pool);
    }
}
END_TEST

static struct attn_model *open_model(const char *directory)
{
    const struct attn_source source = {.directory = directory};
    struct attn_model *model = NULL;

    ck_assert_int_eq(attn_model_open(&source, NULL, &model, NULL), ATTN_OK);
    return model;
}

/* A program that reads weights or embeddings needs no host and no session. */
START_TEST(weights_are_decoded_when_they_are_first_read)
{
    enum { N = 3, WIDTH = 64, MOST = 1 << 14 };
    static const int32_t ids[N] = {1, 15, 0};
    static float values[2][MOST];
    struct attn_model *models[2];
    struct attn_weight_array *arrays = NULL;
    struct attn_error err = {0};
    size_t n = 0;

    for (int is_embedding = 0; is_embedding < 2; is_embedding++) {
        models[0] = open_model("tests/fixtures/quantized-mlx");
        models[1] = open_model("tests/fixtures/quantized-mlx-decoded");
        ck_assert_int_eq(attn_model_weights_create(models[1], &arrays, &n, &err), ATTN_OK);
        for (size_t i = 0; i < (is_embedding ? 1 : n); i++) {
            for (int k = 0; k < 2; k++)
                ck_assert_int_eq(is_embedding ? attn_model_embed(models[k], ids, N, values[k], &err)
                                              : attn_model_weight_read(models[k], arrays[i].name,
                                                                       values[k], &err),
                                 ATTN_OK);
            ck_assert_mem_eq(values[0], values[1],
                             (is_embedding ? N * WIDTH : arrays[i].shape[0]) * sizeof(float));
        }
        attn_model_weights_free(arrays);
        attn_model_free(models[0]);
        attn_model_free(models[1]);
    }
}
END_TEST

/* --- Damaged folders -------------------------------------------------------------------------- */

/* Opens PARTS and decodes its weights: works, or is refused in a line. */
static enum attn_status try_parts(const struct attn_parts *parts, const char *what)
{
    struct attn_model *model = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_parts_open(parts, &model, &err);

    if (status == ATTN_OK)
        status = attn_tensor_files_make(model->st, NULL, &err);
    ck_assert_msg(status == ATTN_OK || status == ATTN_FORMAT || status == ATTN_UNSUPPORTED,
                  "%s: %s", what, err.message);
    ck_assert_msg(status == ATTN_OK || (err.message[0] != '\0' && !strchr(err.message, '\n')), "%s",
                  what);
    attn_model_free(model);
    return status;
}

/* Tensors of a quantized weight without which it cannot be decoded. Without an output matrix a
 * model has no logits. */
static bool is_needed(const char *name, size_t size)
{
    static const char *const suffixes[] = {".scales",
                                           ".biases",
                                           ".weight_scale",
                                           ".weight_scale_inv",
                                           ".qzeros",
                                           ".qweight",
                                           ".weight_packed",
                                           ".weight_shape",
                                           ".SCB",
                                           ".absmax",
                                           ".quant_map",
                                           ".nested_absmax",
                                           ".nested_quant_map",
                                           ".bitsandbytes__nf4",
                                           ".bitsandbytes__fp4"};

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (size > strlen(suffixes[i]) && strncmp(name, "lm_head", 7) != 0 &&
            memcmp(name + size - strlen(suffixes[i]), suffixes[i], strlen(suffixes[i])) == 0)
            return true;
    return false;
}

/* Calls TRY for the text AT [size] of the header changed to TO, and puts it back. */
static enum attn_status try_text(const struct attn_parts *parts, unsigned char *at, const char *to,
                                 size_t size)
{
    char before[64];
    enum attn_status status;

    ck_assert_uint_le(size, sizeof before);
    memcpy(before, at, size);
    memcpy(at, to, size);
    status = try_parts(parts, to);
    memcpy(at, before, size);
    return status;
}

/* Tries each tensor of PARTS under another name, of other types and of other shapes. */
static void damage_header(const struct attn_parts *parts)
{
    static const char *const types[] = {"\"I32\"", "\"F32\"",     "\"U32\"",
                                        "\"F16\"", "\"BF16\"",    "\"U8\"",
                                        "\"I8\"",  "\"F8_E4M3\"", "\"F8_E8M0\""};
    unsigned char *header = parts->weights.bytes + 8;
    const size_t end = attn_part_header_end(&parts->weights);

    for (unsigned char *at = header; (size_t)(at - parts->weights.bytes) + 40 < end; at++) {
        char changed[64];
        const unsigned char *comma, *close;

        if (memcmp(at, "\":{\"dtype\"", 10) == 0 || memcmp(at, "\": {\"dtype\"", 11) == 0) {
            const unsigned char *begin = at;

            while (begin[-1] != '"')
                begin--;
            if (try_text(parts, at - 1, "Z", 1) == ATTN_OK)
                ck_assert_msg(!is_needed((const char *)begin, (size_t)(at - begin)), "%.*s",
                              (int)(at - begin), (const char *)begin);
        }
        if (memcmp(at, "\"dtype\":\"", 9) == 0)
            for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
                const size_t n = strlen(types[i]);

                comma = memchr(at, ',', 40);
                if (comma && (size_t)(comma - at) >= 8 + n) {
                    memset(changed, ' ', sizeof changed);
                    memcpy(changed, types[i], n);
                    try_text(parts, at + 8, changed, (size_t)(comma - at) - 8);
                }
            }
        if (memcmp(at, "\"shape\":[", 9) != 0)
            continue;
        comma = memchr(at, ',', 40), close = memchr(at, ']', 60);
        if (!comma || !close || comma > close)
            continue;
        snprintf(changed, sizeof changed, "%.*s,%.*s]", (int)(close - comma - 1),
                 (const char *)comma + 1, (int)(comma - at - 9), (const char *)at + 9);
        try_text(parts, at + 9, changed, (size_t)(close - at) - 8);
    }
}

START_TEST(damaged_folders_are_refused_in_a_line)
{
    for (size_t i = 0; i < N_SET; i++) {
        char path[PATH_SIZE];
        struct attn_parts parts;

        write_path(i, path);
        parts = attn_parts_load(path);
        damage_header(&parts);
        attn_parts_release(&parts);
    }
}
END_TEST

/* Inputs of GPTQ that name a group beyond the file's two. */
START_TEST(groups_that_are_not_there_are_refused)
{
    static const int32_t groups[] = {1, 2, -1, INT32_MAX, INT32_MIN};
    struct attn_parts parts = attn_parts_load("tests/fixtures/quantized-gptq-act");
    struct attn_tensor_files *files = NULL;
    struct attn_tensor_entry entry;

    ck_assert_int_eq(
        attn_safetensors_open_file("tests/fixtures/quantized-gptq-act/model.safetensors", ATTN_MAP,
                                   &files, NULL),
        ATTN_OK);
    ck_assert(attn_tensor_files_find(files, "model.layers.0.self_attn.q_proj.g_idx", &entry));
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        memcpy(parts.weights.bytes + entry.offset + 3 * sizeof *groups, &groups[i], sizeof *groups);
        ck_assert_int_eq(try_parts(&parts, "g_idx"), i == 0 ? ATTN_OK : ATTN_FORMAT);
    }
    attn_tensor_files_free(files);
    attn_parts_release(&parts);
}
END_TEST

/* Sizes in the state of bitsandbytes that its tensors contradict. */
START_TEST(states_that_lie_are_refused)
{
    static const char *const rows[][2] = {
        {"\"blocksize\": 64", "\"blocksize\": 00"},
        {"\"blocksize\": 64", "\"blocksize\": -4"},
        {"\"blocksize\": 64", "\"blocksize\": 63"},
        {"\"blocksize\": 64", "\"blocksize\": {}"},
        {"\"blocksize\": 64", "\"blockeize\": 64"},
        {"\"shape\": [64, 32]", "\"shape\": [64, 31]"},
        {"\"shape\": [64, 32]", "\"shape\": [-4, 32]"},
        {"\"shape\": [64, 32]", "\"shape\": [99, 99]"},
        {"\"shape\": [64, 32]", "\"shape\": [9e9,9e9"},
        {"\"shape\": [64, 32]", "\"shape\": [20,48,]"},
        {"\"shape\": [64, 32]", "\"shape\": 32;     "},
        {"\"nested_blocksize\": 256", "\"nested_blocksize\": 0.5"},
        {"\"nested_blocksize\": 256", "\"nested_blocksize\": 001"},
        {"\"quant_type\"", "{quant_type\""}};
    struct attn_parts parts = attn_parts_load("tests/fixtures/quantized-bnb-nf4");

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char *at =
            memmem(parts.weights.bytes, parts.weights.size, rows[i][0], strlen(rows[i][0]));

        ck_assert_msg(at != NULL, "%s", rows[i][0]);
        ck_assert_msg(try_text(&parts, at, rows[i][1], strlen(rows[i][1])) != ATTN_OK, "%s",
                      rows[i][1]);
    }
    attn_parts_release(&parts);
}
END_TEST

ATTN_SUITE("quantized", weights_have_the_bits_of_their_library,
           weights_are_decoded_when_they_are_first_read, damaged_folders_are_refused_in_a_line,
           states_that_lie_are_refused, groups_that_are_not_there_are_refused)
