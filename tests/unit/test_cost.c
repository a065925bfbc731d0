/*
 * test_cost.c - what inspect says a run costs, against sums done by hand, and against the tensors
 * that the files hold.
 */
#include "attn.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/open.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct attn_cost find_cost(const char *directory, size_t n, size_t n_source)
{
    struct attn_model *model = attn_open_model(directory, NULL);
    struct attn_cost cost;
    struct attn_error err = {0};

    ck_assert_msg(attn_cost_find(model, n, n_source, &cost, &err) == ATTN_OK, "%s", err.message);
    attn_model_free(model);
    return cost;
}

/* L 3, H 3, D 15, E 5, F 22, V 487, tied. */
START_TEST(counts_a_gpt2)
{
    const struct attn_cost cost = find_cost("models/tiny-gpt2", 17, 0);

    ck_assert_uint_eq(cost.n_position, 17);
    ck_assert_uint_eq(cost.n_source, 0);
    ck_assert_uint_eq(cost.n_pair, 3 * 3 * (17 * 18 / 2));
    ck_assert_uint_eq(cost.projections, 3 * 17 * (15 * 45 + 15 * 15));
    ck_assert_uint_eq(cost.matrices, 3 * 3 * (17 * 18 / 2) * (5 + 5));
    ck_assert_uint_eq(cost.mlp, 3 * 17 * 2 * 15 * 22);
    ck_assert_uint_eq(cost.output, 17 * 15 * 487);
    ck_assert_uint_eq(cost.keys_values, 3 * 17 * 3 * (5 + 5) * 4);
    ck_assert_uint_eq(cost.keys_values_plain, cost.keys_values);
    ck_assert_uint_eq(cost.keys_values_multi_query, cost.keys_values / 3);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_EMBED], 17 * 15 * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_RESID_POST], 3 * 17 * 15 * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_PATTERN], 3 * 3 * 17 * 17 * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_MLP_POST], 3 * 17 * 22 * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_LOGITS], 17 * 487 * 4);
}
END_TEST

/* L 2, H 4, G 2, D 40, E 10, F 60, V 91; layer 1 has a window of 6; gated. */
START_TEST(counts_windows_and_gates)
{
    const struct attn_cost cost = find_cost("tests/fixtures/family-qwen2", 24, 0);
    const struct attn_cost within = find_cost("tests/fixtures/family-qwen2", 5, 0);
    const uint64_t n_pair = 4 * (24 * 25 / 2 + (1 + 2 + 3 + 4 + 5 + 19 * 6));

    ck_assert_uint_eq(cost.n_pair, n_pair);
    ck_assert_uint_eq(cost.matrices, n_pair * (10 + 10));
    ck_assert_uint_eq(cost.projections, 2 * 24 * (2 * 40 * 40 + 2 * 40 * 20));
    ck_assert_uint_eq(cost.mlp, 2 * 24 * 3 * 40 * 60);
    ck_assert_uint_eq(within.n_pair, 2 * 4 * 15);
}
END_TEST

/* L 3, H 2; layers 0 and 2 of the tower see windows of 4 x 4 patches, layer 1 sees all. */
START_TEST(counts_windows_of_a_picture)
{
    char folder[] = "/tmp/attn-cost-XXXXXX", command[128];
    struct attn_model *model;

    ck_assert(mkdtemp(folder));
    snprintf(command, sizeof command, "tar -xf tests/fixtures/vision.tar -C %s qwen2_5_vl", folder);
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof command, "%s/qwen2_5_vl", folder);
    model = attn_open_model(command, NULL);
    ck_assert_uint_eq(attn_cost_work(attn_tower_of(model), 100, 0, NULL).n_pair,
                      2 * (2 * 100 * 16 + 100 * 100));
    ck_assert_uint_eq(attn_cost_work(attn_tower_of(model), 12, 0, NULL).n_pair, 2 * 3 * 12 * 12);
    attn_model_free(model);
    snprintf(command, sizeof command, "rm -rf -- %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* L 2, H 6, G 2, D 11, E 3, Ev 5, V 19; an output matrix of its own; no MLP. */
START_TEST(counts_grouped_heads)
{
    const struct attn_cost cost = find_cost("tests/fixtures/attn-grouped", 8, 99);

    ck_assert_uint_eq(cost.n_source, 0); /* nothing attends to one */
    ck_assert_uint_eq(cost.n_pair, 2 * 6 * 36);
    ck_assert_uint_eq(cost.projections, 2 * 8 * (11 * 6 * 3 + 11 * 2 * (3 + 5) + 6 * 5 * 11));
    ck_assert_uint_eq(cost.matrices, 2 * 6 * 36 * (3 + 5));
    ck_assert_uint_eq(cost.mlp, 0);
    ck_assert_uint_eq(cost.output, 8 * 11 * 19);
    ck_assert_uint_eq(cost.keys_values, 2 * 8 * 2 * (3 + 5) * 4);
    ck_assert_uint_eq(cost.keys_values_plain, 2 * 8 * 6 * (3 + 5) * 4);
    ck_assert_uint_eq(cost.keys_values_multi_query, 2 * 8 * 1 * (3 + 5) * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_Q], 2 * 8 * 6 * 3 * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_V], 2 * 8 * 2 * 5 * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_MLP_PRE], 0);
}
END_TEST

/* L 3 of which layers 0 and 2 attend to the source; H 4, G 2, D 8, Ds 5, E 3, Ev 5. */
START_TEST(counts_rows_of_a_source)
{
    const struct attn_cost cost = find_cost("tests/fixtures/attn-cross", 7, 4);
    const size_t queries = 7 * 8 * 12, out = 7 * 20 * 8;

    ck_assert_uint_eq(cost.n_source, 4);
    ck_assert_uint_eq(cost.n_pair, 4 * (7 * 4 + 7 * 8 / 2 + 7 * 4));
    ck_assert_uint_eq(cost.projections, 3 * (queries + out) + 2 * 4 * 5 * 16 + 7 * 8 * 16);
    ck_assert_uint_eq(cost.keys_values, (4 + 7 + 4) * 2 * (3 + 5) * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_PATTERN], 4 * 7 * (4 + 7 + 4) * 4);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_K], (4 + 7 + 4) * 2 * 3 * 4);
}
END_TEST

START_TEST(counts_all_pairs_without_a_mask_and_no_projections)
{
    const struct attn_cost cost = find_cost("models/your-journey", 6, 0);

    ck_assert_uint_eq(cost.n_pair, 6 * 6);
    ck_assert_uint_eq(cost.projections, 0);
    ck_assert_uint_eq(cost.matrices, 6 * 6 * (3 + 3));
    ck_assert_uint_eq(cost.output, 0);
    ck_assert_uint_eq(cost.sites[ATTN_SITE_LOGITS], 0);
}
END_TEST

/* N tokens of DIRECTORY, and 4 rows of a source, by KIND; {0, 0}: the model cannot have it. */
static struct attn_kind_cost find_kind(const char *directory, size_t n, const char *kind)
{
    struct attn_model *model = attn_open_model(directory, NULL);
    struct attn_kind_cost found = {0};
    struct attn_cost cost;
    enum attn_status status = attn_cost_find(model, n, 4, &cost, NULL);

    ck_assert_int_eq(status, ATTN_OK);
    status = attn_cost_find_kind(model, &cost, kind, &found, NULL);
    ck_assert(status == ATTN_OK || status == ATTN_INVALID);
    attn_model_free(model);
    return found;
}

static void expect_kind(const char *directory, size_t n, const char *kind, uint64_t n_pair,
                        uint64_t matrices)
{
    const struct attn_kind_cost found = find_kind(directory, n, kind);

    ck_assert_msg(found.n_pair == n_pair, "%s: %llu pairs", kind, (unsigned long long)found.n_pair);
    ck_assert_msg(found.matrices == matrices, "%s: %llu multiply-adds", kind,
                  (unsigned long long)found.matrices);
}

START_TEST(counts_other_kinds_of_attention)
{
    static const char gpt2[] = "models/tiny-gpt2", grouped[] = "tests/fixtures/attn-grouped";
    static const char journey[] = "models/your-journey", cross[] = "tests/fixtures/attn-cross";

    /* L 3, H 3, E 5, Ev 5: rows of 1, 2, 3, 4, then 13 of 5 keys. */
    expect_kind(gpt2, 17, "full", 9 * 153, 9 * 153 * 10);
    expect_kind(gpt2, 17, "window:5", 9 * 75, 9 * 75 * 10);
    expect_kind(gpt2, 17, "window:99", 9 * 153, 9 * 153 * 10);
    expect_kind(gpt2, 17, "linear", 0, 9 * (17 + 17) * 5 * 6);
    expect_kind(gpt2, 17, "lowrank:5", 0, 0); /* it is causal */
    ck_assert_uint_eq(find_kind(gpt2, 17, "strided").n_pair,
                      find_kind(gpt2, 17, "strided:5").n_pair);
    /* L 2, H 6, G 2, E 3, Ev 5: the state of a key head serves three query heads. */
    expect_kind(grouped, 8, "linear", 0, 2 * (8 * 6 + 8 * 2) * 3 * 6);
    /* No mask, E 3, Ev 3: 3 mixtures of 6 keys, and of their values. */
    expect_kind(journey, 6, "lowrank:3", 6 * 3, 6 * 3 * 6 + 3 * 6 * 6);
    expect_kind(journey, 6, "lowrank:7", 0, 0);
    /* L 3, layers 0 and 2 attend to 4 rows; H 4, E 3, Ev 5. */
    expect_kind(cross, 7, "full", 4 * (28 + 28 + 28), 4 * (28 + 28 + 28) * 8);
    /* A window of the model gives way. */
    expect_kind("tests/fixtures/family-qwen2", 24, "full", 2 * 4 * 300, 2 * 4 * 300 * 20);
}
END_TEST

START_TEST(reads_of_the_tables_only_the_rows_it_needs)
{
    /* Tied: the output layer reads the whole embedding; of 17 rows of positions 5. */
    ck_assert_uint_eq(find_cost("models/tiny-gpt2", 17, 0).weights, 12741 * 4);
    ck_assert_uint_eq(find_cost("models/tiny-gpt2", 5, 0).weights, (12741 - 12 * 15) * 4);
    /* Not tied: 8 of 19 rows of the embedding, 8 of 17 of the positions, [11] each. */
    ck_assert_uint_eq(find_cost("tests/fixtures/attn-grouped", 8, 0).weights,
                      (2081 - 11 * 11 - 9 * 11) * 4);
    /* Never more rows than there are. */
    ck_assert_uint_eq(find_cost("models/your-journey", 600, 0).weights, 6 * 3 * 4);
}
END_TEST

static uint64_t sum(const struct attn_parameters *p)
{
    return p->embedding + p->positions + p->attention + p->mlp + p->norms + p->output;
}

START_TEST(parameters_are_the_elements_of_the_tensors)
{
    static const char *const directories[] = {"models/tiny-gpt2",
                                              "models/life-is-short",
                                              "models/your-journey",
                                              "tests/fixtures/gpt2-bf16",
                                              "tests/fixtures/gpt2-sharded",
                                              "tests/fixtures/attn-grouped",
                                              "tests/fixtures/attn-mlp",
                                              "tests/fixtures/attn-cross",
                                              "tests/fixtures/attn-source-positions",
                                              "tests/fixtures/attn-plain",
                                              "tests/fixtures/gpt2-no-prefix",
                                              "tests/fixtures/family-gpt-neox-parallel",
                                              "tests/fixtures/family-llama3-untied-sharded",
                                              "tests/fixtures/family-gemma3-text",
                                              "tests/fixtures/family-olmo2",
                                              "tests/fixtures/family-phi"};

    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        struct attn_model *model = attn_open_model(directories[i], NULL);
        const struct attn_tensor_files *weights = attn_model_files(model);
        const struct attn_parameters parameters = attn_model_parameters(model);
        size_t n_element = 0, n_byte = 0;
        struct attn_cost cost;

        for (size_t k = 0; k < attn_tensor_files_count(weights); k++) {
            const struct attn_tensor_entry entry = attn_tensor_files_entry(weights, k);

            n_element += attn_tensor_n_element(&entry.tensor);
            n_byte += attn_tensor_n_byte(&entry.tensor);
        }
        ck_assert_uint_eq(parameters.total, n_element);
        ck_assert_msg(sum(&parameters) == n_element, "%s", directories[i]);
        if (attn_model_config(model)->n_ctx <= 64) { /* a run of that length reads them all */
            ck_assert(attn_cost_find(model, attn_model_config(model)->n_ctx, 3, &cost, NULL) ==
                      ATTN_OK);
            ck_assert_uint_le(cost.weights, n_byte);
        }
        attn_model_free(model);
    }
}
END_TEST

START_TEST(groups_parameters)
{
    struct attn_model *model = attn_open_model("models/tiny-gpt2", NULL);
    const struct attn_parameters p = attn_model_parameters(model);

    ck_assert_uint_eq(p.embedding, 487 * 15);
    ck_assert_uint_eq(p.positions, 17 * 15);
    ck_assert_uint_eq(p.attention, 3 * (15 * 45 + 45 + 15 * 15 + 15));
    ck_assert_uint_eq(p.mlp, 3 * (15 * 22 + 22 + 22 * 15 + 15));
    ck_assert_uint_eq(p.norms, (3 * 2 + 1) * 2 * 15);
    ck_assert_uint_eq(p.output, 0);
    attn_model_free(model);
}
END_TEST

START_TEST(counts_bytes_of_half_precision)
{
    struct attn_model *model = attn_open_model("tests/fixtures/gpt2-bf16", NULL);
    const struct attn_parameters p = attn_model_parameters(model);
    const size_t n_ctx = attn_model_config(model)->n_ctx;

    attn_model_free(model);
    ck_assert_uint_eq(find_cost("tests/fixtures/gpt2-bf16", n_ctx, 0).weights, sum(&p) * 2);
}
END_TEST

START_TEST(measures_the_memory_of_a_session)
{
    struct attn_model *model = attn_open_model("models/tiny-gpt2", NULL);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session_options sizeless = {0};
    size_t all, one, logits;

    ck_assert(attn_session_bytes(model, &sizeless, &all, NULL) == ATTN_INVALID);
    options.n_max = 17;
    ck_assert(attn_session_bytes(model, &options, &all, NULL) == ATTN_OK);
    options.cache = ATTN_CACHE_ONE_LAYER;
    ck_assert(attn_session_bytes(model, &options, &one, NULL) == ATTN_OK);
    options.has_logits = true;
    ck_assert(attn_session_bytes(model, &options, &logits, NULL) == ATTN_OK);
    /* Two layers less: 3 heads each of at least 64 keys [5] and values [5]. */
    ck_assert_uint_ge(all - one, 2 * 3 * 64 * (5 + 5) * 4);
    ck_assert_uint_le(all - one, 2 * 3 * 64 * (5 + 64) * 4);
    ck_assert_uint_ge(logits - one, 487 * 4);
    attn_model_free(model);
}
END_TEST

/* One allocation of a session is the arena, and it is what was measured: the others do not grow
 * with n_max. */
START_TEST(measures_without_allocating_the_session)
{
    struct attn_model *model = attn_open_model("tests/fixtures/attn-mlp", NULL);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    size_t n_byte = 0;
    long n_measured;

    options.n_max = 5;
    attn_alloc_fail_off();
    ck_assert(attn_session_bytes(model, &options, &n_byte, NULL) == ATTN_OK);
    n_measured = attn_alloc_count();
    attn_alloc_fail_off();
    ck_assert(attn_session_create(model, &options, &session, NULL) == ATTN_OK);
    ck_assert_int_eq(attn_alloc_count(), n_measured + 2); /* the session, its arena */
    attn_alloc_fail_off();
    attn_session_free(session);
    attn_model_free(model);
}
END_TEST

START_TEST(refuses_lengths_that_do_not_fit)
{
    struct attn_model *model = attn_open_model("models/tiny-gpt2", NULL);
    struct attn_cost cost = {.n_position = 1234};
    struct attn_error err = {0};

    ck_assert_int_eq(attn_cost_find(model, 18, 0, &cost, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "18 positions do not fit 'models/tiny-gpt2', expected 1 to 17");
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_cost_find(model, 0, 0, &cost, &err), ATTN_INVALID);
    ck_assert_uint_eq(cost.n_position, 1234);
    attn_model_free(model);
}
END_TEST

START_TEST(reports_every_failed_allocation)
{
    struct attn_model *model = attn_open_model("tests/fixtures/attn-cross", NULL);
    enum attn_status status;
    long n = 0;

    do {
        struct attn_cost cost;
        struct attn_error err = {0};

        attn_alloc_fail_at(n++);
        status = attn_cost_find(model, 5, 3, &cost, &err);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
        ck_assert_int_eq(err.status, status);
    } while (status != ATTN_OK);
    ck_assert_int_gt(n, 3);
    attn_model_free(model);
}
END_TEST

ATTN_SUITE("cost", counts_a_gpt2, counts_windows_and_gates, counts_windows_of_a_picture,
           counts_grouped_heads, counts_rows_of_a_source,
           counts_all_pairs_without_a_mask_and_no_projections, counts_other_kinds_of_attention,
           reads_of_the_tables_only_the_rows_it_needs, parameters_are_the_elements_of_the_tensors,
           groups_parameters, counts_bytes_of_half_precision, measures_the_memory_of_a_session,
           measures_without_allocating_the_session, refuses_lengths_that_do_not_fit,
           reports_every_failed_allocation)
