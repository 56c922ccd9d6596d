/*
 * look - the sizes of a few images of the records, before the first step.
 *
 * An error prints a message and ends the process, as in cmd/front.h.
 */
#ifndef CMD_PWORKER_LOOK_H
#define CMD_PWORKER_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct recs;

#define PWORKER_LOOKS	16
struct pworker_look {
	uint32_t n, h[PWORKER_LOOKS], w[PWORKER_LOOKS];	/* sizes of images */
	uint32_t labels;	/* labels of the last of these records */
};

/*
 * Reads the headers of a few images, spread over the records r.  Without r and with path "-" these are the first of
 * standard input, which stay unread.  There are none of other pipes.
 */
void	 pworker_look(const struct recs *r, const char *path, struct pworker_look *l);
/* Whether all images have one size. */
bool	 pworker_look_alike(const struct pworker_look *l);
/* The shorter side of all images, or 0 if they differ or it is no value of --resize. */
uint32_t pworker_look_side(const struct pworker_look *l);
/* The index of the image with the longest shorter side. */
uint32_t pworker_look_largest(const struct pworker_look *l);
/* Whether all images are so much larger or smaller than a side that a net sees things of another size: by a quarter. */
bool	 pworker_look_differs(const struct pworker_look *l, uint32_t side);
/*
 * Whether crops of a side leave out more than is usual of at least a quarter of the images.  A random crop of half of
 * the shorter side and more is a means to get other samples in each epoch.  A crop at the centre usually keeps 7/8 (224
 * of 256, 28 of 32), rarely less than 3/4.
 */
bool	 pworker_look_loses(const struct pworker_look *l, uint32_t side, bool random);
/* Whether one of the first images has colours; decodes them. */
bool	 pworker_look_colours(const struct recs *r);

#endif
