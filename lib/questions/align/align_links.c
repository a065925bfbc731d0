/* align_links.c - links between words, from the weights of heads or from hidden states; and their
 * scores (align_extra.h). */
#include "align/align_internal.h"

#include "align/align_extra.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "means/rows.h"
#include "measures/decompose.h"
#include "measures/links.h"
#include "measures/parks.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct attn_location attn_align_at(const struct attn_align_run *align, size_t layer, int head)
{
    const struct attn_dims dims = attn_config_dims(align->frame.config, 1);
    struct attn_location at = attn_layer_at(&dims, ATTN_SITE_PATTERN, layer);

    at.head = head;
    return at;
}

bool attn_align_uses(const struct attn_align_run *align, const struct attn_location *at)
{
    const struct attn_dims *dims = attn_selection_dims(align->heads);

    return align->layers[attn_location_index(at)] && attn_selection_has_head(align->heads, at) &&
           (align->kind != ATTN_ALIGN_CROSS || attn_location_is_cross(dims, at));
}

/* --- Weights between words -------------------------------------------------------------------- */

const float *attn_align_weights(const struct attn_align_run *align, const float *pattern, size_t t,
                                size_t n_key)
{
    const float *weights = pattern + t * n_key;
    double left = 0;

    if (align->kind != ATTN_ALIGN_ATTENTION)
        return weights;
    for (size_t key = 0; key < n_key; key++) {
        align->row[key] = attn_parks_has(align->parks[0], key) ? 0 : weights[key];
        left += (double)align->row[key];
    }
    for (size_t key = 0; key < n_key && left > 0; key++)
        align->row[key] = (float)((double)align->row[key] / left);
    return align->row;
}

/* Adds FACTOR times the weights of the head AT to x. IS_BEFORE: a token's row is that of the token
 * before it. */
static void add_weights(struct attn_align_run *align, const struct attn_location *at, double factor)
{
    const size_t before = align->args->is_shifted;
    const struct attn_text_words *source = &align->sides[0].words, *text = &align->sides[1].words;
    const struct attn_run *run = align->frame.run;
    const size_t n_key =
        align->kind == ATTN_ALIGN_CROSS ? attn_asked_source(run)->n : attn_asked_n(run);
    const float *pattern = attn_capture_head(align->frame.capture, at);

    for (size_t t = 0; t < attn_asked_n(run); t++) {
        const size_t word = text->of[t];
        const float *weights;
        size_t n_row = 0;

        for (size_t k = before; word != SIZE_MAX && k < attn_asked_n(run); k++)
            n_row += text->of[k] == word;
        if (word == SIZE_MAX || t < before)
            continue;
        weights = attn_align_weights(align, pattern, t - before, n_key);
        for (size_t key = 0; key < n_key; key++)
            if (source->of[key] != SIZE_MAX)
                align->x[source->of[key] * text->n + word] +=
                    factor * (double)weights[key] / (double)n_row;
    }
}

/* Links each word of the text to the source word with the largest weight. */
static void link_words(struct attn_align_run *align)
{
    const size_t m = align->sides[0].words.n, n = align->sides[1].words.n;

    memset(align->links, 0, m * n);
    for (size_t j = 0; j < n; j++) {
        size_t best = 0;

        for (size_t i = 1; i < m; i++)
            best = align->x[i * n + j] > align->x[best * n + j] ? i : best;
        align->links[best * n + j] = align->x[best * n + j] > 0;
    }
}

void attn_align_by_heads(struct attn_align_run *align, int first, int last, int head)
{
    const struct attn_config *config = align->frame.config;
    size_t n_head = 0;

    memset(align->x, 0, align->sides[0].words.n * align->sides[1].words.n * sizeof *align->x);
    for (int pass = 0; pass < 2; pass++)
        for (int layer = first; layer <= last; layer++)
            for (int h = 0; h < (int)config->n_head; h++) {
                const struct attn_location at = attn_align_at(align, (size_t)layer, h);

                if ((head >= 0 && h != head) || !attn_align_uses(align, &at))
                    continue;
                if (pass == 0)
                    n_head++;
                else
                    add_weights(align, &at, 1 / (double)n_head);
            }
    link_words(align);
}

/* --- Hidden states ---------------------------------------------------------------------------- */

/* Sets the units of SIDE: the vectors ROWS of its tokens, or their means over words. */
static void make_units(const struct attn_align_run *align, struct attn_align_side *side,
                       size_t n_token, const float *rows)
{
    const size_t d = align->frame.config->d_model;
    const size_t *of = side->words.of;

    assert(rows && of);
    side->n_unit = 0;
    for (size_t t = 0, n = 0; t < n_token; t++) {
        const bool is_same = side->n_unit > 0 && of[t] == side->word_of[side->n_unit - 1];

        if (of[t] == SIZE_MAX)
            continue;
        if (!align->args->is_by_word || !is_same) {
            memset(side->units + side->n_unit * d, 0, d * sizeof *side->units);
            side->word_of[side->n_unit++] = of[t];
            n = 0;
        }
        n++;
        for (size_t i = 0; i < d; i++) { /* running mean */
            double *x = &side->units[(side->n_unit - 1) * d + i];

            *x += ((double)rows[t * d + i] - *x) / (double)n;
        }
    }
}

void attn_align_allocate(struct attn_align_run *align, size_t n_source, size_t n_text)
{
    const size_t n_unit = attn_size_mul(n_source, n_text), n_token[2] = {n_source, n_text};

    for (int i = 0; i < 2; i++) {
        align->sides[i].units = attn_frame_alloc(&align->frame, n_token[i],
                                                 align->frame.config->d_model * sizeof(double));
        align->sides[i].word_of = attn_frame_alloc(&align->frame, n_token[i], sizeof(size_t));
    }
    align->unit_x = attn_frame_alloc(&align->frame, n_unit, sizeof *align->unit_x);
    align->unit_links = attn_frame_alloc(&align->frame, n_unit, 1);
}

/* Links the units of both sides, and from these their words. */
static enum attn_status link_units(struct attn_align_run *align, struct attn_error *err)
{
    const struct attn_align_side *a = &align->sides[0], *b = &align->sides[1];
    const size_t d = align->frame.config->d_model, n = b->words.n, n_unit = a->n_unit * b->n_unit;
    const unsigned char *links = align->unit_links;
    const double *x = align->unit_x;

    for (size_t i = 0; i < n_unit; i++) {
        const double *u = a->units + i / b->n_unit * d, *v = b->units + i % b->n_unit * d;
        const double product = attn_dot(u, v, d);

        align->unit_x[i] = align->rule.method == ATTN_LINK_SOFTMAX
                               ? product
                               : product / sqrt(attn_dot(u, u, d) * attn_dot(v, v, d));
    }
    memset(align->unit_links, 0, n_unit);
    ATTN_TRY(
        attn_links_find(&align->rule, align->unit_x, a->n_unit, b->n_unit, align->unit_links, err));
    memset(align->links, 0, a->words.n * n);
    for (size_t i = 0; i < a->words.n * n; i++)
        align->x[i] = -(double)INFINITY;
    for (size_t i = 0; i < n_unit; i++) {
        const size_t cell = a->word_of[i / b->n_unit] * n + b->word_of[i % b->n_unit];

        if (links[i] || align->args->is_soft)
            align->x[cell] = align->x[cell] > x[i] ? align->x[cell] : x[i];
        align->links[cell] |= links[i];
    }
    return ATTN_OK;
}

enum attn_status attn_align_by_vectors(struct attn_align_run *align, int layer,
                                       struct attn_error *err)
{
    const struct attn_frame *frame = &align->frame;
    const bool is_sum = frame->config->norm_place == ATTN_NORM_SUM;
    const enum attn_site site = layer == 0 ? ATTN_SITE_RESID_PRE
                                : is_sum   ? ATTN_SITE_NORMALIZED_RESID_POST
                                           : ATTN_SITE_RESID_POST;
    const struct attn_location at = {.layer = layer == 0 ? 0 : layer - 1, .site = site};

    assert(frame->other); /* hidden states come from two runs */
    make_units(align, &align->sides[0], attn_asked_n(frame->other),
               attn_capture_tensor(align->source, &at));
    make_units(align, &align->sides[1], attn_asked_n(frame->run),
               attn_capture_tensor(frame->capture, &at));
    return link_units(align, err);
}

/* --- Scores of links -------------------------------------------------------------------------- */

enum { MOST_WORD = 4096 };

/* Raises sizes[0] and sizes[1] above the words that LINE names on each side. */
static void widen(const char *line, size_t sizes[2])
{
    for (size_t side = 0; *line; line++) {
        size_t word = 0;

        if (strchr(" \t\r", *line))
            side = 0;
        if (*line < '0' || *line > '9')
            continue;
        for (; *line >= '0' && *line <= '9'; line++)
            word = word < MOST_WORD ? 10 * word + (size_t)(*line - '0') : word;
        line--;
        sizes[side] = word < sizes[side] ? sizes[side] : word < MOST_WORD ? word + 1 : MOST_WORD;
        side = 1;
    }
}

/* Reads line I of the links and of the gold, and adds its counts. */
static enum attn_status count_line(const struct attn_link_lines lines[2], size_t i,
                                   struct attn_link_counts *counts, struct attn_error *err)
{
    size_t sizes[2] = {1, 1}, n;
    unsigned char *cells;
    enum attn_status status = ATTN_OK;

    for (int k = 0; k < 2; k++)
        widen(lines[k].items[i], sizes);
    n = sizes[0] * sizes[1];
    ATTN_TRY(ATTN_ALLOC(cells, 2 * n, err));
    for (size_t k = 0; k < 2 && status == ATTN_OK; k++) {
        struct attn_error why = {0};

        status = attn_links_read(lines[k].items[i], sizes[0], sizes[1], lines[k].is_one_based,
                                 cells + k * n, &why);
        if (status != ATTN_OK)
            attn_error_set(err, status, "line %zu of '%s': %s", i + 1,
                           attn_quote_string(lines[k].path).text, why.message);
    }
    for (size_t k = 0; k < n && status == ATTN_OK; k++)
        cells[k] = cells[k] != 0;
    if (status == ATTN_OK)
        attn_links_count(cells, cells + n, n, counts);
    attn_free(cells);
    return status;
}

static enum attn_status count(const struct attn_link_lines lines[2],
                              struct attn_link_counts *counts, struct attn_error *err)
{
    for (size_t i = 0; i < lines[0].n && i < lines[1].n; i++)
        ATTN_TRY(count_line(lines, i, counts, err));
    if (lines[0].n == lines[1].n && lines[0].n > 0)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_INVALID,
        "'%s' has %zu line%s and '%s' %zu, expected one in both for each pair of texts",
        attn_quote_string(lines[0].path).text, lines[0].n, lines[0].n == 1 ? "" : "s",
        attn_quote_string(lines[1].path).text, lines[1].n);
}

static struct attn_cell share(size_t part, size_t whole)
{
    return whole > 0 ? attn_cell_real((double)part / (double)whole) : attn_cell_missing();
}

static enum attn_status append(struct attn_table *table, size_t n,
                               const struct attn_link_counts *counts, struct attn_error *err)
{
    const size_t whole = counts->links + counts->sure;
    const struct attn_cell row[] = {attn_cell_integer((int64_t)n),
                                    attn_cell_integer((int64_t)counts->links),
                                    attn_cell_integer((int64_t)counts->sure),
                                    attn_cell_integer((int64_t)counts->possible),
                                    share(counts->hits, counts->links),
                                    share(counts->hits_sure, counts->sure),
                                    share(whole - counts->hits - counts->hits_sure, whole)};

    return attn_table_append(table, row, sizeof row / sizeof *row, err);
}

enum attn_status attn_link_scores(const char *links, const char *gold, struct attn_table **table,
                                  struct attn_error *err)
{
    struct attn_link_lines lines[2] = {{0}};
    struct attn_link_counts counts = {0};
    struct attn_table *made = NULL;
    enum attn_status status = ATTN_OK;

    ATTN_NEED(err, links, gold, table);
    lines[0].path = links, lines[1].path = gold;
    for (int i = 0; i < 2 && status == ATTN_OK; i++)
        status = attn_link_lines_read(&lines[i], err);
    ATTN_THEN(status, count(lines, &counts, err));
    ATTN_THEN(status, attn_table_create("scores", attn_align_columns + ATTN_ALIGN_SCORES,
                                        ATTN_ALIGN_N_SCORE, &made, err));
    ATTN_THEN(status, append(made, lines[0].n, &counts, err));
    for (int i = 0; i < 2; i++)
        attn_link_lines_release(&lines[i]);
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}
