#include "gradient/tape.h"

#include "base/memory.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

struct attn_backward_options attn_tape_options(const struct attn_session_options *of)
{
    return (struct attn_backward_options){.n = of->n_max,
                                          .attention = of->attention,
                                          .pool = of->pool,
                                          .cancel = of->cancel,
                                          .key_mask = of->key_mask,
                                          .positions = of->positions,
                                          .source_mask = of->source_mask,
                                          .gemm = of->gemm,
                                          .isa = of->isa,
                                          .edits = of->edits,
                                          .n_edit = of->n_edit};
}

enum attn_status attn_tape_prepare(struct attn_tape *tape, const struct attn_model *model,
                                   const struct attn_backward_options *options, size_t kept_bytes,
                                   struct attn_error *err)
{
    const struct attn_config *config = &model->config;
    const size_t n = options->n, n_row = options->n_source > n ? options->n_source : n;

    tape->model = model;
    tape->options = *options;
    tape->dims = attn_config_dims(config, n);
    if (attn_kept_layers_size(config, n_row) <= kept_bytes)
        ATTN_TRY(attn_kept_layers_create(config, n_row, options->pool, &tape->kept, err));
    tape->options.kept = tape->kept;
    tape->stream = attn_alloc_uninitialized(config->n_layer + 1,
                                            n * config->d_model * sizeof *tape->stream, err);
    if (!tape->stream || !attn_backward_reads_embeddings(model))
        return tape->stream ? ATTN_OK : ATTN_NO_MEMORY;
    tape->embeddings = attn_alloc_uninitialized(n, config->d_embed * sizeof *tape->embeddings, err);
    tape->options.embeddings = tape->embeddings;
    return tape->embeddings ? ATTN_OK : ATTN_NO_MEMORY;
}

void attn_tape_release(struct attn_tape *tape)
{
    attn_backward_free(tape->backward);
    attn_backward_free(tape->encoder);
    attn_kept_layers_free(tape->kept);
    attn_free(tape->stream);
    attn_free(tape->embeddings);
}

struct attn_site_set attn_tape_sites(const struct attn_tape *tape)
{
    const struct attn_site_set sites = ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_POST);

    return tape->kept ? attn_sites_join(sites, attn_selection_sites(
                                                   attn_kept_layers_trace(tape->kept)->selection))
                      : sites;
}

enum attn_status attn_tape_add(const struct attn_tape *tape, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    attn_trace_keep_stream(event, tape->options.pool, &tape->dims, tape->stream);
    return tape->kept ? attn_trace_hand_on(attn_kept_layers_trace(tape->kept), event, err)
                      : ATTN_OK;
}

enum attn_status attn_tape_add_encoder(struct attn_tape *tape, const struct attn_model *model,
                                       struct attn_backward_options options, struct attn_error *err)
{
    const struct attn_backward_options *of = &tape->options;

    options.n = options.text->n;
    options.attention = model->config.attention;
    options.key_mask = of->source_mask;
    options.rule = of->rule;
    options.pool = of->pool;
    options.cancel = of->cancel;
    options.n_run = of->n_run;
    options.gemm = of->gemm;
    options.isa = of->isa;
    tape->options.needs_source = true;
    return attn_backward_create(model, &options, &tape->encoder, err);
}

enum attn_status attn_tape_open(struct attn_tape *tape, struct attn_error *err)
{
    return attn_backward_create(tape->model, &tape->options, &tape->backward, err);
}

enum attn_status attn_tape_run(const struct attn_tape *tape, const struct attn_backward_goal *goal,
                               struct attn_error *err)
{
    struct attn_backward_goal given = {.n = tape->options.n_source};

    ATTN_TRY(attn_backward_run(tape->backward, tape->stream, goal, err));
    if (!tape->encoder)
        return ATTN_OK;
    given.given = attn_backward_source(tape->backward);
    return attn_backward_run(tape->encoder, NULL, &given, err);
}
