/* words.c - see words.h. Also the model WordLevel, and the tokenizers of toy models, whose tokens
 * are words between white space, or single characters, without the characters that the config
 * drops. */
#include "tokenizer/words.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/edit_distance.h"
#include "base/text/fixed_text.h"
#include "base/text/utf8.h"
#include "tokenizer/tokenizer_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SUGGESTED = 3 };

/* --- Word by word ----------------------------------------------------------------------------- */

/* The state of reading a text word by word. Initialize the first three fields; end with
 * attn_buffer_release(&walk.kept). */
struct word_walk {
    struct attn_word_rule rule;
    const char *text; /* borrows; [size], valid UTF-8 */
    size_t size;
    size_t at;               /* where the next word is searched */
    size_t begin, end;       /* the current word: from its first to its last kept character */
    struct attn_buffer kept; /* the current word, without the dropped characters */
};

static bool is_dropped(const struct attn_word_rule *rule, uint32_t code_point)
{
    for (size_t i = 0; i < rule->n_drop; i++)
        if (rule->drop[i] == code_point)
            return true;
    return false;
}

/* Finds the next word. Returns false at the end of the text, and if memory ran out: see walk->kept.
 */
static bool next_word(struct word_walk *walk)
{
    const bool is_by_character = walk->rule.is_by_character;
    uint32_t code_point;

    attn_buffer_reset(&walk->kept);
    while (walk->at < walk->size) {
        const char *character = walk->text + walk->at;
        size_t length = attn_utf8_decode(character, walk->size - walk->at, &code_point);

        assert(length > 0); /* the text is valid UTF-8 */
        walk->at += length;
        if (!is_by_character && attn_utf8_is_white_space(code_point)) {
            if (walk->kept.size > 0)
                break;
        } else if (!is_dropped(&walk->rule, code_point)) {
            if (walk->kept.size == 0)
                walk->begin = walk->at - length;
            walk->end = walk->at;
            attn_buffer_append(&walk->kept, character, length);
            if (is_by_character || walk->kept.has_failed)
                break;
        }
    }
    return walk->kept.size > 0 && !walk->kept.has_failed;
}

/* --- "Did you mean" --------------------------------------------------------------------------- */

struct suggestion {
    int32_t id;
    size_t folded, exact; /* distances ignoring and respecting case */
};

static void fold(struct attn_letters *word)
{
    for (size_t i = 0; i < word->n; i++)
        if (word->letter[i] >= 'A' && word->letter[i] <= 'Z')
            word->letter[i] += 'a' - 'A';
}

/* Inserts NEW if it is among the closest; of equal ones, earlier ids come first. Returns the number
 * of suggestions. */
static size_t insert(struct suggestion *best, size_t n, const struct suggestion *new)
{
    size_t at = n;

    while (at > 0 && (new->folded != best[at - 1].folded ? new->folded < best[at - 1].folded
                                                         : new->exact < best[at - 1].exact))
        at--;
    if (at == MAX_SUGGESTED)
        return n;
    n += n < MAX_SUGGESTED;
    memmove(&best[at + 1], &best[at], (n - at - 1) * sizeof *best);
    best[at] = *new;
    return n;
}

static size_t find_nearest(const struct attn_vocabulary *vocabulary,
                           const struct attn_letters *word, struct suggestion *best)
{
    struct attn_letters folded = *word;
    size_t limit = (word->n + 2) / 3; /* words at larger distances would not help */
    size_t n = 0;

    fold(&folded);
    for (size_t i = 0; i < vocabulary->n; i++) {
        struct suggestion new = {.id = (int32_t)i};
        struct attn_letters other;
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, new.id, &size);

        if (!attn_letters_read(key, size, &other) || other.n + limit < word->n ||
            other.n > word->n + limit)
            continue;
        new.exact = attn_edit_distance(word, &other);
        fold(&other);
        new.folded = attn_edit_distance(&folded, &other);
        if (new.folded <= limit)
            n = insert(best, n, &new);
    }
    return n;
}

/* Adds a hint to ERR with up to three words of VOCABULARY. The distance is Damerau-Levenshtein's
 * (neighbours may be swapped, and no part is edited twice) over characters, first ignoring case
 * (A-Z), then respecting it; words at equal distances are sorted by id. If no word is near, the
 * hint lists words of the vocabulary. */
static void hint_nearest(const struct attn_vocabulary *vocabulary, const char *word, size_t size,
                         struct attn_error *err)
{
    struct suggestion best[MAX_SUGGESTED] = {{.id = 0}, {.id = 1}, {.id = 2}};
    struct attn_letters letters;
    const size_t n_near =
        attn_letters_read(word, size, &letters) ? find_nearest(vocabulary, &letters, best) : 0;
    const size_t n_first = vocabulary->n < MAX_SUGGESTED ? vocabulary->n : MAX_SUGGESTED;
    struct attn_buffer list = {0};
    const char *text;

    for (size_t i = 0; i < (n_near > 0 ? n_near : n_first); i++) {
        size_t key_size;
        const char *key = attn_vocabulary_key(vocabulary, best[i].id, &key_size);

        attn_buffer_append_format(&list, "%s'%s'", i > 0 ? ", " : "",
                                  attn_quote(key, key_size).text);
    }
    text = attn_buffer_string(&list);
    if (text && n_near > 0)
        attn_error_hint(err, "did you mean %s?", text);
    else if (text)
        attn_error_hint(err, "the vocabulary has %zu words: %s%s", vocabulary->n, text,
                        vocabulary->n > MAX_SUGGESTED ? ", ..." : "");
    attn_buffer_release(&list);
}

/* --- The stage -------------------------------------------------------------------------------- */

/* Appends the token of WORD [size], whose place in the text is PLACE. */
static enum attn_status encode_word(const struct attn_word_level *words, const char *word,
                                    size_t size, struct attn_slice place,
                                    struct attn_encoding *encoding, struct attn_error *err)
{
    const char *what = words->rule.is_by_character ? "character" : "word";
    int32_t id = attn_vocabulary_find_own(words->vocabulary, words->is_foreign, word, size);

    id = id < 0 ? words->unk : id;
    if (id >= 0)
        return attn_encoding_push(encoding, id, place.begin, place.end, err);
    (void)attn_error_set(err, ATTN_INVALID, "unknown %s '%s' (%s %zu, byte %zu)", what,
                         attn_quote(word, size).text, what, encoding->n,
                         attn_layer_origin(place.layer, place.begin));
    if (!words->rule.is_by_character) /* all characters are at the same distance */
        hint_nearest(words->vocabulary, word, size, err);
    return ATTN_INVALID;
}

/* Encodes the words of WALK, which are in LAYER. */
static enum attn_status encode_words(const struct attn_word_level *words, struct word_walk *walk,
                                     const struct attn_layer *layer, struct attn_encoding *encoding,
                                     struct attn_error *err)
{
    while (next_word(walk))
        ATTN_TRY(encode_word(words, walk->kept.data, walk->kept.size,
                             (struct attn_slice){layer, walk->begin, walk->end}, encoding, err));
    return attn_buffer_check(&walk->kept, err);
}

static enum attn_status run_words(struct attn_walk *text_walk, size_t at, struct attn_slice slice,
                                  struct attn_error *err)
{
    const struct attn_word_level *words = text_walk->pipeline->stages[at].data;
    struct word_walk walk = {words->rule, slice.layer->text, slice.end, .at = slice.begin};
    const enum attn_status status =
        encode_words(words, &walk, slice.layer, text_walk->encoding, err);

    attn_buffer_release(&walk.kept);
    return status;
}

static enum attn_status run_whole_word(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                       struct attn_error *err)
{
    return encode_word(walk->pipeline->stages[at].data, attn_slice_text(slice),
                       attn_slice_size(slice), slice, walk->encoding, err);
}

const struct attn_text_stage_kind attn_word_stage = {.run = run_words};
const struct attn_text_stage_kind attn_whole_word_stage = {.run = run_whole_word};

/* --- The vocabulary of a text ----------------------------------------------------------------- */

static enum attn_status check_utf8(const char *what, const char *text, size_t size,
                                   struct attn_error *err)
{
    size_t n_valid = attn_utf8_valid_length(text, size);

    if (n_valid == size)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "%s is not UTF-8 at byte %zu: found '%s'", what,
                          n_valid, attn_quote(text + n_valid, 1).text);
}

/* Compares two words. The order of UTF-8 bytes is that of code points. */
static int compare(const void *left, const void *right)
{
    const struct attn_listed_word *a = left, *b = right;

    return attn_compare_texts(a->text, a->size, b->text, b->size);
}

/* Fills LIST with the words of WALK without the characters in DROP, whose code points are stored in
 * DROPPED. The words are sorted, without duplicates. */
static enum attn_status read_words(struct attn_word_list *list, struct word_walk *walk,
                                   const char *drop, uint32_t **dropped, struct attn_error *err)
{
    const size_t n_drop_byte = strlen(drop);
    size_t capacity = 0, n_byte = 0, n = 0;

    ATTN_TRY(check_utf8("the text of the vocabulary", walk->text, walk->size, err));
    ATTN_TRY(check_utf8("what is to be dropped", drop, n_drop_byte, err));
    ATTN_TRY(ATTN_ALLOC(*dropped, n_drop_byte, err));
    ATTN_TRY(ATTN_NEW(list->drop, attn_strndup(drop, n_drop_byte, err)));
    ATTN_TRY(ATTN_NEW(list->bytes, attn_alloc_uninitialized(walk->size, 1, err)));
    for (size_t at = 0; at < n_drop_byte; walk->rule.n_drop++)
        at += attn_utf8_decode(drop + at, n_drop_byte - at, &(*dropped)[walk->rule.n_drop]);
    walk->rule.drop = *dropped;
    walk->rule.is_by_character = list->kind == ATTN_TOKENIZER_CHARACTER;
    while (next_word(walk)) {
        ATTN_TRY(ATTN_GROW(list->words, capacity, list->n + 1, err));
        memcpy(list->bytes + n_byte, walk->kept.data, walk->kept.size);
        list->words[list->n++] = (struct attn_listed_word){list->bytes + n_byte, walk->kept.size};
        n_byte += walk->kept.size;
    }
    ATTN_TRY(attn_buffer_check(&walk->kept, err));
    if (list->n == 0)
        return attn_error_set(err, ATTN_INVALID, "the text of the vocabulary has no words");
    qsort(list->words, list->n, sizeof *list->words, compare);
    for (size_t i = 0; i < list->n; i++)
        if (n == 0 || compare(&list->words[n - 1], &list->words[i]) != 0)
            list->words[n++] = list->words[i];
    list->n = n;
    return ATTN_OK;
}

enum attn_status attn_word_list_read(struct attn_word_list *list, const char *text, size_t size,
                                     enum attn_tokenizer_kind kind, const char *drop,
                                     struct attn_error *err)
{
    struct attn_word_list made = {.kind = kind};
    struct word_walk walk = {.text = text, .size = size};
    uint32_t *dropped = NULL;
    const enum attn_status status = read_words(&made, &walk, drop, &dropped, err);

    attn_buffer_release(&walk.kept);
    attn_free(dropped);
    ATTN_RETURN_FILLED(status, list, made, attn_word_list_release);
}

void attn_word_list_release(struct attn_word_list *list)
{
    attn_free(list->words);
    attn_free(list->bytes);
    attn_free(list->drop);
    *list = (struct attn_word_list){0};
}

/* --- Which tokens begin a word ---------------------------------------------------------------- */

/* The role of a token among the words around it. */
struct token_edge {
    bool is_alone;             /* a separate word: a special token, or one without text */
    bool is_blank;             /* white space alone */
    bool has_front, has_after; /* white space at its beginning, at its end */
};

static struct token_edge edge_of(const char *bytes, size_t size)
{
    struct token_edge edge = {.is_blank = size > 0};
    size_t at = 0;

    while (bytes && at < size) {
        uint32_t c;
        const size_t n = attn_utf8_decode(bytes + at, size - at, &c);
        const bool is_white = n > 0 && attn_utf8_is_white_space(c);

        edge.has_front = at == 0 ? is_white : edge.has_front;
        edge.has_after = is_white;
        edge.is_blank = edge.is_blank && is_white;
        at += n > 0 ? n : c;
    }
    return edge;
}

/* The tokens so far. */
struct word_marks {
    bool *begins; /* borrows */
    struct token_edge before;
    size_t n, end; /* END: of the words so far, without white space after them; 0: no word */
};

/* Takes the white space after the last word into it. */
static void end_word(struct word_marks *marks)
{
    if (marks->end > 0 && marks->end < marks->n)
        marks->begins[marks->end] = false;
}

static void mark_next(struct word_marks *marks, struct token_edge edge)
{
    const struct token_edge before = marks->before;

    if (edge.is_alone)
        end_word(marks);
    marks->begins[marks->n] = marks->n == 0 || edge.is_alone || before.is_alone ||
                              (!before.is_blank && (edge.has_front || before.has_after));
    marks->n++;
    marks->end = edge.is_alone ? 0 : edge.is_blank ? marks->end : marks->n;
    marks->before = edge;
}

/* Whether ID continues the preceding word: in WordPiece, if it has the prefix. */
static bool is_part(const struct attn_tokenizer *tokenizer, int32_t id)
{
    const struct attn_wordpiece_model *model = &tokenizer->wordpiece;
    size_t size = 0;
    const char *key = attn_tokenizer_key(tokenizer, id, &size);

    return key && !tokenizer->is_added[id] && size > model->n_prefix &&
           memcmp(key, model->prefix, model->n_prefix) == 0;
}

void attn_words_mark(const struct attn_tokenizer *tokenizer, const int32_t *ids, size_t n,
                     bool *begins)
{
    struct word_marks marks = {.begins = begins};

    for (size_t i = 0; i < n; i++) {
        size_t size = 0;
        const char *bytes = attn_tokenizer_token(tokenizer, ids[i], &size);
        struct token_edge edge = edge_of(bytes, size);

        edge.is_alone = !bytes || tokenizer->kind == ATTN_TOKENIZER_WORD ||
                        attn_tokenizer_is_special(tokenizer, ids[i]);
        if (tokenizer->kind == ATTN_TOKENIZER_WORDPIECE)
            begins[i] = i == 0 || !is_part(tokenizer, ids[i]);
        else
            mark_next(&marks, edge);
    }
    end_word(&marks);
}

void attn_words_mark_texts(const char *const *texts, const size_t *sizes, size_t n, bool *begins)
{
    struct word_marks marks = {.begins = begins};

    for (size_t i = 0; i < n; i++)
        mark_next(&marks, edge_of(texts[i], sizes[i]));
    end_word(&marks);
}

const char *attn_words_piece(const struct attn_tokenizer *tokenizer)
{
    return tokenizer && tokenizer->kind == ATTN_TOKENIZER_WORDPIECE ? tokenizer->wordpiece.prefix
                                                                    : NULL;
}
