/* drawing.c - see drawing.h. */
#include "tests/support/drawing.h"

#include <string.h>

#include "figures/figure_internal.h"
#include "tests/support/suite.h"

bool attn_can_draw(void)
{
    struct attn_error err = {0};

    if (attn_figure_cairo_check("a figure", &err) == ATTN_OK)
        return true;
    ck_assert_ptr_nonnull(strstr(err.message, "which is not installed"));
    attn_skip_test("PNG and PDF: there is no libpangocairo ('make deps-draw' installs it)");
    return false;
}

bool attn_is_drawn(const struct attn_format *format)
{
    return strcmp(format->name, "png") == 0 || strcmp(format->name, "pdf") == 0;
}
