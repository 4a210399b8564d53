#!/bin/bash
# `generate`: a llama and a gpt learn bytes, are saved, and write; the same seed writes the same; where prompts, models and
# tokenizers come from, where a text stops; and what is refused before any weight is read.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

# write NAME ARGUMENT...: stdout in NAME.out, stderr in NAME.said.
write() {
	local name=$1
	shift
	"$SHARDLAB" generate "$@" >"$TMPDIR/$name.out" 2>"$TMPDIR/$name.said" || fail "generate $*: exit status $?, $(cat "$TMPDIR/$name.said")"
}
same() {
	cmp -s "$TMPDIR/$1.out" "$TMPDIR/$2.out" || fail "$1 and $2 are not the same"
}
other() {
	! cmp -s "$TMPDIR/$1.out" "$TMPDIR/$2.out" || fail "$1 and $2 are the same"
}

llama=llama:layers=1,width=64,heads=4,kv_heads=2,hidden=96,context=64
gpt=gpt:layers=1,width=64,heads=4,context=64
printf 'abcdefgh %.0s' {1..400} >"$TMPDIR/text"
for model in $llama $gpt; do
	family=${model%%:*}
	run train train --model $model --strategy single --steps 150 --batch 8 --learning-rate 1e-2 --evaluate no \
		--data "$TMPDIR/text" --save "$TMPDIR/$family.safetensors" --json

	# It has learned what there is to learn, and goes on with it.
	write greedy --model $model --init "$TMPDIR/$family.safetensors" --prompt 'abcdefgh a' --tokens 26 --temperature 0
	[ "$(cat "$TMPDIR/greedy.out")" = 'abcdefgh abcdefgh abcdefgh abcdefgh ' ] || fail "$family wrote: $(cat "$TMPDIR/greedy.out")"
	grep -q '^prompt: 10 tokens, .* tokens/s; then 26 tokens, .* tokens/s; fp32 on the CPU' "$TMPDIR/greedy.said" ||
		fail "no speed: $(cat "$TMPDIR/greedy.said")"

	# One seed, one text, on any number of threads; another seed, another.
	hot=(--model $model --init "$TMPDIR/$family.safetensors" --prompt 'abc' --tokens 40 --temperature 3)
	write one "${hot[@]}" --seed 5 --threads 1
	write again "${hot[@]}" --seed 5 --threads 1
	write threads "${hot[@]}" --seed 5 --threads 2
	write another "${hot[@]}" --seed 6
	same one again
	same one threads
	other one another

	# The likeliest alone is greedy, whichever way it is asked for.
	write k "${hot[@]}" --top-k 1
	write p "${hot[@]}" --top-p 1e-9
	same k p

	# The context ends it, with a line.
	write full --model $model --init "$TMPDIR/$family.safetensors" --prompt 'abcdefgh a' --tokens 1000 --temperature 0
	[ "$(tr -d '\n' <"$TMPDIR/full.out" | wc -c)" = 64 ] || fail 'the context is not full'
	grep -q '^stopped: the context of 64 tokens is full$' "$TMPDIR/full.said" || fail 'the context is full, and no line says it'
done

# The prompt from a file or from standard input; JSON has all of it.
weights=(--model $gpt --init "$TMPDIR/gpt.safetensors")
printf 'abcdefgh a' >"$TMPDIR/prompt"
write file "${weights[@]}" --prompt-file "$TMPDIR/prompt" --tokens 5 --temperature 0
write stdin "${weights[@]}" --prompt-file - --tokens 5 --temperature 0 <"$TMPDIR/prompt"
same file stdin
write json "${weights[@]}" --prompt-file "$TMPDIR/prompt" --tokens 5 --temperature 0 --json
grep -q '"prompt": "abcdefgh a", "prompt_tokens": \[97, 98, .*\], "tokens": \[98, 99, 100, 101, 102\], "text": "bcdef", "stopped": "tokens", "seed": 1,' \
	"$TMPDIR/json.out" || fail 'another object'

# A folder of Hugging Face's says which model it is, and has its tokenizer; that of another folder can be taken.
golden=tests/golden/generate
write folder --init $golden/llama --prompt 'The quick brown fox' --tokens 20 --temperature 0 --json
write named --model $golden/llama --init $golden/llama --tokenizer $golden/llama/tokenizer.json \
	--prompt 'The quick brown fox' --tokens 20 --temperature 0 --json
cp $golden/llama/model.safetensors "$TMPDIR/alone.safetensors"
write alone --model $golden/llama --init "$TMPDIR/alone.safetensors" --prompt 'The quick brown fox' --tokens 20 --temperature 0 --json
for name in folder named alone; do
	sed -n 's/.*\("prompt_tokens".*"text"\).*/\1/p' "$TMPDIR/$name.out" >"$TMPDIR/$name.ids"
	grep -q '"prompt_tokens": \[1, ' "$TMPDIR/$name.ids" || fail "$name: the prompt does not begin with <s>"
	cmp "$TMPDIR/folder.ids" "$TMPDIR/$name.ids" || fail "$name writes something else"
done

# The token that ends a text ends it: the one that the model writes first is said to be that.
mkdir "$TMPDIR/ends"
cp $golden/llama/* "$TMPDIR/ends"
first=$(sed -n 's/.*"tokens": \[\([0-9]*\),.*/\1/p' "$TMPDIR/folder.out")
printf '{"eos_token_id": [1, %s]}' "$first" >"$TMPDIR/ends/generation_config.json"
write ends --init "$TMPDIR/ends" --prompt 'The quick brown fox' --temperature 0 --json
grep -q '"tokens": \[\], "text": "", "stopped": "end"' "$TMPDIR/ends.out" || fail 'the text does not end'

# Without --model, a folder of weights says what it holds, whatever it is called; a file is of the default model.
(cd "$TMPDIR" && ln -s "$OLDPWD/$golden/llama" gpt2 && write link --init gpt2 --prompt 'The quick brown fox' --tokens 20 --temperature 0 --json) ||
	fail 'a folder that is called like a model'
grep -qF -- "$(cat "$TMPDIR/folder.ids")" "$TMPDIR/link.out" || fail 'a folder that is called like a model is taken for the model'

# Memory is given in units that can be read.
grep -q ', [0-9.]* kB$' "$TMPDIR/folder.said" || fail "the memory is: $(tail -n 1 "$TMPDIR/folder.said")"

# ---- refused ----

refuse 'generate needs weights: --init' generate --model $gpt --prompt a
refuse 'generate needs a text to go on from' generate "${weights[@]}"
refuse '--prompt and --prompt-file: leave one of them out' generate "${weights[@]}" --prompt a --prompt-file "$TMPDIR/prompt"
refuse 'cannot open' generate "${weights[@]}" --prompt-file "$TMPDIR/none"
refuse 'cannot be opened' generate --model $gpt --init "$TMPDIR/none" --prompt a
refuse 'writes no text' generate --model mlp --init "$TMPDIR/gpt.safetensors" --prompt a
refuse 'has no tensor' generate --model $llama --init "$TMPDIR/gpt.safetensors" --prompt a
refuse 'the context of gpt is 64; shorten it' generate "${weights[@]}" --prompt "$(printf 'a%.0s' {1..65})"
refuse 'a vocabulary of 300 tokens needs a tokenizer' generate --model $gpt,vocabulary=300 --init "$TMPDIR/gpt.safetensors" --prompt a
refuse 'has ids up to 499, and the model a vocabulary of 256; it belongs to another model' \
	generate "${weights[@]}" --tokenizer $golden/gpt2 --prompt a
for command in 'generate --prompt a' train; do
	mkdir -p "$TMPDIR/bare"
	for file in model.safetensors tokenizer.json; do
		cp $golden/llama/$file "$TMPDIR/bare"
		# shellcheck disable=SC2086
		refuse "--init $TMPDIR/bare: the folder has no config.json to say which model it holds: give --model" $command --init "$TMPDIR/bare"
	done
	rm -r "$TMPDIR/bare"
done
ends() {
	printf '%s' "$2" >"$TMPDIR/ends/generation_config.json"
	refuse "$TMPDIR/ends/generation_config.json:$1" generate --init "$TMPDIR/ends" --prompt a
}
ends '1:19: not JSON: ' '{"eos_token_id": [1'
ends ' not a JSON object' '[2]'
ends ' eos_token_id: neither an id nor a list of ids' '{"eos_token_id": "x"}'
ends ' eos_token_id: neither an id nor a list of ids' '{"eos_token_id": [1, null]}'
ends ' eos_token_id: 99999999 is no id of the model, whose vocabulary has 600' '{"eos_token_id": 99999999}'
ends ' eos_token_id: -1 is no id' '{"eos_token_id": [2, -1]}'
ends ' eos_token_id: more than 16 ids' "{\"eos_token_id\": [1$(printf ', 1%.0s' {1..16})]}"
refuse 'not JSON' generate --init $golden/gpt2 --tokenizer "$TMPDIR/prompt" --prompt a
refuse 'the text is not UTF-8 at byte 1' generate --init $golden/gpt2 --prompt $'a\xff'
refuse 'TB of weights in fp32 and ' generate --model llama:layers=2000,width=8192,heads=64,vocabulary=256 --init "$TMPDIR/gpt.safetensors" --prompt a
refuse '--temperature' generate "${weights[@]}" --prompt a --temperature -1
refuse '--top-p' generate "${weights[@]}" --prompt a --top-p 2
refuse 'generate has no option --ranks' generate "${weights[@]}" --prompt a --ranks 2
