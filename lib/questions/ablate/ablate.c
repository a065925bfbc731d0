/* ablate.c - see ablate.h. A part is a list of edits, and so is a set of parts: each trial runs one
 * list. Weights become uniform by setting the products of queries and keys to 0: masked cells stay
 * masked in every kind of attention. */
#include "ablate/ablate_internal.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "frame/asked.h"
#include "frame/questions_internal.h"
#include "gradient/backward.h"
#include "model/config_internal.h"
#include "params/param_internal.h"
#include "trace/places_extra.h"
#include "trace/trace_internal.h"
#include "trials/part_sums.h"

#include <string.h>

/* --- The table -------------------------------------------------------------------------------- */

enum {
    PART,
    SET,
    STACK,
    LAYER,
    HEAD,
    NEURON,
    KIND,
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
    SHOW_RUNS = 128,
    SHOW_KINDS = 256
};

static const struct attn_column columns[] = {
    [PART] = ATTN_COLUMN_PART("base"),
    [SET] = ATTN_COLUMN_OF(SET, "set", TEXT, .shown = SHOW_SETS),
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = SHOW_HEADS | SHOW_NEURONS),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [NEURON] = ATTN_COLUMN_OF(NEURON, "neuron", INTEGER, .shown = SHOW_NEURONS),
    [KIND] =
        ATTN_COLUMN_WITH("kind", TEXT, NAME, .shown = SHOW_KINDS,
                         .help = "attention or mixing, of models with layers without attention"),
    [ESTIMATE] = ATTN_COLUMN_QUANTITY("estimate", 6, NULL, SIGNED, "estimated change of @",
                                      .traits = ATTN_TRAIT_RANKED, .shown = SHOW_ESTIMATES),
    ATTN_COLUMNS_REPLY(VALUE, SHOW_RUNS, SHOW_RIGHT),
    ATTN_COLUMNS_CONTROL(CONTROL, SHOW_CONTROLS),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

static const char *name_part(enum attn_ablate_by by)
{
    static const char *const names[] = {
#define NAME(id, number, name) [ATTN_ABLATE_BY_##id] = (name),
        ATTN_ABLATE_BY_MAP(NAME)
#undef NAME
    };

    return names[by];
}

enum { OF_HEADS, OF_NEURONS, OF_LAYERS, OF_SETS };

static const struct attn_table_view views[] = {
    [OF_HEADS] = {ATTN_VIEW_OF(LAYER, HEAD, CHANGE)},
    [OF_NEURONS] = {ATTN_VIEW_OF(LAYER, NEURON, CHANGE)},
    [OF_LAYERS] = {ATTN_VIEW_OF(LAYER, PART, CHANGE)},
    [OF_SETS] = {ATTN_VIEW_OF(SET, SET, CHANGE)},
};

/* Returns the last words of the title, which describe the replacement. */
static const char *find_words(const struct attn_ablate_args *args)
{
    static const char *const zeros[] = {"without each head", "without the attention of each layer",
                                        "without the MLP of each layer", "without each layer",
                                        "without each neuron"};
    static const char *const others[] = {
        [ATTN_REPLACEMENT_MEAN] = "with the mean of each part in its place",
        [ATTN_REPLACEMENT_UNIFORM] = "with a uniform pattern in each head",
        [ATTN_REPLACEMENT_RESAMPLE] = "with rows of another text in each part"};
    const bool is_zero = args->replacement == ATTN_REPLACEMENT_ZERO;

    return args->n_set > 0 && is_zero        ? "without each set of heads"
           : args->is_cumulative             ? "without this part and all before it"
           : !is_zero                        ? others[args->replacement]
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
    if (args->is_cumulative)
        view->traits = ATTN_VIEW_SEQUENCE;
}

static uint64_t shows(const void *state)
{
    const struct attn_ablation *ablation = state;
    const struct attn_ablate_args *args = ablation->args;
    const bool has_right = ablation->frame.item && attn_metric_has_right(args->answer.metric);
    const bool has_kinds = args->by == ATTN_ABLATE_BY_HEAD || args->by == ATTN_ABLATE_BY_ATTN;

    return (args->n_set > 0                     ? SHOW_SETS
            : args->by == ATTN_ABLATE_BY_NEURON ? SHOW_NEURONS
                                                : SHOW_HEADS) |
           (args->is_estimated ? SHOW_ESTIMATES
            : has_right        ? SHOW_RUNS | SHOW_RIGHT
                               : SHOW_RUNS) |
           (args->n_control > 0 ? SHOW_CONTROLS : 0) |
           (ablation->frame.config->mixer && args->n_set == 0 && has_kinds ? SHOW_KINDS : 0);
}

/* Appends the row of part or set I with REPLY and its CONTROLS [n_control], changes by random
 * choices; NULL: the row of the base. */
static enum attn_status append_part(struct attn_ablation *ablation, size_t i,
                                    const struct attn_reply *reply, const double *controls,
                                    struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_part *part =
        controls && !attn_ablate_has_sets(ablation) ? &ablation->parts.items[i] : NULL;
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(!controls                        ? "base"
                                  : attn_ablate_has_sets(ablation) ? "set"
                                                                   : name_part(args->by)),
    };

    attn_reply_put(&ablation->answer, &ablation->frame.trials.base, reply, &row[VALUE]);
    if (controls && attn_ablate_has_sets(ablation))
        row[SET] =
            attn_cell_string(args->sets[i].name ? args->sets[i].name : args->sets[i].heads.text);
    if (part)
        attn_location_put(&part->at, &row[STACK]);
    if (part && part->at.head >= 0)
        row[HEAD] = attn_cell_integer(part->at.head);
    if (part)
        row[KIND] = attn_cell_string(part->at.site == ATTN_SITE_MIXER_Z ||
                                             part->at.site == ATTN_SITE_MIXER_OUT
                                         ? ATTN_ABLATE_MIXING
                                         : "attention");
    if (part && part->neuron >= 0)
        row[NEURON] = attn_cell_integer(part->neuron);
    if (part && args->is_estimated)
        row[VALUE] = attn_cell_missing();
    row[ESTIMATE] = attn_cell_real(part && args->is_estimated ? ablation->estimates[i] : 0);
    if (controls && args->n_control > 0)
        attn_control_put(controls, args->n_control, row[CHANGE].real, &row[CONTROL]);
    return attn_frame_append(&ablation->frame, row, err);
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

ATTN_DEFAULTS(attn_ablate_sum, .size = sizeof(struct attn_ablate_sum))

/* --- The question ----------------------------------------------------------------------------- */

/* Returns the rest of TEXT after the prefix WORD; NULL if TEXT does not begin with WORD. */
static const char *after(const char *word, const char *text)
{
    const size_t size = strlen(word);

    return strncmp(text, word, size) == 0 ? text + size : NULL;
}

/* Reads a list such as "picture,cell" into the bits PARTS. False if TEXT is no such list. */
static enum attn_status read_by(const struct attn_param *param, void *home, const char *label,
                                const char *text, struct attn_error *err)
{
    struct attn_ablate_args *args = home;
    const int part = attn_param_find_word(param->words, text, strlen(text));
    const char *of_encoder = after("neuron:encoder:", text);
    const char *number = of_encoder ? of_encoder : after("neuron:", text);
    int64_t layer = 0;
    unsigned parts = 0;

    if (!attn_word_set_read("picture|tile|cell", text, &parts) && parts != 0) {
        args->picture_parts = parts;
        return ATTN_OK;
    }
    if (part < 0 && !(number && attn_parse_int(number, strlen(number), 0, INT32_MAX, &layer)))
        return attn_param_refuse(err, label, text,
                                 "head, attn, mlp, layer, neuron:L, neuron:encoder:L, or some "
                                 "of picture,tile,cell");
    args->by = part < 0 ? ATTN_ABLATE_BY_NEURON : (enum attn_ablate_by)part;
    args->layer = (int)layer;
    args->is_of_encoder = of_encoder;
    return ATTN_OK;
}

static enum attn_status read_replacement(const struct attn_param *param, void *home,
                                         const char *label, const char *text,
                                         struct attn_error *err)
{
    static const enum attn_replacement values[] = {ATTN_REPLACEMENT_ZERO, ATTN_REPLACEMENT_MEAN,
                                                   ATTN_REPLACEMENT_UNIFORM};
    struct attn_ablate_args *args = home;
    const int word = attn_param_find_word(param->words, text, strlen(text));
    const char *number = after("resample:", text);

    if (word < 0 && !(number && attn_parse_uint(number, strlen(number), &args->seed)))
        return attn_param_refuse(err, label, text, "zero, mean, uniform or resample:SEED");
    args->replacement = word < 0 ? ATTN_REPLACEMENT_RESAMPLE : values[word];
    return ATTN_OK;
}

static const struct attn_param param_rows[] = {
    ATTN_PARAM(OWN, "by", "head|attn|mlp|layer|neuron:L", struct attn_ablate_args, by,
               "what each row switches off: one head (default), the attention of a layer, its "
               "MLP, both, or one neuron of the MLP of layer L, of a translator's encoder "
               "neuron:encoder:L. Of a picture beside a text, some of picture,tile,cell: all of "
               "it, each tile, each cell of the whole picture, replaced by the mean of all cells",
               .words = "head|attn|mlp|layer", .read = read_by),
    ATTN_PARAM(OWN, "replacement", "zero|mean|uniform|resample:SEED", struct attn_ablate_args,
               replacement,
               "what replaces the output of that part: zeros (default), its mean over the "
               "positions of the text or of all texts of `references`, or its rows in one text "
               "of `references`; uniform: the head gives every key that it sees the same weight",
               .words = "zero|mean|uniform", .read = read_replacement),
    ATTN_PARAM(CHOICE, "tower", NULL, struct attn_ablate_args, tower,
               "of a picture beside a text: whose parts are switched off, those of the decoder, "
               "which reads the text (default), or those of its tower, which encodes the picture "
               "and all its tiles; the answer is the decoder's in any case",
               .words = "text|image"),
    ATTN_PARAM_HEADS("the heads that are switched off: 2.5,3.* or 0-3 of each layer; default: all"),
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
               "a file of texts, one per line: `replacement mean` takes the mean over all of them, "
               "`replacement resample` the rows of one",
               .option = "reference", .second = offsetof(struct attn_ablate_args, n_reference)),
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
    ATTN_QUESTION_ANSWER(struct attn_ablate_args),
    {&params, 0},
    {&control_params, 0},
};

static const struct attn_param_rule rules[] = {
    {.given = "references",
     .needs = "replacement:mean|replacement:resample",
     .message = "@ needs `replacement mean` or `replacement resample:SEED`"},
    {.given = "sets", .excludes = "cumulative", .time = ATTN_PARAM_VALUES},
    {.given = "sets", .excludes = "heads", .time = ATTN_PARAM_VALUES},
    {.given = "estimate", .excludes = "sets|cumulative|control", .time = ATTN_PARAM_BOTH},
};

/* Whether estimates exist for the parts of ARGS and what replaces them. */
static bool can_estimate(const struct attn_ablate_args *args)
{
    return args->by != ATTN_ABLATE_BY_LAYER && args->replacement != ATTN_REPLACEMENT_UNIFORM &&
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
        "random heads. Over `items` the numbers are means.\n"
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

/* Whether the layer of neurons, one of CONFIG, has any: a mixture of experts has none. */
static bool layer_has_neurons(const struct attn_ablate_args *args, const struct attn_config *config)
{
    const struct attn_dims dims = attn_config_dims(config, 1);
    const struct attn_location at = {.stack = args->is_of_encoder || !attn_dims_has_stacks(&dims)
                                                  ? ATTN_STACK_ONLY
                                                  : ATTN_STACK_DECODER,
                                     .layer = args->layer,
                                     .site = ATTN_SITE_MLP_POST};

    return attn_asked_has(&dims, &at);
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
static enum attn_status check_estimate(const struct attn_ablation *ablation, struct attn_error *err)
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

static enum attn_status check(const struct attn_ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_model *model = attn_host_model(ablation->frame.host);
    const struct attn_model *encoder =
        attn_ablate_is_of_tower(ablation) ? model->tower : model->encoder;
    const bool is_of_encoder = args->is_of_encoder || attn_ablate_is_of_tower(ablation);
    const struct attn_config *config =
        is_of_encoder && encoder ? &encoder->config : ablation->frame.config;
    const size_t n_layer = attn_config_n_whole_layer(config); /* layers that have an MLP */
    const struct attn_quote name = attn_quote_string(attn_model_name(model));
    const bool needs_mlp = args->by == ATTN_ABLATE_BY_MLP || args->by == ATTN_ABLATE_BY_NEURON;
    const bool has_heads = args->by != ATTN_ABLATE_BY_MLP && args->by != ATTN_ABLATE_BY_NEURON;

    if (attn_ablate_is_of_tower(ablation))
        ATTN_TRY(check_tower(args, model, err));
    if (args->is_of_encoder && !encoder)
        return attn_error_set(err, ATTN_INVALID, "'%s' has one stack, expected neuron:L",
                              name.text);
    if (args->is_of_encoder && args->replacement == ATTN_REPLACEMENT_RESAMPLE)
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
    if (args->replacement == ATTN_REPLACEMENT_UNIFORM && args->by != ATTN_ABLATE_BY_HEAD &&
        args->by != ATTN_ABLATE_BY_ATTN)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has no weights that could be uniform, expected head or attn",
                              name_part(args->by));
    if (args->replacement == ATTN_REPLACEMENT_RESAMPLE && args->n_reference == 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "`replacement resample` needs `references`, whose rows replace those of the text");
    if (ablation->heads.text && args->by != ATTN_ABLATE_BY_HEAD)
        return attn_error_set(err, ATTN_INVALID, "`heads` names heads, and `by` is '%s'",
                              name_part(args->by));
    if (args->is_estimated)
        ATTN_TRY(check_estimate(ablation, err));
    if (args->n_control > 0 && !has_heads)
        return attn_error_set(err, ATTN_INVALID,
                              "controls are choices of as many heads, and '%s' has none",
                              name_part(args->by));
    if (args->n_control > 0 && args->by != ATTN_ABLATE_BY_HEAD && config->mixer)
        return attn_error_set(err, ATTN_INVALID,
                              "controls are choices of as many heads, and the layers of '%s' have "
                              "different numbers of them: expected `by` head",
                              name.text);
    return ATTN_OK;
}

/* --- The procedure ---------------------------------------------------------------------------- */

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_ablate_args *args = given;

    if (!attn_is_choice(args->by, ATTN_ABLATE_BY_NEURON + 1, "by", err) ||
        !attn_is_choice(args->replacement, ATTN_REPLACEMENT_UNIFORM + 1, "replacement", err) ||
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
                              name_part(args->by));
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
    struct attn_ablation *ablation = state;

    ablation->args = ablation->frame.args;
    ablation->heads.text = ablation->frame.request.selection.heads;
    attn_question_choose_nothing(&ablation->frame.request);
    if (attn_ablate_is_of_tower(
            ablation)) /* the run finds the pictures, and the sizes of the tower */
        ablation->frame.request.selection.sites = "tower:z";
    return check(ablation, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct attn_ablation *ablation = state;
    struct attn_frame *frame = &ablation->frame;

    attn_random_seed(&ablation->random, ablation->args->seed);
    ATTN_TRY(attn_frame_find_answer(frame, &ablation->args->answer, &ablation->answer, err));
    ATTN_TRY(attn_ablate_list_tensors(ablation, err));
    if (ablation->args->is_estimated)
        ATTN_TRY(
            attn_error_at(attn_answer_check_goal(&ablation->answer, err), ATTN_STAGE_OPTIONS, err));
    else
        ATTN_TRY(
            attn_trials_start(frame->run, &ablation->answer, ablation->first, &frame->trials, err));
    ATTN_TRY(attn_ablate_find_values(ablation, err));
    return attn_ablate_list_parts(ablation, err);
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
static enum attn_status ask_estimates(struct attn_ablation *ablation, struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    const struct attn_part_sums_options options = {.answer = &ablation->answer,
                                                   .base = frame->run,
                                                   .edits = ablation->edits,
                                                   .n_edit = ablation->n_own,
                                                   .site = ablation->first,
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
    ATTN_TRY(append_part(ablation, 0, &sums.base, NULL, err));
    for (size_t i = 0; i < ablation->n_row; i++)
        ATTN_TRY(append_part(ablation, i, &sums.base, ablation->estimates, err));
    attn_frame_report_base(frame, &ablation->answer, &sums.base);
    sum->n_feed += sums.n_feed;
    sum->sites = attn_site_name(ablation->first);
    return ATTN_OK;
}

/* Returns the names of the tensors of the first part. */
static const char *name_sites(const struct attn_ablation *ablation)
{
    static const char *const of_layer[] = {"no tensor",
                                           "attn_out",
                                           "mixer_out",
                                           "attn_out and mixer_out",
                                           "mlp_out",
                                           "attn_out and mlp_out",
                                           "mixer_out and mlp_out",
                                           "attn_out, mixer_out and mlp_out"};
    const struct attn_part *parts = ablation->parts.items;
    size_t number = 0;

    if (ablation->first == ATTN_SITE_QK)
        return attn_site_name(ATTN_SITE_PATTERN);
    if (ablation->args->by != ATTN_ABLATE_BY_LAYER || ablation->parts.n == 0)
        return attn_site_name(ablation->parts.n > 0 ? parts->at.site : ablation->first);
    for (size_t i = 0; i < ablation->n_own; i++) {
        const struct attn_location *at = &ablation->tensors.items[i].at;

        if (attn_location_order(at, &parts->at) == 0)
            number |= at->site == ATTN_SITE_MLP_OUT     ? 4U
                      : at->site == ATTN_SITE_MIXER_OUT ? 2U
                                                        : 1U;
    }
    return of_layer[number];
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_ablation *ablation = state;
    const struct attn_ablate_args *args = ablation->args;
    const size_t n = ablation->n_row, n_control = args->n_control;
    /* each row has its own controls; with an encoder each stack has, and each row has a copy */
    const bool has_own_control = args->is_cumulative || attn_ablate_has_sets(ablation);
    const size_t n_copy = has_own_control || ablation->has_encoder ? n : 1;
    /* those of the encoder come first; a stack without parts draws none */
    const struct attn_part *parts = ablation->parts.items;
    const size_t n_drawn = has_own_control || n < 2
                               ? n
                               : 1 + (attn_stack_is_encoder(parts->at.stack) !=
                                      attn_stack_is_encoder(parts[n - 1].at.stack));
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
        ATTN_TRY(attn_ablate_sort(ablation, err));
    ablation->adds_up = args->is_cumulative;
    ATTN_TRY(attn_ablate_try(ablation, err));
    ATTN_TRY(append_part(ablation, 0, &trials->base, NULL, err));
    ATTN_TRY(attn_ablate_try_controls(ablation, has_own_control, changes, err));
    for (size_t i = 0; i < n; i++)
        ATTN_TRY(append_part(ablation, i, &outcomes[i].reply,
                             changes + (n_copy > 1 ? i : 0) * n_control, err));
    attn_frame_report_base(&ablation->frame, &ablation->answer, &trials->base);
    ATTN_TRY(attn_frame_report_more(&ablation->frame, changes, n_copy * n_control, err));
    sum->n_row += n > 0 ? outcomes[0].n_row : 0;
    sum->n_feed += trials->n_feed;
    sum->sites = name_sites(ablation);
    return ATTN_OK;
}

static void release(void *state)
{
    struct attn_ablation *ablation = state;

    attn_free(ablation->parts.items);
    attn_free(ablation->tensors.items);
    attn_edit_means_release(&ablation->means);
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err);

/* Names the option whose results need more than rows. */
static const char *beyond_rows(const void *args)
{
    return ((const struct attn_ablate_args *)args)->n_control > 0 ? "`control`" : NULL;
}

static const struct attn_procedure procedure = {
    ATTN_ABLATE(struct attn_ablation),
    .reads_unequal_layers = true,
    .items.derive = derive,
    .items.beyond_rows = beyond_rows,
    .check = check_args,
    .release = release,
    .perform = perform,
};

/* Computes the order for is_cumulative in a separate pass over the items of ARGS. */
static enum attn_status find_order(struct attn_host *host, const struct attn_request *request,
                                   const struct attn_ablate_args *args,
                                   struct attn_ablate_plan *plan, struct attn_error *err)
{
    static const char *const shard[] = {
        "`is_cumulative` takes the parts in the order of their mean change over all items, and a "
        "shard reads some of them",
        "without it shards give the changes of single parts; a set for each step of their order "
        "can be tried by `sets`"};
    struct attn_ablate_args each = *args, defaults = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_procedure first = procedure;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table = NULL;
    const struct attn_procedure_call call = {host, request, NULL, &defaults, &table, &sum};
    enum attn_status status;

    each.is_cumulative = false;
    each.n_control = 0;
    first.plan = plan;
    status = attn_procedure_perform_first(&first, &call, &each, shard, err);
    ATTN_THEN(status, attn_ablate_read_order(table, args->by, &plan->order, err));
    attn_table_free(table);
    return status;
}

/* Prepares the data that all items share. Release PLAN after a failure, too. */
static enum attn_status make_plan(struct attn_host *host, const struct attn_request *request,
                                  const struct attn_ablate_args *given,
                                  struct attn_ablate_plan *plan, struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;

    ATTN_TRY(attn_error_at(attn_options_read(given, &args, err), ATTN_STAGE_OPTIONS, err));
    if (args.replacement == ATTN_REPLACEMENT_MEAN && args.n_reference > 0 && args.study) {
        ATTN_TRY(ATTN_ALLOC(plan->found, 1, err));
        ATTN_TRY(attn_monitor_create(1, &plan->found->monitor, err));
    }
    return args.study && args.is_cumulative ? find_order(host, request, &args, plan, err) : ATTN_OK;
}

static void release_plan(struct attn_ablate_plan *plan)
{
    attn_free(plan->order.items);
    if (!plan->found)
        return;
    attn_edit_means_release(&plan->found->means);
    attn_free(plan->found->edits);
    attn_monitor_free(plan->found->monitor);
    attn_free(plan->found);
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    struct attn_procedure asked = procedure;
    struct attn_ablate_plan plan = {.found = NULL};
    enum attn_status status = ATTN_OK;

    status = make_plan(call->host, call->request, call->given, &plan, err);
    asked.plan = &plan;
    ATTN_THEN(status, attn_procedure_perform(&asked, call, err));
    release_plan(&plan);
    return status;
}

ATTN_ASKS_WITH_SUM(ablate)

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct attn_ablate_args *args = given; /* may be NULL or of an older version */

    return args && args->size > offsetof(struct attn_ablate_args, picture_parts) &&
                   args->picture_parts != 0
               ? &attn_ablate_pictures
               : &procedure;
}
