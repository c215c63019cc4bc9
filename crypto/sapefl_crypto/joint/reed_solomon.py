"""Which of some values do not lie on the polynomial that the others share (Berlekamp and Welch).

With P of degree below t and e wrong values there are polynomials E (of degree e, zero at the wrong points) and Q = P·E
with Q(x) = y · E(x) at every point: linear equations for their coefficients, and any solution gives P = Q / E.
"""

from collections.abc import Mapping

from sapefl_crypto.joint.field import PRIME

Row = list[int]


def wrong_points(values: Mapping[int, int], threshold: int) -> frozenset[int] | None:
    """The fewest points whose values must be wrong; None if there are more than (count - threshold) / 2."""
    for errors in range((len(values) - threshold) // 2 + 1):
        quotient = _decoded(values, threshold, errors)
        if quotient is not None:
            wrong = frozenset(x for x, y in values.items() if _value(quotient, x) != y)
            if len(wrong) <= errors:
                return wrong
    return None


def _decoded(values: Mapping[int, int], threshold: int, errors: int) -> Row | None:
    """P of degree below the threshold that misses at most ``errors`` of the values; None if there is none."""
    unknowns = threshold + errors
    rows = [
        [pow(x, i, PRIME) for i in range(unknowns)]
        + [-y * pow(x, i, PRIME) % PRIME for i in range(errors)]
        + [y * pow(x, errors, PRIME) % PRIME]
        for x, y in values.items()
    ]
    solution = _solved(rows, unknowns + errors)
    if solution is None:
        return None
    quotient, remainder = _divided(solution[:unknowns], [*solution[unknowns:], 1])
    return None if any(remainder) else quotient


def _solved(rows: list[Row], unknowns: int) -> Row | None:
    """A solution of the linear equations, free unknowns zero; None if they contradict each other."""
    pivots: list[int] = []
    for column in range(unknowns):
        at = len(pivots)
        found = next((i for i in range(at, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        inverse = pow(rows[at][column], -1, PRIME)
        rows[at] = [number * inverse % PRIME for number in rows[at]]
        for i, row in enumerate(rows):
            if i != at and row[column]:
                rows[i] = [(a - row[column] * b) % PRIME for a, b in zip(row, rows[at], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = [0] * unknowns
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[-1]
    return solution


def _divided(dividend: Row, divisor: Row) -> tuple[Row, Row]:
    """Quotient and remainder of polynomials, lowest coefficient first; the divisor's highest is 1."""
    rest, degree = list(dividend), len(divisor) - 1
    quotient = [0] * (len(dividend) - degree)
    for at in reversed(range(len(quotient))):
        quotient[at] = rest[at + degree]
        for i, coefficient in enumerate(divisor):
            rest[at + i] = (rest[at + i] - quotient[at] * coefficient) % PRIME
    return quotient, rest[:degree]


def _value(polynomial: Row, x: int) -> int:
    total = 0
    for coefficient in reversed(polynomial):
        total = (total * x + coefficient) % PRIME
    return total
