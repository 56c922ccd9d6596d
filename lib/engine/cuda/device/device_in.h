/* device_in - the inside of a GPU: what device.c shares with dnn.c, blas.c and kernel_run.cu. */
#ifndef ENGINE_CUDA_DEVICE_DEVICE_IN_H
#define ENGINE_CUDA_DEVICE_DEVICE_IN_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdint.h>

struct cuda_host;

#define DEVICE_NAME 128

struct device {
	const struct cuda_host *host;
	int		 number;
	char		 name[DEVICE_NAME];
	int		 major, minor;	/* compute capability */
	unsigned	 processors;
	size_t		 bytes;		/* of memory */
	cudaStream_t	 stream[3];	/* by enum device_stream */
	cudnnHandle_t	 dnn;
	cublasLtHandle_t blas;
	/* Properties of a device that plans are made for without having it; NULL: for the one of dnn. */
	cudnnBackendDescriptor_t like;
};

#ifdef __cplusplus
extern "C" {
#endif
/* 0, or ERR_SYS and a line that names what was done when it failed. */
int	 device_ok(const struct device *d, cudaError_t e, const char *what);
#ifdef __cplusplus
}
#endif

#endif
