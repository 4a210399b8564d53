#!/bin/bash
# One number is the same wherever it is said: sim and compare in JSON, and captions, ledger, memory and banner of the window
# as `view --describe` prints them, at the grain that all have by default. And headings say what tells two runs apart.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

command -v python3 >/dev/null || { echo 'python3, which reads the JSON here, is missing'; exit 77; }
model=(--model gpt:layers=4,width=32,heads=4,context=16,vocabulary=64 --cluster laptop)

# same OPTIONS...
same() {
	run sim sim "${model[@]}" "$@" --json
	run compare compare "${model[@]}" "$@" --json
	run view view "${model[@]}" "$@" --describe
	python3 - "$TMPDIR" "$*" <<'PYTHON' || errors=$((errors + 1))
import json, re, sys

folder, what = sys.argv[1:]
sim = json.load(open(folder + '/sim.out'))
beside = json.load(open(folder + '/compare.out'))['results'][0]
text = open(folder + '/view.out').read()
wrong = []

def equal(name, a, b):
    if a != b:
        wrong.append(f'{what}: {name}: {a!r}, elsewhere {b!r}')

def word(value, units):
    """Four digits, as everywhere."""
    size = 1
    while len(units) > 1 and value >= 1000 * size * (1 - 5e-5):
        size *= 1000
        units = units[1:]
    value /= size
    digits = 3 if value < 9.9995 else 2 if value < 99.995 else 1 if value < 999.95 else 0
    return f'{value:.{digits}f} {units[0]}' if size > 1 or units[0] != 'B' else f'{value:.0f} B'

def bytes_word(n):
    return word(n, ['B', 'kB', 'MB', 'GB'])

time = sim['time']
for key in ('step_s', 'compute_s', 'exposed_s', 'bubble_s'):
    equal('compare, ' + key, beside['time'][key], time[key])
last = text[text.rindex('caption  '):].split('\n')[0]
equal('step', re.search('is done in ([0-9.]+ [mµ]?s)\\.', last)[1], word(time['step_s'] * 1e6, ['µs', 'ms', 's']))
shares = re.search(r'spends ([0-9.]+) % of it computing, ([0-9.]+) % waiting for communication and ([0-9.]+) % for anything else', last)
for i, key in enumerate(('compute_s', 'exposed_s', 'bubble_s')):
    share = 100 * time[key] / time['step_s']
    if abs(float(shares[i + 1]) - share) > 0.0501:
        wrong.append(f'{what}: {key}: {shares[i + 1]} % in the caption, {share} % of sim')
sent = sum(r['ranks'] * r['communication']['sent_bytes'] for r in sim['roles'])
if sent:
    equal('bytes sent', re.search(r'All ranks together sent ([0-9.]+ [kMG]?B)\.', last)[1], bytes_word(sent))
    ledger = text[text.rindex('ledger   '):].split('\n')[0]
    equal('ledger', re.search('the step, all ranks: (.*)', ledger)[1], f'{bytes_word(sent)} of {bytes_word(sent)}')
peaks = re.findall(r'^memory   .*?; device .*?; at most so far ([0-9.]+ [kMG]?B)', text[text.rindex('\nstep '):], re.M)
equal('peaks', sorted(set(peaks)), sorted({bytes_word(r['memory']['device']['peak_bytes']) for r in sim['roles']}))
steady = re.findall(r'^memory   .*?; device ([0-9.]+ [kMG]?B)', text[text.rindex('\nstep '):], re.M)
equal('memory between steps', sorted(set(steady)),
      sorted({bytes_word(sum(r['memory']['device']['steady'].values())) for r in sim['roles']}))
reached = re.findall(r'peak of memory, ([0-9.]+ [kMG]?B)', text)
for peak in reached:
    if peak not in peaks:
        wrong.append(f'{what}: a caption has a peak of {peak}, sim {peaks}')
print('\n'.join(wrong), end='\n' if wrong else '')
sys.exit(bool(wrong))
PYTHON
}

same --strategy single --ranks 1
for strategy in dp ddp zero1 zero2 zero3 fsdp hybrid:shard=2 model pipeline tensor; do
	same --strategy $strategy --ranks 4
done
same --strategy pipeline --ranks 4 --accumulate 4
same --strategy zero2 --ranks 4 --accumulate 2 --precision fp16 --clip 1
same --strategy zero3 --ranks 4 --offload optimizer --activation-checkpointing full
same --strategy ddp --ranks 4 --bucket 20000 --grain message

# heads WORDS OPTIONS...: the heading has them.
heads() {
	run view view "${model[@]}" --at 0 --describe "${@:2}"
	head -n 1 "$TMPDIR/view.out" | grep -qF -- "$1" || complain "${*:2}: no '$1' in: $(head -n 1 "$TMPDIR/view.out")"
}
heads ' · offload optimizer' --strategy zero2 --offload optimizer
heads ' · activation-checkpointing full' --strategy zero2 --activation-checkpointing full
heads ' · bucket 20.00 kB' --strategy ddp --bucket 20000
heads ' in 2 micro-batches' --strategy ddp --accumulate 2
heads ', grain operation' --strategy ddp
heads ', grain message' --strategy ddp --grain message

# The scene has one name everywhere, and a scene that --compare would not show is refused.
refuse "'ring' is not one of: overview, collective," view --scene ring
refuse 'leave out --scene collective' view --compare ddp,zero3 --scene collective --export "$TMPDIR/x.png"
exit $((errors > 0))
