"""Street furniture: lamp posts along the kerb, walls before the gardens."""

import numpy as np

from tools.synthetic.canvas import Canvas, hazed


def lamp_posts(canvas: Canvas, top_z: float = 5.4) -> list[tuple[float, float, float]]:
    """Paint street lamps along the left kerb; return the world places of their heads."""
    heads = []
    for y in (137.0, 107.0, 77.0, 47.0):
        x = -4.35
        half = 0.065
        post = [
            (x - half, y, 0),
            (x + half, y, 0),
            (x + half * 0.7, y, top_z),
            (x - half * 0.7, y, top_z),
        ]
        canvas.shade(
            [(x, y, 0), (x + 3.8, y + 3.1, 0), (x + 3.8, y + 3.3, 0), (x, y + 0.3, 0)], 0.35
        )
        canvas.polygon(canvas.places(post), hazed((124, 128, 126), y))
        dark = [(x + half * 0.1, y, 0), post[1], post[2], (x + half * 0.1, y, top_z)]
        canvas.polygon(canvas.places(dark), hazed((84, 88, 88), y))
        arm = [
            (x - 0.05, y, top_z),
            (x + 1.1, y, top_z + 0.22),
            (x + 1.1, y, top_z + 0.14),
            (x - 0.05, y, top_z - 0.1),
        ]
        canvas.polygon(canvas.places(arm), hazed((112, 116, 114), y))
        head = [
            (x + 0.9, y, top_z + 0.26),
            (x + 1.6, y, top_z + 0.30),
            (x + 1.6, y, top_z + 0.20),
            (x + 0.9, y, top_z + 0.12),
        ]
        canvas.polygon(canvas.places(head), hazed((150, 152, 152), y), glow=(150, 220, 255))
        heads.append((x + 1.3, y, top_z + 0.15))
    return heads


def garden_walls(canvas: Canvas) -> None:
    """Paint the low wall between pavement and front gardens, with its gaps."""
    for near, far in ((110.0, 146.0), (76.0, 106.0), (49.0, 72.0), (36.0, 45.0)):
        texture = np.full((40, 400, 3), (118, 128, 150), dtype=np.uint8)
        texture[::8] = (104, 112, 128)
        texture[:5] = (176, 178, 176)
        corners = [(-6.45, near, 0.75), (-6.45, far, 0.75), (-6.45, far, 0.0), (-6.45, near, 0.0)]
        canvas.panel(canvas.places(corners), texture)
        end = [(-6.7, near, 0.75), (-6.45, near, 0.75), (-6.45, near, 0.0), (-6.7, near, 0.0)]
        canvas.polygon(canvas.places(end), (150, 154, 160))
