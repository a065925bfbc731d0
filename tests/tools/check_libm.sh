#!/usr/bin/env bash
# check_libm.sh OBJECT... - refuses the functions of libm whose results IEEE 754 leaves open.
#
# They differ by C library and by processor in the last bit, and what they compute is a result, or is
# drawn. base/elementary.h has the same functions with the same bits everywhere. What rounds once or
# not at all may be called: sqrt, fma, floor, ceil, rint, fmod, ldexp, fabs and the like.
set -u

inexact='a?(sin|cos|tan)h?|atan2|sincos|exp(2|10|m1)?|pow(10)?|log(10|1p|2)?|cbrt|hypot|erfc?'
inexact+='|[lt]?gamma|[jy][01n]'
found=$(nm -A -u "$@" | grep -E "[[:space:]](${inexact})[fl]?(@.*)?$" |
    sed -E "s/^(.*)\.o:.* ([^ @]+).*$/\1: uses '\2' of libm, expected base\/elementary.h/")
[ -z "$found" ] && exit 0
echo "$found"
exit 1
