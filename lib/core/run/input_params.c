#include "run/input_params.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "input/sequence.h"

#include <string.h>

static const int special_tokens[] = {ATTN_SPECIAL_TOKENS_ON, ATTN_SPECIAL_TOKENS_OFF,
                                     ATTN_SPECIAL_TOKENS_BOS};

static const struct attn_param readings[] = {
    ATTN_PARAM(CHOICE, "special", NULL, struct attn_request, reading.special,
               "read special tokens that are written in the text as such (parse, default) or "
               "as plain text (text)",
               .words = "parse|text"),
    ATTN_PARAM(CHOICE, "special_tokens", NULL, struct attn_request, reading.special_tokens,
               "add (on, default) or leave out the tokens that the tokenizer adds to each text, "
               "such as Llama's <s>; bos: also put one start token (bos_token_id) in front",
               .words = "on|off|bos", .values = special_tokens),
    ATTN_PARAM(TEXT, "prompt_name", "NAME", struct attn_request, reading.prompt_name,
               "put prompt NAME of the model in front of each text; default: its default prompt, "
               "if it has one; off: none"),
    ATTN_PARAM(COUNT, "max_input", "N", struct attn_request, max_input,
               "the longest text in tokens; default: what the model takes within an hour",
               .least = 1, .most = INT32_MAX, .traits = ATTN_PARAM_NO_KEYWORD),
};
const struct attn_param_list attn_reading_params = ATTN_PARAM_LIST("Input", readings);

/* Reads a file as the rows of INPUT: embeddings, or a source. */
static enum attn_status read_rows(const char *path, bool is_source, struct attn_input *input,
                                  struct attn_error *err)
{
    struct attn_ndarray *rows;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(rows, 1, err));
    status = is_source && attn_sound_input
                 ? attn_sound_input->read_file(path, rows, err)
                 : attn_ndarray_read(path, 2, 2, is_source ? "[S, d_source]" : "[T, d_model]", rows,
                                     err);
    ATTN_RETURN_MADE(attn_error_at(status, ATTN_STAGE_INPUT, err), &input->embeddings, rows,
                     attn_free);
}

static enum attn_status read_embeddings(const struct attn_param *param, void *home,
                                        const char *label, const char *text, struct attn_error *err)
{
    (void)label;
    return read_rows(text, false, (void *)((char *)home + param->offset), err);
}

enum attn_status attn_input_read_source(const struct attn_param *param, void *home,
                                        const char *label, const char *text, struct attn_error *err)
{
    (void)label;
    return read_rows(text, true, (void *)((char *)home + param->offset), err);
}

void attn_input_release_rows(const struct attn_param *param, void *home)
{
    struct attn_input *input = (void *)((char *)home + param->offset);
    struct attn_ndarray *rows = (void *)(uintptr_t)input->embeddings; /* allocated by read_rows */

    attn_ndarray_release(rows);
    attn_free(rows);
    input->embeddings = NULL;
}

static const struct attn_param numbers[] = {
    ATTN_PARAM(IDS, "ids", "LIST", struct attn_request, input.ids,
               "token ids instead of a text: 5,17,3",
               .second = offsetof(struct attn_request, input.n_id)),
    ATTN_PARAM(IDS, "types", "LIST", struct attn_request, input.types,
               "the token types of these ids, 0,0,1,1, of an encoder of two texts; by default 0",
               .second = offsetof(struct attn_request, input.n_type)),
    ATTN_PARAM(INPUT, "embeds", "FILE.npy", struct attn_request, input,
               "an array [T, d_model] instead of the embeddings of a text; embeddings of "
               "positions are still added",
               .read = read_embeddings, .release = attn_input_release_rows),
};
const struct attn_param_list attn_numbers_params = ATTN_PARAM_LIST("Input", numbers);

static const struct attn_param pairs[] = {
    ATTN_PARAM(SIZED, "pair", "TEXT", struct attn_request, input.pair,
               "a second text, put after the first as the tokenizer says: [CLS] text [SEP] pair "
               "[SEP]",
               .second = offsetof(struct attn_request, input.n_pair)),
};
const struct attn_param_list attn_pair_params = ATTN_PARAM_LIST("Input", pairs);

static const struct attn_param key_masks[] = {
    ATTN_PARAM(IDS, "key_mask", "LIST", struct attn_request, input.key_mask,
               "1,1,0: a number for each token of an encoder's text, or for each row of the source "
               "where there is one; no query attends to keys with 0. `mask` is for all queries and "
               "keys, `masking` says how",
               .second = offsetof(struct attn_request, input.n_key_mask), .most = 1,
               .traits = ATTN_PARAM_SHAPES_TENSORS),
};
const struct attn_param_list attn_key_mask_params = ATTN_PARAM_LIST("Attention", key_masks);

void attn_input_share_answer(const struct attn_input *input, struct attn_input *other)
{
    if (other->continuation || other->continuation_ids)
        return;
    other->continuation = input->continuation;
    other->n_continuation = input->n_continuation;
    other->continuation_ids = input->continuation_ids;
    other->n_continuation_id = input->n_continuation_id;
}

void attn_input_share(const struct attn_input *input, struct attn_input *other)
{
    other->pair = input->pair;
    other->n_pair = input->n_pair;
    other->types = input->types;
    other->n_type = input->n_type;
    other->key_mask = input->key_mask;
    other->n_key_mask = input->n_key_mask;
    attn_input_share_answer(input, other);
}

/* The path of a file goes by the next row. */
static enum attn_status read_messages(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    if (!strchr("[{-", *text)) {
        attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is '%s', expected a JSON list", label,
                    attn_quote_string(text).text);
        return attn_error_hint(err, "a file with one: `messages_file %s`",
                               attn_quote_string(text).text);
    }
    *(const char **)(void *)((char *)home + param->offset) = text;
    return ATTN_OK;
}

static const struct attn_param chats[] = {
    ATTN_PARAM(TEXT, "chat", "on|off|FILE", struct attn_request, chat.form,
               "put the text into the form of a conversation, by the template of the model (on) or "
               "by one in a file. Default: off for a text alone, on beside a picture"),
    ATTN_PARAM(TEXT, "system", "TEXT", struct attn_request, chat.system,
               "what the system says before the text; `chat on` is implied"),
    ATTN_PARAM(TEXT, "messages", "JSON", struct attn_request, chat.messages,
               "a conversation instead of a text: a JSON list of objects with 'role' and "
               "'content', or - for that of standard input; `chat on` is implied",
               .read = read_messages),
    ATTN_PARAM(TEXT, "messages_file", "FILE", struct attn_request, chat.messages, NULL,
               .of = "messages", .prefix = "file:", .traits = ATTN_PARAM_NO_KEYWORD),
    ATTN_PARAM(TEXTS, "chat_set", "NAME=JSON", struct attn_request, chat.sets,
               "a variable for the chat template, enable_thinking=false; `chat on` is implied. May "
               "be given several times",
               .second = offsetof(struct attn_request, chat.n_set)),
    ATTN_PARAM(TEXT, "tools", "FILE.json", struct attn_request, chat.tools,
               "functions that the model may call, a JSON list; `chat on` is implied"),
};
const struct attn_param_list attn_chat_params = ATTN_PARAM_LIST("Chat", chats);

static const struct attn_param prompts[] = {
    ATTN_PARAM(CHOICE, "image_tiles", NULL, struct attn_request, reading.image_tiles,
               "also cut a picture beside a text into tiles (on, default), or give the model only "
               "the whole one (off)",
               .words = "on|off"),
};
const struct attn_param_list attn_picture_prompt_params = ATTN_PARAM_LIST("Pictures", prompts);

static const struct attn_param sources[] = {
    ATTN_PARAM(INPUT, "source", "TEXT", struct attn_request, source,
               "second sequence for cross-attention, a text",
               .second = offsetof(struct attn_request, source.n_text)),
    ATTN_PARAM(INPUT, "source_file", "FILE.npy", struct attn_request, source,
               "an array [S, d_source] instead of the text of `source`, or for Whisper a sound, "
               "speech.wav, of 16 kHz; FLAC and OGG too",
               .of = "source", .prefix = "file:", .read = attn_input_read_source,
               .release = attn_input_release_rows),
    ATTN_PARAM(IDS, "source_ids", "LIST", struct attn_request, source.ids,
               "token ids instead of the text of `source`", .of = "source",
               .prefix = "ids:", .second = offsetof(struct attn_request, source.n_id)),
};
const struct attn_param_list attn_source_params = ATTN_PARAM_LIST("Input", sources);

static const struct attn_param_rule rules[] = {
    {.given = "neutral_by", .needs = "neutral"},
    {.given = "neutral_by", .unless = "items", .needs = "image"},
    {.given = "drop_sinks",
     .unless = "items",
     .needs = "image",
     .message = "@ is about the sinks in a picture beside a text, and needs #"},
    {.given = "types",
     .needs = "ids",
     .message = "@ is given without #, whose tokens it is about",
     .hint = "`ids 5,17,3` `types 0,0,1`"},
    {.given = "special",
     .unless = "source|label",
     .excludes = "ids|embeds",
     .message = "@ is about a text, and # is given instead of one"},
    {.given = "special_tokens",
     .unless = "source|label",
     .excludes = "ids|embeds|image",
     .message = "@ is about a text, and # is given instead of one"},
    {.given = "pair",
     .excludes = "ids|embeds",
     .message = "@ is a second text, which # does not take"},
};
const struct attn_param_rules attn_input_rules = {rules, sizeof rules / sizeof *rules};
