"""Raw gloo: all_reduce(float32, SUM) and barrier over loopback, and the bounds beside it.

usage: allreduce_gloo.py [--reps 5] [--P 2 4 8]
  time   wall time per call, back-to-back calls, the slowest rank's clock
  busbw  2(P-1)/P * bytes / time
Bounds on the same machine: one TCP stream over loopback between two processes
(send 1 MB chunks, recv_into), and a numpy copy.
"""
import argparse, statistics as st
from common import *

SIZES = {"4KB": 4 << 10, "64KB": 64 << 10, "1MB": 1 << 20, "12MB": 12_000_000,
         "40MB": 40_000_000, "100MB": 100_000_000}


def work(rank, P, reps):
    for rep in range(reps):
        for lab, nb in SIZES.items():
            x = torch.zeros(nb // 4)
            for _ in range(2 if nb < 1e7 else 1): dist.all_reduce(x)
            k = {"4KB": 20, "64KB": 20, "1MB": 4}.get(lab, 1); dist.barrier(); s = time.perf_counter()
            for _ in range(k): dist.all_reduce(x)
            it = agree(min(2000, max(2, 0.6 * k / (time.perf_counter() - s))))
            dist.barrier(); w = Window(); s = time.perf_counter()
            for _ in range(it): dist.all_reduce(x)
            t = maxall((time.perf_counter() - s) / it); oc = w.other()
            if rank == 0:
                emit(bench="allreduce", P=P, size=lab, bytes=nb, rep=rep, iters=it,
                     ms=round(t * 1e3, 4), busbw_GBps=round(2 * (P - 1) / P * nb / t / 1e9, 4),
                     other_cores=oc, cpu_ms_all=round(1e3 * w.own / it, 4))
            del x
        for _ in range(10): dist.barrier()
        w = Window(); s = time.perf_counter()
        for _ in range(200): dist.barrier()
        t = maxall((time.perf_counter() - s) / 200); oc = w.other()
        if rank == 0: emit(bench="barrier", P=P, rep=rep, us=round(t * 1e6, 1), other_cores=oc,
                            cpu_ms_all=round(1e3 * w.own / 200, 4))


def tcp(reps, nb=1_000_000_000, chunk=1 << 20):
    srv = socket.socket(); srv.bind(("127.0.0.1", 0)); srv.listen(1); port = srv.getsockname()[1]

    def sender():
        c = socket.create_connection(("127.0.0.1", port)); b = bytes(chunk)
        for _ in range(reps):
            c.recv(1)
            for _ in range(nb // chunk): c.sendall(b)
        c.close()
    p = mp.get_context("fork").Process(target=sender); p.start()
    c, _ = srv.accept(); buf = bytearray(chunk); n = nb // chunk * chunk
    for rep in range(reps):
        w = Window(False); p0 = time.process_time(); c.sendall(b"x"); s = time.perf_counter(); got = 0
        while got < n: got += c.recv_into(buf, min(chunk, n - got))
        t = time.perf_counter() - s   # the sender takes about one core as well
        emit(bench="tcp_loopback_1stream", rep=rep, GBps=round(n / t / 1e9, 3), other_cores=w.other(t))
    c.close(); p.join()


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("--reps", type=int, default=5)
    a.add_argument("--P", type=int, nargs="+", default=[2, 4, 8])
    a = a.parse_args()
    probe("allreduce"); tcp(a.reps)
    for P in a.P: launch(work, P, a.reps)
