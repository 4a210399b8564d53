#!/bin/bash
# Messages name an option in braces, "{data}", and the command writes --data instead. That is done to a format, and to what
# goes through status_words(); in an argument the braces would stay and be shown. So each literal of the source with such a
# name stands where it is done, and no help has braces left.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

command -v perl >/dev/null || { echo 'perl, which reads the source here, is not installed' && exit 77; }

# unspelled FILE...: the literals whose names nobody would spell. A name alone, such as "{trace}", is handed on as a setting;
# it is wrong only as an argument of a message.
unspelled() {
	perl - "$@" <<'PERL'
use strict;
# Functions that spell, and the number of the argument that they spell.
my %format = (status_fail => 1, status_prefix => 1, status_words => 0, scan_fail => 2, part_fail => 1, window_note => 1,
              cuda_device_error => 2, cuda_library_failed => 3, json_file_read => 0, tokenizer_read_json => 0,
              emit_note => 1, recipe_say => 2, recipe_note => 2, recipe_bar => 2, recipe_refuse => 3);
# Lists whose texts go through status_words() where they are printed.
my %printed = ('cli/command/help.c' => 1, 'strategy/strategies/pipeline.c' => 1, 'strategy/cluster/catalogue.c' => 1,
               'sim/advise.c' => 1, 'strategy/model/elsewhere.c' => 1);
my %no_call = map { $_ => 1 } qw(if for while switch return sizeof);
for my $path (@ARGV) {
	open my $file, '<', $path or die "$path: $!";
	my $source = do { local $/; <$file> };
	$source =~ s{/\*.*?\*/}{$& =~ s/[^\n]//gr}gse;
	my @calls; # of what is open: the function, or '', and the number of the argument
	while ($source =~ /\G(?:((?:"(?:[^"\\]|\\.)*"\s*|PRI\w+\s*)+)|'(?:[^'\\]|\\.)*'|(\w*)\s*([({[])|([)}\]])|(,)|\w+|.)/gs) {
		my ($literal, $name, $open, $close, $comma) = ($1, $2, $3, $4, $5);
		push @calls, [$open eq '(' && !$no_call{$name // ''} ? $name // '' : $open eq '{' ? '{' : '', 0] if $open;
		pop @calls if $close;
		$calls[-1][1]++ if $comma && @calls;
		next if !defined $literal || $literal !~ /\{[a-z_]+\}/;
		my ($call) = grep { $_->[0] ne '' } reverse @calls;
		my $first = defined $call && exists $format{$call->[0]} ? $format{$call->[0]} : undef;
		next if defined $first && $call->[1] == $first;
		next if !defined $first && ($literal =~ /^"\{[a-z_]+\}"\s*$/ || $printed{$path});
		my $line = 1 + (substr($source, 0, pos $source) =~ tr/\n//);
		print "$path:$line: a name in braces that nobody spells: $literal\n";
	}
}
PERL
}

# First the checker itself.
planted() {
	local found
	printf '%s\n' "$2" >"$TMPDIR/planted.c"
	found=$(unspelled "$TMPDIR/planted.c")
	case $1:$found in
	good: | bad:?*) return ;;
	esac
	fail "the checker is wrong: $2 is $1, and it said: '$found'"
}
planted good 'return status_fail(s, "%s, or {data} (see)", f(a, "b"));'
planted good 'return status_fail(s, one ? "{data}: %d" PRId64 "; {help}" : "{data}", x);'
planted good 'return status_fail(s, "%s", one ? "" : status_words(", or {data}"));'
planted good '/* "or {data}" */ s = output_check(path, "{trace}");'
planted bad 'return status_fail(s, "%s", one ? "" : ", or {data}");'
planted bad 'return status_fail(s, "%s", "{data}");'
planted bad 'const char *advice = one ? "" : "or {data}";'
planted bad 'printf("or {data}");'

mapfile -t files < <(find cli real sim strategy viz/window -name '*.c' ! -path real/tokenizer/pattern.c | sort)
found=$(unspelled "${files[@]}")
[ -z "$found" ] || complain "$found"

for topic in '' models strategies clusters checkpointing data config $("$SHARDLAB" help | sed -n 's/^  shardlab \([a-z]*\) .*/\1/p'); do
	# shellcheck disable=SC2086
	"$SHARDLAB" help $topic >"$TMPDIR/help" 2>/dev/null || complain "help $topic: exit status $?"
	if grep -n '{[a-z_]*}' "$TMPDIR/help"; then complain "help $topic: a name that nobody spelled"; fi
done
exit $((errors > 0))
