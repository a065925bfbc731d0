/* patch.c - see patch.h. Exact patches and estimates share the pair of runs, the list of parts, and
 * the table. */
#include "circuit/patch.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "circuit/patch_internal.h"
#include "edits/edits.h"
#include "figures/table_grid.h"
#include "frame/questions_internal.h"
#include "gradient/backward.h"
#include "input/position.h"
#include "run/input_params.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

ATTN_DEFAULTS(attn_patch_sum, .size = sizeof(struct attn_patch_sum))

enum { SOURCE_ROW = 1, FIRST_PART = 2 }; /* rows of the table after the base */
enum { DEFAULT_MOST = 20 };              /* rows of neurons by default */

enum {
    PART,
    FROM,
    TO,
    STACK,
    LAYER,
    NEURON,
    HEAD,
    KV_HEAD,
    POSITION,
    PLACE,
    TOKEN,
    ESTIMATE,
    VALUE,
    CHANGE,
    EFFECT,
    RIGHT,
    CHECK,
    CONTROL,
    CONTROL_SD,
    CONTROL_RANK,
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_NEURONS = 2,
    SHOW_HEADS = 4,
    SHOW_KV_HEADS = 8,
    SHOW_POSITIONS = 16,
    SHOW_PLACES = 32,
    SHOW_ROWS = 64,
    SHOW_ESTIMATES = 128,
    SHOW_RIGHT = 512,
    SHOW_CONTROLS = 1024,
    SHOW_LAYERS = 2048,
    SHOW_PATHS = 4096
};

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("base source"),
    [FROM] = ATTN_COLUMN_WITH("from", TEXT, NAME, .shown = SHOW_PATHS),
    [TO] = ATTN_COLUMN_WITH("to", TEXT, NAME, .shown = SHOW_PATHS),
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = SHOW_LAYERS),
    [NEURON] = ATTN_COLUMN_OF(NEURON, "neuron", INTEGER, .shown = SHOW_NEURONS),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [KV_HEAD] = ATTN_COLUMN_OF(KV_HEAD, "kv_head", INTEGER, .shown = SHOW_KV_HEADS),
    [POSITION] = ATTN_COLUMN_OF(POSITION, "position", INTEGER, .shown = SHOW_POSITIONS),
    [PLACE] = ATTN_COLUMN_OF(POSITION, "positions", TEXT, .traits = ATTN_TRAIT_NAME,
                             .shown = SHOW_PLACES, .help = "name of the place, of `positions`"),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT, .shown = SHOW_ROWS),
    [ESTIMATE] =
        ATTN_COLUMN_REAL("estimate", 6, NULL, SIGNED,
                         .traits = ATTN_TRAIT_DERIVED | ATTN_TRAIT_RANKED | ATTN_TRAIT_RESTORED,
                         .shown = SHOW_ESTIMATES, .help = "estimate of effect by gradients"),
    [VALUE] = ATTN_COLUMN_QUANTITY("value", 6, NULL, SIGNED, "@"),
    [CHANGE] = ATTN_COLUMN_QUANTITY("change", 6, NULL, SIGNED, "change of @"),
    [EFFECT] =
        ATTN_COLUMN_QUANTITY("effect", 6, NULL, SIGNED, "share of the difference of both answers",
                             .traits = ATTN_TRAIT_DERIVED | ATTN_TRAIT_BOUNDED | ATTN_TRAIT_RANKED |
                                       ATTN_TRAIT_RESTORED),
    [RIGHT] = ATTN_COLUMN_RIGHT(SHOW_RIGHT),
    [CHECK] = ATTN_COLUMN(
        "check", TEXT, .shown = SHOW_ESTIMATES,
        .help = "top or random, if the part was patched after the estimate; else empty"),
    ATTN_COLUMNS_CONTROL(CONTROL, SHOW_CONTROLS),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* --- The question ----------------------------------------------------------------------------- */

static const int methods[] = {ATTN_PATCH_ATP, ATTN_PATCH_RELP, ATTN_PATCH_IG};

static const struct attn_param param_rows[] = {
    ATTN_PARAM(TEXT, "site", "SITE", struct attn_patch_args, site,
               "what is copied from the other run: resid_pre (default), resid_mid, resid_post, "
               "attn_out or mlp_out at one position, or q, k, v, z or pattern of one head; with "
               "`estimate` also mlp_post, one neuron at all positions, of which the 20 largest "
               "or `limit` are printed"),
    ATTN_PARAM_QUERIES(
        "copy only these positions of a head, numbers or words of the clean text; for "
        "k and v, in layers that attend to the source, of the source",
        .keys = "queries"),
    ATTN_PARAM_HEADS(
        "patch only these heads: 2.5,3.* or 0-3 of each layer; default: all; for k and v "
        "these are the heads of queries that read them"),
    ATTN_PARAM(CHOICE, "direction", NULL, struct attn_patch_args, direction,
               "restore: what the corrupted text gains from a copy of the clean run; noise: what "
               "the clean text loses by one of the corrupted run; auto (default): noise with "
               "`path`, as `attn-cli circuit`, else restore",
               .words = "auto|noise|restore"),
    ATTN_PARAM(
        TEXT, "path", "FROM:TO,...", struct attn_patch_args, path,
        "patch edges instead of parts: TO alone reads what FROM writes in the other run. FROM "
        "is input, a head 2.5, or 2.mlp; TO is the q of a head, 3.1.q, the k or v of a "
        "key head, 3.0.k, 3.mlp, or logits; * is any"),
    ATTN_PARAM(SWITCH, "norm", NULL, struct attn_patch_args, is_frozen,
               "at the end of a path: compute the norm of what is read (exact, default), or keep "
               "its scale of the run that is patched (frozen)",
               .words = "exact|frozen"),
    ATTN_PARAM(METHOD, "estimate", "atp|relp|ig[:N]", struct attn_patch_args, method,
               "estimate all effects by gradients, in about two runs: atp, attribution patching, "
               "where q, k and pattern make the softmax again, good for heads; relp, by the rules "
               "of RelP; ig[:N], the mean gradient at N points (5) between both texts, good for "
               "the residual stream",
               .words = "atp|relp|ig",
               .meant = "attribution_patching=atp|integrated_gradients=ig|relevance_patching=relp|"
                        "lrp=relp",
               .values = methods, .second = offsetof(struct attn_patch_args, n_point)),
    ATTN_PARAM(SEEDED, "verify", "K[:SEED]", struct attn_patch_args, n_verified,
               "patch the K parts with the largest estimates exactly, and K others drawn at "
               "random by SEED (0); default: 10, and 0 is none",
               .second = offsetof(struct attn_patch_args, seed)),
    ATTN_PARAM(SWITCH, "by", NULL, struct attn_patch_args, is_by_position,
               "of estimates for q, k, v, z and pattern: a row per head (default), or per head "
               "and position (query)",
               .words = "head|position"),
    ATTN_PARAM(COUNT, "limit", "N", struct attn_patch_args, n_most,
               "of estimates for mlp_post: print the N neurons with the largest estimates; "
               "default: 20",
               .least = 1, .traits = ATTN_PARAM_NO_OPTION),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Patching", param_rows);

static const struct attn_param control_rows[] = {
    ATTN_PARAM(SEEDED, "control", "N[:SEED]", struct attn_patch_args, n_control,
               "add the mean effect of N random choices of as many heads, and its standard "
               "deviation",
               .second = offsetof(struct attn_patch_args, seed), .least = 1,
               .media = ATTN_MEDIA_TABLES),
    ATTN_PARAM(SEED, "seed", "SEED", struct attn_patch_args, seed,
               "of the random choices of `control` and `verify`", .traits = ATTN_PARAM_NO_OPTION),
};

static const struct attn_param_list control_params = ATTN_PARAM_LIST("Control", control_rows);

#define OTHER(...) ATTN_PATCH_OTHER(struct attn_patch_args, __VA_ARGS__)

static const struct attn_param input_rows[] = {
    ATTN_PATCH_TEXTS(struct attn_patch_args, "the text whose answer is restored"),
    ATTN_PATCH_CLEAN(IDS, "types", "LIST", input.types, input.n_type,
                     "the token types of `clean_ids` and `corrupted_ids`, 0,0,1,1; by default 0"),
    OTHER(INPUT, "corrupted_source", "TEXT", corrupted_source, corrupted_source.n_text,
          "the source of the corrupted text; default: `source`. Both have equally many tokens",
          .keys = "corrupted_source"),
    ATTN_PARAM(INPUT, "corrupted_source_file", "FILE.npy", struct attn_patch_args, corrupted_source,
               NULL, .of = "corrupted-source", .prefix = "file:", .traits = ATTN_PARAM_NO_KEYWORD,
               .read = attn_input_read_source, .release = attn_input_release_rows),
    OTHER(IDS, "corrupted_source_ids", "LIST", corrupted_source.ids, corrupted_source.n_id, NULL,
          .of = "corrupted-source", .prefix = "ids:", .traits = ATTN_PARAM_NO_KEYWORD),
    OTHER(IMAGE, "corrupted_image", "FILE", corrupted, corrupted.image,
          "a picture, where `image` gives the clean one; it must have as many rows and columns of "
          "patches",
          .of = "corrupted", .prefix = "image:"),
    OTHER(PLACES, "positions", "NAME=SPEC", places, n_place,
          "places by their names, each of which is patched as a whole: a row for each",
          .keys = "pos", .traits = ATTN_PARAM_NO_OPTION),
};

static const struct attn_param_list input_params = {.heading = "Texts",
                                                    .items = input_rows,
                                                    .n = sizeof input_rows / sizeof *input_rows,
                                                    .is_input = true};

static const struct attn_param_part parts[] = {
    ATTN_QUESTION_ANSWER(struct attn_patch_args),
    {&params, 0},
    {&control_params, 0},
    {&input_params, 0},
};

static const char one_of[] = "@ and # are given, expected one of them";
static const char is_missing[] = "# is not given";
static const char of_pictures[] = "`image clean.png` `corrupted_image other.png`";
static const char both_ids[] = "@ is for `clean_ids` and `corrupted_ids`";

static const struct attn_param_rule rules[] = {
    {.given = "clean|corrupted|clean_ids|corrupted_ids|corrupted_image",
     .excludes = "items",
     .message = one_of},
    {.given = "types", .needs = "clean_ids", .message = both_ids},
    {.given = "types", .needs = "corrupted_ids", .message = both_ids},
    {.given = "image",
     .unless = "items|corrupted|corrupted_ids",
     .needs = "corrupted_image",
     .message = is_missing,
     .hint = of_pictures},
    {.given = "corrupted_image", .needs = "image", .message = is_missing, .hint = of_pictures},
    {.given = "verify|by", .needs = "estimate", .hint = "`estimate atp`"},
    {.given = "control", .excludes = "estimate|heads", .time = ATTN_PARAM_BOTH},
    {.given = "norm", .needs = "path", .hint = "`path 2.5:logits`", .time = ATTN_PARAM_BOTH},
    {.given = "path", .excludes = "site|queries|heads|estimate|control", .time = ATTN_PARAM_BOTH},
    {.given = "verify",
     .unless = "verify:0",
     .excludes = "items",
     .message = "@ patches parts of one pair, not of `items`"},
};

/* Whether gradients can answer what the arguments ask. */
static bool has_quicker(const struct attn_host *host, const struct attn_request *request,
                        const void *given)
{
    const struct attn_patch_args *args = given;
    const struct attn_model *model = attn_host_model(host);

    return args->method == ATTN_PATCH_EXACT && args->n_control == 0 && !args->path &&
           args->answer.metric != ATTN_ANSWER_KL && !(args->study && args->study->paired) &&
           !request->attention.layers &&
           !(request->attention.change && request->attention.change->parts != 0) &&
           attn_backward_check(model, attn_model_config(model)->attention, ATTN_BACKWARD_PLAIN,
                               NULL) == ATTN_OK;
}

static const struct attn_procedure procedure;

const struct attn_question attn_question_patch = {
    .name = "patch",
    .summary = "which part of the model carries the difference of two texts",
    .inputs = "clean|corrupted",
    .description =
        "Runs the corrupted text again and again, each time with another piece copied\n"
        "from the clean run, and prints how much of the clean answer that restores:\n"
        "effect is 1 for the whole difference. The first rows are the two runs without a\n"
        "copy. Over `items`, effect is the mean change divided by that of the other run;\n"
        "items of different lengths need `positions`, or a site with heads.\n"
        "\n"
        "The numbers say which parts carry the difference between these two texts. They\n"
        "do not say what else the answer needs: what both texts share has no effect, and\n"
        "pieces that only work together show nothing alone.\n"
        "\n"
        "With `path` one edge of the clean run is patched: the end of the path alone\n"
        "reads the other run's difference. `attn-cli circuit` estimates the effects of\n"
        "all edges. What parts between both ends would carry on is not in the number,\n"
        "so it is not that of path patching through all MLPs.\n"
        "\n"
        "With `estimate` gradients stand for the runs. An estimate is a straight line\n"
        "through the run that is patched; only rows with an effect were computed. Notes\n"
        "say how both agree there, and how many large effects the others may hide.\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_patch_args, .size = sizeof(struct attn_patch_args),
                       .n_verified = 10, .kept_bytes = ATTN_PART_SUMS_KEPT),
    .quicker = "`estimate atp` takes about two runs for all parts",
    .has_quicker = has_quicker,
    .procedure = &procedure,
};

/* --- Arguments -------------------------------------------------------------------------------- */

/* Checks that each of GIVEN [n] has a name and a place, and that names are unique. */
static enum attn_status check_places(const struct attn_item_place *given, size_t n,
                                     struct attn_error *err)
{
    ATTN_TRY(attn_places_check(&(struct attn_places){.items = given, .n = n}, err));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(given[i].name, given[k].name) == 0)
                return attn_error_set(err, ATTN_INVALID, "`places` has '%s' twice",
                                      attn_quote_string(given[i].name).text);
    return ATTN_OK;
}

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_patch_args *args = given;

    if (!attn_is_choice(args->method, ATTN_N_PATCH_METHOD, "method", err))
        return ATTN_INVALID;
    return check_places(args->places, args->n_place, err);
}

/* Parses the name of a site; NULL is the default. */
static enum attn_status read_site(const char *given, bool is_estimated, enum attn_site *site,
                                  struct attn_error *err)
{
    static const char list[] = "resid_pre, resid_mid, resid_post, attn_out, mlp_out, q, k, v, z";
    static const char after[] = ", where norms come after the sums normalized_resid_mid or "
                                "normalized_resid_post";
    static const enum attn_site sites[] = {ATTN_SITE_RESID_PRE,
                                           ATTN_SITE_RESID_MID,
                                           ATTN_SITE_RESID_POST,
                                           ATTN_SITE_ATTN_OUT,
                                           ATTN_SITE_MLP_OUT,
                                           ATTN_SITE_Q,
                                           ATTN_SITE_K,
                                           ATTN_SITE_V,
                                           ATTN_SITE_Z,
                                           ATTN_SITE_PATTERN,
                                           ATTN_SITE_NORMALIZED_RESID_MID,
                                           ATTN_SITE_NORMALIZED_RESID_POST,
                                           ATTN_SITE_MLP_POST};
    const size_t n = sizeof sites / sizeof *sites - (is_estimated ? 0 : 1);
    const char *name = given ? given : "resid_pre";

    for (size_t i = 0; i < n; i++)
        if (strcmp(attn_site_name(sites[i]), name) == 0) {
            *site = sites[i];
            return ATTN_OK;
        }
    if (strcmp(name, attn_site_name(ATTN_SITE_MLP_POST)) == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "neurons of 'mlp_post' are too many to patch each: they need "
                              "`estimate`");
    attn_error_set(err, ATTN_INVALID, "'%s' cannot be patched, expected one of %s%s%s",
                   attn_quote_string(name).text, list,
                   is_estimated ? ", pattern or mlp_post" : " or pattern", after);
    if (attn_text_has_word("mixing mixer_out mixer_z mixer_v decay beta", name, strlen(name)))
        attn_error_hint(err, "`attn-cli ablate` switches off heads of mixing");
    if (strchr(name, ','))
        attn_error_hint(err, "one site here: `site %s`", attn_quote(name, strcspn(name, ",")).text);
    return ATTN_INVALID;
}

/* Checks that the arguments fit the site. */
static enum attn_status check_site(const struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_patch_args *args = patch->args;
    const char *name = attn_site_name(patch->site);
    const bool is_of_neurons = patch->site == ATTN_SITE_MLP_POST;

    if (args->n_control > 0 && !patch->is_by_head)
        return attn_error_set(
            err, ATTN_INVALID,
            "controls are choices of as many heads, and '%s' is patched by position", name);
    if (attn_number_list_is_given(&patch->queries) && !patch->is_by_head)
        return attn_error_set(err, ATTN_INVALID, "queries need a site with heads; '%s' has none",
                              name);
    if (args->is_by_position && is_of_neurons)
        return attn_error_set(err, ATTN_INVALID,
                              "neurons of 'mlp_post' are estimated over all positions, not "
                              "`by position`");
    if (args->n_place > 0 && (patch->is_by_head || is_of_neurons) &&
        !attn_edits_name_positions(&patch->frame.request.edits)) { /* edits may use their names */
        attn_error_set(err, ATTN_INVALID, "`places` need a site without heads%s; '%s' is %s by %s",
                       patch->is_estimated ? " or neurons" : "", name,
                       patch->is_estimated ? "estimated" : "patched",
                       patch->is_by_head ? "head" : "neuron");
        if (patch->is_by_head)
            attn_error_hint(err, "`queries` takes some positions of each head");
        return ATTN_INVALID;
    }
    if (patch->is_estimated && args->study && args->study->paired)
        return attn_error_set(err, ATTN_INVALID,
                              "an estimate is a share of the mean difference of both texts, and "
                              "`paired` has none");
    return ATTN_OK;
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct attn_patching *patch = state;
    const struct attn_item *item = patch->frame.item;
    struct attn_request *request = &patch->frame.request;

    patch->args = patch->frame.args;
    patch->is_estimated = patch->args->method != ATTN_PATCH_EXACT;
    if (patch->args->path) {
        attn_question_choose_nothing(request);
        patch->site = ATTN_SITE_Q; /* the first that a path can change */
        patch->is_by_head = true;
        return ATTN_OK;
    }
    patch->queries = request->selection.queries;
    ATTN_TRY(attn_error_of(read_site(patch->args->site, patch->is_estimated, &patch->site, err),
                           "site", err));
    patch->is_by_head = attn_site_layout(patch->site) != ATTN_LAYOUT_VECTOR;
    patch->is_by_row = patch->is_by_head ? patch->is_estimated && patch->args->is_by_position
                                         : patch->site != ATTN_SITE_MLP_POST;
    ATTN_TRY(check_site(patch, err));
    if (item && patch->is_by_head)
        patch->queries = attn_number_list_or(item->queries, patch->queries);
    patch->heads = request->selection.heads;
    if (patch->heads && !patch->is_by_head) {
        attn_error_set(err, ATTN_INVALID, "`heads` need a site with heads; '%s' has none",
                       attn_site_name(patch->site));
        return attn_error_hint(err, "`site z` patches what heads write");
    }
    attn_question_choose_nothing(request);
    return ATTN_OK;
}

unsigned attn_patch_pairs(const void *args)
{
    (void)args;
    return ATTN_ITEM_BIT(CLEAN_CORRUPTED);
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_patch_args *given = args;

    (void)request;
    given->corrupted = item->other;
    if (attn_input_is_given(&item->corrupted_source))
        given->corrupted_source = item->corrupted_source;
    return attn_item_answer(item, &given->answer, err);
}

/* --- Effects ---------------------------------------------------------------------------------- */

/* Draws n_control times one of the EFFECTS [n]. */
static enum attn_status draw_controls(const struct attn_patch_args *args, const double *effects,
                                      size_t n, double *drawn, struct attn_error *err)
{
    struct attn_random random;
    size_t *order;

    ATTN_TRY(ATTN_ALLOC(order, n, err));
    attn_random_seed(&random, args->seed);
    for (size_t i = 0; i < args->n_control; i++) {
        attn_random_permutation(&random, order, n);
        drawn[i] = effects[order[0]];
    }
    attn_free(order);
    return ATTN_OK;
}

/* Computes the effects of exact patches from the means ROWS [n_row, N_COLUMN], and their
 * controls. */
static enum attn_status derive_effects(const struct attn_patch_args *args,
                                       const struct attn_fold_means *means, double whole,
                                       struct attn_error *err)
{
    const size_t n = means->n_row - FIRST_PART;
    struct attn_cell *rows = means->rows;
    double *effects, *drawn;
    enum attn_status status;

    for (size_t row = 0; row < means->n_row && whole != 0; row++)
        if (rows[row * N_COLUMN + CHANGE].type == ATTN_VALUE_REAL)
            rows[row * N_COLUMN + EFFECT] =
                attn_cell_real(rows[row * N_COLUMN + CHANGE].real / whole + 0.0);
    if (args->n_control == 0 || means->is_resample)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(effects, n + args->n_control, err));
    drawn = effects + n;
    for (size_t i = 0; i < n; i++)
        effects[i] = rows[(FIRST_PART + i) * N_COLUMN + EFFECT].real;
    status = draw_controls(args, effects, n, drawn, err);
    for (size_t i = 0; i < n && status == ATTN_OK; i++)
        attn_control_put(drawn, args->n_control, effects[i],
                         &rows[(FIRST_PART + i) * N_COLUMN + CONTROL]);
    attn_free(effects);
    return status;
}

/* Computes effects and estimates, which are ratios of means (attn_fold_derive_fn). They are left
 * out for paired differences, where a ratio is meaningless. For an estimate, the numbers beside the
 * rows are the sums of its parts, and last the difference of both runs. */
static enum attn_status derive(const void *given, const struct attn_fold_means *means,
                               struct attn_error *err)
{
    const struct attn_patch_args *args = given;
    const bool is_estimated = args->method != ATTN_PATCH_EXACT;
    double whole;

    if (means->is_paired || (is_estimated && means->n_more == 0))
        return ATTN_OK;
    whole = is_estimated ? means->more[means->n_more - 1]
                         : means->rows[SOURCE_ROW * N_COLUMN + CHANGE].real;
    if (!means->is_resample && fabs(whole) < ATTN_PATCH_SMALLEST_DIFFERENCE)
        return attn_error_set(err, ATTN_INVALID,
                              "the mean difference of clean and corrupted texts is %.3g: there is "
                              "no difference to restore",
                              whole);
    if (!is_estimated)
        return derive_effects(args, means, whole, err);
    means->rows[EFFECT] = attn_cell_real(0);
    means->rows[SOURCE_ROW * N_COLUMN + EFFECT] = attn_cell_real(1);
    for (size_t i = 0; i + 1 < means->n_more && i + FIRST_PART < means->n_row; i++)
        means->rows[(FIRST_PART + i) * N_COLUMN + ESTIMATE] =
            attn_cell_real(means->more[i] / whole + 0.0);
    return ATTN_OK;
}

/* Names the option whose results need more than rows. */
static const char *beyond_rows(const void *args)
{
    return ((const struct attn_patch_args *)args)->method != ATTN_PATCH_EXACT ? "an estimate"
                                                                              : NULL;
}

/* --- The table -------------------------------------------------------------------------------- */

/* One column per position, place, head or neuron. Parts with a head and a position have a row for
 * each head. */
static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(LAYER, POSITION, EFFECT), .detail = ATTN_ROLE_HEAD},
    {ATTN_VIEW_OF(LAYER, POSITION, EFFECT), .detail = ATTN_ROLE_KV_HEAD},
    {ATTN_VIEW_OF(LAYER, POSITION, EFFECT), .detail = ATTN_ROLE_NEURON},
    {ATTN_VIEW_OF(LAYER, POSITION, EFFECT), .traits = ATTN_VIEW_STREAM},
    {ATTN_VIEW_OF(LAYER, HEAD, EFFECT)},
    {ATTN_VIEW_OF(LAYER, KV_HEAD, EFFECT)},
    {ATTN_VIEW_OF(LAYER, NEURON, EFFECT), .figure = ATTN_FIGURE_GRID}, /* of all layers */
};

/* Describes the picture. Over items there is no single pair of texts, and tokens are shown only if
 * all items agree. */
static void draw(const void *given, struct attn_drawn *drawn)
{
    static const char *const quantities[2][2] = {
        {"share of @ restored", "share of @ lost"},
        {"estimated share of @ restored", "estimated share of @ lost"}};
    const struct attn_patch_args *args = given;
    const bool is_estimated = args->method != ATTN_PATCH_EXACT;
    struct attn_table_view *view = &drawn->picture->view;
    const size_t column =
        drawn->table ? attn_table_view_find(drawn->table, view->columns) : SIZE_MAX;

    attn_drawn_ask(drawn, "by%s %s of each %s%s", is_estimated ? " patching" : "",
                   args->site ? args->site : "resid_pre", view->detail > 0 ? "head and " : "",
                   column < SIZE_MAX ? attn_table_column(drawn->table, column)->name : "place");
    view->quantity = quantities[is_estimated][attn_patch_is_to_noise(args)];
    if (is_estimated)
        view->values = ATTN_TABLE_COLUMN(ESTIMATE);
    else if (args->n_place == 0 && (args->corrupted.image || args->corrupted.pixels))
        view->figure = ATTN_FIGURE_PATCHES; /* a position of a picture is a patch */
    if (!args->study)
        attn_drawn_name_pair(drawn, "clean", "corrupted", &args->corrupted);
    else if (args->n_place == 0)
        view->texts = ATTN_ROLE_TOKEN;
}

static uint64_t shows(const void *state)
{
    const struct attn_patching *patch = state;
    const struct attn_item *item = patch->frame.item;
    const bool has_places = patch->args->n_place > 0 || (item && item->n_place > 0);
    const bool is_of_keys = attn_site_layout(patch->site) == ATTN_LAYOUT_KEY;
    const bool has_right = attn_metric_has_right(patch->args->answer.metric);
    const bool is_of_paths = patch->args->path;

    return (is_of_paths ? SHOW_PATHS : SHOW_LAYERS) |
           (patch->site == ATTN_SITE_MLP_POST ? SHOW_NEURONS : 0) |
           (!patch->is_by_head || is_of_paths ? 0
            : is_of_keys                      ? SHOW_KV_HEADS
                                              : SHOW_HEADS) |
           (!patch->is_by_row                  ? 0
            : has_places && !patch->is_by_head ? SHOW_ROWS | SHOW_PLACES
                                               : SHOW_ROWS | SHOW_POSITIONS) |
           (patch->is_estimated ? SHOW_ESTIMATES
            : item && has_right ? SHOW_RIGHT
                                : 0) |
           (patch->args->n_control > 0 ? SHOW_CONTROLS : 0);
}

/* Fills the cells of ROW for a patched run with VALUE and EFFECT. */
static void fill_effect(const struct attn_patching *patch, double value, double effect,
                        double right, struct attn_cell *row)
{
    row[RIGHT] = attn_reply_right(&patch->answer, right);
    row[VALUE] = attn_cell_real(value);
    row[CHANGE] = attn_cell_real(value - patch->base_reply.value);
    if (patch->can_restore || patch->is_estimated)
        row[EFFECT] = attn_cell_real(effect);
}

static enum attn_status append_run(struct attn_patching *patch, const char *name,
                                   const struct attn_reply *reply, struct attn_error *err)
{
    struct attn_cell row[N_COLUMN] = {[PART] = attn_cell_string(name)};
    const double effect =
        patch->is_estimated ? reply == &patch->source_reply : attn_patch_share(patch, reply->value);

    fill_effect(patch, reply->value, effect, reply->right, row);
    return attn_frame_append(&patch->frame, row, err);
}

/* Appends the row of PART. DRAWN [n_control] are the effects of controls. */
static enum attn_status append_part(struct attn_patching *patch, const struct attn_patch_part *part,
                                    const double *drawn, struct attn_error *err)
{
    static const char *const names[] = {[ATTN_PART_TOP] = "top", [ATTN_PART_RANDOM] = "random"};
    const struct attn_cell unit = attn_cell_integer((int64_t)attn_patch_unit(part));
    char from[ATTN_WIRE_NODE_NAME_SIZE], to[ATTN_WIRE_NODE_NAME_SIZE];
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(attn_site_name(patch->site)),
        [NEURON] = unit,
        [HEAD] = unit,
        [KV_HEAD] = unit,
        /* an item whose runs do not differ still counts in the means */
        [ESTIMATE] = attn_cell_real(patch->can_restore ? part->estimate : (double)NAN)};

    attn_location_put(&part->of.at, &row[STACK]);
    if (patch->args->path) {
        attn_wire_node_name(&patch->edges.writers[part->from], from);
        attn_wire_node_name(&patch->edges.readers[part->to], to);
        row[PART] = attn_cell_string("path");
        row[FROM] = attn_cell_string(from);
        row[TO] = attn_cell_string(to);
    }
    if (patch->places.n > 0) {
        row[PLACE] = attn_cell_string(patch->places.list[part->of.row].name);
    } else if (patch->is_by_row) {
        row[POSITION] = attn_cell_integer((int64_t)part->of.row);
        row[TOKEN] = attn_asked_token(patch->base, part->of.row);
    }
    if (part->has_effect)
        fill_effect(patch, part->value, part->effect, part->right, row);
    if (patch->args->n_control > 0 && patch->can_restore)
        attn_control_put(drawn, patch->args->n_control, part->effect, &row[CONTROL]);
    if (part->trial >= ATTN_PART_TOP)
        row[CHECK] = attn_cell_string(names[part->trial]);
    return attn_frame_append(&patch->frame, row, err);
}

/* Appends the rows of both runs and of all parts; for neurons of a single text only the largest
 * estimates, then the randomly drawn ones. */
static enum attn_status append_rows(struct attn_patching *patch, struct attn_error *err)
{
    const size_t n_most = patch->args->n_most > 0 ? patch->args->n_most : (size_t)DEFAULT_MOST;
    const bool is_ranked = attn_patch_shows_largest(patch);
    const size_t n_first = n_most > patch->estimates.n_top ? n_most : patch->estimates.n_top;
    const size_t n = patch->n_part, n_control = patch->can_restore ? patch->args->n_control : 0;
    double *effects = attn_frame_alloc(&patch->frame, n, sizeof *effects);
    double *drawn = attn_frame_alloc(&patch->frame, n_control, sizeof *drawn);

    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    for (size_t i = 0; i < n; i++)
        effects[i] = patch->parts[i].effect;
    if (n_control > 0)
        ATTN_TRY(draw_controls(patch->args, effects, n, drawn, err));
    if (!is_ranked)
        ATTN_TRY(attn_table_reserve(patch->frame.rows.table, FIRST_PART + n, err));
    ATTN_TRY(append_run(patch, "base", &patch->base_reply, err));
    ATTN_TRY(append_run(patch, "source", &patch->source_reply, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_patch_part *part =
            &patch->parts[is_ranked ? patch->estimates.order[i] : i];

        if (!is_ranked || i < n_first || part->trial == ATTN_PART_RANDOM)
            ATTN_TRY(append_part(patch, part, drawn, err));
    }
    return ATTN_OK;
}

/* --- The procedure ---------------------------------------------------------------------------- */

/* Returns an error if the input is an item and its table, which will have N_ROW rows, cannot be
 * averaged with that of the first item. Call it before long computations. */
static enum attn_status expect(const struct attn_frame *frame, size_t n_row, struct attn_error *err)
{
    return frame->fold
               ? attn_error_at(attn_fold_check_size(frame->fold, frame->item, frame->answer, n_row,
                                                    attn_table_n_column(frame->rows.table), err),
                               ATTN_STAGE_INPUT, err)
               : ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_patching *patch = state;
    struct attn_patch_sum *sum = patch->frame.sum;
    const bool is_to_noise = attn_patch_is_to_noise(patch->args);

    if (patch->args->path) {
        ATTN_TRY(attn_patch_try_paths(patch, err));
    } else {
        ATTN_TRY(attn_patch_list_parts(patch, err));
        ATTN_TRY(expect(&patch->frame, FIRST_PART + patch->n_part, err));
    }
    if (!patch->args->path && patch->is_estimated) {
        ATTN_TRY(attn_patch_find_estimates(patch, err));
        ATTN_TRY(attn_patch_choose_checks(patch, err));
    }
    if (!patch->args->path && (!patch->is_estimated || patch->estimates.n_top > 0))
        ATTN_TRY(attn_patch_try(patch, err));
    sum->clean = (is_to_noise ? &patch->base_reply : &patch->source_reply)->value;
    sum->corrupted = (is_to_noise ? &patch->source_reply : &patch->base_reply)->value;
    sum->n_part = patch->n_part;
    sum->n_feed =
        patch->frame.trials.n_feed + (patch->is_estimated ? patch->estimates.sums.n_feed : 1);
    ATTN_TRY(attn_patch_compare(patch, err));
    ATTN_TRY(append_rows(patch, err));
    attn_patch_report_base(patch);
    return patch->is_estimated && !patch->frame.item ? attn_patch_report(patch, err) : ATTN_OK;
}

static void release(void *state)
{
    struct attn_patching *patch = state;

    attn_free(patch->estimates.sums.values);
    attn_free(patch->estimates.sums.encoder);
    attn_wiring_release(&patch->edges);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct attn_patching *patch = state;

    if (patch->args->path)
        ATTN_TRY(attn_patch_list_paths(patch, err));
    return attn_patch_prepare(patch, err);
}

/* Sends a note about the first row of TABLE whose difference of both runs is within two standard
 * errors of 0, because effects are divided by that difference. The note ends with HINT. */
static void note_no_difference(const struct attn_table *table, const struct attn_request *request,
                               const char *hint)
{
    const size_t change = attn_table_find(table, columns[CHANGE].name);
    const size_t se = attn_table_find_spread(table, change, ATTN_TRAIT_SE);

    if (!request->on_note || se == SIZE_MAX ||
        attn_table_find(table, columns[EFFECT].name) == SIZE_MAX)
        return;
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct attn_cell of = attn_table_cell(table, row, change);
        const struct attn_cell error = attn_table_cell(table, row, se);

        if (attn_table_total(table, row) != 1 /* source */ || error.type != ATTN_VALUE_REAL ||
            fabs(of.real) >= 2 * error.real)
            continue;
        attn_note(request->on_note, request->user, ATTN_NOTE_NO_DIFFERENCE,
                  "the mean difference of clean and corrupted texts is %.3g, its standard error "
                  "%.2g: effects divide by what may be 0%s",
                  of.real, error.real, hint);
        return;
    }
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    const struct attn_patch_args *args = call->args;
    struct attn_procedure asked = procedure;
    struct attn_column estimated[N_COLUMN];

    (void)attn_options_read(call->given, call->args, NULL); /* the caller reports a failure */
    if (args->method != ATTN_PATCH_EXACT) {
        memcpy(estimated, columns, sizeof columns);
        estimated[VALUE].traits = estimated[CHANGE].traits = ATTN_TRAIT_UNFILLED;
        estimated[CHECK].traits = ATTN_TRAIT_UNFILLED;
        estimated[EFFECT].traits = ATTN_TRAIT_DERIVED | ATTN_TRAIT_UNFILLED;
        asked.table.columns = estimated;
    }
    ATTN_TRY(attn_procedure_perform(&asked, call, err));
    if (args->study && !args->study->paired)
        note_no_difference(*call->table, call->request,
                           args->study->n_bootstrap > 0 || args->method != ATTN_PATCH_EXACT
                               ? ""
                               : "; `bootstrap 1000` gives their intervals");
    return ATTN_OK;
}

static const struct attn_procedure procedure = {
    ATTN_PATCH_PROCEDURE,
    .table.name = ATTN_TABLE_PATCH,
    .reads_unequal_layers = true,
    .state_size = sizeof(struct attn_patching),
    .sum_size = sizeof(struct attn_patch_sum),
    .items.study = offsetof(struct attn_patch_args, study),
    .question = &attn_question_patch,
    .items.hint = "texts of different lengths need `places`, or a site with a row per head",
    .release = release,
};

ATTN_ASKS_WITH_SUM(patch)
