#include "tokenizer/tokenizer.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/utf8.h"
#include "formats/bundle.h"
#include "formats/json.h"
#include "formats/opener.h"
#include "tokenizer/chat_form.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <string.h>

/* --- Data that only encoding needs ------------------------------------------------------------ */

/* Computes the number of bytes of a piece that each token covers. A key of a byte-level vocabulary
 * has one character for each. */
static enum attn_status measure_tokens(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    uint32_t *widths;

    ATTN_TRY(ATTN_NEW(widths, attn_alloc_uninitialized(vocabulary->n, sizeof *widths, err)));
    tokenizer->bpe.widths = widths;
    for (size_t i = 0; i < vocabulary->n; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);

        widths[i] = (uint32_t)size;
        for (size_t k = 0; k < size && tokenizer->bpe.is_by_byte; k++)
            widths[i] -= ((unsigned char)key[k] & 0xc0) == 0x80;
    }
    return ATTN_OK;
}

static enum attn_status read_parts(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    ATTN_TRY(attn_vocabulary_index(&tokenizer->vocabulary, tokenizer->unread->path, err));
    tokenizer->bpe.is_foreign = tokenizer->is_foreign;
    tokenizer->wordpiece.is_foreign = tokenizer->is_foreign;
    tokenizer->unigram.is_foreign = tokenizer->is_foreign;
    tokenizer->words.is_foreign = tokenizer->is_foreign;
    if (tokenizer->kind == ATTN_TOKENIZER_BPE) {
        ATTN_TRY(measure_tokens(tokenizer, err));
        attn_bpe_model_finish(&tokenizer->bpe);
    } else if (tokenizer->kind == ATTN_TOKENIZER_WORDPIECE) {
        attn_wordpiece_model_finish(&tokenizer->wordpiece);
    } else if (tokenizer->kind == ATTN_TOKENIZER_UNIGRAM) {
        attn_unigram_model_finish(&tokenizer->unigram);
    } else {
        tokenizer->words.unk =
            attn_vocabulary_find_own(&tokenizer->vocabulary, tokenizer->is_foreign,
                                     tokenizer->settings.unk, tokenizer->settings.n_unk);
    }
    return tokenizer->unread->read ? tokenizer->unread->read(tokenizer, err) : ATTN_OK;
}

/* Whether STATUS does not depend on the files, so that another attempt may succeed. */
static bool is_temporary(enum attn_status status)
{
    return status == ATTN_NO_MEMORY || status == ATTN_CANCELED;
}

/* Reads the data that only encoding needs, unless another thread has read it. Tries again if memory
 * ran out or CANCEL was set. */
static enum attn_status read_once(struct attn_unread *unread, const volatile sig_atomic_t *cancel,
                                  bool *is_mine, struct attn_error *err)
{
    struct attn_bpe_model *bpe = &unread->tokenizer->bpe;
    enum attn_status status = ATTN_OK;

    attn_monitor_enter(unread->monitor);
    *is_mine = !atomic_load_explicit(&unread->is_over, memory_order_relaxed);
    unread->cancel = cancel;
    if (*is_mine)
        status = read_parts(unread->tokenizer, &unread->failure);
    if (status != ATTN_OK) {
        attn_merges_release(&bpe->merges);
        attn_free(bpe->widths);
        bpe->widths = NULL;
    }
    if (is_temporary(status)) {
        attn_error_copy(err, &unread->failure);
        unread->failure = (struct attn_error){0};
    } else if (*is_mine) {
        attn_file_release(&unread->file);
        atomic_store_explicit(&unread->is_over, true, memory_order_release);
    }
    attn_monitor_leave(unread->monitor);
    return status;
}

/* Makes TOKENIZER ready to encode. */
static enum attn_status read_rest(const struct attn_tokenizer *tokenizer,
                                  const volatile sig_atomic_t *cancel, struct attn_error *err)
{
    struct attn_unread *unread = tokenizer->unread;
    enum attn_status status = ATTN_OK;
    bool is_mine = false;

    if (!unread)
        return ATTN_OK;
    if (!atomic_load_explicit(&unread->is_over, memory_order_acquire))
        status = read_once(unread, cancel, &is_mine, err);
    if (is_temporary(status))
        return status;
    if (unread->failure.status != ATTN_OK)
        return attn_error_at(attn_error_copy(err, &unread->failure), ATTN_STAGE_MODEL, err);
    if (is_mine && tokenizer->note)
        attn_note(unread->on_note, unread->user, ATTN_NOTE_TOKENIZER, "%s", tokenizer->note);
    return ATTN_OK;
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* Whether SOURCE has a file of a vocabulary, or if IS_GIVEN, the caller named one. */
static bool has_vocabulary(const struct attn_source *source, bool is_given)
{
    static const char *const names[] = {
        "tokenizer.json",          "vocab.json", "vocab.txt",  "tokenizer.model", "spiece.model",
        "sentencepiece.bpe.model", "spm.model",  "source.spm", "target.spm"};
    bool has_any = false;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        has_any = has_any || (is_given ? attn_source_override(source, names[i]) != NULL
                                       : attn_source_has_part(source, names[i]));
    return has_any;
}

/* Refuses SOURCE if it has no file of a vocabulary or lacks one of ROW's; FOUND has its class. */
static enum attn_status check_files(const struct attn_source *source,
                                    const struct attn_class *found,
                                    const struct attn_class_row *row, struct attn_error *err)
{
    static const char *const files[ATTN_CLASS_SLOW + 1][2] = {
        [ATTN_CLASS_BYTES] = {"vocab.json", "merges.txt"},
        [ATTN_CLASS_WORDS] = {"vocab.txt"},
        [ATTN_CLASS_LETTERS] = {"vocab.txt"},
        [ATTN_CLASS_MERGES] = {"tokenizer.model"}};
    const struct attn_quote where =
        attn_quote_string(source->directory ? source->directory : source->name);
    const bool has_any = has_vocabulary(source, false);
    const struct attn_opener *opener = attn_opener_of(source);
    const char *first = row && row->file ? row->file : row ? files[row->form][0] : NULL;

    for (size_t i = 0; has_any && first && i < 2; i++) {
        const char *name = i == 0 ? first : files[row->form][1];

        if (name && !attn_source_has_part(source, name))
            return attn_error_set(err, ATTN_IO,
                                  "'%s' has no '%s', which the tokenizer of '%s' reads", where.text,
                                  name, attn_quote_string(found->name ? found->name : "").text);
    }
    if (has_any && (row || attn_source_has_part(source, "vocab.json")))
        return ATTN_OK;
    attn_error_set(err, ATTN_IO, "'%s' has no tokenizer, expected tokenizer.json%s", where.text,
                   attn_vocabularies ? ", vocab.json, vocab.txt or tokenizer.model"
                                     : " or vocab.json; readers of other files are not linked");
    if (opener && opener->vocabulary_hint)
        attn_error_hint(err, "%s", opener->vocabulary_hint);
    if (has_any)
        attn_error_hint(err, "transformers makes tokenizer.json of its files, if config.json or "
                             "tokenizer_config.json names their class: "
                             "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
    return ATTN_IO;
}

/* Reads TOKENIZER from the files of SOURCE by ROW. */
static enum attn_status read_row(struct attn_tokenizer *tokenizer, const struct attn_source *source,
                                 const struct attn_class *found, const struct attn_class_row *row,
                                 struct attn_error *err)
{
    if (attn_vocabularies && row && row->form < ATTN_CLASS_REFUSED && row->form != ATTN_CLASS_BYTES)
        return attn_vocabularies->read(tokenizer, source, found, row, err);
    return attn_tokenizer_files_read(tokenizer, source, found, err);
}

/* Reads TOKENIZER from the files of SOURCE, whose class is FOUND. A requested file is read as it
 * is, so a class for other files does not count. */
static enum attn_status read_by_class(struct attn_tokenizer *tokenizer,
                                      const struct attn_source *source, struct attn_class *found,
                                      struct attn_error *err)
{
    const bool is_given = has_vocabulary(source, true);
    const bool is_json_given = attn_source_override(source, "tokenizer.json");
    const bool is_words_given = attn_source_override(source, "vocab.txt");
    const bool is_pieces_given = attn_source_override(source, "tokenizer.model");
    const struct attn_class_row *row = found->row;

    if (is_given && row &&
        (is_words_given ? row->form != ATTN_CLASS_WORDS && row->form != ATTN_CLASS_LETTERS
         : is_pieces_given
             ? row->form != ATTN_CLASS_MERGES
             : row->form != ATTN_CLASS_BYTES || !attn_source_has_part(source, "merges.txt")))
        found->row = row = NULL;
    if (!row && (is_given ? is_words_given || is_pieces_given : !found->name) && attn_vocabularies)
        row = attn_vocabularies->guess(source);
    /* Marian's files take precedence, because transformers never reads its tokenizer.json. */
    if (is_json_given || (!is_given && attn_source_has_part(source, "tokenizer.json") &&
                          !(row && row->form == ATTN_CLASS_MARIAN)))
        return attn_tokenizer_json_read(tokenizer, source, found, err);
    if (!is_given && (found->is_class || has_vocabulary(source, false)))
        ATTN_TRY(attn_class_check(found, source, err));
    if (!is_given)
        ATTN_TRY(check_files(source, found, row, err));
    return read_row(tokenizer, source, found, row, err);
}

/* Adds notes about a key, and a file, that transformers follows. */
static enum attn_status add_notes(struct attn_tokenizer *tokenizer,
                                  const struct attn_source *source, const struct attn_class *found,
                                  struct attn_error *err)
{
    static const char key[] = "split_special_tokens", file[] = "tokenizer.model";
    bool is_set = false;

    ATTN_TRY(attn_class_get_bool(found, key, &is_set, err));
    if (is_set)
        ATTN_TRY(attn_tokenizer_add_note(tokenizer, err,
                                         "'%s' is true in tokenizer_config.json: `special text` "
                                         "does that, and special tokens are found without it",
                                         key));
    return found->row && found->row->form <= ATTN_CLASS_PIECES &&
                   attn_source_has_part(source, file) &&
                   !attn_source_has_part(source, "tokenizer.json")
               ? attn_tokenizer_add_note(tokenizer, err,
                                         "'%s' is not read, because '%s' has other files; "
                                         "transformers 5 reads it",
                                         file, attn_quote_string(found->name).text)
               : ATTN_OK;
}

static enum attn_status read_files(struct attn_tokenizer *tokenizer,
                                   const struct attn_source *source, struct attn_error *err)
{
    const bool is_given = has_vocabulary(source, true);
    struct attn_class found = {.row = NULL};
    enum attn_status status;

    /* Files next to a GGUF file may belong to another model, so only requested files take
     * precedence over its own tokenizer. */
    if (!is_given && attn_bundle_is_source(source)) {
        status = attn_bundles->read_vocabulary(tokenizer, source, err);
    } else {
        status = attn_class_find(&found, source, err);
        if (status == ATTN_OK && attn_vocabularies)
            status = attn_vocabularies->read_lowers(source, &tokenizer->added.lowers, err);
        ATTN_THEN(status, read_by_class(tokenizer, source, &found, err));
        ATTN_THEN(status, add_notes(tokenizer, source, &found, err));
    }
    if (status == ATTN_OK && !tokenizer->decoded.begin && !tokenizer->decoded.monitor)
        status = attn_decoded_prepare(&tokenizer->decoded, tokenizer, err);
    if (status == ATTN_OK && attn_talker)
        status = attn_talker->read_template(tokenizer, source, &found, err);
    attn_class_release(&found);
    if (is_given && attn_bundle_is_source(source))
        tokenizer->detail = "the tokenizer is the one that was given, not that of the GGUF file";
    return status;
}

/* Returns the reader of the vocabulary in SOURCE, a file of another program, unless files of a
 * usual one are there; else NULL. */
static const struct attn_opener *find_opener(const struct attn_source *source)
{
    for (const struct attn_opener *const *row = attn_openers; *row; row++)
        if ((*row)->is_vocabulary && (*row)->is_vocabulary(source))
            return *row;
    return NULL;
}

static enum attn_status read_foreign(struct attn_tokenizer *tokenizer,
                                     const struct attn_source *source,
                                     const struct attn_opener *opener, struct attn_error *err)
{
    struct attn_opened opened = {.note = NULL};
    enum attn_status status = opener->read(source, ATTN_MAP, &opened, err);

    ATTN_THEN(status, read_files(tokenizer, &opened.parts, err));
    if (status == ATTN_OK) /* nothing may be read from the blobs of OPENED later */
        status = read_rest(tokenizer, NULL, err);
    attn_opened_release(&opened);
    tokenizer->is_foreign_file = true;
    return status;
}

enum attn_status attn_tokenizer_open_lazily(const struct attn_source *source, attn_note_fn on_note,
                                            void *user, struct attn_tokenizer **out,
                                            struct attn_error *err)
{
    const struct attn_opener *opener = find_opener(source);
    struct attn_tokenizer *tokenizer;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(tokenizer, 1, err));
    status =
        opener ? read_foreign(tokenizer, source, opener, err) : read_files(tokenizer, source, err);
    if (status != ATTN_OK) {
        attn_tokenizer_free(tokenizer);
        return status;
    }
    if (source->name || source->directory)
        snprintf(tokenizer->name, sizeof tokenizer->name, "'%s'",
                 attn_quote_string(source->name ? source->name : source->directory).text);
    if (tokenizer->target)
        memcpy(tokenizer->target->name, tokenizer->name, sizeof tokenizer->name);
    if (attn_tokenizer_note(tokenizer))
        attn_note(on_note, user, ATTN_NOTE_TOKENIZER, "%s", tokenizer->note);
    if (tokenizer->unread) {
        tokenizer->unread->on_note = on_note;
        tokenizer->unread->user = user;
    }
    *out = tokenizer;
    return ATTN_OK;
}

enum attn_status attn_tokenizer_open(const struct attn_source *source, struct attn_tokenizer **out,
                                     struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = NULL;

    if (!attn_is_given(source, "source", err) || !attn_is_given(out, "tokenizer", err) ||
        !ATTN_IS_KNOWN(source->later, "source", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_tokenizer_open_lazily(source, NULL, NULL, &tokenizer, err));
    ATTN_RETURN_MADE(read_rest(tokenizer, NULL, err), out, tokenizer, attn_tokenizer_free);
}

static void free_side(struct attn_tokenizer *tokenizer)
{
    struct attn_unread *unread = tokenizer ? tokenizer->unread : NULL;

    if (!tokenizer)
        return;
    attn_free(tokenizer->settings.drop);
    attn_free(tokenizer->settings.unk);
    attn_free(tokenizer->settings.bos);
    attn_free(tokenizer->mask_text);
    attn_vocabulary_release(&tokenizer->vocabulary);
    attn_added_release(&tokenizer->added);
    attn_added_release(&tokenizer->absent);
    attn_free(tokenizer->is_foreign);
    attn_bpe_model_release(&tokenizer->bpe);
    attn_wordpiece_model_release(&tokenizer->wordpiece);
    attn_unigram_model_release(&tokenizer->unigram);
    attn_vocabulary_release(&tokenizer->pieces);
    attn_vocabulary_release(&tokenizer->users);
    attn_pipeline_release(&tokenizer->pipeline);
    attn_decode_release(&tokenizer->decoder);
    attn_free(tokenizer->is_added);
    attn_free(tokenizer->is_special);
    attn_free(tokenizer->is_wide);
    attn_decoded_release(&tokenizer->decoded);
    attn_free(tokenizer->note);
    attn_free(tokenizer->chat.text);
    attn_buffer_release(&tokenizer->chat.tokens);
    if (tokenizer->bundle)
        attn_bundles->free(tokenizer->bundle);
    if (unread) {
        attn_monitor_free(unread->monitor);
        attn_file_release(&unread->file);
        attn_free(unread->path);
        attn_free(unread);
    }
    attn_free(tokenizer);
}

void attn_tokenizer_free(struct attn_tokenizer *tokenizer)
{
    if (tokenizer)
        free_side(tokenizer->target);
    free_side(tokenizer);
}

const struct attn_tokenizer *attn_tokenizer_target(const struct attn_tokenizer *tokenizer)
{
    return tokenizer && tokenizer->target ? tokenizer->target : tokenizer;
}

enum attn_tokenizer_kind attn_tokenizer_kind(const struct attn_tokenizer *tokenizer)
{
    return tokenizer->kind;
}

size_t attn_tokenizer_n_vocab(const struct attn_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->vocabulary.n : 0;
}

const struct attn_chat_template *attn_tokenizer_chat(const struct attn_tokenizer *tokenizer)
{
    static const struct attn_chat_template none;

    return tokenizer ? &tokenizer->chat : &none;
}

const char *attn_tokenizer_note(const struct attn_tokenizer *tokenizer)
{
    const struct attn_unread *unread = tokenizer ? tokenizer->unread : NULL;

    if (!tokenizer || (unread && !atomic_load_explicit(&unread->is_over, memory_order_acquire)))
        return NULL;
    return tokenizer->note;
}

const char *attn_tokenizer_detail(const struct attn_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->detail : NULL;
}

/* --- Encoding --------------------------------------------------------------------------------- */

/* A text to encode. */
struct given_text {
    const char *text; /* [size] */
    size_t size;
    const char *name; /* name in messages */
};

/* Checks that the text is UTF-8, or that OPTIONS allow malformed bytes. */
static enum attn_status check_text(const struct attn_tokenizer *tokenizer,
                                   const struct given_text *given,
                                   struct attn_encode_options *options, struct attn_error *err)
{
    const size_t size = given->size, n_valid = attn_utf8_valid_length(given->text, size);
    /* In byte-level BPE every byte has a token. */
    const bool takes_bytes = tokenizer->kind == ATTN_TOKENIZER_BPE && tokenizer->bpe.is_by_byte;

    if (n_valid == size)
        options->invalid = ATTN_INVALID_TEXT_REFUSE; /* valid text needs no repair */
    else if (options->invalid == ATTN_INVALID_TEXT_REFUSE)
        return attn_error_set(err, ATTN_INVALID, "the %s is not UTF-8 at byte %zu: found '%s'",
                              given->name, n_valid, attn_quote(given->text + n_valid, 1).text);
    else if (options->invalid == ATTN_INVALID_TEXT_BYTES && !takes_bytes)
        return attn_error_set(err, ATTN_INVALID,
                              "the %s is not UTF-8 at byte %zu, and only a byte-level BPE can "
                              "encode bytes",
                              given->name, n_valid);
    return ATTN_OK;
}

/* Refuses a text with a token of the class that the vocabulary lacks. transformers gives it an id
 * for which the model has no row. */
static enum attn_status check_absent(const struct attn_tokenizer *tokenizer,
                                     const struct given_text *given, struct attn_error *err)
{
    const struct attn_added *absent = &tokenizer->absent;

    for (size_t i = 0; i < absent->n && given->text; i++)
        if (memmem(given->text, given->size, attn_added_content(absent, i), absent->tokens[i].size))
            return attn_error_set(
                err, ATTN_INVALID,
                "the %s has the token '%s' of the tokenizer's class, which the vocabulary lacks",
                given->name,
                attn_quote(attn_added_content(absent, i), absent->tokens[i].size).text);
    return ATTN_OK;
}

/* Appends the tokens of a text, with offsets in it. */
static enum attn_status encode_text(const struct attn_tokenizer *tokenizer,
                                    const struct given_text *given,
                                    const struct attn_encode_options *options,
                                    struct attn_encoding *encoding, struct attn_error *err)
{
    struct attn_encode_options own = *options;
    const size_t first = encoding->n;
    enum attn_status status;

    ATTN_TRY(check_text(tokenizer, given, &own, err));
    if (own.special != ATTN_SPECIAL_TEXT && given->size > 0)
        ATTN_TRY(check_absent(tokenizer, given, err));
    status =
        attn_pipeline_encode(&tokenizer->pipeline, given->text, given->size, &own, encoding, err);
    if (*tokenizer->name) /* an ATTN_INVALID is about the vocabulary, maybe of one of two models */
        attn_error_under(status, tokenizer->name, err);
    ATTN_TRY(status);
    if (tokenizer->post.trims)
        attn_post_process_trim(&tokenizer->post, tokenizer, given->text, first, encoding);
    return ATTN_OK;
}

/* Appends ITEM of a template: a special token, or the tokens of one of TEXTS. */
static enum attn_status append_item(const struct attn_tokenizer *tokenizer,
                                    const struct attn_template_item *item,
                                    const struct given_text texts[2],
                                    const struct attn_encode_options *options,
                                    struct attn_encoding *encoding, struct attn_error *err)
{
    const bool is_pair = item->id == ATTN_TEMPLATE_PAIR, is_added = item->id >= 0;
    const size_t first = encoding->n;

    if (!is_added)
        ATTN_TRY(encode_text(tokenizer, &texts[is_pair], options, encoding, err));
    else if (options->special_tokens != ATTN_SPECIAL_TOKENS_OFF)
        ATTN_TRY(attn_encoding_push(encoding, item->id, 0, 0, err));
    for (size_t i = first; i < encoding->n; i++) {
        encoding->types[i] = item->type;
        encoding->texts[i] = is_added  ? ATTN_TEXT_NONE
                             : is_pair ? ATTN_TEXT_SECOND
                                       : ATTN_TEXT_FIRST;
    }
    return ATTN_OK;
}

static enum attn_status encode(const struct attn_tokenizer *tokenizer,
                               const struct given_text texts[2],
                               const struct attn_encode_options *options,
                               struct attn_encoding *encoding, struct attn_error *err)
{
    const bool is_pair = texts[1].text;
    const struct attn_template *template = attn_post_process_template(&tokenizer->post, is_pair);
    const struct attn_template_item start = {tokenizer->chat.start - 1, 0};
    const bool has_start = options->special_tokens == ATTN_SPECIAL_TOKENS_BOS &&
                           (start.id < 0 || template->items[0].id != start.id);

    if (has_start && start.id < 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`special_tokens` is bos, and the files of %s have no 'bos_token_id'",
                           *tokenizer->name ? tokenizer->name : "the tokenizer");
    if (is_pair && !tokenizer->post.takes_pair)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the tokenizer does not say how two texts are put together");
    ATTN_TRY(read_rest(tokenizer, options->cancel, err));
    if (has_start)
        ATTN_TRY(append_item(tokenizer, &start, texts, options, encoding, err));
    for (size_t i = 0; i < template->n; i++)
        ATTN_TRY(append_item(tokenizer, &template->items[i], texts, options, encoding, err));
    if (options->special_tokens == ATTN_SPECIAL_TOKENS_OFF)
        return ATTN_OK;
    while (template->items[encoding->n_front].id >= 0)
        encoding->n_front++;
    encoding->n_front += has_start;
    while (template->items[template->n - 1 - encoding->n_back].id >= 0)
        encoding->n_back++;
    return ATTN_OK;
}

enum attn_status attn_tokenizer_encode(const struct attn_tokenizer *tokenizer, const char *text,
                                       size_t size, const struct attn_encode_options *given,
                                       struct attn_encoding *encoding, struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct given_text texts[2] = {{text, size, "text"}, {.name = "pair"}};
    enum attn_status status;

    ATTN_NEED(err, tokenizer, encoding);
    if (size > 0 && !attn_is_given(text, "text", err))
        return ATTN_INVALID;
    encoding->n = encoding->n_front = encoding->n_back = 0;
    ATTN_TRY(attn_options_read(given, &options, err));
    texts[1].text = options.pair;
    texts[1].size = options.n_pair;
    status = encode(tokenizer, texts, &options, encoding, err);
    if (status != ATTN_OK)
        encoding->n = encoding->n_front = encoding->n_back = 0;
    return status;
}

/* Notes that at least half of the tokens of a text are unknown: the model reads hardly any of it.
 */
static void note_unknown(const struct attn_encoding *encoding,
                         const struct attn_tokenizer *tokenizer, struct attn_notes notes)
{
    const size_t begin = encoding->n_front, end = encoding->n - encoding->n_back;
    size_t n = 0, size = 0;
    const char *key = NULL;

    for (size_t i = begin; i < end; i++) {
        const bool is_unknown = attn_tokenizer_is_unknown(tokenizer, encoding->ids[i]) &&
                                encoding->texts[i] != ATTN_TEXT_NONE;

        n += is_unknown;
        key = is_unknown ? attn_tokenizer_key(tokenizer, encoding->ids[i], &size) : key;
    }
    if (key && n >= end - begin - n)
        attn_note(notes.on_note, notes.user, ATTN_NOTE_UNKNOWN,
                  "%zu of %zu tokens %s %s: the vocabulary has no token for their text", n,
                  end - begin, n == 1 ? "is" : "are", attn_quote(key, size).text);
}

void attn_encoding_note(const struct attn_encoding *encoding,
                        const struct attn_tokenizer *tokenizer, struct attn_notes notes)
{
    const size_t text_end = encoding->n - encoding->n_back;
    /* a token of the text, and the tokens beside it that were added */
    const struct {
        size_t at, begin, end;
        const char *name;
    } sides[] = {{encoding->n_front, 0, encoding->n_front, "in front"},
                 {text_end - 1, text_end, encoding->n, "at the end"}};

    if (encoding->n_front >= text_end)
        return;
    note_unknown(encoding, tokenizer, notes);
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        const int32_t id = encoding->ids[sides[s].at];
        size_t i = sides[s].begin, size = 0;
        const char *key = attn_tokenizer_key(tokenizer, id, &size);

        while (i < sides[s].end && encoding->ids[i] != id)
            i++;
        if (i < sides[s].end && key && encoding->texts[sides[s].at] != ATTN_TEXT_NONE)
            attn_note(notes.on_note, notes.user, ATTN_NOTE_TWICE,
                      "two %s %s: the text has one and the tokenizer adds one; "
                      "`special_tokens off` leaves its own out",
                      attn_quote(key, size).text, sides[s].name);
    }
}

/* --- Tokens and decoding ---------------------------------------------------------------------- */

const char *attn_tokenizer_token(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size)
{
    size_t own;

    size = size ? size : &own;
    if (!tokenizer || !attn_vocabulary_has(&tokenizer->vocabulary, id)) {
        *size = 0;
        return NULL;
    }
    return attn_decoded_find(tokenizer, id, size);
}

bool attn_tokenizer_is_special(const struct attn_tokenizer *tokenizer, int32_t id)
{
    return tokenizer && attn_vocabulary_has(&tokenizer->vocabulary, id) &&
           tokenizer->is_special[id];
}

bool attn_tokenizer_is_unknown(const struct attn_tokenizer *tokenizer, int32_t id)
{
    switch (tokenizer->kind) {
    case ATTN_TOKENIZER_BPE:
        return tokenizer->bpe.unk && id == tokenizer->bpe.unk_id;
    case ATTN_TOKENIZER_WORDPIECE:
        return id == tokenizer->wordpiece.unk_id;
    case ATTN_TOKENIZER_UNIGRAM:
        return id ==
               (tokenizer->unigram.ids ? tokenizer->unigram.ids_unk : tokenizer->unigram.unk_id);
    case ATTN_TOKENIZER_WORD:
    case ATTN_TOKENIZER_CHARACTER:
        break;
    }
    return id == tokenizer->words.unk;
}

/* Decodes N ids. STRINGS receives their text as a single string. */
static enum attn_status decode(const struct attn_tokenizer *tokenizer, const int32_t *ids, size_t n,
                               struct attn_strings *strings, struct attn_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t size = 0;
        const char *token = tokenizer->keeps_bytes ? attn_tokenizer_token(tokenizer, ids[i], &size)
                                                   : attn_tokenizer_key(tokenizer, ids[i], &size);

        if (token)
            attn_strings_append(strings, token, size);
        else if (!tokenizer->skips_unknown_ids || ids[i] < 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "id %d at position %zu is not in the vocabulary, expected 0..%zu",
                                  (int)ids[i], i, tokenizer->vocabulary.n - 1);
    }
    ATTN_TRY(attn_decode_run(&tokenizer->decoder, strings, err));
    (void)attn_buffer_string(&strings->bytes);
    return attn_buffer_check(&strings->bytes, err);
}

enum attn_status attn_tokenizer_decode(const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                       size_t n, char **text, size_t *size, struct attn_error *err)
{
    struct attn_strings strings = {0};
    enum attn_status status;

    if (!attn_is_given(tokenizer, "tokenizer", err) || (n > 0 && !attn_is_given(ids, "ids", err)) ||
        !attn_is_given(text, "text", err) || !attn_is_given(size, "size", err))
        return ATTN_INVALID;
    status = decode(tokenizer, ids, n, &strings, err);
    if (status == ATTN_OK) {
        *text = strings.bytes.data; /* takes over the buffer's memory */
        *size = strings.bytes.size;
        strings.bytes = (struct attn_buffer){0};
    }
    attn_strings_release(&strings);
    return status;
}

void attn_tokenizer_text_free(char *text)
{
    attn_free(text);
}

/* --- The mask token --------------------------------------------------------------------------- */

/* `mask_token` in tokenizer_config.json or, in older directories, special_tokens_map.json: a
 * string, or an object with "content". */
static const char mask_key[] = "mask_token";

/* Reads the mask token of JSON into *token, borrowed; *token stays NULL if there is none. */
static enum attn_status find_token(const struct attn_json *json, const char **token,
                                   struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(attn_json_root(json), mask_key);

    if (node && attn_node_is_object(node))
        node = attn_node_find(node, "content");
    if (!node || attn_node_is_null(node))
        return ATTN_OK;
    *token = attn_node_string(node);
    if (*token && **token)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, mask_key, "is not a token");
}

/* Returns the id of TOKEN, or -1. Searches the added tokens first, where a mask token usually is,
 * because the vocabulary is not indexed yet. */
static int32_t find_id(const struct attn_tokenizer *tokenizer, const char *token)
{
    const struct attn_added *added = &tokenizer->added;
    const size_t size = strlen(token);

    for (size_t i = 0; i < added->n; i++)
        if (added->tokens[i].size == size && memcmp(attn_added_content(added, i), token, size) == 0)
            return added->tokens[i].id;
    for (size_t i = 0; i < tokenizer->vocabulary.n; i++) {
        size_t n = 0;
        const char *key = attn_tokenizer_key(tokenizer, (int32_t)i, &n);

        if (key && n == size && memcmp(key, token, size) == 0)
            return (int32_t)i;
    }
    return -1;
}

static enum attn_status take_token(struct attn_tokenizer *tokenizer, const char *token,
                                   struct attn_error *err)
{
    const int32_t id = find_id(tokenizer, token);

    if (id < 0)
        return ATTN_OK;
    tokenizer->mask_text = attn_strndup(token, strlen(token), err);
    tokenizer->mask_id = id;
    return tokenizer->mask_text ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status read_part(struct attn_tokenizer *tokenizer,
                                  const struct attn_source *source, const char *name,
                                  struct attn_error *err)
{
    const char *const names[] = {mask_key, NULL};
    struct attn_json *json = NULL;
    const char *token = NULL;
    enum attn_status status;

    if (tokenizer->mask_text || !attn_source_has_part(source, name))
        return ATTN_OK;
    ATTN_TRY(attn_json_read_part(source, name, names, &json, err));
    status = find_token(json, &token, err);
    if (status == ATTN_OK && token)
        status = take_token(tokenizer, token, err);
    attn_json_free(json);
    return status;
}

enum attn_status attn_tokenizer_read_mask(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err)
{
    ATTN_TRY(read_part(tokenizer, source, "tokenizer_config.json", err));
    return read_part(tokenizer, source, "special_tokens_map.json", err);
}
