/* typo.c - see typo.h. */
#include "cmd/line/typo.h"

#include "tool.h"

#include <string.h>

void typo_try(struct typo *typo, const char *name)
{
    struct attn_letters typed, known;
    if (!attn_letters_read(typo->typed, typo->size, &typed) ||
        !attn_letters_read(name, strlen(name), &known))
        return;
    size_t distance = attn_edit_distance(&typed, &known);
    if (typo->nearest && distance >= typo->distance)
        return;
    typo->nearest = name;
    typo->distance = distance;
}

const char *typo_meant(const struct typo *typo)
{
    size_t most = typo->size > 5 ? 2 : 1;
    return typo->nearest && typo->distance <= most ? typo->nearest : NULL;
}
