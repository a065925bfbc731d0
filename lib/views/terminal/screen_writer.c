/*
 * screen_writer.c - the first screen of a run: its tokens; then one head with its numbers; and
 * last, so that a short terminal shows them, all heads as thumbnails, if they fit. The one head is
 * a good one to start with (head_mix.h); with a source, the one that looks most at a token within
 * the source. For a model of one or two heads all heads are drawn with numbers instead. At most 60
 * lines, unless the terminal is narrow or the model has more layers. Of a picture in a text only
 * the words are printed: figures and pages show heads over it.
 *
 * The head is chosen when the run is over. Until then all patterns are kept, pooled to the width of
 * a line, and the part of each head's context vectors that the table would show.
 */
#include "tensors/labels_internal.h"
#include "terminal/answer_lines.h"
#include "terminal/heatmap_internal.h"
#include "terminal/panel_table.h"

#include "base/memory.h"
#include "base/text/escape.h"
#include "base/text/fixed_text.h"
#include "base/text/path.h"
#include "figures/table_axis.h"
#include "measures/head_mix.h"
#include "pictures/picture_internal.h"
#include "tables/table_internal.h"
#include "tables/table_writer.h"
#include "tables/text_table.h"
#include "tensors/writer.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_LINES = 60,
    MOST_TOKEN_LINES = 4,
    MOST_TOKEN = 14,      /* columns of a predicted token */
    MOST_ROWS = 16,       /* maximum rows of numbers, and of context vectors */
    MOST_HALF_LINES = 24, /* maximum lines of half blocks: 48 rows */
    LEAST_HALF_LINES = 5,
    LEAST_VECTOR_LINES = 5, /* two rows at each end, and "..." */
    LEAST_COMPONENT = 7,    /* columns of a component: " -0.92" */
    MOST_HEADS = 2,         /* models with at most this many heads show them all */
    MOST_LOOKS = 8          /* heads that are listed if no thumbnails fit */
};

struct screen_writer {
    struct attn_writer base;
    struct attn_heatmap map;
    struct attn_panel_table table;
    struct attn_levels *levels; /* owns; the patterns */
    struct attn_thumbnails thumbnails;
    struct attn_measure_group measures;
    struct attn_text_limits limits;
    struct attn_text_panels *vectors; /* [n_layer] owns; the context vectors (z) */
    enum attn_site site;              /* the site of the matrices */
    struct attn_buffer next;          /* owns; the line of predicted tokens; may be empty */
    size_t n_token_line;
    bool has_gap;   /* an empty line precedes the last line */
    bool has_cross; /* some matrices have the keys of the source */
    bool has_words; /* there is a picture in the text, and no matrix */
};

/* The matrix that is drawn, and why: its weight on KEY from the last token, or its measure
 * `far`. */
struct chosen {
    const struct attn_level_matrix *matrix;
    double far;
    size_t key; /* 0: none */
};

static bool has_all_heads(const struct screen_writer *w)
{
    return w->levels->n <= MOST_HEADS;
}

static bool is_cross(const struct screen_writer *w, const struct attn_level_matrix *matrix)
{
    const struct attn_dims *dims = attn_selection_dims(w->base.labels.selection);

    return attn_location_is_cross(dims, &matrix->at);
}

/* Returns true if MATRIX is a candidate for the one that is drawn. With a source, only
 * cross-attention is. */
static bool may_be_drawn(const struct screen_writer *w, const struct attn_level_matrix *matrix)
{
    return has_all_heads(w) || !w->has_cross || is_cross(w, matrix);
}

static bool has_sinks(const struct screen_writer *w)
{
    const struct attn_dims *dims = attn_selection_dims(w->base.labels.selection);

    return attn_sites_have(dims->sites, ATTN_SITE_SINK);
}

/* Returns a head's mean weight on attention sinks, or that of all heads; 0 before that is known. */
static double find_sink(const struct screen_writer *w, const struct attn_location *at)
{
    return w->measures.n == 0 ? 0 : attn_measure_group_find(&w->measures, ATTN_MEASURE_SINK, at);
}

/* Returns true if the heads that look hardest are listed: no thumbnails fit, and no parts of an
 * answer are known. Call after the thumbnails are planned. */
static bool has_looks(const struct screen_writer *w)
{
    return !w->base.options.picture->answer && w->base.options.mixes && !has_all_heads(w) &&
           w->thumbnails.map && w->thumbnails.n_line == 0;
}

static bool has_vectors(const struct screen_writer *w)
{
    return !w->base.options.picture->answer &&
           attn_selection_has_site(w->base.labels.selection, ATTN_SITE_Z);
}

/* --- Words ------------------------------------------------------------------------------------ */

/* Appends the sizes of a text with a picture: "878 positions: picture 832 in 3 x 4 tiles and the
 * whole, question 8, other 38". */
static void append_regions(struct screen_writer *w)
{
    static const enum attn_region order[] = {ATTN_REGION_PICTURE, ATTN_REGION_QUESTION,
                                             ATTN_REGION_ANSWER, ATTN_REGION_OTHER};
    const struct attn_labels *labels = &w->base.labels;
    const struct attn_prompt_image *image = attn_labels_prompt(labels)->images;
    struct attn_buffer *text = &w->map.label;
    size_t counts[ATTN_N_REGION] = {0};

    for (size_t i = 0; i < w->base.n_position; i++)
        counts[labels->region[i]]++;
    attn_buffer_append_format(text, "%zu positions", w->base.n_position);
    for (size_t i = 0; i < ATTN_N_REGION; i++) {
        if (counts[order[i]] == 0)
            continue;
        attn_buffer_append_format(text, "%s %s %zu", i == 0 ? ":" : ",", attn_region_name(order[i]),
                                  counts[order[i]]);
        if (i == 0 && attn_labels_prompt(labels)->n_image > 1)
            attn_buffer_append_format(text, " in %zu pictures",
                                      attn_labels_prompt(labels)->n_image);
        else if (i == 0 && image->tile_rows > 0)
            attn_buffer_append_format(text, " in %zu x %zu tiles and the whole", image->tile_rows,
                                      image->tile_cols);
    }
}

/* Prints "fable: 4 layers of 8 heads, 7 tokens"; for Llama also ", 1 added by the tokenizer". */
static enum attn_status end_model(struct screen_writer *w, struct attn_error *err)
{
    const struct attn_labels *labels = &w->base.labels;
    const struct attn_dims *dims = attn_selection_dims(labels->selection);
    const size_t n_added = attn_labels_n_added(labels);
    size_t n_model;

    if (labels->model) {
        const char *model = attn_path_last(labels->model, &n_model);

        attn_escape_append(&w->map.label, model, n_model);
        attn_buffer_append_string(&w->map.label, ": ");
    }
    const size_t n_layer = attn_dims_n_whole_layer(dims);

    attn_buffer_append_format(&w->map.label, "%zu layer%s of %zu head%s%s, ", n_layer,
                              n_layer == 1 ? "" : "s", dims->n_head, dims->n_head == 1 ? "" : "s",
                              attn_dims_has_stacks(dims) ? " in the decoder" : "");
    if (labels->region)
        append_regions(w);
    else
        attn_buffer_append_format(&w->map.label, "%zu %s%s", w->base.n_position,
                                  attn_heatmap_noun(&w->base), w->base.n_position == 1 ? "" : "s");
    if (n_added > 0)
        attn_buffer_append_format(&w->map.label, ", %zu added by the tokenizer", n_added);
    if (dims->mixer && dims->mixer->is_in) {
        size_t n = 0;

        for (size_t layer = 0; layer < dims->n_layer; layer++)
            n += dims->mixer->is_in[layer];
        attn_buffer_append_format(&w->map.label, "; %zu layer%s without attention: `sites mixing`",
                                  n, n == 1 ? "" : "s");
        attn_picture_name_fields(w->base.options.picture, &w->map.label);
    }
    if (attn_sites_have(dims->sites, ATTN_SITE_POOL_PATTERN)) {
        attn_buffer_append_string(&w->map.label, "; pooled by one query: `sites pool_pattern`");
        attn_picture_name_fields(w->base.options.picture, &w->map.label);
    }
    return attn_heatmap_end_text(&w->map, 1, err);
}

/* Returns the position whose row is shown first: the mask, or the last that the text itself has. */
static size_t shown_first(const struct screen_writer *w)
{
    const struct attn_labels *labels = &w->base.labels;

    return labels->mask ? *labels->mask : w->base.n_position - 1 - labels->n_back;
}

/* Appends why the head of CHOSEN was chosen: "(of all, it looks farthest: far 0.53". */
static void append_reason(struct screen_writer *w, const struct chosen *chosen, char *note,
                          size_t size, size_t *used)
{
    const struct attn_labels *labels = &w->base.labels;
    const bool is_of_source = is_cross(w, chosen->matrix);

    if (chosen->key > 0 && !labels->mask && labels->n_back == 0)
        attn_fixed_text_append(
            note, size, used, "(last token%s: %.2f on %zu",
            attn_first_head_of(w->base.options.picture->answer, &chosen->matrix->at, 0) < 1
                ? " looks hardest"
                : "",
            chosen->far, chosen->key);
    else if (chosen->key > 0)
        attn_fixed_text_append(note, size, used, "(token %zu looks hardest: %.2f on %zu",
                               shown_first(w), chosen->far, chosen->key);
    else if (chosen->far > 0)
        attn_fixed_text_append(note, size, used, "(%s: far %.2f",
                               is_of_source
                                   ? "of all cross heads, it looks hardest within the source"
                                   : "of all, it looks farthest",
                               chosen->far);
    else
        attn_fixed_text_append(
            note, size, used, "(no %shead looks beyond %s", is_of_source ? "cross " : "",
            is_of_source ? "the ends of the source" : "the first, the previous and its own token");
}

/* Prints the name of the matrix, "layer 3, head 0: pattern, in percent (of all, it looks farthest:
 * far 0.53; 0.31 on its sink, 0.40 on average)", on one or two lines. */
static enum attn_status end_name(struct screen_writer *w, const struct chosen *chosen,
                                 struct attn_error *err)
{
    const struct attn_level_matrix *matrix = chosen->matrix;
    struct attn_heatmap *map = &w->map;
    const struct attn_location all = {.layer = ATTN_ALL_LAYERS, .head = ATTN_ALL_HEADS};
    char note[160] = "";
    size_t size = 0;

    if (!has_all_heads(w) && !w->thumbnails.is_lone)
        append_reason(w, chosen, note, sizeof note, &size);
    if (has_sinks(w))
        attn_fixed_text_append(note, sizeof note, &size, "%s%.2f on its sink, %.2f on average",
                               size > 0 ? "; " : "(", find_sink(w, &matrix->at),
                               find_sink(w, &all));
    attn_fixed_text_append(note, sizeof note, &size, size > 0 ? ")" : "");
    attn_heatmap_append_title(map, matrix);
    if (*note && attn_text_width(map->label.data, map->label.size) + 1 + strlen(note) > map->width)
        ATTN_TRY(attn_heatmap_end_text(map, 1, err));
    else
        attn_buffer_append_string(&map->label, *note ? " " : "");
    attn_buffer_append_string(&map->label, note);
    return attn_heatmap_end_text(map, 1, err);
}

/* Prints what to call next: "heads 3.2: another head html FILE: all, in a browser csv DIR:
 * numbers", with the name of each command or option. */
static enum attn_status end_next(struct screen_writer *w, const struct attn_level_matrix *matrix,
                                 struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(w->base.labels.selection);
    const int n_head = (int)dims->n_head, step = n_head > 2 ? 2 : 1;
    const int n_layer = (int)attn_dims_n_whole_layer(dims);
    const bool has_stack = matrix->at.stack != ATTN_STACK_ONLY;
    const char *gap = dims->n_layer > 10 || n_head > 10 || has_stack ? "  " : "   ";
    const struct attn_table *answer = w->base.options.picture->answer;
    struct attn_location next = matrix->at;
    double least = 0;

    next.layer = (next.layer + (n_head == 1)) % n_layer;
    next.head = (next.head + step) % n_head;
    for (size_t i = 0; answer && i < attn_table_n_row(answer); i++) {
        const struct attn_cell part = attn_table_cell(answer, i, 0);
        const double writes = attn_table_cell(answer, i, attn_table_find(answer, "writes")).real;

        if (writes < least && sscanf(part.text, "%d.%d", &next.layer, &next.head) == 2)
            least = writes; /* the largest head against */
    }
    if (w->levels->n > 1)
        attn_buffer_append_format(&w->map.label, "`heads %s`: %s%s", attn_location_name(&next).text,
                                  has_all_heads(w) ? "one head"
                                  : has_stack      ? "another"
                                                   : "another head",
                                  gap);
    attn_buffer_append_format(&w->map.label, "`html FILE`: all, in a browser%s`csv DIR`: numbers",
                              gap);
    attn_picture_name_fields(w->base.options.picture, &w->map.label);
    return attn_heatmap_end_text(&w->map, 2, err);
}

/* Prints what to call next for a picture in a text. */
static enum attn_status end_next_of_picture(struct screen_writer *w, struct attn_error *err)
{
    attn_buffer_append_string(&w->map.label,
                              "`png FILE`: where the heads look   `html FILE`: all, in a browser   "
                              "`csv DIR`: numbers");
    attn_picture_name_fields(w->base.options.picture, &w->map.label);
    return attn_heatmap_end_text(&w->map, 2, err);
}

/* --- Opening --------------------------------------------------------------------------------- */

/* Returns the lines of the tallest candidate matrix with its header, if half blocks may use at most
 * MOST_LINES. */
static size_t matrix_lines(struct screen_writer *w, bool has_numbers, size_t most_lines)
{
    size_t most = 0;

    w->map.most_number_rows = has_numbers ? MOST_ROWS : 0;
    attn_levels_limit(w->levels, 2 * most_lines, attn_heatmap_most_columns(&w->base));
    for (size_t i = 0; i < w->levels->n; i++) {
        const struct attn_level_matrix *m = &w->levels->items[i];
        size_t n;

        /* matrices of one layer have equal sizes: the first is enough */
        if (!may_be_drawn(w, m) ||
            (i > 0 && m->at.stack == m[-1].at.stack && m->at.layer == m[-1].at.layer))
            continue;
        attn_heatmap_begin_count(&w->map);
        attn_heatmap_draw(&w->map, m, NULL);
        n = attn_heatmap_end_count(&w->map);
        most = n > most ? n : most;
    }
    return most;
}

/* Returns the lines of the list of heads: an empty one, a title and a header before its rows. */
static size_t list_lines(const struct screen_writer *w)
{
    const struct attn_table *answer = w->base.options.picture->answer;

    return answer ? 3 + attn_table_n_row(answer) : has_looks(w) ? 3 + MOST_LOOKS : 0;
}

/* Returns the lines of all parts with a fixed height, including two above the context vectors. */
static size_t fixed_lines(struct screen_writer *w, size_t n_head)
{
    enum { N_ABOVE_VECTORS = 3, N_ABOVE_HEADS = 1 }; /* each an empty line, too */
    const struct attn_level_matrix *last = &w->levels->items[w->levels->n - 1];
    size_t n_name;

    while (!may_be_drawn(w, last))
        last--;
    attn_heatmap_begin_count(&w->map);
    end_name(w, &(struct chosen){last, 0.5, w->base.options.mixes ? w->base.n_position : 0}, NULL);
    n_name = w->map.n_line;
    end_model(w, NULL);
    if (w->base.options.picture->name_fields)
        end_next(w, last, NULL);
    return attn_heatmap_end_count(&w->map) + w->base.options.has_predictions +
           n_head * (1 + n_name + (has_vectors(w) ? N_ABOVE_VECTORS : 0)) + N_ABOVE_HEADS - n_name +
           list_lines(w);
}

/* Distributes LEFT lines over the matrices of N_HEAD heads, the tokens and the vectors. */
static void share(struct screen_writer *w, size_t n_head, size_t left)
{
    const size_t n_position = w->base.n_position;
    const struct attn_grid_axis tokens = attn_heatmap_axis(&w->map.tokens[0]);
    const size_t least = n_position < LEAST_VECTOR_LINES ? n_position : LEAST_VECTOR_LINES;
    const size_t reserved = (tokens.n > 0) + (has_vectors(w) ? n_head * least : 0);
    size_t n_line = MOST_HALF_LINES, n_token;

    left = left > reserved ? left - reserved : 0;
    if (n_head * matrix_lines(w, true, n_line) > left)
        while (n_line > LEAST_HALF_LINES && n_head * matrix_lines(w, false, n_line) > left)
            n_line--;
    n_line = n_head * matrix_lines(w, w->map.most_number_rows > 0, n_line);
    left = left > n_line ? left - n_line : 0;
    attn_heatmap_begin_count(&w->map);
    attn_heatmap_draw_items(&w->map, &tokens, "", MOST_TOKEN_LINES, NULL);
    n_token = attn_heatmap_end_count(&w->map);
    w->n_token_line = n_token > 1 + left ? 1 + left : n_token;
    left -= w->n_token_line > 1 ? w->n_token_line - 1 : 0;
    w->has_gap = left > 0;
    left = least + (left > 0 ? (left - 1) / n_head : 0);
    w->limits = (struct attn_text_limits){left < n_position ? left - 1 : left, 0};
    if (w->limits.positions > MOST_ROWS)
        w->limits.positions = MOST_ROWS;
    w->limits.components = w->map.width / LEAST_COMPONENT;
}

/* Plans all sizes: thumbnails first, then the matrix, tokens, and context vectors. */
static enum attn_status plan(struct screen_writer *w, struct attn_error *err)
{
    const size_t n_head = has_all_heads(w) ? w->levels->n : 1, n_position = w->base.n_position;
    const size_t fixed = fixed_lines(w, n_head);
    const size_t least = fixed + (w->map.tokens[0].n > 0) +
                         matrix_lines(w, false, LEAST_HALF_LINES) +
                         (!has_vectors(w)                   ? 0
                          : n_position < LEAST_VECTOR_LINES ? n_position
                                                            : LEAST_VECTOR_LINES);
    size_t used = fixed + 1; /* the legend takes one line */

    if (!has_all_heads(w)) {
        ATTN_TRY(attn_thumbnails_plan(&w->thumbnails, &w->map, w->levels, w->site,
                                      MOST_LINES > least ? MOST_LINES - least : 1, err));
        used = fixed + w->thumbnails.n_line + (has_looks(w) ? list_lines(w) : 0);
    }
    share(w, n_head, MOST_LINES > used ? MOST_LINES - used : 0);
    return ATTN_OK;
}

static enum attn_status open_screen(struct attn_writer *writer, struct attn_error *err)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    const struct attn_selection *selection = writer->labels.selection;
    const struct attn_metric_settings settings = {.ids = writer->labels.ids};
    const struct attn_site_set sites = attn_levels_sites(writer);

    ATTN_TRY(attn_heatmap_init(&w->map, writer, true, err));
    w->has_words = writer->labels.seen != NULL;
    if (w->has_words)
        return ATTN_OK;
    w->site =
        attn_sites_have(sites, ATTN_SITE_PATTERN) ? ATTN_SITE_PATTERN : ATTN_SITE_PATTERN_LOWRANK;
    w->table.map = &w->map;
    ATTN_TRY(attn_levels_create(writer, ATTN_SITES(w->site), &w->levels, err));
    if (w->levels->n == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the first screen draws patterns, and none is selected");
    w->levels->leaves_out_first = true;
    for (size_t i = 0; i < w->levels->n; i++)
        w->has_cross |= is_cross(w, &w->levels->items[i]);
    ATTN_TRY(plan(w, err));
    ATTN_TRY(attn_measure_group_create(ATTN_MEASURE_BIT(ATTN_MEASURE_FAR) |
                                           (has_sinks(w) ? ATTN_MEASURE_BIT(ATTN_MEASURE_SINK) : 0),
                                       &settings, selection, writer->options.pool, &w->measures,
                                       err));
    return ATTN_ALLOC(w->vectors, attn_selection_dims(selection)->n_layer, err);
}

static enum attn_status event_screen(struct attn_writer *writer,
                                     const struct attn_trace_event *event,
                                     const struct attn_place *place, struct attn_error *err)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    size_t whole; /* lines of the thumbnails if all heads are drawn */

    if (w->has_words)
        return ATTN_OK;
    if (event->at.site == ATTN_SITE_Z) {
        const struct attn_text_panel shape = attn_text_panel_of(event, place, &w->limits);

        return attn_text_panels_keep(&w->vectors[attn_location_index(&event->at)], &shape, event,
                                     place, err);
    }
    /* the last measure, far or sink, reads all keys, and so runs on all threads */
    if (event->at.site == ATTN_SITE_PATTERN) {
        attn_measurements_add(w->measures.items, w->measures.n - 1, event);
        attn_measurement_add(w->measures.items[w->measures.n - 1], event);
    }
    attn_thumbnails_take(&w->thumbnails, event, place);
    return attn_levels_take(w->levels, event, place, &whole, err);
}

/* Writes the line of predictions, "next: are 0.25 were 0.20", with as many tokens as fit. */
static enum attn_status predictions_screen(struct attn_writer *writer,
                                           const struct attn_predictions *predictions,
                                           struct attn_error *err)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    struct attn_buffer *label = &w->map.label, text = {0};
    size_t used = strlen("next:");

    attn_buffer_append_string(&w->next, "next:");
    for (size_t i = 0; i < predictions->n_top; i++) {
        const struct attn_candidate *top = &predictions->top[i];
        char number[16];
        const int n = top->prob < 0.005 ? snprintf(number, sizeof number, " <0.01")
                                        : snprintf(number, sizeof number, " %.2f", top->prob);

        text.size = label->size = 0;
        if (top->token)
            attn_escape_append(&text, top->token, top->token_size);
        else
            attn_buffer_append_format(&text, "id %d", (int)top->id);
        attn_text_append_label(label, attn_buffer_string(&text), text.size, MOST_TOKEN,
                               attn_heatmap_ellipsis(&w->map));
        used += 2 + attn_heatmap_end_label(&w->map, 0) + (size_t)n;
        if (used > w->map.width)
            break;
        attn_buffer_append_string(&w->next, "  ");
        attn_buffer_append(&w->next, label->data, label->size);
        attn_buffer_append(&w->next, number, (size_t)n);
    }
    label->size = 0;
    w->next.has_failed |= text.has_failed;
    attn_buffer_release(&text);
    return attn_buffer_check(&w->next, err);
}

/* --- Printing -------------------------------------------------------------------------------- */

/* Returns the largest weight beside parks that MATRIX has from the token before the next word, and
 * its *KEY; 0: it is not known, or not drawn. */
static double find_look(const struct screen_writer *w, const struct attn_level_matrix *matrix,
                        size_t *key)
{
    struct attn_head_mixes *mixes = w->base.options.mixes ? w->base.options.mixes[0] : NULL;
    struct attn_head_mix mix;

    if (!mixes || w->has_cross || matrix->at.site != ATTN_SITE_PATTERN || !may_be_drawn(w, matrix))
        return 0;
    attn_head_mixes_find(mixes, &matrix->at, &mix); /* finds the parks, too */
    return attn_first_head_look(mixes, &matrix->at, key);
}

/* Chooses the head that opens best (head_mix.h); the first one in a tie. */
static struct chosen choose_look(const struct screen_writer *w)
{
    struct chosen chosen = {NULL, 0, 0};
    double most = 0;

    for (size_t i = 0; i < w->levels->n; i++) {
        const struct attn_level_matrix *m = &w->levels->items[i];
        size_t key = 0;
        const double weight = find_look(w, m, &key);
        const double rank = attn_first_head_of(w->base.options.picture->answer, &m->at, weight);

        if (weight > 0 && rank > most) {
            chosen = (struct chosen){.matrix = m, .far = weight, .key = key};
            most = rank;
        }
    }
    return chosen;
}

/* Returns the measure `far` of MATRIX; 0: it is not drawn. */
static double find_far(const struct screen_writer *w, const struct attn_level_matrix *matrix)
{
    return may_be_drawn(w, matrix)
               ? attn_measure_group_find(&w->measures, ATTN_MEASURE_FAR, &matrix->at)
               : 0;
}

/* Chooses the head with the largest measure `far`; the first one in a tie. */
static struct chosen choose(const struct screen_writer *w)
{
    struct chosen chosen = choose_look(w);

    if (chosen.matrix)
        return chosen;

    for (size_t i = 0; i < w->levels->n; i++) {
        const struct attn_level_matrix *m = &w->levels->items[i];

        if (!may_be_drawn(w, m))
            continue;
        const double far = find_far(w, m);

        chosen.matrix = !chosen.matrix || far > chosen.far ? m : chosen.matrix;
        chosen.far = far > chosen.far ? far : chosen.far;
    }
    return chosen;
}

/* Draws one head: its pattern, and its context vectors if they are selected. */
static enum attn_status draw_head(struct screen_writer *w, const struct chosen *chosen,
                                  struct attn_error *err)
{
    const struct attn_level_matrix *matrix = chosen->matrix;
    const struct attn_location z = {matrix->at.stack, matrix->at.layer, matrix->at.head,
                                    ATTN_SITE_Z};
    const struct attn_text_panel *panel =
        has_vectors(w) ? attn_text_panels_find(&w->vectors[attn_location_index(&z)], &z, 0) : NULL;

    attn_sink_write(w->base.sink, "\n", 1);
    ATTN_TRY(end_name(w, chosen, err));
    ATTN_TRY(attn_heatmap_draw(&w->map, matrix, err));
    if (!panel)
        return ATTN_OK;
    attn_sink_write(w->base.sink, "\n", 1);
    attn_matrix_name_append(&w->base, &z, 0, &w->map.label);
    attn_buffer_append_string(&w->map.label, ", the context vectors");
    ATTN_TRY(attn_heatmap_end_text(&w->map, 1, err));
    return attn_panel_table_write(&w->table, panel, w->map.width, w->base.sink, err);
}

/* Finds the heads that look hardest at one word, as choose compares them, the hardest first.
 * Returns how many. */
static size_t find_looks(const struct screen_writer *w, struct chosen looks[MOST_LOOKS])
{
    size_t n = 0;

    for (size_t i = 0; i < w->levels->n; i++) {
        struct chosen look = {.matrix = &w->levels->items[i]};
        size_t at = n;

        look.far = w->has_cross ? find_far(w, look.matrix) : find_look(w, look.matrix, &look.key);
        while (at > 0 && look.far > looks[at - 1].far)
            at--;
        if (look.far <= 0 || at == MOST_LOOKS)
            continue;
        n += n < MOST_LOOKS;
        memmove(looks + at + 1, looks + at, (n - 1 - at) * sizeof *looks);
        looks[at] = look;
    }
    return n;
}

/* Adds the row of LOOK: its weight on the key, or with a source its `far` alone. */
static void add_look(struct screen_writer *w, const struct chosen *look)
{
    const struct attn_labels *labels = &w->base.labels;
    struct attn_text_table *table = &w->table.table;
    struct attn_buffer *token = &w->map.label;

    attn_text_table_string(table, attn_location_name(&look->matrix->at).text);
    if (!w->has_cross) {
        attn_text_table_number(table, look->key);
        if (labels->tokens)
            attn_table_append_label(token, labels->tokens[look->key],
                                    labels->token_sizes[look->key], MOST_TOKEN);
        attn_text_table_cell(table, token->size > 0 ? token->data : "-",
                             token->size > 0 ? token->size : 1);
        token->size = 0;
    }
    attn_text_table_format(table, "%.2f", look->far);
    attn_text_table_end_row(table);
}

static enum attn_status draw_looks(struct screen_writer *w, struct attn_error *err)
{
    static const char *const headers[2][5] = {{"part", "position", "token", "weight", NULL},
                                              {"part", "far", NULL}};
    struct attn_text_table *table = &w->table.table;
    struct chosen looks[MOST_LOOKS];

    attn_text_table_begin(table, w->has_cross ? 2 : 4);
    attn_text_table_flush_left(table, 0);
    if (!w->has_cross)
        attn_text_table_flush_left(table, 2);
    for (const char *const *header = headers[w->has_cross]; *header; header++)
        attn_text_table_string(table, *header);
    attn_text_table_end_row(table);
    for (size_t i = 0, n = find_looks(w, looks); i < n; i++)
        add_look(w, &looks[i]);
    attn_sink_write(w->base.sink, "\n", 1);
    if (w->has_cross)
        attn_buffer_append_string(&w->map.label,
                                  "the cross heads that look hardest within the source");
    else
        attn_buffer_append_format(&w->map.label, "the heads that look hardest from token %zu",
                                  shown_first(w));
    ATTN_TRY(attn_heatmap_end_text(&w->map, 1, err));
    return attn_text_table_write(table, w->base.sink, err);
}

static enum attn_status draw_all_heads(struct screen_writer *w, struct attn_error *err)
{
    if (has_all_heads(w) && attn_heatmap_has_numbers(&w->map, &w->levels->items[0]))
        return ATTN_OK;
    if (!has_all_heads(w) && w->thumbnails.n_line == 0)
        return ATTN_OK;
    attn_sink_write(w->base.sink, "\n", 1);
    if (has_all_heads(w))
        return attn_heatmap_legend(&w->map, &w->levels->items[0], err);
    return attn_thumbnails_draw(&w->thumbnails, err);
}

/* Prints the model, the tokens in at most MOST_LINES lines, and the predictions. */
static enum attn_status draw_words(struct screen_writer *w, size_t most_lines,
                                   struct attn_error *err)
{
    const struct attn_grid_axis tokens = attn_heatmap_axis(&w->map.tokens[0]);

    ATTN_TRY(end_model(w, err));
    if (tokens.n > 0)
        ATTN_TRY(attn_heatmap_draw_items(&w->map, &tokens, "", most_lines, err));
    if (w->next.size > 0) {
        attn_buffer_append(&w->map.label, w->next.data, w->next.size);
        ATTN_TRY(attn_heatmap_end_line(&w->map, err));
    }
    return ATTN_OK;
}

static enum attn_status finish_screen(struct attn_writer *writer, struct attn_error *err)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    struct chosen chosen;

    if (w->has_words) {
        ATTN_TRY(draw_words(w, MOST_TOKEN_LINES, err));
        return writer->options.picture->name_fields ? end_next_of_picture(w, err) : ATTN_OK;
    }
    chosen = choose(w);
    assert(chosen.matrix);
    ATTN_TRY(draw_words(w, w->n_token_line, err));
    for (size_t i = 0; has_all_heads(w) && i < w->levels->n; i++)
        ATTN_TRY(draw_head(w, &(struct chosen){&w->levels->items[i], chosen.far, chosen.key}, err));
    if (!has_all_heads(w))
        ATTN_TRY(draw_head(w, &chosen, err));
    if (has_looks(w))
        ATTN_TRY(draw_looks(w, err));
    ATTN_TRY(draw_all_heads(w, err));
    if (writer->options.picture->answer) {
        attn_sink_write(w->base.sink, "\n", 1);
        ATTN_TRY(
            attn_answer_lines(writer->options.picture->answer, w->map.width, w->base.sink, err));
    }
    if (writer->options.picture->name_fields) {
        if (w->has_gap)
            attn_sink_write(w->base.sink, "\n", 1);
        ATTN_TRY(end_next(w, chosen.matrix, err));
    }
    return attn_buffer_check(&w->map.label, err);
}

static void release_screen(struct attn_writer *writer)
{
    struct screen_writer *w = (struct screen_writer *)writer;
    const size_t n_layer = attn_selection_dims(writer->labels.selection)->n_layer;

    for (size_t i = 0; w->vectors && i < n_layer; i++)
        attn_text_panels_release(&w->vectors[i]);
    attn_free(w->vectors);
    attn_heatmap_release(&w->map);
    attn_text_table_release(&w->table.table);
    attn_thumbnails_release(&w->thumbnails);
    attn_levels_free(w->levels);
    attn_measure_group_release(&w->measures);
    attn_buffer_release(&w->next);
}

const struct attn_format attn_screen_format = {
    .name = "screen",
    .medium = ATTN_MEDIUM_SCREEN,
    .title = "screen",
    .is_picture = true,
    .has_predictions = true,
    .shows_types = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct screen_writer),
            .open = open_screen,
            .event = event_screen,
            .predictions = predictions_screen,
            .finish = finish_screen,
            .release = release_screen,
        },
};
