#!/bin/bash
# `shardlab validate` of every strategy on GPUs: bytes and calls as the simulator says. Then the time of one rank's step,
# with the rates of this GPU.
#
# Settings: COMM (ring: several ranks share a GPU; nccl: each has one), RANKS (2 4), STRATEGIES (all), ROW (validate),
# PARTS (bytes time), CLUSTER (a file of `calibrate --device cuda`; empty: it is made; none: no times), CALIBRATE (options of that).
. "$(dirname "$0")/common.sh"
: "${COMM:=ring}" "${RANKS:=2 4}" "${ROW:=validate}" "${PARTS:=bytes time}"
begin "'validate' on GPUs"

# validate OPTION...: its table; fails if a strategy does not hold, or was left out.
validate() {
	local status=0
	limited 400 "$SHARDLAB" validate --device cuda "$@" >"$folder/table" 2>&1 || status=$?
	cat "$folder/table"
	[ "$status" = 0 ] && ! grep -q '^skipped ' "$folder/table"
}

bytes_of_all() {
	# The time of several ranks on GPUs is not judged, so any rates will do and none need be measured.
	local good=0 ranks strategies precision
	for ranks in $RANKS; do
		strategies=${STRATEGIES:-dp,ddp,zero1,zero2,zero3,fsdp,model,pipeline,tensor}
		[ -n "${STRATEGIES-}" ] || [ "$ranks" -lt 4 ] || strategies=$strategies,hybrid:shard=2
		for precision in fp32 bf16; do
			echo "== $ranks ranks, $precision"
			if validate --model "$MODEL" --data "$DATA" --comm "$COMM" --ranks "$ranks" --strategy "$strategies" \
				--precision "$precision" --batch 16 --accumulate 2 --steps 4 --cluster h200; then
				good=$((good + $(grep -c ' holds$' "$folder/table")))
			else
				failed=$((failed + 1))
			fi
		done
	done
	if [ "$failed" != 0 ]; then
		row "$ROW" "FAILED at $failed of the settings of ranks and precision"
	else
		# The bytes that NCCL sends are not counted.
		row "$ROW" "$good plans on ${RANKS// / and } ranks: $([ "$COMM" = ring ] && echo bytes || echo calls and payload) exact"
	fi
}

failed=0
[[ $PARTS != *bytes* ]] || bytes_of_all
[[ ${CLUSTER-} != none && $PARTS == *time* ]] || exit $((failed > 0))
if [ -z "${CLUSTER-}" ]; then
	CLUSTER=$folder/gpu.yaml began=$SECONDS
	limited 300 "$SHARDLAB" calibrate --device cuda ${CALIBRATE-} --output "$CLUSTER" >"$folder/rates" 2>&1 || {
		cat "$folder/rates"
		row "$ROW-time" 'FAILED: calibrate'
		exit 1
	}
	cat "$folder/rates"
	row "$ROW-calibrate" "$((SECONDS - began)) s: $(verdict $((SECONDS - began)) '<' 120)"
fi
# errors: of each strategy in the table, "single +1.2 %".
errors() {
	sed -n 's/^\([^ ]*\)  *1  .* \([-+]*[0-9.]* %\).*\(holds\|fails\)$/\1 \2/p' "$folder/table" | paste -sd , | sed 's/,/, /g'
}
echo '== the time of a step'
if validate --model "${SPEED_MODEL:-gpt2-124m}" --data "$DATA" --cluster "$CLUSTER" --ranks 1 --precision bf16 \
	--micro-batch 16 --strategy single,zero2,fsdp; then
	off=$(errors | grep -oE '[0-9.]+ %' | sort -g | tail -n 1)
	row "$ROW-time" "${SPEED_MODEL:-gpt2-124m}: $(errors): $(verdict "${off%% *}" '<=' 3)"
else
	row "$ROW-time" "FAILED: $(errors)"
	failed=$((failed + 1))
fi
exit $((failed > 0))
