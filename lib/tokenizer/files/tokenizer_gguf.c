/*
 * tokenizer_gguf.c - the tokenizer in the metadata of a GGUF file.
 *
 * Type `gpt2` is byte-level BPE. The file names a split rule; the rules are defined here in the
 * form of the library tokenizers. Type `llama` is SentencePiece's BPE without a list of merges
 * (tokenizer_scores.c).
 *
 * Traps: llama.cpp omits the normal form NFC, so that decomposed texts get other ids than from the
 * model's own tokenizer; here NFC is applied. Files converted without tokenizer.model have the same
 * score for every token.
 */
#include "tokenizer/tokenizer_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/gguf.h"
#include "tokenizer/stages/stages_internal.h"

#include <math.h>
#include <string.h>

#define KEY(name) "tokenizer.ggml." name

/* Types of tokens (llama.h `llama_token_type`). */
enum token_type { TYPE_NORMAL = 1, TYPE_UNKNOWN, TYPE_CONTROL, TYPE_USER, TYPE_UNUSED, TYPE_BYTE };

/* --- Parts in the form of tokenizer.json ------------------------------------------------------ */

#define NFC "{\"type\": \"NFC\"}"
#define SEQUENCE(list) "{\"type\": \"Sequence\", \"pretokenizers\": [" list "]}"
#define BYTE_LEVEL(use_regex)                                                                      \
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": false, "             \
    "\"use_regex\": " use_regex "}"
#define SPLIT(pattern)                                                                             \
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"" pattern                                    \
    "\"}, \"behavior\": \"Isolated\", "                                                            \
    "\"invert\": false}"

/* The pattern of tiktoken's cl100k_base. DIGITS, LETTER and OTHER are the parts in which its
 * variants differ. */
#define PATTERN(digits, letter, other)                                                             \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?" letter "+|" digits "| ?" other   \
    "+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define LETTER "\\\\p{L}"
#define OTHER "[^\\\\s\\\\p{L}\\\\p{N}]"
#define CL100K SEQUENCE(SPLIT(PATTERN("\\\\p{N}{1,3}", LETTER, OTHER)) ", " BYTE_LEVEL("false"))
#define QWEN2 SEQUENCE(SPLIT(PATTERN("\\\\p{N}", LETTER, OTHER)) ", " BYTE_LEVEL("false"))
#define QWEN35                                                                                     \
    SEQUENCE(SPLIT(PATTERN("\\\\p{N}", "[\\\\p{L}\\\\p{M}]",                                       \
                           "[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}]")) ", " BYTE_LEVEL("false"))
#define DIGITS SEQUENCE("{\"type\": \"Digits\", \"individual_digits\": true}, " BYTE_LEVEL("true"))

/* The rules for splitting texts, by the name in `tokenizer.ggml.pre`. */
static const struct split_rule {
    const char *name;
    const char *normalizer; /* or NULL */
    const char *pre_tokenizer;
    bool takes_whole_pieces, has_bos; /* by default, BOS is added */
} split_rules[] = {
    {.name = "gpt-2", .pre_tokenizer = BYTE_LEVEL("true")},
    {.name = "phi-2", .pre_tokenizer = BYTE_LEVEL("true")},
    {.name = "olmo", .normalizer = NFC, .pre_tokenizer = BYTE_LEVEL("true")},
    {.name = "mpt", .normalizer = NFC, .pre_tokenizer = BYTE_LEVEL("true")},
    {.name = "smollm", .pre_tokenizer = DIGITS},
    {.name = "starcoder", .pre_tokenizer = DIGITS},
    {.name = "refact", .pre_tokenizer = DIGITS},
    {.name = "codeshell", .pre_tokenizer = DIGITS},
    {.name = "llama-bpe", .pre_tokenizer = CL100K, .takes_whole_pieces = true, .has_bos = true},
    {.name = "llama3", .pre_tokenizer = CL100K, .takes_whole_pieces = true, .has_bos = true},
    {.name = "llama-v3", .pre_tokenizer = CL100K, .takes_whole_pieces = true, .has_bos = true},
    {.name = "dbrx", .pre_tokenizer = CL100K},
    {.name = "smaug-bpe", .pre_tokenizer = CL100K},
    {.name = "qwen2", .normalizer = NFC, .pre_tokenizer = QWEN2},
    {.name = "deepseek-r1-qwen", .normalizer = NFC, .pre_tokenizer = QWEN2},
    {.name = "qwen35", .normalizer = NFC, .pre_tokenizer = QWEN35},
};

static const char byte_decoder[] = BYTE_LEVEL("true");

#define SPACE "\xe2\x96\x81" /* U+2581 */
#define REPLACE(from, to)                                                                          \
    "{\"type\": \"Replace\", \"pattern\": {\"String\": \"" from "\"}, \"content\": \"" to "\"}"

static const char sentence_normalizer[] = REPLACE(" ", SPACE);
static const char prefixed_normalizer[] =
    "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Prepend\", \"prepend\": \"" SPACE
    "\"}, " REPLACE(" ", SPACE) "]}";

#define SENTENCE_DECODERS REPLACE(SPACE, " ") ", {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}"
static const char sentence_decoder[] =
    "{\"type\": \"Sequence\", \"decoders\": [" SENTENCE_DECODERS "]}";
static const char prefixed_decoder[] =
    "{\"type\": \"Sequence\", \"decoders\": [" SENTENCE_DECODERS
    ", {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}]}";

/* --- Reading ---------------------------------------------------------------------------------- */

/* The state of reading one tokenizer. */
struct gguf_reader {
    struct attn_tokenizer *tokenizer;
    const struct attn_gguf *gguf;
    const char *path; /* quoted, for messages */
    size_t n;         /* number of tokens */
};

static enum attn_status hint_vocab(enum attn_status status, struct attn_error *err)
{
    attn_error_hint(err, "`vocab tokenizer.json` takes the tokenizer of the model's own directory");
    return status;
}

/* Gets the array KEY of TYPE, which must have one item per token, or may be missing. */
static enum attn_status get_list(const struct gguf_reader *reader, const char *key,
                                 enum attn_gguf_type type, struct attn_gguf_pair *list,
                                 struct attn_error *err)
{
    ATTN_TRY(attn_gguf_get_array(reader->gguf, key, type, list, err));
    if (list->n == reader->n || !list->is_array)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' in '%s' has %zu items, expected %zu, one per token", key,
                          reader->path, (size_t)list->n, reader->n);
}

static bool equals(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

/* Adds all tokens to the vocabulary, and reads their types. */
static enum attn_status read_tokens(struct gguf_reader *reader, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reader->tokenizer;
    struct attn_gguf_pair tokens, types;
    struct attn_tensor_entry embed;
    const char *text;
    size_t size;

    ATTN_TRY(attn_gguf_get_array(reader->gguf, KEY("tokens"), ATTN_GGUF_STRING, &tokens, err));
    reader->n = (size_t)tokens.n;
    if (reader->n == 0 || reader->n > INT32_MAX)
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' has %zu items, expected the tokens",
                              KEY("tokens"), reader->path, reader->n);
    if (attn_tensor_files_find(attn_gguf_files(reader->gguf), "token_embd.weight", &embed) &&
        embed.tensor.rank == 2 && embed.tensor.shape[0] < reader->n)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' in '%s' has %zu items, expected at most %zu, the rows of "
                              "'token_embd.weight'",
                              KEY("tokens"), reader->path, reader->n, embed.tensor.shape[0]);
    ATTN_TRY(get_list(reader, KEY("token_type"), ATTN_GGUF_I32, &types, err));
    ATTN_TRY(ATTN_ALLOC(tokenizer->is_foreign, reader->n, err));
    for (size_t i = 0; attn_gguf_next_text(&tokens, &text, &size); i++) {
        struct attn_added_token added = {.id = (int32_t)i};
        int64_t type = TYPE_NORMAL;

        attn_gguf_next_int(&types, &type);
        if (type < TYPE_NORMAL || type > TYPE_BYTE)
            return attn_error_set(
                err, ATTN_FORMAT, "item %zu of '%s' in '%s' is %lld, expected a type from %d to %d",
                i, KEY("token_type"), reader->path, (long long)type, TYPE_NORMAL, TYPE_BYTE);
        tokenizer->is_foreign[i] = type != TYPE_NORMAL && type != TYPE_UNKNOWN && type != TYPE_BYTE;
        if (size == 0)
            continue;
        ATTN_TRY(attn_vocabulary_add(&tokenizer->vocabulary, text, size, (int32_t)i, err));
        added.is_special = type == TYPE_CONTROL || type == TYPE_UNKNOWN;
        if (added.is_special || type == TYPE_USER)
            ATTN_TRY(attn_added_append(&tokenizer->added, added, text, size, err));
    }
    return attn_vocabulary_finish(&tokenizer->vocabulary, tokenizer->unread->path, true, err);
}

/* --- Merges ----------------------------------------------------------------------------------- */

static enum attn_status read_merges(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    struct attn_bpe_model *model = &tokenizer->bpe;
    struct attn_buffer joined = {0};
    struct attn_merge merge = {.merged = -1};
    struct attn_gguf_pair list;
    enum attn_status status;
    const char *text;
    size_t size;

    ATTN_TRY(attn_gguf_get_array(tokenizer->gguf, KEY("merges"), ATTN_GGUF_STRING, &list, err));
    if (list.n == 0)
        return hint_vocab(
            attn_error_set(err, ATTN_UNSUPPORTED,
                           "'%s' in '%s' is missing or empty, and no text can be merged without",
                           KEY("merges"), attn_quote_string(tokenizer->unread->path).text),
            err);
    status = attn_merges_allocate(&model->merges, (size_t)list.n, tokenizer->unread->path, err);
    for (size_t i = 0; status == ATTN_OK && attn_gguf_next_text(&list, &text, &size); i++) {
        const char *space = size > 2 ? memchr(text + 1, ' ', size - 2) : NULL;
        struct attn_merge_keys keys = {.left = text};

        if (space) {
            keys.n_left = (size_t)(space - text);
            keys.right = space + 1, keys.n_right = size - keys.n_left - 1;
            status = attn_merges_find(model->vocabulary, &keys, &joined, &merge, err);
        }
        if (status == ATTN_OK && (!space || merge.left < 0 || merge.right < 0 || merge.merged < 0))
            status =
                attn_error_set(err, ATTN_FORMAT,
                               "item %zu of '%s' in '%s' is '%s', expected two tokens that "
                               "make a third",
                               i, KEY("merges"), attn_quote_string(tokenizer->unread->path).text,
                               attn_quote(text, size).text);
        if (status == ATTN_OK)
            attn_merges_add(&model->merges, &merge, true);
    }
    attn_buffer_release(&joined);
    return status;
}

/* Collects the tokens of type NORMAL with their scores. */
static enum attn_status find_scored(const struct attn_tokenizer *tokenizer,
                                    struct attn_scored *tokens, size_t *n, struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    struct attn_gguf_pair scores, types;

    ATTN_TRY(attn_gguf_get_array(tokenizer->gguf, KEY("scores"), ATTN_GGUF_F32, &scores, err));
    ATTN_TRY(attn_gguf_get_array(tokenizer->gguf, KEY("token_type"), ATTN_GGUF_I32, &types, err));
    for (size_t i = 0; i < vocabulary->n; i++) {
        int64_t type = TYPE_NORMAL;
        double score = 0;

        attn_gguf_next_real(&scores, &score);
        attn_gguf_next_int(&types, &type);
        if (type == TYPE_NORMAL && attn_vocabulary_has(vocabulary, (int32_t)i))
            tokens[(*n)++] = (struct attn_scored){(float)score, (int32_t)i};
    }
    return ATTN_OK;
}

static enum attn_status read_scores(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    struct attn_scored *tokens = NULL;
    enum attn_status status;
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(tokens, tokenizer->vocabulary.n, err));
    status = find_scored(tokenizer, tokens, &n, err);
    if (status == ATTN_OK)
        status = attn_scored_merge(tokenizer, tokens, n, err);
    attn_free(tokens);
    return status;
}

/* Checks that scores are finite, and not all equal. */
static enum attn_status check_scores(const struct gguf_reader *reader, struct attn_error *err)
{
    struct attn_gguf_pair scores, types;
    double score, first = (double)NAN;
    bool differ = false;

    ATTN_TRY(get_list(reader, KEY("scores"), ATTN_GGUF_F32, &scores, err));
    ATTN_TRY(get_list(reader, KEY("token_type"), ATTN_GGUF_I32, &types, err));
    for (size_t i = 0; attn_gguf_next_real(&scores, &score); i++) {
        int64_t type = TYPE_NORMAL;

        attn_gguf_next_int(&types, &type);
        if (!isfinite(score))
            return attn_error_set(err, ATTN_FORMAT,
                                  "item %zu of '%s' in '%s' is not finite, expected a score", i,
                                  KEY("scores"), reader->path);
        if (type != TYPE_NORMAL)
            continue;
        differ = differ || score < first || score > first;
        first = isnan(first) ? score : first;
    }
    if (differ)
        return ATTN_OK;
    return hint_vocab(
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' in '%s' has one score for all tokens, and no text can be "
                       "split by it",
                       KEY("scores"), reader->path),
        err);
}

/* --- The parts -------------------------------------------------------------------------------- */

/* Adds the token whose id KEY gives, before the text if IS_FRONT, else after it. IS_ADDED is the
 * default of the flag at ADD_KEY. */
static enum attn_status add_end(const struct gguf_reader *reader, const char *id_key,
                                const char *add_key, bool is_added, bool is_front,
                                struct attn_error *err)
{
    struct attn_template added = {.n = 2};
    size_t id = SIZE_MAX;

    ATTN_TRY(attn_gguf_get_bool(reader->gguf, add_key, &is_added, err));
    if (!is_added)
        return ATTN_OK;
    ATTN_TRY(attn_gguf_get_size(reader->gguf, id_key, &id, err));
    if (id == SIZE_MAX)
        return attn_error_set(err, ATTN_FORMAT, "'%s' is missing in '%s'", id_key, reader->path);
    if (id >= reader->n)
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is %zu, expected a token below %zu",
                              id_key, reader->path, id, reader->n);
    added.items[is_front ? 0 : 1].id = (int32_t)id;
    added.items[is_front ? 1 : 0].id = ATTN_TEMPLATE_TEXT;
    return attn_post_process_wrap(&reader->tokenizer->post, &added, err);
}

static enum attn_status read_part(const struct gguf_reader *reader, enum attn_tokenizer_role role,
                                  const char *text, struct attn_error *err)
{
    return attn_tokenizer_read_part(reader->tokenizer, role, text, text ? strlen(text) : 0, err);
}

/* Adds the stages that a text passes through, and the decoder. PRE_TOKENIZER may be NULL. */
static enum attn_status add_stages(const struct gguf_reader *reader, const char *normalizer,
                                   const char *pre_tokenizer, const char *decoder,
                                   struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reader->tokenizer;
    struct attn_pipeline *pipeline = &tokenizer->pipeline;

    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, &tokenizer->added, false, 0, err));
    ATTN_TRY(read_part(reader, ATTN_ROLE_NORMALIZER, normalizer, err));
    ATTN_TRY(read_part(reader, ATTN_ROLE_PRE_TOKENIZER, pre_tokenizer, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_bpe_stage, &tokenizer->bpe, err));
    return read_part(reader, ATTN_ROLE_DECODER, decoder, err);
}

static enum attn_status find_rule(const struct gguf_reader *reader, const struct split_rule **rule,
                                  struct attn_error *err)
{
    const char *name = NULL;
    size_t size = 0;

    ATTN_TRY(attn_gguf_get_text(reader->gguf, KEY("pre"), &name, &size, err));
    for (size_t i = 0; name && i < sizeof split_rules / sizeof *split_rules; i++)
        if (equals(name, size, split_rules[i].name)) {
            *rule = &split_rules[i];
            return ATTN_OK;
        }
    if (!name)
        return hint_vocab(
            attn_error_set(err, ATTN_UNSUPPORTED,
                           "'%s' is missing in '%s': how texts are split is not known", KEY("pre"),
                           reader->path),
            err);
    return hint_vocab(attn_error_set(err, ATTN_UNSUPPORTED,
                                     "'%s' in '%s' is '%s', a way of splitting texts that is not "
                                     "known",
                                     KEY("pre"), reader->path, attn_quote(name, size).text),
                      err);
}

static enum attn_status read_gpt2(struct gguf_reader *reader, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reader->tokenizer;
    const struct split_rule *rule = split_rules;

    ATTN_TRY(find_rule(reader, &rule, err));
    tokenizer->bpe.takes_whole_pieces = rule->takes_whole_pieces;
    tokenizer->unread->read = read_merges;
    ATTN_TRY(add_stages(reader, rule->normalizer, rule->pre_tokenizer, byte_decoder, err));
    return add_end(reader, KEY("bos_token_id"), KEY("add_bos_token"), rule->has_bos, true, err);
}

static enum attn_status read_llama(struct gguf_reader *reader, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reader->tokenizer;
    struct attn_bpe_model *model = &tokenizer->bpe;
    bool has_prefix = true;
    size_t unk = 0;

    ATTN_TRY(check_scores(reader, err));
    ATTN_TRY(attn_gguf_get_bool(reader->gguf, KEY("add_space_prefix"), &has_prefix, err));
    ATTN_TRY(attn_gguf_get_size(reader->gguf, KEY("unknown_token_id"), &unk, err));
    if (unk < reader->n) {
        const char *key = attn_vocabulary_key(&tokenizer->vocabulary, (int32_t)unk, &model->n_unk);

        model->unk = attn_strndup(key, model->n_unk, err);
        if (!model->unk)
            return ATTN_NO_MEMORY;
    }
    model->has_byte_fallback = model->spells_after = true;
    tokenizer->unread->read = read_scores;
    ATTN_TRY(add_stages(reader, has_prefix ? prefixed_normalizer : sentence_normalizer, NULL,
                        has_prefix ? prefixed_decoder : sentence_decoder, err));
    /* Tokens may contain any bytes. */
    ATTN_TRY(attn_decode_add(&tokenizer->decoder,
                             (struct attn_decode_step){.run = attn_decode_valid}, NULL, NULL, err));
    return add_end(reader, KEY("bos_token_id"), KEY("add_bos_token"), true, true, err);
}

/* --- The file --------------------------------------------------------------------------------- */

static enum attn_status read_metadata(struct gguf_reader *reader, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reader->tokenizer;
    const char *model = NULL, *path = attn_tensor_files_path(attn_gguf_files(reader->gguf), 0);
    size_t size = 0;
    bool is_llama;

    ATTN_TRY(attn_gguf_get_text(reader->gguf, KEY("model"), &model, &size, err));
    if (!model)
        return hint_vocab(attn_error_set(err, ATTN_UNSUPPORTED,
                                         "'%s' has no tokenizer: '%s' is missing", reader->path,
                                         KEY("model")),
                          err);
    is_llama = equals(model, size, "llama");
    if (!is_llama && !equals(model, size, "gpt2"))
        return hint_vocab(attn_error_set(err, ATTN_UNSUPPORTED,
                                         "'%s' in '%s' is '%s', this version reads gpt2 and llama",
                                         KEY("model"), reader->path, attn_quote(model, size).text),
                          err);
    ATTN_TRY(attn_tokenizer_add_unread(tokenizer, path, err));
    tokenizer->kind = ATTN_TOKENIZER_BPE;
    tokenizer->skips_unknown_ids = true;
    tokenizer->bpe.vocabulary = &tokenizer->vocabulary;
    tokenizer->detail = "the tokenizer is that of the GGUF file: 'tokenizer.ggml.tokens'";
    ATTN_TRY(read_tokens(reader, err));
    ATTN_TRY(is_llama ? read_llama(reader, err) : read_gpt2(reader, err));
    return add_end(reader, KEY("eos_token_id"), KEY("add_eos_token"), false, false, err);
}

enum attn_status attn_tokenizer_gguf_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_quote path;
    struct gguf_reader reader = {.tokenizer = tokenizer};
    const char *whole = NULL;
    size_t size = 0;

    ATTN_TRY(attn_file_open_part(source, ATTN_GGUF_PART, ATTN_MAP, &file, err));
    ATTN_TRY(attn_gguf_take(&file, ATTN_MAP, &tokenizer->gguf, err));
    reader.gguf = tokenizer->gguf;
    path = attn_quote_string(attn_tensor_files_path(attn_gguf_files(reader.gguf), 0));
    reader.path = path.text;
    ATTN_TRY(attn_gguf_get_text(reader.gguf, "tokenizer.huggingface.json", &whole, &size, err));
    if (whole) {
        const struct attn_blob blob = {"tokenizer.json", whole, size};
        const struct attn_source inside = {.name = source->name, .blobs = &blob, .n_blob = 1};

        ATTN_TRY(attn_tokenizer_json_read(tokenizer, &inside, &(struct attn_class){0}, err));
        tokenizer->detail = "the tokenizer is that of the GGUF file: 'tokenizer.huggingface.json'";
        return ATTN_OK;
    }
    return read_metadata(&reader, err);
}
