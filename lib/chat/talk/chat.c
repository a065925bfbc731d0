/* chat.c - see chat.h. */
#include "talk/chat.h"

#include "base/file.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "talk/tokenizer_chat.h"
#include "template/template.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

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

    if (!last || last->end == 0 || strcmp(last->role, "assistant") != 0)
        return 0;
    while (i < encoding->n &&
           (encoding->texts[i] == ATTN_TEXT_NONE || encoding->end[i] <= last->begin))
        i++;
    return i < encoding->n ? i : 0;
}

enum attn_status attn_chat_check(const struct attn_chat_request *asked,
                                 const struct attn_input *input, struct attn_error *err)
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
    return ATTN_OK;
}

enum attn_status attn_chat_check_reading(const struct attn_request_reading *reading,
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

const struct attn_talker attn_talker_by_template = {.read_template = attn_tokenizer_read_chat,
                                                    .check = attn_chat_check,
                                                    .check_reading = attn_chat_check_reading,
                                                    .write = attn_chat_write};
