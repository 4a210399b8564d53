#!/bin/bash
# One plan on the CPU and on the GPU: each loss within rounding, and the same bits of all weights when it is repeated,
# whether steps are replayed from a graph or issued anew.
#
# Settings: COMM (ring: several ranks share a GPU; nccl: each has one), RANKS (1 2 4), STRATEGIES (all that there are),
# ROW (plans).
. "$(dirname "$0")/common.sh"
: "${COMM:=ring}" "${RANKS:=1 2 4}" "${ROW:=plans}"
begin 'plans on the CPU and on the GPU'

# strategies RANKS: those that there are.
strategies() {
	case ${STRATEGIES:+given}$1 in
	given*) echo "$STRATEGIES" ;;
	1) echo single ddp zero1 zero2 zero3 fsdp ;;
	*) echo dp ddp zero1 zero2 zero3 fsdp model pipeline tensor "$([ "$1" -lt 4 ] || echo hybrid:shard=2)" ;;
	esac
}

# How far apart losses may be: sums are made in another order, which in fp32 costs a few units of 2^-24. In 16 bits
# weights and activations are rounded, to 2^-9 and 2^-12 at most, each way as often: of their mean, a loss, little of it
# is left.
limit() {
	case $1 in
	fp32) echo 1e-6 ;;
	bf16) echo 5e-4 ;;
	fp16) echo 6e-5 ;;
	esac
}

# train NAME DEVICE OPTION...
train() {
	local out=$1
	shift
	timeout -k 20 120 "$SHARDLAB" train --model "$MODEL" --data "$DATA" --batch 8 --steps 6 --evaluate no --json --device "$@" \
		>"$out" 2>"$out.err" || { echo "$* (exit status $?): $(tail -n 1 "$out.err")" && return 1; }
}

# apart LOSSES LOSSES: the largest relative difference; 1 where they are not as many.
apart() {
	printf '%s\n%s\n' "$1" "$2" | awk -F ', ' '
		NR == 1 { n = split($0, a); next }
		{ worst = NF == n && n > 0 ? 0 : 1
		  for (i = 1; i <= n; i++) { d = (a[i] - $i) / a[i]; if (d < 0) d = -d; if (!(d <= worst)) worst = d } }
		END { printf "%.2g", worst }'
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
			{ echo "$strategy, $ranks ranks, $precision: $(try "$strategy" "$ranks" "$precision")"; } >>"$folder/lines" &
			count=$((count + 1))
		done
	done
done
wait
sort "$folder/lines"
good=$(grep -c ': ok, ' "$folder/lines")
if [ "$good" != "$count" ]; then
	row "$ROW" "FAILED: $((count - good)) of $count plans"
	exit 1
fi
row "$ROW" "$count plans: losses at most $(sed 's/.*losses \(.*\) apart/\1/' "$folder/lines" | sort -g | tail -n 1) apart, the same weights when repeated"
