#!/bin/bash
# Weights in folders: what --save FOLDER writes, --init FOLDER reads, on any number of ranks; a folder comes whole or not
# at all, with what text becomes tokens by; and what is wrong is refused before training.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

saved=$TMPDIR/saved
mkdir "$saved"
text=(--data tests/golden/text.txt --batch 4 --evaluate no --json)
still=(--steps 1 --learning-rate 0 --weight-decay 0)
gpt=gpt:layers=2,width=32,heads=4,context=16
llama=llama:layers=2,width=32,heads=4,kv_heads=2,hidden=44,context=16

# Shards, written by all ranks, each as large as asked for.
run save train --model $gpt --strategy zero3 --ranks 2 "${text[@]}" --steps 2 --save "$saved/gpt" --save-shard 40kB
want=$(printf '%s\n' config.json model-0000{1,2,3,4}-of-00004.safetensors model.safetensors.index.json)
[ "$(ls "$saved/gpt")" = "$want" ] || fail "the folder has: $(ls "$saved/gpt")"
grep -q '"total_size": 136704$' "$saved/gpt/model.safetensors.index.json" || fail 'the index has another total'
for shard in "$saved/gpt"/*.safetensors; do
	[ "$(stat -c %s "$shard")" -le 42000 ] || fail "$shard is larger than asked for"
done
run init train --model $gpt --strategy tensor --ranks 2 "${text[@]}" "${still[@]}" --init "$saved/gpt"
[ "$(checksum save)" = "$(checksum init)" ] || fail 'weights that were saved in shards and read are others'

# Slices write parts of one file, shards of a rank read parts of it. What turns text into tokens goes along, and the
# numbers of its special tokens.
run slices train --model $llama --strategy tensor --ranks 2 "${text[@]}" --steps 2 --save "$saved/llama/"
[ "$(ls "$saved/llama")" = "$(printf '%s\n' config.json model.safetensors)" ] || fail "the folder has: $(ls "$saved/llama")"
printf '{"version": "1.0"}' >"$saved/llama/tokenizer.json"
printf '{"eos_token_id": 2}' >"$saved/llama/generation_config.json"
sed -i 's/"eos_token_id": null/"eos_token_id": 7/' "$saved/llama/config.json"
run shards train --model $llama --strategy fsdp --ranks 2 "${text[@]}" "${still[@]}" --init "$saved/llama" --save "$saved/again"
[ "$(checksum slices)" = "$(checksum shards)" ] || fail 'weights that slices saved and shards read are others'
for file in config.json tokenizer.json generation_config.json model.safetensors; do
	cmp "$saved/llama/$file" "$saved/again/$file" || fail "$file is another after it was read and saved"
done

# Weights that transformers has loaded (tests/oracle/weights.py) are written again, to the byte.
golden=$PWD/tests/golden/weights loaded=$TMPDIR/loaded
mkdir "$loaded"
field() {
	sed -n 's/.*"'"$1"'": "\([^"]*\)".*/\1/p' <<<"$line"
}
rows=0
# Under a sanitizer one of three: test_golden_weights reads them there, and test_weights_writer writes.
while read -r line; do
	name=$(field name) init=$(field init) more=()
	[ -n "$name" ] || continue
	rows=$((rows + 1))
	[ -z "${SAN-}" ] || [ $((rows % 3)) = 0 ] || continue
	[ -z "$init" ] || more=(--init "$golden/$init")
	[ "$init" != "$name" ] || more+=(--save-shard 20kB)
	run golden train --model "$(field specification)" --data tests/golden/text.txt --batch 2 --evaluate no --json "${still[@]}" \
		--save "$loaded/$name" "${more[@]}"
done <"$golden/golden.json"
[ $rows = 18 ] || fail "$rows rows in golden.json"
(cd "$loaded" && sha256sum --check --quiet --strict ${SAN:+--ignore-missing} "$golden/saved.sha256") ||
	fail 'a folder is another than the one that transformers has loaded; run tests/oracle/weights.py'

# A folder is a model and its weights.
run folder train --model "$saved/gpt" --init "$saved/gpt" "${text[@]}" "${still[@]}"
[ "$(checksum save)" = "$(checksum folder)" ] || fail 'a folder as model and weights is another'

# Alone it says which model it is, on one rank and on several.
run alone train --init "$saved/gpt" "${text[@]}" "${still[@]}"
run ranks train --init "$saved/gpt" --strategy zero3 --ranks 2 "${text[@]}" "${still[@]}"
[ "$(checksum save)" = "$(checksum alone)" ] || fail 'a folder alone is another model'
[ "$(checksum save)" = "$(checksum ranks)" ] || fail 'a folder alone is another model on two ranks'

# Weights whose ids are a tokenizer's do not go on with the bytes of a text that nobody named.
refuse 'weights with a vocabulary of 600 go on with ids of their own tokenizer: give --data DIR with such ids, which tools/tokenize.py makes' \
	train --init tests/golden/generate/llama --steps 1
# Nor with those of one that somebody did, unless bytes are meant.
printf 'some text %.0s' {1..200} >"$TMPDIR/text.txt"
refuse "$TMPDIR/text.txt: is text, and the ids of these weights are those of their tokenizer" \
	train --init tests/golden/generate/llama --data "$TMPDIR/text.txt" --steps 1
run meant train --init tests/golden/generate/llama --data "$TMPDIR/text.txt" --data-type bytes --steps 1 --batch 2

# Files that are copied along with the tokenizer are read first.
mkdir "$TMPDIR/broken"
cp tests/golden/generate/llama/* "$TMPDIR/broken"
for broken in '{"eos_token_id": [1' '[1]'; do
	printf '%s' "$broken" >"$TMPDIR/broken/generation_config.json"
	refuse "$TMPDIR/broken/generation_config.json:" train --init "$TMPDIR/broken" --data "$TMPDIR/text.txt" --data-type bytes \
		--steps 1 --batch 2 --save "$TMPDIR/never"
	[ ! -e "$TMPDIR/never" ] || complain 'a folder with a broken file'
done

# An existing file stays, and is found before training. So is a model that transformers does not have.
refuse "$saved/gpt: is there and not empty" train --model $gpt --steps 1 --save "$saved/gpt"
refuse "$saved/again/config.json: is there and not a folder" train --model $gpt --steps 1 --save "$saved/again/config.json"
refuse 'transformers has no model like mlp:' train --model mlp --steps 1 --save "$saved/mlp"
refuse '--save-shard: only a folder has shards' train --model $gpt --steps 1 --save "$saved/f.safetensors" --save-shard 1MB
refuse '--save-shard: only a folder has shards' train --model $gpt --steps 1 --save-shard 1MB
refuse "--save-shard: '0' is below" train --model $gpt --steps 1 --save "$saved/none" --save-shard 0

# Folders that contradict themselves, or the model.
broken() {
	rm -rf "$saved/broken"
	cp -r "$saved/gpt" "$saved/broken"
}
refuse_init() {
	refuse "$1" train --model "${model-$gpt}" "${text[@]}" --steps 1 --init "$saved/broken"
}
broken
rm "$saved/broken/model-00003-of-00004.safetensors"
refuse_init 'model.safetensors.index.json: shard model-00003-of-00004.safetensors is not there; download it too'
broken
truncate -s -4 "$saved/broken/model-00002-of-00004.safetensors"
refuse_init 'model-00002-of-00004.safetensors: tensor '
broken
truncate -s 300 "$saved/broken/model.safetensors.index.json"
refuse_init 'model.safetensors.index.json:10:5: a text does not end: truncated?'
broken
cp "$saved/broken/model-00002-of-00004.safetensors" "$saved/broken/model-00003-of-00004.safetensors"
refuse_init 'is in '
broken
sed -i 's/"total_size": 136704/"total_size": 136708/' "$saved/broken/model.safetensors.index.json"
refuse_init 'metadata.total_size: 136708 bytes, but the tensors of its shards have 136704'
broken
model=$llama refuse_init 'its config.json has '
model=${gpt/layers=2/layers=1} refuse_init 'its config.json has layers=2, and --model has layers=1; make them agree'
model=${gpt/heads=4/heads=2} refuse_init 'its config.json has heads=4, and --model has heads=2; make them agree'
run file train --model "${gpt/heads=4/heads=2}" "${text[@]}" "${still[@]}" \
	--init "$saved/broken/model.safetensors.index.json"
rm "$saved/broken/config.json"
model=$llama refuse_init "has no tensor 'model.embed_tokens.weight' of llama"
model=${gpt/layers=2/layers=1} refuse_init "has a tensor 'h.1.attn.c_attn.bias', which gpt:layers=1"
rm "$saved/broken"/model*
: >"$saved/broken/pytorch_model.bin"
refuse_init 'convert it with transformers'

# A run that ends badly leaves no folder.
status=0
"$SHARDLAB" train --model $gpt --strategy ddp --ranks 2 --precision bf16 "${text[@]}" --steps 4 --learning-rate 1e6 \
	--weight-decay 1e6 --save "$saved/none" >/dev/null 2>"$TMPDIR/err" || status=$?
[ $status = 1 ] || fail "weights that are not finite: exit status $status"
if ls -d "$saved"/none* >/dev/null 2>&1; then fail 'an unfinished folder is left'; fi
