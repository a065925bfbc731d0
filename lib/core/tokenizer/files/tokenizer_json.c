/*
 * tokenizer_json.c - tokenizers from tokenizer.json, the file of the library tokenizers.
 *
 * The file has up to 33 MB, nearly all of it vocabulary and merges. So it is read once as a stream
 * of tokens. The other parts are only located in it; they are parsed as trees (tokenizer_parts.c)
 * after the vocabulary.
 */
#include "tokenizer/tokenizer_internal.h"

#include "base/memory.h"
#include "base/text/number.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/stages/stages_internal.h"

#include <stddef.h>
#include <string.h>

static const char file_name[] = "tokenizer.json"; /* for messages */

/* The place of a value in the file that is read later. */
struct extent {
    const char *text; /* [size]; NULL if it is absent or null */
    size_t size;
};

struct key_reader;

struct model_text {
    char *text; /* owns; [size] and a NUL; NULL if it is absent or null */
    size_t size;
};

/* The members of the model, stored until its type is known. */
struct model_values {
    bool has_type;
    enum attn_tokenizer_kind kind;
    struct model_text unk, prefix, suffix;
    uint64_t max_character, unk_id;
    bool has_unk_id;
    bool is_list;   /* the vocabulary is a list of pieces with scores */
    bool is_object; /* the vocabulary is an object with ids */
};

struct json_reader {
    struct attn_tokenizer *tokenizer;
    const struct key_reader *row; /* the row of the current value */
    /* Before: the state at the begin of the current value. */
    struct attn_json_reader reader, before;
    const char *path; /* path of the file */
    struct extent added, parts[ATTN_TOKENIZER_N_ROLE];
    unsigned seen_top, seen_model; /* bit i is set if the key of row i was read */
    struct model_values model;
};

/* Types of values in addition to those of the JSON reader. */
enum { ANY_VALUE = ATTN_JSON_END + 1, BOOL_VALUE };

/* How the value of a key is read. READ is called after the first token of the value, TOKEN. */
struct key_reader {
    const char *key;
    enum attn_status (*read)(struct json_reader *reading, const struct attn_json_token *token,
                             struct attn_error *err);
    int type; /* type of that token; null is also accepted if is_nullable */
    bool is_nullable;
    const char *expected;
    size_t offset; /* where the value is stored: in struct json_reader, or for flags in struct
                      attn_bpe_model; 0: not stored */
};

static enum attn_status refuse_type(const char *key, bool is_of_model,
                                    const struct attn_json_token *token, const char *expected,
                                    struct attn_error *err)
{
    const char *mark = token->type == ATTN_JSON_STRING ? "\"" : "";
    const struct attn_quote found =
        token->type == ATTN_JSON_OBJECT_BEGIN  ? attn_quote_string("an object")
        : token->type == ATTN_JSON_ARRAY_BEGIN ? attn_quote_string("an array")
                                               : attn_quote(token->text, token->size);

    return attn_error_set(err, ATTN_FORMAT, "'%s' %s '%s' is %s%s%s, expected %s", key,
                          is_of_model ? "of 'model' in" : "in", file_name, mark, found.text, mark,
                          expected);
}

/* Reads the members of the current object according to ROWS [n]. Sets bit i of *seen for the key of
 * row i. */
static enum attn_status read_members(struct json_reader *reading, const struct key_reader *rows,
                                     size_t n, unsigned *seen, struct attn_error *err)
{
    const bool is_top = seen == &reading->seen_top;
    const struct key_reader *row;
    struct attn_json_token token;

    for (;;) {
        size_t i = 0;

        ATTN_TRY(attn_json_next(&reading->reader, &token, err));
        if (token.type != ATTN_JSON_KEY)
            return ATTN_OK;
        while (i < n && !attn_json_equals(&token, rows[i].key))
            i++;
        if (i == n && is_top)
            return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' in '%s' is not known",
                                  attn_quote(token.text, token.size).text, file_name);
        if (i == n) {
            ATTN_TRY(attn_json_skip(&reading->reader, err));
            continue;
        }
        if (*seen >> i & 1)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has the key '%s' a second time at byte %zu",
                                  attn_quote_string(reading->path).text, rows[i].key, token.offset);
        *seen |= 1u << i;
        reading->row = row = &rows[i];
        reading->before = reading->reader;
        ATTN_TRY(attn_json_next(&reading->reader, &token, err));
        if (row->is_nullable && token.type == ATTN_JSON_NULL)
            continue;
        if (row->type != ANY_VALUE && (int)token.type != row->type &&
            !(row->type == BOOL_VALUE &&
              (token.type == ATTN_JSON_TRUE || token.type == ATTN_JSON_FALSE)))
            return refuse_type(row->key, !is_top, &token, row->expected, err);
        ATTN_TRY(row->read(reading, &token, err));
    }
}

/* --- Values of the model ---------------------------------------------------------------------- */

static enum attn_status read_type(struct json_reader *reading, const struct attn_json_token *token,
                                  struct attn_error *err)
{
    static const struct {
        const char *type;
        enum attn_tokenizer_kind kind;
    } kinds[] = {{"BPE", ATTN_TOKENIZER_BPE},
                 {"WordPiece", ATTN_TOKENIZER_WORDPIECE},
                 {"WordLevel", ATTN_TOKENIZER_WORD},
                 {"Unigram", ATTN_TOKENIZER_UNIGRAM}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (attn_json_equals(token, kinds[i].type)) {
            reading->model.has_type = true;
            reading->model.kind = kinds[i].kind;
            return ATTN_OK;
        }
    return attn_error_set(err, ATTN_UNSUPPORTED, "'model' of type '%s' in '%s' is not supported",
                          attn_quote(token->text, token->size).text, file_name);
}

/* Reads dropout, which is refused unless it has no effect. */
static enum attn_status read_dropout(struct json_reader *reading,
                                     const struct attn_json_token *token, struct attn_error *err)
{
    const struct key_reader *row = reading->row;
    double value = 0;

    if (!attn_parse_double(token->text, token->size, &value))
        return refuse_type(row->key, true, token, row->expected, err);
    if (value == 0)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_UNSUPPORTED, "'%s' of 'model' in '%s' is %s, which is not supported, expected %s",
        row->key, file_name, attn_quote(token->text, token->size).text, row->expected);
}

static enum attn_status read_text(struct json_reader *reading, const struct attn_json_token *token,
                                  struct attn_error *err)
{
    struct model_text *to = (void *)((char *)reading + reading->row->offset);

    ATTN_TRY(ATTN_NEW(to->text, attn_alloc_uninitialized(token->size + 1, 1, err)));
    to->size = attn_json_unescape_to(token, to->text);
    to->text[to->size] = '\0';
    return ATTN_OK;
}

static enum attn_status read_count(struct json_reader *reading, const struct attn_json_token *token,
                                   struct attn_error *err)
{
    uint64_t *to = (void *)((char *)reading + reading->row->offset);

    if (!attn_json_uint(token, to))
        return refuse_type(reading->row->key, true, token, reading->row->expected, err);
    reading->model.has_unk_id = reading->model.has_unk_id || to == &reading->model.unk_id;
    return ATTN_OK;
}

static enum attn_status read_bool(struct json_reader *reading, const struct attn_json_token *token,
                                  struct attn_error *err)
{
    bool *to = (void *)((char *)&reading->tokenizer->bpe + reading->row->offset);

    (void)err;
    *to = token->type == ATTN_JSON_TRUE;
    return ATTN_OK;
}

/* Reads a piece ["the", -3.2], whose first token is TOKEN, into KEY and *SCORE. */
static enum attn_status read_piece(struct json_reader *reading, const struct attn_json_token *token,
                                   struct attn_buffer *key, double *score, struct attn_error *err)
{
    const size_t index = reading->tokenizer->vocabulary.n;
    struct attn_json_token parts[3] = {{0}};
    bool is_right = token->type == ATTN_JSON_ARRAY_BEGIN;

    for (int i = 0; i < 3 && is_right; i++) {
        static const enum attn_json_type types[] = {ATTN_JSON_STRING, ATTN_JSON_NUMBER,
                                                    ATTN_JSON_ARRAY_END};

        ATTN_TRY(attn_json_next(&reading->reader, &parts[i], err));
        is_right = parts[i].type == types[i];
    }
    if (!is_right)
        return attn_error_set(err, ATTN_FORMAT,
                              "piece %zu of 'vocab' in '%s' is not a list of a token and its score",
                              index, file_name);
    if (parts[0].size == 0)
        return attn_error_set(err, ATTN_FORMAT, "piece %zu of 'vocab' in '%s' is empty", index,
                              file_name);
    if (!attn_unigram_parse_score(parts[1].text, parts[1].size, score))
        return attn_error_set(err, ATTN_FORMAT,
                              "piece %zu of 'vocab' in '%s', '%s', has score %s, expected a finite "
                              "number",
                              index, file_name, attn_quote(parts[0].text, parts[0].size).text,
                              attn_quote(parts[1].text, parts[1].size).text);
    attn_buffer_reset(key);
    attn_json_unescape(&parts[0], key);
    return attn_buffer_check(key, err);
}

static enum attn_status read_pieces(struct json_reader *reading, struct attn_buffer *key,
                                    struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &reading->tokenizer->vocabulary;
    struct attn_unigram_model *model = &reading->tokenizer->unigram;
    struct attn_json_token token;
    double score = 0;

    for (;;) {
        ATTN_TRY(attn_json_next(&reading->reader, &token, err));
        if (token.type == ATTN_JSON_ARRAY_END)
            return attn_vocabulary_finish(vocabulary, reading->path, false, err);
        ATTN_TRY(read_piece(reading, &token, key, &score, err));
        if (vocabulary->n == INT32_MAX)
            return attn_error_set(err, ATTN_UNSUPPORTED, "'vocab' in '%s' has too many pieces",
                                  file_name);
        ATTN_TRY(ATTN_GROW(model->scores, model->capacity, model->n + 1, err));
        model->scores[model->n++] = score;
        ATTN_TRY(
            attn_vocabulary_add(vocabulary, key->data, key->size, (int32_t)vocabulary->n, err));
    }
}

static enum attn_status read_vocabulary(struct json_reader *reading,
                                        const struct attn_json_token *token, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &reading->tokenizer->vocabulary;
    /* If merges are short, the vocabulary is two thirds of the rest. Memory that is not used costs
     * nothing. */
    const size_t n_byte = (reading->reader.size - reading->reader.offset) / 3 * 2;
    struct attn_buffer key = {0};
    enum attn_status status;

    if (token->type == ATTN_JSON_ARRAY_BEGIN) {
        reading->model.is_list = true;
        status = read_pieces(reading, &key, err);
        attn_buffer_release(&key);
        return status;
    }
    if (token->type != ATTN_JSON_OBJECT_BEGIN)
        return refuse_type(reading->row->key, true, token, reading->row->expected, err);
    reading->model.is_object = true;
    reading->reader = reading->before;
    ATTN_TRY(attn_vocabulary_read_object(vocabulary, &reading->reader, n_byte, err));
    return attn_vocabulary_finish(vocabulary, reading->path, true, err);
}

/* Records the place of the list of merges and counts them. They are read later. */
static enum attn_status note_merges(struct json_reader *reading,
                                    const struct attn_json_token *token, struct attn_error *err)
{
    struct attn_unread *unread = reading->tokenizer->unread;
    struct attn_json_reader *reader = &reading->reader;
    const int depth = reader->depth; /* depth inside the list */
    struct attn_json_token next;

    unread->merges = reader->text + token->offset;
    for (;;) {
        while (reader->depth == depth && attn_json_skip_strings(reader))
            unread->n_merge++;
        ATTN_TRY(attn_json_next(reader, &next, err));
        if (reader->depth < depth)
            break;
        unread->n_merge += next.type == ATTN_JSON_ARRAY_BEGIN ||
                           (next.type == ATTN_JSON_STRING && reader->depth == depth);
    }
    unread->n_merges_byte = (size_t)(reader->text + reader->offset - unread->merges);
    return ATTN_OK;
}

/* --- Values of the file ----------------------------------------------------------------------- */

static enum attn_status read_version(struct json_reader *reading,
                                     const struct attn_json_token *token, struct attn_error *err)
{
    if (attn_json_equals(token, "1.0"))
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_UNSUPPORTED, "'version' \"%s\" of '%s' is not supported, expected %s",
        attn_quote(token->text, token->size).text, file_name, reading->row->expected);
}

/* Records the place of a part. Truncation and padding are skipped: they would change ids. */
static enum attn_status note_part(struct json_reader *reading, const struct attn_json_token *token,
                                  struct attn_error *err)
{
    const struct key_reader *row = reading->row;
    struct extent *part = (void *)((char *)reading + row->offset);

    reading->reader = reading->before;
    ATTN_TRY(attn_json_skip(&reading->reader, err));
    if (row->offset == 0) /* transformers truncates and pads only on request */
        return ATTN_OK;
    part->text = reading->reader.text + token->offset;
    part->size = reading->reader.offset - token->offset;
    return ATTN_OK;
}

/* The keys of a model. The last two are required. */
#define FLAG(key, field)                                                                           \
    {                                                                                              \
        key, read_bool, BOOL_VALUE, true, "true or false", offsetof(struct attn_bpe_model, field)  \
    }
#define VALUE(field) offsetof(struct json_reader, model.field)
static const struct key_reader model_rows[] = {
    {"type", read_type, ATTN_JSON_STRING, false,
     "\"BPE\", \"WordPiece\", \"Unigram\" or \"WordLevel\"", 0},
    {"dropout", read_dropout, ATTN_JSON_NUMBER, true, "null or 0", 0},
    {"unk_token", read_text, ATTN_JSON_STRING, true, "a token or null", VALUE(unk)},
    {"continuing_subword_prefix", read_text, ATTN_JSON_STRING, true, "a text or null",
     VALUE(prefix)},
    {"end_of_word_suffix", read_text, ATTN_JSON_STRING, true, "a text or null", VALUE(suffix)},
    {"max_input_chars_per_word", read_count, ATTN_JSON_NUMBER, false, "a number from 0",
     VALUE(max_character)},
    {"unk_id", read_count, ATTN_JSON_NUMBER, true, "an id or null", VALUE(unk_id)},
    FLAG("fuse_unk", fuses_unk),
    FLAG("byte_fallback", has_byte_fallback),
    FLAG("ignore_merges", takes_whole_pieces),
    {"vocab", read_vocabulary, ANY_VALUE, false, "an object {\"token\": id, ...}", 0},
    {"merges", note_merges, ATTN_JSON_ARRAY_BEGIN, false, "a list of merges", 0},
};
#undef FLAG
#undef VALUE
enum {
    N_MODEL_ROW = sizeof model_rows / sizeof *model_rows,
    MERGES_ROW = N_MODEL_ROW - 1,
    VOCAB_ROW = N_MODEL_ROW - 2
};

static bool has_row(const struct json_reader *reading, int row)
{
    return reading->seen_model >> row & 1;
}

/* Moves the text of FROM to *TO and *SIZE. */
static void move_text(struct model_text *from, char **to, size_t *size)
{
    *to = from->text;
    *size = from->size;
    *from = (struct model_text){0};
}

static enum attn_status set_bpe(struct json_reader *reading, struct attn_error *err)
{
    struct model_values *values = &reading->model;
    struct attn_bpe_model *model = &reading->tokenizer->bpe;

    for (int i = 0; i < 2; i++) {
        const struct model_text *text = i == 0 ? &values->prefix : &values->suffix;

        if (text->size > ATTN_BPE_SUFFIX_MAX)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' of 'model' in '%s' has %zu bytes, at most %d are supported",
                                  i == 0 ? "continuing_subword_prefix" : "end_of_word_suffix",
                                  file_name, text->size, ATTN_BPE_SUFFIX_MAX);
    }
    move_text(&values->unk, &model->unk, &model->n_unk);
    move_text(&values->suffix, &model->suffix, &model->n_suffix);
    move_text(&values->prefix, &model->prefix, &model->n_prefix);
    return ATTN_OK;
}

static enum attn_status set_wordpiece(struct json_reader *reading, struct attn_error *err)
{
    static const char prefix[] = "##", unk[] = "[UNK]";
    struct model_values *values = &reading->model;
    struct attn_wordpiece_model *model = &reading->tokenizer->wordpiece;

    model->vocabulary = &reading->tokenizer->vocabulary;
    model->max_character =
        values->max_character > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)values->max_character;
    move_text(&values->prefix, &model->prefix, &model->n_prefix);
    move_text(&values->unk, &model->unk, &model->n_unk);
    if (!model->prefix) {
        model->prefix = attn_strndup(prefix, sizeof prefix - 1, err);
        model->n_prefix = sizeof prefix - 1;
    }
    if (!model->unk) {
        model->unk = attn_strndup(unk, sizeof unk - 1, err);
        model->n_unk = sizeof unk - 1;
    }
    return model->prefix && model->unk ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status set_unigram(struct json_reader *reading, struct attn_error *err)
{
    const struct model_values *values = &reading->model;
    struct attn_unigram_model *model = &reading->tokenizer->unigram;

    model->vocabulary = &reading->tokenizer->vocabulary;
    model->has_byte_fallback = reading->tokenizer->bpe.has_byte_fallback;
    model->unk_id = -1;
    if (!values->has_unk_id)
        return ATTN_OK;
    if (values->unk_id >= model->n)
        return attn_error_set(
            err, ATTN_FORMAT,
            "'unk_id' of 'model' in '%s' is %llu, expected the id of one of the %zu pieces",
            file_name, (unsigned long long)values->unk_id, model->n);
    model->unk_id = (int32_t)values->unk_id;
    return ATTN_OK;
}

static enum attn_status set_words(struct json_reader *reading, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reading->tokenizer;

    if (!reading->model.unk.text)
        return attn_error_set(err, ATTN_FORMAT, "'model' in '%s' has no 'unk_token'", file_name);
    move_text(&reading->model.unk, &tokenizer->settings.unk, &tokenizer->settings.n_unk);
    tokenizer->words = (struct attn_word_level){.vocabulary = &tokenizer->vocabulary, .unk = -1};
    return ATTN_OK;
}

/* Sets up the model from its members. If old files lack the type, the first model is chosen for
 * which the file has all required members, as in the library. */
static enum attn_status set_model(struct json_reader *reading, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reading->tokenizer;
    struct model_values *values = &reading->model;

    if (!values->has_type)
        values->kind = values->is_list                                    ? ATTN_TOKENIZER_UNIGRAM
                       : has_row(reading, MERGES_ROW)                     ? ATTN_TOKENIZER_BPE
                       : values->max_character > 0 && values->prefix.text ? ATTN_TOKENIZER_WORDPIECE
                       : values->unk.text                                 ? ATTN_TOKENIZER_WORD
                                                                          : ATTN_TOKENIZER_BPE;
    if (!has_row(reading, VOCAB_ROW) ||
        (values->kind == ATTN_TOKENIZER_BPE && !has_row(reading, MERGES_ROW)))
        return attn_error_set(err, ATTN_FORMAT, "'model' in '%s' has no '%s'", file_name,
                              model_rows[has_row(reading, VOCAB_ROW) ? MERGES_ROW : VOCAB_ROW].key);
    if (values->is_list != (values->kind == ATTN_TOKENIZER_UNIGRAM))
        return attn_error_set(err, ATTN_FORMAT, "'vocab' of 'model' in '%s' is %s, expected %s",
                              file_name, values->is_list ? "an array" : "an object",
                              values->is_list ? "an object {\"token\": id, ...}"
                                              : "a list of pieces with their scores");
    tokenizer->kind = values->kind;
    return values->kind == ATTN_TOKENIZER_BPE         ? set_bpe(reading, err)
           : values->kind == ATTN_TOKENIZER_WORDPIECE ? set_wordpiece(reading, err)
           : values->kind == ATTN_TOKENIZER_WORD      ? set_words(reading, err)
                                                      : set_unigram(reading, err);
}

static enum attn_status read_model(struct json_reader *reading, const struct attn_json_token *token,
                                   struct attn_error *err)
{
    (void)token;
    reading->model.max_character = 100;
    ATTN_TRY(read_members(reading, model_rows, N_MODEL_ROW, &reading->seen_model, err));
    return set_model(reading, err);
}

static enum attn_status read_top(struct json_reader *reading, struct attn_error *err)
{
#define PART(key, field)                                                                           \
    {                                                                                              \
        key, note_part, ANY_VALUE, true, NULL, offsetof(struct json_reader, field)                 \
    }
    static const struct key_reader rows[] = {
        {"version", read_version, ATTN_JSON_STRING, false, "\"1.0\"", 0},
        {"truncation", note_part, ANY_VALUE, true, NULL, 0},
        {"padding", note_part, ANY_VALUE, true, NULL, 0},
        PART("added_tokens", added),
        PART("normalizer", parts[ATTN_ROLE_NORMALIZER]),
        PART("pre_tokenizer", parts[ATTN_ROLE_PRE_TOKENIZER]),
        PART("post_processor", parts[ATTN_ROLE_POST_PROCESSOR]),
        PART("decoder", parts[ATTN_ROLE_DECODER]),
        {"model", read_model, ATTN_JSON_OBJECT_BEGIN, false, "an object", 0},
    };
#undef PART
    enum { N = sizeof rows / sizeof *rows };
    struct attn_json_token token;

    ATTN_TRY(attn_json_next(&reading->reader, &token, err));
    if (token.type != ATTN_JSON_OBJECT_BEGIN)
        return attn_error_set(err, ATTN_FORMAT, "'%s' is not an object",
                              attn_quote_string(reading->path).text);
    ATTN_TRY(read_members(reading, rows, N, &reading->seen_top, err));
    ATTN_TRY(attn_json_next(&reading->reader, &token, err)); /* the end of the file */
    if (!(reading->seen_top >> (N - 1) & 1))
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no 'model'", file_name);
    return ATTN_OK;
}

/* --- Merges ----------------------------------------------------------------------------------- */

struct merge_reader {
    struct attn_json_reader json;
    struct attn_buffer keys[2]; /* scratch: keys with escapes */
    struct attn_buffer joined;  /* scratch */
    size_t index;               /* index of the current merge in the list */
    struct attn_merge_keys found;
    struct attn_merge merge; /* the previous merge */
};

/* Returns the text of TOKEN: in the file if it has no escapes, else unescaped in SCRATCH. */
static const char *key_of(const struct attn_json_token *token, struct attn_buffer *scratch,
                          size_t *size)
{
    *size = token->size;
    if (!token->has_escape)
        return token->text;
    attn_buffer_reset(scratch);
    attn_json_unescape(token, scratch);
    *size = scratch->size;
    return scratch->data;
}

/* Splits a merge of the form "a b". *is_header is set if it is the version of the file instead. */
static enum attn_status split_line(struct merge_reader *reader, const struct attn_json_token *token,
                                   bool *is_header, struct attn_error *err)
{
    static const char header[] = "#version";
    size_t size;
    const char *line = key_of(token, &reader->keys[0], &size), *space;

    ATTN_TRY(attn_buffer_check(&reader->keys[0], err));
    *is_header = reader->index == 0 && size >= sizeof header - 1 &&
                 memcmp(line, header, sizeof header - 1) == 0;
    if (*is_header)
        return ATTN_OK;
    space = size > 0 ? memchr(line, ' ', size) : NULL;
    if (!space || memchr(space + 1, ' ', (size_t)(line + size - space - 1)))
        return attn_error_set(err, ATTN_FORMAT,
                              "merge %zu in '%s', '%s', is not two tokens with one space between "
                              "them",
                              reader->index, file_name, attn_quote(line, size).text);
    reader->found = (struct attn_merge_keys){.left = line,
                                             .right = space + 1,
                                             .n_left = (size_t)(space - line),
                                             .n_right = (size_t)(line + size - space - 1)};
    return ATTN_OK;
}

/* Reads the rest of a merge of the form ["a", "b"]. */
static enum attn_status read_list(struct merge_reader *reader, struct attn_error *err)
{
    struct attn_json_token tokens[3];

    for (int i = 0; i < 3; i++) {
        ATTN_TRY(attn_json_next(&reader->json, &tokens[i], err));
        if (tokens[i].type != (i < 2 ? ATTN_JSON_STRING : ATTN_JSON_ARRAY_END))
            return attn_error_set(err, ATTN_FORMAT, "merge %zu in '%s' is not a list of two tokens",
                                  reader->index, file_name);
    }
    reader->found.left = key_of(&tokens[0], &reader->keys[0], &reader->found.n_left);
    reader->found.right = key_of(&tokens[1], &reader->keys[1], &reader->found.n_right);
    ATTN_TRY(attn_buffer_check(&reader->keys[0], err));
    return attn_buffer_check(&reader->keys[1], err);
}

/* Reads one merge, whose first token is TOKEN, and adds it to MODEL. */
static enum attn_status read_merge(struct merge_reader *reader, const struct attn_json_token *token,
                                   struct attn_bpe_model *model, struct attn_error *err)
{
    const struct attn_merge_keys *keys = &reader->found;
    struct attn_merge *merge = &reader->merge;
    bool is_header = false;

    if (token->type == ATTN_JSON_STRING)
        ATTN_TRY(split_line(reader, token, &is_header, err));
    else if (token->type == ATTN_JSON_ARRAY_BEGIN)
        ATTN_TRY(read_list(reader, err));
    else
        return attn_error_set(err, ATTN_FORMAT,
                              "merge %zu in '%s' is neither \"a b\" nor [\"a\", \"b\"]",
                              reader->index, file_name);
    if (is_header)
        return ATTN_OK;
    reader->found.n_skip = model->n_prefix;
    ATTN_TRY(attn_merges_find(model->vocabulary, keys, &reader->joined, merge, err));
    if (merge->left < 0 || merge->right < 0 || merge->merged < 0)
        return attn_error_set(
            err, ATTN_FORMAT,
            "merge %zu in '%s', of '%s' and '%s', %s a token that the vocabulary lacks",
            reader->index, file_name, attn_quote(keys->left, keys->n_left).text,
            attn_quote(keys->right, keys->n_right).text,
            merge->left < 0 || merge->right < 0 ? "has" : "makes");
    attn_merges_add(&model->merges, merge, true);
    return ATTN_OK;
}

/* Reads the list of merges, which must all have the same form. */
static enum attn_status read_all_merges(struct merge_reader *reader,
                                        struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    enum attn_json_type type = ATTN_JSON_END; /* type of all merges */
    struct attn_json_token token;

    ATTN_TRY(attn_json_next(&reader->json, &token, err)); /* the opening bracket */
    ATTN_TRY(
        attn_merges_allocate(&tokenizer->bpe.merges, tokenizer->unread->n_merge, file_name, err));
    for (;; reader->index++) {
        ATTN_TRY(attn_json_next(&reader->json, &token, err));
        if (token.type == ATTN_JSON_ARRAY_END)
            return ATTN_OK;
        if (reader->index > 0 && token.type != type)
            return attn_error_set(err, ATTN_FORMAT,
                                  "merge %zu in '%s' is written otherwise than those before it",
                                  reader->index, file_name);
        ATTN_TRY(read_merge(reader, &token, &tokenizer->bpe, err));
        type = token.type;
    }
}

static enum attn_status read_merges(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const struct attn_unread *unread = tokenizer->unread;
    struct merge_reader reader = {
        .json = attn_json_reader_init(unread->merges, unread->n_merges_byte, file_name),
        .merge = {.merged = -1}};
    const enum attn_status status = read_all_merges(&reader, tokenizer, err);

    attn_buffer_release(&reader.keys[0]);
    attn_buffer_release(&reader.keys[1]);
    attn_buffer_release(&reader.joined);
    return status;
}

/* --- The file --------------------------------------------------------------------------------- */

static enum attn_status read_part(const struct json_reader *reading, enum attn_tokenizer_role role,
                                  struct attn_error *err)
{
    const struct extent *part = &reading->parts[role];

    return attn_tokenizer_read_part(reading->tokenizer, role, part->text, part->size, err);
}

static enum attn_status add_model(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    struct attn_pipeline *pipeline = &tokenizer->pipeline;

    if (tokenizer->kind == ATTN_TOKENIZER_WORDPIECE)
        return attn_pipeline_add(pipeline, &attn_wordpiece_stage, &tokenizer->wordpiece, err);
    if (tokenizer->kind == ATTN_TOKENIZER_UNIGRAM)
        return attn_pipeline_add(pipeline, &attn_unigram_stage, &tokenizer->unigram, err);
    if (tokenizer->kind == ATTN_TOKENIZER_WORD)
        return attn_pipeline_add(pipeline, &attn_whole_word_stage, &tokenizer->words, err);
    return attn_pipeline_add(pipeline, &attn_bpe_stage, &tokenizer->bpe, err);
}

/* Reads the file once, and then the parts whose places were recorded. ROLES get their ids. */
static enum attn_status read_file(struct json_reader *reading, const struct attn_source *source,
                                  struct attn_token_role *roles, struct attn_error *err)
{
    const struct attn_class *found = reading->tokenizer->settings.found;
    struct attn_tokenizer *tokenizer = reading->tokenizer;
    struct attn_pipeline *pipeline = &tokenizer->pipeline;
    const struct attn_added *added = &tokenizer->added;
    size_t n_before;

    ATTN_TRY(read_top(reading, err));
    if (reading->added.text)
        ATTN_TRY(attn_added_read_json(tokenizer, reading->added.text, reading->added.size, err));
    if (found->name || found->config || attn_source_has_part(source, "added_tokens.json") ||
        attn_source_has_part(source, "special_tokens_map.json"))
        ATTN_TRY(attn_tokenizer_read_added(tokenizer, source, found->config, true, roles, err));
    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, added, false, 0, err));
    n_before = pipeline->n;
    ATTN_TRY(read_part(reading, ATTN_ROLE_NORMALIZER, err));
    ATTN_TRY(attn_added_add_stage(pipeline, added, true, pipeline->n - n_before, err));
    ATTN_TRY(read_part(reading, ATTN_ROLE_PRE_TOKENIZER, err));
    ATTN_TRY(add_model(tokenizer, err));
    ATTN_TRY(read_part(reading, ATTN_ROLE_DECODER, err));
    ATTN_TRY(read_part(reading, ATTN_ROLE_POST_PROCESSOR, err));
    return attn_beside_finish(tokenizer, reading->parts[ATTN_ROLE_POST_PROCESSOR].text, roles, err);
}

enum attn_status attn_tokenizer_json_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source,
                                          const struct attn_class *found, struct attn_error *err)
{
    struct attn_file file = {0};
    struct json_reader reading = {.tokenizer = tokenizer};
    static const struct attn_class_row bare = {.single = "A"};
    struct attn_token_role roles[ATTN_CLASS_N_ROLE];
    enum attn_status status;

    ATTN_TRY(attn_file_read_part(source, file_name, &file, err));
    status = attn_tokenizer_add_unread(tokenizer, file.path, err);
    if (status != ATTN_OK) {
        attn_file_release(&file);
        return status;
    }
    tokenizer->unread->file = file; /* it contains the merges, which are read later */
    tokenizer->skips_unknown_ids = true;
    tokenizer->bpe.vocabulary = &tokenizer->vocabulary;
    if (attn_source_has_part(source, "vocab.json"))
        tokenizer->detail = "'tokenizer.json' is read, 'vocab.json' beside it is not";
    reading.path = file.path;
    reading.reader = attn_json_reader_init((const char *)file.data, file.size, file.path);
    tokenizer->settings.found = found;
    attn_class_get_roles(found->row ? found->row : &bare, roles);
    if (found->row && found->row->traits & ATTN_CLASS_FILE_MASK)
        roles[MASK_ROLE].is_wide = false;
    status = read_file(&reading, source, roles, err);
    tokenizer->settings.found = NULL;
    if (tokenizer->kind == ATTN_TOKENIZER_BPE)
        tokenizer->unread->read = read_merges;
    attn_free(reading.model.unk.text);
    attn_free(reading.model.prefix.text);
    attn_free(reading.model.suffix.text);
    return status;
}
