/* template_tokens.c - the tokens of a template, with trim_blocks and lstrip_blocks. */
#include "base/text/number.h"
#include "base/text/utf8.h"
#include "template/template_internal.h"
#include "tokenizer/unicode/unicode_internal.h"

#include <string.h>

enum { MAX_BRACKETS = 256 };

struct lexer {
    struct attn_machine *machine;
    const char *text;
    size_t size, at;
    struct attn_template_token *tokens;
    size_t n, capacity;
    char brackets[MAX_BRACKETS]; /* those that are open in a tag */
    int n_bracket;
    bool begins_line; /* the last tag ended with a new line */
};

static void add(struct lexer *lexer, enum attn_token_kind kind, int op, struct attn_value value)
{
    struct attn_template_token *tokens;

    if (lexer->n == lexer->capacity) {
        lexer->capacity = 2 * lexer->capacity + 64;
        tokens = attn_machine_take(lexer->machine, lexer->capacity, sizeof *tokens);
        if (!tokens)
            return;
        if (lexer->n > 0)
            memcpy(tokens, lexer->tokens, lexer->n * sizeof *tokens);
        lexer->tokens = tokens;
    }
    if (attn_machine_is_alive(lexer->machine))
        lexer->tokens[lexer->n++] = (struct attn_template_token){
            .kind = kind, .line = lexer->machine->line, .op = op, .value = value};
}

static bool is_next(const struct lexer *lexer, const char *text)
{
    const size_t n = strlen(text);

    return n <= lexer->size - lexer->at && memcmp(lexer->text + lexer->at, text, n) == 0;
}

/* Moves on by N bytes and counts lines. */
static void skip(struct lexer *lexer, size_t n)
{
    for (; n > 0; n--)
        lexer->machine->line += lexer->text[lexer->at++] == '\n';
}

/* Returns the length of the white space at AT, at most up to END. */
static size_t blank_length(const struct lexer *lexer, size_t at, size_t end)
{
    const size_t begin = at;
    uint32_t code_point;

    while (at < end) {
        const size_t n = attn_utf8_decode(lexer->text + at, end - at, &code_point);

        if (n == 0 || !attn_character_is(code_point, ATTN_CLASS_SEPARATOR))
            break;
        at += n;
    }
    return at - begin;
}

/* Skips the end of a tag, END, with its sign, and the white space or new line that goes with it.
 * False: it is not there. */
static bool skip_end(struct lexer *lexer, const char *end, bool trims)
{
    const char sign = (char)(lexer->at < lexer->size ? lexer->text[lexer->at] : '\0');
    const bool has_sign = sign == '-' || (sign == '+' && trims);
    const size_t begin = lexer->at;

    lexer->at += has_sign;
    if (!is_next(lexer, end)) {
        lexer->at = begin;
        return false;
    }
    lexer->at += strlen(end);
    if (sign == '-')
        skip(lexer, blank_length(lexer, lexer->at, lexer->size));
    else if (trims && !has_sign && is_next(lexer, "\n"))
        skip(lexer, 1);
    lexer->begins_line = lexer->text[lexer->at - 1] == '\n';
    return true;
}

/* --- Inside of tags --------------------------------------------------------------------------- */

static bool append_code_point(struct attn_buffer *text, const char *digits, size_t n)
{
    uint32_t code_point = 0;
    char bytes[4];

    for (size_t i = 0; i < n; i++) {
        const char c = digits[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;

        if (digit < 0 || code_point > 0x10ffff)
            return false;
        code_point = code_point << 4 | (uint32_t)digit;
    }
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000))
        return false;
    attn_buffer_append(text, bytes, attn_utf8_encode(code_point, bytes));
    return true;
}

/* Appends what the escape at the backslash AT of TEXT [end] stands for. Returns its length, 0: not
 * supported. */
static size_t append_escape(struct attn_buffer *out, const char *text, size_t at, size_t end)
{
    static const char names[] = "n\nt\tr\r\\\\'\'\"\"a\ab\bf\fv\v";
    const char c = (char)(at + 1 < end ? text[at + 1] : '\0');
    const size_t width = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;

    if (width > 0)
        return width + 2 <= end - at && append_code_point(out, text + at + 2, width) ? width + 2
                                                                                     : 0;
    for (size_t i = 0; names[i]; i += 2)
        if (names[i] == c) {
            attn_buffer_append_char(out, names[i + 1]);
            return 2;
        }
    if (c == '\n')
        return 2;
    if (c == '\0' || c == 'N' || (c & 0x80) || (c >= '0' && c <= '7'))
        return 0;
    attn_buffer_append(out, text + at, 2);
    return 2;
}

static void read_string(struct lexer *lexer)
{
    struct attn_machine *machine = lexer->machine;
    const char quote = lexer->text[lexer->at];
    struct attn_buffer text = {0};
    size_t end = lexer->at + 1, n;

    while (end < lexer->size && lexer->text[end] != quote)
        end += lexer->text[end] == '\\' ? 2 : 1;
    if (end >= lexer->size) {
        attn_machine_fail(machine, "a string does not end");
        return;
    }
    for (size_t i = lexer->at + 1; i < end && attn_machine_is_alive(machine); i += n) {
        n = 1;
        if (lexer->text[i] != '\\')
            attn_buffer_append_char(&text, lexer->text[i]);
        else if ((n = append_escape(&text, lexer->text, i, end)) == 0)
            attn_machine_fail(machine, "an escape of a string is not supported");
    }
    add(lexer, ATTN_TOKEN_CONSTANT, 0, attn_value_of_buffer(machine, &text));
    skip(lexer, end + 1 - lexer->at);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static void read_number(struct lexer *lexer)
{
    const char *text = lexer->text + lexer->at;
    const size_t room = lexer->size - lexer->at;
    const bool follows_dot = lexer->n > 0 && lexer->tokens[lexer->n - 1].op == '.';
    struct attn_value value = attn_value_int(0);
    size_t n = 0, end;
    bool is_whole = true;

    while (n < room && is_digit(text[n]))
        n++;
    if (!follows_dot && n + 1 < room && text[n] == '.' && is_digit(text[n + 1])) {
        is_whole = false;
        for (n++; n < room && is_digit(text[n]);)
            n++;
    }
    if (!follows_dot && n + 1 < room && (text[n] == 'e' || text[n] == 'E')) {
        const size_t sign = text[n + 1] == '-' || text[n + 1] == '+';

        is_whole = is_whole && !(n + 1 + sign < room && is_digit(text[n + 1 + sign]));
        for (end = n + 1 + sign; end < room && is_digit(text[end]);)
            n = ++end;
    }
    if (n < room && (is_name(text[n]) || (text[n] & 0x80))) {
        attn_machine_fail(lexer->machine, "this form of a number is not supported");
        return;
    }
    if (is_whole)
        value = attn_value_whole(lexer->machine, text, n);
    else
        value.kind = ATTN_IS_FLOAT;
    if (is_whole ? n > 1 && *text == '0' : !attn_parse_double(text, n, &value.real))
        attn_machine_fail(lexer->machine, "this form of a number is not supported");
    add(lexer, ATTN_TOKEN_CONSTANT, 0, value);
    lexer->at += n;
}

/* Opens or closes a bracket. */
static void count_bracket(struct lexer *lexer, char c)
{
    static const char pairs[] = "()[]{}";
    const char *found = strchr(pairs, c);

    if (!found)
        return;
    if ((found - pairs) % 2 == 0) {
        if (lexer->n_bracket < MAX_BRACKETS)
            lexer->brackets[lexer->n_bracket++] = found[1];
        else
            attn_machine_fail(lexer->machine, "more than %d brackets are open", MAX_BRACKETS);
    } else if (lexer->n_bracket == 0 || lexer->brackets[--lexer->n_bracket] != c) {
        attn_machine_fail(lexer->machine, "unexpected '%c'", c);
    }
}

static void read_operator(struct lexer *lexer)
{
    static const char *const pairs[] = {"//", "**", "==", "!=", ">=", "<="};
    const char c = lexer->text[lexer->at];

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (is_next(lexer, pairs[i])) {
            add(lexer, ATTN_TOKEN_OPERATOR, pairs[i][0] << 8 | pairs[i][1], (struct attn_value){0});
            lexer->at += 2;
            return;
        }
    if (!c || !strchr("+-/*%~[](){}><=.:|,;", c)) {
        attn_machine_fail(lexer->machine, "unexpected character in a tag");
        return;
    }
    count_bracket(lexer, c);
    add(lexer, ATTN_TOKEN_OPERATOR, c, (struct attn_value){0});
    lexer->at++;
}

/* Reads up to the end of the tag. */
static void read_tag(struct lexer *lexer, bool is_block)
{
    size_t n;

    while (attn_machine_is_alive(lexer->machine)) {
        if (lexer->n_bracket == 0 && skip_end(lexer, is_block ? "%}" : "}}", is_block)) {
            add(lexer, is_block ? ATTN_TOKEN_BLOCK_END : ATTN_TOKEN_PRINT_END, 0,
                (struct attn_value){0});
            return;
        }
        if (lexer->at >= lexer->size) {
            attn_machine_fail(lexer->machine, "a tag does not end");
            return;
        }
        n = blank_length(lexer, lexer->at, lexer->size);
        if (n > 0) {
            skip(lexer, n);
        } else if (is_digit(lexer->text[lexer->at])) {
            read_number(lexer);
        } else if (is_name(lexer->text[lexer->at])) {
            while (lexer->at + n < lexer->size && is_name(lexer->text[lexer->at + n]))
                n++;
            add(lexer, ATTN_TOKEN_NAME, 0, attn_value_string(lexer->text + lexer->at, n));
            lexer->at += n;
            if (lexer->at < lexer->size && (lexer->text[lexer->at] & 0x80))
                attn_machine_fail(lexer->machine, "a name with a letter outside of ASCII");
        } else if (strchr("'\"", lexer->text[lexer->at]) && lexer->text[lexer->at]) {
            read_string(lexer);
        } else {
            read_operator(lexer);
        }
    }
}

/* --- Outside of tags -------------------------------------------------------------------------- */

static void skip_comment(struct lexer *lexer)
{
    while (attn_machine_is_alive(lexer->machine)) {
        if (skip_end(lexer, "#}", true))
            return;
        if (lexer->at >= lexer->size)
            attn_machine_fail(lexer->machine, "a comment does not end");
        else
            skip(lexer, 1);
    }
}

/* Adds the text from BEGIN to END, which a tag with SIGN follows. */
static void add_data(struct lexer *lexer, size_t begin, size_t end, char sign, bool is_print)
{
    size_t line = end;

    if (sign == '-') {
        end = begin + attn_value_strip(lexer->machine,
                                       attn_value_string(lexer->text + begin, end - begin),
                                       attn_value_none(), ATTN_STRIP_RIGHT)
                          .size;
    } else if (sign != '+' && !is_print) {
        while (line > begin && lexer->text[line - 1] != '\n')
            line--;
        if ((line > begin || lexer->begins_line) && blank_length(lexer, line, end) == end - line)
            end = line;
    }
    if (end > begin)
        add(lexer, ATTN_TOKEN_DATA, 0, attn_value_string(lexer->text + begin, end - begin));
}

/* Whether the block at AT is `raw`. */
static bool is_raw(const struct lexer *lexer)
{
    size_t at = lexer->at + blank_length(lexer, lexer->at, lexer->size);

    return lexer->size - at >= 3 && memcmp(lexer->text + at, "raw", 3) == 0 &&
           (lexer->size - at == 3 || !is_name(lexer->text[at + 3]));
}

static void read_source(struct lexer *lexer)
{
    while (lexer->at < lexer->size && attn_machine_is_alive(lexer->machine)) {
        const size_t begin = lexer->at;
        char kind = '\0', sign = '\0';

        for (; lexer->at < lexer->size; skip(lexer, 1))
            if (is_next(lexer, "{{") || is_next(lexer, "{%") || is_next(lexer, "{#"))
                break;
        if (lexer->at < lexer->size) {
            kind = lexer->text[lexer->at + 1];
            sign = (char)(lexer->at + 2 < lexer->size ? lexer->text[lexer->at + 2] : '\0');
        }
        add_data(lexer, begin, lexer->at, kind ? sign : '+', kind == '{');
        if (!kind)
            return;
        lexer->at += 2 + (sign == '-' || sign == '+');
        if (kind == '#') {
            skip_comment(lexer);
            continue;
        }
        if (kind == '%' && is_raw(lexer)) {
            attn_machine_fail(lexer->machine, "the statement 'raw' is not supported");
            return;
        }
        add(lexer, kind == '{' ? ATTN_TOKEN_PRINT : ATTN_TOKEN_BLOCK, 0, (struct attn_value){0});
        read_tag(lexer, kind == '%');
    }
}

/* Copies SOURCE to the pool with line ends \n, without the last one. */
static struct attn_value normalize(struct attn_machine *machine, const char *source, size_t size)
{
    char *text = attn_machine_take(machine, size, 1);
    size_t n = 0;

    for (size_t i = 0; text && i < size; i++) {
        if (source[i] == '\n' && i > 0 && source[i - 1] == '\r')
            continue;
        text[n++] = (char)(source[i] == '\r' ? '\n' : source[i]);
    }
    if (text && n > 0 && text[n - 1] == '\n')
        n--;
    return attn_value_string(text, text ? n : 0);
}

struct attn_template_token *attn_template_read_tokens(struct attn_machine *machine,
                                                      const char *source, size_t size)
{
    struct attn_value text;
    struct lexer lexer = {.machine = machine, .begins_line = true};

    machine->line = 1;
    if (size > ATTN_TEMPLATE_MAX_SOURCE)
        attn_machine_fail(machine, "the template has more than %d bytes", ATTN_TEMPLATE_MAX_SOURCE);
    else if (attn_utf8_valid_length(source, size) < size)
        attn_machine_fail(machine, "the template is not UTF-8");
    text = normalize(machine, source, size);
    lexer.text = text.text;
    lexer.size = text.size;
    read_source(&lexer);
    add(&lexer, ATTN_TOKEN_END, 0, (struct attn_value){0});
    return attn_machine_is_alive(machine) ? lexer.tokens : NULL;
}
