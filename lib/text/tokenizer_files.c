/* tokenizer_files.c - see tokenizer_files.h. */
#include "text/tokenizer_files.h"

#include "base/escape.h"
#include "base/status_internal.h"
#include "text/special.h"
#include "text/stages/change.h"
#include "text/stages/split.h"
#include "text/unmade.h"

#include <string.h>

/* Whether keys are looked up before a text is encoded. */
static bool has_lookups(const struct attn_tokenizer *tokenizer, const struct attn_source *source)
{
    return tokenizer->kind != ATTN_TOKENIZER_BPE ||
           attn_source_has_part(source, "added_tokens.json") ||
           attn_source_has_part(source, "special_tokens_map.json");
}

static enum attn_status read_vocabulary(struct attn_tokenizer *tokenizer,
                                        const struct attn_source *source, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    struct attn_file file = {0};
    enum attn_status status = attn_file_read_part(source, "vocab.json", &file, err);

    if (status == ATTN_OK)
        status = attn_vocabulary_read(vocabulary, &file, err);
    if (status == ATTN_OK)
        status = attn_vocabulary_finish(vocabulary, file.path, err);
    if (status == ATTN_OK && has_lookups(tokenizer, source))
        status = attn_vocabulary_index(vocabulary, file.path, err);
    if (status == ATTN_OK && tokenizer->kind == ATTN_TOKENIZER_BPE)
        status = attn_tokenizer_add_unread(tokenizer, file.path, err);
    attn_file_close(&file);
    return status;
}

/* --- Words ------------------------------------------------------------------------------------ */

/* Words rarely begin with the letter that stands for a space in byte-level vocabularies. */
static enum attn_status check_is_words(const struct attn_vocabulary *vocabulary,
                                       struct attn_error *err)
{
    static const char space[] = "\xc4\xa0"; /* U+0120 */
    size_t n_space = 0;

    for (size_t i = 0; i < vocabulary->n; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);

        n_space += size >= sizeof space - 1 && memcmp(key, space, sizeof space - 1) == 0;
    }
    if (n_space <= vocabulary->n / 32)
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT,
                   "the vocabulary is one of byte-level BPE (%zu of its %zu tokens begin with "
                   "'%s'), but 'merges.txt' is missing",
                   n_space, vocabulary->n, space);
    attn_error_hint(err,
                    "if its tokens are words, say so in config.json: \"tokenizer\": {\"type\": "
                    "\"word\"}");
    return ATTN_FORMAT;
}

static enum attn_status open_words(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const char *unk = tokenizer->settings.unk;
    const bool is_by_character = tokenizer->kind == ATTN_TOKENIZER_CHARACTER;
    const struct attn_decode_step join = {.run = attn_decode_join, .n_a = is_by_character ? 0 : 1};
    enum attn_status status = ATTN_OK;

    if (!tokenizer->settings.has_kind)
        status = check_is_words(&tokenizer->vocabulary, err);
    tokenizer->words = (struct attn_word_level){
        .vocabulary = &tokenizer->vocabulary,
        .rule = {is_by_character, tokenizer->settings.drop, tokenizer->settings.n_drop},
        .unk = -1};
    if (status == ATTN_OK)
        status = attn_stages_add(&tokenizer->stages, &attn_change_invalid, NULL, err);
    if (status == ATTN_OK)
        status = attn_stages_add(&tokenizer->stages, &attn_word_stage, &tokenizer->words, err);
    if (status == ATTN_OK)
        status = attn_decode_add(&tokenizer->decoder, join, " ", NULL, err);
    if (status != ATTN_OK || !unk)
        return status;
    tokenizer->words.unk = attn_vocabulary_find(&tokenizer->vocabulary, unk, strlen(unk));
    if (tokenizer->words.unk < 0)
        return attn_error_set(err, ATTN_FORMAT,
                              "the config's 'unk' token '%s' is not in the vocabulary",
                              attn_quote_string(unk).text);
    return ATTN_OK;
}

/* --- Byte-level BPE --------------------------------------------------------------------------- */

/* Adds the stages, and stores the pattern that splits texts. */
static enum attn_status add_stages(struct attn_tokenizer *tokenizer, struct attn_pattern **pattern,
                                   struct attn_error *err)
{
    static const char rule[] = ATTN_GPT2_PATTERN;
    struct attn_stages *stages = &tokenizer->stages;
    struct attn_pattern *made = NULL;
    enum attn_status status = attn_stages_add(stages, &attn_change_invalid, NULL, err);

    if (status == ATTN_OK)
        status = attn_added_add_stage(stages, &tokenizer->added, false, 0, err);
    if (status == ATTN_OK && tokenizer->unread->has_prefix)
        status =
            attn_stages_add(stages, &attn_change_prefix,
                            attn_change_prefix_create(" ", 1, ATTN_PREFIX_UNLESS_THERE, err), err);
    if (status == ATTN_OK)
        status = attn_pattern_create(rule, sizeof rule - 1, "encoder.py", &made, err);
    if (status == ATTN_OK)
        status = attn_stages_add(stages, &attn_split_isolated, made, err);
    *pattern = made;
    return status == ATTN_OK ? attn_stages_add(stages, &attn_bpe_stage, &tokenizer->bpe, err)
                             : status;
}

static enum attn_status read_rest(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    struct attn_file *file = &tokenizer->unread->file;
    struct attn_pattern *pattern = NULL;
    enum attn_status status = attn_file_read_held(file, err);

    if (status == ATTN_OK)
        status = add_stages(tokenizer, &pattern, err);
    if (status == ATTN_OK)
        status = attn_merges_read(&tokenizer->bpe.merges, file, &tokenizer->vocabulary, err);
    if (status == ATTN_OK)
        status = attn_unmade_check(&tokenizer->bpe, tokenizer->is_special, pattern, file->path,
                                   &tokenizer->note, err);
    if (status != ATTN_OK)
        attn_stages_release(&tokenizer->stages);
    return status;
}

static enum attn_status open_bpe(struct attn_tokenizer *tokenizer, const struct attn_source *source,
                                 struct attn_error *err)
{
    struct attn_unread *unread = tokenizer->unread;
    enum attn_status status = ATTN_OK;

    if (tokenizer->settings.n_drop > 0 || tokenizer->settings.unk)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the config's 'drop' and 'unk' are for word level, but the tokenizer "
                              "is byte-level BPE");
    tokenizer->bpe = (struct attn_bpe_model){
        .vocabulary = &tokenizer->vocabulary, .is_by_byte = true, .needs_all = true};
    tokenizer->keeps_bytes = true;
    unread->read = read_rest;
    status = attn_specials_read(&tokenizer->added, source, &tokenizer->vocabulary, err);
    if (status == ATTN_OK)
        status = attn_tokenizer_mark(tokenizer, err);
    if (status == ATTN_OK)
        status = attn_settings_read_prefix(source, &unread->has_prefix, err);
    return status == ATTN_OK ? attn_file_hold_part(source, "merges.txt", &unread->file, err)
                             : status;
}

enum attn_status attn_tokenizer_files_read(struct attn_tokenizer *tokenizer,
                                           const struct attn_source *source, struct attn_error *err)
{
    ATTN_TRY(attn_settings_read(&tokenizer->settings, source, err));
    if (tokenizer->settings.has_kind)
        tokenizer->kind = tokenizer->settings.kind;
    else
        tokenizer->kind =
            attn_source_has_part(source, "merges.txt") ? ATTN_TOKENIZER_BPE : ATTN_TOKENIZER_WORD;
    ATTN_TRY(read_vocabulary(tokenizer, source, err));
    return tokenizer->kind == ATTN_TOKENIZER_BPE ? open_bpe(tokenizer, source, err)
                                                 : open_words(tokenizer, err);
}
