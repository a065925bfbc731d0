/* page.c - see page.h. */
#include "tests/support/page.h"

#include "tests/support/assert.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

char *attn_page_element(const struct attn_page *page, const char *opening, const char *closing)
{
    const char *begin = strstr(page->text, opening), *end;
    char *inside;

    ck_assert_msg(begin != NULL, "the page has no %s", opening);
    begin += strlen(opening);
    end = strstr(begin, closing);
    ck_assert_msg(end != NULL, "%s does not end", opening);
    inside = calloc((size_t)(end - begin) + 1, 1);
    ck_assert_ptr_nonnull(inside);
    memcpy(inside, begin, (size_t)(end - begin));
    return inside;
}

struct attn_page attn_page_read(const char *text)
{
    struct attn_page page = {.text = text};
    char *json =
        attn_page_element(&page, "<script type=\"application/json\" id=\"document\">", "</script>");

    page.run = cJSON_Parse(json);
    ck_assert_msg(page.run != NULL, "the document is no JSON: %s", json);
    free(json);
    return page;
}

void attn_page_release(struct attn_page *page)
{
    cJSON_Delete(page->run);
}

static int digit_of(char c)
{
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);

    ck_assert_msg(c != '\0' && at != NULL, "'%c' is no digit of base64", c);
    return (int)(at - digits);
}

static unsigned char *read_base64(const char *text, size_t *n)
{
    const size_t size = strlen(text);
    unsigned char *bytes = calloc(size + 1, 1);

    ck_assert_uint_eq(size % 4, 0);
    *n = 0;
    for (size_t i = 0; i < size; i += 4) {
        const int n_pad = (text[i + 2] == '=') + (text[i + 3] == '=');
        unsigned value = 0;

        ck_assert(n_pad == 0 || i + 4 == size);
        for (size_t k = 0; k < 4; k++)
            value = value << 6 | (unsigned)(text[i + k] == '=' ? 0 : digit_of(text[i + k]));
        for (int k = 0; k < 3 - n_pad; k++)
            bytes[(*n)++] = (unsigned char)(value >> (16 - 8 * k));
    }
    return bytes;
}

unsigned char *attn_page_block(const char *text, size_t *n)
{
    enum { MOST = 1 << 26 };
    unsigned char *packed = read_base64(text, n), *bytes = malloc(MOST);
    z_stream stream = {0};

    ck_assert_int_eq(inflateInit2(&stream, -MAX_WBITS), Z_OK);
    stream.next_in = packed;
    stream.avail_in = (uInt)*n;
    stream.next_out = bytes;
    stream.avail_out = MOST;
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(stream.avail_in, 0);
    *n = stream.total_out;
    inflateEnd(&stream);
    free(packed);
    return bytes;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    ck_assert_msg(item != NULL, "no member '%s'", name);
    return item;
}

size_t attn_page_n_head(const struct attn_page *page)
{
    return (size_t)cJSON_GetArraySize(member(member(page->run, "heads"), "rows"));
}

const cJSON *attn_page_head(const struct attn_page *page, size_t head, const char *name)
{
    const cJSON *heads = member(page->run, "heads"), *columns = member(heads, "columns");
    const cJSON *row = cJSON_GetArrayItem(member(heads, "rows"), (int)head);

    for (int i = 0; i < cJSON_GetArraySize(columns); i++)
        if (strcmp(cJSON_GetArrayItem(columns, i)->valuestring, name) == 0)
            return cJSON_GetArrayItem(row, i);
    ck_abort_msg("heads have no column '%s'", name);
    return NULL;
}

struct attn_page_matrix attn_page_matrix(const struct attn_page *page, size_t head)
{
    const cJSON *tensor, *block = NULL;
    struct attn_page_matrix m = {.n_row = 0};
    unsigned char *bytes;
    size_t n, size;
    bool is_wide;

    cJSON_ArrayForEach(tensor, member(page->run, "tensors"))
    {
        const cJSON *data = member(tensor, "data");
        const size_t n_head = (size_t)cJSON_GetArraySize(data);

        if (strcmp(member(tensor, "site")->valuestring, "pattern") != 0)
            continue;
        if (head < n_head)
            block = cJSON_GetArrayItem(data, (int)head);
        if (block)
            break;
        head -= n_head;
    }
    ck_assert_ptr_nonnull(block);
    is_wide = strcmp(member(tensor, "form")->valuestring, "root16") == 0;
    ck_assert(is_wide || strcmp(member(tensor, "form")->valuestring, "root8") == 0);
    m.n_row = (size_t)cJSON_GetArrayItem(member(tensor, "shape"), 1)->valueint;
    m.n_column = (size_t)cJSON_GetArrayItem(member(tensor, "shape"), 2)->valueint;
    m.top = is_wide ? 65534 : 254;
    n = m.n_row * m.n_column;
    bytes = attn_page_block(block->valuestring, &size);
    ck_assert_uint_eq(size, is_wide ? 2 * n : n);
    m.weights = calloc(n, sizeof *m.weights);
    for (size_t i = 0; i < n; i++) {
        const unsigned level = is_wide ? bytes[i] * 256U + bytes[n + i] : bytes[i];
        const double root = ((double)level - 1) / m.top;

        m.weights[i] = level == 0 ? (double)NAN : root * root;
    }
    free(bytes);
    return m;
}

void attn_page_matrix_release(struct attn_page_matrix *matrix)
{
    free(matrix->weights);
}

size_t attn_page_count(const struct attn_page *page, const char *what)
{
    size_t n = 0;

    for (const char *at = page->text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}
