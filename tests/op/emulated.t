# emulated.t - the GPU's engine without a GPU: its plans, steps and kernels on the CPU, against ref and engine.h's words.
. "$TOP/tests/tap.sh"
[ -e "$BUILD/tests/emu/tally-cuda.so" ] || { echo "1..0 # SKIP no cuda engine in this build"; exit 0; }
export TALLY_MODULES=$BUILD/tests/emu OMP_WAIT_POLICY=passive

# Every test of engines says what it found; here only how many, and what was wrong.
for t in op/match op/seam op/layer op/grad op/net op/learn golden/layers golden/grads golden/bn golden/mix golden/run; do
	status 0 "$t" env TEST_ENGINE=cuda "$BUILD/tests/${t}_test"
	ok "... and something was tested" test "$(grep -c '^ok ' "$T/out")" -gt 19
	is "$(grep -c '# SKIP' "$T/out")" 0 "... and nothing passed over"
done
# Copies up are as late as they may be; and here as early as they can.
status 0 "early" env TALLY_EMU=early TEST_ENGINE=cuda "$BUILD/tests/op/seam_test"
status 0 "dropout as ref's" "$BUILD/tests/op/drop_test"
export LD_LIBRARY_PATH=$BUILD/tests/stub
status 0 "two devices, and NCCL between them" env TEST_ENGINE=cuda "$BUILD/tests/op/split_test"
like "$T/out" "NCCL 2.28.9; no remark" "... which was asked"
is "$(grep -c '^ok.*SKIP' "$T/out")" 0 "... nothing passed over"
unset LD_LIBRARY_PATH
# What a device has of its own is not asked of the host: here it is less than twice in the address space.
if ldd "$BUILD/pworker" | grep -q 'lib[at]san'; then
	skip "the host's memory" "this build looks after its memory"
else
	perl -e 'srand 1; for $i (0..7) { print chr($i), map { chr(int rand 256) } 1..3072 }' >"$T/data_batch_1.bin"
	im2rec "$T/data_batch_1.bin" -o "$T/a.rec" 2>"$T/err"
	for device in "--engine cuda" "--devices cuda:0,cuda:1"; do
		little="ulimit -v 1150000; exec pworker --net lenet --shape 3x28x28 --batch 3000 --threads 1 $device"
		status 0 "$device, on a host of little memory" env OMP_NUM_THREADS=1 sh -c "$little --data '$T/a.rec' --steps 1"
		status 0 "... and --print" env OMP_NUM_THREADS=1 sh -c "$little --print"
		like "$T/out" '^batch 3000: .* activations [4-9][0-9]{2}\.' "... which says what the device has"
	done
fi
status 0 "no device" env TALLY_EMU=none TEST_ENGINE=cuda "$BUILD/tests/op/seam_test"
like "$T/out" "# SKIP no GPU: no device" "... is skipped by name"
unset TALLY_MODULES
status 0 "the tests under compute-sanitizer, where there is nothing to run them on" "$TOP/tests/gpu/sanitize" "$T" "$T"
is "$(grep -c '^ok .*_test # SKIP no ' "$T/out")" 12 "... are skipped by name"
done_testing
