/* heads.c - attn-cli heads: finds what kind of head each head is. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

#define EXAMPLE "attn-cli heads -m fable --sort previous \"The keys to the cabinet\""

enum { DEFAULT_PAIRS = 20 };

/* Data of the heads, in addition to their table. */
struct heads_data {
    struct attn_ndarray pattern;   /* owned; the array of --pattern */
    struct attn_head_cards *cards; /* owned; for an atlas, else NULL */
};

static void release_data(void *own)
{
    struct heads_data *data = own;

    attn_ndarray_release(&data->pattern);
    attn_head_cards_free(data->cards);
}

static enum attn_status ask(struct question *question, struct attn_error *err);

const struct command command_heads = {
    QUESTION_COMMAND(heads),
    .usage = "[OPTIONS] TEXT",
    .ways = "--pairs, --probe induction, --from-weights, --items FILE",
    .examples = "  attn-cli heads -m fable --probe induction --sort induction --limit 3\n"
                "  attn-cli heads -m fable --pairs --limit 3 \"The keys to the cabinet\"\n"
                "  attn-cli heads -m fable --from it --to cat --sort weight \"The cat said it\"\n"
                "  attn-cli heads -m fable --items agreement.csv --group-by number --sort weight\n"
                "  attn-cli heads -m fable --items lines.txt --items-format lines \\\n"
                "    --figure map --pdf a.pdf\n",
    .ask = ask,
    .own_size = sizeof(struct heads_data),
    .release = release_data,
};

/* Returns the option by which weights are read instead of a text, or NULL. */
static const char *weights_option(const struct attn_heads_args *how)
{
    return how->svd            ? "svd"
           : how->composition  ? "composition"
           : how->from_weights ? "from_weights"
                               : NULL;
}

static enum attn_status check(const struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    const struct attn_heads_args *how = question->how;

    if (weights_option(how) && prompt_is_given(&args->prompt))
        return refuse(err, NULL, "`%s` reads no text, and one is given", weights_option(how));
    if (how->has_probe + !!args->items.asked.items.path + prompt_is_given(&args->prompt) > 1)
        return refuse(err, NULL, "expected one of a text, `items` and `probe`, got more");
    if (how->has_probe && pair_find_given(&args->prompt))
        return refuse(err, NULL, "`%s` goes with a text, not with `probe`",
                      pair_find_given(&args->prompt));
    if (!how->has_probe && !weights_option(how) && !args->items.asked.items.path)
        ATTN_TRY(prompt_check(question->call, &args->prompt, EXAMPLE, err));
    return question_check(question, err);
}

static enum attn_status compare_heads(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    const struct tables_args *tables = &args->tables;

    ATTN_TRY(check(question, err));
    ATTN_TRY(items_open(question->call, &args->items, NULL, &(struct items){0}, err));
    question->name = "similarity";
    question->how = NULL;
    ATTN_TRY(question_open(question, err));
    ATTN_TRY(question_read(question, err));
    ATTN_TRY(attn_similarity(question->host, &question->request,
                             tables->order.sort ? 0 : tables->order.n_most, &question->table, err));
    return question_write(question, err);
}

/* Creates the cards if there is a page over items. */
static enum attn_status open_cards(struct question *question, struct attn_heads_args *how,
                                   struct attn_error *err)
{
    const struct question_args *args = question->args;
    const struct attn_items_args *items = &args->items.asked;
    struct heads_data *data = question->own;

    if (!output_path(&args->tables.output, "html") || !items->items.path || items->study.group_by ||
        items->study.paired)
        return ATTN_OK;
    if (items->each.is_resumed) {
        if (question_is_noted(question))
            note("the page has no atlas, because --resume reads only the rest of the items");
        return ATTN_OK;
    }
    ATTN_TRY(attn_head_cards_create(&data->cards, err));
    how->cards = data->cards;
    return ATTN_OK;
}

/* Sets how many pairs of a composition are shown. */
static void choose_pairs(struct question *question)
{
    struct question_args *args = question->call->args;
    struct tables_args *tables = &args->tables;

    tables->order.n_most = tables_limit_or(question->call, tables, DEFAULT_PAIRS);
}

/* Whether TABLE shows types of heads, and no head has one. */
static bool lacks_types(const struct attn_table *table)
{
    size_t c = 0, row = 0;

    while (c < attn_table_n_column(table) && strcmp(attn_table_column(table, c)->name, "type") != 0)
        c++;
    while (row < attn_table_n_row(table) &&
           attn_table_cell(table, row, c).type == ATTN_VALUE_MISSING)
        row++;
    return c < attn_table_n_column(table) && row > 0 && row == attn_table_n_row(table);
}

/* Notes why the printed column of types is empty. */
static enum attn_status note_types(const struct question *question, struct attn_error *err)
{
    const struct tables_args *tables = &question->args->tables;
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table *shown;

    if (!question_is_noted(question) || outputs_are_wanted(&tables->output) ||
        items_take_standard(&question->items) || !lacks_types(question->table))
        return ATTN_OK;
    order.columns = tables->order.columns;
    ATTN_TRY(attn_table_sort(question->table, &order, &shown, err));
    if (lacks_types(shown))
        note("types need 30 tokens; of fewer, `most` and `share` say where a head looks");
    attn_table_free(shown);
    return ATTN_OK;
}

static enum attn_status measure_heads(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    struct attn_heads_args *how = question->how, drawn;
    struct heads_data *data = question->own;
    const char *file = option_text(question->call, "pattern");

    ATTN_TRY(check(question, err));
    if (how->composition) {
        how->n_most = SIZE_MAX; /* sorted before they are limited */
        choose_pairs(question);
    }
    question->unit = how->has_probe ? "probes" : NULL;
    if (how->has_probe || weights_option(how)) {
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
    ATTN_TRY(open_cards(question, how, err));
    how->has_shares |= !how->renormalizes && args->tables.picture.options.figure == ATTN_FIGURE_MAP;
    ATTN_TRY(attn_heads(question->host, &question->request, how, &question->table, err));
    drawn = *how;
    drawn.sort = args->tables.order.sort;
    question->how = &drawn;
    question->picture.cards = data->cards;
    ATTN_TRY(question_write(question, err));
    return note_types(question, err);
}

static enum attn_status ask(struct question *question, struct attn_error *err)
{
    question->example = EXAMPLE;
    return (option_text(question->call, "pairs") ? compare_heads : measure_heads)(question, err);
}
