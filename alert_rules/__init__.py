"""Which alerts a recognition sets off. Pure: the stage decides by it, the api explains by it."""
