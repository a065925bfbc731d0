#!/usr/bin/env bash
# check_cairo.sh - lib/figures/cairo_functions.h says what the headers of cairo and pango say, where
# these are installed.
set -u
cd "$(dirname "$0")/../.." || exit 1

flags=$(${PKG_CONFIG:-pkg-config} --cflags pangocairo 2>/dev/null) || {
    echo 'check_cairo: skipped, the headers of pango are not installed (libpango1.0-dev)'
    exit 0
}
# shellcheck disable=SC2086 # words of their own
${CC:-cc} -std=c11 -Ilib $flags -Wall -Wextra -Werror -fsyntax-only -x c - <<'END'
#include <cairo-pdf.h>
#include <pango/pangocairo.h>

#include "figures/cairo_functions.h"

/* An enumeration is no int in a declaration, but is one when it is passed. */
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(ATTN_CAIRO_FORMAT_RGB24, CAIRO_FORMAT_RGB24);
SAME(ATTN_CAIRO_HINT_METRICS_OFF, CAIRO_HINT_METRICS_OFF);
SAME(ATTN_CAIRO_FILTER_NEAREST, CAIRO_FILTER_NEAREST);
SAME(ATTN_CAIRO_PDF_TITLE, CAIRO_PDF_METADATA_TITLE);
SAME(ATTN_CAIRO_PDF_SUBJECT, CAIRO_PDF_METADATA_SUBJECT);
SAME(ATTN_CAIRO_PDF_KEYWORDS, CAIRO_PDF_METADATA_KEYWORDS);
SAME(ATTN_CAIRO_PDF_CREATOR, CAIRO_PDF_METADATA_CREATOR);
SAME(ATTN_CAIRO_PDF_CREATE_DATE, CAIRO_PDF_METADATA_CREATE_DATE);
SAME(ATTN_PANGO_WEIGHT_BOLD, PANGO_WEIGHT_BOLD);
SAME(ATTN_PANGO_SCALE, PANGO_SCALE);
SAME(CAIRO_STATUS_SUCCESS, 0);

#undef g_object_unref
#define DECLARE(result, name, arguments) result name arguments;
ATTN_CAIRO_MAP(DECLARE)
END
