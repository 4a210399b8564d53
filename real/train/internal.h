/* Shared by the files of the training loop. */
#ifndef SHARDLAB_TRAIN_INTERNAL_H
#define SHARDLAB_TRAIN_INTERNAL_H

#include <pthread.h>

#include "real/checkpoint/folder.h"
#include "real/checkpoint/manifest.h"
#include "real/checkpoint/pieces.h"
#include "real/communicator/communicator.h"
#include "real/data/data.h"
#include "real/data/model_weights.h"
#include "real/data/weights_writer.h"
#include "real/device/device.h"
#include "real/train/train.h"
#include "strategy/base/series.h"

/* When each rank came to the collectives of a step, known to all ranks. */
struct arrivals {
	bool opened;
	int64_t clock;       /* added to this rank's clock, it is that of rank 0 */
	int64_t most;        /* collectives and messages of the role that has most */
	int64_t *mine, *all; /* [most], [ranks * most]: when a rank came to each, in order of issue */
	struct trace trace;  /* of all ranks, nothing but communication */
};

/* A checkpoint that is being written (checkpoint.c). Every rank is in the same phase. */
enum saving_phase {
	SAVING_NONE,
	SAVING_FILES, /* each rank writes its own */
	SAVING_NAMES  /* rank 0 makes it a checkpoint */
};

/* Each rank's report on its file to the others. */
struct written {
	int64_t failed; /* enum status */
	int64_t bytes, state_bytes;
	uint64_t file_checksum, checksum;
	int64_t ns;  /* the time it took */
	bool ruined; /* the state is not finite */
};

struct saving {
	enum saving_phase phase;
	int64_t step;
	bool last;           /* no step follows */
	uint64_t data_whole; /* at rank 0 */
	uint64_t data_checksum;
	char folder[4096];      /* temporary */
	struct new_folder made; /* at rank 0 */
	pthread_t thread;
	bool in_thread;
	atomic_bool done;   /* this rank has done its part of the phase; the rest can then be read */
	enum status status; /* of the run: not of the file */
	struct written mine;
	struct written *all; /* [ranks] */
	char line[512];      /* why this rank failed */
};

enum { RECENT_STEPS = 31 };

struct training {
	const struct train_options *options;
	int rank, ranks;
	bool mpi; /* MPI runs; false for one rank that stands alone */
	struct model model;
	struct plan plan;
	struct dataset data;
	int64_t validation_samples; /* samples of an evaluation */
	struct model_weights init;
	struct weights_writer save;
	int local_rank, local_ranks; /* of those on this machine */
	struct device device;
	struct communicator *communicator;

	struct piece_writer pieces; /* of checkpoints */
	struct saving saving;
	struct report_saved saved; /* measurements of them */
	char *resume_path;         /* the checkpoint that the run goes on from; NULL: it begins */
	struct manifest resumed;
	int64_t steps_before;  /* the steps before the checkpoint */
	int64_t saved_step;    /* the last for which a checkpoint was due */
	int64_t kept_step;     /* of the last checkpoint that is there, or that the run goes on from; 0: none */
	int64_t saved_ns;      /* when it was due, for --checkpoint-every TIME */
	bool agreed;           /* all ranks know of the failure that ends the run, and its line */
	bool unsaved;          /* the last that was due could not be written */
	char unsaved_why[512]; /* at rank 0, if it was the last of the run */

	int64_t steps_done;
	int64_t recent_ns[RECENT_STEPS]; /* how long the last steps took, in turn; of this process recent_count */
	int64_t recent_count;
	double loss; /* of the last step; NaN on ranks that do not hold it */
	bool holds_loss;
	struct series losses, times; /* double, struct times; of all steps of a run that is not long */
	struct series gaps;       /* int64_t ns: from the end of a step to the end of the next; the first: of itself */
	struct trace_scale scale; /* of the last step */
	double peak;              /* of a device, in FLOP/s (training_peak) */
	struct {
		bool products, capture, attention;
	} warned; /* on stderr, of what is slow */
	struct arrivals arrivals;
	double validation_loss, validation_accuracy; /* NaN: none */
	uint64_t checksum;
};

/* setup.c: all that needs no other rank. */
struct device_choice training_device(const struct training *t);
enum status training_prepare(struct training *t, const struct train_options *o);
void training_release(struct training *t);

/* weights.c */
enum status training_open_init(struct training *t);
/* Zeros for a run that is resumed: drawing weights that `restore` will overwrite would take as long as reading. */
enum status training_no_weights(void *context, int tensor, int64_t first, int64_t count, float *out);
enum status training_read_weights(void *context, int tensor, int64_t first, int64_t count, float *out);

/* save.c. Check: whether saving could begin; nothing is left of it once the training is released. */
/* STATUS_INPUT: a tokenizer beside the token ids, or in the folder of the weights, does not have them. */
enum status training_check_vocabulary(const struct training *t);
enum status training_save_check(struct training *t);
enum status training_show_weights(void *context, int tensor, int64_t first, int64_t count, const float *values);
enum status training_save_begin(struct training *t);
/* All ranks fail if one does, with its line, and the unfinished files are removed. */
enum status training_save_agree(struct training *t, enum status s);
/* `shown`: how the epilogue ended on this rank. Collective, as begin is. */
enum status training_save_finish(struct training *t, enum status shown);

/* All ranks go on, or all give up with the message of the worst failure. */
enum status training_agree(struct training *t, enum status s);

/* resume.c. With the input: finds the checkpoint to resume from, and refuses what does not go with it. */
enum status training_open_resume(struct training *t);
/* Collective, after the prologue: the state is that of the checkpoint, on every rank. */
enum status training_resume(struct training *t);
/* Covers the run's first samples, which stand for its data. */
uint64_t training_data_checksum(const struct training *t);
struct settings training_settings(const struct training *t); /* as a checkpoint has them */

/* checkpoint.c */
/* Ends a run that diverged: after `what`, which says how that shows, the line names the checkpoint that remains. */
enum status training_diverged(const struct training *t, const char *what);
enum status training_checkpoint_check(const struct training *t);
/* Collective, before the first step: whether the ranks share the folder, and whether there is room. STATUS_INPUT. */
enum status training_checkpoint_try(struct training *t);
/* Collective, after a step. Without room for it the run goes on: one line says so, and the last one stays. It is
 * written on return, or (--checkpoint-async) under way. last: no step follows, so it is written. */
enum status training_checkpoint(struct training *t, bool last);
/* One is under way, on all ranks. wish: 1 if this rank has done what is its own. */
bool training_checkpoint_is_under_way(const struct training *t, double *wish);
/* Collective: goes on with it once the sum of the wishes says that all are done. */
enum status training_checkpoint_go_on(struct training *t, double wishes);
/* Collective: waits for the one that is under way, if any. STATUS_RUN: its state is not finite, and it is gone. */
enum status training_checkpoint_settle(struct training *t);
/* After this step, by its number or (at rank 0, which tells the others) by the clock. */
bool training_checkpoint_is_due(const struct training *t, bool last, bool time);
/* Waits for the thread that writes. */
void training_checkpoint_release(struct training *t);
/* The plan's section save, by which pieces are learnt, written or added up. */
enum status training_save_state(struct training *t);
enum status training_learn_pieces(struct training *t);
enum status training_tell_all(struct training *t, const void *mine, int64_t bytes, void *all);

/* One rank's figures: no pointers, so that they travel as bytes. */
struct rank_figures {
	struct memory_use memory[SPACE_COUNT];
	int64_t resident_bytes;
	int64_t staging_bytes;  /* bytes of staging that collectives wrote to */
	int64_t overhead_bytes; /* of the device */
	struct report_slowed slowed;
	struct report_overhead overhead;
	struct transfer_count transfer[TRANSFER_COUNT];
	struct report_traffic traffic[TRAFFIC_COUNT];
	int64_t sent_all, received_all; /* without control */
	bool counted;
	struct times time; /* of the step with the median time: whole numbers, all of them */
	int64_t gap;       /* the median from the end of a step to the end of the next, in ns */
};

/* report.c: the peak of a device of this machine, which MFU is a share of; 0: it was not calibrated. */
double training_peak(const struct training *t);
/* This rank's figures; one report of all ranks' figures, the largest of each role; and both together,
 * collectively: rank 0 gets the report. */
void training_figures(const struct training *t, struct rank_figures *f);
/* At rank 0: says once on stderr what is slow, as soon as that is known. */
void training_warn(struct training *t, const struct report_slowed *s);
void training_merge(struct training *t, const struct rank_figures *all, struct report *out);
enum status training_report(struct training *t, struct report *out);
enum status training_trace(struct training *t);
/* Collective, after the epilogue of a plan that gathers the weights: what that took. */
enum status training_gathering(struct training *t, struct report *out);

/* place.c: around a step and what all ranks agree on after it. */
void training_enter_step(struct training *t);
void training_leave_step(struct training *t);
/* Requests that ranks exchange after a step. */
struct wishes {
	bool stop, time; /* for a checkpoint */
	double written;  /* how many ranks have written their part of the one that is under way */
	bool nan, inf;   /* the loss: the run diverged */
};

enum status training_hear_wishes(struct training *t, struct wishes *out);

/* meet.c: called collectively after a step. The executor learns when the last member of every collective had come. */
enum status training_meet(struct training *t);
void arrivals_release(struct arrivals *m);
/* Nanoseconds that, added to this rank's clock, give rank 0's. Collective over a communicator of MPI. */
int64_t clocks_align(const void *mpi_communicator, int64_t (*now)(void));

#endif
