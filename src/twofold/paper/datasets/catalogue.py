"""Catalogue of the data sets: shapes, digests, addresses and licences."""

from dataclasses import dataclass

_CAI = "http://www.cad.zju.edu.cn/home/dengcai/Data"
_CAI_PAGE = f"{_CAI}/FaceData.html"
_FEATURE = "https://jundongl.github.io/scikit-feature"
_FEATURE_PAGE = f"{_FEATURE}/datasets.html"


@dataclass(frozen=True)
class Entry:
    """Description of one data set.

    Attributes
    ----------
    name, title : str
        Short name for code, and title for readers.
    files : tuple of str
        File names of the data set, in order of preference.
    n_samples, n_classes, height, width : int
        Numbers of images and classes, and size of an image in pixels.
    pixel_digest, label_digest : str
        ``decode.digest`` of the upright uint8 images and of the 0-based classes.
    addresses : tuple of str
        Download addresses, tried in this order. Empty if there is no open address.
    page : str
        Web page of the data set.
    about, cite, licence : str
        Description, reference and licence.
    target_names : tuple of str
        Names of the classes. Empty if the classes have no names.
    """

    name: str
    title: str
    files: tuple[str, ...]
    n_samples: int
    n_classes: int
    height: int
    width: int
    pixel_digest: str
    label_digest: str
    addresses: tuple[str, ...]
    page: str
    about: str
    cite: str
    licence: str
    target_names: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """Text for ``Bunch.DESCR``."""
        return (
            f"{self.title}\n\n{self.about}\n\n"
            f"{self.n_samples} images of {self.height} x {self.width} pixels, "
            f"{self.n_classes} classes.\n"
            f"Cite: {self.cite}\nLicence: {self.licence}\nSource: {self.page}\n"
        )


_DIGITS = tuple("0123456789")
_RESEARCH = "for research, on the terms of its authors; not to be passed on here"

CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            name="yale",
            title="Yale faces, 32 x 32",
            files=("Yale_32x32.mat", "Yale.mat"),
            n_samples=165,
            n_classes=15,
            height=32,
            width=32,
            pixel_digest="07e8ffe6da0b8a674ef6589777fecc39",
            label_digest="8a6d6afe9584145997faf63d40714340",
            addresses=(
                f"{_CAI}/Yale/Yale_32x32.mat",
                f"{_FEATURE}/files/datasets/Yale.mat",
            ),
            page=_CAI_PAGE,
            about=(
                "Fifteen persons, eleven images each: lit from the left, the right or "
                "in front, with and without glasses, and with different expressions. "
                "Aligned by the eyes, cropped and made smaller by Deng Cai."
            ),
            cite=(
                "P. N. Belhumeur, J. P. Hespanha, D. J. Kriegman. Eigenfaces vs. "
                "Fisherfaces: recognition using class specific linear projection. "
                "IEEE TPAMI 19(7), 1997."
            ),
            licence=_RESEARCH,
        ),
        Entry(
            name="orl",
            title="ORL faces, 32 x 32",
            files=("ORL.mat", "ORL_32x32.mat"),
            n_samples=400,
            n_classes=40,
            height=32,
            width=32,
            pixel_digest="5658ada20de35dc59277906b986789f2",
            label_digest="4b7a48e7a69636f6ba800593324e2051",
            addresses=(
                f"{_FEATURE}/files/datasets/ORL.mat",
                f"{_CAI}/ORL/ORL_32x32.mat",
            ),
            page=_FEATURE_PAGE,
            about=(
                "Forty persons, ten images each, of varying pose, expression and "
                "lighting, taken at the Olivetti (later AT&T) laboratory in Cambridge."
            ),
            cite=(
                "F. S. Samaria, A. C. Harter. Parameterisation of a stochastic model "
                "for human face identification. IEEE Workshop on Applications of "
                "Computer Vision, 1994."
            ),
            licence=_RESEARCH,
        ),
        Entry(
            name="eyaleb",
            title="Extended Yale B faces, 32 x 32",
            files=("YaleB_32x32.mat",),
            n_samples=2414,
            n_classes=38,
            height=32,
            width=32,
            pixel_digest="4b78e444ce3add49dbe59642213a896d",
            label_digest="8308ed7ae39f4c2834cb13862d5455fa",
            addresses=(f"{_CAI}/YaleB/YaleB_32x32.mat",),
            page=_CAI_PAGE,
            about=(
                "Thirty-eight persons, seen from the front, each under some 64 "
                "directions of light, many of which leave most of the face in shadow."
            ),
            cite=(
                "A. S. Georghiades, P. N. Belhumeur, D. J. Kriegman. From few to many: "
                "illumination cone models for face recognition under variable lighting "
                "and pose. IEEE TPAMI 23(6), 2001. K.-C. Lee, J. Ho, D. J. Kriegman. "
                "Acquiring linear subspaces for face recognition under variable "
                "lighting. IEEE TPAMI 27(5), 2005."
            ),
            licence=_RESEARCH,
        ),
        Entry(
            name="jaffe",
            title="JAFFE faces, 32 x 32",
            files=("jaffe.mat", "JAFFE.mat"),
            n_samples=213,
            n_classes=10,
            height=32,
            width=32,
            pixel_digest="652a594e0ce294a13747395ff4d94c47",
            label_digest="464cc4520092d93fca51bde894ac684b",
            addresses=(),
            page="https://zenodo.org/records/3451524",
            about=(
                "Ten Japanese women, 20 to 23 images each, of seven expressions, "
                "cropped to the face. The classes here are the persons."
            ),
            cite=(
                "M. Lyons, S. Akamatsu, M. Kamachi, J. Gyoba. Coding facial "
                "expressions with Gabor wavelets. IEEE International Conference on "
                "Automatic Face and Gesture Recognition, 1998."
            ),
            licence="for non-commercial research, granted by its authors on request",
        ),
        Entry(
            name="pix",
            title="PIX faces (pixraw10P), 100 x 100",
            files=("pixraw10P.mat",),
            n_samples=100,
            n_classes=10,
            height=100,
            width=100,
            pixel_digest="fa141d7f91d66f8f088cfb5bf4ffaa84",
            label_digest="8c54400282ec72bb9df46898aa9a557f",
            addresses=(f"{_FEATURE}/files/datasets/pixraw10P.mat",),
            page=_FEATURE_PAGE,
            about="Ten persons, ten images each, with grey levels from 0 to 62.",
            cite=(
                "J. Li, K. Cheng, S. Wang, F. Morstatter, R. P. Trevino, J. Tang, "
                "H. Liu. Feature selection: a data perspective. ACM Computing Surveys "
                "50(6), 2017."
            ),
            licence=_RESEARCH,
        ),
        Entry(
            name="semeion",
            title="Semeion handwritten digits, 16 x 16",
            files=("semeion.data", "semeion.csv", "semeion.txt"),
            n_samples=1593,
            n_classes=10,
            height=16,
            width=16,
            pixel_digest="9008de18ce0c7c17626ac4d79e815fab",
            label_digest="111aeb4027b1216bfdf9ec0cd630a65e",
            addresses=(
                "https://archive.ics.uci.edu/ml/machine-learning-databases/semeion/"
                "semeion.data",
                "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/"
                "semeion.data",
            ),
            page="https://archive.ics.uci.edu/dataset/178/semeion+handwritten+digit",
            about=(
                "Digits of about eighty persons, who wrote each twice: once with care "
                "and once in haste. Pixels are 0 or 1."
            ),
            cite=(
                "M. Buscema. Semeion Handwritten Digit. UCI Machine Learning "
                "Repository, doi 10.24432/C5SC8V."
            ),
            licence="CC BY 4.0",
            target_names=_DIGITS,
        ),
        Entry(
            name="mnist",
            title="MNIST handwritten digits, 28 x 28",
            files=("mnist_70k.npz", "mnist.npz"),
            n_samples=70_000,
            n_classes=10,
            height=28,
            width=28,
            pixel_digest="6057eb2cf354937045c6a0c85dcb1b23",
            label_digest="5fe290c6a6bca49bb80e9398eebd6a81",
            addresses=(
                "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
                "https://s3.amazonaws.com/img-datasets/mnist.npz",
            ),
            page="https://www.openml.org/d/554",
            about="60,000 training and 10,000 test images, in this order.",
            cite=(
                "Y. LeCun, L. Bottou, Y. Bengio, P. Haffner. Gradient-based learning "
                "applied to document recognition. Proceedings of the IEEE 86(11), 1998."
            ),
            licence="CC BY-SA 3.0",
            target_names=_DIGITS,
        ),
    )
}
