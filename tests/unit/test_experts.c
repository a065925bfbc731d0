/* test_experts.c - experts in MXFP4, as gpt-oss is published, and experts of models that are
 * packed: the bits of the values as they lie, and only the chosen ones are read. */
#include "attn.h"
#include "base/os/thread.h"
#include "model/model_internal.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { N = 9 };

static const int32_t ids[N] = {3, 7, 1, 9, 4, 20, 11, 2, 60};

static struct attn_model *open_reused(const char *directory, bool is_reused)
{
    const struct attn_source source = {.directory = directory};
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_model *model;
    struct attn_error err = {0};

    options.reuse = is_reused;
    ck_assert_msg(attn_model_open(&source, &options, &model, &err) == ATTN_OK, "%s", err.message);
    return model;
}

static struct attn_model *open_model(const char *directory)
{
    return open_reused(directory, false);
}

/* The logits after N_ID tokens, which the caller frees. */
static float *run(const struct attn_model *model, size_t n_id, int n_thread)
{
    const size_t n_vocab = attn_model_config(model)->n_vocab;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_pool *pool = NULL;
    const float *logits;
    float *copy = malloc(n_vocab * sizeof *copy);

    ck_assert(attn_pool_create(n_thread, &pool, NULL) == ATTN_OK);
    options.n_max = N;
    options.has_logits = true;
    options.pool = pool;
    ck_assert(attn_session_create(model, &options, &session, NULL) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, n_id, NULL) == ATTN_OK);
    ck_assert(attn_session_logits(session, &logits, NULL) == ATTN_OK);
    memcpy(copy, logits, n_vocab * sizeof *copy);
    attn_session_free(session);
    attn_pool_free(pool);
    return copy;
}

START_TEST(packed_experts_have_the_bits_of_their_values)
{
    struct attn_model *decoded = open_model("tests/fixtures/decoder-gpt-oss-decoded");
    const size_t size = attn_model_config(decoded)->n_vocab * sizeof(float);

    for (int n_thread = 1; n_thread < 4; n_thread++) {
        struct attn_model *packed = open_model("tests/fixtures/decoder-gpt-oss-mxfp4");
        float *expected = run(decoded, N, 1), *actual = run(packed, N, n_thread);

        ck_assert(memcmp(actual, expected, size) == 0);
        free(expected), free(actual);
        attn_model_free(packed);
    }
    attn_model_free(decoded);
}
END_TEST

/* Experts of LAYER that were read. */
static size_t count_made(const struct attn_model *model, size_t layer)
{
    size_t n = 0;

    for (size_t e = 0; e < attn_model_config(model)->n_expert; e++)
        n += model->weights.blocks[layer].lazy->is_made[e];
    return n;
}

static const struct {
    const char *directory;
    bool is_reused;
} made_later[] = {{"tests/fixtures/decoder-gpt-oss-mxfp4", false},
                  {"tests/fixtures/decoder-gpt-oss-mxfp4", true},
                  {"tests/fixtures/decoder-gpt-oss-decoded", true},
                  {"tests/fixtures/decoder-granitemoe", true},
                  {"tests/fixtures/decoder-olmoe", true},
                  {"tests/fixtures/decoder-mixtral", true}};
enum { N_MADE_LATER = sizeof made_later / sizeof *made_later };

START_TEST(experts_that_are_packed_when_chosen_have_the_same_bits)
{
    for (size_t i = 0; i < N_MADE_LATER; i++) {
        struct attn_model *plain = open_model(made_later[i].directory);
        const size_t size = attn_model_config(plain)->n_vocab * sizeof(float);
        float *expected = run(plain, N, 1);

        for (int n_thread = 1; n_thread < 4; n_thread++) {
            struct attn_model *packed =
                open_reused(made_later[i].directory, made_later[i].is_reused);
            float *actual = run(packed, N, n_thread);

            ck_assert(memcmp(actual, expected, size) == 0);
            free(actual);
            attn_model_free(packed);
        }
        free(expected);
        attn_model_free(plain);
    }
}
END_TEST

START_TEST(experts_that_no_token_chose_are_not_read)
{
    for (size_t i = 0; i < N_MADE_LATER; i++) {
        struct attn_model *model = open_reused(made_later[i].directory, made_later[i].is_reused);
        const struct attn_config *config = attn_model_config(model);

        for (size_t n_id = 0; n_id < 2; n_id++) {
            if (n_id > 0)
                free(run(model, n_id, 1));
            for (size_t layer = 0; layer < config->n_layer; layer++)
                ck_assert_uint_eq(count_made(model, layer), n_id * config->n_expert_used);
        }
        attn_model_free(model);
    }
}
END_TEST

/* A thread: runs the model, and keeps its logits. */
struct runner {
    const struct attn_model *model;
    struct attn_thread thread;
    float *logits;
};

static void *run_beside(void *user)
{
    struct runner *runner = user;

    runner->logits = run(runner->model, N, 1);
    return NULL;
}

/* Each thread finds experts that nobody, or another thread, has read. */
static void run_threads(struct attn_model *model)
{
    const size_t size = attn_model_config(model)->n_vocab * sizeof(float);
    struct runner runners[4];
    float *expected;

    for (int i = 0; i < 4; i++) {
        runners[i] = (struct runner){.model = model};
        ck_assert(attn_thread_start(run_beside, &runners[i], &runners[i].thread));
    }
    for (int i = 0; i < 4; i++)
        attn_thread_join(&runners[i].thread);
    expected = run(model, N, 1);
    for (int i = 0; i < 4; i++) {
        ck_assert(memcmp(runners[i].logits, expected, size) == 0);
        free(runners[i].logits);
    }
    free(expected);
    attn_model_free(model);
}

START_TEST(threads_may_read_an_expert_at_once)
{
    for (size_t i = 0; i < N_MADE_LATER; i++)
        run_threads(open_reused(made_later[i].directory, made_later[i].is_reused));
}
END_TEST

ATTN_SUITE("experts", packed_experts_have_the_bits_of_their_values,
           experts_that_are_packed_when_chosen_have_the_same_bits,
           experts_that_no_token_chose_are_not_read, threads_may_read_an_expert_at_once)
