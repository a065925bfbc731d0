/*
 * inspection_text.c - an inspection as tables for reading: exact counts, sizes in binary units,
 * operations in decimal ones.
 */
#include "inspection.h"

#include "command.h"
#include "print.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_WIDTH = 60 };

/* What is printed into, and the first failure. */
struct page {
    struct attn_sink *out;
    int code;
};

/* Text from outside, printable. */
static void put_escaped(struct page *page, const char *text, size_t size)
{
    int code = print_escaped(page->out, text, size);
    if (page->code == EXIT_DONE)
        page->code = code;
}

static void widen(size_t *width, size_t to)
{
    *width = to > *width ? to : *width;
}

/* Columns of printable UTF-8, near enough: one a character. */
static size_t width_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* How wide TEXT is when it is printable. */
static size_t escaped_width(struct page *page, const char *text, size_t size)
{
    struct attn_error err = {0};
    char *escaped;
    if (attn_escape(text, size, &escaped, &err) != ATTN_OK) {
        page->code = EXIT_INTERNAL;
        return 0;
    }
    size_t width = width_of(escaped);
    attn_text_free(escaped);
    return width;
}

/* TEXT from outside and spaces up to WIDTH. */
static void put_cell(struct page *page, const char *text, size_t size, size_t width)
{
    size_t used = escaped_width(page, text, size);
    put_escaped(page, text, size);
    print(page->out, "%*s", used < width ? (int)(width - used) : 0, "");
}

static const char *field_text(const struct field *field, char text[ATTN_QUANTITY_SIZE])
{
    switch (field->kind) {
    case FIELD_COUNT:
        return attn_quantity_count(field->number, text);
    case FIELD_LIMIT:
        return field->number == SIZE_MAX ? "unlimited" : attn_quantity_count(field->number, text);
    case FIELD_BYTES:
        return attn_quantity_bytes(field->number, text);
    case FIELD_OPERATIONS:
        return attn_quantity_operations(field->number, text);
    case FIELD_FLAG:
        return field->number ? "yes" : "no";
    case FIELD_REAL:
        text[attn_format_float(field->real, text)] = '\0';
        return text;
    case FIELD_WORD:
        break;
    }
    return field->word;
}

static const char *label_of(const struct field *field)
{
    return field->label ? field->label : field->name;
}

/* One line a field, values on the left. */
static void put_settings(struct page *page, const struct fields *fields)
{
    char text[ATTN_QUANTITY_SIZE];
    for (size_t i = 0; i < fields->n; i++)
        print(page->out, "  %-15s  %s\n", label_of(&fields->items[i]),
              field_text(&fields->items[i], text));
}

/* One line a field, values on the right; with shares of the sum, and the sum, when TOTAL is not
 * NULL. */
static void put_amounts(struct page *page, const struct fields *fields, const char *total)
{
    struct field sum = {.kind = fields->items[0].kind, .number = fields_total(fields)};
    size_t width = 0, value_width = 0;
    char text[ATTN_QUANTITY_SIZE];
    for (size_t i = 0; i < fields->n; i++) {
        widen(&width, strlen(label_of(&fields->items[i])));
        widen(&value_width, strlen(field_text(&fields->items[i], text)));
    }
    if (total)
        widen(&value_width, strlen(field_text(&sum, text)));
    for (size_t i = 0; i < fields->n; i++) {
        const struct field *field = &fields->items[i];
        print(page->out, "  %-*s  %*s", (int)width, label_of(field), (int)value_width,
              field_text(field, text));
        if (total && sum.number > 0)
            print(page->out, "  %5.1f %%", 100 * (double)field->number / (double)sum.number);
        print_text(page->out, "\n");
    }
    if (total)
        print(page->out, "  %-*s  %*s\n", (int)width, total, (int)value_width,
              field_text(&sum, text));
}

static void put_title(struct page *page, const char *title)
{
    print(page->out, "\n%s\n", title);
}

/* Whether what is said of the attention of two layers is the same. */
static bool is_same_attention(const struct attn_config *config, size_t one, size_t other)
{
    const struct attn_attention *a = &config->attention[one], *b = &config->attention[other];
    return a->kind == b->kind && a->mask == b->mask && a->is_scaled == b->is_scaled &&
           a->eps >= b->eps && a->eps <= b->eps && a->factor >= b->factor &&
           a->factor <= b->factor && config->is_cross[one] == config->is_cross[other];
}

/* "full, causal, scores / sqrt(d_head)" */
static void put_layer(struct page *page, const struct attn_config *config, size_t layer)
{
    const struct attn_attention *a = &config->attention[layer];
    const char *keys = a->mask == ATTN_MASK_CAUSAL ? "causal" : "no mask";
    if (config->is_cross[layer])
        keys = "to the source";
    print(page->out, "%s, %s, scores ", attention_kind_word(a->kind), keys);
    if (!a->is_scaled)
        print_text(page->out, "not scaled");
    else if (a->eps > 0)
        print(page->out, "/ (sqrt(d_head) + %g)", a->eps);
    else
        print_text(page->out, "/ sqrt(d_head)");
    if (a->factor < 1 || a->factor > 1)
        print(page->out, " * %g", a->factor);
    print_text(page->out, "\n");
}

/* One line for each run of layers that are the same. */
static void put_attention(struct page *page, const struct attn_config *config)
{
    for (size_t first = 0, last; first < config->n_layer; first = last) {
        char label[64] = "attention";
        last = first + 1;
        while (last < config->n_layer && is_same_attention(config, first, last))
            last++;
        if (last - first < config->n_layer && last == first + 1)
            snprintf(label, sizeof(label), "attention %zu", first);
        else if (last - first < config->n_layer)
            snprintf(label, sizeof(label), "attention %zu-%zu", first, last - 1);
        print(page->out, "  %-15s  ", label);
        put_layer(page, config, first);
    }
}

/* "[12, 64]" */
static void write_shape(const size_t *shape, int rank, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i == 0 ? "" : ", ", shape[i]);
    snprintf(text + used, size - used, "]");
}

/* A size has at most 20 digits; ", " and brackets come to it. */
enum { SHAPE_SIZE = ATTN_MAX_RANK * 22 + 3 };

/* Widths of the columns of the tensor table. */
struct columns {
    size_t name, dtype, shape;
    bool has_file;
};

static struct columns measure_tensors(struct page *page, const struct attn_safetensors *weights)
{
    struct columns columns = {.name = strlen("name"),
                              .dtype = strlen("dtype"),
                              .shape = strlen("shape"),
                              .has_file = attn_safetensors_n_shard(weights) > 1};
    char shape[SHAPE_SIZE];
    for (size_t i = 0; i < attn_safetensors_count(weights); i++) {
        struct attn_safetensors_entry entry = attn_safetensors_entry(weights, i);
        const struct attn_tensor *tensor = &entry.tensor;
        size_t name = escaped_width(page, entry.name, entry.name_size);
        if (name <= NAME_MAX_WIDTH)
            widen(&columns.name, name);
        widen(&columns.dtype, strlen(attn_dtype_name(tensor->dtype)));
        write_shape(tensor->shape, tensor->rank, shape, sizeof(shape));
        widen(&columns.shape, strlen(shape));
    }
    return columns;
}

static void put_tensor(struct page *page, const struct inspection *inspection,
                       const struct columns *columns, const struct attn_safetensors_entry *entry)
{
    const struct attn_tensor *tensor = &entry->tensor;
    char shape[SHAPE_SIZE], size[ATTN_QUANTITY_SIZE];
    write_shape(tensor->shape, tensor->rank, shape, sizeof(shape));
    print_text(page->out, "  ");
    put_cell(page, entry->name, entry->name_size, columns->name);
    print(page->out, "  %-*s  %-*s  %12zu  %10s", (int)columns->dtype,
          attn_dtype_name(tensor->dtype), (int)columns->shape, shape, entry->offset,
          attn_quantity_bytes(attn_tensor_n_byte(tensor), size));
    if (columns->has_file) {
        const char *name = inspection_file_of(inspection, entry);
        print_text(page->out, "  ");
        put_escaped(page, name, strlen(name));
    }
    print_text(page->out, "\n");
}

static void put_tensors(struct page *page, const struct inspection *inspection)
{
    const struct attn_safetensors *weights = inspection->weights;
    struct columns columns = measure_tensors(page, weights);
    size_t n = attn_safetensors_count(weights);
    put_title(page, "Tensors");
    if (n == 0) {
        print_text(page->out, "  none\n");
        return;
    }
    print(page->out, "  %-*s  %-*s  %-*s  %12s  %10s%s\n", (int)columns.name, "name",
          (int)columns.dtype, "dtype", (int)columns.shape, "shape", "offset", "size",
          columns.has_file ? "  file" : "");
    for (size_t i = 0; i < n; i++) {
        struct attn_safetensors_entry entry = attn_safetensors_entry(weights, i);
        put_tensor(page, inspection, &columns, &entry);
    }
}

static void put_tokenizer(struct page *page, const struct inspection *inspection)
{
    const struct attn_tokenizer *tokenizer = inspection->tokenizer;
    char text[ATTN_QUANTITY_SIZE];
    put_title(page, "Tokenizer");
    if (!tokenizer) {
        print(page->out, "  none: %s\n", inspection->no_tokenizer.message);
        return;
    }
    size_t n_vocab = attn_tokenizer_n_vocab(tokenizer);
    static const char *const kinds[] = {[ATTN_TOKENIZER_WORD] = "words",
                                        [ATTN_TOKENIZER_CHARACTER] = "characters",
                                        [ATTN_TOKENIZER_BPE] = "byte-level BPE"};
    print(page->out, "  kind             %s\n", kinds[attn_tokenizer_kind(tokenizer)]);
    print(page->out, "  n_vocab          %s\n", attn_quantity_count(n_vocab, text));
    for (size_t id = 0; id < n_vocab; id++) {
        if (!attn_tokenizer_is_special(tokenizer, (int32_t)id))
            continue;
        size_t size;
        const char *token = attn_tokenizer_token(tokenizer, (int32_t)id, &size);
        print(page->out, "  special          %zu ", id);
        put_escaped(page, token, size);
        print_text(page->out, "\n");
    }
}

static void put_files(struct page *page, const struct inspection *inspection)
{
    size_t width = 5;
    char text[ATTN_QUANTITY_SIZE];
    for (size_t i = 0; i < inspection->n_file; i++) {
        const char *name = inspection->files[i].name;
        widen(&width, escaped_width(page, name, strlen(name)));
    }
    put_title(page, "Files");
    for (size_t i = 0; i < inspection->n_file; i++) {
        const char *name = inspection->files[i].name;
        print_text(page->out, "  ");
        put_cell(page, name, strlen(name), width);
        print(page->out, "  %10s\n", attn_quantity_bytes(inspection->files[i].size, text));
    }
}

/* The shape of one layer's tensor and the size of all of them. */
static void put_sites(struct page *page, const struct inspection *inspection)
{
    const struct attn_dims *dims = attn_selection_dims(inspection->sites);
    char shape[SHAPE_SIZE], size[ATTN_QUANTITY_SIZE];
    for (int i = 0; i < ATTN_N_SITE; i++) {
        enum attn_site site = (enum attn_site)i;
        size_t sizes[3];
        if (!(dims->sites & ATTN_SITE_BIT(i)))
            continue;
        int rank = inspection_site_shape(inspection, site, sizes);
        write_shape(sizes, rank, shape, sizeof(shape));
        print(page->out, "  %-11s  %-22s  %12s\n", attn_site_name(site),
              rank > 0 ? shape : "by layer", attn_quantity_bytes(inspection->cost.sites[i], size));
    }
}

static void put_cost(struct page *page, const struct inspection *inspection)
{
    struct fields counts = inspection_operations(inspection);
    struct fields memory = inspection_memory(inspection);
    char text[ATTN_QUANTITY_SIZE];
    print(page->out, "\nMultiply-adds of a run of %s token%s",
          attn_quantity_count(inspection->cost.n_position, text),
          inspection->cost.n_position == 1 ? "" : "s");
    if (inspection->cost.n_source > 0)
        print(page->out, " and a source of %s row%s",
              attn_quantity_count(inspection->cost.n_source, text),
              inspection->cost.n_source == 1 ? "" : "s");
    print_text(page->out, "\n");
    put_amounts(page, &counts, "total");
    put_title(page, "Its memory");
    put_amounts(page, &memory, NULL);
    put_title(page, "Its tensors: the shape in one layer, the size of all layers");
    put_sites(page, inspection);
}

static void put_heading(struct page *page, const struct inspection *inspection)
{
    size_t n = attn_safetensors_count(inspection->weights);
    char text[ATTN_QUANTITY_SIZE];
    put_escaped(page, inspection->name, strlen(inspection->name));
    if (inspection->model) {
        struct fields parameters = inspection_parameters(inspection);
        print(page->out, ": %s, %s parameters", attn_model_config(inspection->model)->model_type,
              attn_quantity_count(fields_total(&parameters), text));
    } else {
        print_text(page->out, ": safetensors");
    }
    print(page->out, ", %zu tensor%s, %s\n", n, n == 1 ? "" : "s",
          attn_quantity_bytes(inspection_n_byte(inspection), text));
}

int inspection_print_text(const struct inspection *inspection, struct attn_sink *out)
{
    struct page page = {out, EXIT_DONE};
    put_heading(&page, inspection);
    if (!inspection->model) {
        put_tensors(&page, inspection);
        return page.code;
    }
    struct fields config = inspection_config(inspection);
    struct fields parameters = inspection_parameters(inspection);
    put_title(&page, "Config");
    put_settings(&page, &config);
    put_attention(&page, attn_model_config(inspection->model));
    put_title(&page, "Parameters");
    put_amounts(&page, &parameters, "total");
    put_tensors(&page, inspection);
    put_tokenizer(&page, inspection);
    put_files(&page, inspection);
    put_cost(&page, inspection);
    return page.code;
}

int inspection_print_check(const struct inspection *inspection, struct attn_sink *out)
{
    struct page page = {out, EXIT_DONE};
    size_t n = attn_safetensors_count(inspection->weights);
    for (size_t i = 0; i < inspection->n_bad; i++) {
        const struct bad_tensor *bad = &inspection->bad[i];
        struct attn_safetensors_entry entry =
            attn_safetensors_entry(inspection->weights, bad->tensor);
        put_escaped(&page, entry.name, entry.name_size);
        print(out, ": %zu NaN, %zu infinite of %zu, the first at %zu\n", bad->found.n_nan,
              bad->found.n_infinite, attn_tensor_n_element(&entry.tensor), bad->found.first);
    }
    if (inspection->n_bad == 0)
        print(out, "%zu tensor%s, all values are finite\n", n, n == 1 ? "" : "s");
    return page.code;
}
