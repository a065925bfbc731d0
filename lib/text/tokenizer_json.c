/*
 * tokenizer_json.c - see tokenizer_json.h.
 *
 * The file has up to 33 MB, nearly all of it vocabulary and merges. So it is pulled once, from front
 * to end; of the other parts it is noted where they are, and these are read as trees (parts.h) when
 * the vocabulary is there.
 */
#include "text/tokenizer_json.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "text/added_json.h"
#include "text/parts.h"
#include "text/stages/change.h"

#include <string.h>

static const char file_name[] = "tokenizer.json"; /* in messages */

/* A value in the file, not read yet. */
struct part {
    const char *text; /* [size]; NULL when it is absent or null */
    size_t size;
};

struct reading {
    struct attn_tokenizer *tokenizer;
    struct attn_json_reader reader;
    const char *path; /* of the file */
    struct part added, normalizer, pre_tokenizer, post_processor, decoder;
    unsigned seen_top, seen_model; /* bit i: the key of row i came */
};

/* How the value of a key is read. */
struct key_reader {
    const char *key;
    enum attn_status (*read)(struct reading *reading, const char *key, struct attn_error *err);
};

static enum attn_status refuse(const char *key, const char *where,
                               const struct attn_json_token *token, const char *expected,
                               struct attn_error *err)
{
    const char *mark = token->type == ATTN_JSON_STRING ? "\"" : "";
    const struct attn_quote found =
        token->type == ATTN_JSON_OBJECT_BEGIN  ? attn_quote_string("an object")
        : token->type == ATTN_JSON_ARRAY_BEGIN ? attn_quote_string("an array")
                                               : attn_quote(token->text, token->size);

    return attn_error_set(err, ATTN_FORMAT, "'%s' %s '%s' is %s%s%s, expected %s", key, where,
                          file_name, mark, found.text, mark, expected);
}

/* --- Values of the model ---------------------------------------------------------------------- */

static const char of_model[] = "of 'model' in";

static enum attn_status read_bool(struct reading *reading, const char *key, bool *value,
                                  struct attn_error *err)
{
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&reading->reader, &token, err);

    if (status != ATTN_OK || token.type == ATTN_JSON_NULL)
        return status;
    if (token.type != ATTN_JSON_TRUE && token.type != ATTN_JSON_FALSE)
        return refuse(key, of_model, &token, "true or false", err);
    *value = token.type == ATTN_JSON_TRUE;
    return ATTN_OK;
}

static enum attn_status read_fuse_unk(struct reading *reading, const char *key,
                                      struct attn_error *err)
{
    return read_bool(reading, key, &reading->tokenizer->bpe.fuses_unk, err);
}

static enum attn_status read_byte_fallback(struct reading *reading, const char *key,
                                           struct attn_error *err)
{
    return read_bool(reading, key, &reading->tokenizer->bpe.has_byte_fallback, err);
}

static enum attn_status read_ignore_merges(struct reading *reading, const char *key,
                                           struct attn_error *err)
{
    return read_bool(reading, key, &reading->tokenizer->bpe.takes_whole_pieces, err);
}

static enum attn_status read_dropout(struct reading *reading, const char *key,
                                     struct attn_error *err)
{
    struct attn_json_token token;
    double value;
    enum attn_status status = attn_json_next(&reading->reader, &token, err);

    if (status != ATTN_OK || token.type == ATTN_JSON_NULL)
        return status;
    if (token.type != ATTN_JSON_NUMBER || !attn_parse_double(token.text, token.size, &value))
        return refuse(key, of_model, &token, "null or 0", err);
    if (value == 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' of 'model' in '%s' is %s, which is not supported, expected null or "
                          "0",
                          key, file_name, attn_quote(token.text, token.size).text);
}

/* A prefix or suffix of subwords: none is supported. */
static enum attn_status read_affix(struct reading *reading, const char *key, struct attn_error *err)
{
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&reading->reader, &token, err);

    if (status != ATTN_OK || token.type == ATTN_JSON_NULL)
        return status;
    if (token.type != ATTN_JSON_STRING)
        return refuse(key, of_model, &token, "null or \"\"", err);
    if (token.size == 0)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_UNSUPPORTED,
        "'%s' of 'model' in '%s' is \"%s\", which is not supported, expected null "
        "or \"\"",
        key, file_name, attn_quote(token.text, token.size).text);
}

static enum attn_status read_unk(struct reading *reading, const char *key, struct attn_error *err)
{
    struct attn_bpe_model *model = &reading->tokenizer->bpe;
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&reading->reader, &token, err);

    if (status != ATTN_OK || token.type == ATTN_JSON_NULL)
        return status;
    if (token.type != ATTN_JSON_STRING)
        return refuse(key, of_model, &token, "a token or null", err);
    model->unk = attn_alloc_uninitialized(token.size + 1, 1, err);
    if (!model->unk)
        return ATTN_NO_MEMORY;
    model->n_unk = attn_json_unescape_to(&token, model->unk);
    return ATTN_OK;
}

static enum attn_status read_type(struct reading *reading, const char *key, struct attn_error *err)
{
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&reading->reader, &token, err);

    if (status != ATTN_OK)
        return status;
    if (token.type != ATTN_JSON_STRING)
        return refuse(key, of_model, &token, "\"BPE\"", err);
    if (attn_json_equals(&token, "BPE"))
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED, "'model' of type '%s' in '%s' is not supported",
                          attn_quote(token.text, token.size).text, file_name);
}

static enum attn_status read_vocabulary(struct reading *reading, const char *key,
                                        struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &reading->tokenizer->vocabulary;
    struct attn_json_reader peek = reading->reader;
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&peek, &token, err);

    if (status == ATTN_OK && token.type != ATTN_JSON_OBJECT_BEGIN)
        return refuse(key, of_model, &token, "an object {\"token\": id, ...}", err);
    /* Where merges are short it is two thirds of the rest; room that is not used costs nothing. */
    if (status == ATTN_OK)
        status = attn_vocabulary_read_object(vocabulary, &reading->reader,
                                             (peek.size - peek.offset) / 3 * 2, err);
    if (status == ATTN_OK)
        status = attn_vocabulary_finish_with_holes(vocabulary, reading->path, err);
    return status;
}

/* --- Parts ------------------------------------------------------------------------------------ */

/* Notes where the value is that comes next. */
static enum attn_status note_part(struct reading *reading, struct part *part,
                                  struct attn_error *err)
{
    struct attn_json_reader peek = reading->reader;
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&peek, &token, err);

    if (status == ATTN_OK)
        status = attn_json_skip(&reading->reader, err);
    if (status != ATTN_OK || token.type == ATTN_JSON_NULL)
        return status;
    part->text = reading->reader.text + token.offset;
    part->size = reading->reader.offset - token.offset;
    return ATTN_OK;
}

/* --- Merges: where they are is noted, and they are read later ---------------------------------- */

/* Notes where the list of merges is, and counts them. */
static enum attn_status note_merges(struct reading *reading, const char *key,
                                    struct attn_error *err)
{
    struct attn_unread *unread = reading->tokenizer->unread;
    struct attn_json_reader *reader = &reading->reader;
    const int depth = reader->depth;
    struct attn_json_token token;
    enum attn_status status = attn_json_next(reader, &token, err);

    if (status == ATTN_OK && token.type != ATTN_JSON_ARRAY_BEGIN)
        return refuse(key, of_model, &token, "a list of merges", err);
    unread->merges = reader->text + token.offset;
    while (status == ATTN_OK) {
        while (reader->depth == depth + 1 && attn_json_skip_strings(reader))
            unread->n_merge++;
        status = attn_json_next(reader, &token, err);
        if (status != ATTN_OK || reader->depth == depth)
            break;
        unread->n_merge += token.type == ATTN_JSON_ARRAY_BEGIN ||
                           (token.type == ATTN_JSON_STRING && reader->depth == depth + 1);
    }
    unread->n_merges_byte = (size_t)(reader->text + reader->offset - unread->merges);
    return status;
}

/* A merge, and what reading it takes. */
struct merge_reader {
    struct attn_json_reader json;
    struct attn_buffer keys[2]; /* scratch: those with escapes */
    struct attn_buffer joined;  /* scratch */
    size_t index;               /* of the merge in the list */
    struct attn_merge_keys found;
    struct attn_merge merge; /* the last one */
};

/* The text of TOKEN, which is in the file where it can be, else in SCRATCH. */
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

/* Takes a merge "a b" apart; *is_header says that it is none, but the file's version. */
static enum attn_status split_line(struct merge_reader *reader, const struct attn_json_token *token,
                                   bool *is_header, struct attn_error *err)
{
    static const char header[] = "#version";
    size_t size;
    const char *line = key_of(token, &reader->keys[0], &size), *space;

    if (attn_buffer_check(&reader->keys[0], err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    *is_header = reader->index == 0 && size >= sizeof header - 1 &&
                 memcmp(line, header, sizeof header - 1) == 0;
    space = size > 0 ? memchr(line, ' ', size) : NULL;
    if (!*is_header && (!space || memchr(space + 1, ' ', (size_t)(line + size - space - 1))))
        return attn_error_set(err, ATTN_FORMAT,
                              "merge %zu in '%s', '%s', is not two tokens with one space between "
                              "them",
                              reader->index, file_name, attn_quote(line, size).text);
    if (!*is_header)
        reader->found = (struct attn_merge_keys){line, space + 1, (size_t)(space - line),
                                                 (size_t)(line + size - space - 1)};
    return ATTN_OK;
}

/* Reads the rest of a merge ["a", "b"]. */
static enum attn_status read_list(struct merge_reader *reader, struct attn_error *err)
{
    struct attn_json_token tokens[3];

    for (int i = 0; i < 3; i++) {
        enum attn_status status = attn_json_next(&reader->json, &tokens[i], err);

        if (status != ATTN_OK)
            return status;
        if (tokens[i].type != (i < 2 ? ATTN_JSON_STRING : ATTN_JSON_ARRAY_END))
            return attn_error_set(err, ATTN_FORMAT, "merge %zu in '%s' is not a list of two tokens",
                                  reader->index, file_name);
    }
    reader->found.left = key_of(&tokens[0], &reader->keys[0], &reader->found.n_left);
    reader->found.right = key_of(&tokens[1], &reader->keys[1], &reader->found.n_right);
    return attn_buffer_check(&reader->keys[0], err) == ATTN_OK
               ? attn_buffer_check(&reader->keys[1], err)
               : ATTN_NO_MEMORY;
}

/* Adds the merge that was found to the model. */
static enum attn_status add_merge(struct merge_reader *reader, struct attn_bpe_model *model,
                                  struct attn_error *err)
{
    const struct attn_merge_keys *keys = &reader->found;
    struct attn_merge *merge = &reader->merge;
    enum attn_status status =
        attn_merges_find(model->vocabulary, keys, &reader->joined, merge, err);

    if (status != ATTN_OK)
        return status;
    if (merge->left >= 0 && merge->right >= 0 && merge->merged >= 0) {
        attn_merges_add(&model->merges, merge, true);
        return ATTN_OK;
    }
    return attn_error_set(
        err, ATTN_FORMAT,
        "merge %zu in '%s', of '%s' and '%s', %s a token that the vocabulary lacks", reader->index,
        file_name, attn_quote(keys->left, keys->n_left).text,
        attn_quote(keys->right, keys->n_right).text,
        merge->left < 0 || merge->right < 0 ? "has" : "makes");
}

/* Reads one merge, whose first token is TOKEN. */
static enum attn_status read_merge(struct merge_reader *reader, const struct attn_json_token *token,
                                   struct attn_bpe_model *model, struct attn_error *err)
{
    bool is_header = false;
    enum attn_status status = ATTN_OK;

    if (token->type == ATTN_JSON_STRING)
        status = split_line(reader, token, &is_header, err);
    else if (token->type == ATTN_JSON_ARRAY_BEGIN)
        status = read_list(reader, err);
    else
        return attn_error_set(err, ATTN_FORMAT,
                              "merge %zu in '%s' is neither \"a b\" nor [\"a\", \"b\"]",
                              reader->index, file_name);
    return status == ATTN_OK && !is_header ? add_merge(reader, model, err) : status;
}

/* All are strings, or all are lists. */
static enum attn_status read_merges(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const struct attn_unread *unread = tokenizer->unread;
    struct merge_reader reader = {
        .json = attn_json_reader_init(unread->merges, unread->n_merges_byte, file_name),
        .merge = {.merged = -1}};
    struct attn_json_token token;
    enum attn_json_type type = ATTN_JSON_END;                            /* of all */
    enum attn_status status = attn_json_next(&reader.json, &token, err); /* the bracket */

    if (status == ATTN_OK)
        status = attn_merges_allocate(&tokenizer->bpe.merges, unread->n_merge, file_name, err);
    for (; status == ATTN_OK; reader.index++) {
        status = attn_json_next(&reader.json, &token, err);
        if (status != ATTN_OK || token.type == ATTN_JSON_ARRAY_END)
            break;
        if (reader.index > 0 && token.type != type)
            status = attn_error_set(err, ATTN_FORMAT,
                                    "merge %zu in '%s' is written otherwise than those before it",
                                    reader.index, file_name);
        else
            status = read_merge(&reader, &token, &tokenizer->bpe, err);
        type = token.type;
    }
    attn_buffer_release(&reader.keys[0]);
    attn_buffer_release(&reader.keys[1]);
    attn_buffer_release(&reader.joined);
    return status;
}

/* --- Objects ---------------------------------------------------------------------------------- */

/* Reads the members of the object that was entered by ROWS [n]; *seen gets a bit for each. */
static enum attn_status read_members(struct reading *reading, const struct key_reader *rows,
                                     size_t n, unsigned *seen, struct attn_error *err)
{
    struct attn_json_token token;
    enum attn_status status;

    while ((status = attn_json_next(&reading->reader, &token, err)) == ATTN_OK &&
           token.type == ATTN_JSON_KEY) {
        size_t i = 0;

        while (i < n && !attn_json_equals(&token, rows[i].key))
            i++;
        if (i == n && seen == &reading->seen_top)
            return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' in '%s' is not known",
                                  attn_quote(token.text, token.size).text, file_name);
        if (i < n && *seen >> i & 1)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has the key '%s' a second time at byte %zu",
                                  attn_quote_string(reading->path).text, rows[i].key, token.offset);
        *seen |= i < n ? 1u << i : 0;
        status =
            i < n ? rows[i].read(reading, rows[i].key, err) : attn_json_skip(&reading->reader, err);
        if (status != ATTN_OK)
            return status;
    }
    return status;
}

static enum attn_status read_model(struct reading *reading, const char *key, struct attn_error *err)
{
    static const struct key_reader rows[] = {
        {"type", read_type},
        {"dropout", read_dropout},
        {"unk_token", read_unk},
        {"continuing_subword_prefix", read_affix},
        {"end_of_word_suffix", read_affix},
        {"fuse_unk", read_fuse_unk},
        {"byte_fallback", read_byte_fallback},
        {"ignore_merges", read_ignore_merges},
        {"vocab", read_vocabulary},
        {"merges", note_merges},
    };
    enum { N = sizeof rows / sizeof *rows };
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&reading->reader, &token, err);

    if (status == ATTN_OK && token.type != ATTN_JSON_OBJECT_BEGIN)
        return refuse(key, "in", &token, "an object", err);
    if (status == ATTN_OK)
        status = read_members(reading, rows, N, &reading->seen_model, err);
    for (size_t i = N - 2; status == ATTN_OK && i < N; i++)
        if (!(reading->seen_model >> i & 1))
            status = attn_error_set(err, ATTN_FORMAT, "'model' in '%s' has no '%s'", file_name,
                                    rows[i].key);
    return status;
}

/* --- The file --------------------------------------------------------------------------------- */

static enum attn_status read_version(struct reading *reading, const char *key,
                                     struct attn_error *err)
{
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&reading->reader, &token, err);

    if (status != ATTN_OK || (token.type == ATTN_JSON_STRING && attn_json_equals(&token, "1.0")))
        return status;
    if (token.type != ATTN_JSON_STRING)
        return refuse(key, "in", &token, "\"1.0\"", err);
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'version' \"%s\" of '%s' is not supported, "
                          "expected \"1.0\"",
                          attn_quote(token.text, token.size).text, file_name);
}

/* Truncation and padding would change ids. */
static enum attn_status read_changer(struct reading *reading, const char *key,
                                     struct attn_error *err)
{
    struct part part = {.text = NULL};
    enum attn_status status = note_part(reading, &part, err);

    if (status != ATTN_OK || !part.text)
        return status;
    return attn_error_set(
        err, ATTN_UNSUPPORTED,
        "'%s' in '%s' is not supported, expected null: it would change the tokens", key, file_name);
}

static enum attn_status note_added(struct reading *reading, const char *key, struct attn_error *err)
{
    (void)key;
    return note_part(reading, &reading->added, err);
}

static enum attn_status note_normalizer(struct reading *reading, const char *key,
                                        struct attn_error *err)
{
    (void)key;
    return note_part(reading, &reading->normalizer, err);
}

static enum attn_status note_pre_tokenizer(struct reading *reading, const char *key,
                                           struct attn_error *err)
{
    (void)key;
    return note_part(reading, &reading->pre_tokenizer, err);
}

static enum attn_status note_post_processor(struct reading *reading, const char *key,
                                            struct attn_error *err)
{
    (void)key;
    return note_part(reading, &reading->post_processor, err);
}

static enum attn_status note_decoder(struct reading *reading, const char *key,
                                     struct attn_error *err)
{
    (void)key;
    return note_part(reading, &reading->decoder, err);
}

static enum attn_status read_top(struct reading *reading, struct attn_error *err)
{
    static const struct key_reader rows[] = {
        {"version", read_version},
        {"truncation", read_changer},
        {"padding", read_changer},
        {"added_tokens", note_added},
        {"normalizer", note_normalizer},
        {"pre_tokenizer", note_pre_tokenizer},
        {"post_processor", note_post_processor},
        {"decoder", note_decoder},
        {"model", read_model},
    };
    enum { N = sizeof rows / sizeof *rows };
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&reading->reader, &token, err);

    if (status == ATTN_OK && token.type != ATTN_JSON_OBJECT_BEGIN)
        return attn_error_set(err, ATTN_FORMAT, "'%s' is not an object",
                              attn_quote_string(reading->path).text);
    if (status == ATTN_OK)
        status = read_members(reading, rows, N, &reading->seen_top, err);
    if (status == ATTN_OK)
        status = attn_json_next(&reading->reader, &token, err); /* the end */
    if (status == ATTN_OK && !(reading->seen_top >> (N - 1) & 1))
        status = attn_error_set(err, ATTN_FORMAT, "'%s' has no 'model'", file_name);
    return status;
}

/* The stages, from the parts that were noted. */
static enum attn_status add_stages(const struct reading *reading, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reading->tokenizer;
    struct attn_stages *stages = &tokenizer->stages;
    const struct part *normalizer = &reading->normalizer, *pre = &reading->pre_tokenizer;
    size_t n_before;
    enum attn_status status = attn_stages_add(stages, &attn_change_invalid, NULL, err);

    if (status == ATTN_OK)
        status = attn_added_add_stage(stages, &tokenizer->added, false, 0, err);
    n_before = stages->n;
    if (status == ATTN_OK)
        status = attn_parts_read_normalizer(tokenizer, normalizer->text, normalizer->size, err);
    if (status == ATTN_OK)
        status = attn_added_add_stage(stages, &tokenizer->added, true, stages->n - n_before, err);
    if (status == ATTN_OK)
        status = attn_parts_read_pre_tokenizer(tokenizer, pre->text, pre->size, err);
    return status == ATTN_OK ? attn_stages_add(stages, &attn_bpe_stage, &tokenizer->bpe, err)
                             : status;
}

enum attn_status attn_tokenizer_json_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err)
{
    struct attn_file file = {0};
    struct reading reading = {.tokenizer = tokenizer};
    enum attn_status status = attn_file_read_part(source, file_name, &file, err);

    if (status != ATTN_OK)
        return status;
    status = attn_tokenizer_add_unread(tokenizer, file.path, err);
    if (status != ATTN_OK) {
        attn_file_close(&file);
        return status;
    }
    tokenizer->unread->file = file; /* that has the merges, which are read later */
    tokenizer->unread->read = read_merges;
    tokenizer->kind = ATTN_TOKENIZER_BPE;
    tokenizer->skips_unknown_ids = true;
    tokenizer->bpe.vocabulary = &tokenizer->vocabulary;
    reading.path = file.path;
    reading.reader = attn_json_reader_init((const char *)file.data, file.size, file.path);
    status = read_top(&reading, err);
    if (status == ATTN_OK && reading.added.text)
        status = attn_added_json_read(tokenizer, reading.added.text, reading.added.size, err);
    if (status == ATTN_OK)
        status = attn_tokenizer_mark(tokenizer, err);
    if (status == ATTN_OK)
        status = add_stages(&reading, err);
    if (status == ATTN_OK)
        status =
            attn_parts_read_decoder(tokenizer, reading.decoder.text, reading.decoder.size, err);
    if (status == ATTN_OK)
        status = attn_parts_read_post_processor(tokenizer, reading.post_processor.text,
                                                reading.post_processor.size, err);
    if (attn_source_has_part(source, "vocab.json"))
        tokenizer->detail = "'tokenizer.json' is read, 'vocab.json' beside it is not";
    return status;
}
