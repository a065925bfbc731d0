/* heads_probe.c - the probes of `heads`: random tokens, repeated, as items. */
#include "questions/heads_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "params/param_internal.h"
#include "run/host_internal.h"
#include "stream/items_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

enum { DEFAULT_LENGTH = 50 };

/* Parses the next ":N" at *AT into NUMBER. At the end of the text NUMBER keeps its value. Returns
 * false on a syntax error. */
static bool read_number(const char **at, int64_t min, int64_t max, int64_t *number)
{
    const char *begin = *at + 1;
    size_t size;

    if (**at == '\0')
        return true;
    if (**at != ':')
        return false;
    size = strcspn(begin, ":");
    *at = begin + size;
    return attn_parse_int(begin, size, min, max, number);
}

enum attn_status attn_probes_read(const struct attn_param *param, void *home, const char *label,
                                  const char *text, struct attn_error *err)
{
    struct attn_heads_args *args = home;
    int64_t length = 0, repeats = 0, seed = 0;
    const char *at = text + strcspn(text, ":");

    if (attn_param_find_word(param->words, text, (size_t)(at - text)) < 0 ||
        !read_number(&at, 1, INT32_MAX, &length) || !read_number(&at, 2, INT32_MAX, &repeats) ||
        !read_number(&at, 0, INT64_MAX, &seed) || *at)
        return attn_param_refuse(err, label, text,
                                 "induction[:LEN[:REPEATS[:SEED]]], with LEN from 1 and REPEATS "
                                 "from 2");
    args->has_probe = true;
    args->probe.length = (size_t)length;
    args->probe.repeats = (size_t)repeats;
    args->probe.seed = (uint64_t)seed;
    return ATTN_OK;
}

void attn_probes_release(struct attn_probes *probes)
{
    attn_item_free(probes->first);
    attn_items_free(probes->items);
    attn_free(probes->order);
    attn_free(probes->ids);
}

/* Finds the token that TOKENIZER puts in front of each text that a decoder reads. Models that were
 * trained with it park weight there, and without it their heads look elsewhere. */
static enum attn_status find_bos(const struct attn_model *model,
                                 const struct attn_tokenizer *tokenizer,
                                 const struct attn_request *request, struct attn_probes *probes,
                                 struct attn_error *err)
{
    const struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const bool is_off = request->reading.special_tokens == ATTN_SPECIAL_TOKENS_OFF;
    struct attn_encoding encoding = {0};

    if (tokenizer && !attn_model_config(model)->is_encoder)
        ATTN_TRY(attn_tokenizer_encode(tokenizer, "", 0, &options, &encoding, err));
    if (encoding.n_front == 0 && (is_off || request->reading.given & ATTN_SPECIAL_TOKENS_GIVEN))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`special_tokens` is %s, and a probe of '%s' has no special token "
                           "that it could %s",
                           is_off ? "off" : "on", attn_quote_string(attn_model_name(model)).text,
                           is_off ? "leave out" : "add");
    probes->n_front = encoding.n_front > 0 && !is_off;
    probes->bos = probes->n_front > 0 ? encoding.ids[0] : 0;
    attn_encoding_release(&encoding);
    return ATTN_OK;
}

/* Lists the ids from which to draw, and determines the size of a probe. */
static enum attn_status begin_probes(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_heads_args *args, struct attn_probes *probes,
                                     struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(host);
    const size_t n_token = attn_model_config(model)->n_token;
    size_t n_ctx = attn_model_config(model)->n_ctx, half;
    const struct attn_quote name = attn_quote_string(attn_model_name(model));
    const struct attn_tokenizer *tokenizer;
    size_t most;

    ATTN_TRY(ATTN_ALLOC(probes->ids, n_token, err));
    ATTN_TRY(ATTN_ALLOC(probes->order, n_token, err));
    attn_host_tokenizer(host, &tokenizer, NULL);
    ATTN_TRY(
        attn_error_at(find_bos(model, tokenizer, request, probes, err), ATTN_STAGE_INPUT, err));
    n_ctx -= probes->n_front;
    half = n_ctx / 2;
    for (size_t id = 0; id < n_token; id++)
        if (!tokenizer || (id < attn_tokenizer_n_vocab(tokenizer) &&
                           !attn_tokenizer_is_special(tokenizer, (int32_t)id)))
            probes->ids[probes->n_id++] = (int32_t)id;
    probes->seed = args->probe.seed;
    most = probes->n_id > 0 && probes->n_id < half ? probes->n_id : half;
    probes->length = args->probe.length > 0  ? args->probe.length
                     : most < DEFAULT_LENGTH ? most
                                             : DEFAULT_LENGTH;
    probes->repeats = args->probe.repeats > 0 ? args->probe.repeats : 2;
    if (probes->length > probes->n_id)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a probe draws %zu different tokens, '%s' has %zu", probes->length,
                           name.text, probes->n_id);
    if (probes->length == 0 || probes->repeats > n_ctx / probes->length)
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "a probe of %zu tokens, %zu times, is too long for '%s', which takes %zu",
            probes->length, probes->repeats, name.text, n_ctx);
    return ATTN_OK;
}

/* Draws the ids of a probe (attn_item_make_fn). */
static enum attn_status draw_probe(void *user, struct attn_item *item, struct attn_error *err)
{
    const struct attn_probes *probes = user;
    const size_t first = probes->n_front, n = first + probes->length * probes->repeats;
    int32_t *ids = attn_store_take(&item->store, n * sizeof *ids, err);
    struct attn_random random;

    if (!ids)
        return ATTN_NO_MEMORY;
    attn_random_seed(&random, probes->seed + item->number);
    attn_random_permutation(&random, probes->order, probes->n_id);
    ids[0] = probes->bos;
    for (size_t k = first; k < n; k++)
        ids[k] = probes->ids[probes->order[(k - first) % probes->length]];
    item->input = (struct attn_input){.ids = ids, .n_id = n};
    return ATTN_OK;
}

enum attn_status attn_probes_open(struct attn_host *host, const struct attn_request *request,
                                  const struct attn_heads_args *args, struct attn_probes *probes,
                                  struct attn_error *err)
{
    static const struct attn_input nothing;
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;

    ATTN_TRY(attn_host_check_model(host, err));
    ATTN_TRY(begin_probes(host, request, args, probes, err));
    options.inputs = &nothing;
    options.n_input = args->probe.n > 0 ? args->probe.n : 1;
    ATTN_TRY(attn_items_open(&options, &probes->items, err));
    attn_items_make(probes->items, draw_probe, probes);
    probes->study = ATTN_STUDY_ARGS_DEFAULT;
    probes->study.max_failed = 0;
    probes->study.items = probes->items;
    return ATTN_OK;
}
