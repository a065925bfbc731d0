/* test_template.c - templates of conversations: each construct, what is refused, and the limits.
 * The expected texts are those of jinja2 3.1 in the sandbox of transformers 5.23. */
#include "base/memory.h"
#include "template/template.h"
#include "tests/support/suite.h"

#include <string.h>

static const char messages[] =
    "[{\"role\": \"system\", \"content\": \"Be brief.\", \"name\": null},"
    " {\"role\": \"user\", \"content\": \" Hi, \\\"Zo\\u00eb\\\"\\n\"}]";
static const char variables[] =
    "{\"bos_token\": \"<s>\", \"l\": [3, 1, 2], \"d\": {\"b\": 1, \"a\": {\"x\": [true, null]}},"
    " \"s\": \"abc def\", \"n\": 3, \"f\": 1e-05}";

/* Renders SOURCE for a conversation of TALK; the text goes to OUT. */
static enum attn_status render(const char *source, const char *talk, struct attn_buffer *out,
                               struct attn_talk_span **spans, size_t *n, struct attn_error *err)
{
    const struct attn_talk given = {.messages = talk,
                                    .n_messages = strlen(talk),
                                    .variables = variables,
                                    .n_variables = strlen(variables),
                                    .now = 1768478400};
    struct attn_template *parsed = NULL;
    enum attn_status status = attn_template_parse(source, strlen(source), "t", &parsed, err);

    if (status == ATTN_OK)
        status = attn_template_render(parsed, &given, out, spans, n, err);
    attn_template_free(parsed);
    return status;
}

static void expect(const char *source, const char *text)
{
    struct attn_buffer out = {0};
    struct attn_error err = {0};

    ck_assert_msg(render(source, messages, &out, NULL, NULL, &err) == ATTN_OK, "%s: %s", source,
                  err.message);
    ck_assert_str_eq(attn_buffer_string(&out), text);
    attn_buffer_release(&out);
}

static void expect_failure(const char *source, const char *message)
{
    struct attn_buffer out = {0};
    struct attn_error err = {0};

    ck_assert_msg(render(source, messages, &out, NULL, NULL, &err) != ATTN_OK, "%s", source);
    ck_assert_str_eq(err.message, message);
    attn_buffer_release(&out);
}

START_TEST(writes_what_jinja2_writes)
{
    static const char *const cases[][2] = {
        {"{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m['content'] | trim }}\n"
         "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}\n",
         "<s><system>Be brief.\n<user>Hi, \"Zo\xc3\xab\"\n<assistant>"},
        {"a\n  {% if true %}\n b\n  {%- endif %}  c {# d #}\ne\n", "a\n b  c e"},
        {"  {%+ if n -%}  x  {%- endif +%}\ny", "  x\ny"},
        {"{% set ns = namespace(a=0) %}{% for i in l if i > 1 %}{% set ns.a = ns.a + i %}"
         "{{ loop.index }}{{ loop.last }} {% endfor %}{{ ns.a }}",
         "1False 2True 5"},
        {"{% for i in l %}{% set x = i %}{% if i == 1 %}{% continue %}{% endif %}{{ x }}"
         "{% endfor %}{{ x is defined }}{% for i in l %}{% break %}{% else %}e{% endfor %}",
         "32Falsee"},
        {"{% for k, v in d | dictsort %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}"
         "{% endfor %}",
         "a={'x': [True, None]};b=1;ba"},
        {"{% macro f(a, b=2) %}{{ a }}{{ b }}{{ s }}{% endmacro %}{{ f(1) }}-{{ f(b=3, a=0) }}",
         "12abc def-03abc def"},
        {"{% macro f() %}[{{ caller(1) }}]{% endmacro %}{% call(x) f() %}{{ x + n }}{% endcall %}",
         "[4]"},
        {"{% set x %}{{ n }}a{% endset %}{% filter upper %}{{ x }}{% endfilter %}"
         "{% with n = 9 %}{{ n }}{% endwith %}{{ n }}{% generation %}g{% endgeneration %}",
         "3A93g"},
        {"{{ s[1:3] }}{{ s[::-1] }}{{ l[-1] }}{{ l[:2] }}{{ s.split(' ')[-1] }}"
         "{{ 'xxaxx'.strip('x') }}{{ s.startswith('ab') }}{{ s.replace('b', '-') }}",
         "bcfed cba2[3, 1]defaTruea-c def"},
        {"{{ 7 // 2 }}{{ -7 % 3 }}{{ 1 / 4 }}{{ 2 ** 3 }}{{ 1 ~ none ~ f }}{{ 'a' * 3 }}"
         "{{ 1 < 2 < 3 }}{{ 4 not in l }}{{ 'x' if q else 'y' }}{{ not d }}{{ q or 5 }}",
         "320.258"
         "1None1e-05"
         "aaaTrueTrueyFalse5"},
        {"{{ d | tojson }}{{ d | tojson(indent=1) }}{{ 'Zo\xc3\xab' | tojson(ensure_ascii=true) }}"
         "{{ {'b': 1, 'a': '<'} | tojson(sort_keys=true, separators=(',', ':')) }}",
         "{\"b\": 1, \"a\": {\"x\": [true, null]}}{\n \"b\": 1,\n \"a\": {\n  \"x\": [\n   true,\n"
         "   null\n  ]\n }\n}\"Zo\\u00eb\"{\"a\":\"<\",\"b\":1}"},
        {"{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list }}"
         "{{ q | default('-') }}{{ l | sort | join(',') }}{{ 'a\nb' | indent(2, true) }}"
         "{{ ('%s' % n) | length }}{{ '{}{x}'.format(1, x=2) }}",
         "[' Hi, \"Zo\xc3\xab\"\\n']-1,2,3  a\n  b112"},
        {"{{ n is string }}{{ s is string }}{{ d is mapping }}{{ l is iterable }}{{ q is none }}"
         "{{ tools is none }}{{ n is odd }}{{ n is in [3] }}{{ true is boolean }}",
         "FalseTrueTrueTrueFalseTrueTrueTrueTrue"},
        {"{{ strftime_now('%d %b %Y, %-d %B') }}{{ messages[0].name is defined }}",
         "15 Jan 2026, 15 JanuaryFalse"},
        {"{% if z %}{{ s | from_json }}{% endif %}{{ 'it\\'s' }}{{ ['it\\'s'] }}{{ '\\u00e9' }}",
         "it's[\"it's\"]\xc3\xa9"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i][0], cases[i][1]);
}
END_TEST

START_TEST(writes_numbers_and_texts_as_python)
{
    static const char *const cases[][2] = {
        {"{{ 99999999999999999999 }}{{ -99999999999999999999 }}{{ [9223372036854775808] }}",
         "99999999999999999999-99999999999999999999[9223372036854775808]"},
        {"{{ -9223372036854775808 == -9223372036854775807 - 1 }}{{ {'a': 2e0, "
         "'b': 18446744073709551615} | tojson }}",
         "True{\"a\": 2.0, \"b\": 18446744073709551615}"},
        {"{% set x = 99999999999999999999 %}{{ x == x }}{{ x == 1 }}{{ x is integer }}"
         "{{ x is number }}{{ x is string }}{{ x | string | length }}{{ '%s' % x }}",
         "TrueFalseTrueTrueFalse2099999999999999999999"},
        {"{{ 1e-5 }} {{ 1.5e3 }} {{ 1E+5 }} {{ 1e22 }} {{ l[1e0 | int] }}",
         "1e-05 1500.0 100000.0 1e+22 1"},
        {"{{ 'abA' | unique | join }}{{ 'abA' | unique(case_sensitive=true) | join }}"
         "{{ ['b', 'B', 1, 1.0, true, none, 'b'] | unique | list }}"
         "{{ [{'a': 'x'}, {'a': 'X'}, {'a': 'y'}] | unique(attribute='a') | list }}",
         "ababA['b', 1, None][{'a': 'x'}, {'a': 'y'}]"},
        {"{{ 'a-b-c'.partition('-') }}{{ 'a-b-c'.rpartition('-') }}{{ 'ab'.partition('-') }}"
         "{{ 'ab'.rpartition('-') }}{{ ''.partition('-') }}{{ 'a--b'.rpartition('--')[2] }}",
         "('a', '-', 'b-c')('a-b', '-', 'c')('ab', '', '')('', '', 'ab')('', '', '')b"},
        {"{{ '12'.isdigit() }}{{ ''.isdigit() }}{{ '1a'.isdigit() }}{{ '\xc3\xa9'.isdigit() }}"
         "{{ '7'.isdecimal() }}",
         "TrueFalseFalseFalseTrue"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i][0], cases[i][1]);
    expect_failure("{{ 9223372036854775808 + 1 }}", "'t' line 1: an integer has more than 64 bits");
    expect_failure("{{ 1 < 9223372036854775808 }}", "'t' line 1: an integer has more than 64 bits");
    expect_failure("{{ 1e19 == 10000000000000000000 }}",
                   "'t' line 1: an integer has more than 64 bits");
    expect_failure("{{ '\xc2\xb2'.isdigit() }}",
                   "'t' line 1: digits outside of ASCII are not supported");
    expect_failure("{{ [[]] | unique | list }}", "'t' line 1: unhashable type: 'list'");
    expect_failure("{{ 'a'.partition('') }}", "'t' line 1: 'partition' needs a separator");
    expect_failure("{{ 1e }}", "'t' line 1: this form of a number is not supported");
    expect_failure("{{ 1e- }}", "'t' line 1: this form of a number is not supported");
}
END_TEST

START_TEST(refuses_by_name_and_line)
{
    expect_failure("\n{{ raise_exception('no \"tools\"') }}", "'t' line 2: no \"tools\"");
    expect_failure("a\n\n{% include 'x' %}",
                   "'t' line 3: the statement 'include' is not supported here");
    expect_failure("{{ s | urlize }}", "'t' line 1: the filter 'urlize' is not supported");
    expect_failure("{{ 'a\\vb' | indent }}",
                   "'t' line 1: lines that end with U+000B are not supported");
    expect_failure("{{ s is email }}", "'t' line 1: the test 'email' is not supported");
    expect_failure("{{ s.zfill(3) }}",
                   "'t' line 1: the method 'zfill' of strings is not supported");
    expect_failure("{{ functions }}{{ functions.x }}", "'t' line 1: 'functions' is undefined");
    expect_failure("{% for t in tools %}{% endfor %}",
                   "'t' line 1: 'NoneType' object is not iterable");
    expect_failure("{% set _ = l.append(1) %}",
                   "'t' line 1: access to attribute 'append' of 'list' object is unsafe.");
    expect_failure("{{ s.__class__ }}",
                   "'t' line 1: the attribute '__class__' of 'str' is not supported");
    expect_failure("{% if n %}", "'t' line 1: the template ends before 'endif else elif'");
    expect_failure("{{ 1 + 'a' }}",
                   "'t' line 1: unsupported operand type(s) for +: 'int' and 'str'");
}
END_TEST

/* A template cannot take more than its limits of steps, depth, memory and text. */
START_TEST(stops_hostile_templates)
{
    struct attn_buffer deep = {0};

    expect_failure("{% for i in range(10**9) %}{% endfor %}",
                   "'t' line 1: Range too big. The sandbox blocks ranges larger than MAX_RANGE "
                   "(100000).");
    expect_failure("{% set r = range(100000) %}{% for i in r %}{{ -1 in r }}{% endfor %}",
                   "'t' line 1: the template needs more than 10000000 steps");
    expect_failure("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}"
                   "{% endfor %}",
                   "'t' line 1: the template needs more than 256 MiB of memory");
    expect_failure("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
                   "'t' line 1: the template is nested more than 800 levels deep");
    expect_failure("{{ 'x' * 10 ** 9 }}",
                   "'t' line 1: the template needs more than 256 MiB of memory");
    expect_failure("{% set ns = namespace(x='x') %}{% for i in range(40) %}"
                   "{% set ns.x = ns.x + ns.x %}{% endfor %}",
                   "'t' line 1: the template needs more than 256 MiB of memory");
    expect_failure("{% set x = ('x' * 1000) * 10000 %}{{ x }}{{ x }}",
                   "'t' line 1: the template writes more than 16 MiB");
    expect_failure("{% set ns = namespace(x=[]) %}{% for i in range(9999) %}"
                   "{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
                   "'t' line 1: the template is nested more than 800 levels deep");
    attn_buffer_append_string(&deep, "{{ ");
    for (int i = 0; i < 5000; i++)
        attn_buffer_append_string(&deep, "not ");
    attn_buffer_append_string(&deep, "1 }}");
    expect_failure(attn_buffer_string(&deep),
                   "'t' line 1: the template is nested more than 800 levels deep");
    attn_buffer_release(&deep);
}
END_TEST

START_TEST(continues_the_last_message_and_finds_the_users_words)
{
    static const char source[] = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</s>"
                                 "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    static const char talk[] = "[{\"role\": \"user\", \"content\": \" user \"},"
                               " {\"role\": \"assistant\", \"content\": \"It is  \"}]";
    struct attn_talk_span *spans = NULL;
    struct attn_buffer out = {0};
    struct attn_error err = {0};
    size_t n = 0;

    ck_assert(render(source, talk, &out, &spans, &n, &err) == ATTN_OK);
    ck_assert_str_eq(attn_buffer_string(&out), "<user>user</s><assistant>It is");
    ck_assert(n == 2 && strcmp(spans[0].role, "user") == 0 &&
              strcmp(spans[1].role, "assistant") == 0);
    ck_assert(spans[0].begin == 6 && spans[0].end == 10);
    attn_free(spans);
    attn_buffer_release(&out);
    /* where the text depends on the length of a message, places are unknown */
    ck_assert(render("{{ messages[0].content | length }}", messages, &out, &spans, &n, &err) ==
              ATTN_OK);
    ck_assert(spans[0].end == 0 && spans[1].end == 0);
    attn_free(spans);
    attn_buffer_release(&out);
    ck_assert(render("{{ messages[0].role }}", talk, &out, NULL, NULL, &err) != ATTN_OK);
    ck_assert_str_eq(err.message, "'t' line 1: the template leaves out the last message, which is "
                                  "to be continued");
    attn_buffer_release(&out);
}
END_TEST

/* A value of `safe` escapes what is added to it, as MarkupSafe does; sets come after all others. */
START_TEST(takes_variables_and_tools)
{
    static const char source[] =
        "{{ (n | tojson | safe) + '<' + s }}{{ think }}{% for t in tools %}"
        "{{ t.name }}{% endfor %}{% set own = 1 %}";
    static const struct {
        const char *sets[2], *tools, *text, *message;
    } cases[] = {
        {{"think=[1, {\"b\": null}]", "n=4"},
         "[{\"name\": \"f\"}]",
         "4&lt;abc def[1, {'b': None}]f",
         NULL},
        {{"{\"think\": \"a\", \"s\": \"&\"}"}, "[]", "3&lt;&amp;a", NULL},
        {{"own=2"}, "[]", NULL, "the template of 'm' does not read 'own'"},
        {{"think=a"}, "[]", NULL, "`chat_set` 'think': 'a' is no JSON"},
        {{"{\"think\""}, "[]", NULL, "`chat_set` is '{\"think\"', expected NAME=JSON"},
        {{NULL}, "[[]]", NULL, "`tools` is no list of objects with 'function' or 'name'"},
    };
    struct attn_template *parsed;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_template_parse(source, sizeof source - 1, "t", &parsed, &err), ATTN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attn_talk given = {.messages = messages,
                                        .n_messages = strlen(messages),
                                        .variables = variables,
                                        .n_variables = strlen(variables),
                                        .tools = cases[i].tools,
                                        .n_tools = strlen(cases[i].tools),
                                        .sets = cases[i].sets,
                                        .n_set = cases[i].sets[1] ? 2 : cases[i].sets[0] != NULL,
                                        .owner = "m"};
        struct attn_buffer out = {0};
        const enum attn_status status =
            attn_template_render(parsed, &given, &out, NULL, NULL, &err);

        ck_assert_int_eq(status == ATTN_OK, cases[i].text != NULL);
        ck_assert_str_eq(cases[i].text ? attn_buffer_string(&out) : err.message,
                         cases[i].text ? cases[i].text : cases[i].message);
        attn_buffer_release(&out);
        err = (struct attn_error){0};
    }
    attn_template_free(parsed);
}
END_TEST

ATTN_SUITE("template", writes_what_jinja2_writes, writes_numbers_and_texts_as_python,
           refuses_by_name_and_line, stops_hostile_templates,
           continues_the_last_message_and_finds_the_users_words, takes_variables_and_tools)
