/* The GPU as one table of functions: memory, streams, events, graphs, and the arithmetic of training.
 *
 * The table lives in a library of its own, libshardlab-cuda.so, which is built where nvcc is found and opened by
 * real/cuda/library.c when `--device cuda` asks for it: the program needs no CUDA to run on CPUs. Because everything
 * goes through the table, tests put one of their own in its place and carry out a GPU's plan on the CPU.
 *
 *     const struct cuda_api *api = …;
 *     struct cuda *c;
 *     int error = api->open(&c, 0, 64 << 20);
 *     api->norm_forward(c, stream, ELEMENT_BF16, rows, width, x, weight, bias, y, statistics);
 *     if (error) … api->error_text(error) …
 *
 * Functions return 0, or an error that error_text() puts into words. Those that take a stream put work on it and
 * return at once; what they are given must stay as it is until the work is done. Pointers are to device memory unless
 * a name or a comment says host. Semantics, shapes and rounding are those of the function of the same name in
 * kernels/kernels.h and kernels/sliced.h: what a sum's order changes is all that may differ. Everything is
 * deterministic: no atomic additions of floating-point numbers. Nothing is allocated after open().
 *
 * What changes from step to step (the step's number, the loss scale, whether a step is skipped) is read from device
 * memory by the kernels, never from an argument, so that a captured graph can be replayed.
 *
 * Kernels marked [W] use the workspace that open() took, so they must all be put on one stream.
 */
#ifndef SHARDLAB_CUDA_H
#define SHARDLAB_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "kernels/rounding.h"
#include "kernels/sliced.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_API_VERSION 2
#define CUDA_API_SYMBOL "shardlab_cuda_api" /* const struct cuda_api *shardlab_cuda_api(void) */
/* The same table with only arithmetic in it, each function in its simplest form: for checks. Others are NULL. */
#define CUDA_PLAIN_SYMBOL "shardlab_cuda_plain_api"

struct cuda; /* an opened device: cuBLASLt's handle, the workspace */
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUgraphExec_st *cuda_graph;

struct cuda_properties {
	char name[256];
	int major, minor; /* compute capability */
	int multiprocessors;
	int64_t memory_bytes; /* in all */
	int64_t l2_bytes;
	int driver, runtime; /* versions as CUDA counts: 13000 is 13.0 */
	bool runs_kernels;   /* the library has code for this compute capability */
};

/* The device's memory while open() took it: in all, and what was free once there was a context, then the workspace,
 * then cuBLASLt's handle. */
struct cuda_opening {
	int64_t total_bytes, after_context, after_workspace, after_cublaslt;
};

/* Four floats in device memory, as strategy/settings/loss_scale.h lays out its state: the scale is the first, the count
 * of skipped steps the last. */
enum { CUDA_SCALER_SCALE = 0, CUDA_SCALER_GOOD = 1, CUDA_SCALER_HYSTERESIS = 2, CUDA_SCALER_SKIPPED = 3 };

/* A rule of strategy/settings/loss_scale.h, for scaler_update: */
struct cuda_loss_scale_rule {
	bool pytorch; /* else DeepSpeed's */
	double minimum;
	int64_t window;
	float hysteresis;
};

/* What an update needs besides its vectors. */
struct cuda_update {
	double learning_rate; /* warm-up and decay as strategy/settings/settings.h: computed on the device from *step */
	int64_t warmup, decay;
	float beta1, beta2, epsilon, weight_decay; /* AdamW */
	double clip;                               /* of the global norm; read if `squares` is given */
	const int64_t *step;   /* device: updates that were begun, from 1; less the scaler's skipped ones: those made */
	const float *squares;  /* device: the sum of squares of all gradients; NULL: no clipping */
	const float *scaler;   /* device: four floats; NULL: no loss scale */
	const float *overflow; /* device: > 0: leave everything as it is; NULL: never */
	bool keep_parameters;  /* parameters are made anew from the master also when nothing is updated */
	const struct rounding *rounding; /* host; 16-bit parameters are rounded stochastically. NULL: to the nearest */
};

struct cuda_api {
	int version; /* CUDA_API_VERSION */

	/* ---- the device ---- */
	const char *(*error_text)(int error);
	int (*count)(int *devices); /* 0 devices is no error; a missing or old driver is */
	int (*describe)(int device, struct cuda_properties *out);
	int (*open)(struct cuda **out, int device, size_t workspace_bytes);
	void (*close)(struct cuda *c); /* accepts NULL */
	/* fp32 products on tensor cores: operands rounded to TF32's 10 bits, sums in fp32. Off unless set. */
	void (*allow_tf32)(struct cuda *c, bool allow);
	/* Calls of linear_backward_gelu whose product cuBLASLt could not give the slope of GELU: it took a pass more.
	 */
	int64_t (*gelu_passes)(const struct cuda *c);
	int (*memory)(struct cuda *c, int64_t *free_bytes, int64_t *total_bytes);
	void (*opening)(const struct cuda *c, struct cuda_opening *out);
	int (*allocate)(struct cuda *c, size_t bytes, void **out);
	void (*release)(struct cuda *c, void *p);
	int (*allocate_host)(struct cuda *c, size_t bytes, void **out); /* pinned */
	void (*release_host)(struct cuda *c, void *p);

	/* ---- streams, events, graphs ---- */
	int (*stream_create)(struct cuda *c, bool urgent, cuda_stream *out);
	void (*stream_destroy)(struct cuda *c, cuda_stream s);
	int (*stream_synchronize)(struct cuda *c, cuda_stream s);
	int (*stream_wait)(struct cuda *c, cuda_stream s, cuda_event e);
	int (*event_create)(struct cuda *c, bool timed, cuda_event *out);
	void (*event_destroy)(struct cuda *c, cuda_event e);
	int (*event_record)(struct cuda *c, cuda_event e, cuda_stream s);
	int (*event_is_done)(struct cuda *c, cuda_event e, bool *done);
	int (*event_elapsed)(struct cuda *c, cuda_event begin, cuda_event end, double *seconds); /* both are done */
	int (*copy)(struct cuda *c, cuda_stream s, void *to, const void *from, size_t bytes);    /* any two places */
	int (*fill)(struct cuda *c, cuda_stream s, void *to, int byte, size_t bytes);
	/* On a thread of the driver, when what is before it on the stream is done. It may not call this table. */
	int (*host_call)(struct cuda *c, cuda_stream s, void (*function)(void *context), void *context);
	int (*capture_begin)(struct cuda *c,
	                     cuda_stream s); /* streams that wait for events of `s` are captured with it */
	int (*capture_end)(struct cuda *c, cuda_stream s, cuda_graph *out);
	int (*graph_launch)(struct cuda *c, cuda_graph g, cuda_stream s);
	void (*graph_destroy)(struct cuda *c, cuda_graph g);

	/* ---- kernels/kernels.h ---- */
	int (*linear_forward)(struct cuda *c, cuda_stream s, const struct linear_shape *shape, const void *x,
	                      const void *weight, const void *bias, const void *residual, void *y, void *pre); /* [W] */
	int (*linear_backward)(struct cuda *c, cuda_stream s, const struct linear_shape *shape, void *dy, const void *x,
	                       const void *weight, const void *pre, void *dx, void *dweight, bool accumulate_weight,
	                       void *dbias, bool accumulate_bias); /* [W] */
	/* The same where x is gelu(x_pre): dx is the gradient of x_pre. */
	int (*linear_backward_gelu)(struct cuda *c, cuda_stream s, const struct linear_shape *shape, void *dy,
	                            const void *x, const void *weight, const void *pre, const void *x_pre, void *dx,
	                            void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias); /* [W] */
	int (*norm_forward)(struct cuda *c, cuda_stream s, enum element type, int64_t rows, int64_t width,
	                    const void *x, const void *weight, const void *bias, void *y,
	                    float *statistics); /* statistics: or NULL */
	int (*norm_backward)(struct cuda *c, cuda_stream s, enum element type, int64_t rows, int64_t width,
	                     const void *dy, const void *x, const float *statistics, const void *weight, void *dx,
	                     bool accumulate_x, void *dweight, bool accumulate_weight, void *dbias,
	                     bool accumulate_bias); /* [W] */
	int (*batch_norm_statistics)(struct cuda *c, cuda_stream s, const struct batch_norm_shape *shape, const void *x,
	                             float *part); /* [W] */
	int (*batch_norm_merge)(struct cuda *c, cuda_stream s, int64_t parts, int64_t width, const float *part,
	                        float *running, float *statistics);
	int (*batch_norm_running)(struct cuda *c, cuda_stream s, int64_t width, const float *running,
	                          float *statistics);
	int (*batch_norm_forward)(struct cuda *c, cuda_stream s, const struct batch_norm_shape *shape, const void *x,
	                          const float *statistics, const void *weight, const void *bias, void *y);
	int (*batch_norm_sums)(struct cuda *c, cuda_stream s, const struct batch_norm_shape *shape, void *dy,
	                       const void *x, const float *statistics, const void *weight, const void *bias,
	                       float *sums, void *dweight, bool accumulate_weight, void *dbias,
	                       bool accumulate_bias); /* [W] */
	int (*batch_norm_backward)(struct cuda *c, cuda_stream s, const struct batch_norm_shape *shape, const void *du,
	                           const void *x, const float *statistics, const float *sums, const void *weight,
	                           void *dx);
	int (*attention_forward)(struct cuda *c, cuda_stream s, const struct attention_shape *shape, const void *qkv,
	                         void *y, float *log_sum_exp);
	/* The step of attention_forward's ladder that is made for compute capability 9.0; CUDA_ERROR_SHAPE of
	 * kernels/cuda/context.h for another device, and for heads and addresses that it does not take. */
	int (*attention_forward_hopper)(struct cuda *c, cuda_stream s, const struct attention_shape *shape,
	                                const void *qkv, void *y, float *log_sum_exp);
	int (*attention_backward)(struct cuda *c, cuda_stream s, const struct attention_shape *shape, const void *dy,
	                          const void *qkv, const void *y, const float *log_sum_exp, void *dqkv); /* [W] */
	int (*embedding_forward)(struct cuda *c, cuda_stream s, enum element type, int64_t samples, int64_t tokens,
	                         int64_t width, const int32_t *ids, const void *token_table, const void *position_table,
	                         void *y);
	int (*embedding_backward)(struct cuda *c, cuda_stream s, enum element type, int64_t samples, int64_t tokens,
	                          int64_t width, int64_t vocabulary, int64_t context, const int32_t *ids,
	                          const void *dy, void *dtoken_table, bool accumulate_token, void *dposition_table,
	                          bool accumulate_position); /* [W] */
	/* The gradient is of scale × the scaler's scale × the sum of losses; scaler NULL: of scale × that sum. */
	int (*classifier)(struct cuda *c, cuda_stream s, enum element type, int64_t rows, int64_t classes,
	                  int64_t stride, void *logits, const int32_t *targets, double scale, const float *scaler,
	                  float *loss, bool accumulate); /* [W] */
	/* loss and correct += those of these rows */
	int (*classifier_evaluate)(struct cuda *c, cuda_stream s, enum element type, int64_t rows, int64_t classes,
	                           int64_t stride, const void *logits, const int32_t *targets, double *loss,
	                           int64_t *correct); /* [W] */
	int (*adamw_update)(struct cuda *c, cuda_stream s, enum element type, const struct cuda_update *u, int64_t n,
	                    void *parameters, const void *gradients, float *first_moment, float *second_moment,
	                    float *master);
	int (*sgd_update)(struct cuda *c, cuda_stream s, enum element type, const struct cuda_update *u, int64_t n,
	                  void *parameters, const void *gradients, float *master);
	int (*vector_add)(struct cuda *c, cuda_stream s, enum element type, int64_t n, const void *x, void *y);
	int (*vector_convert)(struct cuda *c, cuda_stream s, int64_t n, enum element from, const void *x,
	                      enum element to, void *y);
	/* *sum = the sum of squares (in double, fixed order, rounded once), or += */
	int (*vector_squares)(struct cuda *c, cuda_stream s, enum element type, int64_t n, const void *x, float *sum,
	                      bool accumulate); /* [W] */
	/* *overflow = 1 if an element is infinite or NaN, else 0; accumulating: stays above 0 once it is */
	int (*vector_overflow)(struct cuda *c, cuda_stream s, enum element type, int64_t n, const void *x,
	                       float *overflow, bool accumulate);

	/* ---- state that steps carry ---- */
	int (*advance)(struct cuda *c, cuda_stream s, int64_t *step); /* ++*step */
	/* loss_scale_update() of strategy/settings/loss_scale.h; *gave_up (host or device memory that the host reads)
	 * becomes 1 where that returns false. */
	int (*scaler_update)(struct cuda *c, cuda_stream s, const struct cuda_loss_scale_rule *rule,
	                     const float *overflow, float *scaler, int32_t *gave_up);

	/* ---- kernels/sliced.h ---- */
	int (*linear_finish)(struct cuda *c, cuda_stream s, enum element type, int64_t rows, int64_t width,
	                     const void *bias, const void *residual, void *sum, void *y);
	int (*embedding_sliced_forward)(struct cuda *c, cuda_stream s, enum element type, int64_t samples,
	                                int64_t tokens, int64_t width, const struct class_slice *slice,
	                                const int32_t *ids, const void *token_table, void *y);
	int (*embedding_finish)(struct cuda *c, cuda_stream s, enum element type, int64_t samples, int64_t tokens,
	                        int64_t width, const void *position_table, void *y);
	int (*embedding_sliced_backward)(struct cuda *c, cuda_stream s, enum element type, int64_t samples,
	                                 int64_t tokens, int64_t width, const struct class_slice *slice,
	                                 int64_t context, const int32_t *ids, const void *dy, void *dtoken_table,
	                                 bool accumulate_token, void *dposition_table,
	                                 bool accumulate_position); /* [W] */
	int (*classifier_maxima)(struct cuda *c, cuda_stream s, enum element type, int64_t rows,
	                         const struct class_slice *slice, const void *logits, float *maxima);
	int (*classifier_sums)(struct cuda *c, cuda_stream s, enum element type, int64_t rows,
	                       const struct class_slice *slice, const void *logits, const int32_t *targets,
	                       const float *maxima, float *sums);
	int (*classifier_gradient)(struct cuda *c, cuda_stream s, enum element type, int64_t rows,
	                           const struct class_slice *slice, void *logits, const int32_t *targets,
	                           const float *maxima, const float *sums, double scale, const float *scaler,
	                           float *loss, bool accumulate); /* [W] */
	int (*evaluate_sums)(struct cuda *c, cuda_stream s, enum element type, int64_t rows,
	                     const struct class_slice *slice, const void *logits, const int32_t *targets,
	                     const float *maxima, float *sums);
	/* loss and correct += those of the first `rows` rows */
	int (*evaluate_count)(struct cuda *c, cuda_stream s, int64_t rows, const float *maxima, const float *sums,
	                      double *loss, int64_t *correct); /* [W] */
};

#ifdef __cplusplus
}
#endif
#endif
