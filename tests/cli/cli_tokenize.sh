#!/bin/bash
# tools/tokenize.py with the libraries that it uses, or rather with stand-ins for them (tests/support/python), since machines
# do not have them: which library opens which tokenizer, the token that ends each document, the ids in the files.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

python=$(command -v python3) || { echo 'python3, which tools/tokenize.py needs, is not installed' && exit 77; }
golden=tests/golden/generate
printf 'the desk' >"$TMPDIR/a.txt"
printf '{"text": "x"}\n{"text": "y"}\n' >"$TMPDIR/b.jsonl"

tokenize() {
	rm -rf "$TMPDIR/ids"
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/support/python "$python" tools/tokenize.py "$TMPDIR/a.txt" "$TMPDIR/b.jsonl" \
		--output "$TMPDIR/ids" --format nanogpt --validation 0 "$@" >"$TMPDIR/said" 2>"$TMPDIR/err"
}
# ids TYPE WANT TOKENIZER: the ids of both files, and what they are.
ids() {
	tokenize --tokenizer "$3" || fail "tokenize.py $3: $(cat "$TMPDIR/err")"
	local got
	got=$(od -An -t "$1" -v "$TMPDIR/ids/train.bin" | tr -s ' \n' ' ')
	[ "$got" = " $2 " ] || complain "$3: the ids are$got, not $2"
}
wrong() {
	local status=0
	tokenize --tokenizer "$2" || status=$?
	[ "$status" = 2 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -qF -- "$1" "$TMPDIR/err" && [ ! -e "$TMPDIR/ids" ] ||
		complain "tokenize.py $2: exit status $status, $(cat "$TMPDIR/err"), wanted: $1"
}

# tiktoken knows gpt2, and transformers whatever else has a name: ids that need four bytes, a token that begins a text.
ids u2 '116 104 101 32 100 101 115 107 50256 120 50256 121 50256' gpt2
ids u4 '116 104 101 32 100 101 115 107 70000 120 70000 121 70000' some/name
grep -q '"eos_token_id": 70000' "$TMPDIR/ids/generation_config.json" || complain 'the end is not saved'
grep -qF 'shardlab generate does not read this tokenizer (model Unigram)' "$TMPDIR/said" || complain "a tokenizer that generate cannot read: $(cat "$TMPDIR/said")"
ids u4 '116 104 101 32 100 101 115 107 1 120 1 121 1' bos/bos
ids u2 '116 104 101 32 100 101 115 107 0 120 0 121 0' bytes
wrong 'none: this tokenizer has no token that ends a text' none
wrong '--tokenizer ./no-such: there is no such folder' ./no-such
wrong '--tokenizer no-such: cannot be opened: no-such is not a local folder' no-such

# A folder is a tokenizer.json, and what ends a text is what ends it for generate.
words='319 307 304 0 303 304 318 310' # without merges, and with no token for a space
ids u2 "$words 2 323 2 324 2" $golden/llama
ids u2 "$words 2 323 2 324 2" $golden/llama/tokenizer.json
grep -qF "vocabulary 600: shardlab train --model ./$golden/llama --data" "$TMPDIR/said" || complain "$(cat "$TMPDIR/said")"
folder=$TMPDIR/folder
mkdir "$folder"
cp $golden/llama/tokenizer.json "$folder"
ids u2 "$words 2 323 2 324 2" "$folder" # </s>, which is special
grep -qF 'shardlab train --model gpt:vocabulary=600 --data' "$TMPDIR/said" || complain "$(cat "$TMPDIR/said")"

# The same rule for both: the token that is drawn first from this prompt ends the text once a file says so.
cp $golden/llama/model.safetensors "$TMPDIR/weights.safetensors"
first=$("$SHARDLAB" generate --init $golden/llama --prompt x --tokens 1 --temperature 0 --json 2>/dev/null | sed -n 's/.*"tokens": \[\([0-9]*\)\].*/\1/p')
[ "$first" = 103 ] || fail "the first token is $first"
ends() {
	ids u2 "$words $1 323 $1 324 $1" "$folder"
	"$SHARDLAB" generate --model $golden/llama --init "$TMPDIR/weights.safetensors" --tokenizer "$folder" --prompt x --tokens 1 --temperature 0 \
		--json >"$TMPDIR/out" 2>/dev/null || fail 'generate fails'
	grep -q "\"stopped\": \"$2\"" "$TMPDIR/out" || complain "with the end $1: $(cat "$TMPDIR/out")"
}
ends 2 tokens
printf '{"eos_token": "<0x64>"}' >"$folder/tokenizer_config.json" # whose id is 103
ends 103 end
printf '{"eos_token": {"content": "<s>"}}' >"$folder/tokenizer_config.json"
ends 1 tokens
cp $golden/llama/config.json "$folder"
sed -i 's/"eos_token_id": 2/"eos_token_id": [103, 2]/' "$folder/config.json"
ends 103 end
printf '{"eos_token_id": 300}' >"$folder/generation_config.json"
ends 300 tokens

# Files that both programs refuse.
both() {
	wrong "$1" "$folder"
	refuse "$2" generate --model $golden/llama --init "$TMPDIR/weights.safetensors" --tokenizer "$folder" --prompt x
}
printf '{"eos_token_id": 99999999}' >"$folder/generation_config.json"
both 'generation_config.json: eos_token_id: 99999999 is no token' 'generation_config.json: eos_token_id: 99999999 is no id'
printf '{' >"$folder/generation_config.json"
both 'generation_config.json: not JSON' 'not JSON'
rm "$folder"/*config.json
printf '{"eos_token": "nowhere"}' >"$folder/tokenizer_config.json"
both "tokenizer_config.json: eos_token: 'nowhere' is no token of the tokenizer" 'tokenizer_config.json: eos_token: no token of the tokenizer'
rm "$folder/tokenizer_config.json"
sed -i 's/"content":"<\/s>"/"content":"<\/t>"/' "$folder/tokenizer.json"
wrong 'has no token that ends a text; write it in tokenizer_config.json' "$folder"
printf '{' >"$folder/tokenizer.json"
wrong "--tokenizer $folder: cannot be opened: " "$folder"
