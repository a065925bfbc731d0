/* run_input.c - the first stage of a run: the text and the source with their tokenizers, notes
 * about them, and limits of their length and of the time of a run. */
#include "run/run_internal.h"

#include "base/status_internal.h"
#include "model/model_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <math.h>
#include <stdio.h>

/* Gets the tokenizer. It may be missing if the input is numbers, because the vocabulary then only
 * supplies labels, and if it is an empty text of a decoder with a source: its start token alone. */
static enum attn_status find_tokenizer(struct attn_run *run, struct attn_error *err)
{
    struct attn_request *request = &run->request;
    const struct attn_stack_config *stack = &attn_model_config(run->model)->stack;
    const bool is_start = stack->has_encoder && attn_input_is_text(&request->input) &&
                          request->input.n_text == 0 &&
                          request->reading.special_tokens != ATTN_SPECIAL_TOKENS_OFF;
    const bool is_needed = (attn_input_is_text(&request->input) && !is_start) ||
                           attn_input_is_text(&request->source) || request->input.continuation ||
                           (request->predict.n_next > 0 &&
                            attn_model_config(run->model)->task == ATTN_TASK_VOCABULARY);
    const char *ids = attn_input_is_text(&request->input)    ? "ids"
                      : attn_input_is_text(&request->source) ? "source_ids"
                                                             : NULL;
    const enum attn_status status =
        attn_host_tokenizer(run->host, &run->tokenizer, is_needed ? err : NULL);

    if (status == ATTN_OK)
        ATTN_TRY(attn_host_source_tokenizer(run->host, &run->source_tokenizer, err));
    else if (status == ATTN_IO && ids)
        attn_error_hint(err, "`%s 5,17,3`, or '%s' of an item, gives token ids instead of a text",
                        ids, ids);
    if (status != ATTN_OK && is_start) {
        request->input.text = NULL;
        request->input.ids = &stack->start_id;
        request->input.n_id = 1;
    }
    return is_needed ? status : ATTN_OK;
}

/* Whether all tokens are masks, so that token dropout would divide by 0. */
static bool has_only_masks(const struct attn_run *run)
{
    const struct attn_config *config = attn_model_config(run->model);
    size_t i = 0;

    if (!config->has_token_dropout || !run->text.ids)
        return false;
    while (i < run->text.n && run->text.ids[i] == config->mask_id)
        i++;
    return i == run->text.n;
}

bool attn_run_describe_letters(const struct attn_run *run, char message[ATTN_LETTERS_SIZE])
{
    const struct attn_token_letters *letters = run->text.letters;
    const struct attn_encoding *encoding = &run->text.encoding;
    const char *text = run->request.input.text;
    size_t n_unknown = 0, n_lower = 0;

    for (size_t i = 0; letters && i < encoding->n; i++) {
        if (!attn_tokenizer_is_unknown(run->tokenizer, encoding->ids[i]))
            continue;
        n_unknown++;
        for (size_t at = encoding->begin[i]; !run->request.input.pair && at < encoding->end[i];
             at++)
            n_lower += text[at] >= 'a' && text[at] <= 'z';
    }
    if (n_unknown > 0)
        snprintf(message, ATTN_LETTERS_SIZE, "%zu piece%s of the text %s %s%s and became <unk>%s",
                 n_unknown, n_unknown == 1 ? "" : "s", n_unknown == 1 ? "is not a" : "are not",
                 letters->word, n_unknown == 1 ? "" : "s",
                 n_lower > 0 ? "; lower-case letters are not turned into capitals" : "");
    else if (letters && run->text.n > letters->n_trained &&
             attn_model_config(run->model)->positions == ATTN_POSITIONS_ROTARY)
        snprintf(message, ATTN_LETTERS_SIZE,
                 "the text has %zu tokens, and %s was trained on at most %zu", run->text.n,
                 letters->trained, letters->n_trained);
    else if (has_only_masks(run))
        snprintf(message, ATTN_LETTERS_SIZE,
                 "all tokens are masks: their embeddings are 0 here, and NaN in transformers");
    else
        return false;
    return true;
}

/* Notes that the model of RUN has a chat template, if its text has none of the special tokens of
 * that form and the caller did not choose. */
static void note_chat(const struct attn_run *run)
{
    const struct attn_request *request = &run->request;
    const char *found = attn_tokenizer_chat(run->tokenizer)->place;
    const struct attn_encoding *encoding = &run->text.encoding;

    if (!found || !request->input.text || run->text.n_prompt > 0 || request->chat.form ||
        attn_chat_is_wanted(&request->chat))
        return;
    for (size_t i = 0; i < encoding->n; i++)
        if (encoding->texts[i] != ATTN_TEXT_NONE &&
            attn_tokenizer_is_special(run->tokenizer, encoding->ids[i]))
            return;
    attn_note(request->on_note, request->user, ATTN_NOTE_CHAT,
              "a chat model, and the text is not in its form: `chat on` puts it there");
}

/* Puts the text of RUN into the form of a conversation, if that is wanted. The template writes all
 * special tokens. */
static enum attn_status put_into_chat(struct attn_run *run, struct attn_error *err)
{
    struct attn_request *request = &run->request;
    struct attn_input *input = &request->input;

    if (attn_input_is_picture(input) || !attn_chat_is_wanted(&request->chat))
        return ATTN_OK;
    ATTN_TRY(attn_error_because(
        attn_talker->write(&request->chat,
                           &(struct attn_chat_turn){run->tokenizer, attn_model_name(run->model),
                                                    input->text, input->n_text, 0},
                           &run->chat, err),
        ATTN_REASON_BAD_VALUE, err));
    run->text.prompted = run->chat.text;
    run->text.n_prompt = attn_chat_user(&run->chat).begin;
    input->text = run->text.prompted;
    input->n_text = run->chat.size;
    request->reading.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    return ATTN_OK;
}

static enum attn_status read_texts(struct attn_run *run, struct attn_error *err)
{
    struct attn_request *request = &run->request;
    char letters[ATTN_LETTERS_SIZE];
    struct attn_talk_span user;

    if (request->reading.special == ATTN_SPECIAL_TEXT && attn_input_is_picture(&request->input) &&
        !request->input.text && !request->source.text && request->predict.n_label == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`special` is about a text, and `image` is given instead of one");
    run->text.input = &request->input, run->text.role = "text";
    run->source.input = &request->source, run->source.role = "source";
    run->text.cancel = run->source.cancel = run->host->options.cancel;
    run->text.pool = run->source.pool = attn_host_pool(run->host, (double)INFINITY);
    run->text.gemm = run->source.gemm = run->host->options.gemm;
    run->text.isa = run->source.isa = run->host->options.isa;
    run->text.places = run->source.places = request->reading.places;
    ATTN_TRY(put_into_chat(run, err));
    ATTN_TRY(attn_sequence_put_prompt(&request->reading, run->model, &run->request.input,
                                      &run->text, err));
    if (attn_input_is_picture(&request->input))
        ATTN_TRY(attn_image_input->read(run, err));
    else
        ATTN_TRY(attn_sequence_read(&request->reading, &request->input, run->model, run->tokenizer,
                                    &run->text, err));
    ATTN_TRY(attn_before_prepare(&run->before, run->model, &run->text, &run->source,
                                 run->host->pictures, err));
    note_chat(run);
    user = attn_input_is_picture(&request->input)
               ? (struct attn_talk_span){.end = request->input.n_text}
               : attn_chat_user(&run->chat);
    ATTN_TRY(attn_chat_place(&run->chat, user.begin, user.end, request->reading.places, &run->text,
                             err));
    attn_sequence_note(&run->text, run->tokenizer, attn_request_notes(request));
    if (attn_run_describe_letters(run, letters))
        attn_note(request->on_note, request->user, ATTN_NOTE_RESIDUES, "%s", letters);
    ATTN_TRY(attn_error_because(attn_source_read(&request->reading, &request->source, run->model,
                                                 run->source_tokenizer, &run->source, err),
                                ATTN_REASON_BAD_SOURCE, err));
    if (attn_sound_input)
        attn_sound_input->note(run);
    attn_sequence_note(&run->source, run->source_tokenizer, attn_request_notes(request));
    const struct attn_answer_scope scope = attn_run_answer_scope(run);

    return attn_continuations_encode(&scope, &request->predict, &run->asked.continuations, err);
}

enum attn_status attn_run_read_input(struct attn_run *run, struct attn_error *err)
{
    struct attn_request *request = &run->request;

    if (attn_talker)
        ATTN_TRY(attn_talker->check(&request->chat, &request->input, &request->reading, err));
    else if (attn_chat_is_wanted(&request->chat) || request->input.continuation)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`chat` and `continuation` need a reader, which is not linked");
    if (request->chat.messages) /* the template makes the text of them */
        request->input.text = "";
    if (attn_image_input)
        ATTN_TRY(attn_image_input->check(request, run->model, err));
    ATTN_TRY(attn_run_check_question(run->model, &request->predict, err));
    ATTN_TRY(attn_error_because(attn_source_check(&request->source, run->model, err),
                                ATTN_REASON_BAD_SOURCE, err));
    ATTN_TRY(find_tokenizer(run, err));
    return attn_error_at(read_texts(run, err), ATTN_STAGE_INPUT, err);
}

enum attn_status attn_run_check_time(const struct attn_run *run, size_t n, struct attn_error *err)
{
    const struct attn_request *request = &run->request;
    const size_t n_token = run->text.n > run->source.n ? run->text.n : run->source.n;

    if (request->max_input > 0 && n_token > request->max_input)
        return attn_error_because(
            attn_refuse(err, ATTN_STAGE_INPUT,
                        "the %s has %zu tokens, `max_input` takes at most %zu",
                        n_token == run->text.n ? "text" : "source", n_token, request->max_input),
            ATTN_REASON_TOO_LONG, err);
    if (request->max_seconds <= 0)
        return ATTN_OK;
    return attn_estimates
               ? attn_estimates->check_time(run, n, err)
               : attn_refuse(err, ATTN_STAGE_OPTIONS,
                             "a limit of seconds needs an estimate, which is not linked");
}
