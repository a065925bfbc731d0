/* The vocabulary that a text makes. */
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "text/words.h"

#include <string.h>

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

static void assert_refused(const char *text, const char *drop, const char *message)
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
    assert_refused("a \xff", ",",
                   "the text of the vocabulary is not UTF-8 at byte 2: found '\\xff'");
    assert_refused("a", ".\xc3", "what is to be dropped is not UTF-8 at byte 1: found '\\xc3'");
    assert_refused("", "", "the text of the vocabulary has no words");
    assert_refused(" ,\n", ",", "the text of the vocabulary has no words");
}
END_TEST

START_TEST(survives_every_failed_allocation)
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

ATTN_SUITE("word_list", words_are_sorted_by_code_point_each_once,
           dropped_characters_are_part_of_no_word, characters_are_words_too,
           refuses_what_is_no_text_and_a_text_without_words, survives_every_failed_allocation)
