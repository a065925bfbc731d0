/* unmade.c - see unmade.h. */
#include "text/unmade.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/utf8.h"

#include <string.h>

enum { N_NAMED = 3, MOST_WHOLE = 2 };

/* Tokens that nothing makes, of one kind. */
struct unmade {
    size_t n;
    int32_t ids[N_NAMED]; /* the first */
};

static void add(struct unmade *unmade, int32_t id)
{
    if (unmade->n < N_NAMED)
        unmade->ids[unmade->n] = id;
    unmade->n++;
}

/* What looking at keys takes. */
struct key_reader {
    struct attn_alphabet alphabet;
    struct attn_match *match; /* owns */
    struct attn_buffer bytes; /* scratch: what a key stands for */
};

/* Whether what KEY stands for is one piece of a text, or a part of a character. */
static enum attn_status find_is_whole(struct key_reader *reader, const char *key, size_t size,
                                      bool *is_whole, struct attn_error *err)
{
    char *bytes;
    struct attn_found found;
    size_t n = 0;
    enum attn_status status = ATTN_OK;

    attn_buffer_reset(&reader->bytes);
    bytes = attn_buffer_reserve(&reader->bytes, size + 1);
    if (!bytes)
        return attn_error_no_memory(err);
    *is_whole = attn_alphabet_to_bytes(&reader->alphabet, key, size, bytes, &n) && n > 0;
    if (*is_whole && attn_utf8_valid_length(bytes, n) == n) {
        status = attn_match_find(reader->match, bytes, n, 0, &found, err);
        *is_whole = status == ATTN_OK && found.end == n;
    }
    return status;
}

static enum attn_status sort_out(const struct attn_pattern *pattern,
                                 const struct attn_vocabulary *vocabulary, const bool *is_made,
                                 struct unmade *whole, struct unmade *added, struct attn_error *err)
{
    struct key_reader reader = {.match = NULL};
    enum attn_status status = attn_match_create(pattern, vocabulary->keys.size, &reader.match, err);

    attn_alphabet_init(&reader.alphabet);
    for (size_t i = 0; status == ATTN_OK && i < vocabulary->n; i++) {
        const int32_t id = (int32_t)i;
        bool is_whole = false;
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, id, &size);

        if (is_made[i])
            continue;
        status = find_is_whole(&reader, key, size, &is_whole, err);
        add(is_whole ? whole : added, id);
    }
    attn_buffer_release(&reader.bytes);
    attn_match_free(reader.match);
    return status;
}

/* "'he' (id 257), 'hee' (id 258), 'heed' (id 259) and 4 more" */
static void append_names(struct attn_buffer *out, const struct attn_vocabulary *vocabulary,
                         const struct unmade *unmade)
{
    for (size_t i = 0; i < unmade->n && i < N_NAMED; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, unmade->ids[i], &size);

        attn_buffer_append_format(out, "%s'%s' (id %d)", out->size > 0 ? ", " : "",
                                  attn_quote(key, size).text, (int)unmade->ids[i]);
    }
    if (unmade->n > N_NAMED)
        attn_buffer_append_format(out, " and %zu more", unmade->n - N_NAMED);
}

static enum attn_status refuse(const struct attn_vocabulary *vocabulary, const struct unmade *whole,
                               const char *path, struct attn_error *err)
{
    struct attn_buffer names = {0};
    enum attn_status status;

    append_names(&names, vocabulary, whole);
    (void)attn_buffer_string(&names);
    status = attn_buffer_check(&names, err);
    if (status == ATTN_OK) {
        status = attn_error_set(err, ATTN_FORMAT,
                                "no line of '%s' makes %s of the vocabulary, expected one for each "
                                "token that is neither a byte nor special",
                                attn_quote_string(path).text, names.data);
        attn_error_hint(err, "a file that was cut has lines missing; special tokens are named in "
                             "special_tokens_map.json or added_tokens.json");
    }
    attn_buffer_release(&names);
    return status;
}

static enum attn_status make_note(const struct attn_vocabulary *vocabulary,
                                  const struct unmade *whole, const struct unmade *added,
                                  const char *path, char **note, struct attn_error *err)
{
    const size_t n = whole->n + added->n;
    struct attn_buffer text = {0}, names = {0};

    append_names(&names, vocabulary, whole);
    append_names(&names, vocabulary, added);
    if (attn_buffer_string(&names))
        attn_buffer_append_format(&text, "no line of '%s' makes %s: no text has %s",
                                  attn_quote_string(path).text, names.data,
                                  n == 1 ? "this token" : "these tokens");
    attn_buffer_release(&names);
    if (!attn_buffer_string(&text)) {
        attn_buffer_release(&text);
        return attn_error_no_memory(err);
    }
    *note = text.data; /* the buffer's memory is handed on */
    return ATTN_OK;
}

enum attn_status attn_unmade_check(const struct attn_bpe_model *model, const bool *is_special,
                                   const struct attn_pattern *pattern, const char *path,
                                   char **note, struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = model->vocabulary;
    struct unmade whole = {0}, added = {0};
    bool *is_made = attn_alloc(vocabulary->n, sizeof *is_made, err);
    enum attn_status status;

    if (!is_made)
        return ATTN_NO_MEMORY;
    memcpy(is_made, is_special, vocabulary->n * sizeof *is_made);
    for (size_t byte = 0; byte < 256; byte++)
        if (model->byte_ids[byte] >= 0)
            is_made[model->byte_ids[byte]] = true;
    for (size_t i = 0; i < model->merges.n; i++)
        is_made[model->merges.merged[i]] = true;
    status = sort_out(pattern, vocabulary, is_made, &whole, &added, err);
    attn_free(is_made);
    if (status != ATTN_OK)
        return status;
    if (whole.n > MOST_WHOLE)
        return refuse(vocabulary, &whole, path, err);
    return whole.n + added.n > 0 ? make_note(vocabulary, &whole, &added, path, note, err) : ATTN_OK;
}
