#include "talk/chat.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "formats/json.h"
#include "gguf/gguf.h"
#include "template/template.h"
#include "tokenizer/chat_form.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

/* --- Reading the template --------------------------------------------------------------------- */

/* The tokens that templates know, and their keys in a GGUF file. */
static const char *const names[][2] = {{"bos_token", "tokenizer.ggml.bos_token_id"},
                                       {"eos_token", "tokenizer.ggml.eos_token_id"},
                                       {"unk_token", "tokenizer.ggml.unknown_token_id"},
                                       {"sep_token", "tokenizer.ggml.seperator_token_id"},
                                       {"pad_token", "tokenizer.ggml.padding_token_id"},
                                       {"cls_token", NULL},
                                       {"mask_token", NULL}};

static void add_token(struct attn_buffer *tokens, const char *name, const char *text, size_t size)
{
    attn_buffer_append_format(tokens, "%s\"%s\": ", tokens->size > 1 ? ", " : "", name);
    attn_json_append_string(tokens, text, size);
}

static enum attn_status set_text(struct attn_chat_template *chat, const char *place,
                                 const char *text, size_t size, struct attn_error *err)
{
    chat->text = attn_strndup(text, size, err);
    chat->size = size;
    chat->place = place;
    return chat->text ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status read_gguf(struct attn_tokenizer *tokenizer, const struct attn_bundle *gguf,
                                  struct attn_error *err)
{
    static const char key[] = "tokenizer.chat_template";
    struct attn_chat_template *chat = &tokenizer->chat;
    const char *text = NULL;
    size_t n_text = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t id = SIZE_MAX, size = 0;
        const char *token;

        if (!names[i][1] || attn_gguf_get_size(gguf, names[i][1], &id, NULL) != ATTN_OK ||
            id >= tokenizer->vocabulary.n ||
            !attn_vocabulary_has(&tokenizer->vocabulary, (int32_t)id))
            continue;
        if (i == 0)
            chat->start = (int32_t)id + 1;
        token = attn_decoded_find(tokenizer, (int32_t)id, &size);
        if (token)
            add_token(&chat->tokens, names[i][0], token, size);
    }
    if (attn_gguf_get_text(gguf, key, &text, &n_text, NULL) != ATTN_OK || !text)
        return ATTN_OK;
    return set_text(chat, key, text, n_text, err);
}

/* Reads template and tokens of the GGUF file SOURCE whose tokenizer another file replaces. */
static enum attn_status read_replaced(struct attn_tokenizer *tokenizer,
                                      const struct attn_source *source, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_bundle *gguf = NULL;
    enum attn_status status;

    ATTN_TRY(attn_file_open_part(source, ATTN_GGUF_PART, ATTN_MAP, &file, err));
    ATTN_TRY(attn_gguf_take(&file, ATTN_MAP, &gguf, err));
    status = read_gguf(tokenizer, gguf, err);
    attn_gguf_free(gguf);
    return status;
}

/* Returns the text of TOKEN, a text or an object with `content`, or NULL. TOKEN may be NULL. */
static const char *text_of(const struct attn_node *token)
{
    if (token && attn_node_is_object(token))
        token = attn_node_find(token, "content");
    return token ? attn_node_string(token) : NULL;
}

/* Returns the template of a list of {"name", "template"} whose name is `default`, or NULL. */
static const char *find_default(const struct attn_node *list)
{
    for (const struct attn_node *item = attn_node_first(list); item; item = attn_node_next(item)) {
        const char *name = attn_node_string(attn_node_find(item, "name"));

        if (name && strcmp(name, "default") == 0)
            return attn_node_string(attn_node_find(item, "template"));
    }
    return NULL;
}

/* Finds the start token of a folder: `bos_token_id` of config.json, else the added token that
 * tokenizer_config.json names `bos_token`. */
static void find_start(struct attn_tokenizer *tokenizer, const struct attn_class *found)
{
    const struct attn_node *config = found->config ? attn_json_root(found->config) : NULL;
    const struct attn_node *id =
        found->model ? attn_node_find(attn_json_root(found->model), "bos_token_id") : NULL;
    const char *text = config ? text_of(attn_node_find(config, names[0][0])) : NULL;
    const struct attn_added *added = &tokenizer->added;
    int64_t value;

    if (id && attn_node_int(id, &value) && value >= 0 && value < INT32_MAX &&
        attn_vocabulary_has(&tokenizer->vocabulary, (int32_t)value))
        tokenizer->chat.start = (int32_t)value + 1;
    for (size_t i = 0; text && tokenizer->chat.start == 0 && i < added->n; i++)
        if (added->tokens[i].size == strlen(text) &&
            memcmp(attn_added_content(added, i), text, strlen(text)) == 0)
            tokenizer->chat.start = added->tokens[i].id + 1;
}

static enum attn_status read_folder(struct attn_chat_template *chat,
                                    const struct attn_source *source, const struct attn_json *json,
                                    struct attn_error *err)
{
    static const char name[] = "chat_template.jinja";
    const struct attn_node *root = json ? attn_json_root(json) : NULL;
    const struct attn_node *node = root ? attn_node_find(root, "chat_template") : NULL;
    const char *text = NULL;
    struct attn_file file = {0};
    enum attn_status status;

    for (size_t i = 0; root && i < sizeof names / sizeof *names; i++) {
        const char *content = text_of(attn_node_find(root, names[i][0]));

        if (content)
            add_token(&chat->tokens, names[i][0], content, strlen(content));
    }
    if (attn_source_has_part(source, name)) {
        ATTN_TRY(attn_file_read_part(source, name, &file, err));
        status = set_text(chat, name, (const char *)file.data, file.size, err);
        attn_file_release(&file);
        return status;
    }
    if (node)
        text = attn_node_is_array(node) ? find_default(node) : attn_node_string(node);
    return text ? set_text(chat, "tokenizer_config.json", text, strlen(text), err) : ATTN_OK;
}

static enum attn_status read_template(struct attn_tokenizer *tokenizer,
                                      const struct attn_source *source,
                                      const struct attn_class *found, struct attn_error *err)
{
    struct attn_chat_template *chat = &tokenizer->chat;

    if (!tokenizer->bundle)
        find_start(tokenizer, found);
    attn_buffer_append_char(&chat->tokens, '{');
    ATTN_TRY(tokenizer->bundle ? read_gguf(tokenizer, tokenizer->bundle, err)
                               : read_folder(chat, source, found->config, err));
    if (!tokenizer->bundle && !found->config && !chat->text && attn_gguf_is_source(source))
        ATTN_TRY(read_replaced(tokenizer, source, err));
    attn_buffer_append_char(&chat->tokens, '}');
    return attn_buffer_check(&chat->tokens, err);
}

/* --- Writing a conversation ------------------------------------------------------------------- */

static bool is_form(const struct attn_chat_request *asked, const char *word)
{
    return asked->form && strcmp(asked->form, word) == 0;
}

bool attn_chat_has_template(const struct attn_chat_request *asked,
                            const struct attn_tokenizer *tokenizer)
{
    return attn_tokenizer_chat(tokenizer)->text || (asked->form && !is_form(asked, "on")) ||
           asked->system || asked->messages || asked->tools || asked->n_set > 0;
}

size_t attn_chat_answer(const struct attn_chat_text *written, const struct attn_sequence *sequence)
{
    const struct attn_encoding *encoding = &sequence->encoding;
    const struct attn_talk_span *last = written->n > 0 ? &written->messages[written->n - 1] : NULL;
    size_t i = 0;

    if (sequence->n_given > 0)
        return sequence->seen.n_picture > 0 ? 0 : sequence->n_given;
    if (!last || last->end == 0 || strcmp(last->role, "assistant") != 0)
        return 0;
    while (i < encoding->n &&
           (encoding->texts[i] == ATTN_TEXT_NONE || encoding->end[i] <= last->begin))
        i++;
    return i < encoding->n ? i : 0;
}

/* Makes the tokens of the continuation of INPUT, with their bytes in TEXT. */
static enum attn_status encode_continuation(const struct attn_encode_options *options,
                                            const struct attn_tokenizer *tokenizer,
                                            const struct attn_input *input,
                                            struct attn_encoding *made, struct attn_buffer *text,
                                            struct attn_error *err)
{
    if (input->continuation) {
        attn_buffer_append(text, input->continuation, input->n_continuation);
        ATTN_TRY(attn_tokenizer_encode(tokenizer, text->data, text->size, options, made, err));
    }
    for (size_t i = 0; i < input->n_continuation_id; i++) {
        const size_t begin = text->size;
        size_t size = 0;
        const char *bytes =
            tokenizer ? attn_tokenizer_token(tokenizer, input->continuation_ids[i], &size) : NULL;

        attn_buffer_append(text, bytes, bytes ? size : 0);
        ATTN_TRY(attn_encoding_push(made, input->continuation_ids[i], begin, text->size, err));
    }
    return ATTN_OK;
}

/* Appends the tokens MADE, whose bytes are TEXT, to SEQUENCE and to INPUT, which it reads. */
static enum attn_status append_tokens(const struct attn_encoding *made,
                                      const struct attn_buffer *text, struct attn_input *input,
                                      struct attn_sequence *sequence, struct attn_error *err)
{
    struct attn_encoding *encoding = &sequence->encoding;
    const size_t n = sequence->n, begin = input->n_text;
    int32_t *ids;
    char *whole;

    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, ids, n + made->n, err));
    memcpy(ids, sequence->ids, n * sizeof *ids);
    memcpy(ids + n, made->ids, made->n * sizeof *ids);
    sequence->ids = ids;
    sequence->n_given = n;
    sequence->n += made->n;
    if (!attn_input_is_text(input))
        return ATTN_OK;
    for (size_t i = 0; i < made->n; i++) {
        ATTN_TRY(attn_encoding_push(encoding, made->ids[i], begin + made->begin[i],
                                    begin + made->end[i], err));
        encoding->texts[n + i] = ATTN_TEXT_FIRST;
        encoding->types[n + i] = 0;
    }
    encoding->n_back = 0;
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, whole, begin + text->size + 1, err));
    memcpy(whole, input->text, begin);
    memcpy(whole + begin, text->data, text->size);
    input->text = whole;
    input->n_text += text->size;
    return ATTN_OK;
}

enum attn_status attn_chat_append(const struct attn_request_reading *reading,
                                  const struct attn_tokenizer *tokenizer, struct attn_input *input,
                                  struct attn_sequence *sequence, struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding made = {0};
    struct attn_buffer text = {0};
    enum attn_status status;

    if (!input->continuation && !input->continuation_ids)
        return ATTN_OK;
    if (input->embeddings)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`continuation` goes with a text or `ids`, and `embeds` is given");
    options.special = reading->special;
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    if (sequence->seen.n_picture == 0) /* the answer to a picture begins as a text does */
        options.place = ATTN_TEXT_CONTINUES;
    options.cancel = sequence->cancel;
    status = encode_continuation(&options, tokenizer, input, &made, &text, err);
    if (status == ATTN_OK && made.n == 0 && sequence->n > 0)
        status = attn_error_because(
            attn_error_set(err, ATTN_INVALID, "the continuation is empty: it has no tokens"),
            ATTN_REASON_EMPTY, err);
    ATTN_THEN(status, attn_buffer_check(&text, err));
    if (sequence->n > 0) /* an empty text is refused later */
        ATTN_THEN(status, append_tokens(&made, &text, input, sequence, err));
    attn_encoding_release(&made);
    attn_buffer_release(&text);
    return status;
}

/* Checks that READING leaves what a chat template writes as it is. */
static enum attn_status check_reading(const struct attn_request_reading *reading,
                                      struct attn_error *err)
{
    if (reading->prompt_name)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`prompt_name` and `chat` are two forms of a text");
    if (reading->special == ATTN_SPECIAL_TEXT)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`special text` would take apart what the chat template writes");
    return ATTN_OK;
}

enum attn_status attn_chat_check(const struct attn_chat_request *asked,
                                 const struct attn_input *input,
                                 const struct attn_request_reading *reading, struct attn_error *err)
{
    const char *field = asked->messages    ? "messages"
                        : asked->system    ? "system"
                        : asked->n_set > 0 ? "chat_set"
                        : asked->tools     ? "tools"
                                           : "chat";

    if (!attn_chat_is_wanted(asked))
        return strcmp(field, "chat") != 0
                   ? attn_refuse(err, ATTN_STAGE_OPTIONS,
                                 "`%s` goes with `chat on`, and `chat` is off", field)
                   : ATTN_OK;
    if (asked->system && asked->messages)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`system` and `messages` are given, expected one of them");
    if (asked->messages && (input->text || input->ids || input->embeddings))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`messages` are given beside another input, expected one of them");
    if (input->ids || input->embeddings || input->pair)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`%s` goes with a text, and `%s` is given",
                           field,
                           input->ids          ? "ids"
                           : input->embeddings ? "embeds"
                                               : "pair");
    return attn_input_is_picture(input) ? ATTN_OK : check_reading(reading, err);
}

static void append_message(struct attn_buffer *json, const char *role, const char *text,
                           size_t size, size_t n_picture)
{
    attn_buffer_append_format(
        json, "%s{\"role\": \"%s\", \"content\": ", json->size > 1 ? ", " : "", role);
    for (size_t i = 0; i < n_picture; i++)
        attn_buffer_append_format(json, "%s{\"type\": \"image\"}, ", i == 0 ? "[" : "");
    if (n_picture > 0)
        attn_buffer_append_string(json, "{\"type\": \"text\", \"text\": ");
    attn_json_append_string(json, text, size);
    attn_buffer_append_string(json, n_picture > 0 ? "}]}" : "}");
}

/* Writes the messages as JSON, or reads their file. */
static enum attn_status make_messages(const struct attn_chat_request *asked,
                                      const struct attn_chat_turn *turn, struct attn_buffer *json,
                                      struct attn_error *err)
{
    struct attn_file file = {0};

    if (asked->messages && *asked->messages == '[') {
        attn_buffer_append_string(json, asked->messages);
    } else if (asked->messages && *asked->messages == '{') {
        attn_refuse(err, ATTN_STAGE_OPTIONS, "`messages` is one object, expected a list of them");
        return attn_error_hint(err, "put it in brackets: `messages '[{...}]'`");
    } else if (asked->messages && strcmp(asked->messages, "-") == 0) {
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "`messages` is '-', expected a file or a list: standard input is not read");
    } else if (asked->messages) {
        ATTN_TRY(attn_file_read_regular(asked->messages, ATTN_TEMPLATE_MAX_OUTPUT, &file, err));
        attn_buffer_append(json, file.data, file.size);
        attn_file_release(&file);
    } else {
        if (attn_utf8_valid_length(turn->text, turn->size) < turn->size)
            return attn_error_set(err, ATTN_INVALID, "the text of a conversation is not UTF-8");
        attn_buffer_append_char(json, '[');
        if (asked->system)
            append_message(json, "system", asked->system, strlen(asked->system), 0);
        append_message(json, "user", turn->text, turn->size, turn->n_picture);
        attn_buffer_append_char(json, ']');
    }
    return attn_buffer_check(json, err);
}

/* Appends the functions of ASKED to JSON: the list, or its file. */
static enum attn_status read_tools(const struct attn_chat_request *asked, struct attn_buffer *json,
                                   struct attn_error *err)
{
    struct attn_file file = {0};

    if (asked->tools && *asked->tools == '[')
        attn_buffer_append_string(json, asked->tools);
    else if (asked->tools) {
        ATTN_TRY(attn_file_read_regular(asked->tools, ATTN_TEMPLATE_MAX_OUTPUT, &file, err));
        attn_buffer_append(json, file.data, file.size);
        attn_file_release(&file);
    }
    return attn_buffer_check(json, err);
}

/* Parses the template that ASKED names, or that of the tokenizer. */
static enum attn_status open_template(const struct attn_chat_request *asked,
                                      const struct attn_chat_turn *turn,
                                      struct attn_template **parsed, struct attn_error *err)
{
    const struct attn_chat_template *chat = attn_tokenizer_chat(turn->tokenizer);
    struct attn_file file = {0};
    enum attn_status status;

    if (asked->form && !is_form(asked, "on")) {
        ATTN_TRY(attn_file_read_regular(asked->form, ATTN_TEMPLATE_MAX_SOURCE, &file, err));
        status = attn_template_parse((const char *)file.data, file.size, asked->form, parsed, err);
        attn_file_release(&file);
        return status;
    }
    if (!chat->text) {
        attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' has no chat template",
                    attn_quote_string(turn->model).text);
        return attn_error_hint(err, "`chat FILE` takes one from a file");
    }
    return attn_template_parse(chat->text, chat->size, chat->place, parsed, err);
}

enum attn_status attn_chat_write(const struct attn_chat_request *asked,
                                 const struct attn_chat_turn *turn, struct attn_chat_text *written,
                                 struct attn_error *err)
{
    const struct attn_buffer *tokens = &attn_tokenizer_chat(turn->tokenizer)->tokens;
    struct attn_template *parsed = NULL;
    struct attn_buffer json = {0}, tools = {0}, out = {0};
    struct attn_talk talk;
    enum attn_status status;

    status = open_template(asked, turn, &parsed, err);
    ATTN_THEN(status, make_messages(asked, turn, &json, err));
    ATTN_THEN(status, read_tools(asked, &tools, err));
    talk = (struct attn_talk){.messages = json.data,
                              .n_messages = json.size,
                              .variables = tokens->size > 0 ? tokens->data : "{}",
                              .n_variables = tokens->size > 0 ? tokens->size : 2,
                              .tools = asked->tools ? tools.data : NULL,
                              .n_tools = tools.size,
                              .sets = asked->sets,
                              .n_set = asked->n_set,
                              .owner =
                                  asked->form && !is_form(asked, "on") ? asked->form : turn->model,
                              .now = asked->now};
    if (status == ATTN_OK && asked->tools && !attn_template_reads(parsed, "tools", 5))
        status = attn_error_set(err, ATTN_INVALID, "the template of '%s' does not read 'tools'",
                                attn_quote_string(talk.owner).text);
    ATTN_THEN(status,
              attn_template_render(parsed, &talk, &out, &written->messages, &written->n, err));
    written->size = out.size;
    ATTN_THEN(status, ATTN_NEW(written->text, attn_buffer_take(&out, err)));
    attn_buffer_release(&out);
    attn_buffer_release(&json);
    attn_buffer_release(&tools);
    attn_template_free(parsed);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

const struct attn_talker attn_talker_by_template = {.read_template = read_template,
                                                    .check = attn_chat_check,
                                                    .write = attn_chat_write,
                                                    .append = attn_chat_append};
