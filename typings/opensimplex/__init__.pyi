import numpy as np
from numpy.typing import NDArray

class OpenSimplex:
    _perm: NDArray[np.int64]
    _perm_grad_index3: NDArray[np.int64]
    def __init__(self, seed: int) -> None: ...
    def noise3(self, x: float, y: float, z: float) -> float: ...
