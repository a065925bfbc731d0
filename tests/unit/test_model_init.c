/* Models that are made: which numbers go where, what is refused, and that nothing is left half
 * made. */
#include "base/random.h"
#include "drawn/model_init.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SETTING = 12, MAX_DRAW = 4, MAX_VALUE = 2000 };

/* What is made: settings and draws end with NULL. */
struct recipe {
    const char *words;
    const char *settings[MAX_SETTING];
    const char *draws[MAX_DRAW];
    size_t n_embedding_row;
    const char *config; /* path */
};

static const struct recipe article = {
    .words = "Life is short, eat dessert first",
    .settings = {"d_model=3", "d_head=2", "d_value=4"},
    .draws = {"embed=randn@123", "heads=rand@123"},
    .n_embedding_row = 50000,
};

/* Makes RECIPE; *init is untouched on failure. */
static enum attn_status try_make(const struct recipe *recipe, struct attn_init **init,
                                 struct attn_error *err)
{
    struct attn_word_list words = {0};
    struct attn_draw draws[MAX_DRAW];
    struct attn_init_options options = {.size = sizeof options,
                                        .config = recipe->config,
                                        .settings = recipe->settings,
                                        .draws = draws,
                                        .n_embedding_row = recipe->n_embedding_row};
    enum attn_status status = ATTN_OK;

    while (options.n_setting < MAX_SETTING && recipe->settings[options.n_setting])
        options.n_setting++;
    while (options.n_draw < MAX_DRAW && recipe->draws[options.n_draw] && status == ATTN_OK) {
        status = attn_draw_parse(recipe->draws[options.n_draw], &draws[options.n_draw], err);
        options.n_draw++;
    }
    if (status == ATTN_OK && recipe->words) {
        status = attn_word_list_read(&words, recipe->words, strlen(recipe->words),
                                     ATTN_TOKENIZER_WORD, ",", err);
        options.words = &words;
    }
    if (status == ATTN_OK)
        status = attn_init_create(&options, init, err);
    attn_word_list_release(&words);
    return status;
}

static struct attn_model *model; /* that open_made has made */
static float values[MAX_VALUE];

static void remove_made(void)
{
    unlink("made/config.json");
    unlink("made/vocab.json");
    unlink("made/model.safetensors");
}

static void open_made(const struct recipe *recipe)
{
    struct attn_source source = {.directory = "made"};
    struct attn_error err = {0};
    struct attn_init *init = NULL;

    attn_folder_enter();
    ck_assert_msg(try_make(recipe, &init, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_init_write(init, "made", &err) == ATTN_OK, "%s", err.message);
    attn_init_free(init);
    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK,
                  "%s", err.message);
    remove_made(); /* the model has it mapped */
    attn_folder_leave();
}

static void close_made(void)
{
    attn_model_free(model);
    model = NULL;
}

/* The tensor NAME of the model, of N values; in `values` too. */
static const float *weight(const char *name, size_t n)
{
    struct attn_tensor_entry entry;

    ck_assert_msg(attn_tensor_files_find(attn_model_files(model), name, &entry), "%s is missing",
                  name);
    ck_assert_uint_eq(attn_tensor_n_element(&entry.tensor), n);
    ck_assert_uint_eq((uintptr_t)entry.tensor.data % sizeof(float), 0);
    ck_assert_uint_le(n, MAX_VALUE);
    memcpy(values, entry.tensor.data, n * sizeof *values);
    return values;
}

static struct attn_npy golden(const char *name)
{
    struct attn_npy array;
    char path[128];

    snprintf(path, sizeof path, "tests/golden/%s.npy", name);
    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    return array;
}

static bool has_weight(const char *name)
{
    return attn_tensor_files_find(attn_model_files(model), name, NULL);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The article's sentence has the words in the order of ids 0 4 5 2 1 3. */
START_TEST(makes_the_model_of_the_first_article)
{
    static const size_t ids[] = {0, 4, 5, 2, 1, 3};
    struct attn_npy embedded = golden("000_embedding.npz/embedded_noavx");
    struct attn_npy drawn = golden("rng_123.npz/rand_8x3");
    const float *x;

    open_made(&article);
    x = weight("embed.W_E", 18);
    for (size_t i = 0; i < 18; i++)
        ck_assert(x[ids[i / 3] * 3 + i % 3] == (float)embedded.values[i]);
    x = weight("blocks.0.attn.W_Q", 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert(x[i] == (float)drawn.values[i]);
    x = weight("blocks.0.attn.W_K", 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert(x[i] == (float)drawn.values[6 + i]);
    x = weight("blocks.0.attn.W_V", 12);
    for (size_t i = 0; i < 12; i++)
        ck_assert(x[i] == (float)drawn.values[12 + i]);
    attn_npy_release(&embedded);
    attn_npy_release(&drawn);
    close_made();
}
END_TEST

/* nn.Linear(16, 16) four times, each with its bias, then the inputs: what is ours [4, 16, 4] is
 * there [16, 16] with the output first. */
START_TEST(linear_layers_of_all_heads_are_split)
{
    static const struct recipe recipe = {
        .words = "a b c d e f g h i j k l m n",
        .settings = {"d_model=16", "n_head=4", "bias=true", "out_proj=true", "causal=false"},
        .draws = {"qkv=linear@123", "W_O=linear", "embed=rand"},
    };
    static const char letters[] = "QKVO";
    struct attn_npy x = golden("init/001_multi_head_attention.npz/x");

    open_made(&recipe);
    for (int map = 0; map < 4; map++) {
        char name[64];
        double wanted[256];

        snprintf(name, sizeof name, "init/001_multi_head_attention.npz/W_%c.weight", letters[map]);
        struct attn_npy array = golden(name);
        for (size_t o = 0; o < 16; o++)
            for (size_t i = 0; i < 16; i++)
                wanted[map < 3 ? (o / 4 * 16 + i) * 4 + o % 4 : i * 16 + o] =
                    array.values[o * 16 + i];
        attn_npy_release(&array);
        snprintf(name, sizeof name, "blocks.0.attn.W_%c", letters[map]);
        attn_assert_near(name, weight(name, 256), wanted, 256, 6e-8);

        snprintf(name, sizeof name, "init/001_multi_head_attention.npz/W_%c.bias", letters[map]);
        array = golden(name);
        snprintf(name, sizeof name, "blocks.0.attn.b_%c", letters[map]);
        attn_assert_near(name, weight(name, 16), array.values, 16, 6e-8);
        attn_npy_release(&array);
    }
    attn_assert_near("x", weight("embed.W_E", 224), x.values, 224, 0);
    attn_npy_release(&x);
    close_made();
}
END_TEST

/* Each head's matrix is a tensor of its own: 40 normal numbers have a tail of their own. */
START_TEST(heads_of_one_projection_are_drawn_one_by_one)
{
    static const struct recipe recipe = {
        .words = "x1 x2 x3 x4 x5 x6 x7",
        .settings = {"d_model=10", "n_head=2", "d_head=4", "d_value=3", "out_proj=true"},
        .draws = {"embed=randn@123", "qkv=randn:0.5", "W_O=randn:0.5"},
    };
    static const struct {
        const char *ours, *theirs;
        size_t first, n, n_all;
    } pairs[] = {
        {"embed.W_E", "x", 0, 70, 70},
        {"blocks.0.attn.W_Q", "W_Q0", 0, 40, 80},
        {"blocks.0.attn.W_Q", "W_Q1", 40, 40, 80},
        {"blocks.0.attn.W_K", "W_K0", 0, 40, 80},
        {"blocks.0.attn.W_K", "W_K1", 40, 40, 80},
        {"blocks.0.attn.W_V", "W_V0", 0, 30, 60},
        {"blocks.0.attn.W_V", "W_V1", 30, 30, 60},
        {"blocks.0.attn.W_O", "W_O", 0, 60, 60},
    };

    open_made(&recipe);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char name[64];

        snprintf(name, sizeof name, "init/003_multi_head.npz/%s", pairs[i].theirs);
        struct attn_npy array = golden(name);
        attn_assert_near(name, weight(pairs[i].ours, pairs[i].n_all) + pairs[i].first, array.values,
                         pairs[i].n, 2.3e-6);
        attn_npy_release(&array);
    }
    close_made();
}
END_TEST

/* A permutation of a table that is drawn longer than it is kept, and one of each head's matrix. */
START_TEST(permutations_and_normal_numbers_are_drawn)
{
    static const struct recipe recipe = {
        .words = "a",
        .settings = {"d_model=5", "n_head=2", "d_head=2", "d_value=20", "out_proj=true"},
        .draws = {"embed=randperm@123", "heads=randperm@123", "W_O=normal:-3:0.25@123"},
        .n_embedding_row = 2,
    };
    struct attn_npy order = golden("rng_123.npz/randperm_10");
    struct attn_random random;
    float drawn[200];

    open_made(&recipe);
    for (size_t i = 0; i < 5; i++)
        ck_assert(weight("embed.W_E", 5)[i] == (float)order.values[i]);
    for (size_t i = 0; i < 10; i++)
        ck_assert(weight("blocks.0.attn.W_Q", 20)[i] == (float)order.values[i]);
    attn_npy_release(&order);
    attn_random_seed(&random, 123);
    attn_random_fill_normal(&random, drawn, 200, -3, 0.25F);
    attn_assert_same_bits("W_O", weight("blocks.0.attn.W_O", 200), drawn, 200);
    close_made();
}
END_TEST

/* Two query heads share a key head: the second draws no W_K and W_V. */
START_TEST(heads_draw_only_the_key_heads_there_are)
{
    static const struct recipe recipe = {
        .words = "a b c",
        .settings = {"d_model=4", "n_head=2", "n_kv_head=1", "d_head=2", "n_layer=2",
                     "out_proj=true"},
        .draws = {"heads=rand@5"},
    };
    struct attn_random random;
    float drawn[2 * 32]; /* a layer: Q0 8, K 8, V 8, Q1 8 */

    open_made(&recipe);
    attn_random_seed(&random, 5);
    attn_random_fill_uniform(&random, drawn, 64, 0, 1);
    for (int layer = 0; layer < 2; layer++) {
        const float *begin = drawn + 32 * layer;
        char name[64];

        snprintf(name, sizeof name, "blocks.%d.attn.W_Q", layer);
        attn_assert_same_bits(name, weight(name, 16), begin, 8);
        attn_assert_same_bits(name, values + 8, begin + 24, 8);
        snprintf(name, sizeof name, "blocks.%d.attn.W_K", layer);
        attn_assert_same_bits(name, weight(name, 8), begin + 8, 8);
        snprintf(name, sizeof name, "blocks.%d.attn.W_V", layer);
        attn_assert_same_bits(name, weight(name, 8), begin + 16, 8);
    }
    close_made();
}
END_TEST

/* Head by head, each projection a layer [2, 4] with its bias [2]. */
START_TEST(heads_that_begin_as_linear_layers_have_their_biases)
{
    static const struct recipe recipe = {
        .words = "a b c",
        .settings = {"d_model=4", "n_head=2", "qkv_bias=true"},
        .draws = {"heads=linear@9"},
    };
    static const char letters[] = "QKV";
    struct attn_random random;

    open_made(&recipe);
    attn_random_seed(&random, 9);
    for (size_t head = 0; head < 2; head++)
        for (int map = 0; map < 3; map++) {
            float drawn[8], bias[2];
            char name[64];

            attn_random_fill_linear(&random, drawn, bias, 2, 4);
            snprintf(name, sizeof name, "blocks.0.attn.W_%c", letters[map]);
            weight(name, 16);
            for (size_t i = 0; i < 8; i++)
                ck_assert(values[head * 8 + i] == drawn[i % 2 * 4 + i / 2]);
            snprintf(name, sizeof name, "blocks.0.attn.b_%c", letters[map]);
            attn_assert_same_bits(name, weight(name, 4) + head * 2, bias, 2);
        }
    close_made();
}
END_TEST

static double deviation(const char *name, size_t n)
{
    const float *x = weight(name, n);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum / (double)n);
}

START_TEST(what_is_not_drawn_begins_as_gpt2)
{
    static const struct recipe recipe = {
        .words = "a b c d e f g h i j k l m n o p q r s t",
        .settings = {"model_type=gpt2", "n_embd=18", "n_head=3", "n_layer=2", "n_inner=40",
                     "n_positions=30"},
    };
    const float *x;

    open_made(&recipe);
    ck_assert_uint_eq(attn_model_config(model)->n_vocab, 20);
    ck_assert(fabs(deviation("transformer.wte.weight", 360) - 0.02) < 0.003);
    ck_assert(fabs(deviation("transformer.wpe.weight", 540) - 0.02) < 0.003);
    ck_assert(fabs(deviation("transformer.h.1.attn.c_attn.weight", 972) - 0.02) < 0.003);
    ck_assert(fabs(deviation("transformer.h.1.attn.c_proj.weight", 324) - 0.01) < 0.0015);
    ck_assert(fabs(deviation("transformer.h.0.mlp.c_fc.weight", 720) - 0.02) < 0.003);
    ck_assert(fabs(deviation("transformer.h.0.mlp.c_proj.weight", 720) - 0.01) < 0.0015);
    ck_assert(deviation("transformer.h.0.mlp.c_fc.bias", 40) == 0);
    ck_assert(deviation("transformer.h.1.ln_2.bias", 18) == 0);
    x = weight("transformer.h.1.ln_2.weight", 18);
    for (size_t i = 0; i < 18; i++)
        ck_assert(x[i] == 1);
    ck_assert(weight("transformer.ln_f.weight", 18)[0] == 1);
    ck_assert(!has_weight("lm_head.weight"));
    close_made();
}
END_TEST

/* Tables around whole pieces of 65,536 numbers, kept but for the last row, and what is drawn
 * next. */
START_TEST(large_tables_are_drawn_as_one)
{
    static const size_t rows[] = {43690, 43691, 43692, 43694, 65536, 87381, 87382, 100001};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = rows[i] * 3;
        char setting[32];
        const struct recipe recipe = {.settings = {"d_model=3", "d_head=2", setting},
                                      .draws = {"embed=randn@5", "heads=rand"},
                                      .n_embedding_row = rows[i]};
        struct attn_tensor_entry table;
        struct attn_random random;
        float *expected = malloc(n * sizeof *expected), drawn[6];

        ck_assert_ptr_nonnull(expected);
        snprintf(setting, sizeof setting, "n_vocab=%zu", rows[i] - 1);
        open_made(&recipe);
        attn_random_seed(&random, 5);
        attn_random_fill_normal(&random, expected, n, 0, 1);
        attn_random_fill_uniform(&random, drawn, 6, 0, 1);
        ck_assert(attn_tensor_files_find(attn_model_files(model), "embed.W_E", &table));
        ck_assert_uint_eq(attn_tensor_n_element(&table.tensor), n - 3);
        ck_assert_msg(memcmp(table.tensor.data, expected, (n - 3) * sizeof *expected) == 0,
                      "%zu rows", rows[i]);
        ck_assert_msg(memcmp(weight("blocks.0.attn.W_Q", 6), drawn, sizeof drawn) == 0, "%zu rows",
                      rows[i]);
        close_made();
        free(expected);
    }
}
END_TEST

START_TEST(a_config_with_biases_has_them_everywhere)
{
    static const struct recipe with = {
        .words = "a b c",
        .settings = {"d_model=4", "n_head=2", "d_mlp=5", "out_proj=true", "output=own",
                     "bias=true"},
        .draws = {"unembed=linear@1", "mlp=linear"},
    };
    static const struct recipe without = {
        .words = "a b c",
        .settings = {"d_model=4", "n_head=2", "d_mlp=5", "out_proj=true", "output=own"},
    };
    struct attn_random random;
    float drawn[12], bias[3];
    const float *x;

    open_made(&with);
    ck_assert(deviation("blocks.0.mlp.b_in", 5) > 0 && deviation("blocks.0.mlp.b_out", 4) > 0);
    ck_assert(deviation("blocks.0.attn.b_Q", 4) == 0 && has_weight("blocks.0.attn.b_O"));
    attn_random_seed(&random, 1);
    attn_random_fill_linear(&random, drawn, bias, 3, 4);
    attn_assert_same_bits("b_U", weight("unembed.b_U", 3), bias, 3);
    x = weight("unembed.W_U", 12);
    for (size_t i = 0; i < 12; i++)
        ck_assert(x[i] == drawn[i % 3 * 4 + i / 3]);
    close_made();
    open_made(&without);
    ck_assert(!has_weight("unembed.b_U") && !has_weight("blocks.0.mlp.b_in"));
    close_made();
}
END_TEST

/* --- what is refused -------------------------------------------------------------------------- */

START_TEST(refuses_what_makes_no_model)
{
    static const struct {
        struct recipe recipe;
        enum attn_status status;
        const char *message;
    } cases[] = {
        {{"a", {"d_model=4", "d_modle=4"}, {NULL}, 0, NULL},
         ATTN_FORMAT,
         "'d_modle' in '`set` d_model=4 `set` d_modle=4' is not a key of model_type 'attn'"},
        {{"a", {"d_model=x"}, {NULL}, 0, NULL},
         ATTN_FORMAT,
         "'d_model' in '`set` d_model=x' is the string 'x', expected an integer from 1 to "
         "16777216"},
        {{"a", {"d_model=4", "norm=batch"}, {NULL}, 0, NULL},
         ATTN_UNSUPPORTED,
         "'norm' in '`set` d_model=4 `set` norm=batch' is 'batch', expected 'none', 'layernorm' or "
         "'rms'"},
        {{"a", {"d_model=6", "n_head=4"}, {NULL}, 0, NULL},
         ATTN_FORMAT,
         "n_head 4 does not divide d_model 6 in '`set` d_model=6 `set` n_head=4', and there is no "
         "d_head"},
        {{"a b c", {"d_model=4", "n_vocab=2"}, {NULL}, 0, NULL},
         ATTN_INVALID,
         "the config has room for 2 tokens, expected 3 or more: the vocabulary has that many "
         "words"},
        {{NULL, {"d_model=4"}, {NULL}, 0, NULL},
         ATTN_FORMAT,
         "'n_vocab' is missing in '`set` d_model=4'"},
        {{"a", {"d_model"}, {NULL}, 0, NULL},
         ATTN_INVALID,
         "setting 'd_model' has the wrong form, expected KEY=VALUE"},
        {{"a", {"=4"}, {NULL}, 0, NULL},
         ATTN_INVALID,
         "setting '=4' has the wrong form, expected KEY=VALUE"},
        {{"a", {"d_model=4", "act_fn=\xff"}, {NULL}, 0, NULL},
         ATTN_INVALID,
         "setting 'act_fn=\\xff' is not UTF-8"},
        {{"a", {"tokenizer=bpe"}, {NULL}, 0, NULL},
         ATTN_INVALID,
         "'tokenizer' follows from the vocabulary, expected another key"},
        {{"a b c", {"d_model=4"}, {NULL}, 2, NULL},
         ATTN_INVALID,
         "embedding rows to draw are 2, expected 3 or more, one for each token"},
        {{"a b c", {"d_model=4"}, {NULL}, 1000000000, NULL},
         ATTN_INVALID,
         "embedding rows to draw are 1000000000, expected at most 67108867, of which 3 are kept"},
        {{"a", {"d_model=4"}, {"W_O=randn"}, 0, NULL},
         ATTN_INVALID,
         "'W_O' is drawn, but the model has no such weights"},
        {{"a", {"d_model=4"}, {"heads=rand", "qkv=rand"}, 0, NULL},
         ATTN_INVALID,
         "the weights of 'qkv' are drawn twice"},
        {{"a", {"d_model=4"}, {"embed=linear"}, 0, NULL},
         ATTN_INVALID,
         "'embed' is a table without inputs, and linear needs their number, expected another "
         "distribution"},
        {{"a", {"d_model=4"}, {"embed=randperm"}, 4194305, NULL},
         ATTN_INVALID,
         "randperm draws 16777220 numbers, expected at most 16777216, which float32 tells apart"},
        {{"a", {"model_type=gpt2", "n_embd=4", "n_head=1", "n_layer=1"}, {"heads=rand"}, 0, NULL},
         ATTN_INVALID,
         "model_type 'gpt2' has q, k and v of all heads in one matrix, expected 'qkv' instead of "
         "'heads'"},
        {{"a", {"d_model=16777216", "n_head=16777216", "d_head=16777216"}, {NULL}, 0, NULL},
         ATTN_NO_MEMORY,
         "out of memory"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_init *init = NULL;
        struct attn_error err = {0};

        ck_assert_int_eq(try_make(&cases[i].recipe, &init, &err), cases[i].status);
        ck_assert_str_eq(err.message, cases[i].message);
        ck_assert_ptr_null(init);
    }
}
END_TEST

START_TEST(draws_are_read_strictly)
{
    static const char *const bad[] = {
        "",
        "embed",
        "embed=",
        "embed=uniform",
        "Embed=rand",
        "embed=rand@",
        "embed=rand@-1",
        "embed=rand@1x",
        "=rand",
        "embed=rand:2",
        "embed=randn:",
        "embed=randn:0",
        "heads=",
        "embed=randn:x",
        "embed=randn@1:2",
        "embed=randn:1:2",
        "embed=normal",
        "embed=normal:",
        "embed=normal:1",
        "embed=normal:1:",
        "embed=normal::1",
        "embed=normal:1:0",
        "embed=normal:nan:1",
        "embed=normal:0:1:2",
        "embed=normal:0@1:1",
        "embed=randperm:4",
        "embed=gpt2:1",
    };
    struct attn_error err = {0};
    struct attn_draw draw;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (struct attn_error){0};
        ck_assert_msg(attn_draw_parse(bad[i], &draw, &err) == ATTN_INVALID, "'%s' is taken",
                      bad[i]);
        ck_assert_str_ne(err.hint, "");
    }
    ck_assert_int_eq(attn_draw_parse("W_O=randn:0.25@18446744073709551615", &draw, &err), ATTN_OK);
    ck_assert(draw.group == ATTN_DRAW_W_O && draw.distribution == ATTN_DISTRIBUTION_RANDN);
    ck_assert(draw.deviation == 0.25 && draw.has_seed && draw.seed == UINT64_MAX);
    ck_assert_int_eq(attn_draw_parse("pos=normal:-1.5:2e-2@7", &draw, &err), ATTN_OK);
    ck_assert(draw.group == ATTN_DRAW_POS && draw.distribution == ATTN_DISTRIBUTION_NORMAL);
    ck_assert(draw.mean == -1.5 && draw.deviation == 0.02 && draw.has_seed && draw.seed == 7);
    ck_assert_int_eq(attn_draw_parse("unembed=gpt2", &draw, &err), ATTN_OK);
    ck_assert(draw.group == ATTN_DRAW_UNEMBED && draw.distribution == ATTN_DISTRIBUTION_GPT2);
    ck_assert(!draw.has_seed);
}
END_TEST

/* --- failures --------------------------------------------------------------------------------- */

/* Whatever fails, there is a whole directory or none. */
static void fail_every_allocation(const struct recipe *recipe)
{
    enum attn_status status = ATTN_NO_MEMORY;

    for (int n = 0; status == ATTN_NO_MEMORY; n++) {
        struct attn_error err = {0};
        struct attn_init *init = NULL;

        ck_assert_int_lt(n, 1000);
        attn_alloc_fail_at(n);
        status = try_make(recipe, &init, &err);
        if (status == ATTN_OK)
            status = attn_init_write(init, "made", &err);
        attn_alloc_fail_off();
        attn_init_free(init);
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert_uint_eq(attn_folder_count(), 1 + (status == ATTN_OK)); /* and the config */
    }
    remove_made();
}

START_TEST(survives_every_failed_allocation)
{
    static const char config[] =
        "{\"architectures\": [\"GPT2LMHeadModel\"], \"n_embd\": 4, \"\": 1}";
    static const struct recipe of_settings = {
        .words = "a b",
        .settings = {"d_model=4", "bias=true", "blocks=self", "act_fn=relu", "d_mlp=3"},
        .draws = {"heads=linear@1"},
    };
    static const struct recipe of_a_file = {
        .words = "a b", .settings = {"n_head=1", "n_layer=1", "n_positions=2"}, .config = "config"};

    attn_folder_enter();
    attn_folder_write("config", config, sizeof config - 1);
    fail_every_allocation(&of_settings);
    ck_assert_int_eq(rmdir("made"), 0);
    fail_every_allocation(&of_a_file);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("model_init", makes_the_model_of_the_first_article, linear_layers_of_all_heads_are_split,
           heads_of_one_projection_are_drawn_one_by_one, permutations_and_normal_numbers_are_drawn,
           heads_draw_only_the_key_heads_there_are,
           heads_that_begin_as_linear_layers_have_their_biases, what_is_not_drawn_begins_as_gpt2,
           large_tables_are_drawn_as_one, a_config_with_biases_has_them_everywhere,
           refuses_what_makes_no_model, draws_are_read_strictly, survives_every_failed_allocation)
