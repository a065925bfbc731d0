/* quantized.c - the row of lib/parts.c for quantized folders: what decodes their weights later, in
 * one loop over fields of bits, by tables of numbers and factors. Each operation is one of float32,
 * in the order of the equation, never fused. */
#include "quantized/quantized.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "quantized/quantized_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_A_TASK = 16, N_VALUE = 256 };

/* Returns field I of BITS bits, the lowest first. The bytes of BASE lie in words of 4, STRIDE bytes
 * from each other. */
static inline unsigned field(const unsigned char *base, size_t stride, size_t i, size_t bits)
{
    const size_t at = i * bits, n = at / 8, shift = at % 8;
    unsigned value = base[n / 4 * stride + n % 4];

    if (shift + bits > 8)
        value |= (unsigned)base[(n + 1) / 4 * stride + (n + 1) % 4] << 8;
    return value >> shift & ((1U << bits) - 1);
}

/* Returns the field of output O in a row of AWQ. */
static inline size_t awq_field(size_t o)
{
    static const unsigned char order[] = {0, 4, 1, 5, 2, 6, 3, 7};

    return o - o % 8 + order[o % 8];
}

static float e4m3(unsigned code)
{
    const int e = code >> 3 & 15, f = code & 7;
    const float value = (code & 127) == 127 ? NAN
                        : e > 0             ? ldexpf((float)(8 + f), e - 10)
                                            : ldexpf((float)f, -9);

    return code & 128 ? -value : value;
}

static float number(enum attn_code_values values, size_t bits, const struct attn_tensor *map,
                    unsigned code)
{
    static const float e2m1[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    float value;

    switch (values) {
    case ATTN_VALUES_SIGNED:
        return (float)code - (float)(1U << (bits - 1));
    case ATTN_VALUES_INT8:
        return (float)(code < 128 ? (int)code : (int)code - 256);
    case ATTN_VALUES_E2M1:
        return code & 8 ? -e2m1[code & 7] : e2m1[code & 7];
    case ATTN_VALUES_E4M3:
        return e4m3(code);
    case ATTN_VALUES_E5M2:
        return attn_half_value(code << 8);
    case ATTN_VALUES_MAP:
        memcpy(&value, (const char *)map->data + code * sizeof value, sizeof value);
        return value;
    default:
        return (float)code;
    }
}

/* Returns element I of a tensor of factors. */
static float element(const struct attn_tensor *tensor, size_t i)
{
    const unsigned char *bytes = tensor->data;
    uint32_t word;
    uint16_t half;
    float value;

    switch (tensor->dtype) {
    case ATTN_DTYPE_F16:
    case ATTN_DTYPE_BF16:
        memcpy(&half, bytes + 2 * i, sizeof half);
        if (tensor->dtype == ATTN_DTYPE_F16)
            return attn_half_value(half);
        word = (uint32_t)half << 16;
        memcpy(&value, &word, sizeof value);
        return value;
    case ATTN_DTYPE_F8_E4M3:
        return e4m3(bytes[i]);
    case ATTN_DTYPE_F8_E8M0:
    case ATTN_DTYPE_U8:
        return bytes[i] == 255 ? NAN : ldexpf(1, bytes[i] - 127);
    default:
        memcpy(&value, bytes + 4 * i, sizeof value);
        return value;
    }
}

/* --- Factors of a row ------------------------------------------------------------------------- */

struct decoding {
    const struct attn_coded *coded;
    float numbers[N_VALUE];
    float *scratch; /* [workers][3][n] factors, zeros and offsets of a row */
    size_t n;
    bool is_halved; /* all zeros of GPTQ are half of the range */
};

static float find_zero(const struct decoding *d, size_t o, size_t k, size_t at)
{
    const struct attn_coded *c = d->coded;
    const unsigned char *zeros = c->zeros.data;
    const size_t row_size = 4 * c->zeros.shape[1]; /* of GPTQ and AWQ */
    const unsigned half = 1U << (c->bits - 1);

    switch (c->zero_form) {
    case ATTN_ZEROS_GPTQ:
        if (d->is_halved)
            return (float)half;
        return (float)((field(zeros + k * row_size, 4, o, c->bits) + !c->has_stored_zeros) &
                       (2 * half - 1));
    case ATTN_ZEROS_AWQ:
        return (float)field(zeros + k * row_size, 4, awq_field(o), c->bits);
    case ATTN_ZEROS_CT:
        return (float)field(zeros + 4 * k, 4 * c->n_group, o, c->bits) - (float)half;
    case ATTN_ZEROS_INT8:
        return number(ATTN_VALUES_INT8, 8, NULL, zeros[at]);
    default:
        return 0;
    }
}

/* Whether the zeros of GPTQ are those of a symmetric weight, whichever version wrote them. */
static bool is_halved(const struct attn_coded *c)
{
    const unsigned half = 1U << (c->bits - 1);

    for (size_t k = 0; k < c->n_group && c->is_symmetric; k++)
        for (size_t o = 0; o < c->n_out; o++) {
            const unsigned zero = field(
                (const unsigned char *)c->zeros.data + k * 4 * c->zeros.shape[1], 4, o, c->bits);

            if (zero != half && zero != half - 1)
                return false;
        }
    return c->is_symmetric;
}

/* Returns factor AT, with those that it is quantized by. */
static float find_factor(const struct attn_coded *c, size_t at)
{
    float factor;

    if (c->nested.data) {
        factor = element(&c->nested_map, ((const unsigned char *)c->scale.data)[at]) *
                 element(&c->nested, at / c->n_nested);
        return factor + c->nested_offset;
    }
    factor = element(&c->scale, at);
    if (!c->scale_2.data)
        return factor;
    return c->is_divisor ? factor / element(&c->scale_2, 0) : factor * element(&c->scale_2, 0);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Writes the numbers of row O to OUT, STEP elements from each other. */
static void read_codes(const struct decoding *d, size_t o, float *out, size_t step)
{
    const struct attn_coded *c = d->coded;
    const unsigned char *codes = c->codes;
    const size_t n = c->n_in, bits = c->bits, row = c->row_size, first = o * n;
    const float *numbers = d->numbers;

    switch (c->layout) {
    case ATTN_CODES_IN_ROWS:
        for (size_t i = 0; i < n; i++)
            out[i * step] = numbers[field(codes + o * row, 4, i, bits)];
        break;
    case ATTN_CODES_IN_COLUMNS:
        for (size_t i = 0; i < n; i++)
            out[i * step] = numbers[field(codes + 4 * o, 4 * c->n_out, i, bits)];
        break;
    case ATTN_CODES_OF_AWQ:
        for (size_t i = 0; i < n; i++)
            out[i * step] = numbers[field(codes + i * row, 4, awq_field(o), bits)];
        break;
    case ATTN_CODES_IN_PAIRS:
        for (size_t i = 0; i < n; i++)
            out[i * step] = numbers[field(codes, 4, (first + i) ^ 1, bits)];
        break;
    }
}

static void decode_row(const struct decoding *d, size_t o, float *factors)
{
    const struct attn_coded *c = d->coded;
    const size_t step = c->is_turned ? c->n_out : 1;
    /* Blocks of pairs run over the ends of rows. */
    const bool is_running = c->layout == ATTN_CODES_IN_PAIRS;
    const size_t before = is_running ? o * c->n_in % c->group : 0;
    const size_t first = is_running ? o * c->n_in / c->group : o / c->block * c->step_out;
    const size_t n = is_running ? (before + c->n_in - 1) / c->group + 1 : c->n_group;
    float *out = c->out + (c->is_turned ? o : o * c->n_in), *zeros = factors + d->n,
          *offsets = zeros + d->n;

    for (size_t k = 0; k < n; k++) {
        const size_t at = first + k * c->step_in;

        factors[k] = find_factor(c, at);
        zeros[k] = find_zero(d, o, k, at);
        if (c->offset.data)
            offsets[k] = element(&c->offset, at);
    }
    read_codes(d, o, out, step);
    for (size_t i = 0, end; i < c->n_in; i = end) {
        size_t k = (before + i) / c->group;
        int32_t own;

        end = (k + 1) * c->group - before;
        if (c->index.data) {
            memcpy(&own, (const char *)c->index.data + i * sizeof own, sizeof own);
            k = (size_t)own, end = i + 1;
        }
        end = end < c->n_in ? end : c->n_in;
        for (size_t j = i; j < end; j++) {
            float value = (out[j * step] - zeros[k]) * factors[k];

            if (c->offset.data)
                value += offsets[k];
            out[j * step] = value;
        }
    }
    for (size_t i = 0; i < c->n_in && c->last != 0; i++)
        out[i * step] *= c->last;
}

static void decode_rows(void *context, size_t task, int worker)
{
    const struct decoding *d = context;
    const size_t end = (task + 1) * ROWS_A_TASK;

    for (size_t o = task * ROWS_A_TASK; o < end && o < d->coded->n_out; o++)
        decode_row(d, o, d->scratch + 3 * d->n * (size_t)worker);
}

/* Decodes CODED into its `out`. Any codes: nothing is read outside of the tensors. */
static enum attn_status decode(const struct attn_coded *coded, struct attn_pool *pool,
                               struct attn_error *err)
{
    const size_t n_worker = pool ? (size_t)attn_pool_n_thread(pool) : 1;
    struct decoding d = {.coded = coded, .n = coded->n_in / coded->group + 2};

    if (coded->n_group > d.n)
        d.n = coded->n_group;
    ATTN_TRY(ATTN_NEW(
        d.scratch, attn_alloc_uninitialized(attn_size_mul(3 * d.n, n_worker), sizeof(float), err)));
    for (unsigned code = 0; code < 1U << coded->bits; code++)
        d.numbers[code] = number(coded->values, coded->bits, &coded->map, code);
    d.is_halved = coded->zero_form == ATTN_ZEROS_GPTQ && is_halved(coded);
    attn_pool_run(pool, (coded->n_out + ROWS_A_TASK - 1) / ROWS_A_TASK, decode_rows, &d);
    attn_free(d.scratch);
    return ATTN_OK;
}

/* --- The weights of a folder ------------------------------------------------------------------ */

/* The quantized weights of a directory of tensors. */
struct maker {
    struct attn_tensor_maker base;
    struct attn_quantization shown;
    struct attn_scheme scheme;    /* owns */
    struct attn_coded_list list;  /* owns; sorted by the addresses of the data */
    struct attn_monitor *monitor; /* owns; held while weights are decoded */
    atomic_bool is_made;
};

/* Returns the address of the data of CODED in its directory. */
static const void *address_of(const struct attn_coded *coded)
{
    return coded->out ? (const void *)coded->out : coded->codes;
}

static int compare(const void *a, const void *b)
{
    const char *x = address_of(a), *y = address_of(b);

    return (x > y) - (x < y);
}

static enum attn_status refuse_size(const struct maker *maker,
                                    const struct attn_tensor_files *files, struct attn_error *err)
{
    char own[ATTN_QUANTITY_SIZE], machine[ATTN_QUANTITY_SIZE];

    attn_error_set(err, ATTN_NO_MEMORY,
                   "the weights of '%s' take %s decoded to float32, and this machine has %s",
                   attn_quote_string(attn_tensor_files_path(files, 0)).text,
                   attn_quantity_bytes(maker->list.size, own),
                   attn_quantity_bytes(attn_memory_of_machine(), machine));
    attn_error_hint(err, "a GGUF file of the same model stays as small as it is");
    return ATTN_NO_MEMORY;
}

static enum attn_status make_all(struct maker *maker, const struct attn_tensor_files *files,
                                 struct attn_pool *pool, struct attn_error *err)
{
    for (size_t i = 0; i < maker->list.n; i++) {
        const struct attn_coded *coded = &maker->list.items[i];

        if (!coded->out)
            return refuse_size(maker, files, err);
        ATTN_TRY(decode(coded, pool, err));
        if (attn_tensor_files_owns_address(files, coded->codes))
            attn_file_drop_pages(coded->codes, coded->n_code_byte);
    }
    atomic_store_explicit(&maker->is_made, true, memory_order_release);
    return ATTN_OK;
}

static enum attn_status make(struct attn_tensor_maker *base, const struct attn_tensor_files *files,
                             struct attn_pool *pool, struct attn_error *err)
{
    struct maker *maker = (struct maker *)base;
    enum attn_status status = ATTN_OK;

    if (atomic_load_explicit(&maker->is_made, memory_order_acquire))
        return ATTN_OK;
    attn_monitor_enter(maker->monitor);
    if (!maker->is_made)
        status = make_all(maker, files, pool, err);
    attn_monitor_leave(maker->monitor);
    return status;
}

static void release(struct attn_tensor_maker *base)
{
    struct maker *maker = (struct maker *)base;

    for (size_t i = 0; i < maker->list.n; i++)
        attn_free(maker->list.items[i].text);
    attn_free(maker->list.items);
    attn_scheme_release(&maker->scheme);
    attn_monitor_free(maker->monitor);
    attn_free(maker);
}

static enum attn_status fill(struct maker *maker, const struct attn_config *config,
                             struct attn_tensor_files *files, struct attn_error *err)
{
    static const char *const names[] = {
#define QUANTIZER_NAME(id, name) [ATTN_QUANTIZER_##id] = (name),
        ATTN_QUANTIZER_MAP(QUANTIZER_NAME)
#undef QUANTIZER_NAME
    };

    ATTN_TRY(attn_monitor_create(1, &maker->monitor, err));
    ATTN_TRY(attn_coded_list_fill(&maker->scheme, config, files, &maker->list, err));
    ATTN_SORT(maker->list.items, maker->list.n, compare);
    maker->shown = (struct attn_quantization){
        names[maker->scheme.quantizer], maker->scheme.common.bits, maker->scheme.common.group_size};
    return ATTN_OK;
}

/* Opens *files unless that is done, and lets MAKER decode their weights. */
static enum attn_status open_files(struct maker *maker, const struct attn_source *source,
                                   enum attn_load load, struct attn_tensor_files **files,
                                   struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    if (!*files)
        status = attn_safetensors_open(source, load, files, err);
    if (status == ATTN_OK)
        (*files)->maker = &maker->base;
    else
        release(&maker->base);
    return status;
}

/* Adds the way out to a refusal. Returns STATUS. */
static enum attn_status hint_way_out(enum attn_status status, struct attn_error *err)
{
    if (status == ATTN_UNSUPPORTED)
        attn_error_hint(err, "a GGUF file of the same model is read, and so is a folder with what "
                             "the library's own dequantize makes of this one");
    return status;
}

enum attn_status attn_quantized_unpack(const struct attn_source *source,
                                       const struct attn_json *json,
                                       const struct attn_config *config, enum attn_load load,
                                       struct attn_tensor_files **files, struct attn_error *err)
{
    struct maker *maker;
    enum attn_status status;

    if ((*files && (*files)->maker) || !attn_scheme_is_given(source, json))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(maker, 1, err));
    maker->base = (struct attn_tensor_maker){make, release};
    status = attn_scheme_read(source, &maker->scheme, err);
    if (status != ATTN_OK || maker->scheme.quantizer <= ATTN_QUANTIZER_MXFP4) {
        release(&maker->base);
        return hint_way_out(status, err);
    }
    ATTN_TRY(open_files(maker, source, load, files, err));
    return hint_way_out(fill(maker, config, *files, err), err);
}

/* --- For people ------------------------------------------------------------------------------- */

const struct attn_quantization *attn_quantization_of(const struct attn_tensor_files *files)
{
    return files->maker ? &((const struct maker *)files->maker)->shown : NULL;
}

const char *attn_quantization_words(const struct attn_tensor_files *files,
                                    char text[ATTN_QUANTIZATION_SIZE])
{
    const struct attn_quantization *found = attn_quantization_of(files);
    int n;

    if (!found)
        return NULL;
    n = snprintf(text, ATTN_QUANTIZATION_SIZE, "%s, %zu bits", found->method, found->bits);
    if (found->group_size > 0)
        snprintf(text + n, ATTN_QUANTIZATION_SIZE - (size_t)n, ", groups of %zu",
                 found->group_size);
    return text;
}

bool attn_quantized_find(const struct attn_tensor_files *files,
                         const struct attn_tensor_entry *entry, struct attn_quantized_place *place)
{
    const struct maker *maker = (const struct maker *)files->maker;
    const struct attn_coded *found = NULL;

    if (!maker)
        return false;
    for (size_t low = 0, high = maker->list.n; low < high && !found;) {
        const size_t middle = low + (high - low) / 2;
        const char *at = address_of(&maker->list.items[middle]);

        if (at == entry->tensor.data)
            found = &maker->list.items[middle];
        else if (at < (const char *)entry->tensor.data)
            low = middle + 1;
        else
            high = middle;
    }
    if (found)
        *place = (struct attn_quantized_place){found->bits, found->offset_in_file, found->n_stored};
    return found;
}
