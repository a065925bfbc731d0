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
#include "text/change.h"
#include "text/parts.h"

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
    struct part added, normalizer, pre_tokenizer, post_processor, decoder, merges;
    unsigned seen_top, seen_model; /* bit i: the key of row i came */
    bool has_vocabulary;
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
    if (status == ATTN_OK)
        status = attn_vocabulary_read_object(vocabulary, &reading->reader, err);
    if (status == ATTN_OK)
        status = attn_vocabulary_finish_with_holes(vocabulary, reading->path, err);
    reading->has_vocabulary = status == ATTN_OK;
    return status;
}

/* --- Merges ----------------------------------------------------------------------------------- */

/* Two tokens, unescaped: JOINED has them one after the other. */
struct pair {
    struct attn_buffer joined;
    size_t n_left;
};

/* Reads a merge "a b"; *is_header says that it is none, but the file's version. */
static enum attn_status read_line(const struct attn_json_token *token, size_t index,
                                  struct pair *pair, bool *is_header, struct attn_error *err)
{
    static const char header[] = "#version";
    struct attn_buffer *joined = &pair->joined;
    char *space;

    attn_json_unescape(token, joined);
    if (attn_buffer_check(joined, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    *is_header = index == 0 && joined->size >= sizeof header - 1 &&
                 memcmp(joined->data, header, sizeof header - 1) == 0;
    if (*is_header)
        return ATTN_OK;
    space = joined->size > 0 ? memchr(joined->data, ' ', joined->size) : NULL;
    pair->n_left = space ? (size_t)(space - joined->data) : 0;
    if (!space || memchr(space + 1, ' ', joined->size - pair->n_left - 1))
        return attn_error_set(err, ATTN_FORMAT,
                              "merge %zu in '%s', '%s', is not two tokens with one space between "
                              "them",
                              index, file_name, attn_quote(joined->data, joined->size).text);
    memmove(space, space + 1, joined->size - pair->n_left - 1);
    joined->size--;
    return ATTN_OK;
}

/* Reads the rest of a merge ["a", "b"]. */
static enum attn_status read_list(struct attn_json_reader *reader, size_t index, struct pair *pair,
                                  struct attn_error *err)
{
    struct attn_json_token token;

    for (int i = 0; i < 3; i++) {
        enum attn_status status = attn_json_next(reader, &token, err);

        if (status != ATTN_OK)
            return status;
        if (token.type != (i < 2 ? ATTN_JSON_STRING : ATTN_JSON_ARRAY_END))
            return attn_error_set(err, ATTN_FORMAT, "merge %zu in '%s' is not a list of two tokens",
                                  index, file_name);
        if (i < 2)
            attn_json_unescape(&token, &pair->joined);
        if (i == 0)
            pair->n_left = pair->joined.size;
    }
    return attn_buffer_check(&pair->joined, err);
}

static enum attn_status add_merge(struct attn_tokenizer *tokenizer, size_t index,
                                  const struct pair *pair, struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    const char *joined = pair->joined.data;
    const size_t size = pair->joined.size;
    const struct attn_merge merge = {
        attn_vocabulary_find(vocabulary, joined, pair->n_left),
        attn_vocabulary_find(vocabulary, joined + pair->n_left, size - pair->n_left),
        attn_vocabulary_find(vocabulary, joined, size)};

    if (merge.left >= 0 && merge.right >= 0 && merge.merged >= 0) {
        attn_merges_add(&tokenizer->bpe.merges, &merge, true);
        return ATTN_OK;
    }
    return attn_error_set(
        err, ATTN_FORMAT,
        "merge %zu in '%s', of '%s' and '%s', %s a token that the vocabulary lacks", index,
        file_name, attn_quote(joined, pair->n_left).text,
        attn_quote(joined + pair->n_left, size - pair->n_left).text,
        merge.left < 0 || merge.right < 0 ? "has" : "makes");
}

/* How many elements the list that READER is about to enter has, up to the end of the list. */
static enum attn_status count_elements(struct attn_json_reader reader, size_t *n,
                                       struct attn_error *err)
{
    const int depth = reader.depth;
    struct attn_json_token token;
    enum attn_status status = attn_json_next(&reader, &token, err);

    *n = 0;
    while (status == ATTN_OK && (status = attn_json_next(&reader, &token, err)) == ATTN_OK &&
           reader.depth > depth)
        *n += token.type == ATTN_JSON_ARRAY_BEGIN ||
              (token.type == ATTN_JSON_STRING && reader.depth == depth + 1);
    return status;
}

/* Reads one merge, whose first token is TOKEN; all are strings, or all are lists. */
static enum attn_status read_merge(struct reading *reading, const struct attn_json_token *token,
                                   size_t index, struct pair *pair, struct attn_error *err)
{
    bool is_header = false;
    enum attn_status status = ATTN_OK;

    attn_buffer_reset(&pair->joined);
    if (token->type == ATTN_JSON_STRING)
        status = read_line(token, index, pair, &is_header, err);
    else if (token->type == ATTN_JSON_ARRAY_BEGIN)
        status = read_list(&reading->reader, index, pair, err);
    else
        return attn_error_set(err, ATTN_FORMAT,
                              "merge %zu in '%s' is neither \"a b\" nor [\"a\", "
                              "\"b\"]",
                              index, file_name);
    return status == ATTN_OK && !is_header ? add_merge(reading->tokenizer, index, pair, err)
                                           : status;
}

static enum attn_status read_merges_now(struct reading *reading, const char *key,
                                        struct attn_error *err)
{
    struct attn_json_reader *reader = &reading->reader;
    struct attn_json_token token;
    struct pair pair = {.n_left = 0};
    enum attn_json_type type = ATTN_JSON_END; /* of all */
    size_t n = 0;
    enum attn_status status = count_elements(*reader, &n, err);

    if (status == ATTN_OK)
        status = attn_json_next(reader, &token, err);
    if (status == ATTN_OK && token.type != ATTN_JSON_ARRAY_BEGIN)
        return refuse(key, of_model, &token, "a list of merges", err);
    if (status == ATTN_OK)
        status = attn_merges_allocate(&reading->tokenizer->bpe.merges, n, file_name, err);
    for (size_t i = 0; status == ATTN_OK; i++) {
        status = attn_json_next(reader, &token, err);
        if (status != ATTN_OK || token.type == ATTN_JSON_ARRAY_END)
            break;
        if (i > 0 && token.type != type)
            status = attn_error_set(err, ATTN_FORMAT,
                                    "merge %zu in '%s' is written otherwise than those before it",
                                    i, file_name);
        else
            status = read_merge(reading, &token, i, &pair, err);
        type = token.type;
    }
    attn_buffer_release(&pair.joined);
    return status;
}

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

static enum attn_status read_merges(struct reading *reading, const char *key,
                                    struct attn_error *err)
{
    if (reading->has_vocabulary)
        return read_merges_now(reading, key, err);
    return note_part(reading, &reading->merges, err);
}

/* Reads merges that came before the vocabulary. */
static enum attn_status read_noted_merges(struct reading *reading, struct attn_error *err)
{
    struct attn_json_reader rest = reading->reader;
    enum attn_status status;

    reading->reader = attn_json_reader_init(reading->merges.text, reading->merges.size, file_name);
    status = read_merges_now(reading, "merges", err);
    reading->reader = rest;
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
        {"merges", read_merges},
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
    if (status == ATTN_OK && reading->merges.text)
        status = read_noted_merges(reading, err);
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
    if (status == ATTN_OK)
        status = attn_bpe_model_finish(&tokenizer->bpe, err);
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
        goto done;
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
done:
    attn_file_close(&file);
    return status;
}
