/* align.c - attn-cli align: finds which source word belongs to which word. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

#include <string.h>

#define EXAMPLE "attn-cli align -m interpreter --source \"The cat sat\" \"猫 坐\""

/* Decides where the links of items are written, one by one: to standard output, or as rows to the
 * file of --csv or --jsonl. Sets *form to their format. */
static enum attn_status list_links(struct question_args *args, struct question *question,
                                   enum attn_each_form *form, struct attn_error *err)
{
    struct tables_args *tables = &args->tables;
    const char *csv = output_path(&tables->output, "csv");
    const char *jsonl = output_path(&tables->output, "jsonl");
    const char *npz = option_text(question->call, "npz");
    const char *other =
        option_find_given(question->call, "json|latex|markdown|precision|sort|limit|group-by");

    if (other)
        return refuse(err, NULL, "`%s` needs `evaluate`: each item has its own links", other);
    if (!!csv + !!jsonl + !!npz > 1)
        return refuse(err, NULL, "`csv`, `jsonl` and `npz`: expected one of them");
    args->items.is_listed = true;
    args->items.asked.each.path = csv ? csv : jsonl ? jsonl : npz ? npz : "-";
    tables->output.paths = (struct format_paths){.of = {NULL}};
    *form = csv     ? ATTN_EACH_CSV
            : jsonl ? ATTN_EACH_JSON_LINES
            : npz   ? ATTN_EACH_MATRICES
                    : ATTN_EACH_TEXTS;
    return ATTN_OK;
}

/* Opens the host, and the items or the two texts. */
static enum attn_status open_inputs(struct question *question, struct attn_error *err)
{
    struct question_args *args = question->call->args;
    const struct attn_align_args *how = question->how;
    enum attn_each_form form = ATTN_EACH_CSV;

    if (args->items.asked.items.path && !how->evaluates)
        ATTN_TRY(list_links(args, question, &form, err));
    ATTN_TRY(question_begin_items(question, err));
    question->items.each.form = form;
    if (question->study)
        return ATTN_OK;
    if (!attn_input_is_given(&args->prompt.asked.source))
        return refuse(err, EXAMPLE, "expected a `source` or `items`");
    ATTN_TRY(prompt_check(question->call, &args->prompt, EXAMPLE, err));
    ATTN_TRY(question_open(question, err));
    return question_read(question, err);
}

/* Finds when each token was spoken, from an array of cross-attention. */
static enum attn_status find_times(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->call->args;
    const char *times = option_text(question->call, "times");
    struct attn_ndarray weights = {0};
    const char *other = option_find_under(
        question->call, "Input|Items|Alignment|Figures|Model|Compute|Attention|Interventions",
        "times");
    enum attn_status status;

    question->name = NULL; /* this table has no pictures */
    if (other || args->prompt.plain.n > 0)
        return refuse(err, NULL, "%s%s%s has no effect with `times`, which reads an array",
                      other ? "`" : "", other ? other : "a text", other ? "`" : "");
    ATTN_TRY(at_stage(ATTN_STAGE_INPUT, attn_ndarray_read(times, 2, 3, "[H, T, S]", &weights, err),
                      err));
    status = at_stage(ATTN_STAGE_INPUT, attn_token_times(&weights, &question->table, err), err);
    attn_ndarray_release(&weights);
    return status == ATTN_OK ? question_write(question, err) : status;
}

static enum attn_status score_links(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->call->args;
    const struct attn_align_args *how = question->how;
    const char *links = option_text(question->call, "links");
    const char *other = option_find_under(
        question->call, "Input|Items|Alignment|Figures|Model|Compute|Attention|Interventions",
        "links|evaluate|gold");
    enum attn_status status;

    question->name = NULL; /* this table has no pictures */
    if (other || args->prompt.plain.n > 0)
        status = refuse(err, NULL, "%s%s%s has no effect with `links`, which reads a file",
                        other ? "`" : "", other ? other : "a text", other ? "`" : "");
    else if (!how->evaluates || !how->gold)
        status = refuse(err, NULL, "`links` needs `evaluate` and `gold`");
    else
        status = at_stage(ATTN_STAGE_INPUT,
                          attn_link_scores(links, how->gold, &question->table, err), err);
    return status == ATTN_OK ? question_write(question, err) : status;
}

/* Finds when each word was spoken in a sound. */
static enum attn_status hear_words(struct question *question, struct attn_error *err)
{
    const struct attn_align_args *how = question->how;
    const char *other = option_find_under(question->call, "Alignment|Figures", "heads");

    question->name = NULL; /* this table has no pictures */
    if (other)
        return refuse(err, NULL, "`%s` has no effect on times of words in a sound", other);
    ATTN_TRY(attn_speech_times(question->host, &question->request, how->heads.text,
                               &question->table, err));
    return question_write(question, err);
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct question_args *args = question->call->args;
    const struct attn_input *source = &question->request.source;
    struct attn_align_args *how = question->how;
    struct attn_cell line;

    question->unit = "items";
    if (option_text(question->call, "times"))
        return find_times(question, err);
    if (option_text(question->call, "links"))
        return score_links(question, err);
    ATTN_TRY(question_check(question, err));
    how->is_soft = how->is_soft || option_text(question->call, "npz") ||
                   (tables_have_pictures(&args->tables) && !how->evaluates);
    ATTN_TRY(open_inputs(question, err));
    if (source->embeddings && source->embeddings->rank == 1)
        return hear_words(question, err);
    how->is_line = !how->evaluates && !how->is_soft &&
                   (how->study ? question->items.each.form == ATTN_EACH_TEXTS
                               : !option_find_given(question->call, "sort|limit") &&
                                     !outputs_are_wanted(&args->tables.output));
    ATTN_TRY(attn_align(question->host, &question->request, how, &question->table, err));
    if (!how->is_line || how->study)
        return question_write(question, err);
    line = attn_table_cell(question->table, 0, 0);
    attn_sink_write(question->call->out, line.text, line.size);
    print_text(question->call->out, "\n");
    return ATTN_OK;
}

const struct command command_align = {
    QUESTION_COMMAND(align),
    .usage = "[OPTIONS] --source TEXT TEXT",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli align -m interpreter --items pairs.jsonl --evaluate --shifted\n"
                "  attn-cli align -m bert --items pairs.jsonl --layers all --evaluate\n"
                "  attn-cli align -m whisper-tiny --source file:speech.wav \"Who wrote Faust?\"\n"
                "  attn-cli align --links fast_align.talp --gold gold.txt --evaluate\n"
                "  attn-cli align --template \"Say: {source}. {target}\" --items pairs.jsonl \\\n"
                "    --evaluate --sort ts\n",
    .lacks = "image|continuation|chat|system|messages|image-tiles|embeds|prompt-name|label|label-"
             "ids|label-image|"
             "pair|types|key-mask|"
             "paired|"
             "bootstrap|interval|"
             "cluster|contrast|"
             "fdr|each|resume",
    .ask = work,
};
