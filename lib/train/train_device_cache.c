/* train_device_cache - decodes a run's records into the device cache: serves train. */
#include "base/err.h"
#include "train/train_in.h"

#include <stdlib.h>

int
train_hold(struct train *t)
{
	uint8_t *pixels;
	size_t bytes;
	int e = batch_hold(t->in, &pixels, &bytes);

	if (e == 0)
		e = t->engine->accel != NULL ? t->engine->accel->cache_images(t->dev, pixels, bytes) :
		    err_fail(ERR_ARG, "%s: computes where the pictures are", t->engine->name);
	t->pictures = pixels;
	return e;
}
