/*
 * stack - stacks between which one thread switches: serves sim.
 *
 * The loop of turns enters a stack, and the function that runs there leaves it.  After the first time a switch is a
 * jump, and no call of the system as with swapcontext().
 */
#ifndef TESTS_LAW_SIM_STACK_H
#define TESTS_LAW_SIM_STACK_H

#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>

struct stack {
	void		*base;		/* NULL: it has no memory yet */
	bool		 begun;
	ucontext_t	 context;	/* where it begins */
	jmp_buf		 place;		/* where it goes on */
};

/* Makes or cleans a stack, on which fn will run.  Its memory is never freed. */
void	 stack_make(struct stack *s, void (*fn)(void));
/* Returns when the function leaves the stack. */
void	 stack_enter(struct stack *s);
/* Returns when the stack is entered again. */
void	 stack_leave(struct stack *s);
/* To be called first on a stack. */
void	 stack_arrive(void);

#endif
