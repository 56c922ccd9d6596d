/* limit - names the option of a limit in the message of an item that is over it. */
#include "im2rec/im2rec.h"

#include "base/err.h"

void
im2rec_name_limit(int e)
{
	if (e == ERR_PIXELS || e == ERR_BYTES)
		err_note(0, "%s; %s raises this limit", err_line(), e == ERR_PIXELS ? "--max-pixels" : "--max-bytes");
}
