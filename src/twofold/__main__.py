"""``python -m twofold``."""

from twofold.app.cli import main

if __name__ == "__main__":
    main()
