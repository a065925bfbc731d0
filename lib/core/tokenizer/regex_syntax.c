/* clang-format off */
/*
 * regex_syntax.c - see regex_syntax.h.
 *
 * One pass from left to right. Syntax that PCRE2 and Oniguruma read alike is copied, syntax that
 * they read differently is rewritten, and all else is refused:
 *
 *     \s \S      PCRE2's have U+180E; White_Space is written out, in a set too
 *     \w \W      PCRE2's lack marks and connectors; \W in a set cannot be written
 *     \b \B      where such a word begins or ends
 *     \h \H      hexadecimal digits here, horizontal space there
 *     \v         a vertical tab here, any line break there
 *     \xHH       a byte here, a character there: only ASCII is taken. \x alone is a NUL there
 *     \pL        a letter p and a letter L here
 *     \p{Han}    the script here, the script and its extensions there
 *     \p{L}      of Unicode ATTN_UNICODE_VERSION here, of any version there: then by numbers
 *     \X         other versions of Unicode have other clusters
 *     x{,2}      a repetition here, characters in old versions of PCRE2
 *     x{2}?      x{2} or nothing here, x{2} there
 *     x{1,3}+    repeats the repetition here, is possessive there
 *     (a|){2}    other rules of when a match of nothing ends it
 *     a(?i)b|c   a(?i:b|c) here, a(?i:b)|c there
 *     (?i)ss     ß, too, here; no character for several there, and sets take the other case of
 *                \p{L} here. So only ASCII is taken, without what ligatures stand for
 *     (?m) (?x)  options but for i mean something else
 *     [a[b]]     sets in sets, and [a&&b], are characters there
 */
/* clang-format on */
#include "tokenizer/regex_syntax.h"

#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "base/version.h"
#include "tokenizer/unicode/unicode_internal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#define RANGE(first, last) "\\x{" #first "}-\\x{" #last "}"
#define WHITE_SPACE ATTN_WHITE_SPACE_MAP(RANGE)
#define WORD                                                                                       \
    "\\p{l}\\p{m}\\p{nl}\\p{nd}\\p{pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-"         \
    "\\x{1f169}\\x{1f170}-\\x{1f189}"
/* Outside of sets, Oniguruma also counts small numbers and fractions of Latin-1 as word characters.
 */
#define WORD_ALONE WORD "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"
#define HEXADECIMAL "0-9A-Fa-f"

enum {
    /* Maximum size of a pattern; those of published tokenizers have a few KiB. */
    MAX_BYTES = 64 << 10,
    /* Maximum size of the rewritten pattern: \b is replaced by a thousand bytes. */
    MAX_REWRITTEN = 1 << 20,
    MAX_LEVELS = 100 /* maximum nesting of groups and options; PCRE2 allows 250 */
};

static const char repeated[] = "a repetition that is repeated";
static const char foreign_escape[] = "an escape that means something else to PCRE2";
static const char cased[] = "letters beyond ASCII where case does not matter";

/* The kind of the last element, which a repetition would repeat. A PLACE matches no characters, as
 * ^ or a look-ahead does. */
enum target { TARGET_NOTHING, TARGET_PLACE, TARGET_ATOM, TARGET_REPETITION };

struct level {
    bool ignores_case; /* case is ignored outside of the group */
    bool is_look;      /* the group is a look-ahead or look-behind, which matches no characters */
    bool has_matter;   /* the current alternative cannot match the empty string */
    bool may_be_empty; /* an earlier alternative may match it */
    int n_option;      /* number of groups opened for options like (?i), within this group */
};

struct rewriting {
    const char *text; /* [size] */
    size_t size, at;
    struct attn_buffer *out;
    enum target target;
    bool is_solid; /* the target, an atom, cannot match the empty string */
    bool ignores_case;
    uint32_t last_letter; /* the last letter of the current string if case is ignored, or 0 */
    int n_capture;
    bool has_name, has_reference;
    enum attn_property_form form;
    struct level levels[MAX_LEVELS + 1]; /* levels[0] is the whole pattern */
    int n_level;                         /* number of groups around the current place */
    int n_open;                          /* n_level plus the groups opened for options */
    const char *problem;                 /* names the part that cannot be rewritten; or NULL */
};

/* --- Reading ---------------------------------------------------------------------------------- */

static void set_target(struct rewriting *r, enum target target, bool is_solid)
{
    r->levels[r->n_level].has_matter |= r->is_solid;
    r->target = target;
    r->is_solid = is_solid;
}

static char peek(const struct rewriting *r, size_t offset)
{
    return offset < r->size - r->at ? r->text[r->at + offset] : '\0';
}

static bool begins(const struct rewriting *r, const char *text)
{
    const size_t size = strlen(text);

    return size <= r->size - r->at && memcmp(r->text + r->at, text, size) == 0;
}

/* Copies SIZE bytes of the pattern. */
static void copy(struct rewriting *r, size_t size)
{
    attn_buffer_append(r->out, r->text + r->at, size);
    r->at += size;
}

/* Reads at most MOST digits of BASE at OFFSET. Returns their number. */
static size_t read_digits(const struct rewriting *r, size_t offset, size_t most, uint32_t base,
                          uint32_t *value)
{
    size_t n = 0;

    for (*value = 0; n < most; n++) {
        const char c = peek(r, offset + n);
        const uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                               : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                               : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                      : base;
        if (digit >= base)
            break;
        *value = *value * base + digit;
    }
    return n;
}

/* --- Characters ------------------------------------------------------------------------------- */

static bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the two letters match a single character if case is ignored: ß, and ligatures. */
static bool has_ligature(uint32_t first, uint32_t second)
{
    static const char pairs[][2] = {{'s', 's'}, {'s', 't'}, {'f', 'f'}, {'f', 'i'}, {'f', 'l'}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if ((first | 0x20) == (uint32_t)pairs[i][0] && (second | 0x20) == (uint32_t)pairs[i][1])
            return true;
    return false;
}

/* Records a character of the pattern, and sets a problem if it is not supported in its context. */
static void note_character(struct rewriting *r, uint32_t code_point, bool is_in_set)
{
    const bool is_punctuation = code_point >= 0x2000 && code_point <= 0x206f; /* has no case */

    if (r->ignores_case && code_point >= 0x80 && !is_punctuation)
        r->problem = cased;
    if (is_in_set)
        return;
    if (r->ignores_case && has_ligature(r->last_letter, code_point))
        r->problem = "letters that a ligature stands for where case does not matter";
    r->last_letter = r->ignores_case ? code_point : 0;
    set_target(r, TARGET_ATOM, true);
}

static void rewrite_character(struct rewriting *r, bool is_in_set)
{
    uint32_t code_point = 0;
    const size_t size = attn_utf8_decode(r->text + r->at, r->size - r->at, &code_point);

    note_character(r, code_point, is_in_set);
    copy(r, size > 0 ? size : 1);
}

/* Writes a character, whose notation has SIZE bytes, as its number. */
static void write_number(struct rewriting *r, uint32_t code_point, size_t size, bool is_in_set)
{
    note_character(r, code_point, is_in_set);
    attn_buffer_append_format(r->out, "\\x{%x}", (unsigned)code_point);
    r->at += size;
}

/* Rewrites a character given by its number: \x{20}, \x20, \u0020, \040. */
static void rewrite_number(struct rewriting *r, bool is_in_set)
{
    const char letter = peek(r, 1);
    const bool is_braced = letter == 'x' && peek(r, 2) == '{';
    uint32_t value = 0;
    size_t n = is_braced       ? read_digits(r, 3, 8, 16, &value)
               : letter == '0' ? read_digits(r, 2, 2, 8, &value)
                               : read_digits(r, 2, letter == 'x' ? 2 : 4, 16, &value);

    if (is_braced ? n == 0 || peek(r, 3 + n) != '}'
                  : (letter == 'x' && n == 0) || (letter == 'u' && n < 4))
        r->problem = "a character without its number";
    else if (!is_braced && letter == 'x' && value >= 0x80)
        r->problem = "a byte that is no character";
    else
        write_number(r, value, 2 + n + (is_braced ? 2 : 0), is_in_set);
}

/* --- Properties ------------------------------------------------------------------------------- */

static void append_range(struct rewriting *r, uint32_t first, uint32_t last)
{
    const bool is_high = first >= 0xd800 && first <= 0xdfff; /* surrogates are not characters */
    const bool is_low = last >= 0xd800 && last <= 0xdfff;

    first = is_high ? 0xe000 : first;
    last = is_low ? 0xd7ff : last;
    if (first <= last)
        attn_buffer_append_format(r->out, "\\x{%x}-\\x{%x}", (unsigned)first, (unsigned)last);
}

/* Appends the ranges BEGIN to END-1, or, if IS_NOT, the gaps between them. */
static void append_ranges(struct rewriting *r, uint32_t begin, uint32_t end, bool is_not)
{
    uint32_t next = 0;

    for (uint32_t i = begin; i < end; i++) {
        const struct attn_property_range *range = &attn_property_ranges[i];

        if (!is_not)
            append_range(r, range->first, range->last);
        else if (range->first > next)
            append_range(r, next, range->first - 1);
        next = range->last + 1;
    }
    if (is_not && next <= 0x10ffff)
        append_range(r, next, 0x10ffff);
}

/* Appends the characters that have PROPERTY, or, if IS_NOT, those that do not have it. */
static void append_property(struct rewriting *r, const struct attn_unicode_property *property,
                            bool is_not, bool is_in_set)
{
    /* In a set, later characters can be added but not removed. */
    const bool adds_later =
        r->form == ATTN_PROPERTY_NAME_AND_LATER && property->has_later && !(is_in_set && is_not);

    if (r->form == ATTN_PROPERTY_NAME) {
        attn_buffer_append_format(r->out, "\\%c{%s%s}", is_not ? 'P' : 'p',
                                  property->is_script ? "sc:" : "", property->name);
        return;
    }
    if (property->begin == property->end)
        r->problem = "a property that no character has";
    if (!is_in_set)
        attn_buffer_append_string(r->out, is_not ? "[^" : "[");
    if (adds_later) {
        attn_buffer_append_format(r->out, "\\p{%s}", property->name);
        append_ranges(r, property->later_begin, property->later_end, false);
    } else {
        append_ranges(r, property->begin, property->end, is_in_set && is_not);
    }
    if (!is_in_set)
        attn_buffer_append_string(r->out, "]");
}

/* Appends TEXT, an escape in PCRE2's syntax, and writes its properties in the form of R. */
static void append_escape(struct rewriting *r, const char *text, bool is_in_set)
{
    for (const char *at = text; *at;) {
        const char *end = at[0] == '\\' && (at[1] | 0x20) == 'p' ? strchr(at, '}') : NULL;
        char name[4] = "";

        is_in_set = *at == '[' || (is_in_set && *at != ']');
        if (!end) {
            attn_buffer_append(r->out, at++, 1);
            continue;
        }
        memcpy(name, at + 3, (size_t)(end - at) - 3);
        append_property(r, attn_unicode_property_find(name), at[1] == 'P', is_in_set);
        at = end + 1;
    }
}

/* Rewrites a property: \p{L}, \P{L}, \p{^L}, \p{Han}. Its name is compared in lower case and
 * without '_', '-' and ' '. */
static void rewrite_property(struct rewriting *r, bool is_in_set)
{
    const bool is_not = peek(r, 2) == '{' && peek(r, 3) == '^';
    size_t at = is_not ? 4 : 3, n = 0;
    const struct attn_unicode_property *property;
    bool is_name = peek(r, 2) == '{';
    char name[32] = "";

    for (; is_name && peek(r, at) != '}'; at++) {
        const char c = peek(r, at);

        if (c == '_' || c == '-' || c == ' ')
            continue;
        is_name = is_ascii_letter(c) && n + 1 < sizeof name;
        if (is_name)
            name[n++] = (char)(c | 0x20);
    }
    if (!is_name || n == 0) {
        r->problem = peek(r, 2) == '{' ? "a property that is not known" : "\\p without braces";
        return;
    }
    if (is_in_set && r->ignores_case)
        r->problem = cased;
    property = attn_unicode_property_find(name);
    if (!property) {
        r->problem = "a property that is not known";
        return;
    }
    /* Oniguruma does not ignore case in \p{Lu}; neither do some versions of PCRE2. */
    attn_buffer_append_string(r->out, r->ignores_case ? "(?-i:" : "");
    append_property(r, property, is_not != (peek(r, 1) == 'P'), is_in_set);
    attn_buffer_append_string(r->out, r->ignores_case ? ")" : "");
    r->at += at + 1;
}

/* --- Escapes ---------------------------------------------------------------------------------- */

/* How an escaped letter is written, in a set and outside. */
struct escape {
    char letter;
    const char *in_set; /* NULL: not possible */
    const char *alone;
    bool is_class; /* otherwise it matches no characters */
};

static const struct escape escapes[] = {
    {'s', WHITE_SPACE, "[" WHITE_SPACE "]", true},
    {'S', "\\S\\x{180e}", "[^" WHITE_SPACE "]", true},
    {'w', WORD, "[" WORD_ALONE "]", true},
    {'W', NULL, "[^" WORD_ALONE "]", true},
    {'d', "\\p{nd}", "\\p{nd}", true},
    {'D', "\\P{nd}", "\\P{nd}", true},
    {'h', HEXADECIMAL, "[" HEXADECIMAL "]", true},
    {'H', NULL, "[^" HEXADECIMAL "]", true},
    {'R', NULL, "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])", true},
    {'b', "\\x{8}",
     "(?:(?<=[" WORD_ALONE "])(?![" WORD_ALONE "])|(?<![" WORD_ALONE "])(?=[" WORD_ALONE "]))",
     false},
    {'B', NULL,
     "(?:(?<=[" WORD_ALONE "])(?=[" WORD_ALONE "])|(?<![" WORD_ALONE "])(?![" WORD_ALONE "]))",
     false},
    {'A', NULL, "\\A", false},
    {'z', NULL, "\\z", false},
    {'Z', NULL, "\\Z", false},
};

static const struct escape *find_escape(char letter)
{
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].letter == letter)
            return &escapes[i];
    return NULL;
}

/* Rewrites an escape that is valid inside and outside of sets. Returns false for other escapes. */
static bool rewrite_common_escape(struct rewriting *r, bool is_in_set)
{
    const char letter = peek(r, 1);
    static const char controls[] = "aefnrt";

    if (letter == 'x' || letter == 'u' || letter == '0')
        rewrite_number(r, is_in_set);
    else if (letter == 'v')
        write_number(r, 0x0b, 2, is_in_set);
    else if (letter == 'p' || letter == 'P')
        rewrite_property(r, is_in_set);
    else if (letter != '\0' && strchr(controls, letter))
        copy(r, 2);
    else if (is_ascii_letter(letter) || (letter >= '1' && letter <= '9'))
        return false;
    /* An escaped character, which may be special without the backslash. */
    else if (r->size - r->at > 1) {
        copy(r, 1);
        rewrite_character(r, is_in_set);
    } else {
        copy(r, 1); /* the pattern ends here, which PCRE2 reports */
    }
    return true;
}

static void rewrite_escape(struct rewriting *r)
{
    const char letter = peek(r, 1);
    const struct escape *escape = find_escape(letter);

    if (escape) {
        append_escape(r, escape->alone, false);
        set_target(r, escape->is_class ? TARGET_ATOM : TARGET_PLACE, escape->is_class);
        r->last_letter = 0;
        r->at += 2;
    } else if (letter >= '1' && letter <= '9') {
        /* A reference to an earlier group. Oniguruma counts groups differently in patterns with
         * names. */
        const char next = peek(r, 2);

        if (letter - '0' > r->n_capture || (next >= '0' && next <= '9') || r->ignores_case)
            r->problem = "a reference to a group that is not supported";
        r->has_reference = true;
        set_target(r, TARGET_ATOM, false);
        attn_buffer_append_format(r->out, "(?:\\%c)", letter);
        r->at += 2;
    } else {
        const uint32_t before = r->last_letter;

        if (!rewrite_common_escape(r, false))
            r->problem = foreign_escape;
        set_target(r, TARGET_ATOM, true);
        r->last_letter = r->last_letter == before ? 0 : r->last_letter;
    }
}

/* --- Sets ------------------------------------------------------------------------------------- */

/* Rewrites one element of a set. *is_class is set if it is a class. */
static void rewrite_element(struct rewriting *r, bool *is_class)
{
    const char letter = peek(r, 1);
    const struct escape *escape = find_escape(letter);

    *is_class = peek(r, 0) == '\\' && (letter == 'p' || letter == 'P' || (escape && letter != 'b'));
    if (peek(r, 0) == '[') {
        r->problem = "a set within a set";
    } else if (begins(r, "&&")) {
        r->problem = "an intersection of sets";
    } else if (peek(r, 0) != '\\') {
        rewrite_character(r, true);
    } else if (escape) { /* it cannot be the end of a range, although its rewritten form could be */
        if (!escape->in_set)
            r->problem = "a complement in a set";
        else if (r->ignores_case && strchr("SwD", escape->letter))
            r->problem = cased;
        else
            append_escape(r, escape->in_set, true);
        r->at += 2;
    } else if (!rewrite_common_escape(r, true)) {
        r->problem = foreign_escape;
    }
}

static void rewrite_set(struct rewriting *r)
{
    bool is_class = false, was_class = false, is_first = true, was_minus = false;

    copy(r, begins(r, "[^") ? 2 : 1);
    for (; r->at < r->size && !r->problem; is_first = false) {
        const bool is_minus = peek(r, 0) == '-' && !is_first;

        if (peek(r, 0) == ']' && !is_first)
            break;
        was_class = is_class;
        rewrite_element(r, &is_class);
        if ((is_class && was_minus) || (is_minus && was_class && peek(r, 0) != ']'))
            r->problem = "a range that a class ends";
        was_minus = is_minus;
    }
    copy(r, r->at < r->size ? 1 : 0);
    set_target(r, TARGET_ATOM, true);
    r->last_letter = 0;
}

/* --- Groups ----------------------------------------------------------------------------------- */

static void open_group(struct rewriting *r, size_t size, bool is_look)
{
    copy(r, size);
    set_target(r, TARGET_NOTHING, false);
    if (r->n_open == MAX_LEVELS) {
        r->problem = "groups within groups within groups, too many";
        return;
    }
    r->levels[++r->n_level] = (struct level){.ignores_case = r->ignores_case, .is_look = is_look};
    r->n_open++;
}

/* Closes the groups that were opened for options within the current group. */
static void close_options(struct rewriting *r)
{
    struct level *level = &r->levels[r->n_level];

    for (; level->n_option > 0; level->n_option--, r->n_open--)
        attn_buffer_append_string(r->out, ")");
}

static void close_group(struct rewriting *r)
{
    const struct level *level = &r->levels[r->n_level];
    bool is_solid;

    set_target(r, TARGET_NOTHING, false);
    is_solid = level->has_matter && !level->may_be_empty && !level->is_look;
    close_options(r);
    copy(r, 1);
    if (r->n_level == 0)
        return; /* unmatched, which PCRE2 reports */
    r->ignores_case = level->ignores_case;
    r->n_level--;
    r->n_open--;
    set_target(r, level->is_look ? TARGET_PLACE : TARGET_ATOM, is_solid);
}

/* Rewrites (?i:a), and (?i)a|b, which means (?i:a|b) up to the end of the surrounding group. */
static void rewrite_option(struct rewriting *r)
{
    bool is_off = false, ignores_case = r->ignores_case;
    size_t n = 2;

    for (; peek(r, n) == 'i' || peek(r, n) == '-'; n++) {
        is_off = is_off || peek(r, n) == '-';
        ignores_case = peek(r, n) == 'i' ? !is_off : ignores_case;
    }
    if (peek(r, n) == ':') {
        open_group(r, n + 1, false);
    } else if (peek(r, n) == ')' && r->n_open < MAX_LEVELS) {
        copy(r, n);
        attn_buffer_append_string(r->out, ":");
        r->at++;
        r->levels[r->n_level].n_option++;
        r->n_open++;
        set_target(r, TARGET_NOTHING, false);
    } else if (strchr("mxsnaUDSWP", peek(r, n)) && peek(r, n) != '\0') {
        r->problem = "an option other than i";
    } else {
        r->problem = "a kind of group that is not known";
    }
    r->ignores_case = ignores_case;
}

static void rewrite_group(struct rewriting *r)
{
    const char *end = NULL;

    /* Comments are dropped: a repetition after one applies to the element before it. */
    if (begins(r, "(?#")) {
        while (r->at < r->size && peek(r, 0) != ')')
            r->at += peek(r, 0) == '\\' && r->size - r->at > 1 ? 2 : 1;
        if (r->at == r->size)
            r->problem = "a comment without an end";
        else
            r->at++;
        return;
    }
    r->last_letter = 0;
    if (begins(r, "(*")) {
        r->problem = "a verb";
    } else if (!begins(r, "(?")) {
        r->n_capture++;
        open_group(r, 1, false);
    } else if (begins(r, "(?:") || begins(r, "(?>")) {
        open_group(r, 3, false);
    } else if (begins(r, "(?=") || begins(r, "(?!")) {
        open_group(r, 3, true);
    } else if (begins(r, "(?<=") || begins(r, "(?<!")) {
        open_group(r, 4, true);
    } else if (begins(r, "(?<")) {
        end = memchr(r->text + r->at, '>', r->size - r->at);
        r->has_name = true;
        open_group(r, end ? (size_t)(end - r->text) + 1 - r->at : 3, false);
    } else {
        rewrite_option(r);
    }
}

/* --- Repetitions ------------------------------------------------------------------------------ */

/* Returns the size of an interval {2}, {2,}, {2,3} or {,3}; 0 if the brace is ordinary. */
static size_t interval_size(const struct rewriting *r, bool *is_exact)
{
    uint32_t value = 0;
    size_t first = read_digits(r, 1, 6, 10, &value), at = 1 + first, second = 0;

    *is_exact = peek(r, at) == '}';
    if (peek(r, at) == ',') {
        at++;
        second = read_digits(r, at, 6, 10, &value);
        at += second;
    }
    return first + second > 0 && peek(r, at) == '}' ? at + 1 : 0;
}

/* Rewrites a repetition of SIZE bytes, with the mark that may follow, ? or +. */
static void rewrite_repetition(struct rewriting *r, size_t size, bool is_exact)
{
    const bool is_interval = peek(r, 0) == '{', is_up_to = begins(r, "{,");
    const bool is_plus = peek(r, 0) == '+';
    const char mark = peek(r, size);
    uint32_t least = 0;

    if (r->target != TARGET_ATOM)
        r->problem = r->target == TARGET_REPETITION ? repeated : "a repetition of nothing";
    if (is_interval && (mark == '+' || (mark == '?' && is_exact)))
        r->problem = repeated;
    if (is_interval && r->target == TARGET_ATOM && !r->is_solid)
        r->problem = "a counted repetition of what may be empty";
    if (is_interval)
        (void)read_digits(r, 1, 6, 10, &least);
    if (is_up_to) {
        attn_buffer_append_string(r->out, "{0");
        r->at++;
        size--;
    }
    copy(r, size + (mark == '?' || (mark == '+' && !is_interval)));
    r->is_solid = r->is_solid && (is_interval ? least > 0 : is_plus);
    set_target(r, TARGET_REPETITION, r->is_solid);
    r->last_letter = 0;
}

/* --- The whole pattern ------------------------------------------------------------------------ */

static void rewrite_next(struct rewriting *r)
{
    struct level *level = &r->levels[r->n_level];
    const char c = peek(r, 0);
    bool is_exact = false;
    const size_t n_interval = c == '{' ? interval_size(r, &is_exact) : 0;

    if (c == '\\') {
        rewrite_escape(r);
    } else if (c == '[') {
        rewrite_set(r);
    } else if (c == '(') {
        rewrite_group(r);
    } else if (c == ')') {
        close_group(r);
    } else if (c == '*' || c == '+' || c == '?') {
        rewrite_repetition(r, 1, false);
    } else if (n_interval > 0) {
        rewrite_repetition(r, n_interval, is_exact);
    } else if (c == '|' || c == '^' || c == '$') {
        copy(r, 1);
        set_target(r, c == '|' ? TARGET_NOTHING : TARGET_PLACE, false);
        if (c == '|') {
            level->may_be_empty |= !level->has_matter;
            level->has_matter = false;
        }
        r->last_letter = 0;
    } else {
        if (c == '{')
            attn_buffer_append_string(r->out, "\\");
        rewrite_character(r, false);
        r->last_letter = c == '.' ? 0 : r->last_letter;
    }
}

enum attn_property_form attn_property_form_find(void)
{
    char version[32] = "";

    if (pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, NULL) > (int)sizeof version ||
        pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version) <= 0)
        return ATTN_PROPERTY_CHARACTERS;
    return strcmp(version, ATTN_UNICODE_VERSION) == 0 ? ATTN_PROPERTY_NAME
           : strcmp(version, "14.0.0") == 0           ? ATTN_PROPERTY_NAME_AND_LATER
                                                      : ATTN_PROPERTY_CHARACTERS;
}

enum attn_status attn_regex_rewrite(const char *text, size_t size, const char *name,
                                    enum attn_property_form form, struct attn_buffer *out,
                                    struct attn_error *err)
{
    struct rewriting r = {.text = text, .size = size, .out = out, .form = form};

    if (size > MAX_BYTES)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "a pattern in '%s' has %zu bytes, at most %d are supported",
                              attn_quote_string(name).text, size, MAX_BYTES);
    while (r.at < size && !r.problem) {
        rewrite_next(&r);
        if (out->size > MAX_REWRITTEN)
            r.problem = "too many escapes";
    }
    if (r.n_level == 0)
        close_options(&r);
    if (!r.problem && r.has_name && r.has_reference)
        r.problem = "names of groups and references by number";
    if (r.problem)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the pattern '%s' in '%s' has %s, which is "
                              "not supported",
                              attn_quote(text, size).text, attn_quote_string(name).text, r.problem);
    return attn_buffer_check(out, err);
}
