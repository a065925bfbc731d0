/*
 * coded.c - finds the quantized weights of a folder by their tensors, and checks these.
 *
 * The codes of a weight X decide that it is quantized. Its other tensors must all be there, of the
 * type and of exactly the shape that the codes give them, so that decoding reads nothing outside of
 * them whatever the codes are. Lists of modules in the config are not read.
 */
#include "quantized/quantized_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEM_SIZE = 512, ALIGNMENT = 64, MOST_STATE = 64 << 10 };

#define BIT(dtype) (1U << ATTN_DTYPE_##dtype)
#define FLOATS (BIT(F32) | BIT(F16) | BIT(BF16))

/* The weight that is being read. */
struct reader {
    const struct attn_scheme *scheme;
    const struct attn_config *config;
    const struct attn_tensor_files *files;
    bool *is_used;        /* [count of files] records that make place for the decoded ones */
    char stem[STEM_SIZE]; /* X */
    struct attn_tensor codes;
    struct attn_coded *coded;
    struct attn_error *err;
};

/* Returns the record of the tensor X + SUFFIX; NULL: there is none. */
static const struct attn_tensor_record *record_of(const struct reader *r, const char *suffix)
{
    char name[STEM_SIZE + 64];
    const int size = snprintf(name, sizeof name, "%s%s", r->stem, suffix);

    return attn_tensor_files_record(r->files, name, (size_t)size);
}

/* Finds the tensor X + SUFFIX and marks it as used. */
static bool find(const struct reader *r, const char *suffix, struct attn_tensor_entry *entry)
{
    const struct attn_tensor_record *record = record_of(r, suffix);

    if (!record)
        return false;
    *entry = attn_tensor_files_entry(r->files, (size_t)(record - r->files->records));
    r->is_used[record - r->files->records] = true;
    r->coded->n_stored += attn_tensor_n_byte(&entry->tensor);
    return true;
}

static enum attn_status refuse_shape(const struct reader *r, const struct attn_tensor_entry *entry,
                                     const char *expected)
{
    char shape[ATTN_SHAPE_TEXT_SIZE];

    return attn_refuse_in(r->err, ATTN_FORMAT, attn_tensor_files_path(r->files, entry->shard),
                          entry->name, "has shape %s, expected %s",
                          attn_shape_text(entry->tensor.rank, entry->tensor.shape, shape),
                          expected);
}

static enum attn_status check_type(const struct reader *r, const struct attn_tensor_entry *entry,
                                   unsigned dtypes)
{
    char names[120] = "";
    size_t used = 0;

    if (attn_dtype_block(entry->tensor.dtype) == 1 && (dtypes >> entry->tensor.dtype & 1) != 0)
        return ATTN_OK;
    for (unsigned i = 0; i < ATTN_N_PLAIN_DTYPE; i++)
        if ((dtypes >> i & 1) != 0)
            attn_fixed_text_append(names, sizeof names, &used, "%s%s", used > 0 ? " or " : "",
                                   attn_dtype_name((enum attn_dtype)i));
    return attn_refuse_in(r->err, ATTN_FORMAT, attn_tensor_files_path(r->files, entry->shard),
                          entry->name, "has type %s, expected %s",
                          attn_dtype_name(entry->tensor.dtype), names);
}

/* Finds the tensor X + SUFFIX of any of DTYPES, whose shape the caller checks. */
static enum attn_status read_any(struct reader *r, const char *suffix, unsigned dtypes,
                                 struct attn_tensor_entry *entry)
{
    if (!find(r, suffix, entry))
        return attn_error_set(r->err, ATTN_FORMAT, "'%s%s' is missing in '%s'",
                              attn_quote_string(r->stem).text, suffix,
                              attn_quote_string(attn_tensor_files_path(r->files, 0)).text);
    return check_type(r, entry, dtypes);
}

/* Whether TENSOR is [A, B]; with B 0 [A], where [1] may be []. */
static bool has_shape(const struct attn_tensor *tensor, size_t a, size_t b)
{
    return b > 0 ? tensor->rank == 2 && tensor->shape[0] == a && tensor->shape[1] == b
                 : (tensor->rank == 1 && tensor->shape[0] == a) || (tensor->rank == 0 && a == 1);
}

/* Finds the tensor X + SUFFIX of any of DTYPES and of the shape [A, B], or [A] if B is 0. */
static enum attn_status read(struct reader *r, const char *suffix, unsigned dtypes, size_t a,
                             size_t b, struct attn_tensor *tensor)
{
    struct attn_tensor_entry entry;
    char expected[ATTN_SHAPE_TEXT_SIZE];

    ATTN_TRY(read_any(r, suffix, dtypes, &entry));
    if (!has_shape(&entry.tensor, a, b))
        return refuse_shape(r, &entry,
                            attn_shape_text(1 + (b > 0), (const size_t[]){a, b}, expected));
    *tensor = entry.tensor;
    return ATTN_OK;
}

static enum attn_status refuse(const struct reader *r, const char *suffix, const char *why)
{
    return attn_error_set(r->err, ATTN_FORMAT, "'%s%s' in '%s' %s", attn_quote_string(r->stem).text,
                          suffix, attn_quote_string(attn_tensor_files_path(r->files, 0)).text, why);
}

/* Sets the size of a weight whose inputs are in groups of GROUP; 0: a whole row. */
static enum attn_status set_size(const struct reader *r, size_t n_out, size_t n_in, size_t group)
{
    struct attn_coded *c = r->coded;

    c->n_out = n_out, c->n_in = n_in;
    c->block = 1;
    c->group = group > 0 ? group : n_in;
    if (n_out == 0 || n_in == 0 || n_in % c->group != 0)
        return attn_refuse_in(r->err, ATTN_FORMAT, attn_tensor_files_path(r->files, 0), r->stem,
                              "is a weight [%zu, %zu], expected inputs in groups of %zu", n_out,
                              n_in, c->group);
    c->n_group = n_in / c->group;
    return ATTN_OK;
}

/* Reads the factors [n_out, n_group] of the weight. */
static enum attn_status read_scale(struct reader *r, const char *suffix, unsigned dtypes)
{
    struct attn_coded *c = r->coded;

    c->step_out = c->n_group, c->step_in = 1;
    return read(r, suffix, dtypes, c->n_out, c->n_group, &c->scale);
}

/* Codes in rows of BITS bits each: sets the number of inputs. */
static enum attn_status read_rows(struct reader *r, size_t bits, size_t group)
{
    struct attn_coded *c = r->coded;

    c->bits = bits;
    if (c->row_size * 8 % bits != 0)
        return refuse(r, ".weight", "has rows that are no whole number of codes");
    return set_size(r, r->codes.shape[0], c->row_size * 8 / bits, group);
}

/* Finds the shape [outputs, inputs] that the family gives the weight X, and whether the family has
 * it as [inputs, outputs]. Returns the number of inputs; 0: the family does not know X. */
static size_t find_inputs(const struct reader *r, bool *is_turned)
{
    char name[STEM_SIZE + 8];
    struct attn_weight_spec spec;

    snprintf(name, sizeof name, "%s.weight", r->stem);
    if (!attn_weights_find(r->config, name, &spec) || spec.rank != 2)
        return 0;
    *is_turned = spec.rule->kind == ATTN_WEIGHT_IN_OUT || spec.rule->kind == ATTN_WEIGHT_QKV_MATRIX;
    return spec.shape[!*is_turned];
}

/* As in MLX, the shapes tell the bits and the group size of a weight, and the type of the factors
 * its mode. */
static enum attn_status plan_mlx(struct reader *r)
{
    struct attn_coded *c = r->coded;
    struct attn_tensor_entry scales;
    const size_t *shape = scales.tensor.shape;
    size_t n_in, bits, group;
    bool is_turned, is_affine;

    if (record_of(r, ".global_scale"))
        return refuse(r, ".global_scale", "is not read");
    ATTN_TRY(read_any(r, ".scales", FLOATS | BIT(U8), &scales));
    c->scale = scales.tensor;
    is_affine = scales.tensor.dtype != ATTN_DTYPE_U8;
    if (scales.tensor.rank != 2 || shape[1] == 0 || shape[0] != r->codes.shape[0])
        return refuse_shape(r, &scales, "a row for each output");
    n_in = find_inputs(r, &is_turned);
    if (n_in == 0)
        n_in = shape[1] * r->scheme->common.group_size;
    bits = c->row_size * 8 / n_in, group = n_in / shape[1];
    if (bits * n_in != c->row_size * 8 || group * shape[1] != n_in ||
        !attn_scheme_fits_mlx(is_affine ? "affine" : NULL, bits, group))
        return refuse_shape(r, &scales, "groups and bits of a mode of MLX");
    ATTN_TRY(read_rows(r, bits, group));
    c->step_out = c->n_group, c->step_in = 1;
    if (is_affine)
        return read(r, ".biases", FLOATS, c->n_out, c->n_group, &c->offset);
    c->values = bits == 8 ? ATTN_VALUES_E4M3 : ATTN_VALUES_E2M1;
    if (group == 16)
        c->scale.dtype = ATTN_DTYPE_F8_E4M3;
    return ATTN_OK;
}

/* Reads the factors X + SUFFIX of a weight: one, one for each output, for a number of groups in
 * each row, or for blocks of rows and columns. */
static enum attn_status read_grid(struct reader *r, const char *suffix, unsigned dtypes)
{
    struct attn_coded *c = r->coded;
    const size_t *block = r->scheme->block;
    const size_t n_row = block[0] > 0 ? (c->n_out - 1) / block[0] + 1 : 0,
                 n_col = block[0] > 0 ? (c->n_in - 1) / block[1] + 1 : 0;
    struct attn_tensor_entry entry;
    const struct attn_tensor *scale = &entry.tensor;
    char expected[ATTN_SHAPE_TEXT_SIZE];

    ATTN_TRY(read_any(r, suffix, dtypes, &entry));
    c->scale = *scale;
    if (block[0] > 0 && has_shape(scale, n_row, n_col)) {
        c->block = block[0], c->group = block[1], c->n_group = n_col;
        c->step_out = n_col, c->step_in = 1;
        return ATTN_OK;
    }
    if (block[0] > 0 && strcmp(suffix, ".weight_scale_inv") == 0)
        return refuse_shape(r, &entry,
                            attn_shape_text(2, (const size_t[]){n_row, n_col}, expected));
    if (has_shape(scale, 1, 0) || has_shape(scale, 1, 1))
        return ATTN_OK; /* factor 0 of all outputs */
    c->step_out = 1;
    if (has_shape(scale, c->n_out, 0) || has_shape(scale, c->n_out, 1))
        return ATTN_OK;
    if (block[0] > 0 || scale->rank != 2 || scale->shape[0] != c->n_out || scale->shape[1] == 0 ||
        c->n_in % scale->shape[1] != 0)
        return refuse_shape(r, &entry, "one factor, one for each row, or one for each block");
    c->n_group = c->step_out = scale->shape[1], c->step_in = 1;
    c->group = c->n_in / c->n_group;
    return ATTN_OK;
}

static enum attn_status plan_fp8(struct reader *r)
{
    ATTN_TRY(read_rows(r, 8, 0));
    r->coded->values = r->codes.dtype == ATTN_DTYPE_F8_E5M2 ? ATTN_VALUES_E5M2 : ATTN_VALUES_E4M3;
    return read_grid(r, record_of(r, ".weight_scale_inv") ? ".weight_scale_inv" : ".weight_scale",
                     FLOATS | BIT(F8_E8M0) | BIT(U8));
}

/* NVFP4 of ModelOpt and compressed-tensors, and the latter's MXFP4. */
static enum attn_status plan_fp4(struct reader *r)
{
    struct attn_coded *c = r->coded;
    const bool has_factor = record_of(r, ".weight_scale_2");
    const bool is_nvfp4 = has_factor || record_of(r, ".weight_global_scale");

    ATTN_TRY(read_rows(r, 4, is_nvfp4 ? 16 : 32));
    c->values = ATTN_VALUES_E2M1;
    c->is_divisor = !has_factor;
    ATTN_TRY(read_scale(r, ".weight_scale", is_nvfp4 ? BIT(F8_E4M3) : BIT(U8) | BIT(F8_E8M0)));
    return !is_nvfp4 ? ATTN_OK
                     : read(r, has_factor ? ".weight_scale_2" : ".weight_global_scale", BIT(F32), 1,
                            0, &c->scale_2);
}

/* Reads the group of each input, if the file has them. Those of compressed-tensors are all -1 if
 * groups are in order. */
static enum attn_status read_index(struct reader *r, const char *suffix, size_t n_group)
{
    struct attn_coded *c = r->coded;
    bool is_none = r->scheme->quantizer == ATTN_QUANTIZER_CT;
    int32_t group;

    if (!record_of(r, suffix))
        return ATTN_OK;
    ATTN_TRY(read(r, suffix, BIT(I32), c->n_in, 0, &c->index));
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < c->n_in; i++) {
            memcpy(&group, (const char *)c->index.data + i * sizeof group, sizeof group);
            is_none = is_none && group == -1;
            if (!is_none && pass == 1 && (group < 0 || (size_t)group >= n_group))
                return refuse(r, suffix, "has a group that is not there");
        }
    if (is_none)
        c->index.data = NULL;
    return ATTN_OK;
}

static enum attn_status plan_packed(struct reader *r)
{
    struct attn_coded *c = r->coded;
    struct attn_tensor sizes;
    int64_t size[2];

    ATTN_TRY(read(r, ".weight_shape", BIT(I64), 2, 0, &sizes));
    memcpy(size, sizes.data, sizeof size);
    for (size_t bits = 2; bits <= 8 && c->bits == 0; bits *= 2)
        if ((r->scheme->widths >> bits & 1) != 0 && size[1] > 0 &&
            ((size_t)size[1] - 1) / (32 / bits) + 1 == r->codes.shape[1])
            c->bits = bits;
    if (c->bits == 0 || (size_t)size[0] != r->codes.shape[0])
        return refuse(r, ".weight_shape", "is not the shape of the codes");
    c->values = ATTN_VALUES_SIGNED;
    ATTN_TRY(set_size(r, (size_t)size[0], (size_t)size[1], 0));
    ATTN_TRY(read_grid(r, ".weight_scale", FLOATS));
    if (record_of(r, ".weight_zero_point")) {
        c->zero_form = ATTN_ZEROS_CT;
        ATTN_TRY(read(r, ".weight_zero_point", BIT(I32), (c->n_out - 1) / (32 / c->bits) + 1,
                      c->n_group, &c->zeros));
    }
    return read_index(r, ".weight_g_idx", c->n_group);
}

static enum attn_status plan_int8(struct reader *r)
{
    struct attn_coded *c = r->coded;
    struct attn_tensor_entry entry;

    ATTN_TRY(read_rows(r, 8, 0));
    c->values = ATTN_VALUES_INT8;
    ATTN_TRY(read_grid(r, ".weight_scale", FLOATS));
    if (!find(r, ".weight_zero_point", &entry))
        return ATTN_OK;
    c->zero_form = ATTN_ZEROS_INT8;
    c->zeros = entry.tensor;
    ATTN_TRY(check_type(r, &entry, BIT(I8)));
    return attn_tensor_n_element(&c->zeros) == attn_tensor_n_element(&c->scale)
               ? ATTN_OK
               : refuse_shape(r, &entry, "that of the factors");
}

static enum attn_status plan_awq(struct reader *r)
{
    struct attn_coded *c = r->coded;
    const size_t n_word = r->codes.shape[1];

    ATTN_TRY(set_size(r, 8 * n_word, r->codes.shape[0], r->scheme->common.group_size));
    c->bits = 4;
    c->layout = ATTN_CODES_OF_AWQ;
    c->step_out = 1, c->step_in = c->n_out;
    c->zero_form = ATTN_ZEROS_AWQ;
    ATTN_TRY(read(r, ".qzeros", BIT(I32), c->n_group, n_word, &c->zeros));
    return read(r, ".scales", FLOATS, c->n_group, c->n_out, &c->scale);
}

static enum attn_status plan_gptq(struct reader *r)
{
    struct attn_coded *c = r->coded;
    const size_t n_out = r->codes.shape[1];
    struct attn_tensor_entry zeros;
    const size_t *shape = zeros.tensor.shape; /* [groups, words of outputs] */
    size_t group = r->scheme->common.group_size, n_in;

    ATTN_TRY(read_any(r, ".qzeros", BIT(I32), &zeros));
    for (size_t bits = 2; bits <= 8 && c->bits == 0; bits += bits < 4 ? 1 : 4)
        if (zeros.tensor.rank == 2 && shape[0] > 0 && shape[1] <= n_out &&
            shape[1] * 32 == n_out * bits)
            c->bits = bits;
    if (c->bits == 0 || r->codes.shape[0] * 32 % c->bits != 0)
        return refuse_shape(r, &zeros, "2, 3, 4 or 8 bits for each output, as the codes have");
    n_in = r->codes.shape[0] * 32 / c->bits;
    if (attn_node_find(r->scheme->object, "dynamic") && n_in % shape[0] == 0)
        group = n_in / shape[0]; /* modules may have their own */
    ATTN_TRY(set_size(r, n_out, n_in, group));
    if (shape[0] != c->n_group)
        return refuse_shape(r, &zeros, "a row for each group");
    c->layout = ATTN_CODES_IN_COLUMNS;
    c->step_out = 1, c->step_in = n_out;
    c->zero_form = ATTN_ZEROS_GPTQ;
    c->zeros = zeros.tensor;
    c->is_symmetric = !r->scheme->is_asymmetric;
    c->has_stored_zeros = r->scheme->has_stored_zeros;
    ATTN_TRY(read(r, ".scales", FLOATS, c->n_group, n_out, &c->scale));
    return read_index(r, ".g_idx", c->n_group);
}

/* --- bitsandbytes ----------------------------------------------------------------------------- */

static enum attn_status plan_bnb8(struct reader *r)
{
    struct attn_coded *c = r->coded;
    struct attn_tensor format;

    ATTN_TRY(read_rows(r, 8, 0));
    c->values = ATTN_VALUES_INT8;
    c->step_out = 1;
    c->last = (float)(1.0 / 127);
    if (record_of(r, ".weight_format")) {
        ATTN_TRY(read(r, ".weight_format", BIT(U8), 1, 0, &format));
        if (*(const unsigned char *)format.data != 0)
            return refuse(r, ".weight_format", "is not 0, for codes in rows");
    }
    return read(r, ".SCB", BIT(F32), c->n_out, 0, &c->scale);
}

/* Reads the sizes in the state of a weight, a JSON text. */
static enum attn_status read_state(struct reader *r, const struct attn_json *json, bool is_nested,
                                   size_t *n)
{
    struct attn_coded *c = r->coded;
    const struct attn_node *root = attn_json_root(json), *item = attn_node_find(root, "shape");
    int64_t shape[2] = {0, 0};
    double offset = 0;

    ATTN_TRY(attn_json_get_size(json, root, "blocksize", 1, 1 << 20, &c->group, r->err));
    item = item && attn_node_is_array(item) ? attn_node_first(item) : NULL;
    for (size_t i = 0; i < 2 && item; i++, item = attn_node_next(item))
        if (!attn_node_int(item, &shape[i]))
            shape[i] = 0;
    if (item || shape[0] < 1 || shape[1] < 1 ||
        !attn_checked_mul((size_t)shape[0], (size_t)shape[1], n))
        return ATTN_JSON_REFUSE(json, r->err, ATTN_FORMAT, "shape",
                                "is no pair of sizes, [outputs, inputs]");
    c->n_out = (size_t)shape[0], c->n_in = (size_t)shape[1];
    if (c->group == 0)
        return ATTN_JSON_REFUSE(json, r->err, ATTN_FORMAT, "blocksize", "is missing");
    if (!is_nested)
        return ATTN_OK;
    ATTN_TRY(attn_json_get_size(json, root, "nested_blocksize", 1, 1 << 20, &c->n_nested, r->err));
    ATTN_TRY(attn_json_get_double(json, root, "nested_offset", -1e30, 1e30, &offset, r->err));
    c->nested_offset = (float)offset;
    return c->n_nested > 0
               ? ATTN_OK
               : ATTN_JSON_REFUSE(json, r->err, ATTN_FORMAT, "nested_blocksize", "is missing");
}

static enum attn_status plan_bnb4(struct reader *r)
{
    static const char nf4[] = ".weight.quant_state.bitsandbytes__nf4";
    struct attn_coded *c = r->coded;
    const bool is_nested = r->codes.dtype == ATTN_DTYPE_U8;
    struct attn_tensor_entry codes, state;
    struct attn_json *json = NULL;
    enum attn_status status;
    size_t n = 0, n_block;

    ATTN_TRY(read_any(r, record_of(r, nf4) ? nf4 : ".weight.quant_state.bitsandbytes__fp4", BIT(U8),
                      &state));
    if (state.tensor.rank != 1 || state.tensor.shape[0] > MOST_STATE)
        return refuse_shape(r, &state, "the bytes of a short JSON text");
    const struct attn_file text = {.storage = ATTN_FILE_BORROWED,
                                   .data = state.tensor.data,
                                   .size = state.tensor.shape[0],
                                   .path = (char *)(uintptr_t)state.name};

    ATTN_TRY(attn_json_parse(&text, &json, r->err));
    status = read_state(r, json, is_nested, &n);
    attn_json_free(json);
    ATTN_TRY(status);
    if (!find(r, ".weight", &codes))
        return refuse(r, ".weight", "is missing");
    if (attn_tensor_n_byte(&codes.tensor) != n / 2 + n % 2)
        return refuse_shape(r, &codes, "as many bytes as the shape in its state needs");
    c->codes = codes.tensor.data;
    c->n_code_byte = attn_tensor_n_byte(&codes.tensor);
    c->shard = codes.shard;
    c->offset_in_file = codes.offset;
    c->bits = 4;
    c->layout = ATTN_CODES_IN_PAIRS;
    c->values = ATTN_VALUES_MAP;
    c->block = c->step_in = 1;
    n_block = (n - 1) / c->group + 1;
    c->scale = r->codes;
    if (!has_shape(&r->codes, n_block, 0))
        return refuse(r, ".weight.absmax", "is not of as many blocks as the weight");
    ATTN_TRY(read(r, ".weight.quant_map", BIT(F32), 16, 0, &c->map));
    if (!is_nested)
        return ATTN_OK;
    ATTN_TRY(read(r, ".weight.nested_quant_map", BIT(F32), 256, 0, &c->nested_map));
    return read(r, ".weight.nested_absmax", BIT(F32), (n_block - 1) / c->n_nested + 1, 0,
                &c->nested);
}

/* --- Forms ------------------------------------------------------------------------------------ */

/* The forms: a weight has one if the file has its codes, X + `suffix`, of one of these types. For
 * bitsandbytes' 4 bits that is absmax, because codes of any type count by their bytes. */
static const struct form {
    enum attn_quantizer quantizer;
    const char *suffix;
    unsigned dtypes;
    enum attn_status (*plan)(struct reader *r);
} forms[] = {
    {ATTN_QUANTIZER_MLX, ".weight", BIT(U32), plan_mlx},
    {ATTN_QUANTIZER_FP8, ".weight", BIT(F8_E4M3) | BIT(F8_E5M2), plan_fp8},
    {ATTN_QUANTIZER_FP8, ".weight", BIT(U8), plan_fp4},
    {ATTN_QUANTIZER_BNB, ".weight.absmax", BIT(U8) | BIT(F32), plan_bnb4},
    {ATTN_QUANTIZER_BNB, ".weight", BIT(I8), plan_bnb8},
    {ATTN_QUANTIZER_AWQ, ".qweight", BIT(I32), plan_awq},
    {ATTN_QUANTIZER_GPTQ, ".qweight", BIT(I32), plan_gptq},
    {ATTN_QUANTIZER_CT, ".weight_packed", BIT(I32), plan_packed},
    {ATTN_QUANTIZER_CT, ".weight_packed", BIT(U8), plan_fp4},
    {ATTN_QUANTIZER_CT, ".weight", BIT(I8), plan_int8},
    {ATTN_QUANTIZER_CT, ".weight", BIT(F8_E4M3), plan_fp8},
};

/* Whether RECORD is named X + SUFFIX. Copies X to STEM. */
static bool has_stem(const struct attn_tensor_record *record, const char *suffix,
                     char stem[STEM_SIZE])
{
    const size_t n = strlen(suffix);

    if (record->name_size <= n || record->name_size - n >= STEM_SIZE ||
        memcmp(record->name + record->name_size - n, suffix, n) != 0)
        return false;
    snprintf(stem, STEM_SIZE, "%.*s", (int)(record->name_size - n), record->name);
    return true;
}

static const struct form *find_form(struct reader *r, const struct attn_tensor_record *record)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].quantizer == r->scheme->quantizer && (forms[i].dtypes >> record->dtype & 1) &&
            has_stem(record, forms[i].suffix, r->stem))
            return &forms[i];
    return NULL;
}

/* Marks the bias X.bias as used if the family has no place for it and it is zero: AutoGPTQ writes
 * one for each map. */
static void drop_zero_bias(struct reader *r)
{
    const struct attn_tensor_record *record = record_of(r, ".bias");
    const size_t at = record ? (size_t)(record - r->files->records) : 0;
    const struct attn_tensor bias = attn_tensor_files_entry(r->files, at).tensor;
    char name[STEM_SIZE + 8];
    struct attn_weight_spec spec;
    size_t i = 0;

    snprintf(name, sizeof name, "%s.bias", r->stem);
    if (!record || attn_weights_find(r->config, name, &spec))
        return;
    while (i < record->n_byte && ((const unsigned char *)bias.data)[i] == 0)
        i++;
    r->is_used[at] = i == record->n_byte;
}

/* Names the decoded weight. The family's own shape says whether it is [inputs, outputs]. */
static enum attn_status finish(struct reader *r, const char *suffix)
{
    struct attn_coded *c = r->coded;
    const size_t size = strlen(r->stem) + sizeof ".weight";
    char shape[ATTN_SHAPE_TEXT_SIZE];

    if ((suffix[1] == 'q' || strchr(suffix, '_')) && record_of(r, ".weight"))
        return refuse(r, suffix, "is there beside the weight itself, expected one of both");
    ATTN_TRY(ATTN_NEW(c->text, attn_alloc(size + ATTN_SHAPE_TEXT_SIZE, 1, r->err)));
    snprintf(c->text, size, "%s.weight", r->stem);
    if (find_inputs(r, &c->is_turned) > 0 && r->scheme->quantizer == ATTN_QUANTIZER_GPTQ)
        drop_zero_bias(r);
    attn_shape_text(
        2, c->is_turned ? (const size_t[]){c->n_in, c->n_out} : (const size_t[]){c->n_out, c->n_in},
        shape);
    memcpy(c->text + size, shape, strlen(shape) + 1);
    return ATTN_OK;
}

/* Reads the weight whose codes are record AT, if it is one. */
static enum attn_status read_weight(struct reader *r, size_t at, struct attn_coded_list *list)
{
    const struct form *form = find_form(r, &r->files->records[at]);
    const struct attn_tensor_entry entry = attn_tensor_files_entry(r->files, at);

    if (!form)
        return ATTN_OK;
    ATTN_TRY(ATTN_GROW(list->items, list->capacity, list->n + 1, r->err));
    r->coded = &list->items[list->n++];
    r->codes = entry.tensor;
    *r->coded = (struct attn_coded){.codes = entry.tensor.data,
                                    .shard = entry.shard,
                                    .offset_in_file = entry.offset,
                                    .n_code_byte = attn_tensor_n_byte(&entry.tensor),
                                    .n_stored = attn_tensor_n_byte(&entry.tensor)};
    r->is_used[at] = true;
    if (form->plan != plan_bnb4) {
        if (r->codes.rank != 2 || attn_tensor_n_element(&r->codes) == 0)
            return refuse_shape(r, &entry, "rows of codes");
        r->coded->row_size = attn_dtype_n_byte(r->codes.dtype, r->codes.shape[1]);
    }
    ATTN_TRY(form->plan(r));
    return finish(r, form->suffix);
}

/* Whether RECORD is a factor of activations or caches, which stay float32 here. */
static bool is_of_activations(const struct attn_tensor_record *record)
{
    static const char *const suffixes[] = {".input_scale",      ".input_global_scale",
                                           ".activation_scale", ".output_scale",
                                           ".k_scale",          ".v_scale"};
    char stem[STEM_SIZE];
    bool is_it = false;

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        is_it = is_it || has_stem(record, suffixes[i], stem);
    return is_it;
}

/* Refuses factors that no codes belong to, beside a weight: its library rounds that by them when
 * the model runs (`quantization_status` "frozen" of compressed-tensors), or does not load it. */
static enum attn_status check_unused(struct reader *r, const struct attn_tensor_record *record)
{
    static const char *const suffixes[] = {".weight_scale", ".weight_scale_inv", ".scales", ".SCB"};

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (has_stem(record, suffixes[i], r->stem) && record_of(r, ".weight"))
            return refuse(r, suffixes[i], "is beside a weight that is not of codes");
    return ATTN_OK;
}

/* Returns the bytes of CODED decoded, rounded up to whole cache lines. Its codes are in a file, of
 * at least a bit for each value: no overflow. */
static size_t size_of(const struct attn_coded *coded)
{
    const size_t n_byte = coded->n_out * coded->n_in * sizeof(float);

    return (n_byte + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Gives the weights of LIST places in the memory of their files, and records. Without WITH_MEMORY
 * they have none. */
static enum attn_status place(struct attn_tensor_files *files, struct attn_coded_list *list,
                              bool with_memory, struct attn_error *err)
{
    for (int shard = 0; shard < files->n_shard; shard++) {
        struct attn_tensor_file *file = &files->shards[shard];
        size_t size = 0, used = 0;

        for (size_t i = 0; i < list->n && with_memory; i++)
            if (list->items[i].shard == shard)
                size += size_of(&list->items[i]);
        if (size > 0 && file->made) /* tensors of PyTorch that were gathered */
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' is quantized and has strided tensors, expected safetensors",
                                  attn_quote_string(file->file.path).text);
        if (size > 0)
            ATTN_TRY(ATTN_NEW(file->made, attn_alloc_large(size, 1, err)));
        for (size_t i = 0; i < list->n; i++) {
            struct attn_coded *c = &list->items[i];
            const size_t n_name = strlen(c->text);

            if (c->shard != shard)
                continue;
            files->records[files->count++] =
                (struct attn_tensor_record){.name = c->text,
                                            .name_size = n_name,
                                            .shape = c->text + n_name + 1,
                                            .offset = with_memory ? used : c->offset_in_file,
                                            .n_byte = c->n_out * c->n_in * sizeof(float),
                                            .shard = shard,
                                            .dtype = ATTN_DTYPE_F32,
                                            .rank = 2,
                                            .is_made = with_memory};
            c->out = with_memory ? (float *)(void *)(file->made + used) : NULL;
            used += size_of(c);
        }
    }
    return ATTN_OK;
}

static enum attn_status fill(struct reader *r, struct attn_tensor_files *files,
                             struct attn_coded_list *list)
{
    static const char act_scales[] = ".act.scales";
    size_t n = 0;

    for (size_t i = 0; i < files->count; i++) {
        if (r->scheme->quantizer == ATTN_QUANTIZER_AWQ &&
            has_stem(&files->records[i], act_scales, r->stem))
            return attn_refuse_in(r->err, ATTN_UNSUPPORTED, attn_tensor_files_path(files, 0),
                                  files->records[i].name, "divides activations, which is not read");
        ATTN_TRY(read_weight(r, i, list));
    }
    for (size_t i = 0; i < files->count; i++)
        if (!r->is_used[i])
            ATTN_TRY(check_unused(r, &files->records[i]));
    for (size_t i = 0; i < files->count; i++)
        if (!r->is_used[i] && !is_of_activations(&files->records[i]))
            files->records[n++] = files->records[i];
    files->count = n;
    for (size_t i = 0; i < list->n; i++)
        list->size += size_of(&list->items[i]);
    ATTN_TRY(place(files, list, list->size <= attn_memory_of_machine(), r->err));
    qsort(files->records, files->count, sizeof *files->records, attn_tensor_compare_names);
    return ATTN_OK;
}

enum attn_status attn_coded_list_fill(const struct attn_scheme *scheme,
                                      const struct attn_config *config,
                                      struct attn_tensor_files *files, struct attn_coded_list *list,
                                      struct attn_error *err)
{
    struct reader r = {.scheme = scheme, .config = config, .files = files, .err = err};
    enum attn_status status;

    r.is_used = attn_alloc(files->count, sizeof *r.is_used, err);
    status = r.is_used ? fill(&r, files, list) : ATTN_NO_MEMORY;
    attn_free(r.is_used);
    return status;
}
