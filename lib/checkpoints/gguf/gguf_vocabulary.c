/*
 * gguf_vocabulary.c - the tokenizer in the metadata of a GGUF file.
 *
 * Type `gpt2` is byte-level BPE. The file names a split rule; the rules are defined here in the
 * form of the library tokenizers. Type `llama` is SentencePiece's BPE without a list of merges
 * (tokenizer_scores.c); type `gemma4` is the same with a list of merges.
 *
 * Traps: llama.cpp omits the normal form NFC, so that decomposed texts get other ids than from the
 * model's own tokenizer; here NFC is applied. Files converted without tokenizer.model have the same
 * score for every token. User-defined tokens have spaces where tokenizer.model has U+2581. Without
 * the prefix (Gemma) they are found in the normalized text, so that a space and a U+2581 are one
 * run, as SentencePiece does; in a run that is longer than any token, transformers 5 merges
 * instead: 40 spaces are 31 and 9 here and in llama.cpp, 16 and 24 there. transformers 5.23 also
 * lacks some names of split rules in GGUF files and takes GPT-2's for them: `smollm` splits at each
 * digit first, as the model's tokenizer.json does (Digits, then ByteLevel) and llama.cpp.
 */
#include "gguf/gguf_vocabulary.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "gguf/gguf.h"
#include "tokenizer/stages/stages_internal.h"
#include "vocabularies/vocabularies_internal.h"

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

/* Splits by patterns, one after the other, then bytes. */
#define SPLITS(list) SEQUENCE(list ", " BYTE_LEVEL("false"))

/* clang-format off */
#define GPT2                                                                                       \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+"                  \
    "|\\\\s+(?!\\\\S)|\\\\s+"

/* Parts of the patterns of tiktoken and what was made of them. */
#define ENDING "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LETTER "\\\\p{L}"
#define OTHER "[^\\\\s\\\\p{L}\\\\p{N}]"
#define WORD(letter) "[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?" letter "+"
#define LINES "[\\\\r\\\\n]*"
#define BLANKS "\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"

/* The pattern of cl100k_base, of whose variants each has other DIGITS, LETTER or OTHER. */
#define CL100K_OF(digits, letter, other)                                                           \
    ENDING "|" WORD(letter) "|" digits "| ?" other "+" LINES "|" BLANKS
#define CL100K SPLIT(CL100K_OF("\\\\p{N}{1,3}", LETTER, OTHER))
#define QWEN2 SPLIT(CL100K_OF("\\\\p{N}", LETTER, OTHER))
#define QWEN35                                                                                     \
    SPLIT(CL100K_OF("\\\\p{N}", "[\\\\p{L}\\\\p{M}]", "[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}]"))
#define SEED                                                                                       \
    SPLIT(ENDING "|" WORD(LETTER) "|\\\\p{N}{1}| ?[^\\\\s\\\\p{L}\\\\p{N}\\\\r\\\\n]+|" BLANKS)
#define BAILING                                                                                    \
    SPLIT("'(?i:[sdmt]|ll|ve|re)|" WORD(LETTER) "|\\\\p{N}| ?" OTHER "+" LINES                     \
          "|\\\\s*[\\\\r\\\\n]|\\\\s+(?!\\\\S)|\\\\s+")
#define UFAKZEKA SPLIT(WORD(LETTER) "|\\\\p{N}| ?" OTHER "+" LINES "|" BLANKS)

/* The pattern of o200k_base: words begin with capital letters. */
#define UPPER "[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]"
#define LOWER "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]"
#define O200K_OF(digits, ending)                                                                   \
    SPLIT(WORD(UPPER "*" LOWER) ending "|" WORD(UPPER) LOWER "*" ending "|" digits                 \
          "| ?" OTHER "+[\\\\r\\\\n/]*|" BLANKS)
#define O200K O200K_OF("\\\\p{N}{1,3}", ENDING "?")
#define TEKKEN O200K_OF("\\\\p{N}", "")

#define DIGIT SPLIT("\\\\p{N}")
#define CHINESE "[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+"
#define DEEPSEEK_CODER                                                                             \
    SPLIT("[\\\\r\\\\n]") ", " SPLIT("\\\\s?\\\\p{L}+") ", " SPLIT("\\\\s?\\\\p{P}+") ", "         \
    SPLIT(CHINESE) ", " DIGIT
#define DEEPSEEK_3                                                                                 \
    SPLIT("\\\\p{N}{1,3}") ", " SPLIT("[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+") ", "     \
    SPLIT("[!\\\"#$%&'()*+,\\\\-./:;<=>?@\\\\[\\\\\\\\\\\\]^_\x60{|}~][A-Za-z]+"                   \
          "|[^\\\\r\\\\n\\\\p{L}\\\\p{P}\\\\p{S}]?[\\\\p{L}\\\\p{M}]+"                             \
          "| ?[\\\\p{P}\\\\p{S}]+" LINES "|" BLANKS)
/* Letters with two cases, as Unicode 11 had them, without those of mathematics. */
#define CASED                                                                                      \
    "A-Za-z\\u00b5\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u01ba\\u01bc-\\u01bf" \
    "\\u01c4-\\u0293\\u0295-\\u02af\\u0370-\\u0373\\u0376\\u0377\\u037b-\\u037d" \
    "\\u037f\\u0386\\u0388-\\u038a\\u038c\\u038e-\\u03a1\\u03a3-\\u03f5" \
    "\\u03f7-\\u0481\\u048a-\\u052f\\u0531-\\u0556\\u10a0-\\u10c5\\u13a0-\\u13f5" \
    "\\u13f8-\\u13fd\\u1c90-\\u1cba\\u1cbd-\\u1cbf\\u1d00-\\u1d2b\\u1d6b-\\u1d77" \
    "\\u1d79-\\u1d9a\\u1e00-\\u1f15\\u1f18-\\u1f1d\\u1f20-\\u1f45\\u1f48-\\u1f4d" \
    "\\u1f50-\\u1f57\\u1f59\\u1f5b\\u1f5d\\u1f5f-\\u1f7d\\u1f80-\\u1fb4" \
    "\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-\\u1fc4\\u1fc6-\\u1fcc\\u1fd0-\\u1fd3" \
    "\\u1fd6-\\u1fdb\\u1fe0-\\u1fec\\u1ff2-\\u1ff4\\u1ff6-\\u1ffc\\u2102\\u2107" \
    "\\u210a-\\u2113\\u2115\\u2119-\\u211d\\u2124\\u2126\\u2128\\u212a-\\u212d" \
    "\\u212f-\\u2134\\u2139\\u213c-\\u213f\\u2145-\\u2149\\u214e\\u2183\\u2184" \
    "\\u2c00-\\u2c7b\\u2c7e-\\u2ce4\\u2ceb-\\u2cee\\u2cf2\\u2cf3\\ua640-\\ua66d" \
    "\\ua680-\\ua69b\\ua722-\\ua76f\\ua771-\\ua787\\ua78b-\\ua78e\\uab70-\\uabbf" \
    "\\ufb00-\\ufb06\\ufb13-\\ufb17\\uff21-\\uff3a\\uff41-\\uff5a" \
    "\\ud801\\udc00-\\ud801\\udc4f\\ud801\\udcb0-\\ud801\\udcd3" \
    "\\ud801\\udcd8-\\ud801\\udcfb\\ud803\\udc80-\\ud803\\udcb2" \
    "\\ud803\\udcc0-\\ud803\\udcf2\\ud806\\udca0-\\ud806\\udcdf" \
    "\\ud83a\\udd00-\\ud83a\\udd43"
#define DEEPSEEK_LLM                                                                               \
    SPLIT("[\\\\r\\\\n]") ", " SPLIT("\\\\s?[" CASED "]+") ", "                                    \
    SPLIT("\\\\s?[!-/:-~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3000-\\u3002]+") ", "      \
    SPLIT("\\\\s+$") ", " SPLIT(CHINESE) ", " SPLIT("\\\\p{N}+")
#define FALCON                                                                                     \
    SPLIT("[\\\\p{P}\\\\$\\\\+<=>\\\\^~\\\\|\x60]+") ", " SPLIT(GPT2) ", " SPLIT("[0-9][0-9][0-9]")
#define BLOOM                                                                                      \
    SPLIT(" ?[^(\\\\s|.,!?\\u2026\\u3002\\uff0c\\u3001\\u0964\\u06d4\\u060c)]+")

/* The rules for splitting texts, by the names in `tokenizer.ggml.pre`. */
static const struct split_rule {
    const char *names; /* separated by spaces */
    const char *pre_tokenizer; /* NULL: known, and not read */
    const char *normalizer; /* or NULL */
    bool takes_whole_pieces;
    bool has_bos, has_sep; /* BOS or SEP are added by default */
} split_rules[] = {
    {.names = "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum "
              "modern-bert exaone4 jais trillion granite-docling",
     .pre_tokenizer = BYTE_LEVEL("true")},
    {.names = "mpt olmo",
     .pre_tokenizer = BYTE_LEVEL("true"), .normalizer = NFC},
    {.names = "jina-v1-en jina-v2-code roberta-bpe",
     .pre_tokenizer = BYTE_LEVEL("true"), .has_sep = true},
    {.names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     .pre_tokenizer = SPLITS(CL100K), .takes_whole_pieces = true, .has_bos = true},
    {.names = "dbrx smaug-bpe glm4 chatglm-bpe",
     .pre_tokenizer = SPLITS(CL100K)},
    {.names = "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez",
     .pre_tokenizer = SPLITS(QWEN2), .normalizer = NFC},
    {.names = "stablelm2 hunyuan solar-open grok-2",
     .pre_tokenizer = SPLITS(QWEN2)},
    {.names = "qwen35",
     .pre_tokenizer = SPLITS(QWEN35), .normalizer = NFC},
    {.names = "starcoder refact smollm codeshell exaone minerva-7b mellum2",
     .pre_tokenizer = SPLITS(DIGIT ", " SPLIT(GPT2))},
    {.names = "command-r",
     .pre_tokenizer = SPLITS(DIGIT ", " SPLIT(GPT2)), .normalizer = NFC},
    {.names = "gpt-4o llama4 kanana2 talkie minimax-m2",
     .pre_tokenizer = SPLITS(O200K)},
    {.names = "granite-embed-multi-97m",
     .pre_tokenizer = SPLITS(O200K), .takes_whole_pieces = true},
    {.names = "tekken",
     .pre_tokenizer = SPLITS(TEKKEN), .takes_whole_pieces = true, .has_bos = true},
    {.names = "tiny_aya cohere2moe",
     .pre_tokenizer = SPLITS(SPLIT("\\\\d{1,3}(?=(?:\\\\d{3})*\\\\b)") ", " O200K)},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
     .pre_tokenizer = SPLITS(DEEPSEEK_3)},
    {.names = "deepseek-coder",
     .pre_tokenizer = SPLITS(DEEPSEEK_CODER)},
    {.names = "deepseek-llm",
     .pre_tokenizer = SPLITS(DEEPSEEK_LLM)},
    {.names = "falcon",
     .pre_tokenizer = SPLITS(FALCON)},
    {.names = "bloom poro-chat gpt3-finnish",
     .pre_tokenizer = SPLITS(BLOOM)},
    {.names = "viking",
     .pre_tokenizer = SPLITS(BLOOM ", " DIGIT)},
    {.names = "seed-coder",
     .pre_tokenizer = SPLITS(SEED)},
    {.names = "bailingmoe bailingmoe2 llada-moe",
     .pre_tokenizer = SPLITS(BAILING)},
    {.names = "minicpm5",
     .pre_tokenizer = SPLITS(SPLIT("\\\\p{N}{1,3}") ", "
                             SPLIT(CL100K_OF("\\\\p{N}+", LETTER, OTHER))),
     .takes_whole_pieces = true},
    {.names = "laguna",
     .pre_tokenizer = SPLITS(SPLIT("[^\\\\n]+|[\\\\n]+") ", " QWEN2)},
    {.names = "ufakzeka",
     .pre_tokenizer = SPLITS(UFAKZEKA)},
    {.names = "afmoe kimi-k2 superbpe youtu exaone-moe jais-2 chameleon spark2_5 sarvam-moe gemma4 "
              "granite-embed-multi-311m whitespace"},
};
/* clang-format on */

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

struct gguf_reader {
    struct attn_tokenizer *tokenizer;
    const struct attn_bundle *gguf;
    const char *path; /* for messages */
    size_t n;         /* number of tokens */
    bool has_sep;     /* by default, SEP is added */
    bool has_prefix;  /* a space is put before texts and after added tokens, or spaces stay */
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
    return attn_refuse_in(err, ATTN_FORMAT, reader->path, key,
                          "has %zu items, expected %zu, one per token", (size_t)list->n, reader->n);
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
        return attn_refuse_in(err, ATTN_FORMAT, reader->path, KEY("tokens"),
                              "has %zu items, expected the tokens", reader->n);
    if (attn_tensor_files_find(attn_gguf_files(reader->gguf), "token_embd.weight", &embed) &&
        embed.tensor.rank == 2 && embed.tensor.shape[0] < reader->n)
        return attn_refuse_in(
            err, ATTN_FORMAT, reader->path, KEY("tokens"),
            "has %zu items, expected at most %zu, the rows of 'token_embd.weight'", reader->n,
            embed.tensor.shape[0]);
    ATTN_TRY(get_list(reader, KEY("token_type"), ATTN_GGUF_I32, &types, err));
    ATTN_TRY(ATTN_ALLOC(tokenizer->is_foreign, reader->n, err));
    for (size_t i = 0; attn_gguf_next_text(&tokens, &text, &size); i++) {
        struct attn_added_token added = {.id = (int32_t)i};
        int64_t type = TYPE_NORMAL;

        attn_gguf_next_int(&types, &type);
        if (type < TYPE_NORMAL || type > TYPE_BYTE)
            return attn_error_set(err, ATTN_FORMAT,
                                  "item %zu of '%s' in '%s' is %lld, expected a type from %d to %d",
                                  i, KEY("token_type"), attn_quote_string(reader->path).text,
                                  (long long)type, TYPE_NORMAL, TYPE_BYTE);
        tokenizer->is_foreign[i] = type != TYPE_NORMAL && type != TYPE_UNKNOWN && type != TYPE_BYTE;
        if (size == 0)
            continue;
        ATTN_TRY(attn_vocabulary_add(&tokenizer->vocabulary, text, size, (int32_t)i, err));
        added.is_normalized = type == TYPE_USER && !reader->has_prefix;
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

    ATTN_TRY(attn_gguf_get_array(tokenizer->bundle, KEY("merges"), ATTN_GGUF_STRING, &list, err));
    if (list.n == 0)
        return hint_vocab(attn_refuse_in(err, ATTN_UNSUPPORTED, tokenizer->unread->path,
                                         KEY("merges"),
                                         "is missing or empty, and no text can be merged without"),
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
                                    struct attn_scored_token *tokens, size_t *n,
                                    struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    struct attn_gguf_pair scores, types;

    ATTN_TRY(attn_gguf_get_array(tokenizer->bundle, KEY("scores"), ATTN_GGUF_F32, &scores, err));
    ATTN_TRY(attn_gguf_get_array(tokenizer->bundle, KEY("token_type"), ATTN_GGUF_I32, &types, err));
    for (size_t i = 0; i < vocabulary->n; i++) {
        int64_t type = TYPE_NORMAL;
        double score = 0;

        attn_gguf_next_real(&scores, &score);
        attn_gguf_next_int(&types, &type);
        if (type == TYPE_NORMAL && attn_vocabulary_has(vocabulary, (int32_t)i))
            tokens[(*n)++] = (struct attn_scored_token){(float)score, (int32_t)i};
    }
    return ATTN_OK;
}

static enum attn_status read_scores(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    struct attn_scored_token *tokens = NULL;
    enum attn_status status;
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(tokens, tokenizer->vocabulary.n, err));
    status = find_scored(tokenizer, tokens, &n, err);
    ATTN_THEN(status, attn_scored_merge(tokenizer, tokens, n, err));
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
                                  KEY("scores"), attn_quote_string(reader->path).text);
        if (type != TYPE_NORMAL)
            continue;
        differ = differ || score < first || score > first;
        first = isnan(first) ? score : first;
    }
    if (differ)
        return ATTN_OK;
    return hint_vocab(
        attn_refuse_in(err, ATTN_UNSUPPORTED, reader->path, KEY("scores"),
                       "has one score for all tokens, and no text can be split by it"),
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
        return attn_error_set(err, ATTN_FORMAT, "'%s' is missing in '%s'", id_key,
                              attn_quote_string(reader->path).text);
    if (id >= reader->n)
        return attn_refuse_in(err, ATTN_FORMAT, reader->path, id_key,
                              "is %zu, expected a token below %zu", id, reader->n);
    added.items[is_front ? 0 : 1].id = (int32_t)id;
    added.items[is_front ? 1 : 0].id = ATTN_TEMPLATE_TEXT;
    return attn_post_process_wrap(&reader->tokenizer->post, &added, err);
}

/* Adds SEP and EOS after the text. SEP is not added by default beside EOS, or if none is SEP. */
static enum attn_status add_back(const struct gguf_reader *reader, struct attn_error *err)
{
    static const char sep_key[] = KEY("seperator_token_id"); /* spelled so in files */
    size_t sep = SIZE_MAX;
    bool has_eos = false;

    ATTN_TRY(attn_gguf_get_size(reader->gguf, sep_key, &sep, err));
    ATTN_TRY(attn_gguf_get_bool(reader->gguf, KEY("add_eos_token"), &has_eos, err));
    ATTN_TRY(add_end(reader, sep_key, KEY("add_sep_token"),
                     reader->has_sep && sep < SIZE_MAX && !has_eos, false, err));
    return add_end(reader, KEY("eos_token_id"), KEY("add_eos_token"), false, false, err);
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
    size_t n;

    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, &tokenizer->added, false, 0, err));
    n = pipeline->n;
    ATTN_TRY(read_part(reader, ATTN_ROLE_NORMALIZER, normalizer, err));
    ATTN_TRY(attn_added_add_stage(pipeline, &tokenizer->added, true, pipeline->n - n, err));
    ATTN_TRY(read_part(reader, ATTN_ROLE_PRE_TOKENIZER, pre_tokenizer, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_bpe_stage, &tokenizer->bpe, err));
    return read_part(reader, ATTN_ROLE_DECODER, decoder, err);
}

static enum attn_status find_rule(const struct gguf_reader *reader, const struct split_rule **rule,
                                  struct attn_error *err)
{
    const size_t n = sizeof split_rules / sizeof *split_rules;
    const char *name = NULL;
    size_t size = 0, i = 0;

    ATTN_TRY(attn_gguf_get_text(reader->gguf, KEY("pre"), &name, &size, err));
    if (!name)
        return hint_vocab(
            attn_error_set(err, ATTN_UNSUPPORTED,
                           "'%s' is missing in '%s': how texts are split is not known", KEY("pre"),
                           attn_quote_string(reader->path).text),
            err);
    while (i < n && !attn_text_has_word(split_rules[i].names, name, size))
        i++;
    if (i < n && split_rules[i].pre_tokenizer) {
        *rule = &split_rules[i];
        return ATTN_OK;
    }
    return hint_vocab(attn_refuse_in(err, ATTN_UNSUPPORTED, reader->path, KEY("pre"),
                                     "is '%s', a way of splitting texts that is not %s",
                                     attn_quote(name, size).text,
                                     i < n ? "read by this version" : "known"),
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
    reader->has_sep = rule->has_sep;
    return add_end(reader, KEY("bos_token_id"), KEY("add_bos_token"), rule->has_bos, true, err);
}

/* Reads SentencePiece's BPE, which merges by scores or, if HAS_MERGES, by a list. */
static enum attn_status read_sentences(struct gguf_reader *reader, bool has_merges,
                                       struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reader->tokenizer;
    struct attn_bpe_model *model = &tokenizer->bpe;
    const bool has_prefix = reader->has_prefix;
    size_t unk = 0;

    if (!has_merges)
        ATTN_TRY(check_scores(reader, err));
    ATTN_TRY(attn_gguf_get_size(reader->gguf, KEY("unknown_token_id"), &unk, err));
    if (unk < reader->n) {
        const char *key = attn_vocabulary_key(&tokenizer->vocabulary, (int32_t)unk, &model->n_unk);

        ATTN_TRY(ATTN_NEW(model->unk, attn_strndup(key, model->n_unk, err)));
    }
    model->has_byte_fallback = true;
    model->spells_after = !has_merges;
    tokenizer->unread->read = has_merges ? read_merges : read_scores;
    ATTN_TRY(add_stages(reader, has_prefix ? prefixed_normalizer : sentence_normalizer, NULL,
                        has_prefix ? prefixed_decoder : sentence_decoder, err));
    /* Tokens may contain any bytes. */
    ATTN_TRY(attn_decode_add(&tokenizer->decoder,
                             (struct attn_decode_step){.run = attn_decode_valid}, NULL, NULL, err));
    return add_end(reader, KEY("bos_token_id"), KEY("add_bos_token"), true, true, err);
}

/* --- The file --------------------------------------------------------------------------------- */

static enum attn_status refuse_kind(const struct gguf_reader *reader, const char *model,
                                    size_t size, struct attn_error *err)
{
    static const struct {
        const char *names, *reason;
    } kinds[] = {
        {"bert", "its tokens are WordPiece"},
        {"t5", "its tokens are Unigram"},
        {"rwkv plamo2 hybriddna whitespace", "its texts are split in a way of its own"},
        {"none no_vocab", "it has no tokenizer"},
    };
    size_t i = 0;

    while (i < sizeof kinds / sizeof *kinds && !attn_text_has_word(kinds[i].names, model, size))
        i++;
    return hint_vocab(attn_refuse_in(err, ATTN_UNSUPPORTED, reader->path, KEY("model"),
                                     "is '%s'%s%s, this version reads gpt2, llama and gemma4",
                                     attn_quote(model, size).text,
                                     i < sizeof kinds / sizeof *kinds ? ": " : "",
                                     i < sizeof kinds / sizeof *kinds ? kinds[i].reason : ""),
                      err);
}

static enum attn_status read_metadata(struct gguf_reader *reader, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reader->tokenizer;
    const char *model = NULL;
    size_t size = 0;
    bool is_gpt2, is_gemma;

    ATTN_TRY(attn_gguf_get_text(reader->gguf, KEY("model"), &model, &size, err));
    if (!model)
        return hint_vocab(attn_error_set(err, ATTN_UNSUPPORTED,
                                         "'%s' has no tokenizer: '%s' is missing",
                                         attn_quote_string(reader->path).text, KEY("model")),
                          err);
    is_gpt2 = equals(model, size, "gpt2");
    is_gemma = equals(model, size, "gemma4");
    if (!is_gpt2 && !is_gemma && !equals(model, size, "llama"))
        return refuse_kind(reader, model, size, err);
    ATTN_TRY(attn_tokenizer_add_unread(tokenizer, reader->path, err));
    tokenizer->kind = ATTN_TOKENIZER_BPE;
    tokenizer->skips_unknown_ids = true;
    tokenizer->bpe.vocabulary = &tokenizer->vocabulary;
    tokenizer->detail = "the tokenizer is that of the GGUF file: 'tokenizer.ggml.tokens'";
    reader->has_prefix = true;
    if (!is_gpt2)
        ATTN_TRY(
            attn_gguf_get_bool(reader->gguf, KEY("add_space_prefix"), &reader->has_prefix, err));
    ATTN_TRY(read_tokens(reader, err));
    ATTN_TRY(is_gpt2 ? read_gpt2(reader, err) : read_sentences(reader, is_gemma, err));
    return add_back(reader, err);
}

enum attn_status attn_tokenizer_gguf_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err)
{
    struct attn_file file = {0};
    struct gguf_reader reader = {.tokenizer = tokenizer};
    const char *whole = NULL;
    size_t size = 0;

    ATTN_TRY(attn_file_open_part(source, ATTN_GGUF_PART, ATTN_MAP, &file, err));
    ATTN_TRY(attn_gguf_take(&file, ATTN_MAP, &tokenizer->bundle, err));
    reader.gguf = tokenizer->bundle;
    reader.path = attn_gguf_path(reader.gguf);
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
