#!/bin/bash
# Data that people have: texts become token ids (tools/tokenize.py), of which two ranks learn; what was found is said; a
# wrong id that turns up in the middle of a run ends it on all ranks; large files do not fill the memory.
#
# cores: all
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

python=${PYTHON:-python3}
tokenize=tools/tokenize.py
text=tests/golden/text.txt
model=gpt:layers=1,width=32,heads=2,context=32

# losses NAME: the first and the last, of a run with --json.
losses() {
	sed -n 's/^{"step": [0-9]*, "loss": \([0-9.]*\),.*/\1/p' "$TMPDIR/$1.out" | sed -n '1p;$p' | tr '\n' ' '
}
falls() {
	losses "$1" | awk '{ exit !($2 < 0.8 * $1) }' || fail "$1: the loss does not fall: $(losses "$1")"
}

# ids FILE SKIP: as od has them, of 2 bytes, behind SKIP bytes.
ids() {
	od -An -v -tu2 -w2 -j "$2" "$1" | tr -d ' '
}

command -v "$python" >/dev/null || { echo 'python3, which tools/tokenize.py needs, is not installed' && exit 77; }

# Bytes: the files hold the text, and two ranks learn from them. Headers and names are llm.c's, or nanoGPT's.
"$python" $tokenize $text --tokenizer bytes --output "$TMPDIR/words" >"$TMPDIR/tokenize.out" 2>"$TMPDIR/err" ||
	fail 'tokenize.py --tokenizer bytes failed'
[ "$(od -An -tu4 -w12 -N12 "$TMPDIR/words/words_train_000001.bin" | tr -s ' ')" = ' 20240520 1 3561' ] ||
	fail "another header: $(od -An -tu4 -N12 "$TMPDIR/words/words_train_000001.bin")"
{ ids "$TMPDIR/words/words_train_000001.bin" 1024 && ids "$TMPDIR/words/words_val_000000.bin" 1024; } >"$TMPDIR/ids"
{ od -An -v -tu1 -w1 $text | tr -d ' ' && echo 0; } | cmp - "$TMPDIR/ids" || fail 'the ids are not the bytes of the text'
run learned train --model $model --data "$TMPDIR/words" --ranks 2 --strategy zero2 --steps 40 --batch 8 --json \
	--learning-rate 0.01
falls learned
run told train --model $model --data "$TMPDIR/words" --ranks 2 --strategy zero2 --steps 2 --batch 8
grep -q '^2 files of ids, uint16 as the header says: 3,561 tokens to train on, 395 to validate with$' "$TMPDIR/told.out" ||
	fail 'it is not said what was found'
run json train --model $model --data "$TMPDIR/words" --steps 1 --batch 8 --json
[ "$(grep -cv '^{' "$TMPDIR/json.out")" = 0 ] || fail 'more than JSON on stdout'
grep -q '"data": {"type": "uint16", "files": 2, "training_samples": 3529, "validation_samples": 12}' "$TMPDIR/json.out" ||
	fail 'JSON does not say what was found'

run bytes train --model $model,vocabulary=300 --steps 1 --batch 8
grep -q 'of text, each byte an id of the vocabulary.s 300: ' "$TMPDIR/bytes.out" || fail 'text as ids of a larger vocabulary: not said'

# The same ids in the other format and by other ways: the same weights.
"$python" $tokenize $text --tokenizer bytes --output "$TMPDIR/nano" --format nanogpt >/dev/null || fail 'nanogpt failed'
[ "$(stat -c %s "$TMPDIR/nano/train.bin")" = 7122 ] || fail 'train.bin has another size'
three=(--ranks 2 --strategy ddp --steps 3 --batch 8 --json)
run one train --model $model --data "$TMPDIR/words" "${three[@]}"
run two train --model $model --data "$TMPDIR/nano" "${three[@]}"
run three train --model $model --data "$TMPDIR/words/words_*.bin" --data-type uint16 "${three[@]}"
[ -n "$(checksum one)" ] && [ "$(checksum one)" = "$(checksum two)" ] && [ "$(checksum one)" = "$(checksum three)" ] ||
	fail 'the same ids give other weights'

# Documents: of several files, between marks, and in lines of JSON.
printf 'ab<|endoftext|>c' >"$TMPDIR/a.txt"
printf '{"text": "d\\u00e9"}\n{"text": "f"}\n' | gzip >"$TMPDIR/b.jsonl.gz"
"$python" $tokenize "$TMPDIR/a.txt" "$TMPDIR/b.jsonl.gz" --tokenizer bytes --output "$TMPDIR/several" --validation 0 \
	--shard 6 >"$TMPDIR/several.out" || fail 'several files failed'
grep -q '^4 documents, vocabulary 256: shardlab train' "$TMPDIR/several.out" || fail 'they are not 4 documents'
{ ids "$TMPDIR/several/several_train_000001.bin" 1024 && ids "$TMPDIR/several/several_train_000002.bin" 1024; } |
	tr '\n' ' ' >"$TMPDIR/ids"
[ "$(cat "$TMPDIR/ids")" = '97 98 0 99 0 100 195 169 0 102 0 ' ] || fail "other ids: $(cat "$TMPDIR/ids")"

# Bad data is refused in one line.
wrong() {
	local pattern=$1 status=0
	shift
	"$python" $tokenize "$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	[ $status = 2 ] && [ ! -s "$TMPDIR/out" ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -qF -- "$pattern" "$TMPDIR/err" ||
		fail "tokenize.py $*: exit status $status, wanted: $pattern"
}
wrong 'no such file' "$TMPDIR/none" --tokenizer bytes --output "$TMPDIR/o"
wrong 'words_train_000001.bin is there already' $text --tokenizer bytes --output "$TMPDIR/words"
printf 'a\377' >"$TMPDIR/latin.txt"
wrong 'byte 1 is not UTF-8' "$TMPDIR/latin.txt" --tokenizer bytes --output "$TMPDIR/o"
wrong 'required' $text --output "$TMPDIR/o"
wrong 'invalid share' $text --tokenizer bytes --output "$TMPDIR/o" --validation 2
printf 'ab\n' >"$TMPDIR/c.jsonl"
wrong 'c.jsonl:1: not a JSON object with a "text"' "$TMPDIR/c.jsonl" --tokenizer bytes --output "$TMPDIR/o"
[ ! -e "$TMPDIR/o" ] || fail 'a folder is left behind'

# Ids that the tokenizer beside them, or that of the weights, does not have.
mkdir "$TMPDIR/small" "$TMPDIR/weights"
printf '\1\0\2\0\7\0\3\0%.0s' $(seq 60) >"$TMPDIR/small/a_train.bin"
echo '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 5}}, "added_tokens": [{"id": 7, "content": "c"}]}' \
	>"$TMPDIR/small/tokenizer.json"
ids_of=(train --model "$model,vocabulary=16" --data-type uint16 --strategy single --steps 1 --batch 2 --evaluate no)
run small "${ids_of[@]}" --data "$TMPDIR/small"
run whole "${ids_of[@]}" --data "$TMPDIR/small" --save "$TMPDIR/weights"
for last in '["a", 0], ["b", 0]' ''; do
	echo "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"x\", 0]${last:+, $last}]}}" >"$TMPDIR/weights/tokenizer.json"
	refused "a_train.bin: has the id 7, and $TMPDIR/weights/tokenizer.json has tokens up to $([ -n "$last" ] && echo 2 || echo 0)" \
		"$SHARDLAB" "${ids_of[@]}" --data "$TMPDIR/small" --init "$TMPDIR/weights" || fail 'ids of another tokenizer'
done
sed -i 's/"id": 7/"id": 6/' "$TMPDIR/small/tokenizer.json"
refused "--data $TMPDIR/small/a_train.bin: has the id 7, and $TMPDIR/small/tokenizer.json has tokens up to 6" \
	"$SHARDLAB" "${ids_of[@]}" --data "$TMPDIR/small/a_train.bin" || fail 'ids that the tokenizer beside them does not have'

# The steps that tokenize.py takes for known are those that generate knows.
for part in normalizer pre_tokenizer model post_processor decoder; do
	echo "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}, \"$part\": {\"type\": \"No\"}}" >"$TMPDIR/no.json"
	[ $part != model ] || echo '{"model": {"type": "No"}}' >"$TMPDIR/no.json"
	known=$("$python" -c "
import importlib.util as u
spec = u.spec_from_file_location('made', '$tokenize')
made = u.module_from_spec(spec)
spec.loader.exec_module(made)
print(', '.join(made.READ['$part']))")
	refused "$part: type 'No' is not supported; known: $known" "$SHARDLAB" generate --model gpt --init "$TMPDIR/none.safetensors" \
		--tokenizer "$TMPDIR/no.json" --prompt a || fail "$part: tokenize.py knows others"
done

# A tokenizer beside the ids goes along with what is saved, with the number of the token that ends a text.
mkdir "$TMPDIR/beside"
cp "$TMPDIR/words/"* "$TMPDIR/beside"
cp tests/golden/tokenizers/words.json "$TMPDIR/beside/tokenizer.json"
echo '{"eos_token_id": 7}' >"$TMPDIR/beside/generation_config.json"
run saved train --model $model --data "$TMPDIR/beside" --steps 2 --batch 8 --save "$TMPDIR/model"
cmp "$TMPDIR/beside/tokenizer.json" "$TMPDIR/model/tokenizer.json" || fail 'the tokenizer is not beside the weights'
grep -q '"eos_token_id": 7' "$TMPDIR/model/config.json" || fail 'the token that ends a text is not in config.json'
"$SHARDLAB" generate --init "$TMPDIR/model" --prompt 'the file' --tokens 3 >"$TMPDIR/spoken.out" 2>"$TMPDIR/err" ||
	fail 'what was saved with a tokenizer does not write'
run onward train --model $model --data "$TMPDIR/words" --init "$TMPDIR/model" --steps 1 --batch 8 --save "$TMPDIR/onward"
cmp "$TMPDIR/beside/tokenizer.json" "$TMPDIR/onward/tokenizer.json" || fail 'the tokenizer of --init is not taken along'

# A table for a model with numbers as inputs: two ranks learn from it.
awk 'BEGIN {
	print "length,width,kind"
	for (i = 0; i < 300; i++)
		printf "%g,%g,%s\n", i % 3 + i % 7 / 10, 100 - 30 * (i % 3) + i % 5, substr("oakelmash", i % 3 * 3 + 1, 3)
}' >"$TMPDIR/trees.csv"
run trees train --model mlp:sizes=2-16-3 --data "$TMPDIR/trees.csv" --ranks 2 --strategy zero2 --steps 60 --batch 32 --json \
	--learning-rate 0.05
falls trees
run told train --model mlp:sizes=2-16-3 --data "$TMPDIR/trees.csv" --steps 200 --batch 32 --learning-rate 0.05
tr '\n' ' ' <"$TMPDIR/told.out" | grep -q 'trees.csv: rows of 2 numbers, each column less its mean, divided by its deviation;'\
' the label is column 3 (kind); 270 to train on, 30 to validate with, every tenth' || fail 'it is not said what a table is'
grep -q 'validation accuracy *100.00 %' "$TMPDIR/told.out" || fail 'what can be told apart is not'
refused "2 numbers in a row beside the label, but the model takes 784" "$SHARDLAB" train --data "$TMPDIR/trees.csv" ||
	fail 'a table of another width was read'

# Ids that the file's ends do not show: the run ends on all ranks, in a line with the place.
truncate -s 64M "$TMPDIR/large_train.bin"
printf '\377\377%.0s' $(seq 4096) >"$TMPDIR/piece"
for place in $(seq 20 40); do
	dd if="$TMPDIR/piece" of="$TMPDIR/large_train.bin" bs=1M seek="$place" conv=notrunc status=none
done
status=0
timeout 100 "$SHARDLAB" train --model $model --data "$TMPDIR/large_train.bin" --data-type uint16 --ranks 2 --strategy zero3 \
	--steps 20000 --batch 64 --json >"$TMPDIR/late.out" 2>"$TMPDIR/err" || status=$?
[ $status = 2 ] && [ "$(wc -l <"$TMPDIR/err")" = 1 ] &&
	grep -q '^fatal: rank [01]: step [0-9]*: .*large_train.bin: id 65535 at place [0-9]* (byte [0-9]*) is beyond' "$TMPDIR/err" ||
	fail "ids that are wrong in the middle: exit status $status"

# Forty gigabytes take no more memory than forty kilobytes.
resident() {
	sed -n 's/.*"resident_bytes": \([0-9]*\).*/\1/p' "$TMPDIR/$1.out"
}
truncate -s 40G "$TMPDIR/huge_train.bin"
truncate -s 40K "$TMPDIR/small_train.bin"
for size in huge small; do
	run $size train --model $model --data "$TMPDIR/${size}_train.bin" --data-type uint16 --steps 100 --batch 64 --json
done
# A sanitizer keeps notes of what was read.
[ "$(resident huge)" -lt $(($(resident small) + (${SAN:+8 *} 12 << 20))) ] ||
	fail "resident memory grows with the file: $(resident small), $(resident huge)"

# With the libraries, where they are.
libraries=$("$python" -c "
import importlib.util as u
print(*(m for m in ('tiktoken', 'transformers') if u.find_spec(m)))")
if [ -z "$libraries" ]; then
	wrong 'there is no such folder, and a name needs tiktoken or transformers, which is not installed; pip install' $text --tokenizer gpt2 --output "$TMPDIR/o"
	echo 'left out: tokenizers of tiktoken and transformers, which are not installed'
	exit 0
fi
case $libraries in
*transformers*) ;;
*) echo 'left out: a tokenizer in a folder, since transformers is not installed' && exit 0 ;;
esac
"$python" - "$TMPDIR/tokenizer" $text <<'PYTHON' || fail 'no tokenizer to try'
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

t = Tokenizer(models.BPE())
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.decoder = decoders.ByteLevel()
t.train([sys.argv[2]], trainers.BpeTrainer(vocab_size=400, special_tokens=["<|endoftext|>"], show_progress=False,
                                           initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<|endoftext|>").save_pretrained(sys.argv[1])
PYTHON
"$python" $tokenize $text --tokenizer "$TMPDIR/tokenizer" --output "$TMPDIR/merged" >"$TMPDIR/merged.out" 2>"$TMPDIR/err" ||
	fail 'a tokenizer in a folder failed'
"$python" - "$TMPDIR/tokenizer" "$TMPDIR/merged" $text <<'PYTHON' || fail 'the ids are not those of the text'
import array
import glob
import sys

from tokenizers import Tokenizer

ids = array.array("H")
for part in "train", "val":
    for path in sorted(glob.glob(f"{sys.argv[2]}/*_{part}_*.bin")):
        ids.frombytes(open(path, "rb").read()[1024:])
text = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json").decode(list(ids[1:]), skip_special_tokens=False)
sys.exit(len(ids) > 3000 or text != open(sys.argv[3], newline="").read())
PYTHON
run merged train --model $model,vocabulary=400 --data "$TMPDIR/merged" --ranks 2 --strategy zero2 --steps 40 --batch 8 --json \
	--learning-rate 0.01 --save "$TMPDIR/whole"
falls merged
"$python" - "$TMPDIR/whole" <<'PYTHON' || fail 'AutoTokenizer does not read what was saved'
import json
import sys

from transformers import AutoTokenizer

t = AutoTokenizer.from_pretrained(sys.argv[1])
config = json.load(open(sys.argv[1] + "/config.json"))
sys.exit(t.eos_token != "<|endoftext|>" or config["eos_token_id"] != t.eos_token_id or t.decode(t.encode("a b")) != "a b")
PYTHON

# One that generate does not read: said, and the ids are made.
"$python" - "$TMPDIR/unigram" $text <<'PYTHON' || fail 'no tokenizer to try'
import sys

from tokenizers import Tokenizer, models, trainers
from transformers import PreTrainedTokenizerFast

t = Tokenizer(models.Unigram())
t.train([sys.argv[2]], trainers.UnigramTrainer(vocab_size=300, special_tokens=["</s>"], show_progress=False))
PreTrainedTokenizerFast(tokenizer_object=t, eos_token="</s>").save_pretrained(sys.argv[1])
PYTHON
"$python" $tokenize $text --tokenizer "$TMPDIR/unigram" --output "$TMPDIR/drawn" >"$TMPDIR/drawn.out" 2>"$TMPDIR/err" ||
	fail 'a Unigram failed'
grep -q '^shardlab generate does not read this tokenizer (model Unigram)' "$TMPDIR/drawn.out" || fail 'Unigram: not said'
! grep -q 'does not read' "$TMPDIR/merged.out" || fail 'it is said of a tokenizer that is read'
