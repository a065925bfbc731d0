#!/usr/bin/env bash
# man.sh - writes the pages of the manual: attn-cli.1, and attn-cli-COMMAND.1 for each command.
#
#   man.sh TOOL FOLDER
set -eu
tool=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
"$tool" help --man >"$folder/attn-cli.1"
for command in $(sed -nE 's/^\.BR attn\\-cli\\-([a-z]+) \(1\)$/\1/p' "$folder/attn-cli.1"); do
    "$tool" help "$command" --man >"$folder/attn-cli-$command.1"
done
