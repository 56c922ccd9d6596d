# examples.t - every example of every page runs and exits with status 0.
. "$TOP/tests/tap.sh"

# The files that examples use: images in folders, a list, records, files of CIFAR and MNIST, a log, a key, a hosts file, and
# the weights of two epochs.  Each page gets a fresh copy, so that no example depends on files of another page.
fixture() {
	pictures images 40 1 && pictures train 20 2 && pictures test 10 3 && mv images/checks images/cats || return
	(cd images && find . -name '*.png' | sort | awk -v OFS='\t' '{ print NR - 1, NR % 10, substr($0, 3) }') >train.lst
	im2rec train >train.rec && im2rec test >test.rec || return
	od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >key
	chmod 600 key
	mkdir -p mnist cifar-10-batches-bin
	perl -e '
		sub put { my ($f, $s) = @_; open(my $h, "|-", "gzip >$f") or die; print $h $s; close $h or die }
		srand 1;
		for (["train", 60], ["t10k", 20]) {
			my ($w, $n) = @$_;
			put("mnist/$w-images-idx3-ubyte.gz", pack("N4", 2051, $n, 28, 28) . join "", map { chr rand 256 } 1 .. 784 * $n);
			put("mnist/$w-labels-idx1-ubyte.gz", pack("N2", 2049, $n) . join "", map { chr($_ % 10) } 1 .. $n);
		}
		for my $f ((map { "data_batch_$_" } 1 .. 5), "test_batch") {
			open(my $h, ">", "cifar-10-batches-bin/$f.bin") or die;
			print $h map { chr($_ % 10) . join "", map { chr rand 256 } 1 .. 3072 } 1 .. 20;
		}
		open(my $h, ">", "cifar-10-batches-bin/batches.meta.txt") or die;
		print $h "$_\n" for qw(airplane automobile bird cat deer dog frog horse ship truck), "";' || return
	tar cJf cifar-10-binary.tar.xz cifar-10-batches-bin && tar czf cifar-10-binary.tar.gz cifar-10-batches-bin &&
		rm -r cifar-10-batches-bin || return
	{
		echo '# tally 0.1 tool=pworker host=a rank=0'
		echo time_s host role rank event epoch step samples loss accuracy samples_per_s lr wait_s \
			sent_bytes received_bytes | tr ' ' '\t'
		printf '%s\ta\tworker\t0\t%s\t0\t8\t100\t2.0\t0.3\t200\t0.1\t0.5\t10\t10\n' 1 step 5 epoch 6 validation
	} >train.tsv
	printf '127.0.0.1\n127.0.0.2\n' >hosts
	pworker --net lenet --variant bn --data train.rec --batch 20 --epochs 2 --save w >/dev/null 2>&1
}

# Stand-ins for programs that start processes on other hosts: they run the command here.
mkdir "$T/bin"
cat >"$T/bin/ssh" <<'END'
#!/bin/sh
while getopts o:l:p:i:F:CqTtnx o; do :; done
shift $((OPTIND - 1))
[ $# -gt 1 ] || exit 255
shift
exec sh -c "$*"
END
cat >"$T/bin/srun" <<'END'
#!/bin/sh
while [ "$1" != "${1#-}" ]; do shift; done
exec "$@"
END
cat >"$T/bin/salloc" <<'END'
#!/bin/sh
[ "$1 $2" = "-N 4" ] || exit 2
shift 2
SLURM_JOB_NODELIST='127.0.0.[1-4]' exec "$@"
END
cat >"$T/bin/torchvision" <<'END'
#!/bin/sh
pworker --net resnet --variant post --layers 18 --shape 3x64x64 --classes 11 --data train.rec --batch 2 --steps 1 --save own >/dev/null &&
	pmerge --no-state --rename to:torch-resnet -o torch18.safetensors own-*
END
chmod +x "$T/bin/torchvision" "$T/bin/ssh" "$T/bin/srun" "$T/bin/salloc"
export PATH=$T/bin:$BUILD:$BUILD/share/demo:$PATH
export XDG_STATE_HOME=$T/state

# Writes the examples of a page, the indented blocks in EXAMPLES, a file each.
cut_out() { # PAGE FOLDER
	mandoc -Tascii -O width=900 "$1" | sed 's/.\x08//g' | expand | awk -v d="$2" '
		/^[A-Z]/ { on = $0 == "EXAMPLES"; next }
		on && /^           / {
			if (!inside)
				file = d "/" ++n
			inside = 1
			sub(/^           ([$] )?/, "")
			print >file
			next
		}
		on && NF { inside = 0 }'
}

# Replaces what this machine does not have.
adapt() {
	sed -e 's/--interface eth1/--interface lo/' \
		-e '/^python3 .*torchvision/s/.*/torchvision/' \
		-e '/^printf/s/node\([1-9]\)/127.0.0.\1/g' \
		-e "s/127\.0\.0\.1:9300/127.$(($$ / 256 % 256)).$(($$ % 256)).7:9300/g" \
		-e 's/^echo | openssl s_client -connect $server$/! &/'	# the page says that this connection is refused
}

run_example() { # FILE
	adapt <"$1" >"$T/example"
	timeout 120 bash -e "$T/example" >"$T/out" 2>"$T/err" </dev/null
}

mkdir "$T/fixture"
(cd "$T/fixture" && fixture) 2>"$T/err" || { cat "$T/err"; tap 1 "the folder of the examples is made"; done_testing; }
for page in "$TOP"/man/*.[157]; do
	name=$(basename "$page")
	mkdir "$T/$name" "$T/$name.d"
	cut_out "$page" "$T/$name.d"
	ok "$name: has examples" test -e "$T/$name.d/1"
	cp -r "$T/fixture/." "$T/$name"
	for e in $(ls "$T/$name.d" | sort -n); do
		say=$(head -n 1 "$T/$name.d/$e")
		if (cd "$T/$name" && run_example "$T/$name.d/$e"); then
			tap 0 "$name: $say"
		else
			tap 1 "$name: $say"
			{ cat "$T/$name.d/$e"; tail -n 20 "$T/err"; } | sed 's/^/# /'
		fi
	done
	rm -rf "${T:?}/$name"
done
done_testing
