/* run.c - attn-cli run: text in, attention out. */
#include "cmd/args/comparison.h"
#include "cmd/args/explain.h"
#include "cmd/args/input.h"
#include "cmd/args/model.h"
#include "cmd/args/prediction.h"
#include "cmd/args/prompt.h"
#include "cmd/args/request.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"

#include <string.h>

#define EXAMPLE "attn-cli run --sentence \"Life is short, eat dessert first\""

struct run_args {
    struct prompt_args prompt;
    const char *source; /* a text or a file */
    struct model_args model;
    struct request_args request;
    struct prediction_args prediction;
    struct ablation_args ablation;
};

static const struct option_part parts[] = {
    {&prompt_text_options, offsetof(struct run_args, prompt)},
    {&prompt_options, offsetof(struct run_args, prompt)},
    {&special_options, offsetof(struct run_args, prompt)},
    {&prompt_numbers_options, offsetof(struct run_args, prompt)},
    {&source_options, offsetof(struct run_args, source)},
    {&model_options, offsetof(struct run_args, model)},
    {&weights_options, offsetof(struct run_args, model)},
    {&compute_options, offsetof(struct run_args, model)},
    {&attention_options, offsetof(struct run_args, request.attention)},
    {&comparison_options, offsetof(struct run_args, request.is_compared)},
    {&selection_options, offsetof(struct run_args, request.selection)},
    {&view_options, offsetof(struct run_args, request.picture)},
    {&output_options, offsetof(struct run_args, request.output)},
    {&explain_options, offsetof(struct run_args, request.is_explained)},
    {&picture_options, offsetof(struct run_args, request.picture)},
    {&prediction_options, offsetof(struct run_args, prediction)},
    {&ablation_options, offsetof(struct run_args, ablation)},
    {&running_options, offsetof(struct run_args, request.running)},
    {&help_options, 0},
};

static int run_main(int argc, char **argv);

const struct command command_run = {
    .name = "run",
    .summary = "the attention of a model on a text",
    .usage = "[OPTIONS] TEXT",
    .description =
        "Runs a model over TEXT and shows the attention patterns and context vectors of\n"
        "its heads, as text on standard output. The options of 'Output' write them into\n"
        "files instead, one or several; '-' as FILE is standard output. --top and --next\n"
        "print predictions instead, --explain the arithmetic of one row, --compare a\n"
        "comparison with exact attention. Only what the output needs is computed.\n"
        "\n"
        "A pattern says where a head looks. It does not say what the head takes from\n"
        "there, nor whether that matters: `attn-cli ablate`, `patch` and `attribute`\n"
        "measure that.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli run -m fable --heads 2.2 --queries -1 \"The cat sat on the mat\"\n"
                "  attn-cli run -m fable --top 5 --next ' are' --next ' is' \"The keys\"\n"
                "  attn-cli run -m fable --sites 'pattern,resid_*' --npz all.npz -f text.txt\n"
                "  attn-cli run -m fable --heads 2.2 --queries -1 --explain \"The keys are\"\n"
                "  attn-cli run -m fable --attention window:4 --compare -f text.txt\n"
                "  attn-cli run -m fable --ablate 0.3,1.* --csv ablated -p \"The keys are\"\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = run_main,
};

static bool is_predicting(const struct run_args *args)
{
    return args->prediction.top > 0 || args->prediction.next.n > 0;
}

static int check(const struct run_args *args, struct served *served)
{
    int code = outputs_check_text(&args->request.output, &args->prompt);
    if (code == EXIT_DONE)
        code = prompt_check(&args->prompt, EXAMPLE);
    if (code == EXIT_DONE)
        code = request_check(served);
    if (code == EXIT_DONE && served->is_standard_used && is_predicting(args))
        code = outputs_check_predictions(&args->request.output);
    if (code == EXIT_DONE && !is_predicting(args) && !args->request.is_compared)
        code = outputs_check_tables(&args->request.output);
    return code;
}

static int perform(struct run_args *args, struct served *served)
{
    struct attn_error err = {0};
    struct attn_request *request = &served->request;
    struct model_source source;
    struct input input = {0};
    int code = check(args, served);
    if (code == EXIT_DONE)
        code = model_source_find(&args->model, &args->request.running, &source);
    if (code == EXIT_DONE)
        code = request_open_host(served, &source.source, (enum attn_load)args->model.load,
                                 args->model.compute);
    if (code == EXIT_DONE)
        code = input_read(&args->prompt, args->source, &input, request);
    request->reading.example = EXAMPLE;
    request->predict = (struct attn_request_predict){.top = (size_t)args->prediction.top,
                                                     .next = args->prediction.next.items,
                                                     .n_next = args->prediction.next.n};
    if (code == EXIT_DONE && ablation_fill(&args->ablation, served->host, request, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE)
        code = request_fill(served, NULL);
    if (code == EXIT_DONE)
        code = request_serve(served);
    if (code == EXIT_DONE && is_predicting(args))
        code = prediction_write(&served->result, &args->request.output, served->is_standard_used,
                                served->out);
    request_release(served);
    input_release(&input);
    return code;
}

static int run_main(int argc, char **argv)
{
    struct run_args args = {.request = REQUEST_ARGS_DEFAULT};
    struct served served = {
        .command = &command_run, .args = &args.request, .has_first_screen = true};
    int code = request_parse(&served, argc, argv, &args);
    if (served.out && !request_print_help(&served, sites_print))
        code = perform(&args, &served);
    text_list_release(&args.prompt.plain);
    ablation_release(&args.ablation);
    text_list_release(&args.prediction.next);
    return request_close(&served, code);
}
