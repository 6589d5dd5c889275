"""An editor for `kubectl edit`: what is red in the file becomes blue."""

import sys
from pathlib import Path

if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(file.read_text().replace("colour: red", "colour: blue"))
