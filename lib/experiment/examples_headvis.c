/* examples_headvis.c - writes the files of HeadVis's page (github.com/anthropics/headvis, whose
 * data_pipeline.py describes them). Without projections and attributions: these need other tools.
 */
#include "experiment/examples_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/utf8.h"
#include "encode/json_writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    N_KEY = 8,     /* weights of a row that are written */
    N_COLUMN = 20, /* bars of the histogram of values */
    MOST_EDGES = 34,
    MOST_TOKENS = 50,
    N_STEP = 10000,
    NAME_SIZE = 64,
    /* the first of attn_example_measures, which every row has; the others are means over some rows
     * of some texts, which say little about a head if they are few */
    N_AXIS = 6,
};

/* A file of the folder, which is being written. */
struct file {
    struct attn_buffer out;
    struct attn_json_writer json;
};

static void begin_file(struct file *file)
{
    *file = (struct file){.json = {.comma = ","}};
    file->json.out = &file->out;
}

/* Writes FILE as NAME of the folder, and releases it. */
static enum attn_status end_file(struct file *file, const char *folder, const char *name,
                                 struct attn_error *err)
{
    struct attn_sink *sink = NULL;
    enum attn_status status;

    attn_buffer_append_char(&file->out, '\n');
    status = attn_buffer_check(&file->out, err);
    if (status == ATTN_OK)
        status = attn_sink_create_file_in(folder, name, &sink, err);
    if (status == ATTN_OK) {
        attn_sink_write(sink, file->out.data, file->out.size);
        status = attn_sink_commit(sink, err);
    }
    attn_sink_free(sink);
    attn_buffer_release(&file->out);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* Creates the folder NAME in FOLDER, or FOLDER itself if NAME is "", unless it is there. FOLDER may
 * be a link. */
static enum attn_status make_folder(const char *folder, const char *name, struct attn_error *err)
{
    struct attn_buffer path = {0};
    enum attn_status status = ATTN_OK;
    struct stat info;

    attn_buffer_append_format(&path, "%s%s%s", folder, *name ? "/" : "", name);
    if (!attn_buffer_string(&path))
        status = attn_error_no_memory(err);
    else if ((mkdir(path.data, 0777) != 0 && errno != EEXIST) ||
             (*name ? lstat(path.data, &info) : stat(path.data, &info)) != 0)
        status = attn_error_errno(err, "create", path.data, errno);
    else if (!S_ISDIR(info.st_mode))
        status = attn_error_set(err, ATTN_IO, "cannot write '%s': it is %s, expected a directory",
                                attn_quote_string(path.data).text, attn_mode_text(info.st_mode));
    attn_buffer_release(&path);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* Writes NUMBER with at most four decimals. */
static void push_number(struct attn_json_writer *json, double number)
{
    struct attn_buffer *out = attn_json_value(json);

    attn_buffer_append_format(out, "%.4f", number);
    while (out->size > 2 && out->data[out->size - 1] == '0' && out->data[out->size - 2] != '.')
        out->size--;
}

/* Writes TEXT [size], escaped if it is not UTF-8. */
static void push_text(struct attn_json_writer *json, const char *text, size_t size)
{
    struct attn_buffer printable = {0};

    if (attn_utf8_valid_length(text, size) == size) {
        attn_json_string(json, text, size);
        return;
    }
    attn_escape_append(&printable, text, size);
    attn_json_string(json, printable.data ? printable.data : "", printable.size);
    json->out->has_failed |= printable.has_failed;
    attn_buffer_release(&printable);
}

/* --- The heads -------------------------------------------------------------------------------- */

/* A token and the sum of its weights as a query, and as a key: of the weights as they are written,
 * in steps of 0.0001, so that a sum does not depend on the order of its terms. */
struct token_weight {
    const char *text; /* [size] borrowed */
    size_t size;
    size_t number; /* number of the token in the order of occurrence */
    int64_t weights[2];
};

/* What is summed over the texts that are shown of one head. */
struct sums {
    struct token_weight *tokens; /* [n_token] owns */
    size_t n_token, capacity;
    size_t counts[MOST_EDGES]; /* of the distances below the edges 1, 2, 4, ... */
    size_t longest;            /* tokens of the longest text */
};

/* The examples of one head. */
struct head_file {
    const struct attn_example_set *set;
    const struct attn_example *examples; /* [n_example] */
    size_t n_example;
    const struct attn_example_head *head;
    struct sums sums; /* owns */
};

/* Copies the largest weights of row QUERY of EXAMPLE to CELLS [N_KEY], in the order of their keys.
 * Returns their number. */
static size_t largest_of(const struct attn_example *example, size_t query,
                         struct attn_example_cell *cells)
{
    const size_t begin = query > 0 ? example->ends[query - 1] : 0;
    const size_t n = example->ends[query] - begin;
    size_t n_kept;
    struct attn_example_cell all[ATTN_EXAMPLE_KEYS];

    memcpy(all, example->cells + begin, n * sizeof *all);
    n_kept = attn_example_keep_largest(all, n, N_KEY);
    memcpy(cells, all, n_kept * sizeof *cells);
    return n_kept;
}

/* Adds WEIGHT to the sum of token I of TEXT as a query (SIDE 0) or as a key (1). */
static enum attn_status add_token(struct sums *sums, const struct attn_example_text *text, size_t i,
                                  int side, int64_t weight, struct attn_error *err)
{
    size_t size, at = 0;
    const char *token = attn_example_token(text, i, &size);

    while (at < sums->n_token &&
           (sums->tokens[at].size != size || memcmp(sums->tokens[at].text, token, size) != 0))
        at++;
    if (at == sums->n_token) {
        ATTN_TRY(attn_grow(&sums->tokens, &sums->capacity, at + 1, sizeof *sums->tokens, err));
        sums->tokens[sums->n_token++] =
            (struct token_weight){.text = token, .size = size, .number = at};
    }
    sums->tokens[at].weights[side] += weight;
    return ATTN_OK;
}

/* Adds a weight of EXAMPLE to the sums. */
static enum attn_status add_cell(struct head_file *file, const struct attn_example *example,
                                 size_t query, const struct attn_example_cell *cell,
                                 struct attn_error *err)
{
    const struct attn_example_text *text = &file->set->texts[example->text];
    const size_t key = cell->key + (example->is_cross ? text->n_token : 0);
    const size_t distance = query > cell->key ? query - cell->key : cell->key - query;
    const int64_t weight = llrint((double)cell->weight * N_STEP);
    size_t edge = 0;

    while (distance >> edge > 0)
        edge++;
    file->sums.counts[edge < MOST_EDGES ? edge : MOST_EDGES - 1]++;
    ATTN_TRY(add_token(&file->sums, text, query, 0, weight, err));
    return add_token(&file->sums, text, key, 1, weight, err);
}

/* Writes the indices of the weights of EXAMPLE, or if IS_VALUE the weights. */
static void push_cells(struct attn_json_writer *json, const struct attn_example *example,
                       size_t n_column, bool is_value)
{
    struct attn_example_cell cells[N_KEY];

    attn_json_begin(attn_json_key(json, is_value ? "attention_values" : "attention_indices"), '[');
    for (size_t q = 0; q < example->n_row; q++) {
        const size_t n = largest_of(example, q, cells);

        for (size_t i = 0; i < n; i++)
            if (is_value)
                push_number(json, (double)cells[i].weight);
            else
                attn_json_size(json, q * n_column + cells[i].key);
    }
    attn_json_end(json);
}

static void push_tokens(struct attn_json_writer *json, const struct attn_example_text *text)
{
    attn_json_begin(attn_json_key(json, "tokens"), '[');
    for (size_t i = 0; i < text->n_token; i++) {
        size_t size;
        const char *token = attn_example_token(text, i, &size);

        push_text(json, token, size);
    }
    attn_json_end(json);
}

/* Writes EXAMPLE and adds it to the sums. */
static enum attn_status push_example(struct head_file *file, struct attn_json_writer *json,
                                     const struct attn_example *example, struct attn_error *err)
{
    const struct attn_example_text *text = &file->set->texts[example->text];
    struct attn_example_cell cells[N_KEY];

    attn_json_line(json);
    attn_json_begin(json, '{');
    attn_json_size(attn_json_key(json, "sequence_id"), example->number);
    attn_json_size(attn_json_key(json, "interval"), example->bin);
    push_tokens(json, text);
    push_cells(json, example, text->n_token, false);
    push_cells(json, example, text->n_token, true);
    attn_json_size(attn_json_key(json, "seq_len"), text->n_token);
    push_number(attn_json_key(json, "max_activation"), example->value);
    attn_json_end(json);
    file->sums.longest = text->n_token > file->sums.longest ? text->n_token : file->sums.longest;
    for (size_t q = 0; q < example->n_row; q++) {
        const size_t n = largest_of(example, q, cells);

        for (size_t i = 0; i < n; i++)
            ATTN_TRY(add_cell(file, example, q, &cells[i], err));
    }
    return ATTN_OK;
}

/* Writes how many weights have each distance, up to the first edge at or above the longest text. */
static void push_distances(struct attn_json_writer *json, const struct sums *sums)
{
    size_t n = 1; /* edges 0, 1, 2, 4 ... 2^(n - 1) */

    while (n < MOST_EDGES - 1 && (size_t)1 << (n - 1) < sums->longest)
        n++;
    attn_json_begin(attn_json_key(json, "qk_distance_histogram"), '{');
    attn_json_begin(attn_json_key(json, "bin_edges"), '[');
    attn_json_integer(json, 0);
    for (size_t i = 0; i < n; i++)
        attn_json_integer(json, (int64_t)1 << i);
    attn_json_end(json);
    attn_json_begin(attn_json_key(json, "bin_values"), '[');
    for (size_t i = 0; i < n; i++)
        attn_json_size(json, sums->counts[i]);
    attn_json_end(json);
    attn_json_end(json);
}

static int compare_tokens(const struct token_weight *a, const struct token_weight *b, int side)
{
    if (a->weights[side] != b->weights[side])
        return a->weights[side] < b->weights[side] ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

static int by_query_weight(const void *a, const void *b)
{
    return compare_tokens(a, b, 0);
}

static int by_key_weight(const void *a, const void *b)
{
    return compare_tokens(a, b, 1);
}

static void push_top_tokens(struct attn_json_writer *json, const struct sums *sums, int side)
{
    qsort(sums->tokens, sums->n_token, sizeof *sums->tokens,
          side == 0 ? by_query_weight : by_key_weight);
    attn_json_begin(attn_json_key(json, side == 0 ? "top_query_tokens" : "top_key_tokens"), '[');
    for (size_t i = 0; i < sums->n_token && i < MOST_TOKENS; i++) {
        if (sums->tokens[i].weights[side] == 0)
            break;
        attn_json_begin(json, '{');
        push_text(attn_json_key(json, "token"), sums->tokens[i].text, sums->tokens[i].size);
        push_number(attn_json_key(json, "weight"), (double)sums->tokens[i].weights[side] / N_STEP);
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Writes how the values of all texts are distributed, and their mean. */
static void push_values(struct attn_json_writer *json, const struct attn_example_head *head)
{
    size_t counts[N_COLUMN] = {0};
    double sum = 0;

    for (size_t i = 0; i < head->n; i++) {
        const double at = head->values[i].value * N_COLUMN;

        counts[!(at >= 0) ? 0 : at < N_COLUMN ? (size_t)at : N_COLUMN - 1]++;
        sum += head->values[i].value;
    }
    attn_json_begin(attn_json_key(json, "histogram"), '{');
    attn_json_begin(attn_json_key(json, "bin_edges"), '[');
    for (size_t i = 0; i <= N_COLUMN; i++)
        push_number(json, (double)i / N_COLUMN);
    attn_json_end(json);
    attn_json_begin(attn_json_key(json, "bin_values"), '[');
    for (size_t i = 0; i < N_COLUMN; i++)
        attn_json_size(json, counts[i]);
    attn_json_end(json);
    attn_json_end(json);
    attn_json_begin(attn_json_key(json, "statistics"), '{');
    attn_json_size(attn_json_key(json, "n_samples"), head->n);
    if (head->n > 0)
        push_number(attn_json_key(json, "mean_max_activation"), sum / (double)head->n);
    attn_json_end(json);
}

static enum attn_status push_head(struct head_file *file, struct attn_json_writer *json,
                                  struct attn_error *err)
{
    attn_json_begin(json, '{');
    attn_json_begin(attn_json_key(json, "sequences"), '[');
    for (size_t i = 0; i < file->n_example; i++)
        ATTN_TRY(push_example(file, json, &file->examples[i], err));
    attn_json_end(json);
    push_distances(json, &file->sums);
    push_top_tokens(json, &file->sums, 0);
    push_top_tokens(json, &file->sums, 1);
    push_values(json, file->head);
    attn_json_end(json);
    return ATTN_OK;
}

/* Writes heads/L2H5.json. The examples of the head begin at *FIRST, which is moved behind them. */
static enum attn_status write_head(const struct attn_example_set *set, size_t index, size_t *first,
                                   struct attn_error *err)
{
    struct head_file head = {
        .set = set, .examples = set->examples + *first, .head = &set->heads[index]};
    char name[NAME_SIZE];
    struct file file;
    enum attn_status status;

    while (*first < set->n_example && set->examples[*first].head == index) {
        ++*first;
        head.n_example++;
    }
    begin_file(&file);
    status = push_head(&head, &file.json, err);
    snprintf(name, sizeof name, "heads/L%dH%d.json", head.head->at.layer, head.head->at.head);
    if (status == ATTN_OK)
        status = end_file(&file, set->args->headvis, name, err);
    attn_buffer_release(&file.out);
    attn_free(head.sums.tokens);
    return status;
}

/* --- The folder ------------------------------------------------------------------------------- */

/* Writes the means of the measures of each head. */
static enum attn_status write_means(const struct attn_example_set *set, struct attn_error *err)
{
    struct file file;
    struct attn_json_writer *json = &file.json;

    begin_file(&file);
    attn_json_begin(json, '[');
    for (size_t i = 0; i < set->n_head; i++) {
        const struct attn_example_head *head = &set->heads[i];

        attn_json_line(json);
        attn_json_begin(json, '{');
        attn_json_integer(attn_json_key(json, "layer"), head->at.layer);
        attn_json_integer(attn_json_key(json, "head"), head->at.head);
        for (size_t m = 0; m < ATTN_EXAMPLE_N_MEASURE; m++)
            if (head->means[m].n > 0)
                push_number(attn_json_key(json, attn_measure_name(attn_example_measures[m])),
                            head->means[m].mean);
        attn_json_end(json);
    }
    attn_json_end(json);
    return end_file(&file, set->args->headvis, "scatter_data.json", err);
}

/* Writes the names of the measures, and what they mean. */
static void push_measures(struct attn_json_writer *json)
{
    attn_json_begin(attn_json_key(json, "metrics"), '[');
    for (size_t m = 0; m < N_AXIS; m++)
        attn_json_text(json, attn_measure_name(attn_example_measures[m]));
    attn_json_end(json);
    attn_json_begin(attn_json_key(json, "metric_descriptions"), '{');
    for (size_t m = 0; m < ATTN_EXAMPLE_N_MEASURE; m++)
        attn_json_text(attn_json_key(json, attn_measure_name(attn_example_measures[m])),
                       attn_measure_help(attn_example_measures[m]));
    attn_json_end(json);
}

/* Writes a list of panels NAME, which show fields of the file of a head. */
static void push_panels(struct attn_json_writer *json, const char *name,
                        const char *const (*panels)[2], size_t n)
{
    attn_json_begin(attn_json_key(json, name), '[');
    for (size_t i = 0; i < n; i++) {
        attn_json_begin(json, '{');
        attn_json_text(attn_json_key(json, "key"), panels[i][0]);
        attn_json_text(attn_json_key(json, "label"), panels[i][1]);
        attn_json_end(json);
    }
    attn_json_end(json);
}

static void push_display(struct attn_json_writer *json)
{
    static const char *const plots[][2] = {
        {"qk_distance_histogram", "distance from query to key, in tokens"},
        {"histogram", "largest weight of a text"}};
    static const char *const tables[][2] = {{"top_query_tokens", "queries with the most weight"},
                                            {"top_key_tokens", "keys with the most weight"}};
    static const char *const statistics[][2] = {
        {"n_samples", "texts"}, {"mean_max_activation", "mean of the largest weight of a text"}};

    push_panels(json, "custom_plots", plots, 2);
    push_panels(json, "custom_tables", tables, 2);
    attn_json_begin(attn_json_key(json, "statistics_display"), '{');
    for (size_t i = 0; i < 2; i++) {
        attn_json_begin(attn_json_key(json, statistics[i][0]), '{');
        attn_json_text(attn_json_key(json, "label"), statistics[i][1]);
        attn_json_text(attn_json_key(json, "format"), "default");
        attn_json_end(json);
    }
    attn_json_end(json);
}

static enum attn_status write_config(const struct attn_example_set *set, struct attn_error *err)
{
    struct file file;
    struct attn_json_writer *json = &file.json;

    begin_file(&file);
    attn_json_begin(json, '{');
    attn_json_text(attn_json_key(json, "model_name"), set->model);
    attn_json_begin(attn_json_key(json, "heads"), '[');
    for (size_t i = 0; i < set->n_head; i++) {
        attn_json_begin(json, '[');
        attn_json_integer(json, set->heads[i].at.layer);
        attn_json_integer(json, set->heads[i].at.head);
        attn_json_end(json);
    }
    attn_json_end(json);
    attn_json_size(attn_json_key(json, "n_layers"), set->config->n_layer);
    attn_json_size(attn_json_key(json, "n_heads"), set->config->n_head);
    attn_json_size(attn_json_key(json, "n_intervals"), attn_examples_n_bin(set->args));
    push_measures(json);
    attn_json_text(attn_json_key(json, "head_data_pattern"), "L{layer}H{head}.json");
    attn_json_bool(attn_json_key(json, "has_umap"), false);
    attn_json_begin(attn_json_key(json, "umap_heads"), '[');
    attn_json_end(json);
    push_display(json);
    attn_json_end(json);
    return end_file(&file, set->args->headvis, "config.json", err);
}

/* Writes NAME, an empty object. */
static enum attn_status write_nothing(const struct attn_example_set *set, const char *name,
                                      struct attn_error *err)
{
    struct file file;

    begin_file(&file);
    attn_json_begin(&file.json, '{');
    attn_json_end(&file.json);
    return end_file(&file, set->args->headvis, name, err);
}

enum attn_status attn_examples_make_headvis(const char *folder, struct attn_error *err)
{
    ATTN_TRY(make_folder(folder, "", err));
    ATTN_TRY(make_folder(folder, "heads", err));
    return make_folder(folder, "attributions", err);
}

enum attn_status attn_examples_write_headvis(const struct attn_example_set *set,
                                             struct attn_error *err)
{
    size_t first = 0;

    for (size_t i = 0; i < set->n_head; i++)
        ATTN_TRY(write_head(set, i, &first, err));
    ATTN_TRY(write_means(set, err));
    ATTN_TRY(write_nothing(set, "server_config.json", err));
    ATTN_TRY(write_nothing(set, "attributions/manifest.json", err));
    return write_config(set, err);
}
