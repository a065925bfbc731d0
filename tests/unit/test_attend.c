/*
 * test_attend.c - attention on arrays, of every kind that keeps pairs, against the definition in
 * double precision; and that nothing but its numbers decides a result.
 */
#include "attention/attend.h"
#include "attention/keys.h"
#include "attention/kind.h"
#include "base/random.h"
#include "kinds/lowrank.h"
#include "tests/support/near.h"
#include "tests/support/recording.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"
#include "tool.h"
#include "trace/site_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Arrays and sizes of one case. */
struct input {
    struct attn_attend_args args;
    float *q, *k, *v;
};

static float *make(size_t n, uint64_t seed)
{
    float *x = malloc(n * sizeof *x);

    ck_assert_ptr_nonnull(x);
    attn_reference_fill(x, n, 1.5F, seed);
    return x;
}

static struct input make_input(size_t n_head, size_t n_kv_head, size_t n_query, size_t n_key,
                               size_t d_head, size_t d_value)
{
    struct input input = {.q = make(n_head * n_query * d_head, 1),
                          .k = make(n_kv_head * n_key * d_head, 2),
                          .v = make(n_kv_head * n_key * d_value, 3)};

    input.args = (struct attn_attend_args){.size = sizeof(struct attn_attend_args),
                                           .n_head = n_head,
                                           .n_kv_head = n_kv_head,
                                           .n_query = n_query,
                                           .n_key = n_key,
                                           .d_head = d_head,
                                           .d_value = d_value,
                                           .q = input.q,
                                           .k = input.k,
                                           .v = input.v,
                                           .attention = ATTN_ATTENTION_DEFAULT,
                                           .isa = ATTN_ISA_BEST};
    return input;
}

static void free_input(struct input *input)
{
    free(input->q);
    free(input->k);
    free(input->v);
}

/* Everything that the attention of ARGS gives. */
static struct attn_recording *attend(const struct attn_attend_args *args)
{
    struct attn_recording *recording = malloc(sizeof *recording);
    const struct attn_dims dims = attn_attend_dims(args);
    struct attn_attend_args watched = *args;
    struct attn_error err = {0};

    ck_assert_ptr_nonnull(recording);
    attn_recording_init_dims(recording, &dims);
    watched.trace = &recording->trace;
    ck_assert_msg(attn_attend(&watched, &err) == ATTN_OK, "%s", err.message);
    return recording;
}

static void forget(struct attn_recording *recording)
{
    attn_recording_release(recording);
    free(recording);
}

/* One row by the definition, over the keys that count; in double. */
struct reference_row {
    double *qk, *scores, *pattern, *z; /* [n_key] each, z [d_value] */
    bool *counts;                      /* [n_key] */
};

static void find_counting(const struct attn_attend_args *args, int head, size_t query, bool *counts)
{
    const bool is_causal = args->attention.mask == ATTN_MASK_CAUSAL;
    const struct attn_key_row row = {.head = head,
                                     .query = query,
                                     .position =
                                         query + (is_causal ? args->n_key - args->n_query : 0),
                                     .n_key = args->n_key};
    int32_t *keys = malloc(args->n_key * sizeof *keys);
    struct attn_attention attention = args->attention;
    size_t n;

    if (attention.kind == ATTN_ATTENTION_STRIDED && attention.stride == 0)
        attention.stride = (size_t)ceil(sqrt((double)args->n_key));
    memset(counts, 0, args->n_key * sizeof *counts);
    n = attn_keys_list(&attention, &row, keys);
    for (size_t j = 0; j < n; j++)
        counts[keys[j]] = true;
    free(keys);
}

static double length(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static void reference(const struct attn_attend_args *args, int head, size_t query,
                      struct reference_row *row)
{
    const struct attn_attention *a = &args->attention;
    const size_t group = args->n_head / args->n_kv_head, kv = (size_t)head / group;
    const float *q = args->q + ((size_t)head * args->n_query + query) * args->d_head;
    const float *k = args->k + kv * args->n_key * args->d_head;
    const float *v = args->v + kv * args->n_key * args->d_value;
    const double scale = a->is_scaled ? 1 / (sqrt((double)args->d_head) + a->eps) : 1;
    double sum = 0;

    find_counting(args, head, query, row->counts);
    for (size_t j = 0; j < args->n_key; j++) {
        row->qk[j] = 0;
        for (size_t e = 0; e < args->d_head; e++)
            row->qk[j] += (double)q[e] * (double)k[j * args->d_head + e];
        if (a->similarity == ATTN_SIMILARITY_COSINE)
            row->qk[j] /= length(q, args->d_head) * length(k + j * args->d_head, args->d_head);
        row->scores[j] = row->qk[j] * scale;
        if (a->masking == ATTN_MASKING_INF && !row->counts[j])
            row->scores[j] = -(double)INFINITY;
    }
    memcpy(row->pattern, row->scores, args->n_key * sizeof *row->pattern);
    attn_reference_softmax(row->pattern, args->n_key, args->n_key, 1);
    for (size_t j = 0; j < args->n_key; j++) {
        row->pattern[j] = row->counts[j] ? row->pattern[j] : 0;
        sum += row->pattern[j];
    }
    for (size_t j = 0; a->masking == ATTN_MASKING_RENORMALIZE && sum > 0 && j < args->n_key; j++)
        row->pattern[j] /= sum;
    for (size_t e = 0; e < args->d_value; e++) {
        row->z[e] = 0;
        for (size_t j = 0; j < args->n_key; j++)
            row->z[e] += row->pattern[j] * (double)v[j * args->d_value + e];
    }
}

/* Compares all that ARGS gives with the definition. Cells of qk that a sparse kind leaves out are
 * not computed. */
static void check(const char *what, const struct attn_attend_args *args)
{
    const double tolerance = 2e-6;
    struct attn_recording *recording = attend(args);
    const float *qk = attn_recording_find(recording, ATTN_SITE_QK, 0)->data;
    const float *scores = attn_recording_find(recording, ATTN_SITE_ATTN_SCORES, 0)->data;
    const float *pattern = attn_recording_find(recording, ATTN_SITE_PATTERN, 0)->data;
    const struct attn_recorded *z = attn_recording_find(recording, ATTN_SITE_Z, 0);
    struct reference_row row = {.qk = malloc(args->n_key * sizeof(double)),
                                .scores = malloc(args->n_key * sizeof(double)),
                                .pattern = malloc(args->n_key * sizeof(double)),
                                .z = malloc(args->d_value * sizeof(double)),
                                .counts = malloc(args->n_key * sizeof(bool))};

    for (size_t h = 0; h < args->n_head; h++)
        for (size_t i = 0; i < args->n_query; i++) {
            const size_t at = (h * args->n_query + i) * args->n_key;

            reference(args, (int)h, i, &row);
            for (size_t j = 0; j < args->n_key; j++)
                if (row.counts[j])
                    attn_assert_near(what, qk + at + j, row.qk + j, 1, tolerance);
            attn_assert_near("scores", scores + at, row.scores, args->n_key, tolerance);
            attn_assert_near("pattern", pattern + at, row.pattern, args->n_key, tolerance);
            attn_assert_near(what, z->data + (i * args->n_head + h) * args->d_value, row.z,
                             args->d_value, tolerance);
        }
    free(row.qk);
    free(row.scores);
    free(row.pattern);
    free(row.z);
    free(row.counts);
    forget(recording);
}

static const char *const kinds[] = {"full",       "window:1",     "window:40",  "strided",
                                    "strided:3",  "log",          "random:1:7", "random:9:8",
                                    "block:1",    "block:33",     "hybrid:2:9", "hybrid:70:5",
                                    "window:500", "random:500:1", "block:500"};

static void set_kind(struct attn_attention *attention, const char *kind)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_attention_parse(kind, attention, &err) == ATTN_OK, "%s", err.message);
}

START_TEST(every_kind_is_its_definition)
{
    /* heads, key/value heads, queries, keys, d_head, d_value: odd on purpose */
    static const size_t sizes[][6] = {
        {1, 1, 1, 1, 1, 1}, {3, 1, 70, 70, 5, 3}, {2, 2, 33, 101, 16, 20}, {4, 2, 65, 65, 7, 70}};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t *n = sizes[s];
        struct input input = make_input(n[0], n[1], n[2], n[3], n[4], n[5]);

        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            set_kind(&input.args.attention, kinds[i]);
            for (int mask = ATTN_MASK_CAUSAL; mask <= ATTN_MASK_NONE; mask++) {
                input.args.attention.mask = (enum attn_mask)mask;
                check(kinds[i], &input.args);
            }
        }
        free_input(&input);
    }
}
END_TEST

START_TEST(scale_eps_and_similarity_are_their_definitions)
{
    struct input input = make_input(2, 1, 20, 37, 6, 4);
    struct attn_attention *a = &input.args.attention;

    for (int kind = 0; kind < 2; kind++) {
        set_kind(a, kind == 0 ? "full" : "strided:4");
        a->is_scaled = false;
        check("no scale", &input.args);
        a->is_scaled = true;
        a->eps = 0.5;
        check("eps", &input.args);
        a->eps = 0;
        a->similarity = ATTN_SIMILARITY_COSINE;
        check("cosine", &input.args);
        a->similarity = ATTN_SIMILARITY_DOT;
    }
    free_input(&input);
}
END_TEST

/* Cells of 0 and 1; row 3 of every head may look at nothing. */
static unsigned char *make_mask(size_t n_head, size_t n_query, size_t n_key)
{
    unsigned char *cells = malloc(n_head * n_query * n_key);
    uint64_t state = 5;

    ck_assert_ptr_nonnull(cells);
    for (size_t i = 0; i < n_head * n_query * n_key; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        cells[i] = (i / n_key) % n_query != 3 && (state >> 62) != 0;
    }
    return cells;
}

START_TEST(a_mask_of_cells_and_all_three_maskings_are_their_definitions)
{
    struct input input = make_input(3, 3, 40, 90, 8, 5);
    unsigned char *cells = make_mask(3, 40, 90);
    struct attn_attention *a = &input.args.attention;

    for (int masking = ATTN_MASKING_INF; masking <= ATTN_MASKING_ZERO; masking++) {
        a->masking = (enum attn_masking)masking;
        a->mask = ATTN_MASK_CAUSAL;
        check("causal", &input.args);
        for (size_t n_head = 1; n_head <= 3; n_head += 2) {
            a->mask = ATTN_MASK_MATRIX;
            a->matrix = (struct attn_mask_matrix){cells, n_head, 40, 90};
            check("cells", &input.args);
        }
    }
    a->masking = ATTN_MASKING_INF;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        set_kind(a, kinds[i]);
        check(kinds[i], &input.args);
    }
    free(cells);
    free_input(&input);
}
END_TEST

START_TEST(a_row_that_may_look_at_nothing_is_zero)
{
    struct input input = make_input(1, 1, 5, 6, 4, 3);
    unsigned char *cells = make_mask(1, 5, 6);
    struct attn_recording *recording;
    const float zeros[6] = {0};

    input.args.attention.mask = ATTN_MASK_MATRIX;
    input.args.attention.matrix = (struct attn_mask_matrix){cells, 1, 5, 6};
    for (int masking = ATTN_MASKING_INF; masking <= ATTN_MASKING_ZERO; masking++) {
        input.args.attention.masking = (enum attn_masking)masking;
        recording = attend(&input.args);
        attn_assert_same_bits(
            "pattern", attn_recording_find(recording, ATTN_SITE_PATTERN, 0)->data + 18, zeros, 6);
        attn_assert_same_bits("z", attn_recording_find(recording, ATTN_SITE_Z, 0)->data + 9, zeros,
                              3);
        forget(recording);
    }
    free(cells);
    free_input(&input);
}
END_TEST

START_TEST(kinds_that_keep_every_key_give_the_bits_of_full)
{
    static const char *const whole[] = {"window:77", "strided:77",  "random:77:3",
                                        "block:77",  "hybrid:77:2", "hybrid:1:1",
                                        "strided:1", "sink:1:77",   "sink:77:1"};
    struct input input = make_input(2, 1, 77, 77, 12, 9);

    for (int mask = ATTN_MASK_CAUSAL; mask <= ATTN_MASK_NONE; mask++) {
        struct attn_recording *full;

        input.args.attention.mask = (enum attn_mask)mask;
        set_kind(&input.args.attention, "full");
        full = attend(&input.args);
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
            struct attn_recording *sparse;

            set_kind(&input.args.attention, whole[i]);
            sparse = attend(&input.args);
            for (int site = ATTN_SITE_ATTN_SCORES; site <= ATTN_SITE_Z; site++) {
                const struct attn_recorded *a = attn_recording_find(full, site, 0);

                if (a->data != NULL)
                    attn_assert_same_bits(whole[i], attn_recording_find(sparse, site, 0)->data,
                                          a->data, a->n);
            }
            forget(sparse);
        }
        forget(full);
    }
    free_input(&input);
}
END_TEST

START_TEST(dropout_is_the_stream_of_torch_over_all_weights)
{
    struct input input = make_input(3, 1, 7, 11, 4, 3);
    struct attn_recording *plain, *dropped;
    struct attn_random random;
    const float *pattern, *kept;
    const float factor = 1.0F / (float)(1 - 0.3);

    input.args.attention.mask = ATTN_MASK_NONE;
    plain = attend(&input.args);
    input.args.attention.dropout = 0.3;
    input.args.attention.dropout_seed = 123;
    dropped = attend(&input.args);
    attn_random_seed(&random, 123);
    pattern = attn_recording_find(plain, ATTN_SITE_PATTERN, 0)->data;
    kept = attn_recording_find(dropped, ATTN_SITE_PATTERN_DROPPED, 0)->data;
    for (size_t i = 0; i < 3 * 7 * 11; i++) {
        const float expected = attn_random_bernoulli(&random, 1 - 0.3) ? pattern[i] * factor : 0;

        ck_assert_msg(kept[i] == expected, "weight %zu is %g, expected %g", i, (double)kept[i],
                      (double)expected);
    }
    for (size_t h = 0; h < 3; h++)
        for (size_t i = 0; i < 7; i++)
            for (size_t e = 0; e < 3; e++) {
                const struct attn_recorded *z = attn_recording_find(dropped, ATTN_SITE_Z, 0);
                double sum = 0;

                for (size_t j = 0; j < 11; j++)
                    sum += (double)kept[(h * 7 + i) * 11 + j] * (double)input.v[j * 3 + e];
                attn_assert_near("z", z->data + (i * 3 + h) * 3 + e, &sum, 1, 1e-6);
            }
    forget(plain);
    forget(dropped);
    free_input(&input);
}
END_TEST

/* A layer of a model draws other keys than layer 0, and from a stream that is on its way. */
START_TEST(draws_are_those_of_the_layer_that_arrays_stand_for)
{
    enum { T = 7, S = 11 };
    struct input input = make_input(3, 3, T, S, 4, 3);
    struct attn_recording *all, *last;
    int32_t keys[S];

    input.args.attention.mask = ATTN_MASK_NONE;
    input.args.attention.kind = ATTN_ATTENTION_RANDOM;
    input.args.attention.count = 4;
    input.args.random_layer = 2;
    all = attend(&input.args);
    for (size_t i = 0; i < 3 * T; i++) {
        const struct attn_key_row row = {
            .layer = 2, .head = (int)(i / T), .query = i % T, .position = i % T, .n_key = S};
        const float *weights = attn_recording_find(all, ATTN_SITE_PATTERN, 0)->data + i * S;
        const size_t n = attn_keys_list(&input.args.attention, &row, keys);

        for (size_t j = 0; j < n; j++)
            ck_assert(weights[keys[j]] > 0);
    }
    forget(all);

    input.args.attention = ATTN_ATTENTION_DEFAULT;
    input.args.attention.mask = ATTN_MASK_NONE;
    input.args.attention.dropout = 0.3;
    all = attend(&input.args);
    input.args.n_head = input.args.n_kv_head = 1; /* the last of three heads */
    input.args.q += 2 * T * 4;
    input.args.k += 2 * S * 4;
    input.args.v += 2 * S * 3;
    input.args.n_drawn = 2 * T * S;
    last = attend(&input.args);
    attn_assert_same_bits("dropped", attn_recording_find(last, ATTN_SITE_PATTERN_DROPPED, 0)->data,
                          attn_recording_find(all, ATTN_SITE_PATTERN_DROPPED, 0)->data + 2 * T * S,
                          T * S);
    forget(all);
    forget(last);
    free_input(&input);
}
END_TEST

START_TEST(given_weights_stay_and_others_go)
{
    struct input input = make_input(2, 2, 6, 40, 4, 3);
    unsigned char *cells = make_mask(1, 6, 40);
    static const char *const some[] = {"full", "window:5", "log"};

    input.args.attention.dropout_mask = (struct attn_mask_matrix){cells, 1, 6, 40};
    for (size_t s = 0; s < 2 * sizeof some / sizeof *some; s++) {
        const char *kind = some[s / 2];
        const float factor = s % 2 == 0 ? 2 : 1; /* without a share none is divided by */
        struct attn_recording *recording;
        const float *pattern, *kept;

        input.args.attention.dropout = s % 2 == 0 ? 0.5 : 0;
        set_kind(&input.args.attention, kind);
        recording = attend(&input.args);
        pattern = attn_recording_find(recording, ATTN_SITE_PATTERN, 0)->data;
        kept = attn_recording_find(recording, ATTN_SITE_PATTERN_DROPPED, 0)->data;
        for (size_t i = 0; i < 2 * 6 * 40; i++)
            ck_assert_msg(kept[i] == (cells[i % (6 * 40)] != 0 ? factor * pattern[i] : 0),
                          "%s: weight %zu", kind, i);
        forget(recording);
    }
    free(cells);
    free_input(&input);
}
END_TEST

START_TEST(scores_may_be_given_in_place_of_queries_and_keys)
{
    struct input input = make_input(2, 1, 9, 70, 4, 3);
    struct attn_attend_args given = input.args;
    static const char *const some[] = {"full", "window:5", "strided:4"};

    for (size_t s = 0; s < sizeof some / sizeof *some; s++) {
        struct attn_recording *from_keys, *from_scores;

        set_kind(&input.args.attention, "full");
        input.args.attention.mask = ATTN_MASK_NONE;
        from_keys = attend(&input.args);
        set_kind(&input.args.attention, some[s]);
        input.args.attention.mask = ATTN_MASK_CAUSAL;
        given.q = given.k = NULL;
        given.scores = attn_recording_find(from_keys, ATTN_SITE_ATTN_SCORES, 0)->data;
        given.d_head = 1;
        given.attention = input.args.attention;
        from_scores = attend(&given);
        forget(from_keys);
        from_keys = attend(&input.args);
        attn_assert_same_bits(some[s], attn_recording_find(from_scores, ATTN_SITE_Z, 0)->data,
                              attn_recording_find(from_keys, ATTN_SITE_Z, 0)->data, 2 * 9 * 3);
        forget(from_keys);
        forget(from_scores);
    }
    free_input(&input);
}
END_TEST

static double phi(enum attn_feature feature, float x)
{
    const double y = (double)x;

    switch (feature) {
    case ATTN_FEATURE_ELU:
        return y > 0 ? y + 1 : exp(y);
    case ATTN_FEATURE_RELU:
        return (y > 0 ? y : 0) + 1e-6;
    default:
        return exp(y);
    }
}

/* Linear attention of one row by the definition. */
static void reference_linear(const struct attn_attend_args *args, size_t head, size_t query,
                             struct reference_row *row)
{
    const struct attn_attention *a = &args->attention;
    const size_t kv = head / (args->n_head / args->n_kv_head), d = args->d_head;
    const float *q = args->q + (head * args->n_query + query) * d;
    const float *k = args->k + kv * args->n_key * d;
    const float *v = args->v + kv * args->n_key * args->d_value;
    const bool is_causal = a->mask == ATTN_MASK_CAUSAL;
    const size_t n = is_causal ? query + args->n_key - args->n_query + 1 : args->n_key;
    double sum = 0;

    for (size_t j = 0; j < args->n_key; j++) {
        row->pattern[j] = 0;
        for (size_t e = 0; e < d && j < n; e++)
            row->pattern[j] += phi(a->feature, q[e]) * phi(a->feature, k[j * d + e]);
        sum += row->pattern[j];
    }
    for (size_t j = 0; j < args->n_key && !a->is_raw; j++)
        row->pattern[j] /= sum;
    for (size_t e = 0; e < args->d_value; e++) {
        row->z[e] = 0;
        for (size_t j = 0; j < args->n_key; j++)
            row->z[e] += row->pattern[j] * (double)v[j * args->d_value + e];
    }
}

static void check_linear(const char *what, const struct attn_attend_args *args)
{
    struct attn_recording *recording = attend(args);
    const struct attn_recorded *pattern = attn_recording_find(recording, ATTN_SITE_PATTERN, 0);
    const struct attn_recorded *z = attn_recording_find(recording, ATTN_SITE_Z, 0);
    struct reference_row row = {.pattern = malloc(args->n_key * sizeof(double)),
                                .z = malloc(args->d_value * sizeof(double))};

    for (size_t h = 0; h < args->n_head; h++)
        for (size_t i = 0; i < args->n_query; i++) {
            reference_linear(args, h, i, &row);
            attn_assert_near(what, pattern->data + (h * args->n_query + i) * args->n_key,
                             row.pattern, args->n_key, 2e-6);
            attn_assert_near(what, z->data + (i * args->n_head + h) * args->d_value, row.z,
                             args->d_value, args->attention.is_raw ? 2e-5 : 3e-6);
        }
    free(row.pattern);
    free(row.z);
    forget(recording);
}

static const char *const linear_kinds[] = {"linear", "linear:relu", "linear:exp", "linear:elu:raw"};

START_TEST(linear_attention_is_its_definition)
{
    struct input input = make_input(4, 2, 70, 90, 7, 5);

    for (size_t i = 0; i < sizeof linear_kinds / sizeof *linear_kinds; i++) {
        set_kind(&input.args.attention, linear_kinds[i]);
        for (int mask = ATTN_MASK_CAUSAL; mask <= ATTN_MASK_NONE; mask++) {
            input.args.attention.mask = (enum attn_mask)mask;
            check_linear(linear_kinds[i], &input.args);
        }
    }
    free_input(&input);
}
END_TEST

/* x [n, d] of a head mixed by a map [r, n]. */
static float *mix(const float *map, size_t r, const float *x, size_t n, size_t d)
{
    float *y = malloc(r * d * sizeof *y);

    for (size_t i = 0; i < r; i++)
        for (size_t c = 0; c < d; c++) {
            double sum = 0;

            for (size_t j = 0; j < n; j++)
                sum += (double)map[i * n + j] * (double)x[j * d + c];
            y[i * d + c] = (float)sum;
        }
    return y;
}

START_TEST(low_rank_attention_is_full_attention_over_mixtures)
{
    enum { T = 40, S = 90, D = 6, DV = 4 };
    static const char *const ranks[] = {"lowrank:1:5", "lowrank:20:6", "lowrank:90:7"};
    static const size_t r[] = {1, 20, S};

    for (size_t i = 0; i < 3; i++) {
        struct input input = make_input(1, 1, T, S, D, DV);
        float *maps = malloc(2 * r[i] * S * sizeof *maps);
        struct attn_recording *lowrank, *full;
        double *wide = malloc(T * (r[i] + DV) * sizeof *wide);
        float *k = input.k, *v = input.v;

        input.args.attention.mask = ATTN_MASK_NONE;
        set_kind(&input.args.attention, ranks[i]);
        lowrank = attend(&input.args);
        attn_lowrank_draw(5 + i, r[i], S, maps, maps + r[i] * S);
        input.args.k = input.k = mix(maps, r[i], k, S, D);
        input.args.v = input.v = mix(maps + r[i] * S, r[i], v, S, DV);
        input.args.n_key = r[i];
        set_kind(&input.args.attention, "full");
        full = attend(&input.args);
        attn_reference_widen(attn_recording_find(full, ATTN_SITE_PATTERN, 0)->data, T * r[i], wide);
        attn_assert_near(ranks[i], attn_recording_find(lowrank, ATTN_SITE_PATTERN_LOWRANK, 0)->data,
                         wide, T * r[i], 2e-6);
        attn_reference_widen(attn_recording_find(full, ATTN_SITE_Z, 0)->data, (size_t)T * DV, wide);
        attn_assert_near(ranks[i], attn_recording_find(lowrank, ATTN_SITE_Z, 0)->data, wide,
                         (size_t)T * DV, 5e-6);
        ck_assert_ptr_null(attn_recording_find(lowrank, ATTN_SITE_PATTERN, 0)->data);
        forget(lowrank);
        forget(full);
        free(maps);
        free(wide);
        free(k);
        free(v);
        free_input(&input);
    }
}
END_TEST

START_TEST(blockwise_attention_gives_the_same_matrix_and_z)
{
    struct input input = make_input(4, 2, 600, 1100, 16, 12);

    for (int mask = ATTN_MASK_CAUSAL; mask <= ATTN_MASK_NONE; mask++) {
        struct attn_recording *dense, *blocks;
        const struct attn_recorded *z, *pattern;
        double *wide;

        input.args.attention.mask = (enum attn_mask)mask;
        input.args.attention.algorithm = ATTN_ALGORITHM_DENSE;
        dense = attend(&input.args);
        input.args.attention.algorithm = ATTN_ALGORITHM_BLOCKWISE;
        blocks = attend(&input.args);
        pattern = attn_recording_find(dense, ATTN_SITE_PATTERN, 0);
        attn_assert_same_bits("pattern", attn_recording_find(blocks, ATTN_SITE_PATTERN, 0)->data,
                              pattern->data, pattern->n);
        z = attn_recording_find(dense, ATTN_SITE_Z, 0);
        wide = malloc(z->n * sizeof *wide);
        attn_reference_widen(z->data, z->n, wide);
        attn_assert_near("z", attn_recording_find(blocks, ATTN_SITE_Z, 0)->data, wide, z->n, 5e-7);
        free(wide);
        forget(dense);
        forget(blocks);
    }
    free_input(&input);
}
END_TEST

/* z of all heads, with nothing else watched. */
static void find_z(struct attn_attend_args args, struct attn_recording *recording)
{
    const struct attn_dims dims = attn_attend_dims(&args);
    struct attn_error err = {0};

    attn_recording_init_dims(recording, &dims);
    ck_assert(attn_selection_set_sites(recording->selection, ATTN_SITES(ATTN_SITE_Z), &err) ==
              ATTN_OK);
    args.trace = &recording->trace;
    ck_assert_msg(attn_attend(&args, &err) == ATTN_OK, "%s", err.message);
}

static const char *const every_kind[] = {"full",       "window:40",       "strided",     "log",
                                         "random:9:8", "block:33",        "hybrid:2:9",  "linear",
                                         "linear:exp", "linear:relu:raw", "lowrank:20:3"};

START_TEST(watching_threads_and_instructions_change_no_bit)
{
    struct input input = make_input(4, 2, 150, 150, 20, 18);
    struct attn_error err = {0};
    struct attn_pool *pool;

    ck_assert(attn_pool_create(3, &pool, &err) == ATTN_OK);
    for (size_t i = 0; i < sizeof every_kind / sizeof *every_kind; i++) {
        struct attn_recording *watched, bare;
        const struct attn_recorded *z;

        set_kind(&input.args.attention, every_kind[i]);
        input.args.attention.mask =
            strncmp(every_kind[i], "lowrank", 7) == 0 ? ATTN_MASK_NONE : ATTN_MASK_CAUSAL;
        input.args.pool = NULL;
        input.args.isa = ATTN_ISA_BEST;
        input.args.gemm = ATTN_GEMM_JIT;
        watched = attend(&input.args);
        z = attn_recording_find(watched, ATTN_SITE_Z, 0);
        for (int isa = ATTN_ISA_BASELINE; isa <= ATTN_ISA_BEST; isa++) {
            input.args.pool = pool;
            input.args.isa = (enum attn_isa)isa;
            input.args.gemm = ATTN_GEMM_PORTABLE;
            find_z(input.args, &bare);
            attn_assert_same_bits(every_kind[i], attn_recording_find(&bare, ATTN_SITE_Z, 0)->data,
                                  z->data, z->n);
            attn_recording_release(&bare);
        }
        forget(watched);
    }
    attn_pool_free(pool);
    free_input(&input);
}
END_TEST

START_TEST(only_selected_heads_and_rows_are_told)
{
    struct input input = make_input(4, 2, 100, 100, 8, 8);
    struct attn_dims dims = attn_attend_dims(&input.args);
    struct attn_recording some, *all;
    struct attn_error err = {0};

    set_kind(&input.args.attention, "log");
    all = attend(&input.args);
    attn_recording_init_dims(&some, &dims);
    ck_assert(attn_selection_set_heads(some.selection, "1,2", &err) == ATTN_OK);
    ck_assert(attn_selection_set_queries(some.selection, ATTN_STACK_ONLY, "3,40-42,-1", &err) ==
              ATTN_OK);
    input.args.trace = &some.trace;
    ck_assert_msg(attn_attend(&input.args, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(attn_recording_find(&some, ATTN_SITE_PATTERN, 0)->n_row_told, 2 * 5);
    ck_assert_uint_eq(attn_recording_find(&some, ATTN_SITE_Z, 0)->n_row_told, 2 * 5);
    for (size_t h = 1; h <= 2; h++)
        attn_assert_same_bits(
            "row 41", attn_recording_find(&some, ATTN_SITE_PATTERN, 0)->data + (h * 100 + 41) * 100,
            attn_recording_find(all, ATTN_SITE_PATTERN, 0)->data + (h * 100 + 41) * 100, 100);
    attn_recording_release(&some);
    forget(all);
    free_input(&input);
}
END_TEST

START_TEST(sizes_that_do_not_go_together_are_refused)
{
    struct input input = make_input(4, 2, 10, 10, 4, 4);
    const struct attn_dims dims = attn_attend_dims(&input.args);
    struct attn_recording recording;
    struct attn_attend_args args;
    struct attn_error err = {0};
    unsigned char cells[100];

    memset(cells, 1, sizeof cells);
    attn_recording_init_dims(&recording, &dims);
    input.args.trace = &recording.trace;
    args = input.args;
    args.n_kv_head = 3;
    ck_assert(attn_attend(&args, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "4 query heads cannot share 3 key/value heads evenly");
    args = input.args;
    err = (struct attn_error){0};
    args.n_key = 9;
    ck_assert(attn_attend(&args, &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "10 queries of 9 keys cannot be causal"));
    args = input.args;
    err = (struct attn_error){0};
    args.attention.mask = ATTN_MASK_MATRIX;
    args.attention.matrix = (struct attn_mask_matrix){cells, 1, 10, 9};
    ck_assert(attn_attend(&args, &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "the mask is [1, 10, 9]"));
    attn_recording_release(&recording);
    free_input(&input);
}
END_TEST

/* Watches SITE alone, and returns how many of its rows are said not to be finite. */
static size_t count_not_finite(const struct attn_attend_args *args, enum attn_site site)
{
    const struct attn_dims dims = attn_attend_dims(args);
    struct attn_attend_args counted = *args;
    struct attn_recording recording;
    struct attn_error err = {0};
    size_t n = 99;

    attn_recording_init_dims(&recording, &dims);
    ck_assert(attn_selection_set_sites(recording.selection, ATTN_SITES(site), &err) == ATTN_OK);
    counted.trace = &recording.trace;
    counted.n_not_finite = &n;
    ck_assert_msg(attn_attend(&counted, &err) == ATTN_OK, "%s", err.message);
    attn_recording_release(&recording);
    return n;
}

START_TEST(rows_that_overflow_are_counted)
{
    static const enum attn_site sites[] = {ATTN_SITE_Z, ATTN_SITE_PATTERN, ATTN_SITE_QK,
                                           ATTN_SITE_ATTN_SCORES};
    struct input input = make_input(2, 1, 5, 7, 1, 3);

    input.args.attention.mask = ATTN_MASK_CAUSAL; /* whose masked scores are -inf */
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        ck_assert_uint_eq(count_not_finite(&input.args, sites[i]), 0);
    input.q[5 + 3] = 1e20F; /* query 3 of the second head, which sees keys 0 .. 5 */
    input.k[1] = 1e20F;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        ck_assert_uint_eq(count_not_finite(&input.args, sites[i]), 1);
    set_kind(&input.args.attention, "window:4"); /* which leaves it keys 2 .. 5 */
    ck_assert_uint_eq(count_not_finite(&input.args, ATTN_SITE_PATTERN), 0);
    set_kind(&input.args.attention, "window:5");
    ck_assert_uint_eq(count_not_finite(&input.args, ATTN_SITE_PATTERN), 1);
    free_input(&input);
}
END_TEST

static enum attn_status stop(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    (void)event;
    ++*(int *)user;
    return attn_error_set(err, ATTN_IO, "enough");
}

START_TEST(a_trace_that_fails_ends_it)
{
    struct input input = make_input(4, 2, 40, 40, 4, 4);
    const struct attn_dims dims = attn_attend_dims(&input.args);
    struct attn_selection *selection;
    struct attn_error err = {0};
    int n_call = 0;
    struct attn_trace trace = {.on_event = stop, .user = &n_call};

    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    trace.selection = selection;
    input.args.trace = &trace;
    ck_assert(attn_attend(&input.args, &err) == ATTN_IO);
    ck_assert_str_eq(err.message, "enough");
    ck_assert_int_eq(n_call, 1);
    attn_selection_free(selection);
    free_input(&input);
}
END_TEST

/* The matrices and z of INPUT's attention in bfloat16 are those in float32, or near them. */
static void check_rounded(struct input *input, bool is_rounded)
{
    struct attn_recording *exact, *rounded;
    const struct attn_recorded *x, *y;
    double worst = 0;

    input->args.compute = ATTN_COMPUTE_F32;
    exact = attend(&input->args);
    input->args.compute = ATTN_COMPUTE_BF16;
    rounded = attend(&input->args);
    x = attn_recording_find(exact, ATTN_SITE_Z, 0);
    y = attn_recording_find(rounded, ATTN_SITE_Z, 0);
    for (size_t i = 0; i < x->n; i++)
        worst = fmax(worst, fabs((double)x->data[i] - (double)y->data[i]));
    ck_assert_double_lt(worst, 0.05);
    ck_assert_msg((worst > 1e-4) == is_rounded, "z differs by %g", worst);
    if (!is_rounded)
        attn_assert_same_recording("bfloat16", rounded, exact);
    forget(rounded);
    forget(exact);
}

START_TEST(exact_attention_is_rounded_where_the_processor_gains_by_it)
{
    const struct attn_gemm_engine engine =
        attn_gemm_engine_start_for(ATTN_COMPUTE_BF16, ATTN_GEMM_AUTO, ATTN_ISA_BEST, 0);
    struct input input = make_input(4, 2, 37, 70, 24, 20);

    check_rounded(&input, attn_gemm_rounds_attention(&engine, ATTN_COMPUTE_BF16));
    input.args.attention.algorithm = ATTN_ALGORITHM_BLOCKWISE;
    check_rounded(&input, false);
    input.args.attention.algorithm = ATTN_ALGORITHM_AUTO;
    input.args.gemm = ATTN_GEMM_PORTABLE;
    check_rounded(&input, false);
    free_input(&input);
}
END_TEST

ATTN_SUITE("attend", every_kind_is_its_definition, scale_eps_and_similarity_are_their_definitions,
           a_mask_of_cells_and_all_three_maskings_are_their_definitions,
           a_row_that_may_look_at_nothing_is_zero, kinds_that_keep_every_key_give_the_bits_of_full,
           dropout_is_the_stream_of_torch_over_all_weights,
           draws_are_those_of_the_layer_that_arrays_stand_for, given_weights_stay_and_others_go,
           scores_may_be_given_in_place_of_queries_and_keys, linear_attention_is_its_definition,
           low_rank_attention_is_full_attention_over_mixtures,
           blockwise_attention_gives_the_same_matrix_and_z,
           watching_threads_and_instructions_change_no_bit, only_selected_heads_and_rows_are_told,
           exact_attention_is_rounded_where_the_processor_gains_by_it,
           rows_that_overflow_are_counted, sizes_that_do_not_go_together_are_refused,
           a_trace_that_fails_ends_it)
