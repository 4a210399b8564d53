#!/bin/bash
# Configurations of other programs: what config prints of three files (UPDATE_GOLDEN=1 accepts a change), and what sim,
# compare and train make of them.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
command -v python3 >/dev/null || { echo 'python3, which reads JSON here, is not installed' && exit 77; }

cd "$(dirname "$0")/../../tests/golden/recipes/deepspeed"

# transcript STATUS FILE ARGUMENT...: what config prints of it is FILE.txt.
transcript() {
	local want=$1 file=$2 status=0
	shift 2
	"$SHARDLAB" config "$file" "$@" >"$TMPDIR/transcript" 2>"$TMPDIR/err" || status=$?
	if [ -n "${UPDATE_GOLDEN-}" ]; then
		cp "$TMPDIR/transcript" "${file%.json}.txt"
	elif ! diff -u "${file%.json}.txt" "$TMPDIR/transcript"; then
		complain "config $file prints something else"
	fi
	[ "$status" = "$want" ] || complain "config $file: exit status $status, not $want"
}

transcript 1 zero2_activation_checkpointing_hjson.json
transcript 0 zero3.json --model gpt2-124m --ranks 8 --precision bf16
transcript 1 zero3_offload_hjson.json --reader deepspeed

# same CLASS CONFIG OPTION...: the same settings as a file and as options are the same prediction, where the program of
# the file is of this class.
same() {
	local options=("${@:3}")
	options=("${options[@]/%a100-80gb/a100-80gb:class=$1}")
	"$SHARDLAB" sim "${options[@]/%h200/h200:class=$1}" --json >"$TMPDIR/options.out"
	# shellcheck disable=SC2086
	"$SHARDLAB" sim $2 --json >"$TMPDIR/file.out" 2>"$TMPDIR/notes"
	cmp -s "$TMPDIR/options.out" "$TMPDIR/file.out" || complain "$2 is not ${*:3}"
}
# trained NAME OPTION...: the report of a training is NAME.out.
trained() {
	local name=$1
	shift
	"$SHARDLAB" train "$@" --json >"$TMPDIR/lines" 2>"$TMPDIR/err" || fail "train $*: exit status $?"
	tail -n 1 "$TMPDIR/lines" >"$TMPDIR/$name.out"
}
machine=(--model gpt2-124m --cluster a100-80gb --ranks 8)
same deepspeed "${machine[*]} --config zero3.json --micro-batch 4 --precision bf16" \
	"${machine[@]}" --strategy zero3:prefetch=530841:live=1000000000:reuse=1000000000:save=16bit --micro-batch 4 --precision bf16 --clip 1 --bucket 1179648B
same deepspeed "${machine[*]} --config zero2_activation_checkpointing_hjson.json" \
	"${machine[@]}" --strategy zero2:overlap=no --bucket 200000000B --micro-batch 8 --clip 1
grep -q 'note: activation_checkpointing is read by deepspeed.checkpointing.configure() alone' "$TMPDIR/notes" || complain 'no note'

cat >"$TMPDIR/full.json" <<-EOF
	{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "bf16": {"enabled": true},
	 "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}, "offload_optimizer": {"device": "cpu"}}}
EOF
same deepspeed "--config $TMPDIR/full.json --model gpt2-124m --cluster a100-80gb" "${machine[@]}" --precision bf16 --accumulate 4 \
	--micro-batch 2 --clip 1 --strategy zero3:prefetch=50000000:live=1000000000:reuse=1000000000 \
	--offload optimizer,parameters:staging=500001280 --bucket 1GB
grep -q 'ranks by train_batch_size: 64 = micro-batch 2 × accumulation 4 × 8 ranks' "$TMPDIR/notes" || complain 'whence the ranks'

# compare puts the other strategies beside the file's; train goes through mpirun with all of it.
"$SHARDLAB" compare --config zero3.json "${machine[@]}" --precision bf16 2>/dev/null >"$TMPDIR/compare.out"
grep -q '^ *zero3:prefetch=530841:live=1000000000:reuse=1000000000:save=16bit *single .* zero2 *fsdp' "$TMPDIR/compare.out" ||
	complain "compare: $(head -n 3 "$TMPDIR/compare.out")"
cat >"$TMPDIR/small.hjson" <<-EOF
	train_batch_size: 4  # on two ranks
	zero_optimization: {stage: 2, reduce_bucket_size: 5e4}
	optimizer: {type: "AdamW", params: {lr: 1e-3}}
EOF
trained train --config "$TMPDIR/small.hjson" --ranks 2 --steps 2
grep -q '"strategy": "zero2:overlap=no".*"batch": 4' "$TMPDIR/train.out" || complain "train: $(cut -c 1-300 "$TMPDIR/train.out")"

# overlap=no: the same weights, traffic and no more memory, and nothing is hidden.
# Under a sanitizer the strategy with the most operations says enough.
for strategy in $([ -n "${SAN-}" ] || echo zero1 zero2) zero3; do
	for overlap in yes no; do
		"$SHARDLAB" sim "${machine[@]}" --accumulate 2 --strategy $strategy:overlap=$overlap --json >"$TMPDIR/$overlap.out"
		trained train_$overlap --model mlp --ranks 3 --steps 2 --accumulate 2 --evaluate no --strategy $strategy:overlap=$overlap
	done
	[ -n "$(checksum train_no)" ] && [ "$(checksum train_no)" = "$(checksum train_yes)" ] || complain "$strategy:overlap=no: other weights"
	python3 - "$TMPDIR" <<-'EOF' || complain "$strategy:overlap=no"
		import json, sys
		yes, no = (json.load(open(f"{sys.argv[1]}/{name}.out")) for name in ("yes", "no"))
		peak = [r["roles"][0]["memory"]["device"]["peak_bytes"] for r in (yes, no)]
		assert yes["roles"][0]["communication"] == no["roles"][0]["communication"] and peak[1] <= peak[0], peak
		time = no["time"]
		assert time["exposed_s"] > yes["time"]["exposed_s"] and time["exposed_s"] > 0.7 * time["communication_s"], time
	EOF
done

# reduce=all: the same weights, and an all-reduce in place of the reduce-scatter.
for strategy in zero1 zero1:reduce=all; do
	"$SHARDLAB" sim "${machine[@]}" --strategy $strategy --json >"$TMPDIR/$strategy.out"
done
trained train_scatter --model mlp --ranks 3 --steps 2 --accumulate 2 --evaluate no --strategy zero1
for offload in none optimizer; do
	trained train_all --model mlp --ranks 3 --steps 2 --accumulate 2 --evaluate no --strategy zero1:reduce=all --offload $offload
	[ "$(checksum train_all)" = "$(checksum train_scatter)" ] || complain "zero1:reduce=all --offload $offload: other weights"
done
python3 - "$TMPDIR" <<-'EOF' || complain 'zero1:reduce=all'
	import json, sys
	scatter, every = (json.load(open(f"{sys.argv[1]}/{name}.out"))["roles"][0]["communication"]["by_kind"] for name in ("zero1", "zero1:reduce=all"))
	assert every["all_reduce"]["sent_bytes"] == 2 * scatter["reduce_scatter"]["sent_bytes"], (every, scatter)
	assert every["all_gather"]["sent_bytes"] == scatter["all_gather"]["sent_bytes"], (every, scatter)
EOF

# torchtitan's TOML, and Trainer's arguments with the DeepSpeed file that they name.
same pytorch-eager "--config ../torchtitan/hybrid.toml --ranks 8 --cluster h200" --ranks 8 --cluster h200 --model llama-3-8b \
	--strategy hybrid:shard=4 --precision bf16 --as shardlab:gradients=fp32:weights=fp32 --micro-batch 2 --accumulate 4 --sequence 4096 --clip 1 \
	--learning-rate 8e-4 --warmup 200 --decay 10000 --weight-decay 0.1
same deepspeed "--config ../trainer/deepspeed_file.json ${machine[*]}" "${machine[@]}" --micro-batch 2 --accumulate 4 --precision bf16 \
	--clip 1 --bucket 1179648B --learning-rate 2e-5 --warmup 10 --decay 1000 --weight-decay 0 --activation-checkpointing full --strategy zero3:prefetch=530841:live=1000000000:reuse=1000000000:save=16bit
same pytorch-eager "--config ../torchtitan/llama3_8b.toml --ranks 8 --cluster h200" --ranks 8 --cluster h200 --model llama-3-8b --strategy fsdp \
	--precision bf16 --as shardlab:gradients=fp32:weights=fp32 --micro-batch 1 --accumulate 1 --sequence 8192 --clip 1 --learning-rate 3e-4 --warmup 200 \
	--decay 1000 --weight-decay 0.1 --activation-checkpointing operations
sed -e '/activation_checkpoint/,/compile/s/^mode = .*/mode = "memory_budget"/' -e 's/^enable = false/enable = true/' ../torchtitan/llama3_8b.toml \
	>"$TMPDIR/budget.toml"
refused 'budget.toml:55:8: activation_checkpoint.mode "memory_budget", what the compiler chooses' "$SHARDLAB" sim --config "$TMPDIR/budget.toml" \
	--ranks 8 || complain 'a budget of memory'
refused 'deepspeed_disagrees.json:5:15: Trainer would refuse: ../trainer/used/zero2_bf16.json:4:14: bf16.enabled true disagrees' "$SHARDLAB" sim \
	--config ../trainer/deepspeed_disagrees.json "${machine[@]}" || complain 'a file that disagrees with its arguments'

# Accelerate's YAML says the ranks, and the samples are options.
accelerate=../accelerate/fsdp1_hybrid.yaml
same pytorch-eager "--config $accelerate --model llama --cluster a100-80gb --micro-batch 2" --ranks 16 --model llama \
	--cluster a100-80gb --micro-batch 2 --precision bf16 --strategy hybrid:shard=8 --activation-checkpointing full
same pytorch-eager "--config ../accelerate/fsdp1_no_wrap.yaml --model llama --cluster a100-80gb --micro-batch 2" --ranks 8 --model llama \
	--cluster a100-80gb --micro-batch 2 --precision bf16 --strategy fsdp:reshard=no:units=model --activation-checkpointing full
# A file without an ending is known by its first line, hosts say how many ranks there are, and a value that no plan has names its place.
printf 'worker-1 slots=2\nworker-2 slots=2\n' >"$TMPDIR/hosts"
printf 'per_device_train_batch_size: 1\noutput_dir: x\nbf16: true\n' >"$TMPDIR/arguments"
same pytorch-eager "--config $TMPDIR/arguments --hosts $TMPDIR/hosts --model gpt2-124m --cluster a100-80gb" --ranks 4 --model gpt2-124m \
	--cluster a100-80gb:class=pytorch-eager:node=2 --micro-batch 1 --precision bf16 --as shardlab:gradients=fp32 --strategy ddp --clip 1 --learning-rate 5e-5 --weight-decay 0
grep -q "^ranks by --hosts $TMPDIR/hosts: 2 hosts with 4 slots$" "$TMPDIR/notes" || complain "whence the ranks: $(cat "$TMPDIR/notes")"
"$SHARDLAB" sim --model gpt --hosts "$TMPDIR/hosts" --cluster a100-80gb >"$TMPDIR/hosts.out"
grep -q 'ddp on 4 ranks .* cluster a100-80gb:node=2' "$TMPDIR/hosts.out" || complain "hosts: $(head -n 1 "$TMPDIR/hosts.out")"
printf '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 16384\n' >"$TMPDIR/long"
status=0
"$SHARDLAB" sim --config "$TMPDIR/long" --hosts "$TMPDIR/hosts" >"$TMPDIR/long.out" 2>"$TMPDIR/notes" || status=$?
[ "$status" = 2 ] && [ ! -s "$TMPDIR/long.out" ] && grep -q "^fatal: .*long:5:11: training.seq_len: --sequence: 16384 is longer" "$TMPDIR/notes" ||
	complain "a sequence of the file's: $(cat "$TMPDIR/notes")"
"$SHARDLAB" config "$TMPDIR/long" --hosts "$TMPDIR/hosts" --json >"$TMPDIR/long.out"
grep -q '"planned": false' "$TMPDIR/long.out" && grep -q '"accepted": true' "$TMPDIR/long.out" || complain 'who takes it'
# What advise looks for itself may be what cannot be said.
"$SHARDLAB" advise --config "$TMPDIR/budget.toml" --ranks 8 --cluster h200 --strategy fsdp >"$TMPDIR/advise.out" 2>"$TMPDIR/notes" ||
	complain "advise: $(cat "$TMPDIR/notes")"
grep -q 'budget.toml:55:8: note: .*"memory_budget".*the search has other choices' "$TMPDIR/notes" || complain "of a budget: $(cat "$TMPDIR/notes")"

# The DeepSpeed file that it names is read too.
same deepspeed "--config ../accelerate/zero_file_alone.yaml --model gpt2-124m --cluster a100-80gb" --ranks 8 --model gpt2-124m \
	--cluster a100-80gb --micro-batch 2 --accumulate 4 --precision bf16 --clip 1 --bucket 1GB \
	--strategy zero3:prefetch=50000000:live=1000000000:reuse=1000000000:save=16bit
refused 'zero_file_missing.yaml:13:26: Accelerate would refuse: deepspeed_config_file: cannot open ' "$SHARDLAB" sim \
	--config ../accelerate/zero_file_missing.yaml || complain 'a file that is not there'
status=0
"$SHARDLAB" config ../accelerate/mixed_no.yaml >"$TMPDIR/mixed.out" 2>"$TMPDIR/err" || status=$?
[ "$status" = 1 ] && grep -q 'mixed_no.yaml:7:18: Accelerate would refuse: mixed_precision: a plain no is a flag' "$TMPDIR/mixed.out" ||
	complain "a plain no: exit status $status"

# Settings that disagree or are missing.
refused 'small.hjson:2:28 says zero2:overlap=no; leave one of them out' "$SHARDLAB" sim --config "$TMPDIR/small.hjson" --ranks 2 \
	--strategy zero3 || complain "a strategy beside the file's"
refused 'does not say how many ranks there are: give --ranks N' "$SHARDLAB" sim --config "$TMPDIR/small.hjson" || complain 'ranks'
refused 'says all that --config FILE does' "$SHARDLAB" sim --config "$TMPDIR/small.hjson" --plan x || complain 'two files'
# A batch that was typed goes before what the file leaves open, and in advise before what it says.
auto=(--config zero3.json --model gpt2-124m --ranks 8 --cluster a100-80gb --precision bf16)
"$SHARDLAB" sim "${auto[@]}" --batch 256 --json >"$TMPDIR/auto.out" 2>"$TMPDIR/notes" || complain "$(cat "$TMPDIR/notes")"
grep -q "gradient_accumulation_steps is Trainer" "$TMPDIR/notes" && complain "a default that does not hold"
grep -q "\"accumulate\": 4" "$TMPDIR/auto.out" || complain "256 = 8 × 8 × 4"
echo "{\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 2}" >"$TMPDIR/stated.json"
refused "stated.json says micro-batch 4 and accumulation 2; leave --batch out" "$SHARDLAB" sim \
	--config "$TMPDIR/stated.json" --ranks 8 --batch 128 || complain "a batch beside the file's"
"$SHARDLAB" advise --config "$TMPDIR/stated.json" --model gpt2-124m --ranks 8 --cluster a100-80gb --batch 128 >"$TMPDIR/advise.out" \
	2>"$TMPDIR/err" && grep -q "batch 128" "$TMPDIR/advise.out" || complain "advise: $(cat "$TMPDIR/err")"
printf 'distributed_type: FSDP\nnum_processes: 100000000\n' >"$TMPDIR/many.yaml"
refused "many.yaml:2:16: num_processes: --ranks: '100000000' is above 16777216" "$SHARDLAB" sim --config "$TMPDIR/many.yaml" ||
	complain 'too many ranks'
"$SHARDLAB" compare --config zero3.json --model gpt2-124m --ranks 2 --cluster a100-80gb --trace ../../torch_profiler.json \
	2>/dev/null >"$TMPDIR/trace.out"
grep -qF 'zero3:prefetch=530841:live=1000000000:reuse=1000000000:save=16bit *' "$TMPDIR/trace.out" || complain 'a strategy over a trace, cut'
refused 'needs a file' "$SHARDLAB" config || complain 'no file'
"$SHARDLAB" config zero3.json --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["accepted"]' || complain 'JSON'
exit $errors
