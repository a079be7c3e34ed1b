"""Write the generated parts of the documentation anew. `make docs`."""

from docs.blocks import ROOT
from docs.generated import generated


def main() -> None:
    """Every file that is generated, whole."""
    for path, text in generated().items():
        (ROOT / path).write_text(text)
        print(path)


if __name__ == "__main__":
    main()
