/* word_list.c - see word_list.h. */
#include "text/word_list.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/word_level.h"

#include <stdlib.h>
#include <string.h>

static enum attn_status check_utf8(const char *what, const char *text, size_t size,
                                   struct attn_error *err)
{
    size_t n_valid = attn_utf8_valid_length(text, size);

    if (n_valid == size)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "%s is not UTF-8 at byte %zu: found '%s'", what,
                          n_valid, attn_quote(text + n_valid, 1).text);
}

/* The code points of TEXT, which is UTF-8; NULL on failure. */
static uint32_t *decode(const char *text, size_t *n, struct attn_error *err)
{
    size_t size = strlen(text);
    uint32_t *points = attn_alloc(size, sizeof *points, err);

    *n = 0;
    for (size_t at = 0; points && at < size; (*n)++)
        at += attn_utf8_decode(text + at, size - at, &points[*n]);
    return points;
}

/* UTF-8 sorts by its bytes as its code points do. */
static int compare(const void *left, const void *right)
{
    const struct attn_listed_word *a = left, *b = right;
    size_t shorter = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->text, b->text, shorter);

    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static void sort_and_unite(struct attn_word_list *list)
{
    size_t n = 0;

    qsort(list->words, list->n, sizeof *list->words, compare);
    for (size_t i = 0; i < list->n; i++)
        if (n == 0 || compare(&list->words[n - 1], &list->words[i]) != 0)
            list->words[n++] = list->words[i];
    list->n = n;
}

/* Collects the words of the walk; bytes has room for the whole text. */
static enum attn_status collect(struct attn_word_list *list, struct attn_word_walk *walk,
                                struct attn_error *err)
{
    size_t capacity = 0, n_byte = 0;

    while (attn_word_next(walk)) {
        void *words = list->words;
        enum attn_status status =
            attn_grow(&words, &capacity, list->n + 1, sizeof *list->words, err);

        list->words = words;
        if (status != ATTN_OK)
            return status;
        memcpy(list->bytes + n_byte, walk->kept.data, walk->kept.size);
        list->words[list->n++] = (struct attn_listed_word){list->bytes + n_byte, walk->kept.size};
        n_byte += walk->kept.size;
    }
    return attn_buffer_check(&walk->kept, err);
}

enum attn_status attn_word_list_read(struct attn_word_list *list, const char *text, size_t size,
                                     enum attn_tokenizer_kind kind, const char *drop,
                                     struct attn_error *err)
{
    struct attn_word_list made = {.kind = kind};
    struct attn_word_walk walk = {.text = text, .size = size};
    uint32_t *dropped = NULL;
    enum attn_status status = check_utf8("the text of the vocabulary", text, size, err);

    if (status == ATTN_OK)
        status = check_utf8("what is to be dropped", drop, strlen(drop), err);
    if (status != ATTN_OK)
        return status;
    dropped = decode(drop, &walk.rule.n_drop, err);
    made.drop = attn_strndup(drop, strlen(drop), err);
    made.bytes = attn_alloc_uninitialized(size, 1, err);
    status = dropped && made.drop && made.bytes ? ATTN_OK : ATTN_NO_MEMORY;
    walk.rule.drop = dropped;
    walk.rule.is_by_character = kind == ATTN_TOKENIZER_CHARACTER;
    if (status == ATTN_OK)
        status = collect(&made, &walk, err);
    if (status == ATTN_OK && made.n > 0)
        sort_and_unite(&made);
    else if (status == ATTN_OK)
        status = attn_error_set(err, ATTN_INVALID, "the text of the vocabulary has no words");
    attn_buffer_release(&walk.kept);
    attn_free(dropped);
    if (status != ATTN_OK) {
        attn_word_list_release(&made);
        return status;
    }
    *list = made;
    return ATTN_OK;
}

void attn_word_list_release(struct attn_word_list *list)
{
    attn_free(list->words);
    attn_free(list->bytes);
    attn_free(list->drop);
    *list = (struct attn_word_list){0};
}
