/*
 * tokenizer_files.c - tokenizers from vocab.json and related files: byte-level BPE with merges.txt,
 * words, characters.
 *
 * In a byte-level vocabulary, these tokens are found in a text before it is split (added_tokens.h):
 * `<|endoftext|>` if the vocabulary has it; all tokens of added_tokens.json ({"token": id}); and
 * those that special_tokens_map.json names (strings, objects with "content" and flags, lists of
 * both) if the vocabulary has them.
 *
 * The tokenizers of RoBERTa and BART use the same files, but add <s> and </s> around a text. They
 * are recognized by `tokenizer_class` in tokenizer_config.json or config.json, else by the type of
 * the model.
 */
#include "tokenizer/tokenizer_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/utf8.h"
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
            return attn_error_set(err, ATTN_FORMAT, "'drop' in '%s' is not UTF-8",
                                  attn_quote_string(attn_json_name(json)).text);
        settings->n_drop++;
    }
    return ATTN_OK;
}

/* Reads the object "tokenizer" of JSON, the config, if it exists. */
static enum attn_status read_settings_of(struct attn_settings *settings,
                                         const struct attn_json *json, struct attn_error *err)
{
    const struct attn_node *object = attn_node_find(attn_json_root(json), "tokenizer");
    const char *type = NULL, *drop = "", *unk = NULL;

    if (!object || attn_node_is_null(object))
        return ATTN_OK;
    if (!attn_node_is_object(object))
        return attn_error_set(err, ATTN_FORMAT, "'tokenizer' in '%s' is not an object",
                              attn_quote_string(attn_json_name(json)).text);
    /* Unknown keys are refused, because a misspelt key would silently change ids. */
    for (const struct attn_node *node = attn_node_first(object); node;
         node = attn_node_next(node)) {
        const char *key = attn_node_key(node);

        if (strcmp(key, "type") != 0 && strcmp(key, "drop") != 0 && strcmp(key, "unk") != 0)
            return attn_error_set(
                err, ATTN_UNSUPPORTED,
                "'%s' of 'tokenizer' in '%s' is not known, expected 'type', 'drop' or 'unk'",
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
    settings->unk = unk ? attn_strndup(unk, strlen(unk), err) : NULL;
    return unk && !settings->unk ? ATTN_NO_MEMORY : ATTN_OK;
}

/* Sets *is_roberta if the value of KEY in JSON, a class or a type, is that of RoBERTa or BART. */
static enum attn_status read_class(const struct attn_json *json, const char *key, bool *is_roberta,
                                   struct attn_error *err)
{
    const char *name = NULL;

    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), key, &name, err));
    if (name)
        *is_roberta = strncmp(name, "Roberta", 7) == 0 || strcmp(name, "roberta") == 0 ||
                      strncmp(name, "Bart", 4) == 0 || strcmp(name, "bart") == 0;
    return ATTN_OK;
}

/* Reads the settings of the tokenizer in config.json. */
static enum attn_status read_settings(struct attn_settings *settings,
                                      const struct attn_source *source, struct attn_error *err)
{
    static const char *const names[] = {"tokenizer", NULL};
    struct attn_json *json = NULL;
    enum attn_status status;

    if (!attn_source_has_part(source, "config.json"))
        return ATTN_OK;
    ATTN_TRY(attn_json_read_part(source, "config.json", names, &json, err));
    status = read_settings_of(settings, json, err);
    if (status == ATTN_OK)
        status = read_class(json, "model_type", &settings->is_roberta, err);
    if (status == ATTN_OK)
        status = read_class(json, "tokenizer_class", &settings->is_roberta, err);
    attn_json_free(json);
    return status;
}

/* Reads "add_prefix_space" and the class from tokenizer_config.json, if it exists, for BPE. */
static enum attn_status read_bpe_config(const struct attn_source *source, bool *prefix,
                                        bool *is_roberta, struct attn_error *err)
{
    static const char *const none[] = {NULL}, name[] = "tokenizer_config.json";
    struct attn_json *json = NULL;
    enum attn_status status;

    if (!attn_source_has_part(source, name))
        return ATTN_OK;
    ATTN_TRY(attn_json_read_part(source, name, none, &json, err));
    status = attn_json_get_bool(json, attn_json_root(json), "add_prefix_space", prefix, err);
    if (status == ATTN_OK)
        status = read_class(json, "tokenizer_class", is_roberta, err);
    attn_json_free(json);
    return status;
}

/* --- Special tokens --------------------------------------------------------------------------- */

enum { CLS, SEP, PAD, UNK, MASK, N_SPECIAL };

static const char *const roberta[N_SPECIAL] = {"<s>", "</s>", "<pad>", "<unk>", "<mask>"};

struct specials {
    const struct attn_source *source;   /* borrows */
    struct attn_vocabulary *vocabulary; /* borrows */
    struct attn_vocabulary added;       /* owns; the tokens of added_tokens.json */
    struct attn_file added_file;
    struct attn_json *map;           /* owns */
    struct attn_added_token *tokens; /* owns; [vocabulary] flags of special tokens, by id */
    const char *const
        *names; /* borrows; [n_name] tokens that are special if the vocabulary has them */
    size_t n_name;
    const char *wide; /* one more such token, which includes the white space to its left; or NULL */
};

/* Marks KEY as special if the vocabulary has it, and returns its flags. Returns NULL otherwise, and
 * for an empty token. */
static struct attn_added_token *mark(struct specials *specials, const char *key, size_t size)
{
    int32_t id = size > 0 ? attn_vocabulary_find(specials->vocabulary, key, size) : -1;

    if (id < 0)
        return NULL;
    specials->tokens[id].is_special = true;
    return &specials->tokens[id];
}

/* Reads added_tokens.json and adds its new keys to the vocabulary. */
static enum attn_status read_added(struct specials *specials, struct attn_error *err)
{
    struct attn_file *file = &specials->added_file;
    struct attn_vocabulary *vocabulary = specials->vocabulary, *added = &specials->added;
    const size_t n = vocabulary->n;

    ATTN_TRY(attn_file_read_part(specials->source, "added_tokens.json", file, err));
    ATTN_TRY(attn_vocabulary_read(added, file, err));
    for (size_t i = 0; i < added->n; i++) {
        int32_t id = added->entries[i].id;
        size_t size = added->entries[i].size;
        const char *key = added->keys.data + added->entries[i].begin;
        int32_t known = attn_vocabulary_find(vocabulary, key, size);

        if (known < 0)
            ATTN_TRY(attn_vocabulary_add(vocabulary, key, size, id, err));
        else if (known != id)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has id %d in '%s', but the vocabulary has it with id %d",
                                  attn_quote(key, size).text, (int)id,
                                  attn_quote_string(file->path).text, (int)known);
    }
    if (vocabulary->n > n)
        ATTN_TRY(attn_vocabulary_finish(vocabulary, file->path, false, err));
    return attn_vocabulary_index(vocabulary, file->path, err);
}

/* Marks the token that VALUE, a string or an object with "content", names. */
static enum attn_status mark_value(struct specials *specials, const struct attn_node *value,
                                   struct attn_error *err)
{
    const struct attn_json *map = specials->map;
    const char *content = attn_node_string(value);
    struct attn_added_token *token;

    if (attn_node_is_object(value))
        ATTN_TRY(attn_json_get_string(map, value, "content", &content, err));
    token = content ? mark(specials, content, strlen(content)) : NULL;
    if (!token || !attn_node_is_object(value))
        return ATTN_OK;
    token->strips_left = false;
    return attn_added_read_flags(map, value, token, err);
}

static enum attn_status read_map(struct specials *specials, struct attn_error *err)
{
    const struct attn_node *member;

    ATTN_TRY(attn_json_read_part(specials->source, "special_tokens_map.json", NULL, &specials->map,
                                 err));
    for (member = attn_node_first(attn_json_root(specials->map)); member;
         member = attn_node_next(member)) {
        if (!attn_node_is_array(member)) {
            ATTN_TRY(mark_value(specials, member, err));
            continue;
        }
        for (const struct attn_node *item = attn_node_first(member); item;
             item = attn_node_next(item))
            ATTN_TRY(mark_value(specials, item, err));
    }
    return ATTN_OK;
}

/* Reads the special tokens and appends them to FOUND. */
static enum attn_status find_specials(struct specials *specials, struct attn_added *found,
                                      struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = specials->vocabulary, *added = &specials->added;
    struct attn_added_token *mask;

    if (attn_source_has_part(specials->source, "added_tokens.json"))
        ATTN_TRY(read_added(specials, err));
    ATTN_TRY(ATTN_ALLOC(specials->tokens, vocabulary->n, err));
    for (size_t i = 0; i < specials->n_name; i++)
        mark(specials, specials->names[i], strlen(specials->names[i]));
    mask = specials->wide ? mark(specials, specials->wide, strlen(specials->wide)) : NULL;
    if (mask)
        mask->strips_left = true;
    for (size_t i = 0; i < added->n; i++)
        mark(specials, added->keys.data + added->entries[i].begin, added->entries[i].size);
    if (attn_source_has_part(specials->source, "special_tokens_map.json"))
        ATTN_TRY(read_map(specials, err));
    for (size_t i = 0; i < vocabulary->n; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);

        specials->tokens[i].id = (int32_t)i;
        if (specials->tokens[i].is_special)
            ATTN_TRY(attn_added_append(found, specials->tokens[i], key, size, err));
    }
    return ATTN_OK;
}

/* Adds NAMES [n], and the special tokens in the files of SOURCE, to the tokens that TOKENIZER finds
 * in texts. Also adds the tokens of added_tokens.json to its vocabulary, which is then final. */
static enum attn_status read_specials(struct attn_tokenizer *tokenizer,
                                      const struct attn_source *source, const char *const *names,
                                      size_t n, struct attn_error *err)
{
    struct specials specials = {.source = source,
                                .vocabulary = &tokenizer->vocabulary,
                                .names = names,
                                .n_name = n,
                                .wide = tokenizer->settings.is_roberta ? roberta[MASK] : NULL};
    const enum attn_status status = find_specials(&specials, &tokenizer->added, err);

    attn_vocabulary_release(&specials.added);
    attn_file_release(&specials.added_file);
    attn_json_free(specials.map);
    attn_free(specials.tokens);
    return status;
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

/* The state of searching for unmade tokens. */
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

static enum attn_status find_unmade(struct unmade_search *search,
                                    const struct attn_tokenizer *tokenizer,
                                    const struct attn_regex *pattern, struct attn_error *err)
{
    const struct attn_bpe_model *model = &tokenizer->bpe;
    const size_t n = search->vocabulary->n;

    ATTN_TRY(ATTN_ALLOC(search->is_made, n, err));
    memcpy(search->is_made, tokenizer->is_special, n * sizeof *search->is_made);
    for (size_t byte = 0; byte < 256; byte++)
        if (model->byte_ids[byte] >= 0)
            search->is_made[model->byte_ids[byte]] = true;
    for (size_t i = 0; i < model->merges.n; i++)
        search->is_made[model->merges.merged[i]] = true;
    ATTN_TRY(attn_match_create(pattern, search->vocabulary->keys.size, &search->match, err));
    attn_alphabet_init(&search->alphabet);
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

/* Fails and names the file PATH if unmade tokens mean that it was cut; otherwise stores a note for
 * the user in *note. */
static enum attn_status report_unmade(const struct unmade_search *search, const char *path,
                                      char **note, struct attn_error *err)
{
    const bool is_refused = search->whole.n > MAX_WHOLE;
    struct attn_buffer names = {0}, text = {0};
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
        attn_buffer_append_format(
            &text, "no line of '%s' makes %s: no text has %s", attn_quote_string(path).text,
            names.data, search->whole.n + search->added.n == 1 ? "this token" : "these tokens");
        (void)attn_buffer_string(&text);
        status = attn_buffer_check(&text, err);
    }
    attn_buffer_release(&names);
    if (status == ATTN_OK)
        *note = text.data; /* takes over the buffer's memory */
    else
        attn_buffer_release(&text);
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
    return search.whole.n + search.added.n == 0
               ? ATTN_OK
               : report_unmade(&search, path, &tokenizer->note, err);
}

/* --- Byte-level BPE --------------------------------------------------------------------------- */

/* Adds the stages and reads the merges, which only encoding needs. */
static enum attn_status add_stages(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    static const char rule[] = ATTN_GPT2_REGEX;
    struct attn_file *file = &tokenizer->unread->file;
    struct attn_pipeline *pipeline = &tokenizer->pipeline;
    struct attn_regex *pattern = NULL;

    ATTN_TRY(attn_file_read_held(file, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, &tokenizer->added, false, 0, err));
    if (tokenizer->unread->has_prefix)
        ATTN_TRY(attn_change_add_prefix(pipeline, " ", ATTN_PREFIX_UNLESS_THERE, err));
    ATTN_TRY(attn_regex_create(rule, sizeof rule - 1, "encoder.py", false, &pattern, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_split_isolated, pattern, err));
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

/* Adds tokens around a text and between two texts, as RoBERTa does. */
static enum attn_status add_ends(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    int32_t ids[2];

    for (int i = CLS; i <= SEP; i++) {
        ids[i] = attn_vocabulary_find(&tokenizer->vocabulary, roberta[i], strlen(roberta[i]));
        if (ids[i] < 0)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has no '%s', which RoBERTa's tokenizer adds to each text",
                                  attn_quote_string(tokenizer->unread->path).text, roberta[i]);
    }
    tokenizer->post.trims = true;
    tokenizer->post.has_prefix = tokenizer->unread->has_prefix;
    return attn_post_process_set_ends(&tokenizer->post, ids[CLS], ids[SEP], true, err);
}

static enum attn_status open_bpe(struct attn_tokenizer *tokenizer, const struct attn_source *source,
                                 struct attn_error *err)
{
    static const char *const end_of_text[] = {"<|endoftext|>"};
    struct attn_unread *unread = tokenizer->unread;
    bool *is_roberta = &tokenizer->settings.is_roberta;

    if (tokenizer->settings.n_drop > 0 || tokenizer->settings.unk)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the config's 'drop' and 'unk' are for word level, but the tokenizer "
                              "is byte-level BPE");
    tokenizer->bpe = (struct attn_bpe_model){
        .vocabulary = &tokenizer->vocabulary, .is_by_byte = true, .needs_all = true};
    tokenizer->keeps_bytes = true;
    unread->read = read_rest;
    ATTN_TRY(read_bpe_config(source, &unread->has_prefix, is_roberta, err));
    ATTN_TRY(read_specials(tokenizer, source, *is_roberta ? roberta : end_of_text,
                           *is_roberta ? N_SPECIAL : 1, err));
    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    if (*is_roberta)
        ATTN_TRY(add_ends(tokenizer, err));
    return attn_file_hold_part(source, "merges.txt", &unread->file, err);
}

/* --- Words ------------------------------------------------------------------------------------ */

static enum attn_status open_words(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const char *unk = tokenizer->settings.unk;
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
    ATTN_TRY(attn_pipeline_add(&tokenizer->pipeline, &attn_word_stage, &tokenizer->words, err));
    ATTN_TRY(attn_decode_add(&tokenizer->decoder, join, " ", NULL, err));
    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    if (!unk)
        return ATTN_OK;
    tokenizer->words.unk = attn_vocabulary_find(&tokenizer->vocabulary, unk, strlen(unk));
    if (tokenizer->words.unk < 0)
        return attn_error_set(err, ATTN_FORMAT,
                              "the config's 'unk' token '%s' is not in the vocabulary",
                              attn_quote_string(unk).text);
    return ATTN_OK;
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
                                           const struct attn_source *source, struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;

    ATTN_TRY(read_settings(&tokenizer->settings, source, err));
    if (tokenizer->settings.has_kind)
        tokenizer->kind = tokenizer->settings.kind;
    else
        tokenizer->kind =
            attn_source_has_part(source, "merges.txt") ? ATTN_TOKENIZER_BPE : ATTN_TOKENIZER_WORD;
    status = read_vocabulary(tokenizer, source, &file, err);
    attn_file_release(&file);
    ATTN_TRY(status);
    return tokenizer->kind == ATTN_TOKENIZER_BPE ? open_bpe(tokenizer, source, err)
                                                 : open_words(tokenizer, err);
}
