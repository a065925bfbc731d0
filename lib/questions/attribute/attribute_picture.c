/*
 * attribute_picture.c - attributes an answer to the cells of the picture in a prompt (attribute.h):
 * the rows that the connector makes of them, as they lie in the stream, and the pixels of each.
 * Sums are in double precision.
 */
#include "attribute/attribute_internal.h"

#include "base/status_internal.h"
#include "predict/answer_internal.h"
#include "run/run_pass.h"
#include "towers/before_pictures.h"
#include "towers/prompt/picture_prompt.h"
#include "trials/derivative.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_POINTS = 50, KEPT_BYTES = 512 << 20 };

enum { PART, ROW, COLUMN, ATTRIBUTION, AMOUNT, ROW_TYPE, N_COLUMN };
enum { SHOW_SIGNED = 2, SHOW_AMOUNTS = 4 };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("sum model"),    [ROW] = ATTN_COLUMN("row", INTEGER),
    [COLUMN] = ATTN_COLUMN("column", INTEGER), ATTN_ATTRIBUTION_COLUMNS(ATTRIBUTION),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

struct picture_attribution {
    struct attn_frame frame;
    const struct attn_attribute_args *args;
    struct attn_answer answer;
    struct attn_derivative *derivative; /* owns */
    const struct attn_picture_prompt *seen;
    const struct attn_before *before; /* borrowed from the run; makes the rows of pictures */
    size_t n, d, n_cell;              /* positions, width of a row, cells of all pictures */
    size_t n_block;                   /* 1 + n_deep: the rows, and those that DeepStack adds */
    /* [n_block, n, d] the rows, those of the baseline, and a point between them */
    float *e, *b, *x;
    float *deep;         /* [n_deep, n, d] the gradients of DeepStack's rows at the last point */
    double *gradient;    /* [n_block, n, d] */
    double *cells;       /* [n_cell] the attributions */
    double text;         /* the sum of all other positions */
    double whole, model; /* of pixels: the sum over all pictures; the metric, or its difference */
    int64_t at;          /* the last position of the prompt, if an answer follows it */
};

static bool is_of(const struct picture_attribution *a, enum attn_attribute_method method)
{
    return a->args->method == method;
}

static size_t n_point_of(const struct picture_attribution *a)
{
    return a->args->n_point > 0 ? a->args->n_point : DEFAULT_POINTS;
}

static enum attn_status check(const void *given, struct attn_error *err)
{
    const struct attn_attribute_args *args = given;
    const bool has_method = args->method == ATTN_ATTRIBUTE_GRAD_X_INPUT ||
                            args->method == ATTN_ATTRIBUTE_SALIENCY ||
                            args->method == ATTN_ATTRIBUTE_IG;

    ATTN_TRY(attn_attribute_check(given, err));
    if (!has_method)
        return attn_error_set(err, ATTN_INVALID,
                              "`by cell` is about a picture, by gradients: it needs `method` "
                              "grad_x_input, saliency or ig");
    if (args->by == ATTN_ATTRIBUTE_BY_PIXEL && args->method != ATTN_ATTRIBUTE_GRAD_X_INPUT)
        return attn_error_set(err, ATTN_INVALID, "`by pixel` needs `method grad_x_input`");
    if (args->n_target > 0 || args->merges_words || attn_input_is_given(&args->given) ||
        args->baseline != ATTN_BASELINE_AUTO || attn_number_list_is_given(&args->baseline_keep))
        return attn_error_set(err, ATTN_INVALID,
                              "`by cell` has one target and no words, and its baseline is the mean "
                              "of all cells: no `generated`, `continuation`, `merge_words` or "
                              "`baseline`");
    return ATTN_OK;
}

/* Writes the baseline: the rows, with the mean of all cells in each. */
static void find_baseline(struct picture_attribution *a)
{
    const struct attn_sequence *text = attn_asked_text(a->frame.run);

    memcpy(a->b, a->e, a->n_block * a->n * a->d * sizeof *a->b);
    for (size_t first = 0; first < a->n_block * a->n; first += a->n) {
        attn_picture_prompt_mean(text, a->e + first * a->d, a->d, a->x);
        for (size_t at = attn_picture_prompt_next(text, 0); at < a->n;
             at = attn_picture_prompt_next(text, at + 1))
            memcpy(a->b + (first + at) * a->d, a->x, a->d * sizeof *a->b);
    }
}

/* Keeps the gradients of DeepStack's rows (attn_trace_fn); the others are read after the pass. */
static enum attn_status keep(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    const struct picture_attribution *a = user;

    (void)err;
    attn_before_keep_deep(a->before, event, a->n_block > 1 ? a->deep : NULL);
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct picture_attribution *a = state;
    struct attn_frame *frame = &a->frame;
    const struct attn_sequence *text = attn_asked_text(frame->run);
    struct attn_derivative_options options = {
        .gradients = {ATTN_SITES(ATTN_SITE_EMBED_GRAD), keep, a},
        .skips_zeros = true,
        .kept_bytes = KEPT_BYTES};
    struct attn_answer_args answer;

    a->args = frame->args;
    a->seen = &text->seen;
    a->before = attn_run_before(frame->run).before;
    answer = a->args->answer;
    if (a->seen->n_picture == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`by cell` is about a picture beside a text, and none was given");
    if (a->seen->n_image > 1 && is_of(a, ATTN_ATTRIBUTE_SALIENCY))
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "`method saliency` has a row for each cell of one picture, and there are "
            "%zu",
            a->seen->n_image);
    a->at = (int64_t)a->seen->n_prompt - 1;
    if (!attn_number_list_is_given(&answer.at) && a->seen->n_prompt < text->n)
        answer.at = (struct attn_number_list){.items = &a->at, .n = 1};
    ATTN_TRY(attn_frame_find_answer(frame, &answer, &a->answer, err));
    ATTN_TRY(attn_error_at(attn_answer_check_goal(&a->answer, err), ATTN_STAGE_OPTIONS, err));
    a->n = text->n;
    a->d = frame->config->d_embed;
    a->n_cell = a->seen->n_cell;
    a->n_block = 1 + frame->config->vision.n_deep;
    a->e = attn_frame_alloc(frame, a->n_block * a->n, a->d * sizeof *a->e);
    a->b = attn_frame_alloc(frame, a->n_block * a->n, a->d * sizeof *a->b);
    a->x = attn_frame_alloc(frame, a->n_block * a->n, a->d * sizeof *a->x);
    a->deep = attn_frame_alloc(frame, a->n_block * a->n, a->d * sizeof *a->deep);
    a->gradient = attn_frame_alloc(frame, a->n_block * a->n, a->d * sizeof *a->gradient);
    a->cells = attn_frame_alloc(frame, a->n_cell, sizeof *a->cells);
    ATTN_TRY(attn_frame_memory(frame, err));
    options.n_run = is_of(a, ATTN_ATTRIBUTE_IG) ? n_point_of(a) : 0;
    if (a->n_block > 1) {
        attn_sites_add(&options.gradients.sites, ATTN_SITE_RESID_POST_GRAD);
        options.added = a->x + a->n * a->d;
    }
    ATTN_TRY(attn_derivative_create(frame->run, &a->answer, &options, &a->derivative, err));
    ATTN_TRY(attn_derivative_embed(frame->run, a->e, err));
    memcpy(a->e + a->n * a->d, text->rows + a->n * a->d,
           (a->n_block - 1) * a->n * a->d * sizeof *a->e);
    find_baseline(a);
    return ATTN_OK;
}

static void release(void *state)
{
    struct picture_attribution *a = state;

    attn_derivative_free(a->derivative);
}

/* --- Methods ---------------------------------------------------------------------------------- */

/* Computes the metric at X. */
static enum attn_status feed(struct picture_attribution *a, const float *x, double *value,
                             struct attn_error *err)
{
    if (x != a->x)
        memcpy(a->x, x, a->n_block * a->n * a->d * sizeof *a->x);
    return attn_derivative_feed(a->derivative, a->x, value, err);
}

/* Computes the metric at X, and adds WEIGHT times the gradient there. */
static enum attn_status add_gradient(struct picture_attribution *a, const float *x, double weight,
                                     struct attn_error *err)
{
    const size_t n = a->n * a->d;
    const float *found;

    ATTN_TRY(feed(a, x, &a->model, err));
    ATTN_TRY(attn_derivative_backward(a->derivative, err));
    found = attn_derivative_embedding(a->derivative);
    for (size_t i = 0; i < a->n_block * n; i++)
        a->gradient[i] += weight * (double)(i < n ? found[i] : a->deep[i - n]);
    return ATTN_OK;
}

static enum attn_status integrate(struct picture_attribution *a, struct attn_error *err)
{
    const size_t n_point = n_point_of(a);
    double baseline;

    for (size_t i = 0; i < n_point; i++) {
        const double weight =
            attn_derivative_place(i, n_point, a->b, a->e, a->n_block * a->n * a->d, a->x);

        ATTN_TRY(add_gradient(a, a->x, weight, err));
        attn_frame_report(&a->frame, i + 1, n_point + 2);
    }
    ATTN_TRY(feed(a, a->b, &baseline, err));
    ATTN_TRY(feed(a, a->e, &a->model, err));
    a->model -= baseline;
    return ATTN_OK;
}

/* Returns the attribution of the row at position AT, together with those of DeepStack. */
static double attribute_row(const struct picture_attribution *a, size_t at)
{
    const bool is_length = is_of(a, ATTN_ATTRIBUTE_SALIENCY);
    double sum = 0;

    for (size_t k = 0; k < a->n_block * a->d; k++) {
        const size_t i = (k / a->d * a->n + at) * a->d + k % a->d;
        const double from = is_of(a, ATTN_ATTRIBUTE_IG) ? (double)a->b[i] : 0;

        sum +=
            is_length ? a->gradient[i] * a->gradient[i] : ((double)a->e[i] - from) * a->gradient[i];
    }
    return is_length ? sqrt(sum) : sum;
}

static void attribute_rows(struct picture_attribution *a)
{
    const struct attn_sequence *text = attn_asked_text(a->frame.run);
    size_t next = attn_picture_prompt_next(text, 0), n = 0;

    for (size_t at = 0; at < a->n; at++) {
        if (at < next) {
            a->text += attribute_row(a, at);
            continue;
        }
        a->cells[n++] = attribute_row(a, at);
        next = attn_picture_prompt_next(text, at + 1);
    }
}

/* Sets the attribution of each cell of IMAGE to the sum over its pixels, value times gradient D. */
static void attribute_pixels(struct picture_attribution *a, const struct attn_prompt_image *image,
                             const float *d)
{
    const struct attn_pixels *pixels = image->pixels;
    const size_t height = pixels->height, width = pixels->width, n_channel = pixels->n_channel;
    const struct attn_vision_config *vision = &attn_asked_model(a->frame.run)->tower->config.vision;
    const size_t side = vision->patch * vision->merge;
    const size_t n_tile = image->n_picture - 1;
    double *cells = a->cells + image->first_cell;

    memset(cells, 0, image->n_cell * sizeof *cells);
    for (size_t i = 0; i < image->n_picture * n_channel * height * width; i++) {
        const double share = (double)pixels->values[i] * (double)d[i];
        const size_t col = i % width / side, row = i / width % height / side;
        const size_t at = i / width / height / n_channel;
        /* joined tiles have no cells of their own */
        const size_t picture = image->joined.side == 0 ? at : at == n_tile ? 0 : SIZE_MAX;

        a->whole += share;
        if (row < image->rows && col < image->columns && picture < SIZE_MAX)
            cells[(picture * image->rows + row) * image->columns + col] += share;
    }
}

/* Returns the number of values of the pixels of IMAGE. */
static size_t count_values(const struct attn_prompt_image *image)
{
    return image->n_picture * image->pixels->n_channel * image->pixels->height *
           image->pixels->width;
}

/* Goes back to the pixels from the gradient of the rows. */
static enum attn_status find_pixels(struct picture_attribution *a, struct attn_error *err)
{
    const struct attn_run *run = a->frame.run;
    struct attn_before_pass pass = attn_run_before(run);
    const size_t n_row = a->seen->n_row;
    float *cells = attn_frame_alloc(&a->frame, a->n_block * n_row, a->d * sizeof *cells), *d;
    size_t n = 0;

    for (size_t i = 0; i < a->seen->n_image; i++)
        n += count_values(&a->seen->images[i]);
    d = attn_frame_alloc(&a->frame, n, sizeof *d);
    ATTN_TRY(attn_frame_memory(&a->frame, err));
    pass.options.pool = attn_host_pool(attn_asked_host(run), 1e9);
    attn_before_gather(pass.before, attn_derivative_embedding(a->derivative), cells);
    for (size_t k = 1; k < a->n_block; k++)
        attn_before_gather(pass.before, a->deep + (k - 1) * a->n * a->d, cells + k * n_row * a->d);
    ATTN_TRY(attn_before_back(&pass, cells, d, err));
    for (size_t i = 0; i < a->seen->n_image; d += count_values(&a->seen->images[i++]))
        attribute_pixels(a, &a->seen->images[i], d);
    return ATTN_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

static enum attn_status append(struct picture_attribution *a, const char *part, double value,
                               struct attn_error *err)
{
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(part), [ATTRIBUTION] = attn_cell_real(value)};

    return attn_frame_append(&a->frame, row, err);
}

/* Parts in rows and columns, which have N cells each from number FIRST on. */
struct grid {
    const char *part;
    size_t n_row, n_col, first, n;
};

static enum attn_status append_grid(struct picture_attribution *a, const struct grid *grid,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < grid->n_row * grid->n_col; i++) {
        struct attn_cell row[N_COLUMN] = {[PART] = attn_cell_string(grid->part),
                                          [ROW] = attn_cell_integer((int64_t)(i / grid->n_col)),
                                          [COLUMN] = attn_cell_integer((int64_t)(i % grid->n_col))};
        double sum = 0;

        for (size_t k = 0; k < grid->n; k++)
            sum += a->cells[grid->first + i * grid->n + k];
        row[ATTRIBUTION] = row[AMOUNT] = attn_cell_real(sum);
        ATTN_TRY(attn_frame_append(&a->frame, row, err));
    }
    return ATTN_OK;
}

/* Appends the rows of the only image: its tiles and its cells; or of each of several images. */
static enum attn_status append_parts(struct picture_attribution *a, bool has_tiles,
                                     struct attn_error *err)
{
    const struct attn_prompt_image *image = a->seen->images;
    const size_t n = image->rows * image->columns;
    const struct grid tiles = {"tile", image->tile_rows, image->tile_cols, 0, n};
    const struct grid cells = {"cell", image->rows, image->columns, attn_prompt_image_whole(image),
                               1};

    for (size_t i = 0; i < a->seen->n_image && a->seen->n_image > 1; i++, image++) {
        char name[24];
        double sum = 0;

        snprintf(name, sizeof name, "picture_%u", (unsigned)i);
        for (size_t k = 0; k < image->n_cell; k++)
            sum += a->cells[image->first_cell + k];
        ATTN_TRY(append(a, name, sum, err));
    }
    if (a->seen->n_image > 1)
        return ATTN_OK;
    if (has_tiles && image->joined.side == 0)
        ATTN_TRY(append_grid(a, &tiles, err));
    return append_grid(a, &cells, err);
}

static enum attn_status append_all(struct picture_attribution *a, struct attn_error *err)
{
    const bool is_length = is_of(a, ATTN_ATTRIBUTE_SALIENCY);
    const bool is_alone =
        is_length || a->args->by == ATTN_ATTRIBUTE_BY_PIXEL; /* no text and no sum */
    double picture = a->args->by == ATTN_ATTRIBUTE_BY_PIXEL ? a->whole : 0;

    for (size_t i = 0; i < a->n_cell && !is_alone; i++)
        picture += a->cells[i];
    if (!is_length)
        ATTN_TRY(append(a, "picture", picture, err));
    ATTN_TRY(append_parts(a, !is_alone, err));
    if (is_of(a, ATTN_ATTRIBUTE_GRAD_X_INPUT) && !is_alone)
        ATTN_TRY(append(a, "text", a->text, err));
    else
        a->text = 0;
    if (!is_alone)
        ATTN_TRY(append(a, "sum", picture + a->text, err));
    if (is_of(a, ATTN_ATTRIBUTE_IG) && !a->frame.item &&
        fabs(picture - a->model) > 0.05 * fabs(a->model))
        attn_note(a->frame.request.on_note, a->frame.request.user, ATTN_NOTE_ATTRIBUTION_SUM,
                  "the attributions add up to %.4g, but the model's value is %.4g: use more points "
                  "than %zu",
                  picture, a->model, n_point_of(a));
    return is_length ? ATTN_OK : append(a, "model", a->model, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct picture_attribution *a = state;
    enum attn_status status =
        is_of(a, ATTN_ATTRIBUTE_IG) ? integrate(a, err) : add_gradient(a, a->e, 1, err);

    if (status == ATTN_OK && a->args->by == ATTN_ATTRIBUTE_BY_PIXEL)
        status = find_pixels(a, err);
    else if (status == ATTN_OK)
        attribute_rows(a);
    ATTN_TRY(attn_error_at(status, ATTN_STAGE_MODEL, err));
    attn_frame_report_base(&a->frame, &a->answer, attn_derivative_reply(a->derivative));
    return append_all(a, err);
}

static uint64_t shows(const void *state)
{
    const struct attn_attribute_args *args = ((const struct attn_frame *)state)->args;

    return args->method == ATTN_ATTRIBUTE_SALIENCY ? SHOW_AMOUNTS : SHOW_SIGNED;
}

/* --- The table -------------------------------------------------------------------------------- */

#define VIEW_OF(column)                                                                            \
    {                                                                                              \
        .rows = ATTN_TABLE_COLUMN(ROW), .columns = ATTN_TABLE_COLUMN(COLUMN),                      \
        .values = ATTN_TABLE_COLUMN(column), .figure = ATTN_FIGURE_PATCHES,                        \
        .traits = ATTN_VIEW_TOKENS, .only = "cell"                                                 \
    }

static const struct attn_table_view views[] = {VIEW_OF(ATTRIBUTION), VIEW_OF(AMOUNT)};

static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_attribute_args *args = given;

    attn_drawn_ask(drawn, "of each cell (%s)",
                   args->by == ATTN_ATTRIBUTE_BY_PIXEL           ? "gradient x pixels"
                   : args->method == ATTN_ATTRIBUTE_GRAD_X_INPUT ? "gradient x input"
                   : args->method == ATTN_ATTRIBUTE_SALIENCY     ? "saliency"
                                                                 : "integrated gradients");
}

const struct attn_procedure attn_attribute_picture = {
    .table.name = ATTN_TABLE_ATTRIBUTE_BY_CELL,
    ATTN_ATTRIBUTE(struct picture_attribution),
    .needs_output = true,
    .items.study = offsetof(struct attn_attribute_args, study),
    .items.take_item = attn_attribute_take_item,
    .check = check,
    .release = release,
    .draw = draw,
};
