/* align.c - attn-cli align: which word is which. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <string.h>

#define EXAMPLE "attn-cli align -m interpreter --source \"The cat sat\" \"猫 坐\""

struct align_args {
    struct question_args question;
    struct attn_align_args how; /* `by`, `rows` and `unit` are put into it later */
    int by, rows, unit;         /* enum attn_align_by, enum attn_align_rows, 1: word */
    const char *times, *matrix; /* --times and --matrix, or NULL */
};

static const struct option align_rows[] = {
    OPTION_CHOICE("by", "auto|cross|hidden|attention", struct align_args, by,
                  "what links are made of: cross-attention, hidden states of an encoder, or the "
                  "attention of a decoder that reads both texts; default: auto, by the model"),
    OPTION_TEXT("layer", "L", struct align_args, how.layer,
                "the layer; of hidden states 0 is the embedding and L the output of block L - 1; "
                "with --score also all. Default: two thirds of the layers of hidden states and "
                "decoders, the last one of cross-attention; with --score all heads"),
    OPTION_TEXT("heads", "LIST", struct align_args, how.heads,
                "the heads whose mean makes links, as in 1.0,3.*; default: those of the layer"),
    OPTION_CHOICE("rows", "own|before|both", struct align_args, rows,
                  "the row of the matrix that belongs to a token: its own (default), or that of "
                  "the token before it, which predicts it; both: a row of the table for each"),
    OPTION_TEXT("method", "argmax|itermax|match|softmax[:T]", struct align_args, how.method,
                "how hidden states make links: argmax (default), each the most similar of the "
                "other; itermax, then once more among words that are free; match, the pairs with "
                "the largest sum; softmax, probable from both sides, above T (default: 0.001)"),
    OPTION_CHOICE("unit", "subword|word", struct align_args, unit,
                  "of hidden states: compare tokens, and link words of which any tokens are "
                  "linked (default), or compare the means of the tokens of words"),
    OPTION_TEXT("template", "TEXT", struct align_args, how.text_template,
                "of a decoder: the text that it reads, with {source} and {target} in it"),
    OPTION_FLAG("soft", struct align_args, how.is_soft,
                "a row for each pair of words, with its weight, whether it is a link, and S or P "
                "for a sure or a possible link of gold; pictures show these rows"),
    OPTION_TEXT("matrix", "FILE.npz", struct align_args, matrix,
                "with --items: write the weights [words of the source, words of the text] of item "
                "7 as 000000007/weight into FILE.npz, instead of lines"),
    OPTION_FLAG("score", struct align_args, how.has_score,
                "compare with links made by people, `gold` of each item: print precision, recall "
                "and alignment error rate; of a decoder how well each head finds the linked words"),
    OPTION_TEXT("gold", "FILE", struct align_args, how.gold,
                "read gold from FILE, a line for each item: 0-0 1-2 are sure links, 1p2 or 1?2 "
                "possible ones"),
    OPTION_FLAG("one-based", struct align_args, how.is_one_based, "words in gold count from 1"),
    OPTION_TEXT("times", "FILE.npy", struct align_args, times,
                "instead of texts: cross-attention [H, T, S] of the heads of a speech model that "
                "align, frames of 0.02 s; print when each token was spoken, as Whisper does"),
};

static const struct option_group align_options = OPTION_GROUP("Alignment", align_rows);

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct align_args, question)},
    {&align_options, 0},
    {&question_picture_options, offsetof(struct align_args, question)},
    {&question_options, offsetof(struct align_args, question)},
};

static enum attn_status align(struct call *call, struct attn_error *err);

const struct command command_align = {
    .name = "align",
    .summary = "which word of a source is which word of a text",
    .usage = "[OPTIONS] --source TEXT TEXT",
    .description =
        "Prints a line of links for a source and a text: 0-0 1-2 says that word 0 of the\n"
        "source is word 0 of the text, and word 1 word 2. With --items a line for each\n"
        "item that has source and text; the line of a failed item is empty. --csv and\n"
        "--jsonl have a row for each link, with its words and its weight.\n"
        "\n"
        "Links come from cross-attention (each word of the text, and the word of the\n"
        "source with the largest weight), from hidden states of an encoder that reads\n"
        "both texts (by cosine), or from a decoder that reads a template with both.\n"
        "--soft has all pairs of words, and pictures show them: rows of the text, columns\n"
        "of the source, with S and P where gold has a link.\n"
        "Words are separated by white space; items in other writing have the lists\n"
        "source_words and words.\n"
        "\n"
        "With --score and gold the table says how many links are right: precision,\n"
        "recall, and aer, the alignment error rate (Och and Ney 2003), for each head, so\n"
        "that the heads that align are found on data. Of a decoder: ts, the share of\n"
        "tokens whose largest weight is on a linked word, within, the same among the\n"
        "words of the source, mass, the weight there, and chance.\n"
        "\n"
        "Hidden states link what is similar, which need not be a translation.\n"
        "\n"
        "--times prints when each token of a transcript was spoken, from the weights of\n"
        "the heads that align, by dynamic time warping (Whisper's word times). Leave out\n"
        "of the array the rows of the prompt, and frames after the end of the sound.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli align -m interpreter --items pairs.jsonl --score --rows both\n"
                "  attn-cli align -m bert --items pairs.jsonl --layer all --score\n"
                "  attn-cli align --template \"Say: {source}. {target}\" --items pairs.jsonl \\\n"
                "    --score --sort ts\n",
    OPTION_PARTS(parts),
    .lacks = "image|embeds|with-prompt|label|label-ids|label-image|pair|types|key-mask|texts|lines|"
             "paired|"
             "bootstrap|interval|"
             "cluster|contrast|"
             "fdr|each|resume",
    .args_size = sizeof(struct align_args),
    .defaults = &(const struct align_args){.question = QUESTION_ARGS_DEFAULT,
                                           .how = {.size = sizeof(struct attn_align_args)}},
    .work = align,
};

/* Lets the lines of items go to standard output, or their rows to the file of --csv or --jsonl, in
 * *FORM. */
static enum attn_status list_links(struct align_args *args, struct question *question,
                                   enum attn_each_form *form, struct attn_error *err)
{
    struct tables_args *tables = &args->question.tables;
    const char *csv = output_path(&tables->output, "csv");
    const char *jsonl = output_path(&tables->output, "jsonl");
    const char *other =
        option_find_given(question->call, "json|latex|markdown|precision|sort|limit|group-by");

    if (other)
        return refuse(err, NULL, "--%s needs --score: each item has its own links", other);
    if (!!csv + !!jsonl + !!args->matrix > 1)
        return refuse(err, NULL, "--csv, --jsonl and --matrix: expected one of them");
    args->question.items.is_listed = true;
    args->question.items.each = csv ? csv : jsonl ? jsonl : args->matrix ? args->matrix : "-";
    tables->output.formats.n = 0;
    *form = csv            ? ATTN_EACH_CSV
            : jsonl        ? ATTN_EACH_JSON_LINES
            : args->matrix ? ATTN_EACH_MATRICES
                           : ATTN_EACH_TEXTS;
    return ATTN_OK;
}

/* Opens the host, and the items or two texts. */
static enum attn_status open_inputs(struct question *question, const struct attn_study_args **study,
                                    struct attn_error *err)
{
    struct align_args *args = question->call->args;
    enum attn_each_form form = ATTN_EACH_CSV;

    if (args->question.items.path && !args->how.has_score)
        ATTN_TRY(list_links(args, question, &form, err));
    ATTN_TRY(question_begin_items(question, study, err));
    question->items.each.form = form;
    if (*study)
        return ATTN_OK;
    if (!args->question.prompt.source && !args->question.prompt.source_ids)
        return refuse(err, EXAMPLE, "expected a --source, --source-ids or --items");
    ATTN_TRY(prompt_check(&args->question.prompt, EXAMPLE, err));
    ATTN_TRY(question_open(question, err));
    return question_read(question, err);
}

/* Finds when tokens were spoken, from an array. */
static enum attn_status find_times(struct question *question, struct attn_error *err)
{
    struct align_args *args = question->call->args;
    struct attn_ndarray weights = {0};
    const char *other = option_find_under(
        question->call, "Input|Items|Alignment|Pictures|Model|Precision|Attention|Interventions",
        "times");
    enum attn_status status;

    if (other || args->question.prompt.plain.n > 0)
        return refuse(err, NULL, "%s%s has no effect with --times, which reads an array",
                      other ? "--" : "", other ? other : "a text");
    ATTN_TRY(at_stage(ATTN_STAGE_INPUT,
                      attn_ndarray_read(args->times, 2, 3, "[H, T, S]", &weights, err), err));
    status = at_stage(ATTN_STAGE_INPUT, attn_token_times(&weights, &question->table, err), err);
    attn_ndarray_release(&weights);
    return status == ATTN_OK ? question_write(question, err) : status;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct align_args *args = question->call->args;
    struct attn_align_args *how = &args->how;
    struct attn_cell line;

    if (args->times)
        return find_times(question, err);
    if (args->matrix && (how->has_score || !args->question.items.path))
        return refuse(err, NULL, "--matrix needs --items, and does not go with --score");
    how->is_soft = how->is_soft || args->matrix ||
                   (tables_have_pictures(&args->question.tables) && !how->has_score);
    question->name = "align";
    question->how = how;
    ATTN_TRY(open_inputs(question, &how->study, err));
    how->by = (enum attn_align_by)args->by;
    how->is_line = !how->has_score && !how->is_soft &&
                   (how->study ? question->items.each.form == ATTN_EACH_TEXTS
                               : !option_find_given(question->call, "sort|limit") &&
                                     !outputs_are_wanted(&args->question.tables.output));
    how->is_by_word = args->unit == 1;
    how->rows = (enum attn_align_rows)args->rows;
    ATTN_TRY(attn_align(question->host, &question->request, how, &question->table, err));
    if (!how->is_line || how->study)
        return question_write(question, err);
    line = attn_table_cell(question->table, 0, 0);
    attn_sink_write(question->call->out, line.text, line.size);
    print_text(question->call->out, "\n");
    return ATTN_OK;
}

static enum attn_status align(struct call *call, struct attn_error *err)
{
    struct question question = {.call = call, .example = EXAMPLE, .unit = "items"};

    return question_answer(&question, work, err);
}
