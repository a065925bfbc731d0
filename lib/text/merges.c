/* merges.c - see merges.h. */
#include "text/merges.h"

#include "base/escape.h"
#include "base/memory.h"

#include <string.h>

/* One line of the file, without its end. */
struct merge_line {
    const char *text;
    size_t size;
    size_t number; /* from 1 */
};

/* Cuts the next line off TEXT..END; false at the end. */
static bool next_line(const char **text, const char *end, struct merge_line *line)
{
    size_t left = (size_t)(end - *text);
    const char *newline;

    if (left == 0)
        return false;
    newline = memchr(*text, '\n', left);
    line->text = *text;
    line->size = newline ? (size_t)(newline - *text) : left;
    line->number++;
    *text = newline ? newline + 1 : end;
    if (line->size > 0 && line->text[line->size - 1] == '\r')
        line->size--;
    return true;
}

static enum attn_status refuse(const struct merge_line *line, const char *path, const char *what,
                               struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT, "line %zu of '%s', '%s', %s", line->number,
                          attn_quote_string(path).text, attn_quote(line->text, line->size).text,
                          what);
}

/* Whether the two KEYS make that of token ID, if there is one. */
static bool is_joined(const struct attn_vocabulary *vocabulary, int32_t id,
                      const struct attn_merge_keys *keys)
{
    size_t size;
    const char *key;

    if (!attn_vocabulary_has(vocabulary, id))
        return false;
    key = attn_vocabulary_key(vocabulary, id, &size);
    return size == keys->n_left + keys->n_right && memcmp(key, keys->left, keys->n_left) == 0 &&
           memcmp(key + keys->n_left, keys->right, keys->n_right) == 0;
}

enum attn_status attn_merges_find(const struct attn_vocabulary *vocabulary,
                                  const struct attn_merge_keys *keys, struct attn_buffer *joined,
                                  struct attn_merge *merge, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    merge->left = attn_vocabulary_find(vocabulary, keys->left, keys->n_left);
    merge->right = attn_vocabulary_find(vocabulary, keys->right, keys->n_right);
    if (is_joined(vocabulary, ++merge->merged, keys))
        return ATTN_OK;
    attn_buffer_reset(joined);
    attn_buffer_append(joined, keys->left, keys->n_left);
    attn_buffer_append(joined, keys->right, keys->n_right);
    status = attn_buffer_check(joined, err);
    if (status == ATTN_OK)
        merge->merged = attn_vocabulary_find(vocabulary, joined->data, joined->size);
    return status;
}

/* Finds the two keys of LINE. */
static enum attn_status split_line(const struct merge_line *line, const char *path,
                                   struct attn_merge_keys *keys, struct attn_error *err)
{
    const char *space = memchr(line->text, ' ', line->size);

    if (space)
        *keys = (struct attn_merge_keys){.left = line->text,
                                         .right = space + 1,
                                         .n_left = (size_t)(space - line->text),
                                         .n_right = (size_t)(line->text + line->size - space - 1)};
    if (!space || keys->n_left == 0 || keys->n_right == 0 ||
        memchr(keys->right, ' ', keys->n_right))
        return refuse(line, path, "is not two tokens with one space between them", err);
    return ATTN_OK;
}

/* Looks up the tokens of LINE, behind the line of MERGE; JOINED is scratch. */
static enum attn_status parse_line(const struct merge_line *line, const char *path,
                                   const struct attn_vocabulary *vocabulary,
                                   struct attn_buffer *joined, struct attn_merge *merge,
                                   struct attn_error *err)
{
    struct attn_merge_keys keys = {.left = "", .right = ""};
    enum attn_status status = split_line(line, path, &keys, err);

    if (status == ATTN_OK)
        status = attn_merges_find(vocabulary, &keys, joined, merge, err);
    if (status != ATTN_OK)
        return status;
    if (merge->left < 0 || merge->right < 0)
        return refuse(line, path, "merges a token that the vocabulary lacks", err);
    if (merge->merged < 0)
        return refuse(line, path, "makes a token that the vocabulary lacks", err);
    return ATTN_OK;
}

enum attn_status attn_merges_allocate(struct attn_merges *merges, size_t n, const char *name,
                                      struct attn_error *err)
{
    size_t n_slot = 2;

    if (n >= INT32_MAX)
        return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has %zu merges, at most %d can be used",
                              attn_quote_string(name).text, n, INT32_MAX - 1);
    while (n_slot < n * 2)
        n_slot *= 2;
    merges->pairs = attn_alloc_large(
        1, n_slot * (sizeof *merges->pairs + sizeof *merges->ranks) + n * sizeof *merges->merged,
        err);
    if (!merges->pairs)
        return ATTN_NO_MEMORY;
    merges->ranks = (uint32_t *)(void *)(merges->pairs + n_slot);
    merges->merged = (int32_t *)(void *)(merges->ranks + n_slot);
    memset(merges->pairs, 0xff, n_slot * sizeof *merges->pairs); /* UINT64_MAX */
    merges->mask = n_slot - 1;
    return ATTN_OK;
}

bool attn_merges_add(struct attn_merges *merges, const struct attn_merge *merge,
                     bool is_last_winner)
{
    uint64_t pair = attn_merges_pair(merge->left, merge->right);
    size_t slot = (size_t)attn_hash_mix(pair) & merges->mask;
    bool is_new = true;

    while (merges->pairs[slot] != UINT64_MAX) {
        if (merges->pairs[slot] == pair) {
            is_new = false;
            break;
        }
        slot = (slot + 1) & merges->mask;
    }
    if (!is_new && !is_last_winner)
        return false;
    merges->pairs[slot] = pair;
    merges->ranks[slot] = (uint32_t)merges->n;
    merges->merged[merges->n++] = merge->merged;
    return is_new;
}

/* How many lines of the file can be merges: three bytes and the end of the line. */
static size_t count_lines(const struct attn_file *file)
{
    const size_t most = file->size / 4 + 1;
    size_t n = 1;

    for (size_t i = 0; i < file->size; i++)
        n += file->data[i] == '\n';
    return n < most ? n : most;
}

enum attn_status attn_merges_read(struct attn_merges *merges, const struct attn_file *file,
                                  const struct attn_vocabulary *vocabulary, struct attn_error *err)
{
    static const char header[] = "#version";
    const char *text = (const char *)file->data, *end = text + file->size;
    struct merge_line line = {0};
    struct attn_buffer joined = {0};
    struct attn_merge merge = {.merged = -1};
    enum attn_status status = attn_merges_allocate(merges, count_lines(file), file->path, err);

    while (status == ATTN_OK && next_line(&text, end, &line)) {
        /* Only the first line can be a header: GPT-2 merges "#" with "#". */
        if (line.number == 1 && line.size >= sizeof header - 1 &&
            memcmp(line.text, header, sizeof header - 1) == 0)
            continue;
        status = parse_line(&line, file->path, vocabulary, &joined, &merge, err);
        if (status == ATTN_OK && !attn_merges_add(merges, &merge, false))
            status = refuse(&line, file->path, "is there a second time", err);
    }
    attn_buffer_release(&joined);
    return status;
}

void attn_merges_release(struct attn_merges *merges)
{
    attn_free(merges->pairs);
    *merges = (struct attn_merges){0};
}
