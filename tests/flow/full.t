# full.t - full disks, limits and lost output: training goes on or saves its state, and nothing unfinished is left.
. "$TOP/tests/tap.sh"
. "$TOP/tests/standin.sh"
export OMP_NUM_THREADS=1
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$T"' EXIT
cd "$T" || exit 1

mkdir c disk state
perl -e 'srand 1; for $i (0..59) { print chr($i % 10), join "", map { chr(int($i % 10 * 25 + rand 6)) } 1..3072 }' >c/data_batch_1.bin
im2rec -q c/data_batch_1.bin -o train.rec || exit 1
# Its checkpoints have 2,482,256 bytes.
train="pworker --net mlp --shape 3x28x28 --data train.rec --batch 16 --scale 0.00390625 --lr 0.01"
epochs() { awk -F'\t' '$5 == "epoch"' "$T/out" | wc -l; }
unfinished() { find disk -name '*.tmp' | wc -l; }

status 1 "a run goes on without checkpoints beyond ulimit -f" bash -c "ulimit -f 1000; exec $train --epochs 2 --save disk/f"
is "$(epochs)" 2 "the run trains all epochs"
is "$(grep -c '^pworker: no checkpoint: disk/f-000[12].safetensors: write: File too large$' "$T/err")" 2 \
	"the run tries each checkpoint, and reports why there is none"
status 1 "a run goes on without cuts beyond ulimit -f" bash -c "ulimit -f 1000; exec $train --epochs 2 --cut 1 --save disk/f"
like "$T/err" '^pworker: no cut: disk/f.cut-[0-9a-f]*-0000-000001.safetensors: write: File too large$' \
	"the run reports the first missing cut"
is "$(grep -c '^pworker: no ' "$T/err")" 3 "the run reports no other cut, and each checkpoint"
is "$(ls disk)" "" "ulimit -f leaves no unfinished file"
status 1 "a run goes on without the best checkpoint" \
	bash -c "ulimit -f 1000; exec $train --epochs 2 --lr 0 --val train.rec --best --save disk/f"
is "$(grep -c '^pworker: no checkpoint: ' "$T/err")" 2 "the run reports each checkpoint once, also that of the best epoch"
# In a job, ulimit -f also counts for the memories that outlive servers and workers.
job="dlaunch -n 2 -s 2 --env STAND --env TALLY_SHARE"
small="no memory that outlives this process, because of the limit of file sizes (ulimit -f): if it is killed, the job ends"
status 1 "a job goes on without checkpoints beyond ulimit -f" bash -c "ulimit -f 1000; exec $job $train --epochs 2 --save disk/f"
is "$(grep -c '^worker 0: pworker: no checkpoint: disk/f-000[12].safetensors: write: File too large$' "$T/err")" 2 \
	"the job trains all epochs"
is "$(grep -c "^server [01]: pserver: $small\$" "$T/err") $(grep -c "ulimit -f" "$T/err")" "2 2" \
	"each server reports once that it has no memory that outlives it"
status 0 "a job with --respawn 0 needs no such memory" \
	bash -c "ulimit -f 1000; exec $job --respawn 0 $train --epochs 1"
is "$(grep -c "ulimit -f" "$T/err")" 0 "that job has nothing to report"
bash -c "ulimit -f 1000; exec $job $train --codec 2bit --epochs 1000000" >"$T/out" 2>"$T/err" & pid=$!
ok "workers whose residuals are beyond ulimit -f report it" line_of "$T/err" "^worker [01]: pworker: $small\$" 2 $pid
ok "they train" line_of "$T/err" Epoch 2 $pid
kill -9 "$(real_process --worker 1)"
wait $pid
is $? 137 "the job ends if one of them is killed"
is "$(grep -c 'worker 1 is away' "$T/err")" 0 "nobody waits for its return"

# on_disk KIB COMMAND...: with a file system of this size in disk; then prints what is on it.
on_disk() {
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs -o "size=$1k" none disk || exit; shift; "$@"; got=$?
		ls disk >left; cp disk/*.log . 2>/dev/null; exit $got' sh "$@"
}
if on_disk 100 true >"$T/why" 2>&1; then
	status 1 "a run goes on when the disk is full" on_disk 5300 $train --epochs 4 --save disk/a
	is "$(epochs) $(paste -sd' ' left)" "4 a-0001.safetensors a-0002.safetensors" "complete checkpoints stay"
	is "$(grep -c '^pworker: no checkpoint: disk/a-000[34].safetensors: write: No space left on device$' "$T/err")" 2 \
		"the run tries the later checkpoints"
	status 0 "--keep 1 needs no room for two checkpoints" on_disk 2900 $train --epochs 4 --save disk/b --keep 1
	is "$(cat left)" b-0004.safetensors "--keep 1 keeps the newest one"
	status 0 "--keep 2 needs no room for three" on_disk 5300 $train --epochs 4 --save disk/b --keep 2
	is "$(paste -sd' ' left)" "b-0003.safetensors b-0004.safetensors" "--keep 2 keeps the two newest"
	status 0 "what a killed run left unfinished takes no room" on_disk 2900 \
		sh -c "head -c 2482256 /dev/zero >disk/b-0002.safetensors.aB3dE6.tmp && exec $train --epochs 4 --save disk/b --keep 1"
	is "$(cat left)" b-0004.safetensors "the unfinished file is removed"
	status 0 "a checkpoint takes the room of cuts" on_disk 7800 $train --epochs 4 --save disk/b --keep 1 --cut 1
	is "$(cat left)" b-0004.safetensors "the checkpoint stays"
	status 1 "--keep 1 does not remove a checkpoint whose room is not enough" \
		on_disk 2900 sh -c "$train --epochs 1 --save disk/d --keep 1 &&
		exec $train --optimizer adam --epochs 2 --start disk/d-0001.safetensors --save disk/d --keep 1"
	is "$(cat left)" d-0001.safetensors "the old one stays"
	status 1 "--best keeps the room of the best checkpoint" \
		on_disk 2900 $train --lr 0 --val train.rec --epochs 2 --save disk/e --keep 1 --best
	is "$(paste -sd' ' left)" "e-0001.safetensors e-best.safetensors" "the best one stays"

	status 1 "a run goes on when the disk of --cut-dir is full" \
		on_disk 1000 $train --epochs 2 --cut 1 --cut-dir disk --save state/cut
	is "$(epochs) $(cat left)" "2 " "the run trains all epochs, and leaves no part of a cut"
	like "$T/err" '^pworker: no cut: disk/.*-000001.safetensors: write: No space left on device$' "the run reports why there is no cut"
	ok "the checkpoint is written elsewhere" test -s state/cut-0002.safetensors

	# The job's directory is full before the first epochs end.
	cat >detached <<-END
		mount -t tmpfs -o size=64k none state && mount -t tmpfs none disk || exit
		export XDG_STATE_HOME=$T/state
		dlaunch --detach --job full -n 1 -s 1 $train --epochs 1000000 --save disk/g --keep 2
		dlaunch wait full
		echo "wait \$?"
		dlaunch status full | cut -f 1-3
		ls disk
	END
	unshare -m sh detached >"$T/out" 2>&1
	like "$T/out" '^wait 1$' "a detached job whose directory is full ends with status 1"
	like "$T/out" '^full	ended	1$' "the status of that job is recorded"
	like "$T/out" '^g-[0-9]*-[0-9]*.safetensors$|^g-[0-9]*.safetensors$' "the state of that job is saved"

	# It is full before the job starts, and the job's error output has no room for the reason.
	cat >early <<-END
		mount -t tmpfs -o size=\$1 none state || exit
		export XDG_STATE_HOME=$T/state
		dlaunch --detach --job early -n 1 -s 0 -- sleep 1000
		echo "status \$?"
	END
	for size in 16k 20k; do
		unshare -m sh early $size >"$T/out" 2>&1
		is "$(cat "$T/out")" "$(printf '%s\n' "dlaunch: job early: record: write: No space left on device; \
make room for the job's files in $T/state/tally/jobs/early" "dlaunch: job early did not start" "status 1")" \
			"--detach says why a job does not start that has no room in its directory ($size)"
	done
else
	skip "full disks" "no file system can be mounted: $(tail -n 1 "$T/why")"
fi

status 1 "a run whose output is lost ends with status 1" sh -c "$train --epochs 1000000 --save disk/h >/dev/full"
like "$T/err" '^pworker: standard output: write: No space left on device$' "the run says what was lost"
like "$T/err" '^Saved checkpoint to "disk/h-0000-000001.safetensors"$' "a run whose output is lost saves its state"
# After two rows nobody reads.
bash -c "$train --epochs 1000000 --save disk/i --keep 2 2>err | head -n 4 >/dev/null; exit \${PIPESTATUS[0]}"
is $? 1 "a run whose reader is gone ends with status 1"
like "$T/err" '^pworker: standard output: write: Broken pipe$' "the run says that the reader is gone"
ok "a run whose reader is gone saves its state" test -e "$(ls disk/i-* | tail -n 1)"
is "$(unfinished)" 0 "no unfinished file is left"
bash -c "dlaunch -n 2 -s 1 $train --epochs 1000000 --save disk/j --keep 2 2>err | head -n 20 >/dev/null; exit \${PIPESTATUS[0]}"
is $? 1 "dlaunch whose reader is gone ends with status 1"
like "$T/err" '^dlaunch: standard output: write: Broken pipe; stopping the workers$' "dlaunch says so, and stops the workers"
like "$T/err" '^worker 0: Saved checkpoint to "disk/j-' "the workers save their state"
like "$T/err" '^server +0 .* exit status 0$' "the server ends by itself"

# hang_up LINE COMMAND...: on a terminal that is closed once the command has printed the line; prints its status.
hang_up() {
	# shellcheck disable=SC2016
	perl -MPOSIX -e '
		my ($line, @command) = @ARGV;
		open(my $ours, "+<", "/dev/ptmx") or die "/dev/ptmx: $!";
		my ($lock, $number) = (pack("i", 0), pack("i", 0));
		ioctl($ours, 0x40045431, $lock) && ioctl($ours, 0x80045430, $number) or die "/dev/ptmx: $!";
		my $name = "/dev/pts/" . unpack("i", $number);
		defined(my $pid = fork) or die "fork: $!";
		if ($pid == 0) {
			POSIX::setsid();
			open(my $terminal, "+<", $name) or die "$name: $!";
			close $ours;
			POSIX::dup2(fileno $terminal, $_) for 0 .. 2;
			$SIG{HUP} = "DEFAULT";	# nohup ignores it
			exec(@command) or die "$command[0]: $!";
		}
		my ($text, $ended) = ("", 0);
		while ($text !~ /$line/) {
			sysread($ours, $text, 4096, length $text) // ($!{EIO} && !($ended = waitpid $pid, WNOHANG) ?
				select(undef, undef, undef, 0.01) : last);
		}
		close $ours;
		waitpid $pid, 0 unless $ended;
		print $? & 127 ? "signal " . ($? & 127) : "status " . ($? >> 8), "\n";
	' "$@"
}
is "$(hang_up 'saved disk' $train --epochs 1000000 --save disk/k --keep 1)" "status 129" \
	"a run whose terminal is closed ends with status 129"
ok "a run whose terminal is closed saves its state" test -e "$(ls disk/k-* | tail -n 1)"
is "$(hang_up 'saved disk' dlaunch -n 2 -s 1 $train --epochs 1000000 --save disk/l --keep 1)" "status 129" \
	"dlaunch whose terminal is closed ends with status 129"
is "$(ls disk/l-* | wc -l) $(unfinished)" "1 0" "the workers save their state"

mkfifo ready
pserver --listen 127.0.0.1:0 --workers 1 --plain --ready-fd 9 9>ready >/dev/full 2>server.err & server=$!
read -r at <ready
status 0 "a worker of a server without a log trains" $train --servers "$at" --plain --epochs 2
wait $server
is $? 1 "a server whose log is lost serves to the end, with status 1"
is "$(grep -c 'standard output' server.err)" 1 "the server reports the loss once"

if [ -z "${SAN:-}" ]; then
	for v in $(seq 92000 2000 124000); do
		bash -c "ulimit -c 0 -v $v; exec $train --net lenet --epochs 1" >out 2>err
		got=$?
		# The loader of shared libraries says so itself, with status 127.
		[ $got -eq 0 ] || [ $got -eq 127 ] || { [ $got -eq 1 ] && grep -q '(ulimit -v)' err; } ||
			echo "ulimit -v $v: status $got: $(tail -n 1 err)"
	done >short
	is "$(cat short)" "" "pworker reports that ulimit -v is too small, and does not crash"
else
	skip "ulimit -v" "sanitizers need more"
fi
done_testing
