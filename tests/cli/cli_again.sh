#!/bin/bash
# Where OpenBLAS does not know the processor, a command begins again with the core that fits, and so does each rank: on
# another host another core may fit, so none is sent there but the user's own.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/core.sh"
has_vectors || { echo 'skipped: no core fits this processor better than a general one' && exit 77; }
unset OPENBLAS_CORETYPE
tiny=(--model 'gpt:layers=1,width=16,heads=2,context=8' --data tests/golden/text.txt --batch 4 --steps 2 --evaluate no --json)
make_core 'asked ? asked : "Prescott"'

# begins_again PROCESSES WHAT: each of so many was loaded twice, first with no core asked for.
begins_again() {
	local twice
	twice=$(awk '$2 == "shardlab" { n[$1]++; asked[$1] = asked[$1] ($3 == "-" ? "-" : "+") }
		END { for (pid in n) if (asked[pid] == "-+") twice++; print twice + 0, length(n) }' "$TMPDIR/loaded")
	[ "$twice" = "$1 $1" ] || complain "$2: not $1 processes that begin again: $(cat "$TMPDIR/loaded")"
	core=$(awk '$3 != "-" { print $3; exit }' "$TMPDIR/loaded")
	: >"$TMPDIR/loaded"
}

with_core run own train "${tiny[@]}" --ranks 2
begins_again 3 'shardlab and its ranks'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
with_core mpirun --oversubscribe --bind-to none -n 2 "$SHARDLAB" train "${tiny[@]}" >"$TMPDIR/theirs.out" 2>"$TMPDIR/err" ||
	complain "under a user's mpirun: $(cat "$TMPDIR/err")"
begins_again 2 "ranks of a user's mpirun"
OPENBLAS_CORETYPE=$core run plain train "${tiny[@]}" --ranks 2
for name in own theirs; do
	[ "$(checksum $name)" = "$(checksum plain)" ] || complain "$name: other weights: $(cat "$TMPDIR/$name.out")"
done

# mpirun is told of the core only if the user chose it.
mkdir "$TMPDIR/tools"
printf '#!/bin/sh\necho "$OPENBLAS_CORETYPE $*" >"%s"\nexit 1\n' "$TMPDIR/told" >"$TMPDIR/tools/mpirun"
chmod +x "$TMPDIR/tools/mpirun"
echo 'localhost slots=2' >"$TMPDIR/hosts"
over_hosts() {
	PATH=$TMPDIR/tools:$PATH with_core "$SHARDLAB" train "${tiny[@]}" --hosts "$TMPDIR/hosts" >"$TMPDIR/out" 2>"$TMPDIR/err" || true
}
over_hosts
grep -q -- '--host localhost:2' "$TMPDIR/told" && ! grep -q 'CORETYPE\|BEGAN\|SkylakeX\|Haswell' "$TMPDIR/told" ||
	complain "to other hosts goes: $(cat "$TMPDIR/told" "$TMPDIR/err")"
begins_again 1 'the launcher alone'
OPENBLAS_CORETYPE=Haswell over_hosts
grep -q '^Haswell .* -x OPENBLAS_CORETYPE ' "$TMPDIR/told" || complain "the user's core does not go to other hosts: $(cat "$TMPDIR/told")"

# What was open is open: a pipe that another process fills.
run small train "${tiny[@]}" --save "$TMPDIR/small"
: >"$TMPDIR/loaded"
printf once | with_core "$SHARDLAB" generate --init "$TMPDIR/small" --prompt-file - --temperature 0 --tokens 4 >"$TMPDIR/out" 2>"$TMPDIR/err" ||
	complain "a prompt by a pipe: $(cat "$TMPDIR/err")"
grep -q '^once' "$TMPDIR/out" || complain "a prompt by a pipe: $(cat "$TMPDIR/out")"
begins_again 1 'generate'

# Called by the loader, as where the system's own is too old, the process's file is the loader: it goes on.
loader=$(readelf -l "$SHARDLAB" | sed -n 's/.*interpreter: \(.*\)]$/\1/p')
with_core "$loader" "$SHARDLAB" doctor >"$TMPDIR/out" 2>"$TMPDIR/err" || complain "by $loader: $(cat "$TMPDIR/err")"
grep -q '^note *OpenBLAS *core Prescott' "$TMPDIR/out" || complain "by $loader: $(cat "$TMPDIR/out")"
