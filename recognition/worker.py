"""The former name of :mod:`recognition.workers.worker`, for pools that were started before."""

from recognition.workers.worker import main

if __name__ == "__main__":
    main()
