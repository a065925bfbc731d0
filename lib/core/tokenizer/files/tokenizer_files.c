/* tokenizer_files.c - tokenizers from vocab.json and related files: byte-level BPE with merges.txt,
 * by the rules of its class; words, characters. */
#include "tokenizer/tokenizer_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/utf8.h"
#include "formats/json.h"
#include "tokenizer/stages/stages_internal.h"

#include <string.h>

/* --- Settings --------------------------------------------------------------------------------- */

static enum attn_status read_drop(struct attn_settings *settings, const struct attn_json *json,
                                  const char *drop, struct attn_error *err)
{
    const size_t size = strlen(drop);

    ATTN_TRY(ATTN_ALLOC(settings->drop, size, err));
    for (size_t at = 0, length; at < size; at += length) {
        length = attn_utf8_decode(drop + at, size - at, &settings->drop[settings->n_drop]);
        if (length == 0)
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "drop", "is not UTF-8");
        settings->n_drop++;
    }
    return ATTN_OK;
}

/* Reads the object "tokenizer" of JSON, the config, which may be NULL, if it exists. */
static enum attn_status read_settings(struct attn_settings *settings, const struct attn_json *json,
                                      struct attn_error *err)
{
    const struct attn_node *object =
        json ? attn_node_find(attn_json_root(json), "tokenizer") : NULL;
    const char *type = NULL, *drop = "", *unk = NULL, *bos = NULL;

    if (!object || attn_node_is_null(object))
        return ATTN_OK;
    if (!attn_node_is_object(object))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "tokenizer", "is not an object");
    /* Unknown keys are refused, because a misspelt key would silently change ids. */
    for (const struct attn_node *node = attn_node_first(object); node;
         node = attn_node_next(node)) {
        const char *key = attn_node_key(node);

        if (strcmp(key, "type") != 0 && strcmp(key, "drop") != 0 && strcmp(key, "unk") != 0 &&
            strcmp(key, "bos") != 0)
            return attn_error_set(
                err, ATTN_UNSUPPORTED,
                "'%s' of 'tokenizer' in '%s' is not known, expected 'type', 'drop', 'unk' or 'bos'",
                attn_quote_string(key).text, attn_quote_string(attn_json_name(json)).text);
    }
    ATTN_TRY(attn_json_get_string(json, object, "type", &type, err));
    for (int i = 0; type && i <= ATTN_TOKENIZER_BPE; i++)
        if (strcmp(type, attn_tokenizer_kind_name((enum attn_tokenizer_kind)i)) == 0) {
            settings->has_kind = true;
            settings->kind = (enum attn_tokenizer_kind)i;
        }
    if (type && !settings->has_kind)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "tokenizer type '%s' in '%s' is not supported, expected 'word', "
                              "'char' or 'bpe'",
                              attn_quote_string(type).text,
                              attn_quote_string(attn_json_name(json)).text);
    ATTN_TRY(attn_json_get_string(json, object, "drop", &drop, err));
    ATTN_TRY(read_drop(settings, json, drop, err));
    ATTN_TRY(attn_json_get_string(json, object, "unk", &unk, err));
    ATTN_TRY(attn_json_get_string(json, object, "bos", &bos, err));
    settings->unk = unk ? attn_strndup(unk, strlen(unk), err) : NULL;
    settings->bos = bos ? attn_strndup(bos, strlen(bos), err) : NULL;
    return (unk && !settings->unk) || (bos && !settings->bos) ? ATTN_NO_MEMORY : ATTN_OK;
}

/* --- Tokens that no merge makes --------------------------------------------------------------- */

/*
 * Tokens of a byte-level vocabulary that no text can have: neither a byte, nor the result of a
 * merge, nor special. They show that a merges.txt was cut, with which texts would get other ids.
 *
 * GPT-2 has no such token: its 50,257 tokens are 256 bytes, the results of 50,000 merges, and
 * <|endoftext|>. Others have a few that people added by hand, like RoBERTa's <mask> and
 * madeupword0000: several pieces of a text, and a merge joins parts of one piece (split.c). So:
 *
 *     one piece, three or more    the list is not the vocabulary's own: refused
 *     one piece, one or two       a note
 *     several pieces              a note
 */
enum { N_NAMED = 3, MAX_WHOLE = 2 };

/* The unmade tokens of one kind. */
struct unmade {
    size_t n;
    int32_t ids[N_NAMED]; /* the first few */
};

struct unmade_search {
    const struct attn_vocabulary *vocabulary; /* borrows */
    struct attn_alphabet alphabet;
    struct attn_match *match; /* owns */
    struct attn_buffer bytes; /* scratch: the text of a key */
    bool *is_made;            /* owns; by id */
    struct unmade whole;      /* tokens that are one piece, or a part of a character */
    struct unmade added;
};

/* Adds token ID, which no merge makes, to `whole` or `added`, depending on whether its text is one
 * piece. */
static enum attn_status classify_unmade(struct unmade_search *search, int32_t id,
                                        struct attn_error *err)
{
    size_t size, n = 0;
    const char *key = attn_vocabulary_key(search->vocabulary, id, &size);
    struct attn_match_range found;
    struct unmade *unmade;
    bool is_whole;
    char *bytes;

    attn_buffer_reset(&search->bytes);
    bytes = attn_buffer_reserve(&search->bytes, size + 1);
    if (!bytes)
        return attn_error_no_memory(err);
    is_whole = attn_alphabet_to_bytes(&search->alphabet, key, size, bytes, &n) && n > 0;
    if (is_whole && attn_utf8_valid_length(bytes, n) == n) {
        ATTN_TRY(attn_match_find(search->match, bytes, n, 0, &found, err));
        is_whole = found.end == n;
    }
    unmade = is_whole ? &search->whole : &search->added;
    if (unmade->n < N_NAMED)
        unmade->ids[unmade->n] = id;
    unmade->n++;
    return ATTN_OK;
}

/* Marks the bytes that end a word: their keys have the suffix. */
static void mark_last(struct unmade_search *search, const struct attn_bpe_model *model)
{
    for (size_t byte = 0; byte < 256; byte++) {
        char key[4 + ATTN_BPE_SUFFIX_MAX];
        const size_t size = attn_utf8_encode(search->alphabet.code_point[byte], key);
        int32_t id;

        memcpy(key + size, model->suffix, model->n_suffix);
        id = attn_vocabulary_find(search->vocabulary, key, size + model->n_suffix);
        if (id >= 0)
            search->is_made[id] = true;
    }
}

static enum attn_status find_unmade(struct unmade_search *search,
                                    const struct attn_tokenizer *tokenizer,
                                    const struct attn_regex *pattern, struct attn_error *err)
{
    const struct attn_bpe_model *model = &tokenizer->bpe;
    const size_t n = search->vocabulary->n;

    ATTN_TRY(ATTN_ALLOC(search->is_made, n, err));
    memcpy(search->is_made, tokenizer->is_added, n * sizeof *search->is_made);
    for (size_t byte = 0; byte < 256; byte++)
        if (model->byte_ids[byte] >= 0)
            search->is_made[model->byte_ids[byte]] = true;
    for (size_t i = 0; i < model->merges.n; i++)
        search->is_made[model->merges.merged[i]] = true;
    attn_alphabet_init(&search->alphabet);
    if (model->n_suffix > 0)
        mark_last(search, model);
    ATTN_TRY(attn_match_create(pattern, search->vocabulary->keys.size, &search->match, err));
    for (size_t i = 0; i < n; i++)
        if (!search->is_made[i])
            ATTN_TRY(classify_unmade(search, (int32_t)i, err));
    return ATTN_OK;
}

/* Appends the names of tokens: "'he' (id 257), 'hee' (id 258), 'heed' (id 259) and 4 more". */
static void append_names(struct attn_buffer *out, const struct attn_vocabulary *vocabulary,
                         const struct unmade *unmade)
{
    for (size_t i = 0; i < unmade->n && i < N_NAMED; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, unmade->ids[i], &size);

        attn_buffer_append_format(out, "%s'%s' (id %d)", out->size > 0 ? ", " : "",
                                  attn_quote(key, size).text, (int)unmade->ids[i]);
    }
    if (unmade->n > N_NAMED)
        attn_buffer_append_format(out, " and %zu more", unmade->n - N_NAMED);
}

/* Fails and names the file PATH if unmade tokens mean that it was cut; otherwise adds a note. */
static enum attn_status report_unmade(struct attn_tokenizer *tokenizer,
                                      const struct unmade_search *search, const char *path,
                                      struct attn_error *err)
{
    const bool is_refused = search->whole.n > MAX_WHOLE;
    struct attn_buffer names = {0};
    enum attn_status status;

    append_names(&names, search->vocabulary, &search->whole);
    if (!is_refused)
        append_names(&names, search->vocabulary, &search->added);
    (void)attn_buffer_string(&names);
    status = attn_buffer_check(&names, err);
    if (status == ATTN_OK && is_refused) {
        status = attn_error_set(err, ATTN_FORMAT,
                                "no line of '%s' makes %s of the vocabulary, expected one for each "
                                "token that is neither a byte nor special",
                                attn_quote_string(path).text, names.data);
        attn_error_hint(err, "a file that was cut has lines missing; special tokens are named in "
                             "special_tokens_map.json or added_tokens.json");
    } else if (status == ATTN_OK) {
        status = attn_tokenizer_add_note(tokenizer, err, "no line of '%s' makes %s: no text has %s",
                                         attn_quote_string(path).text, names.data,
                                         search->whole.n + search->added.n == 1 ? "this token"
                                                                                : "these tokens");
    }
    attn_buffer_release(&names);
    return status;
}

/* Searches TOKENIZER for unmade tokens. Its merges are from the file PATH, and PATTERN splits texts
 * into pieces. */
static enum attn_status check_unmade(struct attn_tokenizer *tokenizer,
                                     const struct attn_regex *pattern, const char *path,
                                     struct attn_error *err)
{
    struct unmade_search search = {.vocabulary = &tokenizer->vocabulary};
    const enum attn_status status = find_unmade(&search, tokenizer, pattern, err);

    attn_buffer_release(&search.bytes);
    attn_match_free(search.match);
    attn_free(search.is_made);
    ATTN_TRY(status);
    return search.whole.n + search.added.n == 0 ? ATTN_OK
                                                : report_unmade(tokenizer, &search, path, err);
}

/* --- Byte-level BPE --------------------------------------------------------------------------- */

/* Splits by PATTERN: its matches are pieces, as is the text between them unless it is removed. */
static enum attn_status add_pattern(struct attn_pipeline *pipeline,
                                    enum attn_split_behavior behavior, const char *text,
                                    struct attn_regex **pattern, struct attn_error *err)
{
    struct attn_split split = {.behavior = behavior, .is_inverted = behavior == ATTN_SPLIT_REMOVED};

    ATTN_TRY(attn_regex_create(text, strlen(text), "merges.txt", false, &split.pattern, err));
    *pattern = split.pattern;
    return attn_split_add(pipeline, split, err);
}

/* Adds the normal form of the class, and the added tokens that are searched in it. */
static enum attn_status add_normalizer(struct attn_tokenizer *tokenizer, unsigned traits,
                                       struct attn_error *err)
{
    struct attn_pipeline *pipeline = &tokenizer->pipeline;
    const size_t n = pipeline->n;
    struct attn_regex *spaces = NULL;

    if (traits & ATTN_CLASS_NFC)
        ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_nfc, NULL, err));
    if (traits & ATTN_CLASS_SUFFIX) {
        ATTN_TRY(attn_regex_create("\\s+", 3, "merges.txt", false, &spaces, err));
        ATTN_TRY(attn_change_add_replace_matches(pipeline, spaces, " ", err));
        ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_lowercase, NULL, err));
    }
    return attn_added_add_stage(pipeline, &tokenizer->added, true, pipeline->n - n, err);
}

/* Adds the stages and reads the merges, which only encoding needs. */
static enum attn_status add_stages(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const struct attn_class_row *row = tokenizer->unread->row;
    const bool has_suffix = row->traits & ATTN_CLASS_SUFFIX;
    struct attn_file *file = &tokenizer->unread->file;
    struct attn_pipeline *pipeline = &tokenizer->pipeline;
    struct attn_regex *pattern = NULL;

    ATTN_TRY(attn_file_read_held(file, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, &tokenizer->added, false, 0, err));
    ATTN_TRY(add_normalizer(tokenizer, row->traits, err));
    if (row->traits & ATTN_CLASS_DIGITS)
        ATTN_TRY(add_pattern(pipeline, ATTN_SPLIT_ISOLATED, ATTN_NUMBER_REGEX, &pattern, err));
    if (row->split)
        ATTN_TRY(add_pattern(pipeline, has_suffix ? ATTN_SPLIT_REMOVED : ATTN_SPLIT_ISOLATED,
                             row->split, &pattern, err));
    if (tokenizer->unread->has_prefix)
        ATTN_TRY(attn_change_add_prefix(pipeline, " ", ATTN_PREFIX_UNLESS_THERE, err));
    if (!row->split || has_suffix)
        ATTN_TRY(add_pattern(pipeline, ATTN_SPLIT_ISOLATED, ATTN_BYTES_REGEX, &pattern, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_bpe_stage, &tokenizer->bpe, err));
    ATTN_TRY(attn_merges_read(&tokenizer->bpe.merges, file, &tokenizer->vocabulary, err));
    return check_unmade(tokenizer, pattern, file->path, err);
}

static enum attn_status read_rest(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const enum attn_status status = add_stages(tokenizer, err);

    if (status != ATTN_OK)
        attn_pipeline_release(&tokenizer->pipeline);
    return status;
}

/* Gives the model of CLIP its suffix and its unknown token. */
static enum attn_status set_suffix(struct attn_tokenizer *tokenizer,
                                   const struct attn_token_role *unk, struct attn_error *err)
{
    static const char suffix[] = "</w>";
    struct attn_bpe_model *bpe = &tokenizer->bpe;
    const char *key =
        unk->id >= 0 ? attn_vocabulary_key(&tokenizer->vocabulary, unk->id, &bpe->n_unk) : "";

    bpe->needs_all = unk->id < 0;
    bpe->n_suffix = sizeof suffix - 1;
    bpe->suffix = attn_strndup(suffix, bpe->n_suffix, err);
    bpe->unk = attn_strndup(key, bpe->n_unk, err);
    return bpe->suffix && bpe->unk ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status open_bpe(struct attn_tokenizer *tokenizer, const struct attn_source *source,
                                 const struct attn_class *found, struct attn_error *err)
{
    const struct attn_class_row *row = found->row ? found->row : attn_class_row(NULL);
    struct attn_token_role roles[ATTN_CLASS_N_ROLE];
    struct attn_unread *unread = tokenizer->unread;

    if (tokenizer->settings.n_drop > 0 || tokenizer->settings.unk || tokenizer->settings.bos)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the config's 'drop', 'unk' and 'bos' are for word level, but the "
                              "tokenizer is byte-level BPE");
    tokenizer->bpe = (struct attn_bpe_model){
        .vocabulary = &tokenizer->vocabulary, .is_by_byte = true, .needs_all = true};
    tokenizer->keeps_bytes = true;
    unread->read = read_rest;
    unread->row = row;
    unread->has_prefix = row->traits & ATTN_CLASS_PREFIXED;
    ATTN_TRY(attn_class_get_bool(found, "add_prefix_space", &unread->has_prefix, err));
    if (unread->has_prefix && !attn_class_has(found, "add_prefix_space"))
        ATTN_TRY(attn_tokenizer_add_note(tokenizer, err,
                                         "no file has 'add_prefix_space', and a space is inserted "
                                         "in front of texts; transformers 4 inserted none"));
    attn_class_get_roles(row, roles);
    ATTN_TRY(attn_tokenizer_read_added(tokenizer, source, found->config, false, roles, err));
    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    if (row->traits & ATTN_CLASS_SUFFIX) {
        unread->has_prefix = false;
        ATTN_TRY(set_suffix(tokenizer, &roles[UNK_ROLE], err));
    }
    tokenizer->post.trims = row->traits & ATTN_CLASS_TRIMS;
    tokenizer->post.has_prefix = unread->has_prefix;
    ATTN_TRY(attn_class_add_ends(found, row, roles, tokenizer, err));
    tokenizer->post.takes_pair = tokenizer->post.takes_pair && found->row;
    return attn_file_hold_part(source, "merges.txt", &unread->file, err);
}

/* --- Words ------------------------------------------------------------------------------------ */

/* Sets *id to that of TOKEN, which the config names as KEY; -1 without a token. */
static enum attn_status find_named(const struct attn_tokenizer *tokenizer, const char *key,
                                   const char *token, int32_t *id, struct attn_error *err)
{
    *id = token ? attn_vocabulary_find(&tokenizer->vocabulary, token, strlen(token)) : -1;
    if (!token || *id >= 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT, "the config's '%s' token '%s' is not in the vocabulary",
                          key, attn_quote_string(token).text);
}

/* Puts the token `bos`, if the config names one, in front of each text. */
static enum attn_status add_bos(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const char *bos = tokenizer->settings.bos;
    struct attn_added_token token = {.is_special = true};
    struct attn_template front = {.items = {{0, 0}, {ATTN_TEMPLATE_TEXT, 0}}, .n = 2};

    ATTN_TRY(find_named(tokenizer, "bos", bos, &token.id, err));
    if (!bos)
        return ATTN_OK;
    front.items[0].id = token.id;
    ATTN_TRY(attn_added_append(&tokenizer->added, token, bos, strlen(bos), err));
    ATTN_TRY(attn_added_add_stage(&tokenizer->pipeline, &tokenizer->added, false, 0, err));
    return attn_post_process_wrap(&tokenizer->post, &front, err);
}

static enum attn_status open_words(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const bool is_by_character = tokenizer->kind == ATTN_TOKENIZER_CHARACTER;
    const struct attn_decode_step join = {.run = attn_decode_join, .n_a = is_by_character ? 0 : 1};
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    /* U+0120 represents a space in byte-level vocabularies. */
    static const char space[] = "\xc4\xa0";
    size_t n_space = 0;

    for (size_t i = 0; i < vocabulary->n && !tokenizer->settings.has_kind; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);

        n_space += size >= sizeof space - 1 && memcmp(key, space, sizeof space - 1) == 0;
    }
    if (n_space > vocabulary->n / 32) { /* words rarely begin with this letter */
        attn_error_set(err, ATTN_FORMAT,
                       "the vocabulary is one of byte-level BPE (%zu of its %zu tokens begin with "
                       "'%s'), but 'merges.txt' is missing",
                       n_space, vocabulary->n, space);
        attn_error_hint(err, "if its tokens are words, say so in config.json: \"tokenizer\": "
                             "{\"type\": \"word\"}");
        return ATTN_FORMAT;
    }
    tokenizer->words = (struct attn_word_level){
        .vocabulary = &tokenizer->vocabulary,
        .rule = {is_by_character, tokenizer->settings.drop, tokenizer->settings.n_drop},
        .unk = -1};
    ATTN_TRY(attn_pipeline_add(&tokenizer->pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(add_bos(tokenizer, err));
    ATTN_TRY(attn_pipeline_add(&tokenizer->pipeline, &attn_word_stage, &tokenizer->words, err));
    ATTN_TRY(attn_decode_add(&tokenizer->decoder, join, " ", NULL, err));
    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    return find_named(tokenizer, "unk", tokenizer->settings.unk, &tokenizer->words.unk, err);
}

/* --- All kinds -------------------------------------------------------------------------------- */

/* Reads vocab.json into FILE and into the vocabulary of TOKENIZER. */
static enum attn_status read_vocabulary(struct attn_tokenizer *tokenizer,
                                        const struct attn_source *source, struct attn_file *file,
                                        struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    const bool is_bpe = tokenizer->kind == ATTN_TOKENIZER_BPE;

    ATTN_TRY(attn_file_read_part(source, "vocab.json", file, err));
    ATTN_TRY(attn_vocabulary_read(vocabulary, file, err));
    ATTN_TRY(attn_vocabulary_finish(vocabulary, file->path, false, err));
    /* Index the keys now only if they are looked up before a text is encoded; encoding indexes them
     * otherwise. */
    if (!is_bpe || attn_source_has_part(source, "added_tokens.json") ||
        attn_source_has_part(source, "special_tokens_map.json"))
        ATTN_TRY(attn_vocabulary_index(vocabulary, file->path, err));
    return is_bpe ? attn_tokenizer_add_unread(tokenizer, file->path, err) : ATTN_OK;
}

enum attn_status attn_tokenizer_files_read(struct attn_tokenizer *tokenizer,
                                           const struct attn_source *source,
                                           const struct attn_class *found, struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;

    ATTN_TRY(read_settings(&tokenizer->settings, found->model, err));
    if (tokenizer->settings.has_kind)
        tokenizer->kind = tokenizer->settings.kind;
    else
        tokenizer->kind = found->row || attn_source_has_part(source, "merges.txt")
                              ? ATTN_TOKENIZER_BPE
                              : ATTN_TOKENIZER_WORD;
    status = read_vocabulary(tokenizer, source, &file, err);
    attn_file_release(&file);
    ATTN_TRY(status);
    return tokenizer->kind == ATTN_TOKENIZER_BPE ? open_bpe(tokenizer, source, found, err)
                                                 : open_words(tokenizer, err);
}
