#!/bin/bash
# Bad input to the command: one line on stderr that names what is wrong, exit status 2, nothing on stdout, and no file
# left behind.
set -uo pipefail
. "$(dirname "$0")/../support/commands.sh"

place=$TMPDIR/place
mkdir "$place"

# Started several times by a launcher that does not connect the ranks.
export SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4
for command in train validate calibrate; do
	refuse 'started by srun as one of 4, which MPI does not connect' $command --ranks 2
done
unset SLURM_PROCID SLURM_STEP_NUM_TASKS
export LOCAL_RANK=0 WORLD_SIZE=2
refuse 'started by torchrun, accelerate or deepspeed as one of 2' train --ranks 2
unset LOCAL_RANK WORLD_SIZE

# Hosts.
printf 'node1 slots=2\nnode2 slot=2\n' >"$place/hosts"
for command in train validate calibrate; do
	refuse "hosts:2:7: after a host's name stands nothing or slots=N" $command --hosts "$place/hosts"
done
printf 'node1 slots=2\n' >"$place/hosts"
refuse '--ranks 4: the hosts have slots for 2; use fewer' train --ranks 4 --hosts "$place/hosts"
refuse 'nowhere' train --hosts "$place/nowhere"
rm "$place/hosts"

# A cluster by a count of its devices, as people write it.
for typed in 'h100 x 8' h100x8 '8 h100' '8*h100' 8h100 h100:8 'H100 X 8'; do
	refuse "--cluster: unknown cluster '$typed' (did you mean 8xh100?)" sim --cluster "$typed"
done
refuse "--cluster: unknown cluster 'h100x8' (did you mean 8xh100?)" sim --ranks 16 --cluster 2xh100x8
refuse "--cluster: unknown cluster '0xh100'" sim --cluster 0xh100
refuse "--cluster: unknown cluster '8xlocal' (did you mean local with 8 ranks?)" sim --cluster 8xlocal
refuse "unknown cluster 'a100' (did you mean a100-40gb, " sim --ranks 8 --cluster 8xa100
refuse '--cluster 2x8xh100 has 16 devices, and there are 17 ranks' sim --ranks 17 --cluster 2x8xh100
refuse '--cluster 8xh100:node=4: node=N, and how many devices a node has is said before it' sim --ranks 8 --cluster 8xh100:node=4
refuse '8xh100:node=4: node=N, and how many devices a node has is said before it' cluster 8xh100:node=4
# Where the count would be the ranks, the one line is that of the mistake.
refuse "unknown cluster 'a100' (did you mean a100-40gb, " sim --cluster 8xa100
refuse "unknown strategy 'zero9'" sim --cluster 8xh100 --strategy zero9
refuse 'micro-batch' sim --cluster 8xh100 --micro-batch 2 --accumulate 1 --batch 5

# Commands and the form of options.
refuse 'no command'
refuse "'frobnicate'" frobnicate
refuse 'did you mean train' tran
refuse 'did you mean --ranks' sim --rnaks 4
refuse 'unknown option --bogus; see: shardlab help view' view --bogus
refuse "--ranks: '1e9' is above 16777216" sim --ranks 1e9
refuse "--pair: unknown strategy 'foo'" view --pair foo --describe
refuse '--pair pipeline: 64 ranks' view --model mlp --ranks 64 --pair pipeline --describe
refuse "no help on 'nope'" help nope
refuse 'did you mean offload?' help ofload
refuse 'there is no option --nodes: the cluster says how many ranks a node has' sim --nodes 2
refuse 'did you mean a100-40gb, a100-80gb, a100-pcie-40gb or a100-pcie-80gb?' sim --cluster a100
refuse 'did you mean zero1, zero2 or zero3?' sim --strategy zero4
# Another MPI's launcher, whose ranks each are alone.
PMI_RANK=1 PMI_SIZE=2 refuse 'the launcher started 2 ranks and they did not connect' train --ranks 2 --steps 1
refuse "unknown cluster '4090' (did you mean rtx-4090?); all of them: " sim --cluster 4090
refuse "unknown cluster 'p5' (did you mean p5.48xlarge or p5en.48xlarge?); all of them: " sim --cluster p5
refuse "unknown cluster 'zx81'; all of them: shardlab help clusters, or a file (./NAME.yaml)" sim --cluster zx81
refuse '(did you mean bf16?)' sim --precision bfloat16
refuse '(did you mean fp16?)' sim --precision float16
refuse '(did you mean fp16?)' sim --precision half
refuse '(did you mean optimizer?)' sim --offload cpu
refuse '(did you mean adamw?)' sim --optimizer adam
refuse 'shardlab calls it --batch N' sim --batchsize 3
refuse '(did you mean zero1, zero2 or zero3?)' sim --strategy deepspeed
refuse '(did you mean --version?)' version
refuse '(did you mean precision?)' help fp16
refuse 'or offload?)' help nvme
refuse '(did you mean bash or zsh?)' help completion
refuse '--batch 3 is not divisible by 2 ranks' sim --ranks 2 --batch 3
refuse 'did you mean gpt?' sim --model gtp
refuse 'did you mean h100?' sim --cluster h100-80gb
refuse "'7b' is not a whole number; say 7B" sim --model params=7b
refuse "no help on 'zero4' (did you mean zero1, zero2 or zero3?)" help zero4
refuse "no help on 'clustr' (did you mean cluster?)" help clustr
refuse "params=46.7e9:units=32 has the model states of Mixtral 8x7B" sim --model mixtral
refuse "no help on 'llama' alone; shardlab help models has it" help llama
refuse 'did you mean llama-2-7b?' sim --model llama-7b
refuse '--bucket 25: of what? 25MiB, 25MB, or 25B if bytes are meant' sim --bucket 25
refuse "'7X' is not a whole number" sim --model params=7X
refuse 'did you mean --ranks' sim --rank 4
refuse 'unknown option --zork' sim --zork 1
refuse "the demo's batch of 512 is not divisible by it" demo --ranks 3
for command in train validate calibrate; do
	refuse "more than 64 for each of this machine's" $command --ranks 100000
done
refuse 'unknown option --gradient_accumulation_steps; shardlab calls it --accumulate N' sim --gradient_accumulation_steps 4
refuse 'unknown option --nproc; shardlab calls it --ranks N' calibrate --nproc 4
refuse 'collective needs a name' collective --ranks 4
refuse 'did you mean ring-all-reduce?' collective ring-all-redue
refuse 'at least 2 ranks' collective ring-all-reduce --ranks 1
refuse 'not empty' collective ring-all-reduce --bytes 0
refuse 'a multiple of 4 bytes' collective ring-all-reduce --bytes 42
refuse 'up to 4 numbers' collective tree-sum --bytes 1MB
refuse "unexpected argument 'ring'" collective ring-all-reduce ring
refuse 'did you mean tree-broadcast?' view --collective tree-brodcast
refuse 'leave out --model' view --collective ring-all-reduce --model mlp
refuse 'leave out --collective' view --collective ring-all-reduce --pair zero3 --describe
refuse '--describe says what all scenes show: leave out --scene' view --describe --scene memory
refuse '--bytes is of one collective' view --bytes 40
refuse 'leave out --compare' view --ask --compare ddp,zero3 --describe
refuse 'leave out --pair' view --ask --pair zero3 --describe
refuse 'a trace of another program has none' view --ask --trace tests/golden/torch_profiler.json --describe
refuse 'draws one question' view --ask --export "$TMPDIR/x.gif"
refuse '--race and --build each fill the picture: leave out one' view --race all-reduce --build --describe
refuse 'leave out one' view --ask --what-if ranks=2 --export "$TMPDIR/x.png"
refuse 'draws one question' view --ask --pages all --export "$TMPDIR/x.pdf"
refuse 'unknown option --bf16; see: shardlab help demo' demo --bf16
refuse 'these commands have it: train, validate, demo' sim --steps 3
refuse '--ranks needs a value' sim --ranks
refuse '--ranks needs a value' sim --ranks --json
refuse 'given twice' sim --ranks 2 --ranks=2
refuse "unexpected argument 'four'" sim four
refuse '--json takes no value' sim --json=yes

# Numbers.
for value in 0 -1 -9223372036854775808; do
	refuse "is below 1" sim --ranks "$value"
	refuse "is below 1" sim --batch "$value"
done
for value in 1e30 99999999999999999999; do
	refuse 'is too large' sim --ranks "$value"
	refuse 'is too large' sim --bucket "$value"
done
for value in '' x 0x10 nan inf 1.5 4,000 '3 '; do
	refuse "--ranks: '$value'" sim --ranks "$value"
done
refuse '--batch' sim --batch 1e15
refuse "'5XB' is not a number of bytes" sim --bucket 5XB
refuse "'nan' is not a number" sim --learning-rate nan
refuse "'-1' is below 0" sim --clip -1
refuse 'is not divisible by' sim --ranks 2 --batch 3
refuse 'is not divisible by' sim --ranks 2 --batch 8 --micro-batch 3
refuse 'leave one of them out' sim --ranks 2 --batch 8 --micro-batch 2 --accumulate 3
refuse 'more than the model has elements' sim --model mlp:sizes=4-4-2 --ranks 31

# Names.
refuse "unknown model 'nope'" sim --model nope
refuse "unknown model '7b': a model of which only the size is known is params=7B; one with layers has a name, as llama-2-7b" sim --model 7b
refuse 'unknown option --tp; shardlab calls it --strategy' sim --tp 2
refuse "unknown strategy 'stage3' (did you mean zero3?)" sim --strategy stage3
echo '{}' >ds.json
refuse "unexpected argument 'ds.json'; a configuration is read with --config ds.json" sim ds.json
refuse "'ds.json' is no command; what a configuration says: shardlab config ds.json" ds.json
rm ds.json
refuse "no help on 'nodes' (did you mean ranks?)" help nodes
refuse "unknown command 'simulate' (did you mean sim?)" simulate
refuse "unknown model 'gpt2-124' (did you mean gpt2-124m?)" sim --model gpt2-124
refuse "unknown model '{ranks}'" sim --model '{ranks}'
refuse "unknown key 'layer' (did you mean layers?)" sim --model gpt:layer=1
refuse "layers: '0'" sim --model gpt:layers=0
refuse '--sequence' sim --model gpt --sequence 129
refuse '--sequence: 129 is longer than the context of llama, 128' sim --model llama --sequence 129
refuse '8 heads are not divisible among 3 heads of keys; choose kv_heads' sim --model llama:kv_heads=3
refuse 'head_size must be even, from 4 to 256' sim --model llama:head_size=7
refuse "tied: 'maybe' is not one of: yes, no" sim --model llama:tied=maybe
refuse "theta: 'x' is not a number" sim --model llama:theta=x
refuse 'theta must be above 1' sim --model llama:theta=1
refuse 'factor has no meaning with scaling=none; leave it out' sim --model llama:factor=4
refuse 'low has no meaning with scaling=linear; leave it out' sim --model llama:scaling=linear,factor=4,low=1
refuse 'scaling=yarn needs factor=R' sim --model llama:scaling=yarn,original=64
refuse 'low must be below high' sim --model llama:scaling=llama3,factor=4,low=4
refuse '4 heads of keys and values of block.0.rotary do not divide by 8 ranks' sim --model llama --strategy tensor --ranks 8
refuse 'at most 2,000 layers and 2^53 parameters' sim --model llama:layers=2001
refuse '--sequence' sim --model mlp --sequence 4
refuse "unknown strategy 'nope'" sim --strategy nope
refuse "unknown strategy 'nope'" compare --strategy ddp,nope
refuse 'an empty name' compare --strategy ddp,,zero1
refuse 'takes one strategy' sim --strategy all
refuse 'takes one strategy' train --strategy ddp,zero1
refuse '--strategy single runs on one rank' sim --strategy single --ranks 2
refuse '9 ranks are 9 stages, and gpt has 8 segments' sim --model gpt --strategy pipeline --ranks 9
refuse '4 ranks are 4 stages, and mlp has 3 segments' train --model mlp:sizes=784-8-8-10 --strategy model --ranks 4
refuse "schedule: '2f2b' is not one of: 1f1b, gpipe" sim --strategy pipeline:schedule=2f2b --ranks 2
refuse 'shard=3 does not divide 4 ranks' sim --strategy hybrid:shard=3 --ranks 4
refuse 'shard=2 does not divide 3 ranks' train --strategy hybrid --ranks 3
refuse 'shard=0 does not divide' sim --strategy hybrid:shard=0 --ranks 4
refuse "shard: 'x'" sim --strategy hybrid:shard=x --ranks 4
refuse 'data ranks × accumulate = 1 × 3' sim --strategy pipeline --ranks 2 --batch 8 --accumulate 3
refuse 'there is no shard to gather from' sim --strategy pipeline --ranks 2 --offload optimizer,parameters
refuse '--strategy single runs on one rank' compare --strategy single --ranks 2
refuse "unknown cluster 'nope'" sim --cluster nope
refuse "'fp9'" sim --precision fp9
refuse "'fp9'" compare --precision bf16/fp9
refuse "'bf16/fp16' is not one of" sim --precision bf16/fp16
refuse 'an alternative is empty' compare --offload none//optimizer
refuse 'more than 64 combinations' compare --offload none/none/none/none/none --precision fp32/bf16/fp16 \
	--activation-checkpointing none/full/none/full/none
refuse "'adam'" sim --optimizer adam
refuse "no role 'boss'" plan --role boss
refuse "'xml'" plan --format xml
refuse 'two formats' plan --json --format dot

# A setting that this version cannot carry out is refused, not ignored.
refuse 'deepspeed.json' sim --config deepspeed.json
refuse 'config needs a file' config
refuse 'has no option --config' view --config deepspeed.json
refuse 'must end in .csv' compare --export "$place/picture.bmp"
refuse 'scales the loss of fp16' train --precision bf16 --loss-scale 1024
refuse 'scales the loss of fp16' validate --loss-scaler pytorch
refuse 'is not one of: deepspeed, pytorch' sim --precision fp16 --loss-scaler apex
refuse 'below the minimum' train --precision fp16 --loss-scale 0.5
refuse '0' train --precision fp16 --loss-scale 0
refuse '99999999' sim --precision fp16 --loss-scale-window 99999999
refuse '--stochastic-rounding rounds 16-bit parameters' sim --stochastic-rounding
refuse "--weight-decay is adamw's" sim --optimizer sgd --weight-decay 0.1
refuse '--stochastic-rounding rounds 16-bit parameters' train --stochastic-rounding --precision fp32
refuse 'say --device cuda' train --tf32
refuse '--precision is bf16' sim --tf32 --precision bf16 --cluster h100
refuse 'cluster laptop has no rate of it' sim --tf32 --cluster laptop
refuse 'cluster v100-16gb has no rate of it' sim --tf32 --cluster v100-16gb
refuse 'no rate for' sim --model gpt --precision bf16 --cluster v100-16gb

# Offload: its kinds, its destination, its combinations.
refuse "'gradients' is not one of: none, optimizer, parameters, activations" sim --offload gradients
refuse "'' is not one of" sim --offload optimizer,
refuse 'optimizer is given twice' sim --offload optimizer,optimizer
refuse "unknown key 'to'; it has none" sim --offload activations:to=tape
refuse "to: 'tape' is not one of: host, disk" sim --offload optimizer:to=tape
refuse 'to is given twice' sim --offload optimizer:to=disk:to=host
refuse "unknown key 'delayed'; known: to" sim --offload parameters:delayed=yes
refuse "delayed: 'maybe' is not one of: no, yes" sim --offload optimizer:delayed=maybe
refuse 'none stands alone' sim --offload optimizer,none
refuse 'there is no shard to gather from' sim --strategy ddp --ranks 2 --offload optimizer,parameters
refuse 'there is no shard to gather from' train --strategy zero2 --ranks 2 --offload optimizer,parameters
refuse 'say --offload optimizer,parameters' sim --strategy zero3 --ranks 2 --offload parameters
refuse 'there is no shard to gather from' sim --strategy dp --ranks 2 --offload optimizer,parameters
refuse 'say --offload optimizer,parameters' sim --strategy hybrid --ranks 4 --offload parameters
refuse 'there is no shard to gather from' sim --model gpt --strategy tensor --ranks 2 --offload optimizer,parameters
refuse 'sgd has no optimizer state' sim --strategy zero3 --ranks 2 --optimizer sgd \
	--offload optimizer:to=disk,parameters
refuse 'use to=host' sim --strategy zero2 --ranks 2 --offload optimizer:to=disk:delayed=yes
refuse 'leave parameters on the device' sim --strategy zero3 --ranks 2 --offload optimizer:delayed=yes,parameters
refuse 'keeps checkpoints in one block on the device' sim --model gpt --offload activations \
	--activation-checkpointing full:contiguous_memory_optimization=yes

# The folder for the disk: missing, not there, read-only, not needed, too full for all ranks (a file may not grow that
# far here). Nothing is left in it.
disk=(--model mlp:sizes=784-32-10 --strategy zero2 --ranks 2 --offload optimizer:to=disk)
refuse '--offload-folder PATH says where' train "${disk[@]}"
refuse "cannot write in '$place/none'" train "${disk[@]}" --offload-folder "$place/none"
refuse "cannot write in '/proc/self'" train "${disk[@]}" --offload-folder /proc/self
refuse 'keeps nothing on disk' train --model mlp --offload-folder "$place"
(
	trap '' XFSZ
	ulimit -f 100
	refuse "has no room for" train "${disk[@]}" --offload-folder "$place"
	exit $errors
) || errors=$((errors + 1))

# Control characters of arguments and files reach no terminal.
printf 'name: "x\033[31m"\nkind: \001cpu\n' >"$TMPDIR/control.yaml"
printf 'plan \033]0;x\007\n' >"$TMPDIR/control.plan"
for arguments in $'--model\tmlp\e[31m' $'--model\ta\nb' $'--model\tx\xc2\x9b31m' $'--strategy\t\xff' $'--strategy\tx\u202ey' \
	$'--cluster\tno\e[2Jfile' $'--trace\t/none\r/x' "--cluster"$'\t'"$TMPDIR/control.yaml" "--plan"$'\t'"$TMPDIR/control.plan"; do
	refuse '' sim "${arguments%%$'\t'*}" "${arguments#*$'\t'}"
	[ -z "$(LC_ALL=C tr -d '\n -~' <"$TMPDIR/err")" ] || complain "a control character is echoed: $(cat -A "$TMPDIR/err")"
done

# Neither do those of names that are right.
odd=$TMPDIR/$'a\e[31mb\rc'
cp tests/golden/text.txt "$odd.txt"
tiny=(--model gpt:layers=1,width=16,heads=2,context=8 --data "$odd.txt")
while read -r words; do
	eval "arguments=($words)"
	"$SHARDLAB" "${arguments[@]}" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null || complain "$words: $(cat -A "$TMPDIR/err")"
	[ -z "$(LC_ALL=C tr -d '\n\040-\377' <"$TMPDIR/out")$(LC_ALL=C tr -d '\n\040-\377' <"$TMPDIR/err")" ] ||
		complain "a control character is echoed: $words: $(cat -A "$TMPDIR/out" "$TMPDIR/err")"
done <<'END'
train "${tiny[@]}" --steps 1 --evaluate no --save "$odd" --checkpoint "$odd.run" --log "$odd.csv" --plot "$odd.svg" --trace "$odd.trace"
checkpoint show "$odd.run"
checkpoint verify "$odd.run"
checkpoint weights "$odd.run" --save "$odd.weights"
sim --model "$odd" --micro-batch 1 --cluster laptop
sim --model gpt --ranks 2 --cluster laptop --emit deepspeed:"$odd.json"
sim --model gpt --config "$odd.json" --cluster laptop
config "$odd.json"
END

# A machine that is too small for what it should train.
cat >"$SHARDLAB_CONFIG" <<-EOF
	name: local
	kind: cpu
	node: {cores: 2, memory: 300MB, memory_bandwidth: 20e9}
	device: {threads: 1, overhead: 64MiB, memory_bandwidth: 12e9, launch: 1e-6, collective_launch: 5e-6, collective_cores: 0.5}
	compute: {default: {fp32: 5e9}, linear: {fp32: 50e9}}
	link: {latency: 2e-6, bandwidth: 5e9}
EOF
small=(--model gpt --ranks 2 --steps 1)
refuse 'does not fit this machine: its ranks take 3' train "${small[@]}"
refuse 'would fit with: --micro-batch ' train "${small[@]}" --activation-checkpointing full
refuse 'nothing that was tried would fit: take a smaller model; --force starts it all the same' train --model gpt2-124m --ranks 2
refuse 'does not fit this machine' validate "${small[@]}" --strategy ddp
"$SHARDLAB" train "${small[@]}" --force >"$TMPDIR/forced.out" 2>"$TMPDIR/err" || fail 'train --force'
grep -q '^step ' "$TMPDIR/forced.out" || complain 'train --force does not train'
rm "$SHARDLAB_CONFIG"

# Advice.
refuse "--emit: unknown program 'deepsped' (did you mean deepspeed?)" sim --emit deepsped
refuse "'pytorch' (did you mean accelerate or torchtitan?)" sim --emit pytorch
refuse "'fsdp' (did you mean accelerate, trainer or torchtitan?)" sim --emit fsdp
refuse "'zero3' (did you mean deepspeed?)" sim --emit zero3:ds.json
refuse 'the name of a file is missing behind the colon' sim --emit deepspeed:
refuse 'both write to stdout; say --emit deepspeed:FILE' sim --emit deepspeed --json
refuse '--strategy dp cannot be said there; single, ddp' sim --ranks 2 --strategy dp --emit deepspeed
refuse '--offload optimizer cannot be said there; optimizer,parameters can' sim --ranks 2 --strategy fsdp --offload optimizer --emit accelerate
refuse 'writes one strategy in one combination, and these are 7' compare --emit deepspeed
refuse '--emit' sim --emit deepspeed:nowhere/ds.json
refuse 'plan has no option --emit' plan --emit deepspeed
refuse "unknown model 'nope'" advise --model nope
refuse "unknown strategy 'nope'" advise --strategy ddp,nope
refuse 'an empty name in the list' advise --strategy ddp,
refuse "unknown cluster 'nope'" advise --cluster nope
refuse "'fp9' is not one of" advise --precision bf16/fp9
refuse "'half' is not one of" advise --activation-checkpointing none/half
refuse 'more than 4 alternatives' advise --offload none/optimizer/activations/parameters/optimizer,parameters
refuse 'an alternative is empty' advise --offload none/
refuse 'is not divisible by' advise --ranks 4 --batch 6
refuse 'is not divisible by' advise --ranks 4 --batch 8 --micro-batch 3
refuse "--margin: '91' is above 90" advise --margin 91
refuse "--margin: 'x' is not a number" advise --margin x
refuse 'no rate for' advise --cluster v100-16gb --precision bf16
refuse 'single runs on one rank' advise --strategy single --ranks 2
refuse 'do not divide by 3 ranks' advise --model llama --strategy tensor --ranks 3 --batch 3
refuse 'advise has no option --steps' advise --steps 3
refuse '--plan' advise --plan x

# Files.
refuse 'No such file' sim --cluster "$place/none.yaml"
refuse 'No such file' plan --plan "$place/none"
echo 'not a plan' >"$TMPDIR/plan"
refuse "$TMPDIR/plan:1:1: " plan --plan "$TMPDIR/plan"
refuse '--ranks already' plan --plan "$TMPDIR/plan" --ranks 2
refuse 'cannot write' sim --trace "$place/none/trace.json"
refuse 'it is a folder' sim --trace "$place"
refuse 'cannot write' compare --export "$place/none/figures.csv"
refuse 'cannot write' train --trace "$place/none/trace.json"
refuse "$place/none" train --data "$place/none"
refuse "--init $place/none: there is no such file or folder" train --init "$place/none" --sequence 64
mkdir "$TMPDIR/lora"
echo '{"peft_type": "LORA"}' >"$TMPDIR/lora/adapter_config.json"
for model in '' '--model llama'; do
	# shellcheck disable=SC2086
	refuse "--init $TMPDIR/lora: the folder holds an adapter" train --init "$TMPDIR/lora" $model
done
refuse "$place/none" train --save "$place/none/weights.safetensors"
refuse "$TMPDIR/plan" train --model gpt --init "$TMPDIR/plan"
refuse 'cannot be trained' train --model params=1e6

# Traces of a profiler.
printf '{"traceEvents": [{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}' >"$TMPDIR/cut.json"
printf '%s]}' "$(cat "$TMPDIR/cut.json")" >"$TMPDIR/no_steps.json"
host=tests/fuzz/corpus/trace/steps_host.json
refuse 'trace needs a file: shardlab trace rank0.json' trace
refuse "trace: cannot open '$place/none': No such file" trace "$place/none"
refuse "trace: cannot read '$place': a folder" trace "$place"
refuse "$TMPDIR/plan:1:1: " trace "$TMPDIR/plan"
refuse "$TMPDIR/cut.json:1:" trace "$TMPDIR/cut.json"
refuse 'no range ProfilerStep#N in it' trace "$TMPDIR/no_steps.json"
refuse "$host and $host: both are of rank 1" trace "$host" "$host"
refuse 'give traces of one run' trace "$host" tests/golden/torch_profiler.json
refuse 'trace has no option --ranks' trace "$host" --ranks 2
refuse "--trace: cannot open ''" compare --trace "$host," --cluster laptop
refuse '--trace is of one configuration, and --precision fp32/bf16 are several' compare --trace "$host" --precision fp32/bf16

# No mpirun.
program=env refuse 'no mpirun' PATH="$place" "$SHARDLAB" train --ranks 2

left=$(ls "$place")
[ -z "$left" ] || complain "left behind: $left"
