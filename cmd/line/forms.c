/* forms.c - parses the values of options that are settings or inputs. */
#include "cmd/line/options_internal.h"

#include "cmd/line/report.h"
#include "cmd/line/topics.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

/* --- Settings --------------------------------------------------------------------------------- */

/* The value of an option that has settings: 'theme=dark font="DejaVu Sans"'. Each setting is stored
 * as an option is. A word without = is the value of the option itself, as window:64 in --attention
 * 'window:64 scale=off'. */

enum { LABEL_SIZE = 96, SETTINGS_HINT_SIZE = 200 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Ends the word at TEXT with a zero byte, and removes the quotation marks in it. Returns the text
 * after it; NULL if a quotation does not end. */
static char *cut_word(char *text)
{
    char *to = text, quote = '\0';

    for (; *text && (quote || !is_blank(*text)); text++)
        if (quote ? *text == quote : *text == '"' || *text == '\'')
            quote = quote ? '\0' : *text;
        else
            *to++ = *text;
    if (quote)
        return NULL;
    text += *text != '\0';
    *to = '\0';
    return text;
}

static enum attn_status refuse_setting(const struct call *call, const struct option_walk *option,
                                       const char *label, const char *word, size_t size,
                                       struct attn_error *err)
{
    struct attn_typo typo = {.typed = word, .size = size};
    char hint[SETTINGS_HINT_SIZE];
    const char *meant;

    for (struct option_walk walk = {.command = call->command}; option_next_setting(&walk, option);)
        attn_typo_try(&typo, walk.name);
    meant = attn_typo_meant(&typo);
    if (meant)
        snprintf(hint, sizeof hint, "did you mean '%s=...'?", meant);
    else
        snprintf(hint, sizeof hint, "'attn-cli help %s' lists the settings",
                 topic_of_heading(option->heading));
    return refuse(err, hint, "'%s' has no setting '%.*s'", label, (int)size, word);
}

static enum attn_status take_setting(struct call *call, const struct option_walk *walk,
                                     const char *label, const char *word, enum call_origin origin,
                                     struct attn_error *err)
{
    const char *equals = strchr(word, '=');
    const size_t size = equals ? (size_t)(equals - word) : strlen(word);
    struct option_walk setting = {.command = call->command};
    char name[LABEL_SIZE];
    bool is_flag;

    if (!option_find(&setting, walk->name, word, size)) {
        if (equals || walk->param->type == ATTN_PARAM_SETTINGS)
            return refuse_setting(call, walk, label, word, size, err);
        return option_take_value(call, walk, label, word, origin, err);
    }
    snprintf(name, sizeof name, "%s %s", label, setting.name);
    is_flag = setting.param->type == ATTN_PARAM_FLAG;
    if (is_flag && equals)
        return refuse(err, NULL, "setting '%s' takes no value", name);
    if (!is_flag && !equals)
        return refuse(err, NULL, "setting '%s' needs a value: %s=%s", name, setting.name,
                      option_argument(setting.param));
    return option_take_value(call, &setting, name, equals ? equals + 1 : "true", origin, err);
}

enum attn_status settings_take(struct call *call, const struct option_walk *walk, const char *label,
                               const char *value, enum call_origin origin, struct attn_error *err)
{
    char *text = call_keep(call, value, strlen(value)), *word;
    size_t n = 0;

    if (!text)
        return attn_error_no_memory(err);
    for (;; n++) {
        while (is_blank(*text))
            text++;
        word = text;
        if (!*word)
            break;
        text = cut_word(word);
        if (!text)
            return refuse(err, NULL, "'%s' is '%s': a quotation does not end", label, value);
        ATTN_TRY(take_setting(call, walk, label, word, origin, err));
    }
    if (n == 0)
        return refuse(err, NULL, "'%s' is '%s', expected %s", label, value,
                      option_argument(walk->param));
    return ATTN_OK;
}

/* --- Inputs ----------------------------------------------------------------------------------- */

/* The value of an option that is an input may begin with its kind: ids:5,17,3, image:PATH,
 * file:PATH, or text: for a text that begins like these, or like a kind of later versions. */

enum { MOST_BYTES = 1 << 28, FIRST_BYTES = 512 };

/* Returns true if the file PATH is an array or a sound by its name, or has a zero byte near its
 * beginning: no text. */
static bool is_binary(const char *path)
{
    static const char *const endings[] = {".npy", ".wav", ".flac", ".ogg"};
    char first[FIRST_BYTES];
    FILE *file = fopen(path, "rbe");
    const size_t n = file ? fread(first, 1, sizeof first, file) : 0;

    if (file)
        fclose(file);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (attn_path_has_ending(path, endings[i]))
            return true;
    return memchr(first, '\0', n) != NULL;
}

/* Reads the text of the file PATH without one final newline. CALL keeps it. */
static enum attn_status read_text(struct call *call, const char *path, const char **text,
                                  struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;
    size_t n_mark, size;

    ATTN_TRY(at_stage(ATTN_STAGE_INPUT, attn_file_read_regular(path, MOST_BYTES, &file, err), err));
    status =
        at_stage(ATTN_STAGE_INPUT,
                 attn_text_find_mark((const char *)file.data, file.size, path, &n_mark, err), err);
    if (status == ATTN_OK) {
        size = file.size - n_mark;
        size -= size > 0 && file.data[file.size - 1] == '\n';
        *text = call_keep(call, (const char *)file.data + n_mark, size);
        status = !*text                  ? attn_error_no_memory(err)
                 : strlen(*text) != size ? problem(err, ATTN_STAGE_INPUT, NULL,
                                                   "'%s' is no text: it has a zero byte", path)
                                         : ATTN_OK;
    }
    attn_file_release(&file);
    return status;
}

/* Takes each line of TEXT as a value of OPTION, except for empty lines. */
static enum attn_status take_lines(struct call *call, const struct option_walk *option,
                                   const char *label, const char *text, enum call_origin origin,
                                   struct attn_error *err)
{
    static const char ends[] = "\r\n";
    const char *line;

    text += strspn(text, ends);
    if (!*text)
        return problem(err, ATTN_STAGE_INPUT, NULL,
                       "'%s' is a file without a text, expected one in each line", label);
    for (size_t size; *text; text += size + strspn(text + size, ends)) {
        size = strcspn(text, ends);
        line = call_keep(call, text, size);
        if (!line)
            return attn_error_no_memory(err);
        ATTN_TRY(option_take_value(call, option, label, line, origin, err));
    }
    return ATTN_OK;
}

enum attn_status form_take(struct call *call, const struct option_walk *option, const char *label,
                           const char *value, enum call_origin origin, struct attn_error *err)
{
    const char *prefix = attn_input_prefix(value, strlen(value)),
               *rest = prefix ? value + strlen(prefix) : value;
    const bool takes_text = option_is_text(option);
    struct option_walk form = {.command = call->command};
    char name[LABEL_SIZE], expected[OPTION_FORMS_SIZE];
    bool has_form = false;

    while (prefix && !has_form && option_next_form(&form, option))
        has_form = strcmp(form.param->prefix, prefix) == 0;
    if (has_form && (strcmp(prefix, "file:") != 0 || !takes_text || is_binary(rest))) {
        snprintf(name, sizeof name, "%s %s", label, prefix);
        return option_take_value(call, &form, name, rest, origin, err);
    }
    if (prefix && takes_text && strcmp(prefix, "file:") == 0) {
        ATTN_TRY(read_text(call, rest, &rest, err));
        if (option->param->type == ATTN_PARAM_TEXTS)
            return take_lines(call, option, label, rest, origin, err);
    } else if (prefix && takes_text && strcmp(prefix, "text:") != 0)
        return refuse(err, "text: in front makes it a text", "'%s' is '%s', expected a text or %s",
                      label, attn_quote_string(value).text,
                      option_write_forms(option, ", ", expected) ? expected : "");
    return option_take_value(call, option, label, takes_text ? rest : value, origin, err);
}
