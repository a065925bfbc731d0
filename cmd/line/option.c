/* option.c - see option.h. */
#include "cmd/line/field_names.h"
#include "cmd/line/options_internal.h"
#include "cmd/line/topics.h"

#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct option help_rows[] = {
    OPTION_AT(HELP, "help", NULL, 0,
              "print this help; -h prints only examples and the names of the options",
              .letter = 'h'),
};

static const struct option_group help_options = OPTION_GROUP("Other", help_rows);

/* The name of the option that sets PARAM: "merge-words". Kept. */
static const char *name_of_param(const struct attn_param *param)
{
    enum { MOST = 64, SIZE = 32 };
    static struct {
        const char *name;
        char dashed[SIZE];
    } known[MOST];
    size_t i = 0;

    if (param->option || !strchr(param->name, '_'))
        return param->option ? param->option : param->name;
    while (i < MOST && known[i].name && strcmp(known[i].name, param->name) != 0)
        i++;
    assert(i < MOST && strlen(param->name) < SIZE);
    if (!known[i].name) {
        snprintf(known[i].dashed, SIZE, "%s", param->name);
        for (char *at = known[i].dashed; (at = strchr(at, '_'));)
            *at = '-';
        known[i].name = param->name;
    }
    return known[i].dashed;
}

static enum option_kind kind_of_param(const struct attn_param *param)
{
    switch (param->type) {
    case ATTN_PARAM_FLAG:
        return OPTION_KIND_FLAG;
    case ATTN_PARAM_CHOICE:
    case ATTN_PARAM_SWITCH:
        return OPTION_KIND_CHOICE;
    case ATTN_PARAM_SETTINGS:
        return OPTION_KIND_SETTINGS;
    case ATTN_PARAM_TEXTS:
    case ATTN_PARAM_NAMED:
    case ATTN_PARAM_PLACES:
    case ATTN_PARAM_ID_LISTS:
        return OPTION_KIND_LIST;
    default:
        return OPTION_KIND_TEXT;
    }
}

/* Copies row I of LIST; returns whether there is one. */
static bool find_param(const struct attn_param_list *list, size_t i, struct option *row)
{
    const struct attn_param *param = list->items;

    for (; param < list->items + list->n; param++) {
        if ((param->traits & ATTN_PARAM_NO_OPTION) || i-- > 0)
            continue;
        *row = (struct option){.name = name_of_param(param),
                               .letter = param->letter,
                               .argument = param->argument,
                               .help = param->help,
                               .of = param->of,
                               .environment = param->variable,
                               .media = param->media,
                               .kind = kind_of_param(param),
                               .param = param};
        if (row->kind == OPTION_KIND_CHOICE)
            row->argument = param->words;
        if (param->traits & ATTN_PARAM_SHAPES_TENSORS)
            row->traits |= OPTION_SHAPES_TENSORS;
        if (param->traits & ATTN_PARAM_SHAPES_GRADIENTS)
            row->traits |= OPTION_SHAPES_GRADIENTS;
        if (param->traits & ATTN_PARAM_NOT_COMPARED)
            row->traits |= OPTION_NOT_COMPARED;
        return true;
    }
    return false;
}

/* Copies row I of GROUP; returns whether there is one. */
static bool find_row(const struct option_group *group, size_t i, struct option *row)
{
    if (group->params)
        return find_param(group->params, i, row);
    if (group->make_row)
        return group->make_row(i, row);
    if (i < group->n)
        *row = group->rows[i];
    return i < group->n;
}

/* The number of smaller groups of GROUP in COMMAND, or 1. */
static size_t count_subs(const struct command *command, const struct option_group *group)
{
    const size_t n = group->is_of_question ? command->question->n_part : group->n_part;

    return n > 0 ? n : 1;
}

/* The smaller group I of PART of COMMAND, or its own group if it has none. *offset is that of its
 * struct. */
static struct option_group find_sub(const struct command *command, const struct option_part *part,
                                    size_t i, size_t *offset)
{
    const struct option_group *group = part->group;

    *offset = part->offset;
    if (group->is_of_question) {
        const struct attn_param_part *params = &command->question->parts[i];

        *offset = command->args_size + params->offset;
        return params->list->is_input == group->is_input
                   ? (struct option_group){.params = params->list}
                   : (struct option_group){.n = 0};
    }
    if (group->n_part > 0) {
        *offset += group->parts[i].offset;
        group = group->parts[i].group;
    }
    *offset += group->offset;
    return *group;
}

bool option_next(struct option_walk *walk)
{
    static const struct option_part last = {&help_options, 0};
    const struct command *command = walk->command;
    const char *lacks = command_lacks(command);
    struct option *option = &walk->option;

    while (walk->part <= command->n_part) {
        const struct option_part part =
            walk->part < command->n_part ? command->parts[walk->part] : last;
        size_t offset;
        const struct option_group sub = find_sub(command, &part, walk->sub, &offset);

        if (walk->row == 0 && (sub.heading || sub.params))
            walk->heading = sub.heading ? sub.heading : sub.params->heading;
        if (!find_row(&sub, walk->row++, option)) {
            walk->row = 0;
            walk->sub = (walk->sub + 1) % count_subs(command, part.group);
            walk->part += walk->sub == 0;
        } else if (option->kind == OPTION_KIND_HEADING) {
            walk->heading = option->heading;
        } else if (!option->name || !lacks || word_find(lacks, option->name) < 0) {
            option->heading = walk->heading;
            option->traits |= sub.traits;
            if (part.group->is_of_question && option->param->home == ATTN_PARAM_OF_REQUEST)
                option->offset = part.group->request;
            else
                option->offset += offset;
            walk->begins = option->name && !option->of &&
                           (!walk->shown || strcmp(walk->shown, walk->heading) != 0);
            walk->shown = option->name ? walk->heading : walk->shown;
            walk->n++;
            return true;
        }
    }
    return false;
}

size_t options_count(const struct command *command)
{
    struct option_walk walk = {.command = command};

    while (option_next(&walk))
        continue;
    return walk.n;
}

bool option_find(struct option_walk *walk, const char *of, const char *name, size_t size)
{
    while (option_next(walk)) {
        const char *other = walk->option.name, *other_of = walk->option.of;

        if (other && strlen(other) == size && memcmp(other, name, size) == 0 && !of == !other_of &&
            (!of || strcmp(of, other_of) == 0))
            return true;
    }
    return false;
}

bool option_is_of(const struct command *command, const char *name)
{
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.option.name && strcmp(walk.option.name, name) == 0)
            return true;
    return false;
}

bool option_has_settings(const struct command *command, const struct option *option)
{
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.option.of && option->name && strcmp(walk.option.of, option->name) == 0)
            return true;
    return false;
}

const char *option_label(const struct option *option, char label[OPTION_LABEL_SIZE])
{
    snprintf(label, OPTION_LABEL_SIZE, "--%s%s%s", option->of ? option->of : "",
             option->of ? " " : "", option->name);
    return label;
}

/* Appends to TEXT [size] the names of the settings of OPTION of COMMAND, and the topic that
 * explains them. */
static void list_settings(const struct option *option, const struct command *command, char *text,
                          size_t size)
{
    size_t used = strlen(text), n = 0;

    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.option.of && strcmp(walk.option.of, option->name) == 0)
            attn_fixed_text_append(text, size, &used, "%s%s",
                                   n++ > 0 ? ", " : ". Settings: ", walk.option.name);
    attn_fixed_text_append(text, size, &used, "; 'attn-cli help %s' explains them",
                           topic_of_heading(option->heading));
}

void option_help(const struct option *option, const struct command *command, char *text,
                 size_t size)
{
    if (option->param || option->kind == OPTION_KIND_NAMED) /* these texts are the library's */
        field_names_show(option->help, text, size);
    else
        snprintf(text, size, "%s", option->help);
    if (command && option_has_settings(command, option))
        list_settings(option, command, text, size);
}
