/*
 * comparison.c - --compare: what it refuses, what it runs, and what it found as text, CSV or JSON.
 *
 * Text is a line for each head, named as --heads takes it, then means over a layer and over
 * everything, what both cost, and the next tokens. JSON is one document with what was compared in
 * front. Values are cells of tables (base/table.h), so every form writes them alike.
 */
#include "cmd/args/comparison.h"

#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELL_SIZE = 32,
};

static const struct option comparison_rows[] = {
    {.name = "compare",
     .heading = "Attention",
     .kind = OPTION_FLAG,
     .help = "instead of tensors, show how far this attention is from exact attention, for each "
             "head, and what both cost; --csv, --json and --jsonl write it as tables. A distance "
             "between numbers does not say how much a task loses"},
};

const struct option_group comparison_options = OPTION_GROUP(comparison_rows);

static bool is_possible(const struct attn_format *format)
{
    return format->has_tables || format->draws_differences;
}

static int refuse(const char *name)
{
    char formats[128];
    attn_format_list(is_possible, "or", formats, sizeof(formats));
    return report_problem(
        EXIT_USAGE, NULL,
        "--compare and --%s do not go together: a comparison is written as text, %s", name,
        formats);
}

static bool is_refused(const char *name)
{
    static const char *const refused[] = {"sites",          "top",        "next", "ablate",
                                          "ablate-pattern", "renormalize"};
    const struct attn_format *format = attn_format_find(name);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (strcmp(name, refused[i]) == 0)
            return true;
    return format && !is_possible(format);
}

int comparison_check(const struct command *command, const char *const *given, bool has_page)
{
    if (has_page)
        return refuse("explain");
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (given[walk.n - 1] && walk.option.name && is_refused(walk.option.name))
            return refuse(walk.option.name);
    return EXIT_DONE;
}

int comparison_find(struct comparison *comparison, const struct attn_run *run)
{
    struct attn_error err = {0};
    interrupt_catch();
    return attn_compare(run, COMPARISON_N_RECALLED, &comparison->found, &err) == ATTN_OK
               ? EXIT_DONE
               : report_error(&err);
}

void comparison_release(struct comparison *comparison)
{
    attn_comparison_free(comparison->found);
    comparison->found = NULL;
}

/* --- Text ------------------------------------------------------------------------------------- */

/* As --heads takes it: 5.1 of a model, 3 of arrays; B1H3 of batches, as files are named. */
static void write_name(const struct comparison *comparison, const struct attn_compared_head *head,
                       char name[CELL_SIZE])
{
    const struct attn_array_axes *axes = comparison->labels->axes;
    struct attn_head_place place = attn_comparison_place(head, comparison->labels);
    if (!axes)
        snprintf(name, CELL_SIZE, "%d.%d", place.first, place.head);
    else if (axes->rank < 4)
        snprintf(name, CELL_SIZE, "%d", place.head);
    else
        snprintf(name, CELL_SIZE, "B%dH%d", place.first, place.head);
}

/* Text shows the values without the numbers of rows. */
enum { N_SHOWN = ATTN_DIFFERENCE_ROWS };

static enum attn_status append_named(struct attn_table *table, const char *name,
                                     const struct attn_difference *difference,
                                     struct attn_error *err)
{
    struct attn_cell cells[1 + ATTN_N_DIFFERENCE] = {attn_cell_text(name, strlen(name))};
    attn_difference_cells(difference, cells + 1);
    return attn_table_append(table, cells, 1 + N_SHOWN, err);
}

/* Heads, layers and everything, for one of the two errors. */
static enum attn_status append_rows(struct attn_table *table, const struct comparison *comparison,
                                    bool is_local, struct attn_error *err)
{
    const struct attn_comparison *found = comparison->found;
    enum attn_status status = ATTN_OK;
    char name[CELL_SIZE];
    size_t at = 0;
    for (size_t i = 0; status == ATTN_OK && i < found->n_layer; i++) {
        const struct attn_compared_layer *layer = &found->layers[i];
        size_t first = at;
        for (; status == ATTN_OK && at < found->n_head && found->heads[at].layer == layer->layer;
             at++) {
            const struct attn_compared_head *head = &found->heads[at];
            write_name(comparison, head, name);
            status = append_named(table, name, is_local ? &head->local : &head->propagated, err);
        }
        snprintf(name, sizeof(name), comparison->labels->axes ? "all" : "%d.*", layer->layer);
        if (status == ATTN_OK && at - first > 1)
            status = append_named(table, name, is_local ? &layer->local : &layer->propagated, err);
    }
    if (status == ATTN_OK && found->n_layer > 1)
        status = append_named(table, "all", is_local ? &found->local : &found->propagated, err);
    return status;
}

static int print_rows(const struct comparison *comparison, bool is_local, struct attn_sink *out)
{
    struct attn_column columns[1 + ATTN_N_DIFFERENCE] = {
        {.name = "head", .type = ATTN_VALUE_TEXT, .width = 5}};
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    attn_difference_columns(columns + 1);
    enum attn_status status = attn_table_create("heads", columns, 1 + N_SHOWN, &table, &err);
    if (status == ATTN_OK)
        status = append_rows(table, comparison, is_local, &err);
    if (status == ATTN_OK)
        status = attn_table_write(table, ATTN_TABLE_ALIGNED, -1, out, &err);
    attn_table_free(table);
    return status == ATTN_OK ? EXIT_DONE : report(&err, EXIT_OUTPUT);
}

static void print_cost(const struct attn_comparison *found, struct attn_sink *out)
{
    struct attn_attention_cost exact = {0}, chosen = {0};
    char a[ATTN_QUANTITY_SIZE], b[ATTN_QUANTITY_SIZE];
    for (size_t i = 0; i < found->n_layer; i++) {
        const struct attn_compared_layer *layer = &found->layers[i];
        exact.n_pair += layer->exact.n_pair;
        exact.n_byte += layer->exact.n_byte;
        exact.seconds += layer->exact.seconds;
        chosen.n_pair += layer->chosen.n_pair;
        chosen.n_byte += layer->chosen.n_byte;
        chosen.seconds += layer->chosen.seconds;
    }
    print(out, "%-8s %15s %15s\n", "", "exact", "chosen");
    print(out, "%-8s %15s %15s\n", "pairs", attn_quantity_count(exact.n_pair, a),
          attn_quantity_count(chosen.n_pair, b));
    print(out, "%-8s %15s %15s\n", "bytes", attn_quantity_count(exact.n_byte, a),
          attn_quantity_count(chosen.n_byte, b));
    print(out, "%-8s %15.6f %15.6f\n", "seconds", exact.seconds, chosen.seconds);
}

/* A first choice: its text, or its id. */
static int print_token(const struct comparison *comparison, int32_t id, struct attn_sink *out)
{
    size_t size = 0;
    const char *text = NULL;
    if (comparison->tokenizer)
        text = attn_tokenizer_token(comparison->tokenizer, id, &size);
    if (!text) {
        print(out, "%d", (int)id);
        return EXIT_DONE;
    }
    print_text(out, "'");
    int code = print_escaped(out, text, size);
    print_text(out, "'");
    return code;
}

/* As cells of a table are written for reading. */
static void write_cell(double value, char text[CELL_SIZE])
{
    if (value == 0)
        snprintf(text, CELL_SIZE, "0");
    else
        snprintf(text, CELL_SIZE, fabs(value) < 5e-5 || fabs(value) >= 1e5 ? "%.1e" : "%.4f",
                 value);
}

static int print_logits(const struct comparison *comparison, struct attn_sink *out)
{
    const struct attn_comparison *found = comparison->found;
    const struct attn_compared_logits *last = &found->logits[found->n_logits - 1];
    double sum = 0, most = 0;
    size_t n_changed = 0;
    char cell[CELL_SIZE];
    for (size_t i = 0; i < found->n_logits; i++) {
        const struct attn_compared_logits *logits = &found->logits[i];
        sum += logits->kl;
        most = fmax(most, logits->kl);
        n_changed += logits->exact_first != logits->chosen_first;
    }
    print(out,
          "\n"
          "next token: the most probable one differs at %zu of %zu position%s\n",
          n_changed, found->n_logits, found->n_logits == 1 ? "" : "s");
    write_cell(sum / (double)found->n_logits, cell);
    print(out, "kl in nats: mean %s", cell);
    write_cell(most, cell);
    print(out, ", largest %s", cell);
    write_cell(last->kl, cell);
    print(out,
          ", %s at position %zu\n"
          "most probable at position %zu: exact ",
          cell, last->position, last->position);
    int code = print_token(comparison, last->exact_first, out);
    print_text(out, ", chosen ");
    if (code == EXIT_DONE)
        code = print_token(comparison, last->chosen_first, out);
    print_text(out, "\n");
    return code;
}

static int print_comparison(const struct comparison *comparison, struct attn_sink *out)
{
    const struct attn_comparison *found = comparison->found;
    const bool is_blockwise = comparison->attention->algorithm == ATTN_ALGORITHM_BLOCKWISE;
    static const char *const words[2][2] = {{"tokens", "token"}, {"queries", "query"}};
    const bool is_array = comparison->labels->axes;
    char name[ATTN_ATTENTION_TEXT_SIZE];
    attn_attention_text(comparison->attention, name);
    print(out,
          "%s%s compared with exact attention, %zu %s, recall of the %d largest weights\n"
          "\n",
          name, is_blockwise ? ", blockwise," : "", comparison->n,
          words[is_array][comparison->n == 1], COMPARISON_N_RECALLED);
    if (!is_array)
        print_text(out, "local: each layer gets q, k and v of the exact run\n");
    int code = print_rows(comparison, true, out);
    if (code == EXIT_DONE && found->has_propagated) {
        print_text(out, "\n"
                        "propagated: all layers use the chosen attention\n");
        code = print_rows(comparison, false, out);
    }
    print_text(out, "\n");
    print_cost(found, out);
    return code == EXIT_DONE && found->n_logits > 0 ? print_logits(comparison, out) : code;
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* Writes the table of a PART as CSV to OUT. */
static enum attn_status write_table(const struct comparison *comparison,
                                    enum attn_comparison_part part, int precision,
                                    struct attn_sink *out, struct attn_error *err)
{
    struct attn_table *table = NULL;
    enum attn_status status = attn_comparison_tabulate(comparison->found, part, comparison->labels,
                                                       comparison->tokenizer, &table, err);
    if (status == ATTN_OK)
        status = attn_table_write(table, ATTN_TABLE_CSV, precision, out, err);
    attn_table_free(table);
    return status;
}

/* The tables of all parts that there are, a file each. */
static enum attn_status write_files(const struct comparison *comparison,
                                    const struct attn_output *item, int precision,
                                    struct attn_error *err)
{
    struct attn_output_table tables[] = {
        {NULL, "compare", precision},
        {NULL, "compare_cost", -1}, /* seconds are small: they keep their digits */
        {NULL, "compare_logits", precision},
    };
    static const enum attn_comparison_part parts[] = {ATTN_COMPARISON_HEADS, ATTN_COMPARISON_COSTS,
                                                      ATTN_COMPARISON_LOGITS};
    struct attn_table *made[] = {NULL, NULL, NULL};
    const size_t n = comparison->found->n_logits > 0 ? 3 : 2;
    enum attn_status status = ATTN_OK;
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        status = attn_comparison_tabulate(comparison->found, parts[i], comparison->labels,
                                          comparison->tokenizer, &made[i], err);
        tables[i].table = made[i];
    }
    if (status == ATTN_OK)
        status =
            attn_output_write_tables(item, tables, n, comparison->labels, interrupt_flag(), err);
    for (size_t i = 0; i < n; i++)
        attn_table_free(made[i]);
    return status;
}

static int write_folder(const struct comparison *comparison, const struct attn_output *item,
                        int precision)
{
    struct attn_error err = {0};
    enum attn_status status =
        item->path ? write_files(comparison, item, precision, &err)
                   : write_table(comparison, ATTN_COMPARISON_HEADS, precision, item->sink, &err);
    return status == ATTN_OK ? EXIT_DONE : report(&err, EXIT_OUTPUT);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* A document in the making. */
struct page {
    struct attn_sink *out;
    int precision;
    struct attn_table *differences, *costs, *logits; /* owns; their rows are objects */
    enum attn_status status;                         /* the first failure */
    struct attn_error err;
    int code; /* the same of failures that are already reported */
};

static void put_string(struct page *page, const char *text, size_t size)
{
    if (page->code == EXIT_DONE)
        page->code = print_json_string(page->out, text, size);
}

/* Appends a row to TABLE and writes it as an object. */
static void put_row(struct page *page, struct attn_table *table, const struct attn_cell *cells,
                    int precision)
{
    const size_t n_cell = attn_table_n_column(table);
    if (page->status == ATTN_OK)
        page->status = attn_table_append(table, cells, n_cell, &page->err);
    if (page->status == ATTN_OK)
        page->status = attn_table_write_row(table, attn_table_n_row(table) - 1, ATTN_TABLE_JSON,
                                            precision, page->out, &page->err);
}

static void put_difference(struct page *page, const struct attn_difference *difference)
{
    struct attn_cell cells[ATTN_N_DIFFERENCE];
    attn_difference_cells(difference, cells);
    put_row(page, page->differences, cells, page->precision);
}

static void put_differences(struct page *page, bool has_propagated,
                            const struct attn_difference *local,
                            const struct attn_difference *propagated)
{
    print_text(page->out, "\"local\": ");
    put_difference(page, local);
    print_text(page->out, ",\n \"propagated\": ");
    if (has_propagated)
        put_difference(page, propagated);
    else
        print_text(page->out, "null");
}

static void put_cost(struct page *page, const char *name, const struct attn_attention_cost *cost)
{
    const struct attn_cell cells[] = {attn_cell_integer((int64_t)cost->n_pair),
                                      attn_cell_integer((int64_t)cost->n_byte),
                                      attn_cell_real(cost->seconds)};
    print(page->out, ",\n \"%s\": ", name);
    put_row(page, page->costs, cells, -1);
}

static void put_labels(struct page *page, const struct comparison *comparison)
{
    const struct attn_labels *labels = comparison->labels;
    char name[ATTN_ATTENTION_TEXT_SIZE];
    size_t size = attn_attention_text(comparison->attention, name);
    print(page->out, "{\n\"schema\": %d,\n\"model\": ", ATTN_JSON_SCHEMA);
    if (labels->model)
        put_string(page, labels->model, strlen(labels->model));
    else
        print_text(page->out, "null");
    print_text(page->out, ",\n\"options\": {");
    for (size_t i = 0; i < labels->n_option; i++) {
        const struct attn_option *option = &labels->options[i];
        print(page->out, "%s\"%s\": ", i == 0 ? "" : ", ", option->name);
        put_string(page, option->value, strlen(option->value));
    }
    print_text(page->out, "},\n\"tokens\": ");
    for (size_t i = 0; labels->tokens && i < comparison->n; i++) {
        print_text(page->out, i == 0 ? "[" : ",");
        put_string(page, labels->tokens[i], labels->token_sizes[i]);
    }
    print_text(page->out, labels->tokens ? "],\n\"ids\": " : "null,\n\"ids\": ");
    for (size_t i = 0; labels->ids && i < comparison->n; i++)
        print(page->out, "%s%d", i == 0 ? "[" : ",", (int)labels->ids[i]);
    print_text(page->out, labels->ids ? "],\n" : "null,\n");
    print_text(page->out, "\"attention\": ");
    put_string(page, name, size);
    print(page->out, ",\n\"recalled\": %d,\n", COMPARISON_N_RECALLED);
}

static void put_heads(struct page *page, const struct comparison *comparison)
{
    const struct attn_comparison *found = comparison->found;
    print_text(page->out, "\"heads\": [");
    for (size_t i = 0; i < found->n_head; i++) {
        const struct attn_compared_head *head = &found->heads[i];
        struct attn_head_place place = attn_comparison_place(head, comparison->labels);
        print(page->out, "%s\n{\"%s\": %d, \"head\": %d,\n ", i == 0 ? "" : ",",
              comparison->labels->axes ? "batch" : "layer", place.first, place.head);
        put_differences(page, found->has_propagated, &head->local, &head->propagated);
        print_text(page->out, "}");
    }
    print_text(page->out, "],\n\"layers\": [");
    for (size_t i = 0; i < found->n_layer; i++) {
        const struct attn_compared_layer *layer = &found->layers[i];
        print(page->out, "%s\n{\"layer\": %d,\n ", i == 0 ? "" : ",", layer->layer);
        put_differences(page, found->has_propagated, &layer->local, &layer->propagated);
        put_cost(page, "exact", &layer->exact);
        put_cost(page, "chosen", &layer->chosen);
        print_text(page->out, "}");
    }
    print_text(page->out, "],\n\"all\": {");
    put_differences(page, found->has_propagated, &found->local, &found->propagated);
    print_text(page->out, "},\n");
}

static void put_logits(struct page *page, const struct attn_comparison *found)
{
    print_text(page->out, "\"logits\": ");
    for (size_t i = 0; i < found->n_logits; i++) {
        const struct attn_compared_logits *logits = &found->logits[i];
        const struct attn_cell cells[] = {
            attn_cell_integer((int64_t)logits->position), attn_cell_real(logits->kl),
            attn_cell_integer(logits->exact_first), attn_cell_integer(logits->chosen_first)};
        print_text(page->out, i == 0 ? "[\n" : ",\n");
        put_row(page, page->logits, cells, page->precision);
    }
    print_text(page->out, found->n_logits > 0 ? "]\n}\n" : "null\n}\n");
}

/* The tables whose rows are the objects of the document. */
static enum attn_status create_tables(struct page *page)
{
    static const struct attn_column cost[] = {{.name = "pairs", .type = ATTN_VALUE_INTEGER},
                                              {.name = "bytes", .type = ATTN_VALUE_INTEGER},
                                              {.name = "seconds", .type = ATTN_VALUE_REAL}};
    static const struct attn_column logits[] = {
        {.name = "query", .type = ATTN_VALUE_INTEGER},
        {.name = "kl", .type = ATTN_VALUE_REAL},
        {.name = "exact_first", .type = ATTN_VALUE_INTEGER},
        {.name = "chosen_first", .type = ATTN_VALUE_INTEGER}};
    struct attn_column difference[ATTN_N_DIFFERENCE];
    attn_difference_columns(difference);
    enum attn_status status = attn_table_create("differences", difference, ATTN_N_DIFFERENCE,
                                                &page->differences, &page->err);
    if (status == ATTN_OK)
        status = attn_table_create("costs", cost, 3, &page->costs, &page->err);
    if (status == ATTN_OK)
        status = attn_table_create("logits", logits, 4, &page->logits, &page->err);
    return status;
}

static int print_json(const struct comparison *comparison, int precision, struct attn_sink *out)
{
    struct page page = {.out = out, .precision = precision, .code = EXIT_DONE};
    page.status = create_tables(&page);
    if (page.status == ATTN_OK) {
        put_labels(&page, comparison);
        put_heads(&page, comparison);
        put_logits(&page, comparison->found);
    }
    attn_table_free(page.differences);
    attn_table_free(page.costs);
    attn_table_free(page.logits);
    return page.status == ATTN_OK ? page.code : report(&page.err, EXIT_OUTPUT);
}

static int write_document(const struct comparison *comparison, const struct attn_output *output,
                          int precision)
{
    struct attn_error err = {0};
    struct attn_sink *sink;
    if (!output->path)
        return print_json(comparison, precision, output->sink);
    if (attn_output_create_file(output, &sink, &err) != ATTN_OK)
        return report(&err, EXIT_OUTPUT);
    int code = print_json(comparison, precision, sink);
    if (code == EXIT_DONE && attn_sink_commit(sink, &err) != ATTN_OK)
        code = report(&err, EXIT_OUTPUT);
    attn_sink_free(sink);
    return code;
}

/* --- Where it goes ---------------------------------------------------------------------------- */

/* The table of the heads into outputs that hold nothing but tables. */
static int write_heads(const struct comparison *comparison, const struct output_args *args,
                       struct attn_sink *out)
{
    struct attn_table *heads = NULL;
    struct attn_error err = {0};
    if (attn_comparison_tabulate(comparison->found, ATTN_COMPARISON_HEADS, comparison->labels,
                                 comparison->tokenizer, &heads, &err) != ATTN_OK)
        return report(&err, EXIT_INTERNAL);
    int code = outputs_write_tables(args, &heads, 1, out);
    attn_table_free(heads);
    return code;
}

/* Into an output that holds tensors as well: a folder of tables, or one document. */
static int write_output(const struct comparison *comparison, const struct attn_output *output,
                        int precision)
{
    return output->format->is_directory ? write_folder(comparison, output, precision)
                                        : write_document(comparison, output, precision);
}

int comparison_write(const struct comparison *comparison, const struct output_args *args,
                     struct attn_sink *out)
{
    int code = EXIT_DONE;
    if (!outputs_are_wanted(args))
        return print_comparison(comparison, out);
    for (size_t i = 0; code == EXIT_DONE && i < attn_n_format(); i++) {
        const struct attn_format *format = attn_format_at(i);
        const struct attn_output output = output_of(args, format, out);
        if (format->has_tables && format->tensors && output_path(args, format->name))
            code = write_output(comparison, &output, (int)args->precision);
    }
    return code == EXIT_DONE ? write_heads(comparison, args, out) : code;
}
