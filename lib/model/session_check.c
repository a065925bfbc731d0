/* session_check.c - what a session refuses, when it is created and when it is fed. */
#include "attention/attention.h"
#include "attention/keys.h"
#include "base/escape.h"
#include "model/config_read.h"
#include "model/session_state.h"

struct attn_attention attn_session_find_attention(const struct attn_model *model,
                                                  const struct attn_session_options *options,
                                                  size_t layer)
{
    const struct attn_attention *from =
        options->attention != NULL ? options->attention : model->config.attention;
    const bool is_cross = model->config.is_cross[layer];
    struct attn_attention attention = from[layer];

    if (is_cross && attention.mask == ATTN_MASK_CAUSAL)
        attention.mask = ATTN_MASK_NONE;
    attn_attention_resolve_stride(&attention, is_cross ? options->n_source : options->n_max);
    return attention;
}

/* Whether the layers can compute what is watched. */
static enum attn_status check_attention(const struct attn_model *model,
                                        const struct attn_session_options *options,
                                        struct attn_error *err)
{
    const struct attn_trace *trace = options->trace;

    for (size_t layer = 0; layer < model->config.n_layer; layer++) {
        const struct attn_attention attention = attn_session_find_attention(model, options, layer);
        const uint64_t given = attn_attention_sites(&attention);
        enum attn_status status =
            attn_attention_check(&attention, model->config.is_cross[layer], err);

        if (status != ATTN_OK)
            return status;
        for (int site = ATTN_SITE_QK; site <= ATTN_SITE_PATTERN_LOWRANK && trace != NULL; site++)
            if ((given & ATTN_SITE_BIT(site)) == 0 &&
                attn_selection_wants(trace->selection, (enum attn_site)site, (int)layer))
                return attn_error_set(err, ATTN_INVALID, "'%s' attention of layer %zu has no '%s'",
                                      attn_attention_kind_name(attention.kind), layer,
                                      attn_site_name((enum attn_site)site));
    }
    return ATTN_OK;
}

/* Matrices that are made beside z cannot be edited: nothing would come of it. */
static enum attn_status check_edits(const struct attn_model *model,
                                    const struct attn_session_options *options,
                                    struct attn_error *err)
{
    for (size_t layer = 0; layer < model->config.n_layer; layer++) {
        const struct attn_attention attention = attn_session_find_attention(model, options, layer);
        const enum attn_engine engine = attn_attention_engine(&attention);

        if (engine != ATTN_ENGINE_LINEAR && engine != ATTN_ENGINE_BLOCKWISE)
            continue;
        for (int site = ATTN_SITE_QK; site <= ATTN_SITE_PATTERN_LOWRANK; site++)
            if (attn_edits_touch(options->edits, options->n_edit, (enum attn_site)site, (int)layer))
                return attn_error_set(err, ATTN_INVALID,
                                      "'%s' of layer %zu cannot be edited: %s attention computes z "
                                      "without it",
                                      attn_site_name((enum attn_site)site), layer,
                                      engine == ATTN_ENGINE_LINEAR ? "linear" : "blockwise");
    }
    return ATTN_OK;
}

enum attn_status attn_session_check_options(const struct attn_model *model,
                                            const struct attn_session_options *options,
                                            struct attn_error *err)
{
    const struct attn_config *config = &model->config;
    struct attn_dims dims = attn_config_dims(config, options->n_max);
    const size_t most = config->n_ctx < ATTN_MAX_CTX ? config->n_ctx : ATTN_MAX_CTX;

    dims.n_source = options->n_source;
    attn_attention_set_dims(options->attention != NULL ? options->attention : config->attention,
                            &dims);
    if (options->n_max == 0 || options->n_max > most)
        return attn_error_set(err, ATTN_INVALID, "%zu positions do not fit '%s', expected 1 to %zu",
                              options->n_max, attn_quote_string(model->name).text, most);
    if (options->n_source > ATTN_MAX_CTX)
        return attn_error_set(err, ATTN_INVALID,
                              "a source of %zu rows is too long, expected at most %zu",
                              options->n_source, (size_t)ATTN_MAX_CTX);
    if (options->has_logits && config->output == ATTN_OUTPUT_NONE)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no output layer, so it has no logits",
                              attn_quote_string(model->name).text);
    if (options->trace != NULL) {
        const struct attn_dims *wanted = attn_selection_dims(options->trace->selection);

        if (wanted->n_layer != dims.n_layer || wanted->n_head != dims.n_head ||
            wanted->n_source > options->n_source ||
            (attn_selection_sites(options->trace->selection) & ~dims.sites) != 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "the selection was made for another model than '%s'",
                                  attn_quote_string(model->name).text);
    }
    if (check_attention(model, options, err) != ATTN_OK)
        return ATTN_INVALID;
    if (check_edits(model, options, err) != ATTN_OK)
        return ATTN_INVALID;
    return attn_edits_check(options->edits, options->n_edit, &dims, err);
}

enum attn_status attn_session_check_numbers(const struct attn_session *session, const char *what,
                                            const float *x, size_t n, size_t n_col,
                                            struct attn_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!session->engine.kernels->is_finite(x + i * n_col, n_col))
            return attn_error_set(err, ATTN_INVALID,
                                  "row %zu of the %s is not finite, expected float32 numbers", i,
                                  what);
    return ATTN_OK;
}

/* Whether masks given as matrices have the sizes of LAYER when N positions are fed. */
static enum attn_status check_matrices(const struct attn_session *session, size_t layer, size_t n,
                                       struct attn_error *err)
{
    const struct attn_attention *attention = &session->attention[layer];
    const size_t n_key =
        session->config->is_cross[layer] ? session->n_source : session->n_position + n;
    const size_t n_head = session->config->n_head;
    enum attn_status status = ATTN_OK;

    if (attention->mask == ATTN_MASK_MATRIX)
        status = attn_mask_matrix_check(&attention->matrix, "mask", n_head, n, n_key, err);
    if (status == ATTN_OK)
        status =
            attn_mask_matrix_check(&attention->dropout_mask, "dropout mask", n_head, n, n_key, err);
    return status;
}

enum attn_status attn_session_check_feed(const struct attn_session *session, size_t n,
                                         struct attn_error *err)
{
    const size_t n_max = session->options.n_max, n_position = session->n_position;
    bool is_whole = session->options.cache == ATTN_CACHE_ONE_LAYER;

    if (session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "a session whose feed failed must be reset first");
    if (n == 0)
        return attn_error_set(err, ATTN_INVALID, "there are no tokens, expected at least 1");
    if (n > n_max - n_position)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu tokens after %zu are too many, the session holds %zu", n,
                              n_position, n_max);
    for (size_t layer = 0; layer < session->config->n_layer; layer++) {
        const bool is_cross = session->config->is_cross[layer];

        if (is_cross && session->n_source == 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "layer %zu of '%s' attends to a source, and none was set", layer,
                                  attn_quote_string(session->model->name).text);
        if (check_matrices(session, layer, n, err) != ATTN_OK)
            return ATTN_INVALID;
        if ((!is_cross && session->attention[layer].mask != ATTN_MASK_CAUSAL) ||
            session->attention[layer].dropout > 0 ||
            session->attention[layer].dropout_mask.cells != NULL)
            is_whole = true;
    }
    if (is_whole && n_position > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "this session takes its whole sequence in one feed");
    return ATTN_OK;
}
