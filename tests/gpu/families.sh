#!/bin/bash
# plans.sh and validate.sh of the families beside GPT-2, each a small model with what is its own: grouped queries, norms
# of heads and a window; ALiBi of heads that are no power of two, and no biases; ReLU.
#
# Settings: those of plans.sh and validate.sh but MODEL, ROW and CLUSTER; FAMILIES (llama mpt opt).
export COMMAND=${COMMAND:-tests/gpu/families.sh}
. "$(dirname "$0")/common.sh"
: "${FAMILIES:=llama mpt opt}"
begin "plans and 'validate' of other families"

model() {
	case $1 in
	llama) echo llama:layers=3,width=64,heads=8,kv_heads=4,hidden=88,context=32,qk_norm=yes,window=11 ;;
	mpt) echo mpt:layers=3,width=48,heads=12,context=32 ;;
	opt) echo opt:layers=3,width=48,heads=12,context=32,hidden=72 ;;
	*) echo "fatal: family '$1': llama, mpt or opt" >&2 && exit 2 ;;
	esac
}

failed=0
for family in $FAMILIES; do
	MODEL=$(model "$family") || exit 2
	export MODEL
	echo "== $MODEL"
	ROW=plans-$family tests/gpu/plans.sh || failed=1
	ROW=validate-$family CLUSTER=none tests/gpu/validate.sh || failed=1
done
exit "$failed"
