/*
 * tokenizer_json.c - tokenizers from tokenizer.json, the file of the library tokenizers.
 *
 * The file has up to 33 MB, nearly all of it vocabulary and merges. So it is pulled once, from
 * front to end; of the other parts it is noted where they are, and these are read as trees
 * (tokenizer_parts.c) when the vocabulary is there.
 */
#include "text/tokenizer_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "text/added.h"
#include "text/stages/change.h"

#include <stddef.h>
#include <string.h>

static const char file_name[] = "tokenizer.json"; /* in messages */

/* A value in the file, not read yet. */
struct extent {
    const char *text; /* [size]; NULL when it is absent or null */
    size_t size;
};

struct key_reader;

struct reading {
    struct attn_tokenizer *tokenizer;
    const struct key_reader *row;           /* of the value that is read */
    struct attn_json_reader reader, before; /* before: where the value that is read begins */
    const char *path;                       /* of the file */
    struct extent added, parts[ATTN_TOKENIZER_N_ROLE];
    unsigned seen_top, seen_model; /* bit i: the key of row i came */
};

/* Types of values beside those of the reader. */
enum { ANY_VALUE = ATTN_JSON_END + 1, BOOL_VALUE };

/* How the value of a key is read: READ is called after its first token, TOKEN. */
struct key_reader {
    const char *key;
    enum attn_status (*read)(struct reading *reading, const struct attn_json_token *token,
                             struct attn_error *err);
    int type; /* of the token; null may stand for it if is_nullable */
    bool is_nullable;
    const char *expected;
    size_t
        offset; /* of where it is stored in struct reading or struct attn_bpe_model; 0: nowhere */
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

/* Reads the members of the object that was entered by ROWS [n]; *seen gets a bit for each. */
static enum attn_status read_members(struct reading *reading, const struct key_reader *rows,
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

static enum attn_status read_type(struct reading *reading, const struct attn_json_token *token,
                                  struct attn_error *err)
{
    (void)reading;
    if (attn_json_equals(token, "BPE"))
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED, "'model' of type '%s' in '%s' is not supported",
                          attn_quote(token->text, token->size).text, file_name);
}

/* Dropout, and a prefix or suffix of subwords: only what does nothing is supported. */
static enum attn_status read_nothing(struct reading *reading, const struct attn_json_token *token,
                                     struct attn_error *err)
{
    const struct key_reader *row = reading->row;
    const char *mark = row->type == ATTN_JSON_STRING ? "\"" : "";
    double value = 0;

    if (row->type == ATTN_JSON_NUMBER && !attn_parse_double(token->text, token->size, &value))
        return refuse_type(row->key, true, token, row->expected, err);
    if (row->type == ATTN_JSON_NUMBER ? value == 0 : token->size == 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' of 'model' in '%s' is %s%s%s, which is not supported, expected %s",
                          row->key, file_name, mark, attn_quote(token->text, token->size).text,
                          mark, row->expected);
}

static enum attn_status read_unk(struct reading *reading, const struct attn_json_token *token,
                                 struct attn_error *err)
{
    struct attn_bpe_model *model = &reading->tokenizer->bpe;

    model->unk = attn_alloc_uninitialized(token->size + 1, 1, err);
    if (!model->unk)
        return ATTN_NO_MEMORY;
    model->n_unk = attn_json_unescape_to(token, model->unk);
    return ATTN_OK;
}

static enum attn_status read_bool(struct reading *reading, const struct attn_json_token *token,
                                  struct attn_error *err)
{
    bool *to = (void *)((char *)&reading->tokenizer->bpe + reading->row->offset);

    (void)err;
    *to = token->type == ATTN_JSON_TRUE;
    return ATTN_OK;
}

static enum attn_status read_vocabulary(struct reading *reading,
                                        const struct attn_json_token *token, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &reading->tokenizer->vocabulary;
    /* Where merges are short it is two thirds of the rest; room that is not used costs nothing. */
    const size_t n_byte = (reading->reader.size - reading->reader.offset) / 3 * 2;

    (void)token;
    reading->reader = reading->before;
    ATTN_TRY(attn_vocabulary_read_object(vocabulary, &reading->reader, n_byte, err));
    return attn_vocabulary_finish(vocabulary, reading->path, true, err);
}

/* Notes where the list of merges is, and counts them: they are read later. */
static enum attn_status note_merges(struct reading *reading, const struct attn_json_token *token,
                                    struct attn_error *err)
{
    struct attn_unread *unread = reading->tokenizer->unread;
    struct attn_json_reader *reader = &reading->reader;
    const int depth = reader->depth; /* within the list */
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

static enum attn_status read_version(struct reading *reading, const struct attn_json_token *token,
                                     struct attn_error *err)
{
    if (attn_json_equals(token, "1.0"))
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_UNSUPPORTED, "'version' \"%s\" of '%s' is not supported, expected %s",
        attn_quote(token->text, token->size).text, file_name, reading->row->expected);
}

/* Notes where the value is. What has no place, truncation and padding, would change ids. */
static enum attn_status note_part(struct reading *reading, const struct attn_json_token *token,
                                  struct attn_error *err)
{
    const struct key_reader *row = reading->row;
    struct extent *part = (void *)((char *)reading + row->offset);

    reading->reader = reading->before;
    ATTN_TRY(attn_json_skip(&reading->reader, err));
    if (row->offset == 0)
        return attn_error_set(
            err, ATTN_UNSUPPORTED,
            "'%s' in '%s' is not supported, expected null: it would change the tokens", row->key,
            file_name);
    part->text = reading->reader.text + token->offset;
    part->size = reading->reader.offset - token->offset;
    return ATTN_OK;
}

static enum attn_status read_model(struct reading *reading, const struct attn_json_token *token,
                                   struct attn_error *err)
{
#define BOOL(key, field)                                                                           \
    {                                                                                              \
        key, read_bool, BOOL_VALUE, true, "true or false", offsetof(struct attn_bpe_model, field)  \
    }
    static const struct key_reader rows[] = {
        {"type", read_type, ATTN_JSON_STRING, false, "\"BPE\"", 0},
        {"dropout", read_nothing, ATTN_JSON_NUMBER, true, "null or 0", 0},
        {"unk_token", read_unk, ATTN_JSON_STRING, true, "a token or null", 0},
        {"continuing_subword_prefix", read_nothing, ATTN_JSON_STRING, true, "null or \"\"", 0},
        {"end_of_word_suffix", read_nothing, ATTN_JSON_STRING, true, "null or \"\"", 0},
        BOOL("fuse_unk", fuses_unk),
        BOOL("byte_fallback", has_byte_fallback),
        BOOL("ignore_merges", takes_whole_pieces),
        {"vocab", read_vocabulary, ATTN_JSON_OBJECT_BEGIN, false, "an object {\"token\": id, ...}",
         0},
        {"merges", note_merges, ATTN_JSON_ARRAY_BEGIN, false, "a list of merges", 0},
    };
#undef BOOL
    enum { N = sizeof rows / sizeof *rows };

    (void)token;
    ATTN_TRY(read_members(reading, rows, N, &reading->seen_model, err));
    for (size_t i = N - 2; i < N; i++)
        if (!(reading->seen_model >> i & 1))
            return attn_error_set(err, ATTN_FORMAT, "'model' in '%s' has no '%s'", file_name,
                                  rows[i].key);
    return ATTN_OK;
}

static enum attn_status read_top(struct reading *reading, struct attn_error *err)
{
#define PART(key, field)                                                                           \
    {                                                                                              \
        key, note_part, ANY_VALUE, true, NULL, offsetof(struct reading, field)                     \
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
    ATTN_TRY(attn_json_next(&reading->reader, &token, err)); /* the end */
    if (!(reading->seen_top >> (N - 1) & 1))
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no 'model'", file_name);
    return ATTN_OK;
}

/* --- Merges ----------------------------------------------------------------------------------- */

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
    reader->found = (struct attn_merge_keys){line, space + 1, (size_t)(space - line),
                                             (size_t)(line + size - space - 1)};
    return ATTN_OK;
}

/* Reads the rest of a merge ["a", "b"]. */
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

/* Reads the list: all are strings, or all are lists. */
static enum attn_status read_all_merges(struct merge_reader *reader,
                                        struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    enum attn_json_type type = ATTN_JSON_END; /* of all */
    struct attn_json_token token;

    ATTN_TRY(attn_json_next(&reader->json, &token, err)); /* the bracket */
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

static enum attn_status read_part(const struct reading *reading, enum attn_tokenizer_role role,
                                  struct attn_error *err)
{
    const struct extent *part = &reading->parts[role];

    return attn_tokenizer_read_part(reading->tokenizer, role, part->text, part->size, err);
}

/* Reads the file once, and then the parts that were noted. */
static enum attn_status read_file(struct reading *reading, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reading->tokenizer;
    struct attn_pipeline *pipeline = &tokenizer->pipeline;
    const struct attn_added *added = &tokenizer->added;
    size_t n_before;

    ATTN_TRY(read_top(reading, err));
    if (reading->added.text)
        ATTN_TRY(attn_added_read_json(tokenizer, reading->added.text, reading->added.size, err));
    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, added, false, 0, err));
    n_before = pipeline->n;
    ATTN_TRY(read_part(reading, ATTN_ROLE_NORMALIZER, err));
    ATTN_TRY(attn_added_add_stage(pipeline, added, true, pipeline->n - n_before, err));
    ATTN_TRY(read_part(reading, ATTN_ROLE_PRE_TOKENIZER, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_bpe_stage, &tokenizer->bpe, err));
    ATTN_TRY(read_part(reading, ATTN_ROLE_DECODER, err));
    return read_part(reading, ATTN_ROLE_POST_PROCESSOR, err);
}

enum attn_status attn_tokenizer_json_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err)
{
    struct attn_file file = {0};
    struct reading reading = {.tokenizer = tokenizer};
    enum attn_status status;

    ATTN_TRY(attn_file_read_part(source, file_name, &file, err));
    status = attn_tokenizer_add_unread(tokenizer, file.path, err);
    if (status != ATTN_OK) {
        attn_file_release(&file);
        return status;
    }
    tokenizer->unread->file = file; /* that has the merges, which are read later */
    tokenizer->unread->read = read_merges;
    tokenizer->kind = ATTN_TOKENIZER_BPE;
    tokenizer->skips_unknown_ids = true;
    tokenizer->bpe.vocabulary = &tokenizer->vocabulary;
    if (attn_source_has_part(source, "vocab.json"))
        tokenizer->detail = "'tokenizer.json' is read, 'vocab.json' beside it is not";
    reading.path = file.path;
    reading.reader = attn_json_reader_init((const char *)file.data, file.size, file.path);
    return read_file(&reading, err);
}
