/* Word level: which words a text has, where they are, what is said of those that are not known; the
 * vocabulary that a text makes. */
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "tests/support/tokenizing.h"
#include "tokenizer/words.h"

#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))
#define LIFE "{\"Life\": 0, \"dessert\": 1, \"eat\": 2, \"first\": 3, \"is\": 4, \"short\": 5}"

static const struct attn_tokenizer_files life = {
    .config = "{\"tokenizer\": {\"type\": \"word\", \"drop\": \",\", \"unk\": null}}",
    .vocab = LIFE,
};

static struct attn_tokenizer *tokenizer;

static void open_life(void)
{
    tokenizer = attn_make_tokenizer(&life);
}

static void close_tokenizer(void)
{
    attn_tokenizer_free(tokenizer);
    tokenizer = NULL;
}

static void assert_words(const char *text, const struct attn_expected_token *expected, size_t n)
{
    attn_assert_tokens(tokenizer, text, strlen(text), NULL, expected, n);
}

static void assert_unknown(const char *text, const char *message, const char *hint)
{
    attn_assert_text_refused(tokenizer, text, strlen(text), NULL, message, hint);
}

START_TEST(gives_the_ids_and_places_of_the_first_article)
{
    static const struct attn_expected_token expected[] = {{0, 0, 4},   {4, 5, 7},   {5, 8, 13},
                                                          {2, 15, 18}, {1, 19, 26}, {3, 27, 32}};

    open_life();
    ck_assert_int_eq(attn_tokenizer_kind(tokenizer), ATTN_TOKENIZER_WORD);
    ck_assert_uint_eq(attn_tokenizer_n_vocab(tokenizer), 6);
    assert_words("Life is short, eat dessert first", expected, N(expected));
    close_tokenizer();
}
END_TEST

START_TEST(drops_characters_anywhere_in_a_word)
{
    static const struct attn_tokenizer_files files = {
        .config = "{\"tokenizer\": {\"drop\": \"\\u3002.,\"}}", .vocab = LIFE};
    static const struct attn_expected_token expected[] = {{2, 3, 8}, {4, 15, 17}};

    tokenizer = attn_make_tokenizer(&files);
    /* A word of dropped characters alone is none; a dropped one inside lies within the offsets. */
    assert_words("\xe3\x80\x82"
                 "e.a,t.. ,., is\xe3\x80\x82",
                 expected, N(expected));
    close_tokenizer();
}
END_TEST

START_TEST(splits_at_unicode_white_space_only)
{
    static const struct attn_expected_token expected[] = {
        {4, 0, 2}, {4, 5, 7}, {4, 9, 11}, {4, 12, 14}};

    open_life();
    assert_words("is\xe3\x80\x80is\xc2\x85is\x0bis", expected, N(expected)); /* U+3000, U+0085 */
    assert_words("", NULL, 0);
    assert_words(" \t\n,", NULL, 0);
    /* U+180E and U+200B only look like white space. */
    assert_unknown("is\xe1\xa0\x8eis", "'toy': unknown word 'is\\xe1\\xa0\\x8eis' (word 0, byte 0)",
                   "the vocabulary has 6 words: 'Life', 'dessert', 'eat', ...");
    close_tokenizer();
}
END_TEST

START_TEST(names_an_unknown_word_and_the_closest_ones)
{
    open_life();
    assert_unknown("Life is short, eat desert first",
                   "'toy': unknown word 'desert' (word 4, byte 19)", "did you mean 'dessert'?");
    assert_unknown(",life", "'toy': unknown word 'life' (word 0, byte 1)", "did you mean 'Life'?");
    assert_unknown("si", "'toy': unknown word 'si' (word 0, byte 0)",
                   "did you mean 'is'?"); /* one swap */
    assert_unknown("FISRT", "'toy': unknown word 'FISRT' (word 0, byte 0)",
                   "did you mean 'first'?");
    assert_unknown("ea", "'toy': unknown word 'ea' (word 0, byte 0)", "did you mean 'eat'?");
    assert_unknown("jabberwocky", "'toy': unknown word 'jabberwocky' (word 0, byte 0)",
                   "the vocabulary has 6 words: 'Life', 'dessert', 'eat', ...");
    assert_unknown("is \x1b[31m", "'toy': unknown word '\\x1b[31m' (word 1, byte 3)",
                   "the vocabulary has 6 words: 'Life', 'dessert', 'eat', ...");
    close_tokenizer();
}
END_TEST

START_TEST(prefers_the_same_word_in_another_case)
{
    static const struct attn_tokenizer_files files = {
        .vocab = "{\"cat\": 0, \"bat\": 1, \"rat\": 2, \"hat\": 3, \"HAT\": 4}"};

    tokenizer = attn_make_tokenizer(&files);
    assert_unknown("Hat", "'toy': unknown word 'Hat' (word 0, byte 0)",
                   "did you mean 'hat', 'HAT', 'cat'?");
    close_tokenizer();
}
END_TEST

START_TEST(uses_the_unknown_token_when_there_is_one)
{
    static const struct attn_tokenizer_files files = {
        .config = "{\"tokenizer\": {\"unk\": \"<unk>\"}}", .vocab = "{\"<unk>\": 0, \"a\": 1}"};
    static const struct attn_expected_token expected[] = {{1, 0, 1}, {0, 2, 7}, {1, 8, 9}};

    tokenizer = attn_make_tokenizer(&files);
    assert_words("a zebra a", expected, N(expected));
    close_tokenizer();
}
END_TEST

START_TEST(joins_words_with_single_spaces)
{
    static const int32_t ids[] = {0, 4, 5}, bad[] = {0, 6};
    char *text = NULL;
    size_t size = 0;
    struct attn_error err = {0};

    open_life();
    ck_assert_int_eq(attn_tokenizer_decode(tokenizer, ids, 3, &text, &size, &err), ATTN_OK);
    ck_assert_str_eq(text, "Life is short");
    ck_assert_uint_eq(size, 13);
    attn_tokenizer_text_free(text);
    ck_assert_int_eq(attn_tokenizer_decode(tokenizer, ids, 0, &text, &size, &err), ATTN_OK);
    ck_assert_str_eq(text, "");
    attn_tokenizer_text_free(text);
    ck_assert_int_eq(attn_tokenizer_decode(tokenizer, bad, 2, &text, &size, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "id 6 at position 1 is not in the vocabulary, expected 0..5");
    ck_assert_ptr_eq(attn_tokenizer_token(tokenizer, 6, &size), NULL);
    ck_assert_ptr_eq(attn_tokenizer_token(tokenizer, -1, &size), NULL);
    close_tokenizer();
}
END_TEST

START_TEST(refuses_or_replaces_what_is_not_utf8)
{
    static const struct attn_encode_options replace = {.size = sizeof replace,
                                                       .invalid = ATTN_INVALID_TEXT_REPLACE};
    static const struct attn_encode_options bytes = {.size = sizeof bytes,
                                                     .invalid = ATTN_INVALID_TEXT_BYTES};
    static const struct attn_tokenizer_files files = {
        .config = "{\"tokenizer\": {\"drop\": \"\\ufffd\"}}", .vocab = LIFE};
    static const struct attn_expected_token expected[] = {{4, 1, 3}, {2, 7, 10}};

    open_life();
    assert_unknown("is \xff", "the text is not UTF-8 at byte 3: found '\\xff'", "");
    attn_assert_text_refused(
        tokenizer, "is \xff", 4, &bytes,
        "the text is not UTF-8 at byte 3, and only a byte-level BPE can encode bytes", "");
    /* Three bytes of a cut character and one stray byte become two U+FFFD, six bytes. */
    attn_assert_text_refused(tokenizer, "\xf0\x9f\x98\xff is no", 10, &replace,
                             "'toy': unknown word '\xef\xbf\xbd\xef\xbf\xbd' (word 0, byte 0)",
                             "the vocabulary has 6 words: 'Life', 'dessert', 'eat', ...");
    close_tokenizer();

    tokenizer = attn_make_tokenizer(&files); /* offsets are those of the text that was given */
    attn_assert_tokens(tokenizer,
                       "\xffis\xe2\x82 \xff"
                       "eat",
                       10, &replace, expected, N(expected));
    attn_assert_text_refused(tokenizer, "\xff is no", 7, &replace,
                             "'toy': unknown word 'no' (word 1, byte 5)",
                             "the vocabulary has 6 words: 'Life', 'dessert', 'eat', ...");
    close_tokenizer();
}
END_TEST

START_TEST(refuses_vocabularies_with_gaps_and_duplicates)
{
    static const struct {
        const char *vocab, *message;
    } cases[] = {
        {"{}", "'toy/vocab.json' has no tokens"},
        {"[0]", "'toy/vocab.json' is not an object {\"token\": id, ...}"},
        {"{\"a\": 0, \"b\": 2}",
         "'toy/vocab.json' has 2 tokens but none with id 1, expected ids 0..1"},
        {"{\"a\": 1, \"b\": 1}", "'a' and 'b' in 'toy/vocab.json' have the same id 1"},
        {"{\"a\": 0, \"\\u0061\": 1}", "'a' is in 'toy/vocab.json' twice, with ids 0 and 1"},
        {"{\"a\": 0.5}",
         "'a' in 'toy/vocab.json' has id 0.5, expected an integer from 0 to 2147483647"},
        {"{\"a\": -1}",
         "'a' in 'toy/vocab.json' has id -1, expected an integer from 0 to 2147483647"},
        {"{\"a\": 2147483648}",
         "'a' in 'toy/vocab.json' has id 2147483648, expected an integer from 0 to 2147483647"},
        {"{\"a\": \"0\"}",
         "'a' in 'toy/vocab.json' has id \"0\", expected an integer from 0 to 2147483647"},
        {"{\"a\": 0} x", "'toy/vocab.json' has 'x' at byte 9, expected the end of the text"},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct attn_tokenizer_files files = {.vocab = cases[i].vocab};

        attn_assert_refused(&files, ATTN_FORMAT, cases[i].message);
    }
}
END_TEST

START_TEST(splits_into_characters_when_the_config_says_so)
{
    static const struct attn_tokenizer_files files = {
        .config = "{\"tokenizer\": {\"type\": \"char\", \"drop\": \",\"}}",
        .vocab = "{\" \": 0, \"a\": 1, \"\u00e9\": 2}"};
    static const struct attn_expected_token expected[] = {
        {1, 0, 1}, {0, 2, 3}, {2, 3, 5}, {1, 5, 6}};
    static const int32_t ids[] = {1, 0, 2, 1};
    struct attn_error err = {0};
    size_t size;
    char *text;

    tokenizer = attn_make_tokenizer(&files);
    ck_assert_int_eq(attn_tokenizer_kind(tokenizer), ATTN_TOKENIZER_CHARACTER);
    assert_words("a, \xc3\xa9"
                 "a",
                 expected, N(expected));
    assert_unknown("ab", "'toy': unknown character 'b' (character 1, byte 1)", "");
    ck_assert_int_eq(attn_tokenizer_decode(tokenizer, ids, N(ids), &text, &size, &err), ATTN_OK);
    ck_assert_str_eq(text, "a \xc3\xa9"
                           "a");
    attn_tokenizer_text_free(text);
    close_tokenizer();
}
END_TEST

START_TEST(puts_the_token_that_begins_texts_in_front)
{
    static const struct attn_tokenizer_files files = {
        .config = "{\"tokenizer\": {\"type\": \"char\", \"bos\": \"<BOS>\"}}",
        .vocab = "{\"a\": 0, \"b\": 1, \"<BOS>\": 2}"};
    static const struct attn_expected_token expected[] = {{2, 0, 0}, {1, 0, 1}, {0, 1, 2}};

    tokenizer = attn_make_tokenizer(&files);
    assert_words("ba", expected, N(expected));
    for (int32_t id = 0; id < 3; id++)
        ck_assert(attn_tokenizer_is_special(tokenizer, id) == (id == 2));
    close_tokenizer();
}
END_TEST

START_TEST(refuses_configs_that_make_no_sense)
{
    struct attn_tokenizer_files files = {.vocab = LIFE};

    files.config = "{\"tokenizer\": \"word\"}";
    attn_assert_refused(&files, ATTN_FORMAT, "'tokenizer' in 'toy/config.json' is not an object");
    files.config = "{\"tokenizer\": {\"type\": \"words\"}}";
    attn_assert_refused(&files, ATTN_UNSUPPORTED,
                        "tokenizer type 'words' in 'toy/config.json' is not supported, expected "
                        "'word', 'char' or 'bpe'");
    files.config = "{\"tokenizer\": {\"dorp\": \",\"}}";
    attn_assert_refused(&files, ATTN_UNSUPPORTED,
                        "'dorp' of 'tokenizer' in 'toy/config.json' is not known, expected 'type', "
                        "'drop', 'unk' or 'bos'");
    files.config = "{\"tokenizer\": {\"unk\": \"<unk>\"}}";
    attn_assert_refused(&files, ATTN_FORMAT,
                        "the config's 'unk' token '<unk>' is not in the vocabulary");
    files.config = "{\"tokenizer\": {\"bos\": \"\"}}";
    attn_assert_refused(&files, ATTN_FORMAT,
                        "the config's 'bos' token '' is not in the vocabulary");
    files.config = "{\"tokenizer\": {\"type\": 1}}";
    attn_assert_refused(&files, ATTN_FORMAT, "'type' in 'toy/config.json' is 1, expected a string");
    files.config = "{\"tokenizer\": {\"drop\": []}}";
    attn_assert_refused(&files, ATTN_FORMAT,
                        "'drop' in 'toy/config.json' is an array, expected a string");
    files.config = "{\"tokenizer\": {\"unk\": false}}";
    attn_assert_refused(&files, ATTN_FORMAT,
                        "'unk' in 'toy/config.json' is false, expected a string");
    files.config = "{\"tokenizer\": null}";
    attn_tokenizer_free(attn_make_tokenizer(&files));
}
END_TEST

START_TEST(has_no_special_tokens)
{
    open_life();
    for (int32_t id = -1; id < 8; id++)
        ck_assert(!attn_tokenizer_is_special(tokenizer, id));
    close_tokenizer();
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    struct attn_encoding encoding = {0};
    struct attn_error err;
    enum attn_status status = ATTN_NO_MEMORY;

    for (long n = 0; status != ATTN_OK; n++) {
        err = (struct attn_error){0};
        tokenizer = NULL;
        attn_alloc_fail_at(n);
        status = attn_try_tokenizer(&life, &tokenizer, &err);
        if (status == ATTN_OK)
            status = attn_tokenizer_encode(tokenizer, "eat is", 6, &ATTN_ENCODE_DEFAULT, &encoding,
                                           &err);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
        close_tokenizer();
    }
    ck_assert_uint_eq(encoding.n, 2);
    attn_encoding_release(&encoding);
}
END_TEST

/* --- The vocabulary that a text makes ------------------------------------------------------------
 */

/* Fails the test unless the words of TEXT, joined by '|', are EXPECTED. */
static void assert_list(const char *text, enum attn_tokenizer_kind kind, const char *drop,
                        const char *expected)
{
    struct attn_word_list list = {0};
    struct attn_error err = {0};
    char joined[256];
    size_t size = 0;

    ck_assert_msg(attn_word_list_read(&list, text, strlen(text), kind, drop, &err) == ATTN_OK, "%s",
                  err.message);
    for (size_t i = 0; i < list.n; i++) {
        ck_assert_uint_lt(size + list.words[i].size + 2, sizeof joined);
        if (i > 0)
            joined[size++] = '|';
        memcpy(joined + size, list.words[i].text, list.words[i].size);
        size += list.words[i].size;
    }
    joined[size] = '\0';
    ck_assert_str_eq(joined, expected);
    ck_assert_str_eq(list.drop, drop);
    attn_word_list_release(&list);
}

START_TEST(words_are_sorted_by_code_point_each_once)
{
    assert_list("Life is short, eat dessert first", ATTN_TOKENIZER_WORD, ",",
                "Life|dessert|eat|first|is|short");
    assert_list("b a\tb  a\na b", ATTN_TOKENIZER_WORD, "", "a|b");
    assert_list("\xf0\x9f\xa6\x89 \xe7\x8c\xab z aa a \xc3\xa9", ATTN_TOKENIZER_WORD, "",
                "a|aa|z|\xc3\xa9|\xe7\x8c\xab|\xf0\x9f\xa6\x89");
}
END_TEST

START_TEST(dropped_characters_are_part_of_no_word)
{
    assert_list("a,b . \xe3\x80\x82"
                "c",
                ATTN_TOKENIZER_WORD, ",.\xe3\x80\x82", "ab|c");
}
END_TEST

START_TEST(characters_are_words_too)
{
    assert_list("ab ba,\n", ATTN_TOKENIZER_CHARACTER, ",", "\n| |a|b");
}
END_TEST

static void assert_no_list(const char *text, const char *drop, const char *message)
{
    struct attn_word_list list = {0};
    struct attn_error err = {0};

    ck_assert_int_eq(
        attn_word_list_read(&list, text, strlen(text), ATTN_TOKENIZER_WORD, drop, &err),
        ATTN_INVALID);
    ck_assert_str_eq(err.message, message);
    ck_assert_uint_eq(list.n, 0);
}

START_TEST(refuses_what_is_no_text_and_a_text_without_words)
{
    assert_no_list("a \xff", ",",
                   "the text of the vocabulary is not UTF-8 at byte 2: found '\\xff'");
    assert_no_list("a", ".\xc3", "what is to be dropped is not UTF-8 at byte 1: found '\\xc3'");
    assert_no_list("", "", "the text of the vocabulary has no words");
    assert_no_list(" ,\n", ",", "the text of the vocabulary has no words");
}
END_TEST

START_TEST(a_vocabulary_survives_every_failed_allocation)
{
    enum attn_status status = ATTN_NO_MEMORY;

    for (int n = 0; status == ATTN_NO_MEMORY; n++) {
        struct attn_word_list list = {0};
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = attn_word_list_read(&list, "a b c", 5, ATTN_TOKENIZER_WORD, ",", &err);
        attn_alloc_fail_off();
        ck_assert(n < 100 && (status == ATTN_OK) == (list.n == 3));
        attn_word_list_release(&list);
    }
    ck_assert_int_eq(status, ATTN_OK);
}
END_TEST

ATTN_SUITE("tokenizer_words", gives_the_ids_and_places_of_the_first_article,
           drops_characters_anywhere_in_a_word, splits_at_unicode_white_space_only,
           names_an_unknown_word_and_the_closest_ones, prefers_the_same_word_in_another_case,
           uses_the_unknown_token_when_there_is_one, joins_words_with_single_spaces,
           refuses_or_replaces_what_is_not_utf8, refuses_vocabularies_with_gaps_and_duplicates,
           splits_into_characters_when_the_config_says_so,
           puts_the_token_that_begins_texts_in_front, refuses_configs_that_make_no_sense,
           has_no_special_tokens, survives_every_failed_allocation,
           words_are_sorted_by_code_point_each_once, dropped_characters_are_part_of_no_word,
           characters_are_words_too, refuses_what_is_no_text_and_a_text_without_words,
           a_vocabulary_survives_every_failed_allocation)
