# sshd.sh - ssh daemons of the test's own, with keys of its own, on loopback or in network namespaces.
#
# After tap.sh.  sshd_setup; sshd_start NAME ADDRESS PORT [WRAPPER...] adds host
# NAME to $T/ssh/config, so that `ssh -F $T/ssh/config NAME` gets there;
# sshd_stop ends the daemons.  Nothing of the user's or the system's configuration is read.
sshd=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd)
# A user without a shell is let in nowhere.
case $(getent passwd "$(id -un)" | cut -d: -f7) in */nologin | */false) sshd= ;; esac
sshd_pids=

sshd_setup() {
	[ -n "$sshd" ] || return 1
	mkdir "$T/ssh" && ssh-keygen -q -t ed25519 -N '' -f "$T/ssh/host" && ssh-keygen -q -t ed25519 -N '' -f "$T/ssh/user" || return 1
	# The daemon of root parts with its privileges there.
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
	cp "$T/ssh/user.pub" "$T/ssh/authorized"
	cat >"$T/ssh/config" <<-EOF
		UserKnownHostsFile $T/ssh/known
		GlobalKnownHostsFile /dev/null
		StrictHostKeyChecking yes
		BatchMode yes
		IdentitiesOnly yes
		IdentityFile $T/ssh/user
		User $(id -un)
		ServerAliveInterval 1
		ServerAliveCountMax 2
	EOF
}

# A port that nobody listens at, and that the kernel gives to nobody by itself: neither to who wants any port, nor to who calls.
free_port() {
	perl -MIO::Socket::INET -e 'for (1 .. 1000) {
		my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:" . (10000 + int rand 20000)) or next;
		print $s->sockport; last }'
}

sshd_start() {
	local name=$1 address=$2 port=$3 try
	shift 3
	for try in 1 2 3 4 5; do
		[ "$port" != 0 ] || local at=$(free_port)
		cat >"$T/ssh/$name.conf" <<-EOF
			ListenAddress $address
			Port ${at:-$port}
			HostKey $T/ssh/host
			AuthorizedKeysFile $T/ssh/authorized
			PidFile none
			UsePAM no
			StrictModes no
			PermitRootLogin yes
			MaxStartups 100
			$(cat "$T/ssh/$name.more" 2>/dev/null)
		EOF
		: >"$T/ssh/$name.log"
		"$@" "$sshd" -D -e -f "$T/ssh/$name.conf" 2>"$T/ssh/$name.log" &
		local pid=$!
		while ! grep -q 'Server listening' "$T/ssh/$name.log"; do
			kill -0 "$pid" 2>/dev/null || continue 2
			read -rt 0.05 <> <(:) || :
		done
		sshd_pids="$sshd_pids $pid"
		echo "[$address]:${at:-$port} $(cut -d' ' -f1,2 "$T/ssh/host.pub")" | sed 's/^\[\(.*\)\]:22 /\1 /' >>"$T/ssh/known"
		printf 'Host %s\n\tHostName %s\n\tPort %s\n' "$name" "$address" "${at:-$port}" >>"$T/ssh/config"
		return 0
	done
	cat "$T/ssh/$name.log"
	return 1
}

sshd_stop() {
	[ -z "$sshd_pids" ] || kill $sshd_pids 2>/dev/null
	sshd_pids=
}
