/* question.c - see question.h. */
#include "cmd/args/question.h"

#include "cmd/line/help.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/progress.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <string.h>

static const struct option_part input_parts[] = {
    {&prompt_text_options, offsetof(struct question_args, prompt)},
    {&prompt_options, offsetof(struct question_args, prompt)},
    {&special_options, offsetof(struct question_args, prompt)},
    {&prompt_numbers_options, offsetof(struct question_args, prompt)},
    {&source_options, offsetof(struct question_args, source)},
};

const struct option_group question_input_options = {OPTION_PARTS(input_parts)};

static const struct option texts_rows[] = {
    OPTION_TEXT("texts", "FILE", struct texts_args, path,
                "instead of one text, take those of FILE, JSON Lines with `text` or `ids`; '-' "
                "is standard input. Print means and standard deviations over texts, in which "
                "each text counts once"),
    OPTION_FLAG("lines", struct texts_args, is_lines, "each line of --texts is a text"),
};

const struct option_group texts_options = OPTION_GROUP("Input", texts_rows);

static const struct option_part picture_parts[] = {
    {&table_pictures_options, offsetof(struct question_args, tables)},
    {&table_shapes_options, offsetof(struct question_args, tables.picture)},
};

const struct option_group question_picture_options = {OPTION_PARTS(picture_parts)};

static const struct option_part parts[] = {
    {&model_options, offsetof(struct question_args, model)},
    {&weights_options, offsetof(struct question_args, model)},
    {&compute_options, offsetof(struct question_args, model)},
    {&attention_options, offsetof(struct question_args, attention)},
    {&dropout_options, offsetof(struct question_args, attention)},
    {&table_order_options, offsetof(struct question_args, tables)},
    {&tables_options, offsetof(struct question_args, tables.output)},
    {&running_options, offsetof(struct question_args, running)},
};

const struct option_group question_options = {OPTION_PARTS(parts)};

enum attn_status question_answer(struct question *question,
                                 enum attn_status (*work)(struct question *, struct attn_error *),
                                 struct attn_error *err)
{
    const struct question_args *args = question->args;
    enum attn_status status = ATTN_OK;

    if (help_is_asked(args->attention.kind))
        attention_kinds_print(question->call->out);
    else if (help_is_asked(args->tables.picture.colormap))
        colormaps_print(&args->tables.picture, question->call->out);
    else
        status = work(question, err);
    attn_table_free(question->table);
    input_release(&question->input);
    attn_texts_free(question->texts);
    items_close(&question->items);
    attn_mask_array_release(&question->mask);
    model_host_close(question->host);
    return status;
}

static void on_progress(void *user, size_t done, size_t total)
{
    const struct question *question = user;

    progress_show(question->unit ? question->unit : "runs", done, total);
}

enum attn_status question_open(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;

    ATTN_TRY(tables_check(&args->tables, err));
    if (tables_have_pictures(&args->tables) && !question->grid.rows)
        return refuse(err, "--csv and --json write it",
                      "this table cannot be drawn: a picture needs layers and heads, or layers and "
                      "positions");
    ATTN_TRY(attention_check(&args->attention, err));
    ATTN_TRY(model_open(&args->model, &args->running, question->reuse, &question->host, err));
    ATTN_TRY(outputs_check_model(&args->tables.output, question->host, err));
    ATTN_TRY(attention_change(&args->attention, &question->changed, &question->mask, err));
    question->request = ATTN_REQUEST_DEFAULT;
    prompt_say_special(&args->prompt, &question->request);
    question->request.attention.change = &question->changed;
    question->request.reading.example = question->example;
    question->request.on_note = args->running.is_quiet ? NULL : note_message;
    question->request.on_progress = on_progress;
    question->request.user = question;
    progress_begin(args->running.is_quiet);
    interrupt_catch();
    return ATTN_OK;
}

enum attn_status question_read(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;

    return input_read(&args->prompt, args->source, &question->input, &question->request, err);
}

enum attn_status texts_check(const struct texts_args *args, const struct prompt_args *prompt,
                             const char *example, struct attn_error *err)
{
    if (args->is_lines && !args->path)
        return refuse(err, NULL, "--lines needs --texts");
    if (args->path && prompt_is_given(prompt))
        return refuse(err, NULL, "a text and --texts are given, expected one of them");
    return args->path ? ATTN_OK : prompt_check(prompt, example, err);
}

enum attn_status question_begin(struct question *question, const struct texts_args *args,
                                const struct attn_input **items, size_t *n, struct attn_error *err)
{
    enum attn_status status;

    ATTN_TRY(texts_check(args, &question->args->prompt, question->example, err));
    if (!args->path) {
        ATTN_TRY(question_open(question, err));
        return question_read(question, err);
    }
    question->unit = "texts";
    question->reuse = true;
    ATTN_TRY(question_open(question, err));
    status = attn_texts_read(strcmp(args->path, "-") == 0 ? "/dev/stdin" : args->path,
                             args->is_lines ? ATTN_TEXTS_LINES : ATTN_TEXTS_JSON_LINES,
                             &question->texts, err);
    if (status == ATTN_FORMAT && !args->is_lines)
        attn_error_hint(err, "with --lines each line is a text");
    ATTN_TRY(status);
    *items = attn_texts_items(question->texts, n);
    return ATTN_OK;
}

enum attn_status question_begin_items(struct question *question, const struct items_args *items,
                                      const struct texts_args *texts,
                                      const struct attn_study_args **study, struct attn_error *err)
{
    ATTN_TRY(
        items_open(items, &question->args->prompt, texts && texts->path, &question->items, err));
    if (!items->path)
        return ATTN_OK;
    question->items.args.lists_labels = question->args->running.is_verbose;
    question->unit = "items";
    question->reuse = true;
    ATTN_TRY(question_open(question, err));
    *study = &question->items.args;
    return ATTN_OK;
}

enum attn_status question_write(struct question *question, struct attn_error *err)
{
    const struct tables_args *tables = &question->args->tables;
    const struct attn_study_sum *sum = &question->items.sum;
    const enum attn_status sorted = tables_sort(tables, sum->n_label, &question->table, err);
    struct attn_table_grid grid = question->grid;
    struct attn_error unseen; /* after the first failure */

    if (question->host)
        grid.model = attn_model_name(attn_host_model(question->host));
    grid.text = question->request.input.text;
    grid.n_text = question->request.input.n_text;
    progress_clear();
    if (sorted == ATTN_OK || question->texts || question->items.items)
        ATTN_TRY(tables_write(tables, question->table, grid.rows ? &grid : NULL,
                              question->call->out, sorted == ATTN_OK ? err : &unseen));
    if (sorted != ATTN_OK)
        attn_sink_flush(question->call->out); /* what is there stays after a failure */
    if (sorted != ATTN_OK || !question->items.items)
        return sorted;
    if (!outputs_are_wanted(&tables->output))
        items_write_sum(&question->items, question->call->out);
    if (sum->n_failed > 0 && question->items.args.max_failed < 0)
        question->call->exit_code = EXIT_FAILED_RECORDS;
    return ATTN_OK;
}

bool question_is_noted(const struct question *question)
{
    return !question->args->running.is_quiet;
}
