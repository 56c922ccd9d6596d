/* main - im2rec: packs images into records, and reads, checks and serves records.  See im2rec(1). */
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
