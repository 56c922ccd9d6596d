/*
 * tracker - pworker where one of dmlc's trackers started it, in whichever role.
 */
#ifndef CMD_PWORKER_TRACKER_H
#define CMD_PWORKER_TRACKER_H

#include "run/rendezvous/rendezvous.h"

/*
 * Does the environment give a role?  A server and a scheduler become pserver(1), with the same key,
 * and do not return.
 */
bool	worker_tracker(struct rendezvous_env *env, const char *key_file, bool plain);
/* A worker meets the others: *rank and *servers, to be freed.  What is returned is kept until the worker ends. */
struct rendezvous *worker_tracker_join(struct rendezvous_env *env, const uint8_t *key, char **servers);

#endif
