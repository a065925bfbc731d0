/* naughty.c - see naughty.h. */
#include "tests/support/naughty.h"

#include "base/text/utf8.h"

#include <string.h>

#define S(literal)                                                                                 \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

#define TEN(text) text text text text text text text text text text
#define HUNDRED(text) TEN(TEN(text))

const struct attn_naughty attn_naughty[] = {
    /* Nearly nothing. */
    S(""),
    S(" "),
    S("\t"),
    S("\n"),
    S("\r\n"),
    S("\n\n\n"),
    S("\0"),
    S("\0\0a\0"),
    S("a\0b"),
    S("\v\f"),
    S("\xc2\xa0"),                 /* no-break space */
    S("\xe3\x80\x80"),             /* ideographic space */
    S("\xe2\x80\x82\xe2\x80\x89"), /* en space, thin space */

    /* Controls, and what terminals do on them. */
    S("\x01\x02\x03\x04\x05\x06\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1c\x1d\x1e"
      "\x1f"),
    S("\x7f"),
    S("\a"),
    S("abc\b\b\bxyz"),
    S("hidden\rshown"),
    S("line one\nattn-cli: error: forged line"),
    S("\x1b"),
    S("\x1b["),
    S("\x1b[2J\x1b[H"),
    S("\x1b[31mred\x1b[0m"),
    S("\x1b[?1049h"),
    S("\x1b[6n"),
    S("\x1b"
      "c"),
    S("\x1b]0;title\a"),
    S("\x1b]52;c;cm0gLXJm\a"),
    S("\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\"),
    S("\x1bP+q544e\x1b\\"),
    S("\x1b_Gf=100;AAAA\x1b\\"),
    S("\xc2\x9b"
      "2J"), /* CSI as one C1 character */
    S("\xc2\x80\xc2\x85\xc2\x90\xc2\x9d\xc2\x9f"),
    S("\x9b"
      "31m"),

    /* Characters that are not seen, or change what is. */
    S("\xe2\x80\x8b"), /* zero-width space */
    S("a\xe2\x80\x8c\xe2\x80\x8d"
      "b"),                        /* non-joiner, joiner */
    S("\xe2\x80\x8e\xe2\x80\x8f"), /* left-to-right, right-to-left mark */
    S("abc\xe2\x80\xae"
      "cba\xe2\x80\xac"),                                  /* right-to-left override */
    S("\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9"), /* isolates */
    S("\xe2\x80\xaa\xe2\x80\xab"),
    S("\xd8\x9c"),                 /* Arabic letter mark */
    S("\xe2\x80\xa8\xe2\x80\xa9"), /* line and paragraph separators */
    S("\xef\xbb\xbf"
      "bom"),
    S("\xef\xbf\xb9\xef\xbf\xba\xef\xbf\xbb"),             /* interlinear annotation */
    S("\xef\xbf\xbe\xef\xbf\xbf"),                         /* noncharacters */
    S("\xf3\xa0\x81\xa1\xf3\xa0\x81\xa2\xf3\xa0\x81\xbf"), /* tags */
    S("\xc2\xad"),                                         /* soft hyphen */
    S("\xe3\x85\xa4\xef\xbe\xa0"),                         /* Hangul fillers */
    S("\xe1\xa0\x8e"),                                     /* Mongolian vowel separator */
    S("\xe2\x81\xa0\xe2\x81\xa1"),                         /* word joiner, function application */
    S("\xee\x80\x80\xf4\x8f\xbf\xbd"),                     /* private use */

    /* Marks, joined pictures, wide and turned characters. */
    S("Z" HUNDRED("\xcc\x80\xcc\x81") "!"),
    S("\xcc\x81"),
    S("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xe2\x80\x8d\xf0\x9f"
      "\x91\xa6"),
    S("\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88"),
    S("\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbf"),
    S("\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa"),
    S("\xe7\x94\xb0\xe4\xb8\xad\xe3\x81\x95\xe3\x82\x93"),
    S("\xef\xbc\x9d\xef\xbc\xb3\xef\xbc\xb5\xef\xbc\xad"), /* full-width =SUM */
    S("\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7 abc"),
    S("\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"),
    S("\xef\xb7\xba"),                             /* the widest ligature */
    S("\xc4\xb0\xc4\xb1\xe1\xba\x9e\xef\xac\x80"), /* case traps */
    S("\xf0\x9d\x95\xb3\xf0\x9d\x95\x96"),
    S("\xcc\xb5\xcd\xa1o\xcd\xa1\xcc\xb5"),

    /* What is not UTF-8. */
    S("\x80"),
    S("\xbf\xbf"),
    S("\xc3"),
    S("\xe2\x82"),
    S("\xf0\x9f\x98"),
    S("a\xff"
      "b\xfe"),
    S("\xc0\xaf"), /* overlong slash */
    S("\xc0\x80"), /* overlong NUL */
    S("\xe0\x80\xaf"),
    S("\xed\xa0\xbd\xed\xb8\x80"), /* surrogates */
    S("\xed\xbf\xbf"),
    S("\xf4\x90\x80\x80"), /* above U+10FFFF */
    S("\xf8\x88\x80\x80\x80"),

    /* Formulas, for spreadsheets. */
    S("=1+1"),
    S("=cmd|' /C calc'!A0"),
    S("=HYPERLINK(\"http://example.com\",\"x\")"),
    S("+1"),
    S("-1"),
    S("@SUM(A1)"),
    S("\t=1+1"),
    S("\r=1+1"),
    S("%0A=1"),
    S("|calc"),
    S("3:45"),
    S("1e5"),
    S("0x10"),
    S("00012"),
    S("TRUE"),
    S("nan"),
    S("-inf"),
    S("NULL"),

    /* Quotes, separators, backslashes. */
    S("\""),
    S("\"\""),
    S("'"),
    S("\",\""),
    S(","),
    S(";"),
    S("a,b\nc,d"),
    S("\"a\n\"\"b\"\""),
    S("\\"),
    S("\\\\"),
    S("\\n"),
    S("\\x1b[2J"),
    S("\\u001b"),
    S("\\\""),
    S("\xe2\x80\x9cquoted\xe2\x80\x9d"),
    S("`\xc2\xb4"),

    /* Markup and code. */
    S("<script>alert(1)</script>"),
    S("</script><svg onload=alert(1)>"),
    S("<!--"),
    S("]]>"),
    S("&lt;&#0;&amp;"),
    S("javascript:alert(1)"),
    S("{\"ids\": [1]}"),
    S("}{"),
    S("${HOME}"),
    S("$(touch owned)"),
    S("`touch owned`"),
    S("; touch owned #"),
    S("' OR '1'='1"),
    S("{{7*7}}"),
    S("%s%s%s%s%n"),
    S("%1000000d"),
    S("%p%x%*d"),
    S("%%"),
    S("<|endoftext|>"),
    S("<|endoftext|"),
    S("<F0><9F>"),
    S("3|eat"),
    S("#version: 0.2"),

    /* Names of files. */
    S("."),
    S(".."),
    S("../../x"),
    S("../../../../etc/passwd"),
    S("/abs"),
    S("/dev/stdout"),
    S("a/b"),
    S("a\\b"),
    S("~"),
    S("CON"),
    S("nul.csv"),
    S("-"),
    S("--"),
    S("-rf"),
    S("--help"),
    S("*"),
    S("name."),
    S("name "),
    S(".hidden"),
    S("L00H00.pattern.csv"),
    S("model.safetensors"),

    /* Long ones. */
    S(HUNDRED("longword")),
    S(HUNDRED("\xf0\x9f\x98\x80")),
    S(HUNDRED("\x1b[31m\x1b[0m")),
    S(TEN(HUNDRED("\""))),
    S(HUNDRED("a b ")),
};

const size_t attn_n_naughty = sizeof attn_naughty / sizeof *attn_naughty;

bool attn_naughty_is_argument(const struct attn_naughty *string)
{
    return memchr(string->text, '\0', string->size) == NULL;
}

bool attn_naughty_is_utf8(const struct attn_naughty *string)
{
    return attn_utf8_valid_length(string->text, string->size) == string->size;
}

bool attn_naughty_is_file_name(const struct attn_naughty *string)
{
    return attn_naughty_is_argument(string) && string->size > 0 && string->size <= 255 &&
           strchr(string->text, '/') == NULL && strcmp(string->text, ".") != 0 &&
           strcmp(string->text, "..") != 0;
}
