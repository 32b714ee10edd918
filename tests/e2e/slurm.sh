# slurm.sh - a whole Slurm on this machine: munged, one slurmctld and several slurmd, as the present user, on free
# ports of the loopback, all of it below one folder. Nothing of the machine's own Slurm is read or changed.
# shellcheck shell=bash disable=SC2034
# Sourced behind lib.sh. slurm_there says why it cannot run; slurm_up NODES CPUS starts it; slurm_down stops it.
PATH=$PATH:/usr/sbin:/sbin
R=$WORK/slurm
NODES=0

slurm_there() {
    local tool
    for tool in slurmctld slurmd sbatch squeue scancel scontrol munged python3; do
        command -v $tool >/dev/null || { echo "no $tool: install slurmctld, slurmd, slurm-client and munge (make slurm-peers)"; return 1; }
    done
    [ "$(id -u)" = 0 ] || { echo "slurmd of several nodes on one machine needs root here"; return 1; }
}

free_ports() { # count
    python3 -c 'import socket, sys
s = [socket.socket() for _ in range(int(sys.argv[1]))]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])' "$1"
}

slurm_up() { # nodes cpus
    local host i ports
    NODES=$1
    host=$(hostname -s)
    mkdir -p "$R/state" "$R/log"
    # munged wants a folder that everybody may enter, up to the root; the folders of tests are private.
    MUNGE=$(mktemp -d /tmp/assay-munge-XXXXXX)
    chmod 755 "$MUNGE"
    dd if=/dev/urandom of="$MUNGE/key" bs=1 count=128 status=none
    chmod 600 "$MUNGE/key"
    read -ra ports <<<"$(free_ports $((NODES + 1)))"
    cat >"$R/slurm.conf" <<END
ClusterName=assay
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$MUNGE/sock
StateSaveLocation=$R/state
SlurmdSpoolDir=$R/spool/%n
SlurmctldPidFile=$R/ctld.pid
SlurmdPidFile=$R/slurmd.%n.pid
SlurmctldLogFile=$R/log/ctld.log
SlurmdLogFile=$R/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$R/log/jobcomp.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=5
SlurmdParameters=config_overrides
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    for i in $(seq "$NODES"); do
        mkdir -p "$R/spool/n$i"
        echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[$i]} CPUs=$2 RealMemory=2000 State=UNKNOWN" >>"$R/slurm.conf"
    done
    export SLURM_CONF=$R/slurm.conf
    munged --key-file="$MUNGE/key" --socket="$MUNGE/sock" --pid-file="$MUNGE/pid" --log-file="$MUNGE/log" \
        --seed-file="$MUNGE/seed" || return 1
    slurmctld_start
    for i in $(seq "$NODES"); do slurmd_start "n$i"; done
    for _ in $(seq 100); do
        [ "$(sinfo -h -o %t -N 2>/dev/null | grep -c idle)" = "$NODES" ] && return 0
        sleep 0.1
    done
    return 1
}

slurmctld_start() { slurmctld -f "$R/slurm.conf" >/dev/null 2>&1; }
slurmd_start() { slurmd -f "$R/slurm.conf" -N "$1" >/dev/null 2>&1; }
pid_of() { cat "$R/$1.pid" 2>/dev/null; } # ctld, slurmd.n1

jobs_left() { squeue -h -r -o '%i %T %j' 2>/dev/null; }
jobs_in() { jobs_left | grep -c " $1 "; } # state

# Stops only what was started here, and waits for it.
slurm_down() {
    local f p all=""
    [ -n "${SLURM_CONF:-}" ] && timeout 5 scancel -u "$(id -un)" 2>/dev/null
    for f in "$R"/slurmd.*.pid "$R/ctld.pid" "${MUNGE:-}/pid"; do
        [ -f "$f" ] && all="$all $(cat "$f")"
    done
    for p in $all; do kill "$p" 2>/dev/null; done
    for _ in $(seq 50); do
        for p in $all; do kill -0 "$p" 2>/dev/null && sleep 0.1 && continue 2; done
        break
    done
    for p in $all; do kill -9 "$p" 2>/dev/null; done
    [ -n "${MUNGE:-}" ] && rm -rf "$MUNGE"
    return 0
}
