/* inspection_gguf.c - the mixture of types of a GGUF file, its metadata, and what its converter
 * changed. */
#include "inspect/inspection_internal.h"

#include "base/buffer.h"
#include "base/dtype_internal.h"
#include "families/gguf_form.h"
#include "gguf/gguf_config.h"
#include "tables/table_internal.h"

#include <inttypes.h>
#include <string.h>

#define N(list) (sizeof(list) / sizeof *(list))

/* Mixtures by their number in `general.file_type` (llama.h `llama_ftype`): the name, and the type
 * of most of its matrices. A mixture with two such types has two rows. */
static const struct mixture {
    size_t file_type;
    const char *name;
    enum attn_dtype dtype;
} mixtures[] = {
    {0, "F32", ATTN_DTYPE_F32},          {1, "F16", ATTN_DTYPE_F16},
    {2, "Q4_0", ATTN_DTYPE_Q4_0},        {3, "Q4_1", ATTN_DTYPE_Q4_1},
    {7, "Q8_0", ATTN_DTYPE_Q8_0},        {8, "Q5_0", ATTN_DTYPE_Q5_0},
    {9, "Q5_1", ATTN_DTYPE_Q5_1},        {10, "Q2_K", ATTN_DTYPE_Q2_K},
    {11, "Q3_K_S", ATTN_DTYPE_Q3_K},     {12, "Q3_K_M", ATTN_DTYPE_Q3_K},
    {13, "Q3_K_L", ATTN_DTYPE_Q3_K},     {14, "Q4_K_S", ATTN_DTYPE_Q4_K},
    {15, "Q4_K_M", ATTN_DTYPE_Q4_K},     {16, "Q5_K_S", ATTN_DTYPE_Q5_K},
    {17, "Q5_K_M", ATTN_DTYPE_Q5_K},     {18, "Q6_K", ATTN_DTYPE_Q6_K},
    {19, "IQ2_XXS", ATTN_DTYPE_IQ2_XXS}, {20, "IQ2_XS", ATTN_DTYPE_IQ2_XS},
    {21, "Q2_K_S", ATTN_DTYPE_Q2_K},     {22, "IQ3_XS", ATTN_DTYPE_IQ3_S},
    {22, "IQ3_XS", ATTN_DTYPE_IQ3_XXS},  {23, "IQ3_XXS", ATTN_DTYPE_IQ3_XXS},
    {23, "IQ3_XXS", ATTN_DTYPE_IQ2_S},   {24, "IQ1_S", ATTN_DTYPE_IQ1_S},
    {25, "IQ4_NL", ATTN_DTYPE_IQ4_NL},   {26, "IQ3_S", ATTN_DTYPE_IQ3_S},
    {27, "IQ3_M", ATTN_DTYPE_IQ3_S},     {28, "IQ2_S", ATTN_DTYPE_IQ2_XS},
    {29, "IQ2_M", ATTN_DTYPE_IQ2_S},     {30, "IQ4_XS", ATTN_DTYPE_IQ4_XS},
    {31, "IQ1_M", ATTN_DTYPE_IQ1_M},     {32, "BF16", ATTN_DTYPE_BF16},
    {36, "TQ1_0", ATTN_DTYPE_TQ1_0},     {37, "TQ2_0", ATTN_DTYPE_TQ2_0},
    {38, "MXFP4", ATTN_DTYPE_MXFP4},     {39, "NVFP4", ATTN_DTYPE_NVFP4},
};

/* Whether TENSOR has DTYPE, or the type that replaces it if rows are not whole blocks of 256. */
static bool is_of(const struct attn_tensor *tensor, enum attn_dtype dtype)
{
    if (tensor->dtype == dtype)
        return true;
    if (attn_dtype_block(dtype) != 256 || tensor->shape[tensor->rank - 1] % 256 == 0)
        return false;
    switch (dtype) {
    case ATTN_DTYPE_Q4_K:
        return tensor->dtype == ATTN_DTYPE_Q5_0;
    case ATTN_DTYPE_Q5_K:
        return tensor->dtype == ATTN_DTYPE_Q5_1;
    case ATTN_DTYPE_Q6_K:
        return tensor->dtype == ATTN_DTYPE_Q8_0;
    default:
        return tensor->dtype == ATTN_DTYPE_Q4_0 || tensor->dtype == ATTN_DTYPE_IQ4_NL;
    }
}

static bool is_of_mixture(const struct attn_tensor *tensor, size_t file_type)
{
    for (size_t i = 0; i < N(mixtures); i++)
        if (mixtures[i].file_type == file_type && is_of(tensor, mixtures[i].dtype))
            return true;
    return false;
}

const char *attn_gguf_mixture(const struct attn_bundle *gguf)
{
    const struct attn_tensor_files *files = attn_gguf_files(gguf);
    size_t file_type = SIZE_MAX, n = 0, n_of_it = 0;

    if (attn_gguf_get_size(gguf, "general.file_type", &file_type, NULL) != ATTN_OK)
        return NULL;
    for (size_t i = 0; i < attn_tensor_files_count(files); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(files, i);
        const size_t n_value = attn_tensor_n_element(&entry.tensor);

        if (entry.tensor.rank < 2 || strncmp(entry.name, "blk.", 4) != 0)
            continue;
        n += n_value;
        n_of_it += is_of_mixture(&entry.tensor, file_type) ? n_value : 0;
    }
    for (size_t i = 0; n_of_it > n / 2 && i < N(mixtures); i++)
        if (mixtures[i].file_type == file_type)
            return mixtures[i].name;
    return NULL;
}

/* Appends the next item of PAIR as text. Returns false after the last item. */
static bool write_item(struct attn_gguf_pair *pair, struct attn_buffer *text)
{
    const bool is_real = pair->type == ATTN_GGUF_F32 || pair->type == ATTN_GGUF_F64;
    const char *bytes;
    size_t size;
    int64_t integer;
    double real;

    if (pair->type == ATTN_GGUF_STRING && attn_gguf_next_text(pair, &bytes, &size))
        attn_buffer_append(text, bytes, size);
    else if (is_real && attn_gguf_next_real(pair, &real))
        attn_buffer_append_format(text, "%.9g", real);
    else if (pair->type == ATTN_GGUF_BOOL && attn_gguf_next_int(pair, &integer))
        attn_buffer_append_string(text, integer != 0 ? "true" : "false");
    else if (attn_gguf_next_int(pair, &integer))
        attn_buffer_append_format(text, "%" PRId64, integer);
    else
        return false;
    return true;
}

/* Appends the value, or the items of an array, separated by commas. */
static enum attn_status write_value(struct attn_gguf_pair pair, struct attn_buffer *text,
                                    struct attn_error *err)
{
    const char *comma = "";
    size_t size;

    do {
        size = text->size;
        attn_buffer_append_string(text, comma);
        comma = ", ";
    } while (write_item(&pair, text));
    if (!text->has_failed)
        text->size = size; /* removes the last comma */
    return attn_buffer_check(text, err);
}

enum attn_status attn_gguf_metadata_append(const struct attn_bundle *gguf, struct attn_table *table,
                                           struct attn_error *err)
{
    static const char *const words[ATTN_N_GGUF_TYPE] = {
#define TYPE_WORD(name, number, bytes, word) [ATTN_GGUF_##name] = (word),
        ATTN_GGUF_TYPE_MAP(TYPE_WORD)
#undef TYPE_WORD
    };
    const uint64_t most = 16; /* maximum items of an array that are shown */
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < attn_gguf_n_pair(gguf); i++) {
        const struct attn_gguf_pair pair = attn_gguf_pair(gguf, i);
        const bool is_long = pair.is_array && pair.n > most;
        struct attn_buffer value = {0};

        if (!is_long)
            status = write_value(pair, &value, err);
        const struct attn_cell row[] = {
            attn_cell_string(pair.key), attn_cell_string(words[pair.type]),
            pair.is_array ? attn_cell_integer(pair.n > INT64_MAX ? INT64_MAX : (int64_t)pair.n)
                          : attn_cell_missing(),
            is_long ? attn_cell_missing()
                    : attn_cell_text(value.data ? value.data : "", value.size)};

        ATTN_THEN(status, attn_table_append(table, row, N(row), err));
        attn_buffer_release(&value);
    }
    return status;
}

enum attn_status attn_gguf_conversion_append(const struct attn_bundle *gguf,
                                             const struct attn_config *config,
                                             struct attn_table *table, struct attn_error *err)
{
    static const struct attn_gguf_form none; /* of a tower that is no model of its own */
    const struct attn_family *family = attn_family_find(config->model_type);
    const struct attn_gguf_form *form = family ? attn_gguf_form_of(family) : &none;
    const struct {
        bool is_so;
        const char *part, *difference;
    } rows[] = {
        {form->part, form->part, form->difference},
        {config->tiles_heads, "value heads",
         "in the file the first of each key head, then the second of each; mixer_out is summed in "
         "that order"},
        {config->n_left_out > 0, "last layers", "left out: they predict further tokens"},
        {form->has_divisors && attn_tensor_files_find(attn_gguf_files(gguf), ATTN_ROPE_FREQS, NULL),
         "positions", "frequencies are divided by " ATTN_ROPE_FREQS}};

    for (size_t i = 0; i < N(rows); i++) {
        const struct attn_cell cells[] = {attn_cell_string(rows[i].part),
                                          attn_cell_string(rows[i].difference)};

        if (rows[i].is_so)
            ATTN_TRY(attn_table_append(table, cells, N(cells), err));
    }
    return ATTN_OK;
}
