/* generate.c - attn-cli generate: what comes next, and what it looked at. */
#include "cmd/args/hosting.h"
#include "cmd/args/input.h"
#include "cmd/args/model.h"
#include "cmd/args/prompt.h"
#include "cmd/args/request.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <string.h>
#include <unistd.h>

#define EXAMPLE "attn-cli generate -m fable -n 20 \"The keys to the cabinet\""

struct generate_args {
    struct prompt_args prompt;
    const char *source;
    struct model_args model;
    struct request_args request;
    struct ablation_args ablation;
    int64_t n_most; /* 0: not given */
    double temperature, top_p, min_p;
    int64_t top_k, seed;
    struct text_list stops;
};

static const struct option generate_rows[] = {
    {.name = "tokens",
     .letter = 'n',
     .argument = "N",
     .heading = "Generation",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct generate_args, n_most),
     .help = "number of tokens to make; default: 20. A token that ends a text (eos_token_id of "
             "generation_config.json, else config.json) stops earlier"},
    {.name = "temperature",
     .argument = "T",
     .heading = "Generation",
     .kind = OPTION_REAL,
     .offset = offsetof(struct generate_args, temperature),
     .help = "draw tokens at random, with logits divided by T; default: 0, always the most "
             "probable token"},
    {.name = "top-k",
     .argument = "K",
     .heading = "Generation",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct generate_args, top_k),
     .help = "draw from the K most probable tokens"},
    {.name = "top-p",
     .argument = "P",
     .heading = "Generation",
     .kind = OPTION_REAL,
     .offset = offsetof(struct generate_args, top_p),
     .help = "draw from the fewest tokens whose probabilities add to P"},
    {.name = "min-p",
     .argument = "P",
     .heading = "Generation",
     .kind = OPTION_REAL,
     .offset = offsetof(struct generate_args, min_p),
     .help = "draw from the tokens with at least P times the probability of the most probable one"},
    {.name = "seed",
     .argument = "S",
     .heading = "Generation",
     .kind = OPTION_NUMBER,
     .max = UINT32_MAX,
     .offset = offsetof(struct generate_args, seed),
     .help = "seed of the draws; default: 0. The same seed gives the same tokens on every machine"},
    {.name = "stop",
     .argument = "TEXT",
     .heading = "Generation",
     .kind = OPTION_LIST,
     .offset = offsetof(struct generate_args, stops),
     .help = "stop before TEXT; may be given several times"},
};

static const struct option_group generate_options = OPTION_GROUP(generate_rows);

static const struct option_part parts[] = {
    {&prompt_text_options, offsetof(struct generate_args, prompt)},
    {&prompt_options, offsetof(struct generate_args, prompt)},
    {&special_options, offsetof(struct generate_args, prompt)},
    {&prompt_numbers_options, offsetof(struct generate_args, prompt)},
    {&source_options, offsetof(struct generate_args, source)},
    {&generate_options, 0},
    {&model_options, offsetof(struct generate_args, model)},
    {&weights_options, offsetof(struct generate_args, model)},
    {&compute_options, offsetof(struct generate_args, model)},
    {&attention_step_options, offsetof(struct generate_args, request.attention)},
    {&selection_options, offsetof(struct generate_args, request.selection)},
    {&view_options, offsetof(struct generate_args, request.picture)},
    {&output_options, offsetof(struct generate_args, request.output)},
    {&picture_options, offsetof(struct generate_args, request.picture)},
    {&ablation_options, offsetof(struct generate_args, ablation)},
    {&running_options, offsetof(struct generate_args, request.running)},
    {&help_options, 0},
};

static int generate_main(int argc, char **argv);

const struct command command_generate = {
    .name = "generate",
    .summary = "what comes next, and what it looked at",
    .usage = "[OPTIONS] TEXT",
    .description =
        "Continues TEXT and prints each token as it is made: the most probable one, or\n"
        "with --temperature one drawn at random. Without a vocabulary it prints ids.\n"
        "--json FILE gives ids, tokens and log-probabilities. The other outputs are those\n"
        "of `run`, for prompt and answer as one text.\n"
        "\n"
        "The answer is what the model finds probable. It does not say what is true, and a\n"
        "matrix of the answer says where a token looked, not why it was chosen.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli generate -m fable --temperature 0.8 --top-k 40 \"Once upon a time\"\n"
                "  attn-cli generate -m fable --stop . --heads 2.2 --csv - \"The keys\"\n"
                "  attn-cli generate -m interpreter --source \"The cat sat on the mat\" \"\"\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = generate_main,
};

/* --- What is printed on the way --------------------------------------------------------------- */

/* Where tokens appear. */
struct stream {
    struct attn_sink *out; /* NULL: nowhere */
    bool is_terminal;
    bool has_ids; /* an id was printed */
};

static enum attn_status on_token(void *user, int32_t id, const char *text, size_t size,
                                 struct attn_error *err)
{
    struct stream *stream = user;
    (void)err;
    if (!stream->out)
        return ATTN_OK;
    if (!text && id >= 0) {
        print(stream->out, "%s%d", stream->has_ids ? " " : "", (int)id);
        stream->has_ids = true;
    } else if (text && stream->is_terminal) {
        print_lines(stream->out, text,
                    size); /* a text may hold what a terminal takes for a command */
    } else if (text) {
        attn_sink_write(stream->out, text, size);
    }
    attn_sink_flush(stream->out);
    return ATTN_OK;
}

/* --- The document ----------------------------------------------------------------------------- */

static int write_ids(struct attn_sink *out, const char *key, const int32_t *ids, size_t n)
{
    print(out, "\"%s\": [", key);
    for (size_t i = 0; i < n; i++)
        print(out, "%s%d", i > 0 ? ", " : "", (int)ids[i]);
    print_text(out, "],\n");
    return EXIT_DONE;
}

/* "tokens": [...], of those that were made; null for one without a text. */
static int write_tokens(struct attn_sink *out, const struct attn_host *host, const int32_t *ids,
                        size_t n)
{
    const struct attn_tokenizer *tokenizer;
    int code = EXIT_DONE;
    attn_host_tokenizer(host, &tokenizer, NULL);
    print_text(out, "\"tokens\": [");
    for (size_t i = 0; code == EXIT_DONE && i < n; i++) {
        size_t size = 0;
        const char *token = tokenizer ? attn_tokenizer_token(tokenizer, ids[i], &size) : NULL;
        print_text(out, i > 0 ? ", " : "");
        if (token)
            code = print_json_string(out, token, size);
        else
            print_text(out, "null");
    }
    print_text(out, "],\n");
    return code;
}

static int write_document(struct attn_sink *out, const struct attn_host *host,
                          const struct attn_generation *made)
{
    int code = EXIT_DONE;
    print(out, "{\n\"schema\": %d,\n", (int)ATTN_JSON_SCHEMA);
    write_ids(out, "prompt_ids", made->ids, made->n_prompt);
    write_ids(out, "ids", made->ids + made->n_prompt, made->n);
    code = write_tokens(out, host, made->ids + made->n_prompt, made->n);
    print_text(out, "\"log_probabilities\": [");
    for (size_t i = 0; i < made->n; i++)
        print(out, "%s%.9g", i > 0 ? ", " : "", made->log_probabilities[i]);
    print_text(out, "],\n\"text\": ");
    if (code == EXIT_DONE && made->text)
        code = print_json_string(out, made->text, made->n_text);
    else
        print_text(out, "null");
    print(out, ",\n\"ended\": %s,\n\"end\": \"%s\"\n}\n",
          made->end == ATTN_GENERATION_TEXT_END ? "true" : "false",
          attn_generation_end_text(made->end));
    return code;
}

static int write_json(const char *path, bool is_synced, const struct attn_host *host,
                      const struct attn_generation *made, struct attn_sink *standard)
{
    struct attn_error err = {0};
    struct attn_sink *file = NULL;
    if (strcmp(path, "-") == 0)
        return write_document(standard, host, made);
    if (attn_sink_create_file(path, &file, &err) != ATTN_OK)
        return report(&err, EXIT_OUTPUT);
    if (is_synced)
        attn_sink_sync(file);
    int code = write_document(file, host, made);
    if (code == EXIT_DONE && attn_sink_commit(file, &err) != ATTN_OK)
        code = report(&err, EXIT_OUTPUT);
    attn_sink_free(file);
    return code;
}

/* Takes the path of --json out of ARGS: here it is a document of its own. */
static const char *take_json(struct output_args *args)
{
    struct named_list *list = &args->formats;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, "json") == 0) {
            const char *path = list->items[i].value;
            list->n--;
            memmove(&list->items[i], &list->items[i + 1], (list->n - i) * sizeof *list->items);
            return path;
        }
    return NULL;
}

/* --- All of it -------------------------------------------------------------------------------- */

static int open_host(const struct generate_args *args, struct served *served)
{
    struct model_source source;
    int code = model_source_find(&args->model, &args->request.running, &source);
    const struct hosting hosting = {.source = &source.source,
                                    .load = (enum attn_load)args->model.load,
                                    .compute = args->model.compute,
                                    .reuse = true,
                                    .running = &args->request.running};
    if (code == EXIT_DONE)
        code = hosting_open(&hosting, &served->host);
    if (code == EXIT_DONE)
        code = outputs_check_model(&args->request.output, served->host);
    return code;
}

static int generate(const struct generate_args *args, struct served *served, struct stream *stream,
                    struct attn_generation *made)
{
    struct attn_generate_args how = ATTN_GENERATE_ARGS_DEFAULT;
    struct attn_error err = {0};
    how.n_most = (size_t)args->n_most;
    how.temperature = args->temperature;
    how.top_k = (size_t)args->top_k;
    how.top_p = args->top_p;
    how.min_p = args->min_p;
    how.seed = (uint64_t)args->seed;
    how.stops = args->stops.items;
    how.n_stop = args->stops.n;
    how.on_token = on_token;
    how.user = stream;
    interrupt_catch();
    if (attn_generate(served->host, &served->request, &how, made, &err) != ATTN_OK)
        return report_error(&err);
    if (stream->out)
        print_text(stream->out, "\n");
    if (made->end == ATTN_GENERATION_CONTEXT && !args->request.running.is_quiet)
        note("the model takes no more positions: %zu token%s came of it", made->n,
             made->n == 1 ? "" : "s");
    return EXIT_DONE;
}

/* Runs prompt and answer as one text, for the outputs of `run`. */
static int run_whole(struct served *served, const struct attn_generation *made)
{
    if (made->n_prompt == 0)
        return report_problem(EXIT_USAGE, NULL,
                              "embeddings and an answer are not one text: their "
                              "tensors cannot be written");
    served->request.input = (struct attn_input){.ids = made->ids, .n_id = made->n_prompt + made->n};
    return request_serve(served);
}

static bool shows_run(const struct generate_args *args)
{
    return outputs_have_tensors(&args->request.output) || args->request.picture.is_heatmap;
}

static int perform(struct generate_args *args, struct served *served)
{
    struct attn_generation made = {0};
    struct input input = {0};
    struct attn_error err = {0};
    int code = outputs_check_text(&args->request.output, &args->prompt);
    if (code == EXIT_DONE)
        code = prompt_check(&args->prompt, EXAMPLE);
    if (code == EXIT_DONE)
        code = request_check(served);
    if (code == EXIT_DONE)
        code = open_host(args, served);
    if (code == EXIT_DONE)
        code = input_read(&args->prompt, args->source, &input, &served->request);
    const char *json = take_json(&args->request.output);
    served->request.reading.example = EXAMPLE;
    if (code == EXIT_DONE &&
        ablation_fill(&args->ablation, served->host, &served->request, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE)
        code = request_fill(served, NULL);
    struct stream stream = {.out = served->is_standard_used ? NULL : served->out,
                            .is_terminal = isatty(STDOUT_FILENO)};
    if (code == EXIT_DONE)
        code = generate(args, served, &stream, &made);
    if (code == EXIT_DONE && json)
        code = write_json(json, args->request.output.is_synced, served->host, &made, served->out);
    if (code == EXIT_DONE && shows_run(args))
        code = run_whole(served, &made);
    attn_generation_release(&made);
    request_release(served);
    input_release(&input);
    return code;
}

static int generate_main(int argc, char **argv)
{
    struct generate_args args = {.request = REQUEST_ARGS_DEFAULT};
    struct served served = {.command = &command_generate, .args = &args.request};
    int code = request_parse(&served, argc, argv, &args);
    if (served.out && !request_print_help(&served, sites_print))
        code = perform(&args, &served);
    text_list_release(&args.prompt.plain);
    ablation_release(&args.ablation);
    text_list_release(&args.stops);
    return request_close(&served, code);
}
