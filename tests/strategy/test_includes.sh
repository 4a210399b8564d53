#!/bin/bash
# Dependencies between the layers go one way. Looks at every #include "..." and fails when one goes another way:
#
#     strategy  includes  strategy alone: the shared layer knows nobody who uses it
#     kernels   includes  kernels alone
#     sim       includes  strategy                 and none of sim, real, viz
#     viz       includes  strategy                 includes another of the three
#     real      includes  strategy, kernels
#     cli, lessons and tests include what they like
#
# A path starts at the root of the tree ("strategy/plan/plan.h"), so that a line tells which layer it reaches into.
set -euo pipefail

cd "$(dirname "$0")/../.."

allowed() {
	case $1 in
	strategy) echo strategy ;;
	kernels) echo kernels ;;
	sim | viz) echo "$1 strategy" ;;
	real) echo real strategy kernels ;;
	cli | lessons | tests) echo strategy kernels sim real viz cli lessons tests ;;
	esac
}

# Prints what is wrong in the tree at $1, nothing when all is well.
wrong_includes() {
	local layer file line target
	for layer in strategy kernels sim viz real cli lessons tests; do
		[ -d "$1/$layer" ] || continue
		# Lines of the form  strategy/plan/plan.c:12:#include "..."
		(cd "$1" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' --include='*.cu' \
			--include='*.cuh' "$layer" || true) | while IFS= read -r line; do
			file=${line%%:*}
			target=${line#*\"}
			target=${target%%\"*}
			case $target in
			..* | */../*) echo "$file: \"$target\": write the path from the root of the tree" ;;
			*/*)
				case " $(allowed "$layer") " in
				*" ${target%%/*} "*) ;;
				*) echo "$file: \"$target\": $layer may include only: $(allowed "$layer")" ;;
				esac
				;;
			*) echo "$file: \"$target\": write the path from the root of the tree" ;;
			esac
		done
	done
}

# First the checker itself: what is planted must be found, and nothing else.
planted=$(mktemp -d "${TMPDIR:-/tmp}/includes.XXXXXX")
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted"/{strategy/base,kernels,sim,real,viz,cli}
errors=0

# plant FILE INCLUDED good|bad
plant() {
	local found
	printf '#include <stdio.h>\n  #  include "%s"\n' "$2" >"$planted/$1"
	found=$(wrong_includes "$planted")
	rm "$planted/$1"
	case $3:$found in
	good: | bad:?*) ;;
	*)
		echo "the checker is wrong: $1 with \"$2\" is $3, and it said: '$found'"
		errors=1
		;;
	esac
}

plant strategy/base/x.c strategy/base/y.h good
plant strategy/base/x.c sim/y.h bad
plant strategy/x.h real/y.h bad
plant strategy/x.h viz/y.h bad
plant strategy/x.h cli/y.h bad
plant strategy/x.h kernels/y.h bad
plant strategy/base/x.c ../y.h bad
plant strategy/base/x.c strategy/../sim/y.h bad
plant strategy/base/x.c y.h bad
plant kernels/x.c kernels/y.h good
plant kernels/x.cu strategy/y.h bad
plant sim/x.c strategy/y.h good
plant sim/x.c real/y.h bad
plant sim/x.c kernels/y.h bad
plant real/x.c kernels/y.h good
plant real/x.c sim/y.h bad
plant viz/x.c strategy/y.h good
plant viz/x.c sim/y.h bad
plant cli/x.c real/y.h good
plant cli/x.c ../real/y.h bad

# Then the tree.
found=$(wrong_includes .)
if [ -n "$found" ]; then
	echo "$found"
	errors=1
fi
exit $errors
