# slurm.t - jobs where Slurm starts processes, and where mpirun does: a Slurm of the test's own, two nodes on this machine.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
. "$TOP/tests/slurmd.sh"
trap 'living | xargs -r kill -9; slurm_stop; rm -rf "$T"' EXIT

over() { job --interface lo "${rsh[@]}" "$@"; }
# jobs WHERE: runs jobs of each kind.
jobs() {
	status 0 "$1: a job of two workers and two servers exits with 0" over -v -n 2 -s 2 -- hello
	is "$(sort "$T/out")" "worker 0 of 2, servers 127.0.0.1:1000,127.0.0.1:1001
worker 1 of 2, servers 127.0.0.1:1000,127.0.0.1:1001" "$1: workers know their ranks and the servers"
	status 3 "$1: a worker's status is the job's" over -n 2 -s 2 -- fail 3
	ok "$1: a failed job leaves nothing" none_left
	is "$(dlaunch "${rsh[@]}" -n 1 -s 0 -- sh -c 'echo "$1 $2"; echo "$3"' sh 'a  b' '*' "it's" | paste -sd,)" "a  b *,it's" \
		"$1: arguments arrive unchanged"
	is "$(over -n 2 -s 1 -- print 5000 2>/dev/null | cut -f1 | sort | uniq -c | sed 's/ *//' | paste -sd,)" \
		"5000 0,5000 1" "$1: all lines are printed"
	command -v rsync >/dev/null && ok "$1: --sync exits with 0" over --sync "$TOP/lib/run:$T/$1" -n 1 -s 1 -- hello &&
		ok "$1: --sync copies the directory" diff -r "$TOP/lib/run" "$T/$1"
	for how in INT KILL; do
		rm -rf "$STAND" && mkdir "$STAND" && : >"$T/out"
		env --default-signal=INT dlaunch -n 2 -s 2 --interface lo "${rsh[@]}" --server-command "$T/bin/pserver" --env STAND \
			"$T/bin/pworker" --do wait >"$T/out" 2>"$T/err" &
		pid=$!
		line_of "$T/out" waits 2 >"$T/waits" && kill -$how "$pid"
		wait "$pid" 2>/dev/null
		ok "$1: SIG$how leaves nothing" none_left
	done
}

if [ -z "$slurm_why" ] && ! slurm_start >"$T/slurm.log" 2>&1; then
	slurm_why="it does not start: $(grep -h error "$T/slurm.log" | tail -n 1)"
fi
if [ -n "$slurm_why" ]; then
	skip "jobs through srun" "$slurm_why"
else
	rsh=(--rsh slurm)
	# What follows runs within an allocation of both nodes.
	salloc -Q -N2 -n2 --no-shell -J tally 2>"$T/salloc"
	SLURM_JOB_ID=$(squeue -h -n tally -o %A)
	SLURM_JOB_NODELIST=$(squeue -h -n tally -o %N)
	export SLURM_JOB_ID SLURM_JOB_NODELIST
	is "$(dlaunch --dry-run "${rsh[@]}" -n 3 -s 1 -- x | grep -v '^#' | cut -f3 | paste -sd,)" \
		"host,n1,n1,n2,n1,n2" "srun: the hosts are the allocation's"
	is "$(dlaunch "${rsh[@]}" -n 4 -s 0 -- sh -c 'echo $SLURMD_NODENAME' | sort | paste -sd,)" "n1,n1,n2,n2" \
		"srun: processes run on them"
	is "$(dlaunch "${rsh[@]}" -n 2 -s 0 -- nproc | sort -u)" "$(nproc)" "srun: processes may use all processors of their node"
	jobs srun
	scancel "$SLURM_JOB_ID"
	unset SLURM_JOB_ID SLURM_JOB_NODELIST
fi

if ! command -v mpirun >/dev/null; then
	skip "jobs through mpirun" "no mpirun"
else
	# Open MPI refuses root otherwise.
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	hostname >"$T/hosts"
	rsh=(-H "$T/hosts" --rsh mpi)
	is "$(dlaunch --dry-run "${rsh[@]}" -n 1 -s 0 -- x | sed -n '1s/ [^ ]* --agent//p')" \
		"# $(hostname): mpirun --host $(hostname) -n 1 --bind-to none" "mpirun: --dry-run prints the command"
	jobs mpirun
fi
done_testing
