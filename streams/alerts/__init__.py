"""The alerts stage: recognitions against rules, with cooldown."""
