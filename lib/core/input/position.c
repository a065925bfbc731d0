/*
 * position.c - see position.h.
 *
 * Words are searched in the bytes of the text, whose tokens have byte offsets. If the input is ids,
 * a text is first made of the bytes of their tokens; word-level tokens get a space between them.
 */
#include "input/position.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "base/text/utf8.h"
#include "input/talk.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

static const struct attn_param place_rows[] = {
    ATTN_PARAM(PLACES, "positions", "NAME=SPEC", struct attn_places, items,
               "call positions by a name that other options may use: subject=keys, end=-1. An "
               "item may have its own, in the key pos.NAME. In `attn-cli patch`, each name is a "
               "row. May be given several times",
               .second = offsetof(struct attn_places, n), .traits = ATTN_PARAM_SHAPES_TENSORS),
};

const struct attn_param_list attn_place_params = ATTN_PARAM_LIST("Interventions", place_rows);

/* The text in which words are searched. */
struct text_words {
    const char *name;    /* "text" or "source" */
    const char *text;    /* [n_text] */
    size_t n_text, from; /* from: the byte where the search begins */
    size_t n_prompt;     /* bytes in front of the given text */
    /* Of a conversation: words are searched in all messages. */
    const struct attn_talk_span *messages; /* [n_message] */
    size_t n_message;
    const size_t *begin, *end; /* [n] byte offsets of the tokens */
    /* If tokens are single letters: their texts, and what one is called; else NULL. */
    const struct attn_token_bytes *letters;
    const char *letter;
    /* Texts of the tokens, to find tokens that the tokenizer added, which have no bytes in the
     * text; NULL: the text was made from tokens. */
    const struct attn_token_bytes *added;
    size_t n;
    struct attn_buffer made; /* text and offsets made from tokens */
    size_t *offsets;         /* owns; [2, n] or NULL */
};

/* The forms of an item of a list of positions. */
enum position_form {
    FORM_NUMBER, /* copied to the result unchanged */
    FORM_WORD,   /* a word, or the bytes of a mark */
    FORM_TEXT,   /* any text, in double quotes */
    FORM_CHARS,  /* `chars:A:B` */
    FORM_KEY,    /* `key:NAME` */
};

/* One parsed item of a list of positions. */
struct position_item {
    enum position_form form;
    const char *word; /* [size] without its quotes; of `key:NAME` all of it */
    size_t size;
    size_t nth;     /* which occurrence of the word, from 1; 0: the word must occur once */
    size_t message; /* 1 + the number of the message that has it; 0: any */
};

/* The tokens `first` to `last`, inclusive, and the bytes of the text in which they were found. */
struct token_range {
    size_t first, last;
    size_t begin, end; /* both 0: a token that is not in the text */
};

static const char chars_prefix[] = "chars:", key_prefix[] = ATTN_PLACE_KEY;

/* --- The text -------------------------------------------------------------------------------- */

static enum attn_status make_words(const struct attn_sequence *sequence, struct text_words *words,
                                   struct attn_error *err)
{
    words->n = sequence->n;
    ATTN_TRY(ATTN_ALLOC(words->offsets, 2 * words->n, err));
    for (size_t i = 0; i < words->n; i++) {
        if (sequence->is_word_level && i > 0)
            attn_buffer_append_char(&words->made, ' ');
        words->offsets[i] = words->made.size;
        attn_buffer_append(&words->made, sequence->tokens.bytes[i], sequence->tokens.sizes[i]);
        words->offsets[words->n + i] = words->made.size;
    }
    return ATTN_OK;
}

/* Joins the two texts of a pair with a line feed between them. The tokens of the second text get
 * offsets after it. */
static enum attn_status join_words(const struct attn_input *input,
                                   const struct attn_encoding *encoding, bool is_in_second,
                                   struct text_words *words, struct attn_error *err)
{
    words->n = encoding->n;
    ATTN_TRY(ATTN_ALLOC(words->offsets, 2 * words->n, err));
    attn_buffer_append(&words->made, input->text, input->n_text);
    attn_buffer_append_char(&words->made, '\n');
    words->from = is_in_second ? words->made.size : words->n_prompt;
    for (size_t i = 0; i < words->n; i++) {
        const size_t first = encoding->texts[i] == ATTN_TEXT_SECOND ? words->made.size : 0;

        words->offsets[i] = first + encoding->begin[i];
        words->offsets[words->n + i] = first + encoding->end[i];
    }
    attn_buffer_append(&words->made, input->pair, input->n_pair);
    return ATTN_OK;
}

static enum attn_status find_words(const struct attn_sequence *sequence, struct text_words *words,
                                   struct attn_error *err)
{
    const struct attn_input *input = sequence->input;

    words->n_prompt = sequence->n_prompt;
    words->messages = sequence->messages;
    words->n_message = sequence->n_message;
    if (sequence->letters && sequence->tokens.bytes) {
        words->letters = &sequence->tokens;
        words->letter = sequence->letters->word;
    }
    if (sequence->encoding.n > 0 && sequence->tokens.bytes)
        words->added = &sequence->tokens;
    if (sequence->encoding.n > 0 && !input->pair) {
        words->text = input->text;
        words->n_text = input->n_text;
        words->from = sequence->n_prompt;
        words->begin = sequence->encoding.begin;
        words->end = sequence->encoding.end;
        words->n = sequence->n;
        return ATTN_OK;
    }
    if (sequence->encoding.n == 0 && !sequence->tokens.bytes)
        return attn_error_set(err, ATTN_INVALID,
                              "a position is named by a word, but the tokens have no text");
    ATTN_TRY(sequence->encoding.n > 0
                 ? join_words(input, &sequence->encoding, sequence->is_in_second, words, err)
                 : make_words(sequence, words, err));
    words->text = words->made.data;
    words->n_text = words->made.size;
    words->begin = words->offsets;
    words->end = words->offsets + words->n;
    return attn_buffer_check(&words->made, err);
}

/* --- Where a word stands --------------------------------------------------------------------- */

/* Whether the character is part of words in scripts that separate words by spaces. */
static bool is_word_character(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '_';
    return (c >= 0xc0 && c < 0x2000) || (c >= 0x2c00 && c < 0x2e00);
}

/* Whether a word of the text continues across byte offset AT, so that AT is not a word boundary. */
static bool is_inside_word(const struct text_words *words, size_t at)
{
    uint32_t before, after;
    size_t back = at;

    if (at == 0 || at == words->n_text)
        return false;
    do
        back--;
    while (back > 0 && at - back < 4 && ((unsigned char)words->text[back] & 0xc0) == 0x80);
    return attn_utf8_decode(words->text + back, at - back, &before) == at - back &&
           attn_utf8_decode(words->text + at, words->n_text - at, &after) > 0 &&
           is_word_character(before) && is_word_character(after);
}

static bool is_white_space(const char *text, size_t size)
{
    while (size > 0) {
        uint32_t c;
        const size_t n = attn_utf8_decode(text, size, &c);

        if (n == 0 || !attn_utf8_is_white_space(c))
            return false;
        text += n;
        size -= n;
    }
    return true;
}

/* Finds the tokens that cover the bytes [BEGIN, END) of the text. The first token may start with
 * white space before BEGIN. Returns false if no whole tokens match. */
static bool find_tokens(const struct text_words *words, size_t begin, size_t end,
                        struct token_range *place)
{
    size_t first = 0, last = words->n;

    while (first < words->n &&
           (words->end[first] <= begin || words->begin[first] == words->end[first]))
        first++;
    while (last > first && (words->end[last - 1] > end || words->begin[last - 1] >= end ||
                            words->begin[last - 1] == words->end[last - 1]))
        last--;
    if (first >= last || words->begin[first] > begin || words->end[last - 1] != end)
        return false;
    *place = (struct token_range){first, last - 1, begin, end};
    return is_white_space(words->text + words->begin[first], begin - words->begin[first]);
}

/* Whether token I was added to the text by the tokenizer, as [CLS] and [SEP] are. */
static bool is_added(const struct text_words *words, size_t i)
{
    return words->added && words->begin[i] == words->end[i] && words->added->sizes[i] > 0;
}

/* Finds the next added token that matches ITEM. *AT, where the search begins, continues after the
 * bytes of the text. */
static bool next_added(const struct text_words *words, const struct position_item *item, size_t *at,
                       struct token_range *place)
{
    for (size_t i = *at > words->n_text ? *at - words->n_text : 0; i < words->n; i++)
        if (is_added(words, i) && words->added->sizes[i] == item->size &&
            memcmp(words->added->bytes[i], item->word, item->size) == 0) {
            *place = (struct token_range){.first = i, .last = i};
            *at = words->n_text + i + 1;
            return true;
        }
    return false;
}

/* Whether the bytes [BEGIN, END) are in a message in which ITEM is searched, or in any text that is
 * no conversation. */
static bool is_searched(const struct text_words *words, const struct position_item *item,
                        size_t begin, size_t end)
{
    bool is_in = words->n_message == 0;

    for (size_t i = 0; i < words->n_message && !is_in; i++)
        is_in = begin >= words->messages[i].begin && end <= words->messages[i].end &&
                (item->message == 0 || item->message == i + 1);
    return is_in;
}

/* Finds the next match of ITEM in the text from the byte *AT on, then among the added tokens. */
static bool next_place(const struct text_words *words, const struct position_item *item, size_t *at,
                       struct token_range *place)
{
    for (; words->n_text >= item->size && *at <= words->n_text - item->size; (*at)++) {
        const size_t end = *at + item->size;

        if (memcmp(words->text + *at, item->word, item->size) == 0 && !is_inside_word(words, *at) &&
            !is_inside_word(words, end) && is_searched(words, item, *at, end) &&
            find_tokens(words, *at, end, place)) {
            *at = end;
            return true;
        }
    }
    return next_added(words, item, at, place);
}

/* Finds the next place of ITEM in the text from the byte *AT on, where it may begin and end within
 * words and tokens. */
static bool next_text(const struct text_words *words, const struct position_item *item, size_t *at,
                      struct token_range *place)
{
    for (; words->n_text >= item->size && *at <= words->n_text - item->size; (*at)++)
        if (memcmp(words->text + *at, item->word, item->size) == 0 &&
            is_searched(words, item, *at, *at + item->size)) {
            size_t first = 0;

            while (first + 1 < words->n && words->end[first] <= *at)
                first++;
            *place = (struct token_range){first, first, *at, *at + item->size};
            *at += item->size;
            return true;
        }
    return false;
}

static bool is_continued(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Whether token I shares a character with text bytes [BEGIN, END) that is not white space. */
static bool is_shared(const struct text_words *words, size_t i, size_t begin, size_t end)
{
    size_t from = words->begin[i] > begin ? words->begin[i] : begin;
    size_t to = words->end[i] < end ? words->end[i] : end;

    if (from >= to)
        return false;
    while (from > begin && is_continued(words->text[from]))
        from--;
    while (to < end && is_continued(words->text[to]))
        to++;
    return !is_white_space(words->text + from, to - from);
}

/* Appends the tokens that share a character with the bytes [BEGIN, END), white space aside. Returns
 * false if there are none. */
static bool append_shared(const struct text_words *words, size_t begin, size_t end,
                          struct attn_buffer *out)
{
    bool has_any = false;

    for (size_t i = 0, first; i < words->n; i++) {
        if (!is_shared(words, i, begin, end))
            continue;
        for (first = i; i + 1 < words->n && is_shared(words, i + 1, begin, end);)
            i++;
        attn_buffer_append_format(out, "%s%zu-%zu", has_any ? "," : "", first, i);
        has_any = true;
    }
    return has_any;
}

/* --- Lists ----------------------------------------------------------------------------------- */

/* Parses the suffix "#N" between AT and END into item->nth. Without a suffix, nth stays 0. */
static enum attn_status read_nth(const char *at, const char *end, struct position_item *item,
                                 struct attn_error *err)
{
    int64_t nth;

    if (at == end)
        return ATTN_OK;
    if (*at != '#' || !attn_parse_int(at + 1, (size_t)(end - at - 1), 1, INT32_MAX, &nth)) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' does not name a position, expected a word or a word and #N, its Nth "
                       "place",
                       attn_quote(item->word, (size_t)(end - item->word)).text);
        return attn_error_hint(
            err, "a word that holds a comma, a dash or # is written in double quotes");
    }
    item->nth = (size_t)nth;
    return ATTN_OK;
}

static bool is_number(const char *item, size_t size)
{
    return size == 0 ||
           (strchr("0123456789-+", item[strspn(item, " ")]) && !memchr(item, '_', size)) ||
           (size == 3 && memcmp(item, "all", 3) == 0);
}

static bool has_prefix(const char *item, size_t size, const char *prefix)
{
    return size >= strlen(prefix) && memcmp(item, prefix, strlen(prefix)) == 0;
}

/* Reads the item at *SPEC and advances *SPEC to its end. */
static enum attn_status read_item(const char **spec, struct position_item *item,
                                  struct attn_error *err)
{
    const char *at = *spec, *end;

    *item = (struct position_item){.word = at, .form = FORM_WORD};
    if (*at == '"') {
        const char *close = strchr(at + 1, '"');

        if (!close)
            return attn_error_set(err, ATTN_INVALID, "'%s' has no closing quote, expected \"",
                                  attn_quote_string(at).text);
        end = close + 1 + strcspn(close + 1, ",");
        *spec = end;
        item->word = at + 1;
        item->size = (size_t)(close - at - 1);
        item->form = FORM_TEXT;
        return read_nth(close + 1, end, item, err);
    }
    end = at + strcspn(at, ",");
    *spec = end;
    item->size = (size_t)(end - at);
    if (is_number(at, item->size))
        item->form = FORM_NUMBER;
    else if (has_prefix(at, item->size, chars_prefix))
        item->form = FORM_CHARS;
    else if (has_prefix(at, item->size, key_prefix))
        item->form = FORM_KEY;
    if (item->form == FORM_NUMBER || item->form == FORM_CHARS)
        return ATTN_OK;
    item->size = strcspn(at, item->form == FORM_KEY ? "#," : *at == '\1' ? "," : "-#,");
    return read_nth(at + item->size, end, item, err);
}

/* Lets ITEM be a word of one message of SEQUENCE: '2_user:cat'. */
static void choose_message(const struct attn_sequence *sequence, struct position_item *item)
{
    const char *colon = memchr(item->word, ':', item->size);
    const size_t size = colon ? (size_t)(colon - item->word) : 0;

    for (size_t i = 0; colon && item->message == 0 && i < sequence->n_message; i++) {
        const struct attn_message_name name = attn_message_name(sequence->messages, i);

        if (strlen(name.text) == size && memcmp(name.text, item->word, size) == 0)
            item->message = i + 1;
    }
    if (item->message > 0) {
        item->word += size + 1;
        item->size -= size + 1;
    }
}

/* Finds the next place of an item: next_place or next_text. */
typedef bool next_fn(const struct text_words *words, const struct position_item *item, size_t *at,
                     struct token_range *place);

/* Returns the name of the message that has byte AT; "" for other texts. */
static struct attn_message_name name_of(const struct text_words *words, size_t at)
{
    for (size_t i = 0; i < words->n_message; i++)
        if (at >= words->messages[i].begin && at < words->messages[i].end)
            return attn_message_name(words->messages, i);
    return (struct attn_message_name){""};
}

/* Lists the matches of ITEM that NEXT finds, each by its first token, as "3 'cat', 7 'cat'"; lists
 * all tokens if ITEM is NULL. Truncates the list to OUT [size]. */
static void list_places(const struct text_words *words, const struct position_item *item,
                        next_fn *next, char *out, size_t size)
{
    size_t at = words->n_message > 0 ? 0 : words->from, used = 0, token = 0;
    struct token_range place;

    out[0] = '\0';
    while (item ? next(words, item, &at, &place) : token < words->n) {
        const size_t i = item ? place.first : token++;
        const struct attn_quote text =
            is_added(words, i)
                ? attn_quote(words->added->bytes[i], words->added->sizes[i])
                : attn_quote(words->text + words->begin[i], words->end[i] - words->begin[i]);

        attn_fixed_text_append(out, size, &used, "%s%zu '%s'%s%s", used > 0 ? ", " : "", i,
                               text.text, item && words->n_message > 0 ? " of " : "",
                               item ? name_of(words, place.begin).text : "");
    }
}

static enum attn_status report_place(const struct text_words *words,
                                     const struct position_item *item, next_fn *next, size_t n,
                                     struct attn_error *err)
{
    const struct attn_quote word = attn_quote(item->word, item->size);
    char places[ATTN_ERROR_HINT_SIZE - 32], messages[ATTN_ERROR_HINT_SIZE / 4] = "";
    size_t used = 0;

    list_places(words, n > 0 ? item : NULL, next, places, sizeof places);
    if (n == 0) {
        attn_error_set(err, ATTN_INVALID, "'%s' does not occur in the %s%s", word.text, words->name,
                       next == next_place ? " as whole tokens" : "");
        for (size_t i = 0; i < words->n_message; i++)
            attn_fixed_text_append(messages, sizeof messages, &used, "%s%s",
                                   i == 0 ? "the messages: " : ", ",
                                   attn_message_name(words->messages, i).text);
        attn_error_hint(err, "%s%sthe tokens: %s", messages, used > 0 ? "; " : "", places);
    } else if (item->nth > n) {
        attn_error_set(err, ATTN_INVALID, "'%s' occurs %zu time%s in the %s, at %s; not %zu",
                       word.text, n, n == 1 ? "" : "s", words->name, places, item->nth);
    } else {
        attn_error_set(err, ATTN_INVALID, "'%s' occurs %zu times in the %s, at %s", word.text, n,
                       words->name, places);
        if (words->n_message > 0)
            attn_fixed_text_append(messages, sizeof messages, &used, "; '%s:WORD' is in message 0",
                                   attn_message_name(words->messages, 0).text);
        attn_error_hint(err, "'%s#2' is the second of them%s", word.text, messages);
    }
    return ATTN_INVALID;
}

/* Whether ITEM names a token by its letter and position, such as K17. If so, *AT is the position.
 */
static bool is_letter(const struct text_words *words, const struct position_item *item, size_t *at)
{
    int64_t number;

    if (!words->letters || item->nth > 0 || item->size < 2 ||
        !attn_parse_int(item->word + 1, item->size - 1, 0, INT64_MAX, &number))
        return false;
    *at = (size_t)number;
    return true;
}

static enum attn_status check_letter(const struct text_words *words,
                                     const struct position_item *item, size_t at,
                                     struct attn_error *err)
{
    const struct attn_token_bytes *tokens = words->letters;

    if (at >= words->n)
        return attn_error_set(err, ATTN_INVALID, "there is no %s '%s', the last position is %zu",
                              words->letter, attn_quote(item->word, item->size).text, words->n - 1);
    if (tokens->sizes[at] == 1 && tokens->bytes[at][0] == item->word[0])
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "there is no %s '%s', position %zu is '%s'",
                          words->letter, attn_quote(item->word, item->size).text, at,
                          attn_quote(tokens->bytes[at], tokens->sizes[at]).text);
}

/* Finds the place of ITEM, or of its occurrence `nth`, by NEXT. *N is the number of places. */
static bool find_place(const struct text_words *words, const struct position_item *item,
                       next_fn *next, struct token_range *found, size_t *n)
{
    struct token_range place;
    size_t at = words->n_message > 0 ? 0 : words->from;

    for (*n = 0; next(words, item, &at, &place);) {
        ++*n;
        if (item->nth == 0 || item->nth == *n)
            *found = place;
    }
    return *n == 1 ? item->nth <= 1 : item->nth > 0 && item->nth <= *n;
}

/* Appends the tokens of the bytes that a mark has named. */
static enum attn_status append_marked(const struct text_words *words, size_t begin, size_t end,
                                      struct attn_buffer *out, struct attn_error *err)
{
    struct token_range found;

    if (strcmp(words->name, "text") != 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the mark is in the text, and expected is a position of the %s",
                              words->name);
    begin += words->n_prompt;
    end += words->n_prompt;
    if (!find_tokens(words, begin, end, &found))
        return attn_error_set(err, ATTN_INVALID,
                              "the mark around '%s' begins or ends within a token",
                              attn_quote(words->text + begin, end - begin).text);
    attn_buffer_append_format(out, "%zu-%zu", found.first, found.last);
    return ATTN_OK;
}

/* Appends the tokens of the word ITEM to OUT as "FIRST-LAST". */
static enum attn_status append_word(const struct text_words *words,
                                    const struct position_item *item, struct attn_buffer *out,
                                    struct attn_error *err)
{
    struct token_range found = {0};
    size_t at, n, end;

    if (item->size > 0 && item->word[0] == '\1' &&
        sscanf(item->word, "\1%zu-%zu", &at, &end) == 2 && at < end &&
        end <= words->n_text - words->n_prompt)
        return append_marked(words, at, end, out, err);
    if (is_letter(words, item, &at)) {
        ATTN_TRY(check_letter(words, item, at, err));
        attn_buffer_append_format(out, "%zu", at);
        return ATTN_OK;
    }
    if (!find_place(words, item, next_place, &found, &n))
        return report_place(words, item, next_place, n, err);
    attn_buffer_append_format(out, "%zu-%zu", found.first, found.last);
    return ATTN_OK;
}

/* Appends the tokens of ITEM, any text: where whole tokens and whole words make it, or if it is
 * nowhere so, where it begins or ends within them. */
static enum attn_status append_text(const struct text_words *words,
                                    const struct position_item *item, struct attn_buffer *out,
                                    struct attn_error *err)
{
    struct token_range found = {0};
    next_fn *next = next_place;
    size_t at, n;
    bool is_found;

    if (item->size == 0)
        return attn_error_set(err, ATTN_INVALID, "a word in quotes is empty");
    if (is_letter(words, item, &at))
        return append_word(words, item, out, err);
    is_found = find_place(words, item, next, &found, &n);
    if (n == 0 && !is_white_space(item->word, item->size)) {
        next = next_text;
        is_found = find_place(words, item, next, &found, &n);
    }
    if (!is_found)
        return report_place(words, item, next, n, err);
    if (found.begin == found.end || !append_shared(words, found.begin, found.end, out))
        attn_buffer_append_format(out, "%zu-%zu", found.first, found.last);
    return ATTN_OK;
}

/* --- Characters ------------------------------------------------------------------------------ */

/* Reads the index TEXT [size] as Python does: WITHOUT if it is empty, from the end of N if it is
 * negative. Returns false for other texts, and for an index that is outside 0 to N. */
static bool read_index(const char *text, size_t size, size_t n, size_t without, size_t *index)
{
    int64_t number;

    *index = without;
    if (size == 0)
        return true;
    if (!attn_parse_int(text, size, -(int64_t)n, (int64_t)n, &number))
        return false;
    *index = number < 0 ? (size_t)((int64_t)n + number) : (size_t)number;
    return true;
}

/* Returns the byte at which character I, from `from` on, begins. */
static size_t byte_of(const struct text_words *words, size_t i)
{
    size_t at = words->from;

    for (; at < words->n_text && (i > 0 || is_continued(words->text[at])); at++)
        i -= !is_continued(words->text[at]) && i > 0;
    return at;
}

/* Whether TEXT [size] is nothing, or a number with or without a sign. */
static bool is_index(const char *text, size_t size)
{
    const size_t n_sign = size > 1 && *text == '-';

    return strspn(text + n_sign, "0123456789") >= size - n_sign;
}

/* Appends the tokens of ITEM, `chars:A:B`: characters of the text, counted as code points. */
static enum attn_status append_chars(const struct text_words *words,
                                     const struct position_item *item, struct attn_buffer *out,
                                     struct attn_error *err)
{
    const struct attn_quote quote = attn_quote(item->word, item->size);
    const char *begin = item->word + strlen(chars_prefix), *end = item->word + item->size;
    const char *colon = memchr(begin, ':', (size_t)(end - begin));
    size_t n = 0, from, to;

    if (!colon || !is_index(begin, (size_t)(colon - begin)) ||
        !is_index(colon + 1, (size_t)(end - colon - 1))) {
        attn_error_set(err, ATTN_INVALID, "'%s' is no range of characters, expected chars:A:B",
                       quote.text);
        return attn_error_hint(err, "a word that begins with chars: is written in double quotes");
    }
    for (size_t at = words->from; at < words->n_text; at++)
        n += !is_continued(words->text[at]);
    if (!read_index(begin, (size_t)(colon - begin), n, 0, &from) ||
        !read_index(colon + 1, (size_t)(end - colon - 1), n, n, &to))
        return attn_error_set(err, ATTN_INVALID, "'%s' is outside the %s, which has %zu characters",
                              quote.text, words->name, n);
    if (from >= to)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has no characters, expected chars:A:B with A below B",
                              quote.text);
    if (!append_shared(words, byte_of(words, from), byte_of(words, to), out))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no tokens, only white space",
                              quote.text);
    return ATTN_OK;
}

/* --- Names ----------------------------------------------------------------------------------- */

enum attn_status attn_places_check(const struct attn_places *places, struct attn_error *err)
{
    for (; places; places = places->others) {
        if (!ATTN_IS_KNOWN(places->later, "places", err) ||
            !attn_is_given(places->n == 0 || places->items, "places", err))
            return ATTN_INVALID;
        for (size_t i = 0; i < places->n; i++) {
            const struct attn_number_list *spec = &places->items[i].spec;

            if (!attn_is_given(places->items[i].name, "places", err) ||
                !attn_is_given(spec->n > 0 ? (const void *)spec->items : spec->text, "places", err))
                return ATTN_INVALID;
        }
    }
    return ATTN_OK;
}

/* Finds the named position NAME [size] in PLACES, which may be NULL, and the lists after it. */
static const struct attn_item_place *find_named(const struct attn_places *places, const char *name,
                                                size_t size)
{
    for (; places; places = places->others)
        for (size_t i = 0; i < places->n; i++)
            if (strlen(places->items[i].name) == size &&
                memcmp(places->items[i].name, name, size) == 0)
                return &places->items[i];
    return NULL;
}

/* Appends the tokens of ITEM, `key:NAME`: the text that the sequence's item has in this key. */
static enum attn_status append_key(const struct attn_sequence *sequence,
                                   const struct text_words *words, const struct position_item *item,
                                   struct attn_buffer *out, struct attn_error *err)
{
    const char *name = item->word + strlen(key_prefix);
    const size_t n_name = item->size - strlen(key_prefix);
    const struct attn_item_place *key = find_named(sequence->places, item->word, item->size);
    struct position_item text = {.form = FORM_TEXT, .nth = item->nth};

    if (!key || !key->spec.text) {
        attn_error_set(err, ATTN_INVALID, "there is no key '%s' with a text",
                       attn_quote(name, n_name).text);
        return attn_error_hint(err, "key:NAME is the text that an item has in its key NAME");
    }
    text.word = key->spec.text;
    text.size = strlen(key->spec.text);
    if (text.size == 0)
        return attn_error_set(err, ATTN_INVALID, "the key '%s' has an empty text",
                              attn_quote(name, n_name).text);
    return append_text(words, &text, out, err);
}

static enum attn_status append_item(const struct attn_sequence *sequence,
                                    const struct text_words *words,
                                    const struct position_item *item, struct attn_buffer *out,
                                    struct attn_error *err)
{
    switch (item->form) {
    case FORM_NUMBER:
        attn_buffer_append(out, item->word, item->size);
        return ATTN_OK;
    case FORM_WORD:
        return append_word(words, item, out, err);
    case FORM_TEXT:
        return append_text(words, item, out, err);
    case FORM_CHARS:
        return append_chars(words, item, out, err);
    case FORM_KEY:
        return append_key(sequence, words, item, out, err);
    }
    return ATTN_OK;
}

static void append_numbers(const struct attn_number_list *list, struct attn_buffer *out)
{
    for (size_t i = 0; i < list->n; i++)
        attn_buffer_append_format(out, "%s%lld", i > 0 ? "," : "", (long long)list->items[i]);
}

/* Resolves the list SPEC to numbers and appends them to OUT. Items may be names of PLACES, which
 * may be NULL. */
static enum attn_status append_items(const char *spec, const struct attn_places *places,
                                     const struct attn_sequence *sequence, struct text_words *words,
                                     struct attn_buffer *out, struct attn_error *err)
{
    for (const char *at = spec;; at++) {
        const size_t size = strcspn(at, ",");
        const struct attn_item_place *place =
            is_number(at, size) || has_prefix(at, size, key_prefix) ? NULL
                                                                    : find_named(places, at, size);
        struct position_item item;
        bool is_seen = false;

        if (!place && sequence->reader && sequence->reader->find_item)
            ATTN_TRY(sequence->reader->find_item(&at, sequence, out, &is_seen, err));
        if (place) {
            at += size;
            append_numbers(&place->spec, out);
            if (place->spec.n == 0)
                ATTN_TRY(
                    attn_error_in(append_items(place->spec.text, NULL, sequence, words, out, err),
                                  place->name, err));
        } else if (!is_seen) {
            ATTN_TRY(read_item(&at, &item, err));
            if (item.form == FORM_WORD)
                choose_message(sequence, &item);
            if (item.form != FORM_NUMBER && !words->text)
                ATTN_TRY(find_words(sequence, words, err));
            ATTN_TRY(append_item(sequence, words, &item, out, err));
        }
        if (*at == '\0')
            return attn_buffer_check(out, err);
        attn_buffer_append_char(out, ',');
    }
}

enum attn_status attn_positions_number(const struct attn_sequence *sequence, const char *spec,
                                       char **numbers, struct attn_error *err)
{
    sequence = sequence->words_of ? sequence->words_of : sequence;
    struct text_words words = {.name = sequence->role};
    struct attn_buffer out = {0};
    const bool has_own = sequence->reader && sequence->reader->find_positions;
    const struct attn_item_place *named =
        has_own ? find_named(sequence->places, spec, strlen(spec)) : NULL;
    const char *list = named ? named->spec.text : spec;
    enum attn_status status = ATTN_OK;

    if (named && named->spec.n > 0)
        append_numbers(&named->spec, &out);
    else if (has_own && !strchr(list, ',') && is_number(list, strlen(list)))
        attn_buffer_append_string(&out, list);
    else if (has_own)
        status = sequence->reader->find_positions(list, sequence, &out, err);
    else
        status = append_items(spec, sequence->places, sequence, &words, &out, err);
    ATTN_THEN(status, attn_buffer_check(&out, err));
    ATTN_THEN(status,
              ATTN_NEW(*numbers, attn_strndup(out.size > 0 ? out.data : "", out.size, err)));
    attn_buffer_release(&out);
    attn_buffer_release(&words.made);
    attn_free(words.offsets);
    return status;
}

/* --- As flags -------------------------------------------------------------------------------- */

enum attn_status attn_positions_find(const struct attn_sequence *sequence,
                                     const struct attn_number_list *list, unsigned char *flags,
                                     struct attn_error *err)
{
    char *numbers = NULL;
    enum attn_status status =
        list->n > 0 ? attn_number_list_flag(list, "positions", sequence->n, flags, err)
                    : attn_positions_number(sequence, list->text, &numbers, err);

    if (status == ATTN_OK && numbers)
        status = attn_number_list_flag(&(struct attn_number_list){.text = numbers}, "positions",
                                       sequence->n, flags, err);
    attn_free(numbers);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* Whether a model of KEYS has a layer with selected heads that attends to the source (IS_CROSS) or
 * to the text (otherwise). */
static bool has_layer(const struct attn_keys *keys, bool is_cross)
{
    const struct attn_dims dims = attn_config_dims(keys->config, 1);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    while (attn_dims_next_layer(&dims, &at))
        if (attn_location_is_cross(&dims, &at) == is_cross &&
            (!keys->heads || attn_selection_count_heads(keys->heads, &at) > 0))
            return true;
    return false;
}

enum attn_status attn_positions_find_keys(const struct attn_keys *keys,
                                          const struct attn_number_list *list,
                                          struct attn_error *err)
{
    const bool is_self = has_layer(keys, false), is_cross = has_layer(keys, true);
    struct attn_error of_text = {0}, of_source = {0};
    enum attn_status status, source_status = ATTN_INVALID;

    if (!is_self)
        return attn_positions_find(keys->source, list, keys->of_source, err);
    status = attn_positions_find(keys->text, list, keys->of_text, &of_text);
    if (is_cross && (status == ATTN_OK || status == ATTN_INVALID))
        source_status = attn_positions_find(keys->source, list, keys->of_source, &of_source);
    if (source_status != ATTN_OK && source_status != ATTN_INVALID)
        return attn_error_copy(err, &of_source);
    if (status == ATTN_OK || source_status == ATTN_OK)
        return ATTN_OK;
    return attn_error_copy(err, &of_text);
}

enum attn_status attn_position_range(const struct attn_sequence *sequence, const char *field,
                                     const struct attn_number_list *list, size_t range[2],
                                     struct attn_error *err)
{
    unsigned char *flags;
    size_t n_run = 0;
    enum attn_status status;

    ATTN_TRY(ATTN_NEW(flags, attn_alloc(sequence->n, 1, err)));
    status = attn_error_in(attn_positions_find(sequence, list, flags, err), field, err);
    for (size_t i = 0; status == ATTN_OK && i < sequence->n; i++) {
        n_run += flags[i] && (i == 0 || !flags[i - 1]);
        range[0] = flags[i] && (i == 0 || !flags[i - 1]) ? i : range[0];
        range[1] = flags[i] ? i : range[1];
    }
    attn_free(flags);
    if (status != ATTN_OK || n_run == 1)
        return status;
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "'%s' of `%s` is not one position, expected a number or a word",
                       attn_number_list_quote(list).text, field);
}

enum attn_status attn_position_find(const struct attn_sequence *sequence, const char *field,
                                    const struct attn_number_list *list, size_t *position,
                                    struct attn_error *err)
{
    size_t range[2] = {0, 0};

    ATTN_TRY(attn_position_range(sequence, field, list, range, err));
    *position = range[1];
    if (range[0] == range[1] || (list->n == 0 && !is_number(list->text, strlen(list->text))))
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "'%s' of `%s` is not one position, expected a number or a word",
                       attn_number_list_quote(list).text, field);
}
