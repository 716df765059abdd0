"""EfficientNet-lite0, with the names of parameters that its weights have.

It was trained in TensorFlow, whose convolutions of stride 2 pad more at the end than at
the beginning, so that padding is a step of its own. PyTorch is imported with this file:
import it where the network is needed only.
"""

from typing import Any

from torch import nn

MEAN, STD = 127 / 255, 128 / 255
"""How the pixels, in [0, 1], of the images that it was trained on were centred and
scaled.
"""

_EPS = 1e-3
"""What is added to variances by batch normalisation."""

_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
"""Blocks, side of the kernel, stride of the first block, expansion, and channels."""

_STEM, _HEAD, _CLASSES = 32, 1280, 1000


class SamePadded(nn.Conv2d):
    """A convolution that returns ceil(side / stride) entries, as TensorFlow's do."""

    def forward(self, x: Any) -> Any:
        """Pad, the odd entry at the end, and convolve."""
        down, across = (
            max((-(-d // s) - 1) * s + k - d, 0)
            for d, k, s in zip(x.shape[-2:], self.kernel_size, self.stride, strict=True)
        )
        sides = (across // 2, across - across // 2, down // 2, down - down // 2)
        return super().forward(nn.functional.pad(x, sides))


def _convolution(before: int, after: int, kernel: int = 1, **options: Any) -> Any:
    return SamePadded(before, after, kernel, bias=False, **options)


def _normalised(channels: int) -> Any:
    return nn.BatchNorm2d(channels, eps=_EPS)


class Block(nn.Module):
    """An inverted residual: expanded, filtered channel by channel, and projected."""

    def __init__(
        self, before: int, after: int, kernel: int, stride: int, expansion: int
    ) -> None:
        super().__init__()
        wide = before * expansion
        self.expanded, self.residual = expansion > 1, stride == 1 and before == after
        if self.expanded:
            self._expand_conv = _convolution(before, wide)
            self._bn0 = _normalised(wide)
        self._depthwise_conv = _convolution(
            wide, wide, kernel, stride=stride, groups=wide
        )
        self._bn1 = _normalised(wide)
        self._project_conv = _convolution(wide, after)
        self._bn2 = _normalised(after)

    def forward(self, x: Any) -> Any:
        """Return maps (n, after, h', w') of maps (n, before, h, w)."""
        y = x
        if self.expanded:
            y = nn.functional.relu6(self._bn0(self._expand_conv(y)))
        y = nn.functional.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.residual else y


class EfficientNetLite0(nn.Module):
    """The network: ``maps`` gives features, calling it gives classes."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = _convolution(3, _STEM, 3, stride=2)
        self._bn0 = _normalised(_STEM)
        blocks, before = [], _STEM
        for count, kernel, stride, expansion, after in _STAGES:
            for i in range(count):
                step = 1 if i else stride
                blocks.append(Block(before, after, kernel, step, expansion))
                before = after
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = _convolution(before, _HEAD)
        self._bn1 = _normalised(_HEAD)
        self._fc = nn.Linear(_HEAD, _CLASSES)

    def maps(self, x: Any) -> Any:
        """Return the last maps, (n, 1280, h / 32, w / 32), which are not negative."""
        x = nn.functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return nn.functional.relu6(self._bn1(self._conv_head(x)))

    def forward(self, x: Any) -> Any:
        """Return the scores (n, 1000) of the classes of ImageNet."""
        return self._fc(self.maps(x).mean(dim=(2, 3)))
