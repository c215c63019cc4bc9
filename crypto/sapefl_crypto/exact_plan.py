"""What plans for shared and joint keys have in common: whole weights, a bound, and a grid on which sums are exact."""

from typing import Protocol

import numpy as np
import numpy.typing as npt


class ExactPlan(Protocol):
    """`Parameters`, or `joint.plan.JointPlan`."""

    @property
    def max_clients(self) -> int: ...

    @property
    def max_abs_value(self) -> float: ...

    @property
    def weight_bits(self) -> int: ...

    @property
    def grid_bits(self) -> int: ...

    @property
    def max_error(self) -> float: ...

    @property
    def security_bits(self) -> int: ...

    @property
    def fresh_chunk_bytes(self) -> int:
        """Of a chunk in a frame."""

    def chunks(self, length: int) -> int: ...

    def on_grid(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
