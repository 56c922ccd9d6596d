# emulated.t - the cuda engine without a GPU: its plans, steps and kernels on the CPU, against ref and engine.h.
. "$TOP/tests/tap.sh"
[ -e "$BUILD/tests/emu/tally-cuda.so" ] || { echo "1..0 # SKIP no cuda engine in this build"; exit 0; }
export TALLY_MODULES=$BUILD/tests/emu OMP_WAIT_POLICY=passive

# Each test lists its findings itself; this file checks how many passed and that none were skipped.
for t in op/match op/seam op/layer op/sums op/net op/learn op/scores op/classes op/order \
	golden/layers golden/grads golden/bn golden/mix golden/run; do
	status 0 "$t passes on the emulated device" env TEST_ENGINE=cuda "$BUILD/tests/${t}_test"
	[ $t = op/order ] || ok "$t runs 20 tests or more" test "$(grep -c '^ok ' "$T/out")" -gt 19
	is "$(grep -c '# SKIP' "$T/out")" 0 "$t skips no test"
done
# The emulator copies to the device as late as allowed; here as early as allowed.
status 0 "op/seam passes if the emulator copies as early as allowed" \
	env TALLY_EMU=early TEST_ENGINE=cuda "$BUILD/tests/op/seam_test"
status 0 "op/scale passes on the emulated device" \
	env LD_LIBRARY_PATH="$BUILD/tests/stub" TEST_ENGINE=cuda "$BUILD/tests/op/scale_test"
is "$(grep -c '^ok ' "$T/out") $(grep -c '# SKIP' "$T/out")" "47 0" "op/scale runs all 47 checks"
status 0 "op/refuse passes on the emulated device" env TEST_ENGINE=cuda "$BUILD/tests/op/refuse_test"
is "$(grep -c '^ok ' "$T/out")" 8 "op/refuse runs all 8 checks"

status 0 "dropout on the emulated device has the masks of ref" "$BUILD/tests/op/drop_test"
export LD_LIBRARY_PATH=$BUILD/tests/stub
status 0 "two devices add gradients through NCCL" env TEST_ENGINE=cuda "$BUILD/tests/op/split_test"
like "$T/out" "NCCL 2.28.9; no remark" "op/split prints the version of NCCL"
is "$(grep -c '^ok.*SKIP' "$T/out")" 0 "op/split skips no test"
status 0 "the optimizers of two joined devices agree with a server" \
	env TEST_DEVICES=cuda:0,cuda:1 "$BUILD/tests/op/learn_test"
is "$(grep -c '^ok ' "$T/out")" 105 "op/learn runs 105 checks on two devices"
is "$(grep -c '^ok.*SKIP' "$T/out")" 0 "op/learn skips no test on two devices"
unset LD_LIBRARY_PATH
# The host needs no memory for what a device holds: the limit of the address space is less than twice the device's part.
if ldd "$BUILD/pworker" | grep -q 'lib[at]san'; then
	skip "pworker on a device works on a host with little memory" "a sanitizer needs more address space"
else
	perl -e 'srand 1; for $i (0..7) { print chr($i), map { chr(int rand 256) } 1..3072 }' >"$T/data_batch_1.bin"
	im2rec "$T/data_batch_1.bin" -o "$T/a.rec" 2>"$T/err"
	for device in "--engine cuda" "--devices cuda:0,cuda:1"; do
		little="ulimit -v 1150000; exec pworker --net lenet --shape 3x28x28 --batch 3000 --threads 1 $device"
		status 0 "pworker $device trains on a host with little memory" \
			env OMP_NUM_THREADS=1 sh -c "$little --data '$T/a.rec' --steps 1"
		status 0 "pworker $device --print works on a host with little memory" env OMP_NUM_THREADS=1 sh -c \
			"$little --print"
		like "$T/out" '^batch 3000: .* activations [4-9][0-9]{2}\.' \
			"pworker $device --print shows the memory on the device"
	done
fi
status 0 "op/seam succeeds without a device" env TALLY_EMU=none TEST_ENGINE=cuda "$BUILD/tests/op/seam_test"
like "$T/out" "# SKIP no GPU: no device" "op/seam skips its checks because there is no device"
unset TALLY_MODULES
status 0 "tests/gpu/sanitize succeeds without a device" "$TOP/tests/gpu/sanitize" "$T" "$T"
is "$(grep -c '^ok .*_test # SKIP no ' "$T/out")" 3 "tests/gpu/sanitize gives a reason for each of 3 skipped tests"
done_testing
