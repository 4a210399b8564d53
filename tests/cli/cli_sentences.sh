#!/bin/bash
# The table of translated sentences and the source agree: what the source passes to tr() has a row, and what has a row is
# in the source, to the letter. Else a sentence that was changed would be English again, and nobody would notice.
set -euo pipefail

# compare TABLE FILE...: prints what is wrong.
compare() {
	perl - "$@" <<'PERL'
use strict;
# Pieces of a literal, one after another, with the macros of inttypes.h between them.
my $literal = qr/(?:(?:"(?:[^"\\]|\\.)*"|PRI[a-z0-9]+)\s*)+/s;
sub text {
	my ($pieces) = @_;
	my $out = '';
	while ($pieces =~ /"((?:[^"\\]|\\.)*)"|(PRI[a-z0-9]+)/gs) {
		$out .= defined $1 ? $1 : "<$2>";
	}
	return $out;
}
sub content {
	local $/;
	open my $file, '<', $_[0] or die "$_[0]: $!";
	return <$file>;
}
my $table = shift @ARGV;
my (%row, %said);
my $rows = content($table);
$rows =~ s{/\*.*?\*/}{}gs;
$row{text($1)} = 1 while $rows =~ /\bZH\(\s*($literal),/g;
for my $path (@ARGV) {
	my $source = content($path);
	$source =~ s{/\*.*?\*/}{}gs;
	while ($source =~ /($literal)/g) {
		my $said = text($1);
		$said{$said} = 1;
		while ($path !~ m{^strategy/} && $said =~ /\{\{(.+?)\}\}/g) { # a page's
			$said{$1} = 1;
			print "$path: no translation in $table: \"$1\"\n" if !$row{$1};
		}
	}
	while ($path !~ m{^strategy/} && $source =~ /\b(?:window_note|ask|offer|say|draw_text)\((?:[^"();]|\((?:[^"()]|\([^"()]*\))*\))*?($literal)/g) {
		my $sentence = text($1); # these functions look their format up
		(my $words = $sentence) =~ s/%[-+ #0-9.*]*(?:l+|z)?[a-z]|<PRI\w+>//g;
		print "$path: no translation in $table: \"$sentence\"\n" if $words =~ /[a-z]{2}/ && !$row{$sentence};
	}
	while ($source =~ /\btr\(\s*($literal)\)/g) {
		my $sentence = text($1);
		print "$path: no translation in $table: \"$sentence\"\n" if !$row{$sentence};
	}
}
print "$table: the table is empty\n" if !%row;
for (sort keys %row) {
	print "$table: no source says \"$_\"\n" if !$said{$_};
}
PERL
}

command -v perl >/dev/null || { echo 'perl, which reads the source here, is not installed' && exit 77; }

# First the checker itself.
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
planted() {
	local found
	printf '%s\n' "$2" >"$place/table"
	printf '%s\n' "$3" >"$place/source.c"
	found=$(compare "$place/table" "$place/source.c")
	case $1:$found in
	good: | bad:?*) return ;;
	esac
	echo "the checker is wrong: $3 is $1, and it said: '$found'"
	exit 1
}
planted good 'ZH("a \"b\" %" PRId64 " c", "丙")' 'print(tr("a \"b\" "
	"%" PRId64 " c"));'
planted good 'ZH("a", "甲") /* ZH("b", "乙") */' '/* tr("c") */ return "a";'
planted bad 'ZH("a", "甲")' 'print(tr("a"), tr("b"));'
planted bad 'ZH("a", "甲") ZH("b", "乙")' 'print(tr("a"));'

planted good 'ZH("an a", "甲")' 'draw_text(c, f(x, g(y)), 2, "an a", 1); say(t, "%s: %d", "of what");'
planted bad 'ZH("an a", "甲")' 'print("an a"); draw_text(c, f(x, g(y)), 2, "a %s bee", 1);'
planted good 'ZH("a", "甲")' '"<b>{{a}}</b>"'
planted bad 'ZH("a", "甲")' '"{{a}} {{b}}"'

mapfile -t files < <(find cli viz strategy -name '*.[ch]' ! -name language.h | sort && echo strategy/plan/ops.def)
found=$(compare strategy/base/zh.def "${files[@]}")
if [ -n "$found" ]; then
	echo "$found"
	exit 1
fi
