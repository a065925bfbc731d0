/* chapters.c - see chapters.h. */
#include "cmd/line/chapters.h"

#include "cmd/line/topics.h"

#include <stdio.h>
#include <string.h>

/* Chapters that are neither commands nor topics, and the arguments of attn-cli for each, or NULL.
 */
static const struct {
    const char *name, *file, *see;
} chapters[] = {
    {"arrays", "arrays", "attend --help"},
    {"classifiers", "classifiers", NULL},
    {"clusters", "clusters", "batch --help"},
    {"encoders", "encoders", NULL},
    {"gallery", "gallery", "help figures"},
    {"gguf", "gguf", "inspect --help"},
    {"glossary", "explanation/glossary", NULL},
    {"gradients", "gradients", "run --grad"},
    {"images", "images", "run --image"},
    {"make-a-model", "make-a-model", "init --help"},
    {"pages", "pages", "run --html"},
    {"pictures", "pictures", "help figures"},
    {"predictions", "predictions", "score --help"},
    {"proteins", "proteins", NULL},
    {"study", "tutorial/a-study", "help items"},
    {"tokens", "tokens", "tokenize --help"},
    {"translation", "translation", "align --help"},
    {"two-sequences", "two-sequences", "run --source"},
};

bool chapter_hint(const char *name, char hint[CHAPTER_HINT_SIZE])
{
    if (topic_find(name)) {
        snprintf(hint, CHAPTER_HINT_SIZE, "'attn-cli help %s' explains it", name);
        return true;
    }
    for (size_t i = 0; i < sizeof chapters / sizeof *chapters; i++) {
        const char *see = chapters[i].see;

        if (strcmp(chapters[i].name, name) != 0)
            continue;
        snprintf(hint, CHAPTER_HINT_SIZE, "see %s%s%scmd/manual/%s.md of the manual",
                 see ? "'attn-cli " : "", see ? see : "", see ? "' and " : "", chapters[i].file);
        return true;
    }
    return false;
}
