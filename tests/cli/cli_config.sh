#!/bin/bash
# A model by its folder or its config.json, under every command that takes --model, and the folders that are none.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

configs=$PWD/tests/golden/configs
cd "$TMPDIR"

# folder NAME FILE: a folder with that file as its config.json.
folder() {
	mkdir -p "$1"
	cp "$configs/$2.json" "$1/config.json"
}

# says PATTERN FILE: the pattern stands in what was printed.
says() {
	grep -qF -- "$1" "$2" || fail "no '$1' in $2"
}

# ---- what it is called, and what it is ----

folder Qwen2.5-7B qwen2.5-7b
folder hub/models--meta-llama--Llama-3.2-1B/snapshots/4e20de362430cd3b72f300e6b0f18e50e7166e08 llama-3.2-1b
folder 'my model,v2' llama-3.2-1b
big=(--sequence 2048 --ranks 8 --cluster h100 --precision bf16)
for path in Qwen2.5-7B ./Qwen2.5-7B ./Qwen2.5-7B/ Qwen2.5-7B/config.json "$PWD/Qwen2.5-7B"; do
	[ "$path" = Qwen2.5-7B ] && continue # the alias of a preset
	run sim sim --model "$path" --strategy fsdp "${big[@]}"
	says 'Qwen2.5-7B, 7,615,616,512 parameters' sim.out
done
run preset sim --model Qwen2.5-7B --strategy fsdp "${big[@]}"
says 'qwen2.5-7b, 7,615,616,512 parameters' preset.out
run hub sim --model hub/models*/snapshots/* --strategy fsdp "${big[@]}"
says 'Llama-3.2-1B, 1,235,814,400 parameters' hub.out
run spaces sim --model 'my model,v2' --strategy fsdp "${big[@]}"
says 'my-model-v2, 1,235,814,400 parameters' spaces.out
(cd Qwen2.5-7B && run here sim --model . --strategy fsdp "${big[@]}" && says 'Qwen2.5-7B, ' "$TMPDIR/here.out")
run link sim --model "$configs/gpt2.json:layers=2,name=small" --ranks 2 --json
says '"name": "small"' link.out

# A context of 131,072 tokens is said, not cut.
run long sim --model ./Qwen2.5-7B --strategy fsdp --ranks 8 --cluster h100 --precision bf16
says 'sequence 131072' long.out
says "the model's whole context (--sequence T)" long.out
grep -q 'whole context' sim.out && fail 'a sequence that was given is called the context'

# ---- every command ----

printf '{"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "max_position_embeddings": 32, "vocab_size": 256,
 "rms_norm_eps": 1e-5}' >tiny.json
words=llama:layers=2,width=32,heads=4,kv_heads=2,hidden=48,context=32
run plan plan --model ./tiny.json --strategy zero3 --ranks 2
says 'set model llama:layers=2,width=32,' plan.out
says ',name=tiny' plan.out
"$SHARDLAB" plan --model $words --strategy zero3 --ranks 2 >words.out
diff <(sed 's/,name=tiny//' plan.out) words.out >/dev/null || fail 'another plan than that of the keys'
run again sim --plan plan.out
says 'tiny, ' again.out
run compare compare --model ./tiny.json --ranks 2
run view view --model ./tiny.json --ranks 2 --describe
run what view --model gpt --what-if model=./tiny.json --ranks 2 --export what.png
"$SHARDLAB" train --model ./tiny.json --strategy zero3 --ranks 2 --steps 2 --json >train.out 2>err || fail 'train'
"$SHARDLAB" train --model $words --strategy zero3 --ranks 2 --steps 2 --json >words.out 2>err || fail 'train, by keys'
[ -n "$(checksum train)" ] && [ "$(checksum train)" = "$(checksum words)" ] || fail 'another model than that of the keys'
"$SHARDLAB" validate --model ./tiny.json --strategy ddp --ranks 2 --steps 2 --cluster laptop --json >validate.out 2>err || [ $? = 1 ] ||
	fail 'validate'
says '"strategy": "ddp"' validate.out

# ---- what is refused ----

refuse 'there is no such file or folder, and nothing is downloaded' sim --model Qwen/Qwen2.5-7B
refuse "unknown model 'Qwen2.5-8B'" sim --model Qwen2.5-8B
refuse 'there is no such file or folder' train --model ./nope.json
mkdir empty adapter both diffusion meta
refuse 'the folder has no config.json' sim --model ./empty
printf '{"peft_type": "LORA"}' | tee adapter/adapter_config.json >both/adapter_config.json
cp tiny.json both/config.json
refuse 'the folder holds an adapter (adapter_config.json)' sim --model ./adapter
refuse 'the folder holds an adapter (adapter_config.json)' sim --model ./both
refuse 'adapter_config.json: peft_type: an adapter, not a model' sim --model adapter/adapter_config.json
echo '{}' | tee diffusion/model_index.json >meta/params.json
refuse 'a pipeline of diffusers' sim --model ./diffusion
refuse "Meta's or Mistral's own form of a model" sim --model ./meta
printf 'x' >model.safetensors
refuse "a file of weights; the model's sizes are in the config.json beside it" sim --model ./model.safetensors
printf '{\n  "model_type": "llama",\n  "hidden_size": 64,,\n}' >comma.json
refuse 'comma.json:3:21: not JSON' sim --model ./comma.json
head -c 100 tiny.json >cut.json
refuse 'cut.json:2:' train --model ./cut.json
refuse "tiny.json: --model llama: unknown key 'layer' (did you mean layers?)" sim --model ./tiny.json:layer=3
refuse "layers: '0' is below 1" sim --model ./tiny.json:layers=0
refuse '129 is longer than the context of llama, 32' sim --model ./tiny.json --sequence 129
refuse "hidden_size: 30 is not divisible by 4 heads" sim --model <(sed 's/: 32,/: 30,/' tiny.json)
refuse 'larger than 4 MiB' sim --model /dev/zero
mkfifo empty/config.json
refuse "--model: 'empty/config.json' is a FIFO" sim --model empty/
refuse "--plan: 'empty/config.json' is a FIFO" sim --plan empty/config.json
[ "$errors" = 0 ]
