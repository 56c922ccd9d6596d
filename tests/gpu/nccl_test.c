/*
 * nccl_test - nccl.c declares NCCL's calls as the library's own header, and the library has all of
 * them.
 */
#include "tap.h"

#include <dlfcn.h>

#if __has_include(<nccl.h>)
#include <nccl.h>

/* nccl.c declares handles as pointers and enumerations as int. */
_Static_assert(sizeof(ncclComm_t) == sizeof(void *) && sizeof(cudaStream_t) == sizeof(void *), "handles");
_Static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int) &&
    sizeof(ncclRedOp_t) == sizeof(int),
    "enumerations");
_Static_assert(ncclSuccess == 0 && ncclSum == 0 && ncclFloat == 7, "values");

#define SAME(call, ...) _Static_assert(_Generic(&call, __VA_ARGS__: 1, default: 0), #call)
SAME(ncclGetVersion, ncclResult_t (*)(int *));
SAME(ncclGetErrorString, const char *(*)(ncclResult_t));
SAME(ncclCommInitAll, ncclResult_t (*)(ncclComm_t *, int, const int *));
SAME(ncclCommDestroy, ncclResult_t (*)(ncclComm_t));
SAME(ncclCommAbort, ncclResult_t (*)(ncclComm_t));
SAME(ncclReduce, ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t,
    cudaStream_t));
SAME(ncclAllReduce, ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
    cudaStream_t));
#endif

int
main(void)
{
	static const char *const name[] = { "ncclGetVersion", "ncclGetErrorString", "ncclCommInitAll",
	    "ncclCommDestroy", "ncclCommAbort",
		"ncclGroupStart", "ncclGroupEnd", "ncclReduce", "ncclAllReduce" };
	void *so = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	unsigned there = 0;

	if (so == NULL) {
		skip("libnccl.so.2 has all the calls that nccl.c declares", "no libnccl.so.2");
		return done();
	}
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		there += dlsym(so, name[i]) != NULL;
	is(there, sizeof(name) / sizeof(*name), "libnccl.so.2 has all the calls that nccl.c declares");
	return done();
}
