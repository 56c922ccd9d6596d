/* tensors_internal - the functions of each file format.  For tensors. */
#ifndef TENSOR_TENSORS_INTERNAL_H
#define TENSOR_TENSORS_INTERNAL_H

#include "tensor/tensors.h"

#define TENSORS_WORD	8u	/* first bytes, which tell the format */

/* Read the table of the file t->fd of t->size bytes. */
int	 tensors_safe_read(struct tensors *t);
int	 tensors_params_read(struct tensors *t);
/* Whether the first bytes are those of an NDArray list. */
bool	 tensors_params_knows(const uint8_t word[TENSORS_WORD]);
/* Whether they may be those of safetensors: returns 0, ERR_FORMAT or ERR_LIMIT. */
int	 tensors_safe_knows(const uint8_t word[TENSORS_WORD]);

/* Append the header of the file, and set at of every tensor. */
int	 tensors_safe_head(struct tensors *t, struct buf *head);
int	 tensors_params_head(struct tensors *t, struct buf *head);
int	 tensors_onnx_head(struct tensors *t, struct buf *head);
/* Append the header of an array (lists and models), and the names after all arrays (lists). */
int	 tensors_params_array(const struct tensor *x, struct buf *head);
int	 tensors_onnx_array(const struct tensor *x, struct buf *head);
int	 tensors_params_tail(const struct tensors *t, struct buf *tail);

/* Appends a tensor and sets its count.  Returns 0, ERR_LIMIT if it is too large for memory, or ERR_NOMEM. */
int	 tensors_append(struct tensors *t, const char *name, size_t n, struct tensor x);

#endif
