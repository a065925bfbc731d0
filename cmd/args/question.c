/* question.c - see question.h. */
#include "cmd/args/question.h"

#include "cmd/args/hosting.h"
#include "cmd/line/help.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/print.h"
#include "cmd/line/progress.h"
#include "cmd/line/report.h"

static void on_note(void *user, const char *message)
{
    (void)user;
    note("%s", message);
}

static void on_progress(void *user, size_t done, size_t total)
{
    const struct question *question = user;
    progress_show(question->unit ? question->unit : "runs", done, total);
}

int question_parse(struct question *question, int argc, char **argv, void *args)
{
    int code = options_parse(question->command, argc, argv, args);
    if (code != OPTIONS_OK)
        return code;
    const char *colormap = question->args->tables.picture.colormap;
    code = print_open(&question->out);
    if (code != EXIT_DONE)
        return code;
    if (help_is_asked(question->args->attention.kind))
        attention_kinds_print(question->out);
    else if (help_is_asked(colormap))
        colormaps_print(&question->args->tables.picture, question->out);
    else
        return OPTIONS_OK;
    return EXIT_DONE;
}

int question_open(struct question *question)
{
    const struct question_args *args = question->args;
    struct hosting hosting = {.load = (enum attn_load)args->model.load,
                              .compute = args->model.compute,
                              .reuse = question->reuse,
                              .running = &args->running};
    struct model_source source;
    int code = tables_check(&args->tables);
    if (code == EXIT_DONE && tables_have_pictures(&args->tables) && !question->grid.rows)
        code = report_problem(EXIT_USAGE, "--csv and --json write it",
                              "this table cannot be drawn: a picture needs layers and heads, or "
                              "layers and positions");
    if (code == EXIT_DONE)
        code = attention_check(&args->attention);
    if (code == EXIT_DONE)
        code = model_source_find(&args->model, &args->running, &source);
    if (code != EXIT_DONE)
        return code;
    hosting.source = &source.source;
    code = hosting_open(&hosting, &question->host);
    if (code == EXIT_DONE)
        code = tables_check_model(&args->tables, question->host);
    if (code == EXIT_DONE)
        code = attention_change(&args->attention, &question->changed, &question->mask);
    question->request = ATTN_REQUEST_DEFAULT;
    prompt_say_special(&args->prompt, &question->request);
    question->request.attention.change = &question->changed;
    question->request.reading.example = question->example;
    question->request.on_note = args->running.is_quiet ? NULL : on_note;
    question->request.on_progress = on_progress;
    question->request.user = question;
    progress_begin(args->running.is_quiet);
    interrupt_catch();
    return code;
}

int question_read(struct question *question)
{
    const struct question_args *args = question->args;
    return input_read(&args->prompt, args->source, &question->input, &question->request);
}

int question_begin(struct question *question, const struct texts_args *args,
                   const struct attn_input **items, size_t *n)
{
    int code = texts_check(args, &question->args->prompt, question->example);
    if (args->path) {
        question->unit = "texts";
        question->reuse = true;
    }
    if (code == EXIT_DONE)
        code = question_open(question);
    if (code == EXIT_DONE)
        code = args->path ? texts_read(args, &question->texts, items, n) : question_read(question);
    return code;
}

int question_write(const struct question *question, const struct attn_table *table)
{
    struct attn_table_grid grid = question->grid;
    if (question->host)
        grid.model = attn_model_name(attn_host_model(question->host));
    grid.text = question->request.input.text;
    grid.n_text = question->request.input.n_text;
    progress_clear();
    return tables_write(&question->args->tables, table, grid.rows ? &grid : NULL, question->out);
}

int question_close(struct question *question, int code)
{
    progress_clear();
    input_release(&question->input);
    attn_texts_free(question->texts);
    attn_mask_array_release(&question->mask);
    hosting_close(question->host);
    text_list_release(&question->args->prompt.plain);
    return print_close(question->out, code);
}
