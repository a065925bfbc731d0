"""Makes tests/fixtures/pictures.tar: pictures in files, and what Pillow and transformers make of pictures.

    python tests/tools/make_pictures.py

Pillow must be 12.0 or 12.1: later versions resize in another order.

Members: pictures of every kind, PNG, JPEG and WebP, and two arrays; `pictures.txt`, a line `NAME HEIGHT WIDTH HASH HASH` a picture, of its bytes
as ImageOps.exif_transpose and Image.convert("RGB") give them, and as convert_to_rgb of transformers does, which lays them on white; `resize.txt`, lines `HEIGHT WIDTH HEIGHT WIDTH FILTER HASH`, of pictures that
pattern() makes; `steps.txt`, lines `HEIGHT WIDTH HEIGHT WIDTH HASH CONFIG`, of the values that the image
processors make of such a picture with CONFIG as their preprocessor_config.json. HASH is FNV-1a of 64 bits.
"""

import io
import json
import pathlib
import struct
import tarfile
import zlib

import numpy as np
from PIL import Image, ImageOps
from transformers.image_transforms import convert_to_rgb
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

ARCHIVE = pathlib.Path(__file__).parents[1] / "fixtures" / "pictures.tar"


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def pattern(height, width, channels=3):
    """Smooth parts, edges and noise: the same as in test_image_file.c."""
    y, x, k = np.ogrid[:height, :width, :channels]
    value = (x * 7 + y * 3 + k * 50 + (x * x * 31 + y * y * 17 + x * y * (k + 1)) // 16) % 256
    return np.where((x // 8 + y // 8) % 3 == 2, 255 * ((x + y + k) % 2), value).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, rows, chunks=b"", interlace=0):
    """A PNG of rows of raw bytes."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunks + chunk(b"IDAT", zlib.compress(b"".join(
        b"\0" + row for row in rows), 9)) + chunk(b"IEND", b""))


def interlaced(pixels):
    height, width, _ = pixels.shape
    rows = [pixels[y, x0::dx].tobytes()
            for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
                                   (0, 1, 1, 2)) for y in range(y0, height, dy) if x0 < width]
    return png(width, height, 8, 2, rows, interlace=1)


def written(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def make_files():
    pixels = pattern(11, 13, 4)
    rgb, gray = pixels[..., :3], pixels[..., 0]
    wide = np.random.default_rng(1).integers(0, 65536, (5, 7, 4)).astype(">u2")
    wide[0, :, 0] = range(250, 257)
    files = {
        "rgb.png": written(Image.fromarray(rgb), "PNG"),
        "rgba.png": written(Image.fromarray(pixels), "PNG"),
        "gray.png": written(Image.fromarray(gray), "PNG"),
        "gray_alpha.png": written(Image.fromarray(pixels[..., :2].copy(), "LA"), "PNG"),
        "palette.png": written(Image.fromarray(rgb).quantize(9), "PNG"),
        "palette_alpha.png": written(Image.fromarray(rgb).quantize(9), "PNG", transparency=3),
        "black_and_white.png": written(Image.fromarray(gray).convert("1"), "PNG"),
        "gray2.png": png(7, 5, 2, 0, [bytes([27 + i, 200 - i]) for i in range(5)]),
        "gray4.png": png(7, 5, 4, 0, [bytes([27 + i, 200 - i, 99, 10 * i]) for i in range(5)]),
        "gray16.png": png(7, 5, 16, 0, [row.tobytes() for row in wide[..., 0]]),
        "gray16_alpha.png": png(7, 5, 16, 4, [row.tobytes() for row in wide[..., :2]]),
        "rgb16.png": png(7, 5, 16, 2, [row.tobytes() for row in wide[..., :3]]),
        "rgba16.png": png(7, 5, 16, 6, [row.tobytes() for row in wide]),
        "gamma.png": png(13, 11, 8, 2, [row.tobytes() for row in rgb],
                         struct.pack(">I", 4) + b"gAMA" + struct.pack(">II", 100000, zlib.crc32(
                             b"gAMA" + struct.pack(">I", 100000)))),
        "interlaced.png": interlaced(rgb),
        "gray.jpg": written(Image.fromarray(gray), "JPEG", quality=80),
        "progressive.jpg": written(Image.fromarray(rgb), "JPEG", quality=80, progressive=True),
        "cmyk.jpg": written(Image.fromarray(pixels, "CMYK"), "JPEG", quality=80),
    }
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        files[name + ".jpg"] = written(Image.fromarray(rgb), "JPEG", quality=80, subsampling=sampling)
    files |= {
        "lossy.webp": written(Image.fromarray(rgb), "WEBP", quality=80),
        "lossless.webp": written(Image.fromarray(rgb), "WEBP", lossless=True),
        "alpha.webp": written(Image.fromarray(pixels), "WEBP", quality=80),
        "lossless_alpha.webp": written(Image.fromarray(pixels), "WEBP", lossless=True, exact=True),
        "turned6.webp": written(Image.fromarray(rgb), "WEBP", lossless=True, exif=exif(6)),
        "turned7.webp": written(Image.fromarray(rgb), "WEBP", quality=80, exif=exif(7)[6:]),
    }
    files |= make_transparent(rgb, gray, wide) | make_turned(rgb)
    for orientation in range(1, 9):
        files[f"turned{orientation}.jpg"] = written(Image.fromarray(rgb), "JPEG", quality=80, subsampling=0,
                                                    exif=exif(orientation))
    return files


def make_transparent(rgb, gray, wide):
    """With tRNS: alpha of a palette, or a color that is transparent."""
    rng = np.random.default_rng(3)
    rows16 = [row.tobytes() for row in wide[..., 0]]
    files = {
        "trns_palette.png": written(Image.fromarray(rgb).quantize(9), "PNG", transparency=bytes([0, 255, 128, 7, 9])),
        "trns_rgb.png": written(Image.fromarray(rgb), "PNG", transparency=tuple(map(int, rgb[3, 4]))),
        "trns_gray.png": written(Image.fromarray(gray), "PNG", transparency=int(gray[3, 4])),
        "trns_gray16.png": png(7, 5, 16, 0, rows16, chunk(b"tRNS", struct.pack(">H", 252))),
        "trns_gray16_high.png": png(7, 5, 16, 0, rows16, chunk(b"tRNS", struct.pack(">H", 252 + 256))),
        "trns_rgb16.png": png(7, 5, 16, 2, [row.tobytes() for row in wide[..., :3]], chunk(
            b"tRNS", struct.pack(">HHH", *(int(n) >> 8 for n in wide[2, 3, :3])))),
    }
    for depth in (1, 2, 4):
        rows = [bytes(row) for row in rng.integers(0, 256, (8, depth), dtype=np.uint8)]
        for key in (0, (1 << depth) - 1):
            files[f"trns_gray{depth}_{key}.png"] = png(8, 8, depth, 0, rows, chunk(b"tRNS", struct.pack(">H", key)))
    return files


def make_turned(rgb):
    """PNG, Exif with several values or of other types, and XMP."""
    height, width, _ = rgb.shape
    rows = [row.tobytes() for row in rgb]
    xmp = b'<rdf:Description %stiff:Orientation%s/>'
    files = {f"turned{kind}_{count}.png": png(width, height, 8, 2, rows, chunk(b"eXIf", tiff(kind, count)))
             for kind in (1, 2, 3, 4, 8, 9, 13) for count in (0, 1, 2, 3)}
    for name, before, after in (("xmp", b"", b'="6"'), ("xmp_element", b"", b">8<"), ("xmp_late", b"tiff:Orientation=6 ",
                                                                                    b'="3"'), ("xmp_9", b"", b'="9"')):
        text = b"XML:com.adobe.xmp\0\0\0\0\0" + xmp % (before, after)
        files[f"turned_{name}.png"] = png(width, height, 8, 2, rows, chunk(b"iTXt", text))
    files["turned_xmp_beside_exif.png"] = png(width, height, 8, 2, rows, chunk(b"iTXt", text) + chunk(
        b"eXIf", tiff(3, 0)))
    image, text = Image.fromarray(rgb), xmp % (b"", b'="6"')
    return files | {"turned_xmp.jpg": written(image, "JPEG", quality=80, subsampling=0, xmp=text),
                    "turned_xmp.webp": written(image, "WEBP", lossless=True, xmp=text),
                    "cmyk_422.jpg": written(image.convert("CMYK"), "JPEG", quality=80, subsampling=1)}


def tiff(kind, count):
    """Big endian: COUNT values of KIND, of which the first is 6."""
    code = {1: "B", 2: "B", 3: "H", 4: "I", 8: "h", 9: "i", 13: "I"}[kind]
    values = b"".join(struct.pack(">" + code, 6 - i) for i in range(count))
    place = values.ljust(4, b"\0") if len(values) <= 4 else struct.pack(">I", 26)
    return b"MM\0*" + struct.pack(">IHHHI", 8, 1, 0x112, kind, count) + place + bytes(4) + values


def exif(orientation):
    """As cameras write it, in both byte orders: after another tag, a number of 16 or of 32 bits."""
    order = "<>"[orientation % 2]
    kind, value = (3, "HH") if orientation % 4 < 2 else (4, "L")
    entries = struct.pack(order + "HHLL", 0x100, 4, 1, 13) + struct.pack(
        order + "HHL" + value, *((0x112, kind, 1, orientation) + ((0,) if kind == 3 else ())))
    return b"Exif\0\0" + (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(
        order + "LH", 8, 2) + entries + bytes(4)


def describe(files):
    lines = []
    for name, data in files.items():
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        on_white = convert_to_rgb(image, return_numpy=True)
        lines.append(f"{name} {image.height} {image.width} {fnv(image.convert('RGB').tobytes())} {fnv(on_white.tobytes())}")
    return lines


def make_resized():
    rng = np.random.default_rng(2)
    sizes = [(1, 1, 5, 7), (1, 9, 3, 9), (64, 3, 7, 3), (30, 40, 30, 40), (120, 90, 16, 224), (5, 5, 33, 2)]
    sizes += [tuple(map(int, rng.integers(1, 80, 4))) for _ in range(30)]
    return [f"{h} {w} {m} {n} {kind} {fnv(Image.fromarray(pattern(h, w)).resize((n, m), kind).tobytes())}"
            for h, w, m, n in sizes for kind in (1, 2, 3)]


def make_steps():
    """A processor has its own defaults, of which a file leaves out what it likes."""
    plain = {"size": {"height": 20, "width": 12}}
    cases = [
        ("vit", {"image_processor_type": "ViTImageProcessor", **plain}),
        ("vit", {"image_processor_type": "ViTImageProcessorFast", "size": 9, "resample": 3, "do_normalize": False}),
        ("vit", {"feature_extractor_type": "ViTFeatureExtractor", "size": 17, "resample": 1,
                 "image_mean": [0.1, 0.25, 0.75], "image_std": [0.2, 0.3, 0.4], "do_rescale": True}),
        ("vit", {"image_processor_type": "ViTImageProcessor", **plain, "do_rescale": False, "image_mean": [1, 2, 3]}),
        ("vit", {"image_processor_type": "ViTImageProcessor", "do_resize": False, "rescale_factor": 0.01}),
        ("vit", {"image_processor_type": "ViTImageProcessor", **plain, "do_center_crop": True,
                 "crop_size": {"height": 8, "width": 19}}),
        ("clip", {"feature_extractor_type": "CLIPFeatureExtractor", "size": 16, "crop_size": 16}),
        ("clip", {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 13},
                  "crop_size": {"height": 24, "width": 10}}),
        ("clip", {"image_processor_type": "CLIPImageProcessor", "size": 15, "do_center_crop": False}),
        ("clip", {"image_processor_type": "CLIPImageProcessor", "size": {"height": 9, "width": 30}, "crop_size": 21}),
        ("bit", {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 32}, "crop_size": 28,
                 "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "rescale_factor": 1 / 255}),
    ]
    classes = {"vit": ViTImageProcessorPil, "clip": CLIPImageProcessorPil, "bit": BitImageProcessorPil}
    lines = []
    for kind, config in cases:
        for height, width in ((37, 50), (61, 20), (7, 8)):
            given = {key: value for key, value in config.items() if not key.endswith("_type")}
            values = classes[kind](**given)(pattern(height, width), input_data_format="channels_last")
            values = np.asarray(values["pixel_values"][0], np.float32)
            lines.append(f"{height} {width} {values.shape[1]} {values.shape[2]} {fnv(values.tobytes())} "
                         f"{json.dumps(config)}")
    return lines


def main():
    files = make_files()
    arrays = {"rgb.npy": pattern(11, 13), "values.npy": np.linspace(-1, 1, 3 * 13 * 9, dtype=np.float32).reshape(3, 13, 9)}
    for name, array in arrays.items():
        out = io.BytesIO()
        np.save(out, array)
        arrays[name] = out.getvalue()
    texts = {"pictures.txt": describe(files), "resize.txt": make_resized(), "steps.txt": make_steps()}
    with tarfile.open(ARCHIVE, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in (files | arrays | {name: "\n".join(lines).encode() + b"\n" for name, lines in texts.items()}).items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


main()
