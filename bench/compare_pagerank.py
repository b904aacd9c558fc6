#!/usr/bin/env python3
"""PageRank by SciPy and scikit-network, to be held against ours.

    pip install scipy scikit-network
    cargo bench -p turnstone-linkgraph -- csr WEB OUT            raw arrays of a web
    cargo bench -p turnstone-linkgraph -- pagerank WEB 1e-6 1 SCORES leak
    python bench/compare_pagerank.py OUT --tolerance 1e-6 --scores SCORES --dangling leak

OUT stands for OUT.starts, OUT.sources and OUT.outdegree; an .npz of scipy.sparse.save_npz (rows are
sources) or an edge list of ids (.tsv, source<TAB>target) is taken too.

Every method runs on one thread. SciPy's power iteration is timed twice: until a step is at most the
tolerance, as is usual, and until the distance to the fixpoint is (step * d/(1-d)), which is what ours
promises. Seconds are given by the clock and of CPU; on a busy machine only the latter compare.
SCORES (our result, f64) is compared with a power iteration run to a step of 1e-13.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sparse

D = 0.85


def load(path):
    """The adjacency transposed (rows are targets), all ones, and the out-degrees."""
    if os.path.exists(path + ".sources"):
        starts = np.fromfile(path + ".starts", dtype=np.uint64).astype(np.int64)
        sources = np.fromfile(path + ".sources", dtype=np.uint32).astype(np.int32)
        outdegree = np.fromfile(path + ".outdegree", dtype=np.uint32)
        n = len(outdegree)
        if starts[-1] < 2**31:
            starts = starts.astype(np.int32)
        return sparse.csr_matrix((np.ones(len(sources)), sources, starts), shape=(n, n)), outdegree
    if path.endswith(".npz"):
        adjacency = sparse.load_npz(path).tocsr()
    else:
        links = np.loadtxt(path, dtype=np.int64, comments="#")
        n = int(links.max()) + 1
        adjacency = sparse.csr_matrix((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))
    adjacency.data[:] = 1.0
    return adjacency.T.tocsr(), np.diff(adjacency.indptr).astype(np.uint32)


def power_iteration(transition, dangling, tolerance, by_distance, limit=10_000):
    """Y = d Y A + (1-d) X with X uniform; `transition` is A transposed, `dangling` None for leak."""
    n = transition.shape[0]
    y = np.full(n, 1.0 / n)
    iterations = 0
    while iterations < limit:
        z = transition @ y
        z *= D
        z += (1.0 - D) / n
        if dangling is not None:
            z += D * y[dangling].sum() / n
        step = np.abs(z - y).sum()
        y = z
        iterations += 1
        if step * (D / (1.0 - D) if by_distance else 1.0) <= tolerance:
            break
    return y, iterations, step


def timed(name, work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name}: {wall:.2f} s, {cpu:.2f} s of CPU", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("web")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--dangling", choices=["leak", "spread"], default="leak")
    parser.add_argument("--scores", help="our result: little-endian f64, one for each page")
    options = parser.parse_args()

    ones, outdegree = timed("load", lambda: load(options.web))
    n = ones.shape[0]
    print(f"{n} pages, {ones.nnz} links, dangling: {options.dangling}, tolerance {options.tolerance}")
    dangling = np.flatnonzero(outdegree == 0) if options.dangling == "spread" else None

    inverse = 1.0 / np.maximum(outdegree, 1)
    transition = timed("SciPy: normalise", lambda: sparse.csr_matrix((inverse[ones.indices], ones.indices, ones.indptr), shape=(n, n)))
    print(f"SciPy: {(transition.data.nbytes + transition.indices.nbytes + transition.indptr.nbytes + 24 * n) / ones.nnz:.2f} bytes a link")
    for by_distance in [False, True]:
        name = "SciPy power iteration, " + ("distance" if by_distance else "step") + " within tolerance"
        y, iterations, step = timed(name, lambda: power_iteration(transition, dangling, options.tolerance, by_distance))
        print(f"  {iterations} iterations, last step {step:.3g}")
        if options.scores:
            ours = np.fromfile(options.scores, dtype="<f8")
            print(f"  L1 distance to ours {np.abs(y - ours).sum():.3g}")

    if options.scores:
        exact, iterations, _ = power_iteration(transition, dangling, 1e-13, False)
        ours = np.fromfile(options.scores, dtype="<f8")
        print(f"L1 distance of ours to a power iteration of {iterations} steps: {np.abs(exact - ours).sum():.3g}")
        print(f"L1 distance of SciPy's (distance within tolerance) to it: {np.abs(exact - y).sum():.3g}")
    del transition

    from sknetwork.ranking import PageRank

    adjacency = ones.T.tocsr()
    del ones
    ranker = PageRank(damping_factor=D, solver="piteration", n_iter=10_000, tol=options.tolerance)
    timed("scikit-network fit (spread, normalised; its own transposition included)", lambda: ranker.fit(adjacency))
    from sknetwork.linalg.ppr_solver import RandomSurferOperator

    seeds = np.full(n, 1.0 / n)
    surfer = timed("scikit-network: operator alone", lambda: RandomSurferOperator(adjacency, seeds, D))
    y, iterations = seeds, 0

    def iterate():
        # What solver='piteration' does, so that its iterations are timed without the set-up.
        nonlocal y, iterations
        while True:
            z = surfer.dot(y)
            z /= z.sum()
            iterations += 1
            step = np.linalg.norm(y - z, ord=1)
            y = z
            if step < options.tolerance:
                return

    timed("scikit-network iterations alone", iterate)
    print(f"  {iterations} iterations")


if __name__ == "__main__":
    main()
