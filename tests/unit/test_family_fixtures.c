/*
 * test_family_fixtures.c - every tensor of the small models in tests/fixtures/family-*, one or more
 * a family, and of the encoders in encoders.tar and image-encoders.tar, against float64.
 *
 * Each prompt has its own bounds: 4 times what transformers' float32 is off, and 1e-6 of the
 * largest value. The table at the end shows the largest differences as shares of their bounds.
 */
#include "tests/support/encoders.h"
#include "tests/support/expected.h"
#include "tests/support/families.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/recording_pixels.h"
#include "tests/support/suite.h"
#include "tool.h"
#include "towers/image_patches.h"
#include "trace/site_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"gpt-neo",
                                    "gpt-neox-parallel",
                                    "gpt-neox-sequential",
                                    "llama-biases",
                                    "llama-gqa-tied-bf16",
                                    "llama3-untied-sharded",
                                    "mistral",
                                    "qwen2",
                                    "qwen3",
                                    "olmo2",
                                    "gemma2",
                                    "gemma3-text",
                                    "phi",
                                    "gemma",
                                    "ministral",
                                    "smollm3",
                                    "granite",
                                    "olmo3",
                                    "phi3-longrope",
                                    "opt",
                                    "gptj",
                                    "codegen",
                                    "gpt-bigcode",
                                    "stablelm",
                                    "starcoder2",
                                    "olmo",
                                    "cohere",
                                    "cohere2",
                                    "glm4",
                                    "helium",
                                    "exaone4",
                                    "mpnet",
                                    "mpnet-vectors",
                                    "deberta-v3",
                                    "deberta-v2-class",
                                    "nomic-bert",
                                    "jina-embeddings-v3",
                                    "eurobert",
                                    "eurobert-class",
                                    "deit",
                                    "dinov3-vit",
                                    "lfm2",
                                    "qwen3-5-text",
                                    "qwen3-5",
                                    "qwen3-next",
                                    "bamba",
                                    "granitemoehybrid",
                                    "lfm3",
                                    "nemotron-h",
                                    "falcon-h1",
                                    "gemma4",
                                    "gemma4-text",
                                    "whole-smollm2",
                                    "whole-tinyllama"};
enum { N_NAME = sizeof names / sizeof *names };

/* Models whose truth is known, with the number of their prompts, and of sites that each prompt has.
 */
struct partial {
    const char *name;
    int n_prompt;
    size_t n_site;
};
static const struct partial partials[] = {{"letters", 3, 14},
                                          {"llama", 1, 6},
                                          {"tl-attn-only", 1, 3},
                                          {"tl-folded-rotary", 1, 3},
                                          {"tl-relu-ln", 1, 3},
                                          {"tl-solu", 1, 2},
                                          {"program-hist", 3, 3},
                                          {"program-sort", 3, 9},
                                          {"program-reverse", 3, 12},
                                          {"program-frac-prevs", 3, 6},
                                          {"program-frac-prevs-causal", 3, 6}};

/* As the members K/bounds hold them: differences, but for the last, a share of the largest value of
 * its site. */
enum bound { PATTERN, RESIDUAL, FINAL, LOGITS, OTHER, N_BOUND };

/* Models by other names of tensors, with the logits of one prompt. */
static const char *const renamed[] = {"gemma3",
                                      "llava",
                                      "smolvlm",
                                      "qwen2-vl",
                                      "qwen3-vl-moe",
                                      "cohere2-vision",
                                      "llama-wrapped",
                                      "llama-lightning",
                                      "embedding-gemma",
                                      "mistral-both-ways",
                                      "vit",
                                      "vit-larger",
                                      "dinov2",
                                      "gemma4-experts",
                                      "granitemoe",
                                      "phimoe",
                                      "deberta-groups",
                                      "dinov3-biases",
                                      "siglip-class",
                                      "nemotron-h",
                                      "nemotron-h-joined"};

/* What one prompt of a model came to. */
struct outcome {
    double bounds[N_BOUND];
    double worst[N_BOUND];     /* largest difference, as a share of its bound */
    double sizes[ATTN_N_SITE]; /* the largest value of each site */
    size_t n_site;             /* the sites that the prompt must have; 0: the usual ones, or all */
    bool has_failed;
    char first[200]; /* the first thing that was wrong */
};

static enum bound bound_of(enum attn_site site)
{
    switch (site) {
    case ATTN_SITE_PATTERN:
        return PATTERN;
    case ATTN_SITE_RESID_PRE:
    case ATTN_SITE_RESID_MID:
    case ATTN_SITE_RESID_POST:
    case ATTN_SITE_NORMALIZED_RESID_MID:
    case ATTN_SITE_NORMALIZED_RESID_POST:
        return RESIDUAL;
    case ATTN_SITE_LN_FINAL:
        return FINAL;
    case ATTN_SITE_LOGITS:
        return LOGITS;
    default:
        return OTHER;
    }
}

/* An attn_expected_fn: the largest value of each site, over all layers. */
static void measure_row(void *user, const struct attn_expected_row *row)
{
    struct outcome *outcome = user;

    for (size_t i = 0; i < row->n_visible; i++)
        if (isfinite(row->expected[i]))
            outcome->sizes[row->site] = fmax(outcome->sizes[row->site], fabs(row->expected[i]));
}

static void note(struct outcome *outcome, const struct attn_expected_row *row, size_t i)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], head[32] = "";

    if (outcome->has_failed)
        return;
    outcome->has_failed = true;
    attn_site_archive_name(row->site, row->layer, name);
    if (row->head != ATTN_ALL_HEADS)
        snprintf(head, sizeof head, "head %d, ", row->head);
    snprintf(outcome->first, sizeof outcome->first,
             "%s, %sposition %zu, component %zu: %.9g, expected %.9g", name, head, row->position, i,
             (double)row->actual[i], row->expected[i]);
}

/* An attn_expected_fn: masked values are equal, others within their bound. */
static void check_row(void *user, const struct attn_expected_row *row)
{
    struct outcome *outcome = user;
    const enum bound bound = bound_of(row->site);
    const double allowed =
        outcome->bounds[bound] * (bound == OTHER ? outcome->sizes[row->site] : 1);

    for (size_t i = 0; i < row->n; i++) {
        const double expected = row->expected[i];
        double share;

        if (i >= row->n_visible || isinf(expected)) {
            if ((double)row->actual[i] != expected)
                note(outcome, row, i);
            continue;
        }
        share = fabs((double)row->actual[i] - expected) / allowed;
        if (!(share <= 1))
            note(outcome, row, i);
        outcome->worst[bound] =
            fmax(outcome->worst[bound], isnan(share) ? (double)INFINITY : share);
    }
}

/* Sites of the model that a prompt with all tensors has: all but qk, and the inputs of blocks that
 * are the output of the block before. */
static size_t count_sites(const struct attn_dims *dims)
{
    size_t n = 0;

    for (int site = 0; site < ATTN_N_SITE; site++)
        if (attn_sites_have(dims->sites, site) && site != ATTN_SITE_QK)
            for (int layer = 0;
                 layer < (attn_site_is_in_layer((enum attn_site)site) ? (int)dims->n_layer : 1);
                 layer++)
                n += attn_layer_has(dims, (enum attn_site)site, layer);
    return n - (dims->n_layer - 1);
}

static void compare(const char *folder, const struct attn_recording *recording,
                    struct outcome *outcome)
{
    char path[ATTN_ENCODER_PATH_SIZE + 64];
    struct attn_npy bounds;
    size_t n_site, n_pattern = 0;

    snprintf(path, sizeof path, "%s/bounds.npy", folder);
    ck_assert_msg(attn_npy_read(path, &bounds) && bounds.n == N_BOUND, "'%s'", path);
    for (int i = 0; i < N_BOUND; i++)
        outcome->bounds[i] = bounds.values[i];
    attn_npy_release(&bounds);
    attn_expected_each(folder, recording, (size_t)ATTN_EXPECTED_LAST_ROWS, measure_row, outcome);
    n_site =
        attn_expected_each(folder, recording, (size_t)ATTN_EXPECTED_LAST_ROWS, check_row, outcome);
    for (int layer = 0; layer < (int)recording->dims.n_layer; layer++)
        n_pattern += attn_layer_has(&recording->dims, ATTN_SITE_PATTERN, layer);
    ck_assert_msg(outcome->n_site > 0 ? n_site == outcome->n_site
                                      : n_site == recording->dims.n_layer + n_pattern + 3 ||
                                            n_site == count_sites(&recording->dims),
                  "'%s' has %zu sites, the model %zu", folder, n_site,
                  count_sites(&recording->dims));
}

static bool has_file(const char *path)
{
    struct attn_npy file;

    if (!attn_npy_read(path, &file))
        return false;
    attn_npy_release(&file);
    return true;
}

/* Runs a prompt of tokens. */
static void run_text(const struct attn_model *model, const char *folder,
                     struct attn_recording *recording, struct attn_error *err)
{
    char path[ATTN_ENCODER_PATH_SIZE + 64];
    size_t n;
    int32_t *ids, *types;

    snprintf(path, sizeof path, "%s/types.npy", folder);
    types = has_file(path) ? attn_npy_read_ids(path, &n) : NULL;
    snprintf(path, sizeof path, "%s/ids.npy", folder);
    ids = attn_npy_read_ids(path, &n);
    attn_recording_init(recording, attn_model_config(model), n);
    attn_recording_run_types(recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, types, err);
    free(types);
    free(ids);
}

/* Runs a picture. */
static void run_picture(const struct attn_model *model, const struct attn_npy *pixels,
                        struct attn_recording *recording, struct attn_error *err)
{
    struct attn_image_grid grid;
    float *values = malloc(pixels->n * sizeof *values);

    ck_assert(values != NULL);
    for (size_t i = 0; i < pixels->n; i++)
        values[i] = (float)pixels->values[i];
    ck_assert_int_eq(pixels->rank, 3);
    ck_assert_msg(attn_model_image_grid(model, pixels->shape[1], pixels->shape[2], &grid, err) ==
                      ATTN_OK,
                  "%s", err->message);
    attn_recording_init(recording, attn_model_config(model),
                        grid.n_front + grid.n_row * grid.n_col);
    attn_recording_run_pixels(recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, values,
                              pixels->shape + 1, err);
    free(values);
}

static void run_prompt(const struct attn_model *model, const char *folder, struct outcome *outcome)
{
    struct attn_error err = {0};
    struct attn_recording recording;
    struct attn_npy pixels;
    char path[ATTN_ENCODER_PATH_SIZE + 64];

    snprintf(path, sizeof path, "%s/pixels.npy", folder);
    if (attn_npy_read(path, &pixels)) {
        run_picture(model, &pixels, &recording, &err);
        attn_npy_release(&pixels);
    } else {
        run_text(model, folder, &recording, &err);
    }
    if (err.status == ATTN_OK)
        compare(folder, &recording, outcome);
    else
        snprintf(outcome->first, sizeof outcome->first, "%.190s", err.message);
    outcome->has_failed = outcome->has_failed || err.status != ATTN_OK;
    attn_recording_release(&recording);
}

/* One line a prompt; returns how many were wrong. PARTIAL is NULL for a model with all sites. */
static int run_model(const char *name, const char *directory, const struct partial *partial)
{
    char folder[ATTN_ENCODER_PATH_SIZE + 32], path[ATTN_ENCODER_PATH_SIZE + 64];
    const struct attn_source source = {.directory = directory};
    struct attn_model *model = NULL;
    struct attn_error err = {0};
    int n_failed = 0, k = 0;

    if (attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) != ATTN_OK) {
        printf("%-22s %s\n", name, err.message);
        return 1;
    }
    for (;; k++) {
        struct outcome outcome = {.n_site = partial ? partial->n_site : 0};

        snprintf(folder, sizeof folder, "%s/expected.npz/%d", directory, k);
        snprintf(path, sizeof path, "%s/bounds.npy", folder);
        if (!has_file(path))
            break;
        run_prompt(model, folder, &outcome);
        printf("%-22s %6d %8.2f %8.2f %8.2f %8.2f %8.2f  %s\n", name, k, outcome.worst[PATTERN],
               outcome.worst[RESIDUAL], outcome.worst[FINAL], outcome.worst[LOGITS],
               outcome.worst[OTHER], outcome.first);
        n_failed += outcome.has_failed;
    }
    attn_model_free(model);
    ck_assert_msg(!partial || k == partial->n_prompt, "'%s' has %d prompts", directory, k);
    return n_failed;
}

START_TEST(every_tensor_is_that_of_float64)
{
    static const char *const encoders[] = {ATTN_ENCODERS, ATTN_IMAGE_ENCODERS};
    static const char *const decoders[] = {ATTN_DECODER_DIRECTORIES, ATTN_ROW_DIRECTORIES,
                                           "tests/fixtures/row-phimoe"};
    char directory[ATTN_ENCODER_PATH_SIZE];
    int n_failed = 0;

    printf("largest differences from float64 as shares of what is allowed\n"
           "%-22s %6s %8s %8s %8s %8s %8s\n",
           "fixture", "prompt", "pattern", "residual", "final", "logits", "other");
    for (int i = 0; i < N_NAME; i++) {
        snprintf(directory, sizeof directory, "tests/fixtures/family-%s", names[i]);
        n_failed += run_model(names[i], directory, NULL);
    }
    for (size_t i = 0; i < sizeof partials / sizeof *partials; i++) {
        snprintf(directory, sizeof directory, "tests/fixtures/truth-%s", partials[i].name);
        n_failed += run_model(partials[i].name, directory, &partials[i]);
    }
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        snprintf(directory, sizeof directory, "tests/fixtures/names-%s", renamed[i]);
        n_failed += run_model(renamed[i], directory,
                              &(struct partial){.name = renamed[i], .n_prompt = 1, .n_site = 1});
    }
    for (int i = 0; i < (int)(sizeof decoders / sizeof *decoders); i++)
        n_failed += run_model(decoders[i] + strlen("tests/fixtures/"), decoders[i], NULL);
    attn_encoders_unpack();
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        attn_encoder_path(encoders[i], directory);
        n_failed += run_model(encoders[i], directory, NULL);
    }
    attn_encoders_remove();
    fflush(stdout);
    ck_assert_msg(n_failed == 0, "%d prompts differ, see the table", n_failed);
}
END_TEST

ATTN_SUITE("family_fixtures", every_tensor_is_that_of_float64)
