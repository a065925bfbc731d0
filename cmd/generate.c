/* generate.c - attn-cli generate: generates tokens and shows their attention. */
#include "cmd/args/model.h"
#include "cmd/args/prompt.h"
#include "cmd/args/question.h"
#include "cmd/args/request.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const struct attn_param_part parts[] = {
    PROMPT_OPTIONS(offsetof(struct question_args, prompt)),
    QUESTION_PART(attn_source_params, prompt.asked),
    QUESTION_PART(attn_image_params, prompt.asked),
    QUESTION_PART(attn_picture_prompt_params, prompt.asked),
    QUESTION_PART(attn_chat_params, prompt.asked),
    QUESTION_PART(attn_listing_params, items),
    QUESTION_PART(attn_restart_params, items),
    QUESTION_PART(option_question, prompt.asked),
    MODEL_OPTIONS(offsetof(struct question_args, model)),
    QUESTION_PART(attn_attention_params, attention),
    QUESTION_PART(attn_key_mask_params, prompt.asked),
    QUESTION_PART(attn_selection_params, prompt.asked),
    QUESTION_PART(attn_view_params, tables.picture.options),
    OUTPUT_OPTIONS(offsetof(struct question_args, tables.output)),
    QUESTION_TENSOR_PICTURES,
    QUESTION_PART(attn_target_params, answer),
    QUESTION_PART(attn_foil_params, answer),
    QUESTION_PART(attn_at_params, answer),
    QUESTION_PART(attn_edit_params, edits),
    QUESTION_PART(attn_place_params, places),
    QUESTION_PART(running_options, running),
};

static void release_generation(void *own)
{
    attn_generation_release(own);
}

/* Prints tokens as they are generated. */
struct stream {
    struct attn_sink *out; /* NULL: tokens are not printed */
    bool is_terminal;
    bool has_ids; /* an id was printed before */
};

static enum attn_status on_token(void *user, int32_t id, const char *text, size_t size,
                                 struct attn_error *err)
{
    struct stream *stream = user;

    if (!stream->out)
        return ATTN_OK;
    if (!text && id >= 0) {
        print(stream->out, "%s%d", stream->has_ids ? " " : "", (int)id);
        stream->has_ids = true;
    } else if (text && stream->is_terminal) {
        /* the text may contain escape sequences */
        ATTN_TRY(print_lines(stream->out, text, size, err));
    } else if (text) {
        attn_sink_write(stream->out, text, size);
    }
    attn_sink_flush(stream->out);
    return ATTN_OK;
}

static enum attn_status write_document(struct attn_sink *out, const struct attn_host *host,
                                       const struct attn_generation *made, struct attn_error *err)
{
    const int32_t *ids = made->ids + made->n_prompt;
    struct attn_buffer text = {0};
    struct attn_json_writer json = {.out = &text};
    const struct attn_tokenizer *tokenizer;
    enum attn_status status;

    attn_host_tokenizer(host, &tokenizer, NULL);
    attn_json_begin(&json, '{');
    attn_json_line(&json);
    attn_json_head(&json, ATTN_DOCUMENT_GENERATE);
    attn_json_line(&json);
    attn_json_ids(attn_json_key(&json, "ids"), made->ids, made->n_prompt);
    attn_json_line(&json);
    attn_json_string(attn_json_key(&json, "continuation"), made->text, made->n_text);
    attn_json_line(&json);
    attn_json_ids(attn_json_key(&json, "continuation_ids"), ids, made->n);
    attn_json_line(&json);
    attn_json_begin(attn_json_key(&json, "continuation_tokens"), '[');
    for (size_t i = 0; i < made->n; i++) {
        size_t size = 0;
        const char *token = tokenizer ? attn_tokenizer_token(tokenizer, ids[i], &size) : NULL;

        attn_json_string(&json, token, size);
    }
    attn_json_end(&json);
    attn_json_line(&json);
    attn_json_begin(attn_json_key(&json, "log_probs"), '[');
    for (size_t i = 0; i < made->n; i++)
        attn_json_double(&json, made->log_probs[i]);
    attn_json_end(&json);
    attn_json_line(&json);
    attn_json_text(attn_json_key(&json, "end"), attn_generation_end_text(made->end));
    attn_json_line(&json);
    attn_json_end(&json);
    attn_buffer_append_char(&text, '\n');
    status = print_buffer(out, &text, err);
    attn_buffer_release(&text);
    return status;
}

static enum attn_status write_json(const char *path, struct question *question,
                                   const struct attn_generation *made, struct attn_error *err)
{
    struct attn_sink *file = NULL;
    enum attn_status status;

    if (strcmp(path, "-") == 0)
        return write_document(question->call->out, question->host, made, err);
    ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT, attn_sink_create_file(path, &file, err), err));
    status = write_document(file, question->host, made, err);
    ATTN_THEN(status, at_stage(ATTN_STAGE_OUTPUT, attn_sink_commit(file, err), err));
    attn_sink_free(file);
    return status;
}

static enum attn_status make_text(struct question *question, struct attn_generation *made,
                                  struct attn_error *err)
{
    struct stream stream = {.out = question->tensors.is_standard_used ? NULL : question->call->out,
                            .is_terminal = attn_os_is_terminal(ATTN_OS_OUTPUT)};
    struct attn_generate_args *how = question->call->how;

    how->on_token = on_token;
    how->user = &stream;
    interrupt_catch();
    ATTN_TRY(attn_generate(question->host, &question->request, how, made, err));
    if (stream.out)
        print_text(stream.out, "\n");
    if (made->end == ATTN_GENERATION_CONTEXT)
        note("the model takes no more positions, so it stopped after %zu token%s", made->n,
             made->n == 1 ? "" : "s");
    return ATTN_OK;
}

static enum attn_status continue_items(struct question *question, struct attn_error *err)
{
    const struct listing listing = {.headings = "Generation", .names = ""};

    ATTN_TRY(question_check(question, err));
    ATTN_TRY(listing_begin(question, &listing, err));
    return attn_generate_items(question->host, &question->request, question->how, err);
}

/* Runs prompt and answer again as one text, for the outputs of `run`. The place `answer` is the
 * rows that chose its tokens: the last of the prompt to the one before the last. */
static enum attn_status show_run(struct question *question, const struct attn_generation *made,
                                 struct attn_error *err)
{
    struct attn_request *request = &question->request;
    int64_t *rows = calloc(made->n + 1, sizeof *rows);
    const struct attn_item_place place = {"answer", {.items = rows, .n = made->n}};
    const struct attn_places places = {
        .items = &place, .n = made->n > 0, .others = request->reading.places};
    enum attn_status status;

    for (size_t i = 0; rows && i < made->n; i++)
        rows[i] = (int64_t)i - (int64_t)made->n - 1;
    request->reading.places = &places;
    asked_place(question, made->n_prompt, made->n_prompt + made->n);
    if (made->n > 0) {
        request->input.continuation_ids = made->ids + made->n_prompt;
        request->input.n_continuation_id = made->n;
    }
    status =
        !rows ? attn_error_no_memory(err)
        : made->n_prompt == 0
            ? refuse(err, NULL,
                     "embeddings and an answer are not one text: their tensors cannot be written")
            : request_serve(question, err);
    request->reading.places = places.others;
    free(rows);
    return status;
}

/* Gives the question of the options to the figure or the page, which alone show it. */
static enum attn_status ask_picture(struct question *question, struct attn_error *err)
{
    asked_give(question, &question->args->answer);
    question->request.predict.answer = NULL;
    return question->asked.is_used
               ? ATTN_OK
               : refuse(
                     err, "`figure answer` with `svg FILE`, or `html FILE`, shows its parts",
                     "`target`, `foil` and `at` ask about a picture or a page, and none is made");
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct question_args *args = question->call->args;
    struct attn_generation *made = question->own;
    const char *json;
    bool shows_run;

    ATTN_TRY(items_open(question->call, &args->items, NULL, &(struct items){0}, err));
    ATTN_TRY(outputs_check_tables(&args->tables.output,
                                  "--json FILE holds ids, tokens and log-probabilities", err));
    ATTN_TRY(outputs_check_text(question->call, &args->tables.output, &args->prompt, err));
    if (!prompt_is_given(&args->prompt) && attn_input_is_given(&args->prompt.asked.source))
        args->prompt.text = "";
    ATTN_TRY(prompt_check(question->call, &args->prompt, question->example, err));
    ATTN_TRY(question_check(question, err));
    question->reuse = true;
    ATTN_TRY(request_check(question, err));
    ATTN_TRY(question_open_model(question, err));
    ATTN_TRY(question_read(question, err));
    json = output_path(&args->tables.output, "json");
    output_remove(&args->tables.output, "json"); /* here it is a separate document */
    if (asked_is_given(&args->answer))
        ATTN_TRY(ask_picture(question, err));
    ATTN_TRY(request_fill(question, err));
    ATTN_TRY(make_text(question, made, err));
    if (json)
        ATTN_TRY(write_json(json, question, made, err));
    shows_run = args->tables.picture.is_heatmap;
    for (struct output_walk walk = {.args = &args->tables.output}; output_next(&walk);)
        shows_run |= !!walk.output.format->tensors;
    return shows_run ? show_run(question, made, err) : ATTN_OK;
}

static enum attn_status ask(struct question *question, struct attn_error *err)
{
    struct attn_generation *made = question->own;

    *made = ATTN_GENERATION_DEFAULT;
    question->tensors.shown = ATTN_MEDIUM_CONTINUATION;
    return (question->args->items.asked.items.path ? continue_items : work)(question, err);
}

const struct command command_generate = {
    .name = "generate",
    .question = &attn_question_generate,
    .usage = "[OPTIONS] TEXT",
    .examples = "  attn-cli generate -m fable -n 20 \"The keys to the cabinet\"\n"
                "  attn-cli generate -m fable --temperature 0.8 --top-k 40 \"Once upon a time\"\n"
                "  attn-cli generate -m fable --stop . --heads 2.2 --csv - \"The keys\"\n"
                "  attn-cli generate -m fable --items prompts.csv --jsonl texts.jsonl\n"
                "  attn-cli generate -m interpreter --source \"The cat sat on the mat\"\n",
    OPTION_PARTS(parts),
    .lacks = "types|prompt-name|label",
    .args_size = sizeof(struct question_args),
    .defaults = &question_args_default,
    .ask = ask,
    .print_sites = sites_print,
    .own_size = sizeof(struct attn_generation),
    .release = release_generation,
};
