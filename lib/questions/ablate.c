/* ablate.c - see ablate.h. A part is a list of edits, and so is a set of parts: each trial runs one
 * list. Weights become uniform by setting the products of queries and keys to 0: masked cells stay
 * masked in every kind of attention. */
#include "questions/ablate_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "edits/edits_internal.h"
#include "model/config_internal.h"
#include "params/param_internal.h"
#include "questions/frame.h"
#include "questions/part_sums.h"
#include "questions/parts.h"
#include "questions/questions.h"
#include "questions/questions_internal.h"
#include "stream/items_internal.h"
#include "trace/places_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ATTN_DEFAULTS(attn_ablate_sum, .size = sizeof(struct attn_ablate_sum))

enum {
    PART,
    SET,
    STACK,
    LAYER,
    HEAD,
    NEURON,
    ESTIMATE,
    VALUE,
    CHANGE,
    KL,
    SAME_TOP,
    RIGHT,
    CONTROL,
    CONTROL_SD,
    CONTROL_RANK,
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_SETS = 2,
    SHOW_HEADS = 4,
    SHOW_NEURONS = 8,
    SHOW_RIGHT = 16,
    SHOW_CONTROLS = 32,
    SHOW_ESTIMATES = 64,
    SHOW_RUNS = 128
};

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("base"),
    [SET] = ATTN_COLUMN_OF(SET, "set", TEXT, .shown = SHOW_SETS),
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = SHOW_HEADS | SHOW_NEURONS),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [NEURON] = ATTN_COLUMN_OF(NEURON, "neuron", INTEGER, .shown = SHOW_NEURONS),
    [ESTIMATE] = ATTN_COLUMN_QUANTITY("estimate", 6, NULL, SIGNED, "estimated change of @",
                                      .traits = ATTN_TRAIT_RANKED, .shown = SHOW_ESTIMATES),
    ATTN_COLUMNS_ABLATED(VALUE, SHOW_RUNS, SHOW_RIGHT),
    ATTN_COLUMNS_CONTROL(CONTROL, SHOW_CONTROLS),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* The means over all references, which the first item computes for all items. */
struct found {
    struct attn_monitor *monitor; /* owns; guards the rest */
    struct attn_edit_means means; /* owns */
    struct attn_edit *edits;      /* owns; those that write them; NULL: not computed yet */
};

struct plan {
    /* owns; the order in which parts are switched off one after another, the same for all items; n
     * is 0 if each item has its own order */
    struct attn_parts order;
    struct found *found; /* NULL: each item computes the means */
};

struct ablation {
    struct attn_frame frame;
    const struct attn_ablate_args *args;
    struct attn_head_list heads; /* the heads that are switched off */
    struct attn_answer answer;
    bool has_encoder;            /* parts of an encoder are switched off, too */
    const enum attn_site *sites; /* [n_site] those of a part */
    size_t n_site;
    enum attn_site first;      /* the first that is changed */
    struct attn_parts parts;   /* owns; none with sets */
    struct attn_parts tensors; /* owns; those of parts, then all heads, if only controls change them
                                */
    size_t n_own;              /* number of tensors of parts */
    struct attn_edit *edits;   /* [tensors.n] each switches off a tensor */
    struct attn_edit_means means; /* owns; what they write, unless all items share it */
    size_t n_row;                 /* number of parts or sets */
    size_t *n_head;               /* [n_set] number of heads of each set */
    bool adds_up;                 /* a part is switched off with all parts before it */
    double *estimates;            /* [n_row] of changes */
    struct attn_trial_outcome *outcomes, *drawn; /* [n_row], [n_control] */
    size_t *order;                               /* [tensors.n] a permutation of heads */
    struct attn_random random;
};

/* --- The question ----------------------------------------------------------------------------- */

/* Returns the rest of TEXT after the prefix WORD; NULL if TEXT does not begin with WORD. */
static const char *after(const char *word, const char *text)
{
    const size_t size = strlen(word);

    return strncmp(text, word, size) == 0 ? text + size : NULL;
}

/* Reads a list such as "picture,cell" into the bits PARTS. False if TEXT is no such list. */
static bool read_picture_parts(const char *text, unsigned *parts)
{
    static const char words[] = "picture|tile|cell";
    unsigned found = 0;

    for (size_t n; *text; text += n + (text[n] == ',')) {
        const int part = attn_param_find_word(words, text, n = strcspn(text, ","));

        if (part < 0)
            return false;
        found |= 1U << part;
    }
    *parts = found;
    return found != 0;
}

static enum attn_status read_by(const struct attn_param *param, void *home, const char *label,
                                const char *text, struct attn_error *err)
{
    struct attn_ablate_args *args = home;
    const int part = attn_param_find_word(param->words, text, strlen(text));
    const char *of_encoder = after("neuron:encoder:", text);
    const char *number = of_encoder ? of_encoder : after("neuron:", text);
    int64_t layer = 0;

    if (read_picture_parts(text, &args->picture_parts))
        return ATTN_OK;
    if (part < 0 && !(number && attn_parse_int(number, strlen(number), 0, INT32_MAX, &layer)))
        return attn_param_refuse(err, label, text,
                                 "head, attn, mlp, layer, neuron:L, neuron:encoder:L, or some "
                                 "of picture,tile,cell");
    args->by = part < 0 ? ATTN_ABLATE_BY_NEURON : (enum attn_ablate_by)part;
    args->layer = (int)layer;
    args->is_of_encoder = of_encoder;
    return ATTN_OK;
}

static enum attn_status read_with(const struct attn_param *param, void *home, const char *label,
                                  const char *text, struct attn_error *err)
{
    static const enum attn_ablate_with values[] = {ATTN_ABLATE_WITH_ZERO, ATTN_ABLATE_WITH_MEAN,
                                                   ATTN_ABLATE_WITH_UNIFORM};
    struct attn_ablate_args *args = home;
    const int word = attn_param_find_word(param->words, text, strlen(text));
    const char *number = after("resample:", text);

    if (word < 0 && !(number && attn_parse_uint(number, strlen(number), &args->seed)))
        return attn_param_refuse(err, label, text, "zero, mean, uniform or resample:SEED");
    args->with = word < 0 ? ATTN_ABLATE_WITH_RESAMPLE : values[word];
    return ATTN_OK;
}

static const struct attn_param param_rows[] = {
    ATTN_PARAM(OWN, "by", "head|attn|mlp|layer|neuron:L", struct attn_ablate_args, by,
               "what each row switches off: one head (default), the attention of a layer, its "
               "MLP, both, or one neuron of the MLP of layer L, of a translator's encoder "
               "neuron:encoder:L. Of a picture beside a text, some of picture,tile,cell: all of "
               "it, each tile, each cell of the whole picture, replaced by the mean of all cells",
               .words = "head|attn|mlp|layer", .read = read_by),
    ATTN_PARAM(OWN, "with", "zero|mean|uniform|resample:SEED", struct attn_ablate_args, with,
               "what replaces the output of that part: zeros (default), its mean over the "
               "positions of the text or of all texts of `references`, or its rows in one text "
               "of `references`; uniform: the head gives every key that it sees the same weight",
               .words = "zero|mean|uniform", .read = read_with),
    ATTN_PARAM(CHOICE, "tower", NULL, struct attn_ablate_args, tower,
               "of a picture beside a text: whose parts are switched off, those of the decoder, "
               "which reads the text (default), or those of its tower, which encodes the picture "
               "and all its tiles; the answer is the decoder's in any case",
               .words = "text|image"),
    ATTN_PARAM(LIST, "heads", "SPEC", struct attn_request, selection.heads,
               "the heads that are switched off: 2.5,3.* or 0-3 of each layer; default: all",
               .home = ATTN_PARAM_OF_REQUEST),
    ATTN_PARAM(NAMED, "sets", "[NAME=]HEADS", struct attn_ablate_args, sets,
               "switch off these heads together, instead of each head by itself: "
               "'copying=3.2,3.5'. May be given several times, one row each",
               .option = "set", .second = offsetof(struct attn_ablate_args, n_set),
               .least = sizeof(struct attn_ablate_set)),
    ATTN_PARAM(FLAG, "cumulative", NULL, struct attn_ablate_args, is_cumulative,
               "switch off one more part in each row, beginning with the part whose own effect is "
               "the smallest"),
    ATTN_PARAM(FLAG, "estimate", NULL, struct attn_ablate_args, is_estimated,
               "estimate the changes of all parts by gradients, in about two runs: what an "
               "infinitely small step towards the replacement changes, times the whole way; for "
               "head, attn, mlp and neuron:L"),
    ATTN_PARAM(INPUTS, "references", "FILE", struct attn_ablate_args, references,
               "a file of texts, one per line: `with mean` takes the mean over all of them, "
               "`with resample` the rows of one",
               .option = "reference", .second = offsetof(struct attn_ablate_args, n_reference),
               .traits = ATTN_PARAM_IS_FILE),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Ablation", param_rows);

static const struct attn_param control_rows[] = {
    ATTN_PARAM(SEEDED, "control", "N[:SEED]", struct attn_ablate_args, n_control,
               "add the mean effect of N random choices of as many heads, and its standard "
               "deviation",
               .second = offsetof(struct attn_ablate_args, seed), .least = 1,
               .media = ATTN_MEDIA_TABLES),
    ATTN_PARAM(SEED, "seed", "SEED", struct attn_ablate_args, seed,
               "of the choice of a reference, and of the random choices of `control`",
               .traits = ATTN_PARAM_NO_OPTION),
};

static const struct attn_param_list control_params = ATTN_PARAM_LIST("Control", control_rows);

static const struct attn_param_part param_parts[] = {
    {&attn_target_params, offsetof(struct attn_ablate_args, answer)},
    {&attn_foil_params, offsetof(struct attn_ablate_args, answer)},
    {&attn_at_params, offsetof(struct attn_ablate_args, answer)},
    {&attn_metric_params, offsetof(struct attn_ablate_args, answer)},
    {&params, 0},
    {&control_params, 0},
};

static const struct attn_param_rule rules[] = {
    {.given = "references",
     .needs = "with:mean|with:resample",
     .message = "@ needs `with mean` or `with resample:SEED`"},
    {.given = "sets", .excludes = "cumulative", .time = ATTN_PARAM_VALUES},
    {.given = "sets", .excludes = "heads", .time = ATTN_PARAM_VALUES},
    {.given = "estimate", .excludes = "sets|cumulative|control", .time = ATTN_PARAM_BOTH},
};

/* Whether estimates exist for the parts of ARGS and what replaces them. */
static bool can_estimate(const struct attn_ablate_args *args)
{
    return args->by != ATTN_ABLATE_BY_LAYER && args->with != ATTN_ABLATE_WITH_UNIFORM &&
           args->tower == ATTN_TOWER_TEXT && args->picture_parts == 0 &&
           !(args->by == ATTN_ABLATE_BY_NEURON && args->is_of_encoder);
}

/* Whether gradients can answer what the arguments ask. */
static bool has_quicker(const struct attn_host *host, const struct attn_request *request,
                        const void *given)
{
    const struct attn_ablate_args *args = given;
    const struct attn_model *model = attn_host_model(host);

    return !args->is_estimated && can_estimate(args) && args->n_set == 0 && !args->is_cumulative &&
           args->n_control == 0 && args->answer.metric != ATTN_ANSWER_KL && !model->tower &&
           !request->attention.layers &&
           attn_backward_check(model, attn_model_config(model)->attention, ATTN_BACKWARD_PLAIN,
                               NULL) == ATTN_OK;
}

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_ablate = {
    .name = "ablate",
    .summary = "how the answer changes without a part of the model",
    .description =
        "Switches off one part of the model at a time, and prints how the answer changes:\n"
        "the metric, its change, the divergence of the prediction, and whether the most\n"
        "probable token is still the same. The first row is the whole model.\n"
        "\n"
        "The numbers say what the rest of the model makes of the text without the part. A\n"
        "small change does not say that the part does nothing: other parts may do the\n"
        "same. A large change may come from any damage: `control` shows the effect of\n"
        "random heads. Over `items` the numbers are means and standard deviations,\n"
        "same_top is a share.\n"
        "\n"
        "With `estimate` gradients stand for the runs. An estimate is a straight line\n"
        "through the unchanged run: of a part whose change is large, or which later parts\n"
        "make up for, it can be far off, so try the largest without it.\n",
    ATTN_QUESTION_PARAMS(param_parts, rules),
    ATTN_QUESTION_ARGS(struct attn_ablate_args, .size = sizeof(struct attn_ablate_args)),
    .choose = choose_procedure,
    .quicker = "`estimate` takes about two runs for all parts",
    .has_quicker = has_quicker,
};

/* --- Arguments -------------------------------------------------------------------------------- */

static const char *part_name(enum attn_ablate_by by)
{
    static const char *const names[] = {
#define NAME(id, number, name) [ATTN_ABLATE_BY_##id] = (name),
        ATTN_ABLATE_BY_MAP(NAME)
#undef NAME
    };

    return names[by];
}

/* Whether the layer of neurons, one of CONFIG, has any: a mixture of experts has none. */
static bool layer_has_neurons(const struct attn_ablate_args *args, const struct attn_config *config)
{
    const struct attn_dims dims = attn_config_dims(config, 1);
    const struct attn_location at = {.stack = args->is_of_encoder || !attn_dims_has_stacks(&dims)
                                                  ? ATTN_STACK_ONLY
                                                  : ATTN_STACK_DECODER,
                                     .layer = args->layer,
                                     .site = ATTN_SITE_MLP_POST};

    return attn_sites_have(dims.sites, at.site) && !attn_location_is_lacking(&dims, &at);
}

static bool is_of_tower(const struct ablation *ablation)
{
    return ablation->args->tower == ATTN_TOWER_IMAGE;
}

/* Checks ARGS for parts of the tower of MODEL. */
static enum attn_status check_tower(const struct attn_ablate_args *args,
                                    const struct attn_model *model, struct attn_error *err)
{
    if (!model->tower)
        return attn_error_set(err, ATTN_INVALID,
                              "`tower` is the encoder of pictures beside a decoder, and '%s' has "
                              "none",
                              attn_quote_string(attn_model_name(model)).text);
    if (args->is_of_encoder || args->n_reference > 0)
        return attn_error_set(err, ATTN_INVALID, "`tower` does not go with %s",
                              args->is_of_encoder ? "neuron:encoder:L, expected neuron:L"
                                                  : "`references`, which have no picture");
    return ATTN_OK;
}

/* Checks that gradients can estimate the changes of parts. */
static enum attn_status check_estimate(const struct ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_frame *frame = &ablation->frame;

    if (!can_estimate(args))
        return attn_error_set(
            err, ATTN_INVALID,
            "estimates are of one tensor of the text's model: expected `by` head, "
            "attn, mlp or neuron:L, and zeros, a mean or other rows in its place");
    return attn_error_at(attn_backward_check(attn_host_model(frame->host), frame->config->attention,
                                             ATTN_BACKWARD_PLAIN, err),
                         ATTN_STAGE_OPTIONS, err);
}

static enum attn_status check(const struct ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_model *model = attn_host_model(ablation->frame.host);
    const struct attn_model *encoder = is_of_tower(ablation) ? model->tower : model->encoder;
    const bool is_of_encoder = args->is_of_encoder || is_of_tower(ablation);
    const struct attn_config *config =
        is_of_encoder && encoder ? &encoder->config : ablation->frame.config;
    const size_t n_layer = attn_config_n_whole_layer(config); /* layers that have an MLP */
    const struct attn_quote name = attn_quote_string(attn_model_name(model));
    const bool needs_mlp = args->by == ATTN_ABLATE_BY_MLP || args->by == ATTN_ABLATE_BY_NEURON;
    const bool has_heads = args->by != ATTN_ABLATE_BY_MLP && args->by != ATTN_ABLATE_BY_NEURON;

    if (is_of_tower(ablation))
        ATTN_TRY(check_tower(args, model, err));
    if (args->is_of_encoder && !encoder)
        return attn_error_set(err, ATTN_INVALID, "'%s' has one stack, expected neuron:L",
                              name.text);
    if (args->is_of_encoder && args->with == ATTN_ABLATE_WITH_RESAMPLE)
        return attn_error_set(err, ATTN_INVALID,
                              "neurons of the encoder cannot have rows of `references`, which have "
                              "the same source: expected zero or mean in their place");
    if (needs_mlp && config->d_mlp == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no MLP", name.text);
    if (args->by == ATTN_ABLATE_BY_NEURON && (args->layer < 0 || (size_t)args->layer >= n_layer))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no layer %d, expected 0 to %zu",
                              name.text, args->layer, n_layer - 1);
    if (args->by == ATTN_ABLATE_BY_NEURON && !layer_has_neurons(args, config))
        return attn_error_set(err, ATTN_INVALID, "layer %d of '%s' has no neurons, but experts",
                              args->layer, name.text);
    if (args->with == ATTN_ABLATE_WITH_UNIFORM && args->by != ATTN_ABLATE_BY_HEAD &&
        args->by != ATTN_ABLATE_BY_ATTN)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has no weights that could be uniform, expected head or attn",
                              part_name(args->by));
    if (args->with == ATTN_ABLATE_WITH_RESAMPLE && args->n_reference == 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "`with resample` needs `references`, whose rows replace those of the text");
    if (ablation->heads.text && args->by != ATTN_ABLATE_BY_HEAD)
        return attn_error_set(err, ATTN_INVALID, "`heads` names heads, and `by` is '%s'",
                              part_name(args->by));
    if (args->is_estimated)
        ATTN_TRY(check_estimate(ablation, err));
    if (args->n_control > 0 && !has_heads)
        return attn_error_set(err, ATTN_INVALID,
                              "controls are choices of as many heads, and '%s' has none",
                              part_name(args->by));
    return ATTN_OK;
}

static bool has_sets(const struct ablation *ablation)
{
    return ablation->args->n_set > 0;
}

static bool is_of_encoder(const struct attn_part *part)
{
    return attn_stack_is_encoder(part->at.stack);
}

/* Returns the config of the model that has STACK. */
static const struct attn_config *config_of(const struct ablation *ablation,
                                           enum attn_model_stack stack)
{
    return attn_stack_is_encoder(stack)
               ? attn_model_config(attn_model_before(ablation->frame.run->model))
               : ablation->frame.config;
}

/* --- Parts and tensors ------------------------------------------------------------------------ */

/* Appends the parts of SITE in STACK. LIST chooses heads. */
static enum attn_status list_stack(const struct ablation *ablation, enum attn_model_stack stack,
                                   enum attn_site site, const struct attn_head_list *list,
                                   struct attn_parts *parts, struct attn_error *err)
{
    const struct attn_location of = {.stack = stack,
                                     .site = site,
                                     .layer = ablation->args->by == ATTN_ABLATE_BY_NEURON &&
                                                      site == ATTN_SITE_MLP_POST
                                                  ? ablation->args->layer
                                                  : ATTN_ALL_LAYERS};
    const struct attn_run *run = ablation->frame.run;
    struct attn_selection *selection;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(stack == ATTN_STACK_TOWER
                 ? attn_select_heads(list, &run->encoder_dims, &selection, err)
                 : attn_edit_select_heads(list, stack == ATTN_STACK_ENCODER,
                                          attn_selection_dims(run->selection), &selection, err));
    if (selection)
        status = attn_selection_set_sites(selection, ATTN_SITES(site), err);
    if (status == ATTN_OK)
        status = attn_parts_list(selection, &of, 0, parts, err);
    attn_selection_free(selection);
    return status;
}

/* Whether HEADS has one of the encoder. */
static bool names_encoder(const struct attn_head_list *heads)
{
    for (size_t i = 0; i < heads->n; i++)
        if (heads->items[i].stack == ATTN_STACK_ENCODER)
            return true;
    return heads->n == 0 && attn_model_stack_is_listed(heads->text, false);
}

/* Appends the parts of SITE, those of the tower alone, or of an encoder first; of HEADS, or all. */
static enum attn_status list(const struct ablation *ablation, enum attn_site site,
                             const struct attn_head_list *heads, struct attn_parts *parts,
                             struct attn_error *err)
{
    if (is_of_tower(ablation))
        return list_stack(ablation, ATTN_STACK_TOWER, site, heads, parts, err);
    if (!ablation->has_encoder && ablation->frame.run->model->encoder && names_encoder(heads))
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' names heads of the encoder, and the references have the same "
                              "source: expected zero, mean or uniform in their place",
                              attn_head_list_quote(heads).text);
    if (ablation->has_encoder)
        ATTN_TRY(list_stack(ablation, ATTN_STACK_ENCODER, site, heads, parts, err));
    return ablation->args->by == ATTN_ABLATE_BY_NEURON && ablation->args->is_of_encoder
               ? ATTN_OK
               : list_stack(ablation, ATTN_STACK_DECODER, site, heads, parts, err);
}

/* Finds the sites of a part. */
static void find_sites(struct ablation *ablation)
{
    static const enum attn_site sites[][2] = {
        [ATTN_ABLATE_BY_HEAD] = {ATTN_SITE_Z},
        [ATTN_ABLATE_BY_ATTN] = {ATTN_SITE_ATTN_OUT},
        [ATTN_ABLATE_BY_MLP] = {ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_BY_LAYER] = {ATTN_SITE_ATTN_OUT, ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_BY_NEURON] = {ATTN_SITE_MLP_POST},
    };
    const enum attn_ablate_by by = ablation->args->by;

    ablation->sites = sites[by];
    ablation->n_site =
        by == ATTN_ABLATE_BY_LAYER && (is_of_tower(ablation) || ablation->frame.config->d_mlp > 0)
            ? 2
            : 1;
    ablation->first =
        ablation->args->with == ATTN_ABLATE_WITH_UNIFORM ? ATTN_SITE_QK : sites[by][0];
}

/* Lists the tensors that parts and controls change, and an edit of each that switches it off. Parts
 * of an encoder are left out if rows of a reference replace them, because references have the same
 * source, and if parts are neurons of a layer of the decoder. */
static enum attn_status list_tensors(struct ablation *ablation, struct attn_error *err)
{
    static const struct attn_head_list all;
    const struct attn_ablate_args *args = ablation->args;
    struct attn_parts *tensors = &ablation->tensors;

    find_sites(ablation);
    ablation->has_encoder =
        attn_model_before(ablation->frame.run->model) &&
        (ablation->frame.run->model->encoder || is_of_tower(ablation)) &&
        args->with != ATTN_ABLATE_WITH_RESAMPLE &&
        (args->by != ATTN_ABLATE_BY_NEURON || args->is_of_encoder || is_of_tower(ablation));
    for (size_t i = 0; i < ablation->n_site; i++)
        ATTN_TRY(list(ablation, ablation->sites[i], &all, tensors, err));
    if (args->by == ATTN_ABLATE_BY_NEURON) { /* one tensor has all neurons */
        tensors->n = 1;
        tensors->items[0].neuron = -1;
    }
    ablation->n_own = tensors->n;
    if (args->n_control > 0 && args->by != ATTN_ABLATE_BY_HEAD)
        ATTN_TRY(list(ablation, ATTN_SITE_Z, &all, tensors, err));
    ablation->edits = attn_frame_alloc(&ablation->frame, tensors->n, sizeof *ablation->edits);
    ATTN_TRY(attn_frame_memory(&ablation->frame, err));
    for (size_t i = 0; i < tensors->n; i++) {
        struct attn_edit *edit = &ablation->edits[i];

        *edit = ATTN_EDIT_DEFAULT;
        edit->at = tensors->items[i].at;
        if (args->with == ATTN_ABLATE_WITH_UNIFORM)
            attn_edit_make_uniform(config_of(ablation, edit->at.stack), edit);
    }
    return ATTN_OK;
}

/* Lists the parts in the order of the table. */
static enum attn_status list_parts(struct ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    struct attn_parts *parts = &ablation->parts;
    size_t n = 0;

    if (!has_sets(ablation))
        ATTN_TRY(attn_error_at(
            attn_error_in(list(ablation, ablation->sites[0], &ablation->heads, parts, err), "heads",
                          err),
            ATTN_STAGE_OPTIONS, err));
    for (size_t i = 0; i < parts->n; i++) /* the layers of a decoder have both attentions */
        if (args->by != ATTN_ABLATE_BY_LAYER || parts->items[i].at.stack != ATTN_STACK_CROSS)
            parts->items[n++] = parts->items[i];
    parts->n = n;
    ablation->n_row = has_sets(ablation) ? args->n_set : n;
    ablation->n_head = attn_frame_alloc(&ablation->frame, args->n_set, sizeof *ablation->n_head);
    ablation->order =
        attn_frame_alloc(&ablation->frame, ablation->tensors.n, sizeof *ablation->order);
    ablation->outcomes =
        attn_frame_alloc(&ablation->frame, ablation->n_row, sizeof *ablation->outcomes);
    ablation->drawn = attn_frame_alloc(&ablation->frame, args->n_control, sizeof *ablation->drawn);
    ablation->estimates =
        attn_frame_alloc(&ablation->frame, ablation->n_row, sizeof *ablation->estimates);
    return attn_frame_memory(&ablation->frame, err);
}

/* --- Replacements ----------------------------------------------------------------------------- */

static enum attn_status add_means(struct ablation *ablation, const struct attn_run *run,
                                  struct attn_error *err)
{
    const struct attn_watch watch = {.of = is_of_tower(ablation)   ? ATTN_WATCH_ENCODER
                                           : ablation->has_encoder ? ATTN_WATCH_BOTH
                                                                   : ATTN_WATCH_TEXT,
                                     .edits = ablation->edits,
                                     .n_edit = ablation->tensors.n,
                                     .is_silent = true,
                                     .on_event = attn_edit_means_add,
                                     .user = &ablation->means};

    return attn_watch(run, &watch, err);
}

/* Lets the edits write the tensors of RUN at the positions of the text. */
static enum attn_status keep_tensors(struct ablation *ablation, const struct attn_run *run,
                                     struct attn_error *err)
{
    const size_t n_row = ablation->frame.run->text.n;
    struct attn_capture **capture = &ablation->frame.capture;
    const struct attn_watch watch = {.edits = ablation->edits,
                                     .n_edit = ablation->tensors.n,
                                     .n_query = n_row,
                                     .is_silent = true,
                                     .capture = capture};

    ATTN_TRY(attn_watch(run, &watch, err));
    for (size_t i = 0; i < ablation->tensors.n; i++) {
        struct attn_edit *edit = &ablation->edits[i];

        edit->op = ATTN_EDIT_REPLACE;
        edit->row1 = n_row;
        edit->col1 = edit->ld = attn_site_width(edit->at.site, attn_selection_dims(run->selection));
        edit->data = edit->at.head == ATTN_ALL_HEADS ? attn_capture_tensor(*capture, &edit->at)
                                                     : attn_capture_head(*capture, &edit->at);
    }
    return ATTN_OK;
}

/* Reads reference I. *is_short: it has too few rows and is skipped. */
static enum attn_status read_reference(struct ablation *ablation, size_t i, bool *is_short,
                                       struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    const bool is_mean = ablation->args->with == ATTN_ABLATE_WITH_MEAN;
    struct attn_run *run;
    enum attn_status status = ATTN_OK;

    frame->request.input = ablation->args->references[i];
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &run, err));
    *is_short = !is_mean && run->text.n < frame->run->text.n;
    if (!*is_short)
        status = is_mean ? add_means(ablation, run, err) : keep_tensors(ablation, run, err);
    attn_run_free(run);
    return status;
}

/* Lets the edits write the means over all references or, without any, over the text. */
static enum attn_status find_means(struct ablation *ablation, struct attn_error *err)
{
    const struct attn_run *run = ablation->frame.run;
    bool is_short;

    ablation->means = (struct attn_edit_means){.edits = ablation->edits, .n = ablation->tensors.n};
    ATTN_TRY(attn_edit_means_begin(
        &ablation->means,
        is_of_tower(ablation) ? &run->encoder_dims : attn_selection_dims(run->selection), err));
    if (ablation->args->n_reference == 0)
        ATTN_TRY(add_means(ablation, run, err));
    for (size_t i = 0; i < ablation->args->n_reference; i++)
        ATTN_TRY(read_reference(ablation, i, &is_short, err));
    attn_edit_means_finish(&ablation->means);
    return ATTN_OK;
}

/* Finds the means over all references, which are the same for all items without a source. */
static enum attn_status share_means(struct ablation *ablation, struct attn_error *err)
{
    const struct plan *plan = ablation->frame.plan;
    const struct attn_request *request = &ablation->frame.request;
    const bool has_own_places = /* positions in the references' edits depend on the item */
        request->reading.places && attn_edits_name_positions(&request->edits);
    const size_t n = ablation->tensors.n;
    struct found *found = plan->found;
    enum attn_status status = ATTN_OK;

    if (!found || ablation->frame.run->source.n > 0 || has_own_places)
        return find_means(ablation, err);
    attn_monitor_enter(found->monitor);
    if (!found->edits) {
        status = find_means(ablation, err);
        if (status == ATTN_OK)
            status = ATTN_ALLOC(found->edits, n, err);
        if (status == ATTN_OK) {
            memcpy(found->edits, ablation->edits, n * sizeof *found->edits);
            found->means = ablation->means;
            ablation->means = (struct attn_edit_means){.n = 0};
        }
    }
    if (status == ATTN_OK)
        memcpy(ablation->edits, found->edits, n * sizeof *found->edits);
    attn_monitor_leave(found->monitor);
    return status;
}

/* Lets the edits write means, or the rows of a randomly drawn reference. If that reference is too
 * short, the next one is used. */
static enum attn_status find_values(struct ablation *ablation, struct attn_error *err)
{
    const size_t n = ablation->args->n_reference;
    bool is_short = true;

    if (ablation->args->with == ATTN_ABLATE_WITH_MEAN) {
        const enum attn_status status = share_means(ablation, err);

        if (status != ATTN_OK && n > 0 && ablation->frame.answer)
            ablation->frame.answer->is_general = true;
        return status;
    }
    if (ablation->args->with != ATTN_ABLATE_WITH_RESAMPLE)
        return ATTN_OK;
    const double drawn = attn_random_double(&ablation->random) * (double)n;

    for (size_t i = 0; is_short && i < n; i++)
        ATTN_TRY(read_reference(ablation, ((size_t)drawn + i) % n, &is_short, err));
    return is_short ? attn_refuse(err, ATTN_STAGE_INPUT,
                                  "no text of the references has as many tokens as the text, %zu",
                                  ablation->frame.run->text.n)
                    : ATTN_OK;
}

/* --- Runs ------------------------------------------------------------------------------------- */

/* Whether PART has the tensor AT: a layer has all tensors of its stack that have its number. */
static bool has_tensor(const struct ablation *ablation, const struct attn_location *part,
                       const struct attn_location *at)
{
    return ablation->args->by == ATTN_ABLATE_BY_LAYER
               ? part->layer == at->layer &&
                     attn_stack_is_encoder(part->stack) == attn_stack_is_encoder(at->stack)
               : attn_location_compare(part, at) == 0;
}

/* Appends the edits of part I, or if the parts add up, also those of the parts before it
 * (attn_part_edit_fn). */
static enum attn_status add_part(void *user, size_t i, struct attn_part_edits *edits,
                                 struct attn_error *err)
{
    const struct ablation *ablation = user;
    const struct attn_part *part = &ablation->parts.items[i];

    if (ablation->adds_up)
        edits->first = 0;
    for (size_t k = 0; k < ablation->n_own; k++) {
        struct attn_edit edit = ablation->edits[k];

        if (!has_tensor(ablation, &part->at, &ablation->tensors.items[k].at))
            continue;
        if (part->neuron >= 0) {
            edit.col0 = (size_t)part->neuron;
            edit.col1 = edit.col0 + 1;
            edit.data = edit.data ? edit.data + edit.col0 : NULL;
        }
        ATTN_TRY(attn_part_edits_add(edits, &edit, err));
    }
    return ATTN_OK;
}

/* Appends the edits of set number I (attn_part_edit_fn). */
static enum attn_status add_set(void *user, size_t i, struct attn_part_edits *edits,
                                struct attn_error *err)
{
    const struct ablation *ablation = user;
    struct attn_parts heads = {.n = 0};
    enum attn_status status = attn_error_in(
        list(ablation, ATTN_SITE_Z, &ablation->args->sets[i].heads, &heads, err), "sets", err);

    for (size_t k = 0; status == ATTN_OK && k < heads.n; k++)
        status = attn_part_edits_add(
            edits, &ablation->edits[attn_parts_find(&ablation->tensors, &heads.items[k].at)], err);
    ablation->n_head[i] = heads.n;
    attn_free(heads.items);
    if (status != ATTN_OK && ablation->frame.answer)
        ablation->frame.answer->is_general = true;
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

static enum attn_status try_rows(struct ablation *ablation, struct attn_error *err)
{
    return attn_parts_try(&ablation->frame.trials, ablation->n_row,
                          has_sets(ablation) ? add_set : add_part, ablation, ablation->outcomes,
                          err);
}

/* A part, and the change that it makes alone. */
struct ranked {
    struct attn_part part;
    double change;
};

static int by_change(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int order = attn_compare_numbers(fabs(x->change), fabs(y->change));

    if (order != 0)
        return order;
    order = attn_location_compare(&x->part.at, &y->part.at);
    return order != 0 ? order
                      : (x->part.neuron > y->part.neuron) - (x->part.neuron < y->part.neuron);
}

/* Sorts RANKED [n], the smallest change first, into PARTS. */
static void sort_ranked(struct ranked *ranked, size_t n, struct attn_part *parts)
{
    qsort(ranked, n, sizeof *ranked, by_change);
    for (size_t i = 0; i < n; i++)
        parts[i] = ranked[i].part;
}

/* Sorts the parts by the change that each makes alone, the smallest first. */
static enum attn_status sort_parts(struct ablation *ablation, struct attn_error *err)
{
    const struct attn_parts *order = &((const struct plan *)ablation->frame.plan)->order;
    struct attn_part *parts = ablation->parts.items;
    const size_t n = ablation->parts.n;
    struct ranked *ranked;

    if (order->n == n) {
        memcpy(parts, order->items, n * sizeof *parts);
        for (size_t i = 0; i < n && is_of_tower(ablation); i++) /* its table names no stack */
            parts[i].at.stack = ATTN_STACK_TOWER;
        return ATTN_OK;
    }
    ATTN_TRY(try_rows(ablation, err));
    ATTN_TRY(ATTN_ALLOC(ranked, n, err));
    for (size_t i = 0; i < n; i++)
        ranked[i] = (struct ranked){parts[i], ablation->outcomes[i].reply.value -
                                                  ablation->frame.trials.base.value};
    sort_ranked(ranked, n, parts);
    attn_free(ranked);
    return ATTN_OK;
}

/* --- Controls --------------------------------------------------------------------------------- */

/* The heads that a control draws: N_HEAD of N, counted over the heads of the text's model, then
 * those of its encoder, or if they are of the encoder, over those. */
struct draw {
    struct ablation *ablation;
    const struct attn_edit *heads; /* [n_all] those of the encoder come first */
    size_t n_all, first, n, n_head;
};

/* Returns a draw among the heads of an encoder or of the text; with IS_OF_ALL among both. */
static struct draw draw_of(struct ablation *ablation, bool is_of_encoder, bool is_of_all)
{
    const size_t first = ablation->args->by == ATTN_ABLATE_BY_HEAD ? 0 : ablation->n_own;
    struct draw draw = {.ablation = ablation,
                        .heads = ablation->edits + first,
                        .n_all = ablation->tensors.n - first};
    size_t n_encoder = 0;

    while (n_encoder < draw.n_all && attn_stack_is_encoder(draw.heads[n_encoder].at.stack))
        n_encoder++;
    draw.first = is_of_encoder && !is_of_all ? 0 : n_encoder;
    draw.n = is_of_all ? draw.n_all : is_of_encoder ? n_encoder : draw.n_all - n_encoder;
    return draw;
}

/* Appends the edits of randomly drawn heads (attn_part_edit_fn). */
static enum attn_status add_drawn(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct draw *draw = user;
    struct ablation *ablation = draw->ablation;

    (void)i;
    attn_random_permutation(&ablation->random, ablation->order, draw->n);
    for (size_t k = 0; k < draw->n_head && k < draw->n; k++)
        ATTN_TRY(attn_part_edits_add(
            edits, &draw->heads[(draw->first + ablation->order[k]) % draw->n_all], err));
    return ATTN_OK;
}

/* Runs the random choices of DRAW, and stores their CHANGES [n_control]. */
static enum attn_status try_control(struct draw *draw, double *changes, struct attn_error *err)
{
    const struct ablation *ablation = draw->ablation;
    const size_t n = ablation->args->n_control;
    struct attn_trials *trials = &draw->ablation->frame.trials;

    ATTN_TRY(attn_parts_try(trials, n, add_drawn, draw, ablation->drawn, err));
    for (size_t i = 0; i < n; i++)
        changes[i] = ablation->drawn[i].reply.value - trials->base.value;
    return ATTN_OK;
}

/* Returns the number of heads in a part of the encoder or of the text; controls draw equally
 * many. */
static size_t n_heads_of_part(const struct ablation *ablation, bool is_of_encoder)
{
    const struct attn_config *config =
        config_of(ablation, is_of_encoder ? ATTN_STACK_ENCODER : ATTN_STACK_ONLY);
    const enum attn_ablate_by by = ablation->args->by;

    return by == ATTN_ABLATE_BY_HEAD
               ? 1
               : config->n_head * (by == ATTN_ABLATE_BY_LAYER ? attn_config_n_part(config) : 1);
}

/* Runs the controls of all rows, and stores their CHANGES: n_control for each row, or n_control for
 * all if all rows share them. */
static enum attn_status try_controls(struct ablation *ablation, bool has_own_control,
                                     double *changes, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const size_t n = ablation->n_row, n_control = args->n_control;
    size_t n_encoder = 0;

    for (size_t i = 0; i < n && n_control > 0 && has_own_control; i++) {
        const bool is_mixed =
            args->is_cumulative || (has_sets(ablation) && names_encoder(&args->sets[i].heads));
        struct draw draw =
            draw_of(ablation, !has_sets(ablation) && is_of_encoder(&ablation->parts.items[i]),
                    ablation->has_encoder && is_mixed);

        draw.n_head =
            has_sets(ablation) ? ablation->n_head[i] : (i + 1) * n_heads_of_part(ablation, false);
        ATTN_TRY(try_control(&draw, changes + i * n_control, err));
    }
    if (n_control == 0 || has_own_control || n == 0)
        return ATTN_OK;
    while (n_encoder < n && is_of_encoder(&ablation->parts.items[n_encoder]))
        n_encoder++;
    /* parts of one stack share a control; that of the text's model is drawn first */
    for (int side = 0; side < (ablation->has_encoder ? 2 : 1); side++) {
        const size_t first = side == 0 ? n_encoder : 0, end = side == 0 ? n : n_encoder;
        double *own = changes + first * n_control;
        struct draw draw = draw_of(ablation, side > 0, false);

        draw.n_head = n_heads_of_part(ablation, side > 0);
        if (first == end)
            continue;
        ATTN_TRY(try_control(&draw, own, err));
        for (size_t i = first + 1; i < end && ablation->has_encoder; i++)
            memcpy(changes + i * n_control, own, n_control * sizeof *own);
    }
    return ATTN_OK;
}

/* Sets control and control_sd (attn_fold_derive_fn). The choices are the same for all items, so
 * each choice has a mean change over items; the columns are mean and standard deviation of
 * these. */
static enum attn_status derive(const void *given, const struct attn_fold_means *means,
                               struct attn_error *err)
{
    const struct attn_ablate_args *args = given;
    const size_t n = args->n_control;
    struct attn_cell *rows = means->rows;

    (void)err;
    for (size_t row = 1; n > 0 && row < means->n_row; row++) {
        const double *changes = means->more + (means->n_more > n ? (row - 1) * n : 0);
        struct attn_cell *cells = rows + row * N_COLUMN;

        attn_control_put(changes, n, cells[CHANGE].real, &cells[CONTROL]);
    }
    return ATTN_OK;
}

/* Whether an item has controls for all rows, or for each row (attn_fold_fits_fn). */
static bool fits(const void *given, size_t n_row, size_t n_more)
{
    const size_t n = ((const struct attn_ablate_args *)given)->n_control;

    return n_row > 0 && (n_more == n || n_more == (n_row - 1) * n);
}

/* --- The table -------------------------------------------------------------------------------- */

enum { OF_HEADS, OF_NEURONS, OF_LAYERS, OF_SETS };

static const struct attn_table_view views[] = {
    [OF_HEADS] = {ATTN_VIEW_OF(LAYER, HEAD, CHANGE)},
    [OF_NEURONS] = {ATTN_VIEW_OF(LAYER, NEURON, CHANGE), .figure = ATTN_FIGURE_BARS},
    [OF_LAYERS] = {ATTN_VIEW_OF(LAYER, PART, CHANGE), .figure = ATTN_FIGURE_BARS},
    [OF_SETS] = {ATTN_VIEW_OF(SET, SET, CHANGE), .figure = ATTN_FIGURE_BARS},
};

/* Returns the last words of the title, which describe the replacement. */
static const char *find_words(const struct attn_ablate_args *args)
{
    static const char *const zeros[] = {"without each head", "without the attention of each layer",
                                        "without the MLP of each layer", "without each layer",
                                        "without each neuron"};
    static const char *const others[] = {
        [ATTN_ABLATE_WITH_MEAN] = "with the mean of each part in its place",
        [ATTN_ABLATE_WITH_UNIFORM] = "with a uniform pattern in each head",
        [ATTN_ABLATE_WITH_RESAMPLE] = "with rows of another text in each part"};
    const bool is_zero = args->with == ATTN_ABLATE_WITH_ZERO;

    return args->n_set > 0 && is_zero        ? "without each set of heads"
           : args->is_cumulative             ? "without this part and all before it"
           : !is_zero                        ? others[args->with]
           : args->tower == ATTN_TOWER_IMAGE ? "without each part of the tower"
                                             : zeros[args->by];
}

static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_ablate_args *args = given;
    struct attn_table_view *view = &drawn->picture->view;

    *view = views[args->n_set > 0                     ? OF_SETS
                  : args->by == ATTN_ABLATE_BY_HEAD   ? OF_HEADS
                  : args->by == ATTN_ABLATE_BY_NEURON ? OF_NEURONS
                                                      : OF_LAYERS];
    view->asked = drawn->table ? find_words(args) : NULL;
    if (args->is_estimated)
        view->values = ATTN_TABLE_COLUMN(ESTIMATE);
    if (!args->is_cumulative)
        return;
    view->figure = ATTN_FIGURE_CURVE;
    view->traits = ATTN_VIEW_SEQUENCE;
}

static uint64_t shows(const void *state)
{
    const struct ablation *ablation = state;
    const struct attn_ablate_args *args = ablation->args;
    const bool has_right = ablation->frame.item && attn_metric_has_right(args->answer.metric);

    return (args->n_set > 0                     ? SHOW_SETS
            : args->by == ATTN_ABLATE_BY_NEURON ? SHOW_NEURONS
                                                : SHOW_HEADS) |
           (args->is_estimated ? SHOW_ESTIMATES
            : has_right        ? SHOW_RUNS | SHOW_RIGHT
                               : SHOW_RUNS) |
           (args->n_control > 0 ? SHOW_CONTROLS : 0);
}

void attn_ablate_put(const struct attn_answer *answer, const struct attn_reply *base,
                     const struct attn_reply *reply, struct attn_cell *cells)
{
    cells[0] = attn_cell_real(reply->value);
    cells[1] = attn_cell_real(reply->value - base->value);
    cells[2] = attn_answer_has_p(answer) ? attn_cell_real(reply->kl) : attn_cell_missing();
    cells[3] = attn_answer_has_top(answer) ? attn_cell_boolean(reply->first == base->first)
                                           : attn_cell_missing();
    cells[4] = attn_reply_right(answer, reply->right);
}

/* Appends the row of part or set I with REPLY and its CONTROLS [n_control], changes by random
 * choices; NULL: the row of the base. */
static enum attn_status append(struct ablation *ablation, size_t i, const struct attn_reply *reply,
                               const double *controls, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_part *part =
        controls && !has_sets(ablation) ? &ablation->parts.items[i] : NULL;
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(!controls            ? "base"
                                  : has_sets(ablation) ? "set"
                                                       : part_name(args->by)),
    };

    attn_ablate_put(&ablation->answer, &ablation->frame.trials.base, reply, &row[VALUE]);
    if (controls && has_sets(ablation))
        row[SET] =
            attn_cell_string(args->sets[i].name ? args->sets[i].name : args->sets[i].heads.text);
    if (part)
        attn_location_put(&part->at, &row[STACK]);
    if (part && part->at.head >= 0)
        row[HEAD] = attn_cell_integer(part->at.head);
    if (part && part->neuron >= 0)
        row[NEURON] = attn_cell_integer(part->neuron);
    if (part && args->is_estimated)
        row[VALUE] = attn_cell_missing();
    row[ESTIMATE] = attn_cell_real(part && args->is_estimated ? ablation->estimates[i] : 0);
    if (controls && args->n_control > 0)
        attn_control_put(controls, args->n_control, row[CHANGE].real, &row[CONTROL]);
    return attn_frame_append(&ablation->frame, row, err);
}

/* --- The procedure ---------------------------------------------------------------------------- */

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_ablate_args *args = given;

    if (!attn_is_choice(args->by, ATTN_ABLATE_BY_NEURON + 1, "by", err) ||
        !attn_is_choice(args->with, ATTN_ABLATE_WITH_UNIFORM + 1, "with", err) ||
        (args->n_reference > 0 && !attn_is_given(args->references, "references", err)) ||
        (args->n_set > 0 && !attn_is_given(args->sets, "sets", err)))
        return ATTN_INVALID;
    for (size_t i = 0; i < args->n_set; i++)
        if (!attn_is_given(attn_head_list_is_given(&args->sets[i].heads), "sets", err) ||
            !attn_is_given(args->sets[i].heads.n == 0 || args->sets[i].heads.items, "heads", err) ||
            !attn_is_given(args->sets[i].name || args->sets[i].heads.text, "name", err) ||
            !ATTN_IS_KNOWN(args->sets[i].later, "sets", err))
            return ATTN_INVALID;
    if (args->n_set > 0 && args->by != ATTN_ABLATE_BY_HEAD)
        return attn_error_set(err, ATTN_INVALID, "`sets` names heads, and `by` is '%s'",
                              part_name(args->by));
    return ATTN_OK;
}

enum attn_status attn_ablate_take_item(void *args, struct attn_request *request,
                                       const struct attn_item *item, struct attn_error *err)
{
    struct attn_ablate_args *given = args;

    (void)request;
    return attn_item_answer(item, &given->answer, err);
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;

    ablation->args = ablation->frame.args;
    ablation->heads.text = ablation->frame.request.selection.heads;
    attn_frame_choose_nothing(&ablation->frame.request);
    if (is_of_tower(ablation)) /* the run finds the pictures, and the sizes of the tower */
        ablation->frame.request.selection.sites = "tower:z";
    return check(ablation, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;
    struct attn_frame *frame = &ablation->frame;

    attn_random_seed(&ablation->random, ablation->args->seed);
    ATTN_TRY(attn_frame_find_answer(frame, &ablation->args->answer, &ablation->answer, err));
    ATTN_TRY(list_tensors(ablation, err));
    if (ablation->args->is_estimated)
        ATTN_TRY(
            attn_error_at(attn_answer_check_goal(&ablation->answer, err), ATTN_STAGE_OPTIONS, err));
    else
        ATTN_TRY(
            attn_trials_start(frame->run, &ablation->answer, ablation->first, &frame->trials, err));
    ATTN_TRY(find_values(ablation, err));
    return list_parts(ablation, err);
}

static void on_progress(void *user, size_t n_done, size_t n_total)
{
    attn_frame_report(user, n_done, n_total);
}

/* Returns the sum over the rows of PART. */
static double sum_rows(const struct attn_part_sums *sums, const struct attn_part *part)
{
    const size_t unit = (size_t)(part->neuron >= 0    ? part->neuron
                                 : part->at.head >= 0 ? part->at.head
                                                      : 0);
    const size_t at = attn_location_index(&part->at) * sums->n_unit + unit;
    double sum = 0; /* turns -0 into 0 */

    if (part->at.stack == ATTN_STACK_ENCODER)
        return sum + sums->encoder[attn_location_index(&part->at) * sums->n_encoder_unit + unit];
    for (size_t row = 0; row < sums->n_row; row++)
        sum += sums->values[at * sums->n_row + row];
    return sum;
}

/* Estimates the change that each part makes, and appends the rows. */
static enum attn_status ask_estimates(struct ablation *ablation, struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    const struct attn_part_sums_options options = {.answer = &ablation->answer,
                                                   .base = frame->run,
                                                   .edits = ablation->edits,
                                                   .n_edit = ablation->n_own,
                                                   .site = ablation->first,
                                                   .method = ATTN_PATCH_ATP,
                                                   .has_encoder = ablation->has_encoder,
                                                   .kept_bytes = ATTN_PART_SUMS_KEPT,
                                                   .on_progress = on_progress,
                                                   .user = frame};
    struct attn_ablate_sum *sum = frame->sum;
    struct attn_part_sums sums;

    ATTN_TRY(attn_part_sums_find(&options, &sums, err));
    for (size_t i = 0; i < ablation->n_row; i++)
        ablation->estimates[i] = sum_rows(&sums, &ablation->parts.items[i]);
    attn_free(sums.values);
    attn_free(sums.encoder);
    frame->trials.base = sums.base;
    ATTN_TRY(append(ablation, 0, &sums.base, NULL, err));
    for (size_t i = 0; i < ablation->n_row; i++)
        ATTN_TRY(append(ablation, i, &sums.base, ablation->estimates, err));
    attn_frame_report_base(frame, &ablation->answer, &sums.base);
    sum->n_feed += sums.n_feed;
    sum->sites = attn_site_name(ablation->first);
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;
    const struct attn_ablate_args *args = ablation->args;
    const size_t n = ablation->n_row, n_control = args->n_control;
    /* each row has its own controls; with an encoder each stack has, and each row has a copy */
    const bool has_own_control = args->is_cumulative || has_sets(ablation);
    const size_t n_copy = has_own_control || ablation->has_encoder ? n : 1;
    /* those of the encoder come first; a stack without parts draws none */
    const struct attn_part *parts = ablation->parts.items;
    const size_t n_drawn =
        has_own_control || n < 2 ? n : 1 + (is_of_encoder(parts) != is_of_encoder(parts + n - 1));
    double *changes = attn_frame_alloc(&ablation->frame, n_copy, n_control * sizeof *changes);
    const struct attn_trial_outcome *outcomes = ablation->outcomes;
    struct attn_trials *trials = &ablation->frame.trials;
    struct attn_ablate_sum *sum = ablation->frame.sum;

    ATTN_TRY(attn_frame_memory(&ablation->frame, err));
    if (args->is_estimated)
        return ask_estimates(ablation, err);
    /* number of runs: those so far; the parts, twice if is_cumulative tries each alone first; the
     * controls */
    trials->n_expected = trials->n_feed + (args->is_cumulative ? 2 * n : n) + n_drawn * n_control;
    if (args->is_cumulative)
        ATTN_TRY(sort_parts(ablation, err));
    ablation->adds_up = args->is_cumulative;
    ATTN_TRY(try_rows(ablation, err));
    ATTN_TRY(append(ablation, 0, &trials->base, NULL, err));
    ATTN_TRY(try_controls(ablation, has_own_control, changes, err));
    for (size_t i = 0; i < n; i++)
        ATTN_TRY(append(ablation, i, &outcomes[i].reply, changes + (n_copy > 1 ? i : 0) * n_control,
                        err));
    attn_frame_report_base(&ablation->frame, &ablation->answer, &trials->base);
    ATTN_TRY(attn_frame_report_more(&ablation->frame, changes, n_copy * n_control, err));
    sum->n_row += n > 0 ? outcomes[0].n_row : 0;
    sum->n_feed += trials->n_feed;
    sum->sites = ablation->n_site > 1              ? "attn_out and mlp_out"
                 : ablation->first == ATTN_SITE_QK ? attn_site_name(ATTN_SITE_PATTERN)
                                                   : attn_site_name(ablation->first);
    return ATTN_OK;
}

static void release(void *state)
{
    struct ablation *ablation = state;

    attn_free(ablation->parts.items);
    attn_free(ablation->tensors.items);
    attn_edit_means_release(&ablation->means);
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err);

static const struct attn_procedure procedure = {
    .name = "ablate",
    .question = &attn_question_ablate,
    .columns = columns,
    .n_column = N_COLUMN,
    .views = views,
    .n_view = sizeof views / sizeof *views,
    .needs_output = true,
    .state_size = sizeof(struct ablation),
    .sum_size = sizeof(struct attn_ablate_sum),
    .items.study = offsetof(struct attn_ablate_args, study),
    .items.take_item = attn_ablate_take_item,
    .items.derive = derive,
    .items.fits = fits,
    .check = check_args,
    .choose = choose,
    .prepare = prepare,
    .shows = shows,
    .draw = draw,
    .ask = ask,
    .release = release,
    .perform = perform,
};

/* Reads the order of parts from TABLE, which has the mean change of each part alone. */
static enum attn_status take_order(const struct attn_table *table, struct attn_parts *order,
                                   struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    const size_t n = n_row > 0 ? n_row - 1 : 0; /* without the row `base` */
    const size_t layer = attn_table_find_role(table, ATTN_ROLE_LAYER);
    const size_t change = attn_table_find(table, columns[CHANGE].name);
    const bool has_neurons = n > 0 && attn_table_column(table, layer + 1)->role == ATTN_ROLE_NEURON;
    struct ranked *ranked;

    ATTN_TRY(ATTN_ALLOC(order->items, n, err));
    ATTN_TRY(ATTN_ALLOC(ranked, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_cell index = attn_table_cell(table, i + 1, layer + 1);
        const int number = index.type == ATTN_VALUE_MISSING ? -1 : (int)index.integer;
        struct attn_part *part = &ranked[i].part;

        attn_location_read(table, i + 1, layer, &part->at);
        part->at.head = has_neurons ? ATTN_ALL_HEADS : number;
        part->neuron = has_neurons ? number : -1;
        ranked[i].change = attn_table_cell(table, i + 1, change).real;
    }
    order->n = n;
    sort_ranked(ranked, n, order->items);
    attn_free(ranked);
    return ATTN_OK;
}

/* Computes the order for is_cumulative in a separate pass over the items of ARGS. */
static enum attn_status find_order(struct attn_host *host, const struct attn_request *request,
                                   const struct attn_ablate_args *args, struct plan *plan,
                                   struct attn_error *err)
{
    struct attn_ablate_args each = *args, defaults = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_study_args asked = ATTN_STUDY_ARGS_DEFAULT, study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_request quiet = ATTN_REQUEST_DEFAULT;
    struct attn_procedure first = procedure;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table = NULL;
    const struct attn_procedure_call call = {host, &quiet, &each, &defaults, &table, &sum};
    enum attn_status status;
    size_t shard, n_shard;

    ATTN_TRY(attn_error_at(attn_options_read(args->study, &asked, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(attn_options_read(request, &quiet, err), ATTN_STAGE_OPTIONS, err));
    attn_items_shard(asked.items, &shard, &n_shard);
    if (n_shard > 0) {
        attn_error_set(err, ATTN_INVALID,
                       "`is_cumulative` takes the parts in the order of their mean change over all "
                       "items, and a shard reads some of them");
        attn_error_hint(err, "without it shards give the changes of single parts; a set for each "
                             "step of their order can be tried by `sets`");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    ATTN_TRY(attn_items_rewind(asked.items, err));
    study.items = asked.items;
    quiet.on_note = NULL;
    each.study = &study;
    each.is_cumulative = false;
    each.n_control = 0;
    first.plan = plan;
    status = attn_procedure_perform(&first, &call, err);
    if (status == ATTN_OK)
        status = take_order(table, &plan->order, err);
    attn_table_free(table);
    return status == ATTN_OK ? attn_items_rewind(asked.items, err) : status;
}

/* Prepares the data that all items share. Release PLAN after a failure, too. */
static enum attn_status make_plan(struct attn_host *host, const struct attn_request *request,
                                  const struct attn_ablate_args *given, struct plan *plan,
                                  struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;

    ATTN_TRY(attn_error_at(attn_options_read(given, &args, err), ATTN_STAGE_OPTIONS, err));
    if (args.with == ATTN_ABLATE_WITH_MEAN && args.n_reference > 0 && args.study) {
        ATTN_TRY(ATTN_ALLOC(plan->found, 1, err));
        ATTN_TRY(attn_monitor_create(1, &plan->found->monitor, err));
    }
    return args.study && args.is_cumulative ? find_order(host, request, &args, plan, err) : ATTN_OK;
}

static void release_plan(struct plan *plan)
{
    attn_free(plan->order.items);
    if (!plan->found)
        return;
    attn_edit_means_release(&plan->found->means);
    attn_free(plan->found->edits);
    attn_monitor_free(plan->found->monitor);
    attn_free(plan->found);
}

/* Whether GIVEN, which may be NULL or of an older version, asks about parts of a picture. */
static bool has_picture_parts(const struct attn_ablate_args *given)
{
    return given && given->size > offsetof(struct attn_ablate_args, picture_parts) &&
           given->picture_parts != 0;
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    struct attn_procedure asked = procedure;
    struct plan plan = {.found = NULL};
    enum attn_status status = ATTN_OK;

    status = make_plan(call->host, call->request, call->given, &plan, err);
    asked.plan = &plan;
    if (status == ATTN_OK)
        status = attn_procedure_perform(&asked, call, err);
    release_plan(&plan);
    return status;
}

enum attn_status attn_ablate(struct attn_host *host, const struct attn_request *request,
                             const struct attn_ablate_args *given, struct attn_table **table,
                             struct attn_ablate_sum *sum, struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    const struct attn_procedure_call call = {host, request, given, &args, table, sum};

    return has_picture_parts(given) ? attn_procedure_perform(&attn_ablate_pictures, &call, err)
                                    : perform(&call, err);
}

static const struct attn_procedure *choose_procedure(const void *given)
{
    return has_picture_parts(given) ? &attn_ablate_pictures : &procedure;
}
