/* template.c - a template as a value: parsed once, rendered any number of times. */
#include "template/template.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "template/template_internal.h"

#include <string.h>

struct attn_template {
    struct attn_machine pool; /* owns the tree */
    struct attn_template_node *tree;
    char *name; /* owns */
};

enum attn_status attn_template_parse(const char *source, size_t size, const char *name,
                                     struct attn_template **parsed, struct attn_error *err)
{
    struct attn_template *made;
    const struct attn_template_token *tokens;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->name = attn_strndup(name, strlen(name), err);
    made->pool = (struct attn_machine){.name = made->name, .err = err};
    made->pool.status = made->name ? ATTN_OK : ATTN_NO_MEMORY;
    tokens = attn_template_read_tokens(&made->pool, source, size);
    if (tokens)
        made->tree = attn_template_read_tree(&made->pool, tokens);
    status = made->pool.status;
    made->pool.err = NULL;
    ATTN_RETURN_MADE(status, parsed, made, attn_template_free);
}

void attn_template_free(struct attn_template *parsed)
{
    if (!parsed)
        return;
    attn_machine_release(&parsed->pool);
    attn_free(parsed->name);
    attn_free(parsed);
}

/* Whether a variable NAME is read in the LIST of nodes, or below: not only assigned to. */
static bool reads(const struct attn_template_node *list, const char *name, size_t size)
{
    for (const struct attn_template_node *node = list; node; node = node->next) {
        const bool assigns = node->kind == ATTN_NODE_SET || node->kind == ATTN_NODE_FOR;

        if ((node->kind == ATTN_NODE_NAME && node->value.size == size &&
             memcmp(node->value.text, name, size) == 0) ||
            (!assigns && reads(node->left, name, size)) || reads(node->right, name, size) ||
            reads(node->third, name, size) || reads(node->list, name, size) ||
            reads(node->body, name, size) || reads(node->other, name, size))
            return true;
    }
    return false;
}

bool attn_template_reads(const struct attn_template *parsed, const char *name, size_t size)
{
    return reads(parsed->tree, name, size);
}

/* --- Conversations ---------------------------------------------------------------------------- */

/* As transformers marks the end of a message that is continued. */
static const char tag[] = "CONTINUE_FINAL_MESSAGE_TAG ";

/* Marks around the content of message I: two characters of a plane for private use. */
enum { FIRST_MARK = 0xf0000, MAX_MARKED = 1000 };

/* What is rendered. */
struct talk {
    struct attn_machine machine;
    struct attn_value messages; /* a list of dictionaries */
    bool is_continued, has_marks;
    const char *owner; /* of the template */
};

static struct attn_value get(struct talk *talk, struct attn_value dict, const char *key)
{
    const struct attn_value *found =
        dict.kind == ATTN_IS_DICT
            ? attn_value_dict_find(&talk->machine, dict.dict, attn_value_word(key))
            : NULL;

    return found ? *found : (struct attn_value){0};
}

/* Returns CONTENT of message I with its marks, and with the tag if IS_LAST. */
static struct attn_value mark_text(struct talk *talk, struct attn_value content, size_t i,
                                   bool is_last)
{
    struct attn_machine *machine = &talk->machine;
    const struct attn_value inner =
        attn_value_strip(machine, content, attn_value_none(), ATTN_STRIP_LEFT | ATTN_STRIP_RIGHT);
    struct attn_buffer text = {0};
    char mark[4];

    if (talk->has_marks && inner.size > 0 && i < MAX_MARKED) {
        const size_t before = (size_t)(inner.text - content.text);

        attn_buffer_append(&text, content.text, before);
        attn_buffer_append(&text, mark, attn_utf8_encode(FIRST_MARK + 2 * (uint32_t)i, mark));
        attn_buffer_append(&text, inner.text, inner.size);
        attn_buffer_append(&text, mark, attn_utf8_encode(FIRST_MARK + 2 * (uint32_t)i + 1, mark));
        attn_buffer_append(&text, inner.text + inner.size, content.size - before - inner.size);
    } else {
        attn_buffer_append(&text, content.text, content.size);
    }
    if (is_last)
        attn_buffer_append_string(&text, tag);
    return attn_value_of_buffer(machine, &text);
}

/* As mark_text, for a list of parts: each text, and the tag after the last of them. */
static struct attn_value mark_content(struct talk *talk, struct attn_value content, size_t i,
                                      bool is_last)
{
    struct attn_machine *machine = &talk->machine;
    size_t last = SIZE_MAX;

    if (content.kind == ATTN_IS_STRING)
        return mark_text(talk, content, i, is_last);
    for (size_t k = 0; content.kind == ATTN_IS_LIST && k < content.list->n; k++)
        if (get(talk, content.list->items[k], "text").kind == ATTN_IS_STRING) {
            if (talk->has_marks)
                attn_value_dict_set(
                    machine, content.list->items[k].dict, attn_value_word("text"),
                    mark_text(talk, get(talk, content.list->items[k], "text"), i, false));
            last = k;
        }
    if (is_last && last != SIZE_MAX)
        attn_value_dict_set(machine, content.list->items[last].dict, attn_value_word("text"),
                            attn_value_operate(machine, '+',
                                               get(talk, content.list->items[last], "text"),
                                               attn_value_word(tag)));
    else if (is_last)
        attn_machine_fail(machine, "the last message has no text to continue");
    return content;
}

/* Returns MESSAGE as transformers hands it over: without what is null, except a content of None,
 * and with all names of what the assistant thought. */
static struct attn_value clean_message(struct talk *talk, struct attn_value message)
{
    static const char *const names[] = {"reasoning_content", "thinking", "reasoning"};
    struct attn_machine *machine = &talk->machine;
    struct attn_value reason = {0};
    struct attn_value clean = {.kind = ATTN_IS_DICT,
                               .dict = attn_machine_take(machine, 1, sizeof *clean.dict)};

    for (size_t i = 0; i < 3 && reason.kind == ATTN_IS_UNDEFINED; i++) {
        reason = get(talk, message, names[i]);
        if (reason.kind == ATTN_IS_NONE)
            reason = (struct attn_value){0};
    }
    if (reason.kind != ATTN_IS_UNDEFINED)
        attn_value_dict_set(machine, clean.dict, attn_value_word(names[1]), reason);
    for (size_t i = 0; attn_machine_is_alive(machine) && i < message.dict->n; i++)
        if (message.dict->values[i].kind != ATTN_IS_NONE ||
            attn_value_is(message.dict->keys[i], "content"))
            attn_value_dict_set(machine, clean.dict, message.dict->keys[i],
                                message.dict->values[i]);
    if (reason.kind != ATTN_IS_UNDEFINED)
        attn_value_dict_set(machine, clean.dict, attn_value_word(names[0]), reason);
    return clean;
}

static void read_messages(struct talk *talk, const struct attn_talk *given)
{
    struct attn_machine *machine = &talk->machine;

    talk->messages = attn_value_parse(machine, given->messages, given->n_messages, "messages");
    if (attn_machine_is_alive(machine) &&
        (talk->messages.kind != ATTN_IS_LIST || talk->messages.list->n == 0))
        machine->status = attn_error_set(machine->err, ATTN_INVALID,
                                         "the messages are no list of objects, expected "
                                         "[{\"role\": \"user\", \"content\": \"...\"}]");
    for (size_t i = 0; attn_machine_is_alive(machine) && i < talk->messages.list->n; i++) {
        struct attn_value *message = &talk->messages.list->items[i];
        const bool is_last = i + 1 == talk->messages.list->n;
        struct attn_value content;

        if (get(talk, *message, "role").kind != ATTN_IS_STRING) {
            machine->status = attn_error_set(machine->err, ATTN_INVALID,
                                             "message %zu has no 'role', expected an object with "
                                             "'role' and 'content'",
                                             i);
            return;
        }
        *message = clean_message(talk, *message);
        content = get(talk, *message, "content");
        talk->is_continued = is_last && attn_value_is(get(talk, *message, "role"), "assistant");
        if (content.kind != ATTN_IS_UNDEFINED || talk->is_continued)
            attn_value_dict_set(machine, message->dict, attn_value_word("content"),
                                mark_content(talk, content, i, talk->is_continued));
    }
}

/* Cuts TEXT at the tag, as transformers does. */
static void cut_at_tag(struct talk *talk, struct attn_buffer *text)
{
    const size_t size = strlen(tag) - 1;
    size_t at = text->size;
    bool is_whole;

    for (; at >= size; at--)
        if (memcmp(text->data + at - size, tag, size) == 0)
            break;
    if (at < size) {
        attn_machine_fail(&talk->machine, "the template leaves out the last message, which is to "
                                          "be continued");
        return;
    }
    is_whole = at < text->size && text->data[at] == ' ';
    text->size = at - size;
    if (!is_whole)
        text->size = attn_value_strip(&talk->machine, attn_value_string(text->data, text->size),
                                      attn_value_none(), ATTN_STRIP_RIGHT)
                         .size;
}

/* Fails about the variable NAME [size]. */
static void refuse(struct talk *talk, struct attn_value name, const char *what)
{
    struct attn_machine *machine = &talk->machine;

    if (attn_machine_is_alive(machine))
        machine->status = attn_error_set(machine->err, ATTN_INVALID, "`chat_set` '%s' %s",
                                         attn_quote(name.text, name.size).text, what);
}

/* Sets the variable NAME of DICT to VALUE, which PARSED must read. */
static void set_variable(struct talk *talk, const struct attn_template *parsed,
                         struct attn_value_dict *dict, struct attn_value name,
                         struct attn_value value)
{
    struct attn_machine *machine = &talk->machine;

    if (!attn_machine_is_alive(machine))
        return;
    if (attn_value_is(name, "messages") || attn_value_is(name, "tools"))
        refuse(talk, name, "has an option of its own");
    else if (!attn_template_reads(parsed, name.text, name.size))
        machine->status = attn_error_set(
            machine->err, ATTN_INVALID, "the template of '%s' does not read '%s'",
            attn_quote_string(talk->owner).text, attn_quote(name.text, name.size).text);
    else
        attn_value_dict_set(machine, dict, name, value);
}

/* Sets the variables of SET, "NAME=JSON" or an object, in DICT. */
static void read_set(struct talk *talk, const struct attn_template *parsed, const char *set,
                     struct attn_value_dict *dict)
{
    struct attn_machine *machine = &talk->machine;
    struct attn_error *err = machine->err, why_not = {0};
    const char *equals = strchr(set, '='), *json = *set == '{' || !equals ? set : equals + 1;
    struct attn_value name = attn_value_string(set, (size_t)(json - set)), value;

    name.size -= json > set;
    machine->err = &why_not;
    value = attn_value_parse(machine, json, strlen(json), "chat_set");
    machine->err = err;
    if (machine->status == ATTN_UNSUPPORTED) {
        attn_error_copy(err, &why_not);
    } else if (json == set) {
        if (*set != '{' || !attn_machine_is_alive(machine)) {
            machine->status =
                attn_error_set(err, ATTN_INVALID, "`chat_set` is '%s', expected NAME=JSON",
                               attn_quote_string(set).text);
            return;
        }
        for (size_t i = 0; i < value.dict->n; i++)
            set_variable(talk, parsed, dict, value.dict->keys[i], value.dict->values[i]);
    } else if (!attn_machine_is_alive(machine)) {
        machine->status =
            attn_error_set(err, ATTN_INVALID, "`chat_set` '%s': '%s' is no JSON",
                           attn_quote(name.text, name.size).text, attn_quote_string(json).text);
        attn_error_hint(err, "write %s",
                        strcmp(json, "False") == 0  ? "false"
                        : strcmp(json, "True") == 0 ? "true"
                        : strcmp(json, "None") == 0 ? "null"
                                                    : "texts in double quotes: NAME='\"text\"'");
    } else {
        set_variable(talk, parsed, dict, name, value);
    }
}

/* Returns the list of functions of GIVEN; None if there are none. */
static struct attn_value read_tools(struct talk *talk, const struct attn_talk *given)
{
    struct attn_machine *machine = &talk->machine;
    struct attn_value tools = attn_value_none();
    bool is_good = true;

    if (!given->tools)
        return tools;
    tools = attn_value_parse(machine, given->tools, given->n_tools, "tools");
    if (!attn_machine_is_alive(machine))
        return tools;
    is_good = tools.kind == ATTN_IS_LIST;
    for (size_t i = 0; is_good && i < tools.list->n; i++)
        is_good = get(talk, tools.list->items[i], "function").kind != ATTN_IS_UNDEFINED ||
                  get(talk, tools.list->items[i], "name").kind != ATTN_IS_UNDEFINED;
    if (!is_good)
        machine->status = attn_error_set(machine->err, ATTN_INVALID,
                                         "`tools` is no list of objects with 'function' or 'name'");
    return tools;
}

/* Appends the text of GIVEN to TEXT, with marks if HAS_MARKS. Releases all but what TALK needs. */
static enum attn_status render(const struct attn_template *parsed, const struct attn_talk *given,
                               struct talk *talk, struct attn_buffer *text)
{
    struct attn_machine *machine = &talk->machine;
    struct attn_value variables;

    variables = attn_value_parse(machine, given->variables, given->n_variables, "variables");
    if (attn_machine_is_alive(machine))
        read_messages(talk, given);
    if (attn_machine_is_alive(machine)) {
        attn_value_dict_set(machine, variables.dict, attn_value_word("messages"), talk->messages);
        attn_value_dict_set(machine, variables.dict, attn_value_word("tools"),
                            read_tools(talk, given));
        attn_value_dict_set(machine, variables.dict, attn_value_word("documents"),
                            attn_value_none());
        attn_value_dict_set(machine, variables.dict, attn_value_word("add_generation_prompt"),
                            attn_value_bool(!talk->is_continued));
        for (size_t i = 0; attn_machine_is_alive(machine) && i < given->n_set; i++)
            read_set(talk, parsed, given->sets[i], variables.dict);
    }
    if (attn_machine_is_alive(machine)) {
        attn_machine_render(machine, parsed->tree, variables, text);
    }
    if (attn_machine_is_alive(machine))
        machine->status = attn_buffer_check(text, machine->err);
    if (attn_machine_is_alive(machine) && talk->is_continued)
        cut_at_tag(talk, text);
    return machine->status;
}

/* Finds the marks in MARKED, the text with them. False: without them it is not TEXT, so that
 * nothing is known about its parts. */
static bool find_spans(const struct attn_buffer *marked, const char *text, size_t size,
                       struct attn_talk_span *spans, size_t n)
{
    size_t at = 0;

    for (size_t i = 0, length; i < marked->size; i += length) {
        uint32_t c;

        length = attn_utf8_decode(marked->data + i, marked->size - i, &c);
        length = length > 0 ? length : 1;
        if (c >= FIRST_MARK && c < FIRST_MARK + 2 * MAX_MARKED && (c - FIRST_MARK) / 2 < n) {
            struct attn_talk_span *span = &spans[(c - FIRST_MARK) / 2];

            if (c % 2 == 0 && span->end == 0)
                span->begin = at;
            if (c % 2 == 1)
                span->end = at;
            continue;
        }
        if (length > size - at || memcmp(text + at, marked->data + i, length) != 0)
            return false;
        at += length;
    }
    return at == size;
}

/* Copies the role VALUE of a message to ROLE, which is zeroed. */
static void copy_role(struct attn_value value, char role[ATTN_ROLE_SIZE])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

    if (value.kind != ATTN_IS_STRING || value.size >= ATTN_ROLE_SIZE)
        return;
    memcpy(role, value.text, value.size);
    if (strspn(role, letters) < value.size)
        *role = '\0';
}

enum attn_status attn_template_render(const struct attn_template *parsed,
                                      const struct attn_talk *given, struct attn_buffer *text,
                                      struct attn_talk_span **spans, size_t *n,
                                      struct attn_error *err)
{
    const struct attn_machine machine = {.name = parsed->name, .now = given->now};
    struct talk talk = {.machine = machine, .owner = given->owner}, again = talk;
    struct attn_buffer marked = {0};
    struct attn_talk_span *found = NULL;
    const size_t begin = text->size;
    enum attn_status status;

    again.has_marks = true;
    talk.machine.err = err;
    status = render(parsed, given, &talk, text);
    if (status == ATTN_OK && spans)
        status = ATTN_ALLOC(found, talk.messages.list->n, err);
    if (status == ATTN_OK && spans) {
        *n = talk.messages.list->n;
        if (render(parsed, given, &again, &marked) != ATTN_OK ||
            !find_spans(&marked, text->data + begin, text->size - begin, found, *n))
            memset(found, 0, *n * sizeof *found);
        for (size_t i = 0; i < *n; i++)
            copy_role(get(&talk, talk.messages.list->items[i], "role"), found[i].role);
        *spans = found;
    }
    attn_buffer_release(&marked);
    attn_machine_release(&talk.machine);
    attn_machine_release(&again.machine);
    return status;
}
