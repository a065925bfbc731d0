/*
 * inspect_text.c - an inspection as tables for reading: exact counts, sizes in binary units,
 * operations in decimal ones.
 */
#include "cmd/inspect_internal.h"

#include "cmd/line/command.h"
#include "cmd/line/print.h"

#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_WIDTH = 60, SETTING_WIDTH = 21 };

/* What is printed, where, and the first failure. */
struct page {
    const struct inspection *inspection;
    struct attn_sink *out;
    int code;
};

static const struct attn_table *table_of(const struct page *page, enum attn_inspected part)
{
    return page->inspection->tables[part];
}

/* The cell of COLUMN, by its name, which the table has. */
static struct attn_cell cell_of(const struct attn_table *table, size_t row, const char *column)
{
    size_t c = 0;
    while (strcmp(attn_table_column(table, c)->name, column) != 0)
        c++;
    return attn_table_cell(table, row, c);
}

static uint64_t number_of(const struct attn_table *table, size_t row, const char *column)
{
    return (uint64_t)cell_of(table, row, column).integer;
}

static bool is_text(const struct attn_cell *cell, const char *text)
{
    return cell->size == strlen(text) && memcmp(cell->text, text, cell->size) == 0;
}

/* --- Cells ------------------------------------------------------------------------------------ */

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

/* How wide the text of CELL is when it is printable. */
static size_t escaped_width(struct page *page, const struct attn_cell *cell)
{
    struct attn_error err = {0};
    char *escaped;
    if (attn_escape(cell->text, cell->size, &escaped, &err) != ATTN_OK) {
        page->code = EXIT_INTERNAL;
        return 0;
    }
    size_t width = width_of(escaped);
    attn_text_free(escaped);
    return width;
}

/* The text of CELL and spaces up to WIDTH. */
static void put_padded(struct page *page, const struct attn_cell *cell, size_t width)
{
    size_t used = escaped_width(page, cell);
    put_escaped(page, cell->text, cell->size);
    print(page->out, "%*s", used < width ? (int)(width - used) : 0, "");
}

/* Numbers as people read them: those of a unit in its multiples. */
static const char *number_text(const struct attn_column *column, int64_t number,
                               char text[ATTN_QUANTITY_SIZE])
{
    if (!column->unit)
        return attn_quantity_count((uint64_t)number, text);
    if (strcmp(column->unit, "bytes") == 0)
        return attn_quantity_bytes((uint64_t)number, text);
    return attn_quantity_operations((uint64_t)number, text);
}

/* A setting: a number that is missing is no limit, or no factor. */
static const char *setting_text(const struct attn_column *column, const struct attn_cell *cell,
                                char text[ATTN_QUANTITY_SIZE])
{
    switch (cell->type) {
    case ATTN_VALUE_INTEGER:
        return number_text(column, cell->integer, text);
    case ATTN_VALUE_BOOLEAN:
        return cell->integer ? "yes" : "no";
    case ATTN_VALUE_REAL:
        text[attn_format_float((float)cell->real, text)] = '\0';
        return text;
    case ATTN_VALUE_TEXT:
        snprintf(text, ATTN_QUANTITY_SIZE, "%.*s", (int)cell->size, cell->text);
        return text;
    default:
        return column->type == ATTN_VALUE_INTEGER ? "unlimited" : "none";
    }
}

/* A size has at most 20 digits; ", " and brackets come to it. */
enum { SHAPE_SIZE = ATTN_MAX_RANK * 22 + 3 };

/* "[12, 64]" */
static const char *shape_text(const struct attn_cell *cell, char text[SHAPE_SIZE])
{
    size_t used = 0;
    attn_fixed_text_append(text, SHAPE_SIZE, &used, "[");
    for (size_t i = 0; i < cell->size; i++)
        attn_fixed_text_append(text, SHAPE_SIZE, &used, "%s%lld", i == 0 ? "" : ", ",
                               (long long)cell->list[i]);
    attn_fixed_text_append(text, SHAPE_SIZE, &used, "]");
    return text;
}

/* --- Tables of one row ------------------------------------------------------------------------ */

/* One line a column, values on the left. */
static void put_settings(struct page *page, const struct attn_table *table)
{
    char text[ATTN_QUANTITY_SIZE];
    for (size_t c = 0; c < attn_table_n_column(table); c++) {
        const struct attn_column *column = attn_table_column(table, c);
        struct attn_cell cell = attn_table_cell(table, 0, c);
        print(page->out, "  %-*s  %s\n", SETTING_WIDTH, column->name,
              setting_text(column, &cell, text));
    }
}

/*
 * One line a column, values on the right, called by LABELS (NULL: the names of the columns). A
 * column `total` at the end is their sum, and then each has its share of it.
 */
static void put_amounts(struct page *page, const struct attn_table *table,
                        const char *const *labels)
{
    size_t n = attn_table_n_column(table), width = 0, value_width = 0;
    bool has_total = strcmp(attn_table_column(table, n - 1)->name, "total") == 0;
    double total = has_total ? (double)attn_table_cell(table, 0, n - 1).integer : 0;
    char text[ATTN_QUANTITY_SIZE];
    for (size_t c = 0; c < n; c++) {
        const struct attn_column *column = attn_table_column(table, c);
        int64_t number = attn_table_cell(table, 0, c).integer;
        widen(&width, strlen(labels ? labels[c] : column->name));
        widen(&value_width, strlen(number_text(column, number, text)));
    }
    for (size_t c = 0; c < n; c++) {
        const struct attn_column *column = attn_table_column(table, c);
        int64_t number = attn_table_cell(table, 0, c).integer;
        print(page->out, "  %-*s  %*s", (int)width, labels ? labels[c] : column->name,
              (int)value_width, number_text(column, number, text));
        if (total > 0 && c + 1 < n)
            print(page->out, "  %5.1f %%", 100 * (double)number / total);
        print_text(page->out, "\n");
    }
}

static void put_title(struct page *page, const char *title)
{
    print(page->out, "\n%s\n", title);
}

/* --- Attention -------------------------------------------------------------------------------- */

/* Whether what is said of the attention of two layers is the same. */
static bool is_same_layer(const struct attn_table *layers, size_t one, size_t other)
{
    for (size_t c = 0; c < attn_table_n_column(layers); c++) {
        struct attn_cell a = attn_table_cell(layers, one, c), b = attn_table_cell(layers, other, c);
        bool is_same = a.size == b.size && a.integer == b.integer && a.real >= b.real &&
                       a.real <= b.real && (!a.text || memcmp(a.text, b.text, a.size) == 0);
        if (!is_same)
            return false;
    }
    return true;
}

/* "full, causal, scores / sqrt(d_head)" */
static void put_layer(struct page *page, const struct attn_table *layers, size_t layer)
{
    struct attn_cell kind = cell_of(layers, layer, "kind"), mask = cell_of(layers, layer, "mask");
    struct attn_cell window = cell_of(layers, layer, "window");
    double eps = cell_of(layers, layer, "eps").real;
    double factor = cell_of(layers, layer, "factor").real;
    const char *keys = is_text(&mask, "causal") ? "causal" : "no mask";
    if (number_of(layers, layer, "is_cross"))
        keys = "to the source";
    print(page->out, "%.*s", (int)kind.size, kind.text);
    if (window.type == ATTN_VALUE_INTEGER)
        print(page->out, ":%lld", (long long)window.integer);
    print(page->out, ", %s, scores ", keys);
    if (!number_of(layers, layer, "is_scaled"))
        print_text(page->out, factor < 1 || factor > 1 ? "" : "not scaled");
    else if (eps > 0)
        print(page->out, "/ (sqrt(d_head) + %g)", eps);
    else
        print_text(page->out, "/ sqrt(d_head)");
    if (factor < 1 || factor > 1)
        print(page->out, "%s* %g", number_of(layers, layer, "is_scaled") ? " " : "", factor);
    print_text(page->out, "\n");
}

/* One line for each run of layers that are the same. */
static void put_attention(struct page *page)
{
    const struct attn_table *layers = table_of(page, ATTN_INSPECTED_ATTENTION);
    size_t n = attn_table_n_row(layers);
    for (size_t first = 0, last; first < n; first = last) {
        char label[64] = "attention";
        last = first + 1;
        while (last < n && is_same_layer(layers, first, last))
            last++;
        if (last - first < n && last == first + 1)
            snprintf(label, sizeof(label), "attention %zu", first);
        else if (last - first < n)
            snprintf(label, sizeof(label), "attention %zu-%zu", first, last - 1);
        print(page->out, "  %-*s  ", SETTING_WIDTH, label);
        put_layer(page, layers, first);
    }
}

/* What is not as in GPT-2, each part in words. */
static void put_differences(struct page *page)
{
    const struct attn_table *differences = table_of(page, ATTN_INSPECTED_DIFFERENCES);
    if (attn_table_n_row(differences) == 0)
        return;
    put_title(page, "Unlike GPT-2");
    for (size_t i = 0; i < attn_table_n_row(differences); i++) {
        struct attn_cell part = cell_of(differences, i, "part");
        struct attn_cell words = cell_of(differences, i, "difference");
        print(page->out, "  %-*.*s  %.*s\n", SETTING_WIDTH, (int)part.size, part.text,
              (int)words.size, words.text);
    }
}

/* --- Tensors, tokenizer, files ---------------------------------------------------------------- */

/* Widths of the columns of the tensor table. */
struct widths {
    size_t name, dtype, shape;
    bool has_file;
};

static struct widths measure_tensors(struct page *page, const struct attn_table *tensors)
{
    struct widths widths = {.name = strlen("name"),
                            .dtype = strlen("dtype"),
                            .shape = strlen("shape"),
                            .has_file = attn_safetensors_n_shard(page->inspection->weights) > 1};
    char shape[SHAPE_SIZE];
    for (size_t i = 0; i < attn_table_n_row(tensors); i++) {
        struct attn_cell name = cell_of(tensors, i, "name");
        struct attn_cell list = cell_of(tensors, i, "shape");
        size_t width = escaped_width(page, &name);
        if (width <= NAME_MAX_WIDTH)
            widen(&widths.name, width);
        widen(&widths.dtype, cell_of(tensors, i, "dtype").size);
        widen(&widths.shape, strlen(shape_text(&list, shape)));
    }
    return widths;
}

static void put_tensor(struct page *page, const struct attn_table *tensors, size_t row,
                       const struct widths *widths)
{
    struct attn_cell name = cell_of(tensors, row, "name"), file = cell_of(tensors, row, "file");
    struct attn_cell dtype = cell_of(tensors, row, "dtype");
    struct attn_cell list = cell_of(tensors, row, "shape");
    char shape[SHAPE_SIZE], size[ATTN_QUANTITY_SIZE];
    print_text(page->out, "  ");
    put_padded(page, &name, widths->name);
    print(page->out, "  %-*.*s  %-*s  %12" PRIu64 "  %10s", (int)widths->dtype, (int)dtype.size,
          dtype.text, (int)widths->shape, shape_text(&list, shape),
          number_of(tensors, row, "offset"),
          attn_quantity_bytes(number_of(tensors, row, "bytes"), size));
    if (widths->has_file) {
        print_text(page->out, "  ");
        put_escaped(page, file.text, file.size);
    }
    print_text(page->out, "\n");
}

static void put_tensors(struct page *page)
{
    const struct attn_table *tensors = table_of(page, ATTN_INSPECTED_TENSORS);
    struct widths widths = measure_tensors(page, tensors);
    put_title(page, "Tensors");
    if (attn_table_n_row(tensors) == 0) {
        print_text(page->out, "  none\n");
        return;
    }
    print(page->out, "  %-*s  %-*s  %-*s  %12s  %10s%s\n", (int)widths.name, "name",
          (int)widths.dtype, "dtype", (int)widths.shape, "shape", "offset", "size",
          widths.has_file ? "  file" : "");
    for (size_t i = 0; i < attn_table_n_row(tensors); i++)
        put_tensor(page, tensors, i, &widths);
}

static void put_tokenizer(struct page *page)
{
    static const char *const words[][2] = {
        {"word", "words"}, {"char", "characters"}, {"bpe", "byte-level BPE"}};
    char text[ATTN_QUANTITY_SIZE];
    put_title(page, "Tokenizer");
    if (!page->inspection->tokenizer) {
        print(page->out, "  none: %s\n", page->inspection->no_tokenizer.message);
        return;
    }
    const struct attn_table *tokenizer = table_of(page, ATTN_INSPECTED_TOKENIZER);
    const struct attn_table *special = table_of(page, ATTN_INSPECTED_SPECIAL);
    struct attn_cell kind = cell_of(tokenizer, 0, "kind");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (is_text(&kind, words[i][0]))
            print(page->out, "  kind             %s\n", words[i][1]);
    print(page->out, "  n_vocab          %s\n",
          attn_quantity_count(number_of(tokenizer, 0, "n_vocab"), text));
    for (size_t i = 0; i < attn_table_n_row(special); i++) {
        struct attn_cell token = cell_of(special, i, "token");
        print(page->out, "  special          %" PRIu64 " ", number_of(special, i, "id"));
        put_escaped(page, token.text, token.size);
        print_text(page->out, "\n");
    }
}

static void put_files(struct page *page)
{
    const struct attn_table *files = table_of(page, ATTN_INSPECTED_FILES);
    size_t width = 5;
    char text[ATTN_QUANTITY_SIZE];
    for (size_t i = 0; i < attn_table_n_row(files); i++) {
        struct attn_cell name = cell_of(files, i, "name");
        widen(&width, escaped_width(page, &name));
    }
    put_title(page, "Files");
    for (size_t i = 0; i < attn_table_n_row(files); i++) {
        struct attn_cell name = cell_of(files, i, "name");
        print_text(page->out, "  ");
        put_padded(page, &name, width);
        print(page->out, "  %10s\n", attn_quantity_bytes(number_of(files, i, "bytes"), text));
    }
}

/* --- Cost ------------------------------------------------------------------------------------- */

/* The shape of one layer's tensor and the size of all of them. */
static void put_sites(struct page *page)
{
    const struct attn_table *sites = table_of(page, ATTN_INSPECTED_OUTPUTS);
    char shape[SHAPE_SIZE], size[ATTN_QUANTITY_SIZE];
    for (size_t i = 0; i < attn_table_n_row(sites); i++) {
        struct attn_cell site = cell_of(sites, i, "site"), list = cell_of(sites, i, "shape");
        print(page->out, "  %-14.*s  %-22s  %12s\n", (int)site.size, site.text,
              list.type == ATTN_VALUE_LIST ? shape_text(&list, shape) : "by layer",
              attn_quantity_bytes(number_of(sites, i, "bytes"), size));
    }
}

/* What the attention of the run costs, and which kinds cost less. */
static void put_kinds(struct page *page)
{
    const struct attn_table *kinds = table_of(page, ATTN_INSPECTED_KINDS);
    const struct attn_table *work = table_of(page, ATTN_INSPECTED_MULTIPLY_ADDS);
    double share = (double)number_of(work, 0, "matrices") / (double)number_of(work, 0, "total");
    char text[ATTN_QUANTITY_SIZE];
    print(page->out, "\nAttention matrices are %.1f %% of this run; by kind:\n", 100 * share);
    print(page->out, "  %-16s  %12s  %13s  %8s\n", "kind", "pairs", "multiply-adds", "of exact");
    for (size_t i = 0; i < attn_table_n_row(kinds); i++) {
        struct attn_cell kind = cell_of(kinds, i, "kind");
        print(page->out, "  %-16.*s", (int)kind.size, kind.text);
        print(page->out, "  %12s", attn_quantity_count(number_of(kinds, i, "n_pair"), text));
        print(page->out, "  %13s",
              attn_quantity_operations(number_of(kinds, i, "multiply_adds"), text));
        print(page->out, "  %6.1f %%\n", 100 * cell_of(kinds, i, "share").real);
    }
}

static void put_cost(struct page *page)
{
    static const char *const operations[] = {"q, k, v and output projections", "attention matrices",
                                             "mlp", "logits of every token", "total"};
    static const char *const memory[] = {"weights read", "working memory of 'run', one thread",
                                         "keys and values of all layers", "  with plain heads",
                                         "  with multi-query heads"};
    const struct attn_table *run = table_of(page, ATTN_INSPECTED_RUN);
    uint64_t n_token = number_of(run, 0, "n_token");
    uint64_t n_source = number_of(run, 0, "n_source");
    char text[ATTN_QUANTITY_SIZE];
    print(page->out, "\nMultiply-adds of a run of %s token%s", attn_quantity_count(n_token, text),
          n_token == 1 ? "" : "s");
    if (n_source > 0)
        print(page->out, " and a source of %s row%s", attn_quantity_count(n_source, text),
              n_source == 1 ? "" : "s");
    print_text(page->out, "\n");
    put_amounts(page, table_of(page, ATTN_INSPECTED_MULTIPLY_ADDS), operations);
    if (table_of(page, ATTN_INSPECTED_KINDS))
        put_kinds(page);
    put_title(page, "Its memory");
    put_amounts(page, table_of(page, ATTN_INSPECTED_MEMORY), memory);
    put_title(page, "Its tensors: the shape in one layer, the size of all layers");
    put_sites(page);
}

/* --- All -------------------------------------------------------------------------------------- */

static void put_heading(struct page *page)
{
    const struct inspection *inspection = page->inspection;
    size_t n = attn_safetensors_count(inspection->weights);
    char text[ATTN_QUANTITY_SIZE];
    put_escaped(page, inspection->name, strlen(inspection->name));
    if (inspection->model) {
        const struct attn_table *parameters = table_of(page, ATTN_INSPECTED_PARAMETERS);
        print(page->out, ": %s, %s parameters", attn_model_config(inspection->model)->model_type,
              attn_quantity_count(number_of(parameters, 0, "total"), text));
    } else {
        print_text(page->out, ": safetensors");
    }
    print(page->out, ", %zu tensor%s, %s\n", n, n == 1 ? "" : "s",
          attn_quantity_bytes(inspection_n_byte(inspection), text));
}

int inspection_print_text(const struct inspection *inspection, struct attn_sink *out)
{
    struct page page = {inspection, out, EXIT_DONE};
    put_heading(&page);
    if (!inspection->model) {
        put_tensors(&page);
        return page.code;
    }
    put_title(&page, "Config");
    put_settings(&page, table_of(&page, ATTN_INSPECTED_CONFIG));
    put_attention(&page);
    put_differences(&page);
    put_title(&page, "Parameters");
    put_amounts(&page, table_of(&page, ATTN_INSPECTED_PARAMETERS), NULL);
    put_tensors(&page);
    put_tokenizer(&page);
    put_files(&page);
    put_cost(&page);
    return page.code;
}

int inspection_print_check(const struct inspection *inspection, struct attn_sink *out)
{
    struct page page = {inspection, out, EXIT_DONE};
    const struct attn_table *bad = table_of(&page, ATTN_INSPECTED_NON_FINITE);
    size_t n = attn_safetensors_count(inspection->weights);
    for (size_t i = 0; i < attn_table_n_row(bad); i++) {
        struct attn_cell name = cell_of(bad, i, "name");
        put_escaped(&page, name.text, name.size);
        print(out,
              ": %" PRIu64 " NaN, %" PRIu64 " infinite of %" PRIu64 ", the first at %" PRIu64 "\n",
              number_of(bad, i, "n_nan"), number_of(bad, i, "n_infinite"),
              number_of(bad, i, "n_value"), number_of(bad, i, "first"));
    }
    if (attn_table_n_row(bad) == 0)
        print(out, "%zu tensor%s, all values are finite\n", n, n == 1 ? "" : "s");
    return page.code;
}
