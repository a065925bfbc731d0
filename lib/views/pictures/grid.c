#include "pictures/grid.h"

#include "base/elementary.h"
#include "base/text/escape.h"
#include "base/text/path.h"
#include "tables/text_table.h"
#include "tensors/output.h"
#include "towers/maps/picture_maps.h"
#include "trace/model_stack.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    LABEL_COLUMNS = 14,
    OWN_COLUMNS = 30, /* maximum columns of a label of a table: two tokens */
};

void attn_grid_append_label(const struct attn_grid_axis *axis, size_t i, struct attn_buffer *out)
{
    const char *text;
    size_t size;

    if (!axis->texts) {
        attn_buffer_append_format(out, "%zu", attn_grid_position(axis, i));
        return;
    }
    text = attn_grid_text(axis, i, &size);
    attn_text_append_label(out, text, size, axis->has_own_texts ? OWN_COLUMNS : LABEL_COLUMNS,
                           ATTN_ELLIPSIS);
}

struct attn_grid attn_grid_of_run(const struct attn_writer *run,
                                  const struct attn_token_texts tokens[2],
                                  const struct attn_level_matrix *matrices, size_t n)
{
    const enum attn_site site = matrices[0].at.site;
    const struct attn_backdrop *seen = attn_site_is_map(site) ? run->labels.seen : NULL;
    /* maps are weights, or differences or ratios of weights */
    const enum attn_value_range range = seen ? ATTN_RANGE_SHARE : attn_site_range(site);

    return (struct attn_grid){
        .matrices = matrices,
        .n = n,
        .name = attn_site_name(site),
        .model = run->labels.model,
        .scale = attn_color_scale_of(range, seen && seen->neutral && !seen->is_ratio),
        /* contacts are probabilities; papers do not show them in percent */
        .is_share =
            range == ATTN_RANGE_SHARE && site != ATTN_SITE_CONTACTS && !(seen && seen->is_ratio),
        .run = run,
        .tokens = tokens,
    };
}

/* Returns the tokens of the rows or, if IS_KEY, of the keys of MATRIX; NULL without tokens. */
static const struct attn_token_texts *tokens_of(const struct attn_grid *grid,
                                                const struct attn_level_matrix *matrix, bool is_key)
{
    size_t i;

    if (!grid->tokens)
        return NULL;
    i = is_key && !attn_writer_has_own_keys(grid->run, &matrix->at);
    return grid->tokens[i].n > 0 ? &grid->tokens[i] : NULL;
}

/* Returns for each position which of two texts it belongs to; NULL for one text, and for keys of a
 * source. */
static const uint8_t *parts_of(const struct attn_grid *grid, const struct attn_level_matrix *matrix,
                               bool is_key)
{
    return is_key && !attn_writer_has_own_keys(grid->run, &matrix->at) ? NULL
                                                                       : grid->run->labels.texts;
}

struct attn_grid_axis attn_grid_rows(const struct attn_grid *grid,
                                     const struct attn_level_matrix *matrix)
{
    const enum attn_site site = matrix->at.site;
    const enum attn_site_layout layout = attn_site_layout(site);
    const bool is_key = attn_site_has_key_rows(site);
    const bool attends =
        layout == ATTN_LAYOUT_RANK || (attn_site_has_keys(site) && site != ATTN_SITE_CONTACTS);

    if (grid->rows)
        return *grid->rows;
    if (attn_site_has_own_rows(site))
        return (struct attn_grid_axis){.n = matrix->n_row, .title = "row"};
    return (struct attn_grid_axis){.n = matrix->n_row,
                                   .texts = tokens_of(grid, matrix, is_key),
                                   .parts = parts_of(grid, matrix, is_key),
                                   .positions = is_key ? NULL : attn_writer_rows(grid->run, site),
                                   .is_named = grid->run->labels.has_residues,
                                   .title = attends ? "query: attends"
                                                    : attn_writer_row_name(grid->run, site)};
}

struct attn_grid_axis attn_grid_columns(const struct attn_grid *grid,
                                        const struct attn_level_matrix *matrix)
{
    const enum attn_site site = matrix->at.site;
    const bool is_expert = site == ATTN_SITE_ROUTER_LOGITS || site == ATTN_SITE_EXPERT_WEIGHTS;
    const bool is_of_picture =
        attn_site_has_own_rows(site) &&
        !attn_sites_have(ATTN_SITES(ATTN_SITE_IMAGE_FEATURES, ATTN_SITE_IMAGE_FEATURES_GRAD,
                                    ATTN_SITE_DEEPSTACK, ATTN_SITE_DEEPSTACK_GRAD),
                         site);
    const bool is_rank = attn_site_layout(site) == ATTN_LAYOUT_RANK;

    if (grid->columns)
        return *grid->columns;
    if (is_rank || !attn_site_has_keys(site))
        return (struct attn_grid_axis){.n = matrix->n_column,
                                       .title = is_of_picture ? "column"
                                                : is_rank     ? "projected key"
                                                : is_expert   ? "expert"
                                                              : "component"};
    return (struct attn_grid_axis){
        .n = matrix->n_column,
        .texts = tokens_of(grid, matrix, true),
        .parts = parts_of(grid, matrix, true),
        .first = attn_site_first_row(site, attn_selection_dims(grid->run->labels.selection)),
        .is_named = grid->run->labels.has_residues,
        .title = site == ATTN_SITE_CONTACTS ? attn_writer_row_name(grid->run, site)
                                            : "key: attended to"};
}

bool attn_grid_is_lone(const struct attn_grid *grid)
{
    const enum attn_site site = grid->matrices[0].at.site;
    bool is_lone =
        grid->run && attn_site_has_keys(site) && attn_site_range(site) == ATTN_RANGE_SHARE;

    for (size_t i = 0; is_lone && i < grid->n; i++)
        is_lone = grid->matrices[i].n_row == 1 && grid->matrices[i].n_column == 1 &&
                  attn_writer_has_own_keys(grid->run, &grid->matrices[i].at);
    return is_lone;
}

bool attn_grid_fits_backdrop(const struct attn_backdrop *backdrop,
                             const struct attn_level_matrix *matrix)
{
    const size_t n = backdrop ? backdrop->n_row * backdrop->n_col : 0;

    if (backdrop && backdrop->is_in_text)
        return matrix->n_column == n + ATTN_N_SHARE ||
               (matrix->n_row == backdrop->n_row && matrix->n_column == backdrop->n_col);
    return backdrop && attn_site_has_keys(matrix->at.site) &&
           matrix->n_column == backdrop->n_front + n;
}

size_t attn_grid_first_mapped(const struct attn_backdrop *backdrop)
{
    return backdrop->is_in_text ? 0 : backdrop->n_front;
}

double attn_grid_largest_mapped(const struct attn_backdrop *backdrop,
                                const struct attn_level_matrix *matrix, size_t row)
{
    const size_t first = attn_grid_first_mapped(backdrop);
    const size_t end = first + backdrop->n_row * backdrop->n_col;
    double largest = 0;
    float value;

    for (size_t c = first; c < end && c < matrix->n_cell_column; c++)
        if (attn_level_cell(matrix, row, c, &value) == ATTN_CELL_VALUE)
            largest = fmax(largest, fabs((double)value));
    return largest;
}

double attn_grid_least_end(const struct attn_backdrop *backdrop)
{
    enum { SHARES = 10 };
    const size_t n = backdrop->n_front + backdrop->n_row * backdrop->n_col;

    return fmin(1, SHARES / (double)n);
}

/* Whether the matrices of a run have one row, which is that of no position. */
static bool is_pooled(const struct attn_grid *grid)
{
    return attn_site_is_pooled(grid->matrices[0].at.site,
                               attn_selection_dims(grid->run->labels.selection));
}

/* Whether the maps are those of the usual positions of a text. */
static bool has_usual(const struct attn_grid *grid)
{
    return grid->backdrop->is_in_text &&
           attn_selection_is_all_queries(grid->run->labels.selection, ATTN_STACK_ONLY);
}

size_t attn_grid_mapped_position(const struct attn_grid *grid, size_t i)
{
    return has_usual(grid) ? grid->backdrop->usual + i : grid->run->queries[i];
}

/* Returns the number of queries whose maps are shown, or whose mean. */
static size_t n_asked(const struct attn_grid *grid)
{
    return has_usual(grid) ? grid->backdrop->n_usual : grid->run->n_query;
}

size_t attn_grid_n_mapped(const struct attn_grid *grid)
{
    if (!grid->run)
        return grid->backdrop && grid->backdrop->is_in_text ? 1 : grid->matrices[0].n_row;
    if (grid->backdrop && grid->backdrop->is_in_text)
        return grid->matrices[0].n_row;
    return is_pooled(grid) || grid->run->n_query == grid->run->n_position ? 1 : grid->run->n_query;
}

const char *attn_grid_model(const struct attn_grid *grid, size_t *size)
{
    *size = grid->model ? strlen(grid->model) : 0;
    return grid->model && !grid->has_models ? attn_path_last(grid->model, size) : grid->model;
}

void attn_grid_append_model(const struct attn_grid *grid, struct attn_buffer *out)
{
    size_t size;
    const char *name = attn_grid_model(grid, &size);

    if (name)
        attn_escape_append(out, name, size);
}

void attn_grid_append_subject(const struct attn_grid *grid, struct attn_buffer *out)
{
    const struct attn_level_matrix *first = &grid->matrices[0];
    const struct attn_array_axes *axes = grid->run ? grid->run->labels.axes : NULL;
    struct attn_head_number number;
    bool has_one_layer = first->at.layer != ATTN_NO_LAYER && !axes;
    bool has_one_head = attn_site_has_heads(first->at.site) && (!axes || axes->rank > 2);
    bool has_one_batch = axes && axes->rank == 4;

    attn_grid_append_model(grid, out);
    if (grid->rows || !grid->run)
        return;
    number = attn_writer_head_number(grid->run, first->at.site, first->at.head);
    for (size_t i = 1; i < grid->n; i++) {
        const struct attn_level_matrix *matrix = &grid->matrices[i];
        const struct attn_head_number other =
            attn_writer_head_number(grid->run, matrix->at.site, matrix->at.head);

        has_one_layer &= matrix->at.stack == first->at.stack && matrix->at.layer == first->at.layer;
        has_one_head &= other.head == number.head;
        has_one_batch &= other.batch == number.batch;
    }
    if (has_one_layer) {
        const char *stack = attn_model_stack_name(first->at.stack);

        attn_buffer_append_format(out, "%s%s%slayer %d", out->size > 0 ? ", " : "", stack,
                                  stack[0] ? " " : "", first->at.layer);
    }
    if (has_one_batch)
        attn_buffer_append_format(out, "%sbatch %d", out->size > 0 ? ", " : "", number.batch);
    if (has_one_head)
        attn_buffer_append_format(out, "%shead %d", out->size > 0 ? ", " : "", number.head);
}

/* Appends " of [CLS]" if the run has one query. */
static void append_query(const struct attn_grid *grid, struct attn_buffer *out)
{
    const struct attn_backdrop *backdrop = grid->backdrop;
    size_t position;

    if (!backdrop || grid->run->n_query == 0 || attn_grid_n_mapped(grid) > 1 || is_pooled(grid))
        return;
    position = attn_grid_mapped_position(grid, 0);
    attn_buffer_append_string(out, position < backdrop->n_front ? " of " : " of patch ");
    attn_grid_append_position(backdrop, grid->tokens, position, out);
}

/* Appends "where "house" looks", for maps over pictures in a text. */
static void append_looks(const struct attn_grid *grid, struct attn_buffer *out)
{
    const bool has_one =
        grid->n == 1 && attn_dims_n_image(attn_selection_dims(grid->run->labels.selection)) > 1;

    if (attn_grid_n_mapped(grid) > 1) {
        attn_buffer_append_string(out, "where each query looks");
    } else if (n_asked(grid) != 1) {
        attn_buffer_append_format(out, "where %zu queries look, mean", n_asked(grid));
    } else {
        attn_buffer_append_string(out, "where \"");
        attn_grid_append_position(grid->backdrop, grid->tokens, attn_grid_mapped_position(grid, 0),
                                  out);
        attn_buffer_append_string(out, "\" looks");
    }
    if (has_one)
        attn_buffer_append_format(out, ", picture %zu", grid->matrices[0].image);
}

/* Appends the question whose map is taken away, and how many cells a single head leaves out. */
static void append_left_out(const struct attn_grid *grid, struct attn_buffer *out)
{
    const struct attn_backdrop *backdrop = grid->backdrop;
    const bool is_one_head = attn_levels_n_image(grid->matrices, grid->n) == grid->n;
    size_t n_sink = 0;
    float value;

    if (backdrop->neutral) {
        attn_buffer_append_string(out, backdrop->is_ratio ? ", divided by \"" : ", minus \"");
        attn_escape_append(out, backdrop->neutral, strlen(backdrop->neutral));
        attn_buffer_append_char(out, '"');
    }
    for (size_t k = 0; is_one_head && k < grid->n; k++) {
        const struct attn_level_matrix *matrix = &grid->matrices[k];
        const struct attn_backdrop *of = &backdrop[matrix->image];

        for (size_t i = 0; i < of->n_row * of->n_col; i++)
            n_sink += attn_level_cell(matrix, 0, i, &value) == ATTN_CELL_HIDDEN;
    }
    if (n_sink > 0)
        attn_buffer_append_format(out, ", without %zu sink%s", n_sink, n_sink > 1 ? "s" : "");
}

void attn_grid_append_title(const struct attn_grid *grid, struct attn_buffer *out)
{
    if (grid->title) {
        attn_buffer_append_string(out, grid->title);
        return;
    }
    attn_grid_append_subject(grid, out);
    attn_buffer_append_string(out, out->size > 0 ? ": " : "");
    if (grid->run && grid->backdrop && grid->backdrop->is_in_text) {
        append_looks(grid, out);
        append_left_out(grid, out);
    } else {
        attn_buffer_append_string(out, grid->name);
    }
    if (!grid->run)
        return;
    if (!grid->backdrop && grid->n == 1 &&
        attn_writer_n_image(grid->run, grid->matrices[0].at.site) > 1)
        attn_buffer_append_format(out, ".%zu", grid->matrices[0].image);
    if (grid->backdrop && !grid->backdrop->is_in_text)
        append_query(grid, out);
}

/* Appends the options that define the answer of the gradients: "target are, foil is; ". */
static void append_answer(const struct attn_labels *labels, struct attn_buffer *out)
{
    static const char *const names[] = {"target", "foil", "at", "metric"};
    const size_t n_before = out->size;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < labels->n_option; k++) {
            const char *value = labels->options[k].value;

            if (strcmp(labels->options[k].name, names[i]) != 0)
                continue;
            value += strspn(value, " ");
            attn_buffer_append_format(out, "%s%s ", out->size > n_before ? ", " : "", names[i]);
            attn_escape_append(out, value, strlen(value));
        }
    attn_buffer_append_string(out, out->size > n_before ? "; " : "");
}

void attn_grid_append_subtitle(const struct attn_grid *grid, bool is_fitted,
                               struct attn_buffer *out)
{
    const enum attn_color_span span = grid->scale.span;
    /* without a user's title, the title already names the model */
    const bool has_model = grid->title && grid->model;
    /* the legend shows all other spans */
    const bool has_scale = span != ATTN_SPAN_UNIT && (grid->run || span != ATTN_SPAN_MATRIX);

    if (has_model) {
        attn_grid_append_model(grid, out);
        attn_buffer_append_string(out, "; ");
    }
    if (grid->run && attn_site_is_of_metric(grid->matrices[0].at.site))
        append_answer(&grid->run->labels, out);
    if (has_scale && !is_fitted) {
        attn_color_scale_append(&grid->scale, out);
        attn_buffer_append_string(out, "; ");
    }
    if (grid->note)
        attn_buffer_append_format(out, "%s; ", grid->note);
}

void attn_grid_append_sentence(const struct attn_grid *grid, int i, struct attn_buffer *out)
{
    const struct attn_figure_text *text = &grid->texts[i];

    if (grid->run && i == 0 && !grid->run->labels.axes) /* labels of arrays are not a text */
        attn_labels_append_text(&grid->run->labels, out);
    if (!text->text)
        return;
    if (text->name)
        attn_buffer_append_format(out, "%s: ", text->name);
    attn_escape_append(out, text->text, text->n);
}

/* Returns the name of a site in print: in words for some sites. */
static const char *words_of(enum attn_site site)
{
    static const char *const words[ATTN_N_SITE] = {
        [ATTN_SITE_ATTN_SCORES] = "score",
        [ATTN_SITE_PATTERN_GRAD] = "gradient of the weight",
        [ATTN_SITE_PATTERN_X_GRAD] = "weight times its gradient",
        [ATTN_SITE_WEIGHTED_PATTERN] = "weight times length of the value",
        [ATTN_SITE_VALUE_ZEROING] = "change without the value, %",
        [ATTN_SITE_ROLLOUT] = "rollout, %"};

    return words[site] ? words[site] : attn_site_name(site);
}

const char *attn_grid_quantity(const struct attn_grid *grid, bool is_percent, bool is_printed)
{
    const enum attn_site site = grid->matrices[0].at.site;
    const bool is_map = grid->backdrop && grid->backdrop->is_in_text;

    if (!grid->run)
        return grid->quantity ? grid->quantity : grid->name;
    if (is_map && grid->backdrop->is_ratio)
        return "ratio of weights";
    if (site != ATTN_SITE_PATTERN && !is_map)
        return is_printed ? words_of(site) : grid->name;
    if (is_map && grid->backdrop->neutral)
        return is_percent ? "difference of weights, %" : "difference of weights";
    return is_percent ? "weight, %" : "weight";
}

void attn_grid_append_position(const struct attn_backdrop *backdrop,
                               const struct attn_token_texts *texts, size_t i,
                               struct attn_buffer *out)
{
    size_t n;

    if (texts && texts->n > i) {
        const char *text = attn_token_text(texts, i, &n);

        attn_text_append_label(out, text, n, LABEL_COLUMNS, ATTN_ELLIPSIS);
    } else if (backdrop->is_in_text) {
        attn_buffer_append_format(out, "%zu", i);
    } else if (i < backdrop->n_front) {
        attn_buffer_append_format(out, i == 0 ? "[CLS]" : "[REG%zu]", i - 1);
    } else {
        i -= backdrop->n_front;
        attn_buffer_append_format(out, "%zu,%zu", i / backdrop->n_col, i % backdrop->n_col);
    }
}

void attn_grid_append_layer(struct attn_buffer *out, const struct attn_location *at)
{
    attn_buffer_append_format(out, "%s%s%d", attn_model_stack_name(at->stack),
                              at->stack != ATTN_STACK_ONLY ? " " : "", at->layer);
}

size_t attn_grid_number(const struct attn_grid *grid, float value, char text[ATTN_FIXED_TEXT_SIZE])
{
    const size_t n = attn_float_text_fixed(value, grid->digits, text);

    if (text[0] != '-' || strspn(text + 1, "0.") < n - 1)
        return n;
    memmove(text, text + 1, n - 1); /* removes the sign of -0.0 */
    return n - 1;
}

const char *attn_grid_cell_text(const struct attn_grid *grid, size_t i, size_t *n)
{
    const char *text = attn_token_text(grid->cells, i, n);

    for (; *n > 1 && *text == ' '; --*n)
        text++;
    return text;
}

/* Returns the largest of 1, 2, 2.5 and 5 times a power of ten that is at most SIZE. */
static double round_down(double size)
{
    static const double steps[] = {5, 2.5, 2, 1};
    const double power = attn_pow(10, floor(attn_log10(size)));

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power <= size * (1 + 1e-9))
            return steps[i] * power;
    return power;
}

size_t attn_round_ticks(double low, double high, double ticks[ATTN_MOST_TICKS])
{
    const double step = high > low ? round_down((high - low) / 3) : 0;
    double first;
    size_t n = 0;

    if (!(step > 0) || !isfinite(high - low))
        return 0;
    first = ceil(low / step - 1e-9);
    while (n < ATTN_MOST_TICKS && (first + (double)n) * step <= high + 1e-9 * step) {
        ticks[n] = (first + (double)n) * step + 0.0; /* + 0.0 turns -0 into 0 */
        n++;
    }
    return n;
}

size_t attn_grid_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                       double ticks[ATTN_MOST_TICKS])
{
    const bool is_unit = range.high == 1 && (range.low == 0 || range.low == -1);
    size_t n;

    if (scale->curve == ATTN_CURVE_LINEAR)
        return attn_round_ticks(range.low, range.high, ticks);
    n = attn_color_ticks(scale, range, ticks);
    for (size_t i = 0; !is_unit && i < n; i++)
        if (ticks[i] != 0)
            ticks[i] = copysign(round_down(fabs(ticks[i])), ticks[i]);
    return n;
}
