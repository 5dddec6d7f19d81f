# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2034 # $work, $stepjail, $allow are the caller's
#
# contenders.sh - what the benches start beside stepjail; to be sourced
#
# $work is a folder of the caller's; the list of contenders, $work/list, has a line for each:
# its name, a tab, and its words, tab by tab.

# bundle FOLDER ROOTFS WORDS... : an OCI bundle with the same walls
bundle()
{
	folder=$1 tree=$2
	shift 2
	words=$(printf '"%s",' "$@")
	mkdir -p "$folder"
	cat >"$folder/config.json" <<-END
	{
	 "ociVersion": "1.0.2",
	 "process": {
	  "user": {"uid": 0, "gid": 0}, "args": [${words%,}], "env": ["PATH=/bin"],
	  "cwd": "/", "noNewPrivileges": true,
	  "capabilities": {"bounding": [], "effective": [], "permitted": [], "inheritable": []}
	 },
	 "root": {"path": "$tree", "readonly": true},
	 "hostname": "bench",
	 "mounts": [
	  {"destination": "/proc", "type": "proc", "source": "proc"},
	  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
	  {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]},
	  {"destination": "/work", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]}
	 ],
	 "linux": {
	  "namespaces": [{"type": "pid"}, {"type": "network"}, {"type": "ipc"}, {"type": "uts"},
	   {"type": "mount"}, {"type": "user"}${oci_cgroup:-}],
	  "uidMappings": [{"containerID": 0, "hostID": $oci_id, "size": 1}],
	  "gidMappings": [{"containerID": 0, "hostID": $oci_gid, "size": 1}]
	 }
	}
	END
}

oci_id=$(id -u) oci_gid=$(id -g)

# contender NAME WORDS... : join the race, if one try works; else say why it does not
contender()
{
	name=$1
	shift
	if ! command -v "$1" >/dev/null; then
		echo "$name: not here: ${1##*/} is missing"
		return
	fi
	path=$(command -v "$1")
	shift
	status=0
	timeout 20 "$path" "$@" </dev/null >"$work/said" 2>&1 || status=$?
	if [ $status -ne 0 ]; then
		echo "$name: does not work here (status $status): $(grep . "$work/said" | tail -n 1)"
		return
	fi
	{
		printf '%s\t%s' "$name" "$path"
		printf '\t%s' "$@"
		echo
	} >>"$work/list"
}

# jails TREE WORDS... : every contender with walls
jails()
{
	tree=$1
	shift
	# shellcheck disable=SC2086 # no word, or one
	contender stepjail "$stepjail" run $allow --rootfs "$tree" -- "$@"
	contender bubblewrap bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL \
		--clearenv --ro-bind "$tree" / --proc /proc --dev /dev --tmpfs /tmp \
		--tmpfs /work -- "$@"
	contender unshare unshare --user --map-root-user --mount --pid --fork --kill-child \
		--net --ipc --uts --cgroup --root "$tree" --mount-proc "$@"
	bundle "$work/bundle" "$tree" "$@"
	# a start without cgroups is the faster one, so this does not favour stepjail; runc
	# has no option to leave them out
	contender crun crun --root "$work/crun" --cgroup-manager disabled run \
		--bundle "$work/bundle" bench
	contender runc runc --root "$work/runc" --rootless true run --bundle "$work/bundle" bench
}

# goal REFERENCE LIMIT : stepjail's median beside a reference's, in the table just printed;
# the quotient of the minima is what is left of it on a machine that is busy
goal()
{
	awk -v reference="$1" -v limit="$2" '
		$1 == "stepjail" { median = $2; min = $3 }
		$1 == reference { its_median = $2; its_min = $3 }
		END {
			printf "goal: at most %.2f of %s: ", limit, reference
			if (min + 0 == 0 || its_min + 0 == 0) { print "not measured"; exit }
			printf "%.2f, %s (of the minima %.2f)\n", median / its_median,
				median / its_median <= limit ? "met" : "missed", min / its_min
		}' "$work/table"
}

busy()
{
	awk -v cores="$(nproc)" '$1 > cores / 2 {
		print "bench: the machine is busy (load " $1 " on " cores " processors): medians are worth little"
	}' /proc/loadavg
}
