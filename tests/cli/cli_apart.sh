#!/bin/bash
# No output takes the place of what the run reads, nor of another output; and a pipe as data is refused at
# once.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

SHARDLAB=$(realpath "$SHARDLAB")
cd "$TMPDIR"
mkdir data model empty
for i in $(seq 20); do echo "$((i % 2)),$i,$((i % 3))"; done >big.csv
cp big.csv data/x_train.csv
cp big.csv data/x_val.csv
ln -s big.csv link.csv
ln big.csv hard.csv
train=(train --model mlp:sizes=2-4-2 --strategy single --batch 2 --steps 1)
run weights "${train[@]}" --data big.csv --save model/model.safetensors
sums=$(cat big.csv data/* model/* | cksum)

for log in big.csv ./big.csv link.csv hard.csv "$PWD/big.csv"; do
	refuse "--log: '$log' is what is read for --data" "${train[@]}" --data big.csv --log "$log"
done
refuse "--log: 'big.csv' is what is read for --data" "${train[@]}" --data 'b*.csv' --log big.csv
refuse "--log: 'big.csv' is what is read for --data" "${train[@]}" --data data/x_train.csv,big.csv:label=0 --log big.csv
refuse "--log: 'data/x_val.csv' is what is read for --data" "${train[@]}" --data data --log data/x_val.csv
refuse "--log: 'data/y_train.csv' is what is read for --data" "${train[@]}" --data data --log data/y_train.csv
refuse "--trace: 'big.csv' is what is read for --data" "${train[@]}" --data big.csv --trace big.csv
refuse "--trace: 'model/model.safetensors' is what is read for --init" "${train[@]}" --data big.csv --init model \
	--trace model/model.safetensors
refuse "--save: 'model/model.safetensors' is what is read for --init" "${train[@]}" --data big.csv \
	--init model/model.safetensors --save model/model.safetensors
refuse "--log: 'run.csv' is what is written for --trace" "${train[@]}" --data big.csv --log run.csv --trace ./run.csv
refuse "--plot: 'run.svg' is what is written for --save" "${train[@]}" --data big.csv --plot run.svg --save run.svg
refuse "--log: 'empty/run.csv' is in the folder that is made for --save" "${train[@]}" --data big.csv --save empty \
	--log empty/run.csv
refuse "--trace: 'big.csv' is what is read for --data" validate --model mlp:sizes=2-4-2 --strategy single --data big.csv \
	--trace big.csv
# An index stands for the shards beside it.
ln -s model.safetensors model/model-00001-of-00001.safetensors
refuse "--save: 'model/model-00001-of-00001.safetensors' is what is read for --init" "${train[@]}" --data big.csv \
	--init model/model.safetensors.index.json --save model/model-00001-of-00001.safetensors
rm model/model-00001-of-00001.safetensors
# A prediction's trace neither.
"$SHARDLAB" plan --model mlp --ranks 2 >plan.txt
refuse "--trace: 'plan.txt' is what is read for --plan" sim --plan plan.txt --trace plan.txt
[ "$(cat big.csv data/* model/* | cksum)" = "$sums" ] || fail 'a file that is read was changed'
[ -z "$(find . -name 'run.*')" ] || fail 'a refused run left a file'

# Beside what is read there is room: a log among the data whose name is none of theirs, run after run; a device twice.
for _ in 1 2; do
	run beside "${train[@]}" --data data --log data/log.csv --trace model/run.trace --init model
done
run twice "${train[@]}" --data big.csv --trace /dev/null --save model/other.safetensors

# The first line replaces what stood there, through a link, and keeps its permissions.
echo old >kept.csv
chmod 640 kept.csv
ln -s kept.csv log.csv
run link "${train[@]}" --data big.csv --log log.csv
[ -L log.csv ] && [ "$(stat -c %a kept.csv)" = 640 ] && [ "$(wc -l <kept.csv)" = 2 ] || fail "a log behind a link: $(cat kept.csv)"

# A pipe without a writer is told of, and not waited for.
mkfifo pipe
for model in mlp:sizes=2-4-2 gpt:layers=1,width=16,heads=2,context=8; do
	status=0
	timeout -s KILL 20 "$SHARDLAB" train --model $model --strategy single --steps 1 --data pipe >out 2>err || status=$?
	[ $status = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^fatal: --data: 'pipe' is a pipe, which can be read once" err ||
		fail "a pipe as data of $model: exit status $status"
done
mkfifo read
cat read >lines &
run named "${train[@]}" --data big.csv --log read
wait $!
[ "$(wc -l <lines)" = 1 ] && grep -q '^{"step": 1,' lines || fail "a log into a pipe: $(cat lines)"
run nowhere "${train[@]}" --data big.csv --log /dev/null

# Weights go into a FIFO, a device, stdout or a shell's >(command) as they stand in a file, and nothing takes its place.
mkfifo weights
for ranks in 1 2; do
	strategy=single
	[ $ranks = 1 ] || strategy=zero2
	saves=(train --model mlp:sizes=2-20000-2 --strategy $strategy --ranks $ranks --batch 2 --steps 1 --data big.csv --json)
	run saved "${saves[@]}" --save saved.safetensors
	cat weights >got &
	run fifo "${saves[@]}" --save weights
	wait $!
	cmp got saved.safetensors && [ -p weights ] || fail "$ranks ranks: weights into a FIFO"
	run nowhere "${saves[@]}" --save /dev/null
	[ -c /dev/null ] || fail "$ranks ranks: /dev/null is replaced"
	"$SHARDLAB" "${saves[@]}" --save /dev/stdout 2>err | cat >got
	cmp got saved.safetensors || fail "$ranks ranks: weights to stdout"
	run substituted "${saves[@]}" --save >(cat >substituted && : >done)
	until [ -e done ]; do sleep 0.01; done
	rm done
	cmp substituted saved.safetensors || fail "$ranks ranks: weights into a command"
	# A reader that goes away is one line, on any rank.
	head -c 1 weights >/dev/null &
	status=0
	"$SHARDLAB" "${saves[@]}" --save weights >out 2>err || status=$?
	wait $!
	[ $status = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^fatal: .*--save: cannot write 'weights': nobody reads it any more" err ||
		fail "$ranks ranks: a reader that goes away: exit status $status"
	[ -z "$(find . "${TMPDIR:-/tmp}" -name 'shardlab-weights*')" ] || fail "$ranks ranks: left behind"
done
mkdir folder
mkfifo folder/a_train.bin
refuse 'folder/a_train.bin: not a regular file' train --model gpt:layers=1,width=16,heads=2,context=8 --data folder
refuse "--trace: 'pipe' is a FIFO" view --trace pipe --describe
"$SHARDLAB" plan --model mlp --ranks 2 >plan.txt
refuse "is a pipe, which can be read once" train --steps 1 --plan <(cat plan.txt)
run piped sim --plan <(cat plan.txt)

exit $((errors > 0))
