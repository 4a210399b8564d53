/* cuDNN's functions, which cudnn.cu calls once cudnn_open() has found them. */
#ifndef SHARDLAB_CUDA_CUDNN_LIBRARY_H
#define SHARDLAB_CUDA_CUDNN_LIBRARY_H

#include "kernels/cuda/cudnn.h"

typedef void *descriptor;

/* name after "cudnn", parameters */
#define CUDNN_FUNCTION_LIST(X)                                                                                         \
	X(Create, (void **handle))                                                                                     \
	X(Destroy, (void *handle))                                                                                     \
	X(SetStream, (void *handle, kernel_stream s))                                                                  \
	X(BackendCreateDescriptor, (int kind, descriptor *out))                                                        \
	X(BackendDestroyDescriptor, (descriptor d))                                                                    \
	X(BackendFinalize, (descriptor d))                                                                             \
	X(BackendSetAttribute, (descriptor d, int name, int type, int64_t count, const void *values))                  \
	X(BackendGetAttribute, (descriptor d, int name, int type, int64_t most, int64_t *count, void *values))         \
	X(BackendExecute, (void *handle, descriptor plan, descriptor pack))

struct cudnn_library {
	bool asked;
	int error, version;
	size_t (*GetVersion)(void);
	const char *(*GetErrorString)(int status);
#define X(name, parameters) int(*name) parameters;
	CUDNN_FUNCTION_LIST(X)
#undef X
};
extern struct cudnn_library cudnn_library;

/* A status of cuDNN's as an error of this library's: cuDNN's follow ours. */
enum { CUDNN_ERROR = 30000 };
static inline int cudnn_failed(int status)
{
	return status ? CUDNN_ERROR + status : 0;
}

#endif
