/*
 * test_stack_gradients.c - the backward pass through an encoder and a decoder, of the models of
 * tests/fixtures/stacks.tar: against differences of the forward pass along random directions, with
 * layers kept and computed again, with a masked source; and the same bits with any threads and
 * selection.
 */
#include "attn.h"
#include "base/random.h"
#include "extra.h"
#include "model/config_fields.h"
#include "tests/support/encoders.h"
#include "tests/support/near.h"
#include "tests/support/suite.h"
#include "trace/capture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_TARGET = 4, N_SOURCE = 5, LONG = 530, ANSWER = 13, N_DIRECTION = 3 };

static const char *const names[] = {"t5",  "flan_t5", "bart",  "marian",  "whole_opus", "nllb",
                                    "mt5", "umt5",    "mbart", "pegasus", "m2m_100"};
enum { N_NAME = sizeof names / sizeof *names };

/* A model and what it reads: embeddings, which are changed. */
struct translator {
    struct attn_host *host;
    struct attn_ndarray target, source; /* of `x` */
    float *x[2];                        /* [n, De] own; of the target and of the source */
    size_t n[2], d;
    int32_t mask[LONG];
    bool has_mask;
};

static struct attn_ndarray array_of(const char *name, size_t n, size_t d, const float *x)
{
    return (struct attn_ndarray){.name = name, .rank = 2, .shape = {n, d}, .data = x};
}

static struct translator open_translator(const char *name, size_t n_source, int n_thread)
{
    struct translator t = {.host = attn_encoder_host(name, n_thread), .n = {N_TARGET, n_source}};
    struct attn_random random;

    t.d = attn_model_config(attn_host_model(t.host))->d_embed;
    attn_random_seed(&random, 5);
    for (int i = 0; i < 2; i++) {
        t.x[i] = malloc(t.n[i] * t.d * sizeof *t.x[i]);
        attn_random_fill_uniform(&random, t.x[i], t.n[i] * t.d, -1, 1);
    }
    t.target = array_of("target", t.n[0], t.d, t.x[0]);
    t.source = array_of("source", t.n[1], t.d, t.x[1]);
    for (size_t i = 0; i < n_source; i++)
        t.mask[i] = i != 1;
    return t;
}

static void close_translator(struct translator *t)
{
    attn_host_free(t->host);
    free(t->x[0]), free(t->x[1]);
}

static struct attn_capture *capture_of(const struct translator *t, const char *sites)
{
    const int32_t id = ANSWER;
    const struct attn_answer_args answer = {.target_id = &id, .metric = ATTN_ANSWER_LOG_PROB};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    struct attn_capture *capture;
    struct attn_error err = {0};

    request.input.embeddings = &t->target;
    request.source.embeddings = &t->source;
    if (t->has_mask)
        request.source.key_mask = t->mask, request.source.n_key_mask = t->n[1];
    request.selection.sites = sites;
    request.selection.gradients_of = strstr(sites, "_grad") ? &answer : NULL;
    ck_assert_msg(attn_run_capture(t->host, &request, &capture, &result, &err) == ATTN_OK, "%s",
                  err.message);
    attn_result_release(&result);
    return capture;
}

static const float *tensor_of(const struct attn_capture *capture, enum attn_model_stack stack,
                              int layer, enum attn_site site)
{
    return attn_capture_tensor(
        capture, &(struct attn_location){.stack = stack, .layer = layer, .site = site});
}

/* ln p of the answer after the last position. */
static double metric_of(const struct translator *t)
{
    const size_t n = attn_model_config(attn_host_model(t->host))->n_vocab;
    struct attn_capture *capture = capture_of(t, "logits");
    const float *logits = tensor_of(capture, ATTN_STACK_DECODER, ATTN_NO_LAYER, ATTN_SITE_LOGITS);
    double sum = 0;

    logits += (N_TARGET - 1) * n;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - (double)logits[ANSWER]);
    attn_capture_free(capture);
    return -log(sum);
}

/* The gradients of embeddings are the slopes of the metric, in both stacks. */
static void assert_slopes(struct translator *t, const char *name)
{
    const double h = 1e-3; /* along directions of length 1 */
    struct attn_capture *capture = capture_of(t, "encoder:embed_grad,decoder:embed_grad");
    struct attn_random random;

    attn_random_seed(&random, 8);
    for (int stack = 0; stack < 2; stack++) {
        const float *d = tensor_of(capture, stack == 0 ? ATTN_STACK_DECODER : ATTN_STACK_ENCODER,
                                   ATTN_NO_LAYER, ATTN_SITE_EMBED_GRAD);
        const size_t n = t->n[stack] * t->d;
        float *kept = malloc(n * sizeof *kept);
        double length = 0;

        ck_assert(d);
        memcpy(kept, t->x[stack], n * sizeof *kept);
        for (size_t i = 0; i < n; i++)
            length += (double)d[i] * (double)d[i];
        ck_assert(length > 1e-6);
        for (int k = 0; k < N_DIRECTION; k++) {
            float *way = malloc(n * sizeof *way);
            double expected = 0, slope, low;

            for (size_t i = 0; i < n; i++) {
                way[i] =
                    k == 0 ? d[i] / (float)sqrt(length)
                           : (attn_random_bernoulli(&random, 0.5) ? 1.0F : -1.0F) / sqrtf((float)n);
                expected += (double)way[i] * (double)d[i];
                t->x[stack][i] = kept[i] - (float)h * way[i];
            }
            low = metric_of(t);
            for (size_t i = 0; i < n; i++)
                t->x[stack][i] = kept[i] + (float)h * way[i];
            slope = (metric_of(t) - low) / (2 * h);
            ck_assert_msg(fabs(slope - expected) < 0.003 * sqrt(length),
                          "%s, stack %d, direction %d: %.6g, expected %.6g, of %.6g", name, stack,
                          k, expected, slope, sqrt(length));
            free(way);
        }
        memcpy(t->x[stack], kept, n * sizeof *kept);
        free(kept);
    }
    attn_capture_free(capture);
}

START_TEST(gradients_are_slopes_in_both_stacks)
{
    attn_encoders_unpack();
    for (int i = 0; i < N_NAME; i++) {
        struct translator t = open_translator(names[i], N_SOURCE, 1);

        assert_slopes(&t, names[i]);
        close_translator(&t);
    }
    attn_encoders_remove();
}
END_TEST

/* Texts of this length are not kept: layers are computed again. */
START_TEST(layers_are_computed_again_for_a_long_source)
{
    struct translator t;

    attn_encoders_unpack();
    t = open_translator("t5", LONG, 2);
    assert_slopes(&t, "t5, long");
    close_translator(&t);
    attn_encoders_remove();
}
END_TEST

START_TEST(a_masked_row_of_the_source_has_no_gradient)
{
    attn_encoders_unpack();
    for (int i = 1; i < 3; i++) {
        struct translator t = open_translator(names[i], N_SOURCE, 1);
        struct attn_capture *capture;
        const float *d;

        t.has_mask = true;
        assert_slopes(&t, names[i]);
        capture = capture_of(&t, "encoder:embed_grad");
        d = tensor_of(capture, ATTN_STACK_ENCODER, ATTN_NO_LAYER, ATTN_SITE_EMBED_GRAD);
        for (size_t k = 0; k < t.d; k++)
            ck_assert(d[t.d + k] == 0 && !signbit(d[t.d + k]));
        attn_capture_free(capture);
        close_translator(&t);
    }
    attn_encoders_remove();
}
END_TEST

/* The vectors and matrices that PART has are those of ALL. Returns how many. */
static size_t assert_same(const struct translator *t, const struct attn_capture *part,
                          const struct attn_capture *all)
{
    const int n_layer = (int)attn_model_config(attn_host_model(t->host))->n_layer;
    const enum attn_site sites[] = {ATTN_SITE_RESID_PRE_GRAD, ATTN_SITE_ATTN_OUT_GRAD,
                                    ATTN_SITE_EMBED_GRAD};
    size_t n = 0;

    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        for (int k = 0; k < 3 * (n_layer + 1); k++) {
            const enum attn_model_stack stack = (enum attn_model_stack)(ATTN_STACK_ENCODER + k % 3);
            const int layer = k / 3 - 1; /* ATTN_NO_LAYER first */
            const float *x = tensor_of(part, stack, layer, sites[i]);

            if (!x)
                continue;
            attn_assert_same_bits(attn_site_name(sites[i]), x,
                                  tensor_of(all, stack, layer, sites[i]), N_TARGET * t->d);
            n++;
        }
    return n;
}

START_TEST(bits_do_not_depend_on_threads_and_selection)
{
    static const struct {
        const char *sites;
        size_t n;
    } parts[] = {{"encoder:*_grad", 5},
                 {"decoder:*_grad", 5},
                 {"cross:attn_out_grad", 2},
                 {"encoder:embed_grad", 1}};

    attn_encoders_unpack();
    for (int i = 0; i < N_NAME; i++) {
        struct translator one = open_translator(names[i], N_TARGET, 1),
                          three = open_translator(names[i], N_TARGET, 3);
        struct attn_capture *all = capture_of(&one, "*_grad,pattern_x_grad");

        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            struct attn_capture *part = capture_of(&three, parts[k].sites);

            ck_assert_uint_ge(assert_same(&one, part, all), parts[k].n);
            attn_capture_free(part);
        }
        attn_capture_free(all);
        close_translator(&one);
        close_translator(&three);
    }
    attn_encoders_remove();
}
END_TEST

ATTN_SUITE("stack gradients", gradients_are_slopes_in_both_stacks,
           layers_are_computed_again_for_a_long_source, a_masked_row_of_the_source_has_no_gradient,
           bits_do_not_depend_on_threads_and_selection)
