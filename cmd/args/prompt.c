/* prompt.c - reads texts, lists of ids and arrays of embeddings. */
#include "cmd/args/prompt.h"

#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOUR = 3600 };

static const struct option text_rows[] = {
    OPTION_TEXT("prompt", "TEXT", struct prompt_args, text, "the text", .letter = 'p'),
    OPTION_TEXT("sentence", "TEXT", struct prompt_args, text, "another name for --prompt"),
};

const struct option_group prompt_text_options = OPTION_GROUP("Input", text_rows);

static const struct option prompt_rows[] = {
    OPTION_PLAIN("TEXT", struct prompt_args, plain, NULL),
    OPTION_TEXT("file", "FILE", struct prompt_args, file,
                "read the text from FILE, '-' is standard input, "
                "without one final newline; of FASTA the one record",
                .letter = 'f'),
    OPTION_FLAG("raw", struct prompt_args, is_raw, "keep the final newline of that file"),
};

const struct option_group prompt_options = OPTION_GROUP("Input", prompt_rows);

static const struct option special_rows[] = {
    OPTION_CHOICE("special", "parse|text", struct prompt_args, special,
                  "read special tokens that are written in the text as such (parse, default) or "
                  "as plain text (text)"),
    OPTION_CHOICE("special-tokens", "on|off", struct prompt_args, special_tokens,
                  "add (on, default) or leave out the tokens that the tokenizer adds to each text, "
                  "such as Llama's <s>"),
    OPTION_TEXT("with-prompt", "NAME", struct prompt_args, with_prompt,
                "put prompt NAME of the model in front of each text"),
    OPTION_NUMBER("max-tokens", "N", struct prompt_args, max_tokens, 1, INT32_MAX,
                  "the longest text in tokens; default: what the model takes within an hour"),
};

const struct option_group special_options = OPTION_GROUP("Input", special_rows);

static const struct option numbers_rows[] = {
    OPTION_TEXT("ids", "LIST", struct prompt_args, ids, "token ids instead of a text: 5,17,3"),
    OPTION_TEXT("types", "LIST", struct prompt_args, types,
                "the token types of these ids, 0,0,1,1, of an encoder of two texts; by default 0"),
    OPTION_TEXT("embeds", "FILE.npy", struct prompt_args, embeds,
                "an array [T, d_model] instead of the embeddings of a text; embeddings of "
                "positions are still added"),
};

const struct option_group prompt_numbers_options = OPTION_GROUP("Input", numbers_rows);

static const struct option pair_rows[] = {
    OPTION_TEXT("pair", "TEXT", struct prompt_args, pair,
                "a second text, put after the first as the tokenizer says: [CLS] text [SEP] pair "
                "[SEP]"),
};

const struct option_group pair_options = OPTION_GROUP("Input", pair_rows);

static const struct option key_mask_rows[] = {
    OPTION_TEXT("key-mask", "LIST", struct prompt_args, key_mask,
                "1,1,0: a number for each token of an encoder's text, or for each row of the "
                "source where there is one; no query attends to keys with 0"),
};

const struct option_group key_mask_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_TENSORS, "Attention", key_mask_rows);

static const struct option image_rows[] = {
    OPTION_TEXT(
        "image", "FILE", struct prompt_args, image,
        "a picture instead of a text, for models that read pictures: PNG, JPEG, WebP or .npy, "
        "uint8 [H, W, 3]; float32 [C, H, W] holds the values that the model gets"),
    OPTION_LIST(
        "label", "TEXT", struct prompt_args, label,
        "a text that the picture is compared with (CLIP), or the text (models of sentences): the "
        "model becomes a classifier with these labels. May be repeated"),
    OPTION_LIST("label-ids", "LIST", struct prompt_args, label_ids, "the same label as token ids"),
    OPTION_LIST("label-image", "FILE", struct prompt_args, label_image,
                "a picture that the text is compared with (CLIP)"),
};

const struct option_group prompt_image_options = OPTION_GROUP("Input", image_rows);

static const struct option_part parts[] = {
    {&prompt_text_options, 0}, {&prompt_options, 0},         {&special_options, 0},
    {&pair_options, 0},        {&prompt_numbers_options, 0},
};

const struct option_group prompt_all_options = {OPTION_PARTS(parts)};

static const struct option source_rows[] = {
    OPTION_TEXT(
        "source", "TEXT|FILE.npy", struct prompt_args, source,
        "second sequence for cross-attention: a text, or an array [S, d_source] in a .npy file"),
    OPTION_TEXT("source-ids", "LIST", struct prompt_args, source_ids,
                "token ids instead of the text of --source"),
};

const struct option_group source_options = OPTION_GROUP("Input", source_rows);

bool prompt_has_labels(const struct prompt_args *args)
{
    return args->label.n + args->label_ids.n + args->label_image.n > 0;
}

bool prompt_is_given(const struct prompt_args *args)
{
    return args->plain.n > 0 || args->text || args->file || args->ids || args->embeds ||
           args->image;
}

/* Refuses the second of TEXTS. One word before a text of several may be a model. */
static enum attn_status refuse_second(const struct text_list *texts, struct attn_error *err)
{
    const char *first = texts->items[0], *second = texts->items[1];
    const bool is_name = texts->n == 2 && !strchr(first, ' ');
    char hint[ATTN_ERROR_HINT_SIZE] = "put a text of several words in quotes";

    if (is_name && strchr(second, ' '))
        snprintf(hint, sizeof hint, "a model goes after -m: -m %s", attn_quote_string(first).text);
    else if (is_name)
        snprintf(hint, sizeof hint,
                 "put a text of several words in quotes; a model goes after -m: -m %s",
                 attn_quote_string(first).text);
    return refuse(err, hint, "more than one text given: '%s' and '%s'", first, second);
}

enum attn_status prompt_check(const struct prompt_args *args, const char *hint,
                              struct attn_error *err)
{
    size_t n =
        args->plain.n + !!args->text + !!args->file + !!args->ids + !!args->embeds + !!args->image;

    if (n == 0)
        return refuse(err, hint, "no text given");
    if (args->plain.n > 1)
        return refuse_second(&args->plain, err);
    if (n > 1 && args->image)
        return refuse(err, NULL, "--image is given beside a text, expected one of them");
    if (n > 1)
        return refuse(err, NULL, "the text is given in more than one way");
    if (args->types && !args->ids)
        return refuse(err, "--ids 5,17,3 --types 0,0,1",
                      "--types is given without --ids, whose tokens it is about");
    if ((args->special || args->special_tokens) && !args->source && args->label.n == 0 &&
        (args->ids || args->embeds || args->image))
        return refuse(err, NULL, "--%s is about a text, and --%s is given instead of one",
                      args->special ? "special" : "special-tokens",
                      args->ids      ? "ids"
                      : args->embeds ? "embeds"
                                     : "image");
    if (args->pair && (args->ids || args->embeds))
        return refuse(err, NULL, "--pair is a second text, which --%s does not take",
                      args->ids ? "ids" : "embeds");
    return ATTN_OK;
}

void prompt_say_special(const struct prompt_args *args, struct attn_request *request)
{
    request->reading.special = (enum attn_special)args->special;
    request->reading.special_tokens = (enum attn_special_tokens)args->special_tokens;
    request->reading.with_prompt = args->with_prompt;
    request->max_tokens = (size_t)args->max_tokens;
    request->max_seconds = HOUR;
}

bool path_has_ending(const char *path, const char *ending)
{
    return text_ends_in(path, ending) && strlen(path) > strlen(ending);
}

static enum attn_status refuse_file(const char *verb, const char *name, struct attn_error *err)
{
    return problem(err, ATTN_STAGE_INPUT, NULL, "cannot %s '%s': %s", verb, name, strerror(errno));
}

/* A signal that does not ask the command to end does not end the reading. */
static enum attn_status read_all(int descriptor, const char *name, struct text *text,
                                 struct attn_error *err)
{
    enum { FIRST_SIZE = 1 << 16 };
    size_t capacity = 0;
    ssize_t n_read;
    do {
        if (text->size == capacity) {
            char *bigger = realloc(text->owned, capacity ? 2 * capacity : FIRST_SIZE);

            if (!bigger)
                return attn_error_no_memory(err);
            capacity = capacity ? 2 * capacity : FIRST_SIZE;
            text->owned = bigger;
            text->data = bigger;
        }
        n_read = read(descriptor, text->owned + text->size, capacity - text->size);
        text->size += n_read > 0 ? (size_t)n_read : 0;
    } while (n_read > 0 || (n_read < 0 && errno == EINTR));
    return n_read < 0 ? refuse_file("read", name, err) : ATTN_OK;
}

static enum attn_status read_file(const char *path, struct text *text, struct attn_error *err)
{
    int descriptor;
    enum attn_status status;

    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", text, err);
    do
        descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return refuse_file("open", path, err);
    status = read_all(descriptor, path, text, err);
    close(descriptor);
    return status;
}

/* Reads the only record of a file of FASTA. */
static enum attn_status read_record(const char *path, struct text *text, struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_items *items = NULL;
    struct attn_item *item = NULL, *next = NULL;
    enum attn_status status;

    options.path = path;
    options.form = ATTN_ITEMS_FASTA;
    options.cancel = interrupt_flag();
    ATTN_TRY(attn_items_open(&options, &items, err));
    status = attn_items_next(items, &item, err);
    if (status == ATTN_OK)
        status = attn_items_next(items, &next, err);
    if (status == ATTN_OK && (!item || next || !item->record.input.text))
        status = problem(err, ATTN_STAGE_INPUT,
                         next ? "'attn-cli batch' takes a file of several proteins" : NULL,
                         "'%s' has %s, expected one", path,
                         next                               ? "several records"
                         : item && !item->record.input.text ? "a record without letters"
                                                            : "no record");
    if (status == ATTN_OK) {
        text->size = item->record.input.n_text;
        text->data = text->owned = malloc(text->size);
        if (text->owned)
            memcpy(text->owned, item->record.input.text, text->size);
        else
            status = attn_error_no_memory(err);
    }
    attn_item_free(item);
    attn_item_free(next);
    attn_items_free(items);
    return status;
}

enum attn_status prompt_read(const struct prompt_args *args, struct text *text,
                             struct attn_error *err)
{
    const char *plain = args->plain.n ? args->plain.items[0] : args->text;
    const char *path = args->file;
    enum attn_status status;

    if (args->plain.n && strcmp(plain, "-") == 0)
        path = plain;
    *text = (struct text){0};
    if (!path && args->is_raw)
        return refuse(err, NULL, "--raw needs --file, or - for standard input");
    if (!path) {
        *text = (struct text){.data = plain, .size = strlen(plain)};
        return ATTN_OK;
    }
    if (attn_path_is_fasta(path))
        return read_record(path, text, err);
    status = read_file(path, text, err);
    if (status != ATTN_OK)
        text_release(text);
    else if (!args->is_raw && text->size > 0 && text->data[text->size - 1] == '\n')
        text->size--;
    return status;
}

void text_release(struct text *text)
{
    free(text->owned);
    *text = (struct text){0};
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\n");
}

/* The items of a list, for messages. */
struct list_form {
    const char *item, *hint;
};

static enum attn_status parse_list(const char *list, const struct list_form *form, int32_t **ids,
                                   size_t *n, struct attn_error *err)
{
    int32_t *parsed = malloc((strlen(list) / 2 + 1) * sizeof *parsed); /* "1,2": 3 bytes, 2 ids */
    const char *at = skip_blanks(list);
    bool is_done = *at == '\0';
    size_t n_id = 0;

    if (!parsed)
        return attn_error_no_memory(err);
    while (!is_done) {
        const size_t size = strcspn(at, ", \t\n");
        int64_t id;

        if (!attn_parse_int(at, size, 0, INT32_MAX, &id)) {
            free(parsed);
            if (size == 0)
                return refuse(err, form->hint, "'%s' has an empty item, expected %s", list,
                              form->item);
            return refuse(err, form->hint, "'%.*s' is not %s", (int)size, at, form->item);
        }
        parsed[n_id++] = (int32_t)id;
        at = skip_blanks(at + size);
        is_done = *at == '\0';
        if (*at == ',') /* between two items are a comma, blanks, or both */
            at = skip_blanks(at + 1);
    }
    *ids = parsed;
    *n = n_id;
    return ATTN_OK;
}

enum attn_status ids_parse(const char *list, int32_t **ids, size_t *n, struct attn_error *err)
{
    static const struct list_form form = {"a token id",
                                          "ids are numbers separated by commas or spaces"};

    return parse_list(list, &form, ids, n, err);
}

enum attn_status text_or_ids_read(const char *text, const char *list, struct attn_input *input,
                                  int32_t **ids, struct attn_error *err)
{
    input->text = text;
    input->n_text = text ? strlen(text) : 0;
    if (list)
        ATTN_TRY(ids_parse(list, ids, &input->n_id, err));
    input->ids = *ids;
    return ATTN_OK;
}

const char *pair_find_given(const struct prompt_args *args)
{
    const char *name = args->pair ? "pair" : args->key_mask ? "key-mask" : NULL;

    return name ? name : args->types ? "types" : args->is_raw ? "raw" : NULL;
}

enum attn_status pair_read(const struct prompt_args *prompt, int32_t **owned,
                           struct attn_request *request, struct attn_error *err)
{
    static const struct list_form form = {"0 or 1", "--key-mask 1,1,0 masks the third key"};
    const bool has_source =
        request->source.text || request->source.ids || request->source.embeddings;
    struct attn_input *masked = has_source ? &request->source : &request->input;

    if (prompt->pair) {
        request->input.pair = prompt->pair;
        request->input.n_pair = strlen(prompt->pair);
    }
    if (!prompt->key_mask)
        return ATTN_OK;
    ATTN_TRY(parse_list(prompt->key_mask, &form, owned, &masked->n_key_mask, err));
    masked->key_mask = *owned;
    return ATTN_OK;
}

/* Reads a file of rows, [.., AXES], into ARRAY. */
static enum attn_status read_rows(const char *path, const char *axes, struct attn_ndarray *array,
                                  struct attn_error *err)
{
    return at_stage(ATTN_STAGE_INPUT, attn_ndarray_read(path, 2, 2, axes, array, err), err);
}

enum attn_status source_read(const char *source, struct attn_ndarray *rows,
                             struct attn_input *input, struct attn_error *err)
{
    if (source && path_has_ending(source, ".npy")) {
        ATTN_TRY(read_rows(source, "[S, d_source]", rows, err));
        input->embeddings = rows;
    } else if (source) {
        input->text = source;
        input->n_text = strlen(source);
    }
    return ATTN_OK;
}

enum attn_status prompt_source_read(const struct prompt_args *prompt, struct input *input,
                                    struct attn_request *request, struct attn_error *err)
{
    if (prompt->source && prompt->source_ids)
        return refuse(err, NULL, "--source and --source-ids are given, expected one of them");
    if (prompt->source_ids)
        ATTN_TRY(ids_parse(prompt->source_ids, &input->source_ids, &request->source.n_id, err));
    request->source.ids = input->source_ids;
    return source_read(prompt->source, &input->source, &request->source, err);
}

enum attn_status input_read(const struct prompt_args *prompt, struct input *input,
                            struct attn_request *request, struct attn_error *err)
{
    prompt_say_special(prompt, request);
    if (prompt->embeds) {
        ATTN_TRY(read_rows(prompt->embeds, "[T, d_model]", &input->embeddings, err));
        request->input.embeddings = &input->embeddings;
    } else if (prompt->ids) {
        ATTN_TRY(ids_parse(prompt->ids, &input->ids, &request->input.n_id, err));
        request->input.ids = input->ids;
        if (prompt->types)
            ATTN_TRY(ids_parse(prompt->types, &input->types, &request->input.n_type, err));
        request->input.types = input->types;
    } else if (prompt->image) {
        request->input.image = prompt->image;
    } else {
        ATTN_TRY(prompt_read(prompt, &input->text, err));
        request->input.text = input->text.data;
        request->input.n_text = input->text.size;
    }
    return ATTN_OK;
}

enum attn_status labels_read(const struct prompt_args *prompt, struct input *input,
                             struct attn_request_predict *predict, struct attn_error *err)
{
    const struct text_list *ids = &prompt->label_ids;

    predict->labels = prompt->label.items;
    predict->n_label = prompt->label.n;
    predict->more = &input->labels;
    input->labels.images = prompt->label_image.items;
    input->labels.n_image = prompt->label_image.n;
    if (ids->n == 0)
        return ATTN_OK;
    ATTN_TRY(ALLOCATE(input->label_ids, ids->n, err));
    input->labels.ids = input->label_ids;
    for (; input->labels.n_ids < ids->n; input->labels.n_ids++) {
        struct attn_label_ids *label = &input->label_ids[input->labels.n_ids];
        int32_t *numbers;

        label->name = ids->items[input->labels.n_ids];
        ATTN_TRY(ids_parse(label->name, &numbers, &label->n, err));
        label->ids = numbers;
    }
    return ATTN_OK;
}

void input_release(struct input *input)
{
    for (size_t i = 0; i < input->labels.n_ids; i++)
        free((void *)(uintptr_t)input->label_ids[i].ids);
    free(input->label_ids);
    attn_ndarray_release(&input->embeddings);
    attn_ndarray_release(&input->source);
    free(input->ids);
    free(input->types);
    free(input->source_ids);
    free(input->key_mask);
    text_release(&input->text);
}
