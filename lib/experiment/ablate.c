/* ablate.c - see ablate.h. A part is a list of edits, and so is a set of parts: each trial runs one
 * list. Weights become uniform by setting the products of queries and keys to 0: masked cells stay
 * masked in every kind of attention. */
#include "experiment/ablate.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/param_internal.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "edits/intervention_internal.h"
#include "experiment/questions_internal.h"
#include "model/config_internal.h"
#include "records/items_internal.h"
#include "study/frame.h"
#include "study/significance.h"
#include "study/trial.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SITES = 2 };

enum {
    PART,
    SET,
    STACK,
    LAYER,
    HEAD,
    NEURON,
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

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("base"),
    [SET] = ATTN_COLUMN_OF(SET, "set", TEXT),
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER),
    [NEURON] = ATTN_COLUMN_OF(NEURON, "neuron", INTEGER),
    [VALUE] = ATTN_COLUMN_QUANTITY("value", 6, NULL, SIGNED, "@"),
    [CHANGE] = ATTN_COLUMN_QUANTITY("change", 6, NULL, SIGNED, "change of @"),
    [KL] = ATTN_COLUMN_QUANTITY("kl", 6, "nats", POSITIVE,
                                "KL divergence from the unchanged prediction"),
    [SAME_TOP] = {.name = "same_top",
                  .type = ATTN_VALUE_BOOLEAN,
                  .range = ATTN_RANGE_SHARE,
                  .quantity = "most probable token stays the same",
                  .traits = ATTN_TRAIT_LINEAR},
    [RIGHT] = ATTN_COLUMN_RIGHT,
    ATTN_COLUMNS_CONTROL(CONTROL),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* One part of the model, or a set of heads. */
struct part {
    struct attn_location at; /* location of its first edit; a set has no layer */
    int neuron;              /* index of the neuron, or -1 */
    size_t n_head;           /* number of heads of a set */
    bool has_encoder;        /* the set has heads of the encoder */
    const char *set;         /* name of a set; NULL: a single part */
    double change;           /* change of the metric when only this part is replaced */
};

/* The order in which parts are switched off one after another, the same for all items. */
struct order {
    struct part *parts; /* [n_part] owns */
    size_t n_part;      /* 0: each item has its own order */
};

/* The sums over all references, which the first item computes for all items. */
struct found {
    struct attn_monitor *monitor; /* owns; guards the rest */
    double *sums[MOST_SITES + 1]; /* own; the sums of each material; or NULL */
    size_t n_row[MOST_SITES + 1];
    bool is_whole;
};

struct plan {
    struct order order;
    struct found *found; /* NULL: each item computes the sums */
};

/* The replacement of one site. */
struct material {
    enum attn_site site;  /* the site; qk if weights become uniform */
    size_t n_head, width; /* size of a row: its heads (or 1), and the columns of each */
    float *rows;          /* [n_layer, n_head, n_row, width]; NULL: zeros */
    double *sums; /* [n_layer, n_head, width] sums over all rows, while a mean is computed */
    size_t n_row; /* number of rows in the sums */
};

/* The model that is fed the text, or its encoder. */
struct side {
    struct ablation *of;
    const struct attn_config *config;
    const struct attn_dims *dims;
    size_t n_row; /* number of positions */
    size_t n_part;
    /* Replacements for the sites that parts change [n_site]; then one for z, if only controls
     * change z. */
    struct material material[MOST_SITES + 1];
};

enum { OF_TEXT, OF_ENCODER, MOST_SIDES };

struct ablation {
    struct attn_frame frame;
    const struct attn_ablate_args *args;
    const char *heads; /* the heads that are switched off; NULL: all */
    struct attn_answer answer;
    struct side sides[MOST_SIDES];
    size_t n_side; /* 2 if parts of an encoder are switched off, too */
    size_t n_site, n_material;
    size_t n_place; /* edits per part: a decoder layer with a source has two attentions */
    /* the replacement is a mean; it consists of rows of a reference; or neither */
    bool is_mean, is_of_others;
    struct part *parts; /* [n_part] */
    size_t n_part;
    struct attn_sets sets, controls; /* sets of the parts, and sets of randomly drawn heads */
    size_t *order;                   /* [n_all_heads] a permutation of the heads */
    struct attn_random random;
};

/* --- The question ----------------------------------------------------------------------------- */

/* Returns the rest of TEXT after the prefix WORD; NULL if TEXT does not begin with WORD. */
static const char *after(const char *word, const char *text)
{
    const size_t size = strlen(word);

    return strncmp(text, word, size) == 0 ? text + size : NULL;
}

static enum attn_status read_by(const struct attn_param *param, void *home, const char *label,
                                const char *text, struct attn_error *err)
{
    struct attn_ablate_args *args = home;
    const int part = attn_param_find_word(param->words, text, strlen(text));
    const char *of_encoder = after("neuron:encoder:", text);
    const char *number = of_encoder ? of_encoder : after("neuron:", text);
    int64_t layer = 0;

    if (part < 0 && !(number && attn_parse_int(number, strlen(number), 0, INT32_MAX, &layer)))
        return attn_param_refuse(err, label, text,
                                 "head, attn, mlp, layer, neuron:L or neuron:encoder:L");
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
               "neuron:encoder:L",
               .words = "head|attn|mlp|layer", .read = read_by),
    ATTN_PARAM(OWN, "with", "zero|mean|uniform|resample:SEED", struct attn_ablate_args, with,
               "what replaces the output of that part: zeros (default), its mean over the "
               "positions of the text or of all texts of `references`, or its rows in one text "
               "of `references`; uniform: the head gives every key that it sees the same weight",
               .words = "zero|mean|uniform", .read = read_with),
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
};

static const struct attn_experiment experiment;

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
        "same_top is a share.\n",
    ATTN_QUESTION_PARAMS(param_parts, rules),
    ATTN_QUESTION_ARGS(struct attn_ablate_args, .size = sizeof(struct attn_ablate_args)),
    .experiment = &experiment,
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

static enum attn_status check(const struct ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_model *encoder = attn_host_model(ablation->frame.host)->encoder;
    const struct attn_config *config =
        args->is_of_encoder && encoder ? &encoder->config : ablation->frame.config;
    const size_t n_layer = attn_config_n_whole_layer(config); /* layers that have an MLP */
    const struct attn_quote name =
        attn_quote_string(attn_model_name(attn_host_model(ablation->frame.host)));
    const bool needs_mlp = args->by == ATTN_ABLATE_BY_MLP || args->by == ATTN_ABLATE_BY_NEURON;
    const bool has_heads = args->by != ATTN_ABLATE_BY_MLP && args->by != ATTN_ABLATE_BY_NEURON;

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
    if (args->with == ATTN_ABLATE_WITH_UNIFORM && args->by != ATTN_ABLATE_BY_HEAD &&
        args->by != ATTN_ABLATE_BY_ATTN)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has no weights that could be uniform, expected head or attn",
                              part_name(args->by));
    if (args->with == ATTN_ABLATE_WITH_RESAMPLE && args->n_reference == 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "`with resample` needs `references`, whose rows replace those of the text");
    if (ablation->heads && args->by != ATTN_ABLATE_BY_HEAD)
        return attn_error_set(err, ATTN_INVALID, "`heads` names heads, and `by` is '%s'",
                              part_name(args->by));
    if (args->n_control > 0 && !has_heads)
        return attn_error_set(err, ATTN_INVALID,
                              "controls are choices of as many heads, and '%s' has none",
                              part_name(args->by));
    return ATTN_OK;
}

static size_t n_heads_of(const struct side *side)
{
    return side->config->n_layer * side->config->n_head;
}

/* Returns the number of heads of both sides. */
static size_t n_all_heads(const struct ablation *ablation)
{
    return n_heads_of(&ablation->sides[OF_TEXT]) +
           (ablation->n_side > 1 ? n_heads_of(&ablation->sides[OF_ENCODER]) : 0);
}

/* Returns the side that AT belongs to. */
static const struct side *side_of(const struct ablation *ablation, const struct attn_location *at)
{
    return &ablation->sides[at->stack == ATTN_STACK_ENCODER ? OF_ENCODER : OF_TEXT];
}

/* Returns the number of heads in a part of SIDE; controls draw equally many. */
static size_t n_heads_of_part(const struct ablation *ablation, const struct side *side)
{
    const enum attn_ablate_by by = ablation->args->by;

    return by == ATTN_ABLATE_BY_HEAD
               ? 1
               : side->config->n_head *
                     (by == ATTN_ABLATE_BY_LAYER ? attn_config_n_part(side->config) : 1);
}

/* Whether a part has the blocks of a whole layer. */
static bool is_whole(const struct ablation *ablation)
{
    return ablation->args->by >= ATTN_ABLATE_BY_MLP;
}

/* Returns the number of parts in a layer of SIDE, or in the layer of a neuron. */
static size_t n_each_of(const struct ablation *ablation, const struct side *side)
{
    switch (ablation->args->by) {
    case ATTN_ABLATE_BY_HEAD:
        return side->config->n_head;
    case ATTN_ABLATE_BY_NEURON:
        return side->config->d_mlp;
    default:
        return 1;
    }
}

/* Lists the parts of SIDE from PARTS on. */
static void list_side(const struct ablation *ablation, const struct side *side, struct part *parts)
{
    const enum attn_ablate_by by = ablation->args->by;
    const size_t n_block = is_whole(ablation) ? attn_config_n_part(side->config) : 1;
    const size_t n_each = n_each_of(ablation, side);
    const bool is_of_one = by == ATTN_ABLATE_BY_NEURON;

    for (size_t i = 0; i < side->n_part; i++) {
        struct part *part = &parts[i];

        part->at = attn_location_of_block(
            side->dims, side->material[0].site, (int)(n_block * (i / n_each)),
            by == ATTN_ABLATE_BY_HEAD ? (int)(i % n_each) : ATTN_ALL_HEADS);
        part->at.layer = is_of_one ? ablation->args->layer : part->at.layer;
        part->neuron = is_of_one ? (int)(i % n_each) : -1;
    }
}

/* Whether the layer of neurons is one of SIDE. */
static bool is_named(const struct ablation *ablation, const struct side *side)
{
    return ablation->args->is_of_encoder == (side == &ablation->sides[OF_ENCODER]);
}

/* Selects the heads of SIDE that LIST names. */
static enum attn_status select_heads(const struct side *side, const char *list,
                                     struct attn_selection **listed, struct attn_error *err)
{
    const struct ablation *ablation = side->of;

    *listed = NULL;
    if (ablation->n_side == 1 && ablation->frame.run->model->encoder && strstr(list, "encoder:"))
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' names heads of the encoder, and the references have the same "
                              "source: expected zero, mean or uniform in their place",
                              attn_quote_string(list).text);
    return attn_edit_select_heads(list, side == &ablation->sides[OF_ENCODER],
                                  attn_selection_dims(ablation->frame.run->selection), listed, err);
}

/* Whether LISTED, of select_heads, has a head of SIDE. */
static bool has_head(const struct side *side, const struct attn_selection *listed, int block,
                     int head)
{
    const bool is_of_encoder = side == &side->of->sides[OF_ENCODER];

    return attn_selection_has_block_head(
        listed && is_of_encoder ? attn_selection_encoder(listed) : listed, block, head);
}

/* Keeps those of the PARTS of SIDE that `heads` names. */
static enum attn_status choose_parts(struct side *side, struct part *parts, struct attn_error *err)
{
    struct attn_selection *listed;
    size_t n = 0;

    if (!side->of->heads)
        return ATTN_OK;
    ATTN_TRY(attn_error_in(select_heads(side, side->of->heads, &listed, err), "heads", err));
    for (size_t i = 0; i < side->n_part; i++)
        if (has_head(side, listed, attn_location_block(&parts[i].at), parts[i].at.head))
            parts[n++] = parts[i];
    attn_selection_free(listed);
    side->n_part = n;
    return ATTN_OK;
}

/* Lists the parts in the order of the table: those of an encoder first. */
static enum attn_status list_parts(struct ablation *ablation, struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    const bool is_of_one = ablation->args->by == ATTN_ABLATE_BY_NEURON;
    const size_t n_all = n_all_heads(ablation), n_set = ablation->args->n_set;
    /* sets may contain all heads */
    const bool takes_all = ablation->args->is_cumulative || n_set > 0;
    size_t n_of_part = 0, n_listed = 0;

    for (size_t i = 0; i < ablation->n_side; i++) {
        struct side *side = &ablation->sides[i];
        const size_t n = n_heads_of_part(ablation, side);

        side->n_part = n_each_of(ablation, side) * (is_of_one ? is_named(ablation, side)
                                                    : is_whole(ablation)
                                                        ? attn_config_n_whole_layer(side->config)
                                                        : side->config->n_layer);
        ablation->n_part += side->n_part;
        n_of_part = n > n_of_part ? n : n_of_part;
    }
    ablation->n_part = n_set > 0 ? n_set : ablation->n_part;
    ablation->order = attn_frame_alloc(frame, n_all, sizeof *ablation->order);
    ablation->parts = attn_frame_alloc(frame, ablation->n_part, sizeof *ablation->parts);
    attn_frame_take_sets(frame, &ablation->controls, ablation->args->n_control,
                         takes_all ? n_all : n_of_part);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = ablation->n_side; i-- > 0 && n_set == 0;) {
        struct part *parts = ablation->parts + n_listed;

        list_side(ablation, &ablation->sides[i], parts);
        ATTN_TRY(
            attn_error_at(choose_parts(&ablation->sides[i], parts, err), ATTN_STAGE_OPTIONS, err));
        n_listed += ablation->sides[i].n_part;
    }
    ablation->n_part = n_set > 0 ? n_set : n_listed;
    attn_frame_take_sets(frame, &ablation->sets, ablation->n_part,
                         n_set > 0 ? n_all : ablation->n_place);
    return attn_frame_memory(frame, err);
}

/* --- Replacements ----------------------------------------------------------------------------- */

/* Returns true if an edit of SITE names a head. */
static bool is_of_heads(enum attn_site site)
{
    return site == ATTN_SITE_Z || site == ATTN_SITE_QK;
}

/* Allocates the replacements of SIDE, if they are not zeros. */
static void allocate_material(struct ablation *ablation, struct side *side)
{
    for (size_t i = 0; i < ablation->n_material; i++) {
        struct material *m = &side->material[i];

        m->n_head = attn_site_layout(m->site) == ATTN_LAYOUT_QUERY ? side->dims->n_head : 1;
        m->width = attn_site_width(m->site, side->dims);
        if (!ablation->is_mean && !ablation->is_of_others)
            continue;
        m->rows = attn_frame_alloc(&ablation->frame, side->dims->n_layer * side->n_row,
                                   m->n_head * m->width * sizeof(float));
        m->sums = attn_frame_alloc(&ablation->frame, side->dims->n_layer,
                                   m->n_head * m->width * sizeof(double));
    }
}

/* Lists the sides. Parts of an encoder are left out if rows of a reference replace them, because
 * references have the same source, and if parts are neurons of a layer of the decoder. */
static void list_sides(struct ablation *ablation)
{
    const struct attn_run *run = ablation->frame.run;
    const bool has_encoder =
        run->model->encoder && !ablation->is_of_others &&
        (ablation->args->by != ATTN_ABLATE_BY_NEURON || ablation->args->is_of_encoder);

    ablation->n_side = has_encoder ? 2 : 1;
    ablation->sides[OF_TEXT] = (struct side){.of = ablation,
                                             .config = ablation->frame.config,
                                             .dims = attn_selection_dims(run->selection),
                                             .n_row = run->text.n};
    if (has_encoder)
        ablation->sides[OF_ENCODER] =
            (struct side){.of = ablation,
                          .config = attn_model_config(run->model->encoder),
                          .dims = &run->encoder_dims,
                          .n_row = run->source.n};
}

/* Lists the sites that parts and controls change, and allocates their replacements. */
static enum attn_status list_material(struct ablation *ablation, struct attn_error *err)
{
    static const enum attn_site sites[][MOST_SITES] = {
        [ATTN_ABLATE_BY_HEAD] = {ATTN_SITE_Z},
        [ATTN_ABLATE_BY_ATTN] = {ATTN_SITE_ATTN_OUT},
        [ATTN_ABLATE_BY_MLP] = {ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_BY_LAYER] = {ATTN_SITE_ATTN_OUT, ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_BY_NEURON] = {ATTN_SITE_MLP_POST},
    };
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_frame *frame = &ablation->frame;

    ablation->is_mean = args->with == ATTN_ABLATE_WITH_MEAN;
    ablation->is_of_others = args->with == ATTN_ABLATE_WITH_RESAMPLE;
    ablation->n_site = args->by == ATTN_ABLATE_BY_LAYER && frame->config->d_mlp > 0 ? 2 : 1;
    ablation->n_place =
        ablation->n_site +
        (args->by == ATTN_ABLATE_BY_LAYER ? attn_config_n_part(frame->config) - 1 : 0);
    ablation->n_material = ablation->n_site;
    list_sides(ablation);
    for (size_t i = 0; i < ablation->n_side; i++) {
        struct material *m = ablation->sides[i].material;

        for (size_t k = 0; k < ablation->n_site; k++)
            m[k].site = sites[args->by][k];
        if (args->with == ATTN_ABLATE_WITH_UNIFORM)
            m[0].site = ATTN_SITE_QK;
        if (args->n_control > 0 && !is_of_heads(m[0].site)) {
            ablation->n_material = ablation->n_site + 1;
            m[ablation->n_site].site = ATTN_SITE_Z;
        }
        allocate_material(ablation, &ablation->sides[i]);
    }
    return attn_frame_memory(&ablation->frame, err);
}

/* Returns the rows [n_row, width] of HEAD of LAYER. */
static float *rows_of(const struct side *side, const struct material *material, size_t layer,
                      size_t head)
{
    return material->rows + (layer * material->n_head + head) * side->n_row * material->width;
}

static double *sums_of(const struct material *material, size_t layer, size_t head)
{
    return material->sums + (layer * material->n_head + head) * material->width;
}

/* Adds rows to the sums, or copies them (attn_trace_fn). */
static enum attn_status take_rows(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    struct side *side = user;
    const struct ablation *ablation = side->of;
    const size_t layer = (size_t)attn_location_block(&event->at), width = event->n_col;
    const size_t head = event->at.head == ATTN_ALL_HEADS ? 0 : (size_t)event->at.head;
    struct material *material = side->material;
    float *rows;
    double *sums;

    (void)err;
    while (material->site != event->at.site) /* only these sites are watched, so one matches */
        material++;
    rows = rows_of(side, material, layer, head);
    sums = sums_of(material, layer, head);
    if (layer == 0 && head == 0)
        material->n_row += event->n_row;
    for (size_t r = 0; r < event->n_row; r++) {
        const float *x = event->data + r * event->ld;

        if (!ablation->is_mean && event->row0 + r < side->n_row)
            memcpy(rows + (event->row0 + r) * width, x, width * sizeof *x);
        for (size_t k = 0; ablation->is_mean && k < width; k++)
            sums[k] += (double)x[k];
    }
    return ATTN_OK;
}

/* Reads the material of SIDE from RUN. */
static enum attn_status watch_side(struct side *side, const struct attn_run *run,
                                   struct attn_error *err)
{
    const struct ablation *ablation = side->of;
    struct attn_trace trace = {NULL, take_rows, side};
    struct attn_selection *selection;
    enum attn_status status;
    struct attn_site_set sites = {0};
    const bool is_of_encoder = side == &ablation->sides[OF_ENCODER];
    const struct attn_dims dims =
        is_of_encoder ? attn_config_dims(side->config, run->source.n) : (struct attn_dims){0};

    for (size_t i = 0; i < ablation->n_material; i++)
        attn_sites_add(&sites, side->material[i].site);
    ATTN_TRY(attn_selection_create(is_of_encoder ? &dims : attn_selection_dims(run->selection),
                                   &selection, err));
    trace.selection = selection;
    status = attn_selection_set_sites(selection, sites, err);
    if (status == ATTN_OK)
        status = is_of_encoder ? attn_trial_watch_encoder(run, &trace, err)
                               : attn_trial_watch(run, &trace, 0, err);
    attn_selection_free(selection);
    return status;
}

static enum attn_status watch(struct ablation *ablation, const struct attn_run *run,
                              struct attn_error *err)
{
    for (size_t i = 0; i < ablation->n_side; i++)
        ATTN_TRY(watch_side(&ablation->sides[i], run, err));
    return ATTN_OK;
}

/* Reads the material from reference I. *is_short: it has too few rows and is skipped. */
static enum attn_status watch_reference(struct ablation *ablation, size_t i, bool *is_short,
                                        struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    struct attn_run *run;
    enum attn_status status = ATTN_OK;

    frame->request.input = ablation->args->references[i];
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &run, err));
    *is_short = ablation->is_of_others && run->text.n < frame->run->text.n;
    if (!*is_short)
        status = watch(ablation, run, err);
    attn_run_free(run);
    return status;
}

/* Copies the sums over all references from the materials to `found`; if IS_BACK, from `found` to
 * the materials. */
static enum attn_status copy_sums(const struct ablation *ablation, bool is_back,
                                  struct attn_error *err)
{
    struct found *found = ((const struct plan *)ablation->frame.plan)->found;

    for (size_t i = 0; i < ablation->n_material; i++) {
        const struct material *m = &ablation->sides[OF_TEXT].material[i];
        const size_t n = ablation->frame.config->n_layer * m->n_head * m->width;

        if (!is_back && !found->sums[i])
            ATTN_TRY(ATTN_ALLOC(found->sums[i], n, err));
        memcpy(is_back ? m->sums : found->sums[i], is_back ? found->sums[i] : m->sums,
               n * sizeof *m->sums);
    }
    return ATTN_OK;
}

/* Computes the sums over all references, which are the same for all items without a source. */
static enum attn_status sum_references(struct ablation *ablation, struct attn_error *err)
{
    const struct plan *plan = ablation->frame.plan;
    const struct attn_request *request = &ablation->frame.request;
    const bool has_own_places = /* positions in the references' edits depend on the item */
        request->reading.places && attn_edits_name_positions(&request->edits);
    struct found *found =
        ablation->frame.run->source.n == 0 && !has_own_places ? plan->found : NULL;
    enum attn_status status = ATTN_OK;
    bool is_short;

    if (found)
        attn_monitor_enter(found->monitor);
    if (found && found->is_whole) {
        status = copy_sums(ablation, true, err);
        for (size_t i = 0; i < ablation->n_material; i++)
            ablation->sides[OF_TEXT].material[i].n_row = found->n_row[i];
    } else {
        for (size_t i = 0; status == ATTN_OK && i < ablation->args->n_reference; i++)
            status = watch_reference(ablation, i, &is_short, err);
        if (status == ATTN_OK && found)
            status = copy_sums(ablation, false, err);
        for (size_t i = 0; found && i < ablation->n_material; i++)
            found->n_row[i] = ablation->sides[OF_TEXT].material[i].n_row;
        if (found)
            found->is_whole = status == ATTN_OK;
    }
    if (found)
        attn_monitor_leave(found->monitor);
    if (status != ATTN_OK && ablation->frame.answer)
        ablation->frame.answer->is_general = true;
    return status;
}

/* Computes the rows of SIDE from its sums: their mean in each row. */
static void average(const struct ablation *ablation, const struct side *side)
{
    const size_t n = side->n_row;

    for (size_t i = 0; i < ablation->n_material; i++) {
        const struct material *m = &side->material[i];

        for (size_t at = 0; at < side->config->n_layer * m->n_head * n * m->width; at++) {
            const size_t column = at / (n * m->width) * m->width + at % m->width;

            m->rows[at] = (float)(m->sums[column] / (double)m->n_row);
        }
    }
}

/* Computes the rows of the materials: the mean over the references or over the text, repeated in
 * each row; or the rows of a randomly drawn reference. If that reference is too short, the next one
 * is used. */
static enum attn_status make_material(struct ablation *ablation, struct attn_error *err)
{
    const size_t n_reference = ablation->args->n_reference;
    bool is_short = true;

    if (ablation->is_of_others) {
        const double drawn = attn_random_double(&ablation->random) * (double)n_reference;

        for (size_t i = 0; is_short && i < n_reference; i++)
            ATTN_TRY(watch_reference(ablation, ((size_t)drawn + i) % n_reference, &is_short, err));
        if (!is_short)
            return ATTN_OK;
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "no text of the references has as many tokens as the text, %zu",
                           ablation->frame.run->text.n);
    }
    if (ablation->is_mean && n_reference == 0)
        ATTN_TRY(watch(ablation, ablation->frame.run, err));
    if (ablation->is_mean && n_reference > 0)
        ATTN_TRY(sum_references(ablation, err));
    for (size_t i = 0; ablation->is_mean && i < ablation->n_side; i++)
        average(ablation, &ablation->sides[i]);
    return ATTN_OK;
}

/* --- Sets of parts ---------------------------------------------------------------------------- */

/* Returns the edit that replaces the site of MATERIAL at AT, or one NEURON of it, by the rows of
 * MATERIAL. */
static struct attn_edit edit_of(const struct ablation *ablation, struct attn_location at,
                                int neuron, const struct material *material)
{
    const size_t head = material->site == ATTN_SITE_Z ? (size_t)at.head : 0;
    const bool is_neuron = material->site == ATTN_SITE_MLP_POST;
    const struct side *side = side_of(ablation, &at);
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    at.site = material->site;
    edit.op = ATTN_EDIT_ZERO;
    edit.at = at;
    if (material->site == ATTN_SITE_QK)
        attn_edit_make_uniform(side->config, &edit);
    if (!is_of_heads(material->site))
        edit.at.head = ATTN_ALL_HEADS;
    if (is_neuron) {
        edit.col0 = (size_t)neuron;
        edit.col1 = edit.col0 + 1;
    }
    if (!material->rows)
        return edit;
    edit.op = ATTN_EDIT_REPLACE;
    edit.row1 = side->n_row;
    edit.col1 = is_neuron ? edit.col1 : material->width;
    edit.ld = material->width;
    edit.data = rows_of(side, material, (size_t)attn_location_block(&at), head) + edit.col0;
    return edit;
}

/* Appends an edit for each head of SIDE that SET names to EDITS [*n]. */
static enum attn_status read_side(const struct side *side, const struct attn_ablate_set *set,
                                  struct attn_edit *edits, size_t *n, struct attn_error *err)
{
    struct attn_selection *listed;

    ATTN_TRY(attn_error_in(select_heads(side, set->heads, &listed, err), "sets", err));
    for (size_t k = 0; k < n_heads_of(side); k++) {
        const int block = (int)(k / side->dims->n_head), head = (int)(k % side->dims->n_head);

        if (has_head(side, listed, block, head))
            edits[(*n)++] =
                edit_of(side->of, attn_location_of_block(side->dims, ATTN_SITE_Z, block, head), -1,
                        side->material);
    }
    attn_selection_free(listed);
    return ATTN_OK;
}

/* Makes PART from set number I, and the edits of its heads. */
static enum attn_status read_set(struct ablation *ablation, size_t i, struct part *part,
                                 struct attn_error *err)
{
    const struct attn_ablate_set *set = &ablation->args->sets[i];
    struct attn_edit *edits = ablation->sets.edits + i * n_all_heads(ablation);

    *part = (struct part){.at = {.layer = ATTN_NO_LAYER, .head = ATTN_ALL_HEADS}, .neuron = -1};
    part->set = set->name ? set->name : set->heads;
    for (size_t k = 0; k < ablation->n_side; k++)
        ATTN_TRY(read_side(&ablation->sides[k], set, edits, &part->n_head, err));
    part->has_encoder = strstr(set->heads, "encoder:");
    ablation->sets.changes[i] = (struct attn_trial_change){edits, part->n_head};
    return ATTN_OK;
}

static enum attn_status try_sets(struct ablation *ablation, struct attn_error *err)
{
    for (size_t i = 0; i < ablation->n_part; i++) {
        const enum attn_status status = read_set(ablation, i, &ablation->parts[i], err);

        if (status != ATTN_OK && ablation->frame.answer)
            ablation->frame.answer->is_general = true;
        ATTN_TRY(attn_error_at(status, ATTN_STAGE_OPTIONS, err));
    }
    return attn_frame_try_sets(&ablation->frame, &ablation->sets, err);
}

/* Runs each part alone or, if IS_CUMULATIVE, the first 1, 2, ... parts together. */
static enum attn_status try_parts(struct ablation *ablation, bool is_cumulative,
                                  struct attn_error *err)
{
    const struct attn_sets *sets = &ablation->sets;
    const size_t n_place = ablation->n_place;

    for (size_t i = 0; i < sets->n * n_place; i++) { /* the edits of a set are adjacent */
        const struct part *part = &ablation->parts[i / n_place];
        const struct side *side = side_of(ablation, &part->at);
        /* the attention to the source comes last; an encoder repeats the edit of its attention */
        const bool is_last = i % n_place >= ablation->n_site;
        const struct material *material = &side->material[is_last ? 0 : i % n_place];
        struct attn_location at = part->at;

        at.stack = is_last && at.stack == ATTN_STACK_DECODER ? ATTN_STACK_CROSS : at.stack;
        at.site = material->site;
        if (attn_site_is_lacking(side->dims, material->site, attn_location_block(&at)))
            material = side->material; /* no MLP: repeats the edit of its attention */
        sets->edits[i] = edit_of(ablation, at, part->neuron, material);
    }
    for (size_t i = 0; i < sets->n; i++)
        sets->changes[i] = (struct attn_trial_change){
            sets->edits + (is_cumulative ? 0 : i * n_place), (is_cumulative ? i + 1 : 1) * n_place};
    return attn_frame_try_sets(&ablation->frame, sets, err);
}

static int by_change(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = attn_compare_numbers(fabs(x->change), fabs(y->change));

    if (order != 0)
        return order;
    order = attn_location_compare(&x->at, &y->at);
    return order != 0 ? order : (x->neuron > y->neuron) - (x->neuron < y->neuron);
}

/* Sorts the parts by the change that each makes alone, the smallest first. */
static enum attn_status sort_parts(struct ablation *ablation, struct attn_error *err)
{
    const struct order *order = &((const struct plan *)ablation->frame.plan)->order;

    if (order->n_part == ablation->n_part) {
        memcpy(ablation->parts, order->parts, order->n_part * sizeof *order->parts);
        return ATTN_OK;
    }
    ATTN_TRY(try_parts(ablation, false, err));
    for (size_t i = 0; i < ablation->n_part; i++)
        ablation->parts[i].change =
            ablation->sets.outcomes[i].reply.value - ablation->frame.trials.base.value;
    qsort(ablation->parts, ablation->n_part, sizeof *ablation->parts, by_change);
    return ATTN_OK;
}

/* --- Controls --------------------------------------------------------------------------------- */

/* Mean and standard deviation of the change by random choices, and the choices [n], borrowed. */
struct control {
    double mean, sd;
    const double *changes;
    size_t n;
};

/* Computes mean and standard deviation of the CHANGES [n] by random choices. */
static struct control sum_control(const double *changes, size_t n)
{
    struct attn_moments moments = {.n = 0};

    for (size_t i = 0; i < n; i++)
        attn_moments_add(&moments, changes[i]);
    return (struct control){moments.mean, n > 1 ? attn_moments_sd(&moments) : 0, changes, n};
}

/* Fills the cells of ROW, which has its change, for CONTROL. */
static void fill_control(const struct control *control, struct attn_cell *row)
{
    row[CONTROL] = attn_cell_real(control->mean);
    row[CONTROL_SD] = attn_cell_real(control->sd);
    row[CONTROL_RANK] =
        attn_cell_real(attn_rank_share(control->changes, control->n, row[CHANGE].real));
}

/* The heads among which a control draws, counted over the heads of the text's model, then those of
 * its encoder. */
struct drawn_heads {
    size_t first, n;
};

/* Returns the heads that are drawn for PART: those of its side; with IS_OF_ALL those of both. */
static struct drawn_heads heads_for(const struct ablation *ablation, const struct part *part,
                                    bool is_of_all)
{
    const size_t n = n_heads_of(&ablation->sides[OF_TEXT]), n_all = n_all_heads(ablation);

    if (is_of_all)
        return (struct drawn_heads){0, n_all};
    return part->at.stack == ATTN_STACK_ENCODER ? (struct drawn_heads){n, n_all - n}
                                                : (struct drawn_heads){0, n};
}

/* Returns the edit of head number K. */
static struct attn_edit edit_of_head(const struct ablation *ablation, size_t k)
{
    const size_t n = n_heads_of(&ablation->sides[OF_TEXT]);
    const struct side *side = &ablation->sides[k < n ? OF_TEXT : OF_ENCODER];
    const struct material *material = side->material;
    const size_t number = k < n ? k : k - n;
    struct attn_location at;

    if (!is_of_heads(material->site))
        material += ablation->n_site;
    at = attn_location_of_block(side->dims, material->site, (int)(number / side->dims->n_head),
                                (int)(number % side->dims->n_head));
    return edit_of(ablation, at, -1, material);
}

/* Runs random choices of N_HEAD heads of DRAWN, and stores their CHANGES [n_control]. */
static enum attn_status try_control(struct ablation *ablation, struct drawn_heads drawn,
                                    size_t n_head, double *changes, struct attn_error *err)
{
    const struct attn_sets *sets = &ablation->controls;
    const size_t n = sets->n, *order = ablation->order;

    n_head = n_head < drawn.n ? n_head : drawn.n;
    for (size_t i = 0; i < n; i++) {
        struct attn_edit *edits = sets->edits + i * n_head;

        attn_random_permutation(&ablation->random, ablation->order, drawn.n);
        for (size_t k = 0; k < n_head; k++)
            edits[k] = edit_of_head(ablation, drawn.first + order[k]);
        sets->changes[i] = (struct attn_trial_change){edits, n_head};
    }
    ATTN_TRY(attn_frame_try_sets(&ablation->frame, sets, err));
    for (size_t i = 0; i < n; i++)
        changes[i] = sets->outcomes[i].reply.value - ablation->frame.trials.base.value;
    return ATTN_OK;
}

/* Runs the controls of all parts, and stores their CHANGES: n_control for each part, or n_control
 * for all if all parts share them. */
static enum attn_status try_controls(struct ablation *ablation, bool has_own_control,
                                     double *changes, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const size_t n = ablation->n_part, n_control = args->n_control;
    const size_t n_encoder =
        ablation->n_side > 1 && !has_own_control ? ablation->sides[OF_ENCODER].n_part : 0;

    for (size_t i = 0; i < n && n_control > 0 && has_own_control; i++) {
        const struct part *part = &ablation->parts[i];
        const bool is_of_all = ablation->n_side > 1 && (args->is_cumulative || part->has_encoder);
        const size_t n_head = args->n_set > 0
                                  ? part->n_head
                                  : (i + 1) * n_heads_of_part(ablation, &ablation->sides[OF_TEXT]);

        ATTN_TRY(try_control(ablation, heads_for(ablation, part, is_of_all), n_head,
                             changes + i * n_control, err));
    }
    if (n_control == 0 || has_own_control || n == 0)
        return ATTN_OK;
    /* parts of one side share a control; that of the text's model is drawn first */
    for (size_t side = 0; side < ablation->n_side; side++) {
        const size_t first = side == OF_TEXT ? n_encoder : 0;
        const size_t end = side == OF_TEXT ? n : n_encoder;
        double *own = changes + first * n_control;

        ATTN_TRY(try_control(ablation, heads_for(ablation, &ablation->parts[first], false),
                             n_heads_of_part(ablation, &ablation->sides[side]), own, err));
        for (size_t i = first + 1; i < end && ablation->n_side > 1; i++)
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
        const struct control control = sum_control(changes, n);

        fill_control(&control, rows + row * N_COLUMN);
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

    return args->n_set > 0 && is_zero ? "without each set of heads"
           : args->is_cumulative      ? "without this part and all before it"
           : is_zero                  ? zeros[args->by]
                                      : others[args->with];
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
    if (!args->is_cumulative)
        return;
    view->figure = ATTN_FIGURE_CURVE;
    view->traits = ATTN_VIEW_SEQUENCE;
}

static bool shows(const void *state, size_t column)
{
    const struct ablation *ablation = state;
    const struct attn_ablate_args *args = ablation->args;
    const bool is_of_neurons = args->by == ATTN_ABLATE_BY_NEURON;

    switch (column) {
    case SET:
        return args->n_set > 0;
    case LAYER:
        return args->n_set == 0;
    case HEAD:
        return args->n_set == 0 && !is_of_neurons;
    case NEURON:
        return is_of_neurons;
    case RIGHT:
        return attn_metric_has_right(args->answer.metric) &&
               (ablation->frame.item || args->has_right);
    default:
        return column < CONTROL || args->n_control > 0;
    }
}

/* Appends a row. PART NULL: the row of the base. CONTROL NULL: no control. */
static enum attn_status append(struct ablation *ablation, const struct part *part,
                               const struct attn_reply *reply, const struct control *control,
                               struct attn_error *err)
{
    const struct attn_reply *base = &ablation->frame.trials.base;
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(!part       ? "base"
                                  : part->set ? "set"
                                              : part_name(ablation->args->by)),
        [SET] = attn_cell_string(part ? part->set : NULL),
        [VALUE] = attn_cell_real(reply->value),
        [CHANGE] = attn_cell_real(reply->value - base->value),
        [KL] =
            attn_answer_has_p(&ablation->answer) ? attn_cell_real(reply->kl) : attn_cell_missing(),
        [SAME_TOP] = attn_answer_has_top(&ablation->answer)
                         ? attn_cell_boolean(reply->first == base->first)
                         : attn_cell_missing(),
        [RIGHT] = attn_reply_right(&ablation->answer, reply->right),
    };

    if (part && !part->set)
        attn_location_put(&part->at, &row[STACK]);
    if (part && part->at.head >= 0)
        row[HEAD] = attn_cell_integer(part->at.head);
    if (part && part->neuron >= 0)
        row[NEURON] = attn_cell_integer(part->neuron);
    if (control)
        fill_control(control, row);
    return attn_frame_append(&ablation->frame, row, err);
}

/* --- The experiment --------------------------------------------------------------------------- */

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_ablate_args *args = given;

    if (!attn_is_choice(args->by, ATTN_ABLATE_BY_NEURON + 1, "by", err) ||
        !attn_is_choice(args->with, ATTN_ABLATE_WITH_UNIFORM + 1, "with", err) ||
        (args->n_reference > 0 && !attn_is_given(args->references, "references", err)))
        return ATTN_INVALID;
    for (size_t i = 0; i < args->n_set; i++)
        if (!attn_is_given(args->sets && args->sets[i].heads, "sets", err) ||
            !attn_is_known(args->sets[i].later, "sets", err))
            return ATTN_INVALID;
    if (args->n_set > 0 && args->by != ATTN_ABLATE_BY_HEAD)
        return attn_error_set(err, ATTN_INVALID, "`sets` names heads, and `by` is '%s'",
                              part_name(args->by));
    return ATTN_OK;
}

static enum attn_status take_item(void *args, struct attn_request *request,
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
    ablation->heads = ablation->frame.request.selection.heads;
    attn_frame_choose_nothing(&ablation->frame.request);
    return check(ablation, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;
    struct attn_frame *frame = &ablation->frame;

    attn_random_seed(&ablation->random, ablation->args->seed);
    ATTN_TRY(attn_frame_find_answer(frame, &ablation->args->answer, &ablation->answer, err));
    ATTN_TRY(list_material(ablation, err));
    ATTN_TRY(attn_trials_start(frame->run, &ablation->answer,
                               ablation->sides[OF_TEXT].material[0].site, &frame->trials, err));
    ATTN_TRY(make_material(ablation, err));
    return list_parts(ablation, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;
    const struct attn_ablate_args *args = ablation->args;
    const size_t n = ablation->n_part, n_control = args->n_control;
    /* each row has its own controls; with an encoder each side has, and each row has a copy */
    const bool has_own_control = args->is_cumulative || args->n_set > 0;
    const size_t n_copy = has_own_control || ablation->n_side > 1 ? n : 1;
    const size_t n_drawn = has_own_control ? n : ablation->n_side;
    double *changes = attn_frame_alloc(&ablation->frame, n_copy, n_control * sizeof *changes);
    const struct attn_trial_outcome *outcomes = ablation->sets.outcomes;
    const enum attn_site site = ablation->sides[OF_TEXT].material[0].site;
    struct attn_trials *trials = &ablation->frame.trials;
    struct attn_ablate_sum *sum = ablation->frame.sum;

    ATTN_TRY(attn_frame_memory(&ablation->frame, err));
    /* number of runs: those so far; the parts, twice if is_cumulative tries each alone first; the
     * controls */
    trials->n_expected = trials->n_feed + (args->is_cumulative ? 2 * n : n) + n_drawn * n_control;
    if (args->is_cumulative)
        ATTN_TRY(sort_parts(ablation, err));
    ATTN_TRY(args->n_set > 0 ? try_sets(ablation, err)
                             : try_parts(ablation, args->is_cumulative, err));
    ATTN_TRY(append(ablation, NULL, &trials->base, NULL, err));
    ATTN_TRY(try_controls(ablation, has_own_control, changes, err));
    for (size_t i = 0; i < n; i++) {
        const struct control control =
            sum_control(changes + (n_copy > 1 ? i : 0) * n_control, n_control);

        ATTN_TRY(append(ablation, &ablation->parts[i], &outcomes[i].reply,
                        n_control > 0 ? &control : NULL, err));
    }
    attn_frame_report_base(&ablation->frame, &ablation->answer, &trials->base);
    ATTN_TRY(attn_frame_report_more(&ablation->frame, changes, n_copy * n_control, err));
    sum->n_row += outcomes[0].n_row;
    sum->n_feed += trials->n_feed;
    sum->sites = ablation->n_site > 1   ? "attn_out and mlp_out"
                 : site == ATTN_SITE_QK ? attn_site_name(ATTN_SITE_PATTERN)
                                        : attn_site_name(site);
    return ATTN_OK;
}

static enum attn_status perform(const struct attn_inquiry *inquiry, struct attn_error *err);

static const struct attn_experiment experiment = {
    .name = "ablate",
    .question = &attn_question_ablate,
    .columns = columns,
    .n_column = N_COLUMN,
    .views = views,
    .n_view = sizeof views / sizeof *views,
    .needs_output = true,
    .state_size = sizeof(struct ablation),
    .sum_size = sizeof(struct attn_ablate_sum),
    .study = offsetof(struct attn_ablate_args, study),
    .take_item = take_item,
    .derive = derive,
    .fits = fits,
    .check = check_args,
    .choose = choose,
    .prepare = prepare,
    .shows = shows,
    .draw = draw,
    .ask = ask,
    .perform = perform,
};

/* Reads the order of parts from TABLE, which has the mean change of each part alone. */
static enum attn_status take_order(const struct attn_table *table, struct order *order,
                                   struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    size_t layer, change = 0;

    order->n_part = n_row > 0 ? n_row - 1 : 0; /* without the row `base` */
    ATTN_TRY(ATTN_ALLOC(order->parts, order->n_part, err));
    if (order->n_part == 0)
        return ATTN_OK;
    layer = attn_table_find_role(table, ATTN_ROLE_LAYER);
    while (strcmp(attn_table_column(table, change)->name, "change") != 0)
        change++;
    for (size_t i = 0; i < order->n_part; i++) {
        const struct attn_cell index = attn_table_cell(table, i + 1, layer + 1);
        const bool is_neuron = attn_table_column(table, layer + 1)->role == ATTN_ROLE_NEURON;
        const int number = index.type == ATTN_VALUE_MISSING ? -1 : (int)index.integer;
        struct part *part = &order->parts[i];

        attn_location_read(table, i + 1, layer, &part->at);
        part->at.head = is_neuron ? ATTN_ALL_HEADS : number;
        part->neuron = is_neuron ? number : -1;
        part->change = attn_table_cell(table, i + 1, change).real;
    }
    qsort(order->parts, order->n_part, sizeof *order->parts, by_change);
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
    struct attn_experiment first = experiment;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table = NULL;
    const struct attn_inquiry inquiry = {host, &quiet, &each, &defaults, &table, &sum};
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
    status = attn_experiment_perform(&first, &inquiry, err);
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
    attn_free(plan->order.parts);
    if (!plan->found)
        return;
    for (size_t i = 0; i < MOST_SITES + 1; i++)
        attn_free(plan->found->sums[i]);
    attn_monitor_free(plan->found->monitor);
    attn_free(plan->found);
}

static enum attn_status perform(const struct attn_inquiry *inquiry, struct attn_error *err)
{
    struct attn_experiment asked = experiment;
    struct plan plan = {.found = NULL};
    enum attn_status status =
        make_plan(inquiry->host, inquiry->request, inquiry->given, &plan, err);

    asked.plan = &plan;
    if (status == ATTN_OK)
        status = attn_experiment_perform(&asked, inquiry, err);
    release_plan(&plan);
    return status;
}

enum attn_status attn_ablate(struct attn_host *host, const struct attn_request *request,
                             const struct attn_ablate_args *given, struct attn_table **table,
                             struct attn_ablate_sum *sum, struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;

    return perform(&(struct attn_inquiry){host, request, given, &args, table, sum}, err);
}
