/* lens.c - see lens.h. One run records the stream at the queries. A second session is fed these
 * rows as the output of its last layer, so that the model's own output layer computes each
 * reading. */
#include "lens/lens_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/source.h"
#include "base/status_internal.h"
#include "formats/ndarray.h"
#include "formats/safetensors.h"
#include "forward/session_internal.h"
#include "frame/frame.h"
#include "frame/questions_internal.h"
#include "kernels/kernels.h"
#include "model/config_internal.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "predict/class_label.h"
#include "predict/logits.h"
#include "run/run_pass.h"
#include "stream/items_internal.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"
#include "trials/readout.h"
#include "trials/trial.h"

#include <stdio.h>
#include <string.h>

/* --- Maps ------------------------------------------------------------------------------------- */

/* Maps of a lens: DIR/L.npy or DIR/L.safetensors for layer L. */

/* The map of the output of a layer: y = weight x + bias. */
struct layer_map {
    float *weight; /* [d, d] owns; rows belong to y; NULL: the output is read as it is */
    float *bias;   /* [d] owns; or NULL */
};

struct maps {
    struct layer_map *items; /* [n] owns; one per layer */
    size_t n, d;             /* number of layers; width of the stream */
    const char *folder;      /* borrowed */
};

/* What an array of the file `path` should be: [D] or [D, D], by its rank. */
struct wanted {
    const char *path, *name;
    int rank;
    size_t d;
};

/* Returns an error unless SHAPE [rank] is what is WANTED. */
static enum attn_status check_shape(const struct wanted *wanted, int rank, const size_t *shape,
                                    struct attn_error *err)
{
    char found[ATTN_SHAPE_TEXT_SIZE];
    const size_t d = wanted->d;

    if (rank == wanted->rank && shape[0] == d && (rank == 1 || shape[1] == d))
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          wanted->rank == 1 ? "'%s': %s is %s, expected [%zu]"
                                            : "'%s': %s is %s, expected [D, D] with D = %zu",
                          attn_quote_string(wanted->path).text, wanted->name,
                          attn_shape_text(rank, shape, found), d);
}

/* Copies VALUES [n] to *OUT, which the map owns. */
static enum attn_status keep(const float *values, size_t n, float **out, struct attn_error *err)
{
    ATTN_TRY(ATTN_NEW(*out, attn_alloc_uninitialized(n, sizeof **out, err)));
    memcpy(*out, values, n * sizeof **out);
    return ATTN_OK;
}

/* Reads the floats of PATH, of rank WANTED, into *OUT, if the file exists. */
static enum attn_status read_npy(const char *path, int wanted, size_t d, float **out,
                                 struct attn_error *err)
{
    struct attn_ndarray array = {0};
    enum attn_status status;

    if (!attn_os_exists(path))
        return ATTN_OK;
    ATTN_TRY(attn_ndarray_read(path, wanted, wanted, wanted == 1 ? "[D]" : "[D, D]", &array, err));
    status =
        check_shape(&(struct wanted){path, "the array", wanted, d}, array.rank, array.shape, err);
    ATTN_THEN(status, keep(array.data, wanted == 1 ? d : d * d, out, err));
    attn_ndarray_release(&array);
    return status;
}

static enum attn_status read_tensor(const struct attn_tensor_files *files,
                                    const struct wanted *wanted, float **out,
                                    struct attn_error *err)
{
    struct attn_tensor_entry entry;
    const size_t n = wanted->rank == 1 ? wanted->d : wanted->d * wanted->d;

    if (!attn_tensor_files_find(files, wanted->name, &entry))
        return ATTN_OK;
    ATTN_TRY(check_shape(wanted, entry.tensor.rank, entry.tensor.shape, err));
    if (entry.tensor.dtype != ATTN_DTYPE_F32 && entry.tensor.dtype != ATTN_DTYPE_F16 &&
        entry.tensor.dtype != ATTN_DTYPE_BF16)
        return attn_error_set(err, ATTN_FORMAT, "'%s': %s has another type than F32, F16 and BF16",
                              attn_quote_string(wanted->path).text, wanted->name);
    ATTN_TRY(ATTN_NEW(*out, attn_alloc_uninitialized(n, sizeof **out, err)));
    attn_kernels_find(ATTN_ISA_BEST)->convert(entry.tensor.data, entry.tensor.dtype, n, *out);
    return ATTN_OK;
}

static enum attn_status read_safetensors(const char *path, size_t d, struct layer_map *map,
                                         struct attn_error *err)
{
    struct attn_tensor_files *files;
    enum attn_status status;

    if (!attn_os_exists(path))
        return ATTN_OK;
    ATTN_TRY(attn_safetensors_open_file(path, ATTN_READ, &files, err));
    status = read_tensor(files, &(struct wanted){path, "weight", 2, d}, &map->weight, err);
    ATTN_THEN(status, read_tensor(files, &(struct wanted){path, "bias", 1, d}, &map->bias, err));
    if (status == ATTN_OK && !map->weight)
        status = attn_error_set(err, ATTN_FORMAT, "'%s' has no tensor 'weight', expected [D, D]",
                                attn_quote_string(path).text);
    attn_tensor_files_free(files);
    return status;
}

/* Reads the map of LAYER in FOLDER, if it is there. */
static enum attn_status read_layer(const char *folder, size_t layer, size_t d,
                                   struct layer_map *map, struct attn_error *err)
{
    static const char *const ends[] = {".npy", ".bias.npy", ".safetensors"};
    char path[4096];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (snprintf(path, sizeof path, "%s/%zu%s", folder, layer, ends[i]) >= (int)sizeof path)
            return attn_error_set(err, ATTN_INVALID, "the path '%s' is too long",
                                  attn_quote_string(folder).text);
        if (i < 2)
            ATTN_TRY(read_npy(path, i == 0 ? 2 : 1, d, i == 0 ? &map->weight : &map->bias, err));
        else if (!map->weight)
            ATTN_TRY(read_safetensors(path, d, map, err));
        if (i == 1 && map->bias && !map->weight)
            return attn_error_set(err, ATTN_FORMAT, "'%s' has no matrix '%zu.npy' beside it",
                                  attn_quote_string(path).text, layer);
    }
    return ATTN_OK;
}

/* Reads the maps in FOLDER for a model of CONFIG. ATTN_INVALID if it has none, ATTN_FORMAT for
 * another shape or type. Errors have a stage. Release *maps after a failure, too. */
static enum attn_status read_maps(const char *folder, const struct attn_config *config,
                                  struct maps *maps, struct attn_error *err)
{
    bool is_empty = true;

    maps->d = config->d_model;
    maps->n = config->n_layer;
    maps->folder = folder;
    ATTN_TRY(ATTN_ALLOC(maps->items, maps->n, err));
    for (size_t i = 0; i < maps->n; i++) {
        ATTN_TRY(attn_error_at(read_layer(folder, i, maps->d, &maps->items[i], err),
                               ATTN_STAGE_INPUT, err));
        is_empty = is_empty && !maps->items[i].weight;
    }
    if (!is_empty)
        return ATTN_OK;
    return attn_refuse(
        err, ATTN_STAGE_INPUT,
        "'%s' has no map of a layer, expected L.npy or L.safetensors for layers 0 to %zu",
        attn_quote_string(folder).text, maps->n - 1);
}

/* {0} is allowed */
static void release_maps(struct maps *maps)
{
    for (size_t i = 0; maps->items && i < maps->n; i++) {
        attn_free(maps->items[i].weight);
        attn_free(maps->items[i].bias);
    }
    attn_free(maps->items);
    *maps = (struct maps){.n = 0};
}

/* Sets Y [d] to the map of layer I, which has one, of X [d]. Sums are double, in index order. */
static void apply_map(const struct maps *maps, size_t i, const float *x, float *y)
{
    const struct layer_map *map = &maps->items[i];
    const size_t d = maps->d;

    for (size_t r = 0; r < d; r++) {
        const float *row = map->weight + r * d;
        double sum = map->bias ? (double)map->bias[r] : 0;

        for (size_t k = 0; k < d; k++)
            sum += (double)row[k] * (double)x[k];
        y[r] = (float)sum;
    }
}

enum { DEFAULT_TOP = 3 };

/* --- The question ----------------------------------------------------------------------------- */

static enum attn_status read_measures(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    struct attn_lens_args *args = home;
    const char *other = attn_word_set_read(param->words, text, &args->measures);

    return !other ? ATTN_OK
                  : attn_error_set(err, ATTN_INVALID,
                                   "'%s' for %s is no measure of a reading, "
                                   "expected entropy, kl or both, with a comma",
                                   attn_quote(other, strcspn(other, ",")).text, label);
}

static const struct attn_param param_rows[] = {
    ATTN_PARAM_QUERIES(
        "positions to read at, numbers or words of the text; default: -1, the last, for an "
        "encoder the mask, for a picture [CLS], for a classifier the token that it reads. "
        "An item's own is one",
        .keys = "queries|at"),
    ATTN_PARAM(
        LIST, "layers", "SPEC", struct attn_request, selection.layers,
        "print the rows of these layers only: 0,2-4 or 0-11+2; -1 is the last, which has two",
        .home = ATTN_PARAM_OF_REQUEST),
    ATTN_PARAM(COUNT, "top", "K", struct attn_lens_args, top,
               "print the K most probable tokens, or labels of a picture, of each reading; "
               "default: 3",
               .least = 1, .most = INT32_MAX),
    ATTN_PARAM(LIST, "sites", "LIST", struct attn_request, selection.sites,
               "read these sites too: resid_mid, resid_post; default: resid_pre of each layer "
               "and resid_post of the last",
               .home = ATTN_PARAM_OF_REQUEST),
    ATTN_PARAM(FLAG, "heads_out", NULL, struct attn_lens_args, reads_heads,
               "read what each head by itself adds to the residual stream: the K largest and K "
               "smallest logits"),
    ATTN_PARAM(TEXT, "map", "DIR", struct attn_lens_args, map,
               "multiply the output of each layer L by the matrix of DIR/L.npy or "
               "DIR/L.safetensors before it is read: a tuned lens, a Jacobian lens"),
    ATTN_PARAM(OWN, "measures", "LIST", struct attn_lens_args, measures,
               "add columns to each reading, in nats: entropy of its distribution; kl, how far the "
               "model's own prediction is from it, sum p ln(p / q)",
               .words = "entropy|kl", .read = read_measures),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Lens", param_rows);

static const struct attn_param_part parts[] = {
    {&attn_target_params, offsetof(struct attn_lens_args, answer)},
    {&attn_foil_params, offsetof(struct attn_lens_args, answer)},
    {&params, 0},
};

static const struct attn_param_rule rules[] = {
    {.given = "top",
     .excludes = "target|target_id",
     .message = "@ lists the most probable tokens, and `target` asks for one"},
    {.given = "foil|foil_id",
     .needs = "target|target_id|items",
     .message = "`foil` needs `target`, which it is compared with",
     .time = ATTN_PARAM_VALUES},
    {.given = "map", .excludes = "heads_out", .time = ATTN_PARAM_BOTH},
    {.given = "measures", .excludes = "heads_out"},
};

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_lens = {
    .name = "lens",
    .summary = "what each layer already knows of the next token",
    .description =
        "Reads the residual stream of each layer with the model's own final norm and\n"
        "output matrix (the logit lens), and prints the most probable tokens, or with\n"
        "`target` the rank of one, with `foil` the difference of their logits. The last\n"
        "row is the model's own prediction. Over `items` the numbers are means and\n"
        "standard deviations by layer: of the target, or, with `top` or if the first item\n"
        "has no target, of the K largest probabilities, whichever tokens have them.\n"
        "\n"
        "The numbers say from which layer on an answer can be read off the residual\n"
        "stream. They do not say that an earlier layer lacks it: that layer may hold it\n"
        "in another form.\n"
        "\n"
        "`map` first multiplies the output of a layer by a matrix of a folder, which may\n"
        "have been fitted with PyTorch: a tuned lens, or a Jacobian lens, the mean\n"
        "derivative of the last layer's output. It is of one corpus: name the corpus.\n",
    .examples = "  attn-cli lens -m fable \"The keys to the cabinet\"\n"
                "  attn-cli lens -m fable `heads_out` `top` 1 \"The keys to the cabinet\"\n"
                "  attn-cli lens -m fable `target` ' are' `items` s.txt `items_format` lines\n"
                "  attn-cli lens -m fable `map` maps \"The keys to the cabinet\"\n",
    .lacks = "dropout|seed",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_lens_args, .size = sizeof(struct attn_lens_args)),
    .choose = choose_procedure,
};

/* --- The run ---------------------------------------------------------------------------------- */

/* Reads the sites of the request, which must be sites of the stream. */
static enum attn_status choose_sites(struct attn_lens_run *lens, struct attn_error *err)
{
    struct attn_request_selection *asked = &lens->frame.request.selection;
    const struct attn_dims dims = attn_config_dims(lens->frame.config, 1);
    const bool is_sum = lens->frame.config->norm_place == ATTN_NORM_SUM;
    const struct attn_site_set allowed =
        lens->args->map ? ATTN_SITES(attn_site_of_output(&dims))
        : is_sum        ? ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_NORMALIZED_RESID_MID,
                                     ATTN_SITE_NORMALIZED_RESID_POST)
                 : ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_MID, ATTN_SITE_RESID_POST);
    const char *reads = lens->args->map ? "`map` is of the output of each layer"
                        : is_sum        ? "a lens reads resid_pre, normalized_resid_mid and "
                                          "normalized_resid_post of this model"
                                        : "a lens reads resid_pre, resid_mid and resid_post";

    if (asked->sites && attn_sites_parse(asked->sites, &lens->sites, err) != ATTN_OK)
        return attn_error_in(ATTN_INVALID, "sites", err);
    if (!attn_sites_are_empty(attn_sites_without(lens->sites, allowed)))
        return attn_error_of(attn_error_set(err, ATTN_INVALID, "%s, not '%s'", reads, asked->sites),
                             "sites", err);
    if (lens->args->map)
        lens->sites = allowed;
    asked->sites = NULL;
    asked->given = NULL;
    return ATTN_OK;
}

/* Reads the sites and the queries of the request. */
static enum attn_status choose(void *state, struct attn_error *err)
{
    struct attn_lens_run *lens = state;
    struct attn_request *request = &lens->frame.request;
    const struct attn_config *config = lens->frame.config;
    const bool is_given = attn_number_list_is_given(&request->selection.queries);
    const bool has_queries =
        is_given || (lens->frame.item && attn_number_list_is_given(&lens->frame.item->queries));
    /* the tokens determine which row a classifier reads */
    const bool is_by_token = config->pooling == ATTN_POOLING_LAST ||
                             (config->pooling == ATTN_POOLING_PROJECTED && config->n_token > 0);

    lens->args = lens->frame.args;
    lens->is_whole = attn_lens_reads_mean(config) || (is_by_token && !has_queries);
    if (config->task == ATTN_TASK_SPANS)
        return attn_error_set(
            err, ATTN_INVALID, "a lens reads one row at a time, and '%s' answers with spans of two",
            attn_quote_string(attn_model_name(attn_host_model(lens->frame.host))).text);
    if (config->task == ATTN_TASK_TOKENS && !is_given) {
        attn_error_set(err, ATTN_INVALID, "'%s' labels each token, expected `queries`",
                       attn_quote_string(attn_model_name(attn_host_model(lens->frame.host))).text);
        return attn_error_hint(err, "`queries 1` reads the token at position 1");
    }
    if (attn_lens_reads_mean(config) && has_queries)
        return attn_error_set(
            err, ATTN_INVALID,
            "`queries` name positions, and the classifier of '%s' reads all %s at once",
            attn_quote_string(attn_model_name(attn_host_model(lens->frame.host))).text,
            config->n_token > 0 ? "tokens" : "patches");
    lens->is_mean = lens->frame.is_one_of_many;
    ATTN_TRY(choose_sites(lens, err));
    if (is_given || lens->is_whole)
        return ATTN_OK;
    request->selection.at_mask = config->is_encoder; /* encoders predict at the mask */
    request->selection.queries.text = config->image.patch_height > 0          ? "[CLS]"
                                      : config->pooling == ATTN_POOLING_FIRST ? "0"
                                      : config->is_encoder                    ? NULL
                                                                              : "-1";
    return ATTN_OK;
}

/* Whether ITEM names the position where it is read. */
static bool has_place(const struct attn_item *item)
{
    return attn_number_list_is_given(&item->queries) || attn_number_list_is_given(&item->answer.at);
}

/* Resolves target and foil, if given. For an encoder, which needs no mask here, and for labels of
 * positions, the position of the answer is the first query. */
static enum attn_status find_answer(struct attn_lens_run *lens, struct attn_error *err)
{
    struct attn_frame *frame = &lens->frame;
    struct attn_answer_args answer = lens->args->answer;
    size_t first = 0;
    int64_t at;

    if (attn_lens_lists_top(lens) || (!answer.target && !answer.target_id && !answer.foil &&
                                      !answer.foil_id && !attn_lens_has_first(lens)))
        return ATTN_OK;
    answer.metric = ATTN_ANSWER_AUTO; /* unused */
    if ((frame->config->is_encoder || frame->config->task == ATTN_TASK_TOKENS) &&
        !attn_model_is_classifier(attn_asked_model(frame->run)) && lens->n_query > 0) {
        while (!attn_selection_has_query(attn_asked_selection(frame->run), ATTN_STACK_ONLY, first))
            first++;
        at = (int64_t)first;
        answer.at = (struct attn_number_list){.items = &at, .n = 1};
    }
    return attn_frame_find_answer(frame, &answer, &lens->answer, err);
}

static const struct attn_dims *dims_of(const struct attn_lens_run *lens)
{
    return attn_asked_dims(lens->frame.run);
}

/* Whether the layer of AT, whose site is one of attention, has rows. */
static bool is_shown(const struct attn_lens_run *lens, struct attn_location at)
{
    at.head = 0;
    return attn_selection_has_head(attn_asked_selection(lens->frame.run), &at);
}

/* Refuses layers of the encoder alone: no output layer reads it. */
static enum attn_status check_layers(const struct attn_lens_run *lens, struct attn_error *err)
{
    const char *layers = lens->frame.request.selection.layers;
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    while (attn_dims_next_layer(dims_of(lens), &at))
        if (is_shown(lens, at))
            return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS, "`layers` are '%s', which a lens does not read",
                       attn_quote_string(layers ? layers : "").text);
}

/* Records the stream, or z, at the queries, allocates memory for readings, and starts the session
 * that computes them. */
static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct attn_lens_run *lens = state;
    struct attn_frame *frame = &lens->frame;
    const struct attn_config *config = frame->config;
    struct attn_pass pass = attn_run_pass(frame->run);
    const struct attn_site_set stream =
        attn_sites_join(lens->sites, ATTN_SITES(ATTN_SITE_RESID_PRE,
                                                attn_site_of_output(attn_asked_dims(frame->run))));
    if (lens->args->reads_heads && attn_config_unread_layers(config))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a lens does not read heads of a model that has layers %s yet",
                           attn_config_unread_layers(config));
    const struct attn_watch watch = {
        .sites = lens->args->reads_heads ? ATTN_SITES(ATTN_SITE_Z) : stream,
        .places.queries =
            lens->is_whole ? NULL : &attn_asked_request(frame->run)->selection.queries,
        .capture = &frame->capture};
    const size_t n_vocab = config->n_vocab;

    ATTN_TRY(check_layers(lens, err));
    lens->n_query = attn_selection_n_query(attn_asked_selection(frame->run));
    lens->pooled =
        attn_config_pooled_row(config, attn_asked_text(frame->run)->ids, attn_asked_n(frame->run));
    if (frame->item && has_place(frame->item) && lens->n_query != 1 && !lens->is_whole)
        return attn_refuse(err, ATTN_STAGE_INPUT, "`queries` '%s' are %zu positions, expected one",
                           attn_number_list_quote(&frame->request.selection.queries).text,
                           lens->n_query);
    ATTN_TRY(find_answer(lens, err));
    ATTN_TRY(attn_watch(frame->run, &watch, err));
    lens->top = lens->args->top > 0 ? lens->args->top : DEFAULT_TOP;
    lens->top = lens->top < n_vocab ? lens->top : n_vocab;
    lens->n_value = attn_lens_has_answers(lens) ? lens->args->n_answer + 1
                    : lens->answer.has_target   ? ATTN_LENS_N_TARGET_VALUE
                                                : lens->top * (lens->args->reads_heads ? 2 : 1);
    lens->answers = attn_frame_alloc(frame, lens->args->n_answer + 1, sizeof *lens->answers);
    lens->stream = attn_frame_alloc(frame, lens->n_query * config->d_model, sizeof *lens->stream);
    if (config->stream)
        lens->last = attn_frame_alloc(frame, lens->n_query * config->d_model, sizeof *lens->last);
    lens->scratch = attn_frame_alloc(frame, 2 * config->d_model, sizeof(double));
    lens->logits = attn_frame_alloc(frame, n_vocab, sizeof *lens->logits);
    lens->ranked = attn_frame_alloc(frame, 2 * n_vocab, sizeof *lens->ranked);
    if (lens->args->measures != 0 && config->label_kind != ATTN_LABELS_SINGLE)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`measures` are of one distribution, and the labels of '%s' have none",
                           attn_quote_string(attn_model_name(attn_asked_model(frame->run))).text);
    if (lens->args->measures & ATTN_LENS_KL)
        lens->own =
            attn_frame_alloc(frame, attn_size_mul(lens->n_query + 1, n_vocab), sizeof *lens->own);
    lens->values = attn_frame_alloc(frame, lens->n_value, sizeof *lens->values);
    lens->sums = attn_frame_alloc(frame, lens->n_value, sizeof *lens->sums);
    ATTN_TRY(attn_frame_memory(frame, err));
    pass.options.has_logits = true;
    pass.options.pool = attn_host_pool(attn_asked_host(frame->run), 1e9);
    return attn_pass_start(&pass, &frame->session, err);
}

/* --- Readings --------------------------------------------------------------------------------- */

/* Returns the value of an answer with LOGIT: its share of SUM, the sum of the softmax, whose
 * largest term is 1; or what labels have instead. */
static double value_of(const struct attn_lens_run *lens, double logit, double sum)
{
    const enum attn_label_kind kind = lens->frame.config->label_kind;

    return lens->args->reads_heads || kind >= ATTN_LABELS_SCORE ? logit
           : kind == ATTN_LABELS_MULTI                          ? attn_exp(-attn_softplus(-logit))
                                       : attn_exp(logit - lens->ranked[0].logit) / sum;
}

/* Computes lens->values from the logits. The ranking also yields the sum of the softmax; it is used
 * because the order of addition affects the last bits. If only the rank of one token is needed, the
 * ranking is skipped. */
static void find_values(struct attn_lens_run *lens)
{
    const struct attn_scored *ranked = lens->ranked;
    const float *logits = lens->logits;
    const size_t n_vocab = lens->frame.config->n_vocab;
    const bool has_target = lens->answer.has_target, reads_heads = lens->args->reads_heads;
    const enum attn_label_kind kind = lens->frame.config->label_kind;
    const size_t target = (size_t)lens->answer.target;
    const double sum =
        has_target && reads_heads ? 0 : attn_logits_rank(logits, n_vocab, lens->ranked);

    for (size_t i = 0; i < lens->n_answer; i++)
        lens->values[i] = value_of(lens, (double)logits[lens->answers[i]], sum);
    if (lens->n_answer > 0)
        return;
    for (size_t i = 0; !has_target && i < lens->top; i++) {
        lens->values[i] = value_of(lens, ranked[i].logit, sum);
        if (reads_heads)
            lens->values[lens->top + i] = ranked[n_vocab - 1 - i].logit;
    }
    if (!has_target)
        return;
    lens->values[ATTN_LENS_RIGHT] = attn_answer_right(&lens->answer, logits);
    lens->values[ATTN_LENS_RANK] = attn_logits_place(logits, n_vocab, lens->answer.target);
    lens->values[ATTN_LENS_LOGIT] = (double)logits[target];
    if (lens->answer.has_foil)
        lens->values[ATTN_LENS_DIFFERENCE] = attn_answer_value(&lens->answer, logits, 0);
    if (!reads_heads && kind == ATTN_LABELS_SINGLE)
        lens->values[ATTN_LENS_PROB] = attn_exp((double)logits[target] - ranked[0].logit) / sum;
    else if (!reads_heads)
        lens->values[ATTN_LENS_PROB] = attn_answer_probability(
            &lens->answer, logits, attn_answer_total(&lens->answer, logits));
}

/* Sets lens->logits to the logits of query number I. ROWS has one row per query, the output of the
 * last layer. */
static enum attn_status feed(struct attn_lens_run *lens, const float *rows, size_t i,
                             struct attn_error *err)
{
    const struct attn_config *config = lens->frame.config;
    struct attn_session *session = lens->frame.session;
    const bool is_alone =
        attn_model_is_classifier(attn_asked_model(lens->frame.run)) && !lens->is_whole;
    const struct attn_location end = attn_dims_end(dims_of(lens));

    if (is_alone) { /* a classifier computes logits for its first position only */
        attn_session_reset(session);
        ATTN_TRY(attn_session_feed_layer(session, &end, rows + i * config->d_model, NULL, 1, err));
    } else if (i == 0) {
        ATTN_TRY(attn_session_feed_layer(
            session, &end, rows, lens->is_whole ? attn_asked_text(lens->frame.run)->ids : NULL,
            lens->n_query, err));
    }
    return attn_session_logits_at(session, is_alone ? 0 : i, 1, lens->logits, err);
}

/* Computes the measures of lens->logits, the reading of query number I. */
static void find_measures(struct attn_lens_run *lens, size_t i)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t n = lens->frame.config->n_vocab;
    const double total = lens->args->measures ? kernels->log_sum_exp(lens->logits, n, NULL) : 0;
    double sum = 0;

    for (size_t v = 0; v < n && lens->args->measures & ATTN_LENS_ENTROPY; v++)
        sum += attn_exp((double)lens->logits[v] - total) * (total - (double)lens->logits[v]);
    lens->measured[0] = sum;
    if (lens->own)
        lens->measured[1] =
            kernels->divergence(lens->own + i * n, kernels->log_sum_exp(lens->own + i * n, n, NULL),
                                lens->logits, total, n);
}

/* Reads ROWS, one per query, the output of the last layer, and appends the values of each query, or
 * their mean. */
static enum attn_status read_queries(struct attn_lens_run *lens, struct attn_lens_reading reading,
                                     const float *rows, struct attn_error *err)
{
    const struct attn_frame *frame = &lens->frame;
    const size_t n = lens->is_whole ? 1 : lens->n_query;

    memset(lens->sums, 0, lens->n_value * sizeof *lens->sums);
    memset(lens->measure_sums, 0, sizeof lens->measure_sums);
    for (size_t i = 0, query = 0; i < n; i++, query++) {
        while (!lens->is_whole &&
               !attn_selection_has_query(attn_asked_selection(frame->run), ATTN_STACK_ONLY, query))
            query++;
        reading.position = lens->is_whole ? lens->pooled : query;
        ATTN_TRY(feed(lens, rows, i, err));
        find_values(lens);
        find_measures(lens, i);
        if (!lens->is_mean && !reading.is_hidden)
            ATTN_TRY(attn_lens_append(lens, &reading, lens->values, err));
        for (size_t k = 0; k < 2; k++)
            lens->measure_sums[k] += lens->measured[k] / (double)n;
        for (size_t k = 0; k < lens->n_value; k++)
            lens->sums[k] += lens->values[k] / (double)n;
    }
    attn_session_reset(lens->frame.session);
    memcpy(lens->measured, lens->measure_sums, sizeof lens->measured);
    if (lens->is_mean && !reading.is_hidden)
        ATTN_TRY(attn_lens_append(lens, &reading, lens->sums, err));
    return attn_host_check_canceled(attn_asked_host(frame->run), err);
}

/* Reads ROWS, the outputs of LAYER, through its map if there is one. */
static enum attn_status read_rows(struct attn_lens_run *lens, struct attn_lens_reading reading,
                                  const float *rows, struct attn_error *err)
{
    const struct maps *maps = lens->frame.plan;
    const size_t d = lens->frame.config->d_model, layer = attn_location_index(&reading.at);
    struct attn_error failure = {0};
    enum attn_status status;

    if (!maps || !maps->items[layer].weight)
        return read_queries(lens, reading, rows, err);
    for (size_t i = 0; i < lens->n_query; i++)
        apply_map(maps, layer, rows + i * d, lens->stream + i * d);
    status = read_queries(lens, reading, lens->stream, &failure);
    if (status == ATTN_OK)
        return ATTN_OK;
    attn_session_reset(lens->frame.session);
    if (status != ATTN_FORMAT || feed(lens, rows, 0, NULL) != ATTN_OK) /* not due to the map */
        return attn_error_copy(err, &failure);
    attn_error_set(err, status,
                   "the map of '%s' makes values of layer %d that are not finite, expected "
                   "float32 numbers",
                   attn_quote_string(maps->folder).text, reading.at.layer);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

/* Returns the output of the last layer at each query, less what config.stream takes from it. */
static const float *last_rows(const struct attn_lens_run *lens)
{
    const struct attn_stream_steps *stream = lens->frame.config->stream;
    const float *rows, *middle;
    double scale;
    int layer;
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER}, last = at;

    while (attn_dims_next_layer(dims_of(lens), &at))
        last = at;
    attn_location_find(dims_of(lens), &last, attn_site_of_output(dims_of(lens)), &at);
    rows = attn_capture_tensor(lens->frame.capture, &at);
    if (!stream)
        return rows;
    scale = stream->backout(attn_asked_model(lens->frame.run), &layer);
    at.layer = layer;
    middle = attn_capture_tensor(lens->frame.capture, &at);
    for (size_t i = 0; i < lens->n_query * lens->frame.config->d_model; i++)
        lens->last[i] = (float)((double)rows[i] - scale * (double)middle[i]);
    return lens->last;
}

/* Keeps the logits of the model's own predictions. */
static enum attn_status keep_own(struct attn_lens_run *lens, struct attn_error *err)
{
    const size_t n = lens->is_whole ? 1 : lens->n_query, n_vocab = lens->frame.config->n_vocab;

    for (size_t i = 0; i < n; i++) {
        ATTN_TRY(feed(lens, last_rows(lens), i, err));
        memcpy(lens->own + i * n_vocab, lens->logits, n_vocab * sizeof *lens->own);
    }
    attn_session_reset(lens->frame.session);
    return ATTN_OK;
}

/* Lists the target, and the most probable answers of the last layer. */
static enum attn_status find_answers(struct attn_lens_run *lens, struct attn_error *err)
{
    const size_t n_vocab = lens->frame.config->n_vocab, n_most = lens->args->n_answer;

    ATTN_TRY(feed(lens, last_rows(lens), 0, err));
    attn_session_reset(lens->frame.session);
    attn_logits_rank(lens->logits, n_vocab, lens->ranked);
    if (lens->answer.has_target)
        lens->answers[lens->n_answer++] = (int32_t)lens->answer.target;
    for (size_t i = 0; i < n_most && i < n_vocab; i++)
        if (!lens->answer.has_target || lens->ranked[i].id != (int32_t)lens->answer.target)
            lens->answers[lens->n_answer++] = lens->ranked[i].id;
    lens->n_value = lens->n_answer;
    return ATTN_OK;
}

/* Reads the stream at the layers that are shown, and of an item the model's own answer too. */
static enum attn_status read_stream(struct attn_lens_run *lens, struct attn_error *err)
{
    static const enum attn_site sites[] = {ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_MID,
                                           ATTN_SITE_NORMALIZED_RESID_MID, ATTN_SITE_RESID_POST,
                                           ATTN_SITE_NORMALIZED_RESID_POST};
    const enum attn_site output = attn_site_of_output(dims_of(lens));
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    while (attn_dims_next_layer(dims_of(lens), &at))
        for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
            struct attn_lens_reading reading = {.is_hidden = !is_shown(lens, at)};
            const float *rows = attn_location_find(dims_of(lens), &at, sites[i], &reading.at)
                                    ? attn_capture_tensor(lens->frame.capture, &reading.at)
                                    : NULL;
            const bool is_answer =
                sites[i] == output && attn_location_index(&at) + 1 == lens->frame.config->n_layer;
            const bool is_asked = (sites[i] == ATTN_SITE_RESID_PRE && !lens->frame.plan) ||
                                  is_answer || attn_sites_have(lens->sites, sites[i]);

            if (is_answer)
                rows = last_rows(lens);
            if (rows && (reading.is_hidden ? is_answer && lens->frame.answer : is_asked))
                ATTN_TRY(read_rows(lens, reading, rows, err));
        }
    return ATTN_OK;
}

/* Sets lens->stream to the output of the head AT at each query. */
static void write_head(struct attn_lens_run *lens, const struct attn_location *at)
{
    const struct attn_config *config = lens->frame.config;
    const float *z = attn_capture_head(lens->frame.capture, at);

    for (size_t i = 0; i < lens->n_query; i++)
        attn_readout_head(attn_asked_model(lens->frame.run), at, z + i * config->d_value,
                          lens->scratch, lens->stream + i * config->d_model);
}

static enum attn_status read_heads(struct attn_lens_run *lens, struct attn_error *err)
{
    struct attn_lens_reading reading = {.at = {.site = ATTN_SITE_Z, .layer = ATTN_NO_LAYER}};

    while (attn_dims_next_head(dims_of(lens), &reading.at))
        if (is_shown(lens, reading.at)) {
            write_head(lens, &reading.at);
            ATTN_TRY(read_queries(lens, reading, lens->stream, err));
        }
    return ATTN_OK;
}

/* Reports for an item the last reading, which is the model's own answer. */
static void report_last(struct attn_lens_run *lens)
{
    const bool has_foil = lens->answer.has_foil, has_p = attn_answer_has_p(&lens->answer);
    struct attn_result_answer *result = lens->frame.answer;

    result->metric = attn_answer_metric_name(has_foil ? ATTN_ANSWER_LOGIT_DIFF
                                             : has_p  ? ATTN_ANSWER_LOG_PROB
                                                      : ATTN_ANSWER_LOGIT);
    result->row = "model";
    result->value = has_foil ? lens->values[ATTN_LENS_DIFFERENCE]
                    : has_p  ? attn_log(lens->values[ATTN_LENS_PROB])
                             : lens->values[ATTN_LENS_LOGIT];
    result->has_right = has_foil || attn_answer_is_judged(&lens->answer);
    result->right = lens->values[ATTN_LENS_RIGHT];
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_lens_run *lens = state;

    if (lens->own)
        ATTN_TRY(attn_error_at(keep_own(lens, err), ATTN_STAGE_MODEL, err));
    if (attn_lens_has_answers(lens))
        ATTN_TRY(attn_error_at(find_answers(lens, err), ATTN_STAGE_MODEL, err));
    ATTN_TRY(attn_error_at(lens->args->reads_heads ? read_heads(lens, err) : read_stream(lens, err),
                           ATTN_STAGE_MODEL, err));
    if (lens->frame.answer && !lens->args->reads_heads && lens->answer.has_target &&
        (lens->n_query == 1 || lens->is_whole))
        report_last(lens);
    return ATTN_OK;
}

/* Lists the most probable tokens if the first item has no target, as if `top` was given. One of its
 * labels may be a target by a wrong name. */
static void meet_first(void *args, const struct attn_item *first,
                       const struct attn_request *request)
{
    struct attn_lens_args *given = args;
    const struct attn_answer_args *own = &first->answer, *all = &given->answer;
    char names[ATTN_QUOTE_SIZE];

    if (own->target || own->target_id || own->foil || own->foil_id || all->target ||
        all->target_id || all->foil || all->foil_id || given->top > 0)
        return;
    given->top = DEFAULT_TOP;
    if (first->n_label > 0)
        attn_note(request->on_note, request->user, ATTN_NOTE_LABELS,
                  "the first item has no 'target' (labels: %s): the most probable tokens are read",
                  attn_item_list_labels(first, names, sizeof names));
}

/* Sets the queries of an item: its `queries`, or its position `at`. */
static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_lens_args *given = args;

    given->answer.metric = ATTN_ANSWER_AUTO; /* the lens does not use a metric */
    if (has_place(item))
        request->selection.queries = attn_number_list_or(item->queries, item->answer.at);
    if (given->top == 0)
        ATTN_TRY(attn_item_answer(item, &given->answer, err));
    given->answer.at = (struct attn_number_list){0};
    return ATTN_OK;
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err);

static const struct attn_procedure procedure = {
    .table.name = ATTN_TABLE_LENS,
    ATTN_PROCEDURE_TABLE(attn_lens_columns, attn_lens_views),
    .needs_output = true,
    .state_size = sizeof(struct attn_lens_run),
    .items.study = offsetof(struct attn_lens_args, study),
    .items.meet_first = meet_first,
    .items.take_item = take_item,
    .question = &attn_question_lens,
    .choose = choose,
    .prepare = prepare,
    .shows = attn_lens_shows,
    .draw = attn_lens_draw,
    .ask = ask,
    .perform = perform,
};

/* Reads the maps, and performs CALL with them. */
static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    const struct attn_lens_args *args = call->args;
    struct attn_procedure own = procedure;
    struct maps maps = {.n = 0};
    enum attn_status status = ATTN_OK;

    if (args->map && call->host && call->request) {
        const struct attn_config *config = attn_model_config(attn_host_model(call->host));

        ATTN_TRY(attn_trial_check_host(call->host, err));
        if (config->is_encoder || config->stack.has_encoder || attn_config_has_cross(config))
            return attn_refuse(
                err, ATTN_STAGE_OPTIONS, "`map` is for decoders, and '%s' is not one",
                attn_quote_string(attn_model_name(attn_host_model(call->host))).text);
        status = read_maps(args->map, config, &maps, err);
        own.plan = &maps;
    }
    ATTN_THEN(status, attn_procedure_perform(&own, call, err));
    release_maps(&maps);
    return status;
}

static const struct attn_procedure *choose_procedure(const void *given)
{
    (void)given;
    return &procedure;
}

ATTN_ASKS(lens)
