/*
 * test_attention_kind.c - kinds of attention as text, which parts go together, and what each gives.
 */
#include "attention/attention_internal.h"
#include "attn.h"
#include "tests/support/suite.h"
#include "trace/site_set.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct attn_attention make(const char *text)
{
    struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
    struct attn_error err = {0};

    ck_assert_msg(attn_attention_parse(text, &attention, &err) == ATTN_OK, "%s", err.message);
    return attention;
}

START_TEST(kinds_are_read_with_their_parameters)
{
    struct attn_attention a;

    ck_assert_int_eq(make("full").kind, ATTN_ATTENTION_FULL);
    ck_assert_int_eq(make("log").kind, ATTN_ATTENTION_LOG);
    a = make("window:12");
    ck_assert(a.kind == ATTN_ATTENTION_WINDOW && a.window == 12);
    a = make("strided:9");
    ck_assert(a.kind == ATTN_ATTENTION_STRIDED && a.stride == 9);
    a = make("strided");
    ck_assert(a.kind == ATTN_ATTENTION_STRIDED && a.stride == 0);
    a = make("random:5:18446744073709551615");
    ck_assert(a.kind == ATTN_ATTENTION_RANDOM && a.count == 5 && a.seed == UINT64_MAX);
    a = make("block:7");
    ck_assert(a.kind == ATTN_ATTENTION_BLOCK && a.count == 7 && a.stride == 0);
    a = make("block:8:46");
    ck_assert(a.kind == ATTN_ATTENTION_BLOCK && a.count == 8 && a.stride == 46);
    a = make("hybrid:3:8");
    ck_assert(a.kind == ATTN_ATTENTION_HYBRID && a.window == 3 && a.stride == 8);
    a = make("linear:exp:raw");
    ck_assert(a.kind == ATTN_ATTENTION_LINEAR && a.feature == ATTN_FEATURE_EXP && a.is_raw);
    a = make("linear:raw");
    ck_assert(a.feature == ATTN_FEATURE_ELU && a.is_raw);
    a = make("linear:relu");
    ck_assert(a.feature == ATTN_FEATURE_RELU && !a.is_raw);
    a = make("lowrank:4:11");
    ck_assert(a.kind == ATTN_ATTENTION_LOWRANK && a.count == 4 && a.seed == 11);
}
END_TEST

START_TEST(a_kind_is_written_with_all_its_parameters_and_reads_back)
{
    static const struct {
        const char *text, *written;
    } rows[] = {
        {"full", "full"},
        {"window:3", "window:3"},
        {"window:003", "window:3"},
        {"strided", "strided"},
        {"strided:4", "strided:4"},
        {"log", "log"},
        {"random:3", "random:3:0"},
        {"random:3:9", "random:3:9"},
        {"block:2", "block:2"},
        {"block:2:3", "block:2:3"},
        {"hybrid:1:2", "hybrid:1:2"},
        {"sink:4:64", "sink:4:64"},
        {"hybrid:18446744073709551615:18446744073709551615",
         "hybrid:18446744073709551615:18446744073709551615"},
        {"linear", "linear:elu"},
        {"linear:raw", "linear:elu:raw"},
        {"linear:exp:raw", "linear:exp:raw"},
        {"lowrank:1:5", "lowrank:1:5"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct attn_attention attention = make(rows[i].text);
        struct attn_attention again;
        char text[ATTN_ATTENTION_TEXT_SIZE], second[ATTN_ATTENTION_TEXT_SIZE];

        ck_assert_uint_eq(attn_attention_text(&attention, text), strlen(rows[i].written));
        ck_assert_str_eq(text, rows[i].written);
        again = make(text);
        attn_attention_text(&again, second);
        ck_assert_str_eq(second, text);
    }
}
END_TEST

START_TEST(what_is_not_written_is_the_default_again_and_the_rest_stays)
{
    struct attn_attention attention = make("random:3:9");
    struct attn_error err = {0};

    attention.eps = 0.5;
    attention.mask = ATTN_MASK_NONE;
    attention.window = 77;
    ck_assert(attn_attention_parse("random:4", &attention, &err) == ATTN_OK);
    ck_assert(attention.count == 4 && attention.seed == 0);
    ck_assert(attention.eps == 0.5 && attention.mask == ATTN_MASK_NONE && attention.window == 77);
    attention = make("linear:exp:raw");
    ck_assert(attn_attention_parse("linear", &attention, &err) == ATTN_OK);
    ck_assert(attention.feature == ATTN_FEATURE_ELU && !attention.is_raw);
    attention = make("strided:4");
    ck_assert(attn_attention_parse("strided", &attention, &err) == ATTN_OK);
    ck_assert_uint_eq(attention.stride, 0);
}
END_TEST

START_TEST(bad_kinds_are_refused_with_what_was_expected_and_change_nothing)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "unknown attention '', expected one of full, window:W, strided[:S], log, "
             "random:K[:SEED], block:B[:C], hybrid:W:S, sink:K:W, linear[:elu|relu|exp][:raw], "
             "lowrank:R[:SEED]"},
        {"Full", "unknown attention 'Full', expected one of full"},
        {"windo:3", "unknown attention 'windo:3', expected one of full"},
        {"window3", "unknown attention 'window3', expected one of full"},
        {":3", "unknown attention ':3', expected one of full"},
        {"window", "'window' lacks W, expected window:W"},
        {"hybrid:3", "'hybrid:3' lacks S, expected hybrid:W:S"},
        {"lowrank", "'lowrank' lacks R, expected lowrank:R[:SEED]"},
        {"full:1", "'full:1' has '1' too many, expected full"},
        {"full:", "'full:' has '' too many, expected full"},
        {"window:3:", "'window:3:' has '' too many, expected window:W"},
        {"window:3:4", "'window:3:4' has '4' too many, expected window:W"},
        {"strided:3:4:5", "'strided:3:4:5' has '4:5' too many, expected strided[:S]"},
        {"window:", "W of 'window:' is '', expected a whole number from 1"},
        {"window:0", "W of 'window:0' is '0', expected a whole number from 1"},
        {"window:-1", "W of 'window:-1' is '-1', expected a whole number from 1"},
        {"window:1.5", "W of 'window:1.5' is '1.5', expected a whole number from 1"},
        {"window: 1", "W of 'window: 1' is ' 1', expected a whole number from 1"},
        {"window:0x10", "W of 'window:0x10' is '0x10', expected a whole number from 1"},
        {"strided:0", "S of 'strided:0' is '0', expected a whole number from 1"},
        {"hybrid:1:0", "S of 'hybrid:1:0' is '0', expected a whole number from 1"},
        {"random:0", "K of 'random:0' is '0', expected a whole number from 1"},
        {"block:0", "B of 'block:0' is '0', expected a whole number from 1"},
        {"block:2:0", "C of 'block:2:0' is '0', expected a whole number from 1"},
        {"lowrank:0", "R of 'lowrank:0' is '0', expected a whole number from 1"},
        {"random:1:-3", "SEED of 'random:1:-3' is '-3', expected a whole number from 0"},
        {"block:18446744073709551616",
         "B of 'block:18446744073709551616' is '18446744073709551616', expected a whole number"},
        {"linear:tanh", "'linear:tanh' has 'tanh' too many, expected linear[:elu|relu|exp][:raw]"},
        {"linear:raw:elu", "'linear:raw:elu' has 'elu' too many, expected linear"},
        {"linear:elu:relu", "'linear:elu:relu' has 'relu' too many, expected linear"},
        {"window:\x1b[2J", "W of 'window:\\x1b[2J' is '\\x1b[2J', expected a whole number"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct attn_attention before = make("hybrid:5:6");
        struct attn_attention attention = before;
        struct attn_error err = {0};

        ck_assert_msg(attn_attention_parse(rows[i].text, &attention, &err) == ATTN_INVALID,
                      "'%s' passed", rows[i].text);
        ck_assert_msg(strncasecmp(err.message, rows[i].message, strlen(rows[i].message)) == 0,
                      "'%s': %s", rows[i].text, err.message);
        ck_assert(memcmp(&attention, &before, sizeof before) == 0);
    }
}
END_TEST

START_TEST(every_kind_has_a_name_a_form_and_a_summary)
{
    for (int kind = 0; kind < ATTN_N_ATTENTION_KIND; kind++) {
        const char *name = attn_attention_kind_name(kind);

        ck_assert(strncmp(attn_attention_kind_written(kind), name, strlen(name)) == 0);
        ck_assert_uint_gt(strlen(attn_attention_kind_summary(kind)), 0);
    }
    ck_assert_str_eq(attn_attention_kind_name(ATTN_ATTENTION_LOWRANK), "lowrank");
    ck_assert_str_eq(attn_attention_kind_written(ATTN_ATTENTION_HYBRID), "hybrid:W:S");
}
END_TEST

/* --- What goes together ----------------------------------------------------------------------- */

static void expect_refused(const struct attn_attention *attention, bool is_cross,
                           const char *message)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_attention_check(attention, is_cross, &err) == ATTN_INVALID, "passed: %s",
                  message);
    ck_assert_msg(strstr(err.message, message) != NULL, "'%s', expected '%s'", err.message,
                  message);
}

static void expect_fine(const struct attn_attention *attention, bool is_cross)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_attention_check(attention, is_cross, &err) == ATTN_OK, "%s", err.message);
}

START_TEST(low_rank_needs_as_many_keys_as_mixtures)
{
    const struct attn_attention attention = make("lowrank:4"), window = make("window:4");
    struct attn_error err = {0};

    ck_assert(attn_attention_check_keys(&attention, 4, &err) == ATTN_OK);
    ck_assert(attn_attention_check_keys(&window, 1, &err) == ATTN_OK);
    ck_assert(attn_attention_check_keys(&attention, 3, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "'lowrank' makes 4 mixtures of 3 keys, expected at most as many as keys");
}
END_TEST

static const unsigned char cells[] = {1, 1, 0, 1};
static const struct attn_mask_matrix matrix = {cells, 1, 2, 2};

static struct attn_attention with_matrix(const char *text)
{
    struct attn_attention attention = make(text);

    attention.mask = ATTN_MASK_MATRIX;
    attention.matrix = matrix;
    return attention;
}

START_TEST(every_kind_passes_as_it_is_written)
{
    static const char *const texts[] = {"full",    "window:1",   "strided", "log",      "random:1",
                                        "block:1", "hybrid:1:1", "linear",  "lowrank:1"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct attn_attention attention = make(texts[i]);

        attention.mask = ATTN_MASK_NONE;
        expect_fine(&attention, false);
        attention.mask = ATTN_MASK_CAUSAL;
        expect_fine(&attention, true);
        if (attention.kind != ATTN_ATTENTION_LOWRANK)
            expect_fine(&attention, false);
        attention = with_matrix(texts[i]);
        if (attention.kind != ATTN_ATTENTION_LOWRANK && attention.kind != ATTN_ATTENTION_LINEAR)
            expect_fine(&attention, false);
    }
}
END_TEST

START_TEST(low_rank_attention_is_not_causal)
{
    const struct attn_attention lowrank = make("lowrank:4");
    const struct attn_attention masked = with_matrix("lowrank:4");

    expect_refused(&lowrank, false,
                   "'lowrank' cannot have a causal mask: each of its keys is a mixture of all");
    expect_refused(&masked, false, "'lowrank' cannot have a mask matrix");
}
END_TEST

START_TEST(linear_attention_has_no_weights_to_change)
{
    struct attn_attention linear = with_matrix("linear");

    expect_refused(&linear, false, "'linear' cannot have a mask matrix: it adds keys up once");
    linear = make("linear");
    linear.dropout = 0.1;
    expect_refused(&linear, false, "'linear' cannot have dropout");
    linear = make("linear");
    linear.similarity = ATTN_SIMILARITY_COSINE;
    expect_refused(&linear, false, "'linear' cannot have cosine similarity");
    linear = make("linear");
    linear.eps = 1e-3;
    expect_refused(&linear, false, "'linear' cannot have eps");
    linear = make("linear");
    linear.is_scaled = false;
    expect_fine(&linear, false);
}
END_TEST

START_TEST(masking_after_the_softmax_needs_all_keys)
{
    struct attn_attention attention = make("full");

    attention.masking = ATTN_MASKING_ZERO;
    expect_fine(&attention, false);
    attention.masking = ATTN_MASKING_RENORMALIZE;
    expect_fine(&attention, false);
    for (int kind = ATTN_ATTENTION_WINDOW; kind < ATTN_N_ATTENTION_KIND; kind++) {
        char message[64];

        attention.kind = (enum attn_attention_kind)kind;
        attention.mask = ATTN_MASK_NONE;
        attention.window = attention.stride = attention.count = 1;
        snprintf(message, sizeof message, "'%s' cannot have masking 'renormalize'",
                 attn_attention_kind_name(kind));
        expect_refused(&attention, false, message);
    }
}
END_TEST

START_TEST(only_full_attention_has_a_choice_of_algorithms)
{
    struct attn_attention attention = make("full");

    attention.algorithm = ATTN_ALGORITHM_DENSE;
    expect_fine(&attention, false);
    attention.algorithm = ATTN_ALGORITHM_BLOCKWISE;
    expect_fine(&attention, false);
    attention.kind = ATTN_ATTENTION_LOG;
    expect_refused(&attention, false, "'log' cannot have algorithm 'blockwise'");
    attention.algorithm = ATTN_ALGORITHM_DENSE;
    expect_refused(&attention, false, "'log' cannot have algorithm 'dense'");
}
END_TEST

START_TEST(blockwise_attention_has_no_row_of_weights)
{
    struct attn_attention attention = make("full");

    attention.algorithm = ATTN_ALGORITHM_BLOCKWISE;
    attention.masking = ATTN_MASKING_ZERO;
    expect_refused(&attention, false, "algorithm 'blockwise' cannot have masking 'zero'");
    attention.masking = ATTN_MASKING_INF;
    attention.dropout = 0.5;
    expect_refused(&attention, false, "algorithm 'blockwise' cannot have dropout");
    attention.dropout = 0;
    attention.dropout_mask = matrix;
    expect_refused(&attention, false, "algorithm 'blockwise' cannot have dropout");
}
END_TEST

START_TEST(numbers_out_of_range_are_refused)
{
    static const double dropouts[] = {-0.1, 1, 1.5, (double)NAN, (double)INFINITY};
    static const double epsilons[] = {-1e-9, (double)NAN, (double)INFINITY, -(double)INFINITY};
    struct attn_attention attention;

    for (size_t i = 0; i < sizeof dropouts / sizeof *dropouts; i++) {
        attention = make("full");
        attention.dropout = dropouts[i];
        expect_refused(&attention, false, "expected from 0 to less than 1");
    }
    for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
        attention = make("full");
        attention.eps = epsilons[i];
        expect_refused(&attention, false, "expected a number from 0");
    }
    attention = make("full");
    attention.factor = (double)NAN;
    expect_refused(&attention, false, "the factor on scores");
    attention = make("full");
    attention.kind = ATTN_N_ATTENTION_KIND;
    expect_refused(&attention, false, "there is no attention of kind 10");
    attention = make("full");
    attention.mask = ATTN_MASK_MATRIX;
    expect_refused(&attention, false, "the mask is a matrix, but no matrix is given");
    attention = make("hybrid:1:1");
    attention.stride = 0;
    expect_refused(&attention, false, "S of 'hybrid' is 0, expected at least 1");
}
END_TEST

/* --- What each gives -------------------------------------------------------------------------- */

#define QK ATTN_SITE_QK
#define SCORES ATTN_SITE_ATTN_SCORES
#define PATTERN ATTN_SITE_PATTERN
#define DROPPED ATTN_SITE_PATTERN_DROPPED
#define LOWRANK ATTN_SITE_PATTERN_LOWRANK
#define Z ATTN_SITE_Z

START_TEST(each_kind_gives_what_it_computes)
{
    const struct {
        const char *text;
        struct attn_site_set sites;
    } rows[] = {
        {"full", ATTN_SITES(QK, SCORES, PATTERN, Z)},
        {"window:1", ATTN_SITES(QK, SCORES, PATTERN, Z)},
        {"strided", ATTN_SITES(QK, SCORES, PATTERN, Z)},
        {"log", ATTN_SITES(QK, SCORES, PATTERN, Z)},
        {"random:1", ATTN_SITES(QK, SCORES, PATTERN, Z)},
        {"block:1", ATTN_SITES(QK, SCORES, PATTERN, Z)},
        {"hybrid:1:1", ATTN_SITES(QK, SCORES, PATTERN, Z)},
        {"linear", ATTN_SITES(PATTERN, Z)},
        {"lowrank:1", ATTN_SITES(LOWRANK, Z)},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_attention attention = make(rows[i].text);

        struct attn_site_set sites = rows[i].sites;
        ck_assert(attn_sites_are_equal(attn_attention_sites(&attention), sites));
        attention.dropout = 0.5;
        if (attn_sites_have(sites, QK))
            attn_sites_add(&sites, DROPPED);
        ck_assert(attn_sites_are_equal(attn_attention_sites(&attention), sites));
    }
}
END_TEST

START_TEST(a_mask_of_kept_weights_is_dropout_too)
{
    struct attn_attention attention = make("full");

    attention.dropout_mask = matrix;
    ck_assert(attn_sites_are_equal(attn_attention_sites(&attention),
                                   ATTN_SITES(QK, SCORES, PATTERN, DROPPED, Z)));
}
END_TEST

START_TEST(rows_that_are_no_step_on_the_way_come_on_demand)
{
    struct attn_attention attention = make("full");

    ck_assert_int_eq(attn_attention_gives(&attention, ATTN_SITE_PATTERN), ATTN_GIVES_DIRECTLY);
    ck_assert_int_eq(attn_attention_gives(&attention, ATTN_SITE_RESID_PRE), ATTN_GIVES_NOT);
    attention.algorithm = ATTN_ALGORITHM_BLOCKWISE;
    ck_assert_int_eq(attn_attention_gives(&attention, ATTN_SITE_PATTERN), ATTN_GIVES_ON_DEMAND);
    ck_assert_int_eq(attn_attention_gives(&attention, ATTN_SITE_Z), ATTN_GIVES_DIRECTLY);
    attention = make("linear");
    ck_assert_int_eq(attn_attention_gives(&attention, ATTN_SITE_PATTERN), ATTN_GIVES_ON_DEMAND);
    ck_assert_int_eq(attn_attention_gives(&attention, ATTN_SITE_QK), ATTN_GIVES_NOT);
}
END_TEST

START_TEST(the_sites_of_a_run_are_those_of_its_layers)
{
    struct attn_attention layers[] = {make("full"), make("lowrank:7"), make("lowrank:5")};
    struct attn_dims dims = {.n_layer = 3, .sites = ATTN_SITES(ATTN_SITE_EMBED, Z, DROPPED)};

    attn_attention_set_dims(layers, &dims);
    ck_assert(attn_sites_are_equal(dims.sites,
                                   ATTN_SITES(ATTN_SITE_EMBED, Z, QK, SCORES, PATTERN, LOWRANK)));
    ck_assert_uint_eq(dims.n_rank, 7);
    layers[0] = make("linear");
    dims.n_layer = 1;
    attn_attention_set_dims(layers, &dims);
    ck_assert(attn_sites_are_equal(dims.sites, ATTN_SITES(ATTN_SITE_EMBED, Z, PATTERN)));
    ck_assert_uint_eq(dims.n_rank, 0);
    dims.sites = (struct attn_site_set){0}; /* scores without values give no z */
    attn_attention_set_dims(layers, &dims);
    ck_assert(attn_sites_are_equal(dims.sites, ATTN_SITES(PATTERN)));
}
END_TEST

ATTN_SUITE("kinds of attention", kinds_are_read_with_their_parameters,
           a_kind_is_written_with_all_its_parameters_and_reads_back,
           what_is_not_written_is_the_default_again_and_the_rest_stays,
           bad_kinds_are_refused_with_what_was_expected_and_change_nothing,
           every_kind_has_a_name_a_form_and_a_summary, every_kind_passes_as_it_is_written,
           low_rank_attention_is_not_causal, low_rank_needs_as_many_keys_as_mixtures,
           linear_attention_has_no_weights_to_change, masking_after_the_softmax_needs_all_keys,
           only_full_attention_has_a_choice_of_algorithms,
           blockwise_attention_has_no_row_of_weights, numbers_out_of_range_are_refused,
           each_kind_gives_what_it_computes, a_mask_of_kept_weights_is_dropout_too,
           rows_that_are_no_step_on_the_way_come_on_demand,
           the_sites_of_a_run_are_those_of_its_layers)
