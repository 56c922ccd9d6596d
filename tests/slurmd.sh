# slurmd.sh - a Slurm of one machine, of the test's own: munge, a controller and two nodes, all under $T/slurm.
#
# After tap.sh, as root.  slurm_start; then srun(1) and salloc(1) work with SLURM_CONF, which is exported; slurm_stop ends
# the daemons.  Nothing of the system's configuration is read.
slurm_pids=
slurm_why=
for slurm_program in munged slurmctld slurmd srun salloc; do
	PATH=$PATH:/usr/sbin command -v $slurm_program >/dev/null || slurm_why="no $slurm_program"
done
[ "$(id -u)" = 0 ] || slurm_why="not root"

slurm_port() { perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'; }

# slurm_daemon NAME COMMAND...: in the background, its log in $T/slurm/NAME.log.
slurm_daemon() {
	local name=$1
	shift
	PATH=$PATH:/usr/sbin "$@" >"$T/slurm/$name.log" 2>&1 &
	slurm_pids="$slurm_pids $!"
}

slurm_start() {
	local d=$T/slurm until
	mkdir -p "$d/state" "$d/n1" "$d/n2" && chmod 755 "$T" "$d" || return 1
	head -c 1024 /dev/urandom >"$d/key" && chmod 600 "$d/key" || return 1
	cat >"$d/slurm.conf" <<-EOC
		ClusterName=tally
		SlurmctldHost=$(hostname -s)(127.0.0.1)
		SlurmctldPort=$(slurm_port)
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		CredType=cred/munge
		AuthInfo=socket=$d/munge.socket
		StateSaveLocation=$d/state
		SlurmdSpoolDir=$d/%n
		SlurmctldPidFile=$d/slurmctld.pid
		SlurmdPidFile=$d/%n/slurmd.pid
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		MpiDefault=none
		SwitchType=switch/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		ReturnToService=2
		KillWait=2
		NodeName=n1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$(slurm_port) CPUs=2 State=UNKNOWN
		NodeName=n2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$(slurm_port) CPUs=2 State=UNKNOWN
		PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	EOC
	export SLURM_CONF=$d/slurm.conf
	slurm_daemon munged munged --foreground --force --key-file "$d/key" --socket "$d/munge.socket" --pid-file "$d/munge.pid" \
		--log-file "$d/munge.log" --seed-file "$d/munge.seed"
	slurm_daemon slurmctld slurmctld -D -i
	slurm_daemon n1 slurmd -D -N n1
	slurm_daemon n2 slurmd -D -N n2
	until=$((SECONDS + 20))
	while [ "$(sinfo -h -t idle -o %D 2>/dev/null)" != 2 ]; do
		[ $SECONDS -lt $until ] || { sinfo; tail -5 "$d"/*.log; return 1; }
		read -rt 0.2 <> <(:) || :
	done
}

slurm_stop() {
	[ -z "$slurm_pids" ] || kill $slurm_pids 2>/dev/null
	[ -z "$slurm_pids" ] || wait $slurm_pids 2>/dev/null
	slurm_pids=
}
