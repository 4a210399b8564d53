/* Checks of what this machine has for shardlab: one finding each, in a table that `shardlab doctor` prints.
 *
 *     struct finding f;
 *     doctor_checks[i].look(&f);
 *     printf("%s: %s\n", doctor_checks[i].name, f.text);
 *
 * A new check is a function and its line in DOCTOR_LIST. Checks ask libraries and the system; none computes, and no
 * context of a GPU is made, so that all of them take less than two seconds. */
#ifndef SHARDLAB_DOCTOR_H
#define SHARDLAB_DOCTOR_H

#include <stdbool.h>

#include "strategy/base/status.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_NOTE,   /* it works all the same: slower, or less of it */
	DOCTOR_MISSING /* runs on that device end with an error */
};

struct finding {
	enum doctor_state state;
	char text[700]; /* what is there; or what is not, "; " and what to do */
};

/* constant, name, of GPUs alone: in the order in which they are printed */
#define DOCTOR_LIST(X)                                                                                                 \
	X(cores, "cores", false)                                                                                       \
	X(memory, "memory", false)                                                                                     \
	X(openblas, "OpenBLAS", false)                                                                                 \
	X(mpi, "MPI", false)                                                                                           \
	X(calibration, "calibration", false)                                                                           \
	X(driver, "driver", true)                                                                                      \
	X(gpus, "GPUs", true)                                                                                          \
	X(peers, "peer access", true)                                                                                  \
	X(library, "shardlab's library", true)                                                                         \
	X(toolkit, "CUDA toolkit", true)                                                                               \
	X(cublaslt, "cuBLASLt", true)                                                                                  \
	X(cudnn, "cuDNN", true)                                                                                        \
	X(nccl, "NCCL", true)                                                                                          \
	X(gpu_calibration, "GPUs' calibration", true)

struct doctor_check {
	const char *name;
	bool of_gpus;
	void (*look)(struct finding *out);
};

enum {
#define X(constant, name, of_gpus) DOCTOR_##constant,
	DOCTOR_LIST(X)
#undef X
	        DOCTOR_CHECKS
};

extern const struct doctor_check doctor_checks[DOCTOR_CHECKS];

/* "{train}" and such are spelled as in a status's message. */
void doctor_found(struct finding *out, enum doctor_state state, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#define X(constant, name, of_gpus) void doctor_##constant(struct finding *out);
DOCTOR_LIST(X)
#undef X

#endif
