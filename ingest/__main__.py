"""``python -m ingest``: runs one ingest worker."""

from ingest.app import main

if __name__ == "__main__":
    main()
