/* test_quoting.c - text and bytes inside of documents: what has a meaning there is escaped. */
#include "formats/quoting.h"
#include "tests/support/suite.h"

#include <string.h>

/* That OUT holds TEXT; empties it. */
static void expect(struct attn_buffer *out, const char *text)
{
    attn_buffer_append_char(out, '\0');
    ck_assert(!out->has_failed);
    ck_assert_str_eq(out->data, text);
    attn_buffer_release(out);
}

START_TEST(markup_has_references_and_quotes_where_they_matter)
{
    static const char text[] = "a<b> & \"c\" 'd'";
    struct attn_buffer out = {0};

    attn_markup_append(&out, text, strlen(text), false);
    expect(&out, "a&lt;b&gt; &amp; \"c\" 'd'");
    attn_markup_append(&out, text, strlen(text), true);
    expect(&out, "a&lt;b&gt; &amp; &quot;c&quot; 'd'");
}
END_TEST

START_TEST(fields_of_csv_are_quoted_where_they_must)
{
    struct attn_buffer out = {0};

    attn_csv_field_append(&out, "plain", 5);
    attn_csv_field_append(&out, ",\"", 2);
    expect(&out, "plain\",\"\"\"");
    attn_csv_text_append(&out, "=1+1,2", 6);
    attn_csv_text_append(&out, "1=1", 3);
    expect(&out, "\"\\x3d1+1,2\"1=1");
}
END_TEST

START_TEST(base64_is_padded)
{
    struct attn_buffer out = {0};

    attn_base64_append(&out, "Man", 3);
    attn_base64_append(&out, "Ma", 2);
    attn_base64_append(&out, "\xff", 1);
    expect(&out, "TWFuTWE=/w==");
}
END_TEST

ATTN_SUITE("quoting", markup_has_references_and_quotes_where_they_matter,
           fields_of_csv_are_quoted_where_they_must, base64_is_padded)
