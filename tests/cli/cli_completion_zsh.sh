#!/bin/bash
# zsh's completion, as a terminal has it: zsh -f with compinit, a line, and a tab.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
command -v zsh >/dev/null || { echo 'zsh, whose completion this is, is not installed' && exit 77; }
zsh -fc 'zmodload zsh/zpty' 2>/dev/null || { echo 'this zsh has no module zsh/zpty, a terminal to type into' && exit 77; }

"$SHARDLAB" help zsh >"$TMPDIR/_shardlab"

# Each line of the file is typed into one shell. Whatever would be offered comes out of a pipe, in a line, so that nobody
# waits for a time to pass: compadd, which takes the words, is a function here that also writes those that match. The pipe
# stays open from the first line to the last: opened for each, it could still belong to the writer of the line before, who
# closes it, and the answer would be an end of file.
cat >"$TMPDIR/type.zsh" <<'END'
zmodload zsh/zpty
exec 3<>$1/pipe
zpty shell zsh -f
zpty -w shell "cd $1; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D
compadd() { local -a m; builtin compadd -O m \"\$@\"; print -r -- \"words \${(j: :)m}\" >$1/pipe; builtin compadd \"\$@\" }
_files() { print files >$1/pipe }
bindkey '^I' complete-word; unsetopt list_beep; precmd() { print ready >$1/pipe }"
read -r -u 3 answer
while IFS= read -r line; do
	zpty -w -n shell "$line"$'\t'
	read -r -u 3 answer
	print -r -- "$line -> $answer"
	zpty -w -n shell $'\x15'
done <$1/lines
zpty -d shell
END
mkfifo "$TMPDIR/pipe"
cat >"$TMPDIR/wanted" <<'END'
shardlab cal -> words calibrate
shardlab sim --mic -> words --micro-batch
shardlab sim --model gpt2- -> words gpt2-124m gpt2-355m gpt2-774m gpt2-1558m
shardlab sim --strategy zero -> words zero1 zero2 zero3
shardlab train --precision fp -> words fp32 fp16 fp8
shardlab cluster h -> words h100 h200 h100-pcie
shardlab help st -> words strategies stacks stack
shardlab sim --config -> words --config
shardlab sim --plan  -> files
shardlab config  -> files
shardlab config --rea -> words --reader
END
sed 's/ -> .*//' "$TMPDIR/wanted" >"$TMPDIR/lines"
timeout 60 zsh -f "$TMPDIR/type.zsh" "$TMPDIR" >"$TMPDIR/got" || fail "zsh: exit status $?: $(cat "$TMPDIR/got")"
diff -u "$TMPDIR/wanted" "$TMPDIR/got" || fail 'zsh offers something else'
