/*
 * test_tokenizer_gguf.c - the tokenizers in GGUF files: the ids of the models' own tokenizers for
 * all texts of fixtures/gguf, and what is refused.
 */
#include "base/text/escape.h"
#include "formats/json.h"
#include "model/model.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/gguf_image.h"
#include "tests/support/gguf_models.h"
#include "tests/support/suite.h"
#include "tests/support/tokenizing.h"
#include "tokenizer/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

static enum attn_status open_bytes(const struct attn_buffer *bytes, bool is_lazy,
                                   struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    const struct attn_blob blob = {"model.gguf", bytes->data, bytes->size};
    const struct attn_source source = {.name = "toy", .blobs = &blob, .n_blob = 1};

    return is_lazy ? attn_tokenizer_open_lazily(&source, NULL, NULL, tokenizer, err)
                   : attn_tokenizer_open(&source, tokenizer, err);
}

static enum attn_status try_bytes(const struct attn_buffer *bytes,
                                  struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    return open_bytes(bytes, false, tokenizer, err);
}

/* --- The cases of the models ------------------------------------------------------------------ */

static void assert_ids(const char *model, const struct attn_tokenizer *tokenizer, const char *text,
                       const struct attn_node *list, enum attn_special_tokens special)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    const struct attn_node *node = attn_node_first(list);
    int64_t id;

    options.special_tokens = special;
    ck_assert_msg(attn_tokenizer_encode(tokenizer, text, strlen(text), &options, &encoding, &err) ==
                      ATTN_OK,
                  "%s: %s", model, err.message);
    for (size_t i = 0; i < encoding.n; i++, node = attn_node_next(node)) {
        ck_assert_msg(node && attn_node_int(node, &id), "%s: '%s' has more tokens than expected",
                      model, attn_quote_string(text).text);
        ck_assert_msg(encoding.ids[i] == id, "%s: token %zu of '%s' is %d, expected %d", model, i,
                      attn_quote_string(text).text, (int)encoding.ids[i], (int)id);
        ck_assert(encoding.begin[i] <= encoding.end[i] && encoding.end[i] <= strlen(text));
    }
    ck_assert_msg(!node, "%s: '%s' has fewer tokens than expected", model,
                  attn_quote_string(text).text);
    attn_encoding_release(&encoding);
}

/* LINE is [text, ids, ids with special tokens]. */
static void assert_case(const char *model, const struct attn_tokenizer *tokenizer, const char *line,
                        size_t size)
{
    struct attn_buffer object = {0};
    struct attn_file file = {.path = (char[]){"cases.jsonl"}};
    struct attn_json *json = NULL;
    struct attn_error err = {0};
    const struct attn_node *text, *ids;

    attn_buffer_append_format(&object, "{\"case\": %.*s}", (int)size, line);
    file.data = (const unsigned char *)object.data;
    file.size = object.size;
    ck_assert_msg(attn_json_parse(&file, &json, &err) == ATTN_OK, "%s", err.message);
    text = attn_node_first(attn_node_find(attn_json_root(json), "case"));
    ids = attn_node_next(text);
    assert_ids(model, tokenizer, attn_node_string(text), ids, ATTN_SPECIAL_TOKENS_OFF);
    assert_ids(model, tokenizer, attn_node_string(text), attn_node_next(ids),
               ATTN_SPECIAL_TOKENS_ON);
    attn_json_free(json);
    attn_buffer_release(&object);
}

static void assert_model(const char *name)
{
    struct attn_buffer gguf, cases;
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    char member[64];
    size_t n = 0;

    snprintf(member, sizeof member, "%s/model.gguf", name);
    gguf = attn_gguf_member("models", member);
    snprintf(member, sizeof member, "%s/cases.jsonl", name);
    cases = attn_gguf_member("models", member);
    ck_assert_msg(try_bytes(&gguf, &tokenizer, &err) == ATTN_OK, "%s: %s", name, err.message);
    for (const char *at = attn_buffer_string(&cases); *at; n++) {
        const size_t size = strcspn(at, "\n");

        assert_case(name, tokenizer, at, size);
        at += size + (at[size] == '\n');
    }
    ck_assert_uint_eq(n, 80);
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&gguf);
    attn_buffer_release(&cases);
}

START_TEST(gives_the_ids_of_the_models_own_tokenizers)
{
#define MODEL(name) assert_model(#name);
    ATTN_GGUF_MODEL_MAP(MODEL)
#undef MODEL
}
END_TEST

/* --- Files written in the test ---------------------------------------------------------------- */

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE, MOST = 32 };

/* Tokens of a file, what scores and types they have, and pairs that are added. */
struct written {
    const char *model; /* NULL: llama */
    const char *pre;
    struct token {
        const char *text;
        float score;
        int32_t type;
    } tokens[MOST]; /* the first without a text ends the list */
    const char *merges[8];
    void (*more)(struct attn_gguf_image *image);
    bool has_no_scores, has_no_types;
};

#define KEY(name) "tokenizer.ggml." name

static void put_lists(struct attn_gguf_image *image, const struct written *written)
{
    const char *texts[MOST];
    float scores[MOST];
    int32_t types[MOST];
    size_t n = 0, n_merge = 0;

    for (; n < MOST && written->tokens[n].text; n++) {
        texts[n] = written->tokens[n].text;
        scores[n] = written->tokens[n].score;
        types[n] = written->tokens[n].type > 0 ? written->tokens[n].type : NORMAL;
    }
    attn_gguf_put_texts(image, KEY("tokens"), texts, n);
    if (!written->has_no_scores)
        attn_gguf_put_array(image, KEY("scores"), ATTN_GGUF_F32, n, scores, n * sizeof *scores);
    if (!written->has_no_types)
        attn_gguf_put_array(image, KEY("token_type"), ATTN_GGUF_I32, n, types, n * sizeof *types);
    while (n_merge < N(written->merges) && written->merges[n_merge])
        n_merge++;
    if (n_merge > 0)
        attn_gguf_put_texts(image, KEY("merges"), written->merges, n_merge);
}

static enum attn_status open_written(const struct written *written, bool is_lazy,
                                     struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    static struct attn_buffer bytes; /* borrowed by what is opened; until the next file */
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;

    attn_buffer_release(&bytes);
    attn_gguf_put_text(&image, "general.architecture", "llama");
    attn_gguf_put_text(&image, KEY("model"), written->model ? written->model : "llama");
    if (written->pre)
        attn_gguf_put_text(&image, KEY("pre"), written->pre);
    put_lists(&image, written);
    if (written->more)
        written->more(&image);
    attn_gguf_put_tensor(&image, "token_embd.weight", 0, 2, (const size_t[]){1, MOST},
                         (size_t)4 * MOST);
    bytes = attn_gguf_image_make(&image);
    return open_bytes(&bytes, is_lazy, tokenizer, err);
}

static enum attn_status try_written(const struct written *written,
                                    struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    return open_written(written, false, tokenizer, err);
}

/* Fails unless TEXT has these ids, which end with -1. */
static void assert_text(const struct written *written, const char *text, const int32_t *expected)
{
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    size_t n = 0;

    ck_assert_msg(try_written(written, &tokenizer, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding, &err) ==
                      ATTN_OK,
                  "%s", err.message);
    while (expected[n] >= 0)
        n++;
    for (size_t i = 0; i < n && i < encoding.n; i++)
        ck_assert_msg(encoding.ids[i] == expected[i], "token %zu of '%s' is %d, expected %d", i,
                      text, (int)encoding.ids[i], (int)expected[i]);
    ck_assert_msg(encoding.n == n, "'%s' has %zu tokens, expected %zu", text, encoding.n, n);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}

#define ASSERT_TEXT(written, text, ...)                                                            \
    assert_text(written, text, (const int32_t[]){__VA_ARGS__, -1})

static void assert_decoded(const struct written *written, const int32_t *ids, size_t n,
                           const char *expected)
{
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    size_t size = 0;
    char *text = NULL;

    ck_assert_msg(try_written(written, &tokenizer, &err) == ATTN_OK, "%s", err.message);
    ck_assert(attn_tokenizer_decode(tokenizer, ids, n, &text, &size, &err) == ATTN_OK);
    ck_assert_str_eq(text, expected);
    attn_tokenizer_text_free(text);
    attn_tokenizer_free(tokenizer);
}

static void put_no_bos(struct attn_gguf_image *image)
{
    attn_gguf_put(image, KEY("add_bos_token"), ATTN_GGUF_BOOL, "\0", 1);
    attn_gguf_put_u32(image, KEY("unknown_token_id"), 0);
}

static void put_no_bos_or_prefix(struct attn_gguf_image *image)
{
    put_no_bos(image);
    attn_gguf_put(image, KEY("add_space_prefix"), ATTN_GGUF_BOOL, "\0", 1);
}

static void put_bos_and_eos(struct attn_gguf_image *image)
{
    attn_gguf_put_u32(image, KEY("bos_token_id"), 1);
    attn_gguf_put_u32(image, KEY("eos_token_id"), 2);
    attn_gguf_put(image, KEY("add_eos_token"), ATTN_GGUF_BOOL, "\1", 1);
}

#define SPACE "\xe2\x96\x81" /* U+2581 */

/* --- SentencePiece ---------------------------------------------------------------------------- */

START_TEST(the_highest_score_is_joined_first_and_the_leftmost_of_equals)
{
    const struct written equal = {.tokens = {{"<unk>", 0, UNKNOWN},
                                             {"bc", -2, 0},
                                             {"ab", -2, 0},
                                             {"a", -9, 0},
                                             {"b", -9, 0},
                                             {"c", -9, 0},
                                             {"abc", -7, 0},
                                             {"cab", -1, 0}},
                                  .more = put_no_bos_or_prefix};
    struct written higher = equal;

    ASSERT_TEXT(&equal, "abc", 6);     /* ab, then abc */
    ASSERT_TEXT(&equal, "abcb", 6, 4); /* leftmost, though bc is the first token */
    ASSERT_TEXT(&equal, "cabc", 7, 5); /* ab, then cab before abc */
    ASSERT_TEXT(&equal, "bcbc", 1, 1);
    ASSERT_TEXT(&equal, "aab", 3, 2);
    higher.tokens[1].score = -1.5F; /* bc before ab; a and bc are abc as well */
    ASSERT_TEXT(&higher, "abcb", 6, 4);
    ASSERT_TEXT(&higher, "cabc", 5, 6);
}
END_TEST

START_TEST(characters_may_be_parts_of_tokens_alone)
{
    const struct written written = {.tokens = {{"<unk>", 0, UNKNOWN},
                                               {"xyz", -3, 0},
                                               {"xy", -2, 0},
                                               {"a", -4, 0},
                                               {"\xc3\xa9q", -1, 0}},
                                    .more = put_no_bos_or_prefix};

    ASSERT_TEXT(&written, "xyz", 1);
    ASSERT_TEXT(&written, "xya", 2, 3);
    ASSERT_TEXT(&written, "\xc3\xa9qa", 4, 3);
    ASSERT_TEXT(&written, "xa", 0, 3); /* no token by itself */
    ASSERT_TEXT(&written, "ax\xc3\xa9q", 3, 0, 4);
}
END_TEST

START_TEST(neighbours_without_a_token_are_one_unknown_token)
{
    const struct written written = {.tokens = {{"<unk>", 0, UNKNOWN}, {"a", -4, 0}, {"b", -5, 0}},
                                    .more = put_no_bos_or_prefix};

    ASSERT_TEXT(&written, "zzz", 0);
    ASSERT_TEXT(&written, "zay\xe6\x97\xa5", 0, 1, 0);
    ASSERT_TEXT(&written, "", -1);
}
END_TEST

START_TEST(characters_without_a_token_are_their_bytes)
{
    const struct written written = {.tokens = {{"<unk>", 0, UNKNOWN},
                                               {"a", -4, 0},
                                               {"b", -5, 0},
                                               {"<0xC3>", 0, BYTE},
                                               {"<0xA9>", 0, BYTE},
                                               {"<0xE6>", 0, BYTE}},
                                    .more = put_no_bos_or_prefix};

    ASSERT_TEXT(&written,
                "a\xc3\xa9"
                "b",
                1, 3, 4, 2);
    ASSERT_TEXT(&written, "\xe6\x97\xa5", 0); /* two of its bytes have no token */
    ASSERT_TEXT(&written, "<0xC3>", 0);       /* is no byte in a text */
}
END_TEST

START_TEST(a_space_is_put_before_pieces_that_begin_or_follow_a_special_token)
{
    struct written written = {.tokens = {{"<unk>", 0, UNKNOWN},
                                         {"<s>", 0, CONTROL},
                                         {"</s>", 0, CONTROL},
                                         {SPACE, -9, 0},
                                         {"a", -8, 0},
                                         {SPACE "a", -1, 0},
                                         {"<u>", 0, USER},
                                         {"  ", 0, USER}},
                              .more = put_no_bos};

    ASSERT_TEXT(&written, "a", 5);
    ASSERT_TEXT(&written, " a", 3, 5);
    ASSERT_TEXT(&written, "a<s>a", 5, 1, 5);
    ASSERT_TEXT(&written, "a<u>aa", 5, 6, 5, 4);
    ASSERT_TEXT(&written, "a  a", 5, 7, 5);
    ASSERT_TEXT(&written, "<s>", 1);
    written.more = put_no_bos_or_prefix;
    ASSERT_TEXT(&written, "a<s>a a", 4, 1, 4, 5);
    written.more = put_bos_and_eos;
    ASSERT_TEXT(&written, "a", 1, 5, 2);
    ASSERT_TEXT(&written, "", 1, 2);
}
END_TEST

/* As sentencepiece 0.2.3, and but for runs longer than any token transformers 5.23. */
START_TEST(a_space_and_its_mark_are_one_run_without_a_prefix)
{
    const struct written written = {.tokens = {{"<unk>", 0, UNKNOWN},
                                               {"<s>", 0, CONTROL},
                                               {"\n", 0, USER},
                                               {"  ", 0, USER},
                                               {"   ", 0, USER},
                                               {"    ", 0, USER},
                                               {SPACE "b", -1, 0},
                                               {SPACE, -9, 0},
                                               {"a", -9, 0},
                                               {"b", -9, 0},
                                               {" x", 0, USER}},
                                    .more = put_no_bos_or_prefix};

    ASSERT_TEXT(&written, "a " SPACE " b", 8, 4, 9);
    ASSERT_TEXT(&written, "a   b", 8, 4, 9);
    ASSERT_TEXT(&written, "a" SPACE SPACE "b", 8, 3, 9);
    ASSERT_TEXT(&written, "a     b", 8, 5, 6);
    ASSERT_TEXT(&written, "a" SPACE "b\n b", 8, 6, 2, 6);
    ASSERT_TEXT(&written, "a" SPACE "x x", 8, 10, 10);
    ASSERT_TEXT(&written, SPACE " <s> ", 3, 1, 7);
    assert_decoded(&written, (const int32_t[]){8, 4, 9, 10}, 4, "a   b x");
}
END_TEST

/* Of Gemma 4: merged by a list, over words, whatever the scores; bytes of other characters. */
START_TEST(sentences_are_merged_by_a_list)
{
    const struct written written = {.model = "gemma4",
                                    .tokens = {{"<unk>", 0, UNKNOWN},
                                               {"<s>", 0, CONTROL},
                                               {"a", 0, 0},
                                               {"b", 0, 0},
                                               {"ab", 0, 0},
                                               {SPACE, 0, 0},
                                               {SPACE "ab", 0, 0},
                                               {"<0xC3>", 0, BYTE},
                                               {"<0xA9>", 0, BYTE},
                                               {"b" SPACE "ab", 0, 0},
                                               {"\n", 0, 0},
                                               {"\n\n", 0, 0}},
                                    .merges = {"a b", SPACE " ab", "b " SPACE "ab", "\n \n"},
                                    .more = put_no_bos_or_prefix};

    ASSERT_TEXT(&written, "ab ab", 4, 6);
    ASSERT_TEXT(&written, "bb ab", 3, 9);
    ASSERT_TEXT(&written, "aab" SPACE "ab", 2, 4, 6);
    ASSERT_TEXT(&written, "a\xc3\xa9<s>b", 2, 7, 8, 1, 3);
    ASSERT_TEXT(&written, "\n\n\na", 11, 10, 2);
    assert_decoded(&written, (const int32_t[]){4, 6, 7, 8, 9}, 5,
                   "ab ab\xc3\xa9"
                   "b ab");
}
END_TEST

/* Neither by merges nor by its characters. */
START_TEST(only_tokens_of_type_1_are_made)
{
    const struct written written = {.tokens = {{"<unk>", 0, UNKNOWN},
                                               {"a", -4, 0},
                                               {"b", -5, 0},
                                               {"ab", -1, UNUSED},
                                               {"", 0, 0},
                                               {"bb", -1, 0}},
                                    .more = put_no_bos_or_prefix};

    ASSERT_TEXT(&written, "ab", 1, 2);
    ASSERT_TEXT(&written, "abb", 1, 5);
}
END_TEST

START_TEST(tokens_that_are_no_text_are_decoded_to_text)
{
    const struct written written = {.tokens = {{"<unk>", 0, UNKNOWN},
                                               {"a", -4, 0},
                                               {"\xff\xc3", -5, 0},
                                               {SPACE "b", -6, 0},
                                               {"<0xC3>", 0, BYTE},
                                               {"<0xA9>", 0, BYTE}},
                                    .more = put_no_bos};

    assert_decoded(&written, (const int32_t[]){1, 2, 1}, 3,
                   "a\xef\xbf\xbd\xef\xbf\xbd"
                   "a");
    assert_decoded(&written, (const int32_t[]){3, 3, 4, 5}, 4, "b b\xc3\xa9");
}
END_TEST

/* --- Byte-level BPE --------------------------------------------------------------------------- */

#define WORDS                                                                                      \
    {"a", 0, 0}, {"b", 0, 0}, {"ab", 0, 0}, {"\xc4\xa0", 0, 0},                                    \
        {"\xc4\xa0"                                                                                \
         "ab",                                                                                     \
         0, 0},                                                                                    \
        {"<s>", 0, CONTROL}, {"< u >", 0, USER}, {"1", 0, 0}, {"2", 0, 0}, {"12", 0, 0},           \
        {"abab", 0, 0}, {"\xc3\x83", 0, 0}, {"\xc2\xa9", 0, 0}, {"e", 0, 0}, {"\xc3\x8c", 0, 0},   \
    {                                                                                              \
        "\xc4\xa3", 0, 0                                                                           \
    }

static void put_bos_5(struct attn_gguf_image *image)
{
    attn_gguf_put_u32(image, KEY("bos_token_id"), 5);
}

START_TEST(bytes_are_merged_and_split_by_the_name_of_the_rule)
{
    struct written written = {.model = "gpt2",
                              .tokens = {WORDS},
                              .has_no_scores = true,
                              .merges = {"a b", "\xc4\xa0 ab", "1 2"},
                              .more = put_bos_5};

    written.pre = "gpt-2";
    ASSERT_TEXT(&written, "ab ab", 2, 4);
    ASSERT_TEXT(&written, "ab<s>< u >a", 2, 5, 6, 0); /* written as they are */
    ASSERT_TEXT(&written, "12", 9);
    ASSERT_TEXT(&written, "abab", 2, 2);
    ASSERT_TEXT(&written, "e\xcc\x81", 13, 14, 15); /* not composed */
    written.pre = "qwen2";
    ASSERT_TEXT(&written, "12", 7, 8);
    ASSERT_TEXT(&written, "e\xcc\x81", 11, 12); /* NFC */
    written.pre = "smollm";
    ASSERT_TEXT(&written, "12", 7, 8);
    written.pre = "olmo";
    ASSERT_TEXT(&written,
                "e\xcc\x81"
                "12",
                11, 12, 9);
    written.pre = "dbrx";
    ASSERT_TEXT(&written, "abab", 2, 2);
    written.pre = "llama-bpe"; /* bos, and whole tokens without merges */
    ASSERT_TEXT(&written, "abab", 5, 10);
    written.has_no_types = true;
    ASSERT_TEXT(&written, "ab", 5, 2);
}
END_TEST

/* Reads the strings of LIST into TEXTS [n]. */
static size_t read_texts(const struct attn_json *json, const char *key, const char **texts,
                         size_t n)
{
    size_t i = 0;

    for (const struct attn_node *node = attn_node_first(attn_case_field(json, key)); node;
         node = attn_node_next(node)) {
        ck_assert_uint_lt(i, n);
        texts[i++] = attn_node_string(node);
    }
    return i;
}

/* Opens the vocabulary of JSON with the rule NAME [size], and asserts the IDS of its texts. */
static void assert_rule(const struct attn_json *json, const char *name, size_t size,
                        const struct attn_node *ids)
{
    const char *tokens[512], *merges[512], *texts[8];
    const size_t n_token = read_texts(json, "tokens", tokens, N(tokens)),
                 n_merge = read_texts(json, "merges", merges, N(merges)),
                 n_text = read_texts(json, "texts", texts, N(texts));
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    struct attn_buffer bytes;
    char pre[64];

    snprintf(pre, sizeof pre, "%.*s", (int)size, name);
    attn_gguf_put_text(&image, "general.architecture", "llama");
    attn_gguf_put_text(&image, KEY("model"), "gpt2");
    attn_gguf_put_text(&image, KEY("pre"), pre);
    attn_gguf_put_texts(&image, KEY("tokens"), tokens, n_token);
    attn_gguf_put_texts(&image, KEY("merges"), merges, n_merge);
    attn_gguf_put_u32(&image, KEY("bos_token_id"), 0);
    attn_gguf_put_tensor(&image, "token_embd.weight", 0, 2, (const size_t[]){1, N(tokens)},
                         (size_t)4 * N(tokens));
    bytes = attn_gguf_image_make(&image);
    ck_assert_msg(try_bytes(&bytes, &tokenizer, &err) == ATTN_OK, "%s", err.message);
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    for (size_t i = 0; i < n_text; i++, ids = attn_node_next(ids)) {
        struct attn_encoding encoding = {0};

        ck_assert_msg(attn_tokenizer_encode(tokenizer, texts[i], strlen(texts[i]), &options,
                                            &encoding, &err) == ATTN_OK,
                      "%s: %s", pre, err.message);
        attn_assert_ids(&encoding, ids, pre);
        attn_encoding_release(&encoding);
    }
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&bytes);
}

static void assert_rules(const struct attn_tokenizer *unused, const struct attn_json *json)
{
    (void)unused;
    for (const struct attn_node *rule = attn_node_first(attn_case_field(json, "rules")); rule;
         rule = attn_node_next(rule)) {
        const char *name = attn_node_string(attn_node_find(rule, "names"));

        for (size_t size; *name; name += size + (name[size] == ' ')) {
            size = strcspn(name, " ");
            assert_rule(json, name, size, attn_node_first(attn_node_find(rule, "ids")));
        }
    }
}

/* golden/gguf_splits.jsonl has the ids of the library tokenizers by each rule. */
START_TEST(every_name_of_a_rule_splits_as_the_library_does)
{
    ck_assert_uint_eq(
        attn_each_case((char[]){"tests/golden/gguf_splits.jsonl"}, NULL, assert_rules), 1);
}
END_TEST

static void put_sep(struct attn_gguf_image *image)
{
    put_bos_5(image);
    attn_gguf_put_u32(image, KEY("seperator_token_id"), 8);
}

static void put_no_sep(struct attn_gguf_image *image)
{
    put_sep(image);
    attn_gguf_put(image, KEY("add_sep_token"), ATTN_GGUF_BOOL, "\0", 1);
}

static void put_sep_and_eos(struct attn_gguf_image *image)
{
    put_sep(image);
    attn_gguf_put_u32(image, KEY("eos_token_id"), 9);
    attn_gguf_put(image, KEY("add_eos_token"), ATTN_GGUF_BOOL, "\1", 1);
}

START_TEST(bos_and_sep_are_added_by_the_name_of_the_rule)
{
    struct written written = {.model = "gpt2",
                              .tokens = {WORDS},
                              .has_no_scores = true,
                              .merges = {"a b"},
                              .more = put_sep};

    for (size_t i = 0; i < 3; i++) {
        written.pre = ((const char *const[]){"lfm2", "tekken", "pixtral"})[i];
        ASSERT_TEXT(&written, "ab", 5, 2);
    }
    written.pre = "glm4";
    ASSERT_TEXT(&written, "ab", 2);
    written.pre = "roberta-bpe";
    ASSERT_TEXT(&written, "ab", 2, 8);
    written.more = put_no_sep;
    ASSERT_TEXT(&written, "ab", 2);
    written.more = put_sep_and_eos;
    ASSERT_TEXT(&written, "ab", 2, 9);
    written.more = put_bos_5; /* no token is SEP */
    ASSERT_TEXT(&written, "ab", 2);
}
END_TEST

static void put_whole_file(struct attn_gguf_image *image)
{
    attn_gguf_put_text(image, "tokenizer.huggingface.json",
                       "{\"model\": {\"vocab\": {\"q\": 3}, \"merges\": []}}");
}

START_TEST(a_whole_tokenizer_json_in_the_file_is_taken)
{
    const struct written written = {.model = "rwkv", .tokens = {WORDS}, .more = put_whole_file};

    ASSERT_TEXT(&written, "q", 3);
}
END_TEST

/* --- What is refused -------------------------------------------------------------------------- */

#define TOKENS                                                                                     \
    {                                                                                              \
        {"<unk>", 0, UNKNOWN}, {"a", -1, 0},                                                       \
        {                                                                                          \
            "b", -2, 0                                                                             \
        }                                                                                          \
    }
#define MORE(name, ...)                                                                            \
    static void name(struct attn_gguf_image *image)                                                \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

MORE(put_bos_above, attn_gguf_put_u32(image, KEY("bos_token_id"), 3))
MORE(put_bos_of_a_type, attn_gguf_put_text(image, KEY("bos_token_id"), "1"))
MORE(put_add_of_a_type, attn_gguf_put_u32(image, KEY("add_bos_token"), 1))
MORE(put_eos_alone, put_no_bos(image);
     attn_gguf_put(image, KEY("add_eos_token"), ATTN_GGUF_BOOL, "\1", 1))
MORE(put_prefix_of_a_type, attn_gguf_put_f32(image, KEY("add_space_prefix"), 1))
MORE(put_broken_file, attn_gguf_put_text(image, "tokenizer.huggingface.json", "{"))
MORE(put_few_types,
     attn_gguf_put_array(image, KEY("token_type"), ATTN_GGUF_I32, 1, (const int32_t[]){1}, 4))
MORE(put_few_scores,
     attn_gguf_put_array(image, KEY("scores"), ATTN_GGUF_F32, 1, (const float[]){1}, 4))
MORE(put_types_of_a_type, attn_gguf_put_text(image, KEY("token_type"), "1"))
MORE(put_merges_of_a_type,
     attn_gguf_put_array(image, KEY("merges"), ATTN_GGUF_I32, 1, (const int32_t[]){1}, 4))

MORE(put_no_merges, attn_gguf_put_texts(image, KEY("merges"), NULL, 0))
MORE(put_type_0, attn_gguf_put_array(image, KEY("token_type"), ATTN_GGUF_I32, 3,
                                     (const int32_t[]){2, 0, 1}, 12))

#define IN "in 'toy/model.gguf' "
#define BPE .model = "gpt2", .pre = "gpt-2"

static const struct {
    struct written written;
    const char *message;
} refused[] = {
    {{.model = "bert", .tokens = TOKENS},
     "'tokenizer.ggml.model' " IN "is 'bert': its tokens are WordPiece, this version reads gpt2, "
     "llama and gemma4"},
    {{.model = "t5", .tokens = TOKENS},
     "'tokenizer.ggml.model' " IN "is 't5': its tokens are Unigram, this version reads gpt2, "
     "llama and gemma4"},
    {{.model = "no_vocab", .tokens = TOKENS},
     "'tokenizer.ggml.model' " IN "is 'no_vocab': it has no tokenizer, this version reads gpt2, "
     "llama and gemma4"},
    {{.model = "novel", .tokens = TOKENS},
     "'tokenizer.ggml.model' " IN "is 'novel', this version reads gpt2, llama and gemma4"},
    {{.model = "gpt2", .pre = "kimi-k2", .tokens = TOKENS},
     "'tokenizer.ggml.pre' " IN "is 'kimi-k2', a way of splitting texts that is not read by this "
     "version"},
    {{.model = "gpt2", .tokens = TOKENS},
     "'tokenizer.ggml.pre' is missing in 'toy/model.gguf': how texts are split is not known"},
    {{.model = "gpt2", .pre = "default", .tokens = TOKENS},
     "'tokenizer.ggml.pre' " IN "is 'default', a way of splitting texts that is not known"},
    {{.tokens = {{"a", 0, 0}, {"b", 0, 0}}},
     "'tokenizer.ggml.scores' " IN "has one score for all tokens, and no text can be split by it"},
    {{.tokens = {{"a", -1000, 0}, {"b", -1000, 0}, {"<s>", 0, CONTROL}}},
     "'tokenizer.ggml.scores' " IN "has one score for all tokens, and no text can be split by it"},
    {{.tokens = TOKENS, .has_no_scores = true},
     "'tokenizer.ggml.scores' " IN "has one score for all tokens, and no text can be split by it"},
    {{.tokens = {{"a", -1, 0}, {"b", NAN, 0}}},
     "item 1 of 'tokenizer.ggml.scores' " IN "is not finite, expected a score"},
    {{.tokens = {{"a", -1, 0}, {"b", -INFINITY, CONTROL}}},
     "item 1 of 'tokenizer.ggml.scores' " IN "is not finite, expected a score"},
    {{.tokens = {{NULL, 0, 0}}}, "'tokenizer.ggml.tokens' " IN "has 0 items, expected the tokens"},
    {{.tokens = {{"a", -1, 0}, {"b", -2, 0}, {"a", -3, 0}}, .more = put_no_bos},
     "'a' is in 'toy/model.gguf' twice, with ids 0 and 2"},
    {{.tokens = TOKENS, .has_no_types = true, .more = put_few_types},
     "'tokenizer.ggml.token_type' " IN "has 1 items, expected 3, one per token"},
    {{.tokens = TOKENS, .has_no_scores = true, .more = put_few_scores},
     "'tokenizer.ggml.scores' " IN "has 1 items, expected 3, one per token"},
    {{.tokens = TOKENS, .has_no_types = true, .more = put_types_of_a_type},
     "'tokenizer.ggml.token_type' " IN "is of type string, expected an array of i32"},
    {{.tokens = TOKENS}, "'tokenizer.ggml.bos_token_id' is missing in 'toy/model.gguf'"},
    {{.tokens = TOKENS, .more = put_bos_above},
     "'tokenizer.ggml.bos_token_id' " IN "is 3, expected a token below 3"},
    {{.tokens = TOKENS, .more = put_bos_of_a_type},
     "'tokenizer.ggml.bos_token_id' " IN "is of type string, expected a whole number"},
    {{.tokens = TOKENS, .more = put_add_of_a_type},
     "'tokenizer.ggml.add_bos_token' " IN "is of type u32, expected a bool"},
    {{.tokens = TOKENS, .more = put_eos_alone},
     "'tokenizer.ggml.eos_token_id' is missing in 'toy/model.gguf'"},
    {{.tokens = TOKENS, .more = put_prefix_of_a_type},
     "'tokenizer.ggml.add_space_prefix' " IN "is of type f32, expected a bool"},
    {{.tokens = TOKENS, .more = put_broken_file}, "tokenizer.json"},
    {{BPE, .tokens = TOKENS, .merges = {"a c"}},
     "item 0 of 'tokenizer.ggml.merges' " IN "is 'a c', expected two tokens that make a third"},
    {{BPE, .tokens = TOKENS, .merges = {"ab"}},
     "item 0 of 'tokenizer.ggml.merges' " IN "is 'ab', expected two tokens that make a third"},
    {{BPE, .tokens = TOKENS, .merges = {"a b"}},
     "item 0 of 'tokenizer.ggml.merges' " IN "is 'a b', expected two tokens that make a third"},
    {{.model = "gemma4", .tokens = TOKENS, .more = put_no_bos},
     "'tokenizer.ggml.merges' " IN "is missing or empty, and no text can be merged without"},
    {{BPE, .tokens = TOKENS},
     "'tokenizer.ggml.merges' " IN "is missing or empty, and no text can be merged without"},
    {{BPE, .tokens = TOKENS, .more = put_no_merges},
     "'tokenizer.ggml.merges' " IN "is missing or empty, and no text can be merged without"},
    {{.tokens = TOKENS, .has_no_types = true, .more = put_type_0},
     "item 1 of 'tokenizer.ggml.token_type' " IN "is 0, expected a type from 1 to 6"},
    {{BPE, .tokens = {{"a", 0, 7}, {"b", 0, 0}}, .merges = {"a b"}},
     "item 0 of 'tokenizer.ggml.token_type' " IN "is 7, expected a type from 1 to 6"},
    {{BPE, .tokens = TOKENS, .more = put_merges_of_a_type},
     "'tokenizer.ggml.merges' " IN "is an array of i32, expected an array of string"},
};

START_TEST(what_is_wrong_is_refused_by_its_key)
{
    for (size_t i = 0; i < N(refused); i++) {
        struct attn_tokenizer *tokenizer = NULL;
        struct attn_error err = {0};

        ck_assert_msg(try_written(&refused[i].written, &tokenizer, &err) != ATTN_OK,
                      "'%s' was not refused", refused[i].message);
        ck_assert_ptr_null(tokenizer);
        if (refused[i].written.more == put_broken_file)
            ck_assert_ptr_nonnull(strstr(err.message, refused[i].message));
        else
            ck_assert_str_eq(err.message, refused[i].message);
        if (err.status == ATTN_UNSUPPORTED)
            ck_assert_str_eq(err.hint, "`vocab tokenizer.json` takes the tokenizer of the model's "
                                       "own directory");
    }
}
END_TEST

static enum attn_status encode_a(const struct attn_tokenizer *tokenizer,
                                 const volatile sig_atomic_t *cancel, struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    enum attn_status status;

    options.cancel = cancel;
    status = attn_tokenizer_encode(tokenizer, "a", 1, &options, &encoding, err);
    attn_encoding_release(&encoding);
    return status;
}

/* A token of L bytes has L - 1 splits, whose parts take L squared to look up. */
START_TEST(a_long_token_is_refused_and_can_be_canceled)
{
    enum { SIZE = 70000 };
    static char text[SIZE + 1];
    struct written written = {.tokens = {{"<unk>", 0, UNKNOWN}, {"a", -1, 0}, {text, -2, 0}},
                              .more = put_no_bos};
    volatile sig_atomic_t cancel = 1;
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    memset(text, 'a', SIZE);
    ck_assert_int_eq(open_written(&written, true, &tokenizer, &err), ATTN_OK);
    ck_assert_int_eq(encode_a(tokenizer, &cancel, &err), ATTN_CANCELED);
    cancel = 0;
    err = (struct attn_error){0};
    if (attn_one_of(2) == 1) { /* it takes a second */
        ck_assert_int_eq(encode_a(tokenizer, &cancel, &err), ATTN_UNSUPPORTED);
        ck_assert_str_eq(
            err.message,
            "the tokens of 'toy/model.gguf' are so long that it takes too long to find their "
            "parts: token 2 has 70000 bytes");
    }
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(scores_that_were_canceled_are_read_again)
{
    const struct written written = {.tokens = TOKENS, .more = put_no_bos};
    volatile sig_atomic_t cancel = 1;
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(open_written(&written, true, &tokenizer, &err), ATTN_OK);
    ck_assert_int_eq(encode_a(tokenizer, &cancel, &err), ATTN_CANCELED);
    cancel = 0;
    err = (struct attn_error){0};
    ck_assert_int_eq(encode_a(tokenizer, &cancel, &err), ATTN_OK);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(more_tokens_than_rows_are_refused)
{
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_buffer bytes;
    struct attn_error err = {0};

    attn_gguf_put_text(&image, KEY("model"), "llama");
    attn_gguf_put_texts(&image, KEY("tokens"), (const char *const[]){"a", "b", "c"}, 3);
    attn_gguf_put_tensor(&image, "token_embd.weight", 0, 2, (const size_t[]){4, 2}, 32);
    bytes = attn_gguf_image_make(&image);
    ck_assert(try_bytes(&bytes, &tokenizer, &err) == ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'tokenizer.ggml.tokens' in 'toy/model.gguf' has 3 items, "
                                  "expected at most 2, the rows of 'token_embd.weight'");
    attn_buffer_release(&bytes);
}
END_TEST

/* --- Types ------------------------------------------------------------------------------------ */

static const char *changed; /* a key, its type and value */
static const struct value {
    enum attn_gguf_type type;
    size_t size;
    enum kind { IS_SIZE, IS_REAL, IS_BOOL, IS_TEXT } kind;
} values[] = {
    {ATTN_GGUF_U8, 1, IS_SIZE},  {ATTN_GGUF_I16, 2, IS_SIZE},  {ATTN_GGUF_U32, 4, IS_SIZE},
    {ATTN_GGUF_I32, 4, IS_SIZE}, {ATTN_GGUF_U64, 8, IS_SIZE},  {ATTN_GGUF_F32, 4, IS_REAL},
    {ATTN_GGUF_F64, 8, IS_REAL}, {ATTN_GGUF_BOOL, 1, IS_BOOL}, {ATTN_GGUF_STRING, 8, IS_TEXT},
};
static const struct value *value;
static bool is_array;

static void put_changed(struct attn_gguf_image *image)
{
    const uint64_t bits = 0;

    if (strcmp(changed, KEY("bos_token_id")) != 0)
        attn_gguf_put_u32(image, KEY("bos_token_id"), 1);
    if (strcmp(changed, KEY("eos_token_id")) == 0)
        attn_gguf_put(image, KEY("add_eos_token"), ATTN_GGUF_BOOL, "\1", 1);
    if (is_array)
        attn_gguf_put_array(image, changed, value->type, 1, &bits, value->size);
    else
        attn_gguf_put(image, changed, value->type, &bits, value->size);
}

START_TEST(a_key_of_any_other_type_is_refused_by_its_name)
{
    static const struct {
        const char *key;
        enum kind kind;
    } keys[] = {{KEY("bos_token_id"), IS_SIZE},         {KEY("eos_token_id"), IS_SIZE},
                {KEY("unknown_token_id"), IS_SIZE},     {KEY("add_bos_token"), IS_BOOL},
                {KEY("add_space_prefix"), IS_BOOL},     {KEY("add_eos_token"), IS_BOOL},
                {"tokenizer.huggingface.json", IS_TEXT}};

    for (size_t k = 0; k < N(keys); k++)
        for (size_t v = 0; v < 2 * N(values); v++) {
            const struct written written = {.tokens = TOKENS, .more = put_changed};
            struct attn_tokenizer *tokenizer = NULL;
            struct attn_error err = {0};
            enum attn_status status;

            value = &values[v / 2];
            is_array = v % 2;
            changed = keys[k].key;
            status = try_written(&written, &tokenizer, &err);
            attn_tokenizer_free(tokenizer);
            if (value->kind != keys[k].kind)
                ck_assert_msg(status == ATTN_FORMAT && strstr(err.message, changed),
                              "'%s' of type %d: %s", changed, (int)value->type, err.message);
            else if (!is_array)
                ck_assert_msg(!strstr(err.message, "of type"), "%s", err.message);
        }
}
END_TEST

/* Makes the type of KEY, if it is there, another one of the same size. */
static bool change_type(struct attn_buffer *bytes, const char *key)
{
    static const unsigned char others[] = {[ATTN_GGUF_U32] = ATTN_GGUF_F32,
                                           [ATTN_GGUF_I32] = ATTN_GGUF_F32,
                                           [ATTN_GGUF_F32] = ATTN_GGUF_I32,
                                           [ATTN_GGUF_BOOL] = ATTN_GGUF_U8};
    char *found = memmem(bytes->data, bytes->size, key, strlen(key));

    if (!found)
        return false;
    found += strlen(key);
    if (*found == ATTN_GGUF_ARRAY)
        found += 4;
    ck_assert_uint_lt((unsigned char)*found, sizeof others);
    *found = (char)others[(unsigned char)*found];
    return true;
}

START_TEST(a_model_opens_whatever_its_tokenizer_is)
{
    static const char *const keys[] = {
        KEY("bos_token_id"),     KEY("eos_token_id"), KEY("unknown_token_id"), KEY("add_bos_token"),
        KEY("add_space_prefix"), KEY("scores"),       KEY("token_type")};
    size_t n = 0;

    for (size_t k = 0; k < N(keys); k++) {
        struct attn_buffer bytes = attn_gguf_member("models", "gemma3_q4_0/model.gguf");
        const struct attn_blob blob = {"model.gguf", bytes.data, bytes.size};
        const struct attn_source source = {.name = "toy", .blobs = &blob, .n_blob = 1};
        struct attn_model *model = NULL;
        struct attn_error err = {0};

        n += change_type(&bytes, keys[k]);
        ck_assert_msg(attn_model_open(&source, NULL, &model, &err) == ATTN_OK, "%s", err.message);
        attn_model_free(model);
        attn_buffer_release(&bytes);
    }
    ck_assert_uint_ge(n, 6);
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */

/* A model and a tokenizer of BYTES, and a text: ATTN_OK, or what the first failure was. */
static enum attn_status use(const struct attn_buffer *bytes, struct attn_error *err)
{
    const struct attn_blob blob = {"model.gguf", bytes->data, bytes->size};
    const struct attn_source source = {.name = "toy", .blobs = &blob, .n_blob = 1};
    struct attn_encoding encoding = {0};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_model *model = NULL;
    enum attn_status status = attn_model_open(&source, NULL, &model, err);

    if (status == ATTN_OK)
        status = attn_tokenizer_open(&source, &tokenizer, err);
    if (status == ATTN_OK)
        status = attn_tokenizer_encode(tokenizer, "a cat\xe6\x97\xa5", 8, NULL, &encoding, err);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
    attn_model_free(model);
    return status;
}

START_TEST(every_failed_allocation_is_reported)
{
    static const char *const files[] = {"llama_q8_0/model.gguf", "qwen2_q5/model.gguf",
                                        "llama_k_mixture/model.gguf"};

    for (size_t i = 0; i < N(files); i++) {
        struct attn_buffer bytes = attn_gguf_member("models", files[i]);
        bool has_failed = true;

        for (long n = 0; has_failed; n++) {
            struct attn_error err = {0};
            enum attn_status status;

            attn_alloc_fail_at(n);
            status = use(&bytes, &err);
            has_failed = attn_alloc_count() > n;
            attn_alloc_fail_off();
            /* PCRE2 can do without JIT */
            ck_assert_msg(status == ATTN_NO_MEMORY || status == ATTN_OK, "%s, allocation %ld: %s",
                          files[i], n, err.message);
        }
        attn_buffer_release(&bytes);
    }
}
END_TEST

ATTN_SUITE(
    "tokenizer_gguf", gives_the_ids_of_the_models_own_tokenizers, sentences_are_merged_by_a_list,
    the_highest_score_is_joined_first_and_the_leftmost_of_equals,
    characters_may_be_parts_of_tokens_alone, neighbours_without_a_token_are_one_unknown_token,
    characters_without_a_token_are_their_bytes,
    a_space_is_put_before_pieces_that_begin_or_follow_a_special_token,
    a_space_and_its_mark_are_one_run_without_a_prefix, only_tokens_of_type_1_are_made,
    tokens_that_are_no_text_are_decoded_to_text, bytes_are_merged_and_split_by_the_name_of_the_rule,
    every_name_of_a_rule_splits_as_the_library_does, bos_and_sep_are_added_by_the_name_of_the_rule,
    a_whole_tokenizer_json_in_the_file_is_taken, what_is_wrong_is_refused_by_its_key,
    a_long_token_is_refused_and_can_be_canceled, scores_that_were_canceled_are_read_again,
    more_tokens_than_rows_are_refused, every_failed_allocation_is_reported,
    a_key_of_any_other_type_is_refused_by_its_name, a_model_opens_whatever_its_tokenizer_is)
