#!/bin/bash
# --emit: each command writes its settings as another program's configuration, and what is read again is the same.
# tests/strategy/test_emit.c covers which file comes of which settings.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
cd "$TMPDIR"

options=(--model gpt --strategy zero2 --ranks 4 --precision bf16 --bucket 1MiB --clip 1)

# On stdout there is the file alone; what it does not say is on stderr.
"$SHARDLAB" sim "${options[@]}" --seed 3 --emit deepspeed >ds.json 2>said
"$SHARDLAB" sim "${options[@]}" --json >options.out
"$SHARDLAB" sim --config ds.json --model gpt --json >file.out 2>notes
cmp -s options.out file.out || complain 'another prediction comes of what was emitted'
grep -q 'ranks by train_batch_size: 16 = ' notes || complain "whence the ranks: $(cat notes)"
[[ "$(cat said)" == *'beside the file: --model '*' --seed 3' ]] || complain "beside the file: $(cat said)"

# A default that training depends on is mentioned; a setting that was given is not.
! grep -q 'clip' said || complain "the clipping was asked for: $(cat said)"
grep -q "^deepspeed: note: its learning rate, 0.001, is shardlab's default: set yours, or give --learning-rate$" said ||
	complain "whose learning rate it is: $(cat said)"
"$SHARDLAB" sim --model gpt --strategy zero2 --ranks 4 --learning-rate 1e-3 --emit deepspeed 2>said >/dev/null
! grep -q 'learning rate' said || complain "the learning rate was asked for: $(cat said)"
grep -q '^deepspeed: note: it does not clip gradients, as no --clip was given; 1 is usual$' said || complain "unclipped: $(cat said)"

# A named file stands beside the report, and every command writes the same.
for command in sim compare; do
	"$SHARDLAB" $command "${options[@]}" --seed 3 --emit deepspeed:$command.json >report 2>said
	cmp -s ds.json $command.json || complain "$command --emit deepspeed:FILE: another file"
	grep -q 'memory' report || complain "$command: no report beside the file"
	grep -q "^$command.json: as DeepSpeed 0.19.8 reads it" said || complain "$command: $(cat said)"
done
# With --json what is said of the file is said there too, note by note.
for request in sim compare advise 'train --steps 1'; do
	"$SHARDLAB" $request --model gpt --strategy zero3 --ranks 2 --batch 8 --json --emit deepspeed:said.json 2>said >report.json ||
		complain "$request: $(cat said)"
	python3 - <<'PYTHON' || complain "$request --json: what is emitted"
import json
text = open("report.json").read()
e = json.loads(text.split("\n")[0] if text.startswith('{"') else text)["emitted"]
assert (e["file"], e["program"], e["version"]) == ("said.json", "deepspeed", "DeepSpeed 0.19.8"), e
said = open("said").read().split("\n")
assert [f"said.json: note: {n['text']}" for n in e["notes"]] == [s for s in said if "note: " in s], e
assert "beside the file: " + " ".join(e["beside"]) in said, e
sizes = [n for n in e["notes"] if n.get("option") == "--strategy"]
assert len(sizes) == 1 and "stage3_prefetch_bucket_size" in sizes[0]["key"] and sizes[0]["here"] == "zero3" and sizes[0]["why"], e
PYTHON
done

# The plan takes the rates of the program that the file is for, whichever command writes it.
"$SHARDLAB" plan --model mlp --ranks 2 --strategy zero3 >zero3.plan
for request in 'sim --strategy zero1' 'compare --strategy zero1' 'sim --plan zero3.plan' 'train --strategy zero1 --steps 1'; do
	[[ "$request" == *--plan* ]] || request+=' --model mlp --ranks 2'
	"$SHARDLAB" $request --cluster a100-80gb --emit accelerate:judged.yaml >report 2>said || complain "$request: $(cat said)"
	grep -q ' stack deepspeed' report && grep -q '^judged.yaml: note: judged as Accelerate 1.15 runs it, class deepspeed;' said ||
		complain "$request: whose rates: $(head -1 report) $(cat said)"
done
"$SHARDLAB" train "${options[@]}" --seed 3 --emit deepspeed 2>"$TMPDIR/err" >train.json || fail "train --emit: exit status $?"
cmp -s ds.json train.json || complain 'train --emit deepspeed: another file'
"$SHARDLAB" train --model mlp --ranks 2 --steps 1 --json --emit accelerate:train.yaml >steps 2>/dev/null && grep -q summary steps ||
	complain 'train --emit accelerate:FILE does not train'
grep -q '^num_processes: 2$' train.yaml || complain 'train.yaml'
"$SHARDLAB" advise --model gpt --ranks 4 --cluster a100-80gb --strategy zero1 --precision bf16 --emit deepspeed >advised.json 2>/dev/null
"$SHARDLAB" sim --config advised.json --model gpt --cluster a100-80gb --require-fit >advised.out 2>/dev/null ||
	complain 'what was advised does not fit'
# With --emit advise has no line that the program cannot be told, and says which strategies those are.
"$SHARDLAB" advise --model gpt2-124m --ranks 4 --cluster a100-80gb --precision bf16 --strategy zero1,dp,fsdp --emit torchtitan:advised.toml >advised.out 2>said ||
	complain "advise --emit torchtitan: $(cat said)"
grep -q '^data_parallel_shard_degree = 4$' advised.toml || complain 'advise --emit torchtitan: not fsdp'
grep -q '^skipped zero1: torchtitan 0.2.2: --strategy zero1 cannot be said there; ' advised.out || complain 'what torchtitan cannot be told'
! grep -q '^[0-9].* zero1 ' advised.out || complain 'a line that torchtitan cannot be told'
status=0
"$SHARDLAB" advise --model gpt --ranks 4 --cluster a100-80gb --strategy dp --emit torchtitan >advised.toml 2>said || status=$?
[ "$status" = 2 ] && [ ! -s advised.toml ] && [ "$(wc -l <said)" = 1 ] || complain "no line can be told torchtitan: status $status, $(cat said)"
# So it is with the program whose file was read; one that --emit names stands before it.
"$SHARDLAB" sim --model gpt --ranks 4 --strategy fsdp --precision bf16 --emit torchtitan >titan.toml 2>/dev/null
"$SHARDLAB" advise --config titan.toml --model gpt --cluster a100-80gb >advised.out 2>/dev/null || complain 'advise --config titan.toml'
grep -q '^skipped zero3: torchtitan 0.2.2: ' advised.out && ! grep -q '^[0-9].* zero[123] ' advised.out ||
	complain "lines that torchtitan cannot be told: $(cat advised.out)"
"$SHARDLAB" advise --config titan.toml --model gpt --cluster a100-80gb --emit deepspeed:advised.json >advised.out 2>/dev/null || complain 'from torchtitan to DeepSpeed'
grep -q '^[0-9].* zero[123] ' advised.out && ! grep -q '^[0-9].* fsdp ' advised.out || complain "not DeepSpeed's lines: $(cat advised.out)"

# Accelerate's few keys for DeepSpeed say no bucket: a second file does.
"$SHARDLAB" sim "${options[@]}" --emit accelerate:launch.yaml 2>said >/dev/null
grep -q '^launch.yaml: as Accelerate 1.15 reads it, with launch.deepspeed.json$' said || complain "two files: $(cat said)"
"$SHARDLAB" sim --config launch.yaml --model gpt --json >file.out 2>/dev/null
cmp -s options.out file.out || complain 'another prediction comes of two files'
status=0
"$SHARDLAB" sim --config launch.deepspeed.json --model gpt --ranks 4 --emit accelerate:launch.yaml >/dev/null 2>said || status=$?
[ "$status" = 2 ] && grep -q "'launch.deepspeed.json' is what is read for --config" said || complain "over what is read: $(cat said)"

# From a file: its batch and precision, its strategy first, and its own plan beside the best line.
"$SHARDLAB" advise --config ds.json --model gpt --cluster a100-80gb --json >advice.json 2>/dev/null
python3 - <<'PYTHON' || complain 'advise --config'
import json
a = json.load(open("advice.json"))
assert (a["ranks"], a["batch"]) == (4, 16) and {f["precision"] for f in a["fits"]} == {"bf16"}, a
own = [f for f in a["fits"] if f["strategy"] == a["file"]["strategy"]]
assert a["file"]["strategy"].startswith("zero2") and own and min(f["step_s"] for f in own) <= a["file"]["step_s"], a["file"]
PYTHON

status=0
"$SHARDLAB" sim --config ds.json --model gpt --emit deepspeed:ds.json >/dev/null 2>said || status=$?
[ "$status" = 2 ] && grep -q "^fatal: --emit: 'ds.json' is what is read for --config" said || complain "over what is read: $(cat said)"
exit $errors
