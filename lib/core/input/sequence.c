#include "input/sequence.h"

#include "attention/keys.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "model/model_internal.h"
#include "tokenizer/chat_form.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <string.h>

enum attn_status attn_sequence_find_tokens(const struct attn_tokenizer *tokenizer,
                                           struct attn_sequence *sequence, struct attn_error *err)
{
    struct attn_token_bytes *tokens = &sequence->tokens;
    const int32_t *ids = sequence->ids;
    const size_t n = sequence->n;

    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->bytes, n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->sizes, n, err));
    for (size_t i = 0; i < n; i++) {
        tokens->bytes[i] = attn_tokenizer_token(tokenizer, ids[i], &tokens->sizes[i]);
        if (tokens->bytes[i])
            continue;
        if (!tokens->made)
            ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->made, n, err));
        tokens->bytes[i] = tokens->made[i];
        tokens->sizes[i] =
            (size_t)snprintf(tokens->made[i], sizeof(tokens->made[i]), "[%d]", (int)ids[i]);
    }
    return ATTN_OK;
}

bool attn_input_is_given(const struct attn_input *input)
{
    return input->text || input->ids || input->embeddings;
}

void attn_input_give_key_mask(struct attn_input *input, struct attn_input *source)
{
    if (!attn_input_is_given(source))
        return;
    source->key_mask = input->key_mask;
    source->n_key_mask = input->n_key_mask;
    input->key_mask = NULL;
    input->n_key_mask = 0;
}

bool attn_input_is_text(const struct attn_input *input)
{
    return input->text && !input->ids && !input->embeddings;
}

enum attn_status attn_sequence_encode(const struct attn_request_reading *reading,
                                      const struct attn_input *input,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_sequence *sequence, struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    enum attn_status status;

    options.special = reading->special;
    options.special_tokens = reading->special_tokens;
    options.plain_begin = sequence->plain[0];
    options.plain_end = sequence->plain[1];
    options.cancel = sequence->cancel;
    options.pair = input->pair;
    options.n_pair = input->n_pair;
    status = attn_error_because(attn_tokenizer_encode(tokenizer, input->text, input->n_text,
                                                      &options, &sequence->encoding, err),
                                ATTN_REASON_BAD_TEXT, err);
    sequence->ids = sequence->encoding.ids;
    sequence->n = sequence->encoding.n;
    if (status == ATTN_UNSUPPORTED && input->pair) /* the tokenizer has no rule for two texts */
        attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    return status;
}

enum attn_status attn_sequence_put_prompt(const struct attn_request_reading *reading,
                                          const struct attn_model *model, struct attn_input *input,
                                          struct attn_sequence *sequence, struct attn_error *err)
{
    const char *prompt = NULL;

    if (reading->prompt_name && !attn_sentences)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`prompt_name` needs a reader, which is not linked");
    if (attn_sentences && !sequence->prompted) /* not a conversation */
        ATTN_TRY(
            attn_error_at(attn_sentences->find_prompt(model, reading->prompt_name, &prompt, err),
                          ATTN_STAGE_OPTIONS, err));
    if (!prompt || (!reading->prompt_name && !attn_input_is_text(input)))
        return ATTN_OK;
    if (!attn_input_is_text(input))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`prompt_name` is put in front of a text, and none is given");
    sequence->n_prompt = strlen(prompt);
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, sequence->prompted,
                              sequence->n_prompt + input->n_text + 1, err));
    memcpy(sequence->prompted, prompt, sequence->n_prompt);
    memcpy(sequence->prompted + sequence->n_prompt, input->text, input->n_text);
    input->text = sequence->prompted;
    input->n_text += sequence->n_prompt;
    return ATTN_OK;
}

/* Sets the rows of SEQUENCE to those of ARRAY, which must have WIDTH columns: embeddings if
 * IS_EMBEDDINGS, else a source. */
static enum attn_status set_rows(const struct attn_ndarray *array, bool is_embeddings, size_t width,
                                 const struct attn_model *model, struct attn_sequence *sequence,
                                 struct attn_error *err)
{
    char shape[ATTN_SHAPE_TEXT_SIZE];

    if (array->rank != 2 || array->shape[1] != width)
        return attn_error_set(
            err, ATTN_INVALID, "'%s' has the shape %s, '%s' takes %s%zu numbers%s",
            attn_quote_string(array->name).text, attn_shape_text(array->rank, array->shape, shape),
            attn_quote_string(attn_model_name(model)).text, is_embeddings ? "embeddings of " : "",
            width, is_embeddings ? "" : " a row");
    sequence->rows = array->data;
    sequence->name = array->name;
    sequence->n = array->shape[0];
    return ATTN_OK;
}

/* Sets the ids of SEQUENCE: the ids of INPUT, or the tokens of its text. */
static enum attn_status read_ids(const struct attn_request_reading *reading,
                                 const struct attn_input *input,
                                 const struct attn_tokenizer *tokenizer,
                                 struct attn_sequence *sequence, struct attn_error *err)
{
    sequence->ids = input->ids;
    sequence->n = input->n_id;
    return attn_input_is_text(input)
               ? attn_sequence_encode(reading, input, tokenizer, sequence, err)
               : ATTN_OK;
}

bool attn_sequence_is_answering(const struct attn_sequence *sequence, size_t position)
{
    const struct attn_encoding *encoding = &sequence->encoding;
    bool is_of_two = false;

    if (encoding->n > 0)
        return encoding->texts[position] ==
               (sequence->input->pair ? ATTN_TEXT_SECOND : ATTN_TEXT_FIRST);
    for (size_t i = 0; sequence->types && i < sequence->n; i++)
        is_of_two = is_of_two || sequence->types[i] == 1;
    return !is_of_two || sequence->types[position] == 1;
}

enum attn_status attn_sequence_check_length(const struct attn_sequence *sequence,
                                            const struct attn_input *input, const char *model,
                                            size_t most, struct attn_error *err)
{
    char expected[sizeof(struct attn_quote) + 64];
    size_t n[2] = {0}; /* tokens of the first text, and of the second */

    if (sequence->n == 0)
        return attn_error_because(
            attn_error_set(err, ATTN_INVALID, "the text is empty: it has no tokens"),
            ATTN_REASON_EMPTY, err);
    if (sequence->n <= most)
        return ATTN_OK;
    if (model)
        snprintf(expected, sizeof expected, "'%s' takes at most %zu", attn_quote_string(model).text,
                 most);
    else
        snprintf(expected, sizeof expected, "expected at most %zu", most);
    for (size_t i = 0; i < sequence->encoding.n; i++)
        if (sequence->encoding.texts[i] != ATTN_TEXT_NONE)
            n[sequence->encoding.texts[i] == ATTN_TEXT_SECOND]++;
    if (input->embeddings)
        attn_error_set(err, ATTN_INVALID, "'%s' has %zu rows, %s",
                       attn_quote_string(input->embeddings->name).text, sequence->n, expected);
    else if (!input->pair)
        attn_error_set(err, ATTN_INVALID, "the text has %zu tokens, %s", sequence->n, expected);
    else
        attn_error_set(err, ATTN_INVALID,
                       "the text has %zu tokens and its pair %zu, together with what the "
                       "tokenizer adds %zu, %s",
                       n[0], n[1], sequence->n, expected);
    return attn_error_because(ATTN_INVALID, ATTN_REASON_TOO_LONG, err);
}

/* Sets the types of the text from its encoding, if MODEL has types and they are not all 0. */
static enum attn_status make_types(const struct attn_model *model, struct attn_sequence *sequence,
                                   struct attn_error *err)
{
    const struct attn_encoding *encoding = &sequence->encoding;
    bool has_types = false;

    for (size_t i = 0; i < encoding->n; i++)
        has_types = has_types || encoding->types[i] != 0;
    if (!has_types || attn_model_config(model)->n_type == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, sequence->made_types, encoding->n, err));
    for (size_t i = 0; i < encoding->n; i++)
        sequence->made_types[i] = encoding->types[i];
    sequence->types = sequence->made_types;
    return attn_model_check_types(model, sequence->types, encoding->n, err);
}

/* Sets the types of SEQUENCE to those of INPUT, or else from the encoding of its text. */
static enum attn_status set_types(const struct attn_input *input, const struct attn_model *model,
                                  struct attn_sequence *sequence, struct attn_error *err)
{
    if (!input->types)
        return make_types(model, sequence, err);
    if (!input->ids)
        return attn_error_set(err, ATTN_INVALID,
                              "`types` is given without `ids`, whose tokens it is about");
    if (input->n_type != input->n_id)
        return attn_error_set(err, ATTN_INVALID,
                              "`types` has %zu item%s, expected one for each of %zu `ids`",
                              input->n_type, input->n_type == 1 ? "" : "s", input->n_id);
    sequence->types = input->types;
    return attn_model_check_types(model, input->types, input->n_type, err);
}

/* Makes the key mask of INPUT, if it has one, that of SEQUENCE, and checks it. WHAT names the items
 * that it must match, for the message. */
static enum attn_status set_key_mask(const struct attn_input *input, struct attn_sequence *sequence,
                                     const char *what, struct attn_error *err)
{
    if (!input->key_mask)
        return ATTN_OK;
    if (input->n_key_mask != sequence->n)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`key_mask` has %zu item%s, expected one for each of %zu %s",
                           input->n_key_mask, input->n_key_mask == 1 ? "" : "s", sequence->n, what);
    sequence->key_mask = input->key_mask;
    return attn_error_at(attn_key_mask_check(input->key_mask, input->n_key_mask, 1, err),
                         ATTN_STAGE_OPTIONS, err);
}

/* Sets the types and the key mask of SEQUENCE, whose ids are read, from INPUT or the tokenizer. */
static enum attn_status take_parts(const struct attn_input *input, const struct attn_model *model,
                                   struct attn_sequence *sequence, struct attn_error *err)
{
    if (input->pair && !attn_input_is_text(input))
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "`pair` is a second text, and the first is given as numbers, expected a text");
    ATTN_TRY(set_types(input, model, sequence, err));
    if (input->key_mask && !attn_model_config(model)->is_encoder) {
        attn_refuse(err, ATTN_STAGE_OPTIONS,
                    "`key_mask` is for encoders and sources, and '%s' is no encoder",
                    attn_quote_string(attn_model_name(model)).text);
        return attn_error_hint(
            err, "`knockout \"-1>0\"` keeps the last query from looking at the first key");
    }
    return set_key_mask(input, sequence, "tokens", err);
}

/* Moves the last token of E, a special one, to the front. */
static void move_last_to_front(struct attn_encoding *e)
{
    const int32_t id = e->ids[e->n - 1];
    const size_t n = e->n - 1;

    memmove(e->ids + 1, e->ids, n * sizeof *e->ids);
    memmove(e->begin + 1, e->begin, n * sizeof *e->begin);
    memmove(e->end + 1, e->end, n * sizeof *e->end);
    memmove(e->types + 1, e->types, n * sizeof *e->types);
    memmove(e->texts + 1, e->texts, n * sizeof *e->texts);
    e->ids[0] = id;
    e->begin[0] = e->end[0] = 0;
    e->types[0] = 0;
    e->texts[0] = ATTN_TEXT_NONE;
    e->n_front++;
}

/* Moves the language token to the front if the tokenizer appended it. NLLB's tokenizer files of
 * 2022 end texts in "</s> fra_Latn"; later ones put the language first. */
static void begin_with_language(const struct attn_config *config, struct attn_encoding *e)
{
    if (!config->stack.replaces_front || e->n_front != 0 || e->n_back != 2)
        return;
    move_last_to_front(e);
    e->n_back--;
}

enum attn_status attn_sequence_begin_target(const struct attn_request_reading *reading,
                                            const struct attn_model *model, bool keeps_end,
                                            struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    struct attn_encoding *e = &sequence->encoding;
    bool is_end = false;

    if (!config->stack.has_encoder || reading->special_tokens == ATTN_SPECIAL_TOKENS_OFF)
        return ATTN_OK;
    begin_with_language(config, e);
    for (size_t i = 0; i < config->n_end_id && e->n_back > 0 && !keeps_end; i++)
        is_end = is_end || e->ids[e->n - 1] == config->end_ids[i];
    e->n -= is_end;
    e->n_back -= is_end;
    /* Whisper's tokenizer has put the start token in front already */
    if (e->n_front == 0 || (!config->stack.replaces_front && e->ids[0] != config->stack.start_id)) {
        ATTN_TRY(attn_encoding_push(e, config->stack.start_id, 0, 0, err));
        move_last_to_front(e);
    }
    e->ids[0] = config->stack.start_id;
    sequence->ids = e->ids;
    sequence->n = e->n;
    return ATTN_OK;
}

enum attn_status attn_encoding_pad(const struct attn_config *config, struct attn_encoding *encoding,
                                   struct attn_error *err)
{
    const int32_t pad = config->pad_id >= 0 ? (int32_t)config->pad_id : 1;

    while (config->projected_id == ATTN_LAST_ROW && encoding->n < config->n_ctx) {
        ATTN_TRY(attn_encoding_push(encoding, pad, 0, 0, err));
        encoding->n_back++;
    }
    return ATTN_OK;
}

enum attn_status attn_sequence_finish(const struct attn_request_reading *reading,
                                      const struct attn_input *input,
                                      const struct attn_model *model,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_sequence *sequence, struct attn_error *err)
{
    const enum attn_status status = attn_sequence_check_length(
        sequence, input, attn_model_name(model), attn_model_config(model)->n_ctx, err);

    if (sequence->n == 0 && reading->example)
        attn_error_hint(err, "%s", reading->example);
    ATTN_TRY(status);
    ATTN_TRY(take_parts(input, model, sequence, err));
    if (model->sentence.omits_prompt && sequence->n_prompt > 0)
        ATTN_TRY(attn_sentences->omit_prompt(reading, tokenizer, sequence, err));
    if (tokenizer && sequence->ids)
        ATTN_TRY(attn_sequence_find_tokens(tokenizer, sequence, err));
    return ATTN_OK;
}

enum attn_status attn_sequence_read(const struct attn_request_reading *reading,
                                    struct attn_input *input, const struct attn_model *model,
                                    const struct attn_tokenizer *tokenizer,
                                    struct attn_sequence *sequence, struct attn_error *err)
{
    sequence->letters = model->config.letters;
    sequence->is_word_level = tokenizer && attn_tokenizer_kind(tokenizer) == ATTN_TOKENIZER_WORD;
    if (input->embeddings)
        ATTN_TRY(set_rows(input->embeddings, true, attn_model_config(model)->d_embed, model,
                          sequence, err));
    else
        ATTN_TRY(read_ids(reading, input, tokenizer, sequence, err));
    if (attn_input_is_text(input) && model->config.projected_id == ATTN_LAST_ROW) {
        ATTN_TRY(attn_encoding_pad(&model->config, &sequence->encoding, err));
        sequence->ids = sequence->encoding.ids;
        sequence->n = sequence->encoding.n;
    }
    if (attn_input_is_text(input))
        ATTN_TRY(attn_sequence_begin_target(reading, model, false, sequence, err));
    if (attn_talker)
        ATTN_TRY(attn_talker->append(reading, tokenizer, input, sequence, err));
    return attn_sequence_finish(reading, input, model, tokenizer, sequence, err);
}

void attn_sequence_note(const struct attn_sequence *sequence,
                        const struct attn_tokenizer *tokenizer, struct attn_notes notes)
{
    attn_encoding_note(&sequence->encoding, tokenizer, notes);
}

struct attn_embedding_rows attn_sequence_rows(const struct attn_sequence *sequence)
{
    return (struct attn_embedding_rows){.n = sequence->n,
                                        .ids = sequence->rows ? NULL : sequence->ids,
                                        .types = sequence->types,
                                        .grid = sequence->grid};
}

enum attn_status attn_sequence_embed(const struct attn_sequence *sequence,
                                     const struct attn_model *model, float *x,
                                     struct attn_error *err)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    if (sequence->reader && sequence->reader->embed)
        return sequence->reader->embed(sequence, model, x, err);
    if (sequence->rows)
        memcpy(x, sequence->rows, sequence->n * model->config.d_embed * sizeof *x);
    else
        attn_model_gather(model, kernels, sequence->ids, sequence->n, x);
    return ATTN_OK;
}

/* --- A source -------------------------------------------------------------------------------- */

enum attn_status attn_source_check(const struct attn_input *source, const struct attn_model *model,
                                   struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    const char *name = attn_model_name(model);
    const bool is_given = attn_input_is_given(source), is_needed = attn_config_has_cross(config);
    const bool hears = model->encoder && model->encoder->config.stack.n_mel > 0;

    if (is_needed && !is_given && hears) {
        attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' reads sound, and none was given",
                    attn_quote_string(name).text);
        return attn_error_hint(err, "`source_file speech.wav` gives a sound of 16 kHz");
    }
    if (is_needed && !is_given) {
        attn_refuse(err, ATTN_STAGE_OPTIONS,
                    "'%s' attends to a second sequence, and none was given",
                    attn_quote_string(name).text);
        return attn_error_hint(
            err, "`source TEXT` gives one, or `source_file FILE.npy` an array [S, d_source]");
    }
    if (!is_needed && is_given)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`source` is given, but no layer of '%s' attends to a second sequence",
                           attn_quote_string(name).text);
    if (is_given && attn_ndarray_is_sound(source->embeddings) && !hears)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' is a sound, and '%s' does not read sound, as Whisper does",
                           attn_quote_string(source->embeddings->name).text,
                           attn_quote_string(name).text);
    if (is_given && !source->embeddings && hears)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' reads sound, expected a sound in `source_file`, or an array "
                           "[%zu, %zu]",
                           attn_quote_string(name).text, model->encoder->config.stack.n_mel,
                           2 * model->encoder->config.n_ctx);
    if (is_given && !source->embeddings && config->d_source != config->d_model) {
        attn_refuse(err, ATTN_STAGE_OPTIONS,
                    "'%s' takes a second sequence of %zu numbers a row, its embedding has %zu: "
                    "a text will not do",
                    attn_quote_string(name).text, config->d_source, config->d_model);
        return attn_error_hint(err, "`source_file FILE.npy` gives such vectors");
    }
    return ATTN_OK;
}

static enum attn_status check_source_length(const struct attn_sequence *sequence,
                                            const struct attn_model *model, struct attn_error *err)
{
    const size_t most = attn_model_config(model)->n_source;
    const struct attn_quote name = attn_quote_string(attn_model_name(model));

    if (most == 0 || sequence->n <= most)
        return ATTN_OK;
    if (sequence->name)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has %zu rows, '%s' takes at most %zu of a source",
                              attn_quote_string(sequence->name).text, sequence->n, name.text, most);
    return attn_error_set(err, ATTN_INVALID, "the source has %zu tokens, '%s' takes at most %zu",
                          sequence->n, name.text, most);
}

/* Reads the source: sound, rows of an array, or tokens. */
static enum attn_status read_source(const struct attn_request_reading *reading,
                                    const struct attn_input *source, const struct attn_model *model,
                                    const struct attn_tokenizer *tokenizer,
                                    struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_model *encoder = model->encoder;
    const struct attn_ndarray *array = source->embeddings;

    if (encoder && encoder->config.stack.n_mel > 0) {
        if (!attn_sound_input)
            return attn_refuse(err, ATTN_STAGE_MODEL,
                               "'%s' needs a reader of sound, which is not linked",
                               attn_quote_string(attn_model_name(model)).text);
        ATTN_TRY(attn_sound_input->hear(encoder, array, sequence, err));
        sequence->rows = sequence->heard;
        sequence->name = array->name;
        return ATTN_OK;
    }
    if (array)
        return set_rows(array, encoder,
                        encoder ? encoder->config.d_embed : attn_model_config(model)->d_source,
                        model, sequence, err);
    ATTN_TRY(read_ids(reading, source, tokenizer, sequence, err));
    begin_with_language(&model->config, &sequence->encoding);
    return tokenizer ? attn_sequence_find_tokens(tokenizer, sequence, err) : ATTN_OK;
}

enum attn_status attn_source_read(const struct attn_request_reading *reading,
                                  const struct attn_input *source, const struct attn_model *model,
                                  const struct attn_tokenizer *tokenizer,
                                  struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_model *encoder = model->encoder, *reader = encoder ? encoder : model;
    const bool is_made = encoder || (attn_input_is_given(source) && !source->embeddings);

    if (attn_input_is_given(source))
        ATTN_TRY(read_source(reading, source, model, tokenizer, sequence, err));
    if (is_made && sequence->n == 0)
        return attn_error_set(err, ATTN_INVALID, "the source is empty: it has no tokens");
    ATTN_TRY(check_source_length(sequence, model, err));
    ATTN_TRY(set_key_mask(source, sequence, "keys of the source", err));
    if (!is_made)
        return ATTN_OK;
    sequence->fed = sequence->rows;
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, sequence->embedded,
                              sequence->n * reader->config.d_model, err));
    sequence->rows = sequence->embedded;
    return encoder ? ATTN_OK
                   : attn_model_embed(model, sequence->ids, sequence->n, sequence->embedded, err);
}

void attn_sequence_release(struct attn_sequence *sequence)
{
    attn_encoding_release(&sequence->encoding);
    attn_free(sequence->made_mask);
    if (sequence->reader && sequence->reader->release)
        sequence->reader->release(sequence);
    attn_store_release(&sequence->store);
    *sequence = (struct attn_sequence){0};
}
