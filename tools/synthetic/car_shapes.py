"""The proportions of car bodies."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CarShape:
    """A body's proportions in metres. `cap_bow` is how far its corners lie behind its middle."""

    name: str
    length: float
    half_width: float
    nose_z: float
    cowl_y: float
    cowl_z: float
    roof_front_y: float
    roof_z: float
    roof_rear_y: float
    roof_rear_z: float
    tail_y: float
    tail_z: float
    deck_z: float
    roof_half: float
    wheel_radius: float = 0.32
    front_axle_y: float = 0.88
    rear_axle_y: float = 3.45
    low_z: float = 0.165
    front_plate_z: float = 0.46
    rear_plate_z: float = 0.82
    cap_bow: float = 0.24


HATCHBACK = CarShape(
    "hatchback", 4.1, 0.88, 0.79, 1.02, 0.99, 1.80, 1.47, 3.32, 1.44, 3.92, 1.02, 0.97, 0.61
)

SALOON = CarShape(
    "saloon", 4.65, 0.90, 0.76, 1.25, 0.97, 2.05, 1.45, 3.20, 1.42, 4.00, 1.08, 1.04, 0.60,
    rear_axle_y=3.72, rear_plate_z=0.80,
)  # fmt: skip

ESTATE = CarShape(
    "estate", 4.7, 0.91, 0.77, 1.22, 0.98, 2.02, 1.48, 4.10, 1.46, 4.52, 1.05, 0.99, 0.62,
    rear_axle_y=3.74, rear_plate_z=0.86,
)  # fmt: skip

SUV = CarShape(
    "suv", 4.5, 0.93, 0.96, 1.12, 1.15, 1.86, 1.68, 3.75, 1.65, 4.30, 1.16, 1.10, 0.66,
    wheel_radius=0.36, rear_axle_y=3.58, low_z=0.20, front_plate_z=0.58, rear_plate_z=0.92,
)  # fmt: skip

VAN = CarShape(
    "van", 4.9, 0.95, 1.02, 0.80, 1.20, 1.55, 1.94, 4.70, 1.94, 4.84, 1.14, 1.08, 0.80,
    wheel_radius=0.33, rear_axle_y=3.90, low_z=0.18, front_plate_z=0.50, rear_plate_z=0.72,
    cap_bow=0.17,
)  # fmt: skip

CITY = CarShape(
    "city", 3.6, 0.82, 0.82, 0.78, 1.00, 1.48, 1.49, 2.92, 1.46, 3.48, 1.00, 0.95, 0.58,
    wheel_radius=0.29, front_axle_y=0.72, rear_axle_y=2.98, rear_plate_z=0.60,
)  # fmt: skip

SHAPES = (HATCHBACK, SALOON, ESTATE, SUV, VAN, CITY)
"""All bodies."""
