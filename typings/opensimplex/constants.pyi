import numpy as np
from numpy.typing import NDArray

GRADIENTS3: NDArray[np.int64]
NORM_CONSTANT3: int
SQUISH_CONSTANT3: float
STRETCH_CONSTANT3: float
