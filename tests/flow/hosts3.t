# hosts3.t - a job as people run it: three hosts that share nothing, uneven batches, a server a host, one command; then its
# logs, its traffic and its figures.
. "$TOP/tests/tap.sh"
. "$TOP/tests/netns.sh"
. "$TOP/tests/sshd.sh"
away() {
	[ -z "$(jobs -p)" ] || kill $(jobs -p) 2>/dev/null
	sshd_stop
	netns_away
	rm -rf "$T"
}
trap away EXIT
for program in rsync gnuplot ip; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 0; }
done
[ -n "$sshd" ] || { echo "1..0 # SKIP no sshd that lets this user in"; exit 0; }
netns_make alpha beta gamma || { echo "1..0 # SKIP no network namespaces: $(tail -n 1 "$T/netns")"; exit 0; }
cd "$T" || exit 1
export PATH=$BUILD/share/demo:$PATH

# A host's own name, and its own file system in $T/disk: what is not copied there is not there.
mkdir disk
host() { # NAME ADDRESS
	sshd_start "$1" "$2" 22 ip netns exec "$(netns_of "$1")" unshare --mount --uts sh -c \
		'hostname "$1" && mount -t tmpfs tmpfs "$2" && shift 2 && exec "$@"' sh "$1" "$T/disk"
}
sshd_setup
i=1
for h in alpha beta gamma; do
	i=$((i + 1))
	ok "host $h runs sshd" host $h "10.93.0.$i"
	echo $h >>hosts
done
rsh="ssh -F $T/ssh/config {host}"
over() { netns_in switch dlaunch -H hosts --rsh "$rsh" --remote "$T/disk/bin/dlaunch" --chdir "$T/disk" "$@"; }

# The files that the hosts get: the tools, the nets, the records.
mkdir -p copy/bin copy/share
cp "$BUILD/dlaunch" "$BUILD/pworker" "$BUILD/pserver" "$BUILD/netstat-logging" copy/bin
cp -r "$TOP/share/nets" copy/share
{ pictures train 618 1 && im2rec train -o copy/train.rec && pictures test 206 2 && im2rec test -o copy/test.rec; } >pack 2>&1 ||
	{ cat pack; echo "Bail out! no records"; exit 1; }
train="pworker --net lenet --data train.rec --val test.rec --batch 87:23:96 --lr 0.05 --scale 0.00390625 --seed 1"

status 0 "one command trains on three hosts" over --sync "copy:$T/disk" -n 3 -s 3 --output logs $train --epochs 3
is "$(ls disk)" "" "the copied files are only on the hosts"
is "$(over -n 3 -s 0 -- sh -c 'echo "$(hostname) $(cd "$1" && echo bin/pw* *.rec)"' sh "$T/disk" | sort | paste -sd,)" \
	"alpha bin/pworker test.rec train.rec,beta bin/pworker test.rec train.rec,gamma bin/pworker test.rec train.rec" \
	"each host has the copied files"
is "$(cd logs && echo *.out)" "server-0.out server-1.out server-2.out worker-0.out worker-1.out worker-2.out" \
	"the logs of all processes are in one directory"

# cells EVENT COLUMN...: these cells of the rows of an event, a line a row.
cells() {
	local event=$1
	shift
	cat logs/*.out | awk -F '\t' -v ev="$event" -v want="$*" '
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; n = split(want, w, " "); next }
		$at["event"] == ev { for (i = 1; i <= n; i++) printf "%s%s", $at[w[i]], i < n ? " " : "\n" }'
}
is "$(cells step host samples | sort -u | paste -sd,)" "alpha 87,beta 23,gamma 96" "each worker has its batch size on its host"
is "$(cells epoch epoch samples | sort -u | paste -sd,)" "0 618,1 618,2 618" \
	"together the workers train on every record once an epoch"
is "$(cells validation epoch samples | sort -u | paste -sd,)" "0 206,1 206,2 206" \
	"together the workers validate every record once an epoch"
is "$(cells traffic host role epoch class rx_bytes tx_bytes | awk '$4 == "all" && $5 > 5e6 && $6 > 5e6 { print $1, $2, $3 }' |
	sort | paste -sd,)" \
	"$(for h in alpha beta gamma; do for r in server worker; do for e in 0 1 2; do echo "$h $r $e"; done; done; done | paste -sd,)" \
	"the logs have each process's traffic in each epoch"

# The table and two figures of plog.
status 0 "plog prints a table of all logs" plog logs/*.out
is "$(awk 'NR > 1 { print $1 }' out | paste -sd,)" "0,1,2" "plog prints a line an epoch"
status 0 "plog -r prints a table by rank" plog -r logs/*.out
is "$(sed 1d out | wc -l)" 9 "plog -r prints a line a worker and epoch"
status 0 "plog --machines prints a table" plog --machines --format tsv logs/*.out
is "$(sed 1d out | cut -f1,3 | sort | tr '\t' ' ' | paste -sd,)" \
	"alpha pserver,alpha pworker,beta pserver,beta pworker,gamma pserver,gamma pworker" \
	"plog --machines lists the three hosts and their processes"
status 0 "accuracy by epoch is drawn" plog --figures accuracy --png acc_train_test.png logs/*.out
status 0 "time by epoch is drawn" plog --figures time --png training_time.png logs/*.out
# size PNG: its width and height.
size() { od -An -tu1 -j16 -N8 "$1" | awk '{ print ($1 * 256 + $2) * 65536 + $3 * 256 + $4, ($5 * 256 + $6) * 65536 + $7 * 256 + $8 }'; }
is "$(size acc_train_test.png) $(size training_time.png)" "900 420 900 420" "the figures have a page's width"

# The logs' traffic equals that of the hosts' interfaces, except for packet headers and the remote shell's own bytes.
# Without a function, so that $! is dlaunch.
ip netns exec "$(netns_of switch)" env --default-signal=INT dlaunch -H hosts --rsh "$rsh" --remote "$T/disk/bin/dlaunch" \
	-n 3 -s 0 --output nic netstat-logging -q -i eth0 2>nic.err &
watch=$!
for h in 0 1 2; do
	until grep -qs time_s nic/worker-$h.out; do kill -0 $watch 2>/dev/null || break; read -rt 0.05 <> <(:) || :; done
done
rm -r logs
status 0 "the job runs while its interfaces are counted" over -n 3 -s 3 --output logs $train --epochs 2
kill -INT $watch
wait $watch
for way in rx tx; do
	cells traffic host role rank peer class ${way}_bytes |
		awk '$6 == "wire" && $3 != $5 { n[$1] += $7 } END { for (h in n) print h, n[h] }' | sort >said
	cat nic/*.out | awk -F '\t' -v way=${way}_bytes '
		$1 == "time_s" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["event"] == "end" { print $at["host"], $at[way] }' | sort >seen
	join said seen >both
	ok "the logs' $way bytes match the interfaces': $(paste -sd, both)" \
		awk 'NF == 3 && $2 > 1e6 && $3 > $2 && $3 < 1.1 * $2 { n++ } END { exit n != 3 }' both
done
done_testing
