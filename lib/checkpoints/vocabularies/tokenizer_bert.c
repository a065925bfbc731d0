/*
 * tokenizer_bert.c - tokenizers from vocab.txt, the file of BERT, which has one token per line; the
 * line number is the id. tokenizer_config.json defines normalization and special tokens, with
 * BERT's defaults.
 *
 * ESM uses the same file for the letters of proteins. There each line is searched in the text, the
 * longest first; every other piece, cut at white space, is one unknown token.
 */
#include "vocabularies/vocabularies_internal.h"

#include "base/memory.h"
#include "base/text/utf8.h"
#include "formats/json.h"
#include "tokenizer/stages/stages_internal.h"

#include <string.h>

static const char config_name[] = "tokenizer_config.json"; /* for messages */

/* Returns what is wrong with the token LINE [size], or NULL. */
static const char *find_problem(const char *line, size_t size)
{
    if (size == 0)
        return "is empty, expected a token";
    if (memchr(line, '\0', size))
        return "has a NUL";
    return attn_utf8_valid_length(line, size) < size ? "is not UTF-8" : NULL;
}

static enum attn_status read_lines(struct attn_vocabulary *vocabulary, const struct attn_file *file,
                                   struct attn_error *err)
{
    const char *text = (const char *)file->data, *end = text + file->size;

    for (size_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t size = (size_t)((newline ? newline : end) - text);
        const char *problem;

        if (size > 0 && text[size - 1] == '\r')
            size--;
        problem = find_problem(text, size);
        if (problem)
            return attn_error_set(err, ATTN_FORMAT, "line %zu of '%s' %s", number,
                                  attn_quote_string(file->path).text, problem);
        if (number > INT32_MAX)
            return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has more than %d lines",
                                  attn_quote_string(file->path).text, INT32_MAX);
        ATTN_TRY(attn_vocabulary_add(vocabulary, text, size, (int32_t)(number - 1), err));
        text = newline ? newline + 1 : end;
    }
    return attn_vocabulary_finish(vocabulary, file->path, false, err);
}

/* Refuses settings of the tokenizer class for Japanese, which splits words by MeCab or into
 * characters. */
static enum attn_status refuse_variants(const struct attn_json *json, struct attn_error *err)
{
    static const char *const keys[][2] = {{"word_tokenizer_type", "basic"},
                                          {"subword_tokenizer_type", "wordpiece"}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *type = keys[i][1];

        ATTN_TRY(attn_json_get_string(json, attn_json_root(json), keys[i][0], &type, err));
        if (strcmp(type, keys[i][1]) != 0)
            return attn_error_set(err, ATTN_UNSUPPORTED, "%s '%s' in '%s', expected '%s'",
                                  keys[i][0], attn_quote_string(type).text, config_name,
                                  keys[i][1]);
    }
    return ATTN_OK;
}

static enum attn_status read_normalizer(const struct attn_class *found,
                                        struct attn_word_normalizer *normalizer,
                                        struct attn_error *err)
{
    bool is_basic = true; /* version 4 heeds it, version 5 does not */

    *normalizer = (struct attn_word_normalizer){true, true, true, true};
    ATTN_TRY(attn_class_get_lowers(found, &normalizer->lowers, err));
    if (found->row && found->row->traits & ATTN_CLASS_BASIC)
        ATTN_TRY(attn_class_get_bool(found, "do_basic_tokenize", &is_basic, err));
    if (found->config)
        ATTN_TRY(refuse_variants(found->config, err));
    ATTN_TRY(attn_class_get_bool(found, "do_lower_case", &normalizer->lowers, err));
    ATTN_TRY(attn_class_get_bool(found, "tokenize_chinese_chars", &normalizer->sets_apart, err));
    normalizer->sets_apart = normalizer->sets_apart && is_basic;
    normalizer->strips_accents = normalizer->lowers;
    return attn_class_get_bool(found, "strip_accents", &normalizer->strips_accents, err);
}

/* Adds the model and the decoder. */
static enum attn_status add_model(struct attn_tokenizer *tokenizer,
                                  const struct attn_token_role *roles, bool is_esm,
                                  struct attn_error *err)
{
    static const char prefix[] = "##";
    const struct attn_decode_step decode = {
        .run = attn_decode_wordpiece, .n_a = sizeof prefix - 1, .start = 1};
    struct attn_wordpiece_model *model = &tokenizer->wordpiece;
    const char *unk =
        attn_vocabulary_key(&tokenizer->vocabulary, roles[UNK_ROLE].id, &model->n_unk);

    model->vocabulary = &tokenizer->vocabulary;
    model->max_character = is_esm ? 0 : 100;
    ATTN_TRY(ATTN_NEW(model->prefix, attn_strndup(prefix, sizeof prefix - 1, err)));
    model->n_prefix = sizeof prefix - 1;
    ATTN_TRY(ATTN_NEW(model->unk, attn_strndup(unk, model->n_unk, err)));
    ATTN_TRY(attn_pipeline_add(&tokenizer->pipeline, &attn_wordpiece_stage, model, err));
    return is_esm ? ATTN_OK : attn_decode_add(&tokenizer->decoder, decode, prefix, NULL, err);
}

static enum attn_status add_stages(struct attn_tokenizer *tokenizer, const struct attn_class *found,
                                   bool is_esm, struct attn_error *err)
{
    struct attn_pipeline *pipeline = &tokenizer->pipeline;
    const struct attn_added *added = &tokenizer->added;
    struct attn_word_normalizer normalizer;
    size_t n_before;

    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, added, false, 0, err));
    if (is_esm)
        return attn_split_add(pipeline,
                              (struct attn_split){.character_class = ATTN_CLASS_SEPARATOR}, err);
    ATTN_TRY(read_normalizer(found, &normalizer, err));
    n_before = pipeline->n;
    ATTN_TRY(attn_change_add_words(pipeline, &normalizer, err));
    ATTN_TRY(attn_added_add_stage(pipeline, added, true, pipeline->n - n_before, err));
    return attn_split_add_words(pipeline, err);
}

/* Makes every token of the vocabulary an added token, so it is searched in the original text. */
static enum attn_status add_letters(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    struct attn_added *added = &tokenizer->added;

    for (size_t i = 0; i < added->n; i++)
        added->tokens[i].is_normalized = false;
    for (int32_t id = 0; (size_t)id < tokenizer->vocabulary.n; id++) {
        size_t size;
        const char *key = attn_vocabulary_key(&tokenizer->vocabulary, id, &size);

        if (!tokenizer->is_added[id])
            ATTN_TRY(attn_added_append(added, (struct attn_added_token){.id = id}, key, size, err));
    }
    return ATTN_OK;
}

static enum attn_status read_all(struct attn_tokenizer *tokenizer, const struct attn_source *source,
                                 const struct attn_class *found, struct attn_file *file,
                                 struct attn_error *err)
{
    const struct attn_class_row *row = found->row ? found->row : attn_class_row("Bert");
    const bool is_esm = row->form == ATTN_CLASS_LETTERS;
    struct attn_token_role roles[ATTN_CLASS_N_ROLE];

    ATTN_TRY(attn_file_read_part(source, "vocab.txt", file, err));
    ATTN_TRY(attn_tokenizer_add_unread(tokenizer, file->path, err));
    ATTN_TRY(read_lines(&tokenizer->vocabulary, file, err));
    ATTN_TRY(attn_vocabulary_index(&tokenizer->vocabulary, file->path, err));
    attn_class_get_roles(row, roles);
    ATTN_TRY(attn_tokenizer_read_added(tokenizer, source, found->config, false, roles, err));
    /* The letters are added below, so they are not marked. */
    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    if (is_esm)
        ATTN_TRY(add_letters(tokenizer, err));
    ATTN_TRY(add_stages(tokenizer, found, is_esm, err));
    ATTN_TRY(add_model(tokenizer, roles, is_esm, err));
    return attn_class_add_ends(found, row, roles, tokenizer, err);
}

enum attn_status attn_tokenizer_bert_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source,
                                          const struct attn_class *found, struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;

    tokenizer->kind = ATTN_TOKENIZER_WORDPIECE;
    tokenizer->skips_unknown_ids = true;
    status = read_all(tokenizer, source, found, &file, err);
    attn_file_release(&file);
    return status;
}
