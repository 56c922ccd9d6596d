/* pworker_judge - what a trained net says of records: a score of all, or a row a picture. */
#ifndef CMD_PWORKER_JUDGE_H
#define CMD_PWORKER_JUDGE_H

#include "ps/judge.h"

/* Both write to standard output and end the process on errors; what bad records there are is warned of. */
void	worker_judge_score(struct judge_opt *o);
/* The `top` most probable classes of each picture, a row each. */
void	worker_judge_rows(struct judge_opt *o, uint32_t top);

#endif
