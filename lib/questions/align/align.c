/* align.c - see align.h. A side has a text, its words, and the word of each of its tokens; links
 * are derived from a matrix [m, n] over the words of both sides. */
#include "align/align.h"

#include "align/align_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "frame/questions_internal.h"
#include "measures/parks.h"
#include "model/config_internal.h"
#include "stream/items_internal.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"
#include "trials/trial.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

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
               "of block L - 1, and several need `evaluate`. Default: two thirds of the layers of "
               "hidden states and decoders, the last one of cross-attention; with `evaluate` all "
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
        TEXT, "npz", "FILE",
        "with `items`: write the weights [words of the source, words of the text] of item "
        "7 as 000000007/weight into FILE, instead of lines",
        .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM(FLAG, "evaluate", NULL, struct attn_align_args, evaluates,
               "compare with links made by people, 'gold' of each item: print precision, recall "
               "and alignment error rate; of a decoder how well each head finds the linked words"),
    ATTN_PARAM(TEXT, "gold", "FILE[:1]", struct attn_align_args, gold,
               "read gold from FILE, a line for each item: 0-0 1-2 are sure links, 1p2 or 1?2 "
               "possible ones; with :1 its words count from 1"),
    ATTN_PARAM_KEPT(
        TEXT, "links", "FILE[:1]",
        "with `evaluate` and `gold`, instead of a model: score the links in FILE, a line "
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
    {.given = "npz",
     .needs = "items",
     .excludes = "evaluate",
     .message = "@ needs `items`, and does not go with `evaluate`"},
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
        "With `evaluate` and gold the table says how many links are right: precision,\n"
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
        "`times` prints when each token of a transcript was spoken, from an array of the\n"
        "weights, without the rows of the prompt and frames after the end of the sound.\n",
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

/* Reads the method TEXT, or NULL: the kind of links, and the rule of ATTN_ALIGN_HIDDEN. */
static enum attn_status read_method(const char *text, enum attn_align_kind *kind,
                                    struct attn_link_rule *rule, struct attn_error *err)
{
    *rule = (struct attn_link_rule){ATTN_LINK_ARGMAX, 0.001};
    *kind = !text || strcmp(text, "auto") == 0 ? ATTN_ALIGN_AUTO
            : strcmp(text, "cross") == 0       ? ATTN_ALIGN_CROSS
            : strcmp(text, "attention") == 0   ? ATTN_ALIGN_ATTENTION
                                               : ATTN_ALIGN_HIDDEN;
    if (*kind != ATTN_ALIGN_HIDDEN || read_rule(text, rule))
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
    enum attn_align_kind kind;
    const struct attn_study_args *study = args->study;

    if (study && (study->paired || study->n_bootstrap > 0 || study->cluster || study->fdr))
        return attn_error_set(err, ATTN_INVALID,
                              "`paired`, `bootstrap`, `cluster` and `fdr` are of means, and links "
                              "are counted over all items");
    if (args->is_soft && args->evaluates)
        return attn_error_set(err, ATTN_INVALID,
                              "`is_soft` and `evaluate` are given, expected one");
    if (args->gold && !args->evaluates && !args->is_soft)
        return attn_error_set(err, ATTN_INVALID, "`gold` needs `evaluate` or `is_soft`");
    if (attn_number_list_is_given(&args->layers) && attn_head_list_is_given(&args->heads))
        return attn_error_set(err, ATTN_INVALID, "`layers` and `heads` are given, expected one");
    if (study ? !args->evaluates && !study->each : args->evaluates && !args->gold)
        return attn_error_set(err, ATTN_INVALID,
                              study ? "neither `evaluate` nor `each` is given"
                                    : "`evaluate` needs `gold`");
    return read_method(args->method, &kind, &rule, err);
}

/* Returns an error for arguments that links of this kind do not use. */
static enum attn_status check_kind(const struct attn_align_run *align, struct attn_error *err)
{
    const struct attn_align_args *args = align->args;
    const bool is_hidden = align->kind == ATTN_ALIGN_HIDDEN,
               is_attention = align->kind == ATTN_ALIGN_ATTENTION;
    const struct {
        const char *name;
        bool is_given, is_used;
    } uses[] = {{"`by word`", args->is_by_word, is_hidden},
                {"`heads`", attn_head_list_is_given(&args->heads), !is_hidden},
                {"`is_shifted`", args->is_shifted, !is_hidden},
                {"`template`", args->text_template, is_attention}};

    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (uses[i].is_given && !uses[i].is_used)
            return attn_error_set(err, ATTN_INVALID, "%s has no effect on links by %s",
                                  uses[i].name,
                                  is_hidden      ? "hidden states"
                                  : is_attention ? "attention"
                                                 : "cross-attention");
    if (is_attention && !args->text_template)
        return attn_error_set(err, ATTN_INVALID,
                              "a decoder needs a `template`, as 'Say: {source}. {target}'");
    return ATTN_OK;
}

static enum attn_status choose_kind(struct attn_align_run *align, struct attn_error *err)
{
    const struct attn_config *config = align->frame.config;
    const bool is_cross = attn_config_has_cross(config);

    ATTN_TRY(read_method(align->args->method, &align->kind, &align->rule, err));
    if (align->kind == ATTN_ALIGN_AUTO)
        align->kind = is_cross             ? ATTN_ALIGN_CROSS
                      : config->is_encoder ? ATTN_ALIGN_HIDDEN
                                           : ATTN_ALIGN_ATTENTION;
    if ((align->kind == ATTN_ALIGN_CROSS) != is_cross)
        return attn_error_set(err, ATTN_INVALID,
                              is_cross ? "the model attends to a source, expected `method cross`"
                                       : "the model has no cross-attention");
    return check_kind(align, err);
}

/* Reads the layers of LIST into the flags of ALIGN. */
static enum attn_status read_layers(struct attn_align_run *align,
                                    const struct attn_number_list *list, struct attn_error *err)
{
    struct attn_dims dims = attn_config_dims(align->frame.config, 1);
    struct attn_selection *chosen;
    enum attn_status status;

    if (align->kind == ATTN_ALIGN_HIDDEN) /* the embedding and the outputs */
        dims = (struct attn_dims){.n_layer = dims.n_layer + 1, .n_head = 1, .n_position = 1};
    if (list->n > 0)
        return attn_error_in(attn_number_list_flag(list, "layers", attn_dims_n_whole_layer(&dims),
                                                   align->layers, err),
                             "layers", err);
    ATTN_TRY(attn_selection_create(&dims, &chosen, err));
    status = attn_error_in(attn_selection_set_layers(chosen, list->text, err), "layers", err);
    for (size_t i = 0; status == ATTN_OK && i < dims.n_layer; i++) {
        const struct attn_location at = attn_align_at(align, i, 0);

        align->layers[i] = attn_selection_has_head(chosen, &at);
    }
    attn_selection_free(chosen);
    return status;
}

static void choose_default_layers(struct attn_align_run *align)
{
    const struct attn_config *config = align->frame.config;
    const size_t n_layer = config->n_layer;
    size_t layer = (2 * n_layer + 1) / 3;

    if (align->kind != ATTN_ALIGN_HIDDEN &&
        (align->args->evaluates || attn_head_list_is_given(&align->args->heads))) {
        memset(align->layers, 1, n_layer);
        return;
    }
    for (size_t i = 0; align->kind == ATTN_ALIGN_CROSS && i < n_layer; i++)
        layer = config->is_cross[i] ? i : layer;
    if (align->kind != ATTN_ALIGN_HIDDEN && layer == n_layer)
        layer--;
    align->layers[layer] = 1;
}

/* Sets the layers: `first` to `last`, if they have a flag. */
static enum attn_status choose_layers(struct attn_align_run *align, struct attn_error *err)
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
        if (!align->layers[i] || (align->kind == ATTN_ALIGN_CROSS && !config->is_cross[i]))
            continue;
        align->first = n++ == 0 ? (int)i : align->first;
        align->last = (int)i;
    }
    if (n == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "`layers` are '%s', of layers without cross-attention",
                              has_given ? attn_number_list_quote(given).text : "");
    if (n > 1 && align->kind == ATTN_ALIGN_HIDDEN && !align->args->evaluates)
        return attn_error_set(err, ATTN_INVALID, "several `layers` need `evaluate`");
    return ATTN_OK;
}

/* Records patterns, or vectors, of RUN. */
static enum attn_status record(struct attn_align_run *align, const struct attn_run *run,
                               struct attn_capture **capture, struct attn_error *err)
{
    const struct attn_config *config = align->frame.config;
    const bool is_hidden = align->kind == ATTN_ALIGN_HIDDEN;
    const struct attn_site_set vectors = ATTN_SITES(
        ATTN_SITE_RESID_PRE, config->norm_place == ATTN_NORM_SUM ? ATTN_SITE_NORMALIZED_RESID_POST
                                                                 : ATTN_SITE_RESID_POST);
    const struct attn_location
        first = attn_align_at(align, (size_t)(align->first - (is_hidden && align->first > 0)), 0),
        last = attn_align_at(align, (size_t)(align->last - (is_hidden && align->last > 0)), 0);
    struct attn_watch watch = {
        .sites = is_hidden ? vectors : ATTN_SITES(ATTN_SITE_PATTERN),
        .places = {.first = &first, .last = &last, .heads = &align->args->heads},
        .capture = capture};

    if (align->kind == ATTN_ALIGN_ATTENTION)
        watch.parks = align->parks;
    return attn_watch(run, &watch, err);
}

/* Reads the heads, before the first item, and checks that a layer with links has one of them. */
static enum attn_status choose_heads(struct attn_align_run *align, struct attn_error *err)
{
    const struct attn_dims dims = attn_config_dims(align->frame.config, 1);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    ATTN_TRY(attn_error_in(attn_select_heads(&align->args->heads, &dims, &align->heads, err),
                           "heads", err));
    if (!attn_head_list_is_given(&align->args->heads))
        return ATTN_OK;
    while (attn_dims_next_head(&dims, &at))
        if (attn_align_uses(align, &at))
            return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "`heads` are '%s', of layers without cross-attention",
                          attn_head_list_quote(&align->args->heads).text);
}

/* Fills the template with the source and the text of the item; the result is the text that runs. */
static enum attn_status fill_template(struct attn_align_run *align, struct attn_error *err)
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
        return attn_error_set(err, ATTN_INVALID,
                              "`template` is '%s', expected {source} and {target} in it, each once",
                              attn_quote_string(align->args->text_template).text);
    align->frame.request.input.text = filled;
    align->frame.request.input.n_text = used;
    return ATTN_OK;
}

/* Checks that there are two texts, or their ids. */
static enum attn_status check_texts(const struct attn_align_args *args,
                                    const struct attn_request *request, struct attn_error *err)
{
    static const char *const names[2] = {"source", "text"};
    const struct attn_input *inputs[2] = {&request->source, &request->input};

    if (request->source.embeddings)
        return attn_error_set(
            err, ATTN_INVALID,
            "its source is rows or a sound: times of words are those of one text");
    for (int i = 0; i < 2; i++)
        if (!inputs[i]->text && (!inputs[i]->ids || args->text_template))
            return attn_error_set(err, ATTN_INVALID, "it has no '%s'%s", names[i],
                                  args->text_template ? ", which the template needs"
                                  : i == 1            ? " and no 'ids'"
                                                      : "");
    return ATTN_OK;
}

/* Sets side number I (the source or the text) from INPUT. If the input is ids, each id is a word,
 * named by its number. */
static enum attn_status fill_side(struct attn_align_run *align, int i,
                                  const struct attn_input *input,
                                  const struct attn_word_texts *list, struct attn_error *err)
{
    enum { ID_SIZE = 12 }; /* " 2147483647" */
    struct attn_align_side *side = &align->sides[i];
    char *text;

    *side = (struct attn_align_side){.text = input->text, .size = input->n_text, .list = list};
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
    struct attn_align_run *align = state;
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
    attn_question_choose_nothing(request);
    if (align->kind != ATTN_ALIGN_CROSS)
        request->source = (struct attn_input){0};
    return align->kind == ATTN_ALIGN_ATTENTION ? fill_template(align, err) : ATTN_OK;
}

/* --- The item --------------------------------------------------------------------------------- */

/* Assigns N ids to the words, one id for each word. */
static enum attn_status assign_ids(size_t n, struct attn_text_words *words, struct attn_error *err)
{
    assert(words->n == n);
    ATTN_TRY(ATTN_ALLOC(words->of, n, err));
    for (size_t i = 0; i < n; i++)
        words->of[i] = i;
    return ATTN_OK;
}

/* Finds the words of both sides, and the word of each token of the runs. */
static enum attn_status find_words(struct attn_align_run *align, struct attn_error *err)
{
    static const char *const names[2] = {"source", "text"};
    const struct attn_run *run = align->frame.run;

    for (int i = 0; i < 2; i++) {
        struct attn_align_side *side = &align->sides[i];
        const struct attn_sequence *sequence =
            i == 1 || align->kind == ATTN_ALIGN_ATTENTION ? attn_asked_text(run)
            : align->kind == ATTN_ALIGN_CROSS             ? attn_asked_source(run)
                                                          : attn_asked_text(align->frame.other);

        ATTN_TRY(attn_error_in(
            attn_text_words_split(side->text, side->size, side->list, &side->words, err), names[i],
            err));
        if (!side->input.text) {
            ATTN_TRY(assign_ids(sequence->n, &side->words, err));
            continue;
        }
        ATTN_TRY(attn_error_in(attn_text_words_assign(&sequence->encoding, sequence->input->text,
                                                      sequence->input->n_text, align->begins[i],
                                                      &side->words, err),
                               names[i], err));
    }
    return ATTN_OK;
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    const struct attn_align_args *given = args;

    ATTN_TRY(check_texts(given, request, err));
    if (given->evaluates && !given->gold && !attn_item_label(item, "gold"))
        return attn_error_set(err, ATTN_INVALID, "it has no 'gold'");
    return ATTN_OK;
}

/* Reads the gold links of the item, if they are scored; with is_soft, also if the item has any. */
static enum attn_status read_gold(struct attn_align_run *align, struct attn_error *err)
{
    const struct attn_link_lines *file = align->frame.plan;
    const struct attn_item *item = align->frame.item;
    const struct attn_item_label *label = item ? attn_item_label(item, "gold") : NULL;
    const size_t number = item ? item->number : 0;

    if (!align->args->evaluates && !(align->args->is_soft && (file || label)))
        return ATTN_OK;
    if (file && number >= file->n)
        return attn_error_set(err, ATTN_INVALID, "'%s' has %zu line%s, and none for it",
                              attn_quote_string(file->path).text, file->n, file->n == 1 ? "" : "s");
    assert(file || label);
    return attn_links_read(file ? file->items[number] : label->text, align->sides[0].words.n,
                           align->sides[1].words.n, file && file->is_one_based, align->gold, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct attn_align_run *align = state;
    struct attn_frame *frame = &align->frame;
    const struct attn_config *config = frame->config;
    struct attn_request request = frame->request;
    const size_t n_row = config->n_layer + 1;
    size_t n_cell;

    if (align->kind == ATTN_ALIGN_HIDDEN) {
        request.input = align->sides[0].input;
        ATTN_TRY(attn_run_open(frame->host, NULL, &request, &frame->other, err));
        attn_align_allocate(align, attn_asked_n(frame->other), attn_asked_n(frame->run));
    }
    ATTN_TRY(attn_error_at(find_words(align, err), ATTN_STAGE_INPUT, err));
    n_cell = attn_size_mul(align->sides[0].words.n, align->sides[1].words.n);
    align->x = attn_frame_alloc(frame, n_cell, sizeof *align->x);
    align->links = attn_frame_alloc(frame, n_cell, 1);
    align->gold = attn_frame_alloc(frame, n_cell, 1);
    align->more = attn_frame_alloc(frame, n_row * (config->n_head + 1),
                                   (size_t)2 * ATTN_ALIGN_N_MORE * sizeof *align->more);
    align->row = attn_frame_alloc(frame, attn_asked_n(frame->run), sizeof *align->row);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_error_at(read_gold(align, err), ATTN_STAGE_INPUT, err));
    ATTN_TRY(record(align, frame->run, &frame->capture, err));
    if (frame->other)
        ATTN_TRY(record(align, frame->other, &align->source, err));
    ATTN_TRY(attn_align_append(align, err));
    return attn_frame_report_more(frame, align->more, align->n_more, err);
}

static void release(void *state)
{
    struct attn_align_run *align = state;

    attn_text_words_release(&align->sides[0].words);
    attn_text_words_release(&align->sides[1].words);
    attn_selection_free(align->heads);
    attn_capture_free(align->source);
    for (int i = 0; i < 2; i++)
        attn_parks_free(align->parks[i]);
}

/* Names the option whose results need more than rows. */
static const char *beyond_rows(const void *args)
{
    return ((const struct attn_align_args *)args)->evaluates ? "a score" : NULL;
}

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

    align.items.is_listed = align.items.is_ragged = !given || !given->evaluates;
    if (gold.path && (given->evaluates || given->is_soft)) {
        status = attn_error_at(attn_link_lines_read(&gold, err), ATTN_STAGE_INPUT, err);
        align.plan = &gold;
    }
    ATTN_THEN(status, attn_procedure_perform(&align, call, err));
    if (status == ATTN_OK && gold.path && align.plan)
        note_rest(&gold, given, call->request);
    attn_link_lines_release(&gold);
    return status;
}

static const struct attn_procedure procedure = {
    .table.name = ATTN_TABLE_ALIGN,
    .question = &attn_question_align,
    ATTN_PROCEDURE_TABLE(attn_align_columns, attn_align_views),
    .state_size = sizeof(struct attn_align_run),
    .items.study = offsetof(struct attn_align_args, study),
    .items.derive = attn_align_derive,
    .items.beyond_rows = beyond_rows,
    .items.take_item = take_item,
    .check = check_args,
    .choose = choose,
    .shows = attn_align_shows,
    .ask = ask,
    .release = release,
    .perform = perform,
};

ATTN_ASKS(align)
