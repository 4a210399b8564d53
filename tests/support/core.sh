# shellcheck shell=bash
# An OpenBLAS that says which core it has, whatever this processor is, to test how the program begins again with the core
# that fits. Sourced after commands.sh, not run. Like OpenBLAS it looks at its variable once, when it is loaded.
#
#     make_core 'asked ? asked : "Prescott"'     $TMPDIR/core.so, to be named in LD_PRELOAD: it knows no processor
#     make_core '"Prescott"'                     it has no other core

# Each process that loads it adds a line to $TMPDIR/loaded: its pid, name and core ("-": none was asked for).
make_core() {
	: >"$TMPDIR/loaded"
	${CC:-cc} -shared -fPIC -xc -o "$TMPDIR/core.so" - <<-END
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/prctl.h>
		#include <unistd.h>
		static char *asked;
		__attribute__((constructor)) static void load(void)
		{
			char *core = getenv("OPENBLAS_CORETYPE"), name[16] = "";
			FILE *f = fopen("$TMPDIR/loaded", "a");
			asked = core ? strdup(core) : NULL;
			prctl(PR_GET_NAME, name);
			if (f)
				fprintf(f, "%ld %s %s\n", (long)getpid(), name, core ? core : "-");
			if (f)
				fclose(f);
		}
		char *openblas_get_corename(void)
		{
			return $1;
		}
	END
}

# with_core COMMAND…
with_core() {
	LD_PRELOAD=$TMPDIR/core.so ASAN_OPTIONS=verify_asan_link_order=0 "$@"
}

# has_vectors: there is a core that fits better than Prescott.
has_vectors() { grep -q -w avx2 /proc/cpuinfo; }
