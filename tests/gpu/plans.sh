#!/bin/bash
# One plan on the CPU and on the GPU: each loss within rounding, and the same bits of all weights when it is repeated,
# whether steps are replayed from a graph or issued anew.
#
# NCCL promises no bits: in-switch sums (NVLS) and buffers that a graph registers depend on what was allocated before, and it
# picks an algorithm by size and by links. So here it is told to take one. For speed it is not (several.sh, bench.sh).
#
# Settings: COMM (ring: several ranks share a GPU; nccl: each has one), RANKS (1 2 4), STRATEGIES (all that there are),
# ROW (plans).
. "$(dirname "$0")/common.sh"
: "${COMM:=ring}" "${RANKS:=1 2 4}" "${ROW:=plans}"
begin 'plans on the CPU and on the GPU'
export NCCL_NVLS_ENABLE=0 NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_GRAPH_REGISTER=0

# strategies RANKS: those that there are.
strategies() {
	case ${STRATEGIES:+given}$1 in
	given*) echo "$STRATEGIES" ;;
	1) echo single ddp zero1 zero2 zero3 fsdp ;;
	*) echo dp ddp zero1 zero2 zero3 fsdp model pipeline tensor "$([ "$1" -lt 4 ] || echo hybrid:shard=2)" ;;
	esac
}

# train NAME DEVICE OPTION...
train() {
	local out=$1
	shift
	limited 120 "$SHARDLAB" train --model "$MODEL" --data "$DATA" --batch 8 --steps 6 --evaluate no --json --device "$@" \
		>"$out" 2>"$out.err" || { echo "$* (exit status $?): $(tail -n 1 "$out.err")" && return 1; }
}

# try STRATEGY RANKS PRECISION: one line.
try() {
	local at=$folder/$1-$2-$3 options=(--strategy "$1" --ranks "$2" --precision "$3") off sum runs='repeat'
	train "$at.cpu" cpu "${options[@]}" && train "$at.gpu" cuda --comm "$COMM" "${options[@]}" &&
		train "$at.repeat" cuda --comm "$COMM" "${options[@]}" || return
	if [ "$2" = 1 ] || [ "$COMM" = nccl ]; then
		train "$at.eager" cuda --comm "$COMM" --no-graph "${options[@]}" || return
		runs='repeat eager'
	fi
	off=$(apart "$(losses "$at.cpu")" "$(losses "$at.gpu")")
	[ "$(verdict "$off" '<=' "$(limit "$3")")" = reached ] || {
		echo "losses are $off apart: $(losses "$at.cpu") on the CPU, $(losses "$at.gpu") on the GPU"
		return
	}
	for run in $runs; do
		sum=$(checksum "$at.gpu")
		[ "${sum:-none}" = "$(checksum "$at.$run")" ] || {
			echo "weights are $sum, and $(checksum "$at.$run") in another run ($run)"
			return
		}
	done
	echo "ok, losses $off apart"
}

count=0
for ranks in $RANKS; do
	for strategy in $(strategies "$ranks"); do
		for precision in fp32 bf16 fp16; do
			# 16 bits are a matter of kernels: one strategy that has all of them, and one without others.
			case $precision-$strategy in fp32-* | *-single | *-zero3) ;; *) continue ;; esac
			while [ "$(jobs -pr | wc -l)" -ge "$JOBS" ]; do wait -n; done
			{ echo "$strategy, $ranks ranks, $precision: $(try "$strategy" "$ranks" "$precision")"; } | tee -a "$folder/lines" &
			count=$((count + 1))
		done
	done
done
wait
good=$(grep -c ': ok, ' "$folder/lines")
if [ "$good" != "$count" ]; then
	row "$ROW" "FAILED: $((count - good)) of $count plans"
	exit 1
fi
on=${RANKS% *}
[ "$on" = "$RANKS" ] || on="${on// /, } and ${RANKS##* }"
row "$ROW" "$count plans on $on rank$([ "$RANKS" = 1 ] || echo s): losses at most $(sed 's/.*losses \(.*\) apart/\1/' "$folder/lines" | sort -g | tail -n 1) apart, the same weights when repeated"
