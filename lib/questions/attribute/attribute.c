/* attribute.c - the question of attribute.h, whose methods are in attribute_*.c, and what they
 * share. */
#include "attribute/attribute_internal.h"

#include "base/text/given.h"
#include "frame/questions_internal.h"

static const int methods[] = {ATTN_ATTRIBUTE_DLA,          ATTN_ATTRIBUTE_SALIENCY,
                              ATTN_ATTRIBUTE_GRAD_X_INPUT, ATTN_ATTRIBUTE_IG,
                              ATTN_ATTRIBUTE_ATTNLRP,      ATTN_ATTRIBUTE_RELP,
                              ATTN_ATTRIBUTE_RELEVANCE,    ATTN_ATTRIBUTE_RELEVANCE_NORM,
                              ATTN_ATTRIBUTE_ATTN_X_GRAD,  ATTN_ATTRIBUTE_CAUSES};

static const int baselines[] = {ATTN_BASELINE_AUTO, ATTN_BASELINE_MASK, ATTN_BASELINE_PAD,
                                ATTN_BASELINE_MEAN, ATTN_BASELINE_ZERO, ATTN_BASELINE_GREY};

static const struct attn_param param_rows[] = {
    ATTN_PARAM(CHOICE, "by", NULL, struct attn_attribute_args, by,
               "part (default): one row per part of the model. token: one row per head and "
               "key that it read from, those with the 20 largest magnitudes, or as `sort` and "
               "`limit` have it. With `score`: pair (default), one row per writer of the query "
               "and writer of the key; query or key, one row per writer of that side, with the "
               "sum over the other. cell, with `method` grad_x_input, saliency or ig: one row per "
               "cell of the picture beside the text, which the decoder reads, and sums over tiles, "
               "picture and text; for ig from the mean of all cells. pixel, with grad_x_input: the "
               "same of pixels, whose shares are added up over each cell",
               .words = "part|token|pair|query|key|cell|pixel"),
    ATTN_PARAM(TEXT, "score", "QUERY>KEY@LAYER.HEAD", struct attn_attribute_args, score.text,
               "instead of a logit, split the score that this head at QUERY gives to KEY, before "
               "the softmax and a soft cap, into pairs of writers: a part of the model that wrote "
               "the query, and one that wrote the key. Positions or words; of several, the mean "
               "over the cells. relative is the score less its mean over all keys that the query "
               "sees: the softmax does not see what all keys share, so read relative. The 20 rows "
               "with the largest relative, or as `sort` and `limit` have it"),
    ATTN_PARAM(METHOD, "method", "METHOD", struct attn_attribute_args, method,
               "dla (default): the parts that write a logit. For tokens of the text, by "
               "gradients of `metric`: saliency, the length of the gradient of the token's "
               "embedding; grad_x_input, their product; ig[:N], integrated gradients, from "
               "`baseline` to the text in N points (50); attnlrp and relp, the product by the "
               "rules of AttnLRP and RelP; relevance, attention times its gradient, followed "
               "through the layers, and relevance_norm, the same with each row divided by its sum. "
               "For cells of patterns: attn_x_grad, attention times its gradient, the 20 largest "
               "or `limit`, with an estimate of what knocking each out changes; causes, the 12 "
               "largest of these with at most as many MLPs at positions whose output times its "
               "gradient is as large",
               .words = "dla|saliency|grad_x_input|ig|attnlrp|relp|relevance|relevance_norm|"
                        "attn_x_grad|causes",
               .values = methods,
               .meant = "integrated_gradients=ig|input_x_gradient=grad_x_input|"
                        "gradient_x_input=grad_x_input|lrp=attnlrp|gradient=saliency|"
                        "grad=saliency|direct_logit_attribution=dla|"
                        "attention_x_gradient=attn_x_grad|pattern_x_grad=attn_x_grad|"
                        "chefer=relevance",
               .second = offsetof(struct attn_attribute_args, n_point)),
    ATTN_PARAM(CHOICE, "baseline", NULL, struct attn_attribute_args, baseline,
               "for ig: auto (default) is mask for encoders of texts with a mask token, grey for "
               "pictures, else mean. mask, pad: the embedding of this token at every position; "
               "mean: the mean embedding of the vocabulary; grey: every pixel 0 after "
               "normalization; zero: zeros. Without learned positions all that counts then lies "
               "close to them",
               .words = "auto|mask|pad|mean|zero|grey", .values = baselines),
    ATTN_PARAM(INPUT, "baseline_text", "TEXT", struct attn_attribute_args, given,
               "for ig: another text of as many tokens", .of = "baseline",
               .prefix = "text:", .second = offsetof(struct attn_attribute_args, given.n_text)),
    ATTN_PARAM(IDS, "baseline_ids", "LIST", struct attn_attribute_args, given.ids, NULL,
               .of = "baseline",
               .prefix = "ids:", .second = offsetof(struct attn_attribute_args, given.n_id),
               .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM(IMAGE, "baseline_image", "FILE", struct attn_attribute_args, given,
               "for ig: another picture with as many patches", .of = "baseline",
               .prefix = "image:", .second = offsetof(struct attn_attribute_args, given.image)),
    ATTN_PARAM(LIST, "baseline_keep", "LIST|none", struct attn_attribute_args, baseline_keep,
               "for ig: positions or words that keep their embedding in the baseline. Default: the "
               "tokens that the tokenizer of an encoder added, like [CLS]",
               .second = offsetof(struct attn_attribute_args, baseline_keep.n)),
    ATTN_PARAM(FLAG, "merge_words", NULL, struct attn_attribute_args, merges_words,
               "for tokens: print one row per word, with the sum over its tokens"),
    ATTN_PARAM_KEPT(COUNT, "generated", "N",
                    "for tokens: instead of `target`, attribute each of the N most probable tokens "
                    "that follow the text to all tokens before it",
                    .least = 1, .most = INT32_MAX),
    ATTN_PARAM_KEPT(TEXT, "continuation", "TEXT",
                    "the same for the tokens of TEXT, after the text; over items their ce",
                    .keys = "continuation"),
    ATTN_PARAM(
        COUNT, "limit", "N", struct attn_attribute_args, n_most,
        "of `by token` and of cells: return the N rows with the largest magnitudes; default: "
        "20, of causes 12",
        .least = 1, .traits = ATTN_PARAM_NO_OPTION),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Attribution", param_rows);

static const struct attn_param_part param_parts[] = {
    ATTN_QUESTION_ANSWER(struct attn_attribute_args),
    {&params, 0},
};

#define OF_ANSWERS                                                                                 \
    "method|target|target_id|foil|foil_id|at|metric|generated|continuation|merge_words|baseline|"  \
    "baseline_text|baseline_ids|baseline_image|baseline_keep"

static const struct attn_param_rule rules[] = {
    {.given = OF_ANSWERS,
     .when = "score",
     .excludes = "score",
     .message = "@ and `score` do not go together: a score is no answer of the model",
     .time = ATTN_PARAM_BOTH},
    {.given = "by:pair|by:query|by:key",
     .needs = "score",
     .message = "@ pair, query and key are of `score`",
     .time = ATTN_PARAM_GIVEN},
    {.given = "by:part|by:token|by:cell|by:pixel",
     .excludes = "score",
     .message = "@ part, token, cell and pixel are of a logit, expected `by` pair, query or key "
                "with `score`",
     .time = ATTN_PARAM_GIVEN},
    {.given = "generated|continuation|merge_words|baseline|baseline_text|baseline_ids|"
              "baseline_image|baseline_keep|metric",
     .needs = "method",
     .message = "@ needs a `method` other than dla",
     .hint = "`method ig`"},
    {.given = "by",
     .unless = "by:cell|by:pixel",
     .excludes = "method",
     .message = "@ and `method` do not go together: `by` is of dla",
     .time = ATTN_PARAM_GIVEN},
    {.given = "baseline|baseline_text|baseline_ids",
     .excludes = "baseline_image",
     .message = "a baseline is given twice"},
    {.given = "baseline|baseline_text|baseline_ids|baseline_image|baseline_keep",
     .needs = "method:ig",
     .message = "@ is for `method ig`"},
    {.given = "generated",
     .excludes = "continuation",
     .message = "`generated` and `continuation` are given, expected one of them"},
    {.given = "generated|continuation",
     .excludes = "target|target_id|at",
     .message = "@ has its own targets, and takes no `target` and `at`"},
    {.given = "generated",
     .excludes = "items",
     .message = "@ and `items` do not go together: each item has its own tokens",
     .hint = "attribute each text alone"},
    {.given = "merge_words",
     .excludes = "method:attn_x_grad",
     .message = "@ is for tokens, and attn_x_grad has cells"},
    {.given = "merge_words",
     .excludes = "method:causes",
     .message = "@ is for tokens, and causes has cells"},
};

static const struct attn_procedure *choose_procedure(const void *given);

const struct attn_question attn_question_attribute = {
    .name = "attribute",
    .lacks = "continuation", /* it has one of its own */
    .summary = "how much each part of the model adds to a logit",
    .description =
        "Splits the logit of `target` (minus that of `foil`), a token after TEXT or a\n"
        "label, into what embedding, positions, heads, biases and MLPs add to it. The\n"
        "final norm divides by a number that depends on all parts: this number is kept as\n"
        "it is in the run, so that the parts add up. The row 'sum' is their sum, the row\n"
        "'model' the logit that the model computes.\n"
        "\n"
        "The numbers say which parts write the answer directly; of two logits not which\n"
        "one they move, so ask without `foil`, too. Nor do they say which part found it:\n"
        "that one has a small share here, and `attn-cli ablate` measures it.\n"
        "\n"
        "With `method` the tokens of the text, or the patches of a picture, get\n"
        "attributions, by gradients. These are about this text, this answer and, for ig,\n"
        "this baseline; they do not say what happens when a token is replaced. With\n"
        "`source` and without `target` each token of TEXT is a target, attributed to the\n"
        "source and the tokens before it.\n"
        "\n"
        "With `score` the number that is split is no logit but the score that a head\n"
        "gives to a key, by what wrote the query and what wrote the key. A large pair\n"
        "says what the score is made of in this text. It does not say that the weight\n"
        "matters (`knockout`), nor that a writer alone would do it.\n",
    ATTN_QUESTION_PARAMS(param_parts, rules),
    ATTN_QUESTION_ARGS(struct attn_attribute_args, .size = sizeof(struct attn_attribute_args),
                       .baseline = ATTN_BASELINE_AUTO),
    .choose = choose_procedure,
};

static bool is_of_picture(const struct attn_attribute_args *args)
{
    return args->by == ATTN_ATTRIBUTE_BY_CELL || args->by == ATTN_ATTRIBUTE_BY_PIXEL;
}

enum attn_status attn_attribute_check(const void *given, struct attn_error *err)
{
    const struct attn_attribute_args *args = given;
    const bool is_dla = args->method == ATTN_ATTRIBUTE_DLA;

    if (!attn_is_choice(args->method, ATTN_N_ATTRIBUTE_METHOD, "method", err) ||
        !attn_is_choice(args->by, ATTN_N_ATTRIBUTE_BY, "by", err) ||
        !attn_is_choice(args->baseline, ATTN_N_BASELINE, "baseline", err))
        return ATTN_INVALID;
    if (args->by != ATTN_ATTRIBUTE_BY_PART && !is_dla && !is_of_picture(args))
        return attn_error_set(err, ATTN_INVALID,
                              "`by` and `method` do not go together: `by` is of dla");
    if (args->study && attn_attribute_is_of_cells(args->method))
        return attn_error_set(
            err, ATTN_INVALID,
            "`method` %s and `items` do not go together: cells belong to one text",
            args->method == ATTN_ATTRIBUTE_CAUSES ? "causes" : "attn_x_grad");
    if (args->n_target > 0 && (is_dla || attn_attribute_is_of_cells(args->method)))
        return attn_error_set(err, ATTN_INVALID, "several targets need a `method` of tokens");
    if (args->n_target > 0 && args->study)
        return attn_error_set(err, ATTN_INVALID,
                              "several targets and `items` do not go together: each item has its "
                              "own tokens");
    if (args->n_target > 0 &&
        (args->answer.target || args->answer.target_id ||
         attn_number_list_is_given(&args->answer.at) || args->answer.metric == ATTN_ANSWER_CE ||
         args->answer.metric == ATTN_ANSWER_KL))
        return attn_error_set(err, ATTN_INVALID,
                              "several targets set `target` and `at`, and need a `metric` of one "
                              "token");
    if (args->by == ATTN_ATTRIBUTE_BY_TOKEN && args->study)
        return attn_error_set(err, ATTN_INVALID,
                              "`by token` and `items` do not go together: keys belong to one text");
    return ATTN_OK;
}

enum attn_status attn_attribute_take_item(void *args, struct attn_request *request,
                                          const struct attn_item *item, struct attn_error *err)
{
    struct attn_attribute_args *given = args;

    if (given->method == ATTN_ATTRIBUTE_DLA)
        given->answer.metric = ATTN_ANSWER_AUTO; /* dla does not use a metric */
    else if (request->input.continuation && !given->answer.target && !given->answer.target_id &&
             !item->answer.target && !item->answer.target_id)
        given->answer.metric = ATTN_ANSWER_CE; /* of the continuation */
    if (given->method == ATTN_ATTRIBUTE_IG && attn_input_is_given(&item->baseline)) {
        given->baseline = ATTN_BASELINE_GIVEN;
        given->given = item->baseline;
    }
    return attn_item_answer(item, &given->answer, err);
}

void attn_attribute_label(struct attn_drawn *drawn)
{
    if (drawn->request && drawn->request->input.image)
        drawn->picture->view.traits |= ATTN_VIEW_TOKENS;
}

static const struct attn_procedure *choose_procedure(const void *given)
{
    const struct attn_attribute_args *args = given;

    return args->score.text || attn_score_has_lists(&args->score) ? &attn_attribute_pairs
           : is_of_picture(args)                                  ? &attn_attribute_picture
           : args->method == ATTN_ATTRIBUTE_DLA                   ? &attn_attribute_parts
           : attn_attribute_is_of_cells(args->method)             ? &attn_attribute_cells
                                                                  : &attn_attribute_tokens;
}

ATTN_ASKS(attribute)
