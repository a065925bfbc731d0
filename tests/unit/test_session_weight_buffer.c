/*
 * test_session_weight_buffer.c - sessions that read weights once: they copy matrices from the file
 * instead of touching its map, and nothing else differs. And which pages of a map stay in memory.
 */
#include "attn.h"
#include "forward/session_internal.h"
#include "tests/support/folder.h"
#include "tests/support/open.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N_ID = 70, FEW = 3 };

/* Everything that MODEL tells, N ids STEP at a time. Release it. */
static void record(const struct attn_model *model, const struct attn_session_options *options,
                   size_t n, size_t step, struct attn_recording *recording)
{
    const struct attn_config *config = attn_model_config(model);
    struct attn_error err = {0};
    int32_t ids[N_ID];

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)((7 * i + i * i / 3) % config->n_vocab);
    attn_recording_init(recording, config, n);
    ck_assert_msg(attn_recording_run(recording, model, options, ids, step, &err) == ATTN_OK, "%s",
                  err.message);
}

/* Whether a feed leaves something in the session's buffer of weights. */
static bool uses_buffer(const struct attn_model *model, const char *heads)
{
    struct attn_dims dims = attn_config_dims(attn_model_config(model), FEW);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_recording recording;
    struct attn_session *session;
    const int32_t ids[FEW] = {1, 2, 3};
    struct attn_error err = {0};
    bool is_used;

    attn_recording_init_dims(&recording, &dims);
    ck_assert_int_eq(attn_selection_set_heads(recording.selection, heads, &err), ATTN_OK);
    ck_assert_int_eq(
        attn_selection_set_sites(recording.selection, ATTN_SITES(ATTN_SITE_PATTERN), &err),
        ATTN_OK);
    options.n_max = FEW;
    options.reads_once = true;
    options.trace = &recording.trace;
    ck_assert_int_eq(attn_session_create(model, &options, &session, &err), ATTN_OK);
    ck_assert_int_eq(attn_session_feed(session, ids, FEW, &err), ATTN_OK);
    is_used = session->forward.weight_buffer.size > 0;
    attn_session_free(session);
    attn_recording_release(&recording);
    return is_used;
}

static void check_same(const char *directory, enum attn_compute compute, struct attn_pool *pool)
{
    struct attn_model_options model_options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_model *model;
    static const struct {
        size_t n, step;
    } feeds[] = {{N_ID, N_ID}, {N_ID, 30}, {FEW, FEW}};

    model_options.compute = compute;
    model = attn_open_model(directory, &model_options);
    options.pool = pool;
    for (size_t i = 0; i < sizeof feeds / sizeof *feeds; i++) {
        struct attn_recording mapped, copied;

        options.reads_once = false;
        record(model, &options, feeds[i].n, feeds[i].step, &mapped);
        options.reads_once = true;
        record(model, &options, feeds[i].n, feeds[i].step, &copied);
        attn_assert_same_recording(directory, &copied, &mapped);
        attn_recording_release(&mapped);
        attn_recording_release(&copied);
    }
    ck_assert(uses_buffer(model, "0-1"));
    attn_model_free(model);
}

START_TEST(copied_weights_give_the_same_bits)
{
    struct attn_pool *pool;

    ck_assert_int_eq(attn_pool_create(2, &pool, NULL), ATTN_OK);
    check_same("models/fable", ATTN_COMPUTE_F32, NULL);
    check_same("models/fable", ATTN_COMPUTE_F32, pool);
    check_same("models/fable", ATTN_COMPUTE_BF16, pool);
    attn_pool_free(pool);
}
END_TEST

/* Fused queries, keys and values lie head by head; matrices are stored [out, in]. */
START_TEST(matrices_of_other_families_are_copied)
{
    static const char *const settings[][10] = {
        {"model_type=gpt_neox", "hidden_size=192", "num_attention_heads=3", "num_hidden_layers=2",
         "intermediate_size=300", "vocab_size=999", "max_position_embeddings=80", "rotary_pct=0.5",
         "hidden_act=gelu", "attention_bias=true"},
        {"model_type=llama", "hidden_size=192", "num_attention_heads=3", "num_hidden_layers=2",
         "intermediate_size=300", "vocab_size=999", "max_position_embeddings=80",
         "num_key_value_heads=1", "hidden_act=silu", "rope_theta=500"}};

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct attn_init_options options = {
            .size = sizeof options, .settings = settings[i], .n_setting = 10};
        struct attn_init *init;
        struct attn_error err = {0};

        attn_folder_enter();
        ck_assert_msg(attn_init_create(&options, &init, &err) == ATTN_OK, "%s", err.message);
        ck_assert_int_eq(attn_init_write(init, ".", &err), ATTN_OK);
        attn_init_free(init);
        check_same(".", ATTN_COMPUTE_F32, NULL);
        check_same(".", ATTN_COMPUTE_BF16, NULL);
        attn_folder_leave();
    }
}
END_TEST

/* An output matrix of 10 MB, float32, in pieces. */
START_TEST(large_output_matrices_are_copied_in_pieces)
{
    static const char *const settings[] = {"d_model=128",   "d_head=64", "n_head=2",
                                           "n_vocab=20000", "n_ctx=100", "output=tied"};
    const struct attn_init_options options = {.size = sizeof options,
                                              .settings = settings,
                                              .n_setting = sizeof settings / sizeof *settings};
    struct attn_init *init;
    struct attn_error err = {0};

    attn_folder_enter();
    ck_assert_msg(attn_init_create(&options, &init, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_init_write(init, "m", &err) == ATTN_OK, "%s", err.message);
    attn_init_free(init);
    check_same("m", ATTN_COMPUTE_F32, NULL);
    check_same("m", ATTN_COMPUTE_BF16, NULL);
    ck_assert_int_eq(unlink("m/config.json"), 0);
    ck_assert_int_eq(unlink("m/model.safetensors"), 0);
    attn_folder_leave();
}
END_TEST

START_TEST(few_heads_are_read_where_they_are_mapped)
{
    struct attn_model *model = attn_open_model("models/fable", NULL);

    ck_assert(uses_buffer(model, "3.*"));
    ck_assert(!uses_buffer(model, "0.0"));
    attn_model_free(model);
}
END_TEST

START_TEST(weights_are_mapped_where_no_file_may_stay_open)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_recording mapped, copied;
    struct attn_model *model;
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 6; /* of which a model may keep 0 to 2 */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    model = attn_open_model("models/fable", NULL);
    ck_assert(!uses_buffer(model, "0-1"));
    record(model, &options, FEW, FEW, &mapped);
    options.reads_once = true;
    record(model, &options, FEW, FEW, &copied);
    attn_assert_same_recording("without a file", &copied, &mapped);
    attn_recording_release(&mapped);
    attn_recording_release(&copied);
    attn_model_free(model);
}
END_TEST

/* What a session with or without a buffer takes. */
static size_t measure(const struct attn_model *model, bool reads_once)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    size_t n_byte;

    options.n_max = FEW;
    options.has_logits = true;
    options.reads_once = reads_once;
    ck_assert_int_eq(attn_session_measure(model, &options, &n_byte, &err), ATTN_OK);
    return n_byte;
}

START_TEST(only_weights_that_are_read_from_maps_take_a_buffer)
{
    static const struct {
        struct attn_model_options options;
        bool has_buffer;
    } cases[] = {
        {{.size = sizeof(struct attn_model_options), .load = ATTN_MAP}, true},
        {{.size = sizeof(struct attn_model_options), .load = ATTN_READ}, false},
        {{.size = sizeof(struct attn_model_options), .load = ATTN_MAP, .reuse = true}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_model *model = attn_open_model("models/fable", &cases[i].options);

        ck_assert_int_eq(measure(model, true) > measure(model, false), cases[i].has_buffer);
        attn_model_free(model);
    }
}
END_TEST

/* KiB of the map of FILE that are in memory. */
static size_t resident(const char *file)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[4096];
    bool is_found = false;
    size_t size = SIZE_MAX;

    ck_assert_ptr_nonnull(maps);
    while (size == SIZE_MAX && fgets(line, sizeof line, maps) != NULL) {
        is_found = is_found || strstr(line, file) != NULL;
        if (is_found && strncmp(line, "Rss:", 4) == 0)
            size = strtoul(line + 4, NULL, 10);
    }
    fclose(maps);
    return size;
}

/* q, k and v of fable are one matrix of 96 KiB in each of 4 layers. */
START_TEST(the_pages_of_packed_weights_are_given_back)
{
    const struct attn_model_options options = {.size = sizeof options, .reuse = true};
    struct attn_model *model = attn_open_model("models/fable", &options);

    ck_assert_uint_le(resident("fable/model.safetensors"), 128);
    attn_model_free(model);
}
END_TEST

ATTN_SUITE("session weight buffer", copied_weights_give_the_same_bits,
           matrices_of_other_families_are_copied, large_output_matrices_are_copied_in_pieces,
           few_heads_are_read_where_they_are_mapped, weights_are_mapped_where_no_file_may_stay_open,
           only_weights_that_are_read_from_maps_take_a_buffer,
           the_pages_of_packed_weights_are_given_back)
