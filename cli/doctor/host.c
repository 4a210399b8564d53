/* The processors' checks. */
#include "cli/doctor/doctor.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "strategy/base/file.h"
#include "strategy/cluster/cluster.h"

const struct doctor_check doctor_checks[DOCTOR_CHECKS] = {
#define X(constant, name, of_gpus) {name, of_gpus, doctor_##constant},
        DOCTOR_LIST(X)
#undef X
};

void doctor_found(struct finding *out, enum doctor_state state, const char *format, ...)
{
	out->state = state;
	WITH_ARGS(format, status_format(out->text, sizeof out->text, format, args));
}

void doctor_cores(struct finding *out)
{
	struct cluster c;
	if (cluster_local_assumed(&c, DEVICE_CPU)) {
		doctor_found(out, DOCTOR_MISSING, "%s", status_message());
		return;
	}
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	if (c.cores < online)
		doctor_found(out, DOCTOR_NOTE,
		             "%" PRId64 " of this machine's %ld: a container or taskset keeps the others away; ranks "
		             "beyond them take turns",
		             c.cores, online);
	else
		doctor_found(out, c.cores > 1 ? DOCTOR_OK : DOCTOR_NOTE, "%" PRId64 "%s", c.cores,
		             c.cores > 1 ? "" : "; ranks take turns, so times of several say little");
	cluster_release(&c);
}

/* MemAvailable of /proc/meminfo, in bytes; 0: it is not there. */
static int64_t available_memory(void)
{
	char line[200];
	long long kib = 0;
	FILE *f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

void doctor_memory(struct finding *out)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	double all = (double)pages * (double)size / 1e9, left = (double)available_memory() / 1e9;
	if (left <= 0)
		doctor_found(out, DOCTOR_NOTE, "%.1f GB; how much of it is left /proc/meminfo does not say", all);
	else if (left < 1)
		doctor_found(out, DOCTOR_NOTE, "%.1f of %.1f GB are left; end other programs, or train smaller models",
		             left, all);
	else
		doctor_found(out, DOCTOR_OK, "%.1f of %.1f GB are left", left, all);
}

void doctor_openblas(struct finding *out)
{
	const char *core = kernels_blas_core(), *forced = kernels_forced_core(), *better = kernels_better_core();
	if (forced && !better)
		doctor_found(out, DOCTOR_NOTE, "core %s, forced by OPENBLAS_CORETYPE; unset it", core);
	else if (better)
		doctor_found(out, DOCTOR_NOTE,
		             "core %s, and the processor has %s: products are several times slower; install a newer "
		             "OpenBLAS, or set OPENBLAS_CORETYPE=%s",
		             core, kernels_instruction_set(), better);
	else
		doctor_found(out, DOCTOR_OK, "core %s; vectors: %s", core, kernels_instruction_set());
}

void doctor_mpi(struct finding *out)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING], mpirun[4096];
	int length = 0;
	MPI_Get_library_version(version, &length);
	version[strcspn(version, ",\n")] = 0;
	if (file_on_path("mpirun", mpirun, sizeof mpirun))
		doctor_found(out, DOCTOR_OK, "%.200s, %.300s", version, mpirun);
	else
		doctor_found(out, DOCTOR_NOTE,
		             "%.200s, and no mpirun on the PATH, so one rank alone; apt-get install openmpi-bin",
		             version);
}

/* ---- calibration ---- */

enum { DAY = 24 * 3600, DAYS_MOST = 90 };

static const char *ago(time_t seconds)
{
	static char text[40];
	long long hours = (long long)seconds / 3600, days = (long long)seconds / DAY;
	if (days > 0)
		snprintf(text, sizeof text, "%lld day%s ago", days, days > 1 ? "s" : "");
	else if (hours > 0)
		snprintf(text, sizeof text, "%lld hour%s ago", hours, hours > 1 ? "s" : "");
	else
		snprintf(text, sizeof text, "within the last hour");
	return text;
}

static void look_at_calibration(struct finding *out, enum device_kind kind)
{
	const char *cuda = kind == DEVICE_GPU ? " --device cuda" : "",
	           *whose = kind == DEVICE_GPU ? "an H100's" : "assumed";
	char path[4096];
	struct stat file;
	struct cluster c;
	if (cluster_local_path(kind, path, sizeof path)) {
		doctor_found(out, DOCTOR_NOTE, "%.500s", status_message());
	} else if (stat(path, &file)) {
		doctor_found(out, DOCTOR_NOTE, "none, so predictions have %s rates; run: shardlab calibrate%s", whose,
		             cuda);
	} else if (cluster_open(&c, kind == DEVICE_GPU ? CLUSTER_LOCAL_CUDA : CLUSTER_LOCAL, 1)) {
		doctor_found(out, DOCTOR_MISSING, "%.500s; or run: shardlab calibrate%s", status_message(), cuda);
	} else {
		time_t age = time(NULL) - file.st_mtime;
		cluster_release(&c);
		if (age > (time_t)DAYS_MOST * DAY)
			doctor_found(out, DOCTOR_NOTE, "%s: the machine may be another now; run: shardlab calibrate%s",
			             ago(age), cuda);
		else
			doctor_found(out, DOCTOR_OK, "%s, %.400s", ago(age), path);
	}
}

void doctor_calibration(struct finding *out)
{
	look_at_calibration(out, DEVICE_CPU);
}

void doctor_gpu_calibration(struct finding *out)
{
	look_at_calibration(out, DEVICE_GPU);
}
