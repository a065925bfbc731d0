/* heads_own_texts.c - the probe of texts that the model writes itself: several short ones to an
 * item, each from a usual word, so that the same model always gives the same texts. Heads that a
 * probe of random tokens calls `induction` or `duplicate` are called so, whatever they do here. */
#include "heads/heads_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "machine/questions_internal.h"
#include "run/host_internal.h"
#include "score/generate.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

/* The words with which texts begin; of a vocabulary without them, ids that are evenly far apart. */
static const char usual[] = "The man said that in a house by the water, she and I were glad when "
                            "he came to see it again.";

/* Texts to an item, their tokens, and items: 4 of a model of few multiplications, 1 of another. */
enum { N_JOINED = 6, N_TOKEN = 60, N_ITEM = 4, MOST_TOKENS = 360, N_SMALL = 10000000 };

/* Sets *id to the first token of text number I, after the N_FRONT of START. */
static int32_t first_token(const struct attn_probes *probes, const struct attn_encoding *start,
                           size_t i, size_t n)
{
    const size_t n_own = start->n - start->n_front - start->n_back;

    return n_own > 0 ? start->ids[start->n_front + i % n_own] : probes->ids[i * probes->n_id / n];
}

/* Appends text number I, of N, to its item. */
static enum attn_status write_text(struct attn_host *host, struct attn_probes *probes,
                                   const struct attn_encoding *start, size_t i, size_t n,
                                   struct attn_error *err)
{
    struct attn_input *input = &probes->inputs[i / N_JOINED];
    const size_t n_front = start->n_front, left = probes->length - input->n_id;
    int32_t *ids = probes->texts + i / N_JOINED * probes->length + input->n_id;
    struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
    struct attn_generation made = ATTN_GENERATION_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    size_t n_id = input->n_id > 0 ? 1 : n_front + 1;

    if (left <= n_front + 2)
        return ATTN_OK;
    for (size_t k = 0; k < n_front; k++)
        ids[k] = start->ids[k];
    ids[n_front] = first_token(probes, start, i, n);
    request.input.ids = ids;
    request.input.n_id = n_front + 1;
    args.n_most = left - n_front - 1 < N_TOKEN ? left - n_front - 1 : N_TOKEN;
    args.temperature = 1;
    args.seed = i;
    ATTN_TRY(attn_generate(host, &request, &args, &made, err));
    n_id += made.n; /* what stands in front comes once */
    memcpy(ids, made.ids + made.n_prompt + made.n - n_id, n_id * sizeof *ids);
    input->ids = probes->texts + i / N_JOINED * probes->length;
    input->n_id += n_id;
    attn_generation_release(&made);
    return ATTN_OK;
}

static enum attn_status write_texts(struct attn_host *host, const struct attn_request *request,
                                    struct attn_probes *probes, const struct attn_encoding *start,
                                    struct attn_error *err)
{
    const size_t n = probes->n_input * N_JOINED;

    ATTN_TRY(ATTN_ALLOC(probes->texts, probes->n_input * probes->length, err));
    for (size_t i = 0; i < n; i++) {
        if (request->on_progress)
            request->on_progress(request->user, i, n);
        ATTN_TRY(write_text(host, probes, start, i, n, err));
    }
    return ATTN_OK;
}

enum attn_status attn_own_texts_write(struct attn_host *host, const struct attn_request *request,
                                      struct attn_probes *probes, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_host_model(host));
    const double size = 12.0 * (double)config->d_model * (double)config->d_model;
    const struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const struct attn_tokenizer *tokenizer;
    struct attn_encoding start = {0};
    enum attn_status status = ATTN_OK;

    if (config->is_encoder || config->output == ATTN_OUTPUT_NONE || config->n_ctx < 2)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a probe of texts needs a model that writes them");
    probes->n_input = size * (double)config->n_layer < N_SMALL ? N_ITEM : 1;
    probes->length = config->n_ctx < MOST_TOKENS ? config->n_ctx : MOST_TOKENS;
    attn_host_tokenizer(host, &tokenizer, NULL);
    if (tokenizer && attn_tokenizer_encode(tokenizer, usual, sizeof usual - 1, &options, &start,
                                           NULL) != ATTN_OK) {
        attn_encoding_release(&start);
        status = attn_tokenizer_encode(tokenizer, "", 0, &options, &start, err);
    }
    ATTN_THEN(status, write_texts(host, request, probes, &start, err));
    attn_encoding_release(&start);
    return status;
}
