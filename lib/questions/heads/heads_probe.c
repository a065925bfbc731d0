/* heads_probe.c - the probes of `heads`: random tokens, of which all or some are repeated, as
 * items.
 */
#include "heads/heads_internal.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "frame/questions_internal.h"
#include "params/param_internal.h"
#include "score/generate.h"
#include "stream/items_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

/* --- Texts of the model's own ----------------------------------------------------------------- */

/* The probe of texts that the model writes itself, each from a usual word, so that the same model
 * always gives the same texts. Heads that a probe of random tokens calls `induction` or `duplicate`
 * are called so, whatever they do here. */

/* The words with which texts begin; of a vocabulary without them, ids that are evenly far apart. */
static const char usual_words[] =
    "The man said that in a house by the water, she and I were glad when "
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

/* Writes the texts of PROBES, whose ids are listed. */
static enum attn_status write_own_texts(struct attn_host *host, const struct attn_request *request,
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
    if (tokenizer && attn_tokenizer_encode(tokenizer, usual_words, sizeof usual_words - 1, &options,
                                           &start, NULL) != ATTN_OK) {
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

/* The words of the probe. */
static const char kinds[] = "induction|needle|texts";
enum { INDUCTION, NEEDLE, TEXTS };

enum {
    DEFAULT_LENGTH = 50,
    DEFAULT_OF_NEEDLE = 1000,
    LEAST_OF_NEEDLE = ATTN_NEEDLE_LENGTH + 1, /* the last token of the needle has one after it */
};

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

/* The same for a number from 0 to 1. */
static bool read_depth(const char **at, double *number)
{
    const char *begin = *at + 1;
    double depth;

    if (**at == '\0')
        return true;
    *at = begin + strcspn(begin, ":");
    if (!attn_parse_double(begin, (size_t)(*at - begin), &depth) || depth < 0 || depth > 1)
        return false;
    *number = depth;
    return true;
}

enum attn_status attn_probes_read(const struct attn_param *param, void *home, const char *label,
                                  const char *text, struct attn_error *err)
{
    struct attn_heads_args *args = home;
    int64_t length = 0, repeats = 0, seed = 0;
    double depth = 0.5;
    const char *at = text + strcspn(text, ":");
    const int kind = attn_param_find_word(kinds, text, (size_t)(at - text));

    (void)param;
    if (kind < 0 || !read_number(&at, kind == NEEDLE ? LEAST_OF_NEEDLE : 1, INT32_MAX, &length) ||
        !(kind == NEEDLE ? read_depth(&at, &depth) : read_number(&at, 2, INT32_MAX, &repeats)) ||
        !read_number(&at, 0, INT64_MAX, &seed) || *at || (kind == TEXTS && strchr(text, ':')))
        return attn_param_refuse(err, label, text,
                                 "induction[:LEN[:REPEATS[:SEED]]], with LEN from 1 and REPEATS "
                                 "from 2, needle[:LEN[:DEPTH[:SEED]]], with LEN from %d and DEPTH "
                                 "from 0 to 1, or texts",
                                 LEAST_OF_NEEDLE);
    args->has_probe = true;
    args->probe.is_needle = kind == NEEDLE;
    args->probe.is_own = kind == TEXTS;
    args->probe.needle_depth = depth;
    args->probe.length = (size_t)length;
    args->probe.repeats = (size_t)repeats;
    args->probe.seed = (uint64_t)seed;
    return ATTN_OK;
}

enum attn_status attn_head_sinks_read(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    struct attn_heads_args *args = home;
    const size_t size = strcspn(text, ":");
    const char *at = text + size;
    int64_t n_sink = 0, n_near = 0;

    (void)param;
    if (!attn_parse_int(text, size, 1, INT32_MAX, &n_sink) ||
        !read_number(&at, 1, INT32_MAX, &n_near) || n_near == 0 || *at)
        return attn_param_refuse(err, label, text, "K:W, both from 1, as in 4:64");
    args->n_sink = (size_t)n_sink;
    args->n_near = (size_t)n_near;
    return ATTN_OK;
}

void attn_probes_release(struct attn_probes *probes)
{
    attn_item_free(probes->first);
    attn_items_free(probes->items);
    attn_free(probes->order);
    attn_free(probes->ids);
    attn_free(probes->texts);
    attn_table_free(probes->random);
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
    if (encoding.n_front == 0 && request->reading.special_tokens != ATTN_SPECIAL_TOKENS_DEFAULT)
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

/* Lists the ids from which to draw, and determines what stands in front of them. */
static enum attn_status list_ids(struct attn_host *host, const struct attn_request *request,
                                 struct attn_probes *probes, struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(host);
    const size_t n_token = attn_model_config(model)->n_token;
    const struct attn_tokenizer *tokenizer;

    ATTN_TRY(ATTN_ALLOC(probes->ids, n_token, err));
    ATTN_TRY(ATTN_ALLOC(probes->order, n_token, err));
    attn_host_tokenizer(host, &tokenizer, NULL);
    ATTN_TRY(
        attn_error_at(find_bos(model, tokenizer, request, probes, err), ATTN_STAGE_INPUT, err));
    for (size_t id = 0; id < n_token; id++)
        if (!tokenizer || (id < attn_tokenizer_n_vocab(tokenizer) &&
                           !attn_tokenizer_is_special(tokenizer, (int32_t)id)))
            probes->ids[probes->n_id++] = (int32_t)id;
    return ATTN_OK;
}

/* Determines the size of a probe. */
static enum attn_status size_probe(const struct attn_model *model,
                                   const struct attn_heads_args *args, struct attn_probes *probes,
                                   struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_model_name(model));
    const size_t n_ctx = attn_model_config(model)->n_ctx - probes->n_front;
    const size_t repeats = args->probe.repeats > 0 ? args->probe.repeats : 2;
    const size_t usual = args->probe.is_needle ? DEFAULT_OF_NEEDLE : DEFAULT_LENGTH;
    size_t most = args->probe.is_needle ? n_ctx - ATTN_NEEDLE_LENGTH : n_ctx / 2;

    if (args->probe.is_needle && n_ctx < LEAST_OF_NEEDLE + ATTN_NEEDLE_LENGTH)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "a needle needs %d tokens, and '%s' takes %zu",
                           LEAST_OF_NEEDLE + ATTN_NEEDLE_LENGTH, name.text, n_ctx);
    if (probes->n_id > 0 && probes->n_id < most)
        most = probes->n_id;
    probes->length = args->probe.length > 0 ? args->probe.length : most < usual ? most : usual;
    if (probes->length > probes->n_id ||
        (args->probe.is_needle && probes->length < LEAST_OF_NEEDLE))
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS, "a probe draws %zu different tokens, '%s' has %zu",
            args->probe.is_needle && probes->length < LEAST_OF_NEEDLE ? (size_t)LEAST_OF_NEEDLE
                                                                      : probes->length,
            name.text, probes->n_id);
    if (args->probe.is_needle && probes->length > n_ctx - ATTN_NEEDLE_LENGTH)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a probe of %zu tokens and %d again is too long for '%s', which takes "
                           "%zu",
                           probes->length, ATTN_NEEDLE_LENGTH, name.text, n_ctx);
    if (!args->probe.is_needle && (probes->length == 0 || repeats > n_ctx / probes->length))
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "a probe of %zu tokens, %zu times, is too long for '%s', which takes %zu",
            probes->length, repeats, name.text, n_ctx);
    probes->again =
        args->probe.is_needle ? attn_needle_place(probes->length, args->probe.needle_depth) : 0;
    probes->n_again = args->probe.is_needle ? ATTN_NEEDLE_LENGTH : probes->length * (repeats - 1);
    return ATTN_OK;
}

/* Draws the ids of a probe (attn_item_make_fn). */
static enum attn_status draw_probe(void *user, struct attn_item *item, struct attn_error *err)
{
    const struct attn_probes *probes = user;
    const size_t first = probes->n_front, length = probes->length;
    const size_t n = first + length + probes->n_again;
    int32_t *ids;
    struct attn_random random;

    ATTN_TRY(ATTN_NEW(ids, attn_store_take(&item->store, n * sizeof *ids, err)));
    attn_random_seed(&random, probes->seed + item->number);
    attn_random_permutation(&random, probes->order, probes->n_id);
    ids[0] = probes->bos;
    for (size_t k = 0; k < n - first; k++)
        ids[first + k] =
            probes->ids[probes->order[k < length ? k : probes->again + (k - length) % length]];
    item->input = (struct attn_input){.ids = ids, .n_id = n};
    return ATTN_OK;
}

enum attn_status attn_probes_check_causal(const struct attn_host *host,
                                          const struct attn_heads_args *args,
                                          struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(host);

    if ((!args->probe.is_needle && args->n_near == 0) ||
        attn_model_config(model)->attention[0].mask == ATTN_MASK_CAUSAL)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "%s is about decoders, and '%s' is an encoder, whose queries see the keys "
                       "after them",
                       args->probe.is_needle ? "a needle" : "`sinks`",
                       attn_quote_string(attn_model_name(model)).text);
}

enum attn_status attn_probes_open(struct attn_host *host, const struct attn_request *request,
                                  struct attn_heads_args *args, struct attn_probes *probes,
                                  struct attn_error *err)
{
    static const struct attn_input nothing;
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;

    ATTN_TRY(attn_host_check_model(host, err));
    if (args->probe.is_needle && args->probe.repeats > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "repeats are of the probe induction: a needle comes twice");
    if (args->probe.is_needle && !(args->probe.needle_depth >= 0 && args->probe.needle_depth <= 1))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "the depth of a needle is %g, expected 0 to 1",
                           args->probe.needle_depth);
    ATTN_TRY(attn_probes_check_causal(host, args, err));
    ATTN_TRY(list_ids(host, request, probes, err));
    ATTN_TRY(args->probe.is_own ? write_own_texts(host, request, probes, err)
                                : size_probe(attn_host_model(host), args, probes, err));
    probes->seed = args->probe.seed;
    args->probe.length = probes->length;
    options.inputs = args->probe.is_own ? probes->inputs : &nothing;
    options.n_input = args->probe.is_own ? probes->n_input : args->probe.n > 0 ? args->probe.n : 1;
    ATTN_TRY(attn_items_open(&options, &probes->items, err));
    if (!args->probe.is_own)
        attn_items_make(probes->items, draw_probe, probes);
    probes->study = ATTN_STUDY_ARGS_DEFAULT;
    probes->study.max_errors = 0;
    probes->study.items = probes->items;
    return ATTN_OK;
}
