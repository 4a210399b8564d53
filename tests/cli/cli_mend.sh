#!/bin/bash
# A configuration whose plan does not fit: the change is a command, since its options cannot stand beside the file. The
# command runs as it is printed, fits in the step that was promised, and writes a file of the program whose file it was.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

cd "$TMPDIR"
mkdir bin && ln -s "$SHARDLAB" bin/shardlab && PATH=$TMPDIR/bin:$PATH

cat >deepspeed.json <<'END'
{"bf16": {"enabled": true}, "zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 32}
END
cat >accelerate.yaml <<'END'
distributed_type: FSDP
mixed_precision: bf16
num_processes: 4
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_reshard_after_forward: false
END
cat >trainer.json <<'END'
{"output_dir": "out", "bf16": true, "per_device_train_batch_size": 32}
END
cat >torchtitan.toml <<'END'
[training]
local_batch_size = 32
seq_len = 1024
[parallelism]
data_parallel_shard_degree = 4
[activation_checkpoint]
mode = "none"
END

step_of() { sed -n 's/^  step  *\([0-9.]* [a-zµ]*\).*/\1/p' "$1" | head -n 1; }

# mends PROGRAM FILE OPTION...: PROGRAM is whose file it was. --emit writes one, unless the change cannot be said there.
mends() {
	local program=$1 file=$2 command step
	shift 2
	shardlab sim --config "$file" --cluster a100-40gb "$@" >before 2>err || fail "sim --config $file: $(cat err)"
	command=$(sed -n 's/^  would fit, in .* a step, in place of the file: //p' before)
	step=$(sed -n 's/^  would fit, in \(.*\) a step, in place of the file: .*/\1/p' before)
	[ -n "$command" ] || fail "$file: no command in $(grep fit before)"
	eval "$command" >after 2>err || fail "$command: $(cat err)"
	grep -q 'fits: ' after && ! grep -q 'are missing' after || complain "$command: does not fit"
	[ "$(step_of after)" = "$step" ] || complain "$command: not $step: $(step_of after)"
	eval "$command" "--emit $program" >again 2>err || true
	if grep -qF -- "--emit $program:FILE" before; then
		[ -s again ] || complain "$file: nothing was written: $(cat err)"
	else
		grep -q 'cannot be said there' err || complain "$file: no way to write a $program file"
	fi
}

mkdir 'a model' && cat >'a model/config.json' <<'END'
{"model_type": "gpt2", "n_layer": 48, "n_embd": 1600, "n_head": 25, "n_positions": 1024, "vocab_size": 50257}
END
mends deepspeed deepspeed.json --model gpt2-1558m --ranks 4
[ -s again ] || complain "deepspeed.json: the change cannot be written: $(cat err)"
mends deepspeed deepspeed.json --model 'a model' --ranks 4 # a path with a space
mends accelerate accelerate.yaml --model gpt2-1558m --micro-batch 32
mends trainer trainer.json --model gpt2-1558m --ranks 4
mends torchtitan torchtitan.toml --model gpt2-1558m
mends deepspeed deepspeed.json --model gpt2-1558m --ranks 4 --activation-checkpointing none # said beside the file

# The same as JSON, and in compare.
shardlab sim --config deepspeed.json --model gpt2-1558m --ranks 4 --cluster a100-40gb --json >report 2>err
grep -q '"command": "shardlab sim ' report ||
	complain 'no command in JSON'
shardlab compare --config deepspeed.json --model gpt2-1558m --ranks 4 --cluster a100-40gb --strategy ddp,zero1 >report 2>err
grep -q '^  would fit, in .* in place of the file: shardlab sim ' report || complain 'no command of compare'
