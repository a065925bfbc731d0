/*
 * test_model_damaged.c - a model whose weights were cut, flipped or are not finite is refused, or
 * gives the same result; what is told to a trace is never NaN.
 */
#include "tests/support/parts.h"
#include "tests/support/recording.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ID = 5 };
static const int32_t ids[N_ID] = {0, 3, 5, 0, 1};

/* --- Cut and flipped ------------------------------------------------------------------------ */

static void assert_cut_is_refused(struct attn_parts *parts, size_t size)
{
    struct attn_part whole = parts->weights;
    struct attn_model *model;
    struct attn_error err;

    parts->weights = (struct attn_part){malloc(size + (size == 0)), size};
    ck_assert_ptr_nonnull(parts->weights.bytes);
    memcpy(parts->weights.bytes, whole.bytes, size);
    ck_assert_msg(attn_parts_open(parts, &model, &err) == ATTN_FORMAT, "took %zu bytes", size);
    ck_assert_ptr_nonnull(strstr(err.message, "'m/model.safetensors'"));
    free(parts->weights.bytes);
    parts->weights = whole;
}

/* One length in seven of the header, and one in 997 after it; with TORTURE=full every one. */
START_TEST(refuses_weights_cut_anywhere)
{
    struct attn_parts parts = attn_parts_load("models/tiny-gpt2");
    size_t end = attn_part_header_end(&parts.weights);
    struct attn_model *model;
    struct attn_error err;

    for (size_t size = 0; size <= end; size += attn_one_in(7))
        assert_cut_is_refused(&parts, size);
    for (size_t size = end; size < parts.weights.size; size += attn_one_in(997))
        assert_cut_is_refused(&parts, size);
    ck_assert_int_eq(attn_parts_open(&parts, &model, &err), ATTN_OK);
    for (size_t i = 0; i < attn_tensor_files_count(attn_model_files(model)); i++) {
        size_t begin = attn_tensor_files_entry(attn_model_files(model), i).offset;

        for (size_t size = begin - 1; size <= begin + 1; size++)
            assert_cut_is_refused(&parts, size);
    }
    assert_cut_is_refused(&parts, parts.weights.size - 1);
    attn_model_free(model);
    attn_parts_release(&parts);
}
END_TEST

static void record(struct attn_recording *recording, const struct attn_model *model)
{
    struct attn_error err = {0};

    attn_recording_init(recording, attn_model_config(model), N_ID);
    ck_assert_msg(attn_recording_run(recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, N_ID,
                                     &err) == ATTN_OK,
                  "%s", err.message);
}

START_TEST(a_flipped_bit_of_the_header_changes_nothing_or_is_refused)
{
    struct attn_parts parts = attn_parts_load("models/tiny-gpt2");
    const size_t n_bit = 8 * attn_part_header_end(&parts.weights), step = attn_one_in(5);
    size_t n_same = 0;
    struct attn_recording expected, actual;
    struct attn_model *model;
    struct attn_error err;

    ck_assert_int_eq(attn_parts_open(&parts, &model, &err), ATTN_OK);
    record(&expected, model);
    attn_model_free(model);
    for (size_t bit = 0; bit < n_bit; bit += step) {
        parts.weights.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (attn_parts_open(&parts, &model, &err) == ATTN_OK) {
            record(&actual, model);
            attn_assert_same_recording("a flipped bit", &actual, &expected);
            attn_recording_release(&actual);
            n_same++;
        }
        attn_model_free(model);
        parts.weights.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ck_assert_uint_gt(n_same, 0);                 /* the text of __metadata__ */
    ck_assert_uint_lt(n_same, n_bit / step / 50); /* nothing else */
    attn_recording_release(&expected);
    attn_parts_release(&parts);
}
END_TEST

START_TEST(no_flipped_bit_of_the_config_crashes)
{
    struct attn_parts parts = attn_parts_load("models/tiny-gpt2");
    size_t n_refused = 0;

    for (size_t bit = 0; bit < 8 * parts.config.size; bit += attn_one_in(3)) {
        struct attn_model *model;
        struct attn_error err;

        parts.config.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        n_refused += attn_parts_open(&parts, &model, &err) != ATTN_OK;
        attn_model_free(model);
        parts.config.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ck_assert_uint_gt(n_refused, 0);
    attn_parts_release(&parts);
}
END_TEST

/* --- Not finite ------------------------------------------------------------------------------ */

static const char *const directories[] = {"models/tiny-gpt2",
                                          "tests/fixtures/gpt2-relu",
                                          "tests/fixtures/gpt2-silu",
                                          "tests/fixtures/gpt2-gelu",
                                          "tests/fixtures/gpt2-tanh",
                                          "tests/fixtures/attn-mlp",
                                          "tests/fixtures/gpt2-f16",
                                          "tests/fixtures/gpt2-bf16",
                                          "tests/fixtures/attn-multi-query",
                                          "models/life-is-short",
                                          "tests/fixtures/family-gpt-neox-parallel",
                                          "tests/fixtures/family-llama-biases",
                                          "tests/fixtures/family-llama-gqa-tied-bf16",
                                          "tests/fixtures/family-qwen3",
                                          "tests/fixtures/family-olmo2",
                                          "tests/fixtures/family-gemma2",
                                          "tests/fixtures/family-gemma3-text",
                                          "tests/fixtures/family-phi"};
enum { N_DIRECTORY = sizeof directories / sizeof *directories };

/* What a run told, as a hash; and whether all of it could be told. */
struct told {
    const char *where; /* for messages */
    uint64_t hash;
};

/* An attn_trace_fn: everything is finite but masked scores. */
static enum attn_status check_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct told *told = user;

    (void)err;
    for (size_t i = 0; i < event->n_row; i++) {
        const size_t n = event->keys != NULL ? event->n_kept[i] : event->n_col;

        for (size_t j = 0; j < n; j++) {
            float value = event->data[i * event->ld + j];
            bool is_masked = event->at.site == ATTN_SITE_ATTN_SCORES && event->is_causal &&
                             j > event->row0 + i && value < 0;
            uint32_t bits;

            ck_assert_msg(isfinite(value) || is_masked, "%s: layer %d is told %s that is %g",
                          told->where, event->at.layer, attn_site_name(event->at.site),
                          (double)value);
            memcpy(&bits, &value, sizeof bits);
            if (event->at.site != ATTN_SITE_QK || !event->is_causal || j <= event->row0 + i)
                told->hash = (told->hash ^ bits) * 0x100000001b3;
        }
    }
    return ATTN_OK;
}

/* Runs MODEL, watching SITES and nothing else. */
static enum attn_status run_sites(const struct attn_model *model, struct attn_site_set sites,
                                  struct told *told, struct attn_error *err)
{
    struct attn_dims dims = attn_config_dims(attn_model_config(model), N_ID);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_trace trace = {.on_event = check_event, .user = told};
    struct attn_selection *selection = NULL;
    struct attn_session *session = NULL;
    enum attn_status status;

    told->hash = 0;
    ck_assert_int_eq(attn_selection_create(&dims, &selection, err), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_sites(selection, sites, err), ATTN_OK);
    trace.selection = selection;
    options.trace = &trace;
    options.n_max = N_ID;
    options.has_logits = attn_sites_have(sites, ATTN_SITE_LOGITS);
    ck_assert_int_eq(attn_session_create(model, &options, &session, err), ATTN_OK);
    status = attn_session_feed(session, ids, N_ID, err);
    attn_session_free(session);
    attn_selection_free(selection);
    return status;
}

/* The runs that a damaged model is tried with: one of all sites, then one of each. */
struct runs {
    struct attn_site_set all;
    uint64_t hashes[ATTN_N_SITE]; /* what the undamaged model tells */
};

static struct runs run_undamaged(const struct attn_model *model)
{
    struct runs runs = {.all = attn_config_dims(attn_model_config(model), N_ID).sites};
    struct attn_error err = {0};

    for (int site = 0; site < ATTN_N_SITE; site++) {
        struct told told = {.where = "undamaged"};

        if (!attn_sites_have(runs.all, site))
            continue;
        ck_assert_msg(run_sites(model, ATTN_SITES(site), &told, &err) == ATTN_OK, "%s",
                      err.message);
        runs.hashes[site] = told.hash;
    }
    return runs;
}

/* Tensor NAME of MODEL is damaged: a run that needs it names it, one that does not gives the
 * same. */
static void assert_found(const struct attn_model *model, const struct runs *runs, const char *where,
                         const char *name)
{
    struct told told = {.where = where};
    struct attn_error err = {0};
    char quoted[128];

    snprintf(quoted, sizeof quoted, "'%s' in 'm/model.safetensors' holds", name);
    ck_assert_msg(run_sites(model, runs->all, &told, &err) == ATTN_FORMAT, "%s: not found", where);
    ck_assert_msg(strstr(err.message, quoted) != NULL, "%s: %s", where, err.message);
    for (int site = 0; site < ATTN_N_SITE; site++) {
        enum attn_status status;

        if (!attn_sites_have(runs->all, site))
            continue;
        err = (struct attn_error){0};
        status = run_sites(model, ATTN_SITES(site), &told, &err);
        if (status == ATTN_OK)
            ck_assert_msg(told.hash == runs->hashes[site], "%s: gives another %s", where,
                          attn_site_name(site));
        else
            ck_assert_msg(strstr(err.message, quoted) != NULL, "%s: %s", where, err.message);
    }
}

static const char *const value_names[] = {"NaN", "inf", "-inf"};

/* Writes one of VALUES over the first element of TENSOR, whose data are not const: the test's
 * own. */
static void poison(const struct attn_tensor *tensor, size_t value)
{
    static const uint32_t wide[] = {0x7fc00000, 0x7f800000, 0xff800000};
    static const uint16_t f16[] = {0x7e00, 0x7c00, 0xfc00}, bf16[] = {0x7fc0, 0x7f80, 0xff80};
    void *place = (void *)(uintptr_t)tensor->data;

    if (tensor->dtype == ATTN_DTYPE_F32)
        memcpy(place, &wide[value], sizeof *wide);
    else
        memcpy(place, tensor->dtype == ATTN_DTYPE_F16 ? &f16[value] : &bf16[value], sizeof *f16);
}

static void check_directory(const char *directory)
{
    struct attn_parts parts = attn_parts_load(directory);
    const struct attn_tensor_files *st;
    struct attn_model *model;
    struct attn_error err;
    struct runs runs;

    ck_assert_int_eq(attn_parts_open(&parts, &model, &err), ATTN_OK);
    st = attn_model_files(model);
    runs = run_undamaged(model);
    for (size_t i = 0; i < attn_tensor_files_count(st); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);
        unsigned char *place = parts.weights.bytes + entry.offset, saved[4];

        memcpy(saved, place, sizeof saved);
        for (size_t value = i % attn_one_in(3); value < 3; value += attn_one_in(3)) {
            char where[256];

            snprintf(where, sizeof where, "%s of %s with %s", entry.name, directory,
                     value_names[value]);
            poison(&entry.tensor, value);
            assert_found(model, &runs, where, entry.name);
        }
        memcpy(place, saved, sizeof saved);
    }
    attn_model_free(model);
    attn_parts_release(&parts);
}

START_TEST(names_the_tensor_that_is_not_finite)
{
    for (int i = 0; i < N_DIRECTORY; i++)
        check_directory(directories[i]);
}
END_TEST

START_TEST(weights_too_large_for_float32_are_told_as_such)
{
    struct attn_parts parts = attn_parts_load("models/tiny-gpt2");
    const float huge = 3e38F;
    struct attn_tensor_entry table;
    struct attn_model *model;
    struct told told = {.where = "huge"};
    struct attn_error err;

    ck_assert_int_eq(attn_parts_open(&parts, &model, &err), ATTN_OK);
    ck_assert(
        attn_tensor_files_find(attn_model_files(model), "transformer.h.1.mlp.c_fc.weight", &table));
    for (size_t i = 0; i < attn_tensor_n_element(&table.tensor); i++)
        memcpy((char *)(uintptr_t)table.tensor.data + i * sizeof huge, &huge, sizeof huge);
    ck_assert_int_eq(run_sites(model, ATTN_SITES(ATTN_SITE_MLP_PRE), &told, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "layer 1 of 'm' computes values that are not finite, expected "
                                  "float32 numbers");
    attn_model_free(model);
    attn_parts_release(&parts);
}
END_TEST

/* Weights of which none is at fault, and numbers of a caller, with and without a name for them. */
START_TEST(numbers_of_the_caller_that_are_too_large_are_told_as_such)
{
    static const struct {
        const char *embeddings, *source, *message;
        enum attn_status status;
    } rows[] = {
        {NULL, NULL, "layer 0 of 'm' computes values that are not finite, expected float32 numbers",
         ATTN_FORMAT},
        {"x.npy", NULL,
         "the numbers of 'x.npy' are too large: what is computed from them in layer 0 is not "
         "finite in float32",
         ATTN_INVALID},
        {NULL, "s.npy",
         "the numbers of 's.npy' are too large: what is computed from them in layer 0 is not "
         "finite in float32",
         ATTN_INVALID},
        {"x.npy", "s.npy",
         "the numbers of 'x.npy' or 's.npy' are too large: what is computed from them in layer 0 "
         "is not finite in float32",
         ATTN_INVALID},
    };
    struct attn_parts parts = attn_parts_load("tests/fixtures/attn-cross");
    struct attn_model *model;
    struct attn_error err = {0};
    float x[2 * 8] = {0}, source[2 * 5];

    for (size_t i = 0; i < 2 * 5; i++)
        source[i] = 3e38F;
    ck_assert_int_eq(attn_parts_open(&parts, &model, &err), ATTN_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct attn_session_options options = {.size = sizeof options,
                                                     .n_max = 2,
                                                     .n_source = 2,
                                                     .isa = ATTN_ISA_BEST,
                                                     .has_logits = true,
                                                     .embeddings_name = rows[i].embeddings,
                                                     .source_name = rows[i].source};
        struct attn_session *session = NULL;

        ck_assert_int_eq(attn_session_create(model, &options, &session, &err), ATTN_OK);
        ck_assert_int_eq(attn_session_set_source(session, source, 2, &err), ATTN_OK);
        ck_assert_int_eq(attn_session_feed_embeddings(session, x, 2, &err), rows[i].status);
        ck_assert_str_eq(err.message, rows[i].message);
        err = (struct attn_error){0};
        attn_session_free(session);
    }
    attn_model_free(model);
    attn_parts_release(&parts);
}
END_TEST

START_TEST(numbers_of_the_caller_must_be_finite)
{
    struct attn_parts parts = attn_parts_load("tests/fixtures/attn-cross");
    struct attn_session_options options = {
        .size = sizeof options, .n_max = 2, .n_source = 2, .isa = ATTN_ISA_BEST};
    struct attn_session *session = NULL;
    struct attn_model *model;
    struct attn_error err;
    float x[2 * 8] = {0}, source[2 * 5] = {0};

    ck_assert_int_eq(attn_parts_open(&parts, &model, &err), ATTN_OK);
    ck_assert_int_eq(attn_session_create(model, &options, &session, &err), ATTN_OK);
    source[5] = NAN;
    ck_assert_int_eq(attn_session_set_source(session, source, 2, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "row 1 of the source is not finite, expected float32 numbers");
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_session_set_source(session, source, 1, &err), ATTN_OK);
    x[15] = -INFINITY;
    ck_assert_int_eq(attn_session_feed_embeddings(session, x, 2, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "row 1 of the embeddings is not finite, expected float32 numbers");
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_session_feed_embeddings(session, x, 1, &err), ATTN_OK);
    attn_session_free(session);
    attn_model_free(model);
    attn_parts_release(&parts);
}
END_TEST

ATTN_SUITE("model_damaged", refuses_weights_cut_anywhere,
           a_flipped_bit_of_the_header_changes_nothing_or_is_refused,
           no_flipped_bit_of_the_config_crashes, names_the_tensor_that_is_not_finite,
           weights_too_large_for_float32_are_told_as_such,
           numbers_of_the_caller_that_are_too_large_are_told_as_such,
           numbers_of_the_caller_must_be_finite)
