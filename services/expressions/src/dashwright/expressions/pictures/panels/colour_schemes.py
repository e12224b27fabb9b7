"""Colour schemes of heat maps by name: those of ColorBrewer, matplotlib and D3 that Grafana offers, as steps of a palette."""

from typing import Final

from dashwright.expressions.pictures.display.colour_math import gradient_colour

#: The colours of ColorBrewer's sequential schemes, from light to dark. Dark themes reverse them, as Grafana does.
_SEQUENTIAL: Final = {
    "Blues": "f7fbff deebf7 c6dbef 9ecae1 6baed6 4292c6 2171b5 08519c 08306b",
    "Greens": "f7fcf5 e5f5e0 c7e9c0 a1d99b 74c476 41ab5d 238b45 006d2c 00441b",
    "Greys": "ffffff f0f0f0 d9d9d9 bdbdbd 969696 737373 525252 252525 000000",
    "Oranges": "fff5eb fee6ce fdd0a2 fdae6b fd8d3c f16913 d94801 a63603 7f2704",
    "Purples": "fcfbfd efedf5 dadaeb bcbddc 9e9ac8 807dba 6a51a3 54278f 3f007d",
    "Reds": "fff5f0 fee0d2 fcbba1 fc9272 fb6a4a ef3b2c cb181d a50f15 67000d",
    "BuGn": "f7fcfd e5f5f9 ccece6 99d8c9 66c2a4 41ae76 238b45 006d2c 00441b",
    "BuPu": "f7fcfd e0ecf4 bfd3e6 9ebcda 8c96c6 8c6bb1 88419d 810f7c 4d004b",
    "GnBu": "f7fcf0 e0f3db ccebc5 a8ddb5 7bccc4 4eb3d3 2b8cbe 0868ac 084081",
    "OrRd": "fff7ec fee8c8 fdd49e fdbb84 fc8d59 ef6548 d7301f b30000 7f0000",
    "PuBuGn": "fff7fb ece2f0 d0d1e6 a6bddb 67a9cf 3690c0 02818a 016c59 014636",
    "PuBu": "fff7fb ece7f2 d0d1e6 a6bddb 74a9cf 3690c0 0570b0 045a8d 023858",
    "PuRd": "f7f4f9 e7e1ef d4b9da c994c7 df65b0 e7298a ce1256 980043 67001f",
    "RdPu": "fff7f3 fde0dd fcc5c0 fa9fb5 f768a1 dd3497 ae017e 7a0177 49006a",
    "YlGnBu": "ffffd9 edf8b1 c7e9b4 7fcdbb 41b6c4 1d91c0 225ea8 253494 081d58",
    "YlGn": "ffffe5 f7fcb9 d9f0a3 addd8e 78c679 41ab5d 238443 006837 004529",
    "YlOrBr": "ffffe5 fff7bc fee391 fec44f fe9929 ec7014 cc4c02 993404 662506",
    "YlOrRd": "ffffcc ffeda0 fed976 feb24c fd8d3c fc4e2a e31a1c bd0026 800026",
}
#: Schemes from dark to light. Light themes reverse them.
_PERCEPTUAL: Final = {
    "Viridis": "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725",
    "Inferno": "000004 1b0c41 4a0c6b 781c6d a52c60 cf4446 ed6925 fb9b06 f7d13d fcffa4",
    "Magma": "000004 180f3d 440f76 721f81 9e2f7f cd4071 f1605d fd9668 feca8d fcfdbf",
    "Plasma": "0d0887 46039f 7201a8 9c179e bd3786 d8576b ed7953 fb9f3a fdca26 f0f921",
    "Cividis": "002051 0a326a 2b446e 4d566d 696970 7f7c75 948f78 ada476 caba6a ead156 fdea45",
    "Turbo": "23171b 4a58dd 2f9df5 27d7c4 4df884 95fb51 dedd32 ffa423 f65f18 ba2208 900c00",
    "Warm": "6e40aa bf3caf fe4b83 ff7847 e2b72f aff05b",
    "Cool": "6e40aa 4c6edb 23abd8 1ac7c2 1ddfa3 52f667 aff05b",
    "Cubehelix": "000000 1a1530 163d4e 1f6642 54792f a07949 d07e93 cf9cda c1caf3 d2eeef ffffff",
}
#: Diverging schemes (dark at both ends) and cyclic ones. All themes reverse them.
_DIVERGING: Final = {
    "BrBG": "543005 8c510a bf812d dfc27d f6e8c3 f5f5f5 c7eae5 80cdc1 35978f 01665e 003c30",
    "PRGn": "40004b 762a83 9970ab c2a5cf e7d4e8 f7f7f7 d9f0d3 a6dba0 5aae61 1b7837 00441b",
    "PiYG": "8e0152 c51b7d de77ae f1b6da fde0ef f7f7f7 e6f5d0 b8e186 7fbc41 4d9221 276419",
    "PuOr": "2d004b 542788 8073ac b2abd2 d8daeb f7f7f7 fee0b6 fdb863 e08214 b35806 7f3b08",
    "RdBu": "67001f b2182b d6604d f4a582 fddbc7 f7f7f7 d1e5f0 92c5de 4393c3 2166ac 053061",
    "RdGy": "67001f b2182b d6604d f4a582 fddbc7 ffffff e0e0e0 bababa 878787 4d4d4d 1a1a1a",
    "RdYlBu": "a50026 d73027 f46d43 fdae61 fee090 ffffbf e0f3f8 abd9e9 74add1 4575b4 313695",
    "RdYlGn": "a50026 d73027 f46d43 fdae61 fee08b ffffbf d9ef8b a6d96a 66bd63 1a9850 006837",
    "Spectral": "9e0142 d53e4f f46d43 fdae61 fee08b ffffbf e6f598 abdda4 66c2a5 3288bd 5e4fa2",
    "Rainbow": "6e40aa bf3caf fe4b83 ff7847 e2b72f aff05b 52f667 1ddfa3 23abd8 4c6edb 6e40aa",
    "Sinebow": "ff4040 e78d0b a7d503 58fc2a 18f472 00bfbf 1872f4 582afc a703d5 e70b8d ff4040",
}
DEFAULT_SCHEME: Final = "Oranges"


def scheme_palette(name: str, count: int, *, is_dark: bool, is_reversed: bool) -> list[str]:
    """Return ``count`` colours of a scheme, from the lowest to the highest value. An unknown name means the default scheme.

    ``is_reversed`` reverses the order that the theme has by default.
    """
    if name in _DIVERGING:
        codes, is_reversed_by_default = _DIVERGING[name], True
    elif name in _PERCEPTUAL:
        codes, is_reversed_by_default = _PERCEPTUAL[name], not is_dark
    else:
        codes, is_reversed_by_default = _SEQUENTIAL.get(name, _SEQUENTIAL[DEFAULT_SCHEME]), is_dark
    stops = [f"#{code}" for code in codes.split()]
    colours = [gradient_colour(stops, index / max(count - 1, 1)) for index in range(count)]
    return colours[::-1] if is_reversed_by_default != is_reversed else colours
