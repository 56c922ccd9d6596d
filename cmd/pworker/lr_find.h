/*
 * lr_find - finds a learning rate from the losses of a run whose rate grows with each step (Smith, "Cyclical Learning
 * Rates", WACV 2017, section 3.3).
 */
#ifndef CMD_PWORKER_LR_FIND_H
#define CMD_PWORKER_LR_FIND_H

#include <stdbool.h>
#include <stddef.h>

#define LR_FIND_FROM	1e-5	/* first rate */
#define LR_FIND_TO	10.0	/* last rate */
#define LR_FIND_STEPS	200	/* steps between them by default */

struct lr_find {
	double	(*point)[2];	/* [n] rate and loss of each step */
	size_t	 n, cap;
	double	 lowest;	/* the least mean loss of a few steps in a row */
};

/* Adds a step.  Returns 1, 0 if the loss has diverged and no rate above is of use, or ERR_NOMEM. */
int	 lr_find_add(struct lr_find *f, double rate, double loss);
/*
 * Computes the rate of the lowest loss and that where the loss falls fastest, of losses smoothed over neighbouring
 * steps.  Returns false if the loss does not fall more than it differs from step to step at the lowest rates.
 */
bool	 lr_find_rates(const struct lr_find *f, double *lowest, double *steepest);
void	 lr_find_free(struct lr_find *f);

#endif
