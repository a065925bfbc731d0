/* ablate_internal.h - the procedure of ablate.c for pictures (ablate_pictures.c). */
#ifndef ATTN_QUESTIONS_ABLATE_INTERNAL_H
#define ATTN_QUESTIONS_ABLATE_INTERNAL_H

#include "questions/ablate.h"
#include "questions/frame.h"
#include "questions/questions_internal.h"

extern const struct attn_procedure attn_ablate_pictures;

#endif
