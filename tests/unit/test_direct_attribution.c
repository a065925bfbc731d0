/*
 * test_direct_attribution.c - which parts write the label of a picture, against the equation of the
 * classifier in float64, from tensors that transformers gave: forwards, row by row, with the scale
 * s_i of the final norm as in the run.
 *
 *     y_i = (p_i - mean p_i) / s_i * w    for the rows p_i of a part
 *     logit of the part = C pooled(y)     y_0, of DINOv2 beside the mean of the patches' y_i
 *
 * And of decoders whose layers mix tokens without attention: the parts of a layer add up to what
 * its output adds.
 */
#include "extra.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "run/host_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/column.h"
#include "tests/support/encoders.h"
#include "tests/support/npy.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "trials/readout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"vit", "dinov2", "dinov2_with_registers"};
enum { N_NAME = sizeof names / sizeof *names, WIDEST = 32 };

static const int32_t target = 2, foil = 0;

/* A model, a picture, and what is known of it. */
struct picture {
    const char *name;
    struct attn_host *host;
    struct attn_request request;
    struct attn_pixels pixels;
    const struct attn_weights *weights;
    const struct attn_config *config;
    struct attn_npy stream; /* [T, D] after the last layer */
    size_t n, d, n_front;
    double column[2 * WIDEST]; /* of C, the target's minus the foil's */
};

static struct attn_npy read_tensor(const struct picture *p, const char *tensor)
{
    char member[128], path[ATTN_ENCODER_PATH_SIZE];
    struct attn_npy array;

    snprintf(member, sizeof member, "%s/expected.npz/0/%s.npy", p->name, tensor);
    attn_encoder_path(member, path);
    ck_assert_msg(attn_npy_read(path, &array), "%s", member);
    return array;
}

static struct attn_npy read_layer(const struct picture *p, size_t layer, const char *tensor)
{
    char name[64];

    snprintf(name, sizeof name, "blocks.%zu.%s", layer, tensor);
    return read_tensor(p, name);
}

static struct picture open_picture(const char *name, int n_thread)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct picture p = {.name = name, .request = ATTN_REQUEST_DEFAULT};
    char path[ATTN_ENCODER_PATH_SIZE];
    struct attn_npy pixels = read_tensor(&p, "pixels");
    double column[2 * WIDEST];

    attn_encoder_path(name, path);
    options.n_thread = n_thread;
    ck_assert(attn_host_open(path, &options, &p.host, NULL) == ATTN_OK);
    p.config = attn_model_config(attn_host_model(p.host));
    p.weights = &attn_host_model(p.host)->weights;
    p.pixels = (struct attn_pixels){.n_channel = p.config->image.n_channel,
                                    .height = pixels.shape[pixels.rank - 2],
                                    .width = pixels.shape[pixels.rank - 1],
                                    .values = malloc(pixels.n * sizeof(float))};
    for (size_t i = 0; i < pixels.n; i++)
        p.pixels.values[i] = (float)pixels.values[i];
    attn_npy_release(&pixels);
    p.stream = read_layer(&p, p.config->n_layer - 1, "hook_resid_post");
    p.d = p.config->d_model;
    p.n = p.stream.n / p.d;
    p.n_front = 1 + p.config->image.n_register;
    ck_assert_uint_le(p.d, WIDEST);
    attn_matrix_column(&p.weights->unembed.weight, (size_t)target, p.column);
    attn_matrix_column(&p.weights->unembed.weight, (size_t)foil, column);
    for (size_t i = 0; i < p.weights->unembed.weight.n_row; i++)
        p.column[i] -= column[i];
    return p;
}

static void close_picture(struct picture *p)
{
    attn_host_free(p->host);
    free(p->pixels.values);
    attn_npy_release(&p->stream);
}

/* The mean of the row X [d], and the scale of the norm. */
static double measure(const struct picture *p, const double *x, double *scale)
{
    double mean = 0, sum = 0;

    for (size_t i = 0; i < p->d; i++)
        mean += x[i] / (double)p->d;
    for (size_t i = 0; i < p->d; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    *scale = sqrt(sum / (double)p->d + (double)p->config->norm_eps);
    return mean;
}

/* What the part X [T, d], or [d] of each row, writes. IS_NORMED: it is added after the norm. */
static double written(const struct picture *p, const double *x, bool is_one, bool is_normed)
{
    const bool has_mean = p->config->pooling == ATTN_POOLING_FIRST_AND_MEAN;
    double w[WIDEST], sum = 0;

    attn_vector_elements(&p->weights->ln_final.w, 0, p->d, w);
    for (size_t i = 0; i < p->n; i++) {
        const double *row = x + (is_one ? 0 : i * p->d);
        double scale, other, mean = measure(p, row, &other);

        measure(p, p->stream.values + i * p->d, &scale);
        for (size_t k = 0; k < p->d; k++) {
            const double y = is_normed ? row[k] : (row[k] - mean) / scale * w[k];

            if (i == 0)
                sum += y * p->column[k];
            if (has_mean && i >= p->n_front)
                sum += y * p->column[p->d + k] / (double)(p->n - p->n_front);
        }
    }
    return sum;
}

/* z W_O of a head of a layer, after its layer scale; head -1: the bias. */
static double written_by_head(const struct picture *p, size_t layer, int head)
{
    const struct attn_block_weights *w = &p->weights->blocks[layer];
    struct attn_npy z = read_layer(p, layer, "attn.hook_z"); /* [T, H, Ev] */
    const size_t width = p->config->d_value, n_z = p->config->n_head * width;
    double *x = calloc(p->n * p->d, sizeof *x), scale[WIDEST], sum;

    attn_vector_elements(&w->attn_scale.w, 0, p->d, scale);
    for (size_t i = 0; i < p->n; i++) {
        if (head < 0)
            attn_vector_elements(&w->out.bias, 0, p->d, x + i * p->d);
        for (size_t k = 0; head >= 0 && k < width; k++) {
            const float element = (float)z.values[i * n_z + (size_t)head * width + k];

            attn_matrix_add_rows(&w->out.weight, (size_t)head * width + k, 1, &element,
                                 x + i * p->d);
        }
        for (size_t k = 0; k < p->d && w->attn_scale.w.data; k++)
            x[i * p->d + k] *= scale[k];
    }
    sum = written(p, x, false, false);
    attn_npy_release(&z);
    free(x);
    return sum;
}

static double written_by_mlp(const struct picture *p, size_t layer)
{
    struct attn_npy x = read_layer(p, layer, "hook_mlp_out");
    const double sum = written(p, x.values, false, false);

    attn_npy_release(&x);
    return sum;
}

/* What is in the stream at first, and the share of the patches' embeddings. */
static double written_at_first(const struct picture *p, double *embed)
{
    struct attn_npy all = read_layer(p, 0, "hook_resid_pre"),
                    patches = read_tensor(p, "hook_embed");
    const size_t n_patch = (p->n - p->n_front) * p->d;
    double *x = calloc(p->n * p->d, sizeof *x);
    const double sum = written(p, all.values, false, false);

    memcpy(x + p->n_front * p->d, patches.values + patches.n - n_patch, n_patch * sizeof *x);
    *embed = written(p, x, false, false);
    attn_npy_release(&all);
    attn_npy_release(&patches);
    free(x);
    return sum;
}

static double number_at(const struct attn_table *table, size_t row)
{
    const struct attn_cell cell = attn_test_cell(table, row, "attribution");

    ck_assert_int_eq(cell.type, ATTN_VALUE_REAL);
    return cell.real;
}

static enum attn_status split(struct picture *p, bool by_token, struct attn_table **table,
                              struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;

    args.answer.target_id = &target;
    args.answer.foil_id = &foil;
    args.by = by_token ? ATTN_ATTRIBUTE_BY_TOKEN : ATTN_ATTRIBUTE_BY_PART;
    args.n_most = 1000;
    p->request.input.pixels = &p->pixels;
    return attn_attribute(p->host, &p->request, &args, table, err);
}

/* In the order of the rows; returns how many. */
static size_t expect(const struct picture *p, double *expected)
{
    double bias[WIDEST], sum = 0;
    size_t n = 2;

    expected[1] = written_at_first(p, &expected[0]);
    expected[1] -= expected[0];
    for (size_t layer = 0; layer < p->config->n_layer; layer++) {
        for (int head = 0; head < (int)p->config->n_head; head++)
            expected[n++] = written_by_head(p, layer, head);
        expected[n++] = written_by_head(p, layer, -1);
        expected[n++] = written_by_mlp(p, layer);
    }
    attn_vector_elements(&p->weights->ln_final.b, 0, p->d, bias);
    expected[n++] = written(p, bias, true, true);
    attn_vector_elements(&p->weights->unembed.bias, 0, p->config->n_vocab, bias);
    expected[n++] = bias[target] - bias[foil];
    for (size_t i = 0; i < n; i++)
        sum += expected[i];
    expected[n] = expected[n + 1] = sum;
    return n + 2;
}

START_TEST(parts_are_those_of_the_equation)
{
    attn_encoders_unpack();
    for (int i = 0; i < N_NAME; i++) {
        struct picture p = open_picture(names[i], 1);
        struct attn_error err = {0};
        struct attn_table *table;
        double expected[64];
        const size_t n = expect(&p, expected);

        ck_assert_msg(split(&p, false, &table, &err) == ATTN_OK, "%s", err.message);
        ck_assert_uint_eq(attn_table_n_row(table), n);
        for (size_t row = 0; row < n; row++)
            ck_assert_msg(fabs(number_at(table, row) - expected[row]) <= 4e-6,
                          "%s: row %zu is %.9g, not %.9g", p.name, row, number_at(table, row),
                          expected[row]);
        attn_table_free(table);
        close_picture(&p);
    }
    attn_encoders_remove();
}
END_TEST

/* What heads read from all places is what they write: all their rows add up to that. */
START_TEST(what_heads_read_is_what_they_write)
{
    attn_encoders_unpack();
    for (int i = 0; i < N_NAME; i++) {
        struct picture p = open_picture(names[i], 1);
        struct attn_table *table;
        double read = 0, sum = 0;

        ck_assert(split(&p, true, &table, NULL) == ATTN_OK);
        ck_assert_uint_eq(attn_table_n_row(table), p.config->n_layer * p.config->n_head * p.n);
        for (size_t row = 0; row < attn_table_n_row(table); row++)
            read += number_at(table, row);
        for (size_t layer = 0; layer < p.config->n_layer; layer++)
            for (int head = 0; head < (int)p.config->n_head; head++)
                sum += written_by_head(&p, layer, head);
        ck_assert_msg(fabs(read - sum) <= 4e-6, "%s: %.9g, not %.9g", p.name, read, sum);
        attn_table_free(table);
        close_picture(&p);
    }
    attn_encoders_remove();
}
END_TEST

/* Counts the events of attn_out (attn_trace_fn). */
static enum attn_status count_outputs(void *user, const struct attn_trace_event *event,
                                      struct attn_error *err)
{
    size_t *n = user;

    (void)err;
    *n += event->at.site == ATTN_SITE_ATTN_OUT;
    return ATTN_OK;
}

/* No family has a norm after attention and a factor or a layer scale after that, so that a Gemma
 * gets them here. The equation holds for whatever a model has. */
START_TEST(scales_come_after_the_norm_after_attention)
{
    static const int32_t ids[] = {0, 38, 17, 41, 19, 12};
    static float scales[64];
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_error err = {0};
    struct attn_host *host;
    struct attn_table *table;

    ck_assert(attn_host_open("tests/golden/why/models/gemma2", NULL, &host, &err) == ATTN_OK);
    struct attn_model *model = host->model;
    double at[2] = {0};

    ck_assert_uint_le(model->config.d_model, sizeof scales / sizeof *scales);
    for (size_t i = 0; i < model->config.d_model; i++)
        scales[i] = 0.5F + (float)(i % 7) / 4;
    model->config.residual_scale = 0.4;
    model->config.norm = ATTN_NORM_RMSNORM; /* that of a Gemma adds 1 to layer scales, too */
    model->config.has_layer_scale = true;
    for (size_t layer = 0; layer < model->config.n_layer; layer++) {
        ck_assert(model->weights.blocks[layer].ln1_post.w.data);
        model->weights.blocks[layer].attn_scale.w = (struct attn_vector){
            .data = scales, .dtype = ATTN_DTYPE_F32, .n = model->config.d_model};
    }
    request.input.ids = ids, request.input.n_id = sizeof ids / sizeof *ids;
    args.answer.target_id = &ids[2];
    ck_assert_msg(attn_attribute(host, &request, &args, &table, &err) == ATTN_OK, "%s",
                  err.message);
    for (size_t i = 0; i < 2; i++)
        at[i] = number_at(table, attn_table_n_row(table) - 2 + i);
    ck_assert_msg(fabs(at[0] - at[1]) <= 2e-5 * (1 + fabs(at[1])), "sum %.9g, model %.9g", at[0],
                  at[1]);
    attn_table_free(table);

    struct attn_result result = {0};
    struct attn_run *run;
    size_t n = 0;

    request.selection.sites = "attn_out";
    ck_assert(attn_run_prepare(host, &request, &run, &err) == ATTN_OK);
    const struct attn_trace trace = {
        .selection = attn_run_selection(run), .on_event = count_outputs, .user = &n};
    ck_assert(attn_run_perform(run, &trace, &result, &err) == ATTN_OK);
    ck_assert_uint_eq(n, model->config.n_layer); /* the whole output, and once */
    attn_result_release(&result);
    attn_run_free(run);
    attn_host_free(host);
}
END_TEST

START_TEST(threads_do_not_change_a_bit)
{
    attn_encoders_unpack();
    for (int i = 0; i < N_NAME; i++) {
        struct picture one = open_picture(names[i], 1), many = open_picture(names[i], 5);
        struct attn_table *first, *other;

        ck_assert(split(&one, false, &first, NULL) == ATTN_OK);
        ck_assert(split(&many, false, &other, NULL) == ATTN_OK);
        for (size_t row = 0; row < attn_table_n_row(first); row++)
            ck_assert(number_at(first, row) == number_at(other, row));
        attn_table_free(first);
        attn_table_free(other);
        close_picture(&one);
        close_picture(&many);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct picture p;
    struct attn_table *table;
    long n_allocation;

    attn_encoders_unpack();
    p = open_picture("dinov2", 1);
    attn_alloc_fail_off();
    ck_assert(split(&p, false, &table, NULL) == ATTN_OK);
    n_allocation = attn_alloc_count();
    attn_table_free(table);
    for (long n = 0; n < n_allocation; n++) {
        enum attn_status status;

        table = NULL;
        attn_alloc_fail_at(n);
        status = split(&p, false, &table, NULL);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_NO_MEMORY || status == ATTN_OK);
        ck_assert((status == ATTN_OK) == (table != NULL));
        attn_table_free(table);
    }
    close_picture(&p);
    attn_encoders_remove();
}
END_TEST

ATTN_SUITE("direct_attribution", parts_are_those_of_the_equation,
           what_heads_read_is_what_they_write, scales_come_after_the_norm_after_attention,
           threads_do_not_change_a_bit, every_allocation_may_fail)
