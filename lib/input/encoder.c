/* encoder.c - see encoder.h. */
#include "input/encoder.h"

#include "base/escape.h"
#include "base/memory.h"
#include "formats/tensor_files_internal.h"
#include "forward/session_internal.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* --- sound ------------------------------------------------------------------------------------ */

enum { KERNEL = 3 }; /* width of the convolution: the column before, the column, the column after */

/* One convolution over the columns of the spectrogram, with its input and output. */
struct convolution {
    const struct attn_linear *linear;
    size_t stride;
    const float *x; /* [n, c] a row for each column of the spectrogram */
    size_t n;
    float *y; /* [n / stride, D] */
};

enum attn_status attn_encoder_map(const struct attn_encoder_map *map,
                                  const struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_linear *linear = map->linear;
    const size_t n_in = linear->weight.n_row, n_out = linear->weight.n_col;
    const size_t n_thread = (size_t)attn_pool_n_thread(sequence->pool);
    const size_t n_scratch = (attn_linear_scratch(linear) + 15) / 16 * 16; /* keeps them aligned */
    const struct attn_gemm_engine engine = attn_gemm_engine_start(
        sequence->gemm, sequence->isa, (double)map->n * (double)n_in * (double)n_out);
    float *scratch = attn_alloc(n_thread, n_scratch * sizeof *scratch, err);
    float **scratches = attn_alloc(n_thread, sizeof *scratches, err);
    const bool has_memory = scratch && scratches;
    const struct attn_linear_args args = {
        .linear = linear,
        .engine = &engine,
        .scratch = scratches,
        .x = map->x,
        .ldx = n_in,
        .n_row = map->n,
        .y = map->y,
        .ldy = n_out,
        .last_col = n_out,
        .has_activation = map->activation,
        .activation = map->activation ? attn_activation_find(map->activation) : ATTN_N_ACTIVATION};

    for (size_t i = 0; has_memory && i < n_thread; i++)
        scratches[i] = scratch + i * n_scratch;
    if (has_memory)
        attn_linear_run(&args, 1, sequence->pool);
    attn_free(scratch);
    attn_free(scratches);
    return has_memory ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Y = gelu(W X + b). */
static enum attn_status convolve(const struct convolution *convolution,
                                 const struct attn_sequence *sequence, struct attn_error *err)
{
    const size_t n_in = convolution->linear->weight.n_row, c = n_in / KERNEL;
    const size_t n = convolution->n, stride = convolution->stride, n_out = n / stride;
    float *windows = attn_alloc(n_out, n_in * sizeof *windows, err);
    const struct attn_encoder_map map = {convolution->linear, windows, n_out, convolution->y,
                                         "gelu"};
    enum attn_status status = windows ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t t = 0; windows && t < n_out; t++)
        for (size_t k = 0; k < KERNEL; k++) {
            const size_t column =
                t * stride + k; /* 1-based, so that column 0 is the padding before the first */

            for (size_t i = 0; i < c && column > 0 && column <= n; i++)
                windows[t * n_in + i * KERNEL + k] = convolution->x[(column - 1) * c + i];
        }
    if (windows)
        status = attn_encoder_map(&map, sequence, err);
    attn_free(windows);
    return status;
}

enum attn_status attn_encoder_hear(const struct attn_model *encoder, const struct attn_ndarray *mel,
                                   struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_config *config = &encoder->config;
    const struct attn_linear *sound = encoder->weights.sound;
    const size_t n_mel = config->stack.n_mel, n_column = 2 * config->n_ctx, d = config->d_model;
    char shape[ATTN_SHAPE_TEXT_SIZE];
    enum attn_status status = ATTN_NO_MEMORY;
    float *x, *y;

    if (mel->rank != 2 || mel->shape[0] != n_mel || mel->shape[1] != n_column)
        return attn_error_set(err, ATTN_INVALID, "'%s' has the shape %s, '%s' takes [%zu, %zu]",
                              attn_quote_string(mel->name).text,
                              attn_shape_text(mel->rank, mel->shape, shape),
                              attn_quote_string(encoder->name).text, n_mel, n_column);
    x = attn_alloc(n_column, n_mel * sizeof *x, err);
    y = attn_alloc(n_column, d * sizeof *y, err);
    sequence->heard = attn_alloc(config->n_ctx, d * sizeof *sequence->heard, err);
    sequence->n = config->n_ctx;
    for (size_t i = 0; x && i < n_mel * n_column; i++)
        x[i % n_column * n_mel + i / n_column] = mel->data[i];
    const struct convolution first = {&sound[0], 1, x, n_column, y};
    const struct convolution second = {&sound[1], 2, y, n_column, sequence->heard};

    if (x && y && sequence->heard)
        status = convolve(&first, sequence, err);
    if (status == ATTN_OK)
        status = convolve(&second, sequence, err);
    attn_free(x);
    attn_free(y);
    return status;
}

/* --- the run ---------------------------------------------------------------------------------- */

/* The user data of `store_final_rows`: where the final rows go, and the trace that the events are
 * forwarded to. */
struct keeping {
    struct attn_trace trace; /* its selection may be NULL: no events are forwarded */
    struct attn_location at; /* the final rows */
    float *rows;             /* or NULL */
};

static enum attn_status store_final_rows(void *user, const struct attn_trace_event *event,
                                         struct attn_error *err)
{
    const struct keeping *keeping = user;

    if (keeping->rows && event->at.site == keeping->at.site && event->at.layer == keeping->at.layer)
        attn_trace_keep_rows(event, NULL, event->n_col, keeping->rows);
    return keeping->trace.selection ? attn_trace_hand_on(&keeping->trace, event, err) : ATTN_OK;
}

/* Creates a selection of the tensors that the trace wants and of the final rows. All rows and heads
 * are computed if they are needed for these, or if edits are counted in them. */
static enum attn_status select_tensors(const struct attn_dims *dims, const struct keeping *keeping,
                                       bool has_edits, struct attn_selection **chosen,
                                       struct attn_error *err)
{
    const struct attn_selection *selection = keeping->trace.selection;
    struct attn_site_set sites =
        keeping->rows ? ATTN_SITES(keeping->at.site) : (struct attn_site_set){0};

    ATTN_TRY(selection && !keeping->rows && !has_edits
                 ? attn_selection_copy_stack(selection, ATTN_STACK_ENCODER, chosen, err)
                 : attn_selection_create(dims, chosen, err));
    if (selection) /* the other sites are derived, not computed by the encoder */
        attn_sites_extend(
            &sites,
            attn_sites_common(attn_selection_sites_of(selection, ATTN_STACK_ENCODER), dims->sites));
    attn_selection_clear_sites(*chosen);
    return attn_sites_are_empty(sites) ? ATTN_OK : attn_selection_set_sites(*chosen, sites, err);
}

struct attn_sequence attn_encoder_input(const struct attn_sequence *source)
{
    return (struct attn_sequence){.n = source->n,
                                  .ids = source->ids,
                                  .rows = source->fed,
                                  .key_mask = source->key_mask,
                                  .pixels = source->pixels,
                                  .grid = source->grid,
                                  .numbers = source->numbers};
}

struct attn_pass attn_encoder_pass_of(const struct attn_model *model,
                                      const struct attn_sequence *source,
                                      const struct attn_session_options *options)
{
    struct attn_session_options own = ATTN_SESSION_OPTIONS_DEFAULT;

    own.n_max = source->n;
    own.cache = ATTN_CACHE_ONE_LAYER;
    own.pool = options->pool;
    own.cancel = options->cancel;
    own.isa = options->isa;
    own.gemm = options->gemm;
    own.needs_float32 = options->needs_float32;
    own.key_mask = source->key_mask;
    own.n_key_mask = source->n;
    own.embeddings_name = source->name;
    own.positions = source->numbers;
    own.reads_once = options->reads_once;
    return (struct attn_pass){
        .model = model->encoder ? model->encoder : model->tower, .text = source, .options = own};
}

enum attn_status attn_encoder_run(const struct attn_pass *pass, struct attn_encoder_rows *made,
                                  struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(pass->model);
    const struct attn_dims dims = attn_config_dims(config, pass->text->n);
    const struct attn_sequence text = attn_encoder_input(pass->text);
    const bool is_at_end = config->has_final_norm;
    const struct attn_trace none = {0}, given = pass->options.trace ? *pass->options.trace : none;
    struct keeping keeping = {given,
                              {.site = is_at_end ? ATTN_SITE_LN_FINAL : attn_site_of_output(&dims),
                               .layer = is_at_end ? ATTN_NO_LAYER : (int)config->n_layer - 1},
                              made ? made->final : NULL};
    struct attn_trace all = {.on_event = store_final_rows, .user = &keeping};
    struct attn_pass own = *pass;
    struct attn_session *session = NULL;
    struct attn_selection *chosen = NULL;
    enum attn_status status =
        select_tensors(&dims, &keeping, pass->options.n_edit > 0, &chosen, err);

    all.selection = chosen;
    own.text = &text;
    own.options.trace = &all;
    if (status == ATTN_OK)
        status = attn_pass_run(&own, &session, err);
    if (status == ATTN_OK && made)
        made->n_edited = attn_session_n_edited_row(session);
    for (size_t i = 0; status == ATTN_OK && made && made->has_effect && i < own.options.n_edit; i++)
        made->has_effect[i] |= attn_session_edit_has_effect(session, 0, i);
    attn_session_free(session);
    attn_selection_free(chosen);
    return status;
}
