/* decode.c - decodes tokens to text. */
#include "tokenizer/stages/stages_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/utf8.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/vocabulary.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* --- Strings ---------------------------------------------------------------------------------- */

/* Ends a string whose bytes have been appended. */
static void end_string(struct attn_strings *strings)
{
    if (ATTN_GROW(strings->ends, strings->capacity, strings->n + 1, NULL) == ATTN_OK)
        strings->ends[strings->n++] = strings->bytes.size;
    else
        strings->has_failed = true;
}

void attn_strings_append(struct attn_strings *strings, const char *text, size_t size)
{
    attn_buffer_append(&strings->bytes, text, size);
    end_string(strings);
}

void attn_strings_release(struct attn_strings *strings)
{
    attn_buffer_release(&strings->bytes);
    attn_free(strings->ends);
    *strings = (struct attn_strings){0};
}

enum attn_status attn_strings_check(const struct attn_strings *strings, struct attn_error *err)
{
    if (strings->is_too_long)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the tokenizer's decoder makes more than 64 times their bytes of the "
                              "tokens, which is not supported");
    return strings->has_failed ? attn_error_no_memory(err)
                               : attn_buffer_check(&strings->bytes, err);
}

static const char *string_at(const struct attn_strings *strings, size_t i, size_t *size)
{
    const size_t begin = i > 0 ? strings->ends[i - 1] : 0;

    *size = strings->ends[i] - begin;
    return *size > 0 ? strings->bytes.data + begin : "";
}

/* --- The list --------------------------------------------------------------------------------- */

enum attn_status attn_decode_add(struct attn_decode_steps *decoder, struct attn_decode_step step,
                                 const char *a, const char *b, struct attn_error *err)
{
    struct attn_decode_step *added = &decoder->steps[decoder->n];

    if (decoder->n == ATTN_DECODE_MAX)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the tokenizer has more than %d decoders, which is not supported",
                              ATTN_DECODE_MAX);
    *added = step;
    added->a = a ? attn_strndup(a, step.n_a, err) : NULL;
    added->b = b ? attn_strndup(b, step.n_b, err) : NULL;
    decoder->n++; /* counted even if allocating failed, so that it is released */
    return (a && !added->a) || (b && !added->b) ? ATTN_NO_MEMORY : ATTN_OK;
}

void attn_decode_release(struct attn_decode_steps *decoder)
{
    for (size_t i = 0; i < decoder->n; i++) {
        attn_free(decoder->steps[i].a);
        attn_free(decoder->steps[i].b);
    }
    *decoder = (struct attn_decode_steps){0};
}

void attn_decode_run_step(const struct attn_decode_step *step, struct attn_strings *strings,
                          struct attn_strings *spare)
{
    const struct attn_strings in = *strings;

    attn_buffer_reset(&spare->bytes);
    spare->n = 0;
    spare->n_left = in.n_left;
    spare->has_failed = spare->is_too_long = false;
    step->run(step, &in, spare);
    *strings = *spare;
    *spare = in;
}

enum attn_status attn_decode_run(const struct attn_decode_steps *decoder,
                                 struct attn_strings *strings, struct attn_error *err)
{
    const size_t limit = attn_layer_limit(strings->bytes.size);
    struct attn_strings spare = {0};
    enum attn_status status = attn_strings_check(strings, err);

    for (size_t i = 0; i < decoder->n && status == ATTN_OK; i++) {
        strings->n_left = limit;
        attn_decode_run_step(&decoder->steps[i], strings, &spare);
        status = attn_strings_check(strings, err);
    }
    attn_strings_release(&spare);
    return status;
}

/* --- The steps -------------------------------------------------------------------------------- */

/* Appends TEXT [size] if the limit allows it. */
static void put(struct attn_strings *out, const char *text, size_t size)
{
    out->is_too_long = out->is_too_long || size > out->n_left;
    if (out->is_too_long)
        return;
    out->n_left -= size;
    attn_buffer_append(&out->bytes, text, size);
}

void attn_decode_replace(const struct attn_decode_step *step, const struct attn_strings *in,
                         struct attn_strings *out)
{
    const size_t n = step->n_a;

    for (size_t i = 0; i < in->n; i++) {
        const bool is_dropped = (i == 0 && step->start > 0) || (i + 1 == in->n && step->stop > 0);
        const size_t n_b = is_dropped ? 0 : step->n_b;
        size_t size, kept = 0;
        const char *text = string_at(in, i, &size);

        for (size_t at = 0; at + n <= size && !out->is_too_long; at++) {
            if (text[at] != step->a[0] || memcmp(text + at, step->a, n) != 0)
                continue;
            put(out, text + kept, at - kept);
            put(out, step->b, n_b);
            kept = at + n;
            at = kept - 1;
        }
        put(out, text + kept, size - kept);
        end_string(out);
    }
}

static int hexadecimal(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int attn_decode_named_byte(const char *text, size_t size)
{
    int high, low;

    if (size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    high = hexadecimal(text[3]);
    low = hexadecimal(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Decodes the bytes collected in BYTES, and empties it. */
static void end_run(struct attn_buffer *bytes, struct attn_strings *out)
{
    out->has_failed = out->has_failed || bytes->has_failed;
    if (bytes->size == 0)
        return;
    if (attn_utf8_valid_length(bytes->data, bytes->size) == bytes->size)
        attn_buffer_append(&out->bytes, bytes->data, bytes->size);
    else
        for (size_t i = 0; i < bytes->size; i++)
            attn_buffer_append(&out->bytes, replacement, sizeof replacement - 1);
    end_string(out);
    attn_buffer_reset(bytes);
}

void attn_decode_byte_fallback(const struct attn_decode_step *step, const struct attn_strings *in,
                               struct attn_strings *out)
{
    struct attn_buffer bytes = {0};

    (void)step;
    for (size_t i = 0; i < in->n; i++) {
        size_t size;
        const char *text = string_at(in, i, &size);
        const int byte = attn_decode_named_byte(text, size);

        if (byte >= 0) {
            attn_buffer_append_char(&bytes, (char)byte);
            continue;
        }
        end_run(&bytes, out);
        attn_strings_append(out, text, size);
    }
    end_run(&bytes, out);
    attn_buffer_release(&bytes);
}

void attn_decode_strip(const struct attn_decode_step *step, const struct attn_strings *in,
                       struct attn_strings *out)
{
    const size_t n = step->n_a;

    for (size_t i = 0; i < in->n; i++) {
        size_t size;
        const char *text = string_at(in, i, &size);

        for (size_t k = 0; k < step->start && size >= n && memcmp(text, step->a, n) == 0; k++) {
            text += n;
            size -= n;
        }
        for (size_t k = 0; k < step->stop && size >= n && memcmp(text + size - n, step->a, n) == 0;
             k++)
            size -= n;
        attn_strings_append(out, text, size);
    }
}

/* Removes the spaces that BERT's decoder has put between tokens from TEXT. */
static void clean_up(struct attn_buffer *text, struct attn_buffer *scratch)
{
    static const char *const pairs[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                           {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                           {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                           {" 've", "'ve"}, {" 're", "'re"}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_t n = strlen(pairs[i][0]);
        size_t kept = 0;

        attn_buffer_reset(scratch);
        for (size_t at = 0; at + n <= text->size; at++) {
            if (memcmp(text->data + at, pairs[i][0], n) != 0)
                continue;
            attn_buffer_append(scratch, text->data + kept, at - kept);
            attn_buffer_append_string(scratch, pairs[i][1]);
            kept = at + n;
            at = kept - 1;
        }
        if (kept == 0)
            continue;
        attn_buffer_append(scratch, text->data + kept, text->size - kept);
        attn_buffer_reset(text);
        attn_buffer_append(text, scratch->data, scratch->size);
    }
}

void attn_decode_distinct(const struct attn_decode_step *step, const struct attn_strings *in,
                          struct attn_strings *out)
{
    size_t n_before = SIZE_MAX;
    const char *before = "";

    (void)step;
    for (size_t i = 0; i < in->n; i++) {
        size_t size;
        const char *text = string_at(in, i, &size);

        if (size != n_before || memcmp(text, before, size) != 0)
            attn_strings_append(out, text, size);
        before = text, n_before = size;
    }
}

void attn_decode_wordpiece(const struct attn_decode_step *step, const struct attn_strings *in,
                           struct attn_strings *out)
{
    struct attn_buffer text = {0}, scratch = {0};

    for (size_t i = 0; i < in->n; i++) {
        size_t size;
        const char *token = string_at(in, i, &size);
        const bool is_part = i > 0 && size >= step->n_a && memcmp(token, step->a, step->n_a) == 0;

        attn_buffer_reset(&text);
        if (i > 0 && !is_part)
            attn_buffer_append_char(&text, ' ');
        attn_buffer_append(&text, token + (is_part ? step->n_a : 0),
                           size - (is_part ? step->n_a : 0));
        if (step->start > 0)
            clean_up(&text, &scratch);
        attn_strings_append(out, text.data, text.size);
    }
    out->has_failed = out->has_failed || text.has_failed || scratch.has_failed;
    attn_buffer_release(&text);
    attn_buffer_release(&scratch);
}

/* Appends BYTES, with U+FFFD for each maximal subpart of malformed UTF-8. */
static void append_valid(const struct attn_buffer *bytes, struct attn_strings *out)
{
    for (size_t at = 0; at < bytes->size;) {
        const size_t left = bytes->size - at;
        size_t n_valid = attn_utf8_valid_length(bytes->data + at, left);
        uint32_t n_bad = 0;

        attn_buffer_append(&out->bytes, bytes->data + at, n_valid);
        if (n_valid < left) {
            (void)attn_utf8_decode(bytes->data + at + n_valid, left - n_valid, &n_bad);
            attn_buffer_append(&out->bytes, replacement, sizeof replacement - 1);
        }
        at += n_valid + n_bad;
    }
}

void attn_decode_byte_level(const struct attn_decode_step *step, const struct attn_strings *in,
                            struct attn_strings *out)
{
    struct attn_alphabet alphabet;
    struct attn_buffer bytes = {0};

    (void)step;
    attn_alphabet_init(&alphabet);
    for (size_t i = 0; i < in->n; i++) {
        size_t size, n;
        const char *text = string_at(in, i, &size);
        char *to = attn_buffer_reserve(&bytes, size);

        if (to && attn_alphabet_to_bytes(&alphabet, text, size, to, &n))
            bytes.size += n;
        else
            attn_buffer_append(&bytes, text, size);
    }
    append_valid(&bytes, out);
    end_string(out);
    out->has_failed = out->has_failed || bytes.has_failed;
    attn_buffer_release(&bytes);
}

void attn_decode_valid(const struct attn_decode_step *step, const struct attn_strings *in,
                       struct attn_strings *out)
{
    (void)step;
    append_valid(&in->bytes, out);
    end_string(out);
}

void attn_decode_join(const struct attn_decode_step *step, const struct attn_strings *in,
                      struct attn_strings *out)
{
    for (size_t i = 0; i < in->n; i++) {
        size_t size;
        const char *text = string_at(in, i, &size);

        attn_buffer_append(&out->bytes, step->a, i > 0 ? step->n_a : 0);
        attn_buffer_append(&out->bytes, text, size);
    }
    end_string(out);
}

void attn_decode_runs(const struct attn_decode_step *step, const struct attn_strings *in,
                      struct attn_strings *out)
{
    struct attn_buffer *bytes = &out->bytes;
    size_t n_left = SIZE_MAX; /* number of spaces that may still be removed from the run */

    for (size_t i = 0; i < in->n; i++) {
        size_t size;
        const char *text = string_at(in, i, &size);
        bool is_special = false;

        for (const char *a = step->a; a < step->a + step->n_a; a += strlen(a) + 1)
            is_special = is_special || (strlen(a) == size && memcmp(a, text, size) == 0);
        for (; n_left > 0 && size > 0 && *text == ' '; n_left--, size--)
            text++;
        n_left = is_special ? step->start : size > 0 ? 0 : n_left;
        attn_buffer_append(bytes, text, size);
        attn_buffer_append(bytes, " ", is_special ? 1 : 0);
    }
    while (bytes->size > 0 && bytes->data[bytes->size - 1] == ' ')
        bytes->size--;
    end_string(out);
}
