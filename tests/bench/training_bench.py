#!/usr/bin/env python3
"""Training speed of `rondo run` beside PyTorch's DDP and PeriodicModelAverager with gloo.

  tests/bench/training_bench.py [--bin bazel-bin] [--peer-python PYTHON] [--reps 5] [--workers 2 4]

The same models on both sides, batches of 32 a worker, one thread a process, plain SGD with momentum:
  mlp   784-512-256-10, the gradient-reducing comparison (ours on tests/data/mnist5k)
  big   784-1536-1152-10, 2.99 million parameters, 12 MB; the peers' is their GPT of 3.08 million
Ours and the peers' runs alternate within each repetition, so that a slow minute hits both.
PYTHON needs torch 2.15 with all its wheels; without it only our side is measured.

One JSON line a measurement on standard output, then one line `"bench": "ratio"` each comparison:
  rondo        steps_per_s; reduce_s, of one sync (median over the rounds); control_s_p50 and
               control_s_p99, of one round; the first two rounds are warm-up and not counted;
               cpu_ms_all, CPU time of all processes a step, less that of a short run
  ddp, localsgd, localsgd_avg: see peers/ddp_gloo.py and peers/post_local_sgd.py
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data", "mnist5k")
MODELS = {"mlp": [784, 512, 256, 10], "big": [784, 1536, 1152, 10]}
PEER_MODELS = {"mlp": "mlp", "big": "gpt"}
WARM_UP_ROUNDS = 2
LOCAL_STEPS = 16
PARALLEL_STEPS = 50

JOB = """\
name: bench
seed: 1
model: {{builtin: mlp, layers: {layers}}}
loss: cross_entropy
data:
  format: idx
  train: {{images: train-images-idx3-ubyte, labels: train-labels-idx1-ubyte}}
  shuffle: true
batch: {{per_worker: 32}}
optimizer: {{kind: sgd, momentum: 0.9}}
schedule: {{kind: constant, steps: {steps}, peak: 0.001}}
sync: {sync}
workers: {{min: {workers}, max: {workers}}}
"""


def emit(**values):
    print(json.dumps(values), flush=True)
    return values


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_rondo(programs, model, mode, workers, steps):
    folder = tempfile.mkdtemp(prefix="rondo-bench-")
    try:
        for name in os.listdir(DATA):
            if name.endswith("ubyte"):
                shutil.copy(os.path.join(DATA, name), folder)
        sync = ("{policy: parallel, round_steps: %d}" % PARALLEL_STEPS if mode == "parallel" else
                "{policy: constant, base_steps: %d}" % LOCAL_STEPS)
        job = os.path.join(folder, "job.yaml")
        with open(job, "w", encoding="utf-8") as file:
            file.write(JOB.format(layers=MODELS[model], steps=steps, sync=sync, workers=workers))
        state = os.path.join(folder, "state")
        rondo = os.path.join(programs, "server", "rondo")
        environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
        cpu = children_cpu_seconds()
        subprocess.run([rondo, "run", job, "--workers", str(workers), "--state", state,
                        "--bin-dir", programs, "--json"],
                       check=True, env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        cpu = children_cpu_seconds() - cpu
        lines = subprocess.run([rondo, "rounds", "--state", state, "--json"], check=True,
                               stdout=subprocess.PIPE).stdout.splitlines()
        return [json.loads(line) for line in lines][WARM_UP_ROUNDS:], cpu
    finally:
        shutil.rmtree(folder)


def measure_rondo(programs, model, mode, workers, steps, rep):
    rounds, cpu = run_rondo(programs, model, mode, workers, steps)
    # What loading, set-up and the end cost is in a short run as well.
    _, cpu_short = run_rondo(programs, model, mode, workers, steps // 8)
    control = [r["control_seconds"] for r in rounds]
    syncs_a_round = PARALLEL_STEPS if mode == "parallel" else 1
    return emit(bench="rondo", model=model, mode=mode, P=workers, rep=rep,
                H=1 if mode == "parallel" else LOCAL_STEPS,
                steps_per_s=sum(r["length"] for r in rounds) / sum(r["seconds"] for r in rounds),
                reduce_s=statistics.median(r["reduce_seconds"] for r in rounds) / syncs_a_round,
                control_s_p50=percentile(control, 0.50), control_s_p99=percentile(control, 0.99),
                cpu_ms_all=1e3 * (cpu - cpu_short) / (steps - steps // 8), rounds=len(rounds))


def measure_peer(python, script, arguments, rep):
    lines = subprocess.run([python, os.path.join(HERE, "peers", script), "--reps", "1"] + arguments,
                           check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           cwd=os.path.join(HERE, "peers")).stdout.splitlines()
    values = [json.loads(line) for line in lines if line.startswith(b"{")]
    return [emit(**dict(value, rep=rep)) for value in values]


def median_of(measurements, key, **wanted):
    values = [m[key] for m in measurements
              if key in m and all(m.get(name) == value for name, value in wanted.items())]
    return statistics.median(values) if values else None


def emit_ratio(what, ours, peers, workers, higher_is_better):
    if ours is None or peers is None:
        return
    ratio = ours / peers if higher_is_better else peers / ours
    emit(bench="ratio", what=what, P=workers, ours=ours, peer=peers, times_better=ratio)


def emit_ratios(measurements, workers):
    emit_ratio("parallel mode, mlp, steps/s, against DDP",
               median_of(measurements, "steps_per_s", bench="rondo", model="mlp", mode="parallel",
                         P=workers),
               median_of(measurements, "steps_per_s", bench="ddp", model="mlp", mode="ddp",
                         P=workers), workers, True)
    emit_ratio("parallel mode, mlp, CPU ms of all processes a step, against DDP",
               median_of(measurements, "cpu_ms_all", bench="rondo", model="mlp", mode="parallel",
                         P=workers),
               median_of(measurements, "cpu_ms_all", bench="ddp", model="mlp", mode="ddp",
                         P=workers), workers, False)
    emit_ratio("local mode, mlp, H = %d, steps/s, against PeriodicModelAverager" % LOCAL_STEPS,
               median_of(measurements, "steps_per_s", bench="rondo", model="mlp", mode="local",
                         P=workers),
               median_of(measurements, "steps_per_s", bench="localsgd", model="mlp",
                         H=LOCAL_STEPS, P=workers), workers, True)
    for model, peer in PEER_MODELS.items():
        emit_ratio("one local sync, %s, seconds, against PeriodicModelAverager" % model,
                   median_of(measurements, "reduce_s", bench="rondo", model=model, mode="local",
                             P=workers),
                   median_of(measurements, "s_per_avg_pure", bench="localsgd_avg", model=peer,
                             P=workers), workers, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(HERE, "..", "..", "bazel-bin"),
                        help="folder with server/rondo and the other programs")
    parser.add_argument("--peer-python", default="", help="a Python with torch 2.15 in full")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--steps", type=int, default=800, help="of each of our runs")
    arguments = parser.parse_args()
    programs = os.path.abspath(arguments.bin)
    for workers in arguments.workers:
        measurements = []
        for rep in range(arguments.reps):
            for model, mode in (("mlp", "parallel"), ("mlp", "local"), ("big", "local")):
                steps = arguments.steps if model == "mlp" else arguments.steps // 4
                measurements.append(
                    measure_rondo(programs, model, mode, workers, steps, rep))
            if not arguments.peer_python:
                continue
            measurements += measure_peer(
                arguments.peer_python, "ddp_gloo.py",
                ["--secs", "2", "--P", str(workers), "--models", "mlp"], rep)
            measurements += measure_peer(
                arguments.peer_python, "post_local_sgd.py",
                ["--P", str(workers), "--H", str(LOCAL_STEPS), "--models", "mlp", "gpt"], rep)
        emit_ratios(measurements, workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
