/* heads.c - attn-cli heads: finds what kind of head each head is. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

#define PROBE_EXAMPLE "attn-cli probe -m fable induction --sort induction --limit 3"
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

static const struct attn_param_part probe_parts[] = {
    QUESTION_PART(option_question, prompt.asked),
    QUESTION_PART(attn_reading_params, prompt.asked),
    QUESTION_PICTURE_OPTIONS,
    QUESTION_OPTIONS,
};

/* Returns the option by which weights are read instead of a text, or NULL. */
static const char *weights_option(const struct attn_heads_args *how)
{
    return how->weights.svd           ? "svd"
           : how->weights.composition ? "composition"
           : how->weights.is_by_head  ? "from_weights"
                                      : NULL;
}

static enum attn_status check(const struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    const struct attn_heads_args *how = question->how;

    if (weights_option(how) && prompt_is_given(&args->prompt))
        return refuse(err, NULL, "`%s` reads no text, and one is given", weights_option(how));
    if (!weights_option(how) && !args->items.asked.items.path)
        ATTN_TRY(prompt_check(question->call, &args->prompt, EXAMPLE, err));
    return question_check(question, err);
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

/* Whether TABLE shows types of heads, and no head has one. */
static bool lacks_types(const struct attn_table *table)
{
    const size_t c = attn_table_find(table, "type");
    size_t row = 0;

    while (row < attn_table_n_row(table) &&
           attn_table_cell(table, row, c).type == ATTN_VALUE_MISSING)
        row++;
    return c < SIZE_MAX && row > 0 && row == attn_table_n_row(table);
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

static enum attn_status ask(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    struct attn_heads_args *how = question->how, drawn;
    struct heads_data *data = question->own;
    const char *file = option_text(question->call, "pattern");

    question->example = EXAMPLE;
    ATTN_TRY(check(question, err));
    if (how->weights.composition) {
        struct tables_args *tables = &((struct question_args *)question->call->args)->tables;

        how->n_most = SIZE_MAX; /* sorted before they are limited */
        tables->order.n_most = tables_limit_or(question->call, tables, DEFAULT_PAIRS);
    }
    if (how->by == ATTN_HEADS_BY_PAIR && !args->tables.order.sort)
        how->n_most = args->tables.order.n_most;
    if (weights_option(how)) {
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

/* Whether the table has the types of all heads of the model as it is. */
static bool is_of_model(const struct call *call)
{
    struct option_walk walk = {.command = call->command};

    while (option_next(&walk))
        if (call->given[walk.n - 1] && (walk.param->traits & ATTN_PARAM_SHAPES_TENSORS) != 0)
            return false;
    return !option_find_given(call, "heads|measures|special-tokens");
}

static enum attn_status probe(struct question *question, struct attn_error *err)
{
    struct attn_heads_args *how = question->how, drawn;

    question->example = PROBE_EXAMPLE;
    if (!how->has_probe)
        return refuse(err, PROBE_EXAMPLE,
                      "no kind of probe given, expected induction, needle or texts");
    question->name = "heads";
    question->unit = "probes";
    ATTN_TRY(question_check(question, err));
    ATTN_TRY(question_begin_items(question, err));
    ATTN_TRY(question_open(question, err));
    how->has_shares |=
        !how->renormalizes && question->args->tables.picture.options.figure == ATTN_FIGURE_MAP;
    ATTN_TRY(attn_heads(question->host, &question->request, how, &question->table, err));
    if (how->probe.is_own && is_of_model(question->call))
        attn_head_types_keep(attn_host_model(question->host), question->table);
    drawn = *how;
    drawn.sort = question->args->tables.order.sort;
    question->how = &drawn;
    return question_write(question, err);
}

const struct command command_heads = {
    QUESTION_COMMAND(heads),
    .usage = "[OPTIONS] TEXT",
    .ways = "--by pair, --from-weights, --items FILE",
    .examples = "  attn-cli heads -m fable --by pair --limit 3 \"The keys to the cabinet\"\n"
                "  attn-cli heads -m fable --from it --to cat --sort weight \"The cat said it\"\n"
                "  attn-cli heads -m fable --items agreement.csv --group-by number --sort weight\n"
                "  attn-cli heads -m fable --items lines.txt --items-format lines \\\n"
                "    --figure map --pdf a.pdf\n",
    .lacks_own = "probe|runs",
    .ask = ask,
    .own_size = sizeof(struct heads_data),
    .release = release_data,
};

const struct command command_probe = {
    .name = "probe",
    .question = &attn_question_heads,
    .summary = "induction and retrieval heads, found with random tokens",
    .usage = "[OPTIONS] KIND",
    .description =
        "Measures the heads, as `attn-cli heads` does, on random tokens, not on a text.\n"
        "KIND is one of these:\n"
        "\n"
        "  induction[:LEN[:REPEATS[:SEED]]]  LEN tokens (50), repeated (2): a head that\n"
        "      finds what followed the first time is an induction head\n"
        "  needle[:LEN[:DEPTH[:SEED]]]  LEN tokens (1000), and 8 of them, those from\n"
        "      DEPTH on (0.5; 0 to 1), again: a head that finds the next one in a long\n"
        "      context is a retrieval head\n"
        "  texts  texts that the model writes: the types of heads in views are of these\n"
        "\n"
        "LEN is less in a small context or vocabulary. No token can be guessed from what\n"
        "the model knows, so the numbers say what the head itself does. They do not say\n"
        "that it does so in texts: `attn-cli heads` measures that. A model whose texts\n"
        "begin with a token such as <bos> gets it in front of the tokens;\n"
        "--special-tokens off leaves it out.\n",
    .examples = "  " PROBE_EXAMPLE "\n"
                "  attn-cli probe -m fable induction --runs 5 --sort induction --limit 3\n"
                "  attn-cli probe -m fable needle:20 --sort retrieval --limit 3\n",
    OPTION_PARTS(probe_parts),
    .lacks = "special|prompt-name|max-input|positions|key-mask|patch|steer|project|rescale|"
             "knockout|mmproj|"
             "mask|scale|eps|similarity|masking|algorithm|dropout",
    .lacks_own = "by|from|to|pattern|effect|corrupted|from-weights|composition|svd|directions|top|"
                 "localize|keep|tower|drop-sinks|threshold|renormalize|shares|target|target-"
                 "id|foil|foil-id|at|metric",
    .lacks_columns = "picture|picture_0|picture_1|picture_2|picture_3|picture_4|picture_5|"
                     "picture_6|picture_7|picture_sinks|question|answer|other|spatial_entropy|"
                     "n_blob|patch_distance|locality|cls|registers|direct|ablated|patched|"
                     "patched_share|weight|percentile|change|bottom_row|kept|selected|right",
    .plain = "probe",
    .args_size = sizeof(struct question_args),
    .defaults = &question_args_default,
    .ask = probe,
};
