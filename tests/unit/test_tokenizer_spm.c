/*
 * test_tokenizer_spm.c - SentencePiece's own files: the tokens, places and texts of Marian as
 * transformers has them (fixtures/tokenizers/marian), T5's spiece.model, Llama's tokenizer.model,
 * and what is refused.
 */
#include "attn.h"
#include "base/text/escape.h"
#include "formats/json.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "tests/support/tokenizing.h"
#include "tokenizer/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))
#define SPACE "\xe2\x96\x81"
static const char folder[] = "tests/fixtures/tokenizers/marian";

/* --- Files written in the test ---------------------------------------------------------------- */

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };

struct piece {
    const char *text;
    float score;
    int type;
};

static void append_varint(struct attn_buffer *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        attn_buffer_append_char(out, (char)(value | 0x80));
    attn_buffer_append_char(out, (char)value);
}

static void append_number(struct attn_buffer *out, unsigned field, uint64_t value)
{
    append_varint(out, field << 3);
    append_varint(out, value);
}

static void append_bytes(struct attn_buffer *out, unsigned field, const void *bytes, size_t size)
{
    append_varint(out, field << 3 | 2);
    append_varint(out, size);
    attn_buffer_append(out, bytes, size);
}

static void append_piece(struct attn_buffer *out, const struct piece *piece)
{
    struct attn_buffer message = {0};
    uint32_t bits;

    append_bytes(&message, 1, piece->text, strlen(piece->text));
    memcpy(&bits, &piece->score, sizeof bits);
    append_varint(&message, 2 << 3 | 5);
    for (int i = 0; i < 4; i++)
        attn_buffer_append_char(&message, (char)(bits >> 8 * i));
    append_number(&message, 3, (uint64_t)piece->type);
    append_bytes(out, 1, message.data, message.size);
    attn_buffer_release(&message);
}

/* A file of PIECES, which end with one without text, and of the trainer's field NUMBER. */
static void write_model(struct attn_buffer *out, const struct piece *pieces, unsigned number,
                        uint64_t value)
{
    struct attn_buffer trainer = {0};

    for (; pieces->text; pieces++)
        append_piece(out, pieces);
    append_number(&trainer, number, value);
    append_bytes(out, 2, trainer.data, trainer.size);
    attn_buffer_release(&trainer);
}

static const char all_ids[] = "{\"</s>\": 0, \"<unk>\": 1, \"" SPACE "a\": 2, \"b\": 3, \"a\": 4, "
                              "\"ar\": 5, \"re\": 6, \"e\": 7, \">>x<<\": 8}";

/* Both sides have the model FILE; IDS is vocab.json. */
static enum attn_status try_marian(const struct attn_buffer *file, const char *ids,
                                   struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    const struct attn_blob blobs[] = {{"source.spm", file->data ? file->data : "", file->size},
                                      {"target.spm", file->data ? file->data : "", file->size},
                                      {"vocab.json", ids, strlen(ids)}};
    const struct attn_source source = {.name = "toy", .blobs = blobs, .n_blob = N(blobs)};

    return attn_tokenizer_open(&source, tokenizer, err);
}

static struct attn_tokenizer *open_pieces(const struct piece *pieces, const char *ids)
{
    struct attn_buffer file = {0};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    write_model(&file, pieces, 3, 1);
    if (try_marian(&file, ids, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    attn_buffer_release(&file);
    return tokenizer;
}

/* Fails unless TEXT has the ids of EXPECTED: "2 3 0". */
static void assert_text(const struct attn_tokenizer *tokenizer, const char *text,
                        const char *expected)
{
    struct attn_encoding encoding = {0};
    struct attn_buffer found = {0};
    struct attn_error err = {0};

    if (attn_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    for (size_t i = 0; i < encoding.n; i++)
        attn_buffer_append_format(&found, "%s%d", i > 0 ? " " : "", (int)encoding.ids[i]);
    ck_assert_str_eq(attn_buffer_string(&found), expected);
    attn_buffer_release(&found);
    attn_encoding_release(&encoding);
}

/* --- Marian ----------------------------------------------------------------------------------- */

static void assert_decoded(const struct attn_tokenizer *tokenizer, const int32_t *ids, size_t n,
                           const struct attn_node *expected)
{
    struct attn_error err = {0};
    char *text = NULL;
    size_t size;

    if (attn_tokenizer_decode(tokenizer, ids, n, &text, &size, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    ck_assert_str_eq(text, attn_node_string(expected));
    attn_tokenizer_text_free(text);
}

static void assert_case(const struct attn_tokenizer *tokenizer, const struct attn_json *json)
{
    const struct attn_tokenizer *target = attn_tokenizer_target(tokenizer);
    const char *text = attn_node_string(attn_case_field(json, "text"));
    const size_t size = strlen(text);
    struct attn_encoding encoding = {0};

    ck_assert(attn_tokenizer_encode(tokenizer, text, size, NULL, &encoding, NULL) == ATTN_OK);
    attn_assert_ids(&encoding, attn_case_field(json, "ids_special"), text);
    if (!strpbrk(text, "<>"))
        attn_assert_places(&encoding, attn_case_field(json, "byte_offsets"), text);
    ck_assert_uint_eq(encoding.n_back, 1);
    assert_decoded(tokenizer, encoding.ids, encoding.n, attn_case_field(json, "decode"));
    ck_assert(attn_tokenizer_encode(target, text, size, NULL, &encoding, NULL) == ATTN_OK);
    attn_assert_ids(&encoding, attn_case_field(json, "ids_target"), text);
    attn_encoding_release(&encoding);
}

START_TEST(gives_what_marian_gives)
{
    const struct attn_source source = {.directory = folder};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    char path[100];

    if (attn_tokenizer_open(&source, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    ck_assert(attn_tokenizer_target(tokenizer) != tokenizer);
    snprintf(path, sizeof path, "%s/cases.jsonl", folder);
    ck_assert_uint_eq(attn_each_case(path, tokenizer, assert_case), 119);
    attn_tokenizer_free(tokenizer);
}
END_TEST

static const struct piece some[] = {
    {"<unk>", 0, UNKNOWN}, {"</s>", 0, CONTROL},  {SPACE "a", -0.9F, NORMAL}, {"a", -1.15F, NORMAL},
    {"b", -1.4F, NORMAL},  {"ar", -1.4F, NORMAL}, {"r", -1.4F, NORMAL},       {"re", -1.4F, NORMAL},
    {"e", -1.15F, NORMAL}, {.text = NULL}};

/* "a" "re" and "ar" "e" have the same sum in float32, and the first is found first; in double the
 * second is larger. SentencePiece 0.2.3 was asked. */
START_TEST(sums_scores_in_float32)
{
    struct attn_tokenizer *tokenizer = open_pieces(some, all_ids);

    assert_text(tokenizer, "abare", "2 3 4 6 0");
    attn_tokenizer_free(tokenizer);
}
END_TEST

/* A control piece is not made of a text, and its text has the id of vocab.json all the same; r has
 * none there. */
START_TEST(pieces_have_the_ids_of_the_vocabulary)
{
    struct attn_tokenizer *tokenizer = open_pieces(some, all_ids);

    assert_text(tokenizer, "a</s>b", "2 0 1 3 0");
    assert_text(tokenizer, "ab r", "2 3 1 1 0");
    assert_text(tokenizer, ">>x<< a", "8 2 0");
    assert_text(tokenizer, ">>y<<a", "1 2 0");
    assert_text(tokenizer, "a >>x<<", "2 1 0");
    assert_text(tokenizer, ">>a", "1 4 0");
    attn_tokenizer_free(tokenizer);
}
END_TEST

/* Its score is -0.1, whatever the file has. */
START_TEST(pieces_of_a_user_are_taken_whole)
{
    static const struct piece pieces[] = {
        {"<unk>", 0, UNKNOWN}, {SPACE "a", -1, NORMAL}, {"a", -1, NORMAL},
        {"b", -1, NORMAL},     {"ar", -9, USER},        {"r", -1, NORMAL},
        {"e", -1, NORMAL},     {"re", -0.5F, NORMAL},   {.text = NULL}};
    struct attn_tokenizer *tokenizer = open_pieces(pieces, all_ids);

    assert_text(tokenizer, "bare", "1 3 5 7 0");
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(two_vocabularies_are_read_if_the_config_says_so)
{
    static const char ids[] = "{\"</s>\": 0, \"<unk>\": 1, \"" SPACE "a\": 2}";
    static const char target[] = "{\"" SPACE "a\": 7, \"</s>\": 0, \"<unk>\": 1}";
    static const char config[] = "{\"separate_vocabs\": true}";
    struct attn_buffer file = {0};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    write_model(&file, some, 3, 1);
    const struct attn_blob blobs[] = {{"source.spm", file.data, file.size},
                                      {"target.spm", file.data, file.size},
                                      {"vocab.json", ids, strlen(ids)},
                                      {"target_vocab.json", target, strlen(target)},
                                      {"tokenizer_config.json", config, strlen(config)}};
    const struct attn_source source = {.name = "toy", .blobs = blobs, .n_blob = N(blobs)};

    if (attn_tokenizer_open(&source, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    assert_text(tokenizer, "a", "2 0");
    assert_text(attn_tokenizer_target(tokenizer), "a", "7 0");
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&file);
}
END_TEST

/* --- T5 --------------------------------------------------------------------------------------- */

START_TEST(numbers_of_pieces_are_ids_of_t5)
{
    static const struct piece pieces[] = {{"<pad>", 0, CONTROL}, {"</s>", 0, CONTROL},
                                          {"<unk>", 0, UNKNOWN}, {SPACE "a", -1, NORMAL},
                                          {"b", -2, NORMAL},     {.text = NULL}};
    static const char config[] = "{\"model_type\": \"t5\"}";
    struct attn_buffer file = {0};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    write_model(&file, pieces, 3, 1);
    static const char map[] = "{\"additional_special_tokens\": [\"<extra_id_0>\"]}";
    const struct attn_blob blobs[] = {{"spiece.model", file.data, file.size},
                                      {"special_tokens_map.json", map, strlen(map)},
                                      {"config.json", config, strlen(config)}};
    const struct attn_source source = {.name = "toy", .blobs = blobs, .n_blob = N(blobs)};

    if (attn_tokenizer_open(&source, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    ck_assert_uint_eq(attn_tokenizer_n_vocab(tokenizer), 105);
    ck_assert(attn_tokenizer_target(tokenizer) == tokenizer);
    assert_text(tokenizer, "ab <extra_id_0> a?", "3 4 104 3 2 1");
    ck_assert(attn_tokenizer_is_special(tokenizer, 104));
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&file);
}
END_TEST

/* As CamembertTokenizer of transformers 5.23 reads them. */
START_TEST(control_pieces_of_camembert_are_special_without_a_role)
{
    static const struct piece pieces[] = {
        {"<unk>", 0, UNKNOWN}, {"<s>", 0, CONTROL},     {"</s>", 0, CONTROL}, {SPACE, -3, NORMAL},
        {"a", -3, NORMAL},     {SPACE "a", -1, NORMAL}, {"<", -4, NORMAL},    {"s", -4, NORMAL},
        {">", -4, NORMAL},     {.text = NULL}};
    static const char config[] = "{\"tokenizer_class\": \"CamembertTokenizer\", "
                                 "\"bos_token\": \"</s>\", \"cls_token\": \"</s>\"}";
    struct attn_buffer file = {0};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    write_model(&file, pieces, 3, 1);
    const struct attn_blob blobs[] = {{"sentencepiece.bpe.model", file.data, file.size},
                                      {"tokenizer_config.json", config, strlen(config)}};
    const struct attn_source source = {.name = "toy", .blobs = blobs, .n_blob = N(blobs)};

    if (attn_tokenizer_open(&source, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    assert_text(tokenizer, "a<s> a", "6 9 5 9 6");
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&file);
}
END_TEST

/* --- Llama ------------------------------------------------------------------------------------ */

/* Of type BPE. SPACE "a" has the score of "ab": in SPACE "ab" the left pair comes first. */
static const struct piece llama[] = {
    {"<unk>", 0, UNKNOWN}, {"<s>", 0, CONTROL}, {"</s>", 0, CONTROL},    {"<0xC3>", 0, BYTE},
    {"<0xA9>", 0, BYTE},   {"<x>", 0, USER},    {SPACE "a", -1, NORMAL}, {"ab", -1, NORMAL},
    {"bc", 0, NORMAL},     {SPACE, -3, NORMAL}, {"a", -3, NORMAL},       {"b", -3, NORMAL},
    {"c", -3, NORMAL},     {"abc", -2, NORMAL}, {.text = NULL}};

static void write_llama(struct attn_buffer *file, const struct piece *pieces, bool has_bytes)
{
    struct attn_buffer trainer = {0};

    write_model(file, pieces, 3, 2);
    append_number(&trainer, 35, has_bytes);
    append_bytes(file, 2, trainer.data, trainer.size);
    attn_buffer_release(&trainer);
}

static enum attn_status try_llama(const struct attn_buffer *file, const char *config,
                                  struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    const struct attn_blob blobs[] = {{"tokenizer.model", file->data, file->size},
                                      {"tokenizer_config.json", config, strlen(config)}};
    const struct attn_source source = {.name = "toy", .blobs = blobs, .n_blob = N(blobs)};

    return attn_tokenizer_open(&source, tokenizer, err);
}

static void assert_llama(bool has_bytes, const char *config, const char *text, const char *expected)
{
    struct attn_buffer file = {0};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    write_llama(&file, llama, has_bytes);
    if (try_llama(&file, config, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    assert_text(tokenizer, text, expected);
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&file);
}

START_TEST(scores_merge_texts_of_llama)
{
    assert_llama(true, "{}", "ab", "1 6 11"); /* the leftmost of equal scores */
    assert_llama(true, "{}", "c ab", "1 9 12 6 11");
    assert_llama(true, "{}", "cab", "1 9 12 7");
    assert_llama(true, "{}", "abc", "1 6 8"); /* the highest score first */
    assert_llama(true, "{}", "caabc", "1 9 12 10 13");
    assert_llama(true, "{}", "a<x>b", "1 6 5 11"); /* a user's piece, and no space after it */
    assert_llama(true, "{}", "<s>b</s>", "1 1 9 11 2");
    assert_llama(true, "{}", "c\xc3\xa9", "1 9 12 3 4");
    assert_llama(true, "{}", "\xc3\xa8\xc3\xa8", "1 9 0"); /* adjacent unknown ones are one */
    assert_llama(false, "{}", "\xc3\xa9", "1 9 0");
    assert_llama(true, "{}", "<0xC3>", "1 9 0"); /* names of bytes are text */
    assert_llama(true, "{}", "", "1");
}
END_TEST

START_TEST(the_config_of_llama_says_which_ends_are_added)
{
    assert_llama(true, "{\"add_bos_token\": false}", "b", "9 11");
    assert_llama(true, "{\"add_eos_token\": true}", "b", "1 9 11 2");
    assert_llama(true, "{\"bos_token\": \"<x>\", \"eos_token\": null, \"add_eos_token\": true}",
                 "b", "5 9 11");
    assert_llama(true, "{\"extra_special_tokens\": [\"<new>\"]}", "b<new>", "1 9 11 14");
}
END_TEST

START_TEST(refuses_models_of_llama_by_name)
{
    static const struct piece unk = {"<unk>", 0, UNKNOWN}, end = {.text = NULL};
    const struct {
        struct piece pieces[4];
        const char *message;
    } cases[] = {
        {{unk, {"a", -1, UNUSED}, end}, "piece 1 of 'toy/tokenizer.model', 'a', is unused"},
        {{unk, {"a", -1, 7}, end}, "'a', has an unknown type"},
        {{{"a", -1, NORMAL}, end}, "it has no unknown piece"},
    };
    struct attn_tokenizer *tokenizer = NULL;

    for (size_t i = 0; i < N(cases); i++) {
        struct attn_buffer file = {0};
        struct attn_error err = {0};

        write_llama(&file, cases[i].pieces, true);
        ck_assert(try_llama(&file, "{}", &tokenizer, &err) != ATTN_OK);
        ck_assert_msg(strstr(err.message, cases[i].message), "'%s'", err.message);
        attn_buffer_release(&file);
    }
}
END_TEST

/* --- What is refused -------------------------------------------------------------------------- */

static void assert_refused(const struct attn_buffer *file, const char *ids, const char *message)
{
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    ck_assert(try_marian(file, ids, &tokenizer, &err) != ATTN_OK);
    ck_assert_msg(strstr(err.message, message), "'%s', expected '%s'", err.message, message);
}

START_TEST(refuses_models_by_name)
{
    static const struct piece unk = {"<unk>", 0, UNKNOWN}, end = {.text = NULL};
    const struct {
        struct piece pieces[4];
        unsigned field;
        uint64_t value;
        const char *message;
    } cases[] = {
        {{unk, {"a", -1, NORMAL}, end}, 3, 2, "SentencePiece of type 'BPE', expected 'unigram'"},
        {{unk, {"a", -1, NORMAL}, end}, 3, 9, "of type 'unknown'"},
        {{unk, {"a", -1, NORMAL}, end}, 24, 1, "treat_whitespace_as_suffix"},
        {{{"a", -1, NORMAL}, end}, 3, 1, "it has no unknown piece"},
        {{unk, {"", -1, NORMAL}, end}, 3, 1, "piece 1 of 'toy/source.spm', '', is empty"},
        {{unk, {"\xff", -1, NORMAL}, end}, 3, 1, "is not UTF-8"},
        {{unk, {"a", NAN, NORMAL}, end}, 3, 1, "has a score that is not finite"},
        {{unk, {"a", -1, NORMAL}, unk, end}, 3, 1, "is the second unknown one"},
        {{unk, {"a", -1, NORMAL}, {"a", -1, NORMAL}, end}, 3, 1, "'a'"},
        {{unk, end}, 3, 1, "has no tokens"},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct attn_buffer file = {0};

        write_model(&file, cases[i].pieces, cases[i].field, cases[i].value);
        assert_refused(&file, all_ids, cases[i].message);
        attn_buffer_release(&file);
    }
}
END_TEST

START_TEST(refuses_vocabularies_without_their_tokens)
{
    struct attn_buffer file = {0};

    write_model(&file, some, 3, 1);
    assert_refused(&file, "{\"<unk>\": 0}", "has no '</s>', the 'eos_token' of its tokenizer");
    assert_refused(&file, "{\"</s>\": 0}", "has no '<unk>', the 'unk_token' of its tokenizer");
    attn_buffer_release(&file);
}
END_TEST

/* A length that is larger than the rest, one of 2^64 - 1, a number without end, unknown types. */
START_TEST(refuses_what_is_no_protobuf)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
        {"\x0a\x05"
         "a",
         3, "the field at byte 0 is longer than what it is in"},
        {"\x0a\x02\x0a\x01", 4, "the field at byte 2 is longer than what it is in"},
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "is longer than what it is in"},
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, "ends within a number"},
        {"\x08\x80", 2, "ends within a number"},
        {"\x0b", 1, "has an unknown type"},
        {"\x0d\x01\x02\x03", 4, "is longer than what it is in"},
        {"", 0, "it has no unknown piece"},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct attn_buffer file = {0};

        attn_buffer_append(&file, cases[i].bytes, cases[i].size);
        assert_refused(&file, all_ids, cases[i].message);
        attn_buffer_release(&file);
    }
}
END_TEST

static void write_small(struct attn_buffer *file)
{
    /* A trie of two units without a string, and the end of the strings. */
    static const char charsmap[] = "\x08\0\0\0\0\x04\0\0\0\0\0\0\0";
    struct attn_buffer normalizer = {0};

    write_model(file, some, 3, 1);
    append_bytes(&normalizer, 2, charsmap, sizeof charsmap - 1);
    append_bytes(file, 3, normalizer.data, normalizer.size);
    attn_buffer_release(&normalizer);
}

/* Every length, and every byte as each of eight others: read or refused in one line. */
START_TEST(survives_files_that_are_damaged)
{
    struct attn_buffer file = {0};
    size_t n_read = 0, n_refused = 0;

    write_small(&file);
    for (size_t i = 0; i < file.size; i++)
        for (int bit = 0; bit < 9; bit++) {
            const size_t size = file.size;
            struct attn_tokenizer *tokenizer = NULL;
            struct attn_error err = {0};
            enum attn_status status;

            if (bit == 8)
                file.size = i;
            else
                file.data[i] ^= (char)(1 << bit);
            status = try_marian(&file, all_ids, &tokenizer, &err);
            file.size = size;
            if (bit < 8)
                file.data[i] ^= (char)(1 << bit);
            if (status == ATTN_OK)
                assert_text(tokenizer, "", "0");
            else
                ck_assert(err.message[0] != '\0' && !strchr(err.message, '\n'));
            n_read += status == ATTN_OK;
            n_refused += status != ATTN_OK;
            attn_tokenizer_free(tokenizer);
        }
    ck_assert_uint_gt(n_read, 300);
    ck_assert_uint_gt(n_refused, 300);
    attn_buffer_release(&file);
}
END_TEST

/* Opens, encodes and decodes while one allocation after another fails. */
static void fail_allocations(const struct attn_buffer *file, bool is_llama)
{
    static const char text[] = ">>x<< abare";
    bool has_failed = true;

    for (long n = 0; has_failed; n++) {
        struct attn_tokenizer *tokenizer = NULL;
        struct attn_encoding encoding = {0};
        struct attn_error err = {0};
        char *decoded = NULL;
        size_t n_decoded;
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = is_llama ? try_llama(file, "{\"add_eos_token\": true}", &tokenizer, &err)
                          : try_marian(file, all_ids, &tokenizer, &err);
        if (status == ATTN_OK)
            status = attn_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding, &err);
        if (status == ATTN_OK)
            status = attn_tokenizer_decode(tokenizer, encoding.ids, encoding.n, &decoded,
                                           &n_decoded, &err);
        has_failed = attn_alloc_count() > n;
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || (status == ATTN_NO_MEMORY && has_failed), "%s",
                      err.message);
        attn_tokenizer_text_free(decoded);
        attn_encoding_release(&encoding);
        attn_tokenizer_free(tokenizer);
    }
}

START_TEST(survives_failed_allocations)
{
    struct attn_buffer marian = {0}, of_llama = {0};

    write_small(&marian);
    fail_allocations(&marian, false);
    write_llama(&of_llama, llama, true);
    fail_allocations(&of_llama, true);
    attn_buffer_release(&marian);
    attn_buffer_release(&of_llama);
}
END_TEST

ATTN_SUITE("tokenizer spm", gives_what_marian_gives, sums_scores_in_float32,
           pieces_have_the_ids_of_the_vocabulary, pieces_of_a_user_are_taken_whole,
           two_vocabularies_are_read_if_the_config_says_so, numbers_of_pieces_are_ids_of_t5,
           control_pieces_of_camembert_are_special_without_a_role, scores_merge_texts_of_llama,
           the_config_of_llama_says_which_ends_are_added, refuses_models_of_llama_by_name,
           refuses_models_by_name, refuses_vocabularies_without_their_tokens,
           refuses_what_is_no_protobuf, survives_files_that_are_damaged,
           survives_failed_allocations)
