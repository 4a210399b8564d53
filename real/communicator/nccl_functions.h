/* The functions of NCCL that are used, if its header is there. nccl.c finds them in the library; a test gives its own:
 *
 *     #ifdef HAS_NCCL
 *     nccl_use(&functions);
 *     … train_run with --comm nccl …
 *     nccl_use(NULL);                      the library again
 *     #endif
 */
#ifndef SHARDLAB_NCCL_FUNCTIONS_H
#define SHARDLAB_NCCL_FUNCTIONS_H

#if defined(__has_include)
#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#if NCCL_VERSION_CODE >= 21800 /* ncclCommSplit */
#define HAS_NCCL 1
#endif
#endif
#endif

#ifdef HAS_NCCL

#define NCCL_FUNCTION_LIST(X)                                                                                          \
	X(GetUniqueId)                                                                                                 \
	X(CommInitRank)                                                                                                \
	X(CommSplit)                                                                                                   \
	X(CommCount)                                                                                                   \
	X(CommDestroy)                                                                                                 \
	X(CommAbort)                                                                                                   \
	X(CommGetAsyncError)                                                                                           \
	X(GetErrorString)                                                                                              \
	X(AllReduce)                                                                                                   \
	X(ReduceScatter)                                                                                               \
	X(AllGather)                                                                                                   \
	X(Broadcast)                                                                                                   \
	X(Reduce)                                                                                                      \
	X(Send)                                                                                                        \
	X(Recv)                                                                                                        \
	X(GroupStart)                                                                                                  \
	X(GroupEnd)

struct nccl_functions {
#define X(name) __typeof__(nccl##name) *name;
	NCCL_FUNCTION_LIST(X)
#undef X
};

/* They are copied; NULL: those of the library, which is opened when it is asked for. */
void nccl_use(const struct nccl_functions *functions);

#endif
#endif
