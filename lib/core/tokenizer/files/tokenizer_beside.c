/* tokenizer_beside.c - keys of tokenizer_config.json that stand beside a tokenizer.json. Some take
 * precedence over that file, in transformers 4.57 and 5.23. For others the versions differ: the
 * file is followed, and a note names the key. */
#include "tokenizer/tokenizer_internal.h"

#include "base/status_internal.h"

#include <string.h>

static const char config_name[] = "tokenizer_config.json"; /* for messages */

/* Whether a class, or the type of the model, may contradict tokenizer.json. */
static bool is_named(const struct attn_class *found)
{
    return found && (found->config || found->name);
}

static const char *word_of(bool value)
{
    return value ? "true" : "false";
}

/* Notes that the file has VALUE of KEY, and tokenizer_config.json, or the default of the class, the
 * other one. */
static enum attn_status note_value(struct attn_tokenizer *tokenizer, const struct attn_class *found,
                                   const char *key, bool value, struct attn_error *err)
{
    return attn_tokenizer_add_note(
        tokenizer, err, "'%s' is %s in %s%s; tokenizer.json has %s, and is followed", key,
        word_of(!value), attn_class_has(found, key) ? config_name : "transformers by default, for ",
        attn_class_has(found, key) ? ""
        : found->name              ? attn_quote_string(found->name).text
                                   : "",
        word_of(value));
}

enum attn_status attn_beside_prefix(struct attn_tokenizer *tokenizer, bool is_whole, bool is_bytes,
                                    bool *value, struct attn_error *err)
{
    static const char key[] = "add_prefix_space";
    const struct attn_class *found = tokenizer->settings.found;
    const unsigned traits = found && found->row ? found->row->traits : 0;
    bool wanted = traits & ATTN_CLASS_PREFIXED;

    if (!is_named(found))
        return ATTN_OK;
    ATTN_TRY(attn_class_get_bool(found, key, &wanted, err));
    /* Version 5 has the default of ATTN_CLASS_PREFIXED, version 4 has false. */
    if (wanted == *value && (attn_class_has(found, key) || !(traits & ATTN_CLASS_PREFIXED)))
        return ATTN_OK;
    if (attn_class_has(found, key) && is_bytes && is_whole && traits & ATTN_CLASS_OWN_SPACE)
        *value = wanted;
    else if (attn_class_has(found, key) || (is_bytes && is_whole))
        return note_value(tokenizer, found, key, *value, err);
    return ATTN_OK;
}

static const char *const word_keys[] = {"do_lower_case", "strip_accents", "tokenize_chinese_chars"};

/* Returns the first key of BERT's normalizer that tokenizer_config.json has, or NULL. */
static const char *find_word_key(const struct attn_class *found)
{
    for (size_t i = 0; i < 3; i++)
        if (attn_class_has(found, word_keys[i]))
            return word_keys[i];
    return NULL;
}

enum attn_status attn_beside_words(struct attn_tokenizer *tokenizer,
                                   struct attn_word_normalizer *normalizer, struct attn_error *err)
{
    const struct attn_class *found = tokenizer->settings.found;
    const bool is_words = found && found->row && found->row->form == ATTN_CLASS_WORDS;
    struct attn_word_normalizer own = *normalizer;

    if (!is_named(found) || (!is_words && !find_word_key(found)))
        return ATTN_OK;
    if (is_words)
        own.lowers = own.sets_apart = true;
    ATTN_TRY(attn_class_get_bool(found, word_keys[0], &own.lowers, err));
    if (is_words)
        own.strips_accents = own.lowers;
    ATTN_TRY(attn_class_get_bool(found, word_keys[1], &own.strips_accents, err));
    ATTN_TRY(attn_class_get_bool(found, word_keys[2], &own.sets_apart, err));
    if (is_words && find_word_key(found)) {
        *normalizer = own;
        return ATTN_OK;
    }
    if (own.lowers != normalizer->lowers)
        return note_value(tokenizer, found, word_keys[0], normalizer->lowers, err);
    if (own.strips_accents != normalizer->strips_accents)
        return note_value(tokenizer, found, word_keys[1], normalizer->strips_accents, err);
    return own.sets_apart != normalizer->sets_apart
               ? note_value(tokenizer, found, word_keys[2], normalizer->sets_apart, err)
               : ATTN_OK;
}

/* Whether TEMPLATE adds token ID before the text, or anywhere if IS_FRONT is false. */
static bool has_token(const struct attn_template *template, int32_t id, bool is_front)
{
    for (size_t i = 0; i < template->n; i++) {
        if (template->items[i].id == id)
            return true;
        if (is_front && template->items[i].id < 0)
            return false;
    }
    return false;
}

/* Returns the row whose tokens of texts a transformers takes instead of the file's; or NULL. */
static const struct attn_class_row *find_rule(const struct attn_class *found, bool has_post)
{
    const struct attn_class_row *row = found->row;

    if (!row || !row->single || (has_post && row->traits & ATTN_CLASS_FILE_ENDS))
        return NULL;
    if (row->traits & ATTN_CLASS_BEGINS)
        return attn_class_row("Llama");
    return strpbrk(row->single, "?~") ? NULL : row;
}

/* Compares the flags with the file, beside which transformers 5 does not read them. */
static enum attn_status compare_flags(struct attn_tokenizer *tokenizer,
                                      const struct attn_class *found,
                                      const struct attn_token_role *roles, struct attn_error *err)
{
    static const char *const keys[] = {"add_bos_token", "add_eos_token"};

    for (size_t i = 0; i < 2; i++) {
        const int32_t id = roles[i == 0 ? BOS_ROLE : EOS_ROLE].id;
        const bool is_there = id >= 0 && has_token(&tokenizer->post.single, id, i == 0);
        bool is_wanted = is_there;

        ATTN_TRY(attn_class_get_bool(found, keys[i], &is_wanted, err));
        if (is_wanted != is_there && id != -2)
            return note_value(tokenizer, found, keys[i], is_there, err);
    }
    return ATTN_OK;
}

/* Whether the template FILE, which is empty if it adds no tokens, equals TEMPLATE. */
static bool is_equal(const struct attn_template *file, const struct attn_template *template)
{
    bool is_equal = file->n == 0 || file->n == template->n;

    for (size_t i = 0; is_equal && i < template->n; i++)
        is_equal =
            file->n == 0 ? template->items[i].id < 0 : file->items[i].id == template->items[i].id;
    return is_equal;
}

/* Leaves out the tokens that the file adds to texts if the class takes none of them. */
static enum attn_status leave_ends_out(struct attn_tokenizer *tokenizer,
                                       const struct attn_class *found,
                                       const struct attn_token_role *roles, struct attn_error *err)
{
    static const struct attn_class_row bare = {.single = "A", .pair = "A B:1"};
    const struct attn_post_process file = tokenizer->post;

    if (!found->row || !(found->row->traits & ATTN_CLASS_BARE))
        return ATTN_OK;
    ATTN_TRY(attn_class_add_ends(found, &bare, roles, tokenizer, err));
    if (!is_equal(&file.single, &tokenizer->post.single))
        return attn_tokenizer_add_note(tokenizer, err,
                                       "tokenizer.json adds tokens to texts, left out as by %s",
                                       attn_quote_string(found->name).text);
    tokenizer->post = file;
    return ATTN_OK;
}

/* Compares the tokens that the file adds to texts with those of the class. */
static enum attn_status compare_ends(struct attn_tokenizer *tokenizer,
                                     const struct attn_class *found, bool has_post,
                                     const struct attn_token_role *roles, struct attn_error *err)
{
    static const char *const keys[] = {"language", "task", "predict_timestamps", "src_lang",
                                       "legacy_behaviour"};
    const struct attn_post_process file = tokenizer->post;
    const struct attn_class_row *row = find_rule(found, has_post);
    const bool has_flags = row && strchr(row->single, '?');
    const char *key = has_flags ? "add_bos_token' and 'add_eos_token" : NULL;
    const bool has_pair = row && row->pair && (has_flags || strstr(row->pair, "question"));
    enum attn_status status;
    bool is_right;

    if (!row)
        return ATTN_OK;
    status = attn_class_add_ends(found, row, roles, tokenizer, NULL);
    if (status == ATTN_NO_MEMORY)
        return attn_error_no_memory(err);
    is_right = status == ATTN_OK && is_equal(&file.single, &tokenizer->post.single) &&
               (!has_pair || !file.takes_pair || is_equal(&file.pair, &tokenizer->post.pair));
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !key; i++)
        key = attn_class_has(found, keys[i]) ? keys[i] : NULL;
    /* Both versions of transformers follow `src_lang` and `legacy_behaviour`. */
    if (!is_right && status == ATTN_OK && row->language && key)
        return ATTN_OK;
    tokenizer->post = file;
    if (is_right)
        return ATTN_OK;
    return attn_tokenizer_add_note(tokenizer, err,
                                   "tokenizer.json adds %s tokens around a text than %s of "
                                   "transformers%s%s%s, and is followed; "
                                   "`special_tokens off` leaves them out",
                                   has_post ? "other" : "fewer",
                                   attn_quote_string(found->name).text, key ? " by '" : "",
                                   key ? key : "", key ? "'" : "");
}

/* Notes a class whose rule transformers takes instead of the file, at least in version 5. */
static enum attn_status compare_class(struct attn_tokenizer *tokenizer,
                                      const struct attn_class *found, struct attn_error *err)
{
    const struct attn_class_row *row = found->row;
    const bool is_code = attn_class_has_code(found);
    const bool is_slow = row && row->form == ATTN_CLASS_SLOW;
    const bool is_refused = row && row->form == ATTN_CLASS_REFUSED;
    const bool is_words = row && row->form == ATTN_CLASS_WORDS;
    const bool is_pieces = row && row->form == ATTN_CLASS_PIECES;
    const bool is_merges = row && (row->form == ATTN_CLASS_BYTES || row->form == ATTN_CLASS_MERGES);
    const char *problem = is_code   ? "'auto_map' names code of its own, which is not run"
                          : is_slow ? "this class of transformers has files of its own"
                          : (is_words && tokenizer->kind != ATTN_TOKENIZER_WORDPIECE) ||
                                  (is_pieces && tokenizer->kind != ATTN_TOKENIZER_UNIGRAM) ||
                                  (is_refused && tokenizer->kind == ATTN_TOKENIZER_WORDPIECE &&
                                   row->tokens[UNK_ROLE]) ||
                                  (is_merges && tokenizer->kind != ATTN_TOKENIZER_BPE)
                              ? "its model is of another kind than that of the class"
                          : attn_class_is_made_anew(found)
                              ? "'tokenizer_file' is null, for which transformers makes it anew"
                          : is_words && !tokenizer->settings.has_words
                              ? "it has no BertNormalizer, which the class adds"
                              : NULL;

    return problem ? attn_tokenizer_add_note(
                         tokenizer, err, "tokenizer.json is followed, and not '%s': %s",
                         attn_quote_string(found->name ? found->name : config_name).text, problem)
                   : ATTN_OK;
}

enum attn_status attn_beside_finish(struct attn_tokenizer *tokenizer, bool has_post,
                                    const struct attn_token_role *roles, struct attn_error *err)
{
    const struct attn_class *found = tokenizer->settings.found;
    const char *note = tokenizer->note;

    if (!is_named(found))
        return ATTN_OK;
    /* Without tokenizer_config.json no token is named that the class could add. */
    if (!found->config && found->row && found->row->traits & ATTN_CLASS_BEGINS &&
        roles[BOS_ROLE].id < 0)
        return compare_class(tokenizer, found, err);
    ATTN_TRY(leave_ends_out(tokenizer, found, roles, err));
    if (tokenizer->note == note && !find_rule(found, has_post))
        ATTN_TRY(compare_flags(tokenizer, found, roles, err));
    note = tokenizer->note;
    ATTN_TRY(compare_class(tokenizer, found, err));
    return tokenizer->note != note ? ATTN_OK : compare_ends(tokenizer, found, has_post, roles, err);
}
