/* device_in - the private part of a device, for device.c, dnn.c, blas.c and kernel_run.cu. */
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
	size_t		 bytes;		/* bytes of memory */
	cudaStream_t	 stream[3];	/* by enum device_stream */
	int		 captures;	/* DEVICE_MAIN is being captured */
	cudnnHandle_t	 dnn;
	cublasLtHandle_t blas;
	/*
	 * The properties of a device that is not present, for plans made without it; NULL: that of
	 * the handle.
	 */
	cudnnBackendDescriptor_t like;
};

#ifdef __cplusplus
extern "C" {
#endif
/*
 * Opens libnvrtc, with which cuDNN compiles kernels at run time.  cuDNN opens it by name alone, and does not
 * find it in the toolkit's folder, which this module knows.  Without it cuDNN has fewer engines.
 */
void	 device_load_compiler(void);
/* Returns 0, ERR_NOMEM or ERR_SYS; the line names what failed. */
int	 device_check(const struct device *d, cudaError_t e, const char *what);
#ifdef __cplusplus
}
#endif

#endif
