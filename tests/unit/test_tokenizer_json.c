/*
 * test_tokenizer_json.c - tokenizer.json: the same tokens, places and texts as the library
 * tokenizers for every style of fixtures/tokenizers and of golden/tokenizers.jsonl, and what is
 * refused.
 */
#include "attn.h"
#include "base/memory.h"
#include "base/text/escape.h"
#include "formats/json.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "tests/support/tokenizing.h"
#include "tokenizer/regex.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

/* --- The cases of a style --------------------------------------------------------------------- */

static const char *const styles[] = {"added_traps", "gemma", "gpt2",  "llama2", "llama3",
                                     "mistral",     "neox",  "qwen2", "smollm2"};

static struct attn_tokenizer *open_style(const char *style)
{
    char folder[100];
    const struct attn_source source = {.directory = folder};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    snprintf(folder, sizeof folder, "tests/fixtures/tokenizers/%s", style);
    if (attn_tokenizer_open(&source, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    return tokenizer;
}

/* Whether AT lies within a character. */
static bool is_within(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* Decodes the tokens of ENCODING, without special ones when SKIPS. */
static void assert_decoded(const struct attn_tokenizer *tokenizer,
                           const struct attn_encoding *encoding, bool skips, const char *expected)
{
    int32_t *ids = malloc((encoding->n + 1) * sizeof *ids);
    size_t n = 0, size = 0;
    char *text = NULL;
    struct attn_error err = {0};

    ck_assert_ptr_nonnull(ids);
    for (size_t i = 0; i < encoding->n; i++)
        if (!skips || !attn_tokenizer_is_special(tokenizer, encoding->ids[i]))
            ids[n++] = encoding->ids[i];
    if (attn_tokenizer_decode(tokenizer, ids, n, &text, &size, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(size, strlen(expected));
    attn_tokenizer_text_free(text);
    free(ids);
}

static void assert_case(const struct attn_tokenizer *tokenizer, const struct attn_json *json)
{
    const char *text = attn_node_string(attn_case_field(json, "text"));
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    if (attn_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    attn_assert_ids(&encoding, attn_case_field(json, "special"), text);
    if (attn_case_field(json, "decode")) {
        assert_decoded(tokenizer, &encoding, false,
                       attn_node_string(attn_case_field(json, "decode")));
        assert_decoded(tokenizer, &encoding, true, attn_node_string(attn_case_field(json, "skip")));
    }
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    if (attn_tokenizer_encode(tokenizer, text, strlen(text), &options, &encoding, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    attn_assert_ids(&encoding, attn_case_field(json, "ids"), text);
    attn_assert_places(&encoding, attn_case_field(json, "offsets"), text);
    ck_assert_uint_eq(encoding.n_front + encoding.n_back, 0);
    attn_encoding_release(&encoding);
}

static void assert_style(const char *style)
{
    struct attn_tokenizer *tokenizer = open_style(style);
    char path[100];

    snprintf(path, sizeof path, "tests/fixtures/tokenizers/%s/cases.jsonl", style);
    ck_assert_uint_ge(attn_each_case(path, tokenizer, assert_case), 115);
    attn_tokenizer_free(tokenizer);
}

START_TEST(gives_what_the_library_tokenizers_gives)
{
    for (size_t i = 0; i < N(styles); i++)
        assert_style(styles[i]);
}
END_TEST

/* --- Tokenizers of encoders ------------------------------------------------------------------- */

static char golden[] = "tests/golden/tokenizers.jsonl";

/* Opens the tokenizer.json that TEXT [size] is. */
static enum attn_status open_text(const char *text, size_t size, struct attn_tokenizer **tokenizer,
                                  struct attn_error *err)
{
    const struct attn_blob blob = {"tokenizer.json", text, size};
    const struct attn_source source = {.name = "golden", .blobs = &blob, .n_blob = 1};

    return attn_tokenizer_open(&source, tokenizer, err);
}

/* Calls CASE for each line of the file that is one, with the tokenizer before it. */
static void each_golden(void (*take)(const struct attn_tokenizer *tokenizer,
                                     const struct attn_json *json),
                        void (*open)(const char *text, size_t size))
{
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_file file = {0};
    struct attn_error err = {0};
    size_t n_tokenizer = 0;

    ck_assert(attn_file_open(golden, ATTN_READ, &file, &err) == ATTN_OK);
    for (size_t at = 0, end; at < file.size; at = end + 1) {
        const char *text = (const char *)file.data + at;
        const char *newline = memchr(text, '\n', file.size - at);
        struct attn_file line = {.data = file.data + at, .path = golden};
        struct attn_json *json = NULL;

        ck_assert_ptr_nonnull(newline);
        line.size = (size_t)(newline - text);
        end = at + line.size;
        if (strncmp(text, "{\"version\"", strlen("{\"version\"")) == 0) {
            attn_tokenizer_free(tokenizer);
            ck_assert_msg(open_text(text, line.size, &tokenizer, &err) == ATTN_OK, "%s",
                          err.message);
            n_tokenizer++;
            if (open)
                open(text, line.size);
        } else if (take) {
            ck_assert_msg(attn_json_parse(&line, &json, &err) == ATTN_OK, "%s", err.message);
            take(tokenizer, json);
            attn_json_free(json);
        }
    }
    ck_assert_uint_eq(n_tokenizer, 14);
    attn_tokenizer_free(tokenizer);
    attn_file_release(&file);
}

/* The types, and where the tokens are in their texts; of a character that is spelled in bytes, each
 * has some of what all have. */
static void assert_types_and_places(const struct attn_tokenizer *tokenizer,
                                    const struct attn_encoding *encoding,
                                    const struct attn_json *json, const char *const texts[3])
{
    const struct attn_node *type = attn_node_first(attn_case_field(json, "types"));
    const struct attn_node *place = attn_node_first(attn_case_field(json, "offsets"));

    for (size_t i = 0; i < encoding->n; i++) {
        const size_t begin = encoding->begin[i], end = encoding->end[i];
        const char *text = texts[encoding->texts[i]];
        int64_t expected = -1, first = 0, last = 0;
        size_t size;
        const bool is_byte =
            attn_decode_named_byte(attn_tokenizer_key(tokenizer, encoding->ids[i], &size), 6) >= 0;

        attn_node_int(type, &expected);
        attn_node_int(attn_node_first(place), &first);
        attn_node_int(attn_node_next(attn_node_first(place)), &last);
        ck_assert_msg(encoding->types[i] == expected, "token %zu of '%s' has type %d", i,
                      attn_quote_string(texts[1]).text, encoding->types[i]);
        if (is_byte || is_within(text, begin) || is_within(text, end))
            ck_assert(begin >= (size_t)first && end <= (size_t)last);
        else
            ck_assert_msg(begin == (size_t)first && end == (size_t)last,
                          "token %zu of '%s' is %zu..%zu, expected %d..%d", i,
                          attn_quote_string(texts[1]).text, begin, end, (int)first, (int)last);
        type = attn_node_next(type);
        place = attn_node_next(place);
    }
}

static void assert_golden(const struct attn_tokenizer *tokenizer, const struct attn_json *json)
{
    const char *text = attn_node_string(attn_case_field(json, "text"));
    const char *pair = attn_node_string(attn_case_field(json, "pair"));
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    options.pair = pair;
    options.n_pair = pair ? strlen(pair) : 0;
    if (attn_tokenizer_encode(tokenizer, text, strlen(text), &options, &encoding, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    attn_assert_ids(&encoding, attn_case_field(json, "ids"), text);
    assert_types_and_places(tokenizer, &encoding, json, (const char *const[]){"", text, pair});
    assert_decoded(tokenizer, &encoding, false, attn_node_string(attn_case_field(json, "decode")));
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    if (attn_tokenizer_encode(tokenizer, text, strlen(text), &options, &encoding, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    attn_assert_ids(&encoding, attn_case_field(json, "plain"), text);
    attn_encoding_release(&encoding);
}

START_TEST(gives_what_the_library_gives_of_encoders)
{
    each_golden(assert_golden, NULL);
}
END_TEST

static void survive(const char *file, size_t size)
{
    static const char text[] = "It don't e\xcc\x81 \xef\xac\x81x \xe8\xaa\x9e [MASK] <mask>.";
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    bool has_failed = true;

    options.pair = text;
    options.n_pair = sizeof text - 1;
    for (long n = 0; has_failed; n += 1 + n / 16) {
        struct attn_tokenizer *tokenizer = NULL;
        struct attn_encoding encoding = {0};
        struct attn_error err = {0};
        char *decoded = NULL;
        size_t n_decoded;
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = open_text(file, size, &tokenizer, &err);
        if (status == ATTN_OK)
            status =
                attn_tokenizer_encode(tokenizer, text, sizeof text - 1, &options, &encoding, &err);
        if (status == ATTN_OK)
            status = attn_tokenizer_decode(tokenizer, encoding.ids, encoding.n, &decoded,
                                           &n_decoded, &err);
        has_failed = attn_alloc_count() > n; /* not: failed with it; PCRE2 can do without JIT */
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || (status == ATTN_NO_MEMORY && has_failed), "%s",
                      err.message);
        attn_tokenizer_text_free(decoded);
        attn_encoding_release(&encoding);
        attn_tokenizer_free(tokenizer);
    }
}

START_TEST(tokenizers_of_encoders_survive_failed_allocations)
{
    each_golden(NULL, survive);
}
END_TEST

/* As it is read by serde_json: the nearest double of the first is another. */
START_TEST(reads_scores_as_the_library_does)
{
    static const struct {
        const char *text;
        double score;
    } scores[] = {
        {"-2.8235221639691446", -2.823522163969145},
        {"-3.5", -3.5},
        {"0", 0},
        {"-2e-3", -2e-3},
        {"25E1", 250},
        {"18446744073709551616", 18446744073709551610.0},
        {"0.000000000000000000000000001", 1e-27},
        {"1e-400", 0},
    };
    double score = 1;

    for (size_t i = 0; i < N(scores); i++) {
        ck_assert(attn_unigram_parse_score(scores[i].text, strlen(scores[i].text), &score));
        ck_assert_msg(score == scores[i].score, "'%s' is %.17g", scores[i].text, score);
    }
    ck_assert(!attn_unigram_parse_score("1e309", 5, &score));
    ck_assert(!attn_unigram_parse_score("9e308", 5, &score));
}
END_TEST

/* --- Files written in the test ---------------------------------------------------------------- */

/* The parts of a file; NULL: the one that is named. */
struct written {
    const char *vocab;          /* {"a": 0, "b": 1, "ab": 2, " ": 3, "<s>": 4} */
    const char *merges;         /* [["a", "b"]] */
    const char *model;          /* more members of the model, each followed by a comma */
    const char *added;          /* [] */
    const char *normalizer;     /* null */
    const char *pre_tokenizer;  /* null */
    const char *post_processor; /* null */
    const char *decoder;        /* null */
    const char *top;            /* more members of the file, each followed by a comma */
};

static const char *or_else(const char *text, const char *other)
{
    return text ? text : other;
}

static enum attn_status try_written(const struct written *written,
                                    struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_blob blob = {.name = "tokenizer.json"};
    const struct attn_source source = {.name = "toy", .blobs = &blob, .n_blob = 1};
    enum attn_status status;

    attn_buffer_append_format(
        &text,
        "{%s\"added_tokens\": %s, \"normalizer\": %s, \"pre_tokenizer\": %s, \"post_processor\": "
        "%s, \"decoder\": %s, \"model\": {%s\"vocab\": %s, \"merges\": %s}}",
        or_else(written->top, ""), or_else(written->added, "[]"),
        or_else(written->normalizer, "null"), or_else(written->pre_tokenizer, "null"),
        or_else(written->post_processor, "null"), or_else(written->decoder, "null"),
        or_else(written->model, ""),
        or_else(written->vocab, "{\"a\": 0, \"b\": 1, \"ab\": 2, \" \": 3, \"<s>\": 4}"),
        or_else(written->merges, "[[\"a\", \"b\"]]"));
    blob.data = text.data;
    blob.size = text.size;
    status = attn_tokenizer_open(&source, tokenizer, err);
    attn_buffer_release(&text);
    return status;
}

static struct attn_tokenizer *open_written(const struct written *written)
{
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    if (try_written(written, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    return tokenizer;
}

/* Fails unless TEXT has these ids, which end with -1. */
static void assert_text(const struct attn_tokenizer *tokenizer, const char *text,
                        const int32_t *expected)
{
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    size_t n = 0;

    if (attn_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    while (expected[n] >= 0)
        n++;
    ck_assert_uint_eq(encoding.n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(encoding.ids[i], expected[i]);
    attn_encoding_release(&encoding);
}

#define ASSERT_TEXT(tokenizer, text, ...)                                                          \
    assert_text(tokenizer, text, (const int32_t[]){__VA_ARGS__, -1})

#define TOKEN(id, content, flags) "{\"id\": " #id ", \"content\": \"" content "\", " flags "}"
#define FLAGS(single_word, lstrip, rstrip, normalized, special)                                    \
    "\"single_word\": " #single_word ", \"lstrip\": " #lstrip ", \"rstrip\": " #rstrip             \
    ", \"normalized\": " #normalized ", \"special\": " #special
#define PLAIN FLAGS(false, false, false, false, true)
#define BYTE_LEVEL "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true}"
#define SPLIT(regex)                                                                               \
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"" regex                                      \
    "\"}, \"behavior\": \"Isolated\", \"invert\": false}"
#define SCRIPTS "{\"type\": \"UnicodeScripts\"}"
#define CHARSMAP(base64) "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"" base64 "\"}"
#define TEMPLATE(single)                                                                           \
    "{\"type\": \"TemplateProcessing\", \"single\": [" single "], \"pair\": [], "                  \
    "\"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [4], \"tokens\": [\"<s>\"]}}}"
#define SEQUENCE_A "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}"
#define SPECIAL "{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}}"

static const struct {
    struct written written;
    enum attn_status status;
    const char *message;
} refused[] = {
    /* Parts that are not supported. */
    {{.pre_tokenizer = "{\"type\": \"UnicodeScript\"}"},
     ATTN_UNSUPPORTED,
     "'pre_tokenizer' of type 'UnicodeScript' in 'tokenizer.json' is not supported"},
    {{.normalizer = "{\"type\": \"NFX\"}"},
     ATTN_UNSUPPORTED,
     "'normalizer' of type 'NFX' in 'tokenizer.json' is not supported"},
    {{.normalizer = "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, {\"type\": "
                    "\"NFX\"}]}"},
     ATTN_UNSUPPORTED,
     "'normalizer' of type 'NFX' in 'tokenizer.json' is not supported"},
    {{.normalizer = "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"a(\"}, \"content\": \"\"}"},
     ATTN_UNSUPPORTED,
     "the pattern 'a(' in 'tokenizer.json' cannot be compiled: missing closing parenthesis"},
    {{.decoder = "{\"type\": \"Foo\"}"},
     ATTN_UNSUPPORTED,
     "'decoder' of type 'Foo' in 'tokenizer.json' is not supported"},
    {{.post_processor = "{\"type\": \"FooProcessing\"}"},
     ATTN_UNSUPPORTED,
     "'post_processor' of type 'FooProcessing' in 'tokenizer.json' is not supported"},
    {{.model = "\"type\": \"CharBPE\","},
     ATTN_UNSUPPORTED,
     "'model' of type 'CharBPE' in 'tokenizer.json' is not supported"},
    {{.model = "\"type\": \"WordLevel\","},
     ATTN_FORMAT,
     "'model' in 'tokenizer.json' has no 'unk_token'"},
    {{.model = "\"dropout\": 0.1,"},
     ATTN_UNSUPPORTED,
     "'dropout' of 'model' in 'tokenizer.json' is 0.1, which is not supported, expected null or 0"},
    {{.model = "\"continuing_subword_prefix\": \"12345678901234567\","},
     ATTN_UNSUPPORTED,
     "'continuing_subword_prefix' of 'model' in 'tokenizer.json' has 17 bytes, at most 16 are "
     "supported"},
    {{.model = "\"end_of_word_suffix\": \"12345678901234567\","},
     ATTN_UNSUPPORTED,
     "'end_of_word_suffix' of 'model' in 'tokenizer.json' has 17 bytes, at most 16 are supported"},
    {{.top = "\"version\": \"2.0\","},
     ATTN_UNSUPPORTED,
     "'version' \"2.0\" of 'tokenizer.json' is not supported, expected \"1.0\""},
    {{.top = "\"normaliser\": null,"},
     ATTN_UNSUPPORTED,
     "'normaliser' in 'tokenizer.json' is not "
     "known"},
    {{.pre_tokenizer = "{\"type\": \"Split\", \"pattern\": {\"String\": \" \"}, \"behavior\": "
                       "\"Joined\", \"invert\": false}"},
     ATTN_UNSUPPORTED,
     "'behavior' Joined of 'pre_tokenizer' Split in 'tokenizer.json' is not supported"},
    {{.pre_tokenizer = "{\"type\": \"Punctuation\", \"behavior\": \"isolated\"}"},
     ATTN_UNSUPPORTED,
     "'behavior' isolated of 'pre_tokenizer' Punctuation in 'tokenizer.json' is not supported"},
    {{.pre_tokenizer = "{\"type\": \"CharDelimiterSplit\", \"delimiter\": \"--\"}"},
     ATTN_FORMAT,
     "'delimiter' of 'pre_tokenizer' CharDelimiterSplit in 'tokenizer.json' is --, expected one "
     "character"},
    {{.pre_tokenizer = "{\"type\": \"FixedLength\", \"length\": 0}"},
     ATTN_FORMAT,
     "'length' of 'pre_tokenizer' FixedLength in 'tokenizer.json' is 0, expected a number from 1"},
    {{.decoder = "{\"type\": \"BPEDecoder\", \"suffix\": \"\"}"},
     ATTN_FORMAT,
     "'suffix' of 'decoder' BPEDecoder in 'tokenizer.json' is , expected a string that is not "
     "empty"},
    {{.decoder = "{\"type\": \"CTC\", \"pad_token\": \"\", \"word_delimiter_token\": \"|\", "
                 "\"cleanup\": true}"},
     ATTN_FORMAT,
     "'pad_token' of 'decoder' CTC in 'tokenizer.json' is , expected a string that is not empty"},
    {{.post_processor = TEMPLATE(SEQUENCE_A ", " SEQUENCE_A)},
     ATTN_UNSUPPORTED,
     "'single' with other sequences than one A of 'post_processor' TemplateProcessing in "
     "'tokenizer.json' is not supported"},
    /* Patterns. */
    {{.pre_tokenizer = SPLIT("a(")},
     ATTN_UNSUPPORTED,
     "the pattern 'a(' in 'tokenizer.json' cannot be compiled: missing closing parenthesis"},
    {{.pre_tokenizer = SPLIT("[a[b]]")},
     ATTN_UNSUPPORTED,
     "the pattern '[a[b]]' in 'tokenizer.json' has a set within a set, which is not supported"},
    {{.pre_tokenizer = SPLIT("[^a&&b]")},
     ATTN_UNSUPPORTED,
     "the pattern '[^a&&b]' in 'tokenizer.json' has an intersection of sets, which is not "
     "supported"},
    {{.pre_tokenizer = SPLIT("\\\\p{N}{1,3}+")},
     ATTN_UNSUPPORTED,
     "the pattern '\\\\p{N}{1,3}+' in 'tokenizer.json' has a repetition that is repeated, which is "
     "not supported"},
    {{.pre_tokenizer = SPLIT("(?m:a)")},
     ATTN_UNSUPPORTED,
     "the pattern '(?m:a)' in 'tokenizer.json' has an option other than i, which is not supported"},
    {{.pre_tokenizer = SPLIT("[^\\\\W]")},
     ATTN_UNSUPPORTED,
     "the pattern '[^\\\\W]' in 'tokenizer.json' has a complement in a set, which is not "
     "supported"},
    {{.pre_tokenizer = SPLIT("(*COMMIT)a")},
     ATTN_UNSUPPORTED,
     "the pattern '(*COMMIT)a' in 'tokenizer.json' has a verb, which is not supported"},
    /* Damage. */
    {{.vocab = "[[\"a\", 0]]", .model = "\"type\": \"BPE\","},
     ATTN_FORMAT,
     "'vocab' of 'model' in 'tokenizer.json' is an array, expected an object {\"token\": id, ...}"},
    {{.model = "\"type\": \"Unigram\","},
     ATTN_FORMAT,
     "'vocab' of 'model' in 'tokenizer.json' is an object, expected a list of pieces with their "
     "scores"},
    {{.vocab = "3"},
     ATTN_FORMAT,
     "'vocab' of 'model' in 'tokenizer.json' is 3, expected an object {\"token\": id, ...}"},
    {{.vocab = "[[\"a\", 1e999]]"},
     ATTN_FORMAT,
     "piece 0 of 'vocab' in 'tokenizer.json', 'a', has score 1e999, expected a finite number"},
    {{.vocab = "[[\"a\", \"0\"]]"},
     ATTN_FORMAT,
     "piece 0 of 'vocab' in 'tokenizer.json' is not a list of a token and its score"},
    {{.vocab = "[[\"a\", 0], [\"\", 0]]"},
     ATTN_FORMAT,
     "piece 1 of 'vocab' in 'tokenizer.json' is empty"},
    {{.vocab = "[[\"a\", 0], [\"<s>\", 0]]", .model = "\"unk_id\": 2,"},
     ATTN_FORMAT,
     "'unk_id' of 'model' in 'tokenizer.json' is 2, expected the id of one of the 2 pieces"},
    {{.vocab = "[[\"a\", 0], [\"a\", 0]]"},
     ATTN_FORMAT,
     "'a' is in 'toy/tokenizer.json' twice, with ids 0 and 1"},
    {{.model = "\"type\": \"WordPiece\", \"max_input_chars_per_word\": -1,"},
     ATTN_FORMAT,
     "'max_input_chars_per_word' of 'model' in 'tokenizer.json' is -1, expected a number from 0"},
    {{.normalizer = CHARSMAP("AAA")},
     ATTN_FORMAT,
     "the charsmap in 'tokenizer.json' is not base64"},
    {{.normalizer = CHARSMAP("")}, ATTN_FORMAT, "the charsmap in 'tokenizer.json' has no size"},
    {{.normalizer = CHARSMAP("////////")},
     ATTN_FORMAT,
     "the charsmap in 'tokenizer.json' has a trie of another size than it says"},
    {{.normalizer = CHARSMAP("BAAAAAAAAAA=")},
     ATTN_FORMAT,
     "the charsmap in 'tokenizer.json' has strings that are not UTF-8, or do not end with NUL"},
    {{.normalizer = CHARSMAP("BAAAAAAAAABh")},
     ATTN_FORMAT,
     "the charsmap in 'tokenizer.json' has strings that are not UTF-8, or do not end with NUL"},
    {{.normalizer = CHARSMAP("BAAAAAD8/38A")},
     ATTN_FORMAT,
     "the charsmap in 'tokenizer.json' has a trie that leads out of it"},
    {{.normalizer = "{\"type\": \"BertNormalizer\", \"clean_text\": true, "
                    "\"handle_chinese_chars\": true, \"strip_accents\": 0, \"lowercase\": true}"},
     ATTN_FORMAT,
     "'strip_accents' of 'normalizer' BertNormalizer in 'tokenizer.json' is 0, expected true, "
     "false or null"},
    {{.vocab = "{}"}, ATTN_FORMAT, "'toy/tokenizer.json' has no tokens"},
    {{.vocab = "{\"a\": 0, \"a\": 1}"},
     ATTN_FORMAT,
     "'a' is in 'toy/tokenizer.json' twice, with ids 0 and 1"},
    {{.vocab = "{\"a\": 0, \"b\": 0}"},
     ATTN_FORMAT,
     "'a' and 'b' in 'toy/tokenizer.json' have the same id 0"},
    {{.vocab = "{\"a\": 2000000000}"},
     ATTN_UNSUPPORTED,
     "'a' in 'toy/tokenizer.json' has id 2000000000, expected at most 1000002 with 1 tokens"},
    {{.merges = "{}"},
     ATTN_FORMAT,
     "'merges' of 'model' in 'tokenizer.json' is an object, expected a list of merges"},
    {{.merges = "[\"a  b\"]"},
     ATTN_FORMAT,
     "merge 0 in 'tokenizer.json', 'a  b', is not two tokens with one space between them"},
    {{.merges = "[\"ab\"]"},
     ATTN_FORMAT,
     "merge 0 in 'tokenizer.json', 'ab', is not two tokens with one space between them"},
    {{.merges = "[[\"a\", \"b\", \"a\"]]"},
     ATTN_FORMAT,
     "merge 0 in 'tokenizer.json' is not a list of two tokens"},
    {{.merges = "[[\"a\", \"b\"], \"a b\"]"},
     ATTN_FORMAT,
     "merge 1 in 'tokenizer.json' is written otherwise than those before it"},
    {{.merges = "[7]"},
     ATTN_FORMAT,
     "merge 0 in 'tokenizer.json' is neither \"a b\" nor [\"a\", \"b\"]"},
    {{.merges = "[[\"a\", \"c\"]]"},
     ATTN_FORMAT,
     "merge 0 in 'tokenizer.json', of 'a' and 'c', has a token that the vocabulary lacks"},
    {{.merges = "[[\"a\", \"b\"], [\"b\", \"a\"]]"},
     ATTN_FORMAT,
     "merge 1 in 'tokenizer.json', of 'b' and 'a', makes a token that the vocabulary lacks"},
    {{.model = "\"type\": 3,"},
     ATTN_FORMAT,
     "'type' of 'model' in 'tokenizer.json' is 3, expected \"BPE\", \"WordPiece\", \"Unigram\" or "
     "\"WordLevel\""},
    {{.model = "\"fuse_unk\": 1,"},
     ATTN_FORMAT,
     "'fuse_unk' of 'model' in 'tokenizer.json' is 1, expected true or false"},
    {{.model = "\"vocab\": {\"a\": 0},"},
     ATTN_FORMAT,
     "'toy/tokenizer.json' has the key 'vocab' a second time at byte 133"},
    {{.added = "{}"}, ATTN_FORMAT, "'added_tokens' in 'tokenizer.json' is not a list"},
    {{.added = "[3]"}, ATTN_FORMAT, "added token 0 in 'tokenizer.json' is not an object"},
    {{.added = "[{\"id\": 4}]"}, ATTN_FORMAT, "added token 0 in 'tokenizer.json' has no 'content'"},
    {{.added = "[" TOKEN(5, "", PLAIN) "]"},
     ATTN_FORMAT,
     "'content' of added token 0 in 'tokenizer.json' is '', expected a string that is not empty"},
    {{.added = "[" TOKEN(9, "<x>", PLAIN) "]"},
     ATTN_FORMAT,
     "the added token '<x>' has id 9 in 'tokenizer.json', expected 5, the next one after "
     "the vocabulary"},
    {{.added = "[" TOKEN(0, "<s>", PLAIN) "]"},
     ATTN_FORMAT,
     "the added token '<s>' has id 0 in 'tokenizer.json', expected 4, its id in the vocabulary"},
    {{.added = "[" TOKEN(5, " ", FLAGS(false, false, false, true, false)) "]",
      .normalizer = "{\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}"},
     ATTN_FORMAT,
     "the added token ' ' has id 5 in 'tokenizer.json', expected 3, its id in the vocabulary"},
    {{.added = "[" TOKEN(5, "\\t", FLAGS(false, false, false, true, false)) "]",
      .normalizer = "{\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}"},
     ATTN_FORMAT,
     "the added token '\\t' is empty when it is normalized"},
    {{.added =
          "[" TOKEN(0, "a", PLAIN) ", " TOKEN(0, "a", FLAGS(false, false, false, true, false)) "]"},
     ATTN_FORMAT,
     "the added token 'a' is there twice"},
    {{.vocab = "{\"a\": 0, \"b\": 5}",
      .merges = "[]",
      .added = "[" TOKEN(5, "b", PLAIN) ", " TOKEN(6, "X", PLAIN) "]"},
     ATTN_UNSUPPORTED,
     "the added token 'X' in 'tokenizer.json' has id 2 or 6, as the version of tokenizers has it, "
     "which is not supported"},
    {{.vocab = "{\"a\": 0, \"b\": 2}", .merges = "[]", .added = "[" TOKEN(2, "X", PLAIN) "]"},
     ATTN_FORMAT,
     "'b' and 'X' in 'tokenizer.json' have the same id 2"},
    {{.normalizer = "[]"}, ATTN_FORMAT, "'normalizer' in 'tokenizer.json' is not an object"},
    {{.normalizer = "{}"}, ATTN_FORMAT, "'normalizer' in 'tokenizer.json' has no 'type'"},
    {{.normalizer = "{\"type\": \"NFC\", \"type\": \"NFC\"}"},
     ATTN_FORMAT,
     "'normalizer' in 'tokenizer.json' has the key 'type' a second time at byte 16, expected each "
     "key once in an object"},
    {{.pre_tokenizer = "{\"type\": \"ByteLevel\", \"trim_offsets\": true}"},
     ATTN_FORMAT,
     "'add_prefix_space' of 'pre_tokenizer' ByteLevel in 'tokenizer.json' is missing, expected "
     "true "
     "or false"},
    {{.pre_tokenizer = "{\"type\": \"Digits\", \"individual_digits\": 3}"},
     ATTN_FORMAT,
     "'individual_digits' of 'pre_tokenizer' Digits in 'tokenizer.json' is 3, expected true or "
     "false"},
    {{.pre_tokenizer = "{\"type\": \"Metaspace\", \"replacement\": \"ab\"}"},
     ATTN_FORMAT,
     "'replacement' of 'pre_tokenizer' Metaspace in 'tokenizer.json' is ab, expected one "
     "character"},
    {{.post_processor = TEMPLATE("{\"SpecialToken\": {\"id\": \"<x>\"}}, " SEQUENCE_A)},
     ATTN_FORMAT,
     "'post_processor' TemplateProcessing in 'tokenizer.json' has no ids for '<x>' in "
     "'special_tokens'"},
    {{.post_processor = "{\"type\": \"BertProcessing\", \"sep\": [\"x\", 5], \"cls\": [\"x\", 4]}"},
     ATTN_FORMAT,
     "'post_processor' BertProcessing in 'tokenizer.json' adds a token by an id that no token has"},
};

START_TEST(refuses_what_it_does_not_know)
{
    for (size_t i = 0; i < N(refused); i++) {
        struct attn_tokenizer *tokenizer = NULL;
        struct attn_error err = {0};
        const enum attn_status status = try_written(&refused[i].written, &tokenizer, &err);

        ck_assert_str_eq(err.message, refused[i].message);
        ck_assert_int_eq(status, refused[i].status);
        ck_assert_ptr_null(tokenizer);
    }
}
END_TEST

START_TEST(refuses_a_file_that_was_cut)
{
    static const char text[] =
        "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [" TOKEN(
            1, "<s>",
            PLAIN) "], \"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": " BYTE_LEVEL
                   ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": []}}";
    struct attn_blob blob = {.name = "tokenizer.json", .data = text};
    const struct attn_source source = {.name = "toy", .blobs = &blob, .n_blob = 1};

    for (blob.size = 0; blob.size < sizeof text; blob.size++) {
        struct attn_tokenizer *tokenizer = NULL;
        struct attn_error err = {0};
        const enum attn_status status = attn_tokenizer_open(&source, &tokenizer, &err);

        ck_assert_int_eq(status, blob.size < sizeof text - 1 ? ATTN_FORMAT : ATTN_OK);
        ck_assert(status == ATTN_OK || err.message[0] != '\0');
        attn_tokenizer_free(tokenizer);
    }
}
END_TEST

/* --- Patterns ----------------------------------------------------------------------------------
 */

/* Where the pieces of TEXT end. From the library tokenizers 0.23.3: a Split by the pattern, and a
 * model that has no token but the unknown one, which it fuses. */
static const struct {
    const char *pre_tokenizer;
    const char *text;
    const char *ends;
} pieces[] = {
    {SPLIT("a{,2}"), "aab", "2 3"},
    {SPLIT("a{,2}?b"), "aab", "3"},
    {SPLIT("[\\\\v]"), "a\013b\012\302\205", "1 2 6"},
    {SPLIT("\\\\v"), "a\013b\012", "1 2 4"},
    {SPLIT("\\\\R"), "a\015\012\302\205b\342\200\250", "1 3 5 6 9"},
    {SPLIT("\\\\u0061|\\\\x62|\\\\x{63}|\\\\0144"), "abcd", "1 2 3 4"},
    {SPLIT("\\\\p{Han}+"), "\346\274\242\345\255\227\343\203\273\343\203\274", "6 12"},
    {SPLIT("[\\\\p{Katakana}]"), "\343\202\242\343\203\273\343\203\274", "3 9"},
    {SPLIT("\\\\p{Greek}"), "\315\205\316\271", "2 4"},
    {SPLIT("\\\\p{^L}"), "a1b", "1 2 3"},
    {SPLIT("(?i)\\\\p{Lu}"), "aA", "1 2"},
    {SPLIT("a(?i)b|c"), "abC aB Ac", "2 4 6 9"},
    {SPLIT("a|b(?i)|c"), "aBcC", "1 4"},
    {SPLIT("(?:a(?i)|b)"), "abB", "1 3"},
    {SPLIT("(?i)a|b(?-i)c|d"), "bdBD", "2 4"},
    {SPLIT("x(?i)|a(?-i)|B"), "xAbB", "1 4"},
    {SPLIT("(?=a(?i)|b)b"), "abB", "3"},
    {SPLIT("(?i:'s|'t|'re|'ve|'m|'ll|'d)"), "I'LL he's '\305\277", "1 4 7 9 10 13"},
    {SPLIT("(?i:['\\u2019]s)"), "a\342\200\231S", "1 5"},
    {SPLIT("(?i)k"), "kK\342\204\252", "1 2 5"},
    {SPLIT("(?i)[^s]"), "sS\305\277a", "4 5"},
    {SPLIT("a(?#c\\\\))+"), "aab", "2 3"},
    {SPLIT("(a|b)\\\\1"), "aabab", "2 5"},
    {SPLIT("a{x}{"), "a{x}{b", "5 6"},
    {SPLIT("(?:a|b){2}"), "abab", "2 4"},
    {SPLIT("[\\\\w.-]+"), "a.-b c", "4 5 6"},
    {SPLIT("a{2}"), "aaa", "2 3"},
    {SPLIT("[^\\\\S]"), "a \302\205", "1 2 4"},
    {SPLIT("(?<=\\\\s)\\\\S+"), " ab cd", "1 3 4 6"},
    {SPLIT("\\\\H"), "aG\316\221", "1 2 4"},
    /* U+10D40 is a number since Unicode 16, U+11DE0 since 17 */
    {SPLIT("\\\\p{N}"), "a\360\220\265\2007\360\221\267\240b", "1 5 6 11"},
    {"{\"type\": \"Digits\", \"individual_digits\": false}", "a\360\220\265\2007\360\221\267\240b",
     "1 10 11"},
    {"{\"type\": \"Digits\", \"individual_digits\": true}", "a\360\221\267\2407b", "1 5 6 7"},
    /* kana is Han; the space and characters without a script belong to the piece before */
    {SCRIPTS, "\343\201\251\343\203\252\343\203\274\347\224\237\343\200\202Yes", "12 15 18"},
    {SCRIPTS, " a 1b\315\270\320\266", "3 4 7 9"},
    {SCRIPTS, "a\314\200a", "1 3 4"},
    {SCRIPTS, "  ", ""},
};

START_TEST(splits_as_oniguruma_does)
{
    for (size_t i = 0; i < N(pieces); i++) {
        const struct written written = {.vocab = "{\"<u>\": 0}",
                                        .merges = "[]",
                                        .model = "\"unk_token\": \"<u>\", \"fuse_unk\": true,",
                                        .pre_tokenizer = pieces[i].pre_tokenizer};
        struct attn_tokenizer *tokenizer = open_written(&written);
        struct attn_encoding encoding = {0};
        struct attn_error err = {0};
        char ends[100] = "";

        ck_assert(attn_tokenizer_encode(tokenizer, pieces[i].text, strlen(pieces[i].text), NULL,
                                        &encoding, &err) == ATTN_OK);
        for (size_t k = 0; k < encoding.n; k++) {
            const size_t used = strlen(ends);

            snprintf(ends + used, sizeof ends - used, "%s%zu", k > 0 ? " " : "", encoding.end[k]);
        }
        ck_assert_msg(strcmp(ends, pieces[i].ends) == 0, "%s of '%s': %s, expected %s",
                      pieces[i].pre_tokenizer, pieces[i].text, ends, pieces[i].ends);
        attn_encoding_release(&encoding);
        attn_tokenizer_free(tokenizer);
    }
}
END_TEST

/* Patterns that PCRE2 compiles, and Oniguruma reads otherwise. */
static const struct {
    const char *pre_tokenizer;
    const char *what;
} foreign[] = {
    {SPLIT("\\\\V"), "an escape that means something else to PCRE2"},
    {SPLIT("\\\\X"), "an escape that means something else to PCRE2"},
    {SPLIT("\\\\pL"), "\\p without braces"},
    {SPLIT("[\\\\pN]"), "\\p without braces"},
    {SPLIT("\\\\p{L&}"), "a property that is not known"},
    {SPLIT("\\\\x"), "a character without its number"},
    {SPLIT("[\\\\x]"), "a character without its number"},
    {SPLIT("\\\\xe9"), "a byte that is no character"},
    {SPLIT("(?i)ss"), "letters that a ligature stands for where case does not matter"},
    {SPLIT("(?i:S\\\\x{53})"), "letters that a ligature stands for where case does not matter"},
    {SPLIT("(?i:\\u00df)"), "letters beyond ASCII where case does not matter"},
    {SPLIT("(?i)[\\ufb00]"), "letters beyond ASCII where case does not matter"},
    {SPLIT("(?i)[\\\\p{Lu}]"), "letters beyond ASCII where case does not matter"},
    {SPLIT("a{2}?"), "a repetition that is repeated"},
    {SPLIT("a+{2}"), "a repetition that is repeated"},
    {SPLIT("\\\\b+"), "a repetition of nothing"},
    {SPLIT("a|{2}"), "a repetition of nothing"},
    {SPLIT("(?:\\\\S|$){2}"), "a counted repetition of what may be empty"},
    {SPLIT("[!-\\\\s]"), "a range that a class ends"},
    {SPLIT("[\\\\w-z]"), "a range that a class ends"},
    {SPLIT("(?<x>a)(b)\\\\1"), "names of groups and references by number"},
    {SPLIT("(?|a|b)"), "a kind of group that is not known"},
    {SPLIT("(?#a"), "a comment without an end"},
};

START_TEST(refuses_what_oniguruma_reads_otherwise)
{
    for (size_t i = 0; i < N(foreign); i++) {
        const struct written written = {.pre_tokenizer = foreign[i].pre_tokenizer};
        struct attn_tokenizer *tokenizer = NULL;
        struct attn_error err = {0};
        char expected[200];

        ck_assert_msg(try_written(&written, &tokenizer, &err) == ATTN_UNSUPPORTED, "%s",
                      foreign[i].pre_tokenizer);
        snprintf(expected, sizeof expected, "in 'tokenizer.json' has %s, which is not supported",
                 foreign[i].what);
        ck_assert_msg(strstr(err.message, expected) != NULL, "%s", err.message);
    }
}
END_TEST

/* --- What is done with a text ----------------------------------------------------------------- */

START_TEST(says_which_tokens_it_added)
{
    const struct written written = {.post_processor =
                                        TEMPLATE(SPECIAL ", " SEQUENCE_A ", " SPECIAL)};
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    ck_assert(attn_tokenizer_encode(tokenizer, "ab", 2, &options, &encoding, &err) == ATTN_OK);
    ck_assert_uint_eq(encoding.n, 3);
    ck_assert_uint_eq(encoding.n_front, 1);
    ck_assert_uint_eq(encoding.n_back, 1);
    ck_assert_uint_eq(encoding.end[0] + encoding.end[2], 0);
    ck_assert_uint_eq(encoding.end[1], 2);
    ck_assert(attn_tokenizer_encode(tokenizer, "", 0, &options, &encoding, &err) == ATTN_OK);
    ck_assert_uint_eq(encoding.n, 2);
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    ck_assert(attn_tokenizer_encode(tokenizer, "ab", 2, &options, &encoding, &err) == ATTN_OK);
    ck_assert_uint_eq(encoding.n, 1);
    ck_assert_uint_eq(encoding.n_front + encoding.n_back, 0);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(puts_nothing_before_a_text_that_continues_another)
{
    static const char *const prefixing[] = {"llama2", "mistral", "added_traps"};
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;

    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    options.place = ATTN_TEXT_CONTINUES;
    for (size_t i = 0; i < N(prefixing); i++) {
        struct attn_tokenizer *tokenizer = open_style(prefixing[i]);
        struct attn_encoding encoding = {0};
        struct attn_error err = {0};
        size_t size;

        ck_assert(attn_tokenizer_encode(tokenizer, " the", 4, &options, &encoding, &err) ==
                  ATTN_OK);
        ck_assert_uint_eq(encoding.n, 1);
        ck_assert_mem_eq(attn_tokenizer_token(tokenizer, encoding.ids[0], &size), " the", 4);
        ck_assert(attn_tokenizer_encode(tokenizer, "he", 2, &options, &encoding, &err) == ATTN_OK);
        ck_assert_uint_eq(encoding.n, 1);
        ck_assert_mem_eq(attn_tokenizer_token(tokenizer, encoding.ids[0], &size), "he", 2);
        attn_encoding_release(&encoding);
        attn_tokenizer_free(tokenizer);
    }
}
END_TEST

/* Of tokenizers that take white space away, only a word at the begin goes on with the one before.
 */
START_TEST(puts_a_space_before_words_but_for_one_that_continues_another)
{
    static const struct written written = {
        .vocab = "[[\"\xe2\x96\x81"
                 "a\", -1], [\"a\", -2], [\"\xe2\x96\x81\", -5]]",
        .pre_tokenizer = "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": "
                         "\"WhitespaceSplit\"}, {\"type\": \"Metaspace\", \"replacement\": "
                         "\"\xe2\x96\x81\"}]}"};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    ASSERT_TEXT(tokenizer, "a  a", 0, 0);
    options.place = ATTN_TEXT_CONTINUES;
    ck_assert(attn_tokenizer_encode(tokenizer, "a a", 3, &options, &encoding, &err) == ATTN_OK);
    ck_assert_uint_eq(encoding.n, 2);
    ck_assert_int_eq(encoding.ids[0], 1);
    ck_assert_int_eq(encoding.ids[1], 0);
    ck_assert(attn_tokenizer_encode(tokenizer, " a", 2, &options, &encoding, &err) == ATTN_OK);
    ck_assert_uint_eq(encoding.n, 1);
    ck_assert_int_eq(encoding.ids[0], 0);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(leaves_special_tokens_to_the_model_when_they_are_text)
{
    const struct written written = {.vocab = "{\"<\": 0, \"s\": 1, \">\": 2, \"<s>\": 3}",
                                    .merges = "[]",
                                    .added = "[" TOKEN(3, "<s>", PLAIN) ", " TOKEN(
                                        4, "ss", FLAGS(false, false, false, false, false)) "]"};
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    ASSERT_TEXT(tokenizer, "<s>ss", 3, 4);
    options.special = ATTN_SPECIAL_TEXT;
    ck_assert(attn_tokenizer_encode(tokenizer, "<s>ss", 5, &options, &encoding, &err) == ATTN_OK);
    ck_assert_uint_eq(encoding.n, 4); /* not ss, which is not special */
    ck_assert_int_eq(encoding.ids[3], 4);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(keeps_added_tokens_from_the_model)
{
    /* x is found where it stands alone, and is not a token of the model elsewhere. */
    const struct written written = {
        .added = "[" TOKEN(5, "x", FLAGS(true, false, false, false, false)) "]",
        .model = "\"unk_token\": \"<s>\", \"ignore_merges\": true,"};
    struct attn_tokenizer *tokenizer = open_written(&written);

    ASSERT_TEXT(tokenizer, "x ax", 5, 3, 0, 4);
    ASSERT_TEXT(tokenizer, "x\xc2\xbd", 5, 4); /* one half is no letter */
    ASSERT_TEXT(tokenizer, "x\xcc\x81", 4, 4); /* an accent is */
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(strips_what_is_not_taken)
{
    const struct written written = {
        .vocab = "{\"a\": 0, \" \": 1}",
        .merges = "[]",
        .added = "[" TOKEN(2, "<r>", FLAGS(false, false, true, false, false)) ", " TOKEN(
            3, "<l>", FLAGS(false, true, false, false, false)) ", " TOKEN(4, "  ", PLAIN) "]"};
    struct attn_tokenizer *tokenizer = open_written(&written);

    ASSERT_TEXT(tokenizer, "a <r> a <l> a", 0, 1, 2, 0, 3, 1, 0);
    ASSERT_TEXT(tokenizer, "<r> <l>", 2, 3);
    ASSERT_TEXT(tokenizer, "<r>  a", 2, 4, 0); /* found although it is taken, as in the library */
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(takes_unknown_characters_as_the_model_says)
{
    static const char vocab[] = "{\"a\": 0, \"<u>\": 1, \"<0xC3>\": 2, \"<0xA9>\": 3}";
    struct written written = {.vocab = vocab, .merges = "[]"};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    ASSERT_TEXT(tokenizer, "axxa", 0, 0); /* dropped */
    attn_tokenizer_free(tokenizer);
    written.model = "\"unk_token\": \"<u>\",";
    tokenizer = open_written(&written);
    ASSERT_TEXT(tokenizer, "axxa", 0, 1, 1, 0);
    attn_tokenizer_free(tokenizer);
    written.model = "\"unk_token\": \"<u>\", \"fuse_unk\": true, \"byte_fallback\": true,";
    tokenizer = open_written(&written);
    ASSERT_TEXT(tokenizer, "axxa\xc3\xa9", 0, 1, 0, 2, 3);
    attn_tokenizer_free(tokenizer);
    written.model = "\"unk_token\": \"<v>\",";
    tokenizer = open_written(&written);
    ck_assert(attn_tokenizer_encode(tokenizer, "ax", 2, NULL, &encoding, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "'toy': the vocabulary has neither a token for 'x', found at byte 1, nor "
                     "its unknown token '<v>'");
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(takes_the_first_of_equal_sums)
{
    static const struct written written = {.vocab = "[[\"a\", -1], [\"aa\", -2], [\"<unk>\", 0]]",
                                           .model = "\"type\": \"Unigram\", \"unk_id\": 2,"};
    static const struct written without = {.vocab = "[[\"a\", -1]]"};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    ASSERT_TEXT(tokenizer, "aaa", 0, 1);
    ASSERT_TEXT(tokenizer, "xyaz", 2, 0, 2); /* unknown neighbours are one */
    attn_tokenizer_free(tokenizer);
    tokenizer = open_written(&without);
    ck_assert(attn_tokenizer_encode(tokenizer, "ab", 2, NULL, &encoding, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "'toy': the vocabulary has no token for 'b', and no unknown token");
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(takes_the_longest_tokens_of_a_word)
{
    static const struct written written = {
        .vocab = "{\"a\": 0, \"ab\": 1, \"##c\": 2, \"##cd\": 3, \"?\": 4}",
        .model = "\"type\": \"WordPiece\", \"unk_token\": \"?\", \"max_input_chars_per_word\": 4,"};
    static const struct written without = {.vocab = "{\"a\": 0}",
                                           .model = "\"type\": \"WordPiece\","};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    bool begins[4];

    ASSERT_TEXT(tokenizer, "abcd", 1, 3);
    ASSERT_TEXT(tokenizer, "abcb", 4);  /* its end is no token */
    ASSERT_TEXT(tokenizer, "abccd", 4); /* too long */
    attn_words_mark(tokenizer, (const int32_t[]){1, 3, 0, 4}, 4, begins);
    ck_assert(begins[0] && !begins[1] && begins[2] && begins[3]);
    attn_tokenizer_free(tokenizer);
    tokenizer = open_written(&without);
    ck_assert(attn_tokenizer_encode(tokenizer, "ab", 2, NULL, &encoding, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "'toy': the vocabulary has neither tokens for 'ab', found at byte 0, nor "
                     "its unknown token '[UNK]'");
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(takes_words_as_a_whole)
{
    static const struct written written = {
        .vocab = "{\"cat\": 0, \"the\": 1, \"?\": 2, \"the cat\": 3}",
        .model = "\"type\": \"WordLevel\", \"unk_token\": \"?\",",
        .added = "[{\"id\": 4, \"content\": \"New\", \"single_word\": true, \"lstrip\": false, "
                 "\"rstrip\": false, \"normalized\": false, \"special\": true}]",
        .pre_tokenizer = "{\"type\": \"Whitespace\"}"};
    static const struct written whole = {.vocab = "{\"the cat\": 0}",
                                         .model = "\"type\": \"WordLevel\", \"unk_token\": \"?\","};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    ck_assert(attn_tokenizer_kind(tokenizer) == ATTN_TOKENIZER_WORD);
    ASSERT_TEXT(tokenizer, "the cat", 1, 0);
    ASSERT_TEXT(tokenizer, " the-cat  cats New", 1, 2, 0, 2, 4);
    ASSERT_TEXT(tokenizer, "xNew", 2); /* the token is added, and no word of the model */
    ck_assert(attn_tokenizer_is_unknown(tokenizer, 2) && !attn_tokenizer_is_unknown(tokenizer, 0));
    attn_tokenizer_free(tokenizer);
    tokenizer = open_written(&whole);
    ASSERT_TEXT(tokenizer, "the cat", 0);
    ck_assert(attn_tokenizer_encode(tokenizer, "the cad", 7, NULL, &encoding, &err) ==
              ATTN_INVALID);
    ck_assert_str_eq(err.message, "'toy': unknown word 'the cad' (word 0, byte 0)");
    ck_assert_str_eq(err.hint, "did you mean 'the cat'?");
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(knows_words_by_their_members)
{
    static const char text[] =
        "{\"model\": {\"vocab\": {\"a\": 0, \"?\": 1}, \"unk_token\": \"?\"}}";
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    ck_assert_msg(open_text(text, sizeof text - 1, &tokenizer, &err) == ATTN_OK, "%s", err.message);
    ASSERT_TEXT(tokenizer, "a b", 1);
    attn_tokenizer_free(tokenizer);
}
END_TEST

/* One that asks for more than the square of a text's length. */
START_TEST(tokens_that_take_too_long_to_find_are_refused)
{
    enum { N_LETTER = 40000 };
    struct attn_buffer vocab = {0}, word = {0};
    struct written written = {.model =
                                  "\"type\": \"WordPiece\", \"max_input_chars_per_word\": 100000,"};
    struct attn_tokenizer *tokenizer;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    for (int i = 0; i < N_LETTER; i++)
        attn_buffer_append_char(&word, 'a');
    attn_buffer_append_format(&vocab, "{\"[UNK]\": 0, \"a\": 1, \"##a\": 2, \"%sb\": 3}",
                              attn_buffer_string(&word));
    written.vocab = attn_buffer_string(&vocab);
    tokenizer = open_written(&written);
    ck_assert(attn_tokenizer_encode(tokenizer, word.data, N_LETTER, NULL, &encoding, &err) ==
              ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, "the tokenizer takes too long to find the tokens of the text");
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&vocab);
    attn_buffer_release(&word);
    attn_encoding_release(&encoding);
}
END_TEST

START_TEST(takes_holes_between_ids)
{
    const struct written written = {.vocab = "{\"a\": 1, \"b\": 7, \"ab\": 100}"};
    static const int32_t ids[] = {7, 2, 1000, 1};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_error err = {0};
    size_t size;
    char *text;

    ck_assert_uint_eq(attn_tokenizer_n_vocab(tokenizer), 101);
    ck_assert_ptr_null(attn_tokenizer_token(tokenizer, 2, &size));
    ck_assert_ptr_nonnull(attn_tokenizer_token(tokenizer, 100, &size));
    ASSERT_TEXT(tokenizer, "aba", 100, 1);
    /* Ids without a token have no text. */
    ck_assert(attn_tokenizer_decode(tokenizer, ids, N(ids), &text, &size, &err) == ATTN_OK);
    ck_assert_str_eq(text, "b a");
    attn_tokenizer_text_free(text);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(numbers_new_tokens_from_the_keys_on)
{
    /* tokenizers 0.19.1 and 0.23.3 agree: holes are filled, also by the second of two. */
    const struct written written = {.vocab = "{\"a\": 0, \"b\": 5}",
                                    .merges = "[]",
                                    .added =
                                        "[" TOKEN(2, "X", PLAIN) ", " TOKEN(3, "Y", PLAIN) "]"};
    struct attn_tokenizer *tokenizer = open_written(&written);

    ASSERT_TEXT(tokenizer, "abXY", 0, 5, 2, 3);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(a_piece_of_the_first_character_is_at_the_start)
{
    /* From tokenizers 0.23.3: both bytes of the first character get a U+2581 before them. */
    const struct written written = {
        .vocab = "{\"\\u2581\": 0, \"\\u00c3\": 1, \"\\u00a9\": 2}",
        .merges = "[]",
        .pre_tokenizer =
            "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\", "
            "\"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}, "
            "{\"type\": \"Sequence\", \"pretokenizers\": [" SPLIT(
                ".") "]}, {\"type\": "
                     "\"Metaspace\", \"replacement\": \"\\u2581\", \"prepend_scheme\": \"first\", "
                     "\"split\": false}]}"};
    struct attn_tokenizer *tokenizer = open_written(&written);

    ASSERT_TEXT(tokenizer, "\xc3\xa9\xc3\xa9", 0, 1, 0, 2, 1, 2);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(bytes_that_are_not_utf8_end_a_piece_that_waits_for_what_follows)
{
    /* U+2581 begins a piece, and 0xff comes after it. */
    const struct written written = {
        .vocab = "{\"a\": 0, \"x\": 1, \"\u00e2\": 2, \"\u0138\": 3, \"\u0123\": 4, "
                 "\"\u00ff\": 5}",
        .merges = "[]",
        .pre_tokenizer =
            "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Metaspace\", "
            "\"replacement\": \"\u2581\", \"prepend_scheme\": \"never\"}, " BYTE_LEVEL "]}"};
    static const int32_t expected[] = {0, 2, 3, 4, 5, 1};
    struct attn_tokenizer *tokenizer = open_written(&written);
    const struct attn_encode_options options = {.size = sizeof options,
                                                .invalid = ATTN_INVALID_TEXT_BYTES};
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    ck_assert_msg(attn_tokenizer_encode(tokenizer, "a \xffx", 4, &options, &encoding, &err) ==
                      ATTN_OK,
                  "%s", err.message);
    ck_assert_uint_eq(encoding.n, N(expected));
    for (size_t i = 0; i < N(expected); i++)
        ck_assert_int_eq(encoding.ids[i], expected[i]);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(merges_in_loops_end)
{
    /* Each pair makes a token that a pair makes again, and some come twice. */
    const struct written written = {
        .vocab = "{\"a\": 0, \"aa\": 1, \"aaa\": 2, \"aaaa\": 3}",
        .merges = "[\"aa a\", \"a aa\", \"aa aa\", \"a a\", \"aa aa\", \"a aaa\", \"aa a\"]"};
    struct attn_tokenizer *tokenizer = open_written(&written);

    ASSERT_TEXT(tokenizer, "aaaaaa", 3, 1);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(reads_merges_before_the_vocabulary)
{
    static const char text[] = "{\"model\": {\"merges\": [\"#version: 0.2\", \"a b\"], \"vocab\": "
                               "{\"a\": 0, \"b\": 1, \"ab\": 2}}}";
    const struct attn_blob blobs[] = {{"tokenizer.json", text, sizeof text - 1},
                                      {"vocab.json", "{\"c\": 0}", 8}};
    const struct attn_source source = {.name = "toy", .blobs = blobs, .n_blob = 2};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_tokenizer_open(&source, &tokenizer, &err) == ATTN_OK, "%s", err.message);
    ASSERT_TEXT(tokenizer, "ab", 2);
    ck_assert_ptr_null(attn_tokenizer_note(tokenizer));
    ck_assert_str_eq(attn_tokenizer_detail(tokenizer),
                     "'tokenizer.json' is read, 'vocab.json' beside it is not");
    attn_tokenizer_free(tokenizer);
}
END_TEST

/* --- Hostile files ---------------------------------------------------------------------------- */

START_TEST(patterns_that_backtrack_without_end_are_refused)
{
    const struct written written = {.pre_tokenizer = SPLIT("(a+|b|ab)*c")};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    char text[200];

    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 2, "!c", 2); /* PCRE2 sees that c is needed */
    ck_assert(attn_tokenizer_encode(tokenizer, text, sizeof text, NULL, &encoding, &err) ==
              ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, "the tokenizer's pattern takes too long to split the text: match "
                                  "limit exceeded");
    ck_assert(attn_tokenizer_encode(tokenizer, "aab", 3, NULL, &encoding, &err) == ATTN_OK);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(patterns_that_look_far_at_each_place_are_refused)
{
    enum { SIZE = 1 << 20 };
    const struct written written = {.pre_tokenizer = SPLIT("a*b|a|.")};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    char *text = malloc(SIZE);

    ck_assert_ptr_nonnull(text);
    memset(text, 'a', SIZE);
    memcpy(text + SIZE - 2, " b", 2);
    ck_assert(attn_tokenizer_encode(tokenizer, text, SIZE, NULL, &encoding, &err) ==
              ATTN_UNSUPPORTED);
    /* What it looks at is one piece each time: no harm. */
    memset(text, ' ', SIZE);
    for (size_t i = 0; i < SIZE; i += 1 << 17)
        text[i] = 'b';
    ck_assert(attn_tokenizer_encode(tokenizer, text, SIZE, NULL, &encoding, &err) == ATTN_OK);
    ck_assert_uint_eq(encoding.n, SIZE);
    free(text);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(patterns_that_pass_over_a_run_at_each_place_are_refused)
{
    /* PCRE2's match limit does not count a possessive repetition. */
    enum { SIZE = 60000 };
    const struct written written = {.pre_tokenizer =
                                        SPLIT("a*+\\u0400|a*+\\u0401|a*+\\u0402|a*+\\u0403|a")};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    char *text = malloc(SIZE);

    ck_assert_ptr_nonnull(text);
    memset(text, 'a', SIZE);
    ck_assert(attn_tokenizer_encode(tokenizer, text, SIZE, NULL, &encoding, &err) ==
              ATTN_UNSUPPORTED);
    /* Short runs are no harm, however many there are. */
    for (size_t i = 0; i < SIZE; i += 50)
        text[i] = 'b';
    ck_assert_msg(attn_tokenizer_encode(tokenizer, text, SIZE, NULL, &encoding, &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_uint_eq(encoding.n, SIZE);
    free(text);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(large_patterns_are_refused)
{
    static const struct {
        const char *part;
        size_t n;
        const char *message;
    } large[] = {
        {"a", 65537, "a pattern in 'toy' has 65537 bytes, at most 65536 are supported"},
        {"\\b", 30000, "in 'toy' has too many escapes, which is not supported"},
        {"(", 200, "in 'toy' has groups within groups within groups, too many, which is not"},
        {"(?<=a{300})", 1, "in 'toy' looks back at 300 characters, at most 255 are supported"},
    };

    for (size_t i = 0; i < N(large); i++) {
        struct attn_buffer text = {0};
        struct attn_regex *pattern = NULL;
        struct attn_error err = {0};

        for (size_t k = 0; k < large[i].n; k++)
            attn_buffer_append_string(&text, large[i].part);
        ck_assert_int_eq(attn_regex_create(text.data, text.size, "toy", false, &pattern, &err),
                         ATTN_UNSUPPORTED);
        ck_assert_msg(strstr(err.message, large[i].message) != NULL, "%s", err.message);
        attn_buffer_release(&text);
    }
}
END_TEST

START_TEST(ends_when_it_is_canceled)
{
    static const char text[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const struct written written = {.pre_tokenizer = SPLIT("b")};
    volatile sig_atomic_t cancel = 0;
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_regex *pattern = NULL;
    struct attn_match *match = NULL;
    struct attn_match_range found;
    struct attn_error err = {0};

    options.cancel = &cancel;
    ck_assert(attn_tokenizer_encode(tokenizer, text, 9, &options, &encoding, &err) == ATTN_OK);
    cancel = 1;
    ck_assert(attn_tokenizer_encode(tokenizer, text, 9, &options, &encoding, &err) ==
              ATTN_CANCELED);
    ck_assert_uint_eq(encoding.n, 0);
    /* Within a match, where it needs more than a few words of the text. */
    ck_assert(attn_regex_create("a*+b", 4, "toy", false, &pattern, &err) == ATTN_OK);
    ck_assert(attn_match_create(pattern, sizeof text, &match, &err) == ATTN_OK);
    attn_match_watch(match, &cancel);
    ck_assert(attn_match_find(match, text, sizeof text - 1, 0, &found, &err) == ATTN_CANCELED);
    attn_match_watch(match, NULL);
    ck_assert(attn_match_find(match, text, sizeof text - 1, 0, &found, &err) == ATTN_OK);
    ck_assert_uint_eq(found.begin, sizeof text);
    attn_match_free(match);
    attn_regex_free(pattern);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(texts_that_grow_without_end_are_refused)
{
    /* Eight times eight times a thousand: what a text of one byte may become, and more. */
#define EIGHT "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"aaaaaaaa\"}"
#define SIXTY_FOUR EIGHT ", " EIGHT
    static const char some[] = "{\"type\": \"Sequence\", \"normalizers\": [" SIXTY_FOUR "]}";
    static const char more[] = "{\"type\": \"Sequence\", \"normalizers\": [" SIXTY_FOUR
                               ", " SIXTY_FOUR ", " SIXTY_FOUR "]}";
    struct written written = {.normalizer = some};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    ck_assert(attn_tokenizer_encode(tokenizer, "aa", 2, NULL, &encoding, &err) == ATTN_OK);
    ck_assert_uint_eq(encoding.n, 128);
    attn_tokenizer_free(tokenizer);
    written.normalizer = more;
    tokenizer = open_written(&written);
    ck_assert(attn_tokenizer_encode(tokenizer, "a", 1, NULL, &encoding, &err) == ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, "the tokenizer makes more than 64 times its bytes of the text, "
                                  "which is not supported");
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(decoders_that_grow_without_end_are_refused)
{
    static const char some[] = "{\"type\": \"Sequence\", \"decoders\": [" SIXTY_FOUR "]}";
    static const char more[] = "{\"type\": \"Sequence\", \"decoders\": [" SIXTY_FOUR ", " SIXTY_FOUR
                               ", " SIXTY_FOUR ", " SIXTY_FOUR "]}";
    /* Single tokens stay as they are, but two that are joined do not. */
    static const char joined[] =
        "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Fuse\"}, {\"type\": "
        "\"Replace\", \"pattern\": {\"String\": \"b \"}, \"content\": \"a\"}, " SIXTY_FOUR
        ", " SIXTY_FOUR ", " SIXTY_FOUR ", " SIXTY_FOUR "]}";
    static const char message[] = "the tokenizer's decoder makes more than 64 times their bytes of "
                                  "the tokens, which is not supported";
    const int32_t ids[] = {1, 3};
    struct written written = {.decoder = some};
    struct attn_tokenizer *tokenizer = open_written(&written);
    struct attn_error err = {0};
    char *text = NULL;
    size_t size = 0;

    ck_assert(attn_tokenizer_decode(tokenizer, (const int32_t[]){0, 0}, 2, &text, &size, &err) ==
              ATTN_OK);
    ck_assert_uint_eq(size, 128);
    attn_tokenizer_text_free(text);
    attn_tokenizer_free(tokenizer);
    written.decoder = more; /* what a single token stands for is found when it is opened */
    ck_assert(try_written(&written, &tokenizer, &err) == ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, message);
    written = (struct written){
        .decoder = joined, .vocab = "{\"c\": 0, \"b\": 1, \"cb\": 2, \" \": 3}", .merges = "[]"};
    tokenizer = open_written(&written);
    err = (struct attn_error){0};
    text = NULL;
    ck_assert(attn_tokenizer_decode(tokenizer, ids, 2, &text, &size, &err) == ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, message);
    ck_assert_ptr_null(text);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(finds_many_added_tokens_quickly)
{
    enum { N_TOKEN = 100000, SIZE = 1 << 20 };
    struct attn_buffer added = {0}, text = {0};
    struct written written = {.vocab = "{\"a\": 0, \"b\": 1, \"ab\": 2}"};
    struct attn_tokenizer *tokenizer;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    /* aaaa...b of many lengths: every place of the text may begin each of them. */
    for (int i = 0; i < N_TOKEN; i++)
        attn_buffer_append_format(&added, "%s{\"id\": %d, \"content\": \"%.*s<%d>\", " PLAIN "}",
                                  i == 0 ? "[" : ",", i + 3, i % 20, "aaaaaaaaaaaaaaaaaaaa", i);
    attn_buffer_append_string(&added, "]");
    written.added = attn_buffer_string(&added);
    tokenizer = open_written(&written);
    for (int i = 0; i < SIZE; i++)
        attn_buffer_append_char(&text, 'a');
    attn_buffer_append_string(&text, "<19>");
    ck_assert(attn_tokenizer_encode(tokenizer, text.data, text.size, NULL, &encoding, &err) ==
              ATTN_OK);
    ck_assert_uint_eq(encoding.n, SIZE - 19 + 1);
    ck_assert_int_eq(encoding.ids[encoding.n - 1], 19 + 3);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&added);
    attn_buffer_release(&text);
}
END_TEST

START_TEST(refuses_more_bytes_of_added_tokens_than_it_can_search)
{
    enum { SIZE = 4 << 20 };
    struct attn_buffer added = {0};
    struct written written = {.added = NULL};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    char *token = malloc(SIZE + 1);

    ck_assert_ptr_nonnull(token);
    memset(token, 'x', SIZE);
    token[SIZE] = '\0';
    attn_buffer_append_format(&added, "[{\"id\": 5, \"content\": \"%s\", " PLAIN "}]", token);
    written.added = attn_buffer_string(&added);
    ck_assert(try_written(&written, &tokenizer, &err) == ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, "the added tokens have more than 4194304 bytes in all");
    attn_buffer_release(&added);
    free(token);
}
END_TEST

static void cut(const char *file, size_t size)
{
    const size_t step = attn_one_in(997);

    for (size_t n = 0; n < size; n += step) {
        struct attn_tokenizer *tokenizer = NULL;
        struct attn_error err = {0};

        ck_assert_int_eq(open_text(file, n, &tokenizer, &err), ATTN_FORMAT);
        ck_assert(err.message[0] != '\0');
    }
}

/* One length in 997 of each style; with TORTURE=full every one. */
START_TEST(refuses_styles_that_were_cut)
{
    const size_t step = attn_one_in(997);

    for (size_t i = 0; i < N(styles); i++) {
        char path[100];
        struct attn_file file = {0};
        struct attn_error err = {0};
        struct attn_blob blob = {.name = "tokenizer.json"};
        const struct attn_source source = {.name = "toy", .blobs = &blob, .n_blob = 1};

        snprintf(path, sizeof path, "tests/fixtures/tokenizers/%s/tokenizer.json", styles[i]);
        ck_assert(attn_file_open(path, ATTN_READ, &file, &err) == ATTN_OK);
        for (size_t size = 0; size < file.size - 1; size += step) {
            struct attn_tokenizer *tokenizer = NULL;

            err = (struct attn_error){0};
            blob.data = file.data;
            blob.size = size;
            ck_assert_int_eq(attn_tokenizer_open(&source, &tokenizer, &err), ATTN_FORMAT);
            ck_assert(err.message[0] != '\0');
        }
        attn_file_release(&file);
    }
    each_golden(NULL, cut);
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    static const char text[] = "abc e\xcc\x81<s> 12 \xe1\xb8\x8b\xcc\xa3 the end of it";
    bool has_failed;

    for (size_t i = 0; i < N(styles); i++) {
        has_failed = true;
        for (long n = 0; has_failed; n++) {
            char folder[100], *decoded = NULL;
            const struct attn_source source = {.directory = folder};
            struct attn_tokenizer *tokenizer = NULL;
            struct attn_encoding encoding = {0};
            struct attn_error err = {0};
            size_t size;
            enum attn_status status;

            snprintf(folder, sizeof folder, "tests/fixtures/tokenizers/%s", styles[i]);
            attn_alloc_fail_at(n);
            status = attn_tokenizer_open(&source, &tokenizer, &err);
            if (status == ATTN_OK)
                status =
                    attn_tokenizer_encode(tokenizer, text, sizeof text - 1, NULL, &encoding, &err);
            if (status == ATTN_OK)
                status = attn_tokenizer_decode(tokenizer, encoding.ids, encoding.n, &decoded, &size,
                                               &err);
            has_failed = attn_alloc_count() > n; /* not: failed with it; PCRE2 can do without JIT */
            attn_alloc_fail_off();
            ck_assert_msg(status == ATTN_OK || (status == ATTN_NO_MEMORY && has_failed), "%s",
                          err.message);
            attn_tokenizer_text_free(decoded);
            attn_encoding_release(&encoding);
            attn_tokenizer_free(tokenizer);
        }
    }
}
END_TEST

START_TEST(a_run_of_named_bytes_is_whole_or_fails)
{
    enum { N_BYTE = 1000 };
    const struct written written = {.decoder = "{\"type\": \"ByteFallback\"}",
                                    .vocab = "{\"<0x41>\": 0}",
                                    .merges = "[]",
                                    .model = "\"byte_fallback\": true,"};
    static const int32_t ids[N_BYTE];
    struct attn_tokenizer *tokenizer = open_written(&written);
    bool has_failed = true;

    for (long n = 0; has_failed; n++) {
        struct attn_error err = {0};
        char *text = NULL;
        size_t size = 0;
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = attn_tokenizer_decode(tokenizer, ids, N_BYTE, &text, &size, &err);
        has_failed = attn_alloc_count() > n;
        attn_alloc_fail_off();
        ck_assert_int_eq(status, has_failed ? ATTN_NO_MEMORY : ATTN_OK);
        ck_assert_uint_eq(size, has_failed ? 0 : N_BYTE);
        attn_tokenizer_text_free(text);
    }
    attn_tokenizer_free(tokenizer);
}
END_TEST

ATTN_SUITE("tokenizer_json", gives_what_the_library_tokenizers_gives,
           gives_what_the_library_gives_of_encoders, reads_scores_as_the_library_does,
           takes_the_first_of_equal_sums, takes_the_longest_tokens_of_a_word,
           takes_words_as_a_whole, knows_words_by_their_members,
           tokens_that_take_too_long_to_find_are_refused,
           tokenizers_of_encoders_survive_failed_allocations, refuses_what_it_does_not_know,
           refuses_a_file_that_was_cut, splits_as_oniguruma_does,
           refuses_what_oniguruma_reads_otherwise, refuses_styles_that_were_cut,
           says_which_tokens_it_added, puts_a_space_before_words_but_for_one_that_continues_another,
           puts_nothing_before_a_text_that_continues_another,
           leaves_special_tokens_to_the_model_when_they_are_text, keeps_added_tokens_from_the_model,
           strips_what_is_not_taken, takes_unknown_characters_as_the_model_says,
           takes_holes_between_ids, numbers_new_tokens_from_the_keys_on,
           a_piece_of_the_first_character_is_at_the_start,
           bytes_that_are_not_utf8_end_a_piece_that_waits_for_what_follows, merges_in_loops_end,
           reads_merges_before_the_vocabulary, patterns_that_backtrack_without_end_are_refused,
           patterns_that_look_far_at_each_place_are_refused,
           patterns_that_pass_over_a_run_at_each_place_are_refused, large_patterns_are_refused,
           ends_when_it_is_canceled, texts_that_grow_without_end_are_refused,
           decoders_that_grow_without_end_are_refused, finds_many_added_tokens_quickly,
           refuses_more_bytes_of_added_tokens_than_it_can_search, survives_every_failed_allocation,
           a_run_of_named_bytes_is_whole_or_fails)
