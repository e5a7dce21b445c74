"""Plain twins of the regressions: a few lines of NumPy that work from the formulas, and made-up data."""

import numpy as np

import maskwell as mw

WARNER = mw.designs.Dense.of([["0.8", "0.2"], ["0.2", "0.8"]], mw.Categories.of(["yes", "no"]))
FORCED = mw.designs.Dense.of([["5/6", "1/6"], ["1/6", "5/6"]], mw.Categories.of(["yes", "no"]))
DIRECT = mw.designs.Dense.of([[1, 0], [0, 1]], mw.Categories.of(["yes", "no"]))
KUK = mw.designs.Dense.of(
    [["27/1000", "64/125"], ["189/1000", "48/125"], ["441/1000", "12/125"], ["343/1000", "1/125"]],
    mw.Categories.of(["yes", "no"]),
)
THREE = mw.designs.Uniform.of("1/2", mw.Categories.of(["never", "once", "often"]))


def log_likelihood(beta, X, codes, P, weights=None):
    """Of a multinomial logit with the last category as reference; beta is flat, category after category."""
    k = P.shape[1]
    eta = np.column_stack([X @ np.reshape(beta, (k - 1, -1)).T, np.zeros(len(X))])
    pi = np.exp(eta - eta.max(axis=1, keepdims=True))
    pi /= pi.sum(axis=1, keepdims=True)
    found = np.log((P[codes] * pi).sum(axis=1))
    return float(found.sum() if weights is None else found @ weights)


def plain_newton(X, codes, P, steps=50):
    """Logistic regression by Newton's method and nothing else."""
    beta = np.zeros(X.shape[1])
    for _ in range(steps):
        s = 1 / (1 + np.exp(-X @ beta))
        lam = P[codes, 0] * s + P[codes, 1] * (1 - s)
        tau = P[codes, 0] * s / lam
        gradient = X.T @ (tau - s)
        information = (X * (s * (1 - s) - tau * (1 - tau))[:, None]).T @ X
        beta = beta + np.linalg.solve(information, gradient)
        if np.abs(gradient).max() < 1e-9 * len(X):
            break
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))


def gradient_of(f, x, step=1e-5):
    """Central differences."""
    moves = np.eye(len(x)) * step
    return np.array([(f(x + move) - f(x - move)) / (2 * step) for move in moves])


def draw(P, truth, rng):
    """Reports of true codes under P."""
    ends = np.cumsum(P, axis=0)[:, truth]
    return (rng.random(len(truth)) >= ends).sum(axis=0)


def logistic_data(n, beta, design=WARNER, seed=1):
    """Predictors (n, p) and reports of an outcome with these coefficients, the intercept first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(beta) - 1))
    yes = rng.random(n) < 1 / (1 + np.exp(-(beta[0] + X @ np.asarray(beta[1:]))))
    return X, draw(design.matrix(), np.where(yes, 0, 1), rng)


def mixed_log_likelihood(theta, X, a, b, groups, nodes=401, reach=8.0):
    """Of a logistic regression with a random intercept: a plain sum over many nodes; theta ends with the deviation.

    ``a`` and ``b`` are the chances of each report given the first and the second category.
    """
    v = np.linspace(-reach, reach, nodes)
    first = 1 / (1 + np.exp(-((X @ theta[:-1])[:, None] + theta[-1] * v)))
    by_row = np.log(a[:, None] * first + b[:, None] * (1 - first))
    by_group = np.zeros((groups.max() + 1, nodes))
    np.add.at(by_group, groups, by_row)
    by_group += -(v**2) / 2 - np.log(2 * np.pi) / 2 + np.log(v[1] - v[0])
    top = by_group.max(axis=1, keepdims=True)
    return float((top[:, 0] + np.log(np.exp(by_group - top).sum(axis=1))).sum())


def hessian_of(f, x, step=1e-3):
    """Second differences."""
    moves = np.eye(len(x)) * step
    return np.array(
        [[(f(x + m + k) - f(x + m - k) - f(x - m + k) + f(x - m - k)) / (4 * step**2) for k in moves] for m in moves]
    )
