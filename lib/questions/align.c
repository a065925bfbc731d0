/* align.c - see align.h. A side has a text, its words, and the word of each of its tokens; links
 * are derived from a matrix [m, n] over the words of both sides. */
#include "questions/align.h"

#include "base/buffer.h"
#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "input/text_words.h"
#include "measures/links.h"
#include "measures/parks.h"
#include "model/config_internal.h"
#include "questions/frame.h"
#include "questions/questions.h"
#include "questions/questions_internal.h"
#include "run/trial.h"
#include "stream/items.h"
#include "stream/items_internal.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    STACK,
    LAYER,
    HEAD,
    METHOD,
    LINE,
    SOURCE_INDEX,
    SOURCE,
    WORD_INDEX,
    WORD,
    WEIGHT,
    COSINE, /* the same column, for hidden states */
    LINKED,
    MARK,
    TS,
    WITHIN,
    MASS,
    CHANCE,
    N,
    LINKS,
    SURE,
    POSSIBLE,
    PRECISION,
    RECALL,
    AER,
    TOKENS,
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_SCORES = 2,
    SHOW_HEADS = 4,
    SHOW_HIDDEN = 8,
    SHOW_TOKENS = 16,
    SHOW_LINKS = 32,
    SHOW_LINES = 64,
    SHOW_PAIRS = 128,
    SHOW_WEIGHTS = 256,
    SHOW_COSINES = 512,
    SHOW_SOFT = 1024
};

static const struct attn_column columns[N_COLUMN] = {
    [STACK] = ATTN_COLUMN_STACK("stack", .shown = SHOW_SCORES),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = SHOW_SCORES),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [METHOD] = ATTN_COLUMN("method", TEXT, .shown = SHOW_HIDDEN),
    [LINE] = ATTN_COLUMN("links", TEXT, .shown = SHOW_LINES),
    [SOURCE_INDEX] = ATTN_COLUMN("source_index", INTEGER, .shown = SHOW_PAIRS),
    [SOURCE] = {.name = "source",
                .type = ATTN_VALUE_TEXT,
                .quantity = "source",
                .shown = SHOW_PAIRS},
    [WORD_INDEX] = ATTN_COLUMN("word_index", INTEGER, .shown = SHOW_PAIRS),
    [WORD] = {.name = "word", .type = ATTN_VALUE_TEXT, .quantity = "text", .shown = SHOW_PAIRS},
    [WEIGHT] = ATTN_COLUMN_QUANTITY("weight", 6, NULL, SHARE, "weight between words",
                                    .shown = SHOW_WEIGHTS),
    [COSINE] = ATTN_COLUMN_QUANTITY("weight", 6, NULL, SIGNED, "cosine between words",
                                    .shown = SHOW_COSINES),
    [LINKED] = ATTN_COLUMN("linked", BOOLEAN, .shown = SHOW_SOFT),
    [MARK] = ATTN_COLUMN("mark", TEXT, .shown = SHOW_SOFT),
    [TS] = ATTN_COLUMN_RATE("ts", 6, "share of tokens that look where they should",
                            ATTN_TRAIT_DERIVED, .shown = SHOW_TOKENS),
    [WITHIN] = ATTN_COLUMN_RATE("within", 6, NULL, ATTN_TRAIT_DERIVED, .shown = SHOW_TOKENS),
    [MASS] =
        ATTN_COLUMN_DERIVED("mass", 6, SHARE, "weight on the linked tokens", .shown = SHOW_TOKENS),
    [CHANCE] = ATTN_COLUMN_DERIVED("chance", 6, SHARE, NULL, .shown = SHOW_TOKENS),
    [N] = {.name = "n",
           .type = ATTN_VALUE_INTEGER,
           .role = ATTN_ROLE_COUNT,
           .traits = ATTN_TRAIT_COUNT,
           .shown = SHOW_SCORES},
    [LINKS] = ATTN_COLUMN_WITH("links", INTEGER, COUNT, .shown = SHOW_LINKS),
    [SURE] = ATTN_COLUMN_WITH("sure", INTEGER, COUNT, .shown = SHOW_LINKS),
    [POSSIBLE] = ATTN_COLUMN_WITH("possible", INTEGER, COUNT, .shown = SHOW_LINKS),
    [PRECISION] = ATTN_COLUMN_RATE("precision", 6, "precision of the links", ATTN_TRAIT_DERIVED,
                                   .shown = SHOW_LINKS),
    [RECALL] = ATTN_COLUMN_RATE("recall", 6, "recall of the links", ATTN_TRAIT_DERIVED,
                                .shown = SHOW_LINKS),
    [AER] =
        ATTN_COLUMN_RATE("aer", 6, "alignment error rate", ATTN_TRAIT_DERIVED, .shown = SHOW_LINKS),
    [TOKENS] = ATTN_COLUMN_WITH("tokens", INTEGER, COUNT, .shown = SHOW_TOKENS),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* Numbers beside each row from which derived columns are computed: two counts of hits, or four
 * means. */
enum { N_MORE = 4 };

/* A text, its words, and the word of each token. */
struct side {
    struct attn_input input; /* a text, or ids */
    const char *text;        /* [size] the text; for ids one word per id */
    size_t size;
    const struct attn_word_texts *list;
    struct attn_text_words words; /* owns */
    double *units;                /* [n_unit, D] vectors of its tokens, or of its words */
    size_t *word_of;              /* [n_unit] word of each unit */
    size_t n_unit;
};

/* What links are made of. */
enum kind {
    AUTO,     /* chosen by the model */
    CROSS,    /* cross-attention */
    HIDDEN,   /* hidden states of two runs */
    ATTENTION /* attention of one run of a template with both texts */
};

struct align {
    struct attn_frame frame;
    const struct attn_align_args *args;
    enum kind kind;
    struct attn_link_rule rule;
    int first, last;              /* range of layers; for HIDDEN 0 is the embedding */
    unsigned char *layers;        /* [n_layer + 1] which of them, the frame's */
    struct side sides[2];         /* the source and the text */
    size_t begins[2];             /* for attention: where each side begins in the text of the run */
    struct attn_selection *heads; /* owns; the heads from which links are derived */
    struct attn_capture *source;  /* owns; for hidden states: the vectors of the source */
    struct attn_parks *parks[2];  /* own; for attention: of the text of the run; and unused */
    float *row;                   /* [n_key] for attention; owned by the frame */
    double *x;                    /* [m, n] similarities or weights; owned by the frame */
    unsigned char *links, *gold;  /* [m, n] owned by the frame */
    double *unit_x;               /* [n_unit, n_unit] similarities of units, for hidden states */
    unsigned char *unit_links;
    double *more; /* [n_more] owned by the frame */
    size_t n_more;
};

/* --- The question ----------------------------------------------------------------------------- */

static const struct attn_param param_rows[] = {
    ATTN_PARAM(TEXT, "method", "auto|cross|attention|argmax|itermax|match|softmax[:T]",
               struct attn_align_args, method,
               "how links are made: auto (default), by the model; cross: the largest "
               "cross-attention; attention: the largest attention of a decoder that reads both "
               "texts. The others compare hidden states of an encoder: argmax, each is the most "
               "similar of the other; itermax, then once more among words that are free; match, "
               "the pairs with the largest sum; softmax, probable from both sides, above T "
               "(default: 0.001)"),
    ATTN_PARAM(LIST, "layers", "SPEC", struct attn_align_args, layers.text,
               "the layers, as 8, 2-4 or all; of hidden states 0 is the embedding and L the output "
               "of block L - 1, and several need `score`. Default: two thirds of the layers of "
               "hidden states and decoders, the last one of cross-attention; with `score` all "
               "heads",
               .second = offsetof(struct attn_align_args, layers.n)),
    ATTN_PARAM(LIST, "heads", "LIST", struct attn_align_args, heads.text,
               "the heads whose mean makes links, as in 1.0,3.*; default: those of the layers",
               .second = offsetof(struct attn_align_args, heads.n)),
    ATTN_PARAM(FLAG, "shifted", NULL, struct attn_align_args, is_shifted,
               "take for a token the row of the token before it, which predicts it, instead of "
               "its own row"),
    ATTN_PARAM(SWITCH, "by", NULL, struct attn_align_args, is_by_word,
               "of hidden states: token (default) compares tokens, and links words of which any "
               "tokens are linked; word compares the means of the tokens of words",
               .words = "token|word"),
    ATTN_PARAM(TEXT, "template", "TEXT", struct attn_align_args, text_template,
               "of a decoder: the text that it reads, with {source} and {target} in it"),
    ATTN_PARAM(FLAG, "soft", NULL, struct attn_align_args, is_soft,
               "a row for each pair of words, with its weight, whether it is a link, and S or P "
               "for a sure or a possible link of gold; pictures show these rows"),
    ATTN_PARAM_KEPT(
        TEXT, "matrix", "FILE.npz",
        "with `items`: write the weights [words of the source, words of the text] of item "
        "7 as 000000007/weight into FILE.npz, instead of lines",
        .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM(FLAG, "score", NULL, struct attn_align_args, has_score,
               "compare with links made by people, 'gold' of each item: print precision, recall "
               "and alignment error rate; of a decoder how well each head finds the linked words"),
    ATTN_PARAM(TEXT, "gold", "FILE", struct attn_align_args, gold,
               "read gold from FILE, a line for each item: 0-0 1-2 are sure links, 1p2 or 1?2 "
               "possible ones",
               .traits = ATTN_PARAM_IS_FILE),
    ATTN_PARAM(FLAG, "one_based", NULL, struct attn_align_args, is_one_based,
               "words in gold count from 1"),
    ATTN_PARAM_KEPT(TEXT, "links", "FILE[:1]",
                    "with `score` and `gold`, instead of a model: score the links in FILE, a line "
                    "for each pair of texts as other aligners write it (0-0 1-2); with :1 its "
                    "words count from 1",
                    .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM_KEPT(
        TEXT, "times", "FILE.npy",
        "instead of texts: cross-attention [H, T, S] of the heads of a speech model that "
        "align, frames of 0.02 s; print when each token was spoken, as Whisper does",
        .traits = ATTN_PARAM_NO_KEYWORD),
};

static const struct attn_param_list params = ATTN_PARAM_LIST("Alignment", param_rows);

static const struct attn_param_part parts[] = {{&params, 0}};

static const struct attn_param_rule rules[] = {
    {.given = "matrix",
     .needs = "items",
     .excludes = "score",
     .message = "@ needs `items`, and does not go with `score`"},
};

static const struct attn_procedure procedure;

const struct attn_question attn_question_align = {
    .name = "align",
    .summary = "which word of a source is which word of a text",
    .description =
        "Prints a line of links for a source and a text: 0-0 1-2 links word 0 of the\n"
        "source to word 0 of the text, and word 1 to word 2. With `items` it prints a\n"
        "line for each item that has source and text; the line of a failed item is\n"
        "empty. `csv` and `jsonl` have a row for each link: its words and its weight.\n"
        "\n"
        "Links come from cross-attention (each word of the text, and the word of the\n"
        "source with the largest weight), from hidden states of an encoder that reads\n"
        "both texts (by cosine), or from a decoder that reads a template with both.\n"
        "`soft` has all pairs of words, and pictures show them: rows of the text, columns\n"
        "of the source, with S and P where gold has a link.\n"
        "Words are separated by white space; items in other writing have the lists\n"
        "source_words and words.\n"
        "\n"
        "With `score` and gold the table says how many links are right: precision,\n"
        "recall, and aer, the alignment error rate (Och and Ney 2003), for each head, so\n"
        "that the heads that align are found on data. Of a decoder: ts, the share of\n"
        "tokens whose largest weight is on a linked word, within, the same among the\n"
        "words of the source, mass, the weight there, and chance. Its weights are those\n"
        "beside parks (`attn-cli sinks` with `by park`), scaled to 1.\n"
        "\n"
        "`links` scores what another aligner wrote, without a model.\n"
        "\n"
        "Hidden states link what is similar, which need not be a translation.\n"
        "\n"
        "With a sound as source the table says when each word of the text was spoken,\n"
        "by the heads of a Whisper model that align, or by `heads`.\n"
        "`times` prints when each token of a transcript was spoken, from the weights of\n"
        "the heads that align, by dynamic time warping (Whisper's word times). Leave out\n"
        "of the array the rows of the prompt, and frames after the end of the sound.\n",
    ATTN_QUESTION_PARAMS(parts, rules),
    ATTN_QUESTION_ARGS(struct attn_align_args, .size = sizeof(struct attn_align_args)),
    .procedure = &procedure,
};

/* --- The arguments ---------------------------------------------------------------------------- */

/* Reads "match" or "softmax:0.01" into RULE. */
static bool read_rule(const char *text, struct attn_link_rule *rule)
{
    static const char *const names[] = {
#define NAME(id, number, name) [ATTN_LINK_##id] = (name),
        ATTN_LINK_METHOD_MAP(NAME)
#undef NAME
    };
    const size_t size = strcspn(text, ":");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(text, names[i], size) == 0 && names[i][size] == '\0') {
            rule->method = (enum attn_link_method)i;
            return !text[size] ||
                   (rule->method == ATTN_LINK_SOFTMAX &&
                    attn_parse_double(text + size + 1, strlen(text + size + 1), &rule->threshold) &&
                    rule->threshold >= 0 && rule->threshold < 1);
        }
    return false;
}

/* Reads the method TEXT, or NULL: the kind of links, and the rule of HIDDEN. */
static enum attn_status read_method(const char *text, enum kind *kind, struct attn_link_rule *rule,
                                    struct attn_error *err)
{
    *rule = (struct attn_link_rule){ATTN_LINK_ARGMAX, 0.001};
    *kind = !text || strcmp(text, "auto") == 0 ? AUTO
            : strcmp(text, "cross") == 0       ? CROSS
            : strcmp(text, "attention") == 0   ? ATTENTION
                                               : HIDDEN;
    if (*kind != HIDDEN || read_rule(text, rule))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "`method` is '%s', expected auto, cross, attention, argmax, itermax, "
                          "match, softmax or softmax:T with T from 0 to below 1",
                          attn_quote_string(text).text);
}

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_align_args *args = given;
    struct attn_link_rule rule;
    enum kind kind;
    const struct attn_study_args *study = args->study;

    if (study && (study->paired || study->n_bootstrap > 0 || study->cluster || study->fdr))
        return attn_error_set(err, ATTN_INVALID,
                              "`paired`, `bootstrap`, `cluster` and `fdr` are of means, and links "
                              "are counted over all items");
    if (args->is_soft && args->has_score)
        return attn_error_set(err, ATTN_INVALID,
                              "`is_soft` and `has_score` are given, expected one");
    if (args->gold && !args->has_score && !args->is_soft)
        return attn_error_set(err, ATTN_INVALID, "`gold` needs `has_score` or `is_soft`");
    if (args->is_one_based && !args->has_score && !args->is_soft)
        return attn_error_set(err, ATTN_INVALID, "`is_one_based` needs `has_score` or `is_soft`");
    if (attn_number_list_is_given(&args->layers) && attn_head_list_is_given(&args->heads))
        return attn_error_set(err, ATTN_INVALID, "`layers` and `heads` are given, expected one");
    if (study ? !args->has_score && !study->each : args->has_score && !args->gold)
        return attn_error_set(err, ATTN_INVALID,
                              study ? "neither `has_score` nor `each` is given"
                                    : "`has_score` needs `gold`");
    return read_method(args->method, &kind, &rule, err);
}

/* Returns an error for arguments that links of this kind do not use. */
static enum attn_status check_kind(const struct align *align, struct attn_error *err)
{
    const struct attn_align_args *args = align->args;
    const bool is_hidden = align->kind == HIDDEN, is_attention = align->kind == ATTENTION;
    const struct {
        const char *name;
        bool is_given, is_used;
    } uses[] = {{"`by word`", args->is_by_word, is_hidden},
                {"`heads`", attn_head_list_is_given(&args->heads), !is_hidden},
                {"`is_shifted`", args->is_shifted, !is_hidden},
                {"`text_template`", args->text_template, is_attention}};

    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (uses[i].is_given && !uses[i].is_used)
            return attn_error_set(err, ATTN_INVALID, "%s has no effect on links by %s",
                                  uses[i].name,
                                  is_hidden      ? "hidden states"
                                  : is_attention ? "attention"
                                                 : "cross-attention");
    if (is_attention && !args->text_template)
        return attn_error_set(err, ATTN_INVALID,
                              "a decoder needs a `text_template`, as 'Say: {source}. {target}'");
    return ATTN_OK;
}

static enum attn_status choose_kind(struct align *align, struct attn_error *err)
{
    const struct attn_config *config = align->frame.config;
    const bool is_cross = attn_config_has_cross(config);

    ATTN_TRY(read_method(align->args->method, &align->kind, &align->rule, err));
    if (align->kind == AUTO)
        align->kind = is_cross ? CROSS : config->is_encoder ? HIDDEN : ATTENTION;
    if ((align->kind == CROSS) != is_cross)
        return attn_error_set(err, ATTN_INVALID,
                              is_cross ? "the model attends to a source, expected `method cross`"
                                       : "the model has no cross-attention");
    return check_kind(align, err);
}

/* Returns the location of HEAD in layer number LAYER of `layers`; of hidden states LAYER is their
 * number. */
static struct attn_location at_of(const struct align *align, size_t layer, int head)
{
    const struct attn_dims dims = attn_config_dims(align->frame.config, 1);
    struct attn_location at = attn_layer_at(&dims, ATTN_SITE_PATTERN, layer);

    at.head = head;
    return at;
}

/* Reads the layers of LIST into the flags of ALIGN. */
static enum attn_status read_layers(struct align *align, const struct attn_number_list *list,
                                    struct attn_error *err)
{
    struct attn_dims dims = attn_config_dims(align->frame.config, 1);
    struct attn_selection *chosen;
    enum attn_status status;

    if (align->kind == HIDDEN) /* the embedding and the outputs */
        dims = (struct attn_dims){.n_layer = dims.n_layer + 1, .n_head = 1, .n_position = 1};
    if (list->n > 0)
        return attn_error_in(attn_number_list_flag(list, "layers", attn_dims_n_whole_layer(&dims),
                                                   align->layers, err),
                             "layers", err);
    ATTN_TRY(attn_selection_create(&dims, &chosen, err));
    status = attn_error_in(attn_selection_set_layers(chosen, list->text, err), "layers", err);
    for (size_t i = 0; status == ATTN_OK && i < dims.n_layer; i++) {
        const struct attn_location at = at_of(align, i, 0);

        align->layers[i] = attn_selection_has_head(chosen, &at);
    }
    attn_selection_free(chosen);
    return status;
}

static void choose_default_layers(struct align *align)
{
    const struct attn_config *config = align->frame.config;
    const size_t n_layer = config->n_layer;
    size_t layer = (2 * n_layer + 1) / 3;

    if (align->kind != HIDDEN &&
        (align->args->has_score || attn_head_list_is_given(&align->args->heads))) {
        memset(align->layers, 1, n_layer);
        return;
    }
    for (size_t i = 0; align->kind == CROSS && i < n_layer; i++)
        layer = config->is_cross[i] ? i : layer;
    if (align->kind != HIDDEN && layer == n_layer)
        layer--;
    align->layers[layer] = 1;
}

/* Sets the layers: `first` to `last`, if they have a flag. */
static enum attn_status choose_layers(struct align *align, struct attn_error *err)
{
    const struct attn_config *config = align->frame.config;
    const struct attn_number_list *given = &align->args->layers;
    const bool has_given = attn_number_list_is_given(given);
    int n = 0;

    align->layers = attn_frame_alloc(&align->frame, config->n_layer + 1, 1);
    ATTN_TRY(attn_frame_memory(&align->frame, err));
    if (has_given)
        ATTN_TRY(read_layers(align, given, err));
    else
        choose_default_layers(align);
    for (size_t i = 0; i <= config->n_layer; i++) {
        if (!align->layers[i] || (align->kind == CROSS && !config->is_cross[i]))
            continue;
        align->first = n++ == 0 ? (int)i : align->first;
        align->last = (int)i;
    }
    if (n == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "`layers` are '%s', of layers without cross-attention",
                              has_given ? attn_number_list_quote(given).text : "");
    if (n > 1 && align->kind == HIDDEN && !align->args->has_score)
        return attn_error_set(err, ATTN_INVALID, "several `layers` need `has_score`");
    return ATTN_OK;
}

/* Returns true if links are derived from this head; for CROSS, only heads that attend to a
 * source. */
static bool is_used(const struct align *align, const struct attn_location *at)
{
    const struct attn_dims *dims = attn_selection_dims(align->heads);

    return align->layers[attn_location_index(at)] && attn_selection_has_head(align->heads, at) &&
           (align->kind != CROSS || attn_location_is_cross(dims, at));
}

/* Records patterns, or vectors, of RUN. */
static enum attn_status record(struct align *align, const struct attn_run *run,
                               struct attn_capture **capture, struct attn_error *err)
{
    const struct attn_config *config = align->frame.config;
    const bool is_hidden = align->kind == HIDDEN;
    const struct attn_site_set vectors = ATTN_SITES(
        ATTN_SITE_RESID_PRE, config->norm_place == ATTN_NORM_SUM ? ATTN_SITE_NORMALIZED_RESID_POST
                                                                 : ATTN_SITE_RESID_POST);
    const struct attn_location first = at_of(
                                   align, (size_t)(align->first - (is_hidden && align->first > 0)),
                                   0),
                               last =
                                   at_of(align,
                                         (size_t)(align->last - (is_hidden && align->last > 0)), 0);
    struct attn_watch watch = {.sites = is_hidden ? vectors : ATTN_SITES(ATTN_SITE_PATTERN),
                               .first = &first,
                               .last = &last,
                               .heads = &align->args->heads,
                               .capture = capture};

    if (align->kind == ATTENTION)
        watch.parks = align->parks;
    return attn_watch(run, &watch, err);
}

/* Reads the heads, before the first item, and checks that a layer with links has one of them. */
static enum attn_status choose_heads(struct align *align, struct attn_error *err)
{
    const struct attn_dims dims = attn_config_dims(align->frame.config, 1);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    ATTN_TRY(attn_error_in(attn_select_heads(&align->args->heads, &dims, &align->heads, err),
                           "heads", err));
    if (!attn_head_list_is_given(&align->args->heads))
        return ATTN_OK;
    while (attn_dims_next_head(&dims, &at))
        if (is_used(align, &at))
            return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "`heads` are '%s', of layers without cross-attention",
                          attn_head_list_quote(&align->args->heads).text);
}

/* Fills the template with the source and the text of the item; the result is the text that runs. */
static enum attn_status fill_template(struct align *align, struct attn_error *err)
{
    static const char *const marks[2] = {"{source}", "{target}"};
    const char *form = align->args->text_template;
    const size_t size = strlen(form) + align->sides[0].size + align->sides[1].size;
    char *filled = attn_frame_alloc(&align->frame, size + 1, 1);
    size_t used = 0, n[2] = {0};

    ATTN_TRY(attn_frame_memory(&align->frame, err));
    while (*form) {
        const int side = strncmp(form, marks[0], strlen(marks[0])) == 0   ? 0
                         : strncmp(form, marks[1], strlen(marks[1])) == 0 ? 1
                                                                          : -1;

        if (side < 0) {
            filled[used++] = *form++;
            continue;
        }
        if (n[side]++ == 0 && align->sides[side].size > 0) {
            align->begins[side] = used;
            memcpy(filled + used, align->sides[side].text, align->sides[side].size);
            used += align->sides[side].size;
        }
        form += strlen(marks[side]);
    }
    if (n[0] != 1 || n[1] != 1)
        return attn_error_set(
            err, ATTN_INVALID,
            "`text_template` is '%s', expected {source} and {target} in it, each once",
            attn_quote_string(align->args->text_template).text);
    align->frame.request.input.text = filled;
    align->frame.request.input.n_text = used;
    return ATTN_OK;
}

/* Checks that there are two texts, or their ids. */
static enum attn_status check_texts(const struct attn_align_args *args,
                                    const struct attn_request *request, struct attn_error *err)
{
    static const char *const names[2][2] = {{"source", "source_ids"}, {"text", "ids"}};
    const struct attn_input *inputs[2] = {&request->source, &request->input};

    if (request->source.embeddings)
        return attn_error_set(
            err, ATTN_INVALID,
            "its source is rows or a sound: times of words are those of one text");
    for (int i = 0; i < 2; i++)
        if (!inputs[i]->text && (!inputs[i]->ids || args->text_template))
            return attn_error_set(err, ATTN_INVALID, "it has no '%s'%s%s%s", names[i][0],
                                  args->text_template ? ", which the template needs" : " and no '",
                                  args->text_template ? "" : names[i][1],
                                  args->text_template ? "" : "'");
    return ATTN_OK;
}

/* Sets side number I (the source or the text) from INPUT. If the input is ids, each id is a word,
 * named by its number. */
static enum attn_status fill_side(struct align *align, int i, const struct attn_input *input,
                                  const struct attn_word_texts *list, struct attn_error *err)
{
    enum { ID_SIZE = 12 }; /* " 2147483647" */
    struct side *side = &align->sides[i];
    char *text;

    *side = (struct side){.text = input->text, .size = input->n_text, .list = list};
    side->input = (struct attn_input){
        .text = input->text, .n_text = input->n_text, .ids = input->ids, .n_id = input->n_id};
    if (input->text || !input->ids)
        return ATTN_OK;
    text = attn_frame_alloc(&align->frame, input->n_id + 1, ID_SIZE);
    ATTN_TRY(attn_frame_memory(&align->frame, err));
    for (size_t t = 0; t < input->n_id; t++)
        side->size +=
            (size_t)snprintf(text + side->size, ID_SIZE, t > 0 ? " %d" : "%d", (int)input->ids[t]);
    side->text = text;
    return ATTN_OK;
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct align *align = state;
    struct attn_frame *frame = &align->frame;
    struct attn_request *request = &frame->request;
    const struct attn_input source = request->source;
    const struct attn_item *item = frame->item;

    align->args = frame->args;
    if (!item)
        ATTN_TRY(check_texts(align->args, request, err));
    ATTN_TRY(fill_side(align, 0, &source, item ? &item->source_words : NULL, err));
    ATTN_TRY(fill_side(align, 1, &request->input, item ? &item->words : NULL, err));
    ATTN_TRY(choose_kind(align, err));
    ATTN_TRY(choose_layers(align, err));
    ATTN_TRY(choose_heads(align, err));
    attn_frame_choose_nothing(request);
    if (align->kind != CROSS)
        request->source = (struct attn_input){0};
    return align->kind == ATTENTION ? fill_template(align, err) : ATTN_OK;
}

static const struct attn_table_view views[] = {
    {.rows = ATTN_TABLE_COLUMN(WORD_INDEX),
     .detail = ATTN_TABLE_COLUMN(WORD),
     .columns = ATTN_TABLE_COLUMN(SOURCE_INDEX),
     .texts = ATTN_TABLE_COLUMN(SOURCE),
     .values = ATTN_TABLE_COLUMN(WEIGHT),
     .cells = ATTN_TABLE_COLUMN(MARK),
     .asked = "of text and source"},
    {.rows = ATTN_ROLE_LAYER,
     .columns = ATTN_TABLE_COLUMN(METHOD),
     .values = ATTN_TABLE_COLUMN(RECALL)},
    {ATTN_VIEW_OF(LAYER, HEAD, TS)},
    {ATTN_VIEW_OF(LAYER, HEAD, RECALL)},
};

static uint64_t shows(const void *state)
{
    const struct align *align = state;
    const struct attn_align_args *args = align->args;
    const bool is_hidden = align->kind == HIDDEN;

    if (args->has_score)
        return SHOW_SCORES | (is_hidden ? SHOW_HIDDEN : SHOW_HEADS) |
               (align->kind == ATTENTION ? SHOW_TOKENS : SHOW_LINKS);
    return (args->is_soft ? SHOW_SOFT : 0) |
           (args->is_line                                          ? SHOW_LINES
            : is_hidden && align->rule.method != ATTN_LINK_SOFTMAX ? SHOW_PAIRS | SHOW_COSINES
                                                                   : SHOW_PAIRS | SHOW_WEIGHTS);
}

/* --- Sides ------------------------------------------------------------------------------------ */

static struct attn_cell cell_of_word(const struct side *side, size_t word)
{
    const struct attn_text_word *at = &side->words.items[word];

    return attn_cell_text(side->text + at->begin, at->end - at->begin);
}

/* Finds the words of both sides, and the word of each token of the runs. */
static enum attn_status find_words(struct align *align, struct attn_error *err)
{
    static const char *const names[2] = {"source", "text"};
    const struct attn_run *run = align->frame.run;

    for (int i = 0; i < 2; i++) {
        struct side *side = &align->sides[i];
        const struct attn_sequence *sequence = i == 1 || align->kind == ATTENTION ? &run->text
                                               : align->kind == CROSS             ? &run->source
                                                                      : &align->frame.other->text;

        ATTN_TRY(attn_error_in(
            attn_text_words_split(side->text, side->size, side->list, &side->words, err), names[i],
            err));
        if (!side->input.text) {
            ATTN_TRY(attn_text_words_assign_ids(sequence->n, &side->words, err));
            continue;
        }
        ATTN_TRY(attn_error_in(attn_text_words_assign(&sequence->encoding, sequence->input->text,
                                                      sequence->input->n_text, align->begins[i],
                                                      &side->words, err),
                               names[i], err));
    }
    return ATTN_OK;
}

/* --- Weights between words -------------------------------------------------------------------- */

/* Returns the weights [N_KEY] of row T of PATTERN, in a decoder that reads both texts without those
 * that are parked, and scaled to 1. The next call overwrites them. */
static const float *row_of(const struct align *align, const float *pattern, size_t t, size_t n_key)
{
    const float *weights = pattern + t * n_key;
    double left = 0;

    if (align->kind != ATTENTION)
        return weights;
    for (size_t key = 0; key < n_key; key++) {
        align->row[key] = attn_parks_has(align->parks[0], key) ? 0 : weights[key];
        left += (double)align->row[key];
    }
    for (size_t key = 0; key < n_key && left > 0; key++)
        align->row[key] = (float)((double)align->row[key] / left);
    return align->row;
}

/* Adds FACTOR times the weights of the head AT to x. IS_BEFORE: a token's row is that of the token
 * before it. */
static void add_weights(struct align *align, const struct attn_location *at, double factor)
{
    const size_t before = align->args->is_shifted;
    const struct attn_text_words *source = &align->sides[0].words, *text = &align->sides[1].words;
    const struct attn_run *run = align->frame.run;
    const size_t n_key = align->kind == CROSS ? run->source.n : run->text.n;
    const float *pattern = attn_capture_head(align->frame.capture, at);

    for (size_t t = 0; t < run->text.n; t++) {
        const size_t word = text->of[t];
        const float *weights;
        size_t n_row = 0;

        for (size_t k = before; word != SIZE_MAX && k < run->text.n; k++)
            n_row += text->of[k] == word;
        if (word == SIZE_MAX || t < before)
            continue;
        weights = row_of(align, pattern, t - before, n_key);
        for (size_t key = 0; key < n_key; key++)
            if (source->of[key] != SIZE_MAX)
                align->x[source->of[key] * text->n + word] +=
                    factor * (double)weights[key] / (double)n_row;
    }
}

/* Links each word of the text to the source word with the largest weight. */
static void link_words(struct align *align)
{
    const size_t m = align->sides[0].words.n, n = align->sides[1].words.n;

    memset(align->links, 0, m * n);
    for (size_t j = 0; j < n; j++) {
        size_t best = 0;

        for (size_t i = 1; i < m; i++)
            best = align->x[i * n + j] > align->x[best * n + j] ? i : best;
        align->links[best * n + j] = align->x[best * n + j] > 0;
    }
}

/* Finds the links from the mean of the selected heads of layers FIRST to LAST; if HEAD >= 0, from
 * that head of layer FIRST. */
static void link_by_heads(struct align *align, int first, int last, int head)
{
    const struct attn_config *config = align->frame.config;
    size_t n_head = 0;

    memset(align->x, 0, align->sides[0].words.n * align->sides[1].words.n * sizeof *align->x);
    for (int pass = 0; pass < 2; pass++)
        for (int layer = first; layer <= last; layer++)
            for (int h = 0; h < (int)config->n_head; h++) {
                const struct attn_location at = at_of(align, (size_t)layer, h);

                if ((head >= 0 && h != head) || !is_used(align, &at))
                    continue;
                if (pass == 0)
                    n_head++;
                else
                    add_weights(align, &at, 1 / (double)n_head);
            }
    link_words(align);
}

/* --- Hidden states ---------------------------------------------------------------------------- */

/* Sets the units of SIDE: the vectors ROWS of its tokens, or their means over words. */
static void make_units(const struct align *align, struct side *side, size_t n_token,
                       const float *rows)
{
    const size_t d = align->frame.config->d_model;
    const size_t *of = side->words.of;

    assert(rows && of);
    side->n_unit = 0;
    for (size_t t = 0, n = 0; t < n_token; t++) {
        const bool is_same = side->n_unit > 0 && of[t] == side->word_of[side->n_unit - 1];

        if (of[t] == SIZE_MAX)
            continue;
        if (!align->args->is_by_word || !is_same) {
            memset(side->units + side->n_unit * d, 0, d * sizeof *side->units);
            side->word_of[side->n_unit++] = of[t];
            n = 0;
        }
        n++;
        for (size_t i = 0; i < d; i++) { /* running mean */
            double *x = &side->units[(side->n_unit - 1) * d + i];

            *x += ((double)rows[t * d + i] - *x) / (double)n;
        }
    }
}

static void allocate_units(struct align *align, size_t n_source, size_t n_text)
{
    const size_t n_unit = attn_size_mul(n_source, n_text), n_token[2] = {n_source, n_text};

    for (int i = 0; i < 2; i++) {
        align->sides[i].units = attn_frame_alloc(&align->frame, n_token[i],
                                                 align->frame.config->d_model * sizeof(double));
        align->sides[i].word_of = attn_frame_alloc(&align->frame, n_token[i], sizeof(size_t));
    }
    align->unit_x = attn_frame_alloc(&align->frame, n_unit, sizeof *align->unit_x);
    align->unit_links = attn_frame_alloc(&align->frame, n_unit, 1);
}

static double multiply(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Links the units of both sides, and from these their words. */
static enum attn_status link_units(struct align *align, struct attn_error *err)
{
    const struct side *a = &align->sides[0], *b = &align->sides[1];
    const size_t d = align->frame.config->d_model, n = b->words.n, n_unit = a->n_unit * b->n_unit;
    const unsigned char *links = align->unit_links;
    const double *x = align->unit_x;

    for (size_t i = 0; i < n_unit; i++) {
        const double *u = a->units + i / b->n_unit * d, *v = b->units + i % b->n_unit * d;
        const double product = multiply(u, v, d);

        align->unit_x[i] = align->rule.method == ATTN_LINK_SOFTMAX
                               ? product
                               : product / sqrt(multiply(u, u, d) * multiply(v, v, d));
    }
    memset(align->unit_links, 0, n_unit);
    ATTN_TRY(
        attn_links_find(&align->rule, align->unit_x, a->n_unit, b->n_unit, align->unit_links, err));
    memset(align->links, 0, a->words.n * n);
    for (size_t i = 0; i < a->words.n * n; i++)
        align->x[i] = -(double)INFINITY;
    for (size_t i = 0; i < n_unit; i++) {
        const size_t cell = a->word_of[i / b->n_unit] * n + b->word_of[i % b->n_unit];

        if (links[i] || align->args->is_soft)
            align->x[cell] = align->x[cell] > x[i] ? align->x[cell] : x[i];
        align->links[cell] |= links[i];
    }
    return ATTN_OK;
}

static enum attn_status link_by_vectors(struct align *align, int layer, struct attn_error *err)
{
    const struct attn_frame *frame = &align->frame;
    const bool is_sum = frame->config->norm_place == ATTN_NORM_SUM;
    const enum attn_site site = layer == 0 ? ATTN_SITE_RESID_PRE
                                : is_sum   ? ATTN_SITE_NORMALIZED_RESID_POST
                                           : ATTN_SITE_RESID_POST;
    const struct attn_location at = {.layer = layer == 0 ? 0 : layer - 1, .site = site};

    assert(frame->other); /* hidden states come from two runs */
    make_units(align, &align->sides[0], frame->other->text.n,
               attn_capture_tensor(align->source, &at));
    make_units(align, &align->sides[1], frame->run->text.n,
               attn_capture_tensor(frame->capture, &at));
    return link_units(align, err);
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Appends the links of the item, or all pairs of words. */
static enum attn_status append_links(struct align *align, struct attn_error *err)
{
    const size_t n = align->sides[1].words.n, n_cell = align->sides[0].words.n * n;
    struct attn_cell row[N_COLUMN] = {attn_cell_missing()};
    struct attn_buffer line = {0};
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < n_cell && status == ATTN_OK; i++) {
        if (!align->links[i] && !align->args->is_soft)
            continue;
        attn_buffer_append_format(&line, "%s%zu-%zu", line.size > 0 ? " " : "", i / n, i % n);
        if (align->args->is_line)
            continue;
        row[SOURCE_INDEX] = attn_cell_integer((int64_t)(i / n));
        row[SOURCE] = cell_of_word(&align->sides[0], i / n);
        row[WORD_INDEX] = attn_cell_integer((int64_t)(i % n));
        row[WORD] = cell_of_word(&align->sides[1], i % n);
        row[WEIGHT] = row[COSINE] = attn_cell_real(align->x[i]);
        row[LINKED] = attn_cell_boolean(align->links[i]);
        row[MARK] = align->gold[i] == ATTN_LINK_SURE       ? attn_cell_text("S", 1)
                    : align->gold[i] == ATTN_LINK_POSSIBLE ? attn_cell_text("P", 1)
                                                           : attn_cell_missing();
        status = attn_frame_append(&align->frame, row, err);
    }
    if (status == ATTN_OK)
        status = attn_buffer_check(&line, err);
    row[LINE] = attn_cell_text(attn_buffer_string(&line), line.size);
    if (status == ATTN_OK && align->args->is_line)
        status = attn_frame_append(&align->frame, row, err);
    attn_buffer_release(&line);
    return status;
}

static struct attn_cell share_of(double part, double whole)
{
    return whole > 0 ? attn_cell_real(part / whole) : attn_cell_missing();
}

/* Computes the derived columns from sums over items (attn_fold_derive_fn). */
static enum attn_status derive(const void *args, const struct attn_fold_means *means,
                               struct attn_error *err)
{
    (void)args;
    (void)err;
    for (size_t i = 0; i < means->n_row && i * N_MORE < means->n_more; i++) {
        struct attn_cell *row = means->rows + i * N_COLUMN;
        const double *more = means->more + i * N_MORE;
        const double n = (double)row[N].integer, links = (double)row[LINKS].integer;
        const double sure = (double)row[SURE].integer;
        const double hits = round(more[0] * n), hits_sure = round(more[1] * n);

        for (int k = 0; k < N_MORE; k++)
            row[TS + k] = attn_cell_real(more[k]);
        row[PRECISION] = share_of(hits, links);
        row[RECALL] = share_of(hits_sure, sure);
        row[AER] = share_of(links + sure - hits - hits_sure, links + sure);
    }
    return ATTN_OK;
}

/* Whether each row has its numbers (attn_fold_fits_fn). */
static bool fits(const void *args, size_t n_row, size_t n_more)
{
    (void)args;
    return n_more == n_row * N_MORE;
}

/* Appends ROW; its derived columns are computed from MORE. */
static enum attn_status append_score(struct align *align, struct attn_cell *row,
                                     const double more[N_MORE], struct attn_error *err)
{
    const struct attn_fold_means means = {.rows = row, .n_row = 1, .more = more, .n_more = N_MORE};

    memcpy(align->more + align->n_more, more, N_MORE * sizeof *more);
    align->n_more += N_MORE;
    row[N] = attn_cell_integer(1);
    ATTN_TRY(derive(NULL, &means, err));
    return attn_frame_append(&align->frame, row, err);
}

/* Appends a row with the counts of the current links, for LAYER and HEAD unless they are
 * negative. */
static enum attn_status append_counts(struct align *align, int layer, int head,
                                      struct attn_error *err)
{
    const struct attn_location at = at_of(align, (size_t)(layer < 0 ? 0 : layer), head);
    struct attn_cell row[N_COLUMN] = {attn_cell_missing()};
    struct attn_link_counts counts = {0};
    const char *given = align->args->method;
    const char *method = given && strcmp(given, "auto") != 0 ? given : "argmax";

    attn_links_count(align->links, align->gold, align->sides[0].words.n * align->sides[1].words.n,
                     &counts);
    if (layer >= 0)
        attn_location_put(&at, &row[STACK]);
    row[HEAD] = head < 0 ? attn_cell_missing() : attn_cell_integer(head);
    row[METHOD] = attn_cell_text(method, strlen(method));
    if (head < 0 && align->kind == CROSS) /* the mean over heads */
        row[ROW_TYPE] = attn_cell_string(ATTN_ROW_TOTAL);
    row[LINKS] = attn_cell_integer((int64_t)counts.links);
    row[SURE] = attn_cell_integer((int64_t)counts.sure);
    row[POSSIBLE] = attn_cell_integer((int64_t)counts.possible);
    return append_score(align, row, (double[N_MORE]){(double)counts.hits, (double)counts.hits_sure},
                        err);
}

/* Returns true if the gold has a sure link from source word WORD (or SIZE_MAX) to word WORD_OF of
 * the text. */
static bool is_sure(const struct align *align, size_t word, size_t word_of)
{
    return word != SIZE_MAX && word_of != SIZE_MAX &&
           align->gold[word * align->sides[1].words.n + word_of] == ATTN_LINK_SURE;
}

/* Appends what a decoder head looks at, over the tokens that have a sure link. */
static enum attn_status append_looks(struct align *align, int layer, int head,
                                     struct attn_error *err)
{
    const struct attn_text_words *source = &align->sides[0].words, *text = &align->sides[1].words;
    const size_t n = align->frame.run->text.n, before = align->args->is_shifted;
    const struct attn_location at = at_of(align, (size_t)layer, head);
    const float *pattern = attn_capture_head(align->frame.capture, &at);
    struct attn_cell row[N_COLUMN] = {attn_cell_missing()};
    double sums[N_MORE] = {0};
    size_t n_token = 0;

    for (size_t t = before; t < n; t++) {
        const float *weights = row_of(align, pattern, t - before, n);
        size_t best = 0, best_source = SIZE_MAX, n_linked = 0;
        double mass = 0;

        for (size_t i = 0; i < source->n; i++)
            n_linked += is_sure(align, i, text->of[t]);
        if (n_linked == 0)
            continue;
        for (size_t key = 0; key + before <= t; key++) {
            best = weights[key] > weights[best] ? key : best;
            if (source->of[key] == SIZE_MAX)
                continue;
            if (best_source == SIZE_MAX || weights[key] > weights[best_source])
                best_source = key;
            mass += is_sure(align, source->of[key], text->of[t]) ? (double)weights[key] : 0;
        }
        n_token++;
        sums[0] += is_sure(align, source->of[best], text->of[t]);
        sums[1] += best_source != SIZE_MAX && is_sure(align, source->of[best_source], text->of[t]);
        sums[2] += mass;
        sums[3] += source->of[best] == SIZE_MAX ? 0 : (double)n_linked / (double)source->n;
    }
    if (n_token == 0)
        return attn_refuse(err, ATTN_STAGE_INPUT, "no token of its text has a sure link");
    for (int i = 0; i < N_MORE; i++)
        sums[i] /= (double)n_token;
    attn_location_put(&at, &row[STACK]);
    row[HEAD] = attn_cell_integer(head);
    row[TOKENS] = attn_cell_integer((int64_t)n_token);
    return append_score(align, row, sums, err);
}

/* Appends the score of the mean over the selected heads of layers FIRST to LAST, or of one HEAD of
 * layer FIRST. */
static enum attn_status append_score_of(struct align *align, int first, int last, int head,
                                        struct attn_error *err)
{
    if (align->kind == ATTENTION)
        return head < 0 ? ATTN_OK : append_looks(align, first, head, err);
    link_by_heads(align, first, last, head);
    return append_counts(align, first == last ? first : -1, head, err);
}

/* Appends the scores of all heads, of each layer's mean over heads and, if heads of several layers
 * are selected, of the mean over all of them. */
static enum attn_status append_heads(struct align *align, struct attn_error *err)
{
    int n_layer = 0;

    for (int layer = align->first; layer <= align->last; layer++) {
        bool has_heads = false;

        for (int head = 0; head < (int)align->frame.config->n_head; head++) {
            const struct attn_location at = at_of(align, (size_t)layer, head);

            if (!is_used(align, &at))
                continue;
            has_heads = true;
            ATTN_TRY(append_score_of(align, layer, layer, head, err));
        }
        if (has_heads)
            ATTN_TRY(append_score_of(align, layer, layer, -1, err));
        n_layer += has_heads;
    }
    return attn_head_list_is_given(&align->args->heads) && n_layer > 1
               ? append_score_of(align, align->first, align->last, -1, err)
               : ATTN_OK;
}

/* --- The item --------------------------------------------------------------------------------- */

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    const struct attn_align_args *given = args;

    ATTN_TRY(check_texts(given, request, err));
    if (given->has_score && !given->gold && !attn_item_label(item, "gold"))
        return attn_error_set(err, ATTN_INVALID, "it has no 'gold'");
    return ATTN_OK;
}

/* Reads the gold links of the item, if they are scored; with is_soft, also if the item has any. */
static enum attn_status read_gold(struct align *align, struct attn_error *err)
{
    const struct attn_link_lines *file = align->frame.plan;
    const struct attn_item *item = align->frame.item;
    const struct attn_item_label *label = item ? attn_item_label(item, "gold") : NULL;
    const size_t number = item ? item->number : 0;

    if (!align->args->has_score && !(align->args->is_soft && (file || label)))
        return ATTN_OK;
    if (file && number >= file->n)
        return attn_error_set(err, ATTN_INVALID, "'%s' has %zu line%s, and none for it",
                              attn_quote_string(file->path).text, file->n, file->n == 1 ? "" : "s");
    assert(file || label);
    return attn_links_read(file ? file->items[number] : label->text, align->sides[0].words.n,
                           align->sides[1].words.n, align->args->is_one_based, align->gold, err);
}

static enum attn_status append_rows(struct align *align, struct attn_error *err)
{
    const bool has_score = align->args->has_score;

    if (has_score && align->kind != HIDDEN)
        return append_heads(align, err);
    if (align->kind != HIDDEN)
        link_by_heads(align, align->first, align->last, -1);
    for (int layer = align->first; align->kind == HIDDEN && layer <= align->last; layer++) {
        if (!align->layers[layer])
            continue;
        ATTN_TRY(link_by_vectors(align, layer, err));
        if (has_score)
            ATTN_TRY(append_counts(align, layer, -1, err));
    }
    return has_score ? ATTN_OK : append_links(align, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct align *align = state;
    struct attn_frame *frame = &align->frame;
    const struct attn_config *config = frame->config;
    struct attn_request request = frame->request;
    const size_t n_row = config->n_layer + 1;
    size_t n_cell;

    if (align->kind == HIDDEN) {
        request.input = align->sides[0].input;
        ATTN_TRY(attn_run_prepare(frame->host, &request, &frame->other, err));
        allocate_units(align, frame->other->text.n, frame->run->text.n);
    }
    ATTN_TRY(attn_error_at(find_words(align, err), ATTN_STAGE_INPUT, err));
    n_cell = attn_size_mul(align->sides[0].words.n, align->sides[1].words.n);
    align->x = attn_frame_alloc(frame, n_cell, sizeof *align->x);
    align->links = attn_frame_alloc(frame, n_cell, 1);
    align->gold = attn_frame_alloc(frame, n_cell, 1);
    align->more = attn_frame_alloc(frame, n_row * (config->n_head + 1),
                                   (size_t)2 * N_MORE * sizeof *align->more);
    align->row = attn_frame_alloc(frame, frame->run->text.n, sizeof *align->row);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_error_at(read_gold(align, err), ATTN_STAGE_INPUT, err));
    ATTN_TRY(record(align, frame->run, &frame->capture, err));
    if (frame->other)
        ATTN_TRY(record(align, frame->other, &align->source, err));
    ATTN_TRY(append_rows(align, err));
    return attn_frame_report_more(frame, align->more, align->n_more, err);
}

static void release(void *state)
{
    struct align *align = state;

    attn_text_words_release(&align->sides[0].words);
    attn_text_words_release(&align->sides[1].words);
    attn_selection_free(align->heads);
    attn_capture_free(align->source);
    for (int i = 0; i < 2; i++)
        attn_parks_free(align->parks[i]);
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err);

static const struct attn_procedure procedure = {
    .name = "align",
    .question = &attn_question_align,
    .columns = columns,
    .n_column = N_COLUMN,
    .views = views,
    .n_view = sizeof views / sizeof *views,
    .state_size = sizeof(struct align),
    .items.study = offsetof(struct attn_align_args, study),
    .items.derive = derive,
    .items.fits = fits,
    .items.take_item = take_item,
    .check = check_args,
    .choose = choose,
    .shows = shows,
    .ask = ask,
    .release = release,
    .perform = perform,
};

/* Sends a note if the gold file has more lines than there are items. */
static void note_rest(const struct attn_link_lines *gold, const struct attn_align_args *args,
                      const struct attn_request *request)
{
    const struct attn_study_args *study = args->study;
    const size_t n = !study ? 1 : study->sum ? study->sum->n_item : gold->n;
    size_t shard, n_shard;

    attn_items_shard(study ? study->items : NULL, &shard, &n_shard);
    if (n < gold->n && n_shard == 0)
        attn_note(request->on_note, request->user, ATTN_NOTE_UNPAIRED,
                  "'%s' has %zu lines, and there %s %zu item%s", attn_quote_string(gold->path).text,
                  gold->n, n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
}

static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    const struct attn_align_args *given = call->given;
    struct attn_procedure align = procedure;
    struct attn_link_lines gold = {.path = given ? given->gold : NULL};
    enum attn_status status = ATTN_OK;

    align.items.is_listed = align.items.is_ragged = !given || !given->has_score;
    if (gold.path && (given->has_score || given->is_soft)) {
        status = attn_error_at(attn_link_lines_read(&gold, err), ATTN_STAGE_INPUT, err);
        align.plan = &gold;
    }
    if (status == ATTN_OK)
        status = attn_procedure_perform(&align, call, err);
    if (status == ATTN_OK && gold.path && align.plan)
        note_rest(&gold, given, call->request);
    attn_link_lines_release(&gold);
    return status;
}

enum attn_status attn_align(struct attn_host *host, const struct attn_request *request,
                            const struct attn_align_args *given, struct attn_table **table,
                            struct attn_error *err)
{
    struct attn_align_args args = ATTN_ALIGN_ARGS_DEFAULT;

    return perform(&(struct attn_procedure_call){host, request, given, &args, table, NULL}, err);
}
