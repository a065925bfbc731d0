# Of the programs that are here; the page has its end.
attn-cli help --man >page
! command -v groff >/dev/null || groff -man -ww -z page
! command -v mandoc >/dev/null || mandoc -Tlint -Wall page
tail -n 1 page
