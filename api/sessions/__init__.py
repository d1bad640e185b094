"""Sessions: logging in with e-mail address and password, for browsers."""
