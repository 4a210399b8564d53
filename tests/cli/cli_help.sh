#!/bin/bash
# Help comes from the tables: every command, option, model, strategy, key and cluster is in it, and every line of it that
# begins with an option is an option that the command takes.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

has() {
	grep -qF -- "$2" <<<"$1" || fail "'$2' is missing in: $1"
}

top=$("$SHARDLAB" help)
[ "$top" = "$("$SHARDLAB" --help)" ] || fail 'help and --help differ'
commands=$(sed -n 's/^  shardlab \([a-z]*\)  *[a-z].*/\1/p' <<<"$top" | sort -u)
for command in plan sim compare advise train validate calibrate generate checkpoint config doctor view trace collective demo lesson help; do
	grep -qx "$command" <<<"$commands" || fail "help does not list $command"
done

asked='plan sim compare advise train validate calibrate generate checkpoint doctor trace demo'
[ -z "${SAN-}" ] || asked='train trace' # a sanitizer sees as much
for command in $asked; do
	text=$("$SHARDLAB" help "$command")
	[ "$text" = "$("$SHARDLAB" "$command" --help)" ] || fail "help $command and $command --help differ"
	options=$(sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' <<<"$text")
	[ -n "$options" ] || fail "$command has no options"
	for option in $options; do
		# Without its value, or with one that it does not take: the command must know it all the same.
		message=$("$SHARDLAB" "$command" "--$option=" 2>&1) && fail "$command --$option= was taken"
		case $message in
		*'unknown option'* | *'has no option'*) fail "$command: $message" ;;
		esac
	done
done

text=$("$SHARDLAB" help sim)
for option in model strategy ranks cluster batch micro-batch accumulate sequence precision optimizer learning-rate clip \
	activation-checkpointing offload bucket seed config json trace grain require-fit; do
	has "$text" "  --$option"
done
text=$("$SHARDLAB" help train)
for option in init save steps data data-type device comm plan threads trace json; do
	has "$text" "  --$option"
done

text=$("$SHARDLAB" help strategies)
for strategy in single dp ddp zero1 zero2 zero3 fsdp; do
	has "$text" "  $strategy"
done
has "$text" 'fsdp:reshard=yes|no'
text=$("$SHARDLAB" help models)
for model in mlp gpt gpt2-124m gpt2-355m gpt2-774m gpt2-1558m gpt3-175b mpt mpt-7b mpt-30b opt opt-125m opt-1.3b opt-6.7b opt-13b \
	llama llama-2-7b llama-3-8b llama-3-70b mistral-7b \
	qwen2.5-7b qwen3-8b params=7.5e9; do
	has "$text" "  $model"
done
text=$("$SHARDLAB" help data)
for key in 'type=uint16|uint32|bytes' 'label=first|last|N|NAME' 'normalize=columns|whole|none'; do
	has "$text" "  $key"
done
text=$("$SHARDLAB" help clusters)
for cluster in local local-cuda laptop v100-16gb a100-80gb h100 h200; do
	has "$text" "  $cluster"
done

# One example has a model's folder.
mkdir "$TMPDIR/Qwen2.5-7B"
cp tests/golden/configs/qwen2.5-7b.json "$TMPDIR/Qwen2.5-7B/config.json"

# The examples are right: those of the quick commands are carried out, the others' options are known.
for command in plan sim compare view collective; do
	"$SHARDLAB" help "$command" | sed -n 's/^  shardlab //p' >"$TMPDIR/examples"
	[ -s "$TMPDIR/examples" ] || fail "help $command has no example"
	while read -r -a words; do
		[ "$command" != view ] || [[ ${words[*]} = *--export* ]] || words+=(--export view.png)
		(cd "$TMPDIR" && "$SHARDLAB" "${words[@]}" >/dev/null) || fail "the example fails: ${words[*]}"
	done <"$TMPDIR/examples"
done
text=$("$SHARDLAB" help config)
for option in $(grep -o -- ' --[a-z-]*' <<<"$text" | sort -u); do
	[ "$option" != --json ] || continue
	message=$("$SHARDLAB" train "$option=" 2>&1) && fail "train $option= was taken"
	[[ $message != *'unknown option'* ]] || fail "help config: $message"
done
# The cluster file in the help is one.
"$SHARDLAB" help clusters | sed -n '/^name: /,$p' >"$TMPDIR/one.yaml"
"$SHARDLAB" sim --model gpt2-355m --precision bf16 --cluster "$TMPDIR/one.yaml" >"$TMPDIR/out" || fail 'the cluster file'
has "$(cat "$TMPDIR/out")" "of its device's 24.00 GB (22.35 GiB)"

# Without a terminal, lines of options end before column 81.
for command in plan sim compare advise train validate calibrate view demo lesson; do
	long=$("$SHARDLAB" help "$command" | grep -v '^  shardlab ' | LC_ALL=C.UTF-8 grep -E '^.{81,}' || true)
	[ -z "$long" ] || fail "help $command: too long: $long"
done

has "$("$SHARDLAB" help validate)" "Without --cluster it first measures"

[[ $("$SHARDLAB" --version) = 'shardlab '[0-9]* ]] || fail 'no version'

# A full disk is not success.
status=0
"$SHARDLAB" help >/dev/full 2>/dev/null || status=$?
[ "$status" = 1 ] || fail "help on a full disk: exit status $status"

# A word that is an option or a strategy has its own help.
has "$("$SHARDLAB" help offload)" 'Commands: plan, sim, compare, advise, train, validate, calibrate, view'
[ "$("$SHARDLAB" help offload)" = "$("$SHARDLAB" help --offload)" ] || fail 'help offload and help --offload differ'
has "$("$SHARDLAB" help zero2)" '--strategy zero2: '
has "$("$SHARDLAB" help fsdp)" 'fsdp:reshard=yes|no'

# The manual page has every command and every option of a command, and troff reads it without a warning.
"$SHARDLAB" help man >"$TMPDIR/shardlab.1"
for command in plan sim compare advise train validate calibrate view collective demo lesson; do
	grep -qF "fBshardlab $command" "$TMPDIR/shardlab.1" || fail "the manual page has no $command"
	for option in $("$SHARDLAB" help "$command" | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p'); do
		grep -qF "fB\\-\\-${option//-/\\-}\\fR" "$TMPDIR/shardlab.1" || fail "the manual page has no --$option"
	done
done
if command -v groff >/dev/null; then
	message=$(groff -man -Tutf8 -ww "$TMPDIR/shardlab.1" 2>&1 >/dev/null)
	[ -z "$message" ] || fail "the manual page: $message"
fi

# bash's completion.
"$SHARDLAB" help bash >"$TMPDIR/completion"
completes() {
	local want=$1
	shift
	got=$(bash -c 'source "$1"; shift; COMP_WORDS=(shardlab "$@"); COMP_CWORD=$#; _shardlab; echo "${COMPREPLY[*]}"' - \
		"$TMPDIR/completion" "$@")
	[ "$got" = "$want" ] || fail "completed $*: '$got', not '$want'"
}
completes 'zero1 zero2 zero3' sim --strategy zero
completes 'fp32 fp16 fp8' train --precision fp
completes '--micro-batch' sim --mic
completes 'calibrate' cal
completes 'a100-40gb a100-80gb a100-pcie-40gb a100-pcie-80gb' compare --cluster a100
completes '' sim --plan nosuch
completes 'zero1 zero2 zero3' sim --strategy = zero
completes 'ddp,zero1 ddp,zero2 ddp,zero3' compare --strategy ddp,zero
completes 'deepspeed' sim --emit dee
completes 'optimizer' sim --offload opt
completes 'transformers torchtitan trainer' config --reader t
completes 'h100 h200 h100-pcie' cluster h
completes 'strategies stacks stack' help st
completes 'verify' checkpoint v
completes '' config ''
completes '--reader' config --rea
completes '' trace ''
completes '--hosts' sim --ho
completes 'as' help as
completes 'ring-all-reduce' collective ring-all-r
has "$("$SHARDLAB" help zsh)" "#compdef shardlab"

# Every switch of --as has its row in the table of options.md.
options=docs/options.md
[ -e "$options" ] || options=$(dirname "$0")/../../$options
for switch in $("$SHARDLAB" help as | sed -n 's/^\([a-z0-9]*\)=.*/\1/p'); do
	grep -q "^| .$switch. |" "$options" || fail "$options: no row of the switch $switch"
done

# The job for Slurm: what it gives `train` is taken.
job=tools/deploy/train.sbatch
[ -e "$job" ] || job=$(dirname "$0")/../../$job
bash -n "$job" || fail "$job: not a script"
for option in $(sed -n '/shardlab train/,$p' "$job" | grep -o -- ' --[a-z-]*' | grep -v mpi); do
	message=$("$SHARDLAB" train "$option=" 2>&1) && fail "$job: $option= was taken"
	[[ $message != *'unknown option'* ]] || fail "$job: $message"
done
