/*
 * nanochat_family.c - nanochat as transformers writes it (configuration_nanochat.py,
 * modeling_nanochat.py), which is its version of October 2025: no norm has weights, the rows of the
 * embedding are normalized, too, q and k are normalized after rotation, and logits are capped. The
 * keys `resid_lambdas` and on are of trained.c, for checkpoints of 2026.
 *
 *     x = x + o(attention(rms(x)));  x = x + fc2(relu(fc1(rms(x)))^2);  logits = 15 tanh(l / 15)
 *
 * Trap: it turns by the angles of Llama with the sign reversed, (a cos + b sin, b cos - a sin).
 *
 * What nanochat of 2026 does to the stream beside the equations of its blocks:
 *
 *     x_t += smear_lambda * sigmoid(smear_gate . x_t[0:24]) * x_(t-1) for t > 0, before layer 0
 *     x0 = x;  resid_pre = resid_lambdas[i] * x + x0_lambdas[i] * x0 in layer i
 *     v += value_factor * sigmoid(ve_gate . y[0:C]) * value_embeds.i[id], y the normalized
 * resid_pre x -= backout_lambda * (resid_post of layer n_layer / 2), before the last norm
 *
 * Sums of gates are in double precision, in the order of the components.
 */
#include "base/elementary.h"
#include "base/text/number.h"
#include "families/families_internal.h"
#include "forward/step_internal.h"
#include "model/config_internal.h"
#include "model/model_internal.h"

#include <string.h>

/* --- The stream of 2026 ----------------------------------------------------------------------- */

enum {
    KEPT = 2,    /* x0, and the output of the middle layer */
    N_SMEAR = 24 /* components of the stream that its gate reads */
};

static size_t find_size(const struct attn_config *config, size_t n)
{
    return attn_size_mul(KEPT * n + 2, config->d_model) +
           attn_size_mul(config->n_kv_head, config->d_head) + N_SMEAR;
}

/* Rows that are kept: x0 and the middle [n_feed_row, D], a row, the one before it, and a row of
 * value embeddings. */
static float *x0_of(const struct attn_forward *f)
{
    return f->stream;
}

static float *middle_of(const struct attn_forward *f)
{
    return f->stream + f->n_feed_row * f->dims.d_model;
}

static float *scratch_of(const struct attn_forward *f, size_t i)
{
    return f->stream + (KEPT * f->n_feed_row + i) * f->dims.d_model;
}

/* Returns number I of VECTOR; 1 or 0 as OTHERWISE if the model lacks it. */
static double number_of(const struct attn_forward *f, const struct attn_vector *vector, size_t i,
                        double otherwise)
{
    float value;

    if (!vector->data || i >= vector->n)
        return otherwise;
    f->engine.kernels->convert((const char *)vector->data + i * attn_dtype_n_byte(vector->dtype, 1),
                               vector->dtype, 1, &value);
    return (double)value;
}

/* Copies row ROW of TABLE [.., N] to X. */
static void read_row(const struct attn_forward *f, const struct attn_tensor *table, size_t row,
                     size_t n, float *x)
{
    f->engine.kernels->convert((const char *)table->data + row * attn_dtype_n_byte(table->dtype, n),
                               table->dtype, n, x);
}

/* Returns sigmoid(GATE . X) [n]. */
static double gate_of(const float *gate, const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)gate[i] * (double)x[i];
    return 1 / (1 + attn_exp(-sum));
}

/* Writes the normalized embedding of token ID to X. */
static void embed(struct attn_forward *f, int32_t id, float *x)
{
    read_row(f, &f->model->weights.embed, (size_t)id, f->dims.d_model, x);
    attn_norm_read(f, &f->model->weights.ln_embed);
    attn_norm_row(f, x, f->dims.d_model, x);
}

/* Adds to each row of PART the row before it; the first row of a later feed follows an earlier id.
 */
static void smear(struct attn_forward *f, const struct attn_feed_part *part)
{
    const struct attn_weights *weights = &f->model->weights;
    const size_t d = f->dims.d_model;
    const double scale = number_of(f, &weights->previous_scale, 0, 0);
    float *gate = scratch_of(f, 2), *now = scratch_of(f, 0), *before = scratch_of(f, 1);

    read_row(f, &weights->previous_gate, 0, N_SMEAR, gate);
    if (part->row0 > 0)
        embed(f, f->ids[part->row0 - 1], before);
    for (size_t row = 0; row < part->n_row; row++) {
        float *x = f->resid + (part->first + row) * d;
        const double factor = scale * gate_of(gate, x, N_SMEAR);

        memcpy(now, x, d * sizeof *now);
        for (size_t i = 0; i < d && part->row0 + row > 0; i++)
            x[i] = (float)((double)x[i] + factor * (double)before[i]);
        memcpy(before, now, d * sizeof *now);
    }
}

static void begin(struct attn_forward *f)
{
    for (size_t i = 0; i < f->feed.n_part && f->model->weights.previous_gate.data; i++)
        smear(f, &f->parts[i]);
    memcpy(x0_of(f), f->resid, f->feed.n_row * f->dims.d_model * sizeof(float));
}

static void enter(struct attn_forward *f, int layer)
{
    const struct attn_weights *weights = &f->model->weights;
    const double scale = number_of(f, &weights->stream_scales, (size_t)layer, 1);
    const double of_embedding = number_of(f, &weights->embed_scales, (size_t)layer, 0);
    const float *x0 = x0_of(f);

    for (size_t i = 0; i < f->feed.n_row * f->dims.d_model; i++)
        f->resid[i] = (float)(scale * (double)f->resid[i] + of_embedding * (double)x0[i]);
}

static void add_values(struct attn_forward *f, const struct attn_block_weights *w, const float *x,
                       float *v)
{
    const struct attn_config *config = &f->model->config;
    const size_t n_head = config->n_kv_head, n = config->d_head, n_gate = config->n_value_gate;
    float *gate = scratch_of(f, 0), *row = scratch_of(f, 2);

    for (size_t i = 0; i < f->feed.n_row; i++) {
        const struct attn_feed_part *part = &f->parts[attn_forward_find_sequence(f, i, false)];

        read_row(f, &w->value_table, (size_t)part->ids[i - part->first], n_head * n, row);
        for (size_t head = 0; head < n_head; head++) {
            float *y = v + (i * n_head + head) * n;
            double factor;

            read_row(f, &w->value_gate, head, n_gate, gate);
            factor = config->value_factor * gate_of(gate, x + i * f->dims.d_model, n_gate);
            for (size_t j = 0; j < n; j++)
                y[j] = (float)((double)y[j] + factor * (double)row[head * n + j]);
        }
    }
}

static double find_backout(const struct attn_model *model, int *layer)
{
    const struct attn_vector *scale = &model->weights.backout_scale;
    float value = 0;

    *layer = (int)(model->config.n_layer / 2);
    if (scale->data)
        attn_kernels_find(ATTN_ISA_BEST)->convert(scale->data, scale->dtype, 1, &value);
    return (double)value;
}

/* Keeps the rows of the middle layer, by their place among all rows of the feed. */
static void leave(struct attn_forward *f, int layer)
{
    const size_t d = f->dims.d_model;
    int middle;

    if (find_backout(f->model, &middle) == 0 || layer != middle)
        return;
    for (size_t i = 0; i < f->feed.n_part; i++) {
        const struct attn_site_rows left = attn_feed_part_left(&f->parts[i]);

        memcpy(middle_of(f) + (f->parts[i].first + f->parts[i].n_dropped) * d,
               f->resid + left.first * d, left.n_row * d * sizeof(float));
    }
}

static void end(struct attn_forward *f)
{
    const size_t d = f->dims.d_model;
    int middle;
    const double scale = find_backout(f->model, &middle);

    for (size_t i = 0; i < f->feed.n_part && scale != 0; i++) {
        const struct attn_site_rows left = attn_feed_part_left(&f->parts[i]);
        const float *kept = middle_of(f) + (f->parts[i].first + f->parts[i].n_dropped) * d;
        float *x = f->resid + left.first * d;

        for (size_t k = 0; k < left.n_row * d; k++)
            x[k] = (float)((double)x[k] - scale * (double)kept[k]);
    }
}

static const struct attn_stream_steps stream = {.size = find_size,
                                                .begin = begin,
                                                .enter = enter,
                                                .values = add_values,
                                                .leave = leave,
                                                .end = end,
                                                .backout = find_backout};

/* --- The family ------------------------------------------------------------------------------- */

static const struct attn_weight_rule rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    THREE_MAPS("layers.#.self_attn.", "_proj"),
    OUT_MAP("layers.#.self_attn.o_proj"),
    PLAIN_MLP("layers.#.mlp.", "fc1", "fc2"),
    TENSOR("/value_embeds.#.weight", "VK", ATTN_PART_STREAM, ATTN_WEIGHT_TENSOR,
           BLOCK(value_table)),
    TENSOR("layers.#.self_attn.ve_gate.weight", "G^", ATTN_PART_STREAM, ATTN_WEIGHT_TENSOR,
           BLOCK(value_gate)),
    VECTOR("/resid_lambdas", "*", ATTN_PART_STREAM, MODEL(stream_scales)),
    VECTOR("/x0_lambdas", "*", ATTN_PART_STREAM, MODEL(embed_scales)),
    VECTOR("/smear_lambda", "1", ATTN_PART_STREAM, MODEL(previous_scale)),
    VECTOR("/backout_lambda", "1", ATTN_PART_STREAM, MODEL(backout_scale)),
    TABLE("/smear_gate.weight", "1~", ATTN_PART_STREAM, previous_gate),
    OUTPUT_OF("/lm_head.weight"),
};

/* Reads the windows of the layers, numbers of keys with a comma after each. */
static enum attn_status read_windows(const struct attn_json *json, size_t n_layer,
                                     struct attn_config_layers *layers, struct attn_error *err)
{
    const char *at = "";
    int64_t width;

    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), "layer_windows", &at, err));
    for (size_t layer = 0; layer < n_layer; layer++) {
        const size_t n = strcspn(at, ",");

        if (!attn_parse_int(at, n, 1, ATTN_MAX_CTX, &width) || at[n] != ',')
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "layer_windows",
                                    "has no width for layer %zu", layer);
        attn_config_set_window(&layers->attention[layer], (size_t)width);
        at += n + 1;
    }
    return ATTN_OK;
}

/* Reads what versions of 2026 have. */
static enum attn_status read_stream(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    bool has_lambdas = false;

    ATTN_TRY(attn_json_get_bool(json, root, "resid_lambdas", &has_lambdas, err));
    if (!has_lambdas)
        return ATTN_OK;
    config->stream = &stream;
    config->n_stream_gate = N_SMEAR;
    ATTN_TRY(attn_json_get_size(json, root, "ve_gate_channels", 1, config->d_model,
                                &config->n_value_gate, err));
    ATTN_TRY(attn_json_get_double(json, root, "ve_factor", 0, 100, &config->value_factor, err));
    ATTN_TRY(attn_json_get_double(json, root, "qk_scale", 0, 100, &config->qk_scale, err));
    return read_windows(json, config->n_layer, layers, err);
}

static enum attn_status read_nanochat(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (config->d_head > config->d_model) /* norms share the weights 1 of the stream */
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "head_dim",
                                "is %zu, expected at most 'hidden_size' %zu", config->d_head,
                                config->d_model);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_rope *rope = &layers->rope[layer];

        if (rope->type != ATTN_ROPE_DEFAULT)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "rope_type",
                                    "is not 'default', which a nanochat has");
        rope->type = ATTN_ROPE_LINEAR;
        rope->factor = -1;
    }
    return read_stream(json, config, layers, err);
}

const struct attn_family attn_family_nanochat = {
    FAMILY("nanochat", "NanoChatFor", "model.", rules), .read_config = read_nanochat,
    .form = {.activation_key = "hidden_act",
             .eps_key = "rms_norm_eps",
             ROPE(10000, 1),
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_FACTOR("final_logit_softcapping", logits_cap)),
             .defaults = {ATTN_BLOCK, .norm = ATTN_NORM_RMSNORM_NO_WEIGHT, .has_embed_norm = true,
                          .qk_norm = ATTN_QK_NORM_PER_HEAD, .qk_norm_is_late = true,
                          .act_fn = "relu2", .output = ATTN_OUTPUT_OWN, .logits_cap = 15,
                          SIZES(50304, 768, 8192, 12, 6, 0, 0, 2048, 1e-6F)}}};
