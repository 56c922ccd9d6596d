/*
 * confusion - counts evaluated samples by label and predicted class, and prints them as tables.
 *
 * Samples whose probabilities are NaN have no predicted class and are not counted.
 */
#ifndef CMD_PWORKER_CONFUSION_H
#define CMD_PWORKER_CONFUSION_H

#include "source/names.h"

#include <stdint.h>

struct confusion {
	uint32_t	 classes;
	const struct names *names;	/* names of the classes, lent; classes after the last name have numbers */
	uint64_t	*count;		/* [classes,classes] samples by label and predicted class */
};

/* Returns 0 or ERR_NOMEM. */
int	 confusion_open(struct confusion *k, uint32_t classes, const struct names *names);
void	 confusion_close(struct confusion *k);
/* Counts a sample with label < classes and probabilities p [classes]. */
void	 confusion_add(struct confusion *k, uint32_t label, const float *p);
/* Prints to stdout precision and recall of each class, and the matrix, each after an empty line. */
void	 confusion_print(const struct confusion *k);
/* Print a class's name, or its number after the last name; and a tab and a ratio, or a hyphen where all is 0. */
void	 confusion_print_name(const struct names *names, uint32_t c);
void	 confusion_print_share(double part, uint64_t all);

#endif
