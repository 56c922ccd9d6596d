/* main - images in, records out: the first step of the data's way, and what is done with records.  See im2rec(1). */
#include "im2rec/im2rec.h"

#include "front.h"

int
main(int argc, char *argv[])
{
	struct im2rec o;
	int status;

	im2rec_options(&o, argc, argv);
	status = o.verb(&o);
	front_flush();
	return status;
}
