"""The demo: what the image call finds, for anybody."""
