#include "cmd/line/field_names.h"
#include "cmd/line/options_internal.h"
#include "cmd/line/topics.h"

#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct attn_param help_rows[] = {
    ATTN_PARAM_KEPT(FLAG, "help", NULL,
                    "print this help; -h prints only examples and the names of the options",
                    .letter = 'h'),
    ATTN_PARAM_KEPT(FLAG, "help-all", NULL,
                    "print this help with the options of all groups in full"),
};

static const struct attn_param_list help_options = ATTN_PARAM_LIST("Other", help_rows);

const struct attn_param_list option_question = {0}, option_question_input = {.is_input = true};
const struct attn_param_list option_tensor_formats = {.heading = "Output"},
                             option_tensor_pictures = {.heading = "Figures"},
                             option_table_formats = {.heading = "Output"},
                             option_table_pictures = {.heading = "Figures"};

/* Returns the formats of LIST, which is one of the four lists above, each followed by its own
 * option. The list that is returned is kept. */
static const struct attn_param_list *list_formats(const struct attn_param_list *list)
{
    static const struct attn_param_list *const kinds[] = {
        &option_tensor_formats, &option_tensor_pictures, &option_table_formats,
        &option_table_pictures};
    enum { N_KIND = sizeof kinds / sizeof *kinds };
    static struct attn_param rows[N_KIND][OPTION_MOST_FORMATS];
    static struct attn_param_list made[N_KIND];
    size_t kind = 0, n = 0;
    bool is_of_table;

    while (kind < N_KIND - 1 && list != kinds[kind])
        kind++;
    is_of_table = kind >= 2;
    assert(attn_n_format() <= OPTION_MOST_FORMATS);
    for (size_t i = 0; !made[kind].items && i < attn_n_format(); i++) {
        const struct attn_format *format = attn_format_at(i);
        const char *help = is_of_table ? format->table_help : format->help;

        if (help && format->is_picture == (kind % 2 == 1))
            rows[kind][n++] = (struct attn_param)ATTN_PARAM(TEXT, format->name,
                                                            is_of_table ? "FILE" : format->argument,
                                                            struct format_paths, of[i], help);
    }
    if (!made[kind].items)
        made[kind] =
            (struct attn_param_list){.heading = list->heading, .items = rows[kind], .n = n};
    return &made[kind];
}

/* The name of the option that sets PARAM: "merge-words"; NULL for plain arguments. Kept. */
static const char *name_of(const struct attn_param *param)
{
    enum { MOST = 64, SIZE = 32 };
    static struct {
        const char *name;
        char dashed[SIZE];
    } known[MOST];
    size_t i = 0;

    if (param->option || !param->name || !strchr(param->name, '_'))
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

static bool is_of_question(const struct attn_param_list *list)
{
    return list == &option_question || list == &option_question_input;
}

/* The list at which WALK is, and the offset of its struct. */
static struct attn_param_part find_part(const struct option_walk *walk)
{
    const struct command *command = walk->command;
    struct attn_param_part part = walk->part < command->n_part
                                      ? command->parts[walk->part]
                                      : (struct attn_param_part){&help_options, 0};

    if (is_of_question(part.list)) {
        const struct attn_param_part *own = &command->question->parts[walk->sub];

        if (own->list->is_input == part.list->is_input)
            part.list = own->list;
        part.offset = command->args_size + own->offset;
    } else if (!part.list->items) {
        part.list = list_formats(part.list);
    }
    return part;
}

bool option_next(struct option_walk *walk)
{
    const struct command *command = walk->command;

    while (walk->part <= command->n_part) {
        const struct attn_param_part part = find_part(walk);
        const struct attn_param *param =
            walk->row < part.list->n ? &part.list->items[walk->row] : NULL;
        const bool is_own =
            walk->part < command->n_part && is_of_question(command->parts[walk->part].list);
        const char *lacks = is_own ? command->lacks_own : command_lacks(command);

        if (walk->row == 0 && part.list->heading)
            walk->heading = part.list->heading;
        walk->row = param ? walk->row + 1 : 0;
        if (!param) {
            walk->sub = is_own ? (walk->sub + 1) % command->question->n_part : 0;
            walk->part += walk->sub == 0;
            continue;
        }
        walk->param = param;
        walk->name = name_of(param);
        if (walk->name && command->plain && strcmp(walk->name, command->plain) == 0)
            walk->name = NULL;
        if ((param->traits & ATTN_PARAM_NO_OPTION) ||
            (lacks && (word_find(lacks, walk->name ? walk->name : param->argument) >= 0 ||
                       (param->of && !param->prefix && word_find(lacks, param->of) >= 0))))
            continue;
        walk->offset = is_own && param->home == ATTN_PARAM_OF_REQUEST
                           ? command->parts[walk->part].offset
                           : part.offset;
        walk->begins =
            walk->name && !param->of && (!walk->shown || strcmp(walk->shown, walk->heading) != 0);
        walk->shown = walk->name ? walk->heading : walk->shown;
        walk->n++;
        return true;
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

/* Whether NAME [size] is one of NAMES, "skip|omit", which may be NULL. */
static bool has_name(const char *names, const char *name, size_t size)
{
    size_t n = 0;

    for (; names && *names; names += n + (names[n] == '|')) {
        n = strcspn(names, "|");
        if (n == size && memcmp(names, name, size) == 0)
            return true;
    }
    return false;
}

bool option_find(struct option_walk *walk, const char *of, const char *name, size_t size)
{
    while (option_next(walk)) {
        const char *other_of = walk->param->of;

        if ((has_name(walk->name, name, size) || has_name(walk->param->aliases, name, size)) &&
            !of == !other_of && (!of || strcmp(of, other_of) == 0))
            return true;
    }
    return false;
}

bool option_is_of(const struct command *command, const char *name)
{
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.name && strcmp(walk.name, name) == 0)
            return true;
    return false;
}

/* Walks to the next setting or form of OF. */
static bool next_part(struct option_walk *walk, const struct option_walk *of, bool is_form)
{
    while (option_next(walk))
        if (walk->param->of && of->name && strcmp(walk->param->of, of->name) == 0 &&
            !walk->param->prefix == !is_form)
            return true;
    return false;
}

bool option_next_setting(struct option_walk *walk, const struct option_walk *of)
{
    return next_part(walk, of, false);
}

bool option_next_form(struct option_walk *walk, const struct option_walk *of)
{
    return next_part(walk, of, true);
}

bool option_has_settings(const struct option_walk *option)
{
    return option_next_setting(&(struct option_walk){.command = option->command}, option);
}

bool option_is_help(const struct attn_param *param)
{
    return param == &help_rows[0] || param == &help_rows[1];
}

bool option_is_list(const struct attn_param *param)
{
    return param->type == ATTN_PARAM_TEXTS || param->type == ATTN_PARAM_IMAGES ||
           param->type == ATTN_PARAM_NAMED || param->type == ATTN_PARAM_PLACES ||
           param->type == ATTN_PARAM_ID_LISTS;
}

bool option_is_choice(const struct attn_param *param)
{
    return param->type == ATTN_PARAM_CHOICE || param->type == ATTN_PARAM_SWITCH;
}

const char *option_argument(const struct attn_param *param)
{
    return option_is_choice(param) ? param->words : param->argument;
}

const char *option_own_name(const struct option_walk *walk)
{
    return walk->name ? walk->name : walk->param->argument;
}

const char *option_label(const struct option_walk *walk, char label[OPTION_LABEL_SIZE])
{
    const char *of = walk->param->of, *prefix = walk->param->prefix;

    snprintf(label, OPTION_LABEL_SIZE, "%s%s%s%s", walk->name ? "--" : "", of ? of : "",
             of ? " " : "", prefix ? prefix : option_own_name(walk));
    return label;
}

bool option_is_text(const struct option_walk *option)
{
    return option->param->argument && strcmp(option->param->argument, "TEXT") == 0 &&
           option->name && word_find("sentence|title|template", option->name) < 0;
}

bool option_takes_forms(const struct option_walk *option)
{
    return option_is_text(option) ||
           option_next_form(&(struct option_walk){.command = option->command}, option);
}

const char *option_name(const struct option_walk *walk)
{
    const char *prefix = walk->param->prefix;

    /* a picture may stand beside a text */
    return prefix && strcmp(prefix, "image:") != 0 ? walk->param->of : option_own_name(walk);
}

const char *option_typed(const struct option_walk *walk, const char *value)
{
    return walk->param->prefix ? value - strlen(walk->param->prefix) : value; /* form_take */
}

bool option_write_forms(const struct option_walk *walk, const char *between,
                        char forms[OPTION_FORMS_SIZE])
{
    struct option_walk form = {.command = walk->command};
    size_t used = 0;

    forms[0] = '\0';
    if (option_is_text(walk))
        attn_fixed_text_append(forms, OPTION_FORMS_SIZE, &used, "text:TEXT%sfile:PATH", between);
    while (option_next_form(&form, walk))
        attn_fixed_text_append(forms, OPTION_FORMS_SIZE, &used, "%s%s%s", used > 0 ? between : "",
                               form.param->prefix, form.param->argument);
    return used > 0;
}

void option_help(const struct option_walk *walk, bool lists_settings, char *text, size_t size)
{
    struct option_walk setting = {.command = walk->command};
    char forms[OPTION_FORMS_SIZE];
    size_t used, n = 0;

    field_names_show(walk->param->help, text, size);
    used = strlen(text);
    if (option_write_forms(walk, ", ", forms))
        attn_fixed_text_append(text, size, &used, ". Also %s%s", forms,
                               walk->param->type == ATTN_PARAM_TEXTS ? ", a line each" : "");
    while (lists_settings && option_next_setting(&setting, walk))
        attn_fixed_text_append(text, size, &used, "%s%s",
                               n++ > 0 ? ", " : ". Settings: ", setting.name);
    if (n > 0)
        attn_fixed_text_append(text, size, &used, "; 'attn-cli help %s' explains them",
                               topic_of_heading(walk->heading));
}
