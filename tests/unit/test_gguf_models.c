/*
 * test_gguf_models.c - a GGUF file and the safetensors of its decoded values give the same bits in
 * every site: models of all architectures, and one of all types of blocks, however they are fed,
 * loaded and computed, and in other forms of the file.
 */
#include "base/pool.h"
#include "gguf/gguf.h"
#include "kernels/kernels.h"
#include "model/config_fields.h"
#include "tests/support/folder.h"
#include "tests/support/gguf_image.h"
#include "tests/support/gguf_models.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define NAME(name) #name,
    ATTN_GGUF_MODEL_MAP(NAME) ATTN_GGUF_DECODER_MAP(NAME)
#undef NAME
};

enum { N_NAME = sizeof names / sizeof *names, MOST = 64, MOST_PROMPT = 8 };

/* A model of the archive: its file, the config and the weights of its twin, ids of prompts. */
struct fixture {
    const char *name;
    struct attn_buffer gguf, config, twin;
    struct prompt {
        int32_t ids[MOST];
        size_t n;
    } prompts[MOST_PROMPT]; /* the longest last */
    size_t n_prompt;
};

static struct attn_buffer read_member(const char *name, const char *member)
{
    struct attn_buffer bytes;
    char path[64];

    snprintf(path, sizeof path, "%s/%s", name, member);
    bytes = attn_gguf_member("models", path);
    ck_assert_msg(!bytes.has_failed, "'%s' is missing", path);
    return bytes;
}

static int compare_prompts(const void *a, const void *b)
{
    const struct prompt *x = a, *y = b;

    return x->n < y->n ? -1 : x->n > y->n;
}

static void read_prompts(struct fixture *fixture)
{
    struct attn_buffer bytes = read_member(fixture->name, "twin.txt");
    const char *line = attn_buffer_string(&bytes);

    for (; strncmp(line, "prompt", 6) == 0; line = strchr(line, '\n') + 1) {
        struct prompt *prompt = &fixture->prompts[fixture->n_prompt++];
        char *at;

        ck_assert_uint_le(fixture->n_prompt, MOST_PROMPT);
        for (at = strchr(line, ' '); *at == ' '; prompt->n++) {
            ck_assert_uint_lt(prompt->n, MOST);
            prompt->ids[prompt->n] = (int32_t)strtol(at, &at, 10);
        }
    }
    ck_assert_uint_ge(fixture->n_prompt, 2);
    qsort(fixture->prompts, fixture->n_prompt, sizeof *fixture->prompts, compare_prompts);
    attn_buffer_release(&bytes);
}

static struct fixture open_fixture(const char *name)
{
    struct fixture fixture = {.name = name, .gguf = read_member(name, "model.gguf")};

    fixture.config = read_member(name, "config.json");
    fixture.twin = attn_gguf_twin(name, &fixture.gguf, ATTN_TWIN_RIGHT);
    read_prompts(&fixture);
    return fixture;
}

static void close_fixture(struct fixture *fixture)
{
    attn_buffer_release(&fixture->gguf);
    attn_buffer_release(&fixture->config);
    attn_buffer_release(&fixture->twin);
}

static struct attn_model *open_source(const struct attn_source *source,
                                      const struct attn_model_options *options)
{
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_model_open(source, options, &model, &err) == ATTN_OK, "%s: %s", source->name,
                  err.message);
    return model;
}

static struct attn_model *open_gguf(const char *name, const struct attn_buffer *bytes,
                                    const struct attn_model_options *options)
{
    const struct attn_blob blob = {"model.gguf", bytes->data, bytes->size};

    return open_source(&(struct attn_source){.name = name, .blobs = &blob, .n_blob = 1}, options);
}

static struct attn_model *open_twin(const struct fixture *fixture,
                                    const struct attn_model_options *options)
{
    const struct attn_blob blobs[] = {
        {"config.json", fixture->config.data, fixture->config.size},
        {"model.safetensors", fixture->twin.data, fixture->twin.size},
    };

    return open_source(&(struct attn_source){.name = fixture->name, .blobs = blobs, .n_blob = 2},
                       options);
}

static void record(struct attn_recording *recording, const struct attn_model *model,
                   const struct prompt *prompt, const struct attn_session_options *options,
                   size_t step)
{
    struct attn_error err = {0};

    attn_recording_init(recording, attn_model_config(model), prompt->n);
    ck_assert_msg(attn_recording_run(recording, model, options, prompt->ids, step, &err) == ATTN_OK,
                  "%s", err.message);
}

static const struct prompt *longest(const struct fixture *fixture)
{
    return &fixture->prompts[fixture->n_prompt - 1];
}

/* Compares MODEL with the twin over PROMPT, in one feed by one thread, and releases the model. */
static void assert_same(const struct fixture *fixture, struct attn_model *model,
                        const struct attn_model_options *options, const struct prompt *prompt)
{
    struct attn_model *twin = open_twin(fixture, options);
    struct attn_recording actual, expected;

    record(&expected, twin, prompt, &ATTN_SESSION_OPTIONS_DEFAULT, prompt->n);
    record(&actual, model, prompt, &ATTN_SESSION_OPTIONS_DEFAULT, prompt->n);
    attn_assert_same_recording(fixture->name, &actual, &expected);
    attn_recording_release(&actual);
    attn_recording_release(&expected);
    attn_model_free(model);
    attn_model_free(twin);
}

START_TEST(every_site_has_the_bits_of_the_decoded_values)
{
    for (int i = 0; i < N_NAME; i++) {
        struct fixture fixture = open_fixture(names[i]);

        for (size_t k = 0; k < fixture.n_prompt; k++)
            assert_same(&fixture, open_gguf(names[i], &fixture.gguf, NULL), NULL,
                        &fixture.prompts[k]);
        close_fixture(&fixture);
    }
}
END_TEST

/* One token a feed, three, and all; 1 to 3 threads; every instruction set. One of 19 of these,
 * another one each time; with TORTURE=full all. */
static void check_ways(const struct fixture *fixture, const struct attn_model *model,
                       const struct attn_recording *expected)
{
    const struct prompt *prompt = longest(fixture);
    const struct attn_rope *rope = attn_model_config(model)->rope;
    const bool is_whole =
        rope && rope->type == ATTN_ROPE_LONGROPE; /* a short feed: other factors */
    const size_t steps[] = {is_whole ? prompt->n : 1, is_whole ? prompt->n : 3, prompt->n};
    static size_t n;
    char what[100];

    for (int n_thread = 1; n_thread <= 3; n_thread++)
        for (int isa = 0; isa <= (int)attn_isa_detect(); isa++)
            for (size_t k = 0; k < 3; k++) {
                struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
                struct attn_recording actual;
                struct attn_error err = {0};

                if (n++ % attn_one_in(19) != 0)
                    continue;
                options.isa = (enum attn_isa)isa;
                ck_assert(attn_pool_create(n_thread, &options.pool, &err) == ATTN_OK);
                record(&actual, model, prompt, &options, steps[k]);
                snprintf(what, sizeof what, "%s, %d threads, instruction set %d, %zu a feed",
                         fixture->name, n_thread, isa, steps[k]);
                attn_assert_same_recording(what, &actual, expected);
                attn_recording_release(&actual);
                attn_pool_free(options.pool);
            }
}

START_TEST(feeds_threads_instruction_sets_and_loading_change_nothing)
{
    struct fixture fixtures[N_NAME];

    for (int i = 0; i < N_NAME; i++)
        fixtures[i] = open_fixture(names[i]);
    attn_folder_enter();
    for (int i = 0; i < N_NAME; i++) {
        const struct attn_source source = {.name = names[i], .directory = "."};
        struct attn_model *twin = open_twin(&fixtures[i], NULL);
        struct attn_recording expected;

        attn_folder_write("model.gguf", fixtures[i].gguf.data, fixtures[i].gguf.size);
        record(&expected, twin, longest(&fixtures[i]), &ATTN_SESSION_OPTIONS_DEFAULT,
               longest(&fixtures[i])->n);
        for (int way = 0; way < 3; way++) {
            struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
            struct attn_model *model;

            options.load = way == 1 ? ATTN_READ : ATTN_MAP;
            options.reuse = way == 2;
            model = open_source(&source, &options);
            check_ways(&fixtures[i], model, &expected);
            attn_model_free(model);
        }
        attn_recording_release(&expected);
        attn_model_free(twin);
        close_fixture(&fixtures[i]);
    }
    attn_folder_leave();
}
END_TEST

/* --- A matrix of each type of blocks ---------------------------------------------------------- */

enum { WIDTH = 256, MATRICES = 7 }; /* of a layer */

/* Tensor NAME [n_row, WIDTH] of the type of number NO, of any bytes whose scales are finite. */
static void put_blocks(struct attn_gguf_image *image, const char *name, size_t no, size_t n_row)
{
    static const struct {
        enum attn_dtype dtype;
        uint32_t code;
    } types[] = {
#define TYPE(name, number, code, values, bytes) {ATTN_DTYPE_##name, code},
        ATTN_BLOCK_DTYPE_MAP(TYPE)
#undef TYPE
    };
    static unsigned char blocks[WIDTH * WIDTH * 2];
    const size_t i = no % (sizeof types / sizeof *types);
    const struct attn_tensor tensor = {blocks, types[i].dtype, 2, {n_row, WIDTH}};
    static uint32_t random = 1;

    for (size_t k = 0; k < attn_tensor_n_byte(&tensor); k++) {
        random = random * 1664525 + 1013904223;
        blocks[k] = (unsigned char)(random >> 24) & 0xbb; /* no exponent of all ones */
        if (types[i].dtype == ATTN_DTYPE_MXFP4 && k % 17 == 0)
            blocks[k] = 120;
    }
    attn_gguf_put_data(image, name, types[i].code, &tensor);
}

static void put_ones(struct attn_gguf_image *image, const char *name)
{
    static float ones[WIDTH];
    const struct attn_tensor tensor = {ones, ATTN_DTYPE_F32, 1, {WIDTH}};

    for (size_t i = 0; i < WIDTH; i++)
        ones[i] = 1;
    attn_gguf_put_data(image, name, 0, &tensor);
}

/* A llama of N_LAYER layers whose matrices are of one type after another, and tensor MORE if it is
 * not NULL. */
static struct attn_buffer make_model_of_blocks(uint32_t n_layer, const char *more)
{
    static const char *const matrices[MATRICES] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                                   "ffn_gate", "ffn_up", "ffn_down"};
    static const char *const norms[] = {"attn_norm", "ffn_norm"};
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    size_t no = 0;
    char name[64];

    attn_gguf_put_text(&image, "general.architecture", "llama");
    attn_gguf_put_u32(&image, "llama.block_count", n_layer);
    attn_gguf_put_u32(&image, "llama.context_length", MOST);
    attn_gguf_put_u32(&image, "llama.embedding_length", WIDTH);
    attn_gguf_put_u32(&image, "llama.feed_forward_length", WIDTH);
    attn_gguf_put_u32(&image, "llama.attention.head_count", 4);
    attn_gguf_put_f32(&image, "llama.attention.layer_norm_rms_epsilon", 1e-5F);
    put_blocks(&image, "token_embd.weight", no++, 10);
    put_blocks(&image, "output.weight", no++, 10);
    put_ones(&image, "output_norm.weight");
    for (uint32_t layer = 0; layer < n_layer; layer++) {
        for (int i = 0; i < MATRICES; i++) {
            snprintf(name, sizeof name, "blk.%u.%s.weight", layer, matrices[i]);
            put_blocks(&image, name, no++, WIDTH);
        }
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "blk.%u.%s.weight", layer, norms[i]);
            put_ones(&image, name);
        }
    }
    if (more)
        put_ones(&image, more);
    return attn_gguf_image_make(&image);
}

/* The same file with the decoded values gives the same. */
START_TEST(matrices_of_every_type_are_their_decoded_values)
{
    enum { N_TYPE = 0 ATTN_BLOCK_DTYPE_MAP(ATTN_COUNT) };
    struct fixture fixture = {
        .name = "all types",
        .gguf = make_model_of_blocks((N_TYPE - 2 + MATRICES - 1) / MATRICES, NULL),
        .prompts = {{{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9}, 15}},
        .n_prompt = 1};
    struct attn_buffer decoded = attn_gguf_rewrite(&fixture.gguf, ATTN_GGUF_AS_F32);
    struct attn_model *blocks = open_gguf("blocks", &fixture.gguf, NULL);
    struct attn_model *values = open_gguf("values", &decoded, NULL);
    struct attn_recording expected;

    record(&expected, values, longest(&fixture), &ATTN_SESSION_OPTIONS_DEFAULT, 15);
    check_ways(&fixture, blocks, &expected);
    attn_recording_release(&expected);
    attn_model_free(blocks);
    attn_model_free(values);
    attn_buffer_release(&decoded);
    attn_buffer_release(&fixture.gguf);
}
END_TEST

START_TEST(factors_of_nvfp4_are_refused)
{
    struct attn_buffer bytes = make_model_of_blocks(1, "blk.0.attn_q.scale");
    const struct attn_blob blob = {"model.gguf", bytes.data, bytes.size};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_model_open(&source, NULL, &model, &err), ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, "tensor 'blk.0.attn_q.scale' in 'm/model.gguf' is of a part that "
                                  "models of type 'llama' do not have here");
    ck_assert_ptr_nonnull(strstr(err.hint, "factors of NVFP4 are not multiplied in"));
    attn_buffer_release(&bytes);
}
END_TEST

START_TEST(products_in_bfloat16_are_of_the_decoded_values)
{
    for (int i = 0; i < N_NAME; i++) {
        struct fixture fixture = open_fixture(names[i]);

        for (int is_reused = 0; is_reused < 2; is_reused++) {
            struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;

            options.compute = ATTN_COMPUTE_BF16;
            options.reuse = is_reused;
            assert_same(&fixture, open_gguf(names[i], &fixture.gguf, &options), &options,
                        longest(&fixture));
        }
        close_fixture(&fixture);
    }
}
END_TEST

/* As float64, as float32, with one tensor for q, k and v, or three. */
START_TEST(other_forms_of_a_file_give_the_same_bits)
{
    static const unsigned forms[] = {ATTN_GGUF_AS_F64, ATTN_GGUF_FUSED,
                                     ATTN_GGUF_FUSED | ATTN_GGUF_AS_F32, ATTN_GGUF_SPLIT,
                                     ATTN_GGUF_SPLIT | ATTN_GGUF_AS_F64};

    for (int i = 0; i < N_NAME; i++) {
        struct fixture fixture = open_fixture(names[i]);

        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
            struct attn_buffer file = fixture.gguf, first = {0};

            if ((forms[k] & ATTN_GGUF_AS_F32) != 0) /* of one type first, then fused */
                file = first = attn_gguf_rewrite(&fixture.gguf, ATTN_GGUF_AS_F32);
            file = attn_gguf_rewrite(&file, forms[k]);
            assert_same(&fixture, open_gguf(names[i], &file, NULL), NULL, longest(&fixture));
            attn_buffer_release(&file);
            attn_buffer_release(&first);
        }
        close_fixture(&fixture);
    }
}
END_TEST

/* The twin of a file with biases: those of q and k are interleaved as their rows are. */
static struct attn_buffer make_twin_with_biases(const char *name, const struct attn_buffer *file)
{
    static const struct {
        const char *part, *of, *change;
    } biases[] = {{"q_proj", "attn_q", "interleaved"},
                  {"k_proj", "attn_k", "interleaved"},
                  {"v_proj", "attn_v", "same"},
                  {"o_proj", "attn_output", "same"}};
    struct attn_buffer recipe = read_member(name, "twin.txt"), twin;
    char *end = strdup(attn_buffer_string(&recipe)), *line = end;
    char full[128], shape[64], of[64];
    size_t number;
    int layer;

    for (; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (sscanf(line, "tensor %127s %63s %*s %*s %zu %63s", full, shape, &number, of) != 4 ||
            sscanf(of, "blk.%d.", &layer) != 1)
            continue;
        for (size_t i = 0; i < sizeof biases / sizeof *biases; i++)
            if (strstr(full, biases[i].part))
                attn_buffer_append_format(
                    &recipe,
                    "tensor model.layers.%d.self_attn.%s.bias %.*s - %s %zu blk.%d.%s.bias\n",
                    layer, biases[i].part, (int)strcspn(shape, "x"), shape, biases[i].change,
                    number, layer, biases[i].of);
    }
    twin = attn_gguf_twin_by(attn_buffer_string(&recipe), file, ATTN_TWIN_RIGHT);
    attn_buffer_release(&recipe);
    free(end);
    return twin;
}

START_TEST(biases_of_llama_are_interleaved_as_their_rows_are)
{
    static const char off[] = "\"attention_bias\": false", on[] = "\"attention_bias\": true ";
    static const unsigned forms[] = {0, ATTN_GGUF_FUSED};

    for (int i = 0; i < 2; i++) {
        struct fixture fixture = open_fixture("llama_f32");
        struct attn_buffer biased = attn_gguf_rewrite(&fixture.gguf, ATTN_GGUF_WITH_BIAS);
        struct attn_buffer file = attn_gguf_rewrite(&biased, forms[i]);
        char *found = strstr(attn_buffer_string(&fixture.config), off);

        ck_assert_ptr_nonnull(found);
        memcpy(found, on, sizeof on - 1);
        attn_buffer_release(&fixture.twin);
        fixture.twin = make_twin_with_biases("llama_f32", &biased);
        assert_same(&fixture, open_gguf("biased", &file, NULL), NULL, longest(&fixture));
        attn_buffer_release(&file);
        attn_buffer_release(&biased);
        close_fixture(&fixture);
    }
}
END_TEST

/* --- Damage ----------------------------------------------------------------------------------- */

/* Without output.weight the output is tied. Biases and norms of q and k that layer 0 lacks are left
 * over in layer 1. */
START_TEST(a_tensor_that_is_missing_or_turned_is_named)
{
    for (int i = 0; i < N_NAME; i++) {
        struct attn_buffer whole = read_member(names[i], "model.gguf"), damaged;
        struct attn_error err;
        char name[64];

        for (size_t k = 0; attn_gguf_damage(&whole, k, false, name, &damaged); k += attn_one_of(3))
            if (attn_gguf_try(&damaged, &err) == ATTN_OK)
                ck_assert_msg(strncmp(name, "output.", 7) == 0 ||
                                  strcmp(name, "rope_freqs.weight") == 0,
                              "%s without '%s' is a model", names[i], name);
            else
                ck_assert_msg(strstr(err.message, "is missing in") != NULL ||
                                  strstr(err.message, "is of a part") != NULL ||
                                  strstr(err.message, " has no ") != NULL ||
                                  strstr(err.message, " has shape ") != NULL ||
                                  strstr(err.message, "no such bias") != NULL,
                              "%s without '%s': %s", names[i], name, err.message);
        attn_buffer_release(&damaged);
        attn_gguf_try_turned(&whole, names[i]);
        attn_buffer_release(&whole);
    }
}
END_TEST

/* A byte of the metadata or of a tensor's entry is another one. */
START_TEST(other_bytes_of_metadata_are_refused_or_run)
{
    uint32_t random = 1;
    size_t n_ok = 0, n = 0;

    for (int i = 0; i < N_NAME; i++) {
        const size_t end = (size_t)(i + 1) * 700 / attn_one_in(14);
        struct attn_buffer whole = read_member(names[i], "model.gguf");

        n_ok += attn_gguf_try_bits(&whole, end - n, &random);
        n = end;
        attn_buffer_release(&whole);
    }
    ck_assert_msg(n_ok > 0 && n_ok < n, "%zu of %zu opened", n_ok, n);
}
END_TEST

/* Whether a site of a layer has the same bits in both. */
static bool has_site_of(const struct attn_recording *a, const struct attn_recording *b,
                        enum attn_site site, int layer)
{
    const struct attn_recorded *x = attn_recording_find(a, site, layer);
    const struct attn_recorded *y = attn_recording_find(b, site, layer);

    return memcmp(x->data, y->data, x->n * sizeof *x->data) == 0;
}

/* Rows of q and k that were not moved, a norm with a second 1, heads that are not taken apart: each
 * would be seen by the tests above. */
START_TEST(a_twin_whose_rows_were_not_moved_is_another_model)
{
    static const char *const changed[] = {"llama_q8_0",   "gemma2_q8_0", "gemma3_q4_0",
                                          "gptneox_bf16", "gemma_f16",   "granite_q8_0",
                                          "olmo_f16",     "smollm3_f16"};

    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        struct fixture fixture = open_fixture(changed[i]);
        struct attn_model *model = open_gguf(changed[i], &fixture.gguf, NULL), *wrong;
        struct attn_recording actual, expected;

        attn_buffer_release(&fixture.twin);
        fixture.twin = attn_gguf_twin(changed[i], &fixture.gguf, ATTN_TWIN_AS_IT_LIES);
        wrong = open_twin(&fixture, NULL);
        record(&actual, model, longest(&fixture), &ATTN_SESSION_OPTIONS_DEFAULT, MOST);
        record(&expected, wrong, longest(&fixture), &ATTN_SESSION_OPTIONS_DEFAULT, MOST);
        ck_assert_msg(!has_site_of(&actual, &expected, ATTN_SITE_PATTERN, 0), "%s", changed[i]);
        ck_assert(!has_site_of(&actual, &expected, ATTN_SITE_LOGITS, ATTN_NO_LAYER));
        attn_recording_release(&actual);
        attn_recording_release(&expected);
        attn_model_free(model);
        attn_model_free(wrong);
        close_fixture(&fixture);
    }
}
END_TEST

static void write_shards(const struct attn_buffer *gguf, uint32_t count)
{
    for (uint32_t no = 0; no < count; no++) {
        struct attn_buffer shard = attn_gguf_shard(gguf, no, count);
        char name[40];

        snprintf(name, sizeof name, "m-%05d-of-%05d.gguf", (int)no + 1, (int)count);
        attn_folder_write(name, shard.data, shard.size);
        attn_buffer_release(&shard);
    }
}

START_TEST(shards_give_the_bits_of_one_file)
{
    static const struct attn_override first = {"model.gguf", "m-00001-of-00003.gguf"};
    struct fixture fixtures[N_NAME];

    for (int i = 0; i < N_NAME; i++)
        fixtures[i] = open_fixture(names[i]);
    attn_folder_enter();
    for (int i = 0; i < N_NAME; i++) {
        const struct attn_source source = {
            .name = names[i], .directory = ".", .overrides = &first, .n_override = 1};

        write_shards(&fixtures[i].gguf, 3);
        for (int load = ATTN_MAP; load <= ATTN_READ; load++) {
            struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;

            options.load = (enum attn_load)load;
            assert_same(&fixtures[i], open_source(&source, &options), NULL, longest(&fixtures[i]));
        }
        close_fixture(&fixtures[i]);
    }
    attn_folder_leave();
}
END_TEST

START_TEST(divisors_of_frequencies_are_finite_and_above_0)
{
    static const struct {
        float value;
        const char *words;
    } rows[] = {{0, "holds 0 at element 3"},
                {-1, "holds -1 at element 3"},
                {INFINITY, "holds inf at element 3"},
                {NAN, "holds nan at element 3"}};
    struct attn_buffer bytes = read_member("llama_k_mixture", "model.gguf");
    const struct attn_blob blob = {"model.gguf", bytes.data, bytes.size};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_file file = {0};
    struct attn_bundle *gguf = NULL;
    struct attn_tensor_entry entry;
    struct attn_error err = {0};

    ck_assert(attn_file_open_part(&source, "model.gguf", ATTN_READ, &file, &err) == ATTN_OK);
    ck_assert(attn_gguf_take(&file, ATTN_READ, &gguf, &err) == ATTN_OK);
    ck_assert(attn_tensor_files_find(attn_gguf_files(gguf), "rope_freqs.weight", &entry));
    attn_gguf_free(gguf);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_model *model = NULL;

        err = (struct attn_error){0};
        memcpy(bytes.data + entry.offset + 12, &rows[i].value, sizeof rows[i].value);
        ck_assert(attn_model_open(&source, NULL, &model, &err) == ATTN_FORMAT);
        ck_assert_ptr_nonnull(strstr(err.message, "'rope_freqs.weight' in 'm/model.gguf' "));
        ck_assert_msg(strstr(err.message, rows[i].words) != NULL, "%s", err.message);
    }
    attn_buffer_release(&bytes);
}
END_TEST

ATTN_SUITE("gguf_models", every_site_has_the_bits_of_the_decoded_values,
           feeds_threads_instruction_sets_and_loading_change_nothing,
           matrices_of_every_type_are_their_decoded_values, factors_of_nvfp4_are_refused,
           products_in_bfloat16_are_of_the_decoded_values, other_forms_of_a_file_give_the_same_bits,
           a_tensor_that_is_missing_or_turned_is_named, other_bytes_of_metadata_are_refused_or_run,
           biases_of_llama_are_interleaved_as_their_rows_are,
           a_twin_whose_rows_were_not_moved_is_another_model,
           divisors_of_frequencies_are_finite_and_above_0, shards_give_the_bits_of_one_file)
