/*
 * test_compare.c - comparisons against the same numbers found another way: from recordings of two
 * whole runs, and from lists of kept keys.
 */
#include "attention/attention_internal.h"
#include "attention/keys.h"
#include "attention/kind.h"
#include "attn.h"
#include "measures/analysis_internal.h"
#include "questions/compare.h"
#include "run/run_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/families.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_LAYER_MAX = 4, N_MAX = 128 };

/* A model, a text, what is chosen for it, and a comparison. */
struct setup {
    struct attn_model *model;
    const struct attn_config *config;
    int32_t ids[N_MAX];
    struct attn_attention attention[N_LAYER_MAX];
    struct attn_selection *selection;
    struct attn_host host;
    struct attn_run run;
    size_t n_recalled;
    struct attn_comparison *found;
};

/* N tokens of the model in DIRECTORY, KIND in all layers that attend to themselves. */
static void setup_open(struct setup *s, const char *directory, size_t n, const char *kind)
{
    struct attn_source source = {.directory = directory};
    struct attn_error err = {0};
    struct attn_dims dims;

    memset(s, 0, sizeof *s);
    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &s->model, &err) == ATTN_OK,
                  "%s", err.message);
    s->config = attn_model_config(s->model);
    ck_assert(n <= N_MAX && s->config->n_layer <= N_LAYER_MAX);
    for (size_t i = 0; i < n; i++)
        s->ids[i] = (int32_t)((i * i + 3 * i + 1) % s->config->n_vocab);
    for (size_t layer = 0; layer < s->config->n_layer; layer++) {
        s->attention[layer] = s->config->attention[layer];
        if (!s->config->is_cross[layer])
            ck_assert_msg(attn_attention_parse(kind, &s->attention[layer], &err) == ATTN_OK, "%s",
                          err.message);
    }
    dims = attn_config_dims(s->config, n);
    attn_attention_set_dims(s->attention, &dims);
    ck_assert(attn_selection_create(&dims, &s->selection, &err) == ATTN_OK);
    s->host.options.isa = ATTN_ISA_BEST;
    s->run.host = &s->host;
    s->run.model = s->model;
    s->run.text.ids = s->ids;
    s->run.text.n = n;
    s->run.attention.layers = s->attention;
    s->run.selection = s->selection;
    s->n_recalled = 5;
}

static void setup_compare(struct setup *s)
{
    struct attn_error err = {0};

    attn_comparison_free(s->found);
    ck_assert_msg(attn_compare(&s->run, s->n_recalled, &s->found, &err) == ATTN_OK, "%s",
                  err.message);
}

static void setup_close(struct setup *s)
{
    attn_comparison_free(s->found);
    attn_selection_free(s->selection);
    attn_model_free(s->model);
}

/* Records a whole run with ATTENTION. */
static void record(const struct setup *s, const struct attn_attention *attention,
                   struct attn_recording *recording)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_dims dims = attn_config_dims(s->config, s->run.text.n);
    struct attn_error err = {0};

    attn_attention_set_dims(attention, &dims);
    dims.sites =
        attn_sites_common(dims.sites, ATTN_SITES(ATTN_SITE_Q, ATTN_SITE_K, ATTN_SITE_V,
                                                 ATTN_SITE_PATTERN, ATTN_SITE_Z, ATTN_SITE_LOGITS));
    attn_recording_init_dims(recording, &dims);
    options.attention = attention;
    ck_assert_msg(attn_recording_run(recording, s->model, &options, s->ids, s->run.text.n, &err) ==
                      ATTN_OK,
                  "%s", err.message);
}

/* The exact run: what the config says, with the mask that was chosen. */
static void record_exact(const struct setup *s, struct attn_recording *recording)
{
    struct attn_attention exact[N_LAYER_MAX];

    for (size_t layer = 0; layer < s->config->n_layer; layer++) {
        exact[layer] = s->config->attention[layer];
        exact[layer].mask = s->attention[layer].mask;
        exact[layer].matrix = s->attention[layer].matrix;
    }
    record(s, exact, recording);
}

static void assert_near(const char *what, const struct attn_compared_row *head, double actual,
                        double expected)
{
    if (isinf(expected))
        ck_assert_msg(isinf(actual), "%s of %d.%d is %g, expected infinity", what, head->at.layer,
                      head->at.head, actual);
    else
        ck_assert_msg(fabs(actual - expected) <= 1e-6 * fmax(1, fabs(expected)),
                      "%s of %d.%d is %.9g, expected %.9g", what, head->at.layer, head->at.head,
                      actual, expected);
}

static const float *row_of(const struct attn_recording *recording, enum attn_site site, int layer,
                           size_t head, size_t row)
{
    const struct attn_recorded *r = attn_recording_find(recording, site, layer);

    ck_assert_ptr_nonnull(r->data);
    return site == ATTN_SITE_PATTERN ? r->data + (head * r->shape[1] + row) * r->shape[2]
                                     : r->data + (row * r->shape[1] + head) * r->shape[2];
}

/* The definitions over the whole matrices of two recordings, selected queries alone. */
static struct attn_difference from_recordings(const struct setup *s,
                                              const struct attn_recording *exact,
                                              const struct attn_recording *other, int layer,
                                              size_t head)
{
    const size_t n_key = attn_recording_find(exact, ATTN_SITE_PATTERN, layer)->shape[2];
    const size_t d = s->config->d_value;
    struct attn_difference found = {.values = {0}};
    double square = 0, error = 0, *values = found.values;
    size_t n = 0;

    for (size_t row = 0; row < s->run.text.n; row++) {
        const float *a = row_of(exact, ATTN_SITE_PATTERN, layer, head, row);
        const float *b = row_of(other, ATTN_SITE_PATTERN, layer, head, row);
        const float *z = row_of(exact, ATTN_SITE_Z, layer, head, row);
        const float *z_other = row_of(other, ATTN_SITE_Z, layer, head, row);
        double tv = 0, kl = 0, product = 0, length = 0, other_length = 0;

        if (!attn_selection_has_query(s->selection, ATTN_STACK_ONLY, row))
            continue;
        n++;
        for (size_t key = 0; key < n_key; key++) {
            tv += fabs((double)a[key] - (double)b[key]) / 2;
            if (a[key] > 0)
                kl += (double)a[key] * log((double)a[key] / (double)b[key]);
        }
        for (size_t i = 0; i < d; i++) {
            product += (double)z[i] * (double)z_other[i];
            length += (double)z[i] * (double)z[i];
            other_length += (double)z_other[i] * (double)z_other[i];
            error += ((double)z[i] - (double)z_other[i]) * ((double)z[i] - (double)z_other[i]);
        }
        values[ATTN_DIFFERENCE_TV] += tv;
        values[ATTN_DIFFERENCE_TV_MOST] = fmax(values[ATTN_DIFFERENCE_TV_MOST], tv);
        values[ATTN_DIFFERENCE_KL] += kl;
        if (other_length > 0) /* dropout may leave nothing of a row */
            values[ATTN_DIFFERENCE_Z_COSINE] += product / sqrt(length * other_length);
        square += length;
    }
    values[ATTN_DIFFERENCE_TV] /= (double)n;
    values[ATTN_DIFFERENCE_KL] /= (double)n;
    values[ATTN_DIFFERENCE_Z_COSINE] /= (double)n;
    values[ATTN_DIFFERENCE_Z_ERROR] = sqrt(error / square);
    return found;
}

static void assert_propagated(const struct setup *s, const struct attn_recording *exact,
                              const struct attn_recording *chosen)
{
    static const enum attn_difference_value measures[] = {
        ATTN_DIFFERENCE_TV, ATTN_DIFFERENCE_TV_MOST, ATTN_DIFFERENCE_KL, ATTN_DIFFERENCE_Z_ERROR,
        ATTN_DIFFERENCE_Z_COSINE};
    static const char *const names[] = {"tv", "tv_max", "kl", "z_error", "z_cosine"};

    for (size_t i = 0; i < s->found->n_head; i++) {
        const struct attn_compared_row *head = &s->found->heads[i];
        const struct attn_difference expected =
            from_recordings(s, exact, chosen, head->at.layer, (size_t)head->at.head);

        for (size_t j = 0; j < sizeof measures / sizeof *measures; j++)
            assert_near(names[j], head, head->propagated.values[measures[j]],
                        expected.values[measures[j]]);
    }
}

/* Exact weight of the keys that the chosen attention does not list, and what follows from it. */
static void assert_local(const struct setup *s, const struct attn_recording *exact)
{
    int32_t keys[N_MAX];

    for (size_t i = 0; i < s->found->n_head; i++) {
        const struct attn_compared_row *head = &s->found->heads[i];
        struct attn_attention attention = s->attention[head->at.layer];
        double lost = 0, kl_back = 0, n = 0;

        attn_attention_resolve_stride(&attention, s->run.text.n);
        for (size_t query = 0; query < s->run.text.n; query++) {
            const struct attn_key_row row = {.layer = head->at.layer,
                                             .head = head->at.head,
                                             .query = query,
                                             .position = query,
                                             .n_key = s->run.text.n};
            const float *a = row_of(exact, ATTN_SITE_PATTERN, head->at.layer, row.head, query);
            const size_t n_kept = attn_keys_list(&attention, &row, keys);
            double kept = 0;

            if (!attn_selection_has_query(s->selection, ATTN_STACK_ONLY, query))
                continue;
            for (size_t j = 0; j < n_kept; j++)
                kept += (double)a[keys[j]];
            n += 1;
            lost += 1 - kept;
            kl_back -= log(kept);
        }
        assert_near("mass_lost", head, head->local.values[ATTN_DIFFERENCE_MASS_LOST], lost / n);
        /* Fewer keys of the same scores: the rest is divided by what is left. */
        assert_near("tv", head, head->local.values[ATTN_DIFFERENCE_TV], lost / n);
        assert_near("kl_back", head, head->local.values[ATTN_DIFFERENCE_KL_BACK], kl_back / n);
        ck_assert_double_eq(head->local.values[ATTN_DIFFERENCE_ROWS],
                            (double)attn_selection_n_query(s->selection));
    }
}

static double kl_of(const float *exact, const float *other, size_t n)
{
    double sum = 0, other_sum = 0, kl = 0;

    for (size_t i = 0; i < n; i++) {
        sum += exp((double)exact[i]);
        other_sum += exp((double)other[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const double p = exp((double)exact[i]) / sum, q = exp((double)other[i]) / other_sum;

        kl += p * log(p / q);
    }
    return kl;
}

static void assert_logits(const struct setup *s, const struct attn_recording *exact,
                          const struct attn_recording *chosen)
{
    const struct attn_recorded *a = attn_recording_find(exact, ATTN_SITE_LOGITS, ATTN_NO_LAYER);
    const struct attn_recorded *b = attn_recording_find(chosen, ATTN_SITE_LOGITS, ATTN_NO_LAYER);
    const size_t n_vocab = s->config->n_vocab;
    size_t at = 0;

    for (size_t row = 0; row < s->run.text.n; row++) {
        const float *p = a->data + row * n_vocab, *q = b->data + row * n_vocab;
        const struct attn_compared_logits *found = &s->found->logits[at];

        if (!attn_selection_has_query(s->selection, ATTN_STACK_ONLY, row))
            continue;
        ck_assert_uint_lt(at++, s->found->n_logits);
        ck_assert_uint_eq(found->position, row);
        ck_assert_double_eq_tol(found->kl, kl_of(p, q, n_vocab), 1e-9);
        for (size_t i = 0; i < n_vocab; i++) {
            ck_assert(p[i] <= p[found->exact_first]);
            ck_assert(q[i] <= q[found->chosen_first]);
        }
    }
    ck_assert_uint_eq(at, s->found->n_logits);
}

/* Everything that recordings of both runs can tell. */
static void assert_found(const struct setup *s, bool is_sparse)
{
    struct attn_recording exact, chosen;

    record_exact(s, &exact);
    record(s, s->attention, &chosen);
    assert_propagated(s, &exact, &chosen);
    if (is_sparse)
        assert_local(s, &exact);
    if (s->config->output != ATTN_OUTPUT_NONE)
        assert_logits(s, &exact, &chosen);
    attn_recording_release(&exact);
    attn_recording_release(&chosen);
}

START_TEST(sparse_kinds_differ_as_two_recorded_runs_do)
{
    static const char *const kinds[] = {"window:5",   "strided", "log",
                                        "random:4:7", "block:6", "hybrid:2:9"};
    struct setup s;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        setup_open(&s, "tests/fixtures/gpt2-long", 70, kinds[i]);
        setup_compare(&s);
        assert_found(&s, true);
        setup_close(&s);
    }
}
END_TEST

START_TEST(random_keys_are_those_of_each_layer)
{
    struct setup s;

    setup_open(&s, "models/tiny-gpt2", 16, "random:4:7");
    ck_assert_uint_gt(s.config->n_layer, 1);
    setup_compare(&s);
    assert_found(&s, true);
    setup_close(&s);
}
END_TEST

START_TEST(other_ways_of_masking_are_compared_with_the_first)
{
    struct setup s;

    setup_open(&s, "models/tiny-gpt2", 16, "full");
    for (int masking = ATTN_MASKING_RENORMALIZE; masking <= ATTN_MASKING_ZERO; masking++) {
        for (size_t layer = 0; layer < s.config->n_layer; layer++)
            s.attention[layer].masking = (enum attn_masking)masking;
        setup_compare(&s);
        const double *local = s.found->all->local.values;
        ck_assert_double_eq(local[ATTN_DIFFERENCE_MASS_LOST], 0);
        if (masking == ATTN_MASKING_RENORMALIZE) /* the same but for rounding */
            ck_assert_double_le(local[ATTN_DIFFERENCE_Z_ERROR], 1e-6);
        else /* rows add to less than 1 */
            ck_assert_double_gt(local[ATTN_DIFFERENCE_TV], 0.1);
        ck_assert(isfinite(local[ATTN_DIFFERENCE_KL]));
    }
    setup_close(&s);
}
END_TEST

START_TEST(linear_kinds_differ_as_two_recorded_runs_do)
{
    static const char *const kinds[] = {"linear", "linear:relu", "linear:exp"};
    struct setup s;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        setup_open(&s, "models/tiny-gpt2", 16, kinds[i]);
        setup_compare(&s);
        assert_found(&s, false);
        for (size_t j = 0; j < s.found->n_head; j++) /* no pair is left out */
            ck_assert_double_eq(s.found->heads[j].local.values[ATTN_DIFFERENCE_MASS_LOST], 0);
        ck_assert_uint_eq(s.found->layers[0].chosen.n_pair, 0);
        ck_assert_uint_eq(s.found->layers[0].chosen.n_byte, s.config->n_head * s.config->d_head *
                                                                (s.config->d_value + 1) *
                                                                sizeof(float));
        setup_close(&s);
    }
}
END_TEST

START_TEST(both_errors_are_one_in_the_first_layer_and_two_from_then_on)
{
    struct setup s;

    setup_open(&s, "tests/fixtures/attn-only-2l", 12, "window:3");
    setup_compare(&s);
    ck_assert_uint_eq(s.found->n_layer, 2);
    for (size_t i = 0; i < s.found->n_head; i++) {
        const struct attn_compared_row *head = &s.found->heads[i];
        const double local = head->local.values[ATTN_DIFFERENCE_Z_ERROR];
        const double propagated = head->propagated.values[ATTN_DIFFERENCE_Z_ERROR];

        ck_assert_double_gt(local, 0);
        if (head->at.layer == 0)
            ck_assert_mem_eq(&head->local, &head->propagated, sizeof head->local);
        else
            ck_assert_double_gt(fabs(local - propagated), 1e-3);
    }
    setup_close(&s);
}
END_TEST

START_TEST(a_kind_that_keeps_everything_is_exact_attention)
{
    static const char *const kinds[] = {"window:70", "strided:70", "random:70", "block:70",
                                        "hybrid:70:2"};
    struct setup s;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        setup_open(&s, "tests/fixtures/gpt2-long", 70, kinds[i]);
        setup_compare(&s);
        for (int j = 0; j < ATTN_DIFFERENCE_ROWS; j++) {
            const bool is_one = j == ATTN_DIFFERENCE_RECALL || j == ATTN_DIFFERENCE_Z_COSINE;

            ck_assert_double_le(fabs(s.found->all->local.values[j] - is_one), is_one ? 1e-12 : 0);
            ck_assert_double_le(fabs(s.found->all->propagated.values[j] - is_one),
                                is_one ? 1e-12 : 0);
        }
        for (size_t j = 0; j < s.found->n_logits; j++) {
            ck_assert_double_eq(s.found->logits[j].kl, 0);
            ck_assert_int_eq(s.found->logits[j].exact_first, s.found->logits[j].chosen_first);
        }
        for (size_t j = 0; j < s.found->n_layer; j++)
            ck_assert_uint_eq(s.found->layers[j].exact.n_pair, s.found->layers[j].chosen.n_pair);
        setup_close(&s);
    }
}
END_TEST

START_TEST(tables_hold_what_was_found)
{
    struct setup s;
    struct attn_error err = {0};
    struct attn_labels labels = {0};
    struct attn_table *table;

    setup_open(&s, "models/tiny-gpt2", 9, "window:3");
    ck_assert(attn_selection_set_heads(s.selection, "1.2,2.0", &err) == ATTN_OK);
    setup_compare(&s);
    labels.selection = s.selection;
    labels.ids = s.ids;
    ck_assert(attn_comparison_tabulate(s.found, ATTN_COMPARISON_HEADS, &labels, NULL, &table,
                                       &err) == ATTN_OK);
    ck_assert_uint_eq(attn_table_n_row(table), 4); /* local and propagated of two heads */
    ck_assert_int_eq(attn_table_cell(table, 3, 0).integer, 2);
    ck_assert_int_eq(attn_table_cell(table, 3, 1).integer, 0);
    ck_assert_double_eq(attn_table_cell(table, 3, 3 + ATTN_DIFFERENCE_TV).real,
                        s.found->heads[1].propagated.values[ATTN_DIFFERENCE_TV]);
    ck_assert_int_eq(attn_table_cell(table, 0, 3 + ATTN_DIFFERENCE_ROWS).integer, 9);
    ck_assert_str_eq(attn_table_column(table, 3 + ATTN_DIFFERENCE_KL)->name, "kl");
    ck_assert_str_eq(attn_table_column(table, 3 + ATTN_DIFFERENCE_KL)->unit, "nats");
    attn_table_free(table);
    ck_assert(attn_comparison_tabulate(s.found, ATTN_COMPARISON_COSTS, &labels, NULL, &table,
                                       &err) == ATTN_OK);
    ck_assert_uint_eq(attn_table_n_row(table), 2);
    ck_assert_int_eq(attn_table_cell(table, 1, 2).integer,
                     (int64_t)s.found->layers[1].chosen.n_pair);
    attn_table_free(table);
    ck_assert(attn_comparison_tabulate(s.found, ATTN_COMPARISON_LOGITS, &labels, NULL, &table,
                                       &err) == ATTN_OK);
    ck_assert_uint_eq(attn_table_n_row(table), 9);
    ck_assert_double_eq(attn_table_cell(table, 8, 1).real, s.found->logits[8].kl);
    ck_assert_int_eq(attn_table_cell(table, 8, 4).type, ATTN_VALUE_MISSING); /* no tokenizer */
    attn_table_free(table);
    setup_close(&s);
}
END_TEST

START_TEST(exact_attention_is_not_compared_with_itself)
{
    struct setup s;
    struct attn_error err = {0};

    setup_open(&s, "tests/fixtures/attn-only-2l", 6, "full");
    ck_assert(attn_compare(&s.run, s.n_recalled, &s.found, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "the attention of every layer is exact, there is nothing to compare it with");
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    ck_assert_ptr_null(s.found);
    s.attention[1].dropout = 0.1; /* one layer is enough */
    setup_compare(&s);
    setup_close(&s);
}
END_TEST

/* So the exact rows are made of what scores are made of: queries and keys that were turned,
 * normalized, scaled and capped. */
START_TEST(blockwise_is_exact_in_every_family)
{
    static const char *const directories[] = {ATTN_FAMILY_DIRECTORIES};

    for (int i = 0; i < ATTN_N_FAMILY_DIRECTORY; i++) {
        struct setup s;

        setup_open(&s, directories[i], 20, "full");
        for (size_t layer = 0; layer < s.config->n_layer; layer++)
            if (s.config->attention[layer].kind == ATTN_ATTENTION_FULL)
                s.attention[layer].algorithm = ATTN_ALGORITHM_BLOCKWISE;
            else
                s.attention[layer] = s.config->attention[layer];
        if (strstr(directories[i], "mistral") != NULL) /* nothing but windows: one is longer */
            s.attention[1].window = 40;
        setup_compare(&s);
        for (size_t h = 0; h < s.found->n_head; h++) {
            const struct attn_compared_row *head = &s.found->heads[h];
            const bool is_longer = strstr(directories[i], "mistral") != NULL && head->at.layer == 1;

            ck_assert_msg((head->local.values[ATTN_DIFFERENCE_TV] < 1e-5) == !is_longer,
                          "%s, head %d.%d: %g", directories[i], head->at.layer, head->at.head,
                          head->local.values[ATTN_DIFFERENCE_TV]);
            ck_assert_msg((head->local.values[ATTN_DIFFERENCE_Z_ERROR] < 1e-5) == !is_longer,
                          "%s, head %d.%d: z is off by %g", directories[i], head->at.layer,
                          head->at.head, head->local.values[ATTN_DIFFERENCE_Z_ERROR]);
        }
        setup_close(&s);
    }
}
END_TEST

START_TEST(blockwise_is_exact_but_for_rounding)
{
    struct setup s;

    setup_open(&s, "tests/fixtures/gpt2-long", 70, "full");
    for (size_t layer = 0; layer < s.config->n_layer; layer++)
        s.attention[layer].algorithm = ATTN_ALGORITHM_BLOCKWISE;
    setup_compare(&s);
    ck_assert_double_le(s.found->all->local.values[ATTN_DIFFERENCE_Z_ERROR], 1e-6);
    ck_assert_double_le(s.found->all->propagated.values[ATTN_DIFFERENCE_Z_ERROR], 1e-5);
    ck_assert_double_le(s.found->all->local.values[ATTN_DIFFERENCE_TV], 1e-6);
    /* It is another order of sums. */
    ck_assert_double_gt(s.found->all->local.values[ATTN_DIFFERENCE_Z_ERROR], 0);
    ck_assert_double_eq(s.found->all->local.values[ATTN_DIFFERENCE_MASS_LOST], 0);
    ck_assert_uint_eq(s.found->layers[0].chosen.n_byte, s.config->n_head * 2 * 70 * sizeof(float));
    setup_close(&s);
}
END_TEST

START_TEST(what_is_selected_alone_is_compared)
{
    struct setup all, s;
    struct attn_error err = {0};

    setup_open(&all, "models/tiny-gpt2", 16, "window:4");
    setup_compare(&all);
    setup_open(&s, "models/tiny-gpt2", 16, "window:4");
    ck_assert(attn_selection_set_heads(s.selection, "1.2,2.0", &err) == ATTN_OK);
    setup_compare(&s);
    ck_assert_uint_eq(s.found->n_head, 2);
    ck_assert_uint_eq(s.found->n_layer, 2);
    ck_assert_mem_eq(&s.found->heads[0], &all.found->heads[5], sizeof *s.found->heads);
    ck_assert_mem_eq(&s.found->heads[1], &all.found->heads[6], sizeof *s.found->heads);
    ck_assert_mem_eq(&s.found->layers[0].local, &s.found->heads[0].local,
                     sizeof s.found->heads[0].local);

    ck_assert(attn_selection_set_queries(s.selection, ATTN_STACK_ONLY, "3,5-9,15", &err) ==
              ATTN_OK);
    setup_compare(&s);
    ck_assert_uint_eq(s.found->n_logits, 7);
    assert_found(&s, true);

    ck_assert(attn_selection_set_layers(s.selection, "0", &err) == ATTN_OK);
    ck_assert(attn_compare(&s.run, s.n_recalled, &s.found, &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "no head"));
    setup_close(&s);
    setup_close(&all);
}
END_TEST

START_TEST(masks_hold_for_both)
{
    enum { N = 12 };
    struct setup s;

    setup_open(&s, "tests/fixtures/attn-bidirectional", N, "log");
    ck_assert_int_eq(s.attention[0].mask, ATTN_MASK_NONE);
    setup_compare(&s);
    assert_found(&s, true);
    ck_assert_uint_eq(s.found->layers[0].exact.n_pair, s.config->n_head * N * N);
    setup_close(&s);

    setup_open(&s, "tests/fixtures/attn-only-2l", N, "window:4");
    unsigned char *cells = malloc(s.config->n_head * N * N);
    ck_assert_ptr_nonnull(cells);
    for (size_t i = 0; i < s.config->n_head * N * N; i++) /* others for each head, never the own */
        cells[i] = i / N % N == i % N || (i * 7 + i / (N * N)) % 3 != 0;
    for (size_t layer = 0; layer < s.config->n_layer; layer++) {
        s.attention[layer].mask = ATTN_MASK_MATRIX;
        s.attention[layer].matrix = (struct attn_mask_matrix){cells, s.config->n_head, N, N};
    }
    setup_compare(&s);
    assert_found(&s, true);
    setup_close(&s);
    free(cells);
}
END_TEST

START_TEST(rows_that_may_look_at_nothing_are_left_out)
{
    enum { N = 12 };
    unsigned char cells[N * N];
    struct setup s;

    setup_open(&s, "tests/fixtures/attn-only-2l", N, "window:4");
    memset(cells, 1, sizeof cells);
    memset(cells + 5 * N, 0, N);
    for (size_t layer = 0; layer < s.config->n_layer; layer++) {
        s.attention[layer].mask = ATTN_MASK_MATRIX;
        s.attention[layer].matrix = (struct attn_mask_matrix){cells, 1, N, N};
    }
    setup_compare(&s);
    ck_assert_double_eq(s.found->heads[0].local.values[ATTN_DIFFERENCE_ROWS], N - 1);
    ck_assert(isfinite(s.found->heads[0].local.values[ATTN_DIFFERENCE_RECALL]));
    setup_close(&s);
}
END_TEST

START_TEST(low_rank_attention_has_no_pattern_to_compare)
{
    struct setup s;

    setup_open(&s, "tests/fixtures/attn-bidirectional", 12, "lowrank:4:3");
    setup_compare(&s);
    ck_assert(isnan(s.found->all->local.values[ATTN_DIFFERENCE_TV]));
    ck_assert(isnan(s.found->all->propagated.values[ATTN_DIFFERENCE_RECALL]));
    ck_assert_double_gt(s.found->all->local.values[ATTN_DIFFERENCE_Z_ERROR], 0.01);
    ck_assert_uint_eq(s.found->layers[0].chosen.n_pair, s.config->n_head * 12 * 4);
    ck_assert_uint_eq(s.found->layers[0].chosen.n_byte,
                      s.config->n_head * 4 * (12 + s.config->d_head + s.config->d_value) *
                          sizeof(float));
    setup_close(&s);
}
END_TEST

/* Its draws depend on the layer, and local attention has to know which it stands for. */
START_TEST(dropout_draws_alike_alone_and_in_a_model)
{
    struct setup s;
    struct attn_recording exact, chosen;

    setup_open(&s, "tests/fixtures/attn-only-2l", 12, "full");
    s.attention[0].dropout_seed = 11; /* a session has one stream */
    s.attention[1].dropout = 0.4;     /* layer 0 is exact, so layer 1 has the exact inputs */
    for (int has_others = 0; has_others < 2; has_others++) {
        /* Weights that stay in spite of it: layer 0 draws, and is exact but for rounding. */
        s.attention[0].dropout = has_others ? 1e-9 : 0;
        setup_compare(&s);
        record_exact(&s, &exact);
        record(&s, s.attention, &chosen);
        for (size_t i = s.config->n_head; i < s.found->n_head; i++) {
            const struct attn_compared_row *head = &s.found->heads[i];

            ck_assert_double_gt(head->local.values[ATTN_DIFFERENCE_Z_ERROR], 0.01);
            assert_near("z_error", head, head->local.values[ATTN_DIFFERENCE_Z_ERROR],
                        head->propagated.values[ATTN_DIFFERENCE_Z_ERROR]);
        }
        assert_propagated(&s, &exact, &chosen);
        attn_recording_release(&exact);
        attn_recording_release(&chosen);
    }
    setup_close(&s);
}
END_TEST

START_TEST(a_source_is_attended_to_exactly)
{
    struct setup s;
    float source[5 * 64];

    setup_open(&s, "tests/fixtures/attn-cross", 7, "window:2");
    ck_assert_uint_le(s.config->d_source, 64);
    for (size_t i = 0; i < 5 * s.config->d_source; i++)
        source[i] = sinf((float)i);
    attn_selection_free(s.selection);
    struct attn_dims dims = attn_config_dims(s.config, 7);
    struct attn_error err = {0};
    dims.n_source = 5;
    ck_assert(attn_selection_create(&dims, &s.selection, &err) == ATTN_OK);
    s.run.selection = s.selection;
    s.run.source.rows = source;
    s.run.source.n = 5;
    setup_compare(&s);
    for (size_t i = 0; i < s.found->n_layer; i++) {
        const struct attn_compared_row *layer = &s.found->layers[i];
        const double error = layer->local.values[ATTN_DIFFERENCE_Z_ERROR];
        const size_t n_key = s.config->is_cross[layer->at.layer] ? 5 : 0;

        if (n_key > 0)
            ck_assert_uint_eq(layer->exact.n_pair, s.config->n_head * 7 * n_key);
        ck_assert(s.config->is_cross[layer->at.layer] ? !(error > 0) : error > 0);
    }
    setup_close(&s);
}
END_TEST

START_TEST(threads_change_nothing)
{
    struct setup s;
    struct attn_comparison *alone;
    struct attn_pool *pool;
    struct attn_error err = {0};

    setup_open(&s, "tests/fixtures/gpt2-long", 70, "random:5");
    setup_compare(&s);
    alone = s.found;
    s.found = NULL;
    ck_assert(attn_pool_create(3, &pool, &err) == ATTN_OK);
    s.host.pool = pool;
    setup_compare(&s);
    ck_assert_mem_eq(s.found->heads, alone->heads, s.found->n_head * sizeof *alone->heads);
    ck_assert_mem_eq(s.found->logits, alone->logits, s.found->n_logits * sizeof *alone->logits);
    attn_pool_free(pool);
    attn_comparison_free(alone);
    setup_close(&s);
}
END_TEST

static enum attn_status compare_arrays(const struct attn_attend_args *args,
                                       const struct attn_selection *selection,
                                       struct attn_comparison **found, struct attn_error *err)
{
    struct attn_host host = {.options.isa = ATTN_ISA_BEST};
    const struct attn_run run = {.host = &host, .arrays = *args, .selection = selection};

    return attn_compare(&run, 5, found, err);
}

START_TEST(arrays_are_compared_as_the_layer_they_came_from)
{
    enum { N = 16 };
    struct setup s;
    struct attn_recording exact;
    struct attn_comparison *found;
    struct attn_selection *selection;
    struct attn_error err = {0};
    float *arrays[3];

    setup_open(&s, "models/tiny-gpt2", N, "random:4");
    setup_compare(&s);
    record_exact(&s, &exact);
    for (int i = 0; i < 3; i++) { /* [T, H, n] to [H, T, n] */
        const struct attn_recorded *r =
            attn_recording_find(&exact, (enum attn_site)(ATTN_SITE_Q + i), 0);
        const size_t n_head = r->shape[1], d = r->shape[2];

        arrays[i] = malloc(r->n * sizeof(float));
        ck_assert_ptr_nonnull(arrays[i]);
        for (size_t row = 0; row < N * n_head; row++)
            memcpy(arrays[i] + (row % n_head * N + row / n_head) * d, r->data + row * d,
                   d * sizeof(float));
    }
    const struct attn_attend_args args = {.size = sizeof args,
                                          .n_head = s.config->n_head,
                                          .n_kv_head = s.config->n_kv_head,
                                          .n_query = N,
                                          .n_key = N,
                                          .d_head = s.config->d_head,
                                          .d_value = s.config->d_value,
                                          .q = arrays[0],
                                          .k = arrays[1],
                                          .v = arrays[2],
                                          .attention = s.attention[0],
                                          .isa = ATTN_ISA_BEST};
    const struct attn_dims dims = attn_attend_dims(&args);
    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert_msg(compare_arrays(&args, selection, &found, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(found->n_head, s.config->n_head);
    ck_assert(!found->has_propagated && found->n_logits == 0);
    for (size_t i = 0; i < found->n_head; i++)
        ck_assert_mem_eq(&found->heads[i].local, &s.found->heads[i].local,
                         sizeof found->heads[i].local);
    for (int i = 0; i < 3; i++)
        free(arrays[i]);
    attn_selection_free(selection);
    attn_comparison_free(found);
    attn_recording_release(&exact);
    setup_close(&s);
}
END_TEST

START_TEST(arrays_may_be_scores_or_have_more_keys_than_queries)
{
    enum { H = 2, T = 3, S = 8, E = 4 };
    float q[H * T * E], k[S * E], v[S * E], scores[H * T * S];
    struct attn_attend_args args = {.size = sizeof args,
                                    .n_head = H,
                                    .n_kv_head = 1,
                                    .n_query = T,
                                    .n_key = S,
                                    .d_head = E,
                                    .d_value = E,
                                    .q = q,
                                    .k = k,
                                    .v = v,
                                    .attention = ATTN_ATTENTION_DEFAULT,
                                    .isa = ATTN_ISA_BEST};
    struct attn_comparison *of_arrays, *of_scores;
    struct attn_selection *selection;
    struct attn_error err = {0};
    struct attn_dims dims;

    for (size_t i = 0; i < H * T * E; i++)
        q[i] = sinf((float)(3 * i));
    for (size_t i = 0; i < S * E; i++)
        k[i] = cosf((float)(5 * i)), v[i] = cosf((float)(7 * i));
    for (size_t row = 0; row < H * T; row++)
        for (size_t key = 0; key < S; key++) {
            float sum = 0;

            for (size_t i = 0; i < E; i++)
                sum = fmaf(q[row * E + i], k[key * E + i], sum);
            scores[row * S + key] = sum;
        }
    args.attention.kind = ATTN_ATTENTION_WINDOW;
    args.attention.window = 3;
    dims = attn_attend_dims(&args);
    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(compare_arrays(&args, selection, &of_arrays, &err) == ATTN_OK);
    /* The last query stands at the last key: 8 + 7 + 6 pairs are left by the mask, 3 by the kind */
    ck_assert_uint_eq(of_arrays->layers[0].exact.n_pair, H * 21);
    ck_assert_uint_eq(of_arrays->layers[0].chosen.n_pair, H * T * 3);

    args.q = args.k = NULL;
    args.scores = scores;
    args.d_head = 1;
    args.attention.factor = 0.5; /* 1/sqrt(E), which scores have no more */
    ck_assert_msg(compare_arrays(&args, selection, &of_scores, &err) == ATTN_OK, "%s", err.message);
    for (size_t head = 0; head < H; head++)
        ck_assert_mem_eq(&of_scores->heads[head].local, &of_arrays->heads[head].local,
                         sizeof of_arrays->heads[head].local);
    attn_comparison_free(of_arrays);
    attn_comparison_free(of_scores);
    attn_selection_free(selection);
}
END_TEST

START_TEST(embeddings_may_take_the_place_of_ids)
{
    enum { N = 9 };
    struct setup s;
    struct attn_comparison *of_ids;
    struct attn_error err = {0};

    setup_open(&s, "models/tiny-gpt2", N, "window:3");
    float *x = malloc(N * s.config->d_model * sizeof *x);
    ck_assert_ptr_nonnull(x);
    setup_compare(&s);
    of_ids = s.found;
    s.found = NULL;
    ck_assert(attn_model_embed(s.model, s.ids, N, x, &err) == ATTN_OK);
    s.run.text.ids = NULL;
    s.run.text.rows = x;
    setup_compare(&s);
    ck_assert_mem_eq(s.found->heads, of_ids->heads, of_ids->n_head * sizeof *of_ids->heads);
    attn_comparison_free(of_ids);
    free(x);
    setup_close(&s);
}
END_TEST

START_TEST(failures_leave_nothing_behind)
{
    struct setup s;
    struct attn_error err = {0};
    volatile sig_atomic_t cancel = 1;
    long n;

    setup_open(&s, "tests/fixtures/attn-only-2l", 6, "window:2");
    for (n = 0;; n++) {
        enum attn_status status;

        err = (struct attn_error){0};
        attn_alloc_fail_at(n);
        status = attn_compare(&s.run, s.n_recalled, &s.found, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_ptr_null(s.found);
    }
    ck_assert_int_gt(n, 30);
    attn_comparison_free(s.found);
    s.found = NULL;
    err = (struct attn_error){0};
    s.host.options.cancel = &cancel;
    ck_assert(attn_compare(&s.run, s.n_recalled, &s.found, &err) == ATTN_CANCELED);
    s.host.options.cancel = NULL;
    err = (struct attn_error){0};
    s.ids[3] = -1;
    ck_assert(attn_compare(&s.run, s.n_recalled, &s.found, &err) == ATTN_INVALID);
    err = (struct attn_error){0};
    s.n_recalled = 0;
    ck_assert(attn_compare(&s.run, s.n_recalled, &s.found, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "0 keys cannot be recalled, expected 1 to 64");
    ck_assert_ptr_null(s.found);
    setup_close(&s);
}
END_TEST

ATTN_SUITE("compare", sparse_kinds_differ_as_two_recorded_runs_do,
           random_keys_are_those_of_each_layer, other_ways_of_masking_are_compared_with_the_first,
           linear_kinds_differ_as_two_recorded_runs_do,
           both_errors_are_one_in_the_first_layer_and_two_from_then_on,
           a_kind_that_keeps_everything_is_exact_attention,
           exact_attention_is_not_compared_with_itself, tables_hold_what_was_found,
           blockwise_is_exact_in_every_family, blockwise_is_exact_but_for_rounding,
           what_is_selected_alone_is_compared, masks_hold_for_both,
           rows_that_may_look_at_nothing_are_left_out, low_rank_attention_has_no_pattern_to_compare,
           dropout_draws_alike_alone_and_in_a_model, a_source_is_attended_to_exactly,
           threads_change_nothing, arrays_are_compared_as_the_layer_they_came_from,
           arrays_may_be_scores_or_have_more_keys_than_queries,
           embeddings_may_take_the_place_of_ids, failures_leave_nothing_behind)
