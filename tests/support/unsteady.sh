# unsteady.sh - which tests may fail and then pass: those that tests/README.md lists below "Unsteady tests".

# Whether the table there has WHAT, the command that runs a test or a step, in its first column.
is_listed() { # WHAT
    awk '/^##/ { is_there = $0 == "## Unsteady tests" } is_there' tests/README.md | grep -qF "| \`$1\` |"
}
