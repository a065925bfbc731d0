/* heads.c - attn-cli heads: finds what kind of head each head is. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

#define EXAMPLE "attn-cli heads -m fable --sort previous \"The keys to the cabinet\""

/* Data of the survey, in addition to its table. */
struct survey_data {
    struct attn_ndarray pattern;         /* owned; the array of --pattern */
    struct attn_head_patterns *patterns; /* owned; for a poster, else NULL */
    struct attn_head_cards *cards;       /* owned; for a card or an atlas, else NULL */
};

static void release_data(void *own)
{
    struct survey_data *data = own;

    attn_ndarray_release(&data->pattern);
    attn_head_patterns_free(data->patterns);
    attn_head_cards_free(data->cards);
}

static enum attn_status ask(struct question *question, struct attn_error *err);

const struct command command_heads = {
    QUESTION_COMMAND(heads),
    .usage = "[OPTIONS] TEXT",
    .ways = "--pairs, --probe induction, --items FILE",
    .examples = "  attn-cli heads -m fable --probe induction --sort induction --limit 3\n"
                "  attn-cli heads -m fable --pairs --limit 3 \"The keys to the cabinet\"\n"
                "  attn-cli heads -m fable --from it --to cat --sort weight \"The cat said it\"\n"
                "  attn-cli heads -m fable --items agreement.csv --group-by number --sort weight\n"
                "  attn-cli heads -m fable --items lines.txt --items-format lines \\\n"
                "    --figure poster --pdf a.pdf\n",
    .ask = ask,
    .own_size = sizeof(struct survey_data),
    .release = release_data,
};

/* Returns true if --order asks to sort similar heads next to each other. */
static bool is_clustered(const struct call *call)
{
    return option_is_param_given((void *)(uintptr_t)call, "order");
}

static enum attn_status check(const struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    const struct attn_survey_args *how = question->how;
    const bool is_of_pairs = option_text(question->call, "pairs") != NULL;

    if (how->has_probe + !!args->items.asked.items.path + prompt_is_given(&args->prompt) > 1)
        return refuse(err, NULL, "expected one of a text, --items and --probe, got more");
    if (how->has_probe && pair_find_given(&args->prompt))
        return refuse(err, NULL, "--%s goes with a text, not with --probe",
                      pair_find_given(&args->prompt));
    if (!how->has_probe && !args->items.asked.items.path)
        ATTN_TRY(prompt_check(question->call, &args->prompt, EXAMPLE, err));
    ATTN_TRY(question_check(question, err));
    if (is_clustered(question->call) && !(is_of_pairs && tables_have_pictures(&args->tables)))
        return refuse(err, "--png, --svg, --pdf, --html and --heatmap draw it",
                      "--order cluster needs a picture of --pairs");
    return ATTN_OK;
}

static enum attn_status compare_heads(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    const struct tables_args *tables = &args->tables;

    ATTN_TRY(check(question, err));
    ATTN_TRY(items_open(question->call, &args->items, NULL, &(struct items){0}, err));
    question->name = "similarity";
    question->how = NULL;
    question->picture.view.traits = is_clustered(question->call) ? ATTN_VIEW_CLUSTERED : 0;
    ATTN_TRY(question_open(question, err));
    ATTN_TRY(question_read(question, err));
    ATTN_TRY(attn_similarity(question->host, &question->request,
                             tables->order.sort ? 0 : tables->order.n_most, &question->table, err));
    return question_write(question, err);
}

/* Returns true if the model predicts the next token, which --metric ce needs. */
static bool has_loss(const struct attn_config *config)
{
    return config && !config->is_encoder && config->output != ATTN_OUTPUT_NONE &&
           config->task == ATTN_TASK_VOCABULARY && config->label_kind == ATTN_LABELS_SINGLE &&
           config->n_token > 0;
}

/* Creates the cards if the picture is a card, or a page over items. For a card it also asks for the
 * effect of the head. */
static enum attn_status open_cards(struct question *question, struct attn_survey_args *how,
                                   struct attn_error *err)
{
    const struct question_args *args = question->args;
    const struct attn_items_args *items = &args->items.asked;
    struct survey_data *data = question->own;
    const struct attn_config *config = attn_model_config(attn_host_model(question->host));
    const bool is_card = args->tables.picture.options.figure == ATTN_FIGURE_CARD;
    const bool is_page = output_path(&args->tables.output, "html") && items->items.path &&
                         !items->study.group_by && !items->study.paired;

    if (is_card && how->has_probe)
        return refuse(err, NULL, "--figure card is about texts, and --probe has none");
    if (is_card && !question->request.selection.heads)
        return refuse(err, "--heads 2.5", "--figure card is about one head, expected --heads");
    if (items->each.is_resumed && is_card)
        return refuse(err, NULL, "--figure card needs all texts, and --resume reads the rest");
    if (items->each.is_resumed && is_page && question_is_noted(question))
        note("the page has no atlas, because --resume reads only the rest of the items");
    if ((!is_card && !is_page) || items->each.is_resumed)
        return ATTN_OK;
    ATTN_TRY(attn_head_cards_create(&data->cards, err));
    how->cards = data->cards;
    if (is_card && !how->has_effect && has_loss(config)) {
        how->has_effect = true;
        how->answer.metric = ATTN_ANSWER_CE;
    }
    return ATTN_OK;
}

/* Creates the patterns if the picture is a poster. */
static enum attn_status open_patterns(struct question *question, struct attn_survey_args *how,
                                      struct attn_error *err)
{
    const struct question_args *args = question->args;
    struct survey_data *data = question->own;
    const struct attn_config *config = attn_model_config(attn_host_model(question->host));

    if (args->tables.picture.options.figure != ATTN_FIGURE_POSTER)
        return ATTN_OK;
    if (how->has_effect || how->pattern)
        return refuse(err, NULL, "--figure poster and --%s do not go together",
                      how->pattern ? "pattern" : "effect");
    if (!config)
        return ATTN_OK; /* attn_survey reports what is wrong */
    ATTN_TRY(attn_head_patterns_create(config->n_layer, config->n_head, &data->patterns, err));
    how->patterns = data->patterns;
    return ATTN_OK;
}

static enum attn_status survey(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    struct attn_survey_args *how = question->how, drawn;
    struct survey_data *data = question->own;
    const char *file = option_text(question->call, "pattern");

    ATTN_TRY(check(question, err));
    question->unit = how->has_probe ? "probes" : NULL;
    if (how->has_probe) {
        ATTN_TRY(question_begin_items(question, err));
        ATTN_TRY(question_open(question, err));
    } else {
        ATTN_TRY(question_begin(question, err));
    }
    if (file) {
        how->pattern = &data->pattern;
        ATTN_TRY(at_stage(ATTN_STAGE_INPUT,
                          attn_ndarray_read(file, 2, 2, "[T, T]", &data->pattern, err), err));
    }
    ATTN_TRY(open_patterns(question, how, err));
    ATTN_TRY(open_cards(question, how, err));
    ATTN_TRY(attn_survey(question->host, &question->request, how, &question->table, err));
    drawn = *how;
    drawn.sort = args->tables.order.sort;
    question->how = &drawn;
    question->picture.patterns = data->patterns;
    question->picture.cards = data->cards;
    return question_write(question, err);
}

static enum attn_status ask(struct question *question, struct attn_error *err)
{
    question->example = EXAMPLE;
    return (option_text(question->call, "pairs") ? compare_heads : survey)(question, err);
}
