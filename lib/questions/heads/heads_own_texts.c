/* heads_own_texts.c - the probe of texts that the model writes itself, each from a usual word, so
 * that the same model always gives the same texts. Heads that a probe of random tokens calls
 * `induction` or `duplicate` are called so, whatever they do here. */
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

/* Writes text number I after the N_FRONT tokens of START, which go before each text, and one of its
 * others. */
static enum attn_status write_text(struct attn_host *host, struct attn_probes *probes,
                                   const struct attn_encoding *start, size_t i,
                                   struct attn_error *err)
{
    const size_t n_front = start->n_front, n_own = start->n - n_front - start->n_back;
    int32_t *ids = probes->texts + i * probes->length;
    struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
    struct attn_generation made = ATTN_GENERATION_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    for (size_t k = 0; k < n_front; k++)
        ids[k] = start->ids[k];
    ids[n_front] = n_own > 0 ? start->ids[n_front + i % n_own]
                             : probes->ids[i * probes->n_id / probes->n_input];
    request.input = (struct attn_input){.ids = ids, .n_id = n_front + 1};
    args.n_most = probes->length - n_front - 1;
    args.temperature = 1;
    args.seed = i;
    ATTN_TRY(attn_generate(host, &request, &args, &made, err));
    request.input.n_id += made.n;
    memcpy(ids, made.ids, request.input.n_id * sizeof *ids);
    probes->inputs[i] = request.input;
    attn_generation_release(&made);
    return ATTN_OK;
}

enum attn_status attn_own_texts_write(struct attn_host *host, const struct attn_request *request,
                                      struct attn_probes *probes, struct attn_error *err)
{
    enum { N_TOKEN = 60, N_SMALL = 10000000, N_FEW = 6 };
    const struct attn_config *config = attn_model_config(attn_host_model(host));
    const double size = 12.0 * (double)config->d_model * (double)config->d_model;
    const struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const struct attn_tokenizer *tokenizer;
    struct attn_encoding start = {0};
    enum attn_status status = ATTN_OK;

    attn_host_tokenizer(host, &tokenizer, NULL);
    if (tokenizer && attn_tokenizer_encode(tokenizer, usual, sizeof usual - 1, &options, &start,
                                           NULL) != ATTN_OK) {
        attn_encoding_release(&start);
        status = attn_tokenizer_encode(tokenizer, "", 0, &options, &start, err);
    }
    probes->n_input = size * (double)config->n_layer < N_SMALL ? ATTN_MOST_OWN_TEXTS : N_FEW;
    probes->length = start.n_front + 1 + N_TOKEN;
    probes->length = config->n_ctx < probes->length ? config->n_ctx : probes->length;
    if (status == ATTN_OK && (config->is_encoder || config->output == ATTN_OUTPUT_NONE ||
                              probes->length < start.n_front + 2))
        status =
            attn_refuse(err, ATTN_STAGE_OPTIONS, "a probe of texts needs a model that writes them");
    ATTN_THEN(status, ATTN_ALLOC(probes->texts, probes->n_input * probes->length, err));
    for (size_t i = 0; status == ATTN_OK && i < probes->n_input; i++) {
        if (request->on_progress)
            request->on_progress(request->user, i, probes->n_input);
        status = write_text(host, probes, &start, i, err);
    }
    attn_encoding_release(&start);
    return status;
}
