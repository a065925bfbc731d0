/*
 * tokenizer_added.c - the tokens that other files add to vocab.txt or name in it, read as by
 * transformers 5: first the tokens of `added_tokens_decoder` in tokenizer_config.json or, without
 * that key, in added_tokens.json; then those with a role, like `mask_token`; then
 * `extra_special_tokens`, formerly `additional_special_tokens`. special_tokens_map.json is read
 * only if there is no `added_tokens_decoder`, and then takes precedence over tokenizer_config.json.
 *
 * A token without an id in these files gets its flags from the last file that names it. A token
 * that vocab.txt lacks gets the next id; a file that gives it another id is refused.
 */
#include "tokenizer/tokenizer_internal.h"

#include "base/memory.h"
#include "base/text/number.h"
#include "formats/json.h"

#include <stdlib.h>
#include <string.h>

/* A token as a file describes it. */
struct entry {
    const char *content; /* [size, not 0] borrows */
    size_t size;
    struct attn_added_token token; /* its id is the one in the file, if the file has ids */
    struct attn_token_role *role;  /* borrows; NULL: the token has no role */
    bool is_of_class;              /* the default token of the class: no file names it */
    bool has_flags;                /* the file has an object, not a string */
    bool says_normalized;          /* the file has the flag `normalized` */
    size_t at;                     /* index among the added tokens */
};

struct added_files {
    struct attn_tokenizer *tokenizer; /* borrows */
    const struct attn_source *source; /* borrows */
    const struct attn_json *config;   /* borrows; tokenizer_config.json, or NULL */
    const struct attn_node *decoder;  /* borrows; `added_tokens_decoder` of config, or NULL */
    struct attn_json *map;            /* owns; special_tokens_map.json, or NULL */
    struct attn_file file;            /* owns; added_tokens.json */
    struct attn_vocabulary added;     /* owns; the tokens of added_tokens.json */
    struct entry *entries;            /* owns; [n] */
    size_t n, capacity;
    size_t n_listed; /* number of entries that have ids, which come first */
    size_t n_role;   /* end of the entries with a role, which come next */
    size_t n_config; /* end of the entries of tokenizer_config.json */
    size_t n_extra;  /* end of the entries that can make listed ones special: all except those of
                        `additional_special_tokens` in the map, which come last */
    struct entry **by_id; /* owns; the entry of each id; NULL: not an added token */
    bool has_new;         /* a file names a token that has no id */
};

static enum attn_status append(struct added_files *files, struct entry entry,
                               struct attn_error *err)
{
    ATTN_TRY(ATTN_GROW(files->entries, files->capacity, files->n + 1, err));
    files->entries[files->n++] = entry;
    return ATTN_OK;
}

/* --- Reading the files ------------------------------------------------------------------------ */

/* Reads those of the flags lstrip, rstrip and single_word that NODE of JSON has into TOKEN. */
static enum attn_status read_flags(const struct attn_json *json, const struct attn_node *node,
                                   struct attn_added_token *token, struct attn_error *err)
{
    ATTN_TRY(attn_json_get_bool(json, node, "lstrip", &token->strips_left, err));
    ATTN_TRY(attn_json_get_bool(json, node, "rstrip", &token->strips_right, err));
    return attn_json_get_bool(json, node, "single_word", &token->is_single_word, err);
}

/* Reads NODE of JSON, named KEY: a string, or an object with "content" and flags. IS_SPECIAL is the
 * default of its flag. */
static enum attn_status read_entry(const struct attn_json *json, const struct attn_node *node,
                                   const char *key, bool is_special, struct entry *entry,
                                   struct attn_error *err)
{
    struct attn_added_token *token = &entry->token;
    const bool is_object = attn_node_is_object(node);

    if (is_object)
        entry->content = attn_node_string(attn_node_find(node, "content"));
    else
        entry->content = attn_node_string(node);
    if (!entry->content || *entry->content == '\0')
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is not a token");
    entry->size = strlen(entry->content);
    token->is_special = is_special;
    entry->has_flags = is_object;
    if (!is_object)
        return ATTN_OK;
    ATTN_TRY(attn_json_get_bool(json, node, "special", &token->is_special, err));
    token->is_normalized = !token->is_special;
    entry->says_normalized = attn_node_find(node, "normalized");
    ATTN_TRY(attn_json_get_bool(json, node, "normalized", &token->is_normalized, err));
    return read_flags(json, node, token, err);
}

/* Reads `added_tokens_decoder`, {"5": {"content": "<new>", ...}}. */
static enum attn_status read_decoder(struct added_files *files, struct attn_error *err)
{
    const char *name = attn_json_name(files->config);

    if (!attn_node_is_object(files->decoder))
        return attn_error_set(err, ATTN_FORMAT, "'added_tokens_decoder' in '%s' is not an object",
                              attn_quote_string(name).text);
    for (const struct attn_node *node = attn_node_first(files->decoder); node;
         node = attn_node_next(node)) {
        const char *key = attn_node_key(node);
        struct entry entry = {0};
        int64_t id;

        if (!attn_parse_int(key, strlen(key), 0, INT32_MAX, &id))
            return attn_error_set(err, ATTN_FORMAT,
                                  "'added_tokens_decoder' in '%s' has the key '%s', expected an id",
                                  attn_quote_string(name).text, attn_quote_string(key).text);
        ATTN_TRY(read_entry(files->config, node, key, false, &entry, err));
        entry.token.id = (int32_t)id;
        ATTN_TRY(append(files, entry, err));
    }
    return ATTN_OK;
}

/* Reads added_tokens.json, {"<new>": 5}. */
static enum attn_status read_list(struct added_files *files, struct attn_error *err)
{
    struct attn_vocabulary *added = &files->added;

    ATTN_TRY(attn_file_read_part(files->source, "added_tokens.json", &files->file, err));
    ATTN_TRY(attn_vocabulary_read(added, &files->file, err));
    for (size_t i = 0; i < added->n; i++) {
        const struct attn_vocabulary_entry *key = &added->entries[i];
        const struct entry entry = {.content = added->keys.data + key->begin,
                                    .size = key->size,
                                    .token = {.id = key->id, .is_normalized = true}};

        if (key->size == 0)
            return attn_error_set(err, ATTN_FORMAT, "'%s' has an empty token",
                                  attn_quote_string(files->file.path).text);
        ATTN_TRY(append(files, entry, err));
    }
    return ATTN_OK;
}

/* Reads the token with ROLE. A null in a file means that there is no such token. */
static enum attn_status read_role(struct added_files *files, struct attn_token_role *role,
                                  struct attn_error *err)
{
    const struct attn_json *json = files->map;
    const struct attn_node *node = json ? attn_node_find(attn_json_root(json), role->key) : NULL;
    struct entry entry = {.role = role, .content = role->token};

    role->id = -1;
    if (!node && files->config) {
        json = files->config;
        node = attn_node_find(attn_json_root(json), role->key);
    }
    if (node && attn_node_is_null(node) && !role->is_needed) {
        role->id = -2;
        return ATTN_OK;
    }
    if (node && !attn_node_is_null(node)) {
        ATTN_TRY(read_entry(json, node, role->key, true, &entry, err));
    } else {
        if (!role->token)
            return ATTN_OK;
        entry.size = strlen(role->token);
        entry.is_of_class = true;
    }
    if (role->is_wide && !entry.has_flags)
        entry.token.strips_left = true;
    entry.token.is_special = true;
    return append(files, entry, err);
}

/* Reads KEY of JSON, which may be NULL: a list of tokens, or an object whose values are tokens. */
static enum attn_status read_extras(struct added_files *files, const struct attn_json *json,
                                    const char *key, struct attn_error *err)
{
    const struct attn_node *list = json ? attn_node_find(attn_json_root(json), key) : NULL;

    if (!list || attn_node_is_null(list))
        return ATTN_OK;
    if (!attn_node_is_array(list) && !attn_node_is_object(list))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is not a list");
    for (const struct attn_node *node = attn_node_first(list); node; node = attn_node_next(node)) {
        struct entry entry = {0};

        ATTN_TRY(read_entry(json, node, key, true, &entry, err));
        ATTN_TRY(append(files, entry, err));
    }
    return ATTN_OK;
}

static bool has(const struct attn_json *json, const char *key)
{
    return json && attn_node_find(attn_json_root(json), key);
}

/* Reads all entries, in the order in which new tokens get their ids. */
static enum attn_status read_entries(struct added_files *files, struct attn_token_role *roles,
                                     struct attn_error *err)
{
    static const char extra[] = "extra_special_tokens", old[] = "additional_special_tokens";
    const struct attn_json *config = files->config, *map = files->map;

    if (files->decoder)
        ATTN_TRY(read_decoder(files, err));
    else if (attn_source_has_part(files->source, "added_tokens.json"))
        ATTN_TRY(read_list(files, err));
    files->n_listed = files->n;
    for (size_t i = 0; i < ATTN_CLASS_N_ROLE; i++)
        ATTN_TRY(read_role(files, &roles[i], err));
    files->n_config = files->n_role = files->n;
    ATTN_TRY(read_extras(files, config, extra, err));
    if (files->n == files->n_role)
        ATTN_TRY(read_extras(files, config, old, err));
    files->n_config = files->n;
    ATTN_TRY(read_extras(files, map, extra, err));
    files->n_extra = files->n;
    if (has(config, extra) || has(config, old) || has(map, extra))
        return ATTN_OK;
    return read_extras(files, map, old, err);
}

/* --- Ids -------------------------------------------------------------------------------------- */

static int32_t find(const struct added_files *files, const struct entry *entry)
{
    return attn_vocabulary_find(&files->tokenizer->vocabulary, entry->content, entry->size);
}

/* Indexes the tokens added by the file PATH, if the vocabulary has more than N tokens. */
static enum attn_status index_new(struct added_files *files, size_t n, const char *path,
                                  struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &files->tokenizer->vocabulary;

    if (vocabulary->n == n)
        return ATTN_OK;
    ATTN_TRY(attn_vocabulary_finish(vocabulary, path, false, err));
    return attn_vocabulary_index(vocabulary, path, err);
}

/* Adds listed tokens that are new to the vocabulary, with the next ids. PATH is the file, for
 * messages. */
static enum attn_status add_listed(struct added_files *files, const char *path,
                                   struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &files->tokenizer->vocabulary;
    const size_t n = vocabulary->n;
    size_t n_new = 0;

    for (size_t i = 0; i < files->n_listed; i++)
        n_new += find(files, &files->entries[i]) < 0;
    for (size_t i = 0; i < files->n_listed; i++) {
        struct entry *entry = &files->entries[i];
        const int32_t known = find(files, entry);
        const size_t id = (size_t)entry->token.id;

        if (known >= 0 ? entry->token.id != known : id < n || id - n >= n_new)
            return attn_error_set(
                err, ATTN_FORMAT, "the added token '%s' has id %zu in '%s', expected %zu, %s",
                attn_quote(entry->content, entry->size).text, id, attn_quote_string(path).text,
                known >= 0 ? (size_t)known : n,
                known >= 0 ? "its id in the vocabulary" : "the next one after the vocabulary");
        entry->token.is_new = known < 0;
        if (known < 0)
            ATTN_TRY(
                attn_vocabulary_add(vocabulary, entry->content, entry->size, (int32_t)id, err));
    }
    return index_new(files, n, path, err);
}

/* Whether the flags of ENTRY, which has a role, replace those of the same token in the list. */
static bool has_precedence(const struct added_files *files, const struct entry *entry)
{
    return files->decoder ? entry->is_of_class && entry->role->is_wide
                          : entry->has_flags || entry->role->is_wide;
}

/* Sets by_id for listed tokens, and marks those that another file makes special. */
static enum attn_status mark_listed(struct added_files *files, struct attn_error *err)
{
    const size_t n_id = files->tokenizer->vocabulary.n + files->n - files->n_listed;

    ATTN_TRY(ATTN_ALLOC(files->by_id, n_id, err));
    for (size_t i = 0; i < files->n_listed; i++)
        files->by_id[files->entries[i].token.id] = &files->entries[i];
    for (size_t i = files->n_listed; i < files->n_extra; i++) {
        const struct entry *entry = &files->entries[i];
        const int32_t id = find(files, entry);
        struct entry *listed = id >= 0 ? files->by_id[id] : NULL;

        if (!listed || (files->decoder && !entry->role))
            continue;
        listed->token.is_special = true;
        if (files->decoder ? !listed->says_normalized : !entry->is_of_class)
            listed->token.is_normalized = false;
        if (entry->role && has_precedence(files, entry)) {
            listed->token.strips_left = entry->token.strips_left;
            listed->token.strips_right = entry->token.strips_right;
            listed->token.is_single_word = entry->token.is_single_word;
            listed->token.is_normalized = entry->token.is_normalized;
        }
    }
    return ATTN_OK;
}

static enum attn_status list_entry(struct added_files *files, struct entry *entry,
                                   struct attn_error *err)
{
    struct attn_added *added = &files->tokenizer->added;

    entry->at = added->n;
    files->by_id[entry->token.id] = entry;
    return attn_added_append(added, entry->token, entry->content, entry->size, err);
}

/* Moves the flags of ENTRY to the token that is listed as OLD. */
static void replace_flags(struct added_files *files, const struct entry *old, struct entry *entry)
{
    struct attn_added_token *token = &files->tokenizer->added.tokens[old->at];

    entry->at = old->at;
    entry->token.begin = token->begin;
    entry->token.size = token->size;
    entry->token.id = token->id;
    entry->token.is_new = token->is_new;
    *token = entry->token;
}

/* Lists the entries BEGIN to END-1, which the file PATH names, unless they are listed. */
static enum attn_status list_named(struct added_files *files, size_t begin, size_t end,
                                   const char *path, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &files->tokenizer->vocabulary;
    const size_t n = vocabulary->n;

    for (size_t i = begin; i < end; i++) {
        struct entry *entry = &files->entries[i];
        const int32_t known = find(files, entry);
        const struct entry *old = known >= 0 ? files->by_id[known] : NULL;

        if (old && old >= files->entries + files->n_listed)
            replace_flags(files, old, entry);
        if (old)
            continue;
        entry->token.is_new = known < 0;
        entry->token.id = known >= 0 ? known : (int32_t)vocabulary->n;
        if (known < 0)
            ATTN_TRY(
                attn_vocabulary_add(vocabulary, entry->content, entry->size, entry->token.id, err));
        ATTN_TRY(list_entry(files, entry, err));
    }
    return index_new(files, n, path, err);
}

/* Whether a file names a token without an id that is new to the vocabulary. */
static bool has_new(const struct added_files *files)
{
    for (size_t i = files->n_listed; i < files->n; i++)
        if (!files->entries[i].is_of_class && find(files, &files->entries[i]) < 0)
            return true;
    return false;
}

/* Lists the token of role I; two roles may share a token. A token that no file names and the
 * vocabulary lacks only affects the ids of others, because models have no row for it; a text that
 * has it is refused. */
static enum attn_status list_role(struct added_files *files, size_t i, const char *path,
                                  struct attn_error *err)
{
    struct entry *entry = &files->entries[i];
    struct attn_token_role *role = entry->role;

    if (entry->is_of_class && !role->is_needed && find(files, entry) < 0 && !files->has_new)
        return attn_added_append(&files->tokenizer->absent, entry->token, entry->content,
                                 entry->size, err);
    if (role->is_needed && find(files, entry) < 0)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no '%s', the '%s' of its tokenizer",
                              attn_quote_string(files->tokenizer->unread->path).text,
                              attn_quote(entry->content, entry->size).text, role->key);
    ATTN_TRY(list_named(files, i, i + 1, path, err));
    role->id = find(files, entry);
    return ATTN_OK;
}

/* Reads the entries of all files, after special_tokens_map.json if it counts. */
static enum attn_status read_sources(struct added_files *files, struct attn_token_role *roles,
                                     struct attn_error *err)
{
    if (!files->decoder && attn_source_has_part(files->source, "special_tokens_map.json"))
        ATTN_TRY(
            attn_json_read_part(files->source, "special_tokens_map.json", NULL, &files->map, err));
    return read_entries(files, roles, err);
}

/* Reads all entries and lists them in the order in which new tokens get their ids. */
static enum attn_status read_all(struct added_files *files, struct attn_token_role *roles,
                                 struct attn_error *err)
{
    const char *config, *map;
    size_t n_id;

    ATTN_TRY(read_sources(files, roles, err));
    config = files->config ? attn_json_name(files->config) : NULL;
    map = files->map ? attn_json_name(files->map) : config;
    ATTN_TRY(add_listed(files, files->decoder ? config : files->file.path, err));
    ATTN_TRY(mark_listed(files, err));
    files->has_new = has_new(files);
    n_id = files->tokenizer->vocabulary.n;
    for (size_t id = 0; id < n_id; id++)
        if (files->by_id[id])
            ATTN_TRY(list_entry(files, files->by_id[id], err));
    for (size_t i = files->n_listed; i < files->n_role; i++)
        ATTN_TRY(list_role(files, i, config, err));
    ATTN_TRY(list_named(files, files->n_role, files->n_config, config, err));
    ATTN_TRY(list_named(files, files->n_config, files->n, map, err));
    return attn_added_mark_foreign(files->tokenizer, err);
}

/* --- Beside tokenizer.json -------------------------------------------------------------------- */

/* Returns the index of the added token with the content of ENTRY, or -1. */
static ptrdiff_t find_added(const struct attn_added *added, const struct entry *entry)
{
    for (size_t i = 0; i < added->n; i++)
        if (added->tokens[i].size == entry->size &&
            memcmp(attn_added_content(added, i), entry->content, entry->size) == 0)
            return (ptrdiff_t)i;
    return -1;
}

/* Whether a file names the content of ENTRY as that of a role. */
static bool has_role(const struct added_files *files, const struct entry *entry)
{
    for (size_t i = files->n_listed; i < files->n_role; i++)
        if (files->entries[i].size == entry->size &&
            memcmp(files->entries[i].content, entry->content, entry->size) == 0)
            return true;
    return false;
}

/* Adds ENTRY after the tokens so far; IS_LISTED if its file has an id, which must be that one. AT
 * is its index among the added tokens, or -1. */
static enum attn_status add_beside(struct added_files *files, struct entry *entry, bool is_listed,
                                   ptrdiff_t at, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &files->tokenizer->vocabulary;
    struct attn_added *added = &files->tokenizer->added;
    const int32_t known = at >= 0 ? added->tokens[at].id : find(files, entry);
    const int32_t id = known >= 0 ? known : (int32_t)vocabulary->n_key;
    const size_t n = vocabulary->n;

    if (is_listed ? entry->token.id != id : known < 0 && n != vocabulary->n_key)
        return attn_error_set(
            err, ATTN_FORMAT,
            "the token '%s' has id %d in files beside tokenizer.json, expected %d, %s",
            attn_quote(entry->content, entry->size).text, (int)(is_listed ? entry->token.id : -1),
            (int)id, known >= 0 ? "its id in tokenizer.json" : "the next one");
    entry->token.id = id;
    entry->token.is_new = known < 0;
    entry->token.is_special = entry->token.is_special || has_role(files, entry);
    if (at >= 0) {
        entry->token.begin = added->tokens[at].begin;
        entry->token.size = added->tokens[at].size;
        entry->token.is_new = added->tokens[at].is_new;
        added->tokens[at] = entry->token;
        return ATTN_OK;
    }
    if (known < 0)
        ATTN_TRY(attn_vocabulary_add(vocabulary, entry->content, entry->size, id, err));
    ATTN_TRY(attn_added_append(added, entry->token, entry->content, entry->size, err));
    return index_new(files, n, files->tokenizer->unread->path, err);
}

static int compare_ids(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    return (left->token.id > right->token.id) - (left->token.id < right->token.id);
}

static enum attn_status read_all_beside(struct added_files *files, struct attn_token_role *roles,
                                        struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = files->tokenizer;

    for (size_t i = 0; i < ATTN_CLASS_N_ROLE; i++)
        roles[i].is_needed = false;
    ATTN_TRY(read_sources(files, roles, err));
    ATTN_SORT(files->entries, files->n_listed, compare_ids);
    files->has_new = has_new(files);
    for (size_t i = 0; i < files->n; i++) {
        struct entry *entry = &files->entries[i];
        const ptrdiff_t at = find_added(&tokenizer->added, entry);

        if (i >= files->n_listed)
            entry->token.id = -1;
        if (at >= 0 && i >= files->n_listed) {
            entry->token.id = tokenizer->added.tokens[at].id;
            if (entry->is_of_class && entry->role->is_wide)
                tokenizer->added.tokens[at].strips_left = true;
        } else if (!entry->is_of_class || files->has_new || find(files, entry) >= 0)
            ATTN_TRY(add_beside(files, entry, i < files->n_listed, at, err));
        else
            ATTN_TRY(attn_added_append(&tokenizer->absent, entry->token, entry->content,
                                       entry->size, err));
        if (entry->role)
            entry->role->id = entry->token.id;
    }
    attn_free(tokenizer->is_foreign);
    tokenizer->is_foreign = NULL;
    return attn_added_mark_foreign(tokenizer, err);
}

enum attn_status attn_tokenizer_read_added(struct attn_tokenizer *tokenizer,
                                           const struct attn_source *source,
                                           const struct attn_json *config, bool is_beside,
                                           struct attn_token_role *roles, struct attn_error *err)
{
    struct added_files files = {.tokenizer = tokenizer, .source = source, .config = config};
    enum attn_status status;

    if (config)
        files.decoder = attn_node_find(attn_json_root(config), "added_tokens_decoder");
    if (files.decoder && attn_node_is_null(files.decoder))
        files.decoder = NULL;
    status = (is_beside ? read_all_beside : read_all)(&files, roles, err);
    attn_json_free(files.map);
    attn_file_release(&files.file);
    attn_vocabulary_release(&files.added);
    attn_free(files.entries);
    attn_free(files.by_id);
    return status;
}
