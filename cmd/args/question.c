#include "cmd/args/question.h"

#include "cmd/line/help.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/progress.h"
#include "cmd/line/report.h"

#include "parts.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 10 }; /* rows of a ranked table on a terminal */

const struct attn_param_part question_parts[] = {QUESTION_PARTS};

const struct question_args question_args_default = QUESTION_ARGS_DEFAULT;

/* Handles STATUS of the work. It is a success if the reader of --each closed its pipe. If the file
 * can be continued, notes how. */
static enum attn_status end_each(struct question *question, enum attn_status status,
                                 struct attn_error *err)
{
    const struct attn_each_result *result = &question->items.each_result;
    char count[ATTN_QUANTITY_SIZE];

    if (status == ATTN_OK || !question->items.args.each)
        return status;
    if (result->is_abandoned) {
        *err = (struct attn_error){0};
        return ATTN_OK;
    }
    if (result->can_resume && question_is_noted(question))
        snprintf(question->call->last_note, sizeof question->call->last_note,
                 "--resume continues at item %s", /* its rows are compared with those of the file */
                 attn_quantity_count(result->n_item > 0 ? result->n_item - 1 : 0, count));
    return status;
}

/* Sets the example to the first one of the command. */
static void find_example(struct question *question)
{
    const char *examples = command_example_lines(question->call->command);

    if (!examples)
        return;
    examples += strspn(examples, " ");
    snprintf(question->first_example, sizeof question->first_example, "%.*s",
             (int)strcspn(examples, "\n"), examples);
    question->example = question->first_example;
}

static void release(struct question *question)
{
    const struct command *command = question->call->command;

    attn_table_free(question->table);
    attn_table_free(question->unsorted);
    attn_table_free(question->drawn);
    attn_result_release(&question->tensors.result);
    attn_run_free(question->tensors.run);
    asked_release(&question->asked);
    free(question->tensors.options);
    free(question->tensors.outputs);
    text_release(&question->text);
    items_close(&question->items);
    if (command->release)
        command->release(question->own);
    free(question->own);
    attn_attention_args_release(&question->attention);
    attn_edit_texts_release(&question->edits);
    model_host_close(question->host);
}

/* Adds the text of `foil` to the labels, unless it is one of them or the number of one. */
static enum attn_status label_foil(struct call *call, struct attn_request *asked,
                                   struct attn_error *err)
{
    const struct attn_request_predict *predict = &asked->predict;
    const char *foil = option_is_of(call->command, "foil") ? option_text(call, "foil") : NULL;
    struct option_walk label = {.command = call->command};
    int64_t number;

    if (!foil || predict->n_label == 0 ||
        attn_parse_int(foil, strlen(foil), 0, (int64_t)predict->n_label - 1, &number))
        return ATTN_OK;
    for (size_t i = 0; i < predict->n_label; i++)
        if (strcmp(predict->labels[i], foil) == 0)
            return ATTN_OK;
    while (option_next(&label))
        if (label.name && strcmp(label.name, "label") == 0)
            return attn_param_set(label.param, asked, "--foil", foil, err);
    return ATTN_OK;
}

enum attn_status question_answer(struct call *call, struct attn_error *err)
{
    const struct question_args *args = call->args;
    const struct command *command = call->command;
    const struct attn_question *row = command->question;
    struct question question = {.call = call,
                                .args = args,
                                .how = call->how,
                                .edits = args->edits,
                                .attention = args->attention};
    enum attn_status status = ATTN_OK;

    ATTN_TRY(label_foil(call, &((struct question_args *)call->args)->prompt.asked, err));
    question.own = calloc(1, command->own_size + 1);
    if (!question.own)
        return attn_error_no_memory(err);
    find_example(&question);
    prompt_fill(&args->prompt, &question.request);
    if (row && (row->procedure || row->choose))
        question.name = row->name;
    stopwatch_note(&question.tensors.watch, &args->running, NULL);
    if (command->print_sites && help_is_asked(args->prompt.asked.selection.sites))
        command->print_sites(call->out);
    else if (help_is_asked(args->attention.kind))
        attention_kinds_print(call->out);
    else if (!colormaps_print(call, &args->tables.picture))
        status = end_each(&question, command->ask(&question, err), err);
    if (status == ATTN_OK && question.items.sum.n_failed > 0 && question.items.args.max_errors < 0)
        call->exit_code = EXIT_FAILED_ITEMS;
    release(&question);
    return status;
}

/* Notes how long all takes, and, if IS_FIRST, what takes less. */
static void note_time(const struct question *question, size_t done, size_t total, double left,
                      bool is_first)
{
    const struct attn_question *row = question->call->command->question;
    const char *quicker =
        is_first && row && row->quicker &&
                row->has_quicker(question->host, &question->request, question->how)
            ? row->quicker
            : NULL;
    char took[PROGRESS_TIME_SIZE], all[PROGRESS_TIME_SIZE];

    note("%zu of %zu %s took %s, all take about %s%s%s", done, total, question->unit,
         progress_time(progress_seconds(), took), progress_time(progress_seconds() + left, all),
         quicker ? "; " : "", quicker ? quicker : "");
}

void question_on_progress(void *user, size_t done, size_t total)
{
    struct question *question = user;
    double left;
    bool is_first;

    question->unit = question->unit ? question->unit : "runs";
    question->is_counting = done < total;
    left = progress_left(question->unit, done, total);
    progress_show(question->unit, done, total, left);
    if (done > 0 && done < total && progress_is_long(left, &is_first))
        note_time(question, done, total, left, is_first);
}

void question_on_part(void *user, size_t done, size_t total)
{
    const struct question *question = user;

    if (done >= total)
        progress_clear();
    else if (!question->is_counting)
        progress_show("", done, total, progress_left("", done, total));
}

/* Finds what a picture of TABLE shows. TABLE is NULL while there is no table yet. */
static enum attn_status find_picture(struct question *question, const struct attn_table *table,
                                     struct attn_error *err)
{
    const struct attn_question_call asked = {question->name, question->host, &question->request,
                                             question->how};

    return asked.question ? attn_question_picture(&asked, table, &question->picture, err) : ATTN_OK;
}

/* Whether there may be a picture: that of the command line, or of items or records. */
static bool may_read_pictures(const struct question *question)
{
    const struct question_args *args = question->args;
    const struct command *command = question->call->command;

    return option_is_of(command, "image")
               ? args->prompt.asked.input.image || args->items.asked.items.path
               : option_is_of(command, "image-tiles");
}

enum attn_status question_open_model(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    struct model_args model = args->model;

    ATTN_TRY(model_check_projector(question->call, may_read_pictures(question), err));
    ATTN_TRY(model_source_find(&args->model, &args->running, &question->source, err));
    if (args->prompt.asked.input.image && model.tower == ATTN_TOWER_TEXT)
        model.tower = ATTN_TOWER_OF_INPUT;
    ATTN_TRY(model_host_open(&question->source.source, &model, &args->running, question->reuse,
                             &question->host, err));
    ATTN_TRY(model_check_tower(&model, attn_model_config(attn_host_model(question->host)), err));
    question->request.reading.example = question->example;
    return outputs_check_model(&args->tables.output, question->host, err);
}

enum attn_status question_open(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;

    ATTN_TRY(find_picture(question, NULL, err));
    ATTN_TRY(tables_check(question->call, &args->tables, question->picture.view.figure, err));
    if (tables_have_pictures(&args->tables) && question->picture.view.rows == 0)
        return refuse(err, "--csv and --json write it",
                      "this table cannot be drawn: a picture needs layers and heads, or layers and "
                      "positions");
    ATTN_TRY(attn_attention_args_check(&question->attention, err));
    if (!question->has_place_rows &&
        !(question->call->command->question && question->call->command->question->has_place_rows))
        ATTN_TRY(places_check(question->call, err));
    ATTN_TRY(question_open_model(question, err));
    ATTN_TRY(attn_attention_args_open(&question->attention, err));
    question->request.attention.change = &question->attention.change;
    question->request.on_note = args->running.is_quiet ? NULL : note_message;
    question->request.on_progress = question_on_progress;
    question->request.on_part = question_on_part;
    question->request.user = question;
    ATTN_TRY(edits_read(&question->edits, &args->places, question->host, &question->request, err));
    progress_begin(args->running.is_quiet);
    interrupt_catch();
    return ATTN_OK;
}

enum attn_status question_read(struct question *question, struct attn_error *err)
{
    return prompt_read_into(&question->args->prompt, &question->text, &question->request, err);
}

/* Refuses a table that would be written to PATH of --each, where the lines of items go. */
static enum attn_status check_each(const struct question *question, const char *path,
                                   struct attn_error *err)
{
    const struct tables_args *tables = &question->args->tables;
    const bool is_standard = strcmp(path, "-") == 0;
    bool is_used = false;

    for (struct output_walk walk = {.args = &tables->output, .standard = question->call->out};
         output_next(&walk);) {
        if (walk.output.path && strcmp(walk.output.path, path) == 0)
            return refuse(err, NULL, "'%s' is the file of `each` and of `%s`", path,
                          walk.output.format->name);
        is_used = is_used || (is_standard && !walk.output.path);
    }
    return is_used ? refuse(err, "--each FILE writes the lines of items to a file",
                            "two outputs go to standard output")
                   : ATTN_OK;
}

enum attn_status question_begin_pair(struct question *question, struct attn_input *corrupted,
                                     const char *example, struct attn_error *err)
{
    const struct question_args *args = question->call->args;
    const struct attn_input *clean = &args->prompt.asked.input;
    const bool is_one =
        !args->items.asked.items.path && !clean->image; /* two pictures may follow */

    if (is_one && !clean->text && !clean->ids)
        return refuse(err, example, "`clean` is not given");
    if (is_one && !option_find_given(question->call, "corrupted|corrupted-ids"))
        return refuse(err, example, "`corrupted` is not given");
    ATTN_TRY(question_begin_items(question, err));
    if (question->study)
        return ATTN_OK;
    ATTN_TRY(question_open(question, err));
    attn_input_share(&question->request.input, corrupted);
    attn_input_share_prompt(&question->request.input, corrupted);
    return ATTN_OK;
}

enum attn_status question_begin_items(struct question *question, struct attn_error *err)
{
    const struct items_args *items = &question->args->items;
    const struct attn_question *row = question->call->command->question;

    ATTN_TRY(items_open(question->call, items, &question->args->prompt, &question->items, err));
    if (!items->asked.items.path)
        return ATTN_OK;
    question->items.args.lists_labels = question->args->running.is_verbose;
    question->items.args.sort = question->args->tables.order.sort;
    question->items.args.columns = question->args->tables.order.columns;
    question->items.args.where = question->args->tables.order.where;
    question->items.args.n_where = question->args->tables.order.n_where;
    question->items.args.is_narrow = !tables_have_pictures(&question->args->tables);
    question->items.args.is_read = !outputs_are_wanted(&question->args->tables.output);
    question->unit = "items";
    question->reuse = true;
    if (items->asked.each.path)
        ATTN_TRY(check_each(question, items->asked.each.path, err));
    question->study = &question->items.args;
    if (row)
        memcpy((char *)question->how + row->study, &question->study, sizeof question->study);
    ATTN_TRY(question_open(question, err));
    items_ask_each(items, question->call, &question->items);
    return ATTN_OK;
}

enum attn_status question_begin(struct question *question, struct attn_error *err)
{
    ATTN_TRY(question_begin_items(question, err));
    if (question->study)
        return ATTN_OK;
    ATTN_TRY(prompt_check(question->call, &question->args->prompt, question->example, err));
    ATTN_TRY(question_open(question, err));
    return question_read(question, err);
}

/* Draws TABLE as the pictures of ARGS. OUT is standard output. Without --column, the column of
 * PICTURE is drawn. */
static enum attn_status draw_tables(const struct tables_args *args, const struct attn_table *table,
                                    const struct attn_table_picture *picture,
                                    const struct tables_run *run, struct attn_sink *out,
                                    struct attn_error *err)
{
    struct attn_table_picture drawn = *picture;
    struct attn_picture_options options;

    picture_find(&args->picture, false, &options);
    options.on_note = run->on_note;
    if (args->order.sort || args->order.n_most > 0)
        drawn.view.traits |= ATTN_VIEW_ORDERED;
    if (args->column)
        ATTN_TRY(attn_table_picture_show(&drawn, table, args->column, err));
    for (struct output_walk walk = {.args = &args->output, .standard = out}; output_next(&walk);)
        if (run->request && walk.output.format == attn_format_find("html")) {
            struct attn_request request = *run->request;

            request.outputs = (struct attn_request_outputs){
                .items = &walk.output, .n = 1, .precision = -1, .picture = &options};
            ATTN_TRY(attn_run_table_page(run->host, &request, table, &drawn, err));
        } else if (walk.output.format->is_picture)
            ATTN_TRY(attn_table_picture_write(table, &drawn, &options, &walk.output, err));
    return ATTN_OK;
}

/* Draws the table. Groups are drawn side by side, so they must have the same rows in a picture. */
static enum attn_status draw_table(const struct question *question, struct attn_error *err)
{
    const struct tables_args *tables = &question->args->tables;
    const struct attn_input *input = &question->request.input;
    const struct attn_table *table = question->drawn ? question->drawn : question->table;
    const struct attn_table_picture *picture = &question->picture;
    struct attn_table *joint = NULL;
    const bool is_one = question->host && (input->text || input->ids || input->image);
    const struct tables_run run = {question->host, is_one ? &question->request : NULL,
                                   question->request.on_note};
    enum attn_status status = ATTN_OK;

    if (question->unsorted && picture->n_label > 0)
        status = tables_sort_copy(tables, picture->n_label, true, question->unsorted, &joint, err);
    table = joint ? joint : table;
    ATTN_THEN(status, draw_tables(tables, table, picture, &run, question->call->out, err));
    attn_table_free(joint);
    return status;
}

static enum attn_status write_table(const struct question *question, struct attn_error *err)
{
    const struct tables_args *tables = &question->args->tables;
    struct attn_table_picture written = question->picture;
    const bool is_whole = tables_are_chosen(tables) || tables_limit(question->call, tables) > 0 ||
                          (written.view.traits & ATTN_VIEW_SEQUENCE) != 0;

    if (tables_have_pictures(tables) && written.view.rows > 0)
        ATTN_TRY(draw_table(question, err));
    if (question->drawn)
        written.view.values = 0; /* it names a column of the other table */
    return tables_write(tables, question->table, &written, is_whole ? 0 : LARGEST,
                        question->call->out, err);
}

static enum attn_status sort_table(struct question *question, struct attn_error *err)
{
    struct attn_table *sorted;

    ATTN_TRY(tables_sort_copy(&question->args->tables, question->items.sum.n_label, false,
                              question->table, &sorted, err));
    if (!sorted)
        return ATTN_OK;
    attn_table_free(question->unsorted);
    question->unsorted = question->table;
    question->table = sorted;
    return ATTN_OK;
}

/* Sorts and writes the table. */
static enum attn_status write_answer(struct question *question, struct attn_error *err)
{
    const struct tables_args *tables = &question->args->tables;
    const struct attn_study_sum *sum = &question->items.sum;
    const bool has_items = question->items.items;
    struct attn_error unseen = {0}; /* for further failures, which are not reported */
    enum attn_status sorted;
    bool is_shown = true; /* false if the lines of items are written to standard output */

    sorted = sort_table(question, err);
    if (has_items && sum->n_failed == sum->n_item && tables_have_pictures(tables))
        return at_stage(
            ATTN_STAGE_INPUT,
            attn_error_set(err, ATTN_INVALID, "no item has a result, and there is nothing to draw"),
            err);
    progress_clear();
    if (items_take_standard(&question->items) && !outputs_are_wanted(&tables->output))
        is_shown = false;
    if (is_shown && /* only programs need a heading without rows */
        (!has_items || attn_table_n_row(question->table) > 0 ||
         outputs_are_wanted(&tables->output)) &&
        (sorted == ATTN_OK || has_items))
        ATTN_TRY(write_table(question, sorted == ATTN_OK ? err : &unseen));
    if (sorted != ATTN_OK)
        attn_sink_flush(question->call->out); /* print the table even after a failure */
    if (sorted != ATTN_OK || !has_items)
        return sorted;
    if (is_shown && !outputs_are_wanted(&tables->output))
        items_write_sum(&question->items, question->call->out);
    return ATTN_OK;
}

/* Sorts and writes the table of one text, whose tokens label the positions in pictures. */
static enum attn_status write_labelled(struct question *question, struct attn_error *err)
{
    struct attn_request request = question->request;
    struct attn_run *run = NULL;
    enum attn_status status;

    request.on_note = NULL; /* the question has already printed these notes */
    request.edits = (struct attn_request_edits){0}; /* the labels do not depend on edits */
    request.selection.sites = NULL;
    ATTN_TRY(attn_run_prepare(question->host, &request, &run, err));
    question->picture.run = attn_run_labels(run);
    status = write_answer(question, err);
    attn_run_free(run);
    return status;
}

enum attn_status question_write(struct question *question, struct attn_error *err)
{
    ATTN_TRY(find_picture(question, question->drawn ? question->drawn : question->table, err));
    return tables_have_pictures(&question->args->tables) && !question->study &&
                   (question->picture.view.traits & ATTN_VIEW_TOKENS) != 0
               ? write_labelled(question, err)
               : write_answer(question, err);
}

/* Tokens that the metric does not use. */
static const struct attn_param_rule answer_rules[] = {
    {.given = "foil|foil_id",
     .when = "metric:log_prob|metric:logit|metric:prob|metric:kl|metric:ce",
     .message = "@ has no effect on #",
     .hint = "`metric logit_diff` compares it"},
    {.given = "target|target_id", .when = "metric:kl|metric:ce", .message = "@ has no effect on #"},
};

enum attn_status question_check(const struct question *question, struct attn_error *err)
{
    static const struct attn_param_rules rules = {answer_rules,
                                                  sizeof answer_rules / sizeof *answer_rules};

    ATTN_TRY(attn_question_check(question->call->command->question, option_is_param_given,
                                 question->call, err));
    return attn_param_rules_check(&rules, ATTN_PARAM_GIVEN, option_is_param_given, question->call,
                                  err);
}

bool question_is_noted(const struct question *question)
{
    return !question->args->running.is_quiet;
}

bool question_has_sum(const struct question *question, size_t n)
{
    const struct attn_items_args *asked = &question->args->items.asked;

    return question_is_noted(question) &&
           (!question->study ||
            (n > 0 && !asked->study.group_by && !asked->study.paired && !asked->each.is_resumed));
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct attn_question_call asked = {
        .question = question->name, .request = &question->request, .args = question->how};

    ATTN_TRY(question_check(question, err));
    ATTN_TRY(question_begin(question, err));
    asked.host = question->host;
    ATTN_TRY(attn_question_ask(&asked, &question->table, NULL, err));
    return question_write(question, err);
}

#define COMMAND_ROW(which) {QUESTION_COMMAND(which), .usage = "[OPTIONS] TEXT", .ask = work},
const struct command question_commands[] = {ATTN_QUESTION_MAP(COMMAND_ROW)};
#undef COMMAND_ROW

/* --- Listings --------------------------------------------------------------------------------- */

/* Refuses options of CALL that only apply to one text. */
static enum attn_status check_options(const struct call *call, const char *headings,
                                      const char *names, struct attn_error *err)
{
    static const char known_headings[] = "Items|Model|Compute|Attention|Interventions|Other";
    static const char known_names[] =
        "special|special-tokens|prompt-name|max-input|source|source-"
        "file|continuation|chat|system|messages|"
        "tower|tiles|image-tiles|csv|json|jsonl|max-errors|resume|shard";

    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *name = walk.name;
        char label[OPTION_LABEL_SIZE];

        if (!name || !option_is_typed(call, &walk) || word_find(known_names, name) >= 0 ||
            word_find(names, name) >= 0)
            continue;
        if (word_find(known_headings, walk.heading) < 0 && word_find(headings, walk.heading) < 0)
            return refuse(err, NULL, "%s goes with one text, not with `items`",
                          option_label(&walk, label));
    }
    return ATTN_OK;
}

enum attn_status listing_begin(struct question *question, const struct listing *listing,
                               struct attn_error *err)
{
    static const char *const formats[] = {"csv", "json", "jsonl"};
    struct question_args *args = question->call->args;
    const char *found = NULL, *path = NULL;

    ATTN_TRY(check_options(question->call, listing->headings, listing->names, err));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!output_path(&args->tables.output, formats[i]))
            continue;
        if (found)
            return refuse(err, NULL, "`%s` and `%s` are given, expected one of them with `items`",
                          found, formats[i]);
        found = formats[i];
        path = output_path(&args->tables.output, found);
        ATTN_TRY(attn_format_check_name(attn_format_find(found), found, path, false, err));
    }
    args->items.is_listed = true;
    args->items.asked.each.path = found || listing->has_no_rows ? path : "-";
    args->tables = (struct tables_args)TABLES_ARGS_DEFAULT; /* items have no table */
    ATTN_TRY(question_begin_items(question, err));
    question->items.each.form = !found || found[0] != 'j'    ? ATTN_EACH_CSV
                                : strcmp(found, "json") == 0 ? ATTN_EACH_DOCUMENT
                                : listing->has_records       ? ATTN_EACH_RECORDS
                                                             : ATTN_EACH_JSON_LINES;
    return ATTN_OK;
}
