/*
 * inspection_json.c - an inspection as one JSON document: numbers exact, sizes in bytes, strings
 * printable as everywhere. What an inspection of a single file lacks is null.
 */
#include "inspection.h"

#include "command.h"
#include "print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the names and their meaning, not of the values: it grows when one of them changes. */
enum { SCHEMA = 1 };

/* What is printed into, and the first failure. */
struct page {
    struct attn_sink *out;
    int code;
};

static void put_string(struct page *page, const char *text, size_t size)
{
    int code = print_json_string(page->out, text, size);
    if (page->code == EXIT_DONE)
        page->code = code;
}

/* The shortest form that reads back as the same double. */
static void put_double(struct page *page, double value)
{
    char text[40];
    int precision = 1;
    do
        snprintf(text, sizeof(text), "%.*g", precision, value);
    while (precision++ < 17 && (strtod(text, NULL) < value || strtod(text, NULL) > value));
    print_text(page->out, text);
}

static void put_field(struct page *page, const struct field *field)
{
    char real[ATTN_FLOAT_TEXT_SIZE];
    print(page->out, "\"%s\": ", field->name);
    switch (field->kind) {
    case FIELD_COUNT:
    case FIELD_BYTES:
    case FIELD_OPERATIONS:
        print(page->out, "%" PRIu64, field->number);
        break;
    case FIELD_LIMIT:
        if (field->number == SIZE_MAX)
            print_text(page->out, "null");
        else
            print(page->out, "%" PRIu64, field->number);
        break;
    case FIELD_FLAG:
        print_text(page->out, field->number ? "true" : "false");
        break;
    case FIELD_REAL:
        attn_sink_write(page->out, real, attn_format_float(field->real, real));
        break;
    case FIELD_WORD:
        put_string(page, field->word, strlen(field->word));
        break;
    }
}

/* The members of an object, without its braces. */
static void put_fields(struct page *page, const struct fields *fields)
{
    for (size_t i = 0; i < fields->n; i++) {
        print_text(page->out, i == 0 ? "" : ", ");
        put_field(page, &fields->items[i]);
    }
}

/* "NAME": {fields, "total": sum} */
static void put_amounts(struct page *page, const char *name, const struct fields *fields)
{
    print(page->out, "\"%s\": {", name);
    put_fields(page, fields);
    print(page->out, ", \"total\": %" PRIu64 "}", fields_total(fields));
}

static void put_shape(struct page *page, const size_t *shape, int rank)
{
    print_text(page->out, "[");
    for (int i = 0; i < rank; i++)
        print(page->out, "%s%zu", i == 0 ? "" : ", ", shape[i]);
    print_text(page->out, "]");
}

static void put_config(struct page *page, const struct inspection *inspection)
{
    const struct attn_config *config = attn_model_config(inspection->model);
    struct fields fields = inspection_config(inspection);
    print_text(page->out, "  \"config\": {");
    put_fields(page, &fields);
    print_text(page->out, ",\n    \"attention\": [");
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_attention *a = &config->attention[layer];
        print(page->out, "%s\n      {\"kind\": \"%s\", \"is_cross\": %s, \"mask\": \"%s\", ",
              layer == 0 ? "" : ",", attention_kind_word(a->kind),
              config->is_cross[layer] ? "true" : "false",
              a->mask == ATTN_MASK_CAUSAL && !config->is_cross[layer] ? "causal" : "none");
        print(page->out, "\"is_scaled\": %s, \"eps\": ", a->is_scaled ? "true" : "false");
        put_double(page, a->eps);
        print_text(page->out, ", \"factor\": ");
        put_double(page, a->factor);
        print_text(page->out, "}");
    }
    print_text(page->out, "]},\n");
}

static void put_tensors(struct page *page, const struct inspection *inspection)
{
    size_t n = attn_safetensors_count(inspection->weights);
    print_text(page->out, "  \"tensors\": [");
    for (size_t i = 0; i < n; i++) {
        struct attn_safetensors_entry entry = attn_safetensors_entry(inspection->weights, i);
        const struct attn_tensor *tensor = &entry.tensor;
        const char *file = inspection_file_of(inspection, &entry);
        print(page->out, "%s\n    {\"name\": ", i == 0 ? "" : ",");
        put_string(page, entry.name, entry.name_size);
        print(page->out, ", \"dtype\": \"%s\", \"shape\": ", attn_dtype_name(tensor->dtype));
        put_shape(page, tensor->shape, tensor->rank);
        print_text(page->out, ", \"file\": ");
        put_string(page, file, strlen(file));
        print(page->out, ", \"offset\": %zu, \"bytes\": %zu}", entry.offset,
              attn_tensor_n_byte(tensor));
    }
    print_text(page->out, "],\n");
}

static void put_tokenizer(struct page *page, const struct attn_tokenizer *tokenizer)
{
    bool is_first = true;
    if (!tokenizer) {
        print_text(page->out, "  \"tokenizer\": null,\n");
        return;
    }
    size_t n_vocab = attn_tokenizer_n_vocab(tokenizer);
    static const char *const kinds[] = {[ATTN_TOKENIZER_WORD] = "word",
                                        [ATTN_TOKENIZER_CHARACTER] = "char",
                                        [ATTN_TOKENIZER_BPE] = "bpe"};
    print(page->out, "  \"tokenizer\": {\"kind\": \"%s\", \"n_vocab\": %zu, \"special\": [",
          kinds[attn_tokenizer_kind(tokenizer)], n_vocab);
    for (size_t id = 0; id < n_vocab; id++) {
        if (!attn_tokenizer_is_special(tokenizer, (int32_t)id))
            continue;
        size_t size;
        const char *token = attn_tokenizer_token(tokenizer, (int32_t)id, &size);
        print(page->out, "%s{\"id\": %zu, \"token\": ", is_first ? "" : ", ", id);
        put_string(page, token, size);
        print_text(page->out, "}");
        is_first = false;
    }
    print_text(page->out, "]},\n");
}

static void put_files(struct page *page, const struct inspection *inspection)
{
    print_text(page->out, "  \"files\": [");
    for (size_t i = 0; i < inspection->n_file; i++) {
        print(page->out, "%s\n    {\"name\": ", i == 0 ? "" : ",");
        put_string(page, inspection->files[i].name, strlen(inspection->files[i].name));
        print(page->out, ", \"bytes\": %" PRIu64 "}", inspection->files[i].size);
    }
    print(page->out, "],\n  \"bytes\": %" PRIu64 ",\n", inspection_n_byte(inspection));
}

static void put_sites(struct page *page, const struct inspection *inspection)
{
    const struct attn_dims *dims = attn_selection_dims(inspection->sites);
    bool is_first = true;
    print_text(page->out, "    \"outputs\": [");
    for (int i = 0; i < ATTN_N_SITE; i++) {
        enum attn_site site = (enum attn_site)i;
        size_t shape[3];
        if (!(dims->sites & ATTN_SITE_BIT(i)))
            continue;
        print(page->out, "%s\n      {\"site\": \"%s\", \"n_layer\": ", is_first ? "" : ",",
              attn_site_name(site));
        if (attn_site_is_in_layer(site))
            print(page->out, "%zu", dims->n_layer);
        else
            print_text(page->out, "null");
        print_text(page->out, ", \"shape\": ");
        int rank = inspection_site_shape(inspection, site, shape);
        if (rank > 0)
            put_shape(page, shape, rank);
        else
            print_text(page->out, "null");
        print(page->out, ", \"bytes\": %" PRIu64 "}", inspection->cost.sites[i]);
        is_first = false;
    }
    print_text(page->out, "]}");
}

static void put_run(struct page *page, const struct inspection *inspection)
{
    const struct attn_cost *cost = &inspection->cost;
    struct fields counts = inspection_operations(inspection);
    struct fields memory = inspection_memory(inspection);
    print(page->out,
          "  \"run\": {\"n_token\": %zu, \"n_source\": %zu, \"n_pair\": %" PRIu64 ",\n    ",
          cost->n_position, cost->n_source, cost->n_pair);
    put_amounts(page, "multiply_adds", &counts);
    print_text(page->out, ",\n    \"memory\": {");
    put_fields(page, &memory);
    print_text(page->out, "},\n");
    put_sites(page, inspection);
}

static void put_check(struct page *page, const struct inspection *inspection)
{
    print(page->out, ",\n  \"check\": {\"n_tensor\": %zu, \"non_finite\": [",
          attn_safetensors_count(inspection->weights));
    for (size_t i = 0; i < inspection->n_bad; i++) {
        const struct bad_tensor *bad = &inspection->bad[i];
        struct attn_safetensors_entry entry =
            attn_safetensors_entry(inspection->weights, bad->tensor);
        print(page->out, "%s\n    {\"name\": ", i == 0 ? "" : ",");
        put_string(page, entry.name, entry.name_size);
        print(page->out, ", \"n_nan\": %zu, \"n_infinite\": %zu, \"n_value\": %zu, \"first\": %zu}",
              bad->found.n_nan, bad->found.n_infinite, attn_tensor_n_element(&entry.tensor),
              bad->found.first);
    }
    print_text(page->out, "]}");
}

int inspection_print_json(const struct inspection *inspection, struct attn_sink *out)
{
    struct page page = {out, EXIT_DONE};
    print(out, "{\n  \"schema\": %d,\n  \"model\": ", SCHEMA);
    put_string(&page, inspection->name, strlen(inspection->name));
    print_text(out, ",\n");
    if (inspection->model) {
        struct fields parameters = inspection_parameters(inspection);
        put_config(&page, inspection);
        print_text(out, "  ");
        put_amounts(&page, "parameters", &parameters);
        print_text(out, ",\n");
    } else {
        print_text(out, "  \"config\": null,\n  \"parameters\": null,\n");
    }
    put_tensors(&page, inspection);
    put_tokenizer(&page, inspection->tokenizer);
    put_files(&page, inspection);
    if (inspection->model)
        put_run(&page, inspection);
    else
        print_text(out, "  \"run\": null");
    if (inspection->is_checked)
        put_check(&page, inspection);
    print_text(out, "\n}\n");
    return page.code;
}
